//! Who may change what: `tw`'s own lock per worktree, and git's `index.lock` and `HEAD.lock` held by us.
//!
//! The worktree lock is a `flock`, freed by death: shared for snapshots, exclusive for swaps and whatever else changes
//! state. A gate in front of it keeps a stream of snapshots from starving a swap. git's two locks are made by `link` from a
//! file that already holds `tw <token> <pid> <start time>`, so that ours are known by their content, never by a guess. That file,
//! too, is locked (`flock`) as long as its process lives, in whatever container: a lock of ours that nobody holds any more is
//! taken away, any other is waited for and then reported. Every holder has a [`LivenessFile`], by which the next one sees that there is
//! something to clear up.

use std::fs::File;
use std::io::ErrorKind;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::state::with_way_in;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::git::fs;
use crate::git::liveness::{Dead, Flush, LivenessFile, remove_with_retry};
use crate::git::process::{self, Maker};
use crate::git::regular;

/// How a lock is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Beside other shared holders: snapshots.
    Shared,
    /// Alone: swaps.
    Exclusive,
}

/// `tw <token> <pid> <start time>`: who holds a lock, a `.keep`, a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// What it is doing: a swap id, or a word.
    pub token: String,
    /// Its process.
    pub pid: u32,
    /// When that process started, clock ticks since boot.
    pub start: u64,
}

impl Owner {
    /// This process.
    pub fn this_process(token: &str) -> Self {
        let maker = Maker::this();
        Self {
            token: token.to_owned(),
            pid: maker.pid(),
            start: maker.start(),
        }
    }

    /// The line that names it.
    pub fn line(&self) -> String {
        format!("tw {} {} {}\n", self.token, self.pid, self.start)
    }

    /// Reads the line; `None` when it is not ours.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        // git's own 'index.lock' may be a whole index.
        let text = std::str::from_utf8(bytes.get(..bytes.len().min(256))?).ok()?;
        let mut words = text.strip_suffix('\n')?.split(' ');
        let ours = words.next()? == "tw";
        let owner = Self {
            token: words.next()?.to_owned(),
            pid: words.next()?.parse().ok()?,
            start: words.next()?.parse().ok()?,
        };
        (ours && words.next().is_none()).then_some(owner)
    }
}

/// A file that is held locked: freed when dropped, or by death. Not left to the closing, for a child that another thread is just
/// starting still has the file open.
#[derive(Debug)]
#[must_use]
pub struct HeldFile(File);

impl HeldFile {
    /// A file that was locked.
    pub(super) fn of(locked: File) -> Self {
        Self(locked)
    }
}

impl Deref for HeldFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for HeldFile {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

/// The lock of one worktree. Freed when dropped, or by death.
#[derive(Debug)]
#[must_use]
pub struct WorktreeLock {
    file: HeldFile,
    hold: Hold,
    _mark: LivenessFile,
    dir: PathBuf,
}

impl WorktreeLock {
    /// Waits up to `timeout` for the lock in `dir`, this worktree's `timewarp` directory.
    ///
    /// # Errors
    /// `BUSY`, naming the file and who holds it.
    pub fn acquire(dir: &Path, hold: Hold, token: &str, timeout: Duration) -> Result<Self> {
        crate::git::create::private_dir(dir)?;
        let gate = open_lock_file(&dir.join("gate"))?;
        let path = dir.join("lock");
        let file = open_lock_file(&path)?;
        let deadline = Instant::now() + timeout;
        let alone = FlockOperation::NonBlockingLockExclusive;
        let gate = hold_until(gate, alone, deadline, &path)?;
        let operation = match hold {
            Hold::Shared => FlockOperation::NonBlockingLockShared,
            Hold::Exclusive => FlockOperation::NonBlockingLockExclusive,
        };
        let file = hold_until(file, operation, deadline, &path)?;
        drop(gate);
        let mark =
            LivenessFile::create(dir).context(|| format!("cannot mark '{}'", dir.display()))?;
        let lock = Self {
            file,
            hold,
            _mark: mark,
            dir: dir.to_owned(),
        };
        if hold == Hold::Exclusive {
            lock.write_owner(&Owner::this_process(token).line());
        }
        Ok(lock)
    }

    /// What died here: as long as it is not empty, there may be something to clear away.
    ///
    /// # Errors
    /// As [`Dead::find`].
    pub fn dead(&self) -> Result<Dead> {
        Ok(Dead::find(&self.dir)?)
    }

