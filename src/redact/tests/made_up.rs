//! Values that a person made up, beside names in code, stand-ins and descriptions: one a line, as they stand in settings,
//! commands, logs, code and prose. What is between `«` and `»` must go, all else must stay.

use super::Redactor;

const SECRETS: &str = include_str!("made_up.txt");
const NO_SECRETS: &str = include_str!("no_secrets.txt");

#[test]
fn made_up_secrets_go() {
    let redactor = Redactor::new();
    assert!(SECRETS.lines().filter(|line| line.contains('«')).count() >= 60);
    let wrong: Vec<(String, String)> = texts()
        .map(|line| {
            let text = redactor.text(&line.replace(['«', '»'], "")).text;
            (expected(&line), text)
        })
        .filter(|(expected, text)| expected != text)
        .collect();
    assert_eq!(wrong, Vec::new());
}

/// The same within JSON, where strings are decoded first and names stand apart.
#[test]
fn made_up_secrets_go_from_json() {
    let redactor = Redactor::new();
    for line in SECRETS.lines() {
        let text = line.replace(['«', '»'], "");
        let Ok(mut value) = serde_json::from_str::<serde_json::Value>(&text) else {
            continue;
        };
        redactor.json(&mut value);
        let lines = redactor.json_lines(&text).text;
        for secret in secrets(line) {
            assert!(!value.to_string().contains(secret), "{value}");
            assert!(!lines.contains(secret), "{lines}");
        }
    }
    for (line, redacted) in [
        (
            "[\"tool\",\"--password\",\"lantern\",\"--token\",\"hunter2horse\",\"hunter2walrus\"]",
            "[\"tool\",\"--password\",\"***REDACTED***\",\"--token\",\"***REDACTED***\",\"hunter2walrus\"]",
        ),
        (
            "[\"--password\",123456,\"lantern\",\"--password\",[],\"lantern\"]",
            "[\"--password\",\"***REDACTED***\",\"lantern\",\"--password\",[],\"lantern\"]",
        ),
        (
            "{\"password\":[\"-swordfish123\",\"hunter2horse\"]}",
            "{\"password\":[\"***REDACTED***\",\"***REDACTED***\"]}",
        ),
        (
            "{\"passwords\":[\"--\",\"hunter2horse\",[{\"value\":\"swordfish123\"}]]}",
            "{\"passwords\":[\"--\",\"***REDACTED***\",[{\"value\":\"***REDACTED***\"}]]}",
        ),
        (
            "{\"db_password\":{\"sensitive\":true,\"type\":\"string\",\"value\":\"swordfish123\"},\"db_user\":{\"value\":\"walrus42\"}}",
            "{\"db_password\":{\"sensitive\":true,\"type\":\"string\",\"value\":\"***REDACTED***\"},\"db_user\":{\"value\":\"walrus42\"}}",
        ),
        (
            "{\"type\":\"random_password\",\"name\":\"db\",\"instances\":[{\"id\":\"none\",\"result\":\"Dq9vT2mK7wLp\"}]}",
            "{\"type\":\"random_password\",\"name\":\"db\",\"instances\":[{\"id\":\"none\",\"result\":\"***REDACTED***\"}]}",
        ),
        (
            "{\"type\":\"sum\",\"result\":\"Dq9vT2mK7wLp\"}",
            "{\"type\":\"sum\",\"result\":\"Dq9vT2mK7wLp\"}",
        ),
        (
            "{\"pin_password\":{\"value\":[4711,{\"default\":\"hunter2horse\",\"note\":\"walrus42\"}]}}",
            "{\"pin_password\":{\"value\":[\"***REDACTED***\",{\"default\":\"***REDACTED***\",\"note\":\"walrus42\"}]}}",
        ),
    ] {
        let mut value = serde_json::from_str(line).expect("JSON");
        redactor.json(&mut value);
        assert_eq!(value.to_string(), redacted);
        assert_eq!(redactor.json_lines(line).text, redacted);
    }
    for (name, value) in [
        ("Cookie", "theme=dark; sid=swordfish123"),
        ("set-cookie", "session=hunter2horse; Path=/"),
        ("Authorization", "Token swordfish123"),
        ("authorization", "Bearer my-short-tok9"),
    ] {
        let mut json = serde_json::json!({ "headers": { name: value } });
        redactor.json(&mut json);
        assert_eq!(json["headers"][name], "***REDACTED***", "{name}: {value}");
    }
}

#[test]
fn what_names_describes_or_stands_in_stays() {
    let redactor = Redactor::new();
    assert!(NO_SECRETS.lines().count() >= 60);
    let touched: Vec<String> = NO_SECRETS
        .lines()
        .flat_map(|line| {
            [
                (line, redactor.text(line).text),
                (line, redactor.json_lines(line).text),
            ]
        })
        .filter(|(line, text)| line != text)
        .map(|(_, text)| text)
        .collect();
    assert_eq!(touched, Vec::<String>::new());
    let whole = redactor.text(NO_SECRETS).text;
    let pairs: Vec<_> = NO_SECRETS.lines().zip(whole.lines()).collect();
    for (line, text) in pairs {
        assert_eq!(line, text, "beside each other");
    }
}

/// The lines; one that is indented below a `- name` belongs to it.
fn texts() -> impl Iterator<Item = String> {
    let mut texts: Vec<String> = Vec::new();
    for line in SECRETS.lines() {
        match texts.last_mut() {
            Some(last) if last.starts_with("- name") && !last.contains('\n') => {
                *last = format!("{last}\n{line}");
            }
            _ => texts.push(line.to_owned()),
        }
    }
    texts.into_iter()
}

fn secrets(line: &str) -> impl Iterator<Item = &str> {
    line.split('«')
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('»')?.0))
}

fn expected(line: &str) -> String {
    let mut text = line.to_owned();
    for secret in secrets(line) {
        text = text.replace(&format!("«{secret}»"), "***REDACTED***");
    }
    // What stands beside a mark goes with it.
    text.replace("***REDACTED******REDACTED***", "***REDACTED***")
}
