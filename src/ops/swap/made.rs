//! What the swaps of a stay in the past have made where nothing was: it goes with the past, also what the present's rules ignore.
//!
//! The logs do not tell: a level is taken out when its swap is undone, and all levels of the redo log go with the next swap. So each
//! level that a stay adds is kept under a second name as long as the stay lasts. Promises: once a swap has ended in the past what it
//! made is known; in the present nothing is kept.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::{Result, ResultExt};
use crate::git::create;
use crate::git::fs::{self, Durable};
use crate::store::Store;
use crate::store::state::{Journal, Mode, path_from_stored, read_json};

/// The directory beside the logs.
const DIR: &str = "stay";

/// Takes note of a swap that has ended; `level` is its file in a log. Can be run again.
///
/// # Errors
/// The disk refuses.
pub(super) fn note(store: &Store, journal: &Journal, level: &Path) -> Result<()> {
    let dir = store.dir.file(DIR);
    let what = || format!("cannot write '{}'", dir.display());
    if journal.state_before.mode == Mode::Present && dir.exists() {
        // Of a stay before this one.
        std::fs::remove_dir_all(&dir).context(what)?;
    }
    if journal.state_after.mode == Mode::Present || made_of(journal).next().is_none() {
        return Ok(());
    }
    create::private_dir(&dir)?;
    let file = dir.join(format!("{}.json", journal.swap_id));
    if std::fs::hard_link(level, &file).is_ok() || file.exists() {
        return Ok(());
    }
    // A file system without hard links.
    let bytes = fs::read_optional(level)?.unwrap_or_default();
    fs::write_atomic(&file, &bytes, Durable::Yes)
}

/// Forgets a stay that has ended. Can be run again.
pub(super) fn forget(store: &Store, journal: &Journal) -> Result<()> {
    let dir = store.dir.file(DIR);
    if journal.state_after.mode == Mode::Present && dir.exists() {
        std::fs::remove_dir_all(&dir).context(|| format!("cannot remove '{}'", dir.display()))?;
    }
    Ok(())
}

/// The paths that the swaps of this stay have made.
///
/// # Errors
/// `CORRUPT_RECORD` or `NEWER_RECORD` when what was noted cannot be read.
pub fn made_here(store: &Store) -> Result<BTreeSet<Vec<u8>>> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(store.dir.file(DIR)).into_iter().flatten() {
        if let Some(journal) = read_json::<Journal>(&entry?.path())? {
            found.extend(made_of(&journal));
        }
    }
    Ok(found)
}

/// The files and directories that a swap made where nothing was.
fn made_of(journal: &Journal) -> impl Iterator<Item = Vec<u8>> {
    let files = journal.entries.iter();
    let files = files.filter(|entry| entry.before.is_none() && entry.after.is_some());
    let dirs = journal.dirs.iter();
    let dirs = dirs.filter(|dir| dir.before.is_none() && dir.after.is_some());
    files
        .map(|entry| &entry.path)
        .chain(dirs.map(|dir| &dir.path))
        .filter_map(|path| path_from_stored(path))
}
