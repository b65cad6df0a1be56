//! What stands where the snapshot needs a path and is not in the backup by itself: captured first, or a refusal.

use crate::sandbox::{Sandbox, is_root, skipped};
use crate::stage::Stage;
use crate::trip::{commit, list, mode, snapshot, stored, with_stop};

/// Travel is refused over this path, nothing has changed, and there is no backup.
#[track_caller]
fn refused(sandbox: &Sandbox, id: &str, path: &str) {
    let before = sandbox.state();
    let (error, code) = sandbox.json_error(["travel", id]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("WOULD_OVERWRITE"), 5),
        "{error}"
    );
    assert_eq!(list(&error["paths"]), [path], "{error}");
    assert!(error["message"].as_str().unwrap().contains(path), "{error}");
    before.assert_same(&sandbox.state());
    assert_eq!(sandbox.git(["for-each-ref", "refs/timewarp/backups"]), "");
    let (dry, _) = sandbox.json_error(["travel", id, "--dry-run"]);
    assert_eq!(dry["code"], "WOULD_OVERWRITE");
}

#[test]
fn an_ignored_file_is_captured_first_and_comes_back() {
    let sandbox = Sandbox::new();
    sandbox.write("settings.local", "then, not ignored\n");
    let id = snapshot(&sandbox);
    sandbox.write(".gitignore", "*.local\n");
    sandbox.write("settings.local", "now, ignored\n");
    sandbox.chmod("settings.local", 0o600);
    let before = sandbox.state();
    let answer = sandbox.json(["travel", &id]);
    assert_eq!(sandbox.text("settings.local"), "then, not ignored\n");
    let backup = answer["backup_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, backup, "settings.local"), "now, ignored\n");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    before.assert_same(&sandbox.state());
}

#[test]
fn an_ignored_directory_keeps_its_bits_over_the_trip() {
    let sandbox = Sandbox::new();
    sandbox.write("cache/x", "then\n");
    sandbox.write("cache/deep/y", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write(".gitignore", "cache\n");
    sandbox.write("cache/x", "now, ignored\n");
    sandbox.write("cache/z", "now, ignored\n");
    sandbox.chmod("cache/deep", 0o750);
    sandbox.chmod("cache", 0o700);
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("cache/x"), "then\n");
        assert_eq!(sandbox.text("cache/z"), "now, ignored\n");
    });
}

#[test]
fn an_ignored_directory_where_a_file_was_is_captured_first() {
    let sandbox = Sandbox::new();
    sandbox.write("cache", "a file then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("cache");
    sandbox.write(".gitignore", "cache/\n");
    sandbox.write("cache/deep/er/x", "ignored\n");
    sandbox.symlink("deep", "cache/link");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("cache"), "a file then\n");
    });
}

#[test]
fn an_excluded_directory_where_a_file_was_is_captured_first() {
    let sandbox = Sandbox::new();
    sandbox.write("build", "a file then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("build");
    sandbox.write("build/out.bin", "built\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("build"), "a file then\n");
    });
}

/// A snapshot where `cache` is a file and `build` a link; now both are directories that rules leave out, with empty ones in them.
fn with_empty_dirs_in_the_way() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("cache", "a file then\n");
    sandbox.symlink("elsewhere", "build");
    let id = snapshot(&sandbox);
    sandbox.remove("cache");
    sandbox.remove("build");
    sandbox.write(".gitignore", "cache/\n");
    sandbox.write("cache/pkg/lib/x", "ignored\n");
    sandbox.mkdir("cache/pkg/tmp/deep/er");
    sandbox.mkdir("build/a/b");
    sandbox.mkdir("build/c");
    sandbox.chmod("cache/pkg/tmp", 0o1777);
    sandbox.chmod("cache/pkg/tmp/deep", 0o700);
    sandbox.chmod("build/a/b", 0o711);
    sandbox.chmod("build", 0o750);
    (sandbox, id)
}

#[test]
fn empty_directories_in_an_ignored_one_come_back() {
    let (sandbox, id) = with_empty_dirs_in_the_way();
    let before = sandbox.state();
    let backup = sandbox.json(["travel", &id])["backup_id"].clone();
    assert_eq!(sandbox.text("cache"), "a file then\n");
    let answer = sandbox.json(["return"]);
    assert_eq!(answer["verified"], true);
    assert!(
        answer
            .get("notices")
            .is_none_or(|told| told == &serde_json::json!([])),
        "{answer}"
    );
    before.assert_same(&sandbox.state());
    let diff = sandbox.json(["diff", backup.as_str().unwrap(), "present"]);
    assert_eq!(diff["others"], serde_json::json!([]), "{diff}");
}

