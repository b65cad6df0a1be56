//! What a directory is, whatever its name: so that one that was renamed is found again, and a copy of it is not taken for it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Statx, StatxFlags, statx};

use super::writers::OVERLAY;
use super::{Root, file_system, nanoseconds};
use crate::git::path;

/// What tells a directory from all others of its file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirId {
    /// Its inode number, which another one may get as soon as it is gone.
    pub ino: u64,
    /// When it was made, nanoseconds since the epoch.
    pub birth: i64,
}

impl Root {
    /// When a directory beneath the root was made, nanoseconds since the epoch; `None` where none is, or its file system does not say.
    pub fn dir_birth(&self, path: &[u8]) -> Option<i64> {
        let dir = self.open_dir(path).ok()?;
        // An overlay tells when it copied the directory up, which anything that was put into it makes it do.
        if file_system(&dir) == Some(OVERLAY) {
            return None;
        }
        birth_in(&statx(dir, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?)
    }

    /// How the directories of the root's own file system are told from each other. Where it does not say when they were made, none is.
    pub fn dir_ids(&self) -> DirIds<'_> {
        let own = statx(&self.fd, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS);
        DirIds {
            root: self,
            device: own.ok().map(|own| device_in(&own)),
            has_births: file_system(&self.fd) != Some(OVERLAY),
        }
    }
}

/// The identities of directories beneath a root.
#[derive(Debug)]
pub struct DirIds<'r> {
    root: &'r Root,
    /// Of the root: what is mounted below it cannot be renamed, and has numbers of its own.
    device: Option<(u32, u32)>,
    has_births: bool,
}

impl DirIds<'_> {
    /// Of all these directories that are there, with one call for each.
    pub fn of_all<'p>(&self, dirs: &BTreeSet<&'p [u8]>) -> BTreeMap<&'p [u8], DirId> {
        let mut found = BTreeMap::new();
        // Those over a directory come before it. What is beneath a symlink is nothing of ours, and is looked at through it here.
        for dir in dirs {
            let (above, _) = path::split(dir);
            if !above.is_empty() && !found.contains_key(above) {
                continue;
            }
            let name = OsStr::from_bytes(dir);
            let seen = statx(&self.root.fd, name, AtFlags::SYMLINK_NOFOLLOW, WANTED);
            if let Some(id) = seen.ok().and_then(|seen| self.id_in(&seen)) {
                found.insert(*dir, id);
            }
        }
        found
    }

    /// Of the directory that a path leads to.
    pub fn at(&self, path: &[u8]) -> Option<DirId> {
        self.of(self.root.open_dir(path).ok()?)
    }

    /// Of an open directory.
    pub fn of(&self, dir: impl AsFd) -> Option<DirId> {
        let seen = statx(dir, "", AtFlags::EMPTY_PATH, WANTED).ok()?;
        self.id_in(&seen)
    }

    fn id_in(&self, seen: &Statx) -> Option<DirId> {
        let is_dir = u32::from(seen.stx_mode) & 0o170_000 == 0o040_000;
        if !is_dir || Some(device_in(seen)) != self.device {
            return None;
        }
        // The number alone is not enough: what a swap makes may get that of what it has just removed.
        let birth = birth_in(seen).filter(|_| self.has_births)?;
        Some(DirId {
            ino: seen.stx_ino,
            birth,
        })
    }
}

const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

fn device_in(seen: &Statx) -> (u32, u32) {
    (seen.stx_dev_major, seen.stx_dev_minor)
}

fn birth_in(seen: &Statx) -> Option<i64> {
    let is_told = seen.stx_mask & StatxFlags::BTIME.bits() != 0;
    let born = seen.stx_btime;
    is_told.then(|| nanoseconds(born.tv_sec, i64::from(born.tv_nsec)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_known_by_another_name_and_its_copy_is_not() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let dir = |name: &str| temp.path().join(name);
        std::fs::create_dir_all(dir("d/s")).expect("mkdir");
        std::os::unix::fs::symlink("d", dir("link")).expect("symlink");
        let root = Root::open(temp.path()).expect("root");
        let ids = root.dir_ids();
        let asked: [&[u8]; 5] = [b"d", b"d/s", b"link", b"link/s", b"none"];
        let found = ids.of_all(&BTreeSet::from(asked));
        let known: Vec<&[u8]> = found.keys().copied().collect();
        if root.dir_birth(b"d").is_none() {
            assert_eq!(known, [b""; 0]);
            return;
        }
        assert_eq!(known, [&b"d"[..], b"d/s"]);
        let id = found[&b"d"[..]];
        assert_eq!(ids.at(b"d"), Some(id));
        std::fs::rename(dir("d"), dir("e")).expect("rename");
        std::fs::create_dir(dir("d")).expect("mkdir");
        assert_eq!(ids.at(b"e"), Some(id));
        assert_ne!(ids.at(b"d"), Some(id));
    }
}
