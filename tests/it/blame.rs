//! Where each line comes from: `tw blame`.

mod again;
mod apart;
mod brought;
mod converted;
mod exchange;
mod model;
mod taken;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::transcripts::{Kind, Talk};

/// The origins of all lines.
fn origins(sandbox: &Sandbox, words: &[&str]) -> Vec<Value> {
    let document = sandbox.json(words);
    let lines = document["lines"].as_array().unwrap();
    lines.iter().map(|line| line["origin"].clone()).collect()
}

/// Each line's origin in a word: the checkpoint of a prompt, or the kind.
fn said(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let origins = origins(sandbox, words);
    origins.iter().map(word).collect()
}

fn word(origin: &Value) -> String {
    match &origin["checkpoint_id"] {
        Value::Null => origin["kind"].as_str().unwrap().to_owned(),
        checkpoint => {
            assert_eq!(origin["kind"], "prompt");
            checkpoint.to_string()
        }
    }
}

/// A session in which a turn can be made of what it changes.
fn session(sandbox: &Sandbox) -> Talk<'_> {
    let talk = Talk::new(sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk
}

fn turn(talk: &Talk<'_>, prompt: &str, work: impl FnOnce()) {
    talk.submits(prompt);
    work();
    talk.hook("Stop", &json!({}));
}

fn commit(sandbox: &Sandbox, message: &str) -> String {
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-qm", message]);
    sandbox.git(["rev-parse", "HEAD"]).trim().to_owned()
}

#[test]
fn each_line_has_its_prompt_person_or_commit() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "old\n");
    let old = commit(&sandbox, "the beginning");
    let talk = session(&sandbox);
    turn(&talk, "add one\nplease", || {
        sandbox.write("a.txt", "old\none\n");
    });
    sandbox.write("a.txt", "mine\nold\none\n");
    turn(&talk, "add two", || {
        sandbox.write("a.txt", "mine\nold\none\ntwo\n");
    });
    sandbox.write("a.txt", "mine\nold\none\ntwo\nnew\n");
    let before = sandbox.git(["for-each-ref"]);
    let document = sandbox.json(["blame", "a.txt"]);
    assert_eq!(before, sandbox.git(["for-each-ref"]), "nothing is written");
    assert_eq!(document["path"], "a.txt");
    assert_eq!(document["revision"], "present");
    let lines = document["lines"].as_array().unwrap();
    let numbers: Vec<_> = lines.iter().map(|line| &line["line"]).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(lines[2]["text"], "one");
    assert_eq!(lines[2]["original_line"], 2);
    let words: Vec<String> = lines.iter().map(|line| word(&line["origin"])).collect();
    assert_eq!(words, ["between", "commit", "0", "1", "dirty"]);
    let origin = &lines[1]["origin"];
    assert_eq!(origin["commit"], json!(old));
    assert_eq!(origin["title"], "the beginning");
    assert_eq!(origin["author"], "Test");
    let origin = &lines[2]["origin"];
    assert_eq!(origin["session_id"], json!(talk.id));
    assert_eq!(origin["agent"], "claude");
    assert_eq!(origin["prompt"], "add one\nplease");
    assert_eq!(origin["at"], talk.checkpoints()[0]["created_at"]);
    assert_eq!(origin["commit"], Value::Null);
    assert_eq!(lines[4]["origin"]["at"], Value::Null);
    // What is committed keeps its prompt, and has the commit.
    let committed = commit(&sandbox, "all of it");
    let origins = origins(&sandbox, &["blame", "a.txt"]);
    let words: Vec<String> = origins.iter().map(word).collect();
    assert_eq!(words, ["between", "commit", "0", "1", "between"]);
    assert_eq!(origins[1]["commit"], json!(old));
    for line in [0, 2, 3, 4] {
        assert_eq!(origins[line]["commit"], json!(committed), "{line}");
    }
}

