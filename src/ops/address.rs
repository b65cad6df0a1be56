//! From an address to a snapshot: the grammar is `store::address`'s, the looking up is here.
//!
//! Relative addresses and times mean this worktree's snapshots taken in the present. Ambiguity is an error that lists the candidates.

use super::Context;
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::store::Store;
use crate::store::address::{Address, parse};
use crate::store::id::{IdKind, PartMatch, SnapshotId, resolve_part};
use crate::store::names;
use crate::store::stored::{Stored, not_found};

/// Sees what reads as a snapshot of ours in this worktree.
fn is_ours(ctx: &Context<'_>, stored: &Stored) -> bool {
    stored.record.worktree == ctx.repo.worktree_name() && stored.record.taken_in != "past"
}

/// What can be read, in order, and what cannot: id and reason.
pub type InOrder = (Vec<Stored>, Vec<(String, String)>);

/// The snapshots of a list of ids (newest second first), in the order of taking, as many as asked. Unreadable ones are
/// answered apart.
pub fn in_order(
    ctx: &Context<'_>,
    store: &Store,
    ids: &[SnapshotId],
    limit: Option<usize>,
    all_worktrees: bool,
) -> Result<InOrder> {
    let limit = limit.unwrap_or(usize::MAX);
    let mut found: Vec<Stored> = Vec::new();
    let mut invalid = Vec::new();
    let mut at = 0;
    while at < ids.len() && found.len() < limit {
        let second = ids[at].time();
        let end = at
            + ids[at..]
                .iter()
                .take_while(|id| id.time() == second)
                .count();
        let mut same: Vec<Stored> = Vec::new();
        for id in &ids[at..end] {
            match store.read_id(id) {
                Ok(stored) => same.push(stored),
                // Forgotten while we looked.
                Err(error) if error.code() == Code::SnapshotNotFound => {}
                Err(error) => invalid.push((id.to_string(), error.message().to_owned())),
            }
        }
        same.sort_by_key(|stored| std::cmp::Reverse(stored.record.seq));
        found.extend(
            same.into_iter()
                .filter(|stored| all_worktrees || is_here(ctx, stored)),
        );
        at = end;
    }
    found.truncate(limit);
    Ok((found, invalid))
}

fn is_here(ctx: &Context<'_>, stored: &Stored) -> bool {
    let record = &stored.record;
    let here = ctx.repo.worktree_name();
    is_listed_here(&here, stored.id.kind(), &record.worktree, &record.taken_in)
}

/// Whether a plain list of the worktree `here` shows it. Backups and experiments may be taken in the past by nature.
pub fn is_listed_here(here: &str, kind: IdKind, worktree: &str, taken_in: &str) -> bool {
    worktree == here && (kind != IdKind::Snapshot || taken_in != "past")
}

/// The newest of a kind in this worktree, taken in the present.
pub fn newest(ctx: &Context<'_>, store: &Store, kind: IdKind) -> Result<Option<Stored>> {
    nth_newest(ctx, store, kind, 0, None)
}

fn nth_newest(
    ctx: &Context<'_>,
    store: &Store,
    kind: IdKind,
    back: usize,
    until: Option<Moment>,
) -> Result<Option<Stored>> {
    let mut ids = store.ids(kind)?;
    if let Some(until) = until {
        ids.retain(|id| id.time().seconds() <= until.seconds());
    }
    // Most are ours: read on in growing steps until there are enough.
    let mut step = back + 1;
    loop {
        let (found, _) = in_order(ctx, store, &ids, Some(step), true)?;
        let mut ours = found.iter().filter(|stored| is_ours(ctx, stored));
        if let Some(stored) = ours.nth(back) {
            return Ok(Some(stored.clone()));
        }
        if found.len() < step {
            return Ok(None);
        }
        step = step * 4 + 16;
    }
}

/// What an address names.
///
/// # Errors
/// `SNAPSHOT_NOT_FOUND`, `AMBIGUOUS_ADDRESS` with the candidates, `INVALID_ADDRESS`, `NO_SESSION_SNAPSHOT`.
pub fn resolve(ctx: &Context<'_>, store: &Store, text: &str) -> Result<Stored> {
    match parse(text, ctx.env.now())? {
        Address::Id(part) => by_part(store, &part)?.ok_or_else(|| not_found(text)),
        Address::Latest(back) => {
            let found = nth_newest(ctx, store, IdKind::Snapshot, back as usize, None)?;
            found.ok_or_else(|| not_found(text).hint("take one with 'tw snapshot'"))
        }
        Address::Time(moment) => {
            let found = nth_newest(ctx, store, IdKind::Snapshot, 0, Some(moment))?;
            found.ok_or_else(|| not_found(text))
        }
        Address::Session => {
            let id = super::session::current_snapshot(ctx, store)?;
            store.read_id(&id)
        }
        Address::Label(name) => by_label(store, &name)?
            .ok_or_else(|| not_found(text).hint("run 'tw list' to see labels")),
        Address::Commit(name) => by_commit(ctx, store, &name)?.ok_or_else(|| not_found(text)),
        Address::Bare(word) => {
            if let Some(stored) = by_label(store, &word)? {
                return Ok(stored);
            }
            if let Some(stored) = by_part(store, &word)? {
                return Ok(stored);
            }
            by_commit(ctx, store, &word)?.ok_or_else(|| not_found(text))
        }
        Address::Present => Err(Error::new(
            Code::InvalidAddress,
            "'present' is the working tree itself, not a snapshot",
        )
        .hint("it can be compared: tw diff latest present")),
        Address::Issue(part) => {
            let id = super::issue::find(store, &part)?;
            store.read_id(&super::issue::load(store, id)?.issue.snapshot_id)
        }
        Address::Checkpoint { session, n } => {
            super::checkpoint::snapshot_of(ctx, store, session.as_deref(), n)
        }
    }
}

/// Whether an address means the working tree as it is.
pub fn is_present(ctx: &Context<'_>, text: &str) -> Result<bool> {
    Ok(matches!(parse(text, ctx.env.now())?, Address::Present))
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
    match store.refs.read(&names::label_ref(name))? {
        None => Ok(None),
        Some(commit) => with_commit(store, commit),
    }
}

/// The snapshot whose commit this is.
fn with_commit(store: &Store, commit: Oid) -> Result<Option<Stored>> {
    let raw = store.commit(commit)?;
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
    let Some(oid) = ctx.repo.resolve_commit(name) else {
        return Ok(None);
    };
    with_commit(store, oid)
}
