//! Checkpoints, ends of turns and rewinds: what the notes of a session say.
//!
//! Owns the fields of all three and their stored form. git keeps one note per object, so the note on a snapshot commit has all
//! of the session's checkpoints that stand on that snapshot, in order, the turns that ended there, and the rewinds that went to
//! the checkpoints. Ids count up per
//! session and are never given twice: each note also says which id came next when it was written. An entry that cannot be
//! read hides no other, and none is ever written over. Leaves out when checkpoints are made, and where in a conversation
//! they are.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::Store;
use super::id::SnapshotId;
use super::names::Record;
use super::records::{Draft, Held, Json, VERSION, null_as_default};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::json;
use crate::text::command_line;

/// The version of what is stored of a checkpoint and of a rewind.
pub const FIELDS_VERSION: u64 = 1;

/// Where it is kept how far a session's conversation was read: one file for each, below the worktree's directory.
pub const PREFIXES: &str = "prefixes";

/// What made a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// A prompt was about to be answered.
    Prompt,
    /// A tool had written.
    Step,
    /// Somebody asked for it.
    #[default]
    Manual,
}

json::words!(Kind {
    Prompt = "prompt",
    Step = "step",
    Manual = "manual",
});

/// Where the agent's file ended when the checkpoint was made: the prompt may have been written later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub struct Place {
    /// The agent's file; null when there was none yet.
    pub path: Option<String>,
    /// The line that begins or goes on at `offset`, counted from 1; null when it was not counted in time.
    pub line: Option<u64>,
    /// Where the file ended when the checkpoint was made, in bytes.
    pub offset: u64,
    /// The agent's id of the prompt.
    pub prompt_id: Option<String>,
    /// The agent's id of the tool call after which it was made, for a step of a session without a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Of the bytes before `offset`; null when they were not read in time, or are rewritten by the agent as it goes.
    pub sha256_of_prefix: Option<String>,
}

/// Token counts, null where the agent records none or they were not read in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub struct Counts {
    /// The model's context.
    pub context: Option<u64>,
    /// Everything so far.
    pub total: Option<u64>,
}

/// A numbered point of a session's conversation, tied to a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "checkpoint")]
pub struct Checkpoint {
    /// The version of these fields.
    pub version: u64,
    /// The session's true id.
    #[serde(default, deserialize_with = "null_as_default")]
    pub session_id: String,
    /// Its agent.
    pub agent: Option<String>,
    /// Counted from 0 in each session, never given twice.
    pub checkpoint_id: u64,
    /// When it was made: RFC 3339, UTC.
    pub created_at: String,
    /// What was asked, redacted, its first 2,000 characters; a manual one's text.
    pub prompt: Option<String>,
    /// The files of that moment.
    pub snapshot_id: String,
    /// The conversation of that moment.
    #[serde(default)]
    pub transcript: Place,
    /// Token counts just before it.
    #[serde(default)]
    pub tokens: Counts,
    /// What made it.
    pub kind: Kind,
    /// After a rewind: the checkpoint that was gone back to, `SESSION:N`.
    pub supersedes: Option<String>,
    /// The tool that had written, for a step.
    pub tool: Option<String>,
}

/// The end of an agent's turn: no checkpoint, and without a number of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "turn_end")]
pub struct TurnEnd {
    /// The version of these fields.
    pub version: u64,
    /// The session's true id.
    #[serde(default, deserialize_with = "null_as_default")]
    pub session_id: String,
    /// Its agent.
    pub agent: Option<String>,
    /// The checkpoint of the prompt whose turn it was; null where the session has none.
    pub checkpoint_id: Option<u64>,
    /// When it ended: RFC 3339, UTC.
    pub created_at: String,
    /// The files as the agent left them.
    pub snapshot_id: String,
    /// Always `end`.
    pub kind: EndKind,
    /// Work that the agent left in the background goes on: what changes until the next prompt may be its. Not there where none does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

/// What tells the end of a turn from a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EndKind {
    /// It is one.
    #[default]
    End,
}

