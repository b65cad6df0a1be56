//! The words of `tw issue` and `tw redact`.

#![allow(
    clippy::doc_markdown,
    reason = "these comments are help for a terminal, which shows no backticks"
)]

use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCompleter;

use crate::cli::complete;

/// Report friction and work it off
///
/// An issue says what was being done, what went wrong and when it counts as solved. It is tied to a snapshot, so that
/// somebody can go back to the very state in which it happened, and keeps the redacted conversation that led to it. Issues
/// are JSON notes of the repository: 'git log --notes=timewarp/*' shows them.
///
/// The way of an issue: report it and go on working; later 'tw issue next', 'tw issue start ID' goes to its snapshot;
/// reproduce, try, 'tw issue verify ID'; 'tw return'; make the change for good, or 'tw issue apply ID'; verify again, 'tw issue
/// close ID'.
///
/// An ISSUE is an id or any part of it of four characters or more. Its files stand in .timewarp/issues/ID/ and may be
/// edited: the texts are taken in by the next command that looks at the issue.
#[derive(Debug, Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  # Friction: say it and go on
  tw issue report --task-context 'adding a login form' --symptom 'the tests hang' \\
    --success-criteria 'make test ends within a minute' --verify 'timeout 60 make test'

  # Later: pick one, go back, try
  tw issue next
  tw issue start ab12
  tw issue verify ab12
  tw return
  tw issue apply ab12
  tw issue close ab12 --status fixed"
)]
pub struct Issue {
    /// What to do.
    #[command(subcommand)]
    pub command: IssueCommand,
}

/// The commands of `tw issue`.
#[derive(Debug, Subcommand)]
#[allow(
    missing_docs,
    reason = "the comment of the arguments is the command's help; one here would replace it"
)]
pub enum IssueCommand {
    Report(Box<IssueReport>),
    List(IssueList),
    Get(IssueGet),
    Chat(IssueChat),
    Edit(Box<IssueEdit>),
    Experiment(IssueExperiment),
    Next(IssueNext),
    Search(IssueSearch),
    Start(IssueStart),
    Verify(IssueVerify),
    Apply(IssueApply),
    Close(IssueClose),
    Reopen(IssueReopen),
}

/// The texts of an issue.
#[derive(Debug, Args)]
pub struct IssueTexts {
    /// What was being done
    #[arg(long, value_name = "TEXT")]
    pub task_context: Option<String>,

    /// What went wrong
    #[arg(long, value_name = "TEXT")]
    pub symptom: Option<String>,

    /// When it counts as solved
    #[arg(long, value_name = "TEXT")]
    pub success_criteria: Option<String>,

    /// A guess at why
    #[arg(long, value_name = "TEXT")]
    pub suspected_cause: Option<String>,

    /// The conversation in short
    #[arg(long, value_name = "TEXT")]
    pub chat_summary: Option<String>,

    /// A shell command that succeeds when it is solved
    ///
    /// Given here it is approved on this machine. One that came with a record from elsewhere is shown and not run.
    #[arg(long, value_name = "CMD")]
    pub verify: Option<String>,

    /// How much it hurts: low, medium or high
    #[arg(long, value_name = "LEVEL", hide_possible_values = true)]
    pub severity: Option<SeverityWord>,
}

/// How much an issue hurts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SeverityWord {
    /// A nuisance
    Low,
    /// Costs time
    Medium,
    /// Blocks work
    High,
}

/// Report an issue
///
/// Task context, symptom and success criteria are required; on a terminal an editor asks for those that are missing. The
/// issue is tied to the session's newest snapshot, or to one taken now when something has changed since. The conversation is read from the agent's own session file: the one of the
/// session in the environment, else the newest of this directory. Every text is redacted. Without a conversation the issue
/// is recorded all the same and says why.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Friction in this session
  tw issue report --task-context 'release build' --symptom 'link fails' --success-criteria 'it links'

  # From a program
  echo '{\"task_context\": \"…\", \"symptom\": \"…\", \"success_criteria\": \"…\"}' | tw issue report --from-json -")]
