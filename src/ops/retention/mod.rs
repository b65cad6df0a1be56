//! Forgetting snapshots: which ones no keep rule covers and nothing holds, and how refs go.
//!
//! The newest are kept by their time and by their number, whichever keeps more: a clock may have been behind, or ahead.
//!
//! Refs go in one transaction. Holders are looked up once to plan and, where something is to go, once more between the locks and the deletion,
//! so that whoever makes a ref that verifies the snapshot's either sees it gone or is seen. Name and commit go to `log.jsonl` first.
//! git's own gc reclaims; nothing here runs it.

mod stale;

use std::path::PathBuf;

use super::Context;
use super::event_log::{self, RefEvent, RefFate};
use super::holders::{self, Holders, RetentionScope};
use super::outcome::{Forgotten, Pruned};
use super::request::{DryRun, Prune};
use super::swap::undo_log;
use crate::env::fail_point;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::remove_optional;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::names;
use crate::store::snapshot::SnapshotRecord;
use crate::store::state::Mode;

/// How often a plan is made again because refs moved meanwhile.
const TRIES: usize = 4;
const DAY: i64 = 24 * 3600;

/// How much is kept.
#[derive(Debug, Clone, Copy)]
struct Keep {
    days: u32,
    last: usize,
    backup_days: u32,
}

/// One ref that is to go.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its id.
    pub id: SnapshotId,
    /// Its commit.
    pub commit: Oid,
    /// As it is told.
    pub forgotten: Forgotten,
}

/// Forgets what nothing holds and no keep rule covers, under a lock that the caller holds. In the past every undo level stays: one of them
/// began the stay.
///
/// # Errors
/// `CORRUPT_RECORD` or `NEWER_RECORD` when something that may hold cannot be read, `INVALID_CONFIG` when a setting cannot: then
/// nothing is forgotten.
pub fn prune_locked(ctx: &Context<'_>, store: &Store, request: &Prune) -> Result<Pruned> {
    let settings = &ctx.settings;
    // A default in place of what somebody meant to keep could be less.
    if let Some(fault) = settings.faults.first() {
        return Err(fault.clone().into());
    }
    let keep = Keep {
        days: request.keep_days.unwrap_or(settings.keep_days),
        last: request.keep_last.unwrap_or(settings.keep_last),
        backup_days: settings.keep_backup_days,
    };
    let reach = RetentionScope {
        now: ctx.env.now(),
        keep_days: keep.days,
        strict: keep.days == 0 && keep.last == 0,
    };
    let plan = Plan {
        ctx,
        store,
        reach,
        gone: match store.dir.state()?.mode {
            Mode::Present => undo_log::outlived(&store.dir, reach.now)?,
            Mode::Past => Vec::new(),
        },
    };
    // Reads everything that may hold: when that fails, the undo log stays as it is, too.
    let mut first = Some(plan.holders()?);
    let mut notices = plan.end_levels(request.dry_run)?;
    let stale = stale::find(ctx, store, reach);
    if request.dry_run == DryRun::No {
        stale.remove(store)?;
    }
    if stale.conversations > 0 {
        notices.push(forks_text(stale.conversations, request.dry_run));
    }
    let said = notices.len();
    for _ in 0..TRIES {
        // What is to go is looked at once more before it goes: the first answer is as good for a plan as a second one.
        let holders = match first.take() {
            Some(holders) => holders,
            None => plan.holders()?,
        };
        let (candidates, total, unreadable) = beyond(store, keep, reach, &holders)?;
        notices.extend(unreadable);
        if request.dry_run == DryRun::Yes {
            return Ok(answer(request.dry_run, candidates, total, notices));
        }
        let orphans = holders.orphans.clone();
        match plan.forget(candidates, &orphans)? {
            Some(gone) => return Ok(answer(request.dry_run, gone, total, notices)),
            // The next round says them again.
            None => notices.truncate(said),
        }
    }
    Err(Error::new(Code::Busy, "refs keep moving")
        .hint("try again when the other commands have ended"))
}

fn forks_text(count: usize, dry_run: DryRun) -> String {
    let forks = if count == 1 { "fork" } else { "forks" };
    let did = match dry_run {
        DryRun::Yes => "would forget",
        DryRun::No => "forgot",
    };
    format!("{did} {count} {forks} of conversations that no agent imported")
}

/// How many undo steps go, in words.
pub fn levels_text(count: usize, dry_run: DryRun) -> String {
    let steps = if count == 1 {
        "undo step"
    } else {
        "undo steps"
    };
    match dry_run {
        DryRun::Yes => format!("would forget {count} {steps}"),
        DryRun::No => format!("forgot {count} {steps}"),
    }
}

