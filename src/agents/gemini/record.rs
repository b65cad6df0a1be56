//! One message as gemini-cli records it, in either format.

use serde_json::Value;

use crate::agents::builder::{Builder, Call, Typed};
use crate::agents::transcript::{Detail, Position, Tokens};
use crate::agents::value::{content, items, number, owned, shown, text};

/// Who a message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// A person.
    User,
    /// The model.
    Model,
    /// The program: information, warnings, errors.
    Program,
}

/// A tool call with its result, as one record holds both.
#[derive(Debug, Clone)]
struct Step {
    id: String,
    name: String,
    input: Value,
    at: Option<String>,
    output: Option<String>,
    failed: bool,
}

/// A message.
#[derive(Debug, Clone)]
pub struct Record {
    /// Its id: the same id again replaces it.
    pub id: String,
    /// Who speaks.
    pub from: From,
    at: Option<String>,
    text: String,
    images: u32,
    steps: Vec<Step>,
    tokens: Option<u64>,
}

impl Record {
    /// Reads a message; `None` for a record that is none.
    pub fn of(record: &Value, detail: Detail) -> Option<Self> {
        let id = owned(record, "id")?;
        let from = match text(record, "type")? {
            "user" => From::User,
            "gemini" => From::Model,
            _ => From::Program,
        };
        // What was shown is what was typed; the content has files and rules woven in.
        let display = record
            .get("displayContent")
            .filter(|display| !display.is_null());
        let (said, images) = content(display.or_else(|| record.get("content")));
        let full = detail == Detail::Full;
        Some(Self {
            id,
            from,
            at: owned(record, "timestamp"),
            text: if full || from == From::User {
                said
            } else {
                blank(&said)
            },
            images,
            steps: calls(record).iter().map(|call| step(call, full)).collect(),
            tokens: record
                .get("tokens")
                .filter(|tokens| tokens.is_object())
                .map(sum),
        })
    }

    /// Whether every call has its result.
    pub fn is_settled(&self) -> bool {
        self.steps.iter().all(|step| step.output.is_some())
    }

    /// Whether it is a prompt that a person typed.
    pub fn is_prompt(&self) -> bool {
        self.from == From::User && (self.images > 0 || !self.text.trim().is_empty())
    }

    /// Adds it to a conversation.
    pub fn add_to(self, builder: &mut Builder, position: Position, cut: Option<Position>) {
        match self.from {
            From::User if self.is_prompt() => builder.prompt(Typed {
                position,
                cut,
                companion: None,
                prompt_id: Some(self.id.clone()),
                id: Some(self.id),
                at: self.at,
                text: self.text.trim().to_owned(),
                images: self.images,
            }),
            From::Model => self.add_answer(builder, position),
            From::User | From::Program => {}
        }
    }

    fn add_answer(self, builder: &mut Builder, position: Position) {
        if !self.text.is_empty() {
            builder.assistant(position, Some(self.id.clone()), self.at.clone(), self.text);
        }
        for step in self.steps {
            builder.call(Call {
                id: step.id.clone(),
                name: step.name,
                input: step.input,
                at: step.at.or_else(|| self.at.clone()),
                position,
            });
            if let Some(output) = step.output {
                builder.result(&step.id, output, step.failed);
            }
        }
        if let Some(tokens) = self.tokens {
            let before = builder.transcript.tokens.total.unwrap_or(0);
            builder.tokens(Tokens {
                context: Some(tokens),
                total: Some(before + tokens),
            });
        }
    }
}

/// The calls that stand in a message: only the model's has any, whatever other kinds of records quote.
pub fn calls(record: &Value) -> &[Value] {
    match text(record, "type") {
        Some("gemini") => items(record.get("toolCalls")),
        _ => &[],
    }
}

/// In an outline only whether there was text is kept.
fn blank(said: &str) -> String {
    if said.trim().is_empty() {
        String::new()
    } else {
        " ".to_owned()
    }
}

/// Input (cached input is a part of it), output and thoughts.
fn sum(tokens: &Value) -> u64 {
    match number(tokens, "total") {
        0 => ["input", "output", "thoughts", "tool"]
            .iter()
            .map(|key| number(tokens, key))
            .sum(),
        total => total,
    }
}

fn step(call: &Value, full: bool) -> Step {
    let result = call.get("result").filter(|result| !result.is_null());
    Step {
        id: owned(call, "id").unwrap_or_default(),
        name: owned(call, "name").unwrap_or_default(),
        input: call
            .get("args")
            .filter(|_| full)
            .cloned()
            .unwrap_or_default(),
        at: owned(call, "timestamp"),
        output: result.map(|result| if full { output(result) } else { String::new() }),
        failed: matches!(text(call, "status"), Some("error" | "cancelled")),
    }
}

/// The words in a result: of its function responses the output or error, of other parts the text.
fn output(result: &Value) -> String {
    let Some(parts) = result.as_array() else {
        return shown(result);
    };
    let mut texts = Vec::new();
    for part in parts {
        let response = part
            .get("functionResponse")
            .and_then(|response| response.get("response"));
        match response {
            Some(response) => texts.push(
                response
                    .get("output")
                    .or_else(|| response.get("error"))
                    .map_or_else(|| shown(response), shown),
            ),
            None => texts.extend(owned(part, "text")),
        }
    }
    texts.join("\n")
}
