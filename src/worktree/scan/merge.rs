//! What the workers found, and what is as it was, put together in order.
//!
//! On the fast way the earlier manifest is changed where it stands as long as every directory has the names that it had;
//! otherwise directories and records are copied in runs. The bytes of names stay where they are: new ones come behind them,
//! and once those that nothing names any more outweigh the others, all are written anew.

use std::borrow::Cow;

use super::{FoundDir, FoundFile, Names};
use crate::git::path;
use crate::worktree::manifest::{DIRTY, DirRec, FileRec, Manifest, TO_HASH, no_oid, preorder};

/// All directories found by the full way.
pub(super) fn assemble(old: Option<&Manifest>, mut found: Vec<FoundDir>) -> Manifest {
    found.sort_by(|a, b| preorder(&a.path, &b.path));
    let mut new = rebuild(&Manifest::default(), &[], found);
    if let Some(old) = old {
        take_over_trees(old, &mut new);
    }
    spread_dirt(&mut new);
    new
}

/// What the fast way found, put onto the earlier manifest. `same`: which directories of that are as they were.
pub(super) fn put_on(old: Cow<'_, Manifest>, same: &[bool], mut found: Vec<FoundDir>) -> Manifest {
    let kept = same.iter().filter(|&&same| same).count();
    let has_all = kept + found.len() == old.dirs.len();
    let mut new = if has_all && found.iter().all(|dir| has_its_names(&old, dir)) {
        let mut new = old.into_owned();
        for dir in &found {
            change(&mut new, dir);
        }
        new
    } else {
        found.sort_by(|a, b| preorder(path_in(&old, a), path_in(&old, b)));
        let mut new = rebuild(&old, same, found);
        if is_mostly_waste(&new) {
            new = with_fresh_names(&new);
        }
        new
    };
    spread_dirt(&mut new);
    new
}

fn path_in<'f>(old: &'f Manifest, dir: &'f FoundDir) -> &'f [u8] {
    let known = dir.known.and_then(|at| old.dirs.get(at));
    known.map_or(&dir.path, |known| old.dir_path(known))
}

/// Whether a directory has the names that it had, no more and no fewer.
fn has_its_names(old: &Manifest, dir: &FoundDir) -> bool {
    let Some(known) = dir.known.and_then(|at| old.dirs.get(at)) else {
        return false;
    };
    match &dir.names {
        Names::Kept(_) => true,
        // Each name is there once: as many known ones as there were are all of them.
        Names::Read(files) => {
            files.len() == old.files_of(known).len() && files.iter().all(|file| file.name.is_none())
        }
    }
}

/// Changes the records of a directory that has the names that it had.
fn change(manifest: &mut Manifest, found: &FoundDir) {
    let Some(dir) = found.known.and_then(|at| manifest.dirs.get_mut(at)) else {
        return;
    };
    let (first, end) = (dir.first as usize, dir.end as usize);
    let Some(files) = manifest.files.get_mut(first..end) else {
        return;
    };
    let mut differs = false;
    let mut put = |file: &mut FileRec, new: &FileRec| {
        differs |= !is_same_in_tree(file, new);
        *file = *new;
    };
    match &found.names {
        Names::Kept(records) => {
            for (nth, new) in records {
                if let Some(file) = files.get_mut(*nth) {
                    put(file, new);
                }
            }
        }
        Names::Read(all) => {
            for (file, new) in files.iter_mut().zip(all) {
                put(file, &new.rec);
            }
        }
    }
    dir.stamp = found.stamp;
    dir.flags = found.flags | dir.flags & DIRTY;
    if differs {
        dir.flags |= DIRTY;
        dir.tree = no_oid();
    }
}

/// Whether a name stands for the same in its directory's tree, or for nothing, as before.
fn is_same_in_tree(old: &FileRec, new: &FileRec) -> bool {
    if !old.kind.in_tree() && !new.kind.in_tree() {
        return true;
    }
    new.flags & TO_HASH == 0
        && old.kind.in_tree() == new.kind.in_tree()
        && old.oid == new.oid
        && old.git_mode == new.git_mode
}

