//! Sessions of the shapes that no sample has: compacted, with messages from the future, interrupted.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::fork::{destination, plan_fork};
use crate::agents::read;
use crate::agents::testing::{prompts, write_fork};
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::env::Moment;
use crate::error::Code;

const NOW: Moment = Moment(0);

struct Session {
    dir: tempfile::TempDir,
    context: String,
    wire: String,
    time: u32,
}

impl Session {
    fn new() -> Self {
        let mut session = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            context: String::new(),
            wire: "{\"type\": \"metadata\", \"protocol_version\": \"1.10\"}\n".to_owned(),
            time: 0,
        };
        session.context(&json!({"role": "_system_prompt", "content": "be good"}));
        session
    }

    fn context(&mut self, record: &Value) {
        self.context
            .push_str(&record.to_string().replace("\":", "\": "));
        self.context.push('\n');
    }

    fn event(&mut self, kind: &str, payload: &Value) {
        self.time += 1;
        let at = 1_773_128_640.5 + f64::from(self.time);
        let line = json!({"timestamp": at, "message": {"type": kind, "payload": payload}});
        self.wire.push_str(&line.to_string());
        self.wire.push('\n');
    }

    fn prompt(&mut self, checkpoint: u64, text: &str) {
        self.context(&json!({"role": "_checkpoint", "id": checkpoint}));
        self.context(&json!({"role": "user", "content": text}));
        self.event(
            "TurnBegin",
            &json!({"user_input": [{"type": "text", "text": text}]}),
        );
    }

    fn answer(&mut self, text: &str, tokens: u64) {
        self.event("StepBegin", &json!({"n": 1}));
        self.event("ContentPart", &json!({"type": "think", "think": "hm"}));
        self.event("ContentPart", &json!({"type": "text", "text": text}));
        self.context(&json!({"role": "_usage", "token_count": tokens}));
        self.context(&json!({"role": "assistant", "content": [{"type": "think", "think": "hm"}, {"type": "text", "text": text}]}));
        self.event("StatusUpdate", &json!({"context_tokens": tokens, "message_id": text,
            "token_usage": {"input_other": 1, "output": 2, "input_cache_read": 3, "input_cache_creation": 4}}));
        self.event("TurnEnd", &json!({}));
    }

    fn call(&mut self, id: &str) {
        self.context(&json!({"role": "assistant", "content": [], "tool_calls": [{"type": "function", "id": id, "function": {"name": "Shell", "arguments": "{\"a\": 1}"}}]}));
        self.event(
            "ToolCall",
            &json!({"id": id, "function": {"name": "Shell", "arguments": "{\"a\""}}),
        );
        self.event("ToolCallPart", &json!({"arguments_part": ": 1}"}));
    }

    fn result(&mut self, id: &str, text: &str) {
        self.context(&json!({"role": "tool", "tool_call_id": id, "content": text}));
        self.event(
            "ToolResult",
            &json!({"tool_call_id": id, "return_value": {"is_error": true, "output": text}}),
        );
    }

    fn directory(&self) -> PathBuf {
        self.dir.path().join("old")
    }

    fn read(&self) -> Transcript {
        std::fs::create_dir_all(self.directory()).expect("a directory");
        std::fs::write(self.directory().join("context.jsonl"), &self.context).expect("written");
        std::fs::write(self.directory().join("wire.jsonl"), &self.wire).expect("written");
        read(&self.directory().join("context.jsonl"), Detail::Full).expect("readable")
    }

    /// Forks before a prompt; the context and the wire of the fork.
    fn fork(&self, transcript: &Transcript, prompt: usize) -> (String, String) {
        let cut = transcript.prompts[prompt]
            .cut
            .expect("the context holds it");
        self.fork_at(transcript, &cut)
    }

    /// Forks at a place; the context and the wire of the fork.
    fn fork_at(&self, transcript: &Transcript, cut: &Cut) -> (String, String) {
        let plan = plan_fork(transcript, cut)
            .expect("planned")
            .expect("something to fork");
        let dest = destination(&plan, "new", NOW);
        assert_eq!(dest, self.dir.path().join("new"));
        let outcome = write_fork(&plan, "new", &dest).expect("written and valid");
        assert_eq!(outcome.path, dest.join("context.jsonl"));
        let text = |name: &str| std::fs::read_to_string(dest.join(name)).expect("text");
        let found = (text("context.jsonl"), text("wire.jsonl"));
        let state: Value = serde_json::from_str(&text("state.json")).expect("JSON");
        assert_eq!(state["custom_title"], "Fork: one");
        assert!(state["wire_mtime"].as_f64().is_some_and(|time| time > 0.0));
        std::fs::remove_dir_all(dest).expect("removed");
        found
    }
}

