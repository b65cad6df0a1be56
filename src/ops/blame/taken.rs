//! What was taken over from a branch without a merge that says so: by `git merge --squash`, by `git cherry-pick --no-commit`, as a patch.
//!
//! git keeps no trace of that. But where a step made of a file just what a merge makes of it with one commit of a branch that HEAD has
//! not got, or with all of them, its lines come from there. What was changed besides in the same step hides that.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::commits::Left;
use super::graph::Links;
use crate::git::Oid;
use crate::git::objects::ObjectStore;
use crate::git::textdiff::{LARGEST, same_lines};
use crate::git::textmerge::{self, Labels, Style};
use crate::git::tree;
use crate::ops::versions::ChainPlace;
use crate::store::Store;

/// So many refs of branches are read, of this repository and of others each.
const REFS: usize = 1000;

/// So many branches are looked at.
const BRANCHES: usize = 200;

/// So many lines of branches are kept in mind; those of more are not looked at.
const LINES: usize = 4_000_000;

/// Of a branch so many commits are looked at.
const COMMITS: usize = 100;

/// A path's content in a commit, by both.
type Files = HashMap<(Oid, Vec<u8>), Option<Oid>>;

/// Hashes of lines.
type LineHashes = Vec<u64>;

/// The branches that lines may be taken over from.
#[derive(Debug, Default)]
pub struct Branches {
    /// Their last commits.
    tips: Vec<Left>,
    files: RefCell<Files>,
    /// By content, sorted.
    lines: RefCell<HashMap<Oid, LineHashes>>,
}

/// A step from some contents to others.
pub struct Step<'s> {
    /// What each path was.
    pub was: &'s [Option<Oid>],
    /// What it is.
    pub is: &'s [Option<Oid>],
    /// HEAD's commit before it.
    pub head: Oid,
    /// The commit that it made, if it made one.
    pub made: Option<Oid>,
    /// Where it is in a chain.
    pub place: ChainPlace,
    /// When it was made, in seconds.
    pub at: i64,
}

impl Branches {
    /// Those that HEAD left, and those that are there. Refs that cannot be read are none.
    pub fn read(store: &Store, left: Vec<Left>) -> Self {
        let mut tips = left;
        for prefix in ["refs/heads/", "refs/remotes/"] {
            let refs = store.refs.list(prefix).unwrap_or_default();
            let at = refs.into_iter().take(REFS).filter_map(|(_, commit)| {
                let at = store.objects.commit(commit).ok()?.committer_time;
                let place = None;
                Some(Left { commit, place, at })
            });
            tips.extend(at);
        }
        let mut seen = HashSet::new();
        tips.retain(|tip| store.objects.is_commit(tip.commit) && seen.insert(tip.commit));
        tips.sort_by_key(|tip| std::cmp::Reverse(tip.at));
        tips.truncate(BRANCHES);
        Self {
            tips,
            ..Self::default()
        }
    }

    /// The commits that a step took lines of these paths from.
    pub fn sources(&self, links: &Links<'_>, step: &Step<'_>) -> Vec<Oid> {
        let paths = step.was.iter().zip(step.is).enumerate();
        let changed = paths.filter(|(_, (was, is))| was != is);
        // A file that has a new name was under another one before.
        let mut gone = step.was.iter().zip(step.is).filter(|(_, is)| is.is_none());
        let former = gone.find_map(|(was, _)| *was);
        let found = changed.filter_map(|(path, (was, is))| {
            let file = File {
                branches: self,
                links,
                name: links.past.name(path),
                was: was.or(former),
                is: (*is)?,
                came: OnceCell::new(),
            };
            let tips = self.tips.iter();
            let mut earlier = tips.filter(|tip| tip.is_before(step, links));
            earlier.find_map(|tip| file.source(tip.commit, step))
        });
        found.collect()
    }

    /// A path's content in a commit; what cannot be read is not there.
    fn content(&self, objects: &ObjectStore, commit: Oid, name: &[u8]) -> Option<Oid> {
        let key = (commit, name.to_vec());
        let find = || {
            let root = objects.commit(commit).ok()?.tree;
            let found = tree::find(&|oid| objects.read_safe_tree(oid), root, name);
            Some(found.ok()??.oid)
        };
        *self.files.borrow_mut().entry(key).or_insert_with(find)
    }

    /// Whether a content has all these lines, as far as their hashes tell.
    fn has_all(&self, objects: &ObjectStore, content: Oid, lines: &[u64]) -> bool {
        let mut known = self.lines.borrow_mut();
        let kept: usize = known.values().map(Vec::len).sum();
        let read = || {
            let text = read(objects, content).filter(|_| kept < LINES);
            let text = text.unwrap_or_default();
            let lines = text.split_inclusive(|byte| *byte == b'\n');
            let mut hashes: LineHashes = lines.map(hash).collect();
            hashes.sort_unstable();
            hashes
        };
        let theirs = known.entry(content).or_insert_with(read);
        lines.iter().all(|line| theirs.binary_search(line).is_ok())
    }
}

