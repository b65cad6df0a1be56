//! Whose issue it is: the session that reports, its snapshot, its conversation, and how both were found.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use timewarp::agents;

use crate::issue::FIELDS;
use crate::sandbox::Sandbox;

/// Split, so that no scanner takes it for real.
const TOKEN: [&str; 2] = ["ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"];

fn start(sandbox: &Sandbox, args: &[&str]) -> String {
    let started = sandbox.json([&["session", "start"], args].concat());
    started["snapshot_id"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn report(sandbox: &Sandbox, more: &[&str]) -> Value {
    sandbox.json([&["issue", "report"], &FIELDS[..], more].concat())
}

fn report_with(sandbox: &Sandbox, variable: (&str, &str)) -> Value {
    let mut command = sandbox.tw_command();
    command
        .env(variable.0, variable.1)
        .args(["--json", "issue", "report"])
        .args(FIELDS);
    let document: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(document["ok"], true, "{document}");
    document
}

/// A session file of Claude Code where it keeps those of this directory, so many seconds old.
fn transcript(sandbox: &Sandbox, session: &str, prompt: &str, age: u64) -> PathBuf {
    let project: String = sandbox
        .repo()
        .to_string_lossy()
        .chars()
        .map(|ch| if ch.is_ascii_alphanumeric() { ch } else { '-' })
        .collect();
    let dir = sandbox.home().join(".claude/projects").join(project);
    std::fs::create_dir_all(&dir).unwrap();
    let row = json!({
        "type": "user", "uuid": "a", "parentUuid": null, "sessionId": session, "cwd": sandbox.repo(), "version": "2.0.0",
        "timestamp": "2026-02-28T15:00:00.000Z", "isSidechain": false, "userType": "external",
        "message": {"role": "user", "content": prompt},
    });
    let path = dir.join(format!("{session}.jsonl"));
    std::fs::write(&path, format!("{row}\n")).unwrap();
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_772_292_600 - age);
    file.set_modified(time).unwrap();
    path
}

fn chat(sandbox: &Sandbox, reported: &Value) -> String {
    let id = reported["issue_id"].as_str().unwrap();
    let chat = sandbox.json(["issue", "chat", id]);
    chat["chat"]["messages"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn of_two_agents_in_one_tree_each_reports_as_itself_on_what_is_there() {
    let sandbox = Sandbox::new();
    let first = start(&sandbox, &["--agent", "claude", "--session", "aaaa-1"]);
    sandbox.write("a.txt", "two\n");
    let second = start(&sandbox, &["--agent", "codex", "--session", "bbbb-2"]);
    assert_ne!(first, second);
    let by_flag = |session| report(&sandbox, &["--session", session])["issue"].clone();
    let of = |issue: &Value| {
        let fields = ["snapshot_id", "session_id", "agent"];
        fields.map(|field| issue[field].as_str().unwrap().to_owned())
    };
    assert_eq!(of(&by_flag("bbbb-2")), [&second, "bbbb-2", "codex"]);
    let [by_state, session, _] = of(&report(&sandbox, &[])["issue"]);
    assert_eq!([by_state, session], [&second, "bbbb-2"]);
    let [now, session, agent] = of(&by_flag("aaaa-1"));
    assert_eq!([&*session, &*agent], ["aaaa-1", "claude"]);
    assert_eq!(
        now, second,
        "the tree is not as the session's snapshot has it"
    );
    sandbox.write("a.txt", "one\n");
    let by_environment = &report_with(&sandbox, ("CLAUDE_CODE_SESSION_ID", "aaaa-1"))["issue"];
    let [now, session, _] = of(by_environment);
    assert_eq!([&*now, &*session], [&*first, "aaaa-1"], "it is again");
}

#[test]
fn a_report_without_a_session_takes_a_snapshot_of_what_is_there() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "the state in which it happened\n");
    let issue = report(&sandbox, &[])["issue"].clone();
    let taken = issue["snapshot_id"].as_str().unwrap();
    assert_eq!(sandbox.ok(["-q", "list"]).trim(), taken);
    assert_eq!(issue["session_id"], Value::Null);
    let shown = sandbox.json(["show", taken]);
    assert_eq!(shown["snapshot"]["trigger"], "issue-report");
    let commit = shown["snapshot"]["commit"].as_str().unwrap();
    assert_eq!(
        sandbox.git(["cat-file", "blob", &format!("{commit}:a.txt")]),
        "the state in which it happened\n"
    );
}

#[test]
fn a_report_takes_a_snapshot_only_when_something_changed() {
    let sandbox = Sandbox::new();
    sandbox.write("new.txt", "not known to git\n");
    let newest = sandbox.ok(["-q", "snapshot"]).trim().to_owned();
    let tied_to = |sandbox: &Sandbox| report(sandbox, &[])["issue"]["snapshot_id"].clone();
    let first = tied_to(&sandbox);
    assert_eq!(first, newest.as_str(), "nothing changed since");
    sandbox.git(["add", "-A"]);
    let staged = tied_to(&sandbox);
    assert_ne!(staged, first, "the index counts, too");
    sandbox.write("a.txt", "later\n");
    assert_ne!(tied_to(&sandbox), staged);
    assert_eq!(
        report(&sandbox, &["--snapshot", first.as_str().unwrap()])["issue"]["snapshot_id"],
        first
    );
}

#[test]
fn a_report_in_the_past_is_tied_to_the_past() {
    let sandbox = Sandbox::new();
    let old = sandbox.ok(["-q", "snapshot"]).trim().to_owned();
    sandbox.write("a.txt", "the present\n");
    sandbox.ok(["travel", &old]);
    sandbox.write("a.txt", "tried in the past\n");
    let issue = report(&sandbox, &[])["issue"].clone();
    let shown = sandbox.json(["show", issue["snapshot_id"].as_str().unwrap()]);
    assert_eq!(shown["snapshot"]["taken_in"], "past");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true);
    assert_eq!(sandbox.text("a.txt"), "the present\n");
}

