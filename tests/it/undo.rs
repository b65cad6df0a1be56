//! `tw undo` and `tw redo`: step over the log of swaps.

mod alone;
mod steps;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::trip::{commit, identity, list, mode, snapshot, state_json, stored};

#[track_caller]
fn nothing(sandbox: &Sandbox, command: &str) {
    let before = sandbox.state();
    let (error, code) = sandbox.json_error([command]);
    assert_eq!((error["code"].as_str(), code), (Some("NOTHING_TO_UNDO"), 4));
    before.assert_same(&sandbox.state());
}

#[test]
fn without_a_swap_there_is_nothing_to_undo_or_redo() {
    let sandbox = Sandbox::new();
    nothing(&sandbox, "undo");
    nothing(&sandbox, "redo");
    snapshot(&sandbox);
    nothing(&sandbox, "undo");
}

#[test]
fn undo_of_a_travel_is_a_return() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "staged\n");
    sandbox.git(["add", "b.txt"]);
    sandbox.write("b.txt", "now\n");
    let before = sandbox.state();
    sandbox.json(["travel", &id]);
    sandbox.write("tried.txt", "tried\n");
    let answer = sandbox.json(["undo"]);
    assert_eq!(answer["direction"], "undo");
    assert_eq!(answer["operation"], "travel");
    assert_eq!(answer["mode"], "present");
    let experiment = answer["experiment_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, experiment, "tried.txt"), "tried\n");
    before.assert_same(&sandbox.state());
    assert_eq!(state_json(&sandbox)["mode"], "present");
    nothing(&sandbox, "undo");
}

#[test]
fn undo_of_a_travel_names_what_stayed_as_return_does() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "build/\n");
    sandbox.write("build/out", "one\n");
    let id = snapshot(&sandbox);
    sandbox.json(["travel", &id]);
    sandbox.write("build/out", "two\n");
    let would = sandbox.json(["undo", "--dry-run"]);
    assert_eq!(would["stayed"], json!(["build"]), "{would}");
    let answer = sandbox.json(["undo"]);
    assert_eq!(answer["stayed"], json!(["build"]), "{answer}");
    // Nothing of the present stays in a past.
    let answer = sandbox.json(["redo", "--into-past"]);
    assert_eq!(answer["stayed"], json!([]), "{answer}");
    sandbox.write("build/out", "three\n");
    let said = sandbox.ok(["undo"]);
    let named = "stayed in place and changed in the past: build";
    assert!(said.contains(named), "{said}");
}

#[test]
fn what_undo_cannot_save_stays_and_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("made.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("made.txt");
    sandbox.json(["restore", &id]);
    sandbox.remove("made.txt");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        sandbox.path("made.txt"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    let answer = sandbox.json(["undo"]);
    assert_eq!(list(&answer["changed_since"]), [""; 0], "{answer}");
    assert_eq!(
        list(&answer["notices"]),
        ["no backup can have what is there now, so it stays: 'made.txt'"]
    );
    assert!(sandbox.exists("made.txt"));
}

#[test]
fn undo_of_a_return_goes_back_into_the_past_as_it_was_left() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    let present = sandbox.state();
    sandbox.json(["travel", &id]);
    sandbox.write("b.txt", "staged in the past\n");
    sandbox.git(["add", "b.txt"]);
    sandbox.write("b.txt", "tried\n");
    sandbox.write("dir/tried.txt", "tried\n");
    sandbox.mkdir("tried-empty");
    let past = sandbox.state();
    sandbox.json(["return"]);
    let answer = sandbox.json(["undo", "-y"]);
    assert_eq!(answer["operation"], "return");
    assert_eq!(answer["mode"], "past");
    past.assert_same(&sandbox.state());
    let state = state_json(&sandbox);
    assert_eq!(state["mode"], "past");
    assert_eq!(state["current_snapshot_id"], *id);
    assert_eq!(state["backup_id"], answer["backup_id"]);
    // And from there there is a way home.
    assert_eq!(sandbox.json(["return"])["verified"], true);
    present.assert_same(&sandbox.state());
}