    /// Says for people who holds it. The lock itself does not depend on it.
    fn write_owner(&self, line: &str) {
        let _ = self.file.set_len(0);
        let _ = self.file.write_all_at(line.as_bytes(), 0);
    }
}

impl Drop for WorktreeLock {
    fn drop(&mut self) {
        if self.hold == Hold::Exclusive {
            // Else the next one that waits would be told of us.
            self.write_owner("");
        }
    }
}

/// Takes the lock of a file, made private when there is none, waiting no longer than `wait`.
///
/// # Errors
/// `BUSY`, naming the file; or when it cannot be made or locked.
pub fn hold_file_within(path: &Path, wait: Duration) -> Result<HeldFile> {
    let file = open_lock_file(path)?;
    let operation = FlockOperation::NonBlockingLockExclusive;
    hold_until(file, operation, Instant::now() + wait, path)
}

/// As [`hold_file_within`], beside others who share it.
///
/// # Errors
/// `BUSY`, naming the file; or when it cannot be made or locked.
pub fn share_file_within(path: &Path, wait: Duration) -> Result<HeldFile> {
    let file = open_lock_file(path)?;
    let operation = FlockOperation::NonBlockingLockShared;
    hold_until(file, operation, Instant::now() + wait, path)
}

fn open_lock_file(path: &Path) -> Result<File> {
    // Where others may write, the name could lead to a file of theirs, which would be made or emptied.
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut both = std::fs::OpenOptions::new();
    both.read(true).write(true).custom_flags(flags);
    let opened = create::open_or_new(path, &both, 0o600);
    let opened = opened.context(|| format!("cannot open '{}'", path.display()));
    opened.map_err(|error| with_way_in(error, path))
}

fn hold_until(
    file: File,
    operation: FlockOperation,
    deadline: Instant,
    path: &Path,
) -> Result<HeldFile> {
    let locked = flock_until(&file, operation, deadline);
    if locked.context(|| format!("cannot lock '{}'", path.display()))? {
        return Ok(HeldFile(file));
    }
    Err(busy(path))
}

/// Tries to lock a file until `deadline`; `operation` must be one that does not block. False when somebody kept it.
pub fn flock_until(
    file: &File,
    operation: FlockOperation,
    deadline: Instant,
) -> rustix::io::Result<bool> {
    let mut pause = Duration::from_millis(1);
    loop {
        match rustix::fs::flock(file, operation) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        std::thread::sleep(pause);
        // Most locks are held for milliseconds; who waits for seconds shall not keep a processor busy.
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn busy(path: &Path) -> Error {
    let owner = crate::git::regular::read(path)
        .ok()
        .and_then(|bytes| Owner::parse(&bytes));
    let who = owner.as_ref().map_or_else(
        || "another tw command".to_owned(),
        |owner| format!("tw {} (process {})", owner.token, owner.pid),
    );
    let mut error = Error::new(Code::Busy, format!("'{}' is held by {who}", path.display()))
        .hint("try again when it has ended; 'timewarp.lockTimeout' says how long to wait")
        .detail("lock_file", path.display().to_string());
    if let Some(owner) = owner {
        error = error.detail("held_by", owner.pid);
    }
    error
}

/// git's two lock files of a worktree. That of an index which is a symlink is beside the file that it leads to; that of HEAD,
/// which git never follows, beside the symlink.
pub fn git_locks(git_dir: &Path) -> [PathBuf; 2] {
    let mut index = fs::followed(git_dir.join("index")).into_os_string();
    index.push(".lock");
    [index.into(), git_dir.join("HEAD.lock")]
}

/// `index.lock` and `HEAD.lock` of this worktree, held by us.
#[derive(Debug)]
#[must_use]
pub struct GitLocks {
    held: Vec<PathBuf>,
    mark: LivenessFile,
    /// What is in them.
    line: String,
    /// What they are names of: that it is locked says that we live.
    _file: HeldFile,
}

impl GitLocks {
    /// Takes git's locks in `git_dir`, waiting for each up to `timeout`.
    ///
    /// # Errors
    /// `BUSY` naming the lock file, when a live process (git, an editor's commit) keeps it.
    pub fn acquire(git_dir: &Path, owner: &Owner, timeout: Duration) -> Result<Self> {
        let what = || format!("cannot lock '{}'", git_dir.display());
        let mark = LivenessFile::create(&git_dir.join("timewarp")).context(what)?;
        // After a power cut, too, they say whose they are.
        let line = owner.line();
        let source = mark.source(line.as_bytes(), Flush::Yes);
        let source = source.context(what)?;
        let file = regular::open(source.path()).context(what)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).context(what)?;
        let mut locks = Self {
            held: Vec::new(),
            mark,
            line,
            _file: HeldFile(file),
        };
        // Always in this order, index first, as it is let go in the opposite one.
        for path in git_locks(git_dir) {
            link_when_free(source.path(), &path, timeout)?;
            locks.held.push(path);
        }
        Ok(locks)
    }

    /// Releases the lock.
    ///
    /// # Errors
    /// A lock file cannot be removed; the next command tries again.
    pub fn release(mut self) -> Result<()> {
        self.unlock()
    }

    fn unlock(&mut self) -> Result<()> {
        let mut result = Ok(());
        for path in self.held.drain(..).rev() {
            // Somebody may have removed our lock by hand and git made its own since: that one is not ours to remove.
            let is_ours = says(&path, &self.line);
            // One that cannot be read counts as ours: nobody may be left to wait for it without a word.
            let is_gone = is_ours.is_ok_and(|is_ours| !is_ours || remove_with_retry(&path));
            if !is_gone {
                self.mark.stay();
                let message = format!("cannot remove '{}'", path.display());
                result = Err(Error::new(Code::Io, message));
            }
        }
        result
    }
}

impl Drop for GitLocks {
    fn drop(&mut self) {
        // `release` reports; here the caller already has an error of its own.
        let _ = self.unlock();
    }
}

fn link_when_free(source: &Path, path: &Path, timeout: Duration) -> Result<()> {
    let deadline = Instant::now() + timeout;
    let mut pause = Duration::from_millis(1);
    loop {
        match std::fs::hard_link(source, path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                remove_dead_lock(path)?;
            }
            Err(error) => {
                return Err(error).context(|| format!("cannot create '{}'", path.display()));
            }
        }
        if Instant::now() >= deadline {
            // Once more at the end: the last thing done may have been to remove a dead lock, or to sleep.
            return match std::fs::hard_link(source, path) {
                Ok(()) => Ok(()),
                Err(_) => Err(git_busy(path)),
            };
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn git_busy(path: &Path) -> Error {
    Error::new(Code::Busy, format!("'{}' exists", path.display()))
        .hint("another git process seems to be running here; wait for it to end")
        .hint(format!(
            "if none is, a git process may have crashed: remove '{}'",
            path.display()
        ))
        .detail("lock_file", path.display().to_string())
}

/// Whether there is a file with this line in it and nothing else. Its inode would not tell: where a file system makes the number of
/// one from its path, another name of a file has another number.
fn says(path: &Path, line: &str) -> std::io::Result<bool> {
    match regular::read_within(path, line.len() as u64) {
        Ok(bytes) => Ok(bytes == line.as_bytes()),
        Err(error) if regular::is_absent(&error) || regular::is_unfit(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A lock file that says it is `tw`'s and whose process does not live any more; locked, so that who has it alone may remove it.
fn dead_lock(path: &Path) -> Option<File> {
    let file = process::freed(path)?;
    let mut line = [0; 256];
    let count = file.read_at(&mut line, 0).ok()?;
    Owner::parse(line.get(..count)?)?;
    Some(file)
}

/// Those of git's locks in a worktree's git directory that a dead process of ours left.
pub fn dead_git_locks(git_dir: &Path) -> Vec<PathBuf> {
    let mut locks = git_locks(git_dir).to_vec();
    locks.retain(|path| dead_lock(path).is_some());
    locks
}

fn remove_dead_lock(path: &Path) -> Result<()> {
    dead_lock(path).map_or(Ok(()), |_alone| fs::remove_optional(path))
}

/// Removes git's locks that dead processes of ours left.
///
/// # Errors
/// One cannot be removed.
pub fn remove_dead_locks(git_dir: &Path) -> Result<()> {
    git_locks(git_dir)
        .iter()
        .try_for_each(|path| remove_dead_lock(path))
}

/// Whether a swap, or whatever else changes state, is under way in this worktree, whose `timewarp` directory `dir` is.
pub fn is_swapping(dir: &Path) -> bool {
    process::is_held(&dir.join("lock"))
}

/// Refuses to look where that is so.
///
/// # Errors
/// `BUSY`, with who it is.
pub fn refuse_swapping(dir: &Path) -> Result<()> {
    if is_swapping(dir) {
        Err(busy(&dir.join("lock")))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(30);
    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn shared_holders_stand_together_and_keep_a_swap_out() {
        let dir = tempfile::tempdir().expect("tempdir");
        let take = |hold, token| WorktreeLock::acquire(dir.path(), hold, token, SHORT);
        let one = take(Hold::Shared, "snapshot").expect("one");
        let two = take(Hold::Shared, "snapshot").expect("two");
        let refused = take(Hold::Exclusive, "travel");
        assert_eq!(refused.expect_err("held").code(), Code::Busy);
        drop((one, two));
        // A process that another test has just begun holds what was open here until it runs its own program.
        let swap =
            WorktreeLock::acquire(dir.path(), Hold::Exclusive, "travel", LONG).expect("swap");
        let error = take(Hold::Shared, "snapshot").expect_err("held");
        assert!(error.message().contains("tw travel (process"), "{error}");
        drop(swap);
        let next = WorktreeLock::acquire(dir.path(), Hold::Shared, "snapshot", LONG).expect("next");
        assert!(next.dead().expect("looked").is_empty());
        // As if a holder had died.
        LivenessFile::create(dir.path()).expect("made").stay();
        drop(next);
        let next = take(Hold::Shared, "snapshot").expect("next");
        // A process that another test has just begun has it open as well until it runs its own program.
        let deadline = Instant::now() + LONG;
        let dead = loop {
            let dead = next.dead().expect("looked");
            if !dead.is_empty() {
                break dead;
            }
            assert!(Instant::now() < deadline, "it lives");
            std::thread::sleep(Duration::from_millis(1));
        };
        dead.forget().expect("forgotten");
        assert!(next.dead().expect("looked").is_empty());
    }

    #[test]
    fn a_live_lock_of_git_is_waited_for_and_a_dead_one_of_ours_is_not() {
        let dir = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir(dir.path().join("timewarp")).expect("mkdir");
        let owner = Owner::this_process("swap");
        std::fs::File::create(dir.path().join("index.lock")).expect("a lock of git's");
        let refused = GitLocks::acquire(dir.path(), &owner, SHORT).expect_err("held");
        assert_eq!(refused.code(), Code::Busy);
        assert!(dir.path().join("index.lock").exists());
        let dead = Owner {
            start: owner.start + 1,
            ..owner.clone()
        };
        fs::write_atomic(
            &dir.path().join("index.lock"),
            dead.line().as_bytes(),
            fs::Durable::No,
        )
        .expect("write");
        let locks = GitLocks::acquire(dir.path(), &owner, SHORT).expect("the dead one gives way");
        assert!(dir.path().join("HEAD.lock").exists());
        locks.release().expect("release");
        assert!(!dir.path().join("HEAD.lock").exists());
        assert_eq!(
            std::fs::read_dir(dir.path().join("timewarp"))
                .expect("dir")
                .count(),
            1,
            "the marks' own"
        );
        let dead = Dead::find(&dir.path().join("timewarp"));
        assert!(dead.expect("looked").is_empty());
    }

    #[test]
    fn locks_are_known_by_what_is_in_them_and_not_by_their_inodes() {
        let dir = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir(dir.path().join("timewarp")).expect("mkdir");
        let owner = Owner::this_process("swap");
        let locks = GitLocks::acquire(dir.path(), &owner, LONG).expect("locked");
        let [index, head] = git_locks(dir.path());
        // As where inode numbers come from paths.
        let line = std::fs::read(&head).expect("read");
        fs::write_atomic(&head, &line, fs::Durable::No).expect("another inode");
        // As if ours was removed by hand, and git's came.
        std::fs::remove_file(&index).expect("removed");
        std::fs::write(&index, "an index\n".repeat(100)).expect("git's");
        locks.release().expect("released");
        assert!(!head.exists());
        assert!(index.exists());
        let locks = GitLocks::acquire(dir.path(), &owner, SHORT);
        assert_eq!(locks.expect_err("held").code(), Code::Busy);
        assert!(!head.exists());
    }

    #[test]
    fn only_our_own_line_is_ours() {
        let owner = Owner::this_process("s");
        assert_eq!(Owner::parse(owner.line().as_bytes()), Some(owner));
        for other in ["", "tw a b c\n", "tw x 1 2", "1234\n", "tw x 1 2 3\n"] {
            assert!(Owner::parse(other.as_bytes()).is_none(), "{other:?}");
        }
    }
}
