//! What a check printed, and the run that it is recorded in.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{id, ready, report};
use crate::damage::raw_command;
use crate::sandbox::{Sandbox, wait_until};

#[test]
fn what_a_check_printed_is_kept_where_a_child_keeps_the_output_open() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let check = "echo one; sleep 30 & echo $! >pid; echo two; exit 3";
    let ran = sandbox.tw(["--json", "issue", "verify", &id, "--", check]);
    let verified: serde_json::Value = serde_json::from_str(&ran.out()).unwrap();
    assert_eq!(verified["exit_status"], 3);
    assert_eq!(verified["output_tail"], "one\ntwo\n");
    // It is said, and does not go on.
    let pid = sandbox.text("pid");
    let said = format!("left running, and ended: {} sleep 30", pid.trim());
    assert_eq!(verified["notices"], json!([said]));
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    let goes_on = stat.is_ok_and(|stat| !stat.contains(") Z"));
    assert!(!goes_on);
    let left = std::fs::read_dir(sandbox.path(".git/timewarp")).unwrap();
    let mut names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!names.any(|name| name.starts_with("verify-")));
}

#[test]
fn ctrl_c_ends_a_check_with_a_document_and_nothing_is_recorded() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let began = sandbox.root().join("began");
    let check = format!("echo >{}; sleep 300", began.display());
    let child = raw_command(&sandbox.root(), env!("CARGO_BIN_EXE_tw"))
        .current_dir(sandbox.repo())
        .args(["--json", "issue", "verify", &id, "--", &check])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the check begins", || began.exists());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    crate::schema::check("error", &said);
    let error = &said["error"];
    assert_eq!(
        (&said["ok"], &error["message"], &error["hint"]),
        (
            &json!(false),
            &json!("the check was stopped, and nothing of it is recorded"),
            &json!(format!("'tw issue verify {id}' runs it again"))
        )
    );
    assert_eq!(
        sandbox.json(["issue", "get", &id])["issue"]["runs"],
        json!([])
    );
}

/// Each is written by a process of its own.
#[test]
fn approvals_given_at_the_same_moment_all_hold() {
    let sandbox = ready();
    let one = "\"$0\" -q issue report --task-context t --symptom s$n --success-criteria c --verify \"test $n = $n\" >>ids";
    let script = format!("for n in 1 2 3 4 5 6; do {one} & done; wait");
    let ran = sandbox
        .command("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_tw")])
        .output()
        .unwrap();
    let ids = sandbox.text("ids");
    assert_eq!(ids.lines().count(), 6, "{ran:?}");
    for id in ids.lines() {
        let issue = sandbox.json(["issue", "get", id])["issue"].clone();
        assert_eq!(issue["verify_approved"], true, "{issue}");
    }
}

fn runs(sandbox: &Sandbox, id: &str) -> Vec<Value> {
    let issue = sandbox.json(["issue", "get", id])["issue"].clone();
    issue["runs"].as_array().unwrap().clone()
}

/// Of a check that may fail.
fn verified(sandbox: &Sandbox, words: &[&str]) -> Value {
    let words: Vec<&str> = ["--json", "issue", "verify"]
        .iter()
        .chain(words)
        .copied()
        .collect();
    serde_json::from_str(&sandbox.tw(words).out()).unwrap()
}

/// The words are quoted for the shell: quotes hide neither a password in a word, nor which word is one.
#[test]
fn the_words_of_a_check_keep_no_password() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    for words in [
        &["sh", "-c", "export DB_PASSWORD='Xk29dkfj2kd8'; true"][..],
        &["echo", "curl", "-u", "bob:Xk29dkfj2kd8", "https://h"],
        &["echo", "sshpass", "-p", "it's Xk29dkfj2kd8", "ssh", "h"],
    ] {
        verified(&sandbox, &[&[id.as_str(), "--"], words].concat());
    }
    let commands: Vec<String> = runs(&sandbox, &id)
        .iter()
        .flat_map(|run| run["verify"].as_array().unwrap().clone())
        .map(|check| check["command"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(commands.len(), 3);
    for command in &commands {
        assert!(!command.contains("Xk29"), "{command}");
        assert!(command.contains("***REDACTED***"), "{command}");
    }
}

#[test]
fn a_check_of_the_present_leaves_the_verdict_of_a_closed_run() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &["--verify", "test -f fixed"]));
    sandbox.json(["issue", "start", &id]);
    sandbox.write("idea", "wrong");
    assert_eq!(verified(&sandbox, &[&id])["run"], 1);
    sandbox.json(["return"]);
    assert_eq!(verified(&sandbox, &[&id])["run"], 2);
    sandbox.write("fixed", "");
    assert_eq!(
        verified(&sandbox, &[&id])["run"],
        2,
        "it holds checks alone"
    );
    let made = runs(&sandbox, &id);
    let results: Vec<&Value> = made.iter().map(|run| &run["result"]).collect();
    assert_eq!(results, ["failed", "passed"]);
    assert_eq!(made[1]["verify"].as_array().unwrap().len(), 2);
    let closed = sandbox.json(["issue", "close", &id]);
    assert_eq!(closed["issue"]["resolution"]["proof"]["run"], 2);
    // What shows how it was closed stays as it was.
    sandbox.remove("fixed");
    assert_eq!(verified(&sandbox, &[&id])["run"], 3);
    assert_eq!(runs(&sandbox, &id)[1]["result"], "passed");
}

#[test]
fn a_check_is_of_the_run_that_was_open_when_it_began() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let tw = env!("CARGO_BIN_EXE_tw");
    let start = format!("{tw} issue start {id} -q");
    assert_eq!(verified(&sandbox, &[&id, "--", &start])["run"], 2);
    let made = runs(&sandbox, &id);
    assert_eq!(
        (&made[0]["verify"], &made[0]["ended_at"]),
        (&json!([]), &Value::Null)
    );
    let home = format!("{tw} return -q");
    assert_eq!(verified(&sandbox, &[&id, "--", &home])["run"], 1);
    assert_eq!(runs(&sandbox, &id)[0]["result"], "passed");
}
