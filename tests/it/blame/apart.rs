//! Lines that were written in other working trees of the repository: runs of a try, directories that were opened.

use serde_json::{Value, json};

use super::{commit, origins, session, turn, word};
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
