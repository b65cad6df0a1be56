//! What in an agent's own settings keeps hooks from running.
//!
//! Pure, as its parent: a list of files, and a judgement on their texts.

use std::path::{Path, PathBuf};

use super::{InstallPaths, Scope, Steps};
use crate::agents::edit::{Document, Found};
use crate::agents::places::Places;

/// The keys that Kimi Code knows in an entry of `[[hooks]]`: any other, and it loads none of the file.
const KIMI_CODE_KEYS: [&str; 4] = ["event", "command", "matcher", "timeout"];

/// The settings of an agent that can keep its hooks from running.
pub fn deciding_files(agent: &str, root: &Path, home: &Path, places: &Places) -> Vec<PathBuf> {
    let paths = |scope| InstallPaths {
        scope,
        steps: Steps::Silent,
        root,
        home,
        places,
    };
    let user = |variable, dir, name| paths(Scope::User).file("", variable, dir, name);
    match agent {
        "claude" => vec![
            root.join(".claude/settings.json"),
            root.join(".claude/settings.local.json"),
            user("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
        ],
        "codex" => vec![
            root.join(".codex/config.toml"),
            user("CODEX_HOME", ".codex", "config.toml"),
        ],
        "kimi" => vec![user("KIMI_SHARE_DIR", ".kimi", "config.toml")],
        "kimi-code" => vec![user("KIMI_CODE_HOME", ".kimi-code", "config.toml")],
        _ => Vec::new(),
    }
}

/// Why no hook runs with a settings file of this text; None when nothing in it is against them.
pub fn silenced(agent: &str, text: &str) -> Option<&'static str> {
    if agent == "claude" {
        let off = Document::parse(text)
            .is_some_and(|found| found.member(&["disableAllHooks"], &is_true) == Found::Ours);
        return off.then_some("turns all hooks off: 'disableAllHooks'");
    }
    let Ok(table) = text.parse::<toml::Table>() else {
        return Some("is no TOML that could be read");
    };
    match agent {
        "codex" => {
            let features = table.get("features").and_then(toml::Value::as_table)?;
            let off = |key: &str| features.get(key) == Some(&toml::Value::Boolean(false));
            (off("hooks") || off("codex_hooks"))
                .then_some("turns hooks off: 'hooks = false' under [features]")
        }
        "kimi-code" => {
            let hooks = table.get("hooks").and_then(toml::Value::as_array)?;
            let mut keys = hooks
                .iter()
                .filter_map(toml::Value::as_table)
                .flat_map(toml::Table::keys);
            keys.any(|key| !KIMI_CODE_KEYS.contains(&key.as_str()))
                .then_some("has a key under [[hooks]] that Kimi Code does not know, and then loads none of it")
        }
        _ => None,
    }
}

fn is_true(value: &serde_json::Value) -> bool {
    *value == true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_against_hooks_are_told() {
        for (agent, text, is_silenced) in [
            ("claude", "{}", false),
            ("claude", "{\"disableAllHooks\": false}", false),
            ("claude", "{ // why\n \"disableAllHooks\": true,}", true),
            ("codex", "[features]\nhooks = true", false),
            ("codex", "[features]\nhooks = false", true),
            ("codex", "[features]\ncodex_hooks = false", true),
            ("codex", "[features", true),
            (
                "kimi-code",
                "[[hooks]]\nevent = \"Stop\"\ncommand = \"x\"\ntimeout = 3",
                false,
            ),
            (
                "kimi-code",
                "[[hooks]]\nevent = \"Stop\"\nasync = true",
                true,
            ),
            ("kimi", "[[hooks]]\nevent = \"Stop\"\nasync = true", false),
        ] {
            assert_eq!(
                silenced(agent, text).is_some(),
                is_silenced,
                "{agent} {text}"
            );
        }
    }
}
