//! What a page may start: rewind, open, redo; and that nobody else may.

use serde_json::{Value, json};

use super::client::Server;
use super::eventful;
use crate::rewind::{prompts, read, three_turns};
use crate::sandbox::Sandbox;
use crate::transcripts::{Kind, Talk};

fn confirm(server: &Server, shown: &Value) -> Value {
    server.ask("do", &json!({"confirm": shown["confirm"]}))
}

#[test]
fn a_rewind_and_a_directory_are_shown_first_and_then_made() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let listed = sandbox.json(["checkpoint", "list"]);
    let session = listed["session_id"].as_str().unwrap().to_owned();
    let server = Server::start(&sandbox, &["web", "--allow-changes"]);
    let (files, before) = (talk.files(), sandbox.state());
    let rewind = |part: &str| json!({"action": "rewind", "session_id": session, "checkpoint_id": 1, "part": part});
    for part in ["code", "conversation", "both"] {
        let shown = server.ask("try", &rewind(part));
        let flag = format!("--{part}");
        let dry = sandbox.json(["rewind", "1", &flag, "--session", &session, "--dry-run"]);
        assert_eq!(shown["preview"], dry, "{part}");
    }
    assert_eq!((talk.files(), sandbox.state()), (files, before));
    // What was shown is done, and something that happened meanwhile is shown first.
    let shown = server.ask("try", &rewind("both"));
    sandbox.write("later.txt", "meanwhile\n");
    let again = confirm(&server, &shown);
    assert_eq!(again["changed"], true, "{again}");
    assert_eq!(sandbox.text("a.txt"), "spoilt\n");
    let done = confirm(&server, &again)["done"].clone();
    assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
    assert!(!sandbox.exists("new.txt") && !sandbox.exists("later.txt"));
    let fork = done["conversation"]["fork"]["path"].as_str().unwrap();
    assert_eq!(prompts(&read(std::path::Path::new(fork))), ["one"]);
    assert!(done["conversation"]["resume_command"].is_string(), "{done}");
    // Back, and once more.
    for (action, text) in [("undo", "spoilt\n"), ("redo", "one\ntwo\n")] {
        let shown = server.ask("try", &json!({"action": action}));
        assert_eq!(confirm(&server, &shown)["ok"], true, "{action}: {shown}");
        assert_eq!(sandbox.text("a.txt"), text);
    }
    // A directory of its own: shown with its place, made there, and nothing of the working tree.
    let id = listed["checkpoints"][1]["snapshot_id"].clone();
    let before = sandbox.git(["status", "--porcelain"]);
    let open = json!({"action": "open", "snapshot_id": id});
    let shown = server.ask("try", &open);
    let dir = std::path::PathBuf::from(shown["preview"]["dir"].as_str().unwrap());
    assert!(!dir.exists());
    let done = confirm(&server, &shown);
    assert_eq!(done["done"]["dir"], shown["preview"]["dir"], "{done}");
    assert_eq!(
        std::fs::read_to_string(dir.join("a.txt")).unwrap(),
        "one\ntwo\n"
    );
    assert_eq!(sandbox.git(["status", "--porcelain"]), before);
    let own = server.own_headers();
    let taken = server.post("/api/try", &own, &open.to_string()).json();
    assert_eq!(taken["error"]["code"], "WOULD_OVERWRITE", "{taken}");
    sandbox.ok(["close", dir.to_str().unwrap()]);
    // Only what there is, and no word that is a flag.
    for (action, code) in [
        (
            json!({"action": "rewind", "session_id": "--undo", "checkpoint_id": 1, "part": "code"}),
            "SESSION_NOT_FOUND",
        ),
        (
            json!({"action": "rewind", "session_id": session, "checkpoint_id": 77, "part": "code"}),
            "INVALID_CHECKPOINT",
        ),
        (
            json!({"action": "rewind", "session_id": session, "checkpoint_id": 1, "part": "all"}),
            "USAGE",
        ),
        (
            json!({"action": "open", "snapshot_id": "../x"}),
            "INVALID_ADDRESS",
        ),
        (
            json!({"action": "open", "snapshot_id": id, "dir": "/tmp/x"}),
            "USAGE",
        ),
    ] {
        let got = server.post("/api/try", &own, &action.to_string()).json();
        assert_eq!(
            (&got["ok"], &got["error"]["code"]),
            (&json!(false), &json!(code)),
            "{action}"
        );
    }
}

