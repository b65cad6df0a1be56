//! A directory that is known again, whatever becomes of the path that it was made at.
//!
//! It is opened once, without following a symlink, and held open: its number cannot be given to another one meanwhile. Whoever writes
//! into it does so below that descriptor; whoever has to go by its path compares first. Promises: a symlink, another directory or a
//! mount in its place is never taken for it. Leaves out what is mounted further down, which [`Root::within_mount`] keeps away from.

use std::fs::Metadata;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::fs::Root;

/// What tells a directory from another one at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirId {
    /// Its inode number.
    pub inode: u64,
    /// When it was made, nanoseconds since the epoch; null where the file system does not say.
    pub birth_time: Option<i64>,
}

impl DirId {
    /// Of what is at a path; None: nothing, or no directory. No symlink is followed in the last name.
    fn at(path: &Path) -> Option<(Self, u64)> {
        let meta = path.symlink_metadata().ok()?;
        meta.is_dir().then(|| (Self::of(&meta), meta.dev()))
    }

    /// Of a directory that was looked at.
    pub fn of(meta: &Metadata) -> Self {
        let since = meta.created().ok();
        let since = since.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let birth_time = since.and_then(|since| i64::try_from(since.as_nanos()).ok());
        Self {
            inode: meta.ino(),
            // A file system without such times may tell the epoch.
            birth_time: birth_time.filter(|born| *born != 0),
        }
    }
}

/// Whether two paths lead to the same directory, symlinks followed.
pub fn is_same_dir(one: &Path, other: &Path) -> bool {
    let numbers = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    numbers(one).is_some_and(|one| Some(one) == numbers(other))
}

/// What is at the path of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathOccupant {
    /// The directory.
    There,
    /// Nothing.
    Gone,
    /// Something else, which is this.
    Other(&'static str),
}

/// A directory that is held open.
#[derive(Debug)]
pub struct PinnedDir {
    fd: OwnedFd,
    path: PathBuf,
    id: DirId,
    device: u64,
}

impl PinnedDir {
    /// Opens the directory at a path, which is no symlink.
    ///
    /// # Errors
    /// As the system's; `NotADirectory` for anything else.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        let (id, device) = DirId::at(path).ok_or(ErrorKind::NotADirectory)?;
        let stat = rustix::fs::fstat(&fd)?;
        if (stat.st_ino, stat.st_dev) != (id.inode, device) {
            return Err(Error::other("it was replaced meanwhile"));
        }
        Ok(Self {
            fd,
            path: path.to_owned(),
            id,
            device,
        })
    }

    /// Where it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// By which it is known later, when nobody holds it open any more.
    pub fn id(&self) -> DirId {
        self.id
    }

    /// By which it is known as long as it is held open: device and inode number.
    pub fn numbers(&self) -> (u64, u64) {
        (self.device, self.id.inode)
    }

    /// What is at its path now.
    pub fn occupant(&self) -> PathOccupant {
        match occupant(&self.path, Some(self.id)) {
            PathOccupant::There if DirId::at(&self.path).is_none_or(|at| at.1 != self.device) => {
                PathOccupant::Other(ANOTHER)
            }
            other => other,
        }
    }

    /// Whether this name in a directory is it. No symlink is followed.
    ///
    /// # Errors
    /// As the system's; nothing there is no error.
    pub fn is_at(&self, dir: BorrowedFd<'_>, name: &std::ffi::OsStr) -> rustix::io::Result<bool> {
        match rustix::fs::statat(dir, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok((stat.st_dev, stat.st_ino) == self.numbers()),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Claims it among those who do so, for as long as it is held open. False: somebody else has it. On a file system that locks no
    /// directories everybody gets it.
    pub fn claim(&self) -> bool {
        let claimed = rustix::fs::flock(&self.fd, FlockOperation::NonBlockingLockExclusive);
        claimed != Err(Errno::WOULDBLOCK)
    }

    /// Whether it has no name any more, for it was removed.
    pub fn is_removed(&self) -> bool {
        // Over a network it cannot be looked at any more.
        rustix::fs::fstat(&self.fd)
            .map_or_else(|errno| errno == Errno::STALE, |stat| stat.st_nlink == 0)
    }

    /// For looking up what is below it, whatever is at its path by now, and nothing that is mounted there.
    ///
    /// # Errors
    /// Too many files are open.
    pub fn root(&self) -> Result<Root> {
        Ok(Root::of(self.fd.try_clone()?, &self.path).within_mount())
    }
}

impl AsFd for PinnedDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

const ANOTHER: &str = "another directory";

/// What is at the path of a directory that was known by `id`; without one, any directory will do.
pub fn occupant(path: &Path, id: Option<DirId>) -> PathOccupant {
    match (path.symlink_metadata(), DirId::at(path)) {
        (_, Some((found, _))) if id.is_none_or(|id| id == found) => PathOccupant::There,
        (_, Some(_)) => PathOccupant::Other(ANOTHER),
        (Err(error), _) if error.kind() == ErrorKind::NotFound => PathOccupant::Gone,
        // One of the directories above is none any more.
        (Err(error), _) if error.kind() == ErrorKind::NotADirectory => PathOccupant::Gone,
        (Err(_), _) => PathOccupant::Other("something that cannot be looked at"),
        (Ok(meta), _) if meta.is_symlink() => PathOccupant::Other("a symlink"),
        (Ok(_), _) => PathOccupant::Other("a file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_its_place_is_not_it() {
        let dir = tempfile::tempdir().expect("tempdir");
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("one")).expect("mkdir");
        let pinned = PinnedDir::open(&at("one")).expect("opened");
        let now = || (pinned.occupant(), occupant(&at("one"), Some(pinned.id())));
        assert_eq!(now(), (PathOccupant::There, PathOccupant::There));
        std::fs::rename(at("one"), at("away")).expect("renamed");
        assert_eq!(now(), (PathOccupant::Gone, PathOccupant::Gone));
        std::os::unix::fs::symlink("away", at("one")).expect("linked");
        let other = PathOccupant::Other("a symlink");
        assert_eq!(now(), (other, other));
        assert!(PinnedDir::open(&at("one")).is_err());
        std::fs::remove_file(at("one")).expect("removed");
        std::fs::create_dir(at("one")).expect("mkdir");
        let other = PathOccupant::Other(ANOTHER);
        assert_eq!(now(), (other, other));
        // What is written goes where it is, not where it was.
        rustix::fs::mkdirat(pinned.root().expect("root").fd(), "in", Mode::RWXU).expect("mkdirat");
        assert!(at("away/in").exists() && !at("one/in").exists());
        assert!(!pinned.is_removed());
        std::fs::remove_dir_all(at("away")).expect("removed");
        assert!(pinned.is_removed());
    }
}
