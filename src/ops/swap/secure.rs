//! Bytes that changed after the backup was taken: into the backup, before they go.
//!
//! They go into a pack of their own, kept and on disk, with a commit that has them in place of what the backup had. Then the
//! journal says so, and names the commit before; then the backup's ref is moved by compare-and-swap, and everything is looked up
//! once more. Every pack stays kept until the swap has ended: neither commit ever depends on what a gc may take. A death between
//! journal and ref is put right by [`settle`]. Rare, and slow on purpose.

use std::fs::File;
use std::io::Read;
use std::os::fd::BorrowedFd;

use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::fs::{Durable, Stamp, open_at, read_link_at};
use crate::git::objects::{KeptPack, ObjectKind, ObjectWriter, WriteMode};
use crate::git::path;
use crate::git::tree::{self, LINK_MODE, Node};
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::lock::Owner;
use crate::store::names;
use crate::store::snapshot::{encode_commit, octal};
use crate::store::state::{Journal, Side, stored_path};
use crate::worktree::apply::Securing;

/// Among the journal's other fields: the backup's commit that its ref still names, until it is moved to the one with late bytes.
const WAS: &str = "backup_was";

/// Secures late changes for one swap.
pub struct LateChanges<'a> {
    store: &'a Store,
    journal: &'a mut Journal,
    commit: Oid,
    kept: &'a mut Vec<KeptPack>,
}

impl<'a> LateChanges<'a> {
    /// For the swap of this journal, whose backup is `commit`. Packs that must stay until it has ended are added to `kept`.
    pub fn new(
        store: &'a Store,
        journal: &'a mut Journal,
        commit: Oid,
        kept: &'a mut Vec<KeptPack>,
    ) -> Self {
        Self {
            store,
            journal,
            commit,
            kept,
        }
    }

    /// The backup's commit as it is now.
    pub fn commit(&self) -> Oid {
        self.commit
    }

    /// Writes the file's bytes and the commit that has them, which gets another name for them where it has something else that this
    /// path would take the place of; gives what the path is now, that commit, and all that was written.
    fn write(
        &mut self,
        full: &[u8],
        dir: BorrowedFd<'_>,
        temp: &[u8],
        stamp: &Stamp,
    ) -> Result<(Option<Node>, Oid, Vec<Oid>)> {
        let owner = Owner::this_process(&self.journal.swap_id).line();
        let mode = WriteMode::Pack {
            keep_note: owner.trim_end().to_owned(),
            durable: Durable::Yes,
        };
        // What exists may be about to go.
        let writer = ObjectWriter::new(&self.store.objects, mode)?.afresh();
        let node = store_file(&writer, dir, temp, stamp)?;
        let place = place_in(self.store, self.commit, full)?;
        let commit = amended(self.store, &writer, self.commit, &place, node)?;
        let written = writer.finish()?;
        self.kept.extend(written.pack);
        let node = (place == full).then_some(node);
        Ok((node, commit, written.written))
    }

    /// Says in the journal what the backup has now.
    fn note(&mut self, full: &[u8], node: Option<Node>, stamp: &Stamp, commit: Oid) -> Result<()> {
        let stored = stored_path(full);
        let mut entries = self.journal.entries.iter_mut();
        if let Some(node) = node
            && let Some(entry) = entries.find(|entry| entry.path == stored)
        {
            entry.before = Some(Side {
                mode: format!("{:06o}", node.mode),
                oid: node.oid.to_string(),
                perm: octal(stamp.permissions()),
            });
        }
        let commit = commit.to_string();
        let was = std::mem::replace(&mut self.journal.backup_commit, commit.clone());
        let after = &mut self.journal.state_after.backup_commit;
        if after.as_deref() == Some(was.as_str()) {
            *after = Some(commit);
        }
        self.journal.extra.insert(WAS.into(), was.into());
        self.store.dir.write_journal(self.journal)
    }
}

