//! There is always a way home: what is in the way, too large, or wanted in the present.

use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;

use crate::faults::killed_at;
use crate::sandbox::{Sandbox, is_root, skipped};
use crate::trip::{list, snapshot, state_json, stored};

/// In the past, where `x` is not yet; in the present it is a file.
fn away() -> Sandbox {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("x", "now\n");
    sandbox.write("a.txt", "now\n");
    sandbox.json(["travel", &id]);
    sandbox
}

fn pipe(sandbox: &Sandbox, path: &str) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        sandbox.path(path),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
}

#[test]
fn something_uncapturable_in_the_way_refuses_and_names_the_way_home() {
    let sandbox = away();
    sandbox.git(["init", "-q", "x"]);
    sandbox.write("x/precious", "theirs\n");
    let before = sandbox.state();
    let (error, code) = sandbox.json_error(["return"]);
    assert_eq!((error["code"].as_str(), code), (Some("WOULD_OVERWRITE"), 5));
    assert_eq!(list(&error["paths"]), ["x"]);
    assert_eq!(error["hint"], "tw return --move-aside");
    before.assert_same(&sandbox.state());
    assert_eq!(state_json(&sandbox)["mode"], "past");
}

#[test]
fn move_aside_renames_what_is_in_the_way() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("dir/x", "now\n");
    sandbox.write("y", "now\n");
    sandbox.write("a.txt", "now\n");
    let backup = sandbox.json(["travel", &id])["backup_id"].clone();
    let tail = backup
        .as_str()
        .unwrap()
        .rsplit('_')
        .next()
        .unwrap()
        .to_owned();
    sandbox.mkdir("dir/x");
    sandbox.git(["init", "-q", "dir/x"]);
    sandbox.write("dir/x/precious", "theirs\n");
    pipe(&sandbox, "y");
    let answer = sandbox.json(["return", "--move-aside"]);
    assert_eq!(answer["verified"], true);
    let moved: Vec<_> = answer["moved_aside"]
        .as_array()
        .unwrap()
        .iter()
        .map(|moved| {
            (
                moved["from"].as_str().unwrap(),
                moved["to"].as_str().unwrap(),
            )
        })
        .collect();
    let names = [format!("dir/x.tw-past-{tail}"), format!("y.tw-past-{tail}")];
    assert_eq!(moved, [("dir/x", &*names[0]), ("y", &*names[1])]);
    assert_eq!(sandbox.text("dir/x"), "now\n");
    assert_eq!(sandbox.text("y"), "now\n");
    assert_eq!(sandbox.text(format!("{}/precious", names[0])), "theirs\n");
    assert!(sandbox.exists(&names[1]));
}

#[test]
fn move_aside_renames_what_stands_where_a_directory_with_left_out_files_was() {
    let socket = |sandbox: &Sandbox, path: &str| {
        drop(std::os::unix::net::UnixListener::bind(sandbox.path(path)).unwrap());
    };
    let makes: [fn(&Sandbox, &str); 2] = [pipe, socket];
    for make in makes {
        let sandbox = Sandbox::new();
        sandbox.write("s/y.log", "left out\n");
        sandbox.write("s/k", "kept\n");
        let id = snapshot(&sandbox);
        sandbox.json(["travel", &id]);
        sandbox.remove("s");
        make(&sandbox, "s");
        let (error, _) = sandbox.json_error(["return"]);
        assert_eq!(error["hint"], "tw return --move-aside");
        let answer = sandbox.json(["return", "--move-aside"]);
        assert_eq!(answer["verified"], true, "{answer}");
        let moved = answer["moved_aside"].as_array().unwrap();
        assert_eq!(moved.len(), 1, "{answer}");
        assert_eq!(moved[0]["from"], "s");
        assert!(sandbox.exists(moved[0]["to"].as_str().unwrap()));
        assert_eq!(sandbox.text("s/k"), "kept\n");
    }
}

