//! How checkpoints and rewinds stand in a note.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Code;

use super::{Checkpoint, Counts, Fork, Kind, Place, RevertedFrom, Rewind};

type Read<T> = std::result::Result<T, (Code, String)>;

#[derive(Deserialize)]
struct RawCheckpoint {
    version: u64,
    session_id: Option<String>,
    agent: Option<String>,
    checkpoint_id: u64,
    created_at: String,
    prompt: Option<String>,
    snapshot_id: String,
    #[serde(default)]
    transcript: Place,
    #[serde(default)]
    tokens: Counts,
    kind: String,
    supersedes: Option<String>,
    tool: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct RawRewind {
    version: u64,
    session_id: Option<String>,
    checkpoint_id: u64,
    rewound_at: String,
    mode: String,
    note: Option<String>,
    rationale: Option<String>,
    original_user_message: Option<String>,
    #[serde(default)]
    reverted_from: RevertedFrom,
    messages_discarded: Option<u64>,
    tokens_discarded: Option<i64>,
    backup_id: Option<String>,
    fork: Option<RawFork>,
    #[serde(default)]
    undone_at: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct RawFork {
    session_id: String,
    path: String,
    #[serde(default)]
    resume_command: Vec<String>,
}

/// The version of both.
pub const VERSION: u64 = 1;

fn parse<T: for<'de> Deserialize<'de>>(what: &str, entry: &Value) -> Read<T> {
    T::deserialize(entry).map_err(|error| corrupt(format!("{what} cannot be read: {error}")))
}

fn corrupt(message: String) -> (Code, String) {
    (Code::CorruptRecord, message)
}

fn check_version(what: &str, version: u64) -> Read<()> {
    if version > VERSION {
        let message = format!("{what} was written by a newer tw (version {version})");
        return Err((Code::NewerRecord, message));
    }
    Ok(())
}

/// Reads a checkpoint. `session_id` is the note's, for an entry that names none.
pub fn checkpoint(entry: &Value, session_id: &str) -> Read<Checkpoint> {
    let raw: RawCheckpoint = parse("a checkpoint", entry)?;
    let what = format!("checkpoint {}", raw.checkpoint_id);
    check_version(&what, raw.version)?;
    let Some(kind) = Kind::parse(&raw.kind) else {
        return Err(corrupt(format!(
            "{what} is of no known kind: '{}'",
            raw.kind
        )));
    };
    Ok(Checkpoint {
        version: raw.version,
        session_id: raw.session_id.unwrap_or_else(|| session_id.to_owned()),
        agent: raw.agent,
        checkpoint_id: raw.checkpoint_id,
        created_at: raw.created_at,
        prompt: raw.prompt,
        snapshot_id: raw.snapshot_id,
        transcript: raw.transcript,
        tokens: raw.tokens,
        kind,
        supersedes: raw.supersedes,
        tool: raw.tool,
    })
}

/// The stored form of a checkpoint: as readers see it, without a tool where there was none.
pub fn of_checkpoint(checkpoint: &Checkpoint) -> Value {
    let mut stored = encode(checkpoint);
    if let (None, Some(fields)) = (&checkpoint.tool, stored.as_object_mut()) {
        fields.shift_remove("tool");
    }
    stored
}

/// Reads a rewind.
pub fn rewind(entry: &Value, session_id: &str) -> Read<Rewind> {
    let raw: RawRewind = parse("a rewind", entry)?;
    check_version("a rewind", raw.version)?;
    Ok(Rewind {
        session_id: raw.session_id.unwrap_or_else(|| session_id.to_owned()),
        checkpoint_id: raw.checkpoint_id,
        rewound_at: raw.rewound_at,
        mode: raw.mode,
        note: raw.note,
        rationale: raw.rationale,
        original_user_message: raw.original_user_message,
        reverted_from: raw.reverted_from,
        messages_discarded: raw.messages_discarded,
        tokens_discarded: raw.tokens_discarded,
        backup_id: raw.backup_id,
        fork: raw.fork.map(|fork| Fork {
            session_id: fork.session_id,
            path: fork.path,
            resume_command: fork.resume_command,
        }),
        undone_at: raw.undone_at,
    })
}

/// The stored form of a rewind.
pub fn of_rewind(rewind: &Rewind) -> Value {
    encode(&RawRewind {
        version: VERSION,
        session_id: Some(rewind.session_id.clone()),
        checkpoint_id: rewind.checkpoint_id,
        rewound_at: rewind.rewound_at.clone(),
        mode: rewind.mode.clone(),
        note: rewind.note.clone(),
        rationale: rewind.rationale.clone(),
        original_user_message: rewind.original_user_message.clone(),
        reverted_from: rewind.reverted_from.clone(),
        messages_discarded: rewind.messages_discarded,
        tokens_discarded: rewind.tokens_discarded,
        backup_id: rewind.backup_id.clone(),
        fork: rewind.fork.as_ref().map(|fork| RawFork {
            session_id: fork.session_id.clone(),
            path: fork.path.clone(),
            resume_command: fork.resume_command.clone(),
        }),
        undone_at: rewind.undone_at.clone(),
    })
}

fn encode<T: Serialize>(raw: &T) -> Value {
    serde_json::to_value(raw).expect("string keys and plain data always encode")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read() {
        let stored = json!({"version": 1, "session_id": "s", "agent": "claude", "checkpoint_id": 3,
            "created_at": "2026-02-28T15:30:00Z", "prompt": "fix it", "snapshot_id": "s_1",
            "transcript": {"path": "/t.jsonl", "line": 7, "offset": 900, "prompt_id": "p", "sha256_of_prefix": "00"},
            "tokens": {"context": 10, "total": 20}, "kind": "prompt", "supersedes": null});
        let read = checkpoint(&stored, "other").expect("readable");
        assert_eq!(of_checkpoint(&read), stored);
        let stored = json!({"version": 1, "session_id": "s", "checkpoint_id": 3, "rewound_at": "2026-02-28T15:30:00Z",
            "mode": "both", "note": "n", "rationale": null, "original_user_message": "fix it",
            "reverted_from": {"checkpoint_id": 5, "messages": 12, "offset": 4000}, "messages_discarded": 4,
            "tokens_discarded": -2, "backup_id": "b_1",
            "fork": {"session_id": "f", "path": "/f.jsonl", "resume_command": ["claude", "--resume", "f"]}, "undone_at": null});
        let read = rewind(&stored, "other").expect("readable");
        assert_eq!(of_rewind(&read), stored);
    }

    #[test]
    fn words_are_the_same_in_json_and_on_the_command_line() {
        for kind in Kind::ALL {
            assert_eq!(json!(kind), kind.as_str());
        }
    }

    #[test]
    fn little_is_required_and_a_newer_version_is_refused() {
        let entry = json!({"version": 1, "checkpoint_id": 0, "created_at": "", "snapshot_id": "s_1", "kind": "manual"});
        let read = checkpoint(&entry, "s").expect("readable");
        assert_eq!((read.session_id.as_str(), read.kind), ("s", Kind::Manual));
        for (key, value) in [
            ("version", json!(2)),
            ("kind", json!("dream")),
            ("checkpoint_id", json!(-1)),
        ] {
            let mut entry = entry.clone();
            entry[key] = value;
            assert!(checkpoint(&entry, "s").is_err(), "{key}");
        }
    }
}
