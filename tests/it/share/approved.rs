//! A command that was approved here runs among files that were made here. What came along with a pull has to be approved for itself,
//! whatever the command says.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::hub::{Clone_, Hub};
use super::snapshots::snapshot;

/// An issue of ours that somebody else has tied to a snapshot of theirs, in which its check does something else.
struct Tied<'a> {
    ours: Clone_<'a>,
    theirs: Clone_<'a>,
    issue: String,
    /// Their snapshot.
    snapshot: String,
    /// It is there when their check ran.
    ran: PathBuf,
}

fn tied<'a>(hub: &'a Hub, check: &[&str]) -> Tied<'a> {
    let ours = hub.sharing("a");
    ours.write("check.sh", "exit 0\n");
    ours.git(["add", "-A"]);
    ours.git(["commit", "-q", "-m", "check"]);
    let issue = ours.report_by(&[&["--symptom", "mine"], check].concat());
    ours.json(["issue", "close", &issue]);
    ours.json(["push"]);
    let theirs = hub.sharing("b");
    theirs.json(["pull"]);
    let ran = hub.sandbox.root().join("ran");
    theirs.write("check.sh", &format!("echo ran >'{}'\n", ran.display()));
    let snapshot = snapshot(&theirs, "theirs");
    theirs.json(["issue", "edit", &issue, "--snapshot", &snapshot]);
    theirs.json(["push", "--snapshots", &snapshot]);
    ours.json(["pull"]);
    Tied {
        ours,
        theirs,
        issue,
        snapshot,
        ran,
    }
}

const CHECK: [&str; 2] = ["--verify", "sh check.sh"];

impl Tied<'_> {
    /// Nothing was run. Gives the hash that would allow it.
    fn refused(&self, words: &[&str]) -> Value {
        let (error, code) = self.ours.json_error(words);
        assert_eq!((error["code"].as_str(), code), (Some("NOT_APPROVED"), 5));
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&self.snapshot), "{message}");
        assert!(message.contains("not made"), "{message}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("tw diff s_"), "{hint}");
        assert!(!self.ran.exists(), "{words:?}");
        error["verify_hash"].clone()
    }
}

#[test]
fn what_was_approved_here_runs_among_no_files_that_came_along() {
    let hub = Hub::new();
    let tied = tied(&hub, &CHECK);
    let (ours, id) = (&tied.ours, tied.issue.as_str());
    let got = ours.json(["issue", "get", id])["issue"].clone();
    assert_eq!(
        (&got["snapshot_id"], &got["verify_approved"]),
        (&json!(tied.snapshot), &json!(false))
    );
    let hash = tied.refused(&["try", id, "-n", "1", "--", "true"]);
    assert_eq!(hash, got["verify_hash"]);
    tied.refused(&["try", id, "-n", "1", "--verify", "true", "--", "true"]);
    tied.refused(&["try", id, "-n", "1", "--setup", "true", "--", "true"]);
    // The agent would find their settings and hooks in its directory.
    tied.refused(&["try", id, "-n", "1", "--agent", "claude"]);
    let replayed = ours.tw(["--json", "replay", "--", "true"]);
    let document: Value = serde_json::from_slice(&replayed.stdout).unwrap();
    let result = &document["results"][0];
    assert_eq!((replayed.code, &result["status"]), (1, &json!("error")));
    assert!(result["error"].to_string().contains("not made here"));
    assert_eq!(result["runs"], json!([]));
    let started = ours.json(["issue", "start", id]);
    assert!(started["notices"].to_string().contains("not made here"));
    assert_eq!(tied.refused(&["issue", "verify", id]), hash);
    ours.json(["return"]);
    let dir = hub.sandbox.root().join("opened");
    assert_eq!(
        ours.tw(["open", id_address(id).as_str(), dir.to_str().unwrap()])
            .code,
        0
    );
    let (error, _) = hub.at("opened").json_error(["issue", "verify", id]);
    assert_eq!(
        (&error["code"], &error["verify_hash"]),
        (&json!("NOT_APPROVED"), &hash)
    );
    // Among our own it may run as before.
    assert_eq!(ours.json(["issue", "verify", id])["passed"], true);
    assert!(!tied.ran.exists());
    // Somebody has looked at them, and says so.
    let hash = hash.as_str().unwrap();
    ours.json(["issue", "verify", id, "--allow", hash]);
    assert!(!tied.ran.exists(), "that was a check of the present");
    let tried = ours.json(["try", id, "-n", "1", "--", "true"]);
    assert_eq!(tried["runs"][0]["status"], "passed");
    assert!(tried["source"] == tied.snapshot && tied.ran.exists());
    assert_eq!(
        ours.json(["issue", "get", id])["issue"]["verify_approved"],
        true
    );
}

fn id_address(id: &str) -> String {
    format!("issue:{id}")
}

#[test]
fn an_issue_without_a_check_runs_nothing_among_them_either() {
    let hub = Hub::new();
    let tied = tied(&hub, &[]);
    let id = tied.issue.as_str();
    tied.refused(&["try", id, "-n", "1", "--", "sh check.sh"]);
    tied.refused(&["try", id, "-n", "1", "--agent", "claude"]);
}

