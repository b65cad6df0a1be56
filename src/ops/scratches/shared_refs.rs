//! The refs that all worktrees of a repository share, before and after a run: what one makes in its scratch, all of them see.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::Result;
use crate::git::Oid;
use crate::git::command::Git;
use crate::git::fs::{Durable, write_atomic};
use crate::git::objects::ObjectStore;
use crate::git::reflog;
use crate::git::regular;
use crate::git::repo::Repo;
use crate::store::names;

/// Where `git stash` puts what it takes.
const STASH: &str = "refs/stash";

/// Each ref with what it points to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedRefs {
    others: BTreeMap<String, String>,
    /// Those of `tw` that no command moves: snapshots, backups, experiments, labels. Records change all the time.
    own: BTreeMap<String, String>,
}

/// The file in an open directory's `timewarp` directory that has the refs of the moment before it was laid out, a line each.
pub const AT_OPENING: &str = "refs-at-opening";

/// Refs that come from other repositories, and those that each worktree has for itself.
const NOT_MADE: [&str; 4] = [
    "refs/remotes/",
    "refs/bisect/",
    "refs/worktree/",
    "refs/rewritten/",
];

/// Where the snapshots, backups, experiments and labels of tw are.
const OWN: [&str; 4] = [
    names::SNAPSHOTS,
    names::BACKUPS,
    names::EXPERIMENTS,
    names::LABELS,
];

impl SharedRefs {
    /// As they are now.
    ///
    /// # Errors
    /// git fails, or a ref cannot be read.
    pub fn look(repo: &Repo) -> Result<Self> {
        let mut found = Self::default();
        if repo.is_private() {
            // Without git: a private repository has its refs as files.
            for (name, oid) in repo.refs().read_all("refs/")? {
                found.add(name, || oid.map(|oid| oid.to_string()))?;
            }
            return Ok(found);
        }
        let format = "--format=%(refname) %(objectname)%(symref)";
        let bytes = Git::new(repo).args(["for-each-ref", format]).run()?;
        let text = String::from_utf8_lossy(&bytes);
        for (name, oid) in text.lines().filter_map(|line| line.split_once(' ')) {
            found.add(name.to_owned(), || Ok(oid.to_owned()))?;
        }
        Ok(found)
    }

    fn add(&mut self, name: String, points_to: impl FnOnce() -> Result<String>) -> Result<()> {
        if OWN.iter().any(|own| name.starts_with(own)) {
            // One that cannot be read is nobody's to judge here.
            self.own.extend(points_to().ok().map(|to| (name, to)));
        } else if !(name.starts_with(names::ROOT) || name.starts_with(names::NOTES)) {
            self.others.insert(name, points_to()?);
        }
        Ok(())
    }

    /// Writes them down, but for those of `tw`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, file: &Path) -> Result<()> {
        let lines = self.others.iter();
        let lines: String = lines.map(|(name, to)| format!("{to} {name}\n")).collect();
        write_atomic(file, lines.as_bytes(), Durable::No)
    }

    /// As [`Self::keep`] wrote them; None when nobody did.
    pub fn kept(file: &Path) -> Option<Self> {
        let text = regular::read_to_string(file).ok()?;
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let others = lines.map(|(to, name)| (name.to_owned(), to.to_owned()));
        Some(Self {
            others: others.collect(),
            own: BTreeMap::new(),
        })
    }

    /// The names of those that came since, and of those that lead to a commit that HEAD of this worktree was at, or to a stash of one.
    /// Who made them nobody knows.
    pub fn made(&self, now: &Self, repo: &Repo, objects: &ObjectStore) -> Vec<String> {
        let moves = reflog::read(repo).into_iter();
        let mut here: BTreeSet<Oid> = moves.map(|step| step.new).collect();
        here.extend(repo.head(objects).ok().and_then(|head| head.oid));
        let is_from_here = |name: &str, to: &str| {
            let hex = to.split_once("refs/").map_or(to, |(hex, _)| hex);
            let Ok(oid) = Oid::from_hex(hex) else {
                return false;
            };
            let parent = || Some(*objects.commit(oid).ok()?.parents.first()?);
            here.contains(&oid)
                || (name == STASH && parent().is_some_and(|parent| here.contains(&parent)))
        };
        let changed = now.others.iter();
        let changed = changed.filter(|(name, to)| match self.others.get(*name) {
            None => true,
            Some(before) => before != *to && is_from_here(name, to),
        });
        let made = changed.filter(|(name, _)| !NOT_MADE.iter().any(|not| name.starts_with(not)));
        made.map(|(name, _)| name.clone()).collect()
    }

    /// The names of those that were made, changed or deleted since; of `tw`'s own, which commands make all the time and retention lets
    /// go, changed or deleted labels, and what they name.
    pub fn changed(&self, now: &Self) -> Vec<String> {
        let all = self.others.keys().chain(now.others.keys());
        let others = all.filter(|name| self.others.get(*name) != now.others.get(*name));
        let labels = self.own.iter();
        let labels = labels.filter(|(name, _)| name.starts_with(names::LABELS));
        let named: BTreeSet<&String> = labels.map(|(_, to)| to).collect();
        let own = self.own.iter().filter(|(_, to)| named.contains(to));
        let own = own.filter(|(name, to)| now.own.get(*name) != Some(*to));
        let own = own.map(|(name, _)| name);
        let mut names: Vec<String> = others.chain(own).cloned().collect();
        names.sort();
        names.dedup();
        names
    }
}
