//! A record as several repositories edited it, and the one merge of two such. Pure.
//!
//! An *edit* is what one repository changed at one time: it has an id, a revision (one more than the highest of what came before), a time and who
//! is said to have made it. A record knows the ids of all edits that are in it, and of each field the values that no later edit knew
//! and replaced, each with the edits that set it. So two sides need no common ancestor to be merged: an edit that the other side knows and no
//! longer has for a field was replaced or taken away there, one that it does not know is new. That is three-way, with a base that every
//! record carries for itself, and it gives the same bytes in whatever order, however often and through whomever edits arrive.
//!
//! What somebody has of a record of others, after forgetting what was exchanged of it, is an edit of revision 0: it loses against all others.
//!
//! Of several values the one of the highest revision stands, then of the latest time, then of the greatest id; the others are kept in `conflicts`
//! until somebody who knows them sets the field again. A deletion knows what it deleted: any edit that it did not know brings the
//! record back, with the deletions still in it. Fields of the file that are not known here are kept. A newer version is refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::fields::{Fields, Kind, TIMES, canonical, is_greatest};
use crate::env::Moment;
use crate::git::hex::hex;
use crate::store::records::Json;

/// The version of the form that is written here.
pub const VERSION: u64 = 1;

/// More edits than these no record has.
const MOST_EDITS: usize = 20_000;
/// No revision is higher: every number up to it is exact wherever JSON is read.
const HIGHEST: u64 = 1 << 53;
/// The revision of what is only known to have been so: it loses against every edit, and makes nobody the author.
const FORGOTTEN: u64 = 0;
/// A field's name is no longer.
pub const LONGEST_NAME: usize = 400;

/// Who made an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The repository, by a name that tells nothing of it.
    pub by: String,
    /// The name that its git is told; nobody proves it.
    pub name: Option<String>,
}

/// What one repository changed at one time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit {
    /// One more than the highest that was known when the record was exchanged last.
    pub revision: u64,
    /// RFC 3339, UTC.
    pub at: String,
    /// The repository.
    pub by: String,
    /// The name it gave.
    pub name: Option<String>,
}

impl Edit {
    /// How somebody who is not here is called: by the name that was given, else by the repository's.
    pub fn claimant(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.by.clone())
    }
}

/// The values of a field, each with the edit that set it.
type Siblings = BTreeMap<String, Value>;

/// A record as it is shared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shared {
    edits: BTreeMap<String, Edit>,
    values: BTreeMap<String, Siblings>,
    /// Each deletion and what it knew.
    deletions: BTreeMap<String, BTreeSet<String>>,
    /// What stands in the file beside all that.
    other: BTreeMap<String, Value>,
}

/// Why a file is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// A newer `tw` wrote it.
    Newer(u64),
    /// It is not what it should be.
    Wrong(String),
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Newer(version) => write!(f, "it was written by a newer tw (version {version})"),
            Self::Wrong(why) => f.write_str(why),
        }
    }
}

/// A value that lost against another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Lost<'a> {
    /// The field.
    pub field: &'a str,
    /// The value.
    pub value: &'a Value,
    /// The edit that set it last.
    pub edit: &'a Edit,
}

