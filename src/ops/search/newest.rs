//! What the newest state has, told before all the others are walked.
//!
//! Its contents are looked through in the order of their paths until a screen of lines is found; then the walk through all states
//! follows only the paths of these, which tells how long each line was there. Promises that what it tells is what the whole
//! search would tell first, and in that order: it stops in front of a path about which that needs more than this. Leaves the rest to
//! the whole search, which reads again only what does not fit into [`ROOM`].

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::board::{Blobs, Board, Known, weight};
use super::content::{Depth, Matches};
use super::files::{Asked, PathRuns};
use super::found::{self, FileHit};
use super::pattern::Pattern;
use super::plan::Plan;
use super::{Place, Shape};
use crate::git::Oid;
use crate::git::objects::ObjectStore;
use crate::git::path::RepoPath;
use crate::git::tree::{GITLINK_MODE, LINK_MODE};
use crate::ops::versions::{Among, Files, States, staged_in, walk};

/// This many lines are enough for a start.
const SCREEN: usize = 40;
/// This many bytes of matches are kept for the whole search.
const ROOM: usize = 16 << 20;

/// A path of the newest state.
#[derive(Debug, Default)]
struct Newest {
    /// What the file has.
    own: Option<usize>,
    /// What is staged there, where that is something else.
    staged: Vec<usize>,
}

/// What was looked at.
#[derive(Debug, Default)]
pub struct Seen {
    /// What was found in contents.
    pub known: Known,
    /// The paths that match, in order, with staged contents that do.
    matching: Vec<(RepoPath, Vec<Oid>)>,
}

/// Restricts a search to these files.
struct Only(BTreeSet<Vec<u8>>);

impl Among for Only {
    fn takes(&self, file: &[u8]) -> bool {
        self.0.contains(file)
    }

    fn enters(&self, dir: &[u8]) -> bool {
        let beneath = [dir, b"/"].concat();
        let mut from = self.0.range(beneath.clone()..);
        from.next().is_some_and(|file| file.starts_with(&beneath))
    }
}

/// Looks through the newest state until there is enough.
pub fn look(
    objects: &ObjectStore,
    states: &States,
    files: &Files,
    pattern: &Pattern,
    depth: Depth,
) -> Seen {
    let Some(contents) = Contents::read(objects, states, files) else {
        return Seen::default();
    };
    let mut seen = Seen::default();
    let nothing = Known::default();
    Board::run(
        objects,
        pattern,
        depth,
        &contents.blobs,
        &nothing,
        |board| {
            let mut room = ROOM;
            let mut lines = 0;
            for (path, newest) in contents.paths {
                let mut staged = Vec::new();
                let mut found = 0;
                for blob in newest.own.iter().chain(&newest.staged) {
                    let Some(looked) = board.wait(*blob) else {
                        return;
                    };
                    let oid = contents.blobs.oid(*blob);
                    let count = looked.as_ref().as_ref().map_or(0, count);
                    found += count;
                    if count > 0 && newest.own != Some(*blob) {
                        staged.push(oid);
                    }
                    if let Some(left) = room.checked_sub(weight(&looked)) {
                        room = left;
                        seen.known.insert(oid, looked);
                    }
                }
                if found > 0 {
                    seen.matching.push((path, staged));
                }
                lines += found;
                if lines >= SCREEN {
                    return;
                }
            }
        },
    );
    seen
}

fn count(matches: &Matches) -> usize {
    match matches {
        Matches::Lines(lines) => lines.len(),
        Matches::Whole(_) => 1,
    }
}

/// The paths of the newest state, and its contents in their order.
#[derive(Default)]
struct Contents {
    paths: BTreeMap<RepoPath, Newest>,
    blobs: Blobs,
}

impl Contents {
    /// None: what is staged there cannot be read.
    fn read(objects: &ObjectStore, states: &States, files: &Files) -> Option<Self> {
        let state = states.all.last()?;
        let index = staged_in(objects, state, files)?;
        let has = walk(objects, &[vec![state.tree]], files);
        let mut all: BTreeMap<RepoPath, Vec<(Oid, bool)>> = BTreeMap::new();
        for (walked, staged) in [(has, false), (index, true)] {
            for one in walked.paths {
                let versions = one.versions.iter();
                let files = versions.filter(|it| !matches!(it.node.mode, LINK_MODE | GITLINK_MODE));
                let oids = files.map(|it| (it.node.oid, staged));
                all.entry(one.path).or_default().extend(oids);
            }
        }
        let mut contents = Self::default();
        let mut known = HashMap::new();
        for (path, oids) in all {
            let mut newest = Newest::default();
            for (oid, staged) in oids {
                let own = newest.own.map(|blob| contents.blobs.oid(blob));
                if own == Some(oid) {
                    continue;
                }
                let blob = contents.blobs.add(oid, &mut known);
                if staged {
                    newest.staged.push(blob);
                } else {
                    newest.own = Some(blob);
                }
            }
            contents.paths.insert(path, newest);
        }
        Some(contents)
    }
}

/// The hits of the newest state that come first, and the paths in which these are all of them.
pub fn hits(
    objects: &ObjectStore,
    (pattern, depth, shape): (&Pattern, Depth, Shape),
    seen: &Seen,
    asked: &Asked<'_>,
) -> (Vec<FileHit>, HashSet<RepoPath>) {
    if seen.matching.is_empty() {
        return <_>::default();
    }
    let paths = seen.matching.iter().map(|(path, _)| path.as_bytes());
    let only = Only(paths.map(<[u8]>::to_vec).collect());
    let walked = walk(objects, &asked.states.trees(), &only);
    // What is staged is a hit of its own unless the file has had it: since when, the whole search knows.
    let had = |path: &RepoPath, oid: &Oid| {
        let known = walked.paths.iter().find(|known| known.path == *path);
        known.is_some_and(|known| known.versions.iter().any(|one| one.node.oid == *oid))
    };
    let sure = seen
        .matching
        .iter()
        .take_while(|(path, staged)| staged.iter().all(|oid| had(path, oid)));
    let sure: HashSet<RepoPath> = sure.map(|(path, _)| path.clone()).collect();
    let mut plan = Plan::new(asked.states, walked.paths, Vec::new(), &[Place::Content]);
    plan.keep(|file| sure.contains(&file.path));
    let mut first = Vec::new();
    let mut told = HashSet::new();
    Board::run(objects, pattern, depth, &plan.blobs, &seen.known, |board| {
        for path in &plan.paths {
            let mut runs = PathRuns::default();
            for step in &path.steps {
                let Some(looked) = board.wait(step.blob) else {
                    return;
                };
                runs.take(step, looked.as_ref().as_ref().ok());
            }
            let found = found::shaped(runs.hits(path, asked), shape);
            first.extend(found.into_iter().filter(|one| one.is_newest(asked.states)));
            told.insert(path.path.clone());
        }
    });
    (first, told)
}
