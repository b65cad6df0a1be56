//! Records as JSON notes: issues, chats, sessions.
//!
//! Owns how a record is read, made, changed and listed. A record has two refs at one commit, the *notes ref* under
//! `refs/notes/` that plain git shows and the *backing ref* that no fetch of `refs/notes/*` prunes; every change is a commit on
//! both, made in one transaction that states the old value, backing ref first. So no writer loses another's change, and a kill
//! leaves the record as it was or as it was to be. Bodies are JSON objects with a `version`; unknown fields survive, a
//! newer version is refused by name.
//!
//! When notes ref and backing ref differ, whoever reads next settles it and says so:
//! - a missing notes ref (a fetch that prunes took it) is put back, and so is one that was set back to an older commit;
//! - a missing backing ref is made: somebody fetched the record;
//! - a notes ref that plain git moved on (`git notes add`) is taken in when it descends from the backing ref;
//! - any other is kept as a second version: both refs go to a merge commit with the backing ref's notes, whose second parent
//!   is what the notes ref had been. `git log --notes` on the notes ref shows it; nothing is thrown away.
//!
//! Leaves out what the records mean (`issue`, `chat`), and deleting: only a caller that prunes does that.

mod chats;
mod decode;
pub mod settled;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use self::decode::{corrupt, decode, left_alone};
use super::Store;
use super::names::{Record, RecordKind};
use crate::env::{self, Moment};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::liveness::LivenessFile;
use crate::git::notes::{blob_bytes, notes_at, prepare_merge, prepare_notes};
use crate::git::objects::NewObjects;
use crate::git::refs::{Reason, Transaction, TransactionError};
use crate::git::threads;
use crate::json;

/// The version of every record that this `tw` writes.
pub const VERSION: u64 = 1;

/// How long a change is tried again while others change the same record.
const PATIENCE: Duration = Duration::from_secs(30);

/// A lock file on a record's ref that is older belongs to a process that died: ref locks are held for milliseconds.
const STALE_LOCK: Duration = Duration::from_secs(60);

/// A JSON object.
pub type Json = Map<String, Value>;

/// One note of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// What it annotates: a snapshot commit.
    pub annotated: Oid,
    /// Its body.
    pub json: Json,
}

/// A record as it stands.
#[derive(Debug)]
pub struct Held {
    /// The commit that notes ref and backing ref name.
    pub tip: Oid,
    /// Its readable notes, sorted by what they annotate. Issues and chats have one.
    pub notes: Vec<Note>,
    /// Notes that cannot be read: what they annotate and why.
    pub invalid: Vec<(Oid, Error)>,
    /// What had to be settled, in sentences for people.
    pub notices: Vec<String>,
}

impl Held {
    /// The one note of an issue or chat.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD` when none can be read.
    pub fn into_only(mut self, name: &Record) -> Result<Note> {
        if !self.notes.is_empty() {
            return Ok(self.notes.swap_remove(0));
        }
        match self.invalid.pop() {
            Some((_, error)) => Err(error),
            None => Err(corrupt(name, "it has no note")),
        }
    }
}

/// The notes of a record while it is changed.
#[derive(Debug, Default)]
pub struct Draft {
    before: BTreeMap<Oid, Json>,
    /// Those that were set, or handed out to be changed; None: taken away. A session has one for each of its snapshots, and a change
    /// touches one or two.
    touched: BTreeMap<Oid, Option<Json>>,
    invalid: BTreeMap<Oid, (Code, String)>,
}

impl Draft {
    fn new(held: Held) -> Self {
        let notes = held.notes.into_iter();
        let invalid = held.invalid.iter();
        Self {
            before: notes.map(|note| (note.annotated, note.json)).collect(),
            touched: BTreeMap::new(),
            invalid: invalid
                .map(|(oid, error)| (*oid, (error.code(), error.message().to_owned())))
                .collect(),
        }
    }

    /// The notes by what they annotate.
    pub fn notes(&self) -> impl Iterator<Item = (Oid, &Json)> {
        let kept = |(oid, json)| match self.touched.get(oid) {
            Some(touched) => touched.as_ref().map(|json| (*oid, json)),
            None => Some((*oid, json)),
        };
        let new = self.touched.iter().filter_map(|(oid, json)| {
            let is_new = !self.before.contains_key(oid);
            json.as_ref().filter(|_| is_new).map(|json| (*oid, json))
        });
        self.before.iter().filter_map(kept).chain(new)
    }