impl Securing for LateChanges<'_> {
    fn secure(
        &mut self,
        full: &[u8],
        dir: BorrowedFd<'_>,
        temp: &[u8],
        stamp: &Stamp,
    ) -> Result<()> {
        let what = || format!("cannot save the later bytes of '{}'", path::display(full));
        let (node, commit, written) = self.write(full, dir, temp, stamp).context(what)?;
        fail_point("late-objects");
        self.note(full, node, stamp, commit).context(what)?;
        fail_point("late-journal");
        self.commit = commit;
        settle(self.store, self.journal).context(what)?;
        fail_point("late-ref");
        self.journal.extra.remove(WAS);
        // A gc that began before the `.keep` was there may have removed the pack all the same.
        let objects = &self.store.objects;
        objects.refresh();
        match written.iter().find(|oid| !objects.contains(**oid)) {
            None => Ok(()),
            Some(gone) => Err(Error::new(
                Code::Io,
                format!("object {gone} disappeared from a kept pack"),
            ))
            .context(what),
        }
    }
}

/// Moves the backup's ref to the commit with the late bytes that the journal names, when it still names the one before.
///
/// # Errors
/// The ref cannot be moved.
pub fn settle(store: &Store, journal: &Journal) -> Result<()> {
    let was = journal.extra.get(WAS).and_then(serde_json::Value::as_str);
    let (Some(was), Some(id)) = (was, SnapshotId::parse(&journal.backup_id)) else {
        return Ok(());
    };
    let name = names::snapshot_ref(&id);
    let was = Oid::from_hex(was)?;
    if store.refs.read_direct(&name)? != Some(was) {
        return Ok(());
    }
    let mut transaction = store.refs.transaction();
    transaction.update(&name, Oid::from_hex(&journal.backup_commit)?, was);
    transaction.durable();
    Ok(transaction.commit()?)
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
            "it is no longer a file or symbolic link and cannot be captured",
        ));
    }
    let file = File::from(open_at(dir, name)?);
    // Somebody may go on writing: the bytes up to here are one version of the file.
    let size = file.metadata()?.len();
    let oid = writer.put_reader(size, &mut file.take(size))?;
    // The owner's bit alone counts, as for git.
    let mode = if stamp.mode & 0o100 == 0 {
        0o100_644
    } else {
        0o100_755
    };
    Ok(Node { mode, oid })
}

/// Where late bytes of a path go in a backup: there, unless that would take the place of something else, a directory of a file or a
/// file of a directory. Then a name beside that which is free.
fn place_in(store: &Store, commit: Oid, full: &[u8]) -> Result<Vec<u8>> {
    let tree = store.commit(commit)?.tree;
    let found = |path: &[u8]| tree::find(&store.objects, tree, path);
    let mut taken = None;
    for at in path::with_parents(full) {
        let is_taken = found(at)?.is_some_and(|node| node.is_dir() == (at == full));
        if is_taken {
            taken = Some(at);
            break;
        }
    }
    let Some(taken) = taken else {
        return Ok(full.to_vec());
    };
    for nth in 1.. {
        let beside = [taken, format!(".tw-late-{nth}").as_bytes()].concat();
        if found(&beside)?.is_none() {
            return Ok([&beside, &full[taken.len()..]].concat());
        }
    }
    unreachable!("there is always a free number")
}

/// Makes a backup's commit anew with one path replaced.
fn amended(
    store: &Store,
    writer: &ObjectWriter<'_>,
    commit: Oid,
    full: &[u8],
    node: Node,
) -> Result<Oid> {
    let raw = store.commit(commit)?;
    let mut put = |bytes: &[u8]| writer.put(ObjectKind::Tree, bytes);
    let edits = [(full.to_vec(), Some(node))];
    let tree = tree::edit(&store.objects, &mut put, Some(raw.tree), &edits)?;
    let message = String::from_utf8_lossy(&raw.message).into_owned();
    let bytes = encode_commit(tree, &raw.parents, raw.author_time, &message);
    let new = writer.put(ObjectKind::Commit, &bytes)?;
    store.note_successors(&[(commit, new)])?;
    Ok(new)
}
