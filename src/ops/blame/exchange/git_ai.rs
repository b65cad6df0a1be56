//! The authorship log of git-ai, version 3: a note on a commit that names, for each file, keys and the lines of each, and below a line
//! of three dashes, as JSON, what the keys stand for. Line numbers are those of the commit's own files.
//!
//! Of entries that name one line the last counts, as git-ai reads them. What is written here has a mark with a digest in it: a log that
//! another tool has written, or gone over since, is none of ours.

use serde_json::{Map, Value, json};

use super::{Claim, Claimed, FileLines, Lines, TurnLines, Writer, digits, unreadable, word};
use crate::error::Result;
use crate::text::foreign_json;

/// What the log is written in.
const SCHEMA: &str = "authorship/3.0.0";
/// What can be read.
const READABLE: &str = "authorship/3.";
const DIVIDER: &str = "---";
/// Our mark's name in the JSON.
const MARK: &str = "timewarp";
/// The digits of an id.
const DIGITS: usize = 14;

/// A log.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    files: Vec<File>,
    about: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
struct File {
    path: String,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    key: String,
    lines: Vec<Lines>,
}

/// Whether a path can stand in a log: there is no way to write a quote or the end of a line.
pub fn can_name(path: &str) -> bool {
    !path.contains(['"', '\n', '\r'])
}

impl Log {
    /// Reads a note.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`: it is none, or of a version that is not known.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut rest = std::str::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8"))?;
        let mut files: Vec<File> = Vec::new();
        loop {
            let (line, after) = rest
                .split_once('\n')
                .ok_or_else(|| unreadable("it has no '---'"))?;
            rest = after;
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line == DIVIDER {
                break;
            }
            if let Some(entry) = line.strip_prefix("  ") {
                let file = files.last_mut();
                let file = file.ok_or_else(|| unreadable("lines come before any file"))?;
                file.entries.push(Entry::parse(entry)?);
            } else if !line.trim().is_empty() {
                files.push(File {
                    path: unquoted(line.trim_end()).to_owned(),
                    entries: Vec::new(),
                });
            }
        }
        let about = foreign_json::from_slice(rest.as_bytes())
            .map_err(|error| unreadable(&error.to_string()))?;
        let log = Self { files, about };
        let version = log.about.get("schema_version").and_then(Value::as_str);
        match version {
            Some(version) if version.starts_with(READABLE) => Ok(log),
            Some(version) => Err(unreadable(&format!("its version is '{version}'"))),
            None => Err(unreadable("it has no version")),
        }
    }

    /// What it says of a file: what counts more comes first.
    pub fn claims(&self, path: &str) -> Vec<Claimed> {
        let files = self.files.iter().filter(|file| file.path == path);
        let entries = files.flat_map(|file| &file.entries).rev();
        entries
            .filter_map(|entry| Some((self.claim(&entry.key)?, entry.lines.clone())))
            .collect()
    }

    /// What a key stands for; None when nothing says it.
    fn claim(&self, key: &str) -> Option<Claim> {
        let named = |kind: &str, key: &str| self.about.get(kind)?.get(key);
        if key.starts_with("h_") {
            return named("humans", key).map(|_| Claim::Person);
        }
        let record = match key.split("::").next() {
            Some(session) if session.starts_with("s_") => named("sessions", session),
            _ => named("prompts", key),
        };
        let agent = record?.get("agent_id")?;
        agent.get("tool")?.as_str()?;
        let of = |name: &str| agent.get(name).and_then(Value::as_str).and_then(word);
        Some(Claim::Agent(Writer {
            agent: of("tool"),
            model: of("model"),
            session_id: of("id"),
        }))
    }

    /// What is known of a commit.
    pub fn of(commit: &str, files: &[FileLines]) -> Self {
        let mut sessions = Map::new();
        let turns = files.iter().flat_map(|file| &file.turns);
        for turn in turns {
            let model = turn.model.as_deref().unwrap_or("unknown");
            let known = sessions.entry(session_key(turn)).or_insert_with(|| {
                let tool = turn.agent.as_deref().unwrap_or("unknown");
                json!({"agent_id": {"tool": tool, "id": turn.session_id, "model": model}})
            });
            settle_model(known, model);
        }
        let files = files.iter().map(|file| File {
            path: file.path.clone(),
            entries: file.turns.iter().map(Entry::of).collect(),
        });
        let mut log = Self {
            files: files.collect(),
            about: Map::new(),
        };
        log.put_about(commit, sessions);
        log
    }

    /// Adds the files of an older log of ours on the same commit that this one does not have.
    pub fn keep(&mut self, older: Self) {
        let has = |path: &str| self.files.iter().any(|file| file.path == path);
        let kept: Vec<File> = older
            .files
            .into_iter()
            .filter(|file| !has(&file.path))
            .collect();
        let of = |about: &Map<String, Value>| match about.get("sessions") {
            Some(Value::Object(sessions)) => sessions.clone(),
            _ => Map::new(),
        };
        let (mut sessions, newer) = (of(&older.about), of(&self.about));
        self.files.extend(kept);
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        for (key, session) in newer {
            match sessions.get_mut(&key) {
                Some(known) => {
                    let model = session["agent_id"]["model"].as_str();
                    settle_model(known, model.unwrap_or("unknown"));
                }
                None => {
                    sessions.insert(key, session);
                }
            }
        }
        let entries = self.files.iter().flat_map(|file| &file.entries);
        let used: Vec<&str> = entries
            .filter_map(|entry| entry.key.split("::").next())
            .collect();
        sessions.retain(|key, _| used.contains(&key.as_str()));
        let commit = self.about.get("base_commit_sha").and_then(Value::as_str);
        let commit = commit.unwrap_or_default().to_owned();
        self.put_about(&commit, sessions);
    }

    fn put_about(&mut self, commit: &str, mut sessions: Map<String, Value>) {
        sessions.sort_keys();
        let about = json!({
            "schema_version": SCHEMA,
            "base_commit_sha": commit,
            "prompts": {},
            "sessions": sessions,
        });
        if let Value::Object(about) = about {
            self.about = about;
        }
    }

    /// The note, with our mark.
    pub fn text(&self) -> String {
        let mut marked = self.clone();
        marked.about.shift_remove(MARK);
        let digest = digits(&marked.plain(), 64);
        let mark = json!({"version": env!("CARGO_PKG_VERSION"), "sha256": digest});
        marked.about.insert(MARK.to_owned(), mark);
        marked.plain()
    }

    /// Whether it was written here and by nobody since.
    pub fn is_ours(&self) -> bool {
        let mut plain = self.clone();
        let mark = plain.about.shift_remove(MARK);
        let digest = mark.as_ref().and_then(|mark| mark.get("sha256"));
        digest.is_some_and(|digest| *digest == digits(&plain.plain(), 64))
    }

    /// Whether it says the same, whoever made it.
    pub fn is_like(&self, other: &Self) -> bool {
        let about = |log: &Self| {
            let mut about = log.about.clone();
            about.shift_remove(MARK);
            about
        };
        self.files == other.files && about(self) == about(other)
    }

    fn plain(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            let path = &file.path;
            let needs_quotes = path.contains(char::is_whitespace) || path == DIVIDER;
            let quote = if needs_quotes { "\"" } else { "" };
            text.push_str(&format!("{quote}{path}{quote}\n"));
            for entry in &file.entries {
                let lines: Vec<String> = entry.lines.iter().map(|lines| range(*lines)).collect();
                text.push_str(&format!("  {} {}\n", entry.key, lines.join(",")));
            }
        }
        text.push_str(DIVIDER);
        text.push('\n');
        let about = serde_json::to_string_pretty(&self.about).expect("a JSON object prints");
        text.push_str(&about);
        text.push('\n');
        text
    }
}

