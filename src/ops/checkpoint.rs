//! `tw checkpoint`: the checkpoints of a session, listed and shown. How one is made is in `checkpoints`.

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::caller::session_flag;
use super::checkpoints::{Named, conversation, find, resolve_session, spot, stored};
use crate::agents::transcript::Transcript;
use crate::error::Result;
use crate::redact::Redactor;
use crate::store::checkpoint::{self, Checkpoint, Counts, Rewind, TurnEnd};

/// Lists the checkpoints of a session, oldest first.
///
/// # Errors
/// As [`resolve_session`]; none for an entry that cannot be read.
pub fn list(ctx: &Context<'_>, request: &List) -> Result<Listing> {
    let store = ctx.store()?;
    let session_id = resolve_session(ctx, store, request.session.as_deref())?;
    let notes = checkpoint::read(store, &session_id)?;
    let mut checkpoints = notes.checkpoints;
    let total = checkpoints.len();
    checkpoints.drain(..total.saturating_sub(request.limit.unwrap_or(usize::MAX)));
    count_tokens(ctx, &mut checkpoints);
    Ok(Listing {
        session_flag: session_flag(ctx, store, &session_id),
        session_id,
        checkpoints,
        turn_ends: notes.turn_ends,
        rewinds: notes.rewinds,
        invalid: notes.invalid,
        total,
        notices: notes.notices,
    })
}

/// Counts the tokens that a hook had no time for.
fn count_tokens(ctx: &Context<'_>, checkpoints: &mut [Checkpoint]) {
    // A session may go on in another file.
    let is_same =
        |one: &Checkpoint, other: &Checkpoint| one.transcript.path == other.transcript.path;
    for checkpoints in checkpoints.chunk_by_mut(is_same) {
        let is_open = |checkpoint: &&Checkpoint| checkpoint.tokens == Counts::default();
        let Some(first) = checkpoints.iter().find(is_open) else {
            continue;
        };
        // Without the file they stay unknown.
        let Ok(transcript) = conversation(ctx, first) else {
            continue;
        };
        for checkpoint in checkpoints {
            fill(&transcript, checkpoint, ctx.redactor());
        }
    }
}

fn fill(transcript: &Transcript, checkpoint: &mut Checkpoint, redactor: &Redactor) {
    if checkpoint.tokens != Counts::default() {
        return;
    }
    if let Ok(spot) = spot(transcript, checkpoint, redactor, false) {
        let tokens = spot.tokens();
        checkpoint.tokens = Counts {
            context: tokens.context,
            total: tokens.total,
        };
    }
}

/// Shows a checkpoint, and whether its files and its conversation can still be gone back to.
///
/// # Errors
/// As [`find`].
pub fn show(ctx: &Context<'_>, word: &str, session: Option<&str>) -> Result<Shown> {
    let store = ctx.store()?;
    let Named {
        mut checkpoint,
        notes,
    } = find(ctx, store, word, session)?;
    let transcript = conversation(ctx, &checkpoint);
    let conversation = transcript.and_then(|transcript| {
        fill(&transcript, &mut checkpoint, ctx.redactor());
        spot(&transcript, &checkpoint, ctx.redactor(), true).map(|_| ())
    });
    let mut rewinds = notes.rewinds;
    rewinds.retain(|rewind| rewind.checkpoint_id == checkpoint.checkpoint_id);
    Ok(Shown {
        available: Available {
            code: stored(store, &checkpoint).is_ok(),
            conversation: conversation.is_ok(),
            reason: conversation.err().map(|error| error.message().to_owned()),
        },
        checkpoint,
        rewinds,
        notices: notes.notices,
    })
}

/// Which checkpoints to list.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// Whose; None: the caller's.
    pub session: Option<String>,
    /// Only this many of the newest.
    pub limit: Option<usize>,
}

/// Answer of `checkpoint list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listing {
    /// Whose they are.
    pub session_id: String,
    /// In the order of their ids.
    pub checkpoints: Vec<Checkpoint>,
    /// How many there are in all, before `-n`.
    pub total: usize,
    /// The ends of its turns, each with the files as the agent left them, oldest first.
    pub turn_ends: Vec<TurnEnd>,
    /// The rewinds of the session.
    pub rewinds: Vec<Rewind>,
    /// Entries that cannot be read, and why.
    pub invalid: Vec<String>,
    /// Sentences for people.
    pub notices: Vec<String>,
    /// How a command has to name the session, for a hint.
    #[serde(skip)]
    pub session_flag: String,
}

/// Answer of `checkpoint show`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Shown {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// What can still be gone back to.
    pub available: Available,
    /// The rewinds that went to it.
    pub rewinds: Vec<Rewind>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// What of a checkpoint can still be gone back to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Available {
    /// Whether its snapshot is still there.
    pub code: bool,
    /// Whether the agent's file still holds it.
    pub conversation: bool,
    /// Why it does not.
    pub reason: Option<String>,
}
