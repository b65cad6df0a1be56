//! File primitives: opening by path beneath a root, stamps, exchange-rename; and files of git's and ours, written whole or not at all.
//!
//! Owns the way `tw` reaches a path in the working tree, a [`Root`]: every component is opened no-follow, by `openat2` where the kernel
//! has it and component by component elsewhere, so that a symlink planted in the way is an error and never a detour. Files of git's and
//! ours are reached by their plain path ([`write_atomic`], [`read_optional`] and their like): symlinks on the way are followed, as by git.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::path::Arg;

pub use self::identity::{DirId, DirIds};
pub use self::known::{Changed, change_known, write_to_replace};
pub use self::listing::{entries, is_dir, is_there, tells_of_names, try_entries};
pub use self::rename::{
    ASIDE, Exchanged, exchange, place_to_free, rename_to_free, rename_to_free_in, replace_known,
};
pub use self::spread::spread_dirs_in;
pub use self::temps::{Below, clear_dead_temps, clear_dead_temps_of, temp_of};
pub use self::times::{set_times_at, touch_at};
pub use self::writers::{file_system, has_writer, may_change_unseen, read_settled, young_since};
pub use super::regular::read_optional;
use crate::env::fail_point;
use crate::env::{clock_nanos, has_coarse_times};
use crate::error::{Result, ResultExt};
use crate::git::lease::open_leased;
use crate::work::{Work, count};

mod identity;
mod known;
mod listing;
mod rename;
mod spread;
mod temps;
mod times;
mod writers;

/// Kernel time moves in ticks of up to 10 ms: what changes within one gets the same time.
const TICK: i64 = 20_000_000;

/// The coarsest file system there is (FAT) counts in steps of two seconds.
const COARSEST: i64 = 2_000_000_000;

/// How long after a time (nanoseconds since the epoch) a change may still get the very same. Read off the time itself, for a
/// working tree may span file systems, and what one is called does not say how it counts: a time without a fraction of a second
/// is what a file system gives that has none, and all but never what another gives.
fn granularity(time: i64) -> i64 {
    if time % 1_000_000_000 == 0 {
        COARSEST
    } else {
        TICK
    }
}

/// Whether a file that changes after `moment` may still have this time, so that it says nothing about such a change.
pub fn is_racy(time: i64, moment: i64) -> bool {
    time.saturating_add(granularity(time)) >= moment
}

/// Waits until what changes gets another time than this one (nanoseconds since the epoch). A time that lies ahead is not waited for: no
/// change gets it before its time has come.
pub fn wait_until_past(time: i64) {
    let left = time.saturating_add(granularity(time)) - clock_nanos();
    if (0..=granularity(time)).contains(&left) {
        std::thread::sleep(Duration::from_nanos(left.unsigned_abs() + 1));
    }
}

/// What `lstat` says of a path, as far as change detection and restoring need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// Modification time, nanoseconds since the epoch.
    pub mtime: i64,
    /// Status change time, nanoseconds since the epoch.
    pub ctime: i64,
    /// Inode number.
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// Full `st_mode`: type and permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Stamp {
    /// Reads the fields out of a `stat` structure.
    pub fn of(stat: &rustix::fs::Stat) -> Self {
        Self {
            mtime: nanoseconds(stat.st_mtime, stat.st_mtime_nsec.cast_signed()),
            ctime: nanoseconds(stat.st_ctime, stat.st_ctime_nsec.cast_signed()),
            ino: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode,
            uid: stat.st_uid,
            gid: stat.st_gid,
        }
    }

    /// A directory.
    pub fn is_dir(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }

    /// A regular file.
    pub fn is_file(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }

    /// A symbolic link.
    pub fn is_symlink(&self) -> bool {
        self.mode & 0o170_000 == 0o120_000
    }

    /// The twelve permission bits.
    pub fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }
}

