//! Sessions as they are shared: what of our own goes, and how those of others are read.
//!
//! Only what is named here goes: ids, agent, times, and the kind of each checkpoint; texts and what tools were used only with
//! `--prompts redacted`. Paths, worktrees and the agent's files stay here. What others shared stays in the tree of our side: the register,
//! which hooks, rewinds and retention read, has our own sessions alone, and nothing that came can be resumed, rewound or let go.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fields::Kind;
use super::others::{LONGEST, Read, is_time, object, of_others as records, wrong};
use super::record::{Author, Shared};
use super::setup::Prompts;
use crate::error::Result;
use crate::ops::Context;
use crate::redact::Redactor;
use crate::store::Store;
use crate::store::checkpoint::{Checkpoint, Rewind, SessionNotes, TurnEnd};
use crate::store::id::SnapshotId;
use crate::store::names::session_component;
use crate::store::records::Json;
use crate::store::session::SessionRecord;

/// What of a session goes.
pub fn record(
    session: &SessionRecord,
    notes: &SessionNotes,
    prompts: Prompts,
    redactor: &Redactor,
) -> Json {
    let texts = Texts { prompts, redactor };
    let each = |items: Vec<Value>| (!items.is_empty()).then(|| Value::from(items));
    let forked_from = session.forked_from.as_ref().map(ToString::to_string);
    object(json!({
        "session_id": session.session_id,
        "agent": session.agent,
        "parent": session.parent,
        "started_at": session.started_at,
        "last_active_at": session.last_active_at,
        "ended_at": session.ended_at,
        "snapshot_ids": session.snapshot_ids,
        "forked_from": forked_from,
        "hint": texts.kept(session.hint.as_deref()),
        "checkpoints": each(notes.checkpoints.iter().map(|one| texts.checkpoint(one)).collect()),
        "turn_ends": each(notes.turn_ends.iter().map(turn_end).collect()),
        "rewinds": each(notes.rewinds.iter().map(|one| texts.rewind(one)).collect()),
    }))
}

/// Decides which texts of a session are sent, and redacts them.
struct Texts<'a> {
    prompts: Prompts,
    redactor: &'a Redactor,
}

impl Texts<'_> {
    /// A text that was said, redacted once more, where such go at all.
    fn kept(&self, text: Option<&str>) -> Option<String> {
        self.prompts.kept(self.redactor, text)
    }

    fn checkpoint(&self, checkpoint: &Checkpoint) -> Value {
        let talks = self.prompts == Prompts::Redacted;
        Value::Object(object(json!({
            "id": format!("c_{}", checkpoint.checkpoint_id),
            "checkpoint_id": checkpoint.checkpoint_id,
            "created_at": checkpoint.created_at,
            "kind": checkpoint.kind.as_str(),
            "snapshot_id": checkpoint.snapshot_id,
            "supersedes": checkpoint.supersedes,
            "prompt": self.kept(checkpoint.prompt.as_deref()),
            "tool": checkpoint.tool.as_deref().filter(|_| talks),
        })))
    }

    fn rewind(&self, rewind: &Rewind) -> Value {
        Value::Object(object(json!({
            "id": format!("w_{}_{}", rewind.rewound_at, rewind.checkpoint_id),
            "checkpoint_id": rewind.checkpoint_id,
            "rewound_at": rewind.rewound_at,
            "mode": rewind.mode,
            "undone_at": rewind.undone_at,
            "fork_session_id": rewind.fork.as_ref().map(|fork| &fork.session_id),
            "note": self.kept(rewind.note.as_deref()),
            "rationale": self.kept(rewind.rationale.as_deref()),
        })))
    }
}

fn turn_end(end: &TurnEnd) -> Value {
    let of = end
        .checkpoint_id
        .map_or("none".to_owned(), |id| id.to_string());
    Value::Object(object(json!({
        "id": format!("t_{}_{of}", end.created_at),
        "checkpoint_id": end.checkpoint_id,
        "created_at": end.created_at,
        "snapshot_id": end.snapshot_id,
    })))
}

