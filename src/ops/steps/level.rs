//! The swaps that can be taken back, as they are shown and answered.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::path::RepoPath;
use crate::json::{self, Texts};
use crate::ops::outcome::{Aftermath, Changes, HeadStays, MemberSwap};
use crate::ops::swap::is_hop;
use crate::ops::swap::undo_log::Log;
use crate::store::state::{Journal, Mode};
use crate::store::trigger::SwapKind;

json::fields! {
    ChangedSince = "changed_since",
    Stayed = "stayed",
}

/// A swap that can be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LevelView {
    /// Its number: 1 is the next.
    pub level: usize,
    /// Its name.
    pub swap_id: String,
    /// What kind of swap it was: `travel`, `return`, `restore`, `revert`, `rewind`, `apply`.
    pub operation: SwapKind,
    /// When it was made, RFC 3339.
    pub at: String,
    /// Where the working tree was before it.
    pub mode_before: Mode,
    /// Where it was after it.
    pub mode_after: Mode,
    /// The snapshot that was travelled to, returned from, or restored; null for other changes.
    pub snapshot_id: Option<String>,
    /// What was there before it.
    pub backup_id: String,
    /// How many paths it touched, directories included.
    pub paths: usize,
}

impl LevelView {
    /// Whether a word of the command line names it.
    pub fn is_named(&self, word: &str) -> bool {
        word == self.level.to_string() || word == self.swap_id || word == self.backup_id
    }

    /// Whether to take it back is to return to the present.
    pub fn leads_home(&self) -> bool {
        self.mode_before == Mode::Present && self.mode_after == Mode::Past
    }

    /// Whether to take it back is to go from the present into the past.
    pub fn leads_into_past(&self) -> bool {
        self.mode_before == Mode::Past && self.mode_after == Mode::Present
    }
}

/// Answer of `undo --list` and `redo --list`: the next first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Levels {
    /// The swaps that can be taken back.
    pub levels: Vec<LevelView>,
}

/// Answer of `undo` and `redo`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Undone {
    /// Which of the two.
    #[schemars(with = "String", extend("enum" = ["undo", "redo"]))]
    pub direction: Log,
    /// What kind of swap was undone or redone: `travel`, `return`, `restore`, `revert`, `rewind`, `apply`.
    pub operation: SwapKind,
    /// The swap that was taken back.
    pub level: LevelView,
    /// Nothing was written.
    pub dry_run: bool,
    /// Where the working tree is afterwards.
    pub mode: Mode,
    /// What was there before this undo; where it is a return, the backup that came back.
    pub backup_id: Option<String>,
    /// The experiment taken, when this left the past.
    pub experiment_id: Option<String>,
    /// Paths touched.
    pub changes: Changes,
    /// Paths changed since the swap; their bytes are in the backup.
    #[serde(flatten, with = "Texts::<ChangedSince>")]
    pub changed_since: Vec<RepoPath>,
    /// Where it is a return: directories left in place whose content changed in the past.
    #[serde(flatten, with = "Texts::<Stayed>")]
    pub stayed: Vec<RepoPath>,
    /// Where it is a return: what that did beside putting files back.
    #[serde(skip)]
    pub returned: Option<Aftermath>,
    /// Why HEAD and index stayed, when they did.
    #[schemars(with = "Option<String>")]
    pub head_stayed: Option<HeadStays>,
    /// The members of the workspace, where it was taken back as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberSwap>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// What a level of a log would take back; `number` counts from the newest.
pub fn level_view(number: usize, journal: &Journal) -> LevelView {
    let (before, after) = (&journal.state_before, &journal.state_after);
    let stands = before.current_snapshot_id.as_ref();
    // A level of the redo log leads back to where the hop that was undone had gone, which is where it stood.
    let is_undone_hop = is_hop(journal) && journal.operation == SwapKind::Undo;
    LevelView {
        level: number,
        swap_id: journal.swap_id.clone(),
        operation: original_kind(journal),
        at: journal.started_at.clone(),
        mode_before: before.mode,
        mode_after: after.mode,
        snapshot_id: match (before.mode, after.mode) {
            (Mode::Past, Mode::Present) => stands.cloned(),
            (Mode::Past, Mode::Past) if is_undone_hop => stands.cloned(),
            _ => after
                .current_snapshot_id
                .clone()
                .filter(|_| before.mode != after.mode)
                .or_else(|| journal.target_id.clone()),
        },
        backup_id: journal.backup_id.clone(),
        paths: journal.entries.len() + journal.dirs.len(),
    }
}

/// The kind of the swap that was made first.
fn original_kind(journal: &Journal) -> SwapKind {
    let kind = journal.reverses.as_ref();
    kind.unwrap_or(&journal.operation).clone()
}
