//! `tw return`: the present exactly as it was, what was made in the past kept as an experiment.

mod closed;
mod dir_modes;
mod directories;
mod filtered;
mod head;
mod ignored;
mod in_place;
mod moved_aside;
mod operations;
mod repositories;
mod submodules;
mod torn;
mod unchanged;
mod unsafe_names;
mod unsaved;
mod ways_home;

use serde_json::Value;

use crate::sandbox::{Kind, Sandbox};
use crate::trip::{
    commit, commit_of, everything, identity, list, mode, snapshot, state_json, stored, with_stop,
};

#[test]
fn return_brings_everything_back_and_says_so() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("a.txt", "edited\n");
    sandbox.write("dir/new.txt", "new\n");
    let before = sandbox.state();
    let backup = sandbox.json(["travel", &id])["backup_id"].clone();
    let answer = sandbox.json(["return"]);
    assert_eq!(answer["mode"], "present");
    assert_eq!(answer["verified"], true);
    assert_eq!(answer["backup_id"], backup);
    assert_eq!(
        list(&answer["changes"]["written"]),
        ["a.txt", "dir/new.txt"]
    );
    assert_eq!(list(&answer["changes"]["removed"]), Vec::<String>::new());
    assert_eq!(answer["head"]["restored"], true);
    assert_eq!(answer["head"]["ref"], "refs/heads/main");
    assert_eq!(answer["head"]["reason"], Value::Null);
    for name in ["changed_since", "commits_made", "stayed", "notices"] {
        assert_eq!(answer[name], serde_json::json!([]), "{name}");
    }
    before.assert_same(&sandbox.state());
    let state = state_json(&sandbox);
    assert_eq!(state["mode"], "present");
    for name in ["current_snapshot_id", "backup_id", "guard_token"] {
        assert_eq!(state[name], Value::Null, "{name}");
    }
    assert!(!sandbox.exists(".git/timewarp/journal.json"));
    assert!(!sandbox.exists(".git/index.lock"));
}

#[test]
fn return_from_the_present_is_refused() {
    let sandbox = Sandbox::new();
    snapshot(&sandbox);
    let (error, code) = sandbox.json_error(["return"]);
    assert_eq!((error["code"].as_str(), code), (Some("NOT_IN_PAST"), 4));
    assert!(error["hint"].as_str().unwrap().contains("tw travel"));
}

#[test]
fn what_was_made_in_the_past_is_an_experiment_and_is_not_carried_over() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        sandbox.write("a.txt", "tried\n");
        sandbox.write("tried/deep/new.txt", "tried\n");
        sandbox.remove("b.txt");
        sandbox.mkdir("tried-empty/dir");
        sandbox.git(["add", "a.txt"]);
    });
    let listed = sandbox.json(["list", "--kind", "experiment"]);
    let experiment = &listed["snapshots"][0];
    let experiment_id = experiment["snapshot_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, experiment_id, "a.txt"), "tried\n");
    assert_eq!(
        stored(&sandbox, experiment_id, "tried/deep/new.txt"),
        "tried\n"
    );
    let commit = commit_of(&sandbox, experiment_id);
    assert_ne!(
        sandbox
            .try_git(["cat-file", "-e", &format!("{commit}:b.txt")])
            .code,
        0
    );
    assert!(sandbox.git(["show", &format!("{commit}^2:a.txt")]) == "tried\n");
    let shown = sandbox.json(["show", experiment_id]);
    assert!(shown.to_string().contains(&id), "it names where it started");
}

#[test]
fn anything_may_happen_in_the_past() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "b\n");
    commit(&sandbox, "b");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    sandbox.write("untracked.txt", "now\n");
    let before = sandbox.state();
    sandbox.json(["travel", &id]);
    sandbox.git(["rm", "-q", "-rf", "."]);
    sandbox.write("x/y/z", "x\n");
    commit(&sandbox, "in the past");
    sandbox.git(["checkout", "-q", "-f", "main~1"]);
    sandbox.write("b.txt/was/a/file", "x\n");
    sandbox.git(["read-tree", "--empty"]);
    sandbox.remove("a.txt");
    sandbox.symlink("/", "a.txt");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    before.assert_same(&sandbox.state());
}

