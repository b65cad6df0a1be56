//! Pure edits of other programs' settings: put our keys, list entries or marked block in, find them, take them out.
//!
//! Promises: every byte that is not ours stays (order, comments, unknown keys, other tools' entries, line ends, a trailing
//! comma); putting in twice is putting in once; taking out what was put in gives back the very bytes, unless somebody
//! reformatted the file in between, and then still the same settings. Text that is no JSON is refused, never guessed at.
//!
//! How taking out knows what was there: a container that we made begins with a line feed (or, in a file of one line, with
//! nothing); one that was there and empty begins with its comments, else with a blank, before what we put in, and keeps its
//! inner blanks behind it. A member that would be anybody's has two blanks before its value, and in TOML a line that would leave
//! no room for ours stands aside as a comment.

use serde_json::Value;

mod block;
mod json;
mod jsonc;
mod toml;

pub use block::{has_block, put_block, take_block};
use block::{inside_block, replace_block};
pub use json::{
    Document, Found, NO_FILE, put_entry, put_marked_member, put_member, says_only, take_entry,
    take_marked_member, take_member,
};
/// Whether a hook's command is ours and nothing else. What somebody wrote behind it makes it theirs.
pub fn is_our_hook(command: &str) -> bool {
    let is_of_words = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_' | ' ');
    let words = command.strip_prefix("tw hook ");
    words.is_some_and(|words| words.chars().all(is_of_words))
}

/// Whether this is a time that some `tw` gave a hook, in the unit of its agent.
pub fn is_our_time(time: u64) -> bool {
    [3, 5, 30, 5_000, 30_000].contains(&time)
}

/// The commands of hooks in settings that name `tw hook` and are not ours: somebody changed one, or wrote another.
pub fn changed_hooks(text: &str) -> Vec<String> {
    let json = || Document::parse(text).map(|document| document.whole());
    let toml = || serde_json::to_value(text.parse::<::toml::Table>().ok()?).ok();
    let mut found = Vec::new();
    let mut pending: Vec<Value> = json().or_else(toml).into_iter().collect();
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(list) => pending.extend(list),
            Value::Object(map) => {
                for (key, value) in map {
                    match value {
                        Value::String(command) if matches!(key.as_str(), "command" | "bash") => {
                            if command.contains("tw hook ") && !is_our_hook(&command) {
                                found.push(command);
                            }
                        }
                        other => pending.push(other),
                    }
                }
            }
            _ => {}
        }
    }
    found.sort();
    found.dedup();
    found
}

pub use toml::{has_inline_entries, has_other_server, put_toml, take_toml};
