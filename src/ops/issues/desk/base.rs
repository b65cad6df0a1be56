//! What the desk's files were written from, or what was taken in from them: kept in the git directory.
//!
//! A file whose hash is known here was not edited. While a file is replaced both its old and its new hash stand here, so
//! that a kill in between never makes a version of ours look like somebody's edit. That a file is being replaced or taken in stands here, too:
//! who finds it so does not know how far that came.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::common::Taken;
use crate::error::{Result, ResultExt};
use crate::git::Oid;
use crate::git::fs::{self, Durable};
use crate::git::hex::hex;
use crate::git::liveness::LivenessFile;
use crate::json;
use crate::store::Store;
use crate::store::id::IssueId;
use crate::store::lock::{HeldFile, hold_file_within};
use crate::store::state::read_json;

/// One issue's desk as it was written last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Base {
    version: u32,
    files: BTreeMap<String, Known>,
}

/// What is known of one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Known {
    /// The issue record's commit that it was written from.
    tip: String,
    /// The hashes that are ours.
    sha256: Vec<String>,
    /// The hash of an edited one that stays, because it has more than its texts, which were taken in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<String>,
    /// What it has in common with the record since its edits were taken in while it stayed. None: all that it was written from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taken: Option<Taken>,
    /// It is being replaced, or taken in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    begun: bool,
    /// What it was made of, where that tells that it would be made the same again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

/// How a file stays whose edits were taken in.
#[derive(Debug, Clone, Copy)]
pub enum Stays {
    /// It has nothing else, and may be replaced.
    AsOurs,
    /// It has what the record has no place for.
    AsSeen,
}

/// Held while a desk is read or written. Who dies meanwhile is seen by the next command, which clears away what was half written.
pub struct Lock {
    #[expect(dead_code, reason = "dropping it unlocks")]
    file: HeldFile,
    #[expect(dead_code, reason = "it goes when it is dropped")]
    mark: LivenessFile,
}

fn directory(store: &Store) -> PathBuf {
    store.dir.file("desk")
}

/// Waits until nobody else is at the desks of this worktree.
///
/// # Errors
/// When the lock file cannot be made. `BUSY`.
pub fn lock(store: &Store) -> Result<Lock> {
    let directory = directory(store);
    store.dir.create()?;
    crate::git::create::private_dir(&directory)?;
    let file = hold_file_within(&directory.join("lock"), store.wait)?;
    let what = || format!("cannot mark '{}'", directory.display());
    let mark = LivenessFile::create(store.dir.path()).context(what)?;
    Ok(Lock { file, mark })
}

/// The issues whose desks were written here.
pub fn ids(store: &Store) -> Vec<IssueId> {
    let files = fs::entries(&directory(store)).unwrap_or_default();
    let names = files.iter().filter_map(|path| path.file_name()?.to_str());
    names
        .filter_map(|name| IssueId::parse(name.strip_suffix(".json")?))
        .collect()
}

/// The sha256 of a file's bytes, in hex.
pub fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

impl Base {
    /// Reads what was written last. An unreadable one is as none.
    pub fn read(store: &Store, id: IssueId) -> Option<Self> {
        let path = directory(store).join(format!("{id}.json"));
        read_json(&path).ok().flatten()
    }

    /// Writes the base of an issue's desk.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, store: &Store, id: IssueId, durable: Durable) -> Result<()> {
        let path = directory(store).join(format!("{id}.json"));
        fs::write_atomic(&path, &json::pretty(self), durable)
    }

    /// Whether a file's bytes are a version of ours.
    pub fn knows(&self, name: &str, bytes: &[u8]) -> bool {
        let hash = hash(bytes);
        self.files
            .get(name)
            .is_some_and(|known| known.sha256.contains(&hash))
    }

    /// The commit that a file was written from.
    pub fn tip(&self, name: &str) -> Option<Oid> {
        Oid::from_hex(&self.files.get(name)?.tip).ok()
    }

    /// What a file has in common with the record since its edits were taken in.
    pub fn taken(&self, name: &str) -> Option<&Taken> {
        self.files.get(name)?.taken.as_ref()
    }

    /// Whether it is known what a file has in common with the record. It is not where a command died; and an earlier version, which left
    /// several hashes or a seen one, did not keep it.
    pub fn is_settled(&self, name: &str) -> bool {
        self.files.get(name).is_none_or(|known| {
            let is_kept = known.taken.is_some() || known.seen.is_none();
            !known.begun && known.sha256.len() < 2 && is_kept
        })
    }

    /// These bytes are about to be ours, too.
    pub fn also(&mut self, name: &str, bytes: &[u8]) {
        self.begin(name).sha256.push(hash(bytes));
    }

    /// What is in a file is about to be taken in.
    pub fn begin_taking(&mut self, name: &str) {
        self.begin(name);
    }

    fn begin(&mut self, name: &str) -> &mut Known {
        self.version = 1;
        let known = self.files.entry(name.to_owned()).or_default();
        known.begun = true;
        known
    }

    /// The file with this hash was taken in and stays: as ours, or because it has more than its texts.
    pub fn took(&mut self, name: &str, sha256: String, stays: Stays, taken: Taken) {
        let known = self.begin(name);
        let (ours, seen) = match stays {
            Stays::AsOurs => (vec![sha256], None),
            Stays::AsSeen => (Vec::new(), Some(sha256)),
        };
        known.sha256 = ours;
        known.seen = seen;
        known.taken = Some(taken);
        known.begun = false;
    }

    /// Whether the texts of these bytes were taken in while the file stayed.
    pub fn has_seen(&self, name: &str, bytes: &[u8]) -> bool {
        let seen = self.files.get(name).and_then(|known| known.seen.as_ref());
        seen.is_some_and(|seen| *seen == hash(bytes))
    }

    /// These bytes alone are ours, written from this commit.
    pub fn only(&mut self, name: &str, bytes: &[u8], tip: Oid) {
        self.version = 1;
        let known = Known {
            tip: tip.to_string(),
            sha256: vec![hash(bytes)],
            ..Known::default()
        };
        self.files.insert(name.to_owned(), known);
    }

    /// Notes what a file was made of that is ours alone.
    pub fn made_of(&mut self, name: &str, source: &str) {
        if let Some(known) = self.files.get_mut(name) {
            known.source = Some(source.to_owned());
        }
    }

    /// The sha256 of a file that was made of this, when nothing else is known to be ours.
    pub fn sha256_of(&self, name: &str, source: &str) -> Option<&str> {
        let known = self.files.get(name)?;
        match known.sha256.as_slice() {
            [only] if known.source.as_deref() == Some(source) => Some(only),
            _ => None,
        }
    }
}
