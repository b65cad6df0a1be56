//! `tw open` and `tw close`, with every word that they take.

use serde_json::json;

use crate::faults::killed_at;
use crate::sandbox::Sandbox;
use crate::trip::snapshot;

#[test]
fn open_and_close_take_a_directory() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "later\n");
    let dir = sandbox.root().join("try-it");
    let opened = sandbox.json(["open", &id, "../try-it"]);
    assert_eq!(opened["dir"].as_str(), dir.to_str());
    assert_eq!(std::fs::read(dir.join("a.txt")).unwrap(), b"one\n");
    assert_eq!(sandbox.text("a.txt"), "later\n");
    let closed = sandbox.json(["close", "../try-it"]);
    assert_eq!(closed["dir"].as_str(), dir.to_str());
    assert!(!dir.exists());
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
}

#[test]
fn open_and_close_take_the_global_directory_beside_their_own() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    let above = sandbox.root();
    let ran = sandbox.tw_in(&above, ["-C", "repo", "open", &id, "../beside"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert!(above.join("beside/a.txt").exists());
    let ran = sandbox.tw_in(&above, ["close", "../beside", "-C", "repo"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert!(!above.join("beside").exists());
    // Without a directory it goes to the usual place.
    let usual = sandbox.json(["open", &id])["dir"].clone();
    let usual = usual.as_str().unwrap();
    assert!(usual.contains("/repo.tw/"), "{usual}");
    sandbox.ok(["close", usual]);
    assert!(!above.join("repo.tw").exists());
}

/// Finds the reason of `worktree add --lock`, which a git of before 2.33 does not take.
const REASON: &str = r#"
reason='added with --lock'
for word; do
    [ "$last" = --reason ] && reason=$word
    last=$word
done
[ -n "$OLD_GIT" ] && [ "$reason" != 'added with --lock' ] && exit 129
"#;

/// A `git` that does so much of `worktree add` and is killed, with `tw` or alone.
fn killed_git(sandbox: &Sandbox, steps: usize, with_tw: bool) -> std::path::PathBuf {
    let dir = sandbox.root().join("bin");
    let (git_dir, top) = (".git/worktrees/opened", "../opened");
    let absolute = sandbox.root().join("opened");
    let all = [
        format!("mkdir -p {git_dir}"),
        // As git has it: the reason that it is given, or the words of one that takes none.
        format!("echo \"$reason\" >{git_dir}/locked"),
        format!("echo {}/.git >{git_dir}/gitdir", absolute.display()),
        format!("mkdir -p {top}"),
        format!("echo gitdir: $PWD/{git_dir} >{top}/.git"),
        format!(
            "echo ../.. >{git_dir}/commondir; echo {} >{git_dir}/HEAD",
            sandbox.kind().id("0")
        ),
    ];
    let done = all[..steps].join("\n");
    let kill = if with_tw { "kill -9 $PPID\n" } else { "" };
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *worktree*add*)\n{REASON}{done}\n{kill}kill -9 $$;; esac\nexec \"$REAL_GIT\" \"$@\"\n"
    );
    sandbox.program(dir.join("git"), text);
    dir
}

#[test]
fn a_killed_open_leaves_no_half_made_worktree() {
    let path = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|dir| dir.join("git"));
    let real = real.into_iter().find(|git| git.is_file()).unwrap();
    for steps in 1..=6 {
        for (with_tw, old_git) in [(false, ""), (true, ""), (true, "yes")] {
            let sandbox = Sandbox::new();
            let id = snapshot(&sandbox);
            let bin = killed_git(&sandbox, steps, with_tw);
            let mut tw = sandbox.tw_command();
            tw.env("PATH", format!("{}:{path}", bin.display()));
            tw.env("REAL_GIT", &real).env("OLD_GIT", old_git);
            let output = tw.args(["open", &id, "../opened"]).output().unwrap();
            assert!(!output.status.success());
            if with_tw {
                assert!(sandbox.exists(".git/worktrees/opened"), "{steps}");
                sandbox.ok(["recover"]);
            }
            let case = format!("{steps} {with_tw} {old_git}");
            assert!(!sandbox.exists(".git/worktrees"), "{case}");
            assert!(!sandbox.root().join("opened").exists(), "{case}");
            let fsck = sandbox.try_git(["fsck", "--strict"]);
            assert_eq!((fsck.code, fsck.err()), (0, String::new()), "{case}");
            sandbox.ok(["open", &id, "../opened"]);
            sandbox.ok(["close", "../opened"]);
        }
    }
}

/// A git of before 2.33 takes no reason for the lock of a worktree under way.
#[test]
fn a_git_that_takes_no_reason_makes_worktrees_all_the_same() {
    let path = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|dir| dir.join("git"));
    let real = real.into_iter().find(|git| git.is_file()).unwrap();
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    let dir = sandbox.root().join("bin");
    let text = "#!/bin/sh\ncase \"$*\" in *--reason*) exit 129;; esac\nexec \"$REAL_GIT\" \"$@\"\n";
    sandbox.program(dir.join("git"), text);
    let mut tw = sandbox.tw_command();
    tw.env("PATH", format!("{}:{path}", dir.display()));
    let output = tw.env("REAL_GIT", &real).args(["open", &id, "../opened"]);
    assert!(output.output().unwrap().status.success());
    assert!(!sandbox.exists(".git/worktrees/opened/locked"));
    sandbox.ok(["close", "../opened"]);
}

