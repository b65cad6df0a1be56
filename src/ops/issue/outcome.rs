//! What the issue commands answer.

use std::path::PathBuf;

use crate::git::path::RepoPath;
use crate::ops::issues::DeskPaths;
use crate::ops::merge::Reason;
use crate::ops::outcome::{Changes, Travelled};
use crate::store::chat::Chat;
use crate::store::issue::{Experiment, Issue, Verify};

/// An issue as readers see it.
#[derive(Debug, Clone)]
pub struct IssueView {
    /// The issue.
    pub issue: Issue,
    /// Its desk.
    pub paths: DeskPaths,
    /// The first 12 hex digits of the verify command's sha256.
    pub verify_hash: Option<String>,
    /// Whether the verify command may run on this machine.
    pub verify_approved: bool,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `issue report`.
#[derive(Debug)]
pub struct Reported {
    /// The issue.
    pub view: IssueView,
    /// How many messages the chat has; None without a chat.
    pub messages: Option<usize>,
    /// How the conversation was found: `given`, `session`, `environment` or `newest`.
    pub found_by: Option<&'static str>,
}

/// One line of a list.
#[derive(Debug, Clone)]
pub struct IssueSummary {
    /// The issue.
    pub issue: Issue,
}

/// A record that cannot be read.
#[derive(Debug, Clone)]
pub struct InvalidIssue {
    /// Its id.
    pub issue_id: String,
    /// Why.
    pub reason: String,
}

/// Answer of `issue list` and `issue search`.
#[derive(Debug)]
pub struct IssueListing {
    /// The filter's word: a status, or `all`.
    pub filter: &'static str,
    /// What was searched for.
    pub text: Option<String>,
    /// Newest first.
    pub issues: Vec<IssueSummary>,
    /// Records that cannot be read. They hide nothing.
    pub invalid: Vec<InvalidIssue>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// One candidate of `issue next`.
#[derive(Debug)]
pub struct Ranked {
    /// The issue.
    pub issue: Issue,
    /// Its rank; the highest is next.
    pub score: u64,
    /// What speaks for it, in words.
    pub reasons: Vec<String>,
}

/// Answer of `issue next`: best first.
#[derive(Debug)]
pub struct Next {
    /// Every open issue.
    pub ranked: Vec<Ranked>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `issue chat`.
#[derive(Debug)]
pub struct ChatShown {
    /// Whose.
    pub issue_id: String,
    /// The conversation, or the part that was asked for.
    pub chat: Chat,
    /// How many messages it has in all.
    pub total: usize,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `issue experiment`.
#[derive(Debug)]
pub struct ExperimentShown {
    /// Whose.
    pub issue_id: String,
    /// Its sections.
    pub experiment: Experiment,
    /// As `experiment.md`.
    pub markdown: String,
    /// Its file on the desk.
    pub file: PathBuf,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `issue start`.
#[derive(Debug)]
pub struct Started {
    /// Which.
    pub issue_id: String,
    /// The run that was opened; for a dry run the one that would be.
    pub run: u64,
    /// The travel.
    pub travelled: Travelled,
}

/// Answer of `issue apply`.
#[derive(Debug)]
pub struct Applied {
    /// Whose.
    pub issue_id: String,
    /// Which run's.
    pub run: u64,
    /// The snapshot that the run started from.
    pub snapshot_id: String,
    /// What the run left.
    pub experiment_id: String,
    /// What was there before; None when nothing was written.
    pub backup_id: Option<String>,
    /// Nothing was written.
    pub dry_run: bool,
    /// Paths touched.
    pub changes: Changes,
    /// Paths that both the run and the present had changed, and that came together.
    pub merged: Vec<RepoPath>,
    /// Paths that need a decision, and why.
    pub conflicts: Vec<(RepoPath, Reason)>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `issue verify`.
#[derive(Debug)]
pub struct Verified {
    /// Whose.
    pub issue_id: String,
    /// In which run it was recorded.
    pub run: u64,
    /// The check.
    pub check: Verify,
    /// Sentences for people.
    pub notices: Vec<String>,
}
