//! Refs in the reftable format: what the commands promise holds there as with files. `TW_TEST_REFS=reftable` runs all other
//! tests in such repositories; these few run always.

use serde_json::Value;

use crate::provided::skipped;
use crate::sandbox::{Kind, Sandbox};
use crate::stage::{Stage, eventful_as, taken};
use crate::trip::with_stop;

/// None where git knows no such format.
fn sandbox() -> Option<Sandbox> {
    let room = Sandbox::bare_room();
    let init = ["init", "-q", "--ref-format=reftable", "odd"];
    if room.try_git_in(room.root(), init).code != 0 {
        skipped("git", "it is too old to keep refs in the reftable format");
        return None;
    }
    Some(Sandbox::of(Kind::of_all().with_reftable()))
}

fn fsck(sandbox: &Sandbox) {
    assert_eq!(sandbox.git(["fsck", "--strict", "--no-dangling"]), "");
}

/// A conflict between `main` and `other`, under way.
fn merging(sandbox: &Sandbox) {
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("a.txt", "theirs\n");
    sandbox.git(["commit", "-q", "-am", "theirs"]);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("a.txt", "ours\n");
    sandbox.git(["commit", "-q", "-am", "ours"]);
    assert_eq!(sandbox.try_git(["merge", "-q", "other"]).code, 1);
}

#[test]
fn a_trip_brings_everything_back() {
    let Some(sandbox) = sandbox() else { return };
    let first = taken(&sandbox);
    merging(&sandbox);
    sandbox.write("new.txt", "untracked\n");
    let logged = sandbox.git(["reflog", "--format=%gs"]);
    sandbox.assert_round_trip(&first, |sandbox| {
        assert_eq!(sandbox.try_git(["symbolic-ref", "-q", "HEAD"]).code, 1);
        assert_eq!(
            sandbox
                .try_git(["rev-parse", "-q", "--verify", "AUTO_MERGE"])
                .code,
            1
        );
        let past = sandbox.git(["reflog", "--format=%gs"]);
        assert_eq!(past, format!("tw travel: {first}\n{logged}"));
        sandbox.git(["update-ref", "CHERRY_PICK_HEAD", "HEAD"]);
        sandbox.git(["bisect", "start"]);
        sandbox.write("a.txt", "tried\n");
        sandbox.git(["commit", "-q", "-am", "tried", "--cleanup=verbatim"]);
    });
    assert_eq!(
        sandbox.git(["rev-parse", "--abbrev-ref", "@{-1}"]),
        "other\n"
    );
    // The merge in a past of its own, and that past hopped from.
    let merge = taken(&sandbox);
    sandbox.git(["merge", "--abort"]);
    let home = sandbox.state();
    sandbox.json(["travel", &merge]);
    assert!(sandbox.exists(".git/MERGE_HEAD"));
    sandbox.git(["rev-parse", "-q", "--verify", "AUTO_MERGE"]);
    sandbox.json(["travel", "--hop", &first]);
    assert_eq!(sandbox.json(["return"])["verified"], true);
    home.assert_same(&sandbox.state());
    sandbox.json(["undo", "-y"]);
    sandbox.json(["redo", "-y"]);
    home.assert_same(&sandbox.state());
    sandbox.json(["restore", &first]);
    assert_eq!(sandbox.text("a.txt"), "one\n");
    sandbox.json(["undo"]);
    home.assert_same(&sandbox.state());
    assert_eq!(sandbox.json(["doctor"])["ok"], true);
    fsck(&sandbox);
}

