//! What the validator must know of each format: which ids may change, and what a record says of ids, chain and tools.

use std::path::Path;

use serde_json::Value;

use super::KeyPath;
use crate::agents::value::{flag, items, owned, text};
use crate::agents::{claude, codex, gemini, kimi, kimi_code, pi};

/// What one record says.
#[derive(Debug, Default)]
pub struct Facts {
    /// The session it belongs to.
    pub session: Option<String>,
    /// Its id in the chain.
    pub id: Option<String>,
    /// The id of the row before it.
    pub parent: Option<String>,
    /// Begins a compacted context: its parent is named elsewhere.
    pub boundary: bool,
    /// Tool calls that begin in it.
    pub calls: Vec<String>,
    /// Tool calls that it answers.
    pub results: Vec<String>,
    /// Tool calls that stand in it with their results.
    pub settled: Vec<String>,
}

/// What of a line may differ from the original.
#[derive(Debug, Clone, Copy, Default)]
pub struct Free {
    /// Ids that may have another value.
    pub ids: &'static [KeyPath],
    /// A member that may have been added.
    pub origin: Option<KeyPath>,
}

/// One format.
pub struct Shape {
    /// What may differ in the first line.
    pub head: Free,
    /// What may differ in the others.
    pub rest: Free,
    /// Whether rows name the row before them.
    pub chained: bool,
    /// Whether every row must name the same session, or only the first that names one counts.
    pub every_session: bool,
    /// Whether a record is one that a fork adds.
    pub added: fn(&Value) -> bool,
    /// Reads a record.
    pub facts: fn(&Value) -> Facts,
}

const NOTHING: Free = Free {
    ids: &[],
    origin: None,
};

const LINES: Shape = Shape {
    head: NOTHING,
    rest: NOTHING,
    chained: false,
    every_session: false,
    added: |_| false,
    facts: |_| Facts::default(),
};

const CLAUDE_IDS: Free = Free {
    ids: &[&["sessionId"], &["parentUuid"]],
    origin: None,
};

const CLAUDE: Shape = Shape {
    head: CLAUDE_IDS,
    rest: CLAUDE_IDS,
    chained: true,
    every_session: true,
    facts: claude_facts,
    ..LINES
};

const CODEX: Shape = Shape {
    // A head of the old form has its id at the top.
    head: Free {
        ids: &[&["payload", "id"], &["id"]],
        origin: Some(&["payload", "forked_from_id"]),
    },
    facts: codex_facts,
    ..LINES
};

const KIMI_CONTEXT: Shape = Shape {
    facts: kimi_context_facts,
    ..LINES
};

const KIMI_WIRE: Shape = Shape {
    facts: kimi_wire_facts,
    ..LINES
};

const KIMI_CODE: Shape = Shape {
    added: |record| text(record, "type") == Some("forked"),
    facts: kimi_code_facts,
    ..LINES
};

const GEMINI_IDS: Free = Free {
    ids: &[&["sessionId"], &["$set", "sessionId"]],
    origin: None,
};

const GEMINI: Shape = Shape {
    head: GEMINI_IDS,
    rest: GEMINI_IDS,
    every_session: true,
    facts: gemini_facts,
    ..LINES
};

const PI: Shape = Shape {
    head: Free {
        ids: &[&["id"]],
        origin: Some(&["parentSession"]),
    },
    rest: Free {
        ids: &[&["parentId"]],
        origin: None,
    },
    chained: true,
    facts: pi_facts,
    ..LINES
};

impl Shape {
    /// The format of `file` of an agent's session.
    pub fn of(agent: &str, file: &Path) -> Option<&'static Self> {
        let wire = file
            .file_name()
            .is_some_and(|name| name == kimi::place::WIRE);
        Some(match agent {
            claude::NAME => &CLAUDE,
            codex::NAME => &CODEX,
            kimi::NAME if wire => &KIMI_WIRE,
            kimi::NAME => &KIMI_CONTEXT,
            kimi_code::NAME => &KIMI_CODE,
            gemini::NAME => &GEMINI,
            pi::NAME => &PI,
            _ => return None,
        })
    }
}

