//! Keeping quick what grows with use: thousands of loose refs become packed ones, many small packs become one.
//!
//! Never in the way of a command: a process of its own does it, started when so many records were made since the last time
//! (`cli::background`). Only refs and packs of ours are touched, and git's gc is never run; what it would do in a private repository is
//! `ops::reclaim`'s. A kill at any moment leaves what
//! git reads the same way.

use std::time::Duration;

use super::Context;
use crate::error::{Result, ResultExt};
use crate::git::durable::sync_file_system;
use crate::git::fs::{self, Durable};
use crate::git::gc;
use crate::git::objects::ObjectKind;
use crate::store::Store;
use crate::store::lock::{Hold, Owner, WorktreeLock, hold_file_within};
use crate::store::names;
use crate::store::state::WORKSHOP;
use crate::worktree::apply::workshop;

/// This many records are made before it is looked whether there is something to do.
const EVERY: u64 = 200;

/// More loose refs of ours are packed.
const LOOSE_REFS: usize = 1000;

/// More small packs of ours are folded.
const PACKS: usize = 20;

/// The file with the number of the record at which it was looked last.
const FILE: &str = "upkeep";

/// Whether a swap has just ended, or enough records were made since last time. Costs two small files and a look for a directory.
pub fn is_due(ctx: &Context<'_>) -> bool {
    ctx.store().is_ok_and(|store| {
        if store.dir.is_unsettled() || workshop::is_littered(&store.dir.file(WORKSHOP)) {
            return true;
        }
        let done = number(store, FILE).unwrap_or(0);
        number(store, "seq").is_some_and(|seq| seq.abs_diff(done) >= EVERY)
    })
}

fn number(store: &Store, file: &str) -> Option<u64> {
    let bytes = fs::read_optional(&store.common(file)).ok()??;
    std::str::from_utf8(&bytes).ok()?.trim().parse().ok()
}

/// Waits until what the last swap wrote is on disk, unless it waits for a repair.
///
/// # Errors
/// The disk refuses.
pub fn settle(ctx: &Context<'_>) -> Result<()> {
    let store = ctx.store()?;
    let Some(before) = store.dir.unsettled()? else {
        return Ok(());
    };
    if before.is_of_another_boot() {
        return Ok(());
    }
    // Before the lock: it may take seconds, in which commands would have to wait.
    sync_file_system(ctx.repo.worktree_root())?;
    // A swap that ended meanwhile has files of its own to wait for.
    // Gives way to any command: whoever has the lock settles itself, or the next upkeep does.
    let lock = WorktreeLock::acquire(store.dir.path(), Hold::Exclusive, "settle", Duration::ZERO)?;
    if store
        .dir
        .unsettled()?
        .is_some_and(|now| now.swap_id == before.swap_id)
    {
        store.dir.settled()?;
    }
    drop(lock);
    Ok(())
}

/// Deletes what swaps replaced, where that takes long.
///
/// # Errors
/// Its directory cannot be read.
pub fn clear(ctx: &Context<'_>) -> Result<()> {
    let at = ctx.store()?.dir.file(WORKSHOP);
    workshop::clear(&at).context(|| format!("cannot read '{}'", at.display()))
}

/// Waits until all snapshots and records made so far are on disk, unless it was not looked yet at what a power cut took.
///
/// # Errors
/// The disk refuses.
pub fn wait(ctx: &Context<'_>) -> Result<()> {
    let store = ctx.store()?;
    if store.is_another_boot()? {
        return Ok(());
    }
    store.wait_for_objects()
}

/// Packs refs and folds packs, where there are many.
///
/// # Errors
/// `BUSY` when another process is at it; the disk refuses.
pub fn run(ctx: &Context<'_>) -> Result<()> {
    let store = ctx.store()?;
    let _lock = hold_file_within(&store.common("upkeep.lock"), Duration::ZERO)?;
    let seq = number(store, "seq").unwrap_or(0);
    let objects = &store.objects;
    let is_commit = |oid| matches!(objects.header(oid), Ok(Some((ObjectKind::Commit, _))));
    store
        .refs
        .pack(&[names::ROOT, names::NOTES], LOOSE_REFS, &is_commit)?;
    if !gc::is_running(ctx.repo.common_dir()) {
        let note = Owner::this_process("upkeep").line();
        objects.fold_packs(PACKS, note.trim_end())?;
    }
    super::reclaim::old(ctx)?;
    let done = format!("{seq}\n");
    fs::write_atomic(&store.common(FILE), done.as_bytes(), Durable::No)
}
