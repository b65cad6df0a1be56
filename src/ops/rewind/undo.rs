//! A rewind taken back: the files by undo, the conversation by going on in the session that was rewound.

use schemars::JsonSchema;
use serde::Serialize;

use super::{sessions, talk};
use crate::agents::{by_name, is_argument};
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::checkpoints::resolve_session;
use crate::ops::resume_command::ResumeCommandOrNull;
use crate::ops::steps::{self, StepRequest, step};
use crate::ops::swap::undo_log::{self, Log};
use crate::store::Store;
use crate::store::checkpoint::{self as notes, Rewind};
use crate::store::state::{Journal, read_json};

/// Take the last rewind back.
#[derive(Debug, Clone, Default)]
pub struct Undo {
    /// Whose; None: the caller's. A fork means the session that it was made from.
    pub session: Option<String>,
}

/// Answer of `rewind --undo`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Undone {
    /// The rewind that was taken back.
    pub rewind: Rewind,
    /// The swap of the files; null when no files had gone back, or they were brought back before.
    pub code: Option<steps::Undone>,
    /// The session that was rewound, and goes on.
    pub session_id: String,
    /// The agent's command that resumes it.
    #[serde(flatten, with = "ResumeCommandOrNull")]
    pub resume_command: Option<Vec<String>>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Takes the last rewind of a session back.
///
/// # Errors
/// `NOTHING_TO_UNDO` when there is none, or another swap came after it; else as `undo`.
pub fn undo(ctx: &Context<'_>, request: &Undo) -> Result<Undone> {
    let store = ctx.store()?;
    let asked = resolve_session(ctx, store, request.session.as_deref())?;
    let rewind = last_rewind(ctx, store, &asked)?.ok_or_else(|| {
        Error::new(
            Code::NothingToUndo,
            format!("session '{asked}' has no rewind to undo"),
        )
        .hint("'tw undo --list' shows which changes of the files can be taken back")
    })?;
    let mut notices = Vec::new();
    let code = match &rewind.backup_id {
        Some(backup) if is_last_swap(store, backup)? => {
            Some(step(ctx, &StepRequest::last(Log::Undo))?)
        }
        Some(backup) => {
            notices.push(format!(
                "the files had been brought back before; what the rewind replaced is in backup {backup}"
            ));
            None
        }
        None => None,
    };
    // After the files: a rewind that is marked is not offered again.
    notes::mark_undone(store, &rewind, ctx.env.now())?;
    if let Some(fork) = &rewind.fork {
        talk::withdraw(ctx, &fork.session_id)?;
        if talk::is_there(&fork.path) {
            notices.push(format!("the fork stays where it is: {}", fork.path));
        }
    }
    let agent = match notes::read(store, &rewind.session_id)?.checkpoint(rewind.checkpoint_id) {
        Some(checkpoint) => checkpoint.agent.as_deref().and_then(by_name),
        None => None,
    };
    Ok(Undone {
        session_id: rewind.session_id.clone(),
        resume_command: agent
            .filter(|_| is_argument(&rewind.session_id))
            .and_then(|agent| agent.resume_command(&rewind.session_id)),
        rewind,
        code,
        notices,
    })
}

/// The last rewind of a session that was not taken back; for a fork that has none, of the session it was made from.
fn last_rewind(ctx: &Context<'_>, store: &Store, session_id: &str) -> Result<Option<Rewind>> {
    let last = |id: &str| -> Result<Option<Rewind>> {
        let rewinds = notes::read(store, id)?.rewinds;
        Ok(rewinds
            .into_iter()
            .rfind(|rewind| rewind.undone_at.is_none()))
    };
    if let Some(found) = last(session_id)? {
        return Ok(Some(found));
    }
    let record = sessions(ctx).get(session_id)?;
    match record.and_then(|record| record.forked_from) {
        Some(origin) => last(&origin.session_id),
        None => Ok(None),
    }
}

fn later_changes(count: usize) -> String {
    match count {
        1 => "one more change of the files came after the rewind".to_owned(),
        count => format!("{count} more changes of the files came after the rewind"),
    }
}

/// Whether the swap that made this backup is the next to be undone.
///
/// # Errors
/// `NOTHING_TO_UNDO` when it can be undone, but others come first.
fn is_last_swap(store: &Store, backup: &str) -> Result<bool> {
    let levels = undo_log::files(&store.dir, Log::Undo)?;
    for (later, level) in levels.into_iter().rev().enumerate() {
        let journal: Option<Journal> = read_json(&level)?;
        if journal.is_none_or(|journal| journal.backup_id != backup) {
            continue;
        }
        if later == 0 {
            return Ok(true);
        }
        return Err(Error::new(Code::NothingToUndo, later_changes(later))
            .hint("'tw undo' takes them back, one for each call"));
    }
    Ok(false)
}
