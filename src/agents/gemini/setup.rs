//! What Gemini CLI is given: its settings files, what of ours stands in each, what the user has to do, and what keeps hooks from
//! running.

use std::path::PathBuf;

use serde_json::Value;

use super::{HOME, NAME};
use crate::agents::edit::Document;
use crate::agents::hook::EventKind;
use crate::agents::install::{InstallPaths, Parts, Scope, mcp_servers, skill_in, target};

/// Returns what 'tw init' puts into the settings of Gemini CLI.
pub fn setup(paths: &InstallPaths<'_>) -> Parts {
    let mut pieces = paths.grouped(
        NAME,
        &[
            ("SessionStart", EventKind::SessionStart, 30_000),
            ("BeforeAgent", EventKind::UserPromptSubmit, 30_000),
            ("AfterAgent", EventKind::Stop, 30_000),
            ("SessionEnd", EventKind::SessionEnd, 5_000),
        ],
        &[("AfterTool", EventKind::PostToolUse, 30_000)],
    );
    pieces.push(mcp_servers());
    let base = match paths.scope {
        Scope::Project => paths.root.to_owned(),
        // It takes this for the home directory, of skills too.
        Scope::User => paths.user_file(HOME, "", ""),
    };
    let notices = match paths.scope {
        Scope::Project => vec![
            "Gemini CLI takes a project's hooks and MCP servers only in a trusted folder, and warns of new hooks once",
        ],
        Scope::User => Vec::new(),
    };
    let settings = target(base.join(".gemini/settings.json"), pieces);
    (vec![settings, skill_in(&base)], notices)
}

/// The settings that can keep its hooks from running.
pub fn deciding_files(paths: &InstallPaths<'_>) -> Vec<PathBuf> {
    vec![
        paths.root.join(".gemini/settings.json"),
        paths.user_file(HOME, "", ".gemini/settings.json"),
    ]
}

/// Why no hook, or one of ours, runs with settings of this text.
pub fn silenced(text: &str) -> Option<&'static str> {
    let document = Document::parse(text)?;
    if document.get(&["hooksConfig", "enabled"]) == Some(Value::Bool(false)) {
        return Some("turns all hooks off: 'enabled' in 'hooksConfig'");
    }
    // A hook without a name goes by its command.
    let names = document.get(&["hooksConfig", "disabled"]);
    let names = names.as_ref().and_then(Value::as_array);
    let mut names = names.into_iter().flatten().filter_map(Value::as_str);
    names
        .any(|name| name.starts_with("tw hook "))
        .then_some("turns hooks of tw off: 'disabled' in 'hooksConfig'")
}
