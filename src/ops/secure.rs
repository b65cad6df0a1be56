//! Bytes that changed after the backup was taken: into the backup, before they go.
//!
//! The backup's commit is replaced by one whose tree has them, its ref moved by compare-and-swap, and the journal says so, so that
//! rolling back and returning put the later bytes in place. Rare, and slow on purpose.

use std::fs::File;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Mode, OFlags};

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::fs::{Stamp, read_link_at};
use crate::git::objects::{ObjectKind, ObjectWriter, WriteMode};
use crate::git::path;
use crate::git::tree::{self, LINK_MODE, Node};
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::names;
use crate::store::snapshot::{encode_commit, octal};
use crate::store::state::{Journal, Side, stored_path};
use crate::worktree::apply::Securing;

/// Secures late changes for one swap.
pub struct Late<'a, 's> {
    store: &'a Store<'s>,
    journal: &'a mut Journal,
    commit: Oid,
}

impl<'a, 's> Late<'a, 's> {
    /// For the swap of this journal, whose backup is `commit`.
    pub fn new(store: &'a Store<'s>, journal: &'a mut Journal, commit: Oid) -> Self {
        Self {
            store,
            journal,
            commit,
        }
    }

    /// The backup's commit as it is now.
    pub fn commit(&self) -> Oid {
        self.commit
    }
}

impl Securing for Late<'_, '_> {
    fn secure(
        &mut self,
        full: &[u8],
        dir: BorrowedFd<'_>,
        temp: &[u8],
        stamp: &Stamp,
    ) -> Result<()> {
        let what = || format!("cannot save the later bytes of '{}'", path::display(full));
        let writer = ObjectWriter::new(&self.store.objects, WriteMode::Loose)?;
        let node = store_file(&writer, dir, temp, stamp).context(what)?;
        self.commit = amend(
            self.store,
            &writer,
            &self.journal.backup_id,
            self.commit,
            full,
            node,
        )
        .context(what)?;
        writer.finish().context(what)?;
        let stored = stored_path(full);
        if let Some(entry) = self
            .journal
            .entries
            .iter_mut()
            .find(|entry| entry.path == stored)
        {
            entry.before = Some(Side {
                mode: format!("{:06o}", node.mode),
                oid: node.oid.to_string(),
                perm: octal(stamp.permissions()),
            });
        }
        let commit = self.commit.to_string();
        if self.journal.state_after.backup_commit.as_deref()
            == Some(self.journal.backup_commit.as_str())
        {
            self.journal.state_after.backup_commit = Some(commit.clone());
        }
        self.journal.backup_commit = commit;
        self.store.dir.write_journal(self.journal)
    }
}

fn store_file(
    writer: &ObjectWriter<'_>,
    dir: BorrowedFd<'_>,
    name: &[u8],
    stamp: &Stamp,
) -> Result<Node> {
    if stamp.is_symlink() {
        let oid = writer.put(ObjectKind::Blob, &read_link_at(dir, name)?)?;
        return Ok(Node {
            mode: LINK_MODE,
            oid,
        });
    }
    if !stamp.is_file() {
        return Err(Error::new(
            Code::WouldOverwrite,
            "it became something that cannot be captured",
        ));
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let name = std::ffi::OsStr::from_bytes(name);
    let file = File::from(rustix::fs::openat(dir, name, flags, Mode::empty())?);
    let size = file.metadata()?.len();
    let oid = writer.put_reader(size, &mut file.take(size))?;
    let mode = if stamp.mode & 0o100 == 0 {
        0o100_644
    } else {
        0o100_755
    };
    Ok(Node { mode, oid })
}

/// Makes a backup's commit anew with one path replaced, and moves its ref.
fn amend(
    store: &Store<'_>,
    writer: &ObjectWriter<'_>,
    id: &str,
    commit: Oid,
    full: &[u8],
    node: Node,
) -> Result<Oid> {
    let raw = store.commit(commit)?;
    let read = |oid| store.objects.read_tree(oid);
    let mut put = |bytes: &[u8]| writer.put(ObjectKind::Tree, bytes);
    let edits = [(full.to_vec(), Some(node))];
    let tree = tree::edit(&read, &mut put, Some(raw.tree), &edits)?;
    let message = String::from_utf8_lossy(&raw.message).into_owned();
    let bytes = encode_commit(tree, &raw.parents, raw.author_time, &message);
    let new = writer.put(ObjectKind::Commit, &bytes)?;
    let id = SnapshotId::parse(id)
        .ok_or_else(|| Error::new(Code::CorruptRecord, format!("'{id}' is no backup id")))?;
    let name = names::snapshot_ref(&id);
    let mut transaction = store.refs.transaction();
    transaction.update(&name, new, commit);
    transaction.durable();
    transaction.commit()?;
    Ok(new)
}
