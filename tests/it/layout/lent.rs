//! Object directories of other repositories (`git clone --shared`, `--reference`), which let objects go as they like.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::facts::{commit, id};
use crate::sandbox::{Sandbox, settle};

/// A repository, and one beside it that borrows its objects.
fn lender_and_borrower() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let borrower = sandbox.root().join("borrower");
    sandbox.git(["clone", "-q", "--shared", ".", borrower.to_str().unwrap()]);
    (sandbox, borrower)
}

#[track_caller]
fn json(sandbox: &Sandbox, dir: &Path, args: &[&str]) -> Value {
    let ran = sandbox.tw_in(dir, [&["--json"], args].concat());
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(document["ok"], true, "{args:?}: {document}");
    document
}

#[track_caller]
fn snapshot(sandbox: &Sandbox, dir: &Path) -> Value {
    json(sandbox, dir, &["snapshot"])["snapshot"].clone()
}

/// The lender forgets its snapshots, and all that no ref needs.
fn let_go(sandbox: &Sandbox) {
    let listed = sandbox.json(["list"]);
    let ids = listed["snapshots"].as_array().unwrap().iter().map(id);
    let ids: Vec<&str> = ids.collect();
    if !ids.is_empty() {
        sandbox.json([&["drop", "-y", "--force"], &ids[..]].concat());
    }
    sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
}

/// git finds everything, and nothing that hangs on a ref is missing.
#[track_caller]
fn assert_whole(sandbox: &Sandbox, dir: &Path) {
    sandbox.git_in(dir, ["fsck", "--strict", "--full"]);
    sandbox.git_in(dir, ["gc", "-q", "--prune=now"]);
    sandbox.git_in(dir, ["fsck", "--strict", "--full"]);
    assert_eq!(missing(sandbox, dir)["status"], "ok");
}

