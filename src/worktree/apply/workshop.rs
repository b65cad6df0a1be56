//! Where a swap of many files makes them, and leaves those that it replaced, on a disk where both is slow.
//!
//! An ext4 without a journal leaves an inode alone for some minutes after it was freed, and looks at each such inode in turn whenever a file
//! is made in the same part of the disk: after a swap of a thousand files, each file of the next one takes up to a millisecond. So
//! they are made in a directory of ours that ext4 puts into another part (which is what the flag `T` of `chattr(1)` asks for, on
//! the directory above), and moved, while they are empty, to where they would have been made. Mounted with `discard`, it waits for
//! the disk whenever a file is deleted that lies there, for another millisecond: what the backup has is moved to us, and a
//! process that nobody waits for deletes it (`ops::upkeep`).
//!
//! Promises: what was made here is as if it had been made there: owner, group, permission bits, attributes and flags. Where that is not known, or
//! something fails, it is made there, and what cannot be moved here is deleted there. Nothing here is needed by anybody: a kill at any moment
//! leaves what its recovery, the next swap or that process deletes.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, IFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::temp_prefix;
use crate::env::{fail_point, has_slow_disk};
use crate::git::fs::{create_at, names_in, spread_dirs_in};
use crate::git::{create, regular};
use crate::worktree::plan::Plan;

/// Fewer files than this are made and deleted in their places.
const MANY: usize = 32;

/// Where fewer bytes than this are free, nothing waits to be deleted: the next command may need them.
const ROOM: u64 = 1 << 30;

/// How the directory of a swap begins to be named when nothing is in it but what is to be deleted.
const DONE: &[u8] = b"done-";

/// The `f_type` of ext2, ext3 and ext4.
const EXT: u64 = 0xEF53;

/// How a directory lies on the disk, which says nothing of what is made in it: `FS_EXTENT_FL`, `FS_INDEX_FL` and `FS_INLINE_DATA_FL`.
const LAID_OUT: IFlags = IFlags::from_bits_retain(0x0008_0000 | 0x1000 | 0x1000_0000);

/// Where a swap may have its workshop, while it alone may write there.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// The directory that stays.
    pub dir: &'a Path,
    /// A process will call [`clear`] after the swap.
    pub is_cleared_later: bool,
}

impl Site<'_> {
    /// The workshop of a swap in a working tree, where one helps.
    pub(super) fn open(self, worktree: BorrowedFd<'_>, tag: &str, plan: &Plan) -> Option<Workshop> {
        let takes = if has_slow_disk() {
            true
        } else if plan.entries.len() < MANY {
            return None;
        } else {
            Slow::when_making(worktree)?.to_delete && self.is_cleared_later
        };
        Workshop::make(self.dir, tag, takes).ok()
    }
}

/// A directory of ours that files are made in.
pub(super) struct Workshop {
    /// The directory that stays, and has the flag.
    above: OwnedFd,
    /// The name in it of this swap's own.
    name: Vec<u8>,
    dir: OwnedFd,
    /// What is made here belongs to this group.
    group: u32,
    /// What was made here cannot be moved to where it belongs.
    is_vain: AtomicBool,
    /// What is to be deleted is moved here.
    takes: bool,
}

impl Workshop {
    fn make(at: &Path, tag: &str, takes: bool) -> io::Result<Self> {
        let above = made_dir(at)?;
        spread_dirs_in(&above);
        // What a process is about to delete is left to it.
        delete_in(&above, |name| !(takes && name.starts_with(DONE)))?;
        let name = temp_prefix(tag);
        let dir = made_dir(&at.join(OsStr::from_bytes(&name)))?;
        let probe = create_at(&dir, "probe", 0o600)?;
        let group = rustix::fs::fstat(&probe)?.st_gid;
        let is_known = is_plain(&dir)? && is_plain(&probe)?;
        rustix::fs::unlinkat(&dir, "probe", AtFlags::empty())?;
        Ok(Self {
            above,
            name,
            dir,
            group,
            is_vain: AtomicBool::new(!is_known),
            takes,
        })
    }

