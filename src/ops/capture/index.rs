//! What the index and HEAD say: read afresh, or out of the cache when neither moved.

use super::super::gitview::{head_only_paths, read_index};
use super::super::head_commit::{head_tree, not_fetched};
use super::{CaptureRun, index_stamp, is_fresh};
use crate::error::{Code, Result};
use crate::git::index::{CacheTree, Flags, Index, MemoryTrees, build_tree_without, unsafe_names};
use crate::git::objects::{ObjectKind, ObjectStore};
use crate::git::repo::Head;
use crate::git::{ObjectFormat, Oid, path, threads, tree};
use crate::store::paths;
use crate::worktree::cache::Meta;
use crate::worktree::capture::KnownTrees;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// An index summary with more paths than this is not kept in the cache.
// As for `derived`: every command and every hook parses the cache.
const SUMMARY_LIMIT: usize = 200;

/// Many small pieces cost more than their bytes.
const HASHED_AT_ONCE: usize = 64 << 10;

/// What the index holds that its tree does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSummary {
    /// The index as a tree.
    pub tree: String,
    /// Unmerged paths.
    #[serde(with = "paths")]
    pub conflicts: Vec<Vec<u8>>,
    /// Entries that the tree lacks, as `git ls-files -s -z` prints them: unmerged ones, those whose objects are not there, and those
    /// whose names are unsafe.
    pub unmerged: Vec<u8>,
    /// Blobs of unmerged entries and of resolve-undo, with their modes.
    pub blobs: Vec<String>,
    /// `git add -N` paths.
    #[serde(with = "paths")]
    pub intent_to_add: Vec<Vec<u8>>,
    /// Modes of those that are no plain files.
    pub intent_modes: Vec<(Vec<u8>, u32)>,
    /// skip-worktree paths.
    #[serde(with = "paths")]
    pub skip_worktree: Vec<Vec<u8>>,
    /// assume-unchanged paths.
    #[serde(with = "paths")]
    pub assume_unchanged: Vec<Vec<u8>>,
    /// Directories that stand folded in a sparse index.
    #[serde(with = "paths")]
    pub folded: Vec<Vec<u8>>,
    /// The resolve-undo extension.
    pub resolve_undo: Option<Vec<u8>>,
    /// Whether there is any submodule.
    pub submodules: bool,
    /// Paths whose objects are not there, in order.
    #[serde(with = "paths")]
    pub missing: Vec<Vec<u8>>,
    /// Paths that git took and that are in no tree of ours, for their names are unsafe; in order.
    #[serde(with = "paths")]
    pub unsafe_names: Vec<Vec<u8>>,
}

impl IndexSummary {
    fn paths(&self) -> usize {
        self.conflicts.len()
            + self.intent_to_add.len()
            + self.skip_worktree.len()
            + self.missing.len()
            + self.unsafe_names.len()
            + self.assume_unchanged.len()
            + self.folded.len()
            + self.resolve_undo.as_ref().map_or(0, Vec::len)
    }

    /// The `.gitignore` files that the sparse checkout leaves out, in order.
    pub(super) fn sparse_ignore_files(&self) -> Vec<Vec<u8>> {
        let is_one = |full: &&Vec<u8>| path::split(full).1 == b".gitignore";
        self.skip_worktree.iter().filter(is_one).cloned().collect()
    }

    /// Whether a merged entry stands beside the tree and not in it.
    pub fn is_beside(&self, full: &[u8]) -> bool {
        let has = |paths: &[Vec<u8>]| {
            let found = paths.binary_search_by(|path| path.as_slice().cmp(full));
            found.is_ok()
        };
        has(&self.missing) || has(&self.unsafe_names)
    }

    /// The index tree's id.
    pub fn tree_oid(&self) -> Result<Oid> {
        Ok(Oid::from_hex(&self.tree)?)
    }
}

/// What the cache keeps of the index.
#[derive(Serialize, Deserialize)]
struct CachedIndex {
    summary: IndexSummary,
    /// Paths in HEAD that the index lacks.
    #[serde(with = "paths")]
    head_only: BTreeSet<Vec<u8>>,
}

/// An index, made a tree.
struct IndexTree<'a> {
    oid: Oid,
    /// The positions of the entries that are not in it.
    beside: Beside,
    /// What was made of it.
    trees: MemoryTrees<'a>,
}

/// Positions of merged entries that no tree of ours may have, in order; those of both lists are in the second alone.
struct Beside {
    /// Their objects are not there.
    missing: Vec<usize>,
    /// Their names are unsafe.
    unsafe_names: Vec<usize>,
}

