//! What is in the working tree and what changed since the last look, in parallel.
//!
//! One function, [`scan`], stands for the whole question, so that a file watcher can answer it later. It reads directories
//! and stamps, never content. Two ways lead to the same manifest:
//!
//! * *fast*, against an earlier manifest made under the same rules: every known directory is opened and compared by its own
//!   stamp; where that did not move, only the known names are looked at (`fstatat`), elsewhere the names are read again and
//!   the rules are asked about the unknown ones alone;
//! * *full*, top down: every directory is read and every name is judged. Stamps of the earlier manifest still save hashing.
//!
//! Whatever the fast way cannot decide (an ignore file moved, a repository appeared inside, a sparse directory came to life)
//! makes it give up for the full one. A stamp that a write after the scan's start might leave alone ([`is_racy`]) is marked racy
//! and looked at again next time, as is every directory where the file system does not tell of new names by it.

mod compare;
mod entry;
mod found;
mod merge;
mod names;
mod nested;
mod walk;
mod workers;

pub use compare::{Comparison, DirChange, Suspects, compare_with_cache};
pub use found::Findings;
use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use workers::{Queue, Task, most_open};

use super::manifest::Manifest;
use super::rules::{Rules, Sides};
use crate::error::{Result, ResultExt};
use crate::git::Oid;
use crate::git::fs::{Root, Stamp, is_racy, stamp_of, tells_of_names};
use crate::git::own::OwnDirs;
use crate::git::path;
use crate::git::repo::Repo;
use rustix::io::Errno;

/// Directories a worker takes at a time on the fast way.
const CHUNK: usize = 16;

/// The desk of `tw`, never captured.
pub const DESK: &[u8] = b".timewarp";

/// The one file of the desk that is captured, when git tracks it.
pub const DESK_CONFIG: &[u8] = b"config.toml";

/// What git knows of paths: index, HEAD, and what the caller forces in.
pub trait Tracked: Sync {
    /// In the index, in HEAD or forced in: captured whatever the rules say.
    fn is_tracked(&self, path: &[u8]) -> bool;
    /// Something tracked lies beneath this directory.
    fn any_beneath(&self, dir: &[u8]) -> bool;
    /// In the index or forced in: captured also in a nested repository, where what only HEAD has is not ours.
    fn is_in_index(&self, path: &[u8]) -> bool;
    /// Something that the index has, or that is forced in, lies beneath this directory.
    fn index_beneath(&self, dir: &[u8]) -> bool;
    /// The directory itself, or one beneath it, is forced in: it is recorded also where a rule leaves it out.
    fn is_forced_dir(&self, dir: &[u8]) -> bool;
    /// The submodule commit that the index names at this path.
    fn gitlink(&self, path: &[u8]) -> Option<Oid>;
    /// Gives seeds for the files directly in a directory. `has_attributes`: a `.gitattributes` is among its names.
    fn seeds<'t>(&'t self, dir: &[u8], has_attributes: bool) -> Seeds<'t>;
    /// The index blob of a clean file under a filter, which need not be read.
    fn filtered_clean(&self, path: &[u8], stamp: &Stamp) -> Option<Oid>;
    /// The mode the index has for it, where the file system cannot say (`core.fileMode=false`).
    fn index_mode(&self, path: &[u8]) -> Option<u32>;
    /// The bytes of a directory's `.gitignore` that the sparse checkout leaves out, as the index has it.
    fn sparse_ignore_file(&self, dir: &[u8]) -> Option<Vec<u8>>;
}

/// The blob of a file (given by its whole path) whose stamp the index vouches for, when its raw bytes may be taken for that blob
/// until they are proven to be, and the entry's mode.
pub type Seeds<'t> = Box<dyn Fn(&[u8], &Stamp) -> Option<(Oid, u32)> + 't>;

/// Whether the permission bits of the file system are to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// The owner's x bit decides.
    Trusted,
    /// `core.fileMode=false`: the index decides.
    FromIndex,
}

/// Whether status change times are to be believed (`core.trustctime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ctime {
    /// They are compared.
    Trusted,
    /// They are not.
    Ignored,
}

impl Ctime {
    /// As the repository's settings have it.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn of(repo: &Repo) -> Result<Self> {
        Ok(if repo.trust_ctime()? {
            Self::Trusted
        } else {
            Self::Ignored
        })
    }
}

/// Which way to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Against an earlier manifest made under the same rules.
    Fast,
    /// Everything read and judged.
    Full,
}

/// What a scan needs.
pub struct Scan<'a, 'r> {
    /// The working tree.
    pub root: &'a Root,
    /// The rules.
    pub rules: &'a Rules<'r>,
    /// What git knows.
    pub tracked: &'a dyn Tracked,
    /// Untracked files over this size are listed, not captured.
    pub max_file_size: u64,
    /// Whether permission bits decide modes.
    pub file_mode: FileMode,
    /// Whether status change times are compared.
    pub ctime: Ctime,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// When the scan starts, nanoseconds since the epoch.
    pub started: i64,
    /// Directories that are git's own: listed, and never entered.
    pub own: &'a OwnDirs,
    /// What a [`compare_with_cache`] found of each directory of the earlier manifest; empty when none was taken.
    pub seen: &'a [DirChange],
}