#[test]
fn staged_content_and_flags_of_the_index_come_back() {
    let sandbox = Sandbox::new();
    for name in ["skip", "assume", "both", "deleted", "renamed", "mode"] {
        sandbox.write(name, format!("{name}\n"));
    }
    commit(&sandbox, "files");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("a.txt", "worktree\n");
    sandbox.write("intended.txt", "intended\n");
    sandbox.git(["add", "-N", "intended.txt"]);
    sandbox.write("intended.sh", "intended\n");
    sandbox.chmod("intended.sh", 0o755);
    sandbox.git(["add", "-N", "intended.sh"]);
    sandbox.git(["update-index", "--skip-worktree", "skip", "both"]);
    sandbox.git(["update-index", "--assume-unchanged", "assume", "both"]);
    sandbox.write("skip", "edited behind git's back\n");
    sandbox.write("assume", "edited behind git's back\n");
    sandbox.git(["rm", "-q", "--cached", "deleted"]);
    sandbox.git(["mv", "renamed", "renamed-to"]);
    sandbox.git(["update-index", "--chmod=+x", "mode"]);
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("skip"), "skip\n");
        assert_eq!(sandbox.text("assume"), "assume\n");
        assert_eq!(sandbox.git(["status", "--porcelain"]), "");
        assert!(!sandbox.git(["ls-files", "-v"]).contains("h "));
    });
    assert_eq!(sandbox.text("skip"), "edited behind git's back\n");
}

#[test]
fn flags_of_the_snapshots_index_are_put_in_place_too() {
    let sandbox = Sandbox::new();
    sandbox.write("skip", "skip\n");
    sandbox.write("assume", "assume\n");
    commit(&sandbox, "files");
    sandbox.git(["update-index", "--skip-worktree", "skip"]);
    sandbox.git(["update-index", "--assume-unchanged", "assume"]);
    sandbox.write("intended.txt", "intended\n");
    sandbox.git(["add", "-N", "intended.txt"]);
    let then = sandbox.git(["ls-files", "-s", "-v"]);
    let status = sandbox.git(["status", "--porcelain"]);
    let id = snapshot(&sandbox);
    sandbox.git(["update-index", "--no-skip-worktree", "skip"]);
    sandbox.git(["update-index", "--no-assume-unchanged", "assume"]);
    sandbox.git(["add", "-A"]);
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.git(["ls-files", "-s", "-v"]), then);
        assert_eq!(sandbox.git(["status", "--porcelain"]), status);
    });
}

#[test]
fn modes_and_empty_directories_come_back() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("secret", "now\n");
    sandbox.chmod("secret", 0o600);
    sandbox.chmod("a.txt", 0o640);
    sandbox.mkdir("empty/deep");
    sandbox.mkdir("closed");
    sandbox.chmod("closed", 0o700);
    sandbox.write("closed/x", "now\n");
    sandbox.chmod("closed/x", 0o400);
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(mode(sandbox, "a.txt"), 0o644);
        if sandbox.exists("empty/deep") {
            sandbox.remove("empty");
        }
        sandbox.mkdir("made-in-the-past/deep");
    });
    assert!(sandbox.exists("empty/deep"));
    assert!(!sandbox.exists("made-in-the-past"));
}

#[test]
fn stash_branches_and_config_are_nobodys_but_the_users() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "stashed\n");
    sandbox.git(["stash", "-q"]);
    sandbox.write("a.txt", "now\n");
    let config = sandbox.text(".git/config");
    sandbox.assert_round_trip(&id, |sandbox| {
        sandbox.git(["stash", "apply", "-q"]);
    });
    assert_eq!(sandbox.text(".git/config"), config);
    // What git does to refs in the past stays done: return speaks for the working tree.
    sandbox.json(["travel", &id]);
    sandbox.git(["branch", "made-in-the-past"]);
    sandbox.json(["return"]);
    sandbox.git(["rev-parse", "made-in-the-past"]);
}

