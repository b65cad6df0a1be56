//! `tw hook`: events of agents, taken in without ever failing one.

mod place;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sandbox::{Ran, Sandbox, is_root, skipped};
use crate::trip::stored;

fn hook(sandbox: &Sandbox, args: &[&str], payload: &str) -> Ran {
    let mut command = sandbox.tw_command();
    let command = command.arg("hook").args(args).write_stdin(payload);
    command.output().unwrap().into()
}

/// Runs a hook, which must be silent, as every hook must.
#[track_caller]
fn silent(sandbox: &Sandbox, args: &[&str], payload: &Value) {
    let ran = hook(sandbox, args, &payload.to_string());
    assert_eq!(sandbox.show(&ran), "exit 0\n", "{args:?}");
}

fn sessions(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.json(["session", "list"])["sessions"]
        .as_array()
        .unwrap()
        .clone()
}

fn total(sandbox: &Sandbox) -> Value {
    sandbox.json(["list"])["total"].clone()
}

fn log(sandbox: &Sandbox) -> Vec<Value> {
    let path = sandbox.path(".git/timewarp/log.jsonl");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_agent_starts_and_ends_its_session_in_its_own_words() {
    for (agent, start, end, payload) in [
        (
            "claude",
            "SessionStart",
            "SessionEnd",
            json!({"session_id": "abcd", "transcript_path": "/t", "source": "startup"}),
        ),
        (
            "codex",
            "SessionStart",
            "SessionEnd",
            json!({"session_id": "abcd", "transcript_path": null, "reason": "other"}),
        ),
        (
            "gemini",
            "SessionStart",
            "SessionEnd",
            json!({"session_id": "abcd"}),
        ),
        (
            "kimi",
            "SessionStart",
            "SessionEnd",
            json!({"session_id": "abcd"}),
        ),
        (
            "kimi-code",
            "SessionStart",
            "SessionEnd",
            json!({"session_id": "abcd"}),
        ),
        (
            "opencode",
            "session.created",
            "session.deleted",
            json!({"properties": {"info": {"id": "abcd"}}}),
        ),
        (
            "cursor",
            "sessionStart",
            "sessionEnd",
            json!({"conversation_id": "abcd"}),
        ),
        (
            "copilot",
            "sessionStart",
            "sessionEnd",
            json!({"sessionId": "abcd"}),
        ),
        (
            "generic",
            "session-start",
            "session-end",
            json!({"session_id": "abcd"}),
        ),
    ] {
        let sandbox = Sandbox::new();
        silent(&sandbox, &[agent, start], &payload);
        let sessions = sessions(&sandbox);
        assert_eq!(sessions[0]["session_id"], "abcd", "{agent}");
        assert_eq!(sessions[0]["agent"], agent);
        assert_eq!(sessions[0]["live"], true);
        assert_eq!(total(&sandbox), 1, "{agent}");
        silent(&sandbox, &[agent, end], &payload);
        assert_eq!(self::sessions(&sandbox)[0]["live"], false, "{agent}");
        assert_eq!(log(&sandbox), Vec::<Value>::new(), "{agent}");
    }
}

#[test]
fn nothing_fails_the_agent() {
    let sandbox = Sandbox::new();
    for (args, payload) in [
        (&["claude", "session-start"][..], "no json"),
        (&["claude", "session-start"], "[1]"),
        (&["nobody", "session-start"], "{}"),
        (&["claude"], "{}"),
        (&["claude", "session-start", "--bogus", "-x"], "{}"),
        (&["claude", "some-later-event"], "{\"session_id\": \"x\"}"),
        (&["claude", "pre-tool-use"], ""),
    ] {
        let ran = hook(&sandbox, args, payload);
        assert_eq!(sandbox.show(&ran), "exit 0\n", "{args:?}");
    }
    // Bad words go to standard error, and still no agent is told to stop.
    for args in [
        &["hook"][..],
        &["-C", "nowhere", "hook", "claude", "stop"],
        &["--bogus", "hook"],
    ] {
        let ran = sandbox.tw(args);
        assert_eq!((ran.code, ran.out()), (0, String::new()), "{args:?}");
    }
    let codes: Vec<_> = log(&sandbox)
        .iter()
        .map(|line| line["code"].clone())
        .collect();
    assert_eq!(codes, ["USAGE", "USAGE", "USAGE", "USAGE"]);
    assert_eq!(log(&sandbox)[0]["outcome"], "error");
}

#[test]
fn every_event_of_every_agent_is_taken_in_silence() {
    const GROUPED: &str = "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PermissionRequest Notification \
        SubagentStart SubagentStop PreCompact PostCompact Stop StopFailure SessionEnd";
    let sandbox = Sandbox::new();
    let here = sandbox.repo();
    for (agent, events, session) in [
        ("claude", GROUPED, "session_id"),
        ("codex", GROUPED, "session_id"),
        ("kimi", GROUPED, "session_id"),
        ("kimi-code", GROUPED, "session_id"),
        (
            "gemini",
            "SessionStart BeforeAgent BeforeModel AfterModel BeforeToolSelection BeforeTool AfterTool AfterAgent PreCompress \
             Notification SessionEnd",
            "session_id",
        ),
        (
            "cursor",
            "sessionStart beforeSubmitPrompt beforeShellExecution afterShellExecution beforeMCPExecution afterMCPExecution \
             beforeReadFile afterFileEdit preCompact stop sessionEnd",
            "conversation_id",
        ),
        (
            "copilot",
            "sessionStart userPromptSubmitted preToolUse postToolUse errorOccurred agentStop sessionEnd",
            "sessionId",
        ),
        (
            "opencode",
            "session.created chat.message tool.execute.before tool.execute.after session.idle session.compacted session.deleted",
            "sessionID",
        ),
        (
            "generic",
            "session-start user-prompt-submit post-tool-use pre-compact stop session-end",
            "session_id",
        ),
    ] {
        for event in events.split_whitespace() {
            let payload = json!({session: format!("{agent}-1"), "cwd": here, "hook_event_name": event, "prompt": "p",
                "workspace_roots": [here], "transcript_path": null, "tool_name": "Bash", "toolName": "bash", "toolArgs": "{}",
                "tool_input": {"command": "ls"}, "source": "startup", "reason": "other", "trigger": "auto"});
            silent(&sandbox, &[agent, event], &payload);
            for junk in [
                "garbage",
                "{\"session_id\": 5, \"cwd\": 7, \"prompt\": {}, \"transcript_path\": []",
            ] {
                let ran = hook(&sandbox, &[agent, event], junk);
                assert_eq!(sandbox.show(&ran), "exit 0\n", "{agent} {event}");
            }
        }
    }
    let known = sessions(&sandbox);
    assert_eq!(known.len(), 9, "one of each, and none of the junk");
    for session in known {
        assert_eq!(session["checkpoints"], 1, "{session}");
    }
    assert!(log(&sandbox).iter().all(|line| line["code"] == "USAGE"));
}

#[test]
fn outside_of_a_repository_there_is_nothing_to_do() {
    let sandbox = Sandbox::bare_room();
    let before = entries(&sandbox);
    silent(
        &sandbox,
        &["claude", "session-start"],
        &json!({"session_id": "abcd", "cwd": sandbox.home()}),
    );
    silent(
        &sandbox,
        &["claude", "session-start"],
        &json!({"session_id": "abcd", "cwd": "/nowhere/at/all"}),
    );
    assert_eq!(entries(&sandbox), before);
}

fn entries(sandbox: &Sandbox) -> usize {
    std::fs::read_dir(sandbox.root()).unwrap().count()
        + std::fs::read_dir(sandbox.home()).unwrap().count()
}

#[test]
fn the_payload_s_directory_is_the_one_that_counts() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .tw_command()
        .current_dir(sandbox.home())
        .args(["hook", "claude", "SessionStart"])
        .write_stdin(json!({"session_id": "abcd", "cwd": sandbox.repo()}).to_string())
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(sessions(&sandbox).len(), 1);
}

