//! Names that git takes on this system and that no snapshot has, since another system reads them as `.git`: in HEAD, in the index, on disk.

use std::path::Path;

use serde_json::Value;

use crate::access::{USER, give_all, json_as, may_act_for_others, somebodys};
use crate::sandbox::Sandbox;
use crate::trip::{commit_of, list, snapshot};

/// A file, a file in such a directory, and one in a directory beneath another.
fn names() -> Vec<&'static str> {
    let mut names = vec!["git~1", "sub/git~1/deep/x"];
    // There git takes none that HFS+ reads so.
    if cfg!(not(target_os = "macos")) {
        names.push(".gi\u{200c}t/x");
    }
    names
}

/// The file or directory of a path that is unsafe: all that is in it is left alone with it.
fn left_alone(path: &str) -> &str {
    ["sub/git~1", ".gi\u{200c}t", "git~1"]
        .into_iter()
        .find(|name| path.starts_with(name))
        .unwrap()
}

/// git as somebody configured it who needs such names.
fn git(sandbox: &Sandbox, args: &[&str]) -> String {
    let protect = [
        "-c",
        "core.protectNTFS=false",
        "-c",
        "core.protectHFS=false",
    ];
    sandbox.git([&protect, args].concat())
}

fn add(sandbox: &Sandbox, path: &str, text: &str) {
    sandbox.write(path, text);
    git(sandbox, &["add", "-f", path]);
}

fn commit(sandbox: &Sandbox, path: &str, text: &str) {
    add(sandbox, path, text);
    git(sandbox, &["commit", "-q", "-m", text]);
}

type Make = fn(&Sandbox, &str);

/// Where such a name may be.
const PLACES: [(&str, Make); 11] = [
    ("on disk only", |sandbox, path| sandbox.write(path, "disk")),
    ("committed", |sandbox, path| commit(sandbox, path, "c")),
    ("staged", |sandbox, path| add(sandbox, path, "s")),
    ("in the index only", |sandbox, path| {
        add(sandbox, path, "s");
        sandbox.remove(path);
    }),
    ("in HEAD only", |sandbox, path| {
        commit(sandbox, path, "c");
        sandbox.git(["rm", "-q", "--cached", path]);
        sandbox.remove(path);
    }),
    ("in all three, each with other bytes", |sandbox, path| {
        commit(sandbox, path, "c");
        add(sandbox, path, "staged");
        sandbox.write(path, "and edited");
    }),
    ("announced", |sandbox, path| {
        sandbox.write(path, "n");
        git(sandbox, &["add", "-N", "-f", path]);
    }),
    ("sparse", |sandbox, path| {
        commit(sandbox, path, "c");
        sandbox.git(["update-index", "--skip-worktree", path]);
        sandbox.remove(path);
    }),
    ("assumed unchanged", |sandbox, path| {
        commit(sandbox, path, "c");
        sandbox.git(["update-index", "--assume-unchanged", path]);
        sandbox.write(path, "edited");
    }),
    ("a symlink", |sandbox, path| {
        sandbox.symlink("a.txt", path);
        git(sandbox, &["add", "-f", path]);
    }),
    ("in conflict", |sandbox, path| {
        commit(sandbox, path, "c");
        sandbox.git(["config", "core.protectNTFS", "false"]);
        sandbox.git(["config", "core.protectHFS", "false"]);
        sandbox.git(["checkout", "-q", "-b", "other"]);
        commit(sandbox, path, "theirs");
        sandbox.git(["checkout", "-q", "main"]);
        commit(sandbox, path, "ours");
        assert_ne!(sandbox.try_git(["merge", "other"]).code, 0);
        // As long as it is under way, its tree has the name as well.
        assert_eq!(sandbox.git(["ls-files", "-u"]).lines().count(), 3);
    }),
];

