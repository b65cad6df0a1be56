//! The states that are looked at, in the order in which they were taken.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use crate::env::Moment;
use crate::error::Result;
use crate::git::Oid;
use crate::ops::Context;
use crate::ops::history::Here;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::session::SessionRecord;
use crate::store::snapshot::{HeadRecord, TakenIn};
use crate::store::summary::Summary;
use crate::store::trigger::Trigger;

/// What counts as a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// The snapshots of this worktree that were taken in the present.
    #[default]
    Here,
    /// Snapshots of every worktree, and those taken in the past.
    AllWorktrees,
    /// Backups and experiments, too.
    All,
}

/// A place in one of the chains of [`States`]. Behind the last one is what is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainPlace {
    /// The chain.
    pub chain: usize,
    /// The place in it, from the oldest state on.
    pub at: usize,
}

impl ChainPlace {
    /// This one of a chain.
    pub fn new(chain: usize, at: usize) -> Self {
        Self { chain, at }
    }
}

/// A snapshot, backup or experiment.
#[derive(Debug)]
pub struct State {
    /// The id.
    pub id: SnapshotId,
    /// The commit.
    pub commit: Oid,
    /// The captured files.
    pub tree: Oid,
    /// Counts up per repository.
    pub seq: u64,
    /// RFC 3339.
    pub created_at: String,
    /// Where it is.
    pub place: ChainPlace,
    document: String,
}

/// Who took a state.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Taker {
    session_id: Option<String>,
    agent: Option<String>,
}

/// What a backup says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Swapped {
    trigger: Trigger,
    target_id: Option<String>,
}

/// What an experiment says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Experiment {
    started_from: Option<String>,
    opened_from: Option<String>,
}

/// Where HEAD was, and what git had under way.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stood {
    head: HeadRecord,
    in_progress: Option<String>,
}

impl State {
    /// The session and the agent it was taken for.
    pub fn taker(&self) -> (Option<String>, Option<String>) {
        // What is not there is not said.
        let taker: Taker = serde_json::from_str(&self.document).unwrap_or_default();
        (taker.session_id, taker.agent)
    }

    /// What it was taken for.
    pub fn trigger(&self) -> Trigger {
        let said: Swapped = serde_json::from_str(&self.document).unwrap_or_default();
        said.trigger
    }

    /// Of a backup: the snapshot that was put in place, when it was the whole of one.
    pub fn target(&self) -> Option<SnapshotId> {
        let said: Swapped = serde_json::from_str(&self.document).unwrap_or_default();
        SnapshotId::parse(&said.target_id?)
    }

    /// Of an experiment: the snapshot that it was made from, as far as that was noted.
    pub fn started_from(&self) -> Option<SnapshotId> {
        let said: Experiment = serde_json::from_str(&self.document).unwrap_or_default();
        SnapshotId::parse(&said.started_from?)
    }

    /// Of an experiment that was left in a directory of its own, a scratch or one that was opened: the snapshot that was laid out there.
    pub fn opened_from(&self) -> Option<SnapshotId> {
        let said: Experiment = serde_json::from_str(&self.document).unwrap_or_default();
        SnapshotId::parse(&said.opened_from?)
    }

    fn stood(&self) -> Stood {
        serde_json::from_str(&self.document).unwrap_or_default()
    }

    /// HEAD's commit then; None where it had none.
    pub fn head(&self) -> Option<Oid> {
        Oid::from_hex(&self.stood().head.oid?).ok()
    }

    /// Whether git had a merge, a rebase or the like under way.
    pub fn is_under_way(&self) -> bool {
        self.stood().in_progress.is_some()
    }
}

/// States that followed each other in one working tree: in the present, or in its trips to the past.
#[derive(Debug)]
pub struct Chain {
    /// Positions in [`States::all`], oldest first.
    pub states: Vec<usize>,
    /// False: of the past, where a state does not come from the one before it.
    pub is_present: bool,
    /// Whether that is this worktree, of this repository; one of this name where this repository has none.
    pub is_here: bool,
    /// The worktree's name, where it is one of this repository.
    worktree: Option<String>,
    /// The worktree's id; empty where none of the states has one.
    worktree_id: String,
    /// For each place the position of the state that was taken last by the clock, up to there: clocks are set back.
    latest: Vec<usize>,
}

