//! Directories of git itself inside the working tree, under names of their own.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::trip::{list, snapshot};

/// Puts the git directory at `path` in the working tree, with a `.git` file that leads there.
fn move_git_dir(sandbox: &Sandbox, path: &str) {
    fs::create_dir_all(sandbox.path(path).parent().unwrap()).unwrap();
    fs::rename(sandbox.path(".git"), sandbox.path(path)).unwrap();
    fs::write(sandbox.path(".git"), format!("gitdir: {path}\n")).unwrap();
}

/// Every path that the newest snapshot holds, and what it says was not captured.
fn captured(sandbox: &Sandbox) -> (Vec<String>, Vec<(String, String)>) {
    let taken = sandbox.json(["show", "latest"]);
    let commit = taken["snapshot"]["commit"].as_str().unwrap();
    let paths = sandbox.git(["ls-tree", "-r", "--name-only", commit]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let left = taken["snapshot"]["uncaptured"].as_array();
    let left = left.into_iter().flatten();
    (
        paths.lines().map(str::to_owned).collect(),
        left.map(|entry| (text(&entry["path"]), text(&entry["reason"])))
            .collect(),
    )
}

fn git_s(path: &str) -> (String, String) {
    (path.to_owned(), "git-directory".to_owned())
}

/// Commits made after a snapshot survive travel and return, and nothing is missing.
fn assert_later_commits_stay(sandbox: &Sandbox) {
    let id = snapshot(sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.git(["commit", "-qam", "second"]);
    let head = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.json(["travel", &id]);
    sandbox.write("new.txt", "made in the past\n");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    sandbox.ok(["restore", &id]);
    sandbox.ok(["undo"]);
    assert_eq!(sandbox.git(["rev-parse", "HEAD"]), head);
    assert_eq!(sandbox.text("a.txt"), "two\n");
    assert_eq!(sandbox.git(["fsck", "--strict"]), "");
    sandbox.git(["gc", "-q", "--prune=now"]);
    sandbox.json(["travel", &id]);
    assert_eq!(sandbox.json(["return"])["verified"], true);
}

#[test]
fn a_git_directory_under_another_name_is_never_captured() {
    for (path, link) in [
        (".real", false),
        ("deep/er/repository", false),
        (".real", true),
    ] {
        let sandbox = Sandbox::new();
        if link {
            fs::rename(sandbox.path(".git"), sandbox.path(path)).unwrap();
            sandbox.symlink(path, ".git");
        } else {
            move_git_dir(&sandbox, path);
        }
        snapshot(&sandbox);
        let (paths, left) = captured(&sandbox);
        assert_eq!(paths, ["a.txt"], "{path}");
        assert_eq!(left, [git_s(path)]);
        // Neither by a flag, nor because git tracks something of it.
        sandbox.ok(["snapshot", "--include", &format!("{path}/**")]);
        assert_eq!(captured(&sandbox).0, ["a.txt"], "{path}");
        sandbox.git(["update-index", "--add", &format!("{path}/config")]);
        snapshot(&sandbox);
        assert_eq!(captured(&sandbox).0, ["a.txt"], "{path}");
        sandbox.git(["update-index", "--force-remove", &format!("{path}/config")]);
        assert_later_commits_stay(&sandbox);
    }
}

#[test]
fn a_git_directory_named_by_core_worktree_is_never_captured() {
    // The git directory is found from inside, and its working tree is one that holds it.
    let sandbox = Sandbox::new();
    fs::rename(sandbox.path(".git"), sandbox.path("dot")).unwrap();
    let dot = sandbox.path("dot");
    sandbox.git_in(&dot, ["config", "core.worktree", ".."]);
    let ran = sandbox.tw_in(&dot, ["snapshot", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.out());
    let taken: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let commit = taken["snapshot"]["commit"].as_str().unwrap();
    let paths = sandbox.git_in(
        &dot,
        ["ls-tree", "-r", "--full-tree", "--name-only", commit],
    );
    assert_eq!(paths, "a.txt\n");
    // Where it is its own working tree there is nothing to keep apart.
    sandbox.git_in(&dot, ["config", "core.worktree", "."]);
    let ran = sandbox.tw_in(&dot, ["snapshot"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err().contains("its own working tree"), "{}", ran.err());
}

/// A bare clone of the sandbox's repository at `path`.
fn bare_clone(sandbox: &Sandbox, from: &Path, path: &str) {
    let (from, to) = (from.to_owned(), sandbox.path(path));
    let words = ["clone", "-q", "--bare", "--no-local"].map(Into::into);
    let words = words
        .into_iter()
        .chain([from.into_os_string(), to.into_os_string()]);
    sandbox.git(words.collect::<Vec<_>>());
}

#[test]
fn an_alternate_inside_the_working_tree_is_never_captured() {
    let sandbox = Sandbox::new();
    // A repository, one that it borrows from in turn, and a directory of objects that belongs to none.
    bare_clone(&sandbox, &sandbox.repo(), "lent/first.git");
    bare_clone(&sandbox, &sandbox.repo(), "second.git");
    fs::create_dir_all(sandbox.path("objects-only/pack")).unwrap();
    let say = |path: &str, text: &str| {
        fs::create_dir_all(sandbox.path(path).parent().unwrap()).unwrap();
        fs::write(sandbox.path(path), text).unwrap();
    };
    // Captured so far, like anything that git does not know.
    snapshot(&sandbox);
    let (paths, _) = captured(&sandbox);
    assert!(
        paths.contains(&"lent/first.git/HEAD".to_owned()),
        "{paths:?}"
    );
    say(
        ".git/objects/info/alternates",
        "../../lent/first.git/objects\n",
    );
    let second = sandbox.path("second.git/objects");
    say(
        "lent/first.git/objects/info/alternates",
        &format!(
            "{}\n{}\n",
            second.display(),
            sandbox.path("objects-only").display()
        ),
    );
    snapshot(&sandbox);
    let (paths, left) = captured(&sandbox);
    assert_eq!(paths, ["a.txt"]);
    let git_s = ["lent/first.git", "objects-only", "second.git"].map(git_s);
    assert_eq!(left, git_s);
    // What is borrowed from there stays: `gc` drops our own copies.
    sandbox.git(["repack", "-adlq"]);
    assert_later_commits_stay(&sandbox);
}

#[test]
fn nothing_is_written_into_a_directory_of_git() {
    for ignored in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write("store/x", "a file like any other\n");
        sandbox.write("store/HEAD", "no repository\n");
        let with_dir = snapshot(&sandbox);
        sandbox.remove("store");
        sandbox.write("store", "a file\n");
        let with_file = snapshot(&sandbox);
        sandbox.remove("store");
        move_git_dir(&sandbox, "store");
        if ignored {
            fs::write(sandbox.path("store/info/exclude"), "/store\n").unwrap();
        }
        let head = sandbox.git(["rev-parse", "HEAD"]);
        for id in [&with_dir, &with_file] {
            for command in ["travel", "restore"] {
                let (error, code) = sandbox.json_error([command, id]);
                assert_eq!((error["code"].as_str(), code), (Some("WOULD_OVERWRITE"), 5));
                assert_eq!(list(&error["paths"]), ["store"], "{error}");
                let hint = error["hint"].as_str().unwrap();
                assert!(hint.contains("belongs to git itself"), "{hint}");
            }
            // A directory of its own is another matter.
            let dir = sandbox.root().join("beside");
            sandbox.ok(["open", id, dir.to_str().unwrap()]);
            assert!(dir.join("store").exists());
            sandbox.ok(["close", dir.to_str().unwrap()]);
        }
        assert_eq!(sandbox.git(["rev-parse", "HEAD"]), head);
        assert_eq!(sandbox.json(["status"])["mode"], "present");
    }
}

#[test]
fn return_leaves_a_directory_that_became_git_s_and_says_how() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("store/x", "of the present\n");
    sandbox.write("b.txt", "of the present\n");
    sandbox.json(["travel", &id]);
    move_git_dir(&sandbox, "store");
    for words in [&["return"][..], &["return", "--move-aside"]] {
        let (error, _) = sandbox.json_error(words);
        assert_eq!(error["code"], "WOULD_OVERWRITE");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("tw return --keep PATH"), "{hint}");
        assert!(sandbox.exists("store/HEAD"), "nobody moved it");
    }
    assert_eq!(
        sandbox.json(["return", "--keep", "store"])["mode"],
        "present"
    );
    assert_eq!(sandbox.text("b.txt"), "of the present\n");
    assert_eq!(sandbox.git(["fsck", "--strict"]), "");
}

#[test]
fn other_worktrees_of_the_repository_inside_are_repositories_of_their_own() {
    let sandbox = Sandbox::new();
    sandbox.git(["worktree", "add", "-q", "wt"]);
    let id = snapshot(&sandbox);
    let (paths, left) = captured(&sandbox);
    assert_eq!(paths, ["a.txt"]);
    assert_eq!(left, [("wt".to_owned(), "nested-repository".to_owned())]);
    sandbox.write("wt/a.txt", "edited there\n");
    sandbox.write("a.txt", "two\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("wt/a.txt"), "edited there\n");
        let ran = sandbox.tw_in(sandbox.path("wt"), ["snapshot", "-q"]);
        assert_eq!(ran.code, 0, "{}", ran.err());
    });
    assert_eq!(sandbox.text("wt/a.txt"), "edited there\n");
}

