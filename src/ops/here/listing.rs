//! The list of the directories whose history is kept without git.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::snapshots_in;
use crate::env::Env;
use crate::error::Result;
use crate::git::private::{DirectoryStatus, Registry};
use crate::json;

/// One directory whose history is kept.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct KeptDirectory {
    /// Where it was last.
    #[serde(serialize_with = "json::file")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// How it stands.
    pub standing: KeptStatus,
    /// Its key, which `--adopt` takes, too.
    pub key: String,
    /// Its private repository.
    #[serde(serialize_with = "json::file")]
    #[schemars(with = "String")]
    pub repository: PathBuf,
    /// When its history began, RFC 3339.
    pub created_at: String,
    /// How many snapshots it has.
    pub snapshots: usize,
    /// What it takes on disk.
    pub bytes: u64,
}

/// How a directory stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum KeptStatus {
    /// Where it was.
    InPlace,
    /// Nothing is at its path.
    Gone,
    /// Another directory is at its path.
    Replaced,
    /// Its history was set aside.
    SetAside,
    /// Its private repository was removed.
    HistoryGone,
}

impl From<DirectoryStatus> for KeptStatus {
    fn from(status: DirectoryStatus) -> Self {
        match status {
            DirectoryStatus::InPlace => Self::InPlace,
            DirectoryStatus::Gone => Self::Gone,
            DirectoryStatus::Replaced => Self::Replaced,
            DirectoryStatus::SetAside => Self::SetAside,
        }
    }
}

/// Answer of `init --here --list`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "init_list")]
pub struct Directories {
    /// By path.
    pub directories: Vec<KeptDirectory>,
}

/// What a directory takes on disk with all that is in it.
pub fn bytes_in(dir: &Path) -> u64 {
    let mut sum = 0;
    let mut pending = vec![dir.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(&at).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => pending.push(entry.path()),
                Ok(meta) => sum += meta.len(),
                Err(_) => {}
            }
        }
    }
    sum
}

/// Every directory of this user whose history is kept.
///
/// # Errors
/// `CORRUPT_RECORD`, `NEWER_RECORD`; the registry cannot be read.
pub fn list(env: &Env) -> Result<Directories> {
    let all = match Registry::of(env) {
        Some(registry) => registry.all()?,
        None => Vec::new(),
    };
    let directories = all.into_iter().map(|one| KeptDirectory {
        path: one.path().to_owned(),
        standing: match one.is_gone() {
            Ok(true) => KeptStatus::HistoryGone,
            _ => one.status().into(),
        },
        key: one.key().to_owned(),
        created_at: one.created_at().to_owned(),
        snapshots: snapshots_in(&one.repository()),
        bytes: bytes_in(&one.repository()),
        repository: one.repository(),
    });
    Ok(Directories {
        directories: directories.collect(),
    })
}
