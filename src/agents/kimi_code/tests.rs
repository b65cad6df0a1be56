//! Journals with undos, clears and interrupted calls, and the files that a fork brings along.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::fork::{destination, plan_fork};
use crate::agents::read;
use crate::agents::testing::{prompts, write_fork};
use crate::agents::transcript::{Detail, Shrink, Transcript};
use crate::env::Moment;

struct Session {
    home: tempfile::TempDir,
    text: String,
}

impl Session {
    fn new() -> Self {
        let mut session = Self {
            home: tempfile::tempdir().expect("a temporary directory"),
            text: String::new(),
        };
        session.line(&json!({"type": "metadata", "protocol_version": "1.5", "created_at": 1, "app_version": "0.14.2"}));
        session
    }

    fn line(&mut self, record: &Value) -> &mut Self {
        self.text.push_str(&record.to_string());
        self.text.push('\n');
        self
    }

    fn prompt(&mut self, text: &str) -> &mut Self {
        let input = json!([{"type": "text", "text": text}]);
        self.line(&json!({"type": "turn.prompt", "input": input, "origin": {"kind": "user"}, "time": 1_773_128_640_587_i64}))
            .line(&json!({"type": "context.append_message", "message": {"role": "user", "content": input, "origin": {"kind": "user"}}}))
    }

    fn event(&mut self, event: &Value) -> &mut Self {
        self.line(&json!({"type": "context.append_loop_event", "event": event}))
    }

    fn answer(&mut self, text: &str) -> &mut Self {
        self.event(&json!({"type": "step.begin", "step": 1}))
            .event(&json!({"type": "content.part", "part": {"type": "think", "think": "hm"}}))
            .event(&json!({"type": "content.part", "part": {"type": "text", "text": text}}))
            .line(&json!({"type": "usage.record", "usage": {"inputOther": 1, "output": 2, "inputCacheRead": 3, "inputCacheCreation": 4}}))
    }

    fn call(&mut self, id: &str) -> &mut Self {
        self.event(
            &json!({"type": "tool.call", "toolCallId": id, "name": "Read", "args": {"p": 1}}),
        )
    }

    fn result(&mut self, id: &str) -> &mut Self {
        self.event(&json!({"type": "tool.result", "toolCallId": id, "result": {"output": "read", "isError": false}}))
    }

    fn directory(&self) -> PathBuf {
        self.home.path().join("sessions/wd_work_0/session_old")
    }

    fn read(&self) -> Transcript {
        let main = self.directory().join("agents/main");
        std::fs::create_dir_all(&main).expect("a directory");
        std::fs::write(main.join("wire.jsonl"), &self.text).expect("written");
        let state = json!({"id": "session_old", "title": "Work", "workDir": "/work", "custom": {"goal": 1, "x": 2}, "agents": {"main": {"type": "main", "homedir": "old"}, "sub": {}}});
        std::fs::write(self.directory().join("state.json"), state.to_string()).expect("written");
        std::fs::write(self.home.path().join("session_index.jsonl"), "").expect("written");
        read(&self.directory(), Detail::Full).expect("readable")
    }

    fn fork(&self, transcript: &Transcript, prompt: usize) -> String {
        let cut = transcript.prompts[prompt].cut.expect("held");
        let plan = plan_fork(transcript, &cut)
            .expect("planned")
            .expect("something to fork");
        let dest = destination(&plan, "session_new", Moment(0));
        assert_eq!(dest, self.directory().with_file_name("session_new"));
        let outcome = write_fork(&plan, "session_new", &dest).expect("written and valid");
        std::fs::read_to_string(outcome.path).expect("text")
    }
}

