//! What earlier probes said of states, so that none is asked twice: a file for each question under the common git directory.
//!
//! A state is known by its tree, and by what a tree does not say and a program sees ([`known_by`]). A question is everything else that a probe
//! depends on: the command, the contents of `--with`, the ignored files that come
//! along. Promises: what is lost costs probes and nothing else; a tree that no snapshot has any more is forgotten.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Verdict;
use crate::error::Result;
use crate::git::create::private_dir;
use crate::git::fs::{self, Durable, read_optional, remove_optional};
use crate::git::hex::hex;
use crate::store::Store;
use crate::store::lock::{HeldFile, hold_file_within};
use crate::store::stored::Stored;

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

    /// What was said of a state in this many runs or more.
    pub fn get(&self, state: &str, runs: u32) -> Option<Verdict> {
        let kept = self.kept.get(state)?;
        (kept.runs >= runs).then_some(kept.verdict)
    }

    /// Remembers a verdict, unless another run may say otherwise.
    pub fn add(&mut self, state: &str, verdict: Verdict, runs: u32) -> Result<()> {
        if !matches!(verdict, Verdict::Good | Verdict::Bad | Verdict::Skip) {
            return Ok(());
        }
        let _held = held(&self.dir)?;
        // Another search of the same question may have added some since.
        for (state, kept) in read(&self.file)? {
            self.kept.entry(state).or_insert(kept);
        }
        self.kept
            .insert(state.to_owned(), KeptVerdict { verdict, runs });
        write(&self.file, &self.kept)
    }
}

/// Between the tree and the rest in what a state is known by.
const BITS: char = ':';

/// What a state is known by: its tree, and where they are not those that git gives the bits of its files and directories, and directories with
/// nothing in them.
///
/// # Errors
/// Its lists cannot be read.
pub(super) fn known_by(store: &Store, stored: &Stored) -> Result<String> {
    let lists = store.lists(stored)?;
    let defaults = &stored.record.default_modes;
    let usual = [&defaults.file, &defaults.executable, &defaults.directory];
    let is_plain = lists.modes.is_empty() && lists.empty_dirs.is_empty();
    if is_plain && usual == ["0644", "0755", "0755"] {
        return Ok(stored.tree.to_string());
    }
    let mut hash = Sha256::new();
    for (path, mode) in &lists.modes {
        hash.update([path, format!("\0{mode:o}\0").as_bytes()].concat());
    }
    for dir in &lists.empty_dirs {
        hash.update([dir, &b"/\0"[..]].concat());
    }
    hash.update(format!("{usual:?}"));
    Ok(format!("{}{BITS}{}", stored.tree, hex(&hash.finalize())))
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
        kept.retain(|state, _| trees.contains(state.split(BITS).next().unwrap_or_default()));
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
        let tree = |digit: &str| digit.repeat(40);
        let (mut one, mut other) = (begun(), begun());
        one.add(&tree("1"), Verdict::Good, 1).expect("added");
        other.add(&tree("2"), Verdict::Bad, 1).expect("added");
        one.add(&tree("3"), Verdict::Skip, 1).expect("added");
        let kept = begun();
        for (digit, verdict) in [
            ("1", Verdict::Good),
            ("2", Verdict::Bad),
            ("3", Verdict::Skip),
        ] {
            assert_eq!(kept.get(&tree(digit), 1), Some(verdict));
        }
    }
}
