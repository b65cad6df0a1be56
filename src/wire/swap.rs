//! Outcomes of whatever changes the working tree, in JSON.

use serde::Serialize;

use super::Document;
use super::paths;
use super::record::Record;
use crate::git::path::RepoPath;
use crate::ops::outcome::{
    Changes, Dropped, HeadReport, Recovered, Restored, Returned, Travelled, Undone,
};

#[derive(Serialize)]
pub(super) struct ChangesFields {
    written: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    written_bytes: Option<Vec<Option<String>>>,
    removed: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed_bytes: Option<Vec<Option<String>>>,
}

impl From<&Changes> for ChangesFields {
    fn from(changes: &Changes) -> Self {
        Self {
            written: paths::lossy_list(&changes.written),
            written_bytes: paths::exact_list(&changes.written),
            removed: paths::lossy_list(&changes.removed),
            removed_bytes: paths::exact_list(&changes.removed),
        }
    }
}

#[derive(Serialize)]
struct TravelFields<'a> {
    mode: &'static str,
    snapshot_id: &'a str,
    backup_id: Option<&'a str>,
    dry_run: bool,
    files_only: bool,
    changes: ChangesFields,
    guard_token: Option<&'a str>,
    snapshot: Record<'a>,
    notices: &'a [String],
}

impl Document for Travelled {
    fn fields(&self) -> impl Serialize + '_ {
        TravelFields {
            mode: "past",
            snapshot_id: &self.snapshot.id,
            backup_id: self.backup_id.as_deref(),
            dry_run: self.dry_run,
            files_only: self.files_only,
            changes: (&self.changes).into(),
            guard_token: self.guard_token.as_deref(),
            snapshot: Record(&self.snapshot),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct HeadFields<'a> {
    #[serde(rename = "ref")]
    reference: Option<&'a str>,
    oid: Option<String>,
    restored: bool,
    reason: Option<&'a str>,
}

impl<'a> From<&'a HeadReport> for HeadFields<'a> {
    fn from(head: &'a HeadReport) -> Self {
        Self {
            reference: head.reference.as_deref(),
            oid: head.oid.map(|oid| oid.to_string()),
            restored: head.restored,
            reason: head.reason.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct CommitMade<'a> {
    oid: String,
    title: &'a str,
}

#[derive(Serialize)]
struct Moved {
    from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_bytes: Option<String>,
    to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_bytes: Option<String>,
}

impl From<&(RepoPath, RepoPath)> for Moved {
    fn from((from, to): &(RepoPath, RepoPath)) -> Self {
        Self {
            from: paths::lossy(from),
            from_bytes: paths::exact(from),
            to: paths::lossy(to),
            to_bytes: paths::exact(to),
        }
    }
}

#[derive(Serialize)]
struct ReturnFields<'a> {
    mode: &'static str,
    backup_id: &'a str,
    experiment_id: Option<&'a str>,
    verified: bool,
    dry_run: bool,
    changes: ChangesFields,
    changed_since: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_since_bytes: Option<Vec<Option<String>>>,
    head: HeadFields<'a>,
    commits_made: Vec<CommitMade<'a>>,
    stayed: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stayed_bytes: Option<Vec<Option<String>>>,
    moved_aside: Vec<Moved>,
    discarded: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discarded_bytes: Option<Vec<Option<String>>>,
    kept: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_bytes: Option<Vec<Option<String>>>,
    notices: &'a [String],
}

impl Document for Returned {
    fn fields(&self) -> impl Serialize + '_ {
        ReturnFields {
            mode: "present",
            backup_id: &self.backup_id,
            experiment_id: self.experiment_id.as_deref(),
            verified: self.verified,
            dry_run: self.dry_run,
            changes: (&self.changes).into(),
            changed_since: paths::lossy_list(&self.changed_since),
            changed_since_bytes: paths::exact_list(&self.changed_since),
            head: (&self.head).into(),
            commits_made: self
                .commits_made
                .iter()
                .map(|(oid, title)| CommitMade {
                    oid: oid.to_string(),
                    title,
                })
                .collect(),
            stayed: paths::lossy_list(&self.stayed),
            stayed_bytes: paths::exact_list(&self.stayed),
            moved_aside: self.moved_aside.iter().map(Moved::from).collect(),
            discarded: paths::lossy_list(&self.discarded),
            discarded_bytes: paths::exact_list(&self.discarded),
            kept: paths::lossy_list(&self.kept),
            kept_bytes: paths::exact_list(&self.kept),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct RestoreFields<'a> {
    snapshot_id: &'a str,
    backup_id: Option<&'a str>,
    dry_run: bool,
    changes: ChangesFields,
    snapshot: Record<'a>,
    notices: &'a [String],
}

impl Document for Restored {
    fn fields(&self) -> impl Serialize + '_ {
        RestoreFields {
            snapshot_id: &self.snapshot.id,
            backup_id: self.backup_id.as_deref(),
            dry_run: self.dry_run,
            changes: (&self.changes).into(),
            snapshot: Record(&self.snapshot),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct UndoFields<'a> {
    direction: &'static str,
    operation: &'a str,
    mode: &'static str,
    backup_id: Option<&'a str>,
    experiment_id: Option<&'a str>,
    changes: ChangesFields,
    changed_since: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_since_bytes: Option<Vec<Option<String>>>,
    head_stayed: Option<&'a str>,
    notices: &'a [String],
}

impl Document for Undone {
    fn fields(&self) -> impl Serialize + '_ {
        UndoFields {
            direction: self.direction,
            operation: &self.operation,
            mode: self.mode,
            backup_id: self.backup_id.as_deref(),
            experiment_id: self.experiment_id.as_deref(),
            changes: (&self.changes).into(),
            changed_since: paths::lossy_list(&self.changed_since),
            changed_since_bytes: paths::exact_list(&self.changed_since),
            head_stayed: self.head_stayed.as_deref(),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct RecoverFields<'a> {
    action: &'static str,
    operation: Option<&'a str>,
    rescue_id: Option<&'a str>,
    differing: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    differing_bytes: Option<Vec<Option<String>>>,
    changes: ChangesFields,
    notices: &'a [String],
}

impl Document for Recovered {
    fn fields(&self) -> impl Serialize + '_ {
        RecoverFields {
            action: self.action,
            operation: self.operation.as_deref(),
            rescue_id: self.rescue_id.as_deref(),
            differing: paths::lossy_list(&self.differing),
            differing_bytes: paths::exact_list(&self.differing),
            changes: (&self.changes).into(),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct DroppedFields<'a> {
    dropped: Vec<DroppedEntry<'a>>,
}

#[derive(Serialize)]
struct DroppedEntry<'a> {
    id: &'a str,
    commit: String,
    at: &'a str,
    available: bool,
    restored: bool,
}

impl Document for Vec<Dropped> {
    fn fields(&self) -> impl Serialize + '_ {
        DroppedFields {
            dropped: self
                .iter()
                .map(|entry| DroppedEntry {
                    id: &entry.id,
                    commit: entry.commit.to_string(),
                    at: &entry.at,
                    available: entry.available,
                    restored: entry.restored,
                })
                .collect(),
        }
    }
}
