//! What a killed `open` leaves: a worktree that git has half made, of which `git fsck` complains.
//!
//! Before git makes the worktree a file in the common `timewarp` directory names the directory, and is held locked until
//! `opened.json` says that the worktree is ours. When nobody holds it although it names one, its `open` is dead: the next one,
//! `close` or `recover` takes back what was made for it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Result, ResultExt};
use crate::git::fs;
use crate::git::repo::{Repo, gitfile_of};
use crate::ops::Context;
use crate::ops::worktrees::{OPENED, linked_git_dir};
use crate::store::lock::{HeldFile, hold_file_within};
use crate::store::state::StateDir;

/// In the common `timewarp` directory.
const FILE: &str = "opening";

/// An `open` that is making its worktree.
#[must_use]
pub struct Opening {
    file: HeldFile,
}

impl Opening {
    /// Says which directory becomes a worktree, and which are made to lead there. What a dead `open` left goes first.
    ///
    /// # Errors
    /// `BUSY` when another one is at it for too long.
    pub fn begin(ctx: &Context<'_>, dir: &Path, parents: &[PathBuf]) -> Result<Self> {
        let own = StateDir::new(ctx.repo.common_dir());
        own.create()?;
        let path = own.file(FILE);
        let mut file = hold_file_within(&path, ctx.settings.lock_timeout)?;
        clear(&ctx.repo, &mut file)?;
        let lines = std::iter::once(dir).chain(parents.iter().rev().map(PathBuf::as_path));
        let lines: Vec<&[u8]> = lines.map(|dir| dir.as_os_str().as_bytes()).collect();
        file.write_all(&lines.join(&0))
            .context(|| cannot_write(&path))?;
        Ok(Self { file })
    }
}

impl Drop for Opening {
    /// The worktree is made, or taken back: only a death leaves the directory named.
    fn drop(&mut self) {
        // What stays named is looked at again, and left alone once it is ours.
        let _ = self.file.set_len(0);
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write '{}'", path.display())
}

/// Takes back what a dead `open` left. One that is alive is left alone.
///
/// # Errors
/// The disk refuses.
pub fn clear_dead(ctx: &Context<'_>) -> Result<()> {
    let path = StateDir::new(ctx.repo.common_dir()).file(FILE);
    if !path.metadata().is_ok_and(|meta| meta.len() > 0) {
        return Ok(());
    }
    match hold_file_within(&path, std::time::Duration::ZERO) {
        Ok(mut file) => clear(&ctx.repo, &mut file),
        Err(_) => Ok(()),
    }
}

fn clear(repo: &Repo, file: &mut File) -> Result<()> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let mut dirs = text.split(|byte| *byte == 0).filter(|dir| !dir.is_empty());
    if let Some(dir) = dirs.next() {
        take_back(repo, Path::new(OsStr::from_bytes(dir)))?;
        for parent in dirs {
            // Only while there is nothing else in it.
            let _ = std::fs::remove_dir(OsStr::from_bytes(parent));
        }
    }
    file.set_len(0)?;
    Ok(file.rewind()?)
}

/// Removes what git has made of a worktree that is not ours yet.
///
/// # Errors
/// The disk refuses.
pub fn take_back(repo: &Repo, dir: &Path) -> Result<()> {
    let worktrees = repo.common_dir().join("worktrees");
    for git_dir in fs::entries(&worktrees)? {
        // One with an index is somebody's: ours gets its own when it is opened.
        let is_ours = fs::is_there(&StateDir::new(&git_dir).file(OPENED))?;
        if !is_ours && !fs::is_there(&git_dir.join("index"))? && is_of(&git_dir, dir) {
            let what = || format!("cannot remove '{}'", git_dir.display());
            std::fs::remove_dir_all(&git_dir).context(what)?;
        }
    }
    // Fails while there are others, which is right.
    let _ = std::fs::remove_dir(&worktrees);
    // Through a symlink it would be somebody else's.
    let is_dir = dir.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    if is_dir && dir.join(".git").is_file() && linked_git_dir(repo, dir).is_none() {
        std::fs::remove_file(dir.join(".git")).context(|| cannot_write(dir))?;
    }
    // It was empty or not there, and stays when somebody put something into it.
    let _ = std::fs::remove_dir(dir);
    Ok(())
}

/// Whether a worktree's git directory was made for this one: it links back to it, or git was stopped before it said so.
fn is_of(git_dir: &Path, dir: &Path) -> bool {
    if let Ok(Some(named)) = gitfile_of(git_dir) {
        return named == dir.join(".git");
    }
    let (made, wanted) = (git_dir.file_name(), dir.file_name());
    made.zip(wanted)
        .is_some_and(|(made, wanted)| made.as_bytes().starts_with(wanted.as_bytes()))
}

/// Does something with the repository's list of worktrees while no scratch is made or taken away: git reads all of them, and
/// fails at one that is half there.
///
/// # Errors
/// As `work`; `BUSY` when others are at it for too long.
pub fn with_worktrees_held<R>(ctx: &Context<'_>, work: impl FnOnce() -> Result<R>) -> Result<R> {
    let own = StateDir::new(ctx.repo.common_dir());
    let mut file = hold_file_within(&own.file(FILE), ctx.settings.lock_timeout)?;
    clear(&ctx.repo, &mut file)?;
    work()
}
