//! Directories that a plan makes, and those that it leaves empty.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Mode, Stat};
use rustix::io::Errno;

use super::Apply;
use super::opened::OpenedDirs;
use crate::error::{Result, ResultExt};
use crate::git::access::{
    Access, Lost, SETGID, STICKY, disinherit, give_bits, may_change, may_hand_down_acl,
};
use crate::git::ids::keeps_setgid;
use crate::git::path;
use crate::worktree::plan::{DirChange, Plan};

/// Empty directories that were to go and are still there, with the reason.
pub type Stayed = BTreeMap<Vec<u8>, Stays>;

/// Why an empty directory that was to go is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stays {
    /// The directory over it is another user's.
    NotYours,
    /// `tw` was started in it, or something is mounted there.
    InUse,
}

impl Apply<'_> {
    /// Removes a directory that removals may have emptied, and those above it that are empty then.
    pub(super) fn remove_emptied(
        &self,
        from: &[u8],
        needed: &BTreeSet<&[u8]>,
        opened: &mut OpenedDirs,
        stayed: &mut Stayed,
    ) -> Result<()> {
        let mut at = from;
        while !at.is_empty() && !needed.contains(at) {
            if self.is_protected(at) {
                self.stays_in_use(at, stayed);
                return Ok(());
            }
            let (parent, name) = path::split(at);
            let dir = match opened.dir(self.root, parent) {
                Ok(dir) => dir,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            };
            let removed = opened.with_write_access(self.root, parent, || {
                rustix::fs::unlinkat(dir.as_fd(), OsStr::from_bytes(name), AtFlags::REMOVEDIR)
            });
            match removed {
                Ok(()) => opened.forget(at),
                Err(Errno::NOENT) => {}
                Err(errno) if self.is_in_use(at, errno) => {
                    self.stays_in_use(at, stayed);
                    return Ok(());
                }
                Err(errno) if belongs_to_another(&dir, errno) => {
                    stayed.insert(at.to_vec(), Stays::NotYours);
                    return Ok(());
                }
                Err(errno) => {
                    return Err(errno).context(|| format!("cannot remove '{}'", path::display(at)));
                }
            }
            at = parent;
        }
        Ok(())
    }

    /// Whether a directory could not be removed because something is in it, or it is in use.
    fn is_in_use(&self, dir: &[u8], errno: Errno) -> bool {
        match errno {
            // POSIX allows either of the first two for a directory with something in it; a mount point is busy.
            Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY => true,
            // Linux asks for the right to remove it before it looks into it.
            Errno::ACCESS | Errno::PERM | Errno::ROFS => {
                let names = self.root.names(dir);
                names.is_ok_and(|names| !names.is_empty())
            }
            _ => false,
        }
    }

    /// Notes one that stays for being in use, where nothing else is the reason: nothing is in it.
    fn stays_in_use(&self, dir: &[u8], stayed: &mut Stayed) {
        if self.root.names(dir).is_ok_and(|names| names.is_empty()) {
            stayed.insert(dir.to_vec(), Stays::InUse);
        }
    }

    /// A process whose directory is removed cannot go on, and neither can the shell that it came from.
    fn is_protected(&self, dir: &[u8]) -> bool {
        self.protected.iter().any(|kept| kept == dir)
    }

    /// Removes the directories that the plan has nothing for, as far as nothing is in them.
    pub(super) fn remove_dirs(
        &self,
        plan: &Plan,
        opened: &mut OpenedDirs,
        stayed: &mut Stayed,
    ) -> Result<()> {
        for DirChange {
            path: full, after, ..
        } in plan.dirs.iter().rev()
        {
            if after.is_some() {
                continue;
            }
            if self.is_protected(full) {
                self.stays_in_use(full, stayed);
                continue;
            }
            let (parent, name) = path::split(full);
            let dir = match opened.dir(self.root, parent) {
                Ok(dir) => dir,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(errno) => {
                    return Err(errno)
                        .context(|| format!("cannot remove '{}'", path::display(full)));
                }
            };
            let removed = opened.with_write_access(self.root, parent, || {
                rustix::fs::unlinkat(&dir, OsStr::from_bytes(name), AtFlags::REMOVEDIR)
            });
            match removed {
                Ok(()) => opened.forget(full),
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(errno) if self.is_in_use(full, errno) => self.stays_in_use(full, stayed),
                // In the place of a file it would be in the way.
                Err(errno) if belongs_to_another(&dir, errno) && plan.entry(full).is_none() => {
                    stayed.insert(full.clone(), Stays::NotYours);
                }
                Err(errno) => {
                    return Err(errno)
                        .context(|| format!("cannot remove '{}'", path::display(full)));
                }
            }
        }
        Ok(())
    }

    /// Makes a directory with the access it shall have; its final bits come when everything is in it.
    ///
    /// Where it has its owner and group by itself it is made with its bits at once: the kernel gives it setgid, and takes that away at any change of
    /// bits by who is not in its group. What would be made in it later would not be that group's. It goes without the bits that the umask takes then.
    pub(super) fn make_dir(&self, full: &[u8], perm: u32, opened: &mut OpenedDirs) -> Result<Lost> {
        let what = || format!("cannot create directory '{}'", path::display(full));
        let (parent, name) = path::split(full);
        let dir = opened.dir(self.root, parent).context(what)?;
        let access = self.access.of(full);
        let owner = match &access {
            Some(access) => Some((access.uid, access.gid)),
            None => self.owner_in(dir.as_fd()).context(what)?,
        };
        // Until everything is in it we need to get in; its final bits come at the end when they say otherwise.
        let perm = perm | 0o700;
        let is_plain = |access: &Access| access.attributes.is_empty();
        let comes_by_itself = access.as_deref().is_none_or(is_plain)
            && gets_by_itself(dir.as_fd(), owner).context(what)?;
        // Else closed to others until it has its owner and attributes: who gets in before stays in.
        let bits = if comes_by_itself {
            perm & (STICKY | 0o777)
        } else {
            0o700
        };
        let made = opened.with_write_access(self.root, parent, || {
            rustix::fs::mkdirat(&dir, OsStr::from_bytes(name), Mode::from_raw_mode(bits))
        });
        match made {
            Ok(()) => {
                if let Some(made) = self.made {
                    made.add_dir(full);
                }
            }
            // Somebody made it meanwhile, and it keeps the access that it was made with.
            Err(Errno::EXIST) => return Ok(Lost::default()),
            Err(errno) => return Err(errno).context(what),
        }
        let new = self.root.open_dir_for_reading(full).context(what)?;
        let mut lost = match owner {
            Some(owner) => Access::owned(owner).give_owner(&new).context(what)?,
            None => Lost::default(),
        };
        let is_known = access.is_some() || rustix::process::geteuid().is_root();
        if !is_known {
            lost.forget_if_harmless(perm);
        }
        if access.is_none() && !self.access.inherits() {
            disinherit(&new).context(what)?;
        }
        let made = rustix::fs::fstat(&new).context(what)?;
        if comes_by_itself && lost.is_empty() && has_setgid_only_so(&made, perm) {
            lost.note_bits(perm, made.st_mode & 0o7777);
            return Ok(lost);
        }
        match access {
            Some(access) => access.give_rest(&new, perm, &mut lost),
            None => give_bits(&new, perm, &mut lost),
        }
        .context(what)?;
        Ok(lost)
    }

    /// Whose a directory shall be that is made in this one, and of which nothing was recorded; None: whose it is by itself.
    fn owner_in(&self, dir: BorrowedFd<'_>) -> rustix::io::Result<Option<(u32, u32)>> {
        if !rustix::process::geteuid().is_root() {
            return self.access.own_in(self.root, dir);
        }
        // Else everything that `sudo tw` makes would belong to root.
        if let Some(usual) = self.access.usual_owner() {
            return Ok(Some(usual));
        }
        let above = rustix::fs::fstat(dir)?;
        Ok(Some((above.st_uid, above.st_gid)))
    }
}

