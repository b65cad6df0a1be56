//! The paths of a dead swap, put on one of its two sides.
//!
//! What stands there is saved first, as a rescue backup. What neither side explains stays in place.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::super::goal::{Aim, Goal, PathChanges, PathsAim};
use super::super::journal::{path_of, permissions_of, side_of};
use super::super::place::Placing;
use super::super::run::VERIFY_FAILED;
use super::super::secure::{LateChanges, settle};
use super::super::{Prepared, changes, extras, prepare, settle_last};
use super::git_side::{put_git_back, put_git_forward};
use super::survey::{OnDisk, Survey, survey};
use super::{finish_left, leftovers};
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::durable::sync_file_system;
use crate::git::fs::Root;
use crate::git::objects::KeptPack;
use crate::git::path::{self, RepoPath};
use crate::ops::Context;
use crate::ops::capture::{CaptureOptions, Storing};
use crate::ops::outcome::Recovered;
use crate::ops::record::{About, record};
use crate::ops::request::Direction;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::lock::{GitLocks, Owner, remove_dead_locks};
use crate::store::state::Journal;
use crate::store::stored::Stored;

/// The side of a swap that its paths are put on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Towards {
    /// As before the swap.
    Before,
    /// As the swap would have left them.
    After,
}

/// Undoes a swap that failed in this very process; its locks are held.
///
/// # Errors
/// What stands against it, with the journal still there.
pub(in crate::ops::swap) fn roll_back(
    ctx: &Context<'_>,
    store: &Store,
    journal: &Journal,
) -> Result<()> {
    let survey = survey(ctx, store, journal)?;
    restore_paths(
        ctx,
        store,
        journal,
        &survey,
        Towards::Before,
        Rescue::WhenNeeded,
    )?;
    put_git_back(ctx, store, journal)?;
    // Nothing tells of what was put back once the journal is gone.
    sync_file_system(ctx.repo.worktree_root())?;
    store.dir.remove_journal()
}

/// Undoes or finishes a swap of a dead process.
///
/// # Errors
/// What stands against it, with the journal still there.
pub(super) fn resume(
    ctx: &Context<'_>,
    store: &Store,
    journal: &Journal,
    survey: &Survey,
    direction: Direction,
) -> Result<Recovered> {
    let towards = match direction {
        Direction::Forward => Towards::After,
        Direction::Back => Towards::Before,
        Direction::Auto if is_finished_return(journal, survey) => Towards::After,
        Direction::Auto => Towards::Before,
    };
    let guard = crate::interrupt::defer();
    // The dead process's own locks of git would keep us out.
    remove_dead_locks(ctx.repo.git_dir())?;
    let owner = Owner::this_process(&format!("recover-{}", journal.swap_id));
    let locks = GitLocks::acquire(ctx.repo.git_dir(), &owner, ctx.settings.lock_timeout)?;
    // It may have died between a backup with later bytes and the ref that names it.
    settle(store, journal)?;
    let mut recovered = restore_paths(ctx, store, journal, survey, towards, Rescue::Always)?;
    fail_point("recover-files");
    match towards {
        Towards::After => {
            put_git_forward(ctx, store, journal)?;
            fail_point("recover-git");
            store.dir.write_state(&journal.state_after)?;
            finish_left(ctx, store, journal)?;
            settle_last(ctx, store)?;
            recovered.action = "rolled-forward";
        }
        Towards::Before => {
            recovered.notices.extend(put_git_back(ctx, store, journal)?);
            fail_point("recover-git");
            // Nothing tells of what was put back once the journal is gone.
            sync_file_system(ctx.repo.worktree_root())?;
            store.dir.remove_journal()?;
        }
    }
    locks.release()?;
    drop(guard);
    leftovers::remove(ctx, store)?;
    Ok(recovered)
}

/// Whether a return had put every file in place, and no proof said otherwise: it was as good as home.
fn is_finished_return(journal: &Journal, survey: &Survey) -> bool {
    let all_after = survey.found.iter().all(|found| *found == OnDisk::After);
    journal.operation == "return" && all_after && !journal.extra.contains_key(VERIFY_FAILED)
}

/// Whether what is there is saved before paths are put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rescue {
    /// Always: another process may have died long ago.
    Always,
    /// Only when something is there that the swap's own backup does not have.
    WhenNeeded,
}

/// Puts every journalled path on one side; what neither side explains stays.
///
/// # Errors
/// As [`prepare`]; the backup cannot be read.
pub(super) fn restore_paths(
    ctx: &Context<'_>,
    store: &Store,
    journal: &Journal,
    survey: &Survey,
    towards: Towards,
    rescue: Rescue,
) -> Result<Recovered> {
    // Without the backup nothing is touched.
    let commit = current_commit(store, &journal.backup_id)?;
    let root = Root::open(ctx.repo.worktree_root())?;
    let sides = sides(&root, journal, survey, towards)?;
    let goal = goal(store, journal, towards, sides.changes, sides.forced)?;
    let needed = !survey.differing.is_empty() || survey.temps.iter().any(|(_, kept)| !kept);
    let saving = needed || rescue == Rescue::Always;
    let storing = if saving {
        Storing::Durable(journal.swap_id.clone())
    } else {
        Storing::No
    };
    let mut prepared = prepare(ctx, store, &goal, &storing)?;
    let mut rescue_id = None;
    let mut kept = Vec::new();
    if saving {
        (prepared, rescue_id) = save(ctx, store, journal, prepared, storing, &mut kept)?;
    }
    // Not before what they hold is saved.
    remove_temps(&root, survey)?;
    let mut scratch = journal.clone();
    Placing {
        ctx,
        store,
        aim: &goal.aim,
        tag: &format!("{}-r", journal.swap_id),
        manifest: &prepared.capture.manifest,
        plan: &prepared.plan,
        blobs: &prepared.blobs,
    }
    .run(&mut LateChanges::new(
        store,
        &mut scratch,
        commit,
        &mut kept,
    ))?;
    for pack in kept {
        pack.release()?;
    }
    let differing = survey.differing.iter().cloned().chain(sides.blocked);
    Ok(Recovered {
        action: "rolled-back",
        operation: Some(journal.operation.clone()),
        rescue_id,
        differing: differing.map(RepoPath::new).collect(),
        changes: changes(&prepared.plan),
        notices: Vec::new(),
    })
}