#[test]
fn lines_are_followed_through_renames_amends_and_squashes() {
    let sandbox = Sandbox::new();
    let talk = session(&sandbox);
    let text: String = (0..20).map(|n| format!("line {n}\n")).collect();
    sandbox.write("a.txt", &text);
    commit(&sandbox, "base");
    turn(&talk, "one", || {
        sandbox.write("a.txt", format!("{text}one\n"));
    });
    commit(&sandbox, "one");
    turn(&talk, "rename and two", || {
        sandbox.git(["mv", "a.txt", "b.txt"]);
        sandbox.write("b.txt", format!("{text}one\ntwo\n"));
    });
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "--amend", "-m", "amended"]);
    sandbox.ok(["snapshot"]);
    let last = |words: &[&str]| said(&sandbox, words)[20..].to_vec();
    assert_eq!(last(&["blame", "b.txt"]), ["0", "1"]);
    commit_three(&sandbox, &talk, &text);
    assert_eq!(last(&["blame", "b.txt"]), ["0", "1", "2"]);
    sandbox.git(["reset", "-q", "--soft", "HEAD~2"]);
    let squashed = commit(&sandbox, "squashed");
    assert_eq!(last(&["blame", "b.txt"]), ["0", "1", "2"]);
    let found = origins(&sandbox, &["blame", "b.txt"]);
    assert_eq!(found[22]["commit"], json!(squashed));
    let document = sandbox.json(["blame", "b.txt", "-L", "21,21"]);
    assert_eq!(document["lines"].as_array().unwrap().len(), 1);
    assert_eq!(document["lines"][0]["original_path"], "a.txt");
    // As of a commit, and of a snapshot.
    assert_eq!(last(&["blame", "HEAD", "b.txt"]), ["0", "1", "2"]);
    assert_eq!(last(&["blame", "latest", "b.txt"]), ["0", "1", "2"]);
    let first = talk.checkpoints()[1]["snapshot_id"].clone();
    assert_eq!(last(&["blame", first.as_str().unwrap(), "a.txt"]), ["0"]);
}

/// All that git takes for a commit, and not only what could be the name of a label.
#[test]
fn a_revision_is_read_as_git_reads_it() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "old\n");
    let old = commit(&sandbox, "the beginning");
    sandbox.write("a.txt", "new\n");
    let new = commit(&sandbox, "the end");
    for word in [
        "HEAD~1",
        "HEAD~",
        "HEAD^",
        "main~1",
        "HEAD@{1}",
        ":/the beginning",
        "HEAD^{/beginning}",
    ] {
        let document = sandbox.json(["blame", word, "a.txt"]);
        assert_eq!(document["revision"], json!(old), "{word}");
        assert_eq!(document["lines"][0]["text"], "old", "{word}");
    }
    for word in ["HEAD", "main", "HEAD@{0}", &new[..9]] {
        let document = sandbox.json(["blame", word, "a.txt"]);
        assert_eq!(document["revision"], json!(new), "{word}");
    }
    assert_eq!(
        sandbox.json(["blame", "present", "a.txt"])["revision"],
        "present"
    );
    for word in ["HEAD~9", "nothing^", ":/nowhere", "a b"] {
        let (error, code) = sandbox.json_error(["blame", word, "a.txt"]);
        assert_eq!(
            (&error["code"], code),
            (&json!("INVALID_ADDRESS"), 3),
            "{word}"
        );
        let hints = error["hints"].to_string();
        assert!(
            hints.contains("commits can be named, too"),
            "{word}: {error}"
        );
    }
}

fn commit_three(sandbox: &Sandbox, talk: &Talk<'_>, text: &str) {
    turn(talk, "three", || {
        sandbox.write("b.txt", format!("{text}one\ntwo\nthree\n"));
        commit(sandbox, "three");
    });
}

#[test]
fn a_rebase_onto_what_others_did_keeps_both_owners() {
    let sandbox = Sandbox::new();
    let text: String = (0..20).map(|n| format!("line {n}\n")).collect();
    sandbox.write("a.txt", &text);
    commit(&sandbox, "base");
    sandbox.git(["branch", "side"]);
    let talk = session(&sandbox);
    turn(&talk, "one", || {
        sandbox.write("a.txt", format!("{text}one\n"));
        commit(&sandbox, "one");
    });
    // What others pushed: made in another clone.
    let other = sandbox.root().join("other");
    sandbox.git(["clone", "-q", "-b", "side", ".", other.to_str().unwrap()]);
    std::fs::write(other.join("a.txt"), format!("theirs\n{text}")).unwrap();
    sandbox.git_in(&other, ["commit", "-qam", "theirs"]);
    sandbox.git(["fetch", "-q", other.to_str().unwrap(), "side:theirs"]);
    sandbox.git(["rebase", "-q", "theirs"]);
    let check = || {
        let found = origins(&sandbox, &["blame", "a.txt"]);
        assert_eq!(word(&found[0]), "commit");
        assert_eq!(found[0]["title"], "theirs");
        assert_eq!(word(&found[21]), "0");
        let head = sandbox.git(["rev-parse", "HEAD"]);
        assert_eq!(found[21]["commit"], head.trim());
    };
    check();
    sandbox.ok(["snapshot"]);
    check();
}

