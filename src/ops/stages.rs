//! The stages at which a swap waits for others of which it is part: a swap over all members of a workspace is done in each, or in
//! none.
//!
//! A swap that is part of one stops where nothing was written yet, where all that it needs to be undone is saved, and where its new
//! state is in place; it goes on only when all the others have come as far. An error there is the end of it, and it undoes what it
//! did. Who leads them is `workspaces`.

use crate::error::Result;
use crate::store::workspace::{Covered, Tie};

/// How far a swap has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It is planned, nothing refuses it, and git's locks are held. Nothing is written.
    Prepared,
    /// The present is saved and the journal written. No path is touched.
    Secured,
    /// Files, index and HEAD are in place, and proved where that is due.
    Applied,
}

/// What a swap waits for.
pub trait Together {
    /// Waits until all have come to a stage.
    ///
    /// # Errors
    /// Another one could not: this one has to undo what it did.
    fn reach(&self, stage: Stage) -> Result<()>;

    /// Whether any other has something to do, so that this one takes part although it has not.
    ///
    /// # Errors
    /// As [`Together::reach`].
    fn others_move(&self) -> Result<bool>;

    /// What the journal says of it.
    fn tie(&self) -> Tie;

    /// Told what this one saved.
    fn saved(&self, id: &str);

    /// What the others saved, for the record of the head's.
    fn saved_by_others(&self) -> Vec<Covered>;
}
