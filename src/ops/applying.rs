//! Put changes between snapshots onto the present: what a run made of a snapshot, or what a prompt did, taken back.
//!
//! Each is a three-way merge of both its sides and what is there now. A swap like any other: backed up, journalled, one level of the undo log. Refuses whole when a file is in the place of a
//! directory. What becomes of conflicts is the caller's choice.

mod bits;
mod run;
mod stages;
mod uncaptured;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::Root;
use crate::git::path;
use crate::git::textmerge::Labels;
use crate::git::tree::{self, LINK_MODE, Lookup, Node};
use crate::ops::Context;
use crate::ops::capture::{Capture, Storing};
use crate::ops::merge::{Beside, Merged};
use crate::ops::outcome::{Changes, Conflict};
use crate::ops::pathspec::Pathspec;
use crate::ops::record::Made;
use crate::ops::request::DryRun;
use crate::ops::swap::extras::stored_extras;
use crate::ops::swap::found::{FoundDirs, add_found};
use crate::ops::swap::goal::{Aim, GitGoal, Goal, PathChanges};
use crate::ops::swap::notices::{narrowed_notice, swap_notices};
use crate::ops::swap::pathindex::EntryChanges;
use crate::ops::swap::taken_back::TakenBack;
use crate::ops::swap::{changes, prepare, read_tree, swap};
use crate::ops::three_way::{self, Steps, ThreeWay};
use crate::store::Store;
use crate::store::state::State;
use crate::store::stored::Stored;
use crate::store::trigger::SwapKind;
use crate::worktree::plan::{Extras, Side};

pub use run::{AppliedRun, apply_run};
pub use uncaptured::Uncaptured;

/// What becomes of lines that both sides changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Markers in the file, stages in the index.
    Stages,
    /// Markers in the file; the index stays.
    Markers,
    /// Nothing is written: `CONFLICT`.
    Refuse,
}

/// What was done.
pub struct Put {
    /// What was there before; None when nothing was written.
    pub backup_id: Option<String>,
    /// Nothing was to be written.
    pub dry_run: bool,
    /// Paths touched.
    pub changes: Changes,
    /// What came of the merge.
    pub merged: Merged,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// This many paths are named.
const SHOWN: usize = 5;

/// What is put onto the present: what changed between two trees.
pub struct Change {
    /// What it changed; None: what is there now.
    pub base: Option<Oid>,
    /// What it made of that.
    pub theirs: Oid,
    /// What both are called in markers.
    pub names: [String; 2],
    /// It takes back what its base changed, of both snapshots that it is called by: the undo log keeps that.
    pub takes_back: bool,
    /// What the tree that it made cannot say.
    pub extras: Extras,
    /// The same of what it changed; None: what is there now.
    pub base_extras: Option<Extras>,
    /// Only these paths; None: all.
    pub only: Option<BTreeSet<Vec<u8>>>,
    /// What its snapshots do not tell.
    pub uncaptured: Uncaptured,
    /// The trees of the index on both sides, for [`OnConflict::Stages`].
    pub index: Vec<Oid>,
}

impl Change {
    /// What lies between two snapshots.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn between(store: &Store, base: &Stored, theirs: &Stored) -> Result<Self> {
        let index = |stored| store.index_side(stored).map(|side| side.tree);
        Ok(Self {
            base: Some(base.tree),
            theirs: theirs.tree,
            names: [base.id.to_string(), theirs.id.to_string()],
            takes_back: false,
            extras: stored_extras(store, theirs)?,
            base_extras: Some(stored_extras(store, base)?),
            only: None,
            uncaptured: Uncaptured::of(store, Some(base), theirs)?,
            index: vec![index(base)?, index(theirs)?],
        })
    }
}

/// What a swap of changes is called, and what is said of it.
pub struct Words {
    /// In journal and logs.
    pub operation: SwapKind,
    /// The backup's title.
    pub title: String,
    /// When there is nothing to do.
    pub nothing: &'static str,
    /// Who made the changes: `the run`.
    pub who: &'static str,
}

