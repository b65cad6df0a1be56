//! What a snapshot has that nothing else keeps, made our own before its ref is.
//!
//! What only another repository's object directory lends (`objects/info/alternates`): git relies on the other one for HEAD's commit and its
//! history, and so do we. Of anything else nobody there knows: ids taken from git's index or out of the cache may be those of objects that only
//! a snapshot, a stash or nothing at all keeps there. Where nothing is lent this costs nothing; else only what differs from HEAD is looked at.
//!
//! And the trees that an operation names (`AUTO_MERGE`): git's gc keeps nothing of them.

use std::collections::{HashMap, HashSet};

use crate::error::{Code, Result};
use crate::git::objects::{ObjectKind, ObjectWriter};
use crate::git::tree::{Entry, parse_any_names};
use crate::git::{Oid, threads};
use crate::ops::capture::{Capture, read_tree};
use crate::store::Store;

/// Puts the trees that an operation names, with all that is beneath them and not in HEAD: a gc that began before takes nothing of them then.
/// Those of which something is gone are left out, as git goes on without them. `held` as for [`lent`].
pub(super) fn of_operation(
    store: &Store,
    capture: &mut Capture<'_>,
    writer: &ObjectWriter<'_>,
    held: &[Oid],
) -> Result<()> {
    let named = std::mem::take(&mut capture.operation.trees);
    let mut whole = Vec::new();
    for (name, tree) in named {
        let mut copying = Copying::new(store, capture, writer, Ours::Put);
        let kept = copying.kept(held);
        if copying.trees(tree, &kept)? && copying.copy_blobs()? {
            whole.push((name, tree));
        }
    }
    capture.operation.trees = whole;
    Ok(())
}

/// Copies what a capture has and only others lend; `held` are the commits beside HEAD that stay. False: something is gone there.
pub(super) fn lent(
    store: &Store,
    capture: &Capture<'_>,
    writer: &ObjectWriter<'_>,
    held: &[Oid],
) -> Result<bool> {
    if !store.objects.borrows() {
        return Ok(true);
    }
    let mut copying = Copying::new(store, capture, writer, Ours::There);
    let kept = copying.kept(held);
    for tree in [capture.tree, capture.index.tree_oid()?] {
        if !copying.trees(tree, &kept)? {
            return Ok(false);
        }
    }
    for blob in &capture.index.blobs {
        copying.blob(Oid::from_hex(blob)?);
    }
    copying.copy_blobs()
}

/// What was read; nothing where it is gone.
fn found<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if error.code() == Code::CorruptRecord => Ok(None),
        read => read.map(Some),
    }
}

/// What trees have, by name. One that cannot be read has nothing.
fn by_name(store: &Store, trees: &[Oid]) -> HashMap<Vec<u8>, Vec<Oid>> {
    let mut all: HashMap<Vec<u8>, Vec<Oid>> = HashMap::new();
    for oid in trees {
        let bytes = store.objects.read_tree(*oid).unwrap_or_default();
        for Entry { name, node } in parse_any_names(&bytes, oid.format()).unwrap_or_default() {
            all.entry(name.to_vec()).or_default().push(node.oid);
        }
    }
    all
}

/// Which objects need no copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ours {
    /// Those in the repository's own directory.
    There,
    /// Those that are put: of others a gc under way may take them.
    Put,
}

struct Copying<'a, 's> {
    store: &'a Store,
    capture: &'a Capture<'s>,
    writer: &'a ObjectWriter<'s>,
    ours: Ours,
    seen: HashSet<Oid>,
    /// What is to be copied.
    blobs: Vec<Oid>,
}

impl<'a, 's> Copying<'a, 's> {
    fn new(
        store: &'a Store,
        capture: &'a Capture<'s>,
        writer: &'a ObjectWriter<'s>,
        ours: Ours,
    ) -> Self {
        Self {
            store,
            capture,
            writer,
            ours,
            seen: HashSet::new(),
            blobs: Vec::new(),
        }
    }

    /// The trees of HEAD and of commits that stay. One that cannot be read stands for nothing.
    fn kept(&self, held: &[Oid]) -> Vec<Oid> {
        let commits = self
            .capture
            .head
            .oid
            .into_iter()
            .chain(held.iter().copied());
        let trees = commits.filter_map(|oid| Some(self.store.commit(oid).ok()?.tree));
        trees.collect()
    }

    /// Copies the files that were noted. False: one is gone.
    fn copy_blobs(&self) -> Result<bool> {
        let copied = threads::map(&self.blobs, |blob| self.writer.copy_blob(*blob));
        let copied = found(copied.into_iter().collect::<Result<Vec<()>>>())?;
        Ok(copied.is_some())
    }

    /// Copies the trees beneath one, and notes files, but for what `kept` has in the same place. False: one is gone.
    fn trees(&mut self, root: Oid, kept: &[Oid]) -> Result<bool> {
        let mut pending = vec![(root, kept.to_vec())];
        while let Some((tree, kept)) = pending.pop() {
            if kept.contains(&tree) || !self.seen.insert(tree) {
                continue;
            }
            let Some(bytes) = found(read_tree(self.store, self.capture, tree))? else {
                return Ok(false);
            };
            if !self.owns(tree) {
                self.writer.put(ObjectKind::Tree, &bytes)?;
            }
            let kept = by_name(self.store, &kept);
            for Entry { name, node } in parse_any_names(&bytes, tree.format())? {
                let kept = kept.get(name).map_or(&[][..], Vec::as_slice);
                if node.is_dir() {
                    pending.push((node.oid, kept.to_vec()));
                } else if !node.is_gitlink() && !kept.contains(&node.oid) {
                    self.blob(node.oid);
                }
            }
        }
        Ok(true)
    }

    fn blob(&mut self, oid: Oid) {
        if self.seen.insert(oid) && !self.owns(oid) {
            self.blobs.push(oid);
        }
    }

    /// Whether an object needs no copy.
    fn owns(&self, oid: Oid) -> bool {
        self.ours == Ours::There && self.store.objects.owns(oid) || self.writer.reuse(oid)
    }
}
