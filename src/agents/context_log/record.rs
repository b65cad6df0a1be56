//! One record of a `context.jsonl`, by the rules of kimi-cli's loader: what it reads, what it leaves out, what it writes.
//!
//! A record is kept as it stands: fields that are not known here survive. Parts of a kind that is not known are read, for a
//! newer kimi-cli may have more of them, but not written anew, for the loader of today stops at them.

use serde_json::{Map, Value, json};

use crate::agents::lines::parse_object;
use crate::agents::value::{content, items, text};

/// What stands before a summary. Its beginning is kimi-cli's own, by which readers know it.
const SUMMARY: &str =
    "<system>Previous context has been compacted. A summary of it follows:</system>";

/// A record that the loader takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// The system prompt.
    SystemPrompt(String),
    /// How large the context was, in tokens.
    Usage(u64),
    /// A place to come back to.
    Checkpoint(i64),
    /// What the model sees.
    Message(Message),
}

/// Which kinds of content a message may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// Those that kimi-cli knows: what is written.
    Known,
    /// Whatever names its kind: what is read.
    Any,
}

/// Reads a line; `None` when it is torn, malformed or no record.
pub fn read(line: &[u8]) -> Option<Record> {
    let value = parse_object(line).or_else(|| {
        // The loader takes control characters inside of strings.
        parse_object(with_controls_escaped(&String::from_utf8_lossy(line)).as_bytes())
    })?;
    check(value, Parts::Any).ok()
}

fn with_controls_escaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let (mut inside, mut escaped) = (false, false);
    for ch in line.chars() {
        if inside && ch < ' ' {
            out.push_str(&format!("\\u{:04x}", u32::from(ch)));
            escaped = false;
            continue;
        }
        if ch == '"' && !escaped {
            inside = !inside;
        }
        escaped = inside && ch == '\\' && !escaped;
        out.push(ch);
    }
    out
}

/// Takes a JSON object as a record, or says what the loader has against it.
pub fn check(value: Value, parts: Parts) -> Result<Record, String> {
    let role = text(&value, "role").ok_or("it has no 'role'")?;
    match role {
        "_system_prompt" => match text(&value, "content") {
            Some(prompt) => Ok(Record::SystemPrompt(prompt.to_owned())),
            None => Err("'content' of a system prompt is a string".to_owned()),
        },
        "_usage" => match value.get("token_count").and_then(Value::as_i64) {
            Some(count) => Ok(Record::Usage(u64::try_from(count).unwrap_or(0))),
            None => Err("'token_count' is a whole number".to_owned()),
        },
        "_checkpoint" => match value.get("id").and_then(Value::as_i64) {
            Some(id) => Ok(Record::Checkpoint(id)),
            None => Err("'id' of a checkpoint is a whole number".to_owned()),
        },
        "system" | "user" | "assistant" | "tool" => {
            check_message(&value, parts)?;
            Ok(Record::Message(Message { value }))
        }
        other => Err(format!("unknown role '{other}'")),
    }
}

fn check_message(value: &Value, parts: Parts) -> Result<(), String> {
    for name in ["name", "tool_call_id"] {
        optional(value, name, Value::is_string)?;
    }
    optional(value, "partial", Value::is_boolean)?;
    optional(value, "tool_calls", Value::is_array)?;
    match value.get("content") {
        None => return Err("it has no 'content'".to_owned()),
        Some(Value::Null | Value::String(_)) => {}
        Some(Value::Array(list)) => list.iter().try_for_each(|part| check_part(part, parts))?,
        Some(_) => return Err("'content' is a string or a list of parts".to_owned()),
    }
    items(value.get("tool_calls"))
        .iter()
        .try_for_each(check_call)
}

fn optional(value: &Value, name: &str, fits: fn(&Value) -> bool) -> Result<(), String> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(()),
        Some(found) if fits(found) => Ok(()),
        Some(_) => Err(format!("'{name}' has another type")),
    }
}

fn check_part(part: &Value, parts: Parts) -> Result<(), String> {
    let kind = text(part, "type").ok_or("a part of 'content' has no 'type'")?;
    let whole = match kind {
        "text" => text(part, "text").is_some(),
        "think" => {
            optional(part, "encrypted", Value::is_string)?;
            text(part, "think").is_some()
        }
        "image_url" | "audio_url" | "video_url" => {
            let body = part.get(kind).unwrap_or(&Value::Null);
            optional(body, "id", Value::is_string)?;
            text(body, "url").is_some()
        }
        other if parts == Parts::Known => return Err(format!("unknown part '{other}'")),
        _ => true,
    };
    if whole {
        Ok(())
    } else {
        Err(format!("a part '{kind}' lacks what makes it one"))
    }
}

fn check_call(call: &Value) -> Result<(), String> {
    let function = call.get("function").unwrap_or(&Value::Null);
    let arguments = function.get("arguments");
    let whole = call.get("type").is_none_or(|kind| kind == "function")
        && text(call, "id").is_some()
        && text(function, "name").is_some()
        && arguments.is_some_and(|text| text.is_string() || text.is_null());
    optional(call, "extras", Value::is_object)?;
    if whole {
        return Ok(());
    }
    Err("a tool call has 'id' and 'function' with 'name' and 'arguments', a string".to_owned())
}