#[test]
fn a_start_told_twice_is_one_start() {
    let sandbox = Sandbox::new();
    let payload = json!({"conversation_id": "abcd", "workspace_roots": [sandbox.repo()]});
    let twice = |agent: &str| {
        let output = sandbox
            .tw_command()
            .env("TW_TEST_NOW", "2026-02-28T15:00:00Z")
            .args(["hook", agent, "session-start"])
            .write_stdin(payload.to_string())
            .output()
            .unwrap();
        assert!(output.status.success() && output.stdout.is_empty());
    };
    // Cursor runs the hooks of Claude Code beside its own.
    twice("cursor");
    twice("claude");
    assert_eq!(total(&sandbox), 1);
    assert_eq!(sessions(&sandbox)[0]["agent"], "cursor");
    silent(&sandbox, &["cursor", "session-start"], &payload);
    assert_eq!(total(&sandbox), 2, "a minute later it is another start");
}

#[test]
fn a_session_resumed_within_a_moment_is_the_current_one_again() {
    let sandbox = Sandbox::new();
    let tell = |second: u32, event: &str, payload: Value| {
        let output = sandbox
            .tw_command()
            .env("TW_TEST_NOW", format!("2026-02-28T15:00:0{second}Z"))
            .args(["hook", "claude", event])
            .write_stdin(payload.to_string())
            .output()
            .unwrap();
        assert!(output.status.success() && output.stdout.is_empty());
    };
    let starts = |second, id, source| {
        tell(
            second,
            "SessionStart",
            json!({"session_id": id, "source": source}),
        );
        let state = std::fs::read(sandbox.path(".git/timewarp/state.json")).unwrap();
        let state: Value = serde_json::from_slice(&state).unwrap();
        let session = sandbox.json(["session", "show", id])["session"].clone();
        let starts = session["snapshot_ids"].as_array().unwrap().len();
        assert_eq!(state["session_snapshot_id"], session["snapshot_id"], "{id}");
        (state["session_id"].as_str().unwrap().to_owned(), starts)
    };
    let is = |id: &str, count| (id.to_owned(), count);
    assert_eq!(starts(0, "first", "resume"), is("first", 1));
    assert_eq!(starts(1, "second", "resume"), is("second", 1));
    assert_eq!(starts(2, "first", "resume"), is("first", 2));
    assert_eq!(starts(3, "first", "resume"), is("first", 2), "told twice");
    assert_eq!(starts(4, "second", "resume"), is("second", 2));
    tell(5, "SessionEnd", json!({"session_id": "second"}));
    assert_eq!(
        starts(6, "second", "resume"),
        is("second", 3),
        "it had ended"
    );
}

