//! What a swap that begins in the past must leave alone: files of the present that it left out, and that no backup has.
//!
//! Such a file stays where it is while the working tree is in the past, and is there untouched after the return. In the past other
//! rules may take it for a file like any other: a swap would save it with the past and remove or replace it, and the present, whose
//! backup has nothing of it, would come back without it. What was there when the stay began is noted (`ops::unsaved`). A file that the stay
//! itself made is no file of the present. One that somebody made there by hand, and that the present's rules ignore, is no different to a
//! swap inside the past, and stays as well; the return takes it along.

use std::collections::{BTreeMap, BTreeSet};

use super::goal::Goal;
use super::left_out::LeftOutThoughTracked;
use super::made;
use super::treerules::TreeRules;
use crate::error::Result;
use crate::git::fs::Root;
use crate::git::path;
use crate::git::tree::{self, Node};
use crate::ops::Context;
use crate::ops::unsaved::{Filtered, Unsaved};
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::state::Mode;
use crate::store::stored::Stored;

/// The present that a stay in the past left, as far as it ignores files.
pub(super) struct PresentOwn<'a> {
    store: &'a Store,
    backup: Stored,
    /// Of a swap that does not end the stay: there the target's rules are others.
    rules: Option<TreeRules<'a>>,
    unsaved: Unsaved,
    made: BTreeSet<Vec<u8>>,
    left_out: LeftOutThoughTracked<'a>,
    /// The directories in which it had nothing.
    empty_dirs: BTreeSet<Vec<u8>>,
    /// The paths of its index that were not on disk.
    absent: BTreeSet<Vec<u8>>,
}

impl<'a> PresentOwn<'a> {
    /// None in the present.
    ///
    /// # Errors
    /// The state, or the present's backup, cannot be read.
    pub fn of(ctx: &Context<'_>, store: &'a Store, goal: &Goal<'_>) -> Result<Option<Self>> {
        let state = store.dir.state()?;
        let id = state.backup_id.as_deref().and_then(SnapshotId::parse);
        let (Mode::Past, Some(id)) = (state.mode, id) else {
            return Ok(None);
        };
        let backup = store.read_noted(&id, state.backup_commit.as_deref())?;
        let rules = if goal.ends_stay() {
            None
        } else {
            Some(TreeRules::of(ctx, &store.objects, backup.tree, &[])?)
        };
        let lists = store.lists(&backup)?;
        let left_out = LeftOutThoughTracked::of(store, &backup, &lists)?;
        Ok(Some(Self {
            store,
            backup,
            rules,
            unsaved: Unsaved::of_stay(&store.dir)?,
            made: made::made_here(store, &state)?.paths,
            left_out,
            empty_dirs: lists.empty_dirs.into_iter().collect(),
            absent: lists.absent.into_iter().collect(),
        }))
    }

    /// Whether a directory of the present stays where it is: one that it left out, also where a swap wrote into it, and until the stay
    /// ends one in which it had nothing. That one is saved, and there again afterwards.
    ///
    /// # Errors
    /// The present's trees cannot be read.
    pub fn stays(&self, dir: &[u8]) -> Result<bool> {
        Ok(self.unsaved.is_dir(dir) || !self.ends_stay() && self.had_empty_dir(dir)?)
    }

    /// Whether the swap brings the present back.
    pub fn ends_stay(&self) -> bool {
        self.rules.is_none()
    }

    /// Whether the present had a directory here, a submodule's among them, in which nothing was that it saved. The travel that began the
    /// stay left it.
    fn had_empty_dir(&self, dir: &[u8]) -> Result<bool> {
        if self.empty_dirs.contains(dir) || path::any_within(&self.empty_dirs, dir) {
            return Ok(true);
        }
        if self.absent.contains(dir) {
            return Ok(false);
        }
        let found = tree::find(&self.store.objects, self.backup.tree, dir)?;
        Ok(found.is_some_and(Node::is_gitlink))
    }

    /// The backup of the present.
    pub fn backup(&self) -> &Stored {
        &self.backup
    }

    /// Whether the present had a path in its index alone.
    pub fn was_absent(&self, path: &[u8]) -> bool {
        self.absent.contains(path)
    }

    /// Directories of the present that the stay gave other permission bits, with those that they had.
    pub fn bits(&self) -> &BTreeMap<Vec<u8>, u32> {
        &self.unsaved.bits
    }

    /// Large files of the present that a filter converts.
    pub fn filtered(&self) -> &BTreeMap<Vec<u8>, Filtered> {
        &self.unsaved.filtered
    }

    /// The directories in a directory that holds nothing but directories and what the present left out; None for any other.
    pub fn only_dirs_in(&self, root: &Root, dir: &[u8]) -> Option<Vec<(Vec<u8>, u32)>> {
        self.unsaved.only_dirs_in(root, dir)
    }

    /// Whether a directory that is at this path was there, unsaved.
    pub fn has_dir(&self, path: &[u8]) -> bool {
        self.unsaved.has_dir(path)
    }

    /// The same, but for one that was made in the past.
    pub fn has_old_dir(&self, root: &Root, path: &[u8]) -> bool {
        self.has_dir(path) && !self.unsaved.is_younger(root, path)
    }

    /// Whether a file that is at this path may be the present's.
    ///
    /// # Errors
    /// The present's trees cannot be read.
    pub fn has(&self, path: &[u8]) -> Result<bool> {
        let is_ignored = || {
            self.rules
                .as_ref()
                .is_some_and(|rules| rules.leaves_out(path))
        };
        let is_made = self.made.contains(path);
        // A file that a swap put where a directory of the present was is the swap's.
        let is_written = self.unsaved.left_alone.written.contains(path);
        let is_one = self.unsaved.is_one(path) && !is_written;
        let is_noted = is_one || !is_made && self.unsaved.has(path);
        if !is_noted && (is_made || !is_ignored()) {
            return Ok(false);
        }
        let is_saved = tree::find(&self.store.objects, self.backup.tree, path)?.is_some();
        if is_saved || is_one {
            return Ok(!is_saved);
        }
        let Self { store, backup, .. } = self;
        self.left_out.may_have_been_there(store, backup, path)
    }
}
