//! Trips in sparse checkouts: what the index has of paths that are not on disk, and what comes of it.

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::trip::{commit, snapshot};

/// `in/x` and `out/y` in a commit, and `out/` with these files, too; the checkout has `in/` alone.
fn sparse(more: &[(&str, &str)], form: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("in/x", "one\n");
    sandbox.write("out/y", "one\n");
    for (path, text) in more {
        sandbox.write(path, text);
    }
    commit(&sandbox, "dirs");
    sandbox.git(["sparse-checkout", "set", "--cone", form, "in"]);
    sandbox
}

/// The paths in a snapshot's tree.
fn paths(sandbox: &Sandbox, id: &str) -> Vec<String> {
    let commit = crate::trip::commit_of(sandbox, id);
    let listed = sandbox.git(["ls-tree", "-r", "--name-only", &commit]);
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn a_split_index_that_git_may_fold_stays_one_that_git_can_read() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.splitIndex", "true"]);
    sandbox.write("in/x", "one\n");
    sandbox.write("out/deep/x", "one\n");
    sandbox.write("out/deep/y", "one\n");
    // Behind what git would fold.
    sandbox.write("z", "one\n");
    commit(&sandbox, "dirs");
    sandbox.git(["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    let id = snapshot(&sandbox);
    sandbox.write("in/x", "two\n");
    sandbox.git(["add", "in/x"]);
    sandbox.write("in/x", "three\n");
    // Whether or not git wrote its index in between.
    for looks in [false, true] {
        sandbox.assert_round_trip(&id, |sandbox| {
            if looks {
                assert_eq!(sandbox.git(["status", "--porcelain"]), "");
                assert!(!sandbox.exists("out"));
            }
        });
    }
    // The next command may be one that writes the index.
    sandbox.write("z", "two\n");
    sandbox.git(["add", "z"]);
    assert_eq!(
        sandbox.git(["diff", "--cached", "--name-only"]),
        "in/x\nz\n"
    );
    sandbox.git(["reset", "-q", "--", "z"]);
    sandbox.write("z", "one\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "MM in/x\n");
    sandbox.json(["restore", "--staged", &id, "in/x"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M in/x\n");
    sandbox.json(["undo"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "MM in/x\n");
    sandbox.json(["open", &id, "../opened"]);
    let opened = sandbox.root().join("opened");
    assert_eq!(sandbox.git_in(&opened, ["status", "--porcelain"]), "");
    sandbox.git(["commit", "-q", "-a", "-m", "two"]);
    assert_eq!(sandbox.try_git(["fsck"]).err(), "");
}

#[test]
fn a_directory_outside_the_checkout_goes_with_the_past_whatever_its_bits() {
    let sandbox = Sandbox::new();
    sandbox.write("in/x", "one\n");
    sandbox.write("out/x", "one\n");
    commit(&sandbox, "dirs");
    let id = snapshot(&sandbox);
    sandbox.git(["sparse-checkout", "set", "--cone", "in"]);
    for bits in [0o700, 0o500] {
        sandbox.assert_round_trip(&id, |sandbox| sandbox.chmod("out", bits));
        assert!(!sandbox.exists("out"), "{bits:o}");
    }
}

/// What sparse checkouts are used for with such names.
#[test]
fn names_that_are_too_long_for_the_disk_may_be_outside_the_checkout() {
    let sandbox = Sandbox::new();
    let long = "a".repeat(300);
    let blob = sandbox.git(["hash-object", "-w", "a.txt"]);
    for path in [format!("{long}/f"), format!("in/{long}")] {
        let entry = format!("100644,{},{path}", blob.trim());
        sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
    }
    sandbox.git(["commit", "-q", "-m", "long"]);
    sandbox.git(["sparse-checkout", "set", "--no-cone", "/a.txt", "/in/short"]);
    sandbox.write("in/short", "one\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "?? in/short\n");
    let id = snapshot(&sandbox);
    sandbox.write("in/short", "two\n");
    for _ in 0..2 {
        sandbox.assert_round_trip(&id, |sandbox| {
            assert_eq!(sandbox.text("in/short"), "one\n");
        });
        sandbox.write("a.txt", "three\n");
        snapshot(&sandbox);
    }
}

#[test]
fn what_is_added_with_intent_stays_in_an_index_that_git_may_fold() {
    for splits in ["true", "false"] {
        let sandbox = Sandbox::new();
        sandbox.git(["config", "core.splitIndex", splits]);
        sandbox.write("in/x", "one\n");
        sandbox.write("out/deep/x", "one\n");
        sandbox.write("z", "one\n");
        commit(&sandbox, "dirs");
        sandbox.git(["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
        sandbox.write("in/new", "one\n");
        sandbox.git(["add", "-N", "in/new"]);
        let status = " A in/new\n";
        let id = snapshot(&sandbox);
        sandbox.write("z", "two\n");
        sandbox.assert_round_trip(&id, |sandbox| {
            assert_eq!(sandbox.git(["status", "--porcelain"]), status);
        });
        sandbox.write("z", "one\n");
        assert_eq!(sandbox.git(["status", "--porcelain"]), status);
        sandbox.json(["open", &id, "../opened"]);
        let opened = sandbox.root().join("opened");
        assert_eq!(sandbox.git_in(&opened, ["status", "--porcelain"]), status);
        // The next command may be one that writes the index.
        sandbox.git(["add", "in/new"]);
        assert_eq!(sandbox.git(["status", "--porcelain"]), "A  in/new\n");
    }
}

#[test]
fn what_was_not_fetched_may_come_before_the_return() {
    let source = sparse(&[("out/empty", "")], "--no-sparse-index");
    source.git(["config", "uploadpack.allowFilter", "true"]);
    let clone = source.root().join("clone");
    let url = format!("file://{}", source.repo().display());
    let to = clone.to_str().expect("text");
    source.git(["clone", "-q", "--filter=blob:none", "--sparse", &url, to]);
    source.git_in(&clone, ["sparse-checkout", "set", "in"]);
    let tw = |args: &[&str]| -> Value {
        let ran = source.tw_in(&clone, [&["--json"], args].concat());
        let document: Value = serde_json::from_slice(&ran.stdout).expect("a document");
        assert_eq!(document["ok"], true, "{args:?}: {document}");
        document
    };
    let id = tw(&["snapshot"])["snapshot"]["snapshot_id"].clone();
    let id = id.as_str().expect("an id");
    // The backup stores the very bytes that an entry names which was not fetched.
    std::fs::write(clone.join("in/x"), "two\n").expect("written");
    std::fs::write(clone.join("in/empty"), "").expect("written");
    let entries = || source.git_in(&clone, ["ls-files", "-s", "-t"]);
    let before = entries();
    let fetches: [&[&str]; 2] = [&["status"], &["show", "HEAD:out/y"]];
    for fetch in fetches {
        tw(&["travel", id]);
        source.git_in(&clone, fetch);
        let returned = tw(&["return"]);
        assert_eq!(returned["verified"], true, "{fetch:?}: {returned}");
        assert_eq!(
            returned["changed_since"],
            serde_json::json!([]),
            "{returned}"
        );
        assert_eq!(entries(), before);
    }
    assert!(!clone.join("out").exists());
}

#[test]
fn an_entry_without_an_object_gets_one_from_a_file() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("new", "same\n");
    let oid = sandbox.git(["hash-object", "new"]);
    let entry = format!("100644,{},ghost", oid.trim());
    sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
    let before = sandbox.git(["ls-files", "-s"]);
    sandbox.json(["travel", &id]);
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(sandbox.git(["ls-files", "-s"]), before);
    assert_eq!(sandbox.text("new"), "same\n");
}

#[test]
fn an_ignore_file_outside_the_checkout_counts_as_for_git() {
    let rules = [("out/.gitignore", "*.o\nbuild/\n")];
    for form in ["--no-sparse-index", "--sparse-index"] {
        let sandbox = sparse(&rules, form);
        let empty = snapshot(&sandbox);
        sandbox.write("out/present.o", "ignored\n");
        sandbox.write("out/build/made", "ignored\n");
        sandbox.write("out/present.c", "captured\n");
        let id = snapshot(&sandbox);
        let named = paths(&sandbox, &id);
        assert!(named.contains(&"out/present.c".to_owned()), "{named:?}");
        assert!(
            !named
                .iter()
                .any(|path| path.rsplit('.').next() == Some("o")),
            "{named:?}"
        );
        assert!(!named.contains(&"out/build/made".to_owned()), "{named:?}");
        // The names of a known directory are judged by the same rules.
        sandbox.write("out/later.o", "ignored\n");
        sandbox.write("in/x", "two\n");
        assert_eq!(paths(&sandbox, &snapshot(&sandbox)), named);
        sandbox.json(["travel", &empty]);
        assert_eq!(sandbox.text("out/present.o"), "ignored\n", "left in place");
        assert!(!sandbox.exists("out/present.c"));
        sandbox.write("out/past.o", "ignored\n");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        assert_eq!(sandbox.text("out/present.c"), "captured\n");
        assert_eq!(
            sandbox.git(["status", "--porcelain"]),
            " M in/x\n?? out/present.c\n"
        );
        // On disk again it speaks for itself.
        sandbox.write("out/.gitignore", "*.c\n");
        let named = paths(&sandbox, &snapshot(&sandbox));
        assert!(named.contains(&"out/later.o".to_owned()), "{named:?}");
        assert!(!named.contains(&"out/present.c".to_owned()), "{named:?}");
    }
}

#[test]
fn the_ignore_file_of_the_root_may_be_outside_the_checkout() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.o\n");
    sandbox.write("in/x", "one\n");
    commit(&sandbox, "dirs");
    sandbox.git(["sparse-checkout", "set", "--no-cone", "in/"]);
    assert!(!sandbox.exists(".gitignore"));
    let id = snapshot(&sandbox);
    sandbox.write("in/x.o", "ignored\n");
    sandbox.write("in/x", "two\n");
    assert!(!paths(&sandbox, &snapshot(&sandbox)).contains(&"in/x.o".to_owned()));
    sandbox.assert_round_trip(&id, |sandbox| {
        sandbox.write("in/past.o", "ignored\n");
        sandbox.remove("in/past.o");
    });
    assert_eq!(sandbox.text("in/x.o"), "ignored\n");
}

#[test]
fn the_directory_of_a_submodule_outside_the_checkout_stays_away() {
    let sandbox = Sandbox::new();
    sandbox.write("in/x", "one\n");
    let head = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.mkdir("out/sub");
    sandbox.git(["add", "."]);
    let entry = format!("160000,{},out/sub", head.trim());
    sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
    sandbox.git(["commit", "-q", "-m", "a submodule, not initialised"]);
    let whole = snapshot(&sandbox);
    sandbox.git([
        "sparse-checkout",
        "set",
        "--cone",
        "--no-sparse-index",
        "in",
    ]);
    if sandbox.exists("out") {
        sandbox.remove("out");
    }
    let sparse = snapshot(&sandbox);
    assert_eq!(sandbox.git(["ls-files", "-t", "out"]), "S out/sub\n");
    for (id, is_there) in [(&whole, true), (&sparse, false)] {
        sandbox.json(["travel", id]);
        assert_eq!(sandbox.exists("out/sub"), is_there, "{id}");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
        assert!(!sandbox.exists("out"));
        assert_eq!(sandbox.git(["ls-files", "-t", "out"]), "S out/sub\n");
    }
    // And the other way round.
    sandbox.git(["sparse-checkout", "disable"]);
    sandbox.mkdir("out/sub");
    assert_eq!(sandbox.git(["ls-files", "-t", "out"]), "H out/sub\n");
    sandbox.assert_round_trip(&sparse, |_| ());
    assert!(sandbox.exists("out/sub"));
}

/// Its directory is there only for what the index has beneath it.
#[test]
fn an_ignored_file_over_what_the_checkout_leaves_out_gives_way_and_comes_back() {
    let sandbox = Sandbox::new();
    sandbox.write("d/x", "x\n");
    sandbox.write("d/s/y", "y\n");
    commit(&sandbox, "d");
    sandbox.git(["update-index", "--skip-worktree", "d/x"]);
    sandbox.remove("d/x");
    let id = snapshot(&sandbox);
    sandbox.remove("d");
    // As it does in a sparse checkout, this leaves 'd/x' in the index.
    sandbox.git(["rm", "-rq", "--cached", "d"]);
    assert_eq!(sandbox.git(["ls-files", "d"]), "d/x\n");
    sandbox.write(".gitignore", "/d\n");
    sandbox.write("d", "ignored\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("d/s/y"), "y\n");
    });
    assert_eq!(sandbox.text("d"), "ignored\n");
}
