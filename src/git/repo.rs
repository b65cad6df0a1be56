//! The repository of the current directory: found, judged, opened, and asked.
//!
//! Owns discovery, identity (git directory, common directory, working tree), HEAD, and git's configuration. Promises:
//! what the environment says in `GIT_DIR`, `GIT_WORK_TREE`, `GIT_INDEX_FILE` and the like is never followed; what cannot
//! be worked in is refused by name before anything is touched; nothing here writes but [`Repo::edit_config`]. Leaves out refs other than
//! HEAD, the index, and object writing, which have modules of their own.

mod config;
mod copied;
mod discover;
mod format;
mod head;
mod settings;
#[cfg(test)]
pub(in crate::git) mod testing;

/// The rest of an absolute path beneath a directory, which is resolved itself: also where the path comes to it by a symlink. What lies
/// beneath is not resolved. None for any other path.
pub fn beneath<'p>(dir: &Path, path: &'p Path) -> Option<&'p Path> {
    if let Ok(rest) = path.strip_prefix(dir) {
        return Some(rest);
    }
    let mut above: Vec<&Path> = path.ancestors().collect();
    above.reverse();
    let there = above
        .into_iter()
        .find(|at| at.canonicalize().is_ok_and(|resolved| resolved == dir))?;
    path.strip_prefix(there).ok()
}

#[cfg(test)]
mod tests;
mod trust;

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, RepositoryOpenFlags};

pub use self::config::{ConfigEntry, ConfigLevel};
pub(in crate::git) use self::discover::git_dirs_of;
pub use self::discover::{gitfile_of, gitfile_target, has_git, holds_repository, is_git_directory};
pub(super) use self::format::teach_libgit2;
pub use self::head::Head;
pub use self::settings::{ConfigFile, SharedRepository, Values};

use self::config::{Config, Dirs, Sources};
use self::discover::{Discovered, Limits};
use crate::env::Env;
use crate::error::{Result, ResultExt};
use crate::git::fs::is_there;
use crate::git::objects::ObjectStore;
use crate::git::refs::{RefFormat, Refs};
use crate::git::{ObjectFormat, Oid, private, regular};

/// An open repository with a working tree.
pub struct Repo {
    /// Opened at its first use: few commands ask for what libgit2 does.
    git2: OnceCell<git2::Repository>,
    git_dir: PathBuf,
    common_dir: PathBuf,
    root: PathBuf,
    linked: bool,
    private: bool,
    index: PathBuf,
    refs: Refs,
    format: ObjectFormat,
    config: Config,
    env: Env,
}

impl Repo {
    /// Finds and opens the repository of `start` by walking up.
    ///
    /// # Errors
    /// `NOT_A_REPOSITORY` when there is none, not even a private one; `UNSAFE_REPOSITORY` when someone else owns it; `UNSUPPORTED_REPOSITORY` when
    /// it is bare or of a format that is not read here; `INVALID_CONFIG` when git's own configuration
    /// does not parse.
    pub fn discover(start: &Path, env: &Env) -> Result<Self> {
        let sources = Sources::from_env(env);
        let found = discover::find(start, &Limits::from_env(env), env)?;
        Self::open(found, &sources, env)
    }

    /// The git directory of a repository that may not be readable, where it belongs to this user.
    pub fn own_git_dir(start: &Path, env: &Env) -> Option<PathBuf> {
        let found = discover::find(start, &Limits::from_env(env), env).ok()?;
        let protected = Config::protected(&Sources::from_env(env), &found.git_dir).ok()?;
        trust::check(&found, &protected, env).ok()?;
        Some(found.git_dir)
    }

    /// Whether a directory may become a workspace of this user's, by git's rule of ownership.
    ///
    /// # Errors
    /// `UNSAFE_REPOSITORY` when it belongs to somebody else and `safe.directory` does not name it; `INVALID_CONFIG`.
    pub fn check_owner(dir: &Path, env: &Env) -> Result<()> {
        let protected = Config::protected(&Sources::from_env(env), dir)?;
        trust::check(&Discovered::at(dir), &protected, env)
    }