#[test]
fn a_sub_agent_s_events_leave_the_root_alone() {
    let sandbox = Sandbox::new();
    silent(
        &sandbox,
        &["opencode", "session.created"],
        &json!({"properties": {"info": {"id": "ses_1"}}}),
    );
    silent(
        &sandbox,
        &["opencode", "session.created"],
        &json!({"properties": {"info": {"id": "ses_2", "parentID": "ses_1"}}}),
    );
    assert_eq!(total(&sandbox), 1);
    let shown = sandbox.json(["session", "show", "ses_1"]);
    assert_eq!(shown["children"], json!(["ses_2"]));
    silent(
        &sandbox,
        &["claude", "SubagentStop"],
        &json!({"session_id": "ses_1", "agent_id": "ses_2"}),
    );
    assert_eq!(
        sandbox.json(["session", "show", "ses_1"])["session"]["live"],
        true
    );
    assert_eq!(
        sandbox.json(["session", "show", "ses_2"])["session"]["live"],
        false
    );
    // Older versions name the root alone.
    for event in ["SubagentStart", "SubagentStop"] {
        silent(
            &sandbox,
            &["claude", event],
            &json!({"session_id": "ses_1"}),
        );
    }
    assert_eq!(
        sandbox.json(["session", "show", "ses_1"])["session"]["live"],
        true
    );
    assert_eq!(total(&sandbox), 1);
}

#[test]
fn other_events_are_signs_of_life() {
    let sandbox = Sandbox::new();
    let payload = json!({"session_id": "abcd", "prompt": "go on"});
    silent(&sandbox, &["claude", "Stop"], &payload);
    assert_eq!(
        sessions(&sandbox).len(),
        0,
        "a session that began before tw was set up"
    );
    silent(&sandbox, &["claude", "SessionStart"], &payload);
    sandbox.wait(23 * 3600);
    silent(&sandbox, &["claude", "UserPromptSubmit"], &payload);
    sandbox.wait(23 * 3600);
    assert_eq!(sessions(&sandbox)[0]["live"], true);
    assert_eq!(total(&sandbox), 1);
}

