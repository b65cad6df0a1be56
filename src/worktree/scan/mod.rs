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
//! and looked at again next time.

mod compare;
mod entry;
mod merge;
mod names;
mod walk;

pub use compare::{Comparison, Seen, compare_with_cache};
use merge::{assemble, put_on};
use names::NameBuffer;
use std::borrow::Cow;
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::manifest::{DirFlags, FileRec, Manifest, Name};
use super::rules::{Rules, Sides, SidesInside};
use crate::error::{Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::fs::{Root, Stamp, is_racy, stamp_of};
use crate::git::own::OwnDirs;
use crate::git::path;

/// Directories a worker takes at a time on the fast way.
const CHUNK: usize = 16;

/// So many directories that wait to be read are held open, where the process may open many more; the others are opened again.
const MOST_OPEN: usize = 64;
/// One of so many that may be open is enough.
const PART_OPEN: u64 = 8;

/// The desk of `tw`, never captured.
pub const DESK: &[u8] = b".timewarp";

/// The one file of the desk that is captured, when git tracks it.
const DESK_CONFIG: &[u8] = b"config.toml";

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
    /// The submodule commit that the index names at this path.
    fn gitlink(&self, path: &[u8]) -> Option<Oid>;
    /// Gives seeds for the files directly in a directory. `has_attributes`: a `.gitattributes` is among its names.
    fn seeds<'t>(&'t self, dir: &[u8], has_attributes: bool) -> Seeds<'t>;
    /// The index blob of a clean file under a filter, which need not be read.
    fn filtered_clean(&self, path: &[u8], stamp: &Stamp) -> Option<Oid>;
    /// The mode the index has for it, where the file system cannot say (`core.fileMode=false`).
    fn index_mode(&self, path: &[u8]) -> Option<u32>;
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
    /// See [`FileMode`].
    pub file_mode: FileMode,
    /// See [`Ctime`].
    pub ctime: Ctime,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// When the scan starts, nanoseconds since the epoch.
    pub started: i64,
    /// Directories that are git's own: listed, and never entered.
    pub own: &'a OwnDirs,
    /// What a [`compare_with_cache`] found of each directory of the earlier manifest; empty when none was taken.
    pub seen: &'a [Seen],
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

/// What is to be put onto the earlier manifest, or in its place.
#[derive(Debug)]
pub struct Findings {
    way: Way,
    found: Vec<FoundDir>,
    /// Which of the known directories are the same, on the fast way.
    same: Vec<bool>,
}

impl Findings {
    /// The new manifest; files flagged `TO_HASH` have no object id yet, directories flagged `DIRTY` no tree. `old`: the
    /// manifest that was given to the scan.
    pub fn onto(self, old: Option<Cow<'_, Manifest>>) -> Manifest {
        match (self.way, old) {
            (Way::Fast, Some(old)) => put_on(old, &self.same, self.found),
            (_, old) => assemble(old.as_deref(), self.found),
        }
    }
}

/// One directory as a worker found it.
#[derive(Debug)]
struct FoundDir {
    /// Its place in the earlier manifest, on the fast way.
    known: Option<usize>,
    /// Empty where its names were not read again.
    path: Vec<u8>,
    stamp: Stamp,
    flags: DirFlags,
    names: Names,
}

#[derive(Debug)]
enum Names {
    /// Those of the earlier manifest; the records at these places differ.
    Kept(Vec<(usize, FileRec)>),
    /// All that are there.
    Read(ReadNames),
}

/// The names of a directory that was read, sorted.
#[derive(Debug, Default)]
struct ReadNames {
    files: Vec<FoundFile>,
    /// The bytes of those that are new, one after the other.
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct FoundFile {
    /// Whether its name is among the bytes of [`ReadNames`], and not one of the earlier manifest.
    is_new: bool,
    rec: FileRec,
}

impl ReadNames {
    fn with_capacity(files: usize) -> Self {
        Self {
            files: Vec::with_capacity(files),
            bytes: Vec::new(),
        }
    }

    /// Adds what has a new name.
    fn push_new(&mut self, name: &[u8], rec: FileRec) {
        let start = u32::try_from(self.bytes.len()).expect("names stay under 4 GiB");
        let len = u32::try_from(name.len()).expect("a name stays under 4 GiB");
        self.bytes.extend_from_slice(name);
        self.files.push(FoundFile {
            is_new: true,
            rec: FileRec {
                name: Name { start, len },
                ..rec
            },
        });
    }

