//! The index file of a swap: kept by a second name before anything is touched, replaced whole.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::env::fail_point;
use crate::error::{Code, Result, ResultExt};
use crate::git::fs::{Durable, is_there, remove_optional, sync_parent, write_atomic_with_mode};
use crate::git::index::{Checksum, Flags, Index};
use crate::git::objects::{KeptPack, NewObjects, ObjectKind, Storage, Unheld};
use crate::git::regular;
use crate::ops::Context;
use crate::ops::gitview::Trees;
use crate::store::Store;

/// The index as it was before the swap.
const BEFORE: &str = "index.before";
/// The index that the swap is about to put in place.
const AFTER: &str = "index.after";

/// Keeps the present index file by a second name: git replaces an index, it never writes into one. False: there is none.
///
/// # Errors
/// The index cannot be linked or copied, or not synced.
pub(super) fn keep(ctx: &Context<'_>, store: &Store) -> Result<bool> {
    let before = store.dir.file(BEFORE);
    let index = ctx.repo.index_path();
    match std::fs::hard_link(&index, &before) {
        Ok(()) => {
            // git writes its index without waiting.
            let synced = regular::open(&before).and_then(|index| index.sync_all());
            synced.context(|| format!("cannot sync '{}'", before.display()))?;
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(error).context(|| format!("cannot link '{}'", before.display()))
        }
        // A symlink may put the index on another file system, some know no links, and Linux lets nobody link a file of another user
        // that he may not write: root's, which every command of git's writes when root runs it.
        Err(_) => copy(&index, &before).map(|()| true),
    }
}

fn copy(index: &Path, before: &Path) -> Result<()> {
    let what = || format!("cannot read '{}'", index.display());
    let bytes = regular::read(index).context(what)?;
    let mode = index.metadata().context(what)?.mode() & 0o777;
    write_atomic_with_mode(before, &bytes, Durable::Yes, mode)
}

/// The kept index when it is none that can be read: torn, emptied, or something else in its place. `None` without one.
pub(super) fn damaged(ctx: &Context<'_>, store: &Store) -> Option<PathBuf> {
    let kept = store.dir.file(BEFORE);
    kept.symlink_metadata().ok()?;
    let trees = Trees(&store.objects);
    let read = Index::read(&kept, ctx.repo.git_dir(), &trees, Checksum::Verify);
    let is_damaged = match &read {
        Ok(_) => !kept.is_file(),
        Err(error) => !kept.is_file() || error.code() == Code::CorruptRecord,
    };
    is_damaged.then_some(kept)
}

/// Puts the kept index back. Without one there was none, where `was_absent` says so.
///
/// # Errors
/// The index cannot be replaced.
pub(super) fn put_back(ctx: &Context<'_>, store: &Store, was_absent: bool) -> Result<()> {
    let kept = store.dir.file(BEFORE);
    if is_there(&kept)? {
        put_kept_back(&kept, &ctx.repo.index_path())
    // With neither a kept index nor the mark, a recovery that died had put it back already.
    } else if was_absent {
        remove_optional(&ctx.repo.index_path())
    } else {
        Ok(())
    }
}

/// One that nobody may replace was not replaced by the swap, and has the same bytes: nothing is to be done.
fn put_kept_back(kept: &Path, index: &Path) -> Result<()> {
    let error = match rename_into(kept, index) {
        Err(error) if error.is_refusal() => error,
        other => return other,
    };
    match (regular::read(kept), regular::read(index)) {
        (Ok(kept), Ok(there)) if kept == there => Ok(()),
        _ => Err(error),
    }
}

/// Removes what is kept of a swap's index.
///
/// # Errors
/// A file cannot be removed.
pub(super) fn forget(store: &Store) -> Result<()> {
    remove_optional(&store.dir.file(BEFORE))?;
    remove_optional(&store.dir.file(AFTER))
}

/// Writes the index beside itself and renames it in. The caller holds `index.lock`.
///
/// # Errors
/// It cannot be written.
pub(super) fn install(ctx: &Context<'_>, store: &Store, made: &Index) -> Result<()> {
    let kept = write_intended(store, made)?;
    let index = ctx.repo.index_path();
    let after = store.dir.file(AFTER);
    // A shared repository's index may be writable for the group.
    let mode = index.metadata().map_or(0o644, |meta| meta.mode() & 0o777);
    // Beside the journal first: a reader of git's index must never see half of one.
    made.write(&after, ctx.repo.git_dir(), Durable::Yes, mode)?;
    fail_point("index-written");
    rename_into(&after, &index)?;
    kept.map_or(Ok(()), KeptPack::release)
}

/// Writes the object that `git add -N` gives a path, which no commit of ours names: a gc since may have taken it. Kept until the
/// index holds it.
fn write_intended(store: &Store, index: &Index) -> Result<Option<KeptPack>> {
    let mut entries = index.entries().iter();
    if !entries.any(|entry| entry.flags.contains(Flags::INTENT_TO_ADD)) {
        return Ok(None);
    }
    let mut new = NewObjects::new(store.objects.format());
    new.put(ObjectKind::Blob, b"")?;
    Ok(new.write(&store.objects, Storage::SyncedPack)?.pack)
}

/// Renames, and syncs the directory. An index that a symlink puts on another file system is copied to where it belongs.
fn rename_into(from: &Path, to: &Path) -> Result<()> {
    let what = || format!("cannot replace '{}'", to.display());
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
            let bytes = regular::read(from).context(what)?;
            let mode = from.metadata().context(what)?.mode() & 0o777;
            write_atomic_with_mode(to, &bytes, Durable::Yes, mode)?;
            return remove_optional(from);
        }
        other => other.context(what)?,
    }
    sync_parent(to).context(what)
}
