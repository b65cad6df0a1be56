//! Sets agents and git's hooks up, and takes that away again: `tw init --agent`, `tw init --git-hooks`.
//!
//! Promises: a file is changed whole or not at all, keeps its permission bits and every byte that is not ours; a symlink
//! is followed only to where it may lead (a project's within the working tree); a file that cannot be edited is left and
//! named. The texts are `agents::install`'s.

mod git_hooks;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::request::DryRun;
use super::settings::Automatic;
use crate::agents::edit::NO_FILE;
use crate::agents::install::{
    Piece, Scope, Setup, Steps, Target, directories, has_hooks_of, installable, put, setup,
    stale_hooks, take,
};
use crate::agents::places::Places;
use crate::agents::{Agent, by_name};
use crate::env::Env;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::git::fs::{self, Durable};
use crate::json;
use crate::store::state::Mode;

/// In or out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Way {
    /// Put in.
    #[default]
    In,
    /// Take out.
    Out,
}

/// Set agents or git's hooks up.
#[derive(Debug, Clone, Default)]
pub struct Install {
    /// Which agents.
    pub agents: Vec<String>,
    /// The user's settings instead of the project's.
    pub user: bool,
    /// git's hooks.
    pub git_hooks: bool,
    /// In or out.
    pub way: Way,
    /// Write a hooks directory outside of this repository, too.
    pub yes: bool,
    /// List only.
    pub dry_run: DryRun,
}

/// Answer of `init --agent` and `init --git-hooks`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Installed {
    /// Nothing was written.
    pub dry_run: bool,
    /// Files written (or that would be).
    #[serde(serialize_with = "json::files")]
    #[schemars(with = "Vec<String>")]
    pub changed: Vec<PathBuf>,
    /// Files that went: nothing in them was not ours.
    #[serde(serialize_with = "json::files")]
    #[schemars(with = "Vec<String>")]
    pub removed: Vec<PathBuf>,
    /// Files that were right already.
    #[serde(serialize_with = "json::files")]
    #[schemars(with = "Vec<String>")]
    pub unchanged: Vec<PathBuf>,
    /// Files that were left alone.
    pub printed: Vec<Printed>,
    /// What the user has to know or do.
    pub notices: Vec<String>,
    /// Settings files that could not be edited, and why.
    #[serde(skip)]
    left: Vec<(PathBuf, &'static str)>,
}

/// A file that was left alone.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Printed {
    /// The file.
    #[serde(serialize_with = "json::file")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// What belongs into it.
    pub text: String,
}

impl Installed {
    /// The answer, unless a settings file was left out: then the agent is not set up, and nobody must take it for that.
    fn complete(self) -> Result<Self> {
        let Some((first, _)) = self.left.first() else {
            return Ok(self);
        };
        let paths = |list: &[PathBuf]| -> Vec<String> {
            list.iter().map(|path| path.display().to_string()).collect()
        };
        let left: Vec<PathBuf> = self.left.iter().map(|(path, _)| path.clone()).collect();
        let why: Vec<String> = self
            .left
            .iter()
            .map(|(path, why)| format!("'{}' {why} and was left alone", path.display()))
            .collect();
        let error = Error::new(Code::WouldOverwrite, why.join("; "))
            .detail("left", paths(&left))
            .detail("changed", paths(&self.changed))
            .detail("removed", paths(&self.removed))
            .hint(format!(
                "look at '{}', then run the command again; what could be done without it is done",
                first.display()
            ));
        let notices = self.notices.into_iter();
        Err(notices.fold(error, Error::hint))
    }
}

/// What a file becomes.
enum Change {
    /// It is right.
    None,
    /// It is written.
    Write(String),
    /// It goes.
    Remove,
}

