//! `tw issue apply`: a run's changes put onto a present that has moved on.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const LONG: &str = "1\n2\n3\n4\n5\n6\n7\n8\n";
const ALL: [(&str, &str); 6] = [
    ("long.txt", LONG),
    ("same.txt", "same\n"),
    ("old/name.txt", "a\nb\nc\nd\n"),
    ("gone.txt", "going\n"),
    ("tool.sh", "#!/bin/sh\n"),
    ("bin.dat", "\0one"),
];

/// A repository with an issue on a snapshot of [`ALL`], one run of which did `in_the_past`; back in the present.
fn tried(in_the_past: impl FnOnce(&Sandbox)) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    for (path, text) in ALL {
        sandbox.write(path, text);
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "all"]);
    sandbox.json(["session", "start"]);
    let reported = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "s",
        "--success-criteria",
        "c",
    ]);
    let id = reported["issue_id"].as_str().unwrap().to_owned();
    sandbox.json(["issue", "start", &id]);
    in_the_past(&sandbox);
    sandbox.json(["return"]);
    (sandbox, id)
}

/// Applies with conflicts: exit status 1 and an answer all the same.
fn apply_to_conflicts(sandbox: &Sandbox, id: &str) -> Value {
    let ran = sandbox.tw(["--json", "issue", "apply", id]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((ran.code, &document["ok"]), (1, &json!(true)), "{document}");
    crate::schema::check("issue-apply", &document);
    document
}

fn undo(sandbox: &Sandbox, before: &crate::state::State) {
    let undone = sandbox.json(["undo"]);
    assert_eq!(undone["operation"], "apply");
    before.assert_same(&sandbox.state());
}

#[test]
fn a_run_comes_onto_a_present_that_moved_on() {
    let (sandbox, id) = tried(|sandbox| {
        sandbox.write("long.txt", LONG.replace('8', "eight"));
        sandbox.git(["mv", "old/name.txt", "new-name.txt"]);
        sandbox.remove("gone.txt");
        sandbox.chmod("tool.sh", 0o755);
        sandbox.write("bin.dat", "\0two");
        sandbox.symlink("long.txt", "link");
        sandbox.write("fresh/new.txt", "new\n");
    });
    sandbox.write("long.txt", LONG.replace('1', "one"));
    sandbox.write("old/name.txt", "a\nb\nc\nD\n");
    sandbox.write("same.txt", "mine\n");
    sandbox.git(["add", "same.txt"]);
    let before = sandbox.state();
    let planned = sandbox.json(["issue", "apply", &id, "--dry-run"]);
    before.assert_same(&sandbox.state());
    let applied = sandbox.json(["issue", "apply", &id]);
    assert_eq!(applied["changes"], planned["changes"]);
    assert_eq!(
        applied["changes"],
        json!({
            "written": ["bin.dat", "fresh/new.txt", "link", "long.txt", "new-name.txt", "tool.sh"],
            "removed": ["gone.txt", "old/name.txt"],
        })
    );
    assert_eq!(applied["merged"], json!(["long.txt"]));
    assert_eq!(applied["conflicts"], json!([]));
    assert_eq!(sandbox.text("long.txt"), "one\n2\n3\n4\n5\n6\n7\neight\n");
    assert_eq!(sandbox.text("new-name.txt"), "a\nb\nc\nD\n");
    assert_eq!(sandbox.read("bin.dat"), b"\0two");
    assert!(!sandbox.exists("old") && !sandbox.exists("gone.txt"));
    assert_eq!(
        sandbox.git(["diff", "--cached", "--name-only"]),
        "same.txt\n",
        "the index stays"
    );
    let status = sandbox.git(["status", "--porcelain"]);
    for line in [
        "M  same.txt",
        " M tool.sh",
        " D gone.txt",
        "?? new-name.txt",
        "?? fresh/",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }
    sandbox.git(["gc", "-q", "--prune=now"]);
    undo(&sandbox, &before);
    let redone = sandbox.json(["redo"]);
    assert_eq!(redone["operation"], "apply");
    assert_eq!(sandbox.text("new-name.txt"), "a\nb\nc\nD\n");
    sandbox.git(["fsck", "--strict"]);
}

#[test]
fn applying_twice_changes_nothing_more() {
    let (sandbox, id) = tried(|sandbox| sandbox.write("same.txt", "fixed\n"));
    sandbox.json(["issue", "apply", &id]);
    let levels = || {
        std::fs::read_dir(sandbox.path(".git/timewarp/undo"))
            .unwrap()
            .count()
    };
    let (count, state) = (levels(), sandbox.state());
    let again = sandbox.json(["issue", "apply", &id]);
    assert_eq!(again["backup_id"], Value::Null);
    assert_eq!(again["changes"], json!({"written": [], "removed": []}));
    assert!(
        again["notices"].to_string().contains("nothing to apply"),
        "{again}"
    );
    state.assert_same(&sandbox.state());
    assert_eq!(levels(), count, "no level of its own");
}

#[test]
fn conflicts_are_markers_in_the_file_and_stages_in_the_index() {
    let (sandbox, id) = tried(|sandbox| {
        sandbox.write("same.txt", "theirs\n");
        sandbox.write("gone.txt", "changed\n");
        sandbox.remove("tool.sh");
        sandbox.write("bin.dat", "\0theirs");
        sandbox.write("untracked.txt", "theirs\n");
        sandbox.write("long.txt", LONG.replace('8', "eight"));
    });
    sandbox.write("same.txt", "ours\n");
    sandbox.git(["rm", "-q", "gone.txt"]);
    sandbox.write("tool.sh", "#!/bin/bash\n");
    sandbox.write("bin.dat", "\0ours");
    sandbox.write("untracked.txt", "ours\n");
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(["add", "staged.txt"]);
    let before = sandbox.state();
    let applied = apply_to_conflicts(&sandbox, &id);
    assert_eq!(
        applied["conflicts"],
        json!([
            {"path": "bin.dat", "reason": "binary"}, {"path": "gone.txt", "reason": "deleted-here"},
            {"path": "same.txt", "reason": "content"}, {"path": "tool.sh", "reason": "deleted-there"},
            {"path": "untracked.txt", "reason": "both-added"},
        ])
    );
    let experiment = applied["experiment_id"].as_str().unwrap();
    assert_eq!(
        sandbox.text("same.txt"),
        format!("<<<<<<< present\nours\n=======\ntheirs\n>>>>>>> {experiment}\n")
    );
    assert_eq!(sandbox.text("gone.txt"), "changed\n");
    assert_eq!(sandbox.text("tool.sh"), "#!/bin/bash\n");
    assert_eq!(sandbox.read("bin.dat"), b"\0ours");
    assert!(
        sandbox
            .text("untracked.txt")
            .starts_with("<<<<<<< present\nours\n")
    );
    let status = sandbox.git(["status", "--porcelain"]);
    for line in [
        "UU bin.dat",
        "DU gone.txt",
        "UU same.txt",
        "UD tool.sh",
        "?? untracked.txt",
        "A  staged.txt",
        " M long.txt",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }
    assert_eq!(sandbox.git(["show", ":1:same.txt"]), "same\n");
    assert_eq!(sandbox.git(["show", ":2:same.txt"]), "ours\n");
    assert_eq!(sandbox.git(["show", ":3:same.txt"]), "theirs\n");
    sandbox.git(["gc", "-q", "--prune=now"]);
    undo(&sandbox, &before);
    sandbox.json(["redo"]);
    assert!(
        sandbox
            .git(["status", "--porcelain"])
            .contains("UU same.txt")
    );
    assert!(sandbox.text("same.txt").contains("======="));
    sandbox.git(["fsck", "--strict"]);
}

#[test]
fn an_undo_after_a_commit_leaves_the_index_and_says_so() {
    let (sandbox, id) = tried(|sandbox| sandbox.write("same.txt", "theirs\n"));
    sandbox.write("same.txt", "ours\n");
    apply_to_conflicts(&sandbox, &id);
    sandbox.write("same.txt", "mended\n");
    sandbox.git(["add", "same.txt"]);
    sandbox.git(["commit", "-q", "-m", "mended"]);
    let undone = sandbox.json(["undo"]);
    assert_eq!(undone["head_stayed"], "head-moved");
    assert_eq!(sandbox.text("same.txt"), "ours\n");
    assert_eq!(sandbox.git(["show", ":same.txt"]), "mended\n");
}

#[test]
fn what_cannot_be_applied_is_refused_with_a_way_out() {
    let (sandbox, id) = tried(|sandbox| {
        sandbox.write("dir/inner.txt", "1\n");
    });
    sandbox.json(["issue", "verify", &id, "--", "true"]);
    for (args, code, exit) in [
        (vec!["zzzz"], "ISSUE_NOT_FOUND", 3),
        (vec!["ab"], "INVALID_ISSUE_ID", 3),
        (vec![&id[..], "--run", "9"], "USAGE", 2),
    ] {
        let (error, got) = sandbox.json_error([&["issue", "apply"], &args[..]].concat());
        assert_eq!(
            (error["code"].as_str(), got),
            (Some(code), exit),
            "{args:?}"
        );
        assert!(error["hint"].is_string(), "{error}");
    }
    sandbox.write("dir", "a file of the present\n");
    let before = sandbox.state();
    let (error, exit) = sandbox.json_error(["issue", "apply", &id]);
    assert_eq!((&error["code"], exit), (&json!("WOULD_OVERWRITE"), 5));
    assert_eq!(error["paths"], json!(["dir"]));
    before.assert_same(&sandbox.state());
    sandbox.json(["travel", "latest"]);
    let (error, exit) = sandbox.json_error(["issue", "apply", &id]);
    assert_eq!((&error["code"], exit), (&json!("ALREADY_IN_PAST"), 4));
    assert!(error["hint"].as_str().unwrap().contains("tw return"));
}

#[test]
fn a_check_without_a_visit_leaves_nothing_to_apply() {
    let sandbox = Sandbox::new();
    sandbox.json(["session", "start"]);
    let reported = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "s",
        "--success-criteria",
        "c",
    ]);
    let id = reported["issue_id"].as_str().unwrap();
    for run in [&[][..], &["--run", "1"]] {
        let (error, exit) = sandbox.json_error([&["issue", "apply", id], run].concat());
        assert_eq!((&error["code"], exit), (&json!("USAGE"), 2));
        sandbox.json(["issue", "verify", id, "--", "true"]);
    }
}

