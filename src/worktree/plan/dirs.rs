//! What a plan does to directories: those that files need, those that nothing is left in, and those whose bits differ.

use std::collections::{BTreeMap, BTreeSet};

use super::{DirChange, EmptyDirs, Plan, PlanEntry, Planning, parents};
use crate::error::Result;
use crate::git::path;
use crate::git::tree::{self, Node};
use crate::worktree::manifest::Kind;

/// Directories over the entries whose bits keep their owner from writing, with these bits. The swap opens them for a while, so
/// they stand in the plan: a rollback has to know their bits.
pub fn closed_parents(
    entries: &[PlanEntry],
    on_disk: &dyn Fn(&[u8]) -> Option<u32>,
) -> Vec<(Vec<u8>, u32)> {
    let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
    let mut closed = Vec::new();
    for entry in entries {
        let mut at = path::split(&entry.path).0;
        while !at.is_empty() && seen.insert(at) {
            if let Some(bits) = on_disk(at).filter(|bits| bits & 0o300 != 0o300) {
                closed.push((at.to_vec(), bits));
            }
            at = path::split(at).0;
        }
    }
    closed
}

/// What changes of directories, by path.
#[derive(Default)]
struct DirChanges(BTreeMap<Vec<u8>, DirChange>);

impl DirChanges {
    /// Adds a change, unless one of this path is there.
    fn add(&mut self, path: &[u8], before: Option<u32>, after: Option<u32>) {
        if !self.0.contains_key(path) {
            self.set(path, before, after);
        }
    }

    /// Puts a change in the place of any of this path.
    fn set(&mut self, path: &[u8], before: Option<u32>, after: Option<u32>) {
        let path = path.to_vec();
        let change = DirChange {
            path: path.clone(),
            before,
            after,
        };
        self.0.insert(path, change);
    }
}

