//! The names of one directory, read with one allocation that is used again.

use crate::error::{Result, ResultExt};
use crate::git::{fs, path};
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
        fs::each_name(fd, &mut self.raw, |name, _| {
            self.bytes.extend_from_slice(name);
            self.ends.push(self.bytes.len());
        })
        .context(|| format!("cannot read '{}'", path::display(dir_path)))
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
