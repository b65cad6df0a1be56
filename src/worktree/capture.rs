//! From a scanned manifest to objects: changed files to blobs, changed directories to trees.
//!
//! Bytes are stored raw: no filter, no end-of-line conversion. A file that changes while it is read is read again; after three
//! tries it is taken as read and flagged `UNSTABLE`. What cannot be read, or vanished, is flagged so and never gets an id.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsFd;

use rustix::io::Errno;

use super::manifest::{DirFlags, FileFlags, FileRec, Kind, Manifest, RawOid, no_oid};
use crate::error::{Result, ResultExt};
use crate::git::Oid;
use crate::git::access::has_attributes;
use crate::git::fs::{Root, Stamp, is_racy, read_link_at, stamp_of};
use crate::git::objects::{Hasher, ObjectKind, PutError, hash, is_collision};
use crate::git::path;
use crate::git::threads;
use crate::git::tree;
use crate::work::{Work, count};

/// Files up to this size are read whole; larger ones are streamed.
const WHOLE: u64 = 4 << 20;
/// What is only hashed is read in pieces of this size.
const BUFFER: usize = 1 << 20;
/// How often a file that changes under our hands is read.
const TRIES: usize = 3;
/// Files a worker takes at a time.
const CHUNK: usize = 16;
/// Reading and hashing a file takes as long as looking at so many.
const WEIGHT: usize = 4;

/// Where objects go: the repository, or nowhere when only their ids are wanted.
pub trait Sink: Sync {
    /// Stores an object.
    fn put(&self, kind: ObjectKind, data: &[u8]) -> Result<Oid>;
    /// Stores a blob of exactly `size` bytes.
    ///
    /// # Errors
    /// `SizeChanged` when the reader gives fewer or more; nothing is stored then.
    fn put_reader(&self, size: u64, reader: &mut dyn Read) -> std::result::Result<Oid, PutError>;
}

/// The sink that only hashes.
pub struct HashOnly;

impl Sink for HashOnly {
    fn put(&self, kind: ObjectKind, data: &[u8]) -> Result<Oid> {
        hash(kind, data)
    }

    fn put_reader(&self, size: u64, reader: &mut dyn Read) -> std::result::Result<Oid, PutError> {
        let mut hasher = Hasher::new(ObjectKind::Blob, size);
        let most = usize::try_from(size).unwrap_or(BUFFER).min(BUFFER);
        let mut buffer = vec![0; most + 1];
        let mut total = 0;
        loop {
            let count = reader.read(&mut buffer).map_err(PutError::Source)?;
            if count == 0 {
                break;
            }
            total += count as u64;
            if total > size {
                return Err(PutError::SizeChanged);
            }
            hasher.update(&buffer[..count]);
        }
        if total != size {
            return Err(PutError::SizeChanged);
        }
        hasher.finish().map_err(PutError::Failed)
    }
}

/// Called with the bytes of each tree made.
pub type SeeTree<'a> = &'a mut dyn FnMut(Oid, Vec<u8>);

/// How the hashing is done.
#[derive(Debug, Clone, Copy)]
pub struct Hashing {
    /// When the scan started, nanoseconds since the epoch: what may have changed since is racy.
    pub started: i64,
    /// Whether the owner's x bit decides the mode of regular files.
    pub modes_from_disk: bool,
}

