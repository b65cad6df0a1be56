//! What is in the way of a return and cannot be captured, renamed on request.
//!
//! What the present left out of its backup is moved by nobody: where it is in a directory that has to be renamed, it goes back to
//! its place at once.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Mode, RenameFlags};
use rustix::io::Errno;

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{Root, rename_to_free};
use crate::git::path;
use crate::ops::Context;
use crate::ops::capture::Storing;
use crate::ops::outcome::MovedAside;
use crate::ops::swap::goal::Goal;
use crate::ops::swap::prepare;
use crate::ops::unsaved::Unsaved;
use crate::store::Store;
use crate::store::state::path_from_stored;

/// No more than this is renamed: something that makes files in the way faster than they are renamed would go on for ever.
const MOST: usize = 1000;

/// Renames what is in the way and cannot be captured. Answers with old and new names, what of the present could not go back among them.
///
/// # Errors
/// As [`prepare`], when what is in the way is git's own or is not to be renamed.
pub(super) fn move_aside(
    ctx: &Context<'_>,
    store: &Store,
    goal: &Goal<'_>,
    tail: &str,
) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut moved = Vec::new();
    let unsaved = Unsaved::of_stay(&store.dir)?;
    // Only the next preparation tells whether there is more behind what was renamed.
    loop {
        let error = match prepare(ctx, store, goal, &Storing::No) {
            Ok(_) => return Ok(moved),
            Err(error) if error.code() == Code::WouldOverwrite => error,
            Err(error) => return Err(error),
        };
        let paths = renameable(&error);
        if paths.is_empty() || moved.len() > MOST {
            return Err(error);
        }
        let before = moved.len();
        let root = Root::open(ctx.repo.worktree_root())?;
        for path in paths {
            if let Some(to) = rename(&root, &path, tail)? {
                let left = bring_back(&root, &unsaved, &path, &to);
                moved.push((path, to));
                moved.extend(left);
            }
        }
        if moved.len() == before {
            return Err(error);
        }
    }
}

/// What [`move_aside`] would rename of these paths: old and new names, as names are free now.
///
/// # Errors
/// A directory cannot be looked at.
pub(super) fn would_move(
    ctx: &Context<'_>,
    paths: &[Vec<u8>],
    tail: &str,
) -> Result<Vec<MovedAside>> {
    let root = Root::open(ctx.repo.worktree_root())?;
    let mut moved = Vec::new();
    for path in paths {
        let (dir, name) = path::split(path);
        let mut free = None;
        for to in names_aside(name, tail) {
            let to = path::join(dir, &to);
            let taken = root
                .stamp(&to)
                .context(|| format!("cannot inspect '{}'", path::display(&to)))?;
            if taken.is_none() {
                free = Some(to);
                break;
            }
        }
        moved.extend(free.map(|to| MovedAside::from((path.clone(), to))));
    }
    Ok(moved)
}

/// The names that are tried one after the other.
fn names_aside(name: &[u8], tail: &str) -> impl Iterator<Item = Vec<u8>> {
    let base = [name, b".tw-past-", tail.as_bytes()].concat();
    let numbered = base.clone();
    let more = (2..).map(move |nth| [&numbered[..], format!("-{nth}").as_bytes()].concat());
    std::iter::once(base).chain(more)
}

/// The paths of a refusal, when they may be renamed. What is git's own is moved by nobody but its owner.
fn renameable(error: &Error) -> Vec<Vec<u8>> {
    let detail = |wanted: &str| error.details().iter().find(|(name, _)| name == wanted);
    if detail("git_directory").is_some() {
        return Vec::new();
    }
    let paths = detail("raw_paths");
    let paths =
        paths.and_then(|(_, value)| serde_json::from_value::<Vec<String>>(value.clone()).ok());
    let paths = paths.unwrap_or_default();
    paths
        .iter()
        .filter_map(|path| path_from_stored(path))
        .collect()
}

/// Renames to the first free name. `None`: it went away by itself.
fn rename(root: &Root, path: &[u8], tail: &str) -> Result<Option<Vec<u8>>> {
    let (dir, name) = path::split(path);
    let fd = root.open_dir(dir)?;
    for to in names_aside(name, tail) {
        match rename_to_free(fd.as_fd(), name, &to) {
            Ok(()) => return Ok(Some(path::join(dir, &to))),
            Err(Errno::EXIST) => {}
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => {
                return Err(errno).context(|| format!("cannot rename '{}'", path::display(path)));
            }
        }
    }
    Ok(None)
}

/// Renames what the present left out back to its place, out of a directory that has another name now. Answers with what stays in there,
/// since somebody took the right to look into it.
fn bring_back(root: &Root, unsaved: &Unsaved, from: &[u8], to: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut left = Vec::new();
    for own in unsaved.beneath(from) {
        let there = [to, &own[from.len()..]].concat();
        match rename_with_dirs(root, &there, own) {
            // It went away by itself.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(_) => left.push((own.to_vec(), there)),
        }
    }
    left
}

/// Renames to a name that is free; the directories over it are made as those are that it was in.
fn rename_with_dirs(root: &Root, from: &[u8], to: &[u8]) -> rustix::io::Result<()> {
    let ((from_dir, from_name), (to_dir, to_name)) = (path::split(from), path::split(to));
    let source = root.open_dir(from_dir)?;
    for dir in path::with_parents(to_dir).filter(|dir| !dir.is_empty()) {
        if root.stamp(dir)?.is_some() {
            continue;
        }
        let (above, name) = path::split(dir);
        // As far below the new name of what was moved as this is below the old one.
        let like = &from[..from.len() - (to.len() - dir.len())];
        let Some(like) = root.stamp(like)? else {
            return Err(Errno::NOENT);
        };
        let mode = Mode::from_bits_truncate(like.permissions());
        let above = root.open_dir(above)?;
        let name = OsStr::from_bytes(name);
        rustix::fs::mkdirat(&above, name, Mode::RWXU)?;
        rustix::fs::chmodat(&above, name, mode, AtFlags::empty())?;
    }
    let target = root.open_dir(to_dir)?;
    rustix::fs::renameat_with(
        &source,
        OsStr::from_bytes(from_name),
        &target,
        OsStr::from_bytes(to_name),
        RenameFlags::NOREPLACE,
    )
}
