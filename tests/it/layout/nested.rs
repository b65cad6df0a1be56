//! Files that git tracks beside or beneath a `.git` that makes a repository of their directory, or makes none.

use crate::sandbox::Sandbox;
use crate::trip::{commit, list, snapshot, stored};

/// A repository that tracks `dir/f` and `dir/deep/g`.
fn tracking() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("dir/f", "tracked\n");
    sandbox.write("dir/deep/g", "tracked, too\n");
    commit(&sandbox, "a directory");
    sandbox
}

#[test]
fn what_git_tracks_is_captured_beside_a_stray_git_file() {
    for stray in ["gitdir: ../nowhere\n", "no git file\n", ""] {
        let sandbox = tracking();
        let clean = snapshot(&sandbox);
        sandbox.write("dir/.git", stray);
        sandbox.write("dir/f", "edited\n");
        sandbox.write("dir/untracked", "taken, too\n");
        let id = snapshot(&sandbox);
        for (path, text) in [
            ("dir/f", "edited\n"),
            ("dir/deep/g", "tracked, too\n"),
            ("dir/untracked", "taken, too\n"),
        ] {
            assert_eq!(stored(&sandbox, &id, path), text, "{stray:?}");
        }
        sandbox.assert_round_trip(&clean, |sandbox| {
            assert_eq!(sandbox.text("dir/f"), "tracked\n");
        });
        assert_eq!(sandbox.text("dir/.git"), stray);
    }
}

#[test]
fn a_working_nested_repository_hides_only_what_is_not_tracked() {
    let sandbox = tracking();
    let clean = snapshot(&sandbox);
    sandbox.git(["init", "-q", "dir"]);
    sandbox.write("dir/f", "edited\n");
    sandbox.write("dir/deep/untracked", "of the other repository\n");
    let id = snapshot(&sandbox);
    assert_eq!(stored(&sandbox, &id, "dir/f"), "edited\n");
    assert_eq!(stored(&sandbox, &id, "dir/deep/g"), "tracked, too\n");
    let names = sandbox.git([
        "ls-tree",
        "-r",
        "--name-only",
        &format!("refs/timewarp/snapshots/{id}"),
    ]);
    assert!(!names.contains("untracked"), "{names}");
    let shown = sandbox.ok(["show", &id]);
    assert!(shown.contains("nested-repository  dir\n"), "{shown}");
    // The fast way sees an edit, and that the repository ends and begins.
    sandbox.write("dir/deep/g", "edited, too\n");
    let next = snapshot(&sandbox);
    assert_eq!(stored(&sandbox, &next, "dir/deep/g"), "edited, too\n");
    std::fs::rename(sandbox.path("dir/.git/HEAD"), sandbox.path("dir/.git/no")).unwrap();
    let broken = snapshot(&sandbox);
    let text = stored(&sandbox, &broken, "dir/deep/untracked");
    assert_eq!(text, "of the other repository\n");
    std::fs::rename(sandbox.path("dir/.git/no"), sandbox.path("dir/.git/HEAD")).unwrap();
    sandbox.assert_round_trip(&clean, |sandbox| {
        assert_eq!(sandbox.text("dir/f"), "tracked\n");
        assert!(sandbox.exists("dir/deep/untracked"), "none of ours");
    });
}

#[test]
fn return_puts_tracked_files_back_into_a_nested_repository() {
    let sandbox = Sandbox::new();
    let without = snapshot(&sandbox);
    sandbox.write("dir/f", "tracked\n");
    commit(&sandbox, "a directory");
    sandbox.git(["init", "-q", "dir"]);
    sandbox.write("dir/own", "of the other repository\n");
    sandbox.assert_round_trip(&without, |sandbox| {
        assert!(!sandbox.exists("dir/f"));
        assert!(sandbox.exists("dir/own"));
    });
    assert_eq!(sandbox.text("dir/f"), "tracked\n");
}

/// Travel is refused over this path, and nothing has changed.
#[track_caller]
fn refused(sandbox: &Sandbox, id: &str, path: &str) {
    let before = sandbox.state();
    let (error, code) = sandbox.json_error(["travel", id]);
    let told = (error["code"].as_str(), code);
    assert_eq!(told, (Some("WOULD_OVERWRITE"), 5), "{error}");
    assert_eq!(list(&error["paths"]), [path], "{error}");
    before.assert_same(&sandbox.state());
}

#[test]
fn what_only_head_has_in_a_nested_repository_is_not_ours() {
    let sandbox = tracking();
    let clean = snapshot(&sandbox);
    sandbox.git(["rm", "-q", "--cached", "dir/deep/g"]);
    sandbox.git(["init", "-q", "dir"]);
    sandbox.write("dir/deep/g", "of the other repository\n");
    let id = snapshot(&sandbox);
    assert_eq!(stored(&sandbox, &id, "dir/f"), "tracked\n");
    let tree = format!("refs/timewarp/snapshots/{id}");
    let names = sandbox.git(["ls-tree", "-r", "--name-only", &tree]);
    assert!(!names.contains("dir/deep/g"), "{names}");
    refused(&sandbox, &clean, "dir");
    assert_eq!(sandbox.text("dir/deep/g"), "of the other repository\n");
}

