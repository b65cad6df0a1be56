//! What is asked of an operation by others than its command, too: plain data. Any other request stands with its operation.

use std::ffi::OsString;

use crate::git::textdiff::Layout;
use crate::store::id::SnapshotId;
use crate::store::trigger::Trigger;

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DryRun {
    /// Plan and refuse only.
    Yes,
    /// Really.
    #[default]
    No,
}

impl From<bool> for DryRun {
    /// What a flag asks for.
    fn from(flag: bool) -> Self {
        if flag { Self::Yes } else { Self::No }
    }
}

/// Take a snapshot.
#[derive(Debug, Clone, Default)]
pub struct Take {
    /// Title: first line of the commit's message.
    pub message: Option<String>,
    /// Label to give it.
    pub label: Option<String>,
    /// Globs that bring ignored files in.
    pub include: Vec<String>,
    /// Globs to leave out.
    pub exclude: Vec<String>,
    /// Answer with the newest snapshot when nothing changed.
    pub if_changed: bool,
    /// With `if_changed`: answer with one of these rather than with the newest, where one is as the working tree is now.
    pub preferred: Vec<SnapshotId>,
    /// Who asked.
    pub trigger: Trigger,
    /// Go on where the workspace is `/`, `$HOME` or above.
    pub force: bool,
    /// The caller's session.
    pub session: Option<String>,
    /// The caller's agent.
    pub agent: Option<String>,
    /// What the session is about.
    pub hint: Option<String>,
}

/// Whether patches are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Patches {
    /// Each file's, with all that `git apply` needs.
    Full,
    /// Those of texts: of a binary file only that it differs.
    Texts,
    /// Line counts will do.
    #[default]
    None,
}

/// Compare two addresses.
#[derive(Debug, Clone, Default)]
pub struct DiffSides {
    /// Old side, default `latest`; or both, as `A..B`.
    pub from: Option<String>,
    /// New side, default `present`; behind `A..B` a path.
    pub to: Option<String>,
    /// Only these paths (relative to the current directory) and what lies beneath.
    pub paths: Vec<OsString>,
    /// Whether patches are made.
    pub patches: Patches,
    /// How lines are laid beside each other.
    pub layout: Layout,
}

/// Show a snapshot.
#[derive(Debug, Clone, Default)]
pub struct Show {
    /// Which; default: the one travelled to, else `latest`.
    pub address: Option<String>,
    /// Compare it with the one before.
    pub compared: bool,
    /// Only these paths (relative to the current directory) and what lies beneath.
    pub paths: Vec<OsString>,
    /// Whether patches are made.
    pub patches: Patches,
}

/// Travel to a snapshot.
#[derive(Debug, Clone, Default)]
pub struct Travel {
    /// Where to.
    pub address: String,
    /// Plan only.
    pub dry_run: DryRun,
    /// Leave HEAD and index alone.
    pub files_only: bool,
    /// The issue it is for.
    pub issue_id: Option<String>,
    /// Go on where the workspace is `/`, `$HOME` or above.
    pub force: bool,
    /// In the past: go on from there. What was made there is saved; the present to return to stays the same.
    pub hop: bool,
}

/// What a caller shows before it may end a stay in the past.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Guard {
    /// Nothing: somebody at this machine's command line.
    #[default]
    Unasked,
    /// The token that travel gave; None when the caller has none.
    Token(Option<String>),
    /// The token, or without the right one the word that somebody else's stay is ended. That is recorded.
    TakeOver(Option<String>),
}

/// Return to the present.
#[derive(Debug, Clone, Default)]
pub struct Return {
    /// Whether the caller may.
    pub guard: Guard,
    /// Files to carry over, relative to the current directory.
    pub keep: Vec<OsString>,
    /// Take no experiment of large untracked files.
    pub discard: bool,
    /// Rename what is in the way and cannot be captured.
    pub move_aside: bool,
    /// Plan only.
    pub dry_run: DryRun,
}

/// Put files of a snapshot into the working tree.
#[derive(Debug, Clone, Default)]
pub struct Restore {
    /// Whose files.
    pub address: String,
    /// Which: pathspecs, relative to the current directory; empty means all.
    pub paths: Vec<OsString>,
    /// Put entries of the index back, and no files.
    pub staged: bool,
    /// Plan only.
    pub dry_run: DryRun,
}

/// Which way recovery goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Where it is safe to: back before the commit point, a finished return forward.
    #[default]
    Auto,
    /// Finish the swap.
    Forward,
    /// Undo the swap.
    Back,
}

/// Finish or undo a swap that died.
#[derive(Debug, Clone, Default)]
pub struct Recover {
    /// Which way.
    pub direction: Direction,
    /// Keep the later bytes of paths that neither side explains, without asking.
    pub yes: bool,
}

/// Forget what retention lets go.
#[derive(Debug, Clone, Default)]
pub struct Prune {
    /// List only.
    pub dry_run: DryRun,
    /// Overrides `keep_days`.
    pub keep_days: Option<u32>,
    /// Overrides `keep_last`.
    pub keep_last: Option<usize>,
}
