//! Checkpoints found, listed and shown.

use schemars::JsonSchema;
use serde::Serialize;

use super::{conversation, spot};
use crate::agents::transcript::Transcript;
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::session::caller;
use crate::redact::Redactor;
use crate::store::Store;
use crate::store::address::{Address, parse};
use crate::store::checkpoint::{self, Checkpoint, Counts, Rewind, SessionNotes};
use crate::store::id::SnapshotId;
use crate::store::names::{Record, RecordKind};
use crate::store::session::Sessions;
use crate::store::stored::Stored;

/// Fewer characters name no session.
const SHORTEST_PART: usize = 4;

/// Which checkpoints to list.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// Whose; None: the caller's.
    pub session: Option<String>,
    /// Only so many of the newest.
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
    /// The rewinds of the session.
    pub rewinds: Vec<Rewind>,
    /// Entries that cannot be read, and why.
    pub invalid: Vec<String>,
    /// Sentences for people.
    pub notices: Vec<String>,
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

/// A checkpoint that was asked for.
#[derive(Debug)]
pub struct Named {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// All that its session's notes have.
    pub notes: SessionNotes,
}

/// The session that a word names: an id, its form in ref names, or the start of one; None: the caller's.
///
/// # Errors
/// `SESSION_NOT_FOUND`, `AMBIGUOUS_ADDRESS`.
pub fn resolve_session(ctx: &Context<'_>, store: &Store, word: Option<&str>) -> Result<String> {
    let Some(word) = word else {
        let caller = caller(ctx, store, None, None)?;
        return caller.map(|caller| caller.session_id).ok_or_else(|| {
            Error::new(Code::SessionNotFound, "no session was started here")
                .hint("'tw checkpoint' starts one; or name it with --session")
        });
    };
    let sessions = Sessions::new(ctx.repo.common_dir());
    if let Some(record) = sessions.get(word)? {
        return Ok(record.session_id);
    }
    if store.has_record(&Record::session(word))? {
        return Ok(word.to_owned());
    }
    let mut ids: Vec<String> = Vec::new();
    if word.len() >= SHORTEST_PART {
        let (records, _) = sessions.list()?;
        ids.extend(records.into_iter().map(|record| record.session_id));
        for name in store.record_names(RecordKind::Sessions)? {
            if let Record::Session(name) = name {
                let known = sessions.get(&name)?.map(|record| record.session_id);
                ids.push(known.unwrap_or(name));
            }
        }
        ids.retain(|id| id.starts_with(word));
        ids.sort();
        ids.dedup();
    }
    match ids.as_slice() {
        [] => Err(
            Error::new(Code::SessionNotFound, format!("no session '{word}'"))
                .hint("'tw session list --all-worktrees' shows what there is"),
        ),
        [one] => Ok(one.clone()),
        many => Err(Error::new(
            Code::AmbiguousAddress,
            format!("'{word}' names {} sessions", many.len()),
        )
        .hint("give more of the id; 'tw session list' shows the ids")
        .detail("candidates", many.to_vec())),
    }
}

/// The checkpoint that a word names: its number, `checkpoint:<n>` or `<session>:<n>`. `session` is whose it is when the
/// word does not say; None: the caller's.
///
/// # Errors
/// `INVALID_CHECKPOINT` with the range of what there is; as [`resolve_session`].
pub fn find(ctx: &Context<'_>, store: &Store, word: &str, session: Option<&str>) -> Result<Named> {
    let (of, number) = match word.trim().parse::<u64>() {
        Ok(number) => (None, number),
        Err(_) => match parse(word, ctx.env.now()) {
            Ok(Address::Checkpoint { session, n }) => (session, n),
            _ => return Err(no_number(word)),
        },
    };
    let session_id = resolve_session(ctx, store, of.as_deref().or(session))?;
    by_number(store, &session_id, number)
}

fn no_number(word: &str) -> Error {
    Error::new(
        Code::InvalidCheckpoint,
        format!("'{}' is no checkpoint number", word.escape_debug()),
    )
    .hint("'tw checkpoint list' shows them")
}