#[test]
fn a_session_that_is_not_known_may_report() {
    let sandbox = Sandbox::new();
    let started = start(&sandbox, &["--session", "aaaa-1"]);
    let issue = report(&sandbox, &["--session", "unknown"])["issue"].clone();
    assert_eq!(issue["session_id"], "unknown");
    assert_eq!(issue["snapshot_id"], started.as_str(), "nothing changed");
}

#[test]
fn a_sub_agent_reports_on_the_snapshot_of_its_root() {
    let sandbox = Sandbox::new();
    let root = start(&sandbox, &["--session", "aaaa-1"]);
    start(&sandbox, &["--session", "sub-1", "--parent", "aaaa-1"]);
    sandbox.write("a.txt", "two\n");
    start(&sandbox, &["--session", "bbbb-2"]);
    sandbox.write("a.txt", "one\n");
    let issue = report(&sandbox, &["--session", "sub-1"])["issue"].clone();
    assert_eq!(
        (&issue["snapshot_id"], &issue["session_id"]),
        (&json!(root), &json!("sub-1"))
    );
}

#[test]
fn the_file_is_the_one_given_the_session_s_the_environment_s_or_the_newest() {
    let sandbox = Sandbox::new();
    transcript(&sandbox, "aaaa-1", "of the first", 300);
    transcript(&sandbox, "bbbb-2", "of the second", 200);
    let newest = transcript(&sandbox, "cccc-3", "the newest", 100);
    let own = sandbox.home().join("elsewhere.jsonl");
    std::fs::copy(&newest, &own).unwrap();
    let cases: [(Value, &str, &str); 3] = [
        (
            report(&sandbox, &["--transcript", &own.to_string_lossy()]),
            "given",
            "the newest",
        ),
        (
            report_with(&sandbox, ("CLAUDE_CODE_SESSION_ID", "bbbb-2")),
            "environment",
            "of the second",
        ),
        (report(&sandbox, &[]), "newest", "the newest"),
    ];
    for (reported, found_by, text) in cases {
        assert_eq!(
            reported["chat"],
            json!({"messages": 1, "found_by": found_by})
        );
        assert_eq!(chat(&sandbox, &reported), text);
    }
    start(&sandbox, &["--agent", "claude", "--session", "aaaa-1"]);
    let by_id = report(&sandbox, &["--session", "aaaa-1"]);
    assert_eq!(by_id["chat"]["found_by"], "session");
    assert_eq!(chat(&sandbox, &by_id), "of the first");
    assert_eq!(
        report(&sandbox, &[])["chat"]["found_by"],
        "session",
        "the last session's"
    );
}

#[test]
fn a_conversation_that_was_named_tells_more_than_which_session_was_started_last() {
    let sandbox = Sandbox::new();
    let other = transcript(&sandbox, "aaaa-1", "of another", 300);
    start(&sandbox, &["--agent", "codex", "--session", "bbbb-2"]);
    let given = ["--transcript", &other.to_string_lossy()];
    let whose = |reported: &Value| {
        ["session_id", "agent"].map(|name| reported["issue"][name].as_str().map(str::to_owned))
    };
    let own = |words: [&str; 2]| words.map(|word| Some(word.to_owned()));
    let reported = report(&sandbox, &given);
    assert_eq!(whose(&reported), own(["aaaa-1", "claude"]));
    // Who says which session reports is believed.
    let named = report(&sandbox, &[&given[..], &["--session", "bbbb-2"]].concat());
    assert_eq!(whose(&named), own(["bbbb-2", "codex"]));
}