/// Gives every file flagged `TO_HASH` its object.
pub fn hash_files(
    root: &Root,
    manifest: &mut Manifest,
    sink: &dyn Sink,
    how: Hashing,
    progress: &dyn crate::progress::Progress,
) -> Result<()> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for (at, nth, rec) in manifest.files_in_memory() {
        if rec.flags.has(FileFlags::TO_HASH) {
            let full = manifest.path_of(&manifest.dirs[at], &rec);
            wanted.push(Wanted { at, nth, full, rec });
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    progress.begin("capturing", Some(wanted.len() as u64));
    let chunks: Vec<_> = wanted.chunks(CHUNK).collect();
    let amount = wanted.len() * WEIGHT;
    let capture = |chunk: &&[Wanted], taken: &mut Taken| {
        let reader = Reader { root, sink, how };
        for file in *chunk {
            let rec = reader.capture(&file.full, &file.rec, &mut taken.buffer)?;
            taken.files.push((file.at, file.nth, rec));
            progress.advance(1);
        }
        Ok(())
    };
    let (parts, failed) = threads::gather(&chunks, amount, capture);
    progress.end();
    if let Some(error) = failed {
        return Err(error);
    }
    for (at, nth, rec) in parts.into_iter().flat_map(|part| part.files) {
        if let Some(file) = manifest.files_mut(at).get_mut(nth) {
            *file = rec;
        }
    }
    Ok(())
}

/// How many ids are unproven ([`UNPROVEN`]), and how many bytes of files stand behind them.
pub fn unproven(manifest: &Manifest) -> (u64, u64) {
    let files = manifest.entries().map(|(_, file)| file);
    files
        .filter(|file| file.flags.has(FileFlags::UNPROVEN))
        .fold((0, 0), |(count, bytes), file| {
            (count + 1, bytes + file.stamp.size)
        })
}

/// What proving ids by content found.
#[derive(Debug, Default)]
pub struct Proven {
    /// How many files were read.
    pub looked_at: usize,
    /// How many are what their ids say.
    pub same: usize,
    /// Files that did not change since their ids were taken, and have other bytes; with those ids.
    pub wrong: Vec<(Vec<u8>, Oid)>,
}

/// Proves unproven ids by content, of those paths of which `wanted` holds. A file that is what its id says loses the mark, one
/// that is not is to be hashed.
///
/// # Errors
/// A file that cannot be read for another reason than permissions.
pub fn prove_seeds(
    root: &Root,
    manifest: &mut Manifest,
    how: Hashing,
    wanted: &dyn Fn(&[u8]) -> bool,
) -> Result<Proven> {
    let mut seeds: Vec<Wanted> = Vec::new();
    for at in 0..manifest.dirs.len() {
        let dir = &manifest.dirs[at];
        for (nth, rec) in manifest.files_of(dir).iter().enumerate() {
            if rec.flags.only(FileFlags::UNPROVEN | FileFlags::TO_HASH) != FileFlags::UNPROVEN {
                continue;
            }
            let full = manifest.path_of(dir, &rec);
            if wanted(&full) {
                seeds.push(Wanted { at, nth, full, rec });
            }
        }
    }
    let chunks: Vec<_> = seeds.chunks(CHUNK).collect();
    let look = |chunk: &&[Wanted], found: &mut Taken| {
        let sink = &HashOnly;
        let reader = Reader { root, sink, how };
        for file in *chunk {
            let rec = reader.capture(&file.full, &file.rec, &mut found.buffer)?;
            found.files.push((file.at, file.nth, rec));
        }
        Ok(())
    };
    let (parts, failed) = threads::gather(&chunks, seeds.len() * WEIGHT, look);
    if let Some(error) = failed {
        return Err(error);
    }
    let mut proven = Proven {
        looked_at: seeds.len(),
        ..Proven::default()
    };
    for (at, nth, seen) in parts.into_iter().flat_map(|part| part.files) {
        let dir = manifest.dirs[at];
        let Some(file) = manifest.files_mut(at).get_mut(nth) else {
            continue;
        };
        file.flags = file
            .flags
            .without(FileFlags::UNPROVEN | FileFlags::ATTRIBUTES)
            | seen.flags.only(FileFlags::ATTRIBUTES);
        let is_the_one = seen.kind == file.kind && seen.stamp == file.stamp;
        if is_the_one && seen.oid == file.oid {
            proven.same += 1;
            continue;
        }
        file.flags = file.flags.without(FileFlags::SEEDED) | FileFlags::TO_HASH;
        let file = *file;
        if is_the_one {
            let path = manifest.path_of(&dir, &file);
            proven.wrong.push((path, file.oid.get()));
        }
        set_dirty(manifest, at);
    }
    Ok(proven)
}

/// Marks a directory and all above it as changed: their trees are made anew.
fn set_dirty(manifest: &mut Manifest, mut at: usize) {
    while let Some(dir) = manifest.dirs.get_mut(at) {
        dir.flags |= DirFlags::DIRTY;
        if at == 0 {
            return;
        }
        at = dir.parent as usize;
    }
}

/// A file that is to be hashed: its directory's place, its own among the directory's files, its path and what is known of it.
struct Wanted {
    at: usize,
    nth: usize,
    full: Vec<u8>,
    rec: FileRec,
}

/// What one thread captured.
#[derive(Default)]
struct Taken {
    files: Vec<(usize, usize, FileRec)>,
    /// What small files are read into.
    buffer: Vec<u8>,
}

struct Reader<'a> {
    root: &'a Root,
    sink: &'a dyn Sink,
    how: Hashing,
}

