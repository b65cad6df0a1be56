//! The file of a context log: bytes, lines at its end, and rotation; what the lines say is not known here.
//!
//! Promises: changes come one at a time, by a `flock` on the file itself, so that no other file stands beside a log that
//! belongs to an agent; a reader sees no half-written line of ours. An append that fails leaves the file as it was, and a line that
//! a crash tore is not glued to the next one. A replacement is complete and synced before the old file gives way, the name
//! is never without a file, and the old one stays as `<stem>_1.jsonl`, `_2`, …, by exclusive creation. Private: 0600, in 0700.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags};

use super::lock::{HeldFile, flock_until};
use super::names::session_component;
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt as _};
use crate::git::create;
use crate::git::fs;

/// The directory of the logs, in a worktree's `timewarp` directory.
const DIR: &str = "contexts";

/// The log of a session in a worktree's `timewarp` directory.
pub fn path_of_session(timewarp_dir: &Path, session_id: &str) -> PathBuf {
    let mut name = session_component(session_id);
    // 'a_1.jsonl' is a rotation of 'a.jsonl': such an id is stored as one with unsafe characters.
    if rotation_of(&name).is_some() {
        name = session_component(&format!("{session_id}/"));
    }
    dir_of_sessions(timewarp_dir).join(format!("{name}.jsonl"))
}

/// Where the logs of sessions are, in a worktree's `timewarp` directory.
pub fn dir_of_sessions(timewarp_dir: &Path) -> PathBuf {
    timewarp_dir.join(DIR)
}

/// The number of a rotation in a name without its suffix, and the name before it.
fn rotation_of(stem: &str) -> Option<(&str, u64)> {
    let (name, number) = stem.rsplit_once('_')?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((name, digits.then(|| number.parse().ok())??))
}

/// What becomes of the file that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Old {
    /// It stays under the next free number.
    Rotate,
    /// It goes: the new one has all of it.
    Drop,
}

/// A log by its path.
#[derive(Debug, Clone)]
pub struct ContextFile {
    path: PathBuf,
    wait: Duration,
}

impl ContextFile {
    /// The log at `path`, whose lock is waited for up to `wait`. Opens nothing.
    pub fn new(path: PathBuf, wait: Duration) -> Self {
        Self { path, wait }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its bytes; `None` when there is no such file.
    ///
    /// # Errors
    /// `BUSY` when a change goes on for too long.
    pub fn read(&self) -> Result<Option<Vec<u8>>> {
        let open = self.open(OpenOptions::new().read(true));
        match open {
            Ok(file) => {
                // Appending is not atomic: unlocked, half a line could be read.
                let file = self.lock(file, FlockOperation::NonBlockingLockShared)?;
                read_all(&file).context(|| self.cannot("read")).map(Some)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).context(|| self.cannot("open")),
        }
    }

    /// Takes the log for a change, and makes it first when there is none.
    ///
    /// # Errors
    /// `BUSY` when somebody else keeps it for too long.
    pub fn hold(&self) -> Result<HeldContext> {
        let deadline = Instant::now() + self.wait;
        loop {
            let mut options = OpenOptions::new();
            options.read(true).append(true).custom_flags(unlinked());
            let file = create::open_or_new(&self.path, &options, 0o600).and_then(regular);
            let file = file.context(|| self.cannot("open"))?;
            let file = self.lock(file, FlockOperation::NonBlockingLockExclusive)?;
            let held = file.metadata().context(|| self.cannot("read"))?;
            // Whoever had the lock before may have put another file in its place.
            let now = std::fs::symlink_metadata(&self.path);
            if now.is_ok_and(|now| same_file(&now, &held)) {
                let held = HeldContext {
                    file,
                    path: self.path.clone(),
                };
                held.finish_a_dead_rotation()?;
                return Ok(held);
            }
            if Instant::now() >= deadline {
                return Err(self.busy());
            }
        }
    }

    fn open(&self, options: &mut OpenOptions) -> std::io::Result<File> {
        options.custom_flags(unlinked());
        regular(options.open(&self.path)?)
    }

    fn lock(&self, file: File, operation: FlockOperation) -> Result<HeldFile> {
        let locked = flock_until(&file, operation, Instant::now() + self.wait);
        if locked.context(|| self.cannot("lock"))? {
            return Ok(HeldFile::of(file));
        }
        Err(self.busy())
    }

    fn busy(&self) -> Error {
        let shown = self.path.display().to_string();
        Error::new(
            Code::Busy,
            format!("'{shown}' is being changed by another process"),
        )
        .detail("lock_file", shown)
    }

    fn cannot(&self, what: &str) -> String {
        format!("cannot {what} '{}'", self.path.display())
    }
}

/// Makes the private directory of the log of a session.
///
/// # Errors
/// When it cannot be made.
pub fn make_directory(path: &Path) -> Result<()> {
    match path.parent() {
        Some(dir) => crate::git::create::private_dir(dir),
        None => Ok(()),
    }
}

/// This many bytes tell what a file is.
const BEGINNING: usize = 64 * 1024;

/// A log that nobody else may change now.
#[derive(Debug)]
#[must_use]
pub struct HeldContext {
    file: HeldFile,
    path: PathBuf,
}

impl HeldContext {
    /// Its bytes.
    pub fn read(&self) -> Result<Vec<u8>> {
        read_all(&self.file).context(|| format!("cannot read '{}'", self.path.display()))
    }

