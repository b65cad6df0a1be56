//! What each agent's settings need so that it tells `tw` of its sessions, reaches `tw mcp`, and knows how to use it.
//!
//! Pure: what the agents' settings have in common, and the edits of their texts. Which files an agent has and what of ours
//! stands in each is in its folder. Writes no file, and reads those alone by which an agent itself decides what it reads.

mod apply;
mod holds;
mod written;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::edit::{Document, Found};
use super::hook::EventKind;
use super::places::Places;
use super::{AGENTS, Agent, by_name};
use crate::git::fs;
pub use apply::{Refusal, has_server_of_others, is_changed_file, other_server, put, take};
pub use holds::Holds;

/// How an agent should use `tw`: the skill file, and what `tw agent-help` prints.
pub const SKILL: &str = include_str!("skill.md");

/// The names of the agents that can be set up, in the order of help texts.
pub fn installable() -> Vec<&'static str> {
    let known = AGENTS.iter().filter(|agent| agent.setup().is_some());
    known.map(|agent| agent.name()).collect()
}

/// The directories that setting an agent up may make, by name.
pub fn directories() -> impl Iterator<Item = &'static str> {
    let own = AGENTS.iter().flat_map(|agent| agent.directories());
    [".agents", "skills", "timewarp"]
        .into_iter()
        .chain(own.copied())
}

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Scope {
    /// The project's, for everyone who works on it.
    Project,
    /// The user's, for every project.
    User,
}

/// Whether the agent tells of each tool that it has used, too: `timewarp.checkpoints` is `steps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// Each costs a process: only where somebody asked for it.
    Silent,
    /// It does.
    Reported,
}

/// Something of ours in a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// A hook: an entry of the list `hooks.<event>`; its command is in it, or in its own list `hooks`.
    Hook {
        /// The agent's name of the event.
        event: &'static str,
        /// The command.
        command: String,
        /// The whole entry.
        entry: Value,
    },
    /// The MCP server `tw` under this key.
    Server {
        /// `mcpServers` or `mcp`.
        key: &'static str,
        /// The entry.
        entry: Value,
    },
    /// A text in the list under this key.
    Listed {
        /// `plugin`.
        key: &'static str,
        /// The text.
        text: &'static str,
    },
    /// `version`, which a hooks file begins with.
    Version(u32),
    /// A marked block of lines in TOML.
    Block(String),
    /// The whole file.
    Whole(String),
    /// A whole file that an earlier `tw` put here: it goes, as far as it is ours.
    Former(String),
}

/// A file and what of ours belongs into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The file, absolute.
    pub path: PathBuf,
    /// Ours.
    pub pieces: Vec<Piece>,
    /// Other agents use the same file.
    pub shared: bool,
}

/// What an agent needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Its files.
    pub targets: Vec<Target>,
    /// What the user has to know or do.
    pub notices: Vec<String>,
}

/// Where an agent's files are.
pub struct InstallPaths<'a> {
    pub(super) scope: Scope,
    pub(super) steps: Steps,
    pub(super) root: &'a Path,
    pub(super) home: &'a Path,
    pub(super) places: &'a Places,
}

impl InstallPaths<'_> {
    /// A project's path, or the user's in the directory that `variable` names, else under HOME.
    pub(super) fn file(&self, project: &str, variable: &str, dir: &str, user: &str) -> PathBuf {
        match self.scope {
            Scope::Project => self.root.join(project),
            Scope::User => self.user_file(variable, dir, user),
        }
    }

    /// The user's path, whatever the scope.
    pub(super) fn user_file(&self, variable: &str, dir: &str, name: &str) -> PathBuf {
        let dir = self
            .places
            .dir(variable)
            .unwrap_or_else(|| self.home.join(dir));
        dir.join(name)
    }

    /// The text of a file that decides where others of the agent's belong; None when there is none that can be read.
    pub(super) fn text(path: &Path) -> Option<String> {
        let bytes = fs::read_optional(path).ok()??;
        String::from_utf8(bytes).ok()
    }

    /// Hooks in groups for the events that are asked for: those of `always`, those of `step` where steps are told.
    pub(super) fn grouped(&self, agent: &str, always: &[Event], step: &[Event]) -> Vec<Piece> {
        grouped(agent, &events(self, always, step))
    }

    pub(super) fn skill(&self) -> Target {
        skill_in(match self.scope {
            Scope::Project => self.root,
            Scope::User => self.home,
        })
    }
}

/// The skill that agents share, in a project or a home directory.
pub(super) fn skill_in(base: &Path) -> Target {
    Target {
        shared: true,
        ..whole(base.join(".agents/skills/timewarp/SKILL.md"), SKILL)
    }
}

pub(super) fn whole(path: PathBuf, text: &str) -> Target {
    target(path, vec![Piece::Whole(text.to_owned())])
}

