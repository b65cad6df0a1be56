//! A stored snapshot in JSON: the commit's own document, plus where it stands.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Document;
use crate::ops::outcome::{Listing, SnapshotView, Taken};

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

#[derive(serde::Serialize)]
struct ListFields<'a> {
    snapshots: Vec<Record<'a>>,
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
            snapshots: self.snapshots.iter().map(Record).collect(),
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
