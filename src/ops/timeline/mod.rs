//! What happened in a working tree, newest first: snapshots, prompts, ends of turns, swaps and reported issues in one line.
//!
//! Owns the order, and which entries a [`Filter`] lets through; `tw log` and `tw ui` show it, `tw list` takes its filter.
//! Promises: entries are made as they are asked for, so that a first page costs the same however many snapshots are kept; what
//! cannot be read hides nothing else, and is told of; nothing is written. What an entry changed is found out, and lines are
//! counted, for those entries alone for which somebody asks, and so is the prompt that an entry belongs to. The snapshot that the end of a turn took is not told of beside it,
//! unless only snapshots are wanted.

mod asked;
mod changes;
mod entry;
mod filter;
mod levels;
mod merge;
mod meta;
mod records;
mod talks;

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::Context;
use super::history::Here;
use super::pathspec::Pathspec;
use super::worktrees;
use crate::env::Moment;
use crate::error::Result;
use crate::git::Oid;
use crate::git::textdiff::written::Whose;
use crate::git::threads;
use crate::git::tree::Change;
use crate::store::Store;
use crate::store::id::{IdKind, IssueId, SnapshotId};
use crate::store::names::{Record, RecordKind};
use crate::store::session::Sessions;
use changes::Sides;
use entry::Source;
use filter::Matcher;
use levels::Levels;
use meta::Meta;
use records::Records;
use talks::Talks;

pub use asked::Asked;
pub use changes::{Counts, PathPatch};
pub use entry::{Entry, EntryKind, MadeBy};
pub use filter::{Filter, time, time_since};

/// What may be an entry of the kinds that are wanted.
fn record_kinds(filter: &Filter) -> Vec<IdKind> {
    let wants = |kind| filter.kinds.is_empty() || filter.kinds.contains(&kind);
    let (snapshots, swaps) = (wants(EntryKind::Snapshot), wants(EntryKind::Swap));
    let of = |kind: &IdKind| match kind {
        IdKind::Snapshot => snapshots,
        IdKind::Backup => swaps,
        IdKind::Experiment => snapshots || swaps,
    };
    IdKind::ALL.into_iter().filter(of).collect()
}

/// The issues reported until then, newest last.
fn issues(store: &Store, until: Option<Moment>) -> Result<Vec<IssueId>> {
    let names = store.record_names(RecordKind::Issues)?.into_iter();
    let ids = names.filter_map(|name| match name {
        Record::Issue(id) => Some(id),
        _ => None,
    });
    let until = until.map_or(i64::MAX, Moment::seconds);
    let mut ids: Vec<IssueId> = ids.filter(|id| id.time().seconds() <= until).collect();
    ids.sort_by_key(IssueId::time);
    Ok(ids)
}

/// This many things to compare are worth a thread.
const FEW: usize = 4;

/// This many entries are compared at once, to find those that changed a path.
const BLOCK: usize = 256;

/// The entries that a filter lets through, newest first, made one second at a time.
pub struct Timeline<'c> {
    store: &'c Store,
    matcher: Matcher,
    /// The worktree that it is asked in.
    here: Here,
    sessions: Sessions,
    /// The repository's random id.
    repository_id: Option<String>,
    /// Whether it is a list of records.
    listed: bool,
    paths: Pathspec,
    /// How many more may be given.
    left: usize,
    records: Records<'c>,
    /// Of each worktree that is asked for.
    levels: Vec<Levels>,
    talks: Talks<'c>,
    /// Not given yet, newest last.
    issues: Vec<IssueId>,
    labels: BTreeMap<Oid, Vec<String>>,
    /// Snapshots that the end of a turn told of.
    told: HashSet<SnapshotId>,
    ready: VecDeque<Entry>,
    invalid: Vec<(String, String)>,
}

/// The trees of an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trees {
    /// What its id stands for; None where that is not known.
    pub own: Option<Oid>,
    /// Between which it changed what it changed, the first one None where nothing was there before; None where that is not known, or is
    /// no change between two trees.
    pub between: Option<(Option<Oid>, Oid)>,
}

