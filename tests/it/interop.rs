//! Plain git between our commands: gc, fsck, stash, packed refs, operations under way. Nothing promised may change.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::facts::{commit, id};
use crate::provided;
use crate::sandbox::{Kind, Sandbox};
use crate::transcripts::{Kind as Agent, Talk};

/// A repository with a branch `other` that conflicts with `main` in `a.txt`.
fn diverged() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "base\n");
    sandbox.git(["add", "b.txt"]);
    sandbox.git(["commit", "-q", "-m", "base"]);
    sandbox.git(["checkout", "-q", "-b", "other"]);
    for n in 1..4 {
        sandbox.write("a.txt", format!("other {n}\n"));
        sandbox.git(["commit", "-q", "-am", &format!("other {n}")]);
    }
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("a.txt", "main\n");
    sandbox.git(["commit", "-q", "-am", "main"]);
    sandbox
}

/// Once, by the first that makes a record and has somebody to tell: a hook has nobody.
#[test]
fn whoever_makes_the_first_record_tells_of_refspecs_that_publish_it() {
    let report = ["issue", "report", "--task-context", "t", "--symptom", "s"];
    let report = [&report[..], &["--success-criteria", "c"]].concat();
    let rewind = ["rewind", "0", "--code"];
    let firsts = [
        &["checkpoint", "-m", "x"][..],
        &["label", "latest", "good"],
        &["snapshot", "--label", "good"],
        &report,
        &rewind,
    ];
    for first in firsts {
        let sandbox = Sandbox::new();
        sandbox.git(["remote", "add", "hub", "/nonexistent"]);
        let notes = "+refs/notes/*:refs/notes/*";
        sandbox.git(["config", "--add", "remote.hub.fetch", notes]);
        let taken = sandbox.json(["snapshot"]);
        assert!(!taken.to_string().contains("remote.hub.fetch"), "{taken}");
        if first == rewind {
            let talk = Talk::new(&sandbox, Agent::Claude);
            talk.hook("SessionStart", &json!({}));
            talk.submits("do it");
            sandbox.write("a.txt", "done\n");
        }
        let fix = "git config --add remote.hub.fetch '^refs/notes/timewarp/*'";
        let told = sandbox.json(first)["notices"].to_string();
        assert!(told.contains(fix), "{first:?}: {told}");
        let again = sandbox.json(["checkpoint", "-m", "again"]);
        assert!(!again.to_string().contains(fix), "{first:?}: {again}");
    }
}

/// Where there was nothing to tell of, it is told later.
#[test]
fn refspecs_that_come_after_the_first_record_are_told_of_all_the_same() {
    let sandbox = Sandbox::new();
    let first = sandbox.json(["snapshot", "--label", "one"]);
    assert_eq!(first["notices"], json!([]), "{first}");
    sandbox.git(["remote", "add", "hub", "/nonexistent"]);
    let all = "+refs/*:refs/*";
    sandbox.git(["config", "--add", "remote.hub.push", all]);
    let told = sandbox.json(["label", "latest", "two"]).to_string();
    assert!(told.contains("remote.hub.push"), "{told}");
    let again = sandbox.json(["label", "latest", "three"]).to_string();
    assert!(!again.contains("remote.hub.push"), "{again}");
}

/// Starts an operation, takes a snapshot, gives it up, loses every branch but main, collects: the snapshot still names
/// every commit that the operation needed, and they are there.
#[track_caller]
fn survives(kind: &str, start: &[&str], code: i32, abort: &[&str], needed: &[&str]) {
    let sandbox = diverged();
    assert_eq!(sandbox.try_git(start).code, code, "{start:?}");
    let oids: Vec<String> = needed
        .iter()
        .map(|name| {
            sandbox
                .git(["rev-parse", "--verify", name])
                .trim_end()
                .to_owned()
        })
        .collect();
    let snapshot = sandbox.snap();
    assert_eq!(snapshot["in_progress"], kind);
    sandbox.gc();
    sandbox.assert_sound();
    sandbox.git(abort);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.git(["branch", "-q", "-D", "other"]);
    let _ = std::fs::remove_file(sandbox.path(".git/ORIG_HEAD"));
    sandbox.gc();
    sandbox.assert_sound();
    let parents = sandbox.git([
        "log",
        "-1",
        "--format=%P",
        &format!("{}^2^2", commit(&snapshot)),
    ]);
    for (name, oid) in needed.iter().zip(&oids) {
        assert!(parents.contains(oid.as_str()), "{name} {oid}: {parents}");
        sandbox.git(["cat-file", "-e", oid]);
    }
}

