//! Taking an open directory away: exactly what is known, path by path, no-follow.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::opening::is_locked_with;
use crate::env::fail_point;
use crate::error::{Result, ResultExt};
use crate::git::create;
use crate::git::fs::{self, Root, stamp_at, stamp_of};
use crate::git::path;
use crate::git::pinned::{PathOccupant, PinnedDir};
use crate::ops::Context;
use crate::ops::worktrees::{linked_git_dir, opened};
use crate::store::id::Tail;
use crate::store::state::StateDir;
use crate::worktree::apply::made::MadePaths;
use crate::worktree::apply::{content_oid, set_permissions};
use crate::worktree::manifest::{FileRec, Kind, Manifest};

/// How often others may take the directory of what is removed away while something is put there.
const TURNS: u32 = 100;

/// Removes the captured files that are still what was captured, and the output named. Answers what is left: changed since,
/// or made since.
///
/// # Errors
/// When the system refuses a removal.
pub fn contents(root: &Root, manifest: &Manifest, output: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
    for (dir, file) in manifest.entries() {
        if matches!(file.kind, Kind::File | Kind::Symlink) {
            let full = manifest.path_of(dir, &file);
            captured(root, &full, &file)
                .context(|| format!("cannot remove '{}'", path::display(&full)))?;
        }
    }
    for full in output {
        whole(root, full).context(|| format!("cannot remove '{}'", path::display(full)))?;
    }
    empty_dirs(root, b"")?;
    let mut left = Vec::new();
    leaves(root, b"", &mut left)?;
    left.retain(|full| full != b".git");
    Ok(left)
}

