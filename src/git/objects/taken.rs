//! Objects of another store that come here: all that hangs on some trees or commits, with what is new beside them.
//!
//! They go through the one writer, into a pack of their own that is kept until a ref holds them
//! ([`Transaction::commit_with`](crate::git::refs::Transaction::commit_with)). What is here already is not copied, unless a gc may be
//! about to take it. Everything is looked at, also beneath a tree that is here: nobody knows of an object that no ref holds whether all that it
//! leads to is still there. Each object has to be of the kind that what leads to it says, and to have the id that it is read by; whether names and
//! modes are fit to be here is for whoever takes a tree to say.

use std::collections::HashSet;

use super::ObjectKind;
use super::new::{NewObjects, Storage, Unheld};
use super::read::{expect_kind, missing};
use super::store::ObjectStore;
use super::writer::{ObjectWriter, Written, damaged};
use crate::error::{Code, Error, Result};
use crate::git::commit::RawCommit;
use crate::git::tree;
use crate::git::{Oid, threads};

/// What comes from another store.
pub struct TakenObjects<'a> {
    /// Where it is.
    pub from: &'a ObjectStore,
    /// Trees and commits; all that they lead to comes along.
    pub roots: &'a [(ObjectKind, Oid)],
    /// What is new beside it.
    pub new: &'a NewObjects,
    /// A commit that stays: of what others lend, its files are not copied.
    pub beside: Option<Oid>,
    /// More bytes than these are not written.
    pub most: Option<u64>,
}

impl Unheld for TakenObjects<'_> {
    fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.new.is_empty()
    }

    fn write(&self, store: &ObjectStore, storage: Storage) -> Result<Written> {
        let writer = ObjectWriter::new(store, storage.in_pack("share"))?;
        let mut writer = writer.relying_on(self.beside);
        if storage != Storage::Cheapest {
            writer = writer.afresh();
        }
        let blobs = self.take_all_but_blobs(&writer)?;
        let taken = threads::map(&blobs, |blob| self.take_blob(&writer, *blob));
        taken.into_iter().collect::<Result<()>>()?;
        if let Some(most) = self.most.filter(|most| writer.bytes() > *most) {
            return Err(too_much(most));
        }
        self.new.put_all(&writer)?;
        writer.finish()
    }
}

impl TakenObjects<'_> {
    /// Copies commits and trees, and tells which blobs they lead to.
    fn take_all_but_blobs(&self, writer: &ObjectWriter<'_>) -> Result<Vec<Oid>> {
        let mut seen = HashSet::new();
        let mut blobs = Vec::new();
        let mut pending = self.roots.to_vec();
        while let Some((kind, oid)) = pending.pop() {
            if !seen.insert((kind, oid)) {
                continue;
            }
            if kind == ObjectKind::Commit {
                let bytes = self.from.read_commit(oid)?;
                let commit = RawCommit::parse(&bytes).ok_or_else(|| damaged(oid))?;
                writer.put(kind, &bytes)?;
                pending.push((ObjectKind::Tree, commit.tree));
                pending.extend(commit.parents.into_iter().map(|parent| (kind, parent)));
                continue;
            }
            let bytes = self.from.read_tree(oid)?;
            let nodes = tree::leads_to(&bytes, oid.format()).ok_or_else(|| damaged(oid))?;
            for node in nodes {
                if node.is_dir() {
                    pending.push((ObjectKind::Tree, node.oid));
                } else if !node.is_gitlink() && seen.insert((ObjectKind::Blob, node.oid)) {
                    blobs.push(node.oid);
                }
            }
            writer.put(ObjectKind::Tree, &bytes)?;
        }
        Ok(blobs)
    }

    fn take_blob(&self, writer: &ObjectWriter<'_>, oid: Oid) -> Result<()> {
        let (kind, _) = self.from.header(oid)?.ok_or_else(|| missing(oid))?;
        expect_kind(oid, kind, Some(ObjectKind::Blob))?;
        if writer.reuse(oid) {
            return Ok(());
        }
        if let Some(most) = self.most.filter(|most| writer.bytes() > *most) {
            return Err(too_much(most));
        }
        let (size, mut bytes) = self.from.blob_reader(oid)?;
        if writer.put_reader(size, &mut bytes)? == oid {
            return Ok(());
        }
        Err(damaged(oid))
    }
}

fn too_much(most: u64) -> Error {
    let message = format!("it is more than {} MiB", most >> 20);
    Error::new(Code::Usage, message)
}
