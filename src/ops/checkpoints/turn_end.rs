//! The end of a turn: what the agent left, before anybody else edits.
//!
//! Without it the next prompt's snapshot holds the agent's work and what a person edited since, in one. It is no checkpoint and
//! takes no number: the conversation is gone back to at prompts. Where nothing has changed, there is no new snapshot, but the
//! end is noted on the one that is there: else what is changed afterwards would look like the work of that turn. An agent that stops
//! while work of its goes on in the background says so, and so does the end.

use std::time::Duration;

use super::{are_on, keep_snapshot, lock_for_event, subject};
use crate::agents::hook::HookEvent;
use crate::error::Result;
use crate::ops::outcome::Taken;
use crate::ops::sessions::touch_by_end;
use crate::ops::{Context, request, snapshots};
use crate::store::Store;
use crate::store::checkpoint::{self, EndKind, FIELDS_VERSION, SessionNotes, TurnEnd};
use crate::store::id::SnapshotId;
use crate::store::trigger::Trigger;

/// Takes the snapshot that the end of a turn calls for, and notes the end, waiting for a lock no longer than `wait`. None when
/// there is nothing to do: turned off, a sub-agent's turn, or a session that nobody told of.
///
/// # Errors
/// As `snapshot`; `BUSY` when others write the session's notes for too long.
pub fn on_turn_end(ctx: &Context<'_>, event: &HookEvent, wait: Duration) -> Result<Option<Taken>> {
    let Some(session_id) = event.session_id.as_deref().filter(|_| are_on(ctx)) else {
        return Ok(None);
    };
    ctx.check_workspace(false)?;
    // A session of which this is the first word has no turn whose beginning is known.
    if !touch_by_end(ctx, session_id)? || ctx.sessions().root_of(session_id)? != session_id {
        return Ok(None);
    }
    let store = ctx.store()?;
    let session = subject(ctx, session_id)?;
    let next = session.record.and_then(|record| record.next_checkpoint_id);
    let title = match next.and_then(|next| next.checked_sub(1)) {
        Some(last) => format!("end of turn, after checkpoint {last}"),
        None => "end of turn".to_owned(),
    };
    let (lock, interrupted) = lock_for_event(store, wait)?;
    let request = request::Take {
        message: Some(title),
        if_changed: true,
        trigger: Trigger::TurnEnd,
        session: Some(session_id.to_owned()),
        agent: Some(event.agent.to_owned()),
        ..request::Take::default()
    };
    let taken = snapshots::take_locked(ctx, store, &request, &mut Vec::new(), interrupted)?;
    let now = ctx.env.now();
    let end = TurnEnd {
        version: FIELDS_VERSION,
        session_id: session_id.to_owned(),
        agent: Some(event.agent.to_owned()),
        checkpoint_id: None,
        created_at: now.rfc3339(),
        snapshot_id: taken.snapshot.id.clone(),
        kind: EndKind::End,
        goes_on: event.leaves_work(),
    };
    let commit = taken.snapshot.commit;
    checkpoint::add_turn_end(store, session_id, commit, now, |notes| {
        of_last_prompt(store, &end, notes)
    })?;
    keep_snapshot(store, &taken.snapshot)?;
    drop(lock);
    Ok(Some(taken))
}

/// The end of the turn of the session's last prompt; None when it was told before, and nothing has changed since. It may be told twice at
/// the same time, by hooks in the project's settings and in the user's: both take a snapshot then.
fn of_last_prompt(store: &Store, end: &TurnEnd, notes: &SessionNotes) -> Option<TurnEnd> {
    let end = TurnEnd {
        checkpoint_id: notes.turn_of(u64::MAX),
        ..end.clone()
    };
    let is_told = notes.turn_ends.last().is_some_and(|last| {
        let what = |end: &TurnEnd| (end.checkpoint_id, end.goes_on);
        what(last) == what(&end) && is_same_state(store, [&last.snapshot_id, &end.snapshot_id])
    });
    (!is_told).then_some(end)
}

/// Whether two snapshots have the same files, index and HEAD, as far as they can be read.
fn is_same_state(store: &Store, [one, other]: [&str; 2]) -> bool {
    let state = |id: &str| -> Option<_> {
        let stored = store.read_id(&SnapshotId::parse(id)?).ok()?;
        let index = store.index_side(&stored).ok()?;
        Some((stored.tree, stored.head, index.tree, index.state))
    };
    one == other || state(one).is_some_and(|one| state(other) == Some(one))
}
