//! What happens outside of the scratches while runs go on: in the present and its git directory, and to the refs that all worktrees share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use crate::git::path::RepoPath;
use crate::ops::Context;
use crate::ops::scratches::surroundings::Surroundings;
use crate::ops::tries::Outside;

/// What was seen while a run went on.
#[derive(Debug, Default)]
struct Seen {
    /// Paths of the present and of its git directory.
    escapes: BTreeSet<RepoPath>,
    /// Names of refs.
    refs: BTreeSet<String>,
    /// Others were running, too.
    uncertain: bool,
}

/// Watches what runs change outside of their scratches.
pub struct Watch(Mutex<Inner>);

struct Inner {
    seen: Surroundings,
    running: BTreeMap<u64, Seen>,
}

impl Watch {
    /// Begins with the surroundings as they are now.
    ///
    /// # Errors
    /// The present cannot be read.
    pub fn new(ctx: &Context<'_>) -> Result<Self> {
        Ok(Self(Mutex::new(Inner {
            seen: Surroundings::look(ctx)?,
            running: BTreeMap::new(),
        })))
    }

    /// Notes that a run begins.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn begin(&self, ctx: &Context<'_>, run: u64) -> Result<()> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.look(ctx)?;
        inner.running.insert(run, Seen::default());
        Ok(())
    }

    /// A run has ended. Adds what was seen meanwhile.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn end(&self, ctx: &Context<'_>, run: u64, outside: &mut Outside) -> Result<()> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let looked = inner.look(ctx);
        let seen = inner.running.remove(&run).unwrap_or_default();
        outside.escapes.extend(seen.escapes);
        outside.refs_made.extend(seen.refs);
        outside.uncertain |= seen.uncertain;
        looked
    }
}

impl Inner {
    /// Whatever changed is charged to all that run.
    fn look(&mut self, ctx: &Context<'_>) -> Result<()> {
        let now = Surroundings::look(ctx)?;
        let changed = self.seen.changed(&now);
        let several = self.running.len() > 1;
        for seen in self.running.values_mut() {
            seen.uncertain |= several && !changed.is_empty();
            seen.escapes.extend(changed.escapes.iter().cloned());
            seen.refs.extend(changed.refs.iter().cloned());
        }
        self.seen = now;
        Ok(())
    }
}
