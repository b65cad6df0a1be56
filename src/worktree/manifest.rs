//! The working tree as one scan saw it: directories and the names in them, flat.
//!
//! A [`Manifest`] is what the scan makes, capture fills with object ids, plans compare and the cache keeps on disk.
//! Directories stand in pre-order (a parent before what lies beneath it), the names of one directory are sorted by bytes.
//! It owns no policy: which names are captured is decided by the scan.
//!
//! One that was read from the cache leaves the records of files where they are, in the mapped file, and so do those that are
//! made of it: a directory whose files differ has all of its records in memory, of the others nothing is copied. Where a
//! directory's records are is its own affair: [`Manifest::files_of`] reads both, [`Manifest::files_mut`] takes them into memory.

pub mod kept;
mod kind;

use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;

use crate::git::Oid;
use crate::git::fs::Stamp;
use crate::git::mapped::slice_of;
use crate::git::path;
pub use kept::Kept;
pub use kind::Kind;

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
pub struct RawOid([u8; 20]);

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

/// The whole working tree, flat.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    /// Directories in pre-order; the first is the root.
    pub dirs: Vec<DirRec>,
    /// What stands in a file of the cache. Its files have the places from 0 on, its names the bytes.
    kept: Option<Arc<Kept>>,
    /// The files whose places come behind those.
    files: Vec<FileRec>,
    /// The bytes of names and paths that come behind those.
    names: Vec<u8>,
}

impl Manifest {
    /// Without directories so far, over files of the cache.
    pub fn over(kept: Kept) -> Self {
        Self {
            kept: Some(Arc::new(kept)),
            ..Self::default()
        }
    }

    /// Without directories, over the same files of the cache, and with the other names and files that this one has.
    #[must_use]
    pub fn without_dirs(&self) -> Self {
        Self {
            dirs: Vec::new(),
            kept: self.kept.clone(),
            files: self.files.clone(),
            names: self.names.clone(),
        }
    }

    /// What of it stands in a file of the cache.
    pub fn kept(&self) -> Option<&Kept> {
        self.kept.as_deref()
    }

    /// How many places of files are in the cache's file.
    pub fn kept_files(&self) -> u32 {
        self.kept().map_or(0, Kept::count)
    }

    /// How many bytes of names are in the cache's file.
    pub fn kept_names(&self) -> usize {
        self.kept().map_or(0, |kept| kept.names().len())
    }

    /// Whether a directory's files are where the cache has them, and so as they were there.
    pub fn is_kept(&self, dir: &DirRec) -> bool {
        dir.end <= self.kept_files()
    }

    /// The bytes of a name or path.
    #[inline]
    pub fn bytes(&self, name: Name) -> &[u8] {
        let kept = self.kept().map_or(&[][..], Kept::names);
        slice_of(kept, &self.names, name.start, name.len)
    }

    /// Keeps bytes.
    pub fn intern(&mut self, bytes: &[u8]) -> Name {
        let start = self.kept_names() + self.names.len();
        self.names.extend_from_slice(bytes);
        Name {
            start: u32::try_from(start).expect("names stay under 4 GiB"),
            len: u32::try_from(bytes.len()).expect("a path stays under 4 GiB"),
        }
    }

    /// A directory's path.
    pub fn dir_path(&self, dir: &DirRec) -> &[u8] {
        self.bytes(dir.path)
    }