/// A time of `stat(2)` as one number: nanoseconds since the epoch.
pub fn nanoseconds(seconds: i64, nanos: i64) -> i64 {
    let nanos = if has_coarse_times() { 0 } else { nanos };
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// A directory opened as the root of no-follow look-ups.
#[derive(Debug)]
pub struct Root {
    fd: OwnedFd,
    path: PathBuf,
    /// `openat2` answered `ENOSYS` or was forbidden by a sandbox: walk component by component.
    walk: AtomicBool,
    /// What is mounted below is not entered.
    one_mount: bool,
}

impl Root {
    /// Opens `path` itself (following symlinks in it, as a shell does).
    pub fn open(path: &Path) -> Result<Self> {
        let fd = rustix::fs::open(
            path,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .context(|| format!("cannot open '{}'", path.display()))?;
        Ok(Self::of(fd, path))
    }

    /// A directory that is open already; `path` says where it was.
    pub fn of(fd: OwnedFd, path: &Path) -> Self {
        Self {
            fd,
            path: path.to_owned(),
            walk: AtomicBool::new(false),
            one_mount: false,
        }
    }

    /// From here on what is mounted below it is an error (`EXDEV`), as a symlink is: it is somebody else's.
    #[must_use]
    pub fn within_mount(self) -> Self {
        Self {
            one_mount: true,
            ..self
        }
    }

    /// Where the root is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The root's own descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Opens a directory beneath the root for look-ups in it; `b""` is the root.
    pub fn open_dir(&self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        // `O_PATH` asks for no permission on the directory itself: names in one that cannot be listed can still be reached.
        self.open_beneath(path, OFlags::PATH | OFlags::DIRECTORY)
    }

    /// Opens a directory beneath the root for reading its names.
    pub fn open_dir_for_reading(&self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        self.open_beneath(path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// Opens a file beneath the root for reading; never blocks on a pipe.
    pub fn open_file(&self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        self.open_beneath(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
    }

    fn open_beneath(&self, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
        count(Work::Opens);
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let name: &[u8] = if path.is_empty() { b"." } else { path };
        if path.is_empty() {
            return rustix::fs::openat(&self.fd, OsStr::from_bytes(name), flags, Mode::empty());
        }
        if !self.walk.load(Ordering::Relaxed) {
            let resolve = if self.one_mount {
                RESOLVE | ResolveFlags::NO_XDEV
            } else {
                RESOLVE
            };
            match open_in_pieces(self.fd.as_fd(), path, flags, resolve) {
                // Kernels before 5.6 and sandboxes: by component.
                Err(Errno::NOSYS | Errno::PERM) => self.walk.store(true, Ordering::Relaxed),
                // One name that is too long, or a piece without a slash.
                Err(Errno::NAMETOOLONG) => {}
                other => return other,
            }
        }
        self.walk_to(path, flags)
    }

    fn walk_to(&self, path: &[u8], last: OFlags) -> rustix::io::Result<OwnedFd> {
        let mut at: Option<OwnedFd> = None;
        let mut parts = path.split(|&byte| byte == b'/').peekable();
        while let Some(part) = parts.next() {
            let flags = if parts.peek().is_some() {
                THROUGH
            } else {
                last
            };
            let base = at.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            let part = OsStr::from_bytes(part);
            let opened = open_leased(|| rustix::fs::openat(base, part, flags, Mode::empty()));
            at = Some(opened.map_err(|errno| match errno {
                // Nothing can be there.
                Errno::NAMETOOLONG => Errno::NOENT,
                other => other,
            })?);
        }
        let at = at.ok_or(Errno::NOENT)?;
        // Of a part of the same file system that is mounted here nothing is seen this way.
        let is_mounted = || -> rustix::io::Result<bool> {
            Ok(rustix::fs::fstat(&at)?.st_dev != rustix::fs::fstat(&self.fd)?.st_dev)
        };
        if self.one_mount && is_mounted()? {
            return Err(Errno::XDEV);
        }
        Ok(at)
    }

    /// The names in a directory, sorted.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn names(&self, dir: &[u8]) -> Result<Vec<Vec<u8>>> {
        let what = || format!("cannot read '{}'", super::path::display(dir));
        let fd = self.open_dir_for_reading(dir).context(what)?;
        let mut names = names_in(fd.as_fd()).context(what)?;
        names.sort();
        Ok(names)
    }

    /// The stamp of a directory beneath the root; `None` where none is, or nobody may look.
    pub fn dir_stamp(&self, path: &[u8]) -> Option<Stamp> {
        let found = self.stamp(path).ok().flatten();
        found.filter(Stamp::is_dir)
    }

    /// `lstat` beneath the root; `None` when there is nothing (also when a parent is no directory).
    pub fn stamp(&self, path: &[u8]) -> rustix::io::Result<Option<Stamp>> {
        let (dir, name) = super::path::split(path);
        match self.dir_if_there(dir)? {
            Some(fd) => stamp_at(fd.as_fd(), name),
            None => Ok(None),
        }
    }
}

/// How a directory on the way is opened.
const THROUGH: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The longest path that the kernel takes at once is 4095 bytes.
const PIECE: usize = 4000;

/// Opens a path beneath a directory, following no symlink, in as many steps as its length needs.
fn open_in_pieces(
    root: BorrowedFd<'_>,
    path: &[u8],
    last: OFlags,
    resolve: ResolveFlags,
) -> rustix::io::Result<OwnedFd> {
    let mut at: Option<OwnedFd> = None;
    let mut rest = path;
    while rest.len() > PIECE {
        let slash = rest.iter().take(PIECE).rposition(|&byte| byte == b'/');
        let slash = slash.ok_or(Errno::NAMETOOLONG)?;
        let base = at.as_ref().map_or(root, AsFd::as_fd);
        at = Some(open_resolved(base, &rest[..slash], THROUGH, resolve)?);
        rest = &rest[slash + 1..];
    }
    open_resolved(at.as_ref().map_or(root, AsFd::as_fd), rest, last, resolve)
}

/// How paths below a root are looked up.
const RESOLVE: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::BENEATH);

fn open_resolved(
    base: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    resolve: ResolveFlags,
) -> rustix::io::Result<OwnedFd> {
    let path = OsStr::from_bytes(path);
    open_leased(|| rustix::fs::openat2(base, path, flags, Mode::empty(), resolve))
}

/// Opens what is expected to be a file in a directory, for reading. No symbolic link is followed, and nothing but a lease is waited for:
/// a pipe that took its place has no end.
pub fn open_at(dir: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let name = OsStr::from_bytes(name);
    open_leased(|| rustix::fs::openat(dir, name, flags, Mode::empty()))
}

/// Makes a file that is not there yet, for writing, with these permission bits, less the umask's. Whatever is there, be it a link that somebody
/// laid, is an error and not written through.
pub fn create_at(dir: impl AsFd, name: impl Arg, mode: u32) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(mode))
}

/// Makes such a file for nobody else, not even the owner of its directory where root makes it.
pub fn create_private(path: &Path) -> io::Result<File> {
    Ok(create_at(CWD, path, 0o600)?.into())
}

/// `lstat` of a name in a directory; `None` when there is nothing.
pub fn stamp_at(dir: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<Option<Stamp>> {
    count(Work::Stats);
    match rustix::fs::statat(dir, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Stamp::of(&stat))),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Returns the stamp of an open file, by `fstat`.
pub fn stamp_of(fd: BorrowedFd<'_>) -> rustix::io::Result<Stamp> {
    Ok(Stamp::of(&rustix::fs::fstat(fd)?))
}

/// Calls `see` with every name in a directory but `.` and `..`, and its type where the directory tells (`Unknown` elsewhere).
/// `buffer` is room to read in, to be used again.
pub fn each_name(
    dir: BorrowedFd<'_>,
    buffer: &mut Vec<u8>,
    mut see: impl FnMut(&[u8], FileType),
) -> rustix::io::Result<()> {
    // As much as the C library asks for at once: most directories come in one call.
    buffer.reserve(32 << 10);
    let mut names = rustix::fs::RawDir::new(dir, buffer.spare_capacity_mut());
    while let Some(entry) = names.next() {
        let entry = match entry {
            // So a directory is read that was removed after it was opened.
            Err(Errno::NOENT) => break,
            other => other?,
        };
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            see(name, entry.file_type());
        }
    }
    Ok(())
}

/// The names in an open directory but `.` and `..`; none in one that was removed since.
pub fn names_in(dir: BorrowedFd<'_>) -> rustix::io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    each_name(dir, &mut Vec::new(), |name, _| names.push(name.to_vec()))?;
    Ok(names)
}

/// The target of a symlink in a directory, as bytes.
pub fn read_link_at(dir: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<Vec<u8>> {
    Ok(rustix::fs::readlinkat(dir, OsStr::from_bytes(name), Vec::new())?.into_bytes())
}

/// Whether an atomic write is also made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    /// File and directory are synced before the call returns.
    Yes,
    /// Left to the operating system.
    No,
}

/// Writes a file whole or not at all: a temporary file beside it, then rename. Mode 0600.
pub fn write_atomic(path: &Path, bytes: &[u8], durable: Durable) -> Result<()> {
    write_atomic_with_mode(path, bytes, durable, 0o600)
}

/// As [`write_atomic`], with the permission bits given.
pub fn write_atomic_with_mode(
    path: &Path,
    bytes: &[u8],
    durable: Durable,
    mode: u32,
) -> Result<()> {
    write_atomic_by(path, durable, mode, &mut |file| file.write_all(bytes))
}

/// As [`write_atomic_with_mode`], of what `write` writes into the new file: for what need not be in memory as a whole.
pub fn write_atomic_by(
    path: &Path,
    durable: Durable,
    mode: u32,
    write: &mut dyn FnMut(&mut File) -> io::Result<()>,
) -> Result<()> {
    let what = || format!("cannot write '{}'", path.display());
    let temp = temp_of(path);
    let result =
        write_temp(&temp, path, durable, mode, write).and_then(|()| std::fs::rename(&temp, path));
    if result.is_err() {
        // The error of the write is the one to report; the temporary file may not even exist.
        let _ = std::fs::remove_file(&temp);
    }
    result.context(what)?;
    if durable == Durable::Yes {
        sync_parent(path).context(what)?;
    }
    Ok(())
}

/// As [`write_atomic_with_mode`], where nothing has that name yet.
///
/// # Errors
/// Something has; the system refuses.
pub fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let what = || format!("cannot write '{}'", path.display());
    let temp = temp_of(path);
    let name = |path: &Path| path.file_name().unwrap_or_default().as_bytes().to_vec();
    let above = Root::open(path.parent().unwrap_or(Path::new("/")))?;
    let write = &mut |file: &mut File| file.write_all(bytes);
    let placed = write_temp(&temp, path, Durable::No, mode, write)
        .and_then(|()| Ok(place_to_free(above.fd(), &name(&temp), &name(path))?));
    if placed.is_err() {
        // As above.
        let _ = std::fs::remove_file(&temp);
    }
    placed.context(what)
}

