//! Forgetting: what retention lets go (`prune`), and what somebody names (`drop`).
//!
//! Refs go in one transaction. Holders are looked up once to plan and once more between the locks and the deletion, so that
//! whoever makes a ref that verifies the snapshot's either sees it gone or is seen. Name and commit go to `log.jsonl` first.
//! git's own gc reclaims; nothing here runs it.

use std::path::PathBuf;

use super::Context;
use super::address;
use super::holders::{self, Grip, Holder, Holders, Reach};
use super::log::{self, RefEvent};
use super::outcome::{Forgotten, Pruned};
use super::request::{Drop, DryRun, Prune};
use super::worktrees::{self, LOGS};
use crate::env::fail_point;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::remove_optional;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::lock::{Hold, WorktreeLock};
use crate::store::names;
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
struct Candidate {
    id: SnapshotId,
    commit: Oid,
    forgotten: Forgotten,
}

/// Forgets what nothing holds and no keep rule covers.
///
/// # Errors
/// `ALREADY_IN_PAST` in the past; `CORRUPT_RECORD` or `NEWER_RECORD` when something that may hold cannot be read: then
/// nothing is forgotten.
pub fn prune(ctx: &Context<'_>, request: &Prune) -> Result<Pruned> {
    let store = Store::open(&ctx.repo)?;
    if request.dry_run == DryRun::Yes {
        return prune_locked(ctx, &store, request);
    }
    let mut notices = super::recover::recover_by_itself(ctx, &store)?;
    let _lock = lock(ctx, &store, "prune")?;
    let mut pruned = prune_locked(ctx, &store, request)?;
    notices.append(&mut pruned.notices);
    pruned.notices = notices;
    Ok(pruned)
}

fn lock(ctx: &Context<'_>, store: &Store<'_>, token: &str) -> Result<WorktreeLock> {
    WorktreeLock::acquire(
        store.dir.path(),
        Hold::Exclusive,
        token,
        ctx.settings.lock_timeout,
    )
}

/// [`prune`] under a lock that the caller holds.
pub fn prune_locked(ctx: &Context<'_>, store: &Store<'_>, request: &Prune) -> Result<Pruned> {
    if store.dir.state()?.mode == Mode::Past {
        return Err(
            Error::new(Code::AlreadyInPast, "nothing is forgotten in the past")
                .hint("run 'tw return' first"),
        );
    }
    let settings = &ctx.settings;
    let keep = Keep {
        days: request.keep_days.unwrap_or(settings.keep_days),
        last: request.keep_last.unwrap_or(settings.keep_last),
        backup_days: settings.keep_backup_days,
    };
    let reach = Reach {
        now: ctx.env.now(),
        keep_days: keep.days,
        strict: keep.days == 0 && keep.last == 0,
    };
    let mut notices = Vec::new();
    let plan = Plan {
        ctx,
        store,
        reach,
        gone: worktrees::outlived_levels(&store.dir, reach.now)?,
    };
    // Reads everything that may hold: when that fails, the undo log stays as it is, too.
    plan.holders()?;
    if !plan.gone.is_empty() {
        let steps = levels_text(plan.gone.len(), request.dry_run);
        notices.push(format!("{steps} of more than 100, older than 30 days"));
    }
    if request.dry_run == DryRun::No {
        remove_levels(&plan.gone)?;
    }
    for _ in 0..TRIES {
        let holders = plan.holders()?;
        let (candidates, total, unreadable) = beyond(store, keep, reach, &holders)?;
        notices.extend(unreadable);
        if request.dry_run == DryRun::Yes {
            return Ok(answer(request.dry_run, candidates, total, notices));
        }
        let orphans = holders.orphans.clone();
        match plan.forget(candidates, &orphans)? {
            Some(gone) => return Ok(answer(request.dry_run, gone, total, notices)),
            None => notices.truncate(usize::from(!plan.gone.is_empty())),
        }
    }
    Err(Error::new(Code::Busy, "refs keep moving")
        .hint("try again when the other commands have ended"))
}

