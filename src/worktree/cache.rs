//! The stat cache: the last scan's manifest on disk, private to one worktree.
//!
//! It exists to make the next scan cheap and may be deleted at any time. It is never trusted: length, magic, version and a
//! checksum over everything are checked, every offset is validated, and on any doubt there is no cache and the working
//! tree is read afresh. Layout (little endian): a 64-byte header, the meta document (JSON), directory records of 96 bytes,
//! file records of 80 bytes, the names. It is read through a memory map and replaced whole by rename, so a reader never sees
//! half of one.
//!
//! Writing it whole costs more than looking at a few changed files. So what differs from it may stand in a patch beside it: of
//! the same layout, with the directories that differ from the base, all their files, and the names that are new. A patch
//! names the base that it belongs to and is nothing beside another one; without it the base stands for itself, for an older
//! cache is as good a start.

mod patch;
mod records;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::manifest::{DirRec, FileRec, Manifest, Name};
use crate::error::Result;
use crate::git::fs::{self, Durable};
use crate::work::{Work, count};
use records::{
    Bytes, DIR, FILE, Frame, header, is_whole, put_dir, put_file, read_dir, read_file, seal,
};

const MAGIC: [u8; 8] = *b"twcache\n";
const VERSION: u32 = 3;

/// What the manifest was made under: all of it must hold again for its classification to be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Hash over everything that decides what is captured: ignore files outside the tree, globs, limits, forced paths.
    pub options: String,
    /// The commit that keeps every id in the manifest, and its ref. Empty when nothing does.
    pub anchor_ref: String,
    /// See `anchor_ref`.
    pub anchor_commit: String,
    /// git's index as it was, and what was derived from it.
    pub index: IndexMeta,
    /// The tree of the root directory.
    pub root_tree: String,
    /// What else follows from the manifest alone, as JSON of who saved it; `null` when too long to keep.
    pub derived: serde_json::Value,
}

/// git's index file and HEAD as they were, and what was derived from them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexMeta {
    /// `[mtime, ctime, ino, size]` of the index file; empty when it may not be trusted (too fresh).
    pub stamp: Vec<i64>,
    /// HEAD's commit, empty when unborn.
    pub head: String,
    /// Hash over the tracked paths (index and HEAD), with what makes them special.
    pub tracked: String,
    /// The index commit that was made of it.
    pub index_commit: String,
    /// The part of the record that the index alone decides (intent-to-add and the like), as JSON; `null` when too long to keep.
    pub record: serde_json::Value,
}

/// A cache file that was opened: its frame is checked and its directories are read, its files are read where they stand.
pub struct Known {
    base: Framed,
    patch: Option<Framed>,
    /// What it was made under.
    pub meta: Meta,
    /// Every directory, in pre-order. Their files are places in the base, or behind its last in the patch.
    pub dirs: Vec<DirRec>,
}

/// A file of ours and where its parts are: the base, or a patch of it.
struct Framed {
    bytes: Source,
    frame: Frame,
}

enum Source {
    Map(memmap2::Mmap),
    Read(Vec<u8>),
}

impl Framed {
    /// By the lengths that its header tells; whether the bytes are whole is asked apart.
    fn open(bytes: Source, magic: [u8; 8], version: u32) -> Option<Self> {
        let frame = Frame::read(bytes.all(), magic, version)?;
        Some(Self { bytes, frame })
    }

    fn is_whole(&self) -> bool {
        is_whole(self.bytes.all())
    }

    fn part(&self, start: usize, end: usize) -> &[u8] {
        self.bytes.all().get(start..end).unwrap_or_default()
    }

    fn meta(&self) -> Option<Meta> {
        serde_json::from_slice(self.part(records::HEADER, self.frame.dirs_at)).ok()
    }

    /// The records of directories.
    fn dirs(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.part(self.frame.dirs_at, self.frame.files_at)
            .chunks_exact(DIR)
    }

    /// The records of files, from one place to another.
    fn files(&self, first: u32, end: u32) -> &[u8] {
        let at = |index: u32| self.frame.files_at + index as usize * FILE;
        self.part(at(first), at(end))
    }

    fn names(&self) -> &[u8] {
        self.part(self.frame.names_at, self.bytes.all().len())
    }
}

