//! A Qwen Code session as a neutral conversation.
//!
//! Records form a tree by `uuid` and `parentUuid`, and the last record of it is its leaf; what is not on the path to it was
//! left behind. The envelope is like Claude Code's, the messages have Gemini's parts.

use std::collections::HashSet;
use std::path::Path;

use serde_json::Value;

use super::NAME;
use crate::agents::branch::{Branches, Linked};
use crate::agents::builder::{Builder, Call, Typed};
use crate::agents::fork::calls::ToolUse;
use crate::agents::lines::{self, Counts, Line};
use crate::agents::transcript::{Cut, Detail, Position, Prompt, Shrink, Tokens, Transcript};
use crate::agents::value::{content, items, number, owned, shown, text};
use crate::error::Result;

/// Records that stand beside the chain: the next one follows what they follow.
const BESIDE: [&str; 6] = [
    "session_artifact_event",
    "session_artifact_snapshot",
    "session_sources_snapshot",
    "managed_session_header_v1",
    "managed_session_event_v1",
    "managed_session_commit_v1",
];

/// How a part begins that a hook added to a prompt.
const ADDED: &str = "<qwen:user-prompt-submit-context>";

/// One record.
pub struct Entry {
    /// Where it begins.
    pub position: Position,
    /// Its length, without the newline.
    pub len: u64,
    /// What it is of its type: its `subtype`.
    pub what: String,
    /// Whether it stands beside the chain.
    pub beside: bool,
    /// Whether its type is none that is known here.
    pub unknown: bool,
    /// The id of the record before it.
    pub parent: Option<String>,
    id: Option<String>,
    at: Option<String>,
    body: Body,
}

enum Body {
    User {
        text: String,
        images: u32,
        /// Whether it begins a turn.
        begins: bool,
    },
    Assistant {
        text: String,
        calls: Vec<(String, String, Value)>,
        tokens: u64,
    },
    Results(Vec<(String, String, bool)>),
    Compaction,
    Other,
}

impl Entry {
    /// Whether it is a prompt that begins a turn.
    pub fn is_prompt(&self) -> bool {
        matches!(self.body, Body::User { begins: true, .. })
    }

    /// Whether it is a person's or the model's.
    pub fn speaks(&self) -> bool {
        matches!(
            self.body,
            Body::User { .. } | Body::Assistant { .. } | Body::Results(_)
        )
    }
}

impl Linked for Entry {
    fn id(&self) -> Option<&str> {
        self.id.as_deref().filter(|_| !self.beside)
    }

    fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }
}

impl ToolUse for Entry {
    fn calls(&self) -> impl Iterator<Item = &str> {
        let calls: &[_] = match &self.body {
            Body::Assistant { calls, .. } => calls,
            _ => &[],
        };
        calls.iter().map(|(id, _, _)| id.as_str())
    }

    fn results(&self) -> impl Iterator<Item = &str> {
        let results: &[_] = match &self.body {
            Body::Results(results) => results,
            _ => &[],
        };
        results.iter().map(|(id, _, _)| id.as_str())
    }
}

/// A session file, read.
#[derive(Default)]
pub struct Scan {
    /// Its records.
    pub entries: Vec<Entry>,
    session_id: Option<String>,
    cwd: Option<String>,
    version: Option<String>,
    origin: Option<String>,
    counts: Counts,
}

impl Scan {
    fn take(&mut self, record: &Value, line: &Line<'_>, detail: Detail) {
        let first = |known: &mut Option<String>, found: Option<String>| {
            *known = known.take().or(found);
        };
        first(&mut self.session_id, owned(record, "sessionId"));
        first(&mut self.cwd, owned(record, "cwd"));
        let origin = record.get("forkedFrom");
        first(
            &mut self.origin,
            origin.and_then(|origin| owned(origin, "sessionId")),
        );
        self.version = owned(record, "version").or(self.version.take());
        self.entries.push(Entry {
            position: line.position,
            len: line.bytes.len() as u64,
            what: owned(record, "subtype").unwrap_or_default(),
            beside: is_beside(record),
            unknown: is_unknown(record),
            parent: owned(record, "parentUuid"),
            id: owned(record, "uuid"),
            at: owned(record, "timestamp"),
            body: body(record, detail),
        });
    }

