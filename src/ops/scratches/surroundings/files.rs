//! The files of the present: captured ones by their content, and what snapshots leave out (ignored files above all) by cheap facts.
//!
//! What is captured has permission bits, too, and so has a directory, which is told of when nothing in it says that it came or went. What
//! is left out (the desk is, too) is compared by what `lstat` says of it: size, times, inode, owner and mode. Entries that lie in captured
//! directories are all looked at. Beneath directories that are left out whole (`node_modules`, `target`) it is the first [`MOST`] entries,
//! the highest ones first, so that no such directory makes a run slow; of what was not seen nothing is told. Every `.git` and what is git's
//! own are passed over: they change whenever git is used.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::Dir;
use rustix::io::Errno;

use crate::error;
use crate::git::Oid;
use crate::git::fs::{Root, Stamp, stamp_at, stamp_of};
use crate::git::own::OwnDirs;
use crate::git::path::{self, RepoPath};
use crate::ops::Context;
use crate::store::Store;
use crate::worktree::manifest::{DirRec, Kind, Manifest};
use crate::worktree::scan::{Ctime, same_stamp};

/// This many entries beneath directories that are left out are looked at.
const MOST: usize = 50_000;

/// The bits of a mode that are no type.
const PERMISSIONS: u32 = 0o7777;

/// When more than this many entries beneath one such directory differ, the directory is named in their place.
const NAMED: usize = 100;

/// What is known of a path.
#[derive(Debug, Clone, Copy)]
enum Fact {
    /// It is in snapshots: with this mode and content.
    Captured(u32, Oid, Stamp),
    /// It is not.
    LeftOut(Stamp),
    /// A directory that is looked into for what is captured of it.
    Dir(Stamp),
}

impl Fact {
    fn is_dir(&self) -> bool {
        match self {
            Self::Captured(_, _, stamp) | Self::LeftOut(stamp) => stamp.is_dir(),
            Self::Dir(_) => true,
        }
    }

    fn permissions(&self) -> u32 {
        let (Self::Captured(_, _, stamp) | Self::LeftOut(stamp) | Self::Dir(stamp)) = self;
        stamp.mode & PERMISSIONS
    }

    /// A rule that changed moves a path from one to the other, and leaves it as it is.
    fn is_same(&self, other: &Self, ctime: Ctime) -> bool {
        match (self, other) {
            (Self::Captured(mode, oid, _), Self::Captured(now, new, _)) => {
                (mode, oid) == (now, new) && self.permissions() == other.permissions()
            }
            (Self::Dir(_), _) | (_, Self::Dir(_)) => {
                self.is_dir() && other.is_dir() && self.permissions() == other.permissions()
            }
            (
                Self::Captured(_, _, old) | Self::LeftOut(old),
                Self::Captured(_, _, new) | Self::LeftOut(new),
            ) => {
                // The times of a directory tell no more than what is in it.
                let are_dirs = old.is_dir() && new.is_dir();
                same_stamp(ctime, old, new) || (are_dirs && old.mode == new.mode)
            }
        }
    }
}

/// The files as they are at a time.
pub(super) struct Files {
    known: BTreeMap<Vec<u8>, Fact>,
    /// Directories whose names were not read.
    unread: BTreeSet<Vec<u8>>,
    ctime: Ctime,
}

impl Files {
    /// Looks at what is left out, beside what was captured just now.
    pub fn look(ctx: &Context<'_>, store: &Store, manifest: &Manifest) -> error::Result<Self> {
        let (root, own) = (
            Root::open(ctx.repo.worktree_root())?,
            OwnDirs::of(&ctx.repo, &store.objects),
        );
        let mut walk = Walk {
            root: &root,
            own: &own,
            manifest,
            known: BTreeMap::new(),
            unread: BTreeSet::new(),
            beneath: VecDeque::new(),
        };
        for dir in &manifest.dirs {
            walk.captured_dir(dir);
        }
        walk.left_out_dirs(MOST);
        Ok(Self {
            known: walk.known,
            unread: walk.unread,
            ctime: Ctime::of(&ctx.repo)?,
        })
    }

    /// The paths that differ.
    pub fn changed(&self, now: &Self) -> BTreeSet<RepoPath> {
        // By the directory that is left out whole and holds them; what lies in none is in the first.
        let mut found: BTreeMap<&[u8], BTreeSet<Vec<u8>>> = BTreeMap::new();
        for full in self.known.keys().chain(now.known.keys()) {
            let name = match (self.known.get(full), now.known.get(full)) {
                (Some(old), Some(new)) if !old.is_same(new, now.ctime) => {
                    Some(named(full, if old.is_dir() { new } else { old }))
                }
                (Some(old), None) => now.missing(full, old, self),
                (None, Some(new)) => self.missing(full, new, now),
                _ => None,
            };
            if let Some(name) = name {
                let top = self.left_out_above(full).or(now.left_out_above(full));
                found
                    .entry(top.unwrap_or_default())
                    .or_default()
                    .insert(name);
            }
        }
        let mut all = BTreeSet::new();
        for (top, names) in found {
            if !top.is_empty() && names.len() > NAMED {
                all.insert(RepoPath::new(path::join(top, b"")));
            } else {
                all.extend(names.into_iter().map(RepoPath::new));
            }
        }
        all
    }

