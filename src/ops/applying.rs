//! Put what was made elsewhere onto the present: a three-way merge of a snapshot, an experiment that began there, and what is there now.
//!
//! A swap like any other: backed up, journalled, one level of the undo log. Refuses whole when a file is in the place of a
//! directory. What becomes of conflicts is the caller's choice.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::error::{Code, Error, Result};
use crate::git::index::Entry;
use crate::git::path;
use crate::git::textmerge::Labels;
use crate::git::tree::{self, LINK_MODE, Node};
use crate::ops::Context;
use crate::ops::capture::{Capture, Storing};
use crate::ops::merge::Merged;
use crate::ops::outcome::Changes;
use crate::ops::record::Made;
use crate::ops::swap::extras::stored_extras;
use crate::ops::swap::goal::{Aim, GitGoal, Goal, PathChanges};
use crate::ops::swap::notices::swap_notices;
use crate::ops::swap::pathindex::PathEntries;
use crate::ops::swap::{changes, prepare, read_tree, swap};
use crate::ops::three_way::{Sides, ThreeWay};
use crate::store::Store;
use crate::store::state::State;
use crate::store::stored::Stored;
use crate::worktree::manifest::Kind;
use crate::worktree::plan::{Extras, Side};

/// What becomes of lines that both sides changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Markers in the file, stages in the index.
    Stages,
    /// Markers in the file; the index stays.
    Markers,
    /// Nothing is written: `CONFLICT`.
    Refuse,
}

/// What was done.
pub struct Put {
    /// What was there before; None when nothing was written.
    pub backup_id: Option<String>,
    /// Nothing was to be written.
    pub dry_run: bool,
    /// Paths touched.
    pub changes: Changes,
    /// What came of the merge.
    pub merged: Merged,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// One application: what both sides come from, and what the last look at the present made of it.
pub struct Applying<'a, 's> {
    ctx: &'a Context<'a>,
    store: &'s Store,
    snapshot: Stored,
    experiment: Stored,
    extras: Extras,
    on_conflict: OnConflict,
    merging: ThreeWay<'a, 's>,
    merged: RefCell<Merged>,
    entries: RefCell<PathEntries>,
}

impl<'a, 's> Applying<'a, 's> {
    /// Of what lies between a snapshot and an experiment.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn new(
        ctx: &'a Context<'a>,
        store: &'s Store,
        (snapshot, experiment): (Stored, Stored),
        on_conflict: OnConflict,
    ) -> Result<Self> {
        Ok(Self {
            ctx,
            store,
            snapshot,
            on_conflict,
            extras: stored_extras(store, &experiment)?,
            experiment,
            merging: ThreeWay::new(ctx, store)?,
            merged: RefCell::default(),
            entries: RefCell::default(),
        })
    }

