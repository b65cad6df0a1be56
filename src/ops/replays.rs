//! Replays: issues of the past taken as a test, as they are kept.
//!
//! A replay is kept as [`super::kept`] says: `replay.json`, and the logs of its runs. It holds the experiments of its runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kept::RunRecord;
use super::tries::{Status, TryRun};

/// What came of one issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "replayed")]
pub struct Replayed {
    /// The issue.
    pub issue_id: String,
    /// What went wrong then.
    pub symptom: String,
    /// How the best of its runs came out.
    pub status: Status,
    /// How it came out in the last replay with the same command and the same files, else in the last with the same command; null: there
    /// was none.
    pub before: Option<Status>,
    /// How many of its runs passed.
    pub passes: u64,
    /// Its runs, best first.
    pub runs: Vec<TryRun>,
    /// It counted as fixed, had passed before, and was opened again.
    pub reopened: bool,
    /// Why nothing could be run; null otherwise.
    pub error: Option<String>,
}

/// A replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "replay")]
pub struct Replay {
    /// Its id.
    pub replay_id: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// Nanoseconds within that second; 0 where an earlier version wrote it.
    #[serde(default)]
    pub created_nanos: u32,
    /// RFC 3339, UTC; null while it goes on, or when it was killed.
    pub ended_at: Option<String>,
    /// The worktree it was begun in.
    pub worktree: String,
    /// The command, redacted.
    pub command: String,
    /// The words that name files of the present, from the root of the working tree.
    pub with: Vec<String>,
    /// What made each scratch ready, redacted; null: nothing did.
    #[serde(default)]
    pub setup: Option<String>,
    /// After how many seconds a command was ended; null where an earlier version wrote it.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
    /// The snapshot of the present whose versions those are.
    pub present: String,
    /// The issues, newest first.
    pub results: Vec<Replayed>,
    /// How many passed.
    pub passed: u64,
    /// How many did not.
    pub failed: u64,
    /// Fields of a later version.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

impl Replay {
    /// The runs of all issues.
    pub fn runs(&self) -> impl Iterator<Item = &TryRun> {
        self.results.iter().flat_map(|result| &result.runs)
    }
}

impl RunRecord for Replay {
    const WHAT: &'static str = "replay";
    const HINT: &'static str = "'tw replay list' shows what there is";
    const LETTER: char = 'r';
    const DIR: &'static str = "replays";
    const FILE: &'static str = "replay.json";

    fn id(&self) -> &str {
        &self.replay_id
    }

    fn created_at(&self) -> &str {
        &self.created_at
    }

    fn created_nanos(&self) -> u32 {
        self.created_nanos
    }
}
