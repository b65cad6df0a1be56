//! A stored snapshot in JSON: the commit's own document, plus where it stands.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::Document;
use crate::ops::outcome::{Listed, Listing, SnapshotView, Taken};

/// What `tw` says about a record, whatever the stored document claims. Records may come from elsewhere.
const OURS: [&str; 6] = ["snapshot_id", "kind", "commit", "tree", "title", "foreign"];

/// The commit's document with the fields of [`OURS`].
pub struct Record<'a>(pub &'a SnapshotView);

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let view = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("snapshot_id", &view.id)?;
        map.serialize_entry("kind", &view.kind)?;
        map.serialize_entry("title", &view.title)?;
        for (name, value) in &view.json {
            if !OURS.contains(&name.as_str()) {
                map.serialize_entry(name, value)?;
            }
        }
        map.serialize_entry("commit", &view.commit.to_string())?;
        map.serialize_entry("tree", &view.tree.to_string())?;
        map.serialize_entry("foreign", &view.foreign)?;
        map.end()
    }
}

#[derive(serde::Serialize)]
struct TakenFields<'a> {
    snapshot: Record<'a>,
    fresh: bool,
    notices: &'a [String],
}

impl Document for Taken {
    fn fields(&self) -> impl Serialize + '_ {
        TakenFields {
            snapshot: Record(&self.snapshot),
            fresh: self.fresh,
            notices: &self.notices,
        }
    }
}

#[derive(serde::Serialize)]
struct ShowFields<'a> {
    snapshot: Record<'a>,
}

impl Document for SnapshotView {
    fn fields(&self) -> impl Serialize + '_ {
        ShowFields {
            snapshot: Record(self),
        }
    }
}

/// [`Record`] of one in a list.
struct Row<'a>(&'a Listed);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.0;
        let Members(members) = serde_json::from_str(&row.document).unwrap_or_default();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("snapshot_id", &row.id)?;
        map.serialize_entry("kind", &row.kind)?;
        map.serialize_entry("title", &row.title)?;
        let mut labelled = false;
        for (name, value) in members {
            // Labels are moved and taken away: what the record says was true when it was taken.
            if name == "label" {
                labelled = true;
                map.serialize_entry("label", &row.label)?;
            } else if !OURS.contains(&&*name) {
                map.serialize_entry(&name, value)?;
            }
        }
        if !labelled {
            map.serialize_entry("label", &row.label)?;
        }
        map.serialize_entry("commit", &row.commit.to_string())?;
        map.serialize_entry("tree", &row.tree.to_string())?;
        map.serialize_entry("foreign", &row.foreign)?;
        map.end()
    }
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

#[derive(serde::Serialize)]
struct ListFields<'a> {
    snapshots: Vec<Row<'a>>,
    total: usize,
    invalid: Vec<Invalid<'a>>,
}

#[derive(serde::Serialize)]
struct Invalid<'a> {
    id: &'a str,
    reason: &'a str,
}

impl Document for Listing {
    fn fields(&self) -> impl Serialize + '_ {
        ListFields {
            snapshots: self.snapshots.iter().map(Row).collect(),
            total: self.total,
            invalid: self
                .invalid
                .iter()
                .map(|(id, reason)| Invalid { id, reason })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Oid;

    #[test]
    fn a_stored_document_cannot_forge_what_tw_says_of_it() {
        let forged = serde_json::json!({
            "version": 1, "snapshot_id": "s_forged", "commit": "forged", "created_at": "2026-02-28T15:30:12Z",
        });
        let view = SnapshotView {
            id: "s_20260228_153012_ab12cd".to_owned(),
            kind: "snapshot".to_owned(),
            commit: Oid::ZERO_SHA1,
            tree: Oid::ZERO_SHA1,
            title: "t".to_owned(),
            json: forged.as_object().cloned().unwrap_or_default(),
            foreign: true,
        };
        let text = super::super::text(&view);
        assert!(!text.contains("forged"), "{text}");
        assert_eq!(text.matches("\"commit\"").count(), 1);
        assert!(text.starts_with(
            r#"{"ok":true,"version":1,"snapshot":{"snapshot_id":"s_20260228_153012_ab12cd""#
        ));
    }
}