#[test]
fn a_dead_swap_is_left_to_the_user_and_what_is_there_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.json(["snapshot"]);
    sandbox.write("a.txt", "two\n");
    sandbox.write(
        ".git/timewarp/journal.json",
        "{\"version\": 1, \"died\": true}",
    );
    silent(
        &sandbox,
        &["claude", "SessionStart"],
        &json!({"session_id": "abcd"}),
    );
    assert!(sandbox.exists(".git/timewarp/journal.json"));
    assert!(
        !sandbox.exists(".git/timewarp/state.json"),
        "the state is the recovery's"
    );
    let log = log(&sandbox);
    assert_eq!(log.len(), 1);
    assert_eq!(
        (&log[0]["outcome"], &log[0]["code"]),
        (&json!("interrupted"), &json!("INTERRUPTED"))
    );
    let id = log[0]["snapshot_id"].as_str().unwrap();
    let shown = sandbox.json(["show", id]);
    assert_eq!(shown["snapshot"]["interrupted"], true);
    assert_eq!(sandbox.text("a.txt"), "two\n");
    // So do the events that follow.
    for event in ["UserPromptSubmit", "Stop"] {
        let before = self::log(&sandbox).len();
        sandbox.write("a.txt", format!("after {event}\n"));
        let payload = json!({"session_id": "abcd", "prompt": "go on"});
        silent(&sandbox, &["claude", event], &payload);
        let log = self::log(&sandbox);
        assert_eq!(log.len(), before + 1, "{event}: {log:?}");
        let last = log.last().unwrap();
        assert_eq!(
            (&last["outcome"], &last["code"], &last["session_id"]),
            (&json!("interrupted"), &json!("INTERRUPTED"), &json!("abcd")),
            "{event}"
        );
        let shown = sandbox.json(["show", last["snapshot_id"].as_str().unwrap()]);
        assert_eq!(shown["snapshot"]["interrupted"], true, "{event}");
        let kept = stored(&sandbox, last["snapshot_id"].as_str().unwrap(), "a.txt");
        assert_eq!(kept, format!("after {event}\n"));
    }
}

#[test]
fn a_busy_tree_is_waited_for_a_little_and_then_logged() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "timewarp.lockTimeout", "1"]);
    let held = sandbox.locked(".git/timewarp/lock");
    silent(
        &sandbox,
        &["claude", "SessionStart"],
        &json!({"session_id": "abcd"}),
    );
    drop(held);
    assert_eq!(log(&sandbox)[0]["code"], "BUSY");
    assert_eq!(
        sessions(&sandbox)[0]["session_id"],
        "abcd",
        "recorded all the same"
    );
    assert_eq!(total(&sandbox), 0);
}

/// Its agent tells of it once.
#[test]
fn an_end_is_recorded_also_while_another_command_is_at_work() {
    let sandbox = Sandbox::new();
    let payload = json!({"session_id": "abcd", "source": "startup", "reason": "logout"});
    silent(&sandbox, &["claude", "SessionStart"], &payload);
    let held = sandbox.locked(".git/timewarp/lock");
    silent(&sandbox, &["claude", "SessionEnd"], &payload);
    drop(held);
    assert!(sessions(&sandbox)[0]["ended_at"].is_string());
    assert_eq!(
        sandbox.json(["session", "list", "--live"])["sessions"],
        json!([])
    );
    // What is done from now on is not its doing.
    assert_eq!(sandbox.json(["status"])["session"], Value::Null);
    assert_eq!(sandbox.snap()["session_id"], Value::Null);
    assert!(log(&sandbox).is_empty(), "{:?}", log(&sandbox));
}

#[test]
fn what_no_log_takes_is_said_on_standard_error() {
    let sandbox = Sandbox::new();
    let payload = json!({"session_id": "abcd", "source": "startup"});
    sandbox.write(".git/timewarp/log.jsonl/in", "in the way\n");
    sandbox.write(".git/timewarp/sessions", "in the way\n");
    let mut hook = sandbox.tw_command();
    let ran = hook
        .args(["hook", "claude", "SessionStart"])
        .write_stdin(payload.to_string())
        .output()
        .unwrap();
    assert!(ran.status.success() && ran.stdout.is_empty(), "{ran:?}");
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(said.contains("nothing was recorded: "), "{said}");
}

#[test]
fn an_agent_that_keeps_standard_input_open_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let mut child = crate::damage::raw_command(&sandbox.root(), env!("CARGO_BIN_EXE_tw"))
        .args(["hook", "claude", "session-start"])
        .current_dir(sandbox.repo())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"session_id\": \"abcd\"}").unwrap();
    assert!(child.wait().unwrap().success());
    drop(stdin);
    assert_eq!(sessions(&sandbox)[0]["session_id"], "abcd");
}

#[test]
fn a_standard_input_without_an_end_is_not_read_for_ever() {
    let sandbox = Sandbox::new();
    let mut child = crate::damage::raw_command(&sandbox.root(), env!("CARGO_BIN_EXE_tw"))
        .args(["hook", "claude", "stop"])
        .current_dir(sandbox.repo())
        .stdin(std::fs::File::open("/dev/zero").unwrap())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let ended = loop {
        match child.try_wait().unwrap() {
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            ended => break ended,
        }
    };
    // What has ended is not killed.
    let _ = child.kill();
    assert_eq!(ended.and_then(|ended| ended.code()), Some(0));
    assert_eq!(log(&sandbox)[0]["code"], "USAGE");
}

