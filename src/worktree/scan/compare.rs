//! The comparison with the cache: which directories are as they were seen before, mostly as the cache has them.
//!
//! It decides nothing but that. A directory is the same when its own stamp and that of every name in it are, and none of them
//! was too fresh to be trusted. Of a directory that did not move itself, the files whose stamps did are told with what they are
//! now, so that the scan need not look a second time; all else is left to it. Records are compared where they stand in the
//! cache, so that of an unchanged working tree nothing is made per file.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use super::nested::Nested;
use super::{CHUNK, Ctime, same_stamp};
use crate::git::fs::{Root, Stamp, stamp_at, stamp_of};
use crate::git::own::OwnDirs;
use crate::git::path;
use crate::git::threads;
use crate::worktree::manifest::{DirFlags, DirRec, FileFlags, FileRec, Kind, Manifest};
use crate::worktree::watch::changes::{Depth, Dirty};

/// What the comparison found.
#[derive(Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Every directory is as it was.
    Same,
    /// For each directory, what it is.
    Differs(Vec<DirChange>),
}

/// What the comparison found of one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirChange {
    /// It is as it was.
    Same,
    /// The same names are in it. These files and symlinks, by their place among its names, have other stamps now, or had stamps
    /// too fresh to be trusted.
    Touched(Vec<(usize, Stamp)>),
    /// Not decided.
    Moved,
}

/// A directory looked at costs as much as this many of its files.
const WEIGHT: usize = 4;

/// Which directories are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suspects {
    /// All.
    All,
    /// These, by their place; of the others somebody else says that they are as they were.
    Only(BTreeSet<usize>),
}

impl Suspects {
    /// Those in which something happened, as far as the manifest knows them: what it does not know is found by looking at the
    /// nearest directory above that it does. `apart`: directories that are compared always.
    pub fn of(known: &Manifest, dirty: &Dirty, apart: &[Vec<u8>]) -> Self {
        let mut places = BTreeSet::new();
        let mut ends = None;
        for (dir, reach) in dirty {
            let Some(at) = known.find_dir(dir) else {
                let above = std::iter::successors(Some(path::split(dir).0), |at| {
                    (!at.is_empty()).then(|| path::split(at).0)
                });
                places.extend(above.filter_map(|at| known.find_dir(at)).take(1));
                continue;
            };
            places.insert(at);
            if *reach == Depth::Tree {
                let ends = ends.get_or_insert_with(|| known.subtree_ends());
                places.extend(at..ends.get(at).map_or(at, |end| *end as usize));
            }
        }
        places.extend(apart.iter().filter_map(|dir| known.find_dir(dir)));
        Self::Only(places)
    }
}

/// Compares the working tree with what was seen before, under the rules that hold now.
pub fn compare_with_cache(
    root: &Root,
    own: &OwnDirs,
    known: &Manifest,
    ctime: Ctime,
    suspects: &Suspects,
) -> Comparison {
    let comparer = Comparer {
        root,
        own,
        known,
        ctime,
    };
    let dirs = &known.dirs;
    let places: Vec<usize> = match suspects {
        Suspects::All => (0..dirs.len()).collect(),
        Suspects::Only(places) => places.iter().copied().collect(),
    };
    let chunks: Vec<_> = places.chunks(CHUNK).collect();
    let work = |chunk: &&[usize], differing: &mut Vec<_>| {
        for &at in *chunk {
            let Some(dir) = dirs.get(at) else { continue };
            match comparer.directory(dir) {
                DirChange::Same => {}
                other => differing.push((at, other)),
            }
        }
        // Whatever fails is not the same, and the scan finds out why.
        Ok::<(), Infallible>(())
    };
    let (differing, _) = threads::gather(&chunks, places.len() * WEIGHT, work);
    if differing.iter().all(Vec::is_empty) {
        return Comparison::Same;
    }
    let mut seen = vec![DirChange::Same; dirs.len()];
    for (at, found) in differing.into_iter().flatten() {
        seen[at] = found;
    }
    Comparison::Differs(seen)
}

struct Comparer<'a> {
    root: &'a Root,
    own: &'a OwnDirs,
    known: &'a Manifest,
    ctime: Ctime,
}

impl Comparer<'_> {
    fn directory(&self, dir: &DirRec) -> DirChange {
        let fd = match self.root.open_dir(self.known.dir_path(dir)) {
            Ok(fd) if !dir.flags.has(DirFlags::VIRTUAL) => fd,
            // A sparse directory, with no other names than absent ones.
            Err(Errno::NOENT) if dir.flags.has(DirFlags::VIRTUAL) => return DirChange::Same,
            _ => return DirChange::Moved,
        };
        // Of the directory that was opened: between two looks by name another could take its place.
        let Ok(stamp) = stamp_of(fd.as_fd()) else {
            return DirChange::Moved;
        };
        if dir.flags.has(DirFlags::RACY) || !same_stamp(self.ctime, &dir.stamp, &stamp) {
            return DirChange::Moved;
        }
        let mut touched = Vec::new();
        for (nth, file) in self.known.files_of(dir).iter().enumerate() {
            match self.file(dir, &file, fd.as_fd()) {
                SeenFile::Same => {}
                SeenFile::Touched(stamp) => touched.push((nth, stamp)),
                SeenFile::Unclear => return DirChange::Moved,
            }
        }
        if touched.is_empty() {
            DirChange::Same
        } else {
            DirChange::Touched(touched)
        }
    }

    fn file(&self, within: &DirRec, file: &FileRec, dir: BorrowedFd<'_>) -> SeenFile {
        if !file.kind.is_watched() {
            return SeenFile::Same;
        }
        let name = self.known.bytes(file.name);
        let same = match (file.kind, stamp_at(dir, name)) {
            // Whatever is wrong with it, the scan says so.
            (_, Err(_)) => false,
            (kind, Ok(None)) => kind == Kind::Absent,
            (Kind::Absent, _) => false,
            // Who looks, and who else holds it, decides that, and no stamp tells.
            (Kind::Unreadable, _) => false,
            (Kind::Gitlink, Ok(Some(stamp))) => {
                stamp.is_dir() && stamp.permissions() == file.stamp.permissions()
            }
            (Kind::Nested | Kind::StrayGit, Ok(Some(stamp))) => {
                let Self { root, own, .. } = *self;
                Nested { root, own }.is_as_before(self.known, within, file, &stamp)
            }
            (_, Ok(Some(stamp))) => {
                let trusted = !file.flags.has(FileFlags::RACY | FileFlags::TO_HASH);
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

/// What the comparison found of one name.
enum SeenFile {
    Same,
    Touched(Stamp),
    Unclear,
}
