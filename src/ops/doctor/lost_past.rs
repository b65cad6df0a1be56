//! A past that nothing tells of any more: somebody removed what `tw` keeps in the git directory while the working tree was there.

use super::{Finding, warning};
use crate::error::Result;
use crate::git::fs::is_there;
use crate::git::reflog;
use crate::ops::Context;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::stored::Stored;
use crate::store::trigger::SwapKind;
use crate::text::typed;

/// What HEAD's reflog says of it, where there is no state: the last that moved HEAD was a travel, and its backup is there.
///
/// # Errors
/// Refs cannot be read.
pub fn find(ctx: &Context<'_>, store: &Store) -> Result<Option<Finding>> {
    if is_there(&store.dir.file("state.json"))? {
        return Ok(None);
    }
    let moves = reflog::read(&ctx.repo);
    let begun = format!("tw {}: ", SwapKind::Travel.as_str());
    let target = moves
        .last()
        .and_then(|last| last.message.strip_prefix(&begun));
    let Some(target) = target.and_then(SnapshotId::parse) else {
        return Ok(None);
    };
    let Some(backup) = backup_of(store, &target)? else {
        return Ok(None);
    };
    let message = format!(
        "the state of this working tree is gone, and HEAD's reflog ends with a travel to '{target}': this may be the past, and '{}' the present that was saved before it",
        backup.id
    );
    Ok(Some(warning(message, way_home(ctx, &backup))))
}

/// The newest backup that a travel to a snapshot made.
fn backup_of(store: &Store, target: &SnapshotId) -> Result<Option<Stored>> {
    let target = target.to_string();
    let backups = store.ids(IdKind::Backup)?.into_iter();
    // One that cannot be read brings nothing back.
    let mut read = backups.filter_map(|id| store.read_id(&id).ok());
    Ok(read.find(|stored| stored.record.target_id.as_ref() == Some(&target)))
}

/// The commands that put HEAD, files and index back, each saved before: 'tw return' knows of no past.
fn way_home(ctx: &Context<'_>, backup: &Stored) -> String {
    let head = &backup.record.head;
    let head = match (&head.reference, &head.oid) {
        _ if ctx.repo.is_private() => None,
        (Some(branch), _) => Some(format!("git symbolic-ref HEAD {}", typed(branch))),
        (None, Some(oid)) => Some(format!("git update-ref --no-deref HEAD {oid}")),
        (None, None) => None,
    };
    let id = &backup.id;
    let files = [
        format!("tw restore {id}"),
        format!("tw restore --staged {id}"),
    ];
    let all: Vec<String> = head.into_iter().chain(files).collect();
    all.join("; ")
}
