//! Sessions as Qwen Code writes them: chains of records with Gemini's parts, made by ourselves in the shape of the real ones.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::fork::{destination, plan_fork};
use crate::agents::hook::{EventKind, parse};
use crate::agents::testing::{cut, prompts, write_fork};
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::agents::{detect, read};
use crate::env::Moment;

struct Session {
    dir: tempfile::TempDir,
    text: String,
    last: Option<String>,
}

impl Session {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            text: String::new(),
            last: None,
        }
    }

    fn record(&mut self, id: &str, kind: &str, more: Value) {
        self.beside(id, kind, more);
        self.last = Some(id.to_owned());
    }

    /// A record that no other follows.
    fn beside(&mut self, id: &str, kind: &str, more: Value) {
        let mut record = json!({"uuid": id, "parentUuid": self.last, "sessionId": "old", "timestamp": "2026-01-01T00:00:00.000Z",
            "type": kind, "cwd": "/work", "version": "0.24.4", "gitBranch": "main"});
        let Value::Object(more) = more else {
            panic!("an object")
        };
        for (key, value) in more {
            record[key] = value;
        }
        self.text += &format!("{record}\n");
    }

    fn user(&mut self, id: &str, text: &str) {
        self.record(
            id,
            "user",
            json!({"provenance": "real_user", "message": {"role": "user", "parts": [{"text": text}]}}),
        );
        self.record(
            &format!("{id}-a"),
            "system",
            json!({"subtype": "attribution_snapshot", "systemPayload": {}}),
        );
    }

    fn answer(&mut self, id: &str, text: &str, calls: &[&str]) {
        let mut parts = vec![
            json!({"text": "hm", "thought": true}),
            json!({"text": text}),
        ];
        parts.extend(calls.iter().map(|call| json!({"functionCall": {"id": call, "name": "write_file", "args": {"file_path": call}}})));
        self.record(
            id,
            "assistant",
            json!({"model": "one", "message": {"role": "model", "parts": parts}, "usageMetadata": {"totalTokenCount": 120}}),
        );
    }

    fn result(&mut self, id: &str, call: &str, response: &Value) {
        let part =
            json!({"functionResponse": {"id": call, "name": "write_file", "response": response}});
        self.record(id, "tool_result", json!({"message": {"role": "user", "parts": [part]}, "toolCallResult": {"callId": call}}));
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("old.jsonl")
    }

    fn read(&self) -> Transcript {
        std::fs::write(self.path(), &self.text).expect("written");
        read(&self.path(), Detail::Full).expect("readable")
    }
}

fn fork(transcript: &Transcript, cut: &Cut) -> String {
    let plan = plan_fork(transcript, cut)
        .expect("planned")
        .expect("something to fork");
    let dest = destination(&plan, "new", Moment(0));
    assert!(dest.ends_with("new.jsonl"));
    write_fork(&plan, "new", &dest).expect("written and valid");
    let text = std::fs::read_to_string(&dest).expect("text");
    std::fs::remove_file(dest).expect("removed");
    text
}

/// Two turns, the first with two calls at once.
fn two_turns() -> Session {
    let mut session = Session::new();
    session.user("u1", "one");
    session.answer("m1", "writing", &["c1", "c2"]);
    session.result("r1", "c1", &json!({"output": "done"}));
    session.result("r2", "c2", &json!({"error": "no"}));
    session.answer("m2", "first", &[]);
    session.user("u2", "two");
    session.answer("m3", "second", &[]);
    session
}

#[test]
fn a_session_reads_as_a_conversation() {
    let session = two_turns();
    let transcript = session.read();
    let agent = detect(&session.path()).expect("read").expect("known");
    assert_eq!(agent.name(), "qwen");
    assert_eq!(prompts(&transcript), ["one", "two"]);
    assert_eq!(transcript.session_id, "old");
    assert_eq!(transcript.cwd.as_deref(), Some("/work"));
    assert_eq!(transcript.version.as_deref(), Some("0.24.4"));
    assert_eq!(transcript.tokens.context, Some(120));
    let tools: Vec<_> = transcript
        .messages
        .iter()
        .filter_map(|message| message.tool.as_ref())
        .map(|tool| (tool.output.as_deref(), tool.error))
        .collect();
    assert_eq!(tools, [(Some("done"), false), (Some("no"), true)]);
    let said: Vec<&str> = transcript
        .messages
        .iter()
        .filter(|message| message.tool.is_none())
        .map(|message| message.text.as_str())
        .collect();
    assert_eq!(said, ["one", "writing", "first", "two", "second"]);
}

#[test]
fn a_fork_has_the_records_before_the_prompt_under_its_own_id() {
    let session = two_turns();
    let transcript = session.read();
    let forked = fork(&transcript, &cut(&transcript, 1));
    let before: String = session
        .text
        .split_inclusive('\n')
        .take_while(|line| !line.contains("{\"text\":\"two\"}"))
        .collect();
    assert_eq!(
        forked,
        before.replace("\"sessionId\":\"old\"", "\"sessionId\":\"new\"")
    );
    let nothing = plan_fork(&transcript, &cut(&transcript, 0)).expect("planned");
    assert!(nothing.is_none(), "nothing stands before the first prompt");
}

