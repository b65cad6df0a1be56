//! Put what a run changed onto the present: a three-way merge of its snapshot, its experiment and what is there now.
//!
//! A swap like any other: backed up, journalled, one level of the undo log. Paths that conflict get markers in the file and,
//! where git tracks them, their stages in the index; all other entries of the index stay. Refuses whole when a file is in the
//! place of a directory. Writes to no record.

use super::{Applied, Apply};
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::applying::{OnConflict, apply_run};
use crate::ops::issues::{desk, find, load, snapshot_of};
use crate::ops::request::DryRun;
use crate::store::Store;
use crate::store::id::{IssueId, SnapshotId};
use crate::store::issue::{Issue, Run};
use crate::store::names::snapshot_ref;
use crate::store::stored::Stored;

/// Applies a run's changes.
///
/// # Errors
/// `ALREADY_IN_PAST`; `USAGE` when there is no such run, or it has no experiment; `SNAPSHOT_NOT_FOUND` when its snapshot or
/// experiment is gone; `WOULD_OVERWRITE`; else as [`super::get()`] and restore. Nothing is changed then.
pub fn apply(ctx: &Context<'_>, request: &Apply) -> Result<Applied> {
    ctx.check_workspace_was_meant()?;
    let store = ctx.store()?;
    let id = find(store, &request.issue)?;
    let mut notices = match request.dry_run {
        DryRun::Yes => Vec::new(),
        DryRun::No => desk::take_in(ctx, store, id)?,
    };
    let loaded = load(store, id)?;
    notices.extend(loaded.notices);
    let choose = || {
        let run = choose(store, id, &loaded.issue, request.run)?;
        let (snapshot, experiment) = sides(store, &loaded.issue, run)?;
        Ok((run.run, snapshot, experiment))
    };
    let how = (OnConflict::Stages, request.dry_run);
    let mut applied = apply_run(ctx, &id.to_string(), how, choose)?;
    notices.append(&mut applied.notices);
    applied.notices = notices;
    Ok(Applied {
        issue_id: id.to_string(),
        applied,
    })
}

/// What a run began with, and what it left.
fn sides(store: &Store, issue: &Issue, run: &Run) -> Result<(Stored, Stored)> {
    let text = run.experiment_id.as_deref().unwrap_or_default();
    let id = SnapshotId::parse(text).ok_or_else(|| {
        Error::new(
            Code::IssueInvalid,
            format!("'{text}' is not the id of an experiment"),
        )
    })?;
    let gone = |error: Error| match error.code() {
        Code::SnapshotNotFound => error.hint("'tw recover --dropped' may still have it"),
        _ => error,
    };
    let experiment = store.read_id(&id).map_err(gone)?;
    Ok((snapshot_of(store, issue)?, experiment))
}

/// The run that is meant, which has an experiment: without a number the last of which it is here, since others' need not be.
fn choose<'i>(
    store: &Store,
    id: IssueId,
    issue: &'i Issue,
    number: Option<u64>,
) -> Result<&'i Run> {
    let usage = |message: String| {
        Error::new(Code::Usage, message).hint(format!("'tw issue get {id}' shows the runs"))
    };
    let run = if let Some(number) = number {
        issue.runs.iter().find(|run| run.run == number)
    } else {
        let is_here = |run: &&Run| {
            let experiment = run.experiment_id.as_deref().and_then(SnapshotId::parse);
            experiment.is_some_and(|id| matches!(store.refs.read(&snapshot_ref(&id)), Ok(Some(_))))
        };
        let with_experiment = |run: &&Run| run.experiment_id.is_some();
        let mut runs = issue.runs.iter().rev();
        runs.clone()
            .find(is_here)
            .or_else(|| runs.find(with_experiment))
    };
    let run = run.ok_or_else(|| match number {
        Some(number) => usage(format!("issue {id} has no run {number}")),
        None => usage(format!("no run of issue {id} left an experiment")),
    })?;
    match run.experiment_id {
        Some(_) => Ok(run),
        None => Err(usage(format!(
            "run {} of issue {id} left no experiment",
            run.run
        ))),
    }
}
