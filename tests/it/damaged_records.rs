//! Damaged records of tw's own: they hide no others, and what is said of each names the command that goes on without it.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// What is left of a record: nothing, a part, garbage, something else, and what a later version writes.
const CONTENTS: [(&str, &str); 5] = [
    ("", "CORRUPT_RECORD"),
    ("{\"version\": 1, \"t", "CORRUPT_RECORD"),
    ("\0garbage", "CORRUPT_RECORD"),
    (
        "{\"version\": 1, \"try_id\": 7, \"replay_id\": 7}",
        "CORRUPT_RECORD",
    ),
    ("{\"version\": 99}", "NEWER_RECORD"),
];

/// One check of the check-up.
fn doctor(sandbox: &Sandbox, name: &str) -> Value {
    let document: Value = serde_json::from_str(&sandbox.tw(["doctor", "--json"]).out()).unwrap();
    let checks = document["checks"].as_array().unwrap().iter();
    let mut those = checks.filter(|check| check["name"] == name);
    those.next().unwrap().clone()
}

fn hint(error: &Value) -> String {
    error["hints"].to_string() + error["hint"].as_str().unwrap_or_default()
}

/// Two of a kind, the older one first, and the file of that one.
fn two(sandbox: &Sandbox, kind: &str, words: &[&str]) -> (String, String, String) {
    let field = format!("{kind}_id");
    let make = || {
        let ran = sandbox.tw(words);
        let document: Value = serde_json::from_str(&ran.out()).unwrap();
        document[&field].as_str().unwrap().to_owned()
    };
    let (old, new) = (make(), make());
    let many = if kind == "try" { "tries" } else { "replays" };
    let file = format!(".git/timewarp/{many}/{old}/{kind}.json");
    (old, new, file)
}

