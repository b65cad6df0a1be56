//! Files of a snapshot put into the working tree, without changing mode, HEAD or index.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Context;
use super::capture::{Storing, seeds};
use super::compare::changed_since;
use super::outcome::{Changes, Restored};
use super::pathspec::{self, Pathspec};
use super::record::Made;
use super::request::{DryRun, Restore};
use super::snapshots;
use super::swap::filtered;
use super::swap::goal::{Aim, Goal, SnapshotAim};
use super::swap::notices::swap_notices;
use super::swap::session_files::SessionFile;
use super::swap::{Prepared, changes, prepare, swap_unless};
use crate::error::{Code, Error, Result};
use crate::git::fs::Root;
use crate::git::own::OwnDirs;
use crate::git::path::{self, RepoPath};
use crate::git::tree;
use crate::store::Store;
use crate::store::state::State;
use crate::store::stored::Stored;
use crate::store::trigger::SwapKind;
use crate::text::typed_path;
use crate::worktree::plan::Takes;

/// What files are put back for.
pub struct Purpose {
    /// Its kind in the undo log.
    pub operation: SwapKind,
    /// The backup's title.
    pub title: String,
    /// Of a rewind: what its session is kept in.
    pub session: Option<SessionFile>,
}

/// Puts files of `stored` back, or looks what that would do; under the exclusive lock, except for a dry run. Where all is as it
/// is there already, nothing is saved and there is nothing to undo.
///
/// # Errors
/// `PATH_NOT_FOUND` when neither the snapshot nor the working tree has a named path; else as travel.
pub fn put_back(
    ctx: &Context<'_>,
    store: &Store,
    stored: &Stored,
    request: &Restore,
    purpose: &Purpose,
) -> Result<Restored> {
    let meant = Meant::of(ctx, store, stored, &request.paths)?;
    let takes = meant.as_ref().map(|meant| |path: &[u8]| meant.takes(path));
    let only = takes.as_ref().map(|takes| takes as Takes<'_>);
    let notices = Vec::from_iter(seeds::warning(store, stored, only)?);
    let aim = Aim::Snapshot(SnapshotAim {
        only,
        ..SnapshotAim::new(store, stored)?
    });
    let goal = Goal::new(purpose.operation.clone(), purpose.title.clone(), aim)
        .hints(&["move these paths away, or name the paths you want: tw restore SNAPSHOT PATH..."])
        .rewinding(purpose.session.as_ref());
    let mut restored = Restored {
        snapshot_id: stored.id.to_string(),
        snapshot: snapshots::view(store, stored)?,
        backup_id: None,
        dry_run: request.dry_run == DryRun::Yes,
        staged: false,
        lines: None,
        changes: Changes::default(),
        notices,
        declined: false,
    };
    if restored.dry_run {
        let plan = prepare(ctx, store, &goal, &Storing::No)?.plan;
        restored.changes = changes(&plan);
        let text = filtered::put_text_notice(store, stored, &plan)?;
        restored.notices.extend(text);
        let stays = what_stays(ctx, store, stored, meant.as_ref(), &restored.changes)?;
        restored.notices.extend(stays);
        return Ok(restored);
    }
    let state_after = |before: &State, _: &Made<'_>| State {
        // The directory may have been moved since the state was written.
        workspace_root: ctx.repo.worktree_root().display().to_string(),
        ..before.clone()
    };
    let nothing = |prepared: &Prepared<'_>| prepared.plan.is_empty().then_some(());
    if let ControlFlow::Continue(swapped) = swap_unless(ctx, store, &goal, &state_after, &nothing)?
    {
        restored.notices.extend(swap_notices(&swapped.applied));
        let text = filtered::put_text_notice(store, stored, &swapped.plan)?;
        restored.notices.extend(text);
        restored.changes = swapped.changes();
        restored.backup_id = Some(swapped.saved.id.to_string());
    }
    let stays = what_stays(ctx, store, stored, meant.as_ref(), &restored.changes)?;
    restored.notices.extend(stays);
    Ok(restored)
}

/// Tells of named paths that the snapshot does not have and that stay nonetheless, since snapshots leave them out.
fn what_stays(
    ctx: &Context<'_>,
    store: &Store,
    stored: &Stored,
    meant: Option<&Meant>,
    changes: &Changes,
) -> Result<Vec<String>> {
    let Some(named) = meant.and_then(|meant| meant.plain.as_deref()) else {
        return Ok(Vec::new());
    };
    let own = OwnDirs::of(&ctx.repo, &store.objects);
    let root = Root::open(ctx.repo.worktree_root())?;
    let place = |path: &[u8]| root.path().join(OsStr::from_bytes(path));
    let mut told = Vec::new();
    for full in named {
        let is_removed = |gone: &RepoPath| path::is_within(gone, full);
        if changes.removed.iter().any(is_removed)
            || tree::find(&store.objects, stored.tree, full)?.is_some()
        {
            continue;
        }
        let shown = path::display(full);
        let nested = path::with_parents(full).find(|dir| own.is_nested_repository(&place(dir)));
        if let Some(dir) = nested {
            let there = typed_path(&place(dir));
            told.push(format!(
                "'{shown}' stays as it is: it belongs to another repository, whose snapshots 'tw -C {there} list' names"
            ));
        } else if matches!(root.stamp(full), Ok(Some(stamp)) if !stamp.is_dir()) {
            let id = &stored.id;
            told.push(format!(
                "'{shown}' stays as it is: it is not in {id}, and snapshots leave it out"
            ));
        }
    }
    Ok(told)
}

