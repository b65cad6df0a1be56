//! The end of a stay: the present comes back, or is looked at (`--dry-run`).

use std::cell::RefCell;

use super::ReturnOperation;
use super::aside::{Aside, Pair, would_move};
use super::commits::CommitsOfStay;
use super::experiment::Leaving;
use super::left_out::LeftOut;
use crate::env::Moment;
use crate::error::Result;
use crate::git::fs::nanoseconds;
use crate::git::operation::{self, OperationState};
use crate::git::path::{self, RepoPath};
use crate::ops::capture::Storing;
use crate::ops::outcome::{Aftermath, Changes, DetachedBy, HeadReport, MovedAside, Returned};
use crate::ops::record::Made;
use crate::ops::request::Return;
use crate::ops::swap::filtered;
use crate::ops::swap::goal::{
    Aim, Experiment, GitGoal, GitSide, Goal, OperationShare, SnapshotAim,
};
use crate::ops::swap::head::{head_for, rebase_notice};
use crate::ops::swap::notices::swap_notices;
use crate::ops::swap::{Swapped, changes, prepare, swap};
use crate::ops::unsaved::Unsaved;
use crate::store::state::{Mode, State};
use crate::store::trigger::SwapKind;
use crate::text::typed;
use crate::worktree::manifest::Manifest;
use crate::worktree::plan::EmptyDirs;

/// What is found out before anything is touched.
struct Start {
    /// Paths of the past that stay.
    keep: Vec<Vec<u8>>,
    /// HEAD's bytes, as they will be.
    raw_head: String,
    head: HeadReport,
    /// What is to be known of the rebase that comes back.
    rebase: Option<String>,
    /// Those on the HEAD of the past, before it moves away from them.
    commits: CommitsOfStay,
    leaving: Leaving,
}

/// What of the past stays in the working tree.
struct Stays {
    paths: Vec<RepoPath>,
    /// What is said of what the present left out and is gone.
    gone: Option<String>,
}

