//! Steps over the log of swaps: what undo and redo do.
//!
//! Undoing a swap is a swap of its own, backed up like any other, whose journal becomes a level of the redo log; redoing is the same
//! the other way round. Going back is always putting recorded bytes in place: undo of a travel is a return, undo of a return
//! goes back into the past as it was left, and so does undo of a hop; anything else puts back the paths it touched.

mod access;
mod alone;
mod back;
mod level;
mod together;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Context;
use super::capture::Storing;
use super::event_log::{self, RefEvent, RefFate};
use super::issues::run::{Closing, close_run};
use super::outcome::{Changes, HeadStays};
use super::record::Made;
use super::request::{DryRun, Return};
use super::stay::ReturnOperation;
use super::swap::extras::stored_extras;
use super::swap::goal::{Aim, GitGoal, Goal, PathChanges, PathsAim, Reversal};
use super::swap::journal::{SwapSide, path_of, permissions_of, side_of};
use super::swap::notices::{renamed_notice, swap_notices};
use super::swap::pathindex::{EntryChanges, PathEntries};
use super::swap::taken_back;
use super::swap::undo_log::{self, Log, head_mark};
use super::swap::{Swapped, changes, is_hop, pathindex, prepare, recover, swap};
use super::workspaces::{self, Partner};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::git::fs::Root;
use crate::git::path::{self, RepoPath};
use crate::git::tree::Node;
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::state::{Journal, Mode, State, read_json};
use crate::store::stored::Stored;
use crate::store::workspace::Tie;
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::plan::Side;
pub use level::{LevelView, Levels, Undone, level_view};

/// The detail of a refusal: the id of the swap that would be taken back.
pub const SWAP_ID: &str = "swap_id";

/// A step over one of the logs.
#[derive(Debug, Clone)]
pub struct StepRequest {
    /// Back, or forward again.
    pub log: Log,
    /// Only this swap: its number in the list, its id, or its backup's. None: the last.
    pub level: Option<String>,
    /// Whether it may lead from the present into the past.
    pub into_past: bool,
    /// Look only.
    pub dry_run: DryRun,
}

impl StepRequest {
    /// The last swap, wherever it leads.
    pub fn last(log: Log) -> Self {
        Self {
            log,
            level: None,
            into_past: true,
            dry_run: DryRun::No,
        }
    }
}

/// Takes a step: undoes a swap, or brings back what an undo replaced.
///
/// # Errors
/// `NOTHING_TO_UNDO`; `NOT_APPROVED` when it would lead into the past and nobody said so; else as travel and return.
pub fn step(ctx: &Context<'_>, request: &StepRequest) -> Result<Undone> {
    let store = ctx.store()?;
    // A swap that died is no level yet: it is recovered under the lock, and what is found then is looked at once more.
    let along = along(ctx, store, request)?;
    if !along.partners.is_empty() {
        return together::step(ctx, store, request, along);
    }
    let begun = recover::begin(ctx, store, request.log.as_str(), request.dry_run)?;
    let now = self::along(ctx, store, request)?;
    if !now.partners.is_empty() {
        return begun.again(|| step(ctx, request), |undone| &mut undone.notices);
    }
    let done = Step::find(ctx, store, request).and_then(|step| step.run());
    let done = done.map(|mut undone| {
        undone.notices.extend(now.left_out());
        if request.dry_run == DryRun::No {
            let forgotten = forgotten_since(ctx, &undone.level.at);
            undone.notices.extend(forgotten);
        }
        undone
    });
    begun.answer(done, |undone| &mut undone.notices)
}

/// Who takes part in a step beside this repository.
struct Along {
    /// The swap over all members of a workspace that the level which is meant was part of.
    id: Option<String>,
    /// The members of today that took part in it.
    partners: Vec<Partner>,
    /// Those that took part and are members no more. They find home with a return of their own.
    left: Vec<String>,
}

impl Along {
    fn left_out(&self) -> Vec<String> {
        let left = self.left.iter();
        left.map(|path| format!("'{path}' is not a member any more and stays as it is"))
            .collect()
    }
}

