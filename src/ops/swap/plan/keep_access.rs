//! Changes that are put onto what is there keep its access: what stays, and what only gets another name, is for those whom it was for.

use std::collections::{BTreeMap, BTreeSet};

use super::{PathPlanner, dir_on_disk};
use crate::error::Result;
use crate::git::access::{Access, Lost, without_capabilities};
use crate::git::path;
use crate::git::reach::{ALL, beneath};
use crate::ops::capture::access_of;

/// Directories that are made for renamed files, and those that these come from.
type Sources = BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>;

impl PathPlanner<'_> {
    /// Has what is there keep owner, group and attributes, and what is renamed take them along, but for what gets others.
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
                let reach = self.reach(path::split(from).0, to)?;
                if let Some(side) = &mut self.plan.entries[at].after {
                    side.perm &= reach;
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

    /// A new directory is for those who got into all that its files come from.
    fn follow(&mut self, to: &[u8], sources: &BTreeSet<Vec<u8>>) -> Result<()> {
        let mut bits = 0o7777;
        let mut access: Option<Access> = None;
        for from in sources {
            let Some(now) = self.access_now(from)? else {
                continue;
            };
            bits &= 0o7700 | dir_on_disk(self.manifest, from).unwrap_or(0o777);
            bits &= self.reach(path::split(from).0, to)?;
            match &access {
                Some(access) => bits &= Lost::between(access, &now).narrow(bits),
                None => access = Some(now),
            }
        }
        if let Some(dir) = self.dirs.get_mut(to) {
            dir.after = dir.after.map(|perm| perm & bits);
        }
        if let Some(access) = access {
            self.plan.access.insert(to.to_vec(), access);
        }
        Ok(())
    }

    /// The permission bits for those who get through a directory and all over it, as far as `to` does not lie in these.
    fn reach(&self, dir: &[u8], to: &[u8]) -> Result<u32> {
        let mut reach = ALL;
        for at in path::with_parents(dir).filter(|at| !path::is_within(to, at)) {
            let Some(bits) = dir_on_disk(self.manifest, at) else {
                continue;
            };
            let access = self.access_now(at)?;
            let bits = access
                .and_then(|access| access.bits_without_acl(bits))
                .unwrap_or(bits);
            reach &= beneath(bits);
        }
        Ok(reach)
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
