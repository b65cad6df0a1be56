//! The paths of a dead swap, put on one of its two sides.
//!
//! What stands there is saved first, as a rescue backup. What neither side explains stays in place.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::super::filtered;
use super::super::flagged::{changed_by, is_flagged_in, name_the_way, nearest};
use super::super::given;
use super::super::goal::{Aim, Goal, PathChanges, PathsAim};
use super::super::journal::{SwapSide, path_of, permissions_of, side_of};
use super::super::notices::lost_notices;
use super::super::notices::renamed_notice;
use super::super::old_names;
use super::super::place::Placing;
use super::super::run::VERIFY_FAILED;
use super::super::secure::{LateChanges, settle};
use super::super::undo_log::head_mark;
use super::super::{Prepared, changes, extras, finish, prepare, settle_last};
use super::leftovers;
use super::moved_dirs;
use super::survey::{OnDisk, Survey};
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::durable::sync_file_system;
use crate::git::fixed::Fixed;
use crate::git::fs::{Root, rename_to_free};
use crate::git::objects::KeptPack;
use crate::git::path::{self, RepoPath, is_within};
use crate::ops::Context;
use crate::ops::capture::{CaptureOptions, Storing};
use crate::ops::outcome::{Recovered, RecoveryAction};
use crate::ops::record::{About, record};
use crate::ops::request::Direction;
use crate::ops::unsaved::Unsaved;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::lock::{GitLocks, Owner, remove_dead_locks};
use crate::store::state::{Journal, Mode, Side, stored_path};
use crate::store::stored::Stored;
use crate::store::trigger::SwapKind;
use crate::worktree::apply::Granted;
use crate::worktree::plan::{DirChange, Plan, PlanEntry};

/// A swap that has not ended: its journal, and what it is read with.
pub(in crate::ops::swap) struct Unfinished<'a> {
    pub(super) ctx: &'a Context<'a>,
    pub(super) store: &'a Store,
    pub(super) journal: &'a Journal,
}

impl<'a> Unfinished<'a> {
    /// The swap of this journal.
    pub(in crate::ops::swap) fn new(
        ctx: &'a Context<'a>,
        store: &'a Store,
        journal: &'a Journal,
    ) -> Self {
        Self {
            ctx,
            store,
            journal,
        }
    }

    /// Undoes it when it failed in this very process; its locks are held.
    ///
    /// # Errors
    /// What stands against it, with the journal still there.
    pub(in crate::ops::swap) fn roll_back(&self) -> Result<Recovered> {
        let moved = self.follow()?;
        let there = Unfinished::new(self.ctx, self.store, &moved.journal);
        let survey = there.survey()?;
        fail_point("rollback-surveyed");
        let mut recovered = there.restore_paths(&survey, SwapSide::Before, Rescue::WhenNeeded)?;
        self.put_git_back()?;
        self.forget_journal()?;
        recovered.notices.extend(moved.notices());
        Ok(recovered)
    }

    /// Undoes or finishes it when its process is dead.
    ///
    /// # Errors
    /// What stands against it, with the journal still there.
    pub(super) fn resume(&self, survey: &Survey, direction: Direction) -> Result<Recovered> {
        let (ctx, store, journal) = (self.ctx, self.store, self.journal);
        let towards = match direction {
            Direction::Forward => SwapSide::After,
            Direction::Back => SwapSide::Before,
            Direction::Auto if is_finished_return(journal, survey) => SwapSide::After,
            Direction::Auto => SwapSide::Before,
        };
        let guard = crate::interrupt::defer();
        // The dead process's own locks of git would keep us out.
        remove_dead_locks(ctx.repo.git_dir())?;
        let owner = Owner::this_process(&format!("recover-{}", journal.swap_id));
        let locks = GitLocks::acquire(ctx.repo.git_dir(), &owner, ctx.settings.lock_timeout)?;
        // It may have died between a backup with later bytes and the ref that names it.
        settle(store, journal)?;
        let mended = match towards {
            SwapSide::Before => self.mend_index()?,
            SwapSide::After => Vec::new(),
        };
        let mut recovered = self.restore_paths(survey, towards, Rescue::Always)?;
        recovered.notices.extend(mended);
        fail_point("recover-files");
        match towards {
            SwapSide::After => {
                self.put_git_forward()?;
                fail_point("recover-git");
                store.dir.write_state(&journal.state_after)?;
                recovered.notices.extend(self.finish()?);
                settle_last(ctx, store)?;
                recovered.action = RecoveryAction::RolledForward;
            }
            SwapSide::Before => {
                recovered.notices.extend(self.put_git_back()?);
                fail_point("recover-git");
                let kept = old_names::give_back(ctx, store, journal);
                recovered.notices.extend(kept);
                self.forget_journal()?;
            }
        }
        locks.release()?;
        drop(guard);
        leftovers::remove(ctx, store)?;
        Ok(recovered)
    }

