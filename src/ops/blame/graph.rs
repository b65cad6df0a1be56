//! A history that git does not have: of the states of the working tree and the commits made in it.
//!
//! A state comes from the one before it, in a directory that was opened the first from the snapshot that was laid out there. Where a
//! swap put a file in place, it comes from the state that had that content; where a content was there before, and no turn wrote it
//! again, by whatever way it came back, from the last state with it; where HEAD moved, from HEAD's commit, too; and
//! while a merge, a pick or a rebase is under way, from the commits that it brings in; what was taken over from a branch without that,
//! from the branch's commits. A commit that was made here comes from the state before it, from its parents, and from the commit whose place it took. All
//! other commits are ends: git knows better where their lines come from.
//!
//! Only what is asked for is looked at, and of the states only those in which the file changed: the others pass every line on.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::commits::{Made, MadeHere};
use super::past::Past;
use super::stashed;
use super::swaps::{self, Swaps};
use super::taken::{Branches, Step};
use crate::env::Moment;
use crate::git::Oid;
use crate::git::tree;
use crate::ops::versions::{ChainPlace, State, States, Turns};
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};

/// What a commit stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Node {
    /// A state, by its position in [`States::all`].
    State(usize),
    /// A commit that was made here.
    Made(Oid),
    /// Any other.
    End(Oid),
}

/// All that links are found from.
pub struct Links<'a> {
    pub store: &'a Store,
    pub states: &'a States,
    pub past: &'a Past,
    pub swaps: &'a Swaps,
    pub turns: &'a Turns,
    pub made: &'a MadeHere,
    /// Where HEAD was before it was reset, by the place of the state after that.
    pub left: &'a HashMap<ChainPlace, Vec<Oid>>,
    /// The places of the states after the files were reset to HEAD, in order.
    pub reset: &'a [ChainPlace],
    /// Where lines may be taken over from without a merge.
    pub branches: &'a Branches,
    /// The states of worktrees without a reflog of HEAD, by HEAD's commit then.
    pub unlogged: &'a HashMap<Oid, Vec<usize>>,
    /// States by their commits.
    pub by_commit: &'a HashMap<Oid, usize>,
    /// The snapshot that the working tree stands in, when it is in the past.
    pub standing: Option<usize>,
    /// The snapshots that were laid out in directories that are there, by the chains of these.
    pub opened: &'a HashMap<usize, SnapshotId>,
}

