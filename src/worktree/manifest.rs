//! The working tree as one scan saw it: directories and the names in them, flat.
//!
//! A [`Manifest`] is what the scan makes, capture fills with object ids, plans compare and the cache keeps on disk.
//! Directories stand in pre-order (a parent before what lies beneath it), the names of one directory are sorted by bytes.
//! It owns no policy: which names are captured is decided by the scan.

use std::cell::Cell;
use std::cmp::Ordering;

use crate::git::Oid;
use crate::git::fs::Stamp;
use crate::git::path;

/// Index of a directory in [`Manifest::dirs`].
pub type DirIndex = u32;

/// A slice of [`Manifest::names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Name {
    /// First byte.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

/// What a name in a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A captured regular file.
    File = 1,
    /// A captured symbolic link.
    Symlink = 2,
    /// A submodule that the index names; never entered.
    Gitlink = 3,
    /// In the index with skip-worktree and not on disk (sparse checkout); stands for what the index says.
    Absent = 4,
    /// A clean, tracked, filtered file over the size limit, recorded by its index blob.
    FilteredClean = 5,
    /// A nested repository; `oid` is its HEAD commit, zero when unborn.
    Nested = 10,
    /// An untracked file over the size limit.
    TooLarge = 11,
    /// A socket.
    Socket = 12,
    /// A named pipe.
    Pipe = 13,
    /// A device.
    Device = 14,
    /// A file or directory that cannot be read.
    Unreadable = 15,
    /// A name that git's own path check refuses.
    UnsafeName = 16,
    /// Left out by our default globs.
    DefaultExclude = 17,
    /// Left out by the user's `exclude`.
    UserExclude = 18,
    /// Left out by the team's `exclude`.
    TeamExclude = 19,
    /// Bytes that git refuses to hash: they look like a SHA-1 collision attack.
    Collision = 20,
    /// An ignore file that is itself ignored: watched, not captured.
    IgnoreFile = 30,
    /// Vanished while being captured.
    Gone = 31,
}

impl Kind {
    /// The kind with this number in the cache.
    pub fn from_u8(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::File,
            2 => Self::Symlink,
            3 => Self::Gitlink,
            4 => Self::Absent,
            5 => Self::FilteredClean,
            10 => Self::Nested,
            11 => Self::TooLarge,
            12 => Self::Socket,
            13 => Self::Pipe,
            14 => Self::Device,
            15 => Self::Unreadable,
            16 => Self::UnsafeName,
            17 => Self::DefaultExclude,
            18 => Self::UserExclude,
            19 => Self::TeamExclude,
            20 => Self::Collision,
            30 => Self::IgnoreFile,
            31 => Self::Gone,
            _ => return None,
        })
    }

    /// Has an entry in the snapshot's tree.
    pub fn in_tree(self) -> bool {
        matches!(
            self,
            Self::File | Self::Symlink | Self::Gitlink | Self::Absent | Self::FilteredClean
        )
    }

    /// Why it was not captured, as `uncaptured` says it.
    pub fn reason(self) -> Option<&'static str> {
        Some(match self {
            Self::Nested => "nested-repository",
            Self::Gitlink => "submodule",
            Self::TooLarge => "larger-than-limit",
            Self::Socket => "socket",
            Self::Pipe => "pipe",
            Self::Device => "device",
            Self::Unreadable => "unreadable",
            Self::UnsafeName => "unsafe-name",
            Self::DefaultExclude => "default-exclude",
            Self::UserExclude => "exclude",
            Self::TeamExclude => "team-exclude",
            Self::Collision => "sha1-collision",
            Self::FilteredClean => "filtered-clean",
            Self::File | Self::Symlink | Self::Absent | Self::IgnoreFile | Self::Gone => {
                return None;
            }
        })
    }

    /// Whether its stamp says when it changed. The others are known by their directory's stamp alone.
    pub fn is_watched(self) -> bool {
        !matches!(
            self,
            Self::DefaultExclude
                | Self::UserExclude
                | Self::TeamExclude
                | Self::UnsafeName
                | Self::Gone
        )
    }
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
/// Flag of a directory: not on disk (sparse checkout).
pub const VIRTUAL: u8 = 16;
/// Flag of a directory: ignored itself, entered for tracked or included files only.
pub const INSIDE_IGNORED: u8 = 32;
/// Flag of a directory: something in it or beneath differs from the manifest it was compared with.
pub const DIRTY: u8 = 64;
/// Flag of a directory: nothing at all is in it.
pub const VACANT: u8 = 128;

