//! The end of a session.

use super::{Ended, children, find, view};
use crate::error::{Code, Result};
use crate::ops::Context;
use crate::store::session::SessionRecord;
use crate::store::state::State;

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
    let had_ended = record.ended_at.is_some();
    let record = close(record)?;
    match leave(ctx, &record.session_id) {
        // An agent tells of its end once, and the register says it by now.
        Err(error) if error.code() == Code::Busy => {}
        left => left?,
    }
    Ok(Ended {
        session_id: record.session_id.clone(),
        had_ended,
        session: view(ctx, &sessions, record)?,
        ended_with_it,
    })
}
