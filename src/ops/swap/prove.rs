//! The proof of a return: everything that was recorded is there again.
//!
//! Compared are the captured tree, recorded modes, empty directories, the index's entries with flags and stages, the operation
//! files and HEAD. A path that somebody else changed after it was put back (its stamp moved since) is told, not held against it. What
//! stands in the directory of a submodule where the present had nothing is in no experiment: it stays, and is no part of the proof.

use std::collections::{BTreeMap, BTreeSet};

use super::extras::captured_extras;
use super::goal::{Aim, GitGoal, GitSide, Goal, SnapshotAim};
use super::left_out::LeftOutThoughTracked;
use super::read_tree;
use super::same_index::has_same_entries;
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::fs::{Root, Stamp};
use crate::git::operation;
use crate::git::path;
use crate::git::tree::{self, Change, Node};
use crate::ops::Context;
use crate::ops::capture::{Capture, CaptureOptions, Storing, capture};
use crate::ops::unsaved::Unsaved;
use crate::store::state::stored_path;
use crate::store::stored::part;
use crate::store::{Store, names};
use crate::worktree::apply::Applied;
use crate::worktree::cache::{self, Meta};
use crate::worktree::manifest::{DirFlags, FileFlags, Kind, Manifest};
use crate::worktree::plan::{Extras, Plan};

/// What has to be there.
struct Claim<'a> {
    /// The files.
    aim: &'a SnapshotAim<'a>,
    /// Index, HEAD and operation files.
    git: &'a GitSide<'a>,
    /// Paths that are not as recorded on purpose.
    except: Vec<Vec<u8>>,
}

impl<'a> Claim<'a> {
    /// What a swap that ends a stay in the past claims. Others claim nothing.
    fn of(goal: &'a Goal<'_>) -> Option<Self> {
        if !goal.ends_stay() {
            return None;
        }
        let (Some(experiment), Aim::Snapshot(aim), GitGoal::Snapshot(git)) =
            (&goal.experiment, &goal.aim, &goal.git)
        else {
            return None;
        };
        let mut except = aim.keep.clone();
        except.extend_from_slice(&experiment.discarded.borrow());
        Some(Self { aim, git, except })
    }
}

/// Proves it, when the past was left. Answers with the paths that somebody else changed meanwhile.
///
/// # Errors
/// `VERIFY_FAILED` with everything that differs.
pub(super) fn prove(
    ctx: &Context<'_>,
    store: &Store,
    goal: &Goal<'_>,
    saved: &Capture<'_>,
    (plan, applied): (&Plan, &Applied),
) -> Result<Vec<Vec<u8>>> {
    let Some(claim) = Claim::of(goal) else {
        return Ok(Vec::new());
    };
    let (root, seen) = look(ctx, store, &claim, (saved, plan))?;
    fail_point("swap-looked");
    let proof = Proof {
        ctx,
        store,
        claim: &claim,
        before: &saved.manifest,
        seen: &seen,
        applied,
        root: &root,
    };
    let unsaved = Unsaved::of_stay(&store.dir)?;
    let mut differing = proof.differing(plan, &unsaved)?;
    proof.forgive(&mut differing, &unsaved)?;
    let mut left: BTreeSet<Vec<u8>> = BTreeSet::new();
    for path in &differing {
        if proof.is_left_in_place(&unsaved, path)? {
            left.insert(path.clone());
        }
    }
    let mut changed_since = Vec::new();
    let mut wrong = Vec::new();
    for path in differing.difference(&left) {
        let was_changed = proof.was_changed_since(path) || proof.is_changed_unseen(path)?;
        if was_changed {
            changed_since.push(path.clone());
        } else {
            wrong.push(stored_path(path));
        }
    }
    wrong.extend(proof.git_state()?);
    if !wrong.is_empty() {
        return Err(not_back(wrong));
    }
    let is_exact = changed_since.is_empty() && claim.except.is_empty() && left.is_empty();
    if is_exact {
        proof.keep_cache()?;
    }
    Ok(changed_since)
}

