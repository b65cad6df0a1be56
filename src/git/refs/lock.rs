//! Lock files as git makes them: `<file>.lock` by exclusive creation, renamed into place or removed.
//!
//! Promises that a dropped lock leaves no file behind. Ours are made by link from a [`LivenessFile`] or a source beside it, so that
//! one left by a process that died is known by its inode, whatever it holds, and is taken away ([`clear_locks_of`]). Any other
//! is waited for: nothing in it tells whose it was.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{self, Error};
use crate::git::create;
use crate::git::fs::{entries, remove_optional};
use crate::git::liveness::{Dead, Flush, Inode, LivenessFile, Source, remove_with_retry};

/// Where marks are kept, below the common directory.
const OWN: &str = "timewarp";

/// A lock file that is ours until it is dropped or renamed.
#[derive(Debug)]
pub(super) struct LockFile {
    path: PathBuf,
    held: bool,
    /// What says afterwards that it was ours.
    origin: Option<Origin>,
}

/// What a lock file is one more name of.
#[derive(Debug)]
struct Origin {
    mark: Arc<LivenessFile>,
    /// None: the mark itself.
    source: Option<Source>,
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

/// How one transaction takes its locks.
#[derive(Debug)]
pub(super) struct Locking {
    common_dir: PathBuf,
    /// Where none can be made, locks are plain files that nobody knows again.
    mark: Option<Arc<LivenessFile>>,
    flush: Flush,
    pub(super) patience: Patience,
}

impl Locking {
    pub(super) fn new(common_dir: &Path, flush: Flush) -> Self {
        Self {
            common_dir: common_dir.to_owned(),
            mark: LivenessFile::create(&common_dir.join(OWN))
                .ok()
                .map(Arc::new),
            flush,
            patience: Patience::new(),
        }
    }

    /// Locks `target`, a path below `base`, with `content` as the file's bytes, making directories as needed. A
    /// directory that a concurrent deletion takes away in between is made again.
    pub(super) fn take(
        &mut self,
        base: &Path,
        target: &Path,
        content: &[u8],
    ) -> Result<LockFile, LockError> {
        let path = lock_path(target);
        let origin = self.origin(content)?;
        loop {
            let error = match make(&path, origin.as_ref()) {
                Ok(None) => {
                    return Ok(LockFile {
                        path,
                        held: true,
                        origin,
                    });
                }
                Ok(Some(file)) => {
                    let lock = LockFile {
                        path,
                        held: true,
                        origin: None,
                    };
                    fill(file, content, self.flush)?;
                    return Ok(lock);
                }
                Err(error) => error,
            };
            match error.kind() {
                ErrorKind::AlreadyExists => {
                    let cleared = self.clear_dead().map_err(LockError::Io)?;
                    if !cleared && !self.patience.pause() {
                        return Err(LockError::Held(path));
                    }
                }
                // Without the base there is no repository any more, and nothing is to be made of it.
                ErrorKind::NotFound if base.is_dir() => {
                    make_parent(&path)?;
                    if !self.patience.pause_after_race() {
                        return Err(error.into());
                    }
                }
                ErrorKind::NotADirectory => return Err(LockError::Blocked),
                _ => return Err(error.into()),
            }
        }
    }

    /// Removes what dead processes of ours hold. The marks stay: they may stand for more. True: there was something.
    pub(super) fn clear_dead(&self) -> error::Result<bool> {
        let dead = Dead::find(&self.common_dir.join(OWN))?;
        clear_locks_of(&self.common_dir, &dead)
    }

    /// What a lock with this content is linked from. Empty ones are names of the mark itself: thousands of them cost no new
    /// files (ext4 is slow to hand out inodes right after thousands were freed).
    fn origin(&self, content: &[u8]) -> io::Result<Option<Origin>> {
        let Some(mark) = self.mark.clone() else {
            return Ok(None);
        };
        let source = match content {
            b"" => None,
            bytes => Some(mark.source(bytes, self.flush)?),
        };
        Ok(Some(Origin { mark, source }))
    }
}

impl Origin {
    fn path(&self) -> &Path {
        match &self.source {
            Some(source) => source.path(),
            None => self.mark.path(),
        }
    }
}

impl LockFile {
    /// Moves the lock's bytes onto `target`, which also unlocks it.
    pub(super) fn rename_to(&mut self, target: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, target)?;
        self.held = false;
        self.origin = None;
        Ok(())
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if !self.held || remove_with_retry(&self.path) {
            return;
        }
        // The next command finds it by these.
        if let Some(Origin { mark, source }) = self.origin.take() {
            mark.stay();
            if let Some(source) = source {
                source.stay();
            }
        }
    }
}

