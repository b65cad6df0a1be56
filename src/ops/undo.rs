//! Undo and redo: step over the log of swaps.
//!
//! A level is the journal of a finished swap. Undoing one is a swap of its own, backed up like any other, whose journal becomes a
//! level of the redo log; redoing is the same the other way round. Going back is always putting recorded bytes in place: undo of
//! a travel is a return, undo of a return goes back into the past as it was left, anything else puts back the paths it touched.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::Context;
use super::outcome::Undone;
use super::record::Made;
use super::return_::return_as;
use super::swap::head::head_for;
use super::swap::journal::{path_of, permissions_of, side_of};
use super::swap::newindex::IndexGoal;
use super::swap::notices::swap_notices;
use super::swap::undo_log::{self, Log, head_mark};
use super::swap::{Aim, Goal, HeadGoal, Logging, OperationGoal, stored_extras, swap};
use super::swap::{pathindex, recover};
use crate::error::{Code, Error, Result};
use crate::git::fs::Root;
use crate::git::path::RepoPath;
use crate::git::tree::Node;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::names;
use crate::store::state::{Journal, Mode, State, path_from_stored, read_json};
use crate::worktree::manifest::Kind;
use crate::worktree::plan::EmptyDirs;

/// Undoes the last swap.
///
/// # Errors
/// `NOTHING_TO_UNDO`; else as travel and return.
pub fn undo(ctx: &Context<'_>) -> Result<Undone> {
    step(ctx, Log::Undo)
}

/// Brings back what the last undo replaced.
///
/// # Errors
/// `NOTHING_TO_UNDO`; else as travel and return.
pub fn redo(ctx: &Context<'_>) -> Result<Undone> {
    step(ctx, Log::Redo)
}

fn step(ctx: &Context<'_>, log: Log) -> Result<Undone> {
    let store = ctx.store()?;
    let word = log.name();
    let lock = ctx.lock(&store.dir, word)?;
    let recovered = recover::recover_locked(ctx, store, &lock)?;
    let Some(file) = undo_log::files(&store.dir, log)?.pop() else {
        return Err(Error::new(
            Code::NothingToUndo,
            format!("nothing to {word}"),
        ));
    };
    let level: Journal = read_json(&file)?
        .ok_or_else(|| Error::new(Code::CorruptRecord, format!("'{}' is gone", file.display())))?;
    let name = undo_log::name_of(&file);
    let logging = match log {
        Log::Undo => Logging::Undo(name),
        Log::Redo => Logging::Redo(name),
    };
    let stepping = Stepping {
        ctx,
        store,
        level: &level,
        direction: word,
        logging,
    };
    let mut undone = stepping.step()?;
    undone.notices.splice(0..0, recovered);
    drop(lock);
    Ok(undone)
}

struct Stepping<'a, 's> {
    ctx: &'a Context<'a>,
    store: &'s Store,
    level: &'a Journal,
    direction: &'static str,
    logging: Logging,
}

impl Stepping<'_, '_> {
    fn kind(&self) -> String {
        self.level
            .reverses
            .clone()
            .unwrap_or_else(|| self.level.operation.clone())
    }

    fn step(&self) -> Result<Undone> {
        match (self.level.state_before.mode, self.level.state_after.mode) {
            (Mode::Present, Mode::Past) => self.go_home(),
            (Mode::Past, Mode::Present) => self.go_back(),
            _ => self.put_back(),
        }
    }

    /// Undo of a travel: a return.
    fn go_home(&self) -> Result<Undone> {
        let returned = return_as(self.ctx, self.store, self.logging.clone(), self.kind())?;
        Ok(Undone {
            direction: self.direction,
            operation: self.kind(),
            mode: Mode::Present,
            backup_id: Some(returned.backup_id),
            experiment_id: returned.experiment_id,
            changes: returned.changes,
            changed_since: returned.changed_since,
            head_stayed: returned.head.reason,
            notices: returned.notices,
        })
    }

    fn head_moved(&self) -> Result<bool> {
        Ok(!self.level.head_left.is_empty() && head_mark(self.ctx)? != self.level.head_left)
    }

