//! What `status` answers.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Membership, SnapshotView};
use crate::git::Oid;
use crate::json::{self, Text};
use crate::store::state::Mode;
use crate::store::trigger::SwapKind;

json::fields! {
    GitDir = "git_dir",
    WorkspaceRoot = "workspace_root",
}

/// Answer of `status`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Status {
    /// Where the working tree is.
    pub mode: Mode,
    /// `state.json` as it stands.
    pub state: Map<String, Value>,
    /// The swap that died, when one did.
    pub interrupted: Option<Interrupted>,
    /// The repository.
    pub repository: RepositoryInfo,
    /// What 'latest' means: the newest snapshot of this worktree taken in the present; in a clone with none of its own, of those that were
    /// fetched.
    pub latest: Option<SnapshotView>,
    /// The snapshot the working tree stands in, when in the past.
    pub current: Option<SnapshotView>,
    /// The workspace of several repositories that this one is part of; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Membership>,
    /// What goes on in the working tree.
    #[serde(flatten)]
    pub work: Work,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// What goes on in a working tree.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Work {
    /// What changed since the latest snapshot, or in the past since the one that was travelled to; null where there is none, and
    /// where a swap was interrupted.
    pub changed: Option<FilesChanged>,
    /// git's operation under way: `merge`, `rebase-merge`, …, more than one joined by `+`.
    pub in_progress: Option<String>,
    /// Paths in conflict.
    pub conflicts: usize,
    /// The issue whose run goes on here.
    pub issue: Option<WorkedOn>,
    /// The session that goes on here.
    pub session: Option<SessionHere>,
}

/// How much changed since a snapshot.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct FilesChanged {
    /// The snapshot's id.
    pub since: String,
    /// Files that differ.
    pub files: usize,
}

/// An issue that is worked on.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct WorkedOn {
    /// Its id.
    pub issue_id: String,
    /// What went wrong.
    pub symptom: String,
    /// When its run began: RFC 3339, UTC.
    pub since: Option<String>,
}

/// A session that goes on.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SessionHere {
    /// Its id.
    pub session_id: String,
    /// The agent's name.
    pub agent: Option<String>,
}

/// A swap that died.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Interrupted {
    /// `travel`, `return`, …
    pub operation: SwapKind,
    /// The swap's id.
    pub swap_id: String,
    /// When it began: RFC 3339, UTC.
    pub since: String,
}

/// What `status` says of the repository.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct RepositoryInfo {
    /// The working tree's root.
    #[serde(flatten, with = "Text::<WorkspaceRoot>")]
    pub workspace_root: PathBuf,
    /// `main`, or the linked worktree's name.
    pub worktree: String,
    /// This worktree's git directory.
    #[serde(flatten, with = "Text::<GitDir>")]
    pub git_dir: PathBuf,
    /// It is the private repository of a directory without git.
    pub private: bool,
    /// The repository's random id; null: no snapshot was ever taken.
    pub repository_id: Option<String>,
    /// HEAD.
    pub head: Head,
    /// How many there are.
    pub counts: Counts,
}

/// Where HEAD is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Head {
    /// Its branch; null: detached.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// Its commit; null: unborn.
    #[serde(serialize_with = "json::printed_or_null")]
    #[schemars(with = "Option<String>")]
    pub oid: Option<Oid>,
}

/// How many records of each kind a repository has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Counts {
    /// Snapshots.
    pub snapshots: usize,
    /// Backups.
    pub backups: usize,
    /// Experiments.
    pub experiments: usize,
}
