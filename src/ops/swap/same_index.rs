//! Whether an index has the entries that a snapshot recorded, whatever of their objects was there then and is there now.
//!
//! An entry whose object is not there stands beside the tree of the index, not in it. In a partial clone the object may come at any time: git
//! fetches it, or a file with the same bytes is stored. The same entry then stands in the tree. For a path in conflict the tree has HEAD's
//! entry, as far as that is there: its stages say all. An entry whose name is unsafe stands beside the tree always.

use std::collections::{BTreeMap, BTreeSet};

use super::newindex::stages;
use super::read_tree;
use crate::error::Result;
use crate::git::Oid;
use crate::git::index::{Entry, Index};
use crate::git::tree::{self, Node, ReadTree};
use crate::ops::capture::Capture;
use crate::store::Store;
use crate::store::stored::{IndexSide, part};

/// The entries that stand beside a tree.
#[derive(Default)]
pub struct Beside {
    /// Those whose objects were not there, or whose names are unsafe.
    merged: BTreeMap<Vec<u8>, Node>,
    /// The stages of conflicts.
    stages: BTreeMap<(Vec<u8>, u8), Node>,
}

impl Beside {
    fn of(lines: &[u8]) -> Result<Self> {
        let mut beside = Self::default();
        for (path, entry) in stages(lines)? {
            beside.add(path, &entry);
        }
        Ok(beside)
    }

    /// The conflicts of an index, and the entries at some positions, given in order; its tree has all others.
    pub fn of_index(index: &Index, left_out: &[usize]) -> Self {
        let mut beside = Self::default();
        for (at, (path, entry)) in index.iter().enumerate() {
            if entry.stage > 0 || left_out.binary_search(&at).is_ok() {
                beside.add(path.to_vec(), entry);
            }
        }
        beside
    }

    fn add(&mut self, path: Vec<u8>, entry: &Entry) {
        if entry.stage == 0 {
            self.merged.insert(path, entry.node());
        } else {
            self.stages.insert((path, entry.stage), entry.node());
        }
    }
}

/// Whether what is there has a snapshot's entries; marks and resolve-undo are not looked at.
///
/// # Errors
/// A tree cannot be read, or the snapshot's entries cannot.
pub(super) fn has_same_entries(
    store: &Store,
    side: &IndexSide,
    seen: &Capture<'_>,
) -> Result<bool> {
    let now = seen.index.tree_oid()?;
    if now == side.tree && seen.index.unmerged == unmerged(store, side)? {
        return Ok(true);
    }
    let read = |oid| read_tree(store, seen, oid);
    are_entries_of(
        store,
        side,
        (now, &Beside::of(&seen.index.unmerged)?),
        &read,
    )
}

/// As `git ls-files -s -z` prints them.
fn unmerged(store: &Store, side: &IndexSide) -> Result<Vec<u8>> {
    let lines = store.state_blob(side.state, part::UNMERGED)?;
    Ok(lines.unwrap_or_default())
}

/// Whether the entries of a tree and those beside it are a snapshot's. `trees` reads that tree, too.
///
/// # Errors
/// A tree cannot be read, or the entries of the snapshot cannot.
pub fn are_entries_of(
    store: &Store,
    side: &IndexSide,
    (now, beside): (Oid, &Beside),
    trees: &dyn ReadTree,
) -> Result<bool> {
    let then = Beside::of(&unmerged(store, side)?)?;
    let mut differing: BTreeMap<Vec<u8>, [Option<Node>; 2]> = BTreeMap::new();
    for change in tree::diff(trees, Some(side.tree), Some(now))? {
        differing.insert(change.path, [change.old, change.new]);
    }
    for (at, merged) in [&then.merged, &beside.merged].into_iter().enumerate() {
        for (path, node) in merged {
            differing.entry(path.clone()).or_default()[at] = Some(*node);
        }
    }
    let in_conflict: BTreeSet<&Vec<u8>> = then.stages.keys().map(|(path, _)| path).collect();
    let is_same = |(path, [old, new]): (&Vec<u8>, &[Option<Node>; 2])| {
        old == new || in_conflict.contains(path)
    };
    Ok(then.stages == beside.stages && differing.iter().all(is_same))
}
