//! What no side of a return has, and what took its place in the past: it stays where it is, is named, and is no difference.

use super::unsaved::sh;
use crate::sandbox::Sandbox;
use crate::trip::{mode, snapshot};

/// Both sides leave it out before the return; afterwards the present sees it, and the past had it all the same.
#[test]
fn the_undo_of_a_return_leaves_what_stayed_in_the_past_and_is_a_file_by_now() {
    for (present, past) in [
        (
            "echo /i/ >.gitignore; mkdir i; echo f >i/f",
            "rm -r i; ln -s /tmp i",
        ),
        (
            "echo /i/ >.gitignore; mkdir i; echo f >i/f",
            "rm -r i; echo new >i",
        ),
        ("mkfifo i", "rm i; echo new >i"),
        ("mkfifo i", "rm i; mkdir -p i/d; echo new >i/d/f"),
        (
            "git config timewarp.maxFileSize 1k; head -c 3000 /dev/zero >i",
            "echo short >i",
        ),
    ] {
        let sandbox = Sandbox::new();
        sh(&sandbox, present);
        let id = snapshot(&sandbox);
        sandbox.write("a.txt", "edited\n");
        sandbox.json(["travel", &id]);
        sh(&sandbox, past);
        sandbox.write("a.txt", "of the past\n");
        let listing = || {
            let output = sandbox.command("sh").current_dir(sandbox.repo()).args([
                "-c",
                "find . -path ./.git -prune -o -printf '%p %m %l\n' | sort; cat i i/d/f 2>/dev/null",
            ]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let there = listing();
        let returned = sandbox.json(["return"]);
        let stayed = returned["stayed"].to_string();
        assert!(stayed.contains("\"i"), "{past}: {returned}");
        assert_eq!(listing(), there, "{past}");
        // Of the present is what is made now, and it goes with the present.
        sandbox.write("new.txt", "later\n");
        sandbox.json(["undo", "--into-past"]);
        assert_eq!(listing(), there, "{past}");
        assert_eq!(sandbox.text("a.txt"), "of the past\n", "{past}");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{past}: {returned}");
        assert_eq!(sandbox.text("new.txt"), "later\n", "{past}");
        sandbox.remove("new.txt");
        assert_eq!(listing(), there, "{past}");
    }
}

/// Of the travel the same: its undo is a return, and its redo goes back into the past.
#[test]
fn the_redo_of_a_travel_leaves_it_as_well() {
    let sandbox = Sandbox::new();
    sh(&sandbox, "mkfifo i");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "edited\n");
    sandbox.json(["travel", &id]);
    sh(&sandbox, "rm i; echo new >i");
    sandbox.json(["undo"]);
    sandbox.json(["redo", "--into-past"]);
    assert_eq!(sandbox.text("i"), "new\n");
}

/// On disk was nothing, and what is there now no snapshot can have.
#[test]
fn what_stands_where_the_present_had_an_entry_of_its_index_alone_is_no_difference() {
    for hide in [
        "git sparse-checkout set --cone src",
        "git update-index --skip-worktree t/a; rm t/a",
    ] {
        for make in ["mkfifo t/a", "git init -q --template= t/a"] {
            let sandbox = Sandbox::new();
            sandbox.write("src/s", "s\n");
            sandbox.write("t/a", "t\n");
            sandbox.git(["add", "."]);
            sandbox.git(["commit", "-q", "-m", "two"]);
            let id = snapshot(&sandbox);
            sh(&sandbox, hide);
            sandbox.write("src/s", "edited\n");
            let index = sandbox.git(["ls-files", "--stage"]);
            sandbox.json(["travel", &id]);
            sh(&sandbox, &format!("rm t/a; {make}"));
            let what = format!("{hide}; {make}");
            let would = sandbox.json(["return", "--dry-run"]);
            assert_eq!(would["stayed"], serde_json::json!(["t/a"]), "{what}");
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["verified"], true, "{what}: {returned}");
            assert_eq!(returned["stayed"], serde_json::json!(["t/a"]), "{what}");
            assert!(sandbox.exists("t/a"), "{what}");
            assert_eq!(sandbox.text("src/s"), "edited\n", "{what}");
            assert_eq!(sandbox.git(["ls-files", "--stage"]), index, "{what}");
        }
    }
}

