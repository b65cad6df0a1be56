//! New contents, written to temporary files beside their places while nothing there is touched yet.
//!
//! All of them are written before the first path is exchanged, by directories shared out among the machine's cores. When one
//! cannot be written, those that were go again, and nothing has happened. One that cannot be written yet, because the plan
//! makes its directory, a file stands there or it is closed, is left for its turn.
//!
//! A file never has more bits for group and others than it will have, and gets its owner before its content and its special
//! bits after it. What a file has by itself when it is made in a directory is learned from the first one there: where that is all
//! that it shall have, the others are made with it at once.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, Stat};
use rustix::io::Errno;

use super::workshop::Workshop;
use super::{CopyBlob, Granted, InDir, by_dir, cannot_write, temp_name};
use crate::env::fail_point;
use crate::error::{Error, Result, ResultExt};
use crate::git::access::{
    Access, Lost, RUNS_AS, disinherit, give_bits, has_attributes, without_capabilities,
};
use crate::git::access_list::AccessList;
use crate::git::fs::{Root, create_at};
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

/// A directory that temporary files are made in.
pub(super) struct Place<'d> {
    dir: BorrowedFd<'d>,
    /// Where its files are made before they are moved here.
    workshop: Option<&'d Workshop>,
    /// Its own owner and group, once they were asked for.
    owner: Cell<Option<(u32, u32)>>,
    /// See [`Granted::own_in`], once it was asked for.
    own: OnceCell<Option<(u32, u32)>>,
    by_itself: Cell<ByItself>,
    /// Permission bits that a file was asked to be made with, and was.
    exact: Cell<Option<u32>>,
}

impl<'d> Place<'d> {
    pub(super) fn new(dir: BorrowedFd<'d>) -> Self {
        Self::of(dir, None)
    }

    /// As [`Self::new`], with files that are made elsewhere where that is the same.
    fn of(dir: BorrowedFd<'d>, workshop: Option<&'d Workshop>) -> Self {
        Self {
            dir,
            workshop: workshop.filter(|workshop| workshop.suits(dir)),
            owner: Cell::new(None),
            own: OnceCell::new(),
            by_itself: Cell::new(ByItself::Unknown),
            exact: Cell::new(None),
        }
    }

    /// Makes a temporary file or symlink; nothing in a closed directory. One of this very entry can only be there when an earlier
    /// try of the same swap was undone.
    fn make<T>(
        &self,
        temp: &[u8],
        make: impl Fn(BorrowedFd<'_>) -> rustix::io::Result<T>,
    ) -> rustix::io::Result<Option<T>> {
        let workshop = self.workshop;
        if let Some(made) = workshop.and_then(|it| it.make_for(self.dir, temp, &make)) {
            return Ok(Some(made));
        }
        let made = match make(self.dir) {
            Err(Errno::EXIST) => {
                unlink(self.dir, temp)?;
                make(self.dir)
            }
            other => other,
        };
        match made {
            Err(Errno::ACCESS) => Ok(None),
            other => other.map(Some),
        }
    }

    fn owner(&self) -> rustix::io::Result<(u32, u32)> {
        if let Some(owner) = self.owner.get() {
            return Ok(owner);
        }
        let stat = rustix::fs::fstat(self.dir)?;
        self.owner.set(Some((stat.st_uid, stat.st_gid)));
        Ok((stat.st_uid, stat.st_gid))
    }
}

/// What a file has when it was just made in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByItself {
    /// None was made yet.
    Unknown,
    /// This owner and group, no bits that were not asked for, and no attributes.
    Owned(u32, u32),
    /// Something else: each has to be looked at.
    Various,
}

