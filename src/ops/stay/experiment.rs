//! What becomes of a past that is left: an experiment.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::ReturnOperation;
use super::limit::Limit;
use crate::error::Result;
use crate::git::fs::Root;
use crate::ops::capture::Capture;
use crate::ops::swap::goal::{Experiment, PastStart};
use crate::ops::swap::head::{head_for, past_head, past_operation};
use crate::ops::unsaved;
use crate::worktree::manifest::Manifest;

/// How a past is left, and what the captures of it find out.
pub(super) struct Leaving {
    /// The present is back afterwards; else another past is there.
    ends_stay: bool,
    /// Untracked files over the limit stay out of the experiment; else they are refused.
    discard: bool,
    /// These files.
    pub discarded: RefCell<Vec<Vec<u8>>>,
    /// At the end of a stay: what the last capture left out.
    pub left_out: RefCell<BTreeSet<Vec<u8>>>,
}

impl Leaving {
    /// For the present.
    pub fn home(discard: bool) -> Self {
        Self {
            ends_stay: true,
            discard,
            discarded: RefCell::default(),
            left_out: RefCell::default(),
        }
    }

    /// For another past.
    pub fn for_another_past() -> Self {
        Self {
            ends_stay: false,
            ..Self::home(false)
        }
    }
}

impl ReturnOperation<'_> {
    /// Hands what the past becomes to a swap, or to a look at one.
    ///
    /// # Errors
    /// What travel wrote cannot be read, and those of the call.
    pub(super) fn with_experiment<T>(
        &self,
        leaving: &Leaving,
        call: impl FnOnce(Experiment<'_>) -> Result<T>,
    ) -> Result<T> {
        let hidden = |seen: &Capture<'_>| self.hidden(seen);
        let written = self.written_by_travel()?;
        let likely = |full: &[u8]| written.blob(full);
        let before_hashing = |manifest: &mut Manifest| {
            if leaving.ends_stay {
                let root = Root::open(self.ctx.repo.worktree_root())?;
                leaving
                    .left_out
                    .replace(unsaved::left_out(&root, manifest)?);
            }
            self.limit(manifest, leaving)
        };
        call(Experiment {
            extra: self.extra(),
            hidden: &hidden,
            likely_rules: written.rules,
            likely: &likely,
            before_hashing: Some(&before_hashing),
            discarded: &leaving.discarded,
            start: self.past_start()?,
            ends_stay: leaving.ends_stay,
        })
    }

    /// The fields of the experiment's record that other snapshots do not have.
    fn extra(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut extra = serde_json::Map::new();
        if let Some(start) = &self.start {
            extra.insert("started_from".into(), start.id.to_string().into());
        }
        if self.taken_over {
            extra.insert("taken_over".into(), true.into());
        }
        extra
    }

    /// What the past is while nobody changes it; None when the snapshot that was travelled to is gone.
    fn past_start(&self) -> Result<Option<PastStart<'_>>> {
        let Some(files) = &self.start else {
            return Ok(None);
        };
        let (git, raw_head, operation) = if self.state.files_only {
            (
                &self.backup,
                head_for(self.ctx, self.store, &self.backup)?.0,
                self.store.operation(&self.backup)?,
            )
        } else {
            (
                files,
                past_head(self.ctx, files)?,
                past_operation(self.store, files)?.0,
            )
        };
        Ok(Some(PastStart {
            files,
            git,
            backup: &self.backup,
            raw_head,
            operation,
        }))
    }

    /// Untracked files made in the past over the limit: refused, or left out and left in place.
    fn limit(&self, manifest: &mut Manifest, leaving: &Leaving) -> Result<()> {
        let limit = Limit {
            ctx: self.ctx,
            bytes: self.ctx.settings.experiment_limit,
            store: self.store,
            backup: &self.backup,
            start: self.start.as_ref(),
        };
        if let Some(left_out) = limit.apply(manifest, leaving.discard)? {
            leaving.discarded.replace(left_out);
        }
        Ok(())
    }
}
