//! What the swaps of a stay in the past have made where nothing was: it goes with the past, also what the present's rules ignore.
//!
//! The logs do not tell: a level is taken out when its swap is undone, and all levels of the redo log go with the next swap. So each
//! level that a stay adds is kept under a second name as long as the stay lasts. Promises: once a swap has ended in the past what it
//! made is known; in the present nothing is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::journal::made_files;
use crate::error::{Code, Result, ResultExt};
use crate::git::Oid;
use crate::git::create;
use crate::git::fs::{self, Durable};
use crate::git::tree;
use crate::ops::unsaved::Unsaved;
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::state::{Journal, Mode, State, path_from_stored, read_json};

/// The directory beside the logs.
const DIR: &str = "stay";

/// Takes note of a swap that has ended; `level` is its file in a log. Can be run again.
///
/// # Errors
/// The disk refuses.
pub(super) fn note(store: &Store, journal: &Journal, level: &Path) -> Result<()> {
    let dir = store.dir.file(DIR);
    let what = || format!("cannot write '{}'", dir.display());
    if journal.state_before.mode == Mode::Present && fs::is_there(&dir)? {
        // Of a stay before this one.
        std::fs::remove_dir_all(&dir).context(what)?;
    }
    // The one that begins the stay is kept whatever it made: without it nobody knows whether its notes were lost.
    let begins = journal.state_before.mode == Mode::Present;
    let is_told = begins || made_of(journal).next().is_some();
    if journal.state_after.mode == Mode::Present || !is_told {
        return Ok(());
    }
    create::private_dir(&dir)?;
    let file = dir.join(format!("{}.json", journal.swap_id));
    if std::fs::hard_link(level, &file).is_ok() || fs::is_there(&file)? {
        return Ok(());
    }
    // A file system without hard links.
    let bytes = fs::read_optional(level)?.unwrap_or_default();
    fs::write_atomic(&file, &bytes, Durable::Yes)
}

/// Forgets a stay that this swap ended. Can be run again.
pub(super) fn forget(store: &Store, journal: &Journal) -> Result<()> {
    if journal.state_after.mode == Mode::Present {
        forget_stay(store)?;
    }
    Ok(())
}

/// Forgets a stay that has ended. Can be run again.
pub(super) fn forget_stay(store: &Store) -> Result<()> {
    let dir = store.dir.file(DIR);
    if fs::is_there(&dir)? {
        std::fs::remove_dir_all(&dir).context(|| format!("cannot remove '{}'", dir.display()))?;
    }
    Ok(())
}

/// What the swaps of a stay have made.
#[derive(Debug, Clone, Default)]
pub struct MadeHere {
    /// The paths.
    pub paths: BTreeSet<Vec<u8>>,
    /// Sentences about swaps of which that is not known.
    pub untold: Vec<String>,
}

/// What the swaps of the stay of this state have made. What a damaged level does not tell, the other copy of that level does, or for the
/// travel that began the stay the difference between the snapshot it went to and the backup.
///
/// # Errors
/// `NEWER_RECORD` when what was noted is of a newer version; it, or the trees that are compared, cannot be read.
pub fn made_here(store: &Store, state: &State) -> Result<MadeHere> {
    let mut found = MadeHere::default();
    let mut knows_begin = false;
    for path in fs::entries(&store.dir.file(DIR))? {
        let id = swap_id_of(&path);
        let level = match read_level(&path)? {
            None => elsewhere(store, &id),
            level => level,
        };
        match level {
            Some(level) => {
                knows_begin |= level.state_before.mode == Mode::Present;
                found.paths.extend(made_of(&level));
            }
            // What a travel made is in the difference.
            None if id.starts_with("travel-") => {}
            None => found.untold.push(format!(
                "what '{id}' made in the past is not known, for '{}' is damaged: where the present ignores it, it stays",
                path.display()
            )),
        }
    }
    if !knows_begin {
        found.paths.extend(brought_by_travel(store, state)?);
    }
    Ok(found)
}

/// The blobs that the swaps of a stay put where nothing was, by path; what a damaged level says is not among them.
///
/// # Errors
/// `NEWER_RECORD` when what was noted is of a newer version.
pub(super) fn blobs_made_here(store: &Store) -> Result<BTreeMap<Vec<u8>, BTreeSet<Oid>>> {
    let mut found: BTreeMap<Vec<u8>, BTreeSet<Oid>> = BTreeMap::new();
    for file in fs::entries(&store.dir.file(DIR))? {
        let Some(level) = read_level(&file)? else {
            continue;
        };
        for (path, oid) in made_files(&level)? {
            found.entry(path).or_default().insert(oid);
        }
    }
    Ok(found)
}

/// A level as it was noted; None for a damaged one.
fn read_level(path: &Path) -> Result<Option<Journal>> {
    match read_json(path) {
        Err(error) if error.code() == Code::CorruptRecord => Ok(None),
        other => other,
    }
}

/// The id of the swap that a file of the directory is of, also of one that was set aside.
fn swap_id_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let end = name.find(".json").unwrap_or(name.len());
    name[..end].to_owned()
}

/// The level of a swap as another copy has it. On most file systems a log's is the same file under another name.
fn elsewhere(store: &Store, id: &str) -> Option<Journal> {
    let last = store.dir.unsettled().ok().flatten();
    if let Some(last) = last.filter(|journal| journal.swap_id == id) {
        return Some(last);
    }
    let suffix = format!("-{id}.json");
    let dirs = ["undo", "redo", "swaps"].map(|name| store.dir.file(name));
    let entries = dirs.iter().flat_map(std::fs::read_dir).flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(&suffix))
        .find_map(|entry| read_level(&entry.path()).ok().flatten())
}

/// The files that the snapshot of the past has and the present's backup has not, but for what the present left out of it.
fn brought_by_travel(store: &Store, state: &State) -> Result<BTreeSet<Vec<u8>>> {
    let snapshot = |id: &Option<String>| id.as_deref().and_then(SnapshotId::parse);
    let (Some(past), Some(backup)) = (
        snapshot(&state.current_snapshot_id),
        snapshot(&state.backup_id),
    ) else {
        return Ok(BTreeSet::new());
    };
    // A snapshot that was dropped since holds nobody back.
    let Ok(past) = store.read_id(&past) else {
        return Ok(BTreeSet::new());
    };
    let backup = store.read_noted(&backup, state.backup_commit.as_deref())?;
    let unsaved = Unsaved::of_stay(&store.dir)?;
    let written = &unsaved.left_alone.written;
    let is_of_present = |path: &[u8]| unsaved.has(path) && !written.contains(path);
    let changes = tree::diff(&store.objects, Some(backup.tree), Some(past.tree))?;
    let brought = changes.into_iter().filter(|change| change.old.is_none());
    let paths = brought.map(|change| change.path);
    Ok(paths.filter(|path| !is_of_present(path)).collect())
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
