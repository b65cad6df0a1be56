//! `tw travel`: the working tree as the snapshot has it, nothing lost, nothing touched that does not differ.

mod git_state;
mod hop;
mod in_the_way;
mod shapes;
mod sparse;

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::{Sandbox, is_root, skipped};
use crate::trip::{
    backdate, commit, commit_of, everything, identity, list, mode, snapshot, state_json, stored,
    with_stop,
};

#[test]
fn travel_puts_every_captured_path_back() {
    let sandbox = Sandbox::new();
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(["add", "staged.txt"]);
    sandbox.write("staged.txt", "edited after\n");
    sandbox.write("dir/untracked.txt", "untracked\n");
    let then = sandbox.state();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.remove("dir");
    sandbox.write("new.txt", "new\n");
    sandbox.git(["rm", "-q", "-f", "--cached", "staged.txt"]);
    let answer = sandbox.json(["travel", &id]);
    assert_eq!(answer["mode"], "past");
    assert_eq!(answer["snapshot_id"], *id);
    assert_eq!(answer["dry_run"], false);
    assert_eq!(
        list(&answer["changes"]["written"]),
        ["a.txt", "dir/untracked.txt"]
    );
    assert_eq!(list(&answer["changes"]["removed"]), ["new.txt"]);
    let differs: Vec<_> = then
        .differences(&sandbox.state())
        .into_iter()
        .filter(|line| !line.contains("branch.head") && !line.contains("HEAD: "))
        .collect();
    assert_eq!(differs, Vec::<String>::new());
    let backup = answer["backup_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, backup, "new.txt"), "new\n");
    assert_eq!(stored(&sandbox, backup, "a.txt"), "two\n");
}

#[test]
fn what_is_built_while_travel_prepares_is_not_newer_than_what_comes_into_place() {
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink("a.txt", sandbox.path("link")).unwrap();
    sandbox.write("removed.txt", "one\n");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.remove("removed.txt");
    sandbox.remove("link");
    std::os::unix::fs::symlink("elsewhere", sandbox.path("link")).unwrap();
    with_stop(&sandbox, &["travel", &id], "apply-prepared", || {
        // Times move in ticks.
        std::thread::sleep(Duration::from_millis(50));
        sandbox.write("target/built", "of two\n");
    });
    let time = |path: &str| {
        let meta = sandbox.path(path).symlink_metadata().unwrap();
        (meta.mtime(), meta.mtime_nsec())
    };
    for path in ["a.txt", "link", "removed.txt"] {
        assert!(time(path) >= time("target/built"), "{path}");
    }
}

#[test]
fn travel_says_where_it_is_in_state_json() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    let answer = sandbox.json(["travel", "latest"]);
    let state = state_json(&sandbox);
    let backup = answer["backup_id"].as_str().unwrap();
    assert_eq!(state["mode"], "past");
    assert_eq!(state["current_snapshot_id"], *id);
    assert_eq!(state["backup_id"], backup);
    assert_eq!(
        state["backup_path"],
        format!("refs/timewarp/backups/{backup}")
    );
    assert_eq!(state["backup_commit"], commit_of(&sandbox, backup));
    assert_eq!(state["guard_token"], answer["guard_token"]);
    assert_eq!(
        state["workspace_root"],
        sandbox.repo().display().to_string()
    );
    for name in ["entered_at", "version", "swap_id"] {
        assert!(!state[name].is_null(), "{name}: {state}");
    }
    for name in ["issue_id", "session_id", "session_snapshot_id"] {
        assert_eq!(state.get(name), Some(&Value::Null), "{name}: {state}");
    }
    let file = sandbox.path(".git/timewarp/state.json");
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(
        file.parent().unwrap().metadata().unwrap().mode() & 0o777,
        0o700
    );
}

#[test]
fn travel_from_the_past_is_refused() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.json(["travel", "latest"]);
    let (error, code) = sandbox.json_error(["travel", "latest"]);
    assert_eq!((error["code"].as_str(), code), (Some("ALREADY_IN_PAST"), 4));
    assert!(error["hint"].as_str().unwrap().contains("tw return"));
    assert!(error["message"].as_str().unwrap().contains(&id));
}

