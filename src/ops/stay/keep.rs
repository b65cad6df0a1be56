//! What a return keeps of the past (`--keep`): which paths, whether they can stay, and what of the present they keep away.

use super::ReturnOperation;
use crate::error::{Code, Error, Result};
use crate::git::fs::{Root, Stamp};
use crate::git::path;
use crate::git::tree::{self, LINK_MODE, Node};
use crate::ops::capture::Capture;
use crate::ops::request::Return;
use crate::ops::swap::read_tree;
use crate::text::{count, listed};

/// What `--keep` is for.
const NAMES_FILES: &str = "--keep names files of the past that stay in the working tree";

impl ReturnOperation<'_> {
    /// The paths that stay as they are.
    ///
    /// # Errors
    /// `PATH_NOT_FOUND`: nothing is there, or nothing that `tw` touches. `WOULD_OVERWRITE`: the present has a file where its directory is.
    pub(super) fn kept(&self, request: &Return) -> Result<Vec<Vec<u8>>> {
        let mut keep = Vec::new();
        let root = Root::open(self.ctx.repo.worktree_root())?;
        for word in &request.keep {
            let path = self.ctx.repo_path(word)?;
            let shown = path::display(word.as_encoded_bytes());
            let refused = |why: &str| {
                let message = format!("'{shown}' {why} and cannot be kept");
                Error::new(Code::PathNotFound, message)
                    .hint(NAMES_FILES)
                    .hint("'tw return' without it leads to the present")
            };
            if !path.is_empty() && !path::is_safe(&path) {
                return Err(refused("is not a path that tw touches"));
            }
            if path.is_empty() || root.stamp(&path)?.is_none() {
                return Err(match symlink_above(&root, &path)? {
                    Some(link) => {
                        refused(&format!("is behind the symlink '{}'", path::display(&link)))
                    }
                    None => refused("does not exist"),
                });
            }
            self.refuse_beneath_file(&path)?;
            keep.push(path);
        }
        Ok(keep)
    }

    /// Refuses what would be beneath a file of the present: both cannot be there.
    fn refuse_beneath_file(&self, kept: &[u8]) -> Result<()> {
        let (above, _) = path::split(kept);
        for at in path::with_parents(above).filter(|at| !at.is_empty()) {
            let there = tree::find(&self.store.objects, self.backup.tree, at)?;
            let Some(node) = there.filter(|node| !node.is_dir() && !node.is_gitlink()) else {
                continue;
            };
            let message = format!(
                "'{}' cannot be kept: in the present '{}' is {}",
                path::display(kept),
                path::display(at),
                if node.mode == LINK_MODE {
                    "a symlink"
                } else {
                    "a file"
                }
            );
            return Err(Error::new(Code::WouldOverwrite, message)
                .paths("paths", &[kept])
                .hint("'tw return' without it leads to the present, and saves it in the experiment")
                .hint("or move it to where the present has nothing, and keep it there"));
        }
        Ok(())
    }

    /// What is said of files of the present that do not come back, because what is kept is in their place or has none of their name.
    ///
    /// # Errors
    /// A tree cannot be read.
    pub(super) fn kept_away(
        &self,
        keep: &[Vec<u8>],
        capture: &Capture<'_>,
    ) -> Result<Option<String>> {
        if keep.is_empty() {
            return Ok(None);
        }
        let read = |oid| read_tree(self.store, capture, oid);
        let changes = tree::diff(&read, Some(capture.tree), Some(self.backup.tree))?;
        let is_file = |node: Option<Node>| node.is_some_and(|node| !node.is_gitlink());
        let away: Vec<Vec<u8>> = changes
            .into_iter()
            .filter(|change| change.old.is_none() && is_file(change.new))
            .map(|change| change.path)
            .filter(|path| keep.iter().any(|kept| path::is_within(path, kept)))
            .collect();
        if away.is_empty() {
            return Ok(None);
        }
        let shown = away.iter().map(|path| format!("'{}'", path::display(path)));
        Ok(Some(format!(
            "what is kept keeps {} of the present away: {}; 'tw restore {} PATH' brings one back",
            count(away.len(), "file"),
            listed(shown, 5),
            self.backup.id
        )))
    }
}

/// The symlink that keeps a path from being one of the working tree.
fn symlink_above(root: &Root, full: &[u8]) -> Result<Option<Vec<u8>>> {
    for at in path::with_parents(full) {
        if root.stamp(at)?.as_ref().is_some_and(Stamp::is_symlink) {
            return Ok(Some(at.to_vec()));
        }
    }
    Ok(None)
}
