//! The refs that all worktrees of a repository share, before and after a run: what one makes in its scratch, all of them see.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::git::command::Git;
use crate::git::repo::Repo;
use crate::store::names;

/// Each ref with what it points to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedRefs {
    others: BTreeMap<String, String>,
    /// Those of `tw` that no command moves: snapshots, backups, experiments, labels. Records change all the time.
    own: BTreeMap<String, String>,
}

/// Where those stand.
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