impl Shared {
    /// The merge of two records.
    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        let mut merged = Self {
            edits: greater_of(&self.edits, &other.edits),
            deletions: self.deletions.clone(),
            other: united(&self.other, &other.other, canonical),
            values: BTreeMap::new(),
        };
        for (id, known) in &other.deletions {
            let all = merged.deletions.entry(id.clone()).or_default();
            all.extend(known.iter().cloned());
        }
        let names: BTreeSet<&String> = self.values.keys().chain(other.values.keys()).collect();
        for name in names {
            let none = Siblings::new();
            let ours = self.values.get(name).unwrap_or(&none);
            let theirs = other.values.get(name).unwrap_or(&none);
            let stays = |edits: &BTreeMap<String, Edit>, there: &Siblings, id: &String| {
                there.contains_key(id) || !edits.contains_key(id)
            };
            let mine = ours
                .iter()
                .filter(|(id, _)| stays(&other.edits, theirs, id));
            let others = theirs.iter().filter(|(id, _)| stays(&self.edits, ours, id));
            let clone = |(id, value): (&String, &Value)| (id.clone(), value.clone());
            let mine: Siblings = mine.map(clone).collect();
            let others: Siblings = others.map(clone).collect();
            let both = united(&mine, &others, canonical);
            if !both.is_empty() {
                merged.values.insert(name.clone(), both);
            }
        }
        merged
    }

    /// Takes in what a repository has made of the record since it knew it so. All that it was in between, the oldest first, and what it is now
    /// are edits of one revision, each of its own time.
    pub fn edit<'f>(
        &mut self,
        steps: impl IntoIterator<Item = (&'f Fields, Moment)>,
        author: &Author,
    ) {
        let revision = self.next_revision();
        for (then, at) in steps {
            self.edit_as(revision, then, at, author);
        }
    }

    /// A record of somebody else as it is here, when it is not known any more what of it was edited here.
    pub fn forgotten(now: &Fields, at: Moment, author: &Author) -> Self {
        let mut shared = Self::default();
        shared.edit_as(FORGOTTEN, now, at, author);
        shared
    }

    /// Whether nothing is known of it but what it was.
    pub fn is_forgotten(&self) -> bool {
        let mut edits = self.edits.values();
        edits.all(|edit| edit.revision == FORGOTTEN)
    }

    /// Whether the record as it stands says the same.
    pub fn says(&self, now: &Fields) -> bool {
        self.changed(now).is_empty()
    }

    /// The fields that are others now.
    pub fn changed(&self, now: &Fields) -> Vec<String> {
        let before = self.view();
        let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let differs = |name: &&String| before.get(*name) != now.get(*name);
        let changed: Vec<String> = names.into_iter().filter(differs).cloned().collect();
        // These alone say that something was changed which is not shared.
        if changed.iter().all(|name| TIMES.contains(&name.as_str())) {
            return Vec::new();
        }
        changed
    }

    fn edit_as(&mut self, revision: u64, now: &Fields, at: Moment, author: &Author) {
        let changed = self.changed(now);
        if changed.is_empty() {
            return;
        }
        let changes: Map<String, Value> = changed
            .iter()
            .map(|name| {
                let value = now.get(name).cloned();
                (name.clone(), value.unwrap_or(Value::Null))
            })
            .collect();
        let id = self.add_edit(revision, &changes, at, author);
        for name in changed {
            match now.get(&name) {
                Some(value) => {
                    let only = Siblings::from([(id.clone(), value.clone())]);
                    self.values.insert(name, only);
                }
                None => drop(self.values.remove(&name)),
            }
        }
    }

    fn next_revision(&self) -> u64 {
        let highest = self.edits.values().map(|edit| edit.revision).max();
        (highest.unwrap_or(0) + 1).min(HIGHEST)
    }

    /// Decides for the values that count, of fields that have lost ones, too.
    pub fn settle(&mut self, names: &BTreeSet<String>, at: Moment, author: &Author) {
        let view = self.view();
        let mut changes = Map::new();
        for name in names {
            changes.extend(view.get(name).map(|value| (name.clone(), value.clone())));
        }
        let id = self.add_edit(self.next_revision(), &changes, at, author);
        for (name, value) in changes {
            self.values
                .insert(name, Siblings::from([(id.clone(), value)]));
        }
    }

    /// Deletes the record, as far as it is known here.
    pub fn delete(&mut self, at: Moment, author: &Author) {
        let known = self.edits.keys().cloned().collect();
        let id = self.add_edit(self.next_revision(), &Map::new(), at, author);
        self.deletions.insert(id, known);
    }

    fn add_edit(
        &mut self,
        revision: u64,
        changes: &Map<String, Value>,
        at: Moment,
        author: &Author,
    ) -> String {
        let edit = Edit {
            revision,
            at: at.rfc3339(),
            by: author.by.clone(),
            name: author.name.clone(),
        };
        // The same edit made twice, after a crash in between, is one.
        let known: Vec<&String> = self.edits.keys().collect();
        let whole = json!([known, encoded(&edit), changes]);
        let digest = Sha256::digest(canonical(&whole));
        let id = hex(digest.get(..8).unwrap_or_default());
        self.edits.insert(id.clone(), edit);
        id
    }

    /// The record as it stands: of each field the value that counts.
    pub fn view(&self) -> Fields {
        let fields = self.values.iter().filter_map(|(name, siblings)| {
            let (_, value) = self.ranked(name, siblings).into_iter().next()?;
            Some((name.clone(), value.clone()))
        });
        fields.collect()
    }

    /// The different values of a field, the one that counts first, each with the edits that set it, the last of them first.
    fn ranked<'a>(
        &'a self,
        name: &str,
        siblings: &'a Siblings,
    ) -> Vec<(Vec<&'a String>, &'a Value)> {
        let mut all: Vec<(&String, &Value)> = siblings.iter().collect();
        let rank = |id: &String| {
            let edit = self.edits.get(id);
            let of = edit.map(|edit| (edit.revision, edit.at.clone()));
            (of, id.clone())
        };
        all.sort_by_cached_key(|(id, _)| std::cmp::Reverse(rank(id)));
        if is_greatest(name) {
            // Stable: of equal ones the order stays.
            all.sort_by_key(|(_, value)| std::cmp::Reverse(magnitude(value)));
        }
        let mut ranked: Vec<(Vec<&String>, &Value)> = Vec::new();
        for (id, value) in all {
            match ranked.iter_mut().find(|(_, known)| *known == value) {
                Some((ids, _)) => ids.push(id),
                None => ranked.push((vec![id], value)),
            }
        }
        ranked
    }

    /// The edit that set the value of a field that counts.
    pub fn setter(&self, name: &str) -> Option<&Edit> {
        let siblings = self.values.get(name)?;
        let (ids, _) = self.ranked(name, siblings).into_iter().next()?;
        self.edits.get(*ids.first()?)
    }

    /// When a repository edited it last, and whether a value of that edit lost against one that did not know it.
    pub fn last_edit_by(&self, by: &str) -> Option<(&str, bool)> {
        let edits = self.edits.iter().filter(|(_, edit)| edit.by == by);
        let (id, edit) = edits.max_by_key(|(_, edit)| *edit)?;
        let mut set = self.values.iter().filter(|(_, one)| one.contains_key(id));
        let is_first = |(ids, _): &(Vec<&String>, &Value)| ids.contains(&id);
        let has_lost = set.any(|(name, one)| !self.ranked(name, one).first().is_some_and(is_first));
        Some((&edit.at, has_lost))
    }

    /// The values that lost, by field.
    pub fn conflicts(&self) -> Vec<Lost<'_>> {
        let mut lost = Vec::new();
        for (name, siblings) in &self.values {
            if is_greatest(name) {
                continue;
            }
            for (ids, value) in self.ranked(name, siblings).into_iter().skip(1) {
                if let Some(edit) = ids.first().and_then(|id| self.edits.get(*id)) {
                    lost.push(Lost {
                        field: name,
                        value,
                        edit,
                    });
                }
            }
        }
        lost
    }

    /// The deletion that nobody has edited the record after or beside.
    pub fn deletion(&self) -> Option<&Edit> {
        let alive = |known: &BTreeSet<String>| {
            let edits = self.edits.keys();
            let mut edits = edits.filter(|id| !self.deletions.contains_key(*id));
            edits.any(|id| !known.contains(id))
        };
        let (id, _) = self.deletions.iter().find(|(_, known)| !alive(known))?;
        self.edits.get(id)
    }

    /// The deletions that somebody edited the record after or beside: it is there again.
    pub fn revived_from(&self) -> Vec<&Edit> {
        if self.deletion().is_some() {
            return Vec::new();
        }
        let ids = self.deletions.keys();
        ids.filter_map(|id| self.edits.get(id)).collect()
    }

    /// The edit that made it: of the lowest revision, then the earliest. What was forgotten was made before.
    pub fn origin(&self) -> Option<&Edit> {
        let made = self.edits.values().filter(|edit| edit.revision > FORGOTTEN);
        made.min().or_else(|| self.edits.values().min())
    }

    /// Who is said to have made it, when that was not here.
    pub fn claimed_by(&self, author: &Author) -> Option<String> {
        let origin = self.origin().filter(|edit| edit.by != author.by);
        origin.map(Edit::claimant)
    }

    /// Every value in it that the other one does not have, by field; the names of authors, too.
    pub fn beyond<'a>(&'a self, other: Option<&'a Self>) -> Vec<(&'a str, Value)> {
        let known = |name: &str, value: &Value| {
            let siblings = other.and_then(|other| other.values.get(name));
            siblings.is_some_and(|siblings| siblings.values().any(|known| known == value))
        };
        let mut found: Vec<(&str, Value)> = Vec::new();
        for (name, siblings) in &self.values {
            for value in siblings.values() {
                let entry = (name.as_str(), value.clone());
                if !known(name, value) && !found.contains(&entry) {
                    found.push(entry);
                }
            }
        }
        let names: BTreeSet<&String> = self
            .edits
            .values()
            .filter_map(|edit| edit.name.as_ref())
            .collect();
        let has = |name: &String| {
            other.is_some_and(|other| {
                other
                    .edits
                    .values()
                    .any(|edit| edit.name.as_ref() == Some(name))
            })
        };
        let names = names.into_iter().filter(|name| !has(name));
        found.extend(names.map(|name| ("name", Value::from(name.clone()))));
        let more = self.other.iter().filter(|(name, value)| {
            other.is_none_or(|other| other.other.get(*name) != Some(*value))
        });
        found.extend(more.map(|(name, value)| (name.as_str(), value.clone())));
        found
    }

    /// Its bytes: the same wherever the same edits are known.
    pub fn encode(&self, kind: Kind, id: &str) -> Vec<u8> {
        let mut fields = Map::new();
        let mut conflicts = Map::new();
        for (name, siblings) in &self.values {
            let mut ranked = self.ranked(name, siblings).into_iter().map(|(ids, value)| {
                let mut ids: Vec<&String> = ids;
                ids.sort_unstable();
                json!({"value": value, "edits": ids})
            });
            if let Some(first) = ranked.next() {
                fields.insert(name.clone(), first);
            }
            let lost: Vec<Value> = ranked.collect();
            if !lost.is_empty() {
                conflicts.insert(name.clone(), lost.into());
            }
        }
        let mut file: Map<String, Value> = self.other.clone().into_iter().collect();
        file.insert("version".to_owned(), VERSION.into());
        file.insert("kind".to_owned(), kind.as_str().into());
        file.insert("id".to_owned(), id.into());
        file.insert("fields".to_owned(), fields.into());
        let edits = self.edits.iter();
        let edits: Map<String, Value> = edits
            .map(|(id, edit)| (id.clone(), encoded(edit)))
            .collect();
        file.insert("edits".to_owned(), edits.into());
        if !conflicts.is_empty() {
            file.insert("conflicts".to_owned(), conflicts.into());
        }
        if !self.deletions.is_empty() {
            file.insert("deletions".to_owned(), json!(self.deletions));
        }
        if let Some(deletion) = self.deletion() {
            file.insert("deleted".to_owned(), encoded(deletion));
        }
        let revived = self.revived_from();
        if !revived.is_empty() {
            let revived: Vec<Value> = revived.into_iter().map(encoded).collect();
            file.insert("revived".to_owned(), revived.into());
        }
        canonical(&Value::Object(file))
    }

    /// Reads such bytes, which anybody may have written.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn decode(kind: Kind, id: &str, bytes: &[u8]) -> Result<Self, Unreadable> {
        // Nesting is bounded by the reader.
        let mut file: Json =
            serde_json::from_slice(bytes).map_err(|error| wrong(&error.to_string()))?;
        match file.get("version").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(version) if version > VERSION => return Err(Unreadable::Newer(version)),
            _ => return Err(wrong("it has no version")),
        }
        if file.get("kind").and_then(Value::as_str) != Some(kind.as_str()) {
            return Err(wrong("its kind does not match its path"));
        }
        if file.get("id").and_then(Value::as_str) != Some(id) {
            return Err(wrong("its id does not match its path"));
        }
        let mut read = Self::default();
        for (id, edit) in object(&mut file, "edits")? {
            let edit = decoded(&edit).filter(|_| is_edit_id(&id));
            let edit = edit.ok_or_else(|| wrong("an edit of it is malformed"))?;
            read.edits.insert(id, edit);
        }
        if read.edits.is_empty() || read.edits.len() > MOST_EDITS {
            return Err(wrong("it has no edits, or too many"));
        }
        for (name, value) in object(&mut file, "fields")? {
            read.take_value(&name, value)?;
        }
        for (name, lost) in object(&mut file, "conflicts")? {
            let Value::Array(lost) = lost else {
                return Err(wrong("its conflicts are not lists"));
            };
            for value in lost {
                read.take_value(&name, value)?;
            }
        }
        for (id, known) in object(&mut file, "deletions")? {
            let known: BTreeSet<String> = serde_json::from_value(known)
                .map_err(|_| wrong("a deletion of it is malformed"))?;
            if !read.edits.contains_key(&id) || !known.iter().all(|id| is_edit_id(id)) {
                return Err(wrong("a deletion of it is malformed"));
            }
            read.deletions.insert(id, known);
        }
        for derived in ["version", "kind", "id", "deleted", "revived"] {
            file.shift_remove(derived);
        }
        read.other = file.into_iter().collect();
        Ok(read)
    }

    fn take_value(&mut self, name: &str, value: Value) -> Result<(), Unreadable> {
        let Value::Object(mut entry) = value else {
            return Err(wrong("a field of it is not an object"));
        };
        let (Some(value), Some(Value::Array(ids))) =
            (entry.shift_remove("value"), entry.shift_remove("edits"))
        else {
            return Err(wrong("a field of it has no value or no edit"));
        };
        if name.is_empty() || name.len() > LONGEST_NAME || ids.is_empty() {
            return Err(wrong("a field of it has no name, or too long a one"));
        }
        for id in ids {
            let id = id.as_str().filter(|id| self.edits.contains_key(*id));
            let id = id.ok_or_else(|| wrong("a field of it names no edit"))?;
            let siblings = self.values.entry(name.to_owned()).or_default();
            siblings.insert(id.to_owned(), value.clone());
        }
        Ok(())
    }
}