/// One name in a directory.
#[derive(Debug, Clone, Copy)]
pub struct FileRec {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub kind: Kind,
    /// `TRACKED`, `RACY`, `TO_HASH`, `UNSTABLE`, `SEEDED`.
    pub flags: u8,
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
    /// First of its files in [`Manifest::files`].
    pub first: u32,
    /// One past its last file.
    pub end: u32,
    /// `RACY`, `VIRTUAL`, `INSIDE_IGNORED`, `DIRTY`, `VACANT`.
    pub flags: u8,
    /// As `fstat` saw it.
    pub stamp: Stamp,
    /// Its tree; zero while unknown or when it would be empty.
    pub tree: Oid,
}

/// The whole working tree, flat.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    /// Directories in pre-order; the first is the root.
    pub dirs: Vec<DirRec>,
    /// Names, grouped by directory.
    pub files: Vec<FileRec>,
    /// The bytes of names and paths.
    pub names: Vec<u8>,
}

impl Manifest {
    /// The bytes of a name or path.
    pub fn bytes(&self, name: Name) -> &[u8] {
        let start = name.start as usize;
        self.names
            .get(start..start + name.len as usize)
            .unwrap_or_default()
    }

    /// Keeps bytes.
    pub fn intern(&mut self, bytes: &[u8]) -> Name {
        let start = u32::try_from(self.names.len()).expect("names stay under 4 GiB");
        self.names.extend_from_slice(bytes);
        Name {
            start,
            len: u32::try_from(bytes.len()).expect("a path stays under 4 GiB"),
        }
    }

    /// A directory's path.
    pub fn dir_path(&self, dir: &DirRec) -> &[u8] {
        self.bytes(dir.path)
    }

    /// The names in a directory.
    pub fn files_of(&self, dir: &DirRec) -> &[FileRec] {
        self.files
            .get(dir.first as usize..dir.end as usize)
            .unwrap_or_default()
    }

    /// The full path of a name in a directory.
    pub fn path_of(&self, dir: &DirRec, file: &FileRec) -> Vec<u8> {
        path::join(self.dir_path(dir), self.bytes(file.name))
    }

    /// Finds a directory.
    pub fn find_dir(&self, path: &[u8]) -> Option<usize> {
        self.dirs
            .binary_search_by(|dir| preorder(self.dir_path(dir), path))
            .ok()
    }

    /// Finds a name: index into [`Manifest::files`].
    pub fn find_file(&self, path: &[u8]) -> Option<usize> {
        let (dir, name) = path::split(path);
        let dir = self.dirs.get(self.find_dir(dir)?)?;
        self.find_in(dir, name)
    }

    /// Finds a name in a directory: index into [`Manifest::files`].
    pub fn find_in(&self, dir: &DirRec, name: &[u8]) -> Option<usize> {
        let at = self
            .files_of(dir)
            .binary_search_by(|file| self.bytes(file.name).cmp(name))
            .ok()?;
        Some(dir.first as usize + at)
    }

    /// The name at a path.
    pub fn file(&self, path: &[u8]) -> Option<&FileRec> {
        self.files.get(self.find_file(path)?)
    }

    /// Every name with its directory, in pre-order of directories.
    pub fn entries(&self) -> impl Iterator<Item = (&DirRec, &FileRec)> {
        self.dirs
            .iter()
            .flat_map(move |dir| self.files_of(dir).iter().map(move |file| (dir, file)))
    }

    /// For each directory, one past the last directory that lies beneath it.
    pub fn subtree_ends(&self) -> Vec<u32> {
        let mut ends: Vec<u32> = (0..self.dirs.len())
            .map(|at| u32::try_from(at + 1).expect("fewer than 2^32 directories"))
            .collect();
        for at in (1..self.dirs.len()).rev() {
            let parent = self.dirs[at].parent as usize;
            ends[parent] = ends[parent].max(ends[at]);
        }
        ends
    }
}

