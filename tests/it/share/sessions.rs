//! Sessions that are shared: what goes, what others see, and that nothing of it becomes a session of theirs.

use serde_json::{Value, json};

use super::hostile::{Content, file_of};
use super::hub::{Clone_, Hub, REF};

const ID: &str = "3f2c0000-1111-4222-8333-444455556666";

/// A session with a prompt, the end of its turn, and a checkpoint by hand.
pub fn session(clone: &Clone_<'_>, prompt: &str) {
    let event = |name: &str, word: &str, more: &Value| {
        let mut event = json!({"session_id": ID, "cwd": clone.dir, "hook_event_name": name,
            "transcript_path": clone.dir.join("private.jsonl")});
        for (key, value) in more.as_object().unwrap() {
            event[key] = value.clone();
        }
        let mut command = clone.command();
        let ran = command
            .args(["hook", "claude", word])
            .write_stdin(event.to_string())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    event(
        "SessionStart",
        "session-start",
        &json!({"source": "startup"}),
    );
    event(
        "UserPromptSubmit",
        "user-prompt-submit",
        &json!({"prompt": prompt}),
    );
    clone.write("a.txt", &format!("{prompt}\n"));
    event("Stop", "stop", &json!({}));
}

fn listed(clone: &Clone_<'_>) -> Value {
    clone.json(["session", "list"])
}

#[test]
fn ids_and_times_of_sessions_go_and_texts_only_when_asked_for() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    session(&a, "mend the violet build");
    let sent = a.json(["push"])["sent"].clone();
    assert_eq!(
        sent,
        json!([{"kind": "session", "id": ID, "change": "added", "claimed_by": null}])
    );
    let text = hub.shared(ID);
    for private in [
        "violet",
        "private.jsonl",
        "transcript",
        "worktree",
        a.dir.to_str().unwrap(),
    ] {
        assert!(!text.contains(private), "{private}: {text}");
    }
    assert_eq!(a.json(["push"])["sent"], json!([]), "nothing is new");

    let received = b.json(["pull"])["received"].clone();
    assert_eq!(
        received,
        json!([{"kind": "session", "id": ID, "change": "added", "claimed_by": "a's"}])
    );
    let seen = listed(&b);
    assert_eq!((&seen["sessions"], &seen["total"]), (&json!([]), &json!(0)));
    let shared = &seen["shared"][0];
    assert_eq!(
        (
            &shared["session_id"],
            &shared["agent"],
            &shared["claimed_by"]
        ),
        (&json!(ID), &json!("claude"), &json!("a's"))
    );
    let checkpoint = &shared["checkpoints"][0];
    assert_eq!(
        (
            &checkpoint["checkpoint_id"],
            &checkpoint["kind"],
            &checkpoint["prompt"]
        ),
        (&json!(0), &json!("prompt"), &Value::Null)
    );
    assert_eq!(listed(&a)["shared"], json!([]), "one's own is no other's");
    assert_eq!(listed(&a)["sessions"][0]["session_id"], ID);

    // With texts, redacted, and without them again.
    a.json(["share", "init", "origin", "--prompts", "redacted"]);
    session(&a, "log in with password=hunter2-Violet-77");
    a.json(["push"]);
    assert!(!hub.everything().join("\n").contains("hunter2"));
    b.json(["pull"]);
    let prompts = |seen: &Value| {
        let all = seen["shared"][0]["checkpoints"].as_array().unwrap().iter();
        all.map(|one| one["prompt"].clone()).collect::<Vec<_>>()
    };
    let told = prompts(&listed(&b));
    assert_eq!(told[0], "mend the violet build");
    assert!(
        told[1]
            .as_str()
            .unwrap()
            .starts_with("log in with password=***REDACTED"),
        "{told:?}"
    );
    let shown = b.tw(["session", "list", "-v"]).out();
    assert!(
        shown.contains("mend the violet build") && shown.contains("(claimed by a's)"),
        "{shown}"
    );
    a.json(["share", "init", "origin"]);
    a.json(["push"]);
    b.json(["pull"]);
    assert_eq!(prompts(&listed(&b)), [Value::Null, Value::Null]);
    hub.assert_same(&[&a, &b]);
}

