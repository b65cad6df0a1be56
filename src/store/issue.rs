//! The issue record: a report of friction, tied to a snapshot, with what was tried since.
//!
//! Owns the fields and their stored form, nothing of when they change. Reading is strict where a command acts on a field
//! (ids, status, severity) and keeps every field it does not know; what was read and not changed is written back as it
//! was.

mod closed;
mod evidence;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::id::{IssueId, SnapshotId};
use super::records::{Json, VERSION, null_as_default};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::json;

pub use closed::{Earlier, Proof, ProofKind, Resolution};

/// Where an issue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Reported, nobody on it.
    Open,
    /// Somebody went to its snapshot.
    Experimenting,
    /// Solved.
    Fixed,
    /// Will stay as it is.
    Wontfix,
    /// Another issue has it.
    Duplicate,
}

json::words!(Status {
    Open = "open",
    Experimenting = "experimenting",
    Fixed = "fixed",
    Wontfix = "wontfix",
    Duplicate = "duplicate",
});

impl Status {
    /// Whether nothing more is to be done.
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Fixed | Self::Wontfix | Self::Duplicate)
    }
}

/// How much an issue hurts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Severity {
    /// A nuisance.
    Low,
    /// Costs time.
    #[default]
    Medium,
    /// Blocks work.
    High,
}

json::words!(Severity {
    Low = "low",
    Medium = "medium",
    High = "high",
});

/// What was tried, in the sections of `experiment.md`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub struct Experiment {
    /// When it counts as solved.
    pub success_criteria: String,
    /// How to see the problem.
    pub repro: String,
    /// What was changed.
    pub changes: String,
    /// How that was checked.
    pub validation: String,
    /// What came of it.
    pub result: String,
    /// Sections under other headings, in their order.
    #[serde(serialize_with = "write_extra", deserialize_with = "read_extra")]
    #[schemars(with = "Json")]
    pub extra: Vec<(String, String)>,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

/// One run of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Verify {
    /// The command, redacted.
    pub command: String,
    /// Its exit status; 128 and the signal's number when a signal ended it.
    pub exit_status: i32,
    /// How long it took.
    pub duration_ms: u64,
    /// The end of what it printed, redacted.
    #[serde(default)]
    pub output_tail: String,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

/// How much an experiment changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct DiffStat {
    /// Files that differ.
    pub files: u64,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
}

/// Something that was said of an issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Comment {
    /// Names it, also where copies of the issue are merged.
    pub id: String,
    /// RFC 3339, UTC.
    pub at: String,
    /// The session it was said in.
    #[serde(default)]
    pub session_id: Option<String>,
    /// That session's agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// The text, redacted.
    pub text: String,
    /// Who is said to have said it, when it came from elsewhere; nobody proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

/// A value that lost against another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct LostValue {
    /// The field; one inside another has slashes in its name.
    pub field: String,
    /// The value.
    pub value: Value,
    /// When it was set: RFC 3339, UTC.
    pub at: String,
    /// Who is said to have set it; nobody proves it.
    pub claimed_by: String,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

/// That somebody deleted an issue elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Deletion {
    /// Who is said to have; nobody proves it.
    pub claimed_by: String,
    /// RFC 3339, UTC.
    pub at: String,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunResult {
    /// The check succeeded.
    Passed,
    /// It did not.
    Failed,
    /// A word that this version does not know. Made by `from` alone, which knows the others.
    Other(String),
}

json::open_words!(RunResult {
    Passed = "passed",
    Failed = "failed",
});

