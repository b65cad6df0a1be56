//! What a dead process left beside a swap: locks, temporary files, packs that nobody needs any more, undo levels whose snapshots it dropped.

use std::collections::BTreeSet;

use super::super::{index_file, undo_log};
use crate::error::{Code, Result};
use crate::git::fs::{Below, clear_dead_temps};
use crate::git::liveness::Dead;
use crate::ops::Context;
use crate::ops::event_log::{self, RefFate};
use crate::ops::worktrees::{self, Worktree};
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::lock::{WorktreeLock, remove_dead_locks};
use crate::store::names;
use crate::store::state::WORKSHOP;
use crate::worktree::apply::workshop;

/// Clears away what a command left that died outside a swap, or in one that had no journal yet. Costs nothing when none did. Says
/// whether one did.
///
/// # Errors
/// Something cannot be looked at or removed.
pub fn clear_after_death(ctx: &Context<'_>, store: &Store, lock: &WorktreeLock) -> Result<bool> {
    if store.dir.has_journal() || lock.dead()?.is_empty() && shared_dead(ctx)?.is_empty() {
        return Ok(false);
    }
    remove(ctx, store)?;
    Ok(true)
}

/// Who died over what all worktrees share.
fn shared_dead(ctx: &Context<'_>) -> Result<Dead> {
    Ok(Dead::find(&ctx.repo.common_dir().join("timewarp"))?)
}

/// Removes them. Called only when no journal is left that could need any of it.
///
/// # Errors
/// Something cannot be looked at or removed.
pub(super) fn remove(ctx: &Context<'_>, store: &Store) -> Result<()> {
    // In the main worktree these are one directory, and the second look finds nobody.
    let dead = [shared_dead(ctx)?, Dead::find(store.dir.path())?];
    for dead in &dead {
        store.refs.clear_locks_of(dead)?;
    }
    index_file::forget(store)?;
    remove_dead_locks(ctx.repo.git_dir())?;
    clear_dead_temps(ctx.repo.git_dir(), Below::Not)?;
    clear_dead_temps(store.dir.path(), Below::Too)?;
    clear_dead_temps(&store.common(""), Below::Too)?;
    // What stays there is in nobody's way.
    let _ = workshop::clear_dead(&store.dir.file(WORKSHOP));
    end_drop(store)?;
    let worktrees = worktrees::all(&ctx.repo)?;
    store
        .objects
        .clear_dead(&|token| is_of_a_journal(&worktrees, token))?;
    // Last: that somebody died is what makes the next command look, should this one die as well.
    for dead in dead {
        dead.forget()?;
    }
    Ok(())
}

/// Takes up where a `drop` died after its refs had gone: the undo levels that needed them go, too.
fn end_drop(store: &Store) -> Result<()> {
    let mut dropped = BTreeSet::new();
    for event in event_log::ref_events(&store.dir)? {
        match event.event {
            RefFate::Dropped => dropped.insert(event.id),
            _ => dropped.remove(&event.id),
        };
    }
    let is_gone = |id: &str| {
        let parsed = SnapshotId::parse(id).filter(|_| dropped.contains(id));
        let name = parsed.map(|id| names::snapshot_ref(&id));
        name.is_some_and(|name| matches!(store.refs.read(&name), Ok(None)))
    };
    match undo_log::forget_unreachable(&store.dir, &is_gone) {
        // Those that go by such a level say so.
        Err(error) if matches!(error.code(), Code::CorruptRecord | Code::NewerRecord) => Ok(()),
        forgotten => forgotten.map(drop),
    }
}

/// Whether a swap of this id still has its journal, in whatever worktree: what it keeps is needed until it is recovered.
fn is_of_a_journal(worktrees: &[Worktree], swap_id: &str) -> bool {
    worktrees.iter().any(|worktree| {
        let journal = worktree.dir.journal();
        // Of one that cannot be read nobody knows what it needs.
        journal.map_or(true, |found| {
            found.is_some_and(|journal| journal.swap_id == swap_id)
        })
    })
}