impl Reader<'_> {
    fn capture(&self, full: &[u8], rec: &FileRec, buffer: &mut Vec<u8>) -> Result<FileRec> {
        count(Work::FileReads);
        let result = if rec.kind == Kind::Symlink {
            self.symlink(full, rec)
        } else {
            self.file(full, rec, buffer)
        };
        result.context(|| format!("cannot capture '{}'", path::display(full)))
    }

    fn symlink(&self, full: &[u8], rec: &FileRec) -> Result<FileRec> {
        let (dir, name) = path::split(full);
        let target = match self.root.open_dir(dir) {
            Ok(dir) => read_link_at(dir.as_fd(), name),
            Err(errno) => Err(errno),
        };
        match target {
            Ok(target) => {
                let oid = self.sink.put(ObjectKind::Blob, &target)?;
                Ok(FileRec {
                    oid: oid.into(),
                    flags: rec.flags.without(FileFlags::TO_HASH),
                    ..*rec
                })
            }
            // Replaced by something else since the scan: the directory's stamp is racy, the next scan sees it.
            Err(Errno::NOENT | Errno::INVAL | Errno::NOTDIR | Errno::LOOP) => {
                Ok(without(rec, Kind::Gone))
            }
            Err(Errno::ACCESS | Errno::PERM) => Ok(without(rec, Kind::Unreadable)),
            Err(errno) => Err(errno.into()),
        }
    }

    fn file(&self, full: &[u8], rec: &FileRec, buffer: &mut Vec<u8>) -> Result<FileRec> {
        let fd = match self.root.open_file(full) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => {
                return Ok(without(rec, Kind::Gone));
            }
            Err(Errno::ACCESS | Errno::PERM) => return Ok(without(rec, Kind::Unreadable)),
            Err(errno) => return Err(errno.into()),
        };
        let mut file = File::from(fd);
        for attempt in 1.. {
            let before = stamp_of(file.as_fd())?;
            if !before.is_file() {
                return Ok(without(rec, Kind::Gone));
            }
            file.rewind()?;
            let last = attempt >= TRIES;
            let taken = self.read_once(&mut file, &before, buffer, last);
            let oid = match taken {
                Ok(oid) => oid,
                Err(PutError::SizeChanged) if attempt < TRIES * 10 => continue,
                Err(PutError::Failed(error)) if is_collision(&error) => {
                    return Ok(without(rec, Kind::Collision));
                }
                Err(error) => return Err(error.into()),
            };
            let attributes = has_attributes(&file)?;
            let after = stamp_of(file.as_fd())?;
            let stable = before == after;
            if stable || last {
                let taken = self.taken(rec, &after, oid, stable);
                let flag = FileFlags::ATTRIBUTES.when(attributes);
                return Ok(FileRec {
                    flags: taken.flags | flag,
                    ..taken
                });
            }
        }
        unreachable!("the loop above only ends by returning")
    }

    fn taken(&self, rec: &FileRec, stamp: &Stamp, oid: Oid, stable: bool) -> FileRec {
        let mut flags = rec.flags.without(
            FileFlags::TO_HASH
                | FileFlags::RACY
                | FileFlags::UNSTABLE
                | FileFlags::UNPROVEN
                | FileFlags::ATTRIBUTES,
        );
        let started = self.how.started;
        if is_racy(stamp.ctime, started) || is_racy(stamp.mtime, started) {
            flags |= FileFlags::RACY;
        }
        if !stable {
            flags |= FileFlags::RACY | FileFlags::UNSTABLE;
        }
        let git_mode = match (self.how.modes_from_disk, stamp.mode & 0o100) {
            (false, _) => rec.git_mode,
            (true, 0) => 0o100_644,
            (true, _) => 0o100_755,
        };
        FileRec {
            oid: oid.into(),
            flags,
            git_mode,
            stamp: *stamp,
            ..*rec
        }
    }

    fn read_once(
        &self,
        file: &mut File,
        before: &Stamp,
        buffer: &mut Vec<u8>,
        last: bool,
    ) -> std::result::Result<Oid, PutError> {
        if before.size <= WHOLE {
            buffer.clear();
            // One byte more than expected shows growth; on the last try whatever is there is taken, within reason.
            let most = if last { WHOLE * 4 } else { before.size + 1 };
            file.take(most)
                .read_to_end(buffer)
                .map_err(PutError::Source)?;
            return self
                .sink
                .put(ObjectKind::Blob, buffer)
                .map_err(PutError::Failed);
        }
        if last {
            // A file that only grows is taken up to the size it had.
            return self
                .sink
                .put_reader(before.size, &mut file.take(before.size));
        }
        self.sink.put_reader(before.size, file)
    }
}

