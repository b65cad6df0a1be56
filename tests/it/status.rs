//! What `tw` says of a working tree when it is asked for nothing else.

use serde_json::json;

use crate::facts::id;
use crate::sandbox::Sandbox;

#[test]
fn files_changed_since_the_latest_snapshot_are_counted() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json(["status"])["changed"], json!(null));
    let first = sandbox.snap();
    let changed = |files: u64| json!({"since": id(&first), "files": files});
    assert_eq!(sandbox.json(["status"])["changed"], changed(0));
    assert!(sandbox.ok(["status"]).contains("  no file changed since\n"));
    sandbox.write("a.txt", "changed\n");
    sandbox.write("new/b.txt", "new\n");
    let said = sandbox.tw(["status"]);
    assert!(
        said.out().contains("  2 files changed since\n"),
        "{}",
        said.out()
    );
    assert!(
        said.err().contains("hint: 'tw diff' shows what changed"),
        "{}",
        said.err()
    );
    assert_eq!(sandbox.json([""; 0])["changed"], changed(2));
}

#[test]
fn where_only_fetched_snapshots_are_the_latest_is_one_of_them() {
    let sandbox = Sandbox::new();
    let id = sandbox.ok(["-q", "snapshot"]).trim().to_owned();
    let there = sandbox.root().join("clone");
    sandbox.git(["clone", "-q", ".", there.to_str().unwrap()]);
    let refs = "refs/timewarp/*:refs/timewarp/*";
    sandbox.git_in(&there, ["fetch", "-q", "origin", refs]);
    let ran = sandbox.tw(["-C", there.to_str().unwrap(), "status"]);
    let latest = format!("  latest snapshot {id}  ");
    assert!(ran.out().contains(&latest), "{}", ran.out());
    assert!(!ran.err().contains("the first snapshot"), "{}", ran.err());
}

/// Somebody removes what tw keeps in the git directory, in the past.
#[test]
fn a_past_that_nothing_tells_of_any_more_is_named_by_doctor_with_the_way_home() {
    let sandbox = Sandbox::new();
    let id = sandbox.ok(["-q", "snapshot"]).trim().to_owned();
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("a.txt", "present\n");
    sandbox.write("new.txt", "new\n");
    let there = sandbox.root().join("linked");
    sandbox.git([
        "worktree",
        "add",
        "-q",
        "-b",
        "other",
        there.to_str().unwrap(),
    ]);
    // It was there before, with another present; and today it comes from another past.
    sandbox.json(["travel", &id]);
    sandbox.json(["return"]);
    let other = sandbox.ok(["-q", "snapshot"]).trim().to_owned();
    sandbox.write("new.txt", "newer\n");
    let before = sandbox.state();
    let backup = sandbox.json(["travel", &other])["backup_id"].clone();
    sandbox.json(["travel", "--hop", &id]);
    // Another worktree goes there, too, and later.
    std::fs::write(there.join("a.txt"), "of the linked one\n").unwrap();
    assert_eq!(sandbox.tw_in(&there, ["travel", &id]).code, 0);
    sandbox.remove(".git/timewarp");
    let ran = sandbox.tw(["--json", "doctor"]);
    let said: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let checks = said["checks"].as_array().unwrap();
    let state = checks.iter().find(|one| one["name"] == "state").unwrap();
    assert_eq!(state["status"], "warning", "{state}");
    let message = state["message"].as_str().unwrap();
    assert!(message.contains(backup.as_str().unwrap()), "{message}");
    let fix = state["fix"].as_str().unwrap();
    assert!(
        fix.starts_with("git symbolic-ref HEAD refs/heads/"),
        "{fix}"
    );
    for command in fix.split("; ") {
        let mut words = command.split(' ');
        if words.next() == Some("git") {
            sandbox.git(words);
        } else {
            sandbox.ok(words);
        }
    }
    before.assert_same(&sandbox.state());
    assert!(!sandbox.ok(["doctor"]).contains("this may be the past"));
}

/// As what comes after each swap, in the background: it touches no file.
#[test]
fn files_are_counted_while_somebody_has_the_lock() {
    let sandbox = Sandbox::new();
    let first = sandbox.snap();
    sandbox.write("a.txt", "changed\n");
    let held = sandbox.locked(".git/timewarp/lock");
    let said = sandbox.json(["status"]);
    drop(held);
    assert_eq!(said["changed"], json!({"since": id(&first), "files": 1}));
    assert_eq!(said["notices"], json!([]));
}

