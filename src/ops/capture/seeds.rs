//! Ids that snapshots took from git's index and nobody has proven yet: proven by content, where no command waits.
//!
//! A snapshot that relies on such ids puts its own into a list. The work in the background reads the files behind them. What is
//! as its id says loses the mark in the cache; what is not is hashed by the next look. What came out is noted for each snapshot
//! of the list, for `show`: how many ids are still unproven (their files changed before anybody looked), and which paths it has
//! with other bytes than their files had.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Derived;
use crate::env::clock_nanos;
use crate::error::Result;
use crate::git::fs::{self, Durable, Root};
use crate::git::tree;
use crate::ops::Context;
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::lock::{Hold, WorktreeLock};
use crate::store::state::{path_from_stored, stored_path};
use crate::store::stored::Stored;
use crate::worktree::cache;
use crate::worktree::capture::{Hashing, Proven, prove_seeds};
use crate::worktree::manifest::{DirFlags, FileFlags};
use crate::worktree::plan::Takes;
use crate::worktree::scan::Ctime;

/// The snapshots of this worktree that rely on unproven ids, one to a line.
const LIST: &str = "unproven";

/// What came out, by snapshot, beside what all worktrees share.
const NOTES: &str = "seeds-proven";

/// What came out for one snapshot.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Note {
    /// How many ids nobody can prove any more.
    unproven: u64,
    /// Paths whose files had other bytes.
    #[serde(default)]
    wrong: Vec<String>,
}

/// Remembers that a snapshot relies on unproven ids.
pub fn remember(store: &Store, id: &SnapshotId) -> Result<()> {
    let file = store.dir.file(LIST);
    let mut list = fs::read_optional(&file)?.unwrap_or_default();
    list.extend_from_slice(format!("{id}\n").as_bytes());
    // Nobody waits for the disk: without the list the ids merely stay unproven for longer.
    fs::write_atomic(&file, &list, Durable::No)
}

/// Whether anything is to be proven. Costs a look at one name.
pub fn is_due(ctx: &Context<'_>) -> bool {
    fs::is_there(&ctx.state_dir().file(LIST)).unwrap_or(false)
}

/// Proves all ids of the cache that are unproven.
///
/// # Errors
/// `BUSY` during a swap; a file that cannot be read.
pub fn prove(ctx: &Context<'_>) -> Result<()> {
    if !is_due(ctx) {
        return Ok(());
    }
    let store = ctx.store()?;
    // Without waiting: work in the background gives way to a swap.
    let _lock = WorktreeLock::acquire(store.dir.path(), Hold::Shared, "prove", Duration::ZERO)?;
    let list = fs::read_optional(&store.dir.file(LIST))?.unwrap_or_default();
    let proven = prove_cache(ctx, store)?;
    note(store, &list, &proven)?;
    // A snapshot may have come in between: its own work comes after it.
    if fs::read_optional(&store.dir.file(LIST))?.as_deref() == Some(&list[..]) {
        fs::remove_optional(&store.dir.file(LIST))?;
    }
    Ok(())
}

/// Proves the ids of the cache and writes it back.
fn prove_cache(ctx: &Context<'_>, store: &Store) -> Result<Proven> {
    let file = store.dir.file("cache");
    let Some((mut manifest, mut meta)) = cache::load(&file, store.objects.format()) else {
        return Ok(Proven::default());
    };
    let how = Hashing {
        started: clock_nanos(),
        ctime: Ctime::of(&ctx.repo)?,
        modes_from_disk: ctx.repo.file_mode()?,
        likely: None,
    };
    let root = Root::open(ctx.repo.worktree_root())?;
    let proven = prove_seeds(&root, &mut manifest, how, &|_, _| true)?;
    for at in manifest.dirs_in_memory() {
        for file in manifest.files_mut(at) {
            if file.flags.has(FileFlags::TO_HASH) {
                // The cache keeps no file without an id; this one is not believed.
                file.flags = file.flags.without(FileFlags::TO_HASH) | FileFlags::RACY;
            }
        }
    }
    for dir in &mut manifest.dirs {
        dir.flags = dir.flags.without(DirFlags::DIRTY);
    }
    if proven.looked_at > 0 {
        meta.derived = Derived::of(&manifest).kept();
        cache::save(&file, &manifest, &meta, store.objects.format())?;
    }
    Ok(proven)
}

