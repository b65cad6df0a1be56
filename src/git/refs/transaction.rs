//! Transactions: several refs changed together, each stating its old value.
//!
//! Owns the order of things in loose and packed refs; [`super::stacks`] has its own, simpler one. Every changed ref is locked as git locks it, in sorted order; then the old values are
//! checked; then creations and updates are renamed into place in the order they were given (callers rely on "chat
//! first, issue last"); then deletions, from `packed-refs` in one rewrite and only then their loose files, so that a kill
//! in between never brings an older value back. A kill leaves a prefix of that order and stale locks, never half a ref.
//!
//! **Verified refs are not locked.** Many snapshots at a time verify one ref, their anchor, and would only queue. It is
//! read before anything is written and again once our refs stand. When it changed meanwhile, our refs go back to what
//! they were and the error says `Changed`. The second look also waits until nobody holds the ref's lock. So of a
//! creation that verifies a ref and a deletion of that ref, one sees the other, provided the deleting side looks for
//! holders between [`Transaction::prepare`] and [`Prepared::commit`]: a lock taken before our second look is waited out,
//! and one taken after it finds our refs in place. Deletions in the same transaction come after that second look.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::ErrorKind;
use std::path::Path;

use crate::env::fail_point;
use crate::error::Error;
use crate::git::Oid;
use crate::git::durable::sync_file_system;
use crate::git::liveness::Flush;

use super::Refs;
use super::check::Check;
use super::failure::{Reason, TransactionError};
use super::lock::{LockError, LockFile, Locking, lock_path};
use super::loose::is_absent;
use super::rewrite::Rewrite;
use super::stacks::PreparedStack;

/// With more new values than these one wait for all that was written is shorter than one for each of them.
const MANY: usize = 100;

/// Changes to be made together. Nothing happens before [`Transaction::commit`].
#[derive(Debug)]
pub struct Transaction {
    pub(super) refs: Refs,
    pub(super) edits: Vec<Edit>,
    pub(super) flush: Flush,
}

/// One ref's part in a transaction.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    pub(super) name: String,
    pub(super) change: Change,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    Create { new: Oid },
    Update { new: Oid, old: Oid },
    Delete { old: Option<Oid> },
    Verify { oid: Oid },
}

impl Transaction {
    pub(super) fn new(refs: Refs) -> Self {
        Self {
            refs,
            edits: Vec::new(),
            flush: Flush::No,
        }
    }

    /// Makes a ref that must not exist.
    pub fn create(&mut self, name: &str, new: Oid) {
        self.push(name, Change::Create { new });
    }

    /// Moves a ref from `old` to `new`.
    pub fn update(&mut self, name: &str, new: Oid, old: Oid) {
        self.push(name, Change::Update { new, old });
    }

    /// Removes a ref, and git's reflog of it if there is one. Without `old`, whatever it holds, also when it is broken or
    /// not there at all.
    pub fn delete(&mut self, name: &str, old: Option<Oid>) {
        self.push(name, Change::Delete { old });
    }

    /// Demands that a ref is `oid` before the first change and after the last creation or update.
    pub fn verify(&mut self, name: &str, oid: Oid) {
        self.push(name, Change::Verify { oid });
    }

    /// Syncs each ref file before its rename and the directories after. Without it a power cut may lose what was
    /// committed last, as with git's `core.fsync=none`; a killed process never does. See also [`Refs::sync`].
    pub fn durable(&mut self) {
        self.flush = Flush::Yes;
    }

    /// Makes the changes, all or none as long as the process lives.
    ///
    /// # Errors
    /// [`TransactionError`] names the ref and the reason. What had been put in place by then was taken back, except
    /// for `left_behind`. Only a loose file that cannot be unlinked, at the very end, leaves all the rest done.
    pub fn commit(self) -> Result<(), TransactionError> {
        self.prepare()?.commit()
    }

