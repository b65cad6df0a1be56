//! Nested repositories of the present: what in them is theirs is in no backup, and stays.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::trip::snapshot;

/// A nested repository `k`, of which git tracks `k/n` here; beside it is what is that repository's own. The snapshots before it was
/// one, and after.
fn with_repository() -> (Sandbox, [String; 2]) {
    let sandbox = Sandbox::new();
    sandbox.write("k/n", "ours\n");
    sandbox.git(["add", "k/n"]);
    sandbox.git(["commit", "-qm", "ours"]);
    sandbox.write("k/own", "before\n");
    let before = snapshot(&sandbox);
    sandbox.git(["init", "-q", "k"]);
    sandbox.write("k/own", "own\n");
    sandbox.write("k/dir/deep", "deep\n");
    let after = snapshot(&sandbox);
    (sandbox, [before, after])
}

#[track_caller]
fn assert_own_is_there(sandbox: &Sandbox) {
    let texts = ["k/n", "k/own", "k/dir/deep"].map(|path| sandbox.text(path));
    assert_eq!(texts, ["ours\n", "own\n", "deep\n"]);
}

#[test]
fn what_head_still_tracks_in_a_directory_that_became_a_repository_stays() {
    for as_submodule in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write("k/n", "theirs\n");
        sandbox.git(["add", "k/n"]);
        sandbox.git(["commit", "-qm", "ours"]);
        sandbox.git(["rm", "-rq", "--cached", "k"]);
        sandbox.git(["init", "-q", "k"]);
        sandbox.git(["-C", "k", "add", "n"]);
        sandbox.git(["-C", "k", "commit", "-qm", "theirs"]);
        if as_submodule {
            let commit = sandbox.git(["-C", "k", "rev-parse", "HEAD"]);
            let entry = format!("160000,{},k", commit.trim());
            sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
        }
        let id = snapshot(&sandbox);
        let home = sandbox.state();
        sandbox.json(["travel", &id]);
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
        assert_eq!(sandbox.text("k/n"), "theirs\n", "{returned}");
        home.assert_same(&sandbox.state());
    }
}

#[test]
fn what_is_beside_our_files_in_a_repository_stays_when_it_is_none_any_more() {
    let (sandbox, [before, after]) = with_repository();
    sandbox.json(["travel", &after]);
    sandbox.remove("k/.git");
    // No backup has it: nothing goes to where it would be replaced.
    let (error, _) = sandbox.json_error(["travel", "--hop", &before]);
    assert_eq!(error["code"], "WOULD_OVERWRITE", "{error}");
    assert_eq!(error["paths"], json!(["k/own"]), "{error}");
    assert_own_is_there(&sandbox);
    sandbox.write("k/made", "in the past\n");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(
        returned["changes"]["removed"],
        json!(["k/made"]),
        "{returned}"
    );
    let notices = returned["notices"].to_string();
    assert!(notices.contains("no backup has it: 'k/.git'"), "{returned}");
    assert_own_is_there(&sandbox);
}

#[test]
fn what_is_made_in_the_place_of_a_repository_goes_with_the_past() {
    let (sandbox, [_, after]) = with_repository();
    sandbox.json(["travel", &after]);
    sandbox.remove("k");
    sandbox.write("k/made", "in the past\n");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert!(!sandbox.exists("k/made") && sandbox.text("k/n") == "ours\n");
    let experiment = returned["experiment_id"].as_str().unwrap();
    assert_eq!(
        crate::trip::stored(&sandbox, experiment, "k/made"),
        "in the past\n"
    );
}

/// Also what only its HEAD tells. Looks of git write into its `.git`.
#[test]
fn what_changed_in_a_repository_of_its_own_is_named() {
    type Change = fn(&Sandbox);
    let changes: [(Change, Value); 4] = [
        (|sandbox| sandbox.write("k/own", "changed\n"), json!(["k"])),
        (|sandbox| sandbox.write("k/dir/new", "new\n"), json!(["k"])),
        (
            |sandbox| {
                let commit = ["-C", "k", "commit", "-q", "--allow-empty", "-m", "more"];
                sandbox.git(commit);
            },
            json!(["k"]),
        ),
        (
            |sandbox| {
                sandbox.git(["-C", "k", "status"]);
                sandbox.git(["-C", "k", "update-index", "--refresh"]);
            },
            json!([]),
        ),
    ];
    for (change, stayed) in changes {
        let sandbox = Sandbox::new();
        sandbox.git(["init", "-q", "k"]);
        sandbox.write("k/own", "own\n");
        sandbox.write("k/dir/deep", "deep\n");
        sandbox.git(["-C", "k", "add", "own"]);
        sandbox.git(["-C", "k", "commit", "-q", "-m", "own"]);
        let id = snapshot(&sandbox);
        sandbox.json(["travel", &id]);
        std::thread::sleep(std::time::Duration::from_millis(20));
        change(&sandbox);
        assert_eq!(sandbox.json(["return"])["stayed"], stayed);
    }
}

#[test]
fn what_changed_in_a_repository_with_files_of_ours_is_named() {
    let (sandbox, [_, after]) = with_repository();
    sandbox.json(["travel", &after]);
    sandbox.write("k/own", "changed\n");
    sandbox.write("k/new", "new\n");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["stayed"], json!(["k/new", "k/own"]), "{returned}");
}

#[test]
fn files_of_ours_in_a_repository_that_the_past_ignores_come_back() {
    for dir in ["ignored", "dist"] {
        for edited in [false, true] {
            let sandbox = Sandbox::new();
            sandbox.write(".gitignore", "/ignored\n");
            let before = snapshot(&sandbox);
            let [file, deep, own] = ["x", "s/y", "own"].map(|name| format!("{dir}/{name}"));
            sandbox.write(&file, "ours\n");
            sandbox.write(&deep, "ours, too\n");
            sandbox.git(["add", "-f", dir]);
            sandbox.git(["commit", "-qm", "ours"]);
            sandbox.git(["init", "-q", dir]);
            sandbox.write(&own, "its own\n");
            let home = sandbox.state();
            sandbox.json(["travel", &before]);
            if edited {
                sandbox.write(&file, "edited\n");
            }
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["verified"], true, "{dir}: {returned}");
            home.assert_same(&sandbox.state());
            let experiment = returned["experiment_id"].as_str();
            assert_eq!(experiment.is_some(), edited, "{dir}: {returned}");
            if let Some(experiment) = experiment {
                let address = format!("refs/timewarp/experiments/{experiment}:{file}");
                assert_eq!(sandbox.git(["cat-file", "blob", &address]), "edited\n");
            }
            let texts = [&file, &deep, &own].map(|path| sandbox.text(path));
            assert_eq!(texts, ["ours\n", "ours, too\n", "its own\n"]);
        }
    }
}
