//! What stands in settings as some `tw` wrote it. What else is there is somebody's, also where it calls `tw`: changed, or written by hand.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::agents::edit::{Document, is_our_hook, is_our_time, says_only};

/// Every text that a `tw` has put into a file of its own: how its sha256 begins. A new text is added, and none is ever taken away.
const FILES: [&str; 15] = [
    // skill.md
    "9313e8f0c42e6f31",
    "511b8253ffaa36f0",
    "79e6b7088b952796",
    "e52fbdb086d9d976",
    "f07a1a1872550cc1",
    "d044d6ee4bb8bace",
    "d5044f5c19ce9ecc",
    // opencode/plugin.js, without steps and with them
    "1ce2eb5c48fa3990",
    "4051f7100560e4a7",
    "193ca623e4bf9342",
    "3253e6daf7e78e00",
    "2c5088406b058fe0",
    "40720808a6e7b279",
    // pi/extension.js
    "63495cd42321654d",
    "7d673d239e8583a5",
];

/// Times that were given to a hook once, by its command. They make way for today's.
const FORMER_TIMES: [(&str, u64); 1] = [("tw hook codex session-end", 5)];

/// Whether a whole file is as some `tw` wrote it.
pub fn is_file(text: &str) -> bool {
    // git may have checked it out for Windows.
    let text = text.replace("\r\n", "\n");
    let digest = format!("{:x}", Sha256::digest(&text));
    FILES.iter().any(|known| digest.starts_with(known)) || is_hooks_file(&text)
}

/// Whether a file has hooks that some `tw` wrote, and nothing else: no other's, no comment, and no list without any.
fn is_hooks_file(text: &str) -> bool {
    let Some(whole) = Document::parse(text).map(|document| document.whole()) else {
        return false;
    };
    let is_ours = |list: &Value| {
        let list = list.as_array().filter(|list| !list.is_empty());
        list.is_some_and(|list| list.iter().all(is_single_hook))
    };
    let fields = whole.as_object().into_iter().flatten();
    let mut strange = fields.filter(|(key, value)| match key.as_str() {
        "version" => **value != json!(1),
        "hooks" => !value
            .as_object()
            .is_some_and(|lists| lists.values().all(is_ours)),
        _ => true,
    });
    let has_hooks = whole["hooks"]
        .as_object()
        .is_some_and(|lists| !lists.is_empty());
    has_hooks && strange.next().is_none() && says_only(text, &whole)
}

/// Whether a hook is, or has, one that some `tw` wrote. A group that has one may have others' hooks, too.
pub fn is_hook(value: &Value) -> bool {
    let group = value.as_object().filter(|fields| fields.len() == 1);
    let inner = group.and_then(|group| group.get("hooks")?.as_array());
    is_single_hook(value) || inner.is_some_and(|inner| inner.iter().any(is_single_hook))
}

/// Whether this is one hook, that some `tw` wrote.
fn is_single_hook(value: &Value) -> bool {
    let Some(fields) = value.as_object() else {
        return false;
    };
    let is_written = |(key, value): (&String, &Value)| match key.as_str() {
        "type" => value == "command",
        "command" | "bash" => value.as_str().is_some_and(is_our_hook),
        "timeout" | "timeoutSec" => value.as_u64().is_some_and(is_our_time),
        _ => false,
    };
    let has_command = fields.contains_key("command") || fields.contains_key("bash");
    has_command && fields.iter().all(is_written)
}

/// Whether a hook is, or has, one of this command with a time of former days.
pub fn is_former_hook(value: &Value, command: &str) -> bool {
    let is_former = |hook: &Value| {
        let known = FORMER_TIMES.iter();
        let mut known = known.filter(|(of, _)| *of == command && hook["command"] == command);
        known.any(|(_, time)| hook["timeout"] == *time)
    };
    let inner = value["hooks"].as_array();
    is_hook(value) && (is_former(value) || inner.is_some_and(|list| list.iter().any(is_former)))
}

