//! Sessions of the shapes that no sample has: rewinds, side-chains, torn lines, forks of forks.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agents::fork::{plan_fork, validate_fork};
use crate::agents::read;
use crate::agents::testing::{cut, prompts, write_fork};
use crate::agents::transcript::{Cut, Detail, Role, Shrink, Transcript};
use crate::error::Code;

/// A session file under construction: rows `r0`, `r1`, … each following the last, unless told otherwise.
struct Session {
    dir: tempfile::TempDir,
    name: &'static str,
    text: Vec<u8>,
    rows: usize,
    last: Option<String>,
}

impl Session {
    fn new() -> Self {
        Self::in_dir(tempfile::tempdir().expect("a temporary directory"), "old")
    }

    fn in_dir(dir: tempfile::TempDir, name: &'static str) -> Self {
        Self {
            dir,
            name,
            text: Vec::new(),
            rows: 0,
            last: None,
        }
    }

    fn raw(&mut self, line: impl AsRef<[u8]>) -> &mut Self {
        self.text.extend_from_slice(line.as_ref());
        self
    }

    fn row(&mut self, kind: &str, mut fields: Value) -> String {
        let uuid = format!("{}-r{}", self.name, self.rows);
        self.rows += 1;
        let object = fields.as_object_mut().expect("fields are an object");
        let head = json!({"type": kind, "uuid": uuid, "sessionId": self.name, "cwd": "/work",
            "timestamp": format!("2026-01-01T00:00:{:02}.000Z", self.rows % 60), "isSidechain": false});
        for (key, value) in head.as_object().expect("an object") {
            object.entry(key.clone()).or_insert_with(|| value.clone());
        }
        object
            .entry("parentUuid")
            .or_insert_with(|| json!(self.last.clone()));
        if object["isSidechain"] == false {
            self.last = Some(uuid.clone());
        }
        // A space after each colon: a fork that writes JSON anew would lose it.
        let line = fields.to_string().replace("\":", "\": ");
        self.raw(line).raw("\n");
        uuid
    }

    fn prompt(&mut self, text: &str) -> String {
        self.row(
            "user",
            json!({"message": {"role": "user", "content": text}}),
        )
    }

    fn says(&mut self, message: &str, blocks: &Value, output: u64) -> String {
        let usage = json!({"input_tokens": 10, "output_tokens": output,
            "cache_read_input_tokens": 100, "cache_creation_input_tokens": 5});
        self.row(
            "assistant",
            json!({"message": {"id": message, "role": "assistant", "model": "m", "content": blocks, "usage": usage}}),
        )
    }

    fn text(&mut self, message: &str, text: &str) -> String {
        self.says(message, &json!([{"type": "text", "text": text}]), 7)
    }

    fn call(&mut self, message: &str, id: &str) -> String {
        self.says(
            message,
            &json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": id}}]),
            3,
        )
    }

    fn result(&mut self, id: &str) -> String {
        self.row(
            "user",
            json!({"message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": format!("{id} done")}]}}),
        )
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(format!("{}.jsonl", self.name))
    }

    fn save(&self) -> PathBuf {
        std::fs::write(self.path(), &self.text).expect("written");
        self.path()
    }

    fn read(&self) -> Transcript {
        read(&self.save(), Detail::Full).expect("readable")
    }
}

fn fork_text(transcript: &Transcript, cut: &Cut) -> String {
    let plan = plan_fork(transcript, cut)
        .expect("planned")
        .expect("something to fork");
    let dest = transcript.path.with_file_name("new.jsonl");
    let outcome = write_fork(&plan, "new", &dest).expect("written and valid");
    let text = std::fs::read_to_string(&outcome.path).expect("text");
    std::fs::remove_file(dest).expect("removed");
    text
}

fn texts(transcript: &Transcript) -> Vec<String> {
    transcript
        .messages
        .iter()
        .map(|message| match &message.tool {
            Some(tool) => format!("{}={}", tool.name, tool.output.as_deref().unwrap_or("?")),
            None => message.text.clone(),
        })
        .collect()
}

