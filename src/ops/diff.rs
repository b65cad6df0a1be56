//! `tw diff`: two addresses compared.

use super::Context;
use super::address;
use super::compare::{Beyond, Patches, Side, sides_as};
use super::outcome::Diff;
use super::pathspec::Pathspec;
use super::request::DiffSides;
use crate::error::Result;
use crate::store::Store;
use crate::store::state::Mode;

/// Compares two sides: by default the latest snapshot, or in the past the one that was travelled to, with the working tree as it is.
///
/// # Errors
/// As [`address::resolve`]; `USAGE` for a path outside the working tree; whatever keeps a file from being read.
pub fn diff(ctx: &Context<'_>, request: &DiffSides) -> Result<Diff> {
    let store = ctx.store()?;
    let from = match &request.from {
        Some(word) => side(ctx, store, word)?,
        None => side(ctx, store, &usual(store)?)?,
    };
    let to = side(ctx, store, request.to.as_deref().unwrap_or("present"))?;
    let only = Pathspec::parse(ctx, &request.paths)?;
    let patches = if request.patch {
        Patches::Full
    } else {
        Patches::None
    };
    let both = (&from, &to);
    sides_as(
        ctx,
        store,
        both,
        &only,
        patches,
        Beyond::Told,
        request.layout,
    )
}

/// What the working tree is compared with when nothing is named.
fn usual(store: &Store) -> Result<String> {
    let state = store.dir.state()?;
    let entered = match state.mode {
        Mode::Past => state.current_snapshot_id,
        Mode::Present => None,
    };
    Ok(entered.unwrap_or_else(|| "latest".to_owned()))
}

fn side(ctx: &Context<'_>, store: &Store, text: &str) -> Result<Side> {
    if address::is_present(ctx, text)? {
        return Ok(Side::Present);
    }
    Ok(Side::of(&address::resolve(ctx, store, text)?))
}