/// What is there now: the working tree, and what a capture sees of it.
fn look<'s>(
    ctx: &Context<'_>,
    store: &'s Store,
    claim: &Claim<'_>,
    (saved, plan): (&Capture<'_>, &Plan),
) -> Result<(Root, Capture<'s>)> {
    let before: &Manifest = &saved.manifest;
    let written = |full: &[u8]| blob_of(plan, full);
    let look = |forced: BTreeSet<Vec<u8>>, shown: BTreeSet<Vec<u8>>| {
        let options = CaptureOptions {
            // What the backup saw of files that nobody touched since need not be hashed again.
            base: saved.recorded.clone().map(|meta| (before, meta)),
            storing: Storing::No,
            forced,
            shown,
            whole_index: true,
            likely: Some(&written),
            ..CaptureOptions::default()
        };
        capture(ctx, store, &options)
    };
    // What was captured against the rules then is compared now, too.
    let mut forced: BTreeSet<Vec<u8>> = claim.git.lists.forced.iter().cloned().collect();
    let mut seen = look(forced.clone(), BTreeSet::new())?;
    let root = Root::open(ctx.repo.worktree_root())?;
    let hidden = hidden(store, claim, &seen, &root)?;
    if !hidden.is_empty() {
        forced.extend(hidden.iter().cloned());
        seen = look(forced, hidden)?;
    }
    Ok((root, seen))
}

/// What is claimed and on disk, and hidden from this look: by rules or settings that the past still has, or had until now.
fn hidden(
    store: &Store,
    claim: &Claim<'_>,
    seen: &Capture<'_>,
    root: &Root,
) -> Result<BTreeSet<Vec<u8>>> {
    let read = |oid| read_tree(store, seen, oid);
    let changes = tree::diff(&read, Some(claim.aim.stored.tree), Some(seen.tree))?;
    let gone = changes.into_iter().filter(|change| change.new.is_none());
    let is_there = |path: &Vec<u8>| matches!(root.stamp(path), Ok(Some(stamp)) if !stamp.is_dir());
    Ok(gone.map(|change| change.path).filter(is_there).collect())
}

/// The modes in the claim of plain files that have the same bytes and another mode by now: with another `core.fileMode` git's mode is from
/// the index instead of from the disk, or the other way round. Their bits tell whether they are as they were.
fn modes_told_otherwise(changes: &[Change]) -> BTreeMap<Vec<u8>, u32> {
    let told = changes.iter().filter_map(|change| {
        let (old, new) = (change.old?, change.new?);
        old.is_same_file(new)
            .then(|| (change.path.clone(), old.mode))
    });
    told.collect()
}

/// The blob that the swap put at a path.
fn blob_of(plan: &Plan, full: &[u8]) -> Option<Oid> {
    plan.entry(full)?.after.map(|side| side.node.oid)
}

fn not_back(wrong: Vec<String>) -> Error {
    let shown = wrong.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    Error::new(
        Code::VerifyFailed,
        format!("the present is not back exactly: {shown}"),
    )
    .hint("both sides are saved; run 'tw recover'")
    .hint("or 'tw recover --forward', which ends the stay all the same")
    .detail("paths", wrong)
}

/// What a claim is held against: what is there, and what the swap knows that it saw and wrote.
struct Proof<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    claim: &'a Claim<'a>,
    /// What the backup saw.
    before: &'a Manifest,
    /// What is there now.
    seen: &'a Capture<'a>,
    applied: &'a Applied,
    root: &'a Root,
}

