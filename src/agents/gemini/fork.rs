//! Forks of Gemini chats, each in the format it has.
//!
//! Of a log the lines of the messages before the cut are kept, without messages that were taken back and the records that
//! took them back: but for those that took back what a `$set` had put into the history, which only they can. A `$set` loses the messages
//! that have a call left open. Of a document its text around the messages that are left out. `sessionId` changes wherever it stands.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use crate::agents::document::Document;
use crate::agents::fork::shape::{Facts, Free, LINES, Shape, strings};
use crate::agents::fork::{Draft, Edit, FilePlan, KeptMessages, KeyPath, Rule, Segment, span};
use crate::agents::gemini::read::{Item, is_document, is_head, is_open, scan};
use crate::agents::gemini::record::{From, Record, calls};
use crate::agents::lines::parse_object;
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::agents::value::owned;
use crate::error::{Code, Error, Result};
use serde_json::Value;

/// Where a session's id stands, in the head and in changes of it.
const SESSION: &[KeyPath] = &[&["sessionId"], &["$set", "sessionId"]];

/// The pieces to keep of `transcript` when it is cut at `cut`.
pub fn draft(transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
    if is_document(&transcript.path) {
        document(transcript, cut)
    } else {
        log(transcript, cut)
    }
}

fn log(transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
    let limit = Some(cut.position.offset);
    let scan = scan(&transcript.path, Detail::Outline, limit)?;
    let speaking = |from: From| matches!(from, From::User | From::Model);
    let kept: HashSet<usize> = scan
        .live
        .iter()
        .filter(|live| live.record.is_settled())
        .flat_map(|live| live.entries.iter().copied())
        .collect();
    let mut said = scan.live.iter();
    let speaks = said.any(|live| speaking(live.record.from) && live.record.is_settled());
    let has_set = scan.held.iter().any(|held| held.is_set && !held.is_open);
    if !speaks && !has_set {
        return Ok(None);
    }
    let head = if scan.has_open_set() {
        Rule::Edits(without_open)
    } else {
        Rule::Ids(SESSION)
    };
    let segments = scan
        .entries
        .iter()
        .enumerate()
        .filter(|(index, entry)| match entry.item {
            Item::Head | Item::Other | Item::RewindOfSet => true,
            Item::Message => kept.contains(index),
            Item::Rewind => false,
        })
        .map(|(_, entry)| match entry.item {
            Item::Head => Segment::of(entry, head),
            Item::Message | Item::Rewind | Item::RewindOfSet | Item::Other => {
                Segment::of(entry, Rule::OwnIds(SESSION))
            }
        })
        .collect();
    let file = FilePlan::of_lines(&transcript.path, segments);
    Ok(Some(Draft::of_file(transcript, file)))
}

/// A head for a fork: with its session's id, and without the messages of a `$set` that have a call left open.
fn without_open(line: &[u8], new_id: &str) -> Vec<Edit> {
    let ids = SESSION.iter().filter_map(|path| span::find(line, path));
    let ids = ids.filter(|range| line.get(range.start) == Some(&b'"'));
    let mut edits: Vec<Edit> = ids
        .map(|range| (range, Value::from(new_id).to_string()))
        .collect();
    edits.extend(
        open_in(line)
            .into_iter()
            .map(|range| (range, String::new())),
    );
    edits
}

/// Where the messages of a `$set` stand that have a call left open, each with a comma beside it.
fn open_in(line: &[u8]) -> Vec<Range<usize>> {
    let messages = span::find(line, &["$set", "messages"]);
    let messages = messages.map_or_else(Vec::new, |range| span::elements(line, range));
    let mut gone = Vec::new();
    let (mut before, mut is_first) = (None, true);
    for (at, range) in messages.iter().enumerate() {
        let message = line.get(range.clone()).and_then(parse_object);
        if message.as_ref().is_some_and(is_open) {
            // The comma after it, as long as none is kept before.
            let next = messages.get(at + 1).map_or(range.end, |next| next.start);
            gone.push(match before.filter(|_| !is_first) {
                Some(end) => end..range.end,
                None => range.start..next,
            });
        } else {
            is_first = false;
        }
        before = Some(range.end);
    }
    gone
}

/// Whether the program has the same messages from a fork as from the chat up to `cut`, but for those with a call left open.
pub fn is_same_history(original: &Path, cut: &Cut, fork: &Path) -> Result<bool> {
    if is_document(original) {
        // Its messages are compared one by one.
        return Ok(true);
    }
    let limit = Some(cut.position.offset);
    let before = scan(original, Detail::Outline, limit)?;
    let after = scan(fork, Detail::Outline, None)?;
    Ok(before.settled() == after.settled() && !after.has_open_set())
}

fn document(transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
    let document = Document::load(&transcript.path)?;
    let text = &document.text;
    let (Some(first), Some(last)) = (document.messages.first(), document.messages.last()) else {
        return Ok(None);
    };
    let named = span::find(text, &["sessionId"]);
    if named.is_none_or(|named| named.end > first.start) {
        return Err(Error::new(
            Code::CheckpointUnavailable,
            format!(
                "'{}' does not begin with its session's id",
                transcript.path.display()
            ),
        ));
    }
    let mut segments = vec![Segment::of_range(&(0..first.start), Rule::Ids(SESSION))];
    let mut speaks = false;
    let mut starts = HashSet::new();
    let mut before = None;
    for range in &document.messages {
        let separator = before.replace(range.end);
        let message = text
            .get(range.clone())
            .filter(|_| (range.start as u64) < cut.position.offset)
            .and_then(parse_object);
        let Some(message) = message else {
            continue;
        };
        // One that is no message that we know stays as it is.
        let record = Record::of(&message, Detail::Outline);
        if record.as_ref().is_some_and(|record| !record.is_settled()) {
            continue;
        }
        speaks |= record.is_some_and(|record| matches!(record.from, From::User | From::Model));
        // The comma before a message goes with it, but for the first one that is kept.
        let from = separator
            .filter(|_| !starts.is_empty())
            .unwrap_or(range.start);
        segments.push(Segment::of_range(&(from..range.end), Rule::Verbatim));
        starts.insert(range.start as u64);
    }
    segments.push(Segment::of_range(&(last.end..text.len()), Rule::Verbatim));
    let messages = transcript.messages.iter();
    let kept = messages
        .filter(|message| starts.contains(&message.position.offset))
        .count();
    let file = FilePlan::of_document(&transcript.path, segments);
    Ok(speaks.then(|| Draft {
        kept: KeptMessages::Before(kept),
        ..Draft::of_file(transcript, file)
    }))
}

const IDS: Free = Free {
    ids: &[&["sessionId"], &["$set", "sessionId"]],
    origin: None,
};

/// What the validator knows of a log.
pub const SHAPE: Shape = Shape {
    head: IDS,
    rest: IDS,
    every_session: true,
    left_out: open_in,
    facts,
    ..LINES
};

/// A message is written again as its calls get their results, so ids of messages are no ids of the chain.
fn facts(record: &Value) -> Facts {
    let set = record.get("$set").and_then(|set| owned(set, "sessionId"));
    let calls = calls(record);
    let answered = |call: &Value| call.get("result").is_some_and(|result| !result.is_null());
    Facts {
        session: owned(record, "sessionId")
            .or(set)
            .filter(|_| is_head(record)),
        calls: strings(calls, "id", |call| !answered(call)),
        settled: strings(calls, "id", answered),
        ..Facts::default()
    }
}
