//! Changes that are put onto what is there keep its access: what stays, and what only gets another name, is for those whom it was for.

use std::collections::{BTreeMap, BTreeSet};

use super::{PathPlanner, dir_on_disk};
use crate::error::Result;
use crate::git::access::{Access, Lost, without_capabilities};
use crate::git::path;
use crate::git::reach::{ALL, beneath};
use crate::ops::capture::access_of;
use crate::ops::swap::found::{of_same_group, without_acl};

/// Directories that are made for renamed files, and those that these come from.
type Sources = BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>;

impl PathPlanner<'_> {
    /// Has what is there keep owner, group and attributes, and what is renamed take them along, but for what gets others. What was closed since
    /// the change is as closed for what leaves it.
    ///
    /// # Errors
    /// What is renamed cannot be looked at.
    pub(super) fn keep_access(&mut self) -> Result<()> {
        let there = self.plan.entries.iter();
        let there = there.filter(|entry| entry.before.is_some());
        let dirs = self.dirs.values().filter(|dir| dir.before.is_some());
        let paths = there.map(|entry| &entry.path);
        let paths = paths.chain(dirs.map(|dir| &dir.path)).cloned();
        self.plan.keep_access = paths.collect();
        let mut sources = Sources::new();
        for (to, from) in &self.changes.renamed {
            let entries = &self.plan.entries;
            let Ok(at) = entries.binary_search_by(|entry| entry.path.cmp(to)) else {
                continue;
            };
            if self.plan.entries[at].before.is_some() {
                continue;
            }
            if !self.pair_dirs((to, from), &mut sources) {
                let closed = self.closed_over(path::split(from).0, to)?;
                if let Some(side) = &mut self.plan.entries[at].after
                    && side.perm & closed != 0
                {
                    side.perm &= !closed;
                    self.plan.narrowed.insert(to.clone());
                }
            }
            if let Some(access) = self.access_now(from)? {
                self.plan.access.insert(to.clone(), access);
            }
        }
        for (to, from) in &sources {
            self.follow(to, from)?;
        }
        self.plan.access.extend(self.changes.access.clone());
        Ok(())
    }

    /// Notes from where directories come that are made for a renamed file; false when none is.
    fn pair_dirs(&self, (to, from): (&[u8], &[u8]), sources: &mut Sources) -> bool {
        let (mut to, mut from) = (path::split(to).0, path::split(from).0);
        let is_made = |dir: &[u8]| {
            let dir = self.dirs.get(dir);
            dir.is_some_and(|dir| dir.before.is_none() && dir.after.is_some())
        };
        let makes = is_made(to);
        while is_made(to) && !from.is_empty() {
            sources
                .entry(to.to_vec())
                .or_default()
                .insert(from.to_vec());
            (to, from) = (path::split(to).0, path::split(from).0);
        }
        makes
    }

    /// A new directory has the bits that its side recorded, but for those who were kept out since of what its files come from. What goes as it
    /// comes lends it owner, group and attributes; what stays beside it is another one, and lends none.
    fn follow(&mut self, to: &[u8], sources: &BTreeSet<Vec<u8>>) -> Result<()> {
        let Some(perm) = self.dirs.get(to).and_then(|dir| dir.after) else {
            return Ok(());
        };
        let (mut bits, mut closed) = (perm, 0);
        let mut lent: Option<Access> = None;
        for from in sources {
            let Some(now) = self.access_now(from)? else {
                continue;
            };
            closed |= self.closed_over(path::split(from).0, to)?;
            let found = self.changes.found.get(from);
            if found.is_some_and(|found| !found.goes) {
                let both = self.then_and_now(from)?;
                closed |= both.map_or(0, |(then, now)| then & !now & 0o077);
                continue;
            }
            let then = found.map_or(ALL, |found| found.bits);
            let now_bits = self.dir_now(from).unwrap_or(ALL);
            closed |= then & !now_bits & 0o077;
            if let Some(lent) = &lent {
                bits = Lost::between(lent, &now).narrow(bits);
                continue;
            }
            // The group that it had is not the one that comes back: it gets no more than it had.
            let recorded = self.saved.access.of(to);
            if of_same_group(perm, recorded.as_deref(), Some(&now)) != perm {
                closed |= 0o070 & !then;
            }
            lent = Some(now);
        }
        bits &= !closed;
        if let Some(dir) = self.dirs.get_mut(to).filter(|_| bits != perm) {
            dir.after = Some(bits);
            self.plan.narrowed.insert(to.to_vec());
        }
        if let Some(access) = lent {
            self.plan.access.insert(to.to_vec(), access);
        }
        Ok(())
    }

    /// The permission bits of those who got all the way through a directory, as far as `to` does not lie in what is passed, and do not any more.
    fn closed_over(&self, dir: &[u8], to: &[u8]) -> Result<u32> {
        let (mut then, mut now) = (ALL, ALL);
        for at in path::with_parents(dir).filter(|at| !path::is_within(to, at)) {
            if let Some((bits_then, bits_now)) = self.then_and_now(at)? {
                then &= beneath(bits_then);
                now &= beneath(bits_now);
            }
        }
        Ok(then & !now)
    }

    /// The permission bits of a directory that is there, with those that the changes open it to again.
    fn dir_now(&self, dir: &[u8]) -> Option<u32> {
        let becomes = self.dirs.get(dir).and_then(|dir| dir.after);
        dir_on_disk(self.manifest, dir).map(|bits| bits | becomes.unwrap_or(0))
    }

    /// The permission bits of a directory that is there for all those who are let in without an ACL: as the change found it, and now.
    fn then_and_now(&self, dir: &[u8]) -> Result<Option<(u32, u32)>> {
        let Some(bits) = self.dir_now(dir) else {
            return Ok(None);
        };
        let access = self.access_now(dir)?;
        let now = without_acl(bits, access.as_ref());
        let Some(found) = self.changes.found.get(dir) else {
            return Ok(Some((ALL, now)));
        };
        let root = self.manifest.dirs.first();
        let usual = root.map(|root| Access::owned((root.stamp.uid, root.stamp.gid)));
        let usual = usual.filter(|_| !self.saved.access.inherits);
        let access_then = found.access.as_ref();
        let then = without_acl(found.bits, access_then);
        let now = of_same_group(now, access_then.or(usual.as_ref()), access.as_ref());
        Ok(Some((then, now)))
    }

    fn access_now(&self, path: &[u8]) -> Result<Option<Access>> {
        let mut access = match self.now.of(path) {
            Some(access) => Some(access.into_owned()),
            None => access_of(self.root, std::iter::once(&path.to_vec()))?.remove(path),
        };
        if let Some(access) = access.as_mut().filter(|_| self.saved.foreign) {
            without_capabilities(access);
        }
        Ok(access)
    }
}
