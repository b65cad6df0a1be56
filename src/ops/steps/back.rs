//! Back into a past as it was left: the undo of a return, and of a hop from one past to another.

use std::collections::BTreeSet;

use super::{Step, Undone};
use crate::error::{Code, Error, Result};
use crate::git::tree;
use crate::ops::record::Made;
use crate::ops::stay::{Crossing, ReturnOperation, not_in_past};
use crate::ops::swap::extras::stored_extras;
use crate::ops::swap::goal::{Aim, GitGoal, GitSide, Goal, OperationShare, SnapshotAim, Stays};
use crate::ops::swap::head::{head_for, past_head, past_operation};
use crate::ops::swap::journal::{made_files, path_of, permissions_of};
use crate::ops::swap::swap;
use crate::ops::unsaved::{MOVED_ASIDE, noted_pairs};
use crate::store::names;
use crate::store::snapshot::Lists;
use crate::store::state::{Mode, State, path_from_stored};
use crate::store::stored::Stored;
use crate::worktree::plan::EmptyDirs;

impl Step<'_> {
    /// Undo of a return: back into the past as it was left.
    pub(super) fn go_back(&self) -> Result<Undone> {
        if self.store.dir.state()?.mode == Mode::Past {
            return Err(Error::new(Code::AlreadyInPast, "already in the past")
                .hint("run 'tw return' first"));
        }
        let left = self.saved("the undo log names neither an experiment nor a snapshot")?;
        let lists = self.store.lists(&left)?;
        let stays = self.head_moved()?;
        let past = &self.level.state_before;
        let title = format!("before going back to {}", left.id);
        let made = made_files(&self.level)?;
        let written = |path: &[u8]| made.get(path).copied();
        let goal = self
            .past_goal(&left, &lists, stays, title, &BTreeSet::new())?
            .reversing(Some(self.reversal.clone()))
            .unwriting(&written)
            .giving_old_names(noted_pairs(MOVED_ASIDE, &self.level));
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
        if let Some(changes) = self.dry_changes(&goal)? {
            return Ok(self.would(changes));
        }
        let swapped = swap(self.ctx, self.store, &goal, &state_after)?;
        let stays = stays.then_some("HEAD and index stayed as they were");
        let mut answer = self.answer(&swapped, Vec::new(), stays);
        answer.notices.extend(swapped.names_kept);
        Ok(answer)
    }

    /// Undo of a hop: back into the past that it left, as that was left. What was made in this one is saved.
    pub(super) fn cross_back(&self) -> Result<Undone> {
        let state = self.store.dir.state()?;
        if state.mode == Mode::Present {
            return Err(not_in_past(self.ctx));
        }
        let stay =
            ReturnOperation::new(self.ctx, self.store, state)?.reversing(self.reversal.clone());
        let left = self.saved("the undo log names neither an experiment nor a snapshot")?;
        let lists = self.store.lists(&left)?;
        let stays = self.head_moved()?;
        let mut goal = self.past_goal(&left, &lists, stays, stay.title(), stay.made())?;
        let past = &self.level.state_before;
        let had_files_only = past.files_only && self.level.experiment_id.is_none();
        if had_files_only && self.level.head.is_some() && !stays {
            goal = goal.git(GitGoal::Snapshot(stay.git_of_present()?));
        }
        let state_after = |before: &State, _: &Made<'_>| State {
            current_snapshot_id: past.current_snapshot_id.clone(),
            issue_id: past.issue_id.clone(),
            files_only: stays || past.files_only,
            ..before.clone()
        };
        let swapped = match stay.cross(goal, &state_after, self.dry_run)? {
            Crossing::Looked(changes) => return Ok(self.would(changes)),
            Crossing::Gone(swapped) => swapped,
        };
        let stays = stays.then_some("HEAD and index stayed as they were");
        Ok(Undone {
            backup_id: Some(stay.backup_id()),
            experiment_id: swapped.is_saved.then(|| swapped.saved.id.to_string()),
            ..self.answer(&swapped, Vec::new(), stays)
        })
    }

    /// The past that a level left, as it was left; where nothing was made there, as travel enters it.
    fn past_goal<'g>(
        &self,
        left: &'g Stored,
        lists: &'g Lists,
        stays: bool,
        title: String,
        made: &BTreeSet<Vec<u8>>,
    ) -> Result<Goal<'g>> {
        let past = &self.level.state_before;
        // Nothing was made there: the snapshot itself stands for it, and the past is entered as travel does.
        let is_start = self.level.experiment_id.is_none();
        let empty_dirs = match self.level.state_after.mode {
            Mode::Present if is_start => EmptyDirs::Stay,
            Mode::Present | Mode::Past => EmptyDirs::Go,
        };
        let (raw_head, operation, takes) = if is_start {
            (
                past_head(self.ctx, left)?,
                past_operation(self.store, left)?.0,
                OperationShare::Revivable,
            )
        } else {
            (
                head_for(self.ctx, self.store, left)?.0,
                self.store.operation(left)?,
                OperationShare::Whole,
            )
        };
        let stayed = self.level.stayed.iter();
        let stayed = stayed.filter_map(|path| path_from_stored(path));
        let mut extras = stored_extras(self.store, left)?;
        if is_start {
            // The snapshot does not know of those of the present that stayed empty in its past.
            for (dir, bits) in self.emptied_dirs(left)? {
                extras.modes.insert(dir.clone(), bits);
                extras.empty_dirs.insert(dir);
            }
        }
        let aim = SnapshotAim {
            extras,
            empty_dirs,
            made_before: made
                .iter()
                .cloned()
                .chain(made_files(&self.level)?.into_keys())
                .collect(),
            as_entered: is_start,
            stays: Stays {
                names: stayed.collect(),
                until: self.level.stayed_until.unwrap_or_default(),
            },
            ..SnapshotAim::new(self.store, left)?
        };
        let git = if stays || (is_start && past.files_only) {
            GitGoal::Stay
        } else {
            GitGoal::Snapshot(GitSide {
                stored: left,
                lists,
                raw_head,
                operation,
                takes,
            })
        };
        Ok(Goal::new(self.reversal.log.into(), title, Aim::Snapshot(aim)).git(git))
    }

    /// The directories that the level took away and in which a snapshot has nothing, with their permission bits.
    fn emptied_dirs(&self, snapshot: &Stored) -> Result<Vec<(Vec<u8>, u32)>> {
        let mut found = Vec::new();
        let dirs = self.level.dirs.iter();
        for dir in dirs.filter(|dir| dir.after.is_none()) {
            let path = path_of(&dir.path)?;
            let bits = permissions_of(dir.before.as_deref())?;
            if let Some(bits) = bits
                && tree::find(&self.store.objects, snapshot.tree, &path)?.is_none()
            {
                found.push((path, bits));
            }
        }
        Ok(found)
    }
}
