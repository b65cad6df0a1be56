//! New files under `objects/`: made under a temporary name, put in place by rename, removed when dropped before that.
//!
//! The names begin with `tmp_`, so that git's own prune clears what a killed process leaves, and say who made them, so that
//! ours is cleared sooner. A `gc --prune=now` at the wrong
//! moment also clears what is still being written, and empty fan-out directories; then the file is made anew from its open
//! descriptor.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FlockOperation, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use crate::git::create;
use crate::git::process::Maker;
use crate::git::repo::SharedRepository;

const ATTEMPTS: usize = 4;
const BUFFER: usize = 1 << 20;

/// The directory that new objects go to, and what it says about permissions.
#[derive(Debug, Clone)]
pub(super) struct Target {
    fd: Arc<OwnedFd>,
    /// The permission bits of the objects directory, when its group may write: a shared repository, where what is new must
    /// be open to the same people whatever the umask.
    shared: Option<u32>,
    /// `core.sharedRepository`.
    sharing: SharedRepository,
    /// Who owns the objects, when that is not simply who makes them.
    owner: Option<(Uid, Gid)>,
}

impl Target {
    pub(super) fn new(fd: &Arc<OwnedFd>, path: &Path) -> io::Result<Self> {
        let dir = rustix::fs::fstat(fd)?;
        let bits = dir.st_mode & 0o7777;
        let sharing = create::sharing(path);
        let by_directory = sharing == SharedRepository::Umask && bits & 0o020 != 0;
        Ok(Self {
            fd: Arc::clone(fd),
            shared: by_directory.then_some(bits),
            sharing,
            owner: create::owner_in(&dir),
        })
    }

