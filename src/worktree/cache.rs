//! The stat cache: the last scan's manifest on disk, private to one worktree.
//!
//! It exists to make the next scan cheap and may be deleted at any time. It is never trusted: length, magic, version and a
//! checksum over everything are checked, every record is validated, and on any doubt there is no cache and the working
//! tree is read afresh. Layout (little endian): a 64-byte header, the meta document (JSON), directory records of 92 bytes and
//! an id, file records of 60 bytes and an id, the names. How long an id is follows from the repository's format, and stands in
//! the header: a cache of another format is none. It is replaced whole by rename, so a reader never sees half of one, and read through
//! a memory map, in which the records of files stay: see [`Manifest`].
//!
//! Writing it whole costs more than looking at a few changed files. So what differs from it may stand in a patch beside it: of
//! the same layout, with the directories that differ from the base, all their files, and the names that are new. A patch
//! names the base that it belongs to and is nothing beside another one; without it the base stands for itself, for an older
//! cache is as good a start.

mod identity;
mod patch;
mod records;

use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::manifest::cached::{self, CachedRecords};
use super::manifest::{DirRec, FileRec, Files, Manifest, Name};
use crate::error::Result;
use crate::git::ObjectFormat;
use crate::git::fs::{self, Durable};
use crate::git::mapped::{self, Bytes, Use};
use crate::work::{Work, count};
pub use identity::Identity;
use records::{Frame, Magic, SUM_AT, Sum, dir_size, header, is_whole, put_dir, read_dir, seal};

const MAGIC: Magic = (*b"twcache\n", 8);

/// What the manifest was made under: all of it must hold again for its classification to be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Hash over everything that decides what is captured: ignore files outside the tree, globs, limits, forced paths.
    pub options: String,
    /// The ref of the commit that keeps every id in the manifest. Empty when nothing does.
    pub anchor_ref: String,
    /// That commit.
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

/// A file of ours and where its parts are: the base, or a patch of it.
struct Framed {
    bytes: Bytes,
    frame: Frame,
}

impl Framed {
    /// By the lengths that its header tells; whether the bytes are whole is asked apart.
    fn open(bytes: Bytes, magic: Magic, format: ObjectFormat) -> Option<Self> {
        let frame = Frame::read(&bytes, magic, format)?;
        Some(Self { bytes, frame })
    }

    fn is_whole(&self) -> bool {
        is_whole(&self.bytes)
    }

