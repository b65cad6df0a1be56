//! HEAD, index, reflog and operations under way in the past.

use crate::faults::killed_at;
use crate::provided::skipped;
use crate::sandbox::{Sandbox, is_root};
use crate::trip::{backdate, commit, everything, list, snapshot};

#[test]
fn head_is_detached_at_the_snapshots_commit_and_branches_stay() {
    let sandbox = Sandbox::new();
    let then = sandbox.git(["rev-parse", "HEAD"]);
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.git(["commit", "-q", "-am", "second"]);
    let now = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.json(["travel", &id]);
    assert_eq!(sandbox.head(), then);
    assert_eq!(sandbox.git(["rev-parse", "main"]), now);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn status_and_diff_say_what_they_said_then() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "b\n");
    sandbox.write("c.txt", "c\n");
    sandbox.write("link.txt", "l\n");
    commit(&sandbox, "more");
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("a.txt", "edited after\n");
    sandbox.git(["rm", "-q", "--cached", "b.txt"]);
    sandbox.remove("c.txt");
    sandbox.remove("link.txt");
    sandbox.symlink("a.txt", "link.txt");
    sandbox.write("intended.txt", "intended\n");
    sandbox.git(["add", "-N", "intended.txt"]);
    let say = || {
        [
            &["status", "--porcelain=v2"][..],
            &["diff"],
            &["diff", "--cached"],
            &["ls-files", "-s", "-v"],
        ]
        .map(|args| sandbox.git(args))
    };
    let then = say();
    let id = snapshot(&sandbox);
    sandbox.git(["reset", "-q", "--hard"]);
    sandbox.write("a.txt", "third\n");
    commit(&sandbox, "third");
    sandbox.json(["travel", &id]);
    assert_eq!(then, say());
}

#[test]
fn the_index_is_fresh_after_a_swap() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "b\n");
    commit(&sandbox, "b");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    commit(&sandbox, "two");
    for command in [&["travel", &id][..], &["return"]] {
        sandbox.json(command);
        // Plumbing trusts stat data and never refreshes it.
        assert_eq!(sandbox.git(["diff-files", "--name-only"]), "");
        assert_eq!(sandbox.git(["diff-index", "--name-only", "HEAD"]), "");
    }
}

#[test]
fn a_filtered_file_stays_clean_whose_ctime_or_inode_git_does_not_compare() {
    for (key, value) in [("core.trustctime", "false"), ("core.checkStat", "minimal")] {
        let sandbox = Sandbox::new();
        sandbox.git(["config", "filter.up.clean", "tr a-z A-Z"]);
        sandbox.git(["config", "filter.up.smudge", "cat"]);
        sandbox.write(".gitattributes", "*.up filter=up\n");
        sandbox.write("f.up", "old\n");
        commit(&sandbox, "old");
        let id = snapshot(&sandbox);
        sandbox.git(["config", key, value]);
        sandbox.write("f.up", "newer\n");
        backdate(&sandbox, "f.up");
        commit(&sandbox, "newer");
        // As `git annex unlock` and others do, which make it another file or give it other bits for a while.
        sandbox.chmod("f.up", 0o600);
        sandbox.chmod("f.up", 0o644);
        let modified = || {
            [
                &["diff-files", "--name-only"][..],
                &["diff-index", "--name-only", "HEAD"],
            ]
            .map(|command| sandbox.git(command))
        };
        assert_eq!(modified(), ["", ""], "{key}");
        sandbox.json(["travel", &id]);
        sandbox.json(["return"]);
        assert_eq!(modified(), ["", ""], "{key}");
    }
}

