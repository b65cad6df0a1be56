//! A swap: the working tree put into another state, in the order that loses nothing.
//!
//! `tw`'s lock → scan → plan → refusals, proofs, room on disk → (a dry run ends here) → git's locks → backup, its ref, synced →
//! journal, synced → files → index, HEAD, operation files → proof, where one is asked for → `state.json`, the commit point → journal to
//! the undo log → locks and `.keep` gone. An error before the commit point rolls back along the journal; a death there leaves
//! it for `recover`.

use std::collections::BTreeSet;
use std::path::Path;

use super::Context;
use super::capture::{Capture, Storing, Wanted, capture, index_stamp};
use super::newindex::{IndexGoal, new_index};
use super::obstacles::{Obstacles, find_obstacles};
use super::outcome::Changes;
use super::record::{About, Made, record};
use super::secure::Late;
use super::treerules::TreeRules;
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::fs::{Root, Stamp, remove_optional, write_atomic_with_mode};
use crate::git::operation::{self, OperationState};
use crate::git::path::{self, RepoPath};
use crate::git::tree::{self, Node};
use crate::store::Store;
use crate::store::id::{IdKind, Tail};
use crate::store::lock::{GitLocks, Owner, remove_dead_locks};
use crate::store::snapshot::octal;
use crate::store::state::{
    Journal, JournalDir, JournalEntry, Side as StoredSide, State, stored_path,
};
use crate::store::stored::Stored;
use crate::worktree::apply::{Applied, Apply, Expected};
use crate::worktree::globs::Globs;
use crate::worktree::manifest::{Kind, Manifest, RACY};
use crate::worktree::plan::{
    EmptyDirs, Extras, Plan, PlanEntry, Planning, Side, closed_parents, plan,
};

/// How often a scan is repeated because index, HEAD or what is in the way moved meanwhile.
const TRIES: usize = 4;

/// Among the journal's other fields: there was no index before the swap.
pub const NO_INDEX: &str = "no_index";

/// Which paths the swap is about.
pub enum Aim<'a> {
    /// A tree, whole or as far as `only` says.
    Tree {
        /// The tree.
        tree: Oid,
        /// What the tree cannot say.
        extras: Extras,
        /// These paths and what lies beneath; empty means all.
        only: Vec<Vec<u8>>,
        /// See [`EmptyDirs`].
        empty_dirs: EmptyDirs,
        /// Paths that are removed whatever the tree's rules say: an earlier swap made them.
        made_before: BTreeSet<Vec<u8>>,
        /// Paths that stay as they are.
        keep: Vec<Vec<u8>>,
    },
    /// Single paths and directories.
    Paths {
        /// What each becomes.
        paths: &'a [(Vec<u8>, Option<Side>)],
        /// Directories to make (with these bits) or to remove.
        dirs: &'a [(Vec<u8>, Option<u32>)],
        /// What directories that have to be made again had for permission bits.
        saved: &'a Extras,
    },
}

/// What becomes of HEAD.
pub enum HeadGoal {
    /// It stays.
    Stay,
    /// The file gets these bytes.
    Raw(String),
}

/// What becomes of operation files.
pub enum OperationGoal {
    /// They stay.
    Stay,
    /// Exactly these.
    Set(OperationState),
}

/// How the swap goes into the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Logging {
    /// A new level; what could be redone is forgotten.
    NewLevel,
    /// An undo: this level goes from the undo log, the swap becomes a level of the redo log.
    Undo(String),
    /// A redo: the other way round.
    Redo(String),
}

/// What a capture misses: a tree whose ignore rules hold beside those on disk, and paths to force in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hidden {
    /// See above.
    pub other_rules: Option<Oid>,
    /// See above.
    pub forced: BTreeSet<Vec<u8>>,
}