/// The locks that the dead left on refs, on `packed-refs`, and on the lists of tables.
///
/// # Errors
/// A directory that may hold one cannot be read.
pub(super) fn locks_of(common_dir: &Path, dead: &Dead) -> error::Result<Vec<PathBuf>> {
    let inodes = dead.linked()?;
    if inodes.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let worktrees = entries(&common_dir.join("worktrees"))?;
    let mut pending: Vec<PathBuf> = Vec::new();
    for git_dir in worktrees.into_iter().chain([common_dir.to_owned()]) {
        found.push(lock_path(&super::reftable::list_in(&git_dir)));
        pending.push(git_dir.join("refs"));
    }
    while let Some(dir) = pending.pop() {
        for path in entries(&dir)? {
            if path.extension().is_some_and(|end| end == "lock") {
                found.push(path);
            } else if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                pending.push(path);
            }
        }
    }
    found.push(lock_path(&packed_refs(common_dir)));
    found.retain(|path| is_known(path, &inodes));
    Ok(found)
}

/// Removes them. True: there was one.
///
/// # Errors
/// One cannot be removed, or a directory that may hold one cannot be read.
pub(super) fn clear_locks_of(common_dir: &Path, dead: &Dead) -> error::Result<bool> {
    let found = locks_of(common_dir, dead)?;
    let packed = packed_refs(common_dir);
    for path in &found {
        if *path == lock_path(&packed) {
            // Made under this lock; git would stumble over it.
            remove_with_retry(&super::rewrite::new_path(&packed));
        }
        remove_optional(path)?;
    }
    if !dead.is_empty() {
        super::reftable::clear_unfinished(common_dir)?;
    }
    Ok(!found.is_empty())
}

fn packed_refs(common_dir: &Path) -> PathBuf {
    let packed = common_dir.join("packed-refs");
    std::fs::canonicalize(&packed).unwrap_or(packed)
}

fn is_known(path: &Path, inodes: &HashSet<Inode>) -> bool {
    path.symlink_metadata()
        .is_ok_and(|meta| inodes.contains(&(meta.dev(), meta.ino())))
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

/// Links the lock, or creates it to be filled where that cannot be.
fn make(path: &Path, origin: Option<&Origin>) -> io::Result<Option<File>> {
    if let Some(origin) = origin {
        match std::fs::hard_link(origin.path(), path) {
            Ok(()) => return Ok(None),
            Err(error) if is_worth_reporting(error.kind()) => return Err(error),
            // Too many links, or a file system without any.
            Err(_) => {}
        }
    }
    create::new_file(path, 0o666).map(Some)
}

/// Whether creating the file would fail in the same way.
fn is_worth_reporting(kind: ErrorKind) -> bool {
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
    let Err(error) = create::dirs(parent, 0o777) else {
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
        // Without a random number waiters only spread less.
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

    fn locking(base: &Path) -> Locking {
        Locking::new(base, Flush::No)
    }

    fn take(base: &Path, name: &str) -> Result<LockFile, LockError> {
        locking(base).take(base, &base.join(name), b"x")
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
        assert!(
            Dead::find(&dir.path().join(OWN))
                .expect("looked")
                .is_empty()
        );
    }

    #[test]
    fn many_empty_locks_are_one_file() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let mut locking = locking(dir.path());
        let mut empty = |name: &str| locking.take(dir.path(), &dir.path().join(name), b"");
        let first = empty("a").expect("free");
        let second = empty("deep/b").expect("free");
        assert!(matches!(empty("deep/b"), Err(LockError::Held(_))));
        let ino = |name: &str| dir.path().join(name).metadata().expect("there").ino();
        assert_eq!(ino("a.lock"), ino("deep/b.lock"));
        drop(first);
        assert!(dir.path().join("deep/b.lock").exists());
        drop(second);
        assert!(!dir.path().join("deep/b.lock").exists());
    }

    /// Leaves a lock as a process does that is killed.
    fn die_with(lock: LockFile) {
        let origin = lock.origin.as_ref().expect("linked");
        origin.mark.stay();
        let mut lock = lock;
        lock.held = false;
        if let Some(Origin { source, .. }) = lock.origin.take() {
            source.into_iter().for_each(Source::stay);
        }
    }

    #[test]
    fn a_lock_of_the_dead_gives_way_and_a_strangers_does_not() {
        let dir = tempfile::tempdir().expect("temporary directory");
        std::fs::create_dir(dir.path().join("refs")).expect("mkdir");
        for (name, content) in [
            ("refs/x/a", &b"x"[..]),
            ("refs/x/a", b""),
            ("packed-refs", b""),
        ] {
            let target = dir.path().join(name);
            let lock = locking(dir.path()).take(dir.path(), &target, content);
            die_with(lock.expect("free"));
            assert!(lock_path(&target).exists());
            let again = locking(dir.path()).take(dir.path(), &target, content);
            drop(again.expect("the dead one's gave way"));
            std::fs::write(lock_path(&target), content).expect("a stranger's");
            let held = locking(dir.path()).take(dir.path(), &target, content);
            assert!(matches!(held, Err(LockError::Held(_))), "{name}");
            std::fs::remove_file(lock_path(&target)).expect("removed");
        }
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
