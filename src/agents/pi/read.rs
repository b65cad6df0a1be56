//! A pi session as a neutral conversation.
//!
//! Entries form a tree and the last entry is its leaf; what is not on the path to it was left behind. Version 1 has no ids
//! and is one line of entries.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::NAME;
use crate::agents::builder::{Builder, Call, Typed};
use crate::agents::fork::calls::ToolUse;
use crate::agents::lines::{self, Counts, Line};
use crate::agents::transcript::{Cut, Detail, Position, Prompt, Shrink, Tokens, Transcript};
use crate::agents::value::{content, flag, items, number, owned, shown, text, time_of_millis};
use crate::error::Result;

/// One entry.
pub struct Entry {
    /// Where it begins.
    pub position: Position,
    /// Its length, without the newline.
    pub len: u64,
    /// Whether it is the session's head.
    pub head: bool,
    /// Its id, from version 2 on.
    pub id: Option<String>,
    /// The entry before it.
    pub parent: Option<String>,
    /// The ids of its calls.
    pub calls: Vec<String>,
    /// The call that it answers.
    pub result: Option<String>,
    /// Whether it is a person's or the model's.
    pub speaks: bool,
    /// Whether it is a prompt.
    pub prompt: bool,
    body: Body,
}

impl ToolUse for Entry {
    fn calls(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().map(String::as_str)
    }

    fn results(&self) -> impl Iterator<Item = &str> {
        self.result.as_deref().into_iter()
    }
}

enum Body {
    User {
        text: String,
        images: u32,
    },
    Assistant {
        text: String,
        calls: Vec<(String, String, Value)>,
        usage: Option<u64>,
    },
    Result {
        id: String,
        output: String,
        failed: bool,
    },
    Shell {
        command: String,
        output: String,
        failed: bool,
    },
    Compaction,
    Other,
}

/// A session file, read.
#[derive(Default)]
pub struct Scan {
    /// Its entries, the head among them.
    pub entries: Vec<Entry>,
    times: Vec<Option<String>>,
    session_id: Option<String>,
    cwd: Option<String>,
    version: u64,
    origin: Option<String>,
    counts: Counts,
}

/// Reads the session at `path`.
pub fn scan(path: &Path, detail: Detail) -> Result<Scan> {
    let mut scan = Scan::default();
    scan.counts = lines::each_record(path, None, |record, line| {
        scan.take(record, line, detail);
    })?;
    Ok(scan)
}

impl Scan {
    fn take(&mut self, record: &Value, line: &Line<'_>, detail: Detail) {
        let head = text(record, "type") == Some("session");
        if head && self.session_id.is_none() {
            self.session_id = owned(record, "id");
            self.cwd = owned(record, "cwd");
            self.version = number(record, "version").max(1);
            self.origin = owned(record, "parentSession");
        }
        let body = body(record, detail);
        let (calls, result) = match &body {
            Body::Assistant { calls, .. } => {
                (calls.iter().map(|(id, _, _)| id.clone()).collect(), None)
            }
            Body::Result { id, .. } => (Vec::new(), Some(id.clone())),
            _ => (Vec::new(), None),
        };
        let time = owned(record, "timestamp").or_else(|| {
            let millis = record.get("message")?.get("timestamp")?.as_i64()?;
            time_of_millis(millis)
        });
        self.times.push(time);
        self.entries.push(Entry {
            position: line.position,
            len: line.bytes.len() as u64,
            head,
            id: owned(record, "id").filter(|_| !head),
            parent: owned(record, "parentId"),
            calls,
            result,
            speaks: matches!(body, Body::User { .. } | Body::Assistant { .. }),
            prompt: matches!(body, Body::User { .. }),
            body,
        });
    }

    /// Whether entries name the one before them.
    pub fn is_tree(&self) -> bool {
        self.version >= 2
    }

    /// The entry before `index` on its branch. One that the file lacks (a torn line) is bridged.
    pub fn parent(&self, index: usize, by_id: &HashMap<&str, usize>) -> Option<usize> {
        let parent = self.entries.get(index)?.parent.as_deref()?;
        by_id.get(parent).copied().or_else(|| {
            let before = self.entries.get(..index)?;
            before.iter().rposition(|entry| self.is_in_tree(entry))
        })
    }

    /// Entries by id.
    pub fn by_id(&self) -> HashMap<&str, usize> {
        let entries = self.entries.iter().enumerate();
        entries
            .filter_map(|(index, entry)| Some((entry.id.as_deref()?, index)))
            .collect()
    }

    /// For each entry before `end` whether it is on the branch that ends at `leaf`. Without a tree all are, and so are records
    /// that have no place in it.
    pub fn active(&self, leaf: Option<usize>, end: usize) -> Vec<bool> {
        let mut active: Vec<bool> = self
            .entries
            .iter()
            .enumerate()
            .map(|(index, entry)| index < end && !self.is_in_tree(entry))
            .collect();
        let by_id = self.by_id();
        let mut next = leaf.filter(|_| self.is_tree());
        while let Some(index) = next {
            if std::mem::replace(&mut active[index], true) {
                break;
            }
            next = self.parent(index, &by_id);
        }
        active
    }