impl Entry {
    fn parse(entry: &str) -> Result<Self> {
        let not_understood = || unreadable(&format!("'{entry}' is not a key with lines"));
        let (key, ranges) = entry
            .trim_end()
            .split_once(' ')
            .ok_or_else(not_understood)?;
        let mut lines = Vec::new();
        for range in ranges.split(',').filter(|range| !range.is_empty()) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.parse::<u32>().ok().filter(|line| *line > 0);
            let range = number(first).zip(number(last));
            lines.push(range.ok_or_else(not_understood)?);
        }
        Ok(Self {
            key: key.to_owned(),
            lines,
        })
    }

    fn of(turn: &TurnLines) -> Self {
        let trace = digits(
            &format!("{}:{}", turn.session_id, turn.checkpoint_id),
            DIGITS,
        );
        Self {
            key: format!("{}::t_{trace}", session_key(turn)),
            lines: turn.lines.clone(),
        }
    }
}

/// A session has one model in a log: of several none is named.
fn settle_model(session: &mut Value, model: &str) {
    let agent = session.get_mut("agent_id").and_then(Value::as_object_mut);
    if let Some(agent) = agent.filter(|agent| agent.get("model") != Some(&model.into())) {
        agent.insert("model".to_owned(), "unknown".into());
    }
}

/// The same for all turns of a session.
fn session_key(turn: &TurnLines) -> String {
    let tool = turn.agent.as_deref().unwrap_or("unknown");
    let id = digits(&format!("{tool}:{}", turn.session_id), DIGITS);
    format!("s_{id}")
}

fn range((first, last): Lines) -> String {
    if first == last {
        return first.to_string();
    }
    format!("{first}-{last}")
}

