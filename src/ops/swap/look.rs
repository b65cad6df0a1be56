//! The look before a swap: capture, plan, refusals, proofs, room on disk. Nothing is written.

use super::super::Context;
use super::super::capture::{Capture, CaptureOptions, Prove, Storing, capture, rule_parts};
use super::blobs::Blobs;
use super::copied;
use super::obstacles::{GIT_DIRECTORY, Obstacles, find_obstacles};
use super::treerules::TreeRules;
use super::{Aim, Goal, HeadGoal, Looked, TRIES, captured_extras, protected_dirs, read_tree};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::access::may_change;
use crate::git::access_list::AccessList;
use crate::git::fs::Root;
use crate::git::own::OwnDirs;
use crate::git::tree::Node;
use crate::git::{Oid, path, tree};
use crate::store::Store;
use crate::store::state::stored_path;
use crate::store::stored::Stored;
use crate::worktree::globs::Globs;
use crate::worktree::manifest::{FileFlags, Kind, Manifest};
use crate::worktree::plan::{Extras, Plan, PlanEntry, Planning, Side, closed_parents, plan};
use std::collections::BTreeSet;

/// The globals and globs that rules need.
pub(super) fn rules_parts(
    ctx: &Context<'_>,
) -> Result<(
    std::sync::Arc<crate::worktree::ignore::Globals>,
    std::sync::Arc<Globs>,
)> {
    rule_parts(ctx, &[], &[]).map(|(globals, globs, _)| (globals, globs))
}

/// Scans and plans until nothing uncaptured is in the way. Writes nothing but unreferenced temporary files.
///
/// # Errors
/// `WOULD_OVERWRITE` with the paths, `CORRUPT_RECORD` when something that would be written is missing or damaged, `NO_SPACE`.
pub fn look<'s>(
    ctx: &Context<'_>,
    store: &'s Store,
    goal: &Goal<'_>,
    storing: &Storing,
) -> Result<Looked<'s>> {
    copied::check(ctx, store)?;
    let mut forced = goal.forced.clone();
    let mut other_rules = None;
    let own = OwnDirs::of(&ctx.repo, &store.objects);
    let mut prove = prove_first(goal, storing);
    let others = Others::of(store, goal)?;
    for _ in 0..TRIES {
        let raw_head = ctx.repo.raw_head()?;
        let wanted = CaptureOptions {
            storing: storing.clone(),
            forced: forced.clone(),
            other_rules,
            whole_index: true,
            before_hashing: goal.before_hashing,
            prove: prove.clone(),
            ..CaptureOptions::default()
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
        let plan = make_plan(ctx, store, goal, &capture, &forced, &others.hiding)?;
        let seeds = unproven_paths(&capture.manifest, &plan);
        if !seeds.is_empty() {
            // Only where not all are proven anyway.
            prove = Prove::Paths(seeds);
            continue;
        }
        let root = Root::open(ctx.repo.worktree_root())?;
        let Obstacles {
            to_force,
            mut refused,
        } = find_obstacles(&root, &own, &others.shared, &capture, &plan)?;
        refused.extend(start_in_the_way(ctx, &plan));
        if !refused.is_empty() {
            return Err(would_overwrite(goal, &refused));
        }
        if to_force.is_empty() {
            let blobs = prove_objects(ctx, store, goal, &capture, &plan)?;
            check_room(ctx, &plan, &blobs)?;
            return Ok(Looked {
                capture,
                plan,
                blobs,
                raw_head,
            });
        }
        forced.extend(to_force);
    }
    Err(Error::new(Code::Busy, "files keep appearing in the way")
        .hint("stop what writes here and try again"))
}

/// What is proven before there is a plan. What is saved of a whole state is what that state is put back from later, also at paths
/// that this swap leaves alone and somebody changes in between. What a dry run finds is kept nowhere.
fn prove_first(goal: &Goal<'_>, storing: &Storing) -> Prove {
    let whole = matches!(&goal.aim, Aim::Tree { only, .. } if only.is_empty())
        || matches!(goal.head, HeadGoal::Raw(_));
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

pub(super) fn would_overwrite(goal: &Goal<'_>, refused: &[(Vec<u8>, &'static str)]) -> Error {
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
    let git_s = refused.iter().find(|(_, why)| *why == GIT_DIRECTORY);
    if let Some((path, _)) = git_s {
        return error.detail("git_directory", stored_path(path)).hint(format!(
            "'{}' belongs to git itself and stays: {}",
            path::display(path),
            if goal.operation == "return" {
                "name it to 'tw return --keep PATH'"
            } else {
                "take the snapshot elsewhere with 'tw open', or name other paths to 'tw restore SNAPSHOT PATH...'"
            }
        ));
    }
    for hint in goal.way_out {
        error = error.hint(*hint);
    }
    error
}