/// Removes levels of the undo log.
fn remove_levels(levels: &[PathBuf]) -> Result<()> {
    levels.iter().try_for_each(|path| remove_optional(path))
}

/// What went, and what is left of so many.
pub fn answer(dry_run: DryRun, gone: Vec<Candidate>, total: usize, notices: Vec<String>) -> Pruned {
    let forgotten: Vec<Forgotten> = gone.into_iter().map(|one| one.forgotten).collect();
    Pruned {
        dry_run: dry_run == DryRun::Yes,
        kept: total.saturating_sub(forgotten.len()),
        bytes: forgotten.iter().map(|one| one.bytes).sum(),
        forgotten,
        reclaimed: 0,
        notices,
    }
}

/// What no keep rule covers and nothing holds, newest first; how many there are in all; what could not be read.
fn beyond(
    store: &Store,
    keep: Keep,
    reach: RetentionScope,
    holders: &Holders,
) -> Result<(Vec<Candidate>, usize, Vec<String>)> {
    let mut found = Vec::new();
    let mut total = 0;
    for kind in IdKind::ALL {
        let mut refs = refs_of(store, kind)?;
        total += refs.len();
        let days = if kind == IdKind::Snapshot {
            order_at(store, &mut refs, keep.last);
            refs.drain(..keep.last.min(refs.len()));
            keep.days
        } else {
            keep.backup_days
        };
        refs.retain(|(id, _)| age(reach, id) >= i64::from(days) * DAY);
        found.extend(refs);
    }
    found.retain(|(id, commit)| holders.of(id, *commit).is_empty());
    let mut notices = Vec::new();
    let mut candidates: Vec<(SnapshotRecord, Candidate)> = Vec::new();
    for (id, commit) in found {
        match store.read(&id, commit) {
            Ok(stored) => {
                let candidate = Candidate {
                    id,
                    commit,
                    forgotten: forgotten(&id, commit, stored.record.stats.new_bytes),
                };
                candidates.push((stored.record, candidate));
            }
            Err(error) => notices.push(format!("'{id}' is kept: {}", error.message())),
        }
    }
    spare_taken_last(store, keep.last, &mut candidates)?;
    candidates.sort_by_key(|(record, one)| std::cmp::Reverse((one.id.time(), record.seq)));
    let candidates = candidates.into_iter().map(|(_, one)| one).collect();
    Ok((candidates, total, notices))
}

/// Takes those out that are among this many snapshots taken last by their numbers: what was taken while the clock was behind is old by its
/// time alone. Numbers of other repositories tell nothing here.
fn spare_taken_last(
    store: &Store,
    last: usize,
    candidates: &mut Vec<(SnapshotRecord, Candidate)>,
) -> Result<()> {
    let repository = store.repository_id()?;
    let is_ours =
        |kind: IdKind, id: &str| kind == IdKind::Snapshot && repository.as_deref() == Some(id);
    let mut keep_from = |first: u64| {
        candidates.retain(|(record, one)| {
            record.seq < first || !is_ours(one.id.kind(), &record.repository_id)
        });
        candidates
            .iter()
            .any(|(record, one)| is_ours(one.id.kind(), &record.repository_id))
    };
    let last_seq = store.counted().unwrap_or(u64::MAX);
    // Whatever was forgotten since: no more than that can have come after these.
    let certain = last_seq.saturating_sub(last as u64).saturating_add(1);
    if last == 0 || !keep_from(certain) {
        return Ok(());
    }
    let all = store.summaries(&[IdKind::Snapshot])?.found.into_iter();
    let ours = all.filter(|one| is_ours(one.id.kind(), &one.repository_id));
    let mut numbers: Vec<u64> = ours.map(|one| one.seq).collect();
    numbers.sort_unstable_by(|one, other| other.cmp(one));
    keep_from(numbers.get(last - 1).copied().unwrap_or(0));
    Ok(())
}

fn age(reach: RetentionScope, id: &SnapshotId) -> i64 {
    // A clock that was set back makes none old.
    (reach.now.seconds() - id.time().seconds()).max(0)
}

/// A snapshot that goes, as it is told.
pub fn forgotten(id: &SnapshotId, commit: Oid, bytes: u64) -> Forgotten {
    Forgotten {
        id: id.to_string(),
        kind: id.kind().word().to_owned(),
        commit,
        created_at: id.time().rfc3339(),
        bytes,
    }
}

