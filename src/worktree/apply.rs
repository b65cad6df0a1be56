//! A plan carried out, path by path, no-follow, so that a kill at any instant leaves the old or the new bytes of every path.
//!
//! All new contents are written beside their places first: a disk that is full or fails stops the swap while nothing but
//! temporary files has been touched, and the switch from the old state to the new one is short. Then come removals, which
//! rename to a temporary name, directories, and the exchange of every new file with the old one by rename. What was moved out
//! is compared with what the backup has, byte by byte: a store through a memory mapping leaves no trace in the stamp. When it
//! differs its bytes are secured (see [`Securing`]) before it goes; for what was exchanged that comes last of all, so that a
//! program that goes on writing through its descriptor is noticed for longer. The temporary names are `.tw-<tag>-<n>`, `n`
//! being the entry's place in the journal, so that recovery finds them.

mod access;
mod dirs;
pub mod hollow;
mod look;
pub mod made;
mod opened;
mod switch;
mod temps;
pub mod workshop;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use dirs::needed_dirs;
pub use dirs::{Stayed, Stays};
use look::{NameState, look_at};
use made::MadePaths;
use opened::OpenedDirs;
use switch::Switch;
use temps::{Place, Temps, Written};
use workshop::{Site, Workshop};

use super::capture::{HashOnly, Sink};
use super::plan::{Extras, Plan, PlanEntry, Side};
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::access::{Access, Lost, refused};
use crate::git::access_list::AccessList;
use crate::git::fixed::is_flagged;
use crate::git::fs::{
    Root, Stamp, exchange, has_writer, open_at, read_link_at, rename_to_free, stamp_at, stamp_of,
};
use crate::git::objects::{ObjectKind, PutError, hash};
use crate::git::path;
use crate::git::{ObjectFormat, Oid};
use crate::progress::Progress;

/// What the backup saw at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Nothing.
    Absent,
    /// This, with this blob.
    Known {
        /// Full `st_mode`.
        mode: u32,
        /// Size in bytes.
        size: u64,
        /// Its blob.
        oid: Oid,
    },
}

/// Saves bytes that changed after the backup was taken.
pub trait Securing {
    /// The file now named `temp` in `dir` stood at `path` and is not what the backup has there. When this returns, its bytes
    /// are in the backup.
    fn secure(
        &mut self,
        path: &[u8],
        dir: BorrowedFd<'_>,
        temp: &[u8],
        stamp: &Stamp,
    ) -> Result<()>;
}

/// Writes a blob's bytes. Called from several threads.
pub type CopyBlob<'a> = &'a (dyn Fn(Oid, &mut dyn Write) -> Result<u64> + Sync);

/// What the backup saw at a path. Called from several threads.
pub type ExpectedAt<'a> = &'a (dyn Fn(&[u8]) -> Expected + Sync);

/// Whether the directory that was opened by a path is still the one that the plan is about. Called from several threads.
pub type IsNoted<'a> = &'a (dyn Fn(&[u8], BorrowedFd<'_>) -> bool + Sync);

/// What is needed to carry out a plan.
pub struct Apply<'a> {
    /// The working tree.
    pub root: &'a Root,
    /// Names the temporary files.
    pub tag: &'a str,
    /// Where content comes from.
    pub copy_blob: CopyBlob<'a>,
    /// What the backup saw.
    pub expected: ExpectedAt<'a>,
    /// Whether a directory is the one that the plan is about.
    pub is_noted: IsNoted<'a>,
    /// Where late changes go.
    pub securing: &'a mut dyn Securing,
    /// Owners and attributes that come back.
    pub access: &'a Granted<'a>,
    /// Who may use what stands there now, as far as the backup's look at it told.
    pub replaced: Option<&'a AccessList>,
    /// Directories that are never removed: the one `tw` was started in and its parents.
    pub protected: &'a [Vec<u8>],
    /// Where all that is made is noted, when nothing that is there may be replaced.
    pub made: Option<&'a MadePaths>,
    /// Where files may be made, and left to be deleted, when that is quicker.
    pub workshop: Option<Site<'a>>,
    /// Told of each path.
    pub progress: &'a dyn Progress,
}

/// What the side that a plan leads to gives beside content and permission bits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Granted<'a> {
    /// By path. What is not known gets the access of what it replaces.
    pub recorded: Option<&'a AccessList>,
    /// By path, of what comes from another side.
    pub elsewhere: Option<&'a BTreeMap<Vec<u8>, Access>>,
    /// What keeps what is there, whatever was recorded.
    pub kept: Option<&'a BTreeSet<Vec<u8>>>,
    /// Somebody else made that side: its content gets no capabilities.
    pub foreign: bool,
    /// Somebody else says that it was made here.
    pub claimed: bool,
}