#[test]
fn a_session_of_somebody_else_is_shown_and_no_more() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    session(&a, "one");
    a.json(["push"]);
    let before = b.git(["for-each-ref", "--format=%(refname)"]);
    b.json(["pull"]);
    let others = |refs: String| {
        let others = refs.lines().filter(|name| !name.contains("/shared/"));
        others.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        others(b.git(["for-each-ref", "--format=%(refname)"])),
        others(before)
    );
    assert!(!b.dir.join(".git/timewarp/sessions").exists());
    for words in [
        &["session", "show", ID][..],
        &["session", "resume", ID],
        &["session", "end", ID],
        &["rewind", "0", "--session", ID, "--code"],
        &["checkpoint", "list", "--session", ID],
    ] {
        let (error, _) = b.json_error(words);
        assert_eq!(error["code"], "SESSION_NOT_FOUND", "{words:?}: {error}");
    }
    assert_eq!(b.json(["session", "list", "--live"])["shared"], json!([]));
    assert_eq!(b.json(["session", "list", "-n", "0"])["shared"], json!([]));
    b.json(["prune"]);
    assert_eq!(listed(&b)["shared"][0]["session_id"], ID);
    // A session of the same id here is ours from then on, and both say what they know of it.
    session(&b, "two");
    assert_eq!(listed(&b)["shared"], json!([]));
    b.json(["push"]);
    a.json(["pull"]);
    assert_eq!(listed(&a)["shared"], json!([]));
    assert_eq!(listed(&a)["sessions"][0]["session_id"], ID);
    // What is gone here stays as it was shared.
    std::fs::remove_dir_all(a.dir.join(".git/timewarp/sessions")).unwrap();
    a.json(["pull"]);
    a.json(["push"]);
    assert!(!hub.shared(ID).contains("\"deleted\""));
}

#[test]
fn hostile_sessions_are_refused_by_name_and_hide_nothing() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    session(&a, "one");
    a.json(["push"]);
    let good = json!({"session_id": "good\u{1b}[2J", "agent": "\u{202e}evil", "started_at": "2026-01-01T00:00:00Z",
        "checkpoints/c_0": {"id": "c_0", "checkpoint_id": 0, "created_at": "2026-01-01T00:00:00Z", "kind": "prompt",
            "snapshot_id": "s_20260101_000000_aaaaaa", "prompt": "\u{1b}]0;x\u{7}"}});
    let name = |id: &str| timewarp::store::names::session_component(id);
    let with = |id: &str, field: &str, value: Value| {
        let mut fields = good.clone();
        fields["session_id"] = id.into();
        fields[field] = value;
        (name(id), fields)
    };
    let long = "x".repeat(5000);
    let cases = [
        (name("good\u{1b}[2J"), good.clone()),
        ("other".to_owned(), good.clone()),
        with("no-start", "started_at", json!(["a"])),
        with("no-time", "started_at", json!("yesterday")),
        with("long", "session_id", long.into()),
        with(
            "bad-snapshot",
            "checkpoints/c_1",
            json!({"checkpoint_id": 1, "created_at": "2026-01-01T00:00:00Z",
            "kind": "prompt", "snapshot_id": "../../etc/passwd"}),
        ),
        with("bad-checkpoint", "checkpoints/c_1", json!("x")),
    ];
    let files: Vec<(String, Vec<u8>)> = cases
        .iter()
        .map(|(id, fields)| {
            let kind = timewarp::ops::sharing::fields::Kind::Session;
            let path = timewarp::ops::sharing::tree::path(kind, id);
            (
                path,
                file_of("session", id, fields).to_string().into_bytes(),
            )
        })
        .collect();
    let mut planted: Vec<(&str, Content<'_>)> = files
        .iter()
        .map(|(path, bytes)| (path.as_str(), Content::Blob(bytes)))
        .collect();
    planted.push(("sessions/aa/elsewhere.json", Content::Blob(b"{}")));
    hub.write(&planted);
    let pulled = b.json(["pull"]);
    let refused: Vec<&str> = pulled["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    for (path, _) in &files[1..] {
        assert!(refused.contains(&path.as_str()), "{path}: {refused:?}");
    }
    assert!(refused.contains(&"sessions/aa/elsewhere.json"));
    assert_eq!(refused.len(), files.len());
    let seen = listed(&b);
    assert_eq!(seen["shared"].as_array().unwrap().len(), 2, "{seen}");
    let shown = b.tw(["session", "list", "-v"]).out();
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\u{202e}') && !shown.contains('\u{7}'),
        "{shown:?}"
    );
    // Ours stays what our register says, whatever others make of it.
    let ours = json!({"session_id": ID, "agent": "forged", "started_at": "2020-01-01T00:00:00Z"});
    let kind = timewarp::ops::sharing::fields::Kind::Session;
    let path = timewarp::ops::sharing::tree::path(kind, ID);
    hub.write(&[(
        &path,
        Content::Blob(&file_of("session", ID, &ours).to_string().into_bytes()),
    )]);
    let before = listed(&a)["sessions"].clone();
    a.json(["pull"]);
    assert_eq!(listed(&a)["sessions"], before);
    a.json(["push"]);
    assert!(hub.shared(ID).contains("\"claude\""));
}

