//! Sessions: start, list, show, end.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

fn start(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.json([&["session", "start"], args].concat())
}

fn state(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&sandbox.read(".git/timewarp/state.json")).unwrap()
}

fn snapshots(sandbox: &Sandbox) -> u64 {
    sandbox.json(["list"])["total"].as_u64().unwrap()
}

#[test]
fn a_start_takes_the_session_s_snapshot() {
    let sandbox = Sandbox::new();
    sandbox.write("new.txt", "untracked\n");
    let started = start(
        &sandbox,
        &[
            "--agent",
            "claude",
            "--session",
            "abcd-1",
            "--hint",
            "fix it",
        ],
    );
    let snapshot = &started["snapshot"];
    assert_eq!(started["session_id"], "abcd-1");
    assert_eq!(started["snapshot_id"], snapshot["snapshot_id"]);
    assert_eq!(started["pruned"], json!([]));
    assert_eq!(snapshot["trigger"], "session-start");
    assert_eq!(snapshot["session_id"], "abcd-1");
    assert_eq!(snapshot["agent"], "claude");
    assert_eq!(snapshot["initial_task_hint"], "fix it");
    let state = state(&sandbox);
    assert_eq!(state["session_id"], "abcd-1");
    assert_eq!(state["session_snapshot_id"], started["snapshot_id"]);
    let shown = sandbox.json(["show", "session"]);
    assert_eq!(shown["snapshot"]["snapshot_id"], started["snapshot_id"]);
    let file = sandbox.path(".git/timewarp/sessions/abcd-1.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_same_id_again_takes_a_new_snapshot_and_goes_on() {
    let sandbox = Sandbox::new();
    let first = start(&sandbox, &["--session", "abcd"]);
    sandbox.json(["session", "end", "abcd"]);
    sandbox.write("a.txt", "two\n");
    let again = start(&sandbox, &["--session", "abcd", "--source", "resume"]);
    assert_ne!(first["snapshot_id"], again["snapshot_id"]);
    let session = sandbox.json(["session", "show", "abcd"])["session"].clone();
    assert_eq!(
        session["snapshot_ids"],
        json!([first["snapshot_id"], again["snapshot_id"]])
    );
    assert_eq!(
        (&session["ended_at"], &session["live"]),
        (&Value::Null, &json!(true))
    );
    assert_eq!(session["started_at"], first["session"]["started_at"]);
    assert_eq!(state(&sandbox)["session_snapshot_id"], again["snapshot_id"]);
}

#[test]
fn a_compaction_keeps_the_session_s_snapshot() {
    let sandbox = Sandbox::new();
    let first = start(&sandbox, &["--session", "abcd"]);
    sandbox.write("a.txt", "two\n");
    let again = start(&sandbox, &["--session", "abcd", "--source", "compact"]);
    assert_eq!(again["no_snapshot"], "compaction");
    assert_eq!(again["snapshot_id"], first["snapshot_id"]);
    assert_eq!(snapshots(&sandbox), 1);
}

#[test]
fn a_sub_agent_is_linked_and_replaces_nothing() {
    let sandbox = Sandbox::new();
    let root = start(&sandbox, &["--session", "root"]);
    let child = start(&sandbox, &["--session", "child", "--parent", "root"]);
    let grandchild = start(&sandbox, &["--session", "grandchild", "--parent", "child"]);
    for sub in [&child, &grandchild] {
        assert_eq!(sub["no_snapshot"], "sub-agent");
        assert_eq!(sub["snapshot_id"], root["snapshot_id"]);
        assert_eq!(sub["session"]["root"], "root");
    }
    assert_eq!(snapshots(&sandbox), 1);
    assert_eq!(state(&sandbox)["session_id"], "root");
    // A sub-agent that is resumed is still one.
    let again = start(&sandbox, &["--session", "child", "--source", "resume"]);
    assert_eq!(again["no_snapshot"], "sub-agent");
    let ended = sandbox.json(["session", "end", "root"]);
    let mut with: Vec<_> = ended["ended_with_it"].as_array().unwrap().clone();
    with.sort_by_key(ToString::to_string);
    assert_eq!(with, [json!("child"), json!("grandchild")]);
}

#[test]
fn in_the_past_a_session_is_recorded_and_nothing_else() {
    let sandbox = Sandbox::new();
    let first = start(&sandbox, &["--session", "first"]);
    sandbox.write("a.txt", "two\n");
    sandbox.json(["travel", "session"]);
    let before = (state(&sandbox), snapshots(&sandbox));
    let started = start(&sandbox, &["--session", "second"]);
    assert_eq!(started["no_snapshot"], "past");
    assert_eq!(started["snapshot_id"], Value::Null);
    assert_eq!((state(&sandbox), snapshots(&sandbox)), before);
    sandbox.json(["return"]);
    assert_eq!(state(&sandbox)["session_snapshot_id"], first["snapshot_id"]);
    assert_eq!(sandbox.text("a.txt"), "two\n");
    let listed = sandbox.json(["session", "list"]);
    let ids: Vec<_> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["session_id"])
        .collect();
    assert_eq!(ids, ["second", "first"]);
}