#[test]
fn with_json_it_says_what_it_did() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .tw_command()
        .args(["--json", "hook", "claude", "SessionStart"])
        .write_stdin("{\"session_id\": \"abcd\"}")
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    crate::schema::check("hook", &document);
    assert_eq!(
        (&document["done"], &document["session_id"]),
        (&json!("snapshot"), &json!("abcd"))
    );
}

#[test]
fn doctor_names_hooks_that_cannot_run_or_were_never_trusted() {
    let sandbox = Sandbox::new();
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_tw"));
    let check = |path: std::ffi::OsString| {
        let mut command = sandbox.tw_command();
        let output = command
            .env("PATH", path)
            .args(["--json", "doctor"])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = document["checks"].as_array().unwrap().clone();
        let found = checks.into_iter().find(|check| check["name"] == "agents");
        found.unwrap()
    };
    let with_tw = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs = std::iter::once(bin.parent().unwrap().to_owned());
        std::env::join_paths(dirs.chain(std::env::split_paths(&path))).unwrap()
    };
    assert_eq!(check(with_tw())["status"], "ok", "no agent is set up");
    sandbox.json(["init", "--agent", "codex,claude"]);
    let nowhere = check(sandbox.home().into_os_string());
    assert_eq!(nowhere["status"], "warning");
    assert!(
        nowhere["message"].as_str().unwrap().contains("not in PATH"),
        "{nowhere}"
    );
    let untrusted = check(with_tw());
    assert_eq!(untrusted["status"], "warning");
    assert!(
        untrusted["fix"].as_str().unwrap().contains("/hooks"),
        "{untrusted}"
    );
    sandbox.json([
        "session",
        "start",
        "--agent",
        "codex",
        "--session",
        "abcd-1",
    ]);
    let heard = check(with_tw());
    assert_eq!(heard["status"], "ok", "{heard}");
    let heard = heard["message"].as_str().unwrap();
    let limit = heard.strip_prefix("set up: 'claude', 'codex'; ").unwrap();
    assert!(
        limit.contains("project's root") && limit.contains("tw init --agent claude --user"),
        "{limit}"
    );
    let said = sandbox.json(["init", "--agent", "claude"])["notices"].to_string();
    assert!(said.contains(limit), "{said}");
    for agent in ["gemini", "qwen"] {
        let said = sandbox.json(["init", "--agent", agent, "--dry-run"])["notices"].to_string();
        let instead = format!("tw init --agent {agent} --user");
        assert!(said.contains(&instead), "{said}");
        let said = sandbox.json(["init", "--agent", agent, "--user", "--dry-run"]);
        assert!(!said["notices"].to_string().contains(&instead), "{said}");
    }
    // What stands against them, each by itself.
    let warned = |message: &str, fix: &str| {
        let found = check(with_tw());
        assert_eq!(found["status"], "warning", "{found}");
        assert!(
            found["message"].as_str().unwrap().contains(message),
            "{found}"
        );
        assert!(found["fix"].as_str().unwrap().contains(fix), "{found}");
    };
    sandbox.json(["init", "--agent", "claude", "--user"]);
    warned(
        "'claude' run twice",
        "tw init --agent claude --user --remove",
    );
    sandbox.json(["init", "--agent", "claude", "--user", "--remove"]);
    sandbox.write(".claude/settings.local.json", "{\"disableAllHooks\": true}");
    warned("disableAllHooks", "settings.local.json");
    sandbox.remove(".claude/settings.local.json");
    sandbox.write("../home/.codex/config.toml", "[features]\nhooks = false\n");
    warned("'codex' do not run", "config.toml");
    sandbox.remove("../home/.codex/config.toml");
    sandbox.git(["config", "timewarp.checkpoints", "steps"]);
    warned("'codex' do not report", "tw init --agent codex");
    sandbox.json(["init", "--agent", "codex,claude,cursor"]);
    let twice = check(with_tw());
    assert_eq!(twice["status"], "ok", "{twice}");
    assert!(
        twice["message"].as_str().unwrap().contains("counts once"),
        "{twice}"
    );
    sandbox.json(["init", "--agent", "kimi-code"]);
    let config = "../home/.kimi-code/config.toml";
    let text = sandbox.text(config);
    sandbox.write(
        config,
        format!("{text}\n[[hooks]]\nevent = \"Stop\"\ncommand = \"x\"\nasync = true\n"),
    );
    warned("Kimi Code does not know", "config.toml");
}

