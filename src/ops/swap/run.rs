//! A swap from the backup to the end.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::Context;
use super::super::capture::{CaptureOptions, Storing};
use super::super::record::{About, Made, record};
use super::blobs::Blobs;
use super::extras;
use super::goal::{GitGoal, Goal, OperationShare};
use super::head::told_of_head;
use super::newindex::{
    IndexSource, changing_entries, clean_by_stat, converted_paths, new_index, resizes_converted,
};
use super::pathindex::PathEntries;
use super::place::Placing;
use super::prove::prove;
use super::recover::NotedDirs;
use super::secure::LateChanges;
use super::unchanged::drop_needless;
use super::{Prepared, StateAfter, Swapped, finish, recover, settle_last, wait_for_all};
use super::{
    filtered, flagged, given, index_file, journal, old_names, pathindex, taken_back, undo_log,
};
use crate::env::{clock_nanos, fail_point};
use crate::error::{Code, Error, Result};
use crate::git::fs::Root;
use crate::git::index::Entry;
use crate::git::objects::KeptPack;
use crate::git::{Oid, operation, path};
use crate::ops::capture::Capture;
use crate::ops::outcome::Recovered;
use crate::ops::stages::Stage;
use crate::ops::unsaved::{OLD_NAMES, Unsaved, note_pairs};
use crate::store::id::{IdKind, SnapshotId};
use crate::store::lock::Owner;
use crate::store::state::{Journal, Mode, State, stored_path};
use crate::store::trigger::SwapKind;
use crate::store::workspace::Covered;
use crate::store::{Store, names};
use crate::worktree::apply::{Applied, Granted};
use crate::worktree::manifest::Manifest;
use crate::worktree::plan::Plan;

/// Among the journal's other fields: there was no index before the swap.
pub(super) const NO_INDEX: &str = "no_index";
/// Among the journal's other fields: it leads from one past to another.
const HOP: &str = "hop";

/// Among the journal's other fields: of the target's operation files the past gets what can be revived.
pub(super) const REVIVABLE: &str = "revivable";

/// Whether a swap led from one past to another, also where it took such a one back.
pub fn is_hop(journal: &Journal) -> bool {
    journal.extra.get(HOP).is_some_and(|hop| hop == true)
}

/// Among the journal's other fields: the proof failed, so that nobody but the user decides which side stays.
pub(super) const VERIFY_FAILED: &str = "verify_failed";

/// One run of a swap; git's locks are held.
pub(super) struct SwapRun<'a, 'g, 's> {
    pub(super) ctx: &'a Context<'a>,
    pub(super) store: &'s Store,
    pub(super) goal: &'a Goal<'g>,
    pub(super) swap_id: String,
    pub(super) state_after: StateAfter<'a>,
}

/// How far a swap that failed had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Touched {
    /// Only what it saved and its journal were written.
    Nothing,
    /// Maybe files of the working tree.
    Files,
}

/// So many paths are named.
const SHOWN: usize = 5;

fn found_all_as_it_was(recovered: &Recovered) -> bool {
    recovered.differing.is_empty() && recovered.notices.is_empty() && recovered.rescue_id.is_none()
}

/// The error of a swap that failed and was undone.
fn undone(error: Error, root: &Root, journal: &Journal, recovered: &Recovered) -> Error {
    let error = if recovered.differing.is_empty() && recovered.notices.is_empty() {
        error.hint("everything is as it was")
    } else if recovered.differing.is_empty() {
        error.hint("all else is as it was")
    } else {
        let differing = recovered.differing.iter();
        let there: BTreeSet<&[u8]> = differing
            .map(|path| standing(root, path.as_bytes()))
            .collect();
        error.hint(format!(
            "all else is as it was, but what somebody wrote meanwhile stays: {}; what was there is in {}",
            path::listed(there.iter(), SHOWN),
            journal.backup_id
        ))
    };
    let error = match &recovered.rescue_id {
        Some(id) => error.hint(format!(
            "what was there before it was undone is saved as {id}"
        )),
        None => error,
    };
    // What was set aside has a name of ours, under which nobody would look for it.
    recovered
        .notices
        .iter()
        .fold(error, |error, notice| error.hint(notice.clone()))
}

