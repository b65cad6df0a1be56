//! What a swap inside the past must leave alone: files of the present that its rules ignore, and that no backup has.
//!
//! Such a file stays where it is while the working tree is in the past, and is there untouched after the return. In the past other
//! rules may take it for a file like any other: a restore, a rewind or a hop would save it with the past and remove or replace it, and
//! the present, whose backup has nothing of it, would come back without it. A file that the stay itself made is no file of the
//! present. One that somebody made there by hand, and that the present ignores, cannot be told from one, and stays as well.

use std::collections::BTreeSet;

use super::goal::Goal;
use super::made;
use super::plan::tracks;
use super::treerules::TreeRules;
use crate::error::Result;
use crate::git::tree;
use crate::ops::Context;
use crate::ops::capture::rule_parts;
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::state::Mode;
use crate::store::stored::Stored;

/// The present that a stay in the past left, as far as it ignores files.
pub(super) struct PresentOwn<'a> {
    store: &'a Store,
    backup: Stored,
    rules: TreeRules<'a>,
    made: BTreeSet<Vec<u8>>,
}

impl<'a> PresentOwn<'a> {
    /// None in the present, and for a swap that ends the stay: its own rules are the present's.
    ///
    /// # Errors
    /// The state, or the present's backup, cannot be read.
    pub fn of(ctx: &Context<'_>, store: &'a Store, goal: &Goal<'_>) -> Result<Option<Self>> {
        let state = store.dir.state()?;
        let id = state.backup_id.as_deref().and_then(SnapshotId::parse);
        let (Mode::Past, Some(id), false) = (state.mode, id, goal.ends_stay()) else {
            return Ok(None);
        };
        let backup = store.read_noted(&id, state.backup_commit.as_deref())?;
        let (globals, globs, _) = rule_parts(ctx, &[], &[])?;
        let rules = TreeRules::new(&store.objects, backup.tree, globals, globs);
        Ok(Some(Self {
            store,
            backup,
            rules,
            made: made::made_here(store)?,
        }))
    }

    /// Whether a file that is at this path may be the present's.
    ///
    /// # Errors
    /// The present's trees cannot be read.
    pub fn has(&self, path: &[u8]) -> Result<bool> {
        if self.made.contains(path) || !self.rules.leaves_out(path) {
            return Ok(false);
        }
        let read = |oid| self.store.objects.read_tree(oid);
        let is_saved = tree::find(&read, self.backup.tree, path)?.is_some();
        Ok(!is_saved && !tracks(self.store, &self.backup, path)?)
    }
}
