//! Cursor's command line agent: known by its hooks and its resume command.
//!
//! Its sessions have no documented form: its files can be rewound, its conversations cannot.

use serde_json::{Value, json};

use super::hook::EventKind;
use super::install::{
    InstallPaths, Parts, Piece, Scope, SetupOf, events, flat, mcp_servers, target,
};
use super::used::{Traces, UserDirectory};
use super::{Agent, words};

/// The agent's name in the table.
pub const NAME: &str = "cursor";

/// Cursor's command line agent.
pub struct Cursor;

impl Agent for Cursor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Cursor"
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&["cursor-agent"]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&["cursor-agent", "--resume", session_id]))
    }

    fn setup(&self) -> Option<SetupOf> {
        Some(setup)
    }

    fn directories(&self) -> &'static [&'static str] {
        &[".cursor"]
    }

    fn traces(&self) -> Traces {
        Traces {
            programs: &["cursor-agent"],
            user: vec![UserDirectory::moved_by("", ".cursor")],
            project: &[".cursor"],
        }
    }

    fn runs_hooks_of(&self) -> Option<&'static str> {
        Some(super::claude::NAME)
    }

    fn is_caller(&self, payload: &Value) -> bool {
        payload.get("workspace_roots").is_some() && payload.get("conversation_id").is_some()
    }
}

fn setup(paths: &InstallPaths<'_>) -> Parts {
    let mut hooks = flat(
        NAME,
        &events(
            paths,
            &[
                ("sessionStart", EventKind::SessionStart),
                ("beforeSubmitPrompt", EventKind::UserPromptSubmit),
                ("stop", EventKind::Stop),
                ("sessionEnd", EventKind::SessionEnd),
            ],
            &[
                ("afterFileEdit", EventKind::PostToolUse),
                ("afterShellExecution", EventKind::PostToolUse),
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
