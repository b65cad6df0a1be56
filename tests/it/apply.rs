//! `tw issue apply`: a run's changes put onto a present that has moved on.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const LONG: &str = "1\n2\n3\n4\n5\n6\n7\n8\n";
const ALL: [(&str, &str); 6] = [
    ("long.txt", LONG),
    ("same.txt", "same\n"),
    ("old/name.txt", "a\nb\nc\nd\n"),
    ("gone.txt", "going\n"),
    ("tool.sh", "#!/bin/sh\n"),
    ("bin.dat", "\0one"),
];

/// A repository with an issue on a snapshot of [`ALL`], one run of which did `in_the_past`; back in the present.
fn tried(in_the_past: impl FnOnce(&Sandbox)) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    for (path, text) in ALL {
        sandbox.write(path, text);
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "all"]);
    sandbox.json(["session", "start"]);
    let id = tried_in(&sandbox, || in_the_past(&sandbox));
    (sandbox, id)
}

/// The issue on what is there now, one run of which did `in_the_past`; back in the present.
fn tried_in(sandbox: &Sandbox, in_the_past: impl FnOnce()) -> String {
    let reported = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "s",
        "--success-criteria",
        "c",
    ]);
    let id = reported["issue_id"].as_str().unwrap().to_owned();
    sandbox.json(["issue", "start", &id]);
    in_the_past();
    sandbox.json(["return"]);
    id
}

