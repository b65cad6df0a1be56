//! Who may use what was captured: owners from the stamps, attributes where the manifest says that there are some.

use super::Capture;
use crate::error::{Result, ResultExt};
use crate::git::access::Access;
use crate::git::access_list::AccessList;
use crate::git::fs::Root;
use crate::git::ids::IdMaps;
use crate::git::path;
use crate::ops::Context;
use crate::worktree::manifest::Manifest;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;

impl Capture<'_> {
    /// Who may use what was captured. The values of attributes are read when it is first asked for.
    ///
    /// # Errors
    /// Something that has attributes cannot be looked at.
    pub fn access(&self, ctx: &Context<'_>) -> Result<&AccessList> {
        if let Some(known) = self.access.get() {
            return Ok(known);
        }
        let derived = self.derived();
        let mut list = AccessList {
            owner: Some(derived.usual_owner),
            complete: derived.unproven == 0,
            ids: IdMaps::here().map(ToString::to_string),
            ..AccessList::default()
        };
        let owners = derived.owners.iter();
        list.paths
            .extend(owners.map(|(path, owner)| (path.clone(), Access::owned(*owner))));
        let mut paths = if ctx.repo.trust_ctime()? {
            derived.attributed.clone()
        } else {
            // Without the time of its change nothing tells that a file got attributes.
            self.manifest.paths_on_disk()
        };
        // What runs as its owner or group must not run as another: whose it is stands in the list, though it be that of most.
        let programs: BTreeSet<&Vec<u8>> = derived.programs.iter().collect();
        paths.extend(derived.programs.iter().cloned());
        if !paths.is_empty() {
            let root = Root::open(ctx.repo.worktree_root())?;
            let found = access_of(&root, paths.iter())?.into_iter();
            let usual = Access::owned(derived.usual_owner);
            list.paths
                .extend(found.filter(|(path, access)| *access != usual || programs.contains(path)));
        }
        Ok(self.access.get_or_init(|| list))
    }
}

/// The access of those paths at which something stands.
///
/// # Errors
/// One cannot be looked at.
pub fn access_of<'p>(
    root: &Root,
    paths: impl Iterator<Item = &'p Vec<u8>>,
) -> Result<BTreeMap<Vec<u8>, Access>> {
    let mut found = BTreeMap::new();
    for full in paths {
        let (dir, name) = path::split(full);
        // What a swap is about to make need not have a directory yet.
        let what = || format!("cannot look at '{}'", path::display(full));
        let Some(dir) = root.dir_if_there(dir).context(what)? else {
            continue;
        };
        if let Some((access, _)) = Access::at(dir.as_fd(), name).context(what)? {
            found.insert(full.clone(), access);
        }
    }
    Ok(found)
}

/// What a snapshot of this records of it: `touched` are the paths that a swap is about to touch, nothing for a plain snapshot. None
/// when a plain snapshot has nothing to record.
///
/// # Errors
/// Something cannot be looked at.
pub fn recorded(
    ctx: &Context<'_>,
    capture: &Capture<'_>,
    touched: Option<&[Vec<u8>]>,
) -> Result<Option<AccessList>> {
    let known = capture.access(ctx)?;
    let Some(touched) = touched else {
        // The usual case: nothing is stored for it.
        if known.paths.is_empty() && is_of_the_root_directory(known, &capture.manifest) {
            return Ok(None);
        }
        // Going to a plain snapshot, what it does not name keeps the access of what it replaces.
        return Ok(Some(AccessList {
            complete: false,
            ..known.clone()
        }));
    };
    let mut list = known.clone();
    if !list.complete {
        let root = Root::open(ctx.repo.worktree_root())?;
        // Where ids came from git's index no file was opened. The swap can only lose the access of what it touches: that is read now.
        let unknown = touched.iter().filter(|path| known.of(path).is_none());
        list.paths.extend(access_of(&root, unknown)?);
    }
    Ok(Some(list))
}

/// Whether most paths belong to the owner and group of the root directory.
fn is_of_the_root_directory(list: &AccessList, manifest: &Manifest) -> bool {
    let root = manifest.dirs.first();
    root.is_none_or(|root| list.owner == Some((root.stamp.uid, root.stamp.gid)))
}