/// The titles of the snapshots that ends of turns made, newest first, each with the texts of `a.txt` in it.
fn turn_ends(sandbox: &Sandbox) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for id in sandbox.ok(["-q", "list"]).lines() {
        let snapshot = sandbox.json(["show", id])["snapshot"].clone();
        if snapshot["trigger"] == "turn-end" {
            assert_eq!(snapshot["session_id"], "abcd");
            assert_eq!(snapshot["agent"], "claude");
            let file = format!("{}:a.txt", snapshot["commit"].as_str().unwrap());
            let title = snapshot["title"].as_str().unwrap().to_owned();
            found.push((title, sandbox.git(["show", &file])));
        }
    }
    found
}

#[test]
fn the_end_of_a_turn_keeps_what_the_agent_left_before_anybody_else_edits() {
    let sandbox = Sandbox::new();
    let event = |name: &str| silent(&sandbox, &["claude", name], &json!({"session_id": "abcd"}));
    // Before anything is known of the session there is no turn that could end.
    event("Stop");
    assert_eq!((total(&sandbox), sessions(&sandbox).len()), (json!(0), 0));
    event("SessionStart");
    event("UserPromptSubmit");
    // The agent only talked.
    let before = total(&sandbox);
    event("Stop");
    assert_eq!(total(&sandbox), before);
    event("UserPromptSubmit");
    sandbox.write("a.txt", "the agent's\n");
    event("Stop");
    sandbox.write("a.txt", "the agent's, and a person's\n");
    event("UserPromptSubmit");
    let expected = [(
        "end of turn, after checkpoint 1".to_owned(),
        "the agent's\n".to_owned(),
    )];
    assert_eq!(turn_ends(&sandbox), expected);
    let checkpoints =
        sandbox.json(["checkpoint", "list", "--session", "abcd"])["checkpoints"].clone();
    assert_eq!(
        checkpoints.as_array().unwrap().len(),
        3,
        "no end is a checkpoint"
    );
    let last = checkpoints[2]["snapshot_id"].as_str().unwrap();
    let diff = sandbox.json(["diff", "latest~1", last]);
    assert_eq!(diff["files"].as_array().unwrap().len(), 1, "{diff}");

    // A sub-agent's turn is a part of its root's.
    sandbox.write("a.txt", "a helper's\n");
    let helper = json!({"session_id": "abcd", "agent_id": "h1"});
    silent(&sandbox, &["claude", "SubagentStart"], &helper);
    silent(&sandbox, &["claude", "SubagentStop"], &helper);
    assert_eq!(turn_ends(&sandbox).len(), 1);
}

#[test]
fn ends_of_turns_are_off_where_checkpoints_are() {
    let sandbox = Sandbox::new();
    let payload = json!({"session_id": "abcd"});
    silent(&sandbox, &["claude", "SessionStart"], &payload);
    sandbox.git(["config", "timewarp.checkpoints", "false"]);
    sandbox.write("a.txt", "changed\n");
    silent(&sandbox, &["claude", "Stop"], &payload);
    assert_eq!(turn_ends(&sandbox), []);
}

#[test]
fn a_payload_that_was_cut_inside_of_an_emoji_is_one() {
    let sandbox = Sandbox::new();
    let start = json!({"session_id": "abcd", "source": "startup"});
    silent(&sandbox, &["generic", "session-start"], &start);
    let payload = "{\"session_id\": \"abcd\", \"x\": 1e400, \"prompt\": \"cut \\ud83d\"}";
    let ran = hook(&sandbox, &["generic", "user-prompt-submit"], payload);
    assert_eq!(sandbox.show(&ran), "exit 0\n");
    let listed = sandbox.json(["checkpoint", "list", "--session", "abcd"]);
    assert_eq!(listed["checkpoints"][0]["prompt"], "cut \u{fffd}");
}

