//! `tw init --here`: a private repository for a directory without git; the end of it; going on with one after a move; and the list of
//! them.
//!
//! Each is planned first, so that whoever is asked sees what would be done, and carried out under the registry's lock on what holds
//! then. What the registry promises is said in `git::private`. Nothing is written into the directory itself.

mod listing;

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::env::Env;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{self, is_there};
use crate::git::private::{Directory, DirectoryStatus, Identity, Known, Registry};
use crate::git::refs::{RefFormat, Refs};
use crate::git::repo::{Repo, has_git};
use crate::json;
use crate::ops::request::DryRun;
use crate::ops::{Context, home_or_above, is_home_or_above};
use crate::store::id::IdKind;
use crate::store::lock::{Hold, WorktreeLock, hold_file_within};
use crate::store::names;
use crate::store::state::{Mode, StateDir};
use crate::text::typed_path;
pub use listing::{Directories, KeptDirectory, KeptStatus, bytes_in, list};

/// How long another command that changes the registry is waited for.
const WAIT: Duration = Duration::from_secs(5);

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryRequest {
    /// A history for the directory; one that it had is gone on with.
    Keep,
    /// The history of a directory that is gone, by its path or its key.
    Adopt(PathBuf),
    /// An end to it, with or without what was kept.
    Remove {
        /// Nothing of it stays.
        delete_history: bool,
    },
}

/// What becomes of the private repository of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum HistoryChange {
    /// A new one was made.
    Created,
    /// There is one already.
    Unchanged,
    /// The directory was moved, or its history had been set aside: it goes on.
    Attached,
    /// It goes on with the history of another directory, which is gone.
    Adopted,
    /// It stays, and nothing is added to it.
    SetAside,
    /// It went.
    Deleted,
}

/// Answer of `init --here`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "init_here")]
pub struct KeptHere {
    /// Nothing was written.
    pub dry_run: bool,
    /// The directory.
    #[serde(serialize_with = "json::file")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// What became of its private repository, or would.
    pub became: HistoryChange,
    /// The private repository: a git directory. Null where none was made yet, and where it is gone.
    #[serde(serialize_with = "json::file_or_null")]
    #[schemars(with = "Option<String>")]
    pub repository: Option<PathBuf>,
    /// Where the directory with this history was before, when that was elsewhere.
    #[serde(serialize_with = "json::file_or_null")]
    #[schemars(with = "Option<String>")]
    pub was_at: Option<PathBuf>,
    /// How many snapshots it has.
    pub snapshots: usize,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// What would be done.
#[derive(Debug)]
pub struct Plan {
    registry: Registry,
    dir: PathBuf,
    request: HistoryRequest,
    became: HistoryChange,
    /// The history that it is about; none before one is made.
    known: Option<Directory>,
    /// What is known of the directory, of which the history was removed.
    gone: Option<Directory>,
    notices: Vec<String>,
}

/// Finds out what keeping, adopting or removing a history would do, and what to ask before.
///
/// # Errors
/// `USAGE` in a repository of git's; `UNSAFE_WORKSPACE` for `/`, a home directory and what is above it; `UNSAFE_REPOSITORY` for a
/// directory of somebody else's; `NOT_A_REPOSITORY` when there is nothing to remove; `PATH_NOT_FOUND` when there is nothing to adopt,
/// `HELD` when that is another directory's that stands where it was, or in use.
pub fn plan(start: &Path, env: &Env, request: &HistoryRequest) -> Result<Plan> {
    let dir = start
        .canonicalize()
        .context(|| format!("cannot resolve '{}'", start.display()))?;
    let registry = Registry::of(env).ok_or_else(|| {
        Error::new(
            Code::Usage,
            "there is no place for a private repository: neither HOME nor XDG_STATE_HOME is set",
        )
    })?;
    let known = if registry.exists() {
        registry.look(&dir)?
    } else {
        None
    };
    let mut plan = Plan {
        registry,
        dir,
        request: request.clone(),
        became: HistoryChange::Created,
        known: None,
        gone: None,
        notices: Vec::new(),
    };
    match request {
        HistoryRequest::Remove { delete_history } => plan.removal(known, *delete_history)?,
        HistoryRequest::Keep => {
            plan.check_place(env)?;
            plan.keeping(known)?;
        }
        HistoryRequest::Adopt(named) => {
            plan.check_place(env)?;
            plan.adoption(known, &resolved(&plan.dir.join(named)), named)?;
        }
    }
    Ok(plan)
}

impl Plan {
    /// Whether there is anything to do.
    pub fn changes(&self) -> bool {
        self.became != HistoryChange::Unchanged
    }

