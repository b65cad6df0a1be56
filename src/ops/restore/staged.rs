//! `tw restore --staged`: entries of git's index as a snapshot's index had them. Files, HEAD and all other entries stay.
//!
//! A swap like any other: backed up, journalled, one level of the undo log.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::error::{Code, Error, Result};
use crate::git::index::{Entry, Flags, Index};
use crate::git::objects::ObjectKind;
use crate::git::path::RepoPath;
use crate::git::tree;
use crate::ops::Context;
use crate::ops::capture::{Capture, Storing};
use crate::ops::outcome::{Changes, Restored};
use crate::ops::pathspec::Pathspec;
use crate::ops::record::Made;
use crate::ops::request::{DryRun, Restore};
use crate::ops::snapshots;
use crate::ops::swap::goal::{Aim, GitGoal, Goal, PathChanges};
use crate::ops::swap::newindex::entries_beside;
use crate::ops::swap::pathindex::{EntryChanges, PathEntries, are_alike};
use crate::ops::swap::{Prepared, prepare, swap_unless};
use crate::store::Store;
use crate::store::state::{State, stored_path};
use crate::store::stored::Stored;
use crate::store::trigger::SwapKind;
use crate::worktree::plan::Extras;

/// Puts entries back, or looks what that would do; under the exclusive lock, except for a dry run.
///
/// # Errors
/// `PATH_NOT_FOUND` for a word that neither index has anything for; else as restore.
pub(super) fn put_back(
    ctx: &Context<'_>,
    store: &Store,
    stored: &Stored,
    request: &Restore,
) -> Result<Restored> {
    let spec = Pathspec::parse(ctx, &request.paths)?;
    let then = Then::of(store, stored)?;
    let entries = RefCell::new(EntryChanges::default());
    let find = |capture: &Capture<'_>| {
        let none = Index::new(store.objects.format());
        let now = capture.parsed_index.as_ref().unwrap_or(&none);
        refuse_unmatched(ctx, request, stored, &then, now)?;
        entries.replace(then.differing(now, &spec).into());
        Ok(PathChanges::default())
    };
    let saved = Extras::default();
    let unwritten = RefCell::default();
    let aim = Aim::Computed {
        compute: &find,
        forced: BTreeSet::new(),
        saved: &saved,
        unwritten: &unwritten,
    };
    let title = format!("before restoring the index from {}", stored.id);
    let goal = Goal::new(SwapKind::Restore, title, aim).git(GitGoal::Entries(&entries));
    let mut restored = Restored {
        snapshot_id: stored.id.to_string(),
        snapshot: snapshots::view(store, stored)?,
        backup_id: None,
        dry_run: request.dry_run == DryRun::Yes,
        staged: true,
        lines: None,
        changes: Changes::default(),
        notices: Vec::new(),
        declined: false,
    };
    if restored.dry_run {
        prepare(ctx, store, &goal, &Storing::No)?;
        restored.changes = changes(&entries.borrow().all());
        return Ok(restored);
    }
    let state_after = |before: &State, _: &Made<'_>| State {
        workspace_root: ctx.repo.worktree_root().display().to_string(),
        ..before.clone()
    };
    let nothing = |_: &Prepared<'_>| entries.borrow().is_empty().then_some(());
    if let ControlFlow::Continue(swapped) = swap_unless(ctx, store, &goal, &state_after, &nothing)?
    {
        restored.changes = changes(&entries.borrow().all());
        restored.backup_id = Some(swapped.saved.id.to_string());
    }
    Ok(restored)
}

fn changes(entries: &PathEntries) -> Changes {
    let which = |gone: bool| {
        let paths = entries
            .iter()
            .filter(move |(_, entries)| entries.is_empty() == gone);
        paths.map(|(path, _)| RepoPath::new(path.clone())).collect()
    };
    Changes {
        written: which(false),
        removed: which(true),
    }
}

