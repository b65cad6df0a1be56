//! From a goal and a capture to the plan: which paths change, and how.

mod keep_access;
mod withheld;

use std::collections::{BTreeMap, BTreeSet};

use super::super::Context;
use super::super::capture::Capture;
use super::extras::captured_extras;
use super::filtered::{self, Clean, Hashes, OfPath, leave_clean};
use super::from_present::FromPresent;
use super::goal::{Aim, Goal, PathChanges, SnapshotAim};
use super::left_out::LeftOutThen;
use super::present_own::PresentOwn;
use super::read_tree;
use crate::error::Result;
use crate::git::access::may_change;
use crate::git::access_list::AccessList;
use crate::git::fs::Root;
use crate::git::path;
use crate::git::tree::{self, Change, Node};
use crate::store::Store;
use crate::store::stored::Stored;
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::plan::{
    DirChange, EmptyDirs, Extras, Plan, PlanEntry, Planning, Side, closed_parents, plan,
};

/// The plan for what is there now.
pub(super) fn make_plan(
    ctx: &Context<'_>,
    store: &Store,
    goal: &Goal<'_>,
    capture: &Capture<'_>,
    others: &Others<'_>,
) -> Result<Plan> {
    let (computed, gets);
    let (changes, saved, wanted) = match &goal.aim {
        Aim::Snapshot(aim) => {
            let planner = SnapshotPlanner {
                ctx,
                store,
                aim,
                capture,
                others,
            };
            return planner.plan(goal.ends_stay());
        }
        Aim::Paths(aim) => (&aim.changes, &aim.saved, &aim.saved.access),
        Aim::Computed { compute, saved, .. } => {
            computed = compute(capture)?;
            gets = AccessList::of_paths(computed.access.clone());
            (&computed, *saved, &gets)
        }
    };
    PathPlanner {
        clean: others.clean,
        root: &Root::open(ctx.repo.worktree_root())?,
        manifest: &capture.manifest,
        now: capture.access(ctx)?,
        saved,
        wanted,
        changes,
        plan: Plan::default(),
        dirs: BTreeMap::new(),
    }
    .plan(matches!(goal.aim, Aim::Computed { .. }))
}

/// What of what is there is not for the plan that leads to a snapshot to remove, beside the rules of that side.
pub(super) struct Others<'a> {
    /// What the capture has whatever the rules say.
    pub(super) forced: &'a BTreeSet<Vec<u8>>,
    /// Beneath these the target has nothing that it does not track.
    pub(super) hiding: &'a BTreeSet<Vec<u8>>,
    /// What the present may own stays.
    pub(super) own: Option<&'a PresentOwn<'a>>,
    /// What earlier looks took for clean.
    pub(super) clean: &'a Clean,
    /// Of files that were read.
    pub(super) hashes: &'a Hashes,
}

/// Makes the plan that leads to a snapshot.
struct SnapshotPlanner<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    aim: &'a SnapshotAim<'a>,
    capture: &'a Capture<'a>,
    others: &'a Others<'a>,
}

