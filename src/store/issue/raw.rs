//! The stored form of an issue: names and shapes as they stand in the note. Private; [`super::Issue`] is what is used.

#![allow(
    clippy::struct_field_names,
    reason = "the names are those of the stored document"
)]

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{IssueId, Json, SnapshotId, invalid};
use crate::error::Result;
use crate::store::records::VERSION;

#[derive(Serialize, Deserialize)]
pub(super) struct Issue {
    version: u64,
    issue_id: String,
    created_at: String,
    #[serde(default)]
    updated_at: Option<String>,
    status: String,
    snapshot_id: String,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    task_context: String,
    symptom: String,
    #[serde(default)]
    success_criteria: String,
    #[serde(default)]
    suspected_cause: Option<String>,
    #[serde(default)]
    severity: Option<String>,
    #[serde(default)]
    verify_command: Option<String>,
    #[serde(default)]
    chat_file: Option<String>,
    #[serde(default)]
    chat_unavailable: Option<String>,
    #[serde(default)]
    chat_summary: Option<String>,
    #[serde(default)]
    experiment_file: Option<String>,
    #[serde(default)]
    occurrences: Option<u64>,
    #[serde(default)]
    duplicate_of: Option<String>,
    #[serde(default)]
    experiment: Experiment,
    #[serde(default)]
    runs: Vec<Run>,
    #[serde(default)]
    resolution: Option<Resolution>,
    #[serde(flatten)]
    other: Json,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Experiment {
    success_criteria: String,
    repro: String,
    changes: String,
    validation: String,
    result: String,
    extra: Json,
}

#[derive(Serialize, Deserialize)]
struct Run {
    run: u64,
    started_at: String,
    #[serde(default)]
    ended_at: Option<String>,
    #[serde(default)]
    backup_id: Option<String>,
    #[serde(default)]
    experiment_id: Option<String>,
    #[serde(default)]
    verify: Vec<Verify>,
    #[serde(default)]
    diff_stat: Option<DiffStat>,
    #[serde(default)]
    result: Option<String>,
    #[serde(flatten)]
    other: Json,
}

#[derive(Serialize, Deserialize)]
struct Verify {
    command: String,
    exit_status: i32,
    duration_ms: u64,
    #[serde(default)]
    output_tail: String,
    #[serde(flatten)]
    other: Json,
}

#[derive(Serialize, Deserialize)]
struct DiffStat {
    files: u64,
    insertions: u64,
    deletions: u64,
}

#[derive(Serialize, Deserialize)]
struct Resolution {
    at: String,
    #[serde(default)]
    commit: Option<String>,
    #[serde(default)]
    note: Option<String>,
    #[serde(flatten)]
    other: Json,
}

impl Issue {
    pub(super) fn read(self) -> Result<super::Issue> {
        let id = |name: &str, text: &str| {
            IssueId::parse(text).ok_or_else(|| invalid(&format!("{name} '{text}' is no issue id")))
        };
        let word = |name: &str, text: &str| invalid(&format!("'{text}' is no {name}"));
        let severity = self.severity.as_deref().unwrap_or("medium");
        Ok(super::Issue {
            id: id("issue_id", &self.issue_id)?,
            updated_at: self.updated_at.unwrap_or_else(|| self.created_at.clone()),
            created_at: self.created_at,
            status: super::Status::parse(&self.status)
                .ok_or_else(|| word("status", &self.status))?,
            snapshot_id: SnapshotId::parse(&self.snapshot_id)
                .ok_or_else(|| word("snapshot id", &self.snapshot_id))?,
            session_id: self.session_id,
            agent: self.agent,
            task_context: self.task_context,
            symptom: self.symptom,
            success_criteria: self.success_criteria,
            suspected_cause: self.suspected_cause,
            severity: super::Severity::parse(severity).ok_or_else(|| word("severity", severity))?,
            verify_command: self.verify_command,
            chat_file: self.chat_file,
            chat_unavailable: self.chat_unavailable,
            chat_summary: self.chat_summary,
            experiment_file: self
                .experiment_file
                .unwrap_or_else(|| super::EXPERIMENT_FILE.to_owned()),
            occurrences: self.occurrences.unwrap_or(1),
            duplicate_of: self
                .duplicate_of
                .map(|text| id("duplicate_of", &text))
                .transpose()?,
            experiment: self.experiment.into(),
            runs: self.runs.into_iter().map(Into::into).collect(),
            resolution: self.resolution.map(Into::into),
            other: self.other,
        })
    }

