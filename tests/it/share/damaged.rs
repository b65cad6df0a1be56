//! What is kept for sharing, damaged as by a power cut: nobody blames the remote, and what is said leads on.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::hub::{Clone_, Hub};
use super::only;
use crate::sandbox::{is_root, skipped};

/// The check of the check-up.
fn sharing(clone: &Clone_) -> Value {
    let document: Value = serde_json::from_str(&clone.tw(["doctor", "--json"]).out()).unwrap();
    let checks = document["checks"].as_array().unwrap().iter();
    let mut those = checks.filter(|check| check["name"] == "sharing");
    those.next().unwrap().clone()
}

/// The loose objects of a depot.
fn objects(depot: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    crate::damage::walk(&depot.join("objects"), &mut |path| {
        if path.is_file() {
            found.push(path.to_owned());
        }
    });
    found
}

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    let done = std::process::Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status();
    assert!(done.unwrap().success());
}

/// `tw` says what is damaged and that `tw recover` helps, and nothing of the remote.
fn assert_told(clone: &Clone_, words: &[&str], what: &str) {
    let (error, _) = clone.json_error(words);
    assert_eq!(error["code"], "CORRUPT_RECORD", "{what}: {error}");
    let text = error.to_string();
    assert!(
        text.contains("'tw recover' sets it aside"),
        "{what}: {error}"
    );
    assert!(!text.contains("ask who may write"), "{what}: {error}");
    assert!(!text.contains("tw doctor"), "{what}: {error}");
}

#[test]
fn a_damaged_depot_is_set_aside_and_made_anew() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    let id = a.report("first");
    a.json(["push"]);
    b.json(["pull"]);
    assert_eq!(sharing(&a)["message"], "on, with 'origin'");
    let (depot, kept) = (a.depot(), hub.sandbox.root().join("kept.git"));
    let seen = a.in_depot(&["rev-parse", "refs/records/seen"]);
    copy(&depot, &kept);
    let empty_seen = || {
        let object = objects(&depot).into_iter();
        let mut object = object.filter(|path| path.ends_with(&seen.trim()[2..]));
        let object = object.next().unwrap();
        std::fs::remove_file(&object).unwrap();
        std::fs::write(&object, "").unwrap();
    };
    let lose_all = || {
        for object in objects(&depot) {
            std::fs::remove_file(object).unwrap();
        }
    };
    let empty = |name: &str| std::fs::write(depot.join(name), "").unwrap();
    let own = || empty("refs/records/own");
    let (head, config) = (|| empty("HEAD"), || empty("config"));
    let ways: [(&str, &dyn Fn()); 5] = [
        ("own", &own),
        ("objects", &lose_all),
        ("seen", &empty_seen),
        ("HEAD", &head),
        ("config", &config),
    ];
    for (what, damage) in ways {
        copy(&kept, &depot);
        damage();
        let found = sharing(&a);
        assert_eq!(found["fix"], "tw recover", "{what}: {found}");
        if what != "config" {
            assert_told(&a, &["pull"], what);
            assert_told(&a, &["push", "--dry-run"], what);
        }
        if !["HEAD", "config"].contains(&what) {
            assert_told(&a, &["share", "status"], what);
            assert_told(&a, &["share", "scan"], what);
        }
        let recovered = a.json(["recover"]);
        assert_eq!(recovered["action"], "mended", "{what}: {recovered}");
        assert!(
            recovered["notices"].to_string().contains("tw pull"),
            "{what}: {recovered}"
        );
        assert_eq!(sharing(&a)["status"], "ok", "{what}");
        assert_eq!(a.json(["recover"])["action"], "nothing", "{what}");
        a.json(["pull"]);
        b.json(["issue", "comment", &id, "-m", what]);
        b.json(["push"]);
        assert_eq!(a.json(["pull"])["received"][0]["id"], id, "{what}");
    }
    a.json(["push"]);
    hub.assert_same(&[&a, &b]);
}

#[test]
fn a_damaged_setup_is_set_aside_and_made_anew() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.report("first");
    a.json(["push"]);
    for content in ["", "{", "[]", "{\"version\": 1, \"remote\": 7}"] {
        std::fs::write(a.dir.join(".git/timewarp/share.json"), content).unwrap();
        for words in [
            &["push"][..],
            &["pull"],
            &["share", "status"],
            &["share", "off"],
            &["share", "init", "origin"],
        ] {
            assert_told(&a, words, content);
        }
        let found = sharing(&a);
        assert_eq!(found["fix"], "tw recover", "{content}: {found}");
        let recovered = a.json(["recover"]);
        assert!(
            recovered["notices"].to_string().contains("tw share init"),
            "{content}: {recovered}"
        );
        assert_eq!(sharing(&a)["message"], "off", "{content}");
        a.json(["share", "init", "origin"]);
        a.json(["pull"]);
    }
    b.json(["pull"]);
    only(&b);
    std::fs::write(a.dir.join(".git/timewarp/share.json"), "{\"version\": 99}").unwrap();
    assert_eq!(sharing(&a)["fix"], "upgrade tw");
    assert_eq!(a.json(["recover"])["action"], "nothing");
}

#[test]
fn a_purge_deletes_what_was_set_aside() {
    let hub = Hub::new();
    let a = hub.sharing("a");
    a.write(
        "notes", "private
",
    );
    a.json(["snapshot"]);
    a.json(["push", "--snapshots", "latest"]);
    let depot = a.depot();
    std::fs::write(depot.join("HEAD"), "").unwrap();
    a.json(["recover"]);
    let aside = depot.with_extension("git.damaged");
    assert!(aside.is_dir());
    a.json(["purge", "notes", "--yes-purge"]);
    assert!(!aside.exists());
}

/// As a purge that died before it took the old one away left it.
#[test]
fn a_depot_that_waits_beside_a_whole_one_never_takes_its_place() {
    let hub = Hub::new();
    let (a, b) = hub.two();
    a.report("first");
    a.json(["push"]);
    let (depot, waits) = (a.depot(), a.depot().with_extension("git.next"));
    copy(&depot, &waits);
    b.json(["pull"]);
    b.report("second");
    b.json(["push"]);
    a.json(["pull"]);
    assert!(depot.exists() && !waits.exists());
    // One that is damaged is set aside whichever it is.
    std::fs::rename(&depot, &waits).unwrap();
    std::fs::write(waits.join("HEAD"), "").unwrap();
    assert_eq!(sharing(&a)["status"], "error");
    a.json(["recover"]);
    assert_eq!(sharing(&a)["status"], "ok");
    a.json(["pull"]);
    hub.assert_same(&[&a, &b]);
}

#[test]
fn a_depot_that_may_not_be_looked_at_is_not_made_anew() {
    if is_root() {
        skipped("share", "nothing is closed to root");
        return;
    }
    let hub = Hub::new();
    let (a, _) = hub.two();
    a.report("first");
    a.json(["push"]);
    let bits = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(a.depot(), bits(0o000)).unwrap();
    assert_eq!(sharing(&a)["status"], "error");
    for words in [&["share", "status"][..], &["push"], &["pull"]] {
        assert_eq!(a.json_error(words).0["code"], "IO", "{words:?}");
    }
    std::fs::set_permissions(a.depot(), bits(0o700)).unwrap();
    assert_eq!(
        a.json(["share", "status"])["to_push"],
        serde_json::json!([])
    );
}
