//! Forks of Kimi Code sessions: a new directory with the journal before the cut, marked as forked the way its own fork does
//! it, a state of its own, and a line in the list of sessions.
//!
//! Undone turns go with the records that undid them; settings made in them stay. Sub-agents' journals are not copied.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::agents::fork::calls::{Pairing, drop_dangling, kept_of};
use crate::agents::fork::companion::{write_state, written};
use crate::agents::fork::shape::{Facts, LINES, Shape};
use crate::agents::fork::{Companion, Draft, FilePlan, Rule, Segment};
use crate::agents::kimi_code::place::{JOURNAL, index_of, session_directory};
use crate::agents::kimi_code::read::{Item, scan};
use crate::agents::lines::{Entry, parse_object};
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::agents::value::{owned, text, time_of_seconds};
use crate::error::{Code, Error, Result, ResultExt as _};
use crate::git::regular::{Links, append_line};

/// The records to keep of `transcript` when it is cut at `cut`.
pub fn draft(transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
    let limit = Some(cut.position.offset);
    let scan = scan(&transcript.path, Detail::Outline, limit)?;
    if scan.transcript.prompts.is_empty() {
        return Ok(None);
    }
    let Some(session) = session_directory(&transcript.path) else {
        return Err(Error::new(
            Code::CheckpointUnavailable,
            format!(
                "'{}' is in no session of Kimi Code",
                transcript.path.display()
            ),
        ));
    };
    let undone = |entry: &Entry<Item>| {
        let offset = entry.position.offset;
        entry.item != Item::Setting && scan.undone.iter().any(|range| range.contains(&offset))
    };
    let mut kept: Vec<bool> = scan.entries.iter().map(|entry| !undone(entry)).collect();
    drop_dangling(&scan.entries, &mut kept, Pairing::InOrder);
    let segments = kept_of(&scan.entries, &kept)
        .map(|(_, entry)| Segment::of(entry, Rule::Verbatim))
        .collect();
    let file = FilePlan {
        name: PathBuf::from(JOURNAL),
        tail: b"{\"type\":\"forked\"}\n".to_vec(),
        ..FilePlan::of_lines(&transcript.path, segments)
    };
    Ok(Some(Draft {
        named_by_directory: true,
        companion: Some(Arc::new(Registered {
            state: state(session, transcript, &scan.transcript),
            index: index_of(session),
        })),
        ..Draft::of_file(transcript, file)
    }))
}

/// A fork's `state.json`, but for times and places, and Kimi Code's list of sessions.
#[derive(Debug)]
struct Registered {
    state: Value,
    /// The list, when the session stands where Kimi Code looks.
    index: Option<PathBuf>,
}

impl Companion for Registered {
    fn write(&self, root: &Path, dest: &Path) -> Result<()> {
        write_state(&placed(&self.state, root, dest), root)
    }

    fn announce(&self, session_id: &str, dest: &Path) -> Result<()> {
        let work = self.state.get("workDir").and_then(Value::as_str);
        let (Some(index), Some(work)) = (&self.index, work) else {
            return Ok(());
        };
        let directory = dest.to_string_lossy();
        let entry = json!({"sessionId": session_id, "sessionDir": directory, "workDir": work});
        let doing = || format!("cannot list the fork in '{}'", index.display());
        append_line(index, 0o600, Links::Follow, &entry.to_string()).context(doing)
    }
}

/// The state with the times and places of the fork.
fn placed(state: &Value, root: &Path, dest: &Path) -> Value {
    let mut state = state.clone();
    let now = written(&root.join(JOURNAL)).and_then(time_of_seconds);
    let Some(fields) = state.as_object_mut() else {
        return state;
    };
    // Its list of sessions in a terminal goes by the id in here.
    if fields.contains_key("id") {
        let id = dest.file_name().map(|name| name.to_string_lossy());
        fields.insert("id".to_owned(), id.into());
    }
    for key in ["createdAt", "updatedAt"] {
        fields.insert(key.to_owned(), now.clone().into());
    }
    let main = dest.join(JOURNAL);
    let home = main.parent().unwrap_or(dest).to_string_lossy().into_owned();
    let mut agent = fields
        .get("agents")
        .and_then(|agents| agents.get("main"))
        .filter(|agent| agent.is_object())
        .cloned()
        .unwrap_or_else(|| json!({"type": "main"}));
    if let Some(agent) = agent.as_object_mut() {
        agent.insert("homedir".to_owned(), home.into());
    }
    fields.insert("agents".to_owned(), json!({"main": agent}));
    state
}

/// The fork's `state.json`, without times and without the place of its main agent.
fn state(session: &Path, transcript: &Transcript, kept: &Transcript) -> Value {
    let bytes = crate::git::regular::read(session.join("state.json")).unwrap_or_default();
    let mut state = parse_object(&bytes).unwrap_or_else(|| json!({}));
    let title = state
        .get("title")
        .and_then(Value::as_str)
        .or_else(|| transcript.title())
        .unwrap_or("Untitled")
        .to_owned();
    if let Some(fields) = state.as_object_mut() {
        fields.insert("title".to_owned(), format!("Fork: {title}").into());
        fields.insert(
            "forkedFrom".to_owned(),
            transcript.session_id.clone().into(),
        );
        let last = kept.prompts.last().map(|prompt| prompt.text.clone());
        fields.insert("lastPrompt".to_owned(), last.into());
        if let Some(work) = &transcript.cwd {
            fields.insert("workDir".to_owned(), work.clone().into());
        }
        if let Some(custom) = fields.get_mut("custom").and_then(Value::as_object_mut) {
            custom.remove("goal");
        }
        fields.remove("archived");
    }
    state
}

/// What the validator knows of a journal.
pub const SHAPE: Shape = Shape {
    added: |record| text(record, "type") == Some("forked"),
    facts,
    ..LINES
};

fn facts(record: &Value) -> Facts {
    let is_event = text(record, "type") == Some("context.append_loop_event");
    let event = record.get("event").filter(|_| is_event);
    let event = event.unwrap_or(&Value::Null);
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
