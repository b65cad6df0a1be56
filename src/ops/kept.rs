//! Records of runs: a directory of its own for each in the common `timewarp` directory, with its logs.
//!
//! They are local, and readable by their owner alone. A record is written before the first run begins and after each that ends, so
//! that a death keeps what was done.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Context;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::git::fs::{Durable, entries, read_optional, write_atomic};
use crate::git::regular::{self, Links};
use crate::store::id::Tail;
use crate::store::state::{StateDir, read_json};

/// A record of runs.
pub trait RunRecord: Serialize + DeserializeOwned {
    /// What people call it.
    const WHAT: &'static str;
    /// How to see what there is.
    const HINT: &'static str;
    /// The first letter of its ids.
    const LETTER: char;
    /// The directory of all of them.
    const DIR: &'static str;
    /// The file of one.
    const FILE: &'static str;

    /// Its id.
    fn id(&self) -> &str;
    /// RFC 3339, UTC.
    fn created_at(&self) -> &str;
    /// Nanoseconds within that second; 0 in records of earlier versions.
    fn created_nanos(&self) -> u32;
}

/// The version of the form that records are kept in.
const VERSION: u32 = 1;

/// A record as it is kept.
// Only there it has a version: a document that is made of a record has its own.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}")]
pub struct Versioned<T> {
    /// The version of its stored form.
    version: u32,
    /// The record.
    #[serde(flatten)]
    record: T,
}

impl<T> From<T> for Versioned<T> {
    fn from(record: T) -> Self {
        Self {
            version: VERSION,
            record,
        }
    }
}

impl<T> std::ops::Deref for Versioned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.record
    }
}

/// An id that nobody has yet.
///
/// # Errors
/// The system gives no random bytes.
pub fn new_id<T: RunRecord>(ctx: &Context<'_>) -> Result<String> {
    let stamp = ctx.env.now().utc().format("%Y%m%d_%H%M%S");
    Ok(format!(
        "{}_{stamp}_{}",
        T::LETTER,
        Tail::random()?.as_str()
    ))
}

/// Where one is kept.
pub fn dir_of<T: RunRecord>(ctx: &Context<'_>, id: &str) -> PathBuf {
    dir::<T>(ctx).join(id)
}

fn dir<T: RunRecord>(ctx: &Context<'_>) -> PathBuf {
    StateDir::new(ctx.repo.common_dir()).path().join(T::DIR)
}

/// Writes the record of a try or replay.
///
/// # Errors
/// The disk refuses.
pub fn save<T: RunRecord>(ctx: &Context<'_>, record: &T) -> Result<()> {
    let dir = dir_of::<T>(ctx, record.id());
    create::private_dir(&dir)?;
    let bytes =
        serde_json::to_vec_pretty(&Versioned::from(record)).map_err(std::io::Error::from)?;
    write_atomic(&dir.join(T::FILE), &bytes, Durable::Yes)
}

/// What tells which of two is the newer one.
fn age<T: RunRecord>(one: &T) -> (&str, u32, &str) {
    (one.created_at(), one.created_nanos(), one.id())
}

/// Every one, newest first.
///
/// # Errors
/// `CORRUPT_RECORD` or `NEWER_RECORD` when one cannot be read.
pub fn all<T: RunRecord>(ctx: &Context<'_>) -> Result<Vec<T>> {
    let mut found: Vec<T> = Vec::new();
    for path in entries(&dir::<T>(ctx))? {
        let read: Option<Versioned<T>> = read_json(&path.join(T::FILE))?;
        found.extend(read.map(|kept| kept.record));
    }
    found.sort_by(|a, b| age(b).cmp(&age(a)));
    Ok(found)
}

/// The one that a word names: `latest`, an id, or a part of one.
///
/// # Errors
/// `SNAPSHOT_NOT_FOUND` when there is none, `AMBIGUOUS_ADDRESS` when there are several.
pub fn find<T: RunRecord>(ctx: &Context<'_>, word: &str) -> Result<T> {
    let all = all::<T>(ctx)?;
    let none = || {
        let message = format!("{} '{}' not found", T::WHAT, word.escape_debug());
        Error::new(Code::SnapshotNotFound, message).hint(T::HINT)
    };
    if word == "latest" {
        return all.into_iter().next().ok_or_else(none);
    }
    if word.is_empty() {
        return Err(none());
    }
    let mut those = all.into_iter().filter(|one| one.id().contains(word));
    let first = those.next().ok_or_else(none)?;
    let others: Vec<String> = those.map(|one| one.id().to_owned()).collect();
    if others.is_empty() || first.id() == word {
        return Ok(first);
    }
    let ids = [vec![first.id().to_owned()], others].concat();
    Err(Error::new(
        Code::AmbiguousAddress,
        format!("'{}' could be {}", word.escape_debug(), ids.join(", ")),
    )
    .hint(format!("give more of the id; {}", T::HINT))
    .detail("candidates", ids))
}

/// Forgets one: its record and its logs. What its runs left stays as long as any experiment. That it was somebody's wish is noted: what
/// is not here may as well be somewhere else.
///
/// # Errors
/// The disk refuses.
pub fn forget<T: RunRecord>(ctx: &Context<'_>, id: &str) -> Result<()> {
    note_forgotten::<T>(ctx, id)?;
    let dir = dir_of::<T>(ctx, id);
    std::fs::remove_dir_all(&dir).context(|| format!("cannot remove '{}'", dir.display()))
}

/// Notes that one was somebody's wish to forget.
///
/// # Errors
/// The disk refuses.
pub fn note_forgotten<T: RunRecord>(ctx: &Context<'_>, id: &str) -> Result<()> {
    let list = list_of_forgotten::<T>(ctx);
    let what = || format!("cannot write '{}'", list.display());
    let mut file = regular::append(&list, 0o600, Links::Refuse).context(what)?;
    // What a dying process left half-written ends here.
    file.write_all(format!("\n{id}\n").as_bytes())
        .and_then(|()| file.sync_data())
        .context(what)
}

/// The ids of those that were forgotten.
///
/// # Errors
/// The list cannot be read.
pub fn forgotten<T: RunRecord>(ctx: &Context<'_>) -> Result<BTreeSet<String>> {
    let text = read_optional(&list_of_forgotten::<T>(ctx))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().map(str::to_owned).collect())
}

fn list_of_forgotten<T: RunRecord>(ctx: &Context<'_>) -> PathBuf {
    dir::<T>(ctx).with_extension("dropped")
}
