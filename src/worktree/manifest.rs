//! The working tree as one scan saw it: directories and the names in them, flat.
//!
//! A [`Manifest`] is what the scan makes, capture fills with object ids, plans compare and the cache keeps on disk.
//! Directories stand in pre-order (a parent before what lies beneath it), the names of one directory are sorted by bytes.
//! It owns no policy: which names are captured is decided by the scan.
//!
//! One that was read from the cache leaves the records of files where they are, in the mapped file, and so do those that are
//! made of it: a directory whose files differ has all of its records in memory, of the others nothing is copied. Where a
//! directory's records are is its own affair: [`Manifest::files_of`] reads both, [`Manifest::files_mut`] takes them into memory.

pub mod cached;
mod files;
mod finder;
mod kind;
mod record;

use std::cmp::Ordering;
use std::sync::Arc;

use crate::git::mapped::slice_of;
use crate::git::path;
use cached::CachedRecords;
pub use files::Files;
pub use finder::Finder;
pub use kind::Kind;
pub use record::*;

/// The whole working tree, flat.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    /// Directories in pre-order; the first is the root.
    pub dirs: Vec<DirRec>,
    /// What stands in a file of the cache. Its files have the places from 0 on, its names the bytes.
    // Shared: a capture and the proof of a swap stand on the same mapped file.
    cached: Option<Arc<CachedRecords>>,
    /// The files whose places come behind those.
    files: Vec<FileRec>,
    /// The bytes of names and paths that come behind those.
    names: Vec<u8>,
}

impl Manifest {
    /// Without directories so far, over files of the cache.
    pub fn over(cached: CachedRecords) -> Self {
        Self {
            cached: Some(Arc::new(cached)),
            ..Self::default()
        }
    }

    /// Without directories, over the same files of the cache, and with the other names and files that this one has.
    #[must_use]
    pub fn without_dirs(&self) -> Self {
        Self {
            dirs: Vec::new(),
            cached: self.cached.clone(),
            // Of those few that differ from the cache: the mapped ones are shared, not copied.
            files: self.files.clone(),
            names: self.names.clone(),
        }
    }

    /// What of it stands in a file of the cache.
    pub fn cached(&self) -> Option<&CachedRecords> {
        self.cached.as_deref()
    }

    /// How many places of files are in the cache's file.
    pub fn cached_files(&self) -> u32 {
        self.cached().map_or(0, CachedRecords::count)
    }

    /// How many bytes of names are in the cache's file.
    pub fn cached_names(&self) -> usize {
        self.cached().map_or(0, |cached| cached.names().len())
    }

    /// Whether a directory's files are where the cache has them, and so as they were there.
    pub fn is_cached(&self, dir: &DirRec) -> bool {
        dir.end <= self.cached_files()
    }

    /// The bytes of a name or path.
    #[inline]
    pub fn bytes(&self, name: Name) -> &[u8] {
        let cached = self.cached().map_or(&[][..], CachedRecords::names);
        slice_of(cached, &self.names, name.start, name.len)
    }

    /// Keeps a copy of bytes as a name.
    pub fn intern(&mut self, bytes: &[u8]) -> Name {
        let start = self.cached_names() + self.names.len();
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

    /// Directories, but for the root, in which nothing is captured, however deep. Sparse entries in them are not on disk.
    pub fn empty_dirs(&self) -> impl Iterator<Item = &DirRec> {
        let mut has_child = vec![false; self.dirs.len()];
        for dir in self.dirs.iter().skip(1) {
            if !dir.flags.has(DirFlags::VIRTUAL) {
                has_child[dir.parent as usize] = true;
            }
        }
        let dirs = self.dirs.iter().enumerate().skip(1);
        let empty = dirs.filter(move |(at, dir)| {
            let is_on_disk = !has_child[*at] && !dir.flags.has(DirFlags::VIRTUAL);
            is_on_disk && (dir.tree == no_oid() || !self.holds_captured(dir))
        });
        empty.map(|(_, dir)| dir)
    }

    fn holds_captured(&self, dir: &DirRec) -> bool {
        let mut files = self.files_of(dir).iter();
        files.any(|file| file.kind.in_tree() && file.kind != Kind::Absent)
    }

    /// The files of a directory, sorted by name.
    pub fn files_of(&self, dir: &DirRec) -> Files<'_> {
        let (first, end) = (dir.first, dir.end);
        match &self.cached {
            Some(cached) if end <= cached.count() => Files::Cached(cached.records(first, end)),
            _ => {
                let behind = self.cached_files();
                let at = |place: u32| place.checked_sub(behind).map(|place| place as usize);
                let files = at(first)
                    .zip(at(end))
                    .and_then(|(first, end)| self.files.get(first..end));
                Files::InMemory(files.unwrap_or_default())
            }
        }
    }