impl Chain {
    /// Whether it is of the present of a worktree of this repository, be that there or not.
    pub fn is_own_present(&self) -> bool {
        self.is_present && self.worktree.is_some()
    }

    /// Whether a session of this repository worked in this working tree, in the present.
    pub fn is_of(&self, session: &SessionRecord) -> bool {
        let is_named = self.worktree.as_ref() == Some(&session.worktree);
        let ids = (self.worktree_id.as_str(), session.worktree_id.as_deref());
        let is_same = match ids {
            ("", _) | (_, None) => true,
            (own, Some(id)) => own == id,
        };
        self.is_present && is_named && is_same
    }
}

/// Which chain it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ChainKey {
    repository: String,
    worktree: String,
    /// Empty where none is recorded.
    worktree_id: String,
    is_present: bool,
}

/// All states.
#[derive(Debug, Default)]
pub struct States {
    /// Oldest first.
    pub all: Vec<State>,
    /// Each state is in one of them.
    pub chains: Vec<Chain>,
    /// Records that cannot be read: id and reason.
    pub invalid: Vec<(String, String)>,
    /// Snapshots that are there, and are not looked at.
    left_out: HashSet<String>,
}

/// States in the order in which they were taken. Within a repository their numbers tell, whatever the clock said; between repositories
/// their times, where none is earlier than one before it.
fn in_order(mut found: Vec<Summary>) -> Vec<Summary> {
    found.sort_by(|one, other| {
        let order = |of: &Summary| (of.seq, of.id.time());
        let repositories = one.repository_id.cmp(&other.repository_id);
        repositories.then_with(|| order(one).cmp(&order(other)))
    });
    let mut latest: Option<(String, Moment)> = None;
    let timed = found.into_iter().map(|summary| {
        let before = latest.take().filter(|(of, _)| *of == summary.repository_id);
        let time = summary.id.time();
        let time = before.map_or(time, |(_, before)| before.max(time));
        latest = Some((summary.repository_id.clone(), time));
        (time, summary)
    });
    let mut timed: Vec<(Moment, Summary)> = timed.collect();
    timed.sort_by_key(|(time, _)| *time);
    timed.into_iter().map(|(_, summary)| summary).collect()
}

impl States {
    /// Reads the states of all snapshots in scope.
    ///
    /// # Errors
    /// The refs cannot be listed.
    pub fn read(ctx: &Context<'_>, store: &Store, scope: Scope) -> Result<Self> {
        let kinds: &[IdKind] = match scope {
            Scope::All => &IdKind::ALL,
            Scope::Here | Scope::AllWorktrees => &[IdKind::Snapshot],
        };
        let mut read = store.summaries(kinds)?;
        let here = Here::of(ctx, store)?;
        let mut states = Self::default();
        if scope == Scope::Here {
            read.found.retain(|summary| {
                let is_listed = here.lists(summary);
                if !is_listed {
                    states.left_out.insert(summary.id.to_string());
                }
                is_listed
            });
        }
        let mut chains = HashMap::new();
        for summary in in_order(read.found) {
            states.add(summary, &here, &mut chains);
        }
        states.take_those_of_others(&here, &chains);
        let invalid = read.invalid.into_iter();
        states.invalid = invalid
            .map(|(id, error)| (id.to_string(), error.message().to_owned()))
            .collect();
        Ok(states)
    }

    /// Where this repository has no present of its own, as a clone with fetched snapshots has none, those of others count.
    fn take_those_of_others(&mut self, here: &Here, known: &HashMap<ChainKey, usize>) {
        let mut chains = self.chains.iter();
        if chains.any(|chain| chain.is_here && chain.is_present) {
            return;
        }
        for (key, at) in known {
            // Not the ones of a worktree that was removed.
            let of_others =
                here.is_worktree(&key.worktree, None) && !here.is_repository(&key.repository);
            self.chains[*at].is_here |= of_others;
        }
    }

    /// The chain that a state goes on, by the names of its worktree. Programs of several versions may take turns there, and an earlier
    /// one records no id: its state goes on the last chain of that name, and a chain without an id gets the first that comes. That of
    /// a worktree which was removed, and had this name, is no one's to go on who has none.
    fn goes_on(
        &self,
        (by_name, by_id): (&ChainKey, &ChainKey),
        is_here: bool,
        known: &HashMap<ChainKey, usize>,
    ) -> Option<usize> {
        let last = known.get(by_name).copied();
        if by_id == by_name {
            return last.filter(|at| self.chains[*at].is_here == is_here);
        }
        let nameless = last.filter(|at| self.chains[*at].worktree_id.is_empty());
        known.get(by_id).copied().or(nameless)
    }

