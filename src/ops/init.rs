//! `tw init`: the team's settings, the agents that a person uses, and git's hooks. Never required.
//!
//! What each needs is elsewhere: `config` below, and `ops::install`. What cannot be set up is named at the end, when all the
//! rest is done.

mod config;

use super::Context;
use super::install::{self, Install, Installed, Whose};
use super::request::DryRun;
use crate::env::Env;
use crate::error::Result;
use crate::store::state::Mode;

/// Set the repository up.
#[derive(Debug, Clone, Default)]
pub struct Init {
    /// Write the team's settings.
    pub config: bool,
    /// What of agents and git is set up, or taken out.
    pub install: Install,
}

/// Sets up, or takes out. `ctx` is None outside of a repository, which is enough for the user's own settings of agents.
///
/// # Errors
/// `NOT_A_REPOSITORY`, `USAGE` for an unknown agent, `ALREADY_IN_PAST` for a project's files of an agent, `WOULD_OVERWRITE` when
/// a symlink, or a file that git tracks, stands where the desk should be. `WOULD_OVERWRITE` or `IO` when a file could not be
/// edited: all others are done, and it is named.
pub fn init(ctx: Option<&Context<'_>>, env: &Env, request: &Init) -> Result<Installed> {
    perform(ctx, env, request)?.complete()
}

/// What [`init`] would do, and what it could not: for the question before it. None where it would refuse everything or nothing can
/// be asked: in the past, and without a home directory.
///
/// # Errors
/// As [`init`], except for files that could not be edited.
pub fn offer(ctx: Option<&Context<'_>>, env: &Env, request: &Init) -> Result<Option<Installed>> {
    let here = ctx.filter(|_| request.install.whose != Whose::User);
    let is_past = match here {
        Some(ctx) => ctx.state_dir().state()?.mode == Mode::Past,
        None => false,
    };
    if is_past || env.home().is_none() {
        return Ok(None);
    }
    let mut request = request.clone();
    request.install.dry_run = DryRun::Yes;
    perform(ctx, env, &request).map(Some)
}

fn perform(ctx: Option<&Context<'_>>, env: &Env, request: &Init) -> Result<Installed> {
    let mut done = Installed {
        dry_run: request.install.dry_run == DryRun::Yes,
        ..Installed::default()
    };
    if request.config {
        let ctx = ctx.ok_or_else(install::no_repository)?;
        config::write(ctx, request.install.dry_run, &mut done)?;
    }
    install::install(ctx, env, &request.install, &mut done)?;
    Ok(done)
}
