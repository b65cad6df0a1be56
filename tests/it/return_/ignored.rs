//! What the past has and the present ignores goes with the past, whatever else was done there.

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::trip::snapshot;

/// In the past, where `made.gen` is a file like any other; the present has none, and ignores it.
fn away() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("made.gen", "1\n");
    let past = snapshot(&sandbox);
    std::fs::remove_file(sandbox.path("made.gen")).unwrap();
    sandbox.write(".gitignore", "*.gen\n");
    sandbox.write("kept.gen", "the present's own\n");
    sandbox.json(["travel", &past]);
    assert!(sandbox.exists("made.gen"));
    sandbox
}

#[track_caller]
fn comes_home(sandbox: &Sandbox) {
    let answer = sandbox.json(["return"]);
    assert_eq!(answer["verified"], true);
    assert!(!sandbox.exists("made.gen"), "it was made by a trip");
    assert_eq!(sandbox.text("kept.gen"), "the present's own\n");
}

#[test]
fn after_a_restore() {
    let sandbox = away();
    sandbox.write("a.txt", "changed\n");
    sandbox.json(["restore", "latest", "a.txt"]);
    comes_home(&sandbox);
}

#[test]
fn after_a_restore_that_was_undone() {
    let sandbox = away();
    sandbox.write("a.txt", "changed\n");
    sandbox.json(["restore", "latest", "a.txt"]);
    sandbox.json(["undo"]);
    comes_home(&sandbox);
}

#[test]
fn what_a_restore_made_goes_as_well() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("other.gen", "2\n");
    let later = snapshot(&sandbox);
    std::fs::remove_file(sandbox.path("other.gen")).unwrap();
    sandbox.write(".gitignore", "*.gen\n");
    sandbox.json(["travel", &past]);
    sandbox.json(["restore", &later, "other.gen"]);
    sandbox.write("a.txt", "changed\n");
    sandbox.json(["restore", &past, "a.txt"]);
    sandbox.json(["return"]);
    assert!(!sandbox.exists("other.gen"));
}

#[test]
fn after_the_way_back_into_the_past() {
    let sandbox = away();
    sandbox.json(["return"]);
    sandbox.json(["undo", "-y"]);
    assert!(sandbox.exists("made.gen"));
    sandbox.write("a.txt", "changed\n");
    sandbox.json(["restore", "latest", "a.txt"]);
    comes_home(&sandbox);
    assert!(!sandbox.exists(".git/timewarp/stay"));
}

#[test]
fn of_a_stay_before_nothing_counts() {
    let sandbox = away();
    comes_home(&sandbox);
    // The same name, now the present's own.
    sandbox.write("made.gen", "mine\n");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "later\n");
    sandbox.json(["travel", &id]);
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("made.gen"), "mine\n");
}

/// In the past, with a file that the present has and ignores, and that the past takes for any other. Gives a snapshot of the past's
/// time with this content of it, or without it.
fn away_from_an_ignored_file(content: Option<&str>) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("b.txt", "other\n");
    if let Some(content) = content {
        sandbox.write("own.gen", content);
    }
    let other = snapshot(&sandbox);
    sandbox.write(".gitignore", "*.gen\n");
    sandbox.write("own.gen", "the present's own\n");
    sandbox.json(["travel", &past]);
    (sandbox, other)
}

#[test]
fn a_restore_in_the_past_leaves_what_the_present_ignores() {
    let (sandbox, other) = away_from_an_ignored_file(None);
    sandbox.json(["restore", &other]);
    assert_eq!(sandbox.text("b.txt"), "other\n");
    assert_eq!(sandbox.text("own.gen"), "the present's own\n");
    sandbox.json(["undo"]);
    assert_eq!(sandbox.text("own.gen"), "the present's own\n");
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("own.gen"), "the present's own\n");
}

#[test]
fn a_restore_in_the_past_over_what_the_present_ignores_is_refused() {
    let (sandbox, other) = away_from_an_ignored_file(Some("another\n"));
    for paths in [&["own.gen"][..], &[]] {
        let args = [&["restore", other.as_str()][..], paths].concat();
        let (error, exit) = sandbox.json_error(args);
        assert_eq!((error["code"].as_str(), exit), (Some("WOULD_OVERWRITE"), 5));
        assert_eq!(error["paths"], serde_json::json!(["own.gen"]));
        assert!(error["hints"].to_string().contains("tw return"), "{error}");
        assert_eq!(sandbox.text("own.gen"), "the present's own\n");
    }
    sandbox.json(["restore", &other, "b.txt"]);
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("own.gen"), "the present's own\n");
    // From the present it is saved first.
    sandbox.json(["travel", &other]);
    assert_eq!(sandbox.text("own.gen"), "another\n");
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("own.gen"), "the present's own\n");
}