#[test]
fn a_merge_under_way_survives_a_gc() {
    survives(
        "merge",
        &["merge", "-q", "other"],
        1,
        &["merge", "--abort"],
        &["MERGE_HEAD"],
    );
}

#[test]
fn a_cherry_pick_under_way_survives_a_gc() {
    let needed = ["CHERRY_PICK_HEAD", "other~1", "other"];
    survives(
        "cherry-pick",
        &["cherry-pick", "other~2", "other~1", "other"],
        1,
        &["cherry-pick", "--abort"],
        &needed,
    );
}

#[test]
fn a_revert_under_way_survives_a_gc() {
    survives(
        "revert",
        &["revert", "--no-edit", "other~1"],
        1,
        &["revert", "--abort"],
        &["REVERT_HEAD"],
    );
}

#[test]
fn a_rebase_under_way_survives_a_gc() {
    let needed = ["REBASE_HEAD", "other~1", "other", "main"];
    survives(
        "rebase-merge",
        &["rebase", "-q", "main", "other"],
        1,
        &["rebase", "--abort"],
        &needed,
    );
}

#[test]
fn a_rebase_by_mails_under_way_survives_a_gc() {
    let needed = ["REBASE_HEAD", "other~1", "other", "main"];
    survives(
        "rebase-apply",
        &["rebase", "-q", "--apply", "main", "other"],
        1,
        &["rebase", "--abort"],
        &needed,
    );
}

#[test]
fn a_bisect_under_way_survives_a_gc() {
    let sandbox = diverged();
    sandbox.git(["checkout", "-q", "other"]);
    sandbox.git(["bisect", "start", "other", "other~3"]);
    let bad = sandbox.git(["rev-parse", "refs/bisect/bad"]);
    let snapshot = sandbox.snap();
    assert_eq!(snapshot["in_progress"], "bisect");
    sandbox.git(["bisect", "reset"]);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.git(["branch", "-q", "-D", "other"]);
    sandbox.gc();
    sandbox.assert_sound();
    sandbox.git(["cat-file", "-e", bad.trim_end()]);
    let state = format!("{}^2^2", commit(&snapshot));
    let refs = String::from_utf8(sandbox.blob(&state, "operation/refs")).unwrap();
    assert!(refs.contains("refs/bisect/bad"), "{refs}");
}

#[test]
fn pseudo_refs_whose_objects_are_gone_do_not_break_the_repository() {
    let sandbox = Sandbox::of(Kind::ref_files());
    sandbox.write("a.txt", "lost\n");
    sandbox.git(["commit", "-q", "-am", "lost"]);
    sandbox.git(["reset", "-q", "--hard", "HEAD~"]);
    assert!(sandbox.exists(".git/ORIG_HEAD"));
    sandbox.gc();
    std::fs::write(
        sandbox.path(".git/AUTO_MERGE"),
        format!("{}\n", sandbox.kind().id("1")),
    )
    .unwrap();
    std::fs::write(
        sandbox.path(".git/MERGE_HEAD"),
        format!("{}\n", sandbox.kind().id("2")),
    )
    .unwrap();
    sandbox.snap();
    sandbox.remove(".git/AUTO_MERGE");
    sandbox.remove(".git/MERGE_HEAD");
    sandbox.remove(".git/ORIG_HEAD");
    sandbox.assert_sound();
    sandbox.gc();
    sandbox.assert_sound();
}

