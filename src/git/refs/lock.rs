//! Lock files as git makes them: `<file>.lock` by exclusive creation, renamed into place or removed.
//!
//! Promises that a dropped lock leaves no file behind. A lock left by a process that died is never broken, only waited
//! for: nothing in it tells whose it was.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;

/// A lock file that is ours until it is dropped or renamed.
#[derive(Debug)]
pub(super) struct LockFile {
    path: PathBuf,
    held: bool,
}

/// Why a lock was not had.
#[derive(Debug)]
pub(super) enum LockError {
    /// Someone else holds this file.
    Held(PathBuf),
    /// A file stands where a directory is needed.
    Blocked,
    Io(Error),
}

/// What a new lock file holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// Nothing: it becomes one more name of this lock file, which is ours. As exclusive as creation, and thousands of
    /// them cost no new files (ext4 is slow to hand out inodes right after thousands were freed).
    LinkTo(&'a Path),
}

/// Whether written bytes must survive a power cut before the rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flush {
    Yes,
    No,
}

impl LockFile {
    /// Locks `target`, a path below `base`, with `content` as the file's bytes, making directories as needed. A
    /// directory that a concurrent deletion takes away in between is made again.
    pub(super) fn take(
        base: &Path,
        target: &Path,
        content: Content<'_>,
        flush: Flush,
        patience: &mut Patience,
    ) -> Result<Self, LockError> {
        let path = lock_path(target);
        loop {
            let error = match make(&path, content) {
                Ok(None) => return Ok(Self { path, held: true }),
                Ok(Some((file, bytes))) => {
                    let lock = Self { path, held: true };
                    fill(file, bytes, flush)?;
                    return Ok(lock);
                }
                Err(error) => error,
            };
            match error.kind() {
                ErrorKind::AlreadyExists => {
                    if !patience.pause() {
                        return Err(LockError::Held(path));
                    }
                }
                ErrorKind::NotFound if base.is_dir() => {
                    make_parent(&path)?;
                    if !patience.pause_after_race() {
                        return Err(error.into());
                    }
                }
                ErrorKind::NotADirectory => return Err(LockError::Blocked),
                _ => return Err(error.into()),
            }
        }
    }

    /// The lock file itself.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the lock's bytes onto `target`, which also unlocks it.
    pub(super) fn rename_to(&mut self, target: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, target)?;
        self.held = false;
        Ok(())
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if self.held {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl From<io::Error> for LockError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.into())
    }
}

/// `<target>.lock`.
pub(super) fn lock_path(target: &Path) -> PathBuf {
    let mut path = target.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

/// Creates the file, to be filled, or links it.
fn make<'a>(path: &Path, content: Content<'a>) -> io::Result<Option<(File, &'a [u8])>> {
    let bytes = match content {
        Content::Bytes(bytes) => bytes,
        Content::LinkTo(other) => match std::fs::hard_link(other, path) {
            Ok(()) => return Ok(None),
            Err(error) if is_telling(error.kind()) => return Err(error),
            // Too many links, or a file system without any.
            Err(_) => b"",
        },
    };
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    Ok(Some((file, bytes)))
}

/// Whether creating the file would fail in the same way.
fn is_telling(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::NotADirectory
    )
}

fn fill(mut file: File, content: &[u8], flush: Flush) -> io::Result<()> {
    file.write_all(content)?;
    match flush {
        Flush::Yes => file.sync_all(),
        Flush::No => Ok(()),
    }
}

fn make_parent(path: &Path) -> Result<(), LockError> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    let Err(error) = std::fs::create_dir_all(parent) else {
        return Ok(());
    };
    match error.kind() {
        // When no file stands there, a deletion took away a directory just made, by us or by another: try again.
        ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            if parent.ancestors().any(is_file) {
                Err(LockError::Blocked)
            } else {
                Ok(())
            }
        }
        _ => Err(error.into()),
    }
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_dir())
}

/// How long one transaction is willing to wait for others, all locks together: about two seconds.
#[derive(Debug)]
pub(super) struct Patience {
    left: Duration,
    step: Duration,
    races: u32,
}

impl Patience {
    pub(super) fn new() -> Self {
        Self {
            left: Duration::from_secs(2),
            step: Duration::from_micros(200),
            races: 0,
        }
    }

    /// Sleeps a little longer than last time, give or take a half so that waiters spread. False: waited enough.
    pub(super) fn pause(&mut self) -> bool {
        if self.left.is_zero() {
            return false;
        }
        let mut random = [128];
        let _ = getrandom::fill(&mut random);
        let pause = (self.step / 2 + self.step * u32::from(random[0]) / 256).min(self.left);
        std::thread::sleep(pause);
        self.left -= pause;
        self.step = (self.step * 2).min(Duration::from_millis(50));
        true
    }

    /// The first few lost races are run again at once.
    fn pause_after_race(&mut self) -> bool {
        self.races += 1;
        !self.races.is_multiple_of(4) || self.pause()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(base: &Path, name: &str) -> Result<LockFile, LockError> {
        let mut patience = Patience::new();
        let content = Content::Bytes(b"x");
        LockFile::take(base, &base.join(name), content, Flush::No, &mut patience)
    }

    #[test]
    fn a_lock_excludes_and_goes_when_dropped() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let lock = take(dir.path(), "a/b/c").expect("free");
        let path = dir.path().join("a/b/c.lock");
        assert_eq!(std::fs::read(&path).expect("made"), b"x");
        match take(dir.path(), "a/b/c") {
            Err(LockError::Held(held)) => assert_eq!(held, path),
            other => panic!("{other:?}"),
        }
        drop(lock);
        assert!(!path.exists());
        take(dir.path(), "a/b/c").expect("free again");
    }

    #[test]
    fn a_linked_lock_excludes_too() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let link = |from: &LockFile, name: &str| {
            LockFile::take(
                dir.path(),
                &dir.path().join(name),
                Content::LinkTo(from.path()),
                Flush::No,
                &mut Patience::new(),
            )
        };
        let first = take(dir.path(), "a").expect("free");
        let second = link(&first, "deep/b").expect("free");
        assert!(matches!(link(&first, "deep/b"), Err(LockError::Held(_))));
        drop(first);
        assert!(dir.path().join("deep/b.lock").exists());
        drop(second);
        assert!(!dir.path().join("deep/b.lock").exists());
    }

    #[test]
    fn a_lock_released_in_time_is_waited_for() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let lock = take(dir.path(), "a").expect("free");
        std::thread::scope(|scope| {
            scope.spawn(|| take(dir.path(), "a").expect("waited"));
            std::thread::sleep(Duration::from_millis(100));
            drop(lock);
        });
    }

    #[test]
    fn a_file_in_the_way_blocks() {
        let dir = tempfile::tempdir().expect("temporary directory");
        std::fs::write(dir.path().join("a"), "").expect("write");
        for name in ["a/b", "a/b/c"] {
            assert!(matches!(take(dir.path(), name), Err(LockError::Blocked)));
        }
    }

    #[test]
    fn a_missing_base_is_never_made() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let base = dir.path().join("gone");
        assert!(matches!(take(&base, "refs/a"), Err(LockError::Io(_))));
        assert!(!base.exists());
    }
}