    /// Takes the journal of a swap away that was undone.
    fn forget_journal(&self) -> Result<()> {
        // Nothing tells of what was put back once it is gone.
        sync_file_system(self.ctx.repo.worktree_root())?;
        self.store.dir.remove_journal()
    }

    /// Puts a swap into the log whose process could not, and says what it would have said of its renames, and of files that it does not
    /// vouch for. HEAD is as the swap left it: the locks of the dead kept git out.
    ///
    /// # Errors
    /// The log cannot be written.
    pub(super) fn finish(&self) -> Result<Vec<String>> {
        let mut notices = self.renamed()?;
        notices.extend(filtered::noted(self.journal));
        let mut journal = self.journal.clone();
        notices.extend(old_names::give(self.ctx, self.store, &journal));
        // It died before it wrote down where it left HEAD.
        if journal.head_left.is_empty() {
            journal.head_left = head_mark(self.ctx)?;
        }
        moved_dirs::forget(&mut journal);
        finish(self.store, &journal)?;
        Ok(notices)
    }

    /// What `return --move-aside` gave another name before it died.
    fn renamed(&self) -> Result<Vec<String>> {
        let (before, after) = (&self.journal.state_before, &self.journal.state_after);
        let backup = before.backup_id.as_ref();
        let Some(backup) = backup.filter(|_| after.mode == Mode::Present) else {
            return Ok(Vec::new());
        };
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let renamed = Unsaved::of_backup(&self.store.dir, backup)?.moved();
        let is_there = |path: &[u8]| root.stamp(path).is_ok_and(|stamp| stamp.is_some());
        let told = renamed.iter().filter(|(_, to)| is_there(to));
        let told = told.map(|(from, to)| renamed_notice(&path::display(from), &path::display(to)));
        Ok(told.collect())
    }

    /// Puts every journalled path on one side; what neither side explains stays.
    ///
    /// # Errors
    /// As [`prepare()`]; the backup cannot be read.
    pub(super) fn restore_paths(
        &self,
        survey: &Survey,
        towards: SwapSide,
        rescue: Rescue,
    ) -> Result<Recovered> {
        let (ctx, store, journal) = (self.ctx, self.store, self.journal);
        // Without the backup nothing is touched. Its ref is one step ahead of the journal when the swap died while it saved late
        // changes.
        let commit = noted(store, &journal.backup_id, None)?.commit;
        let root = Root::open(ctx.repo.worktree_root())?;
        let sides = sides(&root, journal, survey, towards)?;
        let goal = self.goal(towards, sides.changes, sides.forced)?;
        let goal = goal.showing(sides.shown);
        let storing = self.storing(survey, rescue);
        let saving = storing != Storing::No;
        let mut prepared = prepare(ctx, store, &goal, &storing)?;
        if rescue != Rescue::Again && !explains(journal, &prepared.plan) {
            // Somebody wrote since the survey.
            return self.restore_paths(&self.survey()?, towards, Rescue::Again);
        }
        let mut rescue_id = None;
        let mut kept = Vec::new();
        if saving {
            (prepared, rescue_id) = self.save(prepared, storing, &mut kept)?;
        }
        // Not before what they hold is saved. What cannot be done keeps nothing else from being put back.
        let (mut notices, failed) = remove_temps(&root, survey);
        let failed = failed.or(leave_fixed(&root, &mut prepared.plan, &goal));
        // Late changes are noted in the journal; what was surveyed here is of the journal as it was found.
        let mut scratch = journal.clone();
        let applied = Placing {
            ctx,
            store,
            aim: &goal.aim,
            // Other names than the dead swap's files, but its prefix: the next recovery finds both.
            tag: &format!("{}-r", journal.swap_id),
            manifest: &prepared.capture.manifest,
            replaced: prepared.capture.access(ctx)?,
            plan: &prepared.plan,
            noted: moved_dirs::Noted::default(),
            blobs: &prepared.blobs,
        }
        .run(&mut LateChanges::new(
            store,
            &mut scratch,
            commit,
            &mut kept,
        ))?;
        notices.extend(lost_notices(&applied));
        kept.into_iter().try_for_each(KeptPack::release)?;
        if let Some(error) = failed {
            let error = name_the_way(error, ctx, &all_paths(survey, journal)?);
            return Err(error.hint("all else was put in place; run 'tw recover' again then"));
        }
        let differing = survey.differing.iter().cloned().chain(sides.blocked);
        Ok(Recovered {
            action: RecoveryAction::RolledBack,
            operation: Some(journal.operation.clone()),
            rescue_id,
            differing: differing.map(RepoPath::new).collect(),
            changes: changes(&prepared.plan),
            notices,
        })
    }