    /// A record of a kind that is not known here is a link of the chain where another follows it. Where none does it stands beside: it
    /// must not be taken for the leaf that the conversation ends with.
    fn set_unknown_ends_aside(&mut self) {
        let followed: HashSet<String> = self
            .entries
            .iter()
            .filter_map(|entry| entry.parent.clone())
            .collect();
        for entry in self.entries.iter_mut().filter(|entry| entry.unknown) {
            let is_link = entry.id.as_ref().is_some_and(|id| followed.contains(id));
            entry.beside |= !is_link;
        }
    }

    /// The record that the conversation goes on from.
    pub fn leaf(&self) -> Option<usize> {
        self.entries.iter().rposition(|entry| !entry.beside)
    }
}

/// Whether a record stands beside the chain.
pub fn is_beside(record: &Value) -> bool {
    let subtype = text(record, "subtype").unwrap_or_default();
    let side = text(record, "type") == Some("system") && BESIDE.contains(&subtype);
    side || record.get("uuid").is_none()
}

/// Whether a record's type is none that is known here.
pub fn is_unknown(record: &Value) -> bool {
    !matches!(
        text(record, "type"),
        Some("user" | "assistant" | "tool_result" | "system")
    )
}

/// Reads the session at `path`.
pub fn scan(path: &Path, detail: Detail) -> Result<Scan> {
    let mut scan = Scan::default();
    scan.counts = lines::each_record(path, None, |record, line| {
        scan.take(record, line, detail);
    })?;
    scan.set_unknown_ends_aside();
    Ok(scan)
}

fn body(record: &Value, detail: Detail) -> Body {
    let subtype = text(record, "subtype");
    let parts = record.pointer("/message/parts");
    match (text(record, "type"), subtype) {
        (Some("user"), None | Some("mid_turn_user_message")) => {
            let (text, images) = typed(items(parts));
            Body::User {
                text,
                images,
                begins: subtype.is_none(),
            }
        }
        (Some("assistant"), _) => assistant(record, items(parts), detail),
        (Some("tool_result"), _) => Body::Results(results(items(parts), detail)),
        (Some("system"), Some("chat_compression")) => Body::Compaction,
        _ => Body::Other,
    }
}

/// What a person typed: without what hooks added.
fn typed(parts: &[Value]) -> (String, u32) {
    let added = |part: &&Value| text(part, "text").is_some_and(|text| text.starts_with(ADDED));
    let own = parts.iter().filter(|part| !added(part)).cloned().collect();
    let (said, images) = content(Some(&Value::Array(own)));
    (said.trim().to_owned(), images)
}

fn assistant(record: &Value, parts: &[Value], detail: Detail) -> Body {
    let (said, _) = content(record.pointer("/message/parts"));
    let call = |part: &Value| {
        let call = part.get("functionCall")?;
        let input = call.get("args").filter(|_| detail == Detail::Full);
        Some((
            owned(call, "id").unwrap_or_default(),
            owned(call, "name").unwrap_or_default(),
            input.cloned().unwrap_or_default(),
        ))
    };
    let usage = record.get("usageMetadata").unwrap_or(&Value::Null);
    Body::Assistant {
        text: if said.trim().is_empty() {
            String::new()
        } else {
            said
        },
        calls: parts.iter().filter_map(call).collect(),
        tokens: number(usage, "totalTokenCount"),
    }
}

