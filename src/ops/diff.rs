//! `tw diff`: two addresses compared.

use super::Context;
use super::address;
use super::compare::{Patches, Side, sides};
use super::outcome::Diff;
use super::request::DiffSides;
use crate::error::Result;
use crate::store::Store;

/// Compares two sides: by default the latest snapshot with the present.
///
/// # Errors
/// As [`address::resolve`]; `USAGE` for a path outside the working tree; whatever keeps a file from being read.
pub fn diff(ctx: &Context<'_>, request: &DiffSides) -> Result<Diff> {
    let store = ctx.store()?;
    let from = side(ctx, store, request.from.as_deref().unwrap_or("latest"))?;
    let to = side(ctx, store, request.to.as_deref().unwrap_or("present"))?;
    let only: Vec<Vec<u8>> = request
        .paths
        .iter()
        .map(|word| ctx.repo_path(word))
        .collect::<Result<_>>()?;
    let patches = if request.patch {
        Patches::Full
    } else {
        Patches::None
    };
    sides(ctx, store, (&from, &to), &only, patches)
}

fn side(ctx: &Context<'_>, store: &Store, text: &str) -> Result<Side> {
    if address::is_present(ctx, text)? {
        return Ok(Side::Present);
    }
    Ok(Side::of(&address::resolve(ctx, store, text)?))
}
