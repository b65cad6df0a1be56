//! Records of Agent Trace: JSON that names, for a revision, files with conversations and the lines of each. A note has one or several,
//! one after the other; the file that the format's own example keeps has one a line.
//!
//! The lines of a record are those that its revision brought, numbered as they are there, as the format has it (6.5). A record whose
//! version is none that the format allows is passed over: the hook of the example writes `1.0`, and names the commit before the change
//! instead of the one that has it. What is written here has a mark with a digest in its `metadata`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Deserializer, Map, Value, json};

use super::{Claim, Claimed, FileLines, Lines, TurnLines, Writer, digits, word};
use crate::git::Oid;
use crate::text::foreign_json;

/// Where the format's example keeps its records, in the working tree.
pub const FILE: &[u8] = b".agent-trace/traces.jsonl";

/// What records are written in.
const VERSION: &str = "0.1.0";
/// A later one may mean something else.
const NEWEST_MAJOR: u32 = 1;
/// Our mark's name in the metadata.
const MARK: &str = "timewarp";
/// How our conversations begin; the session follows.
const SESSION: &str = "timewarp:session/";

/// A record.
#[derive(Debug, Clone, Deserialize)]
pub struct Record {
    version: String,
    vcs: Option<Vcs>,
    tool: Option<Tool>,
    files: Vec<File>,
}

