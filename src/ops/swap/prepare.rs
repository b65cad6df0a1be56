//! What comes before a swap: capture, plan, refusals, proofs, room on disk. Nothing is written but temporary objects.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::super::Context;
use super::super::capture::{Capture, CaptureOptions, Prove, Storing, capture};
use super::blobs::Blobs;
use super::closed::closed_to_us;
use super::filtered::{Clean, Hashes};
use super::flagged::refuse_fixed;
use super::goal::{Aim, GitGoal, Goal};
use super::made::blobs_made_here;
use super::needs::{check_room, prove_objects};
use super::obstacles::{Obstacles, find_obstacles};
use super::one_name::{is_another_spelling, one_name};
use super::plan::{Others, make_plan};
use super::present_own::PresentOwn;
use super::recover::node_of;
use super::refusal::{refuse_to_lay_open, would_overwrite};
use super::repositories::OtherRepositories;
use super::session_files::refuse_to_cut;
use super::{TRIES, copied, protected_dirs};
use crate::error::{Code, Error, Result};
use crate::git::fs::Root;
use crate::git::own::OwnDirs;
use crate::git::{Oid, path};
use crate::ops::uncapturable::{Uncapturable, Why};
use crate::ops::unsaved::Filtered;
use crate::store::Store;
use crate::worktree::apply::Granted;
use crate::worktree::manifest::{DirRec, FileFlags, Kind, Manifest};
use crate::worktree::plan::Plan;

/// A capture, and a plan that can be carried out.
pub struct Prepared<'s> {
    /// What is there.
    pub capture: Capture<'s>,
    /// What would be done.
    pub plan: Plan,
    /// What would be written.
    pub blobs: Blobs,
    /// HEAD's bytes at that moment.
    pub(super) raw_head: String,
}

/// Scans and plans until nothing uncaptured is in the way. Writes nothing but unreferenced temporary files.
///
/// # Errors
/// `WOULD_OVERWRITE` with the paths, `CORRUPT_RECORD` when something that would be written is missing or damaged, `NO_SPACE`.
pub fn prepare<'s>(
    ctx: &Context<'_>,
    store: &'s Store,
    goal: &Goal<'_>,
    storing: &Storing,
) -> Result<Prepared<'s>> {
    copied::check(ctx, store)?;
    let mut preparation = Preparation {
        ctx,
        store,
        goal,
        storing,
        own: OwnDirs::of(&ctx.repo, &store.objects),
        others: OtherRepositories::of(store, goal)?,
        present: PresentOwn::of(ctx, store, goal)?,
        forced: goal.forced(),
        shown: goal.shown.clone(),
        other_rules: goal.experiment.as_ref().and_then(|left| left.likely_rules),
        prove: prove_first(goal, storing),
        made: OnceCell::new(),
        clean: Clean::new(),
        hashes: Hashes::default(),
        newest: None,
        is_last: false,
    };
    let mut tries = 0;
    for round in 1..=ROUNDS {
        preparation.is_last = tries + 1 == TRIES || round == ROUNDS;
        let known = preparation.known();
        if let Some(prepared) = preparation.attempt()? {
            return Ok(prepared);
        }
        if preparation.known() == known {
            tries += 1;
        }
        if preparation.is_last {
            break;
        }
    }
    let newest = preparation.newest.as_deref();
    let such_as = newest.map(|path| format!(", such as '{}'", path::display(path)));
    let message = format!(
        "files keep appearing in the way{}",
        such_as.unwrap_or_default()
    );
    Err(Error::new(Code::Busy, message).hint("stop what writes here and try again"))
}

/// A scan may show what the next one has to look for, path by path, though nobody writes: such a one is no try. For somebody who writes
/// without end there is an end all the same.
const ROUNDS: usize = 8 * TRIES;

