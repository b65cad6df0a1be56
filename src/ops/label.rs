//! Labels: names that hold a snapshot, unique in the repository.

use super::Context;
use super::address;
use super::outcome::{Labelled, SnapshotView};
use super::redaction;
use super::snapshots::view;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::refs::Reason;
use crate::store::Store;
use crate::store::address::valid_label_among;
use crate::store::id::IdKind;
use crate::store::names;
use crate::store::stored::not_found;

/// Label a snapshot.
#[derive(Debug, Clone, Default)]
pub struct Label {
    /// Which; for a removal it may be empty.
    pub address: Option<String>,
    /// The label.
    pub name: String,
    /// Take it away.
    pub remove: bool,
}

/// Gives a snapshot a label, or takes a label away. A label that stands there already is no error.
///
/// # Errors
/// `INVALID_LABEL` when the name cannot be one, is taken, or (for a removal) names nothing; as [`address::resolve`].
pub fn label(ctx: &Context<'_>, request: &Label) -> Result<Labelled> {
    let store = ctx.store()?;
    if request.remove {
        return remove(ctx, store, &request.name);
    }
    let address = request
        .address
        .as_deref()
        .ok_or_else(|| Error::new(Code::Usage, "no snapshot is given to label"))?;
    add(ctx, store, address, &request.name)
}

fn add(ctx: &Context<'_>, store: &Store, address: &str, name: &str) -> Result<Labelled> {
    let mut ids = Vec::new();
    for kind in IdKind::ALL {
        ids.extend(store.ids(kind)?.iter().map(ToString::to_string));
    }
    valid_label_among(name, ids.iter().map(String::as_str))?;
    redaction::check_name(ctx, name)?;
    let stored = address::resolve(ctx, store, address)?;
    let place = names::snapshot_ref(&stored.id);
    let mut edit = store.refs.transaction();
    // A prune at the same time sees the label, or this sees that the snapshot is gone.
    edit.verify(&place, stored.commit);
    edit.create(&names::label_ref(name), stored.commit);
    if let Err(error) = edit.commit() {
        match error.reason {
            Reason::Exists { found } if found == Some(stored.commit) => {}
            Reason::Exists { .. } => return Err(taken(name)),
            Reason::Changed { .. } if error.name == place => return Err(not_found(address)),
            _ => return Err(error.into()),
        }
    }
    Ok(Labelled {
        snapshot_id: stored.id.to_string(),
        snapshot: view(store, &stored)?,
        label: name.to_owned(),
        removed: false,
    })
}

fn taken(name: &str) -> Error {
    Error::new(Code::InvalidLabel, format!("label '{name}' is taken"))
        .hint(format!("run 'tw label --remove {name}' first"))
}

fn remove(ctx: &Context<'_>, store: &Store, name: &str) -> Result<Labelled> {
    let missing = || {
        Error::new(Code::InvalidLabel, format!("there is no label '{name}'"))
            .hint("run 'tw list' to see labels")
    };
    if !names::is_component(name) {
        return Err(missing());
    }
    let place = names::label_ref(name);
    let commit = store.refs.read(&place)?.ok_or_else(missing)?;
    // What it names may be gone or damaged: the label can be taken away all the same.
    let stored = address::resolve(ctx, store, &format!("label:{name}"));
    let mut edit = store.refs.transaction();
    edit.delete(&place, Some(commit));
    edit.commit()?;
    let snapshot = match stored.and_then(|stored| view(store, &stored)) {
        Ok(view) => view,
        Err(_) => unreadable(commit),
    };
    Ok(Labelled {
        snapshot_id: snapshot.id.clone(),
        snapshot,
        label: name.to_owned(),
        removed: true,
    })
}

fn unreadable(commit: Oid) -> SnapshotView {
    SnapshotView {
        id: commit.to_string(),
        kind: IdKind::Snapshot.word().to_owned(),
        commit,
        tree: Oid::ZERO_SHA1,
        title: "not readable".to_owned(),
        json: serde_json::Map::new(),
        foreign: false,
    }
}
