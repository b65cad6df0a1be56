//! What earlier probes said of trees, so that none is asked twice: a file for each question under the common git directory.
//!
//! A question is everything that a probe depends on beside its tree: the command, the contents of `--with`, the ignored files that come
//! along. Promises: what is lost costs probes and nothing else; a tree that no snapshot has any more is forgotten.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::error::Result;
use crate::git::Oid;
use crate::git::create::private_dir;
use crate::git::fs::{self, Durable, read_optional, remove_optional};
use crate::store::Store;
use crate::store::lock::{HeldFile, hold_file_within};

/// In the common `timewarp` directory.
pub(super) const DIR: &str = "bisect";
/// In it: held while something is written.
const LOCK: &str = "lock";
/// How long others may be at it.
const WAIT: Duration = Duration::from_secs(10);

/// The verdicts for one question.
pub(super) struct Verdicts {
    dir: PathBuf,
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
        let dir = store.common(DIR);
        let file = dir.join(format!("{question}.json"));
        let kept = read(&file)?;
        Ok(Self { dir, file, kept })
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
        let _held = held(&self.dir)?;
        // Another search of the same question may have added some since.
        for (tree, kept) in read(&self.file)? {
            self.kept.entry(tree).or_insert(kept);
        }
        self.kept
            .insert(tree.to_string(), KeptVerdict { verdict, runs });
        write(&self.file, &self.kept)
    }
}

/// While it is held, nobody else changes what is kept.
fn held(dir: &Path) -> Result<HeldFile> {
    private_dir(dir)?;
    hold_file_within(&dir.join(LOCK), WAIT)
}

fn read(file: &Path) -> Result<BTreeMap<String, KeptVerdict>> {
    let bytes = read_optional(file)?.unwrap_or_default();
    Ok(serde_json::from_slice(&bytes).unwrap_or_default())
}

/// Forgets what was said of trees that no snapshot has.
pub(super) fn forget(store: &Store, trees: &HashSet<String>) -> Result<()> {
    let dir = store.common(DIR);
    let Ok(entries) = std::fs::read_dir(&dir) else {
        return Ok(());
    };
    let _held = held(&dir)?;
    for entry in entries.flatten() {
        let file = entry.path();
        if file.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let mut kept = read(&file)?;
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
    let bytes = serde_json::to_vec(kept).map_err(std::io::Error::from)?;
    fs::write_atomic(file, &bytes, Durable::No)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_searches_find_at_once_is_kept_of_both() {
        let room = tempfile::tempdir().expect("a directory");
        let dir = room.path().join(DIR);
        let file = dir.join("question.json");
        let begun = || Verdicts {
            dir: dir.clone(),
            file: file.clone(),
            kept: read(&file).expect("read"),
        };
        let tree = |digit: &str| Oid::from_hex(&digit.repeat(40)).expect("an id");
        let (mut one, mut other) = (begun(), begun());
        one.add(tree("1"), Verdict::Good, 1).expect("added");
        other.add(tree("2"), Verdict::Bad, 1).expect("added");
        one.add(tree("3"), Verdict::Skip, 1).expect("added");
        let kept = begun();
        for (digit, verdict) in [
            ("1", Verdict::Good),
            ("2", Verdict::Bad),
            ("3", Verdict::Skip),
        ] {
            assert_eq!(kept.get(tree(digit), 1), Some(verdict));
        }
    }
}
