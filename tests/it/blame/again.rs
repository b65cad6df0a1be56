//! What a turn writes again, letter by letter, and what it only puts back.

use super::{commit, said, session, turn};
use crate::sandbox::Sandbox;

#[test]
fn what_a_turn_writes_again_is_its_own() {
    let sandbox = Sandbox::new();
    sandbox.write("t.txt", "base\n");
    commit(&sandbox, "base");
    let talk = session(&sandbox);
    let written = || sandbox.write("t.txt", "base\nmore\n");
    turn(&talk, "first", written);
    sandbox.ok(["revert", &format!("{}:0", talk.id)]);
    assert_eq!(sandbox.text("t.txt"), "base\n");
    turn(&talk, "second", written);
    assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["commit", "1"]);
    // No swap took this away.
    turn(&talk, "without", || sandbox.write("t.txt", "base\n"));
    turn(&talk, "once more", written);
    commit(&sandbox, "all of it");
    for _ in 0..2 {
        assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["commit", "3"]);
        sandbox.ok(["snapshot"]);
    }
}

#[test]
fn what_a_turn_puts_back_keeps_its_owner() {
    let sandbox = Sandbox::new();
    sandbox.write("t.txt", "base\n");
    commit(&sandbox, "base");
    let talk = session(&sandbox);
    turn(&talk, "write", || sandbox.write("t.txt", "base\nmore\n"));
    // Within the turn, between two of its steps.
    turn(&talk, "try something", || {
        sandbox.write("t.txt", "base\nless\n");
        sandbox.ok(["snapshot"]);
        sandbox.write("t.txt", "base\nmore\n");
    });
    assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["commit", "0"]);
    // From the index, and from HEAD.
    sandbox.git(["add", "t.txt"]);
    for _ in 0..2 {
        turn(&talk, "less", || sandbox.write("t.txt", "base\nless\n"));
        turn(&talk, "take it back", || {
            sandbox.git(["checkout", "-q", "t.txt"]);
        });
        assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["commit", "0"]);
        sandbox.git(["commit", "-q", "--allow-empty", "-m", "more"]);
    }
    // By a swap.
    turn(&talk, "less", || sandbox.write("t.txt", "base\n"));
    let had = talk.checkpoints()[2]["snapshot_id"].clone();
    turn(&talk, "restore", || {
        sandbox.ok(["restore", had.as_str().unwrap(), "t.txt"]);
    });
    assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["commit", "0"]);
}
