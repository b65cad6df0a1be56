//! Taking files, a secret that slipped in, out of everything that `tw` keeps.
//!
//! Snapshots, backups and experiments are written anew without the paths: their trees, index commits, conflict stages and
//! lists. Refs, labels and notes move from old to new in one transaction, and undo levels and states that name the old commits
//! follow. What was exchanged of snapshots with a remote goes whole. It ends with what it cannot reach. The old bytes are git's to delete:
//! the outcome names the command. In a private repository they go at once, but for those in packs that git made.

mod elsewhere;
mod follow;
mod rewrite;

pub use elsewhere::summed;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use super::Context;
use super::event_log::{self, RefEvent, RefFate};
use super::holders::record_tips;
use super::outcome::{Purged, Rewritten};
use super::request::DryRun;
use super::sharing::{forget_sent_snapshots, sent_snapshots};
use super::stray_notes::joined;
use super::swap::renamed::{Moved, last};
use super::worktrees::{self, Worktree, unreadable};
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::durable::sync_everything;
use crate::git::fs::{self, Durable};
use crate::git::notes::prepare_moved_notes;
use crate::git::objects::{NewObjects, ObjectWriter, Reclaimed, Thoroughness, WriteMode};
use crate::git::path::RepoPath;
use crate::git::refs::Transaction;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::lock::{Hold, Owner, WorktreeLock};
use crate::store::names;
use crate::store::state::{Mode, WORKSHOP};
use crate::text::{typed_bytes, typed_path};
use crate::worktree::apply::workshop;
use crate::worktree::cache;
use crate::worktree::capture::{HashOnly, Sink};
use rewrite::Rewriter;

/// Take files out of every snapshot.
#[derive(Debug, Clone, Default)]
pub struct Purge {
    /// Literal paths, relative to the current directory.
    pub paths: Vec<OsString>,
    /// List only.
    pub dry_run: DryRun,
}

/// What makes git delete the old bytes; `git` is how it is called for the repository.
fn finish_with(git: &str) -> String {
    format!("{git} reflog expire --expire=now --all && {git} gc --prune=now")
}

/// Takes paths (files, or directories with all that is in them) out of every snapshot, backup and experiment.
///
/// # Errors
/// `USAGE` for the whole working tree; `PATH_NOT_FOUND` when neither they nor any other place that is looked into has one of the paths,
/// or had one until an earlier purge; `HELD` while any worktree is in the past or has an unfinished swap; `BUSY`.
pub fn purge(ctx: &Context<'_>, request: &Purge) -> Result<Purged> {
    let store = ctx.store()?;
    let mut paths: Vec<Vec<u8>> = Vec::new();
    for word in &request.paths {
        let path = ctx.repo_path(word)?;
        if path.is_empty() {
            return Err(
                Error::new(Code::Usage, "the whole working tree cannot be purged")
                    .hint("'tw drop' forgets whole snapshots"),
            );
        }
        paths.push(path);
    }
    paths.sort();
    paths.dedup();
    let worktrees = worktrees::all(&ctx.repo)?;
    let purging = Purging {
        ctx,
        store,
        paths: &paths,
        worktrees: &worktrees,
    };
    if request.dry_run == DryRun::Yes {
        purging.refuse()?;
        // Computes the new ids without storing anything.
        let mut found = purging.rewrite(&HashOnly(store.objects.format()))?;
        purging.look_elsewhere(&mut found)?;
        found.unreached.extend(sent_snapshots(store)?);
        return Ok(purging.answer(DryRun::Yes, found));
    }
    let mut locks = Vec::new();
    for worktree in &worktrees {
        let dir = worktree.dir.path();
        let timeout = ctx.settings.lock_timeout;
        locks.push(WorktreeLock::acquire(
            dir,
            Hold::Exclusive,
            "purge",
            timeout,
        )?);
    }
    purging.refuse()?;
    // The refusals were asked again under the locks: before them a swap could still begin.
    purging.settle()?;
    let mut found = purging.carry_out()?;
    purging.look_elsewhere(&mut found)?;
    found.unreached.extend(forget_sent_snapshots(ctx, store)?);
    let reclaimed = super::reclaim::run(ctx, &worktrees, Thoroughness::Everything)?;
    let mut answer = purging.answer(DryRun::No, found);
    if ctx.repo.is_private() {
        answer.finish = purging.finish_without_git(reclaimed);
    }
    Ok(answer)
}

