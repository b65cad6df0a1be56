//! Small questions about commits and trees.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::{ErrorCode, Oid};

use super::Repo;
use crate::error::{Result, ResultExt};

impl Repo {
    /// What stands at `path` in a tree: the mode as it is stored, and the id. `None` when nothing does.
    pub fn tree_entry(&self, tree: Oid, path: &[u8]) -> Result<Option<(u32, Oid)>> {
        let tree = self
            .git2
            .find_tree(tree)
            .context(|| format!("read tree '{tree}'"))?;
        match tree.get_path(Path::new(OsStr::from_bytes(path))) {
            Ok(entry) => {
                let mode = u32::try_from(entry.filemode_raw()).unwrap_or_default();
                Ok(Some((mode, entry.id())))
            }
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error).context(|| {
                format!(
                    "read '{}' in tree '{}'",
                    crate::git::path::display(path),
                    tree.id()
                )
            }),
        }
    }

    /// The tree of a commit.
    pub fn commit_tree(&self, commit: Oid) -> Result<Oid> {
        Ok(self.commit(commit)?.tree_id())
    }

    /// The parents of a commit, in order. At the edge of a shallow clone there are none.
    pub fn commit_parents(&self, commit: Oid) -> Result<Vec<Oid>> {
        Ok(self.commit(commit)?.parent_ids().collect())
    }

    /// The message of a commit, its bytes as they are stored.
    pub fn read_commit_message(&self, commit: Oid) -> Result<Vec<u8>> {
        Ok(self.commit(commit)?.message_raw_bytes().to_vec())
    }

    /// When a commit was authored, in seconds since the epoch.
    pub fn commit_author_time(&self, commit: Oid) -> Result<i64> {
        Ok(self.commit(commit)?.author().when().seconds())
    }

    /// Whether `oid` is a commit that is there.
    pub fn is_commit(&self, oid: Oid) -> bool {
        self.has_kind(oid, git2::ObjectType::Commit)
    }

    /// Whether `oid` is a tree that is there.
    pub fn is_tree(&self, oid: Oid) -> bool {
        self.has_kind(oid, git2::ObjectType::Tree)
    }

    fn has_kind(&self, oid: Oid, kind: git2::ObjectType) -> bool {
        self.git2
            .odb()
            .and_then(|odb| odb.read_header(oid))
            .is_ok_and(|(_, found)| found == kind)
    }

    fn commit(&self, oid: Oid) -> Result<git2::Commit<'_>> {
        self.git2
            .find_commit(oid)
            .context(|| format!("read commit '{oid}'"))
            .map_err(|error| {
                error.hint("'git fsck' says what is missing; 'git reflog' shows where HEAD was")
            })
    }
}