fn without(rec: &FileRec, kind: Kind) -> FileRec {
    FileRec {
        kind,
        flags: FileFlags::NONE,
        git_mode: 0,
        oid: RawOid::default(),
        ..*rec
    }
}

/// Drops the names that vanished while being captured.
pub fn drop_gone(manifest: &mut Manifest) {
    for at in manifest.dirs_in_memory() {
        let files = manifest.files_of(&manifest.dirs[at]);
        if files.iter().any(|file| file.kind == Kind::Gone) {
            manifest.retain_files(at, |file| file.kind != Kind::Gone);
        }
    }
}

/// What git's cache tree knows of a directory: the number of entries beneath it and its tree, if that is valid.
pub trait KnownTrees: Copy {
    /// The tree, and how many entries of the index lie beneath.
    fn tree(self) -> Option<(Oid, usize)>;
    /// The same of a directory in it.
    fn child(self, name: &[u8]) -> Option<Self>;
}

/// Takes the trees of dirty directories from git's cache tree, as far as they hold what the index has and nothing else:
/// there every captured name has its entry's id and mode, and there are as many as entries. `has`: the tree exists.
pub fn take_known_trees(
    manifest: &mut Manifest,
    root: Option<impl KnownTrees>,
    has: &dyn Fn(Oid) -> bool,
) {
    let mut counts: Vec<(usize, usize)> = Vec::with_capacity(manifest.dirs.len());
    for dir in &manifest.dirs {
        let captured = manifest.files_of(dir).iter();
        let captured = captured.filter(|file| file.kind.in_tree());
        counts.push(captured.fold((0, 0), |(all, seeded), file| {
            (
                all + 1,
                seeded + usize::from(file.flags.has(FileFlags::SEEDED)),
            )
        }));
    }
    for at in (1..manifest.dirs.len()).rev() {
        let parent = manifest.dirs[at].parent as usize;
        counts[parent].0 += counts[at].0;
        counts[parent].1 += counts[at].1;
    }
    let mut nodes = Vec::with_capacity(manifest.dirs.len());
    for (at, (all, seeded)) in counts.into_iter().enumerate() {
        let dir = &manifest.dirs[at];
        let node = match at {
            0 => root,
            _ => nodes
                .get(dir.parent as usize)
                .copied()
                .flatten()
                .and_then(|above| KnownTrees::child(above, path::split(manifest.dir_path(dir)).1)),
        };
        nodes.push(node);
        let known = node.and_then(KnownTrees::tree);
        if dir.flags.has(DirFlags::DIRTY)
            && let Some((tree, entries)) = known
            && entries > 0
            && all == entries
            && seeded == entries
            && has(tree)
        {
            let dir = &mut manifest.dirs[at];
            dir.tree = tree;
            dir.flags = dir.flags.without(DirFlags::DIRTY);
        }
    }
    for at in manifest.dirs_in_memory() {
        for file in manifest.files_mut(at) {
            file.flags = file.flags.without(FileFlags::SEEDED);
        }
    }
}

