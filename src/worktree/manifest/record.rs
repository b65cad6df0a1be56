//! What a manifest has for each name and each directory.

use crate::git::Oid;
use crate::git::fs::Stamp;

use super::Kind;

/// Index of a directory in [`Manifest::dirs`].
pub type DirIndex = u32;

/// The bytes of a name or path: [`Manifest::bytes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Name {
    /// First byte.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

/// Flag of a file: in the index, in HEAD, or forced in: captured whatever the rules say.
pub const TRACKED: u8 = 1;
/// Flag of a file or directory: its stamp is too fresh to be trusted next time.
pub const RACY: u8 = 2;
/// Flag of a file: its content has to be hashed.
pub const TO_HASH: u8 = 4;
/// Flag of a file: it changed while it was read, three times.
pub const UNSTABLE: u8 = 8;
/// Flag of a file: its id and mode are those of its entry in git's index. Only between a scan and the hashing.
pub const SEEDED: u8 = 16;
/// Flag of a file: its id is its entry's in git's index, and its bytes were not looked at since. Kept from one look to the next.
pub const UNPROVEN: u8 = 32;
/// Flag of a file: it has attributes that are kept ([`crate::git::access`]). Known of all that are not [`UNPROVEN`].
pub const ATTRIBUTES: u8 = 64;
/// Flag of a directory: as [`ATTRIBUTES`].
pub const DIR_ATTRIBUTES: u8 = 8;
/// Flag of a directory: not on disk (sparse checkout).
pub const VIRTUAL: u8 = 16;
/// Flag of a directory: ignored itself, entered for tracked or included files only.
pub const INSIDE_IGNORED: u8 = 32;
/// Flag of a directory: something in it or beneath differs from the manifest it was compared with.
pub const DIRTY: u8 = 64;
/// Flag of a directory: nothing at all is in it.
pub const VACANT: u8 = 128;

/// An object id as it stands in a record: reading one of thousands of records makes nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RawOid(pub(super) [u8; 20]);

impl RawOid {
    /// The id.
    pub fn get(self) -> Oid {
        Oid::from_bytes(&self.0).expect("twenty bytes are an id")
    }
}

impl From<Oid> for RawOid {
    fn from(oid: Oid) -> Self {
        let mut bytes = [0; 20];
        bytes.copy_from_slice(oid.as_bytes());
        Self(bytes)
    }
}

/// One name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRec {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub kind: Kind,
    /// `TRACKED`, `RACY`, `TO_HASH`, `UNSTABLE`, `SEEDED`, `UNPROVEN`, `ATTRIBUTES`.
    pub flags: u8,
    /// As `lstat` saw it.
    pub stamp: Stamp,
    /// The git mode in trees: `0o100644`, `0o100755`, `0o120000`, `0o160000`; 0 when not captured.
    pub git_mode: u32,
    /// Its object; zero while unknown.
    pub oid: RawOid,
}

/// One directory.
#[derive(Debug, Clone, Copy)]
pub struct DirRec {
    /// Its path from the root; empty for the root.
    pub path: Name,
    /// The directory that holds it; the root holds itself.
    pub parent: DirIndex,
    /// The place of its first file: see [`Manifest::files_of`].
    pub first: u32,
    /// One past its last file.
    pub end: u32,
    /// `RACY`, `DIR_ATTRIBUTES`, `VIRTUAL`, `INSIDE_IGNORED`, `DIRTY`, `VACANT`.
    pub flags: u8,
    /// As `fstat` saw it.
    pub stamp: Stamp,
    /// Its tree; zero while unknown or when it would be empty.
    pub tree: Oid,
}

/// The object id of nothing yet.
pub fn no_oid() -> Oid {
    Oid::ZERO_SHA1
}
