//! What `bisect run` answers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::path::RepoPath;
use crate::json::{self, Texts};
use crate::ops::outcome::Diff;

/// How a bisect ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// One snapshot made the difference.
    Found,
    /// One of several did, and those between cannot be judged.
    Range,
    /// It changed more than once.
    NotMonotonic,
    /// A probe said once so, once otherwise.
    Flaky,
    /// Somebody stopped it; the next search goes on with what it found out.
    Interrupted,
}

json::words!(Answer {
    Found = "found",
    Range = "range",
    NotMonotonic = "not-monotonic",
    Flaky = "flaky",
    Interrupted = "interrupted",
});

/// What the command says of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It ended with 0.
    Good,
    /// It ended with another status, but for 125 and 127.
    Bad,
    /// It ended with 125.
    Skip,
    /// It was not found (127), a signal ended it, its time was over, or its files could not be laid out.
    Undecided,
    /// Repeated runs said different things.
    Flaky,
}

json::words!(Verdict {
    Good = "good",
    Bad = "bad",
    Skip = "skip",
    Undecided = "undecided",
    Flaky = "flaky",
});

/// Who made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The agent, in the turn of a prompt.
    Prompt,
    /// Somebody between two turns, or it is not known who.
    Between,
    /// One of several agents whose turns went on at the time, or somebody after a turn whose end was not noted.
    Ambiguous,
}

json::words!(Origin {
    Prompt = "prompt",
    Between = "between",
    Ambiguous = "ambiguous",
});

json::fields! {
    /// Paths of the present that changed while probes ran, ignored ones among them, and files of its git directory as `.git/…`. A directory
    /// that came or went whole, or has other permission bits, ends in a slash.
    Escapes = "escapes",
}

/// A snapshot of the line, with what its change belongs to.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "bisect_point")]
pub struct Point {
    /// The snapshot.
    pub snapshot_id: String,
    /// When it was taken: RFC 3339, UTC.
    pub at: String,
    /// What led from the snapshot before it to this one.
    pub origin: Origin,
    /// The session of that turn, in a member of a workspace perhaps its head's; null between turns.
    pub session_id: Option<String>,
    /// That session's agent.
    pub agent: Option<String>,
    /// The checkpoint where the turn begins; null between turns.
    pub checkpoint_id: Option<u64>,
    /// What was asked there, redacted.
    pub prompt: Option<String>,
    /// Where it is ambiguous: the prompts of all these turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<PointPrompt>,
    /// True: somebody between turns may have made it, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub or_between: bool,
    /// True: a turn whose snapshots were forgotten may have made it, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub or_forgotten: bool,
    /// The session is one of the workspace's head, and cannot be named here.
    #[serde(skip)]
    pub is_of_head: bool,
}

/// A prompt in whose turn a change may have been made.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PointPrompt {
    /// The session.
    pub session_id: String,
    /// Its agent.
    pub agent: Option<String>,
    /// The checkpoint where the turn begins.
    pub checkpoint_id: u64,
    /// What was asked there, redacted.
    pub prompt: Option<String>,
}

/// A run of the command.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "bisect_probe")]
pub struct ProbeView {
    /// The snapshot that was laid out.
    pub snapshot_id: String,
    /// Its files.
    pub tree: String,
    /// What the command said.
    pub verdict: Verdict,
    /// True: an earlier bisect had asked, and nothing was run.
    pub known: bool,
    /// In which round, from 1; 0 for what was known.
    pub round: u32,
    /// The exit status of the last run; null when a signal or its time ended it.
    pub exit: Option<i32>,
    /// Why there is no verdict.
    pub reason: Option<String>,
    /// How long all its runs took.
    pub duration_ms: u64,
    /// What it left running, which was ended.
    pub leaks: Vec<String>,
    /// The file with what it printed, head and tail; null for what was known.
    pub log: Option<String>,
}

/// Answer of `bisect run`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "bisect_run")]
pub struct Bisected {
    /// How it ended.
    pub result: Answer,
    /// The first bad snapshot; of several edges the last one's; null for `--find-good`, or when none is blamed.
    pub first_bad: Option<Point>,
    /// The last good snapshot before it.
    pub last_good: Option<Point>,
    /// With `--find-good`: the first good snapshot.
    pub first_good: Option<Point>,
    /// With `--find-good`: the last bad snapshot before it.
    pub last_bad: Option<Point>,
    /// All that it may be: of a range those that cannot be judged, too; where it changed more than once, the first of each change
    /// for the worse (with `--find-good`: for the better); of `flaky` that one.
    pub candidates: Vec<Point>,
    /// What changed from the last good snapshot to the first bad one.
    #[schemars(with = "Option<Diff>")]
    pub diff: Option<Diff>,
    /// Every tree that was judged, in the order in which they were.
    pub probes: Vec<ProbeView>,
    /// How many times probes were run side by side.
    pub rounds: u32,
    /// How many snapshots lie between the ends, the ends included.
    pub snapshots: usize,
    /// What of the present changed while probes ran.
    #[serde(flatten, with = "Texts::<Escapes>")]
    pub escapes: Vec<RepoPath>,
    /// Refs that all worktrees share and that were made, changed or deleted while probes ran.
    pub refs_made: Vec<String>,
    /// Sentences for people.
    pub notices: Vec<String>,
}
