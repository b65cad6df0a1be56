//! The names that people give to snapshots: what may be one, and giving one.

use crate::error::Result;
use crate::git::refs::Reason;
use crate::ops::Context;
use crate::ops::record::label_taken;
use crate::ops::redaction;
use crate::ops::refspecs;
use crate::store::Store;
use crate::store::address::valid_label_among;
use crate::store::id::IdKind;
use crate::store::names;
use crate::store::stored::{Stored, not_found};

/// Checks that a name may be a label: it reads as no other address, is no part of any id there is, and holds no secret.
///
/// # Errors
/// `INVALID_LABEL`.
pub fn check_label(ctx: &Context<'_>, store: &Store, name: &str) -> Result<()> {
    let mut ids: Vec<String> = Vec::new();
    for kind in IdKind::ALL {
        ids.extend(store.ids(kind)?.iter().map(ToString::to_string));
    }
    valid_label_among(name, ids.iter().map(String::as_str))?;
    redaction::check_name(ctx, name)
}

/// Gives a snapshot a label that was checked. One that stands there already is no error. Answers what one should know of it.
///
/// # Errors
/// `INVALID_LABEL` when another snapshot has it, `SNAPSHOT_NOT_FOUND` when this one was forgotten meanwhile: then it is named as
/// `address` names it.
pub fn give_label(
    ctx: &Context<'_>,
    stored: &Stored,
    name: &str,
    address: &str,
) -> Result<Vec<String>> {
    let store = ctx.store()?;
    store.give_ref(stored)?;
    let place = names::snapshot_ref(&stored.id);
    let mut edit = store.refs.transaction();
    // A prune at the same time sees the label, or this sees that the snapshot is gone.
    edit.verify(&place, stored.commit);
    edit.create(&names::label_ref(name), stored.commit);
    let Err(error) = edit.commit() else {
        return Ok(refspecs::told_once(ctx, store));
    };
    match error.reason {
        Reason::Exists { found } if found == Some(stored.commit) => Ok(Vec::new()),
        Reason::Exists { .. } => Err(label_taken(name)),
        Reason::Changed { .. } if error.name == place => Err(not_found(address)),
        _ => Err(error.into()),
    }
}
