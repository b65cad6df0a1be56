//! Shared records as a git tree: `format.json`, and `issues/<2>/<id>.json`, `chats/<2>/<id>.json`, `sessions/<2>/<id>.json`,
//! `experiments/<2>/<id>.json`, where `<2>` are the first two hex digits of the id's sha256.
//!
//! What is read may be hostile. A ref may name anything; a tree may hold any number of entries of any size and kind. Sizes are looked at
//! before anything is loaded, numbers are bounded, an id has to be one, and a path has to be the one that its id has. What is not as it
//! should be is refused by name and hides nothing else; where there is too much of everything, all of it is refused. What a later version
//! may have put beside the directories known here is left as it is. A newer major format is refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Refused;
use super::experiments;
use super::fields::{Kind, canonical};
use super::record::Shared;
use super::waiting::Waiting;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::commit::commit_text;
use crate::git::depot::Depot;
use crate::git::hex::hex;
use crate::git::objects::{NewObjects, ObjectKind, ObjectStore};
use crate::git::tree::{self, Node};
use crate::store::id::IssueId;
use crate::store::names::session_component;

/// The major version of the tree's form.
const MAJOR: u64 = 1;
/// Where it says so.
const FORMAT: &str = "format.json";
/// A larger record is not sent.
pub const LARGEST_SENT: u64 = 8 << 20;
/// A larger record is refused. What two sides made of one that may be sent can be read here: somebody can shorten it.
pub const LARGEST_RECORD: u64 = 2 * LARGEST_SENT;
/// A larger tree object is refused: this many bytes are about 50,000 entries.
const LARGEST_TREE: u64 = 4 << 20;
/// Where there are as many records, no new session or experiment is sent: they are made without being asked for, and nobody deletes them.
const MOST_SENT: usize = 50_000;
/// More records than these are refused together, and none is sent that would make more.
const MOST_RECORDS: usize = 2 * MOST_SENT;
/// No more than these are named one by one.
const MOST_REFUSED: usize = 100;

/// What can be done where a remote has too much, for nothing takes a record out of it.
pub const ANEW: &str = "'tw share init REMOTE' with another remote, or '--as-branch' for another ref, begins anew there";

/// Which record.
pub type Key = (Kind, String);

/// What a record becomes in a tree; None: it goes.
pub type TreeChange = (Key, Option<Waiting>);

/// What a commit of shared records holds.
#[derive(Debug, Default)]
pub struct SharedTree {
    /// The commit's tree; None: there is none.
    pub tree: Option<Oid>,
    /// Each record's blob.
    pub records: BTreeMap<Key, Oid>,
    /// What was refused.
    pub refused: Vec<Refused>,
    /// Records that are there and that nobody can read, whatever they are.
    pub unreadable: BTreeSet<Key>,
    /// What stands where directories belong.
    no_directories: BTreeSet<String>,
}

/// The path of a record.
pub fn path(kind: Kind, id: &str) -> String {
    let digest = Sha256::digest(id.as_bytes());
    let two = hex(digest.get(..1).unwrap_or_default());
    format!("{}/{two}/{id}.json", kind.directory())
}

/// How many records there may be for one more of a kind to go.
pub fn most_before(kind: Kind) -> usize {
    match kind {
        Kind::Issue | Kind::Chat => MOST_RECORDS,
        Kind::Session | Kind::Experiment => MOST_SENT,
    }
}

/// Whose tree it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Ours, made of what was bounded when it was read.
    Own,
    /// What anybody may have made.
    Remote,
}

impl Side {
    /// How many records it may have.
    fn most(self) -> usize {
        match self {
            Self::Own => usize::MAX,
            Self::Remote => MOST_RECORDS,
        }
    }

    /// How many bytes one of its objects may have.
    fn largest(self) -> u64 {
        match self {
            Self::Own => u64::MAX,
            Self::Remote => LARGEST_TREE,
        }
    }
}

/// Reads what a commit holds, none of the records yet.
fn read(objects: &ObjectStore, commit: Oid, side: Side) -> Result<SharedTree> {
    if !objects.is_commit(commit) {
        return Err(corrupt("the shared ref names no commit"));
    }
    if size(objects, commit)? > side.largest() {
        return Err(corrupt("its commit is too large"));
    }
    let root = objects.commit(commit)?.tree;
    let mut found = SharedTree {
        tree: Some(root),
        ..SharedTree::default()
    };
    let top = entries(objects, root, side)?;
    check_format(objects, &top)?;
    for (name, node) in top {
        let Some(kind) = Kind::of_directory(&name) else {
            continue;
        };
        if node.is_dir() {
            found.read_kind(objects, kind, node.oid, side)?;
        } else {
            found.refuse(&name, "it is not a directory");
            found.no_directories.insert(name);
        }
    }
    Ok(found)
}

