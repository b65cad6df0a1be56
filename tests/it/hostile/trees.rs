//! Trees that git would not make.

use timewarp::git::objects::ObjectKind;

use super::{FORGED, Model, assert_harmless, calm, put, tree};
use crate::sandbox::Sandbox;
use crate::stage::eventful;
use crate::trip::{mode, snapshot};

/// Plants trees with names that git would not put in one, for an entry of this mode.
fn names_are_refused(mode: &str) {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    let blob = put(&sandbox, ObjectKind::Blob, b"planted\n");
    let inner = tree(&sandbox, &[("100644", b"config", &blob)]);
    let names: [&[u8]; 16] = [
        b"..",
        b".",
        b".git",
        b".GIT",
        b".Git",
        b"git~1",
        b".git ",
        b".git.",
        b".git::$INDEX_ALLOCATION",
        b"a/b",
        b"/etc/planted",
        b"../planted",
        b"",
        b".g\xe2\x80\x8cit",
        b".git\\x",
        b"a/../../planted",
    ];
    let oid = if mode == "40000" { &inner } else { &blob };
    for name in names {
        let forged = tree(&sandbox, &[(mode, name, oid)]);
        model.plant(&sandbox, &forged, &model.document());
        assert_harmless(&sandbox, &format!("{} {mode}", name.escape_ascii()));
    }
}

#[test]
fn files_with_names_that_git_would_not_make_are_refused_whole() {
    names_are_refused("100644");
}

#[test]
fn directories_with_names_that_git_would_not_make_are_refused_whole() {
    names_are_refused("40000");
}

#[test]
fn symlinks_with_names_that_git_would_not_make_are_refused_whole() {
    names_are_refused("120000");
}

#[test]
fn trees_that_git_would_not_make_are_refused_whole() {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    let blob = put(&sandbox, ObjectKind::Blob, b"planted\n");
    let inner = tree(&sandbox, &[("100644", b"config", &blob)]);
    let below = tree(
        &sandbox,
        &[(
            "40000",
            b"dir",
            &tree(&sandbox, &[("40000", b".git", &inner)]),
        )],
    );
    model.plant(&sandbox, &below, &model.document());
    assert_harmless(&sandbox, "dir/.git");
    let pairs = [
        (
            "twice",
            tree(
                &sandbox,
                &[("100644", b"x", &blob), ("100644", b"x", &blob)],
            ),
        ),
        (
            "file and directory",
            tree(
                &sandbox,
                &[("100644", b"x", &blob), ("40000", b"x", &inner)],
            ),
        ),
        (
            "symlink and directory",
            tree(
                &sandbox,
                &[("120000", b"x", &blob), ("40000", b"x", &inner)],
            ),
        ),
        (
            "unsorted",
            tree(
                &sandbox,
                &[("100644", b"z", &blob), ("100644", b"b", &blob)],
            ),
        ),
        ("no mode", tree(&sandbox, &[("", b"x", &blob)])),
        ("not octal", tree(&sandbox, &[("100689", b"x", &blob)])),
        (
            "a blob as a tree",
            tree(&sandbox, &[("40000", b"x", &blob)]),
        ),
        (
            "a tree as a blob",
            tree(&sandbox, &[("100644", b"x", &inner)]),
        ),
        ("torn", put(&sandbox, ObjectKind::Tree, b"100644 x\0short")),
        (
            "missing blob",
            tree(&sandbox, &[("100644", b"x", &sandbox.kind().id("1"))]),
        ),
        (
            "missing tree",
            tree(&sandbox, &[("40000", b"x", &sandbox.kind().id("1"))]),
        ),
        ("no tree at all", sandbox.kind().id("2")),
        ("blob for a tree", blob.clone()),
    ];
    for (what, forged) in pairs {
        model.plant(&sandbox, &forged, &model.document());
        assert_harmless(&sandbox, what);
    }
}

