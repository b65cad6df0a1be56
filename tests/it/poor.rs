//! Where the system, or whoever started `tw`, withholds what others take for granted: threads, the news that a child has ended.

use std::time::{Duration, Instant};

use assert_cmd::Command;
use serde_json::{Value, json};

use crate::sandbox::{Ran, Sandbox, skipped};
use crate::share::hub::Hub;
use crate::trip::snapshot;
use crate::workspace::Trio;

/// The stack of a thread, for which there is no room anywhere: every thread is refused, for every user.
const NO_ROOM: (&str, &str) = ("RUST_MIN_STACK", "1000000000000000");

const REPORT: [&str; 8] = [
    "issue",
    "report",
    "--task-context",
    "a",
    "--symptom",
    "b",
    "--success-criteria",
    "c",
];

fn reported(sandbox: &Sandbox) -> String {
    let reported = sandbox.json(REPORT);
    reported["issue_id"].as_str().unwrap().to_owned()
}

fn without_threads(sandbox: &Sandbox, words: &[&str]) -> Ran {
    let mut command = sandbox.tw_command();
    command.env(NO_ROOM.0, NO_ROOM.1).args(words);
    command.output().unwrap().into()
}

/// As much as gives every core something to do, and a blob that is written in a stream.
fn full() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    for nth in 0..600 {
        sandbox.write(format!("d{}/f{nth}", nth % 7), format!("line {nth}\n"));
    }
    let large: Vec<u8> = (0..9_000_000u32).flat_map(u32::to_le_bytes).collect();
    sandbox.write("large", large);
    let id = without_threads(&sandbox, &["-q", "snapshot"]);
    assert_eq!((id.err(), id.code), (String::new(), 0));
    let id = id.out().trim().to_owned();
    sandbox.git(["fsck", "--strict"]);
    (sandbox, id)
}

#[test]
fn without_threads_every_way_there_and_back_is_open() {
    let (sandbox, id) = full();
    for nth in (0..600).step_by(2) {
        sandbox.write(format!("d{}/f{nth}", nth % 7), format!("other {nth}\n"));
    }
    sandbox.remove("large");
    let before = sandbox.state();
    let needs_one = |words: &[&str]| ["search", "try"].contains(&words[0]);
    for words in [
        &["status"][..],
        &["diff", &id],
        &["travel", &id],
        &["return"],
        &["restore", &id],
        &["undo"],
        &["list"],
        &["find", "large"],
        &["search", "line 7$"],
        &["search", "--all", "other 8"],
        &["blame", "d0/f0"],
        &["open", &id, "../other"],
        &["close", "../other"],
        &["try", "-n", "1", "--verify", "true", "--", "true"],
        &["doctor"],
        &["prune", "--dry-run"],
    ] {
        let ran = without_threads(&sandbox, words);
        // A blob that does not fit into memory is looked through by two.
        let says = ran.err().contains("cannot start a thread");
        assert_eq!(says, needs_one(words), "{words:?}: {}", ran.err());
        let fails = words[0] == "try";
        assert_eq!(ran.code, i32::from(fails), "{words:?}: {}", ran.err());
    }
    before.assert_same(&sandbox.state());
    let found = without_threads(&sandbox, &["search", "line 7$"]);
    assert!(!found.out().is_empty());
    assert_eq!(found.out(), sandbox.tw(["search", "line 7$"]).out());
}

#[test]
fn without_threads_a_hook_ends_with_zero_and_takes_its_snapshot() {
    let sandbox = Sandbox::new();
    let hook = |event: &str| -> Ran {
        let payload = json!({"session_id": "abcd", "prompt": "x", "cwd": sandbox.repo()});
        let mut command = sandbox.tw_command();
        command.args(["hook", "claude", event]);
        command.env(NO_ROOM.0, NO_ROOM.1);
        command.write_stdin(payload.to_string());
        command.output().unwrap().into()
    };
    assert_eq!(sandbox.show(&hook("SessionStart")), "exit 0\n");
    assert_eq!(sandbox.show(&hook("UserPromptSubmit")), "exit 0\n");
    let listed = sandbox.json(["checkpoint", "list", "--session", "abcd"]);
    assert_eq!(listed["checkpoints"].as_array().unwrap().len(), 1);
}

