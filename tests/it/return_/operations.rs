//! A merge, rebase, cherry-pick, revert or bisect under way in the present: back exactly, and git goes on with it.

use crate::sandbox::Sandbox;
use crate::trip::{commit, list, snapshot};

/// `main` and `other` conflict in `a.txt`; each changes more on its own. The last commit of `main` is `main 2`.
fn diverged() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("a.txt", "other\n");
    sandbox.write("o.txt", "other\n");
    commit(&sandbox, "other 1");
    sandbox.write("p.txt", "other\n");
    commit(&sandbox, "other 2");
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("a.txt", "main\n");
    commit(&sandbox, "main 1");
    sandbox.write("m.txt", "main\n");
    commit(&sandbox, "main 2");
    sandbox
}

/// Goes away from an operation under way and returns; in between git does what would hurt it most.
#[track_caller]
fn round_trip(sandbox: &Sandbox, address: &str) {
    sandbox.assert_round_trip(address, |sandbox| {
        sandbox.git(["reset", "-q", "--hard"]);
        sandbox.git(["checkout", "-q", "--detach", "other"]);
        sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
        sandbox.git(["gc", "-q", "--prune=now"]);
    });
}

/// Starts an operation, round-trips it, then ends it in two ways, each compared with the same end without a trip.
#[track_caller]
fn survives(start: &dyn Fn(&Sandbox), ends: [&dyn Fn(&Sandbox); 2]) {
    for end in ends {
        let sandbox = diverged();
        let id = snapshot(&sandbox);
        start(&sandbox);
        round_trip(&sandbox, &id);
        end(&sandbox);
        assert_eq!(sandbox.git(["status", "--porcelain", "-uno"]), "");
        for name in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"] {
            assert!(!sandbox.exists(format!(".git/{name}")), "{name}");
        }
        for name in ["rebase-merge", "rebase-apply", "sequencer"] {
            assert!(!sandbox.exists(format!(".git/{name}")), "{name}");
        }
        assert_eq!(sandbox.try_git(["fsck", "--strict"]).err(), "");
    }
}

fn conflict(sandbox: &Sandbox, args: &[&str]) {
    let ran = sandbox.try_git(args);
    assert_eq!(ran.code, 1, "{args:?}: {}{}", ran.out(), ran.err());
    assert_ne!(sandbox.git(["ls-files", "-u"]), "", "{args:?}");
}

/// A rebase of `other` that stopped; then in the past, from where nothing tells git of it.
fn away_from_a_rebase() -> Sandbox {
    let sandbox = diverged();
    let id = snapshot(&sandbox);
    conflict(&sandbox, &["rebase", "-q", "main", "other"]);
    sandbox.json(["travel", &id]);
    sandbox
}

#[test]
fn a_branch_that_moved_beneath_its_rebase_is_told_of() {
    let told = |sandbox: &Sandbox, command: &str| -> String {
        let answer = sandbox.json([command]);
        let notices = list(&answer["notices"]);
        let notice = notices
            .into_iter()
            .find(|notice| notice.contains("'other'"));
        notice.unwrap_or_default()
    };
    assert_eq!(told(&away_from_a_rebase(), "return"), "");
    for command in ["return", "undo"] {
        let sandbox = away_from_a_rebase();
        sandbox.git(["worktree", "add", "-q", "../elsewhere", "other"]);
        let said = told(&sandbox, command);
        assert!(said.contains("checked out in another worktree"), "{said}");

        let sandbox = away_from_a_rebase();
        sandbox.git(["branch", "-q", "-f", "other", "main"]);
        let said = told(&sandbox, command);
        assert!(said.contains("git branch NAME other"), "{said}");
    }
}

#[test]
fn what_is_in_the_way_of_an_operation_is_named_with_its_place() {
    let sandbox = diverged();
    let id = snapshot(&sandbox);
    conflict(&sandbox, &["merge", "-q", "other"]);
    let before = sandbox.state();
    sandbox.json(["travel", &id]);
    sandbox.write(".git/MERGE_HEAD/what", "made in the past\n");
    let (error, _) = sandbox.json_error(["return"]);
    assert_eq!(error["code"], "WOULD_OVERWRITE");
    let hint = error["hint"].as_str().unwrap();
    let place = sandbox.path(".git");
    assert!(hint.contains(&*place.to_string_lossy()), "{hint}");
    sandbox.remove(".git/MERGE_HEAD");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    before.assert_same(&sandbox.state());
}