#[test]
fn a_very_deep_tree_is_no_panic() {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    let blob = put(&sandbox, ObjectKind::Blob, b"deep\n");
    let mut at = tree(&sandbox, &[("100644", b"f", &blob)]);
    for _ in 0..500 {
        at = tree(&sandbox, &[("40000", b"d", &at)]);
    }
    model.plant(&sandbox, &at, &model.document());
    let before = sandbox.state();
    let ran = sandbox.tw(["--json", "travel", FORGED]);
    if calm(&ran, "500 levels")["ok"] == true {
        assert_eq!(sandbox.json(["return"])["verified"], true);
    }
    before.assert_same(&sandbox.state());
}

#[test]
fn a_tree_of_ten_thousand_levels_is_refused_whole() {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    let blob = put(&sandbox, ObjectKind::Blob, b"deep\n");
    let mut at = tree(&sandbox, &[("100644", b"f", &blob)]);
    for _ in 0..10_000 {
        at = tree(&sandbox, &[("40000", b"d", &at)]);
    }
    model.plant(&sandbox, &at, &model.document());
    assert_harmless(&sandbox, "10,000 levels");
}

/// git takes them as it would write them, and warns of them in `git fsck` alone.
#[test]
fn modes_of_old_with_all_permission_bits_are_taken_as_git_takes_them() {
    let sandbox = Sandbox::new();
    let blob = put(&sandbox, ObjectKind::Blob, b"x\n");
    let files = tree(
        &sandbox,
        &[
            ("100600", b"plain", &blob),
            ("100711", b"run", &blob),
            ("100775", b"too", &blob),
        ],
    );
    let root = tree(
        &sandbox,
        &[("100644", b"a", &blob), ("40755", b"d", &files)],
    );
    let commit = sandbox.git(["commit-tree", "-m", "of old", &root]);
    sandbox.git(["update-ref", "HEAD", commit.trim()]);
    sandbox.git(["reset", "-q", "--hard"]);
    let one = snapshot(&sandbox);
    sandbox.write("a", "edited\n");
    let home = sandbox.state();
    sandbox.json(["travel", &one]);
    sandbox.write("d/plain", "changed in the past\n");
    sandbox.remove("d/run");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    home.assert_same(&sandbox.state());
    assert_eq!(mode(&sandbox, "d/run"), 0o755);
    sandbox.json(["restore", &one, "a", "d"]);
    assert_eq!(sandbox.text("a"), "x\n");
}

/// Of a mode git looks at the type alone, and takes what has none that it knows for a submodule.
#[test]
fn modes_that_only_git_takes_lead_there_and_back() {
    for odd in ["100044", "100000", "160755", "160644", "644", "60644"] {
        let sandbox = Sandbox::new();
        sandbox.write("a", "one\n");
        sandbox.git(["add", "."]);
        sandbox.git(["commit", "-qm", "one"]);
        let one = snapshot(&sandbox);
        let blob = put(&sandbox, ObjectKind::Blob, b"x\n");
        let commit = sandbox.git(["rev-parse", "HEAD"]).trim().to_owned();
        let is_file = odd.starts_with("100");
        let oid = if is_file { &blob } else { &commit };
        let root = tree(&sandbox, &[("100644", b"a", &blob), (odd, b"z", oid)]);
        let commit = sandbox.git(["commit-tree", "-p", "HEAD", "-m", "odd", &root]);
        sandbox.git(["branch", "odd", commit.trim()]);
        let home = sandbox.state();

        // In the past they are checked out, and there is a way home.
        sandbox.json(["travel", &one]);
        sandbox.git(["checkout", "-q", "odd"]);
        assert_eq!(sandbox.git(["status", "--porcelain"]), "", "{odd}");
        let there = sandbox.json(["snapshot"]);
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{odd}: {returned}");
        home.assert_same(&sandbox.state());

        // They are of the snapshot, too, and git sees no change there.
        let there = there["snapshot"]["snapshot_id"].as_str().unwrap();
        sandbox.json(["travel", there]);
        assert_eq!(sandbox.git(["status", "--porcelain"]), "", "{odd}");
        assert_eq!(sandbox.path("z").is_file(), is_file, "{odd}");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["experiment_id"], serde_json::Value::Null, "{odd}");
        home.assert_same(&sandbox.state());
    }
}
