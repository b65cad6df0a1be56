//! `tw issue`: the arguments that no other test gives in one list.

use serde_json::{Value, json};

use super::column;
use crate::sandbox::Sandbox;

/// A session file with so many turns: `ask 1`, `answer 1`, ….
fn transcript(sandbox: &Sandbox, turns: u32) -> String {
    let mut text = String::new();
    let mut parent = Value::Null;
    for turn in 1..=turns {
        for (role, said) in [("user", "ask"), ("assistant", "answer")] {
            let uuid = format!("{role}{turn}");
            let row = json!({
                "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "talk", "cwd": sandbox.repo(),
                "version": "2.0.0", "timestamp": "2026-02-28T15:00:00.000Z", "isSidechain": false, "userType": "external",
                "message": {"role": role, "content": [{"type": "text", "text": format!("{said} {turn}")}]},
            });
            parent = uuid.into();
            text.push_str(&format!("{row}\n"));
        }
    }
    let path = sandbox.home().join("talk.jsonl");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn said(chat: &Value) -> Vec<&str> {
    column(&chat["messages"], "text")
}

#[test]
fn a_report_takes_every_text() {
    let sandbox = Sandbox::new();
    let reported = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "s",
        "--success-criteria",
        "c",
        "--suspected-cause",
        "because",
        "--chat-summary",
        "in short",
        "--severity",
        "high",
        "--session",
        "talk",
        "--verify",
        "true",
    ]);
    let issue = &reported["issue"];
    for (field, text) in [
        ("task_context", "t"),
        ("symptom", "s"),
        ("success_criteria", "c"),
        ("suspected_cause", "because"),
        ("chat_summary", "in short"),
        ("severity", "high"),
        ("session_id", "talk"),
        ("verify_command", "true"),
    ] {
        assert_eq!(issue[field], text, "{reported}");
    }
    let low = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "2",
        "--success-criteria",
        "c",
        "--severity",
        "low",
    ]);
    assert_eq!(low["issue"]["severity"], "low");
    let medium = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "3",
        "--success-criteria",
        "c",
        "--severity",
        "medium",
    ]);
    assert_eq!(medium["issue"]["severity"], "medium");
}

#[test]
fn a_report_keeps_so_much_of_the_conversation() {
    let sandbox = Sandbox::new();
    let file = transcript(&sandbox, 3);
    let last = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "s",
        "--success-criteria",
        "c",
        "--transcript",
        &file,
        "--last",
        "2",
    ]);
    let id = last["issue_id"].as_str().unwrap();
    let all = sandbox.json(["issue", "chat", id]);
    assert_eq!(
        said(&all["chat"]),
        ["ask 2", "answer 2", "ask 3", "answer 3"],
        "{all}"
    );
    let one = sandbox.json(["issue", "chat", id, "--last", "1"]);
    assert_eq!(said(&one["chat"]), ["ask 3", "answer 3"], "{one}");
    let window = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "other",
        "--success-criteria",
        "c",
        "--transcript",
        &file,
        "--window",
        "1,0",
    ]);
    let id = window["issue_id"].as_str().unwrap();
    let chat = sandbox.json(["issue", "chat", id]);
    let kept = said(&chat["chat"]);
    assert_eq!(kept, ["ask 3", "answer 3"], "{window}");
}

#[test]
fn an_edit_changes_every_text() {
    let sandbox = Sandbox::new();
    let reported = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "s",
        "--success-criteria",
        "c",
    ]);
    let id = reported["issue_id"].as_str().unwrap();
    sandbox.json([
        "issue",
        "edit",
        id,
        "--task-context",
        "T",
        "--symptom",
        "S",
        "--success-criteria",
        "C",
        "--suspected-cause",
        "W",
        "--chat-summary",
        "M",
        "--verify",
        "false",
        "--severity",
        "low",
    ]);
    let issue = sandbox.json(["issue", "get", id])["issue"].clone();
    for (field, text) in [
        ("task_context", "T"),
        ("symptom", "S"),
        ("success_criteria", "C"),
        ("suspected_cause", "W"),
        ("chat_summary", "M"),
        ("verify_command", "false"),
        ("severity", "low"),
    ] {
        assert_eq!(issue[field], text, "{issue}");
    }
    sandbox.json(["issue", "edit", id, "--severity", "medium"]);
    assert_eq!(
        sandbox.json(["issue", "get", id])["issue"]["severity"],
        "medium"
    );
    sandbox.json(["issue", "edit", id, "--severity", "high"]);
    assert_eq!(
        sandbox.json(["issue", "get", id])["issue"]["severity"],
        "high"
    );
    sandbox.json(["issue", "experiment", id, "--validation", "ran it"]);
    let experiment = sandbox.json(["issue", "get", id])["issue"]["experiment"].clone();
    assert_eq!(experiment["validation"], "ran it");
}

