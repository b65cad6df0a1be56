//! What a git directory says beside its refs and objects: HEAD, the index, settings, hooks, excludes, locks, and the operation under way.
//!
//! The index is compared by its entries: git writes it anew to remember when it looked at a file. Of the excludes `tw`'s own lines do not
//! count. Names are those that the files have in a plain repository, `.git/…`, wherever the git directory is.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::git::path::{self, RepoPath};
use crate::git::regular;
use crate::git::repo::Repo;
use crate::ops::capture::Capture;
use crate::ops::issues::desk::exclude;

/// Files that all worktrees share.
const SHARED: &[&str] = &["config", "config.lock", "info/attributes"];
/// Files of this worktree. While a lock is there, no git writes what it locks.
const OWN: &[&str] = &[
    "HEAD.lock",
    "config.worktree",
    "index.lock",
    "info/sparse-checkout",
];
/// The excludes, which all worktrees share.
const EXCLUDE: &str = "info/exclude";
const HOOKS: &str = "hooks";

/// The files by their names, as they are at a time.
pub(super) struct GitFiles(BTreeMap<Vec<u8>, Vec<u8>>);

impl GitFiles {
    /// Looks at them. HEAD, the index and the operation are those of a look at the working tree.
    pub fn look(repo: &Repo, seen: &Capture<'_>) -> Self {
        let mut found = BTreeMap::new();
        let head = repo.raw_head().unwrap_or_default();
        found.insert(b"HEAD".to_vec(), head.into_bytes());
        let index = serde_json::to_vec(&seen.index).expect("plain data always encodes");
        found.insert(b"index".to_vec(), index);
        for (name, bytes, mode) in &seen.operation.files {
            let mode = mode.to_le_bytes().to_vec();
            found.insert(name.as_bytes().to_vec(), [mode, bytes.clone()].concat());
        }
        for (dir, names) in [(repo.common_dir(), SHARED), (repo.git_dir(), OWN)] {
            for name in names {
                let content = content(&dir.join(name));
                found.extend(content.map(|content| (name.as_bytes().to_vec(), content)));
            }
        }
        let excluded = regular::read(repo.common_dir().join(EXCLUDE));
        let excluded = exclude::without_block(&excluded.unwrap_or_default());
        found.insert(EXCLUDE.as_bytes().to_vec(), excluded);
        let hooks = std::fs::read_dir(repo.common_dir().join(HOOKS));
        for entry in hooks.into_iter().flatten().flatten() {
            let name = path::join(HOOKS.as_bytes(), entry.file_name().as_bytes());
            found.extend(content(&entry.path()).map(|content| (name, content)));
        }
        Self(found)
    }

    /// The names of those that were made, changed or deleted since.
    pub fn changed(&self, now: &Self) -> Vec<RepoPath> {
        let names = self.0.keys().chain(now.0.keys());
        let changed = names.filter(|name| self.0.get(*name) != now.0.get(*name));
        changed
            .map(|name| RepoPath::new(path::join(b".git", name)))
            .collect()
    }
}

/// What tells one state of a file from another: its mode, where it leads, and its bytes. None: it is not there.
fn content(file: &Path) -> Option<Vec<u8>> {
    let mode = file.symlink_metadata().ok()?.mode();
    let target = std::fs::read_link(file).unwrap_or_default();
    let bytes = regular::read(file).unwrap_or_default();
    let parts = [
        &mode.to_le_bytes()[..],
        target.as_os_str().as_bytes(),
        &bytes,
    ];
    Some(parts.join(&b'\n'))
}
