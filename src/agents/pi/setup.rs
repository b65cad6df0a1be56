//! What pi is given: its extension, its file of MCP servers, and what the user has to do.

use serde_json::json;

use crate::agents::install::{InstallPaths, Parts, Piece, Scope, Steps, target, whole};

/// The extension that tells `tw` of pi's sessions.
const EXTENSION: &str = include_str!("extension.js");

/// What it has besides where steps are told, before its end.
const STEP: &str = r#"  pi.on("tool_result", async (event, ctx) => {
    const { toolName, toolCallId, input } = event
    await tell("post-tool-use", ctx, { tool_name: toolName, tool_use_id: toolCallId, tool_input: input })
  })
"#;

/// Returns what 'tw init' puts into the settings and extensions of pi.
pub fn setup(paths: &InstallPaths<'_>) -> Parts {
    let file = |name: &str| {
        let project = format!(".pi/{name}");
        paths.file(&project, "PI_CODING_AGENT_DIR", ".pi/agent", name)
    };
    // Else the model reaches its tools through scripts alone, and is told of none.
    let entry = json!({"command": "tw", "args": ["mcp"], "exposure": "direct"});
    let key = "mcpServers";
    let targets = vec![
        whole(file("extensions/timewarp.js"), &extension(paths.steps)),
        target(file("mcp.json"), vec![Piece::Server { key, entry }]),
        paths.skill(),
    ];
    let notices = match paths.scope {
        Scope::Project => vec![
            "pi loads a project's extensions and MCP servers once the project is trusted: say yes when it asks, or '/trust'",
        ],
        Scope::User => Vec::new(),
    };
    (targets, notices)
}

fn extension(steps: Steps) -> String {
    const END: &str = "}\n";
    match (steps, EXTENSION.strip_suffix(END)) {
        (Steps::Reported, Some(start)) => format!("{start}{STEP}{END}"),
        _ => EXTENSION.to_owned(),
    }
}
