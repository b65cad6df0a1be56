//! The begin of a stay in the past: the present is saved, the working tree, index and HEAD become the snapshot's.

use super::{Crossing, ReturnOperation};
use crate::error::{Code, Error, Result};
use crate::git::operation::OperationState;
use crate::ops::Context;
use crate::ops::capture::{Storing, seeds};
use crate::ops::issues::run::{Closing, close_run};
use crate::ops::outcome::{Changes, MemberSwap, Travelled};
use crate::ops::record::Made;
use crate::ops::request::{DryRun, Travel};
use crate::ops::swap::filtered;
use crate::ops::swap::goal::{Aim, GitGoal, GitSide, Goal, OperationShare, SnapshotAim};
use crate::ops::swap::head::{past_head, past_operation};
use crate::ops::swap::notices::swap_notices;
use crate::ops::swap::{changes, prepare, recover, swap};
use crate::ops::workspaces::{self, Partner, WentAlong};
use crate::ops::{address, snapshots};
use crate::store::Store;
use crate::store::id::Tail;
use crate::store::names;
use crate::store::snapshot::Lists;
use crate::store::state::{Mode, State};
use crate::store::stored::Stored;
use crate::store::trigger::SwapKind;
use crate::worktree::plan::EmptyDirs;

/// Goes there.
///
/// # Errors
/// `ALREADY_IN_PAST`, `WOULD_OVERWRITE`, `BUSY`, `INTERRUPTED`, `SNAPSHOT_NOT_FOUND`, …; nothing is changed then.
pub fn enter(ctx: &Context<'_>, request: &Travel) -> Result<Travelled> {
    ctx.check_workspace(request.force)?;
    workspaces::refuse_member(ctx, &SwapKind::Travel)?;
    let partners = workspaces::partners(ctx)?;
    if !partners.is_empty() {
        return enter_together(ctx, request, partners);
    }
    let store = ctx.store()?;
    let begun = recover::begin(ctx, store, SwapKind::Travel.as_str(), request.dry_run)?;
    // It may have become one of a workspace while the lock was waited for.
    if !workspaces::partners(ctx)?.is_empty() {
        return begun.again(|| enter(ctx, request), |travelled| &mut travelled.notices);
    }
    let done =
        workspaces::refuse_member(ctx, &SwapKind::Travel).and_then(|()| go(ctx, store, request));
    begun.answer(done, |travelled| &mut travelled.notices)
}

/// Goes there with all members of the workspace, each to the snapshot that belongs to the head's.
fn enter_together(
    ctx: &Context<'_>,
    request: &Travel,
    partners: Vec<Partner>,
) -> Result<Travelled> {
    let store = ctx.store()?;
    let stored = address::resolve(ctx, store, &request.address)?;
    let targets = workspaces::targets(store, &stored, &partners)?;
    // What the address meant is what the members' snapshots belong to.
    let own = Travel {
        address: address::exactly(&stored),
        ..request.clone()
    };
    let member = |ctx: &Context<'_>, partner: &Partner| {
        let request = Travel {
            address: targets.get(&partner.path).cloned().unwrap_or_default(),
            issue_id: None,
            ..request.clone()
        };
        go(ctx, ctx.store()?, &request)
    };
    if request.dry_run == DryRun::Yes {
        recover::refuse_interrupted(store)?;
        let mut travelled = go(ctx, store, &own)?;
        travelled.members = workspaces::look(ctx, &partners, member)?;
        return Ok(travelled);
    }
    let known = partners.clone();
    let head = || {
        workspaces::unchanged(ctx, &known)?;
        go(ctx, store, &own)
    };
    let done = workspaces::together(ctx, SwapKind::Travel, partners, head, member)?;
    Ok(done.joined(|travelled| (&mut travelled.members, &mut travelled.notices)))
}

impl WentAlong for Travelled {
    fn in_member(&self, path: String) -> MemberSwap {
        MemberSwap {
            path,
            snapshot_id: Some(self.snapshot_id.clone()),
            backup_id: self.backup_id.clone(),
            experiment_id: self.experiment_id.clone(),
            written: self.changes.written.len(),
            removed: self.changes.removed.len(),
            returned: None,
        }
    }

    fn notices(&self) -> &[String] {
        &self.notices
    }
}

fn go(ctx: &Context<'_>, store: &Store, request: &Travel) -> Result<Travelled> {
    let state = store.dir.state()?;
    if state.mode == Mode::Past && !request.hop {
        return Err(in_past(&state));
    }
    let stored = address::resolve(ctx, store, &request.address)?;
    travel_to(ctx, store, &stored, request, state)
}

fn in_past(state: &State) -> Error {
    let at = state.current_snapshot_id.as_deref().unwrap_or("a snapshot");
    Error::new(Code::AlreadyInPast, format!("already in the past, at {at}"))
        .hint("run 'tw return' first")
        .hint("or go on from here: tw travel --hop SNAPSHOT")
}

