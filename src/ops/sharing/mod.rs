//! Sharing: records of this repository in one ref of one remote, and those of others from there.
//!
//! Owns the form that is shared and how it is merged, its tree, what is taken from and put into our own records, the search for
//! secrets, and where it is kept what was named. From bottom to top:
//!
//! - [`fields`]: a record as fields with names, and back (pure);
//! - [`record`]: a record as several repositories edited it, and the one merge of two such (pure);
//! - [`tree`]: such records as a git tree. What is read may be hostile: everything is bounded before it is read;
//! - `waiting`: records while they wait in memory; `limits`: those that are too large to go;
//! - [`others`]: records of others that are kept nowhere else;
//! - [`sessions`], [`experiments`]: what of them goes, and those of others;
//! - [`own`]: what our own records say now; [`taken`]: what is put into them; [`unfinished`]: what a pull that died had put into them;
//!   [`lost`]: those whose refs are gone;
//! - [`scan`]: secrets in what would go;
//! - [`plan`]: our side against the remote's; [`exchange`]: fetch, merge, push;
//! - [`snapshots`]: those that were named, in a chain of their own; [`incoming`]: those of others out of it;
//! - [`damaged`]: what of all this was damaged here, and how to go on without it.
//!
//! Promises: nothing is sent unless a remote was named, and nothing in which a secret was found; merging the same edits in any order
//! gives the same bytes; no edit of ours is lost, nor a record of ours removed, whatever a remote says; of our repository's objects the remote
//! gets none that was not put into the depot for it (`git::depot`). The user's own git is the only one that talks to the network
//! (`git::network`). Leaves out approving: a command that came with a record does not run here.

mod bits;
pub mod damaged;
pub mod exchange;
pub mod experiments;
pub mod fields;
pub mod filters;
pub mod incoming;
mod limits;
pub mod lost;
pub mod others;
pub mod own;
pub mod plan;
pub mod record;
pub mod scan;
pub mod sessions;
mod setup;
pub mod snapshots;
pub mod taken;
pub mod tree;
pub mod unfinished;
mod waiting;

#[cfg(test)]
mod tests;

pub use setup::{
    Prompts, Setup, author, check_remote, depot, depot_for_exchange, forget_exchanged,
    forget_sent_snapshots, lock, required, sent_snapshots,
};

use schemars::JsonSchema;
use serde::Serialize;

/// What is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// An issue.
    Issue,
    /// The conversation of an issue.
    Chat,
    /// A session.
    Session,
    /// What is said of something that a stay in the past or a scratch left, or of a try.
    Experiment,
    /// The files of a snapshot or an experiment.
    Snapshot,
}

crate::json::words!(Subject {
    Issue = "issue",
    Chat = "chat",
    Session = "session",
    Experiment = "experiment",
    Snapshot = "snapshot",
});

impl From<fields::Kind> for Subject {
    fn from(kind: fields::Kind) -> Self {
        match kind {
            fields::Kind::Issue => Self::Issue,
            fields::Kind::Chat => Self::Chat,
            fields::Kind::Session => Self::Session,
            fields::Kind::Experiment => Self::Experiment,
        }
    }
}

/// What one record became.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Changed {
    /// What it is.
    pub kind: Subject,
    /// Its id.
    pub id: String,
    /// What became of it.
    pub change: Change,
    /// Who is said to have made it, when that was not here.
    pub claimed_by: Option<String>,
}

/// What becomes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It was not there.
    Added,
    /// It was.
    Changed,
    /// It is gone; it stays where it was.
    Deleted,
}

crate::json::words!(Change {
    Added = "added",
    Changed = "changed",
    Deleted = "deleted",
});

/// A field that several set without knowing of each other: one of them stands, the other is kept beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Conflict {
    /// What kind of record it is.
    pub kind: fields::Kind,
    /// Its id.
    pub id: String,
    /// The field.
    pub field: String,
}

/// What a remote had that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Refused {
    /// Its path in the shared tree.
    pub path: String,
    /// Why.
    pub reason: String,
}
