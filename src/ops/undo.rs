//! `tw undo` and `tw redo`.

use super::Context;
use super::steps::{Levels, StepRequest, Undone, level_view, step};
use super::swap::undo_log::{self, Log};
use crate::error::Result;

/// Undoes a swap, or brings back what an undo replaced.
///
/// # Errors
/// `NOTHING_TO_UNDO`; `NOT_APPROVED` when it would lead into the past and nobody said so; else as travel and return.
pub fn undo(ctx: &Context<'_>, request: &StepRequest) -> Result<Undone> {
    step(ctx, request)
}

/// The swaps that can be undone or redone, the next first.
///
/// # Errors
/// A level of the log cannot be read.
pub fn levels(ctx: &Context<'_>, log: Log) -> Result<Levels> {
    let levels = undo_log::levels(&ctx.store()?.dir, log)?;
    let levels = (1..).zip(&levels);
    Ok(Levels {
        levels: levels
            .map(|(number, level)| level_view(number, &level.journal))
            .collect(),
    })
}