#[test]
fn a_hook_s_file_comes_before_all_that_is_guessed() {
    let sandbox = Sandbox::new();
    transcript(&sandbox, "cccc-3", "the newest", 100);
    let kept = transcript(&sandbox, "dddd-4", "told by the hook", 900);
    let moved = sandbox.home().join("moved.jsonl");
    std::fs::rename(kept, &moved).unwrap();
    let payload = json!({"session_id": "dddd-4", "transcript_path": moved, "cwd": sandbox.repo(), "source": "startup"});
    let hooked = sandbox
        .tw_command()
        .args(["hook", "claude", "session-start"])
        .write_stdin(payload.to_string())
        .output()
        .unwrap();
    assert!(hooked.status.success());
    for reported in [
        report(&sandbox, &[]),
        report_with(&sandbox, ("CLAUDE_CODE_SESSION_ID", "dddd-4")),
    ] {
        assert_eq!(reported["chat"]["found_by"], "session");
        assert_eq!(chat(&sandbox, &reported), "told by the hook");
        assert_eq!(reported["issue"]["session_id"], "dddd-4");
    }
}

#[test]
fn another_agent_s_conversation_is_not_taken_for_one_s_own() {
    let sandbox = Sandbox::new();
    transcript(&sandbox, "cccc-3", "the newest", 100);
    start(&sandbox, &["--agent", "codex", "--session", "bbbb-2"]);
    let reported = report(&sandbox, &[]);
    assert_eq!(reported["chat"], Value::Null);
    let reason = reported["issue"]["chat_unavailable"].as_str().unwrap();
    assert!(reason.contains("'codex'"), "{reason}");
    assert!(
        reported["notices"]
            .to_string()
            .contains("chat unavailable: ")
    );
}

#[test]
fn the_conversation_of_another_session_is_not_taken_for_the_caller_s() {
    let silent = |reported: &Value, session: &str| {
        assert_eq!(reported["chat"], Value::Null, "{reported}");
        let reason = reported["issue"]["chat_unavailable"].as_str().unwrap();
        assert!(reason.contains(&format!("'{session}'")), "{reason}");
        let said = format!("chat unavailable: {reason}");
        let told = reported["notices"].as_array().unwrap();
        assert!(told.contains(&json!(said)), "{reported}");
        assert_eq!(reported["issue"]["session_id"], session);
    };
    let agents = agents::AGENTS.iter();
    let variables = agents.filter_map(|agent| agent.session_variables().first());
    for variable in variables {
        let sandbox = Sandbox::new();
        transcript(&sandbox, "cccc-3", "of another session", 100);
        silent(&report_with(&sandbox, (variable, "aaaa-1")), "aaaa-1");
    }
    for agent in agents::AGENTS {
        // As its hook starts it, before its first prompt.
        let sandbox = Sandbox::new();
        transcript(&sandbox, "cccc-3", "of another session", 100);
        let file = sandbox.home().join("aaaa-1.jsonl");
        let payload = json!({"session_id": "aaaa-1", "transcript_path": file, "cwd": sandbox.repo(), "source": "startup"});
        let hooked = sandbox
            .tw_command()
            .args(["hook", agent.name(), "session-start"])
            .write_stdin(payload.to_string())
            .output()
            .unwrap();
        assert!(hooked.status.success(), "{}", agent.name());
        silent(&report(&sandbox, &[]), "aaaa-1");
    }
    let sandbox = Sandbox::new();
    transcript(&sandbox, "cccc-3", "of another session", 100);
    start(&sandbox, &["--agent", "generic", "--session", "harness"]);
    let reported = report(&sandbox, &[]);
    silent(&reported, "harness");
    // Its own, once it is there.
    transcript(&sandbox, "harness", "of the harness", 300);
    let id = reported["issue_id"].as_str().unwrap();
    sandbox.json(["issue", "edit", id, "--session", "harness"]);
    assert_eq!(chat(&sandbox, &reported), "of the harness");
    // Where no session is known any more, the guess is of the session that it names.
    sandbox.json(["session", "end", "harness"]);
    let guessed = report(&sandbox, &[]);
    assert_eq!(guessed["chat"]["found_by"], "newest");
    assert_eq!(guessed["issue"]["session_id"], "cccc-3");
}