#[test]
fn travel_to_an_unknown_snapshot_is_refused() {
    let sandbox = Sandbox::new();
    let (error, code) = sandbox.json_error(["travel", "zzzz"]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("SNAPSHOT_NOT_FOUND"), 3)
    );
}

#[test]
fn travel_keeps_ignored_files() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.o\n/.env\n");
    commit(&sandbox, "ignore");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    for (path, bytes) in [
        ("x.o", "object\n"),
        (".env", "SECRET=1\n"),
        ("node_modules/m/index.js", "module\n"),
        ("target/debug/out", "built\n"),
        ("dir/y.o", "object\n"),
    ] {
        sandbox.write(path, bytes);
    }
    let before: Vec<_> = ["x.o", ".env", "node_modules/m/index.js", "dir/y.o"]
        .map(|path| identity(&sandbox, path))
        .into();
    let answer = sandbox.json(["travel", &id]);
    assert_eq!(list(&answer["changes"]["removed"]), Vec::<String>::new());
    let after: Vec<_> = ["x.o", ".env", "node_modules/m/index.js", "dir/y.o"]
        .map(|path| identity(&sandbox, path))
        .into();
    assert_eq!(before, after);
    assert!(sandbox.exists("target/debug/out"));
}

#[test]
fn travel_keeps_what_the_targets_rules_would_have_left_out() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.dat\n");
    sandbox.write("a.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.remove(".gitignore");
    sandbox.write("x.dat", "captured now, ignored then\n");
    sandbox.write("new.txt", "goes\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert!(sandbox.exists("x.dat"), "it may be what the build needs");
        assert!(!sandbox.exists("new.txt"));
    });
}

#[test]
fn travel_removes_directories_that_it_empties_and_no_others() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("deep/er/new.txt", "new\n");
    sandbox.write("mixed/new.txt", "new\n");
    sandbox.write("mixed/x.log", "left out\n");
    sandbox.mkdir("empty/still");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert!(!sandbox.exists("deep"));
        assert!(sandbox.exists("mixed/x.log"));
        assert!(!sandbox.exists("mixed/new.txt"));
        assert!(sandbox.exists("empty/still"), "it may stay");
    });
}

#[test]
fn unchanged_files_keep_inode_and_mtime_and_changed_ones_get_new_mtimes() {
    let sandbox = Sandbox::new();
    sandbox.write("same.txt", "same\n");
    sandbox.write("dir/same.txt", "same\n");
    commit(&sandbox, "same");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    for path in ["a.txt", "same.txt", "dir/same.txt"] {
        backdate(&sandbox, path);
    }
    let same = ["same.txt", "dir/same.txt"].map(|path| identity(&sandbox, path));
    let changed = identity(&sandbox, "a.txt");
    for command in [&["travel", &id][..], &["return"]] {
        sandbox.json(command);
        assert_eq!(
            same,
            ["same.txt", "dir/same.txt"].map(|path| identity(&sandbox, path))
        );
        let now = identity(&sandbox, "a.txt");
        assert!(now.1 > changed.1, "{now:?}");
    }
}

#[test]
fn a_dry_run_writes_nothing_at_all() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.write("new.txt", "new\n");
    let before = everything(&sandbox.repo());
    let answer = sandbox.json(["travel", &id, "--dry-run"]);
    assert_eq!(answer["dry_run"], true);
    assert_eq!(answer["backup_id"], Value::Null);
    assert_eq!(list(&answer["changes"]["written"]), ["a.txt"]);
    assert_eq!(list(&answer["changes"]["removed"]), ["new.txt"]);
    assert_eq!(before, everything(&sandbox.repo()));
    std::fs::write(sandbox.path(".git/index.lock"), "").unwrap();
    sandbox.json(["travel", &id, "--dry-run"]);
}