    /// Makes an empty file named `prefix`, this process and something random. Missing directories are made.
    pub(super) fn create(&self, prefix: &[u8]) -> io::Result<Temp> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for _ in 0..ATTEMPTS {
            let random = random()?;
            let name = [
                prefix,
                format!("tw-{}-{random:016x}", Maker::this()).as_bytes(),
            ]
            .concat();
            // Read-only from the start, as git's objects are: our descriptor writes all the same.
            match rustix::fs::openat(&self.fd, &name[..], flags, Mode::from_raw_mode(0o444)) {
                Ok(fd) => {
                    let temp = Temp {
                        target: self.clone(),
                        prefix: prefix.to_vec(),
                        name: Some(name),
                        file: File::from(fd),
                    };
                    self.share_file(&temp.file)?;
                    return Ok(temp);
                }
                Err(Errno::NOENT) => self.make_parent(prefix)?,
                Err(Errno::EXIST | Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::NOENT.into())
    }

    fn share_file(&self, file: &File) -> io::Result<()> {
        if let Some(bits) = self.shared {
            rustix::fs::fchmod(file, Mode::from_raw_mode(bits & 0o444 | 0o400))?;
        }
        Ok(create::settle_for(file.as_fd(), self.owner, self.sharing)?)
    }

    /// Makes the directory part of a name, which is one component.
    fn make_parent(&self, name: &[u8]) -> io::Result<()> {
        let Some(slash) = name.iter().rposition(|&byte| byte == b'/') else {
            return Ok(());
        };
        let dir = name.get(..slash).unwrap_or_default();
        match rustix::fs::mkdirat(&self.fd, dir, Mode::from_raw_mode(0o777)) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
        if let Some(bits) = self.shared {
            let mode = Mode::from_raw_mode(bits);
            rustix::fs::chmodat(&self.fd, dir, mode, AtFlags::empty())?;
        }
        if self.owner.is_some() || self.sharing != SharedRepository::Umask {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match rustix::fs::openat(&self.fd, dir, flags, Mode::empty()) {
                Ok(made) => create::settle_for(made.as_fd(), self.owner, self.sharing)?,
                // Pruned again, and made again by the next try.
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Removes a file; gone already is as good.
    pub(super) fn remove(&self, name: &[u8]) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Makes new names under `pack` outlast a power cut.
    pub(super) fn sync_pack_dir(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let pack = rustix::fs::openat(&self.fd, "pack", flags, Mode::empty())?;
        rustix::fs::fsync(pack)?;
        Ok(rustix::fs::fsync(&self.fd)?)
    }
}

/// Whether a file is locked before it gets its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locked {
    Yes,
    No,
}

/// A file that is being written.
pub(super) struct Temp {
    target: Target,
    prefix: Vec<u8>,
    /// None once it is in place.
    name: Option<Vec<u8>>,
    pub(super) file: File,
}

impl Temp {
    /// Gives the file its name, replacing what had it.
    pub(super) fn place(self, to: &[u8]) -> io::Result<()> {
        self.place_as(to, Locked::No).map(|_| ())
    }

    /// As [`Self::place`] for a file whose lock says that we live, as long as what is returned is open.
    pub(super) fn place_locked(self, to: &[u8]) -> io::Result<File> {
        self.place_as(to, Locked::Yes)?.file.try_clone()
    }

    fn place_as(mut self, to: &[u8], locked: Locked) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let Some(name) = &self.name else {
                break;
            };
            if locked == Locked::Yes {
                // At every attempt: the one before may have made the file anew.
                rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive)?;
            }
            match rustix::fs::renameat(&self.target.fd, &name[..], &self.target.fd, to) {
                Ok(()) => {
                    self.name = None;
                    return Ok(self);
                }
                Err(Errno::NOENT) => self.recover(to)?,
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::NOENT.into())
    }

    /// After a rename found nothing: either this file or the directory of its new name was pruned.
    fn recover(&mut self, to: &[u8]) -> io::Result<()> {
        self.target.make_parent(to)?;
        let name = self.name.as_deref().unwrap_or_default();
        match rustix::fs::statat(&self.target.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(()),
            Err(Errno::NOENT) => {
                let fresh = self.target.create(&self.prefix)?;
                copy(&self.file, &fresh.file)?;
                // Its maker may have waited for the one that was pruned, and will not again.
                fresh.file.sync_all()?;
                *self = fresh;
                Ok(())
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nothing can be done here about a failure; git's prune clears what stays.
            let _ = self.target.remove(name);
        }
    }
}

/// Who made a temporary file; `None` when it is not ours.
pub(super) fn made_by(name: &str) -> Option<Maker> {
    let (_, maker) = name.strip_prefix("tmp_")?.split_once("_tw-")?;
    Maker::parse(maker).map(|(maker, _)| maker)
}

/// A number for a name that nobody else has.
pub(super) fn random() -> io::Result<u64> {
    getrandom::u64().map_err(|error| io::Error::other(error.to_string()))
}

fn copy(from: &File, to: &File) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let mut at = 0;
    loop {
        let count = match from.read_at(&mut buffer, at) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all_at(buffer.get(..count).unwrap_or_default(), at)?;
        at += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn target(dir: &Path) -> Target {
        let fd = std::fs::File::open(dir).expect("opened").into();
        Target::new(&Arc::new(fd), dir).expect("a target")
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(dir)
            .expect("listed")
            .map(|entry| entry.expect("entry").file_name().into_string())
            .collect::<Result<_, _>>()
            .expect("text");
        names.sort();
        names
    }

    #[test]
    fn a_dropped_file_leaves_nothing() {
        let dir = tempfile::tempdir().expect("directory");
        let temp = target(dir.path()).create(b"ab/tmp_obj_").expect("made");
        assert_eq!(names(&dir.path().join("ab")).len(), 1);
        drop(temp);
        assert!(names(&dir.path().join("ab")).is_empty());
    }

    #[test]
    fn a_file_pruned_while_written_still_gets_its_name() {
        let dir = tempfile::tempdir().expect("directory");
        let temp = target(dir.path()).create(b"ab/tmp_obj_").expect("made");
        temp.file.write_all_at(b"content", 0).expect("written");
        std::fs::remove_dir_all(dir.path().join("ab")).expect("pruned");
        temp.place(b"ab/cd").expect("placed");
        assert_eq!(names(&dir.path().join("ab")), ["cd"]);
        let content = std::fs::read(dir.path().join("ab/cd")).expect("read");
        assert_eq!(content, b"content");
    }

    #[test]
    fn a_shared_directory_passes_its_permissions_on() {
        let dir = tempfile::tempdir().expect("directory");
        let mode = |path: &Path| {
            let metadata = std::fs::metadata(path).expect("there");
            metadata.permissions().mode() & 0o7777
        };
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o2770)).expect("set");
        let temp = target(dir.path()).create(b"ab/tmp_obj_").expect("made");
        temp.place(b"ab/cd").expect("placed");
        assert_eq!(mode(&dir.path().join("ab")), 0o2770);
        assert_eq!(mode(&dir.path().join("ab/cd")), 0o440);
    }
}