    /// Prepares to put every journalled path back, and leaves it at that.
    ///
    /// # Errors
    /// As [`Self::restore_paths`] before it touches anything.
    pub(super) fn try_preparing(&self) -> Result<()> {
        let survey = self.survey()?;
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let sides = sides(&root, self.journal, &survey, SwapSide::Before)?;
        let goal = self.goal(SwapSide::Before, sides.changes, sides.forced)?;
        let goal = goal.showing(sides.shown);
        prepare(self.ctx, self.store, &goal, &Storing::No).map(drop)
    }

    /// Whether what is there is saved, and how.
    fn storing(&self, survey: &Survey, rescue: Rescue) -> Storing {
        let needed = !survey.differing.is_empty() || survey.temps.iter().any(|(_, kept)| !kept);
        if needed || rescue != Rescue::WhenNeeded {
            Storing::Durable(self.journal.swap_id.clone())
        } else {
            Storing::No
        }
    }

    fn goal(
        &self,
        towards: SwapSide,
        mut changes: PathChanges,
        forced: BTreeSet<Vec<u8>>,
    ) -> Result<Goal<'static>> {
        let (store, journal) = (self.store, self.journal);
        let backup = noted(store, &journal.backup_id, Some(&journal.backup_commit))?;
        let mut from = vec![backup];
        if let (SwapSide::After, Some(id)) = (towards, &journal.target_id) {
            from.push(noted(store, id, journal.target_commit.as_deref())?);
        }
        // Of the side that the paths are put on.
        let mut saved = extras::stored_extras(store, from.last().unwrap_or(&from[0]))?;
        if towards == SwapSide::After {
            given::give((store, journal, &from[0]), &mut saved, &mut changes)?;
        }
        let aim = Aim::Paths(PathsAim {
            changes,
            forced,
            from,
            saved,
        });
        Ok(Goal::new(SwapKind::Recover, self.title(), aim)
            .hints(&["move these paths away and run 'tw recover' again"]))
    }

    fn title(&self) -> String {
        format!(
            "rescue: what an interrupted {} left",
            self.journal.operation
        )
    }

    /// Saves what was left, as a backup.
    fn save(
        &self,
        mut prepared: Prepared<'a>,
        storing: Storing,
        kept: &mut Vec<KeptPack>,
    ) -> Result<(Prepared<'a>, Option<String>)> {
        let options = CaptureOptions {
            storing,
            ..CaptureOptions::default()
        };
        let about = About {
            title: self.title(),
            trigger: SwapKind::Recover.into(),
            interrupted: true,
            touched: prepared.plan.paths(),
            ..About::default()
        };
        let (ctx, store, capture) = (self.ctx, self.store, prepared.capture);
        let made = record(ctx, store, IdKind::Backup, &options, capture, &about)?;
        let made = made.ok_or_else(|| {
            let message = "git gc removed objects that the rescue backup needs";
            Error::new(Code::Io, message).hint("run 'tw recover' again")
        })?;
        kept.extend(made.kept);
        prepared.capture = made.capture;
        Ok((prepared, Some(made.id.to_string())))
    }
}

/// Whether a return had put every file in place, and no proof said otherwise: it was as good as home.
fn is_finished_return(journal: &Journal, survey: &Survey) -> bool {
    let all_after = survey.found.iter().all(|found| *found == OnDisk::After);
    journal.operation == SwapKind::Return && all_after && !journal.extra.contains_key(VERIFY_FAILED)
}

/// Whether what is there is saved before paths are put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rescue {
    /// Always: another process may have died long ago.
    Always,
    /// Only when something is there that the swap's own backup does not have.
    WhenNeeded,
    /// Always: something was written meanwhile. What is written now is saved, and not waited for.
    Again,
}

