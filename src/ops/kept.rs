//! Records of runs: a directory of its own for each in the common `timewarp` directory, with its logs.
//!
//! They are local, and readable by their owner alone. A record is written before the first run begins and after each that ends, so
//! that a death keeps what was done. One that cannot be read hides no other: it is told apart, and forgotten by its whole id.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Context;
use super::outcome::Invalid;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::git::fs::{Durable, entries, read_optional, write_atomic};
use crate::git::process;
use crate::git::regular::{self, Links};
use crate::store::id::{PartMatch, Tail, resolve_part};
use crate::store::lock::{HeldFile, hold_file_within};
use crate::store::state::{StateDir, read_json};
use crate::text::typed;

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

/// In its directory: held locked by who makes its runs, as long as that lives.
const RUNNING: &str = "running";
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

/// Makes the directory of a new one, and says that its runs go on until the answer is dropped: nobody forgets it meanwhile.
///
/// # Errors
/// The disk refuses.
pub fn begin<T: RunRecord>(ctx: &Context<'_>, id: &str) -> Result<HeldFile> {
    let dir = dir_of::<T>(ctx, id);
    create::private_dir(&dir)?;
    hold_file_within(&dir.join(RUNNING), Duration::ZERO)
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

/// Writes the record of runs that are over. What they came to is told also where the disk refuses: this is what is to be said then, for
/// people.
pub fn save_end<T: RunRecord>(ctx: &Context<'_>, record: &T) -> Option<String> {
    let error = save(ctx, record).err()?;
    let (what, why) = (T::WHAT, error.message());
    Some(format!(
        "what came of this {what} is told only here, since it cannot be recorded: {why}; once it can be written again, \
         'tw scratch gc' saves what stays in scratches"
    ))
}

/// What is said of one without an end.
pub const WITHOUT_END: &str = "it is still running, was killed, or its end could not be recorded; 'tw scratch gc' saves what was left";

/// What tells which of two is the newer one.
fn age<T: RunRecord>(one: &T) -> (&str, u32, &str) {
    (one.created_at(), one.created_nanos(), one.id())
}

/// Every record of a kind.
#[derive(Debug)]
pub struct All<T> {
    /// Those that can be read, newest first.
    pub records: Vec<T>,
    /// The ids of the others, last made first, and why they cannot.
    pub invalid: Vec<(String, Error)>,
}

impl<T: RunRecord> All<T> {
    /// All of them.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD` when one cannot be read.
    pub fn complete(self) -> Result<Vec<T>> {
        match self.invalid.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(self.records),
        }
    }

    /// All of them, as lists tell them.
    pub fn listed(self) -> (Vec<Versioned<T>>, Vec<Invalid>) {
        let records = self.records.into_iter().map(Versioned::from).collect();
        let invalid = self.invalid.into_iter().map(|(id, error)| Invalid {
            id,
            reason: error.message().to_owned(),
        });
        (records, invalid.collect())
    }

    /// The newest.
    ///
    /// # Errors
    /// As [`All::complete`], when that may be one that cannot be read.
    fn newest(self) -> Result<Option<T>> {
        let newest = self.records.into_iter().next();
        let Some((id, error)) = self.invalid.into_iter().next() else {
            return Ok(newest);
        };
        // Ids are in the order of their seconds.
        let second = |id: &str| id.rsplit_once('_').map(|(second, _)| second.to_owned());
        let is_newer = |one: &T| second(&id) < second(one.id());
        newest.filter(is_newer).map(Some).ok_or(error)
    }
}

/// Every one, and what cannot be read of them, which hides no other.
///
/// # Errors
/// Their directory cannot be read.
pub fn all<T: RunRecord>(ctx: &Context<'_>) -> Result<All<T>> {
    let mut all = All {
        records: Vec::new(),
        invalid: Vec::new(),
    };
    for id in names::<T>(ctx)? {
        match read::<T>(ctx, &id) {
            Ok(record) => all.records.extend(record),
            Err(error) => all.invalid.push((id, error)),
        }
    }
    all.records.sort_by(|a, b| age(b).cmp(&age(a)));
    Ok(all)
}