/// No swap writes it: the past has no entry for it, or the same one, which is of the second of its index.
#[test]
fn a_filtered_file_that_no_swap_writes_stays_clean() {
    for is_racy in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.git(["config", "filter.strip.clean", "sed /output/d"]);
        sandbox.git(["config", "filter.strip.smudge", "cat"]);
        sandbox.write(".gitattributes", "*.ipynb filter=strip\n");
        commit(&sandbox, "attributes");
        sandbox.write("f.ipynb", "cell\n");
        let mut id = snapshot(&sandbox);
        at_the_begin_of_a_second();
        sandbox.write("f.ipynb", "cell\n");
        // Longer than a tick of the clock: what is written within one may be written again under the same time.
        std::thread::sleep(std::time::Duration::from_millis(50));
        commit(&sandbox, "cells");
        if is_racy {
            id = snapshot(&sandbox);
        } else {
            std::thread::sleep(std::time::Duration::from_millis(1100));
            sandbox.git(["update-index", "-q", "--really-refresh"]);
        }
        sandbox.write("a.txt", "two\n");
        let modified = || sandbox.git(["diff-files", "--name-only"]);
        assert_eq!(modified(), "a.txt\n", "racy: {is_racy}");
        sandbox.json(["travel", &id]);
        sandbox.json(["return"]);
        assert_eq!(modified(), "a.txt\n", "racy: {is_racy}");
    }
}

/// What git would look at again, for its owner or for being of the second of its index, is not clean after a trip because of its times.
#[test]
fn a_converted_file_that_git_looks_at_is_looked_at_after_a_trip() {
    for way in ["racy", "owner"] {
        if way == "owner" && !is_root() {
            skipped("root", "no owner can be given away");
            continue;
        }
        let sandbox = Sandbox::new();
        sandbox.write("f", "a\r\nb\r\n");
        commit(&sandbox, "old");
        let id = snapshot(&sandbox);
        sandbox.write("f", "a\r\nc\r\n");
        if way == "owner" {
            sandbox.git(["config", "core.trustctime", "false"]);
            backdate(&sandbox, "f");
        } else {
            at_the_begin_of_a_second();
            sandbox.write("f", "a\r\nc\r\n");
        }
        sandbox.git(["add", "f"]);
        sandbox.write("a.txt", "staged\n");
        sandbox.git(["add", "a.txt"]);
        sandbox.write(".git/info/attributes", "f text\n");
        if way == "owner" {
            std::os::unix::fs::chown(sandbox.path("f"), Some(1234), None).unwrap();
        }
        let status = || sandbox.git(["--no-optional-locks", "status", "--porcelain", "f"]);
        assert_eq!(status(), "MM f\n", "{way}");
        sandbox.json(["travel", &id]);
        sandbox.json(["return"]);
        assert_eq!(status(), "MM f\n", "{way}");
    }
}

/// So that what follows is of one second.
fn at_the_begin_of_a_second() {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    let left = 1_020_000_000_u32.saturating_sub(since.subsec_nanos());
    std::thread::sleep(std::time::Duration::from_nanos(left.into()));
}

#[test]
fn each_swap_is_one_entry_of_heads_reflog_and_checkout_dash_means_the_same() {
    let sandbox = Sandbox::new();
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.git(["checkout", "-q", "main"]);
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    commit(&sandbox, "two");
    let before = sandbox.git(["reflog", "--format=%gs"]);
    sandbox.json(["travel", &id]);
    let past = sandbox.git(["reflog", "--format=%gs"]);
    assert_eq!(past, format!("tw travel: {id}\n{before}"));
    assert_eq!(
        sandbox.git(["rev-parse", "--abbrev-ref", "@{-1}"]),
        "other\n"
    );
    let returned = sandbox.json(["return"]);
    let entry = format!("tw return: {}", returned["backup_id"].as_str().unwrap());
    let after = sandbox.git(["reflog", "--format=%gs"]);
    assert_eq!(after, format!("{entry}\n{past}"));
    assert_eq!(
        sandbox.git(["rev-parse", "HEAD@{1}"]),
        sandbox.git(["rev-parse", "HEAD~1"])
    );
    sandbox.git(["checkout", "-q", "-"]);
    assert_eq!(sandbox.head(), "ref: refs/heads/other\n");
}

