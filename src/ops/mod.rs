//! The operations: each takes a [`Context`] and a request, and answers with an outcome. They print nothing.

pub mod address;
pub mod applying;
pub mod approval;
pub mod attempts;
pub mod backtrack;
pub mod bisect;
pub mod blame;
pub mod caller;
pub mod capture;
pub mod checkpoint;
pub mod checkpoints;
pub mod close;
pub mod compare;
pub mod config;
pub mod context;
pub mod diff;
pub mod doctor;
pub mod drop;
pub mod elsewhere;
mod envfiles;
pub mod event_log;
pub mod exports;
pub mod find;
pub mod fingerprint;
pub mod gitview;
mod head_commit;
pub mod here;
pub mod history;
pub mod holders;
pub mod hook;
pub mod init;
pub mod install;
pub mod issue;
pub mod issues;
pub mod kept;
pub mod known;
pub mod label;
pub mod line_range;
pub mod list;
pub mod log;
pub mod merge;
pub mod open;
pub mod outcome;
pub mod pathspec;
pub mod preview;
pub mod prune;
pub mod pull;
pub mod purge;
pub mod push;
pub mod put_back;
pub mod reclaim;
pub mod record;
pub mod recover;
pub mod recover_dropped;
pub mod redaction;
pub mod refspecs;
pub mod replay;
pub mod replays;
pub mod request;
pub mod restore;
pub(crate) mod resume_command;
pub mod retention;
pub mod return_;
pub mod revert;
pub mod rewind;
pub mod scratch;
pub mod scratches;
pub mod search;
pub mod session;
pub mod sessions;
pub mod settings;
pub mod share;
pub mod sharing;
pub mod show;
pub mod snapshot_view;
pub mod snapshots;
pub mod stages;
pub mod stats;
pub mod status;
mod stay;
pub mod steps;
mod stray_notes;
pub mod swap;
pub mod three_way;
pub mod timeline;
pub mod travel;
pub mod tries;
pub mod try_;
pub mod uncapturable;
pub mod undo;
pub mod unsaved;
pub mod upkeep;
pub mod versions;
pub mod watch;
pub mod watcher;
pub mod web;
mod whole;
pub mod workspace;
pub mod workspaces;
pub mod worktrees;

use std::cell::{Cell, OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::OnceLock;

use crate::env::Env;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::path;
use crate::git::repo::{Repo, beneath};
use crate::progress::Progress;
use crate::redact::Redactor;
use crate::store::Store;
use crate::store::id::IdKind;
use crate::store::lock::{Hold, WorktreeLock};
use crate::store::session::Sessions;
use crate::store::state::StateDir;
use history::SnapshotScope;
use settings::Settings;
use stages::Together;

/// What every operation works in: the repository of the current directory, its settings, the environment.
pub struct Context<'a> {
    /// The repository.
    pub repo: Rc<Repo>,
    /// Settings, all levels.
    pub settings: Settings,
    /// Clock and environment.
    pub env: &'a Env,
    /// Told of long work.
    pub progress: &'a dyn Progress,
    /// Where `tw` was started, absolute and resolved.
    pub cwd: PathBuf,
    address_reach: Cell<SnapshotScope>,
    redactor: OnceLock<Redactor>,
    store: OnceCell<Store>,
    together: RefCell<Option<Rc<dyn Together>>>,
}

impl<'a> Context<'a> {
    /// Finds the repository of `start`.
    ///
    /// # Errors
    /// `NOT_A_REPOSITORY`, `UNSUPPORTED_REPOSITORY`, `UNSAFE_REPOSITORY`, `INVALID_CONFIG`.
    pub fn open(start: &Path, env: &'a Env, progress: &'a dyn Progress) -> Result<Self> {
        let context = Self::open_despite_faults(start, env, progress)?;
        match context.settings.faults.first() {
            Some(fault) => Err(fault.clone().into()),
            None => Ok(context),
        }
    }

    /// As [`Self::open`], also where a setting has a value that it cannot have, in whose place its default holds: for those who help
    /// to mend it.
    ///
    /// # Errors
    /// As [`Self::open`], but for that.
    pub fn open_despite_faults(
        start: &Path,
        env: &'a Env,
        progress: &'a dyn Progress,
    ) -> Result<Self> {
        let repo = Rc::new(Repo::discover(start, env)?);
        let settings = Settings::load(&repo)?;
        let cwd = start
            .canonicalize()
            .context(|| format!("cannot resolve '{}'", start.display()))?;
        Ok(Self {
            repo,
            settings,
            env,
            progress,
            cwd,
            address_reach: Cell::default(),
            redactor: OnceLock::new(),
            store: OnceCell::new(),
            together: RefCell::default(),
        })
    }

    /// Which snapshots relative addresses and times mean.
    pub fn address_reach(&self) -> SnapshotScope {
        self.address_reach.get()
    }

    /// Lets relative addresses and times mean the snapshots of every worktree, and those taken in the past, from here on, where that is
    /// wanted.
    pub fn widen_addresses(&self, wanted: bool) {
        if wanted {
            self.address_reach.set(SnapshotScope::AllWorktrees);
        }
    }