/// One visit to the issue's snapshot, or a check made without one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, transform = describe_others)]
pub struct Run {
    /// Counted from 1.
    pub run: u64,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC; null while the working tree is in the past.
    #[serde(default)]
    pub ended_at: Option<String>,
    /// The present that was left.
    #[serde(default)]
    pub backup_id: Option<String>,
    /// What the past looked like when it was left.
    #[serde(default)]
    pub experiment_id: Option<String>,
    /// The checks made.
    #[serde(default)]
    pub verify: Vec<Verify>,
    /// The experiment against the snapshot it started from.
    #[serde(default)]
    pub diff_stat: Option<DiffStat>,
    /// `passed` or `failed`, as the last check says; null without one.
    #[serde(default)]
    pub result: Option<RunResult>,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

/// Describes what `tw` notes of some runs among the fields that are not known here.
fn describe_others(schema: &mut Schema) {
    let of = |kind: &str, about: &str| json!({"type": kind, "description": about});
    let others = json!({
        "id": of("string", "Of one that came with 'tw pull': its name among the runs of all."),
        "claimed_by": of("string", "Who is said to have made it; nobody proves it. Absent: it was made here."),
        "try_id": of("string", "The try that made it."),
        "try_run": of("integer", "The run of that try."),
        "replay_id": of("string", "The replay that made it."),
        "replay_run": of("integer", "The run of that replay."),
    });
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    if let (Some(properties), Value::Object(others)) = (properties, others) {
        properties.extend(others);
    }
}

impl Run {
    /// A run that begins now.
    pub fn begin(run: u64, started_at: String, backup_id: Option<String>) -> Self {
        Self {
            run,
            started_at,
            ended_at: None,
            backup_id,
            experiment_id: None,
            verify: Vec::new(),
            diff_stat: None,
            result: None,
            other: Json::new(),
        }
    }

    /// The try that it was a run of; None: somebody went to the snapshot.
    pub fn try_id(&self) -> Option<&str> {
        self.other.get("try_id")?.as_str()
    }
}

/// Usual words for the kind of friction. Any other will do, too.
pub const KINDS: [&str; 6] = [
    "instructions",
    "tools",
    "environment",
    "code",
    "tests",
    "docs",
];

/// The longest word for a kind.
const LONGEST_KIND: usize = 32;

/// A word as the kind of friction: letters, digits, dots, hyphens and underscores, in lower case. None: it is no such word.
pub fn kind_word(word: &str) -> Option<String> {
    let word = word.trim();
    let is_word = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_' | '.');
    let fits = (1..=LONGEST_KIND).contains(&word.len()) && word.chars().all(is_word);
    let begins = word.starts_with(|ch: char| ch.is_ascii_alphanumeric());
    (fits && begins).then(|| word.to_ascii_lowercase())
}

/// An issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Issue {
    /// The version of its stored form.
    pub version: u64,
    /// Its id.
    #[serde(rename = "issue_id")]
    pub id: IssueId,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// Its number in the order of making, as snapshots have one; none where it was made elsewhere, or by an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub seq: Option<u64>,
    /// RFC 3339, UTC.
    #[serde(default, deserialize_with = "null_as_default")]
    pub updated_at: String,
    /// Where it stands.
    pub status: Status,
    /// The snapshot it is tied to.
    pub snapshot_id: SnapshotId,
    /// The session it was reported in.
    #[serde(default)]
    pub session_id: Option<String>,
    /// That session's agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// What was being done.
    #[serde(default)]
    pub task_context: String,
    /// What went wrong.
    pub symptom: String,
    /// When it counts as solved.
    #[serde(default)]
    pub success_criteria: String,
    /// A guess at why.
    #[serde(default)]
    pub suspected_cause: Option<String>,
    /// How much it hurts.
    #[serde(default, deserialize_with = "null_as_default")]
    pub severity: Severity,
    /// What kind of friction it is, in a word: instructions, tools, environment, code, tests, docs, or any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// A shell command that succeeds when it is solved.
    #[serde(default)]
    pub verify_command: Option<String>,
    /// The chat's file on the desk; null without a chat.
    #[serde(default)]
    pub chat_file: Option<String>,
    /// Why there is no chat.
    #[serde(default)]
    pub chat_unavailable: Option<String>,
    /// The conversation in short.
    #[serde(default)]
    pub chat_summary: Option<String>,
    /// The experiment's file on the desk.
    #[serde(default, deserialize_with = "null_as_default")]
    pub experiment_file: String,
    /// How often it was met: this report and its duplicates.
    #[serde(default = "once", deserialize_with = "null_as_once")]
    pub occurrences: u64,
    /// The issue that has it.
    #[serde(default)]
    pub duplicate_of: Option<IssueId>,
    /// What was tried.
    #[serde(default)]
    pub experiment: Experiment,
    /// Visits to the snapshot, in order.
    #[serde(default)]
    pub runs: Vec<Run>,
    /// What was said of it since, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<Comment>,
    /// How it was closed.
    #[serde(default)]
    pub resolution: Option<Resolution>,
    /// How it was closed before, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolutions: Vec<Earlier>,
    /// Who is said to have reported it, when it came from elsewhere; nobody proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// Who is said to have tied it to another snapshot, when it was reported here; nobody proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_claimed_by: Option<String>,
    /// Values of fields that lost against those which several repositories set at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<LostValue>,
    /// Who is said to have deleted it elsewhere; it stays here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_by: Option<Deletion>,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

/// When an issue was made; the later one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Made(Moment, Option<u64>, IssueId);

impl Made {
    /// As the id alone tells it.
    pub fn of_id(id: IssueId) -> Self {
        Self(id.time(), None, id)
    }
}

/// The chat's name on the desk.
pub const CHAT_FILE: &str = "chat.md";
/// The experiment's name on the desk.
pub const EXPERIMENT_FILE: &str = "experiment.md";
/// The issue's name on the desk.
pub const ISSUE_FILE: &str = "issue.json";

impl Issue {
    /// Puts other success criteria in. The experiment's copy goes along until somebody has changed it.
    pub fn set_success_criteria(&mut self, text: &str) {
        if self.experiment.success_criteria == self.success_criteria {
            text.clone_into(&mut self.experiment.success_criteria);
        }
        text.clone_into(&mut self.success_criteria);
    }