/// Finds names of a manifest that are asked for in the order of git's index, or nearly so: the directory and the place of the
/// last answer are where it looks first.
#[derive(Debug)]
pub struct Finder<'a> {
    manifest: &'a Manifest,
    /// The directory last asked about, and where its next name would be.
    last: Cell<Option<(usize, usize)>>,
}

impl<'a> Finder<'a> {
    /// Over a manifest.
    pub fn new(manifest: &'a Manifest) -> Self {
        Self {
            manifest,
            last: Cell::new(None),
        }
    }

    /// As [`Manifest::file`].
    pub fn file(&self, path: &[u8]) -> Option<&'a FileRec> {
        let manifest = self.manifest;
        let (dir_path, name) = path::split(path);
        let known = self.last.get().and_then(|(at, next)| {
            let dir = manifest.dirs.get(at)?;
            (manifest.dir_path(dir) == dir_path).then_some((at, next))
        });
        let (at, next) = match known {
            Some(known) => known,
            None => (manifest.find_dir(dir_path)?, 0),
        };
        let dir = manifest.dirs.get(at)?;
        let files = manifest.files_of(dir);
        let is_it = |file: &&FileRec| manifest.bytes(file.name) == name;
        if let Some(file) = files.get(next).filter(is_it) {
            self.last.set(Some((at, next + 1)));
            return Some(file);
        }
        let found = manifest.find_in(dir, name)? - dir.first as usize;
        self.last.set(Some((at, found + 1)));
        files.get(found)
    }
}

/// Orders directory paths so that a parent stands right before what lies beneath it: by bytes, `/` first of all.
pub fn preorder(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.iter().zip(b).position(|(x, y)| x != y);
    match common {
        Some(at) => {
            let rank = |byte: u8| if byte == b'/' { -1 } else { i16::from(byte) };
            rank(a[at]).cmp(&rank(b[at]))
        }
        None => a.len().cmp(&b.len()),
    }
}

/// The object id of nothing yet.
pub fn no_oid() -> Oid {
    Oid::ZERO_SHA1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_stands_before_its_children_and_next_to_them() {
        let mut paths = vec![&b"a-b"[..], b"a/b", b"a", b"", b"a/b/c", b"a.", b"b"];
        paths.sort_by(|x, y| preorder(x, y));
        assert_eq!(
            paths,
            vec![&b""[..], b"a", b"a/b", b"a/b/c", b"a-b", b"a.", b"b"]
        );
    }

    #[test]
    fn a_finder_finds_what_the_manifest_has_in_any_order() {
        type Names<'n> = &'n [&'n [u8]];
        let mut manifest = Manifest::default();
        let dirs: [(&[u8], u32, Names<'_>); 4] = [
            (b"", 0, &[b"a", b"c", b"z"]),
            (b"b", 0, &[b"1", b"2"]),
            (b"b/d", 1, &[]),
            (b"b.c", 0, &[b"1"]),
        ];
        for (dir, parent, names) in dirs {
            let first = u32::try_from(manifest.files.len()).expect("few");
            for name in names {
                let name = manifest.intern(name);
                manifest.files.push(FileRec {
                    name,
                    kind: Kind::File,
                    flags: 0,
                    stamp: Stamp::default(),
                    git_mode: 0o100_644,
                    oid: no_oid(),
                });
            }
            let path = manifest.intern(dir);
            manifest.dirs.push(DirRec {
                path,
                parent,
                first,
                end: u32::try_from(manifest.files.len()).expect("few"),
                flags: 0,
                stamp: Stamp::default(),
                tree: no_oid(),
            });
        }
        let paths: [&[u8]; 11] = [
            b"a", b"b/1", b"b/2", b"b/3", b"b/d/1", b"b.c/1", b"c", b"d", b"z", b"no/1", b"b",
        ];
        let finder = Finder::new(&manifest);
        for first in paths {
            for second in paths {
                for path in [first, second] {
                    let (one, other) = (finder.file(path), manifest.file(path));
                    assert_eq!(one.map(|file| file.name), other.map(|file| file.name));
                    assert_eq!(one.is_some(), other.is_some(), "{path:?}");
                }
            }
        }
    }

    #[test]
    fn kinds_survive_their_numbers() {
        for number in 0..=255 {
            if let Some(kind) = Kind::from_u8(number) {
                assert_eq!(kind as u8, number);
            }
        }
    }
}