/// What the check-up says of objects that are missing.
fn missing(sandbox: &Sandbox, dir: &Path) -> Value {
    let ran = sandbox.tw_in(dir, ["doctor", "--json"]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let mut checks = document["checks"].as_array().unwrap().iter();
    checks
        .find(|check| check["name"] == "objects")
        .unwrap()
        .clone()
}

/// The objects that a repository has of its own.
fn own_objects(sandbox: &Sandbox, dir: &Path) -> Vec<String> {
    let lent = dir.join(".git/objects/info/alternates");
    let aside = dir.join(".git/alternates-aside");
    fs::rename(&lent, &aside).unwrap();
    let all = [
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname)",
    ];
    let listed = sandbox.git_in(dir, all);
    fs::rename(&aside, &lent).unwrap();
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn the_way_home_does_not_hang_on_what_a_lender_lets_go() {
    for has_gc in [false, true] {
        let (sandbox, borrower) = lender_and_borrower();
        sandbox.write("only-here", "in the lender\n");
        sandbox.json(["snapshot"]);
        fs::write(borrower.join("only-there"), "in the borrower\n").unwrap();
        let taken = snapshot(&sandbox, &borrower);
        fs::write(borrower.join("a.txt"), "edited\n").unwrap();
        json(&sandbox, &borrower, &["travel", id(&taken)]);
        if has_gc {
            // git keeps no copy of its own of what another repository has in a pack.
            sandbox.git(["gc", "-q"]);
            sandbox.git_in(&borrower, ["gc", "-q", "--prune=now"]);
        }
        let_go(&sandbox);
        let back = json(&sandbox, &borrower, &["return"]);
        assert_eq!(back["verified"], true, "{back}");
        assert_eq!(fs::read(borrower.join("a.txt")).unwrap(), b"edited\n");
        assert_whole(&sandbox, &borrower);
        json(&sandbox, &borrower, &["undo", "--into-past"]);
        json(&sandbox, &borrower, &["return"]);
    }
}

#[test]
fn what_equal_files_have_in_common_with_a_lender_is_in_each() {
    let (sandbox, borrower) = lender_and_borrower();
    let large = "large\n".repeat(1_000_000);
    for dir in [&sandbox.repo(), &borrower] {
        fs::create_dir(dir.join("dir")).unwrap();
        fs::write(dir.join("dir/.env.local"), "the same\n").unwrap();
        fs::write(dir.join("large"), &large).unwrap();
    }
    sandbox.json(["snapshot"]);
    let taken = snapshot(&sandbox, &borrower);
    let_go(&sandbox);
    let spec = format!("{}:dir/.env.local", commit(&taken));
    let blob = sandbox.git_in(&borrower, ["cat-file", "blob", &spec]);
    assert_eq!(blob, "the same\n");
    assert_whole(&sandbox, &borrower);
}

#[test]
fn what_git_took_for_lent_is_copied_with_a_snapshot() {
    let (sandbox, borrower) = lender_and_borrower();
    sandbox.write("lent", "staged\n");
    let blob = sandbox.git(["hash-object", "-w", "lent"]);
    let blob = blob.trim().to_owned();
    sandbox.remove("lent");
    fs::write(borrower.join("new"), "staged\n").unwrap();
    settle();
    // git writes nothing: the blob is there.
    sandbox.git_in(&borrower, ["add", "new"]);
    assert!(!own_objects(&sandbox, &borrower).contains(&blob));
    let taken = snapshot(&sandbox, &borrower);
    assert!(own_objects(&sandbox, &borrower).contains(&blob));
    sandbox.git_in(&borrower, ["rm", "-q", "--cached", "new"]);
    fs::remove_file(borrower.join("new")).unwrap();
    let_go(&sandbox);
    json(&sandbox, &borrower, &["restore", id(&taken), "new"]);
    assert_eq!(fs::read(borrower.join("new")).unwrap(), b"staged\n");
    assert_whole(&sandbox, &borrower);
}

#[test]
fn a_lender_that_comes_later_is_not_relied_on_by_what_is_taken_then() {
    let sandbox = Sandbox::new();
    let other = sandbox.root().join("other");
    sandbox.git(["clone", "-q", "--no-local", ".", other.to_str().unwrap()]);
    for dir in [&sandbox.repo(), &other] {
        fs::write(dir.join("local"), "the same\n").unwrap();
    }
    sandbox.json(["snapshot"]);
    sandbox.git(["gc", "-q"]);
    let first = snapshot(&sandbox, &other);
    let line = format!("{}\n", sandbox.path(".git/objects").display());
    fs::write(other.join(".git/objects/info/alternates"), line).unwrap();
    // git drops what it finds in the other one's packs.
    sandbox.git_in(&other, ["repack", "-adlq"]);
    sandbox.git_in(&other, ["prune-packed"]);
    let blob = sandbox.git_in(&other, ["rev-parse", &format!("{}:local", commit(&first))]);
    assert!(!own_objects(&sandbox, &other).contains(&blob.trim().to_owned()));
    fs::write(other.join("a.txt"), "edited\n").unwrap();
    snapshot(&sandbox, &other);
    assert!(own_objects(&sandbox, &other).contains(&blob.trim().to_owned()));
    let_go(&sandbox);
    json(&sandbox, &other, &["drop", "-y", id(&first)]);
    assert_whole(&sandbox, &other);
}

#[test]
fn what_a_lender_let_go_is_read_again() {
    let (sandbox, borrower) = lender_and_borrower();
    for dir in [&sandbox.repo(), &borrower] {
        fs::write(dir.join("local"), "the same\n").unwrap();
    }
    sandbox.json(["snapshot"]);
    let first = snapshot(&sandbox, &borrower);
    sandbox.git(["gc", "-q"]);
    sandbox.git_in(&borrower, ["gc", "-q", "--prune=now"]);
    let_go(&sandbox);
    // git left the file to the lender, as it does with those of its own commits.
    let spec = format!("{}:local", commit(&first));
    let gone = sandbox.try_git_in(&borrower, ["cat-file", "blob", &spec]);
    assert_ne!(gone.code, 0);
    fs::write(borrower.join("a.txt"), "edited\n").unwrap();
    snapshot(&sandbox, &borrower);
    json(&sandbox, &borrower, &["drop", "-y", id(&first)]);
    assert_whole(&sandbox, &borrower);
    json(&sandbox, &borrower, &["diff", "latest", "present"]);
}

#[test]
fn a_snapshot_whose_index_a_lender_let_go_keeps_nobody_from_the_next() {
    for stages in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write("d/before/f", "f\n");
        sandbox.git(["add", "."]);
        sandbox.git(["commit", "-q", "-m", "before"]);
        sandbox.git(["checkout", "-q", "-b", "moved"]);
        sandbox.git(["mv", "d/before", "d/after"]);
        sandbox.git(["commit", "-q", "-m", "after"]);
        let after = sandbox.git(["rev-parse", "HEAD^{tree}"]).trim().to_owned();
        sandbox.git(["checkout", "-q", "main"]);
        sandbox.git(["repack", "-adq"]);
        let borrower = sandbox.root().join("borrower");
        sandbox.git(["clone", "-q", "--shared", ".", borrower.to_str().unwrap()]);
        sandbox.git_in(&borrower, ["update-ref", "-d", "refs/remotes/origin/moved"]);
        // The same move, staged there alone: its trees are the lender's.
        sandbox.git_in(&borrower, ["read-tree", "-m", "-u", "HEAD", &after]);
        settle();
        let first = snapshot(&sandbox, &borrower);
        sandbox.git_in(&borrower, ["gc", "-q", "--prune=now"]);
        sandbox.git(["branch", "-q", "-D", "moved"]);
        let_go(&sandbox);
        let gone = sandbox.try_git_in(&borrower, ["cat-file", "-e", &after]);
        assert_ne!(gone.code, 0);
        if stages {
            fs::write(borrower.join("a.txt"), "staged\n").unwrap();
            sandbox.git_in(&borrower, ["add", "a.txt"]);
        } else {
            sandbox.git_in(&borrower, ["update-index", "--force-write-index"]);
        }
        settle();
        snapshot(&sandbox, &borrower);
        json(&sandbox, &borrower, &["drop", "-y", id(&first)]);
        assert_whole(&sandbox, &borrower);
    }
}

