//! Come home: the stay in the past ends, and what came of it is an experiment.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use super::Context;
use super::issues::run::{Closing, close_run};
use super::outcome::{MemberSwap, Returned};
use super::request::{DryRun, Guard, Return};
use super::stay::ReturnOperation;
use super::stay::guard::{self, Stay};
use super::swap::recover;
use super::workspaces::{self, Partner, WentAlong};
use crate::error::Result;
use crate::git::fs::resolved_but_name;
use crate::store::Store;
use crate::store::state::{Mode, State};
use crate::store::trigger::SwapKind;

/// Brings the present back and ends the stay in the past.
///
/// # Errors
/// `NOT_IN_PAST`, `NOT_APPROVED` for a wrong guard token, `WOULD_OVERWRITE` (with the command that gets home),
/// `VERIFY_FAILED`, `BUSY`, `INTERRUPTED`.
pub fn return_(ctx: &Context<'_>, request: &Return) -> Result<Returned> {
    workspaces::refuse_member_of_stay(ctx, &SwapKind::Return)?;
    let partners = workspaces::partners(ctx)?;
    if !partners.is_empty() {
        return return_together(ctx, request, partners);
    }
    let store = ctx.store()?;
    let begun = recover::begin(ctx, store, SwapKind::Return.as_str(), request.dry_run)?;
    // It may have become one of a workspace while the lock was waited for.
    if !workspaces::partners(ctx)?.is_empty() {
        return begun.again(|| return_(ctx, request), |returned| &mut returned.notices);
    }
    let done = workspaces::refuse_member_of_stay(ctx, &SwapKind::Return)
        .and_then(|()| go_home(ctx, store, request));
    begun.answer(done, |returned| &mut returned.notices)
}

fn go_home(ctx: &Context<'_>, store: &Store, request: &Return) -> Result<Returned> {
    let state = store.dir.state()?;
    if request.dry_run == DryRun::Yes {
        guard::check(&state, &request.guard)?;
        return ReturnOperation::new(ctx, store, state)?.dry_run(request);
    }
    run(ctx, store, state, request)
}

/// Returns with all members of the workspace. Only the head's stay has an issue and a guard.
fn return_together(
    ctx: &Context<'_>,
    request: &Return,
    partners: Vec<Partner>,
) -> Result<Returned> {
    let store = ctx.store()?;
    let (own, keeps) = kept_in_each(ctx, request, &partners);
    let request = &own;
    let of_member = |path: &str| Return {
        keep: keeps.get(path).cloned().unwrap_or_default(),
        guard: Guard::Unasked,
        ..request.clone()
    };
    if request.dry_run == DryRun::Yes {
        recover::refuse_interrupted(store)?;
        let state = store.dir.state()?;
        guard::check(&state, &request.guard)?;
        let mut returned = ReturnOperation::new(ctx, store, state)?.dry_run(request)?;
        let member = |ctx: &Context<'_>, partner: &Partner| {
            let request = of_member(&partner.path);
            in_past(ctx, partner)?.dry_run(&request)
        };
        returned.members = workspaces::look(ctx, &partners, member)?;
        workspaces::without_members(&mut returned.aftermath.stayed, &returned.members);
        return Ok(returned);
    }
    let known = partners.clone();
    let head = || {
        workspaces::unchanged(ctx, &known)?;
        run(ctx, store, store.dir.state()?, request)
    };
    let member = |ctx: &Context<'_>, partner: &Partner| {
        let request = of_member(&partner.path);
        in_past(ctx, partner)?.run(&request)
    };
    let done = workspaces::together(ctx, SwapKind::Return, partners, head, member)?;
    let mut returned = done.joined(|returned| (&mut returned.members, &mut returned.notices));
    workspaces::without_members(&mut returned.aftermath.stayed, &returned.members);
    Ok(returned)
}

/// The stay of a member, which is over where somebody else brought it home.
fn in_past<'a>(ctx: &'a Context<'_>, partner: &Partner) -> Result<ReturnOperation<'a>> {
    let store = ctx.store()?;
    let state = store.dir.state()?;
    if state.mode == Mode::Present {
        return Err(partner.is_home());
    }
    ReturnOperation::new(ctx, store, state)
}

/// What is kept in the head, and in each member by its path: whatever lies in a member's working tree is the member's.
fn kept_in_each(
    ctx: &Context<'_>,
    request: &Return,
    partners: &[Partner],
) -> (Return, HashMap<String, Vec<OsString>>) {
    let mut own = request.clone();
    own.keep.clear();
    let mut keeps: HashMap<String, Vec<OsString>> = HashMap::new();
    for word in &request.keep {
        let path = resolved_but_name(&ctx.cwd.join(word));
        let holder = partners
            .iter()
            .filter_map(|one| Some((one, path.strip_prefix(&one.root).ok()?)))
            .max_by_key(|(one, _)| one.root.components().count());
        // A head may lie inside of a member.
        let head = ctx.repo.worktree_root();
        let is_nearer = |root: &Path| !(head.starts_with(root) && path.starts_with(head));
        match holder {
            Some((one, rest)) if is_nearer(&one.root) && !rest.as_os_str().is_empty() => {
                let kept = keeps.entry(one.path.clone()).or_default();
                kept.push(rest.as_os_str().to_owned());
            }
            _ => own.keep.push(word.clone()),
        }
    }
    (own, keeps)
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
            returned: Some(self.aftermath.clone()),
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