impl Beside {
    fn all(&self) -> Vec<usize> {
        let mut all = [self.missing.as_slice(), &self.unsafe_names].concat();
        all.sort_unstable();
        all
    }
}

/// git's cache tree as capture asks it.
#[derive(Clone, Copy)]
pub(super) struct Cached<'a>(pub(super) &'a CacheTree);

impl KnownTrees for Cached<'_> {
    fn tree(self) -> Option<(Oid, usize)> {
        let valid = self.0.valid?;
        Some((valid.oid, valid.entries as usize))
    }

    fn child(self, name: &[u8]) -> Option<Self> {
        self.0.child(name).map(Self)
    }
}

/// What the index and HEAD say, read afresh or out of the cache.
pub(super) struct IndexState {
    /// HEAD's commit.
    pub(super) head: Option<Oid>,
    pub(super) summary: IndexSummary,
    pub(super) parsed: Option<Index>,
    pub(super) head_only: BTreeSet<Vec<u8>>,
    pub(super) tracked: String,
    pub(super) trees: HashMap<Oid, Vec<u8>>,
    pub(super) stamp: Vec<i64>,
    pub(super) record: serde_json::Value,
}

pub(super) fn head_text(head: &Head) -> String {
    head.oid.map(|oid| oid.to_string()).unwrap_or_default()
}

impl CaptureRun<'_, '_, '_> {
    /// The index and HEAD, out of the cache when neither moved and the anchor stands: it alone holds the index's trees.
    pub(super) fn index_state(
        &self,
        head: &Head,
        meta: &Meta,
        anchored: bool,
    ) -> Result<IndexState> {
        let stamp = index_stamp(self.ctx);
        let fresh = is_fresh(&stamp, self.started);
        let known = &meta.index;
        let same = known.stamp == stamp && known.head == head_text(head) && !fresh;
        if same && anchored && !known.record.is_null() {
            let parsed = if self.wanted.whole_index {
                Some(read_index(&self.ctx.repo, &self.store.objects)?)
            } else {
                None
            };
            let kept = serde_json::from_value::<CachedIndex>(known.record.clone());
            if let Ok(kept) = kept
                // What was not there may have come.
                && kept.summary.missing.is_empty()
                // What was read is what the stamp stood for.
                && (parsed.is_none() || index_stamp(self.ctx) == stamp)
            {
                return Ok(IndexState {
                    head: head.oid,
                    summary: kept.summary,
                    parsed,
                    head_only: kept.head_only,
                    tracked: known.tracked.clone(),
                    trees: HashMap::new(),
                    stamp,
                    record: known.record.clone(),
                });
            }
        }
        let known = anchored.then(|| Oid::from_hex(&known.index_commit).ok());
        let known = known
            .flatten()
            .and_then(|commit| Some(self.store.commit(commit).ok()?.tree));
        self.read_index_state(head, stamp, known)
    }

    /// `known`: the tree of an earlier index, which is held with all that it names.
    fn read_index_state(
        &self,
        head: &Head,
        stamp: Vec<i64>,
        known: Option<Oid>,
    ) -> Result<IndexState> {
        let mut index = read_index(&self.ctx.repo, &self.store.objects)?;
        index.prove_trees();
        let head_tree = head_tree(self.ctx, self.store, head)?;
        let IndexTree {
            oid: index_tree,
            beside,
            trees,
        } = self.index_tree(&index, head_tree, known)?;
        let head_only = head_only_paths(&trees, head_tree, index_tree, &index)
            .map_err(|error| not_fetched(self.ctx, self.store, error))?;
        let summary = summarize(&index, index_tree, &beside, &self.store.objects);
        let tracked = self.tracked(&index, &head_only, &summary)?;
        let record = cached(&summary, &head_only);
        Ok(IndexState {
            head: head.oid,
            summary,
            parsed: Some(index),
            head_only,
            tracked,
            trees: trees.made,
            stamp,
            record,
        })
    }
}

/// What the cache keeps of the index; nothing when that is much.
fn cached(summary: &IndexSummary, head_only: &BTreeSet<Vec<u8>>) -> serde_json::Value {
    if summary.paths() + head_only.len() > SUMMARY_LIMIT {
        return serde_json::Value::Null;
    }
    let kept = CachedIndex {
        summary: summary.clone(),
        head_only: head_only.clone(),
    };
    serde_json::to_value(kept).unwrap_or_default()
}

