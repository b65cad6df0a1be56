//! Copies of worktrees, which share the git directory of the one that was copied.
//!
//! `cp -a` takes the `.git` file along, and with it the way to another directory's HEAD, index and state. git goes on in either of
//! them as if the other were not there.

use std::path::{Path, PathBuf};

use super::{Repo, discover};
use crate::git::pinned::is_same_dir;

impl Repo {
    /// The directory that this linked worktree's git directory belongs to, when that is another one and still stands. One that
    /// was moved away is none: git goes on where it is now.
    pub fn copied_from(&self) -> Option<PathBuf> {
        let file = discover::gitfile_of(&self.git_dir).ok()??;
        let top = file.parent().filter(|_| self.linked)?;
        self.shares_git_dir_with(top).then(|| top.to_path_buf())
    }

    /// Whether another directory than this worktree has this git directory, too.
    pub fn shares_git_dir_with(&self, dir: &Path) -> bool {
        let is_other = dir.metadata().is_ok() && !is_same_dir(dir, &self.root);
        is_other && discover::git_dirs_of(dir).is_some_and(|(found, _)| found == self.git_dir)
    }
}
