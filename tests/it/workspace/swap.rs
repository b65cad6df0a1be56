//! Travel, return, undo, redo and rewind over a head and two members: byte for byte, index and HEAD, in all of them.

use serde_json::json;

use super::{PATHS, Trio, assert_same, differences};

const PRESENT: [&str; 3] = ["present"; 3];
const PAST: [&str; 3] = ["past"; 3];

#[test]
fn all_go_and_all_come_back() {
    let trio = Trio::new();
    let home = trio.states();
    let looked = trio.json_in("", &["travel", "--dry-run", &trio.snapshot]);
    assert_eq!(looked["members"].as_array().unwrap().len(), 2, "{looked}");
    assert_same(&home, &trio.states());
    let travelled = trio.json_in("", &["travel", &trio.snapshot]);
    assert_eq!(travelled["members"][0]["path"], "nested");
    assert_eq!(
        travelled["members"][0]["written"],
        looked["members"][0]["written"]
    );
    assert_eq!(trio.modes(), PAST);
    for path in PATHS {
        let text = |name: &str| trio.sandbox.text(trio.sandbox.path(path).join(name));
        assert_eq!(text("a.txt"), format!("edited in '{path}'\n"));
        assert_eq!(text("dir/new.txt"), "untracked\n");
        assert!(
            !trio
                .sandbox
                .exists(trio.sandbox.path(path).join("fresh.txt"))
        );
        let status = trio.sandbox.git_in(
            trio.sandbox.path(path),
            ["status", "--porcelain", "staged.txt"],
        );
        assert_eq!(status, "A  staged.txt\n");
    }
    let past = trio.states();
    trio.sandbox.write("../lib/tried.txt", "made in the past\n");
    trio.json_in("", &["return", "--dry-run"]);
    let returned = trio.json_in("", &["return"]);
    assert_eq!(returned["verified"], true);
    assert_eq!(
        returned["members"][0]["experiment_id"],
        json!(null),
        "{returned}"
    );
    assert!(
        returned["members"][1]["experiment_id"].is_string(),
        "{returned}"
    );
    assert_eq!(trio.modes(), PRESENT);
    assert_same(&home, &trio.states());
    // Undo of the return goes back into the past of all, as each was left.
    trio.json_in("", &["undo", "--into-past"]);
    assert_eq!(trio.modes(), PAST);
    assert_eq!(trio.sandbox.text("../lib/tried.txt"), "made in the past\n");
    trio.sandbox.remove("../lib/tried.txt");
    assert_same(&past, &trio.states());
    let undone = trio.json_in("", &["redo"]);
    assert_eq!(undone["members"].as_array().unwrap().len(), 2, "{undone}");
    assert_same(&home, &trio.states());
    assert!(!trio.sandbox.exists(".git/timewarp/together.json"));
}

#[test]
fn undo_takes_a_travel_back_in_all() {
    let trio = Trio::new();
    let home = trio.states();
    trio.json_in("", &["travel", &trio.snapshot]);
    trio.json_in("", &["undo"]);
    assert_eq!(trio.modes(), PRESENT);
    assert_same(&home, &trio.states());
    // What one did alone is its own, and stands above in its log.
    trio.json_in("../lib", &["restore", "latest"]);
    trio.json_in("../lib", &["undo"]);
    assert_same(&home, &trio.states());
}

#[test]
fn a_hop_takes_all_along() {
    let trio = Trio::new();
    let home = trio.states();
    let later = trio.json_in("", &["snapshot"]);
    let later = later["snapshot"]["snapshot_id"].as_str().unwrap();
    trio.json_in("", &["travel", &trio.snapshot]);
    trio.json_in("", &["travel", "--hop", later]);
    for path in PATHS {
        let text = trio.sandbox.text(trio.sandbox.path(path).join("a.txt"));
        assert_eq!(text, format!("later in '{path}'\n"));
    }
    trio.json_in("", &["return"]);
    assert_same(&home, &trio.states());
}

