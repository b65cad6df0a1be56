//! What snapshots leave out (`node_modules`, `target`, an ignored file, …) and that changed in the past, or went: the proof does not
//! speak for it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::git::fs::{Root, nanoseconds};
use crate::git::path::{self, RepoPath};
use crate::git::tree::{self, Node};
use crate::ops::unsaved::{self, Renamed, Unsaved};
use crate::store::Store;
use crate::store::stored::Stored;
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::scan::DESK;

/// At most so many entries of one directory are looked at,
const MOST: usize = 5_000;

/// and so many of all together.
const MOST_OF_ALL: usize = 20_000;

/// Where package managers and builds usually put what no snapshot has. In the present there may be none of these yet.
const USUAL: [&str; 10] = [
    "node_modules",
    "target",
    ".venv",
    "venv",
    "dist",
    "build",
    ".next",
    ".cache",
    ".gradle",
    "vendor",
];

/// What is known of the present that a stay left.
pub(super) struct LeftOut<'a> {
    pub store: &'a Store,
    pub backup: &'a Stored,
    /// The paths that the present had in its index alone.
    pub absent: &'a [Vec<u8>],
    pub unsaved: &'a Unsaved,
    /// What swaps of the stay have made.
    pub made: &'a BTreeSet<Vec<u8>>,
    /// When the stay began, nanoseconds since the epoch.
    pub since: i64,
}

impl LeftOut<'_> {
    /// The directories with something in them newer than the stay, and such files, in order.
    ///
    /// # Errors
    /// The backup cannot be read.
    pub fn changed(&self, root: &Path) -> Result<Vec<RepoPath>> {
        // A rename changes what was brought back.
        let moved = &self.unsaved.moved_aside;
        let is_ours = |path: &[u8]| {
            let is_moved = moved.iter().any(|(from, _)| path::is_within(path, from));
            // Looks of git write into it; that its HEAD moved is told apart.
            path == DESK || is_moved || path.ends_with(b"/.git")
        };
        let roots = self.unsaved.roots();
        let mut candidates: BTreeSet<&[u8]> = roots.filter(|path| !is_ours(path)).collect();
        for name in USUAL {
            if self.is_left_out(name.as_bytes())? {
                candidates.insert(name.as_bytes());
            }
        }
        let mut look = self.look(root);
        let is_changed = |path: &&[u8]| look.is_newer(path);
        let changed = candidates.into_iter().filter(is_changed);
        Ok(changed.map(RepoPath::new).collect())
    }

    /// Of what is left out now (`seen`, by this manifest), what came since the stay began: the present had nothing there.
    ///
    /// # Errors
    /// The backup cannot be read.
    pub fn appeared(
        &self,
        root: &Path,
        (seen, manifest): (&BTreeSet<Vec<u8>>, &Manifest),
    ) -> Result<Vec<RepoPath>> {
        let mut look = self.look(root);
        let mut found = Vec::new();
        // Which files cannot be read only their hashing tells.
        let unreadable = unsaved::unreadable(manifest);
        for path in seen.union(&unreadable) {
            let is_known = self.unsaved.has(path)
                || self.unsaved.is_moved_to(path)
                || self.unsaved.has_old_name(path);
            if path == DESK || is_known {
                continue;
            }
            let kind = manifest.file(path).map(|file| file.kind);
            let is_repository = matches!(kind, Some(Kind::Gitlink | Kind::Nested))
                || is_repository(&to_path(root, path));
            let appeared = if is_repository {
                self.holds_what_stays(root, path)?
            } else if matches!(kind, Some(Kind::Socket | Kind::Pipe | Kind::Device)) {
                // Also in the place of a file that the stay made.
                self.had(path)?.is_none()
            } else {
                self.is_left_out(path)? && look.is_newer(path)
            };
            if appeared {
                found.push(RepoPath::new(path.as_slice()));
            }
        }
        Ok(found)
    }

    /// Of what the return leaves in place since the present's rules leave it out (`left`), what the present had not: the file, or the
    /// highest directory that came with it.
    ///
    /// # Errors
    /// The backup cannot be read.
    pub fn came(&self, left: &[Vec<u8>]) -> Result<Vec<RepoPath>> {
        let mut found: BTreeSet<&[u8]> = BTreeSet::new();
        for full in left {
            let is_known = path::with_parents(full).any(|at| found.contains(at));
            if is_known || self.unsaved.has(full) || self.unsaved.is_moved_to(full) {
                continue;
            }
            let mut highest = full.as_slice();
            for at in path::with_parents(full) {
                let holds_others = self.unsaved.beneath(at).next().is_some();
                if !holds_others && tree::find(&self.store.objects, self.backup.tree, at)?.is_none()
                {
                    highest = at;
                    break;
                }
            }
            found.insert(highest);
        }
        Ok(found.into_iter().map(RepoPath::new).collect())
    }

    /// Whether something is in the directory of a submodule or nested repository that the present had not, or had with nothing in it, be
    /// it as old as it will: it is in no experiment.
    fn holds_what_stays(&self, root: &Path, dir: &[u8]) -> Result<bool> {
        let root = Root::open(root)?;
        let is_dir = root.dir_stamp(dir).is_some();
        Ok(is_dir
            && self.unsaved.only_dirs_in(&root, dir).is_none()
            && self.had(dir)?.is_none_or(Node::is_gitlink))
    }

    /// Says what of it is not there any more.
    pub fn gone(&self, root: &Path) -> Option<String> {
        let written = &self.unsaved.left_alone.written;
        // What a swap put into a file's place was saved before.
        let is_saved = |path: &[u8]| {
            let saved = || {
                tree::find(&self.store.objects, self.backup.tree, path)
                    .ok()
                    .flatten()
            };
            written.contains(path) && saved().is_some_and(|node| !node.is_dir())
        };
        // Also where a file or a link took the place of a directory over it.
        let root = Root::open(root).ok()?;
        // What a return has put under another name is told of as that.
        let is_told = |path: &[u8]| {
            is_saved(path)
                || self.unsaved.is_moved_from(path)
                || self.unsaved.is_under_old_name(&root, path)
        };
        let is_gone = |path: &&[u8]| matches!(root.stamp(path), Ok(None)) && !is_told(path);
        let gone = self.unsaved.roots().filter(is_gone);
        let gone: Vec<&[u8]> = gone.collect();
        (!gone.is_empty()).then(|| {
            format!(
                "of what snapshots leave out, this was removed in the past, and no backup has it: {}",
                path::listed(gone.iter(), 1)
            )
        })
    }

    fn look<'l>(&'l self, root: &'l Path) -> ChangeScan<'l> {
        ChangeScan {
            root,
            since: self.since,
            written: &self.unsaved.left_alone.written,
            renamed: &self.unsaved.renamed,
            left: MOST_OF_ALL,
        }
    }

    /// Whether neither the present's backup nor the past has a path, or files beneath it.
    fn is_left_out(&self, dir: &[u8]) -> Result<bool> {
        let is_made = self.made.contains(dir) || path::any_within(self.made, dir);
        Ok(!is_made && self.had(dir)?.is_none())
    }

    /// What the present had on disk at a path, of what its backup has.
    fn had(&self, path: &[u8]) -> Result<Option<Node>> {
        let found = tree::find(&self.store.objects, self.backup.tree, path)?;
        Ok(found.filter(|_| !self.absent.iter().any(|absent| absent == path)))
    }
}