    /// The files of the directory at a place in [`Self::dirs`], to be changed; in memory from then on.
    pub fn files_mut(&mut self, at: usize) -> &mut [FileRec] {
        let Some(&dir) = self.dirs.get(at) else {
            return &mut [];
        };
        // Nobody writes into the cache's file: all of the directory moves into memory.
        if self.is_cached(&dir) {
            let first = self.next_place();
            if let Files::Cached(records) = self.files_of(&dir) {
                let files: Vec<_> = records.iter().collect();
                self.files.extend(files);
            }
            let end = self.next_place();
            let dir = &mut self.dirs[at];
            (dir.first, dir.end) = (first, end);
        }
        let behind = self.cached_files();
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

    /// Marks the directories over a dirty one dirty: their trees have to be made again, too.
    pub fn mark_ancestors_dirty(&mut self) {
        // Parents come before children: one pass backwards carries the mark up to the root.
        for at in (1..self.dirs.len()).rev() {
            if self.dirs[at].flags.has(DirFlags::DIRTY) {
                let parent = self.dirs[at].parent as usize;
                self.dirs[parent].flags |= DirFlags::DIRTY;
            }
        }
    }

    /// Where the next file will be: [`Self::push_file`].
    pub fn next_place(&self) -> u32 {
        let made = u32::try_from(self.files.len()).ok();
        made.and_then(|made| made.checked_add(self.cached_files()))
            .expect("fewer than 2^32 names")
    }

    /// Makes room for this many files and bytes of names more.
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

    /// The directory at a path, if it is on disk: one that only leads to sparse entries need not be.
    pub fn dir_on_disk(&self, path: &[u8]) -> Option<&DirRec> {
        let dir = self.dirs.get(self.find_dir(path)?)?;
        (!dir.flags.has(DirFlags::VIRTUAL)).then_some(dir)
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

    /// Whether a submodule is at a path.
    pub fn is_submodule(&self, path: &[u8]) -> bool {
        let file = self.file(path);
        file.is_some_and(|file| file.kind == Kind::Gitlink)
    }

    /// Every name with its directory, in pre-order of directories.
    pub fn entries(&self) -> impl Iterator<Item = (&DirRec, FileRec)> {
        self.dirs
            .iter()
            .flat_map(move |dir| self.files_of(dir).iter().map(move |file| (dir, file)))
    }

    /// Every directory but the root, and every captured file and symlink on disk.
    pub fn paths_on_disk(&self) -> Vec<Vec<u8>> {
        let dirs = self
            .dirs
            .iter()
            .filter(|dir| !dir.flags.has(DirFlags::VIRTUAL));
        let dirs = dirs.map(|dir| self.dir_path(dir));
        let dirs = dirs.filter(|path| !path.is_empty()).map(<[u8]>::to_vec);
        let files = self.entries().filter(|(_, file)| file.kind.is_on_disk());
        let files = files.map(|(dir, file)| self.path_of(dir, &file));
        dirs.chain(files).collect()
    }

    /// The places in [`Self::dirs`] of the directories whose files are in memory: only there can one differ from the cache.
    pub fn dirs_in_memory(&self) -> Vec<usize> {
        let made = self.dirs.iter().enumerate();
        made.filter(|(_, dir)| !self.is_cached(dir))
            .map(|(at, _)| at)
            .collect()
    }

    /// The files in memory, each with the place of its directory and its own among that directory's files.
    pub fn files_in_memory(&self) -> impl Iterator<Item = (usize, usize, FileRec)> {
        self.dirs_in_memory().into_iter().flat_map(move |at| {
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

/// Orders directory paths so that a parent stands right before what lies beneath it: by bytes, `/` first of all.
pub fn preorder(a: &[u8], b: &[u8]) -> Ordering {
    let at = common(a, b);
    // By bytes alone `a-b` would come between `a` and `a/b`.
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
}