/// One application: the changes, and what the last look at the present made of them.
pub struct Applying<'a, 's> {
    ctx: &'a Context<'a>,
    store: &'s Store,
    changes: Vec<Change>,
    /// Which of their paths are meant.
    only: Pathspec,
    words: Words,
    on_conflict: OnConflict,
    beside: Beside,
    merging: ThreeWay<'a, 's>,
    steps: RefCell<Steps>,
    entries: RefCell<EntryChanges>,
    /// Conflicts whose stages the index does not get.
    unstaged: RefCell<BTreeSet<Vec<u8>>>,
    taken_back: RefCell<Vec<TakenBack>>,
    /// Files that would go, were they not left out of the last look: they stay.
    left_out: RefCell<BTreeSet<Vec<u8>>>,
    /// Paths that are gone, of which the changes changed the permission bits alone.
    bits_gone: RefCell<BTreeSet<Vec<u8>>>,
    nothing: Extras,
}

impl<'a, 's> Applying<'a, 's> {
    /// Of these changes, one after the other.
    ///
    /// # Errors
    /// git's configuration cannot be read.
    pub fn new(
        ctx: &'a Context<'a>,
        store: &'s Store,
        (changes, only): (Vec<Change>, Pathspec),
        words: Words,
        (on_conflict, beside): (OnConflict, Beside),
    ) -> Result<Self> {
        Ok(Self {
            ctx,
            store,
            changes,
            only,
            words,
            on_conflict,
            beside,
            merging: ThreeWay::new(ctx, store)?,
            steps: RefCell::default(),
            entries: RefCell::default(),
            unstaged: RefCell::default(),
            taken_back: RefCell::default(),
            left_out: RefCell::default(),
            bits_gone: RefCell::default(),
            nothing: Extras::default(),
        })
    }

    /// Of what a run made of a snapshot. `of` ends the title of the backup.
    ///
    /// # Errors
    /// One of the snapshots cannot be read; as [`Applying::new`].
    pub fn of_run(
        ctx: &'a Context<'a>,
        store: &'s Store,
        (snapshot, experiment): (&Stored, &Stored),
        of: &str,
        on_conflict: OnConflict,
    ) -> Result<Self> {
        let change = Change::between(store, snapshot, experiment)?;
        let words = Words {
            operation: SwapKind::Apply,
            title: format!("before applying {} of {of}", experiment.id),
            nothing: "nothing to apply: the present has all that the run changed",
            who: "the run",
        };
        let what = (vec![change], Pathspec::default());
        Self::new(ctx, store, what, words, (on_conflict, Beside::Conflicts))
    }

    /// What came of the last look at the present, also of one that was refused.
    pub fn merged(&self) -> Merged {
        self.steps.take().merged
    }

    /// What a file of the present has; None when it is too large, or is no longer as it was at the last look.
    pub fn present(&self, full: &[u8], node: Node) -> Option<Vec<u8>> {
        self.merging.content(full, node).ok().flatten()
    }

