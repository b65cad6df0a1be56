//! What an experiment has to have although ignore rules would hide it.

use std::collections::BTreeSet;

use super::ReturnOperation;
use crate::error::Result;
use crate::git::fs::{Root, Stamp};
use crate::git::path;
use crate::git::tree::{self, Change, ReadTree};
use crate::ops::capture::Capture;
use crate::ops::swap::goal::Hidden;
use crate::ops::swap::read_tree;
use crate::ops::swap::repositories::NestedRepositories;
use crate::ops::unsaved::Unsaved;
use crate::worktree::manifest::{DirRec, Kind};

impl ReturnOperation<'_> {
    /// What the present's rules or the past's would hide from the experiment.
    pub(super) fn hidden(&self, seen: &Capture<'_>) -> Result<Hidden> {
        let read = |oid| read_tree(self.store, seen, oid);
        let changes = tree::diff(&read, Some(seen.tree), Some(self.backup.tree))?;
        let root = Root::open(self.ctx.repo.worktree_root())?;
        // What is forced in already would be hidden without that.
        let mut forced: BTreeSet<Vec<u8>> = seen.forced.clone();
        let mut consider = |path: &[u8]| {
            let file = seen.manifest.file(path);
            let hidden = file.is_none_or(|file| !file.kind.in_tree());
            let is_plain = |stamp: Stamp| stamp.is_file() || stamp.is_symlink();
            if hidden && matches!(root.stamp(path), Ok(Some(stamp)) if is_plain(stamp)) {
                forced.insert(path.to_vec());
            }
        };
        // Travel made these: ignored or not, what became of them is part of the experiment.
        for path in &self.made {
            consider(path);
        }
        if let Some(start) = &self.start {
            for change in tree::diff(&read, Some(start.tree), Some(seen.tree))? {
                // Gone from the tree, maybe only because it is ignored now.
                if change.new.is_none() {
                    consider(&change.path);
                }
            }
        }
        // The present had deleted these: no rule hides what git tracks there, but what is in another repository.
        let repositories = NestedRepositories::of(self.store, &self.backup, &self.lists)?;
        let of_git = |oid| self.store.objects.read_safe_tree(oid);
        for tracked in self.store.tracked_trees(&self.backup)? {
            let (then, saved) = (
                (&of_git as &dyn ReadTree, Some(tracked)),
                Some(self.backup.tree),
            );
            for change in tree::diff_sides(then, (&read, saved))? {
                if change.new.is_none() && !repositories.own(&change.path)? {
                    consider(&change.path);
                }
            }
        }
        // And the directories that travel made and in which nothing else is that the experiment has. Those beneath come first.
        for dir in self.made.iter().rev() {
            let manifest = &seen.manifest;
            let file = manifest.file(dir);
            let is_seen = file.is_some_and(|file| !file.kind.is_by_rule())
                || manifest.dir_on_disk(dir).is_some_and(DirRec::is_recorded);
            if !is_seen && !path::any_within(&forced, dir) && root.dir_stamp(dir).is_some() {
                forced.insert(path::join(dir, b""));
            }
        }
        // An ignore file that ignores itself is in no tree. Those of the present are left alone.
        let unsaved = Unsaved::of_stay(&self.store.dir)?;
        let is_made = |path: &[u8]| !unsaved.has(path);
        let ignores_itself = || {
            let files = seen.manifest.entries();
            let mut ignoring = files.filter(|(_, file)| file.kind == Kind::IgnoreFile);
            ignoring.any(|(dir, file)| is_made(&seen.manifest.path_of(dir, &file)))
        };
        Ok(Hidden {
            // On disk are the past's rules; the present's are the other side.
            other_rules: (has_rules(&changes) || ignores_itself()).then_some(self.backup.tree),
            forced,
        })
    }
}

/// Whether a rule of git's differs between two sides. Elsewhere a second judgement would find the same, at the cost of another look at
/// every path.
pub(super) fn has_rules(changes: &[Change]) -> bool {
    let mut paths = changes.iter().map(|change| &change.path);
    paths.any(|full| path::split(full).1 == b".gitignore")
}