fn results(parts: &[Value], detail: Detail) -> Vec<(String, String, bool)> {
    let result = |part: &Value| {
        let answered = part.get("functionResponse")?;
        let response = answered.get("response").unwrap_or(&Value::Null);
        let error = response.get("error");
        let output = response.get("output").or(error).unwrap_or(response);
        let output = match detail {
            Detail::Full => shown(output),
            Detail::Outline => String::new(),
        };
        Some((owned(answered, "id")?, output, error.is_some()))
    };
    parts.iter().filter_map(result).collect()
}

/// Reads the session at `path` as a conversation.
pub fn read(path: &Path, detail: Detail) -> Result<Transcript> {
    let scan = scan(path, detail)?;
    let active = Branches::new(&scan.entries).to(scan.leaf());
    let mut builder = Builder::new(NAME, detail);
    for (entry, _) in scan.entries.iter().zip(&active).filter(|(_, on)| **on) {
        fold(&mut builder, entry);
    }
    let mut transcript = builder.transcript;
    for (entry, _) in scan.entries.iter().zip(&active).filter(|(_, on)| !**on) {
        abandon(&mut transcript, entry);
    }
    path.clone_into(&mut transcript.path);
    transcript.session_id = scan.session_id.unwrap_or_default();
    transcript.cwd = scan.cwd;
    transcript.version = scan.version;
    transcript.forked_from = scan.origin;
    transcript.set_counts(scan.counts);
    Ok(transcript)
}

fn abandon(transcript: &mut Transcript, entry: &Entry) {
    let Body::User {
        text,
        images,
        begins: true,
    } = &entry.body
    else {
        return;
    };
    let known = transcript.cut_at(entry.position.offset);
    let cut = Cut {
        position: entry.position,
        companion: None,
        tokens: known.map(|cut| cut.tokens).unwrap_or_default(),
        messages: known.map_or(0, |cut| cut.messages),
    };
    transcript.abandoned.push(Prompt {
        index: transcript.abandoned.len(),
        position: entry.position,
        prompt_id: entry.id.clone(),
        at: entry.at.clone(),
        text: text.clone(),
        images: *images,
        message: cut.messages,
        tokens: cut.tokens,
        cut: Some(cut),
    });
}

fn fold(builder: &mut Builder, entry: &Entry) {
    let position = entry.position;
    let (id, at) = (entry.id.clone(), entry.at.clone());
    match &entry.body {
        Body::User {
            text,
            images,
            begins: true,
        } => builder.prompt(Typed {
            position,
            cut: Some(position),
            companion: None,
            prompt_id: id.clone(),
            id,
            at,
            text: text.clone(),
            images: *images,
        }),
        Body::User { text, images, .. } => builder.user(position, id, at, text.clone(), *images),
        Body::Assistant {
            text,
            calls,
            tokens,
        } => answer(builder, entry, text, calls, *tokens),
        Body::Results(results) => {
            for (id, output, failed) in results {
                builder.result(id, output.clone(), *failed);
            }
        }
        Body::Compaction => builder.shrink(position, Shrink::Compaction),
        Body::Other => {}
    }
    let end = Position {
        line: position.line + 1,
        offset: position.offset + entry.len + 1,
    };
    builder.boundary(end, None);
}

fn answer(
    builder: &mut Builder,
    entry: &Entry,
    text: &str,
    calls: &[(String, String, Value)],
    tokens: u64,
) {
    let position = entry.position;
    if !text.is_empty() {
        builder.assistant(
            position,
            entry.id.clone(),
            entry.at.clone(),
            text.to_owned(),
        );
    }
    for (id, name, input) in calls {
        builder.call(Call {
            id: id.clone(),
            name: name.clone(),
            input: input.clone(),
            at: entry.at.clone(),
            position,
        });
    }
    if tokens > 0 {
        let before = builder.transcript.tokens.total.unwrap_or(0);
        builder.tokens(Tokens {
            context: Some(tokens),
            total: Some(before + tokens),
        });
    }
}