#[test]
fn unchanged_files_are_not_touched_by_the_trip() {
    let sandbox = Sandbox::new();
    sandbox.write("same.txt", "same\n");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    let before = identity(&sandbox, "same.txt");
    sandbox.json(["travel", &id]);
    let answer = sandbox.json(["return"]);
    assert_eq!(list(&answer["changes"]["written"]), ["a.txt"]);
    assert_eq!(identity(&sandbox, "same.txt"), before);
}

#[test]
fn ignore_rules_edited_in_the_past_hide_nothing_from_the_experiment() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    let before = sandbox.state();
    sandbox.json(["travel", &id]);
    sandbox.write("made.txt", "made\n");
    sandbox.write("dir/made.txt", "made\n");
    sandbox.write("b.txt", "tried\n");
    sandbox.write(".gitignore", "*.txt\n/dir\n");
    let answer = sandbox.json(["return"]);
    let experiment = answer["experiment_id"].as_str().unwrap();
    for (path, bytes) in [
        ("made.txt", "made\n"),
        ("dir/made.txt", "made\n"),
        ("b.txt", "tried\n"),
        (".gitignore", "*.txt\n/dir\n"),
    ] {
        assert_eq!(stored(&sandbox, experiment, path), bytes, "{path}");
    }
    assert_eq!(answer["verified"], true);
    before.assert_same(&sandbox.state());
}

#[test]
fn what_the_presents_rules_ignore_stays_when_it_was_there_before() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write(".gitignore", "*.o\n");
    sandbox.write("x.o", "built now\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert!(sandbox.exists("x.o"), "in the past nothing ignores it");
        assert!(!sandbox.exists(".gitignore"));
    });
}

#[test]
fn what_travel_made_goes_although_the_presents_rules_ignore_it() {
    let sandbox = Sandbox::new();
    sandbox.write("x.o", "captured then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("x.o");
    sandbox.write(".gitignore", "*.o\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("x.o"), "captured then\n");
    });
    assert!(!sandbox.exists("x.o"));
}

#[test]
fn a_path_that_somebody_changes_meanwhile_is_named_and_not_held_against_the_proof() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    sandbox.write("b.txt", "now\n");
    let before = sandbox.state();
    sandbox.json(["travel", &id]);
    let answer = with_stop(&sandbox, &["return"], "swap-operation", || {
        sandbox.write("a.txt", "somebody else's\n");
        sandbox.write("c.txt", "somebody else's\n");
    });
    assert_eq!(answer["verified"], true, "{answer}");
    assert_eq!(list(&answer["changed_since"]), ["a.txt", "c.txt"]);
    assert_eq!(sandbox.text("a.txt"), "somebody else's\n");
    sandbox.write("a.txt", "now\n");
    sandbox.remove("c.txt");
    before.assert_same(&sandbox.state());
    assert_eq!(state_json(&sandbox)["mode"], "present");
}

