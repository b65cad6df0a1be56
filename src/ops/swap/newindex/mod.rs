//! The index that a swap puts in place: a snapshot's entries, flags and stages, with fresh stat data.
//!
//! It is made from the index that is there, changed where the two trees differ. Stat data is kept where nothing moved, taken afresh
//! for what the swap wrote and for what git held for clean, and dropped where the file's raw bytes are not the entry's, so that
//! git looks for itself: an entry that git would have called racy must never come out looking clean.

mod snapshot;
mod stat;

pub use snapshot::{entries_beside, stages};

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::time::Duration;

use super::pathindex::PathEntries;
use super::read_tree;
use crate::env::clock_nanos;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::{Root, Stamp};
use crate::git::index::{Builder, Entry, Flags, Index, Stat};
use crate::git::objects::ObjectKind;
use crate::git::textdiff::with_plain_ends;
use crate::git::tree::{self, Node};
use crate::ops::Context;
use crate::ops::capture::Capture;
use crate::ops::gitview::{self, GitView, StatRules};
use crate::store::Store;
use crate::store::snapshot::Lists;
use crate::store::stored::Stored;
use crate::worktree::apply::Applied;
use crate::worktree::attributes::Normalized;
use crate::worktree::manifest::{Finder, Kind};
use crate::worktree::plan::Plan;

/// Where the entries of the new index come from.
#[derive(Clone, Copy)]
pub(super) enum IndexSource<'a> {
    /// A snapshot.
    Snapshot {
        /// Whose index.
        stored: &'a Stored,
        /// Its lists.
        lists: &'a Lists,
    },
    /// Entries of single paths, all others are as they are.
    Entries(&'a PathEntries),
}

/// Paths that git holds for clean although their raw bytes are not the entry's: filters and line ends, also such as do not hold
/// any more.
pub(super) fn converted_paths(
    ctx: &Context<'_>,
    store: &Store,
    capture: &Capture<'_>,
) -> Result<Vec<Vec<u8>>> {
    let Some(index) = &capture.parsed_index else {
        return Ok(Vec::new());
    };
    let read = |oid| read_tree(store, capture, oid);
    let mut changes = tree::diff(&read, Some(capture.index.tree_oid()?), Some(capture.tree))?;
    changes.retain(|change| change.old.is_some() && change.new.is_some());
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let root = Root::open(ctx.repo.worktree_root())?;
    let attributes = attributes(ctx, store, &root)?;
    let rules = StatRules::of(&ctx.repo)?;
    let is_converted = |path: &[u8]| {
        let file = capture.manifest.file(path)?;
        let entry = index.get(path, 0)?;
        let is_clean = || {
            is_held_for_clean(&rules, &attributes, (path, entry), (index, &file.stamp))
                || has_other_line_ends(&attributes, store, (&root, path), (file.oid, entry))
        };
        Some(file.kind == Kind::File && is_clean())
    };
    let paths = changes.into_iter().map(|change| change.path);
    Ok(paths
        .filter(|path| is_converted(path) == Some(true))
        .collect())
}

/// The attributes of the files as they are now.
fn attributes<'a>(ctx: &'a Context<'_>, store: &'a Store, root: &'a Root) -> Result<GitView<'a>> {
    let known = gitview::Known::default();
    GitView::new(&ctx.repo, &store.objects, root, None, known)
}

/// Whether a file, which still has the bytes that were captured, differs from its entry in the line ends alone that git makes of them: at a
/// racy entry, as each of a merge and many of a checkout, git looks at the bytes. What a filter makes of them is not found out.
fn has_other_line_ends(
    attributes: &GitView<'_>,
    store: &Store,
    (root, path): (&Root, &[u8]),
    (captured, entry): (Oid, &Entry),
) -> bool {
    let Some(conversion) = attributes.conversion(path) else {
        return false;
    };
    let is_unsaid = conversion.normalized == Normalized::Unsaid;
    if is_unsaid || conversion.filter.is_some() || conversion.encoding {
        return false;
    }
    let mut bytes = Vec::new();
    let file = root.open_file(path).map(File::from);
    let read = file.map(|mut file| file.read_to_end(&mut bytes).is_ok());
    let Ok((_, staged)) = store.objects.read(entry.oid) else {
        return false;
    };
    let is_as_captured = |bytes: &[u8]| {
        let found = store.objects.hash(ObjectKind::Blob, bytes);
        found.is_ok_and(|oid| oid == captured)
    };
    // Of what git may take for binary only git knows; with such line ends in the entry it leaves a file alone.
    let may_be_binary =
        |byte: &u8| *byte < b' ' && !b"\t\n\r\x08\x0c\x1b".contains(byte) || *byte == 0x7f;
    read == Ok(true)
        && !bytes.iter().any(may_be_binary)
        && !staged.contains(&b'\r')
        && with_plain_ends(&bytes).eq(&staged)
        && is_as_captured(&bytes)
}

