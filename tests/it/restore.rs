//! `tw restore`: files of a snapshot in the working tree, with mode, HEAD and index as they are.

mod fresh;
mod lines;
mod parts;
mod staged;

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::trip::{commit, everything, identity, list, mode, snapshot, state_json, stored};

/// A snapshot of several files, and a present that differs from it.
fn changed() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("dir/one.txt", "then\n");
    sandbox.write("dir/two.txt", "then\n");
    sandbox.write("run.sh", "then\n");
    sandbox.chmod("run.sh", 0o755);
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("dir/one.txt", "now\n");
    sandbox.remove("dir/two.txt");
    sandbox.write("dir/new.txt", "now\n");
    sandbox.write("new.txt", "now\n");
    sandbox.chmod("run.sh", 0o644);
    (sandbox, id)
}

#[test]
fn an_empty_word_is_no_path() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot"]);
    sandbox.write("a.txt", "changed\n");
    let (error, code) = sandbox.json_error(["restore", "latest", ""]);
    assert_eq!((&error["code"], code), (&"USAGE".into(), 2), "{error}");
    assert_eq!(sandbox.text("a.txt"), "changed\n");
}

#[test]
fn restore_makes_the_whole_tree_as_the_snapshot_has_it() {
    let (sandbox, id) = changed();
    let answer = sandbox.json(["restore", &id]);
    assert_eq!(answer["snapshot_id"], *id);
    assert_eq!(answer["dry_run"], false);
    assert_eq!(
        list(&answer["changes"]["written"]),
        ["a.txt", "dir/one.txt", "dir/two.txt", "run.sh"]
    );
    assert_eq!(
        list(&answer["changes"]["removed"]),
        ["dir/new.txt", "new.txt"]
    );
    assert_eq!(sandbox.text("a.txt"), "one\n");
    assert_eq!(sandbox.text("dir/two.txt"), "then\n");
    assert_eq!(mode(&sandbox, "run.sh"), 0o755);
    let backup = answer["backup_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, backup, "new.txt"), "now\n");
}

#[test]
fn head_index_and_mode_stay() {
    let (sandbox, id) = changed();
    let index = sandbox.git(["ls-files", "-s"]);
    let reflog = sandbox.git(["reflog"]);
    sandbox.json(["restore", &id]);
    assert_eq!(sandbox.git(["ls-files", "-s"]), index);
    assert_eq!(sandbox.git(["reflog"]), reflog);
    assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
    assert_eq!(state_json(&sandbox)["mode"], "present");
    let (error, _) = sandbox.json_error(["return"]);
    assert_eq!(error["code"], "NOT_IN_PAST");
}

#[test]
fn only_named_paths_and_what_lies_beneath_are_touched() {
    let (sandbox, id) = changed();
    let others = ["a.txt", "new.txt", "run.sh"].map(|path| identity(&sandbox, path));
    let answer = sandbox.json(["restore", &id, "dir"]);
    assert_eq!(
        list(&answer["changes"]["written"]),
        ["dir/one.txt", "dir/two.txt"]
    );
    assert_eq!(list(&answer["changes"]["removed"]), ["dir/new.txt"]);
    assert_eq!(
        others,
        ["a.txt", "new.txt", "run.sh"].map(|path| identity(&sandbox, path))
    );
    let answer = sandbox.json(["restore", &id, "run.sh", "new.txt"]);
    assert_eq!(list(&answer["changes"]["written"]), ["run.sh"]);
    assert_eq!(list(&answer["changes"]["removed"]), ["new.txt"]);
    assert_eq!(sandbox.text("a.txt"), "now\n");
}

#[test]
fn paths_are_relative_to_the_start_directory() {
    let (sandbox, id) = changed();
    let ran = sandbox.tw_in(
        sandbox.path("dir"),
        ["restore", &id, "one.txt", "../run.sh"],
    );
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert_eq!(sandbox.text("dir/one.txt"), "then\n");
    assert_eq!(mode(&sandbox, "run.sh"), 0o755);
    assert_eq!(sandbox.text("a.txt"), "now\n");
    let ran = sandbox.tw_in(sandbox.path("dir"), ["restore", &id, "."]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert!(!sandbox.exists("dir/new.txt"));
    assert!(sandbox.exists("new.txt"));
}

#[test]
fn paths_outside_of_the_working_tree_are_refused() {
    let (sandbox, id) = changed();
    let before = sandbox.state();
    for path in ["../other", "/etc/passwd", ".git/config", ".git"] {
        let ran = sandbox.tw(["restore", &id, path]);
        assert_ne!(ran.code, 0, "{path}: {}", ran.out());
    }
    before.assert_same(&sandbox.state());
}

#[test]
fn a_path_that_neither_side_has_is_an_error() {
    let (sandbox, id) = changed();
    let before = sandbox.state();
    let (error, code) = sandbox.json_error(["restore", &id, "dir", "nowhere"]);
    assert_eq!((error["code"].as_str(), code), (Some("PATH_NOT_FOUND"), 3));
    assert!(error["message"].as_str().unwrap().contains("nowhere"));
    before.assert_same(&sandbox.state());
}

#[test]
fn what_a_snapshot_has_not_as_a_file_is_told_as_what_it_knows_of_it() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "timewarp.maxFileSize", "1000"]);
    sandbox.write("dir/big", [0; 5000]);
    sandbox.write("dir/st aged", "precious\n");
    sandbox.git(["add", "dir/st aged"]);
    sandbox.remove("dir/st aged");
    let id = snapshot(&sandbox);
    sandbox.remove("dir/big");
    sandbox.git(["rm", "-q", "--cached", "dir/st aged"]);
    sandbox.mkdir("dir");
    let told = |word: &str| {
        let ran = sandbox.tw_in(sandbox.path("dir"), ["restore", &id, word]);
        assert_eq!(ran.code, 3, "{}", ran.err());
        ran.err()
    };
    assert_eq!(
        told("big"),
        format!(
            "error: 'dir/big' was not captured in '{id}': larger-than-limit\nhint: 'tw show {id}' lists what was not captured\n"
        )
    );
    let stages = format!("tw restore {id} --staged \"st aged\"");
    assert_eq!(
        told("st aged"),
        format!(
            "error: 'dir/st aged' is no file of '{id}', and was in git's index alone\nhint: '{stages}' stages it again\n"
        )
    );
    let found = sandbox.tw(["find", "dir/st aged"]);
    let hint = "hint: one that was only staged: 'tw restore SNAPSHOT --staged PATH'\n";
    assert!(found.err().ends_with(hint), "{}", found.err());
    sandbox.ok(["restore", &id, "--staged", "dir/st aged"]);
    assert_eq!(sandbox.git(["show", ":dir/st aged"]), "precious\n");
}

