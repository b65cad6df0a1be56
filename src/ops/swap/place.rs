//! The files of a plan, put in place.

use super::super::Context;
use super::blobs::Blobs;
use super::goal::Aim;
use super::protected_dirs;
use super::recover::NotedDirs;
use super::secure::LateChanges;
use crate::error::Result;
use crate::git::access_list::AccessList;
use crate::git::fs::Root;
use crate::store::Store;
use crate::store::state::WORKSHOP;
use crate::worktree::apply::workshop::Site;
use crate::worktree::apply::{Applied, Apply, Expected, Granted};
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::plan::Plan;

/// What is put in place.
pub(super) struct Placing<'a> {
    pub(super) ctx: &'a Context<'a>,
    pub(super) store: &'a Store,
    pub(super) aim: &'a Aim<'a>,
    /// Names the temporary files.
    pub(super) tag: &'a str,
    /// What the backup has.
    pub(super) manifest: &'a Manifest,
    /// Who may use it.
    pub(super) replaced: &'a AccessList,
    pub(super) plan: &'a Plan,
    /// The directories that it works in; none in a recovery, which makes them anew.
    pub(super) noted: NotedDirs,
    pub(super) blobs: &'a Blobs,
}

impl Placing<'_> {
    /// Puts the files in place; what changed since the backup was taken goes into it first.
    ///
    /// # Errors
    /// A file cannot be written, or something is in the way.
    pub(super) fn run(&self, late: &mut LateChanges<'_>) -> Result<Applied> {
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let noted = &self.noted;
        let expected = |path: &[u8]| expected_in(self.manifest, path);
        let objects = &self.store.objects;
        let copy = |oid, out: &mut dyn std::io::Write| self.blobs.copy(objects, oid, out);
        Apply {
            root: &root,
            tag: self.tag,
            copy_blob: &copy,
            expected: &expected,
            is_noted: &|path, opened| noted.is_it(path, opened),
            securing: late,
            access: &Granted::by(self.aim.extras(), self.plan),
            replaced: Some(self.replaced),
            protected: &protected_dirs(self.ctx),
            made: None,
            workshop: Some(Site {
                dir: &self.store.dir.file(WORKSHOP),
                is_cleared_later: !self.ctx.env.is_on("TW_NO_BACKGROUND"),
            }),
            progress: self.ctx.progress,
        }
        .run(self.plan)
    }
}

/// What the backup's manifest says of a path.
fn expected_in(manifest: &Manifest, path: &[u8]) -> Expected {
    match manifest.file(path) {
        Some(file) if matches!(file.kind, Kind::File | Kind::Symlink) => Expected::Known {
            mode: file.stamp.mode,
            size: file.stamp.size,
            oid: file.oid,
        },
        _ => Expected::Absent,
    }
}