    /// The files of a directory, sorted by name.
    pub fn files_of(&self, dir: &DirRec) -> Files<'_> {
        let (first, end) = (dir.first, dir.end);
        match &self.kept {
            Some(kept) if end <= kept.count() => {
                Files::Kept(kept.records(first, end).as_chunks().0)
            }
            _ => {
                let behind = self.kept_files();
                let at = |place: u32| place.checked_sub(behind).map(|place| place as usize);
                let files = at(first)
                    .zip(at(end))
                    .and_then(|(first, end)| self.files.get(first..end));
                Files::Made(files.unwrap_or_default())
            }
        }
    }

    /// The files of the directory at a place in [`Self::dirs`], to be changed; in memory from then on.
    pub fn files_mut(&mut self, at: usize) -> &mut [FileRec] {
        let Some(&dir) = self.dirs.get(at) else {
            return &mut [];
        };
        if self.is_kept(&dir) {
            let first = self.next_place();
            if let Files::Kept(records) = self.files_of(&dir) {
                let files: Vec<_> = records.iter().map(kept::read).collect();
                self.files.extend(files);
            }
            let end = self.next_place();
            let dir = &mut self.dirs[at];
            (dir.first, dir.end) = (first, end);
        }
        let behind = self.kept_files();
        let dir = &self.dirs[at];
        let range = (dir.first - behind) as usize..(dir.end - behind) as usize;
        self.files.get_mut(range).unwrap_or_default()
    }

    /// Leaves only those files of the directory at a place in [`Self::dirs`] of which this holds.
    pub fn retain_files(&mut self, at: usize, holds: impl Fn(&FileRec) -> bool) {
        let files = self.files_mut(at);
        let mut left = 0;
        for nth in 0..files.len() {
            if holds(&files[nth]) {
                files.swap(left, nth);
                left += 1;
            }
        }
        if let Some(dir) = self.dirs.get_mut(at) {
            dir.end = dir.first + u32::try_from(left).expect("fewer than 2^32 names");
        }
    }

    /// Where the next file will be: [`Self::push_file`].
    pub fn next_place(&self) -> u32 {
        let made = u32::try_from(self.files.len()).ok();
        made.and_then(|made| made.checked_add(self.kept_files()))
            .expect("fewer than 2^32 names")
    }

    /// Makes room for so many files and bytes of names more.
    pub fn reserve(&mut self, files: usize, names: usize) {
        self.files.reserve(files);
        self.names.reserve(names);
    }

    /// Adds a file behind all others. It belongs to the directory that is given its place.
    pub fn push_file(&mut self, file: FileRec) {
        self.files.push(file);
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

    /// Finds a name in a directory: its place among the directory's files.
    pub fn find_in(&self, dir: &DirRec, name: &[u8]) -> Option<usize> {
        let files = self.files_of(dir);
        let (mut low, mut high) = (0, files.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.bytes(files.name(middle)?).cmp(name) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// The name at a path.
    pub fn file(&self, path: &[u8]) -> Option<FileRec> {
        let (dir, name) = path::split(path);
        let dir = self.dirs.get(self.find_dir(dir)?)?;
        self.files_of(dir).get(self.find_in(dir, name)?)
    }

    /// Every name with its directory, in pre-order of directories.
    pub fn entries(&self) -> impl Iterator<Item = (&DirRec, FileRec)> {
        self.dirs
            .iter()
            .flat_map(move |dir| self.files_of(dir).iter().map(move |file| (dir, file)))
    }

    /// Every directory but the root, and every captured file and symlink on disk.
    pub fn paths_on_disk(&self) -> Vec<Vec<u8>> {
        let dirs = self.dirs.iter().filter(|dir| dir.flags & VIRTUAL == 0);
        let dirs = dirs.map(|dir| self.dir_path(dir));
        let dirs = dirs.filter(|path| !path.is_empty()).map(<[u8]>::to_vec);
        let files = self.entries().filter(|(_, file)| file.kind.is_on_disk());
        let files = files.map(|(dir, file)| self.path_of(dir, &file));
        dirs.chain(files).collect()
    }

    /// The places in [`Self::dirs`] of the directories whose files are in memory: only there can one differ from the cache.
    pub fn made_dirs(&self) -> Vec<usize> {
        let made = self.dirs.iter().enumerate();
        made.filter(|(_, dir)| !self.is_kept(dir))
            .map(|(at, _)| at)
            .collect()
    }

    /// The files in memory, each with the place of its directory and its own among that directory's files.
    pub fn made_files(&self) -> impl Iterator<Item = (usize, usize, FileRec)> {
        self.made_dirs().into_iter().flat_map(move |at| {
            let files = self.files_of(&self.dirs[at]).iter().enumerate();
            files.map(move |(nth, file)| (at, nth, file))
        })
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

/// The files of one directory.
#[derive(Debug, Clone, Copy)]
pub enum Files<'m> {
    /// Read where they stand.
    Kept(&'m [[u8; kept::FILE]]),
    /// In memory.
    Made(&'m [FileRec]),
}

impl<'m> Files<'m> {
    /// How many there are.
    pub fn len(self) -> usize {
        match self {
            Self::Kept(records) => records.len(),
            Self::Made(files) => files.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// One of them.
    #[inline]
    pub fn get(self, nth: usize) -> Option<FileRec> {
        match self {
            Self::Kept(records) => records.get(nth).map(kept::read),
            Self::Made(files) => files.get(nth).copied(),
        }
    }

    /// The name of one of them.
    #[inline]
    pub fn name(self, nth: usize) -> Option<Name> {
        match self {
            Self::Kept(records) => records.get(nth).map(kept::name_of),
            Self::Made(files) => files.get(nth).map(|file| file.name),
        }
    }

    /// All of them, sorted by name.
    #[inline]
    pub fn iter(self) -> FilesIter<'m> {
        match self {
            Self::Kept(records) => FilesIter::Kept(records.iter()),
            Self::Made(files) => FilesIter::Made(files.iter()),
        }
    }
}

/// See [`Files::iter`].
#[derive(Debug, Clone)]
pub enum FilesIter<'m> {
    /// Read where they stand.
    Kept(std::slice::Iter<'m, [u8; kept::FILE]>),
    /// In memory.
    Made(std::slice::Iter<'m, FileRec>),
}

impl Iterator for FilesIter<'_> {
    type Item = FileRec;

    #[inline]
    fn next(&mut self) -> Option<FileRec> {
        match self {
            Self::Kept(records) => records.next().map(kept::read),
            Self::Made(files) => files.next().copied(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Kept(records) => records.size_hint(),
            Self::Made(files) => files.size_hint(),
        }
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
    pub fn file(&self, path: &[u8]) -> Option<FileRec> {
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
        if files
            .name(next)
            .is_some_and(|it| manifest.bytes(it) == name)
        {
            self.last.set(Some((at, next + 1)));
            return files.get(next);
        }
        let found = manifest.find_in(dir, name)?;
        self.last.set(Some((at, found + 1)));
        files.get(found)
    }
}

/// Orders directory paths so that a parent stands right before what lies beneath it: by bytes, `/` first of all.
pub fn preorder(a: &[u8], b: &[u8]) -> Ordering {
    let at = common(a, b);
    let rank = |byte: &u8| if *byte == b'/' { -1 } else { i16::from(*byte) };
    // What ends first comes first.
    a.get(at).map(rank).cmp(&b.get(at).map(rank))
}

/// How many bytes are the same at the beginning. Neighbours have long paths in common: they are compared in pieces.
fn common(a: &[u8], b: &[u8]) -> usize {
    const PIECE: usize = 16;
    let (pieces_a, _) = a.as_chunks::<PIECE>();
    let (pieces_b, _) = b.as_chunks::<PIECE>();
    let pieces = pieces_a.iter().zip(pieces_b).take_while(|(a, b)| a == b);
    let done = pieces.count() * PIECE;
    let rest = a.iter().zip(b).skip(done).take_while(|(a, b)| a == b);
    done + rest.count()
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
        let sorted = vec![&b""[..], b"a", b"a/b", b"a/b/c", b"a-b", b"a.", b"b"];
        paths.sort_by(|x, y| preorder(x, y));
        assert_eq!(paths, sorted);
        // Behind anything that they have in common, of any length.
        for length in 1..50 {
            let long = |path: &[u8]| [&b"x".repeat(length)[..], path].concat();
            for x in &sorted {
                for y in &sorted {
                    assert_eq!(preorder(&long(x), &long(y)), preorder(x, y), "{length}");
                    assert_eq!(preorder(x, y).is_eq(), x == y);
                }
            }
        }
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
            let first = manifest.next_place();
            for name in names {
                let name = manifest.intern(name);
                manifest.push_file(FileRec {
                    name,
                    kind: Kind::File,
                    flags: 0,
                    stamp: Stamp::default(),
                    git_mode: 0o100_644,
                    oid: RawOid::default(),
                });
            }
            let path = manifest.intern(dir);
            manifest.dirs.push(DirRec {
                path,
                parent,
                first,
                end: manifest.next_place(),
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
}
