//! `tw undo` and `tw redo`.

use super::Context;
use super::outcome::Undone;
use super::steps::step;
use super::swap::undo_log::Log;
use crate::error::Result;

/// Undoes the last swap.
///
/// # Errors
/// `NOTHING_TO_UNDO`; else as travel and return.
pub fn undo(ctx: &Context<'_>) -> Result<Undone> {
    step(ctx, Log::Undo)
}

/// Brings back what the last undo replaced.
///
/// # Errors
/// `NOTHING_TO_UNDO`; else as travel and return.
pub fn redo(ctx: &Context<'_>) -> Result<Undone> {
    step(ctx, Log::Redo)
}
