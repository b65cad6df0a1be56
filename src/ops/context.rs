//! Context logs: the conversation of a harness that has no file of its own, in kimi-cli's form.
//!
//! Promises: what a log holds is its owner's and is never redacted; a change is whole or not there; what a revert or a compaction
//! leaves out stays in a numbered file beside the log. Needs a repository only to find a session's log.

mod compact;

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

use super::{Context, sessions};
use crate::agents::context_log::record::{self, Parts, Record};
use crate::agents::context_log::{self as log, Log, Tokens};
use crate::error::{Code, Error, Result, ResultExt as _};
use crate::json::{self, Text};
use crate::store::context::{self as store, ContextFile, Old};
use crate::text::{foreign_json, typed_path, without_mark};

pub use compact::{Compact, Compacted, NotDone, Summary, compact};

json::fields! {
    /// The log.
    LogFile = "file",
}

/// How long a log's lock is waited for where no settings are at hand.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A log that was found; it need not exist yet.
#[derive(Debug, Clone)]
pub struct ContextLog {
    file: ContextFile,
    /// Whose it is; None: a file that was named.
    session_id: Option<String>,
    /// Where a summarizer runs.
    dir: PathBuf,
    /// What was done to have it: sentences for people.
    notices: Vec<String>,
    /// How a command has to name it, for a hint: ` --session ID`, ` --file FILE` or nothing.
    flag: String,
}

/// What becomes of the log of a session where none was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSession {
    /// One is started, as for `checkpoint`: the first words of a conversation begin it.
    Start,
    /// There is nothing to read.
    Refuse,
}

/// The log of a session: `named`, else the caller's, else as `absent` says. What there is to read may be of the last session here, also
/// when it has ended.
///
/// # Errors
/// `SESSION_NOT_FOUND` when nobody says whose; as `session start` where one is started.
pub fn of_session(ctx: &Context<'_>, named: Option<&str>, absent: NoSession) -> Result<ContextLog> {
    let store = ctx.store()?;
    let caller = sessions::caller(ctx, store, named, None)?;
    let session = match (caller, absent) {
        (Some(caller), _) => Some(caller.session_id),
        (None, NoSession::Refuse) => sessions::caller_or_ended(ctx, store)?,
        (None, NoSession::Start) => None,
    };
    let (session_id, notices) = match (session, absent) {
        (Some(session), _) => (session, Vec::new()),
        (None, NoSession::Start) => {
            ctx.check_workspace_was_meant()?;
            let start = sessions::Start {
                // It was asked above.
                force: true,
                ..sessions::Start::default()
            };
            let started = sessions::start(ctx, &start)?;
            let mut notices = started.notices;
            notices.push(format!("session {} was started", started.session_id));
            (started.session_id, notices)
        }
        (None, NoSession::Refuse) => {
            return Err(
                Error::new(Code::SessionNotFound, "no session was started here").hint(
                    "'tw context append' starts one; '--session ID' or '--file FILE' names a log",
                ),
            );
        }
    };
    let path = store::path_of_session(ctx.state_dir().path(), &session_id);
    Ok(ContextLog {
        file: ContextFile::new(path, ctx.settings.lock_timeout),
        flag: sessions::session_flag(ctx, store, &session_id),
        session_id: Some(session_id),
        dir: ctx.repo.worktree_root().to_owned(),
        notices,
    })
}

/// The log in a file, taken from `start` when it is relative. A symlink is followed.
///
/// # Errors
/// When the name cannot be resolved.
pub fn at_file(start: &Path, file: &Path, wait: Duration) -> Result<ContextLog> {
    let path = start.join(file);
    let path = match path.canonicalize() {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => path,
        Err(error) => {
            return Err(error).context(|| format!("cannot resolve '{}'", path.display()));
        }
    };
    Ok(ContextLog {
        file: ContextFile::new(path, wait),
        session_id: None,
        dir: start.to_owned(),
        notices: Vec::new(),
        flag: format!(" --file {}", typed_path(file)),
    })
}

impl ContextLog {
    /// The bytes of a log that exists.
    fn read(&self) -> Result<Vec<u8>> {
        self.file.read()?.ok_or_else(|| {
            Error::new(
                Code::PathNotFound,
                format!("context log '{}' not found", self.file.path().display()),
            )
            .hint(format!(
                "'tw context append{flag}' starts one",
                flag = self.flag
            ))
        })
    }

