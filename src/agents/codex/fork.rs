//! Forks of Codex rollouts.
//!
//! Kept are the lines before the turn at the cut, without rolled-back turns and the markers that took them back. The head
//! gets the new id and names the old one; no other line changes. What a session of Codex's own fork goes on from stays where it
//! is: the head names it, and Codex reads it there.

use std::collections::{HashMap, HashSet};

use crate::agents::codex::read::{Item, scan};
use crate::agents::fork::calls::{Pairing, ToolUse as _, without_dangling};
use crate::agents::fork::shape::{Facts, Free, LINES, Shape};
use crate::agents::fork::{Draft, FilePlan, KeptMessages, KeyPath, Rule, Segment};
use crate::agents::lines::Entry;
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::agents::value::{owned, text};
use crate::error::{Code, Error, Result};
use serde_json::Value;

/// The lines to keep of `transcript` when it is cut at `cut`.
pub fn draft(transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
    let scan = scan(&transcript.path, Detail::Outline, Some(cut.position.offset))?;
    if let Some(why) = scan.unsound {
        return Err(Error::new(
            Code::CheckpointUnavailable,
            format!(
                "session '{}' cannot be forked: {why}",
                transcript.session_id
            ),
        )
        .hint("its files can be rewound: give --code"));
    }
    if scan.transcript.prompts.is_empty() {
        return Ok(None);
    }
    let mut entries = scan.entries;
    entries.retain(|entry| {
        let offset = entry.position.offset;
        !scan.dropped.iter().any(|range| range.contains(&offset))
    });
    close_calls(&mut entries);
    let starts: HashSet<u64> = entries.iter().map(|entry| entry.position.offset).collect();
    let messages = transcript.messages.iter();
    let kept =
        messages.filter(|message| message.file == 1 || starts.contains(&message.position.offset));
    let kept = KeptMessages::Before(kept.count());
    let segments = entries.iter().map(segment).collect();
    let file = FilePlan::of_lines(&transcript.path, segments);
    Ok(Some(Draft {
        kept,
        ..Draft::of_file(transcript, file)
    }))
}

fn segment(entry: &Entry<Item>) -> Segment {
    let rule = match &entry.item {
        Item::Head => Rule::Header {
            ids: HEAD_IDS,
            origin: "forked_from_id",
        },
        Item::BareHead => Rule::Ids(&[&["id"]]),
        _ => Rule::Verbatim,
    };
    Segment::of(entry, rule)
}

/// Leaves out calls without an output, outputs without a call, thoughts that led to nothing that is kept, and events about
/// such calls.
fn close_calls(entries: &mut Vec<Entry<Item>>) {
    let mut kept = without_dangling(entries, Pairing::InOrder);
    let mut last_calls: HashMap<&str, usize> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        last_calls.extend(entry.calls().map(|id| (id, index)));
    }
    let unanswered: HashSet<String> = last_calls
        .into_iter()
        .filter(|&(_, index)| !kept[index])
        .map(|(id, _)| id.to_owned())
        .collect();
    drop_idle_thoughts(entries, &mut kept);
    let mut kept = kept.into_iter();
    entries.retain(|entry| {
        let about = matches!(&entry.item, Item::Event(Some(id)) if unanswered.contains(id));
        kept.next() == Some(true) && !about
    });
}

/// Thoughts are followed by what they led to. Where that is left out, or the cut is in between, they go too.
fn drop_idle_thoughts(entries: &[Entry<Item>], kept: &mut [bool]) {
    let mut led_to_nothing = true;
    for (index, entry) in entries.iter().enumerate().rev() {
        match entry.item {
            Item::Reasoning if led_to_nothing => {
                kept[index] = false;
            }
            Item::Event(_) | Item::Head | Item::BareHead | Item::Reasoning => {}
            Item::Call(_) | Item::Output(_) | Item::Said => led_to_nothing = !kept[index],
        }
    }
}

/// Where a head has the session's id. Hooks are told the second, which old rollouts lack.
const HEAD_IDS: &[KeyPath] = &[&["payload", "id"], &["payload", "session_id"]];

/// What the validator knows of a rollout.
pub const SHAPE: Shape = Shape {
    // A head of the old form has its id at the top.
    head: Free {
        ids: &[&["payload", "id"], &["payload", "session_id"], &["id"]],
        origin: Some(&["payload", "forked_from_id"]),
    },
    facts,
    ..LINES
};

fn facts(record: &Value) -> Facts {
    let payload = record.get("payload").unwrap_or(record);
    let bare = record.get("payload").is_none();
    let head = match text(record, "type") {
        Some(kind) => kind == "session_meta",
        None => record.get("instructions").is_some(),
    };
    let call = owned(payload, "call_id").or_else(|| owned(payload, "id"));
    let item = bare || text(record, "type") == Some("response_item");
    let of = |kinds: &[&str]| -> Vec<String> {
        let fits = item && text(payload, "type").is_some_and(|kind| kinds.contains(&kind));
        call.clone().filter(|_| fits).into_iter().collect()
    };
    Facts {
        session: owned(payload, "id").filter(|_| head),
        calls: of(&["function_call", "custom_tool_call", "local_shell_call"]),
        results: of(&[
            "function_call_output",
            "custom_tool_call_output",
            "local_shell_call_output",
        ]),
        ..Facts::default()
    }
}
