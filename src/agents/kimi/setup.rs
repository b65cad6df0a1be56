//! What kimi-cli is given: its settings files, what of ours stands in each, and what the user has to know. Kimi Code takes the
//! same in a directory of its own.

use std::fmt::Write as _;

use crate::agents::hook::EventKind;
use crate::agents::install::{
    InstallPaths, Parts, Piece, Scope, command, events, mcp_servers, target,
};

/// What the agent of this name needs, whose settings are in the directory that `variable` names, else in `dir` under HOME.
pub fn setup(paths: &InstallPaths<'_>, agent: &str, variable: &str, dir: &str) -> Parts {
    let mut body = String::new();
    let always = [
        ("SessionStart", EventKind::SessionStart, 30),
        ("UserPromptSubmit", EventKind::UserPromptSubmit, 30),
        ("Stop", EventKind::Stop, 30),
        ("SessionEnd", EventKind::SessionEnd, 5),
    ];
    let step = [("PostToolUse", EventKind::PostToolUse, 30)];
    for (name, event, timeout) in events(paths, &always, &step) {
        if !body.is_empty() {
            body.push('\n');
        }
        let command = command(agent, &event);
        let _ = write!(
            body,
            "[[hooks]]\nevent = \"{name}\"\ncommand = \"{command}\"\ntimeout = {timeout}\n"
        );
    }
    let file = |name| paths.user_file(variable, dir, name);
    let targets = vec![
        target(file("config.toml"), vec![Piece::Block(body)]),
        target(file("mcp.json"), vec![mcp_servers()]),
        paths.skill(),
    ];
    let notices = match paths.scope {
        Scope::Project => vec![
            "Kimi has no settings of a project's own: its hooks and MCP server are in your own, for all your projects",
        ],
        Scope::User => Vec::new(),
    };
    (targets, notices)
}