#[test]
fn a_swap_between_states_of_one_commit_is_an_entry_of_heads_reflog_too() {
    let sandbox = Sandbox::new();
    let first = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    let second = snapshot(&sandbox);
    sandbox.git(["checkout", "-q", "--detach"]);
    let commit = sandbox.git(["rev-parse", "HEAD"]);
    let before = sandbox.git(["reflog", "--format=%gs"]);
    sandbox.json(["travel", &second]);
    sandbox.json(["travel", "--hop", &first]);
    let back = sandbox.json(["return"])["backup_id"].clone();
    let back = back.as_str().unwrap();
    let entries = sandbox.git(["reflog", "--format=%gs"]);
    let swaps = format!("tw return: {back}\ntw travel: {first}\ntw travel: {second}\n");
    assert_eq!(entries, format!("{swaps}{before}"));
    for entry in ["HEAD@{0}", "HEAD@{1}", "HEAD@{2}", "HEAD@{3}"] {
        assert_eq!(sandbox.git(["rev-parse", entry]), commit, "{entry}");
    }
    assert_eq!(
        sandbox.git(["rev-parse", "--abbrev-ref", "@{-1}"]),
        "main\n"
    );
    sandbox.git(["fsck", "--strict"]);
}

#[test]
fn an_unborn_snapshot_puts_head_on_an_unborn_branch() {
    let sandbox = Sandbox::unborn();
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("b.txt", "untracked\n");
    let id = snapshot(&sandbox);
    sandbox.git(["commit", "-q", "-m", "first"]);
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.head(), "ref: refs/heads/timewarp/past\n");
        assert_eq!(
            sandbox.git(["for-each-ref", "--format=%(refname)", "refs/heads"]),
            "refs/heads/main\n"
        );
        assert_eq!(
            sandbox.git(["status", "--porcelain"]),
            "A  a.txt\n?? b.txt\n"
        );
    });
}

#[test]
fn each_travel_to_an_unborn_snapshot_finds_an_unborn_branch() {
    let sandbox = Sandbox::unborn();
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    let id = snapshot(&sandbox);
    sandbox.git(["commit", "-q", "-m", "first"]);
    for expected in ["timewarp/past", "timewarp/past-2", "timewarp/past-3"] {
        sandbox.ok(["travel", &id]);
        let head = format!("ref: refs/heads/{expected}\n");
        assert_eq!(sandbox.head(), head);
        assert_eq!(sandbox.git(["status", "--porcelain"]), "A  a.txt\n");
        assert_ne!(
            sandbox
                .try_git(["rev-parse", "-q", "--verify", "HEAD"])
                .code,
            0
        );
        sandbox.git(["commit", "-q", "-m", expected]);
        let made = sandbox.git(["rev-parse", "HEAD"]);
        let returned = sandbox.json(["return"]);
        assert_eq!(
            returned["commits_made"][0]["oid"],
            made.trim(),
            "{returned}"
        );
        assert_eq!(returned["commits_made"].as_array().unwrap().len(), 1);
        assert_eq!(
            sandbox.git(["rev-parse", expected]),
            made,
            "the commit stays"
        );
    }
    assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
}

#[test]
fn a_branch_in_the_way_of_the_unborn_one_stays() {
    let sandbox = Sandbox::unborn();
    sandbox.write("a.txt", "staged\n");
    let id = snapshot(&sandbox);
    sandbox.git(["add", "a.txt"]);
    sandbox.git(["commit", "-q", "-m", "first"]);
    sandbox.git(["branch", "timewarp"]);
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.head(), "ref: refs/heads/timewarp-past\n");
    });
    sandbox.ok(["travel", &id]);
    sandbox.git(["add", "a.txt"]);
    sandbox.git(["commit", "-q", "-m", "there is room"]);
    sandbox.ok(["return"]);
    // Another worktree that is in the past has the first name.
    sandbox.git(["branch", "-D", "timewarp"]);
    sandbox.git(["worktree", "add", "-q", "../other"]);
    let other = sandbox.root().join("other");
    assert_eq!(sandbox.tw_in(&other, ["travel", &id]).code, 0);
    sandbox.ok(["travel", &id]);
    assert_eq!(sandbox.head(), "ref: refs/heads/timewarp/past-2\n");
    let there = sandbox.git(["-C", "../other", "symbolic-ref", "HEAD"]);
    assert_eq!(there, "refs/heads/timewarp/past\n");
}

