//! The switch: every new file changes places with the old one, and what was moved out goes when the backup has it.
//!
//! Directories are shared out among the machine's cores. Nothing is written here but names, and the time of what comes into place: it
//! is as new as that moment, so that build tools see the change whatever they did while the contents were written.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Timespec};
use rustix::io::Errno;

use super::workshop::Workshop;
use super::{
    ExpectedAt, InDir, IsNoted, MadePaths, NameState, by_dir, cannot_write, check_noted, hollow,
    look_at, temp_name,
};
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{
    Exchanged, Root, Stamp, exchange, place_to_free, set_times_at, stamp_at, touch_at,
};
use crate::git::{path, threads};
use crate::worktree::plan::{Plan, PlanEntry};

/// Exchanges.
pub(super) struct Switch<'a> {
    pub(super) root: &'a Root,
    pub(super) tag: &'a str,
    pub(super) expected: ExpectedAt<'a>,
    pub(super) is_noted: IsNoted<'a>,
    pub(super) made: Option<&'a MadePaths>,
    /// Takes what is to be removed, where that is quicker.
    pub(super) workshop: Option<&'a Workshop>,
}

/// What one thread exchanged.
#[derive(Default)]
struct Done {
    /// How each path is right afterwards.
    stamps: Vec<(usize, Stamp)>,
    /// Where something was moved out.
    moved_out: Vec<usize>,
}

/// What one thread let go.
#[derive(Default)]
pub(super) struct Discarded {
    /// Where something else was moved out than the backup has.
    pub(super) others: BTreeSet<usize>,
    /// Where another program had open for writing what was let go.
    pub(super) with_writer: BTreeSet<usize>,
    /// What files are read into.
    buffer: Vec<u8>,
}

