//! `tw restore --staged`: entries of git's index, and nothing else.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::trip::{list, snapshot};

/// What the index has by path: modes, ids, stages and flags.
fn index(sandbox: &Sandbox) -> BTreeMap<String, Vec<String>> {
    let mut paths: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for args in [
        &["ls-files", "-s", "-z"][..],
        &["ls-files", "-v", "-t", "-z"],
    ] {
        for line in sandbox.git(args).split_terminator('\0') {
            let path = line
                .split_once('\t')
                .or_else(|| line.split_once(' '))
                .unwrap()
                .1;
            paths
                .entry(path.to_owned())
                .or_default()
                .push(line.to_owned());
        }
    }
    // `git add -N` and a file that was added empty look the same there.
    for path in sandbox
        .git(["diff", "--name-only", "--diff-filter=A", "-z"])
        .split_terminator('\0')
    {
        paths
            .entry(path.to_owned())
            .or_default()
            .push("announced".to_owned());
    }
    paths
}

fn files(sandbox: &Sandbox) -> BTreeMap<String, Vec<u8>> {
    let listed = sandbox.git(["ls-files", "-z", "--cached", "--others"]);
    let paths = listed.split_terminator('\0');
    let there = paths.filter(|path| sandbox.path(path).is_file());
    there
        .map(|path| (path.to_owned(), sandbox.read(path)))
        .collect()
}

/// A snapshot with something of each kind staged, and an index in which all of it differs.
fn restaged() -> (Sandbox, String, BTreeMap<String, Vec<String>>) {
    let sandbox = Sandbox::new();
    for file in [
        "kept.txt",
        "dir/kept.txt",
        "gone.txt",
        "run.sh",
        "swapped/file",
    ] {
        sandbox.write(file, "one\n");
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "one"]);
    sandbox.write("dir/kept.txt", "staged then\n");
    sandbox.write("new.txt", "new\n");
    sandbox.write("announced.txt", "announced\n");
    sandbox.git(["add", "dir", "new.txt"]);
    sandbox.git(["add", "-N", "announced.txt"]);
    sandbox.git(["update-index", "--chmod=+x", "run.sh"]);
    sandbox.git(["rm", "-q", "--cached", "gone.txt"]);
    let then = index(&sandbox);
    let id = snapshot(&sandbox);
    sandbox.write("dir/kept.txt", "staged now\n");
    sandbox.write("later.txt", "later\n");
    sandbox.git(["reset", "-q"]);
    sandbox.git(["rm", "-rq", "--cached", "swapped"]);
    sandbox.remove("swapped");
    sandbox.write("swapped", "a file\n");
    sandbox.git(["add", "dir", "later.txt", "swapped"]);
    sandbox.git(["update-index", "--assume-unchanged", "kept.txt"]);
    (sandbox, id, then)
}

#[test]
fn the_index_is_as_it_was_and_files_stay() {
    let (sandbox, id, mut then) = restaged();
    // That git is not to look at a file is no part of what is staged.
    for line in then.get_mut("kept.txt").unwrap() {
        *line = line.replace("H kept.txt", "h kept.txt");
    }
    let (now, on_disk) = (index(&sandbox), files(&sandbox));
    let dry = sandbox.json(["restore", &id, "--staged", "--dry-run"]);
    assert_eq!(index(&sandbox), now);
    let answer = sandbox.json(["restore", &id, "--staged"]);
    assert_eq!(index(&sandbox), then);
    assert_eq!(files(&sandbox), on_disk);
    assert_eq!(
        (&dry["changes"], &answer["staged"]),
        (&answer["changes"], &Value::Bool(true))
    );
    assert_eq!(
        list(&answer["changes"]["written"]),
        [
            "announced.txt",
            "dir/kept.txt",
            "new.txt",
            "run.sh",
            "swapped/file"
        ]
    );
    assert_eq!(
        list(&answer["changes"]["removed"]),
        ["gone.txt", "later.txt", "swapped"]
    );
    sandbox.git(["fsck", "--no-dangling"]);
    sandbox.ok(["undo"]);
    assert_eq!(index(&sandbox), now);
    sandbox.ok(["redo"]);
    assert_eq!(index(&sandbox), then);
    assert_eq!(files(&sandbox), on_disk);
    // Nothing is left to do: no backup, no level.
    assert_eq!(
        sandbox.json(["restore", &id, "-S"])["backup_id"],
        Value::Null
    );
}

#[test]
fn only_what_the_words_take_is_touched() {
    let (sandbox, id, then) = restaged();
    let now = index(&sandbox);
    sandbox.ok([
        "restore",
        &id,
        "--staged",
        "--",
        "dir",
        "*er.txt",
        "announced.txt",
    ]);
    let after = index(&sandbox);
    for path in now.keys().chain(then.keys()) {
        let taken =
            path.starts_with("dir/") || ["later.txt", "announced.txt"].contains(&path.as_str());
        let expected = if taken { &then } else { &now };
        assert_eq!(after.get(path), expected.get(path), "{path}");
    }
    let (error, code) = sandbox.json_error(["restore", &id, "--staged", "none*"]);
    assert_eq!((error["code"].as_str(), code), (Some("PATH_NOT_FOUND"), 3));
    assert_eq!(index(&sandbox), after);
}

