//! What earlier probes said of trees, so that none is asked twice: a file for each question under the common git directory.
//!
//! A question is everything that a probe depends on beside its tree: the command, the contents of `--with`, the ignored files that come
//! along. Promises: what is lost costs probes and nothing else; a tree that no snapshot has any more is forgotten.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::error::Result;
use crate::git::Oid;
use crate::git::create::private_dir;
use crate::git::fs::{self, Durable, read_optional, remove_optional};
use crate::store::Store;

/// In the common `timewarp` directory.
pub(super) const DIR: &str = "bisect";

/// The verdicts for one question.
pub(super) struct Verdicts {
    file: PathBuf,
    kept: BTreeMap<String, KeptVerdict>,
}

/// What was said of a tree, and how often it was asked.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct KeptVerdict {
    verdict: Verdict,
    runs: u32,
}

impl Verdicts {
    /// Those for a question, which is named by its hash. What cannot be read is not known.
    pub fn read(store: &Store, question: &str) -> Result<Self> {
        let file = store.common(DIR).join(format!("{question}.json"));
        let bytes = read_optional(&file)?.unwrap_or_default();
        let kept = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(Self { file, kept })
    }

    /// What was said of a tree in this many runs or more.
    pub fn get(&self, tree: Oid, runs: u32) -> Option<Verdict> {
        let kept = self.kept.get(&tree.to_string())?;
        (kept.runs >= runs).then_some(kept.verdict)
    }

    /// Remembers a verdict, unless another run may say otherwise.
    pub fn add(&mut self, tree: Oid, verdict: Verdict, runs: u32) -> Result<()> {
        if !matches!(verdict, Verdict::Good | Verdict::Bad | Verdict::Skip) {
            return Ok(());
        }
        self.kept
            .insert(tree.to_string(), KeptVerdict { verdict, runs });
        write(&self.file, &self.kept)
    }
}

/// Forgets what was said of trees that no snapshot has.
pub(super) fn forget(store: &Store, trees: &HashSet<String>) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(store.common(DIR)) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let file = entry.path();
        if file.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let bytes = read_optional(&file)?.unwrap_or_default();
        let mut kept: BTreeMap<String, KeptVerdict> =
            serde_json::from_slice(&bytes).unwrap_or_default();
        let before = kept.len();
        kept.retain(|tree, _| trees.contains(tree));
        if kept.is_empty() {
            remove_optional(&file)?;
        } else if kept.len() < before {
            write(&file, &kept)?;
        }
    }
    Ok(())
}

fn write(file: &Path, kept: &BTreeMap<String, KeptVerdict>) -> Result<()> {
    if let Some(dir) = file.parent() {
        private_dir(dir)?;
    }
    let bytes = serde_json::to_vec(kept).map_err(std::io::Error::from)?;
    fs::write_atomic(file, &bytes, Durable::No)
}
