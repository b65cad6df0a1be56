//! `tw prune`: what retention lets go, recovered first and under the lock. In a private repository the room is taken back, too.

use super::Context;
use super::outcome::Pruned;
use super::request::{DryRun, Prune};
use super::retention::prune_locked;
use super::swap::recover::recover_by_itself;
use crate::error::Result;
use crate::git::fs;
use crate::store::Store;

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
    let recovered = recover_by_itself(ctx, store)?;
    recovered.tell(forget(ctx, store, request), |pruned| &mut pruned.notices)
}

fn forget(ctx: &Context<'_>, store: &Store, request: &Prune) -> Result<Pruned> {
    let lock = ctx.lock(&store.dir, "prune")?;
    let mut pruned = prune_locked(ctx, store, request)?;
    // What commands were writing that were killed.
    fs::clear_dead_temps(store.dir.path(), fs::Below::Not)?;
    drop(lock);
    // What was forgotten is forgotten, whatever keeps its bytes.
    match super::reclaim::old(ctx) {
        Ok(done) => pruned.reclaimed = done.bytes,
        Err(error) => {
            let said = format!("no room was taken back: {}", error.message());
            pruned.notices.insert(0, said);
        }
    }
    Ok(pruned)
}