#[test]
fn ignored_files_stay_and_one_in_the_way_is_backed_up() {
    let sandbox = Sandbox::new();
    sandbox.write("x.local", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write(".gitignore", "*.local\n");
    sandbox.write("x.local", "now, ignored\n");
    sandbox.write("y.local", "now, ignored\n");
    let answer = sandbox.json(["restore", &id, "x.local"]);
    assert_eq!(sandbox.text("x.local"), "then\n");
    assert_eq!(sandbox.text("y.local"), "now, ignored\n");
    let backup = answer["backup_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, backup, "x.local"), "now, ignored\n");
    sandbox.json(["undo"]);
    assert_eq!(sandbox.text("x.local"), "now, ignored\n");
}

#[test]
fn a_nested_repository_in_the_way_refuses_and_names_the_way_out() {
    let sandbox = Sandbox::new();
    sandbox.write("lib", "a file then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("lib");
    sandbox.git(["init", "-q", "lib"]);
    sandbox.write("a.txt", "now\n");
    let before = sandbox.state();
    let (error, code) = sandbox.json_error(["restore", &id]);
    assert_eq!((error["code"].as_str(), code), (Some("WOULD_OVERWRITE"), 5));
    assert_eq!(list(&error["paths"]), ["lib"]);
    before.assert_same(&sandbox.state());
    sandbox.json(["restore", &id, "a.txt"]);
    assert_eq!(sandbox.text("a.txt"), "one\n");
}

#[test]
fn a_named_path_that_no_snapshot_keeps_is_told_of_and_stays() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "-q", "lib"]);
    sandbox.write("lib/inner.txt", "the other repository's\n");
    sandbox.write(".gitignore", "*.log\n");
    sandbox.write("run.log", "ignored\n");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    let lib = sandbox.repo().join("lib");
    let elsewhere = format!(
        "belongs to another repository, whose snapshots 'tw -C {} list' names",
        lib.display()
    );
    for (path, why) in [
        ("lib/inner.txt", elsewhere.as_str()),
        ("lib", &elsewhere),
        (
            "run.log",
            &format!("is not in {id}, and snapshots leave it out"),
        ),
    ] {
        let told = format!("'{path}' stays as it is: it {why}");
        for dry_run in [true, false] {
            let only = if dry_run { vec!["--dry-run"] } else { vec![] };
            let answer = sandbox.json([vec!["restore", &id, path, "a.txt"], only].concat());
            assert_eq!(list(&answer["notices"]), [told.as_str()], "{path}");
            assert_eq!(list(&answer["changes"]["written"]), ["a.txt"], "{path}");
        }
        sandbox.json(["undo"]);
    }
    // What is in the snapshot, or goes, is no such path.
    sandbox.write("new.txt", "made since\n");
    let answer = sandbox.json(["restore", &id, "new.txt"]);
    assert_eq!(list(&answer["notices"]), [""; 0]);
    assert_eq!(list(&answer["changes"]["removed"]), ["new.txt"]);
}