/// Writes temporary files.
pub(super) struct Temps<'a> {
    root: &'a Root,
    tag: &'a str,
    copy_blob: CopyBlob<'a>,
    progress: &'a dyn Progress,
    /// Where files are made before they are moved beside their places.
    workshop: Option<&'a Workshop>,
    granted: Granted<'a>,
    /// See [`super::Apply::replaced`].
    replaced: Option<&'a AccessList>,
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
        (granted, replaced): (Granted<'a>, Option<&'a AccessList>),
        progress: &'a dyn Progress,
    ) -> Self {
        Self {
            root,
            tag,
            copy_blob,
            progress,
            workshop: None,
            granted,
            replaced,
            privileged: rustix::process::geteuid().is_root(),
            lost: Mutex::default(),
        }
    }

    /// As [`Self::new`], with files that are made there where that is the same.
    pub(super) fn made_in(self, workshop: Option<&'a Workshop>) -> Self {
        Self { workshop, ..self }
    }

    /// What could not be given, by path.
    pub(super) fn into_lost(self) -> Vec<(Vec<u8>, Lost)> {
        self.lost
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the new content of every entry that it can be written for now and is not among the `written`, and tells which these are.
    ///
    /// # Errors
    /// One could not be written. None of these is there any more then.
    pub(super) fn write_all(
        &self,
        plan: &Plan,
        written: &BTreeSet<usize>,
    ) -> Result<BTreeSet<usize>> {
        let new = |nth: usize, entry: &PlanEntry| {
            entry.after.is_some() && !entry.is_chmod() && !written.contains(&nth)
        };
        let entries = plan.entries.iter().enumerate();
        let entries = entries.filter(|(nth, entry)| new(*nth, entry));
        let entries = entries.map(|(nth, _)| nth);
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
            // The plan has still to make or open the directory: these are written later.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(()),
            other => other.context(|| format!("cannot open '{}'", path::display(dir)))?,
        };
        let place = Place::of(fd.as_fd(), self.workshop);
        for &(nth, entry) in entries {
            if let Some(side) = entry.after
                && self
                    .write(nth, entry, side, &place)
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

    /// Writes one entry's new content into the directory that it is for. After an error nothing of it is left.
    pub(super) fn write(
        &self,
        nth: usize,
        entry: &PlanEntry,
        side: Side,
        place: &Place<'_>,
    ) -> Result<Written> {
        let temp = temp_name(self.tag, nth);
        let made = if side.node.mode == LINK_MODE {
            self.link(place, &temp, (entry, side))
        } else {
            self.file(place, &temp, (entry, side))
        };
        if matches!(made, Ok(Written::Whole)) {
            fail_point("apply-written");
            self.progress.advance(1);
        }
        made
    }

    fn link(
        &self,
        place: &Place<'_>,
        temp: &[u8],
        (entry, side): (&PlanEntry, Side),
    ) -> Result<Written> {
        let mut target = Vec::new();
        (self.copy_blob)(side.node.oid, &mut target)?;
        let (target, name) = (OsStr::from_bytes(&target), OsStr::from_bytes(temp));
        let link = |dir: BorrowedFd<'_>| rustix::fs::symlinkat(target, dir, name);
        let Some(()) = place.make(temp, link)? else {
            return Ok(Written::Closed);
        };
        self.own_link(place, name, entry)
            .map(|lost| self.note(entry, lost))
            .inspect_err(|_| forget(place.dir, temp))?;
        Ok(Written::Whole)
    }

    fn file(
        &self,
        place: &Place<'_>,
        temp: &[u8],
        (entry, side): (&PlanEntry, Side),
    ) -> Result<Written> {
        let access = self.access(place.dir, entry)?;
        let owner = self.owner(place, access.as_deref())?;
        if comes_by_itself(place, side, (owner, access.as_deref())) {
            return self.plain_file(place, temp, (entry, side));
        }
        // Whoever opens it before it has its owner keeps what he opened: until then it is for us alone.
        let bits = if access.is_some() || owner.is_some() || side.perm & 0o200 == 0 {
            0o600
        } else {
            side.perm & 0o777
        };
        let Some(fd) = place.make(temp, |dir| create_at(dir, temp, bits))? else {
            return Ok(Written::Closed);
        };
        let file = File::from(fd);
        let mut lost = Lost::default();
        if !self.knows_whose(place.dir, entry, side.perm)? {
            lost.be_of_unknown_owner();
        }
        learn(place, &file, bits)
            .map_err(Error::from)
            .and_then(|()| self.fill(&file, side, (owner, access.as_deref()), &lost))
            .map(|lost| self.note(entry, lost))
            .inspect_err(|_| forget(place.dir, temp))?;
        Ok(Written::Whole)
    }

    /// Makes a file that needs nothing but its bytes, and those permission bits that the umask takes away.
    fn plain_file(
        &self,
        place: &Place<'_>,
        temp: &[u8],
        (entry, side): (&PlanEntry, Side),
    ) -> Result<Written> {
        let Some(fd) = place.make(temp, |dir| create_at(dir, temp, side.perm))? else {
            return Ok(Written::Closed);
        };
        let mut file = File::from(fd);
        complete_bits(place, &file, side.perm)
            .map_err(Error::from)
            .and_then(|lost| {
                self.note(entry, lost);
                (self.copy_blob)(side.node.oid, &mut file)
            })
            .inspect_err(|_| forget(place.dir, temp))?;
        Ok(Written::Whole)
    }

    fn fill(
        &self,
        mut file: &File,
        side: Side,
        (owner, access): (Option<(u32, u32)>, Option<&Access>),
        before: &Lost,
    ) -> Result<Lost> {
        let mut lost = match (access, owner) {
            (Some(access), _) => access.give_owner(file)?,
            (None, Some(owner)) => Access::owned(owner).give_owner(file)?,
            (None, None) => Lost::default(),
        };
        if access.is_none() && !self.privileged {
            lost.forget_if_harmless(side.perm);
        }
        lost.join(before);
        if access.is_none() && !self.granted.inherits() {
            disinherit(file)?;
        }
        // After the owner, before the bits: a change of owner and every write clear setuid and setgid.
        (self.copy_blob)(side.node.oid, &mut file)?;
        if let Some(access) = access {
            access.give_rest(file, side.perm, &mut lost)?;
        } else {
            give_bits(file, side.perm, &mut lost)?;
        }
        Ok(lost)
    }

    fn note(&self, entry: &PlanEntry, lost: Lost) {
        if !lost.is_empty() {
            let mut all = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
            all.push((entry.path.clone(), lost));
        }
    }

    /// Whether it is known whose program it was that runs as its owner or group: it was recorded, is to be that of what is there, or stands there
    /// as such. As root it would else be root's.
    fn knows_whose(
        &self,
        dir: BorrowedFd<'_>,
        entry: &PlanEntry,
        perm: u32,
    ) -> rustix::io::Result<bool> {
        let wanted = perm & RUNS_AS;
        if wanted == 0 || !self.privileged || self.granted.is_known(&entry.path) {
            return Ok(true);
        }
        let there = Access::at(dir, path::split(&entry.path).1)?;
        Ok(there.is_some_and(|(_, stat)| !is_dir(&stat) && stat.st_mode & wanted == wanted))
    }

    /// The access that a new file gets: what was recorded of its path, else that of what it replaces. A directory's is not a file's.
    fn access(
        &self,
        dir: BorrowedFd<'_>,
        entry: &PlanEntry,
    ) -> rustix::io::Result<Option<Cow<'a, Access>>> {
        if let Some(recorded) = self.granted.of(&entry.path) {
            return known_there(dir, entry, recorded).map(Some);
        }
        let known = self.replaced.filter(|_| entry.before.is_some());
        let mut access = match known.and_then(|all| all.of(&entry.path)) {
            Some(access) => access,
            None => match Access::at(dir, path::split(&entry.path).1)? {
                Some((access, stat)) if !is_dir(&stat) => Cow::Owned(access),
                _ => return Ok(None),
            },
        };
        if self.granted.foreign {
            without_capabilities(access.to_mut());
        }
        Ok(Some(access))
    }

    /// Who shall own a file where nothing says so. One that root makes: whom most files of that side belong to, else its directory's owner.
    fn owner(
        &self,
        place: &Place<'_>,
        access: Option<&Access>,
    ) -> rustix::io::Result<Option<(u32, u32)>> {
        if access.is_some() {
            return Ok(None);
        }
        if !self.privileged {
            let own = match place.own.get() {
                Some(own) => *own,
                None => self.granted.own_in(self.root, place.dir)?,
            };
            return Ok(*place.own.get_or_init(|| own));
        }
        match self.granted.usual_owner() {
            Some(owner) => Ok(Some(owner)),
            None => place.owner().map(Some),
        }
    }

    /// A new symlink gets the owner that a file would get.
    fn own_link(
        &self,
        place: &Place<'_>,
        name: &OsStr,
        entry: &PlanEntry,
    ) -> rustix::io::Result<Lost> {
        let access = match self.access(place.dir, entry)? {
            Some(access) => access,
            None => match self.owner(place, None)?.filter(|_| self.privileged) {
                Some(owner) => Cow::Owned(Access::owned(owner)),
                None => return Ok(Lost::default()),
            },
        };
        access.give_link_owner(place.dir, name)
    }
}

