//! The worktrees of a repository as far as `tw` keeps something in them: state, journal, open directories.
//!
//! A read that fails is an error and never an absence: who forgets snapshots has to know all that needs them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::git::fs;
use crate::git::pinned::{DirId, is_same_dir};
use crate::git::repo::{Repo, gitfile_of, gitfile_target};
use crate::store::state::{StateDir, path_from_stored, read_json};
use crate::text::typed_path;

/// Says that `tw open` made a worktree; in its `timewarp` directory.
pub const OPENED: &str = "opened.json";

/// One worktree.
#[derive(Debug, Clone)]
pub struct Worktree {
    /// `main`, or the name under `worktrees/`.
    pub name: String,
    /// The main one; a linked one may have its name.
    pub is_main: bool,
    /// Its git directory.
    pub git_dir: PathBuf,
    /// Its `timewarp` directory.
    pub dir: StateDir,
}

impl Worktree {
    fn main(git_dir: &Path) -> Self {
        Self {
            name: "main".to_owned(),
            is_main: true,
            git_dir: git_dir.to_owned(),
            dir: StateDir::new(git_dir),
        }
    }

    fn linked(git_dir: PathBuf) -> Self {
        let name = git_dir.file_name().unwrap_or_default();
        Self {
            name: name.to_string_lossy().into_owned(),
            is_main: false,
            dir: StateDir::new(&git_dir),
            git_dir,
        }
    }
}

/// A directory that `tw open` made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedDir {
    /// 1.
    pub version: u32,
    /// The snapshot laid out.
    pub snapshot_id: String,
    /// Its commit at that time.
    pub commit: String,
    /// Where, absolute, in the form of [`stored_path`].
    ///
    /// [`stored_path`]: crate::store::state::stored_path
    pub dir: String,
    /// When, RFC 3339.
    pub at: String,
    /// Directories above it that were made for it, outermost first, in the same form.
    #[serde(default)]
    pub parents: Vec<String>,
    /// By which the directory is known again; null where an earlier version made it.
    #[serde(default)]
    pub identity: Option<DirId>,
    /// Fields of a later version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl OpenedDir {
    /// Returns the absolute path of the working tree.
    pub fn path(&self) -> PathBuf {
        path_of(&self.dir)
    }

    /// Directories above it that were made for it, outermost first.
    pub fn parent_paths(&self) -> Vec<PathBuf> {
        self.parents.iter().map(|dir| path_of(dir)).collect()
    }
}

fn path_of(stored: &str) -> PathBuf {
    let bytes = path_from_stored(stored).unwrap_or_else(|| stored.as_bytes().to_vec());
    PathBuf::from(OsString::from_vec(bytes))
}

/// Every worktree: the main one first, then the linked ones, sorted by name.
///
/// # Errors
/// When the list of worktrees cannot be read.
pub fn all(repo: &Repo) -> Result<Vec<Worktree>> {
    let common = repo.common_dir();
    let mut found = vec![Worktree::main(common)];
    for path in fs::entries(&common.join("worktrees"))? {
        if fs::is_dir(&path)? {
            found.push(Worktree::linked(path));
        }
    }
    Ok(found)
}

/// What `tw open` wrote about a worktree, when it made it.
///
/// # Errors
/// `CORRUPT_RECORD` or `NEWER_RECORD`.
pub fn opened(dir: &StateDir) -> Result<Option<OpenedDir>> {
    read_json(&dir.file(OPENED))
}

/// Where a worktree's working tree is, as far as its git directory tells.
pub fn root(worktree: &Worktree) -> Option<PathBuf> {
    let git_dir = &worktree.git_dir;
    let Some(file) = gitfile_of(git_dir).ok()? else {
        let is_usual = git_dir.file_name() == Some(OsStr::new(".git"));
        return git_dir.parent().filter(|_| is_usual).map(Path::to_owned);
    };
    file.parent().map(Path::to_owned)
}

/// Says which worktree's record could not be read, and that nothing was done for that reason.
pub fn unreadable(repo: &Repo, worktree: &Worktree, error: Error) -> Error {
    let error = error.while_doing(format!("worktree '{}'", worktree.name));
    match if_gone(repo, worktree) {
        Some(way_out) => error.with_hints([way_out]),
        None => error,
    }
}

/// What can be done about a worktree whose directory is gone, in which nobody can run anything; None for one that stands.
pub fn if_gone(repo: &Repo, worktree: &Worktree) -> Option<String> {
    let link = gitfile_of(&worktree.git_dir).ok()??;
    if worktree.is_main || !matches!(fs::is_there(&link), Ok(false)) {
        return None;
    }
    let dir = link.parent()?;
    let forget = if repo.is_private() {
        // Its user need not have git.
        format!("rm -r {}", typed_path(&worktree.git_dir))
    } else if matches!(fs::is_there(&worktree.git_dir.join("locked")), Ok(false)) {
        "git worktree prune".to_owned()
    } else {
        format!(
            "git worktree unlock {} && git worktree prune",
            typed_path(dir)
        )
    };
    let dir = dir.display();
    Some(format!(
        "'{dir}' is gone: bring it back, or '{forget}' forgets it with all that is kept of it"
    ))
}

/// The git directory that a worktree's `.git` leads to, a file or a symlink, when it is one of this repository's linked worktrees. By
/// which path it leads there is no matter.
pub fn linked_git_dir(repo: &Repo, dir: &Path) -> Option<PathBuf> {
    let link = dir.join(".git");
    let kind = link.symlink_metadata().ok()?.file_type();
    let git_dir = if kind.is_symlink() {
        link
    } else if kind.is_file() {
        gitfile_target(dir, &fs::read_optional(&link).ok()??)?
    } else {
        return None;
    };
    let git_dir = git_dir.canonicalize().ok()?;
    let worktrees = repo.common_dir().join("worktrees");
    // The link is in a directory that others write: one that leads elsewhere would have us remove what is not ours.
    if !is_same_dir(git_dir.parent()?, &worktrees) {
        return None;
    }
    Some(worktrees.join(git_dir.file_name()?))
}