#[test]
fn the_caller_is_known_by_its_environment_before_the_state() {
    let sandbox = Sandbox::new();
    let mine = start(&sandbox, &["--session", "mine-1", "--agent", "claude"]);
    sandbox.write("a.txt", "two\n");
    let theirs = start(&sandbox, &["--session", "theirs-1", "--agent", "codex"]);
    let shown = |session: Option<&str>| {
        let mut command = sandbox.tw_command();
        if let Some(session) = session {
            command.env("CLAUDE_CODE_SESSION_ID", session);
        }
        let output = command
            .args(["--json", "show", "session"])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        if document["ok"] == true {
            document["snapshot"]["snapshot_id"].clone()
        } else {
            document["error"]["code"].clone()
        }
    };
    assert_eq!(shown(Some("mine-1")), mine["snapshot_id"]);
    assert_eq!(shown(None), theirs["snapshot_id"]);
    assert_eq!(
        shown(Some("unknown")),
        "NO_SESSION_SNAPSHOT",
        "never another one's"
    );
    // Without an id a start takes the environment's, with its agent.
    for (variable, id, agent) in [
        ("GEMINI_SESSION_ID", "gem-1", "gemini"),
        ("PI_SESSION_ID", "pi-1", "pi"),
        ("COPILOT_AGENT_SESSION_ID", "copilot-1", "copilot"),
    ] {
        let output = sandbox
            .tw_command()
            .env(variable, id)
            .args(["--json", "session", "start"])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["session"]["session_id"], id);
        assert_eq!(document["session"]["agent"], agent);
    }
}