#[test]
fn in_the_past_files_are_counted_from_where_one_is() {
    let sandbox = Sandbox::new();
    let there = sandbox.snap();
    sandbox.write("a.txt", "changed\n");
    sandbox.ok(["snapshot"]);
    sandbox.ok(["travel", id(&there)]);
    let changed = |files: u64| json!({"since": id(&there), "files": files});
    assert_eq!(sandbox.json(["status"])["changed"], changed(0));
    sandbox.write("made.txt", "made\n");
    assert_eq!(sandbox.json(["status"])["changed"], changed(1));
    let said = sandbox.ok(["status"]);
    let place = said.find(id(&there)).unwrap();
    let count = said.find("1 file changed there").unwrap();
    assert!(
        place < count && count < said.find("HEAD").unwrap(),
        "{said}"
    );
}

#[test]
fn what_was_taken_along_by_name_is_no_change() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.env\n");
    sandbox.write("local.env", "A=1\n");
    sandbox.ok(["snapshot", "--include", "*.env"]);
    assert_eq!(sandbox.json(["status"])["changed"]["files"], 0);
}

#[test]
fn a_merge_and_its_conflicts_are_said() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json(["status"])["in_progress"], json!(null));
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("a.txt", "theirs\n");
    sandbox.git(["commit", "-qam", "theirs"]);
    sandbox.git(["checkout", "-q", "-"]);
    sandbox.write("a.txt", "ours\n");
    sandbox.git(["commit", "-qam", "ours"]);
    assert!(sandbox.try_git(["merge", "other"]).code != 0);
    let status = sandbox.json(["status"]);
    assert_eq!(
        (&status["in_progress"], &status["conflicts"]),
        (&json!("merge"), &json!(1))
    );
    let said = sandbox.ok(["status"]);
    assert!(
        said.contains("  under way: merge\n  1 path in conflict\n"),
        "{said}"
    );
    sandbox.git(["merge", "--abort"]);
    assert!(sandbox.try_git(["rebase", "other"]).code != 0);
    let said = sandbox.ok(["status"]);
    assert!(said.contains("  under way: rebase\n"), "{said}");
    assert_eq!(sandbox.json(["status"])["in_progress"], "rebase-merge");
}

#[test]
fn the_session_and_the_run_of_an_issue_are_said() {
    let sandbox = Sandbox::new();
    sandbox.ok(["session", "start", "--session", "s1", "--agent", "claude"]);
    assert_eq!(
        sandbox.json(["status"])["session"],
        json!({"session_id": "s1", "agent": "claude"})
    );
    assert!(sandbox.ok(["status"]).contains("  session s1 of claude\n"));
    let reported = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "x",
        "--symptom",
        "it fails",
        "--success-criteria",
        "it works",
    ]);
    let issue = reported["issue_id"].as_str().unwrap();
    assert_eq!(sandbox.json(["status"])["issue"], json!(null));
    sandbox.ok(["issue", "start", issue]);
    let status = sandbox.json(["status"]);
    assert_eq!(status["issue"]["issue_id"], issue);
    let said = sandbox.ok(["status"]);
    assert!(
        said.contains(&format!("  working on issue {issue}: it fails\n")),
        "{said}"
    );
    sandbox.ok(["return"]);
    assert_eq!(sandbox.json(["status"])["issue"], json!(null));
    sandbox.ok(["session", "end", "s1"]);
    assert_eq!(sandbox.json(["status"])["session"], json!(null));
}

#[test]
fn in_a_linked_worktree_the_counts_are_its_own() {
    let sandbox = Sandbox::new();
    sandbox.snap();
    let linked = sandbox.root().join("linked");
    sandbox.git(["worktree", "add", "-q", linked.to_str().unwrap()]);
    let counts = |dir: &std::path::Path| {
        let ran = sandbox.tw_in(dir, ["--json", "status"]);
        let status: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        status["repository"]["counts"].clone()
    };
    assert_eq!(
        counts(&linked),
        json!({"snapshots": 0, "backups": 0, "experiments": 0})
    );
    sandbox.tw_in(&linked, ["snapshot"]);
    assert_eq!(counts(&linked)["snapshots"], 1);
    assert_eq!(counts(&sandbox.repo())["snapshots"], 2);
}

#[test]
fn it_only_looks() {
    let sandbox = Sandbox::new();
    sandbox.snap();
    sandbox.write("a.txt", "changed\n");
    let files = || {
        let mut listed = sandbox.command("find");
        let out = listed
            .args([
                ".git",
                "-newermt",
                "2000-01-01",
                "-printf",
                "%p %s %T@ %i\n",
            ])
            .current_dir(sandbox.repo())
            .output()
            .unwrap();
        let mut lines: Vec<_> = String::from_utf8(out.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    let before = files();
    sandbox.ok(["status"]);
    assert_eq!(files(), before);
}