#[test]
fn a_rewound_timeline_is_left_out_but_can_be_gone_back_to() {
    let mut session = Session::new();
    session.prompt("one");
    let answer = session.text("m1", "first");
    session.prompt("two, regretted");
    session.call("m2", "t-open");
    session.last = Some(answer);
    session.prompt("two, again");
    session.text("m3", "second");
    session.prompt("three");
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two, again", "three"]);
    assert_eq!(transcript.abandoned.len(), 1);
    assert_eq!(
        texts(&transcript),
        ["one", "first", "two, again", "second", "three"]
    );

    let forked = fork_text(&transcript, &cut(&transcript, 2));
    assert_eq!(forked.lines().count(), 4);
    assert!(!forked.contains("regretted") && !forked.contains("t-open"));

    let regretted = transcript.abandoned[0].cut.expect("still in the file");
    let forked = fork_text(&transcript, &regretted);
    assert_eq!(forked.lines().count(), 2, "one and first");
}

#[test]
fn rewinding_to_the_first_prompt_leaves_nothing_of_the_old_timeline() {
    let mut session = Session::new();
    session.prompt("wrong");
    session.text("m1", "first");
    session.last = None;
    session.prompt("right");
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["right"]);
    assert!(
        plan_fork(&transcript, &cut(&transcript, 0))
            .expect("planned")
            .is_none()
    );
}

#[test]
fn parallel_calls_stay_with_their_results_and_are_closed_before_a_cut() {
    let mut session = Session::new();
    session.prompt("one");
    session.text("m1", "looking");
    let first = session.call("m1", "t1");
    let second = session.call("m1", "t2");
    session.last = Some(second);
    session.result("t2");
    let tip = session.last.clone();
    session.last = Some(first);
    session.result("t1");
    session.last = tip;
    session.text("m2", "done");
    session.prompt("two");
    let transcript = session.read();
    assert_eq!(
        texts(&transcript),
        [
            "one",
            "looking",
            "Bash=t1 done",
            "Bash=t2 done",
            "done",
            "two"
        ]
    );
    let forked = fork_text(&transcript, &cut(&transcript, 1));
    assert!(forked.contains("t1 done") && forked.contains("t2 done"));
    // In mid-turn, with the second result still missing, the cut goes back to before both calls.
    let between = transcript
        .boundaries
        .iter()
        .map(|cut| cut.position.line)
        .collect::<Vec<_>>();
    assert!(
        !between.contains(&4) && !between.contains(&6),
        "{between:?}"
    );
}

