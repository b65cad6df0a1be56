//! Directories that hold nothing of their own: of submodules that were never initialised, and of sparse entries.

use serde_json::json;

use crate::sandbox::Sandbox;
use crate::trip::{commit, mode, snapshot};

/// A submodule at `dir/sub` that nobody initialised, in a commit on `main`; `old` is the commit before it.
fn with_submodule() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(["branch", "old"]);
    let oid = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.write(
        ".gitmodules",
        "[submodule \"s\"]\n\tpath = dir/sub\n\turl = ../s\n",
    );
    sandbox.git(["add", ".gitmodules"]);
    let entry = format!("160000,{},dir/sub", oid.trim());
    sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
    sandbox.mkdir("dir/sub");
    sandbox.git(["commit", "-qm", "a submodule"]);
    assert_eq!(sandbox.git(["status", "--short"]), "");
    sandbox
}

#[test]
fn the_directories_of_an_uninitialised_submodule_go_and_come_back() {
    let sandbox = with_submodule();
    let with = snapshot(&sandbox);
    // Here git removes `dir` with the submodule.
    sandbox.git(["checkout", "-q", "old"]);
    assert!(!sandbox.exists("dir"));
    let without = snapshot(&sandbox);
    sandbox.assert_round_trip(&with, |sandbox| assert!(sandbox.exists("dir/sub")));
    assert!(!sandbox.exists("dir"), "what travel made is gone");
    sandbox.assert_round_trip(&with, |sandbox| sandbox.remove("dir"));
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.assert_round_trip(&without, |_| {});
    sandbox.assert_round_trip(&without, |sandbox| {
        if sandbox.exists("dir") {
            sandbox.remove("dir");
        }
    });
    assert!(sandbox.exists("dir/sub"));
    // What stays beside the submodule keeps its directory.
    sandbox.git(["checkout", "-q", "old"]);
    sandbox.write("dir/other.txt", "other\n");
    sandbox.assert_round_trip(&with, |_| {});
}

#[test]
fn the_empty_directory_of_a_submodule_gives_way() {
    let places = [
        ("dir", "a file over it"),
        ("dir/sub", "a file in its place"),
    ];
    let places = places
        .into_iter()
        .chain([("dir/sub/x/y", "a file beneath")]);
    for (place, text) in places {
        let sandbox = with_submodule();
        let with = snapshot(&sandbox);
        sandbox.git(["checkout", "-q", "old"]);
        sandbox.write(place, text);
        let file = snapshot(&sandbox);
        // The submodule is where travel puts it, and gives way on the way home.
        sandbox.assert_round_trip(&with, |sandbox| {
            assert!(sandbox.exists("dir/sub"), "{place}");
        });
        sandbox.remove("dir");
        sandbox.git(["checkout", "-q", "main"]);
        // It is where git put it.
        sandbox.assert_round_trip(&file, |sandbox| assert_eq!(sandbox.text(place), text));
        sandbox.ok(["restore", &file]);
        assert_eq!(sandbox.text(place), text, "restored");
        sandbox.ok(["undo"]);
        assert!(sandbox.path("dir/sub").is_dir());
        sandbox.ok(["redo"]);
        assert_eq!(sandbox.text(place), text, "done again");
    }
}

#[test]
fn the_directory_of_a_submodule_with_something_in_it_does_not_give_way() {
    let sandbox = with_submodule();
    let with = snapshot(&sandbox);
    sandbox.git(["checkout", "-q", "old"]);
    sandbox.write("dir/sub", "a file\n");
    sandbox.json(["travel", &with]);
    sandbox.write("dir/sub/new.txt", "made in the past\n");
    let (error, _) = sandbox.json_error(["return"]);
    assert_eq!(error["code"], "WOULD_OVERWRITE");
    let returned = sandbox.json(["return", "--move-aside"]);
    let moved = returned["moved_aside"].as_array().unwrap();
    assert_eq!(moved.len(), 1, "{returned}");
    assert_eq!(moved[0]["from"], "dir/sub");
    let to = moved[0]["to"].as_str().unwrap();
    assert_eq!(sandbox.text(format!("{to}/new.txt")), "made in the past\n");
    assert_eq!(sandbox.text("dir/sub"), "a file\n");
}