    /// Decides for what these fields say: values of others that lost against them are not kept any longer.
    pub fn settle(&mut self, fields: &[&str]) {
        self.conflicts
            .retain(|lost| !fields.contains(&lost.field.as_str()));
    }

    /// The same for every field that is not as it was before, whoever set it by which way.
    pub fn settle_changed(&mut self, before: &Self) {
        if self.conflicts.is_empty() {
            return;
        }
        let (then, now) = (before.to_json(), self.to_json());
        let (then, now) = (Value::Object(then), Value::Object(now));
        // The name of a field is a pointer of JSON.
        let at = |json: &Value, field: &str| json.pointer(&format!("/{field}")).cloned();
        self.conflicts
            .retain(|lost| at(&then, &lost.field) == at(&now, &lost.field));
    }

    /// An open issue that says nothing yet.
    pub fn new(id: IssueId, snapshot_id: SnapshotId, at: String) -> Self {
        Self {
            version: VERSION,
            id,
            created_at: at.clone(),
            seq: None,
            updated_at: at,
            status: Status::Open,
            snapshot_id,
            session_id: None,
            agent: None,
            task_context: String::new(),
            symptom: String::new(),
            success_criteria: String::new(),
            suspected_cause: None,
            severity: Severity::default(),
            kind: None,
            verify_command: None,
            chat_file: None,
            chat_unavailable: None,
            chat_summary: None,
            experiment_file: EXPERIMENT_FILE.to_owned(),
            occurrences: once(),
            duplicate_of: None,
            experiment: Experiment::default(),
            runs: Vec::new(),
            comments: Vec::new(),
            resolution: None,
            resolutions: Vec::new(),
            claimed_by: None,
            snapshot_claimed_by: None,
            conflicts: Vec::new(),
            deleted_by: None,
            other: Json::new(),
        }
    }

    /// Its place in the order of making: by the second, within one by number, and without numbers by id.
    pub fn made(&self) -> Made {
        let at = Moment::parse_rfc3339(&self.created_at).unwrap_or_else(|| self.id.time());
        Made(at, self.seq, self.id)
    }

    /// Whether it is of this kind of friction; an empty word stands for none.
    pub fn is_of_kind(&self, wanted: &str) -> bool {
        let kind = self.kind.as_deref().unwrap_or_default();
        kind.eq_ignore_ascii_case(wanted.trim())
    }