#[test]
fn files_only_leaves_head_and_index_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.git(["commit", "-q", "-am", "second"]);
    sandbox.write("b.txt", "now\n");
    sandbox.git(["add", "b.txt"]);
    let before = sandbox.state();
    let index = sandbox.git(["ls-files", "-s"]);
    let answer = sandbox.json(["travel", &id, "--files-only"]);
    assert_eq!(answer["files_only"], true);
    assert_eq!(sandbox.text("a.txt"), "one\n");
    assert_eq!(sandbox.text("b.txt"), "then\n");
    assert_eq!(sandbox.git(["ls-files", "-s"]), index);
    assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
    assert_eq!(
        sandbox.git(["status", "--porcelain"]),
        " M a.txt\nAM b.txt\n"
    );
    assert_eq!(sandbox.json(["return"])["verified"], true);
    before.assert_same(&sandbox.state());
}

#[test]
fn the_start_directory_and_its_parents_are_kept() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("deep/er/new.txt", "new\n");
    let before = sandbox.state();
    let inode = sandbox.path("deep/er").metadata().unwrap().ino();
    let ran = sandbox.tw_in(sandbox.path("deep/er"), ["travel", &id]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert!(!sandbox.exists("deep/er/new.txt"));
    assert_eq!(sandbox.path("deep/er").metadata().unwrap().ino(), inode);
    let ran = sandbox.tw_in(sandbox.path("deep/er"), ["return"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    before.assert_same(&sandbox.state());
}

#[test]
fn a_start_directory_that_the_target_has_as_a_file_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("x", "a file then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("x");
    sandbox.write("x/y/z", "now\n");
    sandbox.write("a.txt", "now\n");
    let before = sandbox.state();
    let ran = sandbox.tw_in(sandbox.path("x/y"), ["--json", "travel", &id]);
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(ran.code, 5, "{answer}");
    assert_eq!(answer["error"]["code"], "WOULD_OVERWRITE");
    assert_eq!(list(&answer["error"]["paths"]), ["x"], "{answer}");
    before.assert_same(&sandbox.state());
    sandbox.assert_round_trip(&id, |_| {});
}

#[test]
fn all_nine_changes_among_file_directory_and_symlink_work() {
    let sandbox = Sandbox::new();
    let kinds = ["file", "dir", "link"];
    let make = |name: &str, kind: &str, text: &str| match kind {
        "file" => sandbox.write(name, text),
        "dir" => {
            sandbox.write(format!("{name}/inner.txt"), text);
            sandbox.write(format!("{name}/more/inner.txt"), text);
        }
        _ => sandbox.symlink(format!("to-{text}"), name),
    };
    for tracked in [true, false] {
        for from in kinds {
            for to in kinds {
                make(&format!("{from}-{to}-{tracked}"), from, "then");
            }
        }
        if tracked {
            commit(&sandbox, "tracked ones");
        }
    }
    let then = sandbox.state();
    let id = snapshot(&sandbox);
    for tracked in [true, false] {
        for from in kinds {
            for to in kinds {
                let name = format!("{from}-{to}-{tracked}");
                sandbox.remove(&name);
                make(&name, to, "now");
            }
        }
    }
    sandbox.assert_round_trip(&id, |sandbox| {
        let differs = then.differences(&sandbox.state());
        assert!(
            differs
                .iter()
                .all(|line| line.contains("HEAD: ") || line.contains("branch.head")),
            "{differs:#?}"
        );
    });
}

#[test]
fn a_symlinked_parent_is_replaced_and_never_followed() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/file.txt", "then\n");
    commit(&sandbox, "dir");
    let id = snapshot(&sandbox);
    let outside = sandbox.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file.txt"), "somebody else's\n").unwrap();
    sandbox.remove("dir");
    sandbox.symlink(&outside, "dir");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert!(sandbox.path("dir").symlink_metadata().unwrap().is_dir());
        assert_eq!(sandbox.text("dir/file.txt"), "then\n");
    });
    let inside: Vec<_> = std::fs::read_dir(&outside).unwrap().collect();
    assert_eq!(inside.len(), 1);
    assert_eq!(
        std::fs::read_to_string(outside.join("file.txt")).unwrap(),
        "somebody else's\n"
    );
}

