//! Records of a newer `tw`: refused by name, by every command that would read or change them, and left as they are.

use std::path::PathBuf;

use crate::sandbox::Sandbox;

const REPORT: [&str; 7] = [
    "issue",
    "report",
    "--task-context",
    "t",
    "--symptom",
    "s",
    "--success-criteria",
];

/// Writes the body of every note of a kind anew, of a version that nobody knows yet.
fn make_notes_newer(sandbox: &Sandbox, kind: &str) {
    let pattern = format!("refs/notes/timewarp/{kind}");
    let refs = sandbox.git(["for-each-ref", "--format=%(refname)", &pattern]);
    assert_ne!(refs, "", "{pattern}");
    for name in refs.lines() {
        let listed = sandbox.git(["notes", "--ref", name, "list"]);
        for line in listed.lines() {
            let (_, annotated) = line.split_once(' ').unwrap();
            let body = sandbox.git(["notes", "--ref", name, "show", annotated]);
            let newer = body.replace("\"version\": 1", "\"version\": 99");
            assert_ne!(newer, body);
            sandbox.git(["notes", "--ref", name, "add", "-f", "-m", &newer, annotated]);
        }
    }
}

fn refused(sandbox: &Sandbox, args: &[&str], name: &str) {
    let (error, code) = sandbox.json_error(args);
    assert_eq!(
        (&error["code"], code),
        (&"NEWER_RECORD".into(), 1),
        "{args:?}: {error}"
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains(name) && message.contains("newer tw (version 99)"),
        "{args:?}: {message}"
    );
    assert!(
        error["hint"].to_string().contains("tw"),
        "{args:?}: {error}"
    );
}

#[test]
fn an_issue_of_a_newer_tw_is_refused_by_every_command() {
    let sandbox = Sandbox::new();
    let args: Vec<&str> = REPORT.iter().copied().chain(["c"]).collect();
    let id = sandbox.json(args)["issue_id"].as_str().unwrap().to_owned();
    make_notes_newer(&sandbox, "issues");
    // What plain git changed is taken in first.
    sandbox.ok(["issue", "list"]);
    let before = sandbox.git(["for-each-ref"]);
    let address = format!("issue:{id}");
    for args in [
        &["issue", "get", &id][..],
        &["issue", "chat", &id],
        &["issue", "edit", &id, "--symptom", "x"],
        &["issue", "experiment", &id],
        &["issue", "experiment", &id, "--repro", "x"],
        &["issue", "close", &id, "--status", "wontfix"],
        &["issue", "reopen", &id],
        &["issue", "verify", &id],
        &["issue", "start", &id],
        &["issue", "apply", &id],
        &["show", &address],
        &["travel", &address],
        &["restore", &address],
        &["diff", &address],
    ] {
        refused(&sandbox, args, &id);
    }
    assert_eq!(sandbox.git(["for-each-ref"]), before);
    let listed = sandbox.json(["issue", "list"]);
    assert_eq!(listed["issues"][0]["status"], "invalid", "{listed}");
}

#[test]
fn checkpoints_of_a_newer_tw_are_refused_by_every_command() {
    let sandbox = Sandbox::new();
    sandbox.ok(["session", "start", "--session", "one"]);
    sandbox.ok(["checkpoint", "-m", "first"]);
    make_notes_newer(&sandbox, "sessions");
    for args in [
        &["checkpoint", "show", "0"][..],
        &["checkpoint", "-m", "second"],
        &["show", "checkpoint:0"],
        &["travel", "checkpoint:0"],
        &["rewind", "0", "--code"],
        &["backtrack", "0", "--note", "x"],
    ] {
        refused(&sandbox, args, "one");
    }
}

#[test]
fn a_snapshot_of_a_newer_tw_is_refused_by_every_command() {
    let sandbox = Sandbox::new();
    let id = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let name = format!("refs/timewarp/snapshots/{id}");
    let newer = sandbox
        .git(["cat-file", "commit", &name])
        .replace("\"version\": 1,", "\"version\": 99,");
    assert!(newer.contains("\"version\": 99"), "{newer}");
    sandbox.write(".git/commit", newer);
    let oid = sandbox.git(["hash-object", "-t", "commit", "-w", ".git/commit"]);
    sandbox.git(["update-ref", &name, oid.trim()]);
    for args in [
        &["show", &id][..],
        &["travel", &id],
        &["restore", &id],
        &["diff", &id],
        &["open", &id],
        &["label", &id, "x"],
    ] {
        refused(&sandbox, args, &id);
    }
}

#[test]
fn files_of_a_newer_tw_are_refused_by_every_command() {
    let travelled = || {
        let sandbox = Sandbox::new();
        sandbox.ok(["session", "start", "--session", "one"]);
        sandbox.ok(["checkpoint", "-m", "first"]);
        sandbox.ok(["travel", "latest"]);
        sandbox.ok(["return"]);
        sandbox.ok(["backtrack", "0", "--note", "x"]);
        sandbox
    };
    let state = [
        &["status"][..],
        &["snapshot"],
        &["travel", "latest"],
        &["return"],
        &["prune"],
    ];
    let undo = [&["undo"][..], &["prune"]];
    let message = [
        &["backtrack", "show"][..],
        &["backtrack", "take"],
        &["backtrack", "0", "--note", "y"],
    ];
    for (file, commands) in [
        ("state.json", &state[..]),
        ("journal.json", &state),
        ("undo/", &undo),
        ("backtracks/", &message),
    ] {
        let sandbox = travelled();
        let path = sandbox.path(".git/timewarp").join(file);
        for path in files(&path) {
            let text = std::fs::read_to_string(&path).unwrap_or("{\"version\": 1}".to_owned());
            let newer = text.replacen("\"version\": 1", "\"version\": 99", 1);
            let newer = newer.replacen("\"version\":1", "\"version\":99", 1);
            std::fs::write(&path, newer).unwrap();
        }
        for args in commands {
            refused(&sandbox, args, file);
        }
    }
}

/// A file, or the records in a directory.
fn files(path: &std::path::Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect()
}