    /// Its first bytes, as many as tell whether it is a log.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn beginning(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; BEGINNING];
        let length = self
            .file
            .read_at(&mut bytes, 0)
            .context(|| format!("cannot read '{}'", self.path.display()))?;
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Adds lines, whole or not at all. Each must end with a newline.
    pub fn append(&self, lines: &[u8]) -> Result<()> {
        let what = || format!("cannot write to '{}'", self.path.display());
        let length = self.file.metadata().context(what)?.len();
        let mut bytes = Vec::with_capacity(lines.len() + 1);
        if length > 0 {
            let mut last = [0];
            self.file
                .read_exact_at(&mut last, length - 1)
                .context(what)?;
            if last != *b"\n" {
                // A crash tore the last line: it is ended, so that ours is not glued to it.
                bytes.push(b'\n');
            }
        }
        bytes.extend_from_slice(lines);
        let written = (&*self.file).write_all(&bytes);
        if written.is_err() {
            // A full disk: half a line would be worse than none. The error of the write is the one to report.
            let _ = self.file.set_len(length);
        }
        written.context(what)
    }

    /// Puts another file in its place, and tells where the old one stays.
    pub fn replace(self, bytes: &[u8], old: Old) -> Result<Option<PathBuf>> {
        let what = || format!("cannot replace '{}'", self.path.display());
        let fresh = self.fresh();
        self.remove_leftovers(&fresh)?;
        // An agent's own log keeps the access that the agent gave it.
        fs::write_to_replace(&self.path, &fresh, bytes)?;
        fail_point("context-written");
        let rotated = match old {
            Old::Rotate => Some(self.rotate().context(what)?),
            Old::Drop => None,
        };
        fail_point("context-rotated");
        std::fs::rename(&fresh, &self.path).context(what)?;
        fail_point("context-replaced");
        // Only then does the new file have the name after a power cut, too.
        fs::sync_parent(&self.path).context(what)?;
        Ok(rotated)
    }

    /// Where a replacement is written. Only who holds the log uses the name.
    fn fresh(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default();
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(".tw-new");
        self.path.with_file_name(hidden)
    }

    /// Removes what processes left that died while they wrote a replacement.
    fn remove_leftovers(&self, fresh: &Path) -> Result<()> {
        let start = fresh.file_name().unwrap_or_default().as_encoded_bytes();
        for name in siblings(&self.path)? {
            if name.as_encoded_bytes().starts_with(start) {
                fs::remove_optional(&self.path.with_file_name(name))?;
            }
        }
        Ok(())
    }

    /// Gives the file its second name, the first free one after the highest.
    fn rotate(&self) -> Result<PathBuf> {
        let mut number = rotations(&self.path)?
            .last()
            .map_or(0, |(number, _)| *number);
        loop {
            number += 1;
            let name = rotation_name(&self.path, number);
            match std::fs::hard_link(&self.path, &name) {
                Ok(()) => return Ok(name),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                // A file system without links.
                Err(_) => match self.copy_to(&name) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    other => return Ok(other.map(|()| name)?),
                },
            }
        }
    }

    fn copy_to(&self, name: &Path) -> std::io::Result<()> {
        let bytes = read_all(&self.file)?;
        let mut copy = create::new_file(name, 0o600)?;
        copy.write_all(&bytes)?;
        copy.sync_all()
    }

    /// A process that died after [`Self::rotate`] left the live file with two names: the second one goes.
    fn finish_a_dead_rotation(&self) -> Result<()> {
        let meta = self.file.metadata()?;
        if meta.nlink() < 2 {
            return Ok(());
        }
        for (_, name) in rotations(&self.path)? {
            if std::fs::symlink_metadata(&name).is_ok_and(|other| same_file(&other, &meta)) {
                fs::remove_optional(&name)?;
            }
        }
        Ok(())
    }
}

fn same_file(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

fn read_all(file: &File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = file;
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `context_1.jsonl` for `context.jsonl`.
fn rotation_name(path: &Path, number: u64) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("_{number}"));
    if let Some(suffix) = path.extension() {
        name.push(".");
        name.push(suffix);
    }
    path.with_file_name(name)
}