#[test]
fn a_call_that_was_never_answered_is_left_out_and_the_chain_closed_over_it() {
    let mut session = Session::new();
    session.prompt("one");
    session.says(
        "m1",
        &json!([{"type": "thinking", "thinking": "hm", "signature": "s"}]),
        1,
    );
    session.call("m1", "t-open");
    session.row("user", json!({"message": {"content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}]}}));
    session.prompt("two");
    session.text("m2", "fine");
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two"]);
    let forked = fork_text(&transcript, &cut(&transcript, 1));
    assert!(!forked.contains("t-open") && !forked.contains("thinking"));
    assert!(
        forked.contains("\"parentUuid\": \"old-r0\""),
        "the interrupt follows the prompt now"
    );
}

#[test]
fn only_ids_change_and_records_about_dropped_rows_go() {
    let mut session = Session::new();
    session.raw("{\"type\": \"custom-title\", \"customTitle\": \"t\", \"sessionId\": \"old\"}\n");
    let one = session.prompt("one");
    session.raw(format!(
        "{{\"type\": \"file-history-snapshot\", \"messageId\": \"{one}\", \"snapshot\": {{}}}}\n"
    ));
    session.raw("{\"type\": \"brand-new-thing\", \"sessionId\": \"old\", \"x\": [1,  2]}\n");
    session.raw(
        "{\"type\": \"queue-operation\", \"operation\": \"enqueue\", \"sessionId\": \"old\"}\n",
    );
    session.text("m1", "first");
    session.raw(
        "{\"type\": \"file-history-snapshot\", \"messageId\": \"old-r2\", \"snapshot\": {}}\n",
    );
    session.prompt("two");
    let transcript = session.read();
    let forked = fork_text(&transcript, &cut(&transcript, 1));
    let original = String::from_utf8(session.text.clone()).expect("text");
    let expected: String = original
        .lines()
        .filter(|line| {
            !line.contains("-title") && !line.contains("queue-") && !line.contains("old-r2")
        })
        .map(|line| line.replace("\"sessionId\": \"old\"", "\"sessionId\": \"new\"") + "\n")
        .collect();
    assert_eq!(forked, expected);
}

/// Rows that newer versions write between those of the conversation, and quote it in.
#[test]
fn rows_of_unknown_kinds_are_kept_as_they_are_and_asked_for_nothing() {
    let mut session = Session::new();
    session.prompt("one");
    session.call("m1", "c1");
    let answered = json!([{"type": "tool_result", "tool_use_id": "never", "content": "x"},
        {"type": "tool_use", "id": "never-too", "name": "Bash", "input": {}}]);
    let blob = json!({"type": "api-request-blob", "uuid": "blob", "sessionId": "old",
        "message": {"id": "m1", "role": "user", "content": answered}});
    session.raw(format!("{blob}\n"));
    session.row("brand-new-link", json!({"message": {"content": answered}}));
    session.row(
        "brand-new-link",
        json!({"uuid": "blob", "parentUuid": "nowhere"}),
    );
    session.last = Some("old-r2".to_owned());
    session.result("c1");
    session.text("m2", "first");
    let kept = String::from_utf8(session.text.clone()).expect("text");
    session.prompt("two");
    session.text("m3", "second");
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two"]);
    let wanted = kept
        .replace("\"sessionId\": \"old\"", "\"sessionId\": \"new\"")
        .replace("\"sessionId\":\"old\"", "\"sessionId\":\"new\"");
    let forked = fork_text(&transcript, &cut(&transcript, 1));
    let mut missing = wanted.lines().filter(|line| !forked.contains(line));
    // Nothing leads to it, and its id is another row's.
    assert!(missing.next().is_some_and(|line| line.contains("nowhere")));
    assert_eq!(missing.next(), None);
    assert_eq!(forked.lines().count() + 1, wanted.lines().count());
}

#[test]
fn torn_and_bad_lines_are_counted_and_bridged() {
    let mut session = Session::new();
    session.prompt("one");
    let start = session.text.len();
    session.text("m1", "lost");
    session.text.truncate(start + 40);
    session.raw("\n");
    session.prompt("two");
    session.text("m2", "caf\u{e9}");
    let bad_utf8 = session
        .text
        .windows(2)
        .position(|pair| pair == "\u{e9}".as_bytes())
        .expect("there");
    session.text[bad_utf8] = 0xff;
    session.prompt("three");
    session.raw("{\"type\":\"assistant\",\"uuid\":\"torn");
    let transcript = session.read();
    assert_eq!(transcript.skipped, 2);
    assert_eq!(prompts(&transcript), ["one", "two", "three"]);
    let plan = plan_fork(&transcript, &cut(&transcript, 2))
        .expect("planned")
        .expect("something");
    let dest = session.dir.path().join("new.jsonl");
    write_fork(&plan, "new", &dest).expect("valid");
    let forked = std::fs::read(&dest).expect("readable");
    assert!(forked.contains(&0xff), "bytes are kept as they are");
    assert_eq!(forked.split(|&byte| byte == b'\n').count(), 3 + 1);
    assert_eq!(
        std::fs::read(session.path()).expect("readable"),
        session.text
    );
}

#[test]
fn synthetic_and_side_chain_records_are_no_messages() {
    let mut session = Session::new();
    session.row(
        "user",
        json!({"isMeta": true, "message": {"content": "Caveat: The messages below were"}}),
    );
    session.prompt("<command-name>/clear</command-name><command-args></command-args>");
    session.prompt("<local-command-stdout></local-command-stdout>");
    session.row(
        "user",
        json!({"isSidechain": true, "message": {"content": "sub-agent task"}}),
    );
    session.row("assistant", json!({"isSidechain": true, "message": {"id": "s1", "content": [{"type": "text", "text": "sub"}], "usage": {"output_tokens": 999}}}));
    session.row("user", json!({"message": {"content": [{"type": "image", "source": {}}, {"type": "text", "text": "look"}]}}));
    session.row("assistant", json!({"message": {"id": "x", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}], "usage": {"output_tokens": 0}}}));
    session.row("attachment", json!({"attachment": {"type": "queued_command", "prompt": "and hurry", "commandMode": "prompt"}}));
    session.row("system", json!({"subtype": "turn_duration"}));
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["/clear", "look"]);
    assert_eq!(texts(&transcript), ["/clear", "look", "and hurry"]);
    assert_eq!(transcript.messages[1].images, 1);
    assert_eq!(transcript.tokens.total, None);
}

#[test]
fn before_the_first_prompt_there_is_nothing_to_fork() {
    let mut session = Session::new();
    let meta = |text: &str| json!({"isMeta": true, "message": {"role": "user", "content": text}});
    session.row("user", meta("Caveat: The messages below were generated"));
    session.row(
        "user",
        json!({"message": {"role": "user", "content": "<local-command-stdout>x</local-command-stdout>"}}),
    );
    session.prompt("one");
    session.text("m1", "first");
    session.prompt("two");
    let transcript = session.read();
    let plan = plan_fork(&transcript, &cut(&transcript, 0)).expect("planned");
    assert!(plan.is_none(), "{plan:?}");
    let text = fork_text(&transcript, &cut(&transcript, 1));
    assert_eq!(text.lines().count(), 4);
    // What is left of a conversation that was compacted is one.
    let mut session = Session::new();
    let summary =
        json!({"isCompactSummary": true, "message": {"role": "user", "content": "so far"}});
    session.row("user", summary);
    session.prompt("one");
    let transcript = session.read();
    assert_eq!(
        fork_text(&transcript, &cut(&transcript, 0)).lines().count(),
        1
    );
}

#[test]
fn usage_is_counted_once_per_message_by_its_last_row() {
    let mut session = Session::new();
    session.prompt("one");
    session.says("m1", &json!([{"type": "text", "text": "a"}]), 0);
    session.says("m1", &json!([{"type": "text", "text": "b"}]), 50);
    session.prompt("two");
    session.says("m2", &json!([{"type": "text", "text": "c"}]), 20);
    let transcript = session.read();
    assert_eq!(transcript.tokens.context, Some(135));
    assert_eq!(transcript.tokens.total, Some(165 + 135));
    assert_eq!(transcript.prompts[1].tokens.context, Some(165));
    assert_eq!(transcript.prompts[0].tokens.total, None);
    assert_eq!(texts(&transcript)[1], "a\n\nb");
    let plan = plan_fork(&transcript, &cut(&transcript, 1))
        .expect("planned")
        .expect("something");
    assert_eq!((plan.messages_kept, plan.messages_discarded), (2, 2));
    assert_eq!(
        plan.tokens_discarded,
        Some(-30),
        "the context was larger then"
    );
}

#[test]
fn a_session_is_read_across_a_compaction_and_forked_on_both_sides() {
    let mut session = Session::new();
    session.prompt("one");
    let last = session.text("m1", "first");
    session.prompt("two");
    let tail = session.text("m2", "second");
    session.row(
        "system",
        json!({"subtype": "compact_boundary", "parentUuid": null, "logicalParentUuid": tail}),
    );
    session.row("user", json!({"isCompactSummary": true, "message": {"content": "This session is being continued"}}));
    session.text("m3", "going on");
    session.prompt("three");
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two", "three"]);
    assert_eq!(transcript.compactions.len(), 1);
    assert_eq!(transcript.compactions[0].kind, Shrink::Compaction);
    assert_eq!(transcript.compactions[0].messages, 4);
    assert!(fork_text(&transcript, &cut(&transcript, 2)).contains("compact_boundary"));
    let before = fork_text(&transcript, &cut(&transcript, 1));
    assert!(!before.contains("compact_boundary") && before.contains(&last));
}

#[test]
fn a_fork_that_only_points_at_its_parent_gets_its_beginning_back() {
    let mut parent = Session::new();
    parent.prompt("one");
    let shared = parent.text("m1", "first");
    parent.prompt("two, in the parent only");
    parent.save();
    let mut child = Session::in_dir(parent.dir, "child");
    child.last = Some(shared.clone());
    let from = json!({"sessionId": "old", "messageUuid": shared});
    child.row(
        "user",
        json!({"forkedFrom": from, "message": {"content": "two, in the child"}}),
    );
    child.text("m2", "second");
    child.prompt("three");
    let transcript = child.read();
    assert_eq!(
        texts(&transcript),
        ["one", "first", "two, in the child", "second", "three"]
    );
    assert_eq!(transcript.forked_from.as_deref(), Some("old"));
    assert_eq!(transcript.prompts[0].cut, None, "it stands in another file");
    let forked = fork_text(&transcript, &cut(&transcript, 2));
    let parents: Vec<Value> = forked
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["uuid"].clone())
        .collect();
    assert_eq!(parents, ["old-r0", "old-r1", "child-r0", "child-r1"]);
}

