//! Other repositories in the working tree: those that stand where a swap writes, and what in those of the present is theirs.

use std::collections::BTreeSet;

use super::goal::{Aim, Goal};
use super::left_out::listed_as;
use crate::error::Result;
use crate::git::{Oid, path, tree};
use crate::store::Store;
use crate::store::snapshot::Lists;
use crate::store::stored::Stored;
use crate::worktree::manifest::Kind;

/// Other repositories in the working tree, as the sides that a swap takes files from have them.
#[derive(Default)]
pub(super) struct OtherRepositories {
    /// The target's nested repositories, which hide what the target does not track.
    pub(super) hiding: BTreeSet<Vec<u8>>,
    /// The nested repositories of any side. Those with files of the side in them are written into again, and so are directories with a
    /// `.git` that made no repository of them: files beside it were captured, and come back also where it makes one now.
    pub(super) shared: BTreeSet<Vec<u8>>,
}

impl OtherRepositories {
    /// By the lists of the sides.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn of(store: &Store, goal: &Goal<'_>) -> Result<Self> {
        let mut others = Self::default();
        let (target, from): (_, &[Stored]) = match &goal.aim {
            Aim::Snapshot(aim) => (Some(aim.stored), &[]),
            Aim::Paths(aim) => (None, &aim.from),
            Aim::Computed { .. } => (None, &[]),
        };
        let target = target.into_iter().map(|side| (side, true));
        for (side, is_target) in target.chain(from.iter().map(|side| (side, false))) {
            for (path, entry) in store.lists(side)?.uncaptured {
                if Kind::Nested.is_reason(&entry.reason) {
                    if is_target {
                        others.hiding.insert(path.clone());
                    }
                    others.shared.insert(path);
                } else if let Some(dir) = path.strip_suffix(b"/.git") {
                    others.shared.insert(dir.to_vec());
                }
            }
        }
        Ok(others)
    }
}

/// The nested repositories and submodules of a side. What is in one is that repository's, unless the side's index has it, whatever HEAD
/// tracks there: a directory that is to become a repository of its own is taken out of the index first.
pub struct NestedRepositories<'a> {
    store: &'a Store,
    index: Oid,
    dirs: BTreeSet<Vec<u8>>,
}

impl<'a> NestedRepositories<'a> {
    /// Of this side, by its lists.
    ///
    /// # Errors
    /// Its record cannot be read.
    pub fn of(store: &'a Store, side: &Stored, lists: &Lists) -> Result<Self> {
        Ok(Self {
            store,
            index: store.index_side(side)?.tree,
            dirs: listed_as(&lists.uncaptured, &[Kind::Nested, Kind::Gitlink]),
        })
    }

    /// Whether a file at this path is one of theirs.
    ///
    /// # Errors
    /// The index's trees cannot be read.
    pub fn own(&self, path: &[u8]) -> Result<bool> {
        if !path::has_or_is_within(&self.dirs, path) {
            return Ok(false);
        }
        Ok(tree::find(&self.store.objects, self.index, path)?.is_none())
    }
}