    /// The note on an object, to be changed.
    pub fn get_mut(&mut self, annotated: Oid) -> Option<&mut Json> {
        let before = self.before.get(&annotated);
        let touched = self
            .touched
            .entry(annotated)
            .or_insert_with(|| before.cloned());
        touched.as_mut()
    }

    /// The one note of an issue or chat, to be changed.
    pub fn only(&mut self) -> Option<&mut Json> {
        let (first, _) = self.notes().next()?;
        self.get_mut(first)
    }

    /// Sets the note on an object.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD` when the note that stands there cannot be read: it is not written over.
    pub fn put(&mut self, annotated: Oid, json: Json) -> Result<()> {
        if let Some(why) = self.invalid.get(&annotated) {
            return Err(left_alone(why));
        }
        self.touched.insert(annotated, Some(json));
        Ok(())
    }

    /// Why none of the notes can be changed.
    pub fn refusal(&self, name: &Record) -> Error {
        match self.invalid.values().next() {
            Some(why) => left_alone(why),
            None => corrupt(name, "it has no note"),
        }
    }

    /// Takes the note on an object away.
    pub fn remove(&mut self, annotated: Oid) {
        self.touched.insert(annotated, None);
    }

    /// What differs from before: new bodies, and None for what went.
    fn changes(&self) -> Vec<(Oid, Option<Vec<u8>>)> {
        let differs = |(oid, json): &(&Oid, &Option<Json>)| self.before.get(*oid) != json.as_ref();
        let changed = self.touched.iter().filter(differs);
        changed
            .map(|(oid, json)| (*oid, json.as_ref().map(json::pretty)))
            .collect()
    }
}

/// The readable records of a kind, and why the others are not.
#[derive(Debug, Default)]
pub struct Listed {
    /// By name, sorted.
    pub records: Vec<(Record, Held)>,
    /// What could not be read.
    pub invalid: Vec<(Record, Error)>,
}

/// Where the two refs of a record stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Refs2 {
    backing_ref: Option<Oid>,
    notes_ref: Option<Oid>,
}

impl Store {
    /// Whether there is such a record, readable or not.
    pub fn has_record(&self, name: &Record) -> Result<bool> {
        let at = self.where_it_stands(name)?;
        Ok(at.backing_ref.is_some() || at.notes_ref.is_some())
    }

    /// Reads a record. None: there is none.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` when its refs or commits cannot be read; a note that cannot be is in `invalid`.
    pub fn record(&self, name: &Record) -> Result<Option<Held>> {
        let at = self.where_it_stands(name)?;
        self.record_at(name, at)
    }

    /// The records of a kind. One that cannot be read hides no other.
    pub fn records(&self, kind: RecordKind) -> Result<Listed> {
        let (standing, broken) = self.standing_and_broken(kind)?;
        let mut listed = Listed {
            invalid: broken.into_iter().collect(),
            ..Listed::default()
        };
        for (name, at) in standing {
            match self.record_at(&name, at) {
                Ok(Some(held)) => listed.records.push((name, held)),
                Ok(None) => {}
                Err(error) => listed.invalid.push((name, error)),
            }
        }
        Ok(listed)
    }

    /// The names of the records of a kind, sorted.
    pub fn record_names(&self, kind: RecordKind) -> Result<Vec<Record>> {
        Ok(self.standing(kind)?.into_keys().collect())
    }

    /// When each record of a kind was changed last, in seconds; nothing that it says was written later. A commit that cannot be read
    /// is of the latest time there is, so that nobody passes it over.
    ///
    /// # Errors
    /// The refs cannot be listed.
    pub fn record_times(&self, kind: RecordKind) -> Result<Vec<(i64, Record)>> {
        let standing: Vec<(Record, Refs2)> = self.standing(kind)?.into_iter().collect();
        let objects = &self.objects;
        let times = threads::map(&standing, |(_, at)| {
            let time = |tip| {
                objects
                    .commit(tip)
                    .map_or(i64::MAX, |commit| commit.author_time)
            };
            let tips = [at.backing_ref, at.notes_ref].into_iter().flatten();
            tips.map(time).max().unwrap_or(i64::MAX)
        });
        let names = standing.into_iter().map(|(name, _)| name);
        Ok(times.into_iter().zip(names).collect())
    }