/// Looks for what a capture misses.
pub type FindHidden<'a> = &'a dyn Fn(&Capture<'_>) -> Result<Hidden>;

/// Everything about a swap that its command decides.
pub struct Goal<'a> {
    /// `travel`, `return`, …
    pub operation: &'static str,
    /// For undo and redo: the kind of the swap they reverse.
    pub reverses: Option<String>,
    /// Where it leads.
    pub aim: Aim<'a>,
    /// Whose files these are, when they are one snapshot's.
    pub target: Option<&'a Stored>,
    /// Index.
    pub index: IndexGoal<'a>,
    /// HEAD.
    pub head: HeadGoal,
    /// Operation files.
    pub operation_files: OperationGoal,
    /// `backup`, or `experiment` when the past is left.
    pub saves_as: IdKind,
    /// Title of what is saved.
    pub title: String,
    /// Other fields of its record.
    pub extra: serde_json::Map<String, serde_json::Value>,
    /// Paths captured whatever the rules say.
    pub forced: BTreeSet<Vec<u8>>,
    /// Finds what the rules hide from a capture although it has to be in it.
    pub hidden: Option<FindHidden<'a>>,
    /// Looks at the scan before anything is hashed.
    pub before_hashing: Option<&'a dyn Fn(&mut Manifest) -> Result<()>>,
    /// The log.
    pub logging: Logging,
    /// The command that gets home, for refusals.
    pub way_out: &'a [&'a str],
}

/// What the look found: a capture, and a plan that can be carried out.
pub struct Looked<'s> {
    /// What is there.
    pub capture: Capture<'s>,
    /// What would be done.
    pub plan: Plan,
    /// HEAD's bytes at that moment.
    raw_head: String,
}

/// A finished swap.
pub struct Swapped<'s> {
    /// Its id.
    pub swap_id: String,
    /// What was saved.
    pub saved: Made<'s>,
    /// What was done.
    pub plan: Plan,
    /// Stamps of what was written, and late changes.
    pub applied: Applied,
    /// What the proof said.
    pub proof: Option<super::prove::Proof>,
    /// `state.json` as it is now.
    pub state: State,
}

impl Swapped<'_> {
    /// The paths touched.
    pub fn changes(&self) -> Changes {
        changes(&self.plan)
    }
}

/// The paths a plan touches.
pub fn changes(plan: &Plan) -> Changes {
    let (written, removed) = plan.changes();
    Changes {
        written: written.into_iter().map(RepoPath::new).collect(),
        removed: removed.into_iter().map(RepoPath::new).collect(),
    }
}

/// The extras of a stored snapshot. Permission bits of a foreign one are cut to the plain nine.
pub fn stored_extras(store: &Store<'_>, stored: &Stored) -> Result<Extras> {
    let lists = store.lists(stored)?;
    let foreign = store.is_foreign(stored)?;
    let mask = if foreign { 0o777 } else { 0o7777 };
    let record = &stored.record;
    let defaults =
        [0o100_644, 0o100_755, tree::DIR_MODE].map(|mode| record.default_permissions(mode));
    let [file, executable, directory] = defaults;
    Ok(Extras {
        modes: lists
            .modes
            .into_iter()
            .map(|(path, mode)| (path, mode & mask))
            .collect(),
        defaults: [file? & mask, executable? & mask, directory? & mask],
        empty_dirs: lists
            .empty_dirs
            .into_iter()
            .filter(|dir| path::is_safe(dir))
            .collect(),
        absent: lists.absent.into_iter().collect(),
    })
}

/// The extras of what is there now.
pub fn captured_extras(capture: &Capture<'_>) -> Extras {
    let lists = capture.lists();
    Extras {
        modes: lists.modes,
        defaults: super::record::usual_modes(&capture.manifest),
        empty_dirs: lists.empty_dirs.into_iter().collect(),
        absent: lists.absent.into_iter().collect(),
    }
}

/// Reads trees from the repository, and from a capture that is not stored yet.
pub fn read_tree(store: &Store<'_>, capture: &Capture<'_>, oid: Oid) -> Result<Vec<u8>> {
    match capture.made_trees.get(&oid) {
        Some(bytes) => Ok(bytes.clone()),
        None => store.objects.read_tree(oid),
    }
}

