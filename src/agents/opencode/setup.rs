//! What opencode is given: its settings files, what of ours stands in each, and what the user has to do.

use serde_json::json;

use crate::agents::install::{InstallPaths, Parts, Piece, Scope, Steps, target, whole};

/// The plugin that tells `tw` of opencode's sessions.
const OPENCODE: &str = include_str!("plugin.js");

/// What it has besides where steps are told, before its end.
const OPENCODE_STEP: &str = r#"  "tool.execute.after": async ({ tool, sessionID, callID }) => {
    await tell("tool.execute.after", { sessionID, tool, callID, directory }, directory)
  },
"#;

/// What it needs.
pub fn setup(paths: &InstallPaths<'_>) -> Parts {
    let config = match paths.places.dir("XDG_CONFIG_HOME") {
        Some(dir) => dir,
        None => paths.home.join(".config"),
    };
    let (plugin, settings) = match paths.scope {
        Scope::Project => (
            paths.root.join(".opencode/plugins/timewarp.js"),
            paths.root.join("opencode.json"),
        ),
        Scope::User => (
            config.join("opencode/plugins/timewarp.js"),
            config.join("opencode/opencode.json"),
        ),
    };
    let entry = json!({"type": "local", "command": ["tw", "mcp"], "enabled": true});
    let server = Piece::Server { key: "mcp", entry };
    let targets = vec![
        whole(plugin, &opencode_plugin(paths.steps)),
        target(settings, vec![server]),
        paths.skill(),
    ];
    (targets, Vec::new())
}

fn opencode_plugin(steps: Steps) -> String {
    const END: &str = "})\n";
    match (steps, OPENCODE.strip_suffix(END)) {
        (Steps::Reported, Some(start)) => format!("{start}{OPENCODE_STEP}{END}"),
        _ => OPENCODE.to_owned(),
    }
}
