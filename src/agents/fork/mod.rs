//! Forks: a new session file that holds a conversation up to a cut, beside the one that goes on untouched.
//!
//! A [`ForkPlan`] names the lines to keep and the ids that must change in them; it reads, never writes. [`stage_fork`] writes all to
//! temporary names and has [`validate_fork`] check what was written; only then [`StagedFork::place`] puts it in place, never over
//! anything. Kept lines are copied byte for byte but for those ids. Sequence: plan → write → validate → offer.
//! What an agent's forks keep and what the validator must know of its files is in the agent's own folder.

pub mod calls;
pub(in crate::agents) mod companion;
pub(in crate::agents) mod ids;
pub mod shape;
pub mod span;
pub(in crate::agents) mod validate;
mod write;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::env::Moment;
use crate::error::{Code, Error, Result};

use super::lines::Entry;
use super::transcript::{Cut, Tokens, Transcript};
pub(in crate::agents) use companion::Companion;
pub use ids::new_session_id;
pub use validate::{Validation, validate_fork};
pub use write::{DeadFork, StagedFork, dead_forks, stage_fork};

/// A path of keys to a value in a record.
pub type KeyPath = &'static [&'static str];

/// How a kept line differs from the original.
#[derive(Debug, Clone, Copy)]
pub(in crate::agents) enum Rule {
    /// Not at all.
    Verbatim,
    /// The values at these paths, where they are strings, become the new session's id.
    Ids(&'static [KeyPath]),
    /// The values at these paths that are the old session's id become the new one's: a row of a kind that is not known may
    /// name another session there.
    OwnIds(&'static [KeyPath]),
    /// The session's first record: its id changes, and it names the session it was forked from.
    Header {
        /// Where the id stands: behind the first of these the origin is named.
        ids: &'static [KeyPath],
        /// The key that names the origin.
        origin: &'static str,
    },
    /// As the agent says, from the line and the new session's id.
    Edits(fn(&[u8], &str) -> Vec<Edit>),
}

/// A place in a line and what is to stand there.
pub(in crate::agents) type Edit = (Range<usize>, String);

/// The row that a kept row follows, where that changes because the row between is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::agents) struct Relink {
    pub(in crate::agents) key: &'static str,
    pub(in crate::agents) parent: Option<Box<str>>,
}

/// A kept piece of a file: a line, or part of one document.
#[derive(Debug, Clone)]
pub(in crate::agents) struct Segment {
    /// Which of the plan's sources it comes from.
    pub(in crate::agents) source: u8,
    pub(in crate::agents) offset: u64,
    pub(in crate::agents) len: u64,
    pub(in crate::agents) rule: Rule,
    pub(in crate::agents) relink: Option<Relink>,
}

/// One file of a fork.
#[derive(Debug, Clone)]
pub(in crate::agents) struct FilePlan {
    /// Where segments come from: the session file first, then the parent that its beginning is in.
    pub(in crate::agents) sources: Vec<PathBuf>,
    /// The name under the fork's directory; empty when the fork is that one file.
    pub(in crate::agents) name: PathBuf,
    pub(in crate::agents) segments: Vec<Segment>,
    /// Whether segments are lines, each to be ended by a newline.
    pub(in crate::agents) lines: bool,
    /// What is written after them.
    pub(in crate::agents) tail: Vec<u8>,
}

impl FilePlan {
    /// Lines of `source`, for a fork that is one file.
    pub(in crate::agents) fn of_lines(source: &Path, segments: Vec<Segment>) -> Self {
        Self {
            sources: vec![source.to_owned()],
            name: PathBuf::new(),
            segments,
            lines: true,
            tail: Vec::new(),
        }
    }

    /// Pieces of the document `source`.
    pub(in crate::agents) fn of_document(source: &Path, segments: Vec<Segment>) -> Self {
        Self {
            lines: false,
            ..Self::of_lines(source, segments)
        }
    }
}

impl Segment {
    /// A piece of the session file that follows the row it follows there.
    pub(in crate::agents) fn new(offset: u64, len: u64, rule: Rule) -> Self {
        Self {
            source: 0,
            offset,
            len,
            rule,
            relink: None,
        }
    }

    /// The line of a record that was read.
    pub(in crate::agents) fn of<I>(entry: &Entry<I>, rule: Rule) -> Self {
        Self::new(entry.position.offset, entry.len, rule)
    }

    /// A piece between two places of a document.
    pub(in crate::agents) fn of_range(range: &Range<usize>, rule: Rule) -> Self {
        Self::new(range.start as u64, range.len() as u64, rule)
    }
}

/// What a fork will be. Making one changes nothing.
#[derive(Debug, Clone)]
pub struct ForkPlan {
    /// The agent's name.
    pub agent: &'static str,
    /// The file that is forked.
    pub source: PathBuf,
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
    companion: Option<Arc<dyn Companion>>,
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
    pub(in crate::agents) fn is_directory(&self) -> bool {
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
    let agent = super::by_name(transcript.agent).ok_or_else(|| cannot_fork(transcript.agent))?;
    let drafted = agent.draft_fork(transcript, cut)?;
    Ok(drafted.map(|draft| draft.plan(transcript, cut)))
}

/// The error for an agent whose sessions cannot be forked.
pub(in crate::agents) fn cannot_fork(agent: &str) -> Error {
    Error::new(
        Code::CheckpointUnavailable,
        format!("sessions of '{agent}' cannot be forked"),
    )
}

/// Where a fork is put by default: beside the session that it was made from.
pub fn destination(plan: &ForkPlan, new_id: &str, now: Moment) -> PathBuf {
    match super::by_name(plan.agent) {
        Some(agent) => agent.fork_path(plan, new_id, now),
        None => plan.source.with_file_name(format!("{new_id}.jsonl")),
    }
}

/// What an agent's planner found: the lines to keep.
pub struct Draft {
    pub(in crate::agents) files: Vec<FilePlan>,
    pub(in crate::agents) origin: String,
    pub(in crate::agents) named_by_directory: bool,
    pub(in crate::agents) companion: Option<Arc<dyn Companion>>,
    pub(in crate::agents) kept: KeptMessages,
}

/// Which neutral messages of the conversation a fork keeps.
pub(in crate::agents) enum KeptMessages {
    /// Those that begin in kept lines of the session file.
    InSegments,
    /// This many from the start.
    Before(usize),
}

impl Draft {
    /// A fork of that one file, which says its session's id.
    pub(in crate::agents) fn of_file(transcript: &Transcript, file: FilePlan) -> Self {
        Self {
            files: vec![file],
            origin: transcript.session_id.clone(),
            named_by_directory: false,
            companion: None,
            kept: KeptMessages::InSegments,
        }
    }

    fn plan(self, transcript: &Transcript, cut: &Cut) -> ForkPlan {
        let messages_kept = match self.kept {
            KeptMessages::InSegments => self.messages_in_segments(transcript),
            KeptMessages::Before(messages) => messages,
        };
        let all = transcript.messages.len();
        ForkPlan {
            agent: transcript.agent,
            source: transcript.path.clone(),
            cut: *cut,
            messages_kept,
            messages_discarded: all.saturating_sub(messages_kept),
            tokens_discarded: tokens_discarded(transcript.tokens, cut.tokens),
            files: self.files,
            origin: self.origin,
            named_by_directory: self.named_by_directory,
            companion: self.companion,
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

/// By how much a model's context shrinks.
pub fn tokens_discarded(now: Tokens, then: Tokens) -> Option<i64> {
    let now = i64::try_from(now.context?).ok()?;
    let then = i64::try_from(then.context.unwrap_or(0)).ok()?;
    Some(now - then)
}
