//! What a killed `open` leaves: a worktree that git has half made, of which `git fsck` complains.
//!
//! Before git makes the worktree a file in the common `timewarp` directory names the directory, and is held locked until
//! `opened.json` says that the worktree is ours. When nobody holds it although it names one, its `open` is dead: the next one,
//! `close` or `recover` takes back what was made for it.
//!
//! Somebody may make a worktree of their own in that place meanwhile. So ours is locked, as `git worktree lock` does it, with a reason
//! that the file names as well, from before there is anything else of it until it is ours: what has not that reason stays.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::remove;
use crate::error::{Result, ResultExt};
use crate::git::fs::{self, Below};
use crate::git::regular;
use crate::git::repo::{Repo, gitfile_of, gitfile_target};
use crate::ops::Context;
use crate::ops::worktrees::OPENED;
use crate::store::id::Tail;
use crate::store::lock::{HeldFile, hold_file_within};
use crate::store::state::StateDir;

/// In the common `timewarp` directory.
const FILE: &str = "opening";

/// In a worktree's git directory: why it is locked. git writes it first.
pub const LOCKED: &str = "locked";
/// What a git writes there that takes no reason.
const WITHOUT_REASON: &str = "added with --lock";

/// An `open` that is making its worktree.
#[must_use]
pub struct Opening {
    file: HeldFile,
    /// The directory, and which are made to lead there.
    dirs: Vec<PathBuf>,
    mark: String,
}

impl Opening {
    /// Says which directory becomes a worktree, and which are made to lead there. What a dead `open` left goes first.
    ///
    /// # Errors
    /// `BUSY` when another one is at it for too long.
    pub fn begin(ctx: &Context<'_>, dir: &Path, parents: &[PathBuf]) -> Result<Self> {
        let own = StateDir::new(ctx.repo.common_dir());
        own.create()?;
        let mut file = hold_file_within(&own.file(FILE), ctx.settings.lock_timeout)?;
        clear(&ctx.repo, &mut file)?;
        let dirs = std::iter::once(dir).chain(parents.iter().rev().map(PathBuf::as_path));
        let mut opening = Self {
            file,
            dirs: dirs.map(Path::to_owned).collect(),
            mark: String::new(),
        };
        opening.mark_with(format!("being made by tw: {}", Tail::random()?.as_str()))?;
        Ok(opening)
    }

    /// Why the worktree is locked while it is made.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Goes by what a git writes that takes no reason for a lock.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn without_reason(&mut self) -> Result<()> {
        self.mark_with(WITHOUT_REASON.to_owned())
    }

    fn mark_with(&mut self, mark: String) -> Result<()> {
        let dirs = self.dirs.iter().map(|dir| dir.as_os_str().as_bytes());
        // Every directory begins with a slash, and the mark does not.
        let lines: Vec<&[u8]> = dirs.chain([mark.as_bytes()]).collect();
        let text = lines.join(&0);
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(&text)
        };
        write(&mut self.file).context(|| format!("cannot write '{FILE}'"))?;
        self.mark = mark;
        Ok(())
    }

    /// The worktree is ours: from here on it is like any other.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn end(self, git_dir: &Path) -> Result<()> {
        unlock(git_dir, &self.mark)
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

/// Takes back what a dead `open` left. One that is alive is left alone. Names what stays, in sentences for people.
///
/// # Errors
/// The disk refuses.
pub fn clear_dead(ctx: &Context<'_>) -> Result<Vec<String>> {
    let path = StateDir::new(ctx.repo.common_dir()).file(FILE);
    let is_begun = path.metadata().is_ok_and(|meta| meta.len() > 0);
    if !is_begun && !remove::has_removed(ctx.repo.common_dir()) {
        return Ok(Vec::new());
    }
    match hold_file_within(&path, std::time::Duration::ZERO) {
        Ok(mut file) => clear(&ctx.repo, &mut file),
        Err(_) => Ok(Vec::new()),
    }
}