impl SnapshotPlanner<'_> {
    /// `ends_stay`: see [`LeftOutThen::of_backup`].
    fn plan(&self, ends_stay: bool) -> Result<Plan> {
        let (ctx, store, aim, own) = (self.ctx, self.store, self.aim, self.others.own);
        let read = |oid| read_tree(store, self.capture, oid);
        let mut changes = tree::diff(&read, Some(self.capture.tree), Some(aim.stored.tree))?;
        let there = self.left_out_then(ends_stay)?;
        let from_present = self.files_of_present(&there)?;
        if let Some(from_present) = &from_present {
            changes = from_present.join(changes, store, self.capture)?;
        }
        // Before planning, so that no directory is made or removed for them.
        changes.retain(|change| !self.is_kept(&change.path));
        let leaves = |oid| {
            let leaves = tree::flatten(&read, oid)?.into_iter();
            Ok(leaves.map(|(path, _)| path).collect())
        };
        let before = captured_extras(ctx, self.capture)?;
        let in_place = aim
            .extras
            .is_pulled
            .then(|| aim.extras.in_place_of(&before));
        let joined = from_present
            .as_ref()
            .map(|files| files.extras(in_place.as_ref().unwrap_or(&aim.extras)));
        let after_node =
            |path: &[u8]| match from_present.as_ref().and_then(|files| files.node(path)) {
                Some(node) => Ok(Some(node)),
                None => self.after_node(path),
            };
        let mut plan = plan(&Planning {
            changes: &changes,
            manifest: &self.capture.manifest,
            before: &before,
            after: joined.as_ref().or(in_place.as_ref()).unwrap_or(&aim.extras),
            after_node: &after_node,
            leaves: &leaves,
            left_out: &|path| self.left_out(&there, path),
            leaves_dir_out: &|dir| self.leaves_dir_out(&there, dir),
            stays: &|dir| own.map_or(Ok(false), |own| own.stays(dir)),
            empty_dirs: aim.empty_dirs,
            only: aim.only,
            may_change,
        })?;
        // Permissions and access differ where the trees are alike.
        plan.entries.retain(|entry| !self.is_kept(&entry.path));
        self.keep_filtered(&before, ends_stay, &mut plan)?;
        plan.dirs.extend(self.made_dirs_unseen(&after_node)?);
        plan.dirs.extend(self.dirs_in_submodules(&changes)?);
        // Of two the first stays: what the plan itself does.
        plan.dirs.sort_by(|a, b| a.path.cmp(&b.path));
        plan.dirs.dedup_by(|a, b| a.path == b.path);
        if ends_stay {
            self.give_bits_back(&mut plan)?;
        }
        plan.dirs.retain(|dir| !self.is_kept(&dir.path));
        if let Some(files) = &from_present {
            plan.access = files.access();
        }
        Ok(plan)
    }

    /// Has large files that a filter converts come out with their bytes, as far as these are at hand.
    fn keep_filtered(&self, before: &Extras, ends_stay: bool, plan: &mut Plan) -> Result<()> {
        let comes_back = |path: &[u8]| !self.is_kept(path);
        let comes_back: OfPath<'_> = &comes_back;
        let differs = |path: &[u8]| self.aim.extras.access.differs(&before.access, path);
        let seen = (&self.capture.manifest, self.others);
        let comes_back = ends_stay.then_some(comes_back);
        filtered::keep((self.ctx, self.store), seen, comes_back, &differs, plan)
    }

    /// What the target left out. `ends_stay`: see [`LeftOutThen::of_backup`].
    fn left_out_then(&self, ends_stay: bool) -> Result<LeftOutThen<'_>> {
        let (ctx, store, target) = (self.ctx, self.store, self.aim.stored);
        if ends_stay {
            LeftOutThen::of_backup(ctx, store, target)
        } else {
            LeftOutThen::of(ctx, store, target)
        }
    }

    /// What the target's rules leave out of the present, where it has to be as a travel leaves it.
    fn files_of_present(&self, there: &LeftOutThen<'_>) -> Result<Option<FromPresent>> {
        match self.others.own {
            Some(own) if self.aim.as_entered => {
                let leaves_out = |path: &[u8]| self.leaves_out(there, path);
                FromPresent::of(self.store, self.aim, own, &leaves_out)
            }
            _ => Ok(None),
        }
    }

    /// What the present left out has no record: its directories get the bits that they had when the stay gave them others.
    fn give_bits_back(&self, plan: &mut Plan) -> Result<()> {
        let Some(bits) = self.others.own.map(PresentOwn::bits) else {
            return Ok(());
        };
        let root = Root::open(self.ctx.repo.worktree_root())?;
        for (path, bits) in bits {
            let Some(stamp) = root.dir_stamp(path) else {
                continue;
            };
            plan.dirs.retain(|dir| dir.path != *path);
            plan.dirs.push(DirChange {
                path: path.clone(),
                before: Some(stamp.permissions()),
                after: Some(*bits),
            });
        }
        plan.dirs.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    fn is_kept(&self, path: &[u8]) -> bool {
        let mut keep = self.aim.keep.iter();
        keep.any(|kept| path::is_within(path, kept))
    }

    fn after_node(&self, path: &[u8]) -> Result<Option<Node>> {
        let read = |oid| read_tree(self.store, self.capture, oid);
        tree::find(&read, self.aim.stored.tree, path)
    }

    /// Whether a path was left out there. It was never looked at: that the target lacks such a path
    /// says nothing.
    fn left_out(&self, there: &LeftOutThen<'_>, path: &[u8]) -> Result<bool> {
        let Others { forced, own, .. } = self.others;
        if own.map_or(Ok(false), |own| own.has(path))? {
            return Ok(true);
        }
        if self.aim.made_before.contains(path) || forced.contains(path) {
            return Ok(false);
        }
        if self.aim.stays.has(path) && !self.is_newer(path) {
            return Ok(true);
        }
        self.leaves_out(there, path)
    }

    /// Whether a file changed after the swap that is taken back had left it where it was.
    fn is_newer(&self, path: &[u8]) -> bool {
        let file = self.capture.manifest.file(path);
        file.is_none_or(|file| file.stamp.ctime > self.aim.stays.until)
    }

    /// Whether the target's rules leave a path out, or it could not be read there.
    fn leaves_out(&self, there: &LeftOutThen<'_>, path: &[u8]) -> Result<bool> {
        if there.could_not_read(path) {
            return Ok(true);
        }
        let mut hiding = self.others.hiding.iter();
        let hides = there.hides(path)
            || hiding.any(|dir| path::is_within(path, dir) && self.hides_as_repository(dir));
        Ok(hides && (there.lists(path) || !tracks(self.store, self.aim.stored, path)?))
    }

    /// Whether what is in this nested repository of the target is its own. Where a stay ends and it is none any more, what was in it is
    /// noted, and all else was made in the past.
    fn hides_as_repository(&self, dir: &[u8]) -> bool {
        let manifest = &self.capture.manifest;
        let is_one = |at: &[u8]| {
            manifest
                .file(at)
                .is_some_and(|file| file.kind == Kind::Nested)
        };
        let ends_stay = self.others.own.is_some_and(PresentOwn::ends_stay);
        !ends_stay || is_one(dir) || is_one(&path::join(dir, b".git"))
    }

    fn leaves_dir_out(&self, there: &LeftOutThen<'_>, dir: &[u8]) -> bool {
        let is_of_present = self.others.own.is_some_and(|own| own.has_dir(dir));
        let stays = self.aim.stays.has(dir);
        is_of_present || !self.aim.made_before.contains(dir) && (stays || there.hides_dir(dir))
    }

    /// Directories in those of submodules that the target lacks, where there is nothing but directories and what the present left out.
    /// They go, and so does the submodule's: nothing captured says that any of them was there.
    fn dirs_in_submodules(&self, changes: &[Change]) -> Result<Vec<DirChange>> {
        let mut found = Vec::new();
        let is = |node: Option<Node>| node.is_some_and(Node::is_gitlink);
        let mut gone = changes
            .iter()
            .filter(|change| is(change.old) && !is(change.new))
            .peekable();
        let (Some(own), EmptyDirs::Go, Some(_)) =
            (self.others.own, self.aim.empty_dirs, gone.peek())
        else {
            return Ok(found);
        };
        let root = Root::open(self.ctx.repo.worktree_root())?;
        for change in gone {
            if own.stays(&change.path)? {
                continue;
            }
            let dirs = own.only_dirs_in(&root, &change.path).unwrap_or_default();
            for (path, bits) in dirs {
                let is_after = self.aim.extras.leads_to_empty_dir(&path)
                    || self.after_node(&path)?.is_some_and(Node::is_dir);
                if !is_after {
                    found.push(DirChange {
                        path,
                        before: Some(bits),
                        after: None,
                    });
                }
            }
        }
        Ok(found)
    }

    /// Directories that the stay made, that the rules hide from a look, and that the target does not have: they go when nothing is left in them.
    fn made_dirs_unseen(
        &self,
        after_node: &dyn Fn(&[u8]) -> Result<Option<Node>>,
    ) -> Result<Vec<DirChange>> {
        let (aim, manifest) = (self.aim, &self.capture.manifest);
        let mut found = Vec::new();
        // A directory that tw's own globs leave out is named, and no more.
        let is_named = |path: &&Vec<u8>| {
            let file = manifest.file(path);
            file.is_some_and(|file| !file.kind.is_by_rule())
        };
        let is_unseen = |path: &&Vec<u8>| manifest.find_dir(path).is_none() && !is_named(path);
        let mut unseen = aim.made_before.iter().filter(is_unseen).peekable();
        if unseen.peek().is_none() {
            return Ok(found);
        }
        let root = Root::open(self.ctx.repo.worktree_root())?;
        for path in unseen {
            let stays = after_node(path)?.is_some_and(Node::is_dir)
                || aim.extras.leads_to_empty_dir(path)
                || self.others.own.is_some_and(|own| own.has_dir(path));
            if stays {
                continue;
            }
            if let Some(stamp) = root.dir_stamp(path) {
                found.push(DirChange {
                    path: path.clone(),
                    before: Some(stamp.permissions()),
                    after: None,
                });
            }
        }
        Ok(found)
    }
}