/// Which files are meant; none: all.
struct Meant {
    spec: Pathspec,
    /// Of words without a pattern: what they name, with all beneath, whatever it is.
    plain: Option<Vec<Vec<u8>>>,
}

impl Meant {
    /// # Errors
    /// `PATH_NOT_FOUND` for a word that means nothing in the snapshot and nothing in the working tree.
    fn of(
        ctx: &Context<'_>,
        store: &Store,
        stored: &Stored,
        words: &[OsString],
    ) -> Result<Option<Self>> {
        let spec = Pathspec::parse(ctx, words)?;
        if words.is_empty() || spec.is_everything() {
            return Ok(None);
        }
        for word in words {
            refuse_unknown(ctx, store, stored, word)?;
        }
        let plain = spec.plain();
        Ok(Some(Self { spec, plain }))
    }

    fn takes(&self, path: &[u8]) -> bool {
        match &self.plain {
            Some(paths) => paths.iter().any(|named| path::is_within(path, named)),
            None => self.spec.matches(path),
        }
    }
}

/// Refuses a word that means nothing in the snapshot and nothing in the working tree.
///
/// # Errors
/// `PATH_NOT_FOUND`; the tree cannot be read.
pub fn refuse_unknown(
    ctx: &Context<'_>,
    store: &Store,
    stored: &Stored,
    word: &OsString,
) -> Result<()> {
    let one = Pathspec::parse(ctx, std::slice::from_ref(word))?;
    let there = match one.plain() {
        Some(paths) => is_there(ctx, store, stored, &paths)?,
        None => has_match(ctx, store, stored, &one)?,
    };
    if there {
        Ok(())
    } else {
        let known = known_otherwise(store, stored, (&one, word.as_os_str()))?;
        Err(known.unwrap_or_else(|| nothing_there(&one, word, stored)))
    }
}

/// What a snapshot knows of paths that are neither among its files nor on disk: that they were in the index alone, or not captured.
fn known_otherwise(
    store: &Store,
    stored: &Stored,
    (one, word): (&Pathspec, &OsStr),
) -> Result<Option<Error>> {
    let (shown, id) = (one.shown_path(), &stored.id);
    let error = |message: String| Error::new(Code::PathNotFound, message);
    let index = store.index_side(stored)?.tree;
    let staged = tree::flatten(&|oid| store.objects.read_tree(oid), index)?;
    let staged = staged.iter().map(|(path, _)| path.as_slice());
    if one.unmatched(staged).is_none() {
        let word = typed_path(Path::new(word));
        let message = format!("'{shown}' is no file of '{id}', and was in git's index alone");
        let hint = format!("'tw restore {id} --staged {word}' stages it again");
        return Ok(Some(error(message).hint(hint)));
    }
    let plain = one.plain().unwrap_or_default();
    let is_meant = |path: &[u8]| {
        let is_beneath = plain.iter().any(|full| path::is_within(full, path));
        is_beneath || one.unmatched(std::iter::once(path)).is_none()
    };
    let uncaptured = store.lists(stored)?.uncaptured;
    let listed = uncaptured.iter().find(|(path, _)| is_meant(path));
    Ok(listed.map(|(_, entry)| {
        let why = &entry.reason;
        error(format!("'{shown}' was not captured in '{id}': {why}"))
            .hint(format!("'tw show {id}' lists what was not captured"))
    }))
}

/// Whether the snapshot or the disk has one of the paths.
fn is_there(ctx: &Context<'_>, store: &Store, stored: &Stored, paths: &[Vec<u8>]) -> Result<bool> {
    let root = Root::open(ctx.repo.worktree_root())?;
    for full in paths {
        // What lies in '.git' is never captured, so there is nothing to put back.
        let on_disk = path::is_safe(full) && matches!(root.stamp(full), Ok(Some(_)));
        if on_disk || tree::find(&store.objects, stored.tree, full)?.is_some() {
            return Ok(true);
        }
    }
    let empty_dirs = store.lists(stored)?.empty_dirs;
    let leads_to_one = |full: &Vec<u8>| empty_dirs.iter().any(|dir| path::is_within(dir, full));
    Ok(paths.iter().any(leads_to_one))
}

/// Whether a pattern takes a file of the snapshot, or one that a snapshot taken now would have. What only leaves out needs none.
fn has_match(ctx: &Context<'_>, store: &Store, stored: &Stored, one: &Pathspec) -> Result<bool> {
    let files = tree::flatten(&|oid| store.objects.read_tree(oid), stored.tree)?;
    if one
        .unmatched(files.iter().map(|(path, _)| path.as_slice()))
        .is_none()
    {
        return Ok(true);
    }
    let changed = changed_since(ctx, store, stored)?;
    Ok(one.unmatched(changed.iter().map(Vec::as_slice)).is_none())
}

fn nothing_there(one: &Pathspec, word: &OsStr, stored: &Stored) -> Error {
    let (shown, id) = (one.shown_path(), &stored.id);
    let from_here = shown != pathspec::shown(word);
    let message = format!("'{shown}' is neither in '{id}' nor in the working tree");
    let error = Error::new(Code::PathNotFound, message);
    if from_here && !word.as_encoded_bytes().starts_with(b":") {
        // Printed paths begin at the root of the working tree.
        return error.hint("paths are taken from the directory that you are in; ':/PATH' begins at the root of the working tree");
    }
    error.hint(format!("run 'tw diff {id} present' to see what differs"))
}
