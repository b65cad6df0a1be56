//! Forks of opencode sessions: the export of one, without the messages that are left out, to be imported.
//!
//! An import never replaces a message or a part that is there: it leaves out what has a known id. So every id changes, and an
//! id that is named elsewhere (the prompt that was answered, where a compaction's tail begins) changes the same way. opencode
//! sorts by id: what an id says of time stays, what is chance in it is drawn anew.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::agents::document::Document;
use crate::agents::fork::ids::letters;
use crate::agents::fork::validate::{Validation, invalid};
use crate::agents::fork::{Draft, Edit, FilePlan, KeptMessages, Rule, Segment, span};
use crate::agents::lines::parse_object;
use crate::agents::opencode::read::{is_reverted, is_settled};
use crate::agents::transcript::{Cut, Transcript};
use crate::agents::value::{items, text};
use crate::error::{Code, Error, Result};
use crate::text::foreign_json;

/// What of a session's head is the origin's alone: a fork is nobody's sub-agent, was not shared, and has nothing undone.
const ORIGINS_OWN: [&str; 3] = ["revert", "share", "parentID"];

/// So much of an id is its kind and its time.
const TIMED: usize = "msg_".len() + 12;

/// The pieces to keep of `transcript` when it is cut at `cut`.
pub fn draft(transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
    let document = Document::load(&transcript.path)?;
    let (Some(first), Some(last)) = (document.messages.first(), document.messages.last()) else {
        return Ok(None);
    };
    let head = span::find(&document.text, &["info"]).filter(|info| info.end <= first.start);
    if head.is_none() {
        let what = format!(
            "'{}' does not begin with its session",
            transcript.path.display()
        );
        return Err(Error::new(Code::CheckpointUnavailable, what));
    }
    let info = document.value(&["info"]).unwrap_or_default();
    let mut segments = vec![Segment::of_range(
        &(0..first.start),
        Rule::Edits(head_edits),
    )];
    let mut starts = HashSet::new();
    let mut before = None;
    for range in &document.messages {
        let separator: Option<usize> = before.replace(range.end);
        if range.start as u64 >= cut.position.offset {
            break;
        }
        let parsed = document.text.get(range.clone()).and_then(parse_object);
        match parsed {
            Some(message) if is_reverted(&info, &message) => break,
            Some(message) if is_settled(&message) => {}
            _ => continue,
        }
        // The comma before a message goes with it, but for the first one that is kept.
        if let Some(from) = separator.filter(|_| !starts.is_empty()) {
            segments.push(Segment::of_range(&(from..range.start), Rule::Verbatim));
        }
        segments.push(Segment::of_range(range, Rule::Edits(message_edits)));
        starts.insert(range.start as u64);
    }
    segments.push(Segment::of_range(
        &(last.end..document.text.len()),
        Rule::Verbatim,
    ));
    let messages = transcript.messages.iter();
    let kept = messages
        .filter(|message| starts.contains(&message.position.offset))
        .count();
    let file = FilePlan::of_document(&transcript.path, segments);
    Ok((kept > 0).then(|| Draft {
        kept: KeptMessages::Before(kept),
        ..Draft::of_file(transcript, file)
    }))
}

/// What changes in the text before the first message.
fn head_edits(text: &[u8], session: &str) -> Vec<Edit> {
    let Some(info) = span::find(text, &["info"]) else {
        return Vec::new();
    };
    let mut edits = Vec::new();
    let mut before = None;
    for member in span::members(text, info) {
        let key = text.get(member.key.clone()).unwrap_or_default();
        let own = ORIGINS_OWN.iter().any(|name| name.as_bytes() == key);
        // With the comma before it; the first member is the id.
        if let Some(from) = before.filter(|_| own) {
            edits.push((from..member.value.end, String::new()));
        } else if key == b"id" {
            edits.push((member.value.clone(), quoted(session)));
        }
        before = Some(member.value.end);
    }
    edits
}