impl Planning<'_> {
    pub(super) fn dir_on_disk(&self, full: &[u8]) -> Option<u32> {
        let dir = self.manifest.dir_on_disk(full)?;
        Some(dir.stamp.permissions())
    }

    /// Every directory that is made, removed or gets other permission bits.
    pub(super) fn dirs(&self, plan: &Plan) -> Result<Vec<DirChange>> {
        let mut changes = DirChanges::default();
        let mut make = |full: &[u8]| {
            let mut at = full;
            while !at.is_empty() {
                if self.dir_on_disk(at).is_none() {
                    changes.add(at, None, Some(self.after.permissions(at, tree::DIR_MODE)));
                }
                at = path::split(at).0;
            }
        };
        for entry in plan.entries.iter().filter(|entry| entry.after.is_some()) {
            make(path::split(&entry.path).0);
        }
        for full in self.after.empty_dirs.iter().chain(&plan.keep_dirs) {
            if self.wanted(full) {
                make(full);
            }
        }
        for (full, before) in closed_parents(&plan.entries, &|full| self.dir_on_disk(full)) {
            let is_dir_after = self.is_recorded_after(&full)?;
            changes.add(&full, Some(before), is_dir_after.then_some(before));
        }
        self.emptied_dirs(plan, &mut changes)?;
        self.dirs_in_the_way(plan, &mut changes);
        self.other_dir_modes(&mut changes)?;
        if self.only.is_none() && self.empty_dirs == EmptyDirs::Go {
            self.dirs_to_remove(plan, &mut changes)?;
            self.gitlinks_to_remove(&mut changes)?;
        }
        Ok(changes.0.into_values().collect())
    }

    /// Directories that removals may empty and the later side lacks: they go, and going back needs their permission bits.
    fn emptied_dirs(&self, plan: &Plan, changes: &mut DirChanges) -> Result<()> {
        let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
        for entry in plan.entries.iter().filter(|entry| entry.after.is_none()) {
            let mut at = path::split(&entry.path).0;
            while !at.is_empty()
                && seen.insert(at)
                && !(self.stays)(at)?
                && !self.is_dir_after(at)?
            {
                if let Some(before) = self.dir_on_disk(at) {
                    changes.add(at, Some(before), None);
                }
                at = path::split(at).0;
            }
        }
        Ok(())
    }

    fn is_dir_after(&self, full: &[u8]) -> Result<bool> {
        Ok(self.after.leads_to_empty_dir(full)
            || self.is_filled_after(full)?
            || self.is_gitlink_after(full)?)
    }

    /// Whether the later side has a directory here of which it recorded the permission bits: none that only stands for sparse entries that
    /// are not on disk.
    fn is_recorded_after(&self, full: &[u8]) -> Result<bool> {
        Ok(self.after.leads_to_empty_dir(full)
            || self.is_filled_after(full)?
            || self.after.modes.contains_key(full) && self.may_be_dir_after(full)?)
    }

    /// Whether the later tree has a directory here, or a submodule: it may be on disk.
    fn may_be_dir_after(&self, full: &[u8]) -> Result<bool> {
        let node = (self.after_node)(full)?;
        Ok(node.is_some_and(|node| node.is_dir() || node.is_gitlink()))
    }

    fn is_gitlink_after(&self, full: &[u8]) -> Result<bool> {
        let is_one = (self.after_node)(full)?.is_some_and(Node::is_gitlink);
        Ok(is_one && !self.after.absent.contains(full))
    }

    /// Whether the later tree has a directory here with more in it than sparse entries that are not on disk.
    fn is_filled_after(&self, full: &[u8]) -> Result<bool> {
        let Some(node) = (self.after_node)(full)?.filter(|node| node.is_dir()) else {
            return Ok(false);
        };
        let inside = path::join(full, b"");
        let absent = &self.after.absent;
        // `absent` is sorted by bytes: what lies beneath stands in one row from `full/` on.
        let mut beneath = absent.range(inside.clone()..);
        if !beneath.next().is_some_and(|path| path.starts_with(&inside)) {
            return Ok(true);
        }
        let leaves = (self.leaves)(node.oid)?;
        let is_absent = |leaf: &Vec<u8>| absent.contains(&path::join(full, leaf));
        Ok(!leaves.iter().all(is_absent))
    }

    /// Directories on both sides that are meant and whose permission bits differ.
    fn other_dir_modes(&self, changes: &mut DirChanges) -> Result<()> {
        let keys = self.before.modes.keys().chain(self.after.modes.keys());
        let mut candidates: BTreeSet<Vec<u8>> = keys.cloned().collect();
        if self.before.defaults[2] != self.after.defaults[2] {
            let dirs = self.manifest.dirs.iter();
            candidates.extend(dirs.map(|dir| self.manifest.dir_path(dir).to_vec()));
        }
        candidates.extend(self.paths_with_other_access());
        // The root's bits are recorded nowhere: it is no path of the snapshot.
        candidates.remove(&b""[..]);
        candidates.retain(|full| self.only.is_none_or(|is_meant| is_meant(full)));
        for full in candidates {
            let on_disk = self.dir_on_disk(&full);
            let Some(before) = on_disk.or_else(|| self.gitlink_on_disk(&full)) else {
                continue;
            };
            let is_dir_after = self.is_recorded_after(&full)?;
            let after = self.after.permissions(&full, tree::DIR_MODE);
            if is_dir_after && (before != after || self.gets_other_access(&full)) {
                changes.set(&full, Some(before), Some(after));
            }
        }
        Ok(())
    }

    /// Empty directories where the later side has a file: nothing in them is removed that would take them along.
    fn dirs_in_the_way(&self, plan: &Plan, changes: &mut DirChanges) {
        let written = plan.entries.iter().filter(|entry| entry.after.is_some());
        let placed: BTreeSet<&[u8]> = written.map(|entry| entry.path.as_slice()).collect();
        for full in self.before.empty_dirs.iter().chain(self.gone_gitlinks()) {
            let chain = || std::iter::once(full.as_slice()).chain(parents(full));
            let Some(file) = chain().find(|at| placed.contains(at)) else {
                continue;
            };
            for at in chain().take_while(|at| at.len() >= file.len()) {
                let before = self.dir_on_disk(at).or_else(|| self.gitlink_on_disk(at));
                changes.set(at, before, None);
            }
        }
    }

    /// Submodules that the later side lacks, or has outside of its sparse checkout.
    fn gone_gitlinks(&self) -> impl Iterator<Item = &Vec<u8>> {
        let is = |node: Option<Node>| node.is_some_and(Node::is_gitlink);
        let gone = self.changes.iter();
        let gone = gone
            .filter(move |change| is(change.old) && !is(change.new))
            .map(|change| &change.path);
        let sparse = self.after.absent.difference(&self.before.absent);
        gone.chain(sparse.filter(|full| self.gitlink_on_disk(full).is_some()))
    }

    /// The permission bits of a submodule's directory.
    fn gitlink_on_disk(&self, full: &[u8]) -> Option<u32> {
        let file = self.manifest.file(full)?;
        (file.kind == Kind::Gitlink).then(|| file.stamp.permissions())
    }

    fn dirs_to_remove(&self, plan: &Plan, changes: &mut DirChanges) -> Result<()> {
        for full in &self.before.empty_dirs {
            let needed = self.after.leads_to_empty_dir(full)
                || plan
                    .entries
                    .iter()
                    .any(|entry| entry.after.is_some() && path::is_within(&entry.path, full));
            // With its parents, up to the first that the later side has.
            let mut at: &[u8] = full;
            while !needed && !at.is_empty() && !self.is_kept_dir(at)? {
                changes.add(at, self.dir_on_disk(at), None);
                at = path::split(at).0;
            }
        }
        Ok(())
    }

    /// Directories of submodules that the later side lacks: they go when there is nothing in them, and so do those that lead
    /// there alone.
    fn gitlinks_to_remove(&self, changes: &mut DirChanges) -> Result<()> {
        for full in self.gone_gitlinks() {
            let mut before = self.gitlink_on_disk(full);
            let mut at: &[u8] = full;
            while before.is_some() && !self.is_kept_dir(at)? {
                changes.add(at, before, None);
                at = path::split(at).0;
                before = self.dir_on_disk(at).filter(|_| !at.is_empty());
            }
        }
        Ok(())
    }

    fn is_kept_dir(&self, full: &[u8]) -> Result<bool> {
        Ok(self.after.leads_to_empty_dir(full)
            || self.is_filled_after(full)?
            || self.is_gitlink_after(full)?
            || (self.left_out)(full)?
            || (self.leaves_dir_out)(full)
            || (self.stays)(full)?)
    }
}