/// A message, as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    value: Value,
}

impl Message {
    /// Returns the message as the JSON object that it is in the log.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// `system`, `user`, `assistant` or `tool`.
    pub fn role(&self) -> &str {
        text(&self.value, "role").unwrap_or_default()
    }

    /// What it says, without thoughts.
    pub fn said(&self) -> String {
        content(self.value.get("content")).0
    }

    /// How many characters its texts have, as kimi-cli counts.
    pub fn characters(&self) -> usize {
        match self.value.get("content") {
            Some(Value::String(text)) => text.chars().count(),
            parts => items(parts)
                .iter()
                .filter(|part| text(part, "type") == Some("text"))
                .filter_map(|part| text(part, "text"))
                .map(|text| text.chars().count())
                .sum(),
        }
    }

    /// The tool calls that begin in it: id, name, arguments.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        items(self.value.get("tool_calls")).iter().map(|call| {
            let function = call.get("function").unwrap_or(&Value::Null);
            (
                text(call, "id").unwrap_or_default(),
                text(function, "name").unwrap_or_default(),
                text(function, "arguments").unwrap_or_default(),
            )
        })
    }

    /// The tool call that it answers.
    pub fn answers(&self) -> Option<&str> {
        text(&self.value, "tool_call_id").filter(|_| self.role() == "tool")
    }

    /// Whether a person typed it: markers, reminders, notes from the future and summaries are nobody's.
    pub fn is_prompt(&self) -> bool {
        self.role() == "user" && synthetic(&self.said()).is_none()
    }

    /// Whether it is the summary of a compaction.
    pub fn is_summary(&self) -> bool {
        self.role() == "user" && matches!(synthetic(&self.said()), Some(Synthetic::Summary))
    }

    /// Whether it makes a checkpoint visible to the model.
    pub fn is_marker(&self) -> bool {
        self.role() == "user" && is_checkpoint(self.said().trim())
    }

    /// Whether there are thoughts in it.
    pub fn has_thoughts(&self) -> bool {
        items(self.value.get("content")).iter().any(is_thought)
    }

    /// The message without its thoughts; `None` when nothing else was in it.
    pub fn without_thoughts(&self) -> Option<Self> {
        let mut value = self.value.clone();
        let Some(Value::Array(parts)) = value.get_mut("content") else {
            return Some(self.clone());
        };
        parts.retain(|part| !is_thought(part));
        let empty = parts.is_empty() && self.calls().next().is_none();
        (!empty).then_some(Self { value })
    }
}

fn is_thought(part: &Value) -> bool {
    text(part, "type") == Some("think")
}

/// A line with a record on it, as kimi-cli writes its own records: a blank after comma and colon.
fn own(role: &str, key: &str, value: &Value) -> Vec<u8> {
    format!("{{\"role\": \"{role}\", \"{key}\": {value}}}\n").into_bytes()
}

/// The line of a system prompt.
pub fn system_prompt(prompt: &str) -> Vec<u8> {
    own("_system_prompt", "content", &prompt.into())
}

/// The line of a token count.
pub fn usage(tokens: u64) -> Vec<u8> {
    own("_usage", "token_count", &tokens.into())
}

/// The line of a checkpoint.
pub fn checkpoint(id: i64) -> Vec<u8> {
    own("_checkpoint", "id", &id.into())
}

/// The line that shows a checkpoint to the model.
pub fn marker(id: i64) -> Vec<u8> {
    message(
        "user",
        &format!("<system>CHECKPOINT {id}</system>").into(),
        None,
    )
}

/// The line of a message. `answers` is the tool call that it answers.
pub fn message(role: &str, content: &Value, answers: Option<&str>) -> Vec<u8> {
    let mut record = Map::new();
    record.insert("role".to_owned(), role.into());
    record.insert("content".to_owned(), content.clone());
    if let Some(call) = answers {
        record.insert("tool_call_id".to_owned(), call.into());
    }
    line(&record.into())
}

/// The line of a note from the future, in the form that readers of kimi-cli's logs know.
pub fn note(text: &str) -> Vec<u8> {
    let said = format!(
        "<system>You just got a D-Mail from your future self. The conversation was taken back to this point; the files \
         were not, and may already hold what you did. Read the note, go on from there, and do not speak of it to the \
         user.\n\n{}</system>",
        text.trim()
    );
    message("user", &said.into(), None)
}

/// The line of a summary that stands for what was compacted.
pub fn summary(text: &str) -> Vec<u8> {
    let parts = json!([{"type": "text", "text": SUMMARY}, {"type": "text", "text": text.trim()}]);
    message("user", &parts, None)
}

