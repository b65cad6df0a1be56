//! Words of answers that more than one command gives.

use crate::json;

/// What recovery did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryAction {
    /// There was nothing to recover.
    Nothing,
    /// The swap was undone.
    RolledBack,
    /// It was finished.
    RolledForward,
    /// It had ended: what it left behind was cleared away.
    Cleaned,
    /// What a power cut took of it was put back.
    Repaired,
    /// Files of `tw` itself were put right.
    Mended,
    /// Nothing was done: somebody has to say what becomes of paths that neither side explains.
    Undecided,
}

json::words!(RecoveryAction {
    Nothing = "nothing",
    RolledBack = "rolled-back",
    RolledForward = "rolled-forward",
    Cleaned = "cleaned",
    Repaired = "repaired",
    Mended = "mended",
    Undecided = "undecided",
});

/// Why a return leaves HEAD detached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetachedBy {
    /// Its branch is at another commit.
    BranchMoved,
    /// Its branch is gone.
    BranchGone,
    /// Its branch cannot be read.
    BranchBroken,
    /// Its branch is checked out in another worktree.
    CheckedOutElsewhere,
    /// The tag that it was detached at is gone.
    TagGone,
}

json::words!(DetachedBy {
    BranchMoved = "branch-moved",
    BranchGone = "branch-gone",
    BranchBroken = "branch-broken",
    CheckedOutElsewhere = "checked-out-elsewhere",
    TagGone = "tag-gone",
});

/// Why an undo or a redo leaves HEAD where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadStays {
    /// It has moved since the swap that is taken back.
    Moved,
    /// As a return does.
    Detached(DetachedBy),
}

impl HeadStays {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Moved => "head-moved",
            Self::Detached(by) => by.as_str(),
        }
    }
}

json::stands_as_word!(HeadStays);
