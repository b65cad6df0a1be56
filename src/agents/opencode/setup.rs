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

/// Returns what 'tw init' puts into the settings and plugins of opencode.
pub fn setup(paths: &InstallPaths<'_>) -> Parts {
    let config = match paths.places.dir("XDG_CONFIG_HOME") {
        Some(dir) => dir,
        None => paths.home.join(".config"),
    };
    let entry = json!({"type": "local", "command": ["tw", "mcp"], "enabled": true});
    let server = Piece::Server { key: "mcp", entry };
    let plugin = opencode_plugin(paths.steps);
    let targets = match paths.scope {
        Scope::Project => vec![
            whole(paths.root.join(PLUGIN), &plugin),
            target(
                paths.root.join("opencode.json"),
                vec![
                    Piece::Listed {
                        key: "plugin",
                        text: LISTED,
                    },
                    server,
                ],
            ),
            target(
                paths.root.join(".opencode/plugins/timewarp.js"),
                vec![Piece::Former(plugin)],
            ),
            paths.skill(),
        ],
        Scope::User => vec![
            whole(config.join("opencode/plugins/timewarp.js"), &plugin),
            target(config.join("opencode/opencode.json"), vec![server]),
            paths.skill(),
        ],
    };
    (targets, Vec::new())
}

/// A project's plugin. Not in `.opencode`: into each such directory opencode installs a package of its own as soon as there is any
/// plugin, waits for it at every start, and without a network that is more than a minute.
const PLUGIN: &str = ".agents/timewarp/opencode.js";
/// The same, as opencode's settings name it.
const LISTED: &str = "./.agents/timewarp/opencode.js";

fn opencode_plugin(steps: Steps) -> String {
    const END: &str = "})\n";
    match (steps, OPENCODE.strip_suffix(END)) {
        (Steps::Reported, Some(start)) => format!("{start}{OPENCODE_STEP}{END}"),
        _ => OPENCODE.to_owned(),
    }
}