    /// The bytes of a file's name.
    fn name_of<'f>(&'f self, file: &FoundFile, old: &'f Manifest) -> &'f [u8] {
        if !file.is_new {
            return old.bytes(file.rec.name);
        }
        let Name { start, len } = file.rec.name;
        let (start, len) = (start as usize, len as usize);
        self.bytes.get(start..start + len).unwrap_or_default()
    }
}

struct Task {
    path: Vec<u8>,
    /// The directory and its stamp, when it is still open from the look at its name.
    fd: Option<(OwnedFd, Stamp)>,
    /// The rules of the parent directory, and what follows from this one; None for the root.
    above: Option<(Sides, SidesInside)>,
}

struct Queue {
    tasks: Mutex<QueueState>,
    wake: Condvar,
}

struct QueueState {
    tasks: Vec<Task>,
    /// How many of them hold a directory open.
    open: usize,
    busy: usize,
    error: Option<Error>,
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
    chains: Mutex<HashMap<Vec<u8>, Option<Chain>>>,
}

/// Looks at the working tree.
///
/// # Errors
/// A directory whose names cannot be read for another reason than permissions, with its path.
pub fn scan(scan: &Scan<'_, '_>, old: Option<&Manifest>, way: Way) -> Result<Scanned> {
    let way = if old.is_some() { way } else { Way::Full };
    let known = if way == Way::Fast {
        old.map_or(0, |old| old.dirs.len())
    } else {
        0
    };
    let tasks = if way == Way::Full {
        vec![Task {
            path: Vec::new(),
            fd: None,
            above: None,
        }]
    } else {
        Vec::new()
    };
    let run = Run {
        scan,
        old,
        way,
        same: (0..known)
            .map(|at| AtomicBool::new(scan.seen.get(at) == Some(&Seen::Same)))
            .collect(),
        next: AtomicUsize::new(0),
        queue: Queue {
            tasks: Mutex::new(QueueState {
                tasks,
                open: 0,
                busy: 0,
                error: None,
            }),
            wake: Condvar::new(),
        },
        give_up: AtomicBool::new(false),
        most_open: most_open(),
        chains: Mutex::new(HashMap::new()),
    };
    let found = run.in_parallel();
    if let Some(error) = run.lock_queue().error.take() {
        return Err(error);
    }
    if run.give_up.load(Ordering::Relaxed) {
        return Ok(Scanned::NeedsFull);
    }
    let same = run.same.into_iter().map(AtomicBool::into_inner);
    let same: Vec<bool> = same.collect();
    if way == Way::Fast && found.is_empty() && same.iter().all(|&same| same) {
        return Ok(Scanned::Unchanged);
    }
    Ok(Scanned::Changed(Findings { way, found, same }))
}

/// How many directories that wait may be held open, by what the system lets us open at all.
fn most_open() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let part = limit.map_or(u64::MAX, |limit| limit / PART_OPEN);
    usize::try_from(part).unwrap_or(MOST_OPEN).min(MOST_OPEN)
}

impl Run<'_, '_, '_> {
    fn lock_queue(&self) -> std::sync::MutexGuard<'_, QueueState> {
        self.queue
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn in_parallel(&self) -> Vec<FoundDir> {
        let threads = self.scan.threads.max(1);
        if threads == 1 || (self.way == Way::Fast && self.same.len() <= CHUNK) {
            return self.work();
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> = (1..threads).map(|_| scope.spawn(|| self.work())).collect();
            let mut found = self.work();
            for worker in workers {
                found.extend(worker.join().expect("scan workers do not panic"));
            }
            found
        })
    }

    fn work(&self) -> Vec<FoundDir> {
        let mut found = Vec::new();
        let mut names = NameBuffer::default();
        loop {
            let at = self.next.fetch_add(CHUNK, Ordering::Relaxed);
            if at >= self.same.len() {
                break;
            }
            for known in at..(at + CHUNK).min(self.same.len()) {
                if self.give_up.load(Ordering::Relaxed) {
                    return found;
                }
                if self.same[known].load(Ordering::Relaxed) {
                    continue;
                }
                if let Err(error) = self.known_dir(known, &mut found, &mut names) {
                    self.fail(error);
                    return found;
                }
            }
        }
        while let Some(task) = self.take() {
            let result = if self.give_up.load(Ordering::Relaxed) {
                Ok(())
            } else {
                self.read_dir(task, &mut found, &mut names)
            };
            let mut queue = self.lock_queue();
            queue.busy -= 1;
            if let Err(error) = result {
                queue.error.get_or_insert(error);
                queue.tasks.clear();
                queue.open = 0;
                self.give_up.store(true, Ordering::Relaxed);
            }
            let idle = queue.busy == 0 && queue.tasks.is_empty();
            drop(queue);
            if idle {
                self.queue.wake.notify_all();
            }
        }
        found
    }

    fn fail(&self, error: Error) {
        self.give_up.store(true, Ordering::Relaxed);
        self.lock_queue().error.get_or_insert(error);
    }

    fn take(&self) -> Option<Task> {
        let mut queue = self.lock_queue();
        loop {
            if let Some(task) = queue.tasks.pop() {
                queue.open -= usize::from(task.fd.is_some());
                queue.busy += 1;
                return Some(task);
            }
            // Known directories still being looked at by another worker may add tasks; those workers then do them.
            if queue.busy == 0 {
                return None;
            }
            queue = self
                .queue
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Queues the directories in a directory, which are in order. The first is taken first: then what is found is nearly sorted.
    fn push(&self, tasks: Vec<Task>) {
        if tasks.is_empty() {
            return;
        }
        let mut queue = self.lock_queue();
        for mut task in tasks.into_iter().rev() {
            if queue.open >= self.most_open {
                task.fd = None;
            }
            queue.open += usize::from(task.fd.is_some());
            queue.tasks.push(task);
        }
        drop(queue);
        self.queue.wake.notify_all();
    }

    /// How many of one directory may be held open until they are queued.
    fn most_open_of_one(&self) -> usize {
        self.most_open / 4
    }

    fn needs_full(&self) {
        self.give_up.store(true, Ordering::Relaxed);
    }

    fn set_same(&self, at: usize) {
        self.same[at].store(true, Ordering::Relaxed);
    }

    fn is_racy(&self, stamp: &Stamp) -> bool {
        let time = match self.scan.ctime {
            Ctime::Trusted => stamp.ctime,
            Ctime::Ignored => stamp.mtime,
        };
        is_racy(time, self.scan.started)
    }

    fn same(&self, old: &Stamp, new: &Stamp) -> bool {
        same_stamp(self.scan.ctime, old, new)
    }
}

fn same_stamp(ctime: Ctime, old: &Stamp, new: &Stamp) -> bool {
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
    let Ok(fd) = root.open_file(&full) else {
        return Ok(None);
    };
    if !stamp_of(fd.as_fd())?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    std::fs::File::from(fd)
        .read_to_end(&mut bytes)
        .context(|| format!("cannot read '{}'", path::display(&full)))?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests;