    /// Takes the log for a change, made first where it may be.
    fn hold(&self) -> Result<store::HeldContext> {
        if self.session_id.is_some() {
            store::make_directory(self.file.path())?;
        }
        let held = self.file.hold()?;
        if !is_log(&held.beginning()?) {
            let message = format!("'{}' is not a conversation log", self.file.path().display());
            return Err(Error::new(Code::Usage, message).hint(
                "not one record is at its beginning; name another file: one that is not there is made",
            ));
        }
        Ok(held)
    }

    fn path(&self) -> PathBuf {
        self.file.path().to_owned()
    }
}

/// Whether a file that begins so may be a log: an empty one is, and one whose first line is longer, or was torn.
fn is_log(beginning: &[u8]) -> bool {
    let last = beginning.rsplit(|byte| *byte == b'\n').next();
    let is_unended = last.is_some_and(|line| line.starts_with(b"{"));
    beginning.trim_ascii().is_empty() || is_unended || !Log::read(beginning).entries.is_empty()
}

/// What to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Append {
    /// A message with a text.
    Message {
        /// `system`, `user`, `assistant`, `tool`, or `system-prompt` for the log's own first line.
        role: String,
        /// What it says.
        text: String,
        /// The tool call that it answers; a `tool` message has one.
        tool_call_id: Option<String>,
    },
    /// One record as JSON, or several, one a line.
    Json(Vec<u8>),
}

/// Answer of `context append`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Appended {
    /// The log.
    #[serde(flatten, with = "Text::<LogFile>")]
    pub file: PathBuf,
    /// How many records were added.
    pub appended: usize,
    /// Where the log before stays, when a new system prompt took the place of another.
    #[serde(serialize_with = "json::file_or_null")]
    #[schemars(with = "Option<String>")]
    pub rotated_to: Option<PathBuf>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Adds to a log, all of it or nothing.
///
/// # Errors
/// `USAGE` when kimi-cli's loader would not take it.
pub fn append(log: &ContextLog, request: &Append) -> Result<Appended> {
    let lines = match request {
        Append::Message {
            role,
            text,
            tool_call_id,
        } => vec![message(role, text, tool_call_id.as_deref())?],
        Append::Json(bytes) => lines_of(bytes)?,
    };
    let mut records = Vec::new();
    for line in &lines {
        records.push(checked(line)?);
    }
    let held = log.hold()?;
    let answer = |rotated_to| Appended {
        file: log.path(),
        appended: lines.len(),
        rotated_to,
        notices: log.notices.clone(),
    };
    let is_prompt = |record: &Record| matches!(record, Record::SystemPrompt(_));
    if !records.iter().any(is_prompt) {
        if records
            .iter()
            .any(|record| matches!(record, Record::Checkpoint(_)))
        {
            // Only checkpoints are worth reading all of the log: other appends come at every message.
            count_on(&Log::read(&held.read()?), &records)?;
        }
        held.append(&lines.concat())?;
        return Ok(answer(None));
    }
    // The prompt is the first line, so that every revert keeps it.
    let mut bytes = held.read()?;
    count_on(&Log::read(&bytes), &records)?;
    // A torn last line must not take the next record with it.
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    let (mut prompt, mut dropped) = (None, false);
    for (line, record) in lines.iter().zip(&records) {
        match record {
            Record::SystemPrompt(text) => prompt = Some(text),
            _ => bytes.extend_from_slice(line),
        }
    }
    if let Some(prompt) = prompt {
        (bytes, dropped) = log::with_system_prompt(&Log::read(&bytes), prompt);
    }
    let old = if dropped { Old::Rotate } else { Old::Drop };
    Ok(answer(held.replace(&bytes, old)?))
}

fn message(role: &str, text: &str, answers: Option<&str>) -> Result<Vec<u8>> {
    let refused = |what: String| Err(Error::new(Code::Usage, what));
    if answers.is_some() && role != "tool" {
        return refused(format!("a message of role '{role}' answers no tool call"));
    }
    match role {
        "system-prompt" | "_system_prompt" => Ok(record::system_prompt(text)),
        "tool" if answers.is_none() => {
            refused("a message of role 'tool' needs the id of the call that it answers".to_owned())
        }
        "system" | "user" | "assistant" | "tool" => {
            Ok(record::message(role, &text.into(), answers))
        }
        other => Err(Error::new(Code::Usage, format!("unknown role '{other}'"))
            .hint("the roles are system-prompt, system, user, assistant and tool")),
    }
}

