//! The settings of agents: read and planned, all of them, before the first is written.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::files::{Change, carry_out, clear_after_death};
use super::outcome::{AgentFile, AgentFiles, FileChange, Installed, LeftFile};
use super::{Install, RequestedAgent, Way};
use crate::agents::by_name;
use crate::agents::edit::{NO_FILE, changed_hooks};
use crate::agents::install::{
    Piece, Refusal, Scope, Setup, Steps, Target, has_hooks_of, has_server_of_others, installable,
    is_changed_file, other_server, put, setup, stale_hooks, take,
};
use crate::agents::places::Places;
use crate::env::Env;
use crate::error::{Code, Error, Result};
use crate::git::fs;
use crate::ops::Context;
use crate::ops::settings::Automatic;

/// A file as it is and as it is to be; [`NO_FILE`] stands for none.
struct Planned {
    path: PathBuf,
    old: String,
    new: String,
    existed: bool,
}

/// A file that is left alone, and why.
fn refused(path: &Path, why: &str) -> LeftFile {
    LeftFile {
        path: path.to_owned(),
        code: Code::WouldOverwrite,
        why: format!("'{}' {why} and was left alone", path.display()),
    }
}

/// A refusal as it is said: of another server of our name, what that runs.
fn said_of(refusal: Refusal, file: &Planned, target: &Target) -> String {
    let why = refusal.as_str();
    let runs = other_server(&file.new, &target.pieces);
    let runs = runs.filter(|_| refusal == Refusal::OtherServer);
    runs.map_or(why.to_owned(), |runs| format!("{why} ({runs})"))
}

impl Planned {
    fn became(&self) -> FileChange {
        if self.old == self.new {
            FileChange::Unchanged
        } else if self.new == NO_FILE {
            FileChange::Removed
        } else {
            FileChange::Changed
        }
    }

    fn change(self) -> Change {
        match self.became() {
            FileChange::Removed => Change::Remove,
            FileChange::Changed => Change::Write(self.new),
            FileChange::Unchanged | FileChange::Left => Change::None,
        }
    }
}

/// A file of an agent, before it is known what becomes of it.
struct Named {
    agent: usize,
    scope: Scope,
    target: Target,
    /// Where it really is; None when it is left alone.
    path: Option<PathBuf>,
}

/// Sets agents up, or takes that out.
pub struct Installer<'a> {
    request: &'a Install,
    steps: Steps,
    root: PathBuf,
    home: PathBuf,
    places: Places,
}

impl<'a> Installer<'a> {
    /// For a repository, or outside of one.
    ///
    /// # Errors
    /// `USAGE` without a home directory.
    pub fn new(ctx: Option<&Context<'_>>, env: &Env, request: &'a Install) -> Result<Self> {
        let home = env.home().ok_or_else(|| {
            Error::new(
                Code::Usage,
                "HOME is not set, so your settings cannot be found",
            )
        })?;
        let steps = ctx.map(|ctx| ctx.settings.checkpoints);
        Ok(Self {
            request,
            // What was set up for steps goes, whatever the setting is by now.
            steps: if request.way == Way::Out || steps == Some(Automatic::Steps) {
                Steps::Reported
            } else {
                Steps::Silent
            },
            root: ctx.map_or_else(|| home.clone(), |ctx| ctx.repo.worktree_root().to_owned()),
            places: Places::from(env),
            home,
        })
    }

    fn setup(&self, agent: &str, scope: Scope, steps: Steps) -> Result<Setup> {
        setup(agent, (scope, steps), &self.root, &self.home, &self.places).ok_or_else(|| {
            Error::new(Code::Usage, format!("'{agent}' cannot be set up")).hint(format!(
                "the agents are {}; 'all' stands for those that you use",
                installable().join(", ")
            ))
        })
    }

    /// Does it; what cannot be edited is noted.
    ///
    /// # Errors
    /// `USAGE` for an unknown agent, before anything is done.
    pub fn run(&self, wanted: Vec<RequestedAgent>, done: &mut Installed) -> Result<()> {
        let mut planned: Vec<Planned> = Vec::new();
        let mut named: Vec<Named> = Vec::new();
        for &scope in self.request.whose.scopes() {
            for (agent, one) in wanted.iter().enumerate() {
                let setup = self.setup(&one.name, scope, self.steps)?;
                let mut is_strange = false;
                let told = self.setup(&one.name, scope, Steps::Reported)?;
                for target in setup.targets {
                    if target.shared && self.is_needed(&target, &wanted, scope)? {
                        continue;
                    }
                    let stale = stale_hooks(&target, &told);
                    let path = self.plan(&target, scope, &stale, &mut planned, done);
                    // Whoever asks whether to trust a project asks about these, too.
                    is_strange |=
                        path.is_none() || self.names_others(&target, path.as_ref(), &planned, done);
                    named.push(Named {
                        agent,
                        scope: self.scope_of(&target, scope),
                        target,
                        path,
                    });
                }
                let notices = setup.notices.into_iter();
                let notices = notices.filter(|notice| !(is_strange && notice.contains("trust")));
                for notice in notices.filter(|_| self.request.way == Way::In) {
                    done.note(notice);
                }
            }
        }
        if self.request.way == Way::Out {
            done.notices.extend(still_calling(&wanted, &planned));
        }
        self.describe(wanted, named, &planned, done);
        for file in planned {
            if !done.dry_run {
                clear_after_death(&file.path);
            }
            if matches!(file.became(), FileChange::Unchanged) && !file.existed {
                continue;
            }
            let path = file.path.clone();
            let old = file.existed.then(|| file.old.clone());
            if let Err(error) = carry_out(&path, old.as_deref(), file.change(), done) {
                done.leave_for(path, &error);
            }
        }
        Ok(())
    }