/// What every scan adds to what the next one has to capture.
struct Preparation<'a, 'g, 's> {
    ctx: &'a Context<'a>,
    store: &'s Store,
    goal: &'a Goal<'g>,
    storing: &'a Storing,
    own: OwnDirs,
    others: OtherRepositories,
    present: Option<PresentOwn<'a>>,
    /// Captured whatever the rules say.
    forced: BTreeSet<Vec<u8>>,
    /// Those of them that are captured also where the user's own exclude hides them.
    shown: BTreeSet<Vec<u8>>,
    /// A tree whose ignore rules hold beside those on disk.
    other_rules: Option<Oid>,
    prove: Prove,
    /// What the swaps of a stay put where nothing was, once that is asked for.
    made: OnceCell<BTreeMap<Vec<u8>, BTreeSet<Oid>>>,
    /// Files that are captured by their bytes since an earlier look took them for clean.
    clean: Clean,
    hashes: Hashes,
    /// The last path that one of the two got.
    newest: Option<Vec<u8>>,
    /// No other scan follows.
    is_last: bool,
}

impl<'s> Preparation<'_, '_, 's> {
    /// How many paths the next scan captures whatever the rules say, and whatever the user's own exclude says.
    fn known(&self) -> (usize, usize) {
        (self.forced.len(), self.shown.len())
    }

    /// Has the next scan capture a path whatever the rules say. False: that was so already.
    fn force(&mut self, path: Vec<u8>) -> bool {
        self.newest = Some(path.clone());
        self.forced.insert(path)
    }

    /// Has the next scan capture a path that the user's own exclude hides. False: that was so already.
    fn show(&mut self, path: Vec<u8>) -> bool {
        self.newest = Some(path.clone());
        self.shown.insert(path)
    }

