//! What is somebody else's in a file where tw's belongs: no byte of it goes, in, again, or out.

use serde_json::{Value, json};

use super::{ALL, both};
use crate::sandbox::Sandbox;

/// Each agent with settings in JSON: the file, and the keys that lead to tw's.
const JSON: [(&str, &str, &str); 14] = [
    ("claude", ".claude/settings.json", "hooks.SessionStart"),
    ("claude", ".mcp.json", "mcpServers"),
    ("codex", ".codex/hooks.json", "hooks.SessionStart"),
    ("gemini", ".gemini/settings.json", "hooks.BeforeAgent"),
    ("gemini", ".gemini/settings.json", "mcpServers"),
    ("qwen", ".qwen/settings.json", "hooks.Stop"),
    ("qwen", ".qwen/settings.json", "mcpServers"),
    ("kimi", "../home/.kimi/mcp.json", "mcpServers"),
    ("kimi-code", "../home/.kimi-code/mcp.json", "mcpServers"),
    ("pi", ".pi/mcp.json", "mcpServers"),
    ("opencode", "opencode.json", "mcp"),
    ("cursor", ".cursor/hooks.json", "hooks.sessionStart"),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("copilot", ".github/mcp.json", "mcpServers"),
];

/// Each with settings in TOML.
const TOML: [(&str, &str, &str); 3] = [
    ("kimi", "../home/.kimi/config.toml", "hooks"),
    ("kimi-code", "../home/.kimi-code/config.toml", "hooks"),
    ("codex", "../home/.codex/config.toml", "mcp_servers"),
];

const COPILOT: &str = ".github/hooks/timewarp.json";

/// What `init` and `init --remove` leave of a file byte for byte, and name when it is not set up for it.
fn assert_left(agent: &str, file: &str, text: &str) {
    let sandbox = Sandbox::new();
    sandbox.write(file, text);
    let name = file.trim_start_matches("../home/");
    for _ in 0..2 {
        let (error, code) = sandbox.json_error(["init", "--agent", agent]);
        assert_eq!((&error["code"], code), (&json!("WOULD_OVERWRITE"), 5));
        assert!(error["message"].to_string().contains(name), "{error}");
        assert!(
            error["message"].to_string().contains("was left alone"),
            "{error}"
        );
        assert_eq!(sandbox.text(file), text, "{agent}: init of {file}");
    }
    for remove in [
        &["init", "--agent", agent, "--remove"][..],
        &["init", "--remove", "-y"],
    ] {
        sandbox.tw(remove);
        assert!(sandbox.exists(file), "{agent}: {remove:?} of {text}");
        assert_eq!(sandbox.text(file), text, "{agent}: {remove:?}");
    }
    // Nor without anything of tw's beside it.
    let alone = Sandbox::new();
    alone.write(file, text);
    let before = both(&alone);
    alone.tw(["init", "--remove", "-y"]);
    assert_eq!(both(&alone), before, "{agent}: {text}");
}

/// A value at a path of keys.
fn at(path: &str, value: &Value) -> Value {
    let keys = path.rsplit('.');
    keys.fold(value.clone(), |inner, key| json!({ key: inner }))
}

#[test]
fn what_stands_where_tw_s_belongs_and_leaves_no_room_stays_to_the_byte() {
    for (agent, file, path) in JSON {
        let mine = json!({"command": "./mine.sh"});
        let called = json!({"a": {"command": format!("tw hook {agent} session-start")}});
        let mut values = vec![json!([mine]), json!([]), json!(null), json!("x"), json!(7)];
        let (first, event) = path.split_once('.').unwrap_or((path, ""));
        if !event.is_empty() {
            let within = [json!(null), json!("x"), json!({"a": mine}), called];
            values.extend(within.map(|value| json!({ event: value })));
        }
        for value in values {
            assert_left(
                agent,
                file,
                &format!("{} \n", json!({ first: value, "a": 1 })),
            );
        }
    }
    for (agent, file, key) in TOML {
        for value in ["\"x\"", "7", "[{ command = \"./mine.sh\" }]"] {
            assert_left(agent, file, &format!("a = 1\n{key} = {value}\n"));
        }
    }
}

