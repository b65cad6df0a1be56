//! `tw prune`: what retention lets go, recovered first and under the lock. In a private repository the room is taken back, too.

use super::Context;
use super::outcome::Pruned;
use super::request::{DryRun, Prune};
use super::retention::prune_locked;
use crate::error::Result;

/// Forgets what nothing holds and no keep rule covers.
///
/// # Errors
/// `CORRUPT_RECORD` or `NEWER_RECORD` when something that may hold cannot be read: then
/// nothing is forgotten.
pub fn prune(ctx: &Context<'_>, request: &Prune) -> Result<Pruned> {
    let store = ctx.store()?;
    if request.dry_run == DryRun::Yes {
        return prune_locked(ctx, store, request);
    }
    let mut notices = super::swap::recover::recover_by_itself(ctx, store)?;
    let lock = ctx.lock(&store.dir, "prune")?;
    let mut pruned = prune_locked(ctx, store, request)?;
    drop(lock);
    // What was forgotten is forgotten, whatever keeps its bytes.
    match super::reclaim::old(ctx) {
        Ok(done) => pruned.reclaimed = done.bytes,
        Err(error) => notices.push(format!("no room was taken back: {}", error.message())),
    }
    notices.append(&mut pruned.notices);
    pruned.notices = notices;
    Ok(pruned)
}