impl Proof<'_> {
    /// The paths that are not as the claim has them.
    fn differing(&self, plan: &Plan, unsaved: &Unsaved) -> Result<BTreeSet<Vec<u8>>> {
        let (claimed, seen) = (&self.claim.aim.extras, self.seen);
        let read = |oid| read_tree(self.store, seen, oid);
        let mut changes = tree::diff(&read, Some(self.target()), Some(seen.tree))?;
        // A sparse entry whose object came since is in the tree only now; on disk there was nothing, and is nothing.
        let is_on_disk = |path: &[u8]| {
            let file = seen.manifest.file(path);
            file.is_none_or(|file| file.kind != Kind::Absent)
        };
        changes.retain(|change| change.old.is_some() || is_on_disk(&change.path));
        // Where the present had it in the index alone, what cannot be captured is where nothing was: it stays, and the return names it.
        changes.retain(|change| change.new.is_some() || !claimed.absent.contains(&change.path));
        changes.retain(|change| !self.is_filtered_as_left(change, plan, unsaved));
        let claimed_modes = modes_told_otherwise(&changes);
        changes.retain(|change| !claimed_modes.contains_key(&change.path));
        let mut differing: BTreeSet<Vec<u8>> =
            changes.into_iter().map(|change| change.path).collect();
        let extras = captured_extras(self.ctx, seen)?;
        let has_other_bits = extras.modes != claimed.modes || extras.defaults != claimed.defaults;
        if has_other_bits || !claimed_modes.is_empty() {
            differing.extend(self.other_permissions(&claimed_modes));
            differing.extend(self.other_dir_permissions()?);
        }
        let all = || seen.manifest.paths_on_disk();
        for path in claimed.access.differing(&extras.access, all) {
            // A directory that stays because of what rules leave out in it is no part of the claim.
            let is_claimed =
                seen.manifest.dir_on_disk(&path).is_none() || self.is_recorded_dir(&path)?;
            if is_claimed && !self.applied.lost.contains_key(&path) {
                differing.insert(path);
            }
        }
        differing.extend(self.other_empty_dirs(&extras)?);
        Ok(differing)
    }

    /// Whether a large file that a filter converts is as the swap left it: the claim has what git's index says of it.
    fn is_filtered_as_left(&self, change: &Change, plan: &Plan, unsaved: &Unsaved) -> bool {
        let (Some(old), Some(new)) = (change.old, change.new) else {
            return false;
        };
        let Some(file) = unsaved.filtered.get(&change.path) else {
            return false;
        };
        // Whether these are the present's bytes is the plan's to say: it put them there, or left what it saw.
        let is_as_left = if let Some(entry) = plan.entry(&change.path) {
            entry.after.is_some_and(|side| side.node.oid == new.oid)
        } else {
            let stamp = |manifest: &Manifest| Some(manifest.file(&change.path)?.stamp);
            stamp(self.before).is_some() && stamp(self.before) == stamp(&self.seen.manifest)
        };
        file.has_blob(old.oid) && old.mode == new.mode && is_as_left
    }

    /// The tree of the claim.
    fn target(&self) -> Oid {
        self.claim.aim.stored.tree
    }

    fn is_recorded_dir(&self, dir: &[u8]) -> Result<bool> {
        let read = |oid| read_tree(self.store, self.seen, oid);
        Ok(self.claim.aim.extras.leads_to_empty_dir(dir)
            || tree::find(&read, self.target(), dir)?.is_some_and(Node::is_dir))
    }

    /// Empty directories that went, or came.
    fn other_empty_dirs(&self, extras: &Extras) -> Result<Vec<Vec<u8>>> {
        let claimed = &self.claim.aim.extras;
        let root = Root::open(self.ctx.repo.worktree_root())?;
        // One that holds what rules leave out is there; what is captured in it differs by itself.
        let gone = claimed.empty_dirs.difference(&extras.empty_dirs);
        let gone = gone.filter(|dir| root.dir_stamp(dir).is_none());
        let mut other: Vec<Vec<u8>> = gone.cloned().collect();
        for dir in extras.empty_dirs.difference(&claimed.empty_dirs) {
            // One that is new and still holds what the rules leave out, or a nested repository, stays with it.
            if !self.applied.stayed.contains_key(dir) && is_bare(&root, dir)? {
                other.push(dir.clone());
            }
        }
        Ok(other)
    }

    /// Plain files whose permission bits are not those of the claim. `claimed_modes`: git's modes of those that have another one by now.
    fn other_permissions(&self, claimed_modes: &BTreeMap<Vec<u8>, u32>) -> Vec<Vec<u8>> {
        let (manifest, claimed) = (&self.seen.manifest, &self.claim.aim.extras);
        let plain = manifest.entries().filter(|(_, file)| {
            file.git_mode & 0o170_000 == 0o100_000 && file.kind != Kind::Absent
        });
        plain
            .map(|(dir, file)| (manifest.path_of(dir, &file), file))
            .filter(|(path, file)| {
                let mode = claimed_modes.get(path).copied().unwrap_or(file.git_mode);
                self.has_other_bits(path, claimed.permissions(path, mode), &file.stamp)
            })
            .map(|(path, _)| path)
            .collect()
    }

    /// Whether the bits of a path are others than it was to have, and could be given.
    fn has_other_bits(&self, path: &[u8], perm: u32, stamp: &Stamp) -> bool {
        let now = stamp.permissions();
        match self.applied.lost.get(path) {
            Some(lost) => !lost.leaves(perm, now),
            None => now != perm,
        }
    }

    /// Directories of the claim whose permission bits are not those that it recorded.
    fn other_dir_permissions(&self) -> Result<Vec<Vec<u8>>> {
        let manifest = &self.seen.manifest;
        let mut other = Vec::new();
        // The root's bits are recorded nowhere.
        for dir in manifest.dirs.iter().skip(1) {
            let path = manifest.dir_path(dir);
            let perm = self.claim.aim.extras.permissions(path, tree::DIR_MODE);
            let is_there = !dir.flags.has(DirFlags::VIRTUAL);
            let differs = is_there && self.has_other_bits(path, perm, &dir.stamp);
            if differs && self.is_recorded_dir(path)? {
                other.push(path.to_vec());
            }
        }
        for (path, perm) in &self.claim.aim.extras.modes {
            let submodule = manifest
                .file(path)
                .filter(|file| file.kind == Kind::Gitlink);
            if submodule.is_some_and(|file| self.has_other_bits(path, *perm, &file.stamp)) {
                other.push(path.clone());
            }
        }
        Ok(other)
    }

    /// Leaves out of what differs what the claim says nothing of.
    fn forgive(&self, differing: &mut BTreeSet<Vec<u8>>, unsaved: &Unsaved) -> Result<()> {
        // What the present left out is seen now where what hid it is gone. It is where it was.
        let (store, backup) = (self.store, self.claim.aim.stored);
        let left_out = LeftOutThoughTracked::of(store, backup, &store.lists(backup)?)?;
        let mut was_there = BTreeSet::new();
        for path in differing.iter().filter(|path| unsaved.has(path)) {
            let is_its_own =
                unsaved.is_one(path) || left_out.may_have_been_there(store, backup, path)?;
            if is_its_own && stamp_of_path(self.applied, path).is_none() {
                was_there.insert(path.clone());
            }
        }
        differing.retain(|path| !was_there.contains(path));
        differing.retain(|path| {
            let except = &self.claim.except;
            !except
                .iter()
                // Also the directories above: they are there only because of it.
                .any(|except| path::is_within(path, except) || path::is_within(except, path))
        });
        Ok(())
    }

    /// Whether a path is, or lies in, the directory of a submodule where the present had nothing, and in which something is that no
    /// experiment has: the plan leaves all of it in place, and the return names it.
    fn is_left_in_place(&self, unsaved: &Unsaved, path: &[u8]) -> Result<bool> {
        let was_in = path::with_parents(path).find(|at| self.before.is_submodule(at));
        // One that was none in the past may be one again.
        let is_one = || self.seen.manifest.is_submodule(path);
        let Some(dir) = was_in.or_else(|| is_one().then_some(path)) else {
            return Ok(false);
        };
        let read = |oid| read_tree(self.store, self.seen, oid);
        Ok(!self.claim.aim.extras.leads_to_empty_dir(dir)
            && tree::find(&read, self.target(), dir)?.is_none()
            && unsaved.only_dirs_in(self.root, dir).is_none())
    }

    /// Whether somebody else touched a path after we last saw it: when we wrote it, or before the swap. What the proof saw may be
    /// gone or back again by now.
    fn was_changed_since(&self, path: &[u8]) -> bool {
        let (before, seen) = (self.before, &self.seen.manifest);
        let now = self.root.stamp(path).ok().flatten();
        let ours =
            stamp_of_path(self.applied, path).or_else(|| before.file(path).map(|file| file.stamp));
        match (now, ours) {
            // What is in a directory changes its stamp, too.
            (Some(now), None) if now.is_dir() => {
                let seen = || before.dir_on_disk(path).map(|dir| dir.stamp.permissions());
                let ours = self.applied.dir_modes.get(path).copied().or_else(seen);
                ours.is_some_and(|ours| ours != now.permissions())
            }
            (Some(now), Some(ours)) => now != ours,
            // Gone, or new, since.
            (None, Some(_)) => true,
            (Some(_), None) => true,
            (None, None) => seen.file(path).is_some() || seen.dir_on_disk(path).is_some(),
        }
    }

    /// Whether a file was left alone because it was as the claim has it, under a stamp that did not tell of later writes.
    fn is_changed_unseen(&self, path: &[u8]) -> Result<bool> {
        let found = self.before.file(path).filter(|file| {
            file.flags.has(FileFlags::RACY) && stamp_of_path(self.applied, path).is_none()
        });
        let Some(found) = found else {
            return Ok(false);
        };
        let claimed = tree::find(&self.store.objects, self.target(), path)?;
        Ok(claimed.is_some_and(|node| (node.mode, node.oid) == (found.git_mode, found.oid)))
    }

    /// What of HEAD, the index and the operation files is not as the claim has it.
    fn git_state(&self) -> Result<Vec<String>> {
        let (ctx, store, claimed) = (self.ctx, self.store, self.claim.git);
        let (operation, index) = (&self.seen.operation, &self.seen.index);
        let mut wrong = Vec::new();
        if ctx.repo.raw_head()? != claimed.raw_head {
            wrong.push("HEAD".to_owned());
        }
        let as_kept = |state| operation::as_kept(state, &ctx.repo);
        if !operation::equal(&as_kept(operation), &as_kept(&claimed.operation)) {
            wrong.push("the operation under way".to_owned());
        }
        let lists = claimed.lists;
        let side = store.index_side(claimed.stored)?;
        let same = has_same_entries(store, &side, self.seen)?
            && index.intent_to_add == lists.intent_to_add
            && index.skip_worktree == lists.skip_worktree
            && index.assume_unchanged == lists.assume_unchanged
            && index.resolve_undo == store.state_blob(side.state, part::RESOLVE_UNDO)?;
        if !same {
            wrong.push("the index".to_owned());
        }
        Ok(wrong)
    }

    /// The next snapshot starts from the present as it was, when it is exactly that.
    fn keep_cache(&self) -> Result<()> {
        let (stored, seen) = (self.claim.aim.stored, self.seen);
        if seen.tree != stored.tree {
            return Ok(());
        }
        let name = names::snapshot_ref(&stored.id);
        let meta: Meta = seen.meta(&name, stored.commit, stored.index_commit);
        let file = self.store.dir.file("cache");
        cache::save(&file, &seen.manifest, &meta, self.store.objects.format())?;
        Ok(())
    }
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

/// The stamp of what the swap wrote at a path.
fn stamp_of_path(applied: &Applied, path: &[u8]) -> Option<Stamp> {
    let at = applied
        .stamps
        .binary_search_by(|(known, _)| known.as_slice().cmp(path))
        .ok()?;
    Some(applied.stamps[at].1)
}
