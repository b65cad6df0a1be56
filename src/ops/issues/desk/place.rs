//! The desk's directory: opened without following a symlink at any component, files 0600, directories 0700.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::AtFlags;
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::git::fs::{Root, create_at, open_at, read_settled, replace_known, stamp_at};
use crate::git::hex::hex;
use crate::git::repo::SharedRepository;
use crate::ops::Context;
use crate::store::id::Tail;

/// A desk file that is larger was not written by us, and is left alone.
const LARGEST: u64 = 256 << 20;

/// What stands under a name.
pub enum DeskEntry {
    /// Nothing.
    Nothing,
    /// A regular file's bytes: ours, or those that somebody is done saving.
    File(Vec<u8>),
    /// A file that somebody has open for writing. What it holds by now may be half of what it will.
    Busy,
    /// A regular file that is too large.
    TooLarge,
    /// A symlink, a directory, a pipe: left alone.
    Other,
}

/// An issue's directory.
pub struct Place {
    fd: OwnedFd,
}

impl Place {
    /// Opens it. None: it is not there.
    ///
    /// # Errors
    /// When something on the way is no directory, or a symlink.
    pub fn open(ctx: &Context<'_>, path: &str) -> Result<Option<Self>> {
        let root = Root::open(ctx.repo.worktree_root())?;
        match root.open_dir_for_reading(path.as_bytes()) {
            Ok(fd) => Ok(Some(Self { fd })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(in_the_way(path, errno)),
        }
    }

    /// Opens it, making what is missing.
    ///
    /// # Errors
    /// As [`Place::open`].
    pub fn make(ctx: &Context<'_>, path: &str) -> Result<Self> {
        let root = Root::open(ctx.repo.worktree_root())?;
        let mut at = String::new();
        for part in path.split('/') {
            let parent = root
                .open_dir(at.as_bytes())
                .map_err(|errno| in_the_way(&at, errno))?;
            create::dir_in(&parent, part, 0o700).map_err(|errno| in_the_way(path, errno))?;
            if !at.is_empty() {
                at.push('/');
            }
            at.push_str(part);
        }
        Self::open(ctx, path)?.ok_or_else(|| in_the_way(path, Errno::NOENT))
    }

    /// Whether anything stands under `name`.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub fn has(&self, name: &str) -> Result<bool> {
        let found = stamp_at(self.fd.as_fd(), name.as_bytes());
        let found = found.context(|| format!("cannot look at '{name}'"))?;
        Ok(found.is_some())
    }

    /// Whether what stands under `name` is left alone, whatever it holds.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub fn is_left_alone(&self, name: &str) -> Result<bool> {
        let found = stamp_at(self.fd.as_fd(), name.as_bytes());
        let found = found.context(|| format!("cannot look at '{name}'"))?;
        Ok(found.is_some_and(|stamp| !stamp.is_file() || stamp.size > LARGEST))
    }

    /// Whether a file stands under `name` that has this sha256. It is read in pieces.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn has_sha256(&self, name: &str, sha256: &str) -> Result<bool> {
        if !self.has(name)? || self.is_left_alone(name)? {
            return Ok(false);
        }
        let what = || format!("cannot read '{name}'");
        let fd = open_at(self.fd.as_fd(), name.as_bytes()).context(what)?;
        let file = crate::git::regular::accept(File::from(fd)).context(what)?;
        let mut hasher = Sha256::new();
        std::io::copy(&mut file.take(LARGEST), &mut hasher).context(what)?;
        Ok(hex(&hasher.finalize()) == sha256)
    }

    /// What stands under `name`. Bytes that are not ours are somebody's edit once nobody is writing them any more.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, name: &str, is_ours: &dyn Fn(&[u8]) -> bool) -> Result<DeskEntry> {
        let what = || format!("cannot read '{name}'");
        let Some(stamp) = stamp_at(self.fd.as_fd(), name.as_bytes()).context(what)? else {
            return Ok(DeskEntry::Nothing);
        };
        if !stamp.is_file() {
            return Ok(DeskEntry::Other);
        }
        if stamp.size > LARGEST {
            return Ok(DeskEntry::TooLarge);
        }
        let fd = open_at(self.fd.as_fd(), name.as_bytes()).context(what)?;
        let file = crate::git::regular::accept(File::from(fd)).context(what)?;
        let mut bytes = Vec::new();
        (&file)
            .take(LARGEST)
            .read_to_end(&mut bytes)
            .context(what)?;
        if is_ours(&bytes) {
            return Ok(DeskEntry::File(bytes));
        }
        let settled = read_settled(&file, LARGEST).context(what)?;
        Ok(settled.map_or(DeskEntry::Busy, DeskEntry::File))
    }

    /// Puts a file in place, whole, when the bytes that are there by then may go and nobody is writing there. False: they
    /// stay.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, name: &str, bytes: &[u8], may_go: &dyn Fn(&[u8]) -> bool) -> Result<bool> {
        // Of its own: under the name of one that died there may be somebody's edit.
        let temp = format!(".{name}.{}", Tail::random()?.as_str());
        let what = || format!("cannot write '{name}'");
        let fd = create_at(&self.fd, &temp, 0o600).context(what)?;
        let written = create::settle_in(&fd, &self.fd, SharedRepository::Umask)
            .map_err(std::io::Error::from)
            .and_then(|()| File::from(fd).write_all(bytes));
        if let Err(error) = written {
            let _ = rustix::fs::unlinkat(&self.fd, &temp, AtFlags::empty());
            return Err(error).context(what);
        }
        let (temp, name) = (temp.as_bytes(), name.as_bytes());
        replace_known(self.fd.as_fd(), temp, name, may_go).context(what)
    }
}

fn in_the_way(path: &str, errno: Errno) -> Error {
    let why = match errno {
        Errno::LOOP | Errno::NOTDIR => "something else than a directory is there".to_owned(),
        errno => std::io::Error::from(errno).to_string(),
    };
    Error::new(
        Code::WouldOverwrite,
        format!("the desk '{path}' is not used: {why}"),
    )
}