#[test]
fn both_files_are_cut_at_the_same_turn_byte_for_byte() {
    let mut session = Session::new();
    session.prompt(0, "one");
    session.call("Shell:0");
    session.result("Shell:0", "listed");
    session.answer("first", 100);
    let (context, wire) = (session.context.clone(), session.wire.clone());
    session.prompt(1, "two");
    session.call("Shell:0");
    session.result("Shell:0", "again");
    session.answer("second", 300);
    let transcript = session.read();
    assert_eq!(transcript.session_id, "old");
    assert_eq!(prompts(&transcript), ["one", "two"]);
    assert_eq!(
        transcript.prompts[0].at.as_deref(),
        Some("2026-03-10T07:44:01.500Z")
    );
    assert_eq!(transcript.tokens.context, Some(300));
    assert_eq!(transcript.tokens.total, Some(20));
    assert_eq!(transcript.prompts[1].tokens.context, Some(100));
    assert_eq!(transcript.prompts[1].tokens.total, Some(10));
    let tool = transcript.messages[1].tool.as_ref().expect("a call");
    assert_eq!(
        (&tool.input, tool.output.as_deref(), tool.error),
        (&json!({"a": 1}), Some("listed"), true)
    );
    let forked = session.fork(&transcript, 1);
    let checkpoint = "{\"role\": \"_checkpoint\",\"id\": 1}\n";
    assert_eq!(forked, (format!("{context}{checkpoint}"), wire));
    // In mid-turn: after the answered call of the second turn, in both files.
    let middle = transcript
        .boundaries
        .iter()
        .find(|cut| cut.messages == 5 && cut.tokens.total == Some(10));
    assert!(middle.is_some_and(|cut| cut.companion.is_some()));
}

#[test]
fn records_that_no_person_typed_are_no_turns() {
    let mut session = Session::new();
    session.prompt(0, "one");
    for text in [
        "<system>CHECKPOINT 1</system>",
        "<system-reminder>plan mode</system-reminder>",
        "<system>You just got a D-Mail from your future self</system>",
        "<notification id=\"1\">done</notification>",
    ] {
        session.context(&json!({"role": "user", "content": [{"type": "text", "text": text}]}));
    }
    session.answer("first", 10);
    session.context(&json!({"role": "user", "content": "hurry"}));
    session.event("SteerInput", &json!({"user_input": "hurry"}));
    session.prompt(2, "two");
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two"]);
    assert_eq!(
        transcript
            .messages
            .iter()
            .filter(|message| message.text == "hurry")
            .count(),
        1
    );
    let (context, _) = session.fork(&transcript, 1);
    assert!(context.contains("hurry") && context.contains("D-Mail"));
    std::fs::remove_file(session.directory().join("wire.jsonl")).expect("removed");
    let alone = read(&session.directory(), Detail::Full).expect("readable");
    assert_eq!(
        prompts(&alone),
        ["one", "hurry", "two"],
        "without a wire a steer cannot be told from a turn"
    );
}

#[test]
fn turns_that_a_compaction_took_are_read_but_cannot_be_forked() {
    let mut session = Session::new();
    session.prompt(0, "one");
    session.answer("first", 10);
    session.event("CompactionBegin", &json!({}));
    session.event("CompactionEnd", &json!({}));
    session.context.clear();
    session.context(&json!({"role": "_system_prompt", "content": "be good"}));
    session.context(&json!({"role": "user", "content": "<system>Previous context has been compacted. Here is the output:</system>\nsummary"}));
    session.prompt(0, "two");
    session.answer("second", 10);
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two"]);
    assert_eq!(transcript.compactions.len(), 1);
    assert_eq!(transcript.prompts[0].cut, None);
    let (context, wire) = session.fork(&transcript, 1);
    assert!(context.contains("summary") && !context.contains("two"));
    assert!(wire.contains("one") && !wire.contains("two"));
}

