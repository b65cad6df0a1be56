//! What the workers found, and what is as it was, put together in order.
//!
//! On the fast way the files of directories that are as they were stay where they are: of a directory that differs, all files
//! are put behind the others. Where directories came or went their records are put in order anew, and nothing else.

use std::borrow::Cow;

use super::found::{FoundDir, Names, ReadNames};
use crate::git::path;
use crate::worktree::manifest::{
    DirFlags, DirRec, FileFlags, FileRec, Ignored, Manifest, no_oid, preorder,
};

/// All directories found by the full way.
pub(super) fn assemble(old: Option<&Manifest>, mut found: Vec<FoundDir>) -> Manifest {
    found.sort_by(|a, b| preorder(&a.path, &b.path));
    let mut new = Manifest::default();
    put_in_order(&mut new, &[], found);
    if let Some(old) = old {
        take_over_trees(old, &mut new);
    }
    new.mark_ancestors_dirty();
    new
}

/// What the fast way found, put onto the earlier manifest. `same`: which directories of that are as they were.
pub(super) fn put_on(old: Cow<'_, Manifest>, same: &[bool], mut found: Vec<FoundDir>) -> Manifest {
    let mut new = old.into_owned();
    let kept = same.iter().filter(|&&same| same).count();
    // Where no directory came or went, the order is what it was.
    let has_all = kept + found.len() == new.dirs.len();
    if has_all && found.iter().all(|dir| dir.known.is_some()) {
        for dir in found {
            if let Some(at) = dir.known {
                change(&mut new, at, dir);
            }
        }
    } else {
        found.sort_by(|a, b| preorder(path_in(&new, a), path_in(&new, b)));
        put_in_order(&mut new, same, found);
    }
    new.mark_ancestors_dirty();
    new
}

fn path_in<'f>(old: &'f Manifest, dir: &'f FoundDir) -> &'f [u8] {
    let known = dir.known.and_then(|at| old.dirs.get(at));
    known.map_or(&dir.path, |known| old.dir_path(known))
}

/// Gives the directory at a place what was found of it.
fn change(manifest: &mut Manifest, at: usize, found: FoundDir) {
    let differs = put_names(manifest, at, found.names);
    let dir = &mut manifest.dirs[at];
    dir.stamp = found.stamp;
    // One that is new, or whose tree was in doubt before, stays dirty.
    dir.flags = found.flags | dir.flags.only(DirFlags::DIRTY);
    if differs {
        dir.flags |= DirFlags::DIRTY;
        dir.tree = no_oid();
    }
}

/// Gives a directory that has a place the names that were found. Answers whether its tree is another.
fn put_names(manifest: &mut Manifest, at: usize, names: Names) -> bool {
    match names {
        Names::Known(records) => {
            if records.is_empty() {
                return false;
            }
            let files = manifest.files_mut(at);
            let mut differs = false;
            for (nth, rec) in records {
                if let Some(file) = files.get_mut(nth) {
                    differs |= !is_same_in_tree(file, &rec);
                    *file = rec;
                }
            }
            differs
        }
        Names::Read(read) => {
            manifest.dirs[at].ignored = read.ignored;
            let here = read.files.iter();
            let here = here.map(|file| (read.name_of(file, manifest), file.rec));
            let differs = !is_same_list(named(manifest, &manifest.dirs[at]), here);
            if !has_its_records(manifest, at, &read) {
                let first = manifest.next_place();
                let bytes = manifest.intern(&read.bytes);
                for mut file in read.files {
                    if file.is_new {
                        // The worker counted from the start of its own bytes.
                        file.rec.name.start += bytes.start;
                    }
                    manifest.push_file(file.rec);
                }
                let end = manifest.next_place();
                let dir = &mut manifest.dirs[at];
                (dir.first, dir.end) = (first, end);
            }
            differs
        }
    }
}

/// Whether the names of a directory that were read, and their records, are those that it has.
fn has_its_records(manifest: &Manifest, at: usize, read: &ReadNames) -> bool {
    let known = manifest.files_of(&manifest.dirs[at]);
    known.len() == read.files.len()
        && known
            .iter()
            .zip(&read.files)
            .all(|(known, read)| !read.is_new && known == read.rec)
}

/// Whether a name stands for the same in its directory's tree, or for nothing, as before.
fn is_same_in_tree(old: &FileRec, new: &FileRec) -> bool {
    if !old.kind.in_tree() && !new.kind.in_tree() {
        return true;
    }
    !new.flags.has(FileFlags::TO_HASH)
        && old.kind.in_tree() == new.kind.in_tree()
        && old.oid == new.oid
        && old.git_mode == new.git_mode
}