#[derive(Debug, Clone, Deserialize)]
struct Vcs {
    #[serde(rename = "type")]
    kind: String,
    revision: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Tool {
    name: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct File {
    path: String,
    conversations: Vec<Conversation>,
}

#[derive(Debug, Clone, Deserialize)]
struct Conversation {
    url: Option<String>,
    contributor: Option<Contributor>,
    ranges: Vec<Range>,
    #[serde(default)]
    related: Vec<Related>,
}

#[derive(Debug, Clone, Deserialize)]
struct Contributor {
    #[serde(rename = "type")]
    kind: String,
    model_id: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Range {
    start_line: u32,
    end_line: u32,
    contributor: Option<Contributor>,
}

#[derive(Debug, Clone, Deserialize)]
struct Related {
    #[serde(rename = "type")]
    kind: String,
    url: String,
}

/// What bytes hold.
#[derive(Debug, Default)]
pub struct Records {
    /// Those that can be read and are wanted.
    pub records: Vec<Record>,
    /// How many are none.
    pub invalid: usize,
}

impl Records {
    /// Reads records and keeps those that are `wanted`.
    pub fn parse(bytes: &[u8], wanted: impl Fn(&Record) -> bool) -> Self {
        let mut found = Self::default();
        for value in values(bytes) {
            match value.map(Record::of) {
                Some(Some(record)) if wanted(&record) => found.records.push(record),
                Some(Some(_)) => {}
                _ => found.invalid += 1,
            }
        }
        found
    }
}

/// The JSON values in a text: one a line, or one after the other, however they are broken. None for what is none.
fn values(bytes: &[u8]) -> Vec<Option<Value>> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let mut lines = lines
        .filter(|line| !line.trim_ascii().is_empty())
        .peekable();
    let by_line = lines
        .peek()
        .is_none_or(|first| foreign_json::from_slice::<Value>(first).is_ok());
    if by_line {
        return lines
            .map(|line| foreign_json::from_slice(line).ok())
            .collect();
    }
    let values = Deserializer::from_slice(bytes).into_iter::<Value>();
    values.map(std::result::Result::ok).collect()
}

impl Record {
    /// None: it is none, or of a version that is not known.
    fn of(value: Value) -> Option<Self> {
        let record: Self = serde_json::from_value(value).ok()?;
        let parts = record.version.split('.').map(str::parse::<u32>);
        let parts: Vec<u32> = parts.collect::<std::result::Result<_, _>>().ok()?;
        let is_known =
            parts.len() == 3 && parts.first().is_some_and(|major| *major <= NEWEST_MAJOR);
        is_known.then_some(record)
    }

    /// The commit that it is of; None: it is of no commit of git's. A record without a revision, in the note on a commit, is of that.
    pub fn commit(&self, noted_on: Option<Oid>) -> Option<Oid> {
        match &self.vcs {
            None => noted_on,
            Some(vcs) if vcs.kind == "git" => Oid::from_hex(&vcs.revision).ok(),
            Some(_) => None,
        }
    }

    /// What it says of a file.
    pub fn claims(&self, path: &str) -> Vec<Claimed> {
        let files = self.files.iter().filter(|file| file.path == path);
        let conversations = files.flat_map(|file| &file.conversations);
        let claims = conversations.flat_map(|conversation| {
            conversation.ranges.iter().filter_map(move |range| {
                let contributor = range.contributor.as_ref();
                let contributor = contributor.or(conversation.contributor.as_ref())?;
                let claim = self.claim(conversation, contributor)?;
                Some((claim, vec![(range.start_line, range.end_line)]))
            })
        });
        claims.collect()
    }

    fn claim(&self, conversation: &Conversation, contributor: &Contributor) -> Option<Claim> {
        let mut related = conversation.related.iter();
        let session = related.find(|one| one.kind == "session");
        let session = session.map(|one| &one.url).or(conversation.url.as_ref());
        let session = session.map(|url| url.strip_prefix(SESSION).unwrap_or(url));
        let tool = self.tool.as_ref().and_then(|tool| tool.name.as_deref());
        let writer = || Writer {
            agent: tool.and_then(word),
            model: contributor.model_id.as_deref().and_then(word),
            session_id: session.and_then(word),
        };
        match contributor.kind.as_str() {
            "ai" => Some(Claim::Agent(writer())),
            "mixed" => Some(Claim::Mixed(writer())),
            "human" => Some(Claim::Person),
            _ => None,
        }
    }
}

/// A note of ours: one record for each agent, by the agent's name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Note {
    by_agent: BTreeMap<String, Ours>,
}

/// One of its records.
#[derive(Debug, Clone, Default, PartialEq)]
struct Ours {
    commit: String,
    at: String,
    /// The conversations of each file, by its path.
    files: BTreeMap<String, Value>,
}

impl Note {
    /// What is known of a commit.
    pub fn of(commit: &str, files: &[FileLines]) -> Self {
        let mut note = Self::default();
        for file in files {
            let mut by_agent: BTreeMap<&str, Vec<&TurnLines>> = BTreeMap::new();
            for turn in &file.turns {
                let agent = turn.agent.as_deref().unwrap_or_default();
                by_agent.entry(agent).or_default().push(turn);
            }
            for (agent, turns) in by_agent {
                let ours = note.by_agent.entry(agent.to_owned()).or_default();
                commit.clone_into(&mut ours.commit);
                let times = turns.iter().filter_map(|turn| turn.at.clone());
                ours.at = times.chain([ours.at.clone()]).max().unwrap_or_default();
                let conversations = turns.iter().map(|turn| conversation(turn));
                ours.files
                    .insert(file.path.clone(), conversations.collect());
            }
        }
        note
    }

    /// Reads a note; None when it is none of ours, or somebody has gone over it.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut note = Self::default();
        for value in values(bytes) {
            let mut record = value?;
            let digest = record.pointer("/metadata/timewarp/sha256")?.clone();
            let whole = record.as_object_mut()?;
            whole.shift_remove("metadata");
            if digest != digits(&Value::Object(whole.clone()).to_string(), 64) {
                return None;
            }
            let text = |at: &str| Some(record.pointer(at)?.as_str()?.to_owned());
            let mut ours = Ours {
                commit: text("/vcs/revision")?,
                at: text("/timestamp")?,
                files: BTreeMap::new(),
            };
            for file in record.get("files")?.as_array()? {
                let path = file.get("path")?.as_str()?.to_owned();
                ours.files.insert(path, file.get("conversations")?.clone());
            }
            let agent = text("/tool/name").unwrap_or_default();
            note.by_agent.insert(agent, ours);
        }
        Some(note)
    }