/// The globals and globs that rules need.
fn rules_parts(
    ctx: &Context<'_>,
) -> Result<(
    std::sync::Arc<crate::worktree::ignore::Globals>,
    std::sync::Arc<Globs>,
)> {
    super::capture::rule_parts(ctx, &[], &[]).map(|(globals, globs, _)| (globals, globs))
}

/// Scans and plans until nothing uncaptured is in the way. Writes nothing but unreferenced temporary files.
///
/// # Errors
/// `WOULD_OVERWRITE` with the paths, `CORRUPT_RECORD` when something that would be written is missing or damaged, `NO_SPACE`.
pub fn look<'s>(
    ctx: &Context<'_>,
    store: &'s Store<'_>,
    goal: &Goal<'_>,
    storing: &Storing,
) -> Result<Looked<'s>> {
    let mut forced = goal.forced.clone();
    let mut other_rules = None;
    for _ in 0..TRIES {
        let raw_head = ctx.repo.raw_head()?;
        let wanted = Wanted {
            storing: storing.clone(),
            forced: forced.clone(),
            other_rules,
            whole_index: true,
            before_hashing: goal.before_hashing,
            ..Wanted::default()
        };
        let capture = capture(ctx, store, &wanted)?;
        if let Some(find) = goal.hidden {
            let hidden = find(&capture)?;
            let known = hidden.forced.is_subset(&forced) && hidden.other_rules == other_rules;
            if !known {
                forced.extend(hidden.forced);
                other_rules = hidden.other_rules;
                continue;
            }
        }
        let plan = make_plan(ctx, store, goal, &capture, &forced)?;
        let root = Root::open(ctx.repo.worktree_root())?;
        let Obstacles {
            to_force,
            mut refused,
        } = find_obstacles(&root, &capture.manifest, &plan)?;
        refused.extend(start_in_the_way(ctx, &plan));
        if !refused.is_empty() {
            return Err(would_overwrite(goal, &refused));
        }
        if to_force.is_empty() {
            prove_objects(ctx, store, &capture, &plan)?;
            check_room(ctx, store, &plan)?;
            return Ok(Looked {
                capture,
                plan,
                raw_head,
            });
        }
        forced.extend(to_force);
    }
    Err(Error::new(Code::Busy, "files keep appearing in the way")
        .hint("stop what writes here and try again"))
}

