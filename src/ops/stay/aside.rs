//! What is in the way of a return and cannot be captured, renamed on request.

use std::os::fd::AsFd;

use crate::error::{Code, Result, ResultExt};
use crate::git::fs::{Root, rename_to_free};
use crate::git::path;
use crate::ops::Context;
use crate::ops::capture::Storing;
use crate::ops::swap::goal::Goal;
use crate::ops::swap::prepare;
use crate::store::Store;
use crate::store::state::path_from_stored;

/// Renames what is in the way and cannot be captured.
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
    loop {
        let error = match prepare(ctx, store, goal, &Storing::No) {
            Ok(_) => return Ok(moved),
            Err(error) if error.code() == Code::WouldOverwrite => error,
            Err(error) => return Err(error),
        };
        let paths = error.details().iter().find(|(name, _)| name == "raw_paths");
        let paths: Vec<Vec<u8>> = paths
            .and_then(|(_, value)| serde_json::from_value::<Vec<String>>(value.clone()).ok())
            .map(|list| {
                list.iter()
                    .filter_map(|stored| path_from_stored(stored))
                    .collect()
            })
            .unwrap_or_default();
        // What is git's own is moved by nobody but its owner.
        let git_s = error
            .details()
            .iter()
            .any(|(name, _)| name == "git_directory");
        if paths.is_empty() || git_s || moved.len() > 1000 {
            return Err(error);
        }
        let before = moved.len();
        let root = Root::open(ctx.repo.worktree_root())?;
        for path in paths {
            let (dir, name) = path::split(&path);
            let fd = root.open_dir(dir)?;
            let mut to = [name, b".tw-past-", tail.as_bytes()].concat();
            let base = to.clone();
            for nth in 2.. {
                match rename_to_free(fd.as_fd(), name, &to) {
                    Ok(()) => {
                        moved.push((path.clone(), path::join(dir, &to)));
                        break;
                    }
                    Err(rustix::io::Errno::EXIST) => {
                        to = [&base[..], format!("-{nth}").as_bytes()].concat();
                    }
                    // It went away by itself.
                    Err(rustix::io::Errno::NOENT) => break,
                    Err(errno) => {
                        return Err(errno)
                            .context(|| format!("cannot rename '{}'", path::display(&path)));
                    }
                }
            }
        }
        if moved.len() == before {
            return Err(error);
        }
    }
}
