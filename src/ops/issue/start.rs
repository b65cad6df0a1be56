//! The start of a run: a trip to an issue's snapshot.

use super::Started;
use crate::error::Result;
use crate::ops::Context;
use crate::ops::elsewhere::Files;
use crate::ops::issues::{desk, find, load, snapshot_of, update};
use crate::ops::request::{DryRun, Travel};
use crate::ops::stay::enter::enter;
use crate::ops::workspaces;
use crate::store::issue::{Run, Status};

/// Travels to an issue's snapshot and opens a run. Gives the run's number with it.
///
/// # Errors
/// Those of [`super::get()`] and of a travel; then the issue is as it was.
pub fn start(ctx: &Context<'_>, text: &str, request: &Travel) -> Result<Started> {
    let store = ctx.store()?;
    let id = find(store, text)?;
    let mut notices = match request.dry_run {
        DryRun::Yes => Vec::new(),
        DryRun::No => desk::take_in(ctx, store, id)?,
    };
    let loaded = load(store, id)?;
    notices.extend(loaded.notices);
    if loaded.issue.status.is_closed() {
        notices.push(format!(
            "the issue is closed as {}; 'tw issue reopen {id}' opens it again",
            loaded.issue.status.as_str()
        ));
    }
    // Said before anything is looked at: a trip knows snapshots, and not whose they are.
    let source = snapshot_of(store, &loaded.issue)?;
    notices.extend(Files::of(store, &source)?.notice());
    workspaces::refuse_issue_of_member(ctx, id)?;
    let request = Travel {
        address: loaded.issue.snapshot_id.to_string(),
        issue_id: Some(id.to_string()),
        ..request.clone()
    };
    let mut travelled = enter(ctx, &request)?;
    let mut number = loaded.issue.next_run();
    if !travelled.dry_run {
        let at = ctx.env.now().rfc3339();
        let (run, _) = update(ctx, store, id, "start", |issue| {
            let number = issue.next_run();
            let run = Run::begin(number, at.clone(), travelled.backup_id.clone());
            issue.runs.push(run);
            if issue.status == Status::Open {
                issue.status = Status::Experimenting;
            }
            Ok(number)
        })?;
        number = run;
        notices.extend(desk::write(ctx, store, id));
    }
    travelled.notices.splice(0..0, notices);
    Ok(Started {
        issue_id: id.to_string(),
        run: number,
        travelled,
    })
}
