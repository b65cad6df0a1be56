//! The end of a session, and which session a word names.

use super::{Ended, caller_or_ended, view};
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::store::session::{SessionRecord, Sessions};
use crate::store::state::State;

/// Fewer characters name no session.
const SHORTEST_PART: usize = 4;

/// The record that a word names: an id or the start of one; None: the caller's, or the last one, also when it has ended.
pub fn find(ctx: &Context<'_>, sessions: &Sessions, word: Option<&str>) -> Result<SessionRecord> {
    let word = word.map_or_else(|| last_here(ctx), |word| Ok(word.to_owned()))?;
    if let Some(record) = sessions.get(&word)? {
        return Ok(record);
    }
    let (mut records, _) = sessions.list()?;
    records.retain(|record| word.len() >= SHORTEST_PART && record.session_id.starts_with(&word));
    if records.len() > 1 {
        let candidates: Vec<&str> = records
            .iter()
            .map(|record| record.session_id.as_str())
            .collect();
        return Err(Error::new(
            Code::AmbiguousAddress,
            format!("'{word}' names {} sessions", candidates.len()),
        )
        .hint("give more of the id; 'tw session list' shows the ids")
        .detail("candidates", candidates));
    }
    records.pop().ok_or_else(|| {
        Error::new(Code::SessionNotFound, format!("no session '{word}'"))
            .hint("'tw session list --all-worktrees' shows what there is; what others shared of theirs can only be listed")
    })
}

fn last_here(ctx: &Context<'_>) -> Result<String> {
    caller_or_ended(ctx, ctx.store()?)?.ok_or_else(|| {
        Error::new(Code::SessionNotFound, "no session was started here")
            .hint("'tw session start' starts one")
    })
}

/// The sub-agents beneath a session, however deep.
pub fn children(sessions: &Sessions, root: &str) -> Result<Vec<SessionRecord>> {
    let (records, _) = sessions.list()?;
    let mut found: Vec<SessionRecord> = Vec::new();
    let mut wanted = vec![root.to_owned()];
    while let Some(parent) = wanted.pop() {
        for record in &records {
            // Records are files that anybody may write: parents may go round in a circle.
            let is_new = record.session_id != root && !found.contains(record);
            if record.parent.as_deref() == Some(&parent) && is_new {
                wanted.push(record.session_id.clone());
                found.push(record.clone());
            }
        }
    }
    Ok(found)
}

/// From now on nothing that is done in its worktree is this session's doing.
fn leave(ctx: &Context<'_>, session_id: &str) -> Result<()> {
    let store = ctx.store()?;
    if store.dir.state()?.session_id.as_deref() != Some(session_id) {
        return Ok(());
    }
    let _lock = ctx.lock(&store.dir, "session end")?;
    let state = store.dir.state()?;
    if state.session_id.as_deref() == Some(session_id) && !state.session_ended {
        store.dir.write_state(&State {
            session_ended: true,
            ..state
        })?;
    }
    Ok(())
}

/// Ends a session and its sub-agents'. One that ended before stays as it is.
///
/// # Errors
/// `SESSION_NOT_FOUND`, `AMBIGUOUS_ADDRESS`, `CORRUPT_RECORD`.
pub fn end(ctx: &Context<'_>, word: Option<&str>) -> Result<Ended> {
    let sessions = ctx.sessions();
    let record = find(ctx, &sessions, word)?;
    let now = ctx.env.now().rfc3339();
    let close = |record: SessionRecord| {
        sessions.update(record, |record| {
            if record.ended_at.is_none() {
                record.ended_at = Some(now.clone());
                record.last_active_at.clone_from(&now);
            }
        })
    };
    let mut ended_with_it = Vec::new();
    for child in children(&sessions, &record.session_id)? {
        if child.ended_at.is_none() {
            ended_with_it.push(close(child)?.session_id);
        }
    }
    leave(ctx, &record.session_id)?;
    Ok(Ended {
        session_id: record.session_id.clone(),
        had_ended: record.ended_at.is_some(),
        session: view(ctx, &sessions, close(record)?)?,
        ended_with_it,
    })
}