/// What was recorded, with what stands there for whatever is not known of it here.
fn known_there<'a>(
    dir: BorrowedFd<'_>,
    entry: &PlanEntry,
    recorded: Cow<'a, Access>,
) -> rustix::io::Result<Cow<'a, Access>> {
    if !recorded.has_unknown() {
        return Ok(recorded);
    }
    Ok(match Access::at(dir, path::split(&entry.path).1)? {
        Some((there, stat)) if !is_dir(&stat) => Cow::Owned(recorded.into_owned().or_as(&there)),
        _ => recorded,
    })
}

/// Whether a file that is made with its permission bits has everything that it shall have.
fn comes_by_itself(
    place: &Place<'_>,
    side: Side,
    (owner, access): (Option<(u32, u32)>, Option<&Access>),
) -> bool {
    let ByItself::Owned(uid, gid) = place.by_itself.get() else {
        return false;
    };
    let wanted = access.map(|access| (access.uid, access.gid)).or(owner);
    wanted.is_none_or(|wanted| wanted == (uid, gid))
        && access.is_none_or(|access| access.attributes.is_empty())
        // The owner's bit for writing has to be there where a file system asks for it at each write.
        && side.perm & !0o777 == 0
        && side.perm & 0o200 != 0
}

/// Takes note of what the first file in a directory has by itself, which was asked to have these bits.
fn learn(place: &Place<'_>, file: &File, bits: u32) -> rustix::io::Result<()> {
    if place.by_itself.get() != ByItself::Unknown {
        return Ok(());
    }
    let made = rustix::fs::fstat(file)?;
    let is_plain = made.st_mode & 0o7777 & !bits == 0 && !has_attributes(file)?;
    place.by_itself.set(if is_plain {
        ByItself::Owned(made.st_uid, made.st_gid)
    } else {
        ByItself::Various
    });
    Ok(())
}