/// Whether what is made in a directory gets this owner and group by itself, and nothing else from there: a setgid directory gives its group wherever
/// it is.
fn gets_by_itself(dir: BorrowedFd<'_>, owner: Option<(u32, u32)>) -> rustix::io::Result<bool> {
    let above = rustix::fs::fstat(dir)?;
    let by_itself = (rustix::process::geteuid().as_raw(), above.st_gid);
    Ok(above.st_mode & SETGID != 0
        && owner.is_none_or(|owner| owner == by_itself)
        && !may_hand_down_acl(dir))
}

/// Whether a directory that was just made has setgid as it shall have, and would lose it if it got the bits that the umask took.
fn has_setgid_only_so(made: &Stat, perm: u32) -> bool {
    let bits = made.st_mode & 0o7777;
    let is_narrower = bits != perm && bits & !perm == 0;
    is_narrower && bits & SETGID != 0 && !keeps_setgid(made.st_gid)
}

/// Whether what is in a directory could not be removed because that is another user's.
fn belongs_to_another(dir: impl AsFd, errno: Errno) -> bool {
    let owner = rustix::fs::fstat(dir).map(|stat| stat.st_uid);
    matches!(errno, Errno::ACCESS | Errno::PERM) && owner.is_ok_and(|owner| !may_change(owner))
}

/// Directories that the plan puts something in or keeps: they stay although they are empty for a moment.
pub(super) fn needed_dirs(plan: &Plan) -> BTreeSet<&[u8]> {
    let mut needed = BTreeSet::new();
    let kept = plan.dirs.iter().filter(|dir| dir.after.is_some());
    let written = plan.entries.iter().filter(|entry| entry.after.is_some());
    let starts = kept
        .map(|dir| dir.path.as_slice())
        .chain(plan.keep_dirs.iter().map(Vec::as_slice))
        .chain(written.map(|entry| path::split(&entry.path).0));
    for start in starts {
        let mut at = start;
        while !at.is_empty() && needed.insert(at) {
            at = path::split(at).0;
        }
    }
    needed
}