impl Links<'_> {
    /// What a commit stands for.
    pub fn node(&self, commit: Oid) -> Node {
        if let Some(at) = self.by_commit.get(&commit) {
            Node::State(*at)
        } else if self.made.contains_key(&commit) {
            Node::Made(commit)
        } else {
            Node::End(commit)
        }
    }

    /// The parents of all that is reached from a commit, as git takes them: a line for each.
    pub fn text(&self, from: Oid) -> String {
        let changes = self.past.changes(self.states);
        let nodes = reached(from, |commit| self.parents(commit, &changes));
        let mut text = String::new();
        for (commit, parents) in nodes {
            text.push_str(&commit.to_string());
            for parent in parents {
                text.push(' ');
                text.push_str(&parent.to_string());
            }
            text.push('\n');
        }
        text
    }

    /// The parents of a commit, given the places at which the file changed.
    pub fn parents(&self, commit: Oid, changes: &[BTreeSet<usize>]) -> Vec<Oid> {
        match self.node(commit) {
            Node::State(at) => self.of_state(at, changes),
            Node::Made(commit) => self.of_commit(commit),
            Node::End(_) => Vec::new(),
        }
    }

    fn of_commit(&self, commit: Oid) -> Vec<Oid> {
        let Some(made) = self.made.get(&commit) else {
            return Vec::new();
        };
        let ChainPlace { chain, at } = made.place;
        let after = self.states.chains[chain].states.get(at).copied();
        let before = self.before_made(commit);
        // What another worktree took over of it comes from it, and not the other way round.
        let made_at = Moment::of_seconds(made.at).rfc3339();
        let mut all = self.states.all.iter();
        let since = all.position(|state| state.created_at >= made_at);
        let until = [after, since].into_iter().flatten().min();
        let until = until.unwrap_or(self.states.all.len());
        let until = until.max(before.map_or(0, |before| before + 1));
        let contents = self.contents(commit);
        let taken = self.taken_by_commit(made, &contents);
        let from = self.sources(before, (until, made.place), contents);
        let from = from.into_iter().map(|at| self.commit(at));
        distinct(from.chain(made.parents.iter().copied()).chain(taken))
    }

    /// The commits of other branches that a commit took lines over from.
    fn taken_by_commit(&self, made: &Made, contents: &[Option<Oid>]) -> Vec<Oid> {
        let before = self.before_made(made.commit);
        let before = before.map(|at| self.past.contents(self.states.all[at].place));
        // What was there before came from no branch.
        let [head] = made.parents.as_slice() else {
            return Vec::new();
        };
        if before.as_deref() == Some(contents) {
            return Vec::new();
        }
        let step = Step {
            was: &self.contents(*head),
            is: contents,
            head: *head,
            made: Some(made.commit),
            place: made.place,
            at: made.at,
        };
        self.branches.sources(self, &step)
    }

    /// The commits of other branches that a state took lines over from: on what was there before, or on HEAD where that moved, or the
    /// files were reset to it.
    fn taken_by_state(&self, state: &State, before: usize, contents: &[Option<Oid>]) -> Vec<Oid> {
        let before = &self.states.all[before];
        let Some(head) = state.head().filter(|_| !state.is_under_way()) else {
            return Vec::new();
        };
        let stayed = before.head() == Some(head) && !self.reset.contains(&state.place);
        let was = if stayed {
            self.past.contents(before.place)
        } else {
            self.contents(head)
        };
        let step = Step {
            was: &was,
            is: contents,
            head,
            made: None,
            place: state.place,
            at: Moment::seconds_of(&state.created_at),
        };
        self.branches.sources(self, &step)
    }

    /// Where a swap took contents from that the log has no more, by its backup.
    fn put_by_unknown(&self, backup: usize) -> Option<usize> {
        let state = &self.states.all[backup];
        if state.id.kind() != IdKind::Backup || self.swaps.knows(&state.id.to_string()) {
            return None;
        }
        let target = state.target().and_then(|id| self.by_id(&id));
        let reversals = || swaps::reversals(self.states, state.place.chain);
        target.or_else(|| reversals().get(&backup).copied())
    }

    /// The content of each path in a commit; what cannot be read is not there.
    fn contents(&self, commit: Oid) -> Vec<Option<Oid>> {
        let read = |oid| self.store.objects.read_safe_tree(oid);
        let root = self
            .store
            .objects
            .commit(commit)
            .ok()
            .map(|commit| commit.tree);
        let of = |path| {
            let found = tree::find(&read, root?, self.past.name(path))
                .ok()
                .flatten();
            found.map(|node| node.oid)
        };
        (0..self.past.len()).map(of).collect()
    }

    /// The state that a commit has a file from, of which no reflog tells: HEAD was at its parent then, and the file is the same.
    pub fn unlogged_state(&self, commit: Oid, name: &[u8]) -> Option<Oid> {
        let parents = self.store.objects.commit(commit).ok()?.parents;
        let [parent] = parents.as_slice() else {
            return None;
        };
        let mut latest = self.unlogged.get(parent)?.iter().rev();
        let path = (0..self.past.len()).find(|path| self.past.name(*path) == name)?;
        let content = self.contents(commit).get(path).copied().flatten()?;
        let has = |at: &&usize| {
            let contents = self.past.contents(self.states.all[**at].place);
            contents.get(path) == Some(&Some(content))
        };
        latest.find(has).map(|at| self.commit(*at))
    }

    /// The state that a commit was made from.
    pub fn before_made(&self, commit: Oid) -> Option<usize> {
        let ChainPlace { chain, at } = self.made.get(&commit)?.place;
        let states = &self.states.chains[chain].states;
        states.get(at.checked_sub(1)?).copied()
    }

    fn of_state(&self, at: usize, changes: &[BTreeSet<usize>]) -> Vec<Oid> {
        let state = &self.states.all[at];
        let ChainPlace { chain, at: place } = state.place;
        let taken = &self.states.chains[chain].states;
        if !changes[chain].contains(&place) {
            // Nothing changed since then.
            let same = changes[chain].range(..place).next_back();
            return same
                .map(|place| self.commit(taken[*place]))
                .into_iter()
                .collect();
        }
        let before = self.before(at);
        let contents = self.past.contents(state.place);
        let taken = before.map(|before| self.taken_by_state(state, before, &contents));
        let mut parents = self.sources(before, (at, state.place), contents);
        if let Some(before) = before {
            parents.extend(stashed::sources(self, before, at));
        }
        let head = state.head();
        let was = before.and_then(|before| self.states.all[before].head());
        let moved = head.filter(|_| was != head);
        let moved = moved.filter(|head| self.store.objects.contains(*head));
        let left = self.left.get(&state.place).into_iter().flatten().copied();
        let parents = parents.into_iter().map(|at| self.commit(at));
        let taken = taken.into_iter().flatten();
        let others = left.chain(self.brought(state)).chain(taken);
        distinct(parents.chain(moved).chain(others))
    }

    /// The commits whose lines an operation under way brought in. What cannot be read is not there.
    fn brought(&self, state: &State) -> Vec<Oid> {
        if !state.is_under_way() {
            return Vec::new();
        }
        let stored = self.store.read(&state.id, state.commit);
        let operation = stored.and_then(|stored| self.store.operation(&stored));
        operation.map_or_else(
            |_| Vec::new(),
            |operation| operation.brings(&self.store.objects),
        )
    }

    /// The states that contents come from: the one before, or where a swap after that took them from, and the last that had the same
    /// before a position. The place is that of the change.
    fn sources(
        &self,
        before: Option<usize>,
        (at, place): (usize, ChainPlace),
        contents: Vec<Option<Oid>>,
    ) -> Vec<usize> {
        let mut sources = Vec::new();
        let were = before.map(|before| self.past.contents(self.states.all[before].place));
        for (path, content) in contents.into_iter().enumerate() {
            let was = were
                .as_ref()
                .and_then(|were| were.get(path).copied().flatten());
            if before.is_some() && was == content {
                sources.extend(before.filter(|_| content.is_some()));
                continue;
            }
            let put = before.and_then(|before| {
                let id = self.states.all[before].id.to_string();
                self.swaps.put(&id, self.past.name(path))
            });
            let last_with = |content| self.past.last_with(self.states, path, content, at);
            let source = put.and_then(last_with);
            sources.extend(source.or(before));
            let same = content.and_then(last_with);
            let same = same.filter(|same| self.came_back((*same, before), (path, content), place));
            sources.extend(same);
            sources.extend(before.and_then(|before| self.put_by_unknown(before)));
        }
        sources
    }

    /// Whether a content that a state had before came back from there. A turn that has it without a swap wrote it again, unless it was
    /// there since the turn began, or in HEAD or the index, from where git gives it back.
    fn came_back(
        &self,
        (same, before): (usize, Option<usize>),
        (path, content): (usize, Option<Oid>),
        place: ChainPlace,
    ) -> bool {
        let owners = self.turns.before(place);
        let Some(before) = before.filter(|_| !owners.turns.is_empty()) else {
            return true;
        };
        let starts = owners.turns.iter().filter_map(|turn| {
            let id = SnapshotId::parse(&turn.prompt.snapshot_id)?;
            self.by_id(&id)
        });
        let is_of_turn = starts.min().is_some_and(|start| same >= start);
        // A snapshot's parents are HEAD and the index.
        let before = self.store.objects.commit(self.states.all[before].commit);
        let has = |commit: &Oid| self.contents(*commit).get(path) == Some(&content);
        is_of_turn || before.is_ok_and(|before| before.parents.iter().any(has))
    }

    /// The state that a state was made from.
    pub fn before(&self, at: usize) -> Option<usize> {
        let ChainPlace { chain, at: place } = self.states.all[at].place;
        let chain = &self.states.chains[chain];
        let before = place.checked_sub(1).map(|place| chain.states[place]);
        if chain.is_present {
            let laid_out = || self.laid_out(self.states.all[at].place.chain);
            return before.or_else(laid_out);
        }
        if let Some(from) = self.states.all[at].opened_from() {
            let is_there = |at: &usize| self.states.all[*at].opened_from() == Some(from);
            let there = self.last_there(at).map(|there| self.states.position(there));
            let last = there.max(before.filter(is_there));
            return last.or_else(|| self.by_id(&from));
        }
        // A trip ends with an experiment, and begins with the snapshot that was travelled to.
        let is_end = |at: &&usize| self.states.all[**at].id.kind() == IdKind::Experiment;
        let goes_on = before.filter(|before| !is_end(&before));
        let end = chain.states[place..].iter().find(is_end);
        let start = end.and_then(|end| self.states.all[*end].started_from());
        let start = start.and_then(|id| self.by_id(&id));
        goes_on
            .or(start)
            .or_else(|| self.standing.filter(|_| end.is_none()))
    }

    /// The place of the last state that was taken before an experiment in the directory where it was left.
    pub fn last_there(&self, experiment: usize) -> Option<ChainPlace> {
        let chain = self.states.all[experiment].place.chain;
        self.states
            .last_before(self.states.beside(chain)?, experiment)
    }

    /// The snapshot that was laid out in the directory where a chain was taken, as far as that is known.
    fn laid_out(&self, chain: usize) -> Option<usize> {
        let left = || {
            let beside = &self.states.chains[self.states.beside(chain)?];
            let mut left = beside.states.iter();
            left.find_map(|at| self.states.all[*at].opened_from())
        };
        let id = self.opened.get(&chain).copied().or_else(left)?;
        self.by_id(&id)
    }

    fn by_id(&self, id: &SnapshotId) -> Option<usize> {
        let all = self.states.all.iter();
        all.enumerate()
            .find(|(_, state)| state.id == *id)
            .map(|(at, _)| at)
    }

    fn commit(&self, at: usize) -> Oid {
        self.states.all[at].commit
    }
}

