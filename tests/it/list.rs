//! Which snapshot an address names, and how they are listed.

use regex::Regex;
use serde_json::{Value, json};

use crate::facts::{commit, id};
use crate::sandbox::Sandbox;

/// Takes a snapshot at a given time.
fn snap_at(sandbox: &Sandbox, time: &str, args: &[&str]) -> String {
    let mut command = sandbox.tw_command();
    let output = command
        .env("TW_TEST_NOW", time)
        .args(["-q", "snapshot"])
        .args(args)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

fn listed(document: &Value) -> Vec<&str> {
    let list = document["snapshots"].as_array().unwrap();
    list.iter().map(id).collect()
}

fn named(sandbox: &Sandbox, address: &str) -> String {
    id(&sandbox.json(["show", address])["snapshot"]).to_owned()
}

fn refused(sandbox: &Sandbox, address: &str) -> (String, i32) {
    let (error, code) = sandbox.json_error(["show", address]);
    (error["code"].as_str().unwrap().to_owned(), code)
}

#[test]
fn the_newest_comes_first_also_within_one_second() {
    let sandbox = Sandbox::new();
    let mut ids: Vec<String> = (0..12)
        .map(|n| {
            snap_at(
                &sandbox,
                if n < 8 {
                    "2026-03-01T10:00:00Z"
                } else {
                    "2026-03-01T10:00:01Z"
                },
                &[],
            )
        })
        .collect();
    ids.reverse();
    assert_eq!(listed(&sandbox.json(["list"])), ids);
    assert_eq!(listed(&sandbox.json(["list", "-n", "5"])), ids[..5]);
    for (back, id) in ids.iter().enumerate() {
        assert_eq!(named(&sandbox, &format!("latest~{back}")), *id);
    }
    assert_eq!(named(&sandbox, "latest"), ids[0]);
    assert_eq!(named(&sandbox, "latest~"), ids[1]);
    assert_eq!(
        refused(&sandbox, "latest~12"),
        ("SNAPSHOT_NOT_FOUND".to_owned(), 3)
    );
    let quiet = sandbox.ok(["-q", "list", "-n", "3"]);
    assert_eq!(quiet.lines().collect::<Vec<_>>(), ids[..3]);
}

#[test]
fn no_snapshot_is_an_empty_list() {
    let sandbox = Sandbox::new();
    assert_eq!(listed(&sandbox.json(["list"])), [""; 0]);
    assert_eq!(
        refused(&sandbox, "latest"),
        ("SNAPSHOT_NOT_FOUND".to_owned(), 3)
    );
    assert!(!sandbox.exists(".git/timewarp"), "looking writes nothing");
}

#[test]
fn a_time_names_the_newest_at_or_before_it() {
    let sandbox = Sandbox::new();
    let first = snap_at(&sandbox, "2026-02-26T09:00:00Z", &[]);
    let second = snap_at(&sandbox, "2026-02-27T14:00:00Z", &[]);
    let third = snap_at(&sandbox, "2026-02-28T13:00:00Z", &[]);
    // The sandbox's clock stands at about 15:30 on 2026-02-28.
    for (address, id) in [
        ("2026-02-27T14:00:00Z", &second),
        ("2026-02-27T13:59:59Z", &first),
        ("2026-02-28T14:00:00+01:00", &third),
        ("2026-02-27 14:00", &second),
        ("2026-02-27", &second),
        ("2h ago", &third),
        ("5h ago", &second),
        ("2 days ago", &first),
        ("yesterday", &second),
        ("2h", &third),
        ("friday 15:00", &second),
        ("last friday", &second),
        ("thursday", &first),
        ("@1772201000", &second),
    ] {
        assert_eq!(named(&sandbox, address), *id, "{address}");
    }
    assert_eq!(
        refused(&sandbox, "2020-01-01"),
        ("SNAPSHOT_NOT_FOUND".to_owned(), 3)
    );
}

#[test]
fn any_part_of_an_id_of_four_characters_names_it() {
    let sandbox = Sandbox::new();
    let id = snap_at(&sandbox, "2026-03-01T10:00:00Z", &[]);
    let other = snap_at(&sandbox, "2026-03-02T10:00:00Z", &[]);
    let tail = &id[id.len() - 6..];
    for part in [
        &id,
        tail,
        &tail[..4],
        &id[..12],
        "20260301",
        "20260301_1000",
    ] {
        if part.bytes().all(|byte| byte.is_ascii_digit()) && part.len() != 8 {
            continue;
        }
        assert_eq!(named(&sandbox, part), id, "{part}");
    }
    assert_eq!(
        refused(&sandbox, &tail[..3]),
        ("SNAPSHOT_NOT_FOUND".to_owned(), 3)
    );
    assert_eq!(
        refused(&sandbox, "s_20991231_000000_zzzzzz"),
        ("SNAPSHOT_NOT_FOUND".to_owned(), 3)
    );
    let (error, code) = sandbox.json_error(["show", "s_202603"]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("AMBIGUOUS_ADDRESS"), 3)
    );
    let mut candidates: Vec<&str> = error["candidates"]
        .as_array()
        .unwrap_or_else(|| panic!("{error}"))
        .iter()
        .map(|id| id.as_str().unwrap())
        .collect();
    candidates.sort_unstable();
    assert_eq!(candidates, [&*id, &*other]);
    assert!(error["message"].as_str().unwrap().contains(&id), "{error}");
}