#[test]
fn a_dry_run_lists_and_writes_nothing() {
    let (sandbox, id) = changed();
    let before = everything(&sandbox.repo());
    let answer = sandbox.json(["restore", &id, "--dry-run", "dir"]);
    assert_eq!(answer["dry_run"], true);
    assert_eq!(answer["backup_id"], Value::Null);
    assert_eq!(
        list(&answer["changes"]["written"]),
        ["dir/one.txt", "dir/two.txt"]
    );
    assert_eq!(before, everything(&sandbox.repo()));
}

#[test]
fn what_is_as_the_snapshot_has_it_is_not_touched() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    let before = identity(&sandbox, "a.txt");
    let answer = sandbox.json(["restore", &id]);
    assert_eq!(list(&answer["changes"]["written"]), Vec::<String>::new());
    assert_eq!(identity(&sandbox, "a.txt"), before);
}

#[test]
fn a_restore_in_the_past_does_not_change_the_way_home() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "first\n");
    let first = snapshot(&sandbox);
    sandbox.write("b.txt", "second\n");
    let second = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    sandbox.write("c.txt", "now\n");
    sandbox.assert_round_trip(&first, |sandbox| {
        sandbox.json(["restore", &second, "b.txt"]);
        assert_eq!(sandbox.text("b.txt"), "second\n");
        let state = state_json(sandbox);
        assert_eq!(state["mode"], "past");
        assert_eq!(state["current_snapshot_id"], *first);
    });
}

#[test]
fn a_restore_in_the_past_goes_into_the_experiment() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "first\n");
    let first = snapshot(&sandbox);
    sandbox.write("new.txt", "second\n");
    let second = snapshot(&sandbox);
    sandbox.remove("new.txt");
    sandbox.json(["travel", &first]);
    sandbox.json(["restore", &second]);
    let returned = sandbox.json(["return"]);
    let experiment = returned["experiment_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, experiment, "new.txt"), "second\n");
    assert!(!sandbox.exists("new.txt"));
}

#[test]
fn an_operation_under_way_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("a.txt", "other\n");
    commit(&sandbox, "other");
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("a.txt", "main\n");
    commit(&sandbox, "main");
    let id = snapshot(&sandbox);
    assert_eq!(sandbox.try_git(["merge", "other"]).code, 1);
    let stages = sandbox.git(["ls-files", "-u"]);
    sandbox.json(["restore", &id]);
    assert_eq!(sandbox.text("a.txt"), "main\n");
    assert_eq!(sandbox.git(["ls-files", "-u"]), stages);
    assert!(sandbox.exists(".git/MERGE_HEAD"));
    sandbox.json(["undo"]);
    assert!(sandbox.text("a.txt").contains("<<<<<<<"));
}

#[test]
fn a_symlinked_directory_on_the_way_is_never_followed() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/x", "then\n");
    let id = snapshot(&sandbox);
    let outside = sandbox.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    sandbox.remove("dir");
    sandbox.symlink(&outside, "dir");
    sandbox.json(["restore", &id]);
    assert_eq!(sandbox.text("dir/x"), "then\n");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    sandbox.json(["undo"]);
    assert!(sandbox.path("dir").symlink_metadata().unwrap().is_symlink());
}

#[test]
fn a_restore_of_what_is_there_saves_nothing_and_is_no_step_for_undo() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    let before = sandbox.git(["for-each-ref"]);
    for paths in [&[][..], &["a.txt"]] {
        let answer = sandbox.json(["restore", &id].iter().chain(paths));
        assert_eq!(answer["backup_id"], Value::Null);
        assert_eq!(answer["changes"]["written"], serde_json::json!([]));
    }
    assert_eq!(sandbox.git(["for-each-ref"]), before);
    let (error, code) = sandbox.json_error(["undo"]);
    let nothing = (Some("NOTHING_TO_UNDO"), 4);
    assert_eq!((error["code"].as_str(), code), nothing);

    // Permission bits are a difference like any other.
    sandbox.chmod("a.txt", 0o600);
    assert!(sandbox.json(["restore", &id])["backup_id"].is_string());
}

// --- pathspecs ---

/// The words, and from which directory.
const PATHSPECS: [(&str, &[&str]); 14] = [
    ("", &["*.txt"]),
    ("", &["dir/*.txt"]),
    ("", &[":(glob)*.txt"]),
    ("", &[":(glob)**/one.txt"]),
    ("", &[":(icase)DIR/ONE.TXT"]),
    ("", &[":(literal)[ab].txt"]),
    ("", &["[ab].txt"]),
    ("", &[":!dir"]),
    ("", &["dir", ":!dir/sub", ":(exclude,glob)dir/*o.txt"]),
    ("", &["*.md", "dir/sub"]),
    ("dir", &["*.txt"]),
    ("dir", &[":/*.md"]),
    ("dir", &[":(top)a.txt", "sub/"]),
    ("dir/sub", &["../*.txt"]),
];

