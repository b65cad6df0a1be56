//! Trees of an index that are kept in memory, beside those that are stored.

use std::collections::HashMap;

use super::TreeSink;
use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::{ObjectKind, ObjectStore};

/// Keeps the trees that are built, until it is known where they go, or for one comparison.
pub struct MemoryTrees<'a> {
    objects: &'a ObjectStore,
    /// The bytes of those that are not stored.
    pub made: HashMap<Oid, Vec<u8>>,
}

impl<'a> MemoryTrees<'a> {
    /// None yet, beside what these objects have.
    pub fn new(objects: &'a ObjectStore) -> Self {
        Self {
            objects,
            made: HashMap::new(),
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
        self.objects.contains(oid)
    }

    fn put(&mut self, content: &[u8]) -> Result<Oid> {
        let oid = self.objects.hash(ObjectKind::Tree, content)?;
        self.made.insert(oid, content.to_vec());
        Ok(oid)
    }
}