#[test]
fn a_pipe_in_the_place_of_what_the_trip_wrote_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("t/a", "t\n");
    let id = snapshot(&sandbox);
    sandbox.remove("t");
    sandbox.json(["travel", &id]);
    sh(&sandbox, "rm t/a; mkfifo t/a");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["stayed"], serde_json::json!(["t/a"]), "{returned}");
}

/// git's mode is from the index instead of from the disk by then, or the other way round; the file is as it was.
#[test]
fn another_core_filemode_in_the_past_is_no_difference() {
    for (present, past) in [("true", "false"), ("false", "true")] {
        for change in ["", "chmod 0755 b.txt"] {
            let sandbox = Sandbox::new();
            sandbox.write("b.txt", "b\n");
            sandbox.write("c.txt", "c\n");
            sandbox.git(["add", "."]);
            sandbox.git(["commit", "-q", "-m", "two"]);
            sandbox.git(["config", "core.fileMode", present]);
            sandbox.chmod("a.txt", 0o755);
            sandbox.chmod("b.txt", 0o640);
            let id = snapshot(&sandbox);
            sandbox.write("c.txt", "edited\n");
            sandbox.json(["travel", &id]);
            sandbox.git(["config", "core.fileMode", past]);
            sh(&sandbox, &format!("chmod 0644 a.txt; {change}"));
            let what = format!("{present}, {past}, {change}");
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["verified"], true, "{what}: {returned}");
            assert_eq!(returned["changed_since"], serde_json::json!([]), "{what}");
            assert_eq!(mode(&sandbox, "a.txt"), 0o755, "{what}");
            assert_eq!(mode(&sandbox, "b.txt"), 0o640, "{what}");
            assert_eq!(sandbox.text("c.txt"), "edited\n", "{what}");
        }
    }
}

#[test]
fn another_core_filemode_in_the_past_rewrites_nothing_that_is_as_it_was() {
    use std::os::unix::fs::MetadataExt;
    for (present, past) in [("true", "false"), ("false", "true")] {
        let sandbox = Sandbox::new();
        sandbox.write("edited", "then\n");
        sandbox.git(["add", "."]);
        sandbox.git(["commit", "-q", "-m", "two"]);
        sandbox.git(["config", "core.fileMode", present]);
        // In the index it is no program, and what is untracked is not in it.
        sandbox.write("program", "#!/bin/sh\n");
        for program in ["a.txt", "program"] {
            sandbox.chmod(program, 0o755);
        }
        // git knows when its bits were changed, however many seconds this took.
        sandbox.git(["-c", "core.fileMode=false", "update-index", "--refresh"]);
        let id = snapshot(&sandbox);
        sandbox.write("edited", "now\n");
        sandbox.git(["status"]);
        let look = || {
            ["a.txt", "program"].map(|name| {
                let meta = sandbox.path(name).metadata().unwrap();
                (meta.ino(), meta.mode(), meta.mtime_nsec())
            })
        };
        let before = look();
        sandbox.json(["travel", &id]);
        sandbox.git(["config", "core.fileMode", past]);
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{past}: {returned}");
        assert_eq!(look(), before, "{past}");
        let files = || sandbox.git(["diff-files", "--name-only"]);
        let stale = files();
        sandbox.git(["status"]);
        assert_eq!(stale, files(), "{past}");
    }
}

