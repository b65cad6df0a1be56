//! Room on disk in private repositories, where no git runs its gc.
//!
//! Needed is what git's own gc would keep (refs, every worktree's HEAD, index and logs), and what was dropped in the last
//! [`RECOVERABLE`] days, for `tw recover --dropped`. No lock of a worktree is taken, for a walk over a long history must keep no prompt
//! waiting: every command goes on as beside git's own gc, which it knows by the same file. A swap that waits for its repair puts it off. A
//! repository of git's is never touched: there gc is git's.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Context;
use super::event_log::{self, RefFate};
use super::gitview::Trees;
use super::worktrees::{self, Worktree};
use crate::env::fail_point;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs;
use crate::git::gc::Collecting;
use crate::git::index::{CacheTree, Checksum, Index};
use crate::git::objects::{Reclaimed, Thoroughness};
use crate::git::refs::Refs;
use crate::git::regular;
use crate::git::tree::GITLINK_MODE;
use crate::store::Store;
use crate::store::lock::{Owner, hold_file_within};

/// For this many days what was dropped can be taken back.
pub const RECOVERABLE: i64 = 14;
/// What was written more recently may be of a command that is at work.
const YOUNG: Duration = Duration::from_secs(60 * 60);
/// More loose objects become a pack.
const LOOSE: usize = 2000;
/// Files of a worktree's git directory that name commits.
const HEADS: [&str; 7] = [
    "HEAD",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "FETCH_HEAD",
];

/// Clears away what nothing needs for longer than it can be taken back, in a private repository, and packs loose objects where
/// there are many. Nothing while another one is at it.
///
/// # Errors
/// `CORRUPT_RECORD` when something that is needed is missing: then nothing goes. The disk refuses.
pub fn old(ctx: &Context<'_>) -> Result<Reclaimed> {
    if !ctx.repo.is_private() {
        return Ok(Reclaimed::default());
    }
    let worktrees = worktrees::all(&ctx.repo)?;
    Ok(run(ctx, &worktrees, Thoroughness::OlderThan(YOUNG))?.unwrap_or_default())
}

/// As [`old`], of the worktrees that there are. Everything goes at once where that is asked for, also what was dropped. None
/// when nothing was looked at: others are at work, or it is not a private repository.
///
/// # Errors
/// As [`old`].
pub fn run(
    ctx: &Context<'_>,
    worktrees: &[Worktree],
    how: Thoroughness,
) -> Result<Option<Reclaimed>> {
    if !ctx.repo.is_private() {
        return Ok(None);
    }
    for worktree in worktrees {
        if worktree.dir.needs_recovery()? {
            return Ok(None);
        }
    }
    let store = ctx.store()?;
    // Somebody waits for every byte to go, and for nothing else.
    let wait = match how {
        Thoroughness::Everything => ctx.settings.lock_timeout,
        Thoroughness::OlderThan(_) => Duration::ZERO,
    };
    let _one = match hold_file_within(&store.common("reclaim.lock"), wait) {
        Err(error) if error.code() == Code::Busy => return Ok(None),
        held => held?,
    };
    let Some(_collecting) = Collecting::begin(ctx.repo.common_dir())? else {
        return Ok(None);
    };
    let mut roots = roots(ctx, store, worktrees)?;
    if how != Thoroughness::Everything {
        roots.extend(dropped(ctx, store, worktrees)?);
    }
    store.objects.refresh();
    let needed = store.objects.reachable(roots)?;
    // What was not found when the roots were gathered names nothing that would be kept.
    if !store.objects.has_seen_all_packs() {
        let message = "not all packs of this history can be read, so nothing of it is cleared away";
        return Err(Error::new(Code::Io, message));
    }
    fail_point("reclaim-known");
    let note = Owner::this_process("reclaim").line();
    let note = note.trim_end();
    let done = store.objects.reclaim(&needed, how, note)?;
    store.objects.pack_loose(LOOSE, note)?;
    Ok(Some(done))
}

/// What git's gc begins at.
fn roots(ctx: &Context<'_>, store: &Store, worktrees: &[Worktree]) -> Result<Vec<Oid>> {
    let common = ctx.repo.common_dir();
    let mut found = Vec::new();
    for worktree in worktrees {
        let refs = Refs::new(common, &worktree.git_dir, ctx.repo.refs().format());
        for (_, oid) in refs.read_all("refs/")? {
            found.push(oid?);
        }
        for name in HEADS {
            let text = regular::read_optional(&worktree.git_dir.join(name))?.unwrap_or_default();
            found.extend(oids_in(&text));
        }
        index(store, &worktree.git_dir, &mut found)?;
        // The main worktree's directory is the common one: with the logs of all refs.
        logs(store, &worktree.git_dir.join("logs"), &mut found)?;
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn index(store: &Store, git_dir: &Path, found: &mut Vec<Oid>) -> Result<()> {
    let file = git_dir.join("index");
    if !fs::is_there(&file)? {
        return Ok(());
    }
    let index = Index::read(&file, git_dir, &Trees(&store.objects), Checksum::Trust)?;
    let held = index
        .entries()
        .iter()
        .filter(|entry| entry.mode != GITLINK_MODE);
    let mut named: Vec<Oid> = held.map(|entry| entry.oid).collect();
    let mut pending: Vec<&CacheTree> = index.cache_tree.iter().collect();
    while let Some(dir) = pending.pop() {
        named.extend(dir.valid.map(|valid| valid.oid));
        pending.extend(dir.children().map(|(_, child)| child));
    }
    add_those_there(store, named, found)
}

/// Adds those of which there is an object. One that cannot be looked for may be there, and what it needs must not go.
fn add_those_there(
    store: &Store,
    named: impl IntoIterator<Item = Oid>,
    found: &mut Vec<Oid>,
) -> Result<()> {
    for oid in named {
        if store.objects.is_there(oid)? {
            found.push(oid);
        }
    }
    Ok(())
}

/// Every commit in the logs beneath a directory that is still there. An old position may be gone: git's gc passes it over, too.
fn logs(store: &Store, dir: &Path, found: &mut Vec<Oid>) -> Result<()> {
    let mut pending: Vec<PathBuf> = vec![dir.to_owned()];
    while let Some(at) = pending.pop() {
        for path in fs::entries(&at)? {
            if fs::is_dir(&path)? {
                pending.push(path);
            } else {
                let text = regular::read_optional(&path)?.unwrap_or_default();
                for line in text.split(|byte| *byte == b'\n') {
                    add_those_there(store, oids_in(line).take(2), found)?;
                }
            }
        }
    }
    Ok(())
}

/// What was dropped in any worktree and can still be taken back.
fn dropped(ctx: &Context<'_>, store: &Store, worktrees: &[Worktree]) -> Result<Vec<Oid>> {
    let since = ctx
        .env
        .now()
        .minus_seconds(RECOVERABLE * 24 * 60 * 60)
        .rfc3339();
    let mut found = Vec::new();
    for worktree in worktrees {
        for event in event_log::ref_events(&worktree.dir)? {
            if event.event == RefFate::Dropped
                && event.at >= since
                && let Ok(oid) = Oid::from_hex(&event.commit)
                && super::whole::Whole::new(store).is_usable(oid)?
            {
                found.push(oid);
            }
        }
    }
    Ok(found)
}

/// The words of a text that are commit ids.
fn oids_in(text: &[u8]) -> impl Iterator<Item = Oid> {
    let words = text.split(u8::is_ascii_whitespace);
    words.filter_map(|word| Oid::from_hex_bytes(word).ok())
}
