//! The split index: a small file of changes over a shared one that stays.
//!
//! The `link` extension names `sharedindex.<id>` and two bitmaps over its entries: which are gone, and which have new
//! content in the first entries of the small file (whose names are empty). The other entries there are new.

use super::arena::Arena;
use std::path::{Path, PathBuf};

use super::cursor::Cursor;
use super::read::{Raw, raw};
use super::{Checksum, Entry, compare, corrupt, ewah};
use crate::error::{Result, ResultExt};
use crate::git::mapped::Bytes;
use crate::git::{ObjectFormat, Oid, path, tree};

/// The `link` extension.
pub(super) struct Link {
    base: Oid,
    /// The two bitmaps, absent when nothing of the shared file changed.
    bitmaps: Vec<u8>,
}

impl Link {
    pub(super) fn parse(payload: &[u8], format: ObjectFormat) -> Result<Self> {
        let mut rest = Cursor::new(payload);
        let base = rest
            .id(format)
            .ok_or_else(|| corrupt("the link extension is too short"))?;
        Ok(Self {
            base,
            bitmaps: rest.take(rest.len()).unwrap_or_default().to_vec(),
        })
    }
}

/// The payload of a `link` to the shared file `base`, of which the entries at `replaced` are in the small file.
pub(super) fn write_link(base: Oid, replaced: &[usize], out: &mut Vec<u8>) {
    out.extend_from_slice(base.as_bytes());
    ewah::write(&[], out);
    ewah::write(replaced, out);
}

/// The shared file's place.
pub(super) fn shared_path(git_dir: &Path, id: Oid) -> PathBuf {
    git_dir.join(format!("sharedindex.{id}"))
}

/// Puts the changes in `small` over the shared file that its link names. Without one it stays as it is.
pub(super) fn merge(mut small: Raw, git_dir: &Path, checksum: Checksum) -> Result<Raw> {
    // A zero id stands for no shared file.
    let Some(link) = small.link.take().filter(|link| !link.base.is_null()) else {
        return Ok(small);
    };
    let file = shared_path(git_dir, link.base);
    let naming = || {
        let name = path::display(file.as_os_str().as_encoded_bytes());
        format!("cannot read shared index '{name}'")
    };
    let base = shared(&file, link.base, checksum).context(naming)?;
    let (deleted, replaced) = bitmaps(&link.bitmaps, base.entries.len())?;
    let mut merged = Raw {
        entries: base.entries,
        paths: base.paths,
        ..small
    };
    replace(&mut merged, &small.entries, &replaced)?;
    remove(&mut merged.entries, &deleted);
    let new = small.entries.get(replaced.len()..).unwrap_or_default();
    add(&mut merged, new, &small.paths)?;
    merged.was_split = true;
    Ok(merged)
}

/// Reads the shared file and makes sure that it is the one meant.
fn shared(file: &Path, wanted: Oid, checksum: Checksum) -> Result<Raw> {
    let bytes = match crate::git::regular::read(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(corrupt("the shared index file is missing").caused_by(error));
        }
        read => read?,
    };
    let base = raw(Bytes::Read(bytes), wanted.format(), checksum)?;
    if base.checksum != wanted {
        return Err(corrupt(format!(
            "the shared index file is {} inside",
            base.checksum
        )));
    }
    if base.link.is_some() {
        return Err(corrupt("the shared index file is split itself"));
    }
    Ok(base)
}

/// The deleted and the replaced positions.
fn bitmaps(bytes: &[u8], count: usize) -> Result<(Vec<usize>, Vec<usize>)> {
    if bytes.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut rest = Cursor::new(bytes);
    let deleted = ewah::read(&mut rest, count)?;
    let replaced = ewah::read(&mut rest, count)?;
    if !rest.is_empty() {
        return Err(corrupt("garbage at the end of the link extension"));
    }
    Ok((deleted, replaced))
}

/// The n-th entry of the small file takes the place of the n-th replaced one, under its name.
fn replace(merged: &mut Raw, small: &[Entry], replaced: &[usize]) -> Result<()> {
    for (number, &place) in replaced.iter().enumerate() {
        let (Some(new), Some(old)) = (small.get(number), merged.entries.get_mut(place)) else {
            return Err(corrupt("a replaced entry is missing"));
        };
        if new.span.len != 0 {
            return Err(corrupt("a replaced entry has a name of its own"));
        }
        let span = old.span;
        // A sparse directory and a file do not stand for one another, whatever the two files say together.
        let is_dir = merged.paths.get(span).ends_with(b"/");
        if is_dir != (new.mode == tree::DIR_MODE) {
            return Err(corrupt(format!(
                "the replaced entry of '{}' is of another kind",
                path::display(merged.paths.get(span))
            )));
        }
        *old = Entry {
            span,
            ..new.clone()
        };
    }
    Ok(())
}

/// Takes out the entries at `deleted`, which is sorted.
fn remove(entries: &mut Vec<Entry>, deleted: &[usize]) {
    let mut gone = deleted.iter().copied().peekable();
    let mut place = 0;
    entries.retain(|_| {
        let keep = gone.next_if_eq(&place).is_none();
        place += 1;
        keep
    });
}

/// Adds the new entries; one whose path and stage exist already wins, as in git.
fn add(merged: &mut Raw, new: &[Entry], names: &Arena) -> Result<()> {
    for entry in new {
        let name = names.get(entry.span);
        if name.is_empty() {
            return Err(corrupt("a new entry has no name"));
        }
        let span = merged.paths.add(name)?;
        merged.entries.push(Entry {
            span,
            ..entry.clone()
        });
    }
    sort(&mut merged.entries, &merged.paths);
    Ok(())
}

/// Sorts by path and stage; of equal keys the last one stays. Quick on runs that are sorted already.
pub(super) fn sort(entries: &mut Vec<Entry>, paths: &Arena) {
    entries.sort_by(|left, right| compare(paths, left, (paths.get(right.span), right.stage)));
    entries.dedup_by(|later, kept| {
        let same = compare(paths, later, (paths.get(kept.span), kept.stage)).is_eq();
        if same {
            std::mem::swap(later, kept);
        }
        same
    });
}
