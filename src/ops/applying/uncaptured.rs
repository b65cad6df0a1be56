//! What the snapshots of a change do not tell: what their records list as not captured, with all that is in it. That one of them lacks
//! such a path says neither that it was gone nor that it came later.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::git::path;
use crate::git::tree;
use crate::store::Store;
use crate::store::stored::Stored;
use crate::worktree::manifest::Kind;

/// Of both sides of a change the paths that their snapshots list as not captured.
#[derive(Debug, Default)]
pub struct Uncaptured {
    base: BTreeSet<Vec<u8>>,
    theirs: BTreeSet<Vec<u8>>,
}

impl Uncaptured {
    /// Of a change between these; without a base from what is there now.
    ///
    /// # Errors
    /// One of their lists cannot be read.
    pub fn of(store: &Store, base: Option<&Stored>, theirs: &Stored) -> Result<Self> {
        // What came to be tracked in spite of our globs or the team's is a change, whatever was there before.
        let is_by_glob = |reason: &str| {
            [Kind::DefaultExclude, Kind::TeamExclude]
                .iter()
                .any(|kind| kind.is_reason(reason))
        };
        let mut base = base.map_or(Ok(Vec::new()), |base| listed(store, base))?;
        base.retain(|(_, reason)| !is_by_glob(reason));
        let paths = |listed: Vec<(Vec<u8>, String)>| listed.into_iter().map(|(path, _)| path);
        Ok(Self {
            base: paths(base).collect(),
            theirs: paths(listed(store, theirs)?).collect(),
        })
    }

    /// Whether it is not known that a path was removed or added.
    pub fn hides(&self, change: &tree::Change) -> bool {
        let is_in = |listed| path::has_or_is_within(listed, &change.path);
        change.new.is_none() && is_in(&self.theirs) || change.old.is_none() && is_in(&self.base)
    }

    /// Whether a directory may be there on the side that a change leads to, though no tree has it.
    pub fn may_have_dir(&self, dir: &[u8]) -> bool {
        path::has_or_is_within(&self.theirs, dir) || path::any_within(&self.theirs, dir)
    }
}

fn listed(store: &Store, stored: &Stored) -> Result<Vec<(Vec<u8>, String)>> {
    let listed = store.lists(stored)?.uncaptured.into_iter();
    Ok(listed.map(|(path, entry)| (path, entry.reason)).collect())
}
