//! New files and directories under a git directory: whose they are, and who else may use them.
//!
//! The place that makes them, but for what nobody else is to have (a file handed to an agent's own program). As root, what is made
//! belongs to the owner of the directory it is made in, so that a run with sudo or in a container locks nobody out. Under a git directory
//! with `core.sharedRepository`, what is made gets the bits that git would give it. Leaves out the content: whoever writes it does so before the file has its final name.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use super::access::refused;
use super::fs::dir_of;
use super::repo::SharedRepository;
use crate::error::{Result, ResultExt};

/// Git directories that several people use, and how. Long-lived, as the process may open several repositories.
static SHARED: RwLock<Vec<(PathBuf, SharedRepository)>> = RwLock::new(Vec::new());

/// Whether there is any, which most processes never see.
static ANY_SHARED: AtomicBool = AtomicBool::new(false);

/// How often a file is tried to open that comes and goes.
const TRIES: usize = 4;

/// Says how what is made under a git directory is shared. The last word counts.
pub fn share(git_dir: &Path, sharing: SharedRepository) {
    if sharing == SharedRepository::Umask && !ANY_SHARED.load(Ordering::Relaxed) {
        return;
    }
    let mut shared = SHARED.write().unwrap_or_else(PoisonError::into_inner);
    shared.retain(|(known, _)| known != git_dir);
    if sharing != SharedRepository::Umask {
        shared.push((git_dir.to_owned(), sharing));
        ANY_SHARED.store(true, Ordering::Relaxed);
    }
}

/// How what is made at `path` is shared.
pub fn sharing(path: &Path) -> SharedRepository {
    if !ANY_SHARED.load(Ordering::Relaxed) {
        return SharedRepository::Umask;
    }
    let shared = SHARED.read().unwrap_or_else(PoisonError::into_inner);
    shared
        .iter()
        .find(|(git_dir, _)| path.starts_with(git_dir))
        .map_or(SharedRepository::Umask, |(_, sharing)| *sharing)
}

/// The permission bits that git gives a file or directory which has `mode` (git's `adjust_shared_perm`).
pub fn shared_bits(mode: u32, sharing: SharedRepository) -> u32 {
    let (tweak, replace) = match sharing {
        SharedRepository::Umask => return mode & 0o7777,
        // git's `PERM_GROUP` and `PERM_EVERYBODY`.
        SharedRepository::Group => (0o660, false),
        SharedRepository::Everybody => (0o664, false),
        SharedRepository::Mode(bits) => (bits, true),
    };
    let readable_is_executable = |bits: u32| bits | (bits & 0o444) >> 2;
    let mut tweak = tweak;
    if mode & 0o200 == 0 {
        // What is read-only, such as an object, stays so for the others, too.
        tweak &= !0o222;
    }
    if mode & 0o100 != 0 {
        tweak = readable_is_executable(tweak);
    }
    let kept = if replace {
        mode & 0o7000
    } else {
        mode & 0o7777
    };
    let mut bits = kept | tweak;
    if mode & 0o170_000 == 0o040_000 {
        bits = readable_is_executable(bits);
        if bits & 0o060 != 0 {
            // git's `FORCE_DIR_SET_GID`: what is made in it belongs to the same group.
            bits |= 0o2000;
        }
    }
    bits
}

/// Who shall own what is made in a directory, when that is not simply who makes it.
pub fn owner_in(dir: &Stat) -> Option<(Uid, Gid)> {
    let given = dir.st_uid != 0 && rustix::process::geteuid().is_root();
    given.then(|| (Uid::from_raw(dir.st_uid), Gid::from_raw(dir.st_gid)))
}

/// Gives a new file or directory to `owner` and shares it.
///
/// # Errors
/// When the system refuses for another reason than that it cannot know such an owner.
pub fn settle_for(
    new: BorrowedFd<'_>,
    owner: Option<(Uid, Gid)>,
    sharing: SharedRepository,
) -> rustix::io::Result<()> {
    if let Some((uid, gid)) = owner {
        as_far_as_possible(rustix::fs::fchown(new, Some(uid), Some(gid)))?;
    }
    if sharing == SharedRepository::Umask {
        return Ok(());
    }
    let mode = rustix::fs::fstat(new)?.st_mode;
    let bits = shared_bits(mode, sharing);
    if bits == mode & 0o7777 {
        return Ok(());
    }
    match rustix::fs::fchmod(new, Mode::from_raw_mode(bits)) {
        // Somebody else's: git does not take it amiss either.
        Err(Errno::PERM) => Ok(()),
        other => other,
    }
}

/// A container may not know the id, and a file system may have no owners: nobody could do better.
fn as_far_as_possible(given: rustix::io::Result<()>) -> rustix::io::Result<()> {
    refused(given).map(drop)
}