    /// Does it, under the lock that the caller holds.
    ///
    /// # Errors
    /// `WOULD_OVERWRITE`; `CONFLICT` where that is asked for; as a restore. Nothing is changed then.
    pub fn run(&self, dry_run: DryRun) -> Result<Put> {
        let find = |capture: &Capture<'_>| self.find(capture);
        let goal = self.goal(&find);
        // Without a difference there is nothing to back up, and no level for the undo log.
        let prepared = prepare(self.ctx, self.store, &goal, &Storing::No)?;
        let nothing = prepared.plan.is_empty() && self.steps.borrow().merged.conflicts.is_empty();
        if dry_run == DryRun::Yes || nothing {
            let mut answer = self.answer(None, changes(&prepared.plan));
            answer.notices.extend(narrowed_notice(&prepared.plan));
            answer.dry_run = dry_run == DryRun::Yes;
            let is_told = !answer.merged.unknown.is_empty()
                || !self.left_out.borrow().is_empty()
                || !self.bits_gone.borrow().is_empty();
            if nothing && !is_told {
                answer.notices.push(self.words.nothing.to_owned());
            }
            return Ok(answer);
        }
        drop(prepared);
        self.merging.write();
        let state_after = |before: &State, _: &Made<'_>| State {
            workspace_root: self.ctx.repo.worktree_root().display().to_string(),
            ..before.clone()
        };
        let swapped = swap(self.ctx, self.store, &goal, &state_after);
        self.merging.release()?;
        let swapped = swapped?;
        let backup = Some(swapped.saved.id.to_string());
        let mut answer = self.answer(backup, swapped.changes());
        answer.notices.extend(swap_notices(&swapped.applied));
        answer.notices.extend(narrowed_notice(&swapped.plan));
        Ok(answer)
    }

    fn last_extras(&self) -> &Extras {
        self.changes
            .last()
            .map_or(&self.nothing, |change| &change.extras)
    }

    fn goal<'g>(&'g self, find: &'g dyn Fn(&Capture<'_>) -> Result<PathChanges>) -> Goal<'g> {
        let aim = Aim::Computed {
            forced: BTreeSet::new(),
            compute: find,
            // Directories that come back are the last step's.
            saved: self.last_extras(),
            unwritten: self.merging.unwritten(),
        };
        let words = &self.words;
        Goal::new(words.operation.clone(), words.title.clone(), aim)
            .git(GitGoal::Entries(&self.entries))
            .taking_back(&self.taken_back)
    }

    fn answer(&self, backup_id: Option<String>, changes: Changes) -> Put {
        let merged = self.merged();
        let who = self.words.who;
        let submodules = merged.submodules.iter().map(|path| {
            let path = path::display(path);
            format!("submodule '{path}' was moved by {who} and stays as it is")
        });
        let left_out = self.left_out.borrow();
        let left_out = (!left_out.is_empty()).then(|| {
            format!(
                "left out of snapshots since, and stays as it is: {}",
                path::listed(left_out.iter(), SHOWN)
            )
        });
        let unknown = (!merged.unknown.is_empty()).then(|| {
            format!(
                "what became of it is not known, since a snapshot did not capture it, and it stays as it is: {}",
                path::listed(merged.unknown.iter(), SHOWN)
            )
        });
        let bits_gone = self.bits_gone.borrow();
        let bits_gone = (!bits_gone.is_empty()).then(|| {
            let listed = path::listed(bits_gone.iter(), SHOWN);
            format!("{who} changed permission bits of what is not there any more: {listed}")
        });
        let notices = submodules.chain(left_out).chain(unknown).chain(bits_gone);
        let notices = notices.chain(self.unstaged_notice());
        let notices = notices.collect();
        Put {
            backup_id,
            dry_run: false,
            changes,
            merged,
            notices,
        }
    }

    /// What the present becomes, as it is at this look.
    fn find(&self, capture: &Capture<'_>) -> Result<PathChanges> {
        let read = |oid| read_tree(self.store, capture, oid);
        let read = Lookup::new(&read);
        let bits = self.bit_changes(&read, capture)?;
        let judges = self.changes.iter().zip(&bits).map(|(change, bits)| {
            let uncaptured = &change.uncaptured;
            let is_known = |lies_between: &tree::Change| !uncaptured.hides(lies_between);
            let follows = |full: &[u8]| path::with_parents(full).any(|at| bits.contains_key(at));
            (self.takes(change), is_known, follows)
        });
        let judges: Vec<_> = judges.collect();
        let steps = self.changes.iter().zip(&judges);
        let steps = steps.map(|(change, (takes, is_known, follows))| three_way::Step {
            base: change.base,
            theirs: change.theirs,
            labels: Labels {
                base: &change.names[0],
                ours: "present",
                theirs: &change.names[1],
            },
            beside: self.beside,
            takes,
            is_known,
            follows,
        });
        let steps: Vec<_> = steps.collect();
        let steps = self.merging.merge_all(&read, capture.tree, &steps)?;
        self.taken_back.replace(self.taken_back(&steps));
        self.left_out.replace(self.left_out(&read, capture)?);
        let refused = self.refused(&steps.merged);
        self.steps.replace(steps);
        if let Some(refused) = refused {
            return Err(refused);
        }
        let steps = self.steps.borrow();
        self.entries
            .replace(self.index_entries(capture, &steps.merged)?.into());
        let mut becomes = PathChanges {
            paths: self.sides(&read, capture, &steps)?,
            dirs: self.emptied(&read, capture, &steps)?,
            renamed: steps.merged.renamed.clone(),
            found: self.found_dirs(&read, &steps)?,
            ..PathChanges::default()
        };
        self.add_bits((&read, capture), (&steps, &bits), &mut becomes)?;
        Ok(becomes)
    }

    fn taken_back(&self, steps: &Steps) -> Vec<TakenBack> {
        let all = self.changes.iter().zip(&steps.taken);
        let all = all.filter(|(change, paths)| change.takes_back && !paths.is_empty());
        all.map(|(change, paths)| {
            let [after, before] = &change.names;
            TakenBack::new([before, after], paths)
        })
        .collect()
    }

    /// The files that the changes would remove, that are there, and that the present's rules leave out.
    fn left_out(&self, trees: &Lookup<'_>, capture: &Capture<'_>) -> Result<BTreeSet<Vec<u8>>> {
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let is_file = |path: &[u8]| matches!(root.stamp(path), Ok(Some(stamp)) if !stamp.is_dir());
        let mut found = BTreeSet::new();
        for change in &self.changes {
            let takes = self.takes(change);
            let Some(base) = change.base else {
                continue;
            };
            for gone in tree::diff(trees, Some(base), Some(change.theirs))? {
                if gone.new.is_none()
                    && takes(&gone.path)
                    && trees.find(capture.tree, &gone.path)?.is_none()
                    && is_file(&gone.path)
                {
                    found.insert(gone.path);
                }
            }
        }
        Ok(found)
    }

    fn takes<'c>(&'c self, change: &'c Change) -> impl Fn(&[u8]) -> bool + 'c {
        |path| {
            let only = change.only.as_ref();
            only.is_none_or(|only| only.contains(path)) && self.only.matches(path)
        }
    }

    fn refused(&self, merged: &Merged) -> Option<Error> {
        if !merged.blocked.is_empty() {
            return Some(self.blocked(&merged.blocked));
        }
        let refuses = self.on_conflict == OnConflict::Refuse && !merged.conflicts.is_empty();
        refuses.then(|| self.conflicting(merged))
    }

    /// The change that decides what a path becomes.
    fn change_of(&self, steps: &Steps, full: &[u8]) -> Option<&Change> {
        self.changes.get(*steps.step_of.get(full)?)
    }

    /// The paths with their permission bits ([`Self::bits`]).
    fn sides(
        &self,
        trees: &Lookup<'_>,
        capture: &Capture<'_>,
        steps: &Steps,
    ) -> Result<Vec<(Vec<u8>, Option<Side>)>> {
        let side = |full: &[u8], node: Node| -> Result<Side> {
            if node.mode == LINK_MODE {
                return Ok(Side { node, perm: 0 });
            }
            let perm = self.bits((trees, capture), steps, (full, node.mode))?;
            Ok(Side { node, perm })
        };
        let paths = steps.merged.paths.iter();
        paths
            .map(|(full, node)| {
                let side = node.map(|node| side(full, node));
                Ok((full.clone(), side.transpose()?))
            })
            .collect()
    }

    /// The directories over the names that files lose, as the change found them that decides what these become; of what an earlier one renamed, as
    /// that did.
    fn found_dirs(&self, trees: &Lookup<'_>, steps: &Steps) -> Result<FoundDirs> {
        let mut found = FoundDirs::new();
        for (to, from) in &steps.merged.renamed {
            let last = self.change_of(steps, to).into_iter();
            for change in last.chain(&self.changes) {
                let base = change.base.zip(change.base_extras.as_ref());
                let sides = (base, (change.theirs, &change.extras));
                add_found(trees, sides, from, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Directories in which nothing captured is left, and which the change that emptied them has not either.
    fn emptied(
        &self,
        trees: &Lookup<'_>,
        capture: &Capture<'_>,
        steps: &Steps,
    ) -> Result<Vec<(Vec<u8>, Option<u32>)>> {
        let paths = &steps.merged.paths;
        let written = paths.iter().filter(|(_, node)| node.is_some());
        let filled: BTreeSet<&[u8]> = written
            .flat_map(|(full, _)| path::with_parents(path::split(full).0))
            .collect();
        let (mut dirs, mut seen) = (BTreeSet::new(), BTreeSet::new());
        for (full, _) in paths.iter().filter(|(_, node)| node.is_none()) {
            let step = steps.step_of.get(full);
            let mut dir = path::split(full).0;
            while !dir.is_empty() && seen.insert((step, dir)) && !dirs.contains(dir) {
                let change = self.change_of(steps, full);
                let is_theirs = |change: &Change| -> Result<bool> {
                    Ok(change.extras.leads_to_empty_dir(dir)
                        || trees.find(change.theirs, dir)?.is_some())
                };
                let stays = filled.contains(dir)
                    || change.map(is_theirs).transpose()? == Some(true)
                    || holds_more(trees, capture.tree, dir, paths)?;
                if stays {
                    break;
                }
                dirs.insert(dir);
                dir = path::split(dir).0;
            }
        }
        Ok(dirs.into_iter().map(|dir| (dir.to_vec(), None)).collect())
    }

    fn blocked(&self, paths: &[Vec<u8>]) -> Error {
        let names: Vec<String> = paths.iter().map(|path| path::display(path)).collect();
        let message = format!(
            "{} has a directory where a file is now, or the other way round: {}",
            self.words.who,
            first(&names)
        );
        let again = format!(
            "move these paths away, {}, and put them where they belong",
            self.words.operation
        );
        Error::new(Code::WouldOverwrite, message)
            .hint(again)
            .paths("paths", paths)
    }

    fn conflicting(&self, merged: &Merged) -> Error {
        let paths = merged.conflicts.iter();
        let mut paths: Vec<&[u8]> = paths.map(|one| one.path.as_slice()).collect();
        paths.dedup();
        let names: Vec<String> = paths.iter().map(|path| path::display(path)).collect();
        let message = format!(
            "the present and {} changed the same lines: {}",
            self.words.who,
            first(&names)
        );
        let conflicts = merged.conflicts.iter().cloned().map(Conflict::from);
        Error::new(Code::Conflict, message)
            .hint(
                "nothing was written; '--conflicts' writes both sides into the files, with markers",
            )
            .paths("paths", &paths)
            .detail(
                "conflicts",
                serde_json::json!(conflicts.collect::<Vec<_>>()),
            )
    }
}

/// Whether a directory has a file that stays.
fn holds_more(
    trees: &Lookup<'_>,
    root: Oid,
    dir: &[u8],
    paths: &BTreeMap<Vec<u8>, Option<Node>>,
) -> Result<bool> {
    let here = trees.find(root, dir)?;
    let Some(here) = here.filter(|here| here.is_dir()) else {
        return Ok(false);
    };
    let stays = |name: &[u8]| !matches!(paths.get(&path::join(dir, name)), Some(None));
    let beneath = tree::flatten(trees, here.oid)?;
    Ok(beneath.iter().any(|(name, _)| stays(name)))
}

/// A few names in a sentence.
fn first(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).map(|name| format!("'{name}'"));
    shown.collect::<Vec<_>>().join(", ")
}
