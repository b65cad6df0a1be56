//! What the issue commands answer.

use std::ops::Deref;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::json;
use crate::ops::applying::AppliedRun;
use crate::ops::issues::DeskPaths;
use crate::ops::outcome::Travelled;
use crate::store::chat::Chat;
use crate::store::id::{IssueId, SnapshotId};
use crate::store::issue::{Experiment, Issue, Run, RunResult, Severity, Status};

/// An issue as it is stored, with where its desk is and what is known of its verify command.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct IssueOnDesk {
    /// The issue.
    #[serde(flatten)]
    pub issue: Issue,
    /// Its desk.
    pub paths: DeskPaths,
    /// What `--allow` takes: the first 12 hex digits of the verify command's sha256, all of them where these alone could be taken for
    /// another command's; where the issue's snapshot was not made here, of the command and its files; null: no command.
    pub verify_hash: Option<String>,
    /// Whether the verify command may run on this machine, among the files of the issue's snapshot.
    pub verify_approved: bool,
}

impl Deref for IssueOnDesk {
    type Target = Issue;

    fn deref(&self) -> &Issue {
        &self.issue
    }
}

/// An issue as readers see it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IssueView {
    /// Its id.
    pub issue_id: IssueId,
    /// The issue.
    pub issue: IssueOnDesk,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `issue report`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reported {
    /// The issue.
    #[serde(flatten)]
    pub view: IssueView,
    /// Its conversation; null without one.
    pub chat: Option<Captured>,
    /// The working tree is in the past: nobody can go to its snapshot from there.
    #[serde(skip)]
    pub in_past: bool,
}

/// A conversation that went with a report.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Captured {
    /// How many messages it has.
    pub messages: usize,
    /// How its file was found: given; session, as the session's hook named it or by its id; environment; newest of this
    /// directory, where no session is known.
    pub found_by: Option<&'static str>,
}

/// One line of a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct IssueSummary {
    /// Its id.
    pub issue_id: IssueId,
    /// Where it stands.
    pub status: Status,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// The snapshot it is tied to.
    pub snapshot_id: SnapshotId,
    /// What went wrong.
    pub symptom: String,
    /// How much it hurts.
    pub severity: Severity,
    /// What kind of friction it is, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How often it was met.
    pub occurrences: u64,
    /// RFC 3339, UTC.
    pub updated_at: String,
    /// How often it was tried with 'tw try'.
    pub tries: usize,
    /// The number of the best run of the last try that passed; null: none did.
    pub best: Option<u64>,
    /// Who is said to have reported it, when it came from elsewhere; nobody proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
}

impl From<&Issue> for IssueSummary {
    fn from(issue: &Issue) -> Self {
        let of_tries = issue.runs.iter().filter_map(Run::try_id);
        let mut tries: Vec<_> = of_tries.collect();
        tries.sort_unstable();
        tries.dedup();
        let passed = issue.runs.iter().rev();
        let mut passed = passed.filter(|run| run.result == Some(RunResult::Passed));
        let is_best = |run: &&Run| run.other.get("best") == Some(&true.into());
        Self {
            tries: tries.len(),
            best: passed.find(is_best).map(|run| run.run),
            issue_id: issue.id,
            status: issue.status,
            created_at: issue.created_at.clone(),
            snapshot_id: issue.snapshot_id,
            symptom: issue.symptom.clone(),
            severity: issue.severity,
            kind: issue.kind.clone(),
            occurrences: issue.occurrences,
            updated_at: issue.updated_at.clone(),
            claimed_by: issue.claimed_by.clone(),
        }
    }
}

/// A record that cannot be read. What an issue would have is null.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct InvalidIssue {
    /// Its id.
    pub issue_id: String,
    /// In the place of a status.
    #[schemars(extend("const" = "invalid"))]
    pub status: &'static str,
    /// Not known.
    pub created_at: (),
    /// Not known.
    pub snapshot_id: (),
    /// Not known.
    pub symptom: (),
    /// Why it cannot be read.
    pub reason: String,
}

impl InvalidIssue {
    /// The record of this id.
    pub fn new(id: IssueId, reason: &str) -> Self {
        Self {
            issue_id: id.to_string(),
            status: "invalid",
            created_at: (),
            snapshot_id: (),
            symptom: (),
            reason: reason.to_owned(),
        }
    }
}

/// An issue, or what cannot be read of one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Entry {
    /// An issue.
    Issue(IssueSummary),
    /// A record that cannot be read.
    Invalid(InvalidIssue),
}

/// What a list was asked for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Filtered {
    /// A status or `all`; `open` also where none was given, which takes all that are not closed.
    pub status: &'static str,
    /// A kind of friction.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub kind: Option<String>,
    /// What was searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub text: Option<String>,
}

/// Answer of `issue list` and `issue search`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct IssueListing {
    /// What was asked for.
    pub filter: Filtered,
    /// How many follow.
    pub count: usize,
    /// Newest first, then those that cannot be read: they hide nothing.
    pub issues: Vec<Entry>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// One candidate of `issue next`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Ranked {
    /// The issue.
    #[serde(flatten)]
    pub issue: IssueSummary,
    /// Its rank; the highest is next.
    pub score: u64,
    /// What speaks for it, in words, and that its snapshot is not in this repository.
    pub reasons: Vec<String>,
    /// How to come by its snapshot; none: it is here.
    #[serde(skip)]
    pub way_to_snapshot: Vec<String>,
}

/// Answer of `issue next`: best first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Next {
    /// The best; null: nothing waits.
    pub issue_id: Option<IssueId>,
    /// Every issue that waits.
    #[serde(rename = "issues")]
    pub ranked: Vec<Ranked>,
    /// Sentences for people.
    pub notices: Vec<String>,
    /// The working tree is in the past: nobody can go to an issue's snapshot from there.
    #[serde(skip)]
    pub in_past: bool,
}

/// Answer of `issue chat`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChatShown {
    /// The issue.
    pub issue_id: String,
    /// How many messages the conversation has in all.
    pub total: usize,
    /// The conversation, or the part that was asked for.
    pub chat: Chat,
    /// Who is said to have reported the issue, when it came from elsewhere; nobody proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `issue experiment`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExperimentShown {
    /// The issue.
    pub issue_id: String,
    /// Its sections.
    pub experiment: Experiment,
    /// Who is said to have reported the issue, when it came from elsewhere; nobody proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// As `experiment.md`.
    pub markdown: String,
    /// Its file on the desk.
    #[serde(rename = "experiment_file", serialize_with = "json::file")]
    #[schemars(with = "String")]
    pub file: PathBuf,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `issue start`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Started {
    /// The issue.
    pub issue_id: String,
    /// The run that was opened, counted from 1; for a dry run the one that would be.
    pub run: u64,
    /// The travel.
    #[serde(flatten)]
    pub travelled: Travelled,
}

/// Answer of `issue apply`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Applied {
    /// The issue.
    pub issue_id: String,
    /// What was done.
    #[serde(flatten)]
    pub applied: AppliedRun,
}

/// Answer of `issue verify`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Verified {
    /// The issue.
    pub issue_id: String,
    /// In which run it was recorded.
    pub run: u64,
    /// The command, redacted.
    pub command: String,
    /// Its exit status; 128 and the signal's number when a signal ended it.
    pub exit_status: i32,
    /// Whether it succeeded.
    pub passed: bool,
    /// How long it took.
    pub duration_ms: u64,
    /// The end of what it printed, redacted.
    pub output_tail: String,
    /// Sentences for people.
    pub notices: Vec<String>,
}