/// Whether git tracked the path on the side that a swap leads to: no ignore rule leaves such a path out, so that it was
/// deleted there when the side has it not.
pub(super) fn tracks(store: &Store, target: &Stored, path: &[u8]) -> Result<bool> {
    let read = |oid| store.objects.read_safe_tree(oid);
    for tracked in store.tracked_trees(target)? {
        let found = tree::find(&read, tracked, path)?;
        if found.is_some_and(|node| !node.is_dir()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes the plan for single paths.
struct PathPlanner<'a> {
    clean: &'a Clean,
    root: &'a Root,
    manifest: &'a Manifest,
    /// Owner, group and attributes as they are now.
    now: &'a AccessList,
    saved: &'a Extras,
    /// Owner, group and attributes that come back to what is there.
    wanted: &'a AccessList,
    changes: &'a PathChanges,
    plan: Plan,
    /// By path, to become those of the plan.
    dirs: BTreeMap<Vec<u8>, DirChange>,
}

impl PathPlanner<'_> {
    /// `merges`: changes are put onto what is there, which keeps its access.
    fn plan(mut self, merges: bool) -> Result<Plan> {
        self.add_paths(merges);
        self.take_files_above();
        let giving_way = self.giving_way();
        if !giving_way.is_empty() {
            self.add_what_gives_way(&giving_way);
        }
        self.plan
            .leave_bits_of_others((self.now, self.wanted), may_change);
        self.plan.entries.sort_by(|a, b| a.path.cmp(&b.path));
        self.add_named_dirs();
        self.keep_parents_of_removed(&giving_way);
        self.make_missing_parents();
        if merges {
            self.keep_access()?;
        }
        self.open_closed_parents();
        self.plan.dirs = self.dirs.into_values().collect();
        Ok(self.plan)
    }

    fn add_paths(&mut self, merges: bool) {
        for (path, after) in &self.changes.paths {
            let before = side_on_disk(self.manifest, path);
            let after = leave_clean(self.clean, self.manifest, path, *after);
            let after = after.map(|after| self.without_withheld(path, (before, after), merges));
            let both = before.zip(after);
            let same = both.map_or(before == after, |(before, after)| before.is_as(after));
            if !same || before.is_some() && self.gets_other_access(path) {
                self.plan.entries.push(PlanEntry {
                    path: path.clone(),
                    before,
                    after,
                });
            }
        }
    }

    /// Files that somebody made where a directory over a path that comes back has to be: they are in the backup, and go.
    fn take_files_above(&mut self) {
        let mut taken: BTreeMap<Vec<u8>, Side> = BTreeMap::new();
        let changes = self.changes;
        let files = changes.paths.iter().filter(|(_, after)| after.is_some());
        let files = files.map(|(path, _)| path::split(path).0);
        let dirs = changes.dirs.iter().filter(|(_, after)| after.is_some());
        let dirs = dirs.map(|(path, _)| path.as_slice());
        for dir in files.chain(dirs).filter(|dir| !dir.is_empty()) {
            for at in path::with_parents(dir) {
                let kind = self.manifest.file(at).map(|file| file.kind);
                if matches!(kind, Some(Kind::File | Kind::Symlink))
                    && let Some(before) = side_on_disk(self.manifest, at)
                {
                    taken.insert(at.to_vec(), before);
                }
            }
        }
        for (path, _) in &changes.paths {
            taken.remove(path);
        }
        let entries = taken.into_iter().map(|(path, before)| PlanEntry {
            path,
            before: Some(before),
            after: None,
        });
        self.plan.entries.extend(entries);
    }

    /// Whether a path is to have another access than it has now, and this process may give it that.
    fn gets_other_access(&self, path: &[u8]) -> bool {
        let now = self.now.of(path);
        self.wanted.differs(self.now, path) && now.is_some_and(|now| may_change(now.uid))
    }

    /// The directories in whose place a file comes back.
    fn giving_way(&self) -> BTreeSet<Vec<u8>> {
        let paths = self.changes.paths.iter();
        paths
            .filter(|(path, after)| after.is_some() && dir_on_disk(self.manifest, path).is_some())
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// What was made since beneath a path that becomes a file again: it is in the backup, and goes.
    fn add_what_gives_way(&mut self, giving_way: &BTreeSet<Vec<u8>>) {
        let manifest = self.manifest;
        let gives_way = |path: &[u8]| giving_way.iter().any(|place| path::is_within(path, place));
        let known: BTreeSet<Vec<u8>> = self
            .plan
            .entries
            .iter()
            .map(|entry| entry.path.clone())
            .collect();
        for (dir, file) in manifest.entries() {
            let path = manifest.path_of(dir, &file);
            if !gives_way(&path) || known.contains(&path) {
                continue;
            }
            if let Some(before) = side_on_disk(manifest, &path) {
                self.plan.entries.push(PlanEntry {
                    path,
                    before: Some(before),
                    after: None,
                });
            }
        }
        let dirs = manifest.dirs.iter();
        let dirs = dirs.map(|dir| manifest.dir_path(dir).to_vec());
        let gitlinks = manifest.entries();
        let gitlinks = gitlinks.filter(|(_, file)| file.kind == Kind::Gitlink);
        let gitlinks = gitlinks.map(|(dir, file)| manifest.path_of(dir, &file));
        for path in dirs.chain(gitlinks).filter(|path| gives_way(path)) {
            let change = DirChange {
                before: dir_on_disk(manifest, &path),
                after: None,
                path,
            };
            self.dirs.insert(change.path.clone(), change);
        }
    }

    fn add_named_dirs(&mut self) {
        for (path, after) in &self.changes.dirs {
            // One that a swap made and the rules hide from a look goes as well.
            let unseen = || self.root.dir_stamp(path).map(|stamp| stamp.permissions());
            let before = dir_on_disk(self.manifest, path).or_else(unseen);
            // One that is there and stays is named, so that removing what is in it does not take it along.
            if before != *after || after.is_some() {
                let change = DirChange {
                    path: path.clone(),
                    before,
                    after: *after,
                };
                self.dirs.insert(path.clone(), change);
            }
        }
    }

    /// A directory that becomes empty stays, unless it is among those that go.
    fn keep_parents_of_removed(&mut self, giving_way: &BTreeSet<Vec<u8>>) {
        let gone = self
            .changes
            .dirs
            .iter()
            .filter(|(_, after)| after.is_none());
        let gone: BTreeSet<&[u8]> = gone.map(|(path, _)| path.as_slice()).collect();
        let gives_way = |path: &[u8]| giving_way.iter().any(|place| path::is_within(path, place));
        let removed = self
            .plan
            .entries
            .iter()
            .filter(|entry| entry.after.is_none());
        for entry in removed {
            let mut parent = path::split(&entry.path).0;
            while gone.contains(parent) {
                parent = path::split(parent).0;
            }
            if !parent.is_empty() && !gives_way(parent) {
                self.plan.keep_dirs.insert(parent.to_vec());
            }
        }
    }

    fn make_missing_parents(&mut self) {
        let (manifest, saved) = (self.manifest, self.saved);
        let written = self
            .plan
            .entries
            .iter()
            .filter(|entry| entry.after.is_some());
        for entry in written {
            let mut at = path::split(&entry.path).0;
            while !at.is_empty() {
                if dir_on_disk(manifest, at).is_none() {
                    self.dirs.entry(at.to_vec()).or_insert_with(|| DirChange {
                        path: at.to_vec(),
                        before: None,
                        after: Some(saved.permissions(at, tree::DIR_MODE)),
                    });
                }
                at = path::split(at).0;
            }
        }
    }

    /// Directories whose bits keep us out are opened for the while.
    fn open_closed_parents(&mut self) {
        let manifest = self.manifest;
        let on_disk = |path: &[u8]| dir_on_disk(manifest, path);
        for (path, bits) in closed_parents(&self.plan.entries, &on_disk) {
            let filled = self
                .plan
                .entries
                .iter()
                .any(|entry| entry.after.is_some() && path::is_within(&entry.path, &path));
            self.dirs.entry(path.clone()).or_insert(DirChange {
                path,
                before: Some(bits),
                after: filled.then_some(bits),
            });
        }
    }
}

pub(super) fn side_on_disk(manifest: &Manifest, path: &[u8]) -> Option<Side> {
    let file = manifest.file(path)?;
    file.kind.is_on_disk().then(|| Side {
        node: Node {
            mode: file.git_mode,
            oid: file.oid,
        },
        // Linux has no permission bits for symbolic links: what `lstat` says of them is always the same.
        perm: if file.kind == Kind::Symlink {
            0
        } else {
            file.stamp.permissions()
        },
    })
}

/// The permission bits of a directory that is there.
fn dir_on_disk(manifest: &Manifest, path: &[u8]) -> Option<u32> {
    if let Some(dir) = manifest.dir_on_disk(path) {
        return Some(dir.stamp.permissions());
    }
    // A submodule's directory is one, too.
    let file = manifest.file(path)?;
    (file.kind == Kind::Gitlink).then(|| file.stamp.permissions())
}
