//! What Kimi Code is given, which is what kimi-cli takes, and what in its settings keeps hooks from running.

use std::path::PathBuf;

use super::NAME;
use crate::agents::install::{InstallPaths, Parts, toml_settings};
use crate::agents::kimi;

/// The variable that says where its directory is.
pub const VARIABLE: &str = "KIMI_CODE_HOME";
/// Its directory under HOME.
pub const DIRECTORY: &str = ".kimi-code";

/// The keys that it knows in an entry of `[[hooks]]`: any other, and it loads none of the file.
const HOOK_KEYS: [&str; 4] = ["event", "command", "matcher", "timeout"];

/// Returns what 'tw init' puts into the settings of Kimi Code: as for kimi-cli, in a directory of its own.
pub fn setup(paths: &InstallPaths<'_>) -> Parts {
    kimi::setup::setup(paths, NAME, VARIABLE, DIRECTORY)
}

/// The settings that can keep its hooks from running.
pub fn deciding_files(paths: &InstallPaths<'_>) -> Vec<PathBuf> {
    vec![paths.user_file(VARIABLE, DIRECTORY, "config.toml")]
}

/// Why no hook runs with settings of this text.
pub fn silenced(text: &str) -> Option<&'static str> {
    let table = match toml_settings(text) {
        Ok(table) => table,
        Err(why) => return Some(why),
    };
    let hooks = table.get("hooks").and_then(toml::Value::as_array)?;
    let mut keys = hooks
        .iter()
        .filter_map(toml::Value::as_table)
        .flat_map(toml::Table::keys);
    keys.any(|key| !HOOK_KEYS.contains(&key.as_str()))
        .then_some(
            "has a key under [[hooks]] that Kimi Code does not know, and then loads none of it",
        )
}
