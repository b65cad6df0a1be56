//! An opencode session, as it exports it, as a neutral conversation.
//!
//! A message of the model is one step, with its words and calls as parts. After its own undo (`info.revert`) the messages
//! from there on are kept until the next prompt: they are no part of the conversation.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use super::NAME;
use crate::agents::builder::{Builder, Call, Typed};
use crate::agents::document::{Document, advance};
use crate::agents::lines::parse_object;
use crate::agents::transcript::{Detail, Position, Shrink, Tokens, Transcript};
use crate::agents::value::{flag, items, number, owned, text, time_of_millis};
use crate::error::{Code, Error, Result};
use crate::text::without_mark;

/// How much of a file tells whether it is an export.
const HEAD: u64 = 4096;

/// Whether a file that is no record by line begins as an export does.
pub fn begins_as_export(path: &Path) -> bool {
    let mut head = Vec::new();
    let read =
        crate::git::regular::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let head: String = String::from_utf8_lossy(without_mark(&head))
        .chars()
        .filter(|ch| !ch.is_whitespace())
        .collect();
    read.is_ok() && head.starts_with("{\"info\":{") && head.contains("\"id\":\"ses_")
}

/// Reads the export at `path`.
pub fn read(path: &Path, detail: Detail) -> Result<Transcript> {
    let document = Document::load(path)?;
    let Some(info) = document.value(&["info"]) else {
        let what = format!("'{}' is not an export of opencode", path.display());
        return Err(Error::new(Code::TranscriptNotFound, what));
    };
    let mut builder = Builder::new(NAME, detail);
    let mut total = 0;
    let mut place = Position { line: 1, offset: 0 };
    for range in &document.messages {
        place = advance(&document.text, place, range.start);
        let parsed = document.text.get(range.clone()).and_then(parse_object);
        match parsed {
            Some(message) if is_reverted(&info, &message) => break,
            Some(message) => take(&mut builder, &message, place, &mut total),
            None => builder.transcript.skipped += 1,
        }
        builder.boundary(advance(&document.text, place, range.end), None);
    }
    let mut transcript = builder.transcript;
    path.clone_into(&mut transcript.path);
    transcript.session_id = owned(&info, "id").unwrap_or_default();
    transcript.cwd = owned(&info, "directory");
    transcript.version = owned(&info, "version");
    transcript.bytes = document.text.len() as u64;
    transcript.lines = lines_of(&document);
    // Torn: it was read while it was written.
    if parse_object(&document.text).is_none() {
        transcript.skipped += 1;
    }
    Ok(transcript)
}

fn lines_of(document: &Document) -> u64 {
    let begin = Position { line: 1, offset: 0 };
    advance(&document.text, begin, document.text.len()).line
}

/// Whether a message is the first that opencode's own undo has taken back.
pub fn is_reverted(info: &Value, message: &Value) -> bool {
    let from = info
        .get("revert")
        .and_then(|revert| text(revert, "messageID"));
    from.is_some() && from == message.get("info").and_then(|info| text(info, "id"))
}

/// Whether all calls of a message have ended.
pub fn is_settled(message: &Value) -> bool {
    let mut states = calls(message).filter_map(|call| call.get("state"));
    states.all(|state| matches!(text(state, "status"), Some("completed" | "error")))
}

fn calls(message: &Value) -> impl Iterator<Item = &Value> {
    parts(message).filter(|part| text(part, "type") == Some("tool"))
}

fn parts(message: &Value) -> impl Iterator<Item = &Value> {
    items(message.get("parts")).iter()
}

fn take(builder: &mut Builder, message: &Value, place: Position, total: &mut u64) {
    let Some(info) = message.get("info") else {
        return;
    };
    match text(info, "role") {
        Some("user") => user(builder, info, message, place),
        Some("assistant") => assistant(builder, info, message, place, total),
        _ => {}
    }
}

/// What a person typed: texts that opencode did not add, else a command's own prompt.
fn user(builder: &mut Builder, info: &Value, message: &Value, place: Position) {
    if parts(message).any(|part| text(part, "type") == Some("compaction")) {
        builder.shrink(place, Shrink::Compaction);
        return;
    }
    let typed = parts(message).filter(|part| {
        text(part, "type") == Some("text") && !flag(part, "synthetic") && !flag(part, "ignored")
    });
    let commands = parts(message).filter(|part| text(part, "type") == Some("subtask"));
    let said: Vec<&str> = typed
        .filter_map(|part| text(part, "text"))
        .chain(commands.filter_map(|part| text(part, "prompt")))
        .collect();
    let is_image = |part: &&Value| {
        text(part, "type") == Some("file")
            && text(part, "mime").is_some_and(|mime| mime.starts_with("image/"))
    };
    let images = parts(message).filter(is_image).count();
    if said.is_empty() && images == 0 {
        return;
    }
    builder.prompt(Typed {
        position: place,
        cut: Some(place),
        companion: None,
        prompt_id: owned(info, "id"),
        id: owned(info, "id"),
        at: created(info),
        text: said.join("\n").trim().to_owned(),
        images: u32::try_from(images).unwrap_or(u32::MAX),
    });
}

fn assistant(
    builder: &mut Builder,
    info: &Value,
    message: &Value,
    place: Position,
    total: &mut u64,
) {
    // The summary of a compaction stands for what was said before.
    let is_summary = flag(info, "summary");
    for part in parts(message).filter(|_| !is_summary) {
        match text(part, "type") {
            Some("text") => {
                let said = owned(part, "text").unwrap_or_default();
                if !said.trim().is_empty() {
                    builder.assistant(place, owned(info, "id"), created(info), said);
                }
            }
            Some("tool") => call(builder, info, part, place),
            _ => {}
        }
    }
    if let Some(tokens) = info.get("tokens") {
        let cache = tokens.get("cache").unwrap_or(&Value::Null);
        let context = number(tokens, "input")
            + number(tokens, "output")
            + number(cache, "read")
            + number(cache, "write");
        *total += context;
        if context > 0 {
            builder.tokens(Tokens {
                context: Some(context),
                total: Some(*total),
            });
        }
    }
}

fn call(builder: &mut Builder, info: &Value, part: &Value, place: Position) {
    let id = owned(part, "callID")
        .or_else(|| owned(part, "id"))
        .unwrap_or_default();
    let state = part.get("state").unwrap_or(&Value::Null);
    builder.call(Call {
        id: id.clone(),
        name: owned(part, "tool").unwrap_or_default(),
        input: state.get("input").cloned().unwrap_or_default(),
        at: created(info),
        position: place,
    });
    match text(state, "status") {
        Some("completed") => {
            builder.result(&id, owned(state, "output").unwrap_or_default(), false);
        }
        Some("error") => builder.result(&id, owned(state, "error").unwrap_or_default(), true),
        _ => {}
    }
}

fn created(info: &Value) -> Option<String> {
    let millis = info.get("time")?.get("created")?.as_f64()?;
    // A number of JavaScript's: whole, and far from the limits.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "out of range saturates, and is no date then"
    )]
    time_of_millis(millis as i64)
}
