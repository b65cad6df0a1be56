//! Come home: what is there becomes an experiment, the backup is put back exactly, and that is proved before it counts.

mod aside;
mod guard;
mod stayed;

use std::collections::BTreeSet;

use super::Context;
use super::capture::{BeforeHashing, Capture, Storing};
use super::issue::{Closing, close_run};
use super::outcome::{CommitMade, HeadReport, MovedAside, Returned};
use super::request::{DryRun, Return};
use super::swap::head::{head_for, is_past_branch};
use super::swap::newindex::IndexGoal;
use super::swap::notices::swap_notices;
use super::swap::prove::{Claim, prove};
use super::swap::{
    Aim, FindHidden, Goal, HeadGoal, Hidden, Logging, OperationGoal, Swapped, changes, look,
    read_tree, stored_extras, swap,
};
use super::swap::{recover, undo_log};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{Root, Stamp};
use crate::git::path::{self, RepoPath};
use crate::git::tree;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::names;
use crate::store::snapshot::Lists;
use crate::store::state::{Mode, State};
use crate::store::stored::Stored;
use crate::worktree::manifest::{FileFlags, Kind, Manifest};
use crate::worktree::plan::EmptyDirs;
use aside::move_aside;
use guard::Stay;

/// Returns.
///
/// # Errors
/// `NOT_IN_PAST`, `NOT_APPROVED` for a wrong guard token, `WOULD_OVERWRITE` (with the command that gets home),
/// `VERIFY_FAILED`, `BUSY`, `INTERRUPTED`.
pub fn return_(ctx: &Context<'_>, request: &Return) -> Result<Returned> {
    let store = ctx.store()?;
    if request.dry_run == DryRun::Yes {
        recover::refuse_interrupted(store)?;
        let state = store.dir.state()?;
        guard::check(&state, &request.guard)?;
        return ReturnOperation::new(ctx, store, state)?.dry_run(request);
    }
    let lock = ctx.lock(&store.dir, "return")?;
    let recovered = recover::recover_locked(ctx, store, &lock)?;
    let state = store.dir.state()?;
    if state.mode == Mode::Present && !recovered.is_empty() {
        return Err(not_in_past().hint("an interrupted return was finished just now"));
    }
    let taken_over = guard::check(&state, &request.guard)? == Stay::AnothersTakenOver;
    let closing = Closing::of(&state);
    let mut operation = ReturnOperation::new(ctx, store, state)?;
    operation.taken_over = taken_over;
    let mut returned = operation.go(request, Logging::NewLevel)?;
    if let Some(closing) = closing {
        returned.notices.extend(close_run(ctx, &closing, &returned));
    }
    if taken_over {
        returned
            .notices
            .extend(guard::record(ctx, store, &returned));
    }
    returned.notices.splice(0..0, recovered);
    drop(lock);
    Ok(returned)
}

/// The way home of an undo of this kind of swap, under a lock that is held.
pub fn return_as(
    ctx: &Context<'_>,
    store: &Store,
    logging: Logging,
    reverses: String,
) -> Result<Returned> {
    let state = store.dir.state()?;
    let closing = Closing::of(&state);
    let mut operation = ReturnOperation::new(ctx, store, state)?;
    operation.reverses = Some(reverses);
    let mut returned = operation.go(&Return::default(), logging)?;
    if let Some(closing) = closing {
        returned.notices.extend(close_run(ctx, &closing, &returned));
    }
    Ok(returned)
}

fn not_in_past() -> Error {
    Error::new(Code::NotInPast, "not in the past").hint("run 'tw travel SNAPSHOT' to go there")
}

struct ReturnOperation<'a, 's> {
    ctx: &'a Context<'a>,
    store: &'s Store,
    state: State,
    backup: Stored,
    lists: Lists,
    /// The snapshot that the past started from.
    start: Option<Stored>,
    /// Paths that travel made: they go, whatever the present's rules say.
    made: BTreeSet<Vec<u8>>,
    /// For undo and redo: the kind of the swap they reverse.
    reverses: Option<String>,
    /// The caller is not the one who travelled.
    taken_over: bool,
}

impl<'a, 's> ReturnOperation<'a, 's> {
    fn new(ctx: &'a Context<'a>, store: &'s Store, state: State) -> Result<Self> {
        if state.mode == Mode::Present {
            return Err(not_in_past());
        }
        let id = state.backup_id.as_deref().and_then(SnapshotId::parse);
        let id = id.ok_or_else(|| {
            Error::new(Code::CorruptRecord, "state.json names no backup")
                .hint("run 'tw list --kind backup' and 'tw restore' the one you came from")
        })?;
        let backup = store
            .read_noted(&id, state.backup_commit.as_deref())
            .context(|| "the backup of the present cannot be read")?;
        let lists = store.lists(&backup)?;
        let start = state
            .current_snapshot_id
            .as_deref()
            .and_then(SnapshotId::parse);
        let start = start.and_then(|id| store.read_id(&id).ok());
        let made = match &state.swap_id {
            Some(swap_id) => undo_log::made_by(store, swap_id)?,
            None => BTreeSet::new(),
        };
        Ok(Self {
            ctx,
            store,
            state,
            backup,
            lists,
            start,
            made,
            reverses: None,
            taken_over: false,
        })
    }