/// What is in them is their own; that nobody else may look is not.
#[test]
fn the_bits_of_a_submodule_s_directory_come_back() {
    let sandbox = with_submodule();
    let with = snapshot(&sandbox);
    sandbox.chmod("dir/sub", 0o750);
    let others = &sandbox.json(["diff", &with])["others"];
    assert_eq!(
        (&others[0]["path"], &others[0]["new"]),
        (&json!("dir/sub"), &json!("0750"))
    );
    let narrow = snapshot(&sandbox);
    assert_ne!(with, narrow);
    // The same submodule on both sides, and others' bits in the past.
    sandbox.assert_round_trip(&with, |sandbox| {
        assert_eq!(mode(sandbox, "dir/sub"), 0o755);
        sandbox.chmod("dir/sub", 0o700);
    });
    assert_eq!(mode(&sandbox, "dir/sub"), 0o750);
    // A directory with files in its place, whatever its bits, and nothing at all.
    sandbox.git(["checkout", "-q", "old"]);
    let without = snapshot(&sandbox);
    sandbox.write("dir/sub/file", "a file\n");
    sandbox.chmod("dir/sub", 0o700);
    let files = snapshot(&sandbox);
    sandbox.remove("dir");
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.chmod("dir/sub", 0o2750);
    for past in [&files, &without, &narrow] {
        sandbox.assert_round_trip(past, |_| {});
        assert_eq!(mode(&sandbox, "dir/sub"), 0o2750, "{past}");
    }
}

/// In the past it is a submodule, and what is there is the present's.
#[test]
fn a_nested_repository_where_the_past_has_a_submodule_is_no_experiment() {
    let sandbox = with_submodule();
    let past = snapshot(&sandbox);
    sandbox.git(["rm", "-q", "--cached", "dir/sub"]);
    sandbox.git(["commit", "-qm", "none"]);
    sandbox.git(["init", "-q", "dir/sub"]);
    sandbox.write("dir/sub/mine", "mine\n");
    sandbox.chmod("dir/sub", 0o700);
    sandbox.json(["travel", &past]);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["experiment_id"], json!(null), "{returned}");
    assert_eq!(mode(&sandbox, "dir/sub"), 0o700);
}

#[test]
fn a_turn_that_changed_the_bits_of_a_submodule_s_directory_is_reverted() {
    let sandbox = with_submodule();
    snapshot(&sandbox);
    sandbox.chmod("dir/sub", 0o700);
    sandbox.write("a.txt", "edited\n");
    let after = snapshot(&sandbox);
    sandbox.json(["revert", &after]);
    assert_eq!(mode(&sandbox, "dir/sub"), 0o755);
}

#[test]
fn a_record_without_the_bits_of_submodules_says_nothing_of_them() {
    let sandbox = with_submodule();
    let id = snapshot(&sandbox);
    let name = format!("refs/timewarp/snapshots/{id}");
    let record = sandbox.git(["cat-file", "commit", &name]);
    let bits = "\"dir/sub\": \"0755\"";
    assert!(record.contains(bits), "{record}");
    sandbox.write(".git/commit", record.replace(bits, ""));
    let oid = sandbox.git(["hash-object", "-t", "commit", "-w", ".git/commit"]);
    sandbox.git(["update-ref", &name, oid.trim()]);
    sandbox.write("a.txt", "edited\n");
    sandbox.chmod("dir/sub", 0o700);
    sandbox.json(["travel", &id]);
    assert_eq!(mode(&sandbox, "dir/sub"), 0o700);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["experiment_id"], json!(null), "{returned}");
    assert_eq!(mode(&sandbox, "dir/sub"), 0o700);
}

#[test]
fn a_directory_with_nothing_but_sparse_entries_comes_back() {
    let sandbox = Sandbox::new();
    sandbox.write("kept/f", "kept\n");
    sandbox.write("left/deep/f", "left\n");
    sandbox.write("also/f", "also\n");
    commit(&sandbox, "directories");
    let whole = snapshot(&sandbox);
    for path in ["left/deep/f", "also/f"] {
        sandbox.git(["update-index", "--skip-worktree", path]);
        sandbox.remove(path);
    }
    // One stays as a directory, the other goes.
    sandbox.remove("also");
    let sparse = snapshot(&sandbox);
    let dirs = || (sandbox.path("left/deep").is_dir(), sandbox.exists("also"));
    sandbox.assert_round_trip(&whole, |_| {});
    assert_eq!(dirs(), (true, false));
    sandbox.assert_round_trip(&whole, |sandbox| {
        sandbox.remove("left");
        sandbox.mkdir("also");
    });
    assert_eq!(
        dirs(),
        (true, false),
        "after the past removed one and made the other"
    );
    sandbox.assert_round_trip(&sparse, |sandbox| sandbox.remove("left"));
    assert_eq!(dirs(), (true, false));
    // From a whole working tree to the sparse one and back.
    sandbox.git([
        "update-index",
        "--no-skip-worktree",
        "left/deep/f",
        "also/f",
    ]);
    sandbox.git(["checkout", "-q", "--", "."]);
    sandbox.assert_round_trip(&sparse, |_| {});
    assert_eq!(sandbox.text("left/deep/f"), "left\n");
}
