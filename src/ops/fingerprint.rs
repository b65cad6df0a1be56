//! Versions of the tools around, for the record. A snapshot never waits for a tool: versions come from a cache (path and
//! modification time of the tool's file to version) that [`refresh`] fills off the hot path.
//!
//! `git` alone is asked on the spot when its file is not in the cache: it is what everything here stands on, and answers in a
//! millisecond or two. One that does not is not waited for long: it may be a wrapper that downloads the program first.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Context;
use crate::error::Result;
use crate::git::fs::{self, Durable};
use crate::git::pipes::converse_until;
use crate::store::Store;

/// Tools by the name in the record: program and the arguments that make it tell its version.
const TOOLS: &[(&str, &str, &[&str])] = &[
    ("git", "git", &["--version"]),
    ("node", "node", &["--version"]),
    ("python", "python3", &["--version"]),
    ("go", "go", &["version"]),
    ("rustc", "rustc", &["--version"]),
];

/// How long a snapshot waits for git.
const AT_ONCE: Duration = Duration::from_secs(2);
/// How long a tool is waited for where nobody waits.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Default, Serialize, Deserialize)]
struct Cache {
    /// `<path>:<mtime>` to version.
    versions: BTreeMap<String, Option<String>>,
}

fn cache_file(store: &Store) -> PathBuf {
    store.common("env.json")
}

/// One that cannot be read is none: versions are asked for anew, and no snapshot fails for them.
fn load(store: &Store) -> Cache {
    let bytes = fs::read_optional(&cache_file(store)).unwrap_or_default();
    serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default()
}

fn save(store: &Store, cache: &Cache) -> Result<()> {
    crate::git::create::private_dir(&store.common(""))?;
    let bytes = serde_json::to_vec_pretty(cache).expect("plain data serialises");
    fs::write_atomic(&cache_file(store), &bytes, Durable::No)
}

/// Where a program is found in `PATH`, with its modification time.
pub fn locate(ctx: &Context<'_>, program: &str) -> Option<(PathBuf, String)> {
    use std::os::unix::fs::MetadataExt;
    let path = ctx.env.var("PATH")?;
    for dir in std::env::split_paths(path) {
        let file = dir.join(program);
        if let Ok(meta) = file.metadata()
            && meta.is_file()
            && meta.mode() & 0o111 != 0
        {
            let key = format!("{}:{}", file.display(), meta.mtime());
            return Some((file, key));
        }
    }
    None
}

fn platform() -> String {
    format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH)
}

/// The fingerprint as far as the cache knows it; null is "not found" or not known yet.
pub fn fingerprint(ctx: &Context<'_>, store: &Store) -> Result<Map<String, Value>> {
    let mut cache = load(store);
    let mut map = Map::new();
    map.insert("platform".into(), Value::String(platform()));
    for (name, program, arguments) in TOOLS {
        let found = locate(ctx, program);
        let version = match found {
            None => None,
            Some((file, key)) => match cache.versions.get(&key) {
                Some(version) => version.clone(),
                None if *name == "git" => match ask(&file, arguments, AT_ONCE) {
                    Asked::Told(version) => {
                        cache.versions.insert(key, version.clone());
                        // The next one asks again.
                        let _ = save(store, &cache);
                        version
                    }
                    Asked::Silent => None,
                },
                None => None,
            },
        };
        map.insert(
            (*name).to_owned(),
            version.map_or(Value::Null, Value::String),
        );
    }
    Ok(map)
}

/// Whether the cache lacks the version of a tool that is there.
pub fn is_stale(ctx: &Context<'_>) -> bool {
    let Ok(store) = ctx.store() else {
        return false;
    };
    // Where nothing was ever written nothing is: a first command may be a dry run.
    if !fs::is_there(&store.common("")).unwrap_or(false) {
        return false;
    }
    let cache = load(store);
    let mut found = TOOLS
        .iter()
        .filter_map(|(_, program, _)| locate(ctx, program));
    found.any(|(_, key)| !cache.versions.contains_key(&key))
}

/// Asks every tool that the cache does not know. Off the hot path only. Nothing is written where the repository has gone
/// meanwhile: asking may take long.
pub fn refresh(ctx: &Context<'_>) -> Result<()> {
    let store = ctx.store()?;
    let mut cache = load(store);
    let mut fresh = Cache::default();
    for (_, program, arguments) in TOOLS {
        if let Some((file, key)) = locate(ctx, program) {
            let known = cache.versions.remove(&key);
            let version = known.unwrap_or_else(|| match ask(&file, arguments, PATIENCE) {
                Asked::Told(version) => version,
                // Or every snapshot would have it asked again.
                Asked::Silent => None,
            });
            fresh.versions.insert(key, version);
        }
    }
    if ctx.repo.common_dir().is_dir() {
        save(store, &fresh)?;
    }
    Ok(())
}

/// What came of asking a tool.
enum Asked {
    /// It has ended; without a version it told none.
    Told(Option<String>),
    /// It had said nothing in time.
    Silent,
}

fn ask(file: &std::path::Path, arguments: &[&str], patience: Duration) -> Asked {
    let started = Command::new(file)
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else {
        return Asked::Told(None);
    };
    let said = converse_until(&mut child, b"", Some(Instant::now() + patience));
    if !matches!(said, Ok(Some(_))) {
        // What it started itself may go on; nobody waits for that.
        let _ = child.kill();
    }
    let _ = child.wait();
    match said {
        Ok(Some(said)) => Asked::Told(version_in(&String::from_utf8_lossy(&said.stdout))),
        Ok(None) => Asked::Silent,
        Err(_) => Asked::Told(None),
    }
}

/// The word of a tool's answer that is its version.
fn version_in(text: &str) -> Option<String> {
    let words = text.split_whitespace();
    let mut versions = words.filter_map(|word| {
        let word = word.strip_prefix("go").unwrap_or(word);
        let digits = word.strip_prefix('v').unwrap_or(word);
        digits
            .starts_with(|ch: char| ch.is_ascii_digit())
            .then(|| word.trim_end_matches(',').to_owned())
    });
    versions.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_print() {
        for (text, version) in [
            ("git version 2.47.3\n", "2.47.3"),
            ("v20.11.0\n", "v20.11.0"),
            ("Python 3.11.7\n", "3.11.7"),
            ("go version go1.22.1 linux/amd64\n", "1.22.1"),
            ("rustc 1.95.0 (59807616e 2026-04-14)\n", "1.95.0"),
        ] {
            assert_eq!(version_in(text).as_deref(), Some(version));
        }
        assert_eq!(version_in("no version"), None);
    }
}
