//! What comes as a line of its own: damaged or wrong.

use serde_json::{Value, json};

use super::client::Client;
use super::ready;

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
