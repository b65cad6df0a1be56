//! Records that our side of what is shared holds and that have no ref here any more.
//!
//! No command deletes an issue or its conversation: their refs were lost, by a fetch that prunes, a clean-up, or refs out of an older
//! backup. Nobody else is told that they are deleted; they come back as they were shared last.

use std::collections::BTreeSet;

use super::fields::Kind;
use super::record::Shared;
use super::setup::author;
use super::taken;
use super::tree::{Key, SharedTree};
use crate::error::{Code, Result};
use crate::git::depot::Depot;
use crate::ops::Context;
use crate::store::Store;
use crate::store::names::{Record, RecordKind, SHARED_OWN};

/// What was lost of a side. Conversations first: an issue says whether it has one.
///
/// # Errors
/// Our refs, or what is shared, cannot be read.
pub fn find(
    store: &Store,
    depot: Option<&Depot>,
    tree: &mut SharedTree,
) -> Result<Vec<(Key, Shared)>> {
    let here = ids_here(store, RecordKind::Issues)?;
    let issues = missing(depot, tree, Kind::Issue, &here)?;
    let has_issue = |id: &String| here.contains(id) || issues.iter().any(|(key, _)| key.1 == *id);
    let mut found = missing(
        depot,
        tree,
        Kind::Chat,
        &ids_here(store, RecordKind::Chats)?,
    )?;
    // One without an issue is cleared away.
    found.retain(|(key, _)| has_issue(&key.1));
    found.extend(issues);
    Ok(found)
}

fn missing(
    depot: Option<&Depot>,
    tree: &mut SharedTree,
    kind: Kind,
    here: &BTreeSet<String>,
) -> Result<Vec<(Key, Shared)>> {
    let keys = tree.records.keys();
    let gone = keys.filter(|key| key.0 == kind && !here.contains(&key.1));
    let mut found = Vec::new();
    for key in gone.cloned().collect::<Vec<Key>>() {
        let shared = tree.record(depot, &key)?;
        // What was deleted is not missed.
        let shared = shared.filter(|shared| shared.deletion().is_none());
        found.extend(shared.map(|shared| (key, shared)));
    }
    Ok(found)
}

fn ids_here(store: &Store, kind: RecordKind) -> Result<BTreeSet<String>> {
    let names = store.record_names(kind)?.into_iter();
    Ok(names
        .filter_map(|name| match name {
            Record::Issue(id) | Record::Chat(id) => Some(id.to_string()),
            Record::Session(_) | Record::Label(_) => None,
        })
        .collect())
}

/// Brings it back into our own records, and says so. A pull that died needs not be carried on first: what it had put is here, and so not lost.
///
/// # Errors
/// As [`find`]; our refs cannot be written.
pub fn bring_back(ctx: &Context<'_>, store: &Store, depot: &Depot) -> Result<Vec<String>> {
    let mut tree = SharedTree::of_own(Some(depot), depot.refs.read(SHARED_OWN)?)?;
    let author = author(ctx, store)?;
    let mut said = Vec::new();
    for (key, shared) in find(store, Some(depot), &mut tree)? {
        let what = format!("{} {}", key.0.as_str(), key.1);
        match taken::put_back(ctx, store, &key, &shared, &author) {
            Ok(()) => said.push(format!(
                "{what} had lost its refs: it is here again, as it was shared last"
            )),
            Err(error) if matches!(error.code(), Code::Io | Code::NoSpace | Code::Busy) => {
                return Err(error);
            }
            Err(error) => said.push(format!(
                "{what} has lost its refs and cannot be brought back: {}",
                error.message()
            )),
        }
    }
    Ok(said)
}
