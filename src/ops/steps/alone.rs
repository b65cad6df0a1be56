//! One swap taken back although others came after it: what it changed is merged out of what is there now. What was changed since in
//! other places stays; where the same lines were changed, nothing is done.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::access::AccessLeft;
use super::{Step, Undone};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::access::Access;
use crate::git::fs::Root;
use crate::git::objects::ObjectKind;
use crate::git::path;
use crate::git::textmerge::Labels;
use crate::git::tree::{self, LINK_MODE, Lookup, Node};
use crate::ops::capture::{Capture, Storing};
use crate::ops::merge::{Conflict, Merged};
use crate::ops::record::Made;
use crate::ops::request::DryRun;
use crate::ops::swap::extras::stored_extras;
use crate::ops::swap::found::{FoundDirs, add_found};
use crate::ops::swap::goal::{Aim, GitGoal, Goal, PathChanges};
use crate::ops::swap::journal::{SwapSide, path_of, permissions_of, side_of};
use crate::ops::swap::notices::narrowed_notice;
use crate::ops::swap::pathindex::{self, EntryChanges, PathEntries};
use crate::ops::swap::taken_back;
use crate::ops::swap::{changes, prepare, read_tree, swap, undo_log};
use crate::ops::three_way::{Sides, ThreeWay, bits_after, bits_here};
use crate::store::state::State;
use crate::store::stored::Stored;
use crate::worktree::plan::{Extras, Plan, Side};

/// The paths of a level, before and after its swap.
pub(super) type BothSides = BTreeMap<Vec<u8>, [Option<Side>; 2]>;

/// What is needed at every look at what is there.
struct TakingBack<'a> {
    step: &'a Step<'a>,
    saved: Stored,
    /// Before the swap.
    extras: Extras,
    /// As the swap left it, as far as directories go.
    left_extras: Extras,
    paths: BothSides,
    left: AccessLeft,
    merging: ThreeWay<'a, 'a>,
    entries: RefCell<EntryChanges>,
    held_back: RefCell<HeldBack>,
}

/// Paths of which the index entries stay as they are.
#[derive(Debug, Default)]
struct HeldBack {
    paths: BTreeSet<Vec<u8>>,
    /// Since the recorded entries go with the HEAD of that time; else since something was staged there.
    head_moved: bool,
}

impl Step<'_> {
    /// Takes back this swap alone.
    ///
    /// # Errors
    /// `USAGE` for one that went to another time, or was made in another; `CONFLICT` with the paths where later changes touch the
    /// same lines, or where all that it did was to the index, which has to stay. Nothing is changed then, and the level stays.
    pub(super) fn take_back_alone(&self) -> Result<Undone> {
        self.refuse_other_times()?;
        let saved = self.saved("the undo log names no backup")?;
        let extras = stored_extras(self.store, &saved)?;
        let left = AccessLeft::of(&self.level)?;
        let taking = TakingBack {
            left_extras: self.left_extras(&extras, &left)?,
            extras,
            paths: self.both_sides()?,
            left,
            merging: ThreeWay::new(self.ctx, self.store)?,
            entries: RefCell::default(),
            held_back: RefCell::default(),
            step: self,
            saved,
        };
        taking.run()
    }

    fn refuse_other_times(&self) -> Result<()> {
        let now = self.store.dir.state()?;
        let (before, after) = (&self.level.state_before, &self.level.state_after);
        let stays = before.mode == after.mode && !self.is_hop();
        let is_now = after.mode == now.mode
            && after.entered_at == now.entered_at
            && after.current_snapshot_id == now.current_snapshot_id;
        if stays && is_now {
            return Ok(());
        }
        let log = self.reversal.log;
        let message = if stays {
            format!(
                "swap {} was made in another time than this",
                self.view.level
            )
        } else {
            format!(
                "swap {} is a {}, which is taken back only after what came later",
                self.view.level, self.view.operation
            )
        };
        Err(Error::new(Code::Usage, message)
            .hint(format!("'tw {log}' takes back the last one, each time"))
            .hint(format!("'tw {log} --list' shows them")))
    }

    fn left_extras(&self, before: &Extras, left: &AccessLeft) -> Result<Extras> {
        let mut extras = before.clone();
        for dir in &self.level.dirs {
            let path = path_of(&dir.path)?;
            match permissions_of(dir.after.as_deref())? {
                Some(bits) => extras.modes.insert(path, bits),
                None => extras.modes.remove(&path),
            };
        }
        extras.access.paths.extend(left.paths().clone());
        Ok(extras)
    }

    fn both_sides(&self) -> Result<BothSides> {
        let sides = self.level.entries.iter().map(|entry| {
            let sides = [
                side_of(entry.before.as_ref())?,
                side_of(entry.after.as_ref())?,
            ];
            Ok((path_of(&entry.path)?, sides))
        });
        sides.collect()
    }
}

