//! Sets agents and git's hooks up, and takes that away again: `tw init --agent`, `tw init --git-hooks`.
//!
//! Promises: a file is changed whole or not at all, keeps its permission bits and every byte that is not ours; a symlink
//! is followed only to where it may lead (a project's within the working tree); a file that cannot be edited is left and
//! named, and all others are done. The texts are `agents::install`'s.

mod files;
mod git_hooks;
mod outcome;
mod settings;

use std::path::PathBuf;

use super::Context;
use super::request::DryRun;
use crate::agents::install::{Scope, installable};
use crate::agents::places::Places;
use crate::agents::used::used;
use crate::agents::{Agent, by_name};
use crate::env::Env;
use crate::error::{Code, Error, Result};
use crate::store::state::Mode;
pub use outcome::{AgentFile, AgentFiles, FileChange, Installed, LeftFile, Printed};
use settings::Installer;

/// In or out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Way {
    /// Put in.
    #[default]
    In,
    /// Take out.
    Out,
}

/// Whose settings of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Whose {
    /// The project's, and the user's of an agent that has no others.
    #[default]
    Project,
    /// The user's.
    User,
    /// Both.
    Both,
}

impl Whose {
    fn scopes(self) -> &'static [Scope] {
        match self {
            Self::Project => &[Scope::Project],
            Self::User => &[Scope::User],
            Self::Both => &[Scope::Project, Scope::User],
        }
    }
}

/// Set agents or git's hooks up.
#[derive(Debug, Clone, Default)]
pub struct Install {
    /// Which agents, by name.
    pub agents: Vec<String>,
    /// Those that the user uses, too; on the way out every agent.
    pub all: bool,
    /// Whose settings.
    pub whose: Whose,
    /// git's hooks.
    pub git_hooks: bool,
    /// In or out.
    pub way: Way,
    /// Write a hooks directory outside of this repository, too.
    pub yes: bool,
    /// List only.
    pub dry_run: DryRun,
}

/// An agent by name, and what shows that it is used, where that was asked.
struct RequestedAgent {
    name: String,
    found: Vec<PathBuf>,
}

/// Sets agents up, and git's hooks. `ctx` is None outside of a repository, which is enough for the user's settings. What cannot be
/// edited is noted in `done`.
///
/// # Errors
/// `USAGE` for an unknown agent, `NOT_A_REPOSITORY`, `ALREADY_IN_PAST` for a project's files: nothing was done then.
pub fn install(
    ctx: Option<&Context<'_>>,
    env: &Env,
    request: &Install,
    done: &mut Installed,
) -> Result<()> {
    let wanted = wanted(ctx, env, request);
    let agents_here =
        request.whose != Whose::User && !wanted.iter().all(|agent| is_user_only(&agent.name));
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
    if !wanted.is_empty() {
        Installer::new(ctx, env, request)?.run(wanted, done)?;
        let unmeant = ctx.filter(|_| agents_here && request.way == Way::In);
        if let Some(Err(error)) = unmeant.map(|ctx| ctx.check_workspace(false)) {
            done.notices.push(format!(
                "no hook records anything here: {}; 'tw snapshot --force' takes a snapshot by hand",
                error.message()
            ));
        }
    } else if request.all {
        done.notices.push(NONE_FOUND.to_owned());
    }
    if let (true, Some(ctx)) = (request.git_hooks, ctx) {
        git_hooks::install(ctx, request, done);
    }
    Ok(())
}

/// What is said where no agent is used.
const NONE_FOUND: &str = "no coding agent was found: neither a program on PATH nor a directory of one here or under HOME; \
                          'tw init --agent NAME' sets one up all the same";

/// The agents that are asked for, each once.
fn wanted(ctx: Option<&Context<'_>>, env: &Env, request: &Install) -> Vec<RequestedAgent> {
    let mut wanted: Vec<RequestedAgent> = Vec::new();
    if request.all && request.way == Way::Out {
        let every = installable().into_iter();
        wanted.extend(every.map(|name| RequestedAgent {
            name: name.to_owned(),
            found: Vec::new(),
        }));
    } else if request.all {
        let root = ctx.map(|ctx| ctx.repo.worktree_root());
        let used = used(root, &Places::from(env)).into_iter();
        wanted.extend(used.map(|used| RequestedAgent {
            name: used.agent.name().to_owned(),
            found: used.found,
        }));
    }
    for name in &request.agents {
        if !wanted.iter().any(|agent| agent.name == *name) {
            wanted.push(RequestedAgent {
                name: name.clone(),
                found: Vec::new(),
            });
        }
    }
    wanted
}

fn is_user_only(agent: &str) -> bool {
    by_name(agent).is_some_and(Agent::has_only_user_settings)
}

/// Nothing of a project can be set up outside of one.
pub fn no_repository() -> Error {
    Error::new(Code::NotARepository, "not in a git working tree")
        .hint("run it in the project, or give --user for your own settings")
}
