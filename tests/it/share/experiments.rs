//! Experiments and tries that are shared: what goes, what others see, and that nothing of it can be used in the place of their own.

use serde_json::{Value, json};

use super::hostile::{Content, file_of};
use super::hub::{Clone_, Hub};

/// Leaves something in the past, and gives the ids of the snapshot and of what was left.
fn stay(clone: &Clone_<'_>) -> (String, String) {
    let snapshot = clone.json(["snapshot", "-m", "before"]);
    let snapshot = snapshot["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned();
    clone.json(["travel", &snapshot]);
    clone.write("a.txt", "made in the past\n");
    let back = clone.json(["return"]);
    let left = back["experiment_id"].as_str().unwrap().to_owned();
    (snapshot, left)
}

/// Tries something twice, and gives the try's id.
fn attempt(clone: &Clone_<'_>, secret: &str) -> String {
    let script = format!("echo two {secret} >>a.txt; echo printed-violet; exit 0");
    let words = ["try", "-n", "2", "--verify", "grep -q two a.txt", "--"];
    let tried = clone.json(words.into_iter().chain(["sh", "-c", &script]));
    tried["try_id"].as_str().unwrap().to_owned()
}

fn left(clone: &Clone_<'_>) -> Value {
    clone.json(["list", "--kind", "experiment"])["shared"].clone()
}

fn tries(clone: &Clone_<'_>) -> Value {
    clone.json(["try", "list"])["shared"].clone()
}

fn ids(records: &Value) -> Vec<&str> {
    let records = records.as_array().unwrap().iter();
    let mut ids: Vec<&str> = records.map(|one| one["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn what_was_left_and_tried_goes_without_what_is_of_this_machine() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let (snapshot, x) = stay(&a);
    let t = attempt(&a, "two");
    let tried = a.json(["try", "show", &t]);
    let of_run = tried["runs"][0]["experiment_id"].as_str().unwrap();
    let dry = a.json(["push", "--dry-run"])["sent"].clone();
    assert_eq!(dry.as_array().unwrap().len(), 4, "{dry}");
    for id in [t.as_str(), &x, of_run] {
        assert!(ids(&dry).contains(&id), "{id}: {dry}");
    }
    assert!(
        dry.as_array()
            .unwrap()
            .iter()
            .all(|one| one["kind"] == "experiment")
    );
    assert_eq!(hub.refs(), "");
    assert_eq!(a.json(["share", "status"])["to_push"], dry);
    assert_eq!(a.json(["push"])["sent"], dry);
    assert_eq!(a.json(["push"])["sent"], json!([]), "nothing is new");
    let file = hub.shared(&t) + &hub.shared(&x) + &hub.shared(of_run);
    for private in [
        "violet",
        "sh -c",
        ".log",
        ".tw/",
        "worktree",
        "workspace",
        "repository",
        "platform",
        "\"tree",
        "\"ref",
        "exclude",
        "\"seq",
        a.dir.to_str().unwrap(),
    ] {
        assert!(!file.contains(private), "{private}: {file}");
    }

    assert_eq!(
        b.json(["pull", "--dry-run"])["received"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    assert_eq!(tries(&b), json!([]), "it was a dry run");
    let received = b.json(["pull"])["received"].clone();
    assert_eq!(ids(&received), ids(&dry));
    assert_eq!(received[0]["claimed_by"], "a's");
    let seen = tries(&b)[0].clone();
    assert_eq!(
        (&seen["try_id"], &seen["claimed_by"], &seen["source"]),
        (&json!(t), &json!("a's"), &tried["source"])
    );
    assert_eq!(
        (&seen["command"], &seen["best"]),
        (&Value::Null, &tried["best"])
    );
    let run = &seen["runs"][0];
    assert_eq!(
        (&run["number"], &run["status"], &run["verify"]["command"]),
        (&json!(1), &json!("passed"), &json!("grep -q two a.txt"))
    );
    assert_eq!(run["diff_stat"]["insertions"], 1);
    let all = left(&b);
    let mut seen = all.as_array().unwrap().iter();
    let seen = seen.find(|one| one["experiment_id"] == *x).unwrap();
    assert_eq!(
        (&seen["started_from"], &seen["trigger"], &seen["claimed_by"]),
        (&json!(snapshot), &json!("return"), &json!("a's"))
    );
    let head = a.git(["rev-parse", "HEAD"]);
    assert_eq!(seen["head"], head.trim());
    let shown = b.tw(["try", "list", "-v"]).out() + &b.tw(["list", "--all"]).out();
    for part in ["(claimed by a's)", "2 runs", "passed", x.as_str()] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!((left(&a), tries(&a)), (json!([]), json!([])));
    assert_eq!(
        b.json(["push"])["sent"],
        json!([]),
        "what came is nothing to send"
    );
    hub.assert_same(&[&a, &b]);
}

#[test]
fn an_experiment_of_somebody_else_is_shown_and_no_more() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let (_, x) = stay(&a);
    let t = attempt(&a, "password=hunter2-Violet-77");
    a.json(["share", "init", "origin", "--prompts", "redacted"]);
    a.json(["push"]);
    assert!(!hub.everything().join("\n").contains("hunter2"));
    b.json(["pull"]);
    let command = tries(&b)[0]["command"].as_str().unwrap().to_owned();
    assert!(command.contains("***REDACTED"), "{command}");
    for words in [
        &["try", "show", &t][..],
        &["try", "apply", &t, "1"],
        &["try", "log", &t, "1"],
        &["try", "drop", &t],
        &["show", &x],
        &["travel", &x],
    ] {
        let (error, _) = b.json_error(words);
        assert_eq!(error["code"], "SNAPSHOT_NOT_FOUND", "{words:?}: {error}");
    }
    let listed = |words: &[&str]| b.json(words)["shared"].as_array().unwrap().len();
    assert_eq!(listed(&["list", "--kind", "experiment"]), 3);
    assert_eq!(listed(&["list", "--kind", "experiment", "-n", "1"]), 1);
    assert_eq!(
        listed(&["list", "--kind", "experiment", "--since", "yesterday"]),
        0
    );
    assert_eq!(listed(&["list"]), 0);
    assert_eq!(b.tw(["-q", "list", "--all"]).out(), "");
    b.json(["prune"]);

    // Without texts again, and with the files of one.
    a.json(["share", "init", "origin"]);
    a.json(["push", "--snapshots", &x]);
    b.json(["pull"]);
    assert_eq!(tries(&b)[0]["command"], Value::Null);
    assert_eq!(
        listed(&["list", "--kind", "experiment"]),
        2,
        "one is here itself"
    );
    assert_eq!(b.json(["show", &x])["snapshot"]["snapshot_id"], *x);
    assert_eq!(
        b.json(["push"])["sent"],
        json!([]),
        "it is not b's to share"
    );

    // What is dropped by hand is deleted for all; what retention would let go of stays as it was shared.
    a.json(["try", "drop", &t]);
    a.git([
        "update-ref",
        "-d",
        &format!("refs/timewarp/experiments/{x}"),
    ]);
    let sent = a.json(["push"])["sent"].clone();
    assert_eq!(
        sent,
        json!([{"kind": "experiment", "id": t, "change": "deleted", "claimed_by": null}])
    );
    assert_eq!(a.json(["push"])["sent"], json!([]));
    assert_eq!(b.json(["pull"])["received"][0]["change"], "deleted");
    assert_eq!(tries(&b), json!([]));
    assert!(hub.shared(&t).contains("\"deleted\"") && !hub.shared(&x).contains("\"deleted\""));
    hub.assert_same(&[&a, &b]);
}

#[test]
fn a_copy_of_a_repository_deletes_nothing_of_the_original() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    let first = attempt(&a, "two");
    a.json(["push"]);
    let copy = hub.at("copy");
    let mut cp = hub.sandbox.command("cp");
    let copied = cp.arg("-a").args([&a.dir, &copy.dir]).output();
    assert!(copied.unwrap().status.success());
    let second = attempt(&a, "three");
    a.json(["push"]);
    copy.json(["pull"]);
    assert_eq!(copy.json(["push"])["sent"], json!([]));
    // Lost, as out of an older backup, and not dropped.
    std::fs::remove_dir_all(a.dir.join(format!(".git/timewarp/tries/{second}"))).unwrap();
    assert_eq!(a.json(["push"])["sent"], json!([]));
    for id in [&first, &second] {
        assert!(!hub.shared(id).contains("\"deleted\""), "{id}");
    }
    copy.json(["try", "drop", &first]);
    assert_eq!(ids(&copy.json(["push"])["sent"]), [&first]);
    assert!(hub.shared(&first).contains("\"deleted\""));
}

/// An earlier version keeps no list of what was dropped.
#[test]
fn a_try_that_an_earlier_version_dropped_can_be_dropped_for_the_others() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let t = attempt(&a, "two");
    a.json(["push"]);
    b.json(["pull"]);
    std::fs::remove_dir_all(a.dir.join(format!(".git/timewarp/tries/{t}"))).unwrap();
    // A part of the id might mean another one.
    a.json_error(["try", "drop", &t[..12]]);
    b.json_error(["try", "drop", &t]);
    assert_eq!(a.json(["try", "drop", &t])["try_id"], *t);
    assert_eq!(ids(&a.json(["push"])["sent"]), [&t]);
    assert!(hub.shared(&t).contains("\"deleted\""));
    a.json_error(["try", "drop", &t]);
    b.json(["pull"]);
    assert_eq!(tries(&b), json!([]));
}

#[test]
fn a_secret_in_a_try_stops_the_push() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    let t = attempt(&a, "two");
    let path = a.dir.join(format!(".git/timewarp/tries/{t}/try.json"));
    let token = "ghp_R4nd0mT0kenValue0123456789abcdefABCD";
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("grep -q two", &format!("grep {token}"))).unwrap();
    for words in [&["push"][..], &["push", "--dry-run"], &["share", "scan"]] {
        let (error, code) = a.json_error(words);
        assert_eq!((error["code"].as_str(), code), (Some("SECRET_FOUND"), 5));
        let fields = error["findings"].as_array().unwrap().iter();
        let fields: Vec<&str> = fields.map(|one| one["field"].as_str().unwrap()).collect();
        assert!(fields.contains(&"runs/r_1/verify/command"), "{fields:?}");
        assert!(
            error["findings"][0]["kind"] == "experiment" && !error.to_string().contains("R4nd0m")
        );
        assert!(error.to_string().contains("tw try drop"), "{error}");
    }
    assert_eq!(hub.refs(), "");
    assert_eq!(hub.objects(), 0);
    // What a try that cannot be read says stays here, and deletes none.
    std::fs::write(&path, "{").unwrap();
    let pushed = a.json(["push"]);
    assert!(
        pushed["notices"][0]
            .as_str()
            .unwrap()
            .starts_with(&format!("try {t} stays here")),
        "{pushed}"
    );
    assert!(!ids(&pushed["sent"]).contains(&t.as_str()), "{pushed}");
}