json::words!(EndKind { End = "end" });

/// A fork that was offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Fork {
    /// The new session.
    pub session_id: String,
    /// Its file.
    pub path: String,
    /// The agent's command that resumes it, one line for a shell.
    #[serde(default, serialize_with = "line_for_a_shell")]
    #[schemars(with = "String")]
    pub resume_command: Vec<String>,
}

fn line_for_a_shell<S: Serializer>(
    words: &[String],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&command_line(words))
}

/// Where a session stood when it was rewound.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub struct RevertedFrom {
    /// The newest checkpoint then.
    pub checkpoint_id: Option<u64>,
    /// How many messages the conversation had.
    pub messages: Option<u64>,
    /// How long its file was.
    pub offset: Option<u64>,
}

/// A rewind that was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "rewind_record")]
pub struct Rewind {
    /// The session that was rewound.
    #[serde(default, deserialize_with = "null_as_default")]
    pub session_id: String,
    /// Where to.
    pub checkpoint_id: u64,
    /// When: RFC 3339, UTC.
    pub rewound_at: String,
    /// What went back.
    #[schemars(extend("enum" = ["code", "conversation", "both"]))]
    pub mode: String,
    /// What the future self is told, redacted.
    pub note: Option<String>,
    /// Why, redacted.
    pub rationale: Option<String>,
    /// The prompt that was gone back to, redacted.
    pub original_user_message: Option<String>,
    /// Where it stood.
    #[serde(default)]
    pub reverted_from: RevertedFrom,
    /// Messages that the fork leaves out.
    pub messages_discarded: Option<u64>,
    /// By how much the model's context shrank.
    pub tokens_discarded: Option<i64>,
    /// The working tree as it was before.
    pub backup_id: Option<String>,
    /// The session that goes on from there.
    pub fork: Option<Fork>,
    /// When it was taken back: RFC 3339, UTC.
    pub undone_at: Option<String>,
}

/// Why an entry cannot be read: its code, and a sentence.
type Unreadable = (Code, String);

/// Reads an entry of a note that has a version.
fn entry<T: DeserializeOwned>(what: &str, entry: &Value) -> std::result::Result<T, Unreadable> {
    let version = entry.get("version").and_then(Value::as_u64);
    if let Some(version) = version.filter(|version| *version > FIELDS_VERSION) {
        let message = format!("{what} was written by a newer tw (version {version})");
        return Err((Code::NewerRecord, message));
    }
    let unreadable = |why: &str| (Code::CorruptRecord, format!("{what} cannot be read: {why}"));
    if version.is_none() {
        return Err(unreadable("it has no version"));
    }
    T::deserialize(entry).map_err(|error| unreadable(&error.to_string()))
}

fn encode(entry: &impl Serialize) -> Value {
    serde_json::to_value(entry).expect("string keys and plain data always encode")
}

impl Checkpoint {
    /// Whether it is a mark that somebody made by hand, in a session of no agent: no turn of an agent begins there.
    pub fn is_mark(&self) -> bool {
        self.kind == Kind::Manual && self.agent.is_none()
    }

    /// Reads an entry. `session_id` is the note's, for an entry that names none.
    fn from_stored(stored: &Value, session_id: &str) -> std::result::Result<Self, Unreadable> {
        let what = match stored.get("checkpoint_id").and_then(Value::as_u64) {
            Some(id) => format!("checkpoint {id}"),
            None => "a checkpoint".to_owned(),
        };
        let mut read: Self = entry(&what, stored)?;
        if read.session_id.is_empty() {
            session_id.clone_into(&mut read.session_id);
        }
        Ok(read)
    }

    /// Its stored form: as readers see it, without a tool where there was none.
    fn to_stored(&self) -> Value {
        let mut stored = encode(self);
        if let (None, Some(fields)) = (&self.tool, stored.as_object_mut()) {
            fields.shift_remove("tool");
        }
        stored
    }
}