#[test]
fn pathspecs_mean_what_git_has_them_mean() {
    let files = [
        "a.txt",
        "b.txt",
        "[ab].txt",
        "notes.md",
        "dir/one.txt",
        "dir/two.txt",
        "dir/odd.md",
        "dir/sub/one.txt",
        "dir/sub/deep/b.txt",
    ];
    let sandbox = Sandbox::new();
    for file in files {
        sandbox.write(file, "then\n");
    }
    sandbox.write("dir/gone.txt", "then\n");
    let id = snapshot(&sandbox);
    for (dir, words) in PATHSPECS {
        // One is gone, one came, all others differ; half of them are staged.
        for (at, file) in files.iter().chain(&["new.txt", "dir/new.md"]).enumerate() {
            sandbox.write(file, "now\n");
            if at % 2 == 0 {
                sandbox.git(["add", &format!(":(literal){file}")]);
            }
        }
        sandbox.remove("dir/gone.txt");
        let here = sandbox.path(dir);
        let listed = sandbox.git_in(
            &here,
            [
                &[
                    "ls-files",
                    "-z",
                    "--full-name",
                    "--cached",
                    "--others",
                    "--",
                ],
                words,
            ]
            .concat(),
        );
        let taken: std::collections::BTreeSet<&str> = listed.split_terminator('\0').collect();
        let ran = sandbox.tw_in(&here, [&["restore", &id, "--"], words].concat());
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.err());
        for file in files {
            let expected = if taken.contains(file) {
                "then\n"
            } else {
                "now\n"
            };
            assert_eq!(sandbox.text(file), expected, "{words:?}: {file}");
        }
        for file in ["new.txt", "dir/new.md"] {
            assert_eq!(
                sandbox.exists(file),
                !taken.contains(file),
                "{words:?}: {file}"
            );
        }
        sandbox.ok(["undo"]);
        for file in files.iter().chain(&["new.txt", "dir/new.md"]) {
            assert_eq!(sandbox.text(file), "now\n", "{words:?}: {file}");
        }
        assert!(!sandbox.exists("dir/gone.txt"));
        sandbox.ok(["restore", &id]);
    }
}

#[test]
fn a_pattern_that_takes_nothing_is_an_error_that_names_it() {
    let (sandbox, id) = changed();
    let before = sandbox.state();
    for word in ["*.none", ":(glob)*.none", ":(icase)NOTHING"] {
        let (error, code) = sandbox.json_error(["restore", &id, "dir", word]);
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("PATH_NOT_FOUND"), 3),
            "{word}"
        );
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
    before.assert_same(&sandbox.state());
    // What the snapshot lacks and the present has is something: it goes.
    sandbox.ok(["restore", &id, "n*.txt"]);
    assert!(!sandbox.exists("new.txt") && sandbox.exists("dir/new.txt"));
}

#[test]
fn all_but_one_leaves_that_one_alone_and_what_is_around_the_files() {
    let (sandbox, id) = changed();
    sandbox.mkdir("empty");
    let index = sandbox.git(["ls-files", "-s"]);
    sandbox.ok(["restore", &id, "--", ":!dir"]);
    assert_eq!(
        (sandbox.text("a.txt"), sandbox.exists("new.txt")),
        ("one\n".to_owned(), false)
    );
    assert_eq!(sandbox.text("dir/one.txt"), "now\n");
    assert!(sandbox.exists("dir/new.txt") && sandbox.exists("empty"));
    assert_eq!(sandbox.git(["ls-files", "-s"]), index);
}

#[test]
fn a_named_directory_and_those_in_it_get_their_bits_and_others_keep_theirs() {
    let sandbox = Sandbox::new();
    for dir in ["dir", "dir/sub", "other"] {
        sandbox.write(format!("{dir}/file"), "one\n");
        sandbox.chmod(dir, 0o750);
    }
    let id = snapshot(&sandbox);
    for dir in ["dir", "dir/sub", "other"] {
        sandbox.chmod(dir, 0o700);
    }
    let before = sandbox.state();
    sandbox.json(["restore", &id, "dir/file"]);
    before.assert_same(&sandbox.state());
    let answer = sandbox.json(["restore", &id, "dir"]);
    assert!(answer["backup_id"].is_string(), "{answer}");
    let bits = ["dir", "dir/sub", "other"].map(|dir| mode(&sandbox, dir));
    assert_eq!(bits, [0o750, 0o750, 0o700]);
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
}