#[test]
fn redo_brings_back_what_undo_replaced() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    let present = sandbox.state();
    sandbox.json(["travel", &id]);
    let past = sandbox.state();
    sandbox.json(["undo", "-y"]);
    present.assert_same(&sandbox.state());
    let answer = sandbox.json(["redo", "-y"]);
    assert_eq!(answer["direction"], "redo");
    assert_eq!(answer["operation"], "travel");
    assert_eq!(answer["mode"], "past");
    past.assert_same(&sandbox.state());
    nothing(&sandbox, "redo");
    sandbox.json(["undo", "-y"]);
    present.assert_same(&sandbox.state());
    sandbox.json(["redo", "-y"]);
    past.assert_same(&sandbox.state());
    sandbox.json(["return"]);
    present.assert_same(&sandbox.state());
}

#[test]
fn a_new_swap_forgets_what_could_be_redone() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.json(["restore", &id]);
    sandbox.json(["undo"]);
    sandbox.json(["restore", &id]);
    nothing(&sandbox, "redo");
}

#[test]
fn undo_steps_back_level_by_level_and_redo_forward() {
    let sandbox = Sandbox::new();
    let mut ids = Vec::new();
    for text in ["one", "two", "three"] {
        sandbox.write("a.txt", text);
        sandbox.write(format!("{text}.txt"), text);
        ids.push(snapshot(&sandbox));
    }
    let mut states = vec![sandbox.state()];
    for id in &ids {
        sandbox.json(["restore", id]);
        states.push(sandbox.state());
    }
    for state in states.iter().rev().skip(1) {
        sandbox.json(["undo"]);
        state.assert_same(&sandbox.state());
    }
    nothing(&sandbox, "undo");
    for state in &states[1..] {
        sandbox.json(["redo"]);
        state.assert_same(&sandbox.state());
    }
    nothing(&sandbox, "redo");
    sandbox.json(["undo"]);
    states[2].assert_same(&sandbox.state());
}

#[test]
fn undo_touches_only_what_the_swap_touched() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    sandbox.write("gone.txt", "now\n");
    sandbox.json(["restore", &id]);
    sandbox.write("a.txt", "edited since\n");
    sandbox.write("new.txt", "made since\n");
    sandbox.git(["add", "a.txt"]);
    let since = [identity(&sandbox, "a.txt"), identity(&sandbox, "new.txt")];
    let index = sandbox.git(["ls-files", "-s"]);
    let answer = sandbox.json(["undo"]);
    assert_eq!(list(&answer["changes"]["written"]), ["b.txt", "gone.txt"]);
    assert_eq!(list(&answer["changed_since"]), Vec::<String>::new());
    assert_eq!(sandbox.text("b.txt"), "now\n");
    assert_eq!(sandbox.text("gone.txt"), "now\n");
    assert_eq!(
        since,
        [identity(&sandbox, "a.txt"), identity(&sandbox, "new.txt")]
    );
    assert_eq!(sandbox.git(["ls-files", "-s"]), index);
}

#[test]
fn a_path_changed_since_is_named_and_in_undos_own_backup() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    sandbox.write("goes.txt", "now\n");
    sandbox.json(["restore", &id]);
    sandbox.write("b.txt", "edited since\n");
    sandbox.write("goes.txt", "made since\n");
    let answer = sandbox.json(["undo"]);
    assert_eq!(list(&answer["changed_since"]), ["b.txt", "goes.txt"]);
    let backup = answer["backup_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, backup, "b.txt"), "edited since\n");
    assert_eq!(stored(&sandbox, backup, "goes.txt"), "made since\n");
    assert_eq!(sandbox.text("b.txt"), "now\n");
    // Redo goes back to the edit, not to the snapshot.
    sandbox.json(["redo"]);
    assert_eq!(sandbox.text("b.txt"), "edited since\n");
}

#[test]
fn bits_that_were_changed_since_are_named_and_in_undos_own_backup() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/x", "then\n");
    let id = snapshot(&sandbox);
    sandbox.chmod("dir", 0o700);
    sandbox.chmod("dir/x", 0o600);
    sandbox.json(["restore", &id]);
    let answer = sandbox.json(["undo"]);
    assert_eq!(list(&answer["changed_since"]), [""; 0]);
    sandbox.json(["redo"]);
    sandbox.chmod("dir", 0o711);
    sandbox.chmod("dir/x", 0o640);
    let since = sandbox.state();
    let answer = sandbox.json(["undo"]);
    assert_eq!(list(&answer["changed_since"]), ["dir", "dir/x"]);
    assert_eq!(
        (mode(&sandbox, "dir"), mode(&sandbox, "dir/x")),
        (0o700, 0o600)
    );
    let backup = answer["backup_id"].as_str().unwrap();
    sandbox.json(["restore", backup]);
    since.assert_same(&sandbox.state());
}

