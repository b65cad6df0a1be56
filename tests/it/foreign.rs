//! Snapshots that were fetched from a clone: its worktree has this one's name, and they are not this worktree's.

use serde_json::Value;

use crate::sandbox::Sandbox;

/// A repository with a snapshot of its own and a later one of a clone, and their ids.
fn fetched() -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "mine\n");
    let own = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"].clone();
    sandbox.wait(10);
    let theirs = sandbox.root().join("theirs");
    sandbox.git(["clone", "-q", ".", theirs.to_str().unwrap()]);
    std::fs::write(theirs.join("a.txt"), "theirs\n").unwrap();
    let foreign = sandbox.tw_in(&theirs, ["-q", "snapshot"]).out();
    let refs = "refs/timewarp/snapshots/*:refs/timewarp/snapshots/*";
    sandbox.git(["fetch", "-q", theirs.to_str().unwrap(), refs]);
    let foreign = foreign.trim().to_owned();
    (sandbox, own.as_str().unwrap().to_owned(), foreign)
}

fn ids(listing: &Value) -> Vec<String> {
    let all = listing["snapshots"].as_array().unwrap().iter();
    all.map(|one| one["snapshot_id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn relative_addresses_and_times_mean_no_other_repositorys_snapshot() {
    let (sandbox, own, foreign) = fetched();
    for address in ["latest", "now"] {
        let shown = sandbox.json(["show", address]);
        assert_eq!(shown["snapshot"]["snapshot_id"], own, "{address}");
    }
    let (_, exit) = sandbox.json_error(["show", "latest~1"]);
    assert_eq!(exit, 3);
    assert_eq!(
        sandbox.json(["show", &foreign])["snapshot"]["foreign"],
        true
    );
    assert_eq!(sandbox.json(["diff"])["files"], serde_json::json!([]));
    let status = sandbox.json(["status"]);
    assert_eq!(status["latest"]["snapshot_id"], own);
}

#[test]
fn nothing_changed_since_this_repositorys_newest() {
    let (sandbox, own, _) = fetched();
    let taken = sandbox.json(["snapshot", "--if-changed"]);
    assert_eq!(taken["snapshot"]["snapshot_id"], own);
    assert_eq!(taken["fresh"], false);
}

#[test]
fn foreign_ones_are_listed_and_said_to_be() {
    let (sandbox, own, foreign) = fetched();
    let plain: [&[&str]; 3] = [
        &["list", "-n", "5"],
        &["list"],
        &["list", "--since", "1970-01-01"],
    ];
    for args in plain {
        let listed = sandbox.json(args);
        assert_eq!(ids(&listed), [&*foreign, &*own], "{args:?}");
        let told = |at: usize| listed["snapshots"][at]["foreign"].as_bool();
        assert_eq!((told(0), told(1)), (Some(true), Some(false)), "{args:?}");
    }
    let found = sandbox.json(["find", "a.txt"]);
    assert!(found["versions"].to_string().contains(&foreign), "{found}");
}

/// A clone that has taken none, or a repository that has lost its id.
#[test]
fn where_there_is_no_other_the_foreign_ones_count() {
    let (sandbox, own, foreign) = fetched();
    std::fs::remove_file(sandbox.git_dir().join("timewarp/id")).unwrap();
    let shown = sandbox.json(["show", "latest"]);
    assert_eq!(shown["snapshot"]["snapshot_id"], foreign);
    assert_eq!(shown["snapshot"]["foreign"], true);
    let before = sandbox.json(["show", "latest~1"]);
    assert_eq!(before["snapshot"]["snapshot_id"], own);
    assert!(ids(&sandbox.json(["list"])).contains(&own));
}
