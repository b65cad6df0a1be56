//! kimi-cli's `context.jsonl`: what the model sees. No times, and only what the last compaction left.

use std::path::Path;

use serde_json::Value;

use super::NAME;
use crate::agents::builder::{Builder, Call, Typed};
use crate::agents::context_log::record::{Synthetic, synthetic};
use crate::agents::fork::calls::ToolUse;
use crate::agents::lines::{self, Entry, Line};
use crate::agents::transcript::{Cut, Detail, Position, Tokens, Transcript};
use crate::agents::value::{content, flag, items, owned, text, unquoted};
use crate::error::Result;

/// What a line is to a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A message of the model, with the ids of its calls.
    Assistant(Vec<String>),
    /// The answer to a call.
    Tool(String),
    /// A prompt, or the summary that stands for earlier ones.
    User,
    /// System prompt, checkpoint, usage, reminder.
    Other,
}

impl ToolUse for Item {
    fn calls(&self) -> impl Iterator<Item = &str> {
        let ids = match self {
            Self::Assistant(ids) => ids.as_slice(),
            _ => &[],
        };
        ids.iter().map(String::as_str)
    }

    fn results(&self) -> impl Iterator<Item = &str> {
        let id = match self {
            Self::Tool(id) => Some(id.as_str()),
            _ => None,
        };
        id.into_iter()
    }
}

/// A place to cut in mid-turn, told by how far its turn had come.
#[derive(Debug, Clone, Copy)]
pub struct CutPoint {
    /// The turn, counted from 0 in this file.
    pub turn: usize,
    /// How many calls of the turn had been answered.
    pub answered: usize,
    /// How many messages the turn had.
    pub messages: usize,
    /// The place.
    pub cut: Cut,
}

/// The places of a file, as it is read.
#[derive(Default)]
pub struct CutPoints {
    /// Those so far.
    pub found: Vec<CutPoint>,
    /// How many calls of this turn have been answered.
    pub answered: usize,
}

impl CutPoints {
    /// Notes the end of a record, where that is a place to cut.
    pub fn add(&mut self, builder: &mut Builder, end: Position) {
        builder.boundary(end, None);
        let transcript = &builder.transcript;
        let last = transcript
            .boundaries
            .last()
            .filter(|cut| cut.position == end);
        if let (Some(cut), Some(prompt)) = (last, transcript.prompts.last()) {
            self.found.push(CutPoint {
                turn: prompt.index,
                answered: self.answered,
                messages: cut.messages - prompt.message,
                cut: *cut,
            });
        }
    }
}

/// A context file, read.
pub struct Scan {
    /// The conversation, as far as this file holds it.
    pub transcript: Transcript,
    /// Its readable lines.
    pub entries: Vec<Entry<Item>>,
    /// Where a turn may be cut in two.
    pub cut_points: Vec<CutPoint>,
}

/// Reads a context file, up to `limit` bytes.
pub fn scan(path: &Path, detail: Detail, limit: Option<u64>) -> Result<Scan> {
    let mut state = State {
        builder: Builder::new(NAME, detail),
        entries: Vec::new(),
        cut_points: CutPoints::default(),
    };
    let counts = lines::each_record(path, limit, |record, line| state.take(record, line))?;
    let mut transcript = state.builder.transcript;
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
}

impl State {
    fn take(&mut self, record: &Value, line: &Line<'_>) {
        let item = match text(record, "role").unwrap_or_default() {
            "_usage" => {
                self.builder.tokens(Tokens {
                    context: record.get("token_count").and_then(Value::as_u64),
                    total: None,
                });
                Item::Other
            }
            "user" => self.user(record, line.position),
            "assistant" => self.assistant(record, line.position),
            "tool" => self.tool(record),
            _ => Item::Other,
        };
        self.entries.push(Entry::new(line, item));
        self.cut_points.add(&mut self.builder, line.end());
    }

    fn user(&mut self, record: &Value, position: Position) -> Item {
        let (said, images) = content(record.get("content"));
        match synthetic(&said) {
            Some(Synthetic::Summary) => return Item::User,
            Some(Synthetic::Notice) => return Item::Other,
            None => {}
        }
        self.cut_points.answered = 0;
        self.builder.prompt(Typed {
            position,
            cut: Some(position),
            companion: None,
            prompt_id: None,
            id: None,
            at: None,
            text: said.trim().to_owned(),
            images,
        });
        Item::User
    }

    fn assistant(&mut self, record: &Value, position: Position) -> Item {
        let (said, _) = content(record.get("content"));
        if !said.trim().is_empty() {
            self.builder.assistant(position, None, None, said);
        }
        let mut ids = Vec::new();
        for call in items(record.get("tool_calls")) {
            let id = owned(call, "id").unwrap_or_default();
            let function = call.get("function").unwrap_or(call);
            self.builder.call(Call {
                id: id.clone(),
                name: owned(function, "name").unwrap_or_default(),
                input: function.get("arguments").map(unquoted).unwrap_or_default(),
                at: None,
                position,
            });
            ids.push(id);
        }
        Item::Assistant(ids)
    }

    fn tool(&mut self, record: &Value) -> Item {
        let id = owned(record, "tool_call_id").unwrap_or_default();
        let (output, _) = content(record.get("content"));
        let failed = flag(record, "is_error") || output.starts_with("<system>ERROR:");
        self.builder.result(&id, output, failed);
        self.cut_points.answered += 1;
        Item::Tool(id)
    }
}
