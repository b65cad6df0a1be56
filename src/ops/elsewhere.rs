//! Which files were made here, and which came from elsewhere.
//!
//! A snapshot that was pulled, or fetched from another repository, holds what strangers wrote; so does what was taken in the past that it was,
//! in a directory that it was opened in, and what a run left of it. Knows nothing of what is done about that.

use super::worktrees;
use crate::error::Result;
use crate::git::Oid;
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::state::{Mode, State};
use crate::store::stored::Stored;

/// So many snapshots are followed from an experiment to what it was made from.
const STEPS: usize = 100;
/// The field of a snapshot's record that names the one from elsewhere among whose files it was taken.
pub const MADE_FROM: &str = "made_from";

/// The files that a command is to run among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// They were made here.
    OfHere,
    /// Those of a snapshot that was pulled, or fetched from another repository.
    FromElsewhere {
        /// The snapshot.
        snapshot: SnapshotId,
        /// Its tree.
        tree: Oid,
    },
}

impl Files {
    /// Those of a snapshot. What was made here from one of elsewhere is from elsewhere, too.
    ///
    /// # Errors
    /// The repository's id cannot be read.
    pub fn of(store: &Store, stored: &Stored) -> Result<Self> {
        let mut at = stored.clone();
        for _ in 0..STEPS {
            if store.is_foreign(&at)? {
                return Ok(Self::FromElsewhere {
                    snapshot: stored.id,
                    tree: stored.tree,
                });
            }
            let from = [MADE_FROM, "opened_from", "started_from"]
                .into_iter()
                .filter_map(|field| at.record.extra.get(field)?.as_str())
                .find_map(SnapshotId::parse);
            // What it was made from may be forgotten by now.
            match from.map(|id| store.read_id(&id)) {
                Some(Ok(before)) => at = before,
                _ => break,
            }
        }
        Ok(Self::OfHere)
    }

    /// Those of the working tree: in the past, and in a directory of `tw open`, the snapshot's that was laid out.
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn of_worktree(store: &Store) -> Result<Self> {
        Self::of_worktree_in(store, &store.dir.state()?)
    }

    /// The same where the state was read already.
    ///
    /// # Errors
    /// What is known of the directory cannot be read.
    pub fn of_worktree_in(store: &Store, state: &State) -> Result<Self> {
        let id = match state.mode {
            Mode::Past => state.current_snapshot_id.clone(),
            Mode::Present => worktrees::opened(&store.dir)?.map(|opened| opened.snapshot_id),
        };
        // One that is forgotten cannot say where it came from.
        match id.and_then(|id| store.read_id(&SnapshotId::parse(&id)?).ok()) {
            Some(stored) => Self::of(store, &stored),
            None => Ok(Self::OfHere),
        }
    }

    /// What whoever goes there is told.
    pub fn notice(self) -> Option<String> {
        match self {
            Self::OfHere => None,
            Self::FromElsewhere { snapshot, .. } => Some(format!(
                "the files of {snapshot} were not made here: whatever is run among them may do what they say"
            )),
        }
    }

    /// What is named by a hash: the command, and the tree of files from elsewhere.
    pub(super) fn with(self, command: &str) -> String {
        match self {
            Self::OfHere => command.to_owned(),
            Self::FromElsewhere { tree, .. } => format!("{command}\0among {tree}"),
        }
    }
}
