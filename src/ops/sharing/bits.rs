//! The permission bits of a snapshot that is shared.
//!
//! They go whole: what a list left out would be open elsewhere to whom it is closed here. Only those that most files have stand once, so that the
//! list is as short as can be. Leaves out what becomes of them there ([`crate::worktree::plan::Extras::permissions`]).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::git::path;
use crate::git::tree::{self, DIR_MODE, GITLINK_MODE, LINK_MODE};
use crate::ops::swap::extras::{bits_without_acls, stored_extras};
use crate::store::Store;
use crate::store::snapshot::{DefaultModes, Lists, SnapshotRecord, octal};
use crate::store::state::stored_path;
use crate::store::stored::Stored;

/// What has usual bits of its own: plain files, executables and directories.
const SORTS: [u32; 3] = [0o100_644, 0o100_755, DIR_MODE];

/// Puts the bits and the empty directories of a snapshot into the record of it that goes.
///
/// # Errors
/// Its lists or trees cannot be read.
pub(super) fn put_whole(store: &Store, stored: &Stored, record: &mut SnapshotRecord) -> Result<()> {
    let lists = store.lists(stored)?;
    let mut bits = lists.modes.clone();
    // ACLs stay here: the numbers in them are others' elsewhere.
    bits.extend(bits_without_acls(
        store,
        stored,
        &stored_extras(store, stored)?,
    )?);
    let [file, executable, directory] = SORTS.map(|mode| record.default_permissions(mode));
    let before = [file?, executable?, directory?];
    let sorts = sorts(store, stored, &lists)?;
    let of = |path: &[u8], sort: usize| bits.get(path).copied().unwrap_or(before[sort]);
    let mut counts: [BTreeMap<u32, usize>; 3] = Default::default();
    for (path, sort) in &sorts {
        *counts[*sort].entry(of(path, *sort)).or_default() += 1;
    }
    let usual = [0, 1, 2].map(|sort: usize| most(&counts[sort], before[sort]));
    let mut others: BTreeMap<&[u8], u32> = BTreeMap::new();
    for (path, sort) in &sorts {
        let perm = of(path, *sort);
        if perm != usual[*sort] {
            others.insert(path, perm);
        }
    }
    // Submodules have none that are usual.
    let rest = bits.iter().filter(|(path, _)| !sorts.contains_key(*path));
    others.extend(rest.map(|(path, perm)| (path.as_slice(), *perm)));
    let others = others.into_iter();
    record.modes = others
        .map(|(path, perm)| (stored_path(path), octal(perm)))
        .collect();
    let [file, executable, directory] = usual.map(octal);
    record.default_modes = DefaultModes {
        file,
        executable,
        directory,
    };
    let empty = lists.empty_dirs.iter();
    record.empty_dirs = empty.map(|dir| stored_path(dir)).collect();
    Ok(())
}

/// The files and directories of a snapshot, each with its place in [`SORTS`].
fn sorts(store: &Store, stored: &Stored, lists: &Lists) -> Result<BTreeMap<Vec<u8>, usize>> {
    let mut dirs: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut add = |dir: &[u8]| {
        let dirs_over = path::with_parents(dir).filter(|dir| !dir.is_empty());
        dirs.extend(dirs_over.map(<[u8]>::to_vec));
    };
    for dir in &lists.empty_dirs {
        add(dir);
    }
    let files = tree::flatten(&store.objects, stored.tree)?;
    let mut last: &[u8] = b"";
    for (path, _) in &files {
        let dir = path::split(path).0;
        if dir != last {
            add(dir);
            last = dir;
        }
    }
    let mut sorts: BTreeMap<Vec<u8>, usize> = dirs.into_iter().map(|dir| (dir, 2)).collect();
    for (path, node) in files {
        let sort = match node.mode {
            LINK_MODE | GITLINK_MODE => continue,
            0o100_755 => 1,
            _ => 0,
        };
        sorts.insert(path, sort);
    }
    Ok(sorts)
}

/// The most frequent; of two equally frequent the one that was it before, else the smaller.
fn most(counts: &BTreeMap<u32, usize>, before: u32) -> u32 {
    let best = counts
        .iter()
        .max_by_key(|(bits, count)| (**count, **bits == before, Reverse(**bits)));
    best.map_or(before, |(bits, _)| *bits)
}