fn create_temp(temp: &Path, mode: u32) -> io::Result<File> {
    let create = || create_at(CWD, temp, mode);
    let fd = match create() {
        // A leftover of a killed process that had our pid.
        Err(Errno::EXIST) => {
            std::fs::remove_file(temp)?;
            create()?
        }
        other => other?,
    };
    Ok(File::from(fd))
}

fn write_temp(
    temp: &Path,
    path: &Path,
    durable: Durable,
    mode: u32,
    write: &mut dyn FnMut(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = create_temp(temp, mode)?;
    write(&mut file)?;
    fail_point("file-written");
    // The umask may have taken bits away (0777 takes all).
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    super::create::settle(&file, path)?;
    if durable == Durable::Yes {
        file.sync_all()?;
    }
    Ok(())
}

/// Syncs the directory that holds `path`, so that its name survives a power cut.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    sync_dir(dir_of(path))
}

/// The directory that holds `path`.
pub fn dir_of(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// Syncs a directory, so that the names in it survive a power cut.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    open_dir(dir)?.sync_all()
}

/// Opens a directory, for syncing or locking it.
pub fn open_dir(dir: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(dir, flags, Mode::empty())?.into())
}

/// Where a path leads, without symlinks; the path itself where nothing is.
pub fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// As [`resolved`], of the directory that a path lies in: its own name stays, whatever it leads to.
pub fn resolved_but_name(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => resolved(dir).join(name),
        _ => resolved(path),
    }
}

