//! What is there: whether something is at a path, and what a directory holds.
//!
//! Asked before something is removed, and before somebody relies on an absence: what cannot be looked at is an error, and never
//! something that is not there. What only caches or shows may pass over an error, and does so by itself.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::{Root, file_system};
use crate::env::has_untold_names;
use crate::error::{Result, ResultExt};
use crate::git::regular::is_absent;

impl Root {
    /// As [`Self::open_dir`]; `None` when there is no such directory, and not when it only cannot be opened.
    pub fn dir_if_there(&self, path: &[u8]) -> rustix::io::Result<Option<OwnedFd>> {
        if_there(self.open_dir(path))
    }

    /// As [`Self::open_dir_for_reading`]; `None` when there is no such directory, and not when it only cannot be opened.
    pub fn dir_to_read_if_there(&self, path: &[u8]) -> rustix::io::Result<Option<OwnedFd>> {
        if_there(self.open_dir_for_reading(path))
    }
}

fn if_there(opened: rustix::io::Result<OwnedFd>) -> rustix::io::Result<Option<OwnedFd>> {
    match opened {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Whether something is at a path, be it a symlink that leads nowhere.
///
/// # Errors
/// It cannot be looked at.
pub fn is_there(path: &Path) -> Result<bool> {
    judged(path, path.symlink_metadata().map(|_| true))
}

/// Whether a path leads to a directory.
///
/// # Errors
/// It cannot be looked at.
pub fn is_dir(path: &Path) -> Result<bool> {
    judged(path, path.metadata().map(|meta| meta.is_dir()))
}

fn judged(path: &Path, looked: io::Result<bool>) -> Result<bool> {
    match looked {
        Err(error) if is_absent(&error) => Ok(false),
        other => other.context(|| format!("cannot look at '{}'", path.display())),
    }
}

/// The paths of what a directory holds, sorted; nothing when it is not there.
///
/// # Errors
/// It cannot be read.
pub fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    try_entries(dir).context(|| format!("cannot read '{}'", dir.display()))
}

/// As [`entries`], for who goes by the reason.
///
/// # Errors
/// It cannot be read.
pub fn try_entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let read = || {
        let paths = std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path()));
        paths.collect::<io::Result<Vec<PathBuf>>>()
    };
    match read() {
        Err(error) if is_absent(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(mut paths) => {
            paths.sort();
            Ok(paths)
        }
    }
}

/// The file systems on which a name may come into a directory without its time moving, by the number that `statfs` gives: FUSE, on which
/// a union shows the time of one branch alone; NFS, SMB, 9p and `VirtualBox`'s, whose server may be such a union; FAT, of which others than
/// Linux write no times of directories.
const UNTOLD: [i64; 9] = [
    0x6573_5546,
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x0102_1997,
    0x786f_4256,
    0x4d44,
    0x2011_bab0,
];

/// Whether the stamp of a directory on the same file system as this one tells that the names in it are those that were read before.
pub fn tells_of_names(dir: impl AsFd) -> bool {
    !has_untold_names() && file_system(dir).is_some_and(|kind| !UNTOLD.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    /// Longer than any name may be: looking at it fails, as root too, and not because nothing is there.
    fn unfit(dir: &Path) -> PathBuf {
        dir.join(OsStr::from_bytes(&[b'x'; 300]))
    }

    #[test]
    fn only_what_is_not_there_is_absent() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let file = temp.path().join("file");
        std::fs::write(&file, "").expect("written");
        std::os::unix::fs::symlink("nowhere", temp.path().join("link")).expect("linked");
        assert!(is_there(&file).expect("looked at"));
        assert!(is_there(&temp.path().join("link")).expect("looked at"));
        assert!(!is_there(&temp.path().join("none")).expect("looked at"));
        assert!(!is_there(&file.join("below")).expect("looked at"));
        assert!(is_dir(temp.path()).expect("looked at"));
        assert!(!is_dir(&file).expect("looked at"));
        assert!(!is_dir(&temp.path().join("link")).expect("looked at"));
        for error in [
            is_there(&unfit(temp.path())).expect_err("unfit"),
            is_dir(&unfit(temp.path())).expect_err("unfit"),
        ] {
            assert!(error.message().contains("cannot look at"), "{error}");
        }
    }

    #[test]
    fn a_directory_that_is_not_there_holds_nothing_and_one_that_cannot_be_read_is_an_error() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        for name in ["b", "c", "a"] {
            std::fs::write(temp.path().join(name), "").expect("written");
        }
        let names = ["a", "b", "c"].map(|name| temp.path().join(name));
        assert_eq!(entries(temp.path()).expect("read"), names);
        assert!(entries(&temp.path().join("none")).expect("read").is_empty());
        assert!(entries(&names[0]).expect("read").is_empty());
        let error = entries(&unfit(temp.path())).expect_err("unfit");
        assert!(error.message().contains("cannot read"), "{error}");
    }
}