#[test]
fn what_was_rewound_is_left_behind_and_can_be_gone_back_to() {
    let mut session = two_turns();
    // Its own rewind: the next record follows what stood before the prompt.
    session.last = Some("m2".to_owned());
    session.record(
        "back",
        "system",
        json!({"subtype": "rewind", "systemPayload": {}}),
    );
    session.user("u3", "two, better");
    session.answer("m4", "third", &[]);
    session.user("u4", "three");
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two, better", "three"]);
    assert_eq!(transcript.abandoned[0].text, "two");
    let forked = fork(&transcript, &cut(&transcript, 2));
    assert!(forked.contains("third") && !forked.contains("second"));
    let left = transcript.abandoned[0].cut.expect("still in the file");
    let back = fork(&transcript, &left);
    assert!(back.contains("first") && !back.contains("better"));
}

#[test]
fn records_of_the_session_alone_and_open_calls_stay_out() {
    let mut session = Session::new();
    session.record(
        "s",
        "system",
        json!({"subtype": "session_source", "systemPayload": {"sourceType": "x"}}),
    );
    session.user("u1", "one");
    session.beside(
        "art",
        "system",
        json!({"subtype": "session_artifact_event", "systemPayload": {}}),
    );
    session.record(
        "f",
        "system",
        json!({"subtype": "file_history_snapshot", "systemPayload": {}}),
    );
    session.answer("m1", "writing", &["c1", "c2"]);
    session.result("r1", "c1", &json!({"output": "done"}));
    session.record("new", "weather", json!({"sun": true}));
    session.user("u2", "two");
    session.text += "{\"uuid\": \"torn\", \"type\": \"user";
    let transcript = session.read();
    assert_eq!(
        transcript.skipped, 1,
        "the torn line is counted and stops nothing"
    );
    let forked = fork(&transcript, &cut(&transcript, 1));
    let ids: Vec<Value> = forked
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .map(|record| json!([record["uuid"], record["parentUuid"]]))
        .collect();
    assert_eq!(
        ids,
        [
            json!(["u1", null]),
            json!(["u1-a", "u1"]),
            json!(["art", "u1-a"]),
            json!(["new", "u1-a"]),
        ]
    );
}

#[test]
fn what_is_typed_in_mid_turn_is_no_prompt_and_what_hooks_add_not_typed() {
    let mut session = Session::new();
    let note = "<qwen:user-prompt-submit-context>\nbeware\n</qwen:user-prompt-submit-context>";
    session.record(
        "u1",
        "user",
        json!({"message": {"role": "user", "parts": [{"text": "one"}, {"text": note}]}, "systemPayload": {"displayText": "one", "hookContext": "beware"}}),
    );
    session.answer("m1", "working", &[]);
    let say = |text: &str| json!({"role": "user", "parts": [{"text": text}]});
    session.record(
        "u2",
        "user",
        json!({"subtype": "mid_turn_user_message", "message": say("faster")}),
    );
    session.record(
        "u3",
        "user",
        json!({"subtype": "notification", "provenance": "system", "message": say("a task ended")}),
    );
    session.record(
        "k",
        "system",
        json!({"subtype": "chat_compression", "systemPayload": {"compressedHistory": []}}),
    );
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one"]);
    let said: Vec<&str> = transcript
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    assert_eq!(said, ["one", "working", "faster"]);
    assert_eq!(transcript.compactions.len(), 1);
}

#[test]
fn a_prompt_s_event_without_text_tells_that_the_turn_goes_on() {
    let event = |payload: Value| {
        let event = parse(
            "qwen",
            Some("user-prompt-submit"),
            payload.to_string().as_bytes(),
        );
        event.expect("a good payload").event
    };
    assert_eq!(
        event(json!({"session_id": "s", "prompt": "one", "submitted_prompt": "one"})),
        EventKind::UserPromptSubmit
    );
    assert_eq!(
        event(json!({"session_id": "s", "prompt": "typed with vi keys"})),
        EventKind::UserPromptSubmit
    );
    assert_eq!(
        event(json!({"session_id": "s", "prompt": ""})),
        EventKind::TurnContinue
    );
}

#[test]
fn sessions_are_found_by_their_recorded_directory() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let chats = home.path().join(".qwen/projects/-work/chats");
    std::fs::create_dir_all(&chats).expect("a directory");
    for (id, cwd) in [("a", "/work"), ("b", "/work/x"), ("c", "/work.x")] {
        let record = json!({"uuid": "u", "sessionId": id, "type": "user", "cwd": cwd});
        std::fs::write(chats.join(format!("{id}.jsonl")), format!("{record}\n")).expect("written");
    }
    let places = crate::agents::places::Places::new(Some(home.path().to_owned()));
    let found = super::place::find(std::path::Path::new("/work"), &places);
    let mut ids: Vec<String> = found.into_iter().map(|found| found.session_id).collect();
    ids.sort();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(
        super::place::locate("c", &places),
        Some(chats.join("c.jsonl"))
    );
    assert_eq!(super::place::locate("../c", &places), None);
}