    /// Reads a stored issue.
    ///
    /// # Errors
    /// `ISSUE_INVALID` names what is wrong with it.
    pub fn from_json(json: &Json) -> Result<Self> {
        let mut issue: Self = serde_json::from_value(Value::Object(json.clone()))
            .map_err(|error| invalid(&error.to_string()))?;
        // Earlier versions had neither.
        if issue.updated_at.is_empty() {
            issue.updated_at.clone_from(&issue.created_at);
        }
        if issue.experiment_file.is_empty() {
            EXPERIMENT_FILE.clone_into(&mut issue.experiment_file);
        }
        Ok(issue)
    }

    /// Its stored form.
    pub fn to_json(&self) -> Json {
        json::object(self)
    }

    /// The run that is open, or the last one.
    pub fn run_mut(&mut self, number: Option<u64>) -> Option<&mut Run> {
        match number {
            Some(number) => self.runs.iter_mut().find(|run| run.run == number),
            None => self.runs.last_mut(),
        }
    }

    /// The number of the next run.
    pub fn next_run(&self) -> u64 {
        self.runs.iter().map(|run| run.run).max().unwrap_or(0) + 1
    }
}

fn once() -> u64 {
    1
}

fn null_as_once<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<u64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(once))
}

fn write_extra<S: Serializer>(
    sections: &[(String, String)],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(sections.iter().map(|(name, text)| (name, text)))
}

