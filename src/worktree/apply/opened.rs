//! The directories that a swap works in: the last one is kept open, and closed ones are opened up for as long as it takes.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;

use super::set_permissions;
use crate::error::Result;
use crate::git::access::Lost;
use crate::git::fs::{Root, stamp_of};
use crate::git::path;

/// Directories opened during one swap: the last one is kept open, and those that were made writable are remembered.
#[derive(Default)]
pub(super) struct OpenedDirs {
    last: Option<(Vec<u8>, std::rc::Rc<OwnedFd>)>,
    opened_up: Vec<(Vec<u8>, u32)>,
}

impl OpenedDirs {
    /// Opens a directory, or gives it again.
    pub(super) fn dir(
        &mut self,
        root: &Root,
        full: &[u8],
    ) -> rustix::io::Result<std::rc::Rc<OwnedFd>> {
        if let Some((path, fd)) = &self.last
            && path == full
        {
            return Ok(fd.clone());
        }
        let fd = std::rc::Rc::new(root.open_dir(full)?);
        self.last = Some((full.to_vec(), fd.clone()));
        Ok(fd)
    }

    /// The directory is gone, and all in it.
    pub(super) fn forget(&mut self, full: &[u8]) {
        if self
            .last
            .as_ref()
            .is_some_and(|(path, _)| path::is_within(path, full))
        {
            self.last = None;
        }
        self.opened_up.retain(|(path, _)| path != full);
    }

    /// Tries, and when the directory is read-only to its owner, makes it writable until [`OpenedDirs::close`].
    pub(super) fn with_write_access<T>(
        &mut self,
        root: &Root,
        full: &[u8],
        mut attempt: impl FnMut() -> rustix::io::Result<T>,
    ) -> rustix::io::Result<T> {
        match attempt() {
            // Tried first: asking for the bits of every directory would cost a call each, and nearly all are writable.
            Err(Errno::ACCESS) => {}
            other => return other,
        }
        self.open_up(root, full)?;
        attempt()
    }

    /// Makes a directory writable until [`OpenedDirs::close`].
    ///
    /// # Errors
    /// `ACCESS` when it is so already, or its bits cannot be changed.
    pub(super) fn open_up(&mut self, root: &Root, full: &[u8]) -> rustix::io::Result<()> {
        let stamp = stamp_of(root.open_dir(full)?.as_fd())?;
        if stamp.mode & 0o300 == 0o300 {
            return Err(Errno::ACCESS);
        }
        let got = set_permissions(root, full, stamp.permissions() | 0o700);
        if !got.is_ok_and(|got| got & 0o300 == 0o300) {
            return Err(Errno::ACCESS);
        }
        self.opened_up.push((full.to_vec(), stamp.permissions()));
        Ok(())
    }

    /// Gives the directories that were opened up their bits back, and notes those that did not get them all.
    pub(super) fn close(self, root: &Root, lost: &mut BTreeMap<Vec<u8>, Lost>) -> Result<()> {
        // In the opposite order: a closed directory above would keep us from those beneath.
        for (full, perm) in self.opened_up.iter().rev() {
            // It may have been removed since, as a directory that the plan does not have.
            if root.open_dir(full).is_ok() {
                let got = set_permissions(root, full, *perm)?;
                if got != *perm {
                    lost.entry(full.clone()).or_default().note_bits(*perm, got);
                }
            }
        }
        Ok(())
    }
}