/// Who takes part in the step that is meant.
///
/// # Errors
/// `WORKSPACE_MEMBER` in a member, where the step is one of the whole workspace; in the head, when it leads into a past that a member
/// of today has no part in.
fn along(ctx: &Context<'_>, store: &Store, request: &StepRequest) -> Result<Along> {
    let mut along = Along {
        id: None,
        partners: Vec::new(),
        left: Vec::new(),
    };
    let (view, tie) = match find_level(store, request) {
        Ok((number, _, level)) => (level_view(number, &level), Tie::of(&level)),
        // That there is none is said where it is looked for again.
        Err(error) if error.code() == Code::NothingToUndo => return Ok(along),
        Err(error) => return Err(error),
    };
    // What comes later in the log is put back without leaving one's time.
    let leads_into_past = view.level == 1 && view.leads_into_past();
    let is_of_member = tie.as_ref().is_some_and(|tie| !tie.head_git_dir.is_empty());
    if is_of_member || leads_into_past {
        workspaces::refuse_member(ctx, &request.log.into())?;
    } else if view.level == 1 && view.leads_home() {
        workspaces::refuse_member_of_stay(ctx, &request.log.into())?;
    }
    let (id, mut left) = match tie {
        Some(tie) if !is_of_member => (Some(tie.id), tie.members),
        _ => (None, Vec::new()),
    };
    for partner in workspaces::partners(ctx)? {
        if left.contains(&partner.path) {
            left.retain(|path| *path != partner.path);
            along.partners.push(partner);
        } else if leads_into_past {
            return Err(partner.has_no_part(request.log));
        }
    }
    Ok(Along { id, left, ..along })
}

/// Says so when snapshots were dropped or purged after the swap: whoever means to take that back takes something else back here.
fn forgotten_since(ctx: &Context<'_>, at: &str) -> Vec<String> {
    let Some(at) = Moment::parse_rfc3339(at) else {
        return Vec::new();
    };
    let events = event_log::ref_events(&ctx.state_dir()).unwrap_or_default();
    let later = |event: &&RefEvent| Moment::parse_rfc3339(&event.at).is_some_and(|then| then > at);
    let since = |fate: RefFate| events.iter().filter(later).any(|event| event.event == fate);
    let dropped = since(RefFate::Dropped).then(|| {
        "snapshots that were dropped since stay away: 'tw recover --dropped' lists them".to_owned()
    });
    let purged =
        since(RefFate::Purged).then(|| "what was purged since stays away for good".to_owned());
    dropped.into_iter().chain(purged).collect()
}

/// One step over a level of a log.
struct Step<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    /// The swap that is taken back.
    level: Journal,
    view: LevelView,
    reversal: Reversal,
    dry_run: DryRun,
}

impl<'a> Step<'a> {
    fn find(ctx: &'a Context<'a>, store: &'a Store, request: &StepRequest) -> Result<Self> {
        let log = request.log;
        let (number, file, level) = find_level(store, request)?;
        let view = level_view(number, &level);
        // A dry run goes nowhere, and says where it would lead.
        if view.leads_into_past() && !request.into_past && request.dry_run == DryRun::No {
            return Err(into_past(log, &view));
        }
        let reversal = Reversal {
            log,
            level: undo_log::name_of(&file),
            kind: view.operation.clone(),
        };
        Ok(Self {
            ctx,
            store,
            level,
            view,
            reversal,
            dry_run: request.dry_run,
        })
    }

    fn run(&self) -> Result<Undone> {
        if self.view.level > 1 {
            return self.take_back_alone();
        }
        // By what it did to the mode, not by its name: an undo or a redo is a level like any other.
        match (self.level.state_before.mode, self.level.state_after.mode) {
            (Mode::Present, Mode::Past) => self.go_home(),
            (Mode::Past, Mode::Present) => self.go_back(),
            (Mode::Past, Mode::Past) if self.is_hop() => self.cross_back(),
            (Mode::Present, Mode::Present) | (Mode::Past, Mode::Past) => self.put_back(),
        }
    }