#[test]
fn a_damaged_try_hides_no_other_and_is_dropped_by_its_id() {
    let sandbox = Sandbox::new();
    let words = ["--json", "try", "-n", "1", "--", "echo more >>a.txt"];
    let (bad, good, file) = two(&sandbox, "try", &words);
    let drop = format!("'tw try drop {bad}'");
    for (content, code) in CONTENTS {
        sandbox.write(&file, content);
        let listed = sandbox.json(["try", "list"]);
        assert_eq!(listed["tries"].as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(listed["tries"][0]["try_id"], good);
        assert_eq!(listed["invalid"][0]["id"], bad, "{listed}");
        let told = sandbox.tw(["try", "list"]).err();
        assert!(told.contains(&drop), "{content:?}: {told}");
        for args in [
            &["try", "show", &good][..],
            &["try", "show", "latest"],
            &["try", "diff", &good],
            &["try", "log", &good],
            &["try", "apply", "latest", "--dry-run"],
        ] {
            assert_eq!(sandbox.tw(args).code, 0, "{content:?}: {args:?}");
        }
        for args in [
            &["try", "show", &bad][..],
            &["try", "drop", &bad[..bad.len() - 1]],
            &["prune"],
            &["drop", "latest", "-y"],
        ] {
            let (error, _) = sandbox.json_error(args);
            assert_eq!(error["code"], code, "{content:?}: {args:?}: {error}");
            assert!(hint(&error).contains(&drop), "{args:?}: {error}");
        }
        let found = doctor(&sandbox, "runs");
        let (status, fix) = match code {
            "NEWER_RECORD" => ("warning", "upgrade tw".to_owned()),
            _ => ("error", format!("tw try drop {bad}")),
        };
        assert_eq!(
            (&found["status"], &found["fix"]),
            (&json!(status), &json!(fix)),
            "{found}"
        );
    }
    let begun = sandbox.json(["session", "start", "--session", "s1"]);
    let notices = begun["notices"].to_string();
    assert!(notices.contains("nothing was pruned"), "{begun}");
    assert!(notices.contains("upgrade tw"), "{begun}");
    let dropped = sandbox.json(["try", "drop", &bad]);
    assert_eq!(dropped["try_id"], bad);
    assert!(!sandbox.path(&file).parent().unwrap().exists());
    assert_eq!(sandbox.json(["try", "list"])["invalid"], json!([]));
    sandbox.json(["prune"]);
    let found = doctor(&sandbox, "runs");
    assert_eq!(found["message"], "1 try, 0 replays");
}

#[test]
fn the_latest_try_is_no_older_one_where_it_is_damaged() {
    let sandbox = Sandbox::new();
    let words = ["--json", "try", "-n", "1", "--", "true"];
    let (old, new, _) = two(&sandbox, "try", &words);
    sandbox.write(format!(".git/timewarp/tries/{new}/try.json"), "{");
    let (error, _) = sandbox.json_error(["try", "apply", "latest"]);
    assert_eq!(error["code"], "CORRUPT_RECORD");
    assert!(
        hint(&error).contains(&format!("tw try drop {new}")),
        "{error}"
    );
    sandbox.json(["try", "drop", &new]);
    assert_eq!(sandbox.json(["try", "show", "latest"])["try_id"], old);
}

#[test]
fn a_damaged_replay_hides_no_other_and_is_dropped_by_its_id() {
    let sandbox = Sandbox::new();
    let report = [
        "issue",
        "report",
        "--symptom",
        "s",
        "--task-context",
        "t",
        "--success-criteria",
        "c",
        "--verify",
        "true",
    ];
    sandbox.json(report);
    let words = ["--json", "replay", "--status", "open", "--", "true"];
    let (bad, good, file) = two(&sandbox, "replay", &words);
    let drop = format!("'tw replay drop {bad}'");
    for (content, code) in CONTENTS {
        sandbox.write(&file, content);
        let listed = sandbox.json(["replay", "list"]);
        assert_eq!(listed["replays"].as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(listed["invalid"][0]["id"], bad, "{listed}");
        let told = sandbox.tw(["replay", "list"]).err();
        assert!(told.contains(&drop), "{content:?}: {told}");
        sandbox.json(["replay", "show", &good]);
        for args in [&["replay", "show", &bad][..], &["prune"]] {
            let (error, _) = sandbox.json_error(args);
            assert_eq!(error["code"], code, "{content:?}: {args:?}: {error}");
            assert!(hint(&error).contains(&drop), "{args:?}: {error}");
        }
        let fix = doctor(&sandbox, "runs")["fix"].clone();
        assert!(
            fix == "upgrade tw" || fix == drop.trim_matches('\''),
            "{fix}"
        );
    }
    let again = sandbox.tw(&words[1..]);
    assert_eq!(again.code, 0, "{}", again.err());
    assert!(
        again
            .err()
            .contains(&format!("{bad} is not compared with: ")),
        "{}",
        again.err()
    );
    sandbox.json(["replay", "drop", &bad]);
    sandbox.json(["prune"]);
}

#[test]
fn a_damaged_backtrack_names_what_cancels_it() {
    let sandbox = Sandbox::new();
    sandbox.json(["session", "start", "--agent", "generic", "--session", "ss"]);
    sandbox.json(["checkpoint", "-m", "c"]);
    let file = sandbox.path(".git/timewarp/backtracks/ss.json");
    let make_directory = || {
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        std::fs::write(file.join("x"), "x").unwrap();
    };
    let write = |content: &str| std::fs::write(&file, content).unwrap();
    let contents = CONTENTS.map(|(content, _)| content);
    for content in contents.iter().map(Some).chain([None]) {
        sandbox.json(["backtrack", "0", "--note", "hello"]);
        match content {
            Some(content) => write(content),
            None => make_directory(),
        }
        for args in [
            &["backtrack", "show"][..],
            &["backtrack", "take"],
            &["backtrack", "0", "--note", "another"],
        ] {
            let (error, _) = sandbox.json_error(args);
            assert!(
                hint(&error).contains("'tw backtrack cancel"),
                "{content:?}: {args:?}: {error}"
            );
            assert!(!hint(&error).contains("tw doctor"), "{error}");
        }
        let found = doctor(&sandbox, "backtracks");
        if content.is_some_and(|content| content.contains("99")) {
            assert_eq!(found["fix"], "upgrade tw", "{found}");
            sandbox.json(["backtrack", "cancel"]);
        } else {
            assert_eq!(found["fix"], "tw backtrack cancel --session ss", "{found}");
            sandbox.json(["backtrack", "cancel", "--session", "ss"]);
        }
        assert_eq!(doctor(&sandbox, "backtracks")["status"], "ok");
        assert_eq!(
            sandbox.json(["backtrack", "show"])["backtrack"],
            Value::Null
        );
    }
}

/// Two snapshots, and a trip that leaves a backup.
fn travelled() -> Sandbox {
    let sandbox = Sandbox::new();
    for text in ["two\n", "three\n"] {
        sandbox.write("a.txt", text);
        sandbox.json(["snapshot"]);
    }
    sandbox.json(["travel", "latest~1"]);
    sandbox.json(["return"]);
    sandbox
}

fn foreign(sandbox: &Sandbox) -> Vec<bool> {
    let listed = sandbox.json(["list"])["snapshots"].clone();
    let listed = listed.as_array().unwrap().iter();
    listed.map(|one| one["foreign"] == true).collect()
}

#[test]
fn an_id_that_was_lost_is_taken_from_the_backups() {
    let sandbox = travelled();
    let id = sandbox.text(".git/timewarp/id");
    assert_eq!(doctor(&sandbox, "id")["status"], "ok");
    // It is noticed before anything has the new one, and after.
    for goes_on in [false, true] {
        sandbox.remove(".git/timewarp/id");
        if goes_on {
            sandbox.write("a.txt", "four\n");
            sandbox.json(["snapshot"]);
            assert_eq!(foreign(&sandbox), [false, true, true]);
        }
        let found = doctor(&sandbox, "id");
        assert_eq!(
            (&found["status"], &found["fix"]),
            (&json!("warning"), &json!("tw recover")),
            "{found}"
        );
        let recovered = sandbox.json(["recover"]);
        assert_eq!(recovered["action"], "mended", "{recovered}");
        assert_eq!(sandbox.text(".git/timewarp/id"), id);
        assert_eq!(doctor(&sandbox, "id")["status"], "ok");
    }
    assert_eq!(foreign(&sandbox), [true, false, false]);
    assert_eq!(sandbox.json(["recover"])["action"], "nothing");
}

#[test]
fn an_id_that_was_cut_is_damaged_and_comes_back() {
    let sandbox = travelled();
    let id = sandbox.text(".git/timewarp/id");
    for cut in ["", "0123456789abcdef", "0123456789ABCDEF0123456789ABCDEF\n"] {
        sandbox.write(".git/timewarp/id", cut);
        let (error, _) = sandbox.json_error(["snapshot"]);
        assert_eq!(error["code"], "CORRUPT_RECORD", "{cut:?}: {error}");
        assert!(hint(&error).contains("'tw recover'"), "{cut:?}: {error}");
        let found = doctor(&sandbox, "state");
        assert_eq!(found["fix"], "tw recover", "{cut:?}: {found}");
        assert_eq!(sandbox.json(["recover"])["action"], "mended", "{cut:?}");
        assert_eq!(sandbox.text(".git/timewarp/id"), id);
        assert!(!foreign(&sandbox).contains(&true));
    }
    // Without any swap nobody knows what it was.
    let sandbox = Sandbox::new();
    sandbox.json(["snapshot"]);
    sandbox.write(".git/timewarp/id", "0123");
    let recovered = sandbox.json(["recover"])["notices"].to_string();
    assert!(recovered.contains("it has a new one"), "{recovered}");
}

#[test]
fn a_worktree_s_id_that_was_cut_comes_back() {
    let sandbox = travelled();
    let linked = sandbox.root().join("linked");
    sandbox.git([
        "worktree",
        "add",
        "-q",
        "--detach",
        linked.to_str().unwrap(),
    ]);
    std::fs::write(linked.join("a.txt"), "linked\n").unwrap();
    for words in [&["snapshot"][..], &["travel", "latest"], &["return"]] {
        assert_eq!(sandbox.tw_in(&linked, words).code, 0);
    }
    let file = ".git/worktrees/linked/timewarp/worktree-id";
    let id = sandbox.text(file);
    sandbox.write(file, &id[..10]);
    let said = sandbox.tw_in(&linked, ["snapshot"]).err();
    assert!(said.contains("tw recover"), "{said}");
    // It keeps what is recorded elsewhere from nothing, and the check-up says no more than that.
    assert_eq!(sandbox.tw(["prune"]).code, 0);
    assert_ne!(sandbox.tw_in(&linked, ["prune"]).code, 0);
    let said = sandbox.tw(["doctor"]).out();
    let here = "nothing can be forgotten in it until it is fixed";
    assert!(said.contains(here), "{said}");
    assert_eq!(sandbox.tw_in(&linked, ["recover"]).code, 0);
    assert_eq!(sandbox.text(file), id);
}

#[test]
fn a_session_of_a_later_version_is_not_told_to_be_removed() {
    let sandbox = Sandbox::new();
    sandbox.json(["session", "start", "--session", "s1"]);
    sandbox.json(["session", "end", "s1"]);
    let file = ".git/timewarp/sessions/s1.json";
    for (content, code) in [
        ("{\"version\": 99}", "NEWER_RECORD"),
        ("\0garbage", "CORRUPT_RECORD"),
    ] {
        sandbox.write(file, content);
        for args in [&["prune"][..], &["drop", "latest", "-y"]] {
            let (error, _) = sandbox.json_error(args);
            assert_eq!(error["code"], code, "{args:?}: {error}");
        }
        let found = doctor(&sandbox, "sessions");
        let fix = found["fix"].as_str().unwrap();
        let (status, is_removed) = match code {
            "NEWER_RECORD" => ("warning", false),
            _ => ("error", true),
        };
        assert_eq!(found["status"], status, "{found}");
        assert_eq!(fix.starts_with("rm "), is_removed, "{found}");
        assert_eq!(fix == "upgrade tw", !is_removed, "{found}");
        assert_eq!(sandbox.text(file), content);
    }
}