    /// Takes the locks and checks the old values, for callers that have to look around while nobody else can change
    /// these refs. Dropping the result changes nothing. With a deletion in it `packed-refs` is locked too: be brief.
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn prepare(self) -> Result<Prepared, TransactionError> {
        Check::names(&self.edits)?;
        if let Some(stacks) = &self.refs.stacks {
            let prepared = PreparedStack::new(&self.refs, stacks, self.edits, self.flush)?;
            return Ok(Prepared(Backend::Stack(prepared)));
        }
        let values = self.edits.iter();
        let values = values.filter(|edit| edit.change.new_value().is_some());
        let waits_once = self.flush == Flush::Yes && values.count() > MANY;
        let each = if waits_once { Flush::No } else { self.flush };
        let mut prepared = PreparedFiles {
            locking: Locking::new(&self.refs.common_dir, each),
            waits_once,
            refs: self.refs,
            locks: BTreeMap::new(),
            edits: self.edits,
            flush: self.flush,
            rewrite: None,
        };
        prepared.lock()?;
        prepared.check()?;
        Ok(Prepared(Backend::Files(prepared)))
    }

    fn push(&mut self, name: &str, change: Change) {
        self.edits.push(Edit {
            name: name.to_owned(),
            change,
        });
    }
}

impl Change {
    fn new_value(self) -> Option<Oid> {
        match self {
            Self::Create { new } | Self::Update { new, .. } => Some(new),
            Self::Delete { .. } | Self::Verify { .. } => None,
        }
    }

    fn is_delete(self) -> bool {
        matches!(self, Self::Delete { .. })
    }
}

/// A transaction whose refs are locked and whose old values hold.
#[derive(Debug)]
#[must_use = "a prepared transaction that is dropped changes nothing"]
pub struct Prepared(Backend);

#[derive(Debug)]
enum Backend {
    Files(PreparedFiles),
    Stack(PreparedStack),
}

impl Prepared {
    /// Takes a ref out of the transaction and unlocks it.
    pub fn leave_out(&mut self, name: &str) {
        match &mut self.0 {
            Backend::Files(files) => files.leave_out(name),
            Backend::Stack(stack) => stack.leave_out(name),
        }
    }

    /// Makes the changes.
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn commit(self) -> Result<(), TransactionError> {
        match self.0 {
            Backend::Files(files) => files.commit(),
            Backend::Stack(stack) => stack.commit(),
        }
    }
}

/// One of loose and packed refs.
#[derive(Debug)]
struct PreparedFiles {
    refs: Refs,
    /// By ref name: sorted, which is the order of locking.
    locks: BTreeMap<String, LockFile>,
    edits: Vec<Edit>,
    flush: Flush,
    /// The new values are written and not synced yet.
    waits_once: bool,
    rewrite: Option<Rewrite>,
    locking: Locking,
}

impl PreparedFiles {
    fn leave_out(&mut self, name: &str) {
        self.edits.retain(|edit| edit.name != name);
        self.locks.remove(name);
    }

    fn commit(mut self) -> Result<(), TransactionError> {
        fail_point("refs-locked");
        self.sync_values()?;
        let mut placed = 0;
        let done = self
            .place(&mut placed)
            .and_then(|()| self.verify_again())
            .and_then(|()| self.delete_packed());
        if let Err(mut error) = done {
            error.left_behind = self.take_back(placed);
            return Err(error);
        }
        fail_point("refs-placed");
        self.delete_loose()?;
        self.rewrite = None;
        self.locks.clear();
        // Unlocked before the wait: nobody else need wait for the disk.
        self.sync()
    }