fn read_extra<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<(String, String)>, D::Error> {
    let sections = Json::deserialize(deserializer)?.into_iter();
    let text = |value| match value {
        // Somebody's hand, or a later version, may have put anything there: it is kept as text.
        Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(sections.map(|(name, value)| (name, text(value))).collect())
}

fn invalid(what: &str) -> Error {
    Error::new(Code::IssueInvalid, format!("this is not an issue: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stored() -> Json {
        let value = json!({
            "version": 1, "issue_id": "i_20260228_153012_ab12cd", "created_at": "2026-02-28T15:30:12Z",
            "updated_at": "2026-02-28T15:30:12Z", "status": "open", "snapshot_id": "s_20260228_153000_000001",
            "session_id": "a", "agent": "claude", "task_context": "t", "symptom": "s", "success_criteria": "c",
            "suspected_cause": null, "severity": "high", "verify_command": "make check", "chat_file": "chat.md",
            "chat_unavailable": null, "chat_summary": null, "experiment_file": "experiment.md", "occurrences": 2,
            "duplicate_of": null,
            "experiment": {"success_criteria": "c", "repro": "", "changes": "", "validation": "", "result": "",
                "extra": {"Notes": "n", "Also": "a"}, "later": 5},
            "runs": [{"run": 1, "started_at": "2026-02-28T15:40:00Z", "ended_at": null, "backup_id": "b_1",
                "experiment_id": null, "verify": [{"command": "true", "exit_status": 0, "duration_ms": 3,
                "output_tail": "", "later": 1}], "diff_stat": {"files": 1, "insertions": 2, "deletions": 0},
                "result": null, "later": [2]}],
            "resolution": {"at": "2026-02-28T15:50:00Z", "commit": null, "note": "n", "later": 3,
                "proof": {"kind": "try", "id": "t_1", "run": 1, "issue_run": 1, "experiment_id": null, "command": "true",
                "at": "2026-02-28T15:50:00Z", "later": 6}},
            "conflicts": [{"field": "symptom", "value": "w", "at": "2026-02-28T15:50:00Z", "claimed_by": "b", "later": 7}],
            "deleted_by": {"claimed_by": "b", "at": "2026-02-28T15:50:00Z", "later": 8}, "later": {"kept": true}
        });
        match value {
            Value::Object(map) => map,
            _ => unreachable!("written as an object"),
        }
    }

    #[test]
    fn an_issue_is_written_back_as_it_was_read() {
        let mut issue = Issue::from_json(&stored()).expect("an issue");
        assert_eq!(Value::Object(issue.to_json()), Value::Object(stored()));
        assert_eq!(issue.next_run(), 2);
        let passed = |issue: &Issue| issue.evidence().map(|(passed, _)| passed);
        assert_eq!(passed(&issue), Some(true));
        let mut of_try = |exit: i32, id: &str| {
            let mut run = issue.runs[0].clone();
            run.run = issue.next_run();
            run.other.insert("try_id".to_owned(), id.into());
            run.verify[0].exit_status = exit;
            if exit == 0 {
                run.other.insert("best".to_owned(), true.into());
            }
            issue.runs.push(run);
            passed(&issue)
        };
        assert_eq!(of_try(0, "t_1"), Some(true));
        assert_eq!(of_try(1, "t_1"), Some(true), "another run of it passed");
        assert_eq!(of_try(1, "t_2"), Some(false));
        assert_eq!(issue.experiment.extra[0].0, "Notes", "in their order");
    }

    #[test]
    fn how_it_was_closed_is_kept_when_it_is_opened_again() {
        let mut issue = Issue::from_json(&stored()).expect("an issue");
        let before = issue.resolution.clone();
        let closed = issue.status.is_closed();
        issue.status = Status::Fixed;
        issue.set_resolution_aside("2026-03-01T00:00:00Z");
        assert!(issue.resolution.is_none(), "{closed}");
        assert_eq!(issue.resolutions[0].resolution.other["later"], json!(3));
        assert_eq!(Some(&issue.resolutions[0].resolution), before.as_ref());
        issue.resolutions[0]
            .other
            .insert("later".to_owned(), json!(4));
        let again = Issue::from_json(&issue.to_json()).expect("an issue");
        assert_eq!(again, issue);
        // The same one is there once, whoever sets it aside.
        issue.resolution = before;
        issue.set_resolution_aside("2026-03-02T00:00:00Z");
        assert_eq!(issue.resolutions.len(), 1);
        issue.status = Status::Open;
        issue.set_resolution_aside("2026-03-02T00:00:00Z");
        assert_eq!(issue.resolutions.len(), 1);
        // Another one of the same second is another.
        issue.status = Status::Fixed;
        issue.resolution = Some(Resolution {
            note: Some("again".to_owned()),
            ..issue.resolutions[0].resolution.clone()
        });
        issue.set_resolution_aside("2026-03-02T00:00:00Z");
        assert_eq!(issue.resolutions.len(), 2);
        assert_ne!(issue.resolutions[0].id, issue.resolutions[1].id);
    }

    #[test]
    fn a_kind_is_a_word() {
        assert_eq!(kind_word(" Tools "), Some("tools".to_owned()));
        assert_eq!(kind_word("ci-2.x_y"), Some("ci-2.x_y".to_owned()));
        for word in [
            "",
            "two words",
            "a/b",
            "-x",
            "\u{1b}[2J",
            "é",
            &"x".repeat(33),
        ] {
            assert_eq!(kind_word(word), None, "{word}");
        }
        assert!(
            KINDS
                .iter()
                .all(|word| kind_word(word).as_deref() == Some(word))
        );
    }

    #[test]
    fn only_what_a_report_needs_is_required() {
        let mut json = stored();
        json.retain(|name, _| {
            [
                "version",
                "issue_id",
                "status",
                "snapshot_id",
                "created_at",
                "symptom",
            ]
            .contains(&name.as_str())
        });
        let issue = Issue::from_json(&json).expect("an issue");
        assert_eq!(issue.severity, Severity::Medium);
        assert_eq!((issue.occurrences, issue.runs.len()), (1, 0));
    }

    #[test]
    fn what_is_no_issue_is_refused_by_name() {
        for (name, bad) in [
            ("issue_id", json!("i_1")),
            ("snapshot_id", json!("b_20260228_153000_000001 ")),
            ("status", json!("done")),
            ("severity", json!("worst")),
            ("symptom", json!(3)),
            ("duplicate_of", json!("x")),
        ] {
            let mut json = stored();
            json.insert(name.to_owned(), bad);
            let error = Issue::from_json(&json).expect_err(name);
            assert_eq!(error.code(), Code::IssueInvalid, "{name}");
        }
        assert!(Issue::from_json(&Json::new()).is_err());
    }
}
