//! A Kimi Code journal as a neutral conversation: one log of events, replayed with its undos.

use std::ops::Range;
use std::path::Path;

use serde_json::Value;

use super::{NAME, place};
use crate::agents::builder::{Builder, Call, Typed};
use crate::agents::fork::calls::{Half, ToolUse};
use crate::agents::lines::{self, Entry, Line};
use crate::agents::transcript::{Detail, Position, Shrink, Tokens, Transcript};
use crate::agents::value::{
    content, flag, items, number, owned, shown, text, time_of_millis, unquoted,
};
use crate::error::Result;

/// What a line is to a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A tool call.
    Call(String),
    /// The answer to a call.
    Result(String),
    /// Another part of the conversation, or state that an undo takes back.
    Said,
    /// State that an undo leaves: settings, permissions, usage.
    Setting,
}

impl ToolUse for Item {
    fn half(&self) -> Option<Half<'_>> {
        match self {
            Item::Call(id) => Some(Half::Call(id)),
            Item::Result(id) => Some(Half::Result(id)),
            _ => None,
        }
    }
}

/// A journal, read.
pub struct Scan {
    /// The conversation.
    pub transcript: Transcript,
    /// Its readable lines.
    pub entries: Vec<Entry<Item>>,
    /// Bytes of undone turns, with the records that undid them.
    pub undone: Vec<Range<u64>>,
}

/// Reads the journal at `path`.
pub fn read(path: &Path, detail: Detail) -> Result<Transcript> {
    Ok(scan(path, detail, None)?.transcript)
}

/// Reads the journal at `path`, up to `limit` bytes.
pub fn scan(path: &Path, detail: Detail, limit: Option<u64>) -> Result<Scan> {
    let scan = scan_by(path, detail, limit, false)?;
    if scan.transcript.prompts.is_empty() && scan.transcript.abandoned.is_empty() {
        return scan_by(path, detail, limit, true);
    }
    Ok(scan)
}

fn scan_by(path: &Path, detail: Detail, limit: Option<u64>, by_messages: bool) -> Result<Scan> {
    let mut state = State {
        builder: Builder::new(NAME, detail),
        entries: Vec::new(),
        undone: Vec::new(),
        by_messages,
        step: 0,
        total: None,
    };
    let counts = lines::each_record(path, limit, |record, line| state.take(record, line))?;
    let mut transcript = state.builder.transcript;
    path.clone_into(&mut transcript.path);
    transcript.set_counts(counts);
    if let Some(session) = place::session_directory(path) {
        transcript.session_id = session
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        transcript.cwd = place::work_dir_of(session);
    }
    Ok(Scan {
        transcript,
        entries: state.entries,
        undone: state.undone,
    })
}

struct State {
    builder: Builder,
    entries: Vec<Entry<Item>>,
    undone: Vec<Range<u64>>,
    /// Whether prompts are taken from the context's messages, for journals without `turn.prompt`.
    by_messages: bool,
    step: u64,
    total: Option<u64>,
}

impl State {
    fn take(&mut self, record: &Value, line: &Line<'_>) {
        let at = record
            .get("time")
            .and_then(Value::as_i64)
            .and_then(time_of_millis);
        let position = line.position;
        let item = match text(record, "type").unwrap_or_default() {
            "metadata" => {
                self.builder.transcript.version = owned(record, "app_version");
                Item::Setting
            }
            "turn.prompt" => {
                self.input(record, position, at, !self.by_messages);
                Item::Said
            }
            "turn.steer" => {
                self.input(record, position, at, false);
                Item::Said
            }
            "context.append_message" => {
                self.message(record.get("message").unwrap_or(&Value::Null), position, at);
                Item::Said
            }
            "context.append_loop_event" => {
                self.event(record.get("event").unwrap_or(&Value::Null), position, at)
            }
            "context.apply_compaction" => self.shrink(position, Shrink::Compaction),
            "context.clear" => self.shrink(position, Shrink::Clear),
            "context.undo" => {
                self.undo(record, line);
                Item::Said
            }
            "usage.record" => {
                self.usage(record);
                Item::Setting
            }
            kind if kind.starts_with("turn.")
                || kind.starts_with("context.")
                || kind.starts_with("plan_mode.")
                || kind == "tools.update_store" =>
            {
                Item::Said
            }
            _ => Item::Setting,
        };
        self.entries.push(Entry::new(line, item));
        self.builder.boundary(line.end(), None);
    }