fn to_path(root: &Path, path: &[u8]) -> PathBuf {
    root.join(OsStr::from_bytes(path))
}

fn is_repository(dir: &Path) -> bool {
    dir.join(".git").symlink_metadata().is_ok()
}

/// Looks for what changed since a stay began, up to a number of entries.
struct ChangeScan<'a> {
    root: &'a Path,
    since: i64,
    /// What swaps of the stay wrote, with the directories over it: that these are newer says nothing.
    written: &'a BTreeSet<Vec<u8>>,
    /// What had another name in the past. A rename is a change of what is renamed.
    renamed: &'a [Renamed],
    /// How many entries may still be looked at.
    left: usize,
}

impl ChangeScan<'_> {
    /// Whether a path, or something in it, is newer than the stay and was not written by it. What nobody may look at is not, nor what is
    /// in the `.git` of a repository: looks of git write into it.
    fn is_newer(&mut self, path: &[u8]) -> bool {
        let top = to_path(self.root, path);
        let Ok(meta) = top.symlink_metadata() else {
            return false;
        };
        self.has_changed(path, &meta) || meta.is_dir() && self.has_newer_within(path)
    }

    fn has_changed(&self, path: &[u8], meta: &Metadata) -> bool {
        if self.renamed.iter().any(|one| one.present == path) {
            return nanoseconds(meta.mtime(), meta.mtime_nsec()) >= self.since;
        }
        !self.written.contains(path) && is_changed_since(meta, self.since)
    }

    fn has_newer_within(&mut self, dir: &[u8]) -> bool {
        let mut pending = vec![dir.to_owned()];
        let mut left = MOST.min(self.left);
        while let Some(at) = pending.pop() {
            let entries = std::fs::read_dir(to_path(self.root, &at));
            for entry in entries.into_iter().flatten().flatten() {
                if left == 0 {
                    return false;
                }
                if entry.file_name() == ".git" {
                    continue;
                }
                left -= 1;
                self.left -= 1;
                let full = path::join(&at, entry.file_name().as_bytes());
                let Ok(meta) = entry.metadata() else {
                    continue;
                };
                if self.has_changed(&full, &meta) {
                    return true;
                }
                if meta.is_dir() {
                    pending.push(full);
                }
            }
        }
        false
    }
}

/// Package managers set the modification time back to that of an archive; nobody sets the change time.
fn is_changed_since(meta: &Metadata, since: i64) -> bool {
    // A file system that counts whole seconds says when the second began.
    let unknown = if meta.ctime_nsec() == 0 {
        999_999_999
    } else {
        0
    };
    nanoseconds(meta.ctime(), meta.ctime_nsec() + unknown) >= since
}