/// What changes in a message.
fn message_edits(text: &[u8], session: &str) -> Vec<Edit> {
    let renamed = |(range, is_session): (Range<usize>, bool)| {
        let old: String = foreign_json::from_slice(text.get(range.clone())?).ok()?;
        let new = if is_session {
            session.to_owned()
        } else {
            renamed(&old, session)
        };
        Some((range, quoted(&new)))
    };
    id_places(text).into_iter().filter_map(renamed).collect()
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The id that a message or part of this id has in the fork.
fn renamed(old: &str, session: &str) -> String {
    let digest = Sha256::new()
        .chain_update(session)
        .chain_update([0])
        .chain_update(old)
        .finalize();
    format!("{}{}", old.get(..TIMED).unwrap_or(old), letters(&digest))
}

/// Where ids stand in a message, and whether each is the session's.
fn id_places(text: &[u8]) -> Vec<(Range<usize>, bool)> {
    let mut places = Vec::new();
    let mut in_object = |range: Range<usize>, names: &[&str]| {
        let members = span::members(text, range);
        for member in &members {
            let key = text.get(member.key.clone()).unwrap_or_default();
            let is_text = text.get(member.value.start) == Some(&b'"');
            if is_text && names.iter().any(|name| name.as_bytes() == key) {
                places.push((member.value.clone(), key == b"sessionID"));
            }
        }
        members
    };
    let value = |members: &[span::Member], name: &str| {
        let named = |member: &&span::Member| text.get(member.key.clone()) == Some(name.as_bytes());
        members
            .iter()
            .rfind(named)
            .map(|member| member.value.clone())
    };
    let message = in_object(0..text.len(), &[]);
    if let Some(info) = value(&message, "info") {
        in_object(info, &["id", "sessionID", "parentID"]);
    }
    for part in value(&message, "parts").map_or(Vec::new(), |parts| span::elements(text, parts)) {
        let members = in_object(part, &["id", "sessionID", "messageID", "tail_start_id"]);
        let state = value(&members, "state").map(|state| in_object(state, &[]));
        let attached = state.and_then(|state| value(&state, "attachments"));
        for file in attached.map_or(Vec::new(), |files| span::elements(text, files)) {
            in_object(file, &["id", "sessionID", "messageID"]);
        }
    }
    places
}

/// Checks the export `fork` against the one that it was made from.
pub fn validate(original: &Path, fork: &Path) -> Result<Validation> {
    let wrong = |what: &str| invalid(fork, what);
    let (old, new) = (Document::load(original)?, Document::load(fork)?);
    let (Some(before), Some(after)) = (parse_object(&old.text), parse_object(&new.text)) else {
        return Err(wrong("unreadable"));
    };
    if head(&before) != head(&after) {
        return Err(wrong("another session around the messages"));
    }
    let session = session_of(&after).ok_or_else(|| wrong("it names no session"))?;
    if Some(session) == session_of(&before) {
        return Err(wrong("it has the original's id"));
    }
    let mut pairs =
        pairs(&old, &new).ok_or_else(|| wrong("not a message of the original, or out of order"))?;
    let mut seen = Seen {
        session,
        known: all_ids(items(before.get("messages"))),
        ids: HashMap::new(),
        calls: 0,
    };
    let messages = items(after.get("messages"));
    for message in messages {
        seen.take(message).map_err(|what| wrong(&what))?;
    }
    seen.check_names(messages).map_err(|what| wrong(&what))?;
    pairs.retain(|(old, _)| !old.is_empty());
    if !pairs
        .is_sorted_by(|(old, new), (old_next, new_next)| old.cmp(old_next) == new.cmp(new_next))
    {
        return Err(wrong("its ids are in another order"));
    }
    Ok(Validation {
        lines: messages.len() as u64,
        ids: seen.ids.len() as u64,
        calls: seen.calls,
    })
}

/// The document without messages, ids, and what is an origin's own.
fn head(document: &Value) -> Value {
    let mut head = document.clone();
    if let Some(members) = head.as_object_mut() {
        members.remove("messages");
    }
    if let Some(info) = head.get_mut("info").and_then(Value::as_object_mut) {
        for name in ORIGINS_OWN.iter().chain(&["id"]) {
            info.remove(*name);
        }
    }
    head
}

/// The kinds of parts that an import asks something of. Others stay as they are.
const PARTS: [&str; 12] = [
    "text",
    "tool",
    "reasoning",
    "file",
    "step-start",
    "step-finish",
    "snapshot",
    "patch",
    "agent",
    "subtask",
    "retry",
    "compaction",
];

fn is_known_part(part: &Value) -> bool {
    text(part, "type").is_some_and(|kind| PARTS.contains(&kind))
}

fn is_known_message(message: &Value) -> bool {
    let role = message.get("info").and_then(|info| text(info, "role"));
    matches!(role, Some("user" | "assistant"))
}

fn session_of(document: &Value) -> Option<&str> {
    text(document.get("info")?, "id")
}

fn id_of(message: &Value) -> Option<&str> {
    text(message.get("info")?, "id")
}

/// The ids of each kept message, before and after, when every one is the original's but for ids, and in its order.
fn pairs(old: &Document, new: &Document) -> Option<Vec<(String, String)>> {
    let bare = |document: &Document, range: &Range<usize>| -> Option<(Vec<u8>, String)> {
        let text = document.text.get(range.clone())?;
        let mut places = id_places(text);
        places.sort_by_key(|(range, _)| range.start);
        let (mut kept, mut done) = (Vec::new(), 0);
        for (range, _) in places {
            kept.extend_from_slice(text.get(done..range.start)?);
            done = range.end;
        }
        kept.extend_from_slice(text.get(done..)?);
        let message = parse_object(text)?;
        Some((kept, id_of(&message).unwrap_or_default().to_owned()))
    };
    let mut rest = old.messages.iter();
    new.messages
        .iter()
        .map(|range| {
            let (wanted, id) = bare(new, range)?;
            let found = rest.find_map(|range| bare(old, range).filter(|(text, _)| *text == wanted));
            found.map(|(_, old)| (old, id))
        })
        .collect()
}

fn all_ids(messages: &[Value]) -> HashSet<String> {
    let parts = |message: &Value| items(message.get("parts")).to_vec();
    let of_parts = messages.iter().flat_map(parts);
    let of_parts = of_parts.filter_map(|part| text(&part, "id").map(str::to_owned));
    let of_messages = messages.iter().filter_map(id_of).map(str::to_owned);
    of_messages.chain(of_parts).collect()
}

/// What was seen of a fork so far.
struct Seen<'a> {
    session: &'a str,
    /// The original's ids.
    known: HashSet<String>,
    /// Its own; whether each is a message's.
    ids: HashMap<String, bool>,
    calls: u64,
}