/// Applies with conflicts: exit status 1 and an answer all the same.
fn apply_to_conflicts(sandbox: &Sandbox, id: &str) -> Value {
    let ran = sandbox.tw(["--json", "issue", "apply", id]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((ran.code, &document["ok"]), (1, &json!(true)), "{document}");
    crate::schema::check("issue-apply", &document);
    document
}

fn undo(sandbox: &Sandbox, before: &crate::state::State) {
    let undone = sandbox.json(["undo"]);
    assert_eq!(undone["operation"], "apply");
    before.assert_same(&sandbox.state());
}

#[test]
fn a_run_comes_onto_a_present_that_moved_on() {
    let (sandbox, id) = tried(|sandbox| {
        sandbox.write("long.txt", LONG.replace('8', "eight"));
        sandbox.git(["mv", "old/name.txt", "new-name.txt"]);
        sandbox.remove("gone.txt");
        sandbox.chmod("tool.sh", 0o755);
        sandbox.write("bin.dat", "\0two");
        sandbox.symlink("long.txt", "link");
        sandbox.write("fresh/new.txt", "new\n");
    });
    sandbox.write("long.txt", LONG.replace('1', "one"));
    sandbox.write("old/name.txt", "a\nb\nc\nD\n");
    sandbox.write("same.txt", "mine\n");
    sandbox.git(["add", "same.txt"]);
    let before = sandbox.state();
    let planned = sandbox.json(["issue", "apply", &id, "--dry-run"]);
    before.assert_same(&sandbox.state());
    let applied = sandbox.json(["issue", "apply", &id]);
    assert_eq!(applied["changes"], planned["changes"]);
    assert_eq!(
        applied["changes"],
        json!({
            "written": ["bin.dat", "fresh/new.txt", "link", "long.txt", "new-name.txt", "tool.sh"],
            "removed": ["gone.txt", "old/name.txt"],
        })
    );
    assert_eq!(applied["merged"], json!(["long.txt"]));
    assert_eq!(applied["conflicts"], json!([]));
    assert_eq!(sandbox.text("long.txt"), "one\n2\n3\n4\n5\n6\n7\neight\n");
    assert_eq!(sandbox.text("new-name.txt"), "a\nb\nc\nD\n");
    assert_eq!(sandbox.read("bin.dat"), b"\0two");
    assert!(!sandbox.exists("gone.txt"));
    let mut old = std::fs::read_dir(sandbox.path("old")).unwrap();
    assert!(old.next().is_none(), "empty, as the run left it");
    assert_eq!(
        sandbox.git(["diff", "--cached", "--name-only"]),
        "same.txt\n",
        "the index stays"
    );
    let status = sandbox.git(["status", "--porcelain"]);
    for line in [
        "M  same.txt",
        " M tool.sh",
        " D gone.txt",
        "?? new-name.txt",
        "?? fresh/",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }
    sandbox.git(["gc", "-q", "--prune=now"]);
    undo(&sandbox, &before);
    let redone = sandbox.json(["redo"]);
    assert_eq!(redone["operation"], "apply");
    assert_eq!(sandbox.text("new-name.txt"), "a\nb\nc\nD\n");
    sandbox.git(["fsck", "--strict"]);
}

#[test]
fn applying_twice_changes_nothing_more() {
    let (sandbox, id) = tried(|sandbox| sandbox.write("same.txt", "fixed\n"));
    sandbox.json(["issue", "apply", &id]);
    let levels = || {
        std::fs::read_dir(sandbox.path(".git/timewarp/undo"))
            .unwrap()
            .count()
    };
    let (count, state) = (levels(), sandbox.state());
    let again = sandbox.json(["issue", "apply", &id]);
    assert_eq!(again["backup_id"], Value::Null);
    assert_eq!(again["changes"], json!({"written": [], "removed": []}));
    assert!(
        again["notices"].to_string().contains("nothing to apply"),
        "{again}"
    );
    state.assert_same(&sandbox.state());
    assert_eq!(levels(), count, "no level of its own");
}

#[test]
fn conflicts_are_markers_in_the_file_and_stages_in_the_index() {
    let (sandbox, id) = tried(|sandbox| {
        sandbox.write("same.txt", "theirs\n");
        sandbox.write("gone.txt", "changed\n");
        sandbox.remove("tool.sh");
        sandbox.write("bin.dat", "\0theirs");
        sandbox.write("untracked.txt", "theirs\n");
        sandbox.write("long.txt", LONG.replace('8', "eight"));
    });
    sandbox.write("same.txt", "ours\n");
    sandbox.git(["rm", "-q", "gone.txt"]);
    sandbox.write("tool.sh", "#!/bin/bash\n");
    sandbox.write("bin.dat", "\0ours");
    sandbox.write("untracked.txt", "ours\n");
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(["add", "staged.txt"]);
    let before = sandbox.state();
    let applied = apply_to_conflicts(&sandbox, &id);
    assert_eq!(
        applied["conflicts"],
        json!([
            {"path": "bin.dat", "reason": "binary"}, {"path": "gone.txt", "reason": "deleted-here"},
            {"path": "same.txt", "reason": "content"}, {"path": "tool.sh", "reason": "deleted-there"},
            {"path": "untracked.txt", "reason": "both-added"},
        ])
    );
    let experiment = applied["experiment_id"].as_str().unwrap();
    assert_eq!(
        sandbox.text("same.txt"),
        format!("<<<<<<< present\nours\n=======\ntheirs\n>>>>>>> {experiment}\n")
    );
    assert_eq!(sandbox.text("gone.txt"), "changed\n");
    assert_eq!(sandbox.text("tool.sh"), "#!/bin/bash\n");
    assert_eq!(sandbox.read("bin.dat"), b"\0ours");
    assert!(
        sandbox
            .text("untracked.txt")
            .starts_with("<<<<<<< present\nours\n")
    );
    let status = sandbox.git(["status", "--porcelain"]);
    for line in [
        "UU bin.dat",
        "DU gone.txt",
        "UU same.txt",
        "UD tool.sh",
        "?? untracked.txt",
        "A  staged.txt",
        " M long.txt",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }
    assert_eq!(sandbox.git(["show", ":1:same.txt"]), "same\n");
    assert_eq!(sandbox.git(["show", ":2:same.txt"]), "ours\n");
    assert_eq!(sandbox.git(["show", ":3:same.txt"]), "theirs\n");
    sandbox.git(["gc", "-q", "--prune=now"]);
    undo(&sandbox, &before);
    sandbox.json(["redo"]);
    assert!(
        sandbox
            .git(["status", "--porcelain"])
            .contains("UU same.txt")
    );
    assert!(sandbox.text("same.txt").contains("======="));
    sandbox.git(["fsck", "--strict"]);
}

#[test]
fn an_undo_after_a_commit_leaves_the_index_and_says_so() {
    let (sandbox, id) = tried(|sandbox| sandbox.write("same.txt", "theirs\n"));
    sandbox.write("same.txt", "ours\n");
    apply_to_conflicts(&sandbox, &id);
    sandbox.write("same.txt", "mended\n");
    sandbox.git(["add", "same.txt"]);
    sandbox.git(["commit", "-q", "-m", "mended"]);
    let undone = sandbox.json(["undo"]);
    assert_eq!(undone["head_stayed"], "head-moved");
    assert_eq!(sandbox.text("same.txt"), "ours\n");
    assert_eq!(sandbox.git(["show", ":same.txt"]), "mended\n");
}

#[test]
fn an_older_step_taken_back_alone_after_a_commit_leaves_the_index_and_says_so() {
    let (sandbox, id) = tried(|sandbox| sandbox.write("same.txt", "theirs\n"));
    sandbox.write("same.txt", "ours\n");
    apply_to_conflicts(&sandbox, &id);
    let marked = sandbox.text("same.txt");
    sandbox.git(["commit", "-qam", "with its marks"]);
    let later = crate::trip::snapshot(&sandbox);
    sandbox.write("later.txt", "later\n");
    sandbox.json(["restore", &later, "later.txt"]);
    let undone = sandbox.json(["undo", "2"]);
    assert_eq!(undone["head_stayed"], "head-moved", "{undone}");
    let told = "HEAD has moved since, so the index stayed as it is: 'same.txt'";
    assert!(undone["notices"].to_string().contains(told), "{undone}");
    assert_eq!(sandbox.text("same.txt"), "ours\n");
    assert_eq!(sandbox.git(["show", ":same.txt"]), marked);
}

#[test]
fn what_cannot_be_applied_is_refused_with_a_way_out() {
    let (sandbox, id) = tried(|sandbox| {
        sandbox.write("dir/inner.txt", "1\n");
    });
    sandbox.json(["issue", "verify", &id, "--", "true"]);
    for (args, code, exit) in [
        (vec!["zzzz"], "ISSUE_NOT_FOUND", 3),
        (vec!["ab"], "INVALID_ISSUE_ID", 3),
        (vec![&id[..], "--run", "9"], "USAGE", 2),
    ] {
        let (error, got) = sandbox.json_error([&["issue", "apply"], &args[..]].concat());
        assert_eq!(
            (error["code"].as_str(), got),
            (Some(code), exit),
            "{args:?}"
        );
        assert!(error["hint"].is_string(), "{error}");
    }
    sandbox.write("dir", "a file of the present\n");
    let before = sandbox.state();
    let (error, exit) = sandbox.json_error(["issue", "apply", &id]);
    assert_eq!((&error["code"], exit), (&json!("WOULD_OVERWRITE"), 5));
    assert_eq!(error["paths"], json!(["dir"]));
    before.assert_same(&sandbox.state());
    sandbox.json(["travel", "latest"]);
    let (error, exit) = sandbox.json_error(["issue", "apply", &id]);
    assert_eq!((&error["code"], exit), (&json!("ALREADY_IN_PAST"), 4));
    assert!(error["hint"].as_str().unwrap().contains("tw return"));
}

#[test]
fn a_check_without_a_visit_leaves_nothing_to_apply() {
    let sandbox = Sandbox::new();
    sandbox.json(["session", "start"]);
    let reported = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "s",
        "--success-criteria",
        "c",
    ]);
    let id = reported["issue_id"].as_str().unwrap();
    for run in [&[][..], &["--run", "1"]] {
        let (error, exit) = sandbox.json_error([&["issue", "apply", id], run].concat());
        assert_eq!((&error["code"], exit), (&json!("USAGE"), 2));
        sandbox.json(["issue", "verify", id, "--", "true"]);
    }
}