/// Removes one file when it is what was captured.
fn captured(root: &Root, full: &[u8], file: &FileRec) -> Result<()> {
    let (dir, name) = path::split(full);
    let fd = match root.open_dir(dir) {
        Ok(fd) => fd,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    let Some(stamp) = stamp_at(fd.as_fd(), name)? else {
        return Ok(());
    };
    // The stamp does not tell of stores through a memory mapping.
    let same = stamp.mode == file.stamp.mode
        && content_oid(file.oid.format(), fd.as_fd(), name, &stamp)? == Some(file.oid);
    if same {
        unlink(root, dir, fd.as_fd(), name, AtFlags::empty())?;
    }
    Ok(())
}

/// Unlinks; a directory that is read-only to its owner is made writable for it: it goes, too.
fn unlink(
    root: &Root,
    dir: &[u8],
    fd: BorrowedFd<'_>,
    name: &[u8],
    flags: AtFlags,
) -> rustix::io::Result<()> {
    let attempt = || rustix::fs::unlinkat(fd, OsStr::from_bytes(name), flags);
    match attempt() {
        Err(Errno::ACCESS) => {
            let perm = stamp_of(fd)?.permissions() | 0o700;
            set_permissions(root, dir, perm).map_err(|_| Errno::ACCESS)?;
            attempt()
        }
        other => other,
    }
}

/// Removes a file, or a directory with all that is in it. A symlink goes itself; a repository inside stays.
fn whole(root: &Root, full: &[u8]) -> Result<()> {
    let mut pending = vec![(full.to_vec(), false)];
    while let Some((at, emptied)) = pending.pop() {
        let (dir, name) = path::split(&at);
        let fd = root.open_dir(dir)?;
        let Some(stamp) = stamp_at(fd.as_fd(), name)? else {
            continue;
        };
        if !stamp.is_dir() {
            unlink(root, dir, fd.as_fd(), name, AtFlags::empty())?;
        } else if emptied {
            match unlink(root, dir, fd.as_fd(), name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        } else {
            let names = root.names(&at)?;
            // Asked again, for it may have been made since the survey.
            if names.iter().any(|name| name == b".git") {
                continue;
            }
            pending.push((at.clone(), true));
            pending.extend(names.iter().map(|name| (path::join(&at, name), false)));
        }
    }
    Ok(())
}

/// Removes directories that hold nothing but such directories. The top stays.
fn empty_dirs(root: &Root, top: &[u8]) -> Result<()> {
    let mut dirs = Vec::new();
    let mut pending = vec![top.to_vec()];
    while let Some(dir) = pending.pop() {
        let fd = root.open_dir(&dir)?;
        for name in root.names(&dir)? {
            if stamp_at(fd.as_fd(), &name)?.is_some_and(|stamp| stamp.is_dir()) {
                let full = path::join(&dir, &name);
                dirs.push(full.clone());
                pending.push(full);
            }
        }
    }
    // Parents come before what is in them.
    for full in dirs.iter().rev() {
        let (dir, name) = path::split(full);
        let fd = root.open_dir(dir)?;
        match unlink(root, dir, fd.as_fd(), name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT) => {}
            Err(errno) => {
                return Err(errno).context(|| format!("cannot remove '{}'", path::display(full)));
            }
        }
    }
    Ok(())
}

fn leaves(root: &Root, top: &[u8], found: &mut Vec<Vec<u8>>) -> Result<()> {
    let mut pending = vec![top.to_vec()];
    while let Some(dir) = pending.pop() {
        let fd = root.open_dir(&dir)?;
        for name in root.names(&dir)? {
            let full = path::join(&dir, &name);
            match stamp_at(fd.as_fd(), &name)? {
                Some(stamp) if stamp.is_dir() => pending.push(full),
                Some(_) => found.push(full),
                None => {}
            }
        }
    }
    found.sort();
    Ok(())
}

/// Removes an emptied directory, what made it a worktree, and the directories that were made to lead to it, while empty.
///
/// `held` is what is open in its git directory. Where the directory over it is another user's, or it is a mount point, the empty directory
/// stays, as it was there before.
///
/// # Errors
/// When something was put into it meanwhile: then it stays a worktree.
pub fn worktree<H>(
    dir: &PinnedDir,
    git_dir: &Path,
    parents: &[PathBuf],
    held: H,
) -> Result<EmptyDir> {
    let what = || format!("cannot remove '{}'", dir.path().display());
    if dir.occupant() != PathOccupant::There {
        return Err(std::io::Error::other("something else is there by now")).context(what);
    }
    let link = dir.path().join(".git");
    let symlink = std::fs::read_link(&link).ok();
    let text = match symlink {
        None => crate::git::regular::read(&link).context(what)?,
        Some(_) => Vec::new(),
    };
    // The directory goes only by 'rmdir', which refuses when anything else is in it; so the link goes first, and comes back then.
    rustix::fs::unlinkat(dir, ".git", AtFlags::empty()).context(what)?;
    let mut left = EmptyDir::Removed;
    if let Err(error) = std::fs::remove_dir(dir.path()) {
        if !is_barred(&error) || !is_empty(dir) {
            match symlink {
                None => fs::write_atomic_with_mode(&link, &text, fs::Durable::No, 0o644)?,
                Some(target) => std::os::unix::fs::symlink(target, &link).context(what)?,
            }
            return Err(error).context(what);
        }
        left = EmptyDir::Stays;
    }
    // Last: until here git still knows the worktree, and 'git worktree prune' would clear away what a death leaves.
    metadata(git_dir, held)?;
    for parent in parents.iter().rev() {
        if std::fs::remove_dir(parent).is_err() {
            break;
        }
    }
    Ok(left)
}

/// What became of the directory of a worktree that was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyDir {
    /// It is gone.
    Removed,
    /// It is still there, with nothing in it.
    Stays,
}

/// Whether a directory could not be removed because of the one over it, or because something is mounted there.
fn is_barred(error: &std::io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::BUSY)
    )
}

fn is_empty(dir: &PinnedDir) -> bool {
    let is_so = |root: Root| root.names(b"").is_ok_and(|names| names.is_empty());
    dir.root().is_ok_and(is_so)
}