    /// The note of a record as an older commit of it had it: what a desk file was written from.
    pub fn record_in_history(&self, name: &Record, commit: Oid) -> Result<Note> {
        self.record_at_commit(name, commit)?.into_only(name)
    }

    /// A record as a commit of it has it. Neither ref is looked at.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` when it is no notes commit, or cannot be read.
    pub fn record_at_commit(&self, name: &Record, commit: Oid) -> Result<Held> {
        self.held(name, commit, Vec::new())
    }

    /// Makes the first commit of a new record and adds the making of its refs to a transaction, backing ref first. The transaction is to
    /// be committed with what is in `new` then.
    ///
    /// # Errors
    /// A collision attack.
    pub fn stage_record(
        &self,
        (transaction, new): (&mut Transaction, &mut NewObjects),
        name: &Record,
        note: &Note,
        message: &str,
        at: Moment,
    ) -> Result<Oid> {
        let body = json::pretty(&note.json);
        let notes = [(note.annotated, Some(body.as_slice()))];
        let commit = prepare_notes(&self.objects, new, None, &notes, message, at)
            .context(|| format!("cannot write {name}"))?;
        transaction.create(&name.record_ref(), commit);
        if let Some(notes_ref) = name.note_ref() {
            transaction.create(&notes_ref, commit);
        }
        Ok(commit)
    }

    /// Makes a record, or changes the one that is there: reads it, lets `change` work on its notes, and moves both refs
    /// if nobody was faster, else begins again. Writes nothing when nothing changed. None before there is a record:
    /// `change` then gets an empty draft. Gives what `change` gave, and the commit.
    ///
    /// # Errors
    /// Those of `change`; `BUSY` when others hold the refs for too long.
    pub fn change_record<T>(
        &self,
        name: &Record,
        message: &str,
        at: Moment,
        mut change: impl FnMut(&mut Draft) -> Result<T>,
    ) -> Result<(T, Option<Oid>)> {
        let begun = Instant::now();
        loop {
            let held = self.record(name)?;
            let tip = held.as_ref().map(|held| held.tip);
            let mut draft = held.map(Draft::new).unwrap_or_default();
            let answer = change(&mut draft)?;
            let changes = draft.changes();
            // No commit that changes nothing: it would only make the history longer.
            if changes.is_empty() {
                return Ok((answer, tip));
            }
            let borrowed: Vec<(Oid, Option<&[u8]>)> = changes
                .iter()
                .map(|(oid, body)| (*oid, body.as_deref()))
                .collect();
            let mut new = NewObjects::new(self.objects.format());
            let next = prepare_notes(&self.objects, &mut new, tip, &borrowed, message, at)
                .context(|| format!("cannot write {name}"))?;
            // Objects are written before a ref is locked: who dies over them has left a mark.
            let own = self.repo.common_dir().join("timewarp");
            let _mark = LivenessFile::create(&own)
                .context(|| format!("cannot mark '{}'", own.display()))?;
            match self.move_both(name, tip, next, &new) {
                Ok(()) => return Ok((answer, Some(next))),
                Err(error) if may_try_again(&error, begun) => {}
                Err(error) => return Err(Error::from(error).while_doing(name)),
            }
        }
    }

    /// As [`Store::change_record`] for a record that must be there.
    ///
    /// # Errors
    /// As there; None in place of an answer when there is no such record.
    pub fn update_record<T>(
        &self,
        name: &Record,
        message: &str,
        at: Moment,
        mut change: impl FnMut(&mut Draft) -> Result<T>,
    ) -> Result<Option<(T, Oid)>> {
        let (answer, tip) = self.change_record(name, message, at, |draft| {
            if draft.before.is_empty() && draft.invalid.is_empty() {
                return Ok(None);
            }
            change(draft).map(Some)
        })?;
        Ok(answer.zip(tip))
    }

