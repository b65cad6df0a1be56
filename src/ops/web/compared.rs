//! Two snapshots compared, or one with the present.
//!
//! The present changes while it is looked at: whoever asks for the lines of one of its paths says which path it was shown under that
//! number, and is told when that is another one by now.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use serde::Serialize;

use super::lines::{self, Lines, What};
use super::{FILES, File, no_such_path, snapshot_id};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::path::RepoPath;
use crate::git::tree::Change;
use crate::ops::Context;
use crate::ops::compare::{self, Beyond, Patches, Side};
use crate::ops::outcome::{Diff, FileDiff, OtherDiff};
use crate::ops::pathspec::Pathspec;

/// What the working tree as it is goes by.
pub const PRESENT: &str = "present";

/// What differs between two sides.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// The paths, from the one asked for on.
    pub paths: Vec<File>,
    /// How many paths there are.
    pub total: usize,
    /// What differs beyond the content of files, as `tw diff` tells it.
    pub others: Vec<OtherDiff>,
}

/// The paths that differ between a snapshot and another one, or the present, from this one on.
///
/// # Errors
/// `SNAPSHOT_NOT_FOUND`; a damaged object; whatever keeps a file from being read.
pub fn compare(ctx: &Context<'_>, from: &str, to: &str, start: usize) -> Result<Compared> {
    let diff = diff(ctx, (from, to), &Pathspec::default(), Patches::None)?;
    let numbered = diff.files.iter().enumerate().skip(start).take(FILES);
    Ok(Compared {
        paths: numbered.map(|(at, file)| file_of(at, file)).collect(),
        total: diff.files.len(),
        others: diff.others,
    })
}

fn diff(
    ctx: &Context<'_>,
    (from, to): (&str, &str),
    only: &Pathspec,
    patches: Patches,
) -> Result<Diff> {
    let store = ctx.store()?;
    let stored = |id: &str| Ok::<_, Error>(Side::of(&store.read_id(&snapshot_id(id)?)?));
    let to = match to {
        PRESENT => Side::Present,
        id => stored(id)?,
    };
    let both = (&stored(from)?, &to);
    compare::sides(ctx, store, both, only, patches, Beyond::Told)
}

fn file_of(number: usize, file: &FileDiff) -> File {
    let mode = |mode: u32| (mode != 0).then(|| format!("{mode:06o}"));
    File {
        number,
        path: file.path.display(),
        status: file.status,
        old_mode: mode(file.old_mode),
        new_mode: mode(file.new_mode),
    }
}

/// The paths that differ between two snapshots.
pub(super) fn between_snapshots(ctx: &Context<'_>, from: &str, to: &str) -> Result<Vec<Change>> {
    let store = ctx.store()?;
    let tree = |id: &str| -> Result<Oid> { Ok(store.read_id(&snapshot_id(id)?)?.tree) };
    let (from, to) = (tree(from)?, tree(to)?);
    crate::git::tree::diff(&|oid| store.objects.read_tree(oid), Some(from), Some(to))
}

/// The lines in which a path of the present differs from a snapshot: so many, from this one on.
///
/// # Errors
/// `PATH_NOT_FOUND` when there are not that many paths, or another one has this number by now.
pub fn lines_with_present(
    ctx: &Context<'_>,
    from: &str,
    (number, shown): (usize, &str),
    (start, count): (usize, usize),
) -> Result<Lines> {
    let store = ctx.store()?;
    let stored = store.read_id(&snapshot_id(from)?)?;
    let paths = compare::changed_since(ctx, store, &stored)?;
    let path = paths.into_iter().nth(number).ok_or_else(no_such_path)?;
    if RepoPath::new(path.clone()).display() != shown {
        let message = "the present is another one by now";
        return Err(Error::new(Code::PathNotFound, message).hint("compare again"));
    }
    let word = OsString::from_vec([b":(top,literal)".as_slice(), &path].concat());
    let only = Pathspec::parse(ctx, &[word])?;
    let diff = diff(ctx, (from, PRESENT), &only, Patches::Texts)?;
    let Some(file) = diff.files.first() else {
        return Err(no_such_path());
    };
    Ok(lines_of(file, start, count))
}

fn lines_of(file: &FileDiff, start: usize, count: usize) -> Lines {
    if file.missing {
        return Lines::none(What::Missing);
    }
    if file.old_oid == file.new_oid {
        return Lines::none(What::Mode);
    }
    if file.binary {
        return Lines::none(What::Binary);
    }
    lines::of_hunks(file.patch.as_deref().unwrap_or_default(), start, count)
}