/// What git's strictest look finds wrong: with the trees of the user's own commits, for which such a name is a fault.
fn faults(sandbox: &Sandbox) -> Vec<String> {
    let (_, said) = sandbox.strictest_look();
    let mut lines: Vec<String> = said.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// No tree of ours has one.
fn assert_no_tree_has(sandbox: &Sandbox, id: &str) {
    let commit = commit_of(sandbox, id);
    for tree in [commit.clone(), format!("{commit}^2")] {
        let listed = sandbox.git(["ls-tree", "-r", "-t", "-z", "--name-only", &tree]);
        for name in ["git~1", "\u{200c}"] {
            assert!(!listed.contains(name), "{tree}: {listed}");
        }
    }
}

#[test]
fn a_name_that_only_git_takes_stops_no_snapshot_and_no_trip() {
    // Each place with one of the names: all of them with all would take minutes.
    for (path, (place, make)) in names().into_iter().cycle().zip(PLACES) {
        let what = format!("{path} {place}");
        let sandbox = Sandbox::new();
        sandbox.write("sub/s.txt", "s\n");
        let past = snapshot(&sandbox);
        sandbox.write("a.txt", "two\n");
        make(&sandbox, path);
        let (home, faults_before) = (sandbox.state(), faults(&sandbox));
        let taken = sandbox.json(["snapshot"]);
        let uncaptured = &taken["snapshot"]["uncaptured"];
        let is_there = sandbox.path(left_alone(path)).symlink_metadata().is_ok();
        let expected = if is_there {
            serde_json::json!([{"path": left_alone(path), "reason": "unsafe-name"}])
        } else {
            serde_json::json!([])
        };
        let listed: Vec<Value> = uncaptured
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| serde_json::json!({"path": one["path"], "reason": one["reason"]}))
            .collect();
        assert_eq!(Value::from(listed), expected, "{what}");
        let own = taken["snapshot"]["snapshot_id"].as_str().unwrap();
        assert_no_tree_has(&sandbox, own);

        sandbox.json(["show", own]);
        sandbox.json(["diff", &past, own]);
        sandbox.json(["diff", &past]);
        sandbox.json(["status"]);
        sandbox.json(["log"]);
        sandbox.json(["blame", "a.txt"]);
        assert_eq!(sandbox.json(["doctor"])["ok"], true, "{what}");

        // Nothing is told of it, for its entry comes and goes while the file stays.
        for target in [past.as_str(), own] {
            sandbox.json(["travel", target]);
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["verified"], true, "{what}");
            assert_eq!(returned["experiment_id"], Value::Null, "{what}");
            home.assert_same(&sandbox.state());
        }
        sandbox.json(["travel", &past]);
        sandbox.json(["travel", "--hop", own]);
        sandbox.write("new.txt", "new\n");
        sandbox.json(["return"]);
        home.assert_same(&sandbox.state());
        sandbox.json(["undo", "--into-past"]);
        assert!(sandbox.exists("new.txt"), "{what}");
        sandbox.json(["return"]);
        home.assert_same(&sandbox.state());

        sandbox.json(["restore", &past]);
        sandbox.json(["undo", "-y"]);
        home.assert_same(&sandbox.state());
        sandbox.json(["prune"]);
        assert_eq!(faults(&sandbox), faults_before, "{what}");
    }
}

#[test]
fn a_name_that_only_git_takes_may_be_staged_or_committed_in_the_past() {
    for path in names() {
        for is_committed in [false, true] {
            let what = format!("{path} {is_committed}");
            let sandbox = Sandbox::new();
            sandbox.write("sub/s.txt", "s\n");
            let past = snapshot(&sandbox);
            sandbox.write("a.txt", "two\n");
            let home = sandbox.state();
            sandbox.json(["travel", &past]);
            add(&sandbox, path, "made in the past");
            if is_committed {
                git(&sandbox, &["commit", "-q", "-m", "past"]);
            }
            let staged = sandbox.git(["ls-files", "--stage", "-z"]);
            let (head, faults_before) = (sandbox.head(), faults(&sandbox));
            snapshot(&sandbox);
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["verified"], true, "{what}");
            assert_eq!(list(&returned["stayed"]), [left_alone(path)], "{what}");
            let experiment = returned["experiment_id"].as_str().expect("a change");
            assert_no_tree_has(&sandbox, experiment);
            assert_eq!(sandbox.text(path), "made in the past", "{what}");

            // What was staged is in the experiment, and git's gc takes nothing of it.
            sandbox.git(["gc", "-q", "--prune=now"]);
            sandbox.json(["undo", "--into-past"]);
            assert_eq!(sandbox.git(["ls-files", "--stage", "-z"]), staged, "{what}");
            assert_eq!(sandbox.head(), head, "{what}");
            let entry = format!(":{path}");
            assert_eq!(sandbox.git(["show", &entry]), "made in the past", "{what}");
            sandbox.json(["return"]);
            sandbox.remove(left_alone(path));
            home.assert_same(&sandbox.state());
            assert_eq!(faults(&sandbox), faults_before, "{what}");
        }
    }
}

