//! Reading snapshot commits back: the record, its parents, its long lists, its operation files.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Store;
use super::id::{IdKind, SnapshotId};
use super::names;
use super::snapshot::{Lists, SnapshotRecord, VERSION, split_message};
use super::state::parse_versioned_object;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::commit::RawCommit;
use crate::git::objects::{ObjectKind, ObjectStore};
use crate::git::operation::{OperationState, is_known_name, is_known_ref};
use crate::git::refs::Reason;
use crate::git::tree::{self, Node};

/// Names in the state commit's tree.
pub mod part {
    /// Long lists, one blob each.
    pub const LISTS: &str = "lists";
    /// Unmerged entries, as `git ls-files -u -z` prints them.
    pub const UNMERGED: &str = "index/unmerged";
    /// The resolve-undo extension's bytes.
    pub const RESOLVE_UNDO: &str = "index/resolve-undo";
    /// Blobs of conflict stages and resolve-undo, by id.
    pub const BLOBS: &str = "index/blobs";
    /// Operation files.
    pub const OPERATION: &str = "operation/files";
    /// Permission bits of operation files that a tree cannot say: `<octal> <name>` lines.
    pub const OPERATION_MODES: &str = "operation/modes";
    /// Operation refs: `<id> <name>` lines.
    pub const OPERATION_REFS: &str = "operation/refs";
    /// Trees that operation files name.
    pub const TREES: &str = "operation/trees";
}

/// A snapshot commit, read.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The id.
    pub id: SnapshotId,
    /// The commit.
    pub commit: Oid,
    /// The captured files.
    pub tree: Oid,
    /// The title.
    pub title: String,
    /// The record, typed.
    pub record: SnapshotRecord,
    /// The record as it stands, unknown fields included.
    pub json: Map<String, Value>,
    /// HEAD's commit, when it was born.
    pub head: Option<Oid>,
    /// The index commit.
    pub index_commit: Oid,
    /// How it was found, where its own ref did not lead to it.
    pub beside: Option<FoundBeside>,
}

/// How a snapshot was found that has no ref of its own: by a commit id, or a ref that somebody fetched it to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundBeside {
    /// The other ref.
    pub by_ref: Option<String>,
}

/// [`Store::read`], for several threads at once.
pub(super) fn read(objects: &ObjectStore, id: &SnapshotId, commit: Oid) -> Result<Stored> {
    let raw = objects
        .commit(commit)
        .context(|| format!("cannot read '{id}'"))?;
    let name = id.to_string();
    let (title, body) = split_message(&raw.message, &name)?;
    let (record, json) = parse_versioned_object::<SnapshotRecord>(body, VERSION, &name)?;
    // A ref may lead anywhere, by hand or by a fetch: under another's id nothing is shown or put back.
    if record.snapshot_id != name {
        return Err(corrupt(
            id,
            &format!("its record says '{}'", record.snapshot_id),
        ));
    }
    let expected = if record.head.unborn { 1 } else { 2 };
    if raw.parents.len() != expected {
        return Err(corrupt(id, "its commit has the wrong number of parents"));
    }
    let head = (!record.head.unborn).then(|| raw.parents[0]);
    Ok(Stored {
        id: *id,
        commit,
        tree: raw.tree,
        title,
        record,
        json,
        head,
        index_commit: raw.parents[expected - 1],
        beside: None,
    })
}

impl Store {
    /// Reads a raw commit.
    pub fn commit(&self, oid: Oid) -> Result<RawCommit> {
        self.objects.commit(oid)
    }

    /// Reads a snapshot commit.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD`, naming the id.
    pub fn read(&self, id: &SnapshotId, commit: Oid) -> Result<Stored> {
        read(&self.objects, id, commit)
    }

    /// Reads a snapshot by its id.
    ///
    /// # Errors
    /// `SNAPSHOT_NOT_FOUND` when there is no such ref.
    pub fn read_id(&self, id: &SnapshotId) -> Result<Stored> {
        match self.refs.read(&names::snapshot_ref(id))? {
            Some(commit) => self.read(id, commit),
            None => Err(not_found(&id.to_string())),
        }
    }

    /// Reads a snapshot that state, journal or undo log names: by the commit noted there, never by what its ref says now, which
    /// a fetch could have put there. Only without a noted commit the ref counts. Where a program that rewrites history has replaced the
    /// commit, recovery makes what notes it note the new one.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` when the commit is gone; `SNAPSHOT_NOT_FOUND` when none is noted and the ref is gone.
    pub fn read_noted(&self, id: &SnapshotId, commit: Option<&str>) -> Result<Stored> {
        match commit.map(Oid::from_hex).transpose()? {
            Some(commit) => self
                .read(id, commit)
                .map_err(|error| self.or_rewritten(id, commit, error)),
            None => self.read_id(id),
        }
    }

