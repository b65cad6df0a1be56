//! What each agent's settings need so that it tells `tw` of its sessions, reaches `tw mcp`, and knows how to use it.
//!
//! Pure: a table of files and of what of ours stands in each, and the edits of their texts. Reads and writes no file.

mod apply;
mod silenced;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::places::Places;
pub use apply::{Refusal, put, take};
pub use silenced::{deciding_files, silenced};

/// How an agent should use `tw`: the skill file, and what `tw agent-help` prints.
pub const SKILL: &str = include_str!("skill.md");

/// The plugin that tells `tw` of opencode's sessions.
const OPENCODE: &str = include_str!("opencode.js");

/// What it has besides where steps are told, before its end.
const OPENCODE_STEP: &str = r#"  "tool.execute.after": async ({ tool, sessionID, callID }) => {
    await tell("tool.execute.after", { sessionID, tool, callID, directory }, directory)
  },
"#;

/// The agents that can be set up, in the order of help texts.
pub const INSTALLABLE: [&str; 8] = [
    "claude",
    "codex",
    "gemini",
    "kimi",
    "kimi-code",
    "opencode",
    "cursor",
    "copilot",
];

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    Told,
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
    /// `version`, which a hooks file begins with.
    Version(u32),
    /// A marked block of lines in TOML.
    Block(String),
    /// The whole file.
    Whole(String),
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
struct InstallPaths<'a> {
    scope: Scope,
    steps: Steps,
    root: &'a Path,
    home: &'a Path,
    places: &'a Places,
}

impl InstallPaths<'_> {
    /// A project's path, or the user's in the directory that `variable` names, else under HOME.
    fn file(&self, project: &str, variable: &str, dir: &str, user: &str) -> PathBuf {
        match self.scope {
            Scope::Project => self.root.join(project),
            Scope::User => self
                .places
                .dir(variable)
                .unwrap_or_else(|| self.home.join(dir))
                .join(user),
        }
    }

    fn skill(&self) -> Target {
        let base = match self.scope {
            Scope::Project => self.root,
            Scope::User => self.home,
        };
        Target {
            shared: true,
            ..whole(base.join(".agents/skills/timewarp/SKILL.md"), SKILL)
        }
    }
}

fn whole(path: PathBuf, text: &str) -> Target {
    target(path, vec![Piece::Whole(text.to_owned())])
}

fn target(path: PathBuf, pieces: Vec<Piece>) -> Target {
    Target {
        path,
        pieces,
        shared: false,
    }
}

/// What an agent needs; `None` for one that cannot be set up. For kimi the scope is always the user's.
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
    let (targets, notices) = match agent {
        "claude" => claude(&paths),
        "codex" => codex(&paths),
        "gemini" => gemini(&paths),
        "kimi" => kimi(&paths, "kimi", "KIMI_SHARE_DIR", ".kimi"),
        "kimi-code" => kimi(&paths, "kimi-code", "KIMI_CODE_HOME", ".kimi-code"),
        "opencode" => opencode(&paths),
        "cursor" => cursor(&paths),
        "copilot" => copilot(&paths),
        _ => return None,
    };
    Some(Setup {
        targets,
        notices: notices.into_iter().map(str::to_owned).collect(),
    })
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

