//! Which files were made here, and which came from elsewhere.
//!
//! A snapshot that was pulled, or fetched from another repository, holds what strangers wrote; so does what was taken in the past that it was,
//! in a directory that it was opened in, and what a run left of it. What cannot say any more where it came from counts as from elsewhere.
//! Knows nothing of what is done about that.

use serde_json::Value;

use super::worktrees::{self, OpenedDir};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::objects::ObjectKind;
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::state::{Mode, State};
use crate::store::stored::Stored;

/// So many snapshots are followed from an experiment to what it was made from.
const STEPS: usize = 100;
/// The field of a snapshot's record that names the one from elsewhere among whose files it was taken. Nothing else has it.
pub const MADE_FROM: &str = "made_from";
/// What stands there where nobody could tell.
pub const UNKNOWN: &str = "unknown";
/// The field of `opened.json` by which its files are known when the snapshot is forgotten; null: they were made here.
pub const FROM_ELSEWHERE: &str = "from_elsewhere";

/// The files that a command is to run among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// They were made here.
    OfHere,
    /// Those of a snapshot that was pulled, or fetched from another repository.
    FromElsewhere {
        /// The snapshot.
        snapshot: SnapshotId,
        /// Its tree. Where that is not known, or there are those of another one beside them, the id of a text that names what there is.
        named: Oid,
    },
}

impl Files {
    /// Those of a snapshot. What was made here from one of elsewhere is from elsewhere, too; so is what was made from one that is forgotten.
    ///
    /// # Errors
    /// The repository's id cannot be read.
    pub fn of(store: &Store, stored: &Stored) -> Result<Self> {
        let elsewhere = Self::FromElsewhere {
            snapshot: stored.id,
            named: stored.tree,
        };
        let mut at = stored.clone();
        for _ in 0..STEPS {
            let extra = &at.record.extra;
            if extra.contains_key(MADE_FROM) || store.is_foreign(&at)? {
                return Ok(elsewhere);
            }
            let from = ["opened_from", "started_from"];
            let Some(from) = from.into_iter().find_map(|field| extra.get(field)) else {
                return Ok(Self::OfHere);
            };
            let from = from.as_str().and_then(SnapshotId::parse);
            match from.map(|id| store.read_id(&id)) {
                Some(Ok(before)) => at = before,
                _ => return Ok(elsewhere),
            }
        }
        Ok(elsewhere)
    }

    /// Those of a snapshot that may be forgotten; `at` says since when they are there.
    fn of_id(store: &Store, id: SnapshotId, at: &str) -> Result<Self> {
        match store.read_id(&id) {
            Ok(stored) => Self::of(store, &stored),
            Err(_) => Self::named(store, id, &format!("{id} of {at}")),
        }
    }

    fn named(store: &Store, snapshot: SnapshotId, text: &str) -> Result<Self> {
        Ok(Self::FromElsewhere {
            snapshot,
            named: store.objects.hash(ObjectKind::Blob, text.as_bytes())?,
        })
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
        let opened = match worktrees::opened(&store.dir)? {
            Some(opened) => Self::of_opened(store, &opened)?,
            None => Self::OfHere,
        };
        let there = match state.mode {
            Mode::Present => Self::OfHere,
            Mode::Past => {
                let id = parsed(state.current_snapshot_id.as_deref().unwrap_or_default())?;
                Self::of_id(store, id, state.entered_at.as_deref().unwrap_or_default())?
            }
        };
        // A trip leaves in place what is ignored there.
        opened.and(store, there)
    }

    /// What `tw open` laid out, as it was known then.
    fn of_opened(store: &Store, opened: &OpenedDir) -> Result<Self> {
        let snapshot = parsed(&opened.snapshot_id)?;
        match opened.extra.get(FROM_ELSEWHERE) {
            Some(Value::Null) => Ok(Self::OfHere),
            Some(noted) => match noted.as_str().map(Oid::from_hex) {
                Some(Ok(named)) => Ok(Self::FromElsewhere { snapshot, named }),
                _ => Self::named(store, snapshot, &format!("{snapshot} of {}", opened.at)),
            },
            // By an earlier version.
            None => Self::of_id(store, snapshot, &opened.at),
        }
    }

    /// Those of a snapshot that is laid out from this working tree: ignored files of that may come along, and others may be put over it.
    ///
    /// # Errors
    /// As [`Self::of`] and [`Self::of_worktree`].
    pub fn laid_out(store: &Store, stored: &Stored) -> Result<Self> {
        Self::of_worktree(store)?.and(store, Self::of(store, stored)?)
    }

    /// Both, in one directory.
    fn and(self, store: &Store, other: Self) -> Result<Self> {
        match (self, other) {
            (Self::OfHere, files) | (files, Self::OfHere) => Ok(files),
            (
                Self::FromElsewhere { named, .. },
                Self::FromElsewhere {
                    snapshot,
                    named: too,
                },
            ) if named != too => Self::named(store, snapshot, &format!("{named} and {too}")),
            (_, files) => Ok(files),
        }
    }

    /// What `opened.json` says of them.
    pub fn noted(self) -> Value {
        match self {
            Self::OfHere => Value::Null,
            Self::FromElsewhere { named, .. } => named.to_string().into(),
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

    /// What is named by a hash: the command, and what names files from elsewhere.
    pub(super) fn with(self, command: &str) -> String {
        match self {
            Self::OfHere => command.to_owned(),
            Self::FromElsewhere { named, .. } => format!("{command}\0among {named}"),
        }
    }
}

fn parsed(id: &str) -> Result<SnapshotId> {
    let message = "it is not known which snapshot's files these are";
    SnapshotId::parse(id).ok_or_else(|| Error::new(Code::CorruptRecord, message))
}
