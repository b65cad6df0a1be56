//! Directories that a plan makes, and those that it leaves empty.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::Apply;
use super::opened::OpenedDirs;
use crate::error::{Result, ResultExt};
use crate::git::access::{Access, Lost, disinherit, give_bits, may_change};
use crate::git::path;
use crate::worktree::plan::{DirChange, Plan};

impl Apply<'_> {
    /// Removes a directory that removals may have emptied, and those above it that are empty then.
    pub(super) fn remove_emptied(
        &self,
        from: &[u8],
        needed: &BTreeSet<&[u8]>,
        opened: &mut OpenedDirs,
        stayed: &mut BTreeSet<Vec<u8>>,
    ) -> Result<()> {
        let mut at = from;
        while !at.is_empty() && !self.is_protected(at) && !needed.contains(at) {
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
                Err(errno) if self.is_in_use(at, errno) => return Ok(()),
                Err(errno) if belongs_to_another(&dir, errno) => {
                    stayed.insert(at.to_vec());
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

    fn is_protected(&self, dir: &[u8]) -> bool {
        self.protected.iter().any(|kept| kept == dir)
    }

    /// Removes the directories that the plan has nothing for, as far as nothing is in them.
    pub(super) fn remove_dirs(
        &self,
        plan: &Plan,
        opened: &mut OpenedDirs,
        stayed: &mut BTreeSet<Vec<u8>>,
    ) -> Result<()> {
        for DirChange {
            path: full, after, ..
        } in plan.dirs.iter().rev()
        {
            // A process whose directory is removed cannot go on, and neither can the shell that it came from.
            if after.is_some() || self.protected.contains(full) {
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
                Err(errno) if self.is_in_use(full, errno) => {}
                // In the place of a file it would be in the way.
                Err(errno) if belongs_to_another(&dir, errno) && plan.entry(full).is_none() => {
                    stayed.insert(full.clone());
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
    pub(super) fn make_dir(&self, full: &[u8], perm: u32, opened: &mut OpenedDirs) -> Result<Lost> {
        let what = || format!("cannot create directory '{}'", path::display(full));
        let (parent, name) = path::split(full);
        let dir = opened.dir(self.root, parent).context(what)?;
        let made = opened.with_write_access(self.root, parent, || {
            // Closed to others until it has its owner and attributes: who gets in before stays in.
            rustix::fs::mkdirat(&dir, OsStr::from_bytes(name), Mode::from_raw_mode(0o700))
        });
        match made {
            Ok(()) => {}
            // Somebody made it meanwhile, and it keeps the access that it was made with.
            Err(Errno::EXIST) => return Ok(Lost::default()),
            Err(errno) => return Err(errno).context(what),
        }
        let new = self.root.open_dir_for_reading(full).context(what)?;
        if let Some(access) = self.access.of(full) {
            let mut lost = access.give_owner(&new).context(what)?;
            access
                .give_rest(&new, perm | 0o700, &mut lost)
                .context(what)?;
            return Ok(lost);
        }
        // Else everything that `sudo tw` makes would belong to root.
        let mut lost = Lost::default();
        if rustix::process::geteuid().is_root() {
            let owner = if let Some(owner) = self.access.usual_owner() {
                owner
            } else {
                let above = rustix::fs::fstat(&dir)?;
                (above.st_uid, above.st_gid)
            };
            lost = Access::owned(owner).give_owner(&new).context(what)?;
        } else if let Some(own) = self.access.own_in(self.root, dir.as_fd())? {
            lost = Access::owned(own).give_owner(&new).context(what)?;
            lost.forget_if_harmless(perm);
        }
        if !self.access.inherits() {
            disinherit(&new).context(what)?;
        }
        // Until everything is in it we need to get in; its final bits come at the end when they say otherwise.
        give_bits(&new, perm | 0o700, &mut lost).context(what)?;
        Ok(lost)
    }
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
