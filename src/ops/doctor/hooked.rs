//! What agents tell: the register of sessions, and the hooks that fill it.

use std::fmt::Write as _;

use super::{Finding, broken, listed, ok, warning};
use crate::agents::install::{Scope, Steps, deciding_files, has_hooks_of, setup, tells_steps};
use crate::agents::places::Places;
use crate::agents::{AGENTS, Agent, by_name};
use crate::error::{Code, Result};
use crate::git::fs;
use crate::ops::settings::Automatic;
use crate::ops::{Context, fingerprint};

/// Whether every session's record can be read: one that cannot keeps everything from being forgotten.
pub fn sessions(ctx: &Context<'_>) -> Result<Finding> {
    let (records, invalid) = ctx.sessions().list()?;
    let Some((first, error)) = invalid
        .iter()
        .find(|(_, error)| error.code() != Code::NewerRecord)
        .or(invalid.first())
    else {
        return Ok(ok(format!("{} in the register", records.len())));
    };
    let names: Vec<String> = invalid.iter().map(|(name, _)| name.clone()).collect();
    let names = listed(&names);
    Ok(match error.code() {
        Code::NewerRecord => warning(
            format!("records of sessions of a newer tw: {names}; nothing can be forgotten here"),
            "upgrade tw",
        ),
        Code::CorruptRecord => broken(
            format!(
                "records of sessions that cannot be read: {names}; nothing can be forgotten until they are gone"
            ),
            Some(format!(
                "rm '{}/timewarp/sessions/{first}.json'",
                ctx.repo.common_dir().display()
            )),
        ),
        _ => broken(
            format!(
                "records of sessions that cannot be read: {names}; nothing can be forgotten until they can: {}",
                error.message()
            ),
            error.hints().first().cloned(),
        ),
    })
}

/// Whether the hooks that are installed can run, whether one that needs the user's trust was ever heard, and whether one event
/// is told twice.
pub fn agents(ctx: &Context<'_>) -> Result<Finding> {
    let installed = installed(ctx);
    if installed.is_empty() {
        return Ok(ok("no agent is set up; 'tw init' does it"));
    }
    let names: Vec<String> = installed
        .iter()
        .map(|one| one.agent.name().to_owned())
        .collect();
    if fingerprint::locate(ctx, "tw").is_none() {
        return Ok(warning(
            format!(
                "the hooks of {} call 'tw', which is not in PATH",
                listed(&names)
            ),
            "put tw into a directory of PATH",
        ));
    }
    let mut found = Vec::new();
    if let Err(error) = ctx.check_workspace(false) {
        found.push((
            format!("no hook records anything here: {}", error.message()),
            "take snapshots by hand: 'tw snapshot --force'".to_owned(),
        ));
    }
    for one in &installed {
        found.extend(against(ctx, one));
    }
    found.extend(unheard(ctx, &installed)?);
    let limits = installed.iter().filter_map(|one| {
        let limit = one.agent.limit_of_project_settings();
        limit.filter(|_| one.is_of_project_alone())
    });
    if found.is_empty() {
        let mut message = format!("set up: {}", listed(&names));
        for limit in limits {
            let _ = write!(message, "; {limit}");
        }
        for one in &installed {
            let other = one.agent.runs_hooks_of().and_then(by_name);
            if let Some(other) = other.filter(|other| names.iter().any(|name| name == other.name()))
            {
                let _ = write!(
                    message,
                    "; {} may run {}'s hooks, too: what is told twice counts once",
                    one.agent.title(),
                    other.title()
                );
            }
        }
        return Ok(ok(message));
    }
    let limits: Vec<String> = limits.map(str::to_owned).collect();
    let (mut messages, fixes): (Vec<String>, Vec<String>) = found.into_iter().unzip();
    messages.extend(limits);
    Ok(warning(messages.join("; "), fixes.join("; ")))
}

/// An agent with hooks of ours.
pub struct Hooked {
    /// The agent.
    pub agent: &'static dyn Agent,
    /// In whose settings, and with steps or without.
    scopes: Vec<(Scope, Steps)>,
}

