//! Refs, HEAD and reflogs in the reftable format (`extensions.refStorage=reftable`), read and written here.
//!
//! One worktree's refs are a *stack* of immutable tables in its `reftable/` directory; `tables.list` names them, oldest
//! first, and what a newer one says of a ref holds. The main stack has all refs and the main worktree's HEAD; a linked
//! worktree has one of its own with HEAD, the refs beside it (`ORIG_HEAD`, …) and `refs/bisect`, `refs/rewritten` and
//! `refs/worktree`. The format is that of git's `Documentation/technical/reftable`.
//!
//! **Reading** ([`Stack::view`]) opens the tables that the list names. They never change, so those that are open stay open;
//! one that was folded away meanwhile means that there is a newer list. All that a file claims about its own lengths and
//! positions is checked before it is used: a damaged table is an error, and never a read without end.
//!
//! **Writing** ([`Held`]) is by git's protocol: whoever holds `tables.list.lock` writes a new table, and then the new list
//! in the place of the old one. That rename is the one moment at which all changes of a transaction happen, and nothing
//! else moves a ref of this stack between the look under the lock and it. The lock is ours by link, as those of loose refs
//! are: one that a dead process left is known by its inode and taken away. A death before the rename leaves a file that no
//! list names, which git's gc clears away. New tables and lists are always synced, for a list that outlives its tables in
//! a power cut loses every ref. So that the stack stays short, what is written takes in the tables before it while they
//! are not twice as large (git's own rule), but for those that git is folding at that moment, which it has locked.
//!
//! **HEAD in a swap.** With loose refs HEAD is a file, and `HEAD.lock` keeps others from it from the backup to the end. Here
//! the only lock is that of all refs, and it is held for milliseconds: to keep it for as long as a swap takes would stop
//! everybody who commits in any worktree. `index.lock`, which the swap does hold, keeps away whatever checks out, commits,
//! merges or resets files. What is left (`git symbolic-ref`, `git reset --soft`, `git branch -m`) is met by comparing:
//! [`crate::git::repo::Repo::move_head`] states what HEAD was before and changes it only while that holds, in one table
//! with the entry of its reflog. A HEAD that was moved meanwhile stays where it was moved to, and the swap is rolled back.
//! Recovery uses the same function. So every kill leaves the old HEAD or the new one.
//!
//! Leaves out the index from objects to refs, which git does not need either, and peeled tags: `tw` makes no ref to a tag.

mod block;
mod change;
mod stack;
mod table;
#[cfg(test)]
mod tests;
mod write;

pub(super) use change::{Held, clear_unfinished, sync};
pub(in crate::git) use stack::LogEntry;
pub(super) use stack::{Stack, View};

use std::path::{Path, PathBuf};

use crate::error::{Code, Error};

/// The directory of a stack, in a git directory.
pub(super) const DIR: &str = "reftable";
/// What names the tables of a stack.
pub(super) const LIST: &str = "tables.list";

/// What names the tables of the stack in a git directory.
pub(super) fn list_in(git_dir: &Path) -> PathBuf {
    git_dir.join(DIR).join(LIST)
}

/// What a record says of a ref: the types of the format.
mod kind {
    pub(super) const DELETED: u8 = 0;
    pub(super) const OID: u8 = 1;
    pub(super) const PEELED: u8 = 2;
    pub(super) const SYMBOLIC: u8 = 3;
}

/// One record of a ref or of a log, as it stands in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    /// The name of a ref; for a log, the name, a NUL, and the update it was made in, counted down.
    key: Vec<u8>,
    /// One of [`kind`]; for a log, whether it is there.
    kind: u8,
    /// The update that a ref's record was made in.
    update: u64,
    /// All after that.
    body: Vec<u8>,
}

fn corrupt(what: &str) -> Error {
    Error::new(Code::CorruptRecord, format!("reftable: {what}"))
}
