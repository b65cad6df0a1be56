//! Forks of Claude Code sessions.
//!
//! Kept are the rows of the timeline that leads to the cut, and the records beside the chain that name none of the others.
//! `sessionId` changes in every row; `uuid` and `parentUuid` stay, unless the row named there is left out.

use std::collections::HashSet;

use crate::agents::claude::read::scan_with_parent;
use crate::agents::claude::rows::{CHAIN, Kind, Row};
use crate::agents::claude::timeline::Tree;
use crate::agents::fork::calls::{Pairing, drop_dangling, kept_of};
use crate::agents::fork::shape::{Facts, Free, LINES, Shape, of_type, strings};
use crate::agents::fork::{Draft, FilePlan, KeyPath, Relink, Rule, Segment};
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::agents::value::{flag, items, owned, text};
use crate::error::Result;
use serde_json::Value;

/// Where a session's id stands in its rows.
const SESSION: &[KeyPath] = &[&["sessionId"]];

/// Records beside the chain that speak for the old session only.
const DROPPED: [&str; 6] = [
    "queue-operation",
    "last-prompt",
    "custom-title",
    "ai-title",
    "bridge-session",
    "worktree-state",
];

/// The lines to keep of `transcript` when it is cut at `cut`.
pub fn draft(transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
    let (scan, parent) = scan_with_parent(&transcript.path, Detail::Outline)?;
    let rows = &scan.rows;
    let tree = Tree::new(rows);
    let end = rows
        .iter()
        .position(|row| row.file == 0 && row.position.offset >= cut.position.offset)
        .unwrap_or(rows.len());
    let mut kept = tree.active(leaf_before(&tree, rows, end), end);
    close_calls(rows, &mut kept);
    if !rows
        .iter()
        .zip(&kept)
        .any(|(row, &kept)| kept && row.speaks())
    {
        // Before the first prompt stands at most what the agent tells the model for itself.
        return Ok(None);
    }
    keep_beside(rows, &tree, end, &mut kept);
    let mut sources = vec![transcript.path.clone()];
    // A fork that only points at its parent has the beginning there: ours is whole by itself.
    sources.extend(parent);
    let file = FilePlan {
        sources,
        ..FilePlan::of_lines(&transcript.path, segments(rows, &tree, &kept))
    };
    Ok(Some(Draft::of_file(transcript, file)))
}

/// The row that the fork goes on from: what the prompt at the cut follows, on whichever timeline that is; in mid-turn the
/// last message before the cut on the timeline that goes on.
fn leaf_before(tree: &Tree<'_>, rows: &[Row], end: usize) -> Option<usize> {
    if let Some(row) = rows.get(end)
        && row.is_prompt()
    {
        return tree.parent(end);
    }
    let active = tree.active(tree.leaf(rows.len()), rows.len());
    (0..end)
        .rev()
        .find(|&index| active[index] && rows[index].is_message())
}

/// Leaves out calls without a result and results without a call, and what is left of a message when only its thoughts are.
fn close_calls(rows: &[Row], kept: &mut [bool]) {
    let dropped = drop_dangling(rows, kept, Pairing::ById);
    let cut_messages: HashSet<&str> = dropped
        .iter()
        .filter_map(|&index| rows[index].message_id.as_deref())
        .collect();
    for message in cut_messages {
        let parts: Vec<usize> = kept_of(rows, kept)
            .filter(|(_, row)| row.message_id.as_deref() == Some(message))
            .map(|(index, _)| index)
            .collect();
        if !parts.iter().any(|&index| rows[index].substance) {
            for index in parts {
                kept[index] = false;
            }
        }
    }
}

/// Records beside the chain, before the cut, that name no row that is left out.
fn keep_beside(rows: &[Row], tree: &Tree<'_>, end: usize, kept: &mut [bool]) {
    for index in 0..end {
        let row = &rows[index];
        if row.kind != Kind::Beside || row.sidechain || DROPPED.contains(&&*row.what) {
            continue;
        }
        let about = row.about.as_deref().and_then(|uuid| tree.by_uuid(uuid));
        if about.is_none_or(|about| kept[about]) {
            kept[index] = true;
        }
    }
}

/// The kept rows as segments.
fn segments(rows: &[Row], tree: &Tree<'_>, kept: &[bool]) -> Vec<Segment> {
    kept_of(rows, kept)
        .map(|(index, row)| Segment {
            source: row.file,
            relink: relink(rows, tree, kept, index),
            ..Segment::new(row.position.offset, row.len, rule(row))
        })
        .collect()
}

/// In the chain each row has the session's id, whatever it had; elsewhere another session may be meant.
fn rule(row: &Row) -> Rule {
    if row.is_known() {
        Rule::Ids(SESSION)
    } else {
        Rule::OwnIds(SESSION)
    }
}

/// The row to follow instead, when the one that `index` names is left out or missing. A row whose parent was missing from
/// the start keeps what it says when nothing precedes it.
fn relink(rows: &[Row], tree: &Tree<'_>, kept: &[bool], index: usize) -> Option<Relink> {
    let named = rows[index].parent.as_deref()?;
    let found = tree.by_uuid(named);
    if found.map_or(!rows[index].is_known(), |found| kept[found]) {
        return None;
    }
    // Rows say themselves whom they follow: a damaged file may go round in a circle.
    let mut seen = HashSet::new();
    let mut next = tree.parent(index);
    while let Some(parent) = next.filter(|&parent| seen.insert(parent)) {
        if kept[parent] {
            break;
        }
        next = tree.parent(parent);
    }
    let parent = next
        .filter(|&parent| kept[parent])
        .and_then(|parent| rows[parent].uuid.clone());
    if parent.is_none() && found.is_none() {
        return None;
    }
    Some(Relink {
        key: "parentUuid",
        parent,
    })
}

const IDS: Free = Free {
    ids: &[&["sessionId"], &["parentUuid"]],
    origin: None,
};

/// What the validator knows of a session file.
pub const SHAPE: Shape = Shape {
    head: IDS,
    rest: IDS,
    chained: true,
    every_session: true,
    facts,
    ..LINES
};

fn facts(record: &Value) -> Facts {
    let kind = text(record, "type").unwrap_or_default();
    let message = record.get("message");
    let message = message.filter(|_| matches!(kind, "user" | "assistant"));
    let blocks = items(message.and_then(|message| message.get("content")));
    let id = owned(record, "uuid").filter(|_| !flag(record, "isSidechain"));
    let known = CHAIN.contains(&kind);
    let (id, also) = if known { (id, None) } else { (None, id) };
    Facts {
        session: owned(record, "sessionId").filter(|_| known),
        id,
        also,
        parent: owned(record, "parentUuid"),
        boundary: text(record, "subtype") == Some("compact_boundary"),
        calls: strings(blocks, "id", of_type("tool_use")),
        results: strings(blocks, "tool_use_id", of_type("tool_result")),
        settled: Vec::new(),
    }
}