/// Records as somebody might write them, and a try that is good: the first two are what they should be.
fn hostile() -> (Vec<(String, Value)>, Value) {
    let (x, t) = ("x_20260101_000000_aaaaa", "t_20260101_000000_aaaaa");
    let time = "2026-01-01T00:00:00Z";
    let good_left = json!({"created_at": time, "trigger": "\u{1b}[2Jreturn", "agent": "\u{202e}evil",
        "started_from": "s_20260101_000000_aaaaaa", "head": "0".repeat(40)});
    let run = json!({"id": "r_1", "number": 1, "status": "\u{1b}[2Jpassed", "duration_ms": 1, "started_at": time, "ended_at": time,
        "verify": {"command": "touch tw-ran\u{7}", "status": "passed", "duration_ms": 1}});
    let good_try = json!({"created_at": time, "ended_at": time, "source": "s_20260101_000000_aaaaaa",
        "command": "\u{1b}]0;x\u{7}", "best": 7, "runs/r_1": run});
    let mut cases: Vec<(String, Value)> = Vec::new();
    let mut add = |id: &str, good: &Value, field: &str, value: Value| {
        let (name, id) = match id.split_at(1) {
            ("x", _) => ("experiment_id", format!("{id}{}", cases.len() % 10)),
            _ => ("try_id", format!("{id}{}", cases.len() % 10)),
        };
        let mut fields = good.clone();
        fields[name] = id.clone().into();
        fields[field] = value;
        cases.push((id, fields));
    };
    add(x, &good_left, "later", json!(1));
    add(t, &good_try, "later", json!([1]));
    add(
        x,
        &good_left,
        "experiment_id",
        json!("x_20260101_000000_bbbbbb"),
    );
    add(x, &good_left, "created_at", json!("yesterday"));
    add(x, &good_left, "started_from", json!("../../etc/passwd"));
    add(x, &good_left, "head", json!("--upload-pack=x"));
    add(t, &good_try, "try_id", json!(["t"]));
    add(t, &good_try, "source", json!("b_"));
    add(t, &good_try, "issue_id", json!("x".repeat(5000)));
    add(t, &good_try, "runs/r_2", json!({"number": -1}));
    let mut bad = run.clone();
    bad["experiment_id"] = json!("s_20260101_000000_aaaaaa");
    let (t, x) = ("t_20260101_000001_aaaaa", "x_20260101_000001_aaaaa");
    let mut add = |id: &str, good: &Value, field: &str, value: Value| {
        let mut fields = good.clone();
        fields[if id.starts_with('x') {
            "experiment_id"
        } else {
            "try_id"
        }] = format!("{id}z").into();
        fields[field] = value;
        cases.push((format!("{id}z"), fields));
    };
    add(t, &good_try, "runs/r_2", bad);
    add(x, &good_left, "created_at", json!({}));
    (cases, good_try)
}

