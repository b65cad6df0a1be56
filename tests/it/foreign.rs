//! Snapshots that were fetched from a clone: its worktree has this one's name, and they are not this worktree's.

use serde_json::Value;

use crate::issue::FIELDS;
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

#[test]
fn a_search_is_of_this_repositorys_snapshots() {
    let (sandbox, own, foreign) = fetched();
    sandbox.wait(10);
    sandbox.write("a.txt", "broken\n");
    let check = ["--", "grep", "-q", "mine", "a.txt"];
    let found = sandbox.json(["bisect", "run"].iter().chain(&check));
    assert_eq!(found["result"], "found", "{found}");
    assert_eq!(found["last_good"]["snapshot_id"], own);
    assert_eq!(found["snapshots"], 2);
    assert!(!found.to_string().contains(&foreign), "{found}");
    let named = ["bisect", "run", "--good", &foreign];
    let (error, exit) = sandbox.json_error(named.iter().chain(&check));
    assert_eq!(
        (error["code"].as_str(), exit),
        (Some("USAGE"), 2),
        "{error}"
    );
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

/// A clone that has a snapshot under a branch's name alone, as `git fetch` puts it there that is told to, and its id.
fn under_a_branch() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "mine\n");
    let theirs = sandbox.root().join("theirs");
    sandbox.git(["clone", "-q", ".", theirs.to_str().unwrap()]);
    std::fs::write(theirs.join("a.txt"), "theirs\n").unwrap();
    std::fs::write(theirs.join("new"), "theirs\n").unwrap();
    let foreign = sandbox.tw_in(&theirs, ["-q", "snapshot"]).out();
    let foreign = foreign.trim().to_owned();
    let refs = format!("refs/timewarp/snapshots/{foreign}:refs/heads/snap");
    sandbox.git(["fetch", "-q", theirs.to_str().unwrap(), &refs]);
    (sandbox, foreign)
}

fn own_refs(sandbox: &Sandbox) -> String {
    sandbox.git(["for-each-ref", "--format=%(refname)", "refs/timewarp"])
}

#[test]
fn a_snapshot_that_only_a_branch_or_a_commit_id_names_is_travelled_to() {
    for by_id in [false, true] {
        let (sandbox, foreign) = under_a_branch();
        let commit = sandbox.git(["rev-parse", "snap"]).trim().to_owned();
        let address = if by_id { &*commit } else { "snap" };
        sandbox.json(["travel", "--dry-run", address]);
        assert_eq!(own_refs(&sandbox), "");
        let travelled = sandbox.json(["travel", address]);
        assert_eq!(travelled["snapshot_id"], foreign);
        assert_eq!(sandbox.text("new"), "theirs\n");
        // What led there is not needed any more.
        sandbox.git(["branch", "-q", "-D", "snap"]);
        sandbox.git(["gc", "-q", "--prune=now"]);
        assert_eq!(
            sandbox.json(["status"])["state"]["current_snapshot_id"],
            foreign
        );
        sandbox.write("new", "changed\n");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        assert!(returned["experiment_id"].is_string(), "{returned}");
        assert_eq!(sandbox.text("a.txt"), "mine\n");
        assert!(!sandbox.exists("new"));
        sandbox.assert_round_trip(&foreign, |_| ());
    }
}

#[test]
fn a_snapshot_that_only_a_branch_names_is_opened_labelled_and_reported_on() {
    let (sandbox, foreign) = under_a_branch();
    let opened = sandbox.json(["open", "snap"]);
    let dir = opened["dir"].as_str().unwrap();
    assert_eq!(
        std::fs::read(std::path::Path::new(dir).join("new")).unwrap(),
        b"theirs\n"
    );
    sandbox.json(["close", dir]);
    let (sandbox, _) = under_a_branch();
    sandbox.json(["restore", "snap"]);
    sandbox.json(["undo"]);
    sandbox.git(["branch", "-q", "-D", "snap"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    sandbox.json(["redo"]);
    assert_eq!(sandbox.text("new"), "theirs\n");
    let (sandbox, _) = under_a_branch();
    sandbox.json(["label", "snap", "theirs"]);
    assert_eq!(sandbox.json(["show", "label:theirs"])["ok"], true);
    let (sandbox, foreign_there) = under_a_branch();
    assert_ne!(foreign, foreign_there);
    let report = ["issue", "report", "--snapshot", "snap"];
    let reported = sandbox.json(report.iter().chain(&FIELDS));
    assert_eq!(
        reported["issue"]["snapshot_id"], foreign_there,
        "{reported}"
    );
}

/// `tw purge` gives a snapshot another commit; a branch may still have the old one.
#[test]
fn a_commit_that_was_rewritten_is_not_travelled_to() {
    let sandbox = Sandbox::new();
    sandbox.write("secret", "s3cret\n");
    let id = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"].clone();
    let id = id.as_str().unwrap();
    sandbox.git(["branch", "kept", &format!("refs/timewarp/snapshots/{id}")]);
    sandbox.json(["purge", "--yes-purge", "secret"]);
    let refs = own_refs(&sandbox);
    let (error, code) = sandbox.json_error(["travel", "kept"]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("SNAPSHOT_NOT_FOUND"), 3)
    );
    assert!(
        error["message"].as_str().unwrap().contains("was rewritten"),
        "{error}"
    );
    assert_eq!(own_refs(&sandbox), refs);
}
