//! Backtrack: one message to an earlier self that waits until the session's harness takes it and goes back.
//!
//! Promises: a message names a checkpoint that the session can still go back to; one waits at a time, and one caller gets
//! it; a sub-agent, whose conversation is its caller's, gets none. Going back is the harness's own doing: nothing of files
//! and conversation changes here. The checkpoints are those of the session's notes, or of its context log when it has none.

use schemars::JsonSchema;
use serde::Serialize;

use super::checkpoints::{Noted, no_number};
use super::{Context, sessions};
use crate::agents::context_log::Log;
use crate::agents::transcript::{Detail, Transcript};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::store::Store;
use crate::store::address::checkpoint_named;
use crate::store::backtrack::{Backtracks, CheckpointSource, Message};
use crate::store::checkpoint::{self, Checkpoint, Place};
use crate::store::context::{ContextFile, path_of_session};
use crate::text::typed;

/// Send a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The checkpoint: a number, `checkpoint:<n>` or `<session>:<n>`.
    pub checkpoint: String,
    /// What the earlier self is told.
    pub note: String,
    /// Why.
    pub rationale: Option<String>,
    /// Whose; None: the caller's session.
    pub session: Option<String>,
}

/// Answer of `backtrack`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Scheduled {
    /// What waits now.
    pub backtrack: Message,
    /// How a command has to name the session, for a hint.
    #[serde(skip)]
    pub session_flag: String,
}

/// Answer of `backtrack take`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Taken {
    /// What waited, if anything did.
    pub backtrack: Option<Message>,
}

/// Answer of `backtrack show`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Shown {
    /// What waits, if anything does.
    pub backtrack: Option<Message>,
}

/// Answer of `backtrack cancel`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cancelled {
    /// What waited, if anything did and could be read.
    pub backtrack: Option<Message>,
    /// Something waited.
    pub cancelled: bool,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Schedules a message.
///
/// # Errors
/// `BACKTRACK_PENDING` while another one waits; `INVALID_CHECKPOINT` with the range of ids; `CHECKPOINT_UNAVAILABLE` after a
/// compaction, and for a sub-agent; `SESSION_NOT_FOUND`; `USAGE` for an empty note.
pub fn schedule(ctx: &Context<'_>, request: &Schedule) -> Result<Scheduled> {
    if request.note.trim().is_empty() {
        return Err(Error::new(Code::Usage, "the note is empty")
            .hint("say what the earlier self has to know: it will remember nothing else"));
    }
    let (named, number) = number(ctx, &request.checkpoint, request.session.as_deref())?;
    let store = ctx.store()?;
    let named = named.as_deref().or(request.session.as_deref());
    let session_id = live_session(ctx, store, named)?;
    refuse_sub_agent(ctx, &session_id)?;
    let backtracks = backtracks(ctx, store);
    // For the better error; `put` decides, should another message come in between.
    let session_flag = sessions::session_flag(ctx, store, &session_id);
    let waiting = backtracks.get(&session_id);
    if let Some(waiting) = waiting.map_err(|error| with_way_out(error, &session_flag))? {
        return Err(occupied(&waiting, &session_flag));
    }
    let of = check(ctx, store, &session_id, number)?;
    let backtrack = Message {
        session_id,
        checkpoint_id: number,
        of,
        note: request.note.trim().to_owned(),
        rationale: request.rationale.clone(),
        created_at: ctx.env.now().rfc3339(),
    };
    match backtracks.put(&backtrack)? {
        None => Ok(Scheduled {
            backtrack,
            session_flag,
        }),
        Some(waiting) => Err(occupied(&waiting, &session_flag)),
    }
}

/// Takes the message away for going back. It is there once.
///
/// # Errors
/// `CHECKPOINT_UNAVAILABLE` when the conversation was compacted since it was sent: it is dropped, with the note in the error.
pub fn take(ctx: &Context<'_>, session: Option<&str>) -> Result<Taken> {
    let store = ctx.store()?;
    let session_id = session_of(ctx, store, session)?;
    // Taken before it is checked, so that of two callers only one gets it.
    let taken = backtracks(ctx, store).take(&session_id);
    let backtrack = taken
        .map_err(|error| with_way_out(error, &sessions::session_flag(ctx, store, &session_id)))?;
    if let Some(message) = &backtrack {
        check(ctx, store, &session_id, message.checkpoint_id).map_err(|error| {
            error
                .hint("the message was dropped")
                .detail("note", message.note.clone())
        })?;
    }
    Ok(Taken { backtrack })
}

