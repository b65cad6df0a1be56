//! Outcomes that only look, in JSON: diff, status, config, doctor, and what needs no repository.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Document;
use super::paths;
use super::record::Record;
use crate::ops::outcome::{
    CheckStatus, Checkup, ConfigListing, Diff, FileDiff, Interrupted, RepositoryInfo, Status,
};

#[derive(Serialize)]
struct DiffFields<'a> {
    from: &'a str,
    to: &'a str,
    files: Vec<FileFields>,
    insertions: usize,
    deletions: usize,
}

/// A path of a diff.
#[derive(Serialize)]
pub struct FileFields {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    status: char,
    old_mode: String,
    new_mode: String,
    old_oid: Option<String>,
    new_oid: Option<String>,
    insertions: usize,
    deletions: usize,
    binary: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    missing: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_bytes: Option<String>,
}

/// A git mode as git prints it: six octal digits, `000000` where there is nothing.
fn mode(mode: u32) -> String {
    format!("{mode:06o}")
}

impl From<&FileDiff> for FileFields {
    fn from(file: &FileDiff) -> Self {
        let patch = file.patch.as_deref();
        Self {
            path: paths::lossy(&file.path),
            path_bytes: paths::exact(&file.path),
            status: file.status,
            old_mode: mode(file.old_mode),
            new_mode: mode(file.new_mode),
            old_oid: file.old_oid.map(|oid| oid.to_string()),
            new_oid: file.new_oid.map(|oid| oid.to_string()),
            insertions: file.insertions,
            deletions: file.deletions,
            binary: file.binary,
            missing: file.missing,
            patch: patch.map(paths::lossy),
            patch_bytes: patch.and_then(paths::exact),
        }
    }
}

impl Document for Diff {
    fn fields(&self) -> impl Serialize + '_ {
        DiffFields {
            from: &self.from,
            to: &self.to,
            files: self.files.iter().map(FileFields::from).collect(),
            insertions: self.insertions,
            deletions: self.deletions,
        }
    }
}

#[derive(Serialize)]
struct StatusFields<'a> {
    mode: &'static str,
    state: &'a Map<String, Value>,
    interrupted: Option<InterruptedFields<'a>>,
    repository: RepositoryFields<'a>,
    latest: Option<Record<'a>>,
    current: Option<Record<'a>>,
    notices: &'a [String],
}

#[derive(Serialize)]
struct InterruptedFields<'a> {
    operation: &'a str,
    swap_id: &'a str,
    since: &'a str,
}

impl<'a> From<&'a Interrupted> for InterruptedFields<'a> {
    fn from(interrupted: &'a Interrupted) -> Self {
        Self {
            operation: &interrupted.operation,
            swap_id: &interrupted.swap_id,
            since: &interrupted.since,
        }
    }
}

#[derive(Serialize)]
struct RepositoryFields<'a> {
    workspace_root: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_root_bytes: Option<String>,
    worktree: &'a str,
    git_dir: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_dir_bytes: Option<String>,
    repository_id: Option<&'a str>,
    head: Head<'a>,
    counts: Map<String, Value>,
}

#[derive(Serialize)]
struct Head<'a> {
    #[serde(rename = "ref")]
    reference: Option<&'a str>,
    oid: Option<String>,
}

impl<'a> From<&'a RepositoryInfo> for RepositoryFields<'a> {
    fn from(repository: &'a RepositoryInfo) -> Self {
        let root = paths::bytes(&repository.workspace_root);
        let git_dir = paths::bytes(&repository.git_dir);
        Self {
            workspace_root: paths::lossy(root),
            workspace_root_bytes: paths::exact(root),
            worktree: &repository.worktree,
            git_dir: paths::lossy(git_dir),
            git_dir_bytes: paths::exact(git_dir),
            repository_id: repository.repository_id.as_deref(),
            head: Head {
                reference: repository.head_ref.as_deref(),
                oid: repository.head_oid.map(|oid| oid.to_string()),
            },
            counts: repository
                .counts
                .iter()
                .map(|(name, count)| ((*name).to_owned(), Value::from(*count)))
                .collect(),
        }
    }
}

impl Document for Status {
    fn fields(&self) -> impl Serialize + '_ {
        StatusFields {
            mode: self.mode,
            state: &self.state,
            interrupted: self.interrupted.as_ref().map(InterruptedFields::from),
            repository: (&self.repository).into(),
            latest: self.latest.as_ref().map(Record),
            current: self.current.as_ref().map(Record),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct ConfigFields<'a> {
    config: Vec<ConfigKey<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct ConfigKey<'a> {
    key: &'static str,
    value: &'a Value,
    origin: &'a str,
    description: &'static str,
}

impl Document for ConfigListing {
    fn fields(&self) -> impl Serialize + '_ {
        ConfigFields {
            config: self
                .entries
                .iter()
                .map(|entry| ConfigKey {
                    key: entry.key,
                    value: &entry.value,
                    origin: &entry.origin,
                    description: entry.description,
                })
                .collect(),
            warnings: &self.warnings,
        }
    }
}

#[derive(Serialize)]
struct DoctorFields<'a> {
    checks: Vec<CheckFields<'a>>,
}

#[derive(Serialize)]
struct CheckFields<'a> {
    name: &'static str,
    status: &'static str,
    message: &'a str,
    fix: Option<&'a str>,
}

fn word(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Ok => "ok",
        CheckStatus::Warning => "warning",
        CheckStatus::Error => "error",
    }
}

impl Document for Checkup {
    fn fields(&self) -> impl Serialize + '_ {
        DoctorFields {
            checks: self
                .checks
                .iter()
                .map(|check| CheckFields {
                    name: check.name,
                    status: word(check.status),
                    message: &check.message,
                    fix: check.fix.as_deref(),
                })
                .collect(),
        }
    }
}

/// Answer of `completions`: the registration script of one shell.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Script {
    /// The shell's name.
    pub shell: &'static str,
    /// The script, as checked in.
    pub script: &'static str,
}

impl Document for Script {
    fn fields(&self) -> impl Serialize + '_ {
        *self
    }
}

/// Answer of `prompt`: the line, or None when there is nothing to say.
#[derive(Debug, Clone, Serialize)]
pub struct Prompt {
    /// One short line.
    pub prompt: Option<String>,
}

impl Document for Prompt {
    fn fields(&self) -> impl Serialize + '_ {
        self
    }
}
