//! Directories of another user, who lets nobody else change the names in them: what a plan would make, replace or remove there is
//! refused before anything is touched. A swap that found it out half-way would have put other files in place by then, and those that
//! belonged to somebody else could not be given back to him.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;

use rustix::io::Errno;

use crate::error::{Result, ResultExt};
use crate::git::access::{STICKY, lets_us_write, may_change};
use crate::git::fs::{Root, Stamp};
use crate::git::path;
use crate::ops::uncapturable::{Uncapturable, Why};
use crate::worktree::apply::{Granted, settled_but_for_bits};
use crate::worktree::manifest::Manifest;
use crate::worktree::plan::{Plan, PlanEntry};

/// What has to be moved away for a plan to be carried out: of the directories in which it could do nothing the innermost one that may be
/// renamed where it is, or, where none may, the paths themselves.
///
/// # Errors
/// A directory cannot be looked at.
pub(super) fn closed_to_us(
    root: &Root,
    manifest: &Manifest,
    (plan, access): (&Plan, Granted<'_>),
) -> Result<Vec<Uncapturable>> {
    let mut looks = Looks {
        root,
        manifest,
        known: BTreeMap::new(),
    };
    let is_put = |at: &[u8]| plan.entry(at).is_some_and(|entry| entry.after.is_some());
    let gives_way = |dir: &[u8]| path::with_parents(dir).any(is_put);
    // One that cannot be removed stays, and is told of, unless a file comes in its place.
    let dirs = plan.dirs.iter().filter(|dir| match dir.after {
        Some(_) => dir.before.is_none(),
        None => gives_way(&dir.path),
    });
    let dirs = dirs.map(|dir| (&dir.path, None));
    let entries = plan.entries.iter().map(|entry| (&entry.path, Some(entry)));
    let mut found = BTreeSet::new();
    // Paths of one directory stand together.
    let mut ours: Option<&[u8]> = None;
    for (full, entry) in entries.chain(dirs) {
        let over = path::split(full).0;
        if ours == Some(over) {
            continue;
        }
        let dir = looks.nearest(over);
        if looks.is_ours(dir) {
            ours = Some(over);
        } else if entry.is_some_and(|entry| changes_in_place(root, entry, access)) {
            // Nothing but the file itself is touched.
        } else if !looks.may_rename_in(dir, full)? {
            let (at, why) = match looks.movable(dir)? {
                Some(at) => (at, Why::OfAnotherUser),
                None if looks.is_closed(dir) => (full.as_slice(), Why::InAnothersDirectory),
                None => (full.as_slice(), Why::OfAnotherUser),
            };
            found.insert(Uncapturable::new(at, why));
        }
    }
    Ok(found.into_iter().collect())
}

/// Whether nothing but bits of a file are changed, where it is: it is ours, has the access that it is to have, and no other name. Any other
/// is replaced, which needs its directory.
fn changes_in_place(root: &Root, entry: &PlanEntry, access: Granted<'_>) -> bool {
    if !entry.is_chmod() {
        return false;
    }
    let (dir, name) = path::split(&entry.path);
    let wanted = access.of(&entry.path);
    let settled = root
        .open_dir(dir)
        .and_then(|dir| settled_but_for_bits(dir.as_fd(), name, wanted.as_deref()));
    matches!(settled, Ok(Some(there)) if may_change(there.uid))
}

/// What was found out about directories.
struct Looks<'a> {
    root: &'a Root,
    manifest: &'a Manifest,
    /// Whether names in it can be changed.
    known: BTreeMap<Vec<u8>, bool>,
}

impl Looks<'_> {
    /// The directory itself, or the innermost one over it that is there.
    fn nearest<'p>(&self, dir: &'p [u8]) -> &'p [u8] {
        let mut at = dir;
        while !at.is_empty() && self.stamp(at).is_none() {
            at = path::split(at).0;
        }
        at
    }

    fn stamp(&self, dir: &[u8]) -> Option<Stamp> {
        let seen = self.manifest.dir_on_disk(dir).map(|found| found.stamp);
        seen.or_else(|| self.root.dir_stamp(dir))
    }

    /// Whether a directory is the user's own, which is opened up for as long as it takes.
    fn is_ours(&self, dir: &[u8]) -> bool {
        let stamp = self.stamp(dir);
        stamp.is_some_and(|stamp| may_change(stamp.uid))
    }

    /// Whether this process may change what is called so in a directory.
    fn may_rename_in(&mut self, dir: &[u8], full: &[u8]) -> Result<bool> {
        if self.is_ours(dir) {
            return Ok(true);
        }
        let is_sticky = self.stamp(dir).is_some_and(|dir| dir.mode & STICKY != 0);
        if is_sticky
            && let Ok(Some(there)) = self.root.stamp(full)
            && !may_change(there.uid)
        {
            return Ok(false);
        }
        if let Some(known) = self.known.get(dir) {
            return Ok(*known);
        }
        let what = || format!("cannot inspect '{}'", path::display(dir));
        let is_open = match self.root.open_dir(dir) {
            Ok(fd) => lets_us_write(fd),
            // A directory over it lets nobody through.
            Err(Errno::ACCESS) => false,
            // Gone since: it is looked at once more before it is touched.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => true,
            Err(errno) => return Err(errno).context(what),
        };
        self.known.insert(dir.to_vec(), is_open);
        Ok(is_open)
    }

    /// Whether it was found that this process may change no name in a directory, whosever they are.
    fn is_closed(&self, dir: &[u8]) -> bool {
        self.known.get(dir) == Some(&false)
    }

    /// The directory, or the innermost one over it, that may be renamed where it is.
    fn movable<'p>(&mut self, dir: &'p [u8]) -> Result<Option<&'p [u8]>> {
        let mut at = dir;
        while !at.is_empty() {
            let over = path::split(at).0;
            if self.may_rename_in(over, at)? {
                return Ok(Some(at));
            }
            at = over;
        }
        Ok(None)
    }
}
