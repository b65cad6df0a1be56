//! What the model found: each test is one defect, in as few steps as it takes.

use std::collections::BTreeSet;
use std::fs::File;
use std::time::{Duration, SystemTime};

use crate::sandbox::Sandbox;

/// Takes a snapshot and gives its id.
fn snapshot(sandbox: &Sandbox) -> String {
    let taken = sandbox.json(["snapshot"]);
    taken["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The paths that git holds for changed without looking at their bytes again.
fn stat_dirty(sandbox: &Sandbox) -> BTreeSet<String> {
    let text = sandbox.git(["diff-files", "--name-only"]);
    text.lines().map(str::to_owned).collect()
}

#[test]
fn an_ignored_file_in_the_way_of_a_tracked_directory_gives_way() {
    let sandbox = Sandbox::new();
    sandbox.write("d/e/c", "tracked\n");
    sandbox.git(["add", "d"]);
    sandbox.git(["commit", "-q", "-m", "second"]);
    let past = snapshot(&sandbox);
    sandbox.write(".gitignore", "d/\n");
    sandbox.assert_round_trip(&past, |sandbox| {
        sandbox.remove("d/e");
        sandbox.write("d/e", "a file now\n");
    });
}

#[test]
fn a_file_written_anew_with_the_same_bytes_is_clean_after_a_swap() {
    let sandbox = Sandbox::new();
    // As new as its index, however long writing that one takes.
    let soon = SystemTime::now() + Duration::from_mins(1);
    sandbox.write("a.txt", "one\n");
    let file = File::options().write(true).open(sandbox.path("a.txt"));
    file.unwrap().set_modified(soon).unwrap();
    sandbox.git(["add", "a.txt"]);
    sandbox.write("b.txt", "two\n");
    let past = snapshot(&sandbox);
    sandbox.remove("b.txt");
    sandbox.remove("a.txt");
    sandbox.write("a.txt", "one\n");
    sandbox.json(["travel", &past]);
    assert_eq!(stat_dirty(&sandbox), BTreeSet::new());
}

#[test]
fn an_ignored_directory_that_holds_tracked_files_keeps_its_bits() {
    let sandbox = Sandbox::new();
    sandbox.write("d/tracked", "one\n");
    sandbox.mkdir("usual/too");
    sandbox.git(["add", "d"]);
    sandbox.git(["commit", "-q", "-m", "second"]);
    sandbox.chmod("d", 0o700);
    let past = snapshot(&sandbox);
    sandbox.write(".gitignore", "d/\n");
    sandbox.assert_round_trip(&past, |_| {});
}

#[test]
fn an_empty_directory_in_the_way_of_a_file_gives_way() {
    let sandbox = Sandbox::new();
    sandbox.write("d", "a file\n");
    let past = snapshot(&sandbox);
    sandbox.remove("d");
    sandbox.mkdir("d/e/f");
    sandbox.assert_round_trip(&past, |sandbox| assert_eq!(sandbox.text("d"), "a file\n"));
}

/// A git without sub-second stamps tells two versions of one length, written in one second, apart by their bytes alone,
/// and only as long as the entry is no older than its index.
#[test]
fn a_change_within_the_second_of_its_add_stays_visible_to_git() {
    let sandbox = Sandbox::new();
    for version in 0..3 {
        sandbox.write("a.txt", format!("new{version}\n"));
        sandbox.git(["add", "a.txt"]);
        sandbox.write("a.txt", format!("odd{version}\n"));
        let past = snapshot(&sandbox);
        // The index that the swap writes is of a later second than the file.
        std::thread::sleep(Duration::from_millis(1001));
        sandbox.json(["travel", &past]);
        assert_eq!(stat_dirty(&sandbox), BTreeSet::from(["a.txt".to_owned()]));
        sandbox.json(["return"]);
        assert_eq!(stat_dirty(&sandbox), BTreeSet::from(["a.txt".to_owned()]));
    }
}

#[test]
fn restoring_a_path_beneath_what_is_a_file_now() {
    let sandbox = Sandbox::new();
    sandbox.write("d/e/c", "deep\n");
    sandbox.write("d/other", "not asked for\n");
    let past = snapshot(&sandbox);
    sandbox.remove("d");
    sandbox.write("d", "a file now\n");
    let before = sandbox.state();
    sandbox.json(["restore", &past, "d/e"]);
    assert_eq!(sandbox.text("d/e/c"), "deep\n");
    assert!(!sandbox.exists("d/other"));
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn what_a_removed_ignore_file_hid_deep_down_is_captured() {
    let sandbox = Sandbox::new();
    sandbox.write("d/tracked", "one\n");
    sandbox.write("e/tracked", "one\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "second"]);
    sandbox.write(".gitignore", "hidden\nd/\n");
    sandbox.write("d/new", "in an ignored directory\n");
    sandbox.write("e/hidden", "ignored by name\n");
    // Beyond the time in which a stamp is not trusted, so that only the root is read again.
    std::thread::sleep(std::time::Duration::from_millis(100));
    snapshot(&sandbox);
    sandbox.remove(".gitignore");
    let past = snapshot(&sandbox);
    for path in ["d/new", "e/hidden"] {
        let shown = sandbox.json(["show", &past]);
        let name = format!("{}:{path}", shown["snapshot"]["commit"].as_str().unwrap());
        assert_eq!(sandbox.try_git(["cat-file", "-e", &name]).code, 0, "{path}");
    }
}

#[test]
fn an_intended_path_has_its_empty_blob_after_a_gc() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "intended\n");
    sandbox.git(["add", "-N", "b.txt"]);
    let past = snapshot(&sandbox);
    sandbox.git(["add", "b.txt"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    sandbox.json(["travel", &past]);
    sandbox.git(["fsck", "--no-dangling"]);
}

#[test]
fn a_tracked_file_deleted_in_the_snapshot_goes_though_a_rule_matches_it() {
    let sandbox = Sandbox::new();
    sandbox.write("app.log", "tracked\n");
    sandbox.git(["add", "-f", "app.log"]);
    sandbox.git(["commit", "-q", "-m", "second"]);
    sandbox.remove("app.log");
    let past = snapshot(&sandbox);
    sandbox.write("app.log", "back\n");
    sandbox.assert_round_trip(&past, |sandbox| {
        assert_eq!(sandbox.git(["status", "--porcelain"]), " D app.log\n");
    });
}

#[test]
fn a_directory_that_stays_for_what_is_ignored_in_it_does_not_spoil_the_proof() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write(".gitignore", "d/*\n");
    sandbox.json(["travel", &past]);
    sandbox.write("d/b", "made in the past, ignored in the present\n");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true);
    assert!(sandbox.exists("d/b"));
}

#[test]
fn a_file_over_sparse_entries_gives_a_sound_tree() {
    let sandbox = Sandbox::new();
    sandbox.write("d/a", "sparse\n");
    sandbox.git(["add", "d"]);
    sandbox.git(["commit", "-q", "-m", "second"]);
    sandbox.git(["update-index", "--skip-worktree", "d/a"]);
    sandbox.remove("d");
    let bare = snapshot(&sandbox);
    std::thread::sleep(std::time::Duration::from_millis(100));
    snapshot(&sandbox);
    sandbox.write("d", "a file in its place\n");
    let past = snapshot(&sandbox);
    sandbox.git(["fsck", "--strict", "--no-dangling"]);
    sandbox.assert_round_trip(&bare, |sandbox| assert!(!sandbox.exists("d")));
    sandbox.assert_round_trip(&past, |sandbox| assert!(sandbox.exists("d")));
    sandbox.remove("d");
    sandbox.assert_round_trip(&past, |sandbox| assert!(sandbox.exists("d")));
    sandbox.git(["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn undo_puts_a_file_back_over_a_directory_filled_since() {
    let sandbox = Sandbox::new();
    sandbox.write("d/a", "tracked\n");
    let past = snapshot(&sandbox);
    sandbox.remove("d");
    sandbox.write("d", "a file\n");
    sandbox.json(["restore", &past]);
    sandbox.write("d/b", "made since\n");
    sandbox.write("d/e/c", "made since, too\n");
    let undone = sandbox.json(["undo"]);
    assert_eq!(sandbox.text("d"), "a file\n");
    let backup = undone["backup_id"].as_str().unwrap();
    for (path, text) in [("d/b", "made since\n"), ("d/e/c", "made since, too\n")] {
        let spec = format!("refs/timewarp/backups/{backup}:{path}");
        assert_eq!(sandbox.git(["cat-file", "blob", &spec]), text);
    }
    sandbox.json(["redo"]);
    assert_eq!(sandbox.text("d/e/c"), "made since, too\n");
}
