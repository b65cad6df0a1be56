//! Paths of which nothing but who may use them differs: permission bits, owner, group or attributes.

use std::collections::BTreeSet;

use super::{Plan, Planning};
use crate::git::access::Lost;
use crate::git::access_list::AccessList;

impl Plan {
    /// A file of which nothing but permission bits differs, and which is somebody else's on both sides, keeps them, which is told: it could
    /// only be replaced by one of ours.
    pub fn leave_bits_of_others(
        &mut self,
        (now, wanted): (&AccessList, &AccessList),
        may_change: fn(u32) -> bool,
    ) {
        let beyond = &mut self.beyond;
        self.entries.retain(|entry| {
            let both = now.of(&entry.path).zip(wanted.of(&entry.path));
            let of_others = both.filter(|(now, wanted)| {
                entry.is_chmod() && !may_change(now.uid) && !may_change(wanted.uid)
            });
            let Some((now, wanted)) = of_others else {
                return true;
            };
            let mut lost = Lost::between(&now, &wanted);
            lost.keep_bits();
            beyond.insert(entry.path.clone(), lost);
            false
        });
    }
}

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
        plan.leave_bits_of_others((&self.before.access, &self.after.access), self.may_change);
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
            for full in dirs {
                if let Some(lost) = self.beyond(&full) {
                    beyond.insert(full, lost);
                }
            }
        }
    }

    /// What a path that belongs to somebody else does not get.
    fn beyond(&self, full: &[u8]) -> Option<Lost> {
        let now = self.before.access.of(full)?;
        let wanted = self.after.access.of(full)?;
        (now != wanted && !(self.may_change)(now.uid)).then(|| Lost::between(&now, &wanted))
    }
}
