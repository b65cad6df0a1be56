//! A stay in the past: how it begins (`enter`), how it goes on to another past (`hop`), and how it ends. What is there becomes an
//! experiment then, the backup is put back exactly, and that is proved before it counts.
//!
//! For the verbs that begin or end one: `travel`, `issue start`, `return`, and `undo` and `redo` of a swap that began one.

mod aside;
mod commits;
pub mod enter;
pub mod guard;
mod hidden;
mod hop;
mod left_out;
mod limit;
mod written;

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::Context;
use super::capture::{Capture, Storing};
use super::here::{before_git, stranded};
use super::outcome::{Aftermath, HeadReport, MovedAside, Returned};
use super::record::Made;
use super::request::Return;
use super::swap::goal::{
    Aim, Experiment, GitGoal, GitSide, Goal, OperationShare, PastStart, Reversal, SnapshotAim,
};
use super::swap::head::{head_for, past_head, past_operation};
use super::swap::notices::swap_notices;
use super::swap::{changes, made, prepare, swap};
use super::unsaved::{self, Unsaved};
use crate::env::Moment;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{Root, nanoseconds};
use crate::git::path::{self, RepoPath};
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::snapshot::Lists;
use crate::store::state::{Mode, State};
use crate::store::stored::Stored;
use crate::worktree::manifest::Manifest;
use crate::worktree::plan::EmptyDirs;
use aside::{Aside, would_move};
use commits::CommitsOfStay;
pub use commits::untold_commits;
pub use hop::Crossing;
use left_out::LeftOut;
use limit::Limit;

/// The refusal of a return in the present.
pub fn not_in_past(ctx: &Context<'_>) -> Error {
    let error = Error::new(Code::NotInPast, "not in the past");
    let stranded = before_git(ctx).and_then(|found| match found {
        Some((dir, known)) => stranded(ctx, &dir, &known),
        None => Ok(None),
    });
    // It is asked for what else could be meant: what cannot be read is nothing of that.
    match stranded {
        Ok(Some(stranded)) => error
            .hint(stranded.message)
            .hint(format!("'{}' brings it back", stranded.command)),
        _ => error.hint("run 'tw travel SNAPSHOT' to go there"),
    }
}

/// The end of a stay in the past, or its way on to another past, under a lock that is held.
pub struct ReturnOperation<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    state: State,
    backup: Stored,
    lists: Lists,
    /// The snapshot that the past started from.
    start: Option<Stored>,
    /// Paths that the swaps of this stay made: they go, whatever the present's rules say.
    made: BTreeSet<Vec<u8>>,
    /// What is said of those that made what nobody knows.
    untold: Vec<String>,
    reversal: Option<Reversal>,
    taken_over: bool,
}

impl<'a> ReturnOperation<'a> {
    /// Reads what the stay of this state began from.
    ///
    /// # Errors
    /// `NOT_IN_PAST`; `CORRUPT_RECORD` when the state names no backup, or it cannot be read.
    pub fn new(ctx: &'a Context<'a>, store: &'a Store, state: State) -> Result<Self> {
        if state.mode == Mode::Present {
            return Err(not_in_past(ctx));
        }
        let id = state.backup_id.as_deref().and_then(SnapshotId::parse);
        let id = id.ok_or_else(|| {
            Error::new(Code::CorruptRecord, "state.json names no backup")
                .hint("run 'tw list --kind backup' and 'tw restore' the one you came from")
        })?;
        let backup = store
            .read_noted(&id, state.backup_commit.as_deref())
            .context(|| "the backup of the present cannot be read")?;
        let lists = store.lists(&backup)?;
        let start = state
            .current_snapshot_id
            .as_deref()
            .and_then(SnapshotId::parse);
        // A start that was dropped since holds nobody back: less is known of what was made in the past.
        let start = start.and_then(|id| store.read_id(&id).ok());
        let made = made::made_here(store, &state)?;
        Ok(Self {
            ctx,
            store,
            state,
            backup,
            lists,
            start,
            made: made.paths,
            untold: made.untold,
            reversal: None,
            taken_over: false,
        })
    }