impl<'a> Granted<'a> {
    /// What the side that a plan leads to gives.
    pub fn by(side: &'a Extras, plan: &'a Plan) -> Self {
        Self {
            recorded: Some(&side.access),
            elsewhere: Some(&plan.access),
            kept: Some(&plan.keep_access),
            foreign: side.foreign,
            claimed: side.claimed,
        }
    }

    /// What was recorded of a path.
    pub fn of(self, path: &[u8]) -> Option<Cow<'a, Access>> {
        match self.elsewhere.and_then(|access| access.get(path)) {
            Some(access) => Some(Cow::Borrowed(access)),
            None if self.keeps(path) => None,
            None => self.recorded?.of(path),
        }
    }
}

/// What was done.
#[derive(Debug, Default)]
pub struct Applied {
    /// The stamp of every path written, as it was right afterwards.
    pub stamps: Vec<(Vec<u8>, Stamp)>,
    /// The permission bits that directories of the plan had right afterwards.
    pub dir_modes: BTreeMap<Vec<u8>, u32>,
    /// Paths that had changed after the backup; their bytes are in it now.
    pub late: Vec<Vec<u8>>,
    /// Paths at which another program had open for writing what was replaced or removed: it goes on writing to what has no name.
    pub with_writer: BTreeSet<Vec<u8>>,
    /// Empty directories that were to go and could not be removed.
    pub stayed: Stayed,
    /// Paths whose owner, group or attributes could not all be kept.
    pub lost: BTreeMap<Vec<u8>, Lost>,
    /// Paths that would not come back whole, for all that was saved of them.
    pub unproven: BTreeSet<Vec<u8>>,
}

/// The name of the temporary file of a journal entry.
pub fn temp_name(tag: &str, nth: usize) -> Vec<u8> {
    [temp_prefix(tag), nth.to_string().into_bytes()].concat()
}

/// How all temporary files of a swap, and of recoveries of it, begin.
pub fn temp_prefix(tag: &str) -> Vec<u8> {
    format!(".tw-{tag}-").into_bytes()
}

impl<'a> Apply<'a> {
    /// Carries the plan out.
    ///
    /// # Errors
    /// The first that stops it; the caller rolls back along the journal.
    pub fn run(mut self, plan: &Plan) -> Result<Applied> {
        let mut applied = Applied::default();
        let needed = needed_dirs(plan);
        self.progress
            .begin("writing", Some(plan.entries.len() as u64));
        let site = self.workshop;
        let workshop = site.and_then(|site| site.open(self.root.fd(), self.tag, plan));
        let temps = self.temps(workshop.as_ref());
        self.narrow_dirs(plan)?;
        // A full disk stops the swap here, where no file has been touched yet.
        let mut written = temps.write_all(plan, &BTreeSet::new())?;
        fail_point("apply-prepared");
        let mut opened = OpenedDirs::default();
        self.remove_all(
            plan,
            &needed,
            &mut opened,
            (workshop.as_ref(), &mut applied),
        )?;
        fail_point("apply-removed");
        // Between removals and new files: a file may come where a directory was, and a directory where a file was.
        self.remove_dirs(plan, &mut opened, &mut applied.stayed)?;
        self.make_dirs(plan, &mut opened, &mut applied.lost)?;
        fail_point("apply-dirs");
        let in_new_dirs = temps.write_all(plan, &written)?;
        written.extend(in_new_dirs);
        let mut stamps: BTreeMap<usize, Stamp> = BTreeMap::new();
        for (nth, entry) in plan.entries.iter().enumerate() {
            if let Some(side) = entry.after
                && !written.contains(&nth)
            {
                let stamp = self
                    .put((nth, entry, side), &temps, &mut opened, &mut applied.lost)
                    .context(|| cannot_write(entry))?;
                match stamp {
                    Some(stamp) => drop(stamps.insert(nth, stamp)),
                    None => drop(written.insert(nth)),
                }
            }
        }
        self.switch(
            plan,
            (&written, workshop.as_ref()),
            (&mut stamps, &mut applied),
        )?;
        let paths = stamps
            .iter()
            .filter_map(|(&nth, stamp)| Some((plan.entries.get(nth)?, stamp)));
        applied.stamps = paths
            .map(|(entry, stamp)| (entry.path.clone(), *stamp))
            .collect();
        // Before the final bits, which may close the same directories again.
        opened.close(self.root, &mut applied.lost)?;
        applied.lost.extend(plan.beyond.clone());
        applied.lost.extend(temps.into_lost());
        self.set_dir_modes(plan, &mut applied)?;
        self.progress.end();
        Ok(applied)
    }