#[test]
fn what_somebody_made_where_an_open_died_is_left_alone() {
    for next in [&["open", "latest", "../other"][..], &["recover"]] {
        let sandbox = Sandbox::new();
        let id = snapshot(&sandbox);
        // Killed before git has made anything.
        killed_at(&sandbox, "open-named", &["open", &id, "../mine"]);
        let mine = sandbox.root().join("mine");
        let dir = mine.to_str().unwrap();
        sandbox.git(["worktree", "add", "-q", "--detach", "--no-checkout", dir]);
        let commit = sandbox.git_in(
            &mine,
            ["commit-tree", "-m", "mine", "-p", "HEAD", "HEAD^{tree}"],
        );
        sandbox.git_in(&mine, ["update-ref", "--no-deref", "HEAD", commit.trim()]);
        let said = sandbox.json(next)["notices"].to_string();
        assert!(said.contains(dir) && said.contains("left alone"), "{said}");
        assert_eq!(sandbox.git_in(&mine, ["rev-parse", "HEAD"]), commit);
        // Said once.
        let said = sandbox.json(["recover"])["notices"].to_string();
        assert_eq!(said, "[]");
        // Of another repository.
        sandbox.git(["worktree", "remove", "--force", dir]);
        killed_at(&sandbox, "open-named", &["open", &id, "../mine"]);
        let apart = sandbox.root().join("apart.git");
        let separate = format!("--separate-git-dir={}", apart.display());
        sandbox.git(["init", "-q", &separate, dir]);
        sandbox.json(["recover"]);
        sandbox.git_in(&mine, ["status"]);
    }
}

/// Half of one nobody would know for ours any more, and git would stumble over it.
#[test]
fn a_worktree_that_was_being_removed_at_a_death_is_gone() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    let close = ["close", "../mine"];
    let next = [&["open", "latest", "../mine"][..], &["recover"]];
    for (dies, next) in [&close[..], &["recover"]].into_iter().zip(next) {
        if dies == close {
            sandbox.json(["open", &id, "../mine"]);
        } else {
            sandbox.json(close);
            killed_at(&sandbox, "open-added", &["open", &id, "../mine"]);
        }
        killed_at(&sandbox, "worktree-thrown", dies);
        assert!(!sandbox.exists(".git/worktrees/mine"), "{dies:?}");
        sandbox.git(["fsck", "--no-dangling"]);
        let removed = ".git/timewarp/removed-worktrees";
        assert!(sandbox.exists(removed));
        sandbox.json(next);
        assert!(!sandbox.exists(removed), "{next:?}");
    }
}

/// Only what a command makes again goes without being saved, and is named.
#[test]
fn close_saves_what_the_default_globs_leave_out() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.json(["open", &id, "../opened"]);
    let dir = sandbox.root().join("opened");
    let files = [
        "results.log",
        "build/report.txt",
        "dist/deep/out",
        "big.ignored",
    ];
    std::fs::write(dir.join(".gitignore"), "*.ignored\nbuild/\n").unwrap();
    for path in files.iter().chain(&["node_modules/x", "target/out"]) {
        let file = dir.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "measured\n").unwrap();
    }
    let closed = sandbox.json(["close", "../opened"]);
    assert!(!dir.exists());
    let experiment = closed["experiment_id"].as_str().unwrap();
    let name = format!("refs/timewarp/experiments/{experiment}");
    let saved = sandbox.git(["ls-tree", "-r", "--name-only", &name]);
    for path in files {
        assert!(saved.lines().any(|line| line == path), "{path}: {saved}");
    }
    assert!(!saved.contains("node_modules"), "{saved}");
    let notices = closed["notices"].to_string();
    assert!(notices.contains("'node_modules', 'target'"), "{closed}");
}

#[test]
fn close_names_the_refs_that_were_made_inside() {
    let sandbox = Sandbox::new();
    sandbox.git(["branch", "before"]);
    let id = snapshot(&sandbox);
    sandbox.json(["open", &id, "../opened"]);
    let dir = sandbox.root().join("opened");
    std::fs::write(dir.join("a.txt"), "more\n").unwrap();
    for words in [
        &["add", "a.txt"][..],
        &["stash", "-q"],
        &["branch", "inside"],
        &["tag", "t1"],
        &["switch", "-q", "before"],
        &["commit", "-q", "--allow-empty", "-m", "inside"],
        &["bisect", "start"],
    ] {
        sandbox.git_in(&dir, words);
    }
    // Work elsewhere on what was there before.
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "beside"]);
    let ran = sandbox.tw(["--json", "close", "../opened"]);
    let closed = crate::schema::read(&ran.stdout).unwrap();
    crate::schema::check("close", &closed);
    let made = [
        "refs/heads/before",
        "refs/heads/inside",
        "refs/stash",
        "refs/tags/t1",
    ];
    assert_eq!(closed["refs_made"], json!(made), "{closed}");

    sandbox.json(["open", &id, "../again"]);
    sandbox.git_in(sandbox.root().join("again"), ["branch", "more"]);
    let said = sandbox.ok(["close", "../again"]);
    assert!(
        said.contains("refs that came meanwhile, and stay: refs/heads/more"),
        "{said}"
    );
    // An earlier version opened it.
    sandbox.json(["open", &id, "../old"]);
    std::fs::remove_file(sandbox.path(".git/worktrees/old/timewarp/refs-at-opening")).unwrap();
    assert_eq!(sandbox.json(["close", "../old"])["refs_made"], json!(null));
}