/// Gives a file that was made with these bits the ones that it did not get.
fn complete_bits(place: &Place<'_>, file: &File, bits: u32) -> rustix::io::Result<Lost> {
    let mut lost = Lost::default();
    if place.exact.get() == Some(bits) {
        return Ok(lost);
    }
    if rustix::fs::fstat(file)?.st_mode & 0o7777 == bits {
        place.exact.set(Some(bits));
    } else {
        give_bits(file, bits, &mut lost)?;
    }
    Ok(lost)
}

pub(super) fn is_dir(stat: &Stat) -> bool {
    stat.st_mode & 0o170_000 == 0o040_000
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
    use crate::error::Code;
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
            let mut temps = Temps::new(&root, "t", &copy, (Granted::default(), None), &Silent);
            temps.privileged = privileged;
            let written = temps
                .write_all(&plan(entries.to_vec()), &BTreeSet::new())
                .expect("written");
            assert_eq!(written.len(), bits.len());
            for (nth, perm) in bits.iter().enumerate() {
                let file = dir.path().join(format!(".tw-t-{nth}"));
                let meta = file.symlink_metadata().expect("there");
                // Nothing says whose they were: as root they run as nobody, and the group, which may be another, gets what all have.
                let wanted = match perm & RUNS_AS {
                    0 => *perm,
                    _ if !privileged => *perm,
                    _ => perm & 0o705 | (perm & 0o007) << 3,
                };
                assert_eq!((meta.mode() & 0o7777, meta.len()), (wanted, 1), "{perm:o}");
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
        let temps = Temps::new(&root, "t", &copy, (Granted::default(), None), &Silent);
        let written = temps
            .write_all(&plan(entries), &BTreeSet::new())
            .expect("written");
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
            let temps = Temps::new(&root, "t", &copy, (Granted::default(), None), &Silent);
            assert!(temps.write_all(&plan(entries), &BTreeSet::new()).is_err());
            assert_eq!(names(dir.path()), ["sub"]);
        }
    }
}
