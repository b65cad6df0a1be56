//! What was taken over from a branch without a merge: squashed, picked without a commit, applied as a patch.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::json;

use super::{commit, session, turn, word};
use crate::sandbox::Sandbox;
use crate::transcripts::Talk;
use crate::work::counted;

/// A commit on `main`, and a branch `side` of it, where HEAD is.
fn on_side(sandbox: &Sandbox) -> Talk<'_> {
    let text: String = (0..20).map(|n| format!("line {n}\n")).collect();
    sandbox.git(["checkout", "-q", "-B", "main"]);
    sandbox.write("t.txt", &text);
    commit(sandbox, "base");
    let talk = session(sandbox);
    sandbox.git(["checkout", "-q", "-b", "side"]);
    talk
}

/// Two turns that committed on a branch, and one on `main`, where HEAD is.
fn with_side(sandbox: &Sandbox) -> Talk<'_> {
    let talk = on_side(sandbox);
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

fn owners<const N: usize>(words: [&str; N]) -> [Option<String>; N] {
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
    assert_eq!(whose(&sandbox, ["first"]), owners(["between"]));
    write(&sandbox, "line 5\n", "second");
    sandbox.ok(["snapshot"]);
    let found = whose(&sandbox, ALL);
    assert_eq!(found[0], Some("between".to_owned()));
}

/// Each turn commits what it puts behind a line.
fn turns(talk: &Talk<'_>, sandbox: &Sandbox, all: &[[&str; 2]]) {
    for [prompt, line] in all {
        turn(talk, prompt, || write(sandbox, line, prompt));
        commit(sandbox, prompt);
    }
}

#[test]
fn what_a_branch_only_moved_is_the_mover_s() {
    let sandbox = Sandbox::new();
    let talk = on_side(&sandbox);
    let block = "line 3\nline 4\nline 5\n";
    turn(&talk, "move", || {
        let text = sandbox.text("t.txt").replace(block, "");
        let text = text.replace("line 12\n", &format!("line 12\n{block}"));
        sandbox.write("t.txt", text);
    });
    commit(&sandbox, "moved");
    sandbox.git(["checkout", "-q", "main"]);
    turns(&talk, &sandbox, &[["third", "line 17\n"]]);
    sandbox.git(["merge", "-q", "--squash", "side"]);
    sandbox.ok(["snapshot"]);
    let found = whose(&sandbox, ["line 4", "third", "line 8"]);
    assert_eq!(found, owners(["0", "1", "commit"]));
}

#[test]
fn what_the_branch_has_put_something_beside_since_keeps_its_owner() {
    let sandbox = Sandbox::new();
    let talk = on_side(&sandbox);
    let all = [
        ["first", "line 3\n"],
        ["second", "first\n"],
        ["fourth", "second\n"],
    ];
    turns(&talk, &sandbox, &all);
    sandbox.git(["checkout", "-q", "main"]);
    turns(&talk, &sandbox, &[["third", "line 15\n"]]);
    sandbox.git(["cherry-pick", "-n", "side~2"]);
    sandbox.ok(["snapshot"]);
    assert_eq!(whose(&sandbox, ["first"]), owners(["0"]));
    // The rest of the branch, in one.
    commit(&sandbox, "the first");
    let patch = sandbox.git(["diff", "side~2", "side"]);
    sandbox.write("../patch", patch);
    sandbox.git(["apply", "../patch"]);
    sandbox.ok(["snapshot"]);
    assert_eq!(whose(&sandbox, ALL), owners(["0", "1", "3"]));
    assert_eq!(whose(&sandbox, ["fourth"]), owners(["2"]));
}

#[test]
fn what_was_squashed_of_a_branch_with_head_merged_into_it_keeps_its_owners() {
    let sandbox = Sandbox::new();
    let talk = with_side(&sandbox);
    sandbox.git(["checkout", "-q", "side"]);
    sandbox.git(["merge", "-q", "--no-edit", "main"]);
    sandbox.git(["checkout", "-q", "main"]);
    turns(&talk, &sandbox, &[["fourth", "line 18\n"]]);
    sandbox.git(["merge", "-q", "--squash", "side"]);
    sandbox.ok(["snapshot"]);
    assert_eq!(whose(&sandbox, ALL), owners(["0", "1", "2"]));
    assert_eq!(whose(&sandbox, ["fourth"]), owners(["3"]));
}

#[test]
fn what_head_has_and_took_back_is_no_branch_s() {
    let sandbox = Sandbox::new();
    let talk = on_side(&sandbox);
    turns(&talk, &sandbox, &[["first", "line 3\n"]]);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.git(["merge", "-q", "--ff-only", "side"]);
    sandbox.git(["checkout", "-q", "side"]);
    turns(&talk, &sandbox, &[["second", "line 5\n"]]);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("t.txt", sandbox.text("t.txt").replace("first\n", ""));
    commit(&sandbox, "not the first");
    turns(&talk, &sandbox, &[["third", "line 15\n"]]);
    write(&sandbox, "line 3\n", "first");
    sandbox.ok(["snapshot"]);
    let found = whose(&sandbox, ["first", "third"]);
    assert_eq!(found, owners(["between", "2"]));
}

/// Adds old branches of a commit, each with a line of its own at the end of the file.
fn branches(sandbox: &Sandbox, from: &str, text: &str, all: Range<usize>) {
    let mut stream = String::new();
    for n in all {
        let whole = format!("{text}end of {n}\n");
        let files = [("a", n.to_string()), ("t.txt", whole), ("b", n.to_string())];
        for (nth, (name, content)) in files.into_iter().enumerate() {
            stream += &format!("commit refs/heads/b{n}\ncommitter B <b@b> 9 +0000\ndata 1\nm\n");
            if nth == 0 {
                writeln!(stream, "from {from}").unwrap();
            }
            let length = content.len();
            writeln!(stream, "M 644 inline {name}\ndata {length}\n{content}").unwrap();
        }
    }
    let mut import = sandbox.command("git");
    import.args(["fast-import", "--quiet"]).write_stdin(stream);
    import.assert().success();
}

#[test]
fn branches_are_not_looked_at_again_with_each_step() {
    let sandbox = Sandbox::new();
    let text: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let with_more = format!("{text}gone since\n");
    sandbox.write("t.txt", &with_more);
    let base = commit(&sandbox, "base");
    sandbox.write("t.txt", &text);
    commit(&sandbox, "less");
    sandbox.ok(["snapshot"]);
    // Lines that are moved, and one that all branches have, put where they have not got it.
    for line in [
        "line 3\n",
        "line 9\n",
        "line 15\n",
        "line 21\n",
        "line 27\n",
    ] {
        let text = sandbox.text("t.txt").replace(line, "");
        let text = text.replace("line 35\n", &format!("{line}line 35\n"));
        sandbox.write("t.txt", text);
        sandbox.ok(["snapshot"]);
    }
    write(&sandbox, "line 1\n", "gone since");
    sandbox.ok(["snapshot"]);
    let reads = || counted(&sandbox, &["blame", "t.txt"])["object_reads"];
    branches(&sandbox, &base, &with_more, 0..2);
    let few = reads();
    branches(&sandbox, &base, &with_more, 2..200);
    let many = reads();
    assert!(many < few + 198 * 12, "{few} and {many}");
}
