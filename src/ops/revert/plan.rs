//! From the turns that are taken back to the changes that are merged: newest first, and no others' work among them.
//!
//! What lies between two states belongs to the turns that went on there. Where a turn of another session did, too, a path is told
//! apart by the files that the tools of each named. One that ran a shell, or whose conversation is not there, may have written any path:
//! then a path is the others' only as far as their tools name each line that differs. What cannot be told apart is left alone, unless
//! it is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::rc::Rc;

use super::gone::Gone;
use super::turns::{Name, Turn, Turns, names};
use super::whose::Said;
use crate::error::{Error, Result};
use crate::git::Oid;
use crate::git::textdiff::LARGEST;
use crate::git::tree;
use crate::ops::Context;
use crate::ops::applying::{Change, Uncaptured};
use crate::ops::checkpoints::{TurnWrites, turn_writes};
use crate::ops::pathspec::Pathspec;
use crate::ops::put_back;
use crate::ops::swap::extras::stored_extras;
use crate::ops::versions::{ChainPlace, State};
use crate::store::Store;

/// What becomes of changes that may be another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shared {
    /// They stay.
    #[default]
    Leave,
    /// They are taken back, too.
    Include,
}

/// Between which states a change lies: what is undone is all of it, from the later to the earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The chain of both.
    pub chain: usize,
    /// The place of the earlier state.
    pub from: usize,
    /// The place of the later one; that behind the last: what is there now.
    pub to: usize,
    /// Only these paths.
    pub only: Option<BTreeSet<Vec<u8>>>,
}

impl Stretch {
    /// All that changed between the state before this place and the one there.
    fn up_to(ChainPlace { chain, at }: ChainPlace) -> Self {
        Self {
            chain,
            from: at - 1,
            to: at,
            only: None,
        }
    }

    fn has(&self, path: &[u8]) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(path))
    }
}

/// What is taken back.
#[derive(Debug, Default)]
pub struct Plan {
    /// Newest first.
    pub stretches: Vec<Stretch>,
    /// Paths that may be another's, with the sessions.
    pub unattributed: BTreeMap<Vec<u8>, BTreeSet<String>>,
    /// Paths in which it is taken back already.
    pub already: BTreeSet<Vec<u8>>,
    /// What came after the last state was left alone, since it may be another's.
    pub leaves_latest: bool,
}

/// Plans which paths a revert changes, turn by turn.
pub struct Planner<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    turns: &'a Turns,
    shared: Shared,
    only: &'a Pathspec,
    /// What tools wrote, by turn.
    writes: BTreeMap<Name, Option<Rc<TurnWrites>>>,
    gone: Gone<'a>,
}