/// Whether the captured names of two lists stand for the same.
fn is_same_list<'f>(
    old: impl Iterator<Item = (&'f [u8], &'f FileRec)>,
    new: impl Iterator<Item = (&'f [u8], &'f FileRec)>,
) -> bool {
    let mut old = old.filter(|(_, file)| file.kind.in_tree());
    let mut new = new.filter(|(_, file)| file.kind.in_tree());
    loop {
        match (old.next(), new.next()) {
            (None, None) => return true,
            (Some((a_name, a)), Some((b_name, b))) if a_name == b_name && is_same_in_tree(a, b) => {
            }
            _ => return false,
        }
    }
}

fn named<'m>(
    manifest: &'m Manifest,
    dir: &DirRec,
) -> impl Iterator<Item = (&'m [u8], &'m FileRec)> {
    let files = manifest.files_of(dir).iter();
    files.map(|file| (manifest.bytes(file.name), file))
}

fn index(length: usize) -> u32 {
    u32::try_from(length).expect("fewer than 2^32 names and directories")
}

/// Directories that are as they were are copied, found ones come between them; `found` is in pre-order.
fn rebuild(old: &Manifest, same: &[bool], found: Vec<FoundDir>) -> Manifest {
    let read = found.iter().map(|dir| match &dir.names {
        Names::Read(files) => files.len(),
        Names::Kept(_) => 0,
    });
    let mut new = Manifest {
        dirs: Vec::with_capacity(old.dirs.len() + found.len()),
        files: Vec::with_capacity(old.files.len() + read.sum::<usize>()),
        names: old.names.clone(),
    };
    // Where each directory of the earlier manifest is now.
    let mut places: Vec<Option<u32>> = vec![None; old.dirs.len()];
    let mut found = found.into_iter().peekable();
    let mut at = 0;
    loop {
        let next = found.peek().map(|dir| path_in(old, dir));
        while let Some(dir) = old.dirs.get(at) {
            let comes_first = next.is_none_or(|next| preorder(old.dir_path(dir), next).is_lt());
            if !comes_first {
                break;
            }
            if same.get(at) == Some(&true) {
                copy_dir(old, at, &mut new, &mut places);
            }
            at += 1;
        }
        let Some(dir) = found.next() else { break };
        if let Some(known) = dir.known {
            at = known + 1;
        }
        put_found(old, dir, &mut new, &mut places);
    }
    mark_parents_of_gone(old, &places, &mut new);
    new
}

/// Where the directory over one of the earlier manifest is now; None when that went away.
fn parent_place(old: &Manifest, at: usize, places: &[Option<u32>]) -> Option<u32> {
    match at {
        0 => Some(0),
        _ => *places.get(old.dirs.get(at)?.parent as usize)?,
    }
}

/// Where the parent of a directory is that comes behind all that are there, in pre-order: the last or one above it.
fn parent_in(new: &Manifest, path: &[u8]) -> Option<u32> {
    if path.is_empty() {
        return Some(0);
    }
    let (wanted, _) = path::split(path);
    let mut at = new.dirs.len().checked_sub(1)?;
    loop {
        let dir = new.dirs.get(at)?;
        if new.dir_path(dir) == wanted {
            return Some(index(at));
        }
        if at == 0 {
            return None;
        }
        at = dir.parent as usize;
    }
}

fn copy_dir(old: &Manifest, at: usize, new: &mut Manifest, places: &mut [Option<u32>]) {
    let Some(parent) = parent_place(old, at, places) else {
        return;
    };
    let dir = old.dirs[at];
    let first = index(new.files.len());
    new.files.extend_from_slice(old.files_of(&dir));
    places[at] = Some(index(new.dirs.len()));
    new.dirs.push(DirRec {
        parent,
        first,
        end: index(new.files.len()),
        ..dir
    });
}