/// What a log was before it was replaced: numbers and files, oldest first.
///
/// # Errors
/// When its directory cannot be read.
pub fn rotations(path: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for name in siblings(path)? {
        let sibling = path.with_file_name(name);
        let number = sibling
            .file_stem()
            .and_then(|stem| rotation_of(stem.to_str()?))
            .map(|(_, number)| number);
        if let Some(number) = number
            && sibling == rotation_name(path, number)
        {
            found.push((number, sibling));
        }
    }
    found.sort();
    Ok(found)
}

fn siblings(path: &Path) -> Result<Vec<std::ffi::OsString>> {
    let dir = fs::dir_of(path);
    let what = || format!("cannot read '{}'", dir.display());
    let entries = std::fs::read_dir(dir).context(what)?;
    entries
        .map(|entry| Ok(entry.context(what)?.file_name()))
        .collect()
}

/// A symlink is an error, and a pipe is not waited for.
fn unlinked() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}

/// The file, when it is one.
fn regular(file: File) -> std::io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(std::io::Error::other("not a regular file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(200);

    fn log() -> (tempfile::TempDir, ContextFile) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("context.jsonl");
        (dir, ContextFile::new(path, WAIT))
    }

    fn content(log: &ContextFile) -> String {
        let bytes = log.read().expect("readable").expect("there");
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn a_torn_line_is_not_glued_to_the_next() {
        let (_dir, log) = log();
        assert_eq!(log.read().expect("readable"), None);
        log.hold().expect("held").append(b"one\n").expect("added");
        log.hold().expect("held").append(b"to").expect("torn");
        log.hold().expect("held").append(b"two\n").expect("added");
        assert_eq!(content(&log), "one\nto\ntwo\n");
        let mode = log.path().metadata().expect("there").mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_old_file_stays_under_the_next_number() {
        let (dir, log) = log();
        for taken in [
            "context_3.jsonl",
            "context_x.jsonl",
            "other_9.jsonl",
            "context_03.jsonl",
        ] {
            std::fs::write(dir.path().join(taken), taken).expect("written");
        }
        log.hold().expect("held").append(b"old\n").expect("added");
        let held = log.hold().expect("held");
        let rotated = held.replace(b"new\n", Old::Rotate).expect("replaced");
        assert_eq!(rotated, Some(dir.path().join("context_4.jsonl")));
        assert_eq!(content(&log), "new\n");
        let old = std::fs::read(dir.path().join("context_4.jsonl")).expect("there");
        assert_eq!(old, b"old\n");
        let numbers: Vec<u64> = rotations(log.path())
            .expect("listed")
            .into_iter()
            .map(|(number, _)| number)
            .collect();
        assert_eq!(numbers, [3, 4], "what is there of another name is none");
    }

    #[test]
    fn whoever_waited_writes_to_the_file_that_came() {
        let (_dir, log) = log();
        let held = log.hold().expect("held");
        assert_eq!(log.read().expect_err("held").code(), Code::Busy);
        std::thread::scope(|scope| {
            let patient = ContextFile::new(log.path().to_owned(), Duration::from_secs(20));
            let waiter = scope.spawn(move || patient.hold()?.append(b"later\n"));
            std::thread::sleep(Duration::from_millis(50));
            held.replace(b"new\n", Old::Rotate).expect("replaced");
            waiter.join().expect("no panic").expect("added");
        });
        assert_eq!(content(&log), "new\nlater\n");
    }

    #[test]
    fn a_rotation_that_died_leaves_no_second_name() {
        let (dir, log) = log();
        log.hold().expect("held").append(b"one\n").expect("added");
        let second = dir.path().join("context_1.jsonl");
        std::fs::hard_link(log.path(), &second).expect("as a dead process left it");
        log.hold().expect("held").append(b"two\n").expect("added");
        assert!(!second.exists());
        assert_eq!(content(&log), "one\ntwo\n");
    }

    #[test]
    fn a_symlink_or_a_pipe_is_no_log() {
        let (dir, log) = log();
        std::os::unix::fs::symlink("elsewhere", log.path()).expect("a symlink");
        assert!(log.hold().is_err());
        assert!(!dir.path().join("elsewhere").exists());
    }

    #[test]
    fn no_session_s_log_is_a_rotation_of_another_s() {
        let name = |id: &str| {
            let path = path_of_session(Path::new("/x"), id);
            path.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        };
        assert_eq!(name("abc-1"), "abc-1.jsonl");
        assert_eq!(name("abc_d"), "abc_d.jsonl");
        assert!(name("abc_1").starts_with("x-"));
        assert_ne!(name("abc_1"), name("abc_2"));
        assert!(name("../up").starts_with("x-"));
    }
}