impl<'c> Timeline<'c> {
    /// Begins at the newest entry.
    ///
    /// # Errors
    /// `USAGE` for a filter that is none, `SESSION_NOT_FOUND`; when refs cannot be read.
    pub fn new(ctx: &'c Context<'_>, filter: &Filter) -> Result<Self> {
        let store = ctx.store()?;
        let mut timeline = Self::of_records(ctx, filter, &record_kinds(filter))?;
        timeline.listed = false;
        if timeline.matcher.wants(EntryKind::Swap) {
            timeline.read_levels(ctx, filter.until)?;
        }
        let (matcher, until) = (&timeline.matcher, filter.until);
        // They tell which snapshots were taken for a prompt, and which are the end of a turn.
        if [EntryKind::Snapshot, EntryKind::Prompt, EntryKind::TurnEnd]
            .into_iter()
            .any(|kind| matcher.wants(kind))
        {
            timeline.talks = Talks::new(store, matcher.session.as_deref(), until)?;
        }
        if matcher.wants(EntryKind::Issue) {
            timeline.issues = issues(store, until)?;
        }
        Ok(timeline)
    }

    /// Begins at the newest snapshot, backup or experiment of these kinds, as `tw list` shows them: nothing else is told, nor are
    /// snapshots taken in the past, unless all worktrees are asked for.
    ///
    /// # Errors
    /// As [`Timeline::new`].
    pub fn of_records(ctx: &'c Context<'_>, filter: &Filter, kinds: &[IdKind]) -> Result<Self> {
        let store = ctx.store()?;
        let matcher = Matcher::new(ctx, store, filter)?;
        Ok(Self {
            records: Records::new(store, kinds, filter.until)?,
            listed: true,
            levels: Vec::new(),
            talks: Talks::none(store),
            issues: Vec::new(),
            labels: store.labels()?,
            here: Here::of(ctx, store)?,
            sessions: ctx.sessions(),
            repository_id: store.repository_id()?,
            paths: filter.paths.clone(),
            left: filter.limit.unwrap_or(usize::MAX),
            store,
            matcher,
            told: HashSet::new(),
            ready: VecDeque::new(),
            invalid: Vec::new(),
        })
    }

    /// Another worktree whose logs cannot be read hides nothing of the others.
    fn read_levels(&mut self, ctx: &Context<'_>, until: Option<Moment>) -> Result<()> {
        if !self.matcher.all_worktrees() {
            let own = Levels::new(self.here.clone(), &self.store.dir, until)?;
            self.levels.push(own);
            return Ok(());
        }
        for worktree in worktrees::all(&ctx.repo)? {
            let here = self.here.of_other(&worktree);
            match here.and_then(|here| Levels::new(here, &worktree.dir, until)) {
                Ok(levels) => self.levels.push(levels),
                Err(error) => self.invalid.push((
                    format!("worktree '{}'", worktree.name),
                    error.message().to_owned(),
                )),
            }
        }
        Ok(())
    }

    /// This many entries more, older than those given before; fewer only at the end. What they changed is not looked at yet.
    ///
    /// # Errors
    /// When refs or objects cannot be read.
    pub fn page(&mut self, entries: usize) -> Result<Vec<Entry>> {
        let wanted = entries.min(self.left);
        while self.ready.len() < wanted {
            // Of the entries of a file only a few are what is wanted: they are compared many at once.
            let block = if self.paths.is_everything() { 1 } else { BLOCK };
            let mut found = Vec::new();
            while found.len() < block && self.read_on(&mut found)? {}
            if found.is_empty() {
                break;
            }
            let touching = self.touching(found)?;
            self.ready.extend(touching);
        }
        let page: Vec<Entry> = self.ready.drain(..wanted.min(self.ready.len())).collect();
        self.left -= page.len();
        Ok(page)
    }

    /// What could not be read so far: what it is, and why.
    pub fn invalid(&self) -> Vec<(String, String)> {
        let mut all = self.records.invalid();
        all.extend(self.talks.invalid().iter().cloned());
        all.extend(self.invalid.iter().cloned());
        all
    }

