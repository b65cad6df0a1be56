//! A path that a run that is applied does not come together in.

use schemars::JsonSchema;
use serde::Serialize;

use super::PathField;
use crate::git::path::RepoPath;
use crate::json::Text;
use crate::ops::merge::{self, Reason};

/// A path that needs a decision.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Conflict {
    /// The path.
    #[serde(flatten, with = "Text::<PathField>")]
    pub path: RepoPath,
    /// Why.
    pub reason: Reason,
}

impl From<merge::Conflict> for Conflict {
    fn from(one: merge::Conflict) -> Self {
        Self {
            path: RepoPath::new(one.path),
            reason: one.reason,
        }
    }
}
