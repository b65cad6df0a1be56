//! A step over a swap that all members of a workspace took part in: taken back in all of them, or in none.

use super::{Along, Step, StepRequest, Undone, along, forgotten_since};
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::outcome::MemberSwap;
use crate::ops::request::DryRun;
use crate::ops::swap::recover;
use crate::ops::swap::undo_log::{self, Log};
use crate::ops::workspaces::{self, Partner, WentAlong};
use crate::store::Store;
use crate::store::state::Mode;
use crate::store::workspace::Tie;

/// Takes the step in the head and in every member that took part.
pub(super) fn step(
    ctx: &Context<'_>,
    store: &Store,
    request: &StepRequest,
    meant: Along,
) -> Result<Undone> {
    let left_out = meant.left_out();
    let (id, partners) = (meant.id, meant.partners);
    let member = |ctx: &Context<'_>, _: &Partner| {
        let request = of_member(ctx.store()?, request, id.as_deref())?;
        Step::find(ctx, ctx.store()?, &request)?.run()
    };
    if request.dry_run == DryRun::Yes {
        recover::refuse_interrupted(store)?;
        let mut undone = Step::find(ctx, store, request)?.run()?;
        undone.members = workspaces::look(ctx, &partners, member)?;
        workspaces::without_members(&mut undone.stayed, &undone.members);
        undone.notices.extend(left_out);
        return Ok(undone);
    }
    let known: Vec<String> = partners.iter().map(|one| one.path.clone()).collect();
    let head = || {
        // Recovery, or another command, may have been faster.
        let now = along(ctx, store, request)?;
        let paths = now.partners.iter().map(|one| &one.path);
        if now.id != id || !paths.eq(&known) {
            let log = request.log;
            return Err(
                Error::new(Code::Busy, format!("the {log} log has changed meanwhile"))
                    .hint(format!("'tw {log} --list' shows what comes next")),
            );
        }
        Step::find(ctx, store, request)?.run()
    };
    let done = workspaces::together(ctx, request.log.into(), partners, head, member)?;
    let mut undone = done.joined(|undone| (&mut undone.members, &mut undone.notices));
    workspaces::without_members(&mut undone.stayed, &undone.members);
    undone.notices.extend(left_out);
    undone
        .notices
        .extend(forgotten_since(ctx, &undone.level.at));
    Ok(undone)
}

/// The same step, over the member's own level of the swap.
fn of_member(store: &Store, request: &StepRequest, meant: Option<&str>) -> Result<StepRequest> {
    let log: Log = request.log;
    for level in undo_log::levels(&store.dir, log)? {
        if Tie::of(&level.journal).is_some_and(|tie| Some(&*tie.id) == meant) {
            return Ok(StepRequest {
                level: Some(level.journal.swap_id),
                into_past: true,
                ..request.clone()
            });
        }
    }
    let message = format!("the swap is not in its {log} log any more");
    Err(Error::new(Code::NothingToUndo, message)
        .hint(format!("'tw {log} --list' shows what is there")))
}

impl WentAlong for Undone {
    fn in_member(&self, path: String) -> MemberSwap {
        let snapshot_id = match self.mode {
            Mode::Past => self.level.snapshot_id.clone(),
            Mode::Present => None,
        };
        MemberSwap {
            path,
            snapshot_id,
            backup_id: self.backup_id.clone(),
            experiment_id: self.experiment_id.clone(),
            written: self.changes.written.len(),
            removed: self.changes.removed.len(),
            returned: self.returned.clone(),
        }
    }

    fn notices(&self) -> &[String] {
        &self.notices
    }
}
