//! From a scanned manifest to objects: changed files to blobs, changed directories to trees.
//!
//! Bytes are stored raw: no filter, no end-of-line conversion. A file that changes while it is read is read again; after three
//! tries it is taken as read and flagged `UNSTABLE`. What cannot be read, or vanished, is flagged so and never gets an id.

mod sink;
mod trees;

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::os::fd::AsFd;

use rustix::io::Errno;

use super::manifest::{DirFlags, FileFlags, FileRec, Kind, Manifest, no_oid};
use super::scan::{Ctime, is_racy_stamp, time_of_change};
use crate::error::{Result, ResultExt};
use crate::git::Oid;
use crate::git::access::has_attributes;
use crate::git::fs::{Root, Stamp, may_change_unseen, read_link_at, stamp_of};
use crate::git::objects::{ObjectKind, PutError, is_blob, is_collision};
use crate::git::path;
use crate::git::threads;
use crate::work::{Work, count};

pub use sink::{HashOnly, Sink};
use trees::set_dirty;
pub use trees::{KnownTrees, build_trees, take_known_trees};

/// Files up to this size are read whole; larger ones are streamed.
const WHOLE: u64 = 4 << 20;
/// How often a file that changes under our hands is read.
const TRIES: usize = 3;
/// Files a worker takes at a time.
// So few that no thread is left with a row of large files at the end, so many that threads seldom meet at the counter.
const CHUNK: usize = 16;
/// Reading and hashing a file takes as long as looking at this many.
const WEIGHT: usize = 4;

/// How the hashing is done.
#[derive(Clone, Copy)]
pub struct Hashing<'a> {
    /// When the scan started, nanoseconds since the epoch: what may have changed since is racy.
    pub started: i64,
    /// Whether status change times tell of changes.
    pub ctime: Ctime,
    /// Whether the owner's x bit decides the mode of regular files.
    pub modes_from_disk: bool,
    /// See [`Likely`].
    pub likely: Option<Likely<'a>>,
}

/// The blob that a path probably holds. That is quicker to find true than which other one it is.
pub type Likely<'a> = &'a (dyn Fn(&[u8]) -> Option<Oid> + Sync);