fn check_format(objects: &ObjectStore, top: &[(String, Node)]) -> Result<()> {
    let format = top.iter().find(|(name, _)| name == FORMAT);
    let Some((_, node)) = format.filter(|(_, node)| node.mode == 0o100_644) else {
        return Err(corrupt("it does not say which format it has"));
    };
    let bytes = small_blob(objects, node.oid)?.unwrap_or_default();
    let json: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    match json.get("major").and_then(Value::as_u64) {
        Some(MAJOR) => Ok(()),
        Some(major) if major > MAJOR => {
            let message = format!("what is shared was written by a newer tw (format {major})");
            Err(Error::new(Code::NewerRecord, message).hint("upgrade tw: nothing was changed"))
        }
        _ => Err(corrupt("it does not say which format it has")),
    }
}

impl SharedTree {
    fn read_kind(
        &mut self,
        objects: &ObjectStore,
        kind: Kind,
        tree: Oid,
        side: Side,
    ) -> Result<()> {
        for (two, node) in entries(objects, tree, side)? {
            let above = format!("{}/{two}", kind.directory());
            if !node.is_dir() {
                self.refuse(&above, "it is not a directory");
                self.no_directories.insert(above);
                continue;
            }
            for (name, node) in entries(objects, node.oid, side)? {
                let path = format!("{above}/{name}");
                let id = match id_of(kind, &path, &name) {
                    Ok(id) => id,
                    Err(why) => {
                        self.refuse(&path, why);
                        continue;
                    }
                };
                match check(objects, node) {
                    Ok(()) => drop(self.records.insert((kind, id), node.oid)),
                    Err(why) => {
                        self.refuse(&path, &why);
                        self.unreadable.insert((kind, id));
                    }
                }
                if self.count() > side.most() {
                    let what = format!("it has more than {MOST_RECORDS} records");
                    return Err(corrupt(&what).hint(ANEW));
                }
            }
        }
        Ok(())
    }

    fn refuse(&mut self, path: &str, reason: &str) {
        if self.refused.len() < MOST_REFUSED {
            self.refused.push(Refused {
                path: path.to_owned(),
                reason: reason.to_owned(),
            });
        }
    }

    /// Whether something stands where a record belongs, readable or not.
    pub fn is_there(&self, key: &Key) -> bool {
        let path = path(key.0, &key.1);
        let mut above = path
            .rmatch_indices('/')
            .filter_map(|(at, _)| path.get(..at));
        self.records.contains_key(key)
            || self.unreadable.contains(key)
            || above.any(|above| self.no_directories.contains(above))
    }

    /// How many records it has.
    pub fn count(&self) -> usize {
        self.records.len() + self.unreadable.len()
    }

    /// What the commit of our side holds; None: nothing.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` when it is no such commit; `NEWER_RECORD` when a newer `tw` wrote it.
    pub fn of_own(depot: Option<&Depot>, commit: Option<Oid>) -> Result<Self> {
        Self::of(depot, commit, Side::Own)
    }

    /// What a commit that a remote names holds, or is to name; None: nothing.
    ///
    /// # Errors
    /// As [`SharedTree::of_own`]; `CORRUPT_RECORD` when it holds too much, too.
    pub fn of_remote(depot: Option<&Depot>, commit: Option<Oid>) -> Result<Self> {
        Self::of(depot, commit, Side::Remote)
    }

    fn of(depot: Option<&Depot>, commit: Option<Oid>, side: Side) -> Result<Self> {
        match (depot, commit) {
            (Some(depot), Some(commit)) => read(&depot.objects, commit, side),
            _ => Ok(Self::default()),
        }
    }

