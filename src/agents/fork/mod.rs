//! Forks: a new session file that holds a conversation up to a cut, beside the one that goes on untouched.
//!
//! A [`ForkPlan`] names the lines to keep and the ids that must change in them; it reads, never writes. [`write_fork`]
//! writes all to temporary names, has [`validate_fork`] check what was written, and only then puts it in place, never over
//! anything. Kept lines are copied byte for byte but for those ids. Sequence: plan → write → validate → offer.

pub mod calls;
mod claude;
mod codex;
mod document;
mod extra;
mod gemini;
mod ids;
mod kimi;
mod kimi_code;
mod opencode;
mod pi;
mod shape;
pub mod span;
mod validate;
mod write;

use std::path::PathBuf;

use crate::env::Moment;
use crate::error::{Code, Error, Result};

use super::transcript::{Cut, Tokens, Transcript};
use extra::Extra;
pub use ids::new_session_id;
pub use validate::{Validation, validate_fork};
pub use write::{DeadFork, StagedFork, dead_forks, stage_fork, write_fork};

/// A path of keys to a value in a record.
type KeyPath = &'static [&'static str];

/// How a kept line differs from the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Not at all.
    Verbatim,
    /// The values at these paths, where they are strings, become the new session's id.
    Ids(&'static [KeyPath]),
    /// The session's first record: its id changes, and it names the session it was forked from.
    Header {
        /// The id.
        id: KeyPath,
        /// The key after it that names the origin.
        origin: &'static str,
    },
    /// The beginning of opencode's export: the session's id changes, what belongs to the origin alone goes.
    ExportHead,
    /// A message of opencode's export: all its ids change, each always to the same.
    ExportMessage,
}

/// The row that a kept row follows, where that changes because the row between is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Relink {
    key: &'static str,
    parent: Option<Box<str>>,
}

/// A kept piece of a file: a line, or part of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Segment {
    /// Which of the plan's sources it comes from.
    source: u8,
    offset: u64,
    len: u64,
    rule: Rule,
    relink: Option<Relink>,
}

/// One file of a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FilePlan {
    /// Where segments come from: the session file first, then the parent that its beginning is in.
    sources: Vec<PathBuf>,
    /// The name under the fork's directory; empty when the fork is that one file.
    name: PathBuf,
    segments: Vec<Segment>,
    /// Whether segments are lines, each to be ended by a newline.
    lines: bool,
    /// What is written after them.
    tail: Vec<u8>,
}

/// What a fork will be. Making one changes nothing.
#[derive(Debug, Clone)]
pub struct ForkPlan {
    /// The agent's name.
    pub agent: &'static str,
    /// The file that is forked.
    pub source: PathBuf,
    /// The session that is forked.
    pub session_id: String,
    /// Where it is cut.
    pub cut: Cut,
    /// Neutral messages that the fork keeps.
    pub messages_kept: usize,
    /// Neutral messages that it leaves out.
    pub messages_discarded: usize,
    /// By how much the model's context shrinks; negative when the fork goes back before a compaction, `None` when the
    /// agent records no counts.
    pub tokens_discarded: Option<i64>,
    files: Vec<FilePlan>,
    origin: String,
    /// Whether the session's id is its directory's name, so that no file says it.
    named_by_directory: bool,
    extra: Extra,
}

/// A fork that was written, checked and put in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkOutcome {
    /// The agent's name.
    pub agent: &'static str,
    /// The new session.
    pub session_id: String,
    /// Its file.
    pub path: PathBuf,
    /// The command that resumes it.
    pub resume_command: Option<Vec<String>>,
    /// Neutral messages that it keeps.
    pub messages_kept: usize,
    /// Neutral messages that it leaves out.
    pub messages_discarded: usize,
    /// By how much the model's context shrinks.
    pub tokens_discarded: Option<i64>,
    /// Token counts at the cut.
    pub tokens: Tokens,
    /// What the validator counted.
    pub validation: Validation,
}

impl ForkPlan {
    /// Whether the fork is a directory.
    fn is_directory(&self) -> bool {
        self.files
            .iter()
            .any(|file| !file.name.as_os_str().is_empty())
    }
}

