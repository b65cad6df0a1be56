//! Where a working tree stands, said with the interruption first; and the one line of it for a shell prompt.
//!
//! The prompt's line opens no repository: it walks up to `.git` and reads two small files.

mod work;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Context;
use super::address::nth_newest_here;
use super::head_commit::head_tree;
use super::history::{Here, in_order};
use super::outcome::{Counts, Head, Interrupted, RepositoryInfo, Role, SnapshotView, Status};
use super::snapshots::view;
use super::swap::recover::{is_interrupted, taken_by_power};
use super::workspaces::membership;
use crate::error::Result;
use crate::git::fs;
use crate::git::repo::gitfile_target;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::lock::{dead_git_locks, is_swapping};
use crate::store::state::{Mode, State, StateDir};
use crate::store::stored::Stored;
use crate::text::with_article;

/// The swap whose process died. One that is under way is a notice.
fn swap_under_way(store: &Store, notices: &mut Vec<String>) -> Result<Option<Interrupted>> {
    let Some(journal) = store.dir.journal()? else {
        return Ok(None);
    };
    if is_swapping(store.dir.path()) {
        notices.push(format!(
            "{} is under way in process {}",
            journal.operation, journal.pid
        ));
        return Ok(None);
    }
    // Asked again: it may just have ended between the two looks.
    Ok(store.dir.has_journal().then_some(Interrupted {
        operation: journal.operation,
        swap_id: journal.swap_id,
        since: journal.started_at,
    }))
}

/// Says where the working tree stands.
///
/// # Errors
/// `CORRUPT_RECORD` or `NEWER_RECORD` for a state or journal that cannot be read. A snapshot that cannot be read is a notice.
pub fn status(ctx: &Context<'_>) -> Result<Status> {
    let store = ctx.store()?;
    let state = store.dir.state()?;
    let mut notices = Vec::new();
    let interrupted = swap_under_way(store, &mut notices)?;
    if interrupted.is_none()
        && let Some(lost) = store.dir.lost_power()?
    {
        notices.push(format!(
            "power was lost before {} was on disk: 'tw recover', or the next command that changes something, compares its paths",
            with_article(lost.operation.as_str())
        ));
    }
    for lock in dead_git_locks(ctx.repo.git_dir()) {
        notices.push(format!(
            "a tw that died left '{}', for which git waits: 'tw recover' removes it",
            lock.display()
        ));
    }
    for title in taken_by_power(ctx, store)? {
        notices.push(format!(
            "power was lost before {title} was on disk: 'tw recover', or the next command that changes something, clears it away"
        ));
    }
    let mut seen = |found: Result<Option<SnapshotView>>| match found {
        Ok(view) => view,
        Err(error) => {
            notices.push(error.message().to_owned());
            None
        }
    };
    let latest = seen(latest(ctx, store));
    let current = seen(current(store, &state));
    let stands_on = stands_on(ctx, store, &state, interrupted.is_some())?;
    let work = work::look(ctx, store, &state, stands_on.as_ref(), &mut notices);
    let head = ctx.repo.head(&store.objects)?;
    notices.extend(ctx.repo.broken_branch(&head));
    if let Err(error) = head_tree(ctx, store, &head) {
        let hints = error.hints().iter().map(String::as_str);
        let said: Vec<&str> = [error.message()].into_iter().chain(hints).collect();
        notices.push(said.join("; "));
    }
    let workspace = membership(ctx)?;
    Ok(Status {
        mode: state.mode,
        state: fields(ctx, &state),
        interrupted,
        repository: repository(ctx, store)?,
        latest,
        current,
        workspace: (workspace.role != Role::None).then_some(workspace),
        work,
        notices,
    })
}

/// The snapshot that what is on disk is compared with; none where it is half of one state and half of another.
fn stands_on(
    ctx: &Context<'_>,
    store: &Store,
    state: &State,
    interrupted: bool,
) -> Result<Option<Stored>> {
    // Whoever else has the lock leaves the files alone: a swap has its journal before it touches the first.
    if interrupted || store.dir.has_journal() {
        return Ok(None);
    }
    let id = state.current_snapshot_id.as_deref();
    match id.and_then(SnapshotId::parse) {
        // One that cannot be read was told of already.
        Some(id) if state.mode == Mode::Past => Ok(store.read_id(&id).ok()),
        _ => Ok(nth_newest_here(ctx, store, 0, None)?.0),
    }
}