#[test]
fn a_session_in_two_repositories_comes_to_rest() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    session(&a, "one");
    session(&b, "two");
    let exchange = || {
        for verb in ["push", "pull"] {
            a.json([verb]);
            b.json([verb]);
        }
    };
    let is_at_rest = || {
        let before = hub.git(["rev-parse", REF]);
        for clone in [&a, &b, &a, &b] {
            assert_eq!(clone.json(["push"])["sent"], json!([]));
            assert_eq!(clone.json(["pull"])["received"], json!([]));
            assert_eq!(clone.json(["share", "status"])["to_push"], json!([]));
        }
        assert_eq!(hub.git(["rev-parse", REF]), before);
    };
    exchange();
    exchange();
    is_at_rest();
    // Each has its own all the time, and who went on in it last is whom the others see.
    for (clone, prompt) in [(&a, "three"), (&b, "four")] {
        session(clone, prompt);
        let sent = clone.json(["push"])["sent"].clone();
        assert_eq!(
            sent,
            json!([{"kind": "session", "id": ID, "change": "changed", "claimed_by": null}])
        );
        exchange();
        is_at_rest();
        let listed = listed(clone);
        let last = listed["sessions"][0]["last_active_at"].as_str().unwrap();
        let file = hub.shared(ID);
        assert!(file.contains(last), "{file}");
    }
}

#[test]
fn no_time_that_others_give_keeps_back_what_is_new_here() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let c = hub.sharing("c");
    let kind = timewarp::ops::sharing::fields::Kind::Session;
    let path = timewarp::ops::sharing::tree::path(kind, ID);
    // A clock that is wrong, or a lie: of somebody who knows all that was told.
    let plant = || {
        let mut file: Value = serde_json::from_str(&hub.shared(ID)).unwrap();
        let edit = "fedcba9876543210";
        file["edits"][edit] =
            json!({"revision": 9, "at": "2026-03-01T00:00:00Z", "by": "elsewhere"});
        file["fields"]["last_active_at"] =
            json!({"value": "9999-01-01T00:00:00Z", "edits": [edit]});
        hub.write(&[(&path, Content::Blob(file.to_string().as_bytes()))]);
    };
    let sends_what_is_new = |clone: &Clone_<'_>| {
        assert_eq!(clone.json(["push"])["sent"][0]["id"], ID);
        let notes = clone.tw(["--json", "checkpoint", "list"]).out();
        let notes: Value = serde_json::from_str(&notes).unwrap();
        let newest = notes["checkpoints"].as_array().unwrap().last().unwrap();
        let file = hub.shared(ID);
        let id = newest["snapshot_id"].as_str().unwrap();
        assert!(file.contains(id), "{id}: {file}");
        assert_eq!(clone.json(["push"])["sent"], json!([]));
    };
    session(&a, "one");
    a.json(["push"]);
    plant();
    a.json(["pull"]);
    assert_eq!(a.json(["push"])["sent"], json!([]), "nothing is new here");
    session(&a, "after it came");
    sends_what_is_new(&a);
    assert!(!hub.shared(ID).contains("9999"));
    plant();
    session(&a, "before it came");
    a.json(["pull"]);
    sends_what_is_new(&a);
    // Nor where nothing was told of it before.
    plant();
    b.json(["pull"]);
    session(&b, "after it came");
    sends_what_is_new(&b);
    plant();
    session(&c, "before it came");
    c.json(["pull"]);
    sends_what_is_new(&c);
}
