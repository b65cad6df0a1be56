//! Chats of the newer format, of which no sample is public, and the older one's corners.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::fork::{destination, plan_fork, validate_fork};
use crate::agents::read;
use crate::agents::testing::{cut, prompts, write_fork};
use crate::agents::transcript::{Cut, Detail, Transcript};
use crate::env::Moment;

const NEW: &str = "11112222-0000-4000-8000-000000000000";

struct Chat {
    dir: tempfile::TempDir,
    text: String,
}

impl Chat {
    fn new() -> Self {
        let mut chat = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            text: String::new(),
        };
        chat.line(&json!({"sessionId": "old", "projectHash": "h", "startTime": "t", "kind": "main", "directories": ["/work"]}));
        chat
    }

    fn line(&mut self, record: &Value) -> &mut Self {
        self.text
            .push_str(&record.to_string().replace("\":", "\": "));
        self.text.push('\n');
        self
    }

    fn user(&mut self, id: &str, text: &str) -> &mut Self {
        self.line(&json!({"id": id, "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": [{"text": text}]}))
            .line(&json!({"$set": {"lastUpdated": "later"}}))
    }

    fn answer(&mut self, id: &str, text: &str, total: u64) -> &mut Self {
        self.line(&json!({"id": id, "type": "gemini", "content": text, "tokens": {"input": 1, "output": 1, "cached": 1, "total": total}}))
    }

    fn call(&mut self, id: &str, call: &str, result: Option<&str>) -> &mut Self {
        let mut step = json!({"id": call, "name": "shell", "args": {"c": 1}, "status": "success"});
        if let Some(result) = result {
            step["result"] = json!([{"functionResponse": {"response": {"output": result}}}]);
        }
        self.line(&json!({"id": id, "type": "gemini", "content": "", "toolCalls": [step]}))
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("session-2026-01-01T00-00-old.jsonl")
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
    let dest = destination(&plan, NEW, Moment(0));
    let outcome = write_fork(&plan, NEW, &dest).expect("written and valid");
    let name = outcome
        .path
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert!(
        name.starts_with("session-1970-01-01T00-00-11112222.json"),
        "{name}"
    );
    let text = std::fs::read_to_string(&dest).expect("text");
    std::fs::remove_file(dest).expect("removed");
    text
}

#[test]
fn a_message_written_again_is_replaced_and_all_its_lines_are_kept() {
    let mut chat = Chat::new();
    chat.user("u1", "one")
        .call("g1", "c1", None)
        .call("g1", "c1", Some("listed"));
    chat.answer("g2", "first", 30)
        .line(&json!({"$set": {"sessionId": "old"}}));
    let kept = chat.text.clone();
    chat.user("u2", "two").answer("g3", "second", 50);
    let transcript = chat.read();
    assert_eq!(prompts(&transcript), ["one", "two"]);
    assert_eq!(transcript.messages.len(), 5);
    let tool = transcript.messages[1].tool.as_ref().expect("a call");
    assert_eq!(
        (tool.output.as_deref(), &tool.input),
        (Some("listed"), &json!({"c": 1}))
    );
    assert_eq!(
        (transcript.tokens.context, transcript.tokens.total),
        (Some(50), Some(80))
    );
    assert_eq!(transcript.cwd.as_deref(), Some("/work"));
    let forked = fork(&transcript, &cut(&transcript, 1));
    assert_eq!(forked, kept.replace("\"old\"", &format!("\"{NEW}\"")));
}

#[test]
fn messages_taken_back_are_left_out_but_can_be_gone_back_to() {
    let mut chat = Chat::new();
    chat.user("u1", "one").answer("g1", "first", 10);
    chat.user("u2", "wrong")
        .answer("g2", "no", 20)
        .line(&json!({"$rewindTo": "u2"}));
    chat.user("u3", "two")
        .answer("g3", "second", 20)
        .user("u4", "three");
    let transcript = chat.read();
    assert_eq!(prompts(&transcript), ["one", "two", "three"]);
    assert_eq!(transcript.abandoned.len(), 1);
    let forked = fork(&transcript, &cut(&transcript, 2));
    assert!(!forked.contains("wrong") && !forked.contains("rewindTo"));
    let again = transcript.abandoned[0].cut.expect("still in the file");
    let forked = fork(&transcript, &again);
    assert!(forked.contains("first") && !forked.contains("wrong") && !forked.contains("second"));
}

#[test]
fn rewinding_to_an_unknown_message_clears_the_chat() {
    let mut chat = Chat::new();
    chat.user("u1", "one")
        .answer("g1", "first", 10)
        .line(&json!({"$rewindTo": "nowhere"}));
    chat.user("u2", "two");
    assert_eq!(prompts(&chat.read()), ["two"]);
}

