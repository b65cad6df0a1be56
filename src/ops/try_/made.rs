//! What is done with tries that were made.

use super::{Applied, Apply, Dropped, Logged, Tried, Tries};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::regular;
use crate::ops::Context;
use crate::ops::applying::{OnConflict, apply_run};
use crate::ops::compare::{Beyond, Patches, Side, sides};
use crate::ops::issues::{self, desk};
use crate::ops::kept;
use crate::ops::outcome::Diff;
use crate::ops::pathspec::Pathspec;
use crate::ops::sharing::experiments::{is_shared_try, tried_by_others};
use crate::ops::tries::{Try, TryRun, notices};
use crate::store::Store;
use crate::store::id::{IssueId, SnapshotId};
use crate::store::state::Mode;
use crate::store::stored::Stored;

/// Lists tries, newest first. Those that cannot be read, of ours and of others, hide no other.
///
/// # Errors
/// Their directory cannot be read.
pub fn list(ctx: &Context<'_>) -> Result<Tries> {
    let mut notices = Vec::new();
    let shared = tried_by_others(ctx, ctx.store()?).unwrap_or_else(|error| {
        notices.push(error.message().to_owned());
        Vec::new()
    });
    let (tries, invalid) = kept::all::<Try>(ctx)?.listed();
    Ok(Tries {
        tries,
        shared,
        invalid,
        notices,
    })
}

/// Returns one try, by its id or a part of it.
///
/// # Errors
/// There is none.
pub fn show(ctx: &Context<'_>, name: &str) -> Result<Tried> {
    let record = kept::find::<Try>(ctx, name)?;
    let mut notices = notices(&record.runs);
    if record.ended_at.is_none() {
        notices.push(kept::WITHOUT_END.to_owned());
    }
    let in_past = ctx.store()?.dir.state()?.mode == Mode::Past;
    Ok(Tried {
        record,
        notices,
        in_past,
        is_kept: true,
    })
}

/// What a run changed.
///
/// # Errors
/// There is no such try or run; its experiment is gone.
pub fn diff(ctx: &Context<'_>, name: &str, run: Option<u64>, patches: Patches) -> Result<Diff> {
    let store = ctx.store()?;
    let record = kept::find::<Try>(ctx, name)?;
    let (from, to) = both(store, &record, record.run(run)?)?;
    let both = (&Side::of(&from), &Side::of(&to));
    sides(
        ctx,
        store,
        both,
        &Pathspec::parse(ctx, &[])?,
        patches,
        Beyond::LeftOut,
    )
}

/// What a run began with and what it left: the same, where nothing differs.
fn both(store: &Store, record: &Try, run: &TryRun) -> Result<(Stored, Stored)> {
    let read = |text: &str| -> Result<Stored> {
        let id = SnapshotId::parse(text).ok_or_else(|| {
            Error::new(
                Code::CorruptRecord,
                format!("'{text}' is not the id of a snapshot"),
            )
        })?;
        store.read_id(&id).map_err(|error| match error.code() {
            Code::SnapshotNotFound => error.hint("'tw recover --dropped' may still have it"),
            _ => error,
        })
    };
    let source = read(&record.source)?;
    match (&run.experiment_id, &run.tree) {
        (Some(id), _) => Ok((source, read(id)?)),
        (None, Some(_)) => Ok((source.clone(), source)),
        (None, None) => {
            let message = format!("run {} of {} left nothing", run.run, record.try_id);
            Err(Error::usage(message).hint(format!("tw try show {}", record.try_id)))
        }
    }
}

