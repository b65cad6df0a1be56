//! Finish or undo a swap that died.
//!
//! `state.json` decides: when it carries the journal's swap id the swap is done and only cleaning is left. Before that, every
//! journalled path is looked at: it is as the one side has it, as the other, or as somebody else left it. Mutating commands go on
//! by themselves only when the last never happens. A temporary file goes only when its bytes are in the backup, the target or
//! the rescue backup. After a power cut a path may also be torn: what is left of a side, which counts as that side; and of the
//! last swap that had ended the paths are looked at, too.

mod begun;
pub mod damaged;
mod git_side;
mod leftovers;
mod moved_dirs;
mod put_back;
mod remade;
mod rewritten;
mod settled;
mod survey;
mod together;
mod torn;
mod unwaited;

pub use begun::{Begun, Recovery, begin};
pub use leftovers::clear_after_death;
pub(super) use moved_dirs::{Noted as NotedDirs, forget as forget_dirs, note as note_dirs};
pub(super) use put_back::Unfinished;
pub use remade::{leads_nowhere, lost_id};
pub use rewritten::{Fate, Noted};
use std::path::PathBuf;
use std::time::Duration;
pub(super) use survey::node_of;
pub use together::{clear_workspace, is_unfinished, unfinished_in_all};
pub use unwaited::taken_by_power;

use super::run::VERIFY_FAILED;
use super::{copied, old_names};
use crate::error::{Code, Error, Result};
use crate::git::path::{self, RepoPath};
use crate::ops::Context;
use crate::ops::outcome::{Changes, Recovered, RecoveryAction};
use crate::ops::request::{Direction, Recover};
use crate::store::Store;
use crate::store::lock::{Hold, WorktreeLock, dead_git_locks, is_swapping, refuse_swapping};
use crate::store::state::{Journal, StateDir};
use crate::text::with_article;

/// Refuses to look at a working tree that a swap has half-way, be it dead or under way. The caller has no lock.
///
/// # Errors
/// `INTERRUPTED`, `BUSY`.
pub fn refuse_interrupted(store: &Store) -> Result<()> {
    if let Some(lost) = store.dir.lost_power()? {
        let message = format!(
            "power was lost before {} was on disk ({})",
            with_article(lost.operation.as_str()),
            lost.started_at
        );
        return Err(Error::new(Code::Interrupted, message)
            .hint("run 'tw recover'")
            .detail("operation", lost.operation.as_str())
            .detail("swap_id", lost.swap_id));
    }
    if !store.dir.has_journal() {
        return Ok(());
    }
    match store.dir.journal()? {
        Some(journal) if store.dir.state()?.swap_id.as_ref() != Some(&journal.swap_id) => {
            refuse_swapping(store.dir.path())?;
            // It may have ended just before.
            if store.dir.has_journal() {
                Err(interrupted(&journal, &[]))
            } else {
                Ok(())
            }
        }
        _ => Ok(()),
    }
}

fn interrupted(journal: &Journal, differing: &[Vec<u8>]) -> Error {
    let (operation, began) = (&journal.operation, &journal.started_at);
    let changed = match differing {
        [] => String::new(),
        [path] => format!(" and 1 path has changed since: '{}'", path::display(path)),
        [path, ..] => format!(
            " and {} paths have changed since, for example '{}'",
            differing.len(),
            path::display(path)
        ),
    };
    let message = format!(
        "{} was interrupted ({began}){changed}",
        with_article(operation.as_str())
    );
    let mut error = Error::new(Code::Interrupted, message)
        .detail("operation", operation.as_str())
        .detail("swap_id", journal.swap_id.clone());
    if !differing.is_empty() {
        error = error.paths("paths", differing);
    }
    error.hint("run 'tw recover'")
}

/// What a mutating command does first, without a lock of its own.
///
/// # Errors
/// As [`recover_locked`]; `BUSY`.
pub fn recover_by_itself(ctx: &Context<'_>, store: &Store) -> Result<Recovery> {
    let is_needed = store.dir.needs_recovery()? || is_unfinished(&store.dir)?;
    if !is_needed && !store.is_another_boot()? {
        return Ok(Recovery::default());
    }
    let lock = ctx.lock(&store.dir, "recover")?;
    let recovered = Recovery(recover_locked(ctx, store, &lock)?);
    drop(lock);
    Ok(recovered)
}