/// Where a changed file is gone, what is new is looked through for it. A submodule is no file.
#[test]
fn a_new_submodule_is_no_candidate_for_a_rename() {
    let (sandbox, id) = tried(|sandbox| {
        sandbox.write("long.txt", format!("{LONG}fix\n"));
        sandbox.write("same.txt", "fixed\n");
    });
    sandbox.remove("long.txt");
    sandbox.git(["init", "-q", "nest"]);
    sandbox.git(["-C", "nest", "commit", "-q", "--allow-empty", "-m", "n"]);
    sandbox.git(["add", "nest"]);
    let applied = apply_to_conflicts(&sandbox, &id);
    assert_eq!(applied["conflicts"][0]["path"], "long.txt", "{applied}");
    assert_eq!(sandbox.text("same.txt"), "fixed\n");
}

#[test]
fn an_ignored_file_in_the_way_is_merged_and_not_lost() {
    let (sandbox, id) = tried(|sandbox| sandbox.write("notes.txt", "theirs\n"));
    sandbox.write(".git/info/exclude", "notes.txt\n");
    sandbox.write("notes.txt", "ours\n");
    let before = sandbox.state();
    let applied = apply_to_conflicts(&sandbox, &id);
    assert_eq!(
        applied["conflicts"],
        json!([{"path": "notes.txt", "reason": "both-added"}])
    );
    assert!(
        sandbox
            .text("notes.txt")
            .contains("ours\n=======\ntheirs\n")
    );
    undo(&sandbox, &before);
    assert_eq!(sandbox.text("notes.txt"), "ours\n");
}