    /// Why a noted commit cannot be read, where that is because another program gave all commits other ids.
    fn or_rewritten(&self, id: &SnapshotId, commit: Oid, error: Error) -> Error {
        let is_gone = matches!(self.objects.is_intact(commit), Ok(false));
        if !is_gone || self.read_id(id).is_err() {
            return error;
        }
        let message = format!(
            "'{id}' was saved as commit {commit}, which is gone, and its ref names another, as after a program that rewrites history"
        );
        Error::new(Code::CorruptRecord, message).hint("run 'tw recover'")
    }

    /// What stands for the commit of a snapshot that is in another repository: no object has this id.
    pub fn placeholder(&self, snapshot: Option<SnapshotId>) -> Result<Oid> {
        let text = snapshot.map_or_else(|| "a snapshot".to_owned(), |id| id.to_string());
        let text = format!("{text} is in another repository\n");
        self.objects.hash(ObjectKind::Blob, text.as_bytes())
    }

    /// The ids of a kind, newest first by name (the order within one second is told by `seq`).
    pub fn ids(&self, kind: IdKind) -> Result<Vec<SnapshotId>> {
        let mut ids = Vec::new();
        self.refs.each_name(names::prefix(kind), |name| {
            ids.extend(names::parse_snapshot_ref(name));
        })?;
        // Those of one kind are ordered by second and tail, as their names are.
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids.dedup();
        Ok(ids)
    }

    /// The trees of what git tracked: that of the index, and that of HEAD.
    pub fn tracked_trees(&self, stored: &Stored) -> Result<Vec<Oid>> {
        let commits = [Some(stored.index_commit), stored.head];
        let commits = commits.into_iter().flatten();
        commits
            .map(|commit| Ok(self.commit(commit)?.tree))
            .collect()
    }

    /// Makes sure that a snapshot has not been forgotten. Somebody who is about to forget it has its ref locked and is waited for: whoever
    /// has written down before that it is needed can rely on it.
    ///
    /// # Errors
    /// `SNAPSHOT_NOT_FOUND`; `BUSY` when the lock is held for too long.
    pub fn check_stands(&self, stored: &Stored) -> Result<()> {
        let mut look = self.refs.transaction();
        look.verify(&names::snapshot_ref(&stored.id), stored.commit);
        look.commit().map_err(|error| match error.reason {
            Reason::Changed { .. } => not_found(&stored.id.to_string()),
            _ => error.into(),
        })
    }

    /// Gives a snapshot its own ref when it was found without one: what needs it from now on names it by its id, and nobody else has to
    /// keep what led to it.
    ///
    /// # Errors
    /// `SNAPSHOT_NOT_FOUND` when what led to it is gone meanwhile, or when another commit has its id, as after `tw purge`.
    pub fn give_ref(&self, stored: &Stored) -> Result<()> {
        let Some(found) = &stored.beside else {
            return Ok(());
        };
        let own = names::snapshot_ref(&stored.id);
        let mut transaction = self.refs.transaction();
        if let Some(name) = &found.by_ref {
            transaction.verify(name, stored.commit);
        }
        transaction.create(&own, stored.commit);
        transaction.durable();
        let Err(error) = transaction.commit() else {
            return Ok(());
        };
        match error.reason {
            Reason::Exists { found } if found == Some(stored.commit) => Ok(()),
            Reason::Exists { .. } => {
                let (commit, id) = (stored.commit, stored.id);
                let message =
                    format!("commit {commit} is not '{id}' any more, which was rewritten");
                Err(Error::new(Code::SnapshotNotFound, message)
                    .hint(format!("'tw show {id}' shows what it is now")))
            }
            Reason::Changed { .. } => Err(not_found(&stored.id.to_string())),
            _ => Err(error.into()),
        }
    }

    /// The index tree and the state commit of a snapshot.
    pub fn index_side(&self, stored: &Stored) -> Result<IndexSide> {
        let raw = self.commit(stored.index_commit)?;
        let born = usize::from(stored.head.is_some());
        let state = match raw.parents.get(born) {
            None => None,
            Some(state) => Some(self.commit(*state)?.tree),
        };
        Ok(IndexSide {
            tree: raw.tree,
            state,
        })
    }

