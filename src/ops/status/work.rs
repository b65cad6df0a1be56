//! What is going on in a working tree: changes, an operation of git's, a run of an issue, a session.
//!
//! Looks, and writes nothing. What cannot be looked at is a sentence, never an error: the rest of the status is wanted most then.

use std::collections::BTreeSet;

use crate::error::{Code, Result};
use crate::git::operation;
use crate::ops::Context;
use crate::ops::caller;
use crate::ops::compare::changes_since;
use crate::ops::gitview::read_index;
use crate::ops::issues;
use crate::ops::outcome::{FilesChanged, SessionHere, Work, WorkedOn};
use crate::ops::swap::left_out::LeftInPlace;
use crate::store::Store;
use crate::store::id::{IssueId, SnapshotId};
use crate::store::state::{Mode, State};
use crate::store::stored::Stored;

/// Looks at it. `since`: the snapshot that the working tree stands on; `None` where there is none, or where it is half of another.
pub fn look(
    ctx: &Context<'_>,
    store: &Store,
    state: &State,
    since: Option<&Stored>,
    notices: &mut Vec<String>,
) -> Work {
    let mut told = Notices { notices };
    Work {
        changed: since.and_then(|since| told.or_none("changes", changed(ctx, store, state, since))),
        in_progress: told
            .or_none("the operation under way", in_progress(ctx, store))
            .flatten(),
        conflicts: told
            .or_none("the index", conflicts(ctx, store))
            .unwrap_or_default(),
        issue: told.or_none("the issue", issue(store, state)).flatten(),
        session: told.or_none("the session", session(ctx, state)).flatten(),
    }
}

struct Notices<'a> {
    notices: &'a mut Vec<String>,
}

impl Notices<'_> {
    fn or_none<T>(&mut self, what: &str, found: Result<T>) -> Option<T> {
        match found {
            Ok(found) => Some(found),
            Err(error) => {
                self.notices
                    .push(format!("{what} cannot be told: {}", error.message()));
                None
            }
        }
    }
}

/// In the past: beside what travel left in place.
fn changed(
    ctx: &Context<'_>,
    store: &Store,
    state: &State,
    since: &Stored,
) -> Result<FilesChanged> {
    let mut files = changes_since(ctx, store, since)?;
    let backup = state.backup_id.as_deref().and_then(SnapshotId::parse);
    if !files.is_empty()
        && state.mode == Mode::Past
        && let Some(backup) = backup
    {
        // Without the backup nobody knows what it left: each counts.
        if let Ok(backup) = store.read_noted(&backup, state.backup_commit.as_deref()) {
            let left = LeftInPlace::of(ctx, store, since, &backup)?;
            files.retain(|change| !left.has(change).unwrap_or(false));
        }
    }
    Ok(FilesChanged {
        since: since.id.to_string(),
        files: files.len(),
    })
}

fn in_progress(ctx: &Context<'_>, store: &Store) -> Result<Option<String>> {
    let kinds = operation::kinds(&operation::read(&ctx.repo, &store.objects)?);
    Ok((!kinds.is_empty()).then(|| kinds.join("+")))
}

/// How many paths the index has in more than one stage.
fn conflicts(ctx: &Context<'_>, store: &Store) -> Result<usize> {
    let index = read_index(&ctx.repo, &store.objects)?;
    let unmerged = index.iter().filter(|(_, entry)| entry.stage > 0);
    let paths: BTreeSet<&[u8]> = unmerged.map(|(path, _)| path).collect();
    Ok(paths.len())
}

/// The issue whose run goes on here.
fn issue(store: &Store, state: &State) -> Result<Option<WorkedOn>> {
    let Some(id) = state.issue_id.as_deref().and_then(IssueId::parse) else {
        return Ok(None);
    };
    match issues::load(store, id) {
        Ok(loaded) => Ok(Some(WorkedOn {
            issue_id: id.to_string(),
            symptom: loaded.issue.symptom,
            since: state.entered_at.clone(),
        })),
        Err(error) if error.code() == Code::IssueNotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The session that calls, else the last one started here while it goes on.
fn session(ctx: &Context<'_>, state: &State) -> Result<Option<SessionHere>> {
    if let Some(caller) = caller::told(ctx) {
        return Ok(Some(SessionHere {
            session_id: caller.session_id,
            agent: caller.agent,
        }));
    }
    let Some(id) = state.session_id.as_deref().filter(|_| !state.session_ended) else {
        return Ok(None);
    };
    let record = ctx.sessions().get(id)?;
    let live = record.filter(|record| record.is_live(ctx.env.now()));
    Ok(live.map(|record| SessionHere {
        session_id: record.session_id,
        agent: record.agent,
    }))
}
