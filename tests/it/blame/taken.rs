//! What was taken over from a branch without a merge: squashed, picked without a commit, applied as a patch.

use serde_json::json;

use super::{commit, session, turn, word};
use crate::sandbox::Sandbox;
use crate::transcripts::Talk;

/// Two turns that committed on a branch, and one on `main`, where HEAD is.
fn with_side(sandbox: &Sandbox) -> Talk<'_> {
    let text: String = (0..20).map(|n| format!("line {n}\n")).collect();
    sandbox.git(["checkout", "-q", "-B", "main"]);
    sandbox.write("t.txt", &text);
    commit(sandbox, "base");
    sandbox.git(["branch", "side"]);
    let talk = session(sandbox);
    sandbox.git(["checkout", "-q", "side"]);
    for (turns, line) in [("first", "line 3\n"), ("second", "line 5\n")] {
        turn(&talk, turns, || write(sandbox, line, turns));
        commit(sandbox, turns);
    }
    sandbox.git(["checkout", "-q", "main"]);
    turn(&talk, "third", || write(sandbox, "line 15\n", "third"));
    commit(sandbox, "third");
    talk
}

/// Puts something behind a line.
fn write(sandbox: &Sandbox, line: &str, new: &str) {
    let text = sandbox.text("t.txt");
    let text = text.replace(line, &format!("{line}{new}\n"));
    sandbox.write("t.txt", text);
}

/// Whose these lines are; None where there is no such line.
fn whose<const N: usize>(sandbox: &Sandbox, texts: [&str; N]) -> [Option<String>; N] {
    let document = sandbox.json(["blame", "t.txt"]);
    let lines = document["lines"].as_array().unwrap();
    texts.map(|text| {
        let mut found = lines.iter();
        let found = found.find(|line| line["text"] == json!(text));
        found.map(|line| word(&line["origin"]))
    })
}

const ALL: [&str; 3] = ["first", "second", "third"];

fn owners(words: [&str; 3]) -> [Option<String>; 3] {
    words.map(|word| Some(word.to_owned()))
}

#[test]
fn what_was_squashed_keeps_its_owners() {
    let sandbox = Sandbox::new();
    let talk = with_side(&sandbox);
    sandbox.git(["merge", "-q", "--squash", "side"]);
    sandbox.git(["branch", "-qD", "side"]);
    // Before it is committed, and after that; and whether an agent does it or a person.
    sandbox.ok(["snapshot"]);
    assert_eq!(whose(&sandbox, ALL), owners(["0", "1", "2"]));
    commit(&sandbox, "squashed");
    assert_eq!(whose(&sandbox, ALL), owners(["0", "1", "2"]));
    sandbox.git(["reset", "-q", "--hard", "HEAD~1"]);
    sandbox.ok(["snapshot"]);
    turn(&talk, "squash it", || {
        sandbox.git(["merge", "-q", "--squash", "ORIG_HEAD"]);
        commit(&sandbox, "squashed again");
    });
    assert_eq!(whose(&sandbox, ALL), owners(["0", "1", "2"]));
}

#[test]
fn what_was_squashed_and_committed_at_once_keeps_its_owners() {
    let sandbox = Sandbox::new();
    with_side(&sandbox);
    sandbox.git(["merge", "-q", "--squash", "side"]);
    commit(&sandbox, "squashed");
    for _ in 0..2 {
        assert_eq!(whose(&sandbox, ALL), owners(["0", "1", "2"]));
        sandbox.ok(["snapshot"]);
    }
}

#[test]
fn what_was_picked_or_applied_without_a_commit_keeps_its_owner() {
    let sandbox = Sandbox::new();
    with_side(&sandbox);
    for (from, has) in [("side~1", 0), ("side", 1)] {
        sandbox.git(["cherry-pick", "-n", from]);
        sandbox.ok(["snapshot"]);
        let found = whose(&sandbox, ALL);
        assert_eq!(found[has], Some(has.to_string()));
        assert_eq!(found[1 - has], None);
        sandbox.git(["reset", "-q", "--hard"]);
    }
    let patch = sandbox.git(["diff", "main...side"]);
    sandbox.write("../patch", patch);
    sandbox.git(["apply", "../patch"]);
    commit(&sandbox, "applied");
    assert_eq!(whose(&sandbox, ALL), owners(["0", "1", "2"]));
}

/// A line that a branch has, too, is no evidence.
#[test]
fn what_only_looks_like_a_branch_s_is_its_writer_s() {
    let sandbox = Sandbox::new();
    with_side(&sandbox);
    write(&sandbox, "line 10\n", "first");
    sandbox.ok(["snapshot"]);
    assert_eq!(whose(&sandbox, ["first"]), [Some("between".to_owned())]);
    write(&sandbox, "line 5\n", "second");
    sandbox.ok(["snapshot"]);
    let found = whose(&sandbox, ALL);
    assert_eq!(found[0], Some("between".to_owned()));
}