fn by_number(store: &Store, session_id: &str, number: u64) -> Result<Named> {
    let notes = checkpoint::read(store, session_id)?;
    if let Some(checkpoint) = notes.checkpoint(number).cloned() {
        return Ok(Named { checkpoint, notes });
    }
    if let Some(refusal) = notes.refusal() {
        return Err(refusal);
    }
    let ids = notes
        .checkpoints
        .iter()
        .map(|checkpoint| checkpoint.checkpoint_id);
    let range = ids.clone().min().zip(ids.max());
    let has = match range {
        None => "it has none".to_owned(),
        Some((first, last)) if first == last => format!("it has {first}"),
        Some((first, last)) => format!("it has {first} to {last}"),
    };
    let error = Error::new(
        Code::InvalidCheckpoint,
        format!("no checkpoint {number} in session '{session_id}': {has}"),
    );
    Err(match range {
        Some((first, last)) => error
            .detail("first", first)
            .detail("last", last)
            .hint("'tw checkpoint list' shows them"),
        None => error.hint("'tw checkpoint' makes one; an agent that was set up with 'tw init --agent' does at each prompt"),
    })
}

/// The snapshot of a checkpoint, as an address names it.
///
/// # Errors
/// As [`find`]; `SNAPSHOT_NOT_FOUND` when it was forgotten.
pub fn snapshot_of(
    ctx: &Context<'_>,
    store: &Store,
    session: Option<&str>,
    number: u64,
) -> Result<Stored> {
    let session_id = resolve_session(ctx, store, session)?;
    stored(store, &by_number(store, &session_id, number)?.checkpoint)
}

fn stored(store: &Store, checkpoint: &Checkpoint) -> Result<Stored> {
    let id = SnapshotId::parse(&checkpoint.snapshot_id).ok_or_else(|| {
        Error::new(
            Code::CorruptRecord,
            format!("checkpoint {} names no snapshot", checkpoint.checkpoint_id),
        )
    })?;
    store.read_id(&id)
}

/// Lists the checkpoints of a session, oldest first.
///
/// # Errors
/// As [`resolve_session`]; none for an entry that cannot be read.
pub fn list(ctx: &Context<'_>, request: &List) -> Result<Listing> {
    let store = Store::open(&ctx.repo)?;
    let session_id = resolve_session(ctx, &store, request.session.as_deref())?;
    let notes = checkpoint::read(&store, &session_id)?;
    let mut checkpoints = notes.checkpoints;
    let total = checkpoints.len();
    checkpoints.drain(..total.saturating_sub(request.limit.unwrap_or(usize::MAX)));
    count_tokens(ctx, &mut checkpoints);
    Ok(Listing {
        session_id,
        checkpoints,
        rewinds: notes.rewinds,
        invalid: notes.invalid,
        total,
        notices: notes.notices,
    })
}

/// Counts the tokens that a hook had no time for.
fn count_tokens(ctx: &Context<'_>, checkpoints: &mut [Checkpoint]) {
    let open = |checkpoint: &&Checkpoint| checkpoint.tokens == Counts::default();
    let Some(first) = checkpoints.iter().find(open) else {
        return;
    };
    // Without the file they stay unknown.
    let Ok(transcript) = conversation(ctx, first) else {
        return;
    };
    for checkpoint in checkpoints {
        fill(&transcript, checkpoint, ctx.redactor());
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
    let store = Store::open(&ctx.repo)?;
    let Named {
        mut checkpoint,
        notes,
    } = find(ctx, &store, word, session)?;
    let transcript = conversation(ctx, &checkpoint);
    let conversation = transcript.and_then(|transcript| {
        fill(&transcript, &mut checkpoint, ctx.redactor());
        spot(&transcript, &checkpoint, ctx.redactor(), true).map(|_| ())
    });
    let mut rewinds = notes.rewinds;
    rewinds.retain(|rewind| rewind.checkpoint_id == checkpoint.checkpoint_id);
    Ok(Shown {
        available: Available {
            code: stored(&store, &checkpoint).is_ok(),
            conversation: conversation.is_ok(),
            reason: conversation.err().map(|error| error.message().to_owned()),
        },
        checkpoint,
        rewinds,
    })
}
