//! The end of a run: what a return from an issue's snapshot, or a way on from there, notes in the issue.

use super::{desk, update};
use crate::error::Result;
use crate::ops::Context;
use crate::ops::compare::tree_diff;
use crate::store::Store;
use crate::store::id::{IssueId, SnapshotId};
use crate::store::issue::{DiffStat, Issue, Run};
use crate::store::state::State;
use crate::store::stored::not_found;

/// A run that a return is about to close: what the state says before it.
#[derive(Debug, Clone)]
pub struct Closing {
    issue: IssueId,
    snapshot: Option<String>,
    entered_at: Option<String>,
}

impl Closing {
    /// The run of a working tree in the past; None when it was entered for no issue.
    pub fn of(state: &State) -> Option<Self> {
        Some(Self {
            issue: IssueId::parse(state.issue_id.as_deref()?)?,
            snapshot: state.current_snapshot_id.clone(),
            entered_at: state.entered_at.clone(),
        })
    }
}

/// Closes the run that a return or a hop ended, with how much its experiment changed. `backup_id` is the present's. Whatever fails is
/// said, never an error: the working tree has gone.
pub fn close_run(
    ctx: &Context<'_>,
    closing: &Closing,
    backup_id: &str,
    experiment_id: Option<&str>,
) -> Vec<String> {
    match try_close(ctx, closing, backup_id, experiment_id) {
        Ok(notices) => notices,
        Err(error) => vec![format!(
            "the run of issue {} could not be closed: {}",
            closing.issue,
            error.message()
        )],
    }
}

fn try_close(
    ctx: &Context<'_>,
    closing: &Closing,
    backup_id: &str,
    experiment_id: Option<&str>,
) -> Result<Vec<String>> {
    let store = ctx.store()?;
    let id = closing.issue;
    let mut notices = desk::take_in(ctx, store, id)?;
    let now = ctx.env.now().rfc3339();
    let diff_stat = match diff_stat(ctx, store, closing, experiment_id) {
        Ok(stat) => stat,
        Err(error) => {
            notices.push(format!("no diff stat: {}", error.message()));
            None
        }
    };
    let (number, _) = update(ctx, store, id, "return", |issue| {
        let number = run_of(issue, closing, backup_id, &now);
        if let Some(run) = issue.run_mut(Some(number)) {
            run.ended_at = Some(now.clone());
            run.experiment_id = experiment_id.map(str::to_owned);
            run.diff_stat = diff_stat;
        }
        Ok(number)
    })?;
    notices.extend(desk::write(ctx, store, id));
    notices.push(format!("run {number} of issue {id} is closed"));
    Ok(notices)
}

/// The run whose backup this return brought back. A start that was killed after its travel left none: then one is made.
fn run_of(issue: &mut Issue, closing: &Closing, backup_id: &str, now: &str) -> u64 {
    let same = |run: &&Run| run.backup_id.as_deref() == Some(backup_id);
    if let Some(run) = issue.runs.iter().rev().find(same) {
        return run.run;
    }
    let open = |run: &&Run| run.ended_at.is_none() && run.backup_id.is_some();
    if let Some(run) = issue.runs.iter().rev().find(open) {
        return run.run;
    }
    let number = issue.next_run();
    let started = closing.entered_at.clone().unwrap_or_else(|| now.to_owned());
    let run = Run::begin(number, started, Some(backup_id.to_owned()));
    issue.runs.push(run);
    number
}

fn diff_stat(
    ctx: &Context<'_>,
    store: &Store,
    closing: &Closing,
    experiment_id: Option<&str>,
) -> Result<Option<DiffStat>> {
    let (from, to) = match (&closing.snapshot, experiment_id) {
        (Some(from), Some(to)) => (from, to),
        // Without an experiment nothing was changed.
        (Some(_), None) => return Ok(Some(DiffStat::default())),
        (None, _) => return Ok(None),
    };
    let tree = |id: &str| match SnapshotId::parse(id) {
        Some(id) => store.read_id(&id).map(|stored| stored.tree),
        None => Err(not_found(id)),
    };
    let files = tree_diff(ctx, store, tree(from)?, tree(to)?)?;
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Ok(Some(DiffStat {
        files: number(files.len()),
        insertions: number(files.iter().map(|file| file.insertions).sum()),
        deletions: number(files.iter().map(|file| file.deletions).sum()),
    }))
}