    /// Whether what is made here is as if it were made in that directory.
    pub(super) fn suits(&self, dir: BorrowedFd<'_>) -> bool {
        let look = || {
            // What was opened for look-ups alone is not asked for flags.
            let dir = open_dir(dir, OsStr::new("."))?;
            Ok::<_, Errno>(rustix::fs::fstat(&dir)?.st_gid == self.group && is_plain(&dir)?)
        };
        !self.is_vain.load(Ordering::Relaxed) && look().unwrap_or(false)
    }

    /// Makes a file or symlink by `make` and moves it into a directory that this one suits. None: it has to be made there.
    pub(super) fn make_for<T>(
        &self,
        dir: BorrowedFd<'_>,
        name: &[u8],
        make: impl Fn(BorrowedFd<'_>) -> rustix::io::Result<T>,
    ) -> Option<T> {
        let made = make(self.dir.as_fd()).ok()?;
        fail_point("apply-born");
        let name = OsStr::from_bytes(name);
        let free = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(&self.dir, name, dir, name, free) {
            Ok(()) => return Some(made),
            Err(Errno::EXIST | Errno::ACCESS) => {}
            // Another mount, another project's quota, no flags of a rename.
            Err(_) => self.is_vain.store(true, Ordering::Relaxed),
        }
        let _ = rustix::fs::unlinkat(&self.dir, name, AtFlags::empty());
        None
    }

    /// Takes a file that nobody needs any more out of a directory, to be deleted later; whether it did.
    pub(super) fn take(&self, dir: BorrowedFd<'_>, name: &[u8]) -> bool {
        let (here, there) = (OsStr::from_bytes(done_name(name)), OsStr::from_bytes(name));
        let free = RenameFlags::NOREPLACE;
        self.takes && rustix::fs::renameat_with(dir, there, &self.dir, here, free).is_ok()
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let own = OsStr::from_bytes(&self.name);
        let removed = rustix::fs::unlinkat(&self.above, own, AtFlags::REMOVEDIR);
        if removed == Err(Errno::NOTEMPTY) {
            let done = [DONE, done_name(&self.name)].concat();
            let done = OsStr::from_bytes(&done);
            let _ = rustix::fs::renameat(&self.above, own, &self.above, done);
        }
    }
}

/// Whether [`clear`] has anything to do.
pub fn is_littered(at: &Path) -> bool {
    let names = open_dir(CWD, at.as_os_str()).and_then(|above| names_in(above.as_fd()));
    names.is_ok_and(|names| names.iter().any(|name| name.starts_with(DONE)))
}

/// Deletes what swaps have left to be deleted. A swap may be at work meanwhile.
///
/// # Errors
/// The directory cannot be read.
pub fn clear(at: &Path) -> rustix::io::Result<()> {
    delete_below(at, |name| name.starts_with(DONE))
}

/// Deletes what swaps left that were killed, while none is at work.
///
/// # Errors
/// The directory cannot be read.
pub fn clear_dead(at: &Path) -> rustix::io::Result<()> {
    delete_below(at, |name| !name.starts_with(DONE))
}

fn delete_below(at: &Path, is_one: impl Fn(&[u8]) -> bool) -> rustix::io::Result<()> {
    match open_dir(CWD, at.as_os_str()) {
        Err(Errno::NOENT) => Ok(()),
        above => delete_in(&above?, is_one),
    }
}

/// What a file system waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slow {
    /// Files are not only slow to make.
    to_delete: bool,
}

impl Slow {
    /// An ext4 without a journal. Only what the kernel says plainly counts.
    fn when_making(dir: BorrowedFd<'_>) -> Option<Self> {
        let told = rustix::fs::fstatfs(dir).ok()?;
        if u64::try_from(told.f_type) != Ok(EXT) {
            return None;
        }
        let slow = Self::by(&options_of_ext4(dir)?)?;
        let free = told
            .f_bavail
            .saturating_mul(u64::try_from(told.f_bsize).ok()?);
        Some(Self {
            to_delete: slow.to_delete && free >= ROOM,
        })
    }