/// Shows the message that waits.
///
/// # Errors
/// `SESSION_NOT_FOUND`; `CORRUPT_RECORD`.
pub fn show(ctx: &Context<'_>, session: Option<&str>) -> Result<Shown> {
    let store = ctx.store()?;
    let session_id = session_of(ctx, store, session)?;
    let waiting = backtracks(ctx, store).get(&session_id);
    let backtrack = waiting
        .map_err(|error| with_way_out(error, &sessions::session_flag(ctx, store, &session_id)))?;
    Ok(Shown { backtrack })
}

/// Drops the message: the call that sent it, or one beside it, was rejected.
///
/// # Errors
/// `SESSION_NOT_FOUND`. None for a message that cannot be read: it goes, too.
pub fn cancel(ctx: &Context<'_>, session: Option<&str>) -> Result<Cancelled> {
    let store = ctx.store()?;
    let session_id = session_of(ctx, store, session)?;
    let (backtrack, notices) = match backtracks(ctx, store).discard(&session_id)? {
        Ok(message) => (message, Vec::new()),
        Err(error) => (
            None,
            vec![format!("what waited was dropped: {}", error.message())],
        ),
    };
    Ok(Cancelled {
        cancelled: backtrack.is_some() || !notices.is_empty(),
        backtrack,
        notices,
    })
}

fn backtracks(ctx: &Context<'_>, store: &Store) -> Backtracks {
    Backtracks::new(store.dir.path(), ctx.settings.lock_timeout)
}

/// Says how to go on without a message that cannot be read.
fn with_way_out(error: Error, flag: &str) -> Error {
    let way_out = format!("'tw backtrack cancel{flag}' drops it");
    match error.code() {
        Code::CorruptRecord => error.with_hints([way_out]),
        Code::NewerRecord => error.hint(way_out),
        _ => error,
    }
}

fn occupied(waiting: &Message, flag: &str) -> Error {
    let message = format!(
        "a message to checkpoint {} waits already; there can be one at a time",
        waiting.checkpoint_id
    );
    Error::new(Code::BacktrackPending, message)
        .hint(format!(
            "'tw backtrack show{flag}' shows it, 'tw backtrack cancel{flag}' drops it"
        ))
        .detail("checkpoint_id", waiting.checkpoint_id)
}

fn session_of(ctx: &Context<'_>, store: &Store, named: Option<&str>) -> Result<String> {
    let session = match named {
        Some(named) => Some(named.to_owned()),
        None => sessions::caller_or_ended(ctx, store)?,
    };
    session.ok_or_else(|| {
        Error::new(Code::SessionNotFound, "no session was started here")
            .hint("'tw session start' starts one; or name it with --session")
    })
}

/// The session that a message is sent in. One that has ended has to be named.
fn live_session(ctx: &Context<'_>, store: &Store, named: Option<&str>) -> Result<String> {
    if let Some(caller) = sessions::caller(ctx, store, named, None)? {
        return Ok(caller.session_id);
    }
    let ended = session_of(ctx, store, None)?;
    Err(Error::new(
        Code::SessionNotFound,
        format!("session '{ended}', the last one here, has ended"),
    )
    .hint(format!(
        "name it with --session {}; or 'tw session start' starts another one",
        typed(&ended)
    )))
}

fn refuse_sub_agent(ctx: &Context<'_>, session_id: &str) -> Result<()> {
    let record = ctx.sessions().get(session_id)?;
    match record.and_then(|record| record.parent) {
        None => Ok(()),
        Some(parent) => Err(Error::new(
            Code::CheckpointUnavailable,
            format!("session '{session_id}' is a sub-agent's: it cannot go back"),
        )
        .hint("it can tell its caller what it found instead")
        .detail("parent", parent)),
    }
}

/// The session and the number that a word names. `session` is whose it is when the word does not say.
fn number(ctx: &Context<'_>, word: &str, session: Option<&str>) -> Result<(Option<String>, i64)> {
    if let Ok(number) = word.trim().parse() {
        return Ok((None, number));
    }
    if let Some((session, n)) = checkpoint_named(word, ctx.env.now())
        && let Ok(number) = n.try_into()
    {
        return Ok((session, number));
    }
    Err(no_number(ctx, ctx.store()?, word, session))
}

