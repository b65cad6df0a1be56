//! New contents, written to temporary files beside their places while nothing there is touched yet.
//!
//! All of them are written before the first path is exchanged, by directories shared out among the machine's cores. When one
//! cannot be written, those that were go again, and nothing has happened. One that cannot be written yet, because the plan
//! makes its directory, a file stands there or it is closed, is left for its turn. (It also spares ext4, where making a file
//! beside others that were just removed is slow.)
//!
//! A file never has more bits for group and others than it will have, and gets its owner before its content and its special
//! bits after it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use super::{CopyBlob, Granted, InDir, by_dir, cannot_write, temp_name};
use crate::env::fail_point;
use crate::error::{Result, ResultExt};
use crate::git::access::{Access, Lost, disinherit, without_capabilities};
use crate::git::fs::Root;
use crate::git::tree::LINK_MODE;
use crate::git::{path, threads};
use crate::progress::Progress;
use crate::worktree::plan::{Plan, PlanEntry, Side};

/// Whether a temporary file was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// It was.
    Whole,
    /// Its directory lets nobody write in it.
    Closed,
}

/// Writes temporary files.
pub(super) struct Temps<'a> {
    root: &'a Root,
    tag: &'a str,
    copy_blob: CopyBlob<'a>,
    progress: &'a dyn Progress,
    granted: Granted<'a>,
    /// We are root: what replaces nothing gets the owner of its directory.
    privileged: bool,
    /// What could not be given.
    lost: Mutex<Vec<(Vec<u8>, Lost)>>,
}

impl<'a> Temps<'a> {
    pub(super) fn new(
        root: &'a Root,
        tag: &'a str,
        copy_blob: CopyBlob<'a>,
        granted: Granted<'a>,
        progress: &'a dyn Progress,
    ) -> Self {
        Self {
            root,
            tag,
            copy_blob,
            progress,
            granted,
            privileged: rustix::process::geteuid().is_root(),
            lost: Mutex::default(),
        }
    }