/// What both have; where they differ the one with the greater bytes, so that it is the same on both sides. Only somebody's hand makes
/// one edit say two things.
fn united<T: Clone + PartialEq>(
    one: &BTreeMap<String, T>,
    other: &BTreeMap<String, T>,
    bytes: impl Fn(&T) -> Vec<u8>,
) -> BTreeMap<String, T> {
    let mut both = one.clone();
    for (id, theirs) in other {
        match both.get(id) {
            Some(ours) if ours == theirs || bytes(ours) >= bytes(theirs) => {}
            _ => drop(both.insert(id.clone(), theirs.clone())),
        }
    }
    both
}

fn greater_of(
    one: &BTreeMap<String, Edit>,
    other: &BTreeMap<String, Edit>,
) -> BTreeMap<String, Edit> {
    united(one, other, |edit| canonical(&encoded(edit)))
}

/// How great a value is: numbers by size, texts by their bytes.
fn magnitude(value: &Value) -> (u64, String) {
    let text = value.as_str().unwrap_or_default().to_owned();
    (value.as_u64().unwrap_or(0), text)
}

fn encoded(edit: &Edit) -> Value {
    let mut json = json!({"revision": edit.revision, "at": edit.at, "by": edit.by});
    if let (Some(name), Some(map)) = (&edit.name, json.as_object_mut()) {
        map.insert("name".to_owned(), name.clone().into());
    }
    json
}

fn decoded(json: &Value) -> Option<Edit> {
    let text = |name: &str, longest: usize| {
        let text = json.get(name)?.as_str()?;
        (text.len() <= longest).then(|| text.to_owned())
    };
    let at = text("at", 40)?;
    // Times are compared as they are written.
    let parsed = Moment::parse_rfc3339(&at).filter(|moment| moment.rfc3339() == at);
    parsed?;
    let revision = json.get("revision")?.as_u64();
    Some(Edit {
        revision: revision.filter(|revision| *revision <= HIGHEST)?,
        at,
        by: text("by", 64)?,
        name: match json.get("name") {
            None => None,
            Some(_) => Some(text("name", 200)?),
        },
    })
}

fn is_edit_id(id: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    id.len() == 16 && id.bytes().all(digit)
}

fn object(file: &mut Json, name: &str) -> Result<Map<String, Value>, Unreadable> {
    match file.shift_remove(name) {
        None => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map),
        Some(_) => Err(wrong(&format!("'{name}' is not an object"))),
    }
}

fn wrong(why: &str) -> Unreadable {
    Unreadable::Wrong(why.to_owned())
}