/// Plans a fork of `transcript` that holds what stands before `cut`. `None` before the first prompt: there is nothing to
/// fork, the agent starts afresh.
///
/// # Errors
/// `CHECKPOINT_UNAVAILABLE` when the file does not hold that place any more, or the agent's sessions cannot be forked.
pub fn plan_fork(transcript: &Transcript, cut: &Cut) -> Result<Option<ForkPlan>> {
    let drafted = match transcript.agent {
        super::claude::NAME => claude::draft(transcript, cut)?,
        super::codex::NAME => codex::draft(transcript, cut)?,
        super::kimi::NAME => kimi::draft(transcript, cut)?,
        super::kimi_code::NAME => kimi_code::draft(transcript, cut)?,
        super::gemini::NAME => gemini::draft(transcript, cut)?,
        super::pi::NAME => pi::draft(transcript, cut)?,
        super::opencode::NAME => opencode::draft(transcript, cut)?,
        other => {
            return Err(Error::new(
                Code::CheckpointUnavailable,
                format!("sessions of '{other}' cannot be forked"),
            ));
        }
    };
    Ok(drafted.map(|draft| draft.plan(transcript, cut)))
}

/// Where a fork is put by default: beside the session that it was made from.
pub fn destination(plan: &ForkPlan, new_id: &str, now: Moment) -> PathBuf {
    match plan.agent {
        super::codex::NAME => super::codex::place::new_path(&plan.source, new_id, now),
        super::gemini::NAME => super::gemini::place::new_path(&plan.source, new_id, now),
        super::pi::NAME => super::pi::place::new_path(&plan.source, new_id, now),
        super::kimi_code::NAME => {
            let session = super::kimi_code::place::session_directory(&plan.source);
            session.unwrap_or(&plan.source).with_file_name(new_id)
        }
        // The session is a directory: its parent holds the sessions of one working directory.
        super::kimi::NAME if plan.is_directory() => {
            let session = plan.source.parent().unwrap_or(&plan.source);
            session.with_file_name(new_id)
        }
        super::opencode::NAME => plan.source.with_file_name(format!("{new_id}.json")),
        _ => plan.source.with_file_name(format!("{new_id}.jsonl")),
    }
}

/// What an agent's planner found: the lines to keep.
struct Draft {
    files: Vec<FilePlan>,
    origin: String,
    named_by_directory: bool,
    extra: Extra,
    kept: Kept,
}

/// Which neutral messages of the conversation a fork keeps.
enum Kept {
    /// Those that begin in kept lines of the session file.
    InSegments,
    /// So many from the start.
    Before(usize),
}

impl Draft {
    fn plan(self, transcript: &Transcript, cut: &Cut) -> ForkPlan {
        let messages_kept = match self.kept {
            Kept::InSegments => self.messages_in_segments(transcript),
            Kept::Before(messages) => messages,
        };
        let all = transcript.messages.len();
        ForkPlan {
            agent: transcript.agent,
            source: transcript.path.clone(),
            session_id: transcript.session_id.clone(),
            cut: *cut,
            messages_kept,
            messages_discarded: all.saturating_sub(messages_kept),
            tokens_discarded: tokens_discarded(transcript.tokens, cut.tokens),
            files: self.files,
            origin: self.origin,
            named_by_directory: self.named_by_directory,
            extra: self.extra,
        }
    }

    fn messages_in_segments(&self, transcript: &Transcript) -> usize {
        let kept: std::collections::HashSet<(u8, u64)> = self
            .files
            .iter()
            .filter(|file| file.sources.first() == Some(&transcript.path))
            .flat_map(|file| &file.segments)
            .map(|segment| (segment.source, segment.offset))
            .collect();
        transcript
            .messages
            .iter()
            .filter(|message| kept.contains(&(message.file, message.position.offset)))
            .count()
    }
}

fn tokens_discarded(now: Tokens, then: Tokens) -> Option<i64> {
    let now = i64::try_from(now.context?).ok()?;
    let then = i64::try_from(then.context.unwrap_or(0)).ok()?;
    Some(now - then)
}
