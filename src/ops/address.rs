//! From an address to a snapshot: the grammar is `store::address`'s, the looking up is here.
//!
//! Relative addresses and times mean this worktree's snapshots taken in the present, unless [`Context::widen_addresses`] says
//! otherwise. Ambiguity is an error that lists the candidates.

use super::Context;
use super::history::{SnapshotScope, nth_newest, oldest};
use super::pathspec::Pathspec;
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::git::path::display;
use crate::git::{Oid, tree};
use crate::store::Store;
use crate::store::address::{Address, moment_of, parse};
use crate::store::id::{IdKind, PartMatch, SnapshotId, resolve_part};
use crate::store::names;
use crate::store::state::Mode;
use crate::store::stored::{FoundBeside, Stored, not_found};

/// What an address names.
///
/// # Errors
/// `SNAPSHOT_NOT_FOUND`, `AMBIGUOUS_ADDRESS` with the candidates, `INVALID_ADDRESS`, `NO_SESSION_SNAPSHOT`.
pub fn resolve(ctx: &Context<'_>, store: &Store, text: &str) -> Result<Stored> {
    let address = parse(text, ctx.env.now());
    match address.map_err(|error| or_a_path(ctx, store, text, error))? {
        Address::Id(part) => by_part(store, &part)?.ok_or_else(|| not_found(text)),
        Address::Latest(back) => {
            let (found, reach) = nth_newest_here(ctx, store, back as usize, None)?;
            match found {
                Some(found) => Ok(found),
                None if back > 0 && oldest(ctx, store, reach)?.is_some() => Err(not_found(text)),
                None => Err(not_found(text).hint("take one with 'tw snapshot'")),
            }
        }
        Address::Time(moment) => at_time(ctx, store, text, moment),
        Address::Session => {
            let id = super::sessions::current_snapshot(ctx, store)?;
            store.read_id(&id)
        }
        Address::Label(name) => by_label(store, &name)?
            .ok_or_else(|| not_found(text).hint("'tw label' lists the labels there are")),
        Address::Commit(name) => by_commit(ctx, store, &name)?.ok_or_else(|| not_found(text)),
        Address::Bare(word) => {
            // What people named comes first, then ids of ours, then whatever git knows by the name; last what may be a time.
            if let Some(stored) = by_label(store, &word)? {
                return Ok(stored);
            }
            if let Some(stored) = by_part(store, &word)? {
                return Ok(stored);
            }
            if let Some(stored) = by_commit(ctx, store, &word)? {
                return Ok(stored);
            }
            match moment_of(&word, ctx.env.now()) {
                Some(moment) => at_time(ctx, store, text, moment),
                None => Err(no_snapshot(ctx, store, &word)),
            }
        }
        Address::Present => Err(Error::new(
            Code::InvalidAddress,
            "'present' is the working tree itself, not a snapshot",
        )
        .hint("it can be compared: tw diff latest present")),
        Address::Issue(part) => {
            let id = super::issues::find(store, &part)?;
            super::issues::snapshot_of(store, &super::issues::load(store, id)?.issue)
        }
        Address::Checkpoint { session, n } => {
            super::checkpoints::snapshot_of(ctx, store, session.as_deref(), n)
        }
    }
}

/// An address that means this very snapshot, also where its id leads nowhere.
pub fn exactly(stored: &Stored) -> String {
    match stored.beside {
        Some(_) => stored.commit.to_string(),
        None => stored.id.to_string(),
    }
}

/// The address of what is meant where none is named: the snapshot travelled to, in the present the latest.
///
/// # Errors
/// When the state cannot be read.
pub fn usual(store: &Store) -> Result<String> {
    let state = store.dir.state()?;
    let entered = match state.mode {
        Mode::Past => state.current_snapshot_id,
        Mode::Present => None,
    };
    Ok(entered.unwrap_or_else(|| "latest".to_owned()))
}

/// Says what else the word is: whoever comes from git writes a revision or a path there.
fn no_snapshot(ctx: &Context<'_>, store: &Store, word: &str) -> Error {
    if let Some(named) = ctx.repo.resolve_commit(&store.objects, word) {
        let message = format!("'{word}' is commit {}, not a snapshot", named.oid);
        return Error::new(Code::SnapshotNotFound, message)
            .hint("git compares with it and goes there; 'tw list' shows the snapshots");
    }
    or_a_path(ctx, store, word, not_found(word))
}

fn or_a_path(ctx: &Context<'_>, store: &Store, word: &str, error: Error) -> Error {
    match is_path(ctx, store, word) {
        Ok(true) => error.hint(format!(
            "'{}' is a path; name a snapshot before it, such as 'latest'",
            display(word.as_bytes())
        )),
        // The error that brought us here is the one to tell.
        _ => error,
    }
}