type Parts = (Vec<Target>, Vec<&'static str>);

fn command(agent: &str, event: &str) -> String {
    format!("tw hook {agent} {event}")
}

/// The events that are asked for, `step` among them where steps are told.
fn events<T: Copy>(paths: &InstallPaths<'_>, always: &[T], step: &[T]) -> Vec<T> {
    let steps = if paths.steps == Steps::Told {
        step
    } else {
        &[]
    };
    [always, steps].concat()
}

/// Hooks in groups, as Claude Code has them and others took over. `timeout` is in the agent's own unit.
fn grouped(agent: &str, events: &[(&'static str, &str, u32)]) -> Vec<Piece> {
    let hook = |&(name, event, timeout): &(&'static str, &str, u32)| {
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

fn mcp_servers() -> Piece {
    Piece::Server {
        key: "mcpServers",
        entry: server(),
    }
}

fn claude(paths: &InstallPaths<'_>) -> Parts {
    let file = |project, user| paths.file(project, "CLAUDE_CONFIG_DIR", ".claude", user);
    let hooks = grouped(
        "claude",
        &events(
            paths,
            &[
                ("SessionStart", "session-start", 30),
                ("UserPromptSubmit", "user-prompt-submit", 30),
                ("SessionEnd", "session-end", 5),
            ],
            &[("PostToolUse", "post-tool-use", 30)],
        ),
    );
    let mut targets = vec![
        target(file(".claude/settings.json", "settings.json"), hooks),
        whole(
            file(
                ".claude/skills/timewarp/SKILL.md",
                "skills/timewarp/SKILL.md",
            ),
            SKILL,
        ),
    ];
    let notice = match paths.scope {
        Scope::Project => {
            targets.push(target(paths.root.join(".mcp.json"), vec![mcp_servers()]));
            "Claude Code asks once whether to trust the project's hooks and its MCP server 'tw': say yes there"
        }
        Scope::User => {
            "Claude Code keeps its own file of MCP servers: run 'claude mcp add --scope user tw -- tw mcp'"
        }
    };
    (targets, vec![notice])
}

fn codex(paths: &InstallPaths<'_>) -> Parts {
    let hooks = grouped(
        "codex",
        &events(
            paths,
            &[
                ("SessionStart", "session-start", 30),
                ("UserPromptSubmit", "user-prompt-submit", 30),
            ],
            &[("PostToolUse", "post-tool-use", 30)],
        ),
    );
    let path = paths.file(".codex/hooks.json", "CODEX_HOME", ".codex", "hooks.json");
    let mut targets = vec![target(path, hooks), paths.skill()];
    let mut notices = vec![
        "Codex runs no hook before you have reviewed and trusted it: open '/hooks' in codex, now and after every change",
        "Codex does not tell when a session ends: 'tw session end' does, else it counts as live for 24 hours",
    ];
    match paths.scope {
        Scope::Project => notices
            .push("Codex keeps MCP servers in its own settings: run 'codex mcp add tw -- tw mcp'"),
        Scope::User => {
            let body = "[mcp_servers.tw]\ncommand = \"tw\"\nargs = [\"mcp\"]\n";
            let path = paths.file("", "CODEX_HOME", ".codex", "config.toml");
            targets.push(target(path, vec![Piece::Block(body.to_owned())]));
        }
    }
    (targets, notices)
}

fn gemini(paths: &InstallPaths<'_>) -> Parts {
    let mut pieces = grouped(
        "gemini",
        &events(
            paths,
            &[
                ("SessionStart", "session-start", 30_000),
                ("BeforeAgent", "user-prompt-submit", 30_000),
                ("SessionEnd", "session-end", 5_000),
            ],
            &[("AfterTool", "post-tool-use", 30_000)],
        ),
    );
    pieces.push(mcp_servers());
    let base = match paths.scope {
        Scope::Project => paths.root,
        Scope::User => paths.home,
    };
    let notices = match paths.scope {
        Scope::Project => vec![
            "Gemini CLI takes a project's hooks and MCP servers only in a trusted folder, and warns of new hooks once",
        ],
        Scope::User => Vec::new(),
    };
    let settings = target(base.join(".gemini/settings.json"), pieces);
    (vec![settings, paths.skill()], notices)
}

fn kimi(paths: &InstallPaths<'_>, agent: &str, variable: &str, dir: &str) -> Parts {
    let mut body = String::new();
    let always = [
        ("SessionStart", "session-start", 30),
        ("UserPromptSubmit", "user-prompt-submit", 30),
        ("SessionEnd", "session-end", 5),
    ];
    let step = [("PostToolUse", "post-tool-use", 30)];
    for (name, event, timeout) in events(paths, &always, &step) {
        if !body.is_empty() {
            body.push('\n');
        }
        let command = command(agent, event);
        let _ = write!(
            body,
            "[[hooks]]\nevent = \"{name}\"\ncommand = \"{command}\"\ntimeout = {timeout}\n"
        );
    }
    let user = InstallPaths {
        scope: Scope::User,
        ..*paths
    };
    let file = |name| user.file("", variable, dir, name);
    let targets = vec![
        target(file("config.toml"), vec![Piece::Block(body)]),
        target(file("mcp.json"), vec![mcp_servers()]),
        paths.skill(),
    ];
    let notices = match paths.scope {
        Scope::Project => vec![
            "kimi has no settings of a project's own: its hooks and MCP server were meant for all your projects",
        ],
        Scope::User => Vec::new(),
    };
    (targets, notices)
}

fn opencode(paths: &InstallPaths<'_>) -> Parts {
    let config = match paths.places.dir("XDG_CONFIG_HOME") {
        Some(dir) => dir,
        None => paths.home.join(".config"),
    };
    let (plugin, settings) = match paths.scope {
        Scope::Project => (
            paths.root.join(".opencode/plugins/timewarp.js"),
            paths.root.join("opencode.json"),
        ),
        Scope::User => (
            config.join("opencode/plugins/timewarp.js"),
            config.join("opencode/opencode.json"),
        ),
    };
    let entry = json!({"type": "local", "command": ["tw", "mcp"], "enabled": true});
    let server = Piece::Server { key: "mcp", entry };
    let targets = vec![
        whole(plugin, &opencode_plugin(paths.steps)),
        target(settings, vec![server]),
        paths.skill(),
    ];
    (targets, Vec::new())
}

fn opencode_plugin(steps: Steps) -> String {
    const END: &str = "})\n";
    match (steps, OPENCODE.strip_suffix(END)) {
        (Steps::Told, Some(start)) => format!("{start}{OPENCODE_STEP}{END}"),
        _ => OPENCODE.to_owned(),
    }
}

/// Hooks without groups, in a file that begins with a version.
fn flat(agent: &str, events: &[(&'static str, &str)], entry: fn(&str) -> Value) -> Vec<Piece> {
    let hook = |&(name, event): &(&'static str, &str)| {
        let command = command(agent, event);
        Piece::Hook {
            event: name,
            entry: entry(&command),
            command,
        }
    };
    events.iter().map(hook).collect()
}

fn cursor(paths: &InstallPaths<'_>) -> Parts {
    let mut hooks = flat(
        "cursor",
        &events(
            paths,
            &[
                ("sessionStart", "session-start"),
                ("beforeSubmitPrompt", "user-prompt-submit"),
                ("sessionEnd", "session-end"),
            ],
            &[
                ("afterFileEdit", "post-tool-use"),
                ("afterShellExecution", "post-tool-use"),
            ],
        ),
        |command| json!({ "command": command }),
    );
    hooks.push(Piece::Version(1));
    let base = match paths.scope {
        Scope::Project => paths.root,
        Scope::User => paths.home,
    };
    let targets = vec![
        target(base.join(".cursor/hooks.json"), hooks),
        target(base.join(".cursor/mcp.json"), vec![mcp_servers()]),
        paths.skill(),
    ];
    let notices = vec![
        "Cursor runs a project's hooks only in a trusted workspace, and asks before it starts a new MCP server",
    ];
    (targets, notices)
}

fn copilot(paths: &InstallPaths<'_>) -> Parts {
    let entry = |command: &str| json!([{"type": "command", "bash": command, "timeoutSec": 30}]);
    let always = [
        ("sessionStart", "session-start"),
        ("userPromptSubmitted", "user-prompt-submit"),
        ("sessionEnd", "session-end"),
    ];
    let hooks: serde_json::Map<String, Value> =
        events(paths, &always, &[("postToolUse", "post-tool-use")])
            .into_iter()
            .map(|(name, event)| (name.to_owned(), entry(&command("copilot", event))))
            .collect();
    let hooks = json!({"version": 1, "hooks": hooks});
    let text = serde_json::to_string_pretty(&hooks).expect("plain data serialises") + "\n";
    let path = paths.file(
        ".github/hooks/timewarp.json",
        "COPILOT_HOME",
        ".copilot",
        "hooks/timewarp.json",
    );
    let mut targets = vec![whole(path, &text), paths.skill()];
    let notices = match paths.scope {
        Scope::Project => vec![
            "Copilot CLI keeps MCP servers in your own settings: 'tw init --agent copilot --user' adds 'tw' there",
            "Copilot's cloud agent takes hooks from the default branch, and has no tw unless you install it there",
        ],
        Scope::User => {
            let entry = json!({"type": "local", "command": "tw", "args": ["mcp"], "tools": ["*"]});
            let key = "mcpServers";
            let path = paths.file("", "COPILOT_HOME", ".copilot", "mcp-config.json");
            targets.push(target(path, vec![Piece::Server { key, entry }]));
            Vec::new()
        }
    };
    (targets, notices)
}

#[cfg(test)]
mod tests;
