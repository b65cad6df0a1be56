//! What a swap says where something that cannot be captured is in its way: what, why, and the ways out.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::goal::Goal;
use crate::error::{Code, Error, Result};
use crate::git::access::may_change;
use crate::git::path;
use crate::git::tree::DIR_MODE;
use crate::ops::Context;
use crate::ops::uncapturable::{Uncapturable, Why, make_only_dir_own, make_own};
use crate::store::state::stored_path;
use crate::store::trigger::SwapKind;
use crate::text::{listed, typed_path};
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::plan::Plan;

/// The detail of a refusal: what is in the way, each path as a record has it.
pub const RAW_PATHS: &str = "raw_paths";
/// The detail of a refusal: the directory of git's own that is in the way.
pub const GIT_DIRECTORY: &str = "git_directory";

/// The error of what is in the way and cannot be captured.
pub(super) fn would_overwrite(
    ctx: &Context<'_>,
    goal: &Goal<'_>,
    refused: &[Uncapturable],
) -> Error {
    let shown = refused.iter().map(Uncapturable::to_string);
    let paths: Vec<&[u8]> = refused.iter().map(|at| at.path.as_slice()).collect();
    let first = |why: Why| refused.iter().find(|at| at.why == why);
    let theirs = Why::OfAnotherUser;
    let inside = Why::InAnothersDirectory;
    let what = if refused.iter().all(|at| [theirs, inside].contains(&at.why)) {
        "change what belongs to another user"
    } else {
        "overwrite what cannot be captured"
    };
    let mut error = Error::new(
        Code::WouldOverwrite,
        format!("{} would {what}: {}", goal.operation, listed(shown, 5)),
    )
    .paths("paths", &paths)
    .detail(
        RAW_PATHS,
        refused
            .iter()
            .map(|at| stored_path(&at.path))
            .collect::<Vec<_>>(),
    );
    if first(Why::IgnoredInThePresent).is_some() {
        error = error.hint("run 'tw return' first: from the present these are saved, too");
    }
    if let Some(git) = first(Why::Kind(Kind::GitDirectory)) {
        return of_git_itself(error, goal, &git.path);
    }
    for hint in goal.hints {
        error = error.hint(*hint);
    }
    for (why, hint) in WAYS_OUT {
        if first(why).is_some() {
            error = error.hint(hint);
        }
    }
    let there = |at: &Uncapturable| {
        let root = ctx.repo.worktree_root();
        root.join(OsStr::from_bytes(&at.path))
    };
    if let Some(closed) = first(Why::Kind(Kind::Unreadable)) {
        let there = typed_path(&there(closed));
        error = error.hint(format!("or let tw look into it: chmod u+rwX {there}"));
    }
    if let Some(closed) = first(theirs) {
        let command = make_own(&there(closed));
        error = error.hint(format!("or make it your own: {command}"));
    }
    if let Some(inside) = first(inside) {
        let command = make_only_dir_own(&nearest_dir(ctx, &inside.path));
        error = error.hint(format!("make the directory your own: {command}"));
    }
    error
}

/// The innermost directory over a path that is there.
fn nearest_dir(ctx: &Context<'_>, full: &[u8]) -> PathBuf {
    let root = ctx.repo.worktree_root();
    let mut at = path::split(full).0;
    while !at.is_empty() && !root.join(OsStr::from_bytes(at)).is_dir() {
        at = path::split(at).0;
    }
    match at {
        b"" => root.to_owned(),
        _ => root.join(OsStr::from_bytes(at)),
    }
}

/// Refuses a swap that puts files into a directory of another user that lets in more than the side had it for: only its owner can close
/// it. The present comes back all the same, and so does what was taken away: that it stays open is told.
///
/// # Errors
/// `IO`, naming the directory.
pub(super) fn refuse_to_lay_open(
    ctx: &Context<'_>,
    goal: &Goal<'_>,
    manifest: &Manifest,
    plan: &Plan,
) -> Result<()> {
    /// Whose bits let the group and others through to what is in it.
    const THROUGH: u32 = 0o011;
    if goal.ends_stay() || goal.takes_paths_back() {
        return Ok(());
    }
    let put = plan.entries.iter().filter(|entry| entry.after.is_some());
    let dirs: BTreeSet<&[u8]> = put.map(|entry| path::split(&entry.path).0).collect();
    let opener = |dir: &&'_ [u8]| -> Option<Vec<u8>> {
        let over: Vec<&[u8]> = path::with_parents(dir).collect();
        // The innermost first.
        for at in over.into_iter().rev().filter(|at| !at.is_empty()) {
            let wanted = goal.aim.extras().permissions(at, DIR_MODE);
            let there = manifest.dir_on_disk(at).map(|found| found.stamp);
            match there.filter(|there| !may_change(there.uid)) {
                Some(there) if there.permissions() & !wanted & THROUGH != 0 => {
                    return Some(at.to_vec());
                }
                // Nobody gets through this one.
                None if wanted & THROUGH == 0 => return None,
                _ => {}
            }
        }
        None
    };
    let Some(dir) = dirs.iter().find_map(opener) else {
        return Ok(());
    };
    let there = ctx.repo.worktree_root().join(OsStr::from_bytes(&dir));
    let message = format!(
        "'{}' belongs to another user and is more open than the directory that comes back: what is put in it would be exposed",
        path::display(&dir)
    );
    Err(Error::new(Code::Io, message).hint(format!(
        "move it away, or make it your own: {}",
        make_own(&there)
    )))
}

/// What can be done about the reasons for which something is refused.
const WAYS_OUT: [(Why, &str); 3] = [
    (
        Why::Kind(Kind::UserExclude),
        "your own 'exclude' keeps them from being captured: 'tw config exclude' shows it, 'tw config --unset exclude' takes it away",
    ),
    (
        Why::ComesAndGoes,
        "another program makes and removes it: stop that and try again",
    ),
    (
        Why::SameButForCase,
        "this file system ignores case in names: rename one of them",
    ),
];

/// The error where a directory of git's own is in the way, which is nothing to be moved away.
fn of_git_itself(error: Error, goal: &Goal<'_>, path: &[u8]) -> Error {
    let way_out = if goal.operation == SwapKind::Return {
        "name it to 'tw return --keep PATH'"
    } else {
        "take the snapshot elsewhere with 'tw open', or name other paths to 'tw restore SNAPSHOT PATH...'"
    };
    error.detail(GIT_DIRECTORY, stored_path(path)).hint(format!(
        "'{}' belongs to git itself and stays: {way_out}",
        path::display(path),
    ))
}
