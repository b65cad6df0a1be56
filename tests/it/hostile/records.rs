//! Forged, misleading and damaged records.

use std::path::PathBuf;

use serde_json::{Value, json};
use timewarp::git::objects::ObjectKind;

use super::{FORGED, Model, assert_harmless, calm, outside, plant, put, tree};
use crate::damage::{assert_fsck_clean, assert_nothing_lost, blobs, walk};
use crate::sandbox::{Kind, Sandbox};
use crate::stage::{eventful, eventful_as, in_the_past, taken};

#[test]
fn documents_that_are_no_record_hide_no_other() {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    let with = |key: &str, value: Value| {
        let mut json = model.json.clone();
        json[key] = value;
        serde_json::to_vec(&json).unwrap()
    };
    let bomb = [vec![b'['; 200_000], vec![b']'; 200_000]].concat();
    let mut broken = model.document();
    broken.insert(20, 0xff);
    let documents: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("no JSON", b"hello".to_vec()),
        ("a list", b"[]".to_vec()),
        ("a bomb", bomb),
        ("a bomb inside", {
            let text = String::from_utf8(model.document()).unwrap();
            let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
            text.replacen('{', &format!("{{\"x\":{deep},"), 1)
                .into_bytes()
        }),
        ("future", with("version", json!(99))),
        ("huge version", with("version", json!(u64::MAX))),
        ("negative version", with("version", json!(-1))),
        ("text version", with("version", json!("1"))),
        ("wrong type", with("stats", json!("many"))),
        ("wrong list", with("empty_dirs", json!({"a": 1}))),
        ("wrong mode", with("modes", json!({"a.txt": "rwx"}))),
        ("not UTF-8", broken),
        ("cut", model.document()[..60].to_vec()),
    ];
    for (what, document) in documents {
        model.plant(&sandbox, &model.tree, &document);
        assert_harmless(&sandbox, what);
    }
}

#[test]
fn refs_that_lead_to_no_snapshot_hide_no_other() {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    let blob = put(&sandbox, ObjectKind::Blob, b"no commit\n");
    let orphan = Model {
        parents: Vec::new(),
        tree: model.tree.clone(),
        json: model.json.clone(),
    };
    let cases = [
        ("a blob", blob),
        ("a tree", model.tree.clone()),
        ("nothing", sandbox.kind().id("3")),
        (
            "a plain commit",
            sandbox.git(["rev-parse", "HEAD"]).trim().to_owned(),
        ),
        (
            "no index commit",
            orphan.commit(&sandbox, &model.tree, &orphan.document()),
        ),
        ("garbage", "zzz".to_owned()),
    ];
    for (what, oid) in cases {
        plant(&sandbox, &oid);
        assert_harmless(&sandbox, what);
    }
}

#[test]
fn lists_that_lead_out_of_the_tree_do_nothing_there() {
    let (sandbox, id) = eventful();
    let model = Model::new(&sandbox, &id);
    for path in [
        "../planted",
        "/tmp/tw-planted",
        ".git/planted",
        "dir/../../planted",
        ".git/hooks",
    ] {
        let mut json = model.json.clone();
        json["empty_dirs"] = json!([path]);
        json["modes"] = json!({path: "0777", "a.txt": "6777"});
        model.plant(&sandbox, &model.tree, &serde_json::to_vec(&json).unwrap());
        let before = sandbox.state();
        let around = outside(&sandbox);
        let ran = sandbox.tw(["--json", "travel", FORGED]);
        if calm(&ran, path)["ok"] == true {
            sandbox.json(["return"]);
        }
        before.assert_same(&sandbox.state());
        assert_eq!(outside(&sandbox), around, "{path}");
        assert!(!sandbox.exists(".git/planted"), "{path}");
    }
}

/// Replaces the operation files of a snapshot of a merge by others.
fn forge_operation(sandbox: &Sandbox, id: &str, name: &[u8], mode: &str) {
    let blob = put(sandbox, ObjectKind::Blob, b"#!/bin/sh\ntouch planted\n");
    let files = tree(sandbox, &[(mode, name, &blob)]);
    let operation = tree(sandbox, &[("40000", b"files", &files)]);
    let state = tree(sandbox, &[("40000", b"operation", &operation)]);
    forge_state(sandbox, Model::new(sandbox, id), &state);
}

/// Gives a snapshot another state commit.
fn forge_state(sandbox: &Sandbox, model: Model, state_tree: &str) {
    let index_tree = sandbox.git(["rev-parse", &format!("{}^{{tree}}", model.parents[1])]);
    let who = "timewarp <timewarp@localhost> 1 +0000";
    let commit = |tree: &str, parents: &[&str]| {
        let parents: String = parents
            .iter()
            .map(|oid| format!("parent {oid}\n"))
            .collect();
        let text = format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\nforged\n");
        put(sandbox, ObjectKind::Commit, text.as_bytes())
    };
    let state = commit(state_tree, &[]);
    let index = commit(index_tree.trim(), &[&model.parents[0], &state]);
    let forged = Model {
        parents: vec![model.parents[0].clone(), index],
        ..model
    };
    forged.plant(sandbox, &forged.tree, &forged.document());
}

