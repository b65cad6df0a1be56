//! Files of a snapshot put into the working tree, without changing mode, HEAD or index.

use std::ops::ControlFlow;

use super::Context;
use super::capture::{Storing, seeds};
use super::outcome::{Changes, Restored};
use super::record::Made;
use super::request::{DryRun, Restore};
use super::snapshots;
use super::swap::goal::{Aim, Goal, SnapshotAim};
use super::swap::notices::swap_notices;
use super::swap::{Prepared, changes, prepare, swap_unless};
use crate::error::{Code, Error, Result};
use crate::git::path;
use crate::git::tree;
use crate::store::Store;
use crate::store::state::State;
use crate::store::stored::Stored;

/// What files are put back for.
pub struct Purpose {
    /// The word in the undo log.
    pub operation: &'static str,
    /// The backup's title.
    pub title: String,
}

/// Puts files of `stored` back, or looks what that would do; under the exclusive lock, except for a dry run. Where all is as it
/// is there already, nothing is saved and there is nothing to undo.
///
/// # Errors
/// `PATH_NOT_FOUND` when neither the snapshot nor the working tree has a named path; else as travel.
pub fn put_back(
    ctx: &Context<'_>,
    store: &Store,
    stored: &Stored,
    request: &Restore,
    purpose: &Purpose,
) -> Result<Restored> {
    let only = named_paths(ctx, store, stored, request)?;
    let notices = Vec::from_iter(seeds::warning(store, stored, &only)?);
    let aim = Aim::Snapshot(SnapshotAim {
        only,
        ..SnapshotAim::new(store, stored)?
    });
    let goal = Goal::new(purpose.operation, purpose.title.clone(), aim)
        .hints(&["move these paths away, or name the paths you want: tw restore SNAPSHOT PATH..."]);
    let mut restored = Restored {
        snapshot_id: stored.id.to_string(),
        snapshot: snapshots::view(store, stored)?,
        backup_id: None,
        dry_run: request.dry_run == DryRun::Yes,
        changes: Changes::default(),
        notices,
    };
    if restored.dry_run {
        restored.changes = changes(&prepare(ctx, store, &goal, &Storing::No)?.plan);
        return Ok(restored);
    }
    let state_after = |before: &State, _: &Made<'_>| State {
        // The directory may have been moved since the state was written.
        workspace_root: ctx.repo.worktree_root().display().to_string(),
        ..before.clone()
    };
    let nothing = |prepared: &Prepared<'_>| prepared.plan.is_empty().then_some(());
    if let ControlFlow::Continue(swapped) = swap_unless(ctx, store, &goal, &state_after, &nothing)?
    {
        restored.notices.extend(swap_notices(&swapped.applied));
        restored.changes = swapped.changes();
        restored.backup_id = Some(swapped.saved.id.to_string());
    }
    Ok(restored)
}

fn named_paths(
    ctx: &Context<'_>,
    store: &Store,
    stored: &Stored,
    request: &Restore,
) -> Result<Vec<Vec<u8>>> {
    let read = |oid| store.objects.read_tree(oid);
    let mut only = Vec::new();
    for word in &request.paths {
        let full = ctx.repo_path(word)?;
        if full.is_empty() {
            // The root was named: everything, as without any path.
            return Ok(Vec::new());
        }
        let in_snapshot = tree::find(&read, stored.tree, &full)?.is_some();
        let root = crate::git::fs::Root::open(ctx.repo.worktree_root())?;
        // What lies in '.git' is never captured, so there is nothing to put back.
        let on_disk = path::is_safe(&full) && matches!(root.stamp(&full), Ok(Some(_)));
        if !in_snapshot && !on_disk {
            let shown = path::display(&full);
            return Err(Error::new(
                Code::PathNotFound,
                format!(
                    "'{shown}' is neither in '{}' nor in the working tree",
                    stored.id
                ),
            )
            .hint(format!(
                "run 'tw diff {} present' to see what differs",
                stored.id
            )));
        }
        only.push(full);
    }
    Ok(only)
}