#[test]
fn a_kill_at_any_step_leaves_the_old_or_the_new() {
    for point in [
        "swap-backup",
        "swap-journal",
        "apply-exchanged:1",
        "swap-applied",
        "swap-index",
        "swap-state",
    ] {
        for direction in ["--back", "--forward"] {
            let (sandbox, id) = tried(|sandbox| {
                sandbox.write("same.txt", "theirs\n");
                sandbox.write("long.txt", LONG.replace('8', "eight"));
            });
            sandbox.write("same.txt", "ours\n");
            sandbox.write("long.txt", LONG.replace('1', "one"));
            let old = sandbox.state();
            let mut command = sandbox.tw_command();
            command
                .env("TW_FAIL_POINT", point)
                .args(["issue", "apply", &id]);
            assert_eq!(
                command.output().unwrap().status.code(),
                None,
                "{point}: not killed"
            );
            // What gc does, which itself waits for a lock on HEAD that a dead tw left.
            sandbox.git(["repack", "-q", "-a", "-d"]);
            sandbox.git(["prune", "--expire=now"]);
            let started = point != "swap-backup";
            let recovered = sandbox.json(["recover", "-y", direction]);
            assert!(recovered["ok"].as_bool().unwrap(), "{recovered}");
            let is_new = point == "swap-state" || (started && direction == "--forward");
            if is_new {
                assert!(
                    sandbox.text("same.txt").contains("======="),
                    "{point} {direction}"
                );
                assert!(
                    sandbox
                        .git(["status", "--porcelain"])
                        .contains("UU same.txt"),
                    "{point} {direction}"
                );
                assert_eq!(sandbox.text("long.txt"), "one\n2\n3\n4\n5\n6\n7\neight\n");
                sandbox.json(["undo"]);
            }
            old.assert_same(&sandbox.state());
        }
    }
}