/// One JSON object over any number of lines, or one on each line.
fn lines_of(bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let trimmed = without_mark(bytes).trim_ascii();
    if trimmed.contains(&b'\n')
        && let Ok(value) = serde_json::from_slice::<Value>(trimmed)
    {
        return Ok(vec![record::line(&value)]);
    }
    if trimmed.contains(&b'\n') && foreign_json::from_slice::<Value>(trimmed).is_ok() {
        // It cannot be written anew as it is. A string has no bare line feed: what is one stands between the parts.
        let mut line = trimmed.to_vec();
        for byte in line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
        line.push(b'\n');
        return Ok(vec![line]);
    }
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for line in trimmed.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if !line.is_empty() {
            lines.push([line, b"\n"].concat());
        }
    }
    if lines.is_empty() {
        return Err(Error::new(Code::Usage, "there is no record to add"));
    }
    Ok(lines)
}

fn checked(line: &[u8]) -> Result<Record> {
    let refused = |what: String| {
        Error::new(
            Code::Usage,
            format!("not a record of a context log: {what}"),
        )
        .hint("a record is a JSON object such as {\"role\": \"user\", \"content\": \"hello\"}")
    };
    let value = foreign_json::from_slice::<Value>(line)
        .map_err(|error| refused(error.to_string()).caused_by(error))?;
    record::check(value, Parts::Known).map_err(refused)
}

/// Refuses checkpoints whose ids were there before: a revert could not tell which one is meant.
fn count_on(log: &Log<'_>, records: &[Record]) -> Result<()> {
    let mut next = log.next_checkpoint();
    for record in records {
        if let Record::Checkpoint(id) = record {
            if *id < next {
                let what = format!("checkpoint {id} comes after checkpoint {}", next - 1);
                return Err(Error::new(Code::Usage, what));
            }
            next = id.saturating_add(1);
        }
    }
    Ok(())
}

/// Whether the model sees a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Marker {
    /// A message of role user names it, as for kimi-cli's D-Mail.
    Visible,
    /// It stands in the log only.
    #[default]
    Hidden,
}

/// Answer of `context checkpoint`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checkpointed {
    /// The log.
    #[serde(flatten, with = "Text::<LogFile>")]
    pub file: PathBuf,
    /// The new checkpoint.
    pub checkpoint_id: i64,
    /// Whether the model sees it.
    pub marker: bool,
    /// Sentences for people.
    pub notices: Vec<String>,
    /// How a command has to name the log, for a hint.
    #[serde(skip)]
    pub flag: String,
}

/// Adds a checkpoint. Ids count up from 0.
///
/// # Errors
/// When the log cannot be written.
pub fn checkpoint(log: &ContextLog, marker: Marker) -> Result<Checkpointed> {
    let held = log.hold()?;
    let id = Log::read(&held.read()?).next_checkpoint();
    let mut lines = record::checkpoint(id);
    if marker == Marker::Visible {
        lines.extend(record::marker(id));
    }
    held.append(&lines)?;
    Ok(Checkpointed {
        file: log.path(),
        checkpoint_id: id,
        marker: marker == Marker::Visible,
        notices: log.notices.clone(),
        flag: log.flag.clone(),
    })
}

/// Answer of `context usage`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Counted {
    /// The log.
    #[serde(flatten, with = "Text::<LogFile>")]
    pub file: PathBuf,
    /// What was recorded.
    pub token_count: u64,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Records how large the context is, in tokens.
///
/// # Errors
/// When the log cannot be written; `USAGE` for a number that no reader takes.
pub fn usage(log: &ContextLog, token_count: u64) -> Result<Counted> {
    if i64::try_from(token_count).is_err() {
        return Err(Error::new(
            Code::Usage,
            format!("{token_count} is too large a token count"),
        ));
    }
    log.hold()?.append(&record::usage(token_count))?;
    Ok(Counted {
        file: log.path(),
        token_count,
        notices: log.notices.clone(),
    })
}

/// Answer of `context show`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Shown {
    /// The log.
    #[serde(flatten, with = "Text::<LogFile>")]
    pub file: PathBuf,
    /// Whose it is; null: a file that was named.
    pub session_id: Option<String>,
    /// The system prompt in effect.
    pub system_prompt: Option<String>,
    /// The records that kimi-cli's loader takes, in order, each as it stands.
    pub records: Vec<Line>,
    /// How many of the records are messages.
    pub messages: usize,
    /// The checkpoints.
    pub checkpoints: Vec<i64>,
    /// The id of the next one.
    pub next_checkpoint: i64,
    /// How large the context is.
    #[serde(flatten)]
    pub tokens: Tokens,
    /// How many lines are malformed or torn.
    pub skipped: usize,
    /// Whether the last line is torn.
    pub torn: bool,
    /// What the log was before reverts and compactions, oldest first.
    #[serde(serialize_with = "json::files")]
    #[schemars(with = "Vec<String>")]
    pub rotated: Vec<PathBuf>,
}

