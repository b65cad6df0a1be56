//! What Qwen Code is given: its settings files, what of ours stands in each, and what keeps hooks from running.

use std::path::PathBuf;

use super::{HOME, NAME};
use crate::agents::hook::EventKind;
use crate::agents::install::{InstallPaths, Parts, Scope, mcp_servers, target};

/// Returns what 'tw init' puts into the settings of Qwen Code.
pub fn setup(paths: &InstallPaths<'_>) -> Parts {
    let mut pieces = paths.grouped(
        NAME,
        &[
            ("SessionStart", EventKind::SessionStart, 30),
            ("UserPromptSubmit", EventKind::UserPromptSubmit, 30),
            ("Stop", EventKind::Stop, 30),
            ("SessionEnd", EventKind::SessionEnd, 5),
        ],
        &[("PostToolUse", EventKind::PostToolUse, 30)],
    );
    pieces.push(mcp_servers());
    let notices = match paths.scope {
        Scope::Project => {
            vec![
                "Qwen Code takes a project's hooks only in a trusted folder, where it asks for trust",
            ]
        }
        Scope::User => Vec::new(),
    };
    let file = paths.file(".qwen/settings.json", HOME, ".qwen", "settings.json");
    (vec![target(file, pieces), paths.skill()], notices)
}

/// The settings that can keep its hooks from running.
pub fn deciding_files(paths: &InstallPaths<'_>) -> Vec<PathBuf> {
    vec![
        paths.root.join(".qwen/settings.json"),
        paths.user_file(HOME, ".qwen", "settings.json"),
    ]
}