/// Sets agents up, and git's hooks. `ctx` is None outside of a repository, which is enough for the user's settings.
///
/// # Errors
/// `USAGE` for an unknown agent, `NOT_A_REPOSITORY`, `ALREADY_IN_PAST` for a project's files, or when a file cannot be read or
/// written. `WOULD_OVERWRITE` when a file cannot be edited: all others are done, and it is named.
pub fn install(ctx: Option<&Context<'_>>, env: &Env, request: &Install) -> Result<Installed> {
    let mut done = Installed {
        dry_run: request.dry_run == DryRun::Yes,
        ..Installed::default()
    };
    let agents_here = !request.user && !request.agents.iter().all(|agent| is_user_only(agent));
    if agents_here || request.git_hooks {
        let ctx = ctx.ok_or_else(no_repository)?;
        let mode = ctx.state_dir().state()?.mode;
        if agents_here && mode == Mode::Past && !done.dry_run {
            return Err(Error::new(
                Code::AlreadyInPast,
                "what is set up in the past would not be there in the present",
            )
            .hint("run 'tw return' first"));
        }
    }
    if !request.agents.is_empty() {
        let installer = Installer::new(ctx, env, request)?;
        installer.run(&mut done)?;
    }
    if let (true, Some(ctx)) = (request.git_hooks, ctx) {
        git_hooks::install(ctx, request, &mut done)?;
    }
    done.complete()
}

fn is_user_only(agent: &str) -> bool {
    by_name(agent).is_some_and(Agent::has_only_user_settings)
}

fn no_repository() -> Error {
    Error::new(Code::NotARepository, "not in a git working tree")
        .hint("run it in the project, or give --user for your own settings")
}

struct Installer<'a> {
    request: &'a Install,
    scope: Scope,
    steps: Steps,
    root: PathBuf,
    home: PathBuf,
    places: Places,
}

impl<'a> Installer<'a> {
    fn new(ctx: Option<&Context<'_>>, env: &Env, request: &'a Install) -> Result<Self> {
        let home = env.home().ok_or_else(|| {
            Error::new(
                Code::Usage,
                "HOME is not set, so your settings cannot be found",
            )
        })?;
        let steps = ctx.map(|ctx| ctx.settings.checkpoints);
        Ok(Self {
            request,
            scope: if request.user {
                Scope::User
            } else {
                Scope::Project
            },
            // What was set up for steps goes, whatever the setting is by now.
            steps: if request.way == Way::Out || steps == Some(Automatic::Steps) {
                Steps::Told
            } else {
                Steps::Silent
            },
            root: ctx.map_or_else(|| home.clone(), |ctx| ctx.repo.worktree_root().to_owned()),
            places: Places::from(env),
            home,
        })
    }

    fn setup(&self, agent: &str) -> Result<Setup> {
        self.setup_for(agent, self.steps)
    }

    fn setup_for(&self, agent: &str, steps: Steps) -> Result<Setup> {
        let what = (self.scope, steps);
        setup(agent, what, &self.root, &self.home, &self.places).ok_or_else(|| {
            Error::new(Code::Usage, format!("'{agent}' cannot be set up"))
                .hint(format!("the agents are {}", installable().join(", ")))
        })
    }

    fn run(&self, done: &mut Installed) -> Result<()> {
        let mut setups: Vec<Setup> = Vec::new();
        let mut told: Vec<Setup> = Vec::new();
        for agent in &self.request.agents {
            setups.push(self.setup(agent)?);
            told.push(self.setup_for(agent, Steps::Told)?);
        }
        // Read and planned before anything is written.
        let mut seen: Vec<PathBuf> = Vec::new();
        let mut plan: Vec<(PathBuf, Change)> = Vec::new();
        let targets = setups
            .iter()
            .zip(&told)
            .flat_map(|(setup, told)| setup.targets.iter().map(move |target| (target, told)));
        for (target, told) in targets {
            if seen.contains(&target.path) || (target.shared && self.is_needed(target)?) {
                continue;
            }
            seen.push(target.path.clone());
            plan.extend(self.plan(target, &stale_hooks(target, told), done)?);
        }
        for (path, change) in plan {
            carry_out(&path, change, done)?;
        }
        if self.request.way == Way::In {
            let notices = setups.into_iter().flat_map(|setup| setup.notices);
            for notice in notices {
                if !done.notices.contains(&notice) {
                    done.notices.push(notice);
                }
            }
        }
        Ok(())
    }