fn would_overwrite(goal: &Goal<'_>, refused: &[(Vec<u8>, &'static str)]) -> Error {
    let shown: Vec<String> = refused
        .iter()
        .take(5)
        .map(|(path, why)| format!("'{}' ({why})", path::display(path)))
        .collect();
    let more = refused.len().saturating_sub(shown.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let paths: Vec<String> = refused
        .iter()
        .map(|(path, _)| String::from_utf8_lossy(path).into_owned())
        .collect();
    let mut error = Error::new(
        Code::WouldOverwrite,
        format!(
            "{} would overwrite what cannot be captured: {}{more}",
            goal.operation,
            shown.join(", ")
        ),
    )
    .detail("paths", paths)
    .detail(
        "raw_paths",
        refused
            .iter()
            .map(|(path, _)| stored_path(path))
            .collect::<Vec<_>>(),
    );
    for hint in goal.way_out {
        error = error.hint(*hint);
    }
    error
}

fn make_plan(
    ctx: &Context<'_>,
    store: &Store<'_>,
    goal: &Goal<'_>,
    capture: &Capture<'_>,
    forced: &BTreeSet<Vec<u8>>,
) -> Result<Plan> {
    match &goal.aim {
        Aim::Paths { paths, dirs, saved } => Ok(plan_of_paths(capture, paths, dirs, saved)),
        Aim::Tree {
            tree,
            extras,
            only,
            empty_dirs,
            made_before,
            keep,
        } => {
            let read = |oid| read_tree(store, capture, oid);
            let mut changes = tree::diff(&read, Some(capture.tree), Some(*tree))?;
            changes.retain(|change| !keep.iter().any(|kept| path::is_within(&change.path, kept)));
            let (globals, globs) = rules_parts(ctx)?;
            let rules = TreeRules::new(&store.objects, *tree, globals, globs);
            let left_out = |path: &[u8]| {
                let ours = made_before.contains(path)
                    || forced.contains(path) && !goal.forced.contains(path);
                Ok(!ours && rules.leaves_out(path))
            };
            let after_node = |path: &[u8]| tree::find(&read, *tree, path);
            let before = captured_extras(capture);
            let mut plan = plan(&Planning {
                changes: &changes,
                manifest: &capture.manifest,
                before: &before,
                after: extras,
                after_node: &after_node,
                left_out: &left_out,
                empty_dirs: *empty_dirs,
                only,
            })?;
            plan.entries
                .retain(|entry| !keep.iter().any(|kept| path::is_within(&entry.path, kept)));
            Ok(plan)
        }
    }
}

fn side_on_disk(manifest: &Manifest, path: &[u8]) -> Option<Side> {
    let file = manifest.file(path)?;
    let captured = matches!(file.kind, Kind::File | Kind::Symlink | Kind::FilteredClean);
    captured.then(|| Side {
        node: Node {
            mode: file.git_mode,
            oid: file.oid,
        },
        perm: if file.kind == Kind::Symlink {
            0
        } else {
            file.stamp.permissions()
        },
    })
}

fn plan_of_paths(
    capture: &Capture<'_>,
    paths: &[(Vec<u8>, Option<Side>)],
    dirs: &[(Vec<u8>, Option<u32>)],
    saved: &Extras,
) -> Plan {
    use crate::worktree::plan::DirChange;
    let manifest = &capture.manifest;
    let mut plan = Plan::default();
    for (path, after) in paths {
        let before = side_on_disk(manifest, path);
        if before != *after {
            plan.entries.push(PlanEntry {
                path: path.clone(),
                before,
                after: *after,
            });
        }
    }
    plan.entries.sort_by(|a, b| a.path.cmp(&b.path));
    let on_disk = |path: &[u8]| {
        let at = manifest.find_dir(path)?;
        Some(manifest.dirs[at].stamp.permissions())
    };
    let mut changes: std::collections::BTreeMap<Vec<u8>, DirChange> = Default::default();
    for (path, after) in dirs {
        let before = on_disk(path);
        // One that is there and stays is named, so that removing what is in it does not take it along.
        if before != *after || after.is_some() {
            changes.insert(
                path.clone(),
                DirChange {
                    path: path.clone(),
                    before,
                    after: *after,
                },
            );
        }
    }
    let goes: BTreeSet<&[u8]> = dirs
        .iter()
        .filter(|(_, after)| after.is_none())
        .map(|(path, _)| path.as_slice())
        .collect();
    for entry in plan.entries.iter().filter(|entry| entry.after.is_none()) {
        let mut parent = path::split(&entry.path).0;
        while goes.contains(parent) {
            parent = path::split(parent).0;
        }
        if !parent.is_empty() {
            plan.keep_dirs.insert(parent.to_vec());
        }
    }
    for entry in plan.entries.iter().filter(|entry| entry.after.is_some()) {
        let mut at = path::split(&entry.path).0;
        while !at.is_empty() {
            if on_disk(at).is_none() {
                changes.entry(at.to_vec()).or_insert_with(|| DirChange {
                    path: at.to_vec(),
                    before: None,
                    after: Some(saved.permissions(at, tree::DIR_MODE)),
                });
            }
            at = path::split(at).0;
        }
    }
    for (path, bits) in closed_parents(&plan.entries, &on_disk) {
        let filled = plan
            .entries
            .iter()
            .any(|entry| entry.after.is_some() && path::is_within(&entry.path, &path));
        changes.entry(path.clone()).or_insert(DirChange {
            path,
            before: Some(bits),
            after: filled.then_some(bits),
        });
    }
    plan.dirs = changes.into_values().collect();
    plan
}

/// Every object that will be written is readable and hashes to its name.
fn prove_objects(
    ctx: &Context<'_>,
    store: &Store<'_>,
    capture: &Capture<'_>,
    plan: &Plan,
) -> Result<()> {
    let wanted: BTreeSet<Oid> = plan
        .entries
        .iter()
        .filter(|entry| !entry.is_chmod())
        .filter_map(|entry| entry.after.map(|side| side.node.oid))
        .collect();
    let captured: BTreeSet<Oid> = if capture.writer.is_some() {
        // What this very capture stores is about to be in its pack.
        capture.manifest.files.iter().map(|file| file.oid).collect()
    } else {
        BTreeSet::new()
    };
    ctx.progress.begin("checking", Some(wanted.len() as u64));
    for oid in wanted {
        if !captured.contains(&oid) || store.objects.contains(oid) {
            store.objects.verify(oid)?;
        }
        ctx.progress.advance(1);
    }
    ctx.progress.end();
    Ok(())
}

fn check_room(ctx: &Context<'_>, store: &Store<'_>, plan: &Plan) -> Result<()> {
    let mut needed: u64 = 0;
    for entry in &plan.entries {
        if let Some(side) = entry.after
            && !entry.is_chmod()
            && let Some((_, size)) = store.objects.header(side.node.oid)?
        {
            needed += size + 4096;
        }
    }
    let stat = rustix::fs::statvfs(ctx.repo.worktree_root())
        .context(|| format!("cannot look at '{}'", ctx.repo.worktree_root().display()))?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if needed > free {
        return Err(Error::new(
            Code::NoSpace,
            format!(
                "{} needs {} MiB and {} MiB are free",
                "this swap",
                needed >> 20,
                free >> 20
            ),
        )
        .hint("make room and try again; nothing was changed"));
    }
    Ok(())
}

/// The directory `tw` was started in and its parents, relative to the root.
pub fn protected_dirs(ctx: &Context<'_>) -> Vec<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;
    let root = ctx.repo.worktree_root();
    let Ok(inside) = ctx.cwd.strip_prefix(root) else {
        return Vec::new();
    };
    inside
        .ancestors()
        .filter(|dir| !dir.as_os_str().is_empty())
        .map(|dir| dir.as_os_str().as_bytes().to_vec())
        .collect()
}

/// The directory `tw` was started in, or one above it, where the plan has a file: it is kept, so the file cannot be there.
fn start_in_the_way(ctx: &Context<'_>, plan: &Plan) -> Option<(Vec<u8>, &'static str)> {
    let protected = protected_dirs(ctx);
    let mut files = plan.entries.iter().filter(|entry| entry.after.is_some());
    let entry = files.find(|entry| protected.contains(&entry.path))?;
    Some((entry.path.clone(), "the current directory"))
}

/// What the backup's manifest says of a path.
pub fn expected_in(manifest: &Manifest, path: &[u8]) -> Expected {
    match manifest.file(path) {
        Some(file) if matches!(file.kind, Kind::File | Kind::Symlink) => Expected::Known {
            stamp: file.stamp,
            racy: file.flags & RACY != 0,
            oid: file.oid,
        },
        _ => Expected::Absent,
    }
}

fn stored_side(side: Side) -> StoredSide {
    StoredSide {
        mode: format!("{:06o}", side.node.mode),
        oid: side.node.oid.to_string(),
        perm: octal(side.perm),
    }
}

/// Journal entries of a plan.
pub fn journal_entries(plan: &Plan) -> Vec<JournalEntry> {
    plan.entries
        .iter()
        .map(|entry| JournalEntry {
            path: stored_path(&entry.path),
            before: entry.before.map(stored_side),
            after: entry.after.map(stored_side),
        })
        .collect()
}

fn journal_dirs(plan: &Plan) -> Vec<JournalDir> {
    plan.dirs
        .iter()
        .map(|dir| JournalDir {
            path: stored_path(&dir.path),
            before: dir.before.map(octal),
            after: dir.after.map(octal),
        })
        .collect()
}

/// Asks for the state after the swap, given the saved side.
pub type StateAfter<'a> = &'a dyn Fn(&State, &Made<'_>, &str) -> State;

/// Asks for the proof, given what was done.
pub type Prove<'a> = &'a dyn Fn(&Capture<'_>, &Applied, &Plan) -> Result<super::prove::Proof>;

/// Carries the swap out.
///
/// # Errors
/// After any, the working tree is as it was (rolled back), but for `INTERRUPTED` and `VERIFY_FAILED`, where the journal stays.
pub fn swap<'s>(
    ctx: &Context<'_>,
    store: &'s Store<'_>,
    goal: &Goal<'_>,
    state_after: StateAfter<'_>,
    prove: Option<Prove<'_>>,
) -> Result<Swapped<'s>> {
    store.dir.create()?;
    remove_dead_locks(ctx.repo.git_dir())?;
    for _ in 0..TRIES {
        let swap_id = format!("{}-{}", goal.operation, Tail::random()?.as_str());
        let looked = look(ctx, store, goal, &Storing::Durable(swap_id.clone()))?;
        fail_point("swap-looked");
        let guard = crate::interrupt::defer();
        let owner = Owner::this_process(&swap_id);
        let locks = GitLocks::acquire(ctx.repo.git_dir(), &owner, ctx.settings.lock_timeout)?;
        fail_point("swap-locked");
        let moved = index_stamp(ctx) != looked.capture.index_stamp
            || ctx.repo.raw_head()? != looked.raw_head;
        if moved {
            locks.release()?;
            continue;
        }
        let running = Running {
            ctx,
            store,
            goal,
            swap_id,
        };
        let result = running.carry_out(looked, state_after, prove);
        let released = locks.release();
        drop(guard);
        match result {
            Ok(Some(swapped)) => return released.map(|()| swapped),
            Ok(None) => released?,
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(Code::Busy, "index and HEAD keep changing")
        .hint("wait for the git command that runs here"))
}

struct Running<'a, 'g, 's, 'r> {
    ctx: &'a Context<'a>,
    store: &'s Store<'r>,
    goal: &'a Goal<'g>,
    swap_id: String,
}

impl<'s> Running<'_, '_, 's, '_> {
    /// From the backup to the end. `None`: a gc came in between, look again.
    fn carry_out(
        &self,
        looked: Looked<'s>,
        state_after: StateAfter<'_>,
        prove: Option<Prove<'_>>,
    ) -> Result<Option<Swapped<'s>>> {
        let Looked {
            capture,
            plan,
            raw_head,
        } = looked;
        let Some(mut saved) = self.save(capture, &plan)? else {
            return Ok(None);
        };
        fail_point("swap-backup");
        let before = self.store.dir.state()?;
        let after = state_after(&before, &saved, &self.swap_id);
        let mut journal = self.journal(&saved, &plan, &raw_head, before, after);
        if !self.link_index()? {
            journal.extra.insert(NO_INDEX.into(), true.into());
        }
        fail_point("swap-linked");
        self.store.dir.write_journal(&journal)?;
        fail_point("swap-journal");
        let kept = saved.kept.take();
        let result = self.apply_all(&mut journal, &mut saved, &plan, prove);
        let (applied, proof) = match result {
            Ok(done) => done,
            Err(error) if error.code() == Code::VerifyFailed => {
                journal.extra.insert("verify_failed".into(), true.into());
                self.store.dir.write_journal(&journal)?;
                return Err(error);
            }
            Err(error) => {
                let back = super::recover::roll_back(self.ctx, self.store, &journal);
                return Err(match back {
                    Ok(_) => {
                        if let Some(kept) = kept {
                            kept.release()?;
                        }
                        error.hint("everything is as it was")
                    }
                    Err(second) => Error::new(
                        Code::Interrupted,
                        format!(
                            "{} stopped half-way and could not be undone: {error}; {second}",
                            self.goal.operation
                        ),
                    )
                    .hint("run 'tw recover'"),
                });
            }
        };
        self.store.dir.write_state(&journal.state_after)?;
        fail_point("swap-state");
        finish(self.store, &journal)?;
        if let Some(kept) = kept {
            kept.release()?;
        }
        Ok(Some(Swapped {
            swap_id: self.swap_id.clone(),
            saved,
            plan,
            applied,
            proof,
            state: journal.state_after,
        }))
    }

    fn save(&self, capture: Capture<'s>, plan: &Plan) -> Result<Option<Made<'s>>> {
        let about = About {
            title: self.goal.title.clone(),
            trigger: self.goal.operation.to_owned(),
            converted: super::newindex::converted_paths(self.ctx, &capture),
            extra: self.goal.extra.clone(),
            ..About::default()
        };
        let wanted = Wanted {
            storing: Storing::Durable(self.swap_id.clone()),
            ..Wanted::default()
        };
        let _ = plan;
        record(
            self.ctx,
            self.store,
            self.goal.saves_as,
            &wanted,
            capture,
            about,
        )
    }

    fn swaps_index(&self) -> bool {
        !matches!(self.goal.index, IndexGoal::Stay)
    }

    fn journal(
        &self,
        saved: &Made<'_>,
        plan: &Plan,
        raw_head: &str,
        before: State,
        after: State,
    ) -> Journal {
        let owner = Owner::this_process(&self.swap_id);
        let is_experiment = self.goal.saves_as == IdKind::Experiment;
        let mut journal = Journal {
            version: 1,
            swap_id: self.swap_id.clone(),
            operation: self.goal.operation.to_owned(),
            reverses: self.goal.reverses.clone(),
            started_at: self.ctx.env.now().rfc3339(),
            pid: owner.pid,
            process_start: owner.start,
            backup_id: saved.id.to_string(),
            backup_commit: saved.commit.to_string(),
            target_id: self.goal.target.map(|stored| stored.id.to_string()),
            target_commit: self.goal.target.map(|stored| stored.commit.to_string()),
            experiment_id: is_experiment.then(|| saved.id.to_string()),
            entries: journal_entries(plan),
            dirs: journal_dirs(plan),
            head: match &self.goal.head {
                HeadGoal::Stay => None,
                HeadGoal::Raw(text) => Some((raw_head.to_owned(), text.clone())),
            },
            swaps_index: self.swaps_index(),
            swaps_operation: matches!(self.goal.operation_files, OperationGoal::Set(_)),
            state_before: before,
            state_after: after,
            head_left: String::new(),
            extra: serde_json::Map::new(),
        };
        let (log, pops) = match &self.goal.logging {
            Logging::NewLevel => ("new", None),
            Logging::Undo(level) => ("undo", Some(level.clone())),
            Logging::Redo(level) => ("redo", Some(level.clone())),
        };
        journal.extra.insert("log".into(), log.into());
        if let Some(level) = pops {
            journal.extra.insert("pops".into(), level.into());
        }
        journal
    }

    /// Keeps the present index file by a second name: git replaces an index, it never writes into one. False: there is none.
    fn link_index(&self) -> Result<bool> {
        let before = self.store.dir.file("index.before");
        remove_optional(&before)?;
        remove_optional(&self.store.dir.file("index.after"))?;
        if !self.swaps_index() {
            return Ok(true);
        }
        match std::fs::hard_link(self.ctx.repo.index_path(), &before) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).context(|| format!("cannot link '{}'", before.display())),
        }
    }

    fn apply_all(
        &self,
        journal: &mut Journal,
        saved: &mut Made<'s>,
        plan: &Plan,
        prove: Option<Prove<'_>>,
    ) -> Result<(Applied, Option<super::prove::Proof>)> {
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let manifest = &saved.capture.manifest;
        let expected = |path: &[u8]| expected_in(manifest, path);
        let copy = |oid, out: &mut dyn std::io::Write| self.store.objects.copy_blob(oid, out);
        let mut late = Late::new(self.store, journal, saved.commit);
        let applied = Apply {
            root: &root,
            tag: &self.swap_id,
            copy_blob: &copy,
            expected: &expected,
            securing: &mut late,
            protected: &protected_dirs(self.ctx),
            progress: self.ctx.progress,
        }
        .run(plan)?;
        let commit = late.commit();
        saved.commit = commit;
        fail_point("swap-applied");
        self.put_index(&saved.capture, &applied, plan)?;
        fail_point("swap-index");
        self.put_head(journal)?;
        fail_point("swap-head");
        if let OperationGoal::Set(state) = &self.goal.operation_files {
            operation::restore(&self.ctx.repo, state)?;
        }
        fail_point("swap-operation");
        let proof = match prove {
            Some(prove) => Some(prove(&saved.capture, &applied, plan)?),
            None => None,
        };
        fail_point("swap-proved");
        Ok((applied, proof))
    }

    fn put_index(&self, capture: &Capture<'_>, applied: &Applied, plan: &Plan) -> Result<()> {
        if !self.swaps_index() {
            return Ok(());
        }
        let index = new_index(
            self.ctx,
            self.store,
            capture,
            &self.goal.index,
            applied,
            plan,
        )?;
        install_index(self.ctx, self.store, &index.write_bytes())
    }

    fn put_head(&self, journal: &mut Journal) -> Result<()> {
        if let Some((before, after)) = &journal.head {
            let old = self.ctx.repo.head()?.oid;
            self.ctx.repo.write_raw_head(after)?;
            let new = self.ctx.repo.head()?.oid;
            if before != after {
                let target = journal.target_id.as_deref().unwrap_or(&journal.backup_id);
                let message = format!("tw {}: {target}", journal.operation);
                self.ctx
                    .repo
                    .append_head_reflog(old, new, self.ctx.env.now(), &message)?;
            }
        }
        journal.head_left = super::undo::head_mark(self.ctx)?;
        Ok(())
    }
}

