//! A stored snapshot, backup or experiment as readers see it: the commit's own JSON document, and where it stands.
//!
//! Promises: what `tw` says of a record is said whatever the stored document claims, for records may come from elsewhere;
//! every other field of the document is passed on as it stands, those of a later version, too.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::error::{Code, Error};
use crate::git::Oid;
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::snapshot::{SnapshotRecord, TakenIn};
use crate::store::stored::Stored;

/// What `tw` says about a record, whatever the stored document claims.
const OURS: [&str; 8] = [
    "snapshot_id",
    "kind",
    "commit",
    "tree",
    "title",
    "label",
    "labels",
    "foreign",
];

/// A stored snapshot, backup or experiment: the commit's JSON document plus where it stands.
#[derive(Debug, Clone)]
pub struct SnapshotView {
    /// The id, such as `s_20260228_153012_ab12cd`.
    pub id: String,
    /// `snapshot`, `backup` or `experiment`.
    pub kind: String,
    /// The snapshot commit.
    pub commit: Oid,
    /// The captured files.
    pub tree: Oid,
    /// The first line of the commit's message without its `snapshot: ` prefix.
    pub title: String,
    /// The labels it has now, sorted.
    pub labels: Vec<String>,
    /// The commit's JSON document, unknown fields included.
    pub json: Map<String, Value>,
    /// True when another repository's id stands in it.
    pub foreign: bool,
}

/// One snapshot, backup or experiment of many: what [`SnapshotView`] has, the document as text.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The id.
    pub id: String,
    /// `snapshot`, `backup` or `experiment`.
    pub kind: &'static str,
    /// The snapshot commit.
    pub commit: Oid,
    /// The captured files.
    pub tree: Oid,
    /// The first line of the commit's message without its `snapshot: ` prefix.
    pub title: String,
    /// The labels it has now, sorted.
    pub labels: Vec<String>,
    /// The worktree it was taken in.
    pub worktree: String,
    /// `present` or `past`.
    pub taken_in: TakenIn,
    /// RFC 3339.
    pub created_at: String,
    /// True when another repository's id stands in it.
    pub foreign: bool,
    /// The commit's JSON document, unknown fields included, without blanks.
    pub document: String,
}

impl SnapshotView {
    /// What is stored of it.
    ///
    /// # Errors
    /// It cannot be read, or is gone by now.
    pub fn stored(&self, store: &Store) -> crate::error::Result<Stored> {
        let id = SnapshotId::parse(&self.id)
            .ok_or_else(|| Error::new(Code::CorruptRecord, "the snapshot has no id"))?;
        store.read_id(&id)
    }
}

impl Serialize for SnapshotView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("snapshot_id", &self.id)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("title", &self.title)?;
        serialize_labels(&mut map, &self.labels)?;
        for (name, value) in &self.json {
            if !OURS.contains(&name.as_str()) {
                map.serialize_entry(name, value)?;
            }
        }
        map.serialize_entry("commit", &self.commit.to_string())?;
        map.serialize_entry("tree", &self.tree.to_string())?;
        map.serialize_entry("foreign", &self.foreign)?;
        map.end()
    }
}

impl Serialize for Listed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A list has thousands of documents: they are not built up as values, only cut into their members.
        let Members(members) = serde_json::from_str(&self.document).unwrap_or_default();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("snapshot_id", &self.id)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("title", &self.title)?;
        serialize_labels(&mut map, &self.labels)?;
        for (name, value) in members {
            if !OURS.contains(&&*name) {
                map.serialize_entry(&name, value)?;
            }
        }
        map.serialize_entry("commit", &self.commit.to_string())?;
        map.serialize_entry("tree", &self.tree.to_string())?;
        map.serialize_entry("foreign", &self.foreign)?;
        map.end()
    }
}

/// Labels are moved and taken away: what the record says was true when it was taken.
fn serialize_labels<M: SerializeMap>(map: &mut M, labels: &[String]) -> Result<(), M::Error> {
    map.serialize_entry("label", &labels.first())?;
    map.serialize_entry("labels", labels)
}

/// The members of a JSON object, their values as they stand in its text.
#[derive(Default)]
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfMembers)
    }
}