/// Whoever names a snapshot and types a command has said what is to run where, and that alone.
#[test]
fn what_a_person_types_for_a_snapshot_runs_among_its_files() {
    let hub = Hub::new();
    let tied = tied(&hub, &CHECK);
    let ours = &tied.ours;
    ours.json(["try", &tied.snapshot, "-n", "1", "--", "sh check.sh"]);
    assert!(tied.ran.exists());
    std::fs::remove_file(&tied.ran).unwrap();
    tied.refused(&["try", &tied.issue, "-n", "1", "--", "true"]);
    // An issue's snapshot is whichever others make it, by whatever address.
    let address = id_address(&tied.issue);
    tied.refused(&["try", &address, "-n", "1", "--", "sh check.sh && true"]);
}

#[test]
fn who_tied_an_issue_of_ours_to_another_snapshot_is_told() {
    let hub = Hub::new();
    let tied = tied(&hub, &CHECK);
    let (ours, id) = (&tied.ours, tied.issue.as_str());
    let claimed = |clone: &Clone_<'_>| {
        let issue = clone.json(["issue", "get", id])["issue"].clone();
        (
            issue["snapshot_claimed_by"].clone(),
            issue["claimed_by"].clone(),
        )
    };
    assert_eq!(claimed(ours), (json!("b's"), Value::Null));
    let shown = ours.tw(["issue", "show", id]).out();
    let line = format!("snapshot: {}, claimed by b's\n", tied.snapshot);
    assert!(shown.contains(&line), "{shown}");
    // It stays so until somebody here says otherwise, and is nobody else's business.
    ours.json(["issue", "edit", id, "--symptom", "still mine"]);
    ours.json(["push"]);
    tied.theirs.json(["pull"]);
    assert_eq!(claimed(ours).0, "b's");
    assert_eq!(claimed(&tied.theirs), (Value::Null, json!("a's")));
    ours.json(["issue", "edit", id, "--snapshot", "latest"]);
    assert_eq!(claimed(ours).0, Value::Null);
    ours.json(["push"]);
    ours.json(["pull"]);
    assert_eq!(claimed(ours).0, Value::Null);
}

/// What is forgotten cannot say any more where it came from; a directory that it was laid out in can, and so can what was taken there.
#[test]
fn files_stay_those_of_somebody_else_when_their_snapshot_is_forgotten() {
    let hub = Hub::new();
    let tied = tied(&hub, &CHECK);
    let (ours, id) = (&tied.ours, tied.issue.as_str());
    ours.json(["issue", "verify", id]);
    let dir = hub.sandbox.root().join("opened");
    ours.json(["open", &tied.snapshot, dir.to_str().unwrap()]);
    ours.json(["drop", "-y", "--force", &tied.snapshot]);
    let opened = hub.at("opened");
    let (error, _) = opened.json_error(["issue", "verify", id]);
    assert_eq!(error["code"], "NOT_APPROVED", "{error}");
    opened.write("more", "more\n");
    let taken = snapshot(&opened, "taken");
    assert_eq!(
        opened.json(["show", &taken])["snapshot"]["made_from"],
        json!(tied.snapshot)
    );
    ours.json(["issue", "edit", id, "--snapshot", &taken]);
    let (error, _) = ours.json_error(["try", id, "-n", "1", "--", "true"]);
    assert_eq!(error["code"], "NOT_APPROVED", "{error}");
    assert!(!tied.ran.exists());
    // What was made here stays so without its snapshot.
    let mine = snapshot(ours, "mine");
    let dir = hub.sandbox.root().join("of-here");
    ours.json(["open", &mine, dir.to_str().unwrap()]);
    ours.json(["drop", "-y", "--force", &mine]);
    assert_eq!(
        hub.at("of-here").json(["issue", "verify", id])["passed"],
        true
    );
}

/// A trip leaves what is ignored in place, and so does the next one.
#[test]
fn what_is_ignored_in_a_directory_of_somebody_else_s_files_stays_theirs() {
    let hub = Hub::new();
    let tied = tied(&hub, &CHECK);
    let (ours, id) = (&tied.ours, tied.issue.as_str());
    let mine = snapshot(ours, "mine");
    let dir = hub.sandbox.root().join("opened");
    ours.json(["open", &tied.snapshot, dir.to_str().unwrap()]);
    let opened = hub.at("opened");
    opened.json(["travel", &mine]);
    let (error, _) = opened.json_error(["issue", "verify", id]);
    assert_eq!(error["code"], "NOT_APPROVED", "{error}");
    assert!(!tied.ran.exists());
}

#[test]
fn a_check_that_is_typed_among_files_of_somebody_else_runs_among_them() {
    let hub = Hub::new();
    let tied = tied(&hub, &[]);
    let ours = &tied.ours;
    let dir = hub.sandbox.root().join("opened");
    ours.json(["open", &tied.snapshot, dir.to_str().unwrap()]);
    let opened = hub.at("opened");
    // What is there by then is no longer the very tree that was opened.
    opened.write("more", "more\n");
    let id = opened.report_by(&[&["--symptom", "theirs"][..], &CHECK].concat());
    assert_eq!(opened.json(["issue", "verify", &id])["passed"], true);
    assert!(tied.ran.exists());
    // It may be tried from elsewhere, too: it was typed for what the snapshot has.
    let tried = ours.json(["try", &id, "-n", "1", "--", "true"]);
    assert_eq!(tried["runs"][0]["status"], "passed", "{tried}");
    opened.json(["issue", "edit", &id, "--verify", "sh ./check.sh"]);
    assert_eq!(opened.json(["issue", "verify", &id])["passed"], true);
    // Nobody has typed it for the snapshot that an issue has by then.
    let (error, _) = ours.json_error(["try", &id, "-n", "1", "--", "true"]);
    assert_eq!(error["code"], "NOT_APPROVED", "{error}");
}
