//! What the workers found, and what is as it was, put together in order.

use super::FoundDir;
use crate::git::path;
use crate::worktree::manifest::{
    DIRTY, DirRec, FileRec, Manifest, Name, TO_HASH, no_oid, preorder,
};

/// All directories found by the full way.
pub(super) fn assemble(old: Option<&Manifest>, found: Vec<FoundDir>) -> Manifest {
    let mut manifest = merge(None, &[], found);
    if let Some(old) = old {
        take_over_trees(old, &mut manifest);
    }
    manifest
}

/// On the full way every directory was found anew: those whose names and objects are as before keep their tree.
pub(super) fn take_over_trees(old: &Manifest, new: &mut Manifest) {
    for at in 0..new.dirs.len() {
        let dir = &new.dirs[at];
        let Some(before) = old.find_dir(new.dir_path(dir)).map(|at| &old.dirs[at]) else {
            continue;
        };
        if before.flags & DIRTY != 0 {
            continue; // Its tree is in doubt.
        }
        let mut old_files = old
            .files_of(before)
            .iter()
            .filter(|file| file.kind.in_tree());
        let mut new_files = new.files_of(dir).iter().filter(|file| file.kind.in_tree());
        let same = loop {
            match (old_files.next(), new_files.next()) {
                (None, None) => break true,
                (Some(a), Some(b))
                    if b.flags & TO_HASH == 0
                        && a.oid == b.oid
                        && a.git_mode == b.git_mode
                        && old.bytes(a.name) == new.bytes(b.name) => {}
                _ => break false,
            }
        };
        if same {
            let tree = before.tree;
            let dir = &mut new.dirs[at];
            dir.tree = tree;
            dir.flags &= !DIRTY;
        }
    }
    mark_parents_of_gone(old, new);
    spread_dirt(new);
}

/// Puts the unchanged directories of the earlier manifest and the found ones together, in order.
pub(super) fn merge(old: Option<&Manifest>, same: &[usize], mut found: Vec<FoundDir>) -> Manifest {
    found.sort_by(|a, b| preorder(&a.path, &b.path));
    let mut new = Manifest::default();
    let same_files: usize = old.map_or(0, |old| old.files.len());
    new.files
        .reserve(same_files + found.iter().map(|dir| dir.files.len()).sum::<usize>());
    new.dirs.reserve(same.len() + found.len());
    new.names
        .reserve(old.map_or(0, |old| old.names.len()) + 64 * found.len());
    let appeared = old.map_or(0, |old| {
        let is_new = |dir: &&FoundDir| old.find_dir(&dir.path).is_none();
        found.iter().filter(is_new).count()
    });
    let mut parents: Vec<u32> = Vec::new();
    let mut same = same.iter().copied().peekable();
    let mut found = found.into_iter().peekable();
    loop {
        let take_same = match (old, same.peek(), found.peek()) {
            (Some(old), Some(&at), Some(dir)) => {
                preorder(old.dir_path(&old.dirs[at]), &dir.path).is_lt()
            }
            (Some(_), Some(_), None) => true,
            _ => false,
        };
        if take_same {
            let (Some(old), Some(at)) = (old, same.next()) else {
                break;
            };
            let dir = old.dirs[at];
            add_dir(&mut new, &mut parents, old.dir_path(&dir), dir, |new| {
                for file in old.files_of(&dir) {
                    let name = new.intern(old.bytes(file.name));
                    new.files.push(FileRec { name, ..*file });
                }
            });
        } else if let Some(dir) = found.next() {
            let rec = DirRec {
                path: Name::default(),
                parent: 0,
                first: 0,
                end: 0,
                flags: dir.flags | DIRTY,
                stamp: dir.stamp,
                tree: no_oid(),
            };
            add_dir(&mut new, &mut parents, &dir.path, rec, |new| {
                for file in &dir.files {
                    let name = new.intern(&file.name);
                    new.files.push(FileRec { name, ..file.rec });
                }
            });
        } else {
            break;
        }
    }
    if let Some(old) = old
        && new.dirs.len() != old.dirs.len() + appeared
    {
        mark_parents_of_gone(old, &mut new);
    }
    spread_dirt(&mut new);
    new
}

/// Adds a directory unless its parent is not there (it went away while we looked).
pub(super) fn add_dir(
    new: &mut Manifest,
    parents: &mut Vec<u32>,
    dir_path: &[u8],
    rec: DirRec,
    add_files: impl FnOnce(&mut Manifest),
) {
    let at = u32::try_from(new.dirs.len()).expect("fewer than 2^32 directories");
    let parent = if dir_path.is_empty() {
        0
    } else {
        let (wanted, _) = path::split(dir_path);
        loop {
            let Some(&candidate) = parents.last() else {
                return;
            };
            let path = new.dir_path(&new.dirs[candidate as usize]);
            if path == wanted {
                break candidate;
            }
            parents.pop();
        }
    };
    let path = new.intern(dir_path);
    let first = u32::try_from(new.files.len()).expect("fewer than 2^32 names");
    add_files(new);
    let end = u32::try_from(new.files.len()).expect("fewer than 2^32 names");
    new.dirs.push(DirRec {
        path,
        parent,
        first,
        end,
        ..rec
    });
    parents.push(at);
}

/// A directory that went away leaves its parent's own names alone, but not its tree.
pub(super) fn mark_parents_of_gone(old: &Manifest, new: &mut Manifest) {
    for dir in &old.dirs {
        let dir_path = old.dir_path(dir);
        if new.find_dir(dir_path).is_none()
            && let Some(at) = new.find_dir(path::split(dir_path).0)
        {
            new.dirs[at].flags |= DIRTY;
        }
    }
}

/// A directory over a dirty one is dirty.
pub(super) fn spread_dirt(manifest: &mut Manifest) {
    for at in (1..manifest.dirs.len()).rev() {
        if manifest.dirs[at].flags & DIRTY != 0 {
            let parent = manifest.dirs[at].parent as usize;
            manifest.dirs[parent].flags |= DIRTY;
        }
    }
}
