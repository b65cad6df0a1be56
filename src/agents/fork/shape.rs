//! What the validator must know of each format: which ids may change, and what a record says of ids, chain and tools.

use std::path::Path;

use serde_json::Value;

use super::KeyPath;
use super::validate::strings;
use crate::agents::value::{flag, items, owned, text};
use crate::agents::{claude, codex, kimi};

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
}

/// One format.
pub struct Shape {
    /// Where ids stand that a fork may change.
    pub free: &'static [KeyPath],
    /// A member that a fork may add.
    pub origin: Option<KeyPath>,
    /// Whether only the first line may differ at all.
    pub head_only: bool,
    /// Whether rows name the row before them.
    pub chained: bool,
    /// Whether every row must name the same session, or only the first that names one counts.
    pub every_session: bool,
    /// Reads a record.
    pub facts: fn(&Value) -> Facts,
}

const CLAUDE: Shape = Shape {
    free: &[&["sessionId"], &["parentUuid"]],
    origin: None,
    head_only: false,
    chained: true,
    every_session: true,
    facts: claude_facts,
};

const CODEX: Shape = Shape {
    // A head of the old form has its id at the top.
    free: &[&["payload", "id"], &["id"]],
    origin: Some(&["payload", "forked_from_id"]),
    head_only: true,
    chained: false,
    every_session: false,
    facts: codex_facts,
};

const KIMI_CONTEXT: Shape = Shape {
    free: &[],
    origin: None,
    head_only: true,
    chained: false,
    every_session: false,
    facts: kimi_context_facts,
};

const KIMI_WIRE: Shape = Shape {
    facts: kimi_wire_facts,
    ..KIMI_CONTEXT
};

impl Shape {
    /// The format of `file` of an agent's session.
    pub fn of(agent: &str, file: &Path) -> Option<&'static Self> {
        let wire = file
            .file_name()
            .is_some_and(|name| name == kimi::place::WIRE);
        match agent {
            claude::NAME => Some(&CLAUDE),
            codex::NAME => Some(&CODEX),
            kimi::NAME if wire => Some(&KIMI_WIRE),
            kimi::NAME => Some(&KIMI_CONTEXT),
            _ => None,
        }
    }
}

fn claude_facts(record: &Value) -> Facts {
    let blocks = items(
        record
            .get("message")
            .and_then(|message| message.get("content")),
    );
    let of = |kind: &str| -> Vec<Value> {
        blocks
            .iter()
            .filter(|block| text(block, "type") == Some(kind))
            .cloned()
            .collect()
    };
    let linked = !flag(record, "isSidechain");
    Facts {
        session: owned(record, "sessionId"),
        id: owned(record, "uuid").filter(|_| linked),
        parent: owned(record, "parentUuid"),
        boundary: text(record, "subtype") == Some("compact_boundary"),
        calls: strings(&of("tool_use"), "id"),
        results: strings(&of("tool_result"), "tool_use_id"),
    }
}

fn codex_facts(record: &Value) -> Facts {
    let payload = record.get("payload").unwrap_or(record);
    let head = match text(record, "type") {
        Some(kind) => kind == "session_meta",
        None => record.get("instructions").is_some(),
    };
    let call = owned(payload, "call_id").or_else(|| owned(payload, "id"));
    let of = |kinds: &[&str]| -> Vec<String> {
        let wrapped =
            record.get("payload").is_none() || text(record, "type") == Some("response_item");
        let fits = wrapped && text(payload, "type").is_some_and(|kind| kinds.contains(&kind));
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
        calls: strings(items(record.get("tool_calls")), "id"),
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