#[test]
fn a_gc_at_any_moment_keeps_all_that_is_listed() {
    let sandbox = Sandbox::new();
    let mut expected: Vec<(String, String)> = Vec::new();
    for n in 0..6 {
        sandbox.write("a.txt", format!("edit {n}\n"));
        sandbox.write(format!("dir{n}/new.txt"), format!("new {n}\n"));
        if n % 2 == 0 {
            sandbox.git(["add", "a.txt"]);
        }
        let snapshot = sandbox.snap();
        expected.push((commit(&snapshot).to_owned(), format!("edit {n}\n")));
        sandbox.gc();
        sandbox.assert_sound();
        sandbox.snap();
        sandbox.assert_sound();
    }
    for (commit, text) in expected {
        assert_eq!(sandbox.blob(&commit, "a.txt"), text.as_bytes());
    }
    assert_eq!(
        sandbox.json(["list"])["snapshots"]
            .as_array()
            .unwrap()
            .len(),
        12
    );
}

/// Forgets every snapshot behind our back and collects.
fn forget_all(sandbox: &Sandbox) {
    let refs = sandbox.git(["for-each-ref", "--format=%(refname)", "refs/timewarp"]);
    for name in refs.lines() {
        sandbox.git(["update-ref", "-d", name]);
    }
    sandbox.gc();
}

#[test]
fn a_snapshot_after_all_were_forgotten_and_collected_is_whole() {
    let sandbox = Sandbox::new();
    sandbox.write("sub/staged.txt", "staged\n");
    sandbox.write("sub/twice.txt", "staged\n");
    sandbox.git(["add", "sub"]);
    sandbox.write("sub/twice.txt", "edited\n");
    sandbox.write("new/deep/x.txt", "untracked\n");
    sandbox.symlink("a.txt", "link");
    // Until the index is old enough to be kept in the cache.
    std::thread::sleep(std::time::Duration::from_millis(50));
    sandbox.snap();
    sandbox.snap();
    forget_all(&sandbox);
    let snapshot = sandbox.snap();
    sandbox.assert_sound();
    assert_eq!(
        sandbox.blob(commit(&snapshot), "new/deep/x.txt"),
        b"untracked\n"
    );
    assert_eq!(
        sandbox.blob(commit(&snapshot), "sub/twice.txt"),
        b"edited\n"
    );
    assert_eq!(
        sandbox.blob(&format!("{}^2", commit(&snapshot)), "sub/twice.txt"),
        b"staged\n"
    );
    sandbox.gc();
    sandbox.assert_sound();
    sandbox.snap();
    sandbox.assert_sound();
}

#[test]
fn a_snapshot_in_a_merge_after_all_were_forgotten_is_whole() {
    let sandbox = diverged();
    sandbox.try_git(["merge", "-q", "other"]);
    sandbox.write("new.txt", "new\n");
    std::thread::sleep(std::time::Duration::from_millis(50));
    sandbox.snap();
    sandbox.snap();
    forget_all(&sandbox);
    sandbox.snap();
    sandbox.assert_sound();
    sandbox.gc();
    sandbox.assert_sound();
}

#[test]
fn if_changed_answers_nothing_that_was_forgotten() {
    let sandbox = Sandbox::new();
    sandbox.write("new.txt", "new\n");
    sandbox.snap();
    forget_all(&sandbox);
    let taken = sandbox.json(["snapshot", "--if-changed"]);
    assert_eq!(taken["fresh"], true);
    sandbox.assert_sound();
}

#[test]
fn one_of_two_snapshots_of_the_same_tree_may_go() {
    let sandbox = Sandbox::new();
    sandbox.write("new.txt", "new\n");
    let first = sandbox.snap();
    let second = sandbox.snap();
    sandbox.git([
        "update-ref",
        "-d",
        &format!("refs/timewarp/snapshots/{}", id(&first)),
    ]);
    sandbox.gc();
    sandbox.write("other.txt", "other\n");
    sandbox.snap();
    sandbox.git([
        "update-ref",
        "-d",
        &format!("refs/timewarp/snapshots/{}", id(&second)),
    ]);
    sandbox.gc();
    sandbox.snap();
    sandbox.assert_sound();
}

