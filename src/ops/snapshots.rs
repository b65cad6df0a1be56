//! Snapshots taken: whether a new one is needed at all, what is said about it, and a stored one as readers see it.

mod covered;
mod labels;
mod secrets;

pub use labels::{check_label, give_label};

use std::ops::ControlFlow;

use super::Context;
use super::capture::{Capture, CaptureOptions, Trust};
use super::history::{newest, newest_since};
use super::outcome::{SnapshotView, Taken};
use super::record::{About, Made, keep_known, make_unless};
use super::redaction;
use super::refspecs;
use super::request::Take;
use super::swap::recover;
use crate::error::Result;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::lock::WorktreeLock;
use crate::store::snapshot::HeadRecord;
use crate::store::state::{Mode, State};
use crate::store::stored::{Stored, part};
use crate::store::workspace::Covered;

/// Takes a snapshot of the working tree.
///
/// # Errors
/// `BUSY` during a swap, `INTERRUPTED` when a swap died and cannot be recovered by itself, `UNSAFE_WORKSPACE`,
/// `INVALID_LABEL`, or whatever keeps a file from being captured. Never an id for less than the whole.
pub fn take(ctx: &Context<'_>, request: &Take) -> Result<Taken> {
    ctx.check_workspace(request.force)?;
    let store = ctx.store()?;
    if let Some(label) = &request.label {
        check_label(ctx, store, label)?;
    }
    let wait = ctx.settings.lock_timeout;
    let (lock, recovered) = recover::lock_recovered(ctx, store, "snapshot", wait)?;
    let done = cleared(ctx, store, &lock)
        .and_then(|mut notices| take_locked(ctx, store, request, &mut notices, false));
    recovered.tell(done, |taken| &mut taken.notices)
}

/// Clears away what deaths left that is no swap, and says so.
fn cleared(ctx: &Context<'_>, store: &Store, lock: &WorktreeLock) -> Result<Vec<String>> {
    if recover::clear_after_death(ctx, store, lock)? {
        return recover::clear_workspace(ctx, store);
    }
    Ok(Vec::new())
}

/// Takes a snapshot under a lock that the caller holds.
pub fn take_locked(
    ctx: &Context<'_>,
    store: &Store,
    request: &Take,
    notices: &mut Vec<String>,
    interrupted: bool,
) -> Result<Taken> {
    let covered = covered::take(ctx, request, notices)?;
    // Read before the capture, so that the working tree is looked at once only.
    let candidates = if request.if_changed {
        candidates(ctx, store, request)?
    } else {
        Vec::new()
    };
    let wanted = CaptureOptions {
        include: &request.include,
        exclude: &request.exclude,
        trust: Trust::Watcher,
        ..CaptureOptions::default()
    };
    let about_unless = |seen: &Capture<'_>| {
        for stored in &candidates {
            let same_members = Covered::of(&stored.record.extra) == covered;
            // One that is about to be taken back, or was forgotten meanwhile, is not answered.
            if same_members && is_as_seen(store, stored, seen)? && store.is_settled(stored)? {
                return Ok(ControlFlow::Break(stored.clone()));
            }
        }
        Ok(ControlFlow::Continue(About {
            interrupted,
            ..about(ctx, request, &covered)
        }))
    };
    let made = match make_unless(ctx, store, IdKind::Snapshot, &wanted, &about_unless)? {
        ControlFlow::Continue(made) => made,
        ControlFlow::Break((current, capture)) => {
            keep_known(store, &wanted, &capture, &current);
            if let Some(label) = &request.label {
                notices.extend(give_label(ctx, &current, label, &current.id.to_string())?);
            }
            return Ok(Taken {
                snapshot: view(store, &current)?,
                fresh: false,
                notices: std::mem::take(notices),
            });
        }
    };
    tell(ctx, store, request, &made, notices)?;
    let stored = store.read(&made.id, made.commit)?;
    Ok(Taken {
        snapshot: view(store, &stored)?,
        fresh: true,
        notices: std::mem::take(notices),
    })
}

/// Says of a new snapshot what its owner should know.
fn tell(
    ctx: &Context<'_>,
    store: &Store,
    request: &Take,
    made: &Made<'_>,
    notices: &mut Vec<String>,
) -> Result<()> {
    for path in &made.record.unstable {
        notices.push(format!(
            "'{path}' kept changing while it was read; it was captured as read"
        ));
    }
    notices.extend(secrets::notice(ctx, store, &made.capture)?);
    notices.extend(team_notice(ctx, store)?);
    notices.extend(ctx.repo.broken_branch(&made.capture.head));
    if request.label.is_some() {
        notices.extend(refspecs::told_once(ctx, store));
    }
    Ok(())
}

