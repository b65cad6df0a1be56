//! `tw undo N`: one swap taken back although others came after it.

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::trip::{list, mode, snapshot};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// A snapshot of ten lines, then one with the first line changed, then one with the last.
fn ten_lines(sandbox: &Sandbox) -> [String; 3] {
    sandbox.write("ten.txt", TEN);
    let plain = snapshot(sandbox);
    sandbox.write("ten.txt", TEN.replace("1\n2", "one\n2"));
    let first = snapshot(sandbox);
    sandbox.write(
        "ten.txt",
        TEN.replace("1\n2", "one\n2").replace("10\n", "ten\n"),
    );
    [plain, first, snapshot(sandbox)]
}

#[test]
fn later_changes_of_other_lines_stay() {
    let sandbox = Sandbox::new();
    let [plain, first, both] = ten_lines(&sandbox);
    sandbox.write("ten.txt", TEN);
    assert_eq!(sandbox.json(["restore", &plain])["backup_id"], Value::Null);
    sandbox.json(["restore", &first]);
    sandbox.json(["restore", &both]);
    let before = sandbox.state();

    let dry = sandbox.json(["undo", "2", "--dry-run"]);
    before.assert_same(&sandbox.state());
    let undone = sandbox.json(["undo", "2"]);
    assert_eq!(sandbox.text("ten.txt"), TEN.replace("10\n", "ten\n"));
    assert_eq!(undone["level"]["snapshot_id"], *first);
    assert_eq!(dry["level"], undone["level"]);
    assert_eq!(dry["changes"], undone["changes"]);
    assert_eq!(list(&undone["changes"]["written"]), ["ten.txt"]);
    // The other is still there to be undone, and redo brings this one back.
    let levels = sandbox.json(["undo", "--list"])["levels"].clone();
    assert_eq!(levels.as_array().unwrap().len(), 1);
    assert_eq!(levels[0]["snapshot_id"], *both);
    let dry = sandbox.json(["redo", "--dry-run"]);
    let redone = sandbox.json(["redo", "1"]);
    assert_eq!(dry["changes"], redone["changes"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn a_swap_is_named_by_number_swap_or_backup() {
    for name in ["level", "swap_id", "backup_id"] {
        let sandbox = Sandbox::new();
        let [plain, _, both] = ten_lines(&sandbox);
        sandbox.write("other.txt", "kept\n");
        sandbox.json(["restore", &plain, "ten.txt"]);
        sandbox.write("a.txt", "changed\n");
        sandbox.json(["restore", &both, "a.txt"]);
        let levels = sandbox.json(["undo", "--list"])["levels"].clone();
        let word = match &levels[1][name] {
            Value::String(word) => word.clone(),
            number => number.to_string(),
        };
        sandbox.json(["undo", &word]);
        assert!(sandbox.text("ten.txt").starts_with("one\n"), "{name}");
        assert_ne!(sandbox.text("a.txt"), "changed\n");
        let (error, code) = sandbox.json_error(["undo", &word.replace(['1', '2'], "99")]);
        assert_eq!((error["code"].as_str(), code), (Some("NOTHING_TO_UNDO"), 4));
    }
}

#[test]
fn where_later_changes_touch_the_same_lines_nothing_is_done() {
    let sandbox = Sandbox::new();
    let [plain, first, _] = ten_lines(&sandbox);
    sandbox.write("other.txt", "other\n");
    sandbox.write("ten.txt", TEN);
    sandbox.json(["restore", &first]);
    assert!(!sandbox.exists("other.txt"));
    sandbox.write("ten.txt", TEN.replace("1\n2", "eins\n2"));
    sandbox.json(["restore", &plain, "a.txt"]);
    sandbox.write("a.txt", "edited\n");
    sandbox.json(["restore", &plain, "a.txt"]);
    let before = sandbox.state();
    let objects = sandbox.git(["count-objects", "-v"]);
    for args in [&["undo", "2"][..], &["undo", "2", "--dry-run"]] {
        let (error, code) = sandbox.json_error(args.iter());
        assert_eq!((error["code"].as_str(), code), (Some("CONFLICT"), 5));
        assert_eq!(list(&error["paths"]), ["ten.txt"]);
        before.assert_same(&sandbox.state());
        let left = sandbox.git(["count-objects", "-v"]);
        assert_eq!(left, objects, "nothing merged is left behind");
    }
    assert_eq!(sandbox.json(["undo", "--list"])["levels"][1]["level"], 2);
}

#[test]
fn files_that_came_went_or_changed_their_kind_are_taken_back_alone() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "ignored\n");
    sandbox.write("gone/deep.txt", "will go\n");
    sandbox.write("kind", "a file\n");
    sandbox.write("bits.sh", "#!/bin/sh\n");
    sandbox.write("later.txt", "one\n");
    let then = snapshot(&sandbox);
    sandbox.remove("gone");
    sandbox.write("came/new.txt", "new\n");
    sandbox.remove("kind");
    sandbox.symlink("bits.sh", "kind");
    sandbox.chmod("bits.sh", 0o700);
    let present = sandbox.state();
    sandbox.json(["restore", &then]);
    sandbox.write("later.txt", "two\n");
    sandbox.json(["restore", &then, "later.txt"]);
    sandbox.json(["undo", "2"]);
    assert_eq!(mode(&sandbox, "bits.sh"), 0o700);
    present.assert_same(&sandbox.state());
}

#[test]
fn a_trip_is_taken_back_only_in_its_turn() {
    let sandbox = Sandbox::new();
    let [plain, first, _] = ten_lines(&sandbox);
    sandbox.json(["restore", &plain]);
    sandbox.json(["travel", &first]);
    sandbox.json(["restore", &plain]);
    let before = sandbox.state();
    for (number, says) in [("2", "is a travel"), ("3", "in another time")] {
        let (error, code) = sandbox.json_error(["undo", number]);
        assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
        before.assert_same(&sandbox.state());
    }
    // Home again the one of the present can be taken back on its own.
    sandbox.json(["return"]);
    sandbox.json(["undo", "4"]);
    assert!(sandbox.text("ten.txt").contains("ten\n"));
}

#[test]
fn a_killed_undo_of_one_swap_is_undone_or_done() {
    let sandbox = Sandbox::new();
    let [plain, first, both] = ten_lines(&sandbox);
    // What comes out is somewhere before, too: a step that is undone may leave no trace of it.
    sandbox.write("ten.txt", TEN.replace("10\n", "ten\n"));
    snapshot(&sandbox);
    sandbox.json(["restore", &plain]);
    sandbox.json(["restore", &first]);
    sandbox.json(["restore", &both]);
    let stage = crate::stage::Stage::new(sandbox, &["undo", "2"], None);
    assert!(stage.crash_everywhere() >= 15);
}

#[test]
fn bits_of_a_directory_that_were_changed_since_stay() {
    let sandbox = Sandbox::new();
    for dir in ["closed", "left"] {
        sandbox.write(format!("{dir}/x"), "then\n");
    }
    sandbox.write("later", "then\n");
    let id = snapshot(&sandbox);
    for dir in ["closed", "left"] {
        sandbox.chmod(dir, 0o750);
    }
    sandbox.json(["restore", &id, "closed", "left"]);
    sandbox.write("later", "now\n");
    sandbox.json(["restore", &id, "later"]);
    sandbox.chmod("closed", 0o700);
    sandbox.json(["undo", "2"]);
    let bits = ["closed", "left"].map(|dir| mode(&sandbox, dir));
    assert_eq!(bits, [0o700, 0o750]);
}
