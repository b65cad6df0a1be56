//! From one past to another. What is there becomes an experiment, as with a return; the present to come back to, and its backup, stay
//! the same. What the present ignores stays where it is, as on any trip.

use std::collections::BTreeSet;

use super::ReturnOperation;
use super::experiment::Leaving;
use crate::error::Result;
use crate::ops::capture::Storing;
use crate::ops::outcome::Changes;
use crate::ops::request::DryRun;
use crate::ops::swap::goal::{GitSide, Goal, OperationShare};
use crate::ops::swap::head::head_for;
use crate::ops::swap::{StateAfter, Swapped, changes, prepare, swap};

/// The way to another past, looked at or gone.
pub enum Crossing<'s> {
    /// What it would change.
    Looked(Changes),
    /// It was gone.
    Gone(Box<Swapped<'s>>),
}

impl<'a> ReturnOperation<'a> {
    /// What the swaps of this stay made: it goes, whatever the rules of the past that is gone to say.
    pub fn made(&self) -> &BTreeSet<Vec<u8>> {
        &self.made
    }

    /// The id of the present's backup.
    pub fn backup_id(&self) -> String {
        self.backup.id.to_string()
    }

    /// Index, HEAD and operation of the present: a past that is of files alone has them.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn git_of_present(&self) -> Result<GitSide<'_>> {
        Ok(GitSide {
            stored: &self.backup,
            lists: &self.lists,
            raw_head: head_for(self.ctx, self.store, &self.backup)?.0,
            operation: self.store.operation(&self.backup)?,
            takes: OperationShare::Whole,
        })
    }

    /// What the experiment of this past is called.
    pub fn title(&self) -> String {
        match &self.start {
            Some(start) => format!("experiment on {}", start.id),
            None => "experiment".to_owned(),
        }
    }

    /// Goes on to the past that a goal names.
    ///
    /// # Errors
    /// `WOULD_OVERWRITE`, `BUSY`; nothing is changed then.
    pub fn cross(
        &self,
        goal: Goal<'_>,
        state_after: StateAfter<'_>,
        dry_run: DryRun,
    ) -> Result<Crossing<'a>> {
        self.with_experiment(&Leaving::for_another_past(), |experiment| {
            let goal = goal.leaving(experiment).reversing(self.reversal.clone());
            if dry_run == DryRun::Yes {
                let prepared = prepare(self.ctx, self.store, &goal, &Storing::No)?;
                return Ok(Crossing::Looked(changes(&prepared.plan)));
            }
            let swapped = swap(self.ctx, self.store, &goal, state_after)?;
            Ok(Crossing::Gone(Box::new(swapped)))
        })
    }
}
