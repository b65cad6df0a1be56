//! The files of a rewind: looked at, and put back.

use std::collections::HashMap;

use super::{CodePart, Mode};
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::compare::{Beyond, Patches, Side, sides, tree_diff};
use crate::ops::history::Here;
use crate::ops::outcome::{FileDiff, MemberSwap, Restored};
use crate::ops::pathspec::Pathspec;
use crate::ops::put_back::{self, Purpose};
use crate::ops::request::{DryRun, Restore};
use crate::ops::swap::recover;
use crate::ops::swap::session_files::SessionFile;
use crate::ops::workspaces::{self, Partner, WentAlong};
use crate::ops::worktrees;
use crate::store::Store;
use crate::store::address::of_checkpoint;
use crate::store::checkpoint::Checkpoint;
use crate::store::id::SnapshotId;
use crate::store::stored::{Stored, not_found};
use crate::store::trigger::SwapKind;
use crate::text::{typed, typed_path};

fn snapshot(store: &Store, checkpoint: &Checkpoint) -> Result<Stored> {
    let id = SnapshotId::parse(&checkpoint.snapshot_id);
    let stored = id.map(|id| store.read_id(&id));
    stored.unwrap_or_else(|| Err(not_found(&checkpoint.snapshot_id)))
}

/// Refuses a checkpoint of another worktree: its files are not what this one's would go back to.
///
/// # Errors
/// `WOULD_OVERWRITE`, naming the worktree and the command to run there.
pub fn refuse_other_worktree(
    ctx: &Context<'_>,
    store: &Store,
    checkpoint: &Checkpoint,
    mode: Mode,
) -> Result<()> {
    let stored = snapshot(store, checkpoint)?;
    let here = Here::of(ctx, store)?;
    if here.is_named(&stored.record) {
        return Ok(());
    }
    let (name, there) = (here.name(), &stored.record.worktree);
    let is_removed = there == name;
    let (session, number) = (&checkpoint.session_id, checkpoint.checkpoint_id);
    let address = typed(of_checkpoint(session, number));
    let message = if is_removed {
        format!(
            "checkpoint {number} of session '{session}' is of an earlier worktree '{there}', which was removed: the files of this one do not go back to it"
        )
    } else {
        format!(
            "checkpoint {number} of session '{session}' is of worktree '{there}': the files of '{name}' do not go back to it"
        )
    };
    let known = worktrees::all(&ctx.repo)?;
    let mut known = known.iter().filter(|_| !is_removed);
    let known = known.find(|worktree| worktree.name == *there);
    let root = known.and_then(worktrees::root).filter(|root| root.is_dir());
    let error =
        Error::new(Code::WouldOverwrite, message).detail("worktree_of_session", there.clone());
    let error = match root.as_deref().map(typed_path) {
        Some(root) if mode == Mode::Both => error.hint(format!(
            "run it there: 'tw -C {root} rewind {address} --both'"
        )),
        Some(root) => error.hint(format!(
            "run it there: 'tw -C {root} rewind {address} --code'"
        )),
        None => error,
    };
    Err(error.hint(format!("or look at its files here: 'tw travel {address}'")))
}

/// What putting the files back would do; a refusal that the real run would meet is met here.
pub fn look(ctx: &Context<'_>, store: &Store, checkpoint: &Checkpoint) -> Result<CodePart> {
    workspaces::refuse_member(ctx, &SwapKind::Rewind)?;
    recover::refuse_interrupted(store)?;
    let stored = snapshot(store, checkpoint)?;
    put_back::put_back(
        ctx,
        store,
        &stored,
        &request(DryRun::Yes),
        &purpose(ctx, checkpoint),
    )?;
    let to = Side::of(&stored);
    let diff = sides(
        ctx,
        store,
        (&Side::Present, &to),
        &Pathspec::default(),
        Patches::None,
        Beyond::LeftOut,
    )?;
    let mut part = part(checkpoint, diff.files, None);
    let partners = workspaces::partners(ctx)?;
    let targets = workspaces::targets(store, &stored, &partners)?;
    let member = |ctx: &Context<'_>, partner: &Partner| {
        of_member(ctx, partner, &targets, checkpoint, DryRun::Yes)
    };
    part.members = workspaces::look(ctx, &partners, member)?;
    Ok(part)
}