/// The blobs of a path's stages, as `git cat-file` has them; "" where there is none.
fn staged(sandbox: &Sandbox, path: &str) -> [Vec<u8>; 3] {
    [1, 2, 3].map(|stage| {
        let listed = sandbox.git(["ls-files", "--stage", path]);
        let has = listed
            .lines()
            .any(|line| line.contains(&format!(" {stage}\t")));
        let of = format!(":{stage}:{path}");
        if !has {
            return Vec::new();
        }
        sandbox.try_git(["cat-file", "blob", &of]).stdout
    })
}

#[test]
fn stages_have_what_git_would_store_of_each_side() {
    let utf16 = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    let sandbox = Sandbox::new();
    let attributes = "*.txt text eol=crlf\n*.u16 working-tree-encoding=UTF-16LE\n*.sec filter=x\n*.id ident\n*.off filter=off\n";
    sandbox.write(".gitattributes", attributes);
    for key in ["filter.x.clean", "filter.x.smudge"] {
        sandbox.git(["config", key, "touch ../ran; tr a-z n-za-m"]);
    }
    let write = |word: &str| {
        sandbox.write("f.txt", format!("{word}\r\ntwo\r\n"));
        sandbox.write("e.u16", utf16(&format!("{word}\n")));
        sandbox.write("k.sec", format!("secret {word}\n"));
        sandbox.write("v.id", format!("$Id: 0123 $ {word}\n"));
        sandbox.write("n.off", format!("{word}\n"));
    };
    write("base");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "all"]);
    sandbox.git(["config", "core.safecrlf", "true"]);
    let id = tried_in(&sandbox, || write("theirs"));
    write("ours");
    let _ = std::fs::remove_file(sandbox.path("../ran"));
    let applied = apply_to_conflicts(&sandbox, &id);
    assert!(!sandbox.exists("../ran"));
    let of = |line: &dyn Fn(&str) -> String| {
        ["base", "ours", "theirs"].map(|word| line(word).into_bytes())
    };
    assert_eq!(
        staged(&sandbox, "f.txt"),
        of(&|word| format!("{word}\ntwo\n"))
    );
    assert_eq!(staged(&sandbox, "e.u16"), of(&|word| format!("{word}\n")));
    assert_eq!(
        staged(&sandbox, "v.id"),
        of(&|word| format!("$Id$ {word}\n"))
    );
    assert_eq!(staged(&sandbox, "n.off"), of(&|word| format!("{word}\n")));
    // A filter is not run, and without it nobody knows what git would store.
    assert_eq!(
        staged(&sandbox, "k.sec"),
        [(); 3].map(|()| Vec::<u8>::new())
    );
    let said = applied["notices"].to_string();
    assert!(said.contains("k.sec") && said.contains("filter"), "{said}");
    assert!(sandbox.text("k.sec").contains("<<<<<<<"));
    sandbox.git(["checkout", "-q", "--theirs", "f.txt", "e.u16"]);
    assert_eq!(sandbox.text("f.txt"), "theirs\r\ntwo\r\n");
    assert_eq!(sandbox.read("e.u16"), utf16("theirs\n"));
}