/// What a recovery puts in place.
struct Sides {
    changes: PathChanges,
    /// Captured whatever the rules say: what stands there, and temporary files.
    forced: BTreeSet<Vec<u8>>,
    /// Those of them that the swap put there.
    shown: BTreeSet<Vec<u8>>,
    /// Paths that cannot be reached.
    blocked: Vec<Vec<u8>>,
}

/// One side of every journalled path that one of the two sides explains.
fn sides(root: &Root, journal: &Journal, survey: &Survey, towards: SwapSide) -> Result<Sides> {
    let mut changes = PathChanges::default();
    let mut forced: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut shown: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut blocked = Vec::new();
    let mut taken = Taken::new(root, journal);
    for (entry, found) in journal.entries.iter().zip(&survey.found) {
        let full = path_of(&entry.path)?;
        let stamp = root.stamp(&full).ok().flatten();
        if stamp.is_some_and(|stamp| stamp.is_file() || stamp.is_symlink()) {
            forced.insert(full.clone());
            if *found != OnDisk::Other {
                shown.insert(full.clone());
            }
        }
        let side = side_of(towards.of(&entry.before, &entry.after).as_ref())?;
        // Its bytes are those of neither side: it stays.
        if *found == OnDisk::Other {
            continue;
        }
        let dir = path::split(&full).0;
        if side.is_some() && (taken.has(dir)? || survey.is_blocked(root, &full)) {
            blocked.push(full);
        } else {
            changes.paths.push((full, side));
        }
    }
    for (temp, _) in &survey.temps {
        forced.insert(temp.clone());
        shown.insert(temp.clone());
    }
    for dir in &journal.dirs {
        let bits = permissions_of(towards.of(&dir.before, &dir.after).as_deref())?;
        let full = path_of(&dir.path)?;
        if bits.is_none() || !taken.has(&full)? && !survey.is_blocked(root, &full) {
            changes.dirs.push((full, bits));
        }
    }
    Ok(Sides {
        changes,
        forced,
        shown,
        blocked,
    })
}

/// The places of directories that something else has taken since.
struct Taken<'a> {
    root: &'a Root,
    journal: &'a Journal,
    known: HashMap<Vec<u8>, bool>,
}

impl<'a> Taken<'a> {
    fn new(root: &'a Root, journal: &'a Journal) -> Self {
        let known = HashMap::new();
        Self {
            root,
            journal,
            known,
        }
    }

    /// Whether something that the journal does not know stands where this directory, or one over it, has to be.
    fn has(&mut self, dir: &[u8]) -> Result<bool> {
        if let Some(known) = self.known.get(dir) {
            return Ok(*known);
        }
        let is_taken = self.look(dir)?;
        self.known.insert(dir.to_vec(), is_taken);
        Ok(is_taken)
    }

    fn look(&self, dir: &[u8]) -> Result<bool> {
        for at in path::with_parents(dir).filter(|at| !at.is_empty()) {
            let stored = stored_path(at);
            let is_known = || {
                self.journal
                    .entries
                    .iter()
                    .any(|entry| entry.path == stored)
            };
            let what = || format!("cannot inspect '{}'", path::display(at));
            match self.root.stamp(at).context(what)? {
                Some(stamp) if !stamp.is_dir() => return Ok(!is_known()),
                Some(_) => {}
                None => break,
            }
        }
        Ok(false)
    }
}

/// Whether all that a plan replaces or removes is what one of the journal's sides has: that is saved.
fn explains(journal: &Journal, plan: &Plan) -> bool {
    let mut known: HashMap<&str, [Option<&Side>; 2]> = HashMap::new();
    for entry in &journal.entries {
        known.insert(&entry.path, [entry.before.as_ref(), entry.after.as_ref()]);
    }
    let is_known = |entry: &PlanEntry| {
        let Some(before) = entry.before else {
            return true;
        };
        let oid = before.node.oid.to_string();
        let sides = known.get(stored_path(&entry.path).as_str());
        sides.is_some_and(|sides| sides.iter().flatten().any(|side| side.oid == oid))
    };
    plan.entries.iter().all(is_known)
}