/// What keeps a path from being what it was: a file over it, or what is there itself.
fn standing<'p>(root: &Root, full: &'p [u8]) -> &'p [u8] {
    let is_file = |at: &&[u8]| matches!(root.stamp(at), Ok(Some(stamp)) if !stamp.is_dir());
    path::with_parents(full).find(is_file).unwrap_or(full)
}

/// Whether the plan writes any file that the index has with these very bytes.
fn makes_any_clean(capture: &Capture<'_>, plan: &Plan) -> bool {
    let Some(index) = &capture.parsed_index else {
        return false;
    };
    plan.entries.iter().any(|entry| {
        let staged = index.get(&entry.path, 0).map(Entry::node);
        staged.is_some() && staged == entry.after.map(|side| side.node)
    })
}

/// The swap has ended: what it kept is held by refs.
fn release(kept: Vec<KeptPack>) -> Result<()> {
    kept.into_iter().try_for_each(KeptPack::release)
}

impl<'s> SwapRun<'_, '_, 's> {
    /// From the backup to the end. `None`: a gc came in between, prepare again.
    pub(super) fn run(&self, prepared: Prepared<'s>) -> Result<Option<Swapped<'s>>> {
        let Prepared {
            capture,
            plan,
            blobs,
            raw_head,
        } = prepared;
        // The journal of the swap before this one is what a power cut would be repaired from, and there is room for one.
        settle_last(self.ctx, self.store)?;
        self.list_target()?;
        let Some(mut saved) = self.save(capture, &plan)? else {
            return Ok(None);
        };
        if let Some(all) = self.ctx.together() {
            all.saved(&saved.id.to_string());
        }
        fail_point("swap-backup");
        let mut journal = self.journal(&saved, &plan, raw_head.clone())?;
        let mut kept: Vec<KeptPack> = saved.kept.take().into_iter().collect();
        let written = self
            .note_unsaved(&journal, &saved.capture.manifest, &plan)
            .and_then(|()| self.write_journal(&mut journal));
        if let Err(error) = written {
            // Nothing was touched. What cannot be taken back now is cleared away by the next command.
            let _ = self.take_journal_back().and_then(|()| release(kept));
            return Err(error);
        }
        fail_point("swap-journal");
        if let Err(error) = self.hold_target(&journal) {
            return Err(self.failed(error, &plan, journal, kept, Touched::Nothing)?);
        }
        let result = wait_for_all(self.ctx, Stage::Secured)
            .and_then(|()| self.apply(&mut journal, &mut saved, &mut kept, (&plan, blobs)))
            .and_then(|done| wait_for_all(self.ctx, Stage::Applied).map(|()| done));
        let (applied, changed_since) = match result {
            Ok(done) => done,
            Err(error) => return Err(self.failed(error, &plan, journal, kept, Touched::Files)?),
        };
        // The commit point: who dies after this is cleaned up after, not rolled back.
        if let Err(error) = self.store.dir.write_state(&journal.state_after) {
            return Err(self.not_committed(error, &plan, journal, kept)?);
        }
        fail_point("swap-state");
        let is_saved = !self.drop_needless(&saved, &raw_head, &mut journal);
        let names_kept = old_names::give(self.ctx, self.store, &journal);
        recover::forget_dirs(&mut journal);
        finish(self.store, &journal).map_err(|error| self.made_all_the_same(error))?;
        // Only now: until the swap has ended, neither side depends on what a gc may take.
        release(kept)?;
        Ok(Some(Swapped {
            saved,
            is_saved,
            plan,
            applied,
            changed_since,
            state: journal.state_after,
            names_kept,
        }))
    }

    /// Makes sure that the snapshot which is travelled to is there. From the journal on it is held by this worktree.
    fn hold_target(&self, journal: &Journal) -> Result<()> {
        let target = self.goal.aim.target().filter(|target| {
            let id = target.id.to_string();
            journal.state_after.current_snapshot_id.as_ref() == Some(&id)
        });
        target.map_or(Ok(()), |target| self.store.check_stands(target))
    }

    /// Takes away an experiment in which nothing was made; says whether it did.
    fn drop_needless(&self, saved: &Made<'_>, raw_head: &str, journal: &mut Journal) -> bool {
        let experiment = self.goal.experiment.as_ref();
        let start = experiment.and_then(|experiment| experiment.start.as_ref());
        start.is_some_and(|start| drop_needless(self.ctx, start, saved, raw_head, journal))
    }

    /// What is said of a swap that failed, after it was rolled back. One whose proof failed is left for the user to decide.
    fn failed(
        &self,
        error: Error,
        plan: &Plan,
        mut journal: Journal,
        kept: Vec<KeptPack>,
        touched: Touched,
    ) -> Result<Error> {
        if error.code() == Code::VerifyFailed {
            journal.extra.insert(VERIFY_FAILED.into(), true.into());
            self.store.dir.write_journal(&journal)?;
            return Ok(error);
        }
        let unfinished = recover::Unfinished::new(self.ctx, self.store, &journal);
        match unfinished.roll_back() {
            Ok(recovered) => {
                release(kept)?;
                if touched == Touched::Nothing && found_all_as_it_was(&recovered) {
                    self.forget_backup(&journal)?;
                }
                let root = Root::open(self.ctx.repo.worktree_root())?;
                let error = flagged::name_the_way(error, self.ctx, &plan.paths());
                let error = match error.hint_of_system() {
                    Some(hint) if error.hints().is_empty() && !error.is_refusal() => {
                        error.hint(hint)
                    }
                    _ => error,
                };
                Ok(undone(error, &root, &journal, &recovered))
            }
            Err(second) => Ok(self.left_half_way(&error, &second)),
        }
    }

    /// What is said of a swap that failed, and of which something else failed when it was to be undone.
    fn left_half_way(&self, error: &Error, second: &Error) -> Error {
        let operation = &self.goal.operation;
        let message =
            format!("{operation} stopped half-way and could not be undone: {error}; {second}");
        let half_way = Error::new(Code::Interrupted, message);
        let hints = second.hints().iter();
        let half_way = hints.fold(half_way, |error, hint| error.hint(hint.clone()));
        half_way.hint("run 'tw recover'")
    }

    /// The error of a swap that had come to its end.
    fn made_all_the_same(&self, error: Error) -> Error {
        let operation = &self.goal.operation;
        error.hint(format!(
            "the {operation} itself was made; put right what is named, and any command of 'tw' ends it"
        ))
    }

    /// What is said of a swap whose end could not be noted: it is undone, unless it is noted all the same, or was decided together with other
    /// repositories, which recovery goes by.
    fn not_committed(
        &self,
        error: Error,
        plan: &Plan,
        journal: Journal,
        kept: Vec<KeptPack>,
    ) -> Result<Error> {
        let state = match self.store.dir.state() {
            Ok(state) => state,
            Err(second) => return Ok(self.left_half_way(&error, &second)),
        };
        if state.swap_id.as_ref() == Some(&journal.swap_id) {
            return Ok(self.made_all_the_same(error));
        }
        if self.ctx.together().is_some() {
            return Ok(error);
        }
        self.failed(error, plan, journal, kept, Touched::Files)
    }

    /// Takes the backup away of a swap that did nothing: it has nothing that is not there.
    fn forget_backup(&self, journal: &Journal) -> Result<()> {
        let Some(id) = SnapshotId::parse(&journal.backup_id) else {
            return Ok(());
        };
        let mut transaction = self.store.refs.transaction();
        let commit = Oid::from_hex(&journal.backup_commit)?;
        transaction.delete(&names::snapshot_ref(&id), Some(commit));
        Ok(transaction.commit()?)
    }

    /// Gives a target its own ref that was found without one: the stay and the undo log need it, whatever becomes of what led to it.
    fn list_target(&self) -> Result<()> {
        let Some(target) = self.goal.aim.target() else {
            return Ok(());
        };
        match self.store.give_ref(target) {
            // Where nothing but files is put in place the swap does without.
            Err(_) if self.goal.operation != SwapKind::Travel => Ok(()),
            done => done,
        }
    }

    fn write_journal(&self, journal: &mut Journal) -> Result<()> {
        // Before the journal: recovery takes what is kept here for this swap's.
        index_file::forget(self.store)?;
        if self.goal.git.swaps_index() && !index_file::keep(self.ctx, self.store)? {
            journal.extra.insert(NO_INDEX.into(), true.into());
        }
        fail_point("swap-linked");
        self.store.dir.write_journal(journal)
    }

    /// Takes a journal away after which nothing was written.
    fn take_journal_back(&self) -> Result<()> {
        self.store.dir.remove_journal()?;
        index_file::forget(self.store)
    }

    /// Notes what the present has and no backup will have, as it is before this swap writes. Before the journal: from then on it may be
    /// needed. In the present nothing is.
    fn note_unsaved(&self, journal: &Journal, seen: &Manifest, plan: &Plan) -> Result<()> {
        let after = &journal.state_after;
        let (Mode::Past, Some(backup)) = (after.mode, &after.backup_id) else {
            return Ok(());
        };
        let begins = journal.state_before.mode == Mode::Present;
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let mut unsaved = if begins {
            Unsaved::of_present(&root, seen)?
        } else {
            Unsaved::of_stay(&self.store.dir)?
        };
        unsaved.rename_in_past(&root, &self.goal.old_names)?;
        let mut has_changed = unsaved.write(&root, plan);
        has_changed |= !begins && unsaved.save_filtered(seen, plan, &journal.backup_id);
        for dir in plan.dirs.iter().filter(|dir| dir.before != dir.after) {
            if let (Some(before), Some(_)) = (dir.before, dir.after) {
                has_changed |= unsaved.change_bits(&dir.path, before);
            }
        }
        if begins || has_changed {
            unsaved.note(&self.store.dir, backup)?;
        }
        Ok(())
    }

    /// Saves what is there now, as a backup or an experiment.
    fn save(&self, capture: Capture<'s>, plan: &Plan) -> Result<Option<Made<'s>>> {
        let mut converted = converted_paths(self.ctx, self.store, &capture)?;
        let others = match &self.goal.git {
            GitGoal::Snapshot(side) => changing_entries(self.store, &capture, side.stored)?,
            GitGoal::Stay | GitGoal::Entries(_) => Vec::new(),
        };
        let touched = plan.entries.iter().map(|entry| &entry.path);
        let changing = touched.chain(&others);
        converted.extend(clean_by_stat(self.ctx, self.store, &capture, changing)?);
        converted.sort();
        let about = About {
            title: self.goal.title.clone(),
            trigger: self.goal.operation.clone().into(),
            converted,
            touched: plan.paths(),
            target_id: self.goal.aim.target().map(|stored| stored.id.to_string()),
            extra: self.record_fields(),
            ..About::default()
        };
        let options = CaptureOptions {
            storing: Storing::Durable(self.swap_id.clone()),
            // The proof scans again, and keeps what it sees.
            leave_cache: self.goal.ends_stay(),
            ..CaptureOptions::default()
        };
        record(
            self.ctx,
            self.store,
            self.goal.saves_as(),
            &options,
            capture,
            &about,
        )
    }

    /// The fields of the record that not every snapshot has.
    fn record_fields(&self) -> Map<String, Value> {
        let experiment = self.goal.experiment.as_ref();
        let mut extra = experiment.map_or_else(Map::default, |experiment| experiment.extra.clone());
        // An experiment in which a member made nothing has none there.
        if let (Some(all), None) = (self.ctx.together(), experiment) {
            Covered::put(&all.saved_by_others(), &mut extra);
        }
        extra
    }

    fn journal(&self, saved: &Made<'_>, plan: &Plan, head_before: String) -> Result<Journal> {
        let goal = self.goal;
        let before = self.store.dir.state()?;
        let after = State {
            swap_id: Some(self.swap_id.clone()),
            ..(self.state_after)(&before, saved)
        };
        let owner = Owner::this_process(&self.swap_id);
        let is_experiment = goal.saves_as() == IdKind::Experiment;
        let target = goal.aim.target();
        let discarded = goal
            .experiment
            .as_ref()
            .map(|experiment| experiment.discarded.borrow());
        let stayed = goal
            .stayed
            .iter()
            .chain(discarded.iter().flat_map(|paths| paths.iter()));
        let stayed: Vec<String> = stayed.map(|path| stored_path(path)).collect();
        let side = match &goal.git {
            GitGoal::Snapshot(side) => Some(side),
            GitGoal::Stay | GitGoal::Entries(_) => None,
        };
        let git = side.map(|side| side.stored);
        let git = git.filter(|git| target.is_none_or(|target| target.id != git.id));
        Ok(Journal {
            version: 1,
            swap_id: self.swap_id.clone(),
            operation: goal.operation.clone(),
            reverses: goal.reversal.as_ref().map(|level| level.kind.clone()),
            started_at: self.ctx.env.now().rfc3339(),
            pid: owner.pid,
            process_start: owner.start,
            boot_id: crate::git::durable::boot_id().map(str::to_owned),
            backup_id: saved.id.to_string(),
            backup_commit: saved.commit.to_string(),
            target_id: target.map(|stored| stored.id.to_string()),
            target_commit: target.map(|stored| stored.commit.to_string()),
            git_id: git.map(|stored| stored.id.to_string()),
            git_commit: git.map(|stored| stored.commit.to_string()),
            experiment_id: is_experiment.then(|| saved.id.to_string()),
            entries: journal::entries(plan),
            dirs: journal::dirs(plan),
            stayed_until: (!stayed.is_empty()).then(clock_nanos),
            stayed,
            head: side.map(|side| (head_before, side.raw_head.clone())),
            swaps_index: goal.git.swaps_index(),
            swaps_operation: side.is_some(),
            state_before: before,
            state_after: after,
            head_left: String::new(),
            extra: self.other_fields(saved, plan)?,
        })
    }

    /// The journal's fields that not every swap has.
    fn other_fields(&self, saved: &Made<'_>, plan: &Plan) -> Result<Map<String, Value>> {
        let mut extra = Map::new();
        let root = Root::open(self.ctx.repo.worktree_root())?;
        recover::note_dirs(&root, plan, &mut extra);
        let granted = Granted::by(self.goal.aim.extras(), plan);
        let now = saved.capture.access(self.ctx)?;
        given::note((plan, granted), now, &mut extra)?;
        if self.goal.ends_stay() {
            filtered::note(plan, &mut extra);
            Unsaved::of_stay(&self.store.dir)?.note_moved_aside(&mut extra);
        }
        if let GitGoal::Entries(entries) = &self.goal.git
            && let Some(index) = &saved.capture.parsed_index
            && !entries.borrow().is_empty()
        {
            let entries = pathindex::stored(index, &entries.borrow().all());
            extra.insert(pathindex::FIELD.into(), entries);
        }
        let reversal = self.goal.reversal.as_ref();
        let log = reversal.map_or("new", |reversal| reversal.log.as_str());
        extra.insert("log".into(), log.into());
        if let Some(reversal) = reversal {
            extra.insert("pops".into(), reversal.level.clone().into());
        }
        if let GitGoal::Snapshot(side) = &self.goal.git
            && side.takes == OperationShare::Revivable
        {
            extra.insert(REVIVABLE.into(), true.into());
        }
        note_pairs(OLD_NAMES, &self.goal.old_names, &mut extra);
        if self.goal.is_hop() {
            extra.insert(HOP.into(), true.into());
        }
        taken_back::note(self.goal, &mut extra);
        if let Some(all) = self.ctx.together() {
            all.tie().put(&mut extra);
        }
        Ok(extra)
    }

    /// Puts files, index, HEAD and operation files in place, and proves it where the past is left.
    fn apply(
        &self,
        journal: &mut Journal,
        saved: &mut Made<'s>,
        kept: &mut Vec<KeptPack>,
        (plan, blobs): (&Plan, Blobs),
    ) -> Result<(Applied, Vec<Vec<u8>>)> {
        let noted = NotedDirs::of(journal)?;
        let unproven = extras::unproven(self.store, (&saved.id, saved.commit), plan)?;
        let mut late = LateChanges::new(self.store, journal, saved.commit, kept);
        let mut applied = Placing {
            ctx: self.ctx,
            store: self.store,
            aim: &self.goal.aim,
            tag: &self.swap_id,
            manifest: &saved.capture.manifest,
            replaced: saved.capture.access(self.ctx)?,
            plan,
            noted,
            blobs: &blobs,
        }
        .run(&mut late)?;
        applied.unproven = unproven;
        // Files that changed since are in a commit of their own by now.
        saved.commit = late.commit();
        // What is kept of them in memory may be large.
        drop(blobs);
        fail_point("swap-applied");
        // After the files: it has their stat data.
        self.put_index(&saved.capture, &applied, plan)?;
        fail_point("swap-index");
        self.put_head(journal)?;
        fail_point("swap-head");
        if let GitGoal::Snapshot(side) = &self.goal.git {
            operation::restore(&self.ctx.repo, &side.operation)?;
        }
        fail_point("swap-operation");
        let changed_since = prove(
            self.ctx,
            self.store,
            self.goal,
            &saved.capture,
            (plan, &applied),
        )?;
        fail_point("swap-proved");
        Ok((applied, changed_since))
    }

    fn put_index(&self, capture: &Capture<'_>, applied: &Applied, plan: &Plan) -> Result<()> {
        let entries = match &self.goal.git {
            GitGoal::Entries(changed) => changed.borrow().all(),
            GitGoal::Stay | GitGoal::Snapshot(_) => PathEntries::new(),
        };
        let source = match &self.goal.git {
            GitGoal::Snapshot(side) => IndexSource::Snapshot {
                stored: side.stored,
                lists: side.lists,
            },
            _ if entries.is_empty() && !self.changes_stats(capture, applied, plan)? => {
                return Ok(());
            }
            // One that nobody may replace keeps its stat data: git looks at these files, as often as it is asked.
            _ if entries.is_empty() && flagged::flagged_index(self.ctx).is_some() => return Ok(()),
            _ => IndexSource::Entries(&entries),
        };
        let index = new_index(self.ctx, self.store, capture, source, applied, plan)?;
        index_file::install(self.ctx, self.store, &index)
    }

    /// Whether stat data of an index whose entries stay has to be another. git's plumbing and `git merge --abort` take a file for modified by
    /// it alone: it is renewed where files became what the index has, as `git restore` does. And git takes a file of another size for
    /// modified without a look, also one that it converts.
    fn changes_stats(&self, capture: &Capture<'_>, applied: &Applied, plan: &Plan) -> Result<bool> {
        Ok(makes_any_clean(capture, plan)
            || resizes_converted(self.ctx, self.store, capture, applied)?)
    }

    fn put_head(&self, journal: &mut Journal) -> Result<()> {
        if let Some((before, after)) = &journal.head {
            let told = told_of_head(journal);
            let log = told.as_deref().map(|said| (self.ctx.env.now(), said));
            self.ctx.repo.move_head(Some(before), after, log)?;
        }
        journal.head_left = undo_log::head_mark(self.ctx)?;
        Ok(())
    }
}