#[test]
fn permission_bits_come_and_go() {
    let sandbox = Sandbox::new();
    let all = [
        ("secret", 0o600),
        ("read-only", 0o444),
        ("run", 0o755),
        ("run-alone", 0o700),
        ("set-uid", 0o4755),
    ];
    for (path, bits) in all {
        sandbox.write(path, "then\n");
        sandbox.chmod(path, bits);
    }
    sandbox.write("tracked", "x\n");
    sandbox.git(["add", "tracked"]);
    sandbox.write("private/x", "then\n");
    sandbox.chmod("private", 0o700);
    sandbox.write("closed/x", "then\n");
    sandbox.chmod("closed", 0o555);
    let id = snapshot(&sandbox);
    sandbox.chmod("closed", 0o755);
    for (at, (path, _)) in all.iter().enumerate() {
        if at % 2 == 0 {
            sandbox.write(path, "now\n");
        }
        sandbox.chmod(path, 0o640);
    }
    sandbox.remove("private");
    sandbox.write("closed/x", "now\n");
    sandbox.write("closed/y", "now\n");
    sandbox.chmod("closed", 0o500);
    sandbox.chmod("tracked", 0o666);
    let unchanged = identity(&sandbox, "read-only");
    sandbox.assert_round_trip(&id, |sandbox| {
        for (path, bits) in all {
            assert_eq!(mode(sandbox, path), bits, "{path}");
            assert_eq!(sandbox.text(path), "then\n", "{path}");
        }
        assert_eq!(mode(sandbox, "private"), 0o700);
        assert_eq!(mode(sandbox, "closed"), 0o555);
        assert!(!sandbox.exists("closed/y"));
        assert_eq!(
            identity(sandbox, "read-only"),
            unchanged,
            "only its bits differ"
        );
    });
    // Or the temporary directory could not be removed.
    sandbox.chmod("closed", 0o755);
}

#[test]
fn a_closed_directory_is_opened_for_the_swap_alone() {
    let sandbox = Sandbox::new();
    let fill = |text: &str| {
        sandbox.write("closed/x", text);
        sandbox.write(format!("closed/{text}"), text);
        sandbox.write(format!("closed/{text}-dir/y"), text);
        sandbox.symlink(text, "closed/link");
    };
    fill("then");
    sandbox.chmod("closed/then-dir", 0o555);
    sandbox.chmod("closed", 0o555);
    let id = snapshot(&sandbox);
    sandbox.chmod("closed", 0o755);
    sandbox.chmod("closed/then-dir", 0o755);
    sandbox.remove("closed");
    fill("now");
    sandbox.chmod("closed/now-dir", 0o500);
    sandbox.chmod("closed", 0o555);
    let before = sandbox.state();
    sandbox.json(["travel", &id]);
    assert_eq!(mode(&sandbox, "closed"), 0o555);
    assert_eq!(mode(&sandbox, "closed/then-dir"), 0o555);
    assert!(!sandbox.exists("closed/now-dir"));
    let past = sandbox.state();
    for point in ["apply-written", "apply-removing", "swap-applied"] {
        let mut command = sandbox.tw_command();
        command.env("TW_FAIL_POINT", point).arg("return");
        assert!(!command.output().unwrap().status.success(), "{point}");
        sandbox.ok(["recover", "--back"]);
        past.assert_same(&sandbox.state());
    }
    assert_eq!(sandbox.json(["return"])["verified"], true);
    before.assert_same(&sandbox.state());
    for path in ["closed/now-dir", "closed"] {
        sandbox.chmod(path, 0o755);
    }
}

