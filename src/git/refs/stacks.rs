//! Refs and transactions where refs are kept in the reftable format.
//!
//! A worktree sees two stacks: the common one, and its own with HEAD and what each worktree has for itself; in the main
//! worktree they are one. A transaction is of one stack, is made under its lock, and happens in one moment. What it
//! verifies therefore holds when its refs stand, and a deletion that was prepared keeps everybody else waiting, so that
//! the promises of [`super::transaction`] hold by themselves.

use std::path::Path;
use std::sync::Arc;

use super::check::{above, equals};
use super::failure::{Reason, TransactionError};
use super::lock::{LockError, Locking};
use super::loose::Value;
use super::reftable::{Held, Stack};
use super::transaction::{Change, Edit};
use super::{Refs, is_common, is_per_worktree, is_valid_name};
use crate::error::{self, Code, Error};
use crate::git::liveness::Flush;

/// The stacks that one worktree sees.
#[derive(Debug, Clone)]
pub(super) struct Stacks {
    pub(super) common: Arc<Stack>,
    pub(super) own: Arc<Stack>,
}

impl Stacks {
    pub(super) fn of(common_dir: &Path, git_dir: &Path) -> Self {
        let common = Arc::new(Stack::new(common_dir));
        let own = if common_dir == git_dir {
            Arc::clone(&common)
        } else {
            Arc::new(Stack::new(git_dir))
        };
        Self { common, own }
    }

    /// The stack that has a ref of this name.
    pub(super) fn of_name(&self, name: &str) -> &Arc<Stack> {
        if is_common(name) {
            &self.common
        } else {
            &self.own
        }
    }

    /// The refs below `refs/` whose names begin with `prefix`, sorted.
    pub(super) fn list(&self, prefix: &str) -> error::Result<Vec<(String, error::Result<Value>)>> {
        let mut refs = self.common.view()?.list(prefix)?;
        // Those in the common stack are the main worktree's own.
        refs.retain(|(name, _)| !is_per_worktree(name));
        for own in super::PER_WORKTREE {
            if own.starts_with(prefix) {
                refs.extend(self.own.view()?.list(own)?);
            } else if prefix.starts_with(own) {
                refs.extend(self.own.view()?.list(prefix)?);
            }
        }
        refs.retain(|(name, _)| name.starts_with("refs/") && is_valid_name(name));
        refs.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(refs)
    }
}

/// A transaction whose stack is locked and whose old values hold.
#[derive(Debug)]
pub(super) struct PreparedStack {
    edits: Vec<Edit>,
    held: Option<Held>,
    flush: Flush,
}

impl PreparedStack {
    pub(super) fn new(
        refs: &Refs,
        stacks: &Stacks,
        edits: Vec<Edit>,
        flush: Flush,
    ) -> Result<Self, TransactionError> {
        let Some(first) = edits.first() else {
            return Ok(Self {
                edits,
                held: None,
                flush,
            });
        };
        let stack = stacks.of_name(&first.name);
        let is_elsewhere = |edit: &&Edit| !Arc::ptr_eq(stacks.of_name(&edit.name), stack);
        if let Some(other) = edits.iter().find(is_elsewhere) {
            return Err(TransactionError::new(&other.name, Reason::Name));
        }
        let mut locking = Locking::new(&refs.common_dir, flush);
        let held = Held::take(Arc::clone(stack), &mut locking)
            .map_err(|error| TransactionError::new(&first.name, reason(error)))?;
        for edit in &edits {
            check(&held, edit).map_err(|reason| TransactionError::new(&edit.name, reason))?;
        }
        Ok(Self {
            edits,
            held: Some(held),
            flush,
        })
    }

    pub(super) fn leave_out(&mut self, name: &str) {
        self.edits.retain(|edit| edit.name != name);
    }

    pub(super) fn commit(self) -> Result<(), TransactionError> {
        let (Some(mut held), Some(first)) = (self.held, self.edits.first()) else {
            return Ok(());
        };
        for edit in &self.edits {
            match edit.change {
                Change::Create { new } | Change::Update { new, .. } => {
                    held.set(&edit.name, Value::Direct(new));
                }
                Change::Delete { .. } => held.delete(&edit.name),
                Change::Verify { .. } => {}
            }
        }
        let name = first.name.clone();
        held.commit(self.flush)
            .map_err(|error| TransactionError::new(&name, Reason::Io(error)))
    }
}