fn unquoted(line: &str) -> &str {
    let inner = line
        .strip_prefix('"')
        .and_then(|line| line.strip_suffix('"'));
    inner.unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(tool: &str, id: &str, model: &str) -> Claim {
        Claim::Agent(Writer {
            agent: word(tool),
            model: word(model),
            session_id: word(id),
        })
    }

    /// All kinds of keys, as git-ai writes them.
    const MIXED: &str = "src/main.rs
  s_c9883b05a2487d::t_9f8e7d6c5b4a32 1-10,15-20
  h_31dce776f88375 12
  s_unknown::t_1 40
\"my file.rs\"
  abcd1234abcd1234 1-50
  s_c9883b05a2487d::t_a1b2c3d4e5f678 7
---
{
  \"schema_version\": \"authorship/3.0.0\",
  \"git_ai_version\": \"1.4.5\",
  \"base_commit_sha\": \"7734793b756b3921c88db5375a8c156e9532447b\",
  \"prompts\": {\"abcd1234abcd1234\": {
    \"agent_id\": {\"tool\": \"cursor\", \"id\": \"old\", \"model\": \"gpt-4\"},
    \"total_additions\": 50, \"total_deletions\": 0, \"accepted_lines\": 50, \"overriden_lines\": 0}},
  \"humans\": {\"h_31dce776f88375\": {\"author\": \"Dev <dev@example.com>\"}},
  \"sessions\": {\"s_c9883b05a2487d\": {
    \"agent_id\": {\"tool\": \"claude\", \"id\": \"conv_1\", \"model\": \"unknown\"},
    \"human_author\": \"dev@example.com\"}}
}";

    #[test]
    fn all_kinds_of_keys_are_read_and_the_last_counts_most() {
        let log = Log::parse(MIXED.as_bytes()).expect("a log");
        let claude = agent("claude", "conv_1", "");
        assert_eq!(
            log.claims("src/main.rs"),
            [
                (Claim::Person, vec![(12, 12)]),
                (claude.clone(), vec![(1, 10), (15, 20)]),
            ]
        );
        let cursor = agent("cursor", "old", "gpt-4");
        assert_eq!(
            log.claims("my file.rs"),
            [(claude, vec![(7, 7)]), (cursor, vec![(1, 50)])]
        );
        assert_eq!(log.claims("other"), []);
        assert!(!log.is_ours());
    }

    #[test]
    fn what_is_no_log_says_why() {
        let said = |text: &str| Log::parse(text.as_bytes()).expect_err(text).to_string();
        assert!(said("").contains("no '---'"));
        assert!(said("  key 1\n---\n{}").contains("before any file"));
        assert!(said("a\n  key one\n---\n{}").contains("not a key with lines"));
        assert!(said("a\n  key 0-1\n---\n{}").contains("not a key with lines"));
        assert!(said("a\n  key 99999999999\n---\n{}").contains("not a key with lines"));
        assert!(said("---\n{}").contains("no version"));
        assert!(said("---\n{\"schema_version\": \"authorship/4.0.0\"}").contains("4.0.0"));
        assert!(said("---\nnothing").contains("expected"));
        assert!(Log::parse(b"\xff\n---\n{}").is_err());
    }

    #[test]
    fn what_is_written_is_read_again_and_kept_apart_from_others() {
        let turn = |checkpoint_id, model: &str, lines: Vec<Lines>| TurnLines {
            session_id: "3f2a".to_owned(),
            checkpoint_id,
            agent: Some("claude".to_owned()),
            model: word(model),
            at: None,
            lines,
        };
        let file = |path: &str, turns| FileLines {
            path: path.to_owned(),
            turns,
        };
        let commit = "7734793b756b3921c88db5375a8c156e9532447b";
        let first = Log::of(
            commit,
            &[
                file("a b", vec![turn(0, "one", vec![(1, 1), (3, 4)])]),
                file("---", vec![turn(0, "one", vec![(2, 9)])]),
            ],
        );
        let text = first.text();
        assert!(text.contains("\"a b\"\n  s_"), "{text}");
        let read = Log::parse(text.as_bytes()).expect("a log");
        assert!(read.is_ours() && read.is_like(&first));
        assert_eq!(read.text(), text);
        assert_eq!(
            read.claims("---"),
            [(agent("claude", "3f2a", "one"), vec![(2, 9)])]
        );
        let touched = text.replace("2-9", "2-8");
        assert!(!Log::parse(touched.as_bytes()).expect("a log").is_ours());
        // Another file of the commit: what was there stays; of two models none is named.
        let mut second = Log::of(commit, &[file("a b", vec![turn(1, "two", vec![(1, 2)])])]);
        second.keep(read);
        let text = second.text();
        let both = Log::parse(text.as_bytes()).expect("a log");
        assert!(both.is_ours());
        assert_eq!(
            both.claims("a b"),
            [(agent("claude", "3f2a", ""), vec![(1, 2)])]
        );
        assert_eq!(both.claims("---").len(), 1);
    }
}
