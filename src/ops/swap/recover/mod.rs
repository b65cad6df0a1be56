//! Finish or undo a swap that died.
//!
//! `state.json` decides: when it carries the journal's swap id the swap is done and only cleaning is left. Before that, every
//! journalled path is looked at: it is as the one side has it, as the other, or as somebody else left it. Mutating commands go on
//! by themselves only when the last never happens. A temporary file goes only when its bytes are in the backup, the target or
//! the rescue backup. After a power cut a path may also be torn: what is left of a side, which counts as that side; and of the
//! last swap that had ended the paths are looked at, too ([`settled`]).

mod git_side;
mod settled;
mod survey;
mod unwaited;

use git_side::{put_git_back, put_git_forward};
use std::collections::BTreeSet;
use std::time::Duration;
use survey::{Found, Survey, survey};
pub use unwaited::taken_by_power;

use super::copied;
use super::journal::{path_of, permissions_of, side_of};
use super::newindex::IndexGoal;
use super::secure::{LateChanges, settle};
use super::undo_log::head_mark;
use super::{
    Aim, Goal, HeadGoal, Logging, OperationGoal, changes, expected_in, finish, granted, look,
    protected_dirs, settle_last, stored_extras,
};
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::durable::sync_file_system;
use crate::git::fs::{Below, Root, clear_dead_temps, remove_optional};
use crate::git::liveness::Dead;
use crate::git::path::{self, RepoPath};
use crate::ops::Context;
use crate::ops::capture::{CaptureOptions, Storing};
use crate::ops::outcome::{Changes, Recovered};
use crate::ops::record::{About, record};
use crate::ops::request::{Direction, Recover};
use crate::ops::worktrees::{self, Worktree};
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::lock::{GitLocks, Hold, Owner, WorktreeLock, remove_dead_locks};
use crate::store::state::Journal;
use crate::store::stored::Stored;
use crate::worktree::apply::Apply;
use crate::worktree::manifest::Manifest;
use crate::worktree::plan::Side;

