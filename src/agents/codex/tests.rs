//! Rollouts of the shapes that no sample has: rolled-back turns, interrupted calls, old and newest forms.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::fork::{plan_fork, write_fork};
use crate::agents::read;
use crate::agents::testing::{cut, prompts};
use crate::agents::transcript::{Cut, Detail, Transcript};

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
