//! Files that are read where they stand: mapped into memory, or read where that cannot be.
//!
//! What is mapped is only ever replaced by rename, by git and by us, and never written into: git's indexes, its pack indexes,
//! our cache. Whoever cuts such a file off under our hands stops us as it would stop git, which maps them, too.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;

use memmap2::{Mmap, MmapOptions};

use super::regular::LARGEST;

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

/// Maps a file that nobody writes into. As git: not as shared, which file systems refuse that keep no pages of a file.
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
        options.map_copy_read_only(file)
    }
}

/// The bytes of a file that was just opened: mapped, or read where that cannot be.
///
/// # Errors
/// The system's.
pub fn map_or_read(file: &File, what: Use) -> io::Result<Bytes> {
    let cannot_map = match map(file, what) {
        Ok(map) => return Ok(Bytes::Mapped(map)),
        Err(error) => error,
    };
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(cannot_map);
    }
    Ok(Bytes::Read(bytes))
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_mapped_is_read() {
        let file = crate::git::regular::open("/proc/self/status").expect("opened");
        map(&file, Use::Parts).expect_err("made when it is read");
        let bytes = map_or_read(&file, Use::Parts).expect("read");
        assert!(bytes.starts_with(b"Name:"));
    }
}