/// Settles what was just made at `path`, whatever name it gets later.
///
/// # Errors
/// As [`settle_for`], and when its directory is gone.
pub fn settle(new: impl AsFd, path: &Path) -> io::Result<()> {
    let owner = if rustix::process::geteuid().is_root() {
        owner_in(&rustix::fs::stat(dir_of(path))?)
    } else {
        None
    };
    Ok(settle_for(new.as_fd(), owner, sharing(path))?)
}

/// Settles a symlink that was just made at `path`.
///
/// # Errors
/// When its directory is gone, or the system refuses.
pub fn settle_link(path: &Path) -> io::Result<()> {
    let Some((uid, gid)) = owner_in(&rustix::fs::stat(dir_of(path))?) else {
        return Ok(());
    };
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let given = rustix::fs::chownat(rustix::fs::CWD, path, Some(uid), Some(gid), flags);
    Ok(as_far_as_possible(given)?)
}

/// Settles what was just made in an opened directory.
///
/// # Errors
/// As [`settle_for`].
pub fn settle_in(
    new: impl AsFd,
    dir: impl AsFd,
    sharing: SharedRepository,
) -> rustix::io::Result<()> {
    let owner = owner_in(&rustix::fs::fstat(dir)?);
    settle_for(new.as_fd(), owner, sharing)
}

/// Makes a directory in an opened one, outside every git directory, and opens it; one that is there is as good.
///
/// # Errors
/// When something else than a directory is there, or the disk refuses.
pub fn dir_in(dir: impl AsFd, name: &str, mode: u32) -> rustix::io::Result<OwnedFd> {
    let made = rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(mode));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match made {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let fd = rustix::fs::openat(&dir, name, flags, Mode::empty())?;
    if made.is_ok() {
        settle_in(&fd, dir, SharedRepository::Umask)?;
    }
    Ok(fd)
}

/// Makes a file that is not there yet, open for writing.
///
/// # Errors
/// `AlreadyExists` when something is there.
pub fn new_file(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(mode).open(path)?;
    settle(&file, path)?;
    Ok(file)
}