/// Removes a linked worktree's git directory, and `worktrees` when it was the last, as git does. `held` is what is open in it: closed
/// before, for some file systems keep what is open under another name when it is removed, and then the directory is not empty. Who takes
/// the worktree for one of the dead meanwhile removes the same; what is gone already is no error.
///
/// It goes at once, by another name: a death in between leaves no half of a worktree, which nobody would know for ours any more.
pub(super) fn metadata<H>(git_dir: &Path, held: H) -> Result<()> {
    drop(held);
    let worktrees = git_dir.parent().unwrap_or(git_dir);
    let removed = removed_dir(worktrees.parent().unwrap_or(worktrees));
    let thrown = removed.join(Tail::random()?.as_str());
    let mut turns = 0..TURNS;
    let gone = loop {
        let moved = match create::private_dir(&removed) {
            Ok(()) => std::fs::rename(git_dir, &thrown),
            Err(_) => break std::fs::remove_dir_all(git_dir),
        };
        match moved {
            Ok(()) => {
                fail_point("worktree-thrown");
                // What cannot be deleted is in nobody's way, and is tried again.
                let _ = std::fs::remove_dir_all(&thrown);
                break Ok(());
            }
            // Another one has just taken the directory away for being empty.
            Err(error) if error.kind() == ErrorKind::NotFound && turns.next().is_some() => {
                if !fs::is_there(git_dir)? {
                    break Ok(());
                }
            }
            // It is on another file system, or another user's.
            Err(_) => break std::fs::remove_dir_all(git_dir),
        }
    };
    // Both fail while there are others, which is right.
    let _ = std::fs::remove_dir(&removed);
    match gone {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        other => other.context(|| format!("cannot remove '{}'", git_dir.display()))?,
    }
    let _ = std::fs::remove_dir(worktrees);
    Ok(())
}

/// Where the git directories of worktrees go, in a repository's common directory.
fn removed_dir(common_dir: &Path) -> PathBuf {
    StateDir::new(common_dir).file("removed-worktrees")
}

/// Whether a death left some of a worktree that is gone.
pub(super) fn has_removed(common_dir: &Path) -> bool {
    removed_dir(common_dir).symlink_metadata().is_ok()
}

/// Deletes what a death left of worktrees that are gone. What another one is deleting goes the sooner.
pub(super) fn clear_removed(common_dir: &Path) {
    let removed = removed_dir(common_dir);
    for thrown in fs::entries(&removed).unwrap_or_default() {
        let _ = std::fs::remove_dir_all(thrown);
    }
    let _ = std::fs::remove_dir(&removed);
}

/// Takes back an `open` that failed: what it made, and nothing that somebody else put there meanwhile, beside which the directory stays a
/// worktree. What cannot be removed stays; the error that brought us here is the one to tell.
pub fn failed_open(ctx: &Context<'_>, dir: &PinnedDir, mark: &str, made: &MadePaths) {
    let is_ours = |git_dir: &PathBuf| {
        let opened = opened(&StateDir::new(git_dir)).ok().flatten();
        let is_same = opened.is_some_and(|opened| opened.identity == Some(dir.id()));
        is_same || is_locked_with(git_dir, mark)
    };
    let Some(git_dir) = linked_git_dir(&ctx.repo, dir.path()).filter(is_ours) else {
        return;
    };
    if let Ok(root) = dir.root() {
        made.take_back(&root);
    }
    let _ = worktree(dir, &git_dir, &[], ());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::path::PathBuf;

    /// Something open in a directory, which it finds there when it is closed.
    struct Open<'a>(PathBuf, &'a Cell<bool>);

    impl Drop for Open<'_> {
        fn drop(&mut self) {
            self.1.set(self.0.exists());
        }
    }

    #[test]
    fn what_is_open_in_a_git_directory_is_closed_before_it_goes() {
        let room = tempfile::tempdir().expect("a temporary directory");
        let git_dir = room.path().join("worktrees/one");
        std::fs::create_dir_all(git_dir.join("timewarp")).expect("made");
        let was_there = Cell::new(false);
        let held = Open(git_dir.join("timewarp"), &was_there);
        metadata(&git_dir, held).expect("removed");
        assert!(was_there.get() && !room.path().join("worktrees").exists());
        metadata(&git_dir, ()).expect("somebody else was quicker");
        assert!(!has_removed(room.path()));
        // Something of another's is where it would go.
        std::fs::create_dir_all(git_dir.join("timewarp")).expect("made");
        std::fs::create_dir_all(room.path().join("timewarp")).expect("made");
        std::fs::write(removed_dir(room.path()), "").expect("written");
        metadata(&git_dir, ()).expect("removed");
        assert!(!git_dir.exists());
    }
}