#[test]
fn what_head_has_is_left_to_the_lender() {
    let sandbox = Sandbox::new();
    for nth in 0..1000 {
        let line = format!("{nth}\n");
        sandbox.write(format!("dir{}/f{nth}", nth % 50), line.repeat(1000));
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "many"]);
    let borrower = sandbox.root().join("borrower");
    sandbox.git(["clone", "-q", "--shared", ".", borrower.to_str().unwrap()]);
    snapshot(&sandbox, &borrower);
    let own = own_objects(&sandbox, &borrower).len();
    assert!(own < 300, "{own}");
    // Read, for git's index does not know them any more.
    fs::remove_file(borrower.join(".git/index")).unwrap();
    fs::remove_dir_all(borrower.join(".git/timewarp")).unwrap();
    sandbox.git_in(&borrower, ["read-tree", "HEAD"]);
    fs::write(borrower.join("dir7/new"), "new\n").unwrap();
    snapshot(&sandbox, &borrower);
    let own = own_objects(&sandbox, &borrower).len();
    assert!(own < 600, "{own}");
    assert_whole(&sandbox, &borrower);
}

#[test]
fn a_past_whose_beginning_is_not_all_there_leads_home() {
    let (sandbox, borrower) = lender_and_borrower();
    fs::write(borrower.join("new"), "new\n").unwrap();
    let taken = snapshot(&sandbox, &borrower);
    fs::write(borrower.join("a.txt"), "staged\n").unwrap();
    sandbox.git_in(&borrower, ["add", "a.txt"]);
    json(&sandbox, &borrower, &["travel", id(&taken)]);
    let index = sandbox.git_in(&borrower, ["rev-parse", &format!("{}^2", commit(&taken))]);
    let (dir, name) = index.trim().split_at(2);
    fs::remove_file(borrower.join(".git/objects").join(dir).join(name)).unwrap();
    assert_eq!(missing(&sandbox, &borrower)["fix"], "tw return");
    let lender = sandbox.repo();
    let away = sandbox.root().join("away");
    fs::rename(&lender, &away).unwrap();
    let fix = missing(&sandbox, &borrower)["fix"].to_string();
    fs::rename(&away, &lender).unwrap();
    assert!(fix.contains("objects/info/alternates"), "{fix}");
    let back = json(&sandbox, &borrower, &["return"]);
    assert_eq!(back["verified"], true, "{back}");
    assert_eq!(fs::read(borrower.join("a.txt")).unwrap(), b"staged\n");
}