#[test]
fn what_a_turn_committed_on_another_branch_is_its_own() {
    let sandbox = Sandbox::new();
    let text: String = (0..20).map(|n| format!("line {n}\n")).collect();
    sandbox.write("a.txt", &text);
    commit(&sandbox, "base");
    let main = sandbox.git(["branch", "--show-current"]);
    let talk = session(&sandbox);
    turn(&talk, "on a branch", || {
        sandbox.git(["checkout", "-qb", "feature"]);
        sandbox.write("a.txt", format!("feature\n{text}"));
        commit(&sandbox, "feature");
        sandbox.git(["checkout", "-q", main.trim()]);
    });
    turn(&talk, "on main", || {
        sandbox.write("a.txt", format!("{text}main\n"));
        commit(&sandbox, "main");
    });
    sandbox.git(["merge", "-q", "--no-edit", "feature"]);
    for _ in 0..2 {
        let words = said(&sandbox, &["blame", "a.txt"]);
        assert_eq!((words[0].as_str(), words[21].as_str()), ("0", "1"));
        sandbox.ok(["snapshot"]);
    }
}

#[test]
fn trips_restores_and_undo_change_no_owner() {
    let sandbox = Sandbox::new();
    let talk = session(&sandbox);
    turn(&talk, "one", || sandbox.write("t.txt", "one\n"));
    turn(&talk, "two", || sandbox.write("t.txt", "one\ntwo\n"));
    turn(&talk, "drop one", || sandbox.write("t.txt", "two\n"));
    let two = talk.checkpoints()[2]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned();
    sandbox.ok(["travel", &two]);
    assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["0", "1"]);
    sandbox.write("t.txt", "one\ntwo\nin the past\n");
    assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["0", "1", "dirty"]);
    sandbox.ok(["return"]);
    assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["1"]);
    sandbox.ok(["restore", &two, "t.txt"]);
    // Somebody writes on before the next snapshot.
    sandbox.write("t.txt", "one\ntwo\nthree\n");
    sandbox.ok(["snapshot"]);
    assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["0", "1", "between"]);
    // By a way that tw does not see.
    sandbox.write("t.txt", "else\n");
    sandbox.ok(["snapshot"]);
    sandbox.write("t.txt", "one\ntwo\n");
    sandbox.ok(["snapshot"]);
    assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["0", "1"]);
}

/// Such a visit leaves nothing that could have been forgotten.
#[test]
fn what_a_person_writes_after_a_visit_that_changed_nothing_is_theirs() {
    let sandbox = Sandbox::new();
    let taken = sandbox.json(["snapshot"]);
    let id = taken["snapshot"]["snapshot_id"].as_str().unwrap();
    sandbox.json(["travel", id]);
    sandbox.json(["return"]);
    sandbox.write("mine.txt", "mine\n");
    sandbox.json(["snapshot"]);
    assert_eq!(said(&sandbox, &["blame", "mine.txt"]), ["between"]);
}

/// Issues are counted with snapshots, and are none.
#[test]
fn what_a_person_writes_after_an_issue_was_reported_is_theirs() {
    let sandbox = Sandbox::new();
    sandbox.write("t.txt", "one\n");
    sandbox.ok(["snapshot"]);
    crate::issue::report(&sandbox, &[]);
    sandbox.write("t.txt", "one\ntwo\n");
    let taken = sandbox.json(["snapshot"]);
    assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["between", "between"]);
    // A snapshot that was forgotten still counts.
    sandbox.write("t.txt", "one\ntwo\nthree\n");
    sandbox.ok(["snapshot"]);
    sandbox.ok([
        "drop",
        "-y",
        taken["snapshot"]["snapshot_id"].as_str().unwrap(),
    ]);
    let words = ["between", "ambiguous", "ambiguous"];
    assert_eq!(said(&sandbox, &["blame", "t.txt"]), words);
}

