//! Put what a run changed onto the present: a three-way merge of its snapshot, its experiment and what is there now.
//!
//! A swap like any other: backed up, journalled, one level of the undo log. Paths that conflict get markers in the file and,
//! where git tracks them, their stages in the index; all other entries of the index stay. Refuses whole when a file is in the
//! place of a directory. Writes to no record.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::{Applied, Apply, Conflict};
use crate::error::{Code, Error, Result};
use crate::git::index::Entry;
use crate::git::path::{self, RepoPath};
use crate::git::textmerge::Labels;
use crate::git::tree::{self, LINK_MODE, Node};
use crate::ops::Context;
use crate::ops::capture::{Capture, Storing};
use crate::ops::issues::{desk, find, load};
use crate::ops::merge::Merged;
use crate::ops::outcome::Changes;
use crate::ops::record::Made;
use crate::ops::request::DryRun;
use crate::ops::swap::extras::stored_extras;
use crate::ops::swap::goal::{Aim, GitGoal, Goal, PathChanges};
use crate::ops::swap::notices::swap_notices;
use crate::ops::swap::pathindex::PathEntries;
use crate::ops::swap::recover;
use crate::ops::swap::{changes, prepare, read_tree, swap};
use crate::ops::three_way::{Sides, ThreeWay};
use crate::store::Store;
use crate::store::id::{IssueId, SnapshotId};
use crate::store::issue::{Issue, Run};
use crate::store::state::{Mode, State};
use crate::store::stored::Stored;
use crate::worktree::manifest::Kind;
use crate::worktree::plan::{Extras, Side};

/// Applies a run's changes.
///
/// # Errors
/// `ALREADY_IN_PAST`; `USAGE` when there is no such run, or it has no experiment; `SNAPSHOT_NOT_FOUND` when its snapshot or
/// experiment is gone; `WOULD_OVERWRITE`; else as [`super::get()`] and restore. Nothing is changed then.
pub fn apply(ctx: &Context<'_>, request: &Apply) -> Result<Applied> {
    ctx.check_workspace(false)?;
    let store = ctx.store()?;
    let id = find(store, &request.issue)?;
    let mut notices = desk::take_in(ctx, store, id)?;
    let loaded = load(store, id)?;
    notices.extend(loaded.notices);
    let dry = request.dry_run == DryRun::Yes;
    let lock = if dry {
        recover::refuse_interrupted(store)?;
        None
    } else {
        let lock = ctx.lock(&store.dir, "apply")?;
        notices.extend(recover::recover_locked(ctx, store, &lock)?);
        Some(lock)
    };
    refuse_past(&store.dir.state()?)?;
    let run = choose(id, &loaded.issue, request.run)?;
    let applying = Applying::new(ctx, store, &loaded.issue, run)?;
    let mut applied = applying.run(id, run.run, dry)?;
    applied.notices.splice(0..0, notices);
    drop(lock);
    Ok(applied)
}

fn refuse_past(state: &State) -> Result<()> {
    match state.mode {
        Mode::Present => Ok(()),
        Mode::Past => Err(Error::new(
            Code::AlreadyInPast,
            "a run's changes are applied to the present, and this is the past",
        )
        .hint("run 'tw return' first")),
    }
}

/// The run that is meant, which has an experiment.
fn choose(id: IssueId, issue: &Issue, number: Option<u64>) -> Result<&Run> {
    let usage = |message: String| {
        Error::new(Code::Usage, message).hint(format!("'tw issue get {id}' shows the runs"))
    };
    let run = if let Some(number) = number {
        issue.runs.iter().find(|run| run.run == number)
    } else {
        let with_experiment = |run: &&Run| run.experiment_id.is_some();
        issue.runs.iter().rev().find(with_experiment)
    };
    let run = run.ok_or_else(|| match number {
        Some(number) => usage(format!("issue {id} has no run {number}")),
        None => usage(format!("no run of issue {id} left an experiment")),
    })?;
    match run.experiment_id {
        Some(_) => Ok(run),
        None => Err(usage(format!(
            "run {} of issue {id} left no experiment",
            run.run
        ))),
    }
}

/// One application: what both sides come from, and what the last look at the present made of it.
struct Applying<'a, 's> {
    ctx: &'a Context<'a>,
    store: &'s Store,
    snapshot: Stored,
    experiment: Stored,
    extras: Extras,
    merging: ThreeWay<'a, 's>,
    merged: RefCell<Merged>,
    entries: RefCell<PathEntries>,
}

impl<'a, 's> Applying<'a, 's> {
    fn new(ctx: &'a Context<'a>, store: &'s Store, issue: &Issue, run: &Run) -> Result<Self> {
        let text = run.experiment_id.as_deref().unwrap_or_default();
        let id = SnapshotId::parse(text).ok_or_else(|| {
            Error::new(
                Code::IssueInvalid,
                format!("'{text}' is not the id of an experiment"),
            )
        })?;
        let gone = |error: Error| match error.code() {
            Code::SnapshotNotFound => error.hint("'tw recover --dropped' may still have it"),
            _ => error,
        };
        let experiment = store.read_id(&id).map_err(gone)?;
        Ok(Self {
            ctx,
            store,
            snapshot: store.read_id(&issue.snapshot_id).map_err(gone)?,
            extras: stored_extras(store, &experiment)?,
            experiment,
            merging: ThreeWay::new(ctx, store)?,
            merged: RefCell::default(),
            entries: RefCell::default(),
        })
    }

    fn run(&self, id: IssueId, run: u64, dry: bool) -> Result<Applied> {
        let find = |capture: &Capture<'_>| self.find(capture);
        let goal = self.goal(id, &find);
        // Without a difference there is nothing to back up, and no level for the undo log.
        let prepared = prepare(self.ctx, self.store, &goal, &Storing::No)?;
        let nothing = prepared.plan.is_empty() && self.merged.borrow().conflicts.is_empty();
        if dry || nothing {
            let mut answer = self.answer(id, run, None, changes(&prepared.plan));
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
        let mut answer = self.answer(id, run, backup, swapped.changes());
        answer.notices.extend(swap_notices(&swapped.applied));
        Ok(answer)
    }

    fn goal<'g>(
        &'g self,
        id: IssueId,
        find: &'g dyn Fn(&Capture<'_>) -> Result<PathChanges>,
    ) -> Goal<'g> {
        let title = format!("before applying {} of {id}", self.experiment.id);
        let aim = Aim::Computed {
            forced: BTreeSet::new(),
            compute: find,
            saved: &self.extras,
            unwritten: self.merging.unwritten(),
        };
        Goal::new("apply", title, aim).git(GitGoal::Entries(&self.entries))
    }

    fn answer(
        &self,
        id: IssueId,
        run: u64,
        backup_id: Option<String>,
        changes: Changes,
    ) -> Applied {
        let merged = self.merged.borrow();
        let submodules = merged.submodules.iter().map(|path| {
            let path = path::display(path);
            format!("submodule '{path}' was moved in the experiment and stays as it is")
        });
        Applied {
            issue_id: id.to_string(),
            run,
            snapshot_id: self.snapshot.id.to_string(),
            experiment_id: self.experiment.id.to_string(),
            backup_id,
            dry_run: false,
            changes,
            merged: merged.merged.iter().cloned().map(RepoPath::new).collect(),
            conflicts: merged
                .conflicts
                .iter()
                .map(|conflict| Conflict {
                    path: RepoPath::new(conflict.path.clone()),
                    reason: conflict.reason,
                })
                .collect(),
            notices: submodules.collect(),
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
