//! Who may use what was captured: owners from the stamps, attributes where the manifest says that there are some.

use super::Capture;
use super::derived::Derived;
use crate::error::{Result, ResultExt};
use crate::git::access::Access;
use crate::git::access_list::AccessList;
use crate::git::fs::Root;
use crate::git::path;
use crate::ops::Context;
use crate::worktree::manifest::{Kind, Manifest};
use std::collections::BTreeMap;
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
            inherits: derived.unproven > 0,
            ..AccessList::default()
        };
        let owners = derived.owners.iter();
        list.paths
            .extend(owners.map(|(path, (uid, gid))| (path.clone(), owned(*uid, *gid))));
        let paths = if ctx.repo.trust_ctime()? {
            derived.attributed.clone()
        } else {
            // Without the time of its change nothing tells that a file got attributes.
            all_paths(&self.manifest)
        };
        if !paths.is_empty() {
            let root = Root::open(ctx.repo.worktree_root())?;
            let found = access_of(&root, paths.iter())?;
            let usual = owned(derived.usual_owner.0, derived.usual_owner.1);
            list.paths
                .extend(found.into_iter().filter(|(_, access)| *access != usual));
        }
        Ok(self.access.get_or_init(|| list))
    }
}

fn owned(uid: u32, gid: u32) -> Access {
    Access {
        uid,
        gid,
        ..Access::default()
    }
}

/// Every file and directory that is captured.
pub fn all_paths(manifest: &Manifest) -> Vec<Vec<u8>> {
    let dirs = manifest.dirs.iter().map(|dir| manifest.dir_path(dir));
    let dirs = dirs.filter(|path| !path.is_empty()).map(<[u8]>::to_vec);
    let files = manifest.entries().filter(|(_, file)| is_on_disk(file.kind));
    let files = files.map(|(dir, file)| manifest.path_of(dir, &file));
    dirs.chain(files).collect()
}

fn is_on_disk(kind: Kind) -> bool {
    matches!(kind, Kind::File | Kind::Symlink | Kind::FilteredClean)
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
        let Ok(dir) = root.open_dir(dir) else {
            continue;
        };
        let what = || format!("cannot look at '{}'", path::display(full));
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
        let usual = root_owner(capture.derived(), &capture.manifest);
        // Going to a plain snapshot, what it does not name keeps the access of what it replaces.
        let list = AccessList {
            complete: false,
            ..known.clone()
        };
        return Ok((!usual || !list.paths.is_empty()).then_some(list));
    };
    let mut list = known.clone();
    if !list.complete {
        let root = Root::open(ctx.repo.worktree_root())?;
        let unknown = touched.iter().filter(|path| known.of(path).is_none());
        list.paths.extend(access_of(&root, unknown)?);
    }
    Ok(Some(list))
}

/// Whether most paths belong to whom the working tree belongs.
fn root_owner(derived: &Derived, manifest: &Manifest) -> bool {
    let root = manifest.dirs.first();
    root.is_none_or(|root| (root.stamp.uid, root.stamp.gid) == derived.usual_owner)
}
