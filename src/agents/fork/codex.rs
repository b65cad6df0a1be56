//! Forks of Codex rollouts.
//!
//! Kept are the lines before the turn at the cut, without rolled-back turns and the markers that took them back. The head
//! gets the new id and names the old one; no other line changes.

use std::collections::{HashMap, HashSet};

use super::calls::{Pairing, ToolUse as _, without_dangling};
use super::{Draft, Extra, FilePlan, Kept, Rule, Segment};
use crate::agents::codex::read::{Entry, Item, scan};
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::error::Result;

/// The lines to keep of `transcript` when it is cut at `cut`.
pub fn draft(transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
    let scan = scan(&transcript.path, Detail::Outline, Some(cut.position.offset))?;
    if scan.transcript.prompts.is_empty() {
        return Ok(None);
    }
    let mut entries = scan.entries;
    entries.retain(|entry| {
        let offset = entry.position.offset;
        !scan.dropped.iter().any(|range| range.contains(&offset))
    });
    close_calls(&mut entries);
    let segments = entries.iter().map(segment).collect();
    Ok(Some(Draft {
        files: vec![FilePlan {
            sources: vec![transcript.path.clone()],
            name: std::path::PathBuf::new(),
            segments,
            lines: true,
            tail: Vec::new(),
        }],
        origin: transcript.session_id.clone(),
        named_by_directory: false,
        extra: Extra::None,
        kept: Kept::InSegments,
    }))
}

fn segment(entry: &Entry) -> Segment {
    let rule = match (&entry.item, entry.bare) {
        (Item::Head, false) => Rule::Header {
            id: &["payload", "id"],
            origin: "forked_from_id",
        },
        (Item::Head, true) => Rule::Ids(&[&["id"]]),
        _ => Rule::Verbatim,
    };
    Segment {
        source: 0,
        offset: entry.position.offset,
        len: entry.len,
        rule,
        relink: None,
    }
}

/// Leaves out calls without an output, outputs without a call, thoughts that led to nothing that is kept, and events about
/// such calls.
fn close_calls(entries: &mut Vec<Entry>) {
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
fn drop_idle_thoughts(entries: &[Entry], kept: &mut [bool]) {
    let mut led_to_nothing = true;
    for (index, entry) in entries.iter().enumerate().rev() {
        match entry.item {
            Item::Reasoning if led_to_nothing => {
                kept[index] = false;
            }
            Item::Event(_) | Item::Head | Item::Reasoning => {}
            Item::Call(_) | Item::Output(_) | Item::Said => led_to_nothing = !kept[index],
        }
    }
}