#[test]
fn a_present_that_is_unborn_comes_back() {
    let sandbox = Sandbox::unborn();
    sandbox.write("a.txt", "one\n");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("b.txt", "untracked\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        sandbox.git(["status"]);
    });
    assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
}

/// A branch `other` that conflicts with `main` in `a.txt`, and changes `b.txt` alone.
fn diverged() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "one\n");
    commit(&sandbox, "b");
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("a.txt", "other\n");
    sandbox.write("b.txt", "other\n");
    commit(&sandbox, "other");
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("a.txt", "main\n");
    commit(&sandbox, "main");
    sandbox
}

#[test]
fn a_merge_cherry_pick_or_revert_of_the_snapshot_is_put_in_place() {
    for (args, head, abort) in [
        (&["merge", "other"][..], "MERGE_HEAD", "merge"),
        (&["cherry-pick", "other"], "CHERRY_PICK_HEAD", "cherry-pick"),
        (&["revert", "--no-edit", "HEAD~1"], "REVERT_HEAD", "revert"),
    ] {
        let sandbox = diverged();
        if abort == "revert" {
            sandbox.write("b.txt", "changed since\n");
            commit(&sandbox, "since");
            sandbox.write("b.txt", "changed twice\n");
            commit(&sandbox, "twice");
        }
        assert_eq!(sandbox.try_git(args).code, 1, "{args:?}");
        let then = sandbox.git(["status", "--porcelain=v2"]);
        let stages = sandbox.git(["ls-files", "-u"]);
        assert_ne!(stages, "");
        let id = snapshot(&sandbox);
        sandbox.git([abort, "--abort"]);
        let answer = sandbox.json(["travel", &id]);
        assert_eq!(list(&answer["notices"]), Vec::<String>::new());
        assert!(sandbox.has_beside_head(head), "{head}");
        assert_eq!(sandbox.git(["status", "--porcelain=v2"]), then);
        assert_eq!(sandbox.git(["ls-files", "-u"]), stages);
        sandbox.git([abort, "--abort"]);
        assert_eq!(sandbox.json(["return"])["verified"], true);
        assert!(!sandbox.has_beside_head(head));
        assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    }
}

#[test]
fn a_rebase_or_bisect_of_the_snapshot_is_named_and_not_revived() {
    for kind in ["rebase", "bisect"] {
        let sandbox = diverged();
        if kind == "rebase" {
            assert_eq!(sandbox.try_git(["rebase", "other"]).code, 1);
        } else {
            sandbox.git(["bisect", "start", "HEAD", "HEAD~2"]);
        }
        let id = snapshot(&sandbox);
        sandbox.git(if kind == "rebase" {
            ["rebase", "--abort"]
        } else {
            ["bisect", "reset"]
        });
        let answer = sandbox.json(["travel", &id]);
        let notice = answer["notices"][0].as_str().unwrap();
        assert!(notice.contains(kind), "{notice}");
        for name in ["rebase-merge", "rebase-apply", "BISECT_LOG", "REBASE_HEAD"] {
            assert!(!sandbox.exists(format!(".git/{name}")), "{kind}: {name}");
        }
        assert_eq!(sandbox.git(["for-each-ref", "refs/bisect"]), "");
        sandbox.json(["return"]);
        // Nothing was made there, so the undo leads to the snapshot itself; also one that dies and is ended by a recovery.
        for dies in [false, true] {
            if dies {
                killed_at(&sandbox, "swap-journal", &["undo", "--into-past"]);
                sandbox.ok(["recover", "--forward"]);
            } else {
                sandbox.ok(["undo", "--into-past"]);
            }
            for name in ["rebase-merge", "rebase-apply", "BISECT_LOG", "REBASE_HEAD"] {
                assert!(!sandbox.exists(format!(".git/{name}")), "{kind}: {name}");
            }
            assert_eq!(sandbox.git(["for-each-ref", "refs/bisect"]), "");
            sandbox.json(["return"]);
        }
    }
}

