//! What a power cut took from the last swap that had ended.
//!
//! A swap has ended when its state is on disk; the files that it wrote follow within seconds, and until then its journal stays.
//! In another boot the paths are compared by content: one that is empty, torn or gone, or that is still as it was before, is put
//! right from the target. What stands there is saved first; what somebody else changed since stays.

use super::super::journal::{SwapSide, path_of, side_of};
use super::super::settle_last;
use super::put_back::{Rescue, Unfinished};
use super::survey::{OnDisk, Survey, is_torn, node_of, temps};
use crate::env::Moment;
use crate::error::Result;
use crate::git::fs::Root;
use crate::git::path::display;
use crate::ops::Context;
use crate::ops::outcome::{Recovered, RecoveryAction};
use crate::store::Store;
use crate::store::state::{Journal, JournalEntry};
use crate::store::trigger::SwapKind;
use crate::text::with_article;
use crate::worktree::cache;
use crate::worktree::plan::Side;

/// What is said of a repair.
fn sentence(repaired: &Recovered) -> String {
    let changes = &repaired.changes;
    let count = changes.written.len() + changes.removed.len();
    let first = changes.written.iter().chain(&changes.removed).next();
    let first = first.map(|path| format!(" (for example '{}')", display(path.as_bytes())));
    format!(
        "power was lost before {} was on disk: {count} {} restored{}; what was there is saved as {}",
        with_article(repaired.operation.as_ref().map_or("swap", SwapKind::as_str)),
        if count == 1 { "path was" } else { "paths were" },
        first.unwrap_or_default(),
        repaired.rescue_id.as_deref().unwrap_or_default()
    )
}

/// Puts right what the last swap wrote and the power took. `None`: there was nothing. The caller holds the lock alone.
pub(super) fn repair(ctx: &Context<'_>, store: &Store) -> Result<Option<Recovered>> {
    if store.dir.lost_power()?.is_none() {
        return Ok(None);
    }
    let Some(journal) = store.dir.unsettled()? else {
        return Ok(None);
    };
    // Its stamps may be those of files whose bytes did not reach the disk.
    cache::remove(&store.dir.file("cache"))?;
    let root = Root::open(ctx.repo.worktree_root())?;
    let lost = lost(store, &root, &journal)?;
    let temps = temps(&root, &journal, store.objects.format())?;
    if lost.entries.is_empty() && lost.dirs.is_empty() && temps.is_empty() {
        store.dir.settled()?;
        return Ok(None);
    }
    let survey = Survey {
        found: vec![OnDisk::Before; lost.entries.len()],
        differing: Vec::new(),
        temps,
    };
    let guard = crate::interrupt::defer();
    let unfinished = Unfinished::new(ctx, store, &lost);
    let mut repaired = unfinished.restore_paths(&survey, SwapSide::After, Rescue::Always)?;
    settle_last(ctx, store)?;
    drop(guard);
    repaired.action = RecoveryAction::Repaired;
    repaired.differing.clear();
    repaired.notices.insert(0, sentence(&repaired));
    Ok(Some(repaired))
}

/// The journal with nothing but the paths and directories that are not as the swap left them because the power went.
fn lost(store: &Store, root: &Root, journal: &Journal) -> Result<Journal> {
    let mut lost = journal.clone();
    lost.entries.clear();
    for entry in &journal.entries {
        if is_lost(store, root, journal, entry)? {
            lost.entries.push(entry.clone());
        }
    }
    lost.dirs.clear();
    for dir in &journal.dirs {
        if dir.after.is_some() && root.stamp(&path_of(&dir.path)?)?.is_none() {
            lost.dirs.push(dir.clone());
        }
    }
    Ok(lost)
}

fn is_lost(store: &Store, root: &Root, journal: &Journal, entry: &JournalEntry) -> Result<bool> {
    let full = path_of(&entry.path)?;
    let before = side_of(entry.before.as_ref())?;
    let after = side_of(entry.after.as_ref())?;
    let node = node_of(root, &full, store.objects.format())?.map(|(node, _)| node);
    let is = |side: Side| node.is_some_and(|node| node.oid == side.node.oid);
    if after.is_some_and(is) {
        return Ok(false);
    }
    // Somebody who put the old bytes back did so after the swap had begun.
    let changed = root.stamp(&full)?.map(|stamp| Moment(stamp.ctime.into()));
    let began = Moment::parse_rfc3339(&journal.started_at);
    if before.is_some_and(is) && changed < began {
        return Ok(true);
    }
    after.map_or(Ok(false), |after| is_torn(store, root, &full, after))
}
