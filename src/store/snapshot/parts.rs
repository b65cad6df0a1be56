//! What a snapshot record is made of.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::repo::Head;
use crate::json;
use crate::store::records::Json;
use crate::store::state::Mode;

/// Where the working tree was when a snapshot was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenIn {
    /// In the user's own time.
    Present,
    /// In a snapshot's.
    Past,
    /// A word that this version does not know. Made by `from` alone, which knows the others.
    Other(String),
}

json::open_words!(TakenIn {
    Present = "present",
    Past = "past",
});

impl Default for TakenIn {
    /// That of a record that does not say.
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl From<Mode> for TakenIn {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Present => Self::Present,
            Mode::Past => Self::Past,
        }
    }
}

/// Where HEAD was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("additionalProperties" = true))]
pub struct HeadRecord {
    /// The branch ref, when on one.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// HEAD's commit, when born.
    pub oid: Option<String>,
    /// The annotated tag that HEAD names, by its id or by a ref, and that leads to the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// On no branch.
    pub detached: bool,
    /// On a branch without commits.
    pub unborn: bool,
    /// HEAD was a symlink to its branch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub symlink: bool,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

impl From<&Head> for HeadRecord {
    fn from(head: &Head) -> Self {
        Self {
            reference: head.reference.clone(),
            oid: head.oid.map(|oid| oid.to_string()),
            tag: head.tag.map(|oid| oid.to_string()),
            detached: head.detached,
            unborn: head.unborn,
            symlink: head.symlink,
            other: Json::new(),
        }
    }
}

/// What the index holds that a tree cannot say; paths in stored form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct IndexRecord {
    /// Unmerged paths.
    pub conflicts: Vec<String>,
    /// How many there are, when the list is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflicts_count: Option<usize>,
    /// Paths added with `git add -N`.
    pub intent_to_add: Vec<String>,
    /// How many there are, when the list is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_to_add_count: Option<usize>,
    /// Paths with the skip-worktree bit.
    pub skip_worktree: Vec<String>,
    /// How many there are, when the list is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_worktree_count: Option<usize>,
    /// Paths with the assume-unchanged bit.
    pub assume_unchanged: Vec<String>,
    /// How many there are, when the list is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assume_unchanged_count: Option<usize>,
    /// Directories that a sparse index had folded, one entry for all beneath; none is also what records of earlier versions say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folded: Vec<String>,
    /// How many there are, when the list is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded_count: Option<usize>,
    /// Modes of intent-to-add paths that are no plain files, octal by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intent_to_add_modes: BTreeMap<String, String>,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

/// What a snapshot holds and what it cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Stats {
    /// Captured files and symlinks.
    pub files: u64,
    /// Their sizes' sum.
    pub bytes: u64,
    /// Objects written.
    pub new_objects: u64,
    /// Bytes written.
    pub new_bytes: u64,
}

/// What git ignores in the working tree, and so was not captured. A directory that is ignored whole is one entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("additionalProperties" = true))]
pub struct IgnoredRecord {
    /// Files and directories.
    pub entries: u64,
    /// The sum of the sizes of the files among them, in bytes; no directory was walked for it.
    pub bytes: u64,
}

/// Something in the working tree that was not captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("additionalProperties" = true))]
pub struct Uncaptured {
    /// Its path; lossy when `path_bytes` is there.
    pub path: String,
    /// The exact bytes in base64; absent when they are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub path_bytes: Option<String>,
    /// Why: `nested-repository`, `larger-than-limit`, …
    pub reason: String,
    /// Its size, when that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// HEAD of a nested repository or submodule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// What most files have, so that only exceptions need listing; octal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct DefaultModes {
    /// Of files without the x bit.
    pub file: String,
    /// Of executables.
    pub executable: String,
    /// Of directories.
    pub directory: String,
}

impl Default for DefaultModes {
    fn default() -> Self {
        Self {
            file: "0644".into(),
            executable: "0755".into(),
            directory: "0755".into(),
        }
    }
}
