//! What comes as a line of its own: damaged, wrong, cancelled, or beside a long call.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::client::Client;
use super::ready;
use crate::sandbox::Sandbox;

#[test]
fn a_call_that_was_cut_inside_of_an_emoji_is_done() {
    let sandbox = ready();
    let mut client = Client::start(&sandbox);
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/call\",\"params\":{{\"name\":\"timewarp_snapshot\",\"arguments\":{{\"message\":\"cut \\ud83d\"}},\"_meta\":{{\"x\":[1e400,{deep}]}}}}}}"
    );
    let answer = client.raw_answer(&line);
    assert_eq!(answer["id"], 77, "{answer}");
    let snapshot = &answer["result"]["structuredContent"]["snapshot"];
    assert_eq!(snapshot["title"], "cut \u{fffd}", "{answer}");
}

#[test]
fn every_line_that_asks_for_something_is_answered() {
    let sandbox = ready();
    let mut client = Client::start(&sandbox);
    let call = |params: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\"{params}}}")
    };
    for (line, code, id) in [
        ("{nope".to_owned(), -32700, Value::Null),
        ("[]".to_owned(), -32600, Value::Null),
        (
            "{\"id\":5,\"method\":\"ping\"}".to_owned(),
            -32600,
            json!(5),
        ),
        ("x".repeat(17 << 20), -32600, Value::Null),
        (call(""), -32602, json!(5)),
        (call(",\"params\":{\"name\":1}"), -32602, json!(5)),
        (
            call(",\"params\":{\"name\":\"timewarp_status\",\"arguments\":[]}"),
            -32602,
            json!(5),
        ),
        (
            call(",\"params\":{\"name\":\"timewarp_status\",\"arguments\":\"x\"}"),
            -32602,
            json!(5),
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"resources/read\"}".to_owned(),
            -32602,
            json!(6),
        ),
    ] {
        let answer = client.raw_answer(&line);
        let about = line.get(..80).unwrap_or(&line);
        assert_eq!(answer["error"]["code"], code, "{about}: {answer}");
        assert_eq!(answer.get("id"), Some(&id), "{about}");
    }
    assert_eq!(
        client.tool("timewarp_status", &json!({}))["mode"],
        "present"
    );
}

/// A command that a person has run here, and that takes a minute by now.
fn slow(sandbox: &Sandbox) -> Value {
    sandbox.write("run.sh", "exit 0\n");
    sandbox.ok(["try", "-n", "1", "--", "sh run.sh"]);
    sandbox.write("run.sh", "touch \"$TW_SOURCE/../begun\"; sleep 60\n");
    json!({"command": "sh run.sh", "runs": 1})
}

fn wait_until(done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "in time");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_call_that_is_cancelled_ends_and_the_next_one_goes_on() {
    let sandbox = ready();
    let arguments = slow(&sandbox);
    let mut client = Client::start(&sandbox);
    let begun = sandbox.root().join("begun");
    let long = client.send_tool("timewarp_try", &arguments);
    wait_until(|| begun.exists());
    // What only looks is answered meanwhile.
    let status = client.tool("timewarp_status", &json!({}));
    assert_eq!(status["mode"], "present");
    // One that waits for its turn, and the one that has it.
    let waiting = client.send_tool("timewarp_try", &arguments);
    let now = Instant::now();
    client.cancel(waiting);
    client.cancel(long);
    let snapshot = client.tool("timewarp_snapshot", &json!({"message": "after"}));
    assert_eq!(snapshot["snapshot"]["title"], "after");
    assert!(now.elapsed() < Duration::from_secs(30), "not waited for");
    let (code, rest, stderr) = client.end();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(
        rest,
        Vec::<Value>::new(),
        "what was cancelled is not answered"
    );
}

#[test]
fn a_call_ends_when_its_server_is_killed() {
    let sandbox = ready();
    let arguments = slow(&sandbox);
    let begun = sandbox.root().join("begun");
    for signal in [Signal::TERM, Signal::HUP, Signal::KILL] {
        let mut client = Client::start(&sandbox);
        client.send_tool("timewarp_try", &arguments);
        wait_until(|| begun.exists());
        client.signal(signal);
        client.end();
        // The scratch goes with the run.
        let now = Instant::now();
        wait_until(|| sandbox.git(["worktree", "list"]).lines().count() == 1);
        assert!(now.elapsed() < Duration::from_secs(30), "not waited for");
        std::fs::remove_file(&begun).unwrap();
    }
}

#[test]
fn at_the_end_of_input_a_long_call_is_finished_and_answered() {
    let sandbox = ready();
    let arguments = slow(&sandbox);
    sandbox.write("run.sh", "sleep 7\n");
    let mut client = Client::start(&sandbox);
    let long = client.send_tool("timewarp_try", &arguments);
    let waiting = client.send_tool("timewarp_snapshot", &json!({"message": "after"}));
    let (code, rest, stderr) = client.end();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let answered: Vec<_> = rest.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(answered, [json!(long), json!(waiting)], "{rest:?}");
    let good = rest
        .iter()
        .all(|answer| answer["result"]["isError"] == false);
    assert!(good, "{rest:?}");
}

/// Clients take a call of which they hear nothing for a minute for dead.
#[test]
fn a_client_that_asks_for_it_is_told_that_its_call_goes_on() {
    let sandbox = ready();
    let arguments = slow(&sandbox);
    sandbox.write("run.sh", "sleep 6\n");
    let mut client = Client::start(&sandbox);
    let (told, answer) = client.tool_with_progress("timewarp_try", &arguments);
    assert_eq!(answer["ok"], true, "{answer}");
    let seconds: Vec<f64> = told.iter().map(|told| told.as_f64().unwrap()).collect();
    assert_eq!(seconds.first(), Some(&5.0));
    assert!(seconds.is_sorted_by(|a, b| a < b), "{seconds:?}");
}

#[test]
fn the_last_line_needs_no_end() {
    let sandbox = ready();
    let mut client = Client::start(&sandbox);
    let call = json!({"jsonrpc": "2.0", "id": 70, "method": "tools/call",
        "params": {"name": "timewarp_snapshot", "arguments": {"message": "last"}}});
    client.raw_bytes(call.to_string().as_bytes());
    let (code, rest, stderr) = client.end();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(rest.len(), 1, "{rest:?}");
    let snapshot = &rest[0]["result"]["structuredContent"]["snapshot"];
    assert_eq!(
        (&rest[0]["id"], &snapshot["title"]),
        (&json!(70), &json!("last"))
    );
}

#[test]
fn of_two_requests_with_one_id_the_second_is_refused() {
    let sandbox = ready();
    let arguments = slow(&sandbox);
    let mut client = Client::start(&sandbox);
    let begun = sandbox.root().join("begun");
    let long = client.send_tool("timewarp_try", &arguments);
    wait_until(|| begun.exists());
    let again = json!({"jsonrpc": "2.0", "id": long, "method": "tools/list"}).to_string();
    let answer = client.raw_answer(&again);
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(long), &json!(-32600))
    );
    client.cancel(long);
}