#[test]
fn an_index_that_is_not_back_fails_the_proof_and_keeps_the_way_home() {
    let sandbox = Sandbox::of(Kind::ref_files());
    sandbox.write("b.txt", "b\n");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    let before = sandbox.state();
    sandbox.json(["travel", &id]);
    let answer = with_stop(&sandbox, &["return"], "swap-operation", || {
        // As a program would that heeds no lock.
        let mut head = sandbox.git(["rev-parse", "HEAD"]);
        head.push('\n');
        std::fs::write(sandbox.path(".git/HEAD"), head).unwrap();
    });
    assert_eq!(answer["ok"], false, "{answer}");
    assert_eq!(answer["error"]["code"], "VERIFY_FAILED");
    assert!(
        answer["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("tw recover"),
        "{answer}"
    );
    assert_eq!(state_json(&sandbox)["mode"], "past");
    assert!(sandbox.exists(".git/timewarp/journal.json"));
    let (error, code) = sandbox.json_error(["return"]);
    assert_eq!((error["code"].as_str(), code), (Some("INTERRUPTED"), 4));
    sandbox.ok(["-y", "recover", "--back"]);
    assert_eq!(state_json(&sandbox)["mode"], "past");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    before.assert_same(&sandbox.state());
}

#[test]
fn a_dry_run_writes_nothing_at_all() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.json(["travel", &id]);
    sandbox.write("new.txt", "new\n");
    let before = everything(&sandbox.repo());
    let answer = sandbox.json(["return", "--dry-run"]);
    assert_eq!(answer["dry_run"], true);
    assert_eq!(answer["experiment_id"], Value::Null);
    assert_eq!(list(&answer["changes"]["written"]), ["a.txt"]);
    assert_eq!(list(&answer["changes"]["removed"]), ["new.txt"]);
    assert_eq!(before, everything(&sandbox.repo()));
}

#[test]
fn gc_and_plain_git_between_our_commands_take_nothing() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "staged only\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("a.txt", "worktree only\n");
    let before = sandbox.state();
    sandbox.json(["travel", &id]);
    let answer = {
        sandbox.write("tried.txt", "tried\n");
        sandbox.git(["gc", "-q", "--prune=now"]);
        sandbox.json(["return"])
    };
    sandbox.git(["gc", "-q", "--prune=now"]);
    before.assert_same(&sandbox.state());
    let experiment = answer["experiment_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, experiment, "tried.txt"), "tried\n");
    assert_eq!(sandbox.try_git(["fsck", "--strict"]).err(), "");
}

#[test]
fn many_trips_end_where_they_began() {
    let sandbox = Sandbox::new();
    let mut ids = Vec::new();
    for round in 0..4 {
        sandbox.write("a.txt", format!("{round}\n"));
        sandbox.write(format!("dir{round}/x.txt"), "x\n");
        ids.push(snapshot(&sandbox));
        sandbox.remove(format!("dir{round}"));
    }
    let before = sandbox.state();
    for id in ids.iter().rev().chain(&ids) {
        sandbox.json(["travel", id]);
        sandbox.write("tried.txt", id);
        sandbox.json(["return"]);
        before.assert_same(&sandbox.state());
    }
}

#[test]
fn a_directory_of_the_past_that_still_holds_something_left_out_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("from-travel/x.txt", "then\n");
    sandbox.write("nested/x.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("from-travel");
    sandbox.remove("nested");
    sandbox.write(".gitignore", "*.o\n");
    sandbox.json(["travel", &id]);
    sandbox.write("from-travel/run.log", "left out\n");
    sandbox.write("made/mod.py", "made\n");
    sandbox.write("made/__pycache__/mod.pyc", "left out\n");
    sandbox.write("deep/made/x.log", "left out\n");
    sandbox.git(["init", "-q", "nested/theirs"]);
    let answer = sandbox.json(["return"]);
    assert_eq!(answer["verified"], true);
    assert_eq!(list(&answer["changed_since"]), Vec::<String>::new());
    for stays in [
        "from-travel/run.log",
        "made/__pycache__/mod.pyc",
        "deep/made/x.log",
        "nested/theirs/.git",
    ] {
        assert!(sandbox.exists(stays), "{stays}");
    }
    for goes in ["from-travel/x.txt", "made/mod.py", "nested/x.txt"] {
        assert!(!sandbox.exists(goes), "{goes}");
    }
}

