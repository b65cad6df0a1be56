//! A three-way merge onto what is in the working tree: files that are not stored yet are read from where they lie, and what is
//! merged is written for the swap that puts it in place, or only hashed while nothing follows.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::Read as _;

use super::Context;
use super::merge::{self, Input, Merged};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::fs::{Root, read_link_at};
use crate::git::objects::{KeptPack, ObjectKind, ObjectWriter, WriteMode, hash};
use crate::git::path;
use crate::git::textdiff::LARGEST;
use crate::git::textmerge::{Labels, Style};
use crate::git::tree::{LINK_MODE, Node, ReadTree};
use crate::store::Store;
use crate::store::lock::Owner;

/// The trees of a merge, and what its sides are called.
pub struct Sides<'a> {
    /// What both sides come from.
    pub base: Oid,
    /// What is in the working tree.
    pub ours: Oid,
    /// What is merged onto it.
    pub theirs: Oid,
    /// What they are called in markers.
    pub labels: Labels<'a>,
}

/// Merges, as often as a swap looks at the working tree anew.
pub struct ThreeWay<'a, 's> {
    ctx: &'a Context<'a>,
    store: &'s Store,
    style: Style,
    writes: Cell<bool>,
    /// Merged blobs of a look that nothing follows.
    unwritten: RefCell<BTreeSet<Oid>>,
    /// Keeps the merged blobs while no ref does.
    kept: RefCell<Option<KeptPack>>,
}

impl<'a, 's> ThreeWay<'a, 's> {
    /// One that writes nothing yet.
    ///
    /// # Errors
    /// git's configuration cannot be read.
    pub fn new(ctx: &'a Context<'a>, store: &'s Store) -> Result<Self> {
        let style = ctx.repo.config("merge.conflictStyle")?;
        Ok(Self {
            ctx,
            store,
            style: style.map_or(Style::default(), |word| Style::parse(&word)),
            writes: Cell::new(false),
            unwritten: RefCell::default(),
            kept: RefCell::default(),
        })
    }

    /// From now on what is merged is written, and kept until [`Self::release`].
    pub fn write(&self) {
        self.writes.set(true);
    }

    /// The merged blobs that were not written.
    pub fn unwritten(&self) -> &RefCell<BTreeSet<Oid>> {
        &self.unwritten
    }

    /// The swap has ended: refs hold what was merged.
    ///
    /// # Errors
    /// What kept it cannot be removed.
    pub fn release(&self) -> Result<()> {
        self.kept.take().map_or(Ok(()), KeptPack::release)
    }

    /// Merges the sides. `read` reads any of the trees.
    ///
    /// # Errors
    /// A tree or blob cannot be read, a merged one not be written; `BUSY` when a file changed while it was read.
    pub fn merge(&self, read: ReadTree<'_>, sides: &Sides<'_>) -> Result<Merged> {
        let writer = self.writer()?;
        // A swap may look more than once: what the look before merged does not count.
        self.unwritten.take();
        let put = |bytes: &[u8]| {
            if let Some(writer) = &writer {
                return writer.put(ObjectKind::Blob, bytes);
            }
            let oid = hash(ObjectKind::Blob, bytes)?;
            self.unwritten.borrow_mut().insert(oid);
            Ok(oid)
        };
        let merged = merge::merge(&Input {
            base: sides.base,
            ours: sides.ours,
            theirs: sides.theirs,
            read_tree: read,
            content: &|full, node| self.content(full, node),
            put: &put,
            labels: sides.labels,
            style: self.style,
        })?;
        if let Some(pack) = writer.map(ObjectWriter::finish).transpose()? {
            // Nothing refers to merged blobs before the swap has ended: the pack stays kept. That of the look before can go.
            self.kept
                .replace(pack.pack)
                .map_or(Ok(()), KeptPack::release)?;
            self.store.objects.refresh();
        }
        Ok(merged)
    }

    /// Writes nothing during a look that nothing follows.
    fn writer(&self) -> Result<Option<ObjectWriter<'s>>> {
        if !self.writes.get() {
            return Ok(None);
        }
        let keep_note = Owner::this_process("merge").line().trim_end().to_owned();
        let mode = WriteMode::Pack {
            keep_note,
            sync: true,
        };
        Ok(Some(ObjectWriter::new(&self.store.objects, mode)?.afresh()))
    }

    /// The content of a blob, from the repository or, when it is not there yet, from the file that has it.
    fn content(&self, full: &[u8], node: Node) -> Result<Option<Vec<u8>>> {
        match self.store.objects.header(node.oid)? {
            Some((_, size)) if size > LARGEST => return Ok(None),
            Some(_) => return Ok(Some(self.store.objects.read(node.oid)?.1)),
            None => {}
        }
        let what = || format!("cannot read '{}'", path::display(full));
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let mut bytes = Vec::new();
        if node.mode == LINK_MODE {
            let (dir, name) = path::split(full);
            let dir = root.open_dir(dir).context(what)?;
            bytes = read_link_at(std::os::fd::AsFd::as_fd(&dir), name).context(what)?;
        } else {
            let file = std::fs::File::from(root.open_file(full).context(what)?);
            file.take(LARGEST + 1)
                .read_to_end(&mut bytes)
                .context(what)?;
        }
        if bytes.len() as u64 > LARGEST {
            return Ok(None);
        }
        if hash(ObjectKind::Blob, &bytes)? == node.oid {
            return Ok(Some(bytes));
        }
        let message = format!("'{}' changed while it was read", path::display(full));
        Err(Error::new(Code::Busy, message).hint("stop what writes here and try again"))
    }
}
