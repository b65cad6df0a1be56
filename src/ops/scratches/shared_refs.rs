//! The refs that all worktrees of a repository share, before and after a run: what one makes in its scratch, all of them see.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::git::command::Git;
use crate::git::repo::Repo;
use crate::store::names;

/// Each ref with what it points to, but those of `tw` itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedRefs(BTreeMap<String, String>);

impl SharedRefs {
    /// As they are now.
    ///
    /// # Errors
    /// git fails, or a ref cannot be read.
    pub fn look(repo: &Repo) -> Result<Self> {
        if repo.is_private() {
            return Self::read(repo);
        }
        let format = "--format=%(refname) %(objectname)%(symref)";
        let bytes = Git::new(repo).args(["for-each-ref", format]).run()?;
        let text = String::from_utf8_lossy(&bytes);
        let each = text.lines().filter_map(|line| line.split_once(' '));
        let others = each
            .filter(|(name, _)| !name.starts_with(names::ROOT) && !name.starts_with(names::NOTES));
        Ok(Self(
            others
                .map(|(name, oid)| (name.to_owned(), oid.to_owned()))
                .collect(),
        ))
    }

    /// Without git: a private repository has its refs as files.
    fn read(repo: &Repo) -> Result<Self> {
        let mut found = BTreeMap::new();
        for (name, oid) in repo.refs().read_all("refs/")? {
            if !(name.starts_with(names::ROOT) || name.starts_with(names::NOTES)) {
                found.insert(name, oid?.to_string());
            }
        }
        Ok(Self(found))
    }

    /// The names of those that were made, changed or deleted since.
    pub fn changed(&self, now: &Self) -> Vec<String> {
        let mut names: Vec<&String> = self.0.keys().chain(now.0.keys()).collect();
        names.sort();
        names.dedup();
        names.retain(|name| self.0.get(*name) != now.0.get(*name));
        names.into_iter().cloned().collect()
    }
}