/// Gives every file flagged `TO_HASH` its object.
pub fn hash_files(
    root: &Root,
    manifest: &mut Manifest,
    sink: &dyn Sink,
    how: Hashing<'_>,
    progress: &dyn crate::progress::Progress,
) -> Result<()> {
    let mut files: Vec<FileToRead> = Vec::new();
    for (at, nth, rec) in manifest.files_in_memory() {
        if rec.flags.has(FileFlags::TO_HASH) {
            let full = manifest.path_of(&manifest.dirs[at], &rec);
            files.push(FileToRead { at, nth, full, rec });
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    progress.begin("capturing", Some(files.len() as u64));
    let read = read_all(root, &files, sink, how, &|| progress.advance(1));
    progress.end();
    for (at, nth, rec) in read? {
        if let Some(file) = manifest.files_mut(at).get_mut(nth) {
            *file = rec;
        }
    }
    Ok(())
}

/// How many ids are unproven ([`FileFlags::UNPROVEN`]) of those files of which `which` holds, and how many bytes stand behind them.
pub fn unproven(manifest: &Manifest, which: impl Fn(&FileRec) -> bool) -> (u64, u64) {
    let files = manifest.entries().map(|(_, file)| file);
    files
        .filter(|file| file.flags.has(FileFlags::UNPROVEN) && which(file))
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

/// Proves unproven ids by content, of those files of which `wanted` holds. A file that is what its id says loses the mark, one
/// that is not is to be hashed.
///
/// # Errors
/// A file that cannot be read for another reason than permissions.
pub fn prove_seeds(
    root: &Root,
    manifest: &mut Manifest,
    how: Hashing<'_>,
    wanted: &dyn Fn(&[u8], &FileRec) -> bool,
) -> Result<Proven> {
    let mut seeds: Vec<FileToRead> = Vec::new();
    for at in 0..manifest.dirs.len() {
        let dir = &manifest.dirs[at];
        for (nth, rec) in manifest.files_of(dir).iter().enumerate() {
            // What is to be hashed gets an id of its own content anyway.
            if rec.flags.only(FileFlags::UNPROVEN | FileFlags::TO_HASH) != FileFlags::UNPROVEN {
                continue;
            }
            let full = manifest.path_of(dir, &rec);
            if wanted(&full, &rec) {
                seeds.push(FileToRead { at, nth, full, rec });
            }
        }
    }
    // An id that was taken over says how the repository names objects.
    let format = seeds.first().map(|seed| seed.rec.oid.format());
    let sink = HashOnly(format.unwrap_or_default());
    let read = read_all(root, &seeds, &sink, how, &|| ())?;
    let mut proven = Proven {
        looked_at: seeds.len(),
        ..Proven::default()
    };
    for (at, nth, seen) in read {
        let dir = manifest.dirs[at];
        // Only what was read moves from the mapped cache into memory.
        let Some(file) = manifest.files_mut(at).get_mut(nth) else {
            continue;
        };
        file.flags = file
            .flags
            .without(FileFlags::UNPROVEN | FileFlags::ATTRIBUTES)
            // That somebody has it open for writing stays known: it is read again by the next look.
            | seen
                .flags
                .only(FileFlags::ATTRIBUTES | FileFlags::RACY | FileFlags::UNSTABLE);
        let is_the_one = seen.kind == file.kind && seen.stamp == file.stamp;
        if is_the_one && seen.oid == file.oid {
            proven.same += 1;
            continue;
        }
        // It is captured as it is now, and its directory's tree is not the index's.
        file.flags = file.flags.without(FileFlags::SEEDED) | FileFlags::TO_HASH;
        let file = *file;
        if is_the_one {
            let path = manifest.path_of(&dir, &file);
            proven.wrong.push((path, file.oid));
        }
        set_dirty(manifest, at);
    }
    Ok(proven)
}

/// A file that is to be read: its directory's place, its own among the directory's files, its path and what is known of it.
struct FileToRead {
    at: usize,
    nth: usize,
    full: Vec<u8>,
    rec: FileRec,
}

/// What one thread read.
#[derive(Default)]
struct FilesRead {
    files: Vec<(usize, usize, FileRec)>,
    /// What small files are read into.
    buffer: Vec<u8>,
}

/// Reads files on all cores; each one's record as it is now, with its places. `advance` is told of each.
fn read_all(
    root: &Root,
    files: &[FileToRead],
    sink: &dyn Sink,
    how: Hashing<'_>,
    advance: &(dyn Fn() + Sync),
) -> Result<impl Iterator<Item = (usize, usize, FileRec)> + use<>> {
    let chunks: Vec<_> = files.chunks(CHUNK).collect();
    let read = |chunk: &&[FileToRead], done: &mut FilesRead| {
        let reader = Reader { root, sink, how };
        for file in *chunk {
            let rec = reader.capture(&file.full, &file.rec, &mut done.buffer)?;
            done.files.push((file.at, file.nth, rec));
            advance();
        }
        Ok(())
    };
    let (parts, failed) = threads::gather(&chunks, files.len() * WEIGHT, read);
    match failed {
        Some(error) => Err(error),
        None => Ok(parts.into_iter().flat_map(|part| part.files)),
    }
}

struct Reader<'a> {
    root: &'a Root,
    sink: &'a dyn Sink,
    how: Hashing<'a>,
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
                    oid,
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
            // `NXIO` is what a socket, or a device without a driver, answers to being opened.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => {
                return Ok(without(rec, Kind::Gone));
            }
            // `AGAIN`: another program has a lease on it, and keeps it.
            Err(Errno::ACCESS | Errno::PERM | Errno::AGAIN) => {
                return Ok(without(rec, Kind::Unreadable));
            }
            Err(errno) => return Err(errno.into()),
        };
        let mut file = File::from(fd);
        let mut attempt = 0;
        loop {
            attempt += 1;
            // Of the open file, not of its name: something else may have taken the name since.
            let before = stamp_of(file.as_fd())?;
            if !before.is_file() {
                return Ok(without(rec, Kind::Gone));
            }
            if attempt > 1 {
                // The try before has read to its end.
                file.rewind()?;
            }
            let last = attempt >= TRIES;
            let is_open = may_change_unseen(&file, time_of_change(self.how.ctime, &before));
            let oid = self.read_once(&mut file, full, &before, buffer, last);
            let oid = match oid {
                Ok(oid) => oid,
                // A stream must have the size that it was announced with, so nothing could be taken as read: more tries.
                Err(PutError::SizeChanged) if attempt < TRIES * 10 => continue,
                Err(PutError::Failed(error)) if is_collision(&error) => {
                    return Ok(without(rec, Kind::Collision));
                }
                Err(error) => return Err(error.into()),
            };
            // Before the last look: giving it an attribute moves its time of status change.
            let attributes = has_attributes(&file)?;
            let after = stamp_of(file.as_fd())?;
            let stable = before == after;
            if stable || last {
                let taken = self.taken(rec, &after, oid, stable);
                let flag = FileFlags::ATTRIBUTES.when(attributes) | FileFlags::RACY.when(is_open);
                return Ok(FileRec {
                    flags: taken.flags | flag,
                    ..taken
                });
            }
        }
    }

    fn taken(&self, rec: &FileRec, stamp: &Stamp, oid: Oid, stable: bool) -> FileRec {
        let mut flags = rec.flags.without(
            FileFlags::TO_HASH
                | FileFlags::RACY
                | FileFlags::UNSTABLE
                | FileFlags::UNPROVEN
                | FileFlags::ATTRIBUTES,
        );
        if is_racy_stamp(self.how.ctime, stamp, self.how.started) {
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
            oid,
            flags,
            git_mode,
            stamp: *stamp,
            ..*rec
        }
    }

    fn read_once(
        &self,
        file: &mut File,
        full: &[u8],
        before: &Stamp,
        buffer: &mut Vec<u8>,
        last: bool,
    ) -> std::result::Result<Oid, PutError> {
        if before.size <= WHOLE {
            // On the last try whatever is there is taken, within reason.
            let (most, enough) = if last {
                (WHOLE * 4, WHOLE * 4)
            } else {
                (before.size + 1, before.size)
            };
            let data = read_up_to(file, most, enough, buffer).map_err(PutError::Source)?;
            if let Some(oid) = self.how.likely.and_then(|likely| likely(full))
                && is_blob(oid, data)
                && self.sink.has(oid)
            {
                return Ok(oid);
            }
            return self
                .sink
                .put(ObjectKind::Blob, data)
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

/// Reads at most this many bytes of a file, and no further once it has `enough` and not all that it asked for: then it has met the end.
fn read_up_to<'b>(
    file: &mut File,
    most: u64,
    enough: u64,
    buffer: &'b mut Vec<u8>,
) -> std::io::Result<&'b [u8]> {
    let most = usize::try_from(most).map_err(std::io::Error::other)?;
    let enough = usize::try_from(enough).map_err(std::io::Error::other)?;
    if buffer.len() < most {
        buffer.resize(most, 0);
    }
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(filled..most).filter(|room| !room.is_empty()) {
        let count = match file.read(room) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        };
        filled += count;
        if count == 0 || filled == enough {
            break;
        }
    }
    Ok(buffer.get(..filled).unwrap_or_default())
}

fn without(rec: &FileRec, kind: Kind) -> FileRec {
    FileRec {
        kind,
        flags: FileFlags::NONE,
        git_mode: 0,
        oid: no_oid(),
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
