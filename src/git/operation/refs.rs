//! `refs/bisect/*` and `refs/rewritten/*` of one worktree.
//!
//! git keeps these loose, in the worktree's own git directory, and never packs them. They are written without git's
//! ref locks: whoever moves them needs HEAD and the index too, which the caller has locked.

use std::collections::HashSet;
use std::os::fd::OwnedFd;

use crate::git::Oid;

use super::files::{self, Entry};
use super::names::REF_DIRS;
use super::{OperationState, is_known_ref};
use crate::error::{Code, Result};
use crate::git::repo::SharedRepository;

/// How deep a ref's directories are looked into. git's own labels have two components.
const MAX_DEPTH: usize = 32;

/// Adds the worktree's refs to `state`.
pub(super) fn read(git_dir: &OwnedFd, state: &mut OperationState) -> Result<()> {
    let Some(refs) = files::open_dir(git_dir, "refs")? else {
        return Ok(());
    };
    for name in REF_DIRS {
        if let Some(dir) = files::open_dir(&refs, name)? {
            read_dir(&dir, &format!("refs/{name}"), 0, state)?;
        }
    }
    Ok(())
}

fn read_dir(dir: &OwnedFd, prefix: &str, depth: usize, state: &mut OperationState) -> Result<()> {
    for name in files::list(dir)? {
        let full = format!("{prefix}/{name}");
        if let Some(inner) = files::open_dir(dir, &name)? {
            if depth < MAX_DEPTH {
                read_dir(&inner, &full, depth + 1, state)?;
            }
        } else if is_known_ref(&full) {
            match files::read_entry(dir, &name)? {
                Entry::Regular(content, _) => match parse(&content) {
                    Some(oid) => state.refs.push((full, oid)),
                    None => state.unknown.push(full),
                },
                Entry::Other => state.unknown.push(full),
                Entry::Missing => {}
            }
        }
    }
    Ok(())
}

fn parse(content: &[u8]) -> Option<Oid> {
    Oid::from_hex_bytes(content.trim_ascii_end()).ok()
}

/// Makes the worktree's refs be exactly `wanted`. What is no plain ref stays.
pub(super) fn restore(
    git_dir: &OwnedFd,
    wanted: &[(String, Oid)],
    sharing: SharedRepository,
) -> Result<()> {
    let mut present = OperationState::default();
    read(git_dir, &mut present)?;
    let names: HashSet<&str> = wanted.iter().map(|(name, _)| name.as_str()).collect();
    // Removals first: `x` may have to make room for `x/y`.
    for (name, _) in present.refs {
        if !names.contains(name.as_str()) {
            delete(git_dir, &name)?;
        }
    }
    prune(git_dir)?;
    for (name, oid) in wanted {
        write(git_dir, name, *oid, sharing)?;
    }
    Ok(())
}

fn delete(git_dir: &OwnedFd, name: &str) -> Result<()> {
    let (dirs, last) = name.rsplit_once('/').unwrap_or(("", name));
    let mut dir = git_dir.try_clone()?;
    for part in dirs.split('/') {
        match files::open_dir(&dir, part)? {
            Some(next) => dir = next,
            None => return Ok(()),
        }
    }
    files::remove(&dir, last)
}

fn write(git_dir: &OwnedFd, name: &str, oid: Oid, sharing: SharedRepository) -> Result<()> {
    let mut dir = git_dir.try_clone()?;
    let mut start = 0;
    for (end, _) in name.match_indices('/') {
        dir = files::make_dir(&dir, &name[start..end], sharing).map_err(|error| {
            match error.code() {
                Code::WouldOverwrite => files::in_the_way(&name[..end]),
                _ => error,
            }
        })?;
        start = end + 1;
    }
    let last = &name[start..];
    let line = format!("{oid}\n");
    files::write((git_dir, &dir), last, line.as_bytes(), 0, sharing)
}

/// Removes directories that hold nothing, `refs` itself not.
fn prune(git_dir: &OwnedFd) -> Result<()> {
    let Some(refs) = files::open_dir(git_dir, "refs")? else {
        return Ok(());
    };
    for name in REF_DIRS {
        prune_dir(&refs, name, 0)?;
    }
    Ok(())
}

fn prune_dir(parent: &OwnedFd, name: &str, depth: usize) -> Result<()> {
    let Some(dir) = files::open_dir(parent, name)? else {
        return Ok(());
    };
    if depth < MAX_DEPTH {
        for inner in files::list(&dir)? {
            prune_dir(&dir, &inner, depth + 1)?;
        }
    }
    files::remove_dir(parent, name)
}