impl TurnEnd {
    /// Reads an entry. `session_id` is the note's, for an entry that names none.
    fn from_stored(stored: &Value, session_id: &str) -> std::result::Result<Self, Unreadable> {
        let mut read: Self = entry("the end of a turn", stored)?;
        if read.session_id.is_empty() {
            session_id.clone_into(&mut read.session_id);
        }
        Ok(read)
    }
}

impl Rewind {
    /// Reads an entry. `session_id` is the note's, for an entry that names none.
    fn from_stored(stored: &Value, session_id: &str) -> std::result::Result<Self, Unreadable> {
        let mut read: Self = entry("a rewind", stored)?;
        if read.session_id.is_empty() {
            session_id.clone_into(&mut read.session_id);
        }
        Ok(read)
    }

    /// Its stored form: as readers see it, with its version first, and the words of a command instead of a line for a shell.
    fn to_stored(&self) -> Value {
        let mut stored = json!({"version": FIELDS_VERSION});
        if let (Some(fields), Value::Object(seen)) = (stored.as_object_mut(), encode(self)) {
            fields.extend(seen);
        }
        if let Some(fork) = &self.fork {
            stored["fork"]["resume_command"] = json!(fork.resume_command);
        }
        stored
    }
}

/// What the notes of a session have.
#[derive(Debug, Default)]
pub struct SessionNotes {
    /// In the order of their ids.
    pub checkpoints: Vec<Checkpoint>,
    /// The ends of turns, in the order in which they were noted.
    pub turn_ends: Vec<TurnEnd>,
    /// In the order in which they were done.
    pub rewinds: Vec<Rewind>,
    /// The id that the next checkpoint gets.
    pub next: u64,
    /// Entries that cannot be read, and why.
    pub invalid: Vec<String>,
    /// The code of the first of them.
    pub invalid_code: Option<Code>,
    /// What had to be settled, in sentences for people.
    pub notices: Vec<String>,
}

impl SessionNotes {
    /// The checkpoint with this id.
    pub fn checkpoint(&self, id: u64) -> Option<&Checkpoint> {
        self.checkpoints
            .iter()
            .find(|checkpoint| checkpoint.checkpoint_id == id)
    }

    /// What was asked, each the beginning of a turn; in a session whose agent tells of no prompts, the checkpoints that somebody made.
    pub fn prompts(&self) -> Vec<&Checkpoint> {
        let of = |kind| self.checkpoints.iter().filter(move |one| one.kind == kind);
        if of(Kind::Prompt).next().is_some() {
            of(Kind::Prompt).collect()
        } else {
            of(Kind::Manual).collect()
        }
    }

    /// The prompt whose turn a checkpoint is of: itself, or the last one before it.
    pub fn turn_of(&self, checkpoint_id: u64) -> Option<u64> {
        let mut before = self.checkpoints.iter().rev();
        let prompt =
            before.find(|one| one.kind == Kind::Prompt && one.checkpoint_id <= checkpoint_id);
        prompt.map(|prompt| prompt.checkpoint_id)
    }

    /// The ends of a prompt's turn, in the order in which they were noted: an agent that is kept
    /// from stopping has several, and the last counts.
    pub fn ends_of(&self, prompt: u64) -> impl DoubleEndedIterator<Item = &TurnEnd> {
        let ends = self.turn_ends.iter();
        ends.filter(move |end| end.checkpoint_id == Some(prompt))
    }

