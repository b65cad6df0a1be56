//! Rows of a Claude Code session file: what each line is, in as little memory as the conversation needs.
//!
//! Owns the meaning of a record's fields. Knows nothing of timelines (see `timeline`) and drops nothing: a caller sees
//! every row that could be read, in the order of the file.

use std::path::Path;

use serde_json::Value;

use super::typed::{as_typed, is_notice};
use crate::agents::fork::calls::ToolUse;
use crate::agents::lines::{self, Counts, Line};
use crate::agents::transcript::{Detail, Position};
use crate::agents::value::{content, flag, items, number, owned, shown, text};
use crate::error::Result;

/// The kinds of rows that make the chain and speak for the session. Rows of other kinds may stand in it: nothing is asked of
/// them, and what they say is not taken for the session's.
pub const CHAIN: [&str; 5] = ["user", "assistant", "system", "attachment", "progress"];

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A record of role user: a prompt, tool results, or something synthetic.
    User,
    /// One content block of the model's message.
    Assistant,
    /// Another record of the chain: system, attachment, progress.
    Link,
    /// A record beside the chain.
    Beside,
}

/// One content block of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Words.
    Text(String),
    /// A tool call.
    Call {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: Value,
    },
    /// A tool's answer.
    Result {
        /// The call's id.
        id: String,
        /// What it said.
        output: String,
        /// Whether it failed.
        error: bool,
    },
    /// Anything else: thoughts, images.
    Other,
}

/// Token counts of one API message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Output tokens: the row of a message that has most is the last one.
    pub output: u64,
    /// Input, output and both cache fields.
    pub sum: u64,
}

/// How a prompt came to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// A person began a turn with it.
    First,
    /// A person sent it while the agent was at work.
    Meanwhile,
    /// No person did: work in the background had ended.
    Notice,
}

/// What was said in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// As typed.
    pub text: String,
    /// Images and documents.
    pub images: u32,
    /// By whom, and when.
    pub sent: Sent,
}

impl Said {
    /// Whether a person said it.
    pub fn is_typed(&self) -> bool {
        self.sent != Sent::Notice
    }
}

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which file it stands in: 0 the session's own, 1 its parent's.
    pub file: u8,
    /// Where it begins.
    pub position: Position,
    /// Its length in bytes, without the newline.
    pub len: u64,
    /// What kind of row it is.
    pub kind: Kind,
    /// `type`, and `subtype` for system rows; what is left of a compacted conversation is `SUMMARY`.
    pub what: Box<str>,
    /// Its id; `None` beside the chain.
    pub uuid: Option<Box<str>>,
    /// The row before it on its timeline.
    pub parent: Option<Box<str>>,
    /// Across a compaction boundary: the last row before it.
    pub logical_parent: Option<Box<str>>,
    /// Beside the chain: the row that it is about.
    pub about: Option<Box<str>>,
    /// The session that the row was copied from by a fork.
    pub forked_from: Option<Box<str>>,
    /// A sub-agent's.
    pub sidechain: bool,
    /// Begins a compacted context.
    pub boundary: bool,
    /// Whether the message says anything but thoughts.
    pub substance: bool,
    /// The API message it is a part of.
    pub message_id: Option<Box<str>>,
    /// Token counts, on assistant rows of a real model.
    pub usage: Option<Usage>,
    /// When it was written, as the file says.
    pub at: Option<Box<str>>,
    /// The prompt's id.
    pub prompt_id: Option<Box<str>>,
    /// What was said in it.
    pub said: Option<Said>,
    /// Its content, for messages.
    pub blocks: Vec<Block>,
}

impl Row {
    /// Whether it is of one of the kinds of [`CHAIN`].
    pub fn is_known(&self) -> bool {
        let kind = self.what.split('/').next();
        kind.is_some_and(|kind| CHAIN.contains(&kind))
    }

    /// Whether it stands in the chain.
    pub fn is_linked(&self) -> bool {
        self.kind != Kind::Beside && self.uuid.is_some() && !self.sidechain
    }

    /// Whether it is a message of the main conversation.
    pub fn is_message(&self) -> bool {
        matches!(self.kind, Kind::User | Kind::Assistant) && self.is_linked()
    }

