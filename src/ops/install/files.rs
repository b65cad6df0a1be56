//! Files changed whole or not at all, for those who may use them now.

use std::path::Path;

use super::outcome::Installed;
use crate::agents::install::directories;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::Changed;
use crate::git::{create, fs, regular};

/// What a file becomes.
pub enum Change {
    /// It is right.
    None,
    /// It is written.
    Write(String),
    /// It goes.
    Remove,
}

/// Makes a file what it becomes, unless this is a dry run, and notes it. `old` is what it was planned from; None: it was not there.
///
/// # Errors
/// `WOULD_OVERWRITE` when somebody wrote it meanwhile, or is about to: then it stays as it is.
pub fn carry_out(
    path: &Path,
    old: Option<&str>,
    change: Change,
    done: &mut Installed,
) -> Result<()> {
    match change {
        Change::None => done.unchanged.push(path.to_owned()),
        Change::Write(text) => {
            if !done.dry_run {
                write(path, old, (&text, 0o666), done)?;
            }
            done.changed.push(path.to_owned());
        }
        Change::Remove => {
            if !done.dry_run {
                change_known(path, old, None, done)?;
                remove_empty_parents(path);
            }
            done.removed.push(path.to_owned());
        }
    }
    Ok(())
}

/// Takes away what one that was killed left of a file beside it, and the directories that it had made for that.
pub fn clear_after_death(path: &Path) {
    // What cannot be removed is in nobody's way.
    if fs::clear_dead_temps_of(path).unwrap_or_default() {
        remove_empty_parents(path);
    }
}

/// Writes a file, with these permission bits, less the umask's, when it is new. `old` as for [`carry_out`].
///
/// # Errors
/// As [`carry_out`].
pub fn write(path: &Path, old: Option<&str>, new: (&str, u32), done: &mut Installed) -> Result<()> {
    if let Some(dir) = path.parent() {
        create::dirs(dir, 0o777).context(|| format!("cannot create '{}'", dir.display()))?;
    }
    change_known(path, old, Some(new), done)
}

/// Agents and editors write these files, too: what they saved since `old` was read is not ours to replace.
fn change_known(
    path: &Path,
    old: Option<&str>,
    new: Option<(&str, u32)>,
    done: &mut Installed,
) -> Result<()> {
    let new = new.map(|(text, mode)| (text.as_bytes(), mode));
    if let Changed::Made(lost) = fs::change_known(path, old.map(str::as_bytes), new)? {
        if !lost.is_empty() {
            let (path, what) = (path.display(), lost.words());
            done.note(format!("'{path}' could not keep: {what}"));
        }
        return Ok(());
    }
    let why = if regular::open(path).is_ok_and(|file| fs::has_writer(&file)) {
        "is open for writing in another program, which has to close it first, and was left alone"
    } else {
        "was written by somebody else meanwhile and was left alone"
    };
    let message = format!("'{}' {why}", path.display());
    Err(Error::new(Code::WouldOverwrite, message))
}

/// Removes the directories of an agent that only this file was in. The first one that holds anything, or is none of those
/// that we make (the home directory, git's hooks), ends it.
fn remove_empty_parents(path: &Path) {
    for dir in path.ancestors().skip(1) {
        let is_made = |dir: &Path| {
            let name = dir.file_name().and_then(std::ffi::OsStr::to_str);
            name.is_some_and(|name| directories().any(|made| made == name))
        };
        let is_hooks = dir.ends_with("hooks") && dir.parent().is_some_and(is_made);
        if !(is_made(dir) || is_hooks) || std::fs::remove_dir(dir).is_err() {
            break;
        }
    }
}
