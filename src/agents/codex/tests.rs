//! Rollouts of the shapes that no sample has: rolled-back turns, interrupted calls, old and newest forms.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Codex;
use crate::agents::fork::plan_fork;
use crate::agents::testing::{cut, prompts, write_fork};
use crate::agents::transcript::{Cut, Detail, Position, Transcript};
use crate::agents::{Agent as _, read};
use crate::error::Code;

const OLD: &str = "019e1625-789d-76c0-80ab-3724b5ddb799";
const NEW: &str = "019e1625-789d-76c0-80ab-3724b5ddb700";

struct Rollout {
    dir: tempfile::TempDir,
    text: String,
}

impl Rollout {
    fn new() -> Self {
        let mut rollout = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            text: String::new(),
        };
        rollout.line(
            "session_meta",
            &json!({"id": OLD, "cwd": "/work", "cli_version": "0.125.0"}),
        );
        rollout
    }

    fn line(&mut self, kind: &str, payload: &Value) -> &mut Self {
        let line = json!({"timestamp": "2026-05-11T08:00:00Z", "type": kind, "payload": payload});
        self.text.push_str(&line.to_string().replace("\":", "\": "));
        self.text.push('\n');
        self
    }

    fn event(&mut self, payload: &Value) -> &mut Self {
        self.line("event_msg", payload)
    }

    fn item(&mut self, payload: &Value) -> &mut Self {
        self.line("response_item", payload)
    }

    fn user_item(&mut self, text: &str) -> &mut Self {
        self.item(&json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}))
    }

    fn prompt(&mut self, text: &str) -> &mut Self {
        self.event(&json!({"type": "task_started", "turn_id": text}))
            .line("turn_context", &json!({"cwd": "/work"}))
            .user_item(text)
            .event(&json!({"type": "user_message", "message": text, "images": []}))
    }

    fn answer(&mut self, text: &str) -> &mut Self {
        self.item(&json!({"type": "reasoning", "summary": [], "encrypted_content": text}))
            .event(&json!({"type": "agent_message", "message": text}))
            .item(&json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}))
            .event(&json!({"type": "task_complete"}))
    }

    fn call(&mut self, id: &str) -> &mut Self {
        self.item(&json!({"type": "reasoning", "summary": [], "encrypted_content": id}))
            .item(&json!({"type": "function_call", "name": "shell", "arguments": "{\"c\":1}", "call_id": id}))
    }

    fn output(&mut self, id: &str, text: &str) -> &mut Self {
        self.item(&json!({"type": "function_call_output", "call_id": id, "output": text}))
    }

    fn usage(&mut self, last: u64, total: u64) -> &mut Self {
        self.event(&json!({"type": "token_count", "info": {
            "last_token_usage": {"input_tokens": last - 1, "cached_input_tokens": 5, "output_tokens": 1, "total_tokens": last},
            "total_token_usage": {"total_tokens": total}}}))
    }

    fn path(&self) -> PathBuf {
        self.dir
            .path()
            .join(format!("rollout-2026-05-11T08-00-00-{OLD}.jsonl"))
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
    let dest = transcript.path.with_file_name("fork.jsonl");
    let outcome = write_fork(&plan, NEW, &dest).expect("written and valid");
    assert_eq!(
        outcome.resume_command,
        Some(vec!["codex".into(), "resume".into(), NEW.into()])
    );
    let text = std::fs::read_to_string(&dest).expect("text");
    std::fs::remove_file(dest).expect("removed");
    text
}

#[test]
fn a_fork_ends_where_the_turn_begins_and_only_its_head_changes() {
    let mut rollout = Rollout::new();
    rollout.prompt("one").call("c1").output(
        "c1",
        "{\"output\":\"bad\\n\",\"metadata\":{\"exit_code\":2}}",
    );
    rollout.answer("first").usage(100, 100);
    let length = rollout.text.len();
    rollout.prompt("two").answer("second").usage(150, 250);
    let transcript = rollout.read();
    let tool = transcript.messages[1].tool.as_ref().expect("a call");
    assert_eq!((tool.output.as_deref(), tool.error), (Some("bad\n"), true));
    assert_eq!(tool.input, json!({"c": 1}));
    assert_eq!(transcript.tokens.context, Some(150));
    assert_eq!(transcript.prompts[1].tokens.total, Some(100));
    let forked = fork(&transcript, &cut(&transcript, 1));
    let kept = &rollout.text[..length];
    let head = format!("\"id\": \"{NEW}\",\"forked_from_id\":\"{OLD}\"");
    assert_eq!(
        forked,
        kept.replacen(&format!("\"id\": \"{OLD}\""), &head, 1)
    );
    assert!(
        plan_fork(&transcript, &cut(&transcript, 0))
            .expect("planned")
            .is_none()
    );
}