#[test]
fn a_file_of_copilot_s_hooks_that_is_somebody_s_stays_to_the_byte() {
    let mine = json!({"type": "command", "bash": "./mine.sh"});
    for hooks in [
        json!([mine]),
        json!([]),
        json!(null),
        json!({}),
        json!({"sessionStart": []}),
        json!({"sessionStart": [mine]}),
    ] {
        let text = format!("{}\n", json!({"version": 1, "hooks": hooks}));
        assert_left("copilot", COPILOT, &text);
    }
}

#[test]
fn a_file_of_copilot_s_hooks_with_tw_s_and_somebody_s_stays_and_is_named() {
    let mine = r#"{"type":"command","bash":"./mine.sh"}"#;
    let own = r#"{"type":"command","bash":"tw hook copilot session-start","timeoutSec":30}"#;
    for list in [
        format!(r#"{{"sessionStart":[{{"hooks":[{own},{mine}]}}]}}"#),
        format!(r#"{{"sessionStart":[{own},{mine}]}}"#),
        format!(r#"{{"sessionStart":[{own}],"sessionEnd":[{mine}]}}"#),
        format!(r#"{{"sessionStart":[{mine}],"sessionStart":[{own}]}}"#),
        format!("{{\"sessionStart\":[ // mine\n{own}]}}"),
    ] {
        let sandbox = Sandbox::new();
        let text = format!("{{\"version\":1,\"hooks\":{list}}}\n");
        sandbox.write(COPILOT, &text);
        for args in [
            &["init", "--agent", "copilot"][..],
            &["init", "--agent", "copilot"],
            &["init", "--agent", "copilot", "--remove"],
            &["init", "--remove", "-y"],
        ] {
            let said = sandbox.json(args)["notices"].to_string();
            assert_eq!(sandbox.text(COPILOT), text, "{args:?}");
            assert!(said.contains("timewarp.json"), "{args:?}: {said}");
            assert!(said.contains("it stays"), "{args:?}: {said}");
        }
    }
}

#[test]
fn a_group_with_tw_s_hook_and_somebody_s_keeps_his() {
    for (agent, file, path) in JSON {
        let Some((_, event)) = path.split_once('.') else {
            continue;
        };
        for own in [
            format!("tw hook {agent} session-start"),
            // As an older one had it.
            "tw hook session-start".to_owned(),
        ] {
            let sandbox = Sandbox::new();
            let own = json!({"type": "command", "command": own, "timeout": 30});
            let mine = json!({"type": "command", "command": "./mine.sh", "timeout": 30});
            for group in [json!([own, mine]), json!([mine, own])] {
                sandbox.write(file, at(path, &json!([{"hooks": group}])).to_string());
                sandbox.json(["init", "--agent", agent]);
                let made = sandbox.text(file);
                assert_eq!(made.matches("./mine.sh").count(), 1, "{made}");
                sandbox.json(["init", "--agent", agent]);
                assert_eq!(sandbox.text(file), made, "{agent}");
                sandbox.json(["init", "--agent", agent, "--remove"]);
                let left: Value = serde_json::from_slice(&sandbox.read(file)).unwrap();
                assert_eq!(
                    left["hooks"][event],
                    json!([{"hooks": [mine]}]),
                    "{agent}: {made}"
                );
            }
        }
    }
}

#[test]
fn what_somebody_wrote_into_a_hook_or_server_of_tw_s_stays() {
    let sandbox = Sandbox::new();
    sandbox.json(["init", "--agent", ALL]);
    let mut changed = Vec::new();
    for (_, file, path) in JSON {
        let text = sandbox.text(file);
        let name = path.split_once('.').map_or("tw", |(_, event)| event);
        let value = text.find(&format!("\"{name}\"")).unwrap();
        let brace = value + text[value..].find('{').unwrap() + 1;
        let text = [&text[..brace], " /* mine */", &text[brace..]].concat();
        sandbox.write(file, &text);
        changed.push(file);
    }
    let before: Vec<usize> = changed
        .iter()
        .map(|file| sandbox.text(file).matches("mine").count())
        .collect();
    sandbox.json(["init", "--agent", ALL]);
    sandbox.json(["init", "--agent", ALL, "--remove"]);
    for (file, count) in changed.iter().zip(before) {
        let left = sandbox.text(file);
        assert_eq!(left.matches("mine").count(), count, "{file}: {left}");
    }
}