impl CaptureRun<'_, '_, '_> {
    /// Stands for what is tracked: what a scan was judged by holds as long as it is the same.
    fn tracked(
        &self,
        index: &Index,
        head_only: &BTreeSet<Vec<u8>>,
        summary: &IndexSummary,
    ) -> Result<String> {
        let tracked = tracked_hash(index, head_only, self.ctx.repo.file_mode()?)?;
        if summary.missing.is_empty() {
            return Ok(tracked);
        }
        // What is not there has no place in the tree of the files either.
        let text = format!(
            "{tracked} {}",
            summary.missing.join(&b"\0"[..]).escape_ascii()
        );
        let oid = self.store.objects.hash(ObjectKind::Blob, text.as_bytes())?;
        Ok(oid.to_string())
    }

    /// The index as a tree. An entry whose object is not there is not in it, nor is one whose name is unsafe.
    fn index_tree(
        &self,
        index: &Index,
        head_tree: Option<Oid>,
        known: Option<Oid>,
    ) -> Result<IndexTree<'_>> {
        let mut trees = MemoryTrees::new(&self.store.objects);
        if let (Some(known), Some(cache)) = (known, index.true_trees()) {
            trees.hold(known, cache);
        }
        // A tree has each name once, and no stages: for a conflict HEAD's entry stands, the stages are stored beside it.
        let unmerged = |path: &[u8]| match head_tree {
            Some(tree) => {
                let read = |oid| self.store.objects.read_safe_tree(oid);
                let found = tree::find(&read, tree, path)?.map(|node| (node.mode, node.oid));
                Ok(found.filter(|(mode, oid)| is_held(&self.store.objects, *mode, *oid)))
            }
            None => Ok(None),
        };
        let unsafe_names = unsafe_names(index);
        let mut oid = build_tree_without(index, &unsafe_names, &unmerged, &mut trees)?;
        let mut missing = self.missing(index, oid, known, &trees)?;
        missing.retain(|at| unsafe_names.binary_search(at).is_err());
        let has_all = missing.is_empty();
        let beside = Beside {
            missing,
            unsafe_names,
        };
        if !has_all {
            // A tree of ours that names a missing object would make the user's `git gc` and `git fsck` fail.
            trees.made.clear();
            oid = build_tree_without(index, &beside.all(), &unmerged, &mut trees)?;
        }
        Ok(IndexTree { oid, beside, trees })
    }

    /// The positions of merged entries whose objects are not there, or damaged. What an earlier index tree of ours names is held.
    fn missing(
        &self,
        index: &Index,
        tree: Oid,
        known: Option<Oid>,
        trees: &MemoryTrees<'_>,
    ) -> Result<Vec<usize>> {
        let objects = &self.store.objects;
        let read = |oid| trees.read_safe(oid);
        let since = known.map(|known| tree::diff(&read, Some(known), Some(tree)));
        let new: Vec<usize> = match since {
            Some(Ok(changes)) => changes
                .iter()
                // What both trees name is held by the earlier one: only what is new has to be looked up.
                .filter(|change| change.new.is_some())
                .filter_map(|change| index.position(&change.path, 0).ok())
                .collect(),
            // An earlier one of which something is lost, as a lender lets it go, holds nothing.
            Some(Err(error)) if error.code() == Code::CorruptRecord => {
                tree::flatten_any_names(&read, tree)?;
                (0..index.len()).collect()
            }
            Some(Err(error)) => return Err(error),
            None => (0..index.len()).collect(),
        };
        let is_missing = |at: &usize| {
            let entry = index.entries().get(*at);
            entry.is_some_and(|entry| {
                let merged = entry.stage == 0 && !entry.flags.contains(Flags::INTENT_TO_ADD);
                merged && !is_held(objects, entry.mode, entry.oid)
            })
        };
        let missing = |among: &[usize]| -> Vec<usize> {
            let found = threads::map(among, is_missing);
            let found = among.iter().zip(found).filter(|(_, missing)| *missing);
            found.map(|(at, _)| *at).collect()
        };
        let mut found = missing(&new);
        if !found.is_empty() {
            // Another process may have packed them since the packs were listed.
            objects.refresh();
            found = missing(&found);
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// Whether what an entry of a tree or an index names may be named by a tree of ours. A submodule's commit is never here, but has an id.
fn is_held(objects: &ObjectStore, mode: u32, oid: Oid) -> bool {
    !oid.is_null() && (mode == tree::GITLINK_MODE || objects.is_sound(oid))
}

fn summarize(index: &Index, tree: Oid, beside: &Beside, objects: &ObjectStore) -> IndexSummary {
    let mut summary = IndexSummary {
        tree: tree.to_string(),
        resolve_undo: index.resolve_undo.clone(),
        folded: index
            .was_folded
            .iter()
            .map(|(dir, _)| dir.clone())
            .collect(),
        ..IndexSummary::default()
    };
    for (at, (path, entry)) in index.iter().enumerate() {
        let is_missing = beside.missing.binary_search(&at).is_ok();
        let is_unsafe = beside.unsafe_names.binary_search(&at).is_ok();
        if is_missing {
            summary.missing.push(path.to_vec());
        }
        if is_unsafe {
            summary.unsafe_names.push(path.to_vec());
        }
        if entry.stage > 0 || is_missing || is_unsafe {
            let is_conflict = entry.stage > 0;
            if is_conflict && summary.conflicts.last().is_none_or(|last| last != path) {
                summary.conflicts.push(path.to_vec());
            }
            let line = format!("{:06o} {} {}\t", entry.mode, entry.oid, entry.stage);
            summary.unmerged.extend_from_slice(line.as_bytes());
            summary.unmerged.extend_from_slice(path);
            summary.unmerged.push(0);
            if entry.mode != tree::GITLINK_MODE && !is_missing {
                summary.blobs.push(entry.oid.to_string());
            }
        }
        summary.submodules |= entry.mode == tree::GITLINK_MODE;
        if entry.flags == Flags::empty() {
            continue;
        }
        if entry.flags.contains(Flags::INTENT_TO_ADD) {
            summary.intent_to_add.push(path.to_vec());
            if entry.mode != 0o100_644 {
                summary.intent_modes.push((path.to_vec(), entry.mode));
            }
        }
        if entry.flags.contains(Flags::SKIP_WORKTREE) {
            summary.skip_worktree.push(path.to_vec());
        }
        if entry.flags.contains(Flags::ASSUME_VALID) {
            summary.assume_unchanged.push(path.to_vec());
        }
    }
    if let Some(payload) = &summary.resolve_undo {
        summary
            .blobs
            .extend(resolve_undo_blobs(payload, index.format));
    }
    summary.blobs.sort();
    summary.blobs.dedup();
    // A gc may have taken what only resolve-undo names.
    summary
        .blobs
        .retain(|oid| Oid::from_hex(oid).is_ok_and(|oid| objects.is_sound(oid)));
    summary
}

/// The blobs that a resolve-undo payload names: per path three octal modes, then an id for each that is not zero.
fn resolve_undo_blobs(payload: &[u8], format: ObjectFormat) -> Vec<String> {
    let mut blobs = Vec::new();
    let mut rest = payload;
    let next = |rest: &mut &[u8]| -> Option<Vec<u8>> {
        let end = rest.iter().position(|&byte| byte == 0)?;
        let word = rest[..end].to_vec();
        *rest = &rest[end + 1..];
        Some(word)
    };
    while let Some(_path) = next(&mut rest) {
        let mut modes = Vec::new();
        for _ in 0..3 {
            let Some(mode) = next(&mut rest) else {
                return blobs;
            };
            modes.push(u32::from_str_radix(&String::from_utf8_lossy(&mode), 8).unwrap_or(0));
        }
        for mode in modes.into_iter().filter(|mode| *mode != 0) {
            let Some((oid, after)) = format.split(rest) else {
                return blobs;
            };
            rest = after;
            // A submodule's commit is in the submodule's repository.
            if mode != tree::GITLINK_MODE {
                blobs.push(oid.to_string());
            }
        }
    }
    blobs
}

/// With `core.fileMode=false` the index says what is executable, so its modes count as well.
fn tracked_hash(
    index: &Index,
    head_only: &BTreeSet<Vec<u8>>,
    modes_from_disk: bool,
) -> Result<String> {
    let mut sum = sha1::Sha1::default();
    let mut buffer: Vec<u8> = Vec::with_capacity(HASHED_AT_ONCE + 8192);
    for (path, entry) in index.iter() {
        buffer.extend_from_slice(path);
        let skip = entry.flags.contains(Flags::SKIP_WORKTREE);
        let link = entry.mode == tree::GITLINK_MODE;
        let executable = !modes_from_disk && entry.mode == 0o100_755;
        buffer.extend_from_slice(&[0, u8::from(skip), u8::from(link), u8::from(executable)]);
        // These stand in the captured tree with the index's id; of all others only that they are tracked matters.
        if skip || link {
            buffer.extend_from_slice(entry.oid.as_bytes());
        }
        if buffer.len() >= HASHED_AT_ONCE {
            sha1::Digest::update(&mut sum, &buffer);
            buffer.clear();
        }
    }
    for path in head_only {
        buffer.extend_from_slice(path);
        // Where an entry of the index has a zero: a path that moves between the two lists changes the hash.
        buffer.push(1);
    }
    sha1::Digest::update(&mut sum, &buffer);
    Ok(Oid::from_bytes(&sha1::Digest::finalize(sum))?.to_string())
}