impl Seen<'_> {
    fn take(&mut self, message: &Value) -> std::result::Result<(), String> {
        if !is_known_message(message) {
            return Ok(());
        }
        let info = message.get("info").unwrap_or(&Value::Null);
        let id = text(info, "id").unwrap_or_default();
        self.add(info, true)?;
        if !is_settled(message) {
            return Err(format!("message '{id}' has a tool call without its result"));
        }
        let parts = items(message.get("parts")).iter();
        for part in parts.filter(|part| is_known_part(part)) {
            self.add(part, false)?;
            if text(part, "messageID") != Some(id) {
                return Err(format!("a part of message '{id}' names another"));
            }
            self.calls += u64::from(text(part, "type") == Some("tool"));
        }
        Ok(())
    }

    fn add(&mut self, one: &Value, is_message: bool) -> std::result::Result<(), String> {
        let id = text(one, "id").ok_or("something has no id")?;
        if text(one, "sessionID") != Some(self.session) {
            return Err(format!("'{id}' has another session's id"));
        }
        if self.known.contains(id) {
            return Err(format!("'{id}' is an id of the original"));
        }
        if self.ids.insert(id.to_owned(), is_message).is_some() {
            return Err(format!("id '{id}' appears twice"));
        }
        Ok(())
    }

    /// Every message that is named elsewhere is there.
    fn check_names(&self, messages: &[Value]) -> std::result::Result<(), String> {
        for message in messages.iter().filter(|message| is_known_message(message)) {
            let parent = message.get("info").and_then(|info| text(info, "parentID"));
            let parts = items(message.get("parts")).iter();
            let tails = parts.filter_map(|part| text(part, "tail_start_id"));
            for name in parent.into_iter().chain(tails) {
                if self.ids.get(name) != Some(&true) {
                    return Err(format!("message '{name}' is named but not there"));
                }
            }
        }
        Ok(())
    }
}
