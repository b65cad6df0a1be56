//! Who may change what: `tw`'s own lock per worktree, and git's `index.lock` and `HEAD.lock` held by us.
//!
//! The worktree lock is a `flock`, freed by death: shared for snapshots, exclusive for swaps and whatever else changes
//! state. A gate in front of it keeps a stream of snapshots from starving a swap. git's two locks are made by `link` from a
//! file that already holds `tw <token> <pid> <start time>`, so that ours are known by their content, never by a guess: a lock
//! of ours whose process is dead is taken away, any other is waited for and then reported.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs;

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
        let pid = std::process::id();
        Self {
            token: token.to_owned(),
            pid,
            start: fs::process_start(pid).unwrap_or(0),
        }
    }

    /// The line that names it.
    pub fn line(&self) -> String {
        format!("tw {} {} {}\n", self.token, self.pid, self.start)
    }

    /// Reads the line; `None` when it is not ours.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
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

    /// Whether its process still runs.
    pub fn is_alive(&self) -> bool {
        fs::process_is_alive(self.pid, self.start)
    }
}

/// The lock of one worktree. Freed when dropped, or by death.
#[derive(Debug)]
#[must_use]
pub struct WorktreeLock {
    file: File,
    hold: Hold,
    follows_death: bool,
}

impl WorktreeLock {
    /// Waits up to `timeout` for the lock in `dir`, this worktree's `timewarp` directory.
    ///
    /// # Errors
    /// `BUSY`, naming the file and who holds it.
    pub fn acquire(dir: &Path, hold: Hold, token: &str, timeout: Duration) -> Result<Self> {
        fs::create_private_dir(dir)?;
        let gate = open_lock_file(&dir.join("gate"))?;
        let path = dir.join("lock");
        let file = open_lock_file(&path)?;
        let deadline = Instant::now() + timeout;
        wait_for(
            &gate,
            FlockOperation::NonBlockingLockExclusive,
            deadline,
            &path,
        )?;
        let operation = match hold {
            Hold::Shared => FlockOperation::NonBlockingLockShared,
            Hold::Exclusive => FlockOperation::NonBlockingLockExclusive,
        };
        wait_for(&file, operation, deadline, &path)?;
        // A holder who lives takes its line away when it lets go.
        let follows_death = file.metadata().is_ok_and(|meta| meta.len() > 0);
        let lock = Self {
            file,
            hold,
            follows_death,
        };
        if hold == Hold::Exclusive {
            lock.write_owner(&Owner::this_process(token).line());
        }
        Ok(lock)
    }

    /// True when the last exclusive holder died with it: there may be something to clear away.
    pub fn follows_death(&self) -> bool {
        self.follows_death
    }

    /// Everything a dead holder left is cleared away.
    pub fn death_is_cleared(&self) {
        if self.hold == Hold::Shared {
            self.write_owner("");
        }
    }

    /// Says for people who holds it. The lock itself does not depend on it.
    fn write_owner(&self, line: &str) {
        use std::os::unix::fs::FileExt;
        let _ = self.file.set_len(0);
        let _ = self.file.write_all_at(line.as_bytes(), 0);
    }
}

impl Drop for WorktreeLock {
    fn drop(&mut self) {
        if self.hold == Hold::Exclusive {
            self.write_owner("");
        }
    }
}

fn open_lock_file(path: &Path) -> Result<File> {
    std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0))
        .open(path)
        .context(|| format!("cannot open '{}'", path.display()))
}