#[test]
fn a_bare_repository_may_hold_its_worktree_and_lie_in_it() {
    let sandbox = Sandbox::new();
    // The worktree in the repository's directory.
    let bare = sandbox.root().join("bare.git");
    sandbox.git(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    sandbox.git_in(&bare, ["worktree", "add", "-q", "--detach", "wt"]);
    let wt = bare.join("wt");
    let ran = sandbox.tw_in(&wt, ["snapshot", "-q"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    let refs = sandbox.git_in(
        &bare,
        [
            "for-each-ref",
            "--format=%(objectname)",
            "refs/timewarp/snapshots",
        ],
    );
    let paths = sandbox.git_in(&bare, ["ls-tree", "-r", "--name-only", refs.trim()]);
    assert_eq!(paths, "a.txt\n");
    // The repository's directory in the worktree.
    let outer = sandbox.root().join("outer");
    fs::rename(&wt, &outer).unwrap();
    fs::rename(&bare, outer.join("inner.git")).unwrap();
    let git_dir = outer.join("inner.git/worktrees/wt");
    fs::write(
        outer.join(".git"),
        format!("gitdir: {}\n", git_dir.display()),
    )
    .unwrap();
    fs::write(
        git_dir.join("gitdir"),
        format!("{}\n", outer.join(".git").display()),
    )
    .unwrap();
    let run = |words: &[&str]| {
        let ran = sandbox.tw_in(&outer, words);
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.err());
        ran.out()
    };
    let id = run(&["snapshot", "-q"]).trim().to_owned();
    fs::write(outer.join("a.txt"), "two\n").unwrap();
    sandbox.git_in(&outer, ["commit", "-qam", "second"]);
    run(&["travel", &id]);
    run(&["return"]);
    assert_eq!(
        sandbox.git_in(&outer, ["log", "--format=%s"]),
        "second\nfirst\n"
    );
    assert_eq!(
        sandbox.git_in(&outer, ["fsck", "--strict", "--no-dangling"]),
        ""
    );
    let shown = run(&["show", &id]);
    assert!(shown.contains("git-directory  inner.git"), "{shown}");
}

#[test]
fn the_file_that_dot_git_leads_to_is_gits() {
    let sandbox = Sandbox::new();
    let before = snapshot(&sandbox);
    let real = sandbox.root().join("real");
    fs::rename(sandbox.path(".git"), &real).unwrap();
    fs::write(
        sandbox.path("here"),
        format!("gitdir: {}\n", real.display()),
    )
    .unwrap();
    sandbox.symlink("here", ".git");
    sandbox.write("a.txt", "two\n");
    let id = snapshot(&sandbox);
    assert_eq!(
        captured(&sandbox),
        (vec!["a.txt".to_owned()], vec![git_s("here")])
    );
    for target in [&before, &id] {
        sandbox.json(["travel", target]);
        sandbox.write("here-too", "made in the past\n");
        assert_eq!(sandbox.json(["return"])["verified"], true);
    }
    sandbox.ok(["restore", &before]);
    assert!(sandbox.text("here").starts_with("gitdir: "));
    assert_later_commits_stay(&sandbox);
}