#[test]
fn an_uncapturable_thing_in_undos_way_refuses() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("x", "now\n");
    sandbox.json(["restore", &id]);
    sandbox.git(["init", "-q", "x"]);
    let before = sandbox.state();
    let (error, code) = sandbox.json_error(["undo"]);
    assert_eq!((error["code"].as_str(), code), (Some("WOULD_OVERWRITE"), 5));
    assert_eq!(list(&error["paths"]), ["x"]);
    before.assert_same(&sandbox.state());
    sandbox.remove("x");
    sandbox.json(["undo"]);
    assert_eq!(sandbox.text("x"), "now\n");
}

#[test]
fn modes_and_directories_are_undone_too() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/x", "then\n");
    sandbox.chmod("dir/x", 0o600);
    sandbox.chmod("dir", 0o700);
    sandbox.mkdir("empty/deep");
    sandbox.mkdir("emptied");
    let id = snapshot(&sandbox);
    sandbox.chmod("dir/x", 0o640);
    sandbox.chmod("dir", 0o755);
    sandbox.remove("empty");
    sandbox.write("emptied/x", "now\n");
    sandbox.write("made/deep/y", "now\n");
    let before = sandbox.state();
    sandbox.json(["restore", &id]);
    let after = sandbox.state();
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
    sandbox.json(["redo"]);
    after.assert_same(&sandbox.state());
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn all_kinds_of_paths_are_undone() {
    let sandbox = Sandbox::new();
    let kinds = ["file", "dir", "link"];
    let make = |name: &str, kind: &str, text: &str| match kind {
        "file" => sandbox.write(name, text),
        "dir" => sandbox.write(format!("{name}/inner.txt"), text),
        _ => sandbox.symlink(format!("to-{text}"), name),
    };
    let each = |text: &str, pick: fn(usize, usize) -> usize| {
        for from in 0..3 {
            for to in 0..3 {
                let name = format!("{}-{}", kinds[from], kinds[to]);
                if sandbox.exists(&name) {
                    sandbox.remove(&name);
                }
                make(&name, kinds[pick(from, to)], text);
            }
        }
    };
    each("then", |from, _| from);
    let id = snapshot(&sandbox);
    each("now", |_, to| to);
    let before = sandbox.state();
    sandbox.json(["restore", &id]);
    let after = sandbox.state();
    for _ in 0..2 {
        sandbox.json(["undo"]);
        before.assert_same(&sandbox.state());
        sandbox.json(["redo"]);
        after.assert_same(&sandbox.state());
    }
}

#[test]
fn undo_of_a_restore_in_the_past_stays_in_the_past() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "first\n");
    let first = snapshot(&sandbox);
    sandbox.write("b.txt", "second\n");
    let second = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    let present = sandbox.state();
    sandbox.json(["travel", &first]);
    let past = sandbox.state();
    sandbox.json(["restore", &second]);
    let answer = sandbox.json(["undo"]);
    assert_eq!(answer["mode"], "past");
    assert_eq!(answer["operation"], "restore");
    past.assert_same(&sandbox.state());
    let answer = sandbox.json(["undo"]);
    assert_eq!(answer["operation"], "travel");
    present.assert_same(&sandbox.state());
}

#[test]
fn when_head_moved_since_a_return_head_and_index_stay_and_it_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    sandbox.json(["travel", &id]);
    sandbox.write("tried.txt", "tried\n");
    sandbox.json(["return"]);
    commit(&sandbox, "moved on");
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let index = sandbox.git(["ls-files", "-s"]);
    let present = sandbox.state();
    let answer = sandbox.json(["undo", "-y"]);
    assert_eq!(answer["head_stayed"], "head-moved", "{answer}");
    assert!(
        answer["notices"]
            .to_string()
            .contains("HEAD has moved since"),
        "{answer}"
    );
    assert_eq!(sandbox.text("tried.txt"), "tried\n");
    assert_eq!(sandbox.text("b.txt"), "then\n");
    assert_eq!(sandbox.git(["rev-parse", "HEAD"]), head);
    assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
    assert_eq!(sandbox.git(["ls-files", "-s"]), index);
    assert_eq!(sandbox.json(["return"])["verified"], true);
    present.assert_same(&sandbox.state());
}