#[test]
fn a_nested_repository_with_tracked_files_gives_way_to_no_file() {
    let sandbox = Sandbox::new();
    sandbox.write("dir", "a file then\n");
    sandbox.write("stray", "a file then\n");
    let id = snapshot(&sandbox);
    for dir in ["dir", "stray"] {
        sandbox.remove(dir);
        sandbox.write(format!("{dir}/f"), "tracked\n");
    }
    commit(&sandbox, "directories");
    sandbox.git(["init", "-q", "dir"]);
    refused(&sandbox, &id, "dir");
    sandbox.remove("dir/.git");
    sandbox.mkdir("stray/.git/objects");
    refused(&sandbox, &id, "stray/.git");
}

#[test]
fn undo_and_redo_reach_what_is_tracked_in_a_nested_repository() {
    let sandbox = tracking();
    let clean = snapshot(&sandbox);
    sandbox.git(["init", "-q", "dir"]);
    sandbox.write("dir/f", "edited\n");
    sandbox.remove("dir/deep/g");
    let edited = sandbox.state();
    sandbox.json(["restore", &clean]);
    assert_eq!(sandbox.text("dir/f"), "tracked\n");
    assert_eq!(sandbox.text("dir/deep/g"), "tracked, too\n");
    let restored = sandbox.state();
    sandbox.json(["undo"]);
    edited.assert_same(&sandbox.state());
    sandbox.json(["redo"]);
    restored.assert_same(&sandbox.state());
}

#[test]
fn recover_reaches_what_is_tracked_in_a_nested_repository() {
    let sandbox = Sandbox::new();
    let without = snapshot(&sandbox);
    sandbox.write("dir/f", "tracked\n");
    sandbox.write("dir/deep/g", "tracked, too\n");
    commit(&sandbox, "a directory");
    let clean = snapshot(&sandbox);
    sandbox.git(["init", "-q", "dir"]);
    sandbox.write("dir/own", "of the other repository\n");
    sandbox.write("dir/f", "edited\n");
    sandbox.write("dir/deep/own", "of the other repository\n");
    sandbox.remove("dir/deep/g");
    let present = sandbox.state();
    for target in [&without, &clean] {
        for point in ["swap-applied", "swap-index", "swap-proved"] {
            killed(&sandbox, &["travel", target], point);
            sandbox.ok(["recover", "--back"]);
            present.assert_same(&sandbox.state());
            killed(&sandbox, &["travel", target], point);
            sandbox.ok(["recover", "--forward"]);
            let past = sandbox.state();
            killed(&sandbox, &["return"], point);
            sandbox.ok(["recover", "--back"]);
            past.assert_same(&sandbox.state());
            killed(&sandbox, &["return"], point);
            sandbox.ok(["recover", "--forward"]);
            present.assert_same(&sandbox.state());
        }
    }
}

fn killed(sandbox: &Sandbox, args: &[&str], point: &str) {
    let mut command = sandbox.tw_command();
    let output = command.env("TW_FAIL_POINT", point).args(args).output();
    let output = output.unwrap();
    assert!(!output.status.success(), "{args:?} at {point}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!told.contains("error"), "{args:?} at {point}: {told}");
}

#[test]
fn what_a_nested_repository_hides_stays_although_git_tracks_it_in_the_past() {
    let sandbox = tracking();
    let clean = snapshot(&sandbox);
    sandbox.git(["init", "-q", "dir"]);
    sandbox.write("dir/hidden", "of the other repository\n");
    sandbox.write("dir/f", "edited\n");
    sandbox.json(["travel", &clean]);
    // Where the index has other files below, git adds it.
    sandbox.git(["update-index", "--add", "dir/hidden"]);
    sandbox.write("dir/made", "in the past\n");
    sandbox.git(["update-index", "--add", "dir/made"]);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(sandbox.text("dir/hidden"), "of the other repository\n");
    assert_eq!(sandbox.text("dir/f"), "edited\n");
    let experiment = returned["experiment_id"].as_str().unwrap();
    let spec = format!("refs/timewarp/experiments/{experiment}:dir/hidden");
    assert_eq!(
        sandbox.git(["cat-file", "blob", &spec]),
        "of the other repository\n"
    );
    // Like anything else that the present leaves out.
    assert_eq!(sandbox.text("dir/made"), "in the past\n");
}

#[test]
fn files_of_a_repository_that_was_none_for_a_while_stay() {
    let sandbox = Sandbox::new();
    let (lib, store) = (sandbox.path("lib"), sandbox.path("store"));
    let args = [
        "init",
        "-q",
        "--separate-git-dir",
        store.to_str().unwrap(),
        lib.to_str().unwrap(),
    ];
    sandbox.git(args);
    sandbox.write("lib/file", "of the other repository\n");
    let id = snapshot(&sandbox);
    // From now on it is none, and its files are captured.
    sandbox.write("store/HEAD", "broken\n");
    let before = sandbox.state();
    sandbox.json(["travel", &id]);
    assert_eq!(sandbox.text("lib/file"), "of the other repository\n");
    assert!(sandbox.text("store/HEAD").starts_with("ref: "));
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    before.assert_same(&sandbox.state());
    // What was changed there meanwhile is in the experiment.
    sandbox.json(["travel", &id]);
    sandbox.write("lib/file", "changed in the past\n");
    let returned = sandbox.json(["return"]);
    let experiment = returned["experiment_id"].as_str().unwrap();
    let spec = format!("refs/timewarp/experiments/{experiment}:lib/file");
    assert_eq!(
        sandbox.git(["cat-file", "blob", &spec]),
        "changed in the past\n"
    );
    before.assert_same(&sandbox.state());
}
