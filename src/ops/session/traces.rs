//! What a session left in the repository: the issues reported in it, and the files that changed between its snapshots.
//!
//! Files count whoever changed them, as everywhere; what is not in a snapshot yet, or in one that is gone, is not known.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::git::path::RepoPath;
use crate::git::tree;
use crate::ops::Context;
use crate::ops::compare::paths_since;
use crate::ops::history::Here;
use crate::ops::issues;
use crate::store::Store;
use crate::store::checkpoint::SessionNotes;
use crate::store::id::SnapshotId;
use crate::store::session::SessionRecord;

/// The issues of each session that has any, oldest first.
///
/// # Errors
/// When refs cannot be read at all; an issue that cannot be read is left out.
pub fn issues(ctx: &Context<'_>) -> Result<BTreeMap<String, Vec<String>>> {
    let mut by_session: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for issue in issues::all(ctx.store()?)?.issues.into_iter().rev() {
        if let Some(session) = issue.session_id {
            by_session
                .entry(session)
                .or_default()
                .push(issue.id.to_string());
        }
    }
    Ok(by_session)
}

/// The paths that differ between one of the session's snapshots and the next of the same worktree; with `present`, also between the last
/// of this one and the working tree as it is.
///
/// # Errors
/// When a snapshot that is there is damaged, or the working tree cannot be read.
pub fn files(
    ctx: &Context<'_>,
    store: &Store,
    record: &SessionRecord,
    notes: &SessionNotes,
    present: bool,
) -> Result<Vec<RepoPath>> {
    let made = notes.checkpoints.iter().map(|one| one.snapshot_id.as_str());
    let started = record.snapshot_ids.iter().map(String::as_str);
    let ended = notes.turn_ends.iter().map(|one| one.snapshot_id.as_str());
    let names: BTreeSet<&str> = made.chain(started).chain(ended).collect();
    let here = Here::of(ctx, store)?;
    let mut last_here = None;
    let mut taken: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for id in names.into_iter().filter_map(SnapshotId::parse) {
        // Some are gone, as retention has it.
        let Ok(stored) = store.read_id(&id) else {
            continue;
        };
        let this = (stored.record.seq, stored.tree);
        if here.is_named(&stored.record) {
            last_here = last_here.max(Some(this));
        }
        let worktree = (stored.record.worktree, stored.record.worktree_id);
        taken.entry(worktree).or_default().push(this);
    }
    let mut paths = BTreeSet::new();
    for mut of_worktree in taken.into_values() {
        of_worktree.sort_unstable();
        for pair in of_worktree.windows(2) {
            if let [(_, old), (_, new)] = pair {
                let changes = tree::diff(&store.objects, Some(*old), Some(*new))?;
                paths.extend(changes.into_iter().map(|change| change.path));
            }
        }
    }
    if let Some((_, last)) = last_here.filter(|_| present) {
        paths.extend(paths_since(ctx, store, last)?);
    }
    Ok(paths.into_iter().map(RepoPath::new).collect())
}