#[test]
fn a_fork_has_its_own_state_and_is_listed() {
    let mut session = Session::new();
    session
        .prompt("one")
        .call("c1")
        .result("c1")
        .answer("first");
    let kept = session.text.clone();
    session.prompt("two").answer("second");
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two"]);
    assert_eq!(transcript.messages.len(), 5);
    assert_eq!(transcript.tokens.total, Some(20));
    assert_eq!(
        transcript.prompts[0].at.as_deref(),
        Some("2026-03-10T07:44:00.587Z")
    );
    assert_eq!(transcript.cwd.as_deref(), Some("/work"));
    assert_eq!(
        session.fork(&transcript, 1),
        kept + "{\"type\":\"forked\"}\n"
    );
    let dest = session.directory().with_file_name("session_new");
    let state = std::fs::read_to_string(dest.join("state.json")).expect("text");
    let state: Value = serde_json::from_str(&state).expect("JSON");
    assert_eq!(
        (&state["id"], &state["forkedFrom"], &state["lastPrompt"]),
        (&json!("session_new"), &json!("session_old"), &json!("one"))
    );
    assert_eq!(
        (&state["title"], &state["custom"]),
        (&json!("Fork: Work"), &json!({"x": 2}))
    );
    let home = dest.join("agents/main").display().to_string();
    assert_eq!(
        state["agents"],
        json!({"main": {"type": "main", "homedir": home}})
    );
    let list =
        std::fs::read_to_string(session.home.path().join("session_index.jsonl")).expect("text");
    let entry: Value = serde_json::from_str(&list).expect("one line");
    assert_eq!(
        entry,
        json!({"sessionId": "session_new", "sessionDir": dest, "workDir": "/work"})
    );
}

/// As a program leaves it that died, or that ends lines only when the next one begins.
#[test]
fn a_list_whose_last_line_has_no_end_keeps_it() {
    let mut session = Session::new();
    session.prompt("one").answer("first").prompt("two");
    let transcript = session.read();
    let list = session.home.path().join("session_index.jsonl");
    let known =
        json!({"sessionId": "session_old", "sessionDir": session.directory(), "workDir": "/work"});
    std::fs::write(&list, known.to_string()).expect("written");
    session.fork(&transcript, 1);
    let list = std::fs::read_to_string(list).expect("text");
    let lines: Vec<Value> = list
        .lines()
        .map(|line| serde_json::from_str(line).expect("a whole line"))
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], known);
    assert_eq!(lines[1]["sessionId"], "session_new");
}

#[test]
fn undone_turns_go_but_settings_made_in_them_stay() {
    let mut session = Session::new();
    session.prompt("one").answer("first").prompt("wrong");
    session.line(&json!({"type": "config.update", "modelAlias": "other"}));
    session.line(&json!({"type": "tools.update_store", "todo": []}));
    session
        .answer("no")
        .line(&json!({"type": "context.undo", "count": 1}));
    session.prompt("two").call("open").prompt("three");
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two", "three"]);
    assert_eq!(transcript.abandoned.len(), 1);
    let forked = session.fork(&transcript, 2);
    assert!(forked.contains("modelAlias") && !forked.contains("todo"));
    assert!(!forked.contains("wrong") && !forked.contains("undo") && !forked.contains("\"open\""));
}

#[test]
fn steers_clears_and_synthetic_input_are_no_turns() {
    let mut session = Session::new();
    session.prompt("one");
    session.line(&json!({"type": "turn.steer", "input": [{"type": "text", "text": "hurry"}], "origin": {"kind": "user"}}));
    session
        .line(&json!({"type": "turn.prompt", "input": "wake up", "origin": {"kind": "cron_job"}}));
    session.line(&json!({"type": "context.append_message", "message": {"role": "user", "content": "reminder", "origin": {"kind": "injection"}}}));
    session
        .answer("first")
        .line(&json!({"type": "context.clear"}));
    session.line(&json!({"type": "turn.prompt", "input": "/init", "origin": {"kind": "skill_activation", "trigger": "user-slash"}}));
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "/init"]);
    let texts: Vec<&str> = transcript
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    assert_eq!(texts, ["one", "hurry", "first", "/init"]);
    assert_eq!(transcript.compactions[0].kind, Shrink::Clear);
}

#[test]
fn a_journal_without_prompts_has_them_in_its_messages() {
    let mut session = Session::new();
    for (role, text) in [("user", "one"), ("assistant", "first"), ("user", "two")] {
        session.line(
            &json!({"type": "context.append_message", "message": {"role": role, "content": text}}),
        );
    }
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two"]);
    assert!(session.fork(&transcript, 1).contains("first"));
}
