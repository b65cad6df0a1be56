//! How open what comes from the present may be in a scratch. A directory that is private by now may have been open in the snapshot: nothing
//! over a file keeps out there whom the present's directory keeps out, so that the file's own bits have to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use crate::git::access::{Access, Lost};
use crate::git::fs::Root;
use crate::git::path;
use crate::git::reach::{ALL, beneath};
use crate::git::tree::{DIR_MODE, LINK_MODE, Node};
use crate::worktree::plan::Extras;

/// Both sides, and what is known of them by now. Shared by the threads that copy.
pub(super) struct Reach<'a> {
    from: &'a Root,
    to: &'a Root,
    known: Mutex<BTreeMap<Vec<u8>, u32>>,
}

impl<'a> Reach<'a> {
    /// From the present to a scratch.
    pub(super) fn new((from, to): (&'a Root, &'a Root)) -> Self {
        let known = Mutex::default();
        Self { from, to, known }
    }

    /// The permission bits that what comes into a directory of the scratch may have: those of who gets to the present's, too.
    ///
    /// # Errors
    /// One of the directories cannot be looked at.
    pub(super) fn of(&self, dir: &[u8]) -> rustix::io::Result<u32> {
        if dir.is_empty() {
            return Ok(ALL);
        }
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(dir).copied();
        if let Some(found) = found {
            return Ok(found);
        }
        let bits = self.of(path::split(dir).0)? & self.through(dir)?;
        known().insert(dir.to_vec(), bits);
        Ok(bits)
    }

    /// The same for one directory, whatever is over it.
    fn through(&self, dir: &[u8]) -> rustix::io::Result<u32> {
        let sides = look(self.from, dir)?.zip(look(self.to, dir)?);
        let Some(((present, there), (scratch, here))) = sides else {
            return Ok(ALL);
        };
        // With the same owner, group and ACL the bits are for the same people.
        let there = if present.is_as(&scratch) {
            there
        } else {
            let alone = present.bits_without_acl(there).unwrap_or(there);
            Lost::between(&scratch, &present).narrow(alone)
        };
        Ok(beneath(there | !here))
    }

    /// A side of the present, with the bits that these files and the directories made for them may have in the scratch.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(super) fn narrowed<'s>(
        &self,
        side: &'s Extras,
        files: &[(&[u8], Node)],
    ) -> rustix::io::Result<Cow<'s, Extras>> {
        let mut side = Cow::Borrowed(side);
        for (full, node) in files.iter().filter(|(_, node)| node.mode != LINK_MODE) {
            let above = path::split(full).0;
            let reach = self.of(above)?;
            if reach == ALL {
                continue;
            }
            let bits = side.permissions(full, node.mode) & reach;
            side.to_mut().modes.insert(full.to_vec(), bits);
            for dir in path::with_parents(above) {
                if self.to.dir_stamp(dir).is_none() {
                    let reach = self.of(path::split(dir).0)?;
                    let bits = side.permissions(dir, DIR_MODE) & reach;
                    side.to_mut().modes.insert(dir.to_vec(), bits);
                }
            }
        }
        Ok(side)
    }
}

/// Who may use a directory, and its permission bits. None where there is none.
fn look(root: &Root, dir: &[u8]) -> rustix::io::Result<Option<(Access, u32)>> {
    let (above, name) = path::split(dir);
    let Some(above) = root.dir_if_there(above)? else {
        return Ok(None);
    };
    let found = Access::at(above.as_fd(), name)?;
    Ok(found.map(|(access, stat)| (access, stat.st_mode & ALL)))
}
