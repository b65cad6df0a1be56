//! What Codex is given: its settings files, what of ours stands in each, what the user has to do, and
//! what keeps hooks from running.

use std::path::{Path, PathBuf};

use super::NAME;
use crate::agents::hook::EventKind;
use crate::agents::install::{
    InstallPaths, Parts, Piece, Scope, has_hooks_of, target, toml_settings,
};

/// Returns what 'tw init' puts into the settings of Codex.
pub fn setup(paths: &InstallPaths<'_>) -> Parts {
    let hooks = paths.grouped(
        NAME,
        &[
            ("SessionStart", EventKind::SessionStart, 30),
            ("UserPromptSubmit", EventKind::UserPromptSubmit, 30),
            ("Stop", EventKind::Stop, 30),
            // It takes no more here, and warns of it.
            ("SessionEnd", EventKind::SessionEnd, 3),
        ],
        &[("PostToolUse", EventKind::PostToolUse, 30)],
    );
    let path = paths.file(".codex/hooks.json", "CODEX_HOME", ".codex", "hooks.json");
    let mut targets = vec![target(path, hooks), paths.skill()];
    let mut notices = vec![
        "Codex runs no hook until you have reviewed and trusted it: open '/hooks' in codex, now and after every change",
        "Codex tells of a session's end from version 0.169 on: before, 'tw session end' does, else it counts as live for 24 hours",
    ];
    let servers = ServerFiles::of(paths);
    if servers.project {
        targets.push(target(paths.root.join(PROJECT_CONFIG), vec![server()]));
    }
    if servers.user {
        targets.push(target(user_config(paths), vec![server()]));
        if paths.scope == Scope::Project {
            notices.push("Codex reads a project's MCP servers only once you trust the project, so 'tw mcp' stands in your own settings, for all of them");
        }
    }
    (targets, notices)
}

const PROJECT_CONFIG: &str = ".codex/config.toml";

fn user_config(paths: &InstallPaths<'_>) -> PathBuf {
    paths.user_file("CODEX_HOME", ".codex", "config.toml")
}

fn server() -> Piece {
    let body = "[mcp_servers.tw]\ncommand = \"tw\"\nargs = [\"mcp\"]\n";
    Piece::Block(body.to_owned())
}

/// Which of the two files has the MCP server, or is to have it.
struct ServerFiles {
    project: bool,
    user: bool,
}

impl ServerFiles {
    /// The project's once the user trusts the project, since Codex does not read it before; else the user's. One that has it from
    /// earlier counts too, so that what was put in is taken out, but for a user's that was set up for all projects.
    fn of(paths: &InstallPaths<'_>) -> Self {
        if paths.scope == Scope::User {
            return Self {
                project: false,
                user: true,
            };
        }
        let text = |path: PathBuf| InstallPaths::text(&path).unwrap_or_default();
        let user = text(user_config(paths));
        let hooks = text(paths.user_file("CODEX_HOME", ".codex", "hooks.json"));
        let is_trusted = is_trusted(&user, paths.root);
        Self {
            project: is_trusted || has_server(&text(paths.root.join(PROJECT_CONFIG))),
            user: !has_hooks_of(&hooks, NAME) && (!is_trusted || has_server(&user)),
        }
    }
}

fn has_server(text: &str) -> bool {
    let table = toml_settings(text).ok();
    let server = table
        .as_ref()
        .and_then(|table| table.get("mcp_servers")?.get("tw"));
    server.is_some_and(|server| server.get("command").and_then(toml::Value::as_str) == Some("tw"))
}

/// Whether Codex's settings say that the user trusts this project.
fn is_trusted(settings: &str, root: &Path) -> bool {
    let table = toml_settings(settings).ok();
    let projects = table.as_ref().and_then(|table| table.get("projects"));
    let project = root.to_str().and_then(|root| projects?.get(root));
    let level = project.and_then(|project| project.get("trust_level"));
    level.and_then(toml::Value::as_str) == Some("trusted")
}

/// The settings that can keep its hooks from running.
pub fn deciding_files(paths: &InstallPaths<'_>) -> Vec<PathBuf> {
    vec![paths.root.join(PROJECT_CONFIG), user_config(paths)]
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
