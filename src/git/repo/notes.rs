//! Notes and their commits, for layers that do not know libgit2.
//!
//! Owns nothing of its own: [`super::super::notes`] reads and writes the trees, this lends it the handle. Moves no ref.

use git2::Oid;

use super::Repo;
use crate::env::Moment;
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

    /// Writes the notes commit that follows `tip`; see [`notes::prepare_notes`].
    ///
    /// # Errors
    /// As there.
    pub fn prepare_notes(
        &self,
        tip: Option<Oid>,
        changes: &[(Oid, Option<&[u8]>)],
        message: &str,
        at: Moment,
    ) -> Result<Oid> {
        notes::prepare_notes(&self.git2, tip, changes, message, at)
    }

    /// Writes the commit that keeps `tip`'s notes and has `other` as its second parent.
    ///
    /// # Errors
    /// As [`notes::prepare_merge`].
    pub fn prepare_notes_merge(
        &self,
        tip: Oid,
        other: Oid,
        message: &str,
        at: Moment,
    ) -> Result<Oid> {
        notes::prepare_merge(&self.git2, tip, other, message, at)
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