/// A record of a log.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Line {
    /// What it says.
    #[serde(skip)]
    pub record: Record,
    /// As it stands.
    pub value: Value,
}

impl JsonSchema for Line {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "record".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object", "properties": {"role": {"type": "string"}}, "required": ["role"],
            "additionalProperties": true,
        })
    }
}

/// Returns the records of a context log with its checkpoints and size.
///
/// # Errors
/// `PATH_NOT_FOUND` when there is none.
pub fn show(log: &ContextLog) -> Result<Shown> {
    let bytes = log.read()?;
    let read = Log::read(&bytes);
    let rotated = store::rotations(log.file.path())?;
    let value = |line: &[u8], record: &Record| match record {
        Record::Message(message) => message.value().clone(),
        _ => crate::agents::lines::parse_object(line).unwrap_or_default(),
    };
    let records: Vec<Line> = read
        .entries
        .iter()
        .map(|entry| Line {
            record: entry.record.clone(),
            value: value(entry.line, &entry.record),
        })
        .collect();
    let is_message = |line: &&Line| matches!(line.record, Record::Message(_));
    Ok(Shown {
        file: log.path(),
        session_id: log.session_id.clone(),
        system_prompt: read.system_prompt().map(str::to_owned),
        checkpoints: read.checkpoints().collect(),
        next_checkpoint: read.next_checkpoint(),
        tokens: read.tokens(),
        skipped: read.skipped,
        torn: read.torn,
        rotated: rotated.into_iter().map(|(_, path)| path).collect(),
        messages: records.iter().filter(is_message).count(),
        records,
    })
}

/// Go back in a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revert {
    /// The checkpoint to go back to. It goes, too.
    pub checkpoint_id: i64,
    /// What to tell the one who goes on from there.
    pub note: Option<String>,
}

/// Answer of `context revert`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reverted {
    /// The log.
    #[serde(flatten, with = "Text::<LogFile>")]
    pub file: PathBuf,
    /// The checkpoint that it went back to.
    pub checkpoint_id: i64,
    /// Where the log before stays.
    #[serde(serialize_with = "json::file_or_null")]
    #[schemars(with = "Option<String>")]
    pub rotated_to: Option<PathBuf>,
    /// Messages that are no longer in it.
    pub messages_discarded: usize,
    /// By how much the context shrank.
    pub tokens_discarded: u64,
    /// Malformed and torn lines, which are left out.
    pub skipped: usize,
    /// The checkpoint that came with the note.
    pub note_checkpoint: Option<i64>,
}

/// Takes a log back to just before a checkpoint.
///
/// # Errors
/// `INVALID_CHECKPOINT` with the range of ids, `CHECKPOINT_UNAVAILABLE` after a compaction, `PATH_NOT_FOUND`.
pub fn revert(log: &ContextLog, request: &Revert) -> Result<Reverted> {
    // Asked first: taking a log for a change would make it, where there is none.
    log.read()?;
    let held = log.hold()?;
    let bytes = held.read()?;
    let read = Log::read(&bytes);
    let id = request.checkpoint_id;
    let reverted = log::revert(&read, id, request.note.as_deref());
    let Some(reverted) = reverted else {
        return Err(no_checkpoint(&read, id, &log.flag));
    };
    let after = Log::read(&reverted.bytes).tokens();
    Ok(Reverted {
        file: log.path(),
        checkpoint_id: id,
        rotated_to: held.replace(&reverted.bytes, Old::Rotate)?,
        messages_discarded: reverted.discarded,
        tokens_discarded: read.tokens().total().saturating_sub(after.total()),
        skipped: read.skipped,
        note_checkpoint: reverted.checkpoint,
    })
}

fn no_checkpoint(log: &Log<'_>, id: i64, flag: &str) -> Error {
    let ids: Vec<i64> = log.checkpoints().collect();
    let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
        return Error::new(
            Code::InvalidCheckpoint,
            format!("checkpoint {id} not found: the log has none"),
        )
        .hint(format!("'tw context checkpoint{flag}' makes one"))
        .detail("available", ids);
    };
    let range = if first == last {
        format!("checkpoint {first}")
    } else {
        format!("checkpoints {first} to {last}")
    };
    let error = if (0..log.next_checkpoint()).contains(&id) {
        let what = format!("checkpoint {id} is no longer in the log, which has {range}");
        Error::new(Code::CheckpointUnavailable, what)
    } else {
        let what = format!("checkpoint {id} not found: the log has {range}");
        Error::new(Code::InvalidCheckpoint, what)
    };
    error
        .hint(format!("'tw context show{flag}' lists them"))
        .detail("available", ids)
}
