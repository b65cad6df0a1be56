//! The entries of a snapshot's index, laid over those of the index that is there.

use std::collections::{BTreeMap, BTreeSet};

use super::IndexBuilder;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::index::{Builder, Entry, Flags, Index};
use crate::git::objects::ObjectKind;
use crate::git::path;
use crate::git::tree::{self, Node};
use crate::store::Store;
use crate::store::snapshot::split_list;
use crate::store::state::stored_path;
use crate::store::stored::{Stored, part};

impl IndexBuilder<'_> {
    /// The index of a snapshot.
    pub(super) fn of_snapshot(&self, stored: &Stored) -> Result<Index> {
        let target = Target::of(self, stored)?;
        let undo = self.store.state_blob(target.state, part::RESOLVE_UNDO)?;
        // The usual case: a copy of the index costs less than one made entry by entry.
        if target.has_what_is_there() {
            return Ok(self.with_flags(undo, &|path| target.flags(path)));
        }
        let mut builder = Builder::new(self.store.objects.format());
        builder.reserve(self.current.len());
        target.push_unchanged(&mut builder)?;
        target.push_changed(&mut builder)?;
        target.push_intents(&mut builder)?;
        target.push_stages(&mut builder)?;
        builder.set_resolve_undo(undo);
        let mut index = builder.finish();
        // Who asked git for another version keeps it.
        index.version = self.current.version;
        Ok(index)
    }
}

/// A snapshot's index, as it differs from the one that is there.
struct Target<'a, 'b> {
    builder: &'a IndexBuilder<'b>,
    stored: &'a Stored,
    tree: Oid,
    /// What its tree cannot say, when there is any.
    state: Option<Oid>,
    /// Where the two trees differ, and what the snapshot has there.
    changed: BTreeMap<Vec<u8>, Option<Node>>,
    /// The entries that its tree lacks.
    stages: Vec<(Vec<u8>, Entry)>,
    /// Paths that its tree lacks because they are unmerged there, their objects were not there, or their names are unsafe.
    apart: BTreeSet<Vec<u8>>,
    intent: BTreeSet<&'a [u8]>,
    skip: BTreeSet<&'a [u8]>,
    assume: BTreeSet<&'a [u8]>,
}

impl<'a, 'b> Target<'a, 'b> {
    fn of(builder: &'a IndexBuilder<'b>, stored: &'a Stored) -> Result<Self> {
        let side = builder.store.index_side(stored)?;
        let current = builder.capture.index.tree_oid()?;
        let changes = tree::diff(&builder.store.objects, Some(current), Some(side.tree))?;
        let stages = entries_beside(builder.store, stored)?;
        let lists = builder.lists;
        let mut apart: BTreeSet<Vec<u8>> = lists.conflicts.iter().cloned().collect();
        apart.extend(stages.iter().map(|(path, _)| path.clone()));
        let set = |list: &'a [Vec<u8>]| list.iter().map(Vec::as_slice).collect();
        Ok(Self {
            builder,
            stored,
            tree: side.tree,
            state: side.state,
            changed: changes
                .into_iter()
                .map(|change| (change.path, change.new))
                .collect(),
            stages,
            apart,
            intent: set(&lists.intent_to_add),
            skip: set(&lists.skip_worktree),
            assume: set(&lists.assume_unchanged),
        })
    }

    fn flags(&self, path: &[u8]) -> Flags {
        let mut flags = Flags::empty();
        if self.skip.contains(path) {
            flags = flags | Flags::SKIP_WORKTREE;
        }
        if self.assume.contains(path) {
            flags = flags | Flags::ASSUME_VALID;
        }
        flags
    }

    /// Whether both indexes have the same entries, all of them merged.
    fn has_what_is_there(&self) -> bool {
        let seen = &self.builder.capture.index;
        self.changed.is_empty()
            && self.apart.is_empty()
            && self.intent.is_empty()
            && seen.conflicts.is_empty()
            && seen.missing.is_empty()
            && seen.unsafe_names.is_empty()
            && seen.intent_to_add.is_empty()
    }

    /// The entries that both indexes have alike.
    fn push_unchanged(&self, builder: &mut Builder) -> Result<()> {
        let seen = &self.builder.capture.index;
        for (path, entry) in self.builder.current.iter() {
            // A conflict here, or a path of `git add -N`, says nothing of the snapshot's.
            let merged = entry.stage == 0 && !entry.flags.contains(Flags::INTENT_TO_ADD);
            if !merged
                || self.changed.contains_key(path)
                || self.apart.contains(path)
                || seen.is_beside(path)
                || self.intent.contains(path)
            {
                continue;
            }
            let mut entry = entry.clone();
            entry.flags = self.flags(path);
            entry.stat = self.builder.stat_of_unchanged(path, &entry);
            builder.push(path, entry)?;
        }
        Ok(())
    }

