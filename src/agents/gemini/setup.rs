//! What Gemini CLI is given: its settings files, what of ours stands in each, and what the user has to do.

use super::{HOME, NAME};
use crate::agents::install::{InstallPaths, Parts, Scope, mcp_servers, skill_in, target};

/// What it needs.
pub fn setup(paths: &InstallPaths<'_>) -> Parts {
    let mut pieces = paths.grouped(
        NAME,
        &[
            ("SessionStart", "session-start", 30_000),
            ("BeforeAgent", "user-prompt-submit", 30_000),
            ("AfterAgent", "stop", 30_000),
            ("SessionEnd", "session-end", 5_000),
        ],
        &[("AfterTool", "post-tool-use", 30_000)],
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
