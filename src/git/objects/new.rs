//! New objects that wait for the refs that will hold them.
//!
//! They are few and mostly small, such as a note, its tree and its commit, and stay in memory, large ones packed, until they are safe: what a
//! prune takes in between can be written again. [`Transaction::commit_with`](crate::git::refs::Transaction::commit_with) has the order.

use std::sync::Arc;

use super::ObjectKind;
use super::hash::hash;
use super::packed::Packed;
use super::store::ObjectStore;
use super::writer::{ObjectWriter, WriteMode, Written};
use crate::error::Result;
use crate::git::fs::Durable;
use crate::git::process::Maker;
use crate::git::{ObjectFormat, Oid};

/// Objects to be written together.
#[derive(Debug)]
pub struct NewObjects {
    format: ObjectFormat,
    all: Vec<(Oid, ObjectKind, Arc<Packed>)>,
}

/// Objects that no ref holds yet, and that can be written as often as it takes until one does.
pub trait Unheld {
    /// Whether there is none.
    fn is_empty(&self) -> bool;

    /// Writes them all, as `storage` says. Tells which were written, and which were there and are relied on.
    ///
    /// # Errors
    /// The disk refuses.
    fn write(&self, store: &ObjectStore, storage: Storage) -> Result<Written>;
}

/// How new objects are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// As it costs least: loose, or without those that are there. A gc under way may take what is not in a kept pack.
    Cheapest,
    /// One pack, kept, with all of them.
    Pack,
    /// One pack, kept, with all of them, and on disk.
    SyncedPack,
}

impl Storage {
    /// One kept pack, whose `.keep` says what it is for in one word.
    pub(super) fn in_pack(self, word: &str) -> WriteMode {
        let maker = Maker::this();
        WriteMode::Pack {
            keep_note: format!("tw {word} {} {}", maker.pid(), maker.start()),
            durable: match self {
                Self::SyncedPack => Durable::Yes,
                Self::Cheapest | Self::Pack => Durable::No,
            },
        }
    }
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
            self.all.push((oid, kind, Arc::new(Packed::new(data))));
        }
        Ok(oid)
    }

    /// The same with what is packed already, which is held once.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_packed(&mut self, kind: ObjectKind, data: &Arc<Packed>) -> Result<Oid> {
        let oid = hash(self.format, kind, &data.bytes())?;
        if self.all.iter().all(|(known, _, _)| *known != oid) {
            self.all.push((oid, kind, Arc::clone(data)));
        }
        Ok(oid)
    }

    /// Hands them to a writer.
    pub(super) fn put_all(&self, writer: &ObjectWriter<'_>) -> Result<()> {
        for (_, kind, data) in &self.all {
            writer.put(*kind, &data.bytes())?;
        }
        Ok(())
    }
}

impl Unheld for NewObjects {
    fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Also those that exist: a prune under way may be about to take them.
    fn write(&self, store: &ObjectStore, storage: Storage) -> Result<Written> {
        let mode = match storage {
            Storage::Cheapest => WriteMode::Loose,
            Storage::Pack | Storage::SyncedPack => storage.in_pack("record"),
        };
        let writer = ObjectWriter::new(store, mode)?.afresh();
        self.put_all(&writer)?;
        writer.finish()
    }
}