#[test]
fn hints_titles_labels_and_the_log_have_no_secrets() {
    let sandbox = Sandbox::new();
    let token = TOKEN.concat();
    sandbox.write(".env", "DATABASE_PASSWORD=zebra-lamp-41-violet\n");
    let hint = format!("deploy with {token}");
    start(&sandbox, &["--session", "aaaa-1", "--hint", &hint]);
    let title = "tried zebra-lamp-41-violet";
    let taken = sandbox.json(["snapshot", "-m", title]);
    assert!(
        taken["snapshot"]["title"]
            .as_str()
            .unwrap()
            .starts_with("tried ***REDACTED"),
        "{taken}"
    );
    let mut command = sandbox.tw_command();
    command.env("MY_API_TOKEN", "quartz-7-umbrella-tin").args([
        "snapshot",
        "-m",
        "quartz-7-umbrella-tin",
    ]);
    assert!(command.output().unwrap().status.success());
    let log = sandbox.git(["log", "--all", "--format=%B"]);
    for secret in [&token[..], "zebra-lamp-41-violet", "quartz-7-umbrella-tin"] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
    let register = sandbox.text(".git/timewarp/sessions/aaaa-1.json");
    assert!(
        !register.contains(&token) && register.contains("***REDACTED"),
        "{register}"
    );
    for args in [
        vec!["snapshot", "--label", &token],
        vec!["label", "latest", &token],
    ] {
        let (error, code) = sandbox.json_error(&args);
        assert_eq!((&error["code"], code), (&json!("INVALID_LABEL"), 3));
        assert!(!error.to_string().contains(&token), "{error}");
    }
    let refs = sandbox.git(["for-each-ref"]);
    assert!(!refs.contains(&token), "{refs}");
    let bad = sandbox
        .tw_command()
        .args(["hook", "claude", "session-start"])
        .write_stdin(format!("{{ {token}"))
        .output()
        .unwrap();
    assert!(bad.status.success());
    assert!(!sandbox.text(".git/timewarp/log.jsonl").contains(&token));
}

#[test]
fn the_strict_rule_keeps_what_issues_name_and_this_session_s() {
    let sandbox = Sandbox::new();
    for key in ["timewarp.keepDays", "timewarp.keepLast"] {
        sandbox.git(["config", key, "0"]);
    }
    let with_issue = start(&sandbox, &["--session", "aaaa-1"]);
    report(&sandbox, &[]);
    let without = start(&sandbox, &["--session", "bbbb-2"]);
    sandbox.json(["snapshot"]);
    sandbox.git(["worktree", "add", "-q", "../linked"]);
    let linked = sandbox.root().join("linked");
    let ran = sandbox.tw_in(
        &linked,
        ["--json", "session", "start", "--session", "dddd-4"],
    );
    let elsewhere: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let elsewhere = elsewhere["snapshot_id"].as_str().unwrap().to_owned();
    let own = sandbox.json(["session", "start", "--session", "cccc-3"]);
    let listed = sandbox.json(["list", "--all-worktrees"]);
    let mut kept: Vec<&str> = listed["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["snapshot_id"].as_str().unwrap())
        .collect();
    kept.sort_unstable();
    let mut expected = vec![
        with_issue.as_str(),
        &elsewhere,
        own["snapshot_id"].as_str().unwrap(),
    ];
    expected.sort_unstable();
    assert_eq!(kept, expected);
    assert!(
        own["pruned"].to_string().contains(&without)
            || elsewhere.is_empty()
            || !kept.contains(&without.as_str())
    );
    let again = sandbox.json(["session", "start", "--session", "cccc-3"]);
    assert!(
        again["pruned"]
            .to_string()
            .contains(own["snapshot_id"].as_str().unwrap()),
        "{again}"
    );
    sandbox.json(["travel", "session"]);
    let in_the_past = sandbox.json(["session", "start", "--session", "eeee-5"]);
    assert_eq!(
        (&in_the_past["pruned"], &in_the_past["snapshot_id"]),
        (&json!([]), &Value::Null)
    );
}

#[test]
fn prune_in_the_past_keeps_it_and_the_way_home() {
    let sandbox = Sandbox::new();
    let take = |text: &str| {
        sandbox.write("a.txt", text);
        sandbox.json(["snapshot"])["snapshot"]["snapshot_id"].clone()
    };
    let [past, other] = ["1", "2"].map(take);
    sandbox.write("a.txt", "work");
    let home = sandbox.state();
    let entered = sandbox.json(["travel", past.as_str().unwrap()]);
    let pruned = sandbox.json(["prune", "--keep-days", "0", "--keep-last", "0"]);
    let forgotten = pruned["forgotten"].as_array().unwrap().iter();
    let forgotten: Vec<_> = forgotten.map(|one| &one["id"]).collect();
    assert_eq!(forgotten, [&other]);
    sandbox.json(["show", entered["backup_id"].as_str().unwrap()]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    assert_eq!(sandbox.json(["return"])["verified"], true);
    home.assert_same(&sandbox.state());
    sandbox.json(["undo", "--into-past"]);
    assert_eq!(sandbox.text("a.txt"), "1");
}
