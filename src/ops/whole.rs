//! Whether all that hangs on commits of ours is there.

use std::collections::HashSet;

use crate::git::Oid;
use crate::git::tree::{self, GITLINK_MODE};
use crate::store::Store;

/// A quick look whether the objects of commits of ours are there, sharing what it has seen.
pub struct Whole<'a> {
    store: &'a Store,
    good: HashSet<Oid>,
}

impl<'a> Whole<'a> {
    /// Has seen nothing.
    pub fn new(store: &'a Store) -> Self {
        Self {
            store,
            good: HashSet::new(),
        }
    }

    /// Whether a commit of ours is there with its tree, and so are its parents of ours; of a commit of the user's, itself
    /// and its top tree.
    pub fn commit(&mut self, oid: Oid) -> bool {
        if self.good.contains(&oid) {
            return true;
        }
        let Ok(raw) = self.store.commit(oid) else {
            return false;
        };
        let ours = |message: &[u8]| {
            message.starts_with(b"snapshot: ") || message.starts_with(b"timewarp: ")
        };
        let whole = if ours(&raw.message) {
            self.tree(raw.tree) && raw.parents.iter().all(|parent| self.commit(*parent))
        } else {
            // A user's history is long, and git's own refs hold it.
            self.store.objects.contains(raw.tree)
        };
        if whole {
            self.good.insert(oid);
        }
        whole
    }

    /// Whether a tree and all that is beneath it is there.
    pub fn tree(&mut self, root: Oid) -> bool {
        let mut seen = Vec::new();
        let whole = self.walk(root, &mut seen);
        if !whole {
            // Something beneath one of these is missing.
            for oid in seen {
                self.good.remove(&oid);
            }
        }
        whole
    }

    fn walk(&mut self, root: Oid, seen: &mut Vec<Oid>) -> bool {
        let mut pending = vec![root];
        while let Some(oid) = pending.pop() {
            // Noted before what is beneath it was looked at, so that no tree is walked twice; taken back when something is missing.
            if !self.good.insert(oid) {
                continue;
            }
            seen.push(oid);
            let Ok(bytes) = self.store.objects.read_tree(oid) else {
                return false;
            };
            let Ok(entries) = tree::parse(&bytes, oid.format()) else {
                return false;
            };
            for entry in entries {
                let node = entry.node;
                if node.is_dir() {
                    pending.push(node.oid);
                } else if node.mode != GITLINK_MODE && !self.blob(node.oid) {
                    return false;
                }
            }
        }
        true
    }

    fn blob(&mut self, oid: Oid) -> bool {
        self.good.contains(&oid) || (self.store.objects.contains(oid) && self.good.insert(oid))
    }
}
