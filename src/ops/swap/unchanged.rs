//! A past that nobody changed: the experiment that a return took of it is not kept, and in the undo log the snapshot that was
//! travelled to stands for it.
//!
//! It is taken all the same, since only the end of the swap shows that no byte came in late, and then compared in everything that a
//! snapshot records. Whatever differs, or cannot be read, keeps it.

use std::collections::{BTreeMap, BTreeSet};

use super::extras::stored_extras;
use super::goal::PastStart;
use super::left_out::LeftInPlace;
use crate::env::fail_point;
use crate::error::Result;
use crate::git::access::may_change;
use crate::git::access_list::AccessList;
use crate::git::fs::Root;
use crate::git::tree::{self, Node};
use crate::git::{Oid, path};
use crate::ops::Context;
use crate::ops::record::Made;
use crate::ops::unsaved::{Certainty, Unsaved};
use crate::store::snapshot::{Lists, Uncaptured};
use crate::store::state::Journal;
use crate::store::stored::Stored;
use crate::store::{Store, names};
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::plan::Extras;

/// Takes the experiment of a return that is committed away when the past is as travel had left it; says whether it did. The journal
/// then names the snapshot that was travelled to as what was there before. `head`: HEAD's bytes as the return found them.
pub(super) fn drop_needless(
    ctx: &Context<'_>,
    start: &PastStart<'_>,
    saved: &Made<'_>,
    head: &str,
    journal: &mut Journal,
) -> bool {
    let mut attempt = || -> Result<bool> {
        let store = ctx.store()?;
        let stored = store.read_noted(&saved.id, Some(&saved.commit.to_string()))?;
        let manifest = &saved.capture.manifest;
        if head != start.raw_head || !is_start(ctx, store, (&stored, manifest), start)? {
            return Ok(false);
        }
        replace(store, &stored, start.files, journal)
    };
    // The present is back and that stands: an experiment too many is no reason to report a failure, and loses nothing.
    attempt().unwrap_or(false)
}

/// Whether what was saved is what travel left.
fn is_start(
    ctx: &Context<'_>,
    store: &Store,
    (saved, manifest): (&Stored, &Manifest),
    start: &PastStart<'_>,
) -> Result<bool> {
    let git = start.git;
    let is_same = has_same_files(ctx, store, saved, start)?
        && saved.head == git.head
        && index_parts(store, saved)? == index_parts(store, git)?;
    let operation = store.operation(saved)?;
    let is_same = is_same
        && operation.files == start.operation.files
        && operation.refs == start.operation.refs;
    // What cannot be captured stays where it is in a swap, and so do empty directories of the present when travel leaves it.
    let own = Unsaved::of_backup(&store.dir, &start.backup.id.to_string())?;
    Ok(is_same
        && has_same_lists(ctx, store, (saved, manifest), (start, &own))?
        && has_same_access(store, (saved, manifest), (start, &own))?)
}

