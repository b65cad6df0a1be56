//! The commits beneath a snapshot: of its index, and of the state that a tree cannot say.

use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::{ObjectKind, ObjectStore};
use crate::git::operation::OperationState;
use crate::git::tree::{self, Node};
use crate::ops::capture::{Capture, IndexSummary};
use crate::store::snapshot::encode_part;
use crate::store::stored::part;
use crate::worktree::capture::Sink;

/// The commits of a capture: index commit, state commit when one is needed, and the lists too long for the document.
pub(super) struct Commits<'a> {
    pub(super) objects: &'a ObjectStore,
    pub(super) repository_id: &'a str,
    pub(super) sink: &'a dyn Sink,
}

/// The tree of a state commit, while it is put together.
struct StateTree<'a> {
    sink: &'a dyn Sink,
    edits: Vec<(Vec<u8>, Option<Node>)>,
}

impl StateTree<'_> {
    fn add(&mut self, path: String, mode: u32, oid: Oid) {
        let node = Node { mode, oid };
        self.edits.push((path.into_bytes(), Some(node)));
    }

    fn file(&mut self, path: impl Into<String>, bytes: &[u8]) -> Result<()> {
        let oid = self.sink.put(ObjectKind::Blob, bytes)?;
        self.add(path.into(), 0o100_644, oid);
        Ok(())
    }

    /// What the index has beside its tree.
    fn index(&mut self, index: &IndexSummary) -> Result<()> {
        if !index.unmerged.is_empty() {
            self.file(part::UNMERGED, &index.unmerged)?;
        }
        if let Some(payload) = &index.resolve_undo {
            self.file(part::RESOLVE_UNDO, payload)?;
        }
        for oid in &index.blobs {
            let path = format!("{}/{oid}", part::BLOBS);
            self.add(path, 0o100_644, Oid::from_hex(oid)?);
        }
        Ok(())
    }

    /// The files of an operation under way, and what they name.
    fn operation(&mut self, operation: &OperationState) -> Result<()> {
        let mut modes = String::new();
        for (name, bytes, perm) in &operation.files {
            let mode = if perm & 0o100 == 0 {
                0o100_644
            } else {
                0o100_755
            };
            // A git tree knows two modes only; whoever has another one stands in a list.
            if mode & 0o777 != *perm {
                modes.push_str(&format!("{perm:04o} {name}\n"));
            }
            let oid = self.sink.put(ObjectKind::Blob, bytes)?;
            self.add(format!("{}/{name}", part::OPERATION), mode, oid);
        }
        if !modes.is_empty() {
            self.file(part::OPERATION_MODES, modes.as_bytes())?;
        }
        if !operation.refs.is_empty() {
            let refs = operation.refs.iter();
            let lines: String = refs.map(|(name, oid)| format!("{oid} {name}\n")).collect();
            self.file(part::OPERATION_REFS, lines.as_bytes())?;
        }
        for (name, oid) in &operation.trees {
            // A tree's entry has no slash in its name, and 'TREES' is one level deep.
            let flat = name.replace('/', "-");
            self.add(format!("{}/{flat}", part::TREES), tree::DIR_MODE, *oid);
        }
        Ok(())
    }
}

impl Commits<'_> {
    pub(super) fn state(
        &self,
        capture: &Capture<'_>,
        long: &[(&'static str, Vec<u8>)],
        held: &[Oid],
    ) -> Result<Option<Oid>> {
        let mut tree = StateTree {
            sink: self.sink,
            edits: Vec::new(),
        };
        for (name, bytes) in long {
            tree.file(format!("{}/{name}", part::LISTS), bytes)?;
        }
        tree.index(&capture.index)?;
        tree.operation(&capture.operation)?;
        let edits = tree.edits;
        if edits.is_empty() && held.is_empty() {
            return Ok(None);
        }
        let nothing = |_: Oid| Ok(Vec::new());
        let mut put = |bytes: &[u8]| self.sink.put(ObjectKind::Tree, bytes);
        let tree = tree::edit(&nothing, &mut put, None, &edits)?;
        let bytes = encode_part("state", self.repository_id, tree, held);
        self.sink.put(ObjectKind::Commit, &bytes).map(Some)
    }

    pub(super) fn index(&self, capture: &Capture<'_>, state: Option<Oid>) -> Result<Oid> {
        let parents: Vec<Oid> = capture.head.oid.into_iter().chain(state).collect();
        let tree = capture.index.tree_oid()?;
        let bytes = encode_part("index", self.repository_id, tree, &parents);
        if let Some(known) = capture.known_index_commit
            && known == self.objects.hash(ObjectKind::Commit, &bytes)?
            // git leaves to others what they lend, whoever needs it here.
            && (!self.objects.borrows() || self.objects.owns(known))
        {
            // The anchor's own: it holds the index tree, the state commit and what they name, but for a tree that was lost since.
            for (oid, tree) in &capture.index_trees {
                if !self.objects.owns(*oid) {
                    self.sink.put(ObjectKind::Tree, tree)?;
                }
            }
            return Ok(known);
        }
        for tree in capture.index_trees.values() {
            self.sink.put(ObjectKind::Tree, tree)?;
        }
        self.sink.put(ObjectKind::Commit, &bytes)
    }
}