    /// Undo of a return: back into the past as it was left.
    fn go_back(&self) -> Result<Undone> {
        let state = self.store.dir.state()?;
        if state.mode == Mode::Past {
            return Err(Error::new(Code::AlreadyInPast, "already in the past")
                .hint("run 'tw return' first"));
        }
        let id = SnapshotId::parse(&self.level.backup_id)
            .ok_or_else(|| Error::new(Code::CorruptRecord, "the undo log names no experiment"))?;
        let noted = Some(self.level.backup_commit.as_str());
        let left = self.store.read_noted(&id, noted)?;
        let lists = self.store.lists(&left)?;
        let stays = self.head_moved()?;
        let (raw_head, _) = head_for(self.ctx, self.store, &left)?;
        let made = self
            .level
            .entries
            .iter()
            .filter(|entry| entry.before.is_none() && entry.after.is_some());
        let made: BTreeSet<Vec<u8>> = made
            .filter_map(|entry| path_from_stored(&entry.path))
            .collect();
        let goal = Goal {
            operation: self.direction,
            reverses: Some(self.kind()),
            aim: Aim::Tree {
                tree: left.tree,
                extras: stored_extras(self.store, &left)?,
                only: Vec::new(),
                empty_dirs: EmptyDirs::Go,
                made_before: made,
                keep: Vec::new(),
            },
            target: Some(&left),
            also_from: &[],
            index: if stays {
                IndexGoal::Stay
            } else {
                IndexGoal::Snapshot {
                    stored: &left,
                    lists: &lists,
                }
            },
            head: if stays {
                HeadGoal::Stay
            } else {
                HeadGoal::Raw(raw_head)
            },
            operation_files: if stays {
                OperationGoal::Stay
            } else {
                OperationGoal::Set(self.store.operation(&left)?)
            },
            saves_as: IdKind::Backup,
            title: format!("before going back to {}", left.id),
            extra: Default::default(),
            forced: Default::default(),
            hidden: None,
            before_hashing: None,
            logging: self.logging.clone(),
            way_out: &["move these paths away and try again"],
        };
        let past = &self.level.state_before;
        let state_after = |before: &State, saved: &Made<'_>, swap_id: &str| State {
            mode: Mode::Past,
            current_snapshot_id: past.current_snapshot_id.clone(),
            backup_id: Some(saved.id.to_string()),
            backup_path: Some(names::snapshot_ref(&saved.id)),
            backup_commit: Some(saved.commit.to_string()),
            entered_at: past.entered_at.clone(),
            guard_token: past.guard_token.clone(),
            issue_id: past.issue_id.clone(),
            swap_id: Some(swap_id.to_owned()),
            files_only: stays || past.files_only,
            ..before.clone()
        };
        let swapped = swap(self.ctx, self.store, &goal, &state_after, None)?;
        let mut notices: Vec<String> = swap_notices(&swapped.applied).into_iter().collect();
        let head_stayed = stays.then(|| "head-moved".to_owned());
        if stays {
            notices.push("HEAD has moved since, so HEAD and index stayed as they are".to_owned());
        }
        Ok(Undone {
            direction: self.direction,
            operation: self.kind(),
            mode: Mode::Past,
            backup_id: Some(swapped.saved.id.to_string()),
            experiment_id: None,
            changes: swapped.changes(),
            changed_since: Vec::new(),
            head_stayed,
            notices,
        })
    }

    /// Undo of anything that stayed in its time: the paths it touched, as they were.
    fn put_back(&self) -> Result<Undone> {
        let mut paths = Vec::new();
        let mut forced = BTreeSet::new();
        let root = Root::open(self.ctx.repo.worktree_root())?;
        for entry in &self.level.entries {
            let path = path_of(&entry.path)?;
            let stamp = root.stamp(&path).ok().flatten();
            if stamp.is_some_and(|stamp| stamp.is_file() || stamp.is_symlink()) {
                forced.insert(path.clone());
            }
            paths.push((path, side_of(entry.before.as_ref())?));
        }
        let mut dirs = Vec::new();
        for dir in &self.level.dirs {
            let before = permissions_of(dir.before.as_deref())?;
            dirs.push((path_of(&dir.path)?, before));
        }
        let saved = SnapshotId::parse(&self.level.backup_id)
            .ok_or_else(|| Error::new(Code::CorruptRecord, "the undo log names no backup"))?;
        let saved = self
            .store
            .read_noted(&saved, Some(&self.level.backup_commit))?;
        let from = [saved];
        let saved = stored_extras(self.store, &from[0])?;
        let entries = pathindex::read(self.level, pathindex::Which::Before)?;
        let stays = entries.is_some() && self.head_moved()?;
        let entries = RefCell::new(entries.filter(|_| !stays).unwrap_or_default());
        let goal = Goal {
            operation: self.direction,
            reverses: Some(self.kind()),
            aim: Aim::Paths {
                paths: &paths,
                dirs: &dirs,
                saved: &saved,
            },
            target: None,
            also_from: &from,
            index: IndexGoal::Paths(&entries),
            head: HeadGoal::Stay,
            operation_files: OperationGoal::Stay,
            saves_as: IdKind::Backup,
            title: format!("before {} of {}", self.direction, self.kind()),
            extra: Default::default(),
            forced,
            hidden: None,
            before_hashing: None,
            logging: self.logging.clone(),
            way_out: &["move these paths away and try again"],
        };
        let state_after = |before: &State, _: &Made<'_>, swap_id: &str| State {
            swap_id: Some(swap_id.to_owned()),
            ..before.clone()
        };
        let swapped = swap(self.ctx, self.store, &goal, &state_after, None)?;
        let manifest = &swapped.saved.capture.manifest;
        let mut changed_since = Vec::new();
        for entry in &self.level.entries {
            let path = path_of(&entry.path)?;
            let after = side_of(entry.after.as_ref())?;
            let found = manifest
                .file(&path)
                .filter(|file| matches!(file.kind, Kind::File | Kind::Symlink));
            let found = found.map(|file| Node {
                mode: file.git_mode,
                oid: file.oid.get(),
            });
            if found != after.map(|side| side.node) {
                changed_since.push(RepoPath::new(path));
            }
        }
        // What was made since where a file comes back.
        let known: BTreeSet<&[u8]> = paths.iter().map(|(path, _)| path.as_slice()).collect();
        let touched = swapped.plan.entries.iter().map(|entry| &entry.path);
        let others = touched.filter(|path| !known.contains(path.as_slice()));
        changed_since.extend(others.map(|path| RepoPath::new(path.clone())));
        Ok(Undone {
            direction: self.direction,
            operation: self.kind(),
            mode: swapped.state.mode,
            backup_id: Some(swapped.saved.id.to_string()),
            experiment_id: None,
            changes: swapped.changes(),
            changed_since,
            head_stayed: stays.then(|| "head-moved".to_owned()),
            notices: swap_notices(&swapped.applied)
                .into_iter()
                .chain(
                    stays.then(|| "HEAD has moved since, so the index stayed as it is".to_owned()),
                )
                .collect(),
        })
    }
}