#[test]
fn a_snapshot_after_a_reset_and_gc_of_its_seeds_is_whole() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "committed\n");
    sandbox.git(["add", "b.txt"]);
    sandbox.git(["commit", "-q", "-m", "second"]);
    std::thread::sleep(std::time::Duration::from_millis(50));
    sandbox.git(["update-index", "--force-write-index"]);
    sandbox.snap();
    forget_all(&sandbox);
    // The file stays, the commit and the index entry that held its blob go.
    sandbox.git(["reset", "-q", "HEAD~"]);
    sandbox.git(["update-ref", "-d", "ORIG_HEAD"]);
    sandbox.gc();
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.blob(commit(&snapshot), "b.txt"), b"committed\n");
    sandbox.assert_sound();
}

#[test]
fn a_damaged_cache_is_no_cache() {
    let sandbox = Sandbox::new();
    for n in 0..5 {
        sandbox.write(format!("dir{n}/x.txt"), format!("{n}\n"));
    }
    let tree = sandbox.snap()["tree"].clone();
    let cache = sandbox.path(".git/timewarp/cache");
    let whole = std::fs::read(&cache).unwrap();
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x40;
    let mut longer = whole.clone();
    longer.extend_from_slice(b"more");
    let damaged: [Vec<u8>; 8] = [
        Vec::new(),
        b"x".to_vec(),
        whole[..63].to_vec(),
        whole[..64].to_vec(),
        whole[..whole.len() - 1].to_vec(),
        flipped,
        longer,
        vec![0xff; 5000],
    ];
    for bytes in damaged {
        std::fs::write(&cache, &bytes).unwrap();
        assert_eq!(sandbox.snap()["tree"], tree);
    }
    std::fs::remove_file(&cache).unwrap();
    std::os::unix::fs::symlink("/dev/null", &cache).unwrap();
    assert_eq!(sandbox.snap()["tree"], tree);
    sandbox.assert_sound();
}

