//! Workspaces of several repositories: who is a member, and what a swap over all did in one of them.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ChangedSince, CommitMade, Discarded, HeadReport, Kept, MovedAside, Stayed};
use crate::git::path::RepoPath;
use crate::json::Texts;
use crate::store::state::Mode;

/// What a swap over all did in one member.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MemberSwap {
    /// The member, from the head's working tree.
    pub path: String,
    /// Where it is now, or came from; null when it has nothing to do with a snapshot.
    pub snapshot_id: Option<String>,
    /// What was there before; of a return what was put back.
    pub backup_id: Option<String>,
    /// What was made in the past; null when nothing was.
    pub experiment_id: Option<String>,
    /// How many files were written.
    pub written: usize,
    /// How many files were removed.
    pub removed: usize,
    /// What else is to be said of a return; only of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned: Option<ReturnedThere>,
}

/// What a return did in a member beside putting files back: as in the answer of `return` itself.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ReturnedThere {
    /// Paths that somebody else changed after they were put back.
    #[serde(flatten, with = "Texts::<ChangedSince>")]
    pub changed_since: Vec<RepoPath>,
    /// HEAD.
    pub head: HeadReport,
    /// Commits made on the detached HEAD.
    pub commits_made: Vec<CommitMade>,
    /// Directories left in place whose content changed in the past.
    #[serde(flatten, with = "Texts::<Stayed>")]
    pub stayed: Vec<RepoPath>,
    /// What `--move-aside` renamed.
    pub moved_aside: Vec<MovedAside>,
    /// What `--discard` did not keep in the experiment.
    #[serde(flatten, with = "Texts::<Discarded>")]
    pub discarded: Vec<RepoPath>,
    /// What `--keep` carried over.
    #[serde(flatten, with = "Texts::<Kept>")]
    pub kept: Vec<RepoPath>,
}

/// What this repository is to a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Role {
    /// It was made here, and goes from here.
    Head,
    /// It goes along.
    Member,
    /// There is none.
    None,
}

/// A member, as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MemberView {
    /// Where it is, from the head's working tree.
    pub path: String,
    /// Its working tree.
    pub root: String,
    /// Present or past; null when it cannot be looked at.
    pub mode: Option<Mode>,
    /// Why it cannot take part; null when it can.
    pub problem: Option<String>,
}

/// Answer of `workspace list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Membership {
    /// What this repository is.
    pub role: Role,
    /// The head's working tree; null where there is no workspace.
    pub head: Option<String>,
    /// The members, as they were added.
    pub members: Vec<MemberView>,
}