fn hash(line: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(line)
}

impl Left {
    /// Whether a branch was there as it is before a step. In another chain its time tells; one that was made elsewhere may be of what
    /// the step left behind in the same second.
    fn is_before(&self, step: &Step<'_>, links: &Links<'_>) -> bool {
        let made = links.made.get(&self.commit);
        let place = self.place.or(made.map(|made| made.place));
        let place = place.filter(|place| place.chain == step.place.chain);
        let Some(place) = place else {
            return self.at < step.at || (made.is_some() && self.at == step.at);
        };
        place.at <= step.place.at && (step.made.is_none() || self.at <= step.at)
    }
}

/// A file that a step changed.
struct File<'a> {
    branches: &'a Branches,
    links: &'a Links<'a>,
    name: &'a [u8],
    was: Option<Oid>,
    is: Oid,
    came: OnceCell<LineHashes>,
}

impl File<'_> {
    /// The commit of a branch that it was made of.
    fn source(&self, tip: Oid, step: &Step<'_>) -> Option<Oid> {
        if !self.may_be_of(tip)? {
            return None;
        }
        let repo = &self.links.store.repo;
        let commits = repo.commits_beyond(tip, Some(step.head), COMMITS).ok()?;
        if commits.iter().any(|commit| self.is_of(*commit, step)) {
            return None;
        }
        let all = commits.last().filter(|_| commits.len() < COMMITS);
        let all = all.and_then(|first| Some((self.parent(*first)?, tip)));
        let each = commits.iter();
        let each = each.filter_map(|commit| Some((self.parent(*commit)?, *commit)));
        let mut pairs = all.into_iter().chain(each);
        let found = pairs.find(|(base, theirs)| self.is_merge(*base, *theirs).unwrap_or(false));
        found.map(|(_, theirs)| theirs)
    }

    /// Whether a commit is the one that a step made, or was made from it.
    fn is_of(&self, commit: Oid, step: &Step<'_>) -> bool {
        let parents = self.links.made.get(&commit).map(|made| &made.parents);
        step.made.is_some_and(|made| {
            commit == made || parents.is_some_and(|parents| parents.contains(&made))
        })
    }

    /// Whether a commit has all lines that came.
    fn may_be_of(&self, tip: Oid) -> Option<bool> {
        let objects = &self.links.store.objects;
        let theirs = self.content(tip)?;
        if Some(theirs) == self.was || theirs == self.is {
            return Some(theirs == self.is);
        }
        let came = self.came.get_or_init(|| self.came());
        Some(!came.is_empty() && self.branches.has_all(objects, theirs, came))
    }

    /// The lines that it has and did not have, as hashes; blank ones tell nothing.
    fn came(&self) -> LineHashes {
        let objects = &self.links.store.objects;
        let was = self.was.and_then(|was| read(objects, was));
        let (Some(was), Some(is)) = (was, read(objects, self.is)) else {
            return Vec::new();
        };
        let same = same_lines(&was, &is, false).unwrap_or_default();
        let lines = is.split_inclusive(|byte| *byte == b'\n').zip(same);
        let came = lines.filter(|(line, same)| same.is_none() && !line.trim_ascii().is_empty());
        came.map(|(line, _)| hash(line)).collect()
    }

    /// Whether it is what a merge makes of what it was and of what a commit changed.
    fn is_merge(&self, base: Oid, theirs: Oid) -> Option<bool> {
        let (base, theirs) = (self.content(base), self.content(theirs)?);
        // A branch that left it as it was gives nothing; a file may also come from one as it is there.
        if base == Some(theirs) || base == self.was || theirs == self.is {
            return Some(base != Some(theirs) && theirs == self.is);
        }
        let objects = &self.links.store.objects;
        let texts = [
            read(objects, base?)?,
            read(objects, self.was?)?,
            read(objects, theirs)?,
        ];
        let labels = Labels {
            base: "",
            ours: "",
            theirs: "",
        };
        let merged = textmerge::merge(texts.each_ref().map(Vec::as_slice), &labels, Style::Merge);
        let merged = merged.ok().filter(|merged| merged.clean)?;
        Some(merged.content == read(objects, self.is)?)
    }

    /// Its content in a commit, under another of its names where it has not got this one.
    fn content(&self, commit: Oid) -> Option<Oid> {
        let past = self.links.past;
        let others = (0..past.len()).map(|path| past.name(path));
        let mut names = std::iter::once(self.name).chain(others);
        let objects = &self.links.store.objects;
        names.find_map(|name| self.branches.content(objects, commit, name))
    }

    fn parent(&self, commit: Oid) -> Option<Oid> {
        let commit = self.links.store.objects.commit(commit).ok()?;
        commit.parents.first().copied()
    }
}

fn read(objects: &ObjectStore, content: Oid) -> Option<Vec<u8>> {
    objects.read_blob_up_to(content, LARGEST).ok().flatten()
}