    /// Reads one of its records. None: it is refused, which is noted.
    ///
    /// # Errors
    /// The object cannot be read.
    pub fn record(&mut self, depot: Option<&Depot>, key: &Key) -> Result<Option<Shared>> {
        match self.read_record(depot, key)? {
            Some(Ok(record)) => Ok(Some(record)),
            Some(Err(why)) => {
                self.refuse(&path(key.0, &key.1), &why);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// The same, or why it is refused.
    ///
    /// # Errors
    /// The object cannot be read.
    pub fn read_record(
        &self,
        depot: Option<&Depot>,
        key: &Key,
    ) -> Result<Option<std::result::Result<Shared, String>>> {
        let (Some(depot), Some(oid)) = (depot, self.records.get(key)) else {
            return Ok(None);
        };
        let bytes = small_blob(&depot.objects, *oid)?;
        Ok(Some(match &bytes {
            Some(bytes) => Shared::decode(key.0, &key.1, bytes).map_err(|why| why.to_string()),
            None => Err("it is too large".to_owned()),
        }))
    }
}

/// The id that a file's name has, when name and path are as they should be.
fn id_of(kind: Kind, at: &str, name: &str) -> std::result::Result<String, &'static str> {
    let id = name.strip_suffix(".json").filter(|id| match kind {
        Kind::Issue | Kind::Chat => IssueId::parse(id).is_some(),
        Kind::Session => session_component(id) == *id,
        Kind::Experiment => experiments::is_id(id),
    });
    let id = id.ok_or("its name is not an id")?.to_owned();
    if path(kind, &id) != at {
        return Err("it is not where its id belongs");
    }
    Ok(id)
}

/// Whether a record's file is one that can be read.
fn check(objects: &ObjectStore, node: Node) -> std::result::Result<(), String> {
    if node.mode != 0o100_644 {
        return Err("it is not a regular file".to_owned());
    }
    match objects.header(node.oid) {
        Ok(Some((ObjectKind::Blob, size))) if size <= LARGEST_RECORD => Ok(()),
        Ok(Some((ObjectKind::Blob, size))) => {
            Err(format!("it has {size} bytes, which is too many"))
        }
        _ => Err("its content is not there".to_owned()),
    }
}

/// The entries of a tree that is not too large, those whose names are text.
fn entries(objects: &ObjectStore, tree: Oid, side: Side) -> Result<Vec<(String, Node)>> {
    if size(objects, tree)? > side.largest() {
        return Err(corrupt("a directory of it is too large").hint(ANEW));
    }
    let bytes = objects.read_tree(tree)?;
    let entries = tree::parse(&bytes, tree.format())?.into_iter();
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    Ok(entries
        .map(|entry| (text(entry.name), entry.node))
        .collect())
}

fn size(objects: &ObjectStore, oid: Oid) -> Result<u64> {
    match objects.header(oid)? {
        Some((_, size)) => Ok(size),
        None => Err(corrupt(&format!("object {oid} of it is missing"))),
    }
}

fn small_blob(objects: &ObjectStore, oid: Oid) -> Result<Option<Vec<u8>>> {
    match objects.header(oid)? {
        Some((ObjectKind::Blob, size)) if size <= LARGEST_RECORD => Ok(Some(objects.read(oid)?.1)),
        _ => Ok(None),
    }
}

/// Makes the tree that has these records in the place of those of `base`; None takes one away.
///
/// # Errors
/// `base` cannot be read.
pub fn write(
    (objects, new): (&ObjectStore, &mut NewObjects),
    base: Option<Oid>,
    changes: &[TreeChange],
) -> Result<Oid> {
    let mut edits = Vec::new();
    let file = |oid| Node {
        mode: 0o100_644,
        oid,
    };
    if base.is_none() {
        let format = serde_json::json!({"major": MAJOR, "minor": 0, "what": "records of tw"});
        let oid = new.put(ObjectKind::Blob, &canonical(&format))?;
        edits.push((FORMAT.as_bytes().to_vec(), Some(file(oid))));
    }
    for (key, record) in changes {
        let oid = match record {
            Some(record) => Some(record.put_into(new, key)?),
            None => None,
        };
        edits.push((path(key.0, &key.1).into_bytes(), oid.map(file)));
    }
    let mut put_tree = |bytes: &[u8]| new.put(ObjectKind::Tree, bytes);
    tree::edit(objects, &mut put_tree, base, &edits)
}

/// Makes a commit of a tree.
///
/// # Errors
/// A collision attack.
pub fn commit(
    new: &mut NewObjects,
    tree: Oid,
    parents: &[Oid],
    message: &str,
    at: crate::env::Moment,
) -> Result<Oid> {
    let text = commit_text(tree, parents, message, at);
    new.put(ObjectKind::Commit, text.as_bytes())
}

fn corrupt(why: &str) -> Error {
    Error::new(
        Code::CorruptRecord,
        format!("what the remote shares cannot be used: {why}"),
    )
    .hint("nothing was changed here; ask who may write to the remote")
}