    fn shrink(&mut self, position: Position, kind: Shrink) -> Item {
        self.builder.shrink(position, kind);
        Item::Said
    }

    /// What a person sent: a turn, or words in mid-turn.
    fn input(&mut self, record: &Value, position: Position, at: Option<String>, turn: bool) {
        if !is_persons(record.get("origin")) {
            return;
        }
        let (said, images) = content(record.get("input"));
        let said = said.trim().to_owned();
        if turn {
            self.prompt(position, at, said, images);
        } else if !self.by_messages {
            self.builder.user(position, None, at, said, images);
        }
    }

    fn prompt(&mut self, position: Position, at: Option<String>, text: String, images: u32) {
        self.step += 1;
        self.builder.prompt(Typed {
            position,
            cut: Some(position),
            companion: None,
            prompt_id: None,
            id: None,
            at,
            text,
            images,
        });
    }

    fn message(&mut self, message: &Value, position: Position, at: Option<String>) {
        let (said, images) = content(message.get("content"));
        match text(message, "role") {
            // Prompts stand in `turn.prompt` already, and what else is of role user nobody typed.
            Some("user") if self.by_messages && is_persons(message.get("origin")) => {
                self.prompt(position, at, said.trim().to_owned(), images);
            }
            Some("assistant") => {
                if !said.trim().is_empty() {
                    self.builder.assistant(position, None, at.clone(), said);
                }
                for call in items(message.get("toolCalls")) {
                    self.call(call, position, at.clone());
                }
            }
            Some("tool") => {
                let id = text(message, "toolCallId").unwrap_or_default();
                self.builder.result(id, said, flag(message, "isError"));
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &Value, position: Position, at: Option<String>) -> Item {
        match text(event, "type").unwrap_or_default() {
            "step.begin" => {
                self.step += 1;
                Item::Said
            }
            "content.part" => {
                let part = event.get("part").unwrap_or(event);
                let said = text(part, "text").unwrap_or_default();
                let thought = matches!(text(part, "type"), Some("think" | "thinking"));
                if !thought && !said.trim().is_empty() {
                    let id = Some(format!("step-{}", self.step));
                    self.builder.assistant(position, id, at, said.to_owned());
                }
                Item::Said
            }
            "tool.call" => Item::Call(self.call(event, position, at)),
            "tool.result" => {
                let id = owned(event, "toolCallId").unwrap_or_default();
                let result = event.get("result").unwrap_or(&Value::Null);
                let (mut output, _) = content(result.get("output"));
                if output.is_empty() {
                    output = result.get("message").map(shown).unwrap_or_default();
                }
                self.builder.result(&id, output, flag(result, "isError"));
                Item::Result(id)
            }
            _ => Item::Said,
        }
    }

    fn call(&mut self, call: &Value, position: Position, at: Option<String>) -> String {
        let id = owned(call, "toolCallId")
            .or_else(|| owned(call, "id"))
            .unwrap_or_default();
        let input = ["args", "arguments", "input"]
            .iter()
            .find_map(|key| call.get(*key));
        self.builder.call(Call {
            id: id.clone(),
            name: owned(call, "name").unwrap_or_default(),
            input: input.map(unquoted).unwrap_or_default(),
            at,
            position,
        });
        id
    }

    fn undo(&mut self, record: &Value, line: &Line<'_>) {
        let turns = usize::try_from(number(record, "count")).unwrap_or(usize::MAX);
        let start = self.builder.roll_back(turns).unwrap_or(line.position);
        self.undone.push(start.offset..line.end().offset);
    }

    fn usage(&mut self, record: &Value) {
        let Some(usage) = record.get("usage") else {
            return;
        };
        let keys = [
            "inputOther",
            "output",
            "inputCacheRead",
            "inputCacheCreation",
        ];
        let sum: u64 = keys.iter().map(|key| number(usage, key)).sum();
        self.total = Some(self.total.unwrap_or(0) + sum);
        self.builder.tokens(Tokens {
            context: Some(sum),
            total: self.total,
        });
    }
}

/// Whether input came from a person: typed, a slash command, or a shell command.
fn is_persons(origin: Option<&Value>) -> bool {
    let origin = origin.unwrap_or(&Value::Null);
    match text(origin, "kind") {
        None | Some("user") => true,
        Some("skill_activation" | "plugin_command") => {
            text(origin, "trigger") == Some("user-slash")
        }
        Some("shell_command") => text(origin, "phase") == Some("input"),
        Some(_) => false,
    }
}