/// What the record says that was asked for.
fn about(ctx: &Context<'_>, request: &Take, covered: &[Covered]) -> About {
    let title = redaction::short_text(ctx, request.message.as_deref());
    let mut extra = serde_json::Map::new();
    Covered::put(covered, &mut extra);
    About {
        title: title.unwrap_or_else(|| request.trigger.to_string()),
        trigger: request.trigger.clone(),
        label: request.label.clone(),
        session_id: request.session.clone(),
        agent: request.agent.clone(),
        task_hint: redaction::short_text(ctx, request.hint.as_deref()),
        extra,
        ..About::default()
    }
}

/// The snapshots that may still be current: the preferred ones, then the newest of this worktree; in the past the newest of this stay
/// alone, for one of the present would stand there as if nothing had been travelled to.
fn candidates(ctx: &Context<'_>, store: &Store, request: &Take) -> Result<Vec<Stored>> {
    let state = store.dir.state()?;
    if state.mode == Mode::Past {
        return Ok(newest_of_stay(ctx, store, &state)?.into_iter().collect());
    }
    let mut candidates = Vec::new();
    for id in &request.preferred {
        // One that was forgotten meanwhile is no candidate.
        candidates.extend(store.read_id(id).ok());
    }
    if let Some(newest) = newest(ctx, store, IdKind::Snapshot)?
        && candidates.iter().all(|known| known.id != newest.id)
    {
        candidates.push(newest);
    }
    Ok(candidates)
}

/// None as well where the backup with which the stay began cannot be read: then a new snapshot is taken.
fn newest_of_stay(ctx: &Context<'_>, store: &Store, state: &State) -> Result<Option<Stored>> {
    let backup = state.backup_id.as_deref().and_then(SnapshotId::parse);
    let backup = backup.and_then(|id| store.read_noted(&id, state.backup_commit.as_deref()).ok());
    let newest = backup.map(|backup| newest_since(ctx, store, &backup));
    Ok(newest.transpose()?.flatten())
}

/// Whether a snapshot has everything as a capture saw it.
fn is_as_seen(store: &Store, stored: &Stored, seen: &Capture<'_>) -> Result<bool> {
    let (head, now) = (&stored.record.head, HeadRecord::from(&seen.head));
    let same_head =
        stored.head == seen.head.oid && head.reference == now.reference && head.tag == now.tag;
    if seen.tree != stored.tree || !same_head {
        return Ok(false);
    }
    let side = store.index_side(stored)?;
    let beside = store.state_blob(side.state, part::UNMERGED)?;
    if side.tree != seen.index.tree_oid()? || beside.unwrap_or_default() != seen.index.unmerged {
        return Ok(false);
    }
    // Permission bits, empty directories, index flags and operation files count as well.
    let lists = store.lists(stored)?;
    let now = seen.lists();
    // What is listed are differences from what most have, which may itself have changed.
    let same_usual = stored.record.default_modes == seen.derived().default_modes();
    let same_lists = same_usual
        && lists.modes == now.modes
        && lists.empty_dirs == now.empty_dirs
        && lists.conflicts == now.conflicts
        && lists.intent_to_add == now.intent_to_add
        && lists.skip_worktree == now.skip_worktree
        && lists.assume_unchanged == now.assume_unchanged;
    let operation = store.operation(stored)?;
    Ok(same_lists && crate::git::operation::equal(&operation, &seen.operation))
}

/// Says once what in the team's file does not count, and again when that changes.
fn team_notice(ctx: &Context<'_>, store: &Store) -> Result<Option<String>> {
    let warnings = &ctx.settings.warnings;
    if warnings.is_empty() {
        return Ok(None);
    }
    let text = warnings.join("; ");
    let told = store.common("told-team");
    if crate::git::fs::read_optional(&told)?.as_deref() == Some(text.as_bytes()) {
        return Ok(None);
    }
    crate::git::fs::write_atomic(&told, text.as_bytes(), crate::git::fs::Durable::No)?;
    Ok(Some(text))
}

/// A stored snapshot as readers see it.
pub fn view(store: &Store, stored: &Stored) -> Result<SnapshotView> {
    let mut json = stored.json.clone();
    let labels = store.labels()?.remove(&stored.commit).unwrap_or_default();
    super::capture::seeds::tell(store, &stored.id, &mut json)?;
    Ok(SnapshotView {
        id: stored.id.to_string(),
        kind: stored.id.kind().word().to_owned(),
        commit: stored.commit,
        tree: stored.tree,
        title: stored.title.clone(),
        labels,
        json,
        foreign: store.is_foreign(stored)?,
    })
}