    /// Adds the files of an older note of ours on the same commit that this one does not have.
    pub fn keep(&mut self, older: Self) {
        let files = self.by_agent.values().flat_map(|ours| ours.files.keys());
        let newer: Vec<String> = files.cloned().collect();
        for (agent, mut ours) in older.by_agent {
            ours.files.retain(|path, _| !newer.contains(path));
            if ours.files.is_empty() {
                continue;
            }
            match self.by_agent.get_mut(&agent) {
                Some(known) => {
                    known.files.append(&mut ours.files);
                    known.at = known.at.clone().max(ours.at);
                }
                None => {
                    self.by_agent.insert(agent, ours);
                }
            }
        }
    }

    /// The note: a record a line, each with our mark.
    pub fn text(&self) -> String {
        let records = self.by_agent.iter().map(|(agent, ours)| {
            let mut record = ours.record(agent);
            let digest = digits(&Value::Object(record.clone()).to_string(), 64);
            let mark = json!({"version": env!("CARGO_PKG_VERSION"), "sha256": digest});
            record.insert("metadata".to_owned(), json!({MARK: mark}));
            format!("{}\n", Value::Object(record))
        });
        records.collect()
    }
}

impl Ours {
    fn record(&self, agent: &str) -> Map<String, Value> {
        let mut record = Map::new();
        let mut put = |name: &str, value: Value| record.insert(name.to_owned(), value);
        put("version", VERSION.into());
        put("id", uuid(&format!("{}:{agent}", self.commit)).into());
        put("timestamp", self.at.clone().into());
        put("vcs", json!({"type": "git", "revision": self.commit}));
        if !agent.is_empty() {
            put("tool", json!({"name": agent}));
        }
        let files = self.files.iter();
        let files = files.map(|(path, all)| json!({"path": path, "conversations": all}));
        put("files", files.collect());
        record
    }
}

fn conversation(turn: &TurnLines) -> Value {
    let mut contributor = json!({"type": "ai"});
    if let Some(model) = &turn.model {
        contributor["model_id"] = model.clone().into();
    }
    let session = format!("{SESSION}{}", turn.session_id);
    let prompt = format!("timewarp:prompt/{}:{}", turn.session_id, turn.checkpoint_id);
    let range = |(first, last): &Lines| json!({"start_line": first, "end_line": last});
    json!({
        "url": session,
        "contributor": contributor,
        "ranges": turn.lines.iter().map(range).collect::<Vec<_>>(),
        "related": [{"type": "prompt", "url": prompt}],
    })
}