/// A session that somebody else shared.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "shared_session")]
pub struct SharedSession {
    /// Its id.
    pub session_id: String,
    /// Who is said to have shared it; nobody proves it.
    pub claimed_by: String,
    /// The agent's name.
    pub agent: Option<String>,
    /// The session that it is a sub-agent of.
    pub parent: Option<String>,
    /// When it was first started: RFC 3339, UTC.
    pub started_at: String,
    /// Its last sign of life that was shared: RFC 3339, UTC.
    pub last_active_at: String,
    /// When it ended: RFC 3339, UTC; null: nobody said that it had.
    pub ended_at: Option<String>,
    /// What it is about, where texts were shared.
    pub hint: Option<String>,
    /// Its checkpoints.
    pub checkpoints: Vec<SharedCheckpoint>,
}

/// A checkpoint of a session that somebody else shared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct SharedCheckpoint {
    /// Counted from 0 in each session.
    pub checkpoint_id: u64,
    /// When it was made: RFC 3339, UTC.
    pub created_at: String,
    /// `prompt`, `step` or `manual`.
    pub kind: String,
    /// The snapshot's id; the snapshot is here only when it was shared by name.
    pub snapshot_id: String,
    /// What was asked, where texts were shared.
    #[serde(default)]
    pub prompt: Option<String>,
}

impl SharedSession {
    /// Reads a session that anybody may have written.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` with what is wrong with it.
    pub fn read(id: &str, shared: &Shared, author: &Author) -> Result<Self> {
        let read = Read::new(Kind::Session, shared);
        let session_id = read.owned("session_id");
        let session_id = session_id.filter(|known| session_component(known) == id);
        let session_id =
            session_id.ok_or_else(|| wrong("its session id does not match its path"))?;
        let started_at = read.time("started_at");
        let started_at = started_at.ok_or_else(|| wrong("it has no start"))?;
        let mut checkpoints = Vec::new();
        for one in read.items("checkpoints") {
            let checkpoint = SharedCheckpoint::deserialize(one).ok();
            let checkpoint = checkpoint.filter(|one| {
                is_time(&one.created_at)
                    && SnapshotId::parse(&one.snapshot_id).is_some()
                    && one.kind.len() <= LONGEST
            });
            checkpoints.push(checkpoint.ok_or_else(|| wrong("a checkpoint of it is malformed"))?);
        }
        checkpoints.sort_by_key(|one: &SharedCheckpoint| one.checkpoint_id);
        Ok(Self {
            session_id,
            claimed_by: shared.claimed_by(author).unwrap_or_default(),
            agent: read.owned("agent"),
            parent: read.owned("parent"),
            last_active_at: read
                .time("last_active_at")
                .unwrap_or_else(|| started_at.clone()),
            started_at,
            ended_at: read.time("ended_at"),
            hint: read.text("hint").map(str::to_owned),
            checkpoints,
        })
    }
}

/// The sessions that others shared and that are none of ours, last active first. What cannot be read was refused when it came.
///
/// # Errors
/// Our side of what is shared cannot be read.
pub fn of_others(ctx: &Context<'_>, store: &Store) -> Result<Vec<SharedSession>> {
    let mut found = Vec::new();
    let Some((author, records)) = records(ctx, store, Kind::Session)? else {
        return Ok(found);
    };
    let ours = ctx.sessions();
    for one in records {
        let Ok(session) = SharedSession::read(&one.id, &one.record, &author) else {
            continue;
        };
        // One that cannot be read is ours all the same.
        if matches!(ours.get(&session.session_id), Ok(None)) {
            found.push(session);
        }
    }
    found.sort_by(|a, b| {
        let newness = |one: &SharedSession| (one.last_active_at.clone(), one.session_id.clone());
        newness(b).cmp(&newness(a))
    });
    Ok(found)
}