#[test]
fn a_label_names_its_snapshot_bare_or_said_to_be_one() {
    let sandbox = Sandbox::new();
    let first = sandbox.snap_with(["--label", "before-refactor"]);
    sandbox.snap();
    assert_eq!(named(&sandbox, "before-refactor"), id(&first));
    assert_eq!(named(&sandbox, "label:before-refactor"), id(&first));
    assert_eq!(
        refused(&sandbox, "label:other"),
        ("SNAPSHOT_NOT_FOUND".to_owned(), 3)
    );
    assert_eq!(
        refused(&sandbox, "label:a b"),
        ("INVALID_ADDRESS".to_owned(), 3)
    );
    let list = sandbox.json(["list"]);
    assert_eq!(list["snapshots"][1]["label"], "before-refactor");
    assert_eq!(list["snapshots"][0]["label"], Value::Null);
}

#[test]
fn a_label_may_not_be_a_part_of_an_id() {
    let sandbox = Sandbox::new();
    // A tail of letters alone reads as a label, until there is such an id.
    let snapshot = sandbox.snap();
    let tail = &id(&snapshot)[18..];
    let (error, _) = sandbox.json_error(["snapshot", "--label", tail]);
    assert_eq!(error["code"], "INVALID_LABEL");
}

#[test]
fn a_commit_id_or_a_ref_of_a_snapshot_names_it() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snap();
    sandbox.snap();
    let name = format!("refs/timewarp/snapshots/{}", id(&snapshot));
    for address in [
        commit(&snapshot),
        &commit(&snapshot)[..12],
        &name,
        &name[5..],
    ] {
        assert_eq!(named(&sandbox, address), id(&snapshot), "{address}");
    }
    for address in [
        "HEAD",
        "main",
        "refs/heads/main",
        sandbox.git(["rev-parse", "HEAD"]).trim(),
    ] {
        assert_eq!(
            refused(&sandbox, address),
            ("SNAPSHOT_NOT_FOUND".to_owned(), 3),
            "{address}"
        );
    }
}