    /// The paths that an entry changed, sorted, as far as the filter asks for them. None where it is not known, or not yet: of an
    /// issue, of a turn under way, of a swap that the undo log no longer has.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn changes(&self, entry: &Entry) -> Result<Option<Vec<Change>>> {
        let sides = self.sides(entry)?;
        let objects = &self.store.objects;
        let changes = sides.map(|sides| sides.changes(objects, &self.paths));
        changes.transpose()
    }

    /// The trees of an entry.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn trees(&self, entry: &Entry) -> Result<Trees> {
        let id = SnapshotId::parse(&entry.id);
        let own = id.map(|id| self.records.meta(&id)).transpose()?.flatten();
        let between = match self.sides(entry)? {
            Some(Sides::Trees(old, new)) => Some((old, new)),
            Some(Sides::Paths(_)) | None => None,
        };
        Ok(Trees {
            own: own.map(|meta| meta.tree),
            between,
        })
    }

    /// The side of what an entry changed that its own snapshot is: a prompt's, and what a swap saved, was before.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn own_side(&self, entry: &Entry) -> Result<Whose> {
        if entry.kind == EntryKind::Swap {
            return Ok(Whose::Old);
        }
        let trees = self.trees(entry)?;
        let is_after = trees.between.is_some_and(|(_, new)| trees.own == Some(new));
        Ok(if is_after { Whose::New } else { Whose::Old })
    }

    /// The paths that differ between two snapshots, backups or experiments. None where one of them is no more.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn between(&self, old: &str, new: &str) -> Result<Option<Vec<Change>>> {
        let tree = |id: &str| -> Result<Option<Oid>> {
            let Some(id) = SnapshotId::parse(id) else {
                return Ok(None);
            };
            Ok(self.records.meta(&id)?.map(|meta| meta.tree))
        };
        let Some((old, new)) = tree(old)?.zip(tree(new)?) else {
            return Ok(None);
        };
        let sides = Sides::Trees(Some(old), new);
        sides.changes(&self.store.objects, &self.paths).map(Some)
    }

    /// The patch of a path that differs, unless one of its sides has more than `largest` bytes.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn patch(&self, change: &Change, largest: u64) -> Result<PathPatch> {
        changes::patch(&self.store.objects, change, largest)
    }

    /// Counts what entries changed, on all cores. What cannot be read is not counted.
    pub fn count(&self, entries: &mut [Entry]) {
        let sides = entries.iter().map(|entry| self.sides(entry).ok().flatten());
        let sides: Vec<Option<Sides>> = sides.collect();
        let (objects, paths) = (&self.store.objects, &self.paths);
        let changes = threads::map_from(FEW, &sides, |sides| {
            sides.as_ref()?.changes(objects, paths).ok()
        });
        // One entry may have thousands of paths, and the others one each.
        let each = changes.iter().enumerate();
        let flat: Vec<(usize, &Change)> = each
            .flat_map(|(at, changes)| changes.iter().flatten().map(move |change| (at, change)))
            .collect();
        let lines = threads::map_from(FEW, &flat, |(_, change)| {
            changes::count(objects, change).ok()
        });
        let mut counted: Vec<Option<Counts>> = changes
            .iter()
            .map(|changes| changes.as_ref().map(|_| Counts::default()))
            .collect();
        for ((at, _), lines) in flat.iter().zip(lines) {
            if let Some(sum) = counted.get_mut(*at) {
                *sum = sum.zip(lines).map(|(sum, lines)| sum.and(lines));
            }
        }
        for (entry, counts) in entries.iter_mut().zip(counted) {
            entry.files = counts.map(|counts| counts.files);
            entry.insertions = counts.map(|counts| counts.insertions);
            entry.deletions = counts.map(|counts| counts.deletions);
        }
    }

    /// What is to be compared to tell what an entry changed.
    fn sides(&self, entry: &Entry) -> Result<Option<Sides>> {
        match &entry.source {
            Source::Record(meta) if entry.kind == EntryKind::Swap => self.sides_of_swap(meta),
            Source::Record(meta) => {
                let before = self.records.before(meta)?.map(|before| before.tree);
                let base = match before {
                    Some(tree) => Some(tree),
                    None if meta.is_of_past() => return Ok(None),
                    // The first one: what it has that HEAD has not.
                    None => meta.head_tree(&self.store.objects)?,
                };
                Ok(Some(Sides::Trees(base, meta.tree)))
            }
            Source::Turn(Some(start), Some(end)) => {
                let tree = |id| self.records.meta(id).map(|meta| meta.map(|meta| meta.tree));
                let trees = tree(start)?.zip(tree(end)?);
                Ok(trees.map(|(start, end)| Sides::Trees(Some(start), end)))
            }
            Source::Level(file) => Ok(levels::changes(file)?.map(Sides::Paths)),
            Source::Turn(..) | Source::Issue => Ok(None),
        }
    }

    fn sides_of_swap(&self, meta: &Meta) -> Result<Option<Sides>> {
        let level = self.levels.iter().find_map(|levels| levels.of_backup(meta));
        if let Some(file) = level {
            return Ok(levels::changes(&file)?.map(Sides::Paths));
        }
        let target = meta.said.target_id.as_deref().and_then(SnapshotId::parse);
        let target = target
            .map(|id| self.records.meta(&id))
            .transpose()?
            .flatten();
        Ok(target.map(|target| Sides::Trees(Some(meta.tree), target.tree)))
    }
}
