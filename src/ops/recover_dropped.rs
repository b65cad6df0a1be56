//! Taking dropped snapshots back, while git still has their objects.
//!
//! The log of this worktree remembers name and commit of every ref that was dropped, and the levels of the undo logs those of the backups
//! and snapshots that they need, of which another program may have deleted the refs. Restoring asks git itself whether everything
//! that hangs on the commit is there: a ref to a torn history would make every later gc fail.

use std::collections::{BTreeMap, HashSet};

use super::Context;
use super::event_log::{self, RefEvent, RefFate};
use super::outcome::{Dropped, DroppedListing};
use super::swap::undo_log::{self, Log};
use super::whole::{Again, Whole, are_whole, make_refs_again};
use super::worktrees;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::store::Store;
use crate::store::id::{PartMatch, SnapshotId, resolve_part};
use crate::store::names;
use crate::store::state::JournalHead;
use crate::store::stored::not_found;

/// Lists what was dropped in this worktree and has not come back, newest first, and restores those asked for (ids or parts of
/// them).
///
/// # Errors
/// `SNAPSHOT_NOT_FOUND` and `AMBIGUOUS_ADDRESS` for what is asked and not in the log; `SNAPSHOT_NOT_FOUND` when git has it no
/// more. Nothing is restored then.
pub fn dropped(ctx: &Context<'_>, restore: &[String]) -> Result<DroppedListing> {
    let store = ctx.store()?;
    let (mut found, back) = listed(ctx, store)?;
    let missing = restore.iter().filter(|part| !back.contains(*part));
    let wanted = wanted(&found, missing)?;
    let mut whole = Whole::new(store);
    for one in &mut found {
        // All that is asked for is looked at before the first is brought back: none or all.
        let available = whole.is_usable(one.commit);
        if !wanted.contains(&one.id) {
            // The list is for looking; whoever asks for this one hears why it cannot be read.
            one.available = available.unwrap_or(false);
            continue;
        }
        one.available = available?;
        if !one.available {
            return Err(gone(&one.id));
        }
    }
    let mut refs = Vec::new();
    for one in found.iter_mut().filter(|one| wanted.contains(&one.id)) {
        refs.push((reference(&one.id)?, one.commit));
        one.restored = true;
    }
    if let Some(name) = first_torn(store, &refs)? {
        return Err(gone(&id_of(name)));
    }
    bring_back(ctx, store, refs)?;
    Ok(DroppedListing { dropped: found })
}

/// The first of these that is not whole.
fn first_torn<'a>(store: &Store, refs: &'a [(String, Oid)]) -> Result<Option<&'a str>> {
    if refs.is_empty() || are_whole(store, refs)? {
        return Ok(None);
    }
    if let [(name, _)] = refs {
        return Ok(Some(name));
    }
    let (before, after) = refs.split_at(refs.len() / 2);
    match first_torn(store, before)? {
        None => first_torn(store, after),
        torn => Ok(torn),
    }
}

fn gone(id: &str) -> Error {
    Error::new(
        Code::SnapshotNotFound,
        format!("git has removed '{id}' or part of it: it cannot be taken back"),
    )
    .hint("run 'tw recover --dropped' to see what can be")
}

/// The backups that undo steps of any worktree need and that have no ref. Without their ids a step cannot be taken.
///
/// # Errors
/// A level, ref or object cannot be read.
pub fn lost_backups(ctx: &Context<'_>, store: &Store) -> Result<Vec<Dropped>> {
    let mut whole = Whole::new(store);
    let mut found = lost(ctx, store, &|level| {
        vec![Some((&level.backup_id, &level.backup_commit))]
    })?;
    for one in &mut found {
        one.available = whole.is_usable(one.commit)?;
    }
    Ok(found)
}

/// What a level names: ids with their commits.
type Names<'a> = &'a dyn Fn(&JournalHead) -> Vec<Option<(&String, &String)>>;

/// Of what the levels of all worktrees name, that which has no ref, newest swap first.
fn lost(ctx: &Context<'_>, store: &Store, names: Names<'_>) -> Result<Vec<Dropped>> {
    let mut found: Vec<Dropped> = Vec::new();
    for worktree in worktrees::all(&ctx.repo)? {
        for log in Log::ALL {
            for level in undo_log::heads(&worktree.dir, log)? {
                let level = level?.journal;
                for (id, commit) in names(&level).into_iter().flatten() {
                    let Some(parsed) = SnapshotId::parse(id) else {
                        continue;
                    };
                    // What names no commit is as gone as one that git has removed.
                    let commit = Oid::from_hex(commit).unwrap_or(Oid::NULL);
                    let is_known = found.iter().any(|known| known.id == *id);
                    if !is_known && store.refs.read(&names::snapshot_ref(&parsed))?.is_none() {
                        found.push(Dropped {
                            id: id.clone(),
                            commit,
                            at: level.started_at.clone(),
                            available: false,
                            restored: false,
                        });
                    }
                }
            }
        }
    }
    found.sort_by(|a, b| b.at.cmp(&a.at));
    Ok(found)
}