#[test]
fn what_was_stashed_while_others_wrote_keeps_its_owner() {
    let sandbox = Sandbox::new();
    let talk = session(&sandbox);
    let text: String = (0..20).map(|n| format!("line {n}\n")).collect();
    sandbox.write("t.txt", &text);
    commit(&sandbox, "base");
    turn(&talk, "first", || {
        sandbox.write("t.txt", format!("first\n{text}"));
    });
    sandbox.git(["stash", "-q"]);
    turn(&talk, "second", || {
        sandbox.write("t.txt", format!("{text}second\n"));
        commit(&sandbox, "second");
    });
    // What another stash had comes back in the same step.
    turn(&talk, "third", || {
        let more = text.replace("line 9\n", "line 9\nthird\n");
        sandbox.write("t.txt", format!("{more}second\n"));
    });
    sandbox.git(["stash", "-q"]);
    sandbox.ok(["snapshot"]);
    sandbox.git(["stash", "pop", "-q"]);
    sandbox.git(["add", "t.txt"]);
    sandbox.git(["stash", "pop", "-q"]);
    sandbox.ok(["snapshot"]);
    let document = sandbox.json(["blame", "t.txt"]);
    let lines = document["lines"].as_array().unwrap();
    let of = |text: &str| {
        let found = lines.iter().find(|line| line["text"] == text);
        word(&found.unwrap()["origin"])
    };
    let owners = ["first", "second", "third"].map(of);
    assert_eq!(owners, ["0", "1", "2"]);
}

#[test]
fn what_a_session_file_calls_its_model_is_redacted() {
    let sandbox = Sandbox::new();
    let talk = session(&sandbox);
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    talk.submits("write");
    talk.writes_prompt("write");
    let file = sandbox.path("t.txt");
    let input = json!({"file_path": file, "old_string": "", "new_string": "by a tool"});
    talk.edits("call", "Edit", &input);
    let text = std::fs::read_to_string(&talk.path).unwrap();
    let named = text.replace("model-1", &format!("model {secret}"));
    std::fs::write(&talk.path, named).unwrap();
    sandbox.write("t.txt", "by a tool\n");
    talk.submits("next");
    let found = origins(&sandbox, &["blame", "t.txt"]);
    let model = found[0]["model"].as_str().unwrap();
    assert!(model.starts_with("model ***REDACTED"), "{model}");
}

#[test]
fn without_the_end_of_a_turn_only_what_a_tool_names_is_the_prompt_s() {
    let sandbox = Sandbox::new();
    let talk = session(&sandbox);
    talk.submits("write");
    talk.writes_prompt("write");
    let file = sandbox.path("t.txt");
    let input = json!({"file_path": file, "old_string": "", "new_string": "by a tool\n}"});
    talk.edits("call", "Edit", &input);
    sandbox.write("t.txt", "by a tool\n}\nby hand\n}\n");
    talk.submits("next");
    let found = origins(&sandbox, &["blame", "t.txt"]);
    let words: Vec<String> = found.iter().map(word).collect();
    assert_eq!(words, ["0", "0", "ambiguous", "ambiguous"]);
    assert_eq!(found[0]["model"], "model-1");
    assert_eq!(found[0]["candidates"], json!([]));
    let candidates = found[2]["candidates"].as_array().unwrap();
    let kinds: Vec<_> = candidates.iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, ["prompt", "between"]);
    assert_eq!(candidates[0]["checkpoint_id"], 0);
    assert_eq!(candidates[0]["session_id"], json!(talk.id));
    assert_eq!(found[2]["session_id"], Value::Null);
}

#[test]
fn turns_that_overlap_are_told_apart_by_tools_alone() {
    let sandbox = Sandbox::new();
    let one = session(&sandbox);
    let two = Talk::with_id(
        &sandbox,
        Kind::Claude,
        "22222222-2222-4333-8444-555555555555",
    );
    two.hook("SessionStart", &json!({}));
    one.submits("one");
    one.writes_prompt("one");
    two.submits("two");
    two.writes_prompt("two");
    let file = sandbox.path("t.txt");
    two.edits(
        "call",
        "Write",
        &json!({"file_path": file, "content": "by two\nand this\n"}),
    );
    sandbox.write("t.txt", "by two\nand this\nby someone\n");
    one.hook("Stop", &json!({}));
    two.hook("Stop", &json!({}));
    let found = origins(&sandbox, &["blame", "t.txt"]);
    assert_eq!(found[0]["kind"], "prompt");
    assert_eq!(found[0]["session_id"], json!(two.id));
    assert_eq!(found[2]["kind"], "ambiguous");
    let mut sessions: Vec<_> = found[2]["candidates"].as_array().unwrap().iter().collect();
    sessions.sort_by_key(|one| one["session_id"].to_string());
    let sessions: Vec<_> = sessions.iter().map(|one| &one["session_id"]).collect();
    assert_eq!(sessions, [&json!(one.id), &json!(two.id)]);
}