/// Notes for each snapshot of the list what came out.
fn note(store: &Store, list: &[u8], proven: &Proven) -> Result<()> {
    let mut notes = notes(store)?;
    let ids = String::from_utf8_lossy(list);
    for id in ids.lines().filter_map(SnapshotId::parse) {
        let Some(commit) = store.refs.read(&crate::store::names::snapshot_ref(&id))? else {
            continue;
        };
        let stored = store.read(&id, commit)?;
        let mut note = Note::default();
        for (path, oid) in &proven.wrong {
            // Its file did not change in between: its stamp is the one that the id was taken by.
            if tree::find(&store.objects, stored.tree, path)?.is_some_and(|node| node.oid == *oid) {
                note.wrong.push(stored_path(path));
            }
        }
        // Ids only ever lose the mark: where as many were looked at now as there were then, they are the same.
        let seen = u64::try_from(proven.same + proven.wrong.len()).unwrap_or(0);
        note.unproven = stored
            .record
            .seeds_unproven
            .unwrap_or(0)
            .saturating_sub(seen);
        notes.insert(id.to_string(), note);
    }
    let bytes = serde_json::to_vec(&notes).unwrap_or_default();
    fs::write_atomic(&store.common(NOTES), &bytes, Durable::No)
}

/// The notes of snapshots that are still there.
fn notes(store: &Store) -> Result<BTreeMap<String, Note>> {
    let bytes = fs::read_optional(&store.common(NOTES))?.unwrap_or_default();
    let mut notes: BTreeMap<String, Note> = serde_json::from_slice(&bytes).unwrap_or_default();
    let mut failed = Ok(());
    notes.retain(|id, _| {
        let Some(id) = SnapshotId::parse(id) else {
            return false;
        };
        let found = store.refs.read(&crate::store::names::snapshot_ref(&id));
        match found {
            Ok(found) => found.is_some(),
            Err(error) => {
                failed = Err(error);
                true
            }
        }
    });
    failed?;
    Ok(notes)
}

/// What to say when files of a snapshot are put in place of which some had other bytes; of those that are meant, where not all are.
///
/// # Errors
/// Notes that cannot be read.
pub fn warning(store: &Store, stored: &Stored, only: Option<Takes<'_>>) -> Result<Option<String>> {
    if stored.record.seeds_unproven.is_none() {
        return Ok(None);
    }
    let Some(note) = notes(store)?.remove(&stored.id.to_string()) else {
        return Ok(None);
    };
    let is_meant = |path: &&String| {
        only.is_none_or(|is_meant| path_from_stored(path).is_some_and(|path| is_meant(&path)))
    };
    let wrong: Vec<&str> = note
        .wrong
        .iter()
        .filter(is_meant)
        .map(String::as_str)
        .collect();
    let Some((first, others)) = wrong.split_first() else {
        return Ok(None);
    };
    let paths = match others.len() {
        0 => format!("'{first}' has"),
        1 => format!("'{first}' and 1 other path have"),
        count => format!("'{first}' and {count} other paths have"),
    };
    let id = &stored.id;
    Ok(Some(format!(
        "{paths} the bytes of git's index in {id}, which may differ from what the file had then (line ends, a filter); all of them: tw show {id}"
    )))
}

/// Puts into a snapshot's document what is known of its ids by now.
pub fn tell(store: &Store, id: &SnapshotId, json: &mut Map<String, Value>) -> Result<()> {
    if !json.contains_key("seeds_unproven") {
        return Ok(());
    }
    let Some(note) = notes(store)?.remove(&id.to_string()) else {
        return Ok(());
    };
    json.insert("seeds_unproven".into(), note.unproven.into());
    if note.unproven == 0 {
        json.remove("seeds_unproven");
    }
    if !note.wrong.is_empty() {
        json.insert("seeds_wrong".into(), note.wrong.into());
    }
    Ok(())
}
