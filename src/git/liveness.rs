//! Marks: one file in `running/`, below a `timewarp` directory, for each piece of work under way.
//!
//! Its process holds it locked (`flock`), and death frees that lock: a mark that nobody holds was left by the dead, whatever
//! pid it had and in whatever container it ran. Lock files that git knows too, whose content is not ours to choose, are made
//! as further names of a mark, or of a source beside it, and so known by their inode afterwards: never by a guess.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::create;
use super::fs::{open_dir, tells_of_names, try_entries};
use super::process::freed;
use super::regular::is_absent;

/// Below the `timewarp` directory.
const DIR: &str = "running";

/// How often a mark is made again because a cleaner took it for a dead one before it was locked.
const TRIES: usize = 16;

/// Device and inode.
pub type Inode = (u64, u64);

/// Whether bytes must be on disk before the file gets a further name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// Synced.
    Yes,
    /// Left to the operating system.
    No,
}

/// Work under way. Goes when dropped; stays, for others to clear up after, when its process dies.
#[derive(Debug)]
pub struct LivenessFile {
    path: PathBuf,
    /// Its lock is what says that we live.
    file: File,
    sources: AtomicU64,
    stays: AtomicBool,
}

impl LivenessFile {
    /// Marks work in a `timewarp` directory, which is made where the one above it is there. The mark is empty.
    ///
    /// # Errors
    /// The disk refuses, or locks nothing.
    pub fn create(own: &Path) -> io::Result<Self> {
        let dir = own.join(DIR);
        for _ in 0..TRIES {
            let random = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
            let path = dir.join(format!("{}-{random:016x}", std::process::id()));
            let file = match create_new(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    make_dirs(own)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let mark = Self {
                path,
                file,
                sources: AtomicU64::new(0),
                stays: AtomicBool::new(false),
            };
            if mark.is_ours()? {
                return Ok(mark);
            }
        }
        Err(io::Error::other("marks keep disappearing"))
    }

    /// Locks the file. False: a cleaner was quicker.
    fn is_ours(&self) -> io::Result<bool> {
        match rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            // A file that a cleaner removed in between can still be locked, but nobody finds it.
            Ok(()) => Ok(self.file.metadata()?.nlink() > 0),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file with these bytes that belongs to this mark.
    ///
    /// # Errors
    /// The disk refuses; nothing is left behind.
    pub fn source(&self, bytes: &[u8], flush: Flush) -> io::Result<Source> {
        let number = self.sources.fetch_add(1, Ordering::Relaxed);
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{number}"));
        let mut file = create_new(Path::new(&path))?;
        let source = Source { path: path.into() };
        file.write_all(bytes)?;
        if flush == Flush::Yes {
            file.sync_all()?;
        }
        Ok(source)
    }

    /// Stays after this process: something that it should have cleared away is still there.
    pub fn stay(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }
}

impl Drop for LivenessFile {
    fn drop(&mut self) {
        if !self.stays.load(Ordering::Relaxed) {
            remove_with_retry(&self.path);
        }
    }
}

/// A file beside a mark, to be linked from. Goes when dropped.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
}

impl Source {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the file, so that its other names can be known by it.
    pub fn stay(self) {
        std::mem::forget(self);
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        remove_with_retry(&self.path);
    }
}

fn tells_of_links(mark: &Path) -> bool {
    mark.parent()
        .is_some_and(|dir| open_dir(dir).is_ok_and(tells_of_names))
}

fn is_gone(mark: &Path) -> io::Result<bool> {
    match mark.symlink_metadata() {
        Ok(_) => Ok(false),
        Err(error) if is_absent(&error) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Removes a file, again when that fails: a disk may refuse once. False: it is still there.
pub fn remove_with_retry(path: &Path) -> bool {
    (0..3).any(|_| match std::fs::remove_file(path) {
        Ok(()) => true,
        Err(error) => error.kind() == ErrorKind::NotFound,
    })
}

fn create_new(path: &Path) -> io::Result<File> {
    create::new_file(path, 0o666)
}

/// Makes the two directories, and nothing above them.
fn make_dirs(own: &Path) -> io::Result<()> {
    for dir in [own, &own.join(DIR)] {
        match create::new_dir(dir, 0o700) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Marks that nobody holds any more. As long as this lives nobody else clears up after them.
#[derive(Debug, Default)]
pub struct Dead {
    marks: Vec<(PathBuf, File)>,
    sources: Vec<PathBuf>,
}

impl Dead {
    /// Looks for them in a `timewarp` directory. Costs one look into an empty directory, mostly. What another user's work left, in a
    /// directory that only they may read, is theirs to clear up.
    ///
    /// # Errors
    /// The directory, or a mark in it, cannot be looked at: whoever took that for nobody would forget the marks of those that he saw.
    pub fn find(own: &Path) -> io::Result<Self> {
        let mut dead = Self::default();
        let mut sources = Vec::new();
        let paths = match try_entries(&own.join(DIR)) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Vec::new(),
            other => other?,
        };
        for path in paths {
            if path.extension().is_some() {
                sources.push(path);
            } else if let Some(file) = freed(&path) {
                dead.marks.push((path, file));
            }
        }
        // A mark outlives its sources: without one, a source was left when its removal failed.
        for source in sources {
            let mark = source.with_extension("");
            if dead.marks.iter().any(|(path, _)| *path == mark) || is_gone(&mark)? {
                dead.sources.push(source);
            }
        }
        Ok(dead)
    }

    /// Whether no process died that left anything.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.sources.is_empty()
    }

    /// The inodes that have further names, or may have: where the kernel keeps what it knows of each name apart, the number of names may
    /// be that of a moment ago.
    ///
    /// # Errors
    /// A mark cannot be looked at.
    pub fn linked(&self) -> io::Result<HashSet<Inode>> {
        let marks = self.marks.iter().map(|(path, _)| path);
        let mut found = HashSet::new();
        for path in marks.chain(&self.sources) {
            match path.symlink_metadata() {
                Ok(meta) if meta.nlink() > 1 || !tells_of_links(path) => {
                    found.insert((meta.dev(), meta.ino()));
                }
                Err(error) if !is_absent(&error) => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(found)
    }

    /// Removes them: everything is cleared up.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn forget(self) -> io::Result<()> {
        let marks = self.marks.iter().map(|(path, _)| path);
        // The marks last: who dies in here leaves a source only beside its mark.
        for path in self.sources.iter().chain(marks) {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> usize {
        let running = dir.join(DIR);
        std::fs::read_dir(running).expect("there").count()
    }

    #[test]
    fn a_mark_lives_as_long_as_its_work() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let mark = LivenessFile::create(dir.path()).expect("made");
        let source = mark.source(b"x", Flush::No).expect("made");
        assert_eq!(std::fs::read(source.path()).expect("read"), b"x");
        assert!(Dead::find(dir.path()).expect("looked").is_empty());
        assert_eq!(names(dir.path()), 2);
        drop(source);
        drop(mark);
        assert_eq!(names(dir.path()), 0);
    }

    #[test]
    fn marks_that_cannot_be_looked_at_are_not_taken_for_none() {
        let dir = tempfile::tempdir().expect("temporary directory");
        std::os::unix::fs::symlink(DIR, dir.path().join(DIR)).expect("a link to itself");
        Dead::find(dir.path()).expect_err("nobody knows who died");
    }

    #[test]
    fn what_the_dead_left_is_known_by_its_inode_and_goes() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let mark = LivenessFile::create(dir.path()).expect("made");
        let source = mark.source(b"x", Flush::No).expect("made");
        let lock = dir.path().join("a.lock");
        std::fs::hard_link(source.path(), &lock).expect("linked");
        mark.stay();
        source.stay();
        drop(mark);
        // A test beside this one may be between fork and exec, where its child has our descriptor, and with it the lock.
        let dead = loop {
            let dead = Dead::find(dir.path()).expect("looked");
            if !dead.is_empty() {
                break dead;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        // Who clears up does so alone.
        let other = Dead::find(dir.path()).expect("looked");
        assert!(other.marks.is_empty());
        let meta = lock.metadata().expect("there");
        let linked = dead.linked().expect("looked");
        assert_eq!(linked, HashSet::from([(meta.dev(), meta.ino())]));
        dead.forget().expect("removed");
        assert_eq!(names(dir.path()), 0);
        assert!(lock.exists());
    }

    #[test]
    fn nothing_is_made_above_the_directory() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let gone = dir.path().join("gone");
        LivenessFile::create(&gone.join("timewarp")).expect_err("gone");
        assert!(!gone.exists());
    }
}
