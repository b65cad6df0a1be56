//! Snapshots and their keeping: the arguments that no other test gives in one list.

use serde_json::{Value, json};

use super::column;
use crate::sandbox::Sandbox;

#[test]
fn a_snapshot_takes_what_the_flags_say() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.local\n");
    sandbox.write("x.local", "ignored\n");
    sandbox.write("y.local", "ignored\n");
    sandbox.write("big.bin", "untracked\n");
    let taken = sandbox.json([
        "snapshot",
        "--include",
        "x.local",
        "--exclude",
        "*.bin",
        "--session",
        "one",
        "--agent",
        "claude",
        "--trigger",
        "by-test",
    ])["snapshot"]
        .clone();
    let paths = sandbox.paths(&taken);
    assert!(paths.contains(&"x.local".to_owned()), "{paths:?}");
    assert!(!paths.contains(&"y.local".to_owned()), "{paths:?}");
    assert!(!paths.contains(&"big.bin".to_owned()), "{paths:?}");
    assert_eq!(
        (&taken["session_id"], &taken["agent"], &taken["trigger"]),
        (&json!("one"), &json!("claude"), &json!("by-test"))
    );
}

fn ids(found: &Value) -> Vec<&str> {
    column(&found["snapshots"], "snapshot_id")
}

#[test]
fn a_list_keeps_to_a_kind() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"].clone();
    let travelled = sandbox.json(["travel", "latest"]);
    sandbox.write("new.txt", "made in the past\n");
    let returned = sandbox.json(["return"]);
    let listed = sandbox.json(["list", "--kind", "snapshot"]);
    assert_eq!(ids(&listed), [snapshot.as_str().unwrap()]);
    let listed = sandbox.json(["list", "--kind", "backup"]);
    assert!(ids(&listed).contains(&travelled["backup_id"].as_str().unwrap()));
    let listed = sandbox.json(["list", "--kind", "experiment"]);
    assert_eq!(ids(&listed), [returned["experiment_id"].as_str().unwrap()]);
}

#[test]
fn drop_and_purge_show_first_and_drop_can_be_forced() {
    let sandbox = Sandbox::new();
    sandbox.write("secret.txt", "hush\n");
    let id = sandbox.json(["snapshot", "--label", "kept"])["snapshot"]["snapshot_id"].clone();
    let id = id.as_str().unwrap();
    let before = sandbox.git(["for-each-ref"]);
    // Before anything is asked: with -y it would be refused as well.
    for words in [&["drop", id, "-y"][..], &["drop", id]] {
        let (error, _) = sandbox.json_error(words);
        assert_eq!(error["code"], "HELD", "{words:?}");
    }
    sandbox.ok(["drop", id, "--force", "--dry-run"]);
    sandbox.ok(["purge", "secret.txt", "--dry-run"]);
    assert_eq!(sandbox.git(["for-each-ref"]), before, "nothing went");
    sandbox.ok(["drop", id, "--force", "-y"]);
    assert_eq!(sandbox.json(["list"])["total"], 0);
}

#[test]
fn a_dry_run_of_purge_notes_no_commit_as_made_here() {
    let sandbox = Sandbox::new();
    sandbox.write("secret.txt", "hush\n");
    // Only commits that have such bits to give are noted.
    sandbox.chmod("secret.txt", 0o4755);
    sandbox.ok(["snapshot"]);
    let list = sandbox.git_dir().join("timewarp/made-here");
    let noted = std::fs::read_to_string(&list).unwrap();
    sandbox.ok(["purge", "secret.txt", "--dry-run"]);
    assert_eq!(std::fs::read_to_string(&list).unwrap(), noted);
    sandbox.ok(["purge", "secret.txt", "--yes-purge"]);
    let after = std::fs::read_to_string(&list).unwrap();
    let successor = after.strip_prefix(&noted).unwrap();
    let successor = successor.split(' ').next().unwrap();
    assert_eq!(sandbox.git(["cat-file", "-t", successor]), "commit\n");
}

/// A home directory that is a repository.
fn home() -> Sandbox {
    let sandbox = Sandbox::bare_room();
    sandbox.git_in(sandbox.home(), ["init", "-q"]);
    std::fs::write(sandbox.home().join("file"), "one\n").unwrap();
    sandbox
}

fn code(sandbox: &Sandbox, args: &[&str]) -> i32 {
    sandbox.tw_in(sandbox.home(), args).code
}