    /// Undo of a travel: a return.
    fn go_home(&self) -> Result<Undone> {
        let state = self.store.dir.state()?;
        let closing = Closing::of(&state);
        let leads_elsewhere = self.leads_elsewhere(&state);
        let operation =
            ReturnOperation::new(self.ctx, self.store, state)?.reversing(self.reversal.clone());
        let request = Return::default();
        if self.dry_run == DryRun::Yes {
            let would = operation.dry_run(&request)?;
            return Ok(Undone {
                stayed: would.aftermath.stayed,
                notices: leads_elsewhere.into_iter().collect(),
                ..self.would(would.changes)
            });
        }
        let mut returned = operation.run(&request)?;
        returned.notices.extend(leads_elsewhere);
        let renamed = returned.aftermath.moved_aside.iter();
        let renamed =
            renamed.map(|moved| renamed_notice(&moved.from.display(), &moved.to.display()));
        returned.notices.extend(renamed);
        if let Some(closing) = closing {
            let said = close_run(
                self.ctx,
                &closing,
                &returned.backup_id,
                returned.experiment_id.as_deref(),
            );
            returned.notices.extend(said);
        }
        Ok(Undone {
            dry_run: false,
            backup_id: Some(returned.backup_id),
            experiment_id: returned.experiment_id,
            changed_since: returned.aftermath.changed_since.clone(),
            stayed: returned.aftermath.stayed.clone(),
            head_stayed: returned.aftermath.head.reason.map(HeadStays::Detached),
            returned: Some(returned.aftermath),
            notices: returned.notices,
            ..self.would(returned.changes)
        })
    }

    /// Says so when home is not what the swap that is taken back had left: who had come home in between, and undid that, has changed the
    /// present, or kept something of the past in it.
    fn leads_elsewhere(&self, state: &State) -> Option<String> {
        let first = &self.level.backup_id;
        let is_undo = self.reversal.log == Log::Undo;
        let home = state
            .backup_id
            .as_ref()
            .filter(|home| is_undo && *home != first)?;
        let saved = |id: &str, commit: Option<&str>| {
            self.store.read_noted(&SnapshotId::parse(id)?, commit).ok()
        };
        let before = saved(first, Some(&self.level.backup_commit))?;
        let now = saved(home, state.backup_commit.as_deref())?;
        (before.tree != now.tree).then(|| {
            format!(
                "this leads to the present as it was before the return was undone; files as they were before the {} are in {first}: 'tw restore {first}'",
                self.view.operation
            )
        })
    }

    fn is_hop(&self) -> bool {
        is_hop(&self.level)
    }