/// Two sessions whose turns overlap, in a repository with a file of three lines.
fn two_turns(sandbox: &Sandbox) -> (Talk<'_>, Talk<'_>) {
    sandbox.write("m.py", "one\ntwo\nthree\n");
    commit(sandbox, "the beginning");
    let one = session(sandbox);
    let id = "22222222-2222-4333-8444-555555555555";
    let two = Talk::with_id(sandbox, Kind::Claude, id);
    two.hook("SessionStart", &json!({}));
    for talk in [&one, &two] {
        talk.submits("go");
        talk.writes_prompt("go");
    }
    (one, two)
}

/// Ends both turns, and says whose the lines are: `one`, `two`, or the kind of what is neither's for certain.
fn whose(one: &Talk<'_>, two: &Talk<'_>) -> Vec<String> {
    one.hook("Stop", &json!({}));
    two.hook("Stop", &json!({}));
    let lines = origins(one.sandbox, &["blame", "m.py"]);
    let of = |origin: &Value| {
        let names = [(&one.id, "one"), (&two.id, "two")];
        let named = names
            .iter()
            .find(|(id, _)| origin["session_id"] == json!(id));
        let kind = origin["kind"].as_str().unwrap();
        named.map_or(kind, |(_, name)| name).to_owned()
    };
    lines.iter().map(of).collect()
}

fn runs_a_shell(talk: &Talk<'_>) {
    talk.calls("shell");
    talk.results("shell");
}

#[test]
fn a_line_that_an_edit_quotes_from_before_is_not_its() {
    let sandbox = Sandbox::new();
    let (one, two) = two_turns(&sandbox);
    let file = sandbox.path("m.py");
    runs_a_shell(&one);
    let input = json!({"file_path": file, "old_string": "one\n", "new_string": "one\nfirst\n"});
    one.edits("first", "Edit", &input);
    let input = json!({"file_path": file, "old_string": "alpha\n", "new_string": "alpha\nbeta\n"});
    two.edits("beta", "Edit", &input);
    sandbox.write("m.py", "one\nfirst\nalpha\nbeta\ntwo\nthree\n");
    let found = whose(&one, &two);
    assert_eq!(found[1..4], ["one", "ambiguous", "two"]);
}

#[test]
fn a_line_that_a_tool_looked_for_is_not_its() {
    let sandbox = Sandbox::new();
    let (one, two) = two_turns(&sandbox);
    runs_a_shell(&one);
    let input = json!({"pattern": "def alpha", "path": sandbox.path("m.py")});
    two.edits("look", "Grep", &input);
    sandbox.write("m.py", "one\ndef alpha(): pass\ntwo\nthree\n");
    assert_eq!(whose(&one, &two)[1], "ambiguous");
}

#[test]
fn a_file_written_whole_may_have_lines_of_a_shell_in_it() {
    let sandbox = Sandbox::new();
    let (one, two) = two_turns(&sandbox);
    let text = "one\nalpha\nbeta\ntwo\nthree\n";
    let input = json!({"file_path": sandbox.path("m.py"), "content": text});
    two.edits("write", "Write", &input);
    sandbox.write("m.py", text);
    runs_a_shell(&one);
    assert_eq!(whose(&one, &two)[1..3], ["ambiguous", "ambiguous"]);
}

#[test]
fn a_clock_that_was_behind_changes_no_owner() {
    let sandbox = Sandbox::new();
    let talk = session(&sandbox);
    let text = |to: usize| -> String { (0..to).map(|n| format!("{n}\n")).collect() };
    turn(&talk, "one", || sandbox.write("t.txt", text(1)));
    sandbox.wait(-3600);
    turn(&talk, "two", || sandbox.write("t.txt", text(2)));
    sandbox.wait(7200);
    turn(&talk, "three", || sandbox.write("t.txt", text(3)));
    assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["0", "1", "2"]);
}