#[test]
fn a_file_gives_way_to_the_directory_that_was_staged() {
    let (sandbox, id, then) = restaged();
    let answer = sandbox.json(["restore", &id, "--staged", "swapped/file"]);
    assert_eq!(list(&answer["changes"]["removed"]), ["swapped"]);
    assert_eq!(
        index(&sandbox).get("swapped/file"),
        then.get("swapped/file")
    );
    assert_eq!(sandbox.text("swapped"), "a file\n");
    sandbox.git(["write-tree", "--missing-ok"]);
}

#[test]
fn stages_of_a_conflict_come_back() {
    let sandbox = Sandbox::new();
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("a.txt", "theirs\n");
    sandbox.git(["commit", "-qam", "theirs"]);
    sandbox.git(["checkout", "-q", "-"]);
    sandbox.write("a.txt", "ours\n");
    sandbox.git(["commit", "-qam", "ours"]);
    assert_ne!(sandbox.try_git(["merge", "other"]).code, 0);
    let conflict = index(&sandbox);
    let id = snapshot(&sandbox);
    sandbox.git(["add", "a.txt"]);
    let resolved = index(&sandbox);
    sandbox.ok(["restore", &id, "--staged", "a.txt"]);
    assert_eq!(index(&sandbox), conflict);
    sandbox.ok(["undo"]);
    assert_eq!(index(&sandbox), resolved);
    sandbox.git(["commit", "-qm", "merged"]);
}

#[test]
fn stages_of_a_file_come_back_beside_a_directory_of_its_name() {
    let sandbox = Sandbox::new();
    sandbox.write("x/in", "in\n");
    sandbox.git(["add", "x"]);
    let id = snapshot(&sandbox);
    let oid = sandbox.git(["rev-parse", ":x/in"]);
    let stages: String = (1..=2)
        .map(|stage| format!("100644 {} {stage}\tx\n", oid.trim()))
        .collect();
    let mut command = sandbox.command("git");
    command.args(["update-index", "--index-info"]);
    assert!(
        command
            .write_stdin(stages)
            .output()
            .unwrap()
            .status
            .success()
    );
    let before = index(&sandbox);
    assert_eq!(before.len(), 3, "{before:?}");
    sandbox.json(["restore", "--staged", &id, "x"]);
    assert_ne!(index(&sandbox), before);
    sandbox.json(["undo"]);
    assert_eq!(index(&sandbox), before);
}

#[test]
fn what_was_staged_since_and_gives_way_to_an_undo_is_named() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("x", "x\n");
    sandbox.git(["add", "x"]);
    sandbox.json(["restore", "--staged", &id, "x"]);
    sandbox.remove("x");
    sandbox.write("x/later", "later\n");
    sandbox.git(["add", "x"]);
    let undone = sandbox.json(["undo"]);
    assert_eq!(list(&undone["changed_since"]), ["x/later"], "{undone}");
    assert_eq!(sandbox.git(["ls-files"]), "a.txt\nx\n");
}

/// A step that put `x` back in the index, and what is `more`; a later one, and another `x` that was staged since.
fn with_an_older_step(more: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("x/in", "in\n");
    sandbox.git(["add", "x"]);
    let id = snapshot(&sandbox);
    sandbox.git(["rm", "-rqf", "x"]);
    let paths = [&["x"], more].concat();
    for path in &paths {
        sandbox.write(path, format!("{path}\n"));
        sandbox.git(["add", path]);
    }
    sandbox.json([&["restore", "--staged", &id], &paths[..]].concat());
    sandbox.write("a.txt", "later\n");
    sandbox.json(["restore", &id, "a.txt"]);
    sandbox.remove("x");
    sandbox.write("x/new", "new\n");
    sandbox.git(["add", "x/new"]);
    sandbox
}

#[test]
fn an_older_step_that_is_taken_back_alone_leaves_what_was_staged_since_whole() {
    let sandbox = with_an_older_step(&["b"]);
    let mut before = index(&sandbox);
    let undone = sandbox.json(["undo", "2"]);
    let told = undone["notices"].to_string();
    assert!(
        told.contains("staged since, and left as it is: 'x', 'x/in'"),
        "{told}"
    );
    let mut now = index(&sandbox);
    assert!(now.remove("b").is_some(), "{now:?}");
    before.remove("b");
    assert_eq!(now, before);
}