    /// Does it, under the lock that the caller holds. `of` ends the title of the backup.
    ///
    /// # Errors
    /// `WOULD_OVERWRITE`; `CONFLICT` where that is asked for; as a restore. Nothing is changed then.
    pub fn run(&self, of: &str, dry: bool) -> Result<Put> {
        let find = |capture: &Capture<'_>| self.find(capture);
        let goal = self.goal(of, &find);
        // Without a difference there is nothing to back up, and no level for the undo log.
        let prepared = prepare(self.ctx, self.store, &goal, &Storing::No)?;
        let nothing = prepared.plan.is_empty() && self.merged.borrow().conflicts.is_empty();
        if dry || nothing {
            let mut answer = self.answer(None, changes(&prepared.plan));
            answer.dry_run = dry;
            if nothing {
                let said = "nothing to apply: the present has all that the run changed";
                answer.notices.push(said.to_owned());
            }
            return Ok(answer);
        }
        drop(prepared);
        self.merging.write();
        let state_after = |before: &State, _: &Made<'_>| State {
            workspace_root: self.ctx.repo.worktree_root().display().to_string(),
            ..before.clone()
        };
        let swapped = swap(self.ctx, self.store, &goal, &state_after);
        self.merging.release()?;
        let swapped = swapped?;
        let backup = Some(swapped.saved.id.to_string());
        let mut answer = self.answer(backup, swapped.changes());
        answer.notices.extend(swap_notices(&swapped.applied));
        Ok(answer)
    }

    fn goal<'g>(
        &'g self,
        of: &str,
        find: &'g dyn Fn(&Capture<'_>) -> Result<PathChanges>,
    ) -> Goal<'g> {
        let title = format!("before applying {} of {of}", self.experiment.id);
        let aim = Aim::Computed {
            forced: BTreeSet::new(),
            compute: find,
            saved: &self.extras,
            unwritten: self.merging.unwritten(),
        };
        Goal::new("apply", title, aim).git(GitGoal::Entries(&self.entries))
    }

    fn answer(&self, backup_id: Option<String>, changes: Changes) -> Put {
        let merged = self.merged.take();
        let submodules = merged.submodules.iter().map(|path| {
            let path = path::display(path);
            format!("submodule '{path}' was moved in the experiment and stays as it is")
        });
        let notices = submodules.collect();
        Put {
            backup_id,
            dry_run: false,
            changes,
            merged,
            notices,
        }
    }

    /// What the present becomes, as it is at this look.
    fn find(&self, capture: &Capture<'_>) -> Result<PathChanges> {
        let read = |oid| read_tree(self.store, capture, oid);
        let sides = Sides {
            base: self.snapshot.tree,
            ours: capture.tree,
            theirs: self.experiment.tree,
            labels: Labels {
                base: &self.snapshot.id.to_string(),
                ours: "present",
                theirs: &self.experiment.id.to_string(),
            },
        };
        let merged = self.merging.merge(&read, &sides)?;
        if !merged.blocked.is_empty() {
            return Err(blocked(&merged.blocked));
        }
        if self.on_conflict == OnConflict::Refuse && !merged.conflicts.is_empty() {
            return Err(conflicting(&merged));
        }
        self.entries.replace(self.index_entries(capture, &merged)?);
        let found = PathChanges {
            paths: self.sides(capture, &merged),
            dirs: self.emptied(&read, capture, &merged)?,
        };
        self.merged.replace(merged);
        Ok(found)
    }

    /// The paths with their permission bits: a file that is there keeps its own, as far as its mode stays.
    fn sides(&self, capture: &Capture<'_>, merged: &Merged) -> Vec<(Vec<u8>, Option<Side>)> {
        let side = |full: &[u8], node: Node| {
            let here = capture.manifest.file(full);
            let kept = here.filter(|file| file.kind == Kind::File && file.git_mode == node.mode);
            let perm = match kept {
                _ if node.mode == LINK_MODE => 0,
                Some(file) => file.stamp.permissions(),
                None => self.extras.permissions(full, node.mode),
            };
            Side { node, perm }
        };
        let paths = merged.paths.iter();
        paths
            .map(|(full, node)| (full.clone(), node.map(|node| side(full, node))))
            .collect()
    }

    /// Directories in which nothing captured is left, and which the experiment has not either.
    fn emptied(
        &self,
        read: tree::ReadTree<'_>,
        capture: &Capture<'_>,
        merged: &Merged,
    ) -> Result<Vec<(Vec<u8>, Option<u32>)>> {
        let mut dirs: Vec<(Vec<u8>, Option<u32>)> = Vec::new();
        let gone = merged.paths.iter().filter(|(_, node)| node.is_none());
        for (full, _) in gone {
            let mut dir = path::split(full).0;
            while !dir.is_empty() && !dirs.iter().any(|(known, _)| known == dir) {
                let filled = merged
                    .paths
                    .iter()
                    .any(|(full, node)| node.is_some() && path::is_within(full, dir));
                if filled || tree::find(read, self.experiment.tree, dir)?.is_some() {
                    break;
                }
                let here = tree::find(read, capture.tree, dir)?;
                if let Some(here) = here.filter(|here| here.is_dir()) {
                    let beneath = tree::flatten(read, here.oid)?;
                    let goes = |name: &[u8]| {
                        let full = [dir, b"/", name].concat();
                        matches!(merged.paths.get(&full), Some(None))
                    };
                    if !beneath.iter().all(|(name, _)| goes(name)) {
                        break;
                    }
                }
                dirs.push((dir.to_vec(), None));
                dir = path::split(dir).0;
            }
        }
        Ok(dirs)
    }

    /// The stages of the paths that conflict, where git tracks them on one side or the other.
    fn index_entries(&self, capture: &Capture<'_>, merged: &Merged) -> Result<PathEntries> {
        let mut entries = PathEntries::new();
        if self.on_conflict != OnConflict::Stages {
            return Ok(entries);
        }
        for conflict in &merged.conflicts {
            if !self.is_tracked(capture, &conflict.path)? {
                continue;
            }
            let stages = (1u8..).zip(conflict.stages);
            let stages = stages.filter_map(|(stage, node)| {
                let node = node?;
                let mut entry = Entry::new(node.mode, node.oid);
                entry.stage = stage;
                Some(entry)
            });
            entries.insert(conflict.path.clone(), stages.collect());
        }
        Ok(entries)
    }

    fn is_tracked(&self, capture: &Capture<'_>, full: &[u8]) -> Result<bool> {
        let index = capture.parsed_index.as_ref();
        if index.is_some_and(|index| index.has_path(full)) {
            return Ok(true);
        }
        let read = |oid| self.store.objects.read_tree(oid);
        for side in [&self.snapshot, &self.experiment] {
            let tree = self.store.index_side(side)?.tree;
            if tree::find(&read, tree, full)?.is_some_and(|node| !node.is_dir()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn blocked(paths: &[Vec<u8>]) -> Error {
    let names: Vec<String> = paths.iter().map(|path| path::display(path)).collect();
    let shown = names.iter().take(5).map(|name| format!("'{name}'"));
    let shown: Vec<String> = shown.collect();
    let message = format!(
        "the run has a directory where a file is now, or the other way round: {}",
        shown.join(", ")
    );
    Error::new(Code::WouldOverwrite, message)
        .hint("move these paths away, apply, and put them where they belong")
        .detail("paths", names)
}

fn conflicting(merged: &Merged) -> Error {
    let paths = merged.conflicts.iter();
    let names: Vec<String> = paths.map(|one| path::display(&one.path)).collect();
    let shown: Vec<String> = names
        .iter()
        .take(5)
        .map(|name| format!("'{name}'"))
        .collect();
    let message = format!(
        "the present and the run changed the same lines: {}",
        shown.join(", ")
    );
    let conflicts = merged.conflicts.iter().map(
        |one| serde_json::json!({"path": path::display(&one.path), "reason": one.reason.as_str()}),
    );
    Error::new(Code::Conflict, message)
        .hint("nothing was written; '--conflicts' writes both sides into the files, with markers")
        .detail("paths", names)
        .detail("conflicts", conflicts.collect::<Vec<_>>())
}
