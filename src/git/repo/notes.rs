//! Notes and their commits, read for layers that do not know libgit2.
//!
//! Owns nothing of its own: [`super::super::notes`] reads the trees, this lends it the handle.

use git2::Oid;

use super::Repo;
use crate::error::{Code, Error, Result};
use crate::git::notes;

impl Repo {
    /// All notes in a notes commit: the annotated object and the note's bytes, sorted by the former.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` when it is no notes commit, or a blob is missing.
    pub fn notes(&self, tip: Oid) -> Result<Vec<(Oid, Vec<u8>)>> {
        notes::notes_at(&self.git2, tip)?
            .into_iter()
            .map(|(annotated, blob)| Ok((annotated, notes::blob_bytes(&self.git2, blob)?)))
            .collect()
    }

    /// Whether `commit` is `ancestor` or comes after it. False when either is no commit that is there.
    ///
    /// # Errors
    /// When a commit between them cannot be read.
    pub fn descends(&self, commit: Oid, ancestor: Oid) -> Result<bool> {
        if commit == ancestor {
            return Ok(true);
        }
        if !self.is_commit(commit) || !self.is_commit(ancestor) {
            return Ok(false);
        }
        self.git2
            .graph_descendant_of(commit, ancestor)
            .map_err(|error| {
                let message = format!("cannot compare {commit} with {ancestor}: {error}");
                Error::new(Code::CorruptRecord, message).caused_by(error)
            })
    }
}