/// What a recovery did.
pub struct Done {
    /// `rolled-back`, `rolled-forward`, `cleaned`.
    pub action: &'static str,
    /// The rescue backup, when one was made.
    pub rescue_id: Option<String>,
    /// Paths touched.
    pub changes: Changes,
    /// Paths left as somebody else has them.
    pub differing: Vec<Vec<u8>>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Refuses to look at a working tree that a dead swap left half-way.
///
/// # Errors
/// `INTERRUPTED`.
pub fn refuse_interrupted(store: &Store) -> Result<()> {
    if let Some(lost) = store.dir.lost_power()? {
        let message = format!(
            "the power went before a {} was on disk ({})",
            lost.operation, lost.started_at
        );
        return Err(Error::new(Code::Interrupted, message)
            .hint("run 'tw recover'")
            .detail("operation", lost.operation)
            .detail("swap_id", lost.swap_id));
    }
    if !store.dir.has_journal() {
        return Ok(());
    }
    match store.dir.journal()? {
        Some(journal) if store.dir.state()?.swap_id.as_ref() != Some(&journal.swap_id) => {
            Err(interrupted(&journal, &[]))
        }
        _ => Ok(()),
    }
}

fn interrupted(journal: &Journal, differing: &[Vec<u8>]) -> Error {
    let mut error = Error::new(
        Code::Interrupted,
        format!(
            "a {} was interrupted ({})",
            journal.operation, journal.started_at
        ),
    )
    .detail("operation", journal.operation.clone())
    .detail("swap_id", journal.swap_id.clone());
    if !differing.is_empty() {
        let paths: Vec<String> = differing
            .iter()
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect();
        error = Error::new(
            Code::Interrupted,
            format!(
                "a {} was interrupted ({}) and {} changed since, '{}' for one",
                journal.operation,
                journal.started_at,
                if paths.len() == 1 {
                    "1 path".to_owned()
                } else {
                    format!("{} paths", paths.len())
                },
                path::display(differing.first().map(Vec::as_slice).unwrap_or_default())
            ),
        )
        .detail("operation", journal.operation.clone())
        .detail("swap_id", journal.swap_id.clone())
        .detail("paths", paths);
    }
    error.hint("run 'tw recover'")
}

/// What a mutating command does first, without a lock of its own.
pub fn recover_by_itself(ctx: &Context<'_>, store: &Store) -> Result<Vec<String>> {
    if !store.dir.needs_recovery()? && !store.is_another_boot()? {
        return Ok(Vec::new());
    }
    let lock = ctx.lock(&store.dir, "recover")?;
    let notices = recover_locked(ctx, store, &lock)?;
    drop(lock);
    Ok(notices)
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
) -> Result<(WorktreeLock, Vec<String>)> {
    let mut notices = Vec::new();
    loop {
        notices.extend(recover_by_itself(ctx, store)?);
        let lock = WorktreeLock::acquire(store.dir.path(), Hold::Shared, operation, wait)?;
        if !store.dir.has_journal() {
            return Ok((lock, notices));
        }
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
    let mut notices = recover_swap(ctx, store, lock)?;
    notices.extend(unwaited::clear(ctx, store)?);
    Ok(notices)
}

fn recover_swap(ctx: &Context<'_>, store: &Store, lock: &WorktreeLock) -> Result<Vec<String>> {
    if !store.dir.has_journal() {
        clear_after_death(ctx, store, lock)?;
        return settled::repair_by_itself(ctx, store);
    }
    let Some(journal) = store.dir.journal()? else {
        return Ok(Vec::new());
    };
    if is_committed(store, &journal)? {
        clean(ctx, store, &journal)?;
        let mut notices = vec![format!(
            "cleaned up after an interrupted {}",
            journal.operation
        )];
        notices.extend(settled::repair_by_itself(ctx, store)?);
        return Ok(notices);
    }
    if journal.extra.contains_key("verify_failed") {
        return Err(interrupted(&journal, &[]));
    }
    let survey = survey(ctx, store, &journal)?;
    if !survey.differing.is_empty() {
        return Err(interrupted(&journal, &survey.differing));
    }
    let done = resume(ctx, store, &journal, &survey, Direction::Auto)?;
    let mut notices = done.notices;
    let how = if done.action == "rolled-back" {
        "undone"
    } else {
        "finished"
    };
    notices.insert(0, format!("an interrupted {} was {how}", journal.operation));
    Ok(notices)
}

fn is_committed(store: &Store, journal: &Journal) -> Result<bool> {
    Ok(store.dir.state()?.swap_id.as_ref() == Some(&journal.swap_id))
}

fn clean(ctx: &Context<'_>, store: &Store, journal: &Journal) -> Result<()> {
    finish_left(ctx, store, journal)?;
    remove_leftovers(ctx, store)
}

/// Puts a swap into the log whose process could not. HEAD is as the swap left it: the locks of the dead kept git out.
fn finish_left(ctx: &Context<'_>, store: &Store, journal: &Journal) -> Result<()> {
    let mut journal = journal.clone();
    if journal.head_left.is_empty() {
        journal.head_left = head_mark(ctx)?;
    }
    finish(store, &journal)
}

/// Clears away what a command left that died outside a swap, or in one that had no journal yet. Costs nothing when none did.
pub fn clear_after_death(ctx: &Context<'_>, store: &Store, lock: &WorktreeLock) -> Result<()> {
    if store.dir.has_journal() || lock.dead().is_empty() && shared_dead(ctx).is_empty() {
        return Ok(());
    }
    remove_leftovers(ctx, store)
}

/// Who died over what all worktrees share.
fn shared_dead(ctx: &Context<'_>) -> Dead {
    Dead::find(&ctx.repo.common_dir().join("timewarp"))
}

/// Called only when no journal is left that could need any of it.
fn remove_leftovers(ctx: &Context<'_>, store: &Store) -> Result<()> {
    // In the main worktree these are one directory, and the second look finds nobody.
    let dead = [shared_dead(ctx), Dead::find(store.dir.path())];
    for dead in &dead {
        store.refs.clear_locks_of(dead)?;
    }
    for name in ["index.before", "index.after"] {
        remove_optional(&store.dir.file(name))?;
    }
    remove_dead_locks(ctx.repo.git_dir())?;
    clear_dead_temps(ctx.repo.git_dir(), Below::Not)?;
    clear_dead_temps(store.dir.path(), Below::Too)?;
    clear_dead_temps(&store.common(""), Below::Too)?;
    let worktrees = worktrees::all(&ctx.repo)?;
    store
        .objects
        .clear_dead(&|token| is_of_a_journal(&worktrees, token))?;
    for dead in dead {
        dead.forget()?;
    }
    Ok(())
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

/// The answer when nothing was left to recover.
pub fn nothing() -> Recovered {
    Recovered {
        action: "nothing",
        operation: None,
        rescue_id: None,
        differing: Vec::new(),
        changes: Changes::default(),
        notices: Vec::new(),
    }
}

/// Finishes or undoes what a dead process left, as asked. The caller holds the worktree's lock alone.
///
/// # Errors
/// What stands against it, with the journal still there.
pub fn recover_asked(ctx: &Context<'_>, store: &Store, request: &Recover) -> Result<Recovered> {
    let mut recovered = recover_swap_asked(ctx, store, request)?;
    if recovered.action != "undecided" {
        recovered.notices.extend(unwaited::clear(ctx, store)?);
    }
    Ok(recovered)
}

fn recover_swap_asked(ctx: &Context<'_>, store: &Store, request: &Recover) -> Result<Recovered> {
    let Some(journal) = store.dir.journal()? else {
        remove_leftovers(ctx, store)?;
        let repaired = settled::repair(ctx, store)?;
        return Ok(repaired.map_or_else(nothing, settled::Repaired::answer));
    };
    let operation = Some(journal.operation.clone());
    if is_committed(store, &journal)? {
        clean(ctx, store, &journal)?;
        if let Some(repaired) = settled::repair(ctx, store)? {
            return Ok(repaired.answer());
        }
        return Ok(Recovered {
            action: "cleaned",
            operation,
            ..nothing()
        });
    }
    let survey = survey(ctx, store, &journal)?;
    if !survey.differing.is_empty() && !request.yes {
        return Ok(Recovered {
            action: "undecided",
            operation,
            differing: survey.differing.into_iter().map(RepoPath::new).collect(),
            ..nothing()
        });
    }
    let done = resume(ctx, store, &journal, &survey, request.direction)?;
    Ok(Recovered {
        action: done.action,
        operation,
        rescue_id: done.rescue_id,
        differing: done.differing.into_iter().map(RepoPath::new).collect(),
        changes: done.changes,
        notices: done.notices,
    })
}

/// Undoes a swap that failed in this very process; its locks are held.
pub fn roll_back(ctx: &Context<'_>, store: &Store, journal: &Journal) -> Result<Done> {
    let survey = survey(ctx, store, journal)?;
    let forward = false;
    let done = restore_paths(ctx, store, journal, &survey, forward, Rescue::WhenNeeded)?;
    put_git_back(ctx, store, journal)?;
    // Nothing tells of what was put back once the journal is gone.
    sync_file_system(ctx.repo.worktree_root())?;
    store.dir.remove_journal()?;
    Ok(done)
}

/// Undoes or finishes a swap of a dead process.
fn resume(
    ctx: &Context<'_>,
    store: &Store,
    journal: &Journal,
    survey: &Survey,
    direction: Direction,
) -> Result<Done> {
    let finished_return =
        journal.operation == "return" && survey.found.iter().all(|found| *found == Found::After);
    let all_after = finished_return && !journal.extra.contains_key("verify_failed");
    let forward = match direction {
        Direction::Forward => true,
        Direction::Back => false,
        Direction::Auto => all_after,
    };
    let guard = crate::interrupt::defer();
    remove_dead_locks(ctx.repo.git_dir())?;
    let owner = Owner::this_process(&format!("recover-{}", journal.swap_id));
    let locks = GitLocks::acquire(ctx.repo.git_dir(), &owner, ctx.settings.lock_timeout)?;
    settle(store, journal)?;
    let mut done = restore_paths(ctx, store, journal, survey, forward, Rescue::Always)?;
    fail_point("recover-files");
    if forward {
        put_git_forward(ctx, store, journal)?;
        fail_point("recover-git");
        store.dir.write_state(&journal.state_after)?;
        finish_left(ctx, store, journal)?;
        settle_last(ctx, store)?;
        done.action = "rolled-forward";
    } else {
        done.notices.extend(put_git_back(ctx, store, journal)?);
        fail_point("recover-git");
        sync_file_system(ctx.repo.worktree_root())?;
        store.dir.remove_journal()?;
    }
    locks.release()?;
    drop(guard);
    remove_leftovers(ctx, store)?;
    Ok(done)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rescue {
    Always,
    WhenNeeded,
}

/// Puts every journalled path on one side; what neither side explains stays.
fn restore_paths(
    ctx: &Context<'_>,
    store: &Store,
    journal: &Journal,
    survey: &Survey,
    forward: bool,
    rescue: Rescue,
) -> Result<Done> {
    // Without the backup nothing is touched.
    let commit = current_commit(store, &journal.backup_id)?;
    let root = Root::open(ctx.repo.worktree_root())?;
    let Sides {
        paths,
        dirs,
        forced,
        blocked,
    } = sides(&root, journal, survey, forward)?;
    let mut from = vec![noted(
        store,
        &journal.backup_id,
        Some(&journal.backup_commit),
    )?];
    if let (true, Some(id)) = (forward, &journal.target_id) {
        from.push(noted(store, id, journal.target_commit.as_deref())?);
    }
    // Of the side that the paths are put on.
    let saved = stored_extras(store, from.last().unwrap_or(&from[0]))?;
    let goal = Goal {
        operation: "recover",
        reverses: None,
        aim: Aim::Paths {
            paths: &paths,
            dirs: &dirs,
            saved: &saved,
        },
        target: None,
        also_from: &from,
        index: IndexGoal::Stay,
        head: HeadGoal::Stay,
        operation_files: OperationGoal::Stay,
        saves_as: IdKind::Backup,
        title: format!("rescue: what an interrupted {} left", journal.operation),
        extra: Default::default(),
        forced,
        hidden: None,
        before_hashing: None,
        logging: Logging::NewLevel,
        way_out: &["move these paths away and run 'tw recover' again"],
    };
    let needed = !survey.differing.is_empty() || survey.temps.iter().any(|(_, kept)| !kept);
    let saving = needed || rescue == Rescue::Always;
    let storing = if saving {
        Storing::Durable(journal.swap_id.clone())
    } else {
        Storing::No
    };
    let mut looked = look(ctx, store, &goal, &storing)?;
    let mut rescue_id = None;
    let mut kept = Vec::new();
    if saving {
        let wanted = CaptureOptions {
            storing,
            ..CaptureOptions::default()
        };
        let about = About {
            title: goal.title.clone(),
            trigger: "recover".into(),
            interrupted: true,
            touched: looked.plan.paths(),
            ..About::default()
        };
        let made = record(ctx, store, IdKind::Backup, &wanted, looked.capture, &about)?
            .ok_or_else(|| {
                Error::new(Code::Io, "a gc ran meanwhile").hint("run 'tw recover' again")
            })?;
        rescue_id = Some(made.id.to_string());
        kept.extend(made.kept);
        looked.capture = made.capture;
    }
    remove_temps(&root, survey)?;
    let manifest: &Manifest = &looked.capture.manifest;
    let expected = |path: &[u8]| expected_in(manifest, path);
    let (objects, blobs) = (&store.objects, &looked.blobs);
    let copy = |oid, out: &mut dyn std::io::Write| blobs.copy(objects, oid, out);
    let mut scratch = journal.clone();
    let mut late = LateChanges::new(store, &mut scratch, commit, &mut kept);
    Apply {
        root: &root,
        tag: &format!("{}-r", journal.swap_id),
        copy_blob: &copy,
        expected: &expected,
        securing: &mut late,
        access: &granted(&goal.aim),
        protected: &protected_dirs(ctx),
        progress: ctx.progress,
    }
    .run(&looked.plan)?;
    for pack in kept {
        pack.release()?;
    }
    Ok(Done {
        action: "rolled-back",
        rescue_id,
        changes: changes(&looked.plan),
        differing: [&survey.differing[..], &blocked].concat(),
        notices: Vec::new(),
    })
}

/// What a recovery puts in place.
struct Sides {
    paths: Vec<(Vec<u8>, Option<Side>)>,
    dirs: Vec<(Vec<u8>, Option<u32>)>,
    /// Captured whatever the rules say: what stands there, and temporary files.
    forced: BTreeSet<Vec<u8>>,
    /// Paths that cannot be reached.
    blocked: Vec<Vec<u8>>,
}

/// One side of every journalled path that one of the two sides explains.
fn sides(root: &Root, journal: &Journal, survey: &Survey, forward: bool) -> Result<Sides> {
    let mut paths: Vec<(Vec<u8>, Option<Side>)> = Vec::new();
    let mut forced: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut blocked = Vec::new();
    for (entry, found) in journal.entries.iter().zip(&survey.found) {
        let full = path_of(&entry.path)?;
        let stamp = root.stamp(&full).ok().flatten();
        if stamp.is_some_and(|stamp| stamp.is_file() || stamp.is_symlink()) {
            forced.insert(full.clone());
        }
        let side = if forward { &entry.after } else { &entry.before };
        let side = side_of(side.as_ref())?;
        if *found == Found::Other {
            continue;
        }
        if side.is_some() && survey.is_blocked(root, &full) {
            blocked.push(full);
        } else {
            paths.push((full, side));
        }
    }
    forced.extend(survey.temps.iter().map(|(temp, _)| temp.clone()));
    let mut dirs = Vec::new();
    for dir in &journal.dirs {
        let side = if forward { &dir.after } else { &dir.before };
        dirs.push((path_of(&dir.path)?, permissions_of(side.as_deref())?));
    }
    Ok(Sides {
        paths,
        dirs,
        forced,
        blocked,
    })
}

/// Removes temporary files, whose bytes are in a backup by now.
fn remove_temps(root: &Root, survey: &Survey) -> Result<()> {
    for (temp, _) in &survey.temps {
        let (dir, name) = path::split(temp);
        if let Ok(fd) = root.open_dir(dir) {
            use std::os::unix::ffi::OsStrExt;
            let name = std::ffi::OsStr::from_bytes(name);
            match rustix::fs::unlinkat(&fd, name, rustix::fs::AtFlags::empty()) {
                Ok(()) | Err(rustix::io::Errno::NOENT) => {}
                Err(errno) => {
                    return Err(errno)
                        .context(|| format!("cannot remove '{}'", path::display(temp)));
                }
            }
        }
    }
    Ok(())
}

fn noted(store: &Store, id: &str, commit: Option<&str>) -> Result<Stored> {
    let id = SnapshotId::parse(id).ok_or_else(|| {
        Error::new(
            Code::CorruptRecord,
            format!("the journal names '{id}', which is no id"),
        )
    })?;
    store.read_noted(&id, commit)
}

/// The backup's commit as its ref has it: one step ahead of the journal when the swap died while it saved late changes.
fn current_commit(store: &Store, id: &str) -> Result<Oid> {
    Ok(noted(store, id, None)?.commit)
}