#[test]
fn both_ids_of_a_head_change() {
    let mut rollout = Rollout::new();
    let ids = format!("\"id\": \"{OLD}\",");
    let both = format!("\"session_id\": \"{OLD}\", {ids}");
    rollout.text = rollout.text.replacen(&ids, &both, 1);
    rollout.prompt("one").answer("first").prompt("two");
    let transcript = rollout.read();
    let forked = fork(&transcript, &cut(&transcript, 1));
    let head = forked.lines().next().expect("a head");
    let new = format!("\"session_id\": \"{NEW}\", \"id\": \"{NEW}\",\"forked_from_id\":\"{OLD}\",");
    assert!(head.contains(&new), "{head}");
}

#[test]
fn rolled_back_turns_are_gone_with_their_markers_but_can_be_gone_back_to() {
    let mut rollout = Rollout::new();
    rollout.prompt("one").answer("first");
    rollout
        .prompt("wrong")
        .call("open")
        .event(&json!({"type": "turn_aborted"}));
    rollout.prompt("wrong again").answer("no");
    rollout.event(&json!({"type": "thread_rolled_back", "num_turns": 2}));
    rollout.prompt("two").answer("second").prompt("three");
    let transcript = rollout.read();
    assert_eq!(prompts(&transcript), ["one", "two", "three"]);
    assert_eq!(transcript.abandoned.len(), 2);
    let forked = fork(&transcript, &cut(&transcript, 2));
    assert!(!forked.contains("wrong") && !forked.contains("rolled_back"));
    let again = transcript.abandoned[1].cut.expect("still in the file");
    let forked = fork(&transcript, &again);
    assert!(forked.contains("wrong") && !forked.contains("again"));
    assert!(
        !forked.contains("\"open\""),
        "a call without its output, and what led to it"
    );
}

#[test]
fn a_call_without_output_goes_with_the_thoughts_before_it() {
    let mut rollout = Rollout::new();
    rollout
        .prompt("one")
        .call("done")
        .output("done", "ok")
        .call("open");
    rollout.event(&json!({"type": "turn_aborted"}));
    rollout.prompt("two").answer("second");
    let transcript = rollout.read();
    let forked = fork(&transcript, &cut(&transcript, 1));
    assert_eq!(forked.matches("reasoning").count(), 1);
    assert!(!forked.contains("\"open\""));
    let middle = transcript.cut_at(u64::MAX).copied().expect("the end");
    assert_eq!(middle.position.offset, rollout.text.len() as u64);
}

#[test]
fn without_events_the_items_hold_the_prompts() {
    let mut rollout = Rollout::new();
    rollout.user_item("<environment_context>\n</environment_context>");
    rollout.user_item("one");
    rollout.item(&json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "first"}]}));
    rollout.user_item("# Context from my IDE setup:\n## My request for Codex:\ntwo");
    let transcript = rollout.read();
    assert_eq!(prompts(&transcript), ["one", "two"]);
    let forked = fork(&transcript, &cut(&transcript, 1));
    assert_eq!(forked.lines().count(), 4);
}

#[test]
fn the_oldest_form_has_no_wrapper() {
    let rollout = Rollout::new();
    let text = format!(
        "{{\"id\":\"{OLD}\",\"timestamp\":\"2025-05-01T00:00:00Z\",\"instructions\":null}}\n{}\n{}\n{}\n",
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "first"}]}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "two"}]}),
    );
    std::fs::write(rollout.path(), &text).expect("written");
    let transcript = read(&rollout.path(), Detail::Full).expect("readable");
    assert_eq!(transcript.session_id, OLD);
    assert_eq!(prompts(&transcript), ["one", "two"]);
    let forked = fork(&transcript, &cut(&transcript, 1));
    assert!(forked.starts_with(&format!("{{\"id\":\"{NEW}\",\"timestamp\"")));
}

