//! Paths of which nothing but owner, group or attributes differ.

use std::collections::BTreeSet;

use super::{Plan, Planning};
use crate::git::access::Lost;

impl Planning<'_> {
    pub(super) fn access_differs(&self, full: &[u8]) -> bool {
        self.after.access.differs(&self.before.access, full)
    }

    /// Whether a path has another access on the later side, and this process may give it that.
    pub(super) fn gets_other_access(&self, full: &[u8]) -> bool {
        self.access_differs(full) && self.beyond(full).is_none()
    }

    pub(super) fn paths_with_other_access(&self) -> BTreeSet<Vec<u8>> {
        let all = || self.manifest.paths_on_disk();
        self.after.access.differing(&self.before.access, all)
    }

    /// Where nothing but access differs and somebody else's path would have to be given away, it stays as it is, which is told.
    pub(super) fn leave_what_is_beyond(&self, plan: &mut Plan) {
        let beyond = &mut plan.beyond;
        plan.entries.retain(|entry| {
            let same = entry.before == entry.after;
            match same.then(|| self.beyond(&entry.path)).flatten() {
                Some(lost) => {
                    beyond.insert(entry.path.clone(), lost);
                    false
                }
                None => true,
            }
        });
        if self.only.is_none() {
            let dirs = self.paths_with_other_access().into_iter();
            let dirs = dirs.filter(|full| self.dir_on_disk(full).is_some());
            beyond.extend(
                dirs.filter_map(|full| Some((self.beyond(&full)?, full)))
                    .map(|(lost, full)| (full, lost)),
            );
        }
    }

    /// What a path that belongs to somebody else does not get.
    fn beyond(&self, full: &[u8]) -> Option<Lost> {
        let now = self.before.access.of(full)?;
        let wanted = self.after.access.of(full)?;
        (now != wanted && !(self.may_change)(now.uid)).then(|| Lost::between(&now, &wanted))
    }
}