impl TakingBack<'_> {
    fn run(&self) -> Result<Undone> {
        let step = self.step;
        let compute = |capture: &Capture<'_>| self.changes(capture);
        let aim = Aim::Computed {
            compute: &compute,
            // Ignored by now, maybe: the merge has to see them, and the backup to have them.
            forced: self.paths.keys().cloned().collect(),
            saved: &self.extras,
            unwritten: self.merging.unwritten(),
        };
        let log = step.reversal.log;
        let title = format!("before {log} of {}", step.reversal.kind);
        let taken_back = RefCell::new(taken_back::read(&step.level));
        let goal = Goal::new(log.into(), title, aim)
            .git(GitGoal::Entries(&self.entries))
            .taking_back(&taken_back)
            .reversing(Some(step.reversal.clone()));
        // A look without writing first: where there is a conflict, nothing is merged for good.
        let prepared = prepare(step.ctx, step.store, &goal, &Storing::No)?;
        self.refuse_to_do_nothing(&prepared.plan)?;
        if step.dry_run == DryRun::Yes {
            let mut answer = step.would(changes(&prepared.plan));
            answer.notices.extend(narrowed_notice(&prepared.plan));
            return Ok(answer);
        }
        drop(prepared);
        self.merging.write();
        let state_after = |before: &State, _: &Made<'_>| before.clone();
        let swapped = swap(step.ctx, step.store, &goal, &state_after);
        // Before the swap's own error is given: what the merge kept is not needed after a failure, either.
        self.merging.release()?;
        let HeldBack { paths, head_moved } = self.held_back.take();
        let stays = head_moved.then(|| {
            format!(
                "the index stayed as it is: {}",
                path::listed(paths.iter(), 5)
            )
        });
        let swapped = swapped?;
        let mut answer = step.answer(&swapped, Vec::new(), stays.as_deref());
        answer.notices.extend(narrowed_notice(&swapped.plan));
        answer
            .notices
            .extend((!head_moved && !paths.is_empty()).then(|| {
                format!(
                    "staged since, and left as it is: {}",
                    path::listed(paths.iter(), 5)
                )
            }));
        Ok(answer)
    }

    /// Refuses where all that is left to take back is what stays: it would count as taken back.
    fn refuse_to_do_nothing(&self, plan: &Plan) -> Result<()> {
        let held_back = self.held_back.borrow();
        let is_needless = held_back.paths.is_empty();
        if is_needless || !plan.is_empty() || !self.entries.borrow().is_empty() {
            return Ok(());
        }
        let (level, paths) = (
            self.step.view.level,
            path::listed(held_back.paths.iter(), 5),
        );
        let message = if held_back.head_moved {
            format!("HEAD has moved since swap {level}, so the index has to stay as it is: {paths}")
        } else {
            format!("what came after swap {level} was staged in the same place: {paths}")
        };
        let paths: Vec<&[u8]> = held_back.paths.iter().map(Vec::as_slice).collect();
        let backup = &self.step.view.backup_id;
        Err(Error::new(Code::Conflict, message)
            .hint(format!(
                "take single entries from before it: tw restore --staged {backup} PATH"
            ))
            .paths("paths", &paths))
    }

    /// What the paths become, given what is there.
    fn changes(&self, capture: &Capture<'_>) -> Result<PathChanges> {
        let (merged, found) = self.merge(capture)?;
        if !merged.conflicts.is_empty() || !merged.blocked.is_empty() {
            return Err(self.conflict(&merged));
        }
        self.entries.replace(self.index_entries(capture)?.into());
        let (seen, before) = ((self.step.ctx, capture), &self.extras.access);
        let access = self.left.taken_back(seen, before, (&self.paths, &merged))?;
        Ok(PathChanges {
            paths: self.sides(capture, &merged, &access),
            dirs: self.dirs()?,
            found,
            renamed: merged.renamed,
            access,
        })
    }

    fn merge(&self, capture: &Capture<'_>) -> Result<(Merged, FoundDirs)> {
        let store = self.step.store;
        let node = |side: &Option<Side>| side.map(|side| side.node);
        let edits: Vec<(Vec<u8>, Option<Node>)> = self
            .paths
            .iter()
            .map(|(path, [_, after])| (path.clone(), node(after)))
            .collect();
        // The trees that the swap made of what was there were never stored whole.
        let mut made: BTreeMap<Oid, Vec<u8>> = BTreeMap::new();
        let mut put = |bytes: &[u8]| {
            let oid = store.objects.hash(ObjectKind::Tree, bytes)?;
            made.insert(oid, bytes.to_vec());
            Ok(oid)
        };
        let base = tree::edit(&store.objects, &mut put, Some(self.saved.tree), &edits)?;
        let read = |oid: Oid| match made.get(&oid) {
            Some(bytes) => Ok(bytes.clone()),
            None => read_tree(store, capture, oid),
        };
        let sides = Sides {
            base,
            ours: capture.tree,
            theirs: self.saved.tree,
            labels: Labels {
                base: &self.step.view.swap_id,
                ours: "now",
                theirs: &self.step.view.backup_id,
            },
        };
        let merged = self.merging.merge(&read, &sides)?;
        let both = (
            Some((base, &self.left_extras)),
            (self.saved.tree, &self.extras),
        );
        let (read, mut found) = (Lookup::new(&read), FoundDirs::new());
        for from in merged.renamed.values() {
            add_found(&read, both, from, &mut found)?;
        }
        Ok((merged, found))
    }

    /// What becomes of each path: permission bits are those of before the swap, unless somebody changed them since. `access`: those that
    /// get another.
    fn sides(
        &self,
        capture: &Capture<'_>,
        merged: &Merged,
        access: &BTreeMap<Vec<u8>, Access>,
    ) -> Vec<(Vec<u8>, Option<Side>)> {
        let mut sides = Vec::new();
        for (path, node) in &merged.paths {
            let from = merged.renamed.get(path).unwrap_or(path);
            let side = node.map(|node| self.side(capture, (path, from), node));
            sides.push((path.clone(), side));
        }
        for (path, [before, after]) in &self.paths {
            let (Some(before), Some(after), Some(here)) =
                (before, after, capture.manifest.file(path))
            else {
                continue;
            };
            if !here.kind.is_on_disk() || merged.paths.contains_key(path) {
                continue;
            }
            let node = Node {
                mode: here.git_mode,
                oid: here.oid,
            };
            let now = if node.mode == LINK_MODE {
                0
            } else {
                here.stamp.permissions()
            };
            let bits_alone = before.node == after.node && before.perm != after.perm;
            let untouched = now == after.perm && node.mode == after.node.mode;
            let perm = if bits_alone && untouched {
                before.perm
            } else {
                now
            };
            if perm != now || access.contains_key(path) {
                sides.push((path.clone(), Some(Side { node, perm })));
            }
        }
        sides
    }

    /// `from`: the name that the file has now.
    fn side(&self, capture: &Capture<'_>, (path, from): (&[u8], &[u8]), node: Node) -> Side {
        if node.mode == LINK_MODE {
            return Side { node, perm: 0 };
        }
        let sides = |path: &[u8]| self.paths.get(path).copied().unwrap_or_default();
        let [before, _] = sides(path);
        let [_, after] = sides(from);
        let before = before.filter(|side| side.node.mode == node.mode);
        let left = before.map_or_else(
            || self.extras.permissions(path, node.mode),
            |side| side.perm,
        );
        let bits = (after.map(|side| side.perm), left);
        let perm = bits_after(bits_here(capture.manifest.file(from)), bits, node.mode);
        Side { node, perm }
    }

    /// Directories as they were, but for those that a later swap made, removed or changed, and for bits that somebody changed since.
    fn dirs(&self) -> Result<Vec<(Vec<u8>, Option<u32>)>> {
        let step = self.step;
        let mut later = BTreeSet::new();
        let levels = undo_log::levels(&step.store.dir, step.reversal.log)?;
        for level in levels.iter().take(step.view.level - 1) {
            later.extend(level.journal.dirs.iter().map(|dir| dir.path.clone()));
        }
        let dirs = step
            .level
            .dirs
            .iter()
            .filter(|dir| !later.contains(&dir.path));
        let root = Root::open(step.ctx.repo.worktree_root())?;
        dirs.map(|dir| {
            let path = path_of(&dir.path)?;
            let [before, after] =
                [&dir.before, &dir.after].map(|bits| permissions_of(bits.as_deref()));
            let (before, after) = (before?, after?);
            let now = root.dir_stamp(&path).map(|stamp| stamp.permissions());
            let changed_since = before.is_some() && now.is_some() && now != after;
            Ok((path, if changed_since { now } else { before }))
        })
        .collect()
    }

    /// Index entries as they were, where the index is as the swap left it and nothing was staged since that could not stand beside them.
    /// What stands in the place of one that stays back, or the other way round, stays back as well.
    fn index_entries(&self, capture: &Capture<'_>) -> Result<PathEntries> {
        let level = &self.step.level;
        let sides = (
            pathindex::read(level, SwapSide::Before)?,
            pathindex::read(level, SwapSide::After)?,
        );
        let ((Some(mut before), Some(after)), Some(index)) = (sides, &capture.parsed_index) else {
            return Ok(PathEntries::new());
        };
        before.retain(|path, coming| !pathindex::are_alike(index.stages(path), coming));
        // The recorded entries go with the HEAD of that time.
        if self.step.head_moved()? {
            self.held_back.replace(HeldBack {
                paths: before.into_keys().collect(),
                head_moved: true,
            });
            return Ok(PathEntries::new());
        }
        let mut kept: BTreeSet<Vec<u8>> = BTreeSet::new();
        for (path, coming) in &before {
            let left = after.get(path).map(Vec::as_slice).unwrap_or_default();
            let mut others = pathindex::in_its_place(index, path, coming).into_iter();
            let is_as_left = pathindex::are_alike(index.stages(path), left);
            if !is_as_left || others.any(|(other, _)| !after.contains_key(&other)) {
                kept.insert(path.clone());
            }
        }
        loop {
            let more = before.keys().filter(|path| !kept.contains(*path));
            let more = more.filter(|path| {
                path::has_or_is_within(&kept, path) || path::any_within(&kept, path)
            });
            let more: Vec<Vec<u8>> = more.cloned().collect();
            if more.is_empty() {
                break;
            }
            kept.extend(more);
        }
        before.retain(|path, _| !kept.contains(path));
        self.held_back.replace(HeldBack {
            paths: kept,
            head_moved: false,
        });
        Ok(before)
    }

    fn conflict(&self, merged: &Merged) -> Error {
        let conflicts = merged.conflicts.iter().map(|Conflict { path, .. }| path);
        let paths: Vec<&[u8]> = conflicts
            .chain(&merged.blocked)
            .map(Vec::as_slice)
            .collect();
        let names: Vec<String> = paths.iter().map(|path| path::display(path)).collect();
        let shown = names.iter().take(5).map(|name| format!("'{name}'"));
        let message = format!(
            "what came after swap {} changed the same lines: {}",
            self.step.view.level,
            shown.collect::<Vec<_>>().join(", ")
        );
        let (log, backup) = (self.step.reversal.log, &self.step.view.backup_id);
        Error::new(Code::Conflict, message)
            .hint(format!("'tw {log}' takes back the later ones first"))
            .hint(format!(
                "or take single files from before it: tw restore {backup} PATH"
            ))
            .paths("paths", &paths)
    }
}
