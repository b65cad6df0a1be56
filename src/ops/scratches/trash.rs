//! What is not needed any more: renamed out of the way at once, and deleted by a process that nobody waits for.
//!
//! It goes into `.tw-trash` in the directory of scratches, which may be anybody's: a `.trash` there is its owner's. What a death left there is deleted with the next one. Promises: what is thrown
//! away is the very directory that was made, whatever is at its path by now; nothing is deleted through a symlink or in a mount, and only
//! in the very directory that it was thrown into.

use std::ffi::{OsStr, OsString};
use std::io::Error;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::env::{Env, fail_point};
use crate::error::{Result, ResultExt};
use crate::git::fs::{Root, rename_to_free_in, stamp_of};
use crate::git::pinned::PinnedDir;
use crate::git::{create, path};
use crate::runner::program::detached;
use crate::store::id::Tail;
use crate::worktree::apply::set_permissions;

/// The word that makes `tw` empty a trash directory; no command of its users.
const WORD: &str = "__trash";
/// The directory, in that of the scratches.
const DIR: &str = ".tw-trash";
/// How often others may take it away for being empty while something is thrown into it.
const TURNS: u32 = 100;

/// A trash directory, known again by whoever empties it.
#[derive(Debug, Clone)]
pub struct Trash {
    path: PathBuf,
    /// Device and inode number.
    numbers: (u64, u64),
}

impl Trash {
    /// The trash in a directory of scratches, where there is any. What is a symlink is none.
    pub fn find(base: &Path) -> Option<Self> {
        let base = Root::open(base).ok()?.within_mount();
        Self::open(&base).ok().map(|(trash, _)| trash)
    }

    /// With the directory itself, for what is in it.
    fn open(base: &Root) -> rustix::io::Result<(Self, Root)> {
        let fd = base.open_dir_for_reading(DIR.as_bytes())?;
        let stat = rustix::fs::fstat(&fd)?;
        let path = base.path().join(DIR);
        let root = Root::of(fd, &path).within_mount();
        let numbers = (stat.st_dev, stat.st_ino);
        Ok((Self { path, numbers }, root))
    }

    /// Empties it: in the background, or here where that is turned off. The directory of scratches goes with it when nothing is left
    /// there.
    pub fn empty(&self, env: &Env) {
        let started = !env.is_on("TW_NO_BACKGROUND") && self.start();
        if !started {
            self.delete_all();
        }
    }

    fn start(&self) -> bool {
        // Another program than `tw` deletes it here.
        let Ok(mut command) = detached(Path::new("/")) else {
            return false;
        };
        command
            .arg(WORD)
            .arg(&self.path)
            .args([self.numbers.0, self.numbers.1].map(|number| number.to_string()))
            .spawn()
            .is_ok()
    }

    /// Whatever cannot be deleted stays for the next time; so does all of it when something else is in its place.
    fn delete_all(&self) {
        let base = self.path.parent().map(Root::open);
        let Some(Ok(base)) = base else {
            return;
        };
        let Ok((now, root)) = Self::open(&base.within_mount()) else {
            return;
        };
        if now.numbers != self.numbers {
            return;
        }
        for name in root.names(b"").unwrap_or_default() {
            delete(&root, &name);
        }
        // Each only when empty.
        let _ = std::fs::remove_dir(&self.path);
        remove_above(&self.path);
    }
}

