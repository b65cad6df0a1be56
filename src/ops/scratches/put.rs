//! Files of a scratch in another version.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::layout::write;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::Root;
use crate::git::path;
use crate::git::tree::{DIR_MODE, LINK_MODE, Node};
use crate::ops::Context;
use crate::ops::swap::notices::lost_notices;
use crate::worktree::apply::hollow;
use crate::worktree::apply::made::MadePaths;
use crate::worktree::plan::{DirChange, Extras, Plan, PlanEntry, Side};

/// Makes paths below `root`, which are sorted, what these nodes are, and directories, with the permission bits and the access that `side` has of
/// them and of the directories over them that are not there. Answers what is to be said of access that could not be given.
///
/// # Errors
/// The disk refuses, there is a directory with files in the place of one, or a node is a directory or a submodule.
pub fn put(
    there: &Context<'_>,
    root: &Root,
    nodes: &[(&[u8], Node)],
    dirs: &[&[u8]],
    side: &Extras,
) -> Result<Vec<String>> {
    if nodes.is_empty() && dirs.is_empty() {
        return Ok(Vec::new());
    }
    let mut plan = Plan::default();
    for (full, node) in nodes {
        let perm = match node.mode {
            LINK_MODE => 0,
            mode @ (0o100_644 | 0o100_755) => side.permissions(full, mode),
            _ => {
                let message = format!("'{}' is not a file", path::display(full));
                return Err(Error::new(Code::Usage, message));
            }
        };
        make_room(root, full)?;
        plan.entries.push(PlanEntry {
            path: full.to_vec(),
            before: None,
            after: Some(Side { node: *node, perm }),
        });
    }
    let mut missing = BTreeSet::new();
    let over = nodes.iter().map(|(full, _)| path::split(full).0);
    for dir in over
        .chain(dirs.iter().copied())
        .flat_map(path::with_parents)
    {
        match root.open_dir(dir) {
            Err(Errno::NOENT) => drop(missing.insert(dir)),
            other => drop(other.context(|| cannot_write(dir))?),
        }
    }
    let made = missing.into_iter().map(|dir| DirChange {
        path: dir.to_vec(),
        before: None,
        after: Some(side.permissions(dir, DIR_MODE)),
    });
    plan.dirs = made.collect();
    // Whatever of the access cannot be given: nobody else gets at them.
    let made = MadePaths::default();
    let applied = write(there, (there.store()?, root), "put", (&plan, side), &made)?;
    Ok(lost_notices(&applied))
}

/// Takes a file below `root` away, where it is there.
///
/// # Errors
/// The disk refuses, or it is a directory.
pub fn take_away(root: &Root, full: &[u8]) -> Result<()> {
    let (dir, name) = path::split(full);
    let gone = root
        .open_dir(dir)
        .and_then(|dir| rustix::fs::unlinkat(&dir, OsStr::from_bytes(name), AtFlags::empty()));
    match gone {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno).context(|| cannot_write(full)),
    }
}

/// Takes away what is in the place of a file that comes: another one, or directories in which there is no file.
fn make_room(root: &Root, full: &[u8]) -> Result<()> {
    let there = root.stamp(full).context(|| cannot_write(full))?;
    if there.is_some_and(|there| there.is_dir()) {
        hollow::remove(root, full)?;
    }
    take_away(root, full)
}

fn cannot_write(full: &[u8]) -> String {
    format!("cannot write '{}'", path::display(full))
}

/// Removes the directories over a path in which nothing is, up to the first for which `stays` holds.
pub fn remove_empty_over(
    root: &Root,
    full: &[u8],
    stays: &dyn Fn(&[u8]) -> Result<bool>,
) -> Result<()> {
    let mut at = path::split(full).0;
    while !at.is_empty() && !stays(at)? {
        let (above, name) = path::split(at);
        let gone = root.open_dir(above).and_then(|dir| {
            rustix::fs::unlinkat(&dir, OsStr::from_bytes(name), AtFlags::REMOVEDIR)
        });
        if gone.is_err() {
            // Something is in it.
            break;
        }
        at = above;
    }
    Ok(())
}
