//! Runs: a visit to an issue's snapshot, from `issue start` to `return`.

use super::{Started, desk, find, load, update};
use crate::error::Result;
use crate::ops::Context;
use crate::ops::outcome::Returned;
use crate::ops::request::{DiffSides, Travel};
use crate::ops::{diff, travel};
use crate::store::Store;
use crate::store::id::IssueId;
use crate::store::issue::{DiffStat, Issue, Run, Status};
use crate::store::state::State;

/// Travels to an issue's snapshot and opens a run. Gives the run's number with it.
///
/// # Errors
/// Those of [`super::get`] and of [`travel::travel`]; then the issue is as it was.
pub fn start(ctx: &Context<'_>, text: &str, request: &Travel) -> Result<Started> {
    let store = Store::open(&ctx.repo)?;
    let id = find(&store, text)?;
    let mut notices = desk::take_in(ctx, &store, id)?;
    let loaded = load(&store, id)?;
    notices.extend(loaded.notices);
    if loaded.issue.status.is_closed() {
        notices.push(format!(
            "the issue is closed as {}; 'tw issue reopen {id}' opens it again",
            loaded.issue.status.as_str()
        ));
    }
    let request = Travel {
        address: loaded.issue.snapshot_id.to_string(),
        issue_id: Some(id.to_string()),
        ..request.clone()
    };
    let mut travelled = travel::travel(ctx, &request)?;
    let mut number = loaded.issue.next_run();
    if !travelled.dry_run {
        let at = ctx.env.now().rfc3339();
        let (run, _) = update(ctx, &store, id, "start", |issue| {
            let number = issue.next_run();
            let run = Run::begin(number, at.clone(), travelled.backup_id.clone());
            issue.runs.push(run);
            if issue.status == Status::Open {
                issue.status = Status::Experimenting;
            }
            Ok(number)
        })?;
        number = run;
        notices.extend(desk::write(ctx, &store, id));
    }
    travelled.notices.splice(0..0, notices);
    Ok(Started {
        issue_id: id.to_string(),
        run: number,
        travelled,
    })
}

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

/// Closes the run that a return ended, with how much its experiment changed. Whatever fails is said, never an error: the
/// working tree has returned.
pub fn close_run(ctx: &Context<'_>, closing: &Closing, returned: &Returned) -> Vec<String> {
    match try_close(ctx, closing, returned) {
        Ok(notices) => notices,
        Err(error) => vec![format!(
            "the run of issue {} could not be closed: {}",
            closing.issue,
            error.message()
        )],
    }
}

fn try_close(ctx: &Context<'_>, closing: &Closing, returned: &Returned) -> Result<Vec<String>> {
    let store = Store::open(&ctx.repo)?;
    let id = closing.issue;
    let mut notices = desk::take_in(ctx, &store, id)?;
    let now = ctx.env.now().rfc3339();
    let diff_stat = match diff_stat(ctx, closing, returned) {
        Ok(stat) => stat,
        Err(error) => {
            notices.push(format!("no diff stat: {}", error.message()));
            None
        }
    };
    let (number, _) = update(ctx, &store, id, "return", |issue| {
        let number = run_of(issue, closing, returned, &now);
        if let Some(run) = issue.run_mut(Some(number)) {
            run.ended_at = Some(now.clone());
            run.experiment_id.clone_from(&returned.experiment_id);
            run.diff_stat = diff_stat;
        }
        Ok(number)
    })?;
    notices.extend(desk::write(ctx, &store, id));
    notices.push(format!("run {number} of issue {id} is closed"));
    Ok(notices)
}

/// The run whose backup this return brought back. A start that was killed after its travel left none: then one is made.
fn run_of(issue: &mut Issue, closing: &Closing, returned: &Returned, now: &str) -> u64 {
    let same = |run: &&Run| run.backup_id.as_deref() == Some(&returned.backup_id);
    if let Some(run) = issue.runs.iter().rev().find(same) {
        return run.run;
    }
    let open = |run: &&Run| run.ended_at.is_none() && run.backup_id.is_some();
    if let Some(run) = issue.runs.iter().rev().find(open) {
        return run.run;
    }
    let number = issue.next_run();
    let started = closing.entered_at.clone().unwrap_or_else(|| now.to_owned());
    let run = Run::begin(number, started, Some(returned.backup_id.clone()));
    issue.runs.push(run);
    number
}

fn diff_stat(
    ctx: &Context<'_>,
    closing: &Closing,
    returned: &Returned,
) -> Result<Option<DiffStat>> {
    let (Some(from), Some(to)) = (&closing.snapshot, &returned.experiment_id) else {
        return Ok(None);
    };
    let sides = DiffSides {
        from: Some(from.clone()),
        to: Some(to.clone()),
        ..DiffSides::default()
    };
    let diff = diff::diff(ctx, &sides)?;
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Ok(Some(DiffStat {
        files: number(diff.files.len()),
        insertions: number(diff.insertions),
        deletions: number(diff.deletions),
    }))
}
