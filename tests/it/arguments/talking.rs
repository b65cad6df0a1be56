//! Sessions, checkpoints, backtracks and context logs: the arguments that no other test gives in one list.

use serde_json::{Value, json};

use super::column;
use crate::sandbox::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(["session", "start", "--session", "work"]);
    sandbox
}

#[test]
fn a_list_of_sessions_is_as_long_and_as_wide_as_asked_for() {
    let sandbox = sandbox();
    sandbox.json(["session", "start", "--session", "second"]);
    sandbox.git(["worktree", "add", "-q", "../other"]);
    let other = sandbox.root().join("other");
    let ran = sandbox.tw_in(&other, ["session", "start", "--session", "elsewhere"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    let all = sandbox.json(["session", "list"]);
    assert_eq!(column(&all["sessions"], "session_id"), ["second", "work"]);
    let short = sandbox.json(["session", "list", "-n", "1"]);
    assert_eq!(column(&short["sessions"], "session_id"), ["second"]);
    let wide = sandbox.json(["session", "list", "--all-worktrees"]);
    let ids = column(&wide["sessions"], "session_id");
    assert!(ids.contains(&"elsewhere"), "{wide}");
}

#[test]
fn checkpoints_are_of_a_kind_and_of_a_session() {
    let sandbox = sandbox();
    sandbox.json(["session", "start", "--session", "second"]);
    let kinds = [
        (
            sandbox.json([
                "checkpoint",
                "--session",
                "work",
                "--kind",
                "prompt",
                "-m",
                "a",
            ]),
            "prompt",
        ),
        (
            sandbox.json([
                "checkpoint",
                "--session",
                "work",
                "--kind",
                "step",
                "-m",
                "b",
            ]),
            "step",
        ),
        (
            sandbox.json([
                "checkpoint",
                "--session",
                "work",
                "--kind",
                "manual",
                "-m",
                "c",
            ]),
            "manual",
        ),
    ];
    for (made, kind) in &kinds {
        assert_eq!(made["checkpoint"]["kind"], *kind, "{made}");
        assert_eq!(made["checkpoint"]["session_id"], "work");
    }
    let listed = sandbox.json(["checkpoint", "list", "-n", "2", "--session", "work"]);
    let ids: Vec<_> = listed["checkpoints"].as_array().unwrap().iter().collect();
    assert_eq!(ids.len(), 2, "{listed}");
    assert_eq!(
        ids.iter().filter(|one| one["checkpoint_id"] == 0).count(),
        0
    );
    let shown = sandbox.json(["checkpoint", "show", "1", "--session", "work"]);
    assert_eq!(shown["checkpoint"]["prompt"], "b");
}

#[test]
fn a_backtrack_says_why_and_is_cancelled_for_its_session() {
    let sandbox = sandbox();
    sandbox.json(["checkpoint", "-m", "a"]);
    sandbox.json(["session", "start", "--session", "second"]);
    let sent = sandbox.json([
        "backtrack",
        "0",
        "--note",
        "n",
        "--rationale",
        "because",
        "--session",
        "work",
    ]);
    assert_eq!(sent["backtrack"]["rationale"], "because");
    sandbox.json(["backtrack", "cancel", "--session", "second"]);
    let shown = sandbox.json(["backtrack", "show", "--session", "work"]);
    assert_eq!(shown["backtrack"]["note"], "n", "another session's stays");
    sandbox.json(["backtrack", "cancel", "--session", "work"]);
    let taken = sandbox.json(["backtrack", "take", "--session", "work"]);
    assert_eq!(taken["backtrack"], Value::Null);
    sandbox.ok(["dmail", "0", "--note", "again", "--session", "work"]);
    let taken = sandbox.json(["backtrack", "take", "--session", "work"]);
    assert_eq!(taken["backtrack"]["note"], "again");
}

#[test]
fn a_context_log_may_be_any_file() {
    let sandbox = sandbox();
    let file = sandbox.home().join("log.jsonl");
    let file = file.to_str().unwrap();
    let call = json!({"role": "assistant", "content": [], "tool_calls": [
        {"type": "function", "id": "c1", "function": {"name": "Shell", "arguments": "{}"}}]});
    sandbox.json([
        "context", "append", "--file", file, "--role", "user", "do it",
    ]);
    sandbox.json(["context", "append", "--file", file, &call.to_string()]);
    sandbox.json([
        "context",
        "append",
        "--file",
        file,
        "--role",
        "tool",
        "--tool-call-id",
        "c1",
        "done",
    ]);
    sandbox.json(["context", "checkpoint", "--file", file, "--marker"]);
    sandbox.json(["context", "usage", "--file", file, "70000"]);
    let shown = sandbox.json(["context", "show", "--file", file]);
    assert_eq!(shown["token_count"], 70000, "{shown}");
    let records = shown["records"].to_string();
    assert!(records.contains("\"tool_call_id\":\"c1\""), "{records}");
    assert!(records.contains("CHECKPOINT 0"), "{records}");
    let summary = sandbox.home().join("summary");
    std::fs::write(&summary, "in short").unwrap();
    let summary = summary.to_str().unwrap();
    // 70,000 and 20,000 do not reach 100,000; with 30,000 they do.
    let stays = sandbox.json([
        "context",
        "compact",
        "--file",
        file,
        "--summary-file",
        summary,
        "--keep",
        "0",
        "--if-over",
        "100000",
        "--reserved",
        "20000",
    ]);
    assert_eq!(stays["compacted"], false, "{stays}");
    let shorter = sandbox.json([
        "context",
        "compact",
        "--file",
        file,
        "--summary-file",
        summary,
        "--keep",
        "0",
        "--if-over",
        "100000",
        "--reserved",
        "30000",
    ]);
    assert_eq!(shorter["compacted"], true, "{shorter}");
    assert!(std::fs::read_to_string(file).unwrap().contains("in short"));
}

#[test]
fn a_context_log_may_be_another_session_s() {
    let sandbox = sandbox();
    sandbox.json(["session", "start", "--session", "second"]);
    sandbox.json([
        "context",
        "append",
        "--session",
        "work",
        "--role",
        "user",
        "hello",
    ]);
    sandbox.json(["context", "checkpoint", "--session", "work"]);
    sandbox.json([
        "context",
        "append",
        "--session",
        "work",
        "--role",
        "user",
        "wrong",
    ]);
    assert!(!sandbox.exists(".git/timewarp/contexts/second.jsonl"));
    sandbox.json([
        "context",
        "revert",
        "--session",
        "work",
        "0",
        "--note",
        "not so",
    ]);
    let text = sandbox.text(".git/timewarp/contexts/work.jsonl");
    assert!(text.contains("hello") && text.contains("not so"), "{text}");
    assert!(!text.contains("wrong"), "{text}");
}

#[test]
fn a_call_of_the_server_may_stand_on_standard_input() {
    let sandbox = Sandbox::new();
    let job = json!({"work": {"Tool": ["timewarp_status", {}]}, "roots": null}).to_string();
    let mut command = sandbox.tw_command();
    let output = command
        .args(["mcp", "--call"])
        .write_stdin(job)
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&answer["ok"], &answer["mode"]),
        (&json!(true), &json!("present")),
        "{answer}"
    );
}

#[test]
fn a_hook_takes_the_agents_own_words_as_well() {
    let sandbox = Sandbox::new();
    let payload = json!({"session_id": "one", "cwd": sandbox.repo()}).to_string();
    let ran = sandbox.tw(["hook", "claude", "session-start", "--more", &payload]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    let shown = sandbox.json(["session", "show", "one"]);
    assert_eq!(shown["session"]["agent"], "claude", "{shown}");
}
