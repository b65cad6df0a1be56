//! kimi-cli's `wire.jsonl`: what people saw, with times. It is never compacted, and never rewound either.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::NAME;
use super::context::{CutPoint, CutPoints};
use crate::agents::builder::{Builder, Call, Typed};
use crate::agents::fork::calls::{Half, ToolUse};
use crate::agents::lines::{self, Entry, Line};
use crate::agents::transcript::{Detail, Position, Shrink, Tokens, Transcript};
use crate::agents::value::{content, flag, number, owned, shown, text, time_of_seconds, unquoted};
use crate::error::Result;

/// What a line is to a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A tool call.
    Call(String),
    /// More of the last call's arguments.
    CallPart,
    /// The answer to a call.
    Result(String),
    /// Anything else.
    Other,
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

/// A wire file, read.
pub struct Scan {
    /// The whole conversation; positions are this file's.
    pub transcript: Transcript,
    /// Its readable lines.
    pub entries: Vec<Entry<Item>>,
    /// Where a turn may be cut in two.
    pub cut_points: Vec<CutPoint>,
}

/// Reads a wire file, up to `limit` bytes.
pub fn scan(path: &Path, detail: Detail, limit: Option<u64>) -> Result<Scan> {
    let mut builder = Builder::new(NAME, detail);
    builder.file = 1;
    let mut state = State {
        builder,
        entries: Vec::new(),
        cut_points: CutPoints::default(),
        step: 0,
        last_call: None,
        usage: HashMap::new(),
        total: None,
    };
    let counts = lines::each_record(path, limit, |record, line| state.take(record, line))?;
    let mut transcript = state.builder.transcript;
    for tool in transcript
        .messages
        .iter_mut()
        .filter_map(|message| message.tool.as_mut())
    {
        tool.input = unquoted(&tool.input);
    }
    path.clone_into(&mut transcript.path);
    transcript.set_counts(counts);
    Ok(Scan {
        transcript,
        entries: state.entries,
        cut_points: state.cut_points.found,
    })
}

struct State {
    builder: Builder,
    entries: Vec<Entry<Item>>,
    cut_points: CutPoints,
    step: u64,
    last_call: Option<String>,
    usage: HashMap<String, u64>,
    total: Option<u64>,
}

impl State {
    fn take(&mut self, record: &Value, line: &Line<'_>) {
        let at = record
            .get("timestamp")
            .and_then(Value::as_f64)
            .and_then(time_of_seconds);
        let message = record.get("message").unwrap_or(&Value::Null);
        let none = Value::Null;
        let payload = message.get("payload").unwrap_or(&none);
        let item = self.event(
            text(message, "type").unwrap_or_default(),
            payload,
            line.position,
            at,
        );
        self.entries.push(Entry::new(line, item));
        self.cut_points.add(&mut self.builder, line.end());
    }

    fn event(
        &mut self,
        kind: &str,
        payload: &Value,
        position: Position,
        at: Option<String>,
    ) -> Item {
        match kind {
            "TurnBegin" => {
                self.cut_points.answered = 0;
                self.step += 1;
                let (said, images) = content(payload.get("user_input"));
                self.builder.prompt(Typed {
                    position,
                    cut: Some(position),
                    companion: None,
                    prompt_id: None,
                    id: None,
                    at,
                    text: said.trim().to_owned(),
                    images,
                });
            }
            "SteerInput" => {
                let (said, images) = content(payload.get("user_input"));
                self.builder
                    .user(position, None, at, said.trim().to_owned(), images);
            }
            "StepBegin" => self.step += 1,
            "ContentPart" if text(payload, "type") == Some("text") => {
                let said = text(payload, "text").unwrap_or_default();
                if !said.trim().is_empty() {
                    let id = Some(format!("step-{}", self.step));
                    self.builder.assistant(position, id, at, said.to_owned());
                }
            }
            "ToolCall" => return self.call(payload, position, at),
            "ToolCallPart" => {
                self.call_part(payload);
                return Item::CallPart;
            }
            "ToolResult" => return self.result(payload),
            "StatusUpdate" => self.status(payload),
            "CompactionEnd" => self.builder.shrink(position, Shrink::Compaction),
            _ => {}
        }
        Item::Other
    }

    fn call(&mut self, payload: &Value, position: Position, at: Option<String>) -> Item {
        let id = owned(payload, "id").unwrap_or_default();
        let function = payload.get("function").unwrap_or(payload);
        self.last_call = Some(id.clone());
        self.builder.call(Call {
            id: id.clone(),
            name: owned(function, "name").unwrap_or_default(),
            input: function.get("arguments").cloned().unwrap_or_default(),
            at,
            position,
        });
        Item::Call(id)
    }

    /// The rest of the last call's arguments, which stream in pieces.
    fn call_part(&mut self, payload: &Value) {
        let part = text(payload, "arguments_part").unwrap_or_default();
        let Some(id) = self.last_call.clone() else {
            return;
        };
        self.builder.amend_input(&id, |input| match input {
            Value::String(text) => text.push_str(part),
            other => *other = Value::String(part.to_owned()),
        });
    }

    fn result(&mut self, payload: &Value) -> Item {
        let id = owned(payload, "tool_call_id").unwrap_or_default();
        let returned = payload
            .get("return_value")
            .or_else(|| payload.get("result"))
            .unwrap_or(&Value::Null);
        let (mut output, _) = content(returned.get("output"));
        if output.is_empty() {
            output = returned.get("message").map(shown).unwrap_or_default();
        }
        self.builder.result(&id, output, flag(returned, "is_error"));
        self.cut_points.answered += 1;
        Item::Result(id)
    }

    fn status(&mut self, payload: &Value) {
        if let Some(usage) = payload.get("token_usage").filter(|usage| usage.is_object()) {
            let keys = [
                "input_other",
                "output",
                "input_cache_read",
                "input_cache_creation",
            ];
            let sum: u64 = keys.iter().map(|key| number(usage, key)).sum();
            let known = owned(payload, "message_id")
                .and_then(|id| self.usage.insert(id, sum))
                .unwrap_or(0);
            self.total = Some(self.total.unwrap_or(0) + sum - known);
        }
        let before = self.builder.transcript.tokens.context;
        self.builder.tokens(Tokens {
            context: payload
                .get("context_tokens")
                .and_then(Value::as_u64)
                .or(before),
            total: self.total,
        });
    }
}
