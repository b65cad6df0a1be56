//! Private files in objects that others may read. git makes objects as readable as its directory is, whatever the bits of the file: what
//! it was told to keep is no secret to whoever may enter the repository. A snapshot keeps files that git was never told of.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Finding, listed, ok, warning};
use crate::error::Result;
use crate::git::path::{self, display};
use crate::git::repo::SharedRepository;
use crate::git::tree;
use crate::ops::Context;
use crate::ops::history::{SnapshotScope, nth_newest};
use crate::ops::swap::extras::stored_extras;
use crate::store::Store;
use crate::store::id::IdKind;
use crate::store::stored::Stored;
use crate::text::typed_path;
use crate::worktree::plan::Extras;

/// Those beside its owner who may use a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Group,
    Others,
}

impl Reader {
    /// Whether permission bits let them use it so: 4 to read, 1 to go through a directory.
    fn may(self, perm: u32, what: u32) -> bool {
        let bits = match self {
            Self::Group => perm >> 3 | perm,
            Self::Others => perm,
        };
        bits & what != 0
    }

    /// Whether they get into a directory, and everywhere over it. A group that has its user's number is that user's alone.
    fn reaches(self, dir: &Path) -> bool {
        let Ok(dir) = dir.canonicalize() else {
            return false;
        };
        dir.ancestors().all(|at| {
            at.metadata().is_ok_and(|meta| {
                let is_own_group = self == Self::Group && meta.gid() == meta.uid();
                let who = if is_own_group { Self::Others } else { self };
                who.may(meta.mode(), 1)
            })
        })
    }
}

/// Whether others may read what the newest snapshot and the newest backup have of files that they may not read.
pub fn check(ctx: &Context<'_>, store: &Store) -> Result<Finding> {
    let objects = ctx.repo.common_dir().join("objects");
    let readers = [Reader::Others, Reader::Group];
    for reader in readers
        .into_iter()
        .filter(|reader| reader.reaches(&objects))
    {
        for kind in [IdKind::Snapshot, IdKind::Backup] {
            let newest = nth_newest(ctx, store, (kind, SnapshotScope::Here), 0, None)?;
            let Some(newest) = newest else { continue };
            let exposed = exposed(ctx, store, &newest, reader)?;
            if !exposed.is_empty() {
                return Ok(told(ctx, &newest, &exposed));
            }
        }
    }
    Ok(ok(
        "no private file of the newest snapshot is open to others",
    ))
}

fn told(ctx: &Context<'_>, newest: &Stored, exposed: &[Vec<u8>]) -> Finding {
    let shown: Vec<String> = exposed.iter().map(|full| display(full)).collect();
    let who = match ctx.repo.shared_repository() {
        Ok(SharedRepository::Umask) => "go",
        _ => "o",
    };
    warning(
        format!(
            "others may read in git's objects what they may not read in the working tree, of {}: {}",
            newest.id,
            listed(&shown)
        ),
        format!("chmod {who}-rwx {}", typed_path(ctx.repo.common_dir())),
    )
}

/// The files of a snapshot that git was not told of and that these may not read.
fn exposed(
    ctx: &Context<'_>,
    store: &Store,
    stored: &Stored,
    reader: Reader,
) -> Result<Vec<Vec<u8>>> {
    let is_root_open = reader.reaches(ctx.repo.worktree_root());
    let extras = stored_extras(store, stored)?;
    let index = store.index_side(stored)?.tree;
    let new = tree::diff(&store.objects, Some(index), Some(stored.tree))?;
    let new = new.into_iter().filter(|change| change.old.is_none());
    let files = new.filter_map(|change| Some((change.path, change.new?)));
    let files = files.filter(|(_, node)| !node.is_gitlink() && !node.is_dir());
    let private = files.filter(|(full, node)| {
        let is_open = reader.may(extras.permissions(full, node.mode), 4);
        !is_root_open || !is_open || !leads_to(&extras, full, reader)
    });
    Ok(private.map(|(full, _)| full).collect())
}

/// Whether every directory over a file lets these through.
fn leads_to(extras: &Extras, full: &[u8], reader: Reader) -> bool {
    let mut dirs = path::with_parents(path::split(full).0).filter(|dir| !dir.is_empty());
    dirs.all(|dir| reader.may(extras.permissions(dir, tree::DIR_MODE), 1))
}