fn goal(
    store: &Store,
    journal: &Journal,
    towards: Towards,
    changes: PathChanges,
    forced: BTreeSet<Vec<u8>>,
) -> Result<Goal<'static>> {
    let backup = noted(store, &journal.backup_id, Some(&journal.backup_commit))?;
    let mut from = vec![backup];
    if let (Towards::After, Some(id)) = (towards, &journal.target_id) {
        from.push(noted(store, id, journal.target_commit.as_deref())?);
    }
    // Of the side that the paths are put on.
    let saved = extras::stored_extras(store, from.last().unwrap_or(&from[0]))?;
    let aim = Aim::Paths(PathsAim {
        changes,
        forced,
        from,
        saved,
    });
    Ok(Goal::new("recover", title(journal), aim)
        .hints(&["move these paths away and run 'tw recover' again"]))
}

fn title(journal: &Journal) -> String {
    format!("rescue: what an interrupted {} left", journal.operation)
}

/// Saves what was left, as a backup.
fn save<'s>(
    ctx: &Context<'_>,
    store: &'s Store,
    journal: &Journal,
    mut prepared: Prepared<'s>,
    storing: Storing,
    kept: &mut Vec<KeptPack>,
) -> Result<(Prepared<'s>, Option<String>)> {
    let options = CaptureOptions {
        storing,
        ..CaptureOptions::default()
    };
    let about = About {
        title: title(journal),
        trigger: "recover".into(),
        interrupted: true,
        touched: prepared.plan.paths(),
        ..About::default()
    };
    let made = record(
        ctx,
        store,
        IdKind::Backup,
        &options,
        prepared.capture,
        &about,
    )?
    .ok_or_else(|| {
        Error::new(
            Code::Io,
            "git gc removed objects that the rescue backup needs",
        )
        .hint("run 'tw recover' again")
    })?;
    kept.extend(made.kept);
    prepared.capture = made.capture;
    Ok((prepared, Some(made.id.to_string())))
}

/// What a recovery puts in place.
struct Sides {
    changes: PathChanges,
    /// Captured whatever the rules say: what stands there, and temporary files.
    forced: BTreeSet<Vec<u8>>,
    /// Paths that cannot be reached.
    blocked: Vec<Vec<u8>>,
}

/// One side of every journalled path that one of the two sides explains.
fn sides(root: &Root, journal: &Journal, survey: &Survey, towards: Towards) -> Result<Sides> {
    let mut changes = PathChanges::default();
    let mut forced: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut blocked = Vec::new();
    for (entry, found) in journal.entries.iter().zip(&survey.found) {
        let full = path_of(&entry.path)?;
        let stamp = root.stamp(&full).ok().flatten();
        if stamp.is_some_and(|stamp| stamp.is_file() || stamp.is_symlink()) {
            forced.insert(full.clone());
        }
        let side = match towards {
            Towards::Before => &entry.before,
            Towards::After => &entry.after,
        };
        let side = side_of(side.as_ref())?;
        // Its bytes are those of neither side: it stays.
        if *found == OnDisk::Other {
            continue;
        }
        if side.is_some() && survey.is_blocked(root, &full) {
            blocked.push(full);
        } else {
            changes.paths.push((full, side));
        }
    }
    forced.extend(survey.temps.iter().map(|(temp, _)| temp.clone()));
    for dir in &journal.dirs {
        let side = match towards {
            Towards::Before => &dir.before,
            Towards::After => &dir.after,
        };
        changes
            .dirs
            .push((path_of(&dir.path)?, permissions_of(side.as_deref())?));
    }
    Ok(Sides {
        changes,
        forced,
        blocked,
    })
}

/// Removes temporary files, whose bytes are in a backup by now.
fn remove_temps(root: &Root, survey: &Survey) -> Result<()> {
    for (temp, _) in &survey.temps {
        let (dir, name) = path::split(temp);
        if let Ok(fd) = root.open_dir(dir) {
            match rustix::fs::unlinkat(&fd, OsStr::from_bytes(name), AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => {
                    return Err(errno)
                        .context(|| format!("cannot remove '{}'", path::display(temp)));
                }
            }
        }
    }
    Ok(())
}

pub(super) fn noted(store: &Store, id: &str, commit: Option<&str>) -> Result<Stored> {
    let id = SnapshotId::parse(id).ok_or_else(|| {
        Error::new(
            Code::CorruptRecord,
            format!("the journal names '{id}', which is not a valid id"),
        )
    })?;
    store.read_noted(&id, commit)
}

/// The backup's commit as its ref has it: one step ahead of the journal when the swap died while it saved late changes.
fn current_commit(store: &Store, id: &str) -> Result<Oid> {
    Ok(noted(store, id, None)?.commit)
}