/// How many symlinks git follows for a file that it locks.
const LINKS: usize = 5;

/// The file that is meant by a path which may be a symlink, as git follows one before it makes a lock file beside it.
pub fn followed(path: PathBuf) -> PathBuf {
    let mut path = path;
    for _ in 0..LINKS {
        let Ok(target) = std::fs::read_link(&path) else {
            break;
        };
        path.pop();
        path.push(target);
    }
    path
}

/// Removes a file; a missing one is fine.
pub fn remove_optional(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).context(|| format!("cannot remove '{}'", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_a_fraction_is_racy_for_two_seconds() {
        let second = 1_000_000_000;
        for (time, racy_until) in [(7 * second + 5, TICK), (7 * second, 2 * second)] {
            for (after, racy) in [(0, true), (racy_until, true), (racy_until + 1, false)] {
                assert_eq!(is_racy(time, time + after), racy, "{time} {after}");
            }
            assert!(is_racy(time, time - 5), "not there yet");
        }
    }

    #[test]
    fn a_symlink_in_the_way_is_never_followed() {
        let dir = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir_all(dir.path().join("real/sub")).expect("mkdir");
        std::fs::write(dir.path().join("real/sub/f"), b"x").expect("write");
        std::os::unix::fs::symlink("real", dir.path().join("link")).expect("symlink");
        for walk in [false, true] {
            let root = Root::open(dir.path()).expect("root");
            root.walk.store(walk, Ordering::Relaxed);
            assert!(root.open_file(b"real/sub/f").is_ok());
            assert!(root.open_file(b"link/sub/f").is_err());
            assert!(root.open_dir(b"link").is_err());
            assert!(root.stamp(b"link/sub/f").expect("stamp").is_none());
        }
    }
}