#[test]
fn a_file_of_a_name_that_only_git_takes_is_left_alone_in_the_past() {
    for path in names() {
        let sandbox = Sandbox::new();
        sandbox.write("sub/s.txt", "s\n");
        let past = snapshot(&sandbox);
        commit(&sandbox, path, "c");
        let home = sandbox.state();
        let changes: [Make; 4] = [
            |sandbox, path| sandbox.remove(path),
            |sandbox, path| sandbox.write(path, "other"),
            |sandbox, path| add(sandbox, path, "other"),
            |sandbox, path| {
                sandbox.remove(left_alone(path));
                sandbox.mkdir(Path::new(left_alone(path)).join("dir"));
            },
        ];
        for change in changes {
            sandbox.json(["travel", &past]);
            assert_eq!(sandbox.text(path), "c", "{path}");
            change(&sandbox, path);
            let left = std::fs::read(sandbox.path(path)).ok();
            assert_eq!(sandbox.json(["return"])["verified"], true, "{path}");
            // Neither written nor removed.
            assert_eq!(std::fs::read(sandbox.path(path)).ok(), left, "{path}");
            if sandbox.exists(left_alone(path)) {
                sandbox.remove(left_alone(path));
            }
            sandbox.write(path, "c");
            home.assert_same(&sandbox.state());
        }
    }
}

#[test]
fn an_entry_of_a_name_that_only_git_takes_is_put_back_and_opened() {
    for path in names() {
        let sandbox = Sandbox::new();
        add(&sandbox, path, "staged");
        let then = snapshot(&sandbox);
        let staged = sandbox.git(["ls-files", "--stage", "-z"]);
        let opened = sandbox.json(["open", &then]);
        let dir = opened["dir"].as_str().unwrap().to_owned();
        let there = sandbox.git_in(&dir, ["ls-files", "--stage", "-z"]);
        assert_eq!(there, staged, "{path}");
        sandbox.json(["close", &dir]);

        git(&sandbox, &["rm", "-q", "--cached", path]);
        let home = sandbox.state();
        // Another index is another snapshot.
        assert_ne!(snapshot(&sandbox), then, "{path}");
        sandbox.json(["restore", "--staged", &then, path]);
        assert_eq!(sandbox.git(["ls-files", "--stage", "-z"]), staged, "{path}");
        sandbox.json(["undo", "-y"]);
        home.assert_same(&sandbox.state());
        sandbox.json(["redo", "-y"]);
        assert_eq!(sandbox.git(["ls-files", "--stage", "-z"]), staged, "{path}");
    }
}

#[test]
fn a_name_that_only_git_takes_is_no_hindrance_to_an_ordinary_user() {
    if !may_act_for_others() {
        return;
    }
    for path in names() {
        let sandbox = somebodys();
        let as_user = |args: &[&str]| json_as(&sandbox, USER, args);
        let past = as_user(&["snapshot"])["snapshot"]["snapshot_id"].clone();
        let past = past.as_str().unwrap();
        commit(&sandbox, path, "c");
        add(&sandbox, path, "staged");
        give_all(&sandbox.root(), USER, USER);
        let home = sandbox.state();
        as_user(&["travel", past]);
        add(&sandbox, path, "staged in the past");
        sandbox.write(path, "staged");
        give_all(&sandbox.root(), USER, USER);
        assert_eq!(as_user(&["return"])["verified"], true, "{path}");
        home.assert_same(&sandbox.state());
    }
}