pub(super) fn make_plan(
    ctx: &Context<'_>,
    store: &Store,
    goal: &Goal<'_>,
    capture: &Capture<'_>,
    forced: &BTreeSet<Vec<u8>>,
    hiding: &BTreeSet<Vec<u8>>,
) -> Result<Plan> {
    match &goal.aim {
        Aim::Paths { paths, dirs, saved } => {
            let now = capture.access(ctx)?;
            Ok(plan_of_paths(capture, now, paths, dirs, saved))
        }
        Aim::Found { find, saved, .. } => {
            let found = find(capture)?;
            let now = capture.access(ctx)?;
            Ok(plan_of_paths(
                capture,
                now,
                &found.paths,
                &found.dirs,
                saved,
            ))
        }
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
            let hides = |path: &[u8]| {
                rules.leaves_out(path) || hiding.iter().any(|dir| path::is_within(path, dir))
            };
            let left_out = |path: &[u8]| {
                let ours = made_before.contains(path)
                    || forced.contains(path) && !goal.forced.contains(path);
                Ok(!ours && hides(path) && !tracks(store, goal.target, path)?)
            };
            let after_node = |path: &[u8]| tree::find(&read, *tree, path);
            let leaves_dir_out =
                |dir: &[u8]| !made_before.contains(dir) && rules.leaves_dir_out(dir);
            let leaves = |oid| {
                let leaves = tree::flatten(&read, oid)?.into_iter();
                Ok(leaves.map(|(path, _)| path).collect())
            };
            let before = captured_extras(ctx, capture)?;
            let mut plan = plan(&Planning {
                changes: &changes,
                manifest: &capture.manifest,
                before: &before,
                after: extras,
                after_node: &after_node,
                leaves: &leaves,
                left_out: &left_out,
                leaves_dir_out: &leaves_dir_out,
                empty_dirs: *empty_dirs,
                only,
                may_change,
            })?;
            plan.entries
                .retain(|entry| !keep.iter().any(|kept| path::is_within(&entry.path, kept)));
            Ok(plan)
        }
    }
}

/// Other repositories in the working tree, as the sides that a swap takes files from have them.
#[derive(Default)]
struct Others {
    /// The target's nested repositories, which hide what the target does not track.
    hiding: BTreeSet<Vec<u8>>,
    /// The nested repositories of any side. Those with files of the side in them are written into again, and so are directories with a
    /// `.git` that made no repository of them: files beside it were captured, and come back also where it makes one now.
    shared: BTreeSet<Vec<u8>>,
}

impl Others {
    fn of(store: &Store, goal: &Goal<'_>) -> Result<Self> {
        let mut others = Self::default();
        let target = goal.target.into_iter().map(|side| (side, true));
        let sides = target.chain(goal.also_from.iter().map(|side| (side, false)));
        for (side, is_target) in sides {
            for (path, entry) in store.lists(side)?.uncaptured {
                if entry.reason == "nested-repository" {
                    if is_target {
                        others.hiding.insert(path.clone());
                    }
                    others.shared.insert(path);
                } else if let Some(dir) = path.strip_suffix(b"/.git") {
                    others.shared.insert(dir.to_vec());
                }
            }
        }
        Ok(others)
    }
}

