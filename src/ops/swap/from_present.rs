//! What of the present is in a past as a travel from the present enters it: files that the snapshot's rules leave out, and that the
//! present's do not.
//!
//! They stay where they are, so that the past builds and runs. A hop away from that past may take them along; a hop that leads to it, or the
//! undo of one that led away, brings them back from the present's backup.

use std::collections::BTreeMap;

use super::extras::stored_extras;
use super::goal::SnapshotAim;
use super::present_own::PresentOwn;
use crate::error::Result;
use crate::git::access::Access;
use crate::git::path;
use crate::git::tree::{self, Change, Node};
use crate::ops::capture::Capture;
use crate::ops::swap::read_tree;
use crate::store::Store;
use crate::worktree::plan::Extras;

/// Files of the present's backup, and the directories over them that the snapshot lacks.
pub(super) struct FromPresent {
    nodes: BTreeMap<Vec<u8>, Node>,
    /// Of all of the backup.
    extras: Extras,
}

impl FromPresent {
    /// Those that `leaves_out`, which judges for the snapshot, says that it leaves out. None where there are none.
    ///
    /// # Errors
    /// Trees or lists cannot be read.
    pub(super) fn of(
        store: &Store,
        aim: &SnapshotAim<'_>,
        present: &PresentOwn<'_>,
        leaves_out: &dyn Fn(&[u8]) -> Result<bool>,
    ) -> Result<Option<Self>> {
        let (snapshot, backup) = (aim.stored, present.backup());
        let mut nodes = BTreeMap::new();
        for change in tree::diff(&store.objects, Some(snapshot.tree), Some(backup.tree))? {
            let (path, Some(node)) = (change.path, change.new) else {
                continue;
            };
            let is_one = change.old.is_none() && !node.is_gitlink() && !present.was_absent(&path);
            if !is_one || aim.extras.leads_to_empty_dir(&path) || !leaves_out(&path)? {
                continue;
            }
            let mut missing = BTreeMap::new();
            let mut is_free = true;
            for at in path::with_parents(&path) {
                match tree::find(&store.objects, snapshot.tree, at)? {
                    // What the snapshot has in its place goes there.
                    Some(there) => is_free &= there.is_dir() && at != path,
                    None if aim.extras.leads_to_empty_dir(at) => {}
                    None => missing.extend(
                        tree::find(&store.objects, backup.tree, at)?
                            .map(|node| (at.to_vec(), node)),
                    ),
                }
            }
            if is_free {
                nodes.extend(missing);
            }
        }
        if nodes.is_empty() {
            return Ok(None);
        }
        let extras = stored_extras(store, backup)?;
        Ok(Some(Self { nodes, extras }))
    }

    /// Has the changes that lead to the snapshot lead to these as well.
    ///
    /// # Errors
    /// The trees of the capture cannot be read.
    pub(super) fn join(
        &self,
        changes: Vec<Change>,
        store: &Store,
        capture: &Capture<'_>,
    ) -> Result<Vec<Change>> {
        let read = |oid| read_tree(store, capture, oid);
        let changes = changes.into_iter();
        let mut joined: BTreeMap<Vec<u8>, Change> = changes
            .map(|change| (change.path.clone(), change))
            .collect();
        for (path, node) in self.nodes.iter().filter(|(_, node)| !node.is_dir()) {
            let old = tree::find(&read, capture.tree, path)?.filter(|old| !old.is_dir());
            let (path, new) = (path.clone(), Some(*node));
            if old == new {
                joined.remove(&path);
            } else {
                joined.insert(path.clone(), Change { path, old, new });
            }
        }
        Ok(joined.into_values().collect())
    }

    /// The snapshot's extras with the permission bits, owners and attributes of these.
    pub(super) fn extras(&self, snapshot: &Extras) -> Extras {
        let mut extras = snapshot.clone();
        for (path, node) in &self.nodes {
            let bits = self.extras.permissions(path, node.mode);
            extras.modes.insert(path.clone(), bits);
            let withheld = self.extras.withheld.get(path);
            extras
                .withheld
                .extend(withheld.map(|lost| (path.clone(), lost.clone())));
        }
        extras.access.paths.extend(self.access());
        extras
    }

    /// Owner, group and attributes of these, as far as they are known.
    pub(super) fn access(&self) -> BTreeMap<Vec<u8>, Access> {
        let known = self.nodes.keys().filter_map(|path| {
            let access = self.extras.access.of(path)?;
            Some((path.clone(), access.into_owned()))
        });
        known.collect()
    }

    /// The node of one of these.
    pub(super) fn node(&self, path: &[u8]) -> Option<Node> {
        self.nodes.get(path).copied()
    }
}
