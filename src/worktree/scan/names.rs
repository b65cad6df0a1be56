//! The names of one directory, read with one allocation that is used again.

use crate::error::{Result, ResultExt};
use crate::git::path;
use crate::work::{Work, count};
use std::os::fd::BorrowedFd;

/// The names of one directory, read with one allocation that is used again.
#[derive(Default)]
pub(super) struct NameBuffer {
    pub(super) raw: Vec<u8>,
    pub(super) bytes: Vec<u8>,
    pub(super) ends: Vec<usize>,
}

impl NameBuffer {
    pub(super) fn read(&mut self, fd: BorrowedFd<'_>, dir_path: &[u8]) -> Result<()> {
        count(Work::DirReads);
        self.bytes.clear();
        self.ends.clear();
        if self.raw.capacity() == 0 {
            self.raw.reserve(32 * 1024);
        }
        let what = || format!("cannot read '{}'", path::display(dir_path));
        let mut dir = rustix::fs::RawDir::new(fd, self.raw.spare_capacity_mut());
        while let Some(entry) = dir.next() {
            let entry = entry.context(what)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                self.bytes.extend_from_slice(name);
                self.ends.push(self.bytes.len());
            }
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether a name is among them.
    pub(super) fn has(&self, wanted: &[u8]) -> bool {
        self.iter().any(|name| name == wanted)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| &self.bytes[start..end])
    }
}
