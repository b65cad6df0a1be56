//! A past that nothing tells of any more: somebody removed what `tw` keeps in the git directory while the working tree was there.

use super::{Finding, warning};
use crate::env::Moment;
use crate::error::Result;
use crate::git::fs::is_there;
use crate::git::reflog;
use crate::ops::Context;
use crate::store::Store;
use crate::store::id::IdKind;
use crate::store::stored::Stored;
use crate::store::trigger::SwapKind;
use crate::text::typed;

/// What HEAD's reflog says of it, where there is no state: what moved HEAD last were travels, and the backup of the first of them is there.
///
/// # Errors
/// Refs cannot be read.
pub fn find(ctx: &Context<'_>, store: &Store) -> Result<Option<Finding>> {
    if is_there(&store.dir.file("state.json"))? {
        return Ok(None);
    }
    let moves = reflog::read(&ctx.repo);
    let begun = format!("tw {}: ", SwapKind::Travel.as_str());
    let travels = moves.iter().enumerate().rev();
    let mut travels = travels
        .map_while(|(nth, one)| Some((nth, one.at, one.message.strip_prefix(&begun)?)))
        .peekable();
    let Some(&(.., last)) = travels.peek() else {
        return Ok(None);
    };
    let backups = backups(ctx, store)?;
    // A travel on from the past, which saved no present, is passed over.
    let backup = travels.find_map(|(nth, until, target)| {
        let before = moves[..nth].last();
        let since = before.map_or(i64::MIN, |before| before.at);
        backups.iter().find(|stored| {
            let record = &stored.record;
            let made = Moment::parse_rfc3339(&record.created_at).map(Moment::seconds);
            record.target_id.as_deref() == Some(target)
                && made.is_some_and(|made| (since..=until).contains(&made))
        })
    });
    let Some(backup) = backup else {
        return Ok(None);
    };
    let message = format!(
        "the state of this working tree is gone, and HEAD's reflog ends with a travel to '{last}': this may be the past, and '{}' the present that was saved before it",
        backup.id
    );
    Ok(Some(warning(message, way_home(ctx, backup))))
}

/// The backups of this worktree, the newest first. Its random id went with the state: the name tells.
fn backups(ctx: &Context<'_>, store: &Store) -> Result<Vec<Stored>> {
    let here = ctx.repo.worktree_name();
    let backups = store.ids(IdKind::Backup)?.into_iter();
    // One that cannot be read brings nothing back.
    let read = backups.filter_map(|id| store.read_id(&id).ok());
    Ok(read
        .filter(|stored| stored.record.worktree == here)
        .collect())
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