/// Tracked though a rule or a default glob matches the directory, and deleted in the present, where the directory is still there.
#[test]
fn a_tracked_file_that_the_present_deleted_goes_with_the_past_whatever_its_directory_is() {
    type Step = fn(&Sandbox);
    let pasts: [Step; 4] = [
        |sandbox| {
            sandbox.git(["checkout", "--", "."]);
        },
        |sandbox| {
            sandbox.write("dist/x", "past\n");
            sandbox.write("own/y", "past\n");
        },
        // Untracked there, and ignored.
        |sandbox| {
            sandbox.git(["rm", "-q", "--cached", "dist/x", "own/y", "app.log"]);
            sandbox.write("dist/x", "past\n");
            sandbox.write("own/y", "past\n");
            sandbox.write("app.log", "past\n");
        },
        |sandbox| sandbox.write("app.log", "past\n"),
    ];
    for staged in [false, true] {
        for (nth, past) in pasts.into_iter().enumerate() {
            println!("{nth}, {staged}");
            let sandbox = Sandbox::new();
            sandbox.write(".gitignore", "*.log\n");
            for file in ["dist/x", "own/y", "app.log"] {
                sandbox.write(file, "tracked\n");
            }
            sandbox.git(["add", "-f", "."]);
            sandbox.git(["commit", "-qm", "tracked"]);
            sandbox.write(".gitignore", "*.log\nown/\n");
            for file in ["dist/x", "own/y", "app.log"] {
                sandbox.remove(file);
                if staged {
                    sandbox.git(["rm", "-q", "--cached", file]);
                }
            }
            sandbox.mkdir("dist");
            sandbox.mkdir("own");
            sandbox.write("own/left-out", "the present's\n");
            let id = snapshot(&sandbox);
            if staged && nth == 2 {
                continue;
            }
            sandbox.assert_round_trip(&id, |sandbox| {
                if staged {
                    sandbox.git(["reset", "-q"]);
                }
                past(sandbox);
            });
            assert!(!sandbox.exists("dist/x") && !sandbox.exists("own/y"));
            assert_eq!(sandbox.text("own/left-out"), "the present's\n");
        }
    }
}

/// The present's rules leave it in place, and it is said.
#[test]
fn what_was_made_by_hand_and_the_present_ignores_stays_and_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a", "1\n");
    let past = snapshot(&sandbox);
    sandbox.write(".gitignore", "*.gen\nout/\n");
    sandbox.write("own.gen", "the present's own\n");
    sandbox.json(["travel", &past]);
    for path in ["by-hand.gen", "out/a", "out/deep/b", "src/c.gen", "plain"] {
        sandbox.write(path, "made in the past\n");
    }
    let looked = sandbox.json(["return", "--dry-run"]);
    let returned = sandbox.json(["return"]);
    let stayed = serde_json::json!(["by-hand.gen", "out", "src/c.gen"]);
    assert_eq!((&returned["stayed"], &looked["stayed"]), (&stayed, &stayed));
    assert!(sandbox.exists("out/deep/b") && !sandbox.exists("plain"));
}

/// The user's own globs hide what git tracks, too.
#[test]
fn what_the_user_left_out_stays_though_the_setting_goes_meanwhile() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/x", "committed\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "dir"]);
    sandbox.git(["config", "--add", "timewarp.exclude", "dir/"]);
    let then = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"].clone();
    sandbox.write("a.txt", "later\n");
    sandbox.write("dir/x", "not committed\n");
    sandbox.write("dir/y", "new\n");
    sandbox.json(["travel", then.as_str().unwrap()]);
    sandbox.git(["config", "--unset", "timewarp.exclude"]);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(sandbox.read("a.txt"), b"later\n");
    assert_eq!(sandbox.read("dir/x"), b"not committed\n");
    assert_eq!(sandbox.read("dir/y"), b"new\n");
}

#[test]
fn a_large_file_that_git_tracks_here_and_the_past_ignores_is_in_nobody_s_way() {
    for edited in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.git(["config", "timewarp.maxFileSize", "1k"]);
        sandbox.write(".gitignore", "/lib\n");
        let id = snapshot(&sandbox);
        sandbox.write(".gitignore", "");
        sandbox.write("lib/big", "big\n".repeat(1000));
        sandbox.git(["add", "."]);
        sandbox.git(["commit", "-qm", "large"]);
        let home = sandbox.state();
        sandbox.json(["travel", &id]);
        sandbox.json(["travel", "--hop", &id]);
        if edited {
            sandbox.write("lib/big", "edited\n".repeat(1000));
            let (error, code) = sandbox.json_error(["return"]);
            assert_eq!((error["code"].as_str(), code), (Some("WOULD_OVERWRITE"), 5));
            let returned = sandbox.json(["return", "--move-aside"]);
            assert_eq!(returned["verified"], true, "{returned}");
            let to = returned["moved_aside"][0]["to"].as_str().unwrap();
            assert_eq!(sandbox.text(to), "edited\n".repeat(1000));
            sandbox.remove(to);
        } else {
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["verified"], true, "{returned}");
            assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
        }
        home.assert_same(&sandbox.state());
    }
}
