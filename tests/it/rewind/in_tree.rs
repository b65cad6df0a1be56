//! An agent whose directory was set to lie in the working tree: what it keeps a session in is put back by nobody.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{fork_path, prompts, read};
use crate::sandbox::Sandbox;
use crate::transcripts::{Kind, Talk};

const STORE: &str = ".cc/projects";

fn file(sandbox: &Sandbox, id: &str) -> PathBuf {
    sandbox.path(format!("{STORE}/-work/{id}.jsonl"))
}

/// Three turns of a session in the working tree; nothing keeps its file out of the snapshots.
fn in_the_tree(sandbox: &Sandbox) -> Talk<'_> {
    let mut talk = Talk::new(sandbox, Kind::Claude);
    talk.path = file(sandbox, &talk.id);
    std::fs::create_dir_all(talk.path.parent().unwrap()).unwrap();
    talk.hook("SessionStart", &json!({"source": "startup"}));
    for (text, context) in [("one", 1000), ("two", 2000), ("three", 3000)] {
        sandbox.write("a.txt", text);
        talk.turn(text, context);
    }
    sandbox.write("a.txt", "spoilt");
    talk
}

/// What must not change: the bytes, and which file it is to whoever has it open.
fn seen(talk: &Talk<'_>) -> (Vec<u8>, u64, usize) {
    let dir = talk.path.parent().unwrap();
    let beside = std::fs::read_dir(dir).unwrap().count();
    let inode = std::fs::metadata(&talk.path).unwrap().ino();
    (talk.bytes(), inode, beside)
}

fn refused(sandbox: &Sandbox, args: &[&str]) -> Value {
    let (error, code) = sandbox.json_error(args);
    assert_eq!(error["code"], "WOULD_OVERWRITE", "{args:?}: {error}");
    assert_eq!(code, 5);
    error
}

#[test]
fn a_session_file_in_the_working_tree_is_put_back_by_nothing() {
    let sandbox = Sandbox::new();
    let talk = in_the_tree(&sandbox);
    let one = format!("{}:1", talk.id);
    let before = seen(&talk);
    for args in [
        &["rewind", &one, "--both"][..],
        &["rewind", &one, "--both", "--dry-run"],
        &["rewind", &one, "--code"],
        &["restore", &one],
        &["travel", &one],
    ] {
        let error = refused(&sandbox, args);
        let said = error.to_string();
        assert!(said.contains(&talk.id), "{said}");
        assert!(said.contains("/.cc/projects"), "{said}");
        assert_eq!(seen(&talk), before, "{args:?}");
        assert_eq!(sandbox.text("a.txt"), "spoilt");
    }
    let choices = sandbox.json(["rewind", &one, "--dry-run"]);
    assert_eq!(choices["code"], Value::Null);
    assert_eq!(choices["conversation"]["messages_discarded"], 4);
    // What the hint names puts back all else.
    let said = sandbox.tw(["rewind", &one, "--code"]).err();
    let (_, command) = said.split_once("put back all but it: ").unwrap();
    let ran = sandbox.paste(command.lines().next().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert_eq!(sandbox.text("a.txt"), "two");
    assert_eq!(seen(&talk), before);
    // An undo that would not touch it goes on, and one that would does not.
    sandbox.ok(["undo"]);
    assert_eq!(sandbox.text("a.txt"), "spoilt");
    assert_eq!(seen(&talk), before);
}

#[test]
fn a_session_file_that_is_ignored_keeps_nothing_from_going_back() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/info/exclude", "/.cc/projects\n");
    let talk = in_the_tree(&sandbox);
    let before = seen(&talk);
    let rewound = sandbox.json(["rewind", "1", "--both"]);
    assert_eq!(sandbox.text("a.txt"), "two");
    assert_eq!(prompts(&read(&fork_path(&rewound))), ["one"]);
    assert_eq!(seen(&talk), (before.0, before.1, before.2 + 1));
    sandbox.ok(["rewind", "--undo", "--session", &talk.id]);
    sandbox.ok(["travel", "latest"]);
    sandbox.ok(["return"]);
    assert_eq!(talk.bytes(), seen(&talk).0);
}

/// Once it is over, its file is one like any other: but a rewind of that very session still has nowhere to put the fork.
#[test]
fn the_file_of_a_session_that_has_ended_goes_back_like_any_other() {
    let sandbox = Sandbox::new();
    let talk = in_the_tree(&sandbox);
    let one = format!("{}:1", talk.id);
    sandbox.ok(["session", "end", &talk.id]);
    refused(&sandbox, &["rewind", &one, "--both"]);
    let before = sandbox.state();
    let whole = talk.bytes();
    sandbox.assert_round_trip(&one, |_| assert_ne!(talk.bytes(), whole));
    before.assert_same(&sandbox.state());
}

/// A session that began in the past: its file stays where it is, by name.
#[test]
fn a_session_that_began_in_the_past_is_kept_by_the_return() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot"]);
    sandbox.ok(["travel", "latest"]);
    let talk = in_the_tree(&sandbox);
    let before = seen(&talk);
    let said = sandbox.tw(["return"]).err();
    let (_, command) = said
        .split_once("or keep it: ")
        .unwrap_or_else(|| panic!("{said}"));
    let ran = sandbox.paste(command.lines().next().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert_eq!(seen(&talk), before);
}
