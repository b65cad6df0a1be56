//! What surrounds the scratches, before and after something ran in one: the present with its git directory, and the refs that all
//! worktrees share.
//!
//! Owns which of it is looked at, and what a change is called. Promises: nothing is written; what cannot be read is as it was as long as
//! it cannot be read. Leaves out who made a change: whatever happened between two looks is told.

mod files;
mod git_files;

use std::collections::BTreeSet;

use self::files::Files;
use self::git_files::GitFiles;
use super::shared_refs::SharedRefs;
use crate::error::Result;
use crate::git::path::RepoPath;
use crate::ops::Context;
use crate::ops::capture::{CaptureOptions, Storing, capture};

/// How everything around the scratches is at a time.
pub struct Surroundings {
    files: Files,
    git: GitFiles,
    refs: SharedRefs,
}

/// What differs between two looks.
#[derive(Debug, Default)]
pub struct Changes {
    /// Paths of the present, and of its git directory as `.git/…`. A directory that came or went as a whole, or
    /// has other permission bits, ends in a slash.
    pub escapes: BTreeSet<RepoPath>,
    /// Names of refs.
    pub refs: BTreeSet<String>,
}

impl Changes {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.escapes.is_empty() && self.refs.is_empty()
    }
}

impl Surroundings {
    /// As it is now.
    ///
    /// # Errors
    /// The present or a ref cannot be read.
    pub fn look(ctx: &Context<'_>) -> Result<Self> {
        let store = ctx.store()?;
        let wanted = CaptureOptions {
            storing: Storing::No,
            ..CaptureOptions::default()
        };
        let seen = capture(ctx, store, &wanted)?;
        Ok(Self {
            files: Files::look(ctx, store, &seen.manifest)?,
            git: GitFiles::look(&ctx.repo, &seen),
            refs: SharedRefs::look(&ctx.repo)?,
        })
    }

    /// What was made, changed or deleted since.
    pub fn changed(&self, now: &Self) -> Changes {
        let mut escapes = self.files.changed(&now.files);
        escapes.extend(self.git.changed(&now.git));
        Changes {
            escapes,
            refs: self.refs.changed(&now.refs).into_iter().collect(),
        }
    }
}