/// The last drop of each id whose ref is not there now, newest first; and the ids that came back without a word in the log, by a command
/// that did not come to its end.
fn listed(ctx: &Context<'_>, store: &Store) -> Result<(Vec<Dropped>, HashSet<String>)> {
    let mut last: BTreeMap<String, (usize, Dropped)> = BTreeMap::new();
    let mut back = HashSet::new();
    for (nth, event) in event_log::ref_events(&store.dir)?.into_iter().enumerate() {
        if event.event == RefFate::Restored {
            back.remove(&event.id);
        }
        if event.event != RefFate::Dropped {
            continue;
        }
        let (Some(id), Ok(commit)) = (
            names::parse_snapshot_ref(&event.reference),
            Oid::from_hex(&event.commit),
        ) else {
            continue;
        };
        let entry = Dropped {
            id: id.to_string(),
            commit,
            at: event.at,
            available: false,
            restored: false,
        };
        back.insert(id.to_string());
        last.insert(id.to_string(), (nth, entry));
    }
    let mut found: Vec<(usize, Dropped)> = Vec::new();
    for (nth, one) in last.into_values() {
        if store.refs.read(&reference(&one.id)?)?.is_none() {
            back.remove(&one.id);
            found.push((nth, one));
        }
    }
    found.sort_by_key(|(nth, _)| std::cmp::Reverse(*nth));
    let mut found: Vec<Dropped> = found.into_iter().map(|(_, one)| one).collect();
    for one in lost(ctx, store, &|level| {
        let target = level.target_id.as_ref().zip(level.target_commit.as_ref());
        vec![Some((&level.backup_id, &level.backup_commit)), target]
    })? {
        if found.iter().all(|known| known.id != one.id) {
            found.push(one);
        }
    }
    Ok((found, back))
}

/// The id that a ref is of.
fn id_of(name: &str) -> String {
    names::parse_snapshot_ref(name).map_or_else(|| name.to_owned(), |id| id.to_string())
}

fn reference(id: &str) -> Result<String> {
    let parsed = SnapshotId::parse(id).ok_or_else(|| not_found(id))?;
    Ok(names::snapshot_ref(&parsed))
}

/// The whole ids that are asked for.
fn wanted<'a>(
    found: &[Dropped],
    asked: impl Iterator<Item = &'a String>,
) -> Result<HashSet<String>> {
    let mut wanted = HashSet::new();
    for part in asked {
        match resolve_part(part, found.iter().map(|one| one.id.as_str())) {
            PartMatch::One(id) => {
                wanted.insert(id);
            }
            PartMatch::None => {
                return Err(Error::new(
                    Code::SnapshotNotFound,
                    format!("'{part}' is not among what was dropped here"),
                )
                .hint("run 'tw recover --dropped' to see what was"));
            }
            PartMatch::Many(ids) => {
                return Err(Error::new(
                    Code::AmbiguousAddress,
                    format!("'{part}' is ambiguous: {}", ids.join(", ")),
                )
                .hint("give more of the id; 'tw recover --dropped' shows the ids")
                .detail("candidates", ids));
            }
        }
    }
    Ok(wanted)
}

/// Makes the refs again, and notes that.
fn bring_back(ctx: &Context<'_>, store: &Store, mut refs: Vec<(String, Oid)>) -> Result<()> {
    while !refs.is_empty() {
        match make_refs_again(store, &refs)? {
            Again::Made => break,
            // Somebody else took some of them back.
            Again::Stood => {
                let before = refs.len();
                let there = store.refs.read_all(names::ROOT)?;
                let there: HashSet<String> = there.into_iter().map(|(name, _)| name).collect();
                refs.retain(|(name, _)| !there.contains(name));
                if refs.len() == before {
                    let message = "what was dropped is being changed by another command";
                    return Err(Error::new(Code::Busy, message).hint("try again"));
                }
            }
            Again::Torn => {
                let torn = first_torn(store, &refs)?.or(refs.first().map(|(name, _)| &**name));
                return Err(gone(&id_of(torn.unwrap_or_default())));
            }
        }
    }
    let events: Vec<RefEvent> = refs
        .into_iter()
        .map(|(name, commit)| RefEvent {
            at: ctx.env.now().rfc3339(),
            event: RefFate::Restored,
            id: id_of(&name),
            reference: name,
            commit: commit.to_string(),
            old_commit: None,
        })
        .collect();
    event_log::append(&store.dir, &events)
}