/// Whether git holds a file for clean as it is. One that it would look at again it holds for what it found before, where only a filter tells.
fn is_held_for_clean(
    rules: &StatRules,
    attributes: &GitView<'_>,
    (path, entry): (&[u8], &Entry),
    (index, stamp): (&Index, &Stamp),
) -> bool {
    let needs_filter = || {
        let conversion = attributes.conversion(path);
        conversion.is_some_and(|conversion| conversion.filter.is_some() || conversion.encoding)
    };
    rules.are_clean(entry, index, stamp) || rules.were_clean(entry, index, stamp) && needs_filter()
}

/// Of the paths whose file or entry changes, those that git holds for clean by their stat data alone: their bytes are the entry's, and git
/// would add them as others, as under a `text` attribute that came after a file with carriage returns.
pub(super) fn clean_by_stat<'p>(
    ctx: &Context<'_>,
    store: &Store,
    capture: &Capture<'_>,
    changing: impl Iterator<Item = &'p Vec<u8>>,
) -> Result<Vec<Vec<u8>>> {
    let Some(index) = &capture.parsed_index else {
        return Ok(Vec::new());
    };
    let root = Root::open(ctx.repo.worktree_root())?;
    let attributes = attributes(ctx, store, &root)?;
    let rules = StatRules::of(&ctx.repo)?;
    let is_one = |path: &[u8]| {
        let file = capture.manifest.file(path)?;
        let node = Node {
            mode: file.git_mode,
            oid: file.oid,
        };
        let entry = index.get(path, 0).filter(|entry| entry.node() == node)?;
        let is_clean = file.kind == Kind::File
            && is_held_for_clean(&rules, &attributes, (path, entry), (index, &file.stamp));
        Some(is_clean && !stat::is_kept_by_git(&attributes, store, path, node))
    };
    let mut found: Vec<Vec<u8>> = changing
        .filter(|path| is_one(path) == Some(true))
        .cloned()
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// The paths whose entries in the index will be others, where it becomes a snapshot's.
pub(super) fn changing_entries(
    store: &Store,
    capture: &Capture<'_>,
    stored: &Stored,
) -> Result<Vec<Vec<u8>>> {
    let read = |oid| read_tree(store, capture, oid);
    let there = store.index_side(stored)?.tree;
    let changes = tree::diff(&read, Some(capture.index.tree_oid()?), Some(there))?;
    let changes = changes.into_iter().filter(|change| change.old.is_some());
    Ok(changes.map(|change| change.path).collect())
}

/// Whether a file that git converts was written with another size than its entry tells, which need not be one that git would add.
pub(super) fn resizes_converted(
    ctx: &Context<'_>,
    store: &Store,
    capture: &Capture<'_>,
    applied: &Applied,
) -> Result<bool> {
    let Some(index) = &capture.parsed_index else {
        return Ok(false);
    };
    let has_other_size = |path: &[u8], stamp: &Stamp| {
        let entry = index.get(path, 0);
        entry.is_some_and(|entry| {
            let is_known = entry.stat != Stat::default();
            is_known && entry.stat.size != Stat::of(stamp, 0).size
        })
    };
    let written = applied.stamps.iter();
    let mut resized = written
        .filter(|(path, stamp)| has_other_size(path, stamp))
        .peekable();
    if resized.peek().is_none() {
        return Ok(false);
    }
    let root = Root::open(ctx.repo.worktree_root())?;
    let attributes = attributes(ctx, store, &root)?;
    let is_converted = |path: &[u8]| {
        let conversion = attributes.conversion(path);
        conversion.is_none_or(|conversion| !conversion.is_none())
    };
    Ok(resized.any(|(path, _)| is_converted(path)))
}

/// Makes the index.
pub(super) fn new_index(
    ctx: &Context<'_>,
    store: &Store,
    capture: &Capture<'_>,
    source: IndexSource<'_>,
    applied: &Applied,
    plan: &Plan,
) -> Result<Index> {
    let current = capture
        .parsed_index
        .as_ref()
        .ok_or_else(|| Error::new(Code::Io, "the index was not read"))?;
    let no_lists = Lists::default();
    let lists = match source {
        IndexSource::Snapshot { lists, .. } => lists,
        IndexSource::Entries(_) => &no_lists,
    };
    let converted = still_converted(ctx, store, capture, source, plan)?;
    let root = Root::open(ctx.repo.worktree_root())?;
    let device = rustix::fs::fstat(root.fd())?.st_dev;
    let builder = IndexBuilder {
        ctx,
        root: &root,
        device,
        attributes: attributes(ctx, store, &root)?,
        store,
        capture,
        finder: Finder::new(&capture.manifest),
        current,
        lists,
        written: plan
            .entries
            .iter()
            .filter_map(|entry| Some((entry.path.as_slice(), entry.after?.node)))
            .collect(),
        removed: plan
            .entries
            .iter()
            .filter(|entry| entry.after.is_none())
            .map(|entry| entry.path.as_slice())
            .collect(),
        converted: converted.iter().map(Vec::as_slice).collect(),
        by_stat_alone: Cell::new(None),
        stamps: applied
            .stamps
            .iter()
            .map(|(path, stamp)| (path.as_slice(), stamp))
            .collect(),
        rules: StatRules::of(&ctx.repo)?,
    };
    let mut index = match source {
        IndexSource::Snapshot { stored, .. } => builder.of_snapshot(stored)?,
        IndexSource::Entries(entries) => builder.with_entries(entries)?,
    };
    builder.fold(&mut index, source)?;
    index.splits = ctx.repo.needs_split_index()?;
    if let Some(second) = builder.by_stat_alone.get() {
        wait_until_over(second);
    }
    Ok(index)
}

/// Of the paths that git held for clean under other bytes than their entries have, those that it may hold for clean again: entry and file
/// will be those that it looked at.
fn still_converted(
    ctx: &Context<'_>,
    store: &Store,
    capture: &Capture<'_>,
    source: IndexSource<'_>,
    plan: &Plan,
) -> Result<Vec<Vec<u8>>> {
    match source {
        IndexSource::Snapshot { stored, lists } => {
            let mut converted = lists.converted.clone();
            if converted.is_empty() {
                return Ok(converted);
            }
            let read = |oid| read_tree(store, capture, oid);
            let differing = tree::diff(&read, Some(capture.tree), Some(stored.tree))?;
            // What stays as it is now, because it is kept.
            let kept = differing.into_iter().map(|change| change.path);
            let kept: BTreeSet<Vec<u8>> = kept.filter(|path| plan.entry(path).is_none()).collect();
            converted.retain(|path| !kept.contains(path));
            Ok(converted)
        }
        IndexSource::Entries(entries) => {
            let current = capture.parsed_index.as_ref();
            let is_the_same = |path: &[u8]| {
                let entry = current.and_then(|current| current.get(path, 0));
                match entries.get(path).map(Vec::as_slice) {
                    None => true,
                    Some([new]) => new.stage == 0 && entry.map(Entry::node) == Some(new.node()),
                    Some(_) => false,
                }
            };
            let mut converted = converted_paths(ctx, store, capture)?;
            converted.retain(|path| plan.entry(path).is_none() && is_the_same(path));
            Ok(converted)
        }
    }
}

/// Waits until a second, counted from the epoch, is over: git looks at the bytes of a file that is as new as its index, by whole seconds,
/// and would find one modified that is clean for its stat data alone.
fn wait_until_over(second: i64) {
    const SECOND: i64 = 1_000_000_000;
    let left = (second + 1) * SECOND - clock_nanos();
    // What came into place may be of the next second; a clock that was set back is not waited for.
    if (0..=2 * SECOND).contains(&left) {
        // The clock of the files is some milliseconds behind.
        std::thread::sleep(Duration::from_nanos(left.unsigned_abs()) + Duration::from_millis(10));
    }
}

/// Has these directories of a snapshot's index written folded, wherever their trees say all that is beneath.
///
/// # Errors
/// A tree cannot be read.
pub fn fold<'a>(
    store: &Store,
    stored: &Stored,
    dirs: impl IntoIterator<Item = &'a Vec<u8>>,
    index: &mut Index,
) -> Result<()> {
    let trees = gitview::Trees(&store.objects);
    let root = store.index_side(stored)?.tree;
    for dir in dirs {
        let found = tree::find(&store.objects, root, dir)?;
        if let Some(node) = found.filter(|node| node.is_dir()) {
            index.fold(dir, node.oid, &trees)?;
        }
    }
    Ok(())
}