    /// A blob of the state commit's tree.
    pub fn state_blob(&self, state: Option<Oid>, path: &str) -> Result<Option<Vec<u8>>> {
        let Some(state) = state else { return Ok(None) };
        match tree::find(&self.objects, state, path.as_bytes())? {
            Some(Node { mode, oid }) if mode & 0o170_000 == 0o100_000 => {
                Ok(Some(self.objects.read(oid)?.1))
            }
            _ => Ok(None),
        }
    }

    /// The lists of a snapshot, whole.
    pub fn lists(&self, stored: &Stored) -> Result<Lists> {
        let read_list = |name: &str| {
            let side = self.index_side(stored)?;
            let blob = self.state_blob(side.state, &format!("{}/{name}", part::LISTS))?;
            blob.ok_or_else(|| corrupt(&stored.id, &format!("its list '{name}' is missing")))
        };
        let lists = stored.record.lists(&read_list);
        lists.context(|| format!("cannot read '{}'", stored.id))
    }

    /// The operation files and refs of a snapshot.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` when anything but the closed list of names, as regular files, is there.
    pub fn operation(&self, stored: &Stored) -> Result<OperationState> {
        let side = self.index_side(stored)?;
        let mut operation = OperationState::default();
        let Some(state) = side.state else {
            return Ok(operation);
        };
        if let Some(dir) = tree::find(&self.objects, state, part::OPERATION.as_bytes())? {
            if !dir.is_dir() {
                return Err(corrupt(
                    &stored.id,
                    "its operation files are not a directory",
                ));
            }
            for (path, node) in tree::flatten(&self.objects, dir.oid)? {
                let name = String::from_utf8(path)
                    .ok()
                    .filter(|name| is_known_name(name))
                    .ok_or_else(|| {
                        corrupt(&stored.id, "it holds an operation file of an unknown name")
                    })?;
                let perm = match node.mode {
                    0o100_644 => 0o644,
                    0o100_755 => 0o755,
                    _ => {
                        return Err(corrupt(
                            &stored.id,
                            "an operation file is not a regular file",
                        ));
                    }
                };
                operation
                    .files
                    .push((name, self.objects.read(node.oid)?.1, perm));
            }
        }
        if let Some(modes) = self.state_blob(Some(state), part::OPERATION_MODES)? {
            for line in String::from_utf8_lossy(&modes).lines() {
                let (mode, name) = line.split_once(' ').unwrap_or_default();
                let file = operation.files.iter_mut().find(|file| file.0 == name);
                let mode = u32::from_str_radix(mode, 8).ok();
                let (Some(file), Some(mode)) = (file, mode) else {
                    return Err(corrupt(&stored.id, "it holds a mode of no operation file"));
                };
                file.2 = mode & 0o777;
            }
        }
        if let Some(refs) = self.state_blob(Some(state), part::OPERATION_REFS)? {
            for line in String::from_utf8_lossy(&refs).lines() {
                let (oid, name) = line.split_once(' ').unwrap_or_default();
                let oid = Oid::from_hex(oid).ok().filter(|_| is_known_ref(name));
                let oid =
                    oid.ok_or_else(|| corrupt(&stored.id, "it holds a ref of an unknown name"))?;
                operation.refs.push((name.to_owned(), oid));
            }
        }
        Ok(operation)
    }

    /// Whether a snapshot came from another repository, by the id that stands in its record.
    pub fn is_foreign(&self, stored: &Stored) -> Result<bool> {
        Ok(self.repository_id()?.as_deref() != Some(stored.record.repository_id.as_str()))
    }

    /// Labels by the commit they name.
    pub fn labels(&self) -> Result<BTreeMap<Oid, Vec<String>>> {
        let mut labels: BTreeMap<Oid, Vec<String>> = BTreeMap::new();
        for (name, oid) in self.refs.list(names::LABELS)? {
            let label = names::label_of(&name).to_owned();
            labels.entry(oid).or_default().push(label);
        }
        Ok(labels)
    }
}

/// A snapshot's index commit, taken apart.
#[derive(Debug, Clone, Copy)]
pub struct IndexSide {
    /// The index as a tree.
    pub tree: Oid,
    /// The state commit's tree, when there is one.
    pub state: Option<Oid>,
}

fn corrupt(id: &SnapshotId, what: &str) -> Error {
    Error::new(Code::CorruptRecord, format!("'{id}' is damaged: {what}")).hint("run 'tw doctor'")
}

/// The error for an address that names nothing.
pub fn not_found(address: &str) -> Error {
    let error = Error::new(
        Code::SnapshotNotFound,
        format!("snapshot '{address}' not found"),
    )
    .hint("run 'tw list' to see what there is");
    match SnapshotId::parse(address) {
        Some(_) => {
            error.hint("'tw recover --dropped' lists what was let go and can be brought back")
        }
        None => error,
    }
}
