//! Trees of an index that are kept in memory, beside those that are stored.

use std::collections::{HashMap, HashSet};

use super::{CacheTree, TreeSink};
use crate::error::Result;
use crate::git::objects::{ObjectKind, ObjectStore};
use crate::git::{Oid, tree};

/// Keeps the trees that are built, until it is known where they go, or for one comparison.
pub struct MemoryTrees<'a> {
    objects: &'a ObjectStore,
    /// The bytes of those that are not stored.
    pub made: HashMap<Oid, Vec<u8>>,
    /// Stored ones that were whole when an earlier snapshot named them.
    held: HashSet<Oid>,
}

impl<'a> MemoryTrees<'a> {
    /// None yet, beside what these objects have.
    pub fn new(objects: &'a ObjectStore) -> Self {
        Self {
            objects,
            made: HashMap::new(),
            held: HashSet::new(),
        }
    }

    /// Learns which trees of the cache tree an earlier snapshot's `known` has: they were whole then, so that it is enough when their
    /// names are there still. Only trees that differ are read.
    pub fn hold(&mut self, known: Oid, cache: &CacheTree) {
        if cache.valid.is_some_and(|valid| valid.oid == known) {
            self.hold_all(cache);
            return;
        }
        let read = self.objects.read_tree(known);
        let entries = |bytes| tree::parse_any_names(bytes, self.objects.format());
        let entries = read.as_deref().ok().and_then(|bytes| entries(bytes).ok());
        for entry in entries.into_iter().flatten() {
            if let Some(child) = cache.child(entry.name).filter(|_| entry.node.is_dir()) {
                self.hold(entry.node.oid, child);
            }
        }
    }

    fn hold_all(&mut self, cache: &CacheTree) {
        self.held.extend(cache.valid.map(|valid| valid.oid));
        for (_, child) in cache.children() {
            self.hold_all(child);
        }
    }

    /// The bytes of a tree, be it kept here or stored.
    ///
    /// # Errors
    /// It is missing or damaged.
    pub fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        match self.made.get(&oid) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.objects.read_tree(oid),
        }
    }
}

impl MemoryTrees<'_> {
    /// As [`Self::read`], of a stored tree only what has safe names: it may be of the user's own commits.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_safe(&self, oid: Oid) -> Result<Vec<u8>> {
        match self.made.get(&oid) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.objects.read_safe_tree(oid),
        }
    }
}

impl TreeSink for MemoryTrees<'_> {
    fn has(&mut self, oid: Oid) -> bool {
        self.held.contains(&oid) && self.objects.owns(oid) || self.objects.contains(oid)
    }

    fn put(&mut self, content: &[u8]) -> Result<Oid> {
        let oid = self.objects.hash(ObjectKind::Tree, content)?;
        self.made.insert(oid, content.to_vec());
        Ok(oid)
    }
}