fn resolve(sandbox: &Sandbox) {
    sandbox.write("a.txt", "resolved\n");
    sandbox.git(["add", "a.txt"]);
}

#[test]
fn a_merge() {
    survives(
        &|sandbox| conflict(sandbox, &["merge", "other"]),
        [
            &|sandbox| {
                sandbox.git(["merge", "--abort"]);
                assert_eq!(sandbox.text("a.txt"), "main\n");
                assert!(!sandbox.exists("o.txt"));
            },
            &|sandbox| {
                resolve(sandbox);
                sandbox.git(["-c", "core.editor=true", "merge", "--continue"]);
                assert_eq!(
                    sandbox.git(["log", "-1", "--format=%s"]),
                    "Merge branch 'other'\n"
                );
                assert_eq!(sandbox.git(["rev-list", "--count", "HEAD~..HEAD"]), "3\n");
            },
        ],
    );
}

#[test]
fn a_merge_half_resolved() {
    survives(
        &|sandbox| {
            conflict(sandbox, &["merge", "--no-commit", "other"]);
            sandbox.write("a.txt", "half\n");
            sandbox.write("scratch.txt", "untracked\n");
        },
        [
            &|sandbox| {
                sandbox.git(["merge", "--abort"]);
                assert_eq!(sandbox.text("scratch.txt"), "untracked\n");
            },
            &|sandbox| {
                assert_eq!(sandbox.text("a.txt"), "half\n");
                // The stages are there: git can make the conflict anew.
                sandbox.git(["checkout", "-q", "-m", "a.txt"]);
                assert!(sandbox.text("a.txt").contains("<<<<<<<"));
                resolve(sandbox);
                sandbox.git(["-c", "core.editor=true", "merge", "--continue"]);
            },
        ],
    );
}

#[test]
fn a_merge_resolved_and_not_committed_can_be_unresolved() {
    let sandbox = diverged();
    let id = snapshot(&sandbox);
    conflict(&sandbox, &["merge", "other"]);
    resolve(&sandbox);
    round_trip(&sandbox, &id);
    // The resolve-undo extension is what this lives on.
    sandbox.git(["update-index", "--unresolve", "a.txt"]);
    assert_eq!(sandbox.git(["ls-files", "-u"]).lines().count(), 3);
    sandbox.git(["merge", "--abort"]);
}

#[test]
fn a_rebase_by_the_merge_backend() {
    survives(
        &|sandbox| conflict(sandbox, &["rebase", "--merge", "other"]),
        [
            &|sandbox| {
                sandbox.git(["rebase", "--abort"]);
                assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
                assert_eq!(sandbox.git(["log", "-1", "--format=%s"]), "main 2\n");
            },
            &|sandbox| {
                resolve(sandbox);
                sandbox.git(["-c", "core.editor=true", "rebase", "--continue"]);
                assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
                assert_eq!(
                    sandbox.git(["log", "--format=%s"]),
                    "main 2\nmain 1\nother 2\nother 1\nfirst\n"
                );
            },
        ],
    );
}

#[test]
fn a_rebase_by_the_apply_backend() {
    survives(
        &|sandbox| conflict(sandbox, &["rebase", "--apply", "other"]),
        [
            &|sandbox| {
                sandbox.git(["rebase", "--abort"]);
                assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
            },
            &|sandbox| {
                resolve(sandbox);
                sandbox.git(["rebase", "--continue"]);
                assert_eq!(
                    sandbox.git(["log", "--format=%s"]),
                    "main 2\nmain 1\nother 2\nother 1\nfirst\n"
                );
            },
        ],
    );
}

#[test]
fn a_rebase_with_an_autostash() {
    survives(
        &|sandbox| {
            sandbox.write("m.txt", "stashed by rebase\n");
            conflict(sandbox, &["rebase", "--autostash", "other"]);
        },
        [
            &|sandbox| {
                sandbox.git(["rebase", "--abort"]);
                assert_eq!(sandbox.text("m.txt"), "stashed by rebase\n");
                sandbox.git(["checkout", "-q", "m.txt"]);
            },
            &|sandbox| {
                resolve(sandbox);
                sandbox.git(["-c", "core.editor=true", "rebase", "--continue"]);
                assert_eq!(sandbox.text("m.txt"), "stashed by rebase\n");
                sandbox.git(["checkout", "-q", "m.txt"]);
            },
        ],
    );
}