    /// Moves notes ref and backing ref from `old` to `next`, or makes them.
    fn move_both(
        &self,
        name: &Record,
        old: Option<Oid>,
        next: Oid,
        new: &NewObjects,
    ) -> std::result::Result<(), TransactionError> {
        let at = Refs2 {
            backing_ref: old,
            notes_ref: old,
        };
        self.settle_refs(name, at, next, new)
    }

    fn where_it_stands(&self, name: &Record) -> Result<Refs2> {
        let backing_ref = self.refs.read(&name.record_ref())?;
        let notes_ref = match name.note_ref() {
            Some(notes_ref) => self.refs.read(&notes_ref)?,
            None => backing_ref,
        };
        Ok(Refs2 {
            backing_ref,
            notes_ref,
        })
    }

    fn standing(&self, kind: RecordKind) -> Result<BTreeMap<Record, Refs2>> {
        Ok(self.standing_and_broken(kind)?.0)
    }

    /// With why the others stand nowhere: all that is there of them is broken refs.
    fn standing_and_broken(
        &self,
        kind: RecordKind,
    ) -> Result<(BTreeMap<Record, Refs2>, BTreeMap<Record, Error>)> {
        let mut all: BTreeMap<Record, Refs2> = BTreeMap::new();
        let mut broken = BTreeMap::new();
        let nowhere = Refs2 {
            backing_ref: None,
            notes_ref: None,
        };
        let mut whole = |record: Option<Record>, tip: Result<Oid>| -> Result<_> {
            let Some(record) = record else {
                return Ok(None);
            };
            match tip {
                Err(error) if error.code() == Code::CorruptRecord => {
                    broken.insert(record, error);
                    Ok(None)
                }
                tip => Ok(Some((record, tip?))),
            }
        };
        for (name, tip) in self.refs.read_all(&kind.record_prefix())? {
            if let Some((record, oid)) = whole(Record::parse_record_ref(&name), tip)? {
                all.entry(record).or_insert(nowhere).backing_ref = Some(oid);
            }
        }
        if let Some(prefix) = kind.note_prefix() {
            for (name, tip) in self.refs.read_all(prefix)? {
                if let Some((record, oid)) = whole(Record::parse_note_ref(&name), tip)? {
                    all.entry(record).or_insert(nowhere).notes_ref = Some(oid);
                }
            }
        } else {
            for at in all.values_mut() {
                at.notes_ref = at.backing_ref;
            }
        }
        broken.retain(|record, _| !all.contains_key(record));
        Ok((all, broken))
    }

    fn record_at(&self, name: &Record, at: Refs2) -> Result<Option<Held>> {
        match self.settle(name, at)? {
            Some((tip, notices)) => self.held(name, tip, notices).map(Some),
            None => Ok(None),
        }
    }

    fn held(&self, name: &Record, tip: Oid, notices: Vec<String>) -> Result<Held> {
        let cannot = || format!("{name} cannot be read");
        let notes = notes_at(&self.objects, tip).context(cannot)?;
        let mut held = Held {
            tip,
            notes: Vec::new(),
            invalid: Vec::new(),
            notices,
        };
        for (annotated, blob) in notes {
            chats::count_read(name);
            let body = blob_bytes(&self.objects, blob).context(cannot)?;
            match decode(name, &body) {
                Ok(json) => held.notes.push(Note { annotated, json }),
                Err(error) => held.invalid.push((annotated, error)),
            }
        }
        Ok(held)
    }

    /// Makes notes ref and backing ref one again, as the head of this file says. Gives the commit to read and what was done.
    fn settle(&self, name: &Record, mut at: Refs2) -> Result<Option<(Oid, Vec<String>)>> {
        // Each round means that somebody moved a ref: they settle it, too. After so many the backing ref is read as it is.
        for _ in 0..16 {
            let (target, what) = match (at.backing_ref, at.notes_ref) {
                (None, None) => return Ok(None),
                (Some(backing_ref), Some(notes_ref)) if backing_ref == notes_ref => {
                    return Ok(Some((backing_ref, Vec::new())));
                }
                (Some(backing_ref), None) => {
                    (backing_ref, Some("its notes ref was gone and is put back"))
                }
                (None, Some(notes_ref)) => (notes_ref, None),
                (Some(backing_ref), Some(notes_ref)) => self.judge(backing_ref, notes_ref)?,
            };
            let known = at.backing_ref.or(at.notes_ref).unwrap_or(target);
            // Somebody is between the two renames, or died there.
            if self.is_locked(name) {
                return Ok(Some((known, Vec::new())));
            }
            let mut new = NewObjects::new(self.objects.format());
            let (target, what) = match what {
                Some(SECOND) => (self.merge(&mut new, name, known, target)?, what),
                other => (target, other),
            };
            match self.settle_refs(name, at, target, &new) {
                Ok(()) => {
                    let said = what.map(|what| format!("{name}: {what}"));
                    if let Some(said) = &said {
                        settled::keep(said);
                    }
                    return Ok(Some((target, said.into_iter().collect())));
                }
                Err(error) if error.is_lost_race() => at = self.where_it_stands(name)?,
                // A repository that cannot be written can still be read.
                Err(_) => return Ok(Some((known, Vec::new()))),
            }
        }
        Ok(at.backing_ref.or(at.notes_ref).map(|tip| (tip, Vec::new())))
    }