    fn add(&mut self, summary: Summary, here: &Here, known: &mut HashMap<ChainKey, usize>) {
        let is_present =
            summary.id.kind() != IdKind::Experiment && summary.taken_in != TakenIn::Past;
        let is_here = here.is(&summary);
        let by_name = ChainKey {
            repository: summary.repository_id,
            worktree: summary.worktree,
            worktree_id: String::new(),
            is_present,
        };
        let by_id = ChainKey {
            worktree_id: summary.worktree_id,
            ..by_name.clone()
        };
        let goes_on = self.goes_on((&by_name, &by_id), is_here, known);
        let chain = goes_on.unwrap_or_else(|| {
            let is_own = here.is_repository(&by_name.repository);
            self.chains.push(Chain {
                states: Vec::new(),
                is_present,
                is_here,
                worktree: is_own.then(|| by_name.worktree.clone()),
                worktree_id: String::new(),
                latest: Vec::new(),
            });
            self.chains.len() - 1
        });
        if !by_id.worktree_id.is_empty() {
            self.chains[chain].is_here = is_here;
            self.chains[chain]
                .worktree_id
                .clone_from(&by_id.worktree_id);
            known.insert(by_id, chain);
        }
        let stays = |at: &usize| {
            let last = &self.chains[*at];
            last.worktree_id.is_empty() || (last.is_here && !is_here)
        };
        if !known.get(&by_name).is_some_and(stays) {
            known.insert(by_name, chain);
        }
        let latest = self.chains[chain].latest.last().copied();
        let latest = latest.filter(|at| self.all[*at].created_at > summary.created_at);
        self.chains[chain]
            .latest
            .push(latest.unwrap_or(self.all.len()));
        let positions = &mut self.chains[chain].states;
        positions.push(self.all.len());
        self.all.push(State {
            id: summary.id,
            commit: summary.commit,
            tree: summary.tree,
            seq: summary.seq,
            created_at: summary.created_at,
            place: ChainPlace::new(chain, positions.len() - 1),
            document: summary.document,
        });
    }

    /// The first place in a chain, from one on, whose state was taken at this time or later; behind the last where there is none.
    pub fn taken_since(&self, chain: usize, from: usize, at: &str) -> usize {
        let taken = &self.chains[chain].states;
        let is_later = |place: &usize| self.all[taken[*place]].created_at.as_str() >= at;
        (from..taken.len())
            .find(is_later)
            .unwrap_or(taken.len().max(from))
    }

    /// As [`Self::taken_since`], of the whole chain.
    pub fn first_since(&self, chain: usize, at: &str) -> usize {
        self.first(chain, |taken| taken < at)
    }

    /// The first place in a chain whose state was taken later than this; behind the last where there is none.
    pub fn first_after(&self, chain: usize, at: &str) -> usize {
        self.first(chain, |taken| taken <= at)
    }

    fn first(&self, chain: usize, is_before: impl Fn(&str) -> bool) -> usize {
        let latest = &self.chains[chain].latest;
        latest.partition_point(|position| is_before(&self.all[*position].created_at))
    }

    /// Whether a snapshot that notes name was forgotten: it is neither at one of the places of [`Self::by_id`] nor left out of them.
    pub fn is_forgotten(&self, places: &HashMap<String, usize>, id: &str) -> bool {
        let is_snapshot = SnapshotId::parse(id).is_some_and(|id| id.kind() == IdKind::Snapshot);
        is_snapshot && !places.contains_key(id) && !self.left_out.contains(id)
    }

    /// The position of a place in a chain.
    pub fn position(&self, place: ChainPlace) -> usize {
        self.chains[place.chain].states[place.at]
    }

    /// The state at a place; None where there is none.
    pub fn at(&self, place: ChainPlace) -> Option<&State> {
        let chain = self.chains.get(place.chain)?;
        self.all.get(*chain.states.get(place.at)?)
    }

    /// The place of the state that followed in the same chain.
    pub fn after(&self, ChainPlace { chain, at }: ChainPlace) -> Option<ChainPlace> {
        let is_there = at + 1 < self.chains[chain].states.len();
        is_there.then_some(ChainPlace::new(chain, at + 1))
    }