#[test]
fn rows_written_twice_are_kept_once() {
    let mut session = Session::new();
    session.prompt("one");
    session.text("m1", "first");
    let again = session.text.clone();
    session.raw(again);
    session.prompt("two");
    let transcript = session.read();
    assert_eq!(prompts(&transcript), ["one", "two"]);
    assert!(transcript.abandoned.is_empty());
    assert_eq!(
        fork_text(&transcript, &cut(&transcript, 1)).lines().count(),
        2
    );
}

#[test]
fn an_outline_has_the_same_prompts_places_and_counts() {
    let mut session = Session::new();
    session.prompt("one");
    session.call("m1", "t1");
    session.result("t1");
    session.text("m2", "first");
    session.prompt("two");
    let full = session.read();
    let outline = read(&session.path(), Detail::Outline).expect("readable");
    assert_eq!(outline.prompts, full.prompts);
    assert_eq!(outline.boundaries, full.boundaries);
    assert_eq!(outline.tokens, full.tokens);
    let roles = |of: &Transcript| of.messages.iter().map(|m| m.role).collect::<Vec<_>>();
    assert_eq!(roles(&outline), roles(&full));
    assert!(
        outline
            .messages
            .iter()
            .all(|message| message.role == Role::User || message.text.is_empty())
    );
}

