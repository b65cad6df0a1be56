//! Lines that were written in other working trees of the repository: runs of a try, directories that were opened, linked worktrees.

use serde_json::{Value, json};

use super::{commit, origins, said, session, turn, word};
use crate::sandbox::Sandbox;
use crate::transcripts::{Kind, Talk};

/// A file with a line of a commit and the lines of two turns.
fn two_turns() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("t.txt", "base\n");
    commit(&sandbox, "base");
    let talk = session(&sandbox);
    turn(&talk, "one", || sandbox.write("t.txt", "base\none\n"));
    turn(&talk, "two", || sandbox.write("t.txt", "base\none\ntwo\n"));
    drop(talk);
    sandbox
}

/// The kinds of those who may have written a line.
fn candidates(origin: &Value) -> Vec<&str> {
    let all = origin["candidates"].as_array().unwrap().iter();
    all.map(|one| one["kind"].as_str().unwrap()).collect()
}

#[test]
fn what_a_try_made_is_no_person_s_and_changes_no_other_owner() {
    let sandbox = two_turns();
    let command = ["try", "-n", "1", "--", "echo tried >>t.txt"];
    sandbox.ok(command);
    sandbox.ok(["try", "apply", "latest"]);
    for _ in 0..2 {
        let found = origins(&sandbox, &["blame", "t.txt"]);
        let words: Vec<String> = found.iter().map(word).collect();
        assert_eq!(words, ["commit", "0", "1", "ambiguous"]);
        assert_eq!(candidates(&found[3]), ["between", "ambiguous"]);
        sandbox.ok(["snapshot"]);
    }
}

#[test]
fn what_an_opened_directory_was_left_with_changes_no_other_owner() {
    let sandbox = two_turns();
    let dir = sandbox.root().join("opened");
    sandbox.ok(["open", "latest", dir.to_str().unwrap()]);
    let write = |text: &str| std::fs::write(dir.join("t.txt"), text).unwrap();
    write("base\none\nmine\ntwo\n");
    let there = Talk::with_id(
        &sandbox,
        Kind::Claude,
        "33333333-2222-4333-8444-555555555555",
    );
    let hook = |event: &str| there.hook(event, &json!({"cwd": &dir, "prompt": "there"}));
    hook("SessionStart");
    hook("UserPromptSubmit");
    write("base\none\nmine\ntwo\nthere\n");
    hook("Stop");
    let in_it = sandbox.tw_in(&dir, ["--json", "blame", "t.txt"]);
    let document: Value = serde_json::from_slice(&in_it.stdout).unwrap();
    let lines = document["lines"].as_array().unwrap().iter();
    let words: Vec<String> = lines.map(|line| word(&line["origin"])).collect();
    assert_eq!(words, ["commit", "0", "between", "1", "0"]);
    write("base\none\nmine\ntwo\nthere\nlast\n");
    let closed = sandbox.json(["close", dir.to_str().unwrap()]);
    let left = closed["experiment_id"].as_str().unwrap();
    sandbox.ok(["restore", left]);
    let found = origins(&sandbox, &["blame", "t.txt"]);
    let words: Vec<String> = found.iter().map(word).collect();
    assert_eq!(words, ["commit", "0", "between", "1", "0", "between"]);
    assert_eq!(found[4]["session_id"], json!(there.id));
}

/// An agent that writes and commits in a linked worktree.
fn in_a_linked_worktree(sandbox: &Sandbox, text: &str) -> String {
    let dir = sandbox.root().join("side");
    sandbox.git(["worktree", "add", "-q", "-b", "side", dir.to_str().unwrap()]);
    let id = "33333333-2222-4333-8444-555555555555";
    let talk = Talk::with_id(sandbox, Kind::Claude, id);
    let hook = |event: &str| talk.hook(event, &json!({"cwd": &dir, "prompt": "aside"}));
    hook("SessionStart");
    hook("UserPromptSubmit");
    std::fs::write(dir.join("t.txt"), text).unwrap();
    hook("Stop");
    sandbox.git_in(&dir, ["commit", "-qam", "aside"]);
    talk.id
}

#[test]
fn what_was_committed_in_another_worktree_is_its_turn_s() {
    let sandbox = Sandbox::new();
    let text: String = (0..9).map(|n| format!("line {n}\n")).collect();
    sandbox.write("t.txt", &text);
    commit(&sandbox, "base");
    let talk = session(&sandbox);
    let side = in_a_linked_worktree(&sandbox, &format!("aside\n{text}"));
    let first = || origins(&sandbox, &["blame", "t.txt"]).remove(0);
    sandbox.git(["merge", "-q", "--ff-only", "side"]);
    assert_eq!(first()["session_id"], json!(side));
    sandbox.git(["reset", "-q", "--hard", "HEAD~1"]);
    turn(&talk, "here", || {
        sandbox.write("t.txt", format!("{text}here\n"));
    });
    commit(&sandbox, "here");
    sandbox.git(["merge", "-q", "--no-edit", "side"]);
    for _ in 0..2 {
        let found = origins(&sandbox, &["blame", "t.txt"]);
        assert_eq!(found[0]["session_id"], json!(side));
        assert_eq!(found[10]["session_id"], json!(talk.id));
        assert_eq!(said(&sandbox, &["blame", "-L2,2", "t.txt"]), ["commit"]);
        sandbox.ok(["snapshot"]);
    }
}

#[test]
fn what_was_committed_in_a_worktree_that_is_gone_is_its_turn_s() {
    let sandbox = Sandbox::new();
    sandbox.write("t.txt", "base\n");
    commit(&sandbox, "base");
    sandbox.ok(["snapshot"]);
    let side = in_a_linked_worktree(&sandbox, "base\naside\n");
    sandbox.git(["worktree", "remove", "--force", "../side"]);
    sandbox.git(["merge", "-q", "--ff-only", "side"]);
    sandbox.git(["branch", "-qd", "side"]);
    for _ in 0..2 {
        let found = origins(&sandbox, &["blame", "t.txt"]);
        assert_eq!(word(&found[0]), "commit");
        assert_eq!(found[1]["session_id"], json!(side));
        assert_eq!(
            found[1]["commit"],
            sandbox.git(["rev-parse", "HEAD"]).trim()
        );
        sandbox.ok(["snapshot"]);
    }
}