#[test]
fn hostile_experiments_are_refused_by_name_and_hide_nothing() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let ours = attempt(&a, "two");
    a.json(["push"]);
    let (cases, good_try) = hostile();
    let files: Vec<(String, Vec<u8>)> = cases
        .iter()
        .map(|(id, fields)| {
            let kind = timewarp::ops::sharing::fields::Kind::Experiment;
            let path = timewarp::ops::sharing::tree::path(kind, id);
            let file = file_of("experiment", id, fields);
            (path, file.to_string().into_bytes())
        })
        .collect();
    let mut planted: Vec<(&str, Content<'_>)> = files
        .iter()
        .map(|(path, bytes)| (path.as_str(), Content::Blob(bytes)))
        .collect();
    let strangers = [
        "experiments/aa/b_20260101_000000_aaaaaa.json",
        "experiments/aa/r.json",
    ];
    planted.extend(strangers.map(|path| (path, Content::Blob(&b"{}"[..]))));
    hub.write(&planted);
    let pulled = b.json(["pull"]);
    let refused = pulled["refused"].as_array().unwrap().iter();
    let refused: Vec<&str> = refused.map(|one| one["path"].as_str().unwrap()).collect();
    for path in files[2..]
        .iter()
        .map(|(path, _)| path.as_str())
        .chain(strangers)
    {
        assert!(refused.contains(&path), "{path}: {refused:?}");
    }
    assert_eq!(refused.len(), files.len(), "{refused:?}");
    // Ours, one good one of each, and what ours left.
    let (seen, all) = (tries(&b), left(&b));
    assert_eq!(seen.as_array().unwrap().len(), 2, "{seen}");
    assert_eq!(all.as_array().unwrap().len(), 3, "{all}");
    let good = seen
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["try_id"] != *ours);
    assert_eq!(good.unwrap()["best"], Value::Null, "there is no such run");
    let shown = b.tw(["try", "list", "-v"]).out() + &b.tw(["list", "--all"]).out();
    assert!(
        !shown.contains(['\u{1b}', '\u{202e}', '\u{7}']),
        "{shown:?}"
    );
    assert!(!b.dir.join("tw-ran").exists());

    // Ours stays what is kept here, whatever others make of it.
    let mut forged = good_try.clone();
    forged["try_id"] = json!(ours);
    let kind = timewarp::ops::sharing::fields::Kind::Experiment;
    let path = timewarp::ops::sharing::tree::path(kind, &ours);
    let file = file_of("experiment", &ours, &forged).to_string();
    hub.write(&[(&path, Content::Blob(file.as_bytes()))]);
    let before = a.json(["try", "show", &ours]);
    a.json(["pull"]);
    assert_eq!(a.json(["try", "show", &ours]), before);
    a.json(["push"]);
    assert!(hub.shared(&ours).contains("grep -q two a.txt"));
}
