//! Forks of Qwen Code sessions: the records on the branch that leads to the cut. `sessionId` changes in every record; `uuid`
//! and `parentUuid` stay, unless the record named there is left out.

use serde_json::Value;

use super::read::{Entry, Scan, is_beside, is_unknown, scan};
use crate::agents::branch::Branches;
use crate::agents::fork::calls::{Pairing, drop_dangling, kept_of};
use crate::agents::fork::shape::{Facts, Free, LINES, Shape};
use crate::agents::fork::{Draft, FilePlan, KeyPath, Rule, Segment};
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::agents::value::{items, owned};
use crate::error::Result;

/// Where a session's id stands in its records.
const SESSION: &[KeyPath] = &[&["sessionId"]];

/// Records that speak for the old session only; its own forks lack them, too.
const DROPPED: [&str; 5] = [
    "session_sources_snapshot",
    "parent_session",
    "session_source",
    "turn_result",
    "file_history_snapshot",
];

/// The records to keep of `transcript` when it is cut at `cut`.
pub fn draft(transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
    let scan = scan(&transcript.path, Detail::Outline)?;
    let entries = &scan.entries;
    let branches = Branches::new(entries);
    let end = entries
        .iter()
        .position(|entry| entry.position.offset >= cut.position.offset)
        .unwrap_or(entries.len());
    let mut kept = branches.to(leaf_before(&scan, &branches, end));
    for (index, entry) in entries.iter().enumerate() {
        kept[index] &= index < end && !DROPPED.contains(&&*entry.what);
    }
    drop_dangling(entries, &mut kept, Pairing::InOrder);
    if !kept_of(entries, &kept).any(|(_, entry)| entry.speaks()) {
        return Ok(None);
    }
    keep_beside(entries, &branches, end, &mut kept);
    let segments = kept_of(entries, &kept)
        .map(|(index, entry)| Segment {
            relink: branches.relinked(&kept, index, "parentUuid"),
            ..Segment::new(entry.position.offset, entry.len, rule(entry))
        })
        .collect();
    let file = FilePlan::of_lines(&transcript.path, segments);
    Ok(Some(Draft::of_file(transcript, file)))
}

/// In a record of an unknown kind another session may be meant.
fn rule(entry: &Entry) -> Rule {
    if entry.unknown {
        Rule::OwnIds(SESSION)
    } else {
        Rule::Ids(SESSION)
    }
}

/// What the prompt at the cut follows; in mid-turn the last message before the cut on the branch that goes on.
fn leaf_before(scan: &Scan, branches: &Branches<'_, Entry>, end: usize) -> Option<usize> {
    if scan.entries.get(end).is_some_and(Entry::is_prompt) {
        return branches.parent(end);
    }
    let active = branches.to(scan.leaf());
    (0..end)
        .rev()
        .find(|&index| active[index] && scan.entries[index].speaks())
}

/// Records beside the chain, before the cut, that follow none that is left out.
fn keep_beside(entries: &[Entry], branches: &Branches<'_, Entry>, end: usize, kept: &mut [bool]) {
    for (index, entry) in entries.iter().enumerate().take(end) {
        if entry.beside && !DROPPED.contains(&&*entry.what) {
            kept[index] = match branches.parent(index) {
                Some(parent) => kept[parent],
                // It follows nothing, or what is nowhere.
                None => true,
            };
        }
    }
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
    let id = owned(record, "uuid");
    // A record of an unknown kind may be a link or stand beside: others may follow it, and nothing is asked of what it follows.
    let (id, also) = if is_beside(record) || is_unknown(record) {
        (None, id)
    } else {
        (id, None)
    };
    let chained = id.is_some();
    let message = record
        .pointer("/message/parts")
        .filter(|_| !is_unknown(record));
    let parts = items(message);
    let ids = |member| -> Vec<String> {
        let named = parts.iter().filter_map(|part| part.get(member));
        named.filter_map(|named| owned(named, "id")).collect()
    };
    Facts {
        session: owned(record, "sessionId").filter(|_| !is_unknown(record)),
        id,
        also,
        parent: owned(record, "parentUuid").filter(|_| chained),
        calls: ids("functionCall"),
        results: ids("functionResponse"),
        ..Facts::default()
    }
}