/// Renames a directory into the trash beside it, when it is that one which is at its path.
///
/// # Errors
/// The system refuses, or something else is at its path: that is where it was then.
pub fn throw(dir: &PinnedDir) -> Result<Trash> {
    let what = || format!("cannot move '{}' away", dir.path().display());
    let above = dir.path().parent().unwrap_or(Path::new("/"));
    let name = dir.path().file_name().unwrap_or_default();
    let mut thrown = name.to_owned();
    thrown.push(format!("-{}", Tail::random()?.as_str()));
    let beside = Root::open(above)?.within_mount();
    let gone = || Err(Error::other("it is not there any more")).context(what);
    let mut turns = 0..TURNS;
    loop {
        let made = create::dir_in(beside.fd(), DIR, 0o700).and_then(|_| Trash::open(&beside));
        let (trash, into) = match made {
            // Somebody who emptied it has just taken it away.
            Err(Errno::NOENT) if turns.next().is_some() => continue,
            other => other.context(|| format!("cannot use '{}'", above.join(DIR).display()))?,
        };
        if !dir.is_at(beside.fd(), name)? {
            return gone();
        }
        match rustix::fs::renameat(beside.fd(), name, into.fd(), &thrown) {
            Err(Errno::NOENT) if turns.next().is_some() => continue,
            Err(errno) => return Err(errno).context(what),
            Ok(()) => {}
        }
        fail_point("trash-thrown");
        // Another one who empties the trash may have been quicker.
        if dir.is_at(into.fd(), &thrown)? || dir.is_removed() {
            return Ok(trash);
        }
        // Somebody put something else there in between: it goes back.
        let (from, to) = (thrown.as_bytes(), name.as_bytes());
        rename_to_free_in((into.fd(), from), (beside.fd(), to)).context(what)?;
        return gone();
    }
}

/// Empties what a death left in a directory of scratches, and takes that away when it is empty: it may have been made again for a scratch
/// that never was.
pub fn sweep(base: &Path, env: &Env) {
    match Trash::find(base) {
        Some(trash) => trash.empty(env),
        None => remove_above(&base.join(DIR)),
    }
}

/// Empties the trash when this process was started for it.
pub fn answer(words: &[OsString]) -> Option<u8> {
    if words.get(1).is_none_or(|word| word != WORD) {
        return None;
    }
    let number = |at: usize| words.get(at)?.to_str()?.parse::<u64>().ok();
    let trash = Trash {
        path: words.get(2)?.into(),
        numbers: (number(3)?, number(4)?),
    };
    // Nothing else is deleted, whoever asks.
    if trash.path.file_name().is_some_and(|name| name == DIR) {
        trash.delete_all();
    }
    Some(0)
}

fn remove_above(trash: &Path) {
    if let Some(above) = trash.parent().filter(|above| is_beside(above)) {
        let _ = std::fs::remove_dir(above);
    }
}

/// The usual directory of scratches, which is made for them alone.
fn is_beside(dir: &Path) -> bool {
    dir.extension().is_some_and(|extension| extension == "tw")
}

/// Deletes what has this name, with all that is in it, but what is mounted there: that is somebody else's, and so stays what leads to it.
fn delete(root: &Root, name: &[u8]) {
    let mut dirs: Vec<Vec<u8>> = Vec::new();
    let mut pending = vec![name.to_vec()];
    while let Some(full) = pending.pop() {
        if unlink(root, &full, AtFlags::empty()).is_ok() {
            continue;
        }
        // Some tools make the directories of their caches read-only.
        let perm = root.open_dir(&full).and_then(|fd| stamp_of(fd.as_fd()));
        if perm.is_ok_and(|stamp| stamp.permissions() & 0o700 != 0o700) {
            let _ = set_permissions(root, &full, 0o700);
        }
        let inside = root.names(&full).unwrap_or_default();
        pending.extend(inside.iter().map(|name| path::join(&full, name)));
        dirs.push(full);
    }
    // What is in a directory comes behind it.
    for full in dirs.iter().rev() {
        let _ = unlink(root, full, AtFlags::REMOVEDIR);
    }
}

fn unlink(root: &Root, full: &[u8], flags: AtFlags) -> rustix::io::Result<()> {
    let (dir, name) = path::split(full);
    let fd = root.open_dir(dir)?;
    rustix::fs::unlinkat(fd, OsStr::from_bytes(name), flags)
}