    fn temps<'t>(&self, workshop: Option<&'t Workshop>) -> Temps<'t>
    where
        'a: 't,
    {
        Temps::new(
            self.root,
            self.tag,
            self.copy_blob,
            (*self.access, self.replaced),
            self.progress,
        )
        .made_in(workshop)
    }

    /// Makes the directories that are new.
    fn make_dirs(
        &self,
        plan: &Plan,
        opened: &mut OpenedDirs,
        lost: &mut BTreeMap<Vec<u8>, Lost>,
    ) -> Result<()> {
        for dir in &plan.dirs {
            if let (None, Some(perm)) = (dir.before, dir.after) {
                let no = self.make_dir(&dir.path, perm, opened)?;
                if !no.is_empty() {
                    lost.insert(dir.path.clone(), no);
                }
            }
        }
        Ok(())
    }

    /// Exchanges everything that was written with what is in its place, then lets that go.
    fn switch(
        &mut self,
        plan: &Plan,
        (written, workshop): (&BTreeSet<usize>, Option<&Workshop>),
        (stamps, applied): (&mut BTreeMap<usize, Stamp>, &mut Applied),
    ) -> Result<()> {
        let moved_out = self
            .switching(workshop)
            .exchange_all(plan, written, stamps)?;
        fail_point("apply-switched");
        self.discard_all_replaced(plan, &moved_out, (workshop, applied))
    }

    fn switching<'s>(&'s self, workshop: Option<&'s Workshop>) -> Switch<'s> {
        Switch {
            root: self.root,
            tag: self.tag,
            expected: self.expected,
            is_noted: self.is_noted,
            made: self.made,
            workshop,
        }
    }

    /// Removes everything that the plan has nothing for, and the directories that this leaves empty.
    fn remove_all(
        &mut self,
        plan: &Plan,
        needed: &BTreeSet<&[u8]>,
        opened: &mut OpenedDirs,
        (workshop, applied): (Option<&Workshop>, &mut Applied),
    ) -> Result<()> {
        let mut moved_out = BTreeSet::new();
        // Backwards: what is in a directory goes before whatever else the plan has for the directory itself.
        for (nth, entry) in plan.entries.iter().enumerate().rev() {
            if entry.after.is_none() {
                let moved = self.move_out(nth, entry, opened);
                if moved.context(|| cannot_remove(entry))? {
                    moved_out.insert(nth);
                }
                self.progress.advance(1);
            }
        }
        self.discard_all_replaced(plan, &moved_out, (workshop, applied))?;
        let moved = moved_out.iter().filter_map(|nth| plan.entries.get(*nth));
        let emptied: BTreeSet<&[u8]> = moved.map(|entry| path::split(&entry.path).0).collect();
        // What is in a directory comes after it.
        emptied
            .into_iter()
            .rev()
            .try_for_each(|dir| self.remove_emptied(dir, needed, opened, &mut applied.stayed))
    }

    /// Gives what is to be removed its temporary name; false when there is nothing.
    fn move_out(&self, nth: usize, entry: &PlanEntry, opened: &mut OpenedDirs) -> Result<bool> {
        let (dir_path, name) = path::split(&entry.path);
        let dir = match opened.dir(self.root, dir_path) {
            Ok(dir) => dir,
            // Its directory is gone: so is the path.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        };
        check_noted(self.is_noted, dir_path, dir.as_fd())?;
        if stamp_at(dir.as_fd(), name)?.is_none() {
            return Ok(false);
        }
        let moved = opened.with_write_access(self.root, dir_path, || {
            rename_to_free(dir.as_fd(), name, &temp_name(self.tag, nth))
        });
        match moved {
            // Somebody removed it since.
            Err(Errno::NOENT) => return Ok(false),
            other => other?,
        }
        // Given a name of ours first, and removed only when its bytes are known: whoever saves under the old name meanwhile loses nothing.
        fail_point("apply-removing");
        Ok(true)
    }

    /// Lets everything go that was moved out: all that the backup has at once, the rest one by one.
    fn discard_all_replaced(
        &mut self,
        plan: &Plan,
        moved_out: &BTreeSet<usize>,
        (workshop, applied): (Option<&Workshop>, &mut Applied),
    ) -> Result<()> {
        let let_go = self
            .switching(workshop)
            .discard_all_replaced(plan, moved_out)?;
        let held = let_go.with_writer.iter();
        let held = held.filter_map(|nth| plan.entries.get(*nth));
        applied
            .with_writer
            .extend(held.map(|entry| entry.path.clone()));
        for nth in let_go.others {
            let Some(entry) = plan.entries.get(nth) else {
                continue;
            };
            let (dir, name) = path::split(&entry.path);
            let what = || cannot_write(entry);
            let dir = self.root.open_dir(dir).context(what)?;
            self.discard_replaced(entry, dir.as_fd(), &temp_name(self.tag, nth), name, applied)
                .context(|| cannot_write(entry))?;
        }
        Ok(())
    }

    /// The file named `temp` stood at the entry's path: it goes, once its bytes are known to be in the backup.
    fn discard_replaced(
        &mut self,
        entry: &PlanEntry,
        dir: BorrowedFd<'_>,
        temp: &[u8],
        name: &[u8],
        applied: &mut Applied,
    ) -> Result<()> {
        // Only somebody who renamed the directory, or cleared it, can have taken it: what is there now is not what was put there.
        let moved = stamp_at(dir, temp)?.ok_or(Errno::NOENT)?;
        if moved.is_dir() {
            // Somebody put a directory there. It cannot be captured as a file: give it its name back and stop.
            // By exchange, so that neither the directory nor what we put in its place is without a name for a moment.
            exchange(dir, temp, name)?;
            return Err(Error::new(
                Code::WouldOverwrite,
                format!(
                    "'{}' became a directory meanwhile",
                    path::display(&entry.path)
                ),
            ));
        }
        let expected = (self.expected)(&entry.path);
        if look_at(expected, (dir, temp), &mut Vec::new())? == NameState::Other {
            self.securing.secure(&entry.path, dir, temp, &moved)?;
            applied.late.push(entry.path.clone());
            // Whoever wrote beside the swap may go on writing.
            if moved.is_file() && open_at(dir, temp).is_ok_and(|fd| has_writer(&File::from(fd))) {
                applied.with_writer.insert(entry.path.clone());
            }
        }
        fail_point("apply-letting-go");
        rustix::fs::unlinkat(dir, OsStr::from_bytes(temp), AtFlags::empty())?;
        Ok(())
    }

    /// What could not be done for an entry before its directory was there and open: its bits are set, which gives its stamp, or
    /// its new content is written.
    fn put(
        &self,
        (nth, entry, side): (usize, &PlanEntry, Side),
        temps: &Temps<'_>,
        opened: &mut OpenedDirs,
        lost: &mut BTreeMap<Vec<u8>, Lost>,
    ) -> Result<Option<Stamp>> {
        let (dir_path, name) = path::split(&entry.path);
        let dir = opened.dir(self.root, dir_path)?;
        if entry.is_chmod() && self.can_chmod_in_place(entry, dir.as_fd(), name)? {
            self.chmod_narrowly(&entry.path, side.perm, lost)?;
            self.progress.advance(1);
            let stamp = stamp_at(dir.as_fd(), name)?;
            return stamp.map_or_else(|| Err(Errno::NOENT.into()), |stamp| Ok(Some(stamp)));
        }
        let place = Place::new(dir.as_fd());
        if temps.write(nth, entry, side, &place)? == Written::Closed {
            opened.open_up(self.root, dir_path)?;
            if temps.write(nth, entry, side, &place)? == Written::Closed {
                return Err(Errno::ACCESS.into());
            }
        }
        Ok(None)
    }

    /// Whether nothing but permission bits differs: the file is the one that the backup saw, has the access that was recorded, and no
    /// other name, under which its bits would change as well.
    fn can_chmod_in_place(
        &self,
        entry: &PlanEntry,
        dir: BorrowedFd<'_>,
        name: &[u8],
    ) -> Result<bool> {
        let wanted = self.access.of(&entry.path);
        if settled_but_for_bits(dir, name, wanted.as_deref())?.is_none() {
            return Ok(false);
        }
        let expected = (self.expected)(&entry.path);
        Ok(look_at(expected, (dir, name), &mut Vec::new())? != NameState::Other)
    }
}