/// One issue of each status; its symptom is its status.
fn one_of_each(sandbox: &Sandbox) {
    let mut ids = Vec::new();
    for status in ["open", "experimenting", "fixed", "wontfix", "duplicate"] {
        let reported = sandbox.json([
            "issue",
            "report",
            "--task-context",
            "t",
            "--symptom",
            status,
            "--success-criteria",
            "c",
        ]);
        ids.push(reported["issue_id"].as_str().unwrap().to_owned());
    }
    sandbox.json(["issue", "close", &ids[2], "--status", "fixed"]);
    sandbox.json(["issue", "close", &ids[3], "--status", "wontfix"]);
    sandbox.json([
        "issue",
        "close",
        &ids[4],
        "--status",
        "duplicate",
        "--of",
        &ids[0],
    ]);
    sandbox.json(["issue", "start", &ids[1]]);
}

fn symptoms(found: &Value) -> Vec<&str> {
    column(&found["issues"], "symptom")
}

#[test]
fn lists_and_searches_keep_to_a_status() {
    let sandbox = Sandbox::new();
    one_of_each(&sandbox);
    let list = [
        (sandbox.json(["issue", "list", "--status", "open"]), "open"),
        (
            sandbox.json(["issue", "list", "--status", "experimenting"]),
            "experimenting",
        ),
        (
            sandbox.json(["issue", "list", "--status", "fixed"]),
            "fixed",
        ),
        (
            sandbox.json(["issue", "list", "--status", "wontfix"]),
            "wontfix",
        ),
        (
            sandbox.json(["issue", "list", "--status", "duplicate"]),
            "duplicate",
        ),
    ];
    for (found, status) in &list {
        assert_eq!(symptoms(found), [*status], "{found}");
    }
    let search = [
        (
            sandbox.json(["issue", "search", "e", "--status", "open"]),
            "open",
        ),
        (
            sandbox.json(["issue", "search", "e", "--status", "experimenting"]),
            "experimenting",
        ),
        (
            sandbox.json(["issue", "search", "e", "--status", "fixed"]),
            "fixed",
        ),
        (
            sandbox.json(["issue", "search", "i", "--status", "wontfix"]),
            "wontfix",
        ),
        (
            sandbox.json(["issue", "search", "e", "--status", "duplicate"]),
            "duplicate",
        ),
    ];
    for (found, status) in &search {
        assert_eq!(symptoms(found), [*status], "{found}");
    }
    let all = sandbox.json(["issue", "search", "e", "--status", "all"]);
    assert!(symptoms(&all).len() >= 4, "{all}");
    let two = sandbox.json(["issue", "list", "--status", "all", "--limit", "2"]);
    assert_eq!(symptoms(&two), ["duplicate", "wontfix"]);
}

#[test]
fn apply_takes_the_run_that_is_named() {
    let sandbox = Sandbox::new();
    let reported = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "s",
        "--success-criteria",
        "c",
    ]);
    let id = reported["issue_id"].as_str().unwrap();
    for text in ["first\n", "second\n"] {
        sandbox.json(["issue", "start", id]);
        sandbox.write("a.txt", text);
        sandbox.json(["return"]);
    }
    sandbox.json(["issue", "apply", id, "--run", "1"]);
    assert_eq!(sandbox.text("a.txt"), "first\n");
}
