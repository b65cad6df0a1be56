//! Files that are read where they stand: mapped into memory, or read where that cannot be.
//!
//! What is mapped is only ever replaced by rename, by git and by us, and never written into: git's indexes, its pack indexes,
//! our cache. Whoever cuts such a file off under our hands stops us as it would stop git, which maps them, too.

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::{Mmap, MmapOptions};

/// How much of a map will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// All of it: its pages come at once.
    Whole,
    /// Parts of it.
    Parts,
}

/// The bytes of a file.
pub enum Bytes {
    /// Mapped.
    Mapped(Mmap),
    /// Read.
    Read(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

/// Maps a file that nobody writes into.
///
/// # Errors
/// The system's; some file systems cannot map, and nothing can be mapped of an empty file on some systems.
pub fn map(file: &File, what: Use) -> io::Result<Mmap> {
    let mut options = MmapOptions::new();
    if what == Use::Whole {
        options.populate();
    }
    #[expect(
        unsafe_code,
        reason = "the map is read-only, and its file is replaced and not written into: see the head of this file"
    )]
    // SAFETY: see the reason.
    unsafe {
        options.map(file)
    }
}

/// The bytes at a place among those of a file and, behind them, others; none where they do not lie within one of both.
#[inline]
pub fn slice_of<'b>(file: &'b [u8], behind: &'b [u8], start: u32, len: u32) -> &'b [u8] {
    let (start, len) = (start as usize, len as usize);
    let (part, start) = match start.checked_sub(file.len()) {
        Some(start) => (behind, start),
        None => (file, start),
    };
    part.get(start..start + len).unwrap_or_default()
}