#[test]
fn no_change_without_allow_changes_the_token_and_the_origin() {
    let sandbox = eventful();
    let id = sandbox.json(["show", "before-refactor"])["snapshot"]["snapshot_id"].clone();
    let session = sandbox.json(["log", "--kind", "prompt"])["entries"][0]["session_id"].clone();
    let actions = [
        json!({"action": "rewind", "session_id": session, "checkpoint_id": 0, "part": "code"}),
        json!({"action": "open", "snapshot_id": id}),
        json!({"action": "redo"}),
        json!({"action": "travel", "snapshot_id": id}),
    ];
    let before = sandbox.state();
    let looking = Server::start(&sandbox, &["web"]);
    for action in &actions {
        let got = looking.post("/api/try", &looking.own_headers(), &action.to_string());
        assert_eq!(got.status, 403, "{action}");
        assert!(got.body.contains("--allow-changes"), "{got:?}");
    }
    let server = Server::start(&sandbox, &["web", "--allow-changes"]);
    let (host, token) = (server.host(), server.token.clone());
    let json_type = "Content-Type: application/json\r\n";
    let shown = server.ask("try", &actions[1]);
    let agreed = json!({"confirm": shown["confirm"]});
    for (headers, status) in [
        (format!("Origin: http://{host}\r\n{json_type}"), 401),
        (
            format!(
                "Origin: http://{host}\r\nAuthorization: Bearer {}\r\n{json_type}",
                "0".repeat(64)
            ),
            403,
        ),
        (
            format!("Origin: http://evil.example\r\nAuthorization: Bearer {token}\r\n{json_type}"),
            403,
        ),
        (
            format!("Origin: null\r\nAuthorization: Bearer {token}\r\n{json_type}"),
            403,
        ),
        (format!("Authorization: Bearer {token}\r\n{json_type}"), 403),
    ] {
        for action in &actions {
            let got = server.post("/api/try", &headers, &action.to_string());
            assert_eq!(got.status, status, "{headers} {action}");
        }
        // Not even what was shown, and agreed to by somebody else.
        let got = server.post("/api/do", &headers, &agreed.to_string());
        assert_eq!(got.status, status, "{headers}");
    }
    let body = agreed.to_string();
    let got = server.send(format!(
        "POST /api/do HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\nAuthorization: Bearer {token}\r\n{json_type}Content-Length: {}\r\n\r\n{body}",
        body.len()
    ).as_bytes());
    assert_eq!(got.status, 403);
    assert_eq!(sandbox.state(), before);
    assert_eq!(confirm(&server, &shown)["ok"], true);
}