    /// Whether a file that would go is used by an agent that stays.
    fn is_needed(&self, target: &Target) -> Result<bool> {
        if self.request.way == Way::In {
            return Ok(false);
        }
        for agent in installable() {
            if self.request.agents.iter().any(|own| own == agent) {
                continue;
            }
            let setup = self.setup(agent)?;
            if !setup.targets.iter().any(|other| other.path == target.path) {
                continue;
            }
            for other in setup.targets.iter().filter(|other| !other.shared) {
                let bytes = fs::read_optional(&other.path)?.unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes);
                if has_hooks_of(&text, agent) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// What a file becomes; None when it is left alone, which `done` then says. The hooks in `stale` go in either way.
    fn plan(
        &self,
        target: &Target,
        stale: &[Piece],
        done: &mut Installed,
    ) -> Result<Option<(PathBuf, Change)>> {
        let Some(path) = self.resolved(&target.path) else {
            let why = "leads out of the working tree through a symbolic link";
            done.left.push((target.path.clone(), why));
            return Ok(None);
        };
        let bytes = fs::read_optional(&path)?;
        let existed = bytes.is_some();
        let text = match bytes.map(String::from_utf8) {
            None => Ok(NO_FILE.to_owned()),
            Some(text) => text.map_err(|_| crate::agents::install::Refusal::Unreadable),
        };
        let edited = text.and_then(|text| {
            let new = match self.request.way {
                Way::In => put(&take(&text, stale)?, &target.pieces)?,
                Way::Out => take(&text, &target.pieces)?,
            };
            Ok((text, new))
        });
        let change = match edited {
            Ok((text, new)) if text == new => Change::None,
            Ok((_, new)) if new == NO_FILE => Change::Remove,
            Ok((_, new)) => Change::Write(new),
            Err(refusal) => {
                done.left.push((path, refusal.as_str()));
                return Ok(None);
            }
        };
        if matches!(change, Change::None) && !existed {
            return Ok(None);
        }
        Ok(Some((path, change)))
    }

    /// Where a file really is; None when a project's lies outside of the working tree.
    fn resolved(&self, path: &Path) -> Option<PathBuf> {
        let mut missing: Vec<&std::ffi::OsStr> = Vec::new();
        let mut at = path;
        // A dangling link cannot be resolved: it is there, and leads nowhere that is known.
        while at.symlink_metadata().is_err() {
            missing.push(at.file_name()?);
            at = at.parent()?;
        }
        let mut real = at.canonicalize().ok()?;
        let is_users = !path.starts_with(&self.root) || self.scope == Scope::User;
        let root = self.root.canonicalize().ok()?;
        if !is_users && !real.starts_with(root) {
            return None;
        }
        real.extend(missing.into_iter().rev());
        Some(real)
    }
}

fn carry_out(path: &Path, change: Change, done: &mut Installed) -> Result<()> {
    let what = || format!("cannot change '{}'", path.display());
    match change {
        Change::None => done.unchanged.push(path.to_owned()),
        Change::Write(text) => {
            if !done.dry_run {
                write(path, &text, 0o644)?;
            }
            done.changed.push(path.to_owned());
        }
        Change::Remove => {
            if !done.dry_run {
                std::fs::remove_file(path).context(what)?;
                remove_empty_parents(path);
            }
            done.removed.push(path.to_owned());
        }
    }
    Ok(())
}

/// Writes a file with the bits that it has, or `mode` when it is new.
fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    if let Some(dir) = path.parent() {
        create::dirs(dir, 0o777).context(|| format!("cannot create '{}'", dir.display()))?;
    }
    let mode = path.metadata().map_or(mode, |meta| meta.mode() & 0o7777);
    fs::write_atomic_with_mode(path, text.as_bytes(), Durable::Yes, mode)
}

/// Removes the directories of an agent that only this file was in. The first one that holds anything, or is none of those
/// that we make (the home directory, git's hooks), ends it.
fn remove_empty_parents(path: &Path) {
    for dir in path.ancestors().skip(1) {
        let is_made = |dir: &Path| {
            let name = dir.file_name().and_then(std::ffi::OsStr::to_str);
            name.is_some_and(|name| directories().any(|made| made == name))
        };
        let is_hooks = dir.ends_with("hooks") && dir.parent().is_some_and(is_made);
        if !(is_made(dir) || is_hooks) || std::fs::remove_dir(dir).is_err() {
            break;
        }
    }
}
