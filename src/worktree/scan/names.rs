//! The names of one directory, sorted, read with allocations that are used again.

use crate::error::{Result, ResultExt};
use crate::git::{fs, path};
use crate::work::{Work, count};
use rustix::fs::FileType;
use std::os::fd::BorrowedFd;

/// The names of one directory, sorted by bytes.
#[derive(Default)]
pub(super) struct NameBuffer {
    raw: Vec<u8>,
    bytes: Vec<u8>,
    /// Where each begins and ends in `bytes`, and whether it is known to be a directory.
    spans: Vec<(usize, usize, bool)>,
}

impl NameBuffer {
    pub(super) fn read(&mut self, fd: BorrowedFd<'_>, dir_path: &[u8]) -> Result<()> {
        count(Work::DirReads);
        self.bytes.clear();
        self.spans.clear();
        fs::each_name(fd, &mut self.raw, |name, kind| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(name);
            // Some file systems leave the kind unknown: such a name is looked at like any other.
            let is_dir = kind == FileType::Directory;
            self.spans.push((start, self.bytes.len(), is_dir));
        })
        .context(|| format!("cannot read '{}'", path::display(dir_path)))?;
        let bytes = &self.bytes;
        self.spans
            .sort_unstable_by(|a, b| bytes[a.0..a.1].cmp(&bytes[b.0..b.1]));
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether a name is among them.
    pub(super) fn has(&self, wanted: &[u8]) -> bool {
        self.spans
            .binary_search_by(|span| self.bytes[span.0..span.1].cmp(wanted))
            .is_ok()
    }

    /// The names, and whether each is known to be a directory.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], bool)> {
        self.spans
            .iter()
            .map(|&(start, end, is_dir)| (&self.bytes[start..end], is_dir))
    }
}
