//! New objects that wait for the refs that will hold them.
//!
//! They are few and small, such as a note, its tree and its commit, and stay in memory until they are safe: what a prune takes
//! in between can be written again. [`Transaction::commit_with`](crate::git::refs::Transaction::commit_with) has the order.

use super::ObjectKind;
use super::hash::hash;
use super::keep::KeptPack;
use super::store::ObjectStore;
use super::writer::{ObjectWriter, WriteMode};
use crate::error::Result;
use crate::git::process::Maker;
use crate::git::{ObjectFormat, Oid};

/// Objects to be written together.
#[derive(Debug)]
pub struct NewObjects {
    format: ObjectFormat,
    all: Vec<(Oid, ObjectKind, Vec<u8>)>,
}

/// How new objects are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// A file each.
    Loose,
    /// One pack, kept.
    Pack,
    /// One pack, kept, and on disk.
    SyncedPack,
}

impl NewObjects {
    /// None so far, for a repository of this format.
    pub fn new(format: ObjectFormat) -> Self {
        Self {
            format,
            all: Vec::new(),
        }
    }

    /// Adds an object and returns its id. Nothing is written.
    ///
    /// # Errors
    /// A collision attack.
    pub fn put(&mut self, kind: ObjectKind, data: &[u8]) -> Result<Oid> {
        let oid = hash(self.format, kind, data)?;
        if self.all.iter().all(|(known, _, _)| *known != oid) {
            self.all.push((oid, kind, data.to_vec()));
        }
        Ok(oid)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Writes them all, also those that exist: a prune under way may be about to take them.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn write(&self, store: &ObjectStore, storage: Storage) -> Result<Option<KeptPack>> {
        let maker = Maker::this();
        let mode = match storage {
            Storage::Loose => WriteMode::Loose,
            Storage::Pack | Storage::SyncedPack => WriteMode::Pack {
                keep_note: format!("tw record {} {}", maker.pid(), maker.start()),
                sync: storage == Storage::SyncedPack,
            },
        };
        let writer = ObjectWriter::new(store, mode)?.afresh();
        for (_, kind, data) in &self.all {
            writer.put(*kind, data)?;
        }
        Ok(writer.finish()?.pack)
    }

    /// Whether all are there, looked for anew.
    pub fn are_there(&self, store: &ObjectStore) -> bool {
        store.refresh();
        self.all.iter().all(|(oid, _, _)| store.contains(*oid))
    }
}