/// What was, or would be, rewritten: id, old commit, new commit; what could not be reached; and the paths that are known to be, or to
/// have been, somewhere.
struct PurgeResult {
    rewritten: Vec<(SnapshotId, Oid, Oid)>,
    unreached: Vec<String>,
    elsewhere: Vec<String>,
    found: BTreeSet<Vec<u8>>,
}

struct Purging<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    paths: &'a [Vec<u8>],
    worktrees: &'a [Worktree],
}

impl Purging<'_> {
    /// What really deletes the old bytes in a private repository, where no gc of git's runs; nothing when they are gone.
    fn finish_without_git(&self, reclaimed: Option<Reclaimed>) -> String {
        match reclaimed {
            Some(Reclaimed { left: 0, .. }) => String::new(),
            Some(_) => {
                let git_dir = typed_path(self.ctx.repo.common_dir());
                finish_with(&format!("git --git-dir={git_dir}"))
            }
            // Somebody else was clearing away: the same once more finds it done.
            None => {
                let root = self.ctx.repo.worktree_root();
                let paths = self.paths.iter();
                let paths = paths.map(|path| typed_path(&root.join(OsStr::from_bytes(path))));
                let paths: Vec<String> = paths.collect();
                format!("tw purge --yes-purge {}", paths.join(" "))
            }
        }
    }

    /// The past and unfinished swaps name commits that have to stay what they are.
    fn refuse(&self) -> Result<()> {
        for worktree in self.worktrees {
            let name = &worktree.name;
            let state = worktree
                .dir
                .state()
                .map_err(|error| unreadable(&self.ctx.repo, worktree, error))?;
            let held = |what: &str, command: &str| {
                let message = format!("worktree '{name}' {what}");
                let hint = worktrees::if_gone(&self.ctx.repo, worktree);
                let hint = hint.unwrap_or_else(|| format!("run '{command}' there first"));
                Err(Error::new(Code::Held, message).hint(hint))
            };
            if state.mode == Mode::Past {
                return held("is in the past", "tw return");
            }
            if worktree.dir.needs_recovery()? {
                return held("has an unfinished swap", "tw recover");
            }
        }
        Ok(())
    }

    /// No journal stays that names what is about to be replaced.
    fn settle(&self) -> Result<()> {
        if self
            .worktrees
            .iter()
            .any(|worktree| worktree.dir.is_unsettled())
        {
            sync_everything();
        }
        // What a swap replaced is nobody's any more, and nobody may find it after this.
        for worktree in self.worktrees {
            let at = worktree.dir.file(WORKSHOP);
            workshop::clear(&at).context(|| format!("cannot read '{}'", at.display()))?;
        }
        self.worktrees
            .iter()
            .try_for_each(|worktree| worktree.dir.settled())
    }

    fn rewrite(&self, sink: &dyn Sink) -> Result<PurgeResult> {
        let mut found = PurgeResult {
            rewritten: Vec::new(),
            unreached: Vec::new(),
            elsewhere: Vec::new(),
            found: BTreeSet::new(),
        };
        let mut rewriter = Rewriter::new(self.store, self.paths, sink);
        for kind in IdKind::ALL {
            for (name, commit) in self.store.refs.list(names::prefix(kind))? {
                let Some(id) = names::parse_snapshot_ref(&name) else {
                    continue;
                };
                match rewriter.snapshot(&id, commit) {
                    Ok(new) if new == commit => {}
                    Ok(new) => found.rewritten.push((id, commit, new)),
                    Err(error)
                        if matches!(error.code(), Code::CorruptRecord | Code::NewerRecord) =>
                    {
                        found
                            .unreached
                            .push(format!("'{id}' was not looked into: {}", error.message()));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        found.unreached.append(&mut rewriter.unreached);
        found.found.append(&mut rewriter.found);
        if !found.unreached.is_empty() {
            // What was not looked into may have any of them.
            found.found.extend(self.paths.iter().cloned());
        }
        // As lists have it: within a second by number, not by the random tail.
        found.rewritten.sort_by_cached_key(|(id, old, _)| {
            let seq = self.store.read(id, *old).map(|stored| stored.record.seq);
            std::cmp::Reverse((id.time(), seq.unwrap_or_default()))
        });
        Ok(found)
    }

    /// Objects, then the log, then all refs at once, then what follows them.
    fn carry_out(&self) -> Result<PurgeResult> {
        // Of an earlier purge that died before all that it moved had come along.
        let mut moved = self.moved_before()?;
        let keep_note = Owner::this_process("purge").line().trim_end().to_owned();
        let mode = WriteMode::Pack {
            keep_note,
            durable: Durable::Yes,
        };
        let writer = ObjectWriter::new(&self.store.objects, mode)?.afresh();
        let mut found = self.rewrite(&super::capture::Writing(&writer))?;
        let written = writer.finish()?;
        self.store.objects.refresh();
        let mut pairs = Vec::new();
        for (id, old, new) in &found.rewritten {
            // What cannot be read back must not replace what can.
            self.store.read(id, *new)?;
            pairs.push((*old, *new));
        }
        self.store.note_successors(&pairs)?;
        moved.extend(pairs);
        for worktree in self.worktrees {
            // Ids of the cache hang on commits that go.
            cache::remove(&worktree.dir.file("cache"))?;
        }
        let mut edit = self.store.refs.transaction();
        let mut notes = NewObjects::new(self.store.objects.format());
        let has_come_along = self.move_refs(&mut edit, &mut notes, &found, &moved)?;
        if has_come_along || !found.rewritten.is_empty() {
            edit.durable();
            let events: Vec<RefEvent> = found.rewritten.iter().map(|one| self.event(one)).collect();
            event_log::append(&self.store.dir, &events)?;
            fail_point("purge-logged");
            edit.commit_with(&self.store.objects, &notes)?;
            fail_point("purge-moved");
            // They are kept by commit, and may name what was purged.
            self.store.forget_summaries()?;
        }
        if self.follow(&moved)? || has_come_along {
            // If not of this purge, then of an earlier one, which has come to its end now.
            found.found.extend(self.paths.iter().cloned());
        }
        if let Some(pack) = written.pack {
            pack.release()?;
        }
        Ok(found)
    }

    fn event(&self, (id, old, new): &(SnapshotId, Oid, Oid)) -> RefEvent {
        RefEvent {
            at: self.ctx.env.now().rfc3339(),
            event: RefFate::Purged,
            reference: names::snapshot_ref(id),
            commit: new.to_string(),
            old_commit: Some(old.to_string()),
            id: id.to_string(),
        }
    }

    /// The refs of snapshots, and what comes along with them: labels and records. Answers whether any of those does.
    fn move_refs(
        &self,
        edit: &mut Transaction,
        notes: &mut NewObjects,
        found: &PurgeResult,
        moved: &Moved,
    ) -> Result<bool> {
        for (id, old, new) in &found.rewritten {
            edit.update(&names::snapshot_ref(id), *new, *old);
        }
        let to = |oid: Oid| Some(last(oid, moved)).filter(|new| *new != oid);
        let mut has_come_along = false;
        for (name, commit) in self.store.refs.list(names::LABELS)? {
            if let Some(new) = to(commit) {
                edit.update(&name, new, commit);
                has_come_along = true;
            }
        }
        let now = self.ctx.env.now();
        for record in record_tips(self.store)?.keys() {
            for name in record.note_ref().into_iter().chain([record.record_ref()]) {
                let Some(tip) = self.store.refs.read(&name)? else {
                    continue;
                };
                let into = (&self.store.objects, &mut *notes);
                let next = prepare_moved_notes(into, tip, (&to, joined), "purge", now)?;
                if let Some(next) = next {
                    edit.update(&name, next, tip);
                    has_come_along = true;
                }
            }
        }
        Ok(has_come_along)
    }

    /// What became of commits in earlier purges. One that died before it moved their ref is none: what names them is right.
    fn moved_before(&self) -> Result<Moved> {
        let mut moved = Moved::new();
        for worktree in self.worktrees {
            for event in event_log::ref_events(&worktree.dir)? {
                if let (RefFate::Purged, Some(old), Ok(new)) = (
                    &event.event,
                    event.old_commit.as_deref(),
                    Oid::from_hex(&event.commit),
                ) && let Ok(old) = Oid::from_hex(old)
                    && self.store.refs.read(&event.reference)? != Some(old)
                {
                    moved.insert(old, new);
                }
            }
        }
        Ok(moved)
    }

    /// States, undo levels and open directories name commits. Answers whether one had to change.
    fn follow(&self, moved: &Moved) -> Result<bool> {
        let mut changed = false;
        for worktree in self.worktrees {
            changed |= follow::worktree(worktree, moved, self.paths)?;
        }
        Ok(changed)
    }

    /// Says where the paths may still be. Refuses paths that nothing has: of a secret it would be said that it is gone, and it stands
    /// under another name.
    fn look_elsewhere(&self, found: &mut PurgeResult) -> Result<()> {
        let elsewhere = elsewhere::search(self.ctx, self.store, self.paths, self.worktrees)?;
        found.elsewhere = elsewhere.sentences;
        found.found.extend(elsewhere.found);
        let missing = |path: &&Vec<u8>| !found.found.contains(*path);
        let missing: Vec<&Vec<u8>> = self.paths.iter().filter(missing).collect();
        if missing.len() == self.paths.len() {
            return Err(self.not_found(&found.elsewhere));
        }
        let missing = missing.into_iter().map(|path| elsewhere::quoted(path));
        let missing = missing.map(|path| format!("{path} is in none of what was searched"));
        found.elsewhere.splice(0..0, missing);
        Ok(())
    }

    fn not_found(&self, elsewhere: &[String]) -> Error {
        let shown: Vec<String> = self
            .paths
            .iter()
            .map(|path| elsewhere::quoted(path))
            .collect();
        let message = format!(
            "no snapshot, backup or experiment has {}: nothing was taken out",
            shown.join(" or ")
        );
        let words = |paths: &[Vec<u8>]| {
            let paths = paths.iter().map(|path| typed_bytes(path));
            paths.collect::<Vec<_>>().join(" ")
        };
        let kept = self.paths.iter().filter_map(|path| self.behind_links(path));
        let kept: Vec<Vec<u8>> = kept.collect();
        let error = Error::new(Code::PathNotFound, message);
        let error = if kept.is_empty() {
            error.hint(format!(
                "a path is taken from the directory that you are in; 'tw find --all {}' looks for it, too",
                words(self.paths)
            ))
        } else {
            error.hint(format!(
                "a file behind a symbolic link is kept under the link's target: tw purge {}",
                words(&kept)
            ))
        };
        let unsearched = elsewhere.iter().map(|one| format!("not reached: {one}"));
        unsearched.fold(error, Error::hint)
    }

    /// The path by which a file is kept that is named through a symbolic link of the working tree.
    fn behind_links(&self, path: &[u8]) -> Option<Vec<u8>> {
        let root = self.ctx.repo.worktree_root();
        let named = root.join(OsStr::from_bytes(path));
        let real = fs::resolved_but_name(&named);
        let real = real.strip_prefix(fs::resolved(root)).ok()?;
        let real = real.as_os_str().as_bytes().to_vec();
        (real != path).then_some(real)
    }

    fn answer(&self, dry_run: DryRun, found: PurgeResult) -> Purged {
        let mut unreachable = found.unreached;
        unreachable.extend(found.elsewhere);
        let rewritten = found.rewritten.into_iter().map(|(id, old, new)| {
            let new = if dry_run == DryRun::Yes { old } else { new };
            Rewritten {
                id: id.to_string(),
                old,
                new,
            }
        });
        Purged {
            dry_run: dry_run == DryRun::Yes,
            paths: self.paths.iter().cloned().map(RepoPath::new).collect(),
            rewritten: rewritten.collect(),
            unreachable,
            finish: finish_with("git"),
        }
    }
}
