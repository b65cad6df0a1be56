//! The index that a swap puts in place: a snapshot's entries, flags and stages, with fresh stat data.
//!
//! It is made from the index that is there, changed where the two trees differ. Stat data is kept where nothing moved, taken afresh
//! for what the swap wrote and for what git held for clean, and dropped where the file's raw bytes are not the entry's, so that
//! git looks for itself: an entry that git would have called racy must never come out looking clean.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use super::pathindex::PathEntries;
use super::read_tree;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::{Root, Stamp, nanoseconds};
use crate::git::index::{Builder, Entry, Flags, Index, Stat};
use crate::git::objects::{ObjectKind, hash};
use crate::git::tree::{self, Node};
use crate::ops::Context;
use crate::ops::capture::Capture;
use crate::ops::gitview::{self, GitView, is_stat_clean};
use crate::store::Store;
use crate::store::snapshot::Lists;
use crate::store::stored::{Stored, part};
use crate::worktree::apply::Applied;
use crate::worktree::manifest::{Finder, Kind};
use crate::worktree::plan::Plan;

/// What becomes of the index.
pub enum IndexGoal<'a> {
    /// It stays.
    Stay,
    /// A snapshot's.
    Snapshot {
        /// Whose.
        stored: &'a Stored,
        /// Its lists.
        lists: &'a Lists,
    },
    /// Entries of single paths, all others as they are. Without any the index stays.
    Paths(&'a RefCell<PathEntries>),
}

/// Paths that git holds for clean although their raw bytes are not the entry's: filters and line ends, also such as do not hold
/// any more.
pub fn converted_paths(store: &Store, capture: &Capture<'_>) -> Result<Vec<Vec<u8>>> {
    let Some(index) = &capture.parsed_index else {
        return Ok(Vec::new());
    };
    let mut unwritten: HashMap<Oid, &Vec<u8>> = HashMap::new();
    for bytes in &capture.index_trees {
        unwritten.insert(hash(ObjectKind::Tree, bytes)?, bytes);
    }
    let read = |oid: Oid| match unwritten.get(&oid) {
        Some(bytes) => Ok((*bytes).clone()),
        None => read_tree(store, capture, oid),
    };
    let changes = tree::diff(&read, Some(capture.index.tree_oid()?), Some(capture.tree))?;
    let is_converted = |path: &[u8]| {
        let file = capture.manifest.file(path)?;
        let entry = index.get(path, 0)?;
        Some(file.kind == Kind::File && is_stat_clean(entry, index, &file.stamp))
    };
    let other_bytes = changes
        .into_iter()
        .filter(|change| change.old.is_some() && change.new.is_some())
        .map(|change| change.path);
    Ok(other_bytes
        .filter(|path| is_converted(path) == Some(true))
        .collect())
}

/// Makes the index.
pub fn new_index(
    ctx: &Context<'_>,
    store: &Store,
    capture: &Capture<'_>,
    goal: &IndexGoal<'_>,
    applied: &Applied,
    plan: &Plan,
) -> Result<Index> {
    let current = capture
        .parsed_index
        .as_ref()
        .ok_or_else(|| Error::new(Code::Io, "the index was not read"))?;
    let none = Lists::default();
    let lists = match goal {
        IndexGoal::Snapshot { lists, .. } => lists,
        IndexGoal::Paths(_) | IndexGoal::Stay => &none,
    };
    let root = Root::open(ctx.repo.worktree_root())?;
    let known = gitview::Known::default();
    let builder = IndexBuilder {
        ctx,
        attributes: GitView::new(&ctx.repo, &store.objects, &root, None, known)?,
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
        converted: lists.converted.iter().map(Vec::as_slice).collect(),
        stamps: applied
            .stamps
            .iter()
            .map(|(path, stamp)| (path.as_slice(), stamp))
            .collect(),
    };
    let mut index = match goal {
        IndexGoal::Snapshot { stored, .. } => builder.make(stored)?,
        IndexGoal::Paths(entries) => builder.with_paths(&entries.borrow())?,
        IndexGoal::Stay => return Err(Error::new(Code::Io, "no index is asked for")),
    };
    builder.fold(&mut index, goal)?;
    Ok(index)
}