    fn take_note(&mut self, json: &Json) {
        let session_id = json.get("session_id").and_then(Value::as_str);
        let session_id = session_id.unwrap_or_default();
        for entry in list(json, CHECKPOINTS) {
            match Checkpoint::from_stored(entry, session_id) {
                Ok(checkpoint) => {
                    self.next = self.next.max(checkpoint.checkpoint_id.saturating_add(1));
                    self.checkpoints.push(checkpoint);
                }
                Err(why) => self.pass_over(why),
            }
        }
        for entry in list(json, TURN_ENDS) {
            match TurnEnd::from_stored(entry, session_id) {
                Ok(end) => self.turn_ends.push(end),
                Err(why) => self.pass_over(why),
            }
        }
        for entry in list(json, REWINDS) {
            match Rewind::from_stored(entry, session_id) {
                Ok(rewind) => self.rewinds.push(rewind),
                Err(why) => self.pass_over(why),
            }
        }
        // Checkpoints may be gone, with a snapshot that was forgotten: their numbers are not given again.
        let next = json.get(NEXT).and_then(Value::as_u64).unwrap_or(0);
        self.next = self.next.max(next);
    }

    fn pass_over(&mut self, (code, message): (Code, String)) {
        self.invalid_code.get_or_insert(code);
        self.invalid.push(message);
    }

    /// Why a checkpoint that is not among the readable ones may be there all the same; None when all can be read.
    pub fn refusal(&self) -> Option<Error> {
        let (code, message) = self.invalid_code.zip(self.invalid.first())?;
        Some(Error::new(code, message.clone()))
    }

    fn sort(&mut self) {
        self.checkpoints
            .sort_by_key(|checkpoint| checkpoint.checkpoint_id);
        // Turns may be shorter than the seconds in which times are kept.
        self.turn_ends.sort_by(|a, b| {
            let one = (&a.created_at, a.checkpoint_id);
            one.cmp(&(&b.created_at, b.checkpoint_id))
        });
        self.rewinds.sort_by(|a, b| a.rewound_at.cmp(&b.rewound_at));
    }

    /// Puts the ends of one turn that were noted within a second in the order in which their snapshots were taken: an agent that a hook
    /// keeps from stopping stops again.
    fn order_ends(&mut self, seq: impl Fn(&str) -> Option<u64>) {
        let is_same = |a: &TurnEnd, b: &TurnEnd| {
            (&a.created_at, a.checkpoint_id) == (&b.created_at, b.checkpoint_id)
        };
        let several = self.turn_ends.chunk_by_mut(is_same);
        for ends in several.filter(|ends| ends.len() > 1) {
            ends.sort_by_cached_key(|end| seq(&end.snapshot_id));
        }
    }
}

impl From<Held> for SessionNotes {
    fn from(held: Held) -> Self {
        let mut notes = Self::default();
        for note in &held.notes {
            notes.take_note(&note.json);
        }
        for (_, error) in &held.invalid {
            notes.pass_over((error.code(), error.message().to_owned()));
        }
        notes.notices = held.notices;
        notes.sort();
        notes
    }
}

const CHECKPOINTS: &str = "checkpoints";
const TURN_ENDS: &str = "turn_ends";
const REWINDS: &str = "rewinds";
const NEXT: &str = "next_checkpoint_id";

fn list<'a>(json: &'a Json, name: &str) -> impl Iterator<Item = &'a Value> {
    json.get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Reads the notes of a session; empty when it has none.
///
/// # Errors
/// `CORRUPT_RECORD` when the record itself cannot be read.
pub fn read(store: &Store, session_id: &str) -> Result<SessionNotes> {
    let held = store.record(&Record::session(session_id))?;
    let mut notes = held.map(SessionNotes::from).unwrap_or_default();
    notes.order_ends(|id| {
        let stored = store.read_id(&SnapshotId::parse(id)?).ok()?;
        Some(stored.record.seq)
    });
    Ok(notes)
}