    /// What is said of a dry run.
    fn would(&self, changes: Changes) -> Undone {
        Undone {
            direction: self.reversal.log,
            operation: self.reversal.kind.clone(),
            level: self.view.clone(),
            dry_run: true,
            mode: self.level.state_before.mode,
            backup_id: None,
            experiment_id: None,
            changes,
            changed_since: Vec::new(),
            stayed: Vec::new(),
            returned: None,
            head_stayed: None,
            members: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// What is said of a swap that saved a backup. `stays`: what of git stayed since HEAD had moved.
    fn answer(
        &self,
        swapped: &Swapped<'_>,
        changed_since: Vec<RepoPath>,
        stays: Option<&str>,
    ) -> Undone {
        let mut notices = swap_notices(&swapped.applied);
        notices.extend(stays.map(|what| format!("HEAD has moved since, so {what}")));
        Undone {
            dry_run: false,
            mode: swapped.state.mode,
            backup_id: Some(swapped.saved.id.to_string()),
            changed_since,
            head_stayed: stays.map(|_| HeadStays::Moved),
            notices,
            ..self.would(swapped.changes())
        }
    }

    fn head_moved(&self) -> Result<bool> {
        Ok(!self.level.head_left.is_empty() && head_mark(self.ctx)? != self.level.head_left)
    }

    /// What the swap that is taken back had saved.
    fn saved(&self, missing: &'static str) -> Result<Stored> {
        let id = SnapshotId::parse(&self.level.backup_id)
            .ok_or_else(|| Error::new(Code::CorruptRecord, missing))?;
        self.store.read_noted(&id, Some(&self.level.backup_commit))
    }

    /// For a dry run: the paths that the goal would touch.
    fn dry_changes(&self, goal: &Goal<'_>) -> Result<Option<Changes>> {
        if self.dry_run == DryRun::No {
            return Ok(None);
        }
        let prepared = prepare(self.ctx, self.store, goal, &Storing::No)?;
        Ok(Some(changes(&prepared.plan)))
    }

    /// Undo of anything that stayed in its time: the paths it touched, as they were.
    fn put_back(&self) -> Result<Undone> {
        let aim = self.paths_before()?;
        let entries = pathindex::read(&self.level, SwapSide::Before)?;
        // The recorded entries go with the HEAD of that time.
        let stays = entries.is_some() && self.head_moved()?;
        let entries = entries.filter(|_| !stays).unwrap_or_default();
        let entries = RefCell::new(EntryChanges::from(entries));
        let title = format!("before {} of {}", self.reversal.log, self.reversal.kind);
        let taken_back = RefCell::new(taken_back::read(&self.level));
        let goal = Goal::new(self.reversal.log.into(), title, Aim::Paths(aim))
            .git(GitGoal::Entries(&entries))
            .taking_back(&taken_back)
            .reversing(Some(self.reversal.clone()));
        if let Some(changes) = self.dry_changes(&goal)? {
            return Ok(self.would(changes));
        }
        let state_after = |before: &State, _: &Made<'_>| before.clone();
        let swapped = swap(self.ctx, self.store, &goal, &state_after)?;
        let Since {
            mut changed,
            beyond,
        } = self.since(&swapped)?;
        changed.extend(self.staged_since(&swapped, &entries.borrow().all())?);
        changed.sort();
        changed.dedup();
        let stays = stays.then_some("the index stayed as it is");
        let mut answer = self.answer(&swapped, changed, stays);
        answer.notices.extend((!beyond.is_empty()).then(|| {
            format!(
                "no backup can have what is there now, so it stays: {}",
                path::listed(beyond.iter(), 5)
            )
        }));
        Ok(answer)
    }

    /// The side that the level's paths came from.
    fn paths_before(&self) -> Result<PathsAim> {
        let mut changes = PathChanges::default();
        let mut forced = BTreeSet::new();
        let root = Root::open(self.ctx.repo.worktree_root())?;
        for entry in &self.level.entries {
            let path = path_of(&entry.path)?;
            let stamp = root.stamp(&path).ok().flatten();
            // Ignored by now, maybe: it is replaced, so the backup has to have it.
            if stamp.is_some_and(|stamp| stamp.is_file() || stamp.is_symlink()) {
                forced.insert(path.clone());
            }
            changes.paths.push((path, side_of(entry.before.as_ref())?));
        }
        for dir in &self.level.dirs {
            let path = path_of(&dir.path)?;
            let before = permissions_of(dir.before.as_deref())?;
            // Bits that the swap did not change are whoever's who changed them since.
            let now = root.dir_stamp(&path).filter(|_| dir.before == dir.after);
            changes
                .dirs
                .push((path, now.map(|now| now.permissions()).or(before)));
        }
        let from = self.saved("the undo log names no backup")?;
        Ok(PathsAim {
            changes,
            forced,
            saved: stored_extras(self.store, &from)?,
            from: vec![from],
        })
    }

    /// What was made since at the paths of the level.
    fn since(&self, swapped: &Swapped<'_>) -> Result<Since> {
        let manifest = &swapped.saved.capture.manifest;
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let is_there = |path: &[u8]| !matches!(root.stamp(path), Ok(None));
        let mut known = BTreeSet::new();
        let (mut changed, mut beyond) = (Vec::new(), Vec::new());
        for entry in &self.level.entries {
            let path = path_of(&entry.path)?;
            let after = side_of(entry.after.as_ref())?;
            let seen = node_in(manifest, &path);
            let is_captured = seen.is_some() || manifest.find_dir(&path).is_some();
            // Where something comes back, such a thing is refused.
            if entry.before.is_none() && !is_captured && is_there(&path) {
                beyond.push(path.clone());
            } else if seen != after.map(|side| side.node) || has_other_bits(manifest, &path, after)
            {
                changed.push(RepoPath::new(path.clone()));
            }
            known.insert(path);
        }
        // What was made since where a file comes back.
        let touched = swapped.plan.entries.iter().map(|entry| &entry.path);
        let others = touched.filter(|path| !known.contains(*path));
        changed.extend(others.map(|path| RepoPath::new(path.clone())));
        for dir in &self.level.dirs {
            let path = path_of(&dir.path)?;
            let left = permissions_of(dir.after.as_deref())?;
            let now = swapped.plan.dir(&path).and_then(|taken| taken.before);
            if dir.before != dir.after && left.is_some() && now.is_some() && now != left {
                changed.push(RepoPath::new(path));
            }
        }
        Ok(Since { changed, beyond })
    }

    /// What was staged since at the paths whose index entries were put back, or where those could not stand beside it.
    fn staged_since(&self, swapped: &Swapped<'_>, put: &PathEntries) -> Result<Vec<RepoPath>> {
        let left = pathindex::read(&self.level, SwapSide::After)?.unwrap_or_default();
        let Some(index) = &swapped.saved.capture.parsed_index else {
            return Ok(Vec::new());
        };
        let is_other = |path: &&Vec<u8>| {
            let left = left.get(*path).map(Vec::as_slice).unwrap_or_default();
            !pathindex::are_alike(index.stages(path), left)
        };
        let paths = put.keys().filter(is_other);
        Ok(paths.map(|path| RepoPath::new(path.clone())).collect())
    }
}

/// What was made since a swap at the paths that it touched, and that nobody asked to take back.
struct Since {
    /// It is in the backup.
    changed: Vec<RepoPath>,
    /// It was to go, cannot be captured, and stays.
    beyond: Vec<Vec<u8>>,
}

/// The level that is meant, with its number and file.
fn find_level(store: &Store, request: &StepRequest) -> Result<(usize, PathBuf, Journal)> {
    let log = request.log;
    let files = undo_log::files(&store.dir, log)?;
    if files.is_empty() {
        return Err(nothing_to(log));
    }
    for (number, file) in (1..).zip(files.into_iter().rev()) {
        let level: Option<Journal> = read_json(&file)?;
        let level = level.ok_or_else(|| {
            Error::new(Code::CorruptRecord, format!("'{}' is gone", file.display()))
        })?;
        let is_meant = match &request.level {
            Some(word) => level_view(number, &level).is_named(word),
            None => true,
        };
        if is_meant {
            return Ok((number, file, level));
        }
    }
    let word = request.level.as_deref().unwrap_or_default();
    Err(no_such_level(log, word))
}

fn nothing_to(log: Log) -> Error {
    Error::new(Code::NothingToUndo, format!("nothing to {log}"))
        .hint("'tw list --kind backup' shows what was saved")
        .hint("'tw recover --dropped' lists the snapshots that were dropped")
}

fn no_such_level(log: Log, word: &str) -> Error {
    Error::new(Code::NothingToUndo, format!("no swap '{word}' to {log}"))
        .hint(format!("'tw {log} --list' shows those there are"))
}

fn into_past(log: Log, view: &LevelView) -> Error {
    let to = view.snapshot_id.as_deref().unwrap_or("a snapshot");
    Error::new(
        Code::NotApproved,
        format!(
            "to {log} this {} is to go into the past, to {to}",
            view.operation
        ),
    )
    .hint(format!("when you mean it: 'tw {log} --into-past'"))
    .hint(format!("'tw {log} --list' shows what comes next"))
    .detail(SWAP_ID, view.swap_id.clone())
}

/// Whether a file has other permission bits than it was left with.
fn has_other_bits(manifest: &Manifest, path: &[u8], left: Option<Side>) -> bool {
    let file = manifest.file(path).filter(|file| file.kind == Kind::File);
    let bits = file.map(|file| file.stamp.permissions());
    bits.zip(left).is_some_and(|(bits, left)| bits != left.perm)
}

fn node_in(manifest: &Manifest, path: &[u8]) -> Option<Node> {
    let file = manifest.file(path)?;
    matches!(file.kind, Kind::File | Kind::Symlink).then(|| Node {
        mode: file.git_mode,
        oid: file.oid,
    })
}