#[test]
fn the_first_head_counts_and_torn_lines_are_skipped() {
    let mut rollout = Rollout::new();
    rollout.line(
        "session_meta",
        &json!({"id": "an-ancestor", "cwd": "/elsewhere"}),
    );
    rollout.prompt("one").answer("first").prompt("two");
    rollout.text.push_str("{\"timestamp\":\"2026");
    let transcript = rollout.read();
    assert_eq!(transcript.session_id, OLD);
    assert_eq!(transcript.cwd.as_deref(), Some("/work"));
    assert_eq!(transcript.skipped, 1);
    let forked = fork(&transcript, &cut(&transcript, 1));
    assert!(
        forked.contains("an-ancestor"),
        "only the first head changes"
    );
}

/// A rollout of two turns, and sessions that Codex's own fork made of it: each in a file of its own, as Codex keeps them.
struct Family {
    dir: tempfile::TempDir,
}

fn family_id(number: u8) -> String {
    format!("{}{number}", &OLD[..35])
}

impl Family {
    fn path(&self, number: u8) -> PathBuf {
        let name = format!(
            "rollout-2026-05-1{number}T08-00-00-{}.jsonl",
            family_id(number)
        );
        let day = format!("sessions/2026/05/1{number}");
        self.dir.path().join(day).join(name)
    }

    fn add(&self, number: u8, base: &Value, turns: &[&str]) {
        let mut rollout = Rollout::new();
        rollout.text.clear();
        let id = family_id(number);
        let mut head =
            json!({"id": id, "session_id": id, "cwd": "/work", "history_mode": "paginated"});
        if !base.is_null() {
            head["history_base"] = base.clone();
        }
        rollout.line("session_meta", &head);
        for turn in turns {
            rollout
                .prompt(turn)
                .call("c1")
                .output("c1", "done")
                .answer(&format!("to {turn}"));
        }
        let path = self.path(number);
        std::fs::create_dir_all(path.parent().expect("a day")).expect("made");
        std::fs::write(path, rollout.text).expect("written");
    }

    /// What a fork says that goes on where the first `turns` turns of that rollout end.
    fn base(&self, number: u8, turns: usize) -> Value {
        let text = std::fs::read_to_string(self.path(number)).expect("text");
        let marker = "task_complete";
        let ends = text.match_indices(marker).nth(turns - 1).expect("a turn").0;
        let end = ends + text[ends..].find('\n').expect("a line") + 1;
        let rows = text[..end].lines().count();
        json!({"thread_id": family_id(number), "end_ordinal_exclusive": rows, "end_byte_offset": end})
    }

    fn new() -> Self {
        let family = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
        };
        family.add(1, &Value::Null, &["one", "two", "left behind"]);
        family.add(2, &family.base(1, 2), &["three", "also left behind"]);
        family.add(3, &family.base(2, 1), &["four", "five"]);
        family
    }

    fn read(&self, number: u8) -> Transcript {
        read(&self.path(number), Detail::Full).expect("readable")
    }
}