/// Whether git tracked the path on the side that a swap leads to: no ignore rule leaves such a path out, so that it was
/// deleted there when the side has it not.
fn tracks(store: &Store, target: Option<&Stored>, path: &[u8]) -> Result<bool> {
    let Some(stored) = target else {
        return Ok(false);
    };
    let read = |oid| store.objects.read_tree(oid);
    let sides = [Some(stored.index_commit), stored.head];
    for commit in sides.into_iter().flatten() {
        let found = tree::find(&read, store.commit(commit)?.tree, path)?;
        if found.is_some_and(|node| !node.is_dir()) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn side_on_disk(manifest: &Manifest, path: &[u8]) -> Option<Side> {
    let file = manifest.file(path)?;
    file.kind.is_on_disk().then(|| Side {
        node: Node {
            mode: file.git_mode,
            oid: file.oid.get(),
        },
        perm: if file.kind == Kind::Symlink {
            0
        } else {
            file.stamp.permissions()
        },
    })
}

pub(super) fn plan_of_paths(
    capture: &Capture<'_>,
    now: &AccessList,
    paths: &[(Vec<u8>, Option<Side>)],
    dirs: &[(Vec<u8>, Option<u32>)],
    saved: &Extras,
) -> Plan {
    use crate::worktree::plan::DirChange;
    let manifest = &capture.manifest;
    let mut plan = Plan::default();
    for (path, after) in paths {
        let before = side_on_disk(manifest, path);
        let same = before == *after;
        if !same || before.is_some() && gets_other_access(now, &saved.access, path) {
            plan.entries.push(PlanEntry {
                path: path.clone(),
                before,
                after: *after,
            });
        }
    }
    let on_disk = |path: &[u8]| match manifest.find_dir(path) {
        Some(at) => Some(manifest.dirs[at].stamp.permissions()),
        // A submodule's directory is one, too.
        None => manifest
            .file(path)
            .filter(|file| file.kind == Kind::Gitlink)
            .map(|file| file.stamp.permissions()),
    };
    let giving_way: BTreeSet<&[u8]> = paths
        .iter()
        .filter(|(path, after)| after.is_some() && on_disk(path).is_some())
        .map(|(path, _)| path.as_slice())
        .collect();
    let gives_way = |path: &[u8]| giving_way.iter().any(|place| path::is_within(path, place));
    let mut changes: std::collections::BTreeMap<Vec<u8>, DirChange> = Default::default();
    if !giving_way.is_empty() {
        add_what_gives_way(&mut plan, manifest, &gives_way);
        let dirs = manifest.dirs.iter();
        let dirs = dirs.map(|dir| manifest.dir_path(dir).to_vec());
        let gitlinks = manifest.entries();
        let gitlinks = gitlinks.filter(|(_, file)| file.kind == Kind::Gitlink);
        let gitlinks = gitlinks.map(|(dir, file)| manifest.path_of(dir, &file));
        for path in dirs.chain(gitlinks).filter(|path| gives_way(path)) {
            let change = DirChange {
                before: on_disk(&path),
                after: None,
                path,
            };
            changes.insert(change.path.clone(), change);
        }
    }
    plan.entries.sort_by(|a, b| a.path.cmp(&b.path));
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
        if !parent.is_empty() && !gives_way(parent) {
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

/// Whether a path is to have another access than it has now, and this process may give it that.
fn gets_other_access(now: &AccessList, wanted: &AccessList, path: &[u8]) -> bool {
    wanted.differs(now, path) && now.of(path).is_some_and(|now| may_change(now.uid))
}

/// What was made since beneath a path that becomes a file again: it is in the backup, and goes.
fn add_what_gives_way(plan: &mut Plan, manifest: &Manifest, gives_way: &dyn Fn(&[u8]) -> bool) {
    let known: BTreeSet<Vec<u8>> = plan
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
            plan.entries.push(PlanEntry {
                path,
                before: Some(before),
                after: None,
            });
        }
    }
}

/// Every object that will be written is readable and hashes to its name, but for what this very capture is about to store.
pub(super) fn prove_objects(
    ctx: &Context<'_>,
    store: &Store,
    goal: &Goal<'_>,
    capture: &Capture<'_>,
    plan: &Plan,
) -> Result<Blobs> {
    let wanted: BTreeSet<Oid> = plan
        .entries
        .iter()
        .filter(|entry| !entry.is_chmod())
        .filter_map(|entry| entry.after.map(|side| side.node.oid))
        .collect();
    let mut captured: BTreeSet<Oid> = match &goal.aim {
        Aim::Found { unwritten, .. } => unwritten.borrow().clone(),
        _ => BTreeSet::new(),
    };
    if capture.writer.is_some() || matches!(goal.aim, Aim::Found { .. }) {
        // What this very capture stores is about to be in its pack: none of it is as the cache had it.
        let files = capture.manifest.files_in_memory();
        let oids = files.map(|(_, _, file)| file.oid.get());
        captured.extend(oids.filter(|oid| wanted.contains(oid)));
    }
    let stored: Vec<Oid> = wanted
        .into_iter()
        .filter(|oid| !captured.contains(oid) || store.objects.contains(*oid))
        .collect();
    ctx.progress.begin("checking", Some(stored.len() as u64));
    let blobs = Blobs::prove(&store.objects, &stored, ctx.progress).map_err(|error| {
        let cannot_be_read = |side: Side| store.objects.verify(side.node.oid).is_err();
        let mut entries = plan.entries.iter();
        match entries.find(|entry| !entry.is_chmod() && entry.after.is_some_and(cannot_be_read)) {
            Some(entry) => error.while_doing(format!(
                "the bytes of '{}' are not here",
                path::display(&entry.path)
            )),
            None => error,
        }
    })?;
    ctx.progress.end();
    Ok(blobs)
}

pub(super) fn check_room(ctx: &Context<'_>, plan: &Plan, blobs: &Blobs) -> Result<()> {
    let mut needed: u64 = 0;
    for entry in &plan.entries {
        if let Some(side) = entry.after
            && !entry.is_chmod()
            && let Some(size) = blobs.size(side.node.oid)
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

/// The directory `tw` was started in, or one above it, where the plan has a file: it is kept, so the file cannot be there.
pub(super) fn start_in_the_way(ctx: &Context<'_>, plan: &Plan) -> Option<(Vec<u8>, &'static str)> {
    let protected = protected_dirs(ctx);
    let mut files = plan.entries.iter().filter(|entry| entry.after.is_some());
    let entry = files.find(|entry| protected.contains(&entry.path))?;
    Some((entry.path.clone(), "the current directory"))
}
