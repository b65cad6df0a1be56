//! The first glance: which directories are as they were seen before, mostly as the cache has them.
//!
//! It decides nothing but that. A directory is the same when its own stamp and that of every name in it are, and none of them
//! was too fresh to be trusted. Of a directory that did not move itself, the files whose stamps did are told with what they are
//! now, so that the scan need not look a second time; all else is left to it. Records are compared where they stand in the
//! cache, so that of an unchanged working tree nothing is made per file.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use super::entry::is_repository;
use super::{CHUNK, Ctime, same_stamp};
use crate::git::fs::{Root, Stamp, stamp_at, stamp_of};
use crate::git::threads;
use crate::worktree::cache::Known;
use crate::worktree::manifest::{DirRec, FileRec, Kind, Manifest, Name, RACY, TO_HASH, VIRTUAL};

/// What a glance compares with: the cache, or a manifest at hand.
pub trait Records: Sync {
    /// Every directory, in pre-order.
    fn dirs(&self) -> &[DirRec];
    /// A name or path.
    fn bytes(&self, name: Name) -> &[u8];
    /// The files of a directory; None in place of one that cannot be right.
    fn files_of(&self, dir: &DirRec) -> impl Iterator<Item = Option<FileRec>>;
}

impl Records for Known {
    fn dirs(&self) -> &[DirRec] {
        &self.dirs
    }

    fn bytes(&self, name: Name) -> &[u8] {
        Self::bytes(self, name)
    }

    fn files_of(&self, dir: &DirRec) -> impl Iterator<Item = Option<FileRec>> {
        Self::files_of(self, dir)
    }
}

impl Records for Manifest {
    fn dirs(&self) -> &[DirRec] {
        &self.dirs
    }

    fn bytes(&self, name: Name) -> &[u8] {
        Self::bytes(self, name)
    }

    fn files_of(&self, dir: &DirRec) -> impl Iterator<Item = Option<FileRec>> {
        Self::files_of(self, dir).iter().map(|file| Some(*file))
    }
}

/// What a glance found.
#[derive(Debug, PartialEq, Eq)]
pub enum Glanced {
    /// Every directory is as the cache has it, and every record was read.
    Same,
    /// For each directory, what it is.
    Differs(Vec<Seen>),
    /// A record cannot be right: there is no cache.
    Unsound,
}

/// What a glance found of one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It is as it was.
    Same,
    /// The same names are in it. These files and symlinks, by their place among its names, have other stamps now, or had stamps
    /// too fresh to be trusted.
    Touched(Vec<(usize, Stamp)>),
    /// Not decided.
    Moved,
}

/// A directory looked at costs as much as so many of its files.
const WEIGHT: usize = 4;

/// Compares the working tree with what was seen before, under the rules that hold now.
pub fn glance<K: Records>(root: &Root, known: &K, ctime: Ctime) -> Glanced {
    let look = Look { root, known, ctime };
    let dirs = known.dirs();
    let chunks: Vec<_> = (0..dirs.len()).step_by(CHUNK).collect();
    let (differing, unsound) = threads::gather(
        &chunks,
        dirs.len() * WEIGHT,
        |&start, differing: &mut Vec<_>| {
            for (at, dir) in dirs.iter().enumerate().skip(start).take(CHUNK) {
                match look.directory(dir)? {
                    Seen::Same => {}
                    other => differing.push((at, other)),
                }
            }
            Ok(())
        },
    );
    if let Some(Unsound) = unsound {
        return Glanced::Unsound;
    }
    if differing.iter().all(Vec::is_empty) {
        return Glanced::Same;
    }
    let mut seen = vec![Seen::Same; dirs.len()];
    for (at, found) in differing.into_iter().flatten() {
        seen[at] = found;
    }
    Glanced::Differs(seen)
}

/// A record cannot be right.
struct Unsound;

struct Look<'a, K> {
    root: &'a Root,
    known: &'a K,
    ctime: Ctime,
}

impl<K: Records> Look<'_, K> {
    fn directory(&self, dir: &DirRec) -> Result<Seen, Unsound> {
        let fd = match self.root.open_dir(self.known.bytes(dir.path)) {
            Ok(fd) if dir.flags & VIRTUAL == 0 => fd,
            // A sparse directory, with no other names than absent ones.
            Err(Errno::NOENT) if dir.flags & VIRTUAL != 0 => return Ok(Seen::Same),
            _ => return Ok(Seen::Moved),
        };
        let Ok(stamp) = stamp_of(fd.as_fd()) else {
            return Ok(Seen::Moved);
        };
        if dir.flags & RACY != 0 || !same_stamp(self.ctime, &dir.stamp, &stamp) {
            return Ok(Seen::Moved);
        }
        let mut touched = Vec::new();
        for (nth, file) in self.known.files_of(dir).enumerate() {
            let file = file.ok_or(Unsound)?;
            match self.file(&file, fd.as_fd()) {
                SeenFile::Same => {}
                SeenFile::Touched(stamp) => touched.push((nth, stamp)),
                SeenFile::Unclear => return Ok(Seen::Moved),
            }
        }
        Ok(if touched.is_empty() {
            Seen::Same
        } else {
            Seen::Touched(touched)
        })
    }

    fn file(&self, file: &FileRec, dir: BorrowedFd<'_>) -> SeenFile {
        if !file.kind.is_watched() {
            return SeenFile::Same;
        }
        let name = self.known.bytes(file.name);
        let same = match (file.kind, stamp_at(dir, name)) {
            (_, Err(_)) => false,
            (kind, Ok(None)) => kind == Kind::Absent,
            (Kind::Absent, _) => false,
            (Kind::Gitlink, Ok(Some(stamp))) => stamp.is_dir(),
            (Kind::Nested, Ok(Some(stamp))) => stamp.is_dir() && is_repository(dir, name),
            (_, Ok(Some(stamp))) => {
                let trusted = file.flags & (RACY | TO_HASH) == 0;
                if !(trusted && same_stamp(self.ctime, &file.stamp, &stamp)) {
                    return SeenFile::Touched(stamp);
                }
                true
            }
        };
        if same {
            SeenFile::Same
        } else {
            SeenFile::Unclear
        }
    }
}

/// What a glance found of one name.
enum SeenFile {
    Same,
    Touched(Stamp),
    Unclear,
}
