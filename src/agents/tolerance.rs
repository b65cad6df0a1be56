//! Rows, fields and events that nobody knows yet, invented at random in the session of every agent: each prompt can still be
//! rewound, what was invented before the cut is kept byte for byte, what comes after it is left out.
//!
//! The same sessions for one seed; `TW_FUZZ_ROUNDS` tries more of them. A failure names the round.

mod sessions;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::sessions::{AGENTS, document};
use super::fork::{destination, new_session_id, plan_fork};
use super::testing::write_fork;
use super::transcript::{Cut, Detail, Transcript};
use super::{by_name, read};
use crate::env::Moment;

const NOW: Moment = Moment(1_790_000_000_000_000_000);
const TURNS: usize = 3;

/// A small generator of numbers, the same ones for one seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("below a limit")
    }

    fn one_of<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// Values that are JSON to the agents and too much for the parser, each with what stands for it until it is written.
const ODD: [[&str; 2]; 4] = [
    ["@half", "\"cut \\ud83d\""],
    ["@large", "1e400"],
    ["@none", "NaN"],
    ["@deep", DEEP],
];

const DEEP: &str = "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{\"type\":\"tool_use\"}]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";

fn with_odd(text: &str) -> String {
    ODD.iter().fold(text.to_owned(), |text, [name, value]| {
        text.replace(&format!("\"{name}\""), value)
    })
}

/// One session of an agent as it is written down, with inventions between its rows.
struct Session {
    agent: &'static str,
    random: Random,
    /// The lines of each file, by its name; of the one that is the conversation first.
    files: Vec<(PathBuf, String)>,
    /// What was invented, by file.
    invented: Vec<(usize, String)>,
    count: usize,
    last: Option<String>,
}