    /// What could not be given, by path.
    pub(super) fn into_lost(self) -> Vec<(Vec<u8>, Lost)> {
        self.lost
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the new content of every entry that it can be written for now, and tells which these are.
    ///
    /// # Errors
    /// One could not be written. None is there any more then.
    pub(super) fn write_all(&self, plan: &Plan) -> Result<BTreeSet<usize>> {
        let new = |entry: &PlanEntry| entry.after.is_some() && !entry.is_chmod();
        let entries = plan.entries.iter().enumerate();
        let entries = entries.filter(|(_, entry)| new(entry)).map(|(nth, _)| nth);
        let (dirs, amount) = by_dir(plan, entries);
        let (written, failed) =
            threads::gather(&dirs, amount, |dir, written| self.write_in(dir, written));
        let written: BTreeSet<usize> = written.concat().into_iter().collect();
        if let Some(error) = failed {
            self.take_back(plan, &written);
            return Err(error);
        }
        Ok(written)
    }

    /// Writes what goes into one directory.
    fn write_in(&self, (dir, entries): &InDir<'_>, written: &mut Vec<usize>) -> Result<()> {
        let fd = match self.root.open_dir(dir) {
            // The plan has still to make or open the directory: `Apply::put` writes these later.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(()),
            other => other.context(|| format!("cannot open '{}'", path::display(dir)))?,
        };
        for &(nth, entry) in entries {
            if let Some(side) = entry.after
                && self
                    .write(nth, entry, side, fd.as_fd())
                    .context(|| cannot_write(entry))?
                    == Written::Whole
            {
                written.push(nth);
            }
        }
        Ok(())
    }

    /// Removes temporary files that were just written. What cannot be removed is left to the recovery.
    fn take_back(&self, plan: &Plan, written: &BTreeSet<usize>) {
        let (dirs, _) = by_dir(plan, written.iter().copied());
        for (dir, entries) in dirs {
            if let Ok(fd) = self.root.open_dir(dir) {
                for (nth, _) in entries {
                    forget(fd.as_fd(), &temp_name(self.tag, nth));
                }
            }
        }
    }

    /// Writes one entry's new content beside its place in `dir`. After an error nothing of it is left.
    pub(super) fn write(
        &self,
        nth: usize,
        entry: &PlanEntry,
        side: Side,
        dir: BorrowedFd<'_>,
    ) -> Result<Written> {
        let temp = temp_name(self.tag, nth);
        let made = if side.node.mode == LINK_MODE {
            self.link(dir, &temp, (entry, side))
        } else {
            self.file(dir, &temp, (entry, side))
        };
        if matches!(made, Ok(Written::Whole)) {
            fail_point("apply-written");
            self.progress.advance(1);
        }
        made
    }

    fn link(
        &self,
        dir: BorrowedFd<'_>,
        temp: &[u8],
        (entry, side): (&PlanEntry, Side),
    ) -> Result<Written> {
        let mut target = Vec::new();
        (self.copy_blob)(side.node.oid, &mut target)?;
        let (target, name) = (OsStr::from_bytes(&target), OsStr::from_bytes(temp));
        let link = || rustix::fs::symlinkat(target, dir, name);
        let Some(()) = make(dir, temp, link)? else {
            return Ok(Written::Closed);
        };
        self.own_link(dir, name, entry)
            .inspect_err(|_| forget(dir, temp))?;
        Ok(Written::Whole)
    }

    fn file(
        &self,
        dir: BorrowedFd<'_>,
        temp: &[u8],
        (entry, side): (&PlanEntry, Side),
    ) -> Result<Written> {
        let access = self.access(dir, entry)?;
        let owner = self.owner(dir, access.as_deref())?;
        // Whoever opens it before it has its owner keeps what he opened: until then it is for us alone.
        let bits = if access.is_some() || owner.is_some() || side.perm & 0o200 == 0 {
            0o600
        } else {
            side.perm & 0o777
        };
        let Some(fd) = make(dir, temp, || create(dir, temp, bits))? else {
            return Ok(Written::Closed);
        };
        let file = File::from(fd);
        self.fill(&file, side, (owner, access.as_deref()))
            .map(|lost| self.note(entry, lost))
            .inspect_err(|_| forget(dir, temp))?;
        Ok(Written::Whole)
    }

    fn fill(
        &self,
        mut file: &File,
        side: Side,
        (owner, access): (Option<(u32, u32)>, Option<&Access>),
    ) -> Result<Lost> {
        let mut lost = Lost::default();
        if let Some(access) = access {
            lost = access.give_owner(file)?;
        } else if let Some((uid, gid)) = owner {
            rustix::fs::fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
        if access.is_none() && !self.granted.inherits() {
            disinherit(file)?;
        }
        // After the owner, before the bits: a change of owner and every write clear setuid and setgid.
        (self.copy_blob)(side.node.oid, &mut file)?;
        if let Some(access) = access {
            access.give_rest(file, side.perm, &mut lost)?;
        } else if rustix::fs::fstat(file)?.st_mode & 0o7777 != side.perm {
            rustix::fs::fchmod(file, Mode::from_raw_mode(side.perm))?;
        }
        Ok(lost)
    }

    fn note(&self, entry: &PlanEntry, lost: Lost) {
        if !lost.is_empty() {
            let mut all = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
            all.push((entry.path.clone(), lost));
        }
    }

    /// The access that a new file gets: what was recorded of its path, else that of what it replaces. A directory's is not a file's.
    fn access(
        &self,
        dir: BorrowedFd<'_>,
        entry: &PlanEntry,
    ) -> rustix::io::Result<Option<Cow<'a, Access>>> {
        if let Some(recorded) = self.granted.recorded.and_then(|all| all.of(&entry.path)) {
            return Ok(Some(recorded));
        }
        let name = path::split(&entry.path).1;
        let there = Access::at(dir, name)?;
        let Some((mut access, _)) = there.filter(|(_, stat)| !is_dir(stat)) else {
            return Ok(None);
        };
        if self.granted.foreign {
            without_capabilities(&mut access);
        }
        Ok(Some(Cow::Owned(access)))
    }

    /// Who shall own a file that is made as root where nothing says so.
    fn owner(
        &self,
        dir: BorrowedFd<'_>,
        access: Option<&Access>,
    ) -> rustix::io::Result<Option<(u32, u32)>> {
        if !self.privileged || access.is_some() {
            return Ok(None);
        }
        let stat = rustix::fs::fstat(dir)?;
        Ok(Some((stat.st_uid, stat.st_gid)))
    }

    /// A new symlink gets the owner that a file would get.
    fn own_link(
        &self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
        entry: &PlanEntry,
    ) -> rustix::io::Result<()> {
        let access = self.access(dir, entry)?;
        let owner = match &access {
            Some(access) => Some((access.uid, access.gid)),
            None => self.owner(dir, None)?,
        };
        let Some((uid, gid)) = owner else {
            return Ok(());
        };
        let made = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if (made.st_uid, made.st_gid) == (uid, gid) {
            return Ok(());
        }
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        match rustix::fs::chownat(dir, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW) {
            // Nobody's access depends on who owns a symlink.
            Err(Errno::PERM) if !self.privileged => Ok(()),
            other => other,
        }
    }
}

pub(super) fn is_dir(stat: &Stat) -> bool {
    stat.st_mode & 0o170_000 == 0o040_000
}

/// Makes a temporary file; nothing in a closed directory. One of this very entry can only be there when an earlier try of
/// the same swap was undone.
fn make<T>(
    dir: BorrowedFd<'_>,
    temp: &[u8],
    make: impl Fn() -> rustix::io::Result<T>,
) -> rustix::io::Result<Option<T>> {
    let made = match make() {
        Err(Errno::EXIST) => {
            unlink(dir, temp)?;
            make()
        }
        other => other,
    };
    match made {
        Err(Errno::ACCESS) => Ok(None),
        other => other.map(Some),
    }
}

fn create(dir: BorrowedFd<'_>, temp: &[u8], bits: u32) -> rustix::io::Result<OwnedFd> {
    // `EXCL` with `NOFOLLOW`: a link that somebody laid under the temporary name is not written through.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(bits);
    rustix::fs::openat(dir, OsStr::from_bytes(temp), flags, mode)
}

fn unlink(dir: BorrowedFd<'_>, temp: &[u8]) -> rustix::io::Result<()> {
    rustix::fs::unlinkat(dir, OsStr::from_bytes(temp), AtFlags::empty())
}

/// Removes what was just made and is not whole: no more than the beginning of a blob that the store has. What cannot be
/// removed is left to the recovery.
fn forget(dir: BorrowedFd<'_>, temp: &[u8]) {
    let _ = unlink(dir, temp);
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use super::*;
    use crate::error::{Code, Error};
    use crate::git::Oid;
    use crate::git::tree::Node;
    use crate::progress::Silent;

    fn entry(path: &str, oid: u8, mode: u32, perm: u32) -> PlanEntry {
        let oid = Oid::from_bytes(&[oid; 20]).expect("20 bytes");
        let node = Node { mode, oid };
        PlanEntry {
            path: path.into(),
            before: None,
            after: Some(Side { node, perm }),
        }
    }

    /// Blob 0 cannot be read, the others hold their number.
    fn copy(oid: Oid, out: &mut dyn Write) -> Result<u64> {
        let number = oid.as_bytes()[0];
        if number == 0 {
            return Err(Error::new(Code::CorruptRecord, "damaged"));
        }
        out.write_all(&[number])?;
        Ok(1)
    }

    fn plan(entries: Vec<PlanEntry>) -> Plan {
        Plan {
            entries,
            ..Plan::default()
        }
    }

    /// What there is in a directory, and the one beneath it.
    fn names(dir: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for dir in [dir, &dir.join("sub")] {
            let entries = std::fs::read_dir(dir).expect("listed").flatten();
            names.extend(entries.map(|entry| entry.file_name().to_string_lossy().into_owned()));
        }
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_bits_whoever_we_are() {
        let dir = tempfile::tempdir().expect("tempdir");
        let root = Root::open(dir.path()).expect("root");
        let bits = [0o644, 0o600, 0o444, 0o755, 0o4755, 0o2711, 0, 0o777];
        let entries = bits.map(|perm| entry("f", 7, 0o100_644, perm));
        for privileged in [false, rustix::process::geteuid().is_root()] {
            let mut temps = Temps::new(&root, "t", &copy, Granted::default(), &Silent);
            temps.privileged = privileged;
            let written = temps.write_all(&plan(entries.to_vec())).expect("written");
            assert_eq!(written.len(), bits.len());
            for (nth, perm) in bits.iter().enumerate() {
                let file = dir.path().join(format!(".tw-t-{nth}"));
                let meta = file.symlink_metadata().expect("there");
                assert_eq!((meta.mode() & 0o7777, meta.len()), (*perm, 1), "{perm:o}");
            }
        }
    }

    #[test]
    fn what_has_no_directory_yet_is_left_for_its_turn() {
        let dir = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir(dir.path().join("sub")).expect("mkdir");
        std::fs::write(dir.path().join("file"), b"").expect("written");
        std::os::unix::fs::symlink("sub", dir.path().join("link")).expect("linked");
        let root = Root::open(dir.path()).expect("root");
        let paths = ["a", "file/x", "link/x", "new/x", "sub/x"];
        let entries = paths.map(|path| entry(path, 1, 0o100_644, 0o644)).to_vec();
        let temps = Temps::new(&root, "t", &copy, Granted::default(), &Silent);
        let written = temps.write_all(&plan(entries)).expect("written");
        assert_eq!(written, BTreeSet::from([0, 4]));
        assert_eq!(
            names(dir.path()),
            [".tw-t-0", ".tw-t-4", "file", "link", "sub"]
        );
    }

    #[test]
    fn when_one_cannot_be_written_none_stays() {
        let dir = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir(dir.path().join("sub")).expect("mkdir");
        let root = Root::open(dir.path()).expect("root");
        for bad in [
            entry("sub/z", 0, 0o100_644, 0o644),
            entry("sub/z", 0, LINK_MODE, 0),
        ] {
            let good = (0..300).map(|nth| entry(&format!("sub/f{nth:03}"), 1, 0o100_644, 0o644));
            let link = entry("a", 2, LINK_MODE, 0);
            let entries = std::iter::once(link).chain(good).chain([bad]).collect();
            let temps = Temps::new(&root, "t", &copy, Granted::default(), &Silent);
            assert!(temps.write_all(&plan(entries)).is_err());
            assert_eq!(names(dir.path()), ["sub"]);
        }
    }
}