fn levels_text(count: usize, dry_run: DryRun) -> String {
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

fn remove_levels(levels: &[PathBuf]) -> Result<()> {
    levels.iter().try_for_each(|path| remove_optional(path))
}

fn answer(dry_run: DryRun, gone: Vec<Candidate>, total: usize, notices: Vec<String>) -> Pruned {
    let forgotten: Vec<Forgotten> = gone.into_iter().map(|one| one.forgotten).collect();
    Pruned {
        dry_run: dry_run == DryRun::Yes,
        kept: total.saturating_sub(forgotten.len()),
        bytes: forgotten.iter().map(|one| one.bytes).sum(),
        forgotten,
        notices,
    }
}

/// What no keep rule covers and nothing holds, newest first; how many there are in all; what could not be read.
fn beyond(
    store: &Store<'_>,
    keep: Keep,
    reach: Reach,
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
    found.sort_by_key(|(id, _)| std::cmp::Reverse((id.time(), id.to_string())));
    let mut notices = Vec::new();
    let mut candidates = Vec::new();
    for (id, commit) in found {
        match store.read(&id, commit) {
            Ok(stored) => candidates.push(Candidate {
                id,
                commit,
                forgotten: forgotten(&id, commit, stored.record.stats.new_bytes),
            }),
            Err(error) => notices.push(format!("'{id}' is kept: {}", error.message())),
        }
    }
    Ok((candidates, total, notices))
}

fn age(reach: Reach, id: &SnapshotId) -> i64 {
    (reach.now.seconds() - id.time().seconds()).max(0)
}

fn forgotten(id: &SnapshotId, commit: Oid, bytes: u64) -> Forgotten {
    Forgotten {
        id: id.to_string(),
        kind: id.kind().word().to_owned(),
        commit,
        created_at: id.time().rfc3339(),
        bytes,
    }
}

/// The refs of a kind, newest second first. Broken refs are not among them, and so are kept.
fn refs_of(store: &Store<'_>, kind: IdKind) -> Result<Vec<(SnapshotId, Oid)>> {
    let refs = store.refs.list(names::prefix(kind))?.into_iter();
    let mut refs: Vec<_> = refs
        .filter_map(|(name, oid)| Some((names::parse_snapshot_ref(&name)?, oid)))
        .collect();
    refs.sort_by_key(|(id, _)| std::cmp::Reverse(id.time()));
    Ok(refs)
}

/// Puts those of the second that lies across place `at` in the order of taking, newest first: who is inside and who is not
/// must not hang on the random tail.
fn order_at(store: &Store<'_>, refs: &mut [(SnapshotId, Oid)], at: usize) {
    let Some(second) = refs.get(at).map(|(id, _)| id.time()) else {
        return;
    };
    let start = refs.partition_point(|(id, _)| id.time() > second);
    let end = refs.partition_point(|(id, _)| id.time() >= second);
    if let Some(same) = refs.get_mut(start..end) {
        same.sort_by_cached_key(|(id, commit)| {
            let seq = store.read(id, *commit).map(|stored| stored.record.seq);
            std::cmp::Reverse(seq.unwrap_or(u64::MAX))
        });
    }
}

/// Where refs are forgotten.
struct Plan<'a, 'r> {
    ctx: &'a Context<'a>,
    store: &'a Store<'r>,
    reach: Reach,
    /// Undo levels that do not count any more.
    gone: Vec<PathBuf>,
}

impl Plan<'_, '_> {
    fn holders(&self) -> Result<Holders> {
        holders::find(self.ctx, self.store, self.reach, &self.gone)
    }

    /// Deletes what is still held by nothing when the locks are taken. None: refs moved, plan again.
    fn forget(
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
        log::append(&self.store.dir, &events)?;
        fail_point("prune-logged");
        prepared.commit()?;
        Ok(Some(candidates))
    }

    fn events(&self, candidates: &[Candidate]) -> Vec<RefEvent> {
        let one = |one: &Candidate| {
            self.event(
                &names::snapshot_ref(&one.id),
                one.commit,
                one.id.to_string(),
            )
        };
        candidates.iter().map(one).collect()
    }

    fn event(&self, reference: &str, commit: Oid, id: String) -> RefEvent {
        RefEvent {
            at: self.reach.now.rfc3339(),
            event: "dropped".to_owned(),
            reference: reference.to_owned(),
            commit: commit.to_string(),
            old_commit: None,
            id,
        }
    }
}

/// Forgets what is named.
///
/// # Errors
/// `HELD`, naming the holders, unless forced; what a state or journal needs is held in any case. As [`address::resolve`].
pub fn drop(ctx: &Context<'_>, request: &Drop) -> Result<Pruned> {
    let store = Store::open(&ctx.repo)?;
    if request.dry_run == DryRun::Yes {
        return drop_locked(ctx, &store, request);
    }
    let mut notices = super::recover::recover_by_itself(ctx, &store)?;
    let _lock = lock(ctx, &store, "drop")?;
    let mut dropped = drop_locked(ctx, &store, request)?;
    notices.append(&mut dropped.notices);
    dropped.notices = notices;
    Ok(dropped)
}

fn drop_locked(ctx: &Context<'_>, store: &Store<'_>, request: &Drop) -> Result<Pruned> {
    let plan = Plan {
        ctx,
        store,
        reach: Reach {
            now: ctx.env.now(),
            keep_days: ctx.settings.keep_days,
            strict: false,
        },
        gone: Vec::new(),
    };
    let mut named: Vec<Candidate> = Vec::new();
    for address in &request.addresses {
        let one = named_by(ctx, store, address)?;
        if named.iter().all(|known| known.id != one.id) {
            named.push(one);
        }
    }
    let mut total = 0;
    for kind in IdKind::ALL {
        total += store.ids(kind)?.len();
    }
    check_held(&plan.holders()?, &named, request.force)?;
    if request.dry_run == DryRun::Yes {
        return Ok(answer(request.dry_run, named, total, Vec::new()));
    }
    let notices = plan.drop_refs(&named, request.force)?;
    Ok(answer(request.dry_run, named, total, notices))
}

/// What an address names, also when it cannot be read: a damaged record must not stay for ever.
fn named_by(ctx: &Context<'_>, store: &Store<'_>, address: &str) -> Result<Candidate> {
    let resolved = address::resolve(ctx, store, address);
    let (id, commit, bytes) = match (resolved, SnapshotId::parse(address)) {
        (Ok(stored), _) => {
            let bytes = stored.record.stats.new_bytes;
            (stored.id, stored.commit, bytes)
        }
        (Err(error), Some(id)) if error.code() != Code::SnapshotNotFound => {
            match store.refs.read(&names::snapshot_ref(&id))? {
                Some(commit) => (id, commit, 0),
                None => return Err(error),
            }
        }
        (Err(error), _) => return Err(error),
    };
    Ok(Candidate {
        id,
        commit,
        forgotten: forgotten(&id, commit, bytes),
    })
}

fn check_held(holders: &Holders, named: &[Candidate], force: bool) -> Result<()> {
    let mut held: Vec<(String, Vec<&Holder>)> = Vec::new();
    for one in named {
        let mut by = holders.of(&one.id, one.commit);
        by.retain(|holder| !force || holder.grip == Grip::Firm);
        if !by.is_empty() {
            held.push((one.id.to_string(), by));
        }
    }
    let Some((first, by)) = held.first() else {
        return Ok(());
    };
    let texts: Vec<&str> = by.iter().map(|holder| holder.text.as_str()).collect();
    let more = match held.len() - 1 {
        0 => String::new(),
        count => format!(" (and {count} more are held)"),
    };
    let message = format!("'{first}' is held by {}{more}", texts.join(", "));
    let mut error = Error::new(Code::Held, message);
    let firm = held
        .iter()
        .any(|(_, by)| by.iter().any(|holder| holder.grip == Grip::Firm));
    error = if firm {
        error.hint("'tw status' in that worktree says what it is needed for")
    } else {
        error.hint("'tw drop --force' drops it all the same")
    };
    let details: Vec<serde_json::Value> = held
        .iter()
        .map(|(id, by)| {
            let by: Vec<&str> = by.iter().map(|holder| holder.text.as_str()).collect();
            serde_json::json!({"id": id, "holders": by})
        })
        .collect();
    Err(error.detail("held", details))
}

impl Plan<'_, '_> {
    /// Deletes refs and, when forced, labels and undo levels that need them. Answers what else went.
    fn drop_refs(&self, named: &[Candidate], force: bool) -> Result<Vec<String>> {
        let mut labels = self.store.refs.list(names::LABELS)?;
        labels.retain(|(_, commit)| named.iter().any(|one| one.commit == *commit));
        let mut edit = self.store.refs.transaction();
        for one in named {
            edit.delete(&names::snapshot_ref(&one.id), Some(one.commit));
        }
        for (name, commit) in &labels {
            edit.delete(name, Some(*commit));
        }
        let prepared = edit.prepare()?;
        check_held(&self.holders()?, named, force)?;
        let mut events = self.events(named);
        for (name, commit) in &labels {
            events.push(self.event(name, *commit, names::title(name)));
        }
        log::append(&self.store.dir, &events)?;
        let levels = self.levels_that_need(named)?;
        remove_levels(&levels)?;
        prepared.commit()?;
        let mut notices: Vec<String> = labels
            .iter()
            .map(|(name, _)| format!("took {} away", names::title(name)))
            .collect();
        if !levels.is_empty() {
            notices.push(levels_text(levels.len(), DryRun::No));
        }
        Ok(notices)
    }

    /// The undo and redo levels of this worktree that cannot be reached any more: the newest that needs one of these, and
    /// those beneath it.
    fn levels_that_need(&self, named: &[Candidate]) -> Result<Vec<PathBuf>> {
        let ids: Vec<String> = named.iter().map(|one| one.id.to_string()).collect();
        let mut found = Vec::new();
        for log in LOGS {
            let levels = worktrees::levels(&self.store.dir, log)?;
            let needs = |level: &worktrees::Level| {
                level
                    .needs()
                    .iter()
                    .any(|id| ids.iter().any(|own| own == id))
            };
            let lost = levels.into_iter().skip_while(|level| !needs(level));
            found.extend(lost.map(|level| level.path));
        }
        Ok(found)
    }
}