struct IndexBuilder<'a> {
    ctx: &'a Context<'a>,
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
    /// What the swap wrote, as it was right afterwards.
    stamps: BTreeMap<&'a [u8], &'a Stamp>,
}

impl IndexBuilder<'_> {
    fn make(&self, stored: &Stored) -> Result<Index> {
        let side = self.store.index_side(stored)?;
        let current_tree = self.capture.index.tree_oid()?;
        let trees: BTreeMap<Oid, &Vec<u8>> = BTreeMap::new();
        let read = |oid: Oid| match trees.get(&oid) {
            Some(bytes) => Ok((*bytes).clone()),
            None => self.store.objects.read_tree(oid),
        };
        let changes = tree::diff(&read, Some(current_tree), Some(side.tree))?;
        let changed: BTreeMap<&[u8], Option<Node>> = changes
            .iter()
            .map(|change| (change.path.as_slice(), change.new))
            .collect();
        let set = |list: &[Vec<u8>]| -> BTreeSet<Vec<u8>> { list.iter().cloned().collect() };
        let stages = self.stages(side.state)?;
        // What the target's tree lacks because it is unmerged there, or its object was not there.
        let mut apart = set(&self.lists.conflicts);
        apart.extend(stages.iter().map(|(path, _)| path.clone()));
        let intent = set(&self.lists.intent_to_add);
        let skip = set(&self.lists.skip_worktree);
        let assume = set(&self.lists.assume_unchanged);
        let flags = |path: &[u8]| {
            let mut flags = Flags::empty();
            if skip.contains(path) {
                flags = flags | Flags::SKIP_WORKTREE;
            }
            if assume.contains(path) {
                flags = flags | Flags::ASSUME_VALID;
            }
            flags
        };
        let undo = self.store.state_blob(side.state, part::RESOLVE_UNDO)?;
        let seen = &self.capture.index;
        let only_merged = [&apart, &intent].iter().all(|set| set.is_empty())
            && seen.conflicts.is_empty()
            && seen.missing.is_empty()
            && seen.intent_to_add.is_empty();
        if changes.is_empty() && only_merged {
            return Ok(self.with_flags(undo, &flags));
        }
        let mut builder = Builder::new();
        builder.reserve(self.current.len());
        for (path, entry) in self.current.iter() {
            let merged = entry.stage == 0 && !entry.flags.contains(Flags::INTENT_TO_ADD);
            if !merged
                || changed.contains_key(path)
                || apart.contains(path)
                || seen.missing.iter().any(|missing| missing == path)
                || intent.contains(path)
            {
                continue;
            }
            let mut entry = entry.clone();
            entry.flags = flags(path);
            entry.stat = self.stat_of_unchanged(path, &entry);
            builder.push(path, entry)?;
        }
        let mut fresh: BTreeMap<Vec<u8>, Node> = BTreeMap::new();
        for (path, node) in &changed {
            if let Some(node) = node {
                fresh.insert(path.to_vec(), *node);
            }
        }
        // The tree has HEAD's entries for paths that are unmerged or only intended now; those may be merged in the target.
        for path in self
            .capture
            .index
            .conflicts
            .iter()
            .chain(&self.capture.index.intent_to_add)
        {
            if !changed.contains_key(path.as_slice())
                && let Some(node) = tree::find(&read, side.tree, path)?
                && !node.is_dir()
            {
                fresh.insert(path.clone(), node);
            }
        }
        for (path, node) in fresh {
            if apart.contains(&path) || intent.contains(&path) {
                continue;
            }
            let mut entry = Entry::new(node.mode, node.oid);
            entry.flags = flags(&path);
            entry.stat = self.fresh_stat(&path, node);
            builder.push(&path, entry)?;
        }
        self.push_intents(&mut builder, stored, &flags)?;
        for (path, mut entry) in stages {
            if entry.stage == 0 {
                entry.flags = flags(&path);
                entry.stat = self.stat_of_missing(&path, &entry);
            }
            builder.push(&path, entry)?;
        }
        builder.set_resolve_undo(undo);
        let mut index = builder.finish();
        index.version = self.current.version;
        Ok(index)
    }

    /// What stood folded is folded again where it can be: git folds a sparse index at its next write anyhow, and writes a broken
    /// one when an entry of `git add -N` is in it.
    fn fold(&self, index: &mut Index, goal: &IndexGoal<'_>) -> Result<()> {
        let trees = gitview::Trees(&self.store.objects);
        let read = |oid| self.store.objects.read_tree(oid);
        for (dir, now) in &self.current.was_folded {
            let then = match goal {
                IndexGoal::Snapshot { stored, .. } => {
                    let root = self.store.index_side(stored)?.tree;
                    tree::find(&read, root, dir)?.filter(|node| node.is_dir())
                }
                IndexGoal::Paths(_) | IndexGoal::Stay => None,
            };
            index.fold(dir, then.map_or(*now, |node| node.oid), &trees)?;
        }
        Ok(())
    }

    /// The index that is there with other entries for some paths.
    fn with_paths(&self, entries: &PathEntries) -> Result<Index> {
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
        (index.file, index.checksum) = (None, Oid::ZERO_SHA1);
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

    /// The index is written anew: what was racy against the old file, or was written by the swap, must not come out looking
    /// clean unless it is.
    fn renew_stats(&self, index: &mut Index) {
        let mut touched = self.touched().into_iter().peekable();
        let mut stats: Vec<(usize, Stat)> = Vec::new();
        for (at, (path, entry)) in index.iter().enumerate() {
            while touched.next_if(|next| *next < path).is_some() {}
            let is_touched = touched.peek() == Some(&path);
            if entry.stage != 0 || entry.mode == tree::GITLINK_MODE {
                continue;
            }
            if is_touched || self.has_to_be_renewed(entry) {
                stats.push((at, self.fresh_stat(path, entry.node())));
            }
        }
        for (at, stat) in stats {
            index.set_stat(at, stat);
        }
    }

    /// The paths whose files are not as the current index saw them, in order.
    fn touched(&self) -> BTreeSet<&[u8]> {
        let written = self.written.keys().chain(&self.removed);
        written.chain(&self.converted).copied().collect()
    }

    fn push_intents(
        &self,
        builder: &mut Builder,
        stored: &Stored,
        flags: &dyn Fn(&[u8]) -> Flags,
    ) -> Result<()> {
        let empty_blob = hash(ObjectKind::Blob, b"")?;
        for path in &self.lists.intent_to_add {
            let key = crate::store::state::stored_path(path);
            let mode = stored.record.index.intent_to_add_modes.get(&key);
            let mode = mode
                .and_then(|mode| u32::from_str_radix(mode, 8).ok())
                .unwrap_or(0o100_644);
            let mut entry = Entry::new(mode, empty_blob);
            entry.flags = flags(path) | Flags::INTENT_TO_ADD;
            builder.push(path, entry)?;
        }
        Ok(())
    }

    /// Stat data for an entry whose object is not there: what the current index says of the same, else as for any other.
    fn stat_of_missing(&self, path: &[u8], entry: &Entry) -> Stat {
        let current = self.current.get(path, 0);
        match current.filter(|current| current.node() == entry.node()) {
            Some(current) => self.stat_of_unchanged(path, current),
            None => self.fresh_stat(path, entry.node()),
        }
    }

    /// The entries that the target's tree lacks.
    fn stages(&self, state: Option<Oid>) -> Result<Vec<(Vec<u8>, Entry)>> {
        let mut entries = Vec::new();
        let Some(lines) = self.store.state_blob(state, part::UNMERGED)? else {
            return Ok(entries);
        };
        let corrupt = || {
            Error::new(
                Code::CorruptRecord,
                "the snapshot's unmerged entries are not well formed",
            )
        };
        for line in crate::store::snapshot::split_list(&lines) {
            let tab = line
                .iter()
                .position(|&byte| byte == b'\t')
                .ok_or_else(corrupt)?;
            let words = std::str::from_utf8(&line[..tab]).map_err(|_| corrupt())?;
            let mut words = words.split(' ');
            let mode = words
                .next()
                .and_then(|word| u32::from_str_radix(word, 8).ok());
            let oid = words.next().and_then(|word| Oid::from_str(word).ok());
            let stage = words
                .next()
                .and_then(|word| word.parse::<u8>().ok())
                .filter(|stage| (0..=3).contains(stage));
            let (Some(mode), Some(oid), Some(stage)) = (mode, oid, stage) else {
                return Err(corrupt());
            };
            let path = &line[tab + 1..];
            if !crate::git::path::is_safe(path) {
                return Err(corrupt());
            }
            let mut entry = Entry::new(mode, oid);
            entry.stage = stage;
            entries.push((path.to_vec(), entry));
        }
        Ok(entries)
    }

    /// Stat data for an entry that both indexes have alike.
    fn stat_of_unchanged(&self, path: &[u8], entry: &Entry) -> Stat {
        if self.written.contains_key(path)
            || self.removed.contains(path)
            || self.converted.contains(path)
            || self.has_to_be_renewed(entry)
        {
            return self.fresh_stat(path, entry.node());
        }
        entry.stat
    }

    /// Whether its stat data would say other things in an index that is written now: it has none, or is racy. By whole seconds,
    /// as a git built without `USE_NSEC` compares: for such a git the stamp of a file that was changed in the second of its
    /// `git add` still matches, and only a racy entry makes it look at the bytes.
    fn has_to_be_renewed(&self, entry: &Entry) -> bool {
        entry.stat == Stat::default()
            || self
                .current
                .file
                .is_none_or(|file| entry.stat.mtime.0 >= file.mtime.0)
    }

    /// Stat data as `lstat` has it now, when the file is known to be clean; else none.
    fn fresh_stat(&self, path: &[u8], node: Node) -> Stat {
        let on_disk = match self.written.get(path) {
            Some(written) => Some(*written),
            None if self.removed.contains(path) => None,
            None => self.finder.file(path).map(|file| Node {
                mode: file.git_mode,
                oid: file.oid.get(),
            }),
        };
        let clean = match on_disk {
            Some(found) => {
                (found == node && self.is_kept_by_git(path, node))
                    || (self.converted.contains(path) && found.mode == node.mode)
            }
            None => node.mode == tree::GITLINK_MODE,
        };
        if !clean {
            return Stat::default();
        }
        let full = self
            .ctx
            .repo
            .worktree_root()
            .join(std::ffi::OsStr::from_bytes(path));
        match full.symlink_metadata() {
            Ok(meta) if self.is_as_seen(path, &meta) => Stat::from(&meta),
            _ => Stat::default(),
        }
    }

    /// Whether git would add a file with the bytes of this blob as this very blob, as far as that can be told without running a
    /// filter. Else status shows it as modified, and only git's own look tells.
    fn is_kept_by_git(&self, path: &[u8], node: Node) -> bool {
        let conversion = self.attributes.conversion(path);
        let Some(conversion) = conversion.filter(|_| node.mode != tree::LINK_MODE) else {
            return node.mode == tree::LINK_MODE;
        };
        if conversion.filter.is_some() || conversion.encoding {
            return false;
        }
        if !conversion.eol_or_ident {
            return true;
        }
        let has = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
        self.store.objects.read(node.oid).is_ok_and(|(_, bytes)| {
            !(has(&bytes, b"$Id") || conversion.normalizes && has(&bytes, b"\r\n"))
        })
    }

    /// Whether the file is still the one whose bytes are known: what somebody changed since must not come out looking clean.
    fn is_as_seen(&self, path: &[u8], meta: &Metadata) -> bool {
        let seen = match self.stamps.get(path) {
            Some(stamp) => Some(**stamp),
            None if self.written.contains_key(path) => None,
            None => self.finder.file(path).map(|file| file.stamp),
        };
        seen.is_none_or(|seen| {
            meta.is_dir()
                || seen.mtime == nanoseconds(meta.mtime(), meta.mtime_nsec())
                    && seen.ctime == nanoseconds(meta.ctime(), meta.ctime_nsec())
                    && seen.ino == meta.ino()
                    && seen.size == meta.size()
        })
    }
}