    /// What a person is asked.
    pub fn question(&self) -> String {
        let dir = self.dir.display();
        let held = self.known.as_ref().map_or_else(String::new, snapshots_of);
        let was = self
            .known
            .as_ref()
            .map_or(self.dir.as_path(), Directory::path);
        let is_elsewhere = was != self.dir;
        let was = was.display();
        let root = self.registry.root().display();
        match self.became {
            HistoryChange::Created | HistoryChange::Unchanged => {
                format!("Keep the history of '{dir}' in a private repository in '{root}'?")
            }
            HistoryChange::Attached if !is_elsewhere => {
                format!("Go on with the history of '{dir}' ({held})?")
            }
            HistoryChange::Attached | HistoryChange::Adopted => {
                format!("Go on in '{dir}' with the history of '{was}' ({held})?")
            }
            HistoryChange::SetAside => {
                format!("Add nothing more to the history of '{dir}'? What it has stays: {held}.")
            }
            HistoryChange::Deleted => {
                format!("Delete the history of '{was}', {held}? This cannot be undone.")
            }
        }
    }

    /// What the answer would be.
    pub fn preview(self) -> KeptHere {
        let known = self.known.as_ref();
        let known = known.filter(|known| !known.is_gone().unwrap_or(false));
        let repository = known.map(Directory::repository);
        self.answer(DryRun::Yes, repository)
    }

    /// Does it, unless something else is to be done by now.
    ///
    /// # Errors
    /// As [`plan`]; `BUSY`; the disk refuses.
    pub fn carry_out(self, env: &Env) -> Result<KeptHere> {
        self.registry.prepare()?;
        let _lock = hold_file_within(&self.registry.root().join("lock"), WAIT)?;
        let now = plan(&self.dir, env, &self.request)?;
        if (now.became, &now.known, &now.gone) != (self.became, &self.known, &self.gone) {
            let message = format!("the history of '{}' was just changed", self.dir.display());
            return Err(Error::new(Code::Busy, message));
        }
        // Nobody is in the middle of something there.
        let _quiet = match &self.known {
            Some(known) if self.changes() && !known.is_gone()? => {
                let state = StateDir::new(&known.repository());
                state.create()?;
                let hold = Hold::Exclusive;
                Some(WorktreeLock::acquire(state.path(), hold, "init", WAIT)?)
            }
            _ => None,
        };
        let registry = &self.registry;
        let done = match (self.became, &self.known) {
            (HistoryChange::Created, _) => {
                let at = env.now().rfc3339();
                Some(match &self.gone {
                    Some(gone) => registry.begin_again(gone, &self.dir, at)?,
                    None => registry.begin(&self.dir, at)?,
                })
            }
            (HistoryChange::Attached | HistoryChange::Adopted, Some(known)) => {
                Some(registry.attach(known, &self.dir)?)
            }
            (HistoryChange::SetAside, Some(known)) => {
                registry.set_aside(known)?;
                Some(known.clone())
            }
            (HistoryChange::Deleted, Some(known)) => {
                let answer = registry.delete(known);
                answer.map(|()| None)?
            }
            (_, known) => known.clone(),
        };
        let done = done.filter(|done| !done.is_gone().unwrap_or(false));
        let repository = done.as_ref().map(Directory::repository);
        Ok(self.answer(DryRun::No, repository))
    }

    fn answer(self, dry_run: DryRun, repository: Option<PathBuf>) -> KeptHere {
        let is_elsewhere = |known: &&Directory| known.path() != self.dir;
        let was_at = self.known.as_ref().filter(is_elsewhere);
        let snapshots = repository.as_deref().map_or(0, snapshots_in);
        KeptHere {
            dry_run: dry_run == DryRun::Yes,
            was_at: was_at.map(|known| known.path().to_owned()),
            path: self.dir,
            became: self.became,
            snapshots,
            repository,
            notices: self.notices,
        }
    }