    /// Whether it is a message of the model's, of a person's, or what is left of either: not what the agent tells the model for
    /// itself.
    pub fn speaks(&self) -> bool {
        let is_typed = self.said.as_ref().is_some_and(Said::is_typed);
        let by_whom = self.kind == Kind::Assistant || is_typed || &*self.what == SUMMARY;
        self.is_message() && by_whom
    }

    /// Whether it is a prompt that begins a turn.
    pub fn is_prompt(&self) -> bool {
        self.is_message()
            && self
                .said
                .as_ref()
                .is_some_and(|said| said.sent == Sent::First)
    }
}

impl ToolUse for Row {
    fn calls(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call { id, .. } => Some(id.as_str()),
            _ => None,
        })
    }

    fn results(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Result { id, .. } => Some(id.as_str()),
            _ => None,
        })
    }
}

/// All rows of a file, and what its records say of the session.
#[derive(Debug, Default)]
pub struct Scan {
    /// The rows.
    pub rows: Vec<Row>,
    /// The session id of the last row that has one.
    pub session_id: Option<String>,
    /// Every directory the session ran in, in order of first appearance.
    pub cwds: Vec<String>,
    /// The agent's version.
    pub version: Option<String>,
    /// How much was read.
    pub counts: Counts,
}

/// Reads the rows of `path`.
pub fn scan(path: &Path, detail: Detail, file: u8) -> Result<Scan> {
    let mut scan = Scan::default();
    scan.counts = lines::each_record(path, None, |record, line| {
        if is_known(record) {
            scan.head(record);
        }
        scan.rows.push(row(record, line, detail, file));
    })?;
    Ok(scan)
}

impl Scan {
    fn head(&mut self, record: &Value) {
        if flag(record, "isSidechain") {
            return;
        }
        if let Some(session) = text(record, "sessionId")
            && self.session_id.as_deref() != Some(session)
        {
            self.session_id = Some(session.to_owned());
        }
        if let Some(cwd) = text(record, "cwd")
            && !self.cwds.iter().any(|known| known == cwd)
        {
            self.cwds.push(cwd.to_owned());
        }
        if let Some(version) = text(record, "version")
            && self.version.as_deref() != Some(version)
        {
            self.version = Some(version.to_owned());
        }
    }
}

fn is_known(record: &Value) -> bool {
    text(record, "type").is_some_and(|kind| CHAIN.contains(&kind))
}

fn boxed(record: &Value, key: &str) -> Option<Box<str>> {
    text(record, key).map(Box::from)
}

fn row(record: &Value, line: &Line<'_>, detail: Detail, file: u8) -> Row {
    let kind = match text(record, "type") {
        Some("user") => Kind::User,
        Some("assistant") => Kind::Assistant,
        Some("system" | "attachment" | "progress") => Kind::Link,
        // An unknown record that is linked like the others is a link of the chain.
        _ if record.get("uuid").is_some() && text(record, "parentUuid").is_some() => Kind::Link,
        _ => Kind::Beside,
    };
    // Only the conversation's own rows have a message that counts: new kinds of rows beside it quote parts of it.
    let message = record
        .get("message")
        .filter(|_| matches!(kind, Kind::User | Kind::Assistant));
    let model = message.and_then(|message| text(message, "model"));
    let said = said(record, kind);
    let blocks = blocks(message.and_then(|message| message.get("content")), detail);
    Row {
        file,
        position: line.position,
        len: line.bytes.len() as u64,
        kind,
        what: what(record).into(),
        uuid: boxed(record, "uuid"),
        parent: boxed(record, "parentUuid"),
        logical_parent: boxed(record, "logicalParentUuid"),
        about: boxed(record, "leafUuid").or_else(|| boxed(record, "messageId")),
        forked_from: record
            .get("forkedFrom")
            .and_then(|from| boxed(from, "sessionId")),
        sidechain: flag(record, "isSidechain"),
        boundary: text(record, "subtype") == Some("compact_boundary"),
        substance: substance(message),
        message_id: message.and_then(|message| boxed(message, "id")),
        usage: message
            .filter(|_| kind == Kind::Assistant && model != Some("<synthetic>"))
            .and_then(|message| message.get("usage"))
            .map(usage),
        at: boxed(record, "timestamp"),
        prompt_id: boxed(record, "promptId"),
        said,
        blocks: if model == Some("<synthetic>") {
            Vec::new()
        } else {
            blocks
        },
    }
}

