//! The working tree that an event is of.
//!
//! An agent's shell keeps its directory from call to call, and hooks are told that one. It may lie in a repository that is none of the
//! session's: a submodule, a vendored one, another project. Prompts and ends of turns are of the session's project all the same. Another
//! worktree of its repository is one that the session went to.

use std::path::{Path, PathBuf};

use crate::agents::by_name;
use crate::agents::hook::HookEvent;
use crate::env::Env;
use crate::error::Result;
use crate::ops::Context;
use crate::progress::Progress;

/// Where an event looks for its repository.
pub struct Place<'a> {
    /// The directory that the payload names, or that `tw` was started in.
    pub dir: PathBuf,
    /// The directory that `tw` was started in.
    start: PathBuf,
    env: &'a Env,
    progress: &'a dyn Progress,
}

impl<'a> Place<'a> {
    /// That of an event; None: the payload cannot be read.
    pub fn new(
        start: &Path,
        event: Option<&HookEvent>,
        env: &'a Env,
        progress: &'a dyn Progress,
    ) -> Self {
        let cwd = event.and_then(|event| event.cwd.as_ref());
        Self {
            dir: cwd.map_or_else(|| start.to_owned(), |cwd| start.join(cwd)),
            start: start.to_owned(),
            env,
            progress,
        }
    }

    /// Opens the repository of the session's project, else that of the directory.
    ///
    /// # Errors
    /// As [`Context::open`], but for settings.
    pub fn open(&self, event: Option<&HookEvent>) -> Result<Context<'a>> {
        let here = self.context(&self.dir);
        let project = event.and_then(|event| match self.named_project(event) {
            Some(dir) if is_root(&here, &dir) => None,
            Some(dir) => self.context(&dir).ok(),
            None => self.enclosing_project(event, here.as_ref().ok()?),
        });
        match (project, here) {
            (Some(project), Ok(here)) if is_same_repository(&project, &here) => Ok(here),
            (Some(project), _) => Ok(project),
            (None, Err(error)) => event
                .and_then(|event| self.left_project(event))
                .ok_or(error),
            (None, here) => here,
        }
    }

    /// Where the directory of an agent's shell is gone: the repository that it was in, else the one that `tw` was started in, which
    /// knows the session.
    fn left_project(&self, event: &HookEvent) -> Option<Context<'a>> {
        if self.dir.is_dir() {
            return None;
        }
        let mut left = self.dir.ancestors();
        let around = left.find(|dir| dir.is_dir());
        let mut places = around.into_iter().chain([self.start.as_path()]);
        places.find_map(|dir| self.knowing(event, dir))
    }

    /// The repository of a directory, or one around it, that knows the session.
    fn knowing(&self, event: &HookEvent, dir: &Path) -> Option<Context<'a>> {
        let mut found = self.context(dir).ok()?;
        while !is_known(event, &found) {
            let around = self.context(found.repo.worktree_root().parent()?).ok()?;
            // One whose working tree lies beneath its own directory, or that the environment names, is found around itself.
            if !is_around(around.repo.worktree_root(), found.repo.worktree_root()) {
                return None;
            }
            found = around;
        }
        Some(found)
    }

    fn context(&self, dir: &Path) -> Result<Context<'a>> {
        Context::open_despite_faults(dir, self.env, self.progress)
    }

    /// The project's directory, where the agent tells it to its hooks.
    fn named_project(&self, event: &HookEvent) -> Option<PathBuf> {
        let variable = by_name(event.agent)?.project_variable()?;
        let dir = self.env.var(variable).map(PathBuf::from)?;
        Some(dir).filter(|dir| dir.is_absolute())
    }

    /// A repository around this one that knows the session, of which this one knows nothing.
    fn enclosing_project(&self, event: &HookEvent, here: &Context<'a>) -> Option<Context<'a>> {
        if is_known(event, here) {
            return None;
        }
        self.knowing(event, here.repo.worktree_root().parent()?)
    }
}

fn is_around(outer: &Path, inner: &Path) -> bool {
    inner != outer && inner.starts_with(outer)
}

/// Whether this is the root of the working tree that is open.
fn is_root(here: &Result<Context<'_>>, dir: &Path) -> bool {
    here.as_ref()
        .is_ok_and(|here| here.repo.worktree_root() == dir)
}

fn is_same_repository(one: &Context<'_>, other: &Context<'_>) -> bool {
    one.repo.common_dir() == other.repo.common_dir()
}

/// Whether the session of an event, or the one that it is a sub-agent of, is in the register.
fn is_known(event: &HookEvent, ctx: &Context<'_>) -> bool {
    let ids = event.session_id.iter().chain(&event.parent);
    let sessions = ctx.sessions();
    ids.into_iter()
        .any(|id| sessions.get(id).is_ok_and(|record| record.is_some()))
}
