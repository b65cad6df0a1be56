//! What a swap took back of the changes between two snapshots: a field of its journal, so of its level in the undo log.
//!
//! A level in the undo log is a swap that stands. An undo carries the field over to its own level, which a redo brings back with it.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use super::goal::Goal;
use crate::store::state::{Journal, path_from_stored, stored_path};

/// Among the journal's other fields.
const FIELD: &str = "taken_back";

/// Changes that were taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenBack {
    /// The snapshot before the changes.
    pub before: String,
    /// The snapshot after them.
    pub after: String,
    /// In which paths, in the stored form.
    paths: Vec<String>,
}

impl TakenBack {
    /// What was changed in these paths between two snapshots.
    pub fn new<'p>(
        [before, after]: [&str; 2],
        paths: impl IntoIterator<Item = &'p Vec<u8>>,
    ) -> Self {
        Self {
            before: before.to_owned(),
            after: after.to_owned(),
            paths: paths.into_iter().map(|path| stored_path(path)).collect(),
        }
    }

    /// In which paths.
    pub fn paths(&self) -> impl Iterator<Item = Vec<u8>> {
        self.paths.iter().filter_map(|path| path_from_stored(path))
    }
}

/// What a level says that it took back. What cannot be read is not said.
pub fn read(journal: &Journal) -> Vec<TakenBack> {
    let field = journal.extra.get(FIELD).cloned();
    let read = field.and_then(|field| serde_json::from_value(field).ok());
    read.unwrap_or_default()
}

/// Puts what a goal takes back among a journal's other fields.
pub(super) fn note(goal: &Goal<'_>, extra: &mut serde_json::Map<String, serde_json::Value>) {
    let said = goal.taken_back.map(RefCell::borrow);
    let said = said.filter(|said| !said.is_empty());
    if let Some(said) = said.and_then(|said| serde_json::to_value(&*said).ok()) {
        extra.insert(FIELD.into(), said);
    }
}
