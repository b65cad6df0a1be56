//! Backtrack: a message to an earlier self that waits to be taken.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// A session with a context log of three checkpoints.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(["session", "start", "--session", "work"]);
    for _ in 0..3 {
        sandbox.json(["context", "checkpoint"]);
        sandbox.json(["context", "append", "--role", "user", "hello"]);
    }
    sandbox
}

fn send(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.json([&["backtrack"], args].concat())["backtrack"].clone()
}

fn refused(sandbox: &Sandbox, args: &[&str]) -> (Value, i32) {
    sandbox.json_error([&["backtrack"], args].concat())
}

/// A checkpoint as it stands in a session's note.
fn entry(id: u32, created_at: &str, offset: usize) -> Value {
    json!({"version": 1, "checkpoint_id": id, "created_at": created_at, "kind": "manual",
        "snapshot_id": "s_20260228_153000_abcdef", "transcript": {"offset": offset}})
}

/// Gives the session checkpoints of its own, as notes on its snapshot.
fn with_notes(sandbox: &Sandbox, session: &str, body: &Value) {
    let shown = sandbox.json(["show", "session"]);
    let commit = shown["snapshot"]["commit"].as_str().unwrap();
    let notes = format!("refs/notes/timewarp/sessions/{session}");
    let body = body.to_string();
    sandbox.git(["notes", "--ref", &notes, "add", "-m", &body, commit]);
}

#[test]
fn a_message_waits_until_it_is_taken() {
    let sandbox = sandbox();
    assert_eq!(
        sandbox.json(["backtrack", "take"])["backtrack"],
        Value::Null
    );
    let args = [
        "1",
        "--note",
        " it is in\nlex.rs ",
        "--rationale",
        "long search",
    ];
    let sent = send(&sandbox, &args);
    assert_eq!(
        sent,
        json!({"session_id": "work", "checkpoint_id": 1, "of": "context", "note": "it is in\nlex.rs",
            "rationale": "long search", "created_at": sent["created_at"]})
    );
    let file = sandbox.path(".git/timewarp/backtracks/work.json");
    let mode = file.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(sandbox.json(["backtrack", "show"])["backtrack"], sent);
    assert_eq!(sandbox.json(["backtrack", "take"])["backtrack"], sent);
    assert_eq!(
        sandbox.json(["backtrack", "take"])["backtrack"],
        Value::Null
    );
    assert_eq!(
        sandbox.json(["backtrack", "show"])["backtrack"],
        Value::Null
    );
}

#[test]
fn one_waits_at_a_time_and_a_rejected_call_drops_it() {
    let sandbox = sandbox();
    send(&sandbox, &["0", "--note", "first"]);
    let (error, code) = refused(&sandbox, &["1", "--note", "second"]);
    assert_eq!((&error["code"], code), (&json!("BACKTRACK_PENDING"), 4));
    assert_eq!(error["checkpoint_id"], 0);
    let cancelled = sandbox.json(["backtrack", "cancel"]);
    assert_eq!(cancelled["cancelled"], true);
    assert_eq!(cancelled["backtrack"]["note"], "first");
    assert_eq!(sandbox.json(["backtrack", "cancel"])["cancelled"], false);
    send(&sandbox, &["1", "--note", "second"]);
    // Other sessions have messages of their own.
    sandbox.json(["session", "start", "--session", "other"]);
    assert_eq!(
        sandbox.json(["backtrack", "show"])["backtrack"],
        Value::Null
    );
    let shown = sandbox.json(["backtrack", "show", "--session", "work"]);
    assert_eq!(shown["backtrack"]["note"], "second");
}