struct OfMembers;

impl<'de> Visitor<'de> for OfMembers {
    type Value = Members<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut members = Vec::with_capacity(32);
        while let Some((Name(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        Ok(Members(members))
    }
}

/// Borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// What `tw` says of a snapshot before what is stored of it.
fn first_properties() -> Value {
    json!({
        "snapshot_id": {"type": "string"},
        "kind": {"type": "string", "enum": ["snapshot", "backup", "experiment"]},
        "title": {"type": "string", "description": "The first line of the commit's message."},
        "label": {
            "type": ["string", "null"],
            "description": "The first of the labels that it has now.",
        },
        "labels": {
            "type": "array", "items": {"type": "string"},
            "description": "The labels that it has now, sorted.",
        },
    })
}

/// What `tw` says of it after that.
fn last_properties() -> Value {
    json!({
        "seeds_wrong": {
            "type": "array", "items": {"type": "string"},
            "description": "Files found since to have other bytes than git's index had said.",
        },
        "started_from": {
            "type": "string",
            "description": "Of an experiment: the snapshot that its stay in the past began with.",
        },
        "made_from": {
            "type": "string",
            "description": "Of one that was taken among the files of a snapshot that was not made here: that snapshot; 'unknown' where nobody could tell.",
        },
        "claimed_by": {
            "type": "string",
            "description": "Of one that came with 'tw pull': who is said to have shared it; nobody proves it.",
        },
        "members": {
            "type": "array",
            "description": "In a workspace: the snapshot of each member that belongs to this one.",
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The member, from the head's working tree; quoted as in 'modes'."},
                    "repository_id": {"type": "string", "description": "The random id of its repository."},
                    "snapshot_id": {"type": ["string", "null"], "description": "Its snapshot; null when none could be taken."},
                    "reason": {"type": "string", "description": "Why none could."},
                },
                "required": ["path", "repository_id", "snapshot_id"],
            },
        },
        "commit": {"type": "string", "description": "The snapshot commit."},
        "tree": {"type": "string", "description": "The captured files."},
        "foreign": {"type": "boolean", "description": "It has another repository's id."},
    })
}

impl JsonSchema for SnapshotView {
    fn schema_name() -> Cow<'static, str> {
        "snapshot".into()
    }

    /// The stored record's, and what `tw` says of it. Only what every record has is required; the rest is as the version of
    /// `tw` that wrote it had it, or whoever else did.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = SnapshotRecord::json_schema(generator);
        let mut stored = schema.remove("properties").unwrap_or_default();
        let mut properties = first_properties();
        for map in [stored.as_object_mut(), last_properties().as_object_mut()] {
            for (name, property) in map.into_iter().flatten() {
                properties
                    .as_object_mut()
                    .expect("written as an object")
                    .entry(name)
                    .or_insert(property.take());
            }
        }
        schema.insert("properties".to_owned(), properties);
        let required = json!([
            "snapshot_id",
            "kind",
            "title",
            "version",
            "created_at",
            "commit",
            "tree",
            "foreign",
        ]);
        schema.insert("required".to_owned(), required);
        schema
    }
}

impl JsonSchema for Listed {
    fn schema_name() -> Cow<'static, str> {
        SnapshotView::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        SnapshotView::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        SnapshotView::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_document_cannot_forge_what_tw_says_of_it() {
        let forged = json!({
            "version": 1, "snapshot_id": "s_forged", "commit": "forged", "created_at": "2026-02-28T15:30:12Z",
        });
        let view = SnapshotView {
            id: "s_20260228_153012_ab12cd".to_owned(),
            kind: "snapshot".to_owned(),
            commit: Oid::NULL,
            tree: Oid::NULL,
            title: "t".to_owned(),
            labels: Vec::new(),
            json: forged.as_object().cloned().unwrap_or_default(),
            foreign: true,
        };
        let text = serde_json::to_string(&view).unwrap_or_default();
        assert!(!text.contains("forged"), "{text}");
        assert_eq!(text.matches("\"commit\"").count(), 1);
        assert!(text.starts_with(r#"{"snapshot_id":"s_20260228_153012_ab12cd""#));
    }
}