#[test]
fn the_validator_refuses_what_agents_would_refuse() {
    let mut session = Session::new();
    session.prompt("one");
    session.call("m1", "t1");
    session.result("t1");
    session.text("m2", "first");
    let path = session.save();
    let text = String::from_utf8(session.text.clone())
        .expect("text")
        .replace("\"old\"", "\"new\"");
    let lines: Vec<&str> = text.lines().collect();
    let check = |content: String| -> Option<Code> {
        let fork = path.with_file_name("fork.jsonl");
        std::fs::write(&fork, content).expect("written");
        validate_fork("claude", &[Path::new(&path)], &fork)
            .err()
            .map(|error| error.code())
    };
    let without = |left_out: usize| -> String {
        let mut kept = lines.clone();
        kept.remove(left_out);
        kept.join("\n") + "\n"
    };
    let refused = Some(Code::VerifyFailed);
    assert_eq!(check(text.clone()), None);
    assert_eq!(
        check(format!("{}\n{}\n", lines[0], lines[1])),
        refused,
        "an open call"
    );
    assert_eq!(check(without(1)), refused, "a result without its call");
    assert_eq!(check(without(0)), refused, "a beginning that is cut off");
    assert_eq!(
        check(text.replace("first", "other")),
        refused,
        "another text"
    );
    assert_eq!(
        check(text.replacen("\"new\"", "\"old\"", 1)),
        refused,
        "two sessions"
    );
    assert_eq!(
        check(format!("{text}{text}")),
        refused,
        "the same ids twice"
    );
    assert_eq!(check(text.trim_end().to_owned()), refused, "a torn end");
    assert_eq!(
        check(format!("{}\n{}\n", lines[3], lines[0])),
        refused,
        "out of order"
    );
}

#[test]
fn a_fork_never_overwrites() {
    let mut session = Session::new();
    session.prompt("one");
    session.text("m1", "first");
    session.prompt("two");
    let transcript = session.read();
    let plan = plan_fork(&transcript, &cut(&transcript, 1))
        .expect("planned")
        .expect("something");
    let error = write_fork(&plan, "old", &session.path()).expect_err("refused");
    assert_eq!(error.code(), Code::WouldOverwrite);
    assert_eq!(
        std::fs::read_dir(session.dir.path())
            .expect("listed")
            .count(),
        1
    );
}