#[test]
fn what_is_unsafe_in_a_home_directory_can_be_forced() {
    let sandbox = home();
    assert_eq!(code(&sandbox, &["snapshot"]), 5);
    assert_eq!(code(&sandbox, &["snapshot", "--force"]), 0);
    assert_eq!(code(&sandbox, &["session", "start"]), 5);
    assert_eq!(
        code(&sandbox, &["session", "start", "--force", "--hint", "work"]),
        0
    );
    let shown = sandbox.tw_in(sandbox.home(), ["session", "show"]).out();
    assert!(shown.contains("work"), "{shown}");
    assert_eq!(code(&sandbox, &["travel", "latest"]), 5);
    assert_eq!(code(&sandbox, &["travel", "latest", "--force"]), 0);
    assert_eq!(code(&sandbox, &["return"]), 0);
}

#[test]
fn an_issue_starts_in_a_home_directory_when_forced() {
    let sandbox = home();
    assert_eq!(code(&sandbox, &["snapshot", "--force"]), 0);
    let report = [
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "s",
        "--success-criteria",
        "c",
        "--snapshot",
        "latest",
        "-q",
    ];
    let ran = sandbox.tw_in(sandbox.home(), report);
    assert_eq!(ran.code, 0, "{}", ran.err());
    let id = ran.out().trim().to_owned();
    assert_eq!(code(&sandbox, &["issue", "start", &id]), 5);
    assert_eq!(code(&sandbox, &["issue", "start", &id, "--force"]), 0);
    assert_eq!(code(&sandbox, &["return"]), 0);
}

#[test]
fn colour_is_as_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot", "--no-progress"]);
    let coloured = |out: &str| out.contains('\u{1b}');
    assert!(coloured(&sandbox.ok(["list", "--color", "always"])));
    assert!(!coloured(&sandbox.ok(["list", "--color", "never"])));
    assert!(
        !coloured(&sandbox.ok(["list", "--color", "auto"])),
        "no terminal"
    );
}

#[test]
fn each_shell_has_its_completions() {
    let sandbox = Sandbox::bare_room();
    for (script, mark) in [
        (sandbox.ok(["completions", "bash"]), "COMPREPLY"),
        (sandbox.ok(["completions", "zsh"]), "#compdef tw"),
        (sandbox.ok(["completions", "fish"]), "--command tw"),
        (sandbox.ok(["completions", "elvish"]), "edit:completion"),
        (
            sandbox.ok(["completions", "powershell"]),
            "Register-ArgumentCompleter",
        ),
    ] {
        assert!(script.contains(mark), "{mark}");
    }
}

#[test]
fn a_diff_keeps_to_paths_behind_two_addresses_or_two_dashes() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot", "--label", "before"]);
    sandbox.write("a.txt", "changed\n");
    sandbox.write("new.txt", "new\n");
    let all = sandbox.json(["diff", "before", "present"]);
    assert_eq!(column(&all["files"], "path"), ["a.txt", "new.txt"]);
    let after = sandbox.json(["diff", "before", "present", "--", "a.txt"]);
    assert_eq!(column(&after["files"], "path"), ["a.txt"]);
    assert_eq!(sandbox.json(["diff", "before", "present", "a.txt"]), after);
    assert_eq!(
        sandbox.json(["diff", "before", "present", "a.txt", "--", "new.txt"]),
        all
    );
}

/// What a script gives whose variable is not set.
#[test]
fn an_empty_word_names_no_session_no_agent_and_no_command() {
    let sandbox = Sandbox::new();
    sandbox.json(["snapshot"]);
    let issue = crate::issue::report(&sandbox, &[])["issue"]["issue_id"].clone();
    let issue = issue.as_str().unwrap();
    let taken = sandbox.json(["list"]);
    for args in [
        &["snapshot", "--session", ""][..],
        &["snapshot", "--agent", ""],
        &["session", "start", "--session", "s", "--parent", ""],
        &["list", "--session", ""],
        &["log", "--agent", ""],
        &["search", "x", "--agent", ""],
        &["context", "show", "--session", ""],
        &["issue", "verify", issue, "--", ""],
        &["issue", "verify", issue, "--", " "],
        &["try", "-n", "1", "--verify", "", "--", "true"],
        &["try", "-n", "1", "--setup", "", "--", "true"],
    ] {
        assert_eq!(sandbox.tw(args).code, 2, "{args:?}");
    }
    assert_eq!(sandbox.json(["list"]), taken);
    assert_eq!(sandbox.json(["session", "list"])["sessions"], json!([]));
}