/// Whether the files are the snapshot's, beside what travel left in place.
fn has_same_files(
    ctx: &Context<'_>,
    store: &Store,
    saved: &Stored,
    start: &PastStart<'_>,
) -> Result<bool> {
    let files = start.files;
    if saved.tree == files.tree {
        return Ok(true);
    }
    let left = LeftInPlace::of(ctx, store, files, start.backup)?;
    for change in tree::diff(&store.objects, Some(files.tree), Some(saved.tree))? {
        if !left.has(&change)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The index's tree; its stages and resolve-undo.
fn index_parts(store: &Store, stored: &Stored) -> Result<(Oid, Option<Node>)> {
    let side = store.index_side(stored)?;
    let part = |name: &str| match side.state {
        Some(state) => tree::find(&store.objects, state, name.as_bytes()),
        None => Ok(None),
    };
    Ok((side.tree, part("index")?))
}

fn has_same_lists(
    ctx: &Context<'_>,
    store: &Store,
    (saved, manifest): (&Stored, &Manifest),
    (start, own): (&PastStart<'_>, &Unsaved),
) -> Result<bool> {
    let now = store.lists(saved)?;
    let files = store.lists(start.files)?;
    let git = store.lists(start.git)?;
    let backup = store.lists(start.backup)?;
    let (dirs, stayed): (Vec<_>, Vec<_>) = now
        .empty_dirs
        .iter()
        .partition(|dir| files.empty_dirs.contains(dir));
    let known: BTreeSet<&Vec<u8>> = dirs.into_iter().collect();
    let root = Root::open(ctx.repo.worktree_root())?;
    let uncaptured = is_left_alone(&now, &files, &backup, (own, &root));
    // What the present has in one makes it none, and so does a rule that hides it: that one is the present's, and is there still.
    let is_there = |dir: &Vec<u8>| {
        let seen = manifest.dir_on_disk(dir).is_some();
        seen || own.has_dir(dir) && root.dir_stamp(dir).is_some()
    };
    let mut dirs = files.empty_dirs.iter();
    let mut dirs = dirs.all(|dir| known.contains(dir) || is_there(dir));
    for dir in &stayed {
        // Also that of a submodule that was not fetched, and one that holds what the present left out.
        let then = tree::find(&store.objects, start.backup.tree, dir)?;
        dirs &= backup.empty_dirs.contains(dir)
            || own.beneath(dir).next().is_some()
            || own.filtered.keys().any(|file| path::is_within(file, dir))
            || then.is_some_and(Node::is_gitlink);
    }
    Ok(uncaptured
        && dirs
        && has_same_bits(ctx, store, saved, start, (&stayed, own))?
        && now.unstable.is_empty()
        && now.conflicts == git.conflicts
        && now.intent_to_add == git.intent_to_add
        && now.skip_worktree == git.skip_worktree
        && now.assume_unchanged == git.assume_unchanged
        && has_same_absent(store, saved, start.backup, (&now, &git, &backup))?)
}

/// Whether the same entries of the index are not on disk, but for the directories of submodules that the present had: they stayed.
fn has_same_absent(
    store: &Store,
    saved: &Stored,
    backup: &Stored,
    (now, then, present): (&Lists, &Lists, &Lists),
) -> Result<bool> {
    let set = |lists: &'_ Lists| -> BTreeSet<Vec<u8>> { lists.absent.iter().cloned().collect() };
    let (now, then, present) = (set(now), set(then), set(present));
    if !now.is_subset(&then) {
        return Ok(false);
    }
    for path in then.difference(&now) {
        let node = tree::find(&store.objects, saved.tree, path)?;
        let is_submodule = node.is_some_and(Node::is_gitlink);
        let was_there = !present.contains(path);
        if !is_submodule || !was_there || tree::find(&store.objects, backup.tree, path)? != node {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the permission bits are as travel gave them: the snapshot's, of which one that was not made here gives not all. `stayed`: the
/// present's empty directories, which kept theirs, as its files did that the snapshot leaves alone, and what is another owner's. `own`:
/// what it left out.
fn has_same_bits(
    ctx: &Context<'_>,
    store: &Store,
    saved: &Stored,
    start: &PastStart<'_>,
    (stayed, own): (&[&Vec<u8>], &Unsaved),
) -> Result<bool> {
    let (now, backup) = (
        stored_extras(store, saved)?,
        stored_extras(store, start.backup)?,
    );
    let mut given = stored_extras(store, start.files)?;
    let root = Root::open(ctx.repo.worktree_root())?;
    let has_other_defaults = saved.record.default_modes != start.files.record.default_modes;
    let mut paths: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    if given.is_pulled || has_other_defaults {
        paths.extend(all_with_bits(store, saved, &now)?);
    }
    if given.is_pulled {
        given = given.in_place_of(&backup);
    } else {
        paths.extend(named_with_bits(store, saved, (&now, &given))?);
    }
    // All else is in the snapshot: looking each up there would take as long as there are files.
    let mut extra: BTreeSet<Vec<u8>> = BTreeSet::new();
    for change in tree::diff(&store.objects, Some(start.files.tree), Some(saved.tree))? {
        if change.old.is_none() {
            extra.extend(path::with_parents(&change.path).map(<[u8]>::to_vec));
        }
    }
    // What the present left out was opened to nobody, whatever the snapshot says of it. What travel made beneath it has the snapshot's.
    for (path, mode) in &paths {
        let is_dir = [tree::DIR_MODE, tree::GITLINK_MODE].contains(mode);
        if is_dir
            && own.has_dir(path)
            && tree::find(&store.objects, start.backup.tree, path)?.is_none()
        {
            continue;
        }
        let has_stayed = stayed.iter().any(|dir| path::is_within(dir, path));
        let stays = (has_stayed || extra.contains(path))
            && tree::find(&store.objects, start.files.tree, path)?.is_none()
            && (has_stayed || tree::find(&store.objects, start.backup.tree, path)?.is_some());
        let side = if stays { &backup } else { &given };
        let bits = now.permissions(path, *mode);
        let is_refused = || {
            refuses_bits(&root, &now.access, (path, *mode))
                && bits == backup.permissions(path, *mode)
        };
        if bits != side.permissions(path, *mode) && !is_refused() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// All paths that have permission bits, with their modes, but for submodules.
fn all_with_bits(store: &Store, saved: &Stored, now: &Extras) -> Result<BTreeMap<Vec<u8>, u32>> {
    let dirs_to = |dir: &[u8]| -> Vec<(Vec<u8>, u32)> {
        let dirs = path::with_parents(dir).filter(|dir| !dir.is_empty());
        dirs.map(|dir| (dir.to_vec(), tree::DIR_MODE)).collect()
    };
    let dirs = now.empty_dirs.iter();
    let mut paths: BTreeMap<Vec<u8>, u32> = dirs.flat_map(|dir| dirs_to(dir)).collect();
    for (path, node) in tree::flatten(&store.objects, saved.tree)? {
        paths.extend(dirs_to(path::split(&path).0));
        if node.mode != tree::LINK_MODE && !node.is_gitlink() {
            paths.insert(path, node.mode);
        }
    }
    paths.retain(|path, _| !now.absent.contains(path));
    Ok(paths)
}

/// The paths of which either record names the permission bits.
fn named_with_bits(
    store: &Store,
    saved: &Stored,
    (now, given): (&Extras, &Extras),
) -> Result<BTreeMap<Vec<u8>, u32>> {
    let mut paths = BTreeMap::new();
    for path in now.modes.keys().chain(given.modes.keys()) {
        let found = tree::find(&store.objects, saved.tree, path)?;
        let is_submodule = found.is_some_and(Node::is_gitlink);
        // A record of an earlier version knows nothing of a submodule's directory.
        if is_submodule && !(now.modes.contains_key(path) && given.modes.contains_key(path)) {
            continue;
        }
        let mode = found.map_or(tree::DIR_MODE, |node| node.mode);
        paths.insert(path.clone(), mode);
    }
    Ok(paths)
}

/// Whether what is at a path is another owner's. No record has that of a submodule's directory: it stands where it stood.
fn refuses_bits(root: &Root, access: &AccessList, (path, mode): (&[u8], u32)) -> bool {
    if mode != tree::GITLINK_MODE {
        return is_anothers(access, path);
    }
    let found = root.dir_stamp(path);
    found.is_some_and(|found| !may_change(found.uid))
}

/// Whether a path is known to belong to somebody else, so that neither travel nor whoever worked in the past could change its access.
fn is_anothers(access: &AccessList, path: &[u8]) -> bool {
    let access = access.of(path);
    access.is_some_and(|access| !may_change(access.uid))
}

/// Whether what no snapshot captures is as the snapshot or the present had it, or the present's `own`, which the rules of the snapshot
/// name otherwise, or which a look at the past does not name as long as it is there. A submodule that only the snapshot has comes back
/// empty, without a HEAD.
fn is_left_alone(
    now: &Lists,
    files: &Lists,
    backup: &Lists,
    (own, root): (&Unsaved, &Root),
) -> bool {
    let by_path = |lists: &'_ Lists| -> BTreeMap<Vec<u8>, Uncaptured> {
        lists.uncaptured.iter().cloned().collect()
    };
    let (now, files, backup) = (by_path(now), by_path(files), by_path(backup));
    let mut paths = now.keys().chain(files.keys()).chain(backup.keys());
    paths.all(|path| {
        let (now, then, left) = (now.get(path), files.get(path), backup.get(path));
        let is_emptied = || {
            let then = then?;
            let without_head = Uncaptured {
                head: None,
                ..then.clone()
            };
            Some(left.is_none() && now == Some(&without_head))
        };
        let is_unnamed = || now.is_none() && matches!(root.stamp(path), Ok(Some(_)));
        // A submodule of the present is a repository like any other where the index has no such entry.
        let is_same_repository = || {
            let both = now.zip(left);
            both.is_some_and(|(now, left)| {
                let is_one = Kind::Nested.is_reason(&now.reason);
                is_one && Kind::Gitlink.is_reason(&left.reason) && now.head == left.head
            })
        };
        let is_left = || left.is_none() || is_same_repository();
        let is_own = || own.has(path) && (then.is_none() && is_left() || is_unnamed());
        // A large file that a filter converts, which the rules of the past ignore, is there as the present had it.
        let is_filtered = || {
            let file = own.filtered.get(path).filter(|_| then.is_none());
            let stamp = root.stamp(path).ok().flatten();
            let is_same = file.zip(stamp).and_then(|(file, stamp)| file.is(&stamp));
            is_same == Some(Certainty::Certain)
        };
        now == then || now == left || is_emptied() == Some(true) || is_own() || is_filtered()
    })
}

/// Owners, ACLs and attributes: as the snapshot recorded them; where it knows nothing, and of what is another owner's, as the present had
/// them. Directories that the present left out kept theirs, which no record has.
fn has_same_access(
    store: &Store,
    (saved, manifest): (&Stored, &Manifest),
    (start, own): (&PastStart<'_>, &Unsaved),
) -> Result<bool> {
    let now = store.access(saved)?;
    let files = store.access(start.files)?;
    let backup = store.access(start.backup)?;
    let changed = now.differing(&backup, Vec::new);
    let stays = |path: &Vec<u8>| {
        let is_refused = is_anothers(&now, path) && now.of(path) == backup.of(path);
        is_refused || own.is_dir(path)
    };
    let is_given = |path: &Vec<u8>| files.of(path).is_some() || own.is_dir(path);
    // What travel took away has no access any more; that it is away, the files tell.
    let is_there =
        |path: &Vec<u8>| manifest.file(path).is_some() || manifest.dir_on_disk(path).is_some();
    let mut changed = changed.iter().filter(|path| is_there(path));
    Ok(now.owner == backup.owner
        && now.differing(&files, Vec::new).iter().all(stays)
        && changed.all(is_given))
}

/// Puts the snapshot in the experiment's place, unless somebody drops it at this moment.
fn replace(store: &Store, saved: &Stored, files: &Stored, journal: &mut Journal) -> Result<bool> {
    let mut transaction = store.refs.transaction();
    transaction.verify(&names::snapshot_ref(&files.id), files.commit);
    transaction.delete(&names::snapshot_ref(&saved.id), Some(saved.commit));
    let prepared = transaction.prepare()?;
    let with_experiment = journal.clone();
    journal.backup_id = files.id.to_string();
    journal.backup_commit = files.commit.to_string();
    journal.experiment_id = None;
    // First the journal: a death in between leaves an experiment that nothing names, and never a name without one.
    if let Err(error) = store.dir.write_journal(journal) {
        *journal = with_experiment;
        return Err(error);
    }
    fail_point("swap-unchanged");
    prepared.commit()?;
    // A number that is missing stands for a snapshot that was forgotten: no more than that is wrong where it cannot be given back.
    let _ = store.give_back_seq(saved.record.seq);
    Ok(true)
}
