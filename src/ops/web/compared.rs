//! Two snapshots compared, or one with the present.
//!
//! The present changes while it is looked at: whoever asks for the lines of one of its paths says what was shown of it, and is told
//! when that is another by now.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use serde::Serialize;

use super::lines::{self, Lines, What};
use super::shown::another;
use super::{ChangeKey, FILES, File, Rest, ShownChange, Subject, snapshot_id};
use crate::error::{Error, Result};
use crate::git::Oid;
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
    /// What tells all of them from those of another time.
    pub key: ChangeKey,
    /// What differs beyond the content of files, as `tw diff` tells it.
    pub others: Vec<OtherDiff>,
}

/// The paths that differ between a snapshot and another one, or the present, from this one on.
///
/// # Errors
/// `SNAPSHOT_NOT_FOUND`; `PATH_NOT_FOUND` when others differ by now; a damaged object; whatever keeps a file from being read.
pub fn compare(ctx: &Context<'_>, pair: (&str, &str), on: &Rest) -> Result<Compared> {
    let diff = diff(ctx, pair, &Pathspec::default(), Patches::None)?;
    let key = ChangeKey::of_files(&diff.files);
    on.refuse_another(&of_pair(pair), &key)?;
    let shown = diff.files.iter().skip(on.start).take(FILES);
    Ok(Compared {
        paths: shown.map(file_of).collect(),
        total: diff.files.len(),
        key,
        others: diff.others,
    })
}

fn of_pair((from, to): (&str, &str)) -> Subject {
    Subject::Pair(from.to_owned(), to.to_owned())
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

fn file_of(file: &FileDiff) -> File {
    let mode = |mode: u32| (mode != 0).then(|| format!("{mode:06o}"));
    File {
        path: file.path.display(),
        key: Some(ChangeKey::of_file(file)),
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

/// The lines in which a path of the present differs from a snapshot: this many, from this one on.
///
/// # Errors
/// `PATH_NOT_FOUND` when what differs there is another by now.
pub fn lines_with_present(
    ctx: &Context<'_>,
    from: &str,
    shown: &ShownChange,
    (start, count): (usize, usize),
) -> Result<Lines> {
    let store = ctx.store()?;
    let stored = store.read_id(&snapshot_id(from)?)?;
    let mut paths = compare::changed_since(ctx, store, &stored)?;
    paths.retain(|path| shown.may_be(path));
    let word = |path: &Vec<u8>| OsString::from_vec([b":(top,literal)", &path[..]].concat());
    let words: Vec<OsString> = paths.iter().map(word).collect();
    let other = || another(&of_pair((from, PRESENT)));
    if words.is_empty() {
        // No word at all would be everything.
        return Err(other());
    }
    let only = Pathspec::parse(ctx, &words)?;
    let diff = diff(ctx, (from, PRESENT), &only, Patches::Texts)?;
    let mut files = diff.files.iter();
    let file = files.find(|file| ChangeKey::of_file(file) == shown.key);
    file.map(|file| lines_of(file, start, count))
        .ok_or_else(other)
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