#[test]
fn a_compressed_history_is_no_loss_of_what_was_said() {
    let mut chat = Chat::new();
    chat.user("u1", "one").answer("g1", "first", 10);
    chat.line(&json!({"$set": {"messages": [{"id": "s", "type": "user", "content": "summary"}]}}));
    chat.user("u2", "two")
        .line(&json!({"id": "i", "type": "info", "content": "note"}));
    let transcript = chat.read();
    assert_eq!(prompts(&transcript), ["one", "two"]);
    assert_eq!(transcript.compactions.len(), 1);
    assert_eq!(transcript.compactions[0].messages, 2);
}

/// What the program has of a log: a reading of its own, with nothing of ours in it.
fn history(log: &str) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    let id = |message: &Value| message["id"].as_str().map(str::to_owned);
    for line in log.lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        if let Some(to) = record["$rewindTo"].as_str() {
            let at = ids.iter().position(|id| id == to).unwrap_or(0);
            ids.truncate(at);
        } else if let Some(set) = record["$set"]["messages"].as_array() {
            ids = set.iter().filter_map(id).collect();
        } else if let Some(id) = id(&record)
            && !ids.contains(&id)
        {
            ids.push(id);
        }
    }
    ids
}

#[test]
fn what_was_taken_back_out_of_a_history_that_was_set_does_not_come_back() {
    let message = |id: &str| json!({"id": id, "type": if id.starts_with('g') { "gemini" } else { "user" }, "content": id});
    let sets: [&[&str]; 4] = [
        &["u1", "g1", "u2", "g2", "u3", "g3"],
        &["sum", "u3", "g3"],
        &["sum", "g-sum"],
        &[],
    ];
    for (set, to) in sets
        .iter()
        .flat_map(|set| ["u1", "u2", "u3", "sum", "g-sum", "u4", "nowhere"].map(|to| (*set, to)))
    {
        let mut chat = Chat::new();
        for n in 1..=3 {
            chat.user(&format!("u{n}"), &format!("prompt {n}"));
            chat.answer(&format!("g{n}"), "yes", 10);
        }
        let set: Vec<Value> = set.iter().map(|id| message(id)).collect();
        chat.line(&json!({"$set": {"messages": set}}));
        chat.user("u4", "prompt 4").answer("g4", "yes", 10);
        chat.line(&json!({"$rewindTo": to}));
        chat.user("u5", "prompt 5").answer("g5", "yes", 10);
        chat.user("u6", "prompt 6").answer("g6", "yes", 10);
        let transcript = chat.read();
        let all = transcript.prompts.iter().chain(&transcript.abandoned);
        let mut seen = Vec::new();
        for prompt in all {
            let cut = prompt.cut.expect("held");
            let wanted =
                history(&chat.text[..usize::try_from(cut.position.offset).expect("small")]);
            seen.push(prompt.text.clone());
            let plan = plan_fork(&transcript, &cut).expect("planned");
            let found = plan.map(|_| history(&fork(&transcript, &cut)));
            let said = format!("{set:?} to {to}, at {}", prompt.text);
            assert_eq!(found.unwrap_or_default(), wanted, "{said}");
        }
        seen.sort();
        let every: Vec<String> = (1..=6).map(|n| format!("prompt {n}")).collect();
        assert_eq!(seen, every, "{set:?} to {to}");
    }
}

#[test]
fn a_fork_whose_history_is_another_is_refused() {
    let mut chat = Chat::new();
    chat.user("u1", "one").answer("g1", "first", 10);
    chat.line(&json!({"$set": {"messages": [{"id": "u1", "type": "user", "content": "one"}]}}));
    chat.line(&json!({"$rewindTo": "u1"}));
    chat.user("u2", "two").answer("g2", "second", 10);
    chat.user("u3", "three");
    let transcript = chat.read();
    let cut = cut(&transcript, 1);
    let dest = chat.dir.path().join("fork.jsonl");
    let same = chat.text[..usize::try_from(cut.position.offset).expect("small")].to_owned();
    for (text, is_same) in [
        (same.clone(), true),
        (same.replace("{\"$rewindTo\": \"u1\"}\n", ""), false),
    ] {
        std::fs::write(&dest, text).expect("written");
        let found = super::fork::is_same_history(&transcript.path, &cut, &dest);
        assert_eq!(found.expect("read"), is_same);
    }
}

#[test]
fn a_message_with_an_unanswered_call_is_left_out() {
    let mut chat = Chat::new();
    chat.user("u1", "one")
        .answer("g1", "first", 10)
        .call("g2", "c1", None);
    chat.user("u2", "two").text.push_str("{\"id\": \"torn");
    let transcript = chat.read();
    assert_eq!(transcript.skipped, 1);
    assert!(!fork(&transcript, &cut(&transcript, 1)).contains("c1"));
}