/// Writes the index beside itself and renames it in. The caller holds `index.lock`.
pub fn install_index(ctx: &Context<'_>, store: &Store<'_>, bytes: &[u8]) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let index = ctx.repo.index_path();
    let after = store.dir.file("index.after");
    let mode = index.metadata().map_or(0o644, |meta| meta.mode() & 0o777);
    write_atomic_with_mode(&after, bytes, crate::git::fs::Durable::Yes, mode)?;
    rename_into(&after, &index)
}

/// Renames, and syncs the directory.
pub fn rename_into(from: &Path, to: &Path) -> Result<()> {
    let what = || format!("cannot replace '{}'", to.display());
    std::fs::rename(from, to).context(what)?;
    crate::git::fs::sync_parent(to).context(what)
}

/// After the commit point: the journal becomes a level of the log, what was kept for going back goes. Can be run again.
pub fn finish(store: &Store<'_>, journal: &Journal) -> Result<()> {
    remove_optional(&store.dir.file("index.before"))?;
    remove_optional(&store.dir.file("index.after"))?;
    super::undo::log_level(store, journal)?;
    fail_point("swap-logged");
    store.dir.remove_journal()
}

/// Stamps by path, for the proof.
pub fn stamp_of_path(applied: &Applied, path: &[u8]) -> Option<Stamp> {
    let at = applied
        .stamps
        .binary_search_by(|(known, _)| known.as_slice().cmp(path))
        .ok()?;
    Some(applied.stamps[at].1)
}
