//! Workspaces of several repositories: who is a member, and what a swap over all did in one of them.

use schemars::JsonSchema;
use serde::Serialize;

use super::Aftermath;
use crate::store::state::Mode;

/// What a swap over all did in one member.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MemberSwap {
    /// The member, from the head's working tree; quoted as git does where it is not UTF-8.
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
    pub returned: Option<Aftermath>,
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
    /// Where it is, from the head's working tree; quoted as git does where it is not UTF-8.
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
