//! Outcomes of looking after snapshots and the repository, in JSON.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Document;
use super::paths;
use super::record::Record;
use crate::ops::outcome::{Closed, Forgotten, Initialised, Labelled, Opened, Pruned, Purged};

#[derive(Serialize)]
struct Dir {
    dir: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    dir_bytes: Option<String>,
}

impl From<&Path> for Dir {
    fn from(dir: &Path) -> Self {
        let bytes = paths::bytes(dir);
        Self {
            dir: paths::lossy(bytes),
            dir_bytes: paths::exact(bytes),
        }
    }
}

#[derive(Serialize)]
struct OpenFields<'a> {
    snapshot_id: &'a str,
    #[serde(flatten)]
    dir: Dir,
    files: usize,
    snapshot: Record<'a>,
    notices: &'a [String],
}

impl Document for Opened {
    fn fields(&self) -> impl Serialize + '_ {
        OpenFields {
            snapshot_id: &self.snapshot.id,
            dir: self.dir.as_path().into(),
            files: self.files,
            snapshot: Record(&self.snapshot),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct CloseFields<'a> {
    #[serde(flatten)]
    dir: Dir,
    experiment_id: Option<&'a str>,
    notices: &'a [String],
}

impl Document for Closed {
    fn fields(&self) -> impl Serialize + '_ {
        CloseFields {
            dir: self.dir.as_path().into(),
            experiment_id: self.experiment_id.as_deref(),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct LabelFields<'a> {
    snapshot_id: &'a str,
    label: &'a str,
    removed: bool,
    snapshot: Record<'a>,
}

impl Document for Labelled {
    fn fields(&self) -> impl Serialize + '_ {
        LabelFields {
            snapshot_id: &self.snapshot.id,
            label: &self.label,
            removed: self.removed,
            snapshot: Record(&self.snapshot),
        }
    }
}

#[derive(Serialize)]
struct PruneFields<'a> {
    dry_run: bool,
    forgotten: Vec<ForgottenFields<'a>>,
    kept: usize,
    bytes: u64,
    notices: &'a [String],
}

/// A snapshot that retention, or somebody, let go.
#[derive(Serialize)]
pub struct ForgottenFields<'a> {
    id: &'a str,
    kind: &'a str,
    commit: String,
    created_at: &'a str,
    bytes: u64,
}

impl<'a> From<&'a Forgotten> for ForgottenFields<'a> {
    fn from(entry: &'a Forgotten) -> Self {
        Self {
            id: &entry.id,
            kind: &entry.kind,
            commit: entry.commit.to_string(),
            created_at: &entry.created_at,
            bytes: entry.bytes,
        }
    }
}

impl Document for Pruned {
    fn fields(&self) -> impl Serialize + '_ {
        PruneFields {
            dry_run: self.dry_run,
            forgotten: self.forgotten.iter().map(Into::into).collect(),
            kept: self.kept,
            bytes: self.bytes,
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct PurgeFields<'a> {
    dry_run: bool,
    paths: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths_bytes: Option<Vec<Option<String>>>,
    rewritten: Vec<Rewritten<'a>>,
    unreachable: &'a [String],
    finish: &'a str,
}

#[derive(Serialize)]
struct Rewritten<'a> {
    id: &'a str,
    old: String,
    new: String,
}

impl Document for Purged {
    fn fields(&self) -> impl Serialize + '_ {
        PurgeFields {
            dry_run: self.dry_run,
            paths: paths::lossy_list(&self.paths),
            paths_bytes: paths::exact_list(&self.paths),
            rewritten: self
                .rewritten
                .iter()
                .map(|(id, old, new)| Rewritten {
                    id,
                    old: old.to_string(),
                    new: new.to_string(),
                })
                .collect(),
            unreachable: &self.unreachable,
            finish: &self.finish,
        }
    }
}

#[derive(Serialize)]
struct InitFields<'a> {
    dry_run: bool,
    changed: Vec<String>,
    unchanged: Vec<String>,
    notices: &'a [String],
}

/// Files of the repository's own set-up; `tw` chose all but the repository's directory, so text will do.
pub fn texts(files: &[PathBuf]) -> Vec<String> {
    files
        .iter()
        .map(|file| paths::lossy(paths::bytes(file)))
        .collect()
}

impl Document for Initialised {
    fn fields(&self) -> impl Serialize + '_ {
        InitFields {
            dry_run: self.dry_run,
            changed: texts(&self.changed),
            unchanged: texts(&self.unchanged),
            notices: &self.notices,
        }
    }
}