#[test]
fn a_register_that_others_hold_is_waited_for_a_little() {
    let sandbox = Sandbox::new();
    silent(
        &sandbox,
        &["claude", "SessionStart"],
        &json!({"session_id": "abcd", "source": "startup"}),
    );
    for file in ["sessions/lock", "seq"] {
        let held = sandbox.locked(format!(".git/timewarp/{file}"));
        for event in ["UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"] {
            sandbox.write("a.txt", format!("{file} {event}\n"));
            let begun = std::time::Instant::now();
            let payload = json!({"session_id": "abcd", "prompt": event, "tool_name": "Write"});
            silent(&sandbox, &["claude", event], &payload);
            // A quarter of two seconds for each thing that is held; the holder keeps it.
            let waited = begun.elapsed().as_secs();
            assert!(waited < 20, "{file} {event}: {waited} s");
        }
        drop(held);
    }
    let busy = log(&sandbox)
        .iter()
        .filter(|line| line["code"] == "BUSY")
        .count();
    assert!(busy > 2, "{:?}", log(&sandbox));
}

#[test]
fn the_same_words_after_the_end_of_a_turn_are_another_prompt() {
    let sandbox = Sandbox::new();
    let event = |event: &str, prompt: &str| {
        // The same moment for all of them.
        let payload = json!({"session_id": "abcd", "prompt": prompt}).to_string();
        let ran = sandbox
            .tw_command()
            .args(["hook", "generic", event])
            .env("TW_TEST_NOW", "2026-02-28T15:30:12Z")
            .write_stdin(payload)
            .output()
            .unwrap();
        assert!(ran.stderr.is_empty() && ran.status.success());
    };
    event("session-start", "");
    event("user-prompt-submit", "go on");
    event("user-prompt-submit", "go on");
    event("stop", "");
    event("user-prompt-submit", "go on");
    let listed = sandbox.json(["checkpoint", "list", "--session", "abcd"]);
    let prompts = listed["checkpoints"].as_array().unwrap();
    assert_eq!(prompts.len(), 2, "told twice once, said twice: {listed}");
}

#[test]
fn an_event_of_a_directory_that_is_there_counts_although_the_hook_s_own_is_gone() {
    let sandbox = Sandbox::new();
    let payload = json!({"session_id": "abcd", "cwd": sandbox.repo(), "prompt": "go on"});
    let script =
        "mkdir gone; cd gone; rmdir ../gone; echo \"$SAID\" | \"$TW\" hook claude UserPromptSubmit";
    let output = sandbox
        .command("sh")
        .current_dir(sandbox.repo())
        .env("TW", env!("CARGO_BIN_EXE_tw"))
        .env("SAID", payload.to_string())
        .args(["-c", script])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let listed = sandbox.json(["checkpoint", "list", "--session", "abcd"]);
    assert_eq!(
        listed["checkpoints"].as_array().unwrap().len(),
        1,
        "{listed}"
    );
}

#[test]
fn what_is_no_working_tree_is_not_written_to() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "-q", "--bare", "bare"]);
    sandbox.git(["init", "-q", "later"]);
    for (key, value) in [
        ("core.repositoryformatversion", "1"),
        ("extensions.later", "x"),
    ] {
        sandbox.git(["-C", "later", "config", key, value]);
    }
    for (dir, inside) in [("bare", "bare/timewarp"), ("later", "later/.git/timewarp")] {
        let payload = json!({"session_id": "q", "prompt": "x", "cwd": sandbox.path(dir)});
        let ran = hook(
            &sandbox,
            &["claude", "UserPromptSubmit"],
            &payload.to_string(),
        );
        assert_eq!((ran.code, ran.out()), (0, String::new()), "{dir}");
        assert!(sandbox.show(&ran).contains("repository"), "{dir}");
        assert!(!sandbox.path(inside).exists(), "{dir}");
    }
}

/// A value that somebody mistyped once costs no checkpoint, and is said.
#[test]
fn a_wrong_setting_is_logged_and_its_default_holds_but_nothing_is_forgotten() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "1");
    let old = sandbox.ok(["-q", "snapshot"]);
    sandbox.wait(60 * 24 * 3600);
    for (key, value) in [
        ("keepDays", "banana"),
        ("keepLast", "0"),
        ("lockTimeout", "soon"),
        ("checkpoints", "banana"),
        ("watch", "banana"),
    ] {
        sandbox.git(["config", &format!("timewarp.{key}"), value]);
    }
    sandbox.write("a.txt", "2");
    silent(
        &sandbox,
        &["claude", "SessionStart"],
        &json!({"session_id": "q"}),
    );
    sandbox.write("a.txt", "3");
    silent(
        &sandbox,
        &["claude", "UserPromptSubmit"],
        &json!({"session_id": "q", "prompt": "x"}),
    );
    let codes: Vec<Value> = log(&sandbox)
        .iter()
        .map(|line| line["code"].clone())
        .collect();
    assert_eq!(codes, vec![json!("INVALID_CONFIG"); 8]);
    let message = log(&sandbox)[0]["message"].to_string();
    assert!(message.contains("timewarp.keepDays"), "{message}");
    let mut command = sandbox.tw_command();
    let command = command
        .args(["--json", "hook", "claude", "Stop"])
        .write_stdin("{\"session_id\": \"q\"}");
    let said: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(said["error"]["code"], "INVALID_CONFIG");
    sandbox.git(["config", "--remove-section", "timewarp"]);
    assert_eq!(
        sandbox.json(["checkpoint", "list"])["checkpoints"][0]["prompt"],
        "x"
    );
    // With one snapshot and no days to keep it the start would have let it go.
    assert!(sandbox.ok(["show", old.trim()]).contains(old.trim()));
}

