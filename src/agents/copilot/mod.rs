//! Copilot's command line agent: known by its hooks and its resume command.
//!
//! Its sessions have no documented form: its files can be rewound, its conversations cannot.

use serde_json::json;

use super::install::{InstallPaths, Parts, Piece, Scope, SetupOf, events, flat, target};
use super::used::{Traces, UserDirectory};
use super::version::Tried;
use super::{Agent, words};

/// The agent's name in the table.
pub const NAME: &str = "copilot";

/// Copilot's command line agent.
pub struct Copilot;

impl Agent for Copilot {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Copilot CLI"
    }

    fn tried(&self) -> Option<Tried> {
        Some(Tried {
            version: "1.0.102",
            package: "@github/copilot",
            recorded: &[],
        })
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["COPILOT_AGENT_SESSION_ID"]
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&["copilot"]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&["copilot", "--resume", session_id]))
    }

    fn setup(&self) -> Option<SetupOf> {
        Some(setup)
    }

    fn directories(&self) -> &'static [&'static str] {
        &[".copilot", ".github"]
    }

    fn traces(&self) -> Traces {
        Traces {
            programs: &["copilot"],
            user: vec![UserDirectory::moved_by("COPILOT_HOME", ".copilot")],
            // '.github' is there for much else.
            project: &[],
        }
    }
}

fn setup(paths: &InstallPaths<'_>) -> Parts {
    let always = [
        ("sessionStart", "session-start"),
        ("userPromptSubmitted", "user-prompt-submit"),
        ("agentStop", "stop"),
        ("sessionEnd", "session-end"),
    ];
    let mut hooks = flat(
        NAME,
        &events(paths, &always, &[("postToolUse", "post-tool-use")]),
        |command| json!({"type": "command", "bash": command, "timeoutSec": 30}),
    );
    hooks.push(Piece::Version(1));
    // A file of its own: every file in that directory is read, so none has to be shared.
    let path = paths.file(
        ".github/hooks/timewarp.json",
        "COPILOT_HOME",
        ".copilot",
        "hooks/timewarp.json",
    );
    let mut targets = vec![target(path, hooks), paths.skill()];
    let server = Piece::Server {
        key: "mcpServers",
        entry: json!({"type": "local", "command": "tw", "args": ["mcp"], "tools": ["*"]}),
    };
    let path = paths.file(
        ".github/mcp.json",
        "COPILOT_HOME",
        ".copilot",
        "mcp-config.json",
    );
    targets.push(target(path, vec![server]));
    let notices = match paths.scope {
        Scope::Project => vec![
            "Copilot CLI starts a project's MCP servers only in a trusted folder, and none with -p unless GITHUB_COPILOT_PROMPT_MODE_WORKSPACE_MCP=true",
            "Copilot's cloud agent takes hooks from the default branch, and has no tw unless you install it there",
        ],
        Scope::User => Vec::new(),
    };
    (targets, notices)
}