#[test]
fn without_threads_what_needs_one_says_so_and_does_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "bad\n");
    snapshot(&sandbox);
    sandbox.write("a.txt", "good\n");
    snapshot(&sandbox);
    let issue = reported(&sandbox);
    for words in [
        &["bisect", "run", "--", "false"][..],
        &[&REPORT[..], &["--verify", "touch ran"]].concat(),
        &["try", "-n", "2", "--", "true"],
        &["web"],
    ] {
        let ran = without_threads(&sandbox, words);
        let reports = words.starts_with(&["issue", "report"]);
        assert_eq!(ran.code, i32::from(!reports), "{words:?}: {}", ran.err());
        let says = ran.err().contains("cannot start a thread");
        assert_eq!(says, !reports, "{words:?}: {}", ran.err());
    }
    assert!(!sandbox.exists("ran"));
    // One check runs without any.
    let verify = ["issue", "verify", &issue, "--", "touch ran"];
    let ran = without_threads(&sandbox, &verify);
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert!(sandbox.exists("ran"));
    let trio = Trio::new();
    let before = trio.states();
    let ran = without_threads(&trio.sandbox, &["travel", &trio.snapshot]);
    assert_eq!(ran.code, 1);
    assert!(ran.err().contains("nothing has moved"), "{}", ran.err());
    for (before, after) in before.iter().zip(trio.states()) {
        before.assert_same(&after);
    }
}

#[test]
fn without_threads_issues_go_to_a_remote_and_come_from_it() {
    let hub = Hub::new();
    let dir = hub.clone_("a").dir;
    let sandbox = &hub.sandbox;
    let tw = |words: &[&str]| {
        let mut command = sandbox.tw_command();
        command.current_dir(&dir).env(NO_ROOM.0, NO_ROOM.1);
        let ran: Ran = command.args(words).output().unwrap().into();
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.err());
    };
    tw(&["snapshot"]);
    tw(&["share", "init", "origin"]);
    tw(&REPORT);
    tw(&["push"]);
    tw(&["pull"]);
}

#[test]
fn a_git_that_does_not_answer_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let bin = sandbox.root().join("bin");
    sandbox.program(bin.join("git"), "#!/bin/sh\nsleep 60\n");
    let mut command = sandbox.tw_command();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let begun = Instant::now();
    let ran: Ran = command
        .env("PATH", path)
        .args(["--json", "snapshot"])
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert!(begun.elapsed() < Duration::from_secs(40));
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(document["snapshot"]["env_fingerprint"]["git"], Value::Null);
}

/// `tw` as a parent starts it that does this with the news that a child has ended. None: `env` cannot do it.
fn started(sandbox: &Sandbox, option: &str) -> Option<Command> {
    let mut probe = sandbox.command("env");
    if !probe
        .args([option, "true"])
        .output()
        .unwrap()
        .status
        .success()
    {
        skipped("env --ignore-signal", "env of coreutils 8.31 or newer");
        return None;
    }
    let mut command = sandbox.command("env");
    command.args([option, env!("CARGO_BIN_EXE_tw")]);
    Some(command)
}

#[test]
fn whoever_ignores_the_end_of_children_may_start_tw() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    snapshot(&sandbox);
    let issue = reported(&sandbox);
    for words in [
        &["open", &id, "../other"][..],
        &["close", "../other"],
        &["issue", "verify", &issue, "--", "true"],
        &["try", "-n", "1", "--verify", "true", "--", "true"],
        &["bisect", "run", "--", "grep", "-q", "one", "a.txt"],
    ] {
        let Some(mut command) = started(&sandbox, "--ignore-signal=CHLD") else {
            return;
        };
        let ran: Ran = command.args(words).output().unwrap().into();
        assert!(!ran.err().contains("child"), "{words:?}: {}", ran.err());
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.err());
    }
}

#[test]
fn a_run_ends_with_its_command_even_when_that_news_is_blocked() {
    let sandbox = Sandbox::new();
    let Some(mut command) = started(&sandbox, "--block-signal=CHLD") else {
        return;
    };
    let begun = Instant::now();
    command.args(["--json", "try", "-n", "1", "--timeout", "60s"]);
    command.args(["--verify", "true", "--", "true"]);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert!(begun.elapsed() < Duration::from_secs(50));
}
