//! Notes of this repository, asked and moved without naming libgit2: see [`super::notes`] for the form.

use super::Oid;
use super::notes;
use super::objects::{NewObjects, ObjectStore};
use super::repo::Repo;
use crate::env::Moment;
use crate::error::Result;

impl Repo {
    /// The notes in the notes commit `tip`: annotated object and blob, sorted by the former.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` when it is no notes commit, or cannot be read.
    pub fn notes_in(&self, tip: Oid) -> Result<Vec<(Oid, Oid)>> {
        notes::notes_at(self.git2(), tip)
    }

    /// The text of a note.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` when it is missing or no blob.
    pub fn note_text(&self, blob: Oid) -> Result<Vec<u8>> {
        notes::blob_bytes(self.git2(), blob)
    }

    /// Makes the notes commit that follows `tip` with each note moved to what `moved` answers for the object it annotates.
    /// None when none moves. What is made goes to `made`; no ref is moved.
    ///
    /// # Errors
    /// As [`Repo::notes_in`].
    pub fn prepare_moved_notes(
        &self,
        (objects, made): (&ObjectStore, &mut NewObjects),
        tip: Oid,
        moved: &dyn Fn(Oid) -> Option<Oid>,
        message: &str,
        at: Moment,
    ) -> Result<Option<Oid>> {
        let mut texts = Vec::new();
        for (annotated, blob) in self.notes_in(tip)? {
            if let Some(new) = moved(annotated) {
                texts.push((annotated, new, self.note_text(blob)?));
            }
        }
        if texts.is_empty() {
            return Ok(None);
        }
        let gone = texts.iter().map(|(old, _, _)| (*old, None));
        let put = texts.iter().map(|(_, new, text)| (*new, Some(&text[..])));
        let changes: Vec<_> = gone.chain(put).collect();
        notes::prepare_notes(objects, made, Some(tip), &changes, message, at).map(Some)
    }
}
