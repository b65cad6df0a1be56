//! Whether what made a scratch a worktree may go: its index, its HEAD and the log of that are in its git directory and nowhere else.
//!
//! Promises: as with git's own `worktree prune`, one that is locked stays, and so does one whose directory was moved. One that is not
//! there at all, which may be on a disk that is not mounted, goes only when nothing was committed or staged in it that was not saved.

use std::path::Path;

use super::scratch::Base;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::is_there;
use crate::git::index::{Checksum, Index, MemoryTrees, build_tree_without, unsafe_names};
use crate::git::refs::Refs;
use crate::git::repo::gitfile_of;
use crate::ops::Context;
use crate::ops::gitview::Trees;
use crate::ops::swap::same_index::{Beside, are_entries_of};
use crate::text::typed_path;

/// Refuses one that somebody locked.
///
/// # Errors
/// `HELD`.
pub fn check_unlocked(git_dir: &Path, dir: &Path) -> Result<()> {
    if is_there(&git_dir.join("locked"))? {
        let message = format!("'{}' is locked", dir.display());
        let hint = format!("run 'git worktree unlock {}' first", typed_path(dir));
        return Err(Error::new(Code::Held, message).hint(hint));
    }
    Ok(())
}

/// Refuses one that has another place by now.
///
/// # Errors
/// `HELD`.
pub(super) fn check_not_moved(git_dir: &Path, dir: &Path) -> Result<()> {
    let link = gitfile_of(git_dir).context(|| format!("cannot read '{}'", git_dir.display()))?;
    if let Some(link) = link
        && is_there(&link)?
    {
        let now = link.parent().unwrap_or(&link);
        let message = format!(
            "'{}' was moved to '{}', and is left alone",
            dir.display(),
            now.display()
        );
        let hint = format!("'git worktree remove {}' removes it", typed_path(now));
        return Err(Error::new(Code::Held, message).hint(hint));
    }
    Ok(())
}

/// Refuses one that is not there although something was made in it that was not in its snapshot.
///
/// # Errors
/// `HELD`; its index cannot be read.
pub(super) fn check_nothing_made(
    ctx: &Context<'_>,
    (git_dir, dir): (&Path, &Path),
    base: &Base,
) -> Result<()> {
    let store = ctx.store()?;
    let objects = &store.objects;
    let refs = Refs::new(ctx.repo.common_dir(), git_dir, ctx.repo.refs().format());
    // What is on a branch is held by that.
    let head = refs.read_direct("HEAD")?;
    let file = git_dir.join("index");
    let index = Index::read(&file, git_dir, &Trees(objects), Checksum::Trust)?;
    let mut trees = MemoryTrees::new(objects);
    let unsafe_names = unsafe_names(&index);
    let tree = build_tree_without(&index, &unsafe_names, &|_| Ok(None), &mut trees)?;
    let read = |oid| trees.read(oid);
    let entries = (tree, &Beside::of_index(&index, &unsafe_names));
    if head.is_none_or(|head| base.seen.head == Some(head))
        && are_entries_of(store, &base.index, entries, &read)?
    {
        return Ok(());
    }
    let message = format!(
        "'{}' is not there, but what was committed or staged in it is",
        dir.display()
    );
    let hint = format!(
        "bring it back, then run 'tw scratch gc' again; or forget what is left of it: rm -r {}",
        typed_path(git_dir)
    );
    Err(Error::new(Code::Held, message).hint(hint))
}
