//! What is known of the contents of a path in all states: which states it changed in, and where a content was before.

use std::collections::{BTreeSet, HashMap};

use crate::git::Oid;
use crate::git::objects::ObjectStore;
use crate::ops::versions::{Among, ChainPlace, PathVersions, States, Version, walk};

/// Files by their names.
pub struct Names(pub BTreeSet<Vec<u8>>);

impl Among for Names {
    fn takes(&self, path: &[u8]) -> bool {
        self.0.contains(path)
    }

    fn enters(&self, dir: &[u8]) -> bool {
        let beneath = [dir, b"/"].concat();
        let next = self.0.range(beneath.clone()..).next();
        next.is_some_and(|name| name.starts_with(&beneath))
    }
}

/// A version's first and last state, by their positions in [`States::all`], and its chain.
type Spread = (usize, usize, usize);

/// The versions of some paths.
pub struct Past {
    paths: Vec<PathVersions>,
    /// By path and content.
    spread: HashMap<(usize, Oid), Vec<Spread>>,
    /// Trees that cannot be read, in sentences.
    pub unreadable: Vec<String>,
}

impl Past {
    /// Looks at all states.
    pub fn read(objects: &ObjectStore, states: &States, names: &Names) -> Self {
        let walked = walk(objects, &states.trees(), names);
        let mut spread: HashMap<_, Vec<_>> = HashMap::new();
        for (nth, path) in walked.paths.iter().enumerate() {
            for version in &path.versions {
                let first = states.position(version.first());
                let last = states.position(version.last());
                let all = spread.entry((nth, version.node.oid)).or_default();
                all.push((first, last, version.chain));
            }
        }
        let unreadable = walked.unreadable.into_iter();
        Self {
            paths: walked.paths,
            spread,
            unreadable: unreadable
                .map(|one| format!("not looked into: {}", one.reason))
                .collect(),
        }
    }

    /// The content of each path there, in the order of their names; None where it is not.
    pub fn contents(&self, place: ChainPlace) -> Vec<Option<Oid>> {
        let of = |path: &PathVersions| {
            let has = |one: &&_| {
                let one: &Version = one;
                one.chain == place.chain && (one.from..=one.to).contains(&place.at)
            };
            path.versions.iter().find(has).map(|one| one.node.oid)
        };
        self.paths.iter().map(of).collect()
    }

    /// The places at which some path changed, or was there at first: of each chain, sorted.
    pub fn changes(&self, states: &States) -> Vec<BTreeSet<usize>> {
        let mut changes: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); states.chains.len()];
        for version in self.paths.iter().flat_map(|path| &path.versions) {
            changes[version.chain].insert(version.from);
            if version.to + 1 < states.chains[version.chain].states.len() {
                changes[version.chain].insert(version.to + 1);
            }
        }
        changes
    }

    /// The last state before this one that has the same content of a path, by their positions: it need not be the one just before.
    pub fn last_with(
        &self,
        states: &States,
        path: usize,
        content: Oid,
        before: usize,
    ) -> Option<usize> {
        let spread = self.spread.get(&(path, content))?;
        let last = |(first, last, chain): &Spread| {
            if *first >= before {
                return None;
            }
            if *last < before {
                return Some(*last);
            }
            let taken = &states.chains[*chain].states;
            let at = taken.partition_point(|state| *state < before);
            at.checked_sub(1).map(|at| taken[at])
        };
        spread.iter().filter_map(last).max()
    }

    /// How many paths there are.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// The last state of all in which a path had a content.
    pub fn last_of(&self, states: &States, name: &[u8], content: Oid) -> Option<usize> {
        let mut paths = self.paths.iter();
        let path = paths.position(|path| path.path.as_bytes() == name)?;
        self.last_with(states, path, content, states.all.len())
    }

    /// The name of a path, by its number.
    pub fn name(&self, path: usize) -> &[u8] {
        self.paths[path].path.as_bytes()
    }
}
