//! A session of each agent, three turns long, with a call and its result in each turn.

use serde_json::{Value, json};

use super::{Session, TURNS};

/// Writes a session of three turns, each with a call and its result.
pub type Write = fn(&mut Session);

fn claude(session: &mut Session) {
    fn row(session: &mut Session, kind: &str, message: &Value) {
        let row = json!({"type": kind, "sessionId": "old", "cwd": "/work", "isSidechain": false, "version": "2.1.330", "message": message});
        session.linked(["uuid", "parentUuid"], row, |session| {
            let mut row = session.unknown("type");
            match session.random.below(6) {
                // Between two rows of the chain, at its side, or at a row that is nowhere.
                0 => {
                    row["uuid"] = json!(format!("new-{}", session.number()));
                    row["parentUuid"] = json!(session.last);
                    session.last = row["uuid"].as_str().map(str::to_owned);
                }
                1 => {
                    row["uuid"] = json!(format!("new-{}", session.number()));
                    row["parentUuid"] = json!(session.last);
                }
                2 => {
                    row["uuid"] = json!(format!("new-{}", session.number()));
                    row["parentUuid"] = session.random.one_of(&[json!(null), json!("nowhere")]);
                }
                3 => row["uuid"] = json!(format!("new-{}", session.number())),
                _ => {}
            }
            row
        });
    }
    for turn in 0..TURNS {
        let call = format!("call-{turn}");
        row(
            session,
            "user",
            &json!({"role": "user", "content": format!("prompt {turn}")}),
        );
        row(
            session,
            "assistant",
            &json!({"id": format!("m-{turn}"), "role": "assistant", "model": "m",
            "content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {}}]}),
        );
        row(
            session,
            "user",
            &json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": "done"}]}),
        );
        row(
            session,
            "assistant",
            &json!({"id": format!("n-{turn}"), "role": "assistant", "model": "m", "content": [{"type": "text", "text": "done"}]}),
        );
    }
}

fn qwen(session: &mut Session) {
    fn row(session: &mut Session, kind: &str, more: [(&str, Value); 2]) {
        let mut row = json!({"sessionId": "old", "timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "cwd": "/work", "version": "0.24.4"});
        for (key, value) in more {
            row[key] = value;
        }
        session.linked(["uuid", "parentUuid"], row, |session| {
            let mut row = session.unknown("type");
            match session.random.below(4) {
                // Between two rows of the chain, at its side, or nowhere.
                0 => {
                    row["uuid"] = json!(format!("new-{}", session.number()));
                    row["parentUuid"] = json!(session.last);
                    session.last = row["uuid"].as_str().map(str::to_owned);
                }
                1 => {
                    row["uuid"] = json!(format!("new-{}", session.number()));
                    row["parentUuid"] = json!(session.last);
                }
                2 => row["uuid"] = json!(format!("new-{}", session.number())),
                _ => {}
            }
            row
        });
    }
    let said = |role: &str, part: &Value| json!({"role": role, "parts": [part]});
    for turn in 0..TURNS {
        let call = format!("call-{turn}");
        let prompt = said("user", &json!({"text": format!("prompt {turn}")}));
        row(
            session,
            "user",
            [("provenance", json!("real_user")), ("message", prompt)],
        );
        let asked = json!({"functionCall": {"id": call, "name": "write_file", "args": {}}});
        row(
            session,
            "assistant",
            [("model", json!("one")), ("message", said("model", &asked))],
        );
        let answered = json!({"functionResponse": {"id": call, "name": "write_file", "response": {"output": "done"}}});
        row(
            session,
            "tool_result",
            [
                ("message", said("user", &answered)),
                ("toolCallResult", json!({"callId": call})),
            ],
        );
        row(
            session,
            "assistant",
            [
                ("model", json!("one")),
                ("message", said("model", &json!({"text": "done"}))),
            ],
        );
    }
}

fn codex(session: &mut Session) {
    fn row(session: &mut Session, kind: &str, payload: &Value) {
        session.row(
            0,
            json!({"timestamp": "2026-05-11T08:00:00Z", "type": kind, "payload": payload}),
            |session| {
                let mut row = session.unknown("type");
                match session.random.below(4) {
                    0 => json!({"type": "event_msg", "payload": session.unknown("type")}),
                    1 => json!({"type": "response_item", "payload": session.unknown("type")}),
                    _ => {
                        row["timestamp"] = json!("2026-05-11T08:00:00Z");
                        row
                    }
                }
            },
        );
    }
    row(
        session,
        "session_meta",
        &json!({"id": "old", "session_id": "old", "cwd": "/work", "cli_version": "0.169.0"}),
    );
    for turn in 0..TURNS {
        let call = format!("call-{turn}");
        row(
            session,
            "event_msg",
            &json!({"type": "task_started", "turn_id": format!("turn-{turn}")}),
        );
        row(
            session,
            "response_item",
            &json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": format!("prompt {turn}")}]}),
        );
        row(
            session,
            "event_msg",
            &json!({"type": "user_message", "message": format!("prompt {turn}")}),
        );
        row(
            session,
            "response_item",
            &json!({"type": "reasoning", "summary": []}),
        );
        row(
            session,
            "response_item",
            &json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": call}),
        );
        row(
            session,
            "response_item",
            &json!({"type": "function_call_output", "call_id": call, "output": "done"}),
        );
        row(
            session,
            "response_item",
            &json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}),
        );
        row(session, "event_msg", &json!({"type": "task_complete"}));
    }
}

fn gemini(session: &mut Session) {
    fn row(session: &mut Session, row: Value) {
        session.row(0, row, |session| {
            let mut row = session.unknown("type");
            match session.random.below(3) {
                0 => row["id"] = json!(format!("new-{}", session.number())),
                1 => row = json!({"$set": {"xNew": session.value(0)}}),
                _ => {}
            }
            row
        });
    }
    row(
        session,
        json!({"sessionId": "old", "projectHash": "h", "startTime": "t", "kind": "main", "directories": ["/work"]}),
    );
    for turn in 0..TURNS {
        let call = json!({"id": format!("call-{turn}"), "name": "shell", "args": {}, "status": "success",
            "result": [{"functionResponse": {"response": {"output": "done"}}}]});
        row(
            session,
            json!({"id": format!("u{turn}"), "type": "user", "content": [{"text": format!("prompt {turn}")}]}),
        );
        row(
            session,
            json!({"id": format!("g{turn}"), "type": "gemini", "content": "", "toolCalls": [call]}),
        );
        row(
            session,
            json!({"id": format!("h{turn}"), "type": "gemini", "content": "done"}),
        );
    }
}

fn kimi(session: &mut Session) {
    fn row(session: &mut Session, row: Value) {
        session.row(0, row, |session| session.unknown("role"));
    }
    fn event(session: &mut Session, kind: &str, payload: &Value) {
        session.row(1, json!({"timestamp": 1_773_128_640.5, "message": {"type": kind, "payload": payload}}), |session| {
            match session.random.below(2) {
                0 => session.unknown("type"),
                _ => json!({"timestamp": 1_773_128_640.5, "message": {"type": "XNew", "payload": session.value(0)}}),
            }
        });
    }
    row(
        session,
        json!({"role": "_system_prompt", "content": "be good"}),
    );
    session.row(
        1,
        json!({"type": "metadata", "protocol_version": "1.10"}),
        |session| session.unknown("type"),
    );
    for turn in 0..TURNS {
        let call = json!({"type": "function", "id": format!("call-{turn}"), "function": {"name": "Shell", "arguments": "{}"}});
        row(session, json!({"role": "_checkpoint", "id": turn}));
        row(
            session,
            json!({"role": "user", "content": format!("prompt {turn}")}),
        );
        event(
            session,
            "TurnBegin",
            &json!({"user_input": [{"type": "text", "text": format!("prompt {turn}")}]}),
        );
        row(
            session,
            json!({"role": "assistant", "content": [], "tool_calls": [call]}),
        );
        event(session, "ToolCall", &call);
        row(
            session,
            json!({"role": "tool", "tool_call_id": call["id"], "content": "done"}),
        );
        event(
            session,
            "ToolResult",
            &json!({"tool_call_id": call["id"], "return_value": {"output": "done"}}),
        );
        row(
            session,
            json!({"role": "assistant", "content": [{"type": "text", "text": "done"}]}),
        );
        event(
            session,
            "ContentPart",
            &json!({"type": "text", "text": "done"}),
        );
        event(session, "TurnEnd", &json!({}));
    }
}

fn kimi_code(session: &mut Session) {
    fn row(session: &mut Session, row: Value) {
        session.row(0, row, |session| match session.random.below(4) {
            0 => json!({"type": "context.append_loop_event", "event": {"type": "x.new", "toolCallId": "call-0", "xNew": session.value(0)}}),
            1 => json!({"type": "context.append_message", "message": {"role": "x-new", "toolCallId": "call-0", "content": session.value(0)}}),
            _ => session.unknown("type"),
        });
    }
    row(
        session,
        json!({"type": "metadata", "protocol_version": "1.5", "app_version": "2.1.0"}),
    );
    for turn in 0..TURNS {
        let id = format!("call-{turn}");
        let input = json!([{"type": "text", "text": format!("prompt {turn}")}]);
        row(
            session,
            json!({"type": "turn.prompt", "input": input, "origin": {"kind": "user"}}),
        );
        row(
            session,
            json!({"type": "context.append_message", "message": {"role": "user", "content": input, "origin": {"kind": "user"}}}),
        );
        for event in [
            json!({"type": "step.begin", "step": 1}),
            json!({"type": "tool.call", "toolCallId": id, "name": "Read", "args": {}}),
            json!({"type": "tool.result", "toolCallId": id, "result": {"output": "done"}}),
            json!({"type": "content.part", "part": {"type": "text", "text": "done"}}),
        ] {
            row(
                session,
                json!({"type": "context.append_loop_event", "event": event}),
            );
        }
    }
}

fn pi(session: &mut Session) {
    fn row(session: &mut Session, message: &Value) {
        session.linked(["id", "parentId"], json!({"type": "message", "message": message}), |session| {
            let mut row = session.unknown("type");
            if session.random.below(3) == 0 {
                row = json!({"type": "message", "message": {"role": "xNew", "toolCallId": "call-0", "content": session.value(0)}});
            }
            // In the tree, or beside it.
            if session.random.below(2) == 0 {
                row["id"] = json!(format!("new-{}", session.number()));
                row["parentId"] = json!(session.last);
                session.last = row["id"].as_str().map(str::to_owned);
            }
            row
        });
    }
    session.push(
        0,
        &json!({"type": "session", "version": 3, "id": "old", "timestamp": "t", "cwd": "/work"}),
    );
    for turn in 0..TURNS {
        let id = format!("call-{turn}");
        row(
            session,
            &json!({"role": "user", "content": [{"type": "text", "text": format!("prompt {turn}")}]}),
        );
        row(
            session,
            &json!({"role": "assistant", "content": [{"type": "toolCall", "id": id, "name": "read", "arguments": {}}]}),
        );
        row(
            session,
            &json!({"role": "toolResult", "toolCallId": id, "content": [{"type": "text", "text": "done"}]}),
        );
        row(
            session,
            &json!({"role": "assistant", "content": [{"type": "text", "text": "done"}]}),
        );
    }
}

const CODEX: &str = "rollout-2026-05-11T08-00-00-019e1625-789d-76c0-80ab-3724b5ddb799.jsonl";

/// Each agent whose sessions are rows, with its files and who writes them.
pub const AGENTS: [(&str, &[&str], Write); 7] = [
    ("claude", &["old.jsonl"], claude),
    ("codex", &[CODEX], codex),
    ("gemini", &["session-2026-01-01T00-00-old.jsonl"], gemini),
    ("kimi", &["old/context.jsonl", "old/wire.jsonl"], kimi),
    (
        "kimi-code",
        &["sessions/wd_work_0/old/agents/main/wire.jsonl"],
        kimi_code,
    ),
    ("pi", &["t_old.jsonl"], pi),
    ("qwen", &["old.jsonl"], qwen),
];

/// A document of opencode or of Gemini's older format: parts and messages between the known ones.
pub fn document(agent: &str, session: &mut Session) -> Value {
    let mut messages = Vec::new();
    for turn in 0..TURNS {
        let (ask, answer) = (format!("msg_{turn}0"), format!("msg_{turn}1"));
        let mut made = if agent == "gemini" {
            let call =
                json!({"id": "call", "name": "shell", "args": {}, "result": [{"text": "done"}]});
            vec![
                json!({"id": ask, "type": "user", "content": format!("prompt {turn}")}),
                json!({"id": answer, "type": "gemini", "content": "done", "toolCalls": [call]}),
            ]
        } else {
            let part = |message: &str, number: u32, mut part: Value| {
                part["id"] = json!(format!("prt_{message}{number}"));
                part["sessionID"] = json!("ses_old");
                part["messageID"] = json!(message);
                part
            };
            let of = |id: &str, role: &str, parts: Vec<Value>| json!({"info": {"id": id, "sessionID": "ses_old", "role": role}, "parts": parts});
            let tool = json!({"type": "tool", "callID": "call", "tool": "bash", "state": {"status": "completed", "input": {}, "output": "done"}});
            let first = session.unknown("type");
            let second = session.unknown("type");
            vec![
                of(
                    &ask,
                    "user",
                    vec![
                        part(
                            &ask,
                            1,
                            json!({"type": "text", "text": format!("prompt {turn}")}),
                        ),
                        first,
                    ],
                ),
                of(
                    &answer,
                    "assistant",
                    vec![
                        part(&answer, 1, tool),
                        second,
                        part(&answer, 2, json!({"type": "text", "text": "done"})),
                    ],
                ),
            ]
        };
        for message in made.drain(..) {
            messages.push(message);
            let mut new = session.unknown("type");
            new["xNumber"] = json!(session.number());
            if agent == "opencode" && session.random.below(2) == 0 {
                new["info"] = json!({"role": "x-new"});
            }
            session.invented.push((0, new.to_string()));
            messages.push(new);
        }
    }
    match agent {
        "gemini" => {
            json!({"sessionId": "old", "projectHash": "h", "messages": messages, "xNew": session.value(0)})
        }
        _ => {
            json!({"info": {"id": "ses_old", "directory": "/work"}, "messages": messages, "xNew": session.value(0)})
        }
    }
}
