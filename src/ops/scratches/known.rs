//! The scratches that there are, and those whose makers are dead.

use std::path::PathBuf;

use super::opening::{clear_dead, with_worktrees_held};
use super::scratch::Base;
use super::{MAKER, PURPOSE, Scratch, gone, remove, trash};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{read_optional, resolved};
use crate::git::pinned::{PathOccupant, PinnedDir, occupant};
use crate::ops::Context;
use crate::ops::worktrees::{self, OpenedDir, Worktree, unreadable};
use crate::store::id::SnapshotId;
use crate::store::lock::hold_file_within;

/// Says in the maker's file that all was laid out, so that a run may have been made in it.
pub(super) const LAID: &[u8] = b"laid\n";

/// One that is there.
pub struct KnownScratch {
    /// Where.
    pub dir: PathBuf,
    /// What `tw` wrote about it.
    pub opened: OpenedDir,
    /// How it stands.
    pub state: State,
    worktree: Worktree,
}

/// How a scratch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It stays until it is closed.
    Open,
    /// A run is made in it.
    InUse,
    /// Its maker is dead.
    Left,
    /// Its directory is gone.
    Gone,
    /// Something else is in its place.
    Replaced,
    /// It is there, and git knows nothing of it any more.
    Lost,
}

crate::json::words!(State {
    Open = "open",
    InUse = "in-use",
    Left = "left",
    Gone = "gone",
    Replaced = "replaced",
    Lost = "lost",
});

impl KnownScratch {
    /// What it is for: `open`, or a kind of run.
    pub fn purpose(&self) -> &str {
        let word = self.opened.extra.get(PURPOSE);
        word.and_then(serde_json::Value::as_str).unwrap_or("open")
    }
}

/// All of them, by the names of their worktrees.
///
/// # Errors
/// When the list of worktrees, or what `tw` wrote about one, cannot be read.
pub fn all(ctx: &Context<'_>) -> Result<Vec<KnownScratch>> {
    let mut found = Vec::new();
    for worktree in worktrees::all(&ctx.repo)? {
        let opened = worktrees::opened(&worktree.dir);
        let Some(opened) = opened.map_err(|error| unreadable(&ctx.repo, &worktree, error))? else {
            continue;
        };
        let dir = opened.path();
        let is_run = opened.extra.contains_key(PURPOSE);
        let state = match occupant(&dir, opened.identity) {
            PathOccupant::Gone => State::Gone,
            PathOccupant::Other(_) => State::Replaced,
            PathOccupant::There if !is_run => State::Open,
            PathOccupant::There if is_held(&worktree)? => State::InUse,
            PathOccupant::There => State::Left,
        };
        found.push(KnownScratch {
            dir,
            opened,
            state,
            worktree,
        });
    }
    Ok(found)
}

fn is_held(worktree: &Worktree) -> Result<bool> {
    match hold_file_within(&worktree.dir.file(MAKER), std::time::Duration::ZERO) {
        Ok(_) => Ok(false),
        Err(error) if error.code() == Code::Busy => Ok(true),
        Err(error) => Err(error),
    }
}

/// Saves and removes what a dead maker left. Answers the experiment; None: there was nothing to save.
///
/// # Errors
/// `BUSY` when its maker lives after all; else as [`Scratch::discard`]. It stays then.
pub fn take_away(ctx: &Context<'_>, known: &KnownScratch) -> Result<Option<SnapshotId>> {
    let git_dir = &known.worktree.git_dir;
    let maker = hold_file_within(&known.worktree.dir.file(MAKER), std::time::Duration::ZERO)?;
    let was_laid = read_optional(&known.worktree.dir.file(MAKER))?.is_some_and(|text| text == LAID);
    gone::check_unlocked(git_dir, &known.dir)?;
    let dir = match occupant(&known.dir, known.opened.identity) {
        PathOccupant::Gone => {
            gone::check_not_moved(git_dir, &known.dir)?;
            if was_laid {
                let base = Base::opened(ctx, &known.opened)?;
                gone::check_nothing_made(ctx, (git_dir, &known.dir), &base)?;
            }
            with_worktrees_held(ctx, || remove::metadata(git_dir, maker))?;
            return Ok(None);
        }
        PathOccupant::Other(what) => {
            let message = format!("{what} is in its place, and is left alone");
            return Err(Error::new(Code::Held, message));
        }
        PathOccupant::There => {
            let what = || format!("cannot open '{}'", known.dir.display());
            PinnedDir::open(&known.dir).context(what)?
        }
    };
    if was_laid {
        let there = Context::open(&known.dir, ctx.env, ctx.progress)?;
        // Whoever looks for a repository walks up: without its link the directory would be taken for a part of another one.
        if there.repo.worktree_root() != known.dir || there.repo.git_dir() != git_dir {
            let message = format!("'{}' is not its worktree any more", known.dir.display());
            return Err(
                Error::new(Code::Held, message).hint("'git worktree repair' links it again")
            );
        }
        return Scratch::adopt(ctx, (there, dir), &known.opened, maker)?.discard();
    }
    // No run was ever made in it.
    let trash = trash::throw(&dir)?;
    with_worktrees_held(ctx, || remove::metadata(git_dir, maker))?;
    trash.empty(ctx.env);
    Ok(None)
}

/// Empties the trash of scratches that are gone, and takes back what a death left half made.
///
/// # Errors
/// The disk refuses.
pub fn sweep(ctx: &Context<'_>) -> Result<()> {
    clear_dead(ctx)?;
    let base = super::place::base(ctx)?;
    // A symlink may lead anywhere by now.
    if super::place::check_outside(ctx, &resolved(&base)).is_ok() {
        trash::sweep(&base, ctx.env);
    }
    Ok(())
}
