//! Put what a run made onto the present.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Applying, OnConflict};
use crate::error::{Code, Error, Result};
use crate::git::path::RepoPath;
use crate::json::{self, Texts};
use crate::ops::Context;
use crate::ops::outcome::{Changes, Conflict};
use crate::ops::request::DryRun;
use crate::ops::swap::recover;
use crate::store::state::Mode;
use crate::store::stored::Stored;
use crate::store::trigger::SwapKind;

json::fields! {
    Merged = "merged",
}

/// What came of a run that was put onto the present.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AppliedRun {
    /// The run that was applied.
    pub run: u64,
    /// The snapshot that the run began with.
    pub snapshot_id: String,
    /// What the run left.
    pub experiment_id: String,
    /// What was there before; null when nothing was written.
    pub backup_id: Option<String>,
    /// Nothing was to be written.
    pub dry_run: bool,
    /// Paths touched.
    pub changes: Changes,
    /// Paths that both the run and the present had changed, and that came together.
    #[serde(flatten, with = "Texts::<Merged>")]
    pub merged: Vec<RepoPath>,
    /// Paths that need a decision.
    pub conflicts: Vec<Conflict>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// A run: its number, what it began with, and what it left.
pub type RunSides = (u64, Stored, Stored);

/// Puts what a run made onto the present: a swap, backed up and undoable. `of` ends the title of the backup. Which run it is is said by
/// `choose`, when nothing changes any more.
///
/// # Errors
/// `ALREADY_IN_PAST`; `CONFLICT` where that is asked for; `WOULD_OVERWRITE`; as `choose` and a restore. Nothing is changed then.
pub fn apply_run(
    ctx: &Context<'_>,
    of: &str,
    (on_conflict, dry_run): (OnConflict, DryRun),
    choose: impl FnOnce() -> Result<RunSides>,
) -> Result<AppliedRun> {
    let store = ctx.store()?;
    let begun = recover::begin(ctx, store, SwapKind::Apply.as_str(), dry_run)?;
    let put = || {
        if store.dir.state()?.mode == Mode::Past {
            let message = "a run is applied to the present, and this is the past";
            return Err(Error::new(Code::AlreadyInPast, message).hint("run 'tw return' first"));
        }
        let (run, snapshot, experiment) = choose()?;
        let sides = (&snapshot, &experiment);
        let applying = Applying::of_run(ctx, store, sides, of, on_conflict)?;
        let put = applying.run(dry_run)?;
        Ok(AppliedRun {
            run,
            snapshot_id: snapshot.id.to_string(),
            experiment_id: experiment.id.to_string(),
            backup_id: put.backup_id,
            dry_run: put.dry_run,
            changes: put.changes,
            merged: put.merged.merged.into_iter().map(RepoPath::new).collect(),
            conflicts: put.merged.conflicts.into_iter().map(Into::into).collect(),
            notices: put.notices,
        })
    };
    begun.answer(put(), |applied| &mut applied.notices)
}