#[test]
fn empty_directories_in_an_ignored_one_come_back_by_undo_and_redo() {
    let (sandbox, id) = with_empty_dirs_in_the_way();
    let before = sandbox.state();
    sandbox.json(["restore", &id]);
    let after = sandbox.state();
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
    sandbox.json(["redo"]);
    after.assert_same(&sandbox.state());
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
    sandbox.json(["restore", &id, "build", "cache"]);
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn empty_directories_that_the_past_ignores_are_in_the_experiment() {
    let (sandbox, id) = with_empty_dirs_in_the_way();
    sandbox.json(["restore", &id]);
    let before = sandbox.state();
    sandbox.json(["undo"]);
    let there = snapshot(&sandbox);
    sandbox.json(["redo"]);
    sandbox.json(["travel", &there]);
    for dir in ["cache/pkg/tmp/deep/er", "build/a/b", "build/c"] {
        sandbox.mkdir(dir);
    }
    sandbox.chmod("cache/pkg/tmp", 0o1777);
    let past = sandbox.state();
    assert_eq!(sandbox.json(["return"])["verified"], true);
    before.assert_same(&sandbox.state());
    sandbox.json(["undo", "--into-past"]);
    past.assert_same(&sandbox.state());
    sandbox.json(["travel", "--hop", &id]);
    assert_eq!(sandbox.json(["undo"])["mode"], "past");
    past.assert_same(&sandbox.state());
    assert_eq!(sandbox.json(["return"])["verified"], true);
    before.assert_same(&sandbox.state());
}

#[test]
fn empty_directories_in_an_ignored_one_survive_a_death() {
    let (sandbox, id) = with_empty_dirs_in_the_way();
    let home = sandbox.state();
    let stage = Stage::new(sandbox, &["travel", &id], Some(home));
    assert!(stage.crash_everywhere() >= 5);
}

#[test]
fn an_ignored_file_where_a_directory_was_is_captured_first() {
    let sandbox = Sandbox::new();
    sandbox.write("cache/x", "then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("cache");
    sandbox.write(".gitignore", "cache\n");
    sandbox.write("cache", "ignored\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("cache/x"), "then\n");
    });
}

#[test]
fn what_stands_in_an_ignored_directory_beside_the_target_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("vendor/lib/kept.c", "tracked in an ignored place\n");
    commit(&sandbox, "lib");
    let id = snapshot(&sandbox);
    sandbox.git(["rm", "-q", "-r", "vendor"]);
    sandbox.write(".gitignore", "vendor/\n");
    commit(&sandbox, "no lib");
    sandbox.write("vendor/lib/other.c", "ignored\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("vendor/lib/other.c"), "ignored\n");
        assert_eq!(
            sandbox.text("vendor/lib/kept.c"),
            "tracked in an ignored place\n"
        );
    });
}

#[test]
fn a_nested_repository_is_refused_also_one_that_came_later() {
    for tracked in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.write("lib/x", "then\n");
        if tracked {
            commit(&sandbox, "lib");
        }
        let id = snapshot(&sandbox);
        sandbox.git(["rm", "-rq", "--cached", "--ignore-unmatch", "lib"]);
        sandbox.remove("lib");
        sandbox.git(["init", "-q", "lib"]);
        sandbox.write("lib/precious", "theirs\n");
        refused(&sandbox, &id, "lib");
    }
}

#[test]
fn a_nested_repository_where_a_file_was_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("lib", "a file then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("lib");
    sandbox.mkdir("lib/inner");
    sandbox.git(["init", "-q", "lib/inner"]);
    refused(&sandbox, &id, "lib/inner");
}

#[test]
fn a_repository_in_an_ignored_directory_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("cache/x", "then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("cache");
    sandbox.write(".gitignore", "/cache/\n");
    sandbox.mkdir("cache");
    sandbox.git(["init", "-q", "cache"]);
    refused(&sandbox, &id, "cache");
}

#[test]
fn a_nested_repository_beside_the_way_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("libs/x", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("libs/x", "now\n");
    sandbox.git(["init", "-q", "libs/theirs"]);
    sandbox.write("libs/theirs/precious", "theirs\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("libs/theirs/precious"), "theirs\n");
    });
}

#[test]
fn pipes_and_sockets_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("x", "then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("x");
    let pipe = sandbox.path("x");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    refused(&sandbox, &id, "x");
    sandbox.remove("x");
    let socket = std::os::unix::net::UnixListener::bind(sandbox.path("x")).unwrap();
    refused(&sandbox, &id, "x");
    drop(socket);
    sandbox.remove("x");
    sandbox.write("x/inner", "a directory\n");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        sandbox.path("x/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    refused(&sandbox, &id, "x/pipe");
}

#[test]
fn an_untracked_file_over_the_limit_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "timewarp.maxFileSize", "1k"]);
    sandbox.write("x", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("x", vec![b'x'; 4096]);
    refused(&sandbox, &id, "x");
}

