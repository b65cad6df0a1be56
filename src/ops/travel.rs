//! `tw travel`: a stay in the past begins.

use super::Context;
use super::outcome::Travelled;
use super::request::Travel;
use super::stay::enter::enter;
use crate::error::Result;

/// Puts the working tree back to a snapshot, which begins a stay in the past.
///
/// # Errors
/// `ALREADY_IN_PAST`, `WOULD_OVERWRITE`, `BUSY`, `INTERRUPTED`, `SNAPSHOT_NOT_FOUND`, …; nothing is changed then.
pub fn travel(ctx: &Context<'_>, request: &Travel) -> Result<Travelled> {
    enter(ctx, request)
}
