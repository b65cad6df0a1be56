//! Go to a snapshot: the present is saved, the working tree, index and HEAD become the snapshot's.

use super::Context;
use super::outcome::Travelled;
use super::request::{DryRun, Travel};
use super::swap::newindex::IndexGoal;
use super::swap::recover;
use super::swap::{
    Aim, Goal, HeadGoal, Logging, OperationGoal, changes, look, stored_extras, swap,
};
use super::{address, capture::Storing, snapshot};
use crate::error::{Code, Error, Result};
use crate::git::operation::{self, OperationState};
use crate::git::refs::Refs;
use crate::store::Store;
use crate::store::id::{IdKind, Tail};
use crate::store::names;
use crate::store::state::{Mode, State};
use crate::store::stored::Stored;
use crate::worktree::apply::Applied;
use crate::worktree::plan::EmptyDirs;

/// Travels.
///
/// # Errors
/// `ALREADY_IN_PAST`, `WOULD_OVERWRITE`, `BUSY`, `INTERRUPTED`, `SNAPSHOT_NOT_FOUND`, …; nothing is changed then.
pub fn travel(ctx: &Context<'_>, request: &Travel) -> Result<Travelled> {
    ctx.check_workspace(request.force)?;
    let store = Store::open(&ctx.repo)?;
    let dry = request.dry_run == DryRun::Yes;
    if dry {
        recover::refuse_interrupted(&store)?;
        refuse_past(&store.dir.state()?)?;
        let stored = address::resolve(ctx, &store, &request.address)?;
        return travel_to(ctx, &store, &stored, request);
    }
    let lock = ctx.lock(&store.dir, "travel")?;
    let recovered = recover::recover_locked(ctx, &store, &lock)?;
    refuse_past(&store.dir.state()?)?;
    let stored = address::resolve(ctx, &store, &request.address)?;
    let mut travelled = travel_to(ctx, &store, &stored, request)?;
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

/// What HEAD becomes in the past: detached at the snapshot's commit, or an unborn branch of ours.
///
/// # Errors
/// When the refs, or another worktree's HEAD, cannot be read.
pub fn past_head(ctx: &Context<'_>, stored: &Stored) -> Result<String> {
    Ok(match stored.head {
        Some(oid) => format!("{oid}\n"),
        None => format!("ref: {}\n", unborn_branch(ctx, PAST)?),
    })
}

/// The branches that HEAD is put on where a snapshot has no commit, when no branch of the user's is in the way.
const PAST: &str = "past";

/// The branches that HEAD is put on where the present was unborn, and its branch has been made since.
pub const PRESENT: &str = "present";

/// Whether a branch is one of those that [`past_head`] puts HEAD on.
pub fn is_past_branch(name: &str) -> bool {
    ["timewarp/", "timewarp-"].iter().any(|before| {
        let name = name.strip_prefix("refs/heads/");
        let number = name.and_then(|name| name.strip_prefix(before)?.strip_prefix(PAST));
        number.is_some_and(|number| number.is_empty() || number.starts_with('-'))
    })
}

/// The first name of ours that is unborn and stays so until somebody commits here: `timewarp/past`, `timewarp/past-2`, …. A
/// commit that was made in the past stays on the branch that it made, and another worktree may be in the past as well.
///
/// # Errors
/// When the refs, or another worktree's HEAD, cannot be read.
pub fn unborn_branch(ctx: &Context<'_>, what: &str) -> Result<String> {
    let refs = Refs::new(ctx.repo.common_dir(), ctx.repo.git_dir());
    let taken = refs.names("refs/heads/timewarp")?;
    let base = match taken.first() {
        // A branch of that name leaves no room beneath it.
        Some(name) if name == "refs/heads/timewarp" => format!("refs/heads/timewarp-{what}"),
        _ => format!("refs/heads/timewarp/{what}"),
    };
    let is_free = |name: &str| -> Result<bool> {
        let beneath = format!("{name}/");
        let made = |other: &String| other == name || other.starts_with(&beneath);
        Ok(!taken.iter().any(made) && ctx.repo.checked_out_elsewhere(name)?.is_none())
    };
    let mut name = base.clone();
    let mut number = 1;
    while !is_free(&name)? {
        number += 1;
        name = format!("{base}-{number}");
    }
    Ok(name)
}

/// The operation files that a snapshot brings into the past: its own merge, cherry-pick or revert, none of a foreign one.
pub fn past_operation(store: &Store, stored: &Stored) -> Result<(OperationState, Vec<String>)> {
    let whole = store.operation(stored)?;
    let kinds = operation::kinds(&whole);
    if store.is_foreign(stored)? {
        let notices = if kinds.is_empty() {
            Vec::new()
        } else {
            vec![format!(
                "the {} under way in it was not put in place: it comes from another repository",
                kinds.join(", ")
            )]
        };
        return Ok((OperationState::default(), notices));
    }
    let revived = operation::revivable(&whole);
    let left: Vec<_> = kinds
        .iter()
        .filter(|kind| !operation::kinds(&revived).contains(kind))
        .map(|kind| {
            format!("the {kind} under way in it was not revived: continuing it would move branches")
        })
        .collect();
    Ok((revived, left))
}

fn travel_to(
    ctx: &Context<'_>,
    store: &Store,
    stored: &Stored,
    request: &Travel,
) -> Result<Travelled> {
    let lists = store.lists(stored)?;
    let (operation_state, mut notices) = past_operation(store, stored)?;
    let goal = Goal {
        operation: "travel",
        reverses: None,
        aim: Aim::Tree {
            tree: stored.tree,
            extras: stored_extras(store, stored)?,
            only: Vec::new(),
            empty_dirs: EmptyDirs::Stay,
            made_before: Default::default(),
            keep: Vec::new(),
        },
        target: Some(stored),
        also_from: &[],
        index: if request.files_only {
            IndexGoal::Stay
        } else {
            IndexGoal::Snapshot {
                stored,
                lists: &lists,
            }
        },
        head: if request.files_only {
            HeadGoal::Stay
        } else {
            HeadGoal::Raw(past_head(ctx, stored)?)
        },
        operation_files: if request.files_only {
            OperationGoal::Stay
        } else {
            OperationGoal::Set(operation_state)
        },
        saves_as: IdKind::Backup,
        title: format!("before travelling to {}", stored.id),
        extra: Default::default(),
        forced: Default::default(),
        hidden: None,
        before_hashing: None,
        logging: Logging::NewLevel,
        way_out: &["move these paths away, or take the snapshot elsewhere with 'tw open'"],
    };
    if request.files_only {
        notices.clear();
    }
    notices.extend(lfs_notice(&lists));
    notices.extend(super::capture::seeds::warning(store, stored, &[])?);
    let view = snapshot::view(store, stored)?;
    if request.dry_run == DryRun::Yes {
        let looked = look(ctx, store, &goal, &Storing::No)?;
        return Ok(Travelled {
            snapshot: view,
            backup_id: None,
            dry_run: true,
            changes: changes(&looked.plan),
            guard_token: None,
            files_only: request.files_only,
            notices,
        });
    }
    let token = format!("{}{}", Tail::random()?.as_str(), Tail::random()?.as_str());
    let state_after = |before: &State, saved: &super::record::Made<'_>, swap_id: &str| State {
        workspace_root: ctx.repo.worktree_root().display().to_string(),
        mode: Mode::Past,
        current_snapshot_id: Some(stored.id.to_string()),
        backup_id: Some(saved.id.to_string()),
        backup_path: Some(names::snapshot_ref(&saved.id)),
        backup_commit: Some(saved.commit.to_string()),
        entered_at: Some(ctx.env.now().rfc3339()),
        guard_token: Some(token.clone()),
        issue_id: request.issue_id.clone(),
        swap_id: Some(swap_id.to_owned()),
        files_only: request.files_only,
        ..before.clone()
    };
    let swapped = swap(ctx, store, &goal, &state_after, None)?;
    notices.extend(swap_notices(&swapped.applied));
    Ok(Travelled {
        snapshot: view,
        backup_id: Some(swapped.saved.id.to_string()),
        dry_run: false,
        changes: swapped.changes(),
        guard_token: Some(token),
        files_only: request.files_only,
        notices,
    })
}

/// What is to be said of how a swap was carried out: files that changed meanwhile, and access that could not be kept.
pub fn swap_notices(applied: &Applied) -> Vec<String> {
    let mut notices = Vec::new();
    if let Some(first) = applied.late.first() {
        notices.push(format!(
            "{} changed while the working tree was being replaced, '{}' for one; the later bytes are in the backup",
            count(applied.late.len(), "file"),
            crate::git::path::display(first)
        ));
    }
    for (path, lost) in applied.lost.iter().take(LOST_SHOWN) {
        notices.push(format!(
            "'{}' could not keep: {}; nobody else got access to it",
            crate::git::path::display(path),
            lost.words()
        ));
    }
    let more = applied.lost.len().saturating_sub(LOST_SHOWN);
    if more > 0 {
        notices.push(format!(
            "{} more could not keep owner, group or attributes",
            count(more, "file")
        ));
    }
    notices
}

/// So many paths are named one by one.
const LOST_SHOWN: usize = 100;

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
