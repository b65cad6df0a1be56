//! What is in the way of a return and cannot be captured, renamed on request.

use std::os::fd::AsFd;

use rustix::io::Errno;

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{Root, rename_to_free};
use crate::git::path;
use crate::ops::Context;
use crate::ops::capture::Storing;
use crate::ops::outcome::MovedAside;
use crate::ops::swap::goal::Goal;
use crate::ops::swap::prepare;
use crate::store::Store;
use crate::store::state::path_from_stored;

/// No more than this is renamed: something that makes files in the way faster than they are renamed would go on for ever.
const MOST: usize = 1000;

/// Renames what is in the way and cannot be captured. Answers with old and new names.
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
                moved.push((path, to));
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
