//! Notes on commits that another program replaced.
//!
//! A note annotates its snapshot's commit. Programs that rewrite history give the commits of snapshots other ids and leave the notes where
//! they were, on commits that are gone soon: plain git shows them nowhere then. What a record says is read all the same, for it names
//! its snapshot by id.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::map::Entry;

use super::Context;
use super::holders::record_tips;
use crate::error::{Code, Result};
use crate::git::Oid;
use crate::git::notes::{blob_bytes, notes_at, prepare_moved_notes};
use crate::git::objects::NewObjects;
use crate::json;
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::names::Record;
use crate::store::records::Json;

/// A record with notes on commits that are gone, its tip, and by commit what its snapshot is now.
pub type Stray = (Record, Oid, BTreeMap<Oid, Oid>);

/// The records with notes on commits that are gone.
///
/// # Errors
/// Something cannot be looked at. What is damaged is told of elsewhere.
pub fn find(store: &Store) -> Result<Vec<Stray>> {
    let mut gone: Vec<(Record, Oid, Vec<Oid>)> = Vec::new();
    let mut now: BTreeMap<Oid, Oid> = BTreeMap::new();
    for (record, tips) in record_tips(store)? {
        let Some(tip) = tips.into_iter().next() else {
            continue;
        };
        let notes = match notes_at(&store.objects, tip) {
            Err(error) if error.code() == Code::CorruptRecord => continue,
            notes => notes?,
        };
        let mut stray = Vec::new();
        for (annotated, blob) in notes {
            if store.objects.is_there(annotated)? {
                continue;
            }
            let text = blob_bytes(&store.objects, blob).unwrap_or_default();
            let id = serde_json::from_slice(&text).ok();
            let id = id.as_ref().and_then(snapshot_in);
            // One that came from another repository before its snapshot did was never on a commit.
            if annotated == store.placeholder(id)? {
                continue;
            }
            stray.push(annotated);
            if let Some(stored) = id.and_then(|id| store.read_id(&id).ok()) {
                now.insert(annotated, stored.commit);
            }
        }
        if !stray.is_empty() {
            gone.push((record, tip, stray));
        }
    }
    let found = gone.into_iter().map(|(record, tip, stray)| {
        // A conversation names no snapshot: its issue, which annotates the same commit, does.
        let known = stray
            .into_iter()
            .filter_map(|old| Some((old, *now.get(&old)?)));
        (record, tip, known.collect::<BTreeMap<_, _>>())
    });
    Ok(found.filter(|(_, _, moved)| !moved.is_empty()).collect())
}

/// The snapshot that a note is about.
fn snapshot_in(note: &Value) -> Option<SnapshotId> {
    match note {
        Value::Object(map) => {
            let own = map.get("snapshot_id").and_then(Value::as_str);
            own.and_then(SnapshotId::parse).or_else(|| {
                map.values()
                    .filter(|it| it.is_array())
                    .find_map(snapshot_in)
            })
        }
        Value::Array(list) => list.iter().find_map(snapshot_in),
        _ => None,
    }
}

/// Moves them along, and says so.
///
/// # Errors
/// As [`find`]; a note or ref cannot be written.
pub fn follow(ctx: &Context<'_>, store: &Store) -> Result<Vec<String>> {
    let mut count = 0;
    for (record, tip, moved) in find(store)? {
        let mut made = NewObjects::new(store.objects.format());
        let to = |oid: Oid| moved.get(&oid).copied();
        let into = (&store.objects, &mut made);
        let message = "follow rewritten snapshots";
        let now = ctx.env.now();
        let Some(next) = prepare_moved_notes(into, tip, (&to, joined), message, now)? else {
            continue;
        };
        let mut edit = store.refs.transaction();
        for name in record.note_ref().into_iter().chain([record.record_ref()]) {
            if store.refs.read(&name)? == Some(tip) {
                edit.update(&name, next, tip);
            }
        }
        match edit.commit_with(&store.objects, &made) {
            // Whoever was faster has changed it; the next time finds it.
            Err(error) if error.is_lost_race() => continue,
            done => done?,
        }
        count += 1;
    }
    let told = (count > 0).then(|| {
        let records = crate::text::count(count, "record");
        format!("the notes of {records} are on the commits that snapshots have now")
    });
    Ok(told.into_iter().collect())
}

/// The one note that two become which come to one commit: the newer, which is `there`, with the entries that only the other has before its
/// own. None: one of them cannot be read. The notes of issues and conversations are the only ones of their refs.
pub fn joined(other: &[u8], there: &[u8]) -> Option<Vec<u8>> {
    let other: Json = serde_json::from_slice(other).ok()?;
    let mut json: Json = serde_json::from_slice(there).ok()?;
    for (name, value) in other {
        match (json.entry(name), value) {
            (Entry::Vacant(place), value) => {
                place.insert(value);
            }
            (Entry::Occupied(mut place), Value::Array(mut all)) => {
                if let Some(newer) = place.get_mut().as_array_mut() {
                    all.retain(|entry| !newer.contains(entry));
                    newer.splice(..0, all);
                }
            }
            (Entry::Occupied(_), _) => {}
        }
    }
    Some(json::pretty(&json))
}