#[test]
fn move_aside_takes_a_directory_along_that_has_to_be_a_file() {
    let sandbox = away();
    sandbox.mkdir("x/deep");
    pipe(&sandbox, "x/p");
    pipe(&sandbox, "x/deep/p");
    sandbox.write("x/text", "past\n");
    let foretold = sandbox.json(["return", "--move-aside", "--dry-run"]);
    let answer = sandbox.json(["return", "--move-aside"]);
    assert_eq!(answer["verified"], true, "{answer}");
    let moved = answer["moved_aside"].as_array().unwrap();
    assert_eq!(moved.len(), 1, "{answer}");
    assert_eq!(foretold["moved_aside"], answer["moved_aside"]);
    let to = moved[0]["to"].as_str().unwrap();
    assert!(sandbox.exists(format!("{to}/deep/p")), "{answer}");
    assert_eq!(sandbox.text(format!("{to}/text")), "past\n");
    assert_eq!(sandbox.text("x"), "now\n");
}

#[test]
fn a_directory_that_lets_nobody_rename_is_named_with_the_way_out() {
    if is_root() {
        skipped("an ordinary user", "root can write everywhere");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("d/other", "in both\n");
    let id = snapshot(&sandbox);
    sandbox.write("d/e", "now\n");
    let home = sandbox.state();
    sandbox.json(["travel", &id]);
    sandbox.git(["init", "-q", "d/e"]);
    sandbox.chmod("d", 0o555);
    let (error, code) = sandbox.json_error(["return", "--move-aside"]);
    assert_eq!((error["code"].as_str(), code), (Some("WOULD_OVERWRITE"), 5));
    assert_eq!(list(&error["paths"]), ["d/e"], "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("chmod u+w "), "{hint}");
    sandbox.chmod("d", 0o755);
    let answer = sandbox.json(["return", "--move-aside"]);
    let moved = answer["moved_aside"][0]["to"].as_str().unwrap();
    assert!(sandbox.exists(format!("{moved}/.git")), "{answer}");
    sandbox.remove(moved);
    home.assert_same(&sandbox.state());
}

#[test]
fn what_the_past_made_unreadable_is_named_and_moved_aside() {
    if is_root() {
        skipped("an ordinary user", "root can look everywhere");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("same.txt", "in both\n");
    sandbox.write("dir/same.txt", "in both\n");
    sandbox.write("differs.txt", "then\n");
    sandbox.write("then.txt", "only then\n");
    let id = snapshot(&sandbox);
    sandbox.write("differs.txt", "now\n");
    sandbox.remove("then.txt");
    let before = sandbox.state();
    sandbox.json(["travel", &id]);
    let closed = ["differs.txt", "dir", "same.txt", "then.txt"];
    for path in closed {
        sandbox.chmod(path, 0);
    }
    for args in [
        &["return"][..],
        &["return", "--discard"],
        &["undo"],
        &["travel", "--hop", "latest"],
    ] {
        let (error, code) = sandbox.json_error(args);
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("WOULD_OVERWRITE"), 5),
            "{args:?} {error}"
        );
    }
    let (error, _) = sandbox.json_error(["return"]);
    assert_eq!(list(&error["paths"]), closed, "{error}");
    assert_eq!(error["hint"], "tw return --move-aside");
    let answer = sandbox.json(["return", "--move-aside"]);
    assert_eq!(answer["verified"], true);
    let moved: Vec<&str> = answer["moved_aside"]
        .as_array()
        .unwrap()
        .iter()
        .map(|moved| moved["to"].as_str().unwrap())
        .collect();
    assert_eq!(moved.len(), closed.len(), "{answer}");
    for path in moved {
        sandbox.chmod(path, 0o700);
        sandbox.remove(path);
    }
    before.assert_same(&sandbox.state());
}

#[test]
fn keep_carries_named_files_over() {
    let sandbox = away();
    sandbox.write("notes.md", "what I found\n");
    sandbox.write("dir/fix.txt", "the fix\n");
    sandbox.write("a.txt", "fixed\n");
    sandbox.write("other.txt", "left behind\n");
    let answer = sandbox.json(["return", "--keep", "notes.md", "a.txt", "dir"]);
    assert_eq!(answer["verified"], true);
    assert_eq!(list(&answer["kept"]), ["notes.md", "a.txt", "dir"]);
    assert_eq!(sandbox.text("notes.md"), "what I found\n");
    assert_eq!(sandbox.text("a.txt"), "fixed\n");
    assert_eq!(sandbox.text("dir/fix.txt"), "the fix\n");
    assert_eq!(sandbox.text("x"), "now\n");
    assert!(!sandbox.exists("other.txt"));
    let experiment = answer["experiment_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, experiment, "notes.md"), "what I found\n");
    // The present's version of what was kept is one undo or one restore away.
    let backup = answer["backup_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, backup, "a.txt"), "now\n");
}

#[test]
fn keep_of_what_is_not_there_is_an_error_and_changes_nothing() {
    let sandbox = away();
    let before = sandbox.state();
    let (error, code) = sandbox.json_error(["return", "--keep", "nowhere.txt"]);
    assert_eq!((error["code"].as_str(), code), (Some("PATH_NOT_FOUND"), 3));
    before.assert_same(&sandbox.state());
    assert_eq!(state_json(&sandbox)["mode"], "past");
}

#[test]
fn keep_of_what_is_behind_a_symlink_says_so() {
    let sandbox = away();
    sandbox.write("real/f", "made there\n");
    symlink("real", sandbox.path("link")).unwrap();
    let (error, code) = sandbox.json_error(["return", "--keep", "link/f"]);
    assert_eq!((error["code"].as_str(), code), (Some("PATH_NOT_FOUND"), 3));
    assert_eq!(
        error["message"],
        "'link/f' is behind the symlink 'link' and cannot be kept"
    );
}

#[test]
fn keep_beneath_a_file_of_the_present_is_refused_before_anything_is_written() {
    let sandbox = Sandbox::new();
    for path in ["d/z", "d/y", "e/z"] {
        sandbox.write(path, "then\n");
    }
    let id = snapshot(&sandbox);
    sandbox.remove("d");
    sandbox.write("d", "now\n");
    sandbox.remove("e");
    symlink("a.txt", sandbox.path("e")).unwrap();
    let present = sandbox.state();
    sandbox.json(["travel", &id]);
    sandbox.write("d/z", "the fix\n");
    let before = sandbox.state();
    for (path, why) in [("d/z", "'d' is a file"), ("e/z", "'e' is a symlink")] {
        for args in [
            &["return", "--keep", path][..],
            &["return", "--dry-run", "--keep", path],
        ] {
            let (error, code) = sandbox.json_error(args);
            assert_eq!((error["code"].as_str(), code), (Some("WOULD_OVERWRITE"), 5));
            let message = format!("'{path}' cannot be kept: in the present {why}");
            assert_eq!(error["message"], message);
            assert_eq!(
                error["hint"],
                "'tw return' without it leads to the present, and saves it in the experiment"
            );
            assert_eq!(list(&error["paths"]), [path]);
            before.assert_same(&sandbox.state());
        }
    }
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true);
    present.assert_same(&sandbox.state());
    let experiment = returned["experiment_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, experiment, "d/z"), "the fix\n");
}

/// What is kept may stand where the present had something, or be a directory in which the present had more.
#[test]
fn keep_names_what_of_the_present_it_keeps_away() {
    let sandbox = Sandbox::new();
    sandbox.write("f", "then\n");
    sandbox.write("both/z", "then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("f");
    for path in ["f/x", "f/y", "both/x", "g", "other"] {
        sandbox.write(path, "now\n");
    }
    let backup = sandbox.json(["travel", &id])["backup_id"].clone();
    let backup = backup.as_str().unwrap();
    sandbox.write("g/z", "made there\n");
    sandbox.write("both/z", "changed there\n");
    let keep = ["--keep", "f", "both", "g"];
    let note = format!(
        "what is kept keeps 4 files of the present away: 'both/x', 'f/x', 'f/y', 'g'; 'tw restore {backup} PATH' brings one back"
    );
    let looked = sandbox.json([&["return", "--dry-run"][..], &keep].concat());
    assert_eq!(list(&looked["notices"]), [note.as_str()], "{looked}");
    let returned = sandbox.json([&["return"][..], &keep].concat());
    assert_eq!(list(&returned["notices"]), [note.as_str()], "{returned}");
    assert_eq!(returned["verified"], true);
    assert_eq!(sandbox.text("f"), "then\n");
    assert_eq!(sandbox.text("both/z"), "changed there\n");
    assert_eq!(sandbox.text("other"), "now\n");
    sandbox.json(["restore", backup, "f/x", "both/x"]);
    for path in ["f/x", "both/x"] {
        assert_eq!(sandbox.text(path), "now\n");
    }
}

#[test]
fn too_much_that_is_new_is_refused_and_discard_leaves_it_in_place() {
    let sandbox = away();
    sandbox.git(["config", "timewarp.experimentLimit", "4k"]);
    sandbox.write("big.bin", vec![b'x'; 8192]);
    sandbox.write("small.txt", "small\n");
    sandbox.write("a.txt", "tried\n");
    let before = sandbox.state();
    let (error, code) = sandbox.json_error(["return"]);
    assert_eq!((error["code"].as_str(), code), (Some("WOULD_OVERWRITE"), 5));
    assert!(
        error["hint"]
            .as_str()
            .unwrap()
            .contains("tw return --discard"),
        "{error}"
    );
    assert!(list(&error["paths"]).contains(&"big.bin".to_owned()));
    before.assert_same(&sandbox.state());
    let answer = sandbox.json(["return", "--discard"]);
    assert_eq!(answer["verified"], true);
    assert_eq!(list(&answer["discarded"]), ["big.bin"]);
    let experiment = answer["experiment_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, experiment, "small.txt"), "small\n");
    assert_eq!(stored(&sandbox, experiment, "a.txt"), "tried\n");
    assert_eq!(sandbox.text("a.txt"), "now\n");
    assert!(!sandbox.exists("small.txt"));
    // The past had it.
    sandbox.json(["undo", "--into-past"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn directories_that_stayed_and_changed_are_named() {
    let sandbox = Sandbox::new();
    sandbox.write("node_modules/m.js", "1\n");
    sandbox.write("target/out", "1\n");
    sandbox.write("vendor/tracked", "1\n");
    sandbox.write("build/then", "1\n");
    sandbox.git(["add", "-f", "vendor", "build"]);
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    sandbox.write("vendor/tracked", "2\n");
    sandbox.git(["rm", "-rqf", "build"]);
    sandbox.write(".gitignore", "/app/out/\n/made/\n");
    sandbox.write("app/out/deep/x.o", "1\n");
    sandbox.write("run.log", "1\n");
    sandbox.write("gone.log", "1\n");
    sandbox.json(["travel", &id]);
    let untouched = sandbox.json(["return", "--dry-run"]);
    assert!(list(&untouched["stayed"]).is_empty(), "{untouched}");
    sandbox.write("node_modules/added.js", "2\n");
    sandbox.write("app/out/deep/x.o", "2\n");
    sandbox.write("run.log", "2\n");
    sandbox.remove("gone.log");
    // Where there was none before.
    sandbox.write(".venv/lib", "1\n");
    sandbox.write("app/__pycache__/x.pyc", "1\n");
    sandbox.write("fresh.log", "1\n");
    // What is on the desk is no file of the past.
    sandbox.write(".timewarp/issues/x", "1\n");
    let would = sandbox.json(["return", "--dry-run"]);
    let answer = sandbox.json(["return"]);
    assert_eq!(
        list(&answer["stayed"]),
        [
            ".venv",
            "app/__pycache__",
            "app/out",
            "fresh.log",
            "node_modules",
            "run.log"
        ]
    );
    let notices = answer["notices"].to_string();
    assert!(notices.contains("no backup has it: 'gone.log'"), "{answer}");
    assert_eq!(would["notices"], answer["notices"]);
    assert_eq!(would["stayed"], answer["stayed"]);
    assert_eq!(sandbox.text("node_modules/added.js"), "2\n");
}

#[test]
fn what_went_with_the_directory_over_it_is_named() {
    let replace: [fn(&Sandbox); 3] = [
        |_| {},
        |sandbox| sandbox.write("app", "a file\n"),
        |sandbox| sandbox.symlink("other", "app"),
    ];
    for replace in replace {
        let sandbox = Sandbox::new();
        sandbox.write("other/build/x", "1\n");
        let id = snapshot(&sandbox);
        sandbox.write("app/main.c", "1\n");
        sandbox.write("app/build/main.o", "1\n");
        sandbox.json(["travel", &id]);
        sandbox.remove("app");
        replace(&sandbox);
        let notices = sandbox.json(["return"])["notices"].to_string();
        assert!(
            notices.contains("no backup has it: 'app/build'"),
            "{notices}"
        );
    }
}

#[test]
fn a_lock_of_git_is_busy_and_the_way_home_stays() {
    let sandbox = away();
    sandbox.git(["config", "timewarp.lockTimeout", "0.1"]);
    std::fs::write(sandbox.path(".git/index.lock"), "").unwrap();
    let (error, code) = sandbox.json_error(["return"]);
    assert_eq!((error["code"].as_str(), code), (Some("BUSY"), 4));
    assert_eq!(state_json(&sandbox)["mode"], "past");
    std::fs::remove_file(sandbox.path(".git/index.lock")).unwrap();
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(sandbox.text("x"), "now\n");
}

#[test]
fn a_backup_whose_ref_was_deleted_is_found_by_its_commit() {
    let sandbox = away();
    let backup = state_json(&sandbox)["backup_path"]
        .as_str()
        .unwrap()
        .to_owned();
    sandbox.git(["update-ref", "-d", &backup]);
    let answer = sandbox.json(["return"]);
    assert_eq!(answer["verified"], true);
    assert_eq!(sandbox.text("x"), "now\n");
    assert_eq!(sandbox.text("a.txt"), "now\n");
}

#[test]
fn a_backup_whose_ref_somebody_moved_is_not_believed() {
    let sandbox = away();
    let state = state_json(&sandbox);
    let backup = state["backup_path"].as_str().unwrap();
    let commit = sandbox.git(["cat-file", "commit", backup]);
    let empty = sandbox.git(["mktree"]);
    let tree = sandbox.git(["rev-parse", &format!("{backup}^{{tree}}")]);
    let file = sandbox.root().join("tmp/commit");
    std::fs::write(&file, commit.replace(tree.trim(), empty.trim())).unwrap();
    let file = file.display().to_string();
    let other = sandbox.git(["hash-object", "-w", "-t", "commit", &file]);
    sandbox.git(["update-ref", backup, other.trim()]);
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(sandbox.text("x"), "now\n");
    assert_eq!(sandbox.text("a.txt"), "now\n");
}

/// What nobody may look into can neither be saved nor be replaced.
#[test]
fn a_directory_that_lets_nobody_look_is_named_with_the_ways_home() {
    if is_root() {
        skipped("an ordinary user", "root can look everywhere");
        return;
    }
    for bits in [0, 0o300, 0o600] {
        let sandbox = Sandbox::new();
        let id = snapshot(&sandbox);
        sandbox.write("dir/deep/x", "now\n");
        let home = sandbox.state();
        sandbox.json(["travel", &id]);
        sandbox.write("dir/deep/other", "there\n");
        sandbox.chmod("dir", bits);
        for dry in [&["return"][..], &["return", "--dry-run"]] {
            let (error, code) = sandbox.json_error(dry);
            assert_eq!((error["code"].as_str(), code), (Some("WOULD_OVERWRITE"), 5));
            assert_eq!(list(&error["paths"]), ["dir"], "{bits:o}");
            let hints = error["hints"].to_string();
            assert!(hints.contains("tw return --move-aside"), "{hints}");
            assert!(hints.contains("chmod u+rwX"), "{hints}");
        }
        sandbox.chmod("dir", 0o755);
        sandbox.chmod("dir/deep", bits);
        let (error, _) = sandbox.json_error(["return"]);
        assert_eq!(list(&error["paths"]), ["dir/deep"], "{bits:o}");
        let moved = sandbox.json(["return", "--move-aside"])["moved_aside"].clone();
        let aside = moved[0]["to"].as_str().unwrap();
        sandbox.chmod(aside, 0o755);
        assert_eq!(sandbox.text(format!("{aside}/other")), "there\n");
        sandbox.remove(aside);
        home.assert_same(&sandbox.state());
    }
}

#[test]
fn what_the_present_left_out_of_a_directory_that_is_moved_aside_stays_at_its_place() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("app/main.c", "now\n");
    sandbox.write(".gitignore", "build/\n*.env\n");
    sandbox.write("app/build/out.o", "object\n");
    sandbox.write("app/deep/er/prod.env", "KEY\n");
    sandbox.chmod("app/deep", 0o750);
    let home = sandbox.state();
    let deep = std::fs::metadata(sandbox.path("app/deep/er")).unwrap();
    for dies in [false, true] {
        sandbox.json(["travel", &past]);
        sandbox.git(["init", "-q", "--template=", "app"]);
        sandbox.write("app/there", "past\n");
        let (error, _) = sandbox.json_error(["return"]);
        assert_eq!(list(&error["paths"]), ["app"], "{error}");
        let returned = if dies {
            let mut dying = sandbox.tw_command();
            dying.env("TW_FAIL_POINT", "return-moved-aside");
            let output = dying.args(["return", "--move-aside"]).output().unwrap();
            assert_eq!(output.status.signal(), Some(9), "{output:?}");
            assert!(!sandbox.exists("app"));
            // Nothing is in the way any more: it is finished, and told, without the flag.
            let would = sandbox.json(["return", "--dry-run"]);
            let returned = sandbox.json(["return"]);
            assert_eq!(would["moved_aside"], returned["moved_aside"]);
            returned
        } else {
            sandbox.json(["return", "--move-aside"])
        };
        let moved = returned["moved_aside"].as_array().unwrap();
        assert_eq!(moved.len(), 1, "{returned}");
        assert!(list(&returned["stayed"]).is_empty(), "{returned}");
        let aside = moved[0]["to"].as_str().unwrap();
        assert_eq!(sandbox.text(format!("{aside}/there")), "past\n");
        assert!(!sandbox.exists(format!("{aside}/build")), "{returned}");
        assert_eq!(sandbox.text("app/build/out.o"), "object\n");
        assert_eq!(sandbox.text("app/deep/er/prod.env"), "KEY\n");
        let back = std::fs::metadata(sandbox.path("app/deep/er")).unwrap();
        assert_eq!(deep.permissions(), back.permissions());
        sandbox.remove(aside);
        home.assert_same(&sandbox.state());
    }
}

/// Whatever ends a stay in which something was renamed says so, also after a death at any point of the swap.
#[test]
fn what_a_return_renamed_before_it_died_is_told_by_what_finishes_it() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("d", "now\n");
    let home = sandbox.state();
    let ends: [&[&str]; 2] = [&["recover", "-y"], &["snapshot"]];
    for point in ["swap-applied", "swap-state", "swap-logged"] {
        for end in ends {
            sandbox.json(["travel", &past]);
            sandbox.git(["init", "-q", "--template=", "d"]);
            killed_at(&sandbox, point, &["return", "--move-aside"]);
            let mut said = sandbox.json(end)["notices"].to_string();
            if state_json(&sandbox)["mode"] == "past" {
                said = sandbox.json(["return"])["moved_aside"].to_string();
            }
            let names = std::fs::read_dir(sandbox.repo()).unwrap();
            let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let aside = names.find(|name| name.starts_with("d.tw-past-")).unwrap();
            assert!(said.contains(&aside), "{point} {end:?}: {said}");
            sandbox.remove(&aside);
            home.assert_same(&sandbox.state());
        }
    }
    // An undo of the travel ends the stay as well.
    sandbox.json(["travel", &past]);
    sandbox.git(["init", "-q", "--template=", "d"]);
    let mut dying = sandbox.tw_command();
    dying.env("TW_FAIL_POINT", "return-moved-aside");
    dying.args(["return", "--move-aside"]).output().unwrap();
    let undone = sandbox.tw(["undo"]);
    assert_eq!(undone.code, 0, "{}", undone.err());
    let said = [undone.out(), undone.err()].concat();
    assert!(said.contains("d.tw-past-"), "{said}");
}

/// What is there by then at the place of something of the present stays, and both are named.
#[test]
fn a_place_that_is_taken_meanwhile_is_left_to_whoever_took_it() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("app/main.c", "now\n");
    sandbox.write(".gitignore", "*.env\n");
    sandbox.write("app/prod.env", "KEY\n");
    sandbox.json(["travel", &past]);
    sandbox.git(["init", "-q", "--template=", "app"]);
    let mut dying = sandbox.tw_command();
    dying.env("TW_FAIL_POINT", "return-moved-aside");
    let output = dying.args(["return", "--move-aside"]).output().unwrap();
    assert_eq!(output.status.signal(), Some(9), "{output:?}");
    sandbox.write("app/prod.env", "another\n");
    let returned = sandbox.json(["return"]);
    let moved = returned["moved_aside"].as_array().unwrap();
    let from = |at: usize| moved[at]["from"].as_str().unwrap();
    assert_eq!([from(0), from(1)], ["app", "app/prod.env"], "{returned}");
    assert_eq!(sandbox.text(moved[1]["to"].as_str().unwrap()), "KEY\n");
    assert_eq!(sandbox.text("app/prod.env"), "another\n");
}

#[test]
fn a_dry_run_says_what_the_return_does() {
    let sandbox = away();
    sandbox.write("dir/y", "there\n");
    pipe(&sandbox, "x");
    sandbox.git(["config", "timewarp.experimentLimit", "1k"]);
    sandbox.write("big.bin", vec![b'x'; 3000]);
    let (error, _) = sandbox.json_error(["return", "--dry-run", "--move-aside"]);
    assert!(
        error["hint"].as_str().unwrap().contains("--discard"),
        "{error}"
    );
    sandbox.git(["add", "big.bin"]);
    sandbox.git(["commit", "-qm", "there"]);
    // Tracked by now, and none of the new untracked data that is limited.
    sandbox.write("big.bin", vec![b'z'; 3100]);
    sandbox.write("big2.bin", vec![b'x'; 3000]);
    let words = ["return", "--move-aside", "--discard"];
    let before = sandbox.state();
    let would = sandbox.json(words.iter().chain(&["--dry-run"]));
    before.assert_same(&sandbox.state());
    let said = sandbox.ok(words.iter().chain(&["--dry-run"]));
    assert!(said.contains("would be moved aside: x to"), "{said}");
    let did = sandbox.json(words);
    for field in [
        "changes",
        "moved_aside",
        "discarded",
        "stayed",
        "commits_made",
        "commits_branch",
        "notices",
    ] {
        assert_eq!(would[field], did[field], "{field}");
    }
    assert_eq!(did["commits_made"][0]["title"], "there", "{did}");
    assert_eq!(list(&did["discarded"]), ["big2.bin"]);
}

#[test]
fn what_is_git_s_own_cannot_be_kept() {
    let sandbox = away();
    let (error, code) = sandbox.json_error(["return", "--keep", ".git/config"]);
    assert_eq!((error["code"].as_str(), code), (Some("PATH_NOT_FOUND"), 3));
}

#[test]
fn what_the_file_system_lets_nobody_change_is_named_with_the_command() {
    if !is_root() {
        skipped("root", "only root can make a file immutable");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("dir/log", "one\n");
    let id = snapshot(&sandbox);
    sandbox.write("dir/log", "one\ntwo\n");
    let home = sandbox.state();
    sandbox.json(["travel", &id]);
    let flags = |path: &str, flags: rustix::fs::IFlags| {
        let file = std::fs::File::open(sandbox.path(path)).unwrap();
        rustix::fs::ioctl_setflags(file, flags)
    };
    let cases = [
        ("dir/log", rustix::fs::IFlags::APPEND),
        ("dir/log", rustix::fs::IFlags::IMMUTABLE),
        ("dir", rustix::fs::IFlags::IMMUTABLE),
    ];
    for (path, flag) in cases {
        if flags(path, flag).is_err() {
            skipped(
                "a file system with flags",
                "here no file can be made immutable",
            );
            return;
        }
        let (error, code) = sandbox.json_error(["return"]);
        flags(path, rustix::fs::IFlags::empty()).unwrap();
        assert_eq!((error["code"].as_str(), code), (Some("IO"), 1), "{path}");
        let hints = list(&error["hints"]);
        let there = sandbox.path(path);
        assert_eq!(
            hints[0],
            format!(
                "the file system lets nobody change them; as root: chattr -i -a -- {}",
                there.display()
            )
        );
        let is_dir = there.is_dir();
        let rest = if is_dir {
            "nothing was changed"
        } else {
            "everything is as it was"
        };
        assert_eq!(hints[1], rest);
    }
    sandbox.json(["return"]);
    home.assert_same(&sandbox.state());
}

#[test]
fn what_has_a_long_name_is_moved_aside_under_a_shorter_one() {
    for name in ["n".repeat(255), "é".repeat(127)] {
        let sandbox = Sandbox::new();
        let id = snapshot(&sandbox);
        sandbox.write(&name, "of the present\n");
        sandbox.json(["travel", &id]);
        sandbox.git(["init", "-q", "--template=", &name]);
        let (error, _) = sandbox.json_error(["return"]);
        assert_eq!(error["code"], "WOULD_OVERWRITE", "{error}");
        let planned = sandbox.json(["return", "--move-aside", "--dry-run"]);
        let returned = sandbox.json(["return", "--move-aside"]);
        assert_eq!(returned["verified"], true, "{returned}");
        let to = returned["moved_aside"][0]["to"].as_str().unwrap();
        assert_eq!(planned["moved_aside"], returned["moved_aside"]);
        assert!(to.len() <= 255 && to.contains(".tw-past-"), "{to}");
        assert!(sandbox.path(to).join(".git").is_dir());
        assert_eq!(sandbox.text(&name), "of the present\n");
    }
}
