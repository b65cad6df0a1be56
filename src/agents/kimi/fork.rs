//! Forks of kimi-cli sessions: a new directory with the lines of both files before the cut, and a state of its own.
//!
//! No id stands in the files, so every kept line is the original's. A context that a compaction rewrote holds only what
//! the compaction left: an earlier cut is not available.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::agents::fork::calls::{Pairing, kept_of, without_dangling};
use crate::agents::fork::companion::{write_state, written};
use crate::agents::fork::shape::{Facts, LINES, Shape, strings};
use crate::agents::fork::{Companion, Draft, FilePlan, KeptMessages, Rule, Segment};
use crate::agents::kimi::place::{CONTEXT, WIRE};
use crate::agents::kimi::{context, wire};
use crate::agents::lines::Entry;
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::agents::value::{items, owned, text};
use crate::error::Result;

/// The lines to keep of `transcript` when it is cut at `cut`.
pub fn draft(transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
    let limit = Some(cut.position.offset);
    let scan = context::scan(&transcript.path, Detail::Outline, limit)?;
    // Ids are used again in later steps.
    let kept = without_dangling(&scan.entries, Pairing::InOrder);
    let entries: Vec<_> = kept_of(&scan.entries, &kept)
        .map(|(_, entry)| entry)
        .collect();
    if !entries.iter().any(|entry| {
        matches!(
            entry.item,
            context::Item::User | context::Item::Assistant(_)
        )
    }) {
        return Ok(None);
    }
    let directory = transcript
        .path
        .file_name()
        .is_some_and(|name| name == CONTEXT);
    let segments = entries
        .iter()
        .map(|entry| Segment::of(entry, Rule::Verbatim))
        .collect();
    let mut file = FilePlan::of_lines(&transcript.path, segments);
    if directory {
        file.name = PathBuf::from(CONTEXT);
    }
    let mut files = vec![file];
    if let (Some(path), Some(companion)) = (&transcript.companion, cut.companion) {
        let scan = wire::scan(path, Detail::Outline, Some(companion.offset))?;
        let segments = answered(&scan.entries)
            .map(|entry| Segment::of(entry, Rule::Verbatim))
            .collect();
        files.push(FilePlan {
            name: PathBuf::from(WIRE),
            ..FilePlan::of_lines(path, segments)
        });
    }
    let state = directory.then(|| State(state(transcript)));
    Ok(Some(Draft {
        files,
        origin: transcript.session_id.clone(),
        named_by_directory: true,
        companion: state.map(|state| Arc::new(state) as Arc<dyn Companion>),
        kept: KeptMessages::Before(cut.messages),
    }))
}

/// The wire's lines without calls that were not answered, and without the rest of such calls' arguments.
fn answered(entries: &[Entry<wire::Item>]) -> impl Iterator<Item = &Entry<wire::Item>> {
    let kept = without_dangling(entries, Pairing::InOrder);
    let mut call_kept = true;
    entries.iter().zip(kept).filter_map(move |(entry, kept)| {
        if let wire::Item::Call(_) = entry.item {
            call_kept = kept;
        }
        let stays = match entry.item {
            wire::Item::CallPart => call_kept,
            _ => kept,
        };
        stays.then_some(entry)
    })
}

/// A fork's `state.json`, but for the time of the wire file.
#[derive(Debug)]
struct State(Value);

impl Companion for State {
    fn write(&self, root: &Path, _dest: &Path) -> Result<()> {
        let mut state = self.0.clone();
        // kimi-cli takes a wire file that is newer than its state says for one that has no title yet.
        if let (Some(fields), Some(time)) = (state.as_object_mut(), written(&root.join(WIRE))) {
            fields.insert("wire_mtime".to_owned(), time.into());
        }
        write_state(&state, root)
    }
}

/// The fork's `state.json`, without the time of its wire: a title, and the directories that belong to the work. Approvals
/// are given anew.
fn state(transcript: &Transcript) -> Value {
    let bytes =
        crate::git::regular::read(transcript.path.with_file_name("state.json")).unwrap_or_default();
    let old: Value = crate::text::foreign_json::from_slice(&bytes).unwrap_or_default();
    let title = old
        .get("custom_title")
        .and_then(Value::as_str)
        .or_else(|| transcript.title())
        .unwrap_or("Untitled");
    json!({
        "version": old.get("version").and_then(Value::as_u64).unwrap_or(1),
        "additional_dirs": old.get("additional_dirs").cloned().unwrap_or_else(|| json!([])),
        "custom_title": format!("Fork: {title}"),
        "title_generated": true,
    })
}

/// What the validator knows of a context file.
pub const CONTEXT_SHAPE: Shape = Shape {
    facts: context_facts,
    ..LINES
};

/// What the validator knows of a wire file.
pub const WIRE_SHAPE: Shape = Shape {
    facts: wire_facts,
    ..LINES
};

fn context_facts(record: &Value) -> Facts {
    let role = text(record, "role").unwrap_or_default();
    let of = |name: &str, key: &str| record.get(key).filter(|_| role == name);
    let result = of("tool", "tool_call_id").and_then(Value::as_str);
    Facts {
        calls: strings(items(of("assistant", "tool_calls")), "id", |_| true),
        results: result.map(str::to_owned).into_iter().collect(),
        ..Facts::default()
    }
}

fn wire_facts(record: &Value) -> Facts {
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