fn wait_for(file: &File, operation: FlockOperation, deadline: Instant, path: &Path) -> Result<()> {
    let mut pause = Duration::from_millis(1);
    loop {
        match rustix::fs::flock(file, operation) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(errno) => {
                return Err(errno).context(|| format!("cannot lock '{}'", path.display()));
            }
        }
        if Instant::now() >= deadline {
            return Err(busy(path));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn busy(path: &Path) -> Error {
    let owner = std::fs::read(path)
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

/// `index.lock` and `HEAD.lock` of this worktree, held by us.
#[derive(Debug)]
#[must_use]
pub struct GitLocks {
    held: Vec<PathBuf>,
}

impl GitLocks {
    /// Takes git's locks in `git_dir`, waiting for each up to `timeout`.
    ///
    /// # Errors
    /// `BUSY` naming the lock file, when a live process (git, an editor's commit) keeps it.
    pub fn acquire(git_dir: &Path, owner: &Owner, timeout: Duration) -> Result<Self> {
        let source = git_dir.join("timewarp").join(format!("lock-{}", owner.pid));
        write_source(&source, owner)?;
        let mut locks = Self { held: Vec::new() };
        let result = ["index.lock", "HEAD.lock"].iter().try_for_each(|name| {
            let path = git_dir.join(name);
            link_when_free(&source, &path, timeout)?;
            locks.held.push(path);
            Ok(())
        });
        let removed = fs::remove_optional(&source);
        result.and(removed)?;
        Ok(locks)
    }

    /// Lets go.
    pub fn release(mut self) -> Result<()> {
        self.let_go()
    }

    fn let_go(&mut self) -> Result<()> {
        let mut result = Ok(());
        for path in self.held.drain(..).rev() {
            let removed = remove_if_ours(&path, &|owner| owner.pid == std::process::id());
            result = result.and(removed);
        }
        result
    }
}

impl Drop for GitLocks {
    fn drop(&mut self) {
        // `release` reports; here the caller already has an error of its own.
        let _ = self.let_go();
    }
}

fn write_source(source: &Path, owner: &Owner) -> Result<()> {
    fs::remove_optional(source)?;
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(source)
        .context(|| format!("cannot create '{}'", source.display()))?;
    file.write_all(owner.line().as_bytes())?;
    Ok(())
}

fn link_when_free(source: &Path, path: &Path, timeout: Duration) -> Result<()> {
    let deadline = Instant::now() + timeout;
    let mut pause = Duration::from_millis(1);
    loop {
        match std::fs::hard_link(source, path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                remove_if_ours(path, &|owner| !owner.is_alive())?;
            }
            Err(error) => {
                return Err(error).context(|| format!("cannot create '{}'", path.display()));
            }
        }
        if Instant::now() >= deadline {
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

/// Removes a lock file when its content says that it is `tw`'s and `which` agrees. Anything else stays.
pub fn remove_if_ours(path: &Path, which: &dyn Fn(&Owner) -> bool) -> Result<()> {
    let Some(bytes) = fs::read_optional(path)? else {
        return Ok(());
    };
    match Owner::parse(&bytes) {
        Some(owner) if which(&owner) => fs::remove_optional(path),
        _ => Ok(()),
    }
}

/// Removes what dead processes of ours left in the git directory: lock files and the files they were linked from.
pub fn remove_dead_locks(git_dir: &Path) -> Result<()> {
    for name in ["index.lock", "HEAD.lock"] {
        remove_if_ours(&git_dir.join(name), &|owner| !owner.is_alive())?;
    }
    let Ok(entries) = std::fs::read_dir(git_dir.join("timewarp")) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b"lock-") {
            remove_if_ours(&entry.path(), &|owner| !owner.is_alive())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(30);

    #[test]
    fn shared_holders_stand_together_and_keep_a_swap_out() {
        let dir = tempfile::tempdir().expect("tempdir");
        let one = WorktreeLock::acquire(dir.path(), Hold::Shared, "snapshot", SHORT).expect("one");
        let two = WorktreeLock::acquire(dir.path(), Hold::Shared, "snapshot", SHORT).expect("two");
        let refused = WorktreeLock::acquire(dir.path(), Hold::Exclusive, "travel", SHORT);
        assert_eq!(refused.expect_err("held").code(), Code::Busy);
        drop((one, two));
        let swap =
            WorktreeLock::acquire(dir.path(), Hold::Exclusive, "travel", SHORT).expect("swap");
        let refused = WorktreeLock::acquire(dir.path(), Hold::Shared, "snapshot", SHORT);
        let error = refused.expect_err("held");
        assert!(error.message().contains("tw travel (process"), "{error}");
        drop(swap);
        let next =
            WorktreeLock::acquire(dir.path(), Hold::Shared, "snapshot", SHORT).expect("next");
        assert!(!next.follows_death());
        // As if the holder had died: its line is still there.
        next.write_owner("tw travel 1 1\n");
        drop(next);
        let next =
            WorktreeLock::acquire(dir.path(), Hold::Shared, "snapshot", SHORT).expect("next");
        assert!(next.follows_death());
        next.death_is_cleared();
        drop(next);
        let next =
            WorktreeLock::acquire(dir.path(), Hold::Shared, "snapshot", SHORT).expect("next");
        assert!(!next.follows_death());
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
            0
        );
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
