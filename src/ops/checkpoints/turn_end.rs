//! The end of a turn: what the agent left, before anybody else edits.
//!
//! Without it the next prompt's snapshot holds the agent's work and what a person edited since, in one. It is no checkpoint: the
//! conversation is gone back to at prompts.

use std::time::Duration;

use super::{DISABLE, subject};
use crate::agents::hook::HookEvent;
use crate::error::Result;
use crate::ops::outcome::Taken;
use crate::ops::sessions::touch;
use crate::ops::settings::Automatic;
use crate::ops::{Context, request, snapshots};
use crate::store::lock::{Hold, WorktreeLock};

/// What made the snapshot.
pub const TRIGGER: &str = "turn-end";

/// Takes the snapshot that the end of a turn calls for, waiting for a lock no longer than `wait`. None when there is none to take:
/// turned off, a sub-agent's turn, or a session that nobody told of.
///
/// # Errors
/// As `snapshot`.
pub fn on_turn_end(ctx: &Context<'_>, event: &HookEvent, wait: Duration) -> Result<Option<Taken>> {
    let Some(session_id) = event.session_id.as_deref() else {
        return Ok(None);
    };
    if ctx.settings.checkpoints == Automatic::Off || ctx.env.var(DISABLE).is_some() {
        return Ok(None);
    }
    ctx.check_workspace(false)?;
    // A session of which this is the first word has no turn whose beginning is known.
    if !touch(ctx, session_id)? || ctx.sessions().root_of(session_id)? != session_id {
        return Ok(None);
    }
    let store = ctx.store()?;
    let session = subject(ctx, session_id)?;
    let next = session.record.and_then(|record| record.next_checkpoint_id);
    let title = match next.and_then(|next| next.checked_sub(1)) {
        Some(last) => format!("end of turn, after checkpoint {last}"),
        None => "end of turn".to_owned(),
    };
    let lock = WorktreeLock::acquire(store.dir.path(), Hold::Shared, TRIGGER, wait)?;
    let interrupted = store.dir.needs_recovery()?;
    let request = request::Take {
        message: Some(title),
        if_changed: true,
        trigger: TRIGGER.to_owned(),
        session: Some(session_id.to_owned()),
        agent: Some(event.agent.to_owned()),
        ..request::Take::default()
    };
    let taken = snapshots::take_locked(ctx, store, &request, &mut Vec::new(), interrupted)?;
    drop(lock);
    Ok(Some(taken))
}