#[test]
fn what_a_hook_formats_is_neither_the_agent_s_nor_a_person_s() {
    let sandbox = Sandbox::new();
    let talk = session(&sandbox);
    let text: String = (0..9).map(|n| format!("line {n}\n")).collect();
    turn(&talk, "write", || {
        sandbox.write("t.txt", format!("{text}a( 'x' )\nb\n"));
    });
    let script = "#!/bin/sh\nsed -i \"s/( 'x' )/('x')/\" t.txt && git add t.txt\n";
    sandbox.program(".git/hooks/pre-commit", script);
    let formatted = commit(&sandbox, "formatted");
    talk.submits("next");
    let found = origins(&sandbox, &["blame", "t.txt", "-L", "10,"]);
    let words: Vec<String> = found.iter().map(word).collect();
    assert_eq!(words, ["commit-step", "0"]);
    assert_eq!(found[0]["commit"], json!(formatted));
    assert_eq!(
        said(&sandbox, &["blame", "--ignore-format", "t.txt", "-L10,"]),
        ["0", "0"]
    );
}

#[test]
fn lines_are_followed_as_git_is_told_to() {
    let sandbox = Sandbox::new();
    let talk = session(&sandbox);
    let block: String = (0..30)
        .map(|n| format!("a rather long line number {n}\n"))
        .collect();
    let other: String = (0..30)
        .map(|n| format!("something else, number {n}\n"))
        .collect();
    turn(&talk, "one", || {
        sandbox.write("t.txt", format!("{block}{other}"));
    });
    turn(&talk, "indent", || {
        sandbox.write("t.txt", format!("{other}  {block}"));
        sandbox.write("copy.txt", &block);
    });
    let first = |words: &[&str]| said(&sandbox, words)[0].clone();
    let at = |words: &[&str], line: usize| said(&sandbox, words)[line].clone();
    assert_eq!(first(&["blame", "copy.txt"]), "1");
    assert_eq!(first(&["blame", "-C", "copy.txt"]), "0");
    assert_eq!(first(&["blame", "--copied", "copy.txt"]), "0");
    assert_eq!(at(&["blame", "t.txt"], 40), "1");
    assert_eq!(at(&["blame", "-M", "t.txt"], 40), "0");
    assert_eq!(at(&["blame", "--moved", "t.txt"], 30), "1");
    assert_eq!(at(&["blame", "-wMC", "t.txt"], 30), "0");
    sandbox.write("w.txt", "a\n");
    sandbox.ok(["snapshot"]);
    sandbox.write("w.txt", " a\n");
    assert_eq!(said(&sandbox, &["blame", "w.txt"]), ["dirty"]);
    assert_eq!(said(&sandbox, &["blame", "-w", "w.txt"]), ["between"]);
}

/// Where a line was committed is asked as it is asked whose it is.
#[test]
fn the_commit_of_a_line_is_that_of_the_line_that_is_followed() {
    let sandbox = Sandbox::new();
    sandbox.write("t.txt", "old\n");
    commit(&sandbox, "the beginning");
    let talk = session(&sandbox);
    let block: String = (0..30)
        .map(|n| format!("a rather long line number {n}\n"))
        .collect();
    turn(&talk, "write", || sandbox.write("t.txt", &block));
    let written = commit(&sandbox, "written");
    let indented: String = block.lines().map(|line| format!("  {line}\n")).collect();
    turn(&talk, "indent", || sandbox.write("t.txt", &indented));
    let second = commit(&sandbox, "indented");
    turn(&talk, "copy", || sandbox.write("copy.txt", &indented));
    let third = commit(&sandbox, "copied");
    for (words, checkpoint, committed) in [
        (&["blame", "t.txt"][..], 1, &second),
        (&["blame", "-w", "t.txt"], 0, &written),
        (&["blame", "--ignore-format", "t.txt"], 0, &written),
        (&["blame", "copy.txt"], 2, &third),
    ] {
        let origin = origins(&sandbox, words)[3].clone();
        assert_eq!(
            (&origin["checkpoint_id"], &origin["commit"]),
            (&json!(checkpoint), &json!(committed)),
            "{words:?}"
        );
    }
}