#[test]
fn an_older_step_of_which_all_was_staged_since_is_refused_and_stays() {
    let sandbox = with_an_older_step(&[]);
    let before = index(&sandbox);
    let (error, code) = sandbox.json_error(["undo", "2"]);
    assert_eq!((error["code"].as_str(), code), (Some("CONFLICT"), 5));
    assert_eq!(list(&error["paths"]), ["x", "x/in"], "{error}");
    assert_eq!(index(&sandbox), before);
    sandbox.git(["rm", "-q", "--cached", "x/new"]);
    sandbox.json(["undo", "2"]);
    assert_eq!(sandbox.git(["ls-files"]), "a.txt\nx\n");
}

/// The recorded entries go with the HEAD of that time.
#[test]
fn an_older_step_whose_entries_stay_since_head_moved_says_so() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.json(["restore", "--staged", &id, "a.txt"]);
    sandbox.write("b", "later\n");
    sandbox.json(["restore", &id, "a.txt"]);
    sandbox.git(["commit", "-qm", "x", "--allow-empty"]);
    let before = sandbox.state();
    for args in [&["undo", "2"][..], &["undo", "2", "--dry-run"]] {
        let (error, code) = sandbox.json_error(args);
        assert_eq!((error["code"].as_str(), code), (Some("CONFLICT"), 5));
        assert_eq!(list(&error["paths"]), ["a.txt"], "{error}");
        let message = "HEAD has moved since swap 2, so the index has to stay as it is: 'a.txt'";
        assert_eq!(error["message"], message);
        before.assert_same(&sandbox.state());
    }
    let levels = sandbox.json(["undo", "--list"])["levels"].clone();
    assert_eq!(levels.as_array().unwrap().len(), 2, "{levels}");
}

#[test]
fn it_waits_for_nobody_s_lock_and_changes_nothing_under_it() {
    let (sandbox, id, _) = restaged();
    let now = index(&sandbox);
    sandbox.write(".git/index.lock", "");
    let (error, code) = sandbox.json_error(["restore", &id, "--staged"]);
    assert_eq!((error["code"].as_str(), code), (Some("BUSY"), 4));
    sandbox.remove(".git/index.lock");
    assert_eq!(index(&sandbox), now);
}

#[test]
fn without_an_index_it_is_made() {
    let (sandbox, id, then) = restaged();
    sandbox.remove(".git/index");
    sandbox.ok(["restore", &id, "--staged"]);
    assert_eq!(index(&sandbox), then);
}

#[test]
fn what_was_purged_is_staged_by_no_undo_and_no_redo() {
    for (step, stages_again) in [("undo", false), ("redo", true)] {
        let sandbox = Sandbox::new();
        let without = snapshot(&sandbox);
        sandbox.write("secret.txt", "hunter2\n");
        sandbox.write("kept.txt", "kept\n");
        sandbox.git(["add", "secret.txt", "kept.txt"]);
        sandbox.remove("secret.txt");
        let with = snapshot(&sandbox);
        let secret = sandbox.git(["rev-parse", ":secret.txt"]);
        if stages_again {
            sandbox.git(["reset", "-q"]);
            sandbox.ok(["restore", "--staged", &with]);
            sandbox.ok(["undo"]);
        } else {
            sandbox.ok(["restore", "--staged", &without]);
        }
        let before = index(&sandbox);
        assert!(!before.contains_key("secret.txt") && !before.contains_key("kept.txt"));
        sandbox.ok(["purge", "secret.txt", "--yes-purge"]);
        sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
        sandbox.git(["gc", "--quiet", "--prune=now"]);
        let is_there = || sandbox.try_git(["cat-file", "-e", secret.trim()]).code == 0;
        assert!(!is_there(), "{step}: it is deleted");
        sandbox.ok([step]);
        let after = index(&sandbox);
        assert!(!after.contains_key("secret.txt"), "{step}: {after:?}");
        assert!(after.contains_key("kept.txt"), "{step}: {after:?}");
        sandbox.git(["commit", "-qm", "next"]);
        sandbox.git(["gc", "--quiet", "--prune=now"]);
    }
}

#[test]
fn what_an_undo_stages_again_takes_the_place_of_what_was_staged_since() {
    for (then, since) in [("d", "d/x"), ("d/x", "d")] {
        let sandbox = Sandbox::new();
        let without = snapshot(&sandbox);
        sandbox.write(then, "then\n");
        sandbox.git(["add", "d"]);
        sandbox.ok(["restore", "--staged", &without, "d"]);
        sandbox.remove("d");
        sandbox.write(since, "since\n");
        sandbox.git(["add", "d"]);
        let now = index(&sandbox);
        sandbox.ok(["undo"]);
        let staged = sandbox.git(["ls-files", "--", "d"]);
        assert_eq!(staged, format!("{then}\n"));
        sandbox.git(["write-tree"]);
        sandbox.ok(["redo"]);
        assert_eq!(index(&sandbox), now, "{since}");
        sandbox.git(["write-tree"]);
    }
}
