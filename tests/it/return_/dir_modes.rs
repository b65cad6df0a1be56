//! Permission bits of directories in which nothing is captured but other directories.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::access::set_attribute;
use crate::sandbox::{Sandbox, skipped};
use crate::trip::{snapshot, state_json};

fn bits(sandbox: &Sandbox, path: &str) -> u32 {
    sandbox.path(path).metadata().unwrap().permissions().mode() & 0o7777
}

/// `x` and `y/z` with nothing but an empty directory in them, and `l` and `l/e` with nothing but what is left out.
fn with_private_dirs() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.mkdir("x/empty");
    sandbox.mkdir("y/z/deep/empty");
    sandbox.write("l/e/big.log", "left out\n");
    for (path, bits) in [
        ("x", 0o700),
        ("y/z", 0o711),
        ("y/z/deep", 0o2750),
        ("l", 0o700),
        ("l/e", 0o750),
    ] {
        sandbox.chmod(path, bits);
    }
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "later\n");
    (sandbox, id)
}

fn open_all(sandbox: &Sandbox) {
    for path in ["x", "y/z", "y/z/deep", "l", "l/e"] {
        sandbox.chmod(path, 0o755);
    }
}

#[test]
fn bits_come_back_of_directories_with_nothing_but_empty_or_left_out_ones() {
    type Change = fn(&Sandbox);
    let changes: [(&str, Change); 5] = [
        ("opened", open_all),
        ("sticky", |sandbox| sandbox.chmod("x", 0o1777)),
        ("filled", |sandbox| {
            sandbox.remove("x/empty");
            sandbox.write("x/file", "past\n");
            sandbox.chmod("x", 0o755);
            sandbox.write("y/z/deep/empty/file", "past\n");
            open_all(sandbox);
        }),
        ("gone", |sandbox| {
            sandbox.remove("x");
            sandbox.remove("y");
        }),
        ("made again", |sandbox| {
            sandbox.remove("x");
            sandbox.mkdir("x/other");
        }),
    ];
    for (what, change) in changes {
        let (sandbox, id) = with_private_dirs();
        println!("{what}");
        sandbox.assert_round_trip(&id, change);
        assert_eq!(bits(&sandbox, "x"), 0o700, "{what}");
        assert_eq!(bits(&sandbox, "y/z"), 0o711, "{what}");
        assert_eq!(bits(&sandbox, "y/z/deep"), 0o2750, "{what}");
        assert_eq!(bits(&sandbox, "l"), 0o700, "{what}");
        assert_eq!(bits(&sandbox, "l/e"), 0o750, "{what}");
    }
}

#[test]
fn travel_undo_redo_and_restore_give_such_directories_their_bits() {
    let (sandbox, id) = with_private_dirs();
    open_all(&sandbox);
    let home = sandbox.state();
    sandbox.json(["travel", &id]);
    assert_eq!(bits(&sandbox, "x"), 0o700);
    sandbox.chmod("x", 0o770);
    let past = sandbox.state();
    let returned = sandbox.json(["return"]);
    assert_ne!(returned["experiment_id"], Value::Null, "{returned}");
    home.assert_same(&sandbox.state());
    let experiment = returned["experiment_id"].as_str().unwrap();
    let differs = sandbox.json(["diff", &id, experiment]);
    let others = differs["others"].as_array().unwrap();
    let is_x = |one: &&Value| one["path"] == "x" && one["old"] == "0700" && one["new"] == "0770";
    assert_eq!(others.iter().filter(is_x).count(), 1, "{differs}");

    sandbox.json(["undo", "-y"]);
    assert_eq!(state_json(&sandbox)["mode"], "past");
    past.assert_same(&sandbox.state());
    sandbox.json(["redo", "-y"]);
    home.assert_same(&sandbox.state());

    sandbox.remove("x");
    sandbox.remove("y");
    sandbox.json(["restore", &id, "x", "y"]);
    assert_eq!(bits(&sandbox, "x"), 0o700);
    assert_eq!(bits(&sandbox, "y/z"), 0o711);
    assert_eq!(bits(&sandbox, "y/z/deep"), 0o2750);
    open_all(&sandbox);
    sandbox.json(["restore", &id]);
    assert_eq!(bits(&sandbox, "x"), 0o700);
    assert_eq!(bits(&sandbox, "l"), 0o700);
}

#[test]
fn a_directory_over_what_was_left_out_and_is_gone_has_its_bits() {
    for mode in [0o755, 0o750] {
        let sandbox = Sandbox::new();
        sandbox.mkdir("s/e/f");
        sandbox.write("s/build/o", "left out\n");
        sandbox.chmod("s", mode);
        let id = snapshot(&sandbox);
        sandbox.json(["travel", &id]);
        sandbox.remove("s");
        sandbox.git(["init", "-q", "s"]);
        sandbox.write("s/z", "past\n");
        let returned = sandbox.json(["return", "--move-aside"]);
        assert_eq!(returned["verified"], true, "{returned}");
        assert_eq!(bits(&sandbox, "s"), mode);
        assert!(sandbox.path("s/e/f").is_dir());
    }
}

#[test]
fn a_directory_that_stays_for_what_is_left_out_keeps_its_access() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.ok(["travel", &id]);
    sandbox.write("made/in/past.log", "left out\n");
    if !set_attribute(&sandbox.path("made/in"), "user.tw", b"value") {
        skipped("extended attributes", "none on this file system");
        return;
    }
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(sandbox.read("made/in/past.log"), b"left out\n");
}