/// All that is reached from a commit, with its parents. A link that would close a circle, as there may be one where clocks were wrong, is
/// left out: git would follow it for ever.
fn reached(from: Oid, parents: impl Fn(Oid) -> Vec<Oid>) -> BTreeMap<Oid, Vec<Oid>> {
    let mut done = BTreeMap::new();
    let mut way = vec![(from, parents(from).into_iter(), Vec::new())];
    let mut on_way = HashSet::from([from]);
    while let Some((_, left, kept)) = way.last_mut() {
        if let Some(parent) = left.next() {
            if on_way.contains(&parent) {
                continue;
            }
            kept.push(parent);
            if !done.contains_key(&parent) {
                on_way.insert(parent);
                way.push((parent, parents(parent).into_iter(), Vec::new()));
            }
        } else if let Some((commit, _, kept)) = way.pop() {
            on_way.remove(&commit);
            done.insert(commit, kept);
        }
    }
    done
}

fn distinct(commits: impl Iterator<Item = Oid>) -> Vec<Oid> {
    let mut seen = Vec::new();
    for commit in commits {
        if !seen.contains(&commit) {
            seen.push(commit);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_go_round_in_a_circle_are_cut() {
        let oid = |n: u8| Oid::from_bytes(&[n; 20]).expect("an id");
        let links = |commit: Oid| match [1, 2, 3, 4].map(oid).iter().position(|one| *one == commit)
        {
            Some(0) => vec![oid(2), oid(3)],
            Some(1) => vec![oid(4), oid(1)],
            Some(2) => vec![oid(2), oid(3)],
            _ => Vec::new(),
        };
        let found = reached(oid(1), links);
        let kept = |n: u8| found[&oid(n)].clone();
        assert_eq!(kept(1), [oid(2), oid(3)]);
        assert_eq!((kept(2), kept(3)), (vec![oid(4)], vec![oid(2)]));
        assert_eq!((kept(4), found.len()), (Vec::new(), 4));
    }
}
