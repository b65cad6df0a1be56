//! What Codex is given: its settings files, what of ours stands in each, what the user has to do, and
//! what keeps hooks from running.

use std::path::PathBuf;

use super::NAME;
use crate::agents::install::{InstallPaths, Parts, Piece, Scope, target, toml_settings};

/// What it needs.
pub fn setup(paths: &InstallPaths<'_>) -> Parts {
    let hooks = paths.grouped(
        NAME,
        &[
            ("SessionStart", "session-start", 30),
            ("UserPromptSubmit", "user-prompt-submit", 30),
        ],
        &[("PostToolUse", "post-tool-use", 30)],
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

/// The settings that can keep its hooks from running.
pub fn deciding_files(paths: &InstallPaths<'_>) -> Vec<PathBuf> {
    vec![
        paths.root.join(".codex/config.toml"),
        paths.user_file("CODEX_HOME", ".codex", "config.toml"),
    ]
}

/// Why no hook runs with settings of this text.
pub fn silenced(text: &str) -> Option<&'static str> {
    let table = match toml_settings(text) {
        Ok(table) => table,
        Err(why) => return Some(why),
    };
    let features = table.get("features").and_then(toml::Value::as_table)?;
    let off = |key: &str| features.get(key) == Some(&toml::Value::Boolean(false));
    (off("hooks") || off("codex_hooks"))
        .then_some("turns hooks off: 'hooks = false' under [features]")
}
