//! `tw restore -L`: lines of one file put back, named instead of asked about.
//!
//! The lines are the snapshot's. Where the file differs there, each hunk is put back whole, as [`hunks`] does once it was chosen:
//! afterwards the lines that were named stand in the file together, as in the snapshot, and no hunk elsewhere was touched.
//! Promises: what a dry run told is what is done, or nothing is: the file may be pinned to what it was then.

use super::hunks::{self, FileOffer, Offer, Part};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::path;
use crate::git::textdiff;
use crate::git::tree;
use crate::ops::Context;
use crate::ops::line_range::LineRange;
use crate::ops::outcome::{Restored, RestoredLines};
use crate::ops::pathspec::Pathspec;
use crate::ops::put_back::refuse_unknown;
use crate::ops::request::{DryRun, Restore};

/// Which lines.
#[derive(Debug, Clone)]
pub struct LineSelection {
    /// Of the snapshot's file.
    pub ranges: Vec<LineRange>,
    /// What the file has to be now.
    pub expect: Option<String>,
}

/// Puts lines of one file back.
///
/// # Errors
/// `USAGE` when not one file is named, it has no lines to choose from, or not so many; `PATH_NOT_FOUND`; `BUSY` when the file is not
/// what was expected; else as [`hunks::put`].
pub fn restore(ctx: &Context<'_>, request: &Restore, wanted: &LineSelection) -> Result<Restored> {
    let path = one_path(ctx, request)?;
    let offer = hunks::offer(ctx, request)?;
    let file = offer.files.iter().find(|file| file.path == path);
    let here = match file {
        Some(file) => file.here.map(|node| node.oid),
        None => same_on_both_sides(ctx, request, &offer, &path)?,
    };
    let found = here.map(|oid| oid.to_string());
    if wanted.expect.is_some() && wanted.expect != found {
        let message = format!(
            "'{}' is not what it was expected to be",
            path::display(&path)
        );
        return Err(Error::new(Code::Busy, message)
            .hint("look again: --dry-run tells what it is, and what would be done"));
    }
    let (parts, patch) = match file {
        Some(file) => chosen(ctx, &offer, file, &wanted.ranges)?,
        None => (Vec::new(), None),
    };
    let is_chosen = |file: &FileOffer| {
        if file.path == path {
            parts.clone()
        } else {
            Vec::new()
        }
    };
    let all: Vec<Vec<Part>> = offer.files.iter().map(is_chosen).collect();
    let mut restored = match request.dry_run {
        DryRun::Yes => hunks::look(ctx, &offer, &all)?,
        DryRun::No => hunks::put(ctx, &offer, &all)?,
    };
    restored.lines = here.map(|found| RestoredLines { found, patch });
    Ok(restored)
}

/// The path that is named, from the root of the working tree.
fn one_path(ctx: &Context<'_>, request: &Restore) -> Result<Vec<u8>> {
    let spec = Pathspec::parse(ctx, &request.paths)?;
    match spec.plain().as_deref() {
        Some([path]) if request.paths.len() == 1 && !path.is_empty() => Ok(path.clone()),
        _ => Err(Error::usage("-L takes lines of one file")
            .hint("name it: tw restore SNAPSHOT -L START,END PATH")),
    }
}

/// The content of a file that differs nowhere.
fn same_on_both_sides(
    ctx: &Context<'_>,
    request: &Restore,
    offer: &Offer,
    path: &[u8],
) -> Result<Option<Oid>> {
    let store = ctx.store()?;
    for word in &request.paths {
        refuse_unknown(ctx, store, &offer.stored, word)?;
    }
    let there = tree::find(&|oid| store.objects.read_tree(oid), offer.stored.tree, path)?;
    match there {
        Some(node) if node.is_dir() => {
            let message = format!("'{}' is a directory", path::display(path));
            Err(Error::usage(message).hint("-L takes lines of one file"))
        }
        Some(node) => Ok(Some(node.oid)),
        None => Err(no_lines(offer, path)),
    }
}

fn no_lines(offer: &Offer, path: &[u8]) -> Error {
    let message = format!("'{}' has no lines to choose from", path::display(path));
    let whole = format!("'tw restore {} PATH' restores all of it", offer.stored.id);
    Error::usage(message).hint(whole)
}

/// The hunks that are meant, and all of them as a patch.
fn chosen(
    ctx: &Context<'_>,
    offer: &Offer,
    file: &FileOffer,
    ranges: &[LineRange],
) -> Result<(Vec<Part>, Option<Vec<u8>>)> {
    let Some((here, there)) = &file.texts else {
        return Err(no_lines(offer, &file.path));
    };
    let lines = textdiff::count_lines(there);
    // Each range by itself: two of them do not meet where nobody named a line between.
    let ranges = ranges.iter().map(|range| range.of(lines));
    let ranges: Vec<_> = ranges.collect::<Result<_>>()?;
    let mut found = textdiff::hunks(here, there, 0)?;
    found.retain(|hunk| {
        let mut ranges = ranges.iter();
        ranges.any(|range| textdiff::touches(&hunk.new, range, lines))
    });
    let parts: Vec<Part> = found.into_iter().map(Part::Lines).collect();
    let patch = file.patch(ctx, &parts)?;
    Ok((parts, patch))
}
