//! Lines that a merge, a pick or a rebase brought in are those of the commits that it brought.

use serde_json::json;

use super::{commit, said, session, turn, word};
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

/// Main and topic have another fifth line each, and topic, which is Bob's, another second one.
fn apart_in_one_line() -> Sandbox {
    let theirs = BASE
        .replace("2\n", "two by Bob\n")
        .replace('5', "five, Bob");
    let sandbox = with_topic(&theirs);
    sandbox.write("f", BASE.replace('5', "five, main"));
    commit(&sandbox, "main");
    sandbox
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
    let sandbox = apart_in_one_line();
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
    let sandbox = apart_in_one_line();
    let talk = session(&sandbox);
    turn(&talk, "pull", || {
        let pull = ["pull", "--no-rebase", ".", "topic"];
        assert_ne!(sandbox.try_git(pull).code, 0);
    });
    assert_eq!(whose(&sandbox)[1], "Bob");
}

#[test]
fn picked_lines_are_their_author_s() {
    let sandbox = with_topic(&BASE.replace("2\n", "two by Bob\n"));
    sandbox.write("g", "g\n");
    commit(&sandbox, "main");
    let talk = session(&sandbox);
    turn(&talk, "pick", || {
        sandbox.git(["cherry-pick", "topic"]);
    });
    turn(&talk, "write", || {
        let text = sandbox.text("f").replace("8\n", "eight\n");
        sandbox.write("f", text);
        commit(&sandbox, "eight");
    });
    let found = whose(&sandbox);
    assert_eq!((found[1].as_str(), found[7].as_str()), ("Bob", "1"));
    let exported = sandbox.json(["blame", "--export", "git-ai", "f"]);
    let commits = exported["commits"].as_array().unwrap();
    assert_eq!(commits.len(), 1, "{exported}");
}

#[test]
fn refs_that_lead_nowhere_stop_no_blame() {
    let sandbox = with_topic(&BASE.replace("2\n", "two by Bob\n"));
    sandbox.write("g", "g\n");
    commit(&sandbox, "main");
    let talk = session(&sandbox);
    turn(&talk, "pick", || {
        sandbox.git(["cherry-pick", "topic"]);
    });
    let made = |words: &[&str]| {
        let commit = ["commit-tree", "HEAD^{tree}", "-m", "torn"];
        sandbox.git([&commit, words].concat()).trim().to_owned()
    };
    let parent = made(&[]);
    let child = made(&["-p", &parent]);
    sandbox.git(["branch", "gone", &parent]);
    sandbox.git(["branch", "torn", &child]);
    let (dir, name) = parent.split_at(2);
    std::fs::remove_file(sandbox.git_dir().join("objects").join(dir).join(name)).unwrap();
    assert_eq!(whose(&sandbox)[1], "Bob");
}

#[test]
fn a_pick_in_conflict_brings_its_commit_s_lines_and_no_more() {
    let theirs = BASE
        .replace("2\n", "two by Bob\n")
        .replace('5', "five, Bob");
    for is_captured in [true, false] {
        let sandbox = with_topic(&theirs);
        sandbox.write("f", BASE.replace('5', "five, main"));
        commit(&sandbox, "main");
        let talk = session(&sandbox);
        turn(&talk, "pick", || {
            assert_ne!(sandbox.try_git(["cherry-pick", "topic"]).code, 0);
            if is_captured {
                sandbox.ok(["snapshot"]);
                assert_eq!(whose(&sandbox)[1], "Bob");
            }
            let both = BASE
                .replace("2\n", "two by Bob\n")
                .replace('5', "five of both");
            sandbox.write("f", both);
            sandbox.git(["add", "f"]);
            sandbox.git(["-c", "core.editor=true", "cherry-pick", "--continue"]);
        });
        let found = whose(&sandbox);
        assert_eq!((found[1].as_str(), found[4].as_str()), ("Bob", "0"));
    }
}

#[test]
fn lines_of_a_branch_that_was_rebased_from_elsewhere_are_its_author_s() {
    let sandbox = with_topic(&BASE.replace("2\n", "two by Bob\n"));
    sandbox.write("g", "g\n");
    commit(&sandbox, "main");
    let main = sandbox.git(["branch", "--show-current"]);
    let talk = session(&sandbox);
    turn(&talk, "rebase", || {
        sandbox.git(["rebase", "-q", main.trim(), "topic"]);
    });
    assert_eq!(whose(&sandbox)[1], "Bob");
}

#[test]
fn lines_of_a_mailed_patch_are_its_author_s() {
    let sandbox = Sandbox::new();
    sandbox.write("f", BASE);
    commit(&sandbox, "base");
    let other = sandbox.root().join("other");
    sandbox.git(["clone", "-q", ".", other.to_str().unwrap()]);
    std::fs::write(other.join("f"), BASE.replace("2\n", "two by Bob\n")).unwrap();
    let author = "--author=Bob <bob@example.com>";
    sandbox.git_in(&other, ["commit", "-qam", "by Bob", author]);
    let patch = sandbox.git_in(&other, ["format-patch", "--stdout", "-1"]);
    let mail = sandbox.root().join("mail");
    std::fs::write(&mail, patch).unwrap();
    let talk = session(&sandbox);
    turn(&talk, "apply", || {
        sandbox.git(["am", "-q", mail.to_str().unwrap()]);
    });
    assert_eq!(whose(&sandbox)[1], "Bob");
}

#[test]
fn what_was_made_here_is_picked_as_its_own() {
    let sandbox = Sandbox::new();
    sandbox.write("f", BASE);
    commit(&sandbox, "base");
    let talk = session(&sandbox);
    turn(&talk, "on a branch", || {
        sandbox.git(["checkout", "-qb", "topic"]);
        sandbox.write("f", BASE.replace("2\n", "two\n"));
        commit(&sandbox, "two");
        sandbox.git(["checkout", "-q", "-"]);
    });
    turn(&talk, "pick it", || {
        sandbox.write("g", "g\n");
        commit(&sandbox, "other");
        sandbox.git(["cherry-pick", "topic"]);
    });
    assert_eq!(said(&sandbox, &["blame", "f"])[1], "0");
    assert_eq!(said(&sandbox, &["blame", "HEAD", "f"])[1], "0");
}