/// What 'latest' means.
fn latest(ctx: &Context<'_>, store: &Store) -> Result<Option<SnapshotView>> {
    let (newest, _) = nth_newest_here(ctx, store, 0, None)?;
    newest.map(|stored| view(store, &stored)).transpose()
}

fn current(store: &Store, state: &State) -> Result<Option<SnapshotView>> {
    let id = state.current_snapshot_id.as_deref();
    match id.and_then(SnapshotId::parse) {
        Some(id) if state.mode == Mode::Past => view(store, &store.read_id(&id)?).map(Some),
        _ => Ok(None),
    }
}

/// `state.json` as it stands, or would stand when nothing was ever written.
fn fields(ctx: &Context<'_>, state: &State) -> Map<String, Value> {
    let mut state = state.clone();
    state.version = state.version.max(1);
    if state.workspace_root.is_empty() {
        state.workspace_root = ctx.repo.worktree_root().display().to_string();
    }
    match serde_json::to_value(&state) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn repository(ctx: &Context<'_>, store: &Store) -> Result<RepositoryInfo> {
    let head = ctx.repo.head(&store.objects)?;
    let count = |kind| count(ctx, store, kind);
    Ok(RepositoryInfo {
        workspace_root: ctx.repo.worktree_root().to_owned(),
        worktree: ctx.repo.worktree_name(),
        git_dir: ctx.repo.git_dir().to_owned(),
        private: ctx.repo.is_private(),
        repository_id: store.repository_id()?,
        head: Head {
            reference: head.reference,
            oid: head.oid,
        },
        counts: Counts {
            snapshots: count(IdKind::Snapshot)?,
            backups: count(IdKind::Backup)?,
            experiments: count(IdKind::Experiment)?,
        },
    })
}

/// How many there are: in a linked worktree of its own, in the main one of all.
// Records are read only where they have to be: there may be tens of thousands.
fn count(ctx: &Context<'_>, store: &Store, kind: IdKind) -> Result<usize> {
    let ids = store.ids(kind)?;
    if !ctx.repo.is_linked_worktree() {
        return Ok(ids.len());
    }
    let here = Here::of(ctx, store)?;
    let (found, _) = in_order(store, &ids, None, None);
    let records = found.iter().map(|stored| &stored.record);
    Ok(records.filter(|record| here.is(*record)).count())
}

/// What the prompt needs of a state.
#[derive(Deserialize)]
struct Place {
    mode: Mode,
    current_snapshot_id: Option<String>,
}

/// The line for a shell prompt: `tw:past ab12cd` (`tw:past` alone where no id stands), `tw:interrupted`, `tw:unreadable`; nothing in the present and outside of
/// repositories.
pub fn prompt_line(start: &Path) -> Option<String> {
    let dir = StateDir::new(&git_dir_above(start)?);
    let unreadable = Some("tw:unreadable".to_owned());
    // Of another user's repository nothing is known.
    if dir.is_closed_to_us() {
        return unreadable;
    }
    if is_interrupted(&dir) {
        return Some("tw:interrupted".to_owned());
    }
    let bytes = match fs::read_optional(&dir.file("state.json")) {
        Ok(Some(bytes)) => bytes,
        Ok(None) if matches!(dir.lacks_state(), Ok(false)) => return None,
        _ => return unreadable,
    };
    let Ok(place) = serde_json::from_slice::<Place>(&bytes) else {
        return unreadable;
    };
    match place.mode {
        Mode::Present => None,
        Mode::Past => {
            // A shell may evaluate what its prompt holds, and whoever made this directory wrote the file: an id, or nothing of it.
            let id = place.current_snapshot_id.as_deref();
            let id = id.and_then(SnapshotId::parse);
            Some(id.map_or_else(
                || "tw:past".to_owned(),
                |id| format!("tw:past {}", id.tail()),
            ))
        }
    }
}

/// The git directory of the nearest repository at or above `start`.
fn git_dir_above(start: &Path) -> Option<PathBuf> {
    let start = start.canonicalize().ok()?;
    start.ancestors().find_map(|dir| {
        let dot_git = dir.join(".git");
        let meta = dot_git.metadata().ok()?;
        let git_dir = if meta.is_dir() {
            dot_git
        } else {
            // The '.git' file of a linked worktree or a submodule.
            let bytes = fs::read_optional(&dot_git).ok()??;
            gitfile_target(dir, &bytes)?
        };
        // An empty `.git` directory is no repository; git walks on, too.
        git_dir.join("HEAD").symlink_metadata().ok()?;
        Some(git_dir)
    })
}
