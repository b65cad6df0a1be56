//! Forks of Kimi Code sessions: a new directory with the journal before the cut, marked as forked the way its own fork does
//! it, a state of its own, and a line in the list of sessions.
//!
//! Undone turns go with the records that undid them; settings made in them stay. Sub-agents' journals are not copied.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agents::fork::calls::{Pairing, drop_dangling, kept_of};
use crate::agents::fork::shape::{Facts, LINES, Shape};
use crate::agents::fork::{Draft, Extra, FilePlan, Kept, Rule, Segment};
use crate::agents::kimi_code::place::{JOURNAL, index_of, session_directory};
use crate::agents::kimi_code::read::{Entry, Item, scan};
use crate::agents::lines::parse_object;
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::agents::value::{owned, text};
use crate::error::{Code, Error, Result};

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
                "'{}' stands in no session of Kimi Code",
                transcript.path.display()
            ),
        ));
    };
    let undone = |entry: &Entry| {
        let offset = entry.position.offset;
        entry.item != Item::Setting && scan.undone.iter().any(|range| range.contains(&offset))
    };
    let mut kept: Vec<bool> = scan.entries.iter().map(|entry| !undone(entry)).collect();
    drop_dangling(&scan.entries, &mut kept, Pairing::InOrder);
    let segments = kept_of(&scan.entries, &kept)
        .map(|(_, entry)| Segment {
            source: 0,
            offset: entry.position.offset,
            len: entry.len,
            rule: Rule::Verbatim,
            relink: None,
        })
        .collect();
    Ok(Some(Draft {
        files: vec![FilePlan {
            sources: vec![transcript.path.clone()],
            name: PathBuf::from(JOURNAL),
            segments,
            lines: true,
            tail: b"{\"type\":\"forked\"}\n".to_vec(),
        }],
        origin: transcript.session_id.clone(),
        named_by_directory: true,
        extra: Extra::KimiCode {
            state: state(session, transcript, &scan.transcript),
            index: index_of(session),
        },
        kept: Kept::InSegments,
    }))
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
