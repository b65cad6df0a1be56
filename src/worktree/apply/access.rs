//! Access of what a plan touches: read before it goes, so that it can be recorded.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use rustix::io::Errno;

use super::by_dir;
use crate::error::{Result, ResultExt};
use crate::git::access::Access;
use crate::git::fs::Root;
use crate::git::{path, threads};
use crate::worktree::plan::Plan;

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
        let made = self.ours.unwrap_or((over.st_uid, over.st_gid));
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
