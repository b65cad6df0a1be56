//! Try: a command run several times side by side, each in a scratch; what came of it, and the best put onto the present.

mod made;
mod start;

use std::ffi::OsString;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::applying::AppliedRun;
use super::kept::Versioned;
use super::outcome::Invalid;
use super::request::DryRun;
use super::sharing::experiments::SharedTry;
use super::tries::Try;

pub use made::{apply, diff, drop, list, log, show};
pub use start::start;

/// Run a command several times.
#[derive(Debug, Clone)]
pub struct Start {
    /// A snapshot's address, or an issue; None: the present.
    pub what: Option<String>,
    /// How many runs.
    pub runs: u64,
    /// How many at a time.
    pub jobs: u64,
    /// How long each command may take.
    pub timeout: Duration,
    /// The check, in place of the issue's.
    pub verify: Option<String>,
    /// What makes a scratch ready.
    pub setup: Option<String>,
    /// End the others once one has passed.
    pub first: bool,
    /// Paths that the runs have as the present has them.
    pub with: Vec<OsString>,
    /// The command.
    pub command: Vec<OsString>,
    /// An agent, in place of a command.
    pub agent: Option<String>,
    /// What the agent is given besides.
    pub agent_args: Vec<String>,
    /// A person has typed the commands here: they are approved by that. Others have to be.
    pub is_typed: bool,
}

/// Answer of `try` and `try show`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tried {
    /// The try.
    #[serde(flatten)]
    pub record: Try,
    /// Sentences for people.
    pub notices: Vec<String>,
    /// The working tree is in the past: a run is applied to the present.
    #[serde(skip)]
    pub in_past: bool,
    /// What came of it is recorded: other commands know of it.
    #[serde(skip)]
    pub is_kept: bool,
}

/// Answer of `try list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tries {
    /// Newest first.
    pub tries: Vec<Versioned<Try>>,
    /// Those that others shared ('tw pull'), newest first.
    pub shared: Vec<SharedTry>,
    /// Records that cannot be read. They hide nothing.
    pub invalid: Vec<Invalid>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `try log`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Logged {
    /// The try.
    pub try_id: String,
    /// The run.
    pub run: u64,
    /// The file.
    pub log: String,
    /// What the run printed.
    pub output: String,
    /// What its check printed at the end; null: there was none.
    pub verify_output: Option<String>,
}

/// Put what a run made onto the present.
#[derive(Debug, Clone)]
pub struct Apply {
    /// Names the try.
    pub name: String,
    /// The run; None: the best.
    pub run: Option<u64>,
    /// Write both sides of what conflicts, with markers.
    pub conflicts: bool,
    /// Plan only.
    pub dry_run: DryRun,
}

/// Answer of `try apply`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "try_applied")]
pub struct Applied {
    /// The try.
    pub try_id: String,
    /// The issue that the try is of; null: of none.
    pub issue_id: Option<String>,
    /// What was done.
    #[serde(flatten)]
    pub applied: AppliedRun,
}

/// Answer of `try drop`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "try_dropped")]
pub struct Dropped {
    /// The try that is forgotten.
    pub try_id: String,
    /// What its runs left, which stays as long as any experiment.
    pub experiments: Vec<String>,
}