    /// The entry that the conversation goes on from.
    pub fn leaf(&self) -> Option<usize> {
        let is_placed = |entry: &Entry| !entry.head && (!self.is_tree() || entry.id.is_some());
        self.entries.iter().rposition(is_placed)
    }

    fn is_in_tree(&self, entry: &Entry) -> bool {
        self.is_tree() && entry.id.is_some()
    }
}

fn body(record: &Value, detail: Detail) -> Body {
    match text(record, "type") {
        Some("message") => message(record.get("message").unwrap_or(&Value::Null), detail),
        Some("compaction") => Body::Compaction,
        _ => Body::Other,
    }
}

fn message(message: &Value, detail: Detail) -> Body {
    let full = detail == Detail::Full;
    let (said, images) = content(message.get("content"));
    match text(message, "role") {
        Some("user") => Body::User {
            text: said.trim().to_owned(),
            images,
        },
        Some("assistant") => Body::Assistant {
            calls: items(message.get("content"))
                .iter()
                .filter(|block| text(block, "type") == Some("toolCall"))
                .map(|block| {
                    let input = block.get("arguments").filter(|_| full).cloned();
                    let name = owned(block, "name").unwrap_or_default();
                    (
                        owned(block, "id").unwrap_or_default(),
                        name,
                        input.unwrap_or_default(),
                    )
                })
                .collect(),
            text: if said.trim().is_empty() {
                String::new()
            } else {
                said
            },
            usage: message.get("usage").map(sum).filter(|sum| *sum > 0),
        },
        Some("toolResult") => Body::Result {
            id: owned(message, "toolCallId").unwrap_or_default(),
            output: if full { said } else { String::new() },
            failed: flag(message, "isError"),
        },
        Some("bashExecution") => Body::Shell {
            command: owned(message, "command").unwrap_or_default(),
            output: message.get("output").map(shown).unwrap_or_default(),
            failed: number(message, "exitCode") != 0,
        },
        _ => Body::Other,
    }
}

fn sum(usage: &Value) -> u64 {
    ["input", "output", "cacheRead", "cacheWrite"]
        .iter()
        .map(|key| number(usage, key))
        .sum()
}

/// Reads the session at `path` as a conversation.
pub fn read(path: &Path, detail: Detail) -> Result<Transcript> {
    let scan = scan(path, detail)?;
    let active = scan.active(scan.leaf(), scan.entries.len());
    let mut builder = Builder::new(NAME, detail);
    for (index, entry) in scan.entries.iter().enumerate() {
        if active[index] && !entry.head {
            fold(
                &mut builder,
                entry,
                scan.times.get(index).cloned().flatten(),
            );
        }
    }
    let mut transcript = builder.transcript;
    for (index, entry) in scan.entries.iter().enumerate() {
        if let Body::User { text, images } = &entry.body
            && !active[index]
        {
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
                at: scan.times.get(index).cloned().flatten(),
                text: text.clone(),
                images: *images,
                message: cut.messages,
                tokens: cut.tokens,
                cut: Some(cut),
            });
        }
    }
    path.clone_into(&mut transcript.path);
    transcript.session_id = scan.session_id.unwrap_or_default();
    transcript.cwd = scan.cwd;
    transcript.forked_from = scan.origin;
    transcript.set_counts(scan.counts);
    Ok(transcript)
}

fn fold(builder: &mut Builder, entry: &Entry, at: Option<String>) {
    let position = entry.position;
    match &entry.body {
        Body::User { text, images } => builder.prompt(Typed {
            position,
            cut: Some(position),
            companion: None,
            prompt_id: entry.id.clone(),
            id: entry.id.clone(),
            at,
            text: text.clone(),
            images: *images,
        }),
        Body::Assistant { text, calls, usage } => {
            if !text.is_empty() {
                builder.assistant(position, entry.id.clone(), at.clone(), text.clone());
            }
            for (id, name, input) in calls {
                builder.call(Call {
                    id: id.clone(),
                    name: name.clone(),
                    input: input.clone(),
                    at: at.clone(),
                    position,
                });
            }
            if let Some(sum) = usage {
                let before = builder.transcript.tokens.total.unwrap_or(0);
                builder.tokens(Tokens {
                    context: Some(*sum),
                    total: Some(before + sum),
                });
            }
        }
        Body::Result { id, output, failed } => builder.result(id, output.clone(), *failed),
        Body::Shell {
            command,
            output,
            failed,
        } => {
            // A command that the person ran: it is answered in the same entry.
            let id = format!("shell-{}", position.line);
            builder.call(Call {
                id: id.clone(),
                name: "bash".to_owned(),
                input: json!({"command": command}),
                at,
                position,
            });
            builder.result(&id, output.clone(), *failed);
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