    /// What is named when this look lacks what the other has: the outermost directory that is not here either. None when this look did
    /// not get so far, and for a directory that something in it tells of.
    fn missing(&self, full: &[u8], fact: &Fact, other: &Self) -> Option<Vec<u8>> {
        match fact {
            Fact::Captured(..) => return Some(full.to_vec()),
            Fact::Dir(_) if !other.is_empty_dir(full) => return None,
            Fact::Dir(_) | Fact::LeftOut(_) => {}
        }
        if path::with_parents(full).any(|above| self.unread.contains(above)) {
            return None;
        }
        if let Fact::Dir(_) = fact {
            return Some(named(full, fact));
        }
        let is_dir = |files: &Self, at: &[u8]| files.known.get(at).is_some_and(Fact::is_dir);
        let mut above = path::with_parents(full);
        let whole =
            above.find(|at| other.is_left_out(at) && is_dir(other, at) && !is_dir(self, at));
        Some(match whole {
            Some(dir) => path::join(dir, b""),
            None => full.to_vec(),
        })
    }

    /// Nothing was seen in it.
    fn is_empty_dir(&self, full: &[u8]) -> bool {
        let first = path::join(full, b"");
        let mut from_there = self.known.range(first..);
        let next = from_there.next();
        !next.is_some_and(|(next, _)| path::is_within(next, full))
    }

    fn is_left_out(&self, full: &[u8]) -> bool {
        matches!(self.known.get(full), Some(Fact::LeftOut(_)))
    }

    /// The outermost directory above that is left out.
    fn left_out_above<'p>(&self, full: &'p [u8]) -> Option<&'p [u8]> {
        path::with_parents(full).find(|above| above.len() < full.len() && self.is_left_out(above))
    }
}

/// A path as it is called: that of a directory ends in a slash, that of a submodule does not.
fn named(full: &[u8], fact: &Fact) -> Vec<u8> {
    match fact {
        Fact::Dir(_) | Fact::LeftOut(_) if full.is_empty() => b"./".to_vec(),
        Fact::Dir(_) | Fact::LeftOut(_) if fact.is_dir() => path::join(full, b""),
        _ => full.to_vec(),
    }
}

/// Why the names in a directory are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unread {
    /// There are more than are still looked at.
    TooMany,
    /// The system does not tell, or it has gone meanwhile.
    Refused,
}

impl From<Errno> for Unread {
    fn from(_: Errno) -> Self {
        Self::Refused
    }
}

struct Walk<'a> {
    root: &'a Root,
    own: &'a OwnDirs,
    manifest: &'a Manifest,
    known: BTreeMap<Vec<u8>, Fact>,
    unread: BTreeSet<Vec<u8>>,
    /// Directories that are left out, and not looked into yet.
    beneath: VecDeque<Vec<u8>>,
}

impl Walk<'_> {
    fn captured_dir(&mut self, dir: &DirRec) {
        let at = self.manifest.dir_path(dir);
        let files = self.manifest.files_of(dir);
        for file in files.iter() {
            let full = self.manifest.path_of(dir, &file);
            if file.kind == Kind::Gitlink {
                self.beneath.push_back(full.clone());
            }
            if file.kind.in_tree() {
                let fact = Fact::Captured(file.git_mode, file.oid, file.stamp);
                self.known.insert(full, fact);
            }
        }
        self.known.insert(at.to_vec(), Fact::Dir(dir.stamp));
        let Ok((fd, names)) = self.names(at, usize::MAX) else {
            self.unread.insert(at.to_vec());
            return;
        };
        for name in names {
            let full = path::join(at, &name);
            let is_known =
                self.known.contains_key(&full) || self.manifest.find_dir(&full).is_some();
            if !is_known {
                self.left_out(fd.as_fd(), &name, full);
            }
        }
    }

    /// Looks beneath what is left out, one level after the other.
    fn left_out_dirs(&mut self, most: usize) {
        let mut left = most;
        while let Some(dir) = self.beneath.pop_front() {
            match self.names(&dir, left) {
                Ok((fd, names)) => {
                    left -= names.len();
                    for name in names {
                        self.left_out(fd.as_fd(), &name, path::join(&dir, &name));
                    }
                }
                Err(unread) => {
                    if unread == Unread::TooMany {
                        // Those behind it may be small; reading large ones in vain comes to an end.
                        left /= 2;
                    }
                    self.unread.insert(dir);
                }
            }
        }
    }

    fn left_out(&mut self, dir: BorrowedFd<'_>, name: &[u8], full: Vec<u8>) {
        if name == b".git" {
            return;
        }
        // What has gone meanwhile is not there.
        if let Ok(Some(stamp)) = stamp_at(dir, name) {
            if stamp.is_dir() {
                self.beneath.push_back(full.clone());
            }
            self.known.insert(full, Fact::LeftOut(stamp));
        }
    }

    /// The names in a directory, sorted; none of one that is git's own.
    fn names(&self, dir: &[u8], most: usize) -> Result<(OwnedFd, Vec<Vec<u8>>), Unread> {
        if most == 0 {
            return Err(Unread::TooMany);
        }
        let fd = self.root.open_dir_for_reading(dir)?;
        let mut names = Vec::new();
        if self.own.contains(fd.as_fd(), &stamp_of(fd.as_fd())?) {
            return Ok((fd, names));
        }
        for entry in Dir::read_from(&fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
            if names.len() > most {
                return Err(Unread::TooMany);
            }
        }
        // The first that are looked at are the same ones each time.
        names.sort_unstable();
        Ok((fd, names))
    }
}