#[test]
fn a_message_of_a_history_that_was_set_goes_with_its_unanswered_call() {
    let text = |id: &str| json!({"id": id, "type": "user", "content": id});
    let open = |id: &str| json!({"id": id, "type": "gemini", "content": "", "toolCalls": [{"id": format!("call-{id}"), "name": "n", "args": {}}]});
    for (set, answered, left) in [
        (vec![text("s"), open("g2")], None, &["s"][..]),
        (vec![open("g2"), text("s"), text("t")], None, &["s", "t"]),
        (vec![open("g2"), open("g3"), text("s")], None, &["s"]),
        (
            vec![text("s"), open("g2"), open("g3"), text("t")],
            None,
            &["s", "t"],
        ),
        (vec![open("g2"), open("g3")], None, &[]),
        (vec![text("s"), open("g2")], Some("g2"), &["s", "g2"]),
    ] {
        let mut chat = Chat::new();
        chat.user("u1", "one").answer("g1", "first", 10);
        chat.line(&json!({"$set": {"sessionId": "old", "messages": set}}));
        if let Some(id) = answered {
            chat.call(id, &format!("call-{id}"), Some("done"));
        }
        let before = chat.text.clone();
        chat.user("u2", "two").answer("g4", "second", 10);
        let transcript = chat.read();
        let cut = cut(&transcript, 1);
        let forked = fork(&transcript, &cut);
        assert_eq!(history(&forked), left, "{set:?}");
        assert_eq!(forked.contains("call-"), answered.is_some(), "{forked}");
        assert!(!forked.contains("\"old\""), "{forked}");
        // A fork that has such a call is none.
        let dest = chat.dir.path().join("fork.jsonl");
        std::fs::write(&dest, before).expect("written");
        let is_same = super::fork::is_same_history(&transcript.path, &cut, &dest);
        assert_eq!(is_same.expect("read"), answered.is_some());
    }
}

/// A document of the older format, laid out as the program does.
fn document(messages: &[Value]) -> (tempfile::TempDir, PathBuf, String) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let text = format!(
        "{:#}",
        json!({"sessionId": "old", "projectHash": "h", "messages": messages, "summary": "s"})
    );
    let path = dir.path().join("session-2026-01-01T00-00-old.json");
    std::fs::write(&path, &text).expect("written");
    (dir, path, text)
}

#[test]
fn a_document_keeps_its_text_around_the_messages() {
    let user = |id: &str, text: &str| json!({"id": id, "type": "user", "content": text});
    let answer = |id: &str, text: &str| json!({"id": id, "type": "gemini", "content": text});
    let open = json!({"id": "g0", "type": "gemini", "content": "", "toolCalls": [{"id": "c", "name": "n", "args": {}}]});
    let (_dir, path, text) = document(&[
        user("u1", "one"),
        open,
        answer("g1", "first"),
        user("u2", "two"),
        answer("g2", "second"),
    ]);
    let transcript = read(&path, Detail::Full).expect("readable");
    assert_eq!(prompts(&transcript), ["one", "two"]);
    let forked = fork(&transcript, &cut(&transcript, 1));
    let value: Value = serde_json::from_str(&forked).expect("JSON");
    let ids: Vec<&str> = value["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|m| m["id"].as_str())
        .collect();
    assert_eq!(ids, ["u1", "g1"]);
    assert_eq!(
        (&value["sessionId"], &value["summary"]),
        (&json!(NEW), &json!("s"))
    );
    let expected = format!(
        "{:#}",
        json!({"sessionId": NEW, "projectHash": "h", "messages": [user("u1", "one"), answer("g1", "first")], "summary": "s"})
    );
    assert_eq!(forked, expected);
    assert!(
        plan_fork(&transcript, &cut(&transcript, 0))
            .expect("planned")
            .is_none()
    );
    let bad = path.with_file_name("bad.json");
    std::fs::write(&bad, text.replace("first", "other")).expect("written");
    assert!(validate_fork("gemini", &[&path], &bad).is_err());
}

#[test]
fn what_was_shown_is_what_was_typed() {
    let mut chat = Chat::new();
    chat.line(&json!({"id": "u1", "type": "user", "content": [{"text": "see @a.rs"}, {"text": "--- whole file ---"}], "displayContent": "see @a.rs"}));
    chat.line(&json!({"id": "u2", "type": "user", "content": [{"functionResponse": {"id": "c"}}]}));
    assert_eq!(prompts(&chat.read()), ["see @a.rs"]);
}
