//! A backup of the present that can be read, and of which something is lost: the way home proves all that it puts back, and refuses.
//!
//! All of it is read, so this is asked only when something failed, or recovery is asked for. Nothing is put back by halves: the stay
//! in the past ends when that is agreed to, with all files as they are, and what is left of the backup is a restore away.

use super::remade::home;
use crate::error::{Code, Result};
use crate::git::Oid;
use crate::git::path;
use crate::git::threads;
use crate::git::tree::{self, GITLINK_MODE};
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::names;
use crate::store::state::Mode;
use crate::store::stored::Stored;
use crate::text;

/// This many paths are named.
const SHOWN: usize = 5;
/// Of so many lost files the command that brings back all others can still be typed.
const TYPED: usize = 20;

/// What is lost of the present, and what brings the rest back.
pub(super) struct Loss {
    /// What it is.
    pub what: String,
    /// The command, as a hint names it.
    pub way: Option<String>,
}

/// What is lost of the backup that the way home leads to. `None` in the present, and where the backup is whole or cannot be read at all.
///
/// # Errors
/// The state cannot be read, or something cannot be looked at.
pub(super) fn of_home(store: &Store) -> Result<Option<Loss>> {
    let state = store.dir.state()?;
    // In a partial clone git itself leaves objects with the remote.
    if state.mode == Mode::Present || store.repo.is_partial_clone() {
        return Ok(None);
    }
    let Some(backup) = home(store, &state) else {
        return Ok(None);
    };
    let mut lost = Vec::new();
    let files = files(store, backup.tree, &mut lost)?;
    let objects = &store.objects;
    let are_intact = threads::map(&files, |(_, oid)| objects.is_intact(*oid));
    let is_file_alone = lost.is_empty();
    for ((path, _), is_intact) in files.into_iter().zip(are_intact) {
        if !is_intact? {
            lost.push(path);
        }
    }
    let id = &backup.id;
    let loss = |what: String, way: String| {
        let what = format!("the present was saved as '{id}', and {what}");
        Ok(Some(Loss {
            what,
            way: Some(way),
        }))
    };
    if lost.iter().any(Vec::is_empty) {
        return loss(
            "the tree of its files is gone".to_owned(),
            by_git(id, "PATH"),
        );
    }
    let beside = beside(store, &backup);
    if !lost.is_empty() {
        lost.sort();
        let listed = path::listed(lost.iter(), SHOWN);
        let is_typed = is_file_alone && lost.len() <= TYPED && beside.is_ok();
        let way = if is_typed {
            all_but(id, &lost)
        } else {
            by_git(id, "PATH")
        };
        return loss(
            format!("the content of {listed} is missing or damaged there"),
            way,
        );
    }
    match beside {
        Err(error) if error.code() == Code::CorruptRecord => {
            let what = format!("what it has of the index is damaged: {}", error.message());
            loss(what, by_git(id, ":/"))
        }
        beside => beside.map(|()| None),
    }
}

/// The files of a tree, but for those beneath trees that cannot be read, which are lost.
fn files(store: &Store, root: Oid, lost: &mut Vec<Vec<u8>>) -> Result<Vec<(Vec<u8>, Oid)>> {
    let mut found = Vec::new();
    let mut pending = vec![(Vec::new(), root)];
    while let Some((dir, oid)) = pending.pop() {
        let bytes = match store.objects.read_tree(oid) {
            Err(error) if error.code() == Code::CorruptRecord => {
                lost.push(dir);
                continue;
            }
            read => read?,
        };
        for entry in tree::parse(&bytes, oid.format())? {
            let full = path::join(&dir, entry.name);
            match entry.node {
                node if node.is_dir() => pending.push((full, node.oid)),
                node if node.mode == GITLINK_MODE => {}
                node => found.push((full, node.oid)),
            }
        }
    }
    Ok(found)
}

/// Reads what a backup has beside its files: index, operation under way, lists, and who may use its paths.
///
/// # Errors
/// `CORRUPT_RECORD` when something is missing or damaged; it cannot be looked at.
fn beside(store: &Store, backup: &Stored) -> Result<()> {
    store.lists(backup)?;
    store.operation(backup)?;
    store.recorded_access(backup)?;
    let side = store.index_side(backup)?;
    // An entry whose object is gone keeps nobody away: it comes back as it was, and git says so.
    tree::flatten(&store.objects, side.tree).map(drop)
}

/// The command that brings back all files but some.
fn all_but(id: &SnapshotId, lost: &[Vec<u8>]) -> String {
    let but = lost.iter().map(|path| {
        let pathspec = [b":(top,exclude,literal)", path.as_slice()].concat();
        format!(" {}", text::typed_bytes(&pathspec))
    });
    let but: String = but.collect();
    format!("'tw restore {id} -- :/{but}' brings all other files back then")
}

/// The command of plain git that brings back what is left.
fn by_git(id: &SnapshotId, paths: &str) -> String {
    let name = names::snapshot_ref(id);
    format!("'git restore --source={name} -- {paths}' brings back what is left of it then")
}