#[test]
fn line_ends_that_git_leaves_stay_in_the_stages() {
    let sandbox = Sandbox::new();
    let write = |word: &str| sandbox.write("f.txt", format!("{word}\r\ntwo\r\n"));
    write("base");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "with CR LF"]);
    sandbox.git(["config", "core.autocrlf", "true"]);
    let id = tried_in(&sandbox, || write("theirs"));
    write("ours");
    apply_to_conflicts(&sandbox, &id);
    let all = ["base", "ours", "theirs"].map(|word| format!("{word}\r\ntwo\r\n").into_bytes());
    assert_eq!(staged(&sandbox, "f.txt"), all);
}

/// Where a changed file is gone, what is new is looked through for it. A submodule is no file.
#[test]
fn a_new_submodule_is_no_candidate_for_a_rename() {
    let (sandbox, id) = tried(|sandbox| {
        sandbox.write("long.txt", format!("{LONG}fix\n"));
        sandbox.write("same.txt", "fixed\n");
    });
    sandbox.remove("long.txt");
    sandbox.git(["init", "-q", "nest"]);
    sandbox.git(["-C", "nest", "commit", "-q", "--allow-empty", "-m", "n"]);
    sandbox.git(["add", "nest"]);
    let applied = apply_to_conflicts(&sandbox, &id);
    assert_eq!(applied["conflicts"][0]["path"], "long.txt", "{applied}");
    assert_eq!(sandbox.text("same.txt"), "fixed\n");
}

#[test]
fn an_ignored_file_in_the_way_is_merged_and_not_lost() {
    let (sandbox, id) = tried(|sandbox| sandbox.write("notes.txt", "theirs\n"));
    sandbox.write(".git/info/exclude", "notes.txt\n");
    sandbox.write("notes.txt", "ours\n");
    let before = sandbox.state();
    let applied = apply_to_conflicts(&sandbox, &id);
    assert_eq!(
        applied["conflicts"],
        json!([{"path": "notes.txt", "reason": "both-added"}])
    );
    assert!(
        sandbox
            .text("notes.txt")
            .contains("ours\n=======\ntheirs\n")
    );
    undo(&sandbox, &before);
    assert_eq!(sandbox.text("notes.txt"), "ours\n");
}

#[test]
fn a_kill_at_any_step_leaves_the_old_or_the_new() {
    for point in [
        "swap-backup",
        "swap-journal",
        "apply-exchanged:1",
        "swap-applied",
        "swap-index",
        "swap-state",
    ] {
        for direction in ["--back", "--forward"] {
            let (sandbox, id) = tried(|sandbox| {
                sandbox.write("same.txt", "theirs\n");
                sandbox.write("long.txt", LONG.replace('8', "eight"));
            });
            sandbox.write("same.txt", "ours\n");
            sandbox.write("long.txt", LONG.replace('1', "one"));
            let old = sandbox.state();
            let mut command = sandbox.tw_command();
            command
                .env("TW_FAIL_POINT", point)
                .args(["issue", "apply", &id]);
            assert_eq!(
                command.output().unwrap().status.code(),
                None,
                "{point}: not killed"
            );
            // What gc does, which itself waits for a lock on HEAD that a dead tw left.
            sandbox.git(["repack", "-q", "-a", "-d"]);
            sandbox.git(["prune", "--expire=now"]);
            let started = point != "swap-backup";
            let recovered = sandbox.json(["recover", "-y", direction]);
            assert!(recovered["ok"].as_bool().unwrap(), "{recovered}");
            let is_new = point == "swap-state" || (started && direction == "--forward");
            if is_new {
                assert!(
                    sandbox.text("same.txt").contains("======="),
                    "{point} {direction}"
                );
                assert!(
                    sandbox
                        .git(["status", "--porcelain"])
                        .contains("UU same.txt"),
                    "{point} {direction}"
                );
                assert_eq!(sandbox.text("long.txt"), "one\n2\n3\n4\n5\n6\n7\neight\n");
                sandbox.json(["undo"]);
            }
            old.assert_same(&sandbox.state());
        }
    }
}