/// Whether the captured names of two lists stand for the same.
fn is_same_list<'f>(
    old: impl Iterator<Item = (&'f [u8], FileRec)>,
    new: impl Iterator<Item = (&'f [u8], FileRec)>,
) -> bool {
    let mut old = old.filter(|(_, file)| file.kind.in_tree());
    let mut new = new.filter(|(_, file)| file.kind.in_tree());
    loop {
        match (old.next(), new.next()) {
            (None, None) => return true,
            (Some((a_name, a)), Some((b_name, b)))
                if a_name == b_name && is_same_in_tree(&a, &b) => {}
            _ => return false,
        }
    }
}

fn named<'m>(
    manifest: &'m Manifest,
    dir: &DirRec,
) -> impl Iterator<Item = (&'m [u8], FileRec)> + use<'m> {
    let files = manifest.files_of(dir).iter();
    files.map(|file| (manifest.bytes(file.name), file))
}

fn index(length: usize) -> u32 {
    u32::try_from(length).expect("fewer than 2^32 directories")
}

/// Makes the directories anew: those that are as they were, and found ones, which are in pre-order, between them.
fn put_in_order(manifest: &mut Manifest, same: &[bool], found: Vec<FoundDir>) {
    let old = std::mem::take(&mut manifest.dirs);
    manifest.dirs.reserve_exact(old.len() + found.len());
    let (files, names) = found
        .iter()
        .fold((0, 0), |(files, names), dir| match &dir.names {
            Names::Read(read) => (
                files + read.files.len(),
                names + dir.path.len() + read.bytes.len(),
            ),
            Names::Known(_) => (files, names),
        });
    manifest.reserve(files, names);
    // Where each earlier directory is now.
    let mut places: Vec<Option<u32>> = vec![None; old.len()];
    let mut at = 0;
    let mut found = found.into_iter();
    loop {
        let next = found.next();
        while let Some(dir) = old.get(at) {
            let comes_first = next.as_ref().is_none_or(|next| match next.known {
                Some(known) => at < known,
                None => preorder(manifest.dir_path(dir), &next.path).is_lt(),
            });
            if !comes_first {
                break;
            }
            if same.get(at) == Some(&true)
                && let Some(parent) = parent_place(&old, at, &places)
            {
                places[at] = Some(index(manifest.dirs.len()));
                manifest.dirs.push(DirRec { parent, ..*dir });
            }
            at += 1;
        }
        let Some(dir) = next else { break };
        if let Some(known) = dir.known {
            at = known + 1;
        }
        put_found(&old, dir, manifest, &mut places);
    }
    mark_parents_of_gone(&old, &places, manifest);
}

/// Where the directory over an earlier one is now; None when that went away.
fn parent_place(old: &[DirRec], at: usize, places: &[Option<u32>]) -> Option<u32> {
    match at {
        0 => Some(0),
        _ => *places.get(old.get(at)?.parent as usize)?,
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

/// Puts a found directory behind what is there, unless its parent is not there (it went away while we looked).
fn put_found(old: &[DirRec], found: FoundDir, manifest: &mut Manifest, places: &mut [Option<u32>]) {
    let known = found.known.and_then(|at| Some((at, *old.get(at)?)));
    let parent = match known {
        Some((at, _)) => parent_place(old, at, places),
        None => parent_in(manifest, &found.path),
    };
    let Some(parent) = parent else { return };
    let at = manifest.dirs.len();
    if let Some((number, dir)) = known {
        places[number] = Some(index(at));
        manifest.dirs.push(DirRec { parent, ..dir });
    } else {
        let place = manifest.next_place();
        let path = manifest.intern(&found.path);
        manifest.dirs.push(DirRec {
            path,
            parent,
            first: place,
            end: place,
            flags: DirFlags::DIRTY,
            stamp: found.stamp,
            tree: no_oid(),
            ignored: Ignored::default(),
        });
    }
    change(manifest, at, found);
}

/// A directory that went away leaves its parent's own names alone, but not its tree.
fn mark_parents_of_gone(old: &[DirRec], places: &[Option<u32>], new: &mut Manifest) {
    for (at, place) in places.iter().enumerate() {
        if place.is_none()
            && let Some(parent) = parent_place(old, at, places)
            && let Some(dir) = new.dirs.get_mut(parent as usize)
        {
            dir.flags |= DirFlags::DIRTY;
        }
    }
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
        if before.flags.has(DirFlags::DIRTY) {
            continue; // Its tree is in doubt.
        }
        if is_same_list(named(old, before), named(new, dir)) {
            let tree = before.tree;
            let dir = &mut new.dirs[at];
            dir.tree = tree;
            dir.flags = dir.flags.without(DirFlags::DIRTY);
        }
    }
    mark_parents_of_gone(&old.dirs, &places, new);
}