    fn open(found: Discovered, sources: &Sources, env: &Env) -> Result<Self> {
        let protected = Config::protected(sources, &found.git_dir)?;
        trust::check(&found, &protected, env)?;
        let dirs = Dirs {
            git_dir: &found.git_dir,
            common_dir: &found.common_dir,
        };
        let local = Config::local(sources, dirs)?;
        format::check(&local)?;
        let private = found.is_private || (found.is_linked() && private::holds(&found.common_dir));
        if !private {
            format::check_environment(env)?;
        }
        let root = format::worktree_root(&found, &local)?;
        check_files(&found)?;
        let refs = Refs::new(
            &found.common_dir,
            &found.git_dir,
            format::ref_format(&local),
        );
        let format = format::object_format(&local);
        let (protected, local) = Config::read_again((protected, local), sources, dirs, &root)?;
        let repo = Self {
            git2: OnceCell::new(),
            linked: found.is_linked(),
            private,
            index: super::fs::followed(found.git_dir.join("index")),
            refs,
            format,
            config: Config::merged(protected, local),
            git_dir: found.git_dir,
            common_dir: found.common_dir,
            root,
            env: env.clone(),
        };
        let sharing = repo.shared_repository()?;
        for dir in [&repo.common_dir, &repo.git_dir] {
            super::create::share(dir, sharing);
        }
        Ok(repo)
    }

    /// This worktree's git directory, resolved: where its HEAD and index are.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git directory that all worktrees share, resolved: where refs, objects and config are.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The top of this working tree, resolved.
    pub fn worktree_root(&self) -> &Path {
        &self.root
    }

    /// This worktree's index file: where the symlink leads, when it is one, as git takes it. It need not exist.
    pub fn index_path(&self) -> PathBuf {
        self.index.clone()
    }

    /// Its refs, as this worktree sees them.
    pub fn refs(&self) -> &Refs {
        &self.refs
    }

    /// How the repository names its objects.
    pub fn object_format(&self) -> ObjectFormat {
        self.format
    }

    /// Whether `git worktree add` made this worktree.
    pub fn is_linked_worktree(&self) -> bool {
        self.linked
    }

    /// Whether git leaves objects with a remote until they are needed: by the extension, as old versions of git wrote it, or by what
    /// is said of a remote.
    pub fn is_partial_clone(&self) -> bool {
        let promises = |entry: &ConfigEntry| {
            entry.key.ends_with(".partialclonefilter")
                || (entry.key.ends_with(".promisor") && entry.bool().unwrap_or(true))
        };
        self.config.entry("extensions.partialClone").is_some()
            || self.config.with_prefix("remote.").into_iter().any(promises)
    }

    /// Whether this is the private repository of a directory without git, or a scratch of one.
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// Whether the repository is bare, so that its own HEAD is the checkout of nothing. Linked worktrees it may have.
    ///
    /// # Errors
    /// `INVALID_CONFIG`.
    pub fn is_bare(&self) -> Result<bool> {
        if !self.linked {
            return Ok(false);
        }
        let dirs = Dirs {
            git_dir: &self.common_dir,
            common_dir: &self.common_dir,
        };
        format::is_bare(&Config::local(&Sources::from_env(&self.env), dirs)?)
    }

    /// `main`, or a linked worktree's name as it stands under `worktrees/` in the common git directory.
    pub fn worktree_name(&self) -> String {
        match self.git_dir.file_name() {
            Some(name) if self.linked => name.to_string_lossy().into_owned(),
            _ => "main".to_owned(),
        }
    }

    /// Where HEAD points, read afresh, with the commit that it leads to.
    ///
    /// # Errors
    /// HEAD cannot be read. An object that is not there is none.
    pub fn head(&self, objects: &ObjectStore) -> Result<Head> {
        Ok(self.head_unpeeled()?.peeled(objects))
    }

    /// The object that HEAD or its ref names, which may be a tag; None when unborn.
    ///
    /// # Errors
    /// HEAD cannot be read.
    pub fn head_target(&self) -> Result<Option<Oid>> {
        Ok(self.head_unpeeled()?.oid)
    }

    /// [`Self::head`], with a tag left as it is.
    pub(in crate::git) fn head_unpeeled(&self) -> Result<Head> {
        if self.refs.format() == RefFormat::Reftable {
            return head::read_reftable(&self.refs);
        }
        head::read(Dirs {
            git_dir: &self.git_dir,
            common_dir: &self.common_dir,
        })
    }

