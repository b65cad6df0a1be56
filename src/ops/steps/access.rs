//! Who may use the paths of one swap, when that alone is taken back: as before it, but for what somebody changed since.

use std::collections::BTreeMap;

use super::alone::BothSides;
use crate::error::Result;
use crate::git::access::Access;
use crate::git::access_list::AccessList;
use crate::git::fs::Root;
use crate::ops::Context;
use crate::ops::capture::{Capture, access_of};
use crate::ops::merge::Merged;
use crate::ops::swap::given;
use crate::store::state::Journal;

/// What a swap made of who may use its paths.
pub(super) struct AccessLeft(BTreeMap<Vec<u8>, Access>);

impl AccessLeft {
    /// What a level says.
    ///
    /// # Errors
    /// It is damaged.
    pub(super) fn of(level: &Journal) -> Result<Self> {
        given::read(level).map(Self)
    }

    /// What the swap gave, by path.
    pub(super) fn paths(&self) -> &BTreeMap<Vec<u8>, Access> {
        &self.0
    }

    /// What paths get that are there before and after the swap is taken back. `before`: as before the swap, as far as that is known.
    ///
    /// # Errors
    /// What is there cannot be looked at.
    pub(super) fn taken_back(
        &self,
        (ctx, capture): (&Context<'_>, &Capture<'_>),
        before: &AccessList,
        (paths, merged): (&BothSides, &Merged),
    ) -> Result<BTreeMap<Vec<u8>, Access>> {
        let seen = capture.access(ctx)?;
        let root = Root::open(ctx.repo.worktree_root())?;
        let now = |path: &Vec<u8>| match seen.of(path) {
            Some(access) => Ok(Some(access.into_owned())),
            None => access_of(&root, std::iter::once(path)).map(|mut all| all.remove(path)),
        };
        let mut taken = BTreeMap::new();
        let was_there = |path: &Vec<u8>| paths.get(path).is_none_or(|[before, _]| before.is_some());
        for (path, left) in self.0.iter().filter(|(path, _)| was_there(path)) {
            if let (Some(before), Some(now)) = (before.of(path), now(path)?) {
                let back = now.taking_back(left, &before);
                if !back.is_as(&now) {
                    taken.insert(path.clone(), back);
                }
            }
        }
        for (to, from) in &merged.renamed {
            let sides = (paths.get(to), paths.get(from));
            let (Some([Some(_), None]), Some([None, Some(_)])) = sides else {
                continue;
            };
            if let (Some(before), Some(now)) = (before.of(to), now(from)?) {
                // What was made under another name, and of which nothing is noted, had nothing of its own.
                let usual = Access::owned((before.uid, before.gid));
                let left = self.0.get(from).unwrap_or(&usual);
                taken.insert(to.clone(), now.taking_back(left, &before));
            }
        }
        Ok(taken)
    }
}