/// A snapshot of another repository, with a merge under way, fetched into this one.
fn foreign(sandbox: &Sandbox) -> String {
    let there = diverged();
    assert_eq!(there.try_git(["merge", "other"]).code, 1);
    there.write("theirs.txt", "theirs\n");
    there.chmod("theirs.txt", 0o4755);
    let id = snapshot(&there);
    let url = there.repo().display().to_string();
    sandbox.git([
        "fetch",
        "-q",
        &url,
        "refs/timewarp/snapshots/*:refs/timewarp/snapshots/*",
    ]);
    id
}

#[test]
fn a_foreign_snapshot_gives_files_and_index_and_no_operation() {
    let sandbox = Sandbox::new();
    snapshot(&sandbox);
    let id = foreign(&sandbox);
    let listed = sandbox.json(["list", "--all"]);
    let ids: Vec<_> = listed["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|snapshot| snapshot["snapshot_id"].as_str().unwrap())
        .collect();
    assert!(ids.contains(&id.as_str()), "{ids:?}");
    sandbox.json(["show", &id]);
    sandbox.write("mine.txt", "mine\n");
    let before = sandbox.state();
    let answer = sandbox.json(["travel", &id]);
    let notice = answer["notices"][0].as_str().unwrap();
    assert!(notice.contains("another repository"), "{notice}");
    assert_eq!(sandbox.text("theirs.txt"), "theirs\n");
    assert_eq!(
        crate::trip::mode(&sandbox, "theirs.txt"),
        0o755,
        "set-id bits of others are not put in place"
    );
    assert_ne!(sandbox.git(["ls-files", "-u"]), "");
    for name in ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE"] {
        assert!(!sandbox.exists(format!(".git/{name}")), "{name}");
    }
    for _ in 0..2 {
        assert_eq!(sandbox.json(["return"])["verified"], true);
        before.assert_same(&sandbox.state());
        // Nothing was made there: the snapshot itself is what undo leads to.
        sandbox.json(["undo", "--into-past"]);
        for name in ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE"] {
            assert!(!sandbox.exists(format!(".git/{name}")), "{name}");
        }
    }
}

#[test]
fn a_tree_with_an_unsafe_name_is_refused_whole() {
    for name in ["..", ".git", ".GIT", "git~1", "a/b"] {
        let sandbox = Sandbox::new();
        let id = snapshot(&sandbox);
        let reference = format!("refs/timewarp/snapshots/{id}");
        let blob = sandbox.git(["rev-parse", "HEAD:a.txt"]);
        let mut tree = Vec::new();
        for name in [b"0-first", name.as_bytes()] {
            tree.extend_from_slice(b"100644 ");
            tree.extend_from_slice(name);
            tree.push(0);
            let hex = blob.trim();
            tree.extend(
                (0..40)
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()),
            );
        }
        let file = sandbox.root().join("tmp/tree");
        std::fs::write(&file, tree).unwrap();
        let file = file.display().to_string();
        let tree = sandbox.git(["hash-object", "-w", "-t", "tree", "--literally", &file]);
        let old = sandbox.git(["rev-parse", &format!("{reference}^{{tree}}")]);
        let raw = sandbox.git(["cat-file", "commit", &reference]);
        let raw = raw.replace(old.trim(), tree.trim());
        let file = sandbox.root().join("tmp/commit");
        std::fs::write(&file, raw).unwrap();
        let file = file.display().to_string();
        let evil = sandbox.git(["hash-object", "-w", "-t", "commit", &file]);
        sandbox.git(["update-ref", &reference, evil.trim()]);
        let before = (sandbox.state(), everything(&sandbox.path(".git/objects")));
        let (error, code) = sandbox.json_error(["travel", &id]);
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("CORRUPT_RECORD"), 1),
            "{name}: {error}"
        );
        before.0.assert_same(&sandbox.state());
        assert!(!sandbox.exists("0-first"), "{name}");
    }
}