#[test]
fn the_root_keeps_its_bits_whatever_most_directories_have() {
    let sandbox = Sandbox::new();
    sandbox.chmod("", 0o750);
    let dirs = ["one", "two", "three"];
    for dir in dirs {
        sandbox.write(format!("{dir}/x"), "x\n");
        sandbox.chmod(dir, 0o700);
    }
    let id = snapshot(&sandbox);
    for dir in dirs {
        sandbox.chmod(dir, 0o755);
    }
    sandbox.json(["restore", &id]);
    assert_eq!(mode(&sandbox, ""), 0o750);
    assert_eq!(mode(&sandbox, "one"), 0o700);
    sandbox.json(["undo"]);
    assert_eq!(mode(&sandbox, ""), 0o750);
    assert_eq!(mode(&sandbox, "one"), 0o755);
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(mode(sandbox, ""), 0o750);
    });
}

#[test]
fn empty_directories_of_the_snapshot_are_made() {
    let sandbox = Sandbox::new();
    sandbox.mkdir("logs/old");
    sandbox.mkdir("open");
    sandbox.chmod("open", 0o777);
    let id = snapshot(&sandbox);
    sandbox.remove("logs");
    sandbox.remove("open");
    sandbox.write("open/now.txt", "in the way\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert!(sandbox.path("logs/old").is_dir());
        assert_eq!(mode(sandbox, "open"), 0o777);
        assert_eq!(std::fs::read_dir(sandbox.path("open")).unwrap().count(), 0);
    });
}

#[test]
fn a_directory_that_is_empty_on_the_other_side_stays() {
    let sandbox = Sandbox::new();
    sandbox.mkdir("then-empty");
    sandbox.write("now-empty/deep/x.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("then-empty/x.txt", "now\n");
    sandbox.remove("now-empty/deep/x.txt");
    sandbox.assert_round_trip(&id, |sandbox| {
        let inside = std::fs::read_dir(sandbox.path("then-empty")).unwrap();
        assert_eq!(inside.count(), 0);
        assert_eq!(sandbox.text("now-empty/deep/x.txt"), "then\n");
    });
}

#[test]
fn a_directory_whose_only_file_has_another_name_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/then.txt", "x\n");
    sandbox.write("deep/er/then.txt", "x\n");
    sandbox.mkdir("logs/then");
    let id = snapshot(&sandbox);
    std::fs::rename(sandbox.path("dir/then.txt"), sandbox.path("dir/now.txt")).unwrap();
    sandbox.remove("deep/er");
    sandbox.write("deep/now.txt", "x\n");
    sandbox.remove("logs/then");
    sandbox.write("logs/now.txt", "x\n");
    let inode = sandbox.path("dir").metadata().unwrap().ino();
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("dir/then.txt"), "x\n");
        assert_eq!(sandbox.text("deep/er/then.txt"), "x\n");
        assert!(sandbox.exists("logs/then"));
        assert_eq!(sandbox.path("dir").metadata().unwrap().ino(), inode);
    });
}

#[test]
fn names_that_are_not_utf8_have_their_bytes_beside_them() {
    let sandbox = Sandbox::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9\n-x");
    let id = snapshot(&sandbox);
    sandbox.write(name, "now\n");
    let before = sandbox.state();
    let answer = sandbox.json(["travel", &id]);
    assert!(!sandbox.exists(name));
    assert_eq!(list(&answer["changes"]["removed"]), ["caf\u{fffd}\n-x"]);
    assert_eq!(answer["changes"]["removed_bytes"][0], "Y2Fm6QoteA==");
    sandbox.json(["return"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn owners_stay_for_root_and_are_the_users_for_others() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/x", "then\n");
    sandbox.write("dir/gone", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("dir/x", "now\n");
    sandbox.remove("dir/gone");
    let me = rustix::process::geteuid().as_raw();
    let (of_file, of_dir) = if is_root() { (1234, 4321) } else { (me, me) };
    if is_root() {
        std::os::unix::fs::chown(sandbox.path("dir/x"), Some(1234), Some(1234)).unwrap();
        std::os::unix::fs::chown(sandbox.path("dir"), Some(4321), Some(4321)).unwrap();
    } else {
        skipped(
            "root",
            "only root can give files away; that they stay the user's own is tried",
        );
    }
    sandbox.json(["travel", &id]);
    let owner = |path: &str| sandbox.path(path).metadata().unwrap().uid();
    assert_eq!(owner("dir/x"), of_file, "of what it replaces");
    assert_eq!(owner("dir/gone"), of_dir, "of its directory");
}

#[test]
fn a_lock_of_git_is_waited_for_and_named() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.git(["config", "timewarp.lockTimeout", "0.1"]);
    for name in ["index.lock", "HEAD.lock"] {
        let lock = sandbox.path(".git").join(name);
        std::fs::write(&lock, "").unwrap();
        let before = sandbox.state();
        let (error, code) = sandbox.json_error(["travel", &id]);
        assert_eq!((error["code"].as_str(), code), (Some("BUSY"), 4));
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(name), "{message}");
        before.assert_same(&sandbox.state());
        assert!(lock.exists(), "it is git's");
        std::fs::remove_file(lock).unwrap();
    }
    assert_eq!(
        sandbox.git(["for-each-ref", "refs/timewarp/backups"]),
        "",
        "no backup of a swap that never was"
    );
    sandbox.json(["travel", &id]);
}

#[test]
fn a_dead_lock_of_ours_is_removed() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    // No process has had this start time.
    let line = format!("tw travel-abcdef {} 1\n", std::process::id());
    for name in ["index.lock", "HEAD.lock"] {
        std::fs::write(sandbox.path(".git").join(name), &line).unwrap();
    }
    sandbox.json(["travel", &id]);
    for name in ["index.lock", "HEAD.lock"] {
        assert!(!sandbox.path(".git").join(name).exists());
    }
}