/// Adds a checkpoint to the note on `commit`, under the next free id: `make` gets the id and what there is, or answers
/// None when it is there already. `least` is an id known from elsewhere to be free. Nobody's change is lost, whoever
/// writes at the same time.
///
/// # Errors
/// `BUSY` when others hold the record for too long, `CORRUPT_RECORD` when the note there cannot be read.
pub fn add(
    store: &Store,
    session_id: &str,
    commit: Oid,
    at: Moment,
    least: u64,
    mut make: impl FnMut(u64, &SessionNotes) -> Option<Checkpoint>,
) -> Result<Option<Checkpoint>> {
    let message = format!("checkpoint of session {session_id}");
    let (made, _) = store.change_record(&Record::session(session_id), &message, at, |draft| {
        let notes = of_draft(draft);
        let id = notes.next.max(least);
        let Some(made) = make(id, &notes) else {
            return Ok(None);
        };
        let entry = made.to_stored();
        push(draft, session_id, commit, CHECKPOINTS, entry, Some(id + 1))?;
        Ok(Some(made))
    })?;
    Ok(made)
}

/// Adds the end of a turn to the note on `commit`: `make` gets what there is, or answers None when it is there already.
///
/// # Errors
/// As [`add`].
pub fn add_turn_end(
    store: &Store,
    session_id: &str,
    commit: Oid,
    at: Moment,
    mut make: impl FnMut(&SessionNotes) -> Option<TurnEnd>,
) -> Result<Option<TurnEnd>> {
    let message = format!("end of a turn of session {session_id}");
    let (made, _) = store.change_record(&Record::session(session_id), &message, at, |draft| {
        let Some(made) = make(&of_draft(draft)) else {
            return Ok(None);
        };
        push(draft, session_id, commit, TURN_ENDS, encode(&made), None)?;
        Ok(Some(made))
    })?;
    Ok(made)
}

/// Adds a rewind to the note that has its checkpoint.
///
/// # Errors
/// As [`add`]; `INVALID_CHECKPOINT` when the checkpoint is gone.
pub fn add_rewind(store: &Store, at: Moment, rewind: &Rewind) -> Result<()> {
    let name = Record::session(&rewind.session_id);
    let id = rewind.checkpoint_id;
    let message = format!("rewind of session {} to checkpoint {id}", rewind.session_id);
    store.change_record(&name, &message, at, |draft| {
        let has = |json: &Json| {
            list(json, CHECKPOINTS).any(|entry| entry.get("checkpoint_id") == Some(&id.into()))
        };
        let Some(commit) = draft
            .notes()
            .find(|(_, json)| has(json))
            .map(|(oid, _)| oid)
        else {
            let message = format!("checkpoint {id} of session '{}' is gone", rewind.session_id);
            return Err(Error::new(Code::InvalidCheckpoint, message));
        };
        let entry = rewind.to_stored();
        push(draft, &rewind.session_id, commit, REWINDS, entry, None)
    })?;
    Ok(())
}

/// Notes that a rewind was taken back. Answers whether it was found.
///
/// # Errors
/// As [`add`].
pub fn mark_undone(store: &Store, rewind: &Rewind, at: Moment) -> Result<bool> {
    let name = Record::session(&rewind.session_id);
    let message = format!("rewind of session {} undone", rewind.session_id);
    let marked = store.update_record(&name, &message, at, |draft| {
        // Searched, not looked up: its checkpoint may have been moved to another snapshot's note by a purge.
        let notes: Vec<Oid> = draft.notes().map(|(oid, _)| oid).collect();
        for oid in notes {
            let Some(json) = draft.get_mut(oid) else {
                continue;
            };
            let rewinds = json.get_mut(REWINDS).and_then(Value::as_array_mut);
            for entry in rewinds.into_iter().flatten() {
                if Rewind::from_stored(entry, &rewind.session_id).as_ref() == Ok(rewind)
                    && let Some(entry) = entry.as_object_mut()
                {
                    entry.insert("undone_at".to_owned(), at.rfc3339().into());
                    return Ok(true);
                }
            }
        }
        Ok(false)
    })?;
    Ok(marked.is_some_and(|(found, _)| found))
}