    /// For undo and redo.
    pub fn reversing(mut self, reversal: Reversal) -> Self {
        self.reversal = Some(reversal);
        self
    }

    /// The caller is not the one who travelled: the experiment says so.
    pub fn taking_over(mut self, taken_over: bool) -> Self {
        self.taken_over = taken_over;
        self
    }

    fn goal<'g>(
        &'g self,
        keep: Vec<Vec<u8>>,
        raw_head: String,
        experiment: Experiment<'g>,
    ) -> Result<Goal<'g>> {
        let aim = SnapshotAim {
            empty_dirs: EmptyDirs::Go,
            made_before: self.made.clone(),
            keep,
            ..SnapshotAim::new(self.store, &self.backup)?
        };
        let git = GitSide {
            stored: &self.backup,
            lists: &self.lists,
            raw_head,
            operation: self.store.operation(&self.backup)?,
            takes: OperationShare::Whole,
        };
        Ok(Goal::new("return", self.title(), Aim::Snapshot(aim))
            .git(GitGoal::Snapshot(git))
            .leaving(experiment)
            .reversing(self.reversal.clone())
            .hints(&[
                "tw return --move-aside",
                "or move these paths away yourself and run 'tw return' again",
            ]))
    }

    /// The fields of the experiment's record that other snapshots do not have.
    fn extra(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut extra = serde_json::Map::new();
        if let Some(start) = &self.start {
            extra.insert("started_from".into(), start.id.to_string().into());
        }
        if self.taken_over {
            extra.insert("taken_over".into(), true.into());
        }
        extra
    }

    /// What a return would do.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn dry_run(&self, request: &Return) -> Result<Returned> {
        let keep = self.keep(request)?;
        let (raw_head, head) = head_for(self.ctx, self.store, &self.backup)?;
        let hidden = |seen: &Capture<'_>| self.hidden(seen);
        let written = self.written_by_travel()?;
        let likely = |full: &[u8]| written.blob(full);
        let discarded = RefCell::new(Vec::new());
        let left_out_now = RefCell::new(BTreeSet::new());
        let limit = |manifest: &mut Manifest| {
            left_out_now.replace(self.left_out_now(manifest)?);
            self.limit(manifest, request.discard, &discarded)
        };
        let experiment = Experiment {
            extra: self.extra(),
            hidden: &hidden,
            likely_rules: written.rules,
            likely: &likely,
            before_hashing: Some(&limit),
            discarded: &discarded,
            start: None,
            ends_stay: true,
        };
        let aside = RefCell::new(Vec::new());
        let mut goal = self.goal(keep.clone(), raw_head, experiment)?;
        if request.move_aside {
            goal = goal.looking_past(&aside);
        }
        let prepared = prepare(self.ctx, self.store, &goal, &Storing::No)?;
        let commits = self.commits();
        let earlier = Aside::of_stay(self.ctx, self.store, &self.backup)?;
        let (mut stayed, gone) = self.changed_left_out(earlier.unsaved())?;
        let seen = (&left_out_now.take(), &prepared.capture.manifest);
        stayed.extend(self.appeared(earlier.unsaved(), seen, &prepared.plan.left)?);
        Ok(Returned {
            mode: Mode::Present,
            backup_id: self.backup.id.to_string(),
            experiment_id: None,
            dry_run: true,
            verified: false,
            changes: changes(&prepared.plan),
            notices: stay_notices(&head, &commits, gone),
            aftermath: Aftermath {
                changed_since: Vec::new(),
                head,
                commits_branch: commits.branch.clone(),
                commits_made: commits.listed(),
                stayed: in_order(stayed),
                moved_aside: {
                    let earlier = earlier.moved()?.into_iter().map(MovedAside::from);
                    let more = would_move(self.ctx, self.store, &self.backup, &aside.take())?;
                    earlier.chain(more).collect()
                },
                discarded: repo_paths(discarded.take()),
                kept: repo_paths(keep),
            },
            members: Vec::new(),
        })
    }

    fn keep(&self, request: &Return) -> Result<Vec<Vec<u8>>> {
        let mut keep = Vec::new();
        for word in &request.keep {
            let path = self.ctx.repo_path(word)?;
            if !path.is_empty() && !path::is_safe(&path) {
                let shown = path::display(word.as_encoded_bytes());
                let message = format!("'{shown}' is nothing that tw touches and cannot be kept");
                return Err(Error::new(Code::PathNotFound, message)
                    .hint("--keep names files of the past that stay in the working tree"));
            }
            let root = Root::open(self.ctx.repo.worktree_root())?;
            if path.is_empty() || root.stamp(&path)?.is_none() {
                let shown = path::display(word.as_encoded_bytes());
                return Err(Error::new(
                    Code::PathNotFound,
                    format!("'{shown}' does not exist and cannot be kept"),
                )
                .hint("--keep names files of the past that stay in the working tree"));
            }
            keep.push(path);
        }
        Ok(keep)
    }

    /// Returns.
    ///
    /// # Errors
    /// `WOULD_OVERWRITE` (with the command that gets home), `VERIFY_FAILED`, `BUSY`, `PATH_NOT_FOUND`.
    pub fn run(&self, request: &Return) -> Result<Returned> {
        let keep = self.keep(request)?;
        let (raw_head, head) = head_for(self.ctx, self.store, &self.backup)?;
        // Before HEAD moves away from them.
        let commits = self.commits();
        let hidden = |seen: &Capture<'_>| self.hidden(seen);
        let written = self.written_by_travel()?;
        let likely = |full: &[u8]| written.blob(full);
        let discarded = RefCell::new(Vec::new());
        let left_out_now = RefCell::new(BTreeSet::new());
        let limit = |manifest: &mut Manifest| {
            left_out_now.replace(self.left_out_now(manifest)?);
            self.limit(manifest, request.discard, &discarded)
        };
        let experiment = Experiment {
            extra: self.extra(),
            hidden: &hidden,
            likely_rules: written.rules,
            likely: &likely,
            before_hashing: Some(&limit),
            discarded: &discarded,
            start: self.past_start()?,
            ends_stay: true,
        };
        let mut goal = self.goal(keep.clone(), raw_head, experiment)?;
        // Before the swap, whose plan has to know the new names.
        let mut aside = Aside::of_stay(self.ctx, self.store, &self.backup)?;
        aside.finish_earlier()?;
        if request.move_aside {
            aside.make_way(&goal)?;
        }
        let moved_aside = aside.moved()?;
        // Under its new name it may be a file like any other: it stays all the same.
        goal.keep(moved_aside.iter().map(|(_, to)| to.clone()));
        let (mut stayed, gone) = self.changed_left_out(aside.unsaved())?;
        let swapped = swap(self.ctx, self.store, &goal, &present_after)?;
        let seen = (&left_out_now.take(), &swapped.saved.capture.manifest);
        stayed.extend(self.appeared(aside.unsaved(), seen, &swapped.plan.left)?);
        Ok(Returned {
            mode: Mode::Present,
            backup_id: self.backup.id.to_string(),
            experiment_id: swapped.is_saved.then(|| swapped.saved.id.to_string()),
            dry_run: false,
            verified: true,
            changes: swapped.changes(),
            notices: {
                let mut notices = swap_notices(&swapped.applied);
                notices.extend(stay_notices(&head, &commits, gone));
                notices.extend(self.untold.iter().cloned());
                notices
            },
            aftermath: Aftermath {
                changed_since: repo_paths(swapped.changed_since),
                head,
                commits_branch: commits.branch.clone(),
                commits_made: commits.listed(),
                stayed: in_order(stayed),
                moved_aside: moved_aside.into_iter().map(MovedAside::from).collect(),
                discarded: repo_paths(discarded.take()),
                kept: repo_paths(keep),
            },
            members: Vec::new(),
        })
    }

    /// What the past is while nobody changes it; None when the snapshot that was travelled to is gone.
    fn past_start(&self) -> Result<Option<PastStart<'_>>> {
        let Some(files) = &self.start else {
            return Ok(None);
        };
        let (git, raw_head, operation) = if self.state.files_only {
            (
                &self.backup,
                head_for(self.ctx, self.store, &self.backup)?.0,
                self.store.operation(&self.backup)?,
            )
        } else {
            (
                files,
                past_head(self.ctx, files)?,
                past_operation(self.store, files)?.0,
            )
        };
        Ok(Some(PastStart {
            files,
            git,
            backup: &self.backup,
            raw_head,
            operation,
        }))
    }

    /// Untracked files made in the past over the limit: refused, or with `--discard` left out and left in place.
    fn limit(
        &self,
        manifest: &mut Manifest,
        discard: bool,
        discarded: &RefCell<Vec<Vec<u8>>>,
    ) -> Result<()> {
        let limit = Limit {
            ctx: self.ctx,
            bytes: self.ctx.settings.experiment_limit,
            store: self.store,
            backup: &self.backup,
            start: self.start.as_ref(),
        };
        if let Some(left_out) = limit.apply(manifest, discard)? {
            discarded.replace(left_out);
        }
        Ok(())
    }

    /// What a look at the past leaves out.
    fn left_out_now(&self, seen: &Manifest) -> Result<BTreeSet<Vec<u8>>> {
        let root = Root::open(self.ctx.repo.worktree_root())?;
        unsaved::left_out(&root, seen)
    }

    /// What is left out of snapshots and changed since the past was entered, and what is to be said of what is gone.
    fn changed_left_out(&self, unsaved: &Unsaved) -> Result<(Vec<RepoPath>, Option<String>)> {
        let Some(left_out) = self.left_out(unsaved) else {
            return Ok((Vec::new(), None));
        };
        let root = self.ctx.repo.worktree_root();
        Ok((left_out.changed(root)?, left_out.gone(root)))
    }

    /// Of what a look at the past left out, or the present's rules leave in place (`left`), what was not there when it was entered.
    fn appeared(
        &self,
        unsaved: &Unsaved,
        seen: (&BTreeSet<Vec<u8>>, &Manifest),
        left: &[Vec<u8>],
    ) -> Result<Vec<RepoPath>> {
        let Some(left_out) = self.left_out(unsaved) else {
            return Ok(Vec::new());
        };
        let mut appeared = left_out.appeared(self.ctx.repo.worktree_root(), seen)?;
        appeared.extend(left_out.came(left)?);
        Ok(appeared)
    }

    /// None where nobody knows when the past was entered.
    fn left_out<'u>(&'u self, unsaved: &'u Unsaved) -> Option<LeftOut<'u>> {
        let entered = self.state.entered_at.as_deref();
        let entered = entered.and_then(Moment::parse_rfc3339);
        let entered = entered.map(|moment| nanoseconds(moment.seconds(), 0));
        Some(LeftOut {
            store: self.store,
            backup: &self.backup,
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
    State {
        mode: Mode::Present,
        current_snapshot_id: None,
        backup_id: None,
        backup_path: None,
        backup_commit: None,
        entered_at: None,
        guard_token: None,
        issue_id: None,
        files_only: false,
        ..before.clone()
    }
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
    let reason = head.reason.as_deref();
    let mut notices: Vec<String> = reason
        .map(|reason| head_notice(reason, head))
        .into_iter()
        .collect();
    notices.extend(commits.notices());
    notices.extend(gone);
    notices
}

fn head_notice(reason: &str, head: &HeadReport) -> String {
    let branch = head.reference.as_deref().unwrap_or("the branch");
    let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    let oid = head.oid.map(|oid| oid.to_string()).unwrap_or_default();
    match reason {
        "branch-moved" => format!(
            "'{short}' has moved since you left it, so HEAD stays detached at {oid}; to see what is new there: git log HEAD..{short}"
        ),
        "branch-gone" => format!(
            "'{short}' is gone, so HEAD stays detached at {oid}; to make it again: git switch -c {short}"
        ),
        "branch-broken" => format!(
            "'{short}' is broken, as after a crash, so HEAD stays detached at {oid}; to make it again, remove '{branch}' in the git directory, then: git switch -c {short}"
        ),
        "tag-gone" => format!(
            "the tag that HEAD was detached at is gone, so HEAD is detached at its commit, {oid}"
        ),
        _ => format!(
            "'{short}' is checked out in another worktree now, so HEAD stays detached at {oid}; to go on here: git switch -c NAME"
        ),
    }
}