#[test]
fn what_is_no_address_is_said_to_be_none() {
    let sandbox = Sandbox::new();
    sandbox.snap();
    for address in ["", "a b", "latest~x", "present", "a..b", "x\ny"] {
        assert_eq!(
            refused(&sandbox, address).0,
            "INVALID_ADDRESS",
            "{address:?}"
        );
    }
    assert_eq!(
        refused(&sandbox, "session"),
        ("NO_SESSION_SNAPSHOT".to_owned(), 4)
    );
    assert_eq!(refused(&sandbox, "issue:xyz").0, "INVALID_ISSUE_ID");
    assert_eq!(refused(&sandbox, "checkpoint:x").0, "INVALID_CHECKPOINT");
}

#[test]
fn relative_addresses_mean_this_worktree_and_the_present() {
    let sandbox = Sandbox::new();
    let own = sandbox.snap();
    let linked = sandbox.root().join("linked");
    sandbox.git(["worktree", "add", "-q", linked.to_str().unwrap()]);
    let ran = sandbox.tw_in(&linked, ["-q", "snapshot"]);
    let theirs = ran.out().trim_end().to_owned();
    assert_eq!(named(&sandbox, "latest"), id(&own));
    assert_eq!(listed(&sandbox.json(["list"])), [id(&own)]);
    assert_eq!(
        listed(&sandbox.json(["list", "--all-worktrees"])),
        [&*theirs, id(&own)]
    );
    assert_eq!(
        named(&sandbox, &theirs),
        theirs,
        "an id names it from anywhere"
    );
    let second = sandbox.snap();
    sandbox.json(["travel", id(&own)]);
    let past = sandbox.snap();
    assert_eq!(past["taken_in"], "past");
    assert_eq!(named(&sandbox, "latest"), id(&second));
    assert_eq!(listed(&sandbox.json(["list"])), [id(&second), id(&own)]);
    assert_eq!(listed(&sandbox.json(["list", "--all-worktrees"])).len(), 4);
    assert_eq!(
        sandbox.json(["list", "--kind", "backup"])["snapshots"][0]["kind"],
        "backup"
    );
    sandbox.write("made.txt", "in the past\n");
    sandbox.json(["return"]);
    assert_eq!(
        sandbox.json(["list", "--kind", "experiment"])["snapshots"][0]["kind"],
        "experiment"
    );
    assert_eq!(listed(&sandbox.json(["list", "--all"])).len(), 6);
}