/// Both trees have it, and travel wrote it all the same.
#[test]
fn what_the_trip_brought_from_the_index_goes_also_where_the_user_s_exclude_hides_it() {
    for hide in [
        "git sparse-checkout set --no-cone '/*' '!/out'",
        "git update-index --skip-worktree out/b; rm -r out",
    ] {
        for meanwhile in ["", "echo edited >out/b"] {
            let sandbox = Sandbox::new();
            sandbox.write("out/b", "b\n");
            sandbox.git(["add", "."]);
            sandbox.git(["commit", "-q", "-m", "two"]);
            let id = snapshot(&sandbox);
            sh(&sandbox, hide);
            sandbox.git(["config", "timewarp.exclude", "out/"]);
            let home = sandbox.state();
            sandbox.json(["travel", &id]);
            assert_eq!(sandbox.text("out/b"), "b\n", "{hide}");
            sh(&sandbox, meanwhile);
            if meanwhile.is_empty() {
                let returned = sandbox.json(["return"]);
                let none = serde_json::Value::Null;
                assert_eq!(returned["experiment_id"], none, "{hide}: {returned}");
                assert_eq!(returned["verified"], true, "{hide}: {returned}");
                home.assert_same(&sandbox.state());
            } else {
                // No snapshot may have it.
                let (error, _) = sandbox.json_error(["return"]);
                assert_eq!(error["code"], "WOULD_OVERWRITE", "{hide}: {error}");
                assert_eq!(sandbox.text("out/b"), "edited\n", "{hide}");
            }
        }
    }
}

/// A snapshot has it: it goes, as what the trip itself wrote.
#[test]
fn what_a_restore_in_the_past_wrote_goes_also_where_the_user_s_exclude_hides_it() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("gen/x", "x\n");
    let with = snapshot(&sandbox);
    sandbox.remove("gen");
    sandbox.git(["config", "timewarp.exclude", "gen/"]);
    sandbox.json(["travel", &id]);
    sandbox.json(["restore", &with, "gen/x"]);
    assert_eq!(sandbox.text("gen/x"), "x\n");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert!(!sandbox.exists("gen/x"));
    // What was changed since no snapshot has.
    sandbox.json(["travel", &id]);
    sandbox.json(["restore", &with, "gen/x"]);
    sandbox.write("gen/x", "edited\n");
    let (error, _) = sandbox.json_error(["return"]);
    assert_eq!(error["code"], "WOULD_OVERWRITE", "{error}");
    assert_eq!(sandbox.text("gen/x"), "edited\n");
}

/// What was there stays, what the present made beside it since goes with the present.
#[test]
fn the_undo_of_a_return_takes_what_the_present_made_since_beside_what_stayed() {
    let sandbox = Sandbox::new();
    sh(&sandbox, "mkfifo i");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "edited\n");
    sandbox.json(["travel", &id]);
    sh(&sandbox, "rm i; mkdir i; echo then >i/past");
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("i/past"), "then\n");
    std::thread::sleep(std::time::Duration::from_millis(20));
    sandbox.write("i/new", "since\n");
    sandbox.json(["undo", "--into-past"]);
    assert_eq!(sandbox.text("i/past"), "then\n");
    assert!(!sandbox.exists("i/new"));
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("i/new"), "since\n");
    assert_eq!(sandbox.text("i/past"), "then\n");
}

/// It has the name of what is usually left out, and was captured.
#[test]
fn what_goes_into_the_experiment_is_not_said_to_stay() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.json(["travel", &id]);
    sandbox.write("vendor/x", "in the past\n");
    for args in [&["return", "--dry-run"][..], &["return"]] {
        let returned = sandbox.json(args);
        assert_eq!(returned["stayed"], serde_json::json!([]), "{returned}");
    }
    assert!(!sandbox.exists("vendor"));
    sandbox.write("vendor/lib", "of the present\n");
    sandbox.json(["undo", "--into-past"]);
    assert_eq!(sandbox.text("vendor/x"), "in the past\n");
    assert!(!sandbox.exists("vendor/lib"));
}
