//! What a manifest has for each name and each directory.

use std::ops::{BitOr, BitOrAssign};

use crate::git::Oid;
use crate::git::fs::Stamp;

use super::Kind;

/// Index of a directory among a manifest's.
pub type DirIndex = u32;

/// Where the bytes of a name or path stand in its manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Name {
    /// First byte.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

/// A set of flags that fits a byte of a record.
macro_rules! flags {
    ($(#[$about:meta])* $set:ident: $($(#[$doc:meta])* $flag:ident = $bit:literal;)*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $set(pub(in crate::worktree) u8);

        impl $set {
            $($(#[$doc])* pub const $flag: Self = Self($bit);)*

            /// The empty set of flags.
            pub const NONE: Self = Self(0);

            /// Whether one of these is set.
            #[inline]
            pub fn has(self, flags: Self) -> bool {
                self.0 & flags.0 != 0
            }

            /// Those of these that are set.
            #[must_use]
            pub fn only(self, flags: Self) -> Self {
                Self(self.0 & flags.0)
            }

            /// The others than these.
            #[must_use]
            pub fn without(self, flags: Self) -> Self {
                Self(self.0 & !flags.0)
            }

            /// Returns these flags if so, and else none.
            #[must_use]
            pub fn when(self, so: bool) -> Self {
                if so { self } else { Self::NONE }
            }
        }

        impl BitOr for $set {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl BitOrAssign for $set {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }
    };
}

flags! {
    /// What is known of a name in a directory.
    FileFlags:
    /// In the index, in HEAD, or forced in: captured whatever the rules say.
    TRACKED = 1;
    /// Its stamp is too fresh to be trusted next time.
    RACY = 2;
    /// Its content has to be hashed.
    TO_HASH = 4;
    /// It changed while it was read, three times.
    UNSTABLE = 8;
    /// Its id and mode are those of its entry in git's index. Only between a scan and the hashing.
    SEEDED = 16;
    /// Its id is its entry's in git's index, and its bytes were not looked at since. Kept from one look to the next.
    UNPROVEN = 32;
    /// It has attributes that are kept ([`crate::git::access`]). Known of all that are not unproven.
    ATTRIBUTES = 64;
}

flags! {
    /// What is known of a directory.
    DirFlags:
    /// Its stamp is too fresh to be trusted next time.
    RACY = 2;
    /// It has attributes that are kept ([`crate::git::access`]).
    ATTRIBUTES = 8;
    /// Not on disk (sparse checkout).
    VIRTUAL = 16;
    /// Ignored itself, entered for tracked or included files only.
    INSIDE_IGNORED = 32;
    /// Something in it or beneath differs from the manifest it was compared with.
    DIRTY = 64;
    /// Nothing at all is in it.
    VACANT = 128;
}

/// One name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRec {
    /// Its name.
    pub name: Name,
    /// A file, a symlink, a directory, or what else it may be.
    pub kind: Kind,
    /// What is known of it.
    pub flags: FileFlags,
    /// As `lstat` saw it.
    pub stamp: Stamp,
    /// The git mode in trees: `0o100644`, `0o100755`, `0o120000`, `0o160000`; 0 when not captured.
    pub git_mode: u32,
    /// Its object; zero while unknown.
    pub oid: Oid,
}

/// One directory.
#[derive(Debug, Clone, Copy)]
pub struct DirRec {
    /// Its path from the root; empty for the root.
    pub path: Name,
    /// The directory that holds it; the root holds itself.
    pub parent: DirIndex,
    /// The place of its first file in its manifest.
    pub first: u32,
    /// One past its last file.
    pub end: u32,
    /// What is known of it.
    pub flags: DirFlags,
    /// As `fstat` saw it.
    pub stamp: Stamp,
    /// Its tree; zero while unknown or when it would be empty.
    pub tree: Oid,
    /// What git ignores among its own names.
    pub ignored: Ignored,
}

impl DirRec {
    /// Whether a snapshot describes it: one that only leads to what the rules leave out is not ours to describe.
    pub fn is_recorded(&self) -> bool {
        !self.flags.has(DirFlags::INSIDE_IGNORED) || self.tree != no_oid()
    }
}

/// How much git ignores. A directory that is ignored whole counts as one, and is not looked into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Files and directories.
    pub entries: u64,
    /// The sum of the sizes of the files among them, in bytes, as they were when their directory was last read.
    pub bytes: u64,
}

impl Ignored {
    /// What both have together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            entries: self.entries.saturating_add(other.entries),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// The object id of nothing yet.
pub fn no_oid() -> Oid {
    Oid::NULL
}