    /// Refuses where nobody should begin.
    fn check_place(&self, env: &Env) -> Result<()> {
        match Repo::discover(&self.dir, env) {
            Ok(repo) if !repo.is_private() => return Err(in_git(&self.dir, &repo)),
            Ok(_) => {}
            // A repository that is there and damaged is mended, not covered.
            Err(error) if error.code() == Code::NotARepository && !has_git(&self.dir) => {}
            Err(error) => return Err(error),
        }
        if is_home_or_above(env, &self.dir) {
            return Err(
                home_or_above(&self.dir).hint("choose a directory below it: tw -C DIR init --here")
            );
        }
        Repo::check_owner(&self.dir, env)
    }

    fn keeping(&mut self, known: Option<Known>) -> Result<()> {
        match known {
            Some(Known::Here(gone) | Known::Moved(gone) | Known::SetAside(gone))
                if gone.is_gone()? =>
            {
                self.notice_gone(&gone, "this begins a new one");
                self.gone = Some(gone);
            }
            Some(Known::Former(former)) if former.is_gone()? => {}
            Some(Known::Here(known)) => {
                known.check()?;
                self.became = HistoryChange::Unchanged;
                self.known = Some(known);
            }
            Some(Known::Moved(known) | Known::SetAside(known)) => {
                known.check()?;
                self.became = HistoryChange::Attached;
                self.known = Some(known);
            }
            Some(Known::Former(former)) => {
                let here = self.dir.display();
                self.notices.push(format!(
                    "another directory was at '{here}' before, whose history is kept ({}): 'tw init --here --remove --delete-history', then 'tw init --here --adopt {}' goes on with it",
                    snapshots_of(&former),
                    former.key()
                ));
            }
            None => {}
        }
        if self.became == HistoryChange::Created && !Identity::of(&self.dir)?.is_certain() {
            self.notices.push(
                "this file system does not tell when a directory was made: one that is made at this path later may be taken for this one"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn notice_gone(&mut self, gone: &Directory, what: &str) {
        let place = gone.repository();
        self.notices.push(format!(
            "the history that '{}' had is gone from '{}': {what}",
            gone.path().display(),
            place.display()
        ));
    }

    fn adoption(&mut self, known: Option<Known>, named: &Path, word: &Path) -> Result<()> {
        match known {
            Some(Known::Here(own) | Known::Moved(own) | Known::SetAside(own)) => {
                if own.path() == named || Path::new(own.key()) == word {
                    return self.keeping(self.registry.look(&self.dir)?);
                }
                let message = format!("'{}' has a history of its own", self.dir.display());
                return Err(Error::new(Code::Held, message).hint(
                    "'tw init --here --remove --delete-history' deletes it; then another can be adopted",
                ));
            }
            Some(Known::Former(_)) | None => {}
        }
        let mut all = self.registry.all()?;
        all.retain(|one| one.path() == named || Path::new(one.key()) == word);
        if all
            .iter()
            .any(|one| one.status() == DirectoryStatus::InPlace)
        {
            let message = format!("'{}' is still where it was", named.display());
            return Err(Error::new(Code::Held, message)
                .hint("a directory that was copied begins a history of its own: tw init --here"));
        }
        let see = "'tw init --here --list' shows what there is";
        match all.as_slice() {
            [one] => {
                one.check()?;
                check_free(one)?;
                self.became = HistoryChange::Adopted;
                self.known = Some(one.clone());
                Ok(())
            }
            [] => {
                let message = format!("no history of '{}' is kept", word.display());
                Err(Error::new(Code::PathNotFound, message).hint(see))
            }
            many => {
                let keys: Vec<&str> = many.iter().map(Directory::key).collect();
                let message = format!(
                    "several directories were at '{}'; say which by its key: {}",
                    named.display(),
                    keys.join(", ")
                );
                Err(Error::new(Code::AmbiguousAddress, message).hint(see))
            }
        }
    }

    fn removal(&mut self, known: Option<Known>, delete_history: bool) -> Result<()> {
        let own = match known {
            Some(Known::Here(own) | Known::Moved(own)) => own,
            Some(Known::SetAside(own)) if delete_history => own,
            Some(Known::SetAside(own)) => {
                self.became = HistoryChange::Unchanged;
                self.known = Some(own);
                return Ok(());
            }
            Some(Known::Former(_)) | None => {
                let message = format!("no history of '{}' is kept without git", self.dir.display());
                return Err(Error::new(Code::NotARepository, message)
                    .hint("'tw init --here --list' shows what there is"));
            }
        };
        if own.is_gone()? {
            self.notice_gone(&own, "nothing is left of it");
        } else {
            check_free(&own)?;
        }
        self.became = if delete_history {
            HistoryChange::Deleted
        } else {
            HistoryChange::SetAside
        };
        self.known = Some(own);
        Ok(())
    }
}

/// A path as the registry has it: what leads to it is resolved, for it may be gone itself.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize()
        .unwrap_or_else(|_| fs::resolved_but_name(path))
}

/// Refuses what somebody stands in the middle of: the past, an unfinished swap, open directories.
fn check_free(known: &Directory) -> Result<()> {
    let held = |what: &str, hint: &str| {
        let message = format!("the history of '{}' {what}", known.path().display());
        Err(Error::new(Code::Held, message).hint(hint))
    };
    let repository = known.repository();
    let dir = StateDir::new(&repository);
    if known.status() == DirectoryStatus::InPlace {
        if dir.state()?.mode == Mode::Past {
            return held(
                "is in the past",
                "run 'tw return' there first; where git has come meanwhile, 'tw doctor' says how",
            );
        }
        if dir.has_journal() {
            return held(
                "has an unfinished swap",
                "run 'tw recover' there first; where git has come meanwhile, 'tw doctor' says how",
            );
        }
    }
    if is_there(&repository.join("worktrees"))? {
        return held(
            "has open directories",
            "'tw close DIR' closes one; 'tw scratch list' shows them",
        );
    }
    Ok(())
}

fn in_git(dir: &Path, repo: &Repo) -> Error {
    let message = format!(
        "'{}' is in the git repository '{}': every command works there already",
        dir.display(),
        repo.worktree_root().display()
    );
    Error::new(Code::Usage, message).hint("'tw init' sets up the coding agents that you use")
}

/// How many snapshots a directory has, in words.
pub fn snapshots_of(known: &Directory) -> String {
    match snapshots_in(&known.repository()) {
        1 => "1 snapshot".to_owned(),
        more => format!("{more} snapshots"),
    }
}

/// In a repository of git's: the history without git of a directory between where one stands and its top.
pub fn before_git(ctx: &Context<'_>) -> Result<Option<(PathBuf, Directory)>> {
    let Some(registry) = Registry::of(ctx.env).filter(Registry::exists) else {
        return Ok(None);
    };
    let root = ctx.repo.worktree_root();
    let mut inside = ctx.cwd.ancestors().take_while(|dir| dir.starts_with(root));
    let found = inside.find_map(|dir| match registry.look(dir) {
        Ok(Some(Known::Here(known) | Known::Moved(known) | Known::SetAside(known))) => {
            match known.is_gone() {
                Ok(true) => None,
                Ok(false) => Some(Ok((dir.to_owned(), known))),
                Err(error) => Some(Err(error)),
            }
        }
        Ok(Some(Known::Former(_)) | None) => None,
        Err(error) => Some(Err(error)),
    });
    found.transpose()
}

/// A past that only a history without git leads home from.
pub struct Stranded {
    /// What is the matter.
    pub message: String,
    /// What brings the present back.
    pub command: String,
}

/// Whether git came while the directory was in the past: its present is where only its own history leads back to.
pub fn stranded(ctx: &Context<'_>, dir: &Path, known: &Directory) -> Result<Option<Stranded>> {
    let kept = StateDir::new(&known.repository());
    let (stands, back) = if kept.has_journal() {
        ("in the middle of a swap that died", "recover")
    } else if kept.state()?.mode == Mode::Past {
        ("in the past", "return")
    } else {
        return Ok(None);
    };
    let here = typed_path(dir);
    let root = ctx.repo.worktree_root();
    // Beside the directory: what is in it goes into the experiment of the return.
    let mut away = root.as_os_str().to_owned();
    away.push(".git-away");
    let (there, away) = (typed_path(&root.join(".git")), typed_path(away.as_ref()));
    Ok(Some(Stranded {
        message: format!(
            "'{}' was {stands} when git came: the present that was saved then comes back only without git",
            dir.display()
        ),
        command: format!("mv {there} {away} && tw -C {here} {back}; mv {away} {there}"),
    }))
}

/// None where they cannot be read.
fn snapshots_in(repository: &Path) -> usize {
    let refs = Refs::new(repository, repository, RefFormat::Files);
    refs.names(names::prefix(IdKind::Snapshot))
        .map_or(0, |names| names.len())
}