#[test]
fn another_swap_under_way_is_busy() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.git(["config", "timewarp.lockTimeout", "0.1"]);
    let answer = with_stop(&sandbox, &["travel", &id], "swap-journal", || {
        let (error, code) = sandbox.json_error(["travel", &id]);
        assert_eq!((error["code"].as_str(), code), (Some("BUSY"), 4));
        for lock in ["index.lock", "HEAD.lock"] {
            let text = sandbox.text(format!(".git/{lock}"));
            assert!(text.starts_with("tw travel-"), "{text}");
        }
        assert_ne!(sandbox.try_git(["add", "a.txt"]).code, 0);
    });
    assert_eq!(answer["ok"], true, "{answer}");
}

#[test]
fn a_file_changed_after_the_backup_goes_into_the_backup() {
    let sandbox = Sandbox::new();
    sandbox.write("goes.txt", "saved\n");
    let id = {
        sandbox.write("x.txt", "then\n");
        sandbox.remove("goes.txt");
        snapshot(&sandbox)
    };
    sandbox.write("x.txt", "saved\n");
    sandbox.write("goes.txt", "saved\n");
    let answer = with_stop(&sandbox, &["travel", &id], "swap-journal", || {
        sandbox.write("x.txt", "later!\n");
        sandbox.write("goes.txt", "later!\n");
    });
    assert_eq!(answer["ok"], true, "{answer}");
    assert_eq!(sandbox.text("x.txt"), "then\n");
    assert!(!sandbox.exists("goes.txt"));
    let backup = answer["backup_id"].as_str().unwrap();
    for path in ["x.txt", "goes.txt"] {
        assert_eq!(stored(&sandbox, backup, path), "later!\n");
    }
    assert!(
        answer["notices"][0]
            .as_str()
            .unwrap()
            .contains("later bytes are in the backup"),
        "{answer}"
    );
    sandbox.json(["return"]);
    for path in ["x.txt", "goes.txt"] {
        assert_eq!(sandbox.text(path), "later!\n");
    }
}

#[test]
fn an_index_changed_meanwhile_is_looked_at_again() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("b.txt", "now\n");
    let before = std::cell::RefCell::new(None);
    let stopped = with_stop(&sandbox, &["travel", &id], "swap-prepared", || {
        sandbox.git(["add", "b.txt"]);
        *before.borrow_mut() = Some(sandbox.state());
    });
    assert_eq!(stopped["ok"], true, "{stopped}");
    sandbox.json(["return"]);
    before.into_inner().unwrap().assert_same(&sandbox.state());
}