/// What a row is that sums up a conversation.
const SUMMARY: &str = "user/compact-summary";

fn what(record: &Value) -> String {
    let kind = text(record, "type").unwrap_or_default();
    if kind == "user" && flag(record, "isCompactSummary") {
        return SUMMARY.to_owned();
    }
    match text(record, "subtype") {
        Some(subtype) => format!("{kind}/{subtype}"),
        None => kind.to_owned(),
    }
}

fn usage(usage: &Value) -> Usage {
    let output = number(usage, "output_tokens");
    Usage {
        output,
        sum: output
            + number(usage, "input_tokens")
            + number(usage, "cache_creation_input_tokens")
            + number(usage, "cache_read_input_tokens"),
    }
}

/// Whether a message has more than thoughts and blanks: one that has not may not stand alone.
fn substance(message: Option<&Value>) -> bool {
    match message.and_then(|message| message.get("content")) {
        Some(Value::String(text)) => !text.trim().is_empty(),
        content => items(content)
            .iter()
            .any(|block| match text(block, "type") {
                Some("text") => text(block, "text").is_some_and(|text| !text.trim().is_empty()),
                Some("thinking" | "redacted_thinking") => false,
                _ => true,
            }),
    }
}

fn blocks(content_value: Option<&Value>, detail: Detail) -> Vec<Block> {
    let full = detail == Detail::Full;
    match content_value {
        Some(Value::String(text)) if full => vec![Block::Text(text.clone())],
        Some(Value::String(_)) => vec![Block::Text(String::new())],
        content_value => items(content_value)
            .iter()
            .map(|item| block(item, full))
            .collect(),
    }
}

fn block(item: &Value, full: bool) -> Block {
    match text(item, "type") {
        Some("text") if text(item, "text").is_none_or(|text| text.trim().is_empty()) => {
            Block::Other
        }
        Some("text") if full => Block::Text(owned(item, "text").unwrap_or_default()),
        Some("text") => Block::Text(String::new()),
        Some("tool_use") => Block::Call {
            id: owned(item, "id").unwrap_or_default(),
            name: owned(item, "name").unwrap_or_default(),
            input: item
                .get("input")
                .filter(|_| full)
                .cloned()
                .unwrap_or_default(),
        },
        Some("tool_result") => Block::Result {
            id: owned(item, "tool_use_id").unwrap_or_default(),
            output: if full {
                result_text(item.get("content"))
            } else {
                String::new()
            },
            error: flag(item, "is_error"),
        },
        _ => Block::Other,
    }
}

fn result_text(value: Option<&Value>) -> String {
    let (mut text, images) = content(value);
    if text.is_empty() && images == 0 {
        text = value
            .map(shown)
            .filter(|text| text != "[]")
            .unwrap_or_default();
    }
    for _ in 0..images {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str("[image]");
    }
    text
}

/// What was said, if the record is a person's or stands where a prompt does.
fn said(record: &Value, kind: Kind) -> Option<Said> {
    if flag(record, "isSidechain") || flag(record, "isMeta") || flag(record, "isCompactSummary") {
        return None;
    }
    match kind {
        Kind::User => {
            let content_value = record.get("message")?.get("content");
            if items(content_value)
                .iter()
                .any(|item| text(item, "type") == Some("tool_result"))
            {
                return None;
            }
            let (text, images) = content(content_value);
            if is_notice(&text) {
                let sent = Sent::Notice;
                return Some(Said { text, images, sent });
            }
            let text = as_typed(&text, images > 0)?;
            let sent = Sent::First;
            Some(Said { text, images, sent })
        }
        // A prompt that was queued while the agent was at work, and delivered in mid-turn.
        Kind::Link => {
            let attachment = record.get("attachment")?;
            if text(attachment, "type") != Some("queued_command")
                || !matches!(text(attachment, "commandMode"), None | Some("prompt"))
            {
                return None;
            }
            let (text, images) = content(attachment.get("prompt"));
            let text = as_typed(&text, images > 0)?;
            let sent = Sent::Meanwhile;
            Some(Said { text, images, sent })
        }
        Kind::Assistant | Kind::Beside => None,
    }
}