/// The ids that have a directory, last made first.
fn names<T: RunRecord>(ctx: &Context<'_>) -> Result<Vec<String>> {
    let paths = entries(&dir::<T>(ctx))?;
    let names = paths.iter().filter_map(|path| path.file_name());
    let mut names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    Ok(names)
}

/// The record in a directory; `None` when none was written there.
fn read<T: RunRecord>(ctx: &Context<'_>, id: &str) -> Result<Option<T>> {
    let read: Result<Option<Versioned<T>>> = read_json(&dir_of::<T>(ctx, id).join(T::FILE));
    let kept = read.map_err(|error| {
        let way_out = format!("'{}' forgets it with its logs", to_drop::<T>(id));
        match error.code() {
            Code::CorruptRecord => error.with_hints([way_out]),
            Code::NewerRecord => error.hint(way_out),
            _ => error,
        }
    })?;
    Ok(kept.map(|kept| kept.record))
}

/// The command that forgets one.
pub fn to_drop<T: RunRecord>(id: &str) -> String {
    format!("tw {} drop {}", T::WHAT, typed(id))
}

/// Forgets the one that a word names, with its logs, and answers its id and what it said. One that cannot be read, which says
/// nothing, is forgotten by its whole id.
///
/// # Errors
/// As [`find`]; `BUSY` while its runs go on; the disk refuses.
pub fn forget_named<T: RunRecord>(ctx: &Context<'_>, word: &str) -> Result<(String, Option<T>)> {
    let record = if is_unreadable::<T>(ctx, word)? {
        None
    } else {
        Some(find::<T>(ctx, word)?)
    };
    let id = record.as_ref().map_or(word, RunRecord::id).to_owned();
    forget::<T>(ctx, &id)?;
    Ok((id, record))
}

/// Whether this is the whole id of one that is damaged, or of a later version.
fn is_unreadable<T: RunRecord>(ctx: &Context<'_>, id: &str) -> Result<bool> {
    if !names::<T>(ctx)?.iter().any(|name| name == id) {
        return Ok(false);
    }
    let codes = [Code::CorruptRecord, Code::NewerRecord];
    Ok(read::<T>(ctx, id).is_err_and(|error| codes.contains(&error.code())))
}

/// The one that a word names: `latest`, an id, or a part of one, four characters or more. No other is read for an id.
///
/// # Errors
/// `SNAPSHOT_NOT_FOUND` when there is none, `AMBIGUOUS_ADDRESS` when there are several; `CORRUPT_RECORD` or `NEWER_RECORD` when it
/// cannot be read.
pub fn find<T: RunRecord>(ctx: &Context<'_>, word: &str) -> Result<T> {
    let none = || {
        let message = format!("{} '{}' not found", T::WHAT, word.escape_debug());
        Error::new(Code::SnapshotNotFound, message).hint(T::HINT)
    };
    if word == "latest" {
        return all::<T>(ctx)?.newest()?.ok_or_else(none);
    }
    let names = names::<T>(ctx)?;
    let ids = match resolve_part(word, names.iter().map(String::as_str)) {
        PartMatch::None => Vec::new(),
        PartMatch::One(id) => vec![id],
        PartMatch::Many(ids) => ids,
    };
    let those = ids
        .into_iter()
        .filter_map(|id| Some((read::<T>(ctx, &id).transpose()?, id)));
    let mut those: Vec<(Result<T>, String)> = those.collect();
    if those.len() < 2 {
        return those.pop().ok_or_else(none)?.0;
    }
    let ids: Vec<String> = those.into_iter().map(|(_, id)| id).collect();
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
/// `BUSY` while its runs go on; the disk refuses.
fn forget<T: RunRecord>(ctx: &Context<'_>, id: &str) -> Result<()> {
    let dir = dir_of::<T>(ctx, id);
    if process::is_held(&dir.join(RUNNING)) {
        let message = format!("{} {id} is still running", T::WHAT);
        return Err(Error::new(Code::Busy, message)
            .hint("wait for its end, or end it with Ctrl-C where it was started"));
    }
    note_forgotten::<T>(ctx, id)?;
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