#[test]
fn a_cherry_pick_of_several() {
    survives(
        &|sandbox| conflict(sandbox, &["cherry-pick", "main..other"]),
        [
            &|sandbox| {
                sandbox.git(["cherry-pick", "--abort"]);
                assert_eq!(sandbox.git(["log", "-1", "--format=%s"]), "main 2\n");
            },
            &|sandbox| {
                resolve(sandbox);
                sandbox.git(["-c", "core.editor=true", "cherry-pick", "--continue"]);
                assert_eq!(
                    sandbox.git(["log", "-2", "--format=%s"]),
                    "other 2\nother 1\n"
                );
            },
        ],
    );
}

#[test]
fn a_revert() {
    survives(
        &|sandbox| {
            sandbox.write("a.txt", "main again\n");
            commit(sandbox, "main 3");
            conflict(sandbox, &["revert", "--no-edit", "HEAD~2"]);
        },
        [
            &|sandbox| {
                sandbox.git(["revert", "--abort"]);
                assert_eq!(sandbox.text("a.txt"), "main again\n");
            },
            &|sandbox| {
                resolve(sandbox);
                sandbox.git(["-c", "core.editor=true", "revert", "--continue"]);
                assert_eq!(
                    sandbox.git(["log", "-1", "--format=%s"]),
                    "Revert \"main 1\"\n"
                );
            },
        ],
    );
}

#[test]
fn a_bisect() {
    survives(
        &|sandbox| {
            sandbox.git(["bisect", "start", "main", "main~2"]);
        },
        [
            &|sandbox| {
                sandbox.git(["bisect", "reset"]);
                assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
            },
            &|sandbox| {
                let ran = sandbox.git(["bisect", "bad"]);
                assert!(ran.contains("is the first bad commit"), "{ran}");
                sandbox.git(["bisect", "reset"]);
            },
        ],
    );
}

#[test]
fn an_operation_started_in_the_past_goes() {
    let sandbox = diverged();
    let id = snapshot(&sandbox);
    sandbox.assert_round_trip(&id, |sandbox| {
        conflict(sandbox, &["merge", "other"]);
    });
    assert!(!sandbox.exists(".git/MERGE_HEAD"));
    // What the experiment holds says so.
    let answer = sandbox.json(["undo", "-y"]);
    assert_eq!(answer["mode"], "past");
    assert!(sandbox.exists(".git/MERGE_HEAD"));
    assert_ne!(sandbox.git(["ls-files", "-u"]), "");
    assert_eq!(list(&answer["changed_since"]), Vec::<String>::new());
}

#[test]
fn conflicts_of_every_kind_keep_their_stages() {
    let sandbox = Sandbox::new();
    for name in ["both", "ours-deleted", "theirs-deleted", "renamed"] {
        sandbox.write(name, format!("{name}\n1\n2\n3\n4\n"));
    }
    commit(&sandbox, "base");
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("both", "theirs\n");
    sandbox.write("ours-deleted", "theirs\n");
    sandbox.remove("theirs-deleted");
    sandbox.git(["mv", "renamed", "renamed-theirs"]);
    sandbox.write("both-added", "theirs\n");
    sandbox.write("file-or-dir", "theirs\n");
    commit(&sandbox, "other");
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("both", "ours\n");
    sandbox.remove("ours-deleted");
    sandbox.write("theirs-deleted", "ours\n");
    sandbox.git(["mv", "renamed", "renamed-ours"]);
    sandbox.write("both-added", "ours\n");
    sandbox.write("file-or-dir/x", "ours\n");
    commit(&sandbox, "main");
    let id = snapshot(&sandbox);
    conflict(&sandbox, &["merge", "other"]);
    let stages = sandbox.git(["ls-files", "-u"]);
    assert!(stages.lines().count() >= 8, "{stages}");
    round_trip(&sandbox, &id);
    assert_eq!(sandbox.git(["ls-files", "-u"]), stages);
    sandbox.git(["merge", "--abort"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}