    /// What to say of a HEAD whose branch is broken, with the commands that mend it; `None` for any other.
    pub fn broken_branch(&self, head: &Head) -> Option<String> {
        let branch = head.reference.as_deref().filter(|_| head.broken)?;
        Some(head::mending(&self.refs, &self.common_dir, branch))
    }

    /// libgit2's handle, for this layer alone, and for a repository with ids of SHA-1. Its view of the environment is its own: ask [`Repo`] for configuration.
    ///
    /// # Errors
    /// libgit2 cannot open the repository.
    pub(in crate::git) fn git2(&self) -> Result<&git2::Repository> {
        if let Some(git2) = self.git2.get() {
            return Ok(git2);
        }
        let opened = self.open_git2()?;
        Ok(self.git2.get_or_init(|| opened))
    }

    /// Opens exactly this git directory. Not by libgit2's own walk and never from the environment.
    fn open_git2(&self) -> Result<git2::Repository> {
        let git_dir = &self.git_dir;
        if self.refs.format() == RefFormat::Reftable {
            // Which libgit2 knows nothing of. Its refs are asked for nowhere.
            return open_objects(&self.common_dir);
        }
        format::teach_libgit2();
        let flags = RepositoryOpenFlags::NO_SEARCH
            | RepositoryOpenFlags::NO_DOTGIT
            | RepositoryOpenFlags::CROSS_FS;
        let none: [&OsStr; 0] = [];
        let opened = match git2::Repository::open_ext(git_dir, flags, none) {
            // Ownership has been judged by git's rules; libgit2 knows fewer of them. Opening as bare asks no owner.
            Err(error) if error.code() == ErrorCode::Owner => git2::Repository::open_bare(git_dir),
            // Nor does it know a HEAD that is a symlink to a branch which is packed, unborn, or another directory's.
            Err(error) if error.code() == ErrorCode::NotFound && head::is_symlink(git_dir) => {
                return open_objects(&self.common_dir);
            }
            // And it refuses grafts with comments, or with a space at a line's end, which git reads.
            Err(_) if is_there(&self.common_dir.join("info/grafts"))? => {
                return open_objects(&self.common_dir);
            }
            other => other,
        };
        let repo = opened.context(|| format!("open the repository at '{}'", git_dir.display()))?;
        // libgit2 trusts a moved worktree's old link and knows no config.worktree here; the root is known better.
        repo.set_workdir(&self.root, false)
            .context(|| format!("open the working tree '{}'", self.root.display()))?;
        Ok(repo)
    }

    /// The environment that the repository was found with.
    pub fn env(&self) -> &Env {
        &self.env
    }
}

impl std::fmt::Debug for Repo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repo")
            .field("git_dir", &self.git_dir)
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

/// What libgit2 opens by name, and would wait for, when it opens a repository.
const READ_BY_LIBGIT2: [&str; 7] = [
    "HEAD",
    "commondir",
    "gitdir",
    "shallow",
    "info/grafts",
    "packed-refs",
    "objects/info/alternates",
];

/// Opens the repository's objects alone, which is nearly all that is asked of libgit2.
fn open_objects(common_dir: &Path) -> Result<git2::Repository> {
    let what = || format!("open the repository at '{}'", common_dir.display());
    let objects = common_dir.join("objects");
    let odb = git2::Odb::new().context(what)?;
    let path = objects.to_str().ok_or_else(|| {
        let code = crate::error::Code::UnsupportedRepository;
        crate::error::Error::new(code, format!("'{}' is not UTF-8", objects.display()))
    })?;
    odb.add_disk_alternate(path).context(what)?;
    git2::Repository::from_odb(odb).context(what)
}

/// Refuses what would keep whoever opens it waiting, before anything is asked of the repository.
fn check_files(found: &Discovered) -> Result<()> {
    for name in READ_BY_LIBGIT2 {
        regular::check(&found.git_dir.join(name))?;
        if found.is_linked() {
            regular::check(&found.common_dir.join(name))?;
        }
    }
    Ok(())
}