#[test]
fn undo_of_a_travel_after_the_branch_moved_leaves_head_detached() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    commit(&sandbox, "two");
    let tip = sandbox.git(["rev-parse", "main"]);
    sandbox.json(["travel", &id]);
    sandbox.git(["branch", "-f", "main", "main~1"]);
    let answer = sandbox.json(["undo"]);
    assert_eq!(answer["head_stayed"], "branch-moved");
    assert_eq!(sandbox.head(), tip);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn an_operation_under_way_survives_undo_and_redo() {
    let sandbox = Sandbox::new();
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("a.txt", "other\n");
    commit(&sandbox, "other");
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("a.txt", "main\n");
    commit(&sandbox, "main");
    let id = snapshot(&sandbox);
    assert_eq!(sandbox.try_git(["merge", "other"]).code, 1);
    let merging = sandbox.state();
    sandbox.json(["travel", &id]);
    let past = sandbox.state();
    for _ in 0..2 {
        sandbox.json(["undo", "-y"]);
        merging.assert_same(&sandbox.state());
        sandbox.json(["redo", "-y"]);
        past.assert_same(&sandbox.state());
    }
    sandbox.json(["return"]);
    merging.assert_same(&sandbox.state());
    sandbox.git(["merge", "--abort"]);
}

#[test]
fn the_log_survives_gc_and_plain_git() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "only in the backup\n");
    let before = sandbox.state();
    sandbox.json(["restore", &id]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn undo_keeps_ignored_files_and_takes_back_one_that_was_in_the_way() {
    let sandbox = Sandbox::new();
    sandbox.write("x.o", "captured then\n");
    let id = snapshot(&sandbox);
    sandbox.write(".gitignore", "*.o\n");
    sandbox.write("x.o", "ignored now\n");
    sandbox.write("y.o", "ignored now\n");
    let before = sandbox.state();
    let kept = identity(&sandbox, "y.o");
    sandbox.json(["restore", &id]);
    assert_eq!(sandbox.text("x.o"), "captured then\n");
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
    assert_eq!(identity(&sandbox, "y.o"), kept);
}

#[test]
fn undo_and_redo_take_no_reflog_entry_that_checkout_would_follow() {
    let sandbox = Sandbox::new();
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.git(["checkout", "-q", "main"]);
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    commit(&sandbox, "two");
    sandbox.json(["travel", &id]);
    sandbox.json(["undo", "-y"]);
    sandbox.json(["redo", "-y"]);
    sandbox.json(["undo", "-y"]);
    assert_eq!(
        sandbox.git(["rev-parse", "--abbrev-ref", "@{-1}"]),
        "other\n"
    );
    let entries = sandbox.git(["reflog", "-4", "--format=%gs"]);
    assert!(
        entries.lines().all(|line| line.starts_with("tw ")),
        "{entries}"
    );
}

#[test]
fn files_only_travel_is_undone_without_head_and_index() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    commit(&sandbox, "two");
    sandbox.write("a.txt", "three\n");
    let before = sandbox.state();
    sandbox.json(["travel", &id, "--files-only"]);
    let past = sandbox.state();
    let reflog = sandbox.git(["reflog"]);
    sandbox.json(["undo", "-y"]);
    before.assert_same(&sandbox.state());
    sandbox.json(["redo", "-y"]);
    past.assert_same(&sandbox.state());
    assert_eq!(sandbox.git(["reflog"]), reflog);
    sandbox.json(["return"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn each_worktree_has_a_log_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.git(["worktree", "add", "-q", "../linked", "-b", "linked"]);
    let linked = sandbox.root().join("linked");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    sandbox.json(["restore", &id]);
    let ran = sandbox.tw_in(&linked, ["--json", "undo"]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(document["error"]["code"], "NOTHING_TO_UNDO");
    sandbox.json(["undo"]);
    assert_eq!(sandbox.text("a.txt"), "now\n");
}

#[test]
fn undo_of_a_return_that_kept_files_goes_back_and_home_again() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    sandbox.json(["travel", &id]);
    sandbox.write("notes.md", "found\n");
    let past = sandbox.state();
    sandbox.json(["return", "--keep", "notes.md"]);
    let kept = sandbox.state();
    sandbox.json(["undo", "-y"]);
    past.assert_same(&sandbox.state());
    sandbox.json(["redo", "-y"]);
    kept.assert_same(&sandbox.state());
}

/// Home is the present as the undo of the return had found it. Where that is another one than before the travel, it is said where that is.
#[test]
fn undo_of_a_travel_says_where_the_present_before_it_is() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "an hour of work\n");
    let first = sandbox.json(["travel", &id])["backup_id"].clone();
    let first = first.as_str().unwrap();
    sandbox.write("a.txt", "past\n");
    sandbox.json(["return", "--keep", "a.txt"]);
    sandbox.json(["undo", "-y"]);
    let says = |args: &[&str]| {
        let notices = list(&sandbox.json(args)["notices"]).join("\n");
        notices.contains(&format!("'tw restore {first}'"))
    };
    assert!(says(&["undo", "--dry-run"]));
    assert!(says(&["undo"]));
    assert_eq!(sandbox.text("a.txt"), "past\n");
    sandbox.json(["restore", first]);
    assert_eq!(sandbox.text("a.txt"), "an hour of work\n");
    // Where it is the same one, nothing is said.
    let travelled = sandbox.json(["travel", &id])["backup_id"].clone();
    sandbox.json(["return"]);
    sandbox.json(["undo", "-y"]);
    let home = sandbox.json(["undo"]);
    assert!(
        !home["notices"].to_string().contains("tw restore"),
        "{travelled}: {home}"
    );
}

