//! From what was typed to a checkpoint, and to the session that it belongs to.

use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::sessions::{SHORTEST_PART, ambiguous, caller_or_ended, not_found, session_flag};
use crate::store::Store;
use crate::store::address::checkpoint_named;
use crate::store::checkpoint::{self, Checkpoint, SessionNotes};
use crate::store::id::{IdKind, SnapshotId};
use crate::store::names::{Record, RecordKind};
use crate::store::stored::Stored;

/// A checkpoint that was asked for.
#[derive(Debug)]
pub struct Named {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// All that its session's notes have.
    pub notes: SessionNotes,
}

/// The session that a word names: an id, its form in ref names, or the start of one; None: the caller's, or the last one that
/// was started here, also when it has ended, as it has when its agent was quit.
///
/// # Errors
/// `SESSION_NOT_FOUND`, `AMBIGUOUS_ADDRESS`.
pub fn resolve_session(ctx: &Context<'_>, store: &Store, word: Option<&str>) -> Result<String> {
    let Some(word) = word else {
        return caller_or_ended(ctx, store)?.ok_or_else(|| {
            Error::new(Code::SessionNotFound, "no session was started here")
                .hint("'tw checkpoint' starts one; or name it with --session")
        });
    };
    let sessions = ctx.sessions();
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
        [] => Err(not_found(word).hint("'tw session list --all-worktrees' shows what there is")),
        [one] => Ok(one.clone()),
        _ => Err(ambiguous(word, ids)),
    }
}

/// As [`resolve_session`]; a word that names none is the id of a session that was never heard of.
///
/// # Errors
/// As [`resolve_session`], but for `SESSION_NOT_FOUND`.
pub fn known_or_new(ctx: &Context<'_>, store: &Store, word: &str) -> Result<String> {
    match resolve_session(ctx, store, Some(word)) {
        Err(error) if error.code() == Code::SessionNotFound => Ok(word.to_owned()),
        other => other,
    }
}

/// As [`resolve_session`], also for a session that was never started: snapshots may name any.
///
/// # Errors
/// As [`resolve_session`], where no snapshot names it either.
pub fn resolve_named_session(ctx: &Context<'_>, store: &Store, word: &str) -> Result<String> {
    let error = match resolve_session(ctx, store, Some(word)) {
        Err(error) if error.code() == Code::SessionNotFound => error,
        other => return other,
    };
    for kind in IdKind::ALL {
        for id in store.ids(kind)? {
            // What cannot be read names none.
            let stored = store.read_id(&id).ok();
            let session = stored.and_then(|stored| stored.record.session_id);
            if session.as_deref() == Some(word) {
                return Ok(word.to_owned());
            }
        }
    }
    Err(error)
}

/// The checkpoint that a word names: its number, `checkpoint:<n>` or `<session>:<n>`. `session` is whose it is when the
/// word does not say; None: the caller's.
///
/// # Errors
/// `INVALID_CHECKPOINT` with the range of what there is; as [`resolve_session`].
pub fn find(ctx: &Context<'_>, store: &Store, word: &str, session: Option<&str>) -> Result<Named> {
    let (of, number) = checkpoint_named(word, ctx.env.now())
        .ok_or_else(|| no_number(ctx, store, word, session))?;
    let session_id = resolve_session(ctx, store, of.as_deref().or(session))?;
    by_number(ctx, store, &session_id, number)
}

/// The error for a word that names no checkpoint. `session` is whose it would be; None: the caller's.
pub fn no_number(ctx: &Context<'_>, store: &Store, word: &str, session: Option<&str>) -> Error {
    let flag = session.map(|session| session_flag(ctx, store, session));
    let flag = flag.unwrap_or_default();
    Error::new(
        Code::InvalidCheckpoint,
        format!("'{}' is not a checkpoint number", word.escape_debug()),
    )
    .hint(format!("'tw checkpoint list{flag}' shows them"))
}

fn by_number(ctx: &Context<'_>, store: &Store, session_id: &str, number: u64) -> Result<Named> {
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
        Some((first, last)) if first == last => format!("it has only checkpoint {first}"),
        Some((first, last)) => format!("it has {first} to {last}"),
    };
    let error = Error::new(
        Code::InvalidCheckpoint,
        format!("no checkpoint {number} in session '{session_id}': {has}"),
    );
    let flag = session_flag(ctx, store, session_id);
    Err(match range {
        Some((first, last)) => error
            .detail("first", first)
            .detail("last", last)
            .hint(format!("'tw checkpoint list{flag}' shows them")),
        None => error.hint(format!(
            "'tw checkpoint{flag}' makes one; an agent that was set up with 'tw init' does at each prompt"
        )),
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
    stored(
        store,
        &by_number(ctx, store, &session_id, number)?.checkpoint,
    )
}

/// The snapshot of a checkpoint.
///
/// # Errors
/// `SNAPSHOT_NOT_FOUND` when it was forgotten; `CORRUPT_RECORD`.
pub fn stored(store: &Store, checkpoint: &Checkpoint) -> Result<Stored> {
    let id = SnapshotId::parse(&checkpoint.snapshot_id).ok_or_else(|| {
        Error::new(
            Code::CorruptRecord,
            format!("checkpoint {} names no snapshot", checkpoint.checkpoint_id),
        )
    })?;
    store.read_id(&id)
}