    /// Names what else in a file calls itself ours, and says whether there is any.
    fn names_others(
        &self,
        target: &Target,
        path: Option<&PathBuf>,
        planned: &[Planned],
        done: &mut Installed,
    ) -> bool {
        let file = planned.iter().find(|file| path == Some(&file.path));
        let others = file.map_or_else(Vec::new, |file| changed_hooks(&file.new));
        if self.request.way == Way::In {
            let path = target.path.display();
            done.notices.extend(others.iter().map(|command| {
                format!("'{path}' has a command with 'tw hook' that is not tw's own: {command}")
            }));
        }
        !others.is_empty()
    }

    /// Whose settings a file has: an agent without any of a project's has its user's in a project, too.
    fn scope_of(&self, target: &Target, scope: Scope) -> Scope {
        if target.path.starts_with(&self.root) {
            scope
        } else {
            Scope::User
        }
    }

    /// Tells each agent's files; on the way out only those that something was in, and the agents that had it.
    fn describe(
        &self,
        wanted: Vec<RequestedAgent>,
        named: Vec<Named>,
        planned: &[Planned],
        done: &mut Installed,
    ) {
        let mut agents: Vec<AgentFiles> = wanted
            .into_iter()
            .filter_map(|one| {
                let agent = by_name(&one.name)?;
                Some(AgentFiles {
                    name: agent.name(),
                    title: agent.title(),
                    found: one.found,
                    files: Vec::new(),
                })
            })
            .collect();
        for one in named {
            let known = planned
                .iter()
                .find(|file| one.path.as_ref() == Some(&file.path));
            let became = known.map_or(FileChange::Left, Planned::became);
            // Where a former place is empty nothing is told of it.
            let is_nowhere = known.is_some_and(|file| !file.existed);
            let is_silent =
                became == FileChange::Unchanged && (self.request.way == Way::Out || is_nowhere);
            let Some(agent) = agents.get_mut(one.agent).filter(|_| !is_silent) else {
                continue;
            };
            if agent.files.iter().any(|file| file.path == one.target.path) {
                continue;
            }
            agent.files.push(AgentFile {
                holds: one.target.holds(),
                leads_to: one.path.unwrap_or_else(|| one.target.path.clone()),
                path: one.target.path,
                is_shared: one.target.shared,
                scope: one.scope,
                became,
            });
        }
        if self.request.way == Way::Out {
            leave_out_sharers(&mut agents);
        }
        done.agents = agents;
    }

