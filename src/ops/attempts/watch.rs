//! What happens outside of the scratches while runs go on: in the present, and to the refs that all worktrees share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use crate::git::Oid;
use crate::git::path;
use crate::ops::Context;
use crate::ops::capture::{CaptureOptions, Storing, capture};
use crate::ops::scratches::shared_refs::SharedRefs;

/// What was seen while a run went on.
#[derive(Debug, Default, Clone)]
pub struct Outside {
    /// Paths of the present.
    pub escapes: BTreeSet<String>,
    /// Names of refs.
    pub refs: BTreeSet<String>,
    /// Others were running, too.
    pub uncertain: bool,
}

/// Looks on.
pub struct Watch(Mutex<Inner>);

struct Inner {
    files: BTreeMap<Vec<u8>, (u32, Oid)>,
    refs: SharedRefs,
    running: BTreeMap<u64, Outside>,
}

impl Watch {
    /// From how it is now.
    ///
    /// # Errors
    /// The present cannot be read.
    pub fn new(ctx: &Context<'_>) -> Result<Self> {
        Ok(Self(Mutex::new(Inner {
            files: files(ctx)?,
            refs: SharedRefs::look(&ctx.repo)?,
            running: BTreeMap::new(),
        })))
    }

    /// A run begins.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn begin(&self, ctx: &Context<'_>, run: u64) -> Result<()> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.look(ctx)?;
        inner.running.insert(run, Outside::default());
        Ok(())
    }

    /// A run has ended.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn end(&self, ctx: &Context<'_>, run: u64) -> Result<Outside> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let looked = inner.look(ctx);
        let seen = inner.running.remove(&run).unwrap_or_default();
        looked.map(|()| seen)
    }
}

impl Inner {
    /// Whatever changed is charged to all that run.
    fn look(&mut self, ctx: &Context<'_>) -> Result<()> {
        let (files, refs) = (files(ctx)?, SharedRefs::look(&ctx.repo)?);
        let paths = self.files.keys().chain(files.keys());
        let changed = paths.filter(|full| self.files.get(*full) != files.get(*full));
        let changed: BTreeSet<String> = changed.map(|full| path::display(full)).collect();
        let names = self.refs.changed(&refs);
        let several = self.running.len() > 1;
        for seen in self.running.values_mut() {
            seen.uncertain |= several && !(changed.is_empty() && names.is_empty());
            seen.escapes.extend(changed.iter().cloned());
            seen.refs.extend(names.iter().cloned());
        }
        (self.files, self.refs) = (files, refs);
        Ok(())
    }
}

fn files(ctx: &Context<'_>) -> Result<BTreeMap<Vec<u8>, (u32, Oid)>> {
    let wanted = CaptureOptions {
        storing: Storing::No,
        ..CaptureOptions::default()
    };
    let seen = capture(ctx, ctx.store()?, &wanted)?.manifest;
    let captured = seen.entries().filter(|(_, file)| file.kind.in_tree());
    let each = captured.map(|(dir, file)| {
        let full = seen.path_of(dir, &file);
        (full, (file.git_mode, file.oid))
    });
    Ok(each.collect())
}