impl<'a> Planner<'a> {
    /// One for these states.
    ///
    /// # Errors
    /// The undo log cannot be read.
    pub fn new(
        ctx: &'a Context<'a>,
        store: &'a Store,
        turns: &'a Turns,
        (shared, only): (Shared, &'a Pathspec),
    ) -> Result<Self> {
        Ok(Self {
            gone: Gone::read(ctx, store, turns)?,
            ctx,
            store,
            turns,
            shared,
            only,
            writes: BTreeMap::new(),
        })
    }

    /// What these turns did, and what these snapshots hold beside the state before each.
    ///
    /// # Errors
    /// A tree cannot be read.
    pub fn plan(&mut self, chosen: &[Turn], snapshots: &[ChainPlace]) -> Result<Plan> {
        let mut plan = Plan::default();
        for place in self.places(chosen, snapshots) {
            let stretch = Stretch::up_to(place);
            let others = self.others(chosen, &stretch);
            if others.is_empty() || snapshots.contains(&place) {
                plan.add(stretch);
            } else {
                self.tell_apart(&mut plan, chosen, &others, stretch)?;
            }
        }
        for stretch in std::mem::take(&mut plan.stretches) {
            self.leave_out(&mut plan, stretch)?;
        }
        plan.stretches.sort_by_key(|stretch| self.position(stretch));
        plan.stretches.reverse();
        Ok(plan)
    }

    fn places(&self, chosen: &[Turn], snapshots: &[ChainPlace]) -> BTreeSet<ChainPlace> {
        let mut places: BTreeSet<ChainPlace> = snapshots.iter().copied().collect();
        for turn in chosen {
            let end = turn.last().unwrap_or_else(|| self.turns.len(turn.chain));
            places.extend((turn.start + 1..=end).map(|at| ChainPlace::new(turn.chain, at)));
        }
        places
    }

    /// Adds a stretch without what is taken back already.
    fn leave_out(&self, plan: &mut Plan, stretch: Stretch) -> Result<()> {
        let places = stretch.from + 1..=stretch.to;
        let mut of_places = Vec::new();
        let (mut gone, mut there) = (BTreeSet::new(), BTreeSet::new());
        for to in places {
            let at = ChainPlace::new(stretch.chain, to);
            let place = Stretch::up_to(at);
            let mut left = BTreeSet::new();
            for path in self.changed(&place)?.into_iter().flatten() {
                if !stretch.has(&path) {
                } else if self.gone.is_gone(at, &path)? {
                    gone.insert(path);
                } else {
                    left.insert(path);
                }
            }
            there.extend(left.iter().cloned());
            of_places.push((place, left));
        }
        if gone.is_empty() {
            plan.stretches.push(stretch);
            return Ok(());
        }
        let meant = gone.iter().filter(|path| self.only.matches(path));
        plan.already.extend(meant.cloned());
        let is_open = stretch.to >= self.turns.len(stretch.chain);
        if gone.is_disjoint(&there) && !is_open {
            plan.add_only(there, &stretch);
            return Ok(());
        }
        for (place, left) in of_places {
            let is_open = place.to >= self.turns.len(stretch.chain);
            // What is there now was not looked at.
            if is_open {
                let only = stretch.only.clone();
                plan.stretches.push(Stretch { only, ..place });
            } else {
                plan.add_only(left, &place);
            }
        }
        Ok(())
    }

    /// Turns of other sessions that went on there, too.
    fn others(&self, chosen: &[Turn], stretch: &Stretch) -> Vec<Turn> {
        let mut there = self.turns.at(stretch.chain, stretch.to);
        let sessions: BTreeSet<&str> = chosen
            .iter()
            .map(|turn| turn.checkpoint.session_id.as_str())
            .collect();
        there.retain(|turn| !sessions.contains(turn.checkpoint.session_id.as_str()));
        there.into_iter().cloned().collect()
    }

    fn tell_apart(
        &mut self,
        plan: &mut Plan,
        chosen: &[Turn],
        others: &[Turn],
        stretch: Stretch,
    ) -> Result<()> {
        // What is there now was not looked at: all that came after the last state.
        let Some(changed) = self.changed(&stretch)? else {
            match self.shared {
                Shared::Include => plan.add(stretch),
                Shared::Leave => plan.leaves_latest = true,
            }
            return Ok(());
        };
        let within: Vec<Turn> = chosen
            .iter()
            .filter(|turn| {
                let end = turn.last().unwrap_or(usize::MAX);
                turn.chain == stretch.chain && turn.start < stretch.to && stretch.to <= end
            })
            .cloned()
            .collect();
        let mine = self.said_by(&within);
        let theirs = self.said_by(others);
        let sessions: BTreeSet<String> = within
            .iter()
            .chain(others)
            .map(|turn| turn.checkpoint.session_id.clone())
            .collect();
        let mut only = BTreeSet::new();
        for path in changed {
            let whose = match (mine.names(&path), theirs.names(&path)) {
                (true, false) => Some((&mine, &theirs, true)),
                (false, true) => Some((&theirs, &mine, false)),
                (true, true) | (false, false) => None,
            };
            let is_mine = match whose {
                Some((one, other, is_mine))
                    if !other.has_untold() || self.is_wholly(one, &stretch, &path)? =>
                {
                    Some(is_mine)
                }
                _ => None,
            };
            if is_mine == Some(true) || (is_mine.is_none() && self.shared == Shared::Include) {
                only.insert(path.clone());
            }
            if is_mine.is_none() && self.only.matches(&path) {
                let known = plan.unattributed.entry(path).or_default();
                known.extend(sessions.iter().cloned());
            }
        }
        plan.add_only(only, &stretch);
        Ok(())
    }

    /// Refuses a word that means nothing that these turns and snapshots changed, and nothing in the state before them or in the
    /// working tree.
    ///
    /// # Errors
    /// `PATH_NOT_FOUND`; a tree cannot be read.
    pub fn refuse_unknown(
        &self,
        words: &[OsString],
        chosen: &[Turn],
        snapshots: &[ChainPlace],
    ) -> Result<()> {
        if words.is_empty() {
            return Ok(());
        }
        let mut plan = Plan::default();
        for place in self.places(chosen, snapshots) {
            plan.add(Stretch::up_to(place));
        }
        let Some(first) = plan.stretches.first() else {
            return Ok(());
        };
        let before = self.state(first.chain, first.from);
        let before = before.ok_or_else(|| Error::usage("a snapshot is gone"))?;
        for word in words {
            let one = Pathspec::parse(self.ctx, std::slice::from_ref(word))?;
            let mut is_known = false;
            for stretch in &plan.stretches {
                for to in stretch.from + 1..=stretch.to {
                    let place = Stretch::up_to(ChainPlace::new(stretch.chain, to));
                    let changed = self.changed(&place)?.unwrap_or_default();
                    let paths = changed.iter().map(Vec::as_slice);
                    is_known = is_known || one.unmatched(paths).is_none();
                }
            }
            if !is_known {
                let stored = self.store.read_id(&before.id)?;
                put_back::refuse_unknown(self.ctx, self.store, &stored, word)?;
            }
        }
        Ok(())
    }

    fn changed(&self, stretch: &Stretch) -> Result<Option<Vec<Vec<u8>>>> {
        let trees = self
            .tree(stretch.chain, stretch.from)
            .zip(self.tree(stretch.chain, stretch.to));
        let Some((from, to)) = trees else {
            return Ok(None);
        };
        let changes = tree::diff(&self.store.objects, Some(from), Some(to))?;
        Ok(Some(
            changes.into_iter().map(|change| change.path).collect(),
        ))
    }

    fn said_by(&mut self, turns: &[Turn]) -> Said {
        let ctx = self.ctx;
        let of = |turn: &Turn| {
            let writes = self.writes.entry(turn.name());
            let read = || turn_writes(ctx, &turn.checkpoint).map(Rc::new);
            writes.or_insert_with(read).clone()
        };
        Said(turns.iter().map(of).collect())
    }

    /// Whether tools wrote all that differs in a file.
    fn is_wholly(&self, said: &Said, stretch: &Stretch, path: &[u8]) -> Result<bool> {
        let file = |at: usize| -> Result<Option<(u32, Vec<u8>)>> {
            let Some(root) = self.tree(stretch.chain, at) else {
                return Ok(None);
            };
            let Some(node) = tree::find(&self.store.objects, root, path)? else {
                return Ok(None);
            };
            let text = if node.is_dir() || node.mode == tree::GITLINK_MODE {
                None
            } else {
                self.store.objects.read_blob_up_to(node.oid, LARGEST)?
            };
            // What cannot be read by lines is not told apart by them.
            Ok(Some((node.mode, text.unwrap_or_else(|| vec![0]))))
        };
        said.is_all(path, file(stretch.from)?, file(stretch.to)?)
    }

    /// Of states in all worktrees, the later one's place.
    fn position(&self, stretch: &Stretch) -> (usize, usize) {
        let states = &self.turns.states;
        let chain = states.chains.get(stretch.chain);
        let at = chain.and_then(|chain| chain.states.get(stretch.to));
        (at.copied().unwrap_or(usize::MAX), stretch.to)
    }

    fn tree(&self, chain: usize, at: usize) -> Option<Oid> {
        Some(self.state(chain, at)?.tree)
    }

    fn state(&self, chain: usize, at: usize) -> Option<&State> {
        self.turns.states.at(ChainPlace::new(chain, at))
    }

    /// The change that takes a stretch back: its later side is what it comes from. None where both sides are alike.
    ///
    /// # Errors
    /// A snapshot cannot be read.
    pub fn change(&self, stretch: &Stretch) -> Result<Option<Change>> {
        let after = self.state(stretch.chain, stretch.to);
        let before = self.state(stretch.chain, stretch.from);
        let before = before.ok_or_else(|| Error::usage("a snapshot is gone"))?;
        let stored = self.store.read_id(&before.id)?;
        let name = after.map_or("present".to_owned(), |after| after.id.to_string());
        let extras = stored_extras(self.store, &stored)?;
        let base = after.map(|after| self.store.read_id(&after.id));
        let base = base.transpose()?;
        let base_extras = base.as_ref().map(|base| stored_extras(self.store, base));
        let base_extras = base_extras.transpose()?;
        if after.is_some_and(|after| after.tree == before.tree)
            && base_extras
                .as_ref()
                .is_some_and(|base| base.records_as(&extras))
        {
            return Ok(None);
        }
        Ok(Some(Change {
            base: after.map(|after| after.tree),
            theirs: stored.tree,
            takes_back: after.is_some(),
            names: [name, stored.id.to_string()],
            extras,
            base_extras,
            only: stretch.only.clone(),
            uncaptured: Uncaptured::of(self.store, base.as_ref(), &stored)?,
            index: Vec::new(),
        }))
    }
}

impl Plan {
    fn add_only(&mut self, paths: BTreeSet<Vec<u8>>, stretch: &Stretch) {
        if !paths.is_empty() {
            let only = Some(paths);
            self.stretches.push(Stretch { only, ..*stretch });
        }
    }

    /// Adds one behind the last, which it may go on.
    fn add(&mut self, stretch: Stretch) {
        match self.stretches.last_mut() {
            Some(last)
                if last.chain == stretch.chain
                    && last.to == stretch.from
                    && last.only.is_none() =>
            {
                last.to = stretch.to;
            }
            _ => self.stretches.push(stretch),
        }
    }
}

/// The turns that are not among the chosen.
pub fn without(turns: Vec<&Turn>, chosen: &[Turn]) -> Vec<Turn> {
    let chosen = names(chosen);
    let others = turns
        .into_iter()
        .filter(|turn| !chosen.contains(&turn.name()));
    others.cloned().collect()
}
