//! Pulls that died while they put into our records what others have.
//!
//! A pull writes in two places: into our records, one after the other, and into the tree of our side, by which it is known what of them was
//! edited here. Before the first record is written, what our side becomes stands in the depot under a ref of its own, and the commit of each
//! record that is written names the version that it holds. So it is known of each record whether the pull came to it, whatever was edited in
//! it since: if so, that version is what our side says of it, else all is as it was.
//!
//! Promises: whenever a pull is killed, the next pull or push takes nothing that others wrote for an edit made here, and loses none that was.
//! What stands under that ref for longer than it is needed changes nothing: our side knows all of it.
//! Leaves out sessions and experiments: those of others are in the tree of our side alone.

use std::collections::BTreeMap;

use super::fields::Kind;
use super::taken::record_of;
use super::tree::{Key, SharedTree};
use super::waiting::Waiting;
use crate::error::Result;
use crate::git::Oid;
use crate::git::depot::Depot;
use crate::git::objects::NewObjects;
use crate::store::Store;
use crate::store::names::{SHARED_OWN, SHARED_TAKING};

/// Notes what our side becomes. Nothing of it is in our records yet.
///
/// # Errors
/// The depot cannot be written.
pub fn begin(depot: &Depot, new: &NewObjects, becomes: Oid) -> Result<()> {
    depot.set_refs(new, &[(SHARED_TAKING, becomes)])
}

/// Sets our side, which has all that was put into our records.
///
/// # Errors
/// The depot cannot be written.
pub fn end(depot: &Depot, new: &NewObjects, own: Oid) -> Result<()> {
    depot.set_and_delete_refs(new, &[(SHARED_OWN, own)], &[SHARED_TAKING])
}

/// The message of a commit that puts a version into one of our records.
pub fn message(kind: Kind, version: Oid) -> String {
    let kind = kind.as_str();
    format!("{kind}: as others have it\n\n{}", line(version))
}

fn line(version: Oid) -> String {
    format!("version: {version}")
}

/// Gives the tree of our side the records as a pull that died had put them, and answers which these are.
///
/// # Errors
/// What is in the depot cannot be read.
pub fn resume(
    store: &Store,
    depot: Option<&Depot>,
    own: &mut SharedTree,
) -> Result<BTreeMap<Key, Waiting>> {
    let becomes = match depot {
        Some(depot) => depot.refs.read(SHARED_TAKING)?,
        None => None,
    };
    let mut tree = SharedTree::of_own(depot, becomes)?;
    let mut found = BTreeMap::new();
    for (key, version) in tree.records.clone() {
        if own.records.get(&key) == Some(&version) || !is_put(store, &key, version) {
            continue;
        }
        let Some(put) = tree.record(depot, &key)? else {
            continue;
        };
        let known = own.record(depot, &key)?;
        if known.is_some_and(|known| known.merge(&put) == known) {
            continue;
        }
        own.unreadable.remove(&key);
        own.records.insert(key.clone(), version);
        found.insert(key.clone(), Waiting::new(&key, put));
    }
    Ok(found)
}

/// Whether a version was put into our record. One whose history cannot be read is looked at by its reader.
fn is_put(store: &Store, key: &Key, version: Oid) -> bool {
    let line = line(version);
    let tip = record_of(key).and_then(|name| store.record_tip(&name).ok()?);
    let mut at = tip.map(|(tip, _)| tip);
    while let Some(oid) = at {
        let Ok(commit) = store.objects.commit(oid) else {
            return false;
        };
        let message = String::from_utf8_lossy(&commit.message);
        if message.lines().any(|known| known == line) {
            return true;
        }
        at = commit.parents.first().copied();
    }
    false
}
