//! Texts as people and tools write them, ours in and out again.

use super::*;
use serde_json::json;

fn entry(event: &str) -> Value {
    json!({"hooks": [{"type": "command", "command": format!("tw hook claude {event}"), "timeout": 30}]})
}

fn is_ours(value: &Value) -> bool {
    let hooks = value["hooks"].as_array().into_iter().flatten();
    let mut commands = hooks.filter_map(|hook| hook["command"].as_str());
    commands.any(|command| command.starts_with("tw hook "))
}

const EVENTS: [(&str, &str); 3] = [
    ("SessionStart", "session-start"),
    ("SessionEnd", "session-end"),
    ("UserPromptSubmit", "user-prompt-submit"),
];

fn server() -> Value {
    json!({"command": "tw", "args": ["mcp"]})
}

fn put_all(text: &str) -> String {
    let mut text = text.to_owned();
    for (name, event) in EVENTS {
        text = put_entry(&text, &["hooks", name], &entry(event), &is_ours).expect("JSON");
    }
    put_member(&text, &["mcpServers", "tw"], &server()).expect("JSON")
}

fn take_all(text: &str) -> String {
    let mut text = text.to_owned();
    for (name, _) in EVENTS {
        text = take_entry(&text, &["hooks", name], Some("hooks"), &is_ours)
            .unwrap_or_else(|| panic!("no JSON: {text:?}"));
    }
    take_member(&text, &["mcpServers", "tw"], &|value| *value == server()).expect("JSON")
}

const TEXTS: [&str; 24] = [
    NO_FILE,
    "",
    "\n\n",
    "{}",
    "{}\n",
    "{\n}\n",
    "{ }",
    "{\n  // nothing yet\n}\n",
    "\u{feff}{\n  \"a\": 1\n}\n",
    "{\"a\":1}",
    "{\"a\":1,\"hooks\":{}}",
    "{\n  \"a\": 1\n}",
    "{\n\t\"a\": 1,\n\t\"b\": [1, 2]\n}\n",
    "{\r\n    \"a\": 1\r\n}\r\n",
    "{\n  \"a\": 1, // why\n  \"b\": 2 /* one */ // two\n  // the end\n}\n",
    "{\n  \"a\": 1,\n}\n",
    "{\n  \"a\": 1 // ended by a carriage return\r}\n",
    "\u{feff}{\r\n  \"a\": 1 /* , */ , // with a comma\r\n}\r\n",
    "{\n  \"a\": 1, // with a reason\n  // the end\n}\n",
    "{\n  \"hooks\": {},\n  \"z\": null\n}\n",
    "{\n  \"hooks\": {\n  }\n}\n",
    "{\n  \"hooks\": {\n    \"SessionStart\": []\n  },\n  \"mcpServers\": { }\n}\n",
    "{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\"matcher\": \"x\", \"hooks\": [{\"type\": \"command\", \"command\": \"other\"}]}\n    ],\n    \"Stop\": [ { \"hooks\": [] } ]\n  },\n  \"mcpServers\": {\n    \"other\": {\"command\": \"tw-like\"}\n  },\n  \"last\": \"é\\u0041\\\"\"\n}\n",
    "{\"hooks\": {\"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"other\"},],},],},}",
];

#[test]
fn in_and_out_gives_the_same_bytes() {
    for text in TEXTS {
        let made = put_all(text);
        assert_ne!(made, text);
        assert_eq!(put_all(&made), made, "{text:?} twice");
        assert_eq!(take_all(&made), text, "by way of\n{made}");
        assert_eq!(take_all(text), text, "{text:?} has nothing of ours");
    }
}

#[test]
fn what_is_put_in_is_there_and_all_else_is_as_it_was() {
    for text in TEXTS {
        let made = put_all(text);
        let document = Document::parse(&made).expect("still JSON");
        let root = document.root.as_ref().expect("not blank");
        let value = document.value(root);
        for (name, event) in EVENTS {
            let list = value["hooks"][name].as_array().expect("a list");
            assert_eq!(list.last(), Some(&entry(event)), "{made}");
        }
        assert_eq!(value["mcpServers"]["tw"], server(), "{made}");
        let before = Document::parse(text).expect("JSON");
        for key in before.keys() {
            let was = before.value(before.at(&[key]).expect("there"));
            if !was.is_object() {
                assert_eq!(value[key], was);
            }
        }
        // Whoever reads the file without comments can still do so.
        if serde_json::from_str::<Value>(text).is_ok() {
            serde_json::from_str::<Value>(&made).unwrap_or_else(|error| panic!("{error}: {made}"));
        }
    }
}

#[test]
fn it_looks_like_the_file_it_stands_in() {
    let made = put_member(
        "{\n\t\"a\": 1 // one\n}\n",
        &["mcpServers", "tw"],
        &server(),
    );
    assert_eq!(
        made.as_deref(),
        Some(
            "{\n\t\"a\": 1, // one\n\t\"mcpServers\": {\n\t\t\"tw\": {\n\t\t\t\"command\": \"tw\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t}\n}\n"
        )
    );
    let made = put_member("{\"a\":1}", &["mcpServers", "tw"], &server());
    assert_eq!(
        made.as_deref(),
        Some("{\"a\":1,\"mcpServers\":{\"tw\":{\"command\":\"tw\",\"args\":[\"mcp\"]}}}")
    );
    let made = put_member(NO_FILE, &["a"], &json!(1));
    assert_eq!(made.as_deref(), Some("{\n  \"a\": 1\n}\n"));
}