#[test]
fn a_hunk_of_what_an_entry_changed_is_shown_first_and_then_restored_alone() {
    let sandbox = Sandbox::new();
    let text = |first: &str, last: &str| format!("{first}\n{}{last}\n", "same\n".repeat(9));
    sandbox.write("a.txt", text("a", "z"));
    sandbox.ok(["snapshot", "-m", "before"]);
    sandbox.write("a.txt", text("first", "last"));
    sandbox.ok(["snapshot", "-m", "after"]);
    sandbox.write("a.txt", text("mine", "my own"));
    let server = Server::start(&sandbox, &["web", "--allow-changes"]);
    let listed = sandbox.json(["log", "--kind", "snapshot"]);
    let entry = &listed["entries"][0];
    let key = json!({
        "kind": entry["kind"], "id": entry["id"], "at": entry["at"],
        "session_id": entry["session_id"], "checkpoint_id": entry["checkpoint_id"],
    });
    let told = server.ask("entry", &json!({"entry": key}));
    let change = super::shown(&told["paths"][0]);
    let hunk = |n: usize| json!({"action": "restore", "snapshot_id": entry["id"], "chosen": {"entry": key, "change": change, "hunk": n}});
    let shown = server.ask("try", &hunk(1));
    let patch = shown["preview"]["lines"]["patch"].as_str().unwrap();
    assert!(
        patch.contains("-my own\n+last\n") && !patch.contains("mine"),
        "{patch}"
    );
    // What somebody writes into the file meanwhile is shown first.
    sandbox.write("a.txt", text("mine too", "my own"));
    let again = confirm(&server, &shown);
    assert_eq!(again["changed"], true, "{again}");
    assert_eq!(sandbox.text("a.txt"), text("mine too", "my own"));
    let done = confirm(&server, &again);
    assert_eq!(done["ok"], true, "{done}");
    assert_eq!(sandbox.text("a.txt"), text("mine too", "last"));
    let shown = server.ask("try", &hunk(0));
    assert_eq!(confirm(&server, &shown)["ok"], true);
    assert_eq!(sandbox.text("a.txt"), text("first", "last"));
    let own = server.own_headers();
    let none = server.post("/api/try", &own, &hunk(2).to_string()).json();
    assert_eq!(none["error"]["code"], "PATH_NOT_FOUND", "{none}");
}

#[test]
fn what_was_shown_of_an_entry_is_what_is_asked_for_and_not_another_path_in_its_place() {
    let sandbox = Sandbox::new();
    let text = |first: &str, last: &str| format!("{first}\n{}{last}\n", "same\n".repeat(9));
    sandbox.write("a.txt", text("a", "z"));
    sandbox.write("b.txt", text("a", "z"));
    sandbox.ok(["snapshot", "-m", "first"]);
    sandbox.write("a.txt", text("A", "z"));
    sandbox.ok(["snapshot", "-m", "second"]);
    sandbox.write("b.txt", text("a", "Z"));
    sandbox.ok(["snapshot", "-m", "third"]);
    sandbox.write("a.txt", text("now", "z"));
    sandbox.write("b.txt", text("a", "now"));
    let server = Server::start(&sandbox, &["web", "--allow-changes"]);
    let entry = server.ask("entries", &json!({}))["entries"][0].clone();
    let told = server.ask("entry", &json!({"entry": entry}));
    assert_eq!(told["paths"].as_array().unwrap().len(), 1);
    let change = super::shown(&told["paths"][0]);
    let restore = |entry: &Value, change: &Value, hunk: Option<usize>| {
        let chosen = json!({"entry": entry, "change": change, "hunk": hunk});
        json!({"action": "restore", "snapshot_id": entry["id"], "chosen": chosen})
    };
    // What this entry is compared with goes: now it changed another path, too, and first.
    sandbox.ok(["drop", "-y", "latest~1"]);
    let now = server.ask("entry", &json!({"entry": entry}));
    assert_eq!(now["paths"][0]["path"], "a.txt");
    for (hunk, path) in [(None, "b.txt"), (Some(0), "b.txt")] {
        let shown = server.ask("try", &restore(&entry, &change, hunk));
        assert_eq!(shown["preview"]["changes"]["written"], json!([path]));
    }
    let lines = server.ask("lines", &json!({"entry": entry, "change": change}));
    assert_eq!(lines["lines"][4], json!(["-", 11, null, "z"]), "{lines}");
    // Another path's name is none of its own.
    let own = server.own_headers();
    let refused = |name: &str, body: &Value| {
        let got = server
            .post(&format!("/api/{name}"), &own, &body.to_string())
            .json();
        assert_eq!(
            got["error"]["code"], "PATH_NOT_FOUND",
            "{name} {body}: {got}"
        );
        got["error"]["message"].as_str().unwrap().to_owned()
    };
    let mut false_name = change.clone();
    false_name["path"] = json!("a.txt");
    refused("try", &restore(&entry, &false_name, None));
    // What it changed of a path that was shown is another by now.
    sandbox.write("b.txt", text("a", "between"));
    let before = now["paths"][1].clone();
    assert_eq!(before["path"], "b.txt");
    sandbox.ok(["drop", "-y", "latest~1"]);
    let alone = server.ask("entry", &json!({"entry": entry}));
    let gone = alone["paths"].as_array().unwrap().iter();
    assert!(
        gone.clone().all(|file| file["key"] != change["key"]),
        "{alone}"
    );
    for hunk in [None, Some(0)] {
        let said = refused("try", &restore(&entry, &change, hunk));
        assert_eq!(said, "what this entry changed is another by now");
    }
    refused("lines", &json!({"entry": entry, "change": change}));
    refused(
        "lines",
        &json!({"entry": entry, "change": change, "from": 3}),
    );
    // Nor does a list of paths go on as another one.
    let rest = json!({"entry": entry, "from": 1, "key": now["key"]});
    refused("entry", &rest);
    refused("entry", &json!({"entry": entry, "from": 1}));
    server.ask(
        "entry",
        &json!({"entry": entry, "from": 1, "key": alone["key"]}),
    );
}