fn travel_to(
    ctx: &Context<'_>,
    store: &Store,
    stored: &Stored,
    request: &Travel,
    state: State,
) -> Result<Travelled> {
    let lists = store.lists(stored)?;
    let (operation, mut notices) = past_operation(store, stored)?;
    let git = if request.files_only {
        // They are of operation files, which stay.
        notices.clear();
        GitGoal::Stay
    } else {
        git_of(ctx, stored, &lists, operation)?
    };
    let closing = Closing::of(&state);
    let stay = match state.mode {
        Mode::Past => Some(ReturnOperation::new(ctx, store, state)?),
        Mode::Present => None,
    };
    let mut aim = SnapshotAim::new(store, stored)?;
    let mut title = format!("before travelling to {}", stored.id);
    if let Some(stay) = &stay {
        aim.made_before.clone_from(stay.made());
        // Those of the past that is left; the present's stay.
        aim.empty_dirs = EmptyDirs::Go;
        aim.as_entered = true;
        title = stay.title();
    }
    let goal = Goal::new(SwapKind::Travel, title, Aim::Snapshot(aim))
        .git(git)
        .hints(&["move these paths away, or take the snapshot elsewhere with 'tw open'"]);
    notices.extend(filtered::text_notice(&lists));
    notices.extend(seeds::warning(store, stored, None)?);
    let travelled = Travelled {
        mode: Mode::Past,
        snapshot_id: stored.id.to_string(),
        snapshot: snapshots::view(store, stored)?,
        backup_id: stay.as_ref().map(ReturnOperation::backup_id),
        experiment_id: None,
        commits_made: Vec::new(),
        dry_run: request.dry_run == DryRun::Yes,
        changes: Changes::default(),
        guard_token: None,
        files_only: request.files_only,
        members: Vec::new(),
        notices,
    };
    if let Some(stay) = &stay {
        return hop(ctx, stay, goal, request, closing, travelled);
    }
    leave_present(ctx, stored, &goal, request, travelled)
}

/// The way from the present.
fn leave_present(
    ctx: &Context<'_>,
    stored: &Stored,
    goal: &Goal<'_>,
    request: &Travel,
    mut travelled: Travelled,
) -> Result<Travelled> {
    let store = ctx.store()?;
    if travelled.dry_run {
        travelled.changes = changes(&prepare(ctx, store, goal, &Storing::No)?.plan);
        return Ok(travelled);
    }
    // Long enough not to be hit by chance; it guards against mistakes, not against an enemy.
    let token = format!("{}{}", Tail::random()?.as_str(), Tail::random()?.as_str());
    // The way back stands in the state, which a recovery and every other command read.
    let state_after = |before: &State, saved: &Made<'_>| State {
        workspace_root: ctx.repo.worktree_root().display().to_string(),
        mode: Mode::Past,
        current_snapshot_id: Some(stored.id.to_string()),
        backup_id: Some(saved.id.to_string()),
        backup_path: Some(names::snapshot_ref(&saved.id)),
        backup_commit: Some(saved.commit.to_string()),
        entered_at: Some(ctx.env.now().rfc3339()),
        guard_token: Some(token.clone()),
        issue_id: request.issue_id.clone(),
        files_only: request.files_only,
        ..before.clone()
    };
    let swapped = swap(ctx, store, goal, &state_after)?;
    travelled.notices.extend(swap_notices(&swapped.applied));
    travelled.changes = swapped.changes();
    travelled.backup_id = Some(swapped.saved.id.to_string());
    travelled.guard_token = Some(token);
    Ok(travelled)
}

/// Goes on from the past that one is in. The way back, and who may go it, stay in the state.
fn hop(
    ctx: &Context<'_>,
    stay: &ReturnOperation<'_>,
    goal: Goal<'_>,
    request: &Travel,
    closing: Option<Closing>,
    mut travelled: Travelled,
) -> Result<Travelled> {
    let snapshot_id = travelled.snapshot_id.clone();
    let state_after = |before: &State, _: &Made<'_>| State {
        workspace_root: ctx.repo.worktree_root().display().to_string(),
        current_snapshot_id: Some(snapshot_id.clone()),
        issue_id: request.issue_id.clone(),
        files_only: request.files_only,
        ..before.clone()
    };
    // Before HEAD moves away from them.
    let commits = stay.commits_here();
    travelled.notices.extend(commits.notices());
    travelled.commits_made = commits.listed();
    let swapped = match stay.cross(goal, &state_after, request.dry_run)? {
        Crossing::Looked(changes) => {
            travelled.changes = changes;
            return Ok(travelled);
        }
        Crossing::Gone(swapped) => swapped,
    };
    travelled.notices.extend(swap_notices(&swapped.applied));
    travelled.changes = swapped.changes();
    travelled.experiment_id = swapped.is_saved.then(|| swapped.saved.id.to_string());
    travelled.guard_token.clone_from(&swapped.state.guard_token);
    if let Some(closing) = closing {
        let said = close_run(
            ctx,
            &closing,
            &stay.backup_id(),
            travelled.experiment_id.as_deref(),
        );
        travelled.notices.extend(said);
    }
    Ok(travelled)
}

fn git_of<'a>(
    ctx: &Context<'_>,
    stored: &'a Stored,
    lists: &'a Lists,
    operation: OperationState,
) -> Result<GitGoal<'a>> {
    Ok(GitGoal::Snapshot(GitSide {
        stored,
        lists,
        raw_head: past_head(ctx, stored)?,
        operation,
        takes: OperationShare::Revivable,
    }))
}
