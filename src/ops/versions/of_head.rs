//! What a member of a workspace has of its head's sessions: one checkpoint covers all members, so a turn of the head is one here, too.

use std::collections::HashMap;

use crate::error::Result;
use crate::ops::Context;
use crate::ops::workspaces::head_of_member;
use crate::store::Store;
use crate::store::checkpoint::SessionNotes;
use crate::store::id::SnapshotId;
use crate::store::workspace::{Covered, way};

/// The head of the workspace that this repository is a member of.
pub struct Head<'a> {
    /// Its context.
    pub ctx: Context<'a>,
    /// Where this member is, from the head's working tree.
    path: String,
    repository_id: String,
}

impl<'a> Head<'a> {
    /// Opens it. None: this is no member.
    ///
    /// # Errors
    /// The head cannot be opened, or its list cannot be read.
    pub fn open(ctx: &Context<'a>) -> Result<Option<Self>> {
        let Some(root) = head_of_member(ctx)? else {
            return Ok(None);
        };
        let Some(repository_id) = ctx.store()?.repository_id()? else {
            return Ok(None);
        };
        Ok(Some(Self {
            ctx: Context::open(&root, ctx.env, ctx.progress)?,
            path: way(&root, ctx.repo.worktree_root()),
            repository_id,
        }))
    }

    /// Notes of a session of the head, with this member's snapshots in place of the head's. What has none here is left out.
    ///
    /// # Errors
    /// The head cannot be read.
    pub fn translate(&self, notes: &mut SessionNotes) -> Result<()> {
        let store = self.ctx.store()?;
        let mut known = HashMap::new();
        let mut translate = |id: &mut String| {
            let beside = known
                .entry(id.clone())
                .or_insert_with(|| self.beside(store, id));
            let has_one = beside.is_some();
            if let Some(beside) = beside {
                id.clone_from(beside);
            }
            has_one
        };
        notes
            .checkpoints
            .retain_mut(|one| translate(&mut one.snapshot_id));
        notes
            .turn_ends
            .retain_mut(|one| translate(&mut one.snapshot_id));
        Ok(())
    }

    /// The snapshot of this member that was taken with one of the head.
    fn beside(&self, store: &Store, id: &str) -> Option<String> {
        let stored = store.read_id(&SnapshotId::parse(id)?).ok()?;
        // What another repository's record says is nothing to go by.
        if store.is_foreign(&stored).ok()? {
            return None;
        }
        let mut covered = Covered::of(&stored.record.extra).into_iter();
        let here = |one: &Covered| one.path == self.path && one.repository_id == self.repository_id;
        covered.find(here)?.snapshot_id
    }
}