impl Hooked {
    fn is_of_project_alone(&self) -> bool {
        self.scopes
            .iter()
            .all(|(scope, _)| *scope == Scope::Project)
    }
}

/// What keeps an agent's hooks from running, or runs them twice; each with what mends it.
fn against(ctx: &Context<'_>, one: &Hooked) -> Vec<(String, String)> {
    let (agent, mut found) = (one.agent.name(), Vec::new());
    let home = ctx.env.home().unwrap_or_default();
    let root = ctx.repo.worktree_root();
    for file in deciding_files(one.agent, root, &home, &Places::from(ctx.env)) {
        let Ok(Some(bytes)) = fs::read_optional(&file) else {
            continue;
        };
        if let Some(why) = one.agent.silenced(&String::from_utf8_lossy(&bytes)) {
            let message = format!(
                "the hooks of '{agent}' do not run: '{}' {why}",
                file.display()
            );
            found.push((message, format!("change '{}'", file.display())));
        }
    }
    if one.scopes.len() > 1 && !one.agent.has_only_user_settings() {
        found.push((
            format!("the hooks of '{agent}' run twice: they are in the project's settings and in yours"),
            format!("run 'tw init --agent {agent} --remove' or 'tw init --agent {agent} --user --remove'"),
        ));
    }
    let told = one
        .scopes
        .iter()
        .any(|(_, steps)| *steps == Steps::Reported);
    if ctx.settings.checkpoints == Automatic::Steps && !told {
        let user = match one.scopes.first() {
            Some((Scope::User, _)) => " --user",
            _ => "",
        };
        found.push((
            format!(
                "'timewarp.checkpoints' is 'steps', which the hooks of '{agent}' do not report"
            ),
            format!("run 'tw init --agent {agent}{user}'"),
        ));
    }
    found
}

/// Agents that run a hook only once it was trusted, and of which no session was recorded yet; each with what mends it.
fn unheard(ctx: &Context<'_>, installed: &[Hooked]) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for one in installed {
        let Some(how_to_trust) = one.agent.how_to_trust() else {
            continue;
        };
        let (name, title) = (one.agent.name(), one.agent.title());
        let (records, _) = ctx.sessions().list()?;
        if records
            .iter()
            .any(|record| record.agent.as_deref() == Some(name))
        {
            continue;
        }
        found.push((
            format!("the hooks of '{name}' are installed and no session of {name} was recorded yet: {title} runs no hook until you trust it"),
            how_to_trust.to_owned(),
        ));
    }
    Ok(found)
}

/// The agents whose settings, the project's or the user's, have hooks of ours.
pub fn installed(ctx: &Context<'_>) -> Vec<Hooked> {
    let places = Places::from(ctx.env);
    let home = ctx.env.home().unwrap_or_default();
    let root = ctx.repo.worktree_root();
    let hooks_in = |agent: &str, scope| {
        let found = setup(agent, (scope, Steps::Silent), root, &home, &places);
        let targets = found.into_iter().flat_map(|setup| setup.targets);
        let mut texts = targets.filter(|target| !target.shared).map(|target| {
            let bytes = fs::read_optional(&target.path).ok().flatten();
            let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
            (target.path, text)
        });
        let (path, text) = texts.find(|(_, text)| has_hooks_of(text, agent))?;
        let steps = if tells_steps(&text) {
            Steps::Reported
        } else {
            Steps::Silent
        };
        Some((path, (scope, steps)))
    };
    let hooked = AGENTS.iter().map(|agent| {
        let project = hooks_in(agent.name(), Scope::Project);
        let user = hooks_in(agent.name(), Scope::User);
        // In a repository of the home directory they are one file.
        let is_one = project.as_ref().map(|(path, _)| path) == user.as_ref().map(|(path, _)| path);
        let project = project.filter(|_| !is_one);
        Hooked {
            agent: *agent,
            scopes: project
                .into_iter()
                .chain(user)
                .map(|(_, found)| found)
                .collect(),
        }
    });
    hooked.filter(|one| !one.scopes.is_empty()).collect()
}
