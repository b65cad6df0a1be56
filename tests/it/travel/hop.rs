//! From one past to another: what was made there is saved, and the present to return to stays the same.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::stage::eventful;
use crate::trip::{commit, snapshot, state_json, stored};

/// Three snapshots of a file, oldest first, and a present with staged and untracked work.
fn three() -> (Sandbox, [String; 3]) {
    let sandbox = Sandbox::new();
    let ids = ["one", "two", "three"].map(|text| {
        sandbox.write("a.txt", format!("{text}\n"));
        sandbox.write(format!("only-{text}.txt"), "x\n");
        let id = snapshot(&sandbox);
        commit(&sandbox, text);
        sandbox.remove(format!("only-{text}.txt"));
        id
    });
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("a.txt", "work\n");
    sandbox.write("new.txt", "untracked\n");
    (sandbox, ids)
}

#[test]
fn a_hop_saves_the_past_it_leaves_and_keeps_the_way_home() {
    let (sandbox, [one, two, _]) = three();
    let home = sandbox.state();
    let travelled = sandbox.json(["travel", &one]);
    sandbox.write("tried.txt", "made there\n");
    let before = state_json(&sandbox);
    let hopped = sandbox.json(["travel", "--hop", &two]);
    assert_eq!(hopped["snapshot_id"], two.as_str());
    assert_eq!(hopped["backup_id"], travelled["backup_id"]);
    assert_eq!(hopped["guard_token"], travelled["guard_token"]);
    let experiment = hopped["experiment_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, experiment, "tried.txt"), "made there\n");
    let after = state_json(&sandbox);
    for same in [
        "mode",
        "backup_id",
        "backup_commit",
        "backup_path",
        "entered_at",
        "guard_token",
    ] {
        assert_eq!(before[same], after[same], "{same}");
    }
    assert_eq!(after["current_snapshot_id"], two.as_str());
    let quiet = ["-q", "travel", "--hop", &one, "--dry-run"];
    let backup = travelled["backup_id"].as_str().unwrap();
    assert_eq!(sandbox.ok(quiet), format!("{backup}\n"));
    assert_eq!(sandbox.text("a.txt"), "two\n");
    assert!(sandbox.exists("only-two.txt") && !sandbox.exists("only-one.txt"));
    assert!(!sandbox.exists("tried.txt"));
    let returned = sandbox.json(["return"]);
    assert_eq!(
        returned["experiment_id"],
        Value::Null,
        "nothing was made in the second past"
    );
    home.assert_same(&sandbox.state());
    assert_eq!(
        sandbox
            .git(["for-each-ref", "refs/timewarp/backups"])
            .lines()
            .count(),
        1
    );
}

#[test]
fn commits_of_a_past_that_a_hop_leaves_are_told_there_and_at_the_end() {
    let (sandbox, [one, two, three]) = three();
    let commit_there = |text: &str| {
        sandbox.write("a.txt", text);
        commit(&sandbox, text);
        sandbox.git(["rev-parse", "HEAD"]).trim().to_owned()
    };
    let titles = |answer: &Value| -> Vec<String> {
        let made = answer["commits_made"].as_array().unwrap().iter();
        made.map(|one| one["title"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(titles(&sandbox.json(["travel", &one])).is_empty());
    commit_there("first");
    let first = commit_there("second");
    let looked = sandbox.json(["travel", "--hop", &two, "--dry-run"]);
    assert_eq!(titles(&looked), ["second", "first"]);
    let hopped = sandbox.json(["travel", "--hop", &two]);
    assert_eq!(hopped["commits_made"], looked["commits_made"]);
    let keep = format!("git branch NAME {first}");
    assert!(hopped["notices"].to_string().contains(&keep), "{hopped}");
    let kept = commit_there("kept");
    assert_eq!(titles(&sandbox.json(["travel", "--hop", &three])), ["kept"]);
    sandbox.git(["branch", "kept", &kept]);
    commit_there("last");
    let returned = sandbox.json(["return"]);
    assert_eq!(titles(&returned), ["last", "second", "first"]);
    assert!(
        returned["notices"].to_string().contains(&keep),
        "{returned}"
    );
}

#[test]
fn a_hop_leads_where_a_travel_would() {
    let (sandbox, [one, two, three]) = three();
    for to in [&one, &two, &three] {
        sandbox.json(["travel", to]);
        let wanted = sandbox.state();
        sandbox.json(["return"]);
        for from in [&one, &two, &three] {
            sandbox.json(["travel", from]);
            sandbox.json(["travel", "--hop", to]);
            wanted.assert_same(&sandbox.state());
            sandbox.json(["return"]);
        }
    }
}

#[test]
fn a_past_that_nobody_changed_leaves_no_experiment() {
    let (sandbox, [one, two, _]) = three();
    let home = sandbox.state();
    sandbox.json(["travel", &one]);
    assert_eq!(
        sandbox.json(["travel", "--hop", &two])["experiment_id"],
        Value::Null
    );
    assert_eq!(
        sandbox.git(["for-each-ref", "refs/timewarp/experiments"]),
        ""
    );
    sandbox.json(["undo"]);
    assert_eq!(sandbox.text("a.txt"), "one\n");
    sandbox.json(["redo"]);
    assert_eq!(sandbox.text("a.txt"), "two\n");
    sandbox.json(["return"]);
    home.assert_same(&sandbox.state());
}

#[test]
fn undo_of_a_hop_is_the_past_as_it_was_left() {
    let (sandbox, [one, two, three]) = three();
    let home = sandbox.state();
    sandbox.json(["travel", &one]);
    sandbox.write("tried.txt", "one\n");
    sandbox.git(["add", "tried.txt"]);
    let first = sandbox.state();
    sandbox.json(["travel", "--hop", &two]);
    sandbox.write("a.txt", "two, changed\n");
    let second = sandbox.state();
    sandbox.json(["travel", "--hop", &three]);
    sandbox.json(["undo"]);
    second.assert_same(&sandbox.state());
    let undone = sandbox.json(["undo"]);
    first.assert_same(&sandbox.state());
    let experiment = undone["experiment_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, experiment, "a.txt"), "two, changed\n");
    sandbox.json(["redo"]);
    second.assert_same(&sandbox.state());
    let listed = sandbox.json(["undo", "--list"]);
    assert_eq!(listed["levels"][0]["operation"], "travel");
    sandbox.json(["return"]);
    home.assert_same(&sandbox.state());
    sandbox.json(["undo", "-y"]);
    second.assert_same(&sandbox.state());
}

#[test]
fn a_hop_alone_is_not_taken_back_under_later_swaps() {
    let (sandbox, [one, two, _]) = three();
    sandbox.json(["travel", &one]);
    sandbox.json(["travel", "--hop", &two]);
    sandbox.write("a.txt", "changed\n");
    sandbox.json(["restore", &two, "a.txt"]);
    let (error, _) = sandbox.json_error(["undo", "2"]);
    assert_eq!(error["code"], "USAGE");
    assert_eq!(sandbox.text("a.txt"), "two\n");
}

#[test]
fn a_plain_travel_in_the_past_names_the_hop() {
    let (sandbox, [one, two, _]) = three();
    sandbox.json(["travel", &one]);
    let (error, exit) = sandbox.json_error(["travel", &two]);
    assert_eq!((error["code"].as_str(), exit), (Some("ALREADY_IN_PAST"), 4));
    assert!(
        error["hints"].to_string().contains("tw travel --hop"),
        "{error}"
    );
    let looked = sandbox.json(["travel", "--hop", &two, "--dry-run"]);
    assert_eq!(
        looked["changes"]["written"],
        json!(["a.txt", "only-two.txt"])
    );
    assert_eq!(looked["changes"]["removed"], json!(["only-one.txt"]));
    assert_eq!(sandbox.text("a.txt"), "one\n");
}

#[test]
fn from_the_present_a_hop_is_a_travel() {
    let (sandbox, [one, ..]) = three();
    let home = sandbox.state();
    assert!(sandbox.json(["travel", "--hop", &one])["backup_id"].is_string());
    sandbox.json(["return"]);
    home.assert_same(&sandbox.state());
}

#[test]
fn what_the_present_ignores_is_untouched_and_what_a_past_made_goes() {
    let sandbox = Sandbox::new();
    sandbox.write("made.gen", "one\n");
    let one = snapshot(&sandbox);
    sandbox.remove("made.gen");
    sandbox.write("b.txt", "two\n");
    let two = snapshot(&sandbox);
    sandbox.write("own.gen", "of another time\n");
    let three = snapshot(&sandbox);
    sandbox.write(".gitignore", "*.gen\n");
    sandbox.write("own.gen", "the present's own\n");
    let home = sandbox.state();
    sandbox.json(["travel", &one]);
    sandbox.json(["travel", "--hop", &two]);
    assert!(
        !sandbox.exists("made.gen"),
        "a past's, and the second has none"
    );
    assert_eq!(sandbox.text("own.gen"), "the present's own\n");
    let (error, _) = sandbox.json_error(["travel", "--hop", &three]);
    assert_eq!(error["code"], "WOULD_OVERWRITE");
    assert_eq!(error["paths"], json!(["own.gen"]));
    sandbox.json(["travel", "--hop", &one]);
    assert_eq!(sandbox.text("made.gen"), "one\n");
    sandbox.json(["return"]);
    home.assert_same(&sandbox.state());
    assert!(!sandbox.exists("made.gen"));
}

#[test]
fn a_hop_closes_the_run_of_an_issue() {
    let (sandbox, [one, ..]) = three();
    let issue = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "a task",
        "--symptom",
        "it breaks",
        "--success-criteria",
        "it works",
    ]);
    let id = issue["issue_id"].as_str().unwrap();
    sandbox.json(["issue", "start", id]);
    sandbox.write("a.txt", "a try\n");
    let hopped = sandbox.json(["travel", "--hop", &one]);
    let got = sandbox.json(["issue", "get", id]);
    let run = &got["issue"]["runs"][0];
    assert_eq!(run["experiment_id"], hopped["experiment_id"]);
    assert!(run["ended_at"].is_string(), "{run}");
    sandbox.json(["return"]);
    let runs = sandbox.json(["issue", "get", id])["issue"]["runs"].clone();
    assert_eq!(runs.as_array().unwrap().len(), 1);
}

#[test]
fn through_merges_and_shapes_every_hop_comes_home() {
    let (sandbox, eventful) = eventful();
    let home = sandbox.state();
    sandbox.json(["travel", &eventful]);
    let past = sandbox.state();
    let now = snapshot(&sandbox);
    for round in 0..3 {
        sandbox.write("a.txt", format!("round {round}\n"));
        sandbox.write("dir/made.txt", "made\n");
        sandbox.json(["travel", "--hop", if round == 1 { &now } else { &eventful }]);
    }
    past.assert_same(&sandbox.state());
    sandbox.json(["return"]);
    home.assert_same(&sandbox.state());
}

#[test]
fn redo_of_a_hop_names_where_it_leads() {
    let (sandbox, [one, two, _]) = three();
    sandbox.json(["travel", &one]);
    sandbox.json(["travel", "--hop", &two]);
    assert_eq!(sandbox.json(["undo"])["level"]["snapshot_id"], two.as_str());
    assert_eq!(state_json(&sandbox)["current_snapshot_id"], one.as_str());
    let listed = sandbox.json(["redo", "--list"]);
    assert_eq!(listed["levels"][0]["snapshot_id"], two.as_str());
    assert_eq!(sandbox.json(["redo"])["level"]["snapshot_id"], two.as_str());
    assert_eq!(state_json(&sandbox)["current_snapshot_id"], two.as_str());
    let listed = sandbox.json(["undo", "--list"]);
    assert_eq!(listed["levels"][0]["snapshot_id"], two.as_str());
}

#[test]
fn a_dry_run_says_what_does_it_with_its_options() {
    let (sandbox, [one, two, _]) = three();
    let said = |words: &[&str]| sandbox.tw(words).err();
    let hint = format!("hint: 'tw travel --files-only {one}' does it\n");
    assert_eq!(said(&["travel", "--files-only", &one, "--dry-run"]), hint);
    sandbox.json(["travel", &one]);
    let hint = format!("hint: 'tw travel --hop {two}' does it\n");
    assert_eq!(said(&["travel", &two, "--hop", "--dry-run"]), hint);
    let hint = "hint: 'tw return --discard --keep a.txt' does it\n";
    let words = ["return", "--keep", "a.txt", "--discard", "--dry-run"];
    assert_eq!(said(&words), hint);
    sandbox.json(["return"]);
    let words = "issue report --task-context a --symptom b --success-criteria c";
    let issue = sandbox.json(words.split(' '))["issue_id"].clone();
    let issue = issue.as_str().unwrap();
    let hint = format!("hint: 'tw issue start {issue}' does it\n");
    assert_eq!(said(&["issue", "start", issue, "--dry-run"]), hint);
}

/// There HEAD and index are the present's.
#[test]
fn the_undo_of_a_hop_leads_back_into_a_past_of_files_alone() {
    let sandbox = Sandbox::new();
    let one = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    let two = snapshot(&sandbox);
    sandbox.write("a.txt", "three\n");
    sandbox.git(["commit", "-q", "-a", "-m", "three"]);
    sandbox.write("staged", "s\n");
    sandbox.git(["add", "staged"]);
    let home = sandbox.state();
    sandbox.json(["travel", &two, "--files-only"]);
    let past = sandbox.state();
    sandbox.json(["travel", "--hop", &one]);
    assert_ne!(sandbox.text(".git/HEAD"), "ref: refs/heads/main\n");
    for point in ["", "swap-applied", "swap-index", "swap-head"] {
        let mut undo = sandbox.tw_command();
        undo.env("TW_FAIL_POINT", point)
            .args(["undo", "--into-past"]);
        assert_eq!(undo.output().unwrap().status.success(), point.is_empty());
        if !point.is_empty() {
            sandbox.json(["recover", "--forward", "-y"]);
        }
        past.assert_same(&sandbox.state());
        sandbox.json(["redo", "--into-past"]);
    }
    sandbox.json(["undo", "--into-past"]);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
    home.assert_same(&sandbox.state());
}

/// What the present saves and the snapshot's rules leave out stays in its past, so that it builds and runs.
#[test]
fn a_hop_away_and_back_leads_to_what_the_travel_did() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", ".env\n/gen/\n");
    let one = snapshot(&sandbox);
    sandbox.remove(".gitignore");
    sandbox.write("gen/x", "of two\n");
    sandbox.write("gen/two/x", "of two\n");
    let two = snapshot(&sandbox);
    sandbox.remove("gen/two");
    sandbox.write(".env", "KEY=1\n");
    sandbox.write("gen/x", "of the present\n");
    sandbox.write("gen/deep/y", "y\n");
    sandbox.chmod(".env", 0o600);
    sandbox.chmod("gen/deep", 0o700);
    let home = sandbox.state();
    sandbox.json(["travel", &one]);
    let past = sandbox.state();
    assert_eq!(sandbox.text(".env"), "KEY=1\n");
    sandbox.json(["travel", "--hop", &two]);
    assert_eq!(sandbox.text("gen/x"), "of two\n");
    assert!(!sandbox.exists(".env") && !sandbox.exists("gen/deep"));
    sandbox.json(["undo", "--into-past"]);
    past.assert_same(&sandbox.state());
    sandbox.json(["redo", "--into-past"]);
    sandbox.json(["travel", "--hop", &one]);
    past.assert_same(&sandbox.state());
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
    home.assert_same(&sandbox.state());

    // What somebody did there is as they left it, also after an undo.
    sandbox.json(["travel", &one]);
    sandbox.remove(".env");
    sandbox.write("gen/x", "edited\n");
    let left = sandbox.state();
    sandbox.json(["travel", "--hop", &two]);
    sandbox.json(["undo", "--into-past"]);
    left.assert_same(&sandbox.state());
    sandbox.json(["return"]);
    home.assert_same(&sandbox.state());
}

#[test]
fn what_a_hop_brings_back_has_its_attributes() {
    let sandbox = Sandbox::new();
    let two = snapshot(&sandbox);
    sandbox.write(".gitignore", ".env\n");
    let one = snapshot(&sandbox);
    sandbox.remove(".gitignore");
    sandbox.write(".env", "KEY=1\n");
    let file = sandbox.path(".env");
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(&file, "user.timewarp.test", b"1", flags).unwrap();
    sandbox.json(["travel", &one]);
    sandbox.json(["travel", "--hop", &two]);
    assert!(!sandbox.exists(".env"));
    sandbox.json(["travel", "--hop", &one]);
    let mut value = [0; 8];
    let length = rustix::fs::getxattr(&file, "user.timewarp.test", &mut value[..]).unwrap();
    assert_eq!(&value[..length], b"1");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
}