    /// One scan, and the plan that follows from it. `None`: there is more to capture than this scan did.
    fn attempt(&mut self) -> Result<Option<Prepared<'s>>> {
        // Read before the scan, compared under git's locks: a checkout in between does not go unseen.
        let raw_head = self.ctx.repo.raw_head()?;
        let capture = self.capture()?;
        // What the rules hide would not be in the experiment.
        if self.misses_something(&capture)? {
            return Ok(None);
        }
        let (ctx, store, goal) = (self.ctx, self.store, self.goal);
        let mut plan = self.plan(&capture)?;
        if !plan.uncaptured.is_empty() {
            for path in plan.uncaptured {
                self.force(path);
            }
            return Ok(None);
        }
        if let (GitGoal::Entries(entries), Some(index)) = (&goal.git, &capture.parsed_index) {
            entries.borrow_mut().make_room(index);
        }
        let unproven = unproven_paths(&capture.manifest, &plan);
        if !unproven.is_empty() {
            // Only where not all are proven anyway.
            self.prove = Prove::Paths(unproven);
            return Ok(None);
        }
        let root = Root::open(ctx.repo.worktree_root())?;
        refuse_fixed(ctx, &root, goal, &plan)?;
        if !self.is_way_clear(&root, &capture, &plan)? {
            return Ok(None);
        }
        self.know_dirs_on_disk(&root, &capture.manifest, &mut plan);
        refuse_to_lay_open(ctx, goal, &capture.manifest, &plan)?;
        refuse_to_cut(ctx, goal, &capture.manifest, &plan)?;
        let blobs = prove_objects(ctx, store, goal, (&capture, self.storing), &plan)?;
        // After the proof, which tells the sizes.
        check_room(ctx, &plan, &blobs)?;
        Ok(Some(Prepared {
            capture,
            plan,
            blobs,
            raw_head,
        }))
    }

    /// The plan that follows from a scan.
    fn plan(&self, capture: &Capture<'_>) -> Result<Plan> {
        let others = Others {
            forced: &self.forced,
            hiding: &self.others.hiding,
            own: self.present.as_ref(),
            clean: &self.clean,
            hashes: &self.hashes,
        };
        make_plan(self.ctx, self.store, self.goal, capture, &others)
    }

    /// Whether nothing uncaptured is in the way. What can be captured the next scan captures; what
    /// cannot is refused.
    fn is_way_clear(&mut self, root: &Root, capture: &Capture<'_>, plan: &Plan) -> Result<bool> {
        let Obstacles {
            mut to_force,
            mut refused,
        } = find_obstacles(
            root,
            &self.own,
            &self.others.shared,
            (capture, self.present.as_ref()),
            plan,
        )?;
        to_force.extend(self.large_and_saved(root, plan, &mut refused)?);
        // All that is refused is named at once, so that it can be moved away at once.
        refused.extend(start_in_the_way(self.ctx, plan));
        refused.extend(self.of_the_present(plan)?);
        let access = Granted::by(self.goal.aim.extras(), plan);
        refused.extend(closed_to_us(root, &capture.manifest, (plan, access))?);
        if self.shows_what_is_saved(root, plan, &to_force)? {
            return Ok(false);
        }
        // Captured whatever the rules say, and not there all the same.
        let is_hidden = |path: &Vec<u8>| self.forced.contains(path);
        let (hidden, to_force): (BTreeSet<_>, BTreeSet<_>) =
            to_force.into_iter().partition(is_hidden);
        let manifest = &capture.manifest;
        let alike = one_name(root, manifest, plan)?;
        let hidden = hidden.into_iter().filter(|path| !alike.contains(path));
        refused.extend(hidden.map(|path| Uncapturable::new(&path, why_hidden(manifest, &path))));
        let alike = alike.iter();
        refused.extend(alike.map(|path| Uncapturable::new(path, Why::SameButForCase)));
        refused.extend(self.made_and_hidden(root, capture)?);
        let renames = &self.goal.renames;
        refused.retain(|at| !renames.iter().any(|from| path::is_within(&at.path, from)));
        // What is in the way may have been made by the stay as well.
        refused.sort();
        refused.dedup();
        let flickers = refused.iter().any(|at| at.why == Why::ComesAndGoes);
        if flickers && !self.is_last {
            return Ok(false);
        }
        if !refused.is_empty() {
            self.refuse(refused)?;
        }
        let is_clear = to_force.is_empty();
        for path in to_force {
            let file = capture.manifest.file(&path);
            if let Some(file) = file.filter(|file| file.kind == Kind::FilteredClean) {
                self.clean.insert(path.clone(), Filtered::of(&file));
            }
            self.force(path);
        }
        Ok(is_clear)
    }

    /// The error of what cannot be captured. A goal that asks for what is in the way is told of it
    /// instead.
    fn refuse(&self, refused: Vec<Uncapturable>) -> Result<()> {
        let of_git = Why::Kind(Kind::GitDirectory);
        let is_of_git = refused.iter().any(|at| at.why == of_git);
        match self.goal.in_the_way {
            Some(found) if !is_of_git => {
                found.replace(refused.into_iter().map(|at| at.path).collect());
                Ok(())
            }
            _ => Err(would_overwrite(self.ctx, self.goal, &refused)),
        }
    }

    /// Files that the stay made, that the user's own exclude or their bits hide by now, and that are not as they were made: with the past
    /// they would have to go, and nothing would have them.
    fn made_and_hidden(&self, root: &Root, capture: &Capture<'_>) -> Result<Vec<Uncapturable>> {
        let Aim::Snapshot(aim) = &self.goal.aim else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for path in aim.made_before.intersection(&self.forced) {
            let is_kept = aim.keep.iter().any(|kept| path::is_within(path, kept));
            if !is_kept
                && !is_seen(capture, path)
                && is_file(root, path)
                && !self.is_of_present(path)?
                && !is_another_spelling(root, &capture.manifest, path)?
            {
                found.push(Uncapturable::new(path, why_hidden(&capture.manifest, path)));
            }
        }
        Ok(found)
    }

    fn is_of_present(&self, path: &[u8]) -> Result<bool> {
        let present = self.present.as_ref();
        present.map_or(Ok(false), |present| present.has(path))
    }

    /// Files that the plan would replace, and that may be the present's own. What a swap put there that is taken back now is not.
    fn of_the_present(&self, plan: &Plan) -> Result<Vec<Uncapturable>> {
        let mut found = Vec::new();
        for entry in plan.entries.iter().filter(|entry| entry.before.is_some()) {
            if !self.goal.shown.contains(&entry.path) && self.is_of_present(&entry.path)? {
                found.push(Uncapturable::new(&entry.path, Why::IgnoredInThePresent));
            }
        }
        Ok(found)
    }

    fn capture(&self) -> Result<Capture<'s>> {
        let experiment = self.goal.experiment.as_ref();
        let options = CaptureOptions {
            storing: self.storing.clone(),
            forced: self.forced.clone(),
            shown: self.shown.clone(),
            other_rules: self.other_rules,
            whole_index: true,
            before_hashing: experiment.and_then(|experiment| experiment.before_hashing),
            prove: self.prove.clone(),
            likely: experiment.map(|experiment| experiment.likely),
            ..CaptureOptions::default()
        };
        capture(self.ctx, self.store, &options)
    }

    /// Whether the rules hide something from a capture that what is saved has to have. The next scan looks for it.
    fn misses_something(&mut self, capture: &Capture<'_>) -> Result<bool> {
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let Some(experiment) = &self.goal.experiment else {
            return self.misses(capture, &root, self.made_unseen(capture, &root));
        };
        let hidden = (experiment.hidden)(capture)?;
        // Where the rules turn out to be the same, both sides judged alike.
        let other_rules = hidden.other_rules.or(self.other_rules);
        let has_other_rules = other_rules != self.other_rules;
        self.other_rules = other_rules;
        Ok(self.misses(capture, &root, hidden.forced)? || has_other_rules)
    }

    /// What the swap made that is taken back, and this scan did not see although it is there.
    fn made_unseen(&self, capture: &Capture<'_>, root: &Root) -> BTreeSet<Vec<u8>> {
        let made = match &self.goal.aim {
            Aim::Snapshot(aim) if self.goal.written.is_some() => &aim.made_before,
            _ => return BTreeSet::new(),
        };
        // What lies in a repository by now is that one's.
        let manifest = &capture.manifest;
        let is_repository = |at: &[u8]| {
            let file = manifest.file(at);
            file.is_some_and(|file| matches!(file.kind, Kind::Nested | Kind::Gitlink))
        };
        let unseen = made.iter().filter(|path| !is_seen(capture, path));
        let unseen = unseen.filter(|path| !path::with_parents(path).any(is_repository));
        unseen.filter(|path| is_file(root, path)).cloned().collect()
    }

    /// Whether the next scan has to look for one of these paths, which the rules hide.
    fn misses(
        &mut self,
        capture: &Capture<'_>,
        root: &Root,
        hidden: BTreeSet<Vec<u8>>,
    ) -> Result<bool> {
        let mut misses = false;
        for path in hidden {
            if self.forced.contains(&path) {
                // The user's own exclude hides it. What is as the swap wrote it is in a snapshot already, and can go.
                let is_known = !is_seen(capture, &path)
                    && !self.shown.contains(&path)
                    && (self.is_made_dir(&path) || self.is_as_written(root, &path)?);
                if is_known {
                    misses |= self.show(path);
                }
            } else {
                misses |= self.force(path);
            }
        }
        Ok(misses)
    }

    /// Whether a path is that of a directory that the stay made.
    fn is_made_dir(&self, path: &[u8]) -> bool {
        let Aim::Snapshot(aim) = &self.goal.aim else {
            return false;
        };
        let dir = path.strip_suffix(b"/");
        dir.is_some_and(|dir| aim.made_before.contains(dir))
    }

    /// Whether a file is what a swap of the stay put there, or the swap that is taken back.
    fn is_as_written(&self, root: &Root, path: &[u8]) -> Result<bool> {
        let experiment = self.goal.experiment.as_ref();
        let written = experiment.map(|experiment| experiment.likely);
        let written = written.or(self.goal.written);
        if let Some(written) = written.and_then(|written| written(path))
            && self.holds(root, path, written)?
        {
            return Ok(true);
        }
        let made = match self.made.get() {
            Some(made) => made,
            None if experiment.is_none() => return Ok(false),
            None => {
                let made = blobs_made_here(self.store)?;
                self.made.get_or_init(|| made)
            }
        };
        for written in made.get(path).into_iter().flatten() {
            if self.holds(root, path, *written)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Files over the size limit that are what the plan puts there: the limit is for what is not saved yet.
    fn large_and_saved(
        &self,
        root: &Root,
        plan: &Plan,
        refused: &mut Vec<Uncapturable>,
    ) -> Result<BTreeSet<Vec<u8>>> {
        let mut saved = BTreeSet::new();
        for at in refused.iter() {
            let after = plan.entry(&at.path).and_then(|entry| entry.after);
            if at.why == Why::Kind(Kind::TooLarge)
                && let Some(after) = after
                && !self.forced.contains(&at.path)
                && self.holds(root, &at.path, after.node.oid)?
            {
                saved.insert(at.path.clone());
            }
        }
        refused.retain(|at| !saved.contains(&at.path));
        Ok(saved)
    }

    /// Shows the next scan what the user's own exclude hides and the target has with the same bytes: they are saved.
    fn shows_what_is_saved(
        &mut self,
        root: &Root,
        plan: &Plan,
        hidden: &BTreeSet<Vec<u8>>,
    ) -> Result<bool> {
        let mut any = false;
        if hidden.is_disjoint(&self.forced) {
            return Ok(any);
        }
        for entry in &plan.entries {
            let Some(after) = entry.after else {
                continue;
            };
            let is_hidden = hidden.contains(&entry.path) && self.forced.contains(&entry.path);
            if is_hidden
                && !self.shown.contains(&entry.path)
                && self.holds(root, &entry.path, after.node.oid)?
            {
                any |= self.show(entry.path.clone());
            }
        }
        Ok(any)
    }

    /// A directory that the rules hide from a look is there all the same: it is not made, and does not go with what is. While it is the
    /// present's it is opened to nobody: no record has its bits. Its owner and attributes stay. Bits that are taken back a journal has.
    fn know_dirs_on_disk(&self, root: &Root, manifest: &Manifest, plan: &mut Plan) {
        for dir in &mut plan.dirs {
            let stays = dir.before.is_some() && dir.after.is_some();
            if stays && self.goal.aim.knows_nothing_of(self.store, &dir.path) {
                plan.unrecorded.insert(dir.path.clone());
            }
            let is_recorded = manifest
                .dir_on_disk(&dir.path)
                .is_some_and(DirRec::is_recorded);
            let is_of_present = match &self.present {
                Some(present) => present.has_dir(&dir.path),
                None => !is_recorded,
            };
            if manifest.is_submodule(&dir.path) || is_recorded && !is_of_present {
                continue;
            }
            let Some(stamp) = root.dir_stamp(&dir.path) else {
                continue;
            };
            let bits = stamp.permissions();
            dir.before = Some(bits);
            plan.unrecorded.insert(dir.path.clone());
            if is_of_present && !self.goal.ends_stay() && !self.goal.takes_paths_back() {
                dir.after = dir.after.map(|after| after & bits);
            }
        }
    }

    /// Whether what is at a path are these bytes.
    fn holds(&self, root: &Root, path: &[u8], wanted: Oid) -> Result<bool> {
        let found = node_of(root, path, self.store.objects.format())?;
        Ok(found.is_some_and(|(node, _)| node.oid == wanted))
    }
}

/// What is proven before there is a plan. What is saved of a whole state is what that state is put back from later, also at paths
/// that this swap leaves alone and somebody changes in between. What a dry run finds is kept nowhere.
fn prove_first(goal: &Goal<'_>, storing: &Storing) -> Prove {
    let whole = matches!(&goal.aim, Aim::Snapshot(aim) if aim.only.is_none())
        || matches!(goal.git, GitGoal::Snapshot(_));
    if whole && *storing != Storing::No {
        Prove::All
    } else {
        Prove::Cheap
    }
}

/// The paths that the plan would replace or remove although nobody has looked whether their bytes are what their ids say.
fn unproven_paths(manifest: &Manifest, plan: &Plan) -> BTreeSet<Vec<u8>> {
    let entries = plan.entries.iter().filter(|entry| !entry.is_chmod());
    entries
        .map(|entry| entry.path.clone())
        .filter(|path| {
            let file = manifest.file(path);
            file.is_some_and(|file| file.flags.has(FileFlags::UNPROVEN))
        })
        .collect()
}

/// Why a capture has nothing of a path that it was told to capture, and at which something stands.
fn why_hidden(manifest: &Manifest, full: &[u8]) -> Why {
    let dir = full.strip_suffix(b"/").unwrap_or(full);
    let why = |at: &[u8]| Why::kind(manifest.file(at)?.kind);
    path::with_parents(dir)
        .find_map(why)
        .unwrap_or(Why::ComesAndGoes)
}

/// Whether something other than a directory is at a path.
fn is_file(root: &Root, path: &[u8]) -> bool {
    matches!(root.stamp(path), Ok(Some(stamp)) if !stamp.is_dir())
}

/// Whether a capture has the file of a path, or the directory where that ends with a slash.
fn is_seen(capture: &Capture<'_>, path: &[u8]) -> bool {
    if let Some(dir) = path.strip_suffix(b"/") {
        let dir = capture.manifest.dir_on_disk(dir);
        return dir.is_some_and(DirRec::is_recorded);
    }
    let file = capture.manifest.file(path);
    file.is_some_and(|file| file.kind.in_tree())
}

/// The directory `tw` was started in, or one above it, where the plan has a file: it is kept, so the file cannot be there.
fn start_in_the_way(ctx: &Context<'_>, plan: &Plan) -> Option<Uncapturable> {
    let protected = protected_dirs(ctx);
    let mut files = plan.entries.iter().filter(|entry| entry.after.is_some());
    let entry = files.find(|entry| protected.contains(&entry.path))?;
    Some(Uncapturable::new(&entry.path, Why::CurrentDirectory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fs::Stamp;
    use crate::worktree::manifest::{DirFlags, DirRec, FileRec, Ignored, Kind, no_oid};

    #[test]
    fn only_what_the_users_rule_hides_is_said_to_be_excluded() {
        let mut manifest = Manifest::default();
        let stamp = Stamp::default();
        let name = manifest.intern(b"hidden");
        manifest.push_file(FileRec {
            name,
            kind: Kind::UserExclude,
            flags: FileFlags::NONE,
            stamp,
            git_mode: 0,
            oid: no_oid(),
        });
        let path = manifest.intern(b"");
        manifest.dirs.push(DirRec {
            path,
            parent: 0,
            first: 0,
            end: 1,
            flags: DirFlags::NONE,
            stamp,
            tree: no_oid(),
            ignored: Ignored::default(),
        });
        for (full, why) in [
            ("hidden", Why::Kind(Kind::UserExclude)),
            ("hidden/x/", Why::Kind(Kind::UserExclude)),
            ("seen for a moment", Why::ComesAndGoes),
        ] {
            assert_eq!(why_hidden(&manifest, full.as_bytes()), why, "{full}");
        }
    }
}