/// An id that is the same whenever it is made of the same text (version 8, RFC 9562).
fn uuid(text: &str) -> String {
    let hex = digits(text, 32);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-8{}-8{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0";

    fn parse(text: &str) -> Records {
        Records::parse(text.as_bytes(), |_| true)
    }

    fn record(version: &str) -> Value {
        json!({
            "version": version, "id": "550e8400-e29b-41d4-a716-446655440000",
            "timestamp": "2026-01-23T14:30:00Z",
            "vcs": {"type": "git", "revision": COMMIT},
            "tool": {"name": "cursor", "version": "2.4.0"},
            "files": [{"path": "src/parser.ts", "conversations": [{
                "url": "https://api.example.com/v1/conversations/12345",
                "contributor": {"type": "ai", "model_id": "anthropic/claude-opus-4-5"},
                "ranges": [
                    {"start_line": 42, "end_line": 67, "content_hash": "murmur3:9f2e8a1b"},
                    {"start_line": 70, "end_line": 70, "contributor": {"type": "human"}},
                    {"start_line": 80, "end_line": 81, "contributor": {"type": "unknown"}},
                ],
                "related": [{"type": "session", "url": "https://api.example.com/v1/sessions/67890"}],
            }]}],
            "metadata": {"confidence": 0.95},
        })
    }

    #[test]
    fn a_record_names_lines_of_its_revision() {
        let found = parse(&record("0.1.0").to_string());
        let [record] = &found.records[..] else {
            panic!("one record");
        };
        assert_eq!(
            record.commit(None).map(|id| id.to_string()).as_deref(),
            Some(COMMIT)
        );
        let cursor = Claim::Agent(Writer {
            agent: word("cursor"),
            model: word("anthropic/claude-opus-4-5"),
            session_id: word("https://api.example.com/v1/sessions/67890"),
        });
        assert_eq!(
            record.claims("src/parser.ts"),
            [(cursor, vec![(42, 67)]), (Claim::Person, vec![(70, 70)])]
        );
        assert_eq!(record.claims("src/other.ts"), []);
    }

    #[test]
    fn records_come_one_a_line_or_broken_and_what_is_none_is_counted() {
        let (one, minimal) = (record("0.1.0"), json!({"version": "0.1.0", "files": []}));
        let all = parse(&format!("{one}\nnothing\n\n{minimal}\n{{}}\n"));
        assert_eq!((all.records.len(), all.invalid), (2, 2));
        let pretty = format!("{one:#}\n{minimal:#}\n");
        assert_eq!(parse(&pretty).records.len(), 2);
        // What the hook of the format's example writes, and what is too new.
        for version in ["1.0", "2.0.0", "x.y.z", ""] {
            let found = parse(&record(version).to_string());
            assert_eq!((found.records.len(), found.invalid), (0, 1), "{version}");
        }
        assert_eq!(parse("").invalid, 0);
        assert_eq!(parse("[]").invalid, 1);
        assert_eq!(parse(&"[".repeat(100_000)).records.len(), 0);
        let jj = json!({"version": "0.1.0", "vcs": {"type": "jj", "revision": "kk"}, "files": []});
        assert_eq!(parse(&jj.to_string()).records[0].commit(None), None);
    }

    #[test]
    fn what_is_written_is_read_again_and_kept_apart_from_others() {
        let turn = |agent: &str, lines: Vec<Lines>| TurnLines {
            session_id: "3f2a".to_owned(),
            checkpoint_id: 1,
            agent: word(agent),
            model: word("model-4"),
            at: Some("2026-01-23T14:30:00Z".to_owned()),
            lines,
        };
        let file = |path: &str, turns| FileLines {
            path: path.to_owned(),
            turns,
        };
        let both = vec![turn("claude", vec![(1, 2)]), turn("codex", vec![(4, 4)])];
        let first = Note::of(
            COMMIT,
            &[file("a", both), file("b", vec![turn("", vec![(1, 1)])])],
        );
        let text = first.text();
        assert_eq!(Note::parse(text.as_bytes()).as_ref(), Some(&first));
        assert_eq!(text.lines().count(), 3);
        let read = parse(&text);
        assert_eq!((read.records.len(), read.invalid), (3, 0));
        let claims: Vec<Claimed> = read
            .records
            .iter()
            .flat_map(|one| one.claims("a"))
            .collect();
        let claude = Claim::Agent(Writer {
            agent: word("claude"),
            model: word("model-4"),
            session_id: word("3f2a"),
        });
        assert_eq!(claims[0], (claude, vec![(1, 2)]));
        assert_eq!(
            Note::parse(
                text.replace("\"start_line\":4", "\"start_line\":3")
                    .as_bytes()
            ),
            None
        );
        assert_eq!(Note::parse(record("0.1.0").to_string().as_bytes()), None);
        let mut second = Note::of(COMMIT, &[file("a", vec![turn("codex", vec![(9, 9)])])]);
        second.keep(first);
        let said = second.text();
        assert_eq!(said.lines().count(), 2, "{said}");
        assert!(
            said.contains("\"start_line\":9") && !said.contains("claude\"}"),
            "{said}"
        );
    }

    #[test]
    fn an_id_is_as_long_as_ids_are() {
        assert_eq!(uuid("a").len(), 36);
    }
}