/// From so many directories of one depth on their trees are made by several threads.
const FEW_TREES: usize = 16;

/// Makes the trees of dirty directories, the deepest first, and answers the root's. Directories without captured files have
/// none.
pub fn build_trees(manifest: &mut Manifest, sink: &dyn Sink, see: SeeTree<'_>) -> Result<Oid> {
    let mut depths: Vec<usize> = Vec::with_capacity(manifest.dirs.len());
    let mut levels: Vec<Vec<usize>> = Vec::new();
    let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, dir) in manifest.dirs.iter().enumerate() {
        let parent = dir.parent as usize;
        let depth = depths.get(parent).map_or(0, |above| above + 1);
        depths.push(depth);
        if dir.flags.has(DirFlags::DIRTY) {
            levels.resize(levels.len().max(depth + 1), Vec::new());
            levels[depth].push(at);
        }
        if at > 0 && manifest.dirs[parent].flags.has(DirFlags::DIRTY) {
            below.entry(parent).or_default().push(at);
        }
    }
    for level in levels.iter().rev() {
        let made = threads::map_from(FEW_TREES, level, |&at| {
            let children = below.get(&at).map_or(&[][..], Vec::as_slice);
            tree_of(manifest, at, children, sink)
        });
        for (&at, made) in level.iter().zip(made) {
            let dir = &mut manifest.dirs[at];
            dir.flags = dir.flags.without(DirFlags::DIRTY);
            dir.tree = match made? {
                Some((oid, bytes)) => {
                    see(oid, bytes);
                    oid
                }
                None => no_oid(),
            };
        }
    }
    let root = manifest.dirs.first().map_or_else(no_oid, |root| root.tree);
    if root != no_oid() {
        return Ok(root);
    }
    let empty = sink.put(ObjectKind::Tree, b"")?;
    see(empty, Vec::new());
    if let Some(dir) = manifest.dirs.first_mut() {
        dir.tree = empty;
    }
    Ok(empty)
}

/// A directory's tree and its bytes; None when it would be empty. `children`: the directories in it, whose trees are made.
fn tree_of(
    manifest: &Manifest,
    at: usize,
    children: &[usize],
    sink: &dyn Sink,
) -> Result<Option<(Oid, Vec<u8>)>> {
    let dir = &manifest.dirs[at];
    let files = manifest
        .files_of(dir)
        .iter()
        .filter(|file| file.kind.in_tree())
        .map(|file| tree::Entry {
            name: manifest.bytes(file.name),
            node: tree::Node {
                mode: file.git_mode,
                oid: file.oid.get(),
            },
        });
    let children = children.iter().map(|&child| &manifest.dirs[child]);
    let dirs = children
        .filter(|child| child.tree != no_oid())
        .map(|child| tree::Entry {
            name: path::split(manifest.dir_path(child)).1,
            node: tree::Node {
                mode: tree::DIR_MODE,
                oid: child.tree,
            },
        });
    let mut entries: Vec<_> = files.chain(dirs).collect();
    if entries.is_empty() {
        return Ok(None);
    }
    let bytes = tree::encode(&mut entries);
    let oid = sink.put(ObjectKind::Tree, &bytes)?;
    Ok(Some((oid, bytes)))
}

/// How many files and directories would be written: what decides between loose objects and a pack.
pub fn amount(manifest: &Manifest) -> (usize, u64) {
    let files = manifest.files_in_memory();
    let files = files.filter(|(_, _, file)| file.flags.has(FileFlags::TO_HASH));
    let (count, largest) = files.fold((0, 0), |(count, largest), (_, _, file)| {
        (count + 1, file.stamp.size.max(largest))
    });
    let dirs = manifest.dirs.iter();
    let dirs = dirs.filter(|dir| dir.flags.has(DirFlags::DIRTY)).count();
    (count + dirs, largest)
}
