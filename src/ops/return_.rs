//! Come home: the stay in the past ends, and what came of it is an experiment.

use super::Context;
use super::issues::run::{Closing, close_run};
use super::outcome::{MemberSwap, Returned};
use super::request::{DryRun, Guard, Return};
use super::stay::guard::{self, Stay};
use super::stay::{ReturnOperation, not_in_past};
use super::swap::recover;
use super::workspaces::{self, Partner, WentAlong};
use crate::error::Result;
use crate::git::path::RepoPath;
use crate::store::Store;
use crate::store::state::{Mode, State, stored_path};

/// Returns.
///
/// # Errors
/// `NOT_IN_PAST`, `NOT_APPROVED` for a wrong guard token, `WOULD_OVERWRITE` (with the command that gets home),
/// `VERIFY_FAILED`, `BUSY`, `INTERRUPTED`.
pub fn return_(ctx: &Context<'_>, request: &Return) -> Result<Returned> {
    workspaces::refuse_member_of_stay(ctx, "return")?;
    let partners = workspaces::partners(ctx)?;
    if !partners.is_empty() {
        return return_together(ctx, request, partners);
    }
    let store = ctx.store()?;
    if request.dry_run == DryRun::Yes {
        recover::refuse_interrupted(store)?;
        let state = store.dir.state()?;
        guard::check(&state, &request.guard)?;
        return ReturnOperation::new(ctx, store, state)?.dry_run(request);
    }
    let lock = ctx.lock(&store.dir, "return")?;
    let recovered = recover::recover_locked(ctx, store, &lock)?;
    let state = store.dir.state()?;
    if state.mode == Mode::Present && !recovered.is_empty() {
        return Err(not_in_past().hint("an interrupted return was finished just now"));
    }
    let mut returned = run(ctx, store, state, request)?;
    returned.notices.splice(0..0, recovered);
    drop(lock);
    Ok(returned)
}

/// Returns with all members of the workspace. Only the head's stay has an issue and a guard; what is kept is the head's.
fn return_together(
    ctx: &Context<'_>,
    request: &Return,
    partners: Vec<Partner>,
) -> Result<Returned> {
    let store = ctx.store()?;
    let of_member = Return {
        keep: Vec::new(),
        guard: Guard::Unasked,
        ..request.clone()
    };
    if request.dry_run == DryRun::Yes {
        recover::refuse_interrupted(store)?;
        let state = store.dir.state()?;
        guard::check(&state, &request.guard)?;
        let mut returned = ReturnOperation::new(ctx, store, state)?.dry_run(request)?;
        let member = |ctx: &Context<'_>, _: &Partner| {
            let store = ctx.store()?;
            ReturnOperation::new(ctx, store, store.dir.state()?)?.dry_run(&of_member)
        };
        returned.members = workspaces::look(ctx, &partners, member)?;
        return Ok(returned);
    }
    let head = || run(ctx, store, store.dir.state()?, request);
    let member = |ctx: &Context<'_>, _: &Partner| {
        let store = ctx.store()?;
        ReturnOperation::new(ctx, store, store.dir.state()?)?.run(&of_member)
    };
    let done = workspaces::together(ctx, "return", partners, head, member)?;
    let mut returned = done.joined(|returned| (&mut returned.members, &mut returned.notices));
    let members = &returned.members;
    let is_member = |path: &RepoPath| {
        let path = stored_path(path.as_bytes());
        members.iter().any(|member| member.path == path)
    };
    // Whatever it is called, it did not stay: it came home by itself.
    returned.stayed.retain(|path| !is_member(path));
    Ok(returned)
}

impl WentAlong for Returned {
    fn in_member(&self, path: String) -> MemberSwap {
        MemberSwap {
            path,
            snapshot_id: None,
            backup_id: Some(self.backup_id.clone()),
            experiment_id: self.experiment_id.clone(),
            written: self.changes.written.len(),
            removed: self.changes.removed.len(),
        }
    }

    fn notices(&self) -> &[String] {
        &self.notices
    }
}

/// Returns, under the lock.
fn run(ctx: &Context<'_>, store: &Store, state: State, request: &Return) -> Result<Returned> {
    let taken_over = guard::check(&state, &request.guard)? == Stay::AnothersTakenOver;
    // The state says it no more once the present is back.
    let closing = Closing::of(&state);
    let operation = ReturnOperation::new(ctx, store, state)?.taking_over(taken_over);
    let mut returned = operation.run(request)?;
    if let Some(closing) = closing {
        returned.notices.extend(close_run(
            ctx,
            &closing,
            &returned.backup_id,
            returned.experiment_id.as_deref(),
        ));
    }
    if taken_over {
        let said = guard::record(ctx, store, &returned);
        returned.notices.extend(said);
    }
    Ok(returned)
}
