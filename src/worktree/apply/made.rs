//! What was put where nothing was, so that a layout that fails takes away that and nothing else.
//!
//! Promises: what goes is the very file that was made, as it was made; somebody else's at its path stays, whatever is in it, and so does
//! one that somebody wrote into. A directory goes when nothing is in it. What cannot be looked at stays.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, PoisonError};

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::{content_oid, set_permissions};
use crate::git::Oid;
use crate::git::fs::{Root, Stamp, stamp_at, stamp_of};
use crate::git::path;

/// Files and directories that were made. Threads add to it.
#[derive(Debug, Default)]
pub struct MadePaths(Mutex<Made>);

#[derive(Debug, Default)]
struct Made {
    files: Vec<(Vec<u8>, Stamp, Option<Oid>)>,
    dirs: BTreeSet<Vec<u8>>,
}

impl MadePaths {
    /// A file or symlink with the content of this blob.
    pub fn add(&self, full: &[u8], stamp: Stamp, blob: Oid) {
        self.note(|made| made.files.push((full.to_vec(), stamp, Some(blob))));
    }

    /// One that is known by its stamp alone.
    pub fn add_copy(&self, full: &[u8], stamp: Stamp) {
        self.note(|made| made.files.push((full.to_vec(), stamp, None)));
    }

    /// A directory.
    pub fn add_dir(&self, full: &[u8]) {
        self.note(|made| made.dirs.extend([full.to_vec()]));
    }

    fn note(&self, note: impl FnOnce(&mut Made)) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes away what was made below `root`.
    pub fn take_back(&self, root: &Root) {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Made { files, dirs } = std::mem::take(&mut *made);
        drop(made);
        for (full, stamp, blob) in &files {
            let (above, name) = path::split(full);
            if let Ok(dir) = root.open_dir(above)
                && is_still(dir.as_fd(), name, (stamp, *blob))
            {
                unlink(root, (above, dirs.contains(above)), name, AtFlags::empty());
            }
        }
        // What is in a directory comes after it.
        for full in dirs.iter().rev() {
            let (above, name) = path::split(full);
            unlink(
                root,
                (above, dirs.contains(above)),
                name,
                AtFlags::REMOVEDIR,
            );
        }
    }
}

/// Whether what has this name is the file that was made, with what was written into it.
fn is_still(dir: BorrowedFd<'_>, name: &[u8], (made, blob): (&Stamp, Option<Oid>)) -> bool {
    let Ok(Some(now)) = stamp_at(dir, name) else {
        return false;
    };
    let kind = |stamp: &Stamp| stamp.mode & 0o170_000;
    if now.ino != made.ino || kind(&now) != kind(made) || now.size != made.size {
        return false;
    }
    match blob {
        // Times may have been set since.
        Some(blob) => {
            matches!(content_oid(blob.format(), dir, name, &now), Ok(Some(oid)) if oid == blob)
        }
        None => now.mtime == made.mtime,
    }
}

/// Unlinks what can be. A directory that was made, and is read-only to its owner, is made writable for it.
fn unlink(root: &Root, (above, is_ours): (&[u8], bool), name: &[u8], flags: AtFlags) {
    let Ok(dir) = root.open_dir(above) else {
        return;
    };
    let attempt = || rustix::fs::unlinkat(&dir, OsStr::from_bytes(name), flags);
    if attempt() == Err(Errno::ACCESS)
        && is_ours
        && let Ok(stamp) = stamp_of(dir.as_fd())
        && set_permissions(root, above, stamp.permissions() | 0o700).is_ok()
    {
        let _ = attempt();
    }
}
