//! `tw restore`: files of a snapshot, or all of it, put back into the working tree; or entries of its index into git's.

pub mod hunks;
pub mod lines;
mod staged;

use super::Context;
use super::address;
use super::outcome::Restored;
use super::put_back::{Purpose, put_back};
use super::request::Restore;
use super::swap::recover;
use crate::error::Result;
use crate::store::Store;
use crate::store::stored::Stored;
use crate::store::trigger::SwapKind;

/// Restores all of a snapshot, or the named paths.
///
/// # Errors
/// `PATH_NOT_FOUND` when neither the snapshot nor the working tree has a named path; else as travel.
pub fn restore(ctx: &Context<'_>, request: &Restore) -> Result<Restored> {
    ctx.check_workspace_was_meant()?;
    let store = ctx.store()?;
    let begun = recover::begin(ctx, store, SwapKind::Restore.as_str(), request.dry_run)?;
    begun.answer(put(ctx, store, request), |restored| &mut restored.notices)
}

fn put(ctx: &Context<'_>, store: &Store, request: &Restore) -> Result<Restored> {
    let stored = address::resolve(ctx, store, &request.address)?;
    if request.staged {
        return staged::put_back(ctx, store, &stored, request);
    }
    put_back(ctx, store, &stored, request, &purpose(&stored))
}

fn purpose(stored: &Stored) -> Purpose {
    Purpose {
        operation: SwapKind::Restore,
        title: format!("before restoring from {}", stored.id),
        session: None,
    }
}