#[test]
fn a_new_worktree_has_nothing_of_a_removed_one_of_its_name() {
    let sandbox = Sandbox::new();
    let linked = sandbox.root().join("linked");
    let path = linked.to_str().unwrap();
    sandbox.git(["worktree", "add", "-q", path]);
    let there = |args: &[&str]| {
        let ran = sandbox.tw_in(&linked, [&["--json"], args].concat());
        serde_json::from_slice::<Value>(&ran.stdout).unwrap()
    };
    std::fs::write(linked.join("a.txt"), "of the first\n").unwrap();
    let first = there(&["session", "start", "--session", "one"])["snapshot_id"].clone();
    assert_eq!(there(&["show", "latest"])["snapshot"]["snapshot_id"], first);
    sandbox.git(["worktree", "remove", "--force", path]);
    sandbox.git(["worktree", "add", "-q", path, "linked"]);
    for args in [
        &["show", "latest"][..],
        &["show", "10m"],
        &["diff"],
        &["restore", "latest"],
    ] {
        let refused = there(args);
        assert_eq!(refused["error"]["code"], "SNAPSHOT_NOT_FOUND", "{args:?}");
    }
    let nothing_of_it = |kept: &[&str]| {
        assert_eq!(listed(&there(&["list"])), kept);
        assert_eq!(listed(&there(&["list", "-n", "500"])), kept);
        let log = there(&["log"]);
        assert_eq!(
            log["entries"].as_array().unwrap().len(),
            kept.len(),
            "{log}"
        );
        let counts = &there(&["status"])["repository"]["counts"];
        assert_eq!(counts["snapshots"], kept.len());
        assert_eq!(there(&["session", "list"])["sessions"], json!([]));
    };
    nothing_of_it(&[]);
    assert_eq!(
        there(&["show", "session"])["error"]["code"],
        "NO_SESSION_SNAPSHOT"
    );
    let second = there(&["snapshot"])["snapshot"]["snapshot_id"].clone();
    let second = second.as_str().unwrap();
    nothing_of_it(&[second]);
    assert_eq!(
        there(&["show", "latest"])["snapshot"]["snapshot_id"],
        second
    );
    assert_eq!(
        there(&["show", "latest~1"])["error"]["code"],
        "SNAPSHOT_NOT_FOUND"
    );
    let all = there(&["list", "--all-worktrees"]);
    assert_eq!(listed(&all), [second, first.as_str().unwrap()]);
    let sessions = there(&["session", "list", "--all-worktrees"]);
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn a_worktree_keeps_its_snapshots_when_it_is_moved_and_those_of_earlier_versions() {
    let sandbox = Sandbox::new();
    let linked = sandbox.root().join("linked");
    let moved = sandbox.root().join("moved");
    sandbox.git(["worktree", "add", "-q", linked.to_str().unwrap()]);
    let snapshot = |dir: &std::path::Path| {
        let ran = sandbox.tw_in(dir, ["-q", "snapshot"]);
        ran.out().trim_end().to_owned()
    };
    let latest = |dir: &std::path::Path| {
        let ran = sandbox.tw_in(dir, ["--json", "list"]);
        serde_json::from_slice::<Value>(&ran.stdout).unwrap()
    };
    let old = snapshot(&linked);
    // An earlier version wrote no id.
    let name = format!("refs/timewarp/snapshots/{old}");
    let commit = sandbox.git(["cat-file", "commit", &name]);
    let id = Regex::new(r#" *"worktree_id": "[0-9a-f]{32}",\n"#).unwrap();
    assert!(id.is_match(&commit), "{commit}");
    let file = sandbox.root().join("commit");
    std::fs::write(&file, &*id.replace(&commit, "")).unwrap();
    let without = sandbox.git(["hash-object", "-t", "commit", "-w", file.to_str().unwrap()]);
    sandbox.git(["update-ref", &name, without.trim_end()]);
    std::fs::remove_file(sandbox.path(".git/worktrees/linked/timewarp/worktree-id")).unwrap();
    assert_eq!(listed(&latest(&linked)), [&*old]);
    let new = snapshot(&linked);
    assert_eq!(listed(&latest(&linked)), [&*new, &*old]);
    let (from, to) = (linked.to_str().unwrap(), moved.to_str().unwrap());
    sandbox.git(["worktree", "move", from, to]);
    assert_eq!(listed(&latest(&moved)), [&*new, &*old]);
}

#[test]
fn with_all_worktrees_relative_addresses_mean_what_such_a_list_shows() {
    let sandbox = Sandbox::new();
    let linked = sandbox.root().join("linked");
    sandbox.git(["worktree", "add", "-q", linked.to_str().unwrap()]);
    sandbox.write("a.txt", "by the first\n");
    let own = sandbox.snap();
    let there = |args: &[&str]| {
        let ran = sandbox.tw_in(&linked, [&["--json"], args].concat());
        serde_json::from_slice::<Value>(&ran.stdout).unwrap()
    };
    for args in [
        &["show", "latest"][..],
        &["travel", "latest"],
        &["restore", "10m", "a.txt"],
    ] {
        assert_eq!(
            there(args)["error"]["code"],
            "SNAPSHOT_NOT_FOUND",
            "{args:?}"
        );
    }
    let shown = there(&["show", "latest", "--all-worktrees"]);
    assert_eq!(shown["snapshot"]["snapshot_id"], id(&own));
    let shown = there(&["show", "1m", "--all-worktrees"]);
    assert_eq!(shown["snapshot"]["snapshot_id"], id(&own));
    let differs = there(&["diff", "latest", "--all-worktrees"]);
    assert_eq!(differs["files"][0]["path"], "a.txt");
    let travelled = there(&["travel", "latest", "--all-worktrees", "--dry-run"]);
    assert_eq!(travelled["snapshot_id"], id(&own));
    let dropped = there(&["drop", "latest", "--all-worktrees", "--dry-run"]);
    assert_eq!(dropped["forgotten"][0]["id"], id(&own), "{dropped}");
    let restored = there(&["restore", "latest", "a.txt", "--all-worktrees"]);
    assert_eq!(restored["snapshot_id"], id(&own));
    let report = [
        "issue",
        "report",
        "--task-context",
        "t",
        "--symptom",
        "s",
        "--success-criteria",
        "c",
        "--snapshot",
        "latest",
        "--all-worktrees",
    ];
    assert_eq!(there(&report)["issue"]["snapshot_id"], id(&own));
    let tried = there(&["try", "latest", "--all-worktrees", "-n", "1", "--", "true"]);
    assert_eq!(tried["source"], id(&own));
    for args in [
        &["label", "latest", "mine", "--all-worktrees"][..],
        &["blame", "latest", "a.txt", "--all-worktrees"],
        &["open", "latest", "../opened", "--all-worktrees"],
    ] {
        let done = there(args);
        assert_eq!(done["ok"], true, "{args:?}: {done}");
    }
    // What was taken in the past counts, too, as in the list.
    sandbox.json(["travel", id(&own)]);
    let past = sandbox.snap();
    let newest = there(&["show", "latest", "--all-worktrees"]);
    assert_eq!(newest["snapshot"]["snapshot_id"], id(&past));
    assert_eq!(listed(&there(&["list", "--all-worktrees"]))[0], id(&past));
}

#[test]
fn a_record_that_cannot_be_read_hides_no_other() {
    let sandbox = Sandbox::new();
    let good = sandbox.snap();
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let bad = "refs/timewarp/snapshots/s_20260301_000000_bbbbbb";
    sandbox.git(["update-ref", bad, head.trim_end()]);
    let list = sandbox.json(["list"]);
    assert_eq!(listed(&list), [id(&good)]);
    assert_eq!(list["invalid"][0]["id"], "s_20260301_000000_bbbbbb");
    assert_eq!(named(&sandbox, "latest"), id(&good));
    assert_eq!(
        refused(&sandbox, "s_20260301_000000_bbbbbb").0,
        "CORRUPT_RECORD"
    );
    sandbox.snap();
    assert_eq!(listed(&sandbox.json(["list"])).len(), 2);
}

#[test]
fn a_record_of_a_newer_tw_is_refused_by_name() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snap();
    let raw = sandbox.git(["cat-file", "commit", commit(&snapshot)]);
    let newer = raw
        .replace("\"version\":1", "\"version\":99")
        .replace("\"version\": 1", "\"version\": 99");
    assert_ne!(raw, newer);
    std::fs::write(sandbox.root().join("raw"), newer).unwrap();
    let file = sandbox.root().join("raw");
    let made = sandbox.git(["hash-object", "-t", "commit", "-w", file.to_str().unwrap()]);
    let name = format!("refs/timewarp/snapshots/{}", id(&snapshot));
    sandbox.git(["update-ref", &name, made.trim_end()]);
    assert_eq!(refused(&sandbox, id(&snapshot)).0, "NEWER_RECORD");
}

#[test]
fn unknown_fields_of_a_record_are_shown() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snap();
    let raw = sandbox.git(["cat-file", "commit", commit(&snapshot)]);
    let at = raw.find("\n\n").unwrap();
    let brace = raw[at..].find('{').unwrap() + at + 1;
    let more = format!(
        "{}\"later_field\":{{\"x\":1}},{}",
        &raw[..brace],
        &raw[brace..]
    );
    let file = sandbox.root().join("raw");
    std::fs::write(&file, more).unwrap();
    let made = sandbox.git(["hash-object", "-t", "commit", "-w", file.to_str().unwrap()]);
    let name = format!("refs/timewarp/snapshots/{}", id(&snapshot));
    sandbox.git(["update-ref", &name, made.trim_end()]);
    assert_eq!(
        sandbox.json(["show", "latest"])["snapshot"]["later_field"]["x"],
        1
    );
}

