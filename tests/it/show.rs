//! `tw show`: which snapshot it means, and what that changed.

use serde_json::{Value, json};

use crate::facts::{commit, id};
use crate::sandbox::Sandbox;
use crate::trip::snapshot;

/// Three snapshots: the first as HEAD is but for a new file, the second with a line changed, the third with a file gone.
fn taken() -> (Sandbox, [Value; 3]) {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "base", "--allow-empty"]);
    sandbox.write("new.txt", "new\n");
    let first = sandbox.snap();
    sandbox.write("a.txt", "two\n");
    let second = sandbox.snap();
    sandbox.remove("new.txt");
    let third = sandbox.snap();
    (sandbox, [first, second, third])
}

#[test]
fn without_a_name_it_is_the_latest_and_in_the_past_the_one_travelled_to() {
    let (sandbox, [first, _, third]) = taken();
    assert_eq!(
        sandbox.json(["show"])["snapshot"]["snapshot_id"],
        id(&third)
    );
    sandbox.ok(["travel", id(&first)]);
    assert_eq!(
        sandbox.json(["show"])["snapshot"]["snapshot_id"],
        id(&first)
    );
    let nothing = Sandbox::new();
    let (error, code) = nothing.json_error(["show"]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("SNAPSHOT_NOT_FOUND"), 3)
    );
}

#[test]
fn a_patch_is_what_git_says_of_the_snapshot_before() {
    let (sandbox, [first, second, third]) = taken();
    for (old, new) in [
        ("HEAD", &first),
        (commit(&first), &second),
        (commit(&second), &third),
    ] {
        let expected = sandbox.git(["diff", "--abbrev=7", "--no-renames", old, commit(new)]);
        let shown = sandbox.ok(["show", "-p", id(new)]);
        let (head, patch) = shown.split_once("\n\n").unwrap();
        assert_eq!(patch, expected);
        assert!(
            head.contains(&format!("commit        {}\n", commit(new))),
            "{head}"
        );
    }
}

#[test]
fn counts_and_paths_are_chosen() {
    let (sandbox, [first, second, third]) = taken();
    let stat = sandbox.ok(["show", "--stat", id(&second)]);
    assert!(
        stat.contains("\n\n M a.txt | +1 -1\n 1 file changed,"),
        "{stat}"
    );
    // Paths alone ask for it, too.
    let other = sandbox.ok(["show", id(&second), "--", "new.txt"]);
    assert!(
        other.contains("no file differs") || other.contains("no difference"),
        "{other}"
    );
    let document = sandbox.json(["show", id(&third), "--stat"]);
    let diff = &document["diff"];
    assert_eq!(
        (&diff["from"], &diff["to"]),
        (&json!(id(&second)), &json!(id(&third)))
    );
    assert_eq!(
        (&diff["files"][0]["path"], &diff["files"][0]["status"]),
        (&json!("new.txt"), &json!("D"))
    );
    assert_eq!(
        sandbox.json(["show", "--stat", id(&first)])["diff"]["from"],
        "HEAD"
    );
    assert_eq!(sandbox.json(["show"])["diff"], Value::Null);
}

#[test]
fn an_experiment_is_compared_with_what_it_was_made_from() {
    let (sandbox, [first, ..]) = taken();
    sandbox.ok(["travel", id(&first)]);
    sandbox.write("tried.txt", "tried\n");
    let returned = sandbox.json(["return"]);
    let experiment = returned["experiment_id"].as_str().unwrap();
    let document = sandbox.json(["show", "--stat", experiment]);
    let diff = &document["diff"];
    assert_eq!(diff["from"], id(&first));
    let files: Vec<_> = diff["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| &file["path"])
        .collect();
    assert_eq!(files, ["tried.txt"]);
}

#[test]
fn another_worktree_s_snapshots_are_not_what_came_before() {
    let (sandbox, [_, second, _]) = taken();
    let linked = sandbox.root().join("linked");
    sandbox.git(["worktree", "add", "-q", linked.to_str().unwrap()]);
    sandbox.tw_in(&linked, ["snapshot"]);
    sandbox.write("a.txt", "three\n");
    let fourth = sandbox.snap();
    let diff = &sandbox.json(["show", "--stat", id(&fourth)])["diff"];
    assert_eq!(diff["files"][0]["path"], "a.txt");
    assert_ne!(diff["from"], id(&second));
    let theirs = sandbox.json(["list", "--all-worktrees"]);
    assert!(
        theirs["snapshots"].as_array().unwrap().len() == 5,
        "{theirs}"
    );
}

/// The experiment is kept for longer than the snapshot it started from: what it is compared with then is said.
#[test]
fn an_experiment_whose_start_was_forgotten_says_what_it_is_compared_with() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "then\n");
    let start = snapshot(&sandbox);
    sandbox.json(["travel", &start]);
    sandbox.write("a.txt", "in the past\n");
    let returned = sandbox.json(["return"]);
    let experiment = returned["experiment_id"].as_str().unwrap();
    let shown = sandbox.tw(["show", "--stat", experiment]).out();
    assert!(
        shown.contains(&format!("started from  {start}\n")),
        "{shown}"
    );
    assert!(!shown.contains("was forgotten"), "{shown}");
    sandbox.json(["drop", "-y", "--force", &start]);
    let ran = sandbox.tw(["show", "--stat", experiment]);
    let note = format!("'{start}', was forgotten: compared with HEAD");
    assert!(
        [ran.out(), ran.err()].concat().contains(&note),
        "{}",
        ran.err()
    );
}

/// git's own names lead to a snapshot also by way of an annotated tag.
#[test]
fn an_annotated_tag_names_the_snapshot_that_it_leads_to() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    let name = format!("refs/timewarp/snapshots/{id}");
    sandbox.git(["tag", "-a", "-m", "before the change", "mark", &name]);
    sandbox.git(["tag", "-a", "-m", "of a tree", "tree", "HEAD^{tree}"]);
    assert_eq!(
        sandbox.json(["show", "mark"])["snapshot"]["snapshot_id"],
        *id
    );
    assert_eq!(
        sandbox.json_error(["show", "tree"]).0["code"],
        "SNAPSHOT_NOT_FOUND"
    );
}
