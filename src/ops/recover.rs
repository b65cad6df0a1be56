//! Finish or undo a swap that died, when asked to.

use super::Context;
use super::outcome::Recovered;
use super::request::Recover;
use super::swap::{copied, recover as swap};
use crate::error::Result;

/// Recovers.
///
/// # Errors
/// What stands against it, with the journal still there.
pub fn recover(ctx: &Context<'_>, request: &Recover) -> Result<Recovered> {
    let store = ctx.store()?;
    copied::check(ctx, store)?;
    // No journal tells of a directory that was being opened.
    super::scratches::opening::clear_dead(ctx)?;
    if !store.dir.has_journal() {
        // Where nothing can be read, nobody knows that there is nothing to do.
        store.dir.state()?;
        if !store.dir.path().exists() {
            return Ok(swap::nothing());
        }
    }
    let lock = ctx.lock(&store.dir, "recover")?;
    let recovered = swap::recover_asked(ctx, store, request)?;
    drop(lock);
    Ok(recovered)
}
