//! Labels: names that hold a snapshot, unique in the repository.

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::address;
use super::outcome::{Labelled, SnapshotView};
use super::snapshots::{check_label, give_label, view};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::json;
use crate::store::Store;
use crate::store::id::IdKind;
use crate::store::names;
use crate::store::records::Json;
use crate::store::snapshot::VERSION;

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

/// Answer of `label` without arguments.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Labels {
    /// By name.
    pub labels: Vec<NamedSnapshot>,
}

/// A label and what it names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct NamedSnapshot {
    /// The label.
    pub label: String,
    /// The snapshot; null when its record cannot be read.
    pub snapshot_id: Option<String>,
    /// Its commit.
    #[serde(serialize_with = "json::printed")]
    #[schemars(with = "String")]
    pub commit: Oid,
    /// Its title.
    pub title: Option<String>,
    /// When it was taken: RFC 3339, UTC.
    pub created_at: Option<String>,
}

/// Every label of the repository, sorted by name.
///
/// # Errors
/// When refs cannot be read. A label of something that cannot be read is listed all the same.
pub fn all(ctx: &Context<'_>) -> Result<Labels> {
    let store = ctx.store()?;
    let mut labels = Vec::new();
    for (commit, names) in store.labels()? {
        let stored = address::with_commit(store, commit).ok().flatten();
        for label in names {
            let stored = stored.as_ref();
            labels.push(NamedSnapshot {
                label,
                snapshot_id: stored.map(|stored| stored.id.to_string()),
                commit,
                title: stored.map(|stored| stored.title.clone()),
                created_at: stored.map(|stored| stored.record.created_at.clone()),
            });
        }
    }
    labels.sort_by(|a, b| a.label.cmp(&b.label));
    Ok(Labels { labels })
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
    check_label(ctx, store, name)?;
    let stored = address::resolve(ctx, store, address)?;
    let notices = give_label(ctx, &stored, name, address)?;
    Ok(Labelled {
        snapshot_id: stored.id.to_string(),
        snapshot: view(store, &stored)?,
        label: name.to_owned(),
        removed: false,
        notices,
    })
}

fn remove(ctx: &Context<'_>, store: &Store, name: &str) -> Result<Labelled> {
    let missing = || {
        Error::new(Code::InvalidLabel, format!("label '{name}' not found"))
            .hint("'tw label' lists the labels there are")
    };
    if !names::is_component(name) {
        return Err(missing());
    }
    let place = names::label_ref(name);
    let named = match store.refs.read(&place) {
        // A power cut left nothing of it that says what it names.
        Err(error) if error.code() == Code::CorruptRecord => None,
        read => Some(read?.ok_or_else(missing)?),
    };
    // What it names may be gone or damaged: the label can be taken away all the same.
    let stored = address::resolve(ctx, store, &format!("label:{name}"));
    let mut edit = store.refs.transaction();
    edit.delete(&place, named);
    edit.commit()?;
    let commit = named.unwrap_or_else(|| store.objects.format().null());
    let snapshot = match stored.and_then(|stored| view(store, &stored)) {
        Ok(view) => view,
        Err(_) => unreadable(commit),
    };
    Ok(Labelled {
        snapshot_id: snapshot.id.clone(),
        snapshot,
        label: name.to_owned(),
        removed: true,
        notices: Vec::new(),
    })
}

/// `commit`: the null id where nothing says which it was.
fn unreadable(commit: Oid) -> SnapshotView {
    let mut json = Json::new();
    json.insert("version".to_owned(), VERSION.into());
    json.insert("created_at".to_owned(), "".into());
    SnapshotView {
        id: commit.to_string(),
        kind: IdKind::Snapshot.word().to_owned(),
        commit,
        tree: commit.format().null(),
        title: "not readable".to_owned(),
        labels: Vec::new(),
        json,
        foreign: false,
    }
}