#[test]
fn the_cache_of_another_repository_misleads_nobody() {
    let sandbox = Sandbox::new();
    sandbox.write("only/here.txt", "here\n");
    sandbox.snap();
    let other = Sandbox::new();
    other.write("b.txt", "b\n");
    let honest = other.snap()["tree"].clone();
    std::fs::copy(
        sandbox.path(".git/timewarp/cache"),
        other.path(".git/timewarp/cache"),
    )
    .unwrap();
    assert_eq!(other.snap()["tree"], honest);
    other.assert_sound();
    // A whole repository that was copied has a cache whose inodes are another's.
    let copy = sandbox.root().join("copy");
    let status = std::process::Command::new("cp")
        .args([
            "-a",
            sandbox.repo().to_str().unwrap(),
            copy.to_str().unwrap(),
        ])
        .status()
        .unwrap();
    assert!(status.success());
    std::fs::write(copy.join("only/here.txt"), "gone\n").unwrap();
    let ran = sandbox.tw_in(&copy, ["--json", "snapshot"]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let spec = format!("{}:only/here.txt", commit(&document["snapshot"]));
    assert_eq!(sandbox.git_in(&copy, ["cat-file", "blob", &spec]), "gone\n");
}

#[test]
fn stash_apply_brings_files_and_staged_state_back() {
    let sandbox = Sandbox::new();
    sandbox.write("gone.txt", "gone\n");
    sandbox.write("run.sh", "#!/bin/sh\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "more"]);
    sandbox.write("a.txt", "staged\n");
    sandbox.write("new-staged.txt", "staged\n");
    sandbox.chmod("run.sh", 0o755);
    sandbox.git(["add", "a.txt", "new-staged.txt", "run.sh"]);
    sandbox.git(["rm", "-q", "gone.txt"]);
    sandbox.write("a.txt", "edited\n");
    sandbox.write("untracked.txt", "untracked\n");
    sandbox.symlink("a.txt", "link");
    let staged = sandbox.git(["diff", "--cached"]);
    let snapshot = sandbox.snap();
    sandbox.git(["reset", "-q", "--hard"]);
    sandbox.git(["clean", "-qfdx"]);
    sandbox.git(["stash", "apply", "-q", "--index", commit(&snapshot)]);
    assert_eq!(sandbox.git(["diff", "--cached"]), staged);
    assert_eq!(sandbox.text("a.txt"), "edited\n");
    assert_eq!(sandbox.text("untracked.txt"), "untracked\n");
    assert_eq!(
        std::fs::read_link(sandbox.path("link")).unwrap().to_str(),
        Some("a.txt")
    );
    assert!(!sandbox.exists("gone.txt"));
    assert_eq!(
        sandbox
            .path("run.sh")
            .metadata()
            .unwrap()
            .permissions()
            .mode()
            & 0o111,
        0o111
    );
    assert_eq!(sandbox.snap()["tree"], snapshot["tree"]);
}

#[test]
fn packed_refs_and_loose_ones_are_the_same() {
    let sandbox = Sandbox::new();
    let first = sandbox.snap_with(["--label", "start"]);
    sandbox.git(["pack-refs", "--all"]);
    let second = sandbox.snap();
    let list = sandbox.json(["list"]);
    let ids: Vec<&str> = list["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(id)
        .collect();
    assert_eq!(ids, [id(&second), id(&first)]);
    assert_eq!(id(&sandbox.json(["show", "start"])["snapshot"]), id(&first));
    let taken = sandbox.json(["snapshot", "--if-changed"]);
    assert_eq!(id(&taken["snapshot"]), id(&second));
    sandbox.git(["pack-refs", "--all", "--prune"]);
    sandbox.snap();
    sandbox.assert_sound();
}

#[test]
fn git_s_own_work_between_snapshots_is_followed() {
    let sandbox = diverged();
    let check = |sandbox: &Sandbox| {
        let snapshot = sandbox.snap();
        for (path, _) in sandbox.tree(commit(&snapshot)) {
            let name = String::from_utf8(path).unwrap();
            assert_eq!(
                sandbox.blob(commit(&snapshot), &name),
                sandbox.read(&name),
                "{name}"
            );
        }
        assert_eq!(
            sandbox.git(["rev-parse", &format!("{}^2^{{tree}}", commit(&snapshot))]),
            sandbox.git(["write-tree"])
        );
        assert_eq!(
            sandbox.git(["rev-parse", &format!("{}^", commit(&snapshot))]),
            sandbox.git(["rev-parse", "HEAD"])
        );
    };
    check(&sandbox);
    sandbox.git(["checkout", "-q", "other"]);
    check(&sandbox);
    sandbox.write("a.txt", "wip\n");
    sandbox.git(["stash", "-q"]);
    check(&sandbox);
    sandbox.git(["stash", "pop", "-q"]);
    check(&sandbox);
    sandbox.git(["commit", "-q", "-am", "wip"]);
    check(&sandbox);
    sandbox.git(["mv", "b.txt", "c.txt"]);
    check(&sandbox);
    sandbox.git(["reset", "-q", "--hard", "main"]);
    check(&sandbox);
    sandbox.git(["checkout", "-q", "--orphan", "fresh"]);
    sandbox.git(["rm", "-q", "--cached", "b.txt"]);
    sandbox.git(["commit", "-q", "-m", "root"]);
    check(&sandbox);
    sandbox.assert_sound();
}

#[test]
fn a_locked_index_keeps_no_snapshot_waiting() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/index.lock", "");
    sandbox.write(".git/HEAD.lock", "");
    sandbox.snap();
    assert_eq!(sandbox.text(".git/index.lock"), "");
    sandbox.remove(".git/index.lock");
    sandbox.remove(".git/HEAD.lock");
}

#[test]
fn neither_push_nor_clone_nor_fetch_carries_snapshots() {
    let sandbox = Sandbox::new();
    sandbox.snap();
    let remote = sandbox.root().join("remote.git");
    sandbox.git(["init", "-q", "--bare", remote.to_str().unwrap()]);
    sandbox.git(["push", "-q", "--all", remote.to_str().unwrap()]);
    sandbox.git(["push", "-q", "--tags", remote.to_str().unwrap()]);
    let refs = sandbox.git_in(&remote, ["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/main\n");
    let clone = sandbox.root().join("clone");
    sandbox.git([
        "clone",
        "-q",
        sandbox.repo().to_str().unwrap(),
        clone.to_str().unwrap(),
    ]);
    assert_eq!(
        sandbox.git_in(&clone, ["for-each-ref", "refs/timewarp"]),
        ""
    );
}

#[test]
fn people_s_commits_stay_on_top_of_a_log_of_all() {
    let sandbox = Sandbox::new();
    sandbox.snap();
    sandbox.snap();
    let log = sandbox.git(["log", "--all", "-1", "--format=%s"]);
    assert_eq!(log, "first\n");
}

#[test]
fn replaced_objects_mislead_nobody() {
    let sandbox = Sandbox::new();
    sandbox.write("other", "other\n");
    let blob = sandbox.git(["rev-parse", "HEAD:a.txt"]);
    let other = sandbox.git(["hash-object", "-w", "other"]);
    sandbox.remove("other");
    sandbox.git(["replace", blob.trim_end(), other.trim_end()]);
    sandbox.git(["update-index", "--refresh"]);
    let snapshot = sandbox.snap();
    let spec = format!("{}:a.txt", commit(&snapshot));
    assert_eq!(
        sandbox.git(["--no-replace-objects", "cat-file", "blob", &spec]),
        "one\n"
    );
    sandbox.write("a.txt", "two\n");
    sandbox.json(["travel", id(&snapshot)]);
    assert_eq!(sandbox.text("a.txt"), "one\n");
    sandbox.json(["return"]);
}

#[test]
fn resolved_conflicts_can_still_be_brought_back_after_a_gc() {
    let sandbox = diverged();
    sandbox.try_git(["merge", "-q", "other"]);
    sandbox.write("a.txt", "resolved\n");
    sandbox.git(["add", "a.txt"]);
    let snapshot = sandbox.snap();
    assert_eq!(snapshot["index"]["conflicts"], json!([]));
    sandbox.git(["merge", "--abort"]);
    sandbox.gc();
    sandbox.assert_sound();
    sandbox.json(["travel", id(&snapshot)]);
    sandbox.git(["checkout", "-m", "a.txt"]);
    assert_eq!(sandbox.git(["ls-files", "-u"]).lines().count(), 3);
    sandbox.json(["return"]);
    sandbox.assert_sound();
}

#[test]
fn a_full_directory_of_new_files_goes_into_one_pack() {
    let sandbox = Sandbox::new();
    for n in 0..200 {
        sandbox.write(format!("many/{n}"), format!("{n}\n"));
    }
    let packs = || {
        let names = std::fs::read_dir(sandbox.path(".git/objects/pack")).unwrap();
        let mut names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    sandbox.snap();
    let names = packs();
    // No .keep and nothing temporary is left.
    let mut kinds: Vec<_> = names.iter().map(|name| name.rsplit('.').next()).collect();
    kinds.sort();
    assert_eq!(kinds, [Some("idx"), Some("pack")], "{names:?}");
    sandbox.assert_sound();
    sandbox.gc();
    sandbox.assert_sound();
}

#[test]
fn snapshots_and_collections_at_the_same_time_lose_nothing() {
    let sandbox = Sandbox::new();
    for n in 0..20 {
        sandbox.write(format!("dir{n}/x.txt"), format!("{n}\n"));
    }
    // Its commit graph would name commits whose refs went while it worked, which is no doing of ours.
    sandbox.git(["config", "gc.writeCommitGraph", "false"]);
    // Locks and their order are what is tried, and not the disk: git would keep 'packed-refs.lock' for as long as that takes.
    sandbox.git(["config", "core.fsync", "none"]);
    std::thread::scope(|scope| {
        let (repo, home) = (sandbox.repo(), sandbox.home());
        scope.spawn(move || {
            for _ in 0..6 {
                // It may lose against a snapshot's locks; it may not break anything.
                let _ = provided::git(&home)
                    .args(["gc", "-q", "--prune=now"])
                    .current_dir(&repo)
                    .output();
            }
        });
        for n in 0..12 {
            sandbox.write(format!("dir{n}/x.txt"), format!("changed {n}\n"));
            sandbox.snap();
            if n % 4 == 3 {
                let refs = sandbox.git([
                    "for-each-ref",
                    "--format=%(refname)",
                    "refs/timewarp/snapshots",
                ]);
                for name in refs.lines() {
                    sandbox.try_git(["update-ref", "-d", name]);
                }
            }
        }
    });
    sandbox.snap();
    sandbox.assert_sound();
    sandbox.gc();
    sandbox.assert_sound();
}

#[test]
fn what_an_operation_needs_survives_a_gc_in_the_past() {
    let sandbox = diverged();
    let clean = sandbox.snap();
    let pick = ["cherry-pick", "other~2", "other~1", "other"];
    assert_eq!(sandbox.try_git(pick).code, 1);
    sandbox.git(["branch", "-q", "-D", "other"]);
    sandbox.assert_round_trip(id(&clean), |sandbox| {
        assert!(!sandbox.exists(".git/CHERRY_PICK_HEAD"));
        sandbox.gc();
        sandbox.assert_sound();
    });
    // git goes on to the next commit of its list, which conflicts as well: it is there.
    let next = sandbox.try_git(["cherry-pick", "--skip"]);
    assert!(next.err().contains("other 2"), "{}", next.err());
}

#[test]
fn a_directory_whose_tree_was_collected_is_made_again_under_other_rules() {
    let sandbox = Sandbox::new();
    // The blob is HEAD's and stays; the directories' trees go.
    sandbox.write("dir/deep/x.txt", "one\n");
    sandbox.write("dir/y.txt", "one\n");
    // Until the stamps are old enough to be trusted.
    std::thread::sleep(std::time::Duration::from_millis(50));
    sandbox.snap();
    forget_all(&sandbox);
    sandbox.git(["config", "timewarp.exclude", "nothing"]);
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot).len(), 3);
    sandbox.assert_sound();
}

/// What only `ORIG_HEAD` names is held, unless something of it is gone already: git's gc would stop at that.
#[test]
fn a_damaged_history_that_only_orig_head_names_stops_no_gc() {
    for damaged in [false, true] {
        let sandbox = Sandbox::of(Kind::ref_files());
        sandbox.write("lost.txt", "only in the commits that are left\n");
        sandbox.git(["add", "-A"]);
        // In the second nothing differs from the first.
        for title in ["first", "second"] {
            sandbox.git(["commit", "-q", "--allow-empty", "-m", title]);
        }
        let left = sandbox.git(["rev-parse", "HEAD"]).trim().to_owned();
        let blob = sandbox
            .git(["rev-parse", "HEAD:lost.txt"])
            .trim()
            .to_owned();
        sandbox.git(["reset", "-q", "--hard", "HEAD~2"]);
        if damaged {
            let loose = format!(".git/objects/{}/{}", &blob[..2], &blob[2..]);
            std::fs::remove_file(sandbox.path(&loose)).unwrap();
        }
        sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
        sandbox.snap();
        sandbox.write("a.txt", "more\n");
        sandbox.snap();
        sandbox.git(["gc", "-q", "--prune=now"]);
        let there = sandbox.try_git(["cat-file", "-e", &left]).code == 0;
        assert_eq!(there, !damaged);
        let orig_head = std::fs::read_to_string(sandbox.path(".git/ORIG_HEAD")).unwrap();
        assert_eq!(orig_head.trim(), left);
    }
}