    /// The chain of the present of another worktree of this repository.
    pub fn present_of(&self, there: &Here) -> Option<usize> {
        self.chains.iter().position(|chain| {
            let id = Some(chain.worktree_id.as_str()).filter(|id| !id.is_empty());
            let name = chain.worktree.as_ref();
            chain.is_present && name.is_some_and(|name| there.is_worktree(name, id))
        })
    }

    /// The other chain of the same working tree: that of its past, or of its present. None where only a name would tell which it is.
    pub fn beside(&self, chain: usize) -> Option<usize> {
        let of = &self.chains[chain];
        let is_beside = |other: &Chain| {
            let (one, id) = (&other.worktree, &other.worktree_id);
            other.is_present != of.is_present && (one, id) == (&of.worktree, &of.worktree_id)
        };
        let has_id = of.worktree.is_some() && !of.worktree_id.is_empty();
        self.chains
            .iter()
            .position(|other| has_id && is_beside(other))
    }

    /// The place of the last state of a chain that was taken before this one.
    pub fn last_before(&self, chain: usize, at: usize) -> Option<ChainPlace> {
        let taken = &self.chains[chain].states;
        let place = taken.partition_point(|state| *state < at).checked_sub(1)?;
        Some(ChainPlace::new(chain, place))
    }

    /// The trees of each chain.
    pub fn trees(&self) -> Vec<Vec<Oid>> {
        let of = |chain: &Chain| chain.states.iter().map(|at| self.all[*at].tree).collect();
        self.chains.iter().map(of).collect()
    }

    /// Positions by id.
    pub fn by_id(&self) -> HashMap<String, usize> {
        let ids = self.all.iter().enumerate();
        ids.map(|(at, state)| (state.id.to_string(), at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::tests::Lab;

    /// A snapshot of the worktree `other`, the nth of all.
    fn taken(here: &Store, nth: usize, worktree_id: &str) -> Summary {
        let oid = here.objects.format().null();
        Summary {
            id: SnapshotId::parse(&format!("s_20260101_0000{nth:02}_aaaaaa")).expect("an id"),
            commit: oid,
            tree: oid,
            seq: nth as u64,
            title: String::new(),
            worktree: "other".to_owned(),
            worktree_id: worktree_id.to_owned(),
            taken_in: TakenIn::Present,
            created_at: format!("2026-01-01T00:00:{nth:02}Z"),
            repository_id: here.ensure_repository_id().expect("an id"),
            document: "{}".to_owned(),
        }
    }

    /// The chains of snapshots with these ids of their worktree, in the order of taking; `1` is here.
    fn chains(ids: &[&str]) -> Vec<(Vec<usize>, bool)> {
        let lab = Lab::with_commit();
        let other = lab.dir().with_file_name("other");
        let dir = other.to_str().expect("plain");
        lab.git(&["worktree", "add", "-q", "--detach", dir]);
        let ctx = lab.ctx_in(&other);
        let store = ctx.store().expect("store");
        let own = store.ensure_worktree_id().expect("an id").expect("one");
        store.ensure_repository_id().expect("an id");
        let here = Here::of(&ctx, store).expect("here");
        let (mut states, mut known) = (States::default(), HashMap::new());
        for (nth, id) in ids.iter().enumerate() {
            let id = if *id == "1" { own.as_str() } else { id };
            states.add(taken(store, nth, id), &here, &mut known);
        }
        let chains = states.chains.into_iter();
        chains.map(|chain| (chain.states, chain.is_here)).collect()
    }

    /// A program of an earlier version, which records no id, may be at work beside one that does.
    #[test]
    fn states_of_a_worktree_are_one_chain_whichever_have_its_id() {
        for ids in [
            &["", "", "1", "1"][..],
            &["1", "", "1", "", "", "1", ""],
            &["", "1", "", "1"],
        ] {
            let all: Vec<usize> = (0..ids.len()).collect();
            assert_eq!(chains(ids), [(all, true)], "{ids:?}");
        }
        // One that was removed had the same name: what has no id may be of the one that is here.
        let parted = [(vec![0, 3], false), (vec![1, 2, 4], true)];
        assert_eq!(chains(&["removed", "", "1", "removed", ""]), parted);
        let parted = [(vec![0], false), (vec![1, 2], true)];
        assert_eq!(chains(&["removed", "1", ""]), parted);
    }
}
