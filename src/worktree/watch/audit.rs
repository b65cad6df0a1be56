//! Every file held against the cache, slowly: what differs without an event was missed.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::AtFlags;

use crate::git::fs::{Root, Stamp, stamp_of};
use crate::git::path;
use crate::worktree::manifest::{DirFlags, DirRec, Kind, Manifest};

/// What an audit found.
#[derive(Debug, Default)]
pub struct Findings {
    /// What is not as the cache has it: the directory, and what.
    pub differing: Vec<(Vec<u8>, Vec<u8>)>,
    /// Inodes that have several names.
    pub several: Vec<u64>,
}

/// Looks at everything that a manifest has, as a background task does.
pub fn audit(root: &Root, manifest: &Manifest) -> Findings {
    // Of this thread alone, on Linux.
    let _ = rustix::process::setpriority_process(None, 19);
    let mut findings = Findings::default();
    for dir in &manifest.dirs {
        look_at(root, manifest, dir, &mut findings);
    }
    findings
}

/// Looks at one directory.
pub fn look_at(root: &Root, manifest: &Manifest, dir: &DirRec, findings: &mut Findings) {
    if dir.flags.has(DirFlags::VIRTUAL) {
        return;
    }
    let dir_path = manifest.dir_path(dir);
    let Findings { differing, several } = findings;
    let mut differs = |what: Vec<u8>| differing.push((dir_path.to_vec(), what));
    let Ok(fd) = root.open_dir(dir_path) else {
        return differs(dir_path.to_vec());
    };
    if !stamp_of(fd.as_fd()).is_ok_and(|now| is_as_before(&dir.stamp, &now)) {
        differs(dir_path.to_vec());
    }
    for file in manifest.files_of(dir).iter() {
        let is_plain = matches!(
            file.kind,
            Kind::File | Kind::Symlink | Kind::FilteredClean | Kind::IgnoreFile | Kind::TooLarge
        );
        if !is_plain {
            continue;
        }
        let name = manifest.bytes(file.name);
        match rustix::fs::statat(&fd, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                if !is_as_before(&file.stamp, &Stamp::of(&stat)) {
                    differs(path::join(dir_path, name));
                }
                if stat.st_nlink > 1 {
                    several.push(stat.st_ino);
                }
            }
            Err(_) => differs(path::join(dir_path, name)),
        }
    }
}

/// But for the time of its status change: a name more, somewhere else, moves that, and no event tells of it.
fn is_as_before(before: &Stamp, now: &Stamp) -> bool {
    *before
        == Stamp {
            ctime: before.ctime,
            ..*now
        }
}