#[test]
fn a_bad_id_lists_the_range() {
    let sandbox = sandbox();
    for id in ["3", "-1", "work:9", "checkpoint:9"] {
        let (error, code) = refused(&sandbox, &[id, "--note", "x"]);
        assert_eq!(
            (&error["code"], code),
            (&json!("INVALID_CHECKPOINT"), 3),
            "{id}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("checkpoints 0 to 2"), "{message}");
        assert_eq!(error["available"], json!([0, 1, 2]));
    }
    let (error, _) = refused(&sandbox, &["soon", "--note", "x"]);
    assert_eq!(error["code"], "INVALID_CHECKPOINT");
    for args in [["1", "--note", " "].as_slice(), &["1"], &["--note", "x"]] {
        assert_eq!(refused(&sandbox, args).0["code"], "USAGE", "{args:?}");
    }
    assert_eq!(
        send(&sandbox, &["work:2", "--note", "x"])["checkpoint_id"],
        2
    );
}

#[test]
fn a_compacted_log_has_no_way_back() {
    let sandbox = sandbox();
    sandbox.json([
        "context",
        "compact",
        "--keep",
        "1",
        "--summary-file",
        "a.txt",
    ]);
    let (error, code) = refused(&sandbox, &["1", "--note", "x"]);
    assert_eq!(
        (&error["code"], code),
        (&json!("CHECKPOINT_UNAVAILABLE"), 3)
    );
    assert_eq!(error["available"], json!([2, 3]));
    // What was sent before and is taken after is dropped, and said.
    send(&sandbox, &["2", "--note", "look"]);
    sandbox.json([
        "context",
        "compact",
        "--keep",
        "0",
        "--summary-file",
        "a.txt",
    ]);
    let (error, _) = refused(&sandbox, &["take"]);
    assert_eq!(error["code"], "CHECKPOINT_UNAVAILABLE");
    assert_eq!(error["note"], "look");
    assert_eq!(
        sandbox.json(["backtrack", "take"])["backtrack"],
        Value::Null
    );
}

#[test]
fn the_session_s_own_checkpoints_come_first() {
    let sandbox = sandbox();
    let at = |minute: u32| format!("2026-02-28T15:{minute}:00Z");
    let body = json!({"version": 1, "session_id": "work", "next_checkpoint_id": 8,
        "checkpoints": [entry(4, &at(31), 0), entry(5, &at(32), 0), entry(7, &at(59), 0)]});
    with_notes(&sandbox, "work", &body);
    let sent = send(&sandbox, &["5", "--note", "x"]);
    assert_eq!(
        (&sent["of"], &sent["checkpoint_id"]),
        (&json!("session"), &json!(5))
    );
    sandbox.json(["backtrack", "take"]);
    let (error, _) = refused(&sandbox, &["6", "--note", "x"]);
    assert_eq!(error["code"], "CHECKPOINT_UNAVAILABLE", "it was there once");
    let (error, _) = refused(&sandbox, &["8", "--note", "x"]);
    assert_eq!(error["code"], "INVALID_CHECKPOINT");
    // The agent says that it has compacted: what was before is gone.
    sandbox.json([
        "session",
        "start",
        "--session",
        "work",
        "--source",
        "compact",
    ]);
    let (error, code) = refused(&sandbox, &["5", "--note", "x"]);
    assert_eq!(
        (&error["code"], code),
        (&json!("CHECKPOINT_UNAVAILABLE"), 3)
    );
    assert_eq!(error["available"], json!([7]));
    assert_eq!(send(&sandbox, &["7", "--note", "x"])["checkpoint_id"], 7);
}

#[test]
fn an_agent_that_tells_of_a_compaction_by_a_hook_is_heard() {
    for (agent, event, payload) in [
        ("codex", "PostCompact", json!({"session_id": "work"})),
        (
            "opencode",
            "session.compacted",
            json!({"type": "session.compacted", "properties": {"sessionID": "work"}}),
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.json(["session", "start", "--session", "work"]);
        for text in ["one", "two"] {
            sandbox.json(["checkpoint", "-m", text, "--session", "work"]);
        }
        let mut command = sandbox.tw_command();
        command.args(["hook", agent, event]);
        let output = command.write_stdin(payload.to_string()).output().unwrap();
        assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b""[..]));
        let (error, _) = refused(&sandbox, &["1", "--note", "x"]);
        assert_eq!(error["code"], "CHECKPOINT_UNAVAILABLE", "{agent}");
        sandbox.json(["checkpoint", "-m", "three", "--session", "work"]);
        assert_eq!(send(&sandbox, &["2", "--note", "x"])["checkpoint_id"], 2);
    }
}