/// A checkpoint as far as going back needs it.
struct Point {
    id: i64,
    created_at: Option<Moment>,
    /// Its place in the agent's own file.
    place: Option<Place>,
}

/// The checkpoints of a session.
struct Points {
    of: CheckpointSource,
    list: Vec<Point>,
    next: i64,
}

fn points(store: &Store, session_id: &str, ctx: &Context<'_>) -> Result<Points> {
    let notes = checkpoint::read(store, session_id)?;
    if notes.next > 0 {
        return Ok(Points {
            of: CheckpointSource::Session,
            list: notes.checkpoints.iter().filter_map(point).collect(),
            next: i64::try_from(notes.next).unwrap_or(i64::MAX),
        });
    }
    let path = path_of_session(store.dir.path(), session_id);
    let file = ContextFile::new(path, ctx.settings.lock_timeout);
    let bytes = file.read()?.unwrap_or_default();
    let log = Log::read(&bytes);
    let in_log = |id| Point {
        id,
        created_at: None,
        place: None,
    };
    Ok(Points {
        of: CheckpointSource::Context,
        list: log.checkpoints().map(in_log).collect(),
        next: log.next_checkpoint(),
    })
}

fn point(checkpoint: &Checkpoint) -> Option<Point> {
    Some(Point {
        id: i64::try_from(checkpoint.checkpoint_id).ok()?,
        created_at: Moment::parse_rfc3339(&checkpoint.created_at),
        place: Some(checkpoint.transcript.clone()),
    })
}

/// Whether a session can go back to a checkpoint, and where that is kept.
fn check(ctx: &Context<'_>, store: &Store, session_id: &str, id: i64) -> Result<CheckpointSource> {
    let points = points(store, session_id, ctx)?;
    let shrunk = Shrunk::of(ctx, session_id, &points)?;
    let left = points.list.iter().filter(|point| !shrunk.took(point));
    let mut known: Vec<i64> = left.map(|point| point.id).collect();
    if known.contains(&id) {
        return Ok(points.of);
    }
    if let Some(refusal) = checkpoint::read(store, session_id)?.refusal() {
        return Err(refusal);
    }
    known.sort_unstable();
    let has = match known.as_slice() {
        [] => "there is none to go back to".to_owned(),
        [one] => format!("there is checkpoint {one}"),
        [first, .., last] => format!("there are checkpoints {first} to {last}"),
    };
    let error = if (0..points.next).contains(&id) {
        let message = format!("checkpoint {id} is no longer in the conversation: {has}");
        Error::new(Code::CheckpointUnavailable, message)
    } else {
        let message = format!("session '{session_id}' has no checkpoint {id}: {has}");
        Error::new(Code::InvalidCheckpoint, message)
    };
    let flag = sessions::session_flag(ctx, store, session_id);
    let hint = match points.of {
        CheckpointSource::Session => format!("'tw checkpoint list{flag}' shows them"),
        CheckpointSource::Context => format!("'tw context show{flag}' shows them"),
    };
    Err(error.hint(hint).detail("available", known))
}

/// When, and where in the agent's own file, the conversation was last compacted or cleared: the model's context begins
/// there.
#[derive(Debug, Default)]
struct Shrunk {
    at: Option<Moment>,
    transcript: Option<Transcript>,
}

impl Shrunk {
    fn of(ctx: &Context<'_>, session_id: &str, points: &Points) -> Result<Self> {
        let record = ctx.sessions().get(session_id)?;
        let Some(record) = record.filter(|_| points.of == CheckpointSource::Session) else {
            return Ok(Self::default());
        };
        let at = record.compacted_at.as_deref();
        // What the agent's file says counts where it can be read.
        let read = |path: String| crate::agents::read(path.as_ref(), Detail::Outline).ok();
        Ok(Self {
            at: at.and_then(Moment::parse_rfc3339),
            transcript: record.transcript.and_then(read),
        })
    }

    fn took(&self, point: &Point) -> bool {
        let before = self
            .at
            .zip(point.created_at)
            .is_some_and(|(at, made)| made <= at);
        let places = self.transcript.as_ref().zip(point.place.as_ref());
        let above = places.is_some_and(|(read, place)| Noted::new(read, place).is_compacted());
        before || above
    }
}