/// The shared lock of what captures, with nothing left to recover: the swap that it was waited for may have died, and what that left is
/// no state to keep.
///
/// # Errors
/// `BUSY`; `INTERRUPTED` when something is in doubt.
pub fn lock_recovered(
    ctx: &Context<'_>,
    store: &Store,
    operation: &str,
    wait: Duration,
) -> Result<(WorktreeLock, Recovery)> {
    let mut recovered = Recovery::default();
    let mut take = || -> Result<WorktreeLock> {
        loop {
            recovered.0.extend(recover_by_itself(ctx, store)?.0);
            // Between the two locks another process may swap and die.
            let lock = WorktreeLock::acquire(store.dir.path(), Hold::Shared, operation, wait)?;
            if !store.dir.has_journal() {
                return Ok(lock);
            }
        }
    };
    match take() {
        Ok(lock) => Ok((lock, recovered)),
        Err(error) => Err(recovered.with(error)),
    }
}

/// What a mutating command does first, under the exclusive lock: a dead swap is finished or undone when nothing is in doubt.
///
/// # Errors
/// `INTERRUPTED` with the paths when something is.
pub fn recover_locked(
    ctx: &Context<'_>,
    store: &Store,
    lock: &WorktreeLock,
) -> Result<Vec<String>> {
    copied::check(ctx, store)?;
    let mut notices: Vec<String> = damaged::set_unsettled_aside(store)?.into_iter().collect();
    notices.extend(recover_swap(ctx, store, lock)?);
    let others = together::others(ctx, store, None)?;
    notices.extend(others.notices);
    notices.extend(others.left.iter().map(ToString::to_string));
    notices.extend(unwaited::clear(ctx, store)?);
    Ok(notices)
}

fn recover_swap(ctx: &Context<'_>, store: &Store, lock: &WorktreeLock) -> Result<Vec<String>> {
    if !store.dir.has_journal() {
        clear_after_death(ctx, store, lock)?;
        return repair_by_itself(ctx, store);
    }
    let Some(journal) = store.dir.journal()? else {
        return Ok(Vec::new());
    };
    if is_committed(store, &journal)? {
        let told = clean(ctx, store, &journal)?;
        let mut notices = vec![format!(
            "cleaned up after an interrupted {}",
            journal.operation
        )];
        notices.extend(told);
        notices.extend(repair_by_itself(ctx, store)?);
        return Ok(notices);
    }
    // Both sides are saved; which one is wanted only the user knows.
    if journal.extra.contains_key(VERIFY_FAILED) {
        return Err(interrupted(&journal, &[]));
    }
    let direction = together::direction(store, &journal, Direction::Auto)?;
    let moved = Unfinished::new(ctx, store, &journal).follow()?;
    let unfinished = Unfinished::new(ctx, store, &moved.journal);
    let survey = unfinished.survey()?;
    if !survey.differing.is_empty() {
        let error = interrupted(&journal, &survey.differing);
        return Err(moved.obstacles().into_iter().fold(error, Error::hint));
    }
    let done = unfinished.resume(&survey, direction)?;
    let mut notices = [done.notices, moved.notices()].concat();
    let how = if done.action == RecoveryAction::RolledBack {
        "undone"
    } else {
        "finished"
    };
    notices.insert(0, format!("an interrupted {} was {how}", journal.operation));
    Ok(notices)
}

/// Repairs what a power cut took from the last swap, and says so. Costs one look for a file, mostly.
fn repair_by_itself(ctx: &Context<'_>, store: &Store) -> Result<Vec<String>> {
    let repaired = settled::repair(ctx, store)?;
    Ok(repaired
        .map(|repaired| repaired.notices)
        .unwrap_or_default())
}

/// Whether the swap had ended: `state.json` is written last.
fn is_committed(store: &Store, journal: &Journal) -> Result<bool> {
    Ok(store.dir.state()?.swap_id.as_ref() == Some(&journal.swap_id))
}