#[test]
fn a_damaged_target_is_refused_before_the_first_write() {
    for damage in ["missing", "other bytes"] {
        let sandbox = Sandbox::new();
        sandbox.write("b.txt", "then, in a blob of its own\n");
        let id = snapshot(&sandbox);
        let oid = sandbox.git(["rev-parse", &format!("{}:b.txt", commit_of(&sandbox, &id))]);
        let (dir, name) = oid.trim().split_at(2);
        let object = sandbox.path(format!(".git/objects/{dir}/{name}"));
        std::fs::remove_file(&object).unwrap();
        if damage == "other bytes" {
            let other = sandbox.git(["rev-parse", "HEAD:a.txt"]);
            let (dir, name) = other.trim().split_at(2);
            std::fs::copy(sandbox.path(format!(".git/objects/{dir}/{name}")), &object).unwrap();
        }
        sandbox.write("b.txt", "now\n");
        sandbox.write("a.txt", "now\n");
        let before = sandbox.state();
        let (error, code) = sandbox.json_error(["travel", &id]);
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("CORRUPT_RECORD"), 1),
            "{damage}"
        );
        before.assert_same(&sandbox.state());
        assert_eq!(sandbox.json(["snapshot"])["ok"], true, "and life goes on");
    }
}

#[test]
fn gc_in_the_past_takes_nothing_that_is_needed() {
    let sandbox = Sandbox::new();
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(["add", "staged.txt"]);
    sandbox.write("staged.txt", "edited\n");
    let id = snapshot(&sandbox);
    sandbox.write("staged.txt", "staged again\n");
    sandbox.git(["add", "staged.txt"]);
    sandbox.write("staged.txt", "edited again\n");
    sandbox.write("new.txt", "new\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
        sandbox.git(["gc", "-q", "--prune=now"]);
        assert_eq!(sandbox.try_git(["fsck", "--strict"]).err(), "");
    });
}

#[test]
fn nothing_of_the_users_is_run() {
    let sandbox = Sandbox::new();
    for hook in [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ] {
        let script = "#!/bin/sh\ntouch \"$(dirname \"$0\")/../ran\"\n";
        sandbox.program(format!(".git/hooks/{hook}"), script);
    }
    sandbox.git(["config", "commit.gpgSign", "true"]);
    sandbox.git(["config", "gpg.program", "/nonexistent/gpg"]);
    sandbox.git(["config", "core.fsmonitor", "/nonexistent/monitor"]);
    sandbox.git(["config", "core.pager", "/nonexistent/pager"]);
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.json(["travel", &id]);
    sandbox.json(["return"]);
    assert!(!sandbox.path(".git/ran").exists());
}

#[test]
fn tabs_quotes_and_long_paths_travel() {
    let sandbox = Sandbox::new();
    let long = ["d".repeat(200), "e".repeat(200), "f".repeat(200)].join("/");
    let names = [
        "tab\there.txt".to_owned(),
        "\"quoted\".txt".to_owned(),
        "back\\slash.txt".to_owned(),
        "-dash".to_owned(),
        " space ".to_owned(),
        format!("{long}/x.txt"),
    ];
    for name in &names {
        sandbox.write(name, "then\n");
    }
    let id = snapshot(&sandbox);
    for name in &names {
        sandbox.remove(name);
    }
    sandbox.assert_round_trip(&id, |sandbox| {
        for name in &names {
            assert_eq!(sandbox.text(name), "then\n", "{name}");
        }
    });
}

#[test]
fn hard_links_of_others_keep_their_bytes() {
    let sandbox = Sandbox::new();
    sandbox.write("x", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("x", "now\n");
    let other = sandbox.root().join("other-name");
    std::fs::hard_link(sandbox.path("x"), &other).unwrap();
    sandbox.chmod("x", 0o600);
    sandbox.assert_round_trip(&id, |_| {
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "now\n");
    });
}