    fn lock(&mut self) -> Result<(), TransactionError> {
        let mut wanted: Vec<&Edit> = self.edits.iter().filter(|edit| edit.is_change()).collect();
        wanted.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        for edit in wanted {
            let line = edit.change.new_value().map(|new| format!("{new}\n"));
            let lock = self
                .locking
                .take(
                    self.refs.base(&edit.name),
                    &self.refs.path(&edit.name),
                    line.unwrap_or_default().as_bytes(),
                )
                .map_err(|error| self.lock_failure(&edit.name, error))?;
            self.locks.insert(edit.name.clone(), lock);
        }
        let first_delete = self.edits.iter().find(|edit| edit.change.is_delete());
        if let Some(edit) = first_delete {
            let rewrite = Rewrite::begin(&self.refs.common_dir, &mut self.locking)
                .map_err(|error| self.lock_failure(&edit.name, error))?;
            self.rewrite = Some(rewrite);
        }
        Ok(())
    }

    fn lock_failure(&self, name: &str, error: LockError) -> TransactionError {
        let reason = match error {
            LockError::Held(lock) => Reason::Locked { lock },
            LockError::Blocked => Reason::Conflict {
                with: self.file_above(name),
            },
            LockError::Io(error) => Reason::Io(error),
        };
        TransactionError::new(name, reason)
    }

    /// The ref whose file stands where `name` needs a directory.
    fn file_above(&self, name: &str) -> String {
        name.match_indices('/')
            .filter_map(|(at, _)| name.get(..at))
            .find(|above| !self.refs.base(name).join(above).is_dir())
            .unwrap_or(name)
            .to_owned()
    }

    fn check(&self) -> Result<(), TransactionError> {
        let mut check = Check::new(&self.refs, self.rewrite.as_ref(), &self.edits)?;
        self.edits.iter().try_for_each(|edit| check.edit(edit))
    }

    /// Renames the new values into place, counting in `placed` how many edits are through.
    fn place(&mut self, placed: &mut usize) -> Result<(), TransactionError> {
        for edit in &self.edits {
            if edit.change.new_value().is_some()
                && let Some(lock) = self.locks.get_mut(&edit.name)
            {
                place_one(lock, &self.refs.path(&edit.name))
                    .map_err(|reason| TransactionError::new(&edit.name, reason))?;
            }
            *placed += 1;
            fail_point("ref-placed");
        }
        Ok(())
    }

    fn verify_again(&mut self) -> Result<(), TransactionError> {
        for edit in &self.edits {
            let Change::Verify { oid } = edit.change else {
                continue;
            };
            let lock = lock_path(&self.refs.path(&edit.name));
            while lock.symlink_metadata().is_ok() {
                let cleared = self.locking.clear_dead();
                let cleared = cleared
                    .map_err(|error| TransactionError::new(&edit.name, Reason::Io(error)))?;
                if !cleared && !self.locking.patience.pause() {
                    return Err(TransactionError::new(&edit.name, Reason::Locked { lock }));
                }
            }
            Check::holds(&self.refs, &edit.name, oid)?;
        }
        Ok(())
    }

    fn delete_packed(&self) -> Result<(), TransactionError> {
        let Some(rewrite) = &self.rewrite else {
            return Ok(());
        };
        let gone: HashSet<&str> = self.deleted().collect();
        let first = gone.iter().min().copied().unwrap_or_default().to_owned();
        rewrite
            .replace(&gone)
            .map_err(|error| TransactionError::new(&first, Reason::Io(error)))
    }

    fn delete_loose(&self) -> Result<(), TransactionError> {
        for name in self.deleted() {
            let remove = |path: &Path| match std::fs::remove_file(path) {
                Err(error) if !is_absent(&error) => Err(Error::from(error)),
                _ => Ok(()),
            };
            remove(&self.refs.path(name))
                .map_err(|error| TransactionError::new(name, Reason::Io(error)))?;
            // Git's own reflog goes with the ref. It is only a trace: failing to remove it fails nothing.
            let _ = remove(&self.refs.base(name).join("logs").join(name));
        }
        Ok(())
    }

    fn deleted(&self) -> impl Iterator<Item = &str> {
        self.edits
            .iter()
            .filter(|edit| edit.change.is_delete())
            .map(|edit| edit.name.as_str())
    }