/// Clears away after a swap that had ended. Gives what that has not told.
fn clean(ctx: &Context<'_>, store: &Store, journal: &Journal) -> Result<Vec<String>> {
    let told = Unfinished::new(ctx, store, journal).finish()?;
    leftovers::remove(ctx, store)?;
    Ok(told)
}

/// The answer when nothing was left to recover.
pub fn nothing() -> Recovered {
    Recovered {
        action: RecoveryAction::Nothing,
        operation: None,
        rescue_id: None,
        differing: Vec::new(),
        changes: Changes::default(),
        notices: Vec::new(),
    }
}

/// Finishes or undoes what a dead process left, as asked. The caller holds the worktree's lock alone, and knows whether the way home is
/// refused for something that is lost.
///
/// # Errors
/// What stands against it, with the journal still there.
pub fn recover_asked(
    ctx: &Context<'_>,
    store: &Store,
    request: &Recover,
    is_way_home_barred: bool,
) -> Result<Recovered> {
    let mut mended = remade::mend(ctx, store, request.yes, is_way_home_barred)?;
    // Where nothing can be read, nobody knows that there is nothing to do; and it says whether this is a copy.
    store.dir.state()?;
    copied::check(ctx, store)?;
    mended.extend(old_names::give_after_death(ctx, store)?);
    let died_early = !store.dir.has_journal();
    let locks = died_early.then(|| dead_git_locks(ctx.repo.git_dir()));
    let mut recovered = recover_swap_asked(ctx, store, request)?;
    let removed = |lock: &PathBuf| {
        format!(
            "removed '{}', which a tw that died had left",
            lock.display()
        )
    };
    mended.extend(locks.iter().flatten().map(removed));
    if recovered.action == RecoveryAction::Nothing && !mended.is_empty() {
        recovered.action = RecoveryAction::Mended;
    }
    recovered.notices.splice(0..0, mended);
    // Whoever still has to decide may need all that is there.
    if recovered.action != RecoveryAction::Undecided {
        let others = together::others(ctx, store, Some(request))?;
        if !others.left.is_empty() {
            return Err(together::left_behind(&recovered, &others));
        }
        recovered.notices.extend(others.notices);
        if let (RecoveryAction::Nothing, Some(action)) = (recovered.action, others.action) {
            recovered.action = action;
        }
        recovered.notices.extend(unwaited::clear(ctx, store)?);
    }
    Ok(recovered)
}

fn recover_swap_asked(ctx: &Context<'_>, store: &Store, request: &Recover) -> Result<Recovered> {
    let Some(journal) = store.dir.journal()? else {
        leftovers::remove(ctx, store)?;
        return Ok(settled::repair(ctx, store)?.unwrap_or_else(nothing));
    };
    let operation = Some(journal.operation.clone());
    if is_committed(store, &journal)? {
        let told = clean(ctx, store, &journal)?;
        let mut recovered = settled::repair(ctx, store)?.unwrap_or_else(|| Recovered {
            action: RecoveryAction::Cleaned,
            operation,
            ..nothing()
        });
        recovered.notices.splice(0..0, told);
        return Ok(recovered);
    }
    let direction = together::direction(store, &journal, request.direction)?;
    let moved = Unfinished::new(ctx, store, &journal).follow()?;
    let unfinished = Unfinished::new(ctx, store, &moved.journal);
    let survey = unfinished.survey()?;
    if !survey.differing.is_empty() && !request.yes {
        return Ok(Recovered {
            action: RecoveryAction::Undecided,
            operation,
            differing: survey.differing.into_iter().map(RepoPath::new).collect(),
            notices: moved.obstacles(),
            ..nothing()
        });
    }
    let mut recovered = unfinished.resume(&survey, direction)?;
    recovered.notices.extend(moved.notices());
    Ok(recovered)
}

/// Whether a swap died here: there is a journal, and nobody is at it.
pub fn is_interrupted(dir: &StateDir) -> bool {
    // Looked at once more: the swap may have ended just before.
    dir.has_journal() && !is_swapping(dir.path()) && dir.has_journal()
}
