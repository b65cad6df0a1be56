//! The journal of a swap: what it does to which path, and all that is needed to undo or end it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::State;
#[cfg(doc)]
use super::stored_path;
use crate::store::trigger::SwapKind;

/// One side of a path in a swap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// git mode, octal.
    pub mode: String,
    /// The blob.
    pub oid: String,
    /// Permission bits, octal.
    pub perm: String,
}

/// A path that a swap touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// The path, in the stored form of [`stored_path`].
    pub path: String,
    /// What the backup has there.
    pub before: Option<Side>,
    /// What the swap puts there.
    pub after: Option<Side>,
}

/// A directory whose permission bits or existence a swap sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalDir {
    /// The path, stored form.
    pub path: String,
    /// Permission bits before, octal; None when it was not there.
    pub before: Option<String>,
    /// Permission bits after, octal; None when it goes.
    pub after: Option<String>,
}

/// A swap under way, and afterwards a level of the undo log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    /// 1.
    pub version: u32,
    /// Names the swap, its temporary files and its locks.
    pub swap_id: String,
    /// What kind of swap it is.
    pub operation: SwapKind,
    /// What an undo or redo reverses: the kind of the original swap.
    #[serde(default)]
    pub reverses: Option<SwapKind>,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// Our process.
    pub pid: u32,
    /// When our process started, clock ticks since boot.
    pub process_start: u64,
    /// The boot that it began in, where the system says: after another one, what it wrote may not have reached the disk.
    #[serde(default)]
    pub boot_id: Option<String>,
    /// What was there before.
    pub backup_id: String,
    /// Its commit.
    pub backup_commit: String,
    /// Whose files are put in place, when it is one snapshot's.
    pub target_id: Option<String>,
    /// Its commit.
    pub target_commit: Option<String>,
    /// Whose index and operation files are put in place, where it is not that one: the id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_id: Option<String>,
    /// and its commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// The experiment that a return took.
    pub experiment_id: Option<String>,
    /// The bytes of HEAD before and after; None when HEAD stays.
    pub head: Option<(String, String)>,
    /// `index.before` and `index.after` stand beside the journal.
    pub swaps_index: bool,
    /// The operation files (merge, rebase, …) are put in place.
    pub swaps_operation: bool,
    /// `state.json` before.
    pub state_before: State,
    /// `state.json` after: writing it is the commit point.
    pub state_after: State,
    /// HEAD as the swap left it: commit id or empty, to see whether it has moved since.
    #[serde(default)]
    pub head_left: String,
    /// Every path touched, sorted. This and what follows comes last: who asks for a [`JournalHead`] reads no further.
    pub entries: Vec<JournalEntry>,
    /// Directories made, removed or changed.
    #[serde(default)]
    pub dirs: Vec<JournalDir>,
    /// Of a return: what the present had left out and what changed in the past, where it stays. Neither side has it. Stored form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stayed: Vec<String>,
    /// When it was there last, nanoseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stayed_until: Option<i64>,
    /// Fields of a later version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Journal {
    /// Whether what this swap wrote, and did not wait for, may have gone with the power.
    pub fn is_of_another_boot(&self) -> bool {
        is_of_another_boot(self.boot_id.as_deref())
    }
}

pub(super) fn is_of_another_boot(boot: Option<&str>) -> bool {
    boot.is_some_and(|boot| crate::git::durable::boot_id().is_some_and(|now| now != boot))
}

/// What a journal or level says before its paths, of which a large swap has megabytes. The fields are those of [`Journal`].
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs, reason = "the fields are those of `Journal`")]
pub struct JournalHead {
    pub operation: SwapKind,
    pub started_at: String,
    pub backup_id: String,
    pub backup_commit: String,
    pub target_id: Option<String>,
    pub target_commit: Option<String>,
    #[serde(default)]
    pub git_id: Option<String>,
    #[serde(default)]
    pub git_commit: Option<String>,
    pub experiment_id: Option<String>,
    pub state_before: State,
    pub state_after: State,
}
