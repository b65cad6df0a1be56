//! Steps over the log of swaps: what undo and redo do.
//!
//! Undoing a swap is a swap of its own, backed up like any other, whose journal becomes a level of the redo log; redoing is the same
//! the other way round. Going back is always putting recorded bytes in place: undo of a travel is a return, undo of a return
//! goes back into the past as it was left, anything else puts back the paths it touched.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use super::Context;
use super::issues::run::{Closing, close_run};
use super::outcome::Undone;
use super::record::Made;
use super::request::Return;
use super::stay::ReturnOperation;
use super::swap::extras::stored_extras;
use super::swap::goal::{
    Aim, GitGoal, GitSide, Goal, PathChanges, PathsAim, Reversal, SnapshotAim,
};
use super::swap::head::{head_for, past_head};
use super::swap::journal::{SwapSide, path_of, permissions_of, side_of};
use super::swap::notices::swap_notices;
use super::swap::undo_log::{self, Log, head_mark};
use super::swap::{Swapped, pathindex, recover, swap};
use crate::error::{Code, Error, Result};
use crate::git::fs::Root;
use crate::git::path::RepoPath;
use crate::git::tree::Node;
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::names;
use crate::store::state::{Journal, Mode, State, path_from_stored, read_json};
use crate::store::stored::Stored;
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::plan::EmptyDirs;

/// Takes one step: undoes the last swap, or brings back what the last undo replaced.
///
/// # Errors
/// `NOTHING_TO_UNDO`; else as travel and return.
pub fn step(ctx: &Context<'_>, log: Log) -> Result<Undone> {
    let store = ctx.store()?;
    let lock = ctx.lock(&store.dir, log.name())?;
    let recovered = recover::recover_locked(ctx, store, &lock)?;
    let Some(file) = undo_log::files(&store.dir, log)?.pop() else {
        return Err(Error::new(Code::NothingToUndo, format!("nothing to {log}")));
    };
    let mut undone = Step::read(ctx, store, log, &file)?.run()?;
    undone.notices.splice(0..0, recovered);
    drop(lock);
    Ok(undone)
}

/// One step over a level of a log.
struct Step<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    /// The swap that is taken back.
    level: Journal,
    reversal: Reversal,
}

impl<'a> Step<'a> {
    fn read(ctx: &'a Context<'a>, store: &'a Store, log: Log, file: &Path) -> Result<Self> {
        let level: Option<Journal> = read_json(file)?;
        let level = level.ok_or_else(|| {
            Error::new(Code::CorruptRecord, format!("'{}' is gone", file.display()))
        })?;
        let kind = level.reverses.clone();
        let reversal = Reversal {
            log,
            level: undo_log::name_of(file),
            kind: kind.unwrap_or_else(|| level.operation.clone()),
        };
        Ok(Self {
            ctx,
            store,
            level,
            reversal,
        })
    }

    fn run(&self) -> Result<Undone> {
        match (self.level.state_before.mode, self.level.state_after.mode) {
            (Mode::Present, Mode::Past) => self.go_home(),
            (Mode::Past, Mode::Present) => self.go_back(),
            (Mode::Present, Mode::Present) | (Mode::Past, Mode::Past) => self.put_back(),
        }
    }

    /// Undo of a travel: a return.
    fn go_home(&self) -> Result<Undone> {
        let state = self.store.dir.state()?;
        let closing = Closing::of(&state);
        let mut returned = ReturnOperation::new(self.ctx, self.store, state)?
            .reversing(self.reversal.clone())
            .run(&Return::default())?;
        if let Some(closing) = closing {
            let said = close_run(self.ctx, &closing, &returned);
            returned.notices.extend(said);
        }
        Ok(Undone {
            direction: self.reversal.log.name(),
            operation: self.reversal.kind.clone(),
            mode: Mode::Present,
            backup_id: Some(returned.backup_id),
            experiment_id: returned.experiment_id,
            changes: returned.changes,
            changed_since: returned.changed_since,
            head_stayed: returned.head.reason,
            notices: returned.notices,
        })
    }

    /// What is said of a swap that saved a backup. `stays`: what of git stayed since HEAD had moved.
    fn answer(
        &self,
        swapped: &Swapped<'_>,
        changed_since: Vec<RepoPath>,
        stays: Option<&str>,
    ) -> Undone {
        let mut notices = swap_notices(&swapped.applied);
        notices.extend(stays.map(|what| format!("HEAD has moved since, so {what}")));
        Undone {
            direction: self.reversal.log.name(),
            operation: self.reversal.kind.clone(),
            mode: swapped.state.mode,
            backup_id: Some(swapped.saved.id.to_string()),
            experiment_id: None,
            changes: swapped.changes(),
            changed_since,
            head_stayed: stays.map(|_| "head-moved".to_owned()),
            notices,
        }
    }

    fn head_moved(&self) -> Result<bool> {
        Ok(!self.level.head_left.is_empty() && head_mark(self.ctx)? != self.level.head_left)
    }

    /// What the swap that is taken back had saved.
    fn saved(&self, missing: &'static str) -> Result<Stored> {
        let id = SnapshotId::parse(&self.level.backup_id)
            .ok_or_else(|| Error::new(Code::CorruptRecord, missing))?;
        self.store.read_noted(&id, Some(&self.level.backup_commit))
    }