    /// What becomes of two commits that differ: where both refs go, and what is said. For a second version, the notes ref.
    fn judge(&self, backing_ref: Oid, notes_ref: Oid) -> Result<(Oid, Option<&'static str>)> {
        Ok(if self.objects.is_no_commit(notes_ref)? {
            (
                backing_ref,
                Some("its notes ref led nowhere and is put back"),
            )
        } else if self.repo.descends(&self.objects, notes_ref, backing_ref)? {
            (
                notes_ref,
                Some("it was changed by plain git, which is taken in"),
            )
        } else if self.repo.descends(&self.objects, backing_ref, notes_ref)? {
            (
                backing_ref,
                Some("its notes ref was set back and is put right"),
            )
        } else {
            (notes_ref, Some(SECOND))
        })
    }

    fn merge(
        &self,
        new: &mut NewObjects,
        name: &Record,
        backing_ref: Oid,
        notes_ref: Oid,
    ) -> Result<Oid> {
        let message = "keep a second version that the notes ref was moved to";
        let at = Moment(i128::from(env::clock_nanos()));
        prepare_merge(&self.objects, new, backing_ref, notes_ref, message, at)
            .context(|| format!("cannot keep the second version of {name}"))
    }

    fn settle_refs(
        &self,
        name: &Record,
        at: Refs2,
        target: Oid,
        new: &NewObjects,
    ) -> std::result::Result<(), TransactionError> {
        let mut transaction = self.refs.transaction();
        let mut moves = vec![(name.record_ref(), at.backing_ref)];
        moves.extend(name.note_ref().map(|notes_ref| (notes_ref, at.notes_ref)));
        for (name, old) in moves {
            match old {
                None => transaction.create(&name, target),
                // Stands right already, but must not move while the other one is set.
                Some(old) if old == target => transaction.verify(&name, target),
                Some(old) => transaction.update(&name, target, old),
            }
        }
        transaction.commit_with(&self.objects, new)
    }

    /// Whether a lock file stands on one of the record's refs. One left by a process that died goes.
    fn is_locked(&self, name: &Record) -> bool {
        let names = [Some(name.record_ref()), name.note_ref()];
        let mut locked = false;
        for name in names.into_iter().flatten() {
            let lock = self.repo.common_dir().join(format!("{name}.lock"));
            let Ok(metadata) = lock.symlink_metadata() else {
                continue;
            };
            let age = metadata.modified().ok().and_then(|at| at.elapsed().ok());
            let dead = age.is_some_and(|age| age > STALE_LOCK);
            // A lock file that stays for ever would stop every change of the record.
            locked |= !(dead && std::fs::remove_file(&lock).is_ok());
        }
        locked
    }
}

/// What is said of a notes ref that neither descends from the backing ref nor precedes it.
const SECOND: &str =
    "its notes ref was moved elsewhere; what it had is kept as a second version in its history";

/// Whether somebody else was faster, or still holds a lock, and there is time left.
fn may_try_again(error: &TransactionError, begun: Instant) -> bool {
    let worth = error.is_lost_race() || matches!(error.reason, Reason::Locked { .. });
    worth && begun.elapsed() < PATIENCE
}

/// What an earlier version, or somebody's hand, left as null.
///
/// # Errors
/// The deserializer's.
pub fn null_as_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> std::result::Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests;