    /// The entries that the index that is there lacks, or has otherwise.
    fn push_changed(&self, builder: &mut Builder) -> Result<()> {
        for (path, node) in self.fresh()? {
            if self.apart.contains(&path) || self.intent.contains(path.as_slice()) {
                continue;
            }
            let mut entry = Entry::new(node.mode, node.oid);
            entry.flags = self.flags(&path);
            entry.stat = self.builder.fresh_stat(&path, node);
            builder.push(&path, entry)?;
        }
        Ok(())
    }

    fn fresh(&self) -> Result<BTreeMap<Vec<u8>, Node>> {
        let mut fresh: BTreeMap<Vec<u8>, Node> = BTreeMap::new();
        for (path, node) in &self.changed {
            if let Some(node) = node {
                fresh.insert(path.clone(), *node);
            }
        }
        // The tree has HEAD's entries for paths that are unmerged or only intended now; those may be merged in the target.
        let seen = &self.builder.capture.index;
        for path in seen.conflicts.iter().chain(&seen.intent_to_add) {
            if !self.changed.contains_key(path)
                && let Some(node) = tree::find(&self.builder.store.objects, self.tree, path)?
                && !node.is_dir()
            {
                fresh.insert(path.clone(), node);
            }
        }
        Ok(fresh)
    }

    /// The entries of `git add -N`.
    fn push_intents(&self, builder: &mut Builder) -> Result<()> {
        // What git gives an entry that was only announced.
        let empty_blob = self.builder.store.objects.hash(ObjectKind::Blob, b"")?;
        let modes = &self.stored.record.index.intent_to_add_modes;
        for path in &self.builder.lists.intent_to_add {
            let mode = modes.get(&stored_path(path));
            let mode = mode
                .and_then(|mode| u32::from_str_radix(mode, 8).ok())
                .unwrap_or(0o100_644);
            let mut entry = Entry::new(mode, empty_blob);
            entry.flags = self.flags(path) | Flags::INTENT_TO_ADD;
            builder.push(path, entry)?;
        }
        Ok(())
    }

    fn push_stages(&self, builder: &mut Builder) -> Result<()> {
        for (path, entry) in &self.stages {
            let mut entry = entry.clone();
            // git keeps neither flags nor stat data for the stages of a conflict.
            if entry.stage == 0 {
                entry.flags = self.flags(path);
                entry.stat = self.builder.stat_of_missing(path, &entry);
            }
            builder.push(path, entry)?;
        }
        Ok(())
    }
}

/// The entries that a snapshot keeps beside its index's tree: of conflicts, of what was not there, and of unsafe names.
///
/// # Errors
/// `CORRUPT_RECORD`; also for an unsafe name in the index of another repository, which git here need not have taken.
pub fn entries_beside(store: &Store, stored: &Stored) -> Result<Vec<(Vec<u8>, Entry)>> {
    let side = store.index_side(stored)?;
    let entries = match store.state_blob(side.state, part::UNMERGED)? {
        Some(lines) => stages(&lines).context(|| format!("cannot read '{}'", stored.id))?,
        None => Vec::new(),
    };
    let mut paths = entries.iter().map(|(path, _)| path);
    match paths.find(|path| !path::is_safe(path)) {
        Some(path) if store.is_foreign(stored)? => Err(Error::new(
            Code::CorruptRecord,
            format!(
                "the index of '{}' is refused: it has an unsafe name: '{}'",
                stored.id,
                path::display(path)
            ),
        )),
        _ => Ok(entries),
    }
}

/// The entries of such a list.
///
/// # Errors
/// `CORRUPT_RECORD`.
pub fn stages(lines: &[u8]) -> Result<Vec<(Vec<u8>, Entry)>> {
    let mut entries = Vec::new();
    for line in split_list(lines) {
        entries.push(stage(&line).ok_or_else(|| {
            Error::new(
                Code::CorruptRecord,
                "the snapshot's unmerged entries are not well formed",
            )
        })?);
    }
    Ok(entries)
}

/// `MODE OID STAGE`, a tab and the path.
fn stage(line: &[u8]) -> Option<(Vec<u8>, Entry)> {
    let tab = line.iter().position(|&byte| byte == b'\t')?;
    let mut words = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
    let mode = u32::from_str_radix(words.next()?, 8).ok()?;
    let mut entry = Entry::new(mode, Oid::from_hex(words.next()?).ok()?);
    entry.stage = words.next()?.parse().ok().filter(|stage| *stage <= 3)?;
    let path = &line[tab + 1..];
    path::is_indexable(path).then(|| (path.to_vec(), entry))
}