pub struct IssueReport {
    /// Its texts.
    #[command(flatten)]
    pub texts: IssueTexts,

    /// Tie it to this snapshot instead of the state as it is now
    #[arg(long, value_name = "SNAPSHOT", add = ArgValueCompleter::new(complete::addresses))]
    pub snapshot: Option<String>,

    /// Take the conversation from this session file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub transcript: Option<PathBuf>,

    /// The agent's session ID
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// Keep only the last N turns of the conversation
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,

    /// Keep so many messages before and after the last one
    #[arg(long, value_name = "BEFORE,AFTER", conflicts_with = "last", value_parser = window)]
    pub window: Option<(usize, usize)>,

    /// Read the texts from a JSON document; '-' is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub from_json: Option<PathBuf>,
}

fn window(text: &str) -> Result<(usize, usize), String> {
    let pair = text.split_once(',');
    let pair = pair.and_then(|(before, after)| Some((before.parse().ok()?, after.parse().ok()?)));
    pair.ok_or_else(|| "two numbers are meant, such as 20,0".to_owned())
}

/// List issues, newest first
///
/// Shows the open ones. Records that cannot be read are listed as invalid and hide no others.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # What is open?
  tw issue list

  # Everything
  tw issue list --status all")]
pub struct IssueList {
    /// Which: open, experimenting, fixed, wontfix, duplicate or all
    #[arg(
        long,
        value_name = "STATUS",
        default_value = "open",
        hide_possible_values = true
    )]
    pub status: StatusWord,

    /// Show at most N
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub limit: Option<usize>,
}

/// A status, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatusWord {
    /// Reported
    Open,
    /// Somebody is on it
    Experimenting,
    /// Solved
    Fixed,
    /// Stays as it is
    Wontfix,
    /// Another issue has it
    Duplicate,
    /// All of them
    All,
}

/// Show an issue
///
/// Edits on its desk are taken in first, and the desk files are written.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # All of it
  tw issue get ab12")]
pub struct IssueGet {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub issue: String,
}

/// Show the conversation of an issue
///
/// Redacted, as it was captured with the report.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # How did it come to that?
  tw issue chat ab12 --last 3")]
pub struct IssueChat {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub issue: String,

    /// Show only the last N turns
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
}

/// Change an issue's texts
///
/// What is not given stays. An empty text clears suspected cause, chat summary and verify command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # It hurts more than thought
  tw issue edit ab12 --severity high --verify 'make test'")]
pub struct IssueEdit {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub issue: String,

    /// The texts.
    #[command(flatten)]
    pub texts: IssueTexts,
}

/// Show an issue's experiment, or write sections of it
///
/// Without flags it prints experiment.md. The file in .timewarp/issues/ID/ may be edited instead; headings of your own are
/// kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # What worked
  tw issue experiment ab12 --changes 'raised the pool size' --result 'ends in 12 s'

  # A longer text from a file
  tw issue experiment ab12 --repro - < notes.md")]
pub struct IssueExperiment {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub issue: String,

    /// How to see the problem; '-' reads standard input
    #[arg(long, value_name = "TEXT")]
    pub repro: Option<String>,

    /// What was changed; '-' reads standard input
    #[arg(long, value_name = "TEXT")]
    pub changes: Option<String>,

    /// How that was checked; '-' reads standard input
    #[arg(long, value_name = "TEXT")]
    pub validation: Option<String>,

    /// What came of it; '-' reads standard input
    #[arg(long, value_name = "TEXT")]
    pub result: Option<String>,
}

/// Show which issue to take next
///
/// Ranks the issues that wait by severity, how often they were met, whether they have a verify command, and age.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Pick one and go
  tw issue start $(tw -q issue next)")]
pub struct IssueNext {}

/// List the issues that contain a text
///
/// Looks into the texts, the experiment and the conversation, whatever the case.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Was it met before?
  tw issue search 'link fails'")]