    pub(super) fn of(issue: &super::Issue) -> Self {
        let issue = issue.clone();
        Self {
            version: VERSION,
            issue_id: issue.id.to_string(),
            created_at: issue.created_at,
            updated_at: Some(issue.updated_at),
            status: issue.status.as_str().to_owned(),
            snapshot_id: issue.snapshot_id.to_string(),
            session_id: issue.session_id,
            agent: issue.agent,
            task_context: issue.task_context,
            symptom: issue.symptom,
            success_criteria: issue.success_criteria,
            suspected_cause: issue.suspected_cause,
            severity: Some(issue.severity.as_str().to_owned()),
            verify_command: issue.verify_command,
            chat_file: issue.chat_file,
            chat_unavailable: issue.chat_unavailable,
            chat_summary: issue.chat_summary,
            experiment_file: Some(issue.experiment_file),
            occurrences: Some(issue.occurrences),
            duplicate_of: issue.duplicate_of.map(|id| id.to_string()),
            experiment: issue.experiment.into(),
            runs: issue.runs.into_iter().map(Into::into).collect(),
            resolution: issue.resolution.map(Into::into),
            other: issue.other,
        }
    }
}

impl From<Experiment> for super::Experiment {
    fn from(raw: Experiment) -> Self {
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Self {
            success_criteria: raw.success_criteria,
            repro: raw.repro,
            changes: raw.changes,
            validation: raw.validation,
            result: raw.result,
            extra: raw
                .extra
                .into_iter()
                .map(|(name, value)| (name, text(value)))
                .collect(),
        }
    }
}

impl From<super::Experiment> for Experiment {
    fn from(experiment: super::Experiment) -> Self {
        Self {
            success_criteria: experiment.success_criteria,
            repro: experiment.repro,
            changes: experiment.changes,
            validation: experiment.validation,
            result: experiment.result,
            extra: experiment
                .extra
                .into_iter()
                .map(|(name, text)| (name, Value::String(text)))
                .collect(),
        }
    }
}

impl From<Run> for super::Run {
    fn from(raw: Run) -> Self {
        Self {
            run: raw.run,
            started_at: raw.started_at,
            ended_at: raw.ended_at,
            backup_id: raw.backup_id,
            experiment_id: raw.experiment_id,
            verify: raw.verify.into_iter().map(Into::into).collect(),
            diff_stat: raw.diff_stat.map(|stat| super::DiffStat {
                files: stat.files,
                insertions: stat.insertions,
                deletions: stat.deletions,
            }),
            result: raw.result,
            other: raw.other,
        }
    }
}

impl From<super::Run> for Run {
    fn from(run: super::Run) -> Self {
        Self {
            run: run.run,
            started_at: run.started_at,
            ended_at: run.ended_at,
            backup_id: run.backup_id,
            experiment_id: run.experiment_id,
            verify: run.verify.into_iter().map(Into::into).collect(),
            diff_stat: run.diff_stat.map(|stat| DiffStat {
                files: stat.files,
                insertions: stat.insertions,
                deletions: stat.deletions,
            }),
            result: run.result,
            other: run.other,
        }
    }
}

impl From<Verify> for super::Verify {
    fn from(raw: Verify) -> Self {
        Self {
            command: raw.command,
            exit_status: raw.exit_status,
            duration_ms: raw.duration_ms,
            output_tail: raw.output_tail,
            other: raw.other,
        }
    }
}

impl From<super::Verify> for Verify {
    fn from(check: super::Verify) -> Self {
        Self {
            command: check.command,
            exit_status: check.exit_status,
            duration_ms: check.duration_ms,
            output_tail: check.output_tail,
            other: check.other,
        }
    }
}

impl From<Resolution> for super::Resolution {
    fn from(raw: Resolution) -> Self {
        Self {
            at: raw.at,
            commit: raw.commit,
            note: raw.note,
            other: raw.other,
        }
    }
}

impl From<super::Resolution> for Resolution {
    fn from(resolution: super::Resolution) -> Self {
        Self {
            at: resolution.at,
            commit: resolution.commit,
            note: resolution.note,
            other: resolution.other,
        }
    }
}