#[test]
fn an_older_form_of_ours_is_replaced_where_it_stands() {
    let text = "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"command\": \"tw hook old\"}]},\n      {\"other\": 1}\n    ]\n  }\n}\n";
    let made = put_entry(text, &["hooks", "Stop"], &json!({"new": 1}), &is_ours).expect("JSON");
    assert_eq!(
        made,
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"new\": 1\n      },\n      {\"other\": 1}\n    ]\n  }\n}\n"
    );
}

#[test]
fn a_group_that_two_tools_share_loses_only_ours() {
    let text = r#"{"hooks": {"Stop": [{"hooks": [{"command": "a"}, {"command": "tw hook x"}, {"command": "b"}]}]}}"#;
    let left = take_entry(text, &["hooks", "Stop"], Some("hooks"), &is_ours).expect("JSON");
    assert_eq!(
        left,
        r#"{"hooks": {"Stop": [{"hooks": [{"command": "a"}, {"command": "b"}]}]}}"#
    );
}

#[test]
fn what_came_after_ours_stays_when_ours_goes() {
    let made = put_all("{\n  \"a\": 1\n}\n");
    let later = made.replacen("{\n  \"a\": 1", "{\n  \"a\": 2", 1);
    let later = format!(
        "{},\n  \"z\": 3\n}}\n",
        later.trim_end().trim_end_matches('}').trim_end()
    );
    assert_eq!(take_all(&later), "{\n  \"a\": 2,\n  \"z\": 3\n}\n");
    // Reformatted by another tool: the same settings without ours.
    let value: Value = serde_json::from_str(&made).expect("JSON");
    let left = take_all(&value.to_string());
    assert_eq!(left, "{\"a\":1}");
}

#[test]
fn comments_that_came_after_ours_stay_when_ours_goes() {
    let beep = r#"{"hooks": [{"command": "beep"}]}"#;
    let made = put_all(NO_FILE);
    let ends = made.match_indices("\n      }\n").map(|(at, _)| at + 8);
    let ends: Vec<usize> = ends.collect();
    let beside = |at: usize, more: &str| replaced(&made, at..at, more);
    let last_end = made.rfind('}').expect("an object") + 1;
    let texts = [
        format!("{made}// NOTE\n"),
        format!("// NOTE\n{made}"),
        format!("{}/* NOTE */", put_all("\n\n")),
        beside(last_end - 1, "// NOTE\n"),
        made.replacen("{\n", "{ // NOTE\n", 1),
        made.replacen("\"hooks\": {", "\"hooks\": // \"NOTE\"\n {", 1),
        made.replacen("\"Stop\": [", "\"Stop\" /* NOTE */ : [", 1)
            .replacen("\"SessionEnd\": [", "\"SessionEnd\": [ // NOTE", 1),
        beside(ends[0], &format!(",\n      // NOTE\n      {beep}")),
        beside(ends[0], &format!(", // NOTE\n      {beep}")),
        beside(ends[0], &format!(" // NOTE\n,      {beep}")),
        beside(ends[0], " /* NOTE */,"),
        beside(ends[1], " // NOTE"),
        beside(ends[2], "\n      // NOTE"),
        put_all("{\n  // NOTE\n}\n").replace("\n}\n", " }"),
        put_all("{\"a\": 1, // one\n}").replacen("\n  \"hooks\"", "\n // NOTE\n  \"hooks\"", 1),
        put_all("{\n  \"a\": 1 // NOTE\n}\n").replace("\n}\n", "}"),
    ];
    for text in texts {
        let had = Document::parse(&text).unwrap_or_else(|| panic!("no JSON: {text}"));
        let left = take_all(&text);
        let document = Document::parse(&left).unwrap_or_else(|| panic!("{text}\nbecame\n{left}"));
        assert_eq!(left.matches("NOTE").count(), 1, "{text}\nbecame\n{left}");
        assert!(!left.contains("tw"), "{text}\nbecame\n{left}");
        assert_eq!(left.matches("beep").count(), text.matches("beep").count());
        assert_eq!(document.get(&["a"]), had.get(&["a"]));
    }
}

#[test]
fn what_is_no_json_is_refused() {
    for text in [
        "[]",
        "{",
        "{\"a\" 1}",
        "{\"a\": 1 \"b\": 2}",
        "a = 1",
        "{\"a\": tru}",
        "{} x",
        "{/* }",
        "{,}",
        "\"x\"",
        "{\"a\": 01}",
        "{\"a\": +1}",
        "{\"a\": 0x1}",
        "{\"a\": .5}",
        "{\"a\": NaN}",
        "{\"a\": 'x'}",
        "{a: 1}",
        "{\"a\": [1 2]}",
        "{\"a\": [{}{}]}",
        "{\"a\": 1,,}",
        "{\"a\":\u{a0}1}",
        "{\"a\": 1}\u{b}",
    ] {
        assert!(Document::parse(text).is_none(), "{text}");
    }
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Document::parse(&deep).is_none());
    // Something else stands where the list should be.
    assert_eq!(
        put_entry("{\"hooks\": 1}", &["hooks", "Stop"], &json!(1), &is_ours),
        None
    );
    assert_eq!(
        put_entry(
            "{\"hooks\": {\"Stop\": {}}}",
            &["hooks", "Stop"],
            &json!(1),
            &is_ours
        ),
        None
    );
}

#[test]
fn ours_and_others_are_told_apart() {
    let document =
        Document::parse("{\"m\": {\"tw\": {\"command\": \"x\" /* c */,}}}").expect("JSON");
    let ours = |value: &Value| value["command"] == "x";
    assert_eq!(document.member(&["m", "tw"], &ours), Found::Ours);
    assert_eq!(document.member(&["m", "tw"], &|_| false), Found::Other);
    assert_eq!(document.member(&["m", "no"], &ours), Found::Absent);
}
