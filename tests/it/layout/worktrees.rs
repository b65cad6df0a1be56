//! Linked worktrees of a bare repository, and copies of worktrees.

use crate::sandbox::Sandbox;
use crate::trip::{everything, snapshot};

#[test]
fn the_head_of_a_bare_repository_is_no_checkout() {
    let sandbox = Sandbox::new();
    let bare = sandbox.root().join("bare.git");
    sandbox.git(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let wt = sandbox.root().join("wt");
    sandbox.git_in(
        &bare,
        ["worktree", "add", "-q", wt.to_str().unwrap(), "main"],
    );
    let round_trip = || {
        for words in [&["snapshot"][..], &["travel", "latest"], &["return"]] {
            let ran = sandbox.tw_in(&wt, words);
            assert_eq!(ran.code, 0, "{words:?}: {}", ran.err());
        }
        sandbox.git_in(&wt, ["rev-parse", "--abbrev-ref", "HEAD"])
    };
    assert_eq!(round_trip(), "main\n");
    // With a configuration of each worktree's own, the main one's says so.
    sandbox.git_in(&bare, ["config", "extensions.worktreeConfig", "true"]);
    sandbox.git_in(&bare, ["config", "--unset", "core.bare"]);
    std::fs::write(bare.join("config.worktree"), "[core]\n\tbare = true\n").unwrap();
    assert_eq!(round_trip(), "main\n");
    // A main worktree on the branch still counts.
    std::fs::write(bare.join("config.worktree"), "[core]\n\tbare = false\n").unwrap();
    assert_eq!(round_trip(), "HEAD\n");
}

/// `cp -a` of a directory in the sandbox's own.
fn copy(sandbox: &Sandbox, from: &str, to: &str) {
    let root = sandbox.root();
    let mut command = sandbox.command("cp");
    let output = command.current_dir(&root).args(["-a", from, to]).output();
    assert!(output.unwrap().status.success());
}

#[test]
fn a_copy_of_a_worktree_does_not_end_the_stay_of_the_original() {
    for separate in [false, true] {
        let sandbox = Sandbox::new();
        let wt = sandbox.root().join("wt");
        if separate {
            // No link leads back here.
            let git_dir = sandbox.root().join("apart.git");
            sandbox.git([
                "init",
                "-q",
                "--separate-git-dir",
                git_dir.to_str().unwrap(),
            ]);
            std::fs::rename(sandbox.repo(), &wt).unwrap();
        } else {
            sandbox.git(["worktree", "add", "-q", "--detach", "../wt"]);
        }
        let run = |dir: &str, words: &[&str]| sandbox.tw_in(sandbox.root().join(dir), words);
        assert_eq!(run("wt", &["snapshot"]).code, 0);
        std::fs::write(wt.join("a.txt"), "of the present\n").unwrap();
        assert_eq!(run("wt", &["travel", "latest"]).code, 0);
        copy(&sandbox, "wt", "copy");
        let before = everything(&sandbox.root().join("copy"));
        for words in [
            &["return"][..],
            &["return", "--dry-run"],
            &["restore", "latest"],
            &["undo"],
            &["recover"],
        ] {
            let ran = run("copy", words);
            assert_eq!(ran.code, 1, "{words:?}: {}", ran.err());
            let said = ran.err();
            assert!(said.contains("is a copy of the worktree"), "{said}");
        }
        assert_eq!(everything(&sandbox.root().join("copy")), before);
        // Looking is free, and the original comes home.
        assert_eq!(run("copy", &["status"]).code, 0);
        assert_eq!(run("copy", &["snapshot"]).code, 0);
        let ran = run("wt", &["return"]);
        assert_eq!(ran.code, 0, "{}", ran.err());
        assert_eq!(
            std::fs::read(wt.join("a.txt")).unwrap(),
            b"of the present\n"
        );
    }
}

#[test]
fn a_copy_of_an_opened_directory_does_not_close_the_original() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.ok(["open", &id, "../opened"]);
    copy(&sandbox, "opened", "copy");
    let ran = sandbox.tw(["close", "../copy"]);
    assert_eq!(ran.code, 1, "{}", ran.err());
    assert!(sandbox.root().join("copy/a.txt").exists());
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 2);
    sandbox.ok(["close", "../opened"]);
}

#[test]
fn a_worktree_that_was_moved_is_no_copy() {
    let sandbox = Sandbox::new();
    let root = sandbox.root();
    sandbox.git(["worktree", "add", "-q", "--detach", "../wt"]);
    std::fs::rename(root.join("wt"), root.join("moved")).unwrap();
    let run = |words: &[&str]| {
        let ran = sandbox.tw_in(root.join("moved"), words);
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.err());
    };
    run(&["snapshot"]);
    run(&["travel", "latest"]);
    // Also in the past, and when something else is now where it was.
    std::fs::rename(root.join("moved"), root.join("again")).unwrap();
    std::fs::create_dir(root.join("wt")).unwrap();
    std::fs::rename(root.join("again"), root.join("moved")).unwrap();
    run(&["return"]);
}