/// The strings at `key` of those items that `fits`.
fn strings(list: &[Value], key: &str, fits: impl Fn(&Value) -> bool) -> Vec<String> {
    list.iter()
        .filter(|item| fits(item))
        .filter_map(|item| owned(item, key))
        .collect()
}

fn of_type(kind: &'static str) -> impl Fn(&Value) -> bool {
    move |item| text(item, "type") == Some(kind)
}

fn claude_facts(record: &Value) -> Facts {
    let message = record.get("message");
    let blocks = items(message.and_then(|message| message.get("content")));
    let linked = !flag(record, "isSidechain");
    Facts {
        session: owned(record, "sessionId"),
        id: owned(record, "uuid").filter(|_| linked),
        parent: owned(record, "parentUuid"),
        boundary: text(record, "subtype") == Some("compact_boundary"),
        calls: strings(blocks, "id", of_type("tool_use")),
        results: strings(blocks, "tool_use_id", of_type("tool_result")),
        settled: Vec::new(),
    }
}

fn codex_facts(record: &Value) -> Facts {
    let payload = record.get("payload").unwrap_or(record);
    let bare = record.get("payload").is_none();
    let head = match text(record, "type") {
        Some(kind) => kind == "session_meta",
        None => record.get("instructions").is_some(),
    };
    let call = owned(payload, "call_id").or_else(|| owned(payload, "id"));
    let item = bare || text(record, "type") == Some("response_item");
    let of = |kinds: &[&str]| -> Vec<String> {
        let fits = item && text(payload, "type").is_some_and(|kind| kinds.contains(&kind));
        call.clone().filter(|_| fits).into_iter().collect()
    };
    Facts {
        session: owned(payload, "id").filter(|_| head),
        calls: of(&["function_call", "custom_tool_call", "local_shell_call"]),
        results: of(&[
            "function_call_output",
            "custom_tool_call_output",
            "local_shell_call_output",
        ]),
        ..Facts::default()
    }
}

fn kimi_context_facts(record: &Value) -> Facts {
    Facts {
        calls: strings(items(record.get("tool_calls")), "id", |_| true),
        results: owned(record, "tool_call_id").into_iter().collect(),
        ..Facts::default()
    }
}

fn kimi_wire_facts(record: &Value) -> Facts {
    let message = record.get("message").unwrap_or(&Value::Null);
    let payload = message.get("payload").unwrap_or(&Value::Null);
    let of = |kind: &str, key: &str| -> Vec<String> {
        let fits = text(message, "type") == Some(kind);
        owned(payload, key).filter(|_| fits).into_iter().collect()
    };
    Facts {
        calls: of("ToolCall", "id"),
        results: of("ToolResult", "tool_call_id"),
        ..Facts::default()
    }
}

fn kimi_code_facts(record: &Value) -> Facts {
    let event = record.get("event").unwrap_or(&Value::Null);
    let of = |kind: &str| -> Vec<String> {
        let fits = text(event, "type") == Some(kind);
        owned(event, "toolCallId")
            .filter(|_| fits)
            .into_iter()
            .collect()
    };
    Facts {
        calls: of("tool.call"),
        results: of("tool.result"),
        ..Facts::default()
    }
}

/// A message is written again as its calls get their results, so ids of messages are no ids of the chain.
fn gemini_facts(record: &Value) -> Facts {
    let set = record.get("$set").and_then(|set| owned(set, "sessionId"));
    let calls = items(record.get("toolCalls"));
    let answered = |call: &Value| call.get("result").is_some_and(|result| !result.is_null());
    Facts {
        session: owned(record, "sessionId").or(set),
        calls: strings(calls, "id", |call| !answered(call)),
        settled: strings(calls, "id", answered),
        ..Facts::default()
    }
}

fn pi_facts(record: &Value) -> Facts {
    let head = text(record, "type") == Some("session");
    let message = record.get("message").unwrap_or(&Value::Null);
    let id = owned(record, "id");
    Facts {
        session: id.clone().filter(|_| head),
        id: id.filter(|_| !head),
        parent: owned(record, "parentId"),
        calls: strings(items(message.get("content")), "id", of_type("toolCall")),
        results: owned(message, "toolCallId").into_iter().collect(),
        ..Facts::default()
    }
}