/// Puts the files back, in the members of the workspace as well.
pub fn go(
    ctx: &Context<'_>,
    store: &Store,
    checkpoint: &Checkpoint,
) -> Result<(CodePart, Vec<String>)> {
    workspaces::refuse_member(ctx, &SwapKind::Rewind)?;
    let partners = workspaces::partners(ctx)?;
    if partners.is_empty() {
        let begun = recover::begin(ctx, store, SwapKind::Rewind.as_str(), DryRun::No)?;
        // It may have become one of a workspace while the lock was waited for.
        if !workspaces::partners(ctx)?.is_empty() {
            return begun.again(|| go(ctx, store, checkpoint), |(_, notices)| notices);
        }
        let done = workspaces::refuse_member(ctx, &SwapKind::Rewind)
            .and_then(|()| put_back(ctx, store, checkpoint));
        return begun.answer(done, |(_, notices)| notices);
    }
    let stored = snapshot(store, checkpoint)?;
    let targets = workspaces::targets(store, &stored, &partners)?;
    let known = partners.clone();
    let head = || {
        workspaces::unchanged(ctx, &known)?;
        put_back(ctx, store, checkpoint)
    };
    let member = |ctx: &Context<'_>, partner: &Partner| {
        of_member(ctx, partner, &targets, checkpoint, DryRun::No)
    };
    let done = workspaces::together(ctx, SwapKind::Rewind, partners, head, member)?;
    Ok(done.joined(|(part, notices)| (&mut part.members, notices)))
}

fn of_member(
    ctx: &Context<'_>,
    partner: &Partner,
    targets: &HashMap<String, String>,
    checkpoint: &Checkpoint,
    dry_run: DryRun,
) -> Result<Restored> {
    let store = ctx.store()?;
    let id = targets.get(&partner.path).map_or("", String::as_str);
    let stored = match SnapshotId::parse(id) {
        Some(id) => store.read_id(&id)?,
        None => return Err(not_found(id)),
    };
    put_back::put_back(
        ctx,
        store,
        &stored,
        &request(dry_run),
        &purpose(ctx, checkpoint),
    )
}

impl WentAlong for Restored {
    fn in_member(&self, path: String) -> MemberSwap {
        MemberSwap {
            path,
            snapshot_id: Some(self.snapshot_id.clone()),
            backup_id: self.backup_id.clone(),
            experiment_id: None,
            written: self.changes.written.len(),
            removed: self.changes.removed.len(),
            returned: None,
        }
    }

    fn notices(&self) -> &[String] {
        &self.notices
    }
}

/// Puts the files back, under the exclusive lock. The numbers are those of the backup against the snapshot: what was
/// really there.
pub fn put_back(
    ctx: &Context<'_>,
    store: &Store,
    checkpoint: &Checkpoint,
) -> Result<(CodePart, Vec<String>)> {
    let stored = snapshot(store, checkpoint)?;
    let restored = put_back::put_back(
        ctx,
        store,
        &stored,
        &request(DryRun::No),
        &purpose(ctx, checkpoint),
    )?;
    let backup = restored.backup_id.as_deref().and_then(SnapshotId::parse);
    let files = match backup {
        Some(backup) => tree_diff(ctx, store, store.read_id(&backup)?.tree, stored.tree)?,
        None => Vec::new(),
    };
    Ok((
        part(checkpoint, files, restored.backup_id),
        restored.notices,
    ))
}

fn part(checkpoint: &Checkpoint, files: Vec<FileDiff>, backup_id: Option<String>) -> CodePart {
    CodePart {
        snapshot_id: checkpoint.snapshot_id.clone(),
        insertions: files.iter().map(|file| file.insertions).sum(),
        deletions: files.iter().map(|file| file.deletions).sum(),
        files,
        backup_id,
        members: Vec::new(),
    }
}

fn request(dry_run: DryRun) -> Restore {
    Restore {
        dry_run,
        ..Restore::default()
    }
}

fn purpose(ctx: &Context<'_>, checkpoint: &Checkpoint) -> Purpose {
    Purpose {
        operation: SwapKind::Rewind,
        title: format!(
            "before rewinding to checkpoint {}",
            checkpoint.checkpoint_id
        ),
        session: session_file(ctx, checkpoint),
    }
}

/// The file that a checkpoint's session is kept in, as far as it is known.
fn session_file(ctx: &Context<'_>, checkpoint: &Checkpoint) -> Option<SessionFile> {
    let session_id = checkpoint.session_id.clone();
    let registered = || ctx.sessions().get(&session_id).ok()??.transcript;
    let path = checkpoint.transcript.path.clone().or_else(registered)?;
    Some(SessionFile {
        session_id,
        path: path.into(),
    })
}

/// Refuses to put back what the session itself is kept in, before a fork comes beside its file.
///
/// # Errors
/// `WOULD_OVERWRITE`; else as the files would be refused.
pub fn refuse_session_file(
    ctx: &Context<'_>,
    store: &Store,
    checkpoint: &Checkpoint,
) -> Result<()> {
    let is_in_tree = session_file(ctx, checkpoint).is_some_and(|file| file.is_in(ctx));
    // What an earlier swap left is for the real one to recover.
    if !is_in_tree || recover::refuse_interrupted(store).is_err() {
        return Ok(());
    }
    let stored = snapshot(store, checkpoint)?;
    let purpose = purpose(ctx, checkpoint);
    put_back::put_back(ctx, store, &stored, &request(DryRun::Yes), &purpose).map(|_| ())
}
