//! What people do who come from git, jj, gh and restic, and what they are told where it is not what they meant.

use unicode_width::UnicodeWidthStr as _;

use crate::sandbox::Sandbox;
use crate::terminal::Terminal;

fn refused(sandbox: &Sandbox, args: &[&str]) -> (i32, String) {
    let ran = sandbox.tw(args);
    assert_eq!(ran.out(), "", "{args:?}");
    (ran.code, ran.err())
}

#[test]
fn a_commit_or_a_path_where_a_snapshot_belongs_is_told_for_what_it_is() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot"]);
    let head = sandbox.git(["rev-parse", "HEAD"]);
    for command in ["travel", "diff", "show", "open"] {
        let (code, said) = refused(&sandbox, &[command, "HEAD"]);
        assert_eq!(
            (code, said),
            (
                3,
                format!(
                    "error: 'HEAD' is commit {}, not a snapshot\n\
                     hint: git compares with it and goes there; 'tw list' shows the snapshots\n",
                    head.trim()
                )
            )
        );
    }
    let (code, said) = refused(&sandbox, &["restore", "a.txt"]);
    assert_eq!(
        (code, said.as_str()),
        (
            3,
            "error: snapshot 'a.txt' not found\n\
             hint: run 'tw list' to see what there is\n\
             hint: 'a.txt' is a path; name a snapshot before it, such as 'latest'\n"
        )
    );
}

/// One that is gone, and a pattern.
#[test]
fn a_path_where_a_snapshot_is_wanted_is_called_one() {
    let sandbox = Sandbox::new();
    sandbox.write("gone.txt", "g\n");
    sandbox.ok(["snapshot"]);
    std::fs::remove_file(sandbox.path("gone.txt")).expect("removed");
    for word in ["gone.txt", "*.txt", ":/"] {
        let (code, said) = refused(&sandbox, &["restore", "--", word]);
        let hint = format!("hint: '{word}' is a path; name a snapshot before it, such as 'latest'");
        assert!(code == 3 && said.contains(&hint), "{said}");
    }
}

#[test]
fn latest_with_too_far_a_way_back_asks_for_no_first_snapshot() {
    let sandbox = Sandbox::new();
    let (_, said) = refused(&sandbox, &["show", "latest"]);
    assert!(said.contains("hint: take one with 'tw snapshot'"), "{said}");
    sandbox.ok(["snapshot"]);
    let (_, said) = refused(&sandbox, &["show", "latest~5"]);
    assert_eq!(
        said,
        "error: snapshot 'latest~5' not found\nhint: run 'tw list' to see what there is\n"
    );
}

#[test]
fn undo_of_a_travel_calls_nothing_a_backup_that_is_none_of_what_was_there() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot"]);
    sandbox.write("a.txt", "two\n");
    sandbox.ok(["travel", "latest"]);
    sandbox.write("a.txt", "three\n");
    let said = sandbox.ok(["undo"]);
    assert!(!said.contains("what was there"), "{said}");
    assert!(
        said.contains("what was made in the past is saved as x_"),
        "{said}"
    );
}

#[test]
fn a_hint_of_an_unsupported_repository_names_no_command_that_is_refused_there() {
    let sandbox = Sandbox::new();
    sandbox.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = sandbox.root().join("bare.git");
    for command in ["status", "snapshot", "doctor"] {
        let ran = sandbox.tw_in(&bare, [command]);
        assert_eq!(ran.code, 1);
        assert!(
            ran.err().contains("'git worktree add DIR'"),
            "{}",
            ran.err()
        );
        assert!(!ran.err().contains("tw doctor"), "{}", ran.err());
    }
    // What it names does what it says.
    sandbox.git_in(&bare, ["worktree", "add", "-q", "../tree", "main"]);
    assert_eq!(
        sandbox
            .tw_in(sandbox.root().join("tree"), ["snapshot"])
            .code,
        0
    );
}

#[test]
fn a_worktree_without_snapshots_says_that_others_have_some() {
    let sandbox = Sandbox::new();
    let nothing = sandbox.tw(["list"]);
    assert!(nothing.err().contains("there is nothing to list"));
    sandbox.git(["worktree", "add", "-q", "../linked"]);
    sandbox.tw_in(sandbox.root().join("linked"), ["snapshot"]);
    let ran = sandbox.tw(["list"]);
    assert_eq!(ran.out(), "");
    assert_eq!(
        ran.err(),
        "note: none of 1 snapshot is of this worktree's present\nhint: 'tw list --all' shows them\n"
    );
    let ran = sandbox.tw_in(sandbox.root().join("linked"), ["list", "-n", "0"]);
    assert_eq!(ran.err(), "note: none of 1 snapshot matches\n");
}

#[test]
fn what_goes_is_told_in_the_order_of_taking_also_within_a_second() {
    let sandbox = Sandbox::new();
    sandbox.write("secret.txt", "x\n");
    let at = "2026-02-28T15:30:00Z";
    let mut taken = Vec::new();
    for _ in 0..8 {
        let mut snapshot = sandbox.tw_command();
        let output = snapshot.args(["-q", "snapshot"]).env("TW_TEST_NOW", at);
        let output = output.output().unwrap().stdout;
        taken.insert(0, String::from_utf8(output).unwrap().trim().to_owned());
    }
    let told = |args: &[&str], list: &str, id: &str| -> Vec<String> {
        let document = sandbox.json(args);
        let rows = document[list].as_array().unwrap().iter();
        rows.map(|row| row[id].as_str().unwrap().to_owned())
            .collect()
    };
    let purged = told(&["purge", "secret.txt", "--dry-run"], "rewritten", "id");
    assert_eq!(purged, taken);
    let prune = ["prune", "--dry-run", "--keep-days", "0", "--keep-last", "0"];
    assert_eq!(told(&prune, "forgotten", "id"), taken);
}

#[test]
fn a_list_on_a_terminal_has_one_line_for_each_snapshot() {
    let sandbox = Sandbox::new();
    let title = "一つの長い題 of a snapshot that no screen has room for, not even a wide one";
    sandbox.ok(["snapshot", "--label", "good", "-m", title]);
    for columns in [60, 80] {
        let mut prepared = sandbox.tw_command();
        prepared.env("COLUMNS", columns.to_string());
        prepared.env("GIT_PAGER", "cat");
        let list = |args: &[&str]| Terminal::start(&sandbox, &prepared, args).ends().1;
        let shown = list(&["list"]);
        assert!(shown.trim_end().width() <= columns, "{columns}: {shown}");
        assert!(shown.contains("...  [good]"), "{shown}");
        assert!(list(&["list", "-v"]).contains(title));
    }
    // What is not read on a screen is whole.
    assert!(sandbox.ok(["list"]).contains(title));
}
