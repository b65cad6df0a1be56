//! Go to a snapshot: the present is saved, the working tree, index and HEAD become the snapshot's.

use super::Context;
use super::outcome::Travelled;
use super::record::Made;
use super::request::{DryRun, Travel};
use super::swap::goal::{Aim, GitGoal, GitSide, Goal, SnapshotAim};
use super::swap::head::{past_head, past_operation};
use super::swap::notices::swap_notices;
use super::swap::{changes, prepare, recover, swap};
use super::{address, capture::Storing, snapshot};
use crate::error::{Code, Error, Result};
use crate::store::Store;
use crate::store::id::Tail;
use crate::store::names;
use crate::store::state::{Mode, State};
use crate::store::stored::Stored;

/// Travels.
///
/// # Errors
/// `ALREADY_IN_PAST`, `WOULD_OVERWRITE`, `BUSY`, `INTERRUPTED`, `SNAPSHOT_NOT_FOUND`, …; nothing is changed then.
pub fn travel(ctx: &Context<'_>, request: &Travel) -> Result<Travelled> {
    ctx.check_workspace(request.force)?;
    let store = ctx.store()?;
    let dry = request.dry_run == DryRun::Yes;
    if dry {
        recover::refuse_interrupted(store)?;
        refuse_past(&store.dir.state()?)?;
        let stored = address::resolve(ctx, store, &request.address)?;
        return travel_to(ctx, store, &stored, request);
    }
    let lock = ctx.lock(&store.dir, "travel")?;
    let recovered = recover::recover_locked(ctx, store, &lock)?;
    refuse_past(&store.dir.state()?)?;
    let stored = address::resolve(ctx, store, &request.address)?;
    let mut travelled = travel_to(ctx, store, &stored, request)?;
    travelled.notices.splice(0..0, recovered);
    drop(lock);
    Ok(travelled)
}

fn refuse_past(state: &State) -> Result<()> {
    if state.mode == Mode::Present {
        return Ok(());
    }
    let at = state.current_snapshot_id.as_deref().unwrap_or("a snapshot");
    Err(
        Error::new(Code::AlreadyInPast, format!("already in the past, at {at}"))
            .hint("run 'tw return' first"),
    )
}

fn travel_to(
    ctx: &Context<'_>,
    store: &Store,
    stored: &Stored,
    request: &Travel,
) -> Result<Travelled> {
    let lists = store.lists(stored)?;
    let (operation, mut notices) = past_operation(store, stored)?;
    let git = if request.files_only {
        GitGoal::Stay
    } else {
        GitGoal::Snapshot(GitSide {
            stored,
            lists: &lists,
            raw_head: past_head(ctx, stored)?,
            operation,
        })
    };
    let aim = Aim::Snapshot(SnapshotAim::new(store, stored)?);
    let goal = Goal::new("travel", format!("before travelling to {}", stored.id), aim)
        .git(git)
        .hints(&["move these paths away, or take the snapshot elsewhere with 'tw open'"]);
    if request.files_only {
        notices.clear();
    }
    notices.extend(lfs_notice(&lists));
    notices.extend(super::capture::seeds::warning(store, stored, &[])?);
    let view = snapshot::view(store, stored)?;
    if request.dry_run == DryRun::Yes {
        let prepared = prepare(ctx, store, &goal, &Storing::No)?;
        return Ok(Travelled {
            mode: Mode::Past,
            snapshot_id: stored.id.to_string(),
            snapshot: view,
            backup_id: None,
            dry_run: true,
            changes: changes(&prepared.plan),
            guard_token: None,
            files_only: request.files_only,
            notices,
        });
    }
    let token = format!("{}{}", Tail::random()?.as_str(), Tail::random()?.as_str());
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
    let swapped = swap(ctx, store, &goal, &state_after)?;
    notices.extend(swap_notices(&swapped.applied));
    Ok(Travelled {
        mode: Mode::Past,
        snapshot_id: stored.id.to_string(),
        snapshot: view,
        backup_id: Some(swapped.saved.id.to_string()),
        dry_run: false,
        changes: swapped.changes(),
        guard_token: Some(token),
        files_only: request.files_only,
        notices,
    })
}

fn lfs_notice(lists: &crate::store::snapshot::Lists) -> Option<String> {
    let clean = lists
        .uncaptured
        .iter()
        .filter(|(_, entry)| entry.reason == "filtered-clean")
        .count();
    (clean > 0).then(|| {
        format!(
            "{} over the size limit stand for what git's index says",
            count(clean, "filtered file")
        )
    })
}

fn count(number: usize, what: &str) -> String {
    if number == 1 {
        format!("1 {what}")
    } else {
        format!("{number} {what}s")
    }
}