impl Session {
    fn new(agent: &'static str, files: &[&str], round: u64) -> Self {
        Self {
            agent,
            random: Random((round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            files: files
                .iter()
                .map(|name| (name.into(), String::new()))
                .collect(),
            invented: Vec::new(),
            count: 0,
            last: None,
        }
    }

    fn number(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    fn push(&mut self, file: usize, row: &Value) -> String {
        let line = with_odd(&row.to_string());
        let text = &mut self.files[file].1;
        text.push_str(&line);
        text.push('\n');
        line
    }

    /// A row of the agent's own, perhaps with fields that are new, and what may stand behind it.
    fn row(&mut self, file: usize, mut row: Value, invent: fn(&mut Session) -> Value) {
        if self.random.below(3) == 0 {
            let name = format!("xField{}", self.number());
            row[name] = self.value(0);
        }
        self.push(file, &row);
        for _ in 0..self.random.below(3) {
            let mut made = invent(self);
            made["xNumber"] = json!(self.number());
            let line = self.push(file, &made);
            self.invented.push((file, line));
        }
    }

    /// A row of a tree, which follows the last one.
    fn linked(&mut self, names: [&str; 2], mut row: Value, invent: fn(&mut Session) -> Value) {
        let id = format!("row-{}", self.number());
        row[names[0]] = json!(id);
        row[names[1]] = json!(self.last);
        self.last = Some(id);
        self.row(0, row, invent);
    }

    /// Any value, with the names that mean something in what is known.
    fn value(&mut self, depth: usize) -> Value {
        const NAMES: [&str; 16] = [
            "message",
            "content",
            "role",
            "toolCalls",
            "tool_calls",
            "tool_call_id",
            "toolCallId",
            "call_id",
            "event",
            "payload",
            "result",
            "state",
            "parts",
            "timestamp",
            "usage",
            "xNew",
        ];
        match self.random.below(if depth < 3 { 9 } else { 6 }) {
            0 => Value::Null,
            5 => json!(self.random.one_of(&ODD)[0]),
            1 => json!(self.random.below(1_000_000)),
            2 => json!(
                self.random
                    .one_of(&["assistant", "user", "tool", "system", "toolResult"])
            ),
            3 => json!(format!("call-{}", self.random.below(TURNS))),
            4 => json!({"type": "tool_result", "tool_use_id": "call-nobody-made", "content": "x"}),
            6 => Value::from(
                (0..self.random.below(3))
                    .map(|_| self.value(depth + 1))
                    .collect::<Vec<_>>(),
            ),
            _ => {
                let names: Vec<&str> = (0..=self.random.below(3))
                    .map(|_| self.random.one_of(&NAMES))
                    .collect();
                let members = names
                    .into_iter()
                    .map(|name| (name.to_owned(), self.value(depth + 1)));
                Value::Object(members.collect())
            }
        }
    }

    /// A row of an unknown kind, told by `key`: with any fields, and often with results or calls as the agents write them.
    fn unknown(&mut self, key: &str) -> Value {
        let kind = self
            .random
            .one_of(&["api-request-blob", "x.new", "world_state", "_later"]);
        let call = self
            .random
            .one_of(&["call-0", "call-1", "call-nobody-made"]);
        let blocks = json!([
            {"type": "tool_result", "tool_use_id": call, "content": "quoted"}, {"type": "tool_use", "id": "call-open", "name": "Bash", "input": {}},
            {"type": "toolCall", "id": "call-open", "name": "read", "arguments": {}}]);
        let mut row = match self.random.below(6) {
            0 => {
                json!({"message": {"role": self.random.one_of(&["user", "assistant", "toolResult"]), "content": blocks, "toolCallId": call}})
            }
            1 => {
                json!({"tool_call_id": call, "tool_calls": [{"id": "call-open"}], "toolCalls": [{"id": "call-open", "name": "x"}]})
            }
            2 => {
                json!({"event": {"type": "tool.result", "toolCallId": call, "result": {"output": "x"}}})
            }
            3 => {
                json!({"payload": {"type": "function_call_output", "call_id": call, "output": "x"}})
            }
            4 => json!({"sessionId": "of-another", "session_id": "of-another", "xNew": blocks}),
            _ => json!({"xNew": self.value(0), "message": self.value(1)}),
        };
        row[key] = json!(kind);
        row
    }

    /// Writes the session beneath `top`; its first file.
    fn write(&self, top: &Path) -> PathBuf {
        for (name, text) in &self.files {
            let path = top.join(name);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        top.join(&self.files[0].0)
    }

    /// What was invented in a file before `offset`, and from there on.
    fn invented_around(&self, file: usize, offset: u64) -> (Vec<&str>, Vec<&str>) {
        let lines = self
            .invented
            .iter()
            .filter(|(of, _)| *of == file)
            .map(|(_, line)| line.as_str());
        let text = &self.files[file].1;
        lines.partition(|line| text.find(line).is_some_and(|at| (at as u64) < offset))
    }
}

fn rounds() -> u64 {
    std::env::var("TW_FUZZ_ROUNDS").map_or(60, |text| text.parse().expect("a number"))
}

#[test]
fn what_no_agent_writes_yet_stops_no_rewind() {
    for (agent, files, write) in AGENTS {
        for round in 0..rounds() {
            let mut session = Session::new(agent, files, round);
            write(&mut session);
            let home = tempfile::tempdir().expect("a temporary directory");
            let path = session.write(home.path());
            let about = format!("{agent}, round {round}");
            let transcript = by_name(agent)
                .expect("known")
                .read(&path, Detail::Full)
                .expect("readable");
            assert_eq!(transcript.prompts.len(), TURNS, "{about}");
            for prompt in 1..TURNS {
                let cut = transcript.prompts[prompt].cut.expect("the file holds it");
                fork(
                    &session,
                    &transcript,
                    &cut,
                    &format!("{about}, prompt {prompt}"),
                );
            }
        }
    }
}

/// Forks at a cut, and compares what of the inventions is in the fork with what stood before the cut.
fn fork(session: &Session, transcript: &Transcript, cut: &Cut, about: &str) {
    let plan = plan_fork(transcript, cut).unwrap_or_else(|error| panic!("{about}: {error:?}"));
    let plan = plan.expect("something to fork");
    let id = new_session_id(session.agent, NOW).expect("random bytes");
    let dest = destination(&plan, &id, NOW);
    let made = write_fork(&plan, &id, &dest).unwrap_or_else(|error| panic!("{about}: {error:?}"));
    let again = read(&made.path, Detail::Full).expect("readable");
    let kept = transcript
        .prompts
        .iter()
        .filter(|prompt| prompt.position.offset < cut.position.offset)
        .count();
    assert_eq!(again.prompts.len(), kept, "{about}");
    let companion = cut.companion.map(|position| {
        made.path
            .with_file_name("wire.jsonl")
            .into_os_string()
            .into_string()
            .map(|path| (path, position))
    });
    let mut written = vec![(0, made.path.clone(), cut.position.offset)];
    written.extend(
        companion
            .map(|found| found.expect("text"))
            .map(|(path, position)| (1, path.into(), position.offset)),
    );
    for (file, path, offset) in written {
        let text = std::fs::read_to_string(&path).expect("text");
        let lines: HashMap<&str, usize> = text
            .lines()
            .enumerate()
            .map(|(number, line)| (line, number))
            .collect();
        let (before, after) = session.invented_around(file, offset);
        let places: Vec<Option<usize>> =
            before.iter().map(|line| lines.get(line).copied()).collect();
        for (line, place) in before.iter().zip(&places) {
            assert!(place.is_some(), "{about}: not kept: {line}");
        }
        assert!(places.is_sorted(), "{about}: in another order");
        for line in after {
            assert!(
                !lines.contains_key(line),
                "{about}: kept from behind the cut: {line}"
            );
        }
    }
}

#[test]
fn what_is_new_in_a_document_stops_no_rewind() {
    for (agent, name) in [
        ("gemini", "session-2026-01-01T00-00-old.json"),
        ("opencode", "ses_old.json"),
    ] {
        for round in 0..rounds() {
            let mut session = Session::new(agent, &[name], round);
            let document = document(agent, &mut session);
            session.files[0].1 = with_odd(&document.to_string());
            for (_, line) in &mut session.invented {
                *line = with_odd(line);
            }
            let home = tempfile::tempdir().expect("a temporary directory");
            let path = session.write(home.path());
            let about = format!("{agent}, round {round}");
            let transcript = by_name(agent)
                .expect("known")
                .read(&path, Detail::Full)
                .expect("readable");
            assert_eq!(transcript.prompts.len(), TURNS, "{about}");
            for prompt in 1..TURNS {
                let cut = transcript.prompts[prompt].cut.expect("the file holds it");
                let plan = plan_fork(&transcript, &cut)
                    .expect("planned")
                    .expect("something to fork");
                let id = new_session_id(agent, NOW).expect("random bytes");
                let made = write_fork(&plan, &id, &destination(&plan, &id, NOW))
                    .unwrap_or_else(|error| panic!("{about}: {error:?}"));
                let text = std::fs::read_to_string(&made.path).expect("text");
                assert_eq!(
                    read(&made.path, Detail::Full)
                        .expect("readable")
                        .prompts
                        .len(),
                    prompt,
                    "{about}"
                );
                let (before, after) = session.invented_around(0, cut.position.offset);
                for line in before {
                    assert!(text.contains(line), "{about}: not kept: {line}");
                }
                for line in after {
                    assert!(
                        !text.contains(line),
                        "{about}: kept from behind the cut: {line}"
                    );
                }
            }
        }
    }
}