#[test]
fn an_empty_directory_that_the_present_ignores_stays() {
    let sandbox = Sandbox::new();
    sandbox.mkdir("was-empty");
    let id = snapshot(&sandbox);
    std::fs::remove_dir(sandbox.path("was-empty")).unwrap();
    sandbox.write(".gitignore", "ignored*/\nwas-empty/\n");
    sandbox.mkdir("ignored/deep");
    sandbox.mkdir("ignored-too");
    let before = sandbox.state();
    sandbox.json(["travel", &id]);
    // There nothing ignores them, and travel made one of them.
    assert!(sandbox.exists("was-empty"));
    sandbox.mkdir("made");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    for (dir, stays) in [
        ("ignored/deep", true),
        ("ignored-too", true),
        ("was-empty", false),
        ("made", false),
    ] {
        assert_eq!(sandbox.exists(dir), stays, "{dir}");
    }
    before.assert_same(&sandbox.state());
}

#[test]
fn an_empty_directory_that_is_filled_with_what_is_left_out_is_still_there() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.mkdir("logs");
    sandbox.write("a.txt", "now\n");
    sandbox.json(["travel", &id]);
    sandbox.write("logs/run.log", "left out\n");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(sandbox.text("logs/run.log"), "left out\n");
}

#[test]
fn directories_with_left_out_files_alone_come_back_with_their_bits() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("logs/old.log", "left out\n");
    sandbox.chmod("logs", 0o750);
    sandbox.write("a.txt", "now\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert!(sandbox.exists("logs/old.log"));
        sandbox.chmod("logs", 0o700);
    });
}

#[test]
fn a_symlink_planted_in_the_past_is_never_followed_home() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/x", "one\n");
    let id = snapshot(&sandbox);
    sandbox.write("dir/x", "now\n");
    sandbox.write("new/y", "now\n");
    let outside = sandbox.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("x"), "theirs\n").unwrap();
    sandbox.assert_round_trip(&id, |sandbox| {
        sandbox.remove("dir");
        sandbox.symlink(&outside, "dir");
        sandbox.symlink(&outside, "new");
    });
    assert_eq!(
        std::fs::read_to_string(outside.join("x")).unwrap(),
        "theirs\n"
    );
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_gc_in_the_middle_of_a_return_takes_nothing() {
    for point in ["swap-prepared", "swap-journal", "swap-operation"] {
        let sandbox = Sandbox::new();
        let id = snapshot(&sandbox);
        sandbox.write("a.txt", "staged\n");
        sandbox.git(["add", "a.txt"]);
        sandbox.write("a.txt", "now\n");
        let before = sandbox.state();
        sandbox.json(["travel", &id]);
        sandbox.write("tried.txt", "tried\n");
        let answer = with_stop(&sandbox, &["return"], point, || {
            // All of a gc but for the reflogs, whose lock is held.
            sandbox.git(["repack", "-q", "-a", "-d"]);
            sandbox.git(["prune", "--expire=now"]);
        });
        assert_eq!(answer["verified"], true, "{point}: {answer}");
        before.assert_same(&sandbox.state());
        let experiment = answer["experiment_id"].as_str().unwrap();
        assert_eq!(stored(&sandbox, experiment, "tried.txt"), "tried\n");
        assert_eq!(sandbox.try_git(["fsck", "--strict"]).err(), "");
    }
}

#[test]
fn what_was_made_in_the_past_is_not_left_because_its_note_cannot_be_read() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "made\n");
    sandbox.write("made", "made\n");
    sandbox.git(["add", "-f", "made", ".gitignore"]);
    let old = snapshot(&sandbox);
    sandbox.git(["rm", "-qf", "made"]);
    sandbox.json(["travel", &old]);
    let stay = sandbox.path(".git/timewarp/stay");
    let away = stay.with_extension("away");
    std::fs::rename(&stay, &away).unwrap();
    std::os::unix::fs::symlink("stay", &stay).unwrap();
    let (error, _) = sandbox.json_error(["return"]);
    assert!(
        error["message"].as_str().unwrap().contains("cannot read"),
        "{error}"
    );
    std::fs::remove_file(&stay).unwrap();
    std::fs::rename(&away, &stay).unwrap();
    sandbox.json(["return"]);
    assert!(!sandbox.exists("made"));
}
