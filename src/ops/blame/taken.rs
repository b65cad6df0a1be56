//! What was taken over from a branch without a merge that says so: by `git merge --squash`, by `git cherry-pick --no-commit`, as a patch.
//!
//! git keeps no trace of that. But where a step made of a file just what a merge makes of it with one commit of a branch that HEAD has
//! not got, or with its newest ones, its lines come from there. What was changed besides in the same step hides that.
//!
//! That is asked for each step and each branch. What a branch must have to be asked further is looked for in its last commit alone, and
//! all else is looked at once (`seen`): neither the commits of a branch nor how far it is from HEAD count with each step again.

mod seen;
mod text;

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use super::commits::Left;
use super::graph::Links;
use crate::git::Oid;
use crate::git::textmerge::{self, Labels, Style};
use crate::ops::versions::ChainPlace;
use crate::store::Store;
use seen::{FileNames, Seen, read};
use text::Came;

/// So many refs of branches are read, of this repository and of others each.
const REFS: usize = 1000;

/// So many branches are looked at.
const BRANCHES: usize = 200;

/// So many commits of a branch are looked through for one that a step made.
const COMMITS: usize = 100;

/// The branches that lines may be taken over from.
#[derive(Debug, Default)]
pub struct Branches {
    /// Their last commits.
    tips: Vec<Left>,
    seen: Seen,
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
            let name = links.past.name(path);
            let file = File {
                seen: &self.seen,
                links,
                names: (name.to_vec(), links.past.len()),
                was: was.or(former),
                is: (*is)?,
                came: OnceCell::new(),
                merges: RefCell::default(),
            };
            let tips = self.tips.iter();
            let mut earlier = tips.filter(|tip| tip.is_before(step, links));
            earlier.find_map(|tip| file.source(tip.commit, step))
        });
        found.collect()
    }
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
    seen: &'a Seen,
    links: &'a Links<'a>,
    names: FileNames,
    was: Option<Oid>,
    is: Oid,
    came: OnceCell<Option<Came>>,
    /// Whether it is what a merge makes of what it was and of what a branch changed, by both sides of that.
    merges: RefCell<HashMap<(Option<Oid>, Oid), bool>>,
}

impl File<'_> {
    /// The commit of a branch that it was made of: one that HEAD has not got; or the last, where it is made of all since one that HEAD
    /// has not got.
    fn source(&self, tip: Oid, step: &Step<'_>) -> Option<Oid> {
        let there = self.content(tip)?;
        if there != self.is && !self.may_be_of(there) {
            return None;
        }
        let objects = &self.links.store.objects;
        let content = |commit| self.content(commit);
        let changes = self.seen.changes(objects, (tip, &self.names), content);
        let each = changes.iter();
        let each = each.map(|change| (change, change.commit, change.is));
        let all = changes.iter().map(|change| (change, tip, there));
        let mut found = each.chain(all).filter(|(first, _, theirs)| {
            self.is_merge(first.was, *theirs) && !self.seen.has(self.links, step.head, first.commit)
        });
        let (_, source, _) = found.next()?;
        (!self.is_after(tip, step)).then_some(source)
    }

    /// Whether a branch has the commit that a step made, or one that was made from it, as far as that can be told.
    fn is_after(&self, tip: Oid, step: &Step<'_>) -> bool {
        let Some(made) = step.made else {
            return false;
        };
        let is_of = |commit: &Oid| {
            let from = self.links.made.get(commit);
            *commit == made || from.is_some_and(|from| from.parents.contains(&made))
        };
        let repo = &self.links.store.repo;
        let Ok(commits) = repo.commits_beyond(tip, Some(step.head), COMMITS) else {
            return true;
        };
        commits.iter().any(is_of)
    }

    /// Whether a branch with this content may have given what came.
    fn may_be_of(&self, theirs: Oid) -> bool {
        let text = || self.seen.text(&self.links.store.objects, theirs);
        let came = self.came().filter(|_| Some(theirs) != self.was);
        came.is_some_and(|came| came.may_be_of(&text()))
    }

    fn came(&self) -> Option<&Came> {
        let objects = &self.links.store.objects;
        let find = || Came::between(&read(objects, self.was?)?, &read(objects, self.is)?);
        self.came.get_or_init(find).as_ref()
    }

    /// Whether it is what a merge makes of what it was and of what a branch changed.
    fn is_merge(&self, base: Option<Oid>, theirs: Oid) -> bool {
        let mut known = self.merges.borrow_mut();
        let merge = || self.merges_to_it(base, theirs).unwrap_or(false);
        *known.entry((base, theirs)).or_insert_with(merge)
    }

    fn merges_to_it(&self, base: Option<Oid>, theirs: Oid) -> Option<bool> {
        // A branch that left it as it was gives nothing; a file may also come from one as it is there.
        if base == Some(theirs) || base == self.was || theirs == self.is {
            return Some(base != Some(theirs) && theirs == self.is);
        }
        let (base, came) = (base?, self.came()?);
        let objects = &self.links.store.objects;
        let has = |content| came.is_in(&self.seen.text(objects, content));
        // What had all of it before did not get it by the change.
        if !has(theirs) || has(base) {
            return None;
        }
        let texts = [
            read(objects, base)?,
            read(objects, self.was?)?,
            read(objects, theirs)?,
        ];
        if !self.seen.may_merge(texts.iter().map(Vec::len).sum()) {
            return None;
        }
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
        let mut names = std::iter::once(&*self.names.0).chain(others);
        let objects = &self.links.store.objects;
        names.find_map(|name| self.seen.content(objects, commit, name))
    }
}
