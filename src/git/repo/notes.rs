//! How commits of records follow one another, for layers that do not know libgit2.

use git2::Oid;

use super::Repo;
use crate::error::{Code, Error, Result};
use crate::git::objects::ObjectStore;

impl Repo {
    /// Whether `commit` is `ancestor` or comes after it. False when either is no commit that is there.
    ///
    /// # Errors
    /// When a commit between them cannot be read.
    pub fn descends(&self, objects: &ObjectStore, commit: Oid, ancestor: Oid) -> Result<bool> {
        if commit == ancestor {
            return Ok(true);
        }
        if !objects.is_commit(commit) || !objects.is_commit(ancestor) {
            return Ok(false);
        }
        self.git2()?
            .graph_descendant_of(commit, ancestor)
            .map_err(|error| {
                let message = format!("cannot compare {commit} with {ancestor}: {error}");
                Error::new(Code::CorruptRecord, message).caused_by(error)
            })
    }
}