/// The line of any record.
pub fn line(value: &Value) -> Vec<u8> {
    let mut bytes = value.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// Why a record of role user is nobody's prompt.
pub(in crate::agents) enum Synthetic {
    /// The summary of a compaction: it stands for earlier prompts.
    Summary,
    /// A marker, reminder, notification or message from the future.
    Notice,
}

pub(in crate::agents) fn synthetic(said: &str) -> Option<Synthetic> {
    let start = said.trim_start();
    if start.starts_with("<system>Previous context has been compacted") {
        return Some(Synthetic::Summary);
    }
    let notice = start.starts_with("<system-reminder>")
        || start.starts_with("<notification")
        || start.starts_with("<system>You just got a D-Mail")
        || is_checkpoint(start.trim_end());
    notice.then_some(Synthetic::Notice)
}

fn is_checkpoint(text: &str) -> bool {
    text.strip_prefix("<system>CHECKPOINT ")
        .and_then(|rest| rest.strip_suffix("</system>"))
        .is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(value: Value) -> String {
        check(value, Parts::Known).expect_err("refused")
    }

    #[test]
    fn the_loader_s_rules_hold() {
        for good in [
            json!({"role": "_system_prompt", "content": ""}),
            json!({"role": "_usage", "token_count": 7}),
            json!({"role": "_checkpoint", "id": 0, "more": 1}),
            json!({"role": "user", "content": "hi"}),
            json!({"role": "assistant", "content": null, "tool_calls": null}),
            json!({"role": "assistant", "content": [], "tool_calls": [
                {"type": "function", "id": "c", "function": {"name": "f", "arguments": null}}]}),
            json!({"role": "tool", "content": [{"type": "image_url", "image_url": {"url": "data:"}}], "tool_call_id": "c"}),
        ] {
            assert!(check(good.clone(), Parts::Known).is_ok(), "{good}");
        }
        for bad in [
            json!({"content": "hi"}),
            json!({"role": "_later", "id": 1}),
            json!({"role": "developer", "content": "hi"}),
            json!({"role": "_system_prompt", "content": ["x"]}),
            json!({"role": "_usage", "token_count": 1.5}),
            json!({"role": "_checkpoint", "id": "1"}),
            json!({"role": "user"}),
            json!({"role": "user", "content": 1}),
            json!({"role": "user", "content": [{"text": "hi"}]}),
            json!({"role": "user", "content": [{"type": "text"}]}),
            json!({"role": "user", "content": [{"type": "image_url", "image_url": "data:"}]}),
            json!({"role": "user", "content": "x", "name": 3}),
            json!({"role": "assistant", "content": "", "tool_calls": [{"id": "c"}]}),
            json!({"role": "assistant", "content": "", "tool_calls": [
                {"id": "c", "function": {"name": "f", "arguments": {}}}]}),
        ] {
            assert!(check(bad.clone(), Parts::Any).is_err(), "{bad}");
        }
        let later = json!({"role": "user", "content": [{"type": "file_url", "file_url": {}}]});
        assert!(check(later.clone(), Parts::Any).is_ok());
        assert_eq!(reason(later), "unknown part 'file_url'");
    }

    #[test]
    fn control_characters_and_bad_utf8_are_read_as_the_loader_does() {
        let Some(Record::Message(message)) =
            read(b"{\"role\":\"user\",\"content\":\"a\tb\\\"\x01\xff\"}")
        else {
            panic!("a message");
        };
        assert_eq!(message.said(), "a\tb\"\u{1}\u{fffd}");
        assert_eq!(read(b"{\"role\":\"user\",\"content\":\"unterminated"), None);
        assert_eq!(read(b"[1]"), None);
    }

    #[test]
    fn every_line_that_is_written_is_read_again() {
        let lines = [
            system_prompt("be\nkind"),
            usage(42),
            checkpoint(3),
            marker(3),
            note("look"),
            summary("so far"),
            message("tool", &"done".into(), Some("c")),
        ];
        for line in &lines {
            let value = parse_object(line).expect("an object");
            assert!(check(value, Parts::Known).is_ok(), "{line:?}");
        }
        assert_eq!(lines[1], b"{\"role\": \"_usage\", \"token_count\": 42}\n");
        let of = |line: &[u8]| match read(line) {
            Some(Record::Message(message)) => message,
            other => panic!("{other:?}"),
        };
        assert!(of(&lines[3]).is_marker() && !of(&lines[3]).is_prompt());
        assert!(!of(&lines[4]).is_prompt() && !of(&lines[4]).is_marker());
        assert!(of(&lines[5]).is_summary() && !of(&lines[5]).is_prompt());
        assert_eq!(of(&lines[6]).answers(), Some("c"));
    }

    #[test]
    fn thoughts_go_and_what_is_left_stays() {
        let of = |value| match check(value, Parts::Any) {
            Ok(Record::Message(message)) => message,
            other => panic!("{other:?}"),
        };
        let both = of(
            json!({"role": "assistant", "content": [{"type": "think", "think": "hm"}, {"type": "text", "text": "ä"}]}),
        );
        assert!(both.has_thoughts());
        assert_eq!(both.characters(), 1);
        let left = both.without_thoughts().expect("text");
        assert_eq!(
            left.value()["content"],
            json!([{"type": "text", "text": "ä"}])
        );
        let only = of(json!({"role": "assistant", "content": [{"type": "think", "think": "hm"}]}));
        assert_eq!(only.without_thoughts(), None);
    }
}