    /// By the options of a mount, one in each line. The kernel names the mode of the journal where there is one, also when it is the usual one.
    fn by(options: &str) -> Option<Self> {
        let mut lines = options.lines();
        let has = |option: &str| options.lines().any(|line| line == option);
        let is_known = has("rw") && !lines.any(|line| line.starts_with("data="));
        is_known.then(|| Self {
            to_delete: has("discard"),
        })
    }
}

/// The options that the file system of a directory is mounted with, one in each line.
fn options_of_ext4(dir: BorrowedFd<'_>) -> Option<String> {
    let device = rustix::fs::fstat(dir).ok()?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let device = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let options = Path::new("/proc/fs/ext4")
        .join(device.file_name()?)
        .join("options");
    regular::read_to_string(options).ok()
}

/// How something with a temporary name is named that only waits to be deleted: the other name says that a swap needs it.
fn done_name(temp: &[u8]) -> &[u8] {
    temp.strip_prefix(b".tw-").unwrap_or(temp)
}

/// Opens a directory of ours, which is made where it is not there.
fn made_dir(path: &Path) -> io::Result<OwnedFd> {
    match create::new_dir(path, 0o700) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(open_dir(CWD, path.as_os_str())?),
    }
}

fn open_dir(dir: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty())
}

/// Whether nothing that is made in a directory gets attributes or flags from it, or a file has none of its own.
fn is_plain(file: &OwnedFd) -> rustix::io::Result<bool> {
    // Room for one byte: no name is that short.
    match rustix::fs::flistxattr(file, &mut [0; 1]) {
        Ok(0) | Err(Errno::NOTSUP) => {}
        Ok(_) | Err(Errno::RANGE) => return Ok(false),
        Err(errno) => return Err(errno),
    }
    match rustix::fs::ioctl_getflags(file) {
        Ok(flags) => Ok((flags - LAID_OUT - IFlags::TOPDIR).is_empty()),
        Err(Errno::NOTTY | Errno::NOTSUP) => Ok(true),
        Err(errno) => Err(errno),
    }
}

