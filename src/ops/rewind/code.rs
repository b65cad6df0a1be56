//! The files of a rewind: looked at, and put back.

use std::collections::HashMap;

use super::CodePart;
use crate::error::Result;
use crate::ops::Context;
use crate::ops::compare::{Beyond, Patches, Side, sides, tree_diff};
use crate::ops::outcome::{FileDiff, MemberSwap, Restored};
use crate::ops::pathspec::Pathspec;
use crate::ops::put_back::{self, Purpose};
use crate::ops::request::{DryRun, Restore};
use crate::ops::swap::recover;
use crate::ops::workspaces::{self, Partner};
use crate::store::Store;
use crate::store::checkpoint::Checkpoint;
use crate::store::id::SnapshotId;
use crate::store::stored::{Stored, not_found};
use crate::store::workspace::Covered;

fn snapshot(store: &Store, checkpoint: &Checkpoint) -> Result<Stored> {
    let id = SnapshotId::parse(&checkpoint.snapshot_id);
    let stored = id.map(|id| store.read_id(&id));
    stored.unwrap_or_else(|| Err(not_found(&checkpoint.snapshot_id)))
}

/// What putting the files back would do; a refusal that the real run would meet is met here.
pub fn look(ctx: &Context<'_>, store: &Store, checkpoint: &Checkpoint) -> Result<CodePart> {
    workspaces::refuse_member(ctx, "rewind")?;
    recover::refuse_interrupted(store)?;
    let stored = snapshot(store, checkpoint)?;
    put_back::put_back(
        ctx,
        store,
        &stored,
        &request(DryRun::Yes),
        &purpose(checkpoint),
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
    let targets = targets(store, checkpoint, &partners)?;
    let member = |ctx: &Context<'_>, partner: &Partner| {
        of_member(ctx, partner, &targets, checkpoint, DryRun::Yes)
    };
    for (partner, one) in workspaces::look(ctx, &partners, member)? {
        part.members.push(member_swap(&partner, &one));
    }
    Ok(part)
}

/// Puts the files back, in the members of the workspace as well.
pub fn go(
    ctx: &Context<'_>,
    store: &Store,
    checkpoint: &Checkpoint,
) -> Result<(CodePart, Vec<String>)> {
    workspaces::refuse_member(ctx, "rewind")?;
    let partners = workspaces::partners(ctx)?;
    if partners.is_empty() {
        let lock = ctx.lock(&store.dir, "rewind")?;
        let mut notices = recover::recover_locked(ctx, store, &lock)?;
        let (part, said) = put_back(ctx, store, checkpoint)?;
        notices.extend(said);
        return Ok((part, notices));
    }
    let targets = targets(store, checkpoint, &partners)?;
    let head = || put_back(ctx, store, checkpoint);
    let member = |ctx: &Context<'_>, partner: &Partner| {
        of_member(ctx, partner, &targets, checkpoint, DryRun::No)
    };
    let done = workspaces::together(ctx, "rewind", partners, head, member)?;
    let (mut part, said) = done.head;
    let mut notices = done.recovered;
    notices.extend(said);
    for (partner, one) in &done.members {
        part.members.push(member_swap(partner, one));
        notices.extend(partner.said(&one.notices));
    }
    Ok((part, notices))
}

/// The snapshot of each member that belongs to the checkpoint's, by the member's path.
fn targets(
    store: &Store,
    checkpoint: &Checkpoint,
    partners: &[Partner],
) -> Result<HashMap<String, String>> {
    let stored = snapshot(store, checkpoint)?;
    let covered = Covered::of(&stored.record.extra);
    let mut targets = HashMap::new();
    for partner in partners {
        let id = partner.target(&checkpoint.snapshot_id, &covered)?;
        targets.insert(partner.path.clone(), id);
    }
    Ok(targets)
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
    put_back::put_back(ctx, store, &stored, &request(dry_run), &purpose(checkpoint))
}

fn member_swap(partner: &Partner, restored: &Restored) -> MemberSwap {
    MemberSwap {
        path: partner.path.clone(),
        snapshot_id: Some(restored.snapshot_id.clone()),
        backup_id: restored.backup_id.clone(),
        experiment_id: None,
        written: restored.changes.written.len(),
        removed: restored.changes.removed.len(),
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
        &purpose(checkpoint),
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

fn purpose(checkpoint: &Checkpoint) -> Purpose {
    Purpose {
        operation: "rewind",
        title: format!(
            "before rewinding to checkpoint {}",
            checkpoint.checkpoint_id
        ),
    }
}