pub(super) fn target(path: PathBuf, pieces: Vec<Piece>) -> Target {
    Target {
        path,
        pieces,
        shared: false,
    }
}

/// Says what an agent needs.
pub type SetupOf = fn(&InstallPaths<'_>) -> Parts;

/// What an agent needs; `None` for one that cannot be set up.
pub fn setup(
    agent: &str,
    (scope, steps): (Scope, Steps),
    root: &Path,
    home: &Path,
    places: &Places,
) -> Option<Setup> {
    let paths = InstallPaths {
        scope,
        steps,
        root,
        home,
        places,
    };
    let agent = by_name(agent)?;
    let (targets, notices) = agent.setup()?(&paths);
    let limit = agent.limit_of_project_settings();
    let limit = limit.filter(|_| scope == Scope::Project);
    Some(Setup {
        targets,
        notices: notices
            .into_iter()
            .chain(limit)
            .map(str::to_owned)
            .collect(),
    })
}

/// The settings that can keep an agent's hooks from running.
pub fn deciding_files(
    agent: &dyn Agent,
    root: &Path,
    home: &Path,
    places: &Places,
) -> Vec<PathBuf> {
    agent.deciding_files(&InstallPaths {
        scope: Scope::User,
        steps: Steps::Silent,
        root,
        home,
        places,
    })
}

/// Why no hook of Claude Code, or of an agent that took its settings over, runs with settings of this text.
pub(super) fn all_hooks_off(text: &str) -> Option<&'static str> {
    let off = Document::parse(text).is_some_and(|found| {
        found.member(&["disableAllHooks"], &|value| *value == true) == Found::Ours
    });
    off.then_some("turns all hooks off: 'disableAllHooks'")
}

/// The settings of an agent that keeps them in TOML; the error is why no hook runs then.
pub(super) fn toml_settings(text: &str) -> std::result::Result<toml::Table, &'static str> {
    text.parse().map_err(|_| "is not valid TOML")
}

/// The hooks of a target that tell of steps, where the target as it should be tells of none.
pub fn stale_hooks(target: &Target, told: &Setup) -> Vec<Piece> {
    let same = told.targets.iter().find(|other| other.path == target.path);
    let pieces = same.into_iter().flat_map(|other| &other.pieces);
    pieces
        .filter(|piece| matches!(piece, Piece::Hook { .. }) && !target.pieces.contains(piece))
        .cloned()
        .collect()
}

/// Whether a settings file tells of steps.
pub fn tells_steps(text: &str) -> bool {
    text.contains("post-tool-use") || text.contains("tool.execute.after")
}

/// Whether a settings file has hooks of ours that tell of this agent.
pub fn has_hooks_of(text: &str, agent: &str) -> bool {
    let tells = [
        format!("tw hook {agent} "),
        format!("\"hook\", \"{agent}\""),
    ];
    tells.iter().any(|words| text.contains(words))
}

/// An agent's files, and what the user has to know or do.
pub type Parts = (Vec<Target>, Vec<&'static str>);

pub(super) fn command(agent: &str, event: &EventKind) -> String {
    format!("tw hook {agent} {event}")
}

/// The events that are asked for, `step` among them where steps are told.
pub(super) fn events<T: Clone>(paths: &InstallPaths<'_>, always: &[T], step: &[T]) -> Vec<T> {
    let steps = if paths.steps == Steps::Reported {
        step
    } else {
        &[]
    };
    [always, steps].concat()
}

/// The agent's name of an event, what it tells of, and how long its hook may take in the agent's
/// own unit.
pub(super) type Event = (&'static str, EventKind, u32);

/// Hooks in groups, as Claude Code has them and others took over.
fn grouped(agent: &str, events: &[Event]) -> Vec<Piece> {
    let hook = |(name, event, timeout): &Event| {
        let command = command(agent, event);
        let inner = json!({"type": "command", "command": command, "timeout": timeout});
        Piece::Hook {
            event: name,
            entry: json!({ "hooks": [inner] }),
            command,
        }
    };
    events.iter().map(hook).collect()
}

fn server() -> Value {
    json!({"command": "tw", "args": ["mcp"]})
}

pub(super) fn mcp_servers() -> Piece {
    Piece::Server {
        key: "mcpServers",
        entry: server(),
    }
}

/// Hooks without groups, in a file that begins with a version.
pub(super) fn flat(
    agent: &str,
    events: &[(&'static str, EventKind)],
    entry: fn(&str) -> Value,
) -> Vec<Piece> {
    let hook = |(name, event): &(&'static str, EventKind)| {
        let command = command(agent, event);
        Piece::Hook {
            event: name,
            entry: entry(&command),
            command,
        }
    };
    events.iter().map(hook).collect()
}

#[cfg(test)]
mod tests;