#[test]
fn lines_are_put_together_and_counted() {
    let sandbox = Sandbox::new();
    sandbox.write("t.txt", "old\n");
    commit(&sandbox, "the beginning");
    let talk = session(&sandbox);
    turn(&talk, "first\x1b[31m", || {
        sandbox.write("t.txt", "1\nold\n1\n1\n");
    });
    turn(&talk, "second", || {
        sandbox.write("t.txt", "1\nold\n1\n1\n2\n");
    });
    let groups = |words: &[&str]| sandbox.json(words)["groups"].clone();
    let prompts = groups(&["blame", "--by", "prompt", "t.txt"]);
    assert_eq!(prompts.as_array().unwrap().len(), 3);
    assert_eq!(prompts[0]["lines"], 3);
    assert_eq!(
        prompts[0]["ranges"],
        json!([{"first": 1, "last": 1}, {"first": 3, "last": 4}])
    );
    assert_eq!(prompts[0]["checkpoint_id"], 0);
    let sessions = groups(&["blame", "--by", "session", "t.txt"]);
    assert_eq!(
        (&sessions[0]["lines"], &sessions[0]["session_id"]),
        (&json!(4), &json!(talk.id))
    );
    assert_eq!(sessions[0]["checkpoint_id"], Value::Null);
    let agents = groups(&["blame", "--by", "agent", "t.txt"]);
    assert_eq!(
        (&agents[0]["agent"], &agents[1]["kind"]),
        (&json!("claude"), &json!("commit"))
    );
    let printed = sandbox.ok(["blame", "--stat", "t.txt"]);
    assert!(
        printed.starts_with("3  60%  11111111:0 claude  "),
        "{printed}"
    );
    assert!(
        printed.contains("'first\\x1b[31m'") || !printed.contains('\x1b'),
        "{printed}"
    );
    let printed = sandbox.ok(["blame", "--by", "prompt", "t.txt"]);
    assert!(printed.contains("\n    lines 1, 3-4\n"), "{printed}");
    let printed = sandbox.ok(["blame", "t.txt"]);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("11111111:0 claude  "), "{printed}");
    assert!(
        lines[0].ends_with("  1) 1") && lines[1].ends_with("  2) old"),
        "{printed}"
    );
    assert_eq!(
        sandbox
            .tw(["blame", "--by", "line", "--stat", "t.txt"])
            .code,
        2
    );
}

#[test]
fn programs_that_read_git_s_format_read_this() {
    let sandbox = Sandbox::new();
    sandbox.write("t.txt", "old\n");
    let old = commit(&sandbox, "the beginning");
    let talk = session(&sandbox);
    turn(&talk, "first\nof two", || {
        sandbox.write("t.txt", "old\nnew\n");
    });
    let printed = sandbox.ok(["blame", "--porcelain", "t.txt"]);
    let records: Vec<&str> = printed.split_inclusive("\told\n").collect();
    assert!(
        records[0].starts_with(&format!("{old} 1 1 1\nauthor Test\n")),
        "{printed}"
    );
    let zeros = sandbox.kind().id("0");
    assert!(
        records[1].starts_with(&format!("{zeros} 2 2 1\nauthor claude\n")),
        "{printed}"
    );
    for row in [
        "summary first\n",
        "timewarp-kind prompt\n",
        &format!("timewarp-session {}\n", talk.id),
        "timewarp-checkpoint 0\n",
        "filename t.txt\n\tnew\n",
    ] {
        assert!(records[1].contains(row), "{row}: {printed}");
    }
}

#[test]
fn what_cannot_be_told_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("t.txt", "old\n");
    sandbox.ok(["snapshot"]);
    for (words, code, exit) in [
        (&["nowhere.txt"][..], "PATH_NOT_FOUND", 3),
        (&["latest", "nowhere.txt"], "PATH_NOT_FOUND", 3),
        (&["no-such-state", "t.txt"], "SNAPSHOT_NOT_FOUND", 3),
        (&["-L", "7,9", "t.txt"], "USAGE", 2),
        (&["-L", "x", "t.txt"], "USAGE", 2),
        (&["../outside"], "USAGE", 2),
    ] {
        let words = [&["blame"], words].concat();
        let (error, found) = sandbox.json_error(&words);
        assert_eq!(
            (error["code"].as_str(), found),
            (Some(code), exit),
            "{words:?}"
        );
    }
    // A file that no snapshot has, and one in a repository without any.
    sandbox.write("new.txt", "1\n2\n");
    assert_eq!(said(&sandbox, &["blame", "new.txt"]), ["dirty", "dirty"]);
    let bare = Sandbox::unborn();
    bare.write("new.txt", "1\n");
    assert_eq!(said(&bare, &["blame", "new.txt"]), ["dirty"]);
    bare.write("empty.txt", "");
    assert_eq!(said(&bare, &["blame", "empty.txt"]), [""; 0]);
}

