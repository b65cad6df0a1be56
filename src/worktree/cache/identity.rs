//! Which state of the cache is on disk, told by the headers of its files alone.

use std::path::Path;

use super::records::{HEADER, Magic, SUM_AT};
use super::{MAGIC, patch, patch_of};

/// Names one state of the cache: the base, and what stands in its patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The random number of the base.
    base: u64,
    /// Checksum and length of the patch; 0 without one.
    patch: u64,
}

impl Identity {
    /// How many bytes [`Self::encode`] makes.
    pub const SIZE: usize = 16;

    /// Of a base and a patch that belongs to it.
    pub(super) fn new(base: u64, patch: Option<&[u8]>) -> Self {
        let patch = patch.and_then(|bytes| Some(stamp(header(bytes)?, bytes.len() as u64)));
        Self {
            base,
            patch: patch.unwrap_or(0),
        }
    }

    /// Of what is on disk; `None` where there is no cache of this version.
    pub fn on_disk(file: &Path) -> Option<Self> {
        let (base, _) = read_header(file)?;
        let base = number(&base, MAGIC)?;
        // A patch of another base is nothing.
        let patch = read_header(&patch_of(file));
        let patch = patch.filter(|(patch, _)| number(patch, patch::MAGIC) == Some(base));
        Some(Self {
            base,
            patch: patch.map_or(0, |(header, length)| stamp(&header, length)),
        })
    }

    /// Encodes both parts as bytes.
    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut out = [0; Self::SIZE];
        out[..8].copy_from_slice(&self.base.to_le_bytes());
        out[8..].copy_from_slice(&self.patch.to_le_bytes());
        out
    }

    /// Parses what [`Self::encode`] made.
    pub fn parse(bytes: [u8; Self::SIZE]) -> Option<Self> {
        let (base, patch) = bytes.split_at(8);
        Some(Self {
            base: u64::from_le_bytes(base.try_into().ok()?),
            patch: u64::from_le_bytes(patch.try_into().ok()?),
        })
    }
}

fn header(bytes: &[u8]) -> Option<&[u8; HEADER]> {
    bytes.first_chunk()
}

fn read_header(file: &Path) -> Option<([u8; HEADER], u64)> {
    use std::os::unix::fs::FileExt;
    let file = crate::git::regular::open(file).ok()?;
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0).ok()?;
    Some((header, file.metadata().ok()?.len()))
}

/// The number of the base, in a header of this kind.
fn number(header: &[u8; HEADER], (magic, version): Magic) -> Option<u64> {
    let is_one = header[..8] == magic && header[8..12] == version.to_le_bytes();
    let number = header.get(48..56)?.try_into().ok()?;
    is_one.then(|| u64::from_le_bytes(number))
}

fn stamp(header: &[u8; HEADER], length: u64) -> u64 {
    let sum = [
        header[SUM_AT],
        header[SUM_AT + 1],
        header[SUM_AT + 2],
        header[SUM_AT + 3],
    ];
    u64::from(u32::from_le_bytes(sum)) << 32 | (length & 0xffff_ffff)
}
