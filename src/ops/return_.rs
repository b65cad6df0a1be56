//! Come home: the stay in the past ends, and what came of it is an experiment.

use super::Context;
use super::issues::run::{Closing, close_run};
use super::outcome::Returned;
use super::request::{DryRun, Return};
use super::stay::guard::{self, Stay};
use super::stay::{ReturnOperation, not_in_past};
use super::swap::recover;
use crate::error::Result;
use crate::store::state::Mode;

/// Returns.
///
/// # Errors
/// `NOT_IN_PAST`, `NOT_APPROVED` for a wrong guard token, `WOULD_OVERWRITE` (with the command that gets home),
/// `VERIFY_FAILED`, `BUSY`, `INTERRUPTED`.
pub fn return_(ctx: &Context<'_>, request: &Return) -> Result<Returned> {
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
    returned.notices.splice(0..0, recovered);
    drop(lock);
    Ok(returned)
}