#[test]
fn undo_in_the_middle_of_plain_git_work_keeps_that_work() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    sandbox.json(["restore", &id, "b.txt"]);
    commit(&sandbox, "with the restored file");
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let answer = sandbox.json(["undo"]);
    assert_eq!(list(&answer["changed_since"]), Vec::<String>::new());
    assert_eq!(sandbox.git(["rev-parse", "HEAD"]), head);
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M b.txt\n");
    assert_eq!(sandbox.text("b.txt"), "now\n");
}

#[test]
fn a_lost_backup_ref_does_not_stop_an_undo_while_git_has_the_objects() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    let backup = sandbox.json(["restore", &id])["backup_id"].clone();
    let name = format!("refs/timewarp/backups/{}", backup.as_str().unwrap());
    sandbox.git(["update-ref", "-d", &name]);
    sandbox.json(["undo"]);
    assert_eq!(sandbox.text("b.txt"), "now\n");
}

#[test]
fn why_head_stays_is_said_in_words() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "work\n");
    sandbox.json(["travel", &id]);
    sandbox.json(["return"]);
    commit(&sandbox, "moved on");
    let said = sandbox.ok(["undo", "-y"]);
    let line = "  HEAD and index stay as they are: HEAD has moved since\n";
    assert!(said.contains(line), "{said}");
}

/// What is purged is rewritten: no list has it.
#[test]
fn only_what_comes_back_is_said_to_come_back() {
    let sandbox = Sandbox::new();
    let said = sandbox.tw(["undo"]).err();
    assert!(
        said.contains("lists the snapshots that were dropped"),
        "{said}"
    );
    assert!(!said.contains("purge"), "{said}");
    let help = sandbox.ok(["undo", "--help"]).replace('\n', " ");
    assert!(
        help.contains("what 'tw purge' removes by nothing"),
        "{help}"
    );
}

/// No record has the bits of a directory that git's own exclude hides: the log of the swap has.
#[test]
fn the_bits_of_a_directory_that_no_look_sees_come_back() {
    let sandbox = Sandbox::new();
    sandbox.write("ex/two/3", "same\n");
    sandbox.chmod("ex/two", 0o700);
    let id = snapshot(&sandbox);
    sandbox.write(".git/info/exclude", "ex/\n");
    sandbox.chmod("ex/two", 0o775);
    sandbox.write("a.txt", "two\n");
    sandbox.json(["restore", &id]);
    sandbox.json(["undo"]);
    assert_eq!(mode(&sandbox, "ex/two"), 0o775);
}
