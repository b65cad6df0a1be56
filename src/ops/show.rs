//! `tw show`: one snapshot, whole, and what it changed.

use super::Context;
use super::address;
use super::compare::{Beyond, Side, beside_head, sides};
use super::history::before;
use super::outcome::{Diff, Shown};
use super::pathspec::Pathspec;
use super::request::Show;
use super::snapshots::view;
use crate::error::{Code, Result};
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::snapshot::TakenIn;
use crate::store::stored::Stored;

/// Shows one snapshot whole, long lists included.
///
/// # Errors
/// As [`address::resolve`]; `USAGE` for a path outside the working tree; a damaged object.
pub fn show(ctx: &Context<'_>, request: &Show) -> Result<Shown> {
    let store = ctx.store()?;
    let stored = match &request.address {
        Some(wanted) => address::resolve(ctx, store, wanted)?,
        None => address::resolve(ctx, store, &address::usual(store)?)?,
    };
    let diff = request
        .compared
        .then(|| changes(ctx, store, &stored, request))
        .transpose()?;
    let mut view = view(store, &stored)?;
    let mut whole = stored.record.clone();
    let lists = store.lists(&stored)?;
    whole.set_lists_whole(&lists);
    if let Ok(serde_json::Value::Object(map)) = serde_json::to_value(&whole) {
        let unproven = view.json.get("seeds_unproven").cloned();
        for (key, value) in map {
            view.json.insert(key, value);
        }
        // Known better by now than when it was recorded.
        match unproven {
            Some(count) => view.json.insert("seeds_unproven".into(), count),
            None => view.json.remove("seeds_unproven"),
        };
    }
    Ok(Shown {
        snapshot: view,
        diff,
    })
}

fn changes(ctx: &Context<'_>, store: &Store, stored: &Stored, request: &Show) -> Result<Diff> {
    let only = Pathspec::parse(ctx, &request.paths)?;
    match base(store, stored)? {
        Some(base) => {
            let both = (&Side::of(&base), &Side::of(stored));
            sides(ctx, store, both, &only, request.patches, Beyond::Told)
        }
        None => beside_head(ctx, store, stored, &only, request.patches),
    }
}

/// What it was made from: the snapshot before it; of what was made in the past, the one travelled to. None: only HEAD is known.
fn base(store: &Store, stored: &Stored) -> Result<Option<Stored>> {
    if stored.record.taken_in != TakenIn::Past {
        return before(store, stored);
    }
    // What the way back put in place was saved when the past was entered.
    let Some(saved) = target(store, stored)? else {
        return Ok(None);
    };
    target(store, &saved)
}

/// What the swap put in place for which it was taken, where that is still kept.
fn target(store: &Store, stored: &Stored) -> Result<Option<Stored>> {
    let id = stored.record.target_id.as_deref();
    let Some(id) = id.and_then(SnapshotId::parse) else {
        return Ok(None);
    };
    match store.read_id(&id) {
        Ok(stored) => Ok(Some(stored)),
        Err(error) if error.code() == Code::SnapshotNotFound => Ok(None),
        Err(error) => Err(error),
    }
}