impl ReturnOperation<'_> {
    /// What a return would do.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn dry_run(&self, request: &Return) -> Result<Returned> {
        let start = self.start_home(request)?;
        let aside = Aside::of_stay(self.ctx, self.store, &self.backup)?;
        let home = aside.to_take_home(request.move_aside)?;
        let mut stays = self.changed_left_out(aside.unsaved())?;
        let in_the_way = RefCell::new(Vec::new());
        let prepared = self.with_experiment(&start.leaving, |experiment| {
            let mut goal = self.goal(&start, experiment)?;
            aside.let_stay(&mut goal)?;
            goal = goal.renaming(home.iter().map(|(from, _)| from.clone()).collect());
            if request.move_aside {
                goal = goal.looking_past(&in_the_way);
            }
            prepare(self.ctx, self.store, &goal, &Storing::No)
        })?;
        let manifest = &prepared.capture.manifest;
        self.add_appeared(
            &mut stays.paths,
            aside.unsaved(),
            &start.leaving,
            (manifest, &prepared.plan.left),
        )?;
        let mut moved_aside: Vec<MovedAside> =
            aside.moved()?.into_iter().map(MovedAside::from).collect();
        moved_aside.extend(home.iter().cloned().map(MovedAside::from));
        let would = would_move(self.ctx, self.store, &self.backup, &in_the_way.take())?;
        moved_aside.extend(would);
        let mut changes = changes(&prepared.plan);
        // What goes elsewhere with all that is in it is neither removed nor written.
        let is_in =
            |path: &RepoPath, dir: &RepoPath| path::is_within(path.as_bytes(), dir.as_bytes());
        let goes = |path: &RepoPath| moved_aside.iter().any(|moved| is_in(path, &moved.from));
        changes.removed.retain(|path| !goes(path));
        let comes = |path: &RepoPath| {
            home.iter()
                .any(|(_, to)| path::is_within(path.as_bytes(), to))
        };
        changes.written.retain(|path| !comes(path));
        let filtered = filtered::notices(&prepared.plan);
        let away = self.kept_away(&start.keep, &prepared.capture)?;
        let mut returned = self.returned(start, stays, changes, moved_aside);
        returned.notices.extend(self.rewritten()?);
        returned.notices.extend(away);
        returned.notices.extend(filtered);
        Ok(returned)
    }

    /// Returns.
    ///
    /// # Errors
    /// `WOULD_OVERWRITE` (with the command that gets home), `VERIFY_FAILED`, `BUSY`, `PATH_NOT_FOUND`.
    pub fn run(&self, request: &Return) -> Result<Returned> {
        let start = self.start_home(request)?;
        let rewritten = self.rewritten()?;
        // Before the swap, whose plan has to know the new names.
        let mut aside = Aside::of_stay(self.ctx, self.store, &self.backup)?;
        aside.finish_earlier()?;
        aside.take_names_home(request.move_aside)?;
        let done = self.swap_home(request, &start, &mut aside);
        let (swapped, moved_aside, mut stays) = done.inspect_err(|_| aside.leave_names())?;
        let manifest = &swapped.saved.capture.manifest;
        self.add_appeared(
            &mut stays.paths,
            aside.unsaved(),
            &start.leaving,
            (manifest, &swapped.plan.left),
        )?;
        let left = swapped.applied.stayed.keys();
        stays
            .paths
            .extend(left.map(|path| RepoPath::new(path.as_slice())));
        let moved_aside = moved_aside.into_iter().map(MovedAside::from).collect();
        let filtered = filtered::notices(&swapped.plan);
        let away = self.kept_away(&start.keep, &swapped.saved.capture)?;
        let mut returned = self.returned(start, stays, swapped.changes(), moved_aside);
        returned.notices.extend(rewritten);
        returned.notices.extend(away);
        returned.dry_run = false;
        returned.verified = filtered.is_empty();
        returned.notices.extend(filtered);
        returned.experiment_id = swapped.is_saved.then(|| swapped.saved.id.to_string());
        returned.aftermath.changed_since = repo_paths(swapped.changed_since);
        returned
            .notices
            .splice(0..0, swap_notices(&swapped.applied));
        Ok(returned)
    }

    /// The swap, once what has to have another name has it: with what has another name after it, and what of the past stays.
    fn swap_home(
        &self,
        request: &Return,
        start: &Start,
        aside: &mut Aside<'_>,
    ) -> Result<(Swapped<'_>, Vec<Pair>, Stays)> {
        self.with_experiment(&start.leaving, |experiment| {
            let mut goal = self.goal(start, experiment)?;
            // What an earlier return renamed, first.
            aside.let_stay(&mut goal)?;
            if request.move_aside {
                aside.make_way(&mut goal)?;
            }
            let moved_aside = aside.moved()?;
            let stays = self.changed_left_out(aside.unsaved())?;
            // Of what the present had: all else that is left out was made in the past, and is so again.
            let stayed = stays.paths.iter().map(RepoPath::as_bytes);
            let stayed = stayed.filter(|path| aside.unsaved().is_one(path));
            let goal = goal.staying(stayed.map(<[u8]>::to_vec).collect());
            let swapped = swap(self.ctx, self.store, &goal, &present_after)?;
            Ok((swapped, moved_aside, stays))
        })
    }

    fn start_home(&self, request: &Return) -> Result<Start> {
        let keep = self.kept(request)?;
        let (raw_head, head) = head_for(self.ctx, self.store, &self.backup)?;
        Ok(Start {
            keep,
            raw_head,
            head,
            rebase: rebase_notice(self.ctx, self.store, &self.operation()?.0)?,
            commits: self.commits(),
            leaving: Leaving::home(request.discard),
        })
    }

    /// The operation of the present, and the kinds of one that nobody could go on with: of a backup that another program rewrote the files
    /// name commits that are gone.
    fn operation(&self) -> Result<(OperationState, Vec<&'static str>)> {
        let whole = self.store.operation(&self.backup)?;
        if self.state.backup_rewritten && whole.lacks_commits(&self.store.objects) {
            return Ok((OperationState::default(), operation::kinds(&whole)));
        }
        Ok((whole, Vec::new()))
    }

    /// What is said of a backup that another program rewrote.
    fn rewritten(&self) -> Result<Vec<String>> {
        if !self.state.backup_rewritten {
            return Ok(Vec::new());
        }
        let id = &self.backup.id;
        let mut told = vec![format!(
            "another program rewrote '{id}' since the past was entered: this is the present as it is saved there now"
        )];
        let (_, left) = self.operation()?;
        told.extend((!left.is_empty()).then(|| {
            format!(
                "the {} under way in it was not put back: commits that it names are gone",
                left.join(", ")
            )
        }));
        Ok(told)
    }

    fn goal<'g>(&'g self, start: &Start, experiment: Experiment<'g>) -> Result<Goal<'g>> {
        let aim = SnapshotAim {
            empty_dirs: EmptyDirs::Go,
            made_before: self.made.clone(),
            keep: start.keep.clone(),
            ..SnapshotAim::new(self.store, &self.backup)?
        };
        let git = GitSide {
            stored: &self.backup,
            lists: &self.lists,
            raw_head: start.raw_head.clone(),
            operation: self.operation()?.0,
            takes: OperationShare::Whole,
        };
        Ok(
            Goal::new(SwapKind::Return, self.title(), Aim::Snapshot(aim))
                .git(GitGoal::Snapshot(git))
                .leaving(experiment)
                .reversing(self.reversal.clone())
                .hints(&[
                    "tw return --move-aside",
                    "or move these paths away yourself and run 'tw return' again",
                ]),
        )
    }

    /// The answer of one that was only looked at.
    fn returned(
        &self,
        start: Start,
        stays: Stays,
        changes: Changes,
        moved_aside: Vec<MovedAside>,
    ) -> Returned {
        let mut notices = stay_notices(&start.head, &start.commits, stays.gone);
        notices.extend(start.rebase);
        notices.extend(self.untold.iter().cloned());
        Returned {
            mode: Mode::Present,
            backup_id: self.backup.id.to_string(),
            experiment_id: None,
            dry_run: true,
            verified: false,
            changes,
            notices,
            aftermath: Aftermath {
                changed_since: Vec::new(),
                head: start.head,
                commits_branch: start.commits.branch.clone(),
                commits_made: start.commits.listed(),
                stayed: in_order(stays.paths),
                moved_aside,
                discarded: repo_paths(start.leaving.discarded.take()),
                kept: repo_paths(start.keep),
            },
            members: Vec::new(),
        }
    }

    /// What is left out of snapshots and changed since the past was entered, and what is to be said of what is gone.
    fn changed_left_out(&self, unsaved: &Unsaved) -> Result<Stays> {
        let Some(left_out) = self.left_out(unsaved) else {
            return Ok(Stays {
                paths: Vec::new(),
                gone: None,
            });
        };
        let root = self.ctx.repo.worktree_root();
        let mut paths = left_out.changed(root)?;
        paths.extend(self.with_another_head());
        Ok(Stays {
            paths,
            gone: left_out.gone(root),
        })
    }

    /// The nested repositories and submodules of the present whose HEAD is at another commit by now.
    fn with_another_head(&self) -> Vec<RepoPath> {
        let listed = self.lists.uncaptured.iter();
        let moved = listed.filter(|(path, then)| {
            let now = self.ctx.repo.nested_head(path);
            let (Some(then), Some(now)) = (&then.head, now) else {
                return false;
            };
            *then != now.to_string()
        });
        moved
            .map(|(path, _)| RepoPath::new(path.as_slice()))
            .collect()
    }

    /// Adds, of what a look at the past left out, or the present's rules leave in place (`left`), what was not there when it was entered.
    /// What that look did not leave out is in the experiment, and goes.
    fn add_appeared(
        &self,
        stayed: &mut Vec<RepoPath>,
        unsaved: &Unsaved,
        leaving: &Leaving,
        (seen, left): (&Manifest, &[Vec<u8>]),
    ) -> Result<()> {
        let Some(left_out) = self.left_out(unsaved) else {
            return Ok(());
        };
        let missed = leaving.left_out.take();
        stayed.retain(|path| {
            let path = path.as_bytes();
            unsaved.is_one(path) || missed.contains(path) || path::any_within(&missed, path)
        });
        let root = self.ctx.repo.worktree_root();
        stayed.extend(left_out.appeared(root, (&missed, seen))?);
        stayed.extend(left_out.came(left)?);
        Ok(())
    }

    /// None where nobody knows when the past was entered.
    fn left_out<'u>(&'u self, unsaved: &'u Unsaved) -> Option<LeftOut<'u>> {
        let entered = self.state.entered_at.as_deref();
        let entered = entered.and_then(Moment::parse_rfc3339);
        let entered = entered.map(|moment| nanoseconds(moment.seconds(), 0));
        Some(LeftOut {
            store: self.store,
            backup: &self.backup,
            absent: &self.lists.absent,
            unsaved,
            made: &self.made,
            since: unsaved.looked_at.or(entered)?,
        })
    }
}

