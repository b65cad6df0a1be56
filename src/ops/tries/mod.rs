//! Tries: a command run several times side by side, as it is kept.
//!
//! A try is a directory in the common `timewarp` directory: `try.json`, and the logs of its runs. It is local, and readable by its owner
//! alone. The record is written before the first run begins and after each that ends, so that a death keeps what was done. It holds
//! the snapshot that it began with and the experiments of its runs.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Context;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::git::fs::{Durable, write_atomic};
use crate::json;
use crate::store::id::Tail;
use crate::store::issue::DiffStat;
use crate::store::state::{StateDir, read_json};

/// The directory of tries.
const DIR: &str = "tries";
/// The record of one.
const FILE: &str = "try.json";

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
    /// Paths that the check names and the run changed. The check saw them as they were before.
    pub protected: Vec<String>,
    /// Paths of the present that changed meanwhile.
    pub escapes: Vec<String>,
    /// Refs of the repository that were made or changed meanwhile.
    pub refs_made: Vec<String>,
    /// Others ran at the same time: escapes and refs may be theirs.
    pub uncertain: bool,
    /// What it left running, which was ended.
    pub leaks: Vec<String>,
    /// The file with what it printed.
    pub log: String,
    /// Its number among the runs of the issue; null: the try is of none.
    pub issue_run: Option<u64>,
    /// Why it could not be made, saved or ended as usual; null otherwise.
    pub error: Option<String>,
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
    /// The version of its stored form.
    pub version: u32,
    /// Its id.
    pub try_id: String,
    /// RFC 3339, UTC.
    pub created_at: String,
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
    /// The runs, best first.
    pub runs: Vec<TryRun>,
    /// The number of the best run; null: none is good.
    pub best: Option<u64>,
    /// Fields of a later version.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
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

    /// Puts the runs in their order: passed, nothing protected touched, smaller diff, shorter time; and numbers equal trees.
    pub fn rank(&mut self) {
        let lines = |run: &TryRun| run.diff_stat.map(|stat| stat.insertions + stat.deletions);
        self.runs.sort_by_key(|run| {
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
        for run in &mut self.runs {
            run.group = run.tree.as_ref().map(|tree| {
                let known = trees.iter().position(|known| known == tree);
                let at = known.unwrap_or_else(|| {
                    trees.push(tree.clone());
                    trees.len() - 1
                });
                u64::try_from(at + 1).unwrap_or(u64::MAX)
            });
        }
        let good = |run: &&TryRun| matches!(run.status, Status::Passed | Status::Unverified);
        self.best = self.runs.first().filter(good).map(|run| run.run);
    }
}

/// The directory of a try that is about to begin, which nobody has yet.
///
/// # Errors
/// The system refuses.
pub fn new_id(ctx: &Context<'_>) -> Result<String> {
    let stamp = ctx.env.now().utc().format("%Y%m%d_%H%M%S");
    Ok(format!("t_{stamp}_{}", Tail::random()?.as_str()))
}

/// Where a try is kept.
pub fn dir_of(ctx: &Context<'_>, id: &str) -> PathBuf {
    dir(ctx).join(id)
}

fn dir(ctx: &Context<'_>) -> PathBuf {
    StateDir::new(ctx.repo.common_dir()).path().join(DIR)
}

/// Writes a try down.
///
/// # Errors
/// The disk refuses.
pub fn save(ctx: &Context<'_>, record: &Try) -> Result<()> {
    let dir = dir_of(ctx, &record.try_id);
    create::private_dir(&dir)?;
    let bytes = serde_json::to_vec_pretty(record).map_err(std::io::Error::from)?;
    write_atomic(&dir.join(FILE), &bytes, Durable::Yes)
}

/// Every try, newest first.
///
/// # Errors
/// `CORRUPT_RECORD` or `NEWER_RECORD` when one cannot be read.
pub fn all(ctx: &Context<'_>) -> Result<Vec<Try>> {
    let dir = dir(ctx);
    let entries = match std::fs::read_dir(&dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.context(|| format!("cannot read '{}'", dir.display()))?,
    };
    let mut found: Vec<Try> = Vec::new();
    for entry in entries {
        found.extend(read_json(&entry?.path().join(FILE))?);
    }
    found.sort_by(|a: &Try, b| (&b.created_at, &b.try_id).cmp(&(&a.created_at, &a.try_id)));
    Ok(found)
}

/// The try that a word names: `latest`, an id, or a part of one.
///
/// # Errors
/// `SNAPSHOT_NOT_FOUND` when there is none, `AMBIGUOUS_ADDRESS` when there are several.
pub fn find(ctx: &Context<'_>, word: &str) -> Result<Try> {
    let all = all(ctx)?;
    let none = || {
        let message = format!("there is no try '{}'", word.escape_debug());
        Error::new(Code::SnapshotNotFound, message).hint("'tw try list' shows them")
    };
    if word == "latest" {
        return all.into_iter().next().ok_or_else(none);
    }
    if word.is_empty() {
        return Err(none());
    }
    let mut those = all.into_iter().filter(|one| one.try_id.contains(word));
    let first = those.next().ok_or_else(none)?;
    let others: Vec<String> = those.map(|one| one.try_id).collect();
    if others.is_empty() || first.try_id == word {
        return Ok(first);
    }
    let ids = [vec![first.try_id], others].concat();
    Err(Error::new(
        Code::AmbiguousAddress,
        format!("'{}' could be {}", word.escape_debug(), ids.join(", ")),
    )
    .detail("candidates", ids))
}

/// Forgets a try: its record and its logs. What its runs left stays as long as any experiment.
///
/// # Errors
/// The disk refuses.
pub fn forget(ctx: &Context<'_>, id: &str) -> Result<()> {
    let dir = dir_of(ctx, id);
    std::fs::remove_dir_all(&dir).context(|| format!("cannot remove '{}'", dir.display()))
}