impl Switch<'_> {
    /// Exchanges every entry's temporary file with what is in its place. Answers where something was there; adds how each path
    /// looks right afterwards to `stamps`.
    pub(super) fn exchange_all(
        &self,
        plan: &Plan,
        written: &BTreeSet<usize>,
        stamps: &mut BTreeMap<usize, Stamp>,
    ) -> Result<BTreeSet<usize>> {
        let (dirs, amount) = by_dir(plan, written.iter().copied());
        let (parts, failed) = threads::gather(&dirs, amount, |(dir, entries), done| {
            let first = entries.first().map(|(_, entry)| cannot_write(entry));
            let fd = self
                .root
                .open_dir(dir)
                .context(|| first.unwrap_or_default())?;
            check_noted(self.is_noted, dir, fd.as_fd())?;
            entries.iter().try_for_each(|(nth, entry)| {
                self.exchange((*nth, entry), fd.as_fd(), done)
                    .context(|| cannot_write(entry))
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let mut moved_out = BTreeSet::new();
        for done in parts {
            stamps.extend(done.stamps);
            moved_out.extend(done.moved_out);
        }
        Ok(moved_out)
    }

    fn exchange(
        &self,
        (nth, entry): (usize, &PlanEntry),
        dir: BorrowedFd<'_>,
        done: &mut Done,
    ) -> Result<()> {
        let name = path::split(&entry.path).1;
        let temp = temp_name(self.tag, nth);
        let replaced = match entry.before {
            Some(_) => stamp_at(dir, name)?,
            None => None,
        };
        let ours = renewed(dir, &temp, replaced)?;
        let exchanged = if entry.before.is_some() {
            exchange(dir, &temp, name)?
        } else {
            self.place(entry, dir, &temp)?
        };
        if let (Some(made), Some(side)) = (self.made, entry.after) {
            made.add(&entry.path, ours, side.node.oid);
        }
        fail_point("apply-exchanged");
        if exchanged == Exchanged::Swapped {
            done.moved_out.push(nth);
        }
        // Not by the inode: some file systems number by path.
        let content = |stamp: &Stamp| (stamp.mtime, stamp.size, stamp.mode);
        let placed = stamp_at(dir, name)?.filter(|placed| content(placed) == content(&ours));
        // What somebody put in its place since is not what was written here.
        done.stamps.push((nth, placed.unwrap_or(ours)));
        Ok(())
    }

    /// Puts a file where the backup has nothing.
    fn place(&self, entry: &PlanEntry, dir: BorrowedFd<'_>, temp: &[u8]) -> Result<Exchanged> {
        let name = path::split(&entry.path).1;
        match place_to_free(dir, temp, name) {
            Ok(()) => return Ok(Exchanged::Placed),
            Err(Errno::EXIST) if self.made.is_some() => {
                let message = format!("somebody else wrote '{}'", path::display(&entry.path));
                return Err(Error::new(Code::WouldOverwrite, message));
            }
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        if stamp_at(dir, name)?.is_some_and(|seen| seen.is_dir()) {
            hollow::remove(self.root, &entry.path)?;
        }
        Ok(exchange(dir, temp, name)?)
    }

    /// Removes what was moved out, where the backup has it.
    pub(super) fn discard_all_replaced(
        &self,
        plan: &Plan,
        moved_out: &BTreeSet<usize>,
    ) -> Result<Discarded> {
        let (dirs, amount) = by_dir(plan, moved_out.iter().copied());
        let (parts, failed) = threads::gather(&dirs, amount, |dir, done: &mut Discarded| {
            self.discard_replaced_in(dir, done)
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let mut all = Discarded::default();
        for part in parts {
            all.others.extend(part.others);
            all.with_writer.extend(part.with_writer);
        }
        Ok(all)
    }

    fn discard_replaced_in(&self, (dir, entries): &InDir<'_>, done: &mut Discarded) -> Result<()> {
        let fd = self
            .root
            .open_dir(dir)
            .context(|| format!("cannot open '{}'", path::display(dir)))?;
        check_noted(self.is_noted, dir, fd.as_fd())?;
        for (nth, entry) in entries {
            let temp = temp_name(self.tag, *nth);
            let place = (fd.as_fd(), temp.as_slice());
            let expected = (self.expected)(&entry.path);
            let found =
                look_at(expected, place, &mut done.buffer).context(|| cannot_write(entry))?;
            if found == NameState::Other {
                done.others.insert(*nth);
                continue;
            }
            if found == NameState::WithWriter {
                done.with_writer.insert(*nth);
            }
            fail_point("apply-letting-go");
            if self
                .workshop
                .is_some_and(|workshop| workshop.take(fd.as_fd(), &temp))
            {
                continue;
            }
            rustix::fs::unlinkat(&fd, OsStr::from_bytes(&temp), AtFlags::empty())
                .context(|| cannot_write(entry))?;
        }
        Ok(())
    }
}

/// Gives what is about to change places with what stands there the time of now, and answers its stamp.
///
/// All was written before the first exchange, which may be seconds ago: what was built meanwhile from the old bytes must not be newer
/// than the new ones. Where the file system refuses it, the time stays as it was written.
fn renewed(dir: BorrowedFd<'_>, temp: &[u8], replaced: Option<Stamp>) -> rustix::io::Result<Stamp> {
    let _ = touch_at(dir, temp, AtFlags::SYMLINK_NOFOLLOW);
    let look = || stamp_at(dir, temp)?.ok_or(Errno::NOENT);
    let ours = look()?;
    let later = replaced.and_then(|replaced| later_second(&ours, &replaced));
    let Some(later) = later else {
        return Ok(ours);
    };
    let _ = set_times_at(dir, temp, later, AtFlags::SYMLINK_NOFOLLOW);
    look()
}

/// The time of a file that takes the place of one of its size, where both would be of one second: the beginning of the next. Python,
/// `rsync` and others tell by size and second what has changed, and two trips may lie in one. Never further ahead of the clock: what
/// replaces such a one is of now again, and so of another second.
fn later_second(ours: &Stamp, replaced: &Stamp) -> Option<Timespec> {
    const SECOND: i64 = 1_000_000_000;
    let [now, then] = [ours, replaced].map(|stamp| stamp.mtime.div_euclid(SECOND));
    let is_alike = ours.is_file() && replaced.is_file() && ours.size == replaced.size;
    (is_alike && now == then).then_some(Timespec {
        tv_sec: now + 1,
        // A time without a fraction is what a file system gives that has none.
        tv_nsec: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_files_of_a_size_are_never_of_one_second() {
        let file = |mtime, size| Stamp {
            mtime,
            size,
            mode: 0o100_644,
            ..Stamp::default()
        };
        let second = 1_000_000_000;
        let then = |ours, replaced| later_second(&ours, &replaced).map(|time| time.tv_sec);
        let now = file(7 * second + 5, 3);
        assert_eq!(then(now, file(6 * second + 999_999_999, 3)), None);
        assert_eq!(then(now, file(7 * second, 3)), Some(8));
        assert_eq!(then(now, file(8 * second + 1, 3)), None, "it is of another");
        assert_eq!(then(now, file(7 * second, 4)), None, "the size tells");
        let link = Stamp {
            mode: 0o120_777,
            ..now
        };
        assert_eq!(then(link, link), None);
    }
}