#[test]
fn an_entry_belongs_to_its_prompt_whatever_a_filter_leaves_out() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    for (prompt, text) in [("fix the first", "1\n"), ("Add the second", "2\n")] {
        talk.submits(prompt);
        sandbox.write("a.txt", text);
        talk.hook("Stop", &json!({}));
    }
    sandbox.write("a.txt", "3\n");
    sandbox.ok(["snapshot", "before the fix by hand"]);
    let second = json!({"checkpoint_id": 1, "title": "Add the second"});
    let server = Server::start(&sandbox, &["web"]);
    for asked in [
        json!({}),
        json!({"grep": "fix"}),
        json!({"kinds": ["snapshot"]}),
        json!({"kinds": ["turn-end", "snapshot"]}),
    ] {
        let told = server.ask("entries", &asked);
        let newest = &told["entries"][0];
        assert_eq!(newest["title"], "before the fix by hand", "{asked}");
        assert_eq!(newest["prompt"], second, "{asked}: {told}");
        let one = server.ask("entry", &json!({"entry": newest}));
        assert_eq!(one["entry"]["prompt"], second, "{asked}");
    }
    let told = server.ask("entries", &json!({"kinds": ["prompt", "turn-end"]}));
    let prompts = told["entries"].as_array().unwrap().iter();
    let checkpoints: Vec<&Value> = prompts
        .map(|entry| &entry["prompt"]["checkpoint_id"])
        .collect();
    assert_eq!(checkpoints, [1, 1, 0, 0]);
    // A file that is given away says nothing of it.
    let out = sandbox.root().join("page.html");
    sandbox.ok(["web", "--export", out.to_str().unwrap()]);
    let page = std::fs::read_to_string(&out).unwrap();
    assert!(!page.contains("Add the second"));
}

#[test]
fn what_was_written_into_a_file_after_it_was_shown_is_not_overwritten_without_being_asked() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "first\n");
    sandbox.write("b.txt", "first\n");
    sandbox.ok(["snapshot", "-m", "first"]);
    sandbox.write("a.txt", "second\n");
    let server = Server::start(&sandbox, &["web", "--allow-changes"]);
    let entry = server.ask("entries", &json!({}))["entries"][0].clone();
    for action in [
        json!({"action": "restore", "snapshot_id": entry["id"]}),
        json!({"action": "travel", "snapshot_id": entry["id"]}),
    ] {
        let shown = server.ask("try", &action);
        assert_eq!(shown["preview"]["changes"]["written"], json!(["a.txt"]));
        sandbox.write("a.txt", "second\nprecious\n");
        let again = confirm(&server, &shown);
        assert_eq!(again["changed"], true, "{again}");
        assert_eq!(sandbox.text("a.txt"), "second\nprecious\n");
        sandbox.write("a.txt", "second\n");
    }
    // Nothing was written: it is done at once.
    let shown = server.ask(
        "try",
        &json!({"action": "restore", "snapshot_id": entry["id"]}),
    );
    let done = confirm(&server, &shown);
    assert_eq!(done["done"]["ok"], true, "{done}");
    assert_eq!(sandbox.text("a.txt"), "first\n");
}
