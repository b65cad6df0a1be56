//! The proof of a return: everything that was recorded is there again.
//!
//! Compared are the captured tree, recorded modes, empty directories, the index's entries with flags and stages, the operation
//! files and HEAD. A path that somebody else changed after it was put back (its stamp moved since) is told, not held against it.

use std::collections::BTreeSet;

use super::{captured_extras, read_tree, stamp_of_path};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::create;
use crate::git::fs::Root;
use crate::git::operation::{self, OperationState};
use crate::git::path;
use crate::git::tree;
use crate::ops::Context;
use crate::ops::capture::{Capture, CaptureOptions, IndexSummary, Storing, capture};
use crate::store::Store;
use crate::store::snapshot::Lists;
use crate::store::state::stored_path;
use crate::store::stored::{Stored, part};
use crate::worktree::apply::Applied;
use crate::worktree::cache::{self, Meta};
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::plan::Extras;

/// What the proof found.
#[derive(Debug, Default)]
pub struct Proof {
    /// Paths that somebody else changed meanwhile.
    pub changed_since: Vec<Vec<u8>>,
}

/// What has to be there.
pub struct Claim<'a> {
    /// The captured files.
    pub tree: Oid,
    /// What the tree cannot say.
    pub extras: &'a Extras,
    /// Paths captured whatever the rules say.
    pub forced: BTreeSet<Vec<u8>>,
    /// The snapshot whose index has to be there, with its lists.
    pub index: (&'a Stored, &'a Lists),
    /// HEAD's bytes.
    pub raw_head: &'a str,
    /// Operation files.
    pub operation: &'a OperationState,
    /// Paths that are not as recorded on purpose: kept, discarded.
    pub except: &'a [Vec<u8>],
    /// The record that the cache may hang on.
    pub anchor: (&'a str, Oid, Oid),
}

/// Proves it.
///
/// # Errors
/// `VERIFY_FAILED` with everything that differs.
pub fn prove(
    ctx: &Context<'_>,
    store: &Store,
    claim: &Claim<'_>,
    saved: &Capture<'_>,
    applied: &Applied,
) -> Result<Proof> {
    let before: &Manifest = &saved.manifest;
    let wanted = CaptureOptions {
        base: saved.recorded.clone().map(|meta| (before, meta)),
        storing: Storing::No,
        forced: claim.forced.clone(),
        whole_index: true,
        ..CaptureOptions::default()
    };
    let seen = capture(ctx, store, &wanted)?;
    let read = |oid| read_tree(store, &seen, oid);
    let mut differing: BTreeSet<Vec<u8>> = BTreeSet::new();
    for change in tree::diff(&read, Some(claim.tree), Some(seen.tree))? {
        differing.insert(change.path);
    }
    let extras = captured_extras(ctx, &seen)?;
    let root = Root::open(ctx.repo.worktree_root())?;
    if extras.modes != claim.extras.modes || extras.defaults != claim.extras.defaults {
        differing.extend(other_permissions(&seen.manifest, claim.extras, applied));
    }
    let all = || seen.manifest.paths_on_disk();
    let other_access = claim.extras.access.differing(&extras.access, all);
    differing.extend(
        other_access
            .into_iter()
            .filter(|path| !applied.lost.contains_key(path)),
    );
    for dir in &claim.extras.empty_dirs {
        if !extras.empty_dirs.contains(dir) {
            differing.insert(dir.clone());
        }
    }
    for dir in &extras.empty_dirs {
        // One that is new and still holds what the rules leave out, or a nested repository, stays with it.
        if !claim.extras.empty_dirs.contains(dir) && is_bare(&root, dir)? {
            differing.insert(dir.clone());
        }
    }
    differing.retain(|path| {
        !claim
            .except
            .iter()
            .any(|except| path::is_within(path, except) || path::is_within(except, path))
    });
    let (changed_since, wrong): (Vec<_>, Vec<_>) = differing
        .into_iter()
        .partition(|path| was_changed_since(&root, path, before, applied));
    let mut wrong: Vec<String> = wrong.iter().map(|path| stored_path(path)).collect();
    wrong.extend(git_state(ctx, store, claim, &seen.operation, &seen.index)?);
    if !wrong.is_empty() {
        return Err(Error::new(
            Code::VerifyFailed,
            format!(
                "the present is not back exactly: {}",
                wrong.iter().take(8).cloned().collect::<Vec<_>>().join(", ")
            ),
        )
        .hint("both sides are saved; run 'tw recover'")
        .detail("paths", wrong));
    }
    if changed_since.is_empty() && claim.except.is_empty() && seen.tree == claim.tree {
        let (name, commit, index_commit) = claim.anchor;
        let meta: Meta = seen.meta(name, commit, index_commit);
        cache::save(&store.dir.file("cache"), &seen.manifest, &meta)?;
    }
    Ok(Proof { changed_since })
}

