//! Which version of an agent is at work, and whether `tw` was ever tested with it.
//!
//! Starts no program: a version is what the agent wrote into a session of its own, and what stands in its package. What is newer
//! than what was tried is worth a word, and no reason to refuse anything.

use std::path::Path;

use serde_json::Value;

use super::lines;
use crate::git::fs;

/// How much of a session's head is looked at.
const HEAD_BYTES: u64 = 256 << 10;

/// How many directories above a program its package's own may be.
const LEVELS: usize = 5;

/// The newest version of an agent that `tests/agents/run` has driven, and where versions are seen.
#[derive(Debug, Clone, Copy)]
pub struct Tried {
    /// The version, as in `tests/agents/proven.json`.
    pub version: &'static str,
    /// Its package of npm; empty where it comes from elsewhere.
    pub package: &'static str,
    /// Where in a record of its sessions its version stands: keys from the outside in; empty where it writes none.
    pub recorded: &'static [&'static str],
}

/// The version that wrote a session, as its first records say.
pub fn of_session(tried: Tried, path: &Path) -> Option<String> {
    if tried.recorded.is_empty() {
        return None;
    }
    let mut reader = lines::open(path, Some(HEAD_BYTES)).ok()?;
    while let Some(line) = reader.next_line().ok()? {
        let record = line.object().unwrap_or_default();
        let found = tried
            .recorded
            .iter()
            .try_fold(&record, |value, key| value.get(*key));
        if let Some(version) = found.and_then(Value::as_str) {
            return Some(version.to_owned());
        }
    }
    None
}

/// The version of the package that a program belongs to.
pub fn of_program(tried: Tried, program: &Path) -> Option<String> {
    let program = program.canonicalize().ok()?;
    let mut above = program.ancestors().skip(1).take(LEVELS);
    above.find_map(|dir| {
        let bytes = fs::read_optional(&dir.join("package.json")).ok()??;
        let package: Value = serde_json::from_slice(&bytes).ok()?;
        let is_its = package.get("name")?.as_str()? == tried.package;
        let version = package.get("version")?.as_str()?;
        is_its.then(|| version.to_owned())
    })
}

/// Whether a version comes after another. One that is no row of numbers comes after none.
pub fn is_newer(version: &str, than: &str) -> bool {
    let numbers = |text: &str| {
        let parts = text.trim().split(['-', '+']).next()?.split('.');
        let parts: Result<Vec<u64>, _> = parts.map(str::parse).collect();
        parts.ok()
    };
    numbers(version)
        .zip(numbers(than))
        .is_some_and(|(version, than)| version > than)
}

/// The newest of these, where it is newer than what was tried.
pub fn untried(tried: Tried, seen: impl IntoIterator<Item = String>) -> Option<String> {
    let newer = seen
        .into_iter()
        .filter(|version| is_newer(version, tried.version));
    newer.reduce(|one, other| if is_newer(&other, &one) { other } else { one })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::AGENTS;

    #[test]
    fn versions_are_rows_of_numbers() {
        for (one, other, newer) in [
            ("2.1.331", "2.1.330", true),
            ("2.1.330", "2.1.330", false),
            ("2.1.99", "2.1.330", false),
            ("2.2", "2.1.330", true),
            ("0.170.0-alpha.1", "0.169.0", true),
            ("next", "0.169.0", false),
            ("", "0.169.0", false),
        ] {
            assert_eq!(is_newer(one, other), newer, "{one} {other}");
        }
    }

    #[test]
    fn what_was_tried_is_what_was_proven() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents/proven.json");
        let text = std::fs::read_to_string(path).expect("readable");
        let proven: Value = serde_json::from_str(&text).expect("JSON");
        let versions = proven["agents"].as_object().expect("an object");
        for agent in AGENTS {
            let tried = agent.tried().map(|tried| tried.version);
            let proven = versions.get(agent.name()).and_then(Value::as_str);
            let name = agent.name();
            assert_eq!(
                tried, proven,
                "{name}: 'tried' in its folder, and tests/agents/proven.json"
            );
        }
    }
}
