//! A context log made shorter: a summary in the place of all but the last turns.
//!
//! The summary is given, or made by a program that reads the part on its standard input. The log is not locked while that
//! program runs: what was appended meanwhile is kept, and any other change makes the compaction fail.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ContextLog, LogFile};
use crate::agents::context_log::{self as log, Cut, Log};
use crate::error::{Code, Error, Result, ResultExt as _};
use crate::git::pipes::converse;
use crate::json::{self, Text};
use crate::runner::program::shell;
use crate::store::context::Old;

/// Where the summary comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Summary {
    /// It is given.
    Text(String),
    /// A line for `sh` that reads what to summarize and prints the summary.
    Command(String),
}

/// Make a log shorter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compact {
    /// How many turns stay as they are.
    pub keep: usize,
    /// What stands for the others.
    pub summary: Summary,
    /// Only when the context, with what is reserved, reaches this many tokens.
    pub if_over: Option<u64>,
    /// Tokens to keep free.
    pub reserved: u64,
}

/// Answer of `context compact`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Compacted {
    /// The log.
    #[serde(flatten, with = "Text::<LogFile>")]
    pub file: PathBuf,
    /// Whether anything was done.
    pub compacted: bool,
    /// Why nothing was done.
    pub reason: Option<NotDone>,
    /// Where the log before stays.
    #[serde(serialize_with = "json::file_or_null")]
    #[schemars(with = "Option<String>")]
    pub rotated_to: Option<PathBuf>,
    /// Messages that the summary stands for.
    pub messages_discarded: usize,
    /// How large the context was.
    pub tokens_before: u64,
    /// How large the context is now: a guess from its length.
    pub tokens_after: u64,
    /// The new checkpoint at its end.
    pub checkpoint_id: Option<i64>,
    /// Malformed and torn lines.
    pub skipped: usize,
}

/// Why nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum NotDone {
    /// The context is small enough.
    UnderLimit,
    /// There are no more turns than are kept.
    NothingToCompact,
}

/// Puts a summary in the place of all but the last turns.
///
/// # Errors
/// `BUSY` while a tool call waits for its result, or when the log was changed meanwhile; `PATH_NOT_FOUND`; `IO` when the
/// summarizer fails.
pub fn compact(log: &ContextLog, request: &Compact) -> Result<Compacted> {
    let bytes = log.read()?;
    let read = Log::read(&bytes);
    let tokens = read.tokens().total();
    let unchanged = |reason| Compacted {
        file: log.path(),
        compacted: false,
        reason,
        rotated_to: None,
        messages_discarded: 0,
        tokens_before: tokens,
        tokens_after: tokens,
        checkpoint_id: None,
        skipped: read.skipped,
    };
    let wanted = tokens.saturating_add(request.reserved);
    if request.if_over.is_some_and(|limit| wanted < limit) {
        return Ok(unchanged(Some(NotDone::UnderLimit)));
    }
    let at = match log::cut(&read, request.keep) {
        Cut::At(at) => at,
        Cut::Nothing => return Ok(unchanged(Some(NotDone::NothingToCompact))),
        Cut::Dangling(call) => return Err(waits(&call)),
    };
    let summary = match &request.summary {
        Summary::Text(text) => text.clone(),
        Summary::Command(line) => summarize(line, &log.dir, &log::to_summarize(&read, at))?,
    };
    if summary.trim().is_empty() {
        return Err(Error::new(Code::Usage, "the summary is empty"));
    }
    let held = log.hold()?;
    let now = held.read()?;
    if !now.starts_with(&bytes) {
        let what = format!(
            "'{}' was changed by another process",
            log.file.path().display()
        );
        return Err(Error::new(Code::Busy, what).hint("try again"));
    }
    let now = Log::read(&now);
    if let Some(call) = log::unanswered(&now, at) {
        return Err(waits(&call));
    }
    let compacted = log::compact(&now, at, &summary);
    Ok(Compacted {
        compacted: true,
        tokens_after: Log::read(&compacted.bytes).tokens().total(),
        rotated_to: held.replace(&compacted.bytes, Old::Rotate)?,
        messages_discarded: compacted.discarded,
        checkpoint_id: compacted.checkpoint,
        ..unchanged(None)
    })
}

fn waits(call: &str) -> Error {
    Error::new(Code::Busy, format!("tool call '{call}' has no result yet"))
        .hint("append its result first: tw context append --role tool --tool-call-id ID TEXT")
        .detail("tool_call_id", call)
}

/// Runs the summarizer. Its standard error is the caller's.
fn summarize(line: &str, dir: &Path, text: &str) -> Result<String> {
    let what = || format!("cannot run the summarizer '{line}'");
    let mut process = shell(line, dir);
    process.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = process.spawn().context(what)?;
    // It may answer before it has read everything, or never read at all.
    let said = converse(&mut child, text.as_bytes());
    let status = child.wait().context(what)?;
    let summary = said.context(what)?.stdout;
    if !status.success() {
        let what = format!("the summarizer '{line}' failed: {status}");
        return Err(Error::new(Code::Io, what).hint("nothing was changed"));
    }
    Ok(String::from_utf8_lossy(&summary).into_owned())
}
