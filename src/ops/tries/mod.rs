//! Tries: a command run several times side by side, as it is kept.
//!
//! A try is kept as [`super::kept`] says: `try.json`, and the logs of its runs. It holds the snapshot that it began with and the
//! experiments of its runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kept::RunRecord;
use crate::error::{Error, Result};
use crate::git::path::RepoPath;
use crate::json::{self, Texts};
use crate::store::issue::DiffStat;

json::fields! {
    /// Paths that the check names and the run changed. What the check executes it saw as it was before.
    Protected = "protected",
    /// Paths of the present that changed meanwhile, ignored ones among them, and files of its git directory as `.git/…`. A directory
    /// that came or went whole, or has other permission bits, ends in a slash.
    Escapes = "escapes",
}

/// How a run came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// The check succeeded.
    Passed,
    /// There was no check.
    Unverified,
    /// The check failed.
    Failed,
    /// Its time was over.
    Timeout,
    /// It could not be made, or was stopped.
    Error,
}

json::words!(Status {
    Passed = "passed",
    Unverified = "unverified",
    Failed = "failed",
    Timeout = "timeout",
    Error = "error",
});

/// A check that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "try_check")]
pub struct Check {
    /// The command, redacted.
    pub command: String,
    /// `passed`, `failed` or `timeout`.
    pub status: Status,
    /// Its exit status; null when it was ended.
    pub exit: Option<i32>,
    /// How long it took.
    pub duration_ms: u64,
    /// The end of what it printed, redacted.
    pub output_tail: String,
}

/// What commands did outside of their scratch, as far as it was seen.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "outside")]
pub struct Outside {
    /// What of the present.
    #[serde(flatten, with = "Texts::<Escapes>")]
    pub escapes: Vec<RepoPath>,
    /// Refs of the repository that were made or changed meanwhile.
    pub refs_made: Vec<String>,
    /// Others ran at the same time: escapes and refs may be theirs.
    pub uncertain: bool,
    /// What they left running, which was ended.
    pub leaks: Vec<String>,
}

/// A run of a try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "try_run")]
pub struct TryRun {
    /// Counted from 1, in the order in which they began.
    pub run: u64,
    /// Its place among those at the same time, from 1.
    pub slot: u64,
    /// The command, redacted.
    pub command: String,
    /// How it came out.
    pub status: Status,
    /// The command's own exit status; null when it was ended, or never began.
    pub exit: Option<i32>,
    /// The check; null: there was none.
    pub verify: Option<Check>,
    /// How long the command took.
    pub duration_ms: u64,
    /// The experiment against the snapshot it began with; null: it could not be taken.
    pub diff_stat: Option<DiffStat>,
    /// What it left; null: nothing differs from the snapshot.
    pub experiment_id: Option<String>,
    /// Runs with the same files have the same number; null: nothing was saved.
    pub group: Option<u64>,
    /// What of the files that the check names it changed.
    #[serde(flatten, with = "Texts::<Protected>")]
    pub protected: Vec<RepoPath>,
    /// What setup, command and check did outside.
    #[serde(flatten)]
    pub outside: Outside,
    /// The file with what it printed.
    pub log: String,
    /// Its number among the runs of the issue; null: the try is of none.
    pub issue_run: Option<u64>,
    /// Why it could not be made, saved or ended as usual; null otherwise.
    pub error: Option<String>,
    /// In what its scratch was not as the snapshot: what was left empty, or did not come along. Sentences for people.
    #[serde(default)]
    pub notices: Vec<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC.
    pub ended_at: String,
    /// The tree it left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// A try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "try")]
pub struct Try {
    /// Its id.
    pub try_id: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// Nanoseconds within that second; 0 where an earlier version wrote it.
    #[serde(default)]
    pub created_nanos: u32,
    /// RFC 3339, UTC; null while it goes on, or when it was killed.
    pub ended_at: Option<String>,
    /// The worktree it was begun in.
    pub worktree: String,
    /// The snapshot that the runs began with.
    pub source: String,
    /// The issue it is of; null: of none.
    pub issue_id: Option<String>,
    /// The command, redacted.
    pub command: String,
    /// How many runs were asked for.
    pub wanted: u64,
    /// The check on the snapshot itself; null: there is none.
    pub base_verify: Option<Check>,
    /// What setup and check did outside then; null: there is none, or an earlier version did not look.
    #[serde(default)]
    pub base_outside: Option<Outside>,
    /// The runs, best first.
    pub runs: Vec<TryRun>,
    /// The number of the best run; null: none is good.
    pub best: Option<u64>,
    /// Fields of a later version.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

impl RunRecord for Try {
    const WHAT: &'static str = "try";
    const HINT: &'static str = "'tw try list' shows what there is";
    const LETTER: char = 't';
    const DIR: &'static str = "tries";
    const FILE: &'static str = "try.json";

    fn id(&self) -> &str {
        &self.try_id
    }

    fn created_at(&self) -> &str {
        &self.created_at
    }

    fn created_nanos(&self) -> u32 {
        self.created_nanos
    }
}

impl Try {
    /// The run with this number; without one, the best.
    ///
    /// # Errors
    /// `USAGE`.
    pub fn run(&self, number: Option<u64>) -> Result<&TryRun> {
        let Some(number) = number.or(self.best) else {
            let message = format!("no run of {} is the best: name one", self.try_id);
            return Err(Error::usage(message).hint(format!("tw try show {}", self.try_id)));
        };
        let found = self.runs.iter().find(|run| run.run == number);
        found.ok_or_else(|| {
            let message = format!("{} has no run {number}", self.try_id);
            Error::usage(message).hint(format!("tw try show {}", self.try_id))
        })
    }

    /// Puts the runs in their order, and names the best.
    pub fn rank(&mut self) {
        rank(&mut self.runs);
        let good = |run: &&TryRun| matches!(run.status, Status::Passed | Status::Unverified);
        self.best = self.runs.first().filter(good).map(|run| run.run);
    }
}

/// What runs have to say of their scratches, each sentence once.
pub fn notices<'a>(runs: impl IntoIterator<Item = &'a TryRun>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for notice in runs.into_iter().flat_map(|run| &run.notices) {
        if !all.contains(notice) {
            all.push(notice.clone());
        }
    }
    all
}

/// Puts runs in their order: passed, nothing protected touched, smaller diff, shorter time; and numbers equal trees.
pub fn rank(runs: &mut [TryRun]) {
    let lines = |run: &TryRun| run.diff_stat.map(|stat| stat.insertions + stat.deletions);
    runs.sort_by_key(|run| {
        (
            run.status,
            run.status == Status::Unverified && run.exit != Some(0),
            !run.protected.is_empty(),
            lines(run).unwrap_or(u64::MAX),
            run.duration_ms,
            run.run,
        )
    });
    let mut trees: Vec<String> = Vec::new();
    for run in runs {
        run.group = run.tree.as_ref().map(|tree| {
            let known = trees.iter().position(|known| known == tree);
            let at = known.unwrap_or_else(|| {
                trees.push(tree.clone());
                trees.len() - 1
            });
            u64::try_from(at + 1).unwrap_or(u64::MAX)
        });
    }
}
