//! What a snapshot lacks without telling that it was not there: what its rules left out, and what its record lists as not captured.

use std::collections::BTreeSet;

use super::plan::tracks;
use super::repositories::NestedRepositories;
use super::treerules::TreeRules;
use crate::error::Result;
use crate::git::tree::{self, Change};
use crate::git::{Oid, path};
use crate::ops::Context;
use crate::store::Store;
use crate::store::snapshot::{Lists, Uncaptured};
use crate::store::stored::Stored;
use crate::worktree::globs::{Check, Source};
use crate::worktree::manifest::Kind;

/// What was never looked at when a snapshot was taken.
pub(super) struct LeftOutThen<'a> {
    store: &'a Store,
    /// The tree of its index.
    index: Oid,
    rules: TreeRules<'a>,
    /// Paths of the record's list, of which some are directories.
    listed: BTreeSet<Vec<u8>>,
    /// Those of them that could not be read.
    unreadable: BTreeSet<Vec<u8>>,
    /// The directories of nested repositories.
    nested: BTreeSet<Vec<u8>>,
}

impl<'a> LeftOutThen<'a> {
    /// Of a snapshot that is gone to.
    ///
    /// # Errors
    /// The rules that hold now, or the snapshot's lists, cannot be read.
    pub(super) fn of(ctx: &Context<'_>, store: &'a Store, stored: &Stored) -> Result<Self> {
        let listed = store.lists(stored)?.uncaptured;
        Ok(Self {
            store,
            index: store.index_side(stored)?.tree,
            rules: TreeRules::of(ctx, &store.objects, stored.tree, &globs_then(ctx, stored))?,
            unreadable: listed_as(&listed, &[Kind::Unreadable]),
            nested: listed_as(&listed, &[Kind::Nested]),
            listed: listed.into_iter().map(|(path, _)| path).collect(),
        })
    }

    /// Of the backup that a stay in the past ends with: what the present left out was noted when the stay began, and all else that is
    /// there was made in the past.
    ///
    /// # Errors
    /// The rules that hold now, or the backup's record, cannot be read.
    pub(super) fn of_backup(ctx: &Context<'_>, store: &'a Store, backup: &Stored) -> Result<Self> {
        Ok(Self {
            store,
            index: store.index_side(backup)?.tree,
            rules: TreeRules::of(ctx, &store.objects, backup.tree, &[])?,
            listed: BTreeSet::new(),
            unreadable: BTreeSet::new(),
            nested: BTreeSet::new(),
        })
    }

    /// Whether the rules would leave out an untracked file at this path. They speak of nothing in a submodule's directory: where another
    /// side has files of its own, this one had none.
    pub(super) fn hides(&self, full: &[u8]) -> bool {
        self.rules.leaves_out(full) && !self.is_in_submodule(full)
    }

    /// Whether a file that is hidden there was there, though git tracked it: the user's own globs hide such a one as well, and then the
    /// record lists it. Another one was deleted.
    pub(super) fn lists(&self, full: &[u8]) -> bool {
        path::has_or_is_within(&self.listed, full)
    }

    /// Whether a file at this path, or a directory over it, was there and could not be read.
    pub(super) fn could_not_read(&self, full: &[u8]) -> bool {
        path::has_or_is_within(&self.unreadable, full)
    }

    /// Whether an untracked directory at this path would be left out, with all that is in it, or could not be read.
    pub(super) fn hides_dir(&self, full: &[u8]) -> bool {
        let is_hidden = self.rules.leaves_dir_out(full) && !self.is_in_submodule(full);
        is_hidden || self.could_not_read(full)
    }

    fn is_in_submodule(&self, full: &[u8]) -> bool {
        let trees = &self.store.objects;
        path::with_parents(full).any(
            |at| matches!(tree::find(trees, self.index, at), Ok(Some(node)) if node.is_gitlink()),
        )
    }
}