/// Deletes the directories of swaps whose name is one of these, with the files in them.
fn delete_in(above: &OwnedFd, is_one: impl Fn(&[u8]) -> bool) -> rustix::io::Result<()> {
    for name in names_in(above.as_fd())?.iter().filter(|name| is_one(name)) {
        let name = OsStr::from_bytes(name);
        if let Ok(dir) = open_dir(above.as_fd(), name) {
            for file in names_in(dir.as_fd())? {
                let _ = rustix::fs::unlinkat(&dir, OsStr::from_bytes(&file), AtFlags::empty());
            }
            let _ = rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::git::fs::open_dir as opened;

    fn workshop(at: &Path) -> Workshop {
        Workshop::make(&at.join("workshop"), "t", true).expect("made")
    }

    /// The names below a directory.
    fn listed(at: &Path) -> Vec<String> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(at).expect("listed").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let beneath = listed(&entry.path()).into_iter();
                all.extend(beneath.map(|beneath| format!("{name}/{beneath}")));
            }
            all.push(name);
        }
        all.sort();
        all
    }

    #[test]
    fn only_an_ext4_that_is_known_to_have_no_journal_is_slow() {
        let slow = |to_delete| Some(Slow { to_delete });
        assert_eq!(Slow::by("rw\nbsddf\ndiscard\ncommit=5\n"), slow(true));
        assert_eq!(Slow::by("rw\nbsddf\nnodiscard\n"), slow(false));
        assert_eq!(Slow::by("rw\ndiscard\ndata=ordered\n"), None);
        assert_eq!(Slow::by("rw\ndiscard\ndata=writeback\n"), None);
        assert_eq!(Slow::by(""), None);
        assert_eq!(Slow::by("ro\n"), None);
    }

    #[test]
    fn a_file_is_made_as_in_its_place() {
        let room = tempfile::tempdir().expect("tempdir");
        let dir = opened(room.path()).expect("opened");
        let workshop = workshop(room.path());
        assert!(workshop.suits(dir.as_fd()), "a directory like any other");
        let make = |at: BorrowedFd<'_>| create_at(at, "f", 0o640);
        let made = workshop.make_for(dir.as_fd(), b"f", make).expect("moved");
        let there = room.path().join("f").metadata().expect("there");
        let made = rustix::fs::fstat(&made).expect("open");
        assert_eq!((there.ino(), there.mode()), (made.st_ino, made.st_mode));
        assert_eq!(there.gid(), room.path().metadata().expect("there").gid());
        // A name that is taken is not taken over.
        assert!(workshop.make_for(dir.as_fd(), b"f", make).is_none());
        drop(workshop);
        assert_eq!(listed(room.path()), ["f", "workshop"]);
    }

    #[test]
    fn a_directory_that_gives_its_files_anything_suits_nobody() {
        let room = tempfile::tempdir().expect("tempdir");
        let workshop = workshop(room.path());
        for name in ["attribute", "flag", "group", "closed"] {
            let path = room.path().join(name);
            std::fs::create_dir(&path).expect("mkdir");
            let dir = opened(&path).expect("opened");
            let done = match name {
                "attribute" => {
                    rustix::fs::fsetxattr(&dir, "user.any", b"any", rustix::fs::XattrFlags::empty())
                }
                "flag" => rustix::fs::ioctl_getflags(&dir)
                    .and_then(|flags| rustix::fs::ioctl_setflags(&dir, flags | IFlags::NOATIME)),
                "group" => rustix::fs::chown(&path, None, Some(rustix::fs::Gid::from_raw(12_345))),
                _ => rustix::fs::fchmod(&dir, Mode::empty()).and_then(|()| {
                    let is_root = rustix::process::geteuid().is_root();
                    if is_root { Err(Errno::PERM) } else { Ok(()) }
                }),
            };
            // Not every file system has them, and not every user may.
            assert_eq!(
                workshop.suits(dir.as_fd()),
                done.is_err(),
                "{name}: {done:?}"
            );
            let _ = rustix::fs::fchmod(&dir, Mode::RWXU);
        }
    }

    #[test]
    fn what_it_took_waits_until_it_is_cleared() {
        let room = tempfile::tempdir().expect("tempdir");
        let at = room.path().join("workshop");
        let dir = opened(room.path()).expect("opened");
        assert!(!is_littered(&at));
        clear(&at).expect("nothing to do");
        for name in ["f", "g"] {
            std::fs::write(room.path().join(name), b"old").expect("written");
            let workshop = workshop(room.path());
            assert!(workshop.take(dir.as_fd(), name.as_bytes()));
            assert!(!workshop.take(dir.as_fd(), b"absent"));
            assert!(at.join(".tw-t-").join(name).exists());
            assert_eq!(is_littered(&at), name == "g", "one is at work still");
            drop(workshop);
            // Another of the same name waits already.
            let waits = format!("workshop/done-t-/{name}");
            assert_eq!(room.path().join(waits).exists(), name == "f");
        }
        assert!(is_littered(&at));
        clear(&at).expect("cleared");
        assert!(!is_littered(&at));
        drop(workshop(room.path()));
        assert_eq!(listed(room.path()), ["workshop"]);
    }

    #[test]
    fn what_a_kill_left_goes_with_the_next() {
        let room = tempfile::tempdir().expect("tempdir");
        for name in [".tw-u-", "done-u-"] {
            let left = room.path().join("workshop").join(name);
            std::fs::create_dir_all(&left).expect("mkdir");
            std::fs::write(left.join(".tw-u-7"), b"").expect("written");
        }
        let at = room.path().join("workshop");
        drop(workshop(room.path()));
        assert!(!at.join(".tw-u-").exists());
        std::fs::create_dir(at.join(".tw-u-")).expect("mkdir");
        clear_dead(&at).expect("cleared");
        assert!(!at.join(".tw-u-").exists());
        assert!(is_littered(&at), "that is the other process's to delete");
        drop(Workshop::make(&at, "t", false).expect("made"));
        assert_eq!(listed(room.path()), ["workshop"], "nobody else deletes it");
    }
}