/// Whether an MCP server is as some `tw` wrote it, where it writes `entry` today.
pub fn is_server(value: &Value, entry: &Value) -> bool {
    value == entry || *value == json!({"command": "tw", "args": ["mcp"]})
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Piece, Scope, Steps, installable, setup};
    use super::*;
    use crate::agents::places::Places;

    #[test]
    fn every_text_of_today_is_known() {
        let places = Places::new(Some("/home/u".into()));
        let (root, home) = (Path::new("/work"), Path::new("/home/u"));
        for agent in installable() {
            for scope in [Scope::Project, Scope::User] {
                for steps in [Steps::Silent, Steps::Reported] {
                    let setup = setup(agent, (scope, steps), root, home, &places);
                    let targets = setup.expect("known").targets;
                    for piece in targets.iter().flat_map(|target| &target.pieces) {
                        if let Piece::Whole(text) | Piece::Former(text) = piece {
                            let digest = format!("{:x}", Sha256::digest(text));
                            let add = format!("{agent}: add {digest:.16} to FILES");
                            assert!(
                                is_file(text) && is_file(&text.replace('\n', "\r\n")),
                                "{add}"
                            );
                            assert!(!is_file(&format!("{text}more\n")), "{agent}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_file_with_anything_of_somebody_s_is_not_ours() {
        let own = r#"{"type":"command","bash":"tw hook copilot session-start","timeoutSec":30}"#;
        let mine = r#"{"type":"command","bash":"./mine.sh"}"#;
        let hooks = |hooks: &str| format!(r#"{{"version": 1, "hooks": {hooks}}}"#);
        let whole = hooks(&format!(r#"{{"sessionStart":[{own}]}}"#));
        assert!(is_file(&whole) && is_file(&whole.replace(", ", ",\r\n\t")));
        for text in [
            hooks("null"),
            hooks("[]"),
            hooks("{}"),
            hooks("\"x\""),
            hooks(&format!("[{mine}]")),
            hooks(&format!("[{own}]")),
            hooks(r#"{"sessionStart":[]}"#),
            hooks(r#"{"sessionStart":null}"#),
            hooks(&format!(r#"{{"sessionStart":{own}}}"#)),
            hooks(&format!(r#"{{"sessionStart":[{own},{mine}]}}"#)),
            hooks(&format!(r#"{{"sessionStart":[{own}],"stop":[{mine}]}}"#)),
            hooks(&format!(
                r#"{{"sessionStart":[{{"hooks":[{own},{mine}]}}]}}"#
            )),
            hooks(&format!(
                r#"{{"sessionStart":[{mine}],"sessionStart":[{own}]}}"#
            )),
            whole.replace("\"hooks\"", "/* mine */ \"hooks\""),
            whole.replace("\"hooks\"", "\"hooks\": {\"stop\": [1]}, \"hooks\""),
            whole.replace(": 1", ": 2"),
            whole.replace("\"hooks\"", "\"mine\": 1, \"hooks\""),
        ] {
            assert!(!is_file(&text), "{text}");
        }
    }

    #[test]
    fn what_somebody_wrote_is_not_ours() {
        let command = "tw hook codex session-end";
        let group = |hook: Value| json!({ "hooks": [hook] });
        for (value, ours) in [
            (json!({"command": command}), true),
            (
                group(json!({"type": "command", "command": command, "timeout": 3})),
                true,
            ),
            (
                group(json!({"type": "command", "command": command, "timeout": 99})),
                false,
            ),
            (
                group(json!({"type": "command", "command": command, "async": true})),
                false,
            ),
            (
                json!({"matcher": "x", "hooks": [{"command": command}]}),
                false,
            ),
            (json!({"command": "tw hook codex stop; true"}), false),
            (json!({"timeout": 3}), false),
        ] {
            assert_eq!(is_hook(&value), ours, "{value}");
        }
        let old = group(json!({"command": command, "timeout": 5}));
        assert!(is_former_hook(&old, command) && !is_former_hook(&old, "tw hook codex stop"));
    }
}
