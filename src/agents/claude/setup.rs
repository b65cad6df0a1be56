//! What Claude Code is given: its settings files, what of ours stands in each, what the user has to
//! do, and what keeps hooks from running.

use std::path::PathBuf;

use super::NAME;
use crate::agents::hook::EventKind;
use crate::agents::install::{InstallPaths, Parts, SKILL, Scope, mcp_servers, target, whole};

/// Returns what 'tw init' puts into the settings of Claude Code.
pub fn setup(paths: &InstallPaths<'_>) -> Parts {
    let file = |project, user| paths.file(project, "CLAUDE_CONFIG_DIR", ".claude", user);
    let hooks = paths.grouped(
        NAME,
        &[
            ("SessionStart", EventKind::SessionStart, 30),
            ("UserPromptSubmit", EventKind::UserPromptSubmit, 30),
            ("Stop", EventKind::Stop, 30),
            ("SessionEnd", EventKind::SessionEnd, 5),
        ],
        &[("PostToolUse", EventKind::PostToolUse, 30)],
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

/// The settings that can keep its hooks from running.
pub fn deciding_files(paths: &InstallPaths<'_>) -> Vec<PathBuf> {
    vec![
        paths.root.join(".claude/settings.json"),
        paths.root.join(".claude/settings.local.json"),
        paths.user_file("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
    ]
}