fn refuse_unmatched(
    ctx: &Context<'_>,
    request: &Restore,
    stored: &Stored,
    then: &Then,
    now: &Index,
) -> Result<()> {
    for word in &request.paths {
        let one = Pathspec::parse(ctx, std::slice::from_ref(word))?;
        let here = now.iter().map(|(path, _)| path);
        let there = then.entries.keys().map(Vec::as_slice);
        if one.unmatched(here.chain(there)).is_some() {
            let shown = one.shown_path();
            let message = format!(
                "'{shown}' is neither in the index of '{}' nor in git's index",
                stored.id
            );
            return Err(Error::new(Code::PathNotFound, message)
                .hint("without --staged the files are put back"));
        }
    }
    Ok(())
}

/// A snapshot's index, by path.
struct Then {
    entries: BTreeMap<Vec<u8>, Vec<Entry>>,
}

impl Then {
    fn of(store: &Store, stored: &Stored) -> Result<Self> {
        let side = store.index_side(stored)?;
        let lists = store.lists(stored)?;
        let mut entries: BTreeMap<Vec<u8>, Vec<Entry>> = tree::flatten(&store.objects, side.tree)?
            .into_iter()
            .map(|(path, node)| (path, vec![Entry::new(node.mode, node.oid)]))
            .collect();
        // The tree has HEAD's entries where the index had something that no tree can have.
        for path in lists.conflicts.iter().chain(&lists.intent_to_add) {
            entries.remove(path);
        }
        let beside = entries_beside(store, stored)?;
        for (path, _) in &beside {
            entries.remove(path);
        }
        for (path, entry) in beside {
            entries.entry(path).or_default().push(entry);
        }
        for path in &lists.intent_to_add {
            let mode = stored
                .record
                .index
                .intent_to_add_modes
                .get(&stored_path(path));
            let mode = mode.and_then(|mode| u32::from_str_radix(mode, 8).ok());
            let empty = store.objects.hash(ObjectKind::Blob, b"")?;
            let mut entry = Entry::new(mode.unwrap_or(0o100_644), empty);
            entry.flags = Flags::INTENT_TO_ADD;
            entries.insert(path.clone(), vec![entry]);
        }
        for (paths, flag) in [
            (&lists.skip_worktree, Flags::SKIP_WORKTREE),
            (&lists.assume_unchanged, Flags::ASSUME_VALID),
        ] {
            for path in paths {
                for entry in entries.get_mut(path).into_iter().flatten() {
                    entry.flags = entry.flags | flag;
                }
            }
        }
        Ok(Self { entries })
    }

    /// What becomes of the paths that are meant and that the index has otherwise.
    fn differing(&self, now: &Index, meant: &Pathspec) -> PathEntries {
        let mut found = PathEntries::new();
        let here = now.iter().map(|(path, _)| path);
        let there = self.entries.keys().map(Vec::as_slice);
        for path in here.chain(there).filter(|path| meant.matches(path)) {
            if found.contains_key(path) {
                continue;
            }
            let entries = self
                .entries
                .get(path)
                .map(|then| beside(then, now.stages(path)));
            let entries = entries.unwrap_or_default();
            if !are_alike(&entries, now.stages(path)) {
                found.insert(path.to_vec(), entries);
            }
        }
        found
    }
}

/// The snapshot's entries of a path. Whether git looks at the file is no part of what is staged: a merged entry that stays keeps that.
fn beside(then: &[Entry], now: &[Entry]) -> Vec<Entry> {
    let mut entries = then.to_vec();
    if let ([entry], [here]) = (entries.as_mut_slice(), now)
        && entry.stage == 0
        && here.stage == 0
    {
        for kept in [Flags::SKIP_WORKTREE, Flags::ASSUME_VALID] {
            entry.flags = entry.flags.without(kept);
            if here.flags.contains(kept) {
                entry.flags = entry.flags | kept;
            }
        }
    }
    entries
}