impl Source {
    fn all(&self) -> &[u8] {
        match self {
            Self::Map(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

impl Known {
    fn names(&self) -> Bytes<'_> {
        Bytes {
            base: self.base.names(),
            more: self.patch.as_ref().map_or(&[], Framed::names),
        }
    }

    /// A name or path.
    pub fn bytes(&self, name: Name) -> &[u8] {
        self.names().get(name).unwrap_or_default()
    }

    /// The files of a directory, as they stand; None in place of one that cannot be right.
    pub fn files_of(&self, dir: &DirRec) -> impl Iterator<Item = Option<FileRec>> {
        let names = self.names();
        let behind = self.base.frame.files();
        let records = match (&self.patch, dir.first.checked_sub(behind)) {
            (Some(patch), Some(first)) => patch.files(first, dir.end.saturating_sub(behind)),
            _ => self.base.files(dir.first, dir.end),
        };
        records
            .chunks_exact(FILE)
            .map(move |record| read_file(record, &names))
    }

    /// The whole manifest; `None` when a file's record cannot be right.
    pub fn manifest(&self) -> Option<Manifest> {
        let names = self.names();
        let mut manifest = Manifest {
            dirs: self.dirs.clone(),
            files: Vec::with_capacity(self.base.frame.files() as usize + 64),
            names: [names.base, names.more].concat(),
        };
        for dir in &mut manifest.dirs {
            let first = u32::try_from(manifest.files.len()).ok()?;
            for file in self.files_of(dir) {
                manifest.files.push(file?);
            }
            dir.first = first;
            dir.end = u32::try_from(manifest.files.len()).ok()?;
        }
        Some(manifest)
    }
}

/// Where the patch of a cache file is.
fn patch_of(file: &Path) -> PathBuf {
    let mut patch = file.as_os_str().to_owned();
    patch.push(".patch");
    patch.into()
}

fn map(file: &Path) -> Option<Source> {
    let file = std::fs::File::open(file).ok()?;
    if file.metadata().ok()?.len() < records::HEADER as u64 {
        return None;
    }
    // SAFETY: the file is ours, private, and only ever replaced by rename, so its length cannot shrink under the map
    // unless somebody tampers with the git directory.
    #[expect(unsafe_code, reason = "memory maps are unsafe by nature; see above")]
    let map = unsafe { memmap2::Mmap::map(&file) }.ok()?;
    Some(Source::Map(map))
}

/// Opens the cache; `None` when there is none, or on any doubt.
pub fn load(file: &Path) -> Option<Known> {
    let mut known = open(map(file)?)?;
    if let Ok(Some(bytes)) = fs::read_optional(&patch_of(file)) {
        patch::add(&mut known, bytes);
    }
    Some(known)
}

/// Writes the cache: as a patch where not much differs from the one that is there.
pub fn save(file: &Path, manifest: &Manifest, meta: &Meta) -> Result<()> {
    count(Work::CacheWrites);
    let base = map(file).and_then(|bytes| Framed::open(bytes, MAGIC, VERSION));
    if let Some(patch) = base.and_then(|base| patch::encode(&base, manifest, meta)) {
        return fs::write_atomic(&patch_of(file), &patch, Durable::No);
    }
    let id = getrandom::u64().map_err(|error| std::io::Error::other(error.to_string()))?;
    fs::write_atomic(file, &encode(manifest, meta, id), Durable::No)?;
    fs::remove_optional(&patch_of(file))
}

/// Removes the cache.
pub fn remove(file: &Path) -> Result<()> {
    fs::remove_optional(file)?;
    fs::remove_optional(&patch_of(file))
}

/// The bytes of a cache file. `id`: of this state of it.
pub fn encode(manifest: &Manifest, meta: &Meta, id: u64) -> Vec<u8> {
    let meta = serde_json::to_vec(meta).expect("plain data serialises");
    let lengths = [
        meta.len(),
        manifest.dirs.len(),
        manifest.files.len(),
        manifest.names.len(),
    ];
    let mut out = header(MAGIC, VERSION, id, lengths);
    out.extend_from_slice(&meta);
    for dir in &manifest.dirs {
        put_dir(&mut out, dir, (0, 0));
    }
    for file in &manifest.files {
        put_file(&mut out, file);
    }
    out.extend_from_slice(&manifest.names);
    seal(&mut out);
    out
}

/// Reads the bytes of a cache file; `None` on any doubt.
pub fn decode(bytes: &[u8]) -> Option<(Manifest, Meta)> {
    let known = open(Source::Read(bytes.to_vec()))?;
    Some((known.manifest()?, known.meta))
}

fn open(bytes: Source) -> Option<Known> {
    let base = Framed::open(bytes, MAGIC, VERSION).filter(Framed::is_whole)?;
    let meta = base.meta()?;
    let dirs = base.dirs().map(read_dir).collect::<Option<Vec<_>>>()?;
    is_sound(&dirs, base.frame.files() as usize, base.names()).then_some(Known {
        base,
        patch: None,
        meta,
        dirs,
    })
}

/// Offsets in range and in a row, directories in order.
fn is_sound(dirs: &[DirRec], files: usize, names: &[u8]) -> bool {
    let mut next = 0;
    let in_a_row = dirs.iter().all(|dir| {
        let sound = dir.first == next && dir.end >= dir.first;
        next = dir.end;
        sound
    });
    let names = Bytes {
        base: names,
        more: &[],
    };
    in_a_row && next as usize == files && are_in_order(dirs, &names)
}

/// The root first, parents before children, paths in order.
fn are_in_order(dirs: &[DirRec], names: &Bytes<'_>) -> bool {
    let mut last: Option<&[u8]> = None;
    for (at, dir) in dirs.iter().enumerate() {
        let parent_ok = if at == 0 {
            dir.parent == 0 && dir.path.len == 0
        } else {
            (dir.parent as usize) < at
        };
        let Some(path) = names.get(dir.path).filter(|_| parent_ok) else {
            return false;
        };
        if last.is_some_and(|last| super::manifest::preorder(last, path).is_ge()) {
            return false;
        }
        last = Some(path);
    }
    !dirs.is_empty()
}

#[cfg(test)]
mod tests;