fn clear(repo: &Repo, file: &mut File) -> Result<Vec<String>> {
    remove::clear_removed(repo.common_dir());
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let words = text
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty());
    // One of an earlier version has no mark: nothing in its place is known to be ours.
    let (dirs, marks): (Vec<&[u8]>, Vec<&[u8]>) = words.partition(|word| word.starts_with(b"/"));
    let mark = marks
        .first()
        .and_then(|mark| std::str::from_utf8(mark).ok());
    let mut left = None;
    if let Some((dir, parents)) = dirs.split_first() {
        left = take_back(repo, Path::new(OsStr::from_bytes(dir)), mark)?;
        for parent in parents {
            // Only while there is nothing else in it.
            let _ = std::fs::remove_dir(OsStr::from_bytes(parent));
        }
    }
    file.set_len(0)?;
    file.rewind()?;
    Ok(left.into_iter().collect())
}

/// Removes what git has made of a worktree that is not ours yet. Names one in its place that somebody else has made and that nothing
/// was done in yet.
///
/// # Errors
/// The disk refuses.
pub fn take_back(repo: &Repo, dir: &Path, mark: Option<&str>) -> Result<Option<String>> {
    let worktrees = repo.common_dir().join("worktrees");
    let mut removed = Vec::new();
    let mut left = None;
    for git_dir in fs::entries(&worktrees)? {
        if is_of(&git_dir, dir) {
            // Of what it was about to write when it died.
            fs::clear_dead_temps(&git_dir, Below::Not)?;
        }
        let marked = mark.filter(|mark| is_of(&git_dir, dir) && is_locked_with(&git_dir, mark));
        let is_opened = fs::is_there(&StateDir::new(&git_dir).file(OPENED))?;
        match marked {
            // Its `open` died before it came to that.
            Some(mark) if is_opened => unlock(&git_dir, mark)?,
            Some(_) => {
                remove::metadata(&git_dir, ())?;
                removed.push(git_dir);
            }
            // git died before it wrote anything. While there is something in it this fails, which is right.
            None if is_of(&git_dir, dir) && gitfile_of(&git_dir).is_ok_and(|to| to.is_none()) => {
                let _ = std::fs::remove_dir(&git_dir);
            }
            None if !is_opened
                && is_of(&git_dir, dir)
                && !fs::is_there(&git_dir.join("index"))? =>
            {
                left = Some(format!(
                    "'{}' is a worktree that somebody else made where an 'open' had died: it is left alone",
                    dir.display()
                ));
            }
            None => {}
        }
    }
    // Fails while there are others, which is right.
    let _ = std::fs::remove_dir(&worktrees);
    if is_dead_link(&worktrees, dir, &removed)? {
        std::fs::remove_file(dir.join(".git")).context(|| cannot_write(dir))?;
    }
    fs::clear_dead_temps(dir, Below::Not)?;
    // It was empty or not there, and stays when somebody put something into it.
    let _ = std::fs::remove_dir(dir);
    Ok(left)
}

/// Whether the `.git` of a directory is a file that leads to a worktree of ours that was removed just now; or, where there is nothing
/// else in the directory, to one that is not there.
fn is_dead_link(worktrees: &Path, dir: &Path, removed: &[PathBuf]) -> Result<bool> {
    // Through a symlink it would be somebody else's.
    if !dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return Ok(false);
    }
    let link = dir.join(".git");
    if !link.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return Ok(false);
    }
    let text = regular::read_optional(&link)?.unwrap_or_default();
    let Some(target) = gitfile_target(dir, &text) else {
        return Ok(false);
    };
    let is_alone = fs::entries(dir)? == [link];
    let is_gone = target.parent() == Some(worktrees) && !fs::is_there(&target)?;
    Ok(removed.contains(&target) || (is_gone && is_alone))
}

/// Whether a worktree's git directory is locked for this reason.
pub(super) fn is_locked_with(git_dir: &Path, mark: &str) -> bool {
    // What cannot be read is not known to be ours.
    let text = regular::read(git_dir.join(LOCKED)).unwrap_or_default();
    text.trim_ascii_end() == mark.as_bytes()
}

fn unlock(git_dir: &Path, mark: &str) -> Result<()> {
    if is_locked_with(git_dir, mark) {
        fs::remove_optional(&git_dir.join(LOCKED))?;
    }
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