#[test]
fn a_fork_of_codex_s_own_is_read_with_what_it_goes_on_from() {
    let family = Family::new();
    let transcript = family.read(3);
    assert_eq!(
        prompts(&transcript),
        ["one", "two", "three", "four", "five"]
    );
    assert_eq!(transcript.session_id, family_id(3));
    assert_eq!(transcript.messages.len(), 15);
    let cuts: Vec<bool> = transcript
        .prompts
        .iter()
        .map(|prompt| prompt.cut.is_some())
        .collect();
    assert_eq!(cuts, [false, false, false, true, true]);
    assert_eq!(transcript.title(), Some("one"));
    // Before each prompt of its own, also the first: the head says where the rest is, and only its ids change.
    let text = std::fs::read_to_string(family.path(3)).expect("text");
    for prompt in [3, 4] {
        let cut = cut(&transcript, prompt);
        let plan = plan_fork(&transcript, &cut)
            .expect("planned")
            .expect("something to fork");
        let dest = family
            .path(3)
            .with_file_name(format!("rollout-2026-05-14T08-00-00-{NEW}.jsonl"));
        let outcome = write_fork(&plan, NEW, &dest).expect("written and valid");
        assert_eq!(
            (outcome.messages_kept, outcome.messages_discarded),
            (cut.messages, 15 - cut.messages)
        );
        let made = std::fs::read_to_string(&dest).expect("text");
        let own = usize::try_from(cut.position.offset).expect("small");
        let kept = text[..own].replace(&family_id(3), NEW);
        let origin = format!(",\"forked_from_id\":\"{}\"", family_id(3));
        assert_eq!(made.replacen(&origin, "", 1), kept);
        let again = read(&dest, Detail::Full).expect("readable");
        assert_eq!(prompts(&again), prompts(&transcript)[..prompt]);
        std::fs::remove_file(dest).expect("removed");
    }
}

#[test]
fn what_a_fork_goes_on_from_and_is_not_what_it_was_is_not_guessed() {
    let refused = |family: &Family| {
        let transcript = family.read(3);
        assert_eq!(prompts(&transcript), ["four", "five"]);
        let error = plan_fork(&transcript, &cut(&transcript, 1)).expect_err("refused");
        assert_eq!(error.code(), Code::CheckpointUnavailable);
        error.message().to_owned()
    };
    let gone = Family::new();
    std::fs::remove_file(gone.path(1)).expect("removed");
    let said = refused(&gone);
    assert!(
        said.ends_with(&format!(
            "the rollout '{}' that it goes on from is gone",
            family_id(1)
        )),
        "{said}"
    );
    let shorter = Family::new();
    let text = std::fs::read(shorter.path(2)).expect("bytes");
    std::fs::write(shorter.path(2), &text[..text.len() / 3]).expect("written");
    assert!(refused(&shorter).ends_with("is not what it was"));
    let moved = Family::new();
    let mut text = std::fs::read(moved.path(1)).expect("bytes");
    let at = text.len() / 4;
    text.insert(at, b' ');
    std::fs::write(moved.path(1), text).expect("written");
    assert!(refused(&moved).ends_with("is not what it was"));
    let circle = Family::new();
    circle.add(1, &circle.base(2, 1), &["one", "two"]);
    circle.add(2, &circle.base(1, 2), &["three"]);
    circle.add(3, &circle.base(2, 1), &["four", "five"]);
    assert!(refused(&circle).ends_with("in a circle"));
    let unknown = Family::new();
    unknown.add(3, &json!({"somewhere": 1}), &["four", "five"]);
    assert!(refused(&unknown).contains("in a way that is known"));
}

#[test]
fn turns_taken_back_behind_a_fork_s_beginning_are_left_to_codex() {
    let family = Family::new();
    let mut text = std::fs::read_to_string(family.path(3)).expect("text");
    text.push_str(
        &json!({"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 3}})
            .to_string(),
    );
    text.push('\n');
    std::fs::write(family.path(3), &text).expect("written");
    let transcript = family.read(3);
    assert_eq!(prompts(&transcript), ["one", "two"]);
    let end = Cut {
        position: Position {
            line: 99,
            offset: text.len() as u64,
        },
        companion: None,
        tokens: transcript.tokens,
        messages: transcript.messages.len(),
    };
    let error = plan_fork(&transcript, &end).expect_err("refused");
    assert_eq!(error.code(), Code::CheckpointUnavailable);
}

#[test]
fn a_call_names_its_thread_before_its_session() {
    let named = |meta: &Value| Codex.sessions_of_call(meta);
    let turn = json!({"thread_id": "b", "session_id": "d"});
    let whole = json!({"threadId": "a", "sessionId": "c", "x-codex-turn-metadata": turn});
    assert_eq!(named(&whole), ["a", "b", "c", "d"]);
    assert_eq!(named(&json!({"progressToken": 1})), [""; 0]);
    assert_eq!(named(&Value::Null), [""; 0]);
}