/// What a run printed.
///
/// # Errors
/// There is no such try or run; its log is gone.
pub fn log(ctx: &Context<'_>, name: &str, run: Option<u64>) -> Result<Logged> {
    let record = kept::find::<Try>(ctx, name)?;
    let run = record.run(run)?;
    let path = kept::dir_of::<Try>(ctx, &record.try_id).join(format!("run-{}.log", run.run));
    let bytes = match (regular::read(&path), &run.error) {
        (Err(error), Some(why)) if regular::is_absent(&error) => {
            let message = format!(
                "run {} of {} did not begin and printed nothing: {why}",
                run.run, record.try_id
            );
            return Err(Error::new(Code::PathNotFound, message)
                .hint(format!("tw try show {}", record.try_id)));
        }
        (read, _) => read.context(|| format!("cannot read '{}'", path.display()))?,
    };
    Ok(Logged {
        try_id: record.try_id.clone(),
        run: run.run,
        log: path.display().to_string(),
        output: String::from_utf8_lossy(&bytes).into_owned(),
        verify_output: run.verify.as_ref().map(|check| check.output_tail.clone()),
    })
}

/// Puts what a run made onto the present: a swap, backed up and undoable. The index stays.
///
/// # Errors
/// `CONFLICT` unless both sides are to be written; `ALREADY_IN_PAST`; `WOULD_OVERWRITE`; as [`diff`]. Nothing is changed then.
pub fn apply(ctx: &Context<'_>, request: &Apply) -> Result<Applied> {
    ctx.check_workspace_was_meant()?;
    let store = ctx.store()?;
    let record = kept::find::<Try>(ctx, &request.name)?;
    let run = record.run(request.run)?;
    let on_conflict = if request.conflicts {
        OnConflict::Markers
    } else {
        OnConflict::Refuse
    };
    let choose = || {
        let (snapshot, experiment) = both(store, &record, run)?;
        Ok((run.run, snapshot, experiment))
    };
    let how = (on_conflict, request.dry_run);
    let mut applied = apply_run(ctx, &record.try_id, how, choose)?;
    if !applied.dry_run {
        let noted = note_applied(ctx, store, &record, run);
        applied.notices.extend(noted);
    }
    Ok(Applied {
        try_id: record.try_id.clone(),
        issue_id: record.issue_id.clone(),
        applied,
    })
}

/// Notes in the issue's record which run is in the present now. The files are there: what keeps it from being noted is said.
fn note_applied(ctx: &Context<'_>, store: &Store, record: &Try, run: &TryRun) -> Vec<String> {
    let issue = record.issue_id.as_deref().and_then(IssueId::parse);
    let (Some(issue), Some(number)) = (issue, run.issue_run) else {
        return Vec::new();
    };
    let at = ctx.env.now().rfc3339();
    let noted = issues::update(ctx, store, issue, "applied", |issue| {
        let run = issue.runs.iter_mut().find(|run| run.run == number);
        if let Some(run) = run {
            run.set_applied(&at);
        }
        Ok(())
    });
    match noted {
        Ok(_) => desk::write(ctx, store, issue),
        Err(error) => vec![format!(
            "that run {number} was applied could not be noted in {issue}: {}",
            error.message()
        )],
    }
}

/// Forgets a try and its logs. One that was shared from here and is gone is forgotten for the others, too, when its whole id is given: an
/// earlier version that dropped it left no word of that. So is one that cannot be read.
///
/// # Errors
/// There is none; the disk refuses.
pub fn drop(ctx: &Context<'_>, name: &str) -> Result<Dropped> {
    let forgotten = kept::forget_named::<Try>(ctx, name);
    let is_gone = |error: &Error| error.code() == Code::SnapshotNotFound;
    if forgotten.as_ref().is_err_and(is_gone) && is_shared_try(ctx, ctx.store()?, name)? {
        kept::note_forgotten::<Try>(ctx, name)?;
        return Ok(Dropped {
            experiments: Vec::new(),
            try_id: name.to_owned(),
        });
    }
    let (try_id, record) = forgotten?;
    let runs = record.into_iter().flat_map(|record| record.runs);
    Ok(Dropped {
        experiments: runs.filter_map(|run| run.experiment_id).collect(),
        try_id,
    })
}