/// Makes sure that a directory is the one that the plan is about: somebody may have renamed it, and another one be there by now.
///
/// # Errors
/// It is not.
fn check_noted(is_noted: IsNoted<'_>, path: &[u8], opened: BorrowedFd<'_>) -> Result<()> {
    if is_noted(path, opened) {
        return Ok(());
    }
    let message = format!(
        "'{}' became another directory meanwhile",
        path::display(path)
    );
    Err(Error::new(Code::Io, message))
}

/// A file that can be left where it is when its content is the same, and only gets other bits: it has no other name, under which they would
/// change as well, and the access that it is to have, as far as that is known.
pub fn settled_but_for_bits(
    dir: BorrowedFd<'_>,
    name: &[u8],
    wanted: Option<&Access>,
) -> rustix::io::Result<Option<Stamp>> {
    let found = match rustix::fs::statat(dir, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let stamp = Stamp::of(&found);
    if !stamp.is_file() || found.st_nlink != 1 {
        return Ok(None);
    }
    let Some(wanted) = wanted else {
        return Ok(Some(stamp));
    };
    let now = Access::at(dir, name)?;
    Ok(now.and_then(|(now, _)| wanted.is_as(&now).then_some(stamp)))
}

/// A directory, and the entries in it with their places in the plan.
type InDir<'a> = (&'a [u8], Vec<(usize, &'a PlanEntry)>);

/// Entries by their directories, and how many they are.
fn by_dir(plan: &Plan, entries: impl Iterator<Item = usize>) -> (Vec<InDir<'_>>, usize) {
    let mut dirs: BTreeMap<&[u8], Vec<(usize, &PlanEntry)>> = BTreeMap::new();
    let mut amount = 0;
    for nth in entries {
        if let Some(entry) = plan.entries.get(nth) {
            let dir = path::split(&entry.path).0;
            dirs.entry(dir).or_default().push((nth, entry));
            amount += 1;
        }
    }
    (dirs.into_iter().collect(), amount)
}

fn cannot_remove(entry: &PlanEntry) -> String {
    format!("cannot remove '{}'", path::display(&entry.path))
}

fn cannot_write(entry: &PlanEntry) -> String {
    format!("cannot write '{}'", path::display(&entry.path))
}

/// The blob id of a file's or symlink's present content; `None` when it is neither, of another size than that, or closed to us.
pub fn content_oid(
    format: ObjectFormat,
    dir: BorrowedFd<'_>,
    name: &[u8],
    stamp: &Stamp,
) -> Result<Option<Oid>> {
    if stamp.is_symlink() {
        return hash(format, ObjectKind::Blob, &read_link_at(dir, name)?).map(Some);
    }
    if !stamp.is_file() {
        return Ok(None);
    }
    let fd = match open_at(dir, name) {
        Err(Errno::ACCESS | Errno::PERM) => return Ok(None),
        other => other?,
    };
    match HashOnly(format).put_reader(stamp.size, &mut File::from(fd)) {
        Ok(oid) => Ok(Some(oid)),
        // It is being written to: whatever it has now, it is not what was seen.
        Err(PutError::SizeChanged) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sets permission bits without following a symlink, also where the bits forbid opening. Answers those that are there now: a file system may
/// have bits of its own, a mount no id for the owner, and the kernel takes setgid from who is not in the group, without a word.
pub fn set_permissions(root: &Root, full: &[u8], perm: u32) -> Result<u32> {
    let what = || format!("cannot set the mode of '{}'", path::display(full));
    let done = change_permissions(root, full, perm);
    // What is immutable is to be named, with the way to change that.
    let (dir, name) = path::split(full);
    let is_fixed = || root.open_dir(dir).is_ok_and(|dir| is_flagged(dir, name));
    if done == Err(Errno::PERM) && is_fixed() {
        done.context(what)?;
    }
    // So a namespace answers that does not know its group.
    if done != Err(Errno::ACCESS) {
        refused(done).context(what)?;
    }
    let now = root.stamp(full).context(what)?;
    Ok(now.map_or(perm, |now| now.permissions()))
}

fn change_permissions(root: &Root, full: &[u8], perm: u32) -> rustix::io::Result<()> {
    let mode = Mode::from_raw_mode(perm);
    match root.open_file(full) {
        // A file that its own bits close to us: only `/proc` reaches it without following a link.
        Err(Errno::ACCESS | Errno::PERM) => {}
        opened => return rustix::fs::fchmod(opened?, mode),
    }
    let (dir, name) = path::split(full);
    let dir = root.open_dir(dir)?;
    // `fchmod` refuses a descriptor made with `O_PATH`, and `fchmodat` could not refuse a link before Linux 6.6.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&dir, OsStr::from_bytes(name), flags, Mode::empty())?;
    if stamp_of(fd.as_fd())?.is_symlink() {
        return Err(Errno::LOOP);
    }
    let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd));
    rustix::fs::chmod(link, mode)
}
