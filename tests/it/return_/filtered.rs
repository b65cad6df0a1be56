//! Large files that a filter converts (git LFS): a backup has what git's index says of them, and not their bytes.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::trip::{mode, snapshot};

const BYTES: usize = 4000;
const NAME: &str = "user.timewarp.test";

/// Away, with a present in which `x.big` stands for its blob in git's index.
fn away() -> (Sandbox, String) {
    away_in(Sandbox::new())
}

fn away_in(sandbox: Sandbox) -> (Sandbox, String) {
    sandbox.git(["config", "filter.up.clean", "tr a-z A-Z"]);
    sandbox.git(["config", "filter.up.smudge", "tr A-Z a-z"]);
    sandbox.git(["config", "timewarp.maxFileSize", "1k"]);
    sandbox.write(".gitattributes", "*.big filter=up\n");
    sandbox.write("x.big", "x".repeat(BYTES));
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "big"]);
    std::thread::sleep(std::time::Duration::from_millis(50));
    sandbox.git(["update-index", "--force-write-index"]);
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "present\n");
    let travelled = sandbox.json(["travel", &id]);
    let backup = travelled["backup_id"].as_str().unwrap();
    let left = &sandbox.json(["show", backup])["snapshot"]["uncaptured"];
    assert_eq!(left[0]["reason"], "filtered-clean", "{left}");
    (sandbox, id)
}

#[track_caller]
fn assert_back(sandbox: &Sandbox, returned: &Value) {
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(sandbox.text("x.big"), "x".repeat(BYTES), "{returned}");
    assert_eq!(mode(sandbox, "x.big"), 0o644);
    let attribute = rustix::fs::getxattr(sandbox.path("x.big"), NAME, &mut [0; 8][..]);
    assert_eq!(attribute, Err(rustix::io::Errno::NODATA), "{returned}");
    assert!(!sandbox.exists("y.big") && sandbox.text("a.txt") == "present\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M a.txt\n");
}

#[test]
fn bytes_that_are_still_there_come_back() {
    type Change = fn(&Sandbox);
    let changes: [(&str, Change); 7] = [
        ("an attribute", |sandbox| {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(sandbox.path("x.big"), NAME, b"1", flags).unwrap();
        }),
        ("bits", |sandbox| sandbox.chmod("x.big", 0o600)),
        ("executable", |sandbox| sandbox.chmod("x.big", 0o755)),
        ("moved", |sandbox| {
            sandbox.git(["mv", "x.big", "y.big"]);
        }),
        ("moved into a directory in its place", |sandbox| {
            sandbox.git(["mv", "x.big", "y.big"]);
            sandbox.mkdir("x.big");
            sandbox.git(["mv", "y.big", "x.big/y.big"]);
        }),
        ("no attribute any more", |sandbox| {
            sandbox.write(".gitattributes", "");
            sandbox.git(["add", "-A"]);
        }),
        ("not in the index any more", |sandbox| {
            sandbox.git(["rm", "-q", "--cached", "x.big"]);
            sandbox.chmod("x.big", 0o600);
        }),
    ];
    for (what, change) in changes {
        let (sandbox, _) = away();
        change(&sandbox);
        let would = sandbox.json(["return", "--dry-run"]);
        assert_eq!(would["notices"], json!([]), "{what}: {would}");
        let returned = sandbox.json(["return"]);
        assert_back(&sandbox, &returned);
        sandbox.json(["undo", "--into-past"]);
        assert_back(&sandbox, &sandbox.json(["return"]));
    }
}

#[test]
fn where_they_are_not_the_return_is_not_verified_and_names_them() {
    for remove in [false, true] {
        let (sandbox, _) = away();
        if remove {
            sandbox.remove("x.big");
        } else {
            sandbox.write("x.big", "y".repeat(BYTES));
        }
        let would = sandbox.json(["return", "--dry-run"]);
        assert!(would["notices"].to_string().contains("x.big"), "{would}");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], false, "{returned}");
        let said = returned["notices"].to_string();
        assert!(
            said.contains("'x.big'") && said.contains("git checkout -- "),
            "{said}"
        );
        assert_eq!(sandbox.text("x.big"), "X".repeat(BYTES));
        assert_eq!(sandbox.text("a.txt"), "present\n");
        // As it says.
        sandbox.remove("x.big");
        sandbox.git(["checkout", "--", "x.big"]);
        assert_eq!(sandbox.text("x.big"), "x".repeat(BYTES));
    }
}

#[test]
fn a_killed_return_puts_the_bytes_back_all_the_same() {
    for point in ["swap-applied", "swap-index", "swap-proved"] {
        for way in ["--forward", "--back"] {
            let (sandbox, _) = away();
            // What is made again is another file, of which nothing is known.
            if way == "--forward" {
                sandbox.git(["mv", "x.big", "y.big"]);
            } else {
                sandbox.chmod("x.big", 0o600);
            }
            let past = sandbox.state();
            let mut command = sandbox.tw_command();
            let killed = command.env("TW_FAIL_POINT", point).arg("return").output();
            assert!(!killed.unwrap().status.success());
            sandbox.ok(["recover", way]);
            if way == "--back" {
                past.assert_same(&sandbox.state());
                assert_back(&sandbox, &sandbox.json(["return"]));
            }
            assert_eq!(sandbox.text("x.big"), "x".repeat(BYTES), "{point} {way}");
        }
    }
}

#[test]
fn a_hop_leaves_them_as_well() {
    let (sandbox, id) = away();
    sandbox.chmod("x.big", 0o600);
    sandbox.json(["travel", "--hop", &id]);
    assert_eq!(sandbox.text("x.big"), "x".repeat(BYTES));
    assert_back(&sandbox, &sandbox.json(["return"]));
}

/// Only what saved them has the bytes then.
#[test]
fn what_a_swap_of_the_stay_took_comes_back() {
    let sandbox = Sandbox::new();
    let without = snapshot(&sandbox);
    let (sandbox, id) = away_in(sandbox);
    let hops: [&[&[&str]]; 4] = [
        &[&["travel", "--hop", &without]],
        &[&["travel", "--hop", &without], &["travel", "--hop", &id]],
        &[&["restore", &without]],
        &[&["restore", &without], &["undo"]],
    ];
    for swaps in hops {
        for swap in swaps {
            sandbox.json(swap.iter().copied());
        }
        let returned = sandbox.json(["return"]);
        assert_back(&sandbox, &returned);
        sandbox.json(["travel", &id]);
    }
}
