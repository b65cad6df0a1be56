//! Forks of pi sessions: the entries on the branch that leads to the cut, under a head with a new id that names the file it
//! was forked from. Ids of entries stay; `parentId` changes only where the entry named there is left out.

use std::collections::{HashMap, HashSet};

use crate::agents::fork::calls::{Pairing, drop_dangling};
use crate::agents::fork::shape::{Facts, Free, LINES, Shape, of_type, strings};
use crate::agents::fork::{Draft, FilePlan, Relink, Rule, Segment};
use crate::agents::pi::read::{Scan, scan};
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::agents::value::{items, owned, text};
use crate::error::Result;
use serde_json::Value;

/// The entries to keep of `transcript` when it is cut at `cut`.
pub fn draft(transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
    let scan = scan(&transcript.path, Detail::Outline)?;
    let entries = &scan.entries;
    let end = entries
        .iter()
        .position(|entry| entry.position.offset >= cut.position.offset)
        .unwrap_or(entries.len());
    let mut kept = scan.active(leaf_before(&scan, end), end);
    drop_dangling(entries, &mut kept, Pairing::ById);
    if !entries
        .iter()
        .zip(&kept)
        .any(|(entry, &kept)| kept && entry.speaks)
    {
        return Ok(None);
    }
    let by_id = scan.by_id();
    let segments = (0..entries.len())
        .filter(|&index| kept[index])
        .map(|index| segment(&scan, &by_id, &kept, index))
        .collect();
    let file = FilePlan::of_lines(&transcript.path, segments);
    Ok(Some(Draft {
        origin: transcript.path.to_string_lossy().into_owned(),
        ..Draft::of_file(transcript, file)
    }))
}

/// What the prompt at the cut follows; in mid-turn the last entry before the cut on the branch that goes on.
fn leaf_before(scan: &Scan, end: usize) -> Option<usize> {
    if scan.entries.get(end).is_some_and(|entry| entry.prompt) {
        return scan.parent(end, &scan.by_id());
    }
    let active = scan.active(scan.leaf(), scan.entries.len());
    (0..end)
        .rev()
        .find(|&index| active[index] && !scan.entries[index].head)
}

fn segment(scan: &Scan, by_id: &HashMap<&str, usize>, kept: &[bool], index: usize) -> Segment {
    let entry = &scan.entries[index];
    let rule = if entry.head {
        Rule::Header {
            ids: &[&["id"]],
            origin: "parentSession",
        }
    } else {
        Rule::Verbatim
    };
    Segment {
        relink: relink(scan, by_id, kept, index),
        ..Segment::new(entry.position.offset, entry.len, rule)
    }
}

fn relink(
    scan: &Scan,
    by_id: &HashMap<&str, usize>,
    kept: &[bool],
    index: usize,
) -> Option<Relink> {
    let named = scan.entries[index].parent.as_deref()?;
    if by_id.get(named).is_some_and(|&named| kept[named]) {
        return None;
    }
    let mut seen = HashSet::new();
    let mut next = scan.parent(index, by_id);
    while let Some(parent) = next.filter(|&parent| !kept[parent] && seen.insert(parent)) {
        next = scan.parent(parent, by_id);
    }
    let parent = next
        .filter(|&parent| kept[parent])
        .and_then(|parent| scan.entries[parent].id.as_deref());
    Some(Relink {
        key: "parentId",
        parent: parent.map(Box::from),
    })
}

/// What the validator knows of a session file.
pub const SHAPE: Shape = Shape {
    head: Free {
        ids: &[&["id"]],
        origin: Some(&["parentSession"]),
    },
    rest: Free {
        ids: &[&["parentId"]],
        origin: None,
    },
    chained: true,
    facts,
    ..LINES
};

fn facts(record: &Value) -> Facts {
    let head = text(record, "type") == Some("session");
    let is_message = text(record, "type") == Some("message");
    let message = record.get("message").filter(|_| is_message);
    let message = message.unwrap_or(&Value::Null);
    let of_role = |role: &str| is_message && text(message, "role") == Some(role);
    let content = message.get("content").filter(|_| of_role("assistant"));
    let result = owned(message, "toolCallId").filter(|_| of_role("toolResult"));
    let id = owned(record, "id");
    Facts {
        session: id.clone().filter(|_| head),
        id: id.filter(|_| !head),
        parent: owned(record, "parentId"),
        calls: strings(items(content), "id", of_type("toolCall")),
        results: result.into_iter().collect(),
        ..Facts::default()
    }
}