    /// The store of this worktree, opened at its first use.
    ///
    /// # Errors
    /// The objects' directory cannot be read.
    pub fn store(&self) -> Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = Store::open(&self.repo, self.settings.file_wait())?;
        Ok(self.store.get_or_init(|| store))
    }

    /// The swap over all members of a workspace that a swap here is part of.
    pub fn together(&self) -> Option<Rc<dyn Together>> {
        self.together.borrow().clone()
    }

    /// Makes the swaps here part of one, or parts of none any more. Gives what was there before.
    pub fn set_together(&self, together: Option<Rc<dyn Together>>) -> Option<Rc<dyn Together>> {
        self.together.replace(together)
    }

    /// This worktree's own files, for those who need nothing else of the store.
    pub fn state_dir(&self) -> StateDir {
        StateDir::new(self.repo.git_dir())
    }

    /// The register of sessions, which all worktrees share.
    pub fn sessions(&self) -> Sessions {
        Sessions::new(self.repo.common_dir(), self.settings.file_wait())
    }

    /// The redactor that knows this working tree's secrets, made at its first use.
    pub fn redactor(&self) -> &Redactor {
        self.redactor.get_or_init(|| redaction::redactor(self))
    }

    /// A worktree's lock for changing something, waited for as the settings say; `token` tells others what for.
    ///
    /// # Errors
    /// `BUSY`, naming the file and who holds it.
    pub fn lock(&self, dir: &StateDir, token: &str) -> Result<WorktreeLock> {
        let timeout = self.settings.lock_timeout;
        WorktreeLock::acquire(dir.path(), Hold::Exclusive, token, timeout)
    }

    /// The path that a user's word names, relative to the working tree's root. Not resolved: a symlink is itself.
    ///
    /// # Errors
    /// `USAGE` when it lies outside the working tree, or is empty: an unset variable must not mean everything.
    pub fn repo_path(&self, word: &std::ffi::OsStr) -> Result<Vec<u8>> {
        if word.is_empty() {
            return Err(Error::new(Code::Usage, "a path must not be empty")
                .hint("'.' is the directory that you are in"));
        }
        self.path_from_root(word)
    }

    /// As [`Self::repo_path`], where nothing at all is the current directory.
    fn path_from_root(&self, word: &std::ffi::OsStr) -> Result<Vec<u8>> {
        use std::os::unix::ffi::OsStrExt;
        let absolute = self.cwd.join(word);
        let mut parts: Vec<&[u8]> = Vec::new();
        for part in absolute.as_os_str().as_bytes().split(|&byte| byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        let full = [b"/".as_slice(), &parts.join(&b'/')].concat();
        let full = Path::new(std::ffi::OsStr::from_bytes(&full));
        match beneath(self.repo.worktree_root(), full) {
            Some(rest) => Ok(rest.as_os_str().as_bytes().to_vec()),
            None => Err(Error::new(
                Code::Usage,
                format!(
                    "'{}' lies outside the working tree",
                    path::display(word.as_bytes())
                ),
            )
            .hint(format!(
                "the working tree is '{}'",
                self.repo.worktree_root().display()
            ))),
        }
    }

    /// Refuses `/`, `$HOME` and its ancestors as a workspace, unless that is forced.
    ///
    /// # Errors
    /// `UNSAFE_WORKSPACE`.
    pub fn check_workspace(&self, force: bool) -> Result<()> {
        let root = self.repo.worktree_root();
        if force || !is_home_or_above(self.env, root) {
            return Ok(());
        }
        Err(home_or_above(root).hint("give --force if the whole of it is really meant"))
    }

    /// The same for what cannot be forced itself: it goes on where something was forced before.
    ///
    /// # Errors
    /// `UNSAFE_WORKSPACE`.
    pub fn check_workspace_was_meant(&self) -> Result<()> {
        let root = self.repo.worktree_root();
        if !is_home_or_above(self.env, root) || self.was_forced()? {
            return Ok(());
        }
        Err(home_or_above(root).hint(
            "if the whole of it is really meant: 'tw snapshot --force' first, then this again",
        ))
    }

    /// Whether somebody has shown that this workspace is meant: nothing was captured of it that was not forced.
    fn was_forced(&self) -> Result<bool> {
        let (store, root) = (self.store()?, self.repo.worktree_root());
        for kind in [IdKind::Snapshot, IdKind::Backup] {
            let newest = history::newest(self, store, kind)?;
            if newest.is_some_and(|stored| Path::new(&stored.record.workspace_root) == root) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a directory is `/`, `$HOME` or one above it: nobody means all of that.
fn is_home_or_above(env: &Env, dir: &Path) -> bool {
    // One that is not there yet would be made below what is.
    let there = |home: PathBuf| home.ancestors().find_map(|dir| dir.canonicalize().ok());
    let home = env.home().and_then(there);
    dir == Path::new("/") || home.is_some_and(|home| home.starts_with(dir))
}

/// The error for such a directory.
fn home_or_above(dir: &Path) -> Error {
    let message = format!("'{}' is a home directory or above one", dir.display());
    Error::new(Code::UnsafeWorkspace, message)
}

#[cfg(test)]
mod tests;
