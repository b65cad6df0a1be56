//! Access of what a plan touches: read before it goes, so that it can be recorded, and given where permission bits alone are set.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use rustix::io::Errno;

use super::temps::is_dir;
use super::{Apply, by_dir, set_permissions};
use crate::error::{Result, ResultExt};
use crate::git::access::{Access, Lost};
use crate::git::fs::Root;
use crate::git::{path, threads};
use crate::worktree::manifest::{DirRec, Kind, Manifest, VIRTUAL};
use crate::worktree::plan::Plan;

/// The access of everything captured, as far as it is not what a new file would get anyway. What a swap of the whole tree leaves alone can be
/// changed or removed before the way back, which then has to know.
///
/// # Errors
/// Something cannot be looked at.
pub fn all_unusual_access(root: &Root, manifest: &Manifest) -> Result<BTreeMap<Vec<u8>, Access>> {
    let usual = Usual::new(root)?;
    let amount = manifest.dirs.iter().map(|dir| manifest.files_of(dir).len());
    let work = |dir: &DirRec, found: &mut Vec<_>| {
        if dir.flags & VIRTUAL != 0 {
            return Ok(());
        }
        let full = manifest.dir_path(dir);
        if !full.is_empty() {
            let (parent, name) = path::split(full);
            usual.unusual_in(root, parent, std::iter::once(name), found)?;
        }
        let on_disk = |kind| matches!(kind, Kind::File | Kind::Symlink | Kind::FilteredClean);
        let files = manifest.files_of(dir).iter();
        let names = files
            .filter(|file| on_disk(file.kind))
            .map(|file| manifest.bytes(file.name));
        usual.unusual_in(root, full, names, found)
    };
    let (parts, failed) = threads::gather(&manifest.dirs, amount.sum(), work);
    match failed {
        Some(error) => Err(error),
        None => Ok(parts.into_iter().flatten().collect()),
    }
}

/// The access of every path that the plan replaces or removes, as far as it is not what a new file would get anyway.
///
/// # Errors
/// Something cannot be looked at.
pub fn unusual_access(root: &Root, plan: &Plan) -> Result<BTreeMap<Vec<u8>, Access>> {
    let touched = plan.entries.iter().enumerate();
    let touched = touched.filter(|(_, entry)| entry.before.is_some());
    let (dirs, amount) = by_dir(plan, touched.map(|(nth, _)| nth));
    let usual = Usual::new(root)?;
    let (parts, failed) = threads::gather(&dirs, amount, |(dir, entries), found: &mut Vec<_>| {
        let names = entries.iter().map(|(_, entry)| path::split(&entry.path).1);
        usual.unusual_in(root, dir, names, found)
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let mut unusual: BTreeMap<_, _> = parts.into_iter().flatten().collect();
    let mut found = Vec::new();
    for dir in plan.dirs.iter().filter(|dir| dir.before.is_some()) {
        let (parent, name) = path::split(&dir.path);
        usual.unusual_in(root, parent, std::iter::once(name), &mut found)?;
    }
    unusual.extend(found);
    Ok(unusual)
}

/// Whose new files are without being told.
struct Usual {
    /// Owner and group of the working tree.
    tree: (u32, u32),
    /// We ourselves; `None` as root, when it is the directory's owner.
    ours: Option<(u32, u32)>,
}

impl Usual {
    fn new(root: &Root) -> Result<Self> {
        let top = rustix::fs::fstat(root.fd())?;
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        Ok(Self {
            tree: (top.st_uid, top.st_gid),
            ours: (!uid.is_root()).then(|| (uid.as_raw(), gid.as_raw())),
        })
    }

    fn unusual_in<'n>(
        &self,
        root: &Root,
        dir: &[u8],
        names: impl Iterator<Item = &'n [u8]>,
        found: &mut Vec<(Vec<u8>, Access)>,
    ) -> Result<()> {
        let what = || format!("cannot look at '{}'", path::display(dir));
        let fd = match root.open_dir(dir) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            other => other.context(what)?,
        };
        let over = rustix::fs::fstat(&fd).context(what)?;
        let setgid = over.st_mode & 0o2000 != 0;
        let made = match self.ours {
            Some((uid, _)) if setgid => (uid, over.st_gid),
            Some(ours) => ours,
            None => (over.st_uid, over.st_gid),
        };
        for name in names {
            let Some((access, _)) = Access::at(fd.as_fd(), name).context(what)? else {
                continue;
            };
            let owner = (access.uid, access.gid);
            if !access.attributes.is_empty() || owner != self.tree || owner != made {
                found.push((path::join(dir, name), access));
            }
        }
        Ok(())
    }
}

impl Apply<'_> {
    /// Gives directories that stay what they shall have, when all else is done.
    pub(super) fn set_dir_modes(
        &self,
        plan: &Plan,
        lost: &mut BTreeMap<Vec<u8>, Lost>,
    ) -> Result<()> {
        for dir in plan.dirs.iter().rev() {
            let Some(perm) = dir.after else {
                continue;
            };
            let what = || format!("cannot set the mode of '{}'", path::display(&dir.path));
            let (parent, name) = path::split(&dir.path);
            let Ok(parent) = self.root.open_dir(parent) else {
                continue;
            };
            let Some((now, stat)) = Access::at(parent.as_fd(), name).context(what)? else {
                continue;
            };
            if !is_dir(&stat) {
                continue;
            }
            // What was made just now has its access already.
            match self.access.of(&dir.path).filter(|_| dir.before.is_some()) {
                Some(access) if *access != now => {
                    let fd = self.root.open_dir_for_reading(&dir.path).context(what)?;
                    let mut missed = access.give_owner(&fd).context(what)?;
                    access.give_rest(&fd, perm, &mut missed).context(what)?;
                    if !missed.is_empty() {
                        lost.insert(dir.path.clone(), missed);
                    }
                }
                _ => {
                    let perm = lost.get(&dir.path).map_or(perm, |lost| lost.narrow(perm));
                    if stat.st_mode & 0o7777 != perm {
                        self.chmod_narrowly(&dir.path, perm, lost)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Bits that make more of an ACL than it is now, where none was recorded, would let in whom it names: the group's bits are its mask.
    pub(super) fn chmod_narrowly(
        &self,
        full: &[u8],
        perm: u32,
        lost: &mut BTreeMap<Vec<u8>, Lost>,
    ) -> Result<()> {
        let mut perm = perm;
        if self.access.of(full).is_none() {
            let (dir, name) = path::split(full);
            let what = || format!("cannot look at '{}'", path::display(full));
            let dir = self.root.open_dir(dir).context(what)?;
            let now = Access::at(dir.as_fd(), name).context(what)?;
            if let Some(widened) = now.and_then(|(now, stat)| now.widened(stat.st_mode, perm)) {
                perm = widened.narrow(perm);
                lost.insert(full.to_vec(), widened);
            }
        }
        set_permissions(self.root, full, perm)
    }
}