#[test]
fn nothing_that_the_repository_names_is_run() {
    let sandbox = Sandbox::new();
    sandbox.write("t.txt", "old\n");
    sandbox.write(".gitattributes", "*.txt diff=evil filter=evil\n");
    commit(&sandbox, "base");
    let mark = sandbox.root().join("ran");
    let run = format!("touch '{}'; cat", mark.display());
    for key in ["diff.evil.textconv", "filter.evil.clean", "core.pager"] {
        sandbox.git(["config", key, &run]);
    }
    sandbox.git(["config", "blame.ignoreRevsFile", "no-such-file"]);
    sandbox.write("t.txt", "old\nnew\n");
    sandbox.ok(["snapshot"]);
    assert_eq!(said(&sandbox, &["blame", "t.txt"]), ["commit", "between"]);
    assert!(!mark.exists());
}

#[test]
fn a_directory_has_no_lines() {
    let sandbox = Sandbox::new();
    let (error, code) = sandbox.json_error(["blame", "."]);
    assert_eq!((error["code"].as_str(), code), (Some("PATH_NOT_FOUND"), 3));
    assert_eq!(error["message"], "'.' is a directory");
}

#[test]
fn what_no_snapshot_could_have_is_no_file() {
    let sandbox = Sandbox::new();
    sandbox.git([
        "config",
        "remote.origin.url",
        "https://bob:pw@example.com/x",
    ]);
    sandbox.git(["init", "-q", "sub"]);
    sandbox.write("sub/f", "theirs\n");
    sandbox.write(".timewarp/issues/x", "desk\n");
    sandbox.write(".timewarp/config.toml", "scratch_dir = \"../x\"\n");
    for path in [
        ".git/config",
        ".git",
        ".git/HEAD",
        "sub/.git/config",
        "sub/f",
        "a.txt/../sub/f",
        ".timewarp/issues/x",
    ] {
        let (error, _) = sandbox.json_error(["blame", path]);
        assert_eq!(error["code"], "PATH_NOT_FOUND", "{path}: {error}");
    }
    sandbox.json(["blame", "a.txt"]);
    sandbox.json(["blame", ".timewarp/config.toml"]);
}

#[test]
fn a_map_of_authors_that_is_a_pipe_is_refused() {
    let sandbox = Sandbox::new();
    let made = sandbox.command("mkfifo").arg(".mailmap").output().unwrap();
    assert!(made.status.success());
    let (error, _) = sandbox.json_error(["blame", "a.txt"]);
    assert!(
        error
            .to_string()
            .contains(".mailmap' is not a regular file"),
        "{error}"
    );
}

/// But for what is of `tw` alone, and for the two rows that it leaves out.
#[test]
fn programs_read_porcelain_as_they_read_git_s() {
    let sandbox = Sandbox::new();
    let names: [&[u8]; 5] = [b"a\tb", b"a\\tb", b"q\"q", b"b\xff", "\u{fc}".as_bytes()];
    for name in names {
        sandbox.write(OsStr::from_bytes(name), "x\n");
    }
    sandbox.git(["add", "-A"]);
    let date = ["--date", "1700000000 +0230"];
    let author = ["--author", "Bob <bob@example.com>"];
    sandbox.git([&["commit", "-qm", "all"][..], &date, &author].concat());
    let rows = |said: &[u8]| {
        let left_out: [&[u8]; 3] = [b"boundary", b"previous ", b"timewarp-"];
        let rows = said.split(|byte| *byte == b'\n');
        let rows = rows.filter(|row| !left_out.iter().any(|word| row.starts_with(word)));
        let rows = rows.map(|row| row.escape_ascii().to_string());
        rows.collect::<Vec<_>>()
    };
    for quotes in ["true", "false"] {
        sandbox.git(["config", "core.quotePath", quotes]);
        for name in names.map(OsStr::from_bytes) {
            let mut own = sandbox.command("git");
            let own = own.args(["blame", "--line-porcelain", "--"]).arg(name);
            let own = own.output().unwrap();
            let mut ours = sandbox.tw_command();
            let ours = ours.args(["blame", "--porcelain"]).arg(name);
            let ours = ours.output().unwrap();
            assert_eq!(rows(&ours.stdout), rows(&own.stdout), "{name:?}");
        }
    }
}
