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
fn a_plain_list_has_no_other_repositorys_snapshots() {
    let (sandbox, own, foreign) = fetched();
    let plain: [&[&str]; 3] = [
        &["list", "-n", "5"],
        &["list"],
        &["list", "--since", "1970-01-01"],
    ];
    for args in plain {
        assert_eq!(ids(&sandbox.json(args)), [&*own], "{args:?}");
        let all = sandbox.json([args, &["--all-worktrees"]].concat());
        assert_eq!(ids(&all), [&*foreign, &*own], "{args:?}");
    }
}