pub struct IssueSearch {
    /// Look for this
    #[arg(value_name = "TEXT")]
    pub text: String,

    /// Which: open, experimenting, fixed, wontfix, duplicate or all
    #[arg(
        long,
        value_name = "STATUS",
        default_value = "all",
        hide_possible_values = true
    )]
    pub status: StatusWord,
}

/// Travel to an issue's snapshot and open a run
///
/// As 'tw travel' does: the present is saved first, and 'tw return' brings it back exactly. The run records the checks made
/// there and how much the experiment changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Go, reproduce, try, come home
  tw issue start ab12
  tw issue verify ab12
  tw return")]
pub struct IssueStart {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub issue: String,

    /// List what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Go on where the working tree is '/', your home directory or above it
    #[arg(long)]
    pub force: bool,
}

/// Run an issue's check and record how it went
///
/// Runs the verify command, or CMD, by 'sh -c' in the root of the working tree. Exit status, duration and the end of the
/// output (redacted) go into the run. Exits with 1 when the check failed. A verify command that was not approved on this
/// machine is shown and not run.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Is it solved?
  tw issue verify ab12

  # Another check
  tw issue verify ab12 -- make test")]
pub struct IssueVerify {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub issue: String,

    /// Record it in run N instead of the last
    #[arg(long, value_name = "N")]
    pub run: Option<u64>,

    /// Approve the stored command by the first 12 hex digits of its sha256
    #[arg(long, value_name = "HASH")]
    pub allow: Option<String>,

    /// Run this instead of the stored command
    #[arg(value_name = "CMD", last = true, value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<String>,
}

/// Put what a run changed onto the present
///
/// A three-way merge of the run's snapshot, of what 'tw return' left as its experiment, and of what is there now; renames are
/// followed. The present is saved first, and 'tw undo' brings it back. Where both changed the same lines the file gets git's
/// conflict markers and the index its stages, 'git status' shows them, and the exit status is 1; the rest of the index, HEAD
/// and the branch stay. Of a file that one side deleted the changed version stays in place.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # What would the last run change here?
  tw issue apply ab12 --dry-run

  # Take over what the first run tried
  tw issue apply ab12 --run 1")]
pub struct IssueApply {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub issue: String,

    /// Take run N instead of the last one that left an experiment
    #[arg(long, value_name = "N")]
    pub run: Option<u64>,

    /// List what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Close an issue
///
/// Closing as fixed without a check that passed says so. A duplicate adds to the occurrences of the issue that has it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Solved
  tw issue close ab12 --status fixed --note 'pool size'

  # Reported before
  tw issue close ab12 --status duplicate --of cd34")]
pub struct IssueClose {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub issue: String,

    /// As what: fixed, wontfix or duplicate
    #[arg(long, value_name = "STATUS", hide_possible_values = true)]
    pub status: ClosedWord,

    /// The issue that has it
    #[arg(long, value_name = "ISSUE")]
    pub of: Option<String>,

    /// Say why or how
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

/// How an issue is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClosedWord {
    /// Solved
    Fixed,
    /// Stays as it is
    Wontfix,
    /// Another issue has it
    Duplicate,
}

/// Open a closed issue again
///
/// What was said when it was closed stays in the record's history.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # It came back
  tw issue reopen ab12")]
pub struct IssueReopen {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub issue: String,
}

/// Take secrets out of a text
///
/// Reads FILE or standard input and prints it with every secret replaced by ***REDACTED***, or ***REDACTED:RULE*** where
/// the format of a known issuer matched. This is what every text goes through that enters an issue or a chat. Known values
/// in the working tree's .env files and in the environment are replaced, too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Before sending a log to somebody
  tw redact build.log > build.clean.log

  # In a hook: fail when there is a secret
  tw redact --check notes.md")]
pub struct Redact {
    /// Read this file; standard input when there is none, or '-'
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// Print no text, and exit with 1 when something would be replaced
    #[arg(long)]
    pub check: bool,
}