/// What a scan found.
#[derive(Debug)]
pub enum Scanned {
    /// Nothing differs from the earlier manifest.
    Unchanged,
    /// Something does.
    Changed(Findings),
    /// The fast way cannot decide: take the full one.
    NeedsFull,
}

/// The rules in a directory, and whether it is entered only for some of what is in it.
type Chain = (Sides, bool);

struct Run<'a, 'b, 'r> {
    scan: &'a Scan<'b, 'r>,
    old: Option<&'a Manifest>,
    way: Way,
    /// Which known directories are as they were, on the fast way. The others were found anew, or are gone.
    same: Vec<AtomicBool>,
    next: AtomicUsize,
    queue: Queue,
    give_up: AtomicBool,
    /// How many directories that wait are held open.
    most_open: usize,
    /// The stamps of directories need not tell of new names: they are read anew each time.
    is_untold: bool,
    chains: Mutex<HashMap<Vec<u8>, Option<Chain>>>,
}

/// Looks at the working tree.
///
/// # Errors
/// A directory whose names cannot be read for another reason than permissions, with its path.
pub fn scan(scan: &Scan<'_, '_>, old: Option<&Manifest>, way: Way) -> Result<Scanned> {
    // Without an earlier manifest there is nothing that could be as it was.
    let way = if old.is_some() { way } else { Way::Full };
    let known = if way == Way::Fast {
        old.map_or(0, |old| old.dirs.len())
    } else {
        0
    };
    let run = Run {
        scan,
        old,
        way,
        same: (0..known)
            .map(|at| AtomicBool::new(scan.seen.get(at) == Some(&DirChange::Same)))
            .collect(),
        next: AtomicUsize::new(0),
        queue: Queue::starting((way == Way::Full).then(Task::root)),
        give_up: AtomicBool::new(false),
        most_open: most_open(),
        is_untold: !tells_of_names(scan.root.fd()),
        chains: Mutex::new(HashMap::new()),
    };
    let found = run.in_parallel();
    if let Some(error) = run.take_error() {
        return Err(error);
    }
    if run.give_up.load(Ordering::Relaxed) {
        return Ok(Scanned::NeedsFull);
    }
    let same = run.same.into_iter().map(AtomicBool::into_inner);
    let same: Vec<bool> = same.collect();
    // A known directory that is neither the same nor among what was found went away.
    if way == Way::Fast && found.is_empty() && same.iter().all(|&same| same) {
        return Ok(Scanned::Unchanged);
    }
    Ok(Scanned::Changed(Findings { way, found, same }))
}

impl Run<'_, '_, '_> {
    fn needs_full(&self) {
        // Relaxed: a worker that sees it late only does some more work; the end of the threads orders the rest.
        self.give_up.store(true, Ordering::Relaxed);
    }

    fn set_same(&self, at: usize) {
        self.same[at].store(true, Ordering::Relaxed);
    }

    fn is_racy(&self, stamp: &Stamp) -> bool {
        is_racy_stamp(self.scan.ctime, stamp, self.scan.started)
    }

    fn same(&self, old: &Stamp, new: &Stamp) -> bool {
        same_stamp(self.scan.ctime, old, new)
    }
}

/// Whether a write after `moment` may leave this stamp as it is.
pub fn is_racy_stamp(ctime: Ctime, stamp: &Stamp, moment: i64) -> bool {
    is_racy(time_of_change(ctime, stamp), moment)
}

/// The time that tells when a file was changed.
pub fn time_of_change(ctime: Ctime, stamp: &Stamp) -> i64 {
    match ctime {
        // Whatever time a file is given, every write moves this one.
        Ctime::Trusted => stamp.ctime,
        // Where backup programs or file systems move ctimes (`core.trustctime=false`), the time of a write has to do.
        Ctime::Ignored => stamp.mtime,
    }
}

/// Whether a file with these two stamps is the same, as far as stamps tell.
pub fn same_stamp(ctime: Ctime, old: &Stamp, new: &Stamp) -> bool {
    old.mtime == new.mtime
        && old.size == new.size
        && old.ino == new.ino
        && old.mode == new.mode
        && (old.uid, old.gid) == (new.uid, new.gid)
        && (ctime == Ctime::Ignored || old.ctime == new.ctime)
}

/// The bytes of the `.gitignore` in a directory of the working tree; a symlink does not count, as in git.
pub fn read_ignore_file(root: &Root, dir_path: &[u8]) -> Result<Option<Vec<u8>>> {
    read_ignore_file_named(root, dir_path, b".gitignore")
}

/// The bytes of a rule file (`.gitignore`, `.gitattributes`) in a directory of the working tree.
pub fn read_ignore_file_named(
    root: &Root,
    dir_path: &[u8],
    name: &[u8],
) -> Result<Option<Vec<u8>>> {
    use std::io::Read;
    let full = path::join(dir_path, name);
    let what = || format!("cannot read '{}'", path::display(&full));
    let fd = match root.open_file(&full) {
        Ok(fd) => fd,
        // As git: what is not there, is no file, or is closed to us has no rules.
        Err(
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO | Errno::ACCESS | Errno::PERM,
        ) => return Ok(None),
        // Of whatever else fails nobody knows what it leaves out.
        Err(errno) => return Err(errno).context(what),
    };
    // A pipe in its place would be waited for.
    if !stamp_of(fd.as_fd())?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    std::fs::File::from(fd)
        .read_to_end(&mut bytes)
        .context(what)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests;
