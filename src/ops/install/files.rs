//! Files changed whole or not at all, with the permission bits that they have.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::outcome::Installed;
use crate::agents::install::directories;
use crate::error::{Result, ResultExt};
use crate::git::create;
use crate::git::fs::{self, Durable};

/// What a file becomes.
pub enum Change {
    /// It is right.
    None,
    /// It is written.
    Write(String),
    /// It goes.
    Remove,
}

/// Makes a file what it becomes, unless this is a dry run, and notes it.
pub fn carry_out(path: &Path, change: Change, done: &mut Installed) -> Result<()> {
    let what = || format!("cannot change '{}'", path.display());
    match change {
        Change::None => done.unchanged.push(path.to_owned()),
        Change::Write(text) => {
            if !done.dry_run {
                write(path, &text, 0o644)?;
            }
            done.changed.push(path.to_owned());
        }
        Change::Remove => {
            if !done.dry_run {
                std::fs::remove_file(path).context(what)?;
                remove_empty_parents(path);
            }
            done.removed.push(path.to_owned());
        }
    }
    Ok(())
}

/// Writes a file with the bits that it has, or `mode` when it is new.
pub fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    if let Some(dir) = path.parent() {
        create::dirs(dir, 0o777).context(|| format!("cannot create '{}'", dir.display()))?;
    }
    let mode = path.metadata().map_or(mode, |meta| meta.mode() & 0o7777);
    fs::write_atomic_with_mode(path, text.as_bytes(), Durable::Yes, mode)
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
