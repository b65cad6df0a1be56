//! What a plan needs to be carried out: objects that can be read, and room on the disk.

use std::collections::BTreeSet;

use super::blobs::Blobs;
use super::goal::{Aim, Goal};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::{Oid, path};
use crate::ops::Context;
use crate::ops::capture::{Capture, Storing};
use crate::store::Store;
use crate::text::size;
use crate::worktree::plan::{Plan, Side};

/// Every object that will be written is readable and hashes to its name, but for what this very capture is about to store.
///
/// # Errors
/// `CORRUPT_RECORD`, with a path that is concerned.
pub(super) fn prove_objects(
    ctx: &Context<'_>,
    store: &Store,
    goal: &Goal<'_>,
    (capture, storing): (&Capture<'_>, &Storing),
    plan: &Plan,
) -> Result<Blobs> {
    let needed: BTreeSet<Oid> = plan
        .entries
        .iter()
        .filter(|entry| !entry.is_chmod())
        .filter_map(|entry| entry.after.map(|side| side.node.oid))
        .collect();
    let mut captured: BTreeSet<Oid> = match &goal.aim {
        Aim::Computed { unwritten, .. } => unwritten.borrow().clone(),
        _ => BTreeSet::new(),
    };
    let is_look = *storing == Storing::No;
    if is_look || capture.writer.is_some() || matches!(goal.aim, Aim::Computed { .. }) {
        // What this very capture stores, or would, is about to be in its pack: none of it is as the cache had it.
        let files = capture.manifest.files_in_memory();
        let oids = files.map(|(_, _, file)| file.oid);
        captured.extend(oids.filter(|oid| needed.contains(oid)));
    }
    let stored: Vec<Oid> = needed
        .into_iter()
        // What is there already is not written again: its stored bytes are the ones that would be used.
        .filter(|oid| !captured.contains(oid) || store.objects.contains(*oid))
        .collect();
    ctx.progress.begin("checking", Some(stored.len() as u64));
    let blobs = Blobs::prove(&store.objects, &stored, ctx.progress).map_err(|error| {
        // The error names an object; who reads it knows only paths.
        let cannot_be_read = |side: Side| store.objects.verify(side.node.oid).is_err();
        let mut entries = plan.entries.iter();
        match entries.find(|entry| !entry.is_chmod() && entry.after.is_some_and(cannot_be_read)) {
            Some(entry) => error.while_doing(format!(
                "the content of '{}' is missing or damaged",
                path::display(&entry.path)
            )),
            None => error,
        }
    })?;
    ctx.progress.end();
    Ok(blobs)
}

/// What is written fits on the disk.
///
/// # Errors
/// `NO_SPACE`.
pub(super) fn check_room(ctx: &Context<'_>, plan: &Plan, blobs: &Blobs) -> Result<()> {
    let mut needed: u64 = 0;
    for entry in &plan.entries {
        if let Some(side) = entry.after
            && !entry.is_chmod()
            && let Some(size) = blobs.size(side.node.oid)
        {
            // A name and the last, partly filled block.
            needed += size + 4096;
        }
    }
    let stat = rustix::fs::statvfs(ctx.repo.worktree_root())
        .context(|| format!("cannot inspect '{}'", ctx.repo.worktree_root().display()))?;
    // `f_bavail` leaves out what the file system keeps for root.
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if needed > free {
        return Err(Error::new(
            Code::NoSpace,
            format!(
                "this swap needs {} and {} are free",
                size(needed),
                size(free)
            ),
        )
        .hint("make room and try again; nothing was changed"));
    }
    Ok(())
}