/// Puts a found directory behind what is there, unless its parent is not there (it went away while we looked).
fn put_found(old: &Manifest, found: FoundDir, new: &mut Manifest, places: &mut [Option<u32>]) {
    let known = found.known.and_then(|at| Some((at, *old.dirs.get(at)?)));
    let parent = match known {
        Some((at, _)) => parent_place(old, at, places),
        None => parent_in(new, &found.path),
    };
    let Some(parent) = parent else { return };
    let (path, tree) = match known {
        Some((_, dir)) => (dir.path, dir.tree),
        None => (new.intern(&found.path), no_oid()),
    };
    let first = new.files.len();
    let differs = match (found.names, known) {
        (Names::Kept(records), Some((_, dir))) => {
            new.files.extend_from_slice(old.files_of(&dir));
            let mut differs = false;
            for (nth, rec) in records {
                if let Some(file) = new.files.get_mut(first + nth) {
                    differs |= !is_same_in_tree(file, &rec);
                    *file = rec;
                }
            }
            differs
        }
        (Names::Kept(_), None) => true,
        (Names::Read(files), known) => {
            let here = files.iter().map(|file| (file.name_in(old), &file.rec));
            let differs = known.is_none_or(|(_, dir)| !is_same_list(named(old, &dir), here));
            add_files(new, files);
            differs
        }
    };
    let was_dirty = known.map_or(0, |(_, dir)| dir.flags & DIRTY);
    if let Some((at, _)) = known {
        places[at] = Some(index(new.dirs.len()));
    }
    new.dirs.push(DirRec {
        path,
        parent,
        first: index(first),
        end: index(new.files.len()),
        flags: found.flags | was_dirty | if differs { DIRTY } else { 0 },
        stamp: found.stamp,
        tree: if differs { no_oid() } else { tree },
    });
}

fn add_files(new: &mut Manifest, files: Vec<FoundFile>) {
    for FoundFile { name, rec } in files {
        let name = name.map_or(rec.name, |name| new.intern(&name));
        new.files.push(FileRec { name, ..rec });
    }
}

/// A directory that went away leaves its parent's own names alone, but not its tree.
fn mark_parents_of_gone(old: &Manifest, places: &[Option<u32>], new: &mut Manifest) {
    for (at, place) in places.iter().enumerate() {
        if place.is_none()
            && let Some(parent) = parent_place(old, at, places)
            && let Some(dir) = new.dirs.get_mut(parent as usize)
        {
            dir.flags |= DIRTY;
        }
    }
}

/// Whether most of the bytes of names are named by nothing.
fn is_mostly_waste(manifest: &Manifest) -> bool {
    let paths = manifest.dirs.iter().map(|dir| dir.path.len as usize);
    let names = manifest.files.iter().map(|file| file.name.len as usize);
    manifest.names.len() / 2 > paths.chain(names).sum()
}

fn with_fresh_names(manifest: &Manifest) -> Manifest {
    let mut new = Manifest::default();
    for dir in &manifest.dirs {
        let path = new.intern(manifest.dir_path(dir));
        new.dirs.push(DirRec { path, ..*dir });
    }
    for file in &manifest.files {
        let name = new.intern(manifest.bytes(file.name));
        new.files.push(FileRec { name, ..*file });
    }
    new
}

/// On the full way every directory was found anew: those whose names and objects are as before keep their tree.
fn take_over_trees(old: &Manifest, new: &mut Manifest) {
    let mut places: Vec<Option<u32>> = vec![None; old.dirs.len()];
    for at in 0..new.dirs.len() {
        let dir = &new.dirs[at];
        let Some(known) = old.find_dir(new.dir_path(dir)) else {
            continue;
        };
        places[known] = Some(index(at));
        let before = &old.dirs[known];
        if before.flags & DIRTY != 0 {
            continue; // Its tree is in doubt.
        }
        if is_same_list(named(old, before), named(new, dir)) {
            let tree = before.tree;
            let dir = &mut new.dirs[at];
            dir.tree = tree;
            dir.flags &= !DIRTY;
        }
    }
    mark_parents_of_gone(old, &places, new);
}

/// A directory over a dirty one is dirty.
fn spread_dirt(manifest: &mut Manifest) {
    for at in (1..manifest.dirs.len()).rev() {
        if manifest.dirs[at].flags & DIRTY != 0 {
            let parent = manifest.dirs[at].parent as usize;
            manifest.dirs[parent].flags |= DIRTY;
        }
    }
}