#[test]
fn hard_links_of_others_keep_their_bits() {
    let sandbox = Sandbox::new();
    sandbox.chmod("a.txt", 0o644);
    let id = snapshot(&sandbox);
    let other = sandbox.root().join("other-name");
    std::fs::hard_link(sandbox.path("a.txt"), &other).unwrap();
    sandbox.chmod("a.txt", 0o444);
    let bits = || other.metadata().unwrap().mode() & 0o777;
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(bits(), 0o444);
        sandbox.write("a.txt", "of the past\n");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "one\n");
    });
    assert_eq!(bits(), 0o444);
}

#[test]
fn the_desk_is_never_touched_and_its_config_only_when_git_tracks_it() {
    for tracked in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.write(".timewarp/config.toml", "keep_days = 20\n");
        if tracked {
            commit(&sandbox, "config");
        }
        let id = snapshot(&sandbox);
        sandbox.write(".timewarp/config.toml", "keep_days = 30\n");
        sandbox.write(".timewarp/issues/i_1/issue.json", "{}\n");
        sandbox.write("a.txt", "now\n");
        sandbox.assert_round_trip(&id, |sandbox| {
            let days = if tracked { 20 } else { 30 };
            assert_eq!(
                sandbox.text(".timewarp/config.toml"),
                format!("keep_days = {days}\n")
            );
            assert_eq!(sandbox.text(".timewarp/issues/i_1/issue.json"), "{}\n");
        });
    }
}

#[test]
fn addresses_lead_where_they_say() {
    let sandbox = Sandbox::new();
    let mut ids = Vec::new();
    for text in ["one", "two", "three"] {
        sandbox.write("b.txt", text);
        ids.push(snapshot(&sandbox));
        sandbox.wait(3600);
    }
    let tail = ids[0].rsplit('_').next().unwrap().to_owned();
    let reference = format!("refs/timewarp/snapshots/{}", ids[1]);
    for (address, at) in [
        ("latest", 2),
        ("latest~2", 0),
        (tail.as_str(), 0),
        (reference.as_str(), 1),
        (&commit_of(&sandbox, &ids[1])[..12], 1),
        ("90m ago", 1),
    ] {
        let answer = sandbox.json(["travel", address, "--dry-run"]);
        assert_eq!(answer["snapshot_id"], *ids[at], "{address}");
    }
    // Backups and experiments are snapshots too.
    let backup = sandbox.json(["travel", &ids[0]])["backup_id"].clone();
    sandbox.write("made.txt", "in the past\n");
    let experiment = sandbox.json(["return"])["experiment_id"].clone();
    for id in [backup, experiment] {
        sandbox.assert_round_trip(id.as_str().unwrap(), |_| {});
    }
}

#[test]
fn a_foreign_git_dir_in_the_environment_misleads_nobody() {
    let sandbox = Sandbox::new();
    let other = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    let untouched = everything(&other.repo());
    for command in [&["travel", &id][..], &["return"]] {
        let output = sandbox
            .tw_command()
            .env("GIT_DIR", other.path(".git"))
            .env("GIT_WORK_TREE", other.repo())
            .env("GIT_INDEX_FILE", other.path(".git/index"))
            .args(command)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(sandbox.text("a.txt"), "now\n");
    assert_eq!(untouched, everything(&other.repo()));
}

#[test]
fn an_unknown_operation_file_of_a_snapshot_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("a.txt", "other\n");
    commit(&sandbox, "other");
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("a.txt", "main\n");
    commit(&sandbox, "main");
    sandbox.git(["update-ref", "ORIG_HEAD", "HEAD"]);
    assert_eq!(sandbox.try_git(["merge", "other"]).code, 1);
    // A name beside the closed list is never captured, so never put back.
    sandbox.write(".git/rebase-merge-not", "x\n");
    sandbox.write(".git/sequencer/evil", "x\n");
    let id = snapshot(&sandbox);
    std::fs::remove_file(sandbox.path(".git/sequencer/evil")).unwrap();
    sandbox.git(["merge", "--abort"]);
    sandbox.json(["travel", &id]);
    assert!(!sandbox.exists(".git/sequencer/evil"));
    assert!(sandbox.exists(".git/rebase-merge-not"), "nor removed");
    sandbox.json(["return"]);
}