#[test]
fn the_order_survives_a_lost_counter() {
    let sandbox = Sandbox::new();
    let time = "2026-03-01T10:00:00Z";
    let mut ids: Vec<String> = (0..3).map(|_| snap_at(&sandbox, time, &[])).collect();
    std::fs::remove_file(sandbox.path(".git/timewarp/seq")).unwrap();
    ids.extend((0..3).map(|_| snap_at(&sandbox, time, &[])));
    std::fs::write(sandbox.path(".git/timewarp/seq"), "garbage").unwrap();
    ids.extend((0..3).map(|_| snap_at(&sandbox, time, &[])));
    ids.reverse();
    assert_eq!(listed(&sandbox.json(["list"])), ids);
}

#[test]
fn many_at_once_each_get_an_id_and_a_number_of_their_own() {
    let sandbox = Sandbox::new();
    let commands: Vec<_> = (0..8)
        .map(|_| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tw"));
            command
                .env_clear()
                .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                .env("HOME", sandbox.home())
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env("TW_NO_BACKGROUND", "1")
                .env("TW_TEST_NOW", "2026-03-01T10:00:00Z")
                .current_dir(sandbox.repo())
                .args(["-q", "snapshot"])
                .stdout(std::process::Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut command in commands {
        assert!(command.wait().unwrap().success());
    }
    let list = sandbox.json(["list"]);
    let mut numbers: Vec<u64> = list["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|snapshot| snapshot["seq"].as_u64().unwrap())
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 8);
    sandbox.assert_sound();
}

#[test]
fn each_filter_of_a_list_leaves_what_it_says() {
    let sandbox = Sandbox::new();
    let titles = |document: Value| -> Vec<String> {
        let list = document["snapshots"].as_array().unwrap().clone();
        let titles = list.iter().map(|one| one["title"].as_str().unwrap());
        titles.map(str::to_owned).collect()
    };
    for (at, title, path) in [
        ("2026-02-26T09:00:00Z", "begin", "a.txt"),
        ("2026-02-27T09:00:00Z", "the Parser", "src/parser.txt"),
        ("2026-02-28T09:00:00Z", "the printer", "src/printer.txt"),
    ] {
        sandbox.write(path, title);
        snap_at(&sandbox, at, &["-m", title]);
    }
    sandbox.ok([
        "session",
        "start",
        "--agent",
        "claude",
        "--session",
        "one-two-three",
    ]);
    sandbox.write("a.txt", "in a session\n");
    sandbox.ok(["snapshot", "-m", "later"]);
    sandbox.ok(["label", "latest~3", "early"]);
    sandbox.ok(["label", "latest~3", "also-early"]);
    let all = sandbox.json(["list"]);
    let shown = &all["snapshots"][3];
    assert_eq!(
        (&shown["label"], &shown["labels"]),
        (&json!("also-early"), &json!(["also-early", "early"]))
    );
    assert_eq!(titles(sandbox.json(["list", "--limit", "1"])), ["later"]);
    assert_eq!(
        titles(sandbox.json(["list", "--grep", "^the p"])),
        ["the printer", "the Parser"]
    );
    assert_eq!(
        titles(sandbox.json(["list", "--grep", "P", "-n", "9"])),
        ["the Parser"]
    );
    assert_eq!(
        titles(sandbox.json([
            "list",
            "--since",
            "2026-02-27T09:00:00Z",
            "--until",
            "2026-02-28T10:00:00Z"
        ])),
        ["the printer", "the Parser"]
    );
    // A day is a whole one at both ends.
    let day = ["list", "--since", "2026-02-27", "--until", "2026-02-27"];
    assert_eq!(titles(sandbox.json(day)), ["the Parser"]);
    assert_eq!(
        titles(sandbox.json(["list", "--since", "yesterday"])).len(),
        4
    );
    let today = ["list", "--since", "today", "-n", "9"];
    assert_eq!(titles(sandbox.json(today)).len(), 3);
    let later = ["list", "--since", "today 9:01", "-n", "9"];
    assert_eq!(titles(sandbox.json(later)).len(), 2);
    assert!(titles(sandbox.json(["list", "--since", "now"])).is_empty());
    let (error, code) = sandbox.json_error(["list", "--since", "2099-01-01"]);
    assert_eq!((&error["code"], code), (&serde_json::json!("USAGE"), 2));
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with("'2099-01-01' lies in the future: "),
        "{message}"
    );
    assert_eq!(
        titles(sandbox.json(["list", "--label", "early"])),
        ["the Parser"]
    );
    assert_eq!(titles(sandbox.json(["list", "--label", "*"])).len(), 1);
    assert_eq!(
        titles(sandbox.json(["list", "--session", "one-t", "-n", "1"])),
        ["later"]
    );
    // The start's, and what was taken in the session.
    assert_eq!(titles(sandbox.json(["list", "--agent", "claude"])).len(), 2);
    assert_eq!(
        titles(sandbox.json(["list", "--", "src"])),
        ["the printer", "the Parser"]
    );
    assert_eq!(
        titles(sandbox.json(["list", "src", "-n", "1"])),
        ["the printer"]
    );
    let nothing = sandbox.tw(["list", "--grep", "nowhere"]);
    assert_eq!((nothing.code, nothing.out().as_str()), (0, ""));
    assert!(
        nothing.err().contains("none of 5 snapshots"),
        "{}",
        nothing.err()
    );
}

#[test]
fn all_labels_are_shown_and_listed() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json(["label"])["labels"], json!([]));
    let first = sandbox.snap_with(["--label", "one"]);
    sandbox.ok(["label", "latest", "another"]);
    let labels = sandbox.json(["label"])["labels"].clone();
    let names: Vec<_> = labels
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["label"])
        .collect();
    assert_eq!(names, ["another", "one"]);
    assert_eq!(labels[0]["snapshot_id"], *id(&first));
    assert_eq!(labels[0]["commit"], *commit(&first));
    assert_eq!(sandbox.ok(["-q", "label"]), "another\none\n");
    for words in [["list"].as_slice(), &["show", "latest"], &["label"]] {
        let shown = sandbox.ok(words);
        assert!(
            shown.contains("another") && shown.contains("one"),
            "{shown}"
        );
    }
    assert_eq!(
        sandbox.json(["show", "latest"])["snapshot"]["labels"],
        json!(["another", "one"])
    );
    let half = sandbox.json_error(["label", "latest"]);
    assert_eq!((half.0["code"].as_str(), half.1), (Some("USAGE"), 2));
    // What the record says of the label it was taken with holds no longer than the label.
    sandbox.ok(["label", "--remove", "one"]);
    let shown = sandbox.json(["show", "latest"])["snapshot"].clone();
    assert_eq!(
        (&shown["label"], &shown["labels"]),
        (&json!("another"), &json!(["another"]))
    );
    sandbox.ok(["label", "--remove", "another"]);
    let shown = sandbox.json(["show", "latest"])["snapshot"].clone();
    assert_eq!(
        (&shown["label"], &shown["labels"]),
        (&Value::Null, &json!([]))
    );
}
/// A snapshot taken now.
fn taken(sandbox: &Sandbox) -> String {
    sandbox.json(["snapshot"])["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_time_before_everything_names_the_oldest_and_a_later_one_is_the_future() {
    let sandbox = Sandbox::new();
    let first = taken(&sandbox);
    sandbox.write("a", "2");
    taken(&sandbox);
    let (error, exit) = sandbox.json_error(["show", "2 days ago"]);
    assert_eq!(
        (error["code"].as_str(), exit),
        (Some("SNAPSHOT_NOT_FOUND"), 3)
    );
    let hints = error["hints"].to_string();
    assert!(hints.contains(&format!("tw show {first}")), "{hints}");
    assert!(
        hints.contains("2026-02-28 15:3") && hints.contains(" UTC"),
        "{hints}"
    );
    let (error, exit) = sandbox.json_error(["show", "23:59"]);
    assert_eq!((error["code"].as_str(), exit), (Some("INVALID_ADDRESS"), 3));
    let message = error["message"].to_string();
    assert!(
        message.contains("in the future: 2026-02-28 23:59:00 UTC"),
        "{message}"
    );
}

#[test]
fn a_word_that_is_a_name_is_no_time() {
    let sandbox = Sandbox::new();
    let labelled = taken(&sandbox);
    let (error, _) = sandbox.json_error(["label", &labelled, "monday"]);
    assert_eq!(error["code"], "INVALID_LABEL", "{error}");
    // One that was given before that goes on.
    sandbox.json(["label", &labelled, "moonday"]);
    let [old, new] =
        ["moonday", "monday"].map(|label| format!("refs/timewarp/records/labels/{label}"));
    let commit = sandbox.git(["rev-parse", &old]);
    sandbox.git(["update-ref", &new, commit.trim()]);
    sandbox.write("a", "2");
    let later = taken(&sandbox);
    let shown = |address: &str| sandbox.json(["show", address])["snapshot"]["snapshot_id"].clone();
    assert_eq!(shown("monday"), labelled.as_str());
    assert_eq!(shown("0h"), later.as_str());
}

#[test]
fn people_read_local_times_and_programs_utc() {
    let sandbox = Sandbox::new();
    let id = taken(&sandbox);
    let in_zone = |args: &[&str]| {
        let output = sandbox
            .tw_command()
            .env("TZ", "NZST-12")
            .args(args)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(
        in_zone(&["show", &id]).contains("2026-03-01 03:3"),
        "{}",
        in_zone(&["show", &id])
    );
    assert!(in_zone(&["show", &id]).contains(" +12:00 ("));
    assert!(in_zone(&["show", &id, "--json"]).contains("\"created_at\":\"2026-02-28T15:3"));
    // It is that day there, and not here yet.
    assert!(in_zone(&["show", "2026-03-01", "--json"]).contains(&id));
}

/// A snapshot may name a session that was never started.
#[test]
fn a_session_that_only_snapshots_name_is_one_to_look_for() {
    let sandbox = Sandbox::new();
    let of_session = sandbox.json(["snapshot", "--session", "foo"])["snapshot"].clone();
    sandbox.snap();
    let document = sandbox.json(["list", "--session", "foo"]);
    assert_eq!(listed(&document), [id(&of_session)]);
    let (error, code) = sandbox.json_error(["list", "--session", "bar"]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("SESSION_NOT_FOUND"), 3)
    );
}

/// All of a day's sessions of ours begin alike.
#[test]
fn the_address_of_a_session_of_ours_names_it() {
    let sandbox = Sandbox::new();
    for text in ["one\n", "two\n"] {
        sandbox.json(["session", "start"]);
        sandbox.write("a.txt", text);
        sandbox.json(["checkpoint", "-m", text.trim()]);
        sandbox.json(["session", "end"]);
    }
    let logged = sandbox.ok(["log"]);
    for session in sandbox.json(["session", "list"])["sessions"]
        .as_array()
        .unwrap()
    {
        let session = session["session_id"].as_str().unwrap();
        assert!(logged.contains(session), "{session}: {logged}");
    }
}
