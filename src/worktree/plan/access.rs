//! Paths of which nothing but who may use them differs: permission bits, owner, group or attributes.

use std::collections::{BTreeMap, BTreeSet};

use super::{Plan, Planning};
use crate::error::Result;
use crate::git::access::Lost;
use crate::git::access_list::AccessList;
use crate::git::tree::Node;

impl Plan {
    /// A file of which nothing but permission bits differs, and which is somebody else's now and not known to be to become ours, keeps them,
    /// which is told: it could only be replaced.
    pub fn leave_bits_of_others(
        &mut self,
        (now, wanted): (&AccessList, &AccessList),
        may_change: fn(u32) -> bool,
    ) {
        let beyond = &mut self.beyond;
        self.entries.retain(|entry| {
            if !entry.is_chmod() {
                return true;
            }
            let Some(now) = now.of(&entry.path).filter(|now| !may_change(now.uid)) else {
                return true;
            };
            // A plain snapshot says nothing of most.
            let mut lost = match wanted.of(&entry.path) {
                Some(wanted) if may_change(wanted.uid) => return true,
                Some(wanted) => Lost::between(&now, &wanted),
                None => Lost::default(),
            };
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
    ///
    /// # Errors
    /// The later tree cannot be read.
    pub(super) fn leave_what_is_beyond(&self, plan: &mut Plan) -> Result<()> {
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
                // What goes, or has another name by now, loses nothing.
                if let Some(lost) = self.beyond(&full)
                    && (self.after.empty_dirs.contains(&full)
                        || (self.after_node)(&full)?.is_some_and(Node::is_dir))
                {
                    beyond.insert(full, lost);
                }
            }
        }
        self.tell_what_is_withheld(plan);
        Ok(())
    }

    /// What is there without what the later side may not give lost it, also where it stays as it is: an earlier swap may have taken it.
    fn tell_what_is_withheld(&self, plan: &mut Plan) {
        let withheld = &self.after.withheld;
        if withheld.is_empty() {
            return;
        }
        let entries = plan.entries.iter();
        let entries: BTreeMap<&[u8], bool> = entries
            .map(|entry| (entry.path.as_slice(), entry.after.is_some()))
            .collect();
        let stays = |path: &[u8]| self.only.is_none() && self.manifest.file(path).is_some();
        for (path, lost) in withheld {
            let is_put = entries.get(path.as_slice()).copied();
            if is_put.unwrap_or_else(|| stays(path)) {
                plan.beyond.insert(path.clone(), lost.clone());
            }
        }
    }

    /// What a path that belongs to somebody else does not get.
    fn beyond(&self, full: &[u8]) -> Option<Lost> {
        let now = self.before.access.of(full)?;
        let wanted = self.after.access.of(full)?;
        (!now.is_as(&wanted) && !(self.may_change)(now.uid)).then(|| Lost::between(&now, &wanted))
    }
}
