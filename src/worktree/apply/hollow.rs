//! Directories that hold nothing but directories, where a file is to stand: those inside ignored ones, which are recorded
//! nowhere. They go; anything else in the way is left for the swap to refuse.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, unlinkat};

use crate::error::{Result, ResultExt};
use crate::git::fs::{Root, stamp_at};
use crate::git::path;

/// Removes a directory and all below it when there is nothing else; otherwise nothing.
///
/// # Errors
/// One of them cannot be read or removed.
pub fn remove(root: &Root, dir: &[u8]) -> Result<()> {
    let Some(dirs) = all_below(root, dir)? else {
        return Ok(());
    };
    // `REMOVEDIR` takes empty ones only: a file that somebody makes in there meanwhile stops it.
    for full in dirs.iter().rev() {
        let (parent, name) = path::split(full);
        let parent = root.open_dir(parent)?;
        unlinkat(&parent, OsStr::from_bytes(name), AtFlags::REMOVEDIR)
            .context(|| format!("cannot remove '{}'", path::display(full)))?;
    }
    Ok(())
}

/// The directory and all below it, parents first; nothing when there is anything but directories.
fn all_below(root: &Root, dir: &[u8]) -> Result<Option<Vec<Vec<u8>>>> {
    let mut dirs = vec![dir.to_vec()];
    let mut at = 0;
    while let Some(full) = dirs.get(at).cloned() {
        at += 1;
        let what = || format!("cannot read '{}'", path::display(&full));
        let fd = root.open_dir_for_reading(&full).context(what)?;
        for entry in Dir::read_from(&fd).context(what)? {
            let entry = entry.context(what)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if !stamp_at(fd.as_fd(), name)?.is_some_and(|stamp| stamp.is_dir()) {
                return Ok(None);
            }
            dirs.push(path::join(&full, name));
        }
    }
    Ok(Some(dirs))
}