    /// Takes back the first `placed` edits, last first, each stating what it put there, so that what others did since
    /// stays. Returns the refs that could not be taken back.
    fn take_back(&mut self, placed: usize) -> Vec<String> {
        self.rewrite = None;
        self.locks.clear();
        // Each inverse takes the locks that were just let go.
        let mut left_behind = Vec::new();
        for edit in self.edits.iter().take(placed).rev() {
            let mut inverse = self.refs.transaction();
            match edit.change {
                Change::Create { new } => inverse.delete(&edit.name, Some(new)),
                Change::Update { new, old } => inverse.update(&edit.name, old, new),
                Change::Delete { .. } | Change::Verify { .. } => continue,
            }
            if inverse.commit().is_err() {
                left_behind.push(edit.name.clone());
            }
        }
        left_behind
    }

    /// Waits for the new values, where none of them was waited for.
    fn sync_values(&self) -> Result<(), TransactionError> {
        if !self.waits_once {
            return Ok(());
        }
        let mut seen = HashSet::new();
        for edit in &self.edits {
            let base = self.refs.base(&edit.name);
            if seen.insert(base) {
                sync_file_system(base)
                    .map_err(|error| TransactionError::new(&edit.name, Reason::Io(error)))?;
            }
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), TransactionError> {
        if self.flush == Flush::No {
            return Ok(());
        }
        let mut seen = HashSet::new();
        for edit in self.edits.iter().filter(|edit| edit.is_change()) {
            let directory = edit.name.rsplit_once('/').map(|(directory, _)| directory);
            if seen.insert(directory) {
                self.refs
                    .sync_directories(&edit.name)
                    .map_err(|error| TransactionError::new(&edit.name, Reason::Io(error)))?;
            }
        }
        Ok(())
    }
}

impl Edit {
    fn is_change(&self) -> bool {
        !matches!(self.change, Change::Verify { .. })
    }
}

impl Drop for PreparedFiles {
    /// Unlocks, then removes the directories that a deletion, or a lock that came to nothing, leaves empty.
    fn drop(&mut self) {
        self.rewrite = None;
        self.locks.clear();
        let mut parents = BTreeSet::new();
        for edit in self.edits.iter().filter(|edit| edit.is_change()) {
            if let Some((parent, _)) = edit.name.rsplit_once('/') {
                parents.insert((self.refs.base(&edit.name), parent));
            }
        }
        // Longer names first: a directory is empty only when those in it are gone.
        for (base, parent) in parents.into_iter().rev() {
            remove_empty_above(base, parent);
            remove_empty_above(&base.join("logs"), parent);
        }
    }
}

/// Removes `dir` below `base` and what is above it while empty. `refs/<one>` stays, as git keeps it.
fn remove_empty_above(base: &Path, dir: &str) {
    let mut at = dir;
    while at.matches('/').count() > 1 && std::fs::remove_dir(base.join(at)).is_ok() {
        at = at.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

/// Renames a lock onto its ref. Empty directories left by refs that were below it give way.
fn place_one(lock: &mut LockFile, path: &Path) -> Result<(), Reason> {
    let first = lock.rename_to(path);
    let result = match &first {
        Err(error) if is_directory_in_the_way(error.kind()) => {
            remove_empty_below(path);
            lock.rename_to(path)
        }
        _ => first,
    };
    result.map_err(|error| {
        if is_directory_in_the_way(error.kind()) {
            let with = path.file_name().unwrap_or_default().to_string_lossy();
            Reason::Conflict {
                with: format!("{with}/"),
            }
        } else {
            Reason::Io(error.into())
        }
    })
}

fn is_directory_in_the_way(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::IsADirectory | ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists
    )
}

/// Removes the empty directories at and below `dir`; stops at the first file without touching it.
fn remove_empty_below(dir: &Path) {
    if let Ok(entries) = std::fs::read_dir(dir) {
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remove_empty_below(&entry.path());
            }
        }
    }
    let _ = std::fs::remove_dir(dir);
}