/// Opens a file with `options`, and makes it first when it is not there.
///
/// # Errors
/// When it can be neither opened nor made.
pub fn open_or_new(path: &Path, options: &OpenOptions, mode: u32) -> io::Result<File> {
    for _ in 0..TRIES {
        match options.open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            other => return other,
        }
        match options.clone().create_new(true).mode(mode).open(path) {
            Ok(file) => {
                settle(&file, path)?;
                return Ok(file);
            }
            // Somebody was quicker, and theirs is opened.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    // A symlink that leads nowhere.
    let file = options.clone().create(true).mode(mode).open(path)?;
    settle(&file, path)?;
    Ok(file)
}

/// Makes a directory that is not there yet.
///
/// # Errors
/// `AlreadyExists` when something is there.
pub fn new_dir(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::DirBuilder::new().mode(mode).create(path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(dir) => settle(&dir, path),
        // Under git directories, who deletes a ref also removes directories that are empty.
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Makes a directory and what is missing above it; one that is there is as good.
///
/// # Errors
/// When something else is there, or the disk refuses.
pub fn dirs(path: &Path, mode: u32) -> io::Result<()> {
    let made = match new_dir(path, mode) {
        Err(error) if error.kind() == ErrorKind::NotFound => match path.parent() {
            Some(above) if !above.as_os_str().is_empty() => {
                dirs(above, mode)?;
                new_dir(path, mode)
            }
            _ => Err(error),
        },
        other => other,
    };
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        other => other,
    }
}

/// What we keep in a git directory.
const OURS: &str = "timewarp";

/// Makes a private directory (0700) and its missing parents, but never the git directory that it is in: one that is gone was moved or
/// removed meanwhile.
///
/// # Errors
/// As [`dirs`].
pub fn private_dir(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let ours = path
        .ancestors()
        .find(|at| at.file_name() == Some(OsStr::new(OURS)));
    let made = match ours.and_then(Path::parent) {
        Some(over) if !over.as_os_str().is_empty() && !over.is_dir() => {
            Err(io::Error::from(ErrorKind::NotFound))
        }
        _ => dirs(path, 0o700),
    };
    made.context(|| format!("cannot create '{}'", path.display()))
}

/// What a git directory is made of, itself first.
const GIT_DIRS: [&str; 7] = [
    "",
    "objects",
    "objects/info",
    "objects/pack",
    "refs",
    "refs/heads",
    "info",
];

/// Makes the directories of a new git directory, private (0700).
///
/// # Errors
/// Something is there, or the disk refuses.
pub fn git_dirs(dir: &Path) -> Result<()> {
    for name in GIT_DIRS {
        let part = dir.join(name);
        new_dir(&part, 0o700).context(|| format!("cannot create '{}'", part.display()))?;
    }
    Ok(())
}

/// As root, gives what root made at `path` and beneath to the owner of the directory over it: another program made it, or an older `tw`. Never follows
/// a symlink, and leaves alone what has a second name elsewhere.
///
/// # Errors
/// The disk refuses.
pub fn give_all(path: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let (over, Some(name)) = (dir_of(path), path.file_name()) else {
        return Ok(());
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let over = match rustix::fs::open(over, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    match owner_in(&rustix::fs::fstat(&over)?) {
        Some(owner) => Ok(give_named(over.as_fd(), name, owner)?),
        None => Ok(()),
    }
}

fn give_named(dir: BorrowedFd<'_>, name: &OsStr, owner: (Uid, Gid)) -> rustix::io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = match rustix::fs::openat(dir, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    let stat = rustix::fs::fstat(&found)?;
    // Another file system lies here.
    if stat.st_dev != rustix::fs::fstat(dir)?.st_dev {
        return Ok(());
    }
    let is_dir = stat.st_mode & 0o170_000 == 0o040_000;
    if stat.st_uid == 0 && (is_dir || stat.st_nlink == 1) {
        let (uid, gid) = (Some(owner.0), Some(owner.1));
        as_far_as_possible(rustix::fs::chownat(
            &found,
            "",
            uid,
            gid,
            AtFlags::EMPTY_PATH,
        ))?;
    }
    if !is_dir {
        return Ok(());
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inside = match rustix::fs::openat(&found, ".", flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    for entry in rustix::fs::Dir::read_from(&inside)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            give_named(inside.as_fd(), name, owner)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_git_directory_that_is_gone_does_not_come_back() {
        let dir = tempfile::tempdir().expect("a directory");
        let git_dir = dir.path().join("timewarp/moved/.git");
        let kept = git_dir.join("timewarp/contexts");
        assert!(private_dir(&kept).is_err());
        assert!(!dir.path().join("timewarp").exists());
        std::fs::create_dir_all(&git_dir).expect("made");
        private_dir(&kept).expect("made");
        assert!(kept.is_dir());
    }

    #[test]
    fn bits_are_those_that_git_gives() {
        use SharedRepository::{Everybody, Group, Mode, Umask};
        for (mode, sharing, bits) in [
            (0o100_600, Umask, 0o600),
            (0o100_600, Group, 0o660),
            (0o100_444, Group, 0o444),
            (0o100_400, Group, 0o440),
            (0o100_755, Group, 0o775),
            (0o100_600, Everybody, 0o664),
            (0o100_644, Mode(0o640), 0o640),
            (0o100_755, Mode(0o640), 0o750),
            (0o040_700, Group, 0o2770),
            (0o040_755, Everybody, 0o2775),
            (0o040_755, Mode(0o640), 0o2750),
            (0o040_755, Mode(0o600), 0o700),
        ] {
            assert_eq!(shared_bits(mode, sharing), bits, "{mode:o} {sharing:?}");
        }
    }

    #[test]
    fn what_is_made_under_a_shared_directory_is_shared_and_nothing_else() {
        let dir = tempfile::tempdir().expect("tempdir");
        let (shared, other) = (dir.path().join("shared"), dir.path().join("other"));
        for made in [&shared, &other] {
            new_dir(made, 0o700).expect("made");
        }
        share(&shared, SharedRepository::Group);
        for (top, file_bits, dir_bits) in [(&shared, 0o660, 0o2770), (&other, 0o600, 0o700)] {
            dirs(&top.join("a/b"), 0o700).expect("made");
            dirs(&top.join("a/b"), 0o700).expect("there");
            let file = top.join("a/b/f");
            drop(new_file(&file, 0o600).expect("made"));
            let options = OpenOptions::new().append(true).clone();
            drop(open_or_new(&top.join("log"), &options, 0o600).expect("made"));
            drop(open_or_new(&top.join("log"), &options, 0o600).expect("opened"));
            let bits = |path: &Path| path.metadata().expect("there").mode() & 0o7777;
            assert_eq!(bits(&file), file_bits);
            assert_eq!(bits(&top.join("log")), file_bits);
            assert_eq!(bits(&top.join("a/b")), dir_bits);
        }
        share(&shared, SharedRepository::Umask);
        assert_eq!(sharing(&shared.join("x")), SharedRepository::Umask);
    }

    #[test]
    fn as_root_what_is_made_belongs_to_the_owner_of_its_directory() {
        if !crate::provided::is_root() {
            crate::provided::skipped("root", "only root can give files away");
            return;
        }
        let dir = tempfile::tempdir().expect("tempdir");
        std::os::unix::fs::chown(dir.path(), Some(1234), Some(2345)).expect("given");
        dirs(&dir.path().join("a/b"), 0o700).expect("made");
        drop(new_file(&dir.path().join("a/b/f"), 0o600).expect("made"));
        for path in ["a", "a/b", "a/b/f"] {
            let meta = dir.path().join(path).metadata().expect("there");
            assert_eq!((meta.uid(), meta.gid()), (1234, 2345), "{path}");
        }
    }
}