    fn part(&self, start: usize, end: usize) -> &[u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The meta document.
    fn meta(&self) -> &[u8] {
        self.part(records::HEADER, self.frame.dirs_at)
    }

    /// The records of directories.
    fn dirs(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.part(self.frame.dirs_at, self.frame.files_at)
            .chunks_exact(dir_size(self.frame.format))
    }

    /// The records of files, one after the other.
    fn files(&self) -> &[u8] {
        self.part(self.frame.files_at, self.frame.names_at)
    }

    fn names(&self) -> &[u8] {
        self.part(self.frame.names_at, self.bytes.len())
    }
}

/// Where the patch of a cache file is.
fn patch_of(file: &Path) -> PathBuf {
    let mut patch = file.as_os_str().to_owned();
    patch.push(".patch");
    patch.into()
}

fn map(file: &Path, what: Use) -> Option<Bytes> {
    let file = crate::git::regular::open(file).ok()?;
    if file.metadata().ok()?.len() < records::HEADER as u64 {
        return None;
    }
    mapped::map(&file, what).map(Bytes::Mapped).ok()
}

/// Reads the cache of a worktree of a repository of this format, and what it was made under; `None` when there is none, or on
/// any doubt.
pub fn load(file: &Path, format: ObjectFormat) -> Option<(Manifest, Meta)> {
    load_identified(file, format).map(|(manifest, meta, _)| (manifest, meta))
}

/// As [`load`], and which state of the cache it is.
pub fn load_identified(file: &Path, format: ObjectFormat) -> Option<(Manifest, Meta, Identity)> {
    let base = open(map(file, Use::Whole)?, format)?;
    let id = base.manifest.cached()?.id();
    // Base first, patch second: one that was replaced in between names another base, and is not used.
    let patch = fs::read_optional(&patch_of(file)).ok().flatten();
    let identity = Identity::new(id, patch.as_deref());
    let patched = patch.and_then(|patch| patch::put_on(&base.manifest, patch, format));
    if let Some((manifest, meta)) = patched {
        return Some((manifest, meta, identity));
    }
    let (manifest, meta) = base.alone()?;
    Some((manifest, meta, Identity::new(id, None)))
}

/// Writes the cache: as a patch where not much differs from the one that is there. Answers which state of it that is.
pub fn save(
    file: &Path,
    manifest: &Manifest,
    meta: &Meta,
    format: ObjectFormat,
) -> Result<Identity> {
    count(Work::CacheWrites);
    // Without its checksum, which means reading all of it: the manifest stands on records that were checked when they were loaded.
    let base = map(file, Use::Parts).and_then(|bytes| Framed::open(bytes, MAGIC, format));
    if let Some(patch) = base.and_then(|base| patch::encode(&base, manifest, meta)) {
        // Lost in a crash, it costs one full look.
        fs::write_atomic(&patch_of(file), &patch, Durable::No)?;
        let id = manifest.cached().map_or(0, CachedRecords::id);
        return Ok(Identity::new(id, Some(&patch)));
    }
    let id = getrandom::u64().map_err(|error| std::io::Error::other(error.to_string()))?;
    // The names of all files, also of those that others may not list, are in it: for the owner alone.
    fs::write_atomic_by(file, Durable::No, 0o600, &mut |file| {
        let mut sum = Sum::default();
        put_whole(manifest, meta, (id, format), |piece| {
            sum.add(piece);
            file.write_all(piece)
        })?;
        // The header comes first, but its checksum is known only at the end.
        file.write_all_at(&sum.bytes(), SUM_AT as u64)
    })?;
    // It belongs to the base that was there, and says nothing beside this one.
    fs::remove_optional(&patch_of(file))?;
    Ok(Identity::new(id, None))
}

/// Removes the cache.
pub fn remove(file: &Path) -> Result<()> {
    fs::remove_optional(file)?;
    fs::remove_optional(&patch_of(file))
}

/// The bytes of a cache file. `id`: of this state of it.
pub fn encode(manifest: &Manifest, meta: &Meta, id: u64, format: ObjectFormat) -> Vec<u8> {
    let mut out = Vec::new();
    let put = |piece: &[u8]| {
        out.extend_from_slice(piece);
        Ok(())
    };
    put_whole(manifest, meta, (id, format), put).expect("memory takes it");
    seal(&mut out);
    out
}

/// A cache file is handed over in pieces of this size.
const PIECE: usize = 1 << 16;

/// Hands over a cache file, whose checksum is still to be put in, piece by piece: directories and files in a row, and no other
/// names than theirs.
fn put_whole(
    manifest: &Manifest,
    meta: &Meta,
    (id, format): (u64, ObjectFormat),
    mut put: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let meta = serde_json::to_vec(meta).expect("plain data serialises");
    let files = || manifest.dirs.iter().map(|dir| manifest.files_of(dir));
    let count = files().map(Files::len).sum();
    let paths: usize = manifest.dirs.iter().map(|dir| dir.path.len as usize).sum();
    let all = || files().flat_map(|files| (0..files.len()).filter_map(move |nth| files.name(nth)));
    let names: usize = all().map(|name| name.len as usize).sum();
    let lengths = [meta.len(), manifest.dirs.len(), count, paths + names];
    let mut out = header(MAGIC, format, id, lengths);
    out.reserve(PIECE * 2);
    out.extend_from_slice(&meta);
    let mut flush = |out: &mut Vec<u8>, most: usize| {
        if out.len() > most {
            put(out)?;
            out.clear();
        }
        Ok::<(), io::Error>(())
    };
    let mut place = Places::default();
    for dir in &manifest.dirs {
        let path = place.name(dir.path.len);
        let (first, end) = place.files(manifest.files_of(dir).len());
        let dir = DirRec {
            path,
            first,
            end,
            ..*dir
        };
        put_dir(&mut out, format, &dir, (0, 0));
        flush(&mut out, PIECE)?;
    }
    for file in files().flat_map(Files::iter) {
        let name = place.name(file.name.len);
        cached::put(&mut out, format, &FileRec { name, ..file });
        flush(&mut out, PIECE)?;
    }
    for dir in &manifest.dirs {
        out.extend_from_slice(manifest.dir_path(dir));
        flush(&mut out, PIECE)?;
    }
    for name in all() {
        out.extend_from_slice(manifest.bytes(name));
        flush(&mut out, PIECE)?;
    }
    flush(&mut out, 0)
}

/// Where the next file and the next name come.
#[derive(Default)]
struct Places {
    files: u32,
    names: u32,
}

impl Places {
    fn name(&mut self, len: u32) -> Name {
        let start = self.names;
        self.names = start.checked_add(len).expect("names stay under 4 GiB");
        Name { start, len }
    }

