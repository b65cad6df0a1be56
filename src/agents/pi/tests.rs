//! Sessions of the newer, tree-shaped versions, of which no sample is public.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::fork::{destination, plan_fork};
use crate::agents::hook::{EventKind, event_kind};
use crate::agents::read;
use crate::agents::testing::{cut, prompts, write_fork};
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::env::Moment;

struct Session {
    dir: tempfile::TempDir,
    text: String,
    last: Option<String>,
}

impl Session {
    fn new() -> Self {
        let mut session = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            text: String::new(),
            last: None,
        };
        session.line(&json!({"type": "session", "version": 3, "id": "old", "timestamp": "t", "cwd": "/work"}));
        session
    }

    fn line(&mut self, record: &Value) {
        self.text
            .push_str(&record.to_string().replace("\":", "\": "));
        self.text.push('\n');
    }

    fn entry(&mut self, id: &str, kind: &str, mut fields: Value) {
        fields["type"] = json!(kind);
        fields["id"] = json!(id);
        fields["parentId"] = json!(self.last);
        fields["timestamp"] = json!("2026-01-01T00:00:00Z");
        self.line(&fields);
        self.last = Some(id.to_owned());
    }

    fn user(&mut self, id: &str, text: &str) {
        self.entry(
            id,
            "message",
            json!({"message": {"role": "user", "content": [{"type": "text", "text": text}]}}),
        );
    }

    fn answer(&mut self, id: &str, text: &str, calls: &[&str]) {
        let mut content = vec![json!({"type": "text", "text": text})];
        content.extend(calls.iter().map(|call| json!({"type": "toolCall", "id": call, "name": "read", "arguments": {"p": call}})));
        let usage = json!({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4});
        self.entry(
            id,
            "message",
            json!({"message": {"role": "assistant", "content": content, "usage": usage}}),
        );
    }

    fn result(&mut self, id: &str, call: &str) {
        self.entry(id, "message", json!({"message": {"role": "toolResult", "toolCallId": call, "content": [{"type": "text", "text": "ok"}], "isError": true}}));
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("t_old.jsonl")
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
    assert!(dest.ends_with("1970-01-01T00-00-00-000Z_new.jsonl"));
    write_fork(&plan, "new", &dest).expect("written and valid");
    let text = std::fs::read_to_string(&dest).expect("text");
    std::fs::remove_file(dest).expect("removed");
    text
}

#[test]
fn the_branch_of_the_last_entry_is_the_conversation() {
    let mut session = Session::new();
    session.user("01", "one");
    session.answer("02", "first", &["c1", "c2"]);
    session.result("03", "c1");
    session.result("04", "c2");
    session.user("05", "left behind");
    session.answer("06", "no", &[]);
    session.last = Some("04".to_owned());
    session.entry(
        "07",
        "branch_summary",
        json!({"fromId": "06", "summary": "it went nowhere"}),
    );
    session.user("08", "two");
    session.answer("09", "second", &[]);
    session.user("0a", "three");
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two", "three"]);
    assert_eq!(transcript.abandoned[0].text, "left behind");
    assert_eq!(transcript.tokens.context, Some(10));
    assert_eq!(
        transcript.tokens.total,
        Some(20),
        "what the branch left behind is not in it"
    );
    let tool = transcript.messages[2].tool.as_ref().expect("a call");
    assert_eq!((tool.output.as_deref(), tool.error), (Some("ok"), true));
    let forked = fork(&transcript, &cut(&transcript, 2));
    assert!(forked.contains("nowhere") && !forked.contains("left behind"));
    let origin = session.path().display().to_string();
    let head = format!("\"id\": \"new\",\"parentSession\":\"{origin}\"");
    let kept: String = session
        .text
        .lines()
        .filter(|line| {
            !["\"05\",", "\"06\",\"parent", "\"0a\","]
                .iter()
                .any(|id| line.contains(&format!("\"id\": {id}")))
        })
        .map(|line| line.to_owned() + "\n")
        .collect();
    assert_eq!(forked, kept.replacen("\"id\": \"old\"", &head, 1));
    let back = transcript.abandoned[0].cut.expect("still in the file");
    assert_eq!(fork(&transcript, &back).lines().count(), 5);
}

#[test]
fn an_aborted_call_is_left_out_and_the_chain_closed_over_it() {
    let mut session = Session::new();
    session.user("01", "one");
    session.answer("02", "looking", &["c1", "c2"]);
    session.result("03", "c1");
    session.entry("04", "label", json!({"targetId": "01", "label": "start"}));
    session.user("05", "two");
    let transcript = session.read();
    let forked = fork(&transcript, &cut(&transcript, 1));
    assert!(!forked.contains("c1") && forked.contains("\"parentId\": \"01\""));
}

#[test]
fn compactions_shell_commands_and_torn_lines() {
    let mut session = Session::new();
    session.user("01", "one");
    session.entry("02", "message", json!({"message": {"role": "bashExecution", "command": "ls", "output": "a.rs", "exitCode": 0}}));
    session.entry(
        "03",
        "compaction",
        json!({"summary": "s", "firstKeptEntryId": "01"}),
    );
    session
        .text
        .push_str("{\"type\": \"message\", \"id\": \"04\", torn\n");
    session.last = Some("04".to_owned());
    session.user("05", "two");
    session.user("06", "three");
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two", "three"]);
    assert_eq!((transcript.skipped, transcript.compactions.len()), (1, 1));
    let shell = transcript.messages[1].tool.as_ref().expect("a command");
    assert_eq!(
        (&shell.input, shell.output.as_deref()),
        (&json!({"command": "ls"}), Some("a.rs"))
    );
    let forked = fork(&transcript, &cut(&transcript, 2));
    assert!(
        forked.contains("\"parentId\": \"03\""),
        "the torn line is bridged"
    );
}

#[test]
fn the_extension_tells_of_a_session_and_takes_the_note_of_its_start() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let places = crate::agents::places::Places::new(Some(home.path().to_owned()));
    let text = |steps| {
        let what = (crate::agents::install::Scope::User, steps);
        let setup =
            crate::agents::install::setup(super::NAME, what, home.path(), home.path(), &places);
        let targets = setup.expect("can be set up").targets;
        let path = home.path().join(".pi/agent/extensions/timewarp.js");
        let extension = targets.into_iter().find(|target| target.path == path);
        match extension.expect("an extension").pieces.remove(0) {
            crate::agents::install::Piece::Whole(text) => text,
            other => panic!("{other:?}"),
        }
    };
    let silent = text(crate::agents::install::Steps::Silent);
    let told = text(crate::agents::install::Steps::Reported);
    let events = |text: &str| -> Vec<String> {
        let calls = text.split("tell(\"").skip(1);
        let names = calls.filter_map(|call| Some(call.split_once('"')?.0.to_owned()));
        names.collect()
    };
    assert_eq!(
        events(&silent),
        ["session-start", "user-prompt-submit", "stop", "session-end"]
    );
    assert_eq!(events(&told).last().expect("steps"), "post-tool-use");
    for event in events(&told) {
        assert_eq!(event_kind(&event).as_str(), event);
    }
    assert_eq!(silent.matches('{').count(), silent.matches('}').count());
    assert_eq!(told.matches('{').count(), told.matches('}').count());
    // The members by which the extension takes what the hook prints.
    let printed = crate::agents::additional_context(&super::Pi, &EventKind::SessionStart, "beware")
        .expect("it takes notes");
    assert!(silent.contains("hookSpecificOutput.additionalContext"));
    assert_eq!(printed["hookSpecificOutput"]["additionalContext"], "beware");
}
