//! Issues, chats, experiments and redacted texts, in JSON.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Document;
use super::paths;
use crate::ops::issue::{
    Applied, ChatShown, ExperimentShown, IssueListing, IssueView, Next, Reported, Started, Verified,
};
use crate::ops::outcome::Changes;
use crate::ops::redaction::Cleaned;
use crate::store::issue::{Experiment, Issue};

/// The issue as it is stored, with where its desk is and what is known of its verify command.
fn issue(view: &IssueView) -> Map<String, Value> {
    let mut json = view.issue.to_json();
    let desk = &view.paths;
    let mut places = Map::new();
    for (name, path) in [
        ("issue_dir", &desk.dir),
        ("issue_file", &desk.issue),
        ("chat_file", &desk.chat),
        ("experiment_file", &desk.experiment),
    ] {
        let bytes = paths::bytes(path);
        places.insert(name.to_owned(), paths::lossy(bytes).into());
        if let Some(exact) = paths::exact(bytes) {
            places.insert(format!("{name}_bytes"), exact.into());
        }
    }
    json.insert("paths".to_owned(), places.into());
    json.insert("verify_hash".to_owned(), view.verify_hash.clone().into());
    json.insert("verify_approved".to_owned(), view.verify_approved.into());
    json
}

#[derive(Serialize)]
struct IssueFields<'a> {
    issue_id: String,
    issue: Map<String, Value>,
    notices: &'a [String],
}

impl Document for IssueView {
    fn fields(&self) -> impl Serialize + '_ {
        IssueFields {
            issue_id: self.issue.id.to_string(),
            issue: issue(self),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct ReportFields<'a> {
    #[serde(flatten)]
    issue: IssueFields<'a>,
    chat: Option<Captured<'a>>,
}

#[derive(Serialize)]
struct Captured<'a> {
    messages: usize,
    found_by: Option<&'a str>,
}

impl Document for Reported {
    fn fields(&self) -> impl Serialize + '_ {
        ReportFields {
            issue: IssueFields {
                issue_id: self.view.issue.id.to_string(),
                issue: issue(&self.view),
                notices: &self.view.notices,
            },
            chat: self.messages.map(|messages| Captured {
                messages,
                found_by: self.found_by,
            }),
        }
    }
}

fn summary(issue: &Issue) -> Value {
    json!({
        "issue_id": issue.id.to_string(), "status": issue.status.as_str(), "created_at": issue.created_at,
        "snapshot_id": issue.snapshot_id.to_string(), "symptom": issue.symptom, "severity": issue.severity.as_str(),
        "occurrences": issue.occurrences, "updated_at": issue.updated_at,
    })
}

#[derive(Serialize)]
struct ListFields<'a> {
    filter: Value,
    count: usize,
    issues: Vec<Value>,
    notices: &'a [String],
}