/// Travel, which would put operation files in place, is refused.
fn assert_not_entered(sandbox: &Sandbox, what: &str) {
    let before = sandbox.state();
    let refused = calm(&sandbox.tw(["--json", "travel", FORGED]), what);
    assert_eq!(
        refused["error"]["code"], "CORRUPT_RECORD",
        "{what}: {refused}"
    );
    before.assert_same(&sandbox.state());
    sandbox.json(["list"]);
}

#[test]
fn operation_files_of_unknown_names_are_never_put_in_place() {
    let (sandbox, _) = eventful_as(Kind::ref_files());
    let id = taken(&sandbox);
    let names: [&[u8]; 8] = [
        b"hooks",
        b"config",
        b"..",
        b"index",
        b"HEAD",
        b"timewarp",
        b"MERGE_HEAD/../config",
        b"info",
    ];
    for name in names {
        for mode in ["100755", "120000"] {
            forge_operation(&sandbox, &id, name, mode);
            assert_not_entered(
                &sandbox,
                &format!("operation {} {mode}", name.escape_ascii()),
            );
        }
    }
    forge_operation(&sandbox, &id, b"MERGE_HEAD", "120000");
    assert_not_entered(&sandbox, "a symlink for MERGE_HEAD");
}

/// An entry beside the tree of the index names a path outright: git would write it at the next checkout.
#[test]
fn entries_of_an_index_with_names_that_git_would_not_take_are_refused() {
    let (sandbox, _) = eventful_as(Kind::ref_files());
    let id = taken(&sandbox);
    let blob = put(&sandbox, ObjectKind::Blob, b"#!/bin/sh\ntouch planted\n");
    let forge = |model: Model, path: &str| {
        let line = format!("100755 {blob} 0\t{path}\0");
        let lines = put(&sandbox, ObjectKind::Blob, line.as_bytes());
        let index = tree(&sandbox, &[("100644", b"unmerged", &lines)]);
        let state = tree(&sandbox, &[("40000", b"index", &index)]);
        forge_state(&sandbox, model, &state);
    };
    for path in [".git/hooks/x", "../x", "/x", "a//x", "dir/.GIT/x", ""] {
        forge(Model::new(&sandbox, &id), path);
        assert_not_entered(&sandbox, &format!("an entry '{path}'"));
    }
    // What only other systems read so the user's own git may have taken, and nobody else's.
    for path in ["git~1/hooks/x", ".git /x", ".gi\u{200c}t/x"] {
        let mut model = Model::new(&sandbox, &id);
        model.json["repository_id"] = "of-somebody-else".into();
        forge(model, path);
        assert_not_entered(&sandbox, &format!("an entry '{path}' of others"));
    }
}

/// What becomes of a file of ours.
fn harms(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("empty", Vec::new()),
        ("cut", bytes[..bytes.len() / 2].to_vec()),
        ("zeros", vec![0; bytes.len()]),
        ("garbage", b"\xff\xfe garbage {[".to_vec()),
        ("deep", vec![b'['; 100_000]),
        ("future", br#"{"version": 99, "x": 1}"#.to_vec()),
        (
            "other types",
            br#"{"version": 1, "mode": 7, "entries": "x"}"#.to_vec(),
        ),
        ("longer", [bytes, &b"x"[..]].concat()),
    ]
}

#[test]
fn damaged_files_of_ours_are_errors_that_lose_nothing() {
    let (sandbox, _, _) = in_the_past();
    sandbox.json(["return"]);
    sandbox.json(["undo", "-y"]);
    let bytes = blobs(&sandbox);
    let before = sandbox.state();
    let files = [
        "state.json",
        "journal.json",
        "cache",
        "cache.patch",
        "seq",
        "repository-id",
        "undo",
        "fingerprint",
    ];
    let mut damaged = 0;
    let dir = sandbox.path(".git/timewarp");
    let mut targets: Vec<PathBuf> = files.iter().map(|name| dir.join(name)).collect();
    walk(&dir, &mut |path| targets.push(path.to_owned()));
    targets.retain(|path| path.is_file() || path.ends_with("journal.json"));
    targets.sort();
    targets.dedup();
    for target in targets {
        let good = std::fs::read(&target).unwrap_or_default();
        let main = ["state.json", "journal.json", "cache", "cache.patch"];
        let most = main.iter().any(|name| target.ends_with(name));
        let tried = harms(&good).into_iter().take(if most { 8 } else { 3 });
        for (what, bad) in tried {
            damaged += 1;
            std::fs::write(&target, bad).unwrap();
            let context = format!("{} {what}", target.display());
            for args in [&["list"][..], &["recover"]] {
                calm(&sandbox.tw([&["--json"], args].concat()), &context);
            }
            let taken = calm(&sandbox.tw(["--json", "snapshot"]), &context);
            let is_cache = ["cache", "cache.patch", "seq"]
                .iter()
                .any(|name| target.ends_with(name));
            assert!(taken["ok"] == true || !is_cache, "{context}: {taken}");
            let far = before.differences(&sandbox.state());
            assert!(far.is_empty(), "{context}: {far:?}");
            if target.ends_with("journal.json") {
                // Unless recovery has set it aside.
                let _ = std::fs::remove_file(&target);
            } else {
                std::fs::write(&target, &good).unwrap();
            }
        }
    }
    assert!(damaged > 40, "{damaged}");
    assert_nothing_lost(&sandbox, &bytes, "damaged files");
    assert_fsck_clean(&sandbox, "damaged files");
    // And the way home is still there.
    assert_eq!(sandbox.json(["return"])["verified"], true);
}

