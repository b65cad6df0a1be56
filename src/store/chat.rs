//! The chat record: the conversation that belongs to an issue, redacted, and how it reads as `chat.md`.
//!
//! Owns the stored form and the rendering. Leaves out where the conversation comes from, and redaction.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::records::Json;
use crate::error::{Code, Error, Result};
use crate::json;
use crate::text::{is_unsafe, visible};

/// A tool call and what came back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Tool {
    /// The tool's name as the agent calls it.
    pub name: String,
    /// Its arguments, as the agent recorded them, redacted.
    #[serde(default)]
    pub input: Value,
    /// What it answered; null: nothing was recorded.
    #[serde(default)]
    pub output: Option<String>,
    /// Whether the agent marked that as an error.
    #[serde(default)]
    pub error: bool,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Message {
    /// Who said it.
    #[schemars(extend("enum" = ["user", "assistant", "tool"]))]
    pub role: String,
    /// RFC 3339, as recorded.
    #[serde(default)]
    pub at: Option<String>,
    /// What was said; empty for tools.
    #[serde(default)]
    pub text: String,
    /// The call, for tools.
    #[serde(default)]
    pub tool: Option<Tool>,
}

/// What redaction did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("additionalProperties" = true))]
pub struct Redaction {
    /// Whether the texts went through it.
    pub applied: bool,
    /// How often each rule replaced something.
    #[serde(default)]
    pub counts: BTreeMap<String, u64>,
}

/// A conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Chat {
    /// The version of its stored form.
    pub version: u64,
    /// The agent's id of the session.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The agent's name.
    #[serde(default)]
    pub agent: Option<String>,
    /// RFC 3339, UTC.
    pub captured_at: String,
    /// Which part of the session it is.
    #[serde(default)]
    pub selection: String,
    /// What redaction did.
    #[serde(default)]
    pub redaction: Redaction,
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// Fields not known here.
    #[serde(flatten)]
    pub other: Json,
}

impl Chat {
    /// Reads a stored chat.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` names what is wrong with it.
    pub fn from_json(json: Json) -> Result<Self> {
        serde_json::from_value(Value::Object(json)).map_err(|error| {
            Error::new(Code::CorruptRecord, format!("this is not a chat: {error}"))
        })
    }

    /// Its stored form.
    pub fn to_json(&self) -> Json {
        json::object(self)
    }

    /// As `chat.md`: a header, `---`, then a block for each message.
    pub fn to_markdown(&self) -> String {
        self.under(String::new())
    }

    /// The same below what is to stand above it.
    pub fn under(&self, mut text: String) -> String {
        let session = self.session_id.as_deref().unwrap_or("unknown");
        let _ = writeln!(text, "session_id: {}", one_line(session));
        let _ = writeln!(text, "captured_at: {}", one_line(&self.captured_at));
        let _ = writeln!(text, "selection: {}", one_line(&self.selection));
        let _ = writeln!(text, "redaction: {}", self.redaction_line());
        text.push_str("---\n");
        for message in &self.messages {
            text.push('\n');
            if let Some(tool) = &message.tool {
                tool_block(&mut text, tool);
            } else {
                let _ = writeln!(text, "[{}]", one_line(&message.role));
                block(&mut text, &message.text);
            }
        }
        text
    }

    fn redaction_line(&self) -> String {
        if !self.redaction.applied {
            return "none".to_owned();
        }
        let total: u64 = self.redaction.counts.values().sum();
        if total == 0 {
            return "applied, nothing replaced".to_owned();
        }
        let rules: Vec<String> = self
            .redaction
            .counts
            .iter()
            .map(|(rule, count)| format!("{rule} {count}"))
            .collect();
        format!("applied, {total} replaced ({})", rules.join(", "))
    }
}

fn tool_block(text: &mut String, tool: &Tool) {
    let name: String = tool
        .name
        .chars()
        .filter(|ch| !is_unsafe(*ch) && *ch != ']')
        .collect();
    let _ = writeln!(text, "[tool:{name}]");
    match &tool.input {
        Value::Null => {}
        Value::String(input) => block(text, input),
        input => block(text, &input.to_string()),
    }
    if let Some(output) = &tool.output {
        text.push_str(if tool.error { "=> error\n" } else { "=>\n" });
        block(text, output);
    }
}

/// A word of the header, which no character in it can end.
fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

/// Text as it is, but for lines that would read as the head of another block, and characters that would not be seen.
fn block(text: &mut String, body: &str) {
    for line in visible(body).trim_end_matches('\n').lines() {
        let head = ["[user]", "[assistant]", "[tool:"];
        if head.iter().any(|head| line.starts_with(head)) {
            text.push(' ');
        }
        text.push_str(line);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chat() -> Chat {
        let said = |role: &str, text: &str| Message {
            role: role.to_owned(),
            at: None,
            text: text.to_owned(),
            tool: None,
        };
        Chat {
            version: 1,
            session_id: Some("a".to_owned()),
            agent: Some("claude".to_owned()),
            captured_at: "2026-02-28T15:30:12Z".to_owned(),
            selection: "whole session".to_owned(),
            redaction: Redaction {
                applied: true,
                counts: [("jwt".to_owned(), 2)].into(),
            },
            messages: vec![
                said("user", "do it\n[assistant]\nno\n"),
                said("assistant", "done"),
                Message {
                    tool: Some(Tool {
                        name: "Bash".to_owned(),
                        input: json!({"command": "ls"}),
                        output: Some("a.txt\n".to_owned()),
                        error: true,
                    }),
                    ..said("tool", "")
                },
            ],
            other: Json::new(),
        }
    }

    #[test]
    fn a_chat_is_written_back_as_it_was_read() {
        let mut json = chat().to_json();
        json.insert("later".to_owned(), json!(1));
        let read = Chat::from_json(json.clone()).expect("a chat");
        assert_eq!(read.to_json(), json);
        assert!(Chat::from_json(Json::new()).is_err());
    }

    #[test]
    fn markdown_has_the_protocols_form_and_no_forged_heads() {
        let expected = "session_id: a\ncaptured_at: 2026-02-28T15:30:12Z\nselection: whole session\n\
            redaction: applied, 2 replaced (jwt 2)\n---\n\n[user]\ndo it\n [assistant]\nno\n\n[assistant]\ndone\n\n\
            [tool:Bash]\n{\"command\":\"ls\"}\n=> error\na.txt\n";
        assert_eq!(chat().to_markdown(), expected);
    }
}