/// The refs of a kind, newest second first. Broken refs are not among them, and so are kept.
fn refs_of(store: &Store, kind: IdKind) -> Result<Vec<(SnapshotId, Oid)>> {
    let refs = store.refs.list(names::prefix(kind))?.into_iter();
    let mut refs: Vec<_> = refs
        .filter_map(|(name, oid)| Some((names::parse_snapshot_ref(&name)?, oid)))
        .collect();
    refs.sort_by_key(|(id, _)| std::cmp::Reverse(id.time()));
    Ok(refs)
}

/// Puts those of the second that lies across place `at` in the order of taking, newest first: who is inside and who is not
/// must not hang on the random tail.
fn order_at(store: &Store, refs: &mut [(SnapshotId, Oid)], at: usize) {
    let Some(second) = refs.get(at).map(|(id, _)| id.time()) else {
        return;
    };
    let start = refs.partition_point(|(id, _)| id.time() > second);
    let end = refs.partition_point(|(id, _)| id.time() >= second);
    if let Some(same) = refs.get_mut(start..end) {
        same.sort_by_cached_key(|(id, commit)| {
            let seq = store.read(id, *commit).map(|stored| stored.record.seq);
            // What cannot be read counts as newest, and so is kept.
            std::cmp::Reverse(seq.unwrap_or(u64::MAX))
        });
    }
}

/// Where refs are forgotten.
pub struct Plan<'a> {
    /// In this repository.
    pub ctx: &'a Context<'a>,
    /// Its refs.
    pub store: &'a Store,
    /// How far rules hold.
    pub reach: RetentionScope,
    /// Undo levels that do not count any more.
    pub gone: Vec<PathBuf>,
}

impl Plan<'_> {
    /// Takes away the undo levels that do not count any more, and says so.
    fn end_levels(&self, dry_run: DryRun) -> Result<Vec<String>> {
        let mut notices = Vec::new();
        if !self.gone.is_empty() {
            let steps = levels_text(self.gone.len(), dry_run);
            notices.push(format!("{steps} of more than 100, older than 30 days"));
        }
        if dry_run == DryRun::No {
            // Before the refs: a level that names a snapshot which is gone could not be undone. The other way round nothing is lost.
            remove_levels(&self.gone)?;
            undo_log::forget_aside(&self.store.dir, self.reach.now)?;
        }
        Ok(notices)
    }

    /// Who holds what now.
    ///
    /// # Errors
    /// When something that may hold cannot be read.
    pub fn holders(&self) -> Result<Holders> {
        holders::find(self.ctx, self.store, self.reach, &self.gone)
    }

    /// Deletes what is still held by nothing when the locks are taken. None: refs moved, plan again.
    pub fn forget(
        &self,
        mut candidates: Vec<Candidate>,
        orphans: &[(String, Oid)],
    ) -> Result<Option<Vec<Candidate>>> {
        if candidates.is_empty() && orphans.is_empty() {
            return Ok(Some(candidates));
        }
        let mut edit = self.store.refs.transaction();
        for one in &candidates {
            edit.delete(&names::snapshot_ref(&one.id), Some(one.commit));
        }
        for (name, tip) in orphans {
            edit.delete(name, Some(*tip));
        }
        let mut prepared = match edit.prepare() {
            Ok(prepared) => prepared,
            Err(error) if error.is_lost_race() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        fail_point("prune-prepared");
        let now = self.holders()?;
        candidates.retain(|one| {
            let free = now.of(&one.id, one.commit).is_empty();
            if !free {
                prepared.leave_out(&names::snapshot_ref(&one.id));
            }
            free
        });
        let mut events = self.events(&candidates);
        for (name, tip) in orphans {
            if now.orphans.contains(&(name.clone(), *tip)) {
                events.push(self.event(name, *tip, names::title(name)));
            } else {
                prepared.leave_out(name);
            }
        }
        event_log::append(&self.store.dir, &events)?;
        fail_point("prune-logged");
        prepared.commit()?;
        Ok(Some(candidates))
    }

    pub(super) fn events(&self, candidates: &[Candidate]) -> Vec<RefEvent> {
        let one = |one: &Candidate| {
            self.event(
                &names::snapshot_ref(&one.id),
                one.commit,
                one.id.to_string(),
            )
        };
        candidates.iter().map(one).collect()
    }

    pub(super) fn event(&self, reference: &str, commit: Oid, id: String) -> RefEvent {
        RefEvent {
            at: self.reach.now.rfc3339(),
            event: RefFate::Dropped,
            reference: reference.to_owned(),
            commit: commit.to_string(),
            old_commit: None,
            id,
        }
    }
}