/// Removes temporary files, whose bytes are in a backup by now. A directory that came under such a name, since somebody put it where
/// a file was exchanged, gets another; answers what is to be said of those, and why the first stayed that could not be removed.
fn remove_temps(root: &Root, survey: &Survey) -> (Vec<String>, Option<Error>) {
    let mut said = Vec::new();
    let mut failed = None;
    for (temp, _) in &survey.temps {
        match remove_temp(root, temp) {
            Ok(kept) => said.extend(kept),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    (said, failed)
}

fn remove_temp(root: &Root, temp: &[u8]) -> Result<Option<String>> {
    let (dir, name) = path::split(temp);
    let what = || format!("cannot remove '{}'", path::display(temp));
    let Some(fd) = root.dir_if_there(dir).context(what)? else {
        return Ok(None);
    };
    match rustix::fs::unlinkat(&fd, OsStr::from_bytes(name), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(None),
        Err(Errno::ISDIR) => {
            let kept = keep_dir(fd.as_fd(), name)
                .context(|| format!("cannot rename '{}'", path::display(temp)))?;
            Ok(kept.map(|name| {
                let kept = path::join(dir, &name);
                format!(
                    "a directory that somebody put in the way is '{}' now",
                    path::display(&kept)
                )
            }))
        }
        Err(errno) => Err(errno).context(what),
    }
}

/// Takes out of a plan what nobody may change, and what is in directories in which nobody may change a name, or would be made there: the
/// first of it would keep all else from being put back. Answers why it is left.
fn leave_fixed(root: &Root, plan: &mut Plan, goal: &Goal<'_>) -> Option<Error> {
    let mut known: HashMap<Vec<u8>, bool> = HashMap::new();
    let mut left = None;
    let mut is_left = |dir: &[u8], full: &[u8]| {
        let dir = nearest(root, dir);
        let look = || root.open_dir(dir).is_ok_and(|dir| Fixed::of(dir).is_some());
        let is_fixed = *known.entry(dir.to_vec()).or_insert_with(look) || is_flagged_in(root, full);
        if is_fixed && left.is_none() {
            let failed = Err::<(), _>(Errno::PERM);
            left = failed
                .context(|| format!("cannot put '{}' back", path::display(full)))
                .err();
        }
        is_fixed
    };
    let mut fixed: Vec<Vec<u8>> = Vec::new();
    plan.entries.retain(|entry| {
        let is_left = is_left(path::split(&entry.path).0, &entry.path);
        if is_left {
            fixed.push(entry.path.clone());
        }
        !is_left
    });
    // Nor what would lie beneath them, or stand in the place of a directory that they are in.
    plan.entries.retain(|entry| {
        let full = &entry.path;
        let is_apart = |left: &Vec<u8>| !is_within(full, left) && !is_within(left, full);
        fixed.iter().all(is_apart)
    });
    let in_the_way = |dir: &DirChange| {
        let is_one = |left: &Vec<u8>| {
            is_within(&dir.path, left) || (dir.after.is_none() && is_within(left, &dir.path))
        };
        fixed.iter().any(is_one)
    };
    for dir in std::mem::take(&mut plan.dirs) {
        let access = Granted::by(goal.aim.extras(), plan);
        let place = changed_by(root, &dir, (plan, access));
        if place.is_none_or(|place| !is_left(place, &dir.path)) && !in_the_way(&dir) {
            plan.dirs.push(dir);
        } else if dir.after.is_none() {
            // It is not removed when it is empty, either.
            plan.keep_dirs.insert(dir.path);
        }
    }
    left
}

/// Every path that a recovery is about.
fn all_paths(survey: &Survey, journal: &Journal) -> Result<Vec<Vec<u8>>> {
    let temps = survey.temps.iter().map(|(temp, _)| Ok(temp.clone()));
    let entries = journal.entries.iter().map(|entry| path_of(&entry.path));
    let dirs = journal.dirs.iter().map(|dir| path_of(&dir.path));
    temps.chain(entries).chain(dirs).collect()
}

/// Takes away a directory under a temporary name: when nothing is in it, else by another name, which is answered.
fn keep_dir(dir: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<Option<Vec<u8>>> {
    match rustix::fs::unlinkat(dir, OsStr::from_bytes(name), AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => return Ok(None),
        Err(Errno::NOTEMPTY | Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let plain = name.strip_prefix(b".").unwrap_or(name);
    for nth in 1.. {
        let to = [plain, format!("-kept-{nth}").as_bytes()].concat();
        match rename_to_free(dir, name, &to) {
            Err(Errno::EXIST) => {}
            other => return other.map(|()| Some(to)),
        }
    }
    unreachable!("there is always a free number")
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