/// What travel left in place although the snapshot lacks it: the present's.
pub struct LeftInPlace<'a> {
    store: &'a Store,
    files: &'a Stored,
    backup: &'a Stored,
    there: LeftOutThen<'a>,
}

impl<'a> LeftInPlace<'a> {
    /// By the snapshot that was travelled to (`files`), and the present's backup.
    ///
    /// # Errors
    /// The rules that hold now, or the snapshot's lists, cannot be read.
    pub fn of(
        ctx: &Context<'_>,
        store: &'a Store,
        files: &'a Stored,
        backup: &'a Stored,
    ) -> Result<Self> {
        Ok(Self {
            store,
            files,
            backup,
            there: LeftOutThen::of(ctx, store, files)?,
        })
    }

    /// Whether a difference between the snapshot and the past is only that: what the snapshot had left out when it was taken, or the
    /// directory of a submodule, which stays as an empty directory does; as the present had it.
    ///
    /// # Errors
    /// The present's trees cannot be read.
    pub fn has(&self, change: &Change) -> Result<bool> {
        let path = &change.path;
        let (None, Some(new)) = (change.old, change.new) else {
            return Ok(false);
        };
        if tree::find(&self.store.objects, self.backup.tree, path)? != Some(new) {
            return Ok(false);
        }
        let is_in_nested = path::has_or_is_within(&self.there.nested, path);
        Ok(new.is_gitlink()
            || self.there.hides(path)
            || self.there.could_not_read(path)
            || is_in_nested && !tracks(self.store, self.files, path)?)
    }
}

/// What the present left out, by its backup, though git tracks it or something in it. git's rules leave out nothing that git tracks: what
/// the present tracks beneath a directory that they left out was not there, or the backup would have it. The user's own globs do, and so
/// does what cannot be read, and other repositories have files that HEAD still tracks.
pub(super) struct LeftOutThoughTracked<'a> {
    listed: BTreeSet<Vec<u8>>,
    repositories: NestedRepositories<'a>,
}

impl<'a> LeftOutThoughTracked<'a> {
    /// By the backup and its lists.
    ///
    /// # Errors
    /// The backup cannot be read.
    pub(super) fn of(store: &'a Store, backup: &Stored, lists: &Lists) -> Result<Self> {
        Ok(Self {
            listed: listed_as(&lists.uncaptured, &[Kind::UserExclude, Kind::Unreadable]),
            repositories: NestedRepositories::of(store, backup, lists)?,
        })
    }

    /// Whether what is at a path that was left out, by the same backup, may have been there.
    ///
    /// # Errors
    /// The present's trees cannot be read.
    pub(super) fn may_have_been_there(
        &self,
        store: &Store,
        backup: &Stored,
        path: &[u8],
    ) -> Result<bool> {
        Ok(path::has_or_is_within(&self.listed, path)
            || self.repositories.own(path)?
            || !tracks(store, backup, path)?)
    }
}

/// Of what a snapshot's record lists as not captured, the paths that were left out for one of these reasons.
pub(super) fn listed_as(listed: &[(Vec<u8>, Uncaptured)], kinds: &[Kind]) -> BTreeSet<Vec<u8>> {
    let is_one = |entry: &Uncaptured| kinds.iter().any(|kind| kind.is_reason(&entry.reason));
    let listed = listed.iter().filter(|(_, entry)| is_one(entry));
    listed.map(|(path, _)| path.clone()).collect()
}

/// The globs that left things out of a snapshot when it was taken, and would not now.
fn globs_then(ctx: &Context<'_>, stored: &Stored) -> Vec<String> {
    let now: BTreeSet<String> = ctx.settings.exclude_globs().into_iter().collect();
    // A record may come from anywhere: what cannot be read hides nothing.
    let mut check = Check::new(Source::Team);
    let then = stored.record.exclude_globs.iter();
    let then = then.filter(|glob| !now.contains(*glob) && check.problem(glob).is_none());
    then.cloned().collect()
}