#[test]
fn a_repository_that_cannot_be_read_is_logged_or_said() {
    let sandbox = Sandbox::new();
    let payload = json!({"session_id": "q", "prompt": "x"});
    let config = sandbox.text(".git/config");
    sandbox.write(".git/config", "[core\n");
    silent(&sandbox, &["claude", "UserPromptSubmit"], &payload);
    assert_eq!(log(&sandbox)[0]["code"], "INVALID_CONFIG");
    sandbox.write(".git/config", config);
    if !is_root() {
        skipped("root", "only root can give a directory away");
        return;
    }
    std::os::unix::fs::chown(sandbox.path(".git"), Some(65534), None).unwrap();
    let ran = hook(
        &sandbox,
        &["claude", "UserPromptSubmit"],
        &payload.to_string(),
    );
    assert_eq!((ran.code, ran.out()), (0, String::new()));
    assert!(
        ran.err()
            .starts_with("note: nothing was recorded: the repository at"),
        "{}",
        ran.err()
    );
    assert_eq!(
        log(&sandbox).len(),
        1,
        "nothing is written into another's directory"
    );
}

#[test]
fn a_sub_agent_that_only_its_file_tells_of_leaves_the_root_alone() {
    let sandbox = Sandbox::new();
    let rollout = |id: &str, source: &Value| {
        let path = sandbox.root().join(format!("rollout-{id}.jsonl"));
        let head = json!({"id": id, "cwd": sandbox.repo(), "source": source});
        let head = json!({"type": "session_meta", "payload": head});
        std::fs::write(&path, format!("{head}\n")).unwrap();
        path
    };
    let tell = |event: &str, session: &str, rollout: &Path, prompt: &str| {
        let payload = json!({"session_id": session, "transcript_path": rollout, "prompt": prompt});
        silent(&sandbox, &["codex", event], &payload);
    };
    let root = rollout("root", &json!("cli"));
    tell("SessionStart", "root", &root, "");
    tell("UserPromptSubmit", "root", &root, "the root's");
    let before = sandbox.json(["status"])["state"].clone();
    assert_eq!(before["session_id"], "root");
    let spawned = json!({"subagent": {"thread_spawn": {"parent_thread_id": "root", "depth": 1}}});
    // Told by its root's id, by its own, and one that nothing says the root of.
    for (id, session, source) in [
        ("sub1", "root", &spawned),
        ("sub2", "sub2", &spawned),
        ("sub3", "sub3", &json!({"subagent": "review"})),
    ] {
        let sub = rollout(id, source);
        sandbox.write(id, "written by a sub-agent\n");
        for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
            tell(event, session, &sub, "a sub-agent's");
        }
        let now = sandbox.json(["status"])["state"].clone();
        for field in ["session_id", "session_snapshot_id"] {
            assert_eq!(now[field], before[field], "{id}");
        }
    }
    let shown = sandbox.json(["session", "show", "root"]);
    assert_eq!(shown["children"], json!(["sub2", "sub1"]), "newest first");
    assert_eq!(
        shown["session"]["transcript"].as_str(),
        root.to_str(),
        "the root's file"
    );
    let listed = sandbox.json(["checkpoint", "list", "--session", "root"]);
    let prompts: Vec<&Value> = listed["checkpoints"].as_array().unwrap().iter().collect();
    assert_eq!(prompts.len(), 1, "{listed}");
    assert_eq!(prompts[0]["prompt"], "the root's");
    assert_eq!(listed["turn_ends"], json!([]));
    assert_eq!(sessions(&sandbox).len(), 3);
    assert_eq!(log(&sandbox), Vec::<Value>::new());
}
