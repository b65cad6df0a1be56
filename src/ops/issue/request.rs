//! What the issue commands are asked.

use std::path::PathBuf;

use crate::agents::transcript::Selection;
use crate::error::{Code, Error, Result};
use crate::ops::request::DryRun;
use crate::store::issue::{Issue, KINDS, Severity, Status, kind_word};
use crate::text::visible;

/// The texts of an issue that people and agents write. None leaves a field alone, or empty in a new issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportFields {
    /// What was being done.
    pub task_context: Option<String>,
    /// What went wrong.
    pub symptom: Option<String>,
    /// When it counts as solved.
    pub success_criteria: Option<String>,
    /// A guess at why.
    pub suspected_cause: Option<String>,
    /// The conversation in short.
    pub chat_summary: Option<String>,
    /// A shell command that succeeds when it is solved.
    pub verify_command: Option<String>,
    /// How much it hurts.
    pub severity: Option<Severity>,
    /// What kind of friction it is, in a word.
    pub kind: Option<String>,
}

impl ReportFields {
    /// The kind as it is stored; None where none is given, and an empty one where it is to be cleared.
    ///
    /// # Errors
    /// `USAGE`: it is no word.
    pub fn kind_word(&self) -> Result<Option<String>> {
        match &self.kind {
            None => Ok(None),
            Some(text) if text.trim().is_empty() => Ok(Some(String::new())),
            Some(text) => kind_word(text).map(Some).ok_or_else(|| {
                let message = format!("'{}' is not a kind of friction", visible(text));
                Error::new(Code::Usage, message).hint(format!(
                    "one word of letters, digits, '-', '_' and '.', such as {}",
                    KINDS.join(", ")
                ))
            }),
        }
    }
}

/// Report an issue.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Its texts.
    pub fields: ReportFields,
    /// A JSON document with the fields by name; what `fields` has wins.
    pub json: Option<Vec<u8>>,
    /// The snapshot; default the session's.
    pub snapshot: Option<String>,
    /// The session file to take the conversation from.
    pub transcript: Option<PathBuf>,
    /// The caller's session.
    pub session: Option<String>,
    /// Which part of the conversation.
    pub selection: Selection,
    /// The verify command was typed on this machine's command line.
    pub is_typed: bool,
}

/// Which issues.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those; None means all.
    pub status: Option<Status>,
    /// Only what is not closed.
    pub active: bool,
    /// Only those of this kind; an empty word means those that have none.
    pub kind: Option<String>,
    /// At most this many.
    pub limit: Option<usize>,
}

impl Filter {
    /// Whether an issue is wanted.
    pub fn takes(&self, issue: &Issue) -> bool {
        let status = issue.status;
        self.status.is_none_or(|wanted| wanted == status)
            && !(self.active && status.is_closed())
            && self
                .kind
                .as_ref()
                .is_none_or(|wanted| issue.is_of_kind(wanted))
    }

    /// What was asked for, in a word.
    pub fn word(&self) -> &'static str {
        match self.status {
            Some(status) => status.as_str(),
            None if self.active => "open",
            None => "all",
        }
    }
}

/// Say something of an issue.
#[derive(Debug, Clone, Default)]
pub struct Comment {
    /// The issue's id, or a part of it.
    pub issue: String,
    /// What is said.
    pub text: String,
    /// The caller's session.
    pub session: Option<String>,
}

/// Which part of a stored chat.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChatPart {
    /// This many of the last turns.
    pub last: Option<usize>,
}

/// Change an issue's texts.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// The issue: its id or a part of it.
    pub issue: String,
    /// New texts; an empty one clears an optional field.
    pub fields: ReportFields,
    /// A JSON document with the fields by name; what `fields` has wins.
    pub json: Option<Vec<u8>>,
    /// Another snapshot to tie it to.
    pub snapshot: Option<String>,
    /// The session file to take the conversation from.
    pub transcript: Option<PathBuf>,
    /// The session that it is of, and whose conversation is taken.
    pub session: Option<String>,
    /// Which part of the conversation.
    pub selection: Selection,
    /// The verify command was typed on this machine's command line.
    pub is_typed: bool,
}

/// Sections of the experiment to write.
#[derive(Debug, Clone, Default)]
pub struct Sections {
    /// How to see the problem.
    pub repro: Option<String>,
    /// What was changed.
    pub changes: Option<String>,
    /// How that was checked.
    pub validation: Option<String>,
    /// What came of it.
    pub result: Option<String>,
}

impl Sections {
    /// Whether nothing is to be written.
    pub fn is_empty(&self) -> bool {
        let all = [&self.repro, &self.changes, &self.validation, &self.result];
        all.into_iter().all(Option::is_none)
    }
}

/// Read or write the experiment.
#[derive(Debug, Clone, Default)]
pub struct Experiment {
    /// The issue: its id or a part of it.
    pub issue: String,
    /// What to write; empty reads.
    pub sections: Sections,
}

/// Close an issue.
#[derive(Debug, Clone)]
pub struct Close {
    /// The issue: its id or a part of it.
    pub issue: String,
    /// As what: fixed, wontfix or duplicate.
    pub status: Status,
    /// The issue that has it, for a duplicate.
    pub duplicate_of: Option<String>,
    /// What to say about it.
    pub note: Option<String>,
    /// The try or replay that proves a fix, and after a colon which of its runs (default the best); None: the last check.
    pub proof: Option<String>,
}

/// Put a run's changes onto the present.
#[derive(Debug, Clone, Default)]
pub struct Apply {
    /// The issue: its id or a part of it.
    pub issue: String,
    /// Which run's; default the last one that has an experiment.
    pub run: Option<u64>,
    /// Plan only.
    pub dry_run: DryRun,
}

/// Run an issue's check.
#[derive(Debug, Clone, Default)]
pub struct Verify {
    /// The issue: its id or a part of it.
    pub issue: String,
    /// The words of what to run in place of the issue's own command, typed on this machine's command line; one word is a line for the
    /// shell. None: the issue's own.
    pub command: Vec<String>,
    /// Record it in this run, which was made here; default the one that is open in this working tree, else one of checks alone.
    pub run: Option<u64>,
    /// The first 12 hex digits of the stored command's sha256: it may run.
    pub allow: Option<String>,
}