    /// Whether a file that would go is used by an agent that stays. Settings that cannot be read may use it.
    fn is_needed(&self, target: &Target, wanted: &[RequestedAgent], scope: Scope) -> Result<bool> {
        if self.request.way == Way::In {
            return Ok(false);
        }
        for agent in installable() {
            if wanted.iter().any(|own| own.name == agent) {
                continue;
            }
            let setup = self.setup(agent, scope, self.steps)?;
            if !setup.targets.iter().any(|other| other.path == target.path) {
                continue;
            }
            for other in setup.targets.iter().filter(|other| !other.shared) {
                let Ok(bytes) = fs::read_optional(&other.path) else {
                    return Ok(true);
                };
                if has_hooks_of(&String::from_utf8_lossy(&bytes.unwrap_or_default()), agent) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Plans what a file becomes, on top of what is planned for it already, and answers where it really is; None when it is
    /// left alone, which `done` then says. The hooks in `stale` go in either way.
    fn plan(
        &self,
        target: &Target,
        scope: Scope,
        stale: &[Piece],
        planned: &mut Vec<Planned>,
        done: &mut Installed,
    ) -> Option<PathBuf> {
        let path = match self.resolved(&target.path, scope) {
            Ok(path) => path,
            Err(why) => {
                done.leave(refused(&target.path, why));
                return None;
            }
        };
        let known = planned.iter().position(|file| file.path == path);
        let at = known.unwrap_or(planned.len());
        if known.is_none() {
            match read(&path) {
                Ok(Some(file)) => planned.push(file),
                Ok(None) => {
                    done.leave(refused(&path, Refusal::Unreadable.as_str()));
                    return None;
                }
                Err(error) => {
                    match closed_over(&path) {
                        Some(dir) => done.leave(LeftFile {
                            code: error.code(),
                            ..refused(&dir, "may not be entered")
                        }),
                        None => done.leave_for(path, &error),
                    }
                    return None;
                }
            }
        }
        let file = planned.get_mut(at)?;
        if is_changed_file(&file.new, &target.pieces) {
            done.note(self.stays(&path, "is"));
        }
        let edited = match self.request.way {
            Way::In => take(&file.new, stale).and_then(|text| put(&text, &target.pieces)),
            Way::Out => take(&file.new, &target.pieces),
        };
        match edited {
            Ok(new) => {
                if self.request.way == Way::Out && has_server_of_others(&new, &target.pieces) {
                    done.note(self.stays(&path, "has an MCP server 'tw' that is"));
                }
                file.new = new;
            }
            Err(refusal) => {
                done.leave(refused(&path, &said_of(refusal, file, target)));
                // What another agent has there stays planned.
                if known.is_none() {
                    planned.truncate(at);
                }
                return None;
            }
        }
        Some(path)
    }

    /// What is said of something of ours that somebody changed.
    fn stays(&self, path: &Path, what: &str) -> String {
        let path = path.display();
        let again = match self.request.way {
            Way::In => "; delete it and run this again for tw's own",
            Way::Out => "",
        };
        format!("'{path}' {what} not as tw wrote it: it stays{again}")
    }

    /// Where a file really is. The error is why it is left alone.
    fn resolved(&self, path: &Path, scope: Scope) -> std::result::Result<PathBuf, &'static str> {
        const NOWHERE: &str = "is behind a symbolic link that leads nowhere";
        let mut missing: Vec<&std::ffi::OsStr> = Vec::new();
        let mut at = path;
        // A dangling link is there, and cannot be resolved.
        while at.symlink_metadata().is_err() {
            missing.extend(at.file_name());
            at = at.parent().ok_or(NOWHERE)?;
        }
        let mut real = at.canonicalize().map_err(|_| NOWHERE)?;
        let is_users = !path.starts_with(&self.root) || scope == Scope::User;
        let root = self.root.canonicalize().map_err(|_| NOWHERE)?;
        if !is_users && !real.starts_with(root) {
            return Err("leads out of the working tree through a symbolic link");
        }
        if !missing.is_empty() && !real.is_dir() {
            return Err("lies beneath something that is not a directory");
        }
        real.extend(missing.into_iter().rev());
        Ok(real)
    }
}

/// The directory over a file that nobody may enter: one for all that would be in there.
fn closed_over(path: &Path) -> Option<PathBuf> {
    let all: Vec<&Path> = path.ancestors().collect();
    let is_closed = |at: &&&Path| {
        let found = at.symlink_metadata();
        found.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    };
    let first = all.iter().rev().find(is_closed)?;
    first.parent().map(Path::to_owned)
}

/// What is said of files that go on calling `tw` when all of ours is out of them.
fn still_calling(wanted: &[RequestedAgent], planned: &[Planned]) -> Vec<String> {
    let calls = |file: &&Planned| {
        let mut agents = wanted.iter();
        agents.any(|agent| has_hooks_of(&file.new, &agent.name))
    };
    let told = planned.iter().filter(calls).map(|file| {
        let path = file.path.display();
        format!("'{path}' has a command with 'tw hook' that is not as tw wrote it: it stays")
    });
    told.collect()
}

/// Leaves out the agents that had nothing: a file that others share says nothing of one, unless it is no other's.
fn leave_out_sharers(agents: &mut Vec<AgentFiles>) {
    let has_own = |agent: &AgentFiles| agent.files.iter().any(|file| !file.is_shared);
    let (own, sharing): (Vec<_>, Vec<_>) = std::mem::take(agents).into_iter().partition(has_own);
    *agents = own;
    for agent in sharing {
        let known: Vec<&AgentFile> = agents.iter().flat_map(|known| &known.files).collect();
        let is_told = |file: &AgentFile| known.iter().any(|other| other.path == file.path);
        if !agent.files.iter().all(is_told) {
            agents.push(agent);
        }
    }
}

/// A file as it is; None when it is no text.
fn read(path: &Path) -> Result<Option<Planned>> {
    let bytes = fs::read_optional(path)?;
    let existed = bytes.is_some();
    let text = match bytes.map(String::from_utf8) {
        None => NO_FILE.to_owned(),
        Some(Ok(text)) => text,
        Some(Err(_)) => return Ok(None),
    };
    Ok(Some(Planned {
        path: path.to_owned(),
        old: text.clone(),
        new: text,
        existed,
    }))
}