#[test]
fn an_unreadable_file_is_refused_unless_one_is_root() {
    let sandbox = Sandbox::new();
    sandbox.write("x", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("x", "now\n");
    sandbox.chmod("x", 0o000);
    if is_root() {
        sandbox.assert_round_trip(&id, |sandbox| {
            assert_eq!(sandbox.text("x"), "then\n");
        });
    } else {
        skipped(
            "root",
            "only root can read what nobody may; that it is refused is tried",
        );
        refused(&sandbox, &id, "x");
    }
}

#[test]
fn a_directory_that_came_after_the_backup_stops_the_swap_and_everything_is_undone() {
    let sandbox = Sandbox::new();
    sandbox.write("x", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("x", "now\n");
    sandbox.write("a.txt", "now\n");
    sandbox.write("b/new.txt", "now\n");
    let before = sandbox.state();
    let answer = with_stop(&sandbox, &["travel", &id], "swap-journal", || {
        sandbox.remove("x");
        sandbox.write("x/precious", "theirs\n");
    });
    assert_eq!(answer["ok"], false, "{answer}");
    assert_eq!(sandbox.text("x/precious"), "theirs\n");
    assert_eq!(sandbox.text("a.txt"), "now\n");
    assert_eq!(sandbox.text("b/new.txt"), "now\n");
    sandbox.remove("x");
    sandbox.write("x", "now\n");
    sandbox.ok(["-y", "recover"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn a_submodule_is_never_entered() {
    let sandbox = Sandbox::new();
    let other = sandbox.root().join("other");
    std::fs::create_dir(&other).unwrap();
    sandbox.git_in(&other, ["init", "-q", "-b", "main"]);
    std::fs::write(other.join("m"), "module\n").unwrap();
    sandbox.git_in(&other, ["add", "m"]);
    sandbox.git_in(&other, ["commit", "-q", "-m", "m"]);
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q"];
    let url = other.display().to_string();
    sandbox.git([&add[..], &[url.as_str(), "sub"]].concat());
    commit(&sandbox, "sub");
    let first = snapshot(&sandbox);
    sandbox.write("sub/m", "edited in the submodule\n");
    sandbox.git_in(sandbox.path("sub"), ["commit", "-q", "-am", "edited"]);
    sandbox.write("sub/untracked", "theirs\n");
    sandbox.git(["add", "sub"]);
    sandbox.write("a.txt", "now\n");
    sandbox.assert_round_trip(&first, |sandbox| {
        assert_eq!(sandbox.text("sub/m"), "edited in the submodule\n");
        assert_eq!(sandbox.text("sub/untracked"), "theirs\n");
        let recorded = sandbox.git(["ls-files", "-s", "sub"]);
        let then = sandbox.git(["rev-parse", "main:sub"]);
        assert!(
            recorded.contains(then.trim()),
            "the index is the snapshot's"
        );
    });
}

#[test]
fn a_repository_where_an_empty_directory_was_is_left_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.mkdir("n");
    let past = snapshot(&sandbox);
    sandbox.git(["init", "-q", "n"]);
    sandbox.chmod("n", 0o700);
    refused(&sandbox, &past, "n");
    assert_eq!(mode(&sandbox, "n") & 0o777, 0o700);
}

/// A glob of the user's, or of the one snapshot alone, hides tracked files as well.
#[test]
fn what_a_snapshot_names_as_left_out_stays() {
    for is_set in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write("secret.yml", "old\n");
        sandbox.git(["add", "secret.yml"]);
        sandbox.git(["commit", "-q", "-m", "with it"]);
        sandbox.write("secret.yml", "mine\n");
        let then = sandbox.git(["status", "--porcelain"]);
        let id = if is_set {
            sandbox.git(["config", "timewarp.exclude", "secret.yml"]);
            let id = snapshot(&sandbox);
            sandbox.git(["config", "--unset", "timewarp.exclude"]);
            id
        } else {
            let taken = sandbox.json(["snapshot", "--exclude", "secret.yml"]);
            taken["snapshot"]["snapshot_id"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let restored = sandbox.json(["restore", &id]);
        assert_eq!(
            restored["changes"]["removed"],
            serde_json::json!([]),
            "{restored}"
        );
        sandbox.write("a.txt", "now\n");
        sandbox.assert_round_trip(&id, |sandbox| {
            assert_eq!(sandbox.text("secret.yml"), "mine\n");
            assert_eq!(sandbox.git(["status", "--porcelain"]), then);
        });
        sandbox.json(["travel", &id]);
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["experiment_id"], serde_json::Value::Null);
    }
}