fn of_draft(draft: &Draft) -> SessionNotes {
    let mut notes = SessionNotes::default();
    for (_, json) in draft.notes() {
        notes.take_note(json);
    }
    notes.sort();
    notes
}

fn push(
    draft: &mut Draft,
    session_id: &str,
    commit: Oid,
    name: &str,
    entry: Value,
    next: Option<u64>,
) -> Result<()> {
    let mut json = draft.get_mut(commit).cloned().unwrap_or_default();
    json.entry("version").or_insert_with(|| VERSION.into());
    json.entry("session_id")
        .or_insert_with(|| session_id.into());
    let list = json.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    if let Some(list) = list.as_array_mut() {
        list.push(entry);
    } else {
        // Not ours to read: it stays beside the list under another name.
        let found = std::mem::replace(list, Value::Array(vec![entry]));
        json.insert(format!("{name}_found"), found);
    }
    // A note with rewinds only has the list all the same: readers look for it.
    json.entry(CHECKPOINTS)
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Some(next) = next {
        json.insert(NEXT.to_owned(), next.into());
    }
    draft.put(commit, json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_read_is_written() {
        let stored = json!({"version": 1, "session_id": "s", "agent": "claude", "checkpoint_id": 3,
            "created_at": "2026-02-28T15:30:00Z", "prompt": "fix it", "snapshot_id": "s_1",
            "transcript": {"path": "/t.jsonl", "line": 7, "offset": 900, "prompt_id": "p", "sha256_of_prefix": "00"},
            "tokens": {"context": 10, "total": 20}, "kind": "prompt", "supersedes": null});
        let read = Checkpoint::from_stored(&stored, "other").expect("readable");
        assert_eq!(read.to_stored().to_string(), stored.to_string());
        let stored = json!({"version": 1, "session_id": "s", "checkpoint_id": 3, "rewound_at": "2026-02-28T15:30:00Z",
            "mode": "both", "note": "n", "rationale": null, "original_user_message": "fix it",
            "reverted_from": {"checkpoint_id": 5, "messages": 12, "offset": 4000}, "messages_discarded": 4,
            "tokens_discarded": -2, "backup_id": "b_1",
            "fork": {"session_id": "f", "path": "/f.jsonl", "resume_command": ["claude", "--resume", "f"]}, "undone_at": null});
        let read = Rewind::from_stored(&stored, "other").expect("readable");
        assert_eq!(read.to_stored().to_string(), stored.to_string());
        assert_eq!(encode(&read)["fork"]["resume_command"], "claude --resume f");
    }

    #[test]
    fn little_is_required_and_a_newer_version_is_refused() {
        let stored = json!({"version": 1, "checkpoint_id": 0, "created_at": "", "snapshot_id": "s_1", "kind": "manual"});
        for session_id in [None, Some(Value::Null)] {
            let mut stored = stored.clone();
            if let Some(session_id) = session_id {
                stored["session_id"] = session_id;
            }
            let read = Checkpoint::from_stored(&stored, "s").expect("readable");
            assert_eq!((read.session_id.as_str(), read.kind), ("s", Kind::Manual));
        }
        for (key, value, code) in [
            ("version", json!(2), Code::NewerRecord),
            ("version", json!("1"), Code::CorruptRecord),
            ("kind", json!("dream"), Code::CorruptRecord),
            ("checkpoint_id", json!(-1), Code::CorruptRecord),
        ] {
            let mut stored = stored.clone();
            stored[key] = value;
            let (refused, _) = Checkpoint::from_stored(&stored, "s").expect_err(key);
            assert_eq!(refused, code, "{key}");
        }
        // A kind that a newer version knows is that version's to read.
        let newer = json!({"version": 2, "checkpoint_id": 4, "kind": "dream"});
        let (code, message) = Checkpoint::from_stored(&newer, "s").expect_err("newer");
        assert_eq!(code, Code::NewerRecord);
        assert_eq!(
            message,
            "checkpoint 4 was written by a newer tw (version 2)"
        );
    }
}
