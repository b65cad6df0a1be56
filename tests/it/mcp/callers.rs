//! Whose doing a call is: the session that the client names, else the one that the agent's variable leads to.

use serde_json::{Value, json};

use super::client::Client;
use crate::sandbox::Sandbox;
use crate::transcripts::{Kind, Talk};

const FIRST: &str = "11111111-1111-4111-8111-111111111111";
const SECOND: &str = "22222222-2222-4222-8222-222222222222";
const THIRD: &str = "33333333-3333-4333-8333-333333333333";

/// A session that was started and had a turn.
fn session<'s>(sandbox: &'s Sandbox, kind: Kind, id: &str, source: &str) -> Talk<'s> {
    let talk = Talk::with_id(sandbox, kind, id);
    talk.hook("SessionStart", &json!({"source": source}));
    talk.turn(&format!("asked in {}", &id[..1]), 100);
    talk
}

fn report() -> Value {
    json!({"task_context": "a", "symptom": "b", "success_criteria": "c"})
}

/// What was said first in the conversation of an issue that is reported now.
fn said(sandbox: &Sandbox, client: &mut Client) -> (Value, Value) {
    let issue = client.tool("issue_report", &report())["issue"].clone();
    let id = issue["issue_id"].as_str().unwrap();
    let chat = sandbox.json(["issue", "chat", id]);
    (
        issue["session_id"].clone(),
        chat["chat"]["messages"][0]["text"].clone(),
    )
}

#[test]
fn a_server_that_outlives_its_session_works_for_the_one_that_follows() {
    let sandbox = Sandbox::new();
    let first = session(&sandbox, Kind::Claude, FIRST, "startup");
    let mut client = Client::with_variable(&sandbox, "CLAUDE_CODE_SESSION_ID", FIRST);
    let mut made = || client.tool("timewarp_checkpoint", &json!({}))["checkpoint"].clone();
    assert_eq!(made()["session_id"], FIRST);
    // Another one that runs beside it changes nothing.
    let beside = session(&sandbox, Kind::Claude, THIRD, "startup");
    assert_eq!(made()["session_id"], FIRST);
    first.hook("SessionEnd", &json!({"reason": "clear"}));
    assert_eq!(made()["session_id"], FIRST, "no other one began since");
    first.hook("SessionEnd", &json!({"reason": "clear"}));
    beside.hook("SessionStart", &json!({"source": "compact"}));
    let second = session(&sandbox, Kind::Claude, SECOND, "clear");
    assert_eq!(made()["session_id"], SECOND);
    assert_eq!(
        said(&sandbox, &mut client),
        (json!(SECOND), json!("asked in 2"))
    );
    let gone_back = client.tool(
        "timewarp_rewind",
        &json!({"checkpoint": "0", "conversation": true}),
    );
    assert_eq!(gone_back["checkpoint"]["session_id"], SECOND);
    let note = client.tool("backtrack", &json!({"checkpoint": 0, "note": "n"}));
    assert_eq!(note["backtrack"]["session_id"], SECOND);
    let shown = client.tool("timewarp_list", &json!({"limit": 1}));
    assert_eq!(shown["snapshots"][0]["session_id"], SECOND);
    let status = client.tool("timewarp_status", &json!({}));
    assert_eq!(status["session"]["session_id"], SECOND);
    let listed = sandbox.json(["session", "show", FIRST]);
    assert_eq!(listed["session"]["live"], false, "it stays ended");
    // And on to one that was begun before, and back to the first.
    second.hook("SessionEnd", &json!({"reason": "resume"}));
    beside.hook("SessionStart", &json!({"source": "resume"}));
    assert_eq!(said(&sandbox, &mut client).0, THIRD);
    beside.hook("SessionEnd", &json!({"reason": "resume"}));
    first.hook("SessionStart", &json!({"source": "resume"}));
    assert_eq!(
        said(&sandbox, &mut client),
        (json!(FIRST), json!("asked in 1"))
    );
}

#[test]
fn the_thread_that_a_call_names_is_the_caller() {
    let sandbox = Sandbox::new();
    for id in [FIRST, SECOND] {
        session(&sandbox, Kind::Codex, id, "startup");
    }
    session(&sandbox, Kind::Claude, THIRD, "startup");
    let mut client = Client::with_variable(&sandbox, "CLAUDE_CODE_SESSION_ID", THIRD);
    let mut called = |tool: &str, arguments: Value, meta: Value| {
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        client.ask("tools/call", &params)["structuredContent"].clone()
    };
    let mut caller = |meta: Value| {
        let made = called("timewarp_checkpoint", json!({}), meta);
        made["checkpoint"]["session_id"].clone()
    };
    assert_eq!(
        caller(json!({"threadId": FIRST, "sessionId": FIRST})),
        FIRST
    );
    let turn = json!({"x-codex-turn-metadata": {"thread_id": FIRST, "session_id": SECOND}});
    assert_eq!(caller(turn), FIRST);
    // A sub-agent's thread that nobody told of belongs to its session.
    let unknown = "44444444-4444-4444-8444-444444444444";
    assert_eq!(
        caller(json!({"threadId": unknown, "sessionId": SECOND})),
        SECOND
    );
    for other in [
        json!({"threadId": unknown, "sessionId": "../x"}),
        // Of another agent, by whatever it means.
        json!({"threadId": THIRD}),
        json!({"threadId": 7, "x-codex-turn-metadata": "text"}),
        json!({}),
    ] {
        assert_eq!(caller(other), THIRD);
    }
    let reported = called("issue_report", report(), json!({"threadId": FIRST}));
    assert_eq!(reported["issue"]["session_id"], FIRST);
    let id = reported["issue"]["issue_id"].as_str().unwrap();
    let chat = sandbox.json(["issue", "chat", id]);
    assert_eq!(chat["chat"]["messages"][0]["text"], "asked in 1");
}