#[test]
fn a_cache_of_another_repository_is_no_cache() {
    let (sandbox, id) = eventful();
    let (other, _) = eventful();
    other.write("a.txt", "of the other one\n");
    taken(&other);
    // Its stamps may look alike; what it names as its anchor is not here.
    sandbox.write(".git/timewarp/cache", other.read(".git/timewarp/cache"));
    let again = sandbox.json(["snapshot"]);
    let commit = again["snapshot"]["commit"].as_str().unwrap();
    let text = sandbox.git(["cat-file", "blob", &format!("{commit}:a.txt")]);
    assert_eq!(text, sandbox.text("a.txt"));
    assert_fsck_clean(&sandbox, "a foreign cache");
    sandbox.assert_round_trip(&id, |_| ());
}

#[test]
fn a_damaged_undo_log_is_an_error_and_not_a_guess() {
    let (sandbox, id) = eventful();
    sandbox.json(["restore", &id]);
    let mut levels = Vec::new();
    walk(&sandbox.path(".git/timewarp/undo"), &mut |path| {
        levels.push(path.to_owned());
    });
    let [level] = &levels[..] else {
        panic!("{levels:?}")
    };
    let good = std::fs::read_to_string(level).unwrap();
    let before = sandbox.state();
    let around = outside(&sandbox);
    let mut cases = harms(good.as_bytes());
    for path in ["../planted", "/etc/planted", ".git/config", "a/../../x", ""] {
        cases.push((
            "path",
            good.replace("\"a.txt\"", &format!("{path:?}")).into_bytes(),
        ));
    }
    for (what, bad) in cases {
        std::fs::write(level, &bad).unwrap();
        let refused = calm(&sandbox.tw(["--json", "undo"]), what);
        assert_eq!(refused["ok"], false, "{what}");
        before.assert_same(&sandbox.state());
        assert_eq!(outside(&sandbox), around, "{what}");
    }
    std::fs::write(level, good).unwrap();
    sandbox.json(["undo"]);
}

#[test]
fn bits_that_somebody_else_recorded_open_nothing_wider_than_usual() {
    use std::os::unix::fs::MetadataExt;
    let (sandbox, id) = eventful_as(Kind::ref_files());
    let model = Model::new(&sandbox, &id);
    let mut json = model.json.clone();
    json["repository_id"] = json!("0123456789abcdef0123456789abcdef");
    json["default_modes"] = json!({"file": "0666", "executable": "0777", "directory": "0777"});
    json["modes"] = json!({"a.txt": "0662"});
    model.plant(&sandbox, &model.tree, &serde_json::to_vec(&json).unwrap());
    sandbox.write("a.txt", "now\n");
    sandbox.chmod("a.txt", 0o664);
    let bits = |path: &std::path::Path| path.symlink_metadata().unwrap().mode() & 0o777;
    let was = bits(&sandbox.path("a.txt"));
    assert_eq!(was, 0o664);
    let mut others: Vec<PathBuf> = Vec::new();
    walk(&sandbox.repo(), &mut |path| {
        let is_link = path.symlink_metadata().unwrap().is_symlink();
        if !is_link && !path.starts_with(sandbox.path(".git")) && !path.ends_with("a.txt") {
            others.push(path.to_owned());
        }
    });
    sandbox.json(["restore", FORGED]);
    // The group had it before.
    assert_eq!(bits(&sandbox.path("a.txt")), 0o660);
    for path in others.iter().filter(|path| path.exists()) {
        assert_eq!(bits(path) & 0o022, 0, "{}", path.display());
    }
    let dir = sandbox.json(["open", FORGED])["dir"]
        .as_str()
        .unwrap()
        .to_owned();
    let laid = std::path::Path::new(&dir).join("a.txt");
    assert_eq!(bits(&laid) & 0o022, 0, "{}", laid.display());
}