#[test]
fn what_is_recorded_is_the_callers_and_names_its_agent() {
    let sandbox = Sandbox::new();
    start(&sandbox, &["--session", "mine-1", "--agent", "claude"]);
    start(&sandbox, &["--session", "theirs-1", "--agent", "codex"]);
    let ran = |session: Option<&str>, args: &[&str]| -> Value {
        let mut command = sandbox.tw_command();
        if let Some(session) = session {
            command.env("CLAUDE_CODE_SESSION_ID", session);
        }
        let output = command.arg("--json").args(args).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let report = [
        "issue",
        "report",
        "--task-context",
        "a",
        "--symptom",
        "b",
        "--success-criteria",
        "c",
    ];
    for (caller, session, agent) in [
        (Some("mine-1"), "mine-1", "claude"),
        (Some("unknown"), "unknown", "claude"),
        (None, "theirs-1", "codex"),
    ] {
        let taken = ran(caller, &["snapshot"])["snapshot"].clone();
        assert_eq!(
            (&taken["session_id"], &taken["agent"]),
            (&json!(session), &json!(agent))
        );
        let said = ran(caller, &["status"])["session"].clone();
        assert_eq!(said, json!({"session_id": session, "agent": agent}));
        let issue = ran(caller, &report)["issue"].clone();
        assert_eq!(
            (&issue["session_id"], &issue["agent"]),
            (&json!(session), &json!(agent))
        );
    }
    // The other session's snapshot is still current.
    ran(Some("mine-1"), &["snapshot"]);
    let issue = ran(None, &report)["issue"].clone();
    let whose = (&issue["session_id"], &issue["agent"]);
    assert_eq!(whose, (&json!("theirs-1"), &json!("codex")));
    let named = ran(Some("mine-1"), &["snapshot", "--session", "theirs-1"]);
    assert_eq!(named["snapshot"]["agent"], "codex");
}

#[test]
fn a_transcript_is_found_from_wherever_it_was_not_named() {
    let sandbox = Sandbox::new();
    sandbox.write("sub/talk.jsonl", "");
    let started = sandbox.tw_in(
        sandbox.path("sub"),
        [
            "--json",
            "session",
            "start",
            "--session",
            "s-1",
            "--transcript",
            "./talk.jsonl",
        ],
    );
    let started: Value = serde_json::from_str(&started.out()).unwrap();
    let expected = sandbox.path("sub/talk.jsonl");
    assert_eq!(started["session"]["transcript"], json!(expected));
}

#[test]
fn a_session_without_an_id_gets_one_and_silence_ends_its_life() {
    let sandbox = Sandbox::new();
    let id = sandbox.ok(["-q", "session", "start"]);
    let id = id.trim();
    assert!(id.starts_with("tw-20260228-"), "{id}");
    assert_eq!(sandbox.json(["session", "list", "--live"])["total"], 1);
    sandbox.wait(25 * 3600);
    assert_eq!(sandbox.json(["session", "list", "--live"])["total"], 0);
    assert_eq!(
        sandbox.json(["session", "list"])["sessions"][0]["live"],
        false
    );
}

#[test]
fn odd_ids_are_safe_and_parts_name_sessions() {
    let sandbox = Sandbox::new();
    start(&sandbox, &["--session", "../../../evil id"]);
    start(&sandbox, &["--session", "abcd-one"]);
    start(&sandbox, &["--session", "abcd-two"]);
    assert!(!sandbox.root().join("evil id.json").exists());
    assert_eq!(
        sandbox.json(["session", "show", "../../"])["session"]["session_id"],
        "../../../evil id"
    );
    assert_eq!(
        sandbox.json(["session", "show", "abcd-o"])["session"]["session_id"],
        "abcd-one"
    );
    let (error, code) = sandbox.json_error(["session", "show", "abcd"]);
    assert_eq!((&error["code"], code), (&json!("AMBIGUOUS_ADDRESS"), 3));
    assert_eq!(error["candidates"].as_array().unwrap().len(), 2);
    let (error, code) = sandbox.json_error(["session", "end", "nobody"]);
    assert_eq!((&error["code"], code), (&json!("SESSION_NOT_FOUND"), 3));
    let (error, _) = sandbox.json_error(["session", "start", "--agent", "nobody"]);
    assert_eq!(error["code"], "USAGE");
}

#[test]
fn people_see_who_is_at_work() {
    let sandbox = Sandbox::new();
    start(
        &sandbox,
        &["--session", "abcd", "--agent", "claude", "--hint", "fix it"],
    );
    assert_eq!(
        sandbox.show(&sandbox.tw(["session", "list"])),
        "exit 0\n--- stdout\nabcd  claude  live, active 1 minute ago  fix it\n"
    );
    assert_eq!(
        sandbox.show(&sandbox.tw(["session", "end"])),
        "exit 0\n--- stdout\nended session abcd\n"
    );
    for again in [&["session", "end"][..], &["session", "end", "abcd"]] {
        let said = sandbox.show(&sandbox.tw(again));
        assert!(
            said.starts_with("exit 0\n--- stdout\nsession abcd had ended "),
            "{said}"
        );
    }
    let again = sandbox.json(["session", "end", "abcd"]);
    assert_eq!(again["had_ended"], true);
}

#[test]
fn a_torn_record_hides_no_other() {
    let sandbox = Sandbox::new();
    start(&sandbox, &["--session", "abcd"]);
    sandbox.write(".git/timewarp/sessions/torn.json", "{\"version\": 1,");
    let listed = sandbox.json(["session", "list"]);
    assert_eq!(
        (&listed["total"], &listed["invalid"][0]["id"]),
        (&json!(1), &json!("torn"))
    );
}

#[test]
fn a_session_that_has_ended_claims_no_snapshot_and_no_report() {
    let sandbox = Sandbox::new();
    sandbox.json([
        "session",
        "start",
        "--agent",
        "claude",
        "--session",
        "abcd1234",
    ]);
    let taken = |text: &str| {
        sandbox.write("a.txt", text);
        sandbox.json(["snapshot"])["snapshot"]["session_id"].clone()
    };
    assert_eq!(taken("during"), "abcd1234");
    sandbox.json(["session", "end", "abcd1234"]);
    assert_eq!(taken("after"), serde_json::Value::Null);
    let words = "issue report --task-context x --symptom y --success-criteria z";
    let reported = sandbox.json(words.split(' '));
    assert_eq!(reported["issue"]["session_id"], serde_json::Value::Null);
    assert_eq!(reported["issue"]["agent"], serde_json::Value::Null);
    assert_eq!(
        sandbox.json(["session", "show"])["session"]["session_id"],
        "abcd1234",
        "the last one is still shown"
    );
    sandbox.json([
        "session",
        "start",
        "--agent",
        "claude",
        "--session",
        "efgh5678",
    ]);
    assert_eq!(taken("again"), "efgh5678");
}

#[test]
fn the_snapshot_of_a_session_is_dropped_when_forced() {
    let sandbox = Sandbox::new();
    let started = sandbox.json([
        "session",
        "start",
        "--agent",
        "claude",
        "--session",
        "abcd1234",
    ]);
    let id = started["session"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let (error, _) = sandbox.json_error(["drop", "-y", &id]);
    assert_eq!(error["code"], "HELD");
    assert!(error["hints"].to_string().contains("--force"), "{error}");
    sandbox.json(["drop", "-y", "--force", &id]);
    assert!(!sandbox.ok(["list"]).contains(&id));
    sandbox.write("a.txt", "on\n");
    sandbox.json(["snapshot"]);
}

#[test]
fn a_title_from_the_transcript_is_redacted() {
    let sandbox = Sandbox::new();
    let talk = crate::transcripts::Talk::new(&sandbox, crate::transcripts::Kind::Claude);
    talk.hook("SessionStart", &json!({"source": "startup"}));
    talk.writes_prompt("use API_TOKEN=q7gzkxv0w1jh9p2m for it");
    talk.answers("done", 100);
    let shown = sandbox.json(["session", "show", &talk.id]);
    let title = shown["session"]["title"].as_str().unwrap();
    assert_eq!(title, "use API_TOKEN=***REDACTED*** for it");
    assert!(
        !sandbox
            .tw(["session", "show", &talk.id])
            .out()
            .contains("q7gzk")
    );
}

#[test]
fn an_id_is_quoted_for_the_shell_and_is_never_an_option() {
    let sandbox = Sandbox::new();
    let tell = |id: &str| {
        let payload = json!({
            "session_id": id, "hook_event_name": "UserPromptSubmit", "prompt": "p",
            "cwd": sandbox.repo(),
        });
        let mut command = sandbox.tw_command();
        let command = command.args(["hook", "claude", "user-prompt-submit"]);
        command.write_stdin(payload.to_string()).assert().success();
    };
    tell("x;touch planted");
    let shown = sandbox.ok(["session", "show", "x;touch planted"]);
    assert!(
        shown.contains("claude --resume 'x;touch planted'"),
        "{shown}"
    );
    tell("--dangerously-skip-permissions");
    let shown = sandbox.json(["session", "show", "--", "--dangerously-skip-permissions"]);
    assert_eq!(shown["resume_command"], Value::Null, "{shown}");
    let words = ["session", "resume", "--", "--dangerously-skip-permissions"];
    assert_eq!(sandbox.json_error(words).0["code"], "USAGE");
}

#[test]
fn files_of_a_session_that_moved_to_a_worktree_are_those_that_changed_in_either() {
    let sandbox = Sandbox::new();
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "one"]);
    sandbox.write("of-main.txt", "untouched\n");
    let talk = crate::transcripts::Talk::new(&sandbox, crate::transcripts::Kind::Claude);
    talk.hook("SessionStart", &json!({"source": "startup"}));
    talk.submits("enter a worktree");
    let worktree = sandbox.root().join("feature");
    sandbox.git(["worktree", "add", "-q", worktree.to_str().unwrap()]);
    talk.hook("Stop", &json!({"cwd": worktree}));
    talk.hook(
        "UserPromptSubmit",
        &json!({"cwd": worktree, "prompt": "two"}),
    );
    std::fs::write(worktree.join("w.txt"), "w\n").unwrap();
    talk.hook("Stop", &json!({"cwd": worktree}));
    talk.hook("SessionEnd", &json!({}));
    let shown = sandbox.json(["session", "show", &talk.id]);
    assert_eq!(shown["files"], json!([{"path": "w.txt"}]));
}