/// Whether a word can only be a path: as git's rule is, something is there, or it is a pattern. What was captured and is gone is
/// one, too.
///
/// # Errors
/// When the state or a tree cannot be read.
pub fn is_path(ctx: &Context<'_>, store: &Store, word: &str) -> Result<bool> {
    let is_pattern = word.starts_with(':') || word.contains(['*', '?', '[']);
    if is_pattern || ctx.cwd.join(word).symlink_metadata().is_ok() {
        return Ok(true);
    }
    let Ok(usual) = resolve(ctx, store, &usual(store)?) else {
        return Ok(false);
    };
    let only = Pathspec::parse(ctx, &[word.into()])?;
    for path in only.plain().unwrap_or_default() {
        let path = path.strip_suffix(b"/").unwrap_or(&path);
        if tree::find(&store.objects, usual.tree, path)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Both sides of `A..B`, each of which may be empty. None of a word that is none, and of a path that leads upwards.
pub fn range(word: &str) -> Option<(&str, &str)> {
    let leads_up = word.split('/').any(|part| part == "..");
    word.split_once("..").filter(|_| !leads_up)
}

/// The snapshot that is this many before the newest one, not after a moment, and how far was looked. Where this repository has none at all, as a clone with
/// fetched ones has, those of others count.
///
/// # Errors
/// When refs cannot be read.
pub fn nth_newest_here(
    ctx: &Context<'_>,
    store: &Store,
    back: usize,
    until: Option<Moment>,
) -> Result<(Option<Stored>, SnapshotScope)> {
    let within = |reach| {
        let found = nth_newest(ctx, store, (IdKind::Snapshot, reach), back, until)?;
        Ok((found, reach))
    };
    let (found, reach) = within(ctx.address_reach())?;
    if found.is_none() && reach == SnapshotScope::Here && oldest(ctx, store, reach)?.is_none() {
        return within(SnapshotScope::AnyRepository);
    }
    Ok((found, reach))
}

/// The newest snapshot at or before a moment.
fn at_time(ctx: &Context<'_>, store: &Store, text: &str, moment: Moment) -> Result<Stored> {
    if moment > ctx.env.now() {
        let message = format!("'{text}' lies in the future: {}", moment.local());
        return Err(Error::new(Code::InvalidAddress, message)
            .hint("'latest' is the newest snapshot, 'present' the working tree as it is"));
    }
    let (found, reach) = nth_newest_here(ctx, store, 0, Some(moment))?;
    if let Some(found) = found {
        return Ok(found);
    }
    let missing = Error::new(
        Code::SnapshotNotFound,
        format!(
            "there is no snapshot as old as '{text}': {}",
            moment.local()
        ),
    );
    Err(match oldest(ctx, store, reach)? {
        Some(oldest) => missing.hint(format!(
            "the oldest is {} of {}: tw show {}",
            oldest.id,
            oldest.id.time().local(),
            oldest.id
        )),
        None => missing.hint("take one with 'tw snapshot'"),
    })
}

/// Whether an address means the working tree as it is. What is no address does not: it may still be a commit as git names it.
pub fn is_present(ctx: &Context<'_>, text: &str) -> bool {
    matches!(parse(text, ctx.env.now()), Ok(Address::Present))
}

fn by_part(store: &Store, part: &str) -> Result<Option<Stored>> {
    if let Some(id) = SnapshotId::parse(part) {
        return match store.refs.read(&names::snapshot_ref(&id))? {
            Some(commit) => store.read(&id, commit).map(Some),
            None => Ok(None),
        };
    }
    let mut ids: Vec<String> = Vec::new();
    for kind in IdKind::ALL {
        ids.extend(store.ids(kind)?.iter().map(ToString::to_string));
    }
    match resolve_part(part, ids.iter().map(String::as_str)) {
        PartMatch::None => Ok(None),
        PartMatch::One(id) => match SnapshotId::parse(&id) {
            Some(id) => store.read_id(&id).map(Some),
            None => Ok(None),
        },
        PartMatch::Many(candidates) => Err(ambiguous(part, &candidates)),
    }
}

fn ambiguous(part: &str, candidates: &[String]) -> Error {
    let shown: Vec<&str> = candidates.iter().map(String::as_str).take(10).collect();
    Error::new(
        Code::AmbiguousAddress,
        format!("'{part}' is ambiguous: {}", shown.join(", ")),
    )
    .hint("give more characters, or the last six of the id")
    .detail("candidates", candidates.to_vec())
}

fn by_label(store: &Store, name: &str) -> Result<Option<Stored>> {
    if !names::is_component(name) {
        return Ok(None);
    }
    let label = names::label_ref(name);
    match store.refs.read(&label)? {
        None => Ok(None),
        Some(commit) => found_beside(store, commit, Some(label)),
    }
}

/// The snapshot whose commit this is; None for a commit that is none of ours.
///
/// # Errors
/// `CORRUPT_RECORD`, `NEWER_RECORD`.
pub fn with_commit(store: &Store, commit: Oid) -> Result<Option<Stored>> {
    let raw = store.commit(commit)?;
    // A commit of the user's own is no snapshot, which is not an error.
    let Ok((_, record)) =
        crate::store::snapshot::SnapshotRecord::from_message(&raw.message, "commit")
    else {
        return Ok(None);
    };
    match SnapshotId::parse(&record.snapshot_id) {
        Some(id) => store.read(&id, commit).map(Some),
        None => Ok(None),
    }
}

fn by_commit(ctx: &Context<'_>, store: &Store, name: &str) -> Result<Option<Stored>> {
    match ctx.repo.resolve_commit(&store.objects, name) {
        Some(named) => found_beside(store, named.oid, named.by_ref),
        None => Ok(None),
    }
}

/// [`with_commit`], which notes that the snapshot's own ref does not lead there.
fn found_beside(store: &Store, commit: Oid, by_ref: Option<String>) -> Result<Option<Stored>> {
    let mut found = with_commit(store, commit)?;
    if let Some(stored) = &mut found
        && store.refs.read(&names::snapshot_ref(&stored.id))? != Some(commit)
    {
        stored.beside = Some(FoundBeside { by_ref });
    }
    Ok(found)
}
