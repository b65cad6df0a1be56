//! One thing that happened, as readers see it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::asked::{Asked, of_page};
use super::meta::Meta;
use crate::json;
use crate::store::checkpoint::Kind;
use crate::store::id::SnapshotId;
use crate::store::snapshot::TakenIn;
use crate::store::trigger::Trigger;
use std::path::PathBuf;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A snapshot was taken.
    Snapshot,
    /// An agent was asked something, or somebody made a checkpoint of its conversation.
    Prompt,
    /// An agent's turn ended.
    TurnEnd,
    /// Travel, return, restore, undo and the like put other content in place.
    Swap,
    /// An issue was reported.
    Issue,
}

json::words!(EntryKind {
    Snapshot = "snapshot",
    Prompt = "prompt",
    TurnEnd = "turn-end",
    Swap = "swap",
    Issue = "issue",
});

impl EntryKind {
    /// What stands for it where there is room for one character, in Unicode or in ASCII.
    pub fn sign(self, unicode: bool) -> char {
        let (sign, ascii) = match self {
            Self::Snapshot => ('○', 'o'),
            Self::Prompt => ('❯', '>'),
            Self::TurnEnd => ('●', '*'),
            Self::Swap => ('⇄', '~'),
            Self::Issue => ('!', '!'),
        };
        if unicode { sign } else { ascii }
    }
}

/// What made an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MadeBy {
    /// Of a snapshot, or of what a swap saved; of a swap that saved nothing its kind.
    Trigger(Trigger),
    /// Of a checkpoint.
    Checkpoint(Kind),
}

impl MadeBy {
    /// The word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Trigger(trigger) => trigger.as_str(),
            Self::Checkpoint(kind) => kind.as_str(),
        }
    }
}

json::stands_as_word!(MadeBy);

/// An entry of the timeline.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "timeline_entry")]
pub struct Entry {
    /// What happened.
    pub kind: EntryKind,
    /// The snapshot that was taken; for a prompt and the end of a turn the files of that moment; for a swap what was there
    /// before it; for an issue its own id.
    pub id: String,
    /// When: RFC 3339, UTC.
    pub at: String,
    /// The snapshot's title, the first line of the prompt, the issue's symptom.
    pub title: String,
    /// The session that it belongs to.
    pub session_id: Option<String>,
    /// The checkpoint of a prompt; of the end of a turn its prompt's; of a snapshot the one that it was taken for.
    pub checkpoint_id: Option<u64>,
    /// How many files changed: since the snapshot before, in the turn, by the swap. Null where that is not known (yet).
    pub files: Option<u64>,
    /// Lines added in them.
    pub insertions: Option<u64>,
    /// Lines removed in them.
    pub deletions: Option<u64>,
    /// That session's agent.
    pub agent: Option<String>,
    /// What made a snapshot (`manual`, `checkpoint`, …), the name of the swap (`travel`, `return`, …), or whether a prompt (`prompt`) or
    /// somebody (`manual`) made a checkpoint.
    #[schemars(with = "Option<String>")]
    pub operation: Option<MadeBy>,
    /// The labels of its snapshot, sorted.
    pub labels: Vec<String>,
    /// The worktree that it happened in; null for an issue.
    pub worktree: Option<String>,
    /// That worktree's random id, where this repository recorded one.
    #[serde(skip)]
    pub(super) worktree_id: Option<String>,
    /// Where the working tree was: `present` or `past`; null for an issue.
    pub taken_in: Option<TakenIn>,
    /// Whether its snapshot has another repository's id in its record.
    pub foreign: bool,
    /// Who is said to have made it, when it came from elsewhere; nobody proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// Where an issue stands now.
    pub status: Option<String>,
    /// The prompt that it belongs to; told to pages and screens alone, which act on it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "of_page")]
    #[schemars(skip)]
    pub prompt: Option<Arc<Asked>>,
    /// All of its text: what a search looks at beside the title.
    #[serde(skip)]
    pub text: String,
    /// What it is made of.
    #[serde(skip)]
    pub(super) source: Source,
}

/// Where an entry comes from: what is compared to tell what changed.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// A snapshot, backup or experiment.
    Record(Arc<Meta>),
    /// A turn: the files at its prompt and at its end, as far as both are known.
    Turn(Option<SnapshotId>, Option<SnapshotId>),
    /// A level of the undo or redo log.
    Level(PathBuf),
    /// Nothing that has files.
    Issue,
}

impl Entry {
    /// An entry that says nothing yet.
    #[cfg(test)]
    pub fn bare(kind: EntryKind, id: &str) -> Self {
        Self::new(kind, id.to_owned(), Source::Issue)
    }

    /// What made it, where that was no checkpoint.
    pub fn trigger(&self) -> Option<&Trigger> {
        match self.operation.as_ref()? {
            MadeBy::Trigger(trigger) => Some(trigger),
            MadeBy::Checkpoint(_) => None,
        }
    }

    /// An entry of this source that says nothing yet.
    pub(super) fn new(kind: EntryKind, id: String, source: Source) -> Self {
        Self {
            kind,
            id,
            at: String::new(),
            title: String::new(),
            session_id: None,
            checkpoint_id: None,
            files: None,
            insertions: None,
            deletions: None,
            agent: None,
            operation: None,
            labels: Vec::new(),
            worktree: None,
            worktree_id: None,
            taken_in: None,
            foreign: false,
            claimed_by: None,
            status: None,
            prompt: None,
            text: String::new(),
            source,
        }
    }
}