#[test]
fn a_compaction_in_the_agent_s_own_file_counts() {
    let sandbox = Sandbox::new();
    let row = |uuid: &str, parent: Value, more: &Value| {
        let mut row = json!({"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "work",
            "timestamp": "2026-02-28T15:31:00.000Z", "cwd": "/x", "version": "2.1.100", "isSidechain": false,
            "userType": "external", "message": {"role": "user", "content": "hello"}});
        for (name, value) in more.as_object().unwrap() {
            row[name] = value.clone();
        }
        row.to_string() + "\n"
    };
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted",
        "compactMetadata": {"trigger": "auto", "preTokens": 1000}, "message": null, "logicalParentUuid": "a"});
    let first = row("a", Value::Null, &json!({}));
    let text = [
        first.clone(),
        row("b", Value::Null, &boundary),
        row("c", "b".into(), &json!({})),
    ];
    sandbox.write("work.jsonl", text.concat());
    let transcript = sandbox.path("work.jsonl");
    let start = ["session", "start", "--session", "work", "--transcript"];
    sandbox.json([&start[..], &[transcript.to_str().unwrap()]].concat());
    let end = text.concat().len();
    let at = "2026-02-28T15:30:00Z";
    let body = json!({"version": 1, "session_id": "work",
        "checkpoints": [entry(0, at, 0), entry(1, at, end)]});
    with_notes(&sandbox, "work", &body);
    let (error, _) = refused(&sandbox, &["0", "--note", "x"]);
    assert_eq!(error["code"], "CHECKPOINT_UNAVAILABLE");
    assert_eq!(send(&sandbox, &["1", "--note", "x"])["checkpoint_id"], 1);
}

#[test]
fn a_sub_agent_gets_none() {
    let sandbox = sandbox();
    sandbox.json(["session", "start", "--session", "child", "--parent", "work"]);
    sandbox.json(["context", "checkpoint", "--session", "child"]);
    let (error, code) = refused(&sandbox, &["0", "--note", "x", "--session", "child"]);
    assert_eq!(
        (&error["code"], code),
        (&json!("CHECKPOINT_UNAVAILABLE"), 3)
    );
    assert_eq!(error["parent"], "work");
    let taken = sandbox.json(["backtrack", "take", "--session", "child"]);
    assert_eq!(taken["backtrack"], Value::Null);
}

#[test]
fn of_many_senders_one_is_heard_and_of_many_takers_one_gets_it() {
    let sandbox = sandbox();
    let run = |args: &[&str]| -> Vec<Value> {
        let commands: Vec<_> = (0..6).map(|_| sandbox.tw_command()).collect();
        std::thread::scope(|scope| {
            let started: Vec<_> = commands
                .into_iter()
                .map(|mut command| {
                    command.arg("--json").arg("backtrack").args(args);
                    scope.spawn(move || command.output().unwrap().stdout)
                })
                .collect();
            let ended = started.into_iter().map(|one| one.join().unwrap());
            ended
                .map(|bytes| serde_json::from_slice(&bytes).unwrap())
                .collect()
        })
    };
    let sent = run(&["1", "--note", "x"]);
    assert_eq!(sent.iter().filter(|answer| answer["ok"] == true).count(), 1);
    let taken = run(&["take"]);
    assert!(taken.iter().all(|answer| answer["ok"] == true));
    assert_eq!(
        taken
            .iter()
            .filter(|answer| !answer["backtrack"].is_null())
            .count(),
        1
    );
}

#[test]
fn people_read_it_too_and_kimi_s_name_works() {
    let sandbox = sandbox();
    assert_eq!(
        sandbox.show(&sandbox.tw(["dmail", "1", "--note", "it is in lex.rs"])),
        "exit 0\n--- stdout\na message waits to go back to checkpoint 1\n--- stderr\n\
         hint: the harness takes it with 'tw backtrack take'\n"
    );
    assert_eq!(
        sandbox.show(&sandbox.tw(["dmail", "take"])),
        "exit 0\n--- stdout\nto checkpoint 1\n\nit is in lex.rs\n"
    );
    assert_eq!(sandbox.tw(["backtrack", "take"]).out(), "");
}
