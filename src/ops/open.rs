//! A snapshot as a directory of its own that stays until it is closed.

use std::path::PathBuf;

use super::Context;
use super::address;
use super::outcome::Opened;
use super::scratches::place::{self, Place};
use super::scratches::{self, Purpose};
use super::snapshots::view;
use super::swap::recover::Recovery;
use crate::error::Result;
use crate::store::stored::Stored;

/// Lay a snapshot out in a directory of its own.
#[derive(Debug, Clone, Default)]
pub struct Open {
    /// The address of the snapshot.
    pub address: String,
    /// Where; default `<tail>` in the directory of scratches.
    pub dir: Option<PathBuf>,
}

/// Where it would be laid out, when nothing stands in the way. Nothing is made.
///
/// # Errors
/// As [`address::resolve`] and [`Place::find`].
pub fn place(ctx: &Context<'_>, request: &Open) -> Result<PathBuf> {
    let stored = address::resolve(ctx, ctx.store()?, &request.address)?;
    Ok(find_place(ctx, request, &stored)?.dir)
}

fn find_place(ctx: &Context<'_>, request: &Open, stored: &Stored) -> Result<Place> {
    let wanted = match request.dir.as_deref() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        _ => place::base(ctx)?.join(stored.id.tail()),
    };
    Place::find(ctx, &wanted)
}

/// Lays a snapshot out.
///
/// # Errors
/// As [`address::resolve`] and [`scratches::make`]. Nothing is left then.
pub fn open(ctx: &Context<'_>, request: &Open) -> Result<Opened> {
    let recovered = Recovery(scratches::opening::clear_dead(ctx)?);
    recovered.tell(lay_out(ctx, request), |opened| &mut opened.notices)
}

fn lay_out(ctx: &Context<'_>, request: &Open) -> Result<Opened> {
    let store = ctx.store()?;
    let stored = address::resolve(ctx, store, &request.address)?;
    let place = find_place(ctx, request, &stored)?;
    let made = scratches::make(ctx, &stored, &place, Purpose::Open)?;
    Ok(Opened {
        snapshot_id: stored.id.to_string(),
        snapshot: view(store, &stored)?,
        dir: place.dir,
        files: made.files,
        notices: made.notices,
    })
}
