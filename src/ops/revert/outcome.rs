//! What a revert answers with.

use std::fmt;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::path::RepoPath;
use crate::json::{self, Text, Texts};
use crate::ops::merge::Reason;
use crate::ops::outcome::Changes;
use crate::store::address::of_checkpoint;
use crate::store::checkpoint::Checkpoint;

json::fields! {
    MergedField = "merged",
    PathField = "path",
    AlreadyField = "already_reverted",
}

/// Answer of `revert`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reverted {
    /// Nothing was written.
    pub dry_run: bool,
    /// What was taken back, those that depend on it too.
    pub reverted: Vec<Taken>,
    /// What was there before; null when nothing was written.
    pub backup_id: Option<String>,
    /// Paths touched.
    pub changes: Changes,
    /// Paths in which later changes stay.
    #[serde(flatten, with = "Texts::<MergedField>")]
    pub merged: Vec<RepoPath>,
    /// Paths in which it was taken back before, and still is: what came later stays, also where it looks the same.
    #[serde(flatten, with = "Texts::<AlreadyField>")]
    pub already_reverted: Vec<RepoPath>,
    /// Lines that stay although they lie directly beside something that was taken back.
    pub adjacent: Vec<Adjacent>,
    /// Paths that need a decision: they have markers.
    pub conflicts: Vec<Conflict>,
    /// Paths of which nobody can tell whose change it was.
    pub unattributed: Vec<Unattributed>,
    /// Whether those were taken back all the same; else they stay as they are.
    pub included_shared: bool,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// An agent's prompt; for a snapshot all is null.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Prompt {
    /// The session.
    pub session_id: Option<String>,
    /// Its number there.
    pub checkpoint_id: Option<u64>,
    /// The agent.
    pub agent: Option<String>,
    /// What was asked, redacted.
    pub prompt: Option<String>,
    /// When: RFC 3339, UTC.
    pub created_at: Option<String>,
}

impl From<&Checkpoint> for Prompt {
    fn from(checkpoint: &Checkpoint) -> Self {
        Self {
            session_id: Some(checkpoint.session_id.clone()),
            checkpoint_id: Some(checkpoint.checkpoint_id),
            agent: checkpoint.agent.clone(),
            prompt: checkpoint.prompt.clone(),
            created_at: Some(checkpoint.created_at.clone()),
        }
    }
}

/// What was taken back.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Taken {
    /// The prompt of a turn.
    #[serde(flatten)]
    pub prompt: Prompt,
    /// The files before it.
    pub snapshot_id: String,
    /// The files after it; null: what was there now.
    pub end_snapshot_id: Option<String>,
    /// Whether the end of the turn was noted; else what people did until the next prompt is in it, too.
    pub end_noted: bool,
}

/// Lines of a file, counted from 1. When `last` is before `first` there is none left: what was there was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Lines {
    /// The first.
    pub first: usize,
    /// The last.
    pub last: usize,
}

impl From<&Range<usize>> for Lines {
    fn from(range: &Range<usize>) -> Self {
        Self {
            first: range.start + 1,
            last: range.end,
        }
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last.checked_sub(self.first) {
            Some(0) => write!(f, "{}", self.first),
            Some(_) => write!(f, "{}-{}", self.first, self.last),
            None => write!(f, "before {}", self.first),
        }
    }
}

/// Lines that stay beside something that was taken back.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Adjacent {
    /// The path.
    #[serde(flatten, with = "Text::<PathField>")]
    pub path: RepoPath,
    /// Its lines as they are then.
    pub lines: Vec<Lines>,
}

/// Where lines are: `line 3`, `before line 3` where none is left, `lines 3-5, 7`; nothing without any.
pub fn place_of(lines: &[Lines]) -> Option<String> {
    match lines {
        [] => None,
        [one] if one.last < one.first => Some(format!("before line {}", one.first)),
        [one] if one.last == one.first => Some(format!("line {one}")),
        many => {
            let shown: Vec<String> = many.iter().map(Lines::to_string).collect();
            Some(format!("lines {}", shown.join(", ")))
        }
    }
}

/// A path in which the same lines were changed since, or something was put directly beside them.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Conflict {
    /// The path.
    #[serde(flatten, with = "Text::<PathField>")]
    pub path: RepoPath,
    /// Why.
    pub reason: Reason,
    /// The lines of the present; empty where it is not about lines.
    pub lines: Vec<Lines>,
    /// Whether they are as they were, and all that came since lies directly beside them: nothing tells which of both comes first.
    pub adjacent: bool,
    /// The later prompts that did it, oldest first; empty when people did.
    pub prompts: Vec<Prompt>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.path.display())?;
        match place_of(&self.lines) {
            None => write!(f, " ({})", self.reason.as_str())?,
            Some(place) => write!(f, " {place}")?,
        }
        let prompts: Vec<String> = self.prompts.iter().map(Prompt::to_string).collect();
        if !prompts.is_empty() {
            write!(f, " by {}", prompts.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let session = self.session_id.as_deref().unwrap_or_default();
        f.write_str(&of_checkpoint(
            session,
            self.checkpoint_id.unwrap_or_default(),
        ))
    }
}

/// A path that several turns may have changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Unattributed {
    /// The path.
    #[serde(flatten, with = "Text::<PathField>")]
    pub path: RepoPath,
    /// The sessions that were at work.
    pub session_ids: Vec<String>,
}