    /// Undo of a return: back into the past as it was left.
    fn go_back(&self) -> Result<Undone> {
        if self.store.dir.state()?.mode == Mode::Past {
            return Err(Error::new(Code::AlreadyInPast, "already in the past")
                .hint("run 'tw return' first"));
        }
        let left = self.saved("the undo log names neither an experiment nor a snapshot")?;
        let lists = self.store.lists(&left)?;
        let stays = self.head_moved()?;
        let past = &self.level.state_before;
        // Nothing was made there: the snapshot itself stands for it, and the past is entered as travel does.
        let is_start = self.level.experiment_id.is_none();
        let raw_head = if is_start {
            past_head(self.ctx, &left)?
        } else {
            head_for(self.ctx, self.store, &left)?.0
        };
        let aim = SnapshotAim {
            empty_dirs: if is_start {
                EmptyDirs::Stay
            } else {
                EmptyDirs::Go
            },
            made_before: self.made_files(),
            ..SnapshotAim::new(self.store, &left)?
        };
        let git = if stays || (is_start && past.files_only) {
            GitGoal::Stay
        } else {
            GitGoal::Snapshot(GitSide {
                stored: &left,
                lists: &lists,
                raw_head,
                operation: self.store.operation(&left)?,
            })
        };
        let title = format!("before going back to {}", left.id);
        let goal = Goal::new(self.reversal.log.name(), title, Aim::Snapshot(aim))
            .git(git)
            .reversing(Some(self.reversal.clone()));
        let state_after = |before: &State, saved: &Made<'_>| State {
            mode: Mode::Past,
            current_snapshot_id: past.current_snapshot_id.clone(),
            backup_id: Some(saved.id.to_string()),
            backup_path: Some(names::snapshot_ref(&saved.id)),
            backup_commit: Some(saved.commit.to_string()),
            entered_at: past.entered_at.clone(),
            guard_token: past.guard_token.clone(),
            issue_id: past.issue_id.clone(),
            files_only: stays || past.files_only,
            ..before.clone()
        };
        let swapped = swap(self.ctx, self.store, &goal, &state_after)?;
        let stays = stays.then_some("HEAD and index stayed as they were");
        Ok(self.answer(&swapped, Vec::new(), stays))
    }

    /// The files that the return made where nothing was: they go, whatever the past's rules say.
    fn made_files(&self) -> BTreeSet<Vec<u8>> {
        let entries = self.level.entries.iter();
        entries
            .filter(|entry| entry.before.is_none() && entry.after.is_some())
            .filter_map(|entry| path_from_stored(&entry.path))
            .collect()
    }

    /// Undo of anything that stayed in its time: the paths it touched, as they were.
    fn put_back(&self) -> Result<Undone> {
        let aim = self.paths_before()?;
        let entries = pathindex::read(&self.level, SwapSide::Before)?;
        // The recorded entries go with the HEAD of that time.
        let stays = entries.is_some() && self.head_moved()?;
        let entries = RefCell::new(entries.filter(|_| !stays).unwrap_or_default());
        let title = format!("before {} of {}", self.reversal.log, self.reversal.kind);
        let goal = Goal::new(self.reversal.log.name(), title, Aim::Paths(aim))
            .git(GitGoal::Entries(&entries))
            .reversing(Some(self.reversal.clone()));
        let state_after = |before: &State, _: &Made<'_>| before.clone();
        let swapped = swap(self.ctx, self.store, &goal, &state_after)?;
        let changed_since = self.changed_since(&swapped)?;
        let stays = stays.then_some("the index stayed as it is");
        Ok(self.answer(&swapped, changed_since, stays))
    }

    /// The side that the level's paths came from.
    fn paths_before(&self) -> Result<PathsAim> {
        let mut changes = PathChanges::default();
        let mut forced = BTreeSet::new();
        let root = Root::open(self.ctx.repo.worktree_root())?;
        for entry in &self.level.entries {
            let path = path_of(&entry.path)?;
            let stamp = root.stamp(&path).ok().flatten();
            // Ignored by now, maybe: it is replaced, so the backup has to have it.
            if stamp.is_some_and(|stamp| stamp.is_file() || stamp.is_symlink()) {
                forced.insert(path.clone());
            }
            changes.paths.push((path, side_of(entry.before.as_ref())?));
        }
        for dir in &self.level.dirs {
            let before = permissions_of(dir.before.as_deref())?;
            changes.dirs.push((path_of(&dir.path)?, before));
        }
        let from = self.saved("the undo log names no backup")?;
        Ok(PathsAim {
            changes,
            forced,
            saved: stored_extras(self.store, &from)?,
            from: vec![from],
        })
    }

    /// The paths of which something was made since that nobody asked to take back: it is in the backup.
    fn changed_since(&self, swapped: &Swapped<'_>) -> Result<Vec<RepoPath>> {
        let manifest = &swapped.saved.capture.manifest;
        let mut known = BTreeSet::new();
        let mut changed = Vec::new();
        for entry in &self.level.entries {
            let path = path_of(&entry.path)?;
            let after = side_of(entry.after.as_ref())?;
            if node_in(manifest, &path) != after.map(|side| side.node) {
                changed.push(RepoPath::new(path.clone()));
            }
            known.insert(path);
        }
        // What was made since where a file comes back.
        let touched = swapped.plan.entries.iter().map(|entry| &entry.path);
        let others = touched.filter(|path| !known.contains(*path));
        changed.extend(others.map(|path| RepoPath::new(path.clone())));
        Ok(changed)
    }
}

fn node_in(manifest: &Manifest, path: &[u8]) -> Option<Node> {
    let file = manifest.file(path)?;
    matches!(file.kind, Kind::File | Kind::Symlink).then(|| Node {
        mode: file.git_mode,
        oid: file.oid.get(),
    })
}
