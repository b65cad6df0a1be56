//! The stat cache: the last scan's manifest on disk, private to one worktree.
//!
//! It exists to make the next scan cheap and may be deleted at any time. It is never trusted: length, magic, version and a
//! checksum over everything are checked, every offset is validated, and on any doubt there is no cache and the working
//! tree is read afresh. Layout (little endian): a 64-byte header, the meta document (JSON), directory records of 96 bytes,
//! file records of 80 bytes, the names. It is read through a memory map and replaced whole by rename, so a reader never sees
//! half of one.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::manifest::{DirRec, FileRec, Kind, Manifest, Name};
use crate::error::Result;
use crate::git::Oid;
use crate::git::fs::{self, Durable, Stamp};
use crate::work::{Work, count};

const MAGIC: &[u8; 8] = b"twcache\n";
const VERSION: u32 = 2;
const HEADER: usize = 64;
const DIR: usize = 96;
const FILE: usize = 80;

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
    bytes: Bytes,
    /// What it was made under.
    pub meta: Meta,
    /// Every directory, in pre-order.
    pub dirs: Vec<DirRec>,
    files_at: usize,
    names_at: usize,
}

enum Bytes {
    Map(memmap2::Mmap),
    Read(Vec<u8>),
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Self::Map(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

impl Known {
    /// The names of the manifest.
    fn names(&self) -> &[u8] {
        self.bytes.all().get(self.names_at..).unwrap_or_default()
    }

    /// A name or path.
    pub fn bytes(&self, name: Name) -> &[u8] {
        let start = name.start as usize;
        let end = start.saturating_add(name.len as usize);
        self.names().get(start..end).unwrap_or_default()
    }

    /// The files of a directory, as they stand; None in place of one that cannot be right.
    pub fn files_of(&self, dir: &DirRec) -> impl Iterator<Item = Option<FileRec>> {
        let names = self.names();
        let at = |index: u32| self.files_at + index as usize * FILE;
        let records = self.bytes.all().get(at(dir.first)..at(dir.end));
        records
            .unwrap_or_default()
            .chunks_exact(FILE)
            .map(|record| read_file(record, names))
    }

    /// The whole manifest; `None` when a file's record cannot be right.
    pub fn manifest(&self) -> Option<Manifest> {
        let names = self.names();
        let files = self
            .bytes
            .all()
            .get(self.files_at..self.names_at)?
            .chunks_exact(FILE)
            .map(|record| read_file(record, names));
        let mut read = Vec::with_capacity((self.names_at - self.files_at) / FILE);
        for file in files {
            read.push(file?);
        }
        Some(Manifest {
            dirs: self.dirs.clone(),
            files: read,
            names: names.to_vec(),
        })
    }
}

/// Opens the cache; `None` when there is none, or on any doubt.
pub fn load(file: &Path) -> Option<Known> {
    let file = std::fs::File::open(file).ok()?;
    if file.metadata().ok()?.len() < HEADER as u64 {
        return None;
    }
    // SAFETY: the file is ours, private, and only ever replaced by rename, so its length cannot shrink under the map
    // unless somebody tampers with the git directory.
    #[expect(unsafe_code, reason = "memory maps are unsafe by nature; see above")]
    let map = unsafe { memmap2::Mmap::map(&file) }.ok()?;
    open(Bytes::Map(map))
}

/// Writes the cache.
pub fn save(file: &Path, manifest: &Manifest, meta: &Meta) -> Result<()> {
    count(Work::CacheWrites);
    fs::write_atomic(file, &encode(manifest, meta), Durable::No)
}

/// The bytes of a cache file.
pub fn encode(manifest: &Manifest, meta: &Meta) -> Vec<u8> {
    let meta = serde_json::to_vec(meta).expect("plain data serialises");
    let body =
        meta.len() + manifest.dirs.len() * DIR + manifest.files.len() * FILE + manifest.names.len();
    let mut out = Vec::with_capacity(HEADER + body);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    for length in [
        meta.len(),
        manifest.dirs.len(),
        manifest.files.len(),
        manifest.names.len(),
    ] {
        out.extend_from_slice(&(length as u64).to_le_bytes());
    }
    out.resize(HEADER, 0);
    out.extend_from_slice(&meta);
    for dir in &manifest.dirs {
        put_name(&mut out, dir.path);
        for number in [dir.parent, dir.first, dir.end, u32::from(dir.flags)] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        put_stamp(&mut out, &dir.stamp);
        out.extend_from_slice(dir.tree.as_bytes());
        out.extend_from_slice(&[0; 12]);
    }
    for file in &manifest.files {
        put_name(&mut out, file.name);
        out.extend_from_slice(&[file.kind as u8, file.flags, 0, 0]);
        out.extend_from_slice(&file.git_mode.to_le_bytes());
        put_stamp(&mut out, &file.stamp);
        out.extend_from_slice(file.oid.as_bytes());
        out.extend_from_slice(&[0; 4]);
    }
    out.extend_from_slice(&manifest.names);
    let sum = crc32fast::hash(&out[16..]);
    out[12..16].copy_from_slice(&sum.to_le_bytes());
    out
}

fn put_name(out: &mut Vec<u8>, name: Name) {
    out.extend_from_slice(&name.start.to_le_bytes());
    out.extend_from_slice(&name.len.to_le_bytes());
}

/// 40 bytes: the inode's low 60 bits are enough nowhere, so all fields stand whole.
fn put_stamp(out: &mut Vec<u8>, stamp: &Stamp) {
    out.extend_from_slice(&stamp.mtime.to_le_bytes());
    out.extend_from_slice(&stamp.ctime.to_le_bytes());
    out.extend_from_slice(&stamp.ino.to_le_bytes());
    out.extend_from_slice(&stamp.size.to_le_bytes());
    out.extend_from_slice(&stamp.mode.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
}

/// Reads the bytes of a cache file; `None` on any doubt.
pub fn decode(bytes: &[u8]) -> Option<(Manifest, Meta)> {
    let known = open(Bytes::Read(bytes.to_vec()))?;
    Some((known.manifest()?, known.meta))
}

fn open(file: Bytes) -> Option<Known> {
    let bytes = file.all();
    if bytes.get(..8)? != MAGIC || u32_at(bytes, 8)? != VERSION {
        return None;
    }
    if u32_at(bytes, 12)? != crc32fast::hash(bytes.get(16..)?) {
        return None;
    }
    let mut lengths = [0usize; 4];
    for (at, length) in lengths.iter_mut().enumerate() {
        *length = usize::try_from(u64_at(bytes, 16 + at * 8)?).ok()?;
    }
    let [meta_len, dir_count, file_count, names_len] = lengths;
    let dirs_at = HEADER.checked_add(meta_len)?;
    let files_at = dirs_at.checked_add(dir_count.checked_mul(DIR)?)?;
    let names_at = files_at.checked_add(file_count.checked_mul(FILE)?)?;
    if names_at.checked_add(names_len)? != bytes.len() {
        return None;
    }
    let meta: Meta = serde_json::from_slice(bytes.get(HEADER..dirs_at)?).ok()?;
    let records = bytes.get(dirs_at..files_at)?.chunks_exact(DIR);
    let dirs = records.map(read_dir).collect::<Option<Vec<_>>>()?;
    let names = bytes.get(names_at..)?;
    is_sound(&dirs, file_count, names).then_some(Known {
        meta,
        dirs,
        files_at,
        names_at,
        bytes: file,
    })
}

fn read_dir(record: &[u8]) -> Option<DirRec> {
    Some(DirRec {
        path: name_at(record, 0)?,
        parent: u32_at(record, 8)?,
        first: u32_at(record, 12)?,
        end: u32_at(record, 16)?,
        flags: *record.get(20)?,
        stamp: stamp_at(record, 24)?,
        tree: Oid::from_bytes(record.get(64..84)?).ok()?,
    })
}

fn read_file(record: &[u8], names: &[u8]) -> Option<FileRec> {
    let name = name_at(record, 0)?;
    let end = (name.start as usize).checked_add(name.len as usize)?;
    if name.len == 0 || end > names.len() {
        return None;
    }
    Some(FileRec {
        name,
        kind: Kind::from_u8(*record.get(8)?)?,
        flags: *record.get(9)?,
        git_mode: u32_at(record, 12)?,
        stamp: stamp_at(record, 16)?,
        oid: Oid::from_bytes(record.get(56..76)?).ok()?,
    })
}

/// Offsets in range, parents before children, directories in order, ranges in a row.
fn is_sound(dirs: &[DirRec], files: usize, names: &[u8]) -> bool {
    let mut next = 0;
    let mut last: Option<&[u8]> = None;
    for (at, dir) in dirs.iter().enumerate() {
        let start = dir.path.start as usize;
        let path = names.get(start..start.saturating_add(dir.path.len as usize));
        let parent_ok = if at == 0 {
            dir.parent == 0 && dir.path.len == 0
        } else {
            (dir.parent as usize) < at
        };
        let Some(path) = path else { return false };
        if !parent_ok || dir.first != next || dir.end < dir.first {
            return false;
        }
        next = dir.end;
        if last.is_some_and(|last| super::manifest::preorder(last, path).is_ge()) {
            return false;
        }
        last = Some(path);
    }
    !dirs.is_empty() && next as usize == files
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn name_at(bytes: &[u8], at: usize) -> Option<Name> {
    Some(Name {
        start: u32_at(bytes, at)?,
        len: u32_at(bytes, at + 4)?,
    })
}

fn stamp_at(bytes: &[u8], at: usize) -> Option<Stamp> {
    Some(Stamp {
        mtime: i64_at(bytes, at)?,
        ctime: i64_at(bytes, at + 8)?,
        ino: u64_at(bytes, at + 16)?,
        size: u64_at(bytes, at + 24)?,
        mode: u32_at(bytes, at + 32)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worktree::manifest::no_oid;

    fn sample() -> (Manifest, Meta) {
        let mut manifest = Manifest::default();
        let root = manifest.intern(b"");
        let sub = manifest.intern(b"sub");
        let name = manifest.intern(b"f\xff");
        let stamp = Stamp {
            mtime: 1,
            ctime: -2,
            ino: 3,
            size: 4,
            mode: 0o100_644,
        };
        let dir = |path, first, end| DirRec {
            path,
            parent: 0,
            first,
            end,
            flags: 0,
            stamp,
            tree: no_oid(),
        };
        manifest.dirs = vec![dir(root, 0, 0), dir(sub, 0, 1)];
        manifest.files = vec![FileRec {
            name,
            kind: Kind::File,
            flags: 3,
            stamp,
            git_mode: 0o100_644,
            oid: Oid::from_str("1234567890123456789012345678901234567890").expect("oid"),
        }];
        let meta = Meta {
            options: "o".into(),
            ..Meta::default()
        };
        (manifest, meta)
    }

    #[test]
    fn what_was_written_is_read() {
        let (manifest, meta) = sample();
        let (read, read_meta) = decode(&encode(&manifest, &meta)).expect("sound");
        assert_eq!(read_meta, meta);
        assert_eq!(
            read.file(b"sub/f\xff").map(|file| (file.oid, file.stamp)),
            Some((manifest.files[0].oid, manifest.files[0].stamp))
        );
    }

    #[test]
    fn a_damaged_cache_is_no_cache() {
        let (manifest, meta) = sample();
        let good = encode(&manifest, &meta);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x41;
            assert!(decode(&bad).is_none(), "byte {at}");
            assert!(decode(&good[..at]).is_none(), "length {at}");
        }
    }

    #[test]
    fn offsets_are_validated_behind_a_right_checksum() {
        let (manifest, meta) = sample();
        for at in HEADER..encode(&manifest, &meta).len() {
            let mut bad = encode(&manifest, &meta);
            bad[at] = 0xff;
            let sum = crc32fast::hash(&bad[16..]);
            bad[12..16].copy_from_slice(&sum.to_le_bytes());
            // Must not panic, whatever it answers; and what it answers must be walkable.
            if let Some((read, _)) = decode(&bad) {
                for (dir, file) in read.entries() {
                    let _ = read.path_of(dir, file);
                }
            }
        }
    }
}
