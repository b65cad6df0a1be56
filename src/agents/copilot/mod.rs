//! Copilot's command line agent: known by its hooks and its resume command.
//!
//! Its sessions have no documented form: its files can be rewound, its conversations cannot.

use serde_json::{Value, json};

use super::hook::EventKind;
use super::install::{InstallPaths, Parts, Piece, Scope, SetupOf, command, events, target, whole};
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
    let entry = |command: &str| json!([{"type": "command", "bash": command, "timeoutSec": 30}]);
    let always = [
        ("sessionStart", EventKind::SessionStart),
        ("userPromptSubmitted", EventKind::UserPromptSubmit),
        ("agentStop", EventKind::Stop),
        ("sessionEnd", EventKind::SessionEnd),
    ];
    let hooks: serde_json::Map<String, Value> =
        events(paths, &always, &[("postToolUse", EventKind::PostToolUse)])
            .into_iter()
            .map(|(name, event)| (name.to_owned(), entry(&command(NAME, &event))))
            .collect();
    let hooks = json!({"version": 1, "hooks": hooks});
    // A file of our own: every file in that directory is read, so none has to be shared.
    let text = serde_json::to_string_pretty(&hooks).expect("plain data serialises") + "\n";
    let path = paths.file(
        ".github/hooks/timewarp.json",
        "COPILOT_HOME",
        ".copilot",
        "hooks/timewarp.json",
    );
    let mut targets = vec![whole(path, &text), paths.skill()];
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