#[test]
fn a_rewind_puts_the_files_of_all_back_and_undo_takes_that_back() {
    let trio = Trio::new();
    trio.sandbox.write("../lib/a.txt", "as at the checkpoint\n");
    trio.json_in("", &["session", "start", "--session", "s1"]);
    trio.json_in("", &["checkpoint", "--session", "s1", "-m", "here"]);
    let then = trio.states();
    // The head and one member stay as they are.
    trio.sandbox.write("../lib/a.txt", "after the checkpoint\n");
    let now = trio.states();
    let rewound = trio.json_in("", &["rewind", "s1:0", "--code"]);
    let members = &rewound["code"]["members"];
    assert_eq!(members[0]["backup_id"], json!(null), "{rewound}");
    assert_eq!(members[1]["written"], 1, "{rewound}");
    assert_same(&then, &trio.states());
    trio.json_in("", &["undo"]);
    assert_same(&now, &trio.states());
    trio.json_in("", &["redo"]);
    assert_same(&then, &trio.states());
    // Where all are as they were, there is nothing to do, and nothing to undo.
    let levels = |path: &str| {
        trio.json_in(path, &["undo", "--list"])["levels"]
            .as_array()
            .unwrap()
            .len()
    };
    let before = PATHS.map(levels);
    trio.json_in("", &["rewind", "s1:0", "--code"]);
    assert_eq!(PATHS.map(levels), before);
}

#[test]
fn a_member_that_is_called_as_left_out_directories_are_came_home_too() {
    let trio = Trio::new();
    let vendor = trio.sandbox.path("vendor");
    std::fs::rename(trio.sandbox.path("nested"), &vendor).unwrap();
    trio.json_in("", &["workspace", "remove", "nested"]);
    trio.json_in("", &["workspace", "add", "vendor"]);
    trio.json_in("", &["snapshot"]);
    trio.sandbox.write("vendor/a.txt", "after the snapshot\n");
    trio.json_in("", &["travel", "latest"]);
    let returned = trio.json_in("", &["return"]);
    assert_eq!(returned["members"][1]["path"], "vendor", "{returned}");
    assert_eq!(returned["stayed"], json!([]), "{returned}");
    assert_eq!(trio.sandbox.text("vendor/a.txt"), "after the snapshot\n");
    // So it does with the undo of the travel.
    trio.json_in("", &["travel", "latest"]);
    let would = trio.json_in("", &["return", "--dry-run"]);
    assert_eq!(would["stayed"], json!([]), "{would}");
    for undo in [&["undo", "--dry-run"][..], &["undo"]] {
        let undone = trio.json_in("", undo);
        assert_eq!(undone["members"][1]["path"], "vendor", "{undone}");
        assert_eq!(undone["stayed"], json!([]), "{undone}");
    }
    assert_eq!(trio.sandbox.text("vendor/a.txt"), "after the snapshot\n");
    // What is no member stays, and is named.
    trio.json_in("", &["travel", "latest"]);
    trio.sandbox.write("target/made", "in the past\n");
    let returned = trio.json_in("", &["return"]);
    assert_eq!(returned["stayed"], json!(["target"]), "{returned}");
}

#[test]
fn all_that_are_moved_together_stay_together() {
    let trio = Trio::new();
    let home = trio.states();
    trio.json_in("", &["travel", &trio.snapshot]);
    let (from, to) = (trio.sandbox.root(), trio.sandbox.root().join("tmp"));
    for name in ["repo", "lib"] {
        std::fs::rename(from.join(name), to.join(name)).unwrap();
    }
    let ran = trio.sandbox.tw_in(to.join("repo"), ["return"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out(), ran.err());
    for name in ["repo", "lib"] {
        std::fs::rename(to.join(name), from.join(name)).unwrap();
    }
    assert_eq!(differences(&home, &trio.states()), [""; 0]);
}
