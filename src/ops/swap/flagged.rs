//! What nobody may change, not even root, as it is immutable, append-only or mounted read-only: bits and owners do not explain why the
//! system refuses. Where the plan has to change the names in such a directory, or git's index is such a file, the swap is refused before
//! anything is written: half-way, the way back would be closed as well.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::goal::Goal;
use crate::error::{Error, Result, ResultExt};
use crate::git::access::{Access, may_change};
use crate::git::fixed::{Fixed, is_flagged};
use crate::git::fs::Root;
use crate::git::path;
use crate::ops::Context;
use crate::store::trigger::SwapKind;
use crate::text::typed_path;
use crate::worktree::apply::Granted;
use crate::worktree::plan::{DirChange, Plan};

/// Adds to the error of a swap that was refused something the command that lets these paths be changed: of those that are immutable or
/// append-only (`chattr(1)`), or in a directory that is; git's index counts as one.
pub(super) fn name_the_way(error: Error, ctx: &Context<'_>, paths: &[Vec<u8>]) -> Error {
    if !error.is_refusal() {
        return error;
    }
    let Ok(root) = Root::open(ctx.repo.worktree_root()) else {
        return error;
    };
    let dirs = paths.iter();
    let dirs = dirs.map(|full| nearest(&root, path::split(full).0));
    let all: BTreeSet<&[u8]> = paths.iter().map(Vec::as_slice).chain(dirs).collect();
    let mut found: Vec<PathBuf> = all
        .into_iter()
        .filter(|full| is_flagged_in(&root, full))
        .map(|full| there(&root, full))
        .collect();
    found.extend(flagged_index(ctx));
    if found.is_empty() {
        return error;
    }
    error.hint(unflag(&found))
}

fn unflag(paths: &[PathBuf]) -> String {
    let words: Vec<String> = paths.iter().map(|path| typed_path(path)).collect();
    format!(
        "the file system lets nobody change them; as root: chattr -i -a -- {}",
        words.join(" ")
    )
}

fn there(root: &Root, full: &[u8]) -> PathBuf {
    match full {
        b"" => root.path().to_owned(),
        _ => root.path().join(OsStr::from_bytes(full)),
    }
}

pub(super) fn is_flagged_in(root: &Root, full: &[u8]) -> bool {
    let (dir, name) = path::split(full);
    root.open_dir(dir).is_ok_and(|dir| is_flagged(dir, name))
}

/// Git's index, or the directory it is in, when nobody may replace it.
pub(super) fn flagged_index(ctx: &Context<'_>) -> Option<PathBuf> {
    let index = ctx.repo.index_path();
    let dir = index.parent()?;
    let fd = crate::git::fs::open_dir(dir).ok()?;
    if is_flagged(&fd, b"") {
        return Some(dir.to_owned());
    }
    let name = index.file_name()?;
    is_flagged(&fd, name.as_bytes()).then(|| index.clone())
}

/// Refuses a swap that would have to change the names in a directory in which nobody may. A recovery goes as far as it gets.
///
/// # Errors
/// `IO`, naming the first directory, with the command for all of them.
pub(super) fn refuse_fixed(
    ctx: &Context<'_>,
    root: &Root,
    goal: &Goal<'_>,
    plan: &Plan,
) -> Result<()> {
    if goal.operation == SwapKind::Recover {
        return Ok(());
    }
    // The way back from a trip gives the index back, also of one that is of files alone.
    let needs_index = goal.git.swaps_index() || goal.operation == SwapKind::Travel;
    if let Some(index) = flagged_index(ctx).filter(|_| needs_index) {
        return Err(not_permitted(&index, std::slice::from_ref(&index)));
    }
    let mut flagged = Vec::new();
    for dir in dirs_of(root, plan, Granted::by(goal.aim.extras(), plan)) {
        match root.open_dir(dir).ok().and_then(Fixed::of) {
            Some(Fixed::Flagged) => flagged.push(there(root, dir)),
            Some(Fixed::ReadOnly) => {
                let what = || format!("cannot write in '{}'", there(root, dir).display());
                return Err(Errno::ROFS).context(what);
            }
            None => {}
        }
    }
    match flagged.first() {
        Some(first) => Err(not_permitted(first, &flagged)),
        None => Ok(()),
    }
}

fn not_permitted(first: &Path, all: &[PathBuf]) -> Error {
    let error: Error = std::io::Error::from(Errno::PERM).into();
    error
        .while_doing(format!("cannot change '{}'", first.display()))
        .hint(unflag(all))
        .hint("nothing was changed")
}

/// The directories that are there in which the plan changes names, and those that it gives other bits or another access.
fn dirs_of<'p>(root: &Root, plan: &'p Plan, access: Granted<'_>) -> BTreeSet<&'p [u8]> {
    let entries = plan.entries.iter().map(|entry| path::split(&entry.path).0);
    let dirs = plan.dirs.iter();
    let dirs = dirs.filter_map(|dir| changed_by(root, dir, (plan, access)));
    let named: BTreeSet<&[u8]> = entries.chain(dirs).collect();
    named.into_iter().map(|dir| nearest(root, dir)).collect()
}

/// The directory that has to let itself be changed for a change of a directory: the one that it is in, where it is made or removed; itself,
/// where it stays. None where it only is open while names in it change: those tell of it.
pub(super) fn changed_by<'p>(
    root: &Root,
    dir: &'p DirChange,
    (plan, access): (&Plan, Granted<'_>),
) -> Option<&'p [u8]> {
    let (Some(before), Some(after)) = (dir.before, dir.after) else {
        return Some(path::split(&dir.path).0);
    };
    let is_recorded = !plan.unrecorded.contains(&dir.path);
    let is_changed = before != after || is_recorded && gets_other_access(root, &dir.path, access);
    is_changed.then_some(&dir.path)
}

fn gets_other_access(root: &Root, full: &[u8], access: Granted<'_>) -> bool {
    let (over, name) = path::split(full);
    let now = || Access::at(root.open_dir(over).ok()?.as_fd(), name).ok()?;
    let wanted = access.of(full);
    let differs =
        |wanted: &Access| now().is_some_and(|(now, _)| !wanted.is_as(&now) && may_change(now.uid));
    wanted.is_some_and(|wanted| differs(&wanted))
}

/// A directory, or the innermost one over it that is there: one that is yet to be made is made in that.
pub(super) fn nearest<'p>(root: &Root, dir: &'p [u8]) -> &'p [u8] {
    let mut at = dir;
    while !at.is_empty() && root.open_dir(at).is_err() {
        at = path::split(at).0;
    }
    at
}