impl Document for IssueListing {
    fn fields(&self) -> impl Serialize + '_ {
        let invalid = self.invalid.iter().map(|entry| {
            json!({
                "issue_id": entry.issue_id, "status": "invalid", "created_at": null, "snapshot_id": null,
                "symptom": null, "reason": entry.reason,
            })
        });
        let issues = self.issues.iter().map(|entry| summary(&entry.issue));
        let issues: Vec<Value> = issues.chain(invalid).collect();
        let mut filter = json!({"status": self.filter});
        if let Some(text) = &self.text {
            filter["text"] = text.clone().into();
        }
        ListFields {
            filter,
            count: issues.len(),
            issues,
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct NextFields<'a> {
    issue_id: Option<String>,
    issues: Vec<Value>,
    notices: &'a [String],
}

impl Document for Next {
    fn fields(&self) -> impl Serialize + '_ {
        NextFields {
            issue_id: self.ranked.first().map(|entry| entry.issue.id.to_string()),
            issues: self
                .ranked
                .iter()
                .map(|entry| {
                    let mut json = summary(&entry.issue);
                    json["score"] = entry.score.into();
                    json["reasons"] = entry.reasons.clone().into();
                    json
                })
                .collect(),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct ChatFields<'a> {
    issue_id: &'a str,
    total: usize,
    chat: Map<String, Value>,
    notices: &'a [String],
}

impl Document for ChatShown {
    fn fields(&self) -> impl Serialize + '_ {
        ChatFields {
            issue_id: &self.issue_id,
            total: self.total,
            chat: self.chat.to_json(),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct ExperimentFields<'a> {
    issue_id: &'a str,
    experiment: Value,
    markdown: &'a str,
    experiment_file: String,
    notices: &'a [String],
}

fn experiment(experiment: &Experiment) -> Value {
    let extra: Map<String, Value> = experiment
        .extra
        .iter()
        .map(|(name, text)| (name.clone(), text.clone().into()))
        .collect();
    json!({
        "success_criteria": experiment.success_criteria, "repro": experiment.repro, "changes": experiment.changes,
        "validation": experiment.validation, "result": experiment.result, "extra": extra,
    })
}

impl Document for ExperimentShown {
    fn fields(&self) -> impl Serialize + '_ {
        ExperimentFields {
            issue_id: &self.issue_id,
            experiment: experiment(&self.experiment),
            markdown: &self.markdown,
            experiment_file: paths::lossy(paths::bytes(&self.file)),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct StartFields<'a, T> {
    issue_id: &'a str,
    run: u64,
    #[serde(flatten)]
    travel: T,
}

impl Document for Started {
    fn fields(&self) -> impl Serialize + '_ {
        StartFields {
            issue_id: &self.issue_id,
            run: self.run,
            travel: &self.travelled,
        }
    }
}

#[derive(Serialize)]
struct ApplyFields<'a> {
    issue_id: &'a str,
    run: u64,
    snapshot_id: &'a str,
    experiment_id: &'a str,
    backup_id: Option<&'a str>,
    dry_run: bool,
    changes: &'a Changes,
    merged: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merged_bytes: Option<Vec<Option<String>>>,
    conflicts: Vec<ConflictFields>,
    notices: &'a [String],
}

#[derive(Serialize)]
struct ConflictFields {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    reason: &'static str,
}

impl Document for Applied {
    fn fields(&self) -> impl Serialize + '_ {
        let conflicts = self.conflicts.iter().map(|(path, reason)| ConflictFields {
            path: paths::lossy(path),
            path_bytes: paths::exact(path),
            reason: reason.as_str(),
        });
        ApplyFields {
            issue_id: &self.issue_id,
            run: self.run,
            snapshot_id: &self.snapshot_id,
            experiment_id: &self.experiment_id,
            backup_id: self.backup_id.as_deref(),
            dry_run: self.dry_run,
            changes: &self.changes,
            merged: paths::lossy_list(&self.merged),
            merged_bytes: paths::exact_list(&self.merged),
            conflicts: conflicts.collect(),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct VerifyFields<'a> {
    issue_id: &'a str,
    run: u64,
    command: &'a str,
    exit_status: i32,
    passed: bool,
    duration_ms: u64,
    output_tail: &'a str,
    notices: &'a [String],
}

impl Document for Verified {
    fn fields(&self) -> impl Serialize + '_ {
        VerifyFields {
            issue_id: &self.issue_id,
            run: self.run,
            command: &self.check.command,
            exit_status: self.check.exit_status,
            passed: self.check.exit_status == 0,
            duration_ms: self.check.duration_ms,
            output_tail: &self.check.output_tail,
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct RedactFields<'a> {
    replaced: u64,
    counts: &'a std::collections::BTreeMap<String, u64>,
    text: Option<std::borrow::Cow<'a, str>>,
}

impl Document for Cleaned {
    fn fields(&self) -> impl Serialize + '_ {
        RedactFields {
            replaced: self.counts.values().sum(),
            counts: &self.counts,
            text: (!self.check).then(|| String::from_utf8_lossy(&self.bytes)),
        }
    }
}