#[test]
fn an_unanswered_call_is_left_out_of_both_files() {
    let mut session = Session::new();
    session.prompt(0, "one");
    session.call("Shell:0");
    session.result("Shell:0", "fine");
    session.call("Shell:0");
    session.prompt(1, "two");
    session
        .context
        .push_str("{\"role\": \"assistant\", \"content\": \"caf");
    let transcript = session.read();
    assert_eq!(transcript.skipped, 1);
    let (context, wire) = session.fork(&transcript, 1);
    assert_eq!(context.matches("tool_calls").count(), 1);
    assert_eq!(wire.matches("ToolCall").count(), 2, "one call and its part");
}

#[test]
fn what_the_context_has_beyond_the_wire_is_kept_and_counted() {
    let mut session = Session::new();
    session.prompt(0, "one");
    session.call("Shell:0");
    session.result("Shell:0", "listed");
    // The wire has no more than the call.
    let wire = session.wire.clone();
    session.call("Shell:1");
    let torn = session.wire.clone();
    session.result("Shell:1", "more");
    let context = session.context.clone();
    session.answer("first", 100);
    session.prompt(1, "two");
    session.answer("second", 200);
    for (wire, forked_wire) in [(wire.clone(), &wire), (torn, &wire)] {
        session.wire = wire;
        let transcript = session.read();
        assert_eq!(prompts(&transcript), ["one"], "turns are the wire's");
        let texts = transcript.messages.iter().map(|message| &*message.text);
        assert_eq!(
            texts.collect::<Vec<_>>(),
            ["one", "", "", "first", "two", "second"]
        );
        let at = |messages: usize| {
            let mut places = transcript.boundaries.iter();
            places.rfind(|cut| cut.messages == messages)
        };
        let whole = at(6).expect("the end of the context");
        let plan = plan_fork(&transcript, whole).expect("planned");
        let plan = plan.expect("something to fork");
        assert_eq!((plan.messages_discarded, plan.messages_kept), (0, 6));
        assert_eq!(whole.position.offset, transcript.bytes);
        let middle = at(3).expect("after the call that the wire lacks");
        let plan = plan_fork(&transcript, middle).expect("planned");
        let plan = plan.expect("something to fork");
        assert_eq!((plan.messages_discarded, plan.messages_kept), (3, 3));
        assert!(middle.position.offset >= context.len() as u64);
        let before = at(4).expect("before what was typed last");
        let (forked, shown) = session.fork_at(&transcript, before);
        assert!(forked.contains("first") && !forked.contains("two"));
        assert_eq!(&shown, forked_wire);
    }
}

#[test]
fn the_old_form_is_one_file() {
    let mut session = Session::new();
    session.prompt(0, "one");
    session.answer("first", 10);
    session.prompt(1, "two");
    let path = session.dir.path().join("531d195b.jsonl");
    std::fs::write(&path, &session.context).expect("written");
    let transcript = read(&path, Detail::Full).expect("readable");
    assert_eq!(transcript.session_id, "531d195b");
    assert_eq!(transcript.tokens.total, None, "only the wire has sums");
    let cut = transcript.prompts[1].cut.expect("held");
    let plan = plan_fork(&transcript, &cut)
        .expect("planned")
        .expect("something");
    let dest = destination(&plan, "new", NOW);
    assert_eq!(dest, session.dir.path().join("new.jsonl"));
    write_fork(&plan, "new", &dest).expect("valid");
    assert!(
        session
            .context
            .starts_with(&std::fs::read_to_string(dest).expect("text"))
    );
}

#[test]
fn a_fork_in_the_way_is_left_alone() {
    let mut session = Session::new();
    session.prompt(0, "one");
    session.answer("first", 10);
    session.prompt(1, "two");
    let transcript = session.read();
    let cut = transcript.prompts[1].cut.expect("held");
    let plan = plan_fork(&transcript, &cut)
        .expect("planned")
        .expect("something");
    let error = write_fork(&plan, "new", &session.directory()).expect_err("refused");
    assert_eq!(error.code(), Code::WouldOverwrite);
    assert_eq!(
        std::fs::read_dir(session.dir.path())
            .expect("listed")
            .count(),
        1
    );
}
