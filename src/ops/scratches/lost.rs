//! Scratches of runs that git knows nothing of any more: a run took away what made its directory a worktree.
//!
//! They are found by where they are and how they are called, and are only named: what is in them nobody can tell from a snapshot, so
//! nothing of them is saved or removed.

use std::path::{Path, PathBuf};

use super::known::KnownScratch;
use super::opening::with_worktrees_held;
use super::{known, place};
use crate::error::{Code, Result};
use crate::git::fs::{self, resolved, resolved_but_name};
use crate::git::regular;
use crate::git::repo::gitfile_target;
use crate::ops::Context;
use crate::store::id::Tail;

/// What the names of the scratches of runs begin with.
const PURPOSES: [&str; 3] = ["try", "bisect", "replay"];

/// One of them.
pub struct LostScratch {
    /// Where.
    pub dir: PathBuf,
    /// What it was made for.
    pub purpose: &'static str,
}

/// Those of this repository; `known` are the others.
///
/// # Errors
/// The list of worktrees cannot be read.
pub fn all(ctx: &Context<'_>, known: &[KnownScratch]) -> Result<Vec<LostScratch>> {
    if beside_known(ctx, known).is_empty() {
        return Ok(Vec::new());
    }
    // One that is being made is none of them.
    let found = with_worktrees_held(ctx, || Ok(beside_known(ctx, &known::all(ctx)?)));
    match found {
        Err(error) if error.code() == Code::Busy => Ok(Vec::new()),
        found => found,
    }
}

fn beside_known(ctx: &Context<'_>, known: &[KnownScratch]) -> Vec<LostScratch> {
    let Ok(base) = place::base(ctx) else {
        return Vec::new();
    };
    // What cannot be read names none.
    let entries = fs::entries(&resolved(&base)).unwrap_or_default();
    let lost = entries.into_iter().filter_map(|dir| {
        let purpose = purpose_of(&dir)?;
        let is_known = known.iter().any(|known| known.dir == dir);
        (!is_known && is_ours(ctx, &base, &dir)).then_some(LostScratch { dir, purpose })
    });
    lost.collect()
}

/// What a directory was made for that is called as that of a run.
fn purpose_of(dir: &Path) -> Option<&'static str> {
    let (purpose, tail) = dir.file_name()?.to_str()?.split_once('-')?;
    Tail::parse(tail)?;
    let is_dir = dir.symlink_metadata().ok()?.is_dir();
    let mut purposes = PURPOSES.into_iter();
    purposes.find(|known| is_dir && *known == purpose)
}

/// Other repositories may have theirs in the same place: whose it is says the link to git's directory, and where there is none, the place.
fn is_ours(ctx: &Context<'_>, base: &Path, dir: &Path) -> bool {
    let text = regular::read_optional(&dir.join(".git")).ok().flatten();
    match text.and_then(|text| gitfile_target(dir, &text)) {
        Some(target) => {
            // It may be gone with the last of them.
            let worktrees = resolved_but_name(&ctx.repo.common_dir().join("worktrees"));
            target.parent().map(resolved_but_name) == Some(worktrees)
        }
        None => place::beside(ctx.repo.worktree_root()).is_ok_and(|beside| beside == base),
    }
}