/// Plain files whose permission bits are not those of the claim.
fn other_permissions(manifest: &Manifest, claimed: &Extras, applied: &Applied) -> Vec<Vec<u8>> {
    let plain = manifest
        .entries()
        .filter(|(_, file)| file.git_mode & 0o170_000 == 0o100_000 && file.kind != Kind::Absent);
    plain
        .map(|(dir, file)| (manifest.path_of(dir, &file), file))
        .filter(|(path, file)| {
            let perm = claimed.permissions(path, file.git_mode);
            let perm = applied
                .lost
                .get(path)
                .map_or(perm, |lost| lost.narrow(perm));
            file.stamp.permissions() != perm
        })
        .map(|(path, _)| path)
        .collect()
}

/// Whether a directory holds nothing at all.
fn is_bare(root: &Root, dir: &[u8]) -> Result<bool> {
    let what = || format!("cannot read '{}'", path::display(dir));
    let fd = root.open_dir_for_reading(dir).context(what)?;
    for entry in rustix::fs::Dir::read_from(&fd).context(what)? {
        let entry = entry.context(what)?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether somebody else touched a path after we last saw it: when we wrote it, or before the swap.
fn was_changed_since(root: &Root, path: &[u8], before: &Manifest, applied: &Applied) -> bool {
    let now = root.stamp(path).ok().flatten();
    let ours = stamp_of_path(applied, path).or_else(|| before.file(path).map(|file| file.stamp));
    match (now, ours) {
        (Some(now), Some(ours)) => now != ours,
        // Gone, or new, since.
        (None, Some(_)) => true,
        (Some(now), None) => !now.is_dir() && before.file(path).is_none(),
        (None, None) => false,
    }
}

fn git_state(
    ctx: &Context<'_>,
    store: &Store,
    claim: &Claim<'_>,
    operation: &OperationState,
    index: &IndexSummary,
) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    if ctx.repo.raw_head()? != claim.raw_head {
        wrong.push("HEAD".to_owned());
    }
    let sharing = create::sharing(ctx.repo.git_dir());
    let as_shared = |state| operation::shared(state, sharing);
    if !operation::equal(&as_shared(operation), &as_shared(claim.operation)) {
        wrong.push("the operation under way".to_owned());
    }
    let (stored, lists) = claim.index;
    let side = store.index_side(stored)?;
    let unmerged = store
        .state_blob(side.state, part::UNMERGED)?
        .unwrap_or_default();
    let same = index.tree_oid()? == side.tree
        && index.unmerged == unmerged
        && index.intent_to_add == lists.intent_to_add
        && index.skip_worktree == lists.skip_worktree
        && index.assume_unchanged == lists.assume_unchanged
        && index.resolve_undo == store.state_blob(side.state, part::RESOLVE_UNDO)?;
    if !same {
        wrong.push("the index".to_owned());
    }
    Ok(wrong)
}