    fn files(&mut self, count: usize) -> (u32, u32) {
        let first = self.files;
        let end = u32::try_from(count)
            .ok()
            .and_then(|count| first.checked_add(count));
        self.files = end.expect("fewer than 2^32 names");
        (first, self.files)
    }
}

/// Reads the bytes of a cache file; `None` on any doubt.
pub fn decode(bytes: &[u8], format: ObjectFormat) -> Option<(Manifest, Meta)> {
    open(Bytes::Read(bytes.to_vec()), format)?.alone()
}

/// A base whose directories may still be in no order, and its meta document.
struct Opened {
    manifest: Manifest,
    meta: Vec<u8>,
}

impl Opened {
    fn alone(self) -> Option<(Manifest, Meta)> {
        let meta = serde_json::from_slice(&self.meta).ok()?;
        are_in_order(&self.manifest).then_some((self.manifest, meta))
    }
}

fn open(bytes: Bytes, format: ObjectFormat) -> Option<Opened> {
    let base = Framed::open(bytes, MAGIC, format).filter(Framed::is_whole)?;
    let meta = base.meta().to_vec();
    let dirs = base.dirs().map(|record| read_dir(record, format));
    let dirs = dirs.collect::<Option<Vec<_>>>()?;
    let Framed { bytes, frame } = base;
    let cached = CachedRecords::new(bytes, (frame.id, format), frame.files_at, frame.names_at)?;
    are_in_a_row(&dirs, cached.count()).then_some(())?;
    let mut manifest = Manifest::over(cached);
    manifest.dirs = dirs;
    Some(Opened { manifest, meta })
}

/// Whether each directory's files come right behind those of the one before.
fn are_in_a_row(dirs: &[DirRec], files: u32) -> bool {
    let mut next = 0;
    let in_a_row = dirs.iter().all(|dir| {
        let sound = dir.first == next && dir.end >= dir.first;
        next = dir.end;
        sound
    });
    in_a_row && next == files
}

/// The root first, parents before children, paths there and in order.
fn are_in_order(manifest: &Manifest) -> bool {
    let mut last: Option<&[u8]> = None;
    for (at, dir) in manifest.dirs.iter().enumerate() {
        let path = manifest.dir_path(dir);
        let sound = if at == 0 {
            dir.parent == 0 && dir.path.len == 0
        } else {
            (dir.parent as usize) < at && path.len() == dir.path.len as usize
        };
        if !sound || last.is_some_and(|last| super::manifest::preorder(last, path).is_ge()) {
            return false;
        }
        last = Some(path);
    }
    !manifest.dirs.is_empty()
}

#[cfg(test)]
mod tests;