/// Each path once.
fn in_order(mut paths: Vec<RepoPath>) -> Vec<RepoPath> {
    paths.sort();
    paths.dedup();
    paths
}

/// The present is back.
fn present_after(before: &State, _: &Made<'_>) -> State {
    before.clone().after_stay()
}

impl From<(Vec<u8>, Vec<u8>)> for MovedAside {
    fn from((from, to): (Vec<u8>, Vec<u8>)) -> Self {
        Self {
            from: RepoPath::new(from),
            to: RepoPath::new(to),
        }
    }
}

fn repo_paths(paths: Vec<Vec<u8>>) -> Vec<RepoPath> {
    paths.into_iter().map(RepoPath::new).collect()
}

/// What is said of a stay that ends.
fn stay_notices(head: &HeadReport, commits: &CommitsOfStay, gone: Option<String>) -> Vec<String> {
    let mut notices: Vec<String> = head
        .reason
        .map(|reason| head_notice(reason, head))
        .into_iter()
        .collect();
    notices.extend(commits.notices());
    notices.extend(gone);
    notices
}

fn head_notice(reason: DetachedBy, head: &HeadReport) -> String {
    let branch = head.reference.as_deref().unwrap_or("the branch");
    let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    let oid = head.oid.map(|oid| oid.to_string()).unwrap_or_default();
    let there = typed(short);
    match reason {
        DetachedBy::BranchMoved => format!(
            "'{short}' has moved since you left it, so HEAD stays detached at {oid}; to see what is new there: git log HEAD..{there}"
        ),
        DetachedBy::BranchGone => format!(
            "'{short}' is gone, so HEAD stays detached at {oid}; to make it again: git switch -c {there}"
        ),
        DetachedBy::BranchBroken => format!(
            "'{short}' is broken, as after a crash, so HEAD stays detached at {oid}; to make it again, remove '{branch}' in the git directory, then: git switch -c {there}"
        ),
        DetachedBy::TagGone => format!(
            "the tag that HEAD was detached at is gone, so HEAD is detached at its commit, {oid}"
        ),
        DetachedBy::CheckedOutElsewhere => format!(
            "'{short}' is checked out in another worktree now, so HEAD stays detached at {oid}; to go on here: git switch -c NAME"
        ),
    }
}
