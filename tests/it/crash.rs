//! A kill at every step of every command that changes something, then the next command: the old state or the new one,
//! whole, with the bytes of both.

use crate::faults::killed_at;
use crate::sandbox::Sandbox;
use crate::stage::{Stage, eventful, in_the_past, taken};
use crate::trip::mode;

#[test]
fn a_killed_snapshot_leaves_no_trace_but_perhaps_itself() {
    let (sandbox, _) = eventful();
    let stage = Stage::new(sandbox, &["snapshot"], None);
    assert!(stage.crash_everywhere() >= 3);
}

#[test]
fn a_killed_travel_is_undone_or_done() {
    let (sandbox, snapshot) = eventful();
    let home = sandbox.state();
    let stage = Stage::new(sandbox, &["travel", &snapshot], Some(home));
    assert!(stage.crash_everywhere() >= 20);
}

/// No look sees these directories, and no record of the present has their bits.
#[test]
fn a_killed_travel_into_what_the_user_s_exclude_hides_is_undone_or_done() {
    let sandbox = Sandbox::new();
    for path in ["ex/1", "ex/deep/2", "ex/two/3"] {
        sandbox.write(path, "then\n");
    }
    sandbox.chmod("ex/two", 0o700);
    let snapshot = taken(&sandbox);
    sandbox.write(".git/info/exclude", "ex/\n");
    sandbox.remove("ex/deep");
    sandbox.chmod("ex/two", 0o775);
    sandbox.write("ex/1", "now\n");
    sandbox.write("a.txt", "now\n");
    let home = sandbox.state();
    let stage = Stage::new(sandbox, &["travel", &snapshot], Some(home));
    assert!(stage.crash_everywhere() >= 20);
}

/// What a private directory held is at no moment in one that lets others in.
#[test]
fn a_directory_is_closed_before_anything_is_put_in_it() {
    let sandbox = Sandbox::new();
    sandbox.write("d/x", "private\n");
    sandbox.chmod("d", 0o700);
    let snapshot = taken(&sandbox);
    sandbox.remove("d/x");
    sandbox.chmod("d", 0o777);
    sandbox.write("a.txt", "two\n");
    killed_at(&sandbox, "apply-prepared", &["travel", &snapshot]);
    assert_eq!(mode(&sandbox, "d"), 0o700);
    sandbox.ok(["recover"]);
    assert_eq!(mode(&sandbox, "d"), 0o777);
}

#[test]
fn a_killed_return_is_undone_or_done() {
    let (sandbox, _, home) = in_the_past();
    let stage = Stage::new(sandbox, &["return"], Some(home));
    assert!(stage.crash_everywhere() >= 20);
}

#[test]
fn a_killed_return_of_an_ignored_directory_is_undone_or_done() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "build\n");
    sandbox.write("build", "a tracked file then\n");
    sandbox.git(["add", "-f", "build", ".gitignore"]);
    let snapshot = taken(&sandbox);
    sandbox.git(["rm", "-qf", "build"]);
    for file in 0..20 {
        sandbox.write(format!("build/{file}.o"), format!("{file}\n"));
    }
    let home = sandbox.state();
    sandbox.ok(["travel", &snapshot]);
    let stage = Stage::new(sandbox, &["return"], Some(home));
    assert!(stage.crash_everywhere() >= 20);
}

#[test]
fn a_killed_return_from_an_unchanged_past_is_undone_or_done() {
    let (sandbox, snapshot) = eventful();
    let home = sandbox.state();
    sandbox.ok(["travel", &snapshot]);
    let stage = Stage::new(sandbox, &["return"], Some(home));
    assert_eq!(
        stage
            .sandbox
            .git(["for-each-ref", "refs/timewarp/experiments"]),
        ""
    );
    assert!(stage.crash_everywhere() >= 20);
}

#[test]
fn a_killed_restore_is_undone_or_done() {
    let (sandbox, snapshot) = eventful();
    let stage = Stage::new(sandbox, &["restore", &snapshot], None);
    assert!(stage.crash_everywhere() >= 15);
}

#[test]
fn a_killed_undo_of_a_restore_is_undone_or_done() {
    let (sandbox, snapshot) = eventful();
    sandbox.ok(["restore", &snapshot]);
    let stage = Stage::new(sandbox, &["undo"], None);
    assert!(stage.crash_everywhere() >= 15);
}

#[test]
fn a_killed_undo_of_a_travel_is_undone_or_done() {
    let (sandbox, _, home) = in_the_past();
    let stage = Stage::new(sandbox, &["undo"], Some(home));
    assert!(stage.crash_everywhere() >= 20);
}

#[test]
fn a_killed_undo_of_a_return_is_undone_or_done() {
    let (sandbox, _, home) = in_the_past();
    sandbox.ok(["return"]);
    let stage = Stage::new(sandbox, &["undo", "-y"], Some(home));
    assert!(stage.crash_everywhere() >= 20);
}

#[test]
fn a_killed_redo_is_undone_or_done() {
    let (sandbox, snapshot) = eventful();
    sandbox.ok(["restore", &snapshot]);
    sandbox.ok(["undo"]);
    let stage = Stage::new(sandbox, &["redo"], None);
    assert!(stage.crash_everywhere() >= 15);
}

#[test]
fn a_killed_hop_is_undone_or_done() {
    let (sandbox, snapshot, home) = in_the_past();
    let stage = Stage::new(sandbox, &["travel", "--hop", &snapshot], Some(home));
    assert!(stage.crash_everywhere() >= 20);
}

#[test]
fn a_killed_undo_of_a_hop_is_undone_or_done() {
    let (sandbox, snapshot, home) = in_the_past();
    sandbox.ok(["travel", "--hop", &snapshot]);
    sandbox.write("a.txt", "tried in the second past\n");
    let stage = Stage::new(sandbox, &["undo"], Some(home));
    assert!(stage.crash_everywhere() >= 20);
}