#[test]
fn records_are_kept_changed_and_forgotten() {
    let Some(sandbox) = sandbox() else { return };
    sandbox.write("secret.txt", "secret\n");
    let old = taken(&sandbox);
    sandbox.json(["label", &old, "before"]);
    sandbox.json(["session", "start", "--agent", "claude", "--session", "abcd"]);
    sandbox.json(["checkpoint", "-m", "one", "--session", "abcd"]);
    sandbox.write("a.txt", "two\n");
    sandbox.json(["checkpoint", "-m", "two", "--session", "abcd"]);
    sandbox.json(["rewind", "abcd:0", "--code"]);
    assert_eq!(sandbox.text("a.txt"), "one\n");
    let issue = sandbox.json([
        "issue",
        "report",
        "--symptom",
        "it hangs",
        "--task-context",
        "a task",
        "--success-criteria",
        "it ends",
    ]);
    let issue = issue["issue_id"].as_str().unwrap().to_owned();
    sandbox.json(["issue", "close", &issue, "--status", "wontfix"]);
    let face = format!("refs/notes/timewarp/issues/{issue}");
    // A log would keep what was purged.
    assert_eq!(sandbox.git(["reflog", "show", &face]), "");
    sandbox.git(["update-ref", "-d", &face]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    let shown = sandbox.json(["issue", "get", &issue]);
    assert_eq!(shown["issue"]["status"], "wontfix");
    sandbox.git(["rev-parse", "-q", "--verify", &face]);
    sandbox.json(["prune", "--keep-last", "1"]);
    sandbox.json(["show", "label:before"]);
    sandbox.ok(["purge", "--yes-purge", "secret.txt"]);
    sandbox.remove("secret.txt");
    sandbox.git(["gc", "-q", "--prune=now"]);
    let listed = sandbox.git(["cat-file", "--batch-all-objects", "--batch-check"]);
    // `git hash-object` says so of what stood in it.
    let secret = "d97c5eada5d8c52079031eef0107a4430a9617c5";
    assert!(
        !listed.contains(secret) && listed.contains("commit"),
        "{listed}"
    );
    fsck(&sandbox);
}

#[test]
fn a_linked_worktree_has_its_own_head_and_operation() {
    let Some(sandbox) = sandbox() else { return };
    merging(&sandbox);
    sandbox.git([
        "worktree",
        "add",
        "-q",
        "../linked",
        "-b",
        "linked",
        "main~1",
    ]);
    let linked = sandbox.root().join("linked");
    let tw = |args: &[&str]| -> Value {
        let ran = sandbox.tw_in(&linked, [&["--json"], args].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out(), ran.err());
        serde_json::from_slice(&ran.stdout).unwrap()
    };
    let snapshot = tw(&["snapshot"])["snapshot"]["snapshot_id"].clone();
    std::fs::write(linked.join("a.txt"), "picked\n").unwrap();
    sandbox.git_in(&linked, ["commit", "-q", "-am", "picked"]);
    assert_eq!(
        sandbox.try_git_in(&linked, ["cherry-pick", "other"]).code,
        1
    );
    let main = sandbox.state();
    let home = crate::state::State::capture(&sandbox, &linked);
    tw(&["travel", snapshot.as_str().unwrap()]);
    let picking = ["rev-parse", "-q", "--verify", "CHERRY_PICK_HEAD"];
    assert_eq!(sandbox.try_git_in(&linked, picking).code, 1);
    // Its branch is its own meanwhile, and can be taken.
    sandbox.git_in(&linked, ["bisect", "start"]);
    sandbox.git_in(&linked, ["bisect", "reset"]);
    assert_eq!(tw(&["return"])["verified"], true);
    home.assert_same(&crate::state::State::capture(&sandbox, &linked));
    main.assert_same(&sandbox.state());
    // The snapshot is one of the repository.
    sandbox.json(["show", snapshot.as_str().unwrap()]);
    let open = sandbox.json(["open", snapshot.as_str().unwrap()]);
    let dir = open["dir"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read(format!("{dir}/a.txt")).unwrap(), b"one\n");
    sandbox.json(["close", &dir]);
    fsck(&sandbox);
}

#[test]
fn a_killed_travel_leaves_the_old_refs_or_the_new_ones() {
    if sandbox().is_none() {
        return;
    }
    let (sandbox, snapshot) = eventful_as(Kind::of_all().with_reftable());
    let home = sandbox.state();
    let stage = Stage::new(sandbox, &["travel", &snapshot], Some(home));
    assert!(stage.crash_everywhere() >= 20);
}

#[test]
fn a_head_that_is_moved_during_a_swap_stays_and_the_swap_is_rolled_back() {
    let Some(sandbox) = sandbox() else { return };
    let snapshot = taken(&sandbox);
    sandbox.git(["branch", "other"]);
    sandbox.write("a.txt", "two\n");
    sandbox.git(["commit", "-q", "-am", "two"]);
    let said = with_stop(&sandbox, &["travel", &snapshot], "swap-index", || {
        // Which does not take the index's lock.
        sandbox.git(["symbolic-ref", "HEAD", "refs/heads/other"]);
    });
    assert_eq!(said["error"]["code"], "BUSY", "{said}");
    assert_eq!(sandbox.git(["symbolic-ref", "HEAD"]), "refs/heads/other\n");
    assert_eq!(sandbox.text("a.txt"), "two\n");
    assert_eq!(sandbox.git(["diff", "--cached", "--stat", "main"]), "");
    assert_eq!(sandbox.json(["status"])["mode"], "present");
}
