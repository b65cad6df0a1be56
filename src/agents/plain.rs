//! Agents whose sessions are not read here: they are known by name, hooks and resume command.
//!
//! Sessions of Cursor and Copilot have no documented form: their files can be rewound, their conversations cannot. `generic` is
//! any harness that calls `tw` itself.

use serde_json::{Value, json};

use super::install::{
    InstallPaths, Parts, Piece, Scope, SetupOf, command, events, flat, mcp_servers, target, whole,
};
use super::{Agent, words};

/// An agent without readable session files.
pub struct Plain {
    name: &'static str,
    title: &'static str,
    program: Option<&'static str>,
    resume: &'static str,
    setup: Option<SetupOf>,
}

/// Cursor's command line agent.
pub static CURSOR: Plain = Plain {
    name: "cursor",
    title: "Cursor",
    program: Some("cursor-agent"),
    resume: "--resume",
    setup: Some(cursor),
};

/// Copilot's command line agent.
pub static COPILOT: Plain = Plain {
    name: "copilot",
    title: "Copilot CLI",
    program: Some("copilot"),
    resume: "--resume",
    setup: Some(copilot),
};

/// Any other harness.
pub static GENERIC: Plain = Plain {
    name: "generic",
    title: "generic agent",
    program: None,
    resume: "",
    setup: None,
};

impl Agent for Plain {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&[self.program?]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&[self.program?, self.resume, session_id]))
    }

    fn setup(&self) -> Option<SetupOf> {
        self.setup
    }
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