    /// HEAD's bytes for the present, and what is said of them.
    fn head(&self) -> Result<(String, HeadReport)> {
        head_for(self.ctx, self.store, &self.backup)
    }

    fn goal<'g>(
        &'g self,
        keep: Vec<Vec<u8>>,
        raw_head: String,
        hidden: FindHidden<'g>,
        before_hashing: Option<BeforeHashing<'g>>,
        logging: Logging,
    ) -> Result<Goal<'g>> {
        let mut extra = serde_json::Map::new();
        if let Some(start) = &self.start {
            extra.insert("started_from".into(), start.id.to_string().into());
        }
        if self.taken_over {
            extra.insert("taken_over".into(), true.into());
        }
        Ok(Goal {
            operation: "return",
            reverses: self.reverses.clone(),
            aim: Aim::Tree {
                tree: self.backup.tree,
                extras: stored_extras(self.store, &self.backup)?,
                only: Vec::new(),
                empty_dirs: EmptyDirs::Go,
                made_before: self.made.clone(),
                keep,
            },
            target: Some(&self.backup),
            also_from: &[],
            index: IndexGoal::Snapshot {
                stored: &self.backup,
                lists: &self.lists,
            },
            head: HeadGoal::Raw(raw_head),
            operation_files: OperationGoal::Set(self.store.operation(&self.backup)?),
            saves_as: IdKind::Experiment,
            title: match &self.start {
                Some(start) => format!("experiment on {}", start.id),
                None => "experiment".to_owned(),
            },
            extra,
            forced: BTreeSet::new(),
            hidden: Some(hidden),
            before_hashing,
            logging,
            way_out: &[
                "tw return --move-aside",
                "or move these paths away yourself and run 'tw return' again",
            ],
        })
    }

    /// What the present's rules or the past's would hide from the experiment.
    fn hidden(&self, seen: &Capture<'_>) -> Result<Hidden> {
        let read = |oid| read_tree(self.store, seen, oid);
        let rules_differ = tree::diff(&read, Some(seen.tree), Some(self.backup.tree))?
            .iter()
            .any(|change| path::split(&change.path).1 == b".gitignore");
        let root = Root::open(self.ctx.repo.worktree_root())?;
        // What is forced in already would be hidden without that.
        let mut forced: BTreeSet<Vec<u8>> = seen.forced.clone();
        let mut consider = |path: &[u8]| {
            let file = seen.manifest.file(path);
            let hidden = file.is_none_or(|file| !file.kind.in_tree());
            let is_plain = |stamp: Stamp| stamp.is_file() || stamp.is_symlink();
            if hidden && matches!(root.stamp(path), Ok(Some(stamp)) if is_plain(stamp)) {
                forced.insert(path.to_vec());
            }
        };
        for path in &self.made {
            consider(path);
        }
        if let Some(start) = &self.start {
            for change in tree::diff(&read, Some(start.tree), Some(seen.tree))? {
                if change.new.is_none() {
                    consider(&change.path);
                }
            }
        }
        Ok(Hidden {
            // On disk are the past's rules; the present's are the other side.
            other_rules: rules_differ.then_some(self.backup.tree),
            forced,
        })
    }

    fn dry_run(&self, request: &Return) -> Result<Returned> {
        let keep = self.keep(request)?;
        let (raw_head, head) = self.head()?;
        let hidden = |seen: &Capture<'_>| self.hidden(seen);
        let goal = self.goal(keep.clone(), raw_head, &hidden, None, Logging::NewLevel)?;
        let looked = look(self.ctx, self.store, &goal, &Storing::No)?;
        Ok(Returned {
            mode: Mode::Present,
            backup_id: self.backup.id.to_string(),
            experiment_id: None,
            dry_run: true,
            verified: false,
            changes: changes(&looked.plan),
            changed_since: Vec::new(),
            head,
            commits_made: Vec::new(),
            stayed: Vec::new(),
            moved_aside: Vec::new(),
            discarded: Vec::new(),
            kept: keep.into_iter().map(RepoPath::new).collect(),
            notices: Vec::new(),
        })
    }

    fn keep(&self, request: &Return) -> Result<Vec<Vec<u8>>> {
        let mut keep = Vec::new();
        for word in &request.keep {
            let path = self.ctx.repo_path(word)?;
            let root = Root::open(self.ctx.repo.worktree_root())?;
            if path.is_empty() || root.stamp(&path)?.is_none() {
                let shown = path::display(word.as_encoded_bytes());
                return Err(Error::new(
                    Code::PathNotFound,
                    format!("'{shown}' is not here to be kept"),
                )
                .hint("--keep names files of the past that stay in the working tree"));
            }
            keep.push(path);
        }
        Ok(keep)
    }

    fn go(&self, request: &Return, logging: Logging) -> Result<Returned> {
        let keep = self.keep(request)?;
        let (raw_head, head) = self.head()?;
        let commits_made = self.commits_made()?;
        let hidden = |seen: &Capture<'_>| self.hidden(seen);
        let discarded = std::cell::RefCell::new(Vec::new());
        let limit = |manifest: &mut Manifest| self.limit(manifest, request.discard, &discarded);
        let mut goal = self.goal(
            keep.clone(),
            raw_head.clone(),
            &hidden,
            Some(&limit),
            logging,
        )?;
        let moved_aside = if request.move_aside {
            move_aside(self.ctx, self.store, &goal, self.backup.id.tail())?
        } else {
            Vec::new()
        };
        if let Aim::Tree { keep, .. } = &mut goal.aim {
            // Under its new name it may be a file like any other: it stays all the same.
            keep.extend(moved_aside.iter().map(|(_, to)| to.clone()));
        }
        let stayed = self.stayed();
        let state_after = |before: &State, _: &super::record::Made<'_>, swap_id: &str| State {
            mode: Mode::Present,
            current_snapshot_id: None,
            backup_id: None,
            backup_path: None,
            backup_commit: None,
            entered_at: None,
            guard_token: None,
            issue_id: None,
            swap_id: Some(swap_id.to_owned()),
            files_only: false,
            ..before.clone()
        };
        let extras = stored_extras(self.store, &self.backup)?;
        let operation = self.store.operation(&self.backup)?;
        let backup_ref = names::snapshot_ref(&self.backup.id);
        let proving = |capture: &Capture<'_>,
                       applied: &crate::worktree::apply::Applied,
                       _: &crate::worktree::plan::Plan| {
            let discarded: Vec<Vec<u8>> = discarded.borrow().clone();
            let except: Vec<Vec<u8>> = keep
                .iter()
                .cloned()
                .chain(discarded)
                .chain(moved_aside.iter().map(|(_, to)| to.clone()))
                .collect();
            let claim = Claim {
                tree: self.backup.tree,
                extras: &extras,
                forced: self.lists.forced.iter().cloned().collect(),
                index: (&self.backup, &self.lists),
                raw_head: &raw_head,
                operation: &operation,
                except: &except,
                anchor: (&backup_ref, self.backup.commit, self.backup.index_commit),
            };
            prove(self.ctx, self.store, &claim, capture, applied)
        };
        let swapped = swap(self.ctx, self.store, &goal, &state_after, Some(&proving))?;
        let discarded = discarded.into_inner();
        Ok(self.answer(
            swapped,
            head,
            commits_made,
            stayed,
            moved_aside,
            discarded,
            keep,
        ))
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one answer, each made at its own time"
    )]
    fn answer(
        &self,
        swapped: Swapped<'_>,
        head: HeadReport,
        commits_made: Vec<(crate::git::Oid, String)>,
        stayed: Vec<RepoPath>,
        moved_aside: Vec<(Vec<u8>, Vec<u8>)>,
        discarded: Vec<Vec<u8>>,
        keep: Vec<Vec<u8>>,
    ) -> Returned {
        let paths = |list: Vec<Vec<u8>>| list.into_iter().map(RepoPath::new).collect();
        let mut notices: Vec<String> = swap_notices(&swapped.applied).into_iter().collect();
        if let Some(reason) = &head.reason {
            notices.push(head_notice(reason, &head));
        }
        if let Some((oid, _)) = commits_made.first() {
            notices.push(format!(
                "commits were made in the past; to keep them on a branch: git branch NAME {oid}"
            ));
        }
        Returned {
            mode: Mode::Present,
            backup_id: self.backup.id.to_string(),
            experiment_id: Some(swapped.saved.id.to_string()),
            dry_run: false,
            verified: true,
            changes: swapped.changes(),
            changed_since: paths(swapped.proof.unwrap_or_default().changed_since),
            head,
            commits_made: commits_made
                .into_iter()
                .map(|(oid, title)| CommitMade { oid, title })
                .collect(),
            stayed,
            moved_aside: moved_aside
                .into_iter()
                .map(|(from, to)| MovedAside {
                    from: RepoPath::new(from),
                    to: RepoPath::new(to),
                })
                .collect(),
            discarded: paths(discarded),
            kept: paths(keep),
            notices,
        }
    }

    fn commits_made(&self) -> Result<Vec<(crate::git::Oid, String)>> {
        let base = self.start.as_ref().and_then(|start| start.head);
        let head = self.ctx.repo.head()?;
        let ours = head.reference.as_deref();
        let ours = ours.filter(|branch| is_past_branch(branch));
        match head.oid {
            Some(tip) if Some(tip) != base && Some(tip) != self.backup.head => {
                self.ctx.repo.commits_on_head_alone(tip, base, ours)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Untracked files made in the past over the limit: refused, or with `--discard` left out and left in place.
    fn limit(
        &self,
        manifest: &mut Manifest,
        discard: bool,
        discarded: &std::cell::RefCell<Vec<Vec<u8>>>,
    ) -> Result<()> {
        let read = |oid| self.store.objects.read_tree(oid);
        // Each with the places of its directory and its own.
        let mut large: Vec<((usize, usize), Vec<u8>, u64)> = Vec::new();
        for (at, nth, file) in manifest.files_in_memory() {
            let new = file.flags.has(FileFlags::TO_HASH)
                && !file.flags.has(FileFlags::TRACKED)
                && file.kind == Kind::File;
            if new && file.stamp.size > 0 {
                let path = manifest.path_of(&manifest.dirs[at], &file);
                large.push(((at, nth), path, file.stamp.size));
            }
        }
        let total: u64 = large.iter().map(|(_, _, size)| size).sum();
        if total <= self.ctx.settings.experiment_limit {
            return Ok(());
        }
        let mut made = Vec::new();
        for (at, path, size) in large {
            let known = tree::find(&read, self.backup.tree, &path)?.is_some()
                || self.start.as_ref().is_some_and(|start| {
                    matches!(tree::find(&read, start.tree, &path), Ok(Some(_)))
                });
            if !known {
                made.push((at, path, size));
            }
        }
        made.sort_by_key(|(_, _, size)| std::cmp::Reverse(*size));
        let total: u64 = made.iter().map(|(_, _, size)| size).sum();
        if total <= self.ctx.settings.experiment_limit {
            return Ok(());
        }
        if !discard {
            let paths: Vec<String> = made
                .iter()
                .map(|(_, path, _)| String::from_utf8_lossy(path).into_owned())
                .collect();
            return Err(Error::new(
                Code::WouldOverwrite,
                format!(
                    "the past holds {} MiB of new untracked files, more than experiments keep",
                    total >> 20
                ),
            )
            .detail("paths", paths)
            .hint("tw return --discard (leaves them out of the experiment, and in place)")
            .hint("or raise the limit: git config timewarp.experimentLimit 10g"));
        }
        let mut over = total;
        let mut left = discarded.borrow_mut();
        left.clear();
        for ((at, nth), path, size) in made {
            if over <= self.ctx.settings.experiment_limit {
                break;
            }
            over -= size;
            if let Some(file) = manifest.files_mut(at).get_mut(nth) {
                file.kind = Kind::TooLarge;
                file.flags = FileFlags::NONE;
                file.git_mode = 0;
            }
            left.push(path);
        }
        left.sort();
        Ok(())
    }

    /// Directories left out of snapshots whose content changed since the past was entered.
    fn stayed(&self) -> Vec<RepoPath> {
        let Some(entered) = self
            .state
            .entered_at
            .as_deref()
            .and_then(crate::env::Moment::parse_rfc3339)
        else {
            return Vec::new();
        };
        stayed::changed_dirs(self.ctx.repo.worktree_root(), &self.backup, entered)
    }
}

fn head_notice(reason: &str, head: &HeadReport) -> String {
    let branch = head.reference.as_deref().unwrap_or("the branch");
    let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    let oid = head.oid.map(|oid| oid.to_string()).unwrap_or_default();
    match reason {
        "branch-moved" => format!(
            "'{short}' has moved since you left it, so HEAD stays detached at {oid}; to see what is new there: git log HEAD..{short}"
        ),
        "branch-gone" => format!(
            "'{short}' is gone, so HEAD stays detached at {oid}; to make it again: git switch -c {short}"
        ),
        "branch-broken" => format!(
            "'{short}' is broken, as after a crash, so HEAD stays detached at {oid}; to make it again, remove '{branch}' in the git directory, then: git switch -c {short}"
        ),
        _ => format!(
            "'{short}' is checked out in another worktree now, so HEAD stays detached at {oid}; to go on here: git switch -c NAME"
        ),
    }
}
