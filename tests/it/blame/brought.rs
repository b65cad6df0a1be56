//! Lines that a merge, a pick or a rebase brought in are those of the commits that it brought.

use serde_json::json;

use super::{commit, session, turn, word};
use crate::sandbox::Sandbox;

const BASE: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// A repository with a branch on which Bob wrote.
fn with_topic(theirs: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("f", BASE);
    commit(&sandbox, "base");
    sandbox.git(["checkout", "-qb", "topic"]);
    sandbox.write("f", theirs);
    bobs(&sandbox, "by Bob");
    sandbox.git(["checkout", "-q", "-"]);
    sandbox
}

/// Commits in Bob's name.
fn bobs(sandbox: &Sandbox, title: &str) {
    sandbox.git(["commit", "-qam", title, "--author", "Bob <bob@example.com>"]);
}

/// Whose each line of `f` is: the checkpoint, the kind, or the author of the commit.
fn whose(sandbox: &Sandbox) -> Vec<String> {
    let origins = super::origins(sandbox, &["blame", "f"]);
    let of = |origin: &serde_json::Value| match word(origin).as_str() {
        "commit" => origin["author"].as_str().unwrap().to_owned(),
        other => other.to_owned(),
    };
    origins.iter().map(of).collect()
}

#[test]
fn a_merge_in_conflict_brings_the_lines_of_its_commits() {
    let theirs = BASE
        .replace("2\n", "two by Bob\n")
        .replace('5', "five, Bob");
    let sandbox = with_topic(&theirs);
    sandbox.write("f", BASE.replace('5', "five, main"));
    commit(&sandbox, "main");
    let talk = session(&sandbox);
    talk.submits("merge");
    assert_ne!(sandbox.try_git(["merge", "topic"]).code, 0);
    // Nothing has captured it yet.
    let now = whose(&sandbox);
    assert_eq!(now[1], "Bob");
    assert_eq!(
        now[3..10],
        ["Test", "dirty", "Test", "dirty", "Bob", "dirty", "Test"]
    );
    talk.hook("Stop", &json!({}));
    let captured = whose(&sandbox);
    assert_eq!(captured[1], "Bob");
    assert_eq!(
        captured[3..10],
        ["Test", "0", "Test", "0", "Bob", "0", "Test"]
    );
    turn(&talk, "resolve", || {
        let both = BASE
            .replace("2\n", "two by Bob\n")
            .replace('5', "five of both");
        sandbox.write("f", both);
        commit(&sandbox, "merged");
    });
    let merged = whose(&sandbox);
    assert_eq!(merged[1], "Bob");
    assert_eq!(merged[4], "1");
    assert_eq!(merged[0], "Test");
}

#[test]
fn a_merge_that_is_not_committed_brings_the_lines_of_all_its_commits() {
    let sandbox = with_topic(&BASE.replace("2\n", "two by Bob\n"));
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("f", BASE.replace("8\n", "eight by Bob\n"));
    bobs(&sandbox, "more by Bob");
    sandbox.git(["checkout", "-q", "-"]);
    sandbox.write("g", "g\n");
    commit(&sandbox, "main");
    sandbox.ok(["snapshot"]);
    sandbox.git(["merge", "-q", "--no-commit", "topic", "other"]);
    let expected = [
        "Test", "Bob", "Test", "Test", "Test", "Test", "Test", "Bob", "Test",
    ];
    assert_eq!(whose(&sandbox), expected);
    sandbox.ok(["snapshot"]);
    assert_eq!(whose(&sandbox), expected);
    sandbox.git(["commit", "-qm", "merged"]);
    assert_eq!(whose(&sandbox), expected);
    sandbox.ok(["snapshot"]);
    assert_eq!(whose(&sandbox), expected);
}

#[test]
fn a_pull_in_conflict_brings_the_lines_of_what_is_pulled() {
    let theirs = BASE
        .replace("2\n", "two by Bob\n")
        .replace('5', "five, Bob");
    let sandbox = with_topic(&theirs);
    sandbox.write("f", BASE.replace('5', "five, main"));
    commit(&sandbox, "main");
    let talk = session(&sandbox);
    turn(&talk, "pull", || {
        let pull = ["pull", "--no-rebase", ".", "topic"];
        assert_ne!(sandbox.try_git(pull).code, 0);
    });
    assert_eq!(whose(&sandbox)[1], "Bob");
}