fn reason(error: LockError) -> Reason {
    match error {
        LockError::Held(lock) => Reason::Locked { lock },
        LockError::Blocked => Reason::Io(Error::new(Code::Io, "a file is where a directory was")),
        LockError::Io(error) => Reason::Io(error),
    }
}

fn check(held: &Held, edit: &Edit) -> Result<(), Reason> {
    let name = &edit.name;
    let find = |name: &str| held.view().find(name).map_err(Reason::Io);
    match edit.change {
        Change::Update { old: oid, .. }
        | Change::Delete { old: Some(oid) }
        | Change::Verify { oid } => equals(name, find(name)?, oid),
        Change::Delete { old: None } => Ok(()),
        Change::Create { .. } => match find(name)? {
            Some(Value::Direct(oid)) => Err(Reason::Exists { found: Some(oid) }),
            Some(Value::Symbolic(_)) => Err(Reason::Exists { found: None }),
            None => match in_the_way(held, name)? {
                Some(with) => Err(Reason::Conflict { with }),
                None => Ok(()),
            },
        },
    }
}

/// A ref above or below `name`, beside which it cannot be.
fn in_the_way(held: &Held, name: &str) -> Result<Option<String>, Reason> {
    let view = held.view();
    for above in above(name) {
        if view.find(above).map_err(Reason::Io)?.is_some() {
            return Ok(Some(above.to_owned()));
        }
    }
    let below = view.list(&format!("{name}/")).map_err(Reason::Io)?;
    Ok(below.into_iter().next().map(|(name, _)| name))
}

/// A change of what a worktree has for itself: HEAD, the refs beside it, `refs/bisect` and the like.
#[derive(Debug)]
pub(in crate::git) struct OwnChange {
    held: Held,
}

impl OwnChange {
    pub(super) fn begin(refs: &Refs, stacks: &Stacks) -> error::Result<Self> {
        let mut locking = Locking::new(&refs.common_dir, Flush::Yes);
        match Held::take(Arc::clone(&stacks.own), &mut locking) {
            Ok(held) => Ok(Self { held }),
            Err(error) => Err(TransactionError::new("HEAD", reason(error)).into()),
        }
    }

    /// What a ref says while nobody can change it.
    pub(in crate::git) fn find(&self, name: &str) -> error::Result<Option<Value>> {
        self.held.view().find(name)
    }

    /// Whether a ref has a log.
    pub(in crate::git) fn has_log(&self, name: &str) -> error::Result<bool> {
        self.held.view().has_log(name)
    }

    /// Puts a ref to a value, or removes it.
    pub(in crate::git) fn put(&mut self, name: &str, value: Option<Value>) {
        match value {
            Some(value) => self.held.set(name, value),
            None => self.held.delete(name),
        }
    }

    /// Adds an entry to a ref's log.
    pub(in crate::git) fn log(&mut self, name: &str, entry: super::LogEntry) {
        self.held.log(name, entry);
    }

    /// Removes a ref's log and leaves the ref.
    pub(in crate::git) fn forget_log(&mut self, name: &str) {
        self.held.forget_log(name);
    }

    /// Makes all of it, and brings it to disk.
    pub(in crate::git) fn commit(self) -> error::Result<()> {
        self.held.commit(Flush::Yes)
    }
}

/// The git directory's HEAD, for who knows nothing else of the repository. None: HEAD is not in a reftable.
///
/// git leaves a HEAD file there that names no branch that can be, so that others see a repository in it.
pub(in crate::git) fn head_of(git_dir: &Path) -> Option<Value> {
    let file = crate::git::regular::read(git_dir.join("HEAD")).ok()?;
    if file.trim_ascii() != b"ref: refs/heads/.invalid" {
        return None;
    }
    Stack::new(git_dir).view().ok()?.find("HEAD").ok()?
}
