//! What a page was shown of a change, so that nothing else is done under its name.
//!
//! What an entry changed is found by comparing it with the snapshot before it, which may be another one by the time of the next
//! question: snapshots are dropped and forgotten while a page stands open.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Subject;
use crate::error::{Code, Error};
use crate::git::hex::hex;
use crate::git::path::RepoPath;
use crate::git::tree::{Change, Node};
use crate::ops::outcome::FileDiff;

/// What tells changes from all others: the paths, byte for byte, and modes and contents of both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeKey(String);

/// One change of a path.
struct Sides<'a> {
    path: &'a [u8],
    old: Option<Node>,
    new: Option<Node>,
}

impl ChangeKey {
    /// Returns the key of one change.
    pub fn of(change: &Change) -> Self {
        Self::of_each([Sides::of(change)])
    }

    /// Of a list of them.
    pub fn of_all(changes: &[Change]) -> Self {
        Self::of_each(changes.iter().map(Sides::of))
    }

    /// Of one path of a diff.
    pub fn of_file(file: &FileDiff) -> Self {
        Self::of_each([Sides::of_file(file)])
    }

    /// Of the paths of a diff.
    pub fn of_files(files: &[FileDiff]) -> Self {
        Self::of_each(files.iter().map(Sides::of_file))
    }

    fn of_each<'a>(changes: impl IntoIterator<Item = Sides<'a>>) -> Self {
        let mut hash = Sha256::new();
        let mut side = String::new();
        for Sides { path, old, new } in changes {
            hash.update(path);
            for node in [old, new] {
                side.clear();
                if let Some(node) = node {
                    let _ = write!(side, "{:o} {}", node.mode, node.oid);
                }
                // No path has a NUL, and neither has a side: nothing can be read in two ways.
                hash.update([0]);
                hash.update(&side);
            }
            hash.update([0]);
        }
        Self(hex(&hash.finalize()))
    }
}

impl<'a> Sides<'a> {
    fn of(change: &'a Change) -> Self {
        Self {
            path: &change.path,
            old: change.old,
            new: change.new,
        }
    }

    fn of_file(file: &'a FileDiff) -> Self {
        let node = |mode, oid: Option<_>| oid.map(|oid| Node { mode, oid });
        Self {
            path: file.path.as_bytes(),
            old: node(file.old_mode, file.old_oid),
            new: node(file.new_mode, file.new_oid),
        }
    }
}

/// A change as a page shows it, and names it when it asks for it.
#[derive(Debug, Clone, Deserialize)]
pub struct ShownChange {
    /// The path, as it was shown.
    pub path: String,
    /// What was shown of it.
    pub key: ChangeKey,
}

impl ShownChange {
    /// The one of these changes that it is.
    pub(super) fn among(&self, changes: Vec<Change>) -> Option<Change> {
        // Few are hashed: those that look alike.
        let mut alike = changes
            .into_iter()
            .filter(|change| self.may_be(&change.path));
        alike.find(|change| ChangeKey::of(change) == self.key)
    }

    /// Whether this path is shown so.
    pub(super) fn may_be(&self, path: &[u8]) -> bool {
        RepoPath::new(path.to_vec()).display() == self.path
    }
}

/// What was shown is not what there is.
pub(super) fn another(of: &Subject) -> Error {
    let (message, hint) = match of {
        Subject::Entry(_) => (
            "what this entry changed is another by now",
            "read the entry again",
        ),
        Subject::Pair(..) => ("what differs is another by now", "compare again"),
    };
    Error::new(Code::PathNotFound, message).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Oid;

    #[test]
    fn a_change_is_told_from_others_by_its_path_its_modes_and_its_contents() {
        let node = |mode, byte: char| {
            let oid = Oid::from_hex(&byte.to_string().repeat(40)).expect("an id");
            Some(Node { mode, oid })
        };
        let change = |path: &[u8], old, new| Change {
            path: path.to_vec(),
            old,
            new,
        };
        let changes = [
            change(b"a", node(0o100_644, '1'), node(0o100_644, '2')),
            change(b"b", node(0o100_644, '1'), node(0o100_644, '2')),
            change(b"a", node(0o100_755, '1'), node(0o100_644, '2')),
            change(b"a", node(0o100_644, '1'), node(0o100_644, '3')),
            change(b"a", None, node(0o100_644, '2')),
            change(b"a", node(0o100_644, '2'), None),
            change(b"\xff", None, node(0o100_644, '2')),
            change(b"\xfe", None, node(0o100_644, '2')),
        ];
        let keys: Vec<ChangeKey> = changes.iter().map(ChangeKey::of).collect();
        for (at, key) in keys.iter().enumerate() {
            assert_eq!(keys.iter().position(|other| other == key), Some(at));
            let path = RepoPath::new(changes[at].path.clone()).display();
            let shown = ShownChange {
                path,
                key: key.clone(),
            };
            let found = shown.among(changes.to_vec());
            assert_eq!(found.as_ref(), Some(&changes[at]));
        }
        assert_eq!(ChangeKey::of_all(&changes[..1]), keys[0]);
        assert_ne!(
            ChangeKey::of_all(&changes),
            ChangeKey::of_all(&changes[1..])
        );
    }
}
