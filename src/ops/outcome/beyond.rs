//! What differs beyond the content of files, as it is answered.

use schemars::JsonSchema;
use serde::Serialize;

use super::PathField;
use crate::git::path::RepoPath;
use crate::json::{self, OptionalText};

/// What may differ beyond the content of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherKind {
    /// Permission bits that git does not know; octal.
    Mode,
    /// A directory with nothing captured in it.
    EmptyDirectory,
    /// Owner, group, ACLs or attributes.
    Access,
    /// An entry of git's index, or a mark on it.
    Index,
    /// HEAD: its branch and commit.
    Head,
    /// The operation under way, such as a merge.
    Operation,
}

json::words!(OtherKind {
    Mode = "mode",
    EmptyDirectory = "empty-directory",
    Access = "access",
    Index = "index",
    Head = "head",
    Operation = "operation",
});

/// One difference beyond the content of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OtherDiff {
    /// Which kind.
    pub kind: OtherKind,
    /// Where; absent when it is of no path.
    #[serde(flatten, with = "OptionalText::<PathField>")]
    pub path: Option<RepoPath>,
    /// The old side, null where it has nothing there.
    pub old: Option<String>,
    /// The new side, null where it has nothing there.
    pub new: Option<String>,
}