struct IndexBuilder<'a> {
    ctx: &'a Context<'a>,
    /// The working tree.
    root: &'a Root,
    /// The device of the working tree. git compares no devices unless it is built to.
    device: u64,
    /// The attributes of the files as they are now.
    attributes: GitView<'a>,
    store: &'a Store,
    capture: &'a Capture<'a>,
    /// Finds what was captured.
    finder: Finder<'a>,
    current: &'a Index,
    lists: &'a Lists,
    written: BTreeMap<&'a [u8], Node>,
    removed: BTreeSet<&'a [u8]>,
    converted: BTreeSet<&'a [u8]>,
    /// Of the entries that are clean to git for their stat data alone: the latest second in which one was changed.
    by_stat_alone: Cell<Option<i64>>,
    /// What the swap wrote, as it was right afterwards.
    stamps: BTreeMap<&'a [u8], &'a Stamp>,
    rules: StatRules,
}

impl IndexBuilder<'_> {
    /// What the snapshot had folded, and what stands folded here, is folded where it can be: git folds a sparse index at its next
    /// write anyhow, and dies or writes a broken one when an entry of `git add -N` is in it.
    fn fold(&self, index: &mut Index, source: IndexSource<'_>) -> Result<()> {
        let IndexSource::Snapshot { stored, lists } = source else {
            let trees = gitview::Trees(&self.store.objects);
            let mut folded = self.current.was_folded.iter();
            return folded.try_for_each(|(dir, oid)| index.fold(dir, *oid, &trees));
        };
        let here = self.current.was_folded.iter().map(|(dir, _)| dir);
        // The tree of a folded directory may differ between here and there.
        let dirs: BTreeSet<&Vec<u8>> = lists.folded.iter().chain(here).collect();
        fold(self.store, stored, dirs, index)
    }

    /// The index that is there with other entries for some paths.
    fn with_entries(&self, entries: &PathEntries) -> Result<Index> {
        let mut builder = Builder::edit(self.current.clone());
        builder.retain(|path, _| !entries.contains_key(path));
        for (path, entries) in entries {
            for entry in entries {
                builder.push(path, entry.clone())?;
            }
        }
        let mut index = builder.finish();
        self.renew_stats(&mut index);
        Ok(index)
    }

    /// The index that is there, whose entries are the target's as well, under the target's marks.
    fn with_flags(&self, undo: Option<Vec<u8>>, flags: &dyn Fn(&[u8]) -> Flags) -> Index {
        let mut index = self.current.clone();
        // These described the file that it was read from. What is written is one whole file; git splits or folds it again when so set.
        (index.file, index.checksum) = (None, Oid::NULL);
        (index.was_split, index.was_sparse) = (false, false);
        index.resolve_undo = undo;
        let other: Vec<(usize, Flags)> = index
            .iter()
            .enumerate()
            .map(|(at, (path, entry))| (at, entry.flags, flags(path)))
            .filter(|(_, old, new)| old != new)
            .map(|(at, _, new)| (at, new))
            .collect();
        for (at, flags) in other {
            index.set_flags(at, flags);
        }
        self.renew_stats(&mut index);
        index
    }
}
