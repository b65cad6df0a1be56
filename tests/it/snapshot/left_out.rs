//! What a snapshot leaves out, and that it says so.

use serde_json::json;

use crate::facts::{commit, uncaptured};
use crate::sandbox::{Sandbox, is_root, skipped};

#[test]
fn default_globs_leave_untracked_files_out_and_say_so() {
    let sandbox = Sandbox::new();
    let dirs = [
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        "dist",
        "build",
        ".next",
        "target",
        ".cache",
        ".gradle",
    ];
    for dir in dirs {
        sandbox.write(format!("{dir}/x"), "x");
        sandbox.write(format!("sub/{dir}/deep/x"), "x");
    }
    for file in ["x.log", "x.pid", "sub/x.sock", ".DS_Store"] {
        sandbox.write(file, "x");
    }
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt"]);
    let mut expected: Vec<String> = dirs.iter().map(|dir| (*dir).to_owned()).collect();
    expected.extend(dirs.iter().map(|dir| format!("sub/{dir}")));
    expected.extend(["x.log", "x.pid", "sub/x.sock", ".DS_Store"].map(str::to_owned));
    expected.sort();
    let expected: Vec<_> = expected
        .into_iter()
        .map(|path| (path, "default-exclude".to_owned()))
        .collect();
    assert_eq!(uncaptured(&snapshot), expected);
}

#[test]
fn default_globs_never_hide_tracked_files() {
    let sandbox = Sandbox::new();
    sandbox.write("build/tracked", "old");
    sandbox.write("server.log", "old");
    sandbox.git(["add", "-f", "."]);
    sandbox.write("build/tracked", "new");
    sandbox.write("build/other", "new");
    sandbox.write("server.log", "new");
    let snapshot = sandbox.snap();
    assert_eq!(
        sandbox.paths(&snapshot),
        ["a.txt", "build/tracked", "server.log"]
    );
    assert_eq!(sandbox.blob(commit(&snapshot), "build/tracked"), b"new");
    assert_eq!(
        uncaptured(&snapshot),
        [("build/other".to_owned(), "default-exclude".to_owned())]
    );
}

#[test]
fn default_globs_can_be_turned_off() {
    let sandbox = Sandbox::new();
    sandbox.write("build/x", "x");
    sandbox.git(["config", "timewarp.defaultExcludes", "false"]);
    assert_eq!(sandbox.paths(&sandbox.snap()), ["a.txt", "build/x"]);
}

#[test]
fn the_user_s_globs_leave_out_and_bring_in() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", ".env*\n*.db\n");
    sandbox.write(".env.local", "x");
    sandbox.write("data/local.db", "x");
    sandbox.write("data/other.db", "x");
    sandbox.write("tmp/x", "x");
    sandbox.write("node_modules/mine/x", "x");
    sandbox.write("node_modules/other/x", "x");
    for (key, value) in [
        ("timewarp.exclude", "tmp/"),
        ("timewarp.exclude", "a.txt"),
        ("timewarp.include", ".env.local"),
        ("timewarp.include", "data/local.db"),
        ("timewarp.include", "node_modules/mine/"),
    ] {
        sandbox.git(["config", "--add", key, value]);
    }
    let snapshot = sandbox.snap();
    assert_eq!(
        sandbox.paths(&snapshot),
        [
            ".env.local",
            ".gitignore",
            "data/local.db",
            "node_modules/mine/x"
        ]
    );
    assert_eq!(
        uncaptured(&snapshot),
        [
            ("a.txt", "exclude"),
            ("node_modules/other", "default-exclude"),
            ("tmp", "exclude")
        ]
        .map(|(path, reason)| (path.to_owned(), reason.to_owned()))
    );
    assert!(
        snapshot["exclude_globs"]
            .as_array()
            .unwrap()
            .contains(&json!("tmp/"))
    );
}

#[test]
fn flags_leave_out_and_bring_in_for_one_snapshot() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.db\n");
    sandbox.write("x.db", "x");
    sandbox.write("y.txt", "y");
    sandbox.snap();
    let snapshot = sandbox.snap_with(["--include", "x.db", "--exclude", "y.txt"]);
    assert_eq!(sandbox.paths(&snapshot), [".gitignore", "a.txt", "x.db"]);
    assert_eq!(
        sandbox.paths(&sandbox.snap()),
        [".gitignore", "a.txt", "y.txt"]
    );
}

#[test]
fn the_team_s_file_counts_only_where_it_is_harmless() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".timewarp/config.toml",
        "exclude = ['big/', 'a.txt', '*', '**']\ninclude = ['*.db', '.env', '*']\nmax_file_size = 1\ndefault_excludes = false\n",
    );
    sandbox.write(".gitignore", "*.db\n.env*\n*.pem\n");
    sandbox.write("big/x", "x");
    sandbox.write("y.db", "y");
    sandbox.write(".env", "s");
    sandbox.write(".env.local", "s");
    sandbox.write("key.pem", "s");
    sandbox.write("plain", "x");
    let document = sandbox.json(["snapshot"]);
    let snapshot = &document["snapshot"];
    assert_eq!(
        sandbox.paths(snapshot),
        [".gitignore", "a.txt", "plain", "y.db"]
    );
    assert_eq!(
        uncaptured(snapshot),
        [("big".to_owned(), "team-exclude".to_owned())]
    );
    let notices = document["notices"].to_string();
    for key in ["max_file_size", "default_excludes", ".env"] {
        assert!(notices.contains(key), "{key}: {notices}");
    }
    let again = sandbox.json(["snapshot"]);
    assert_eq!(again["notices"], json!([]), "said once");
}

#[test]
fn the_desk_is_never_taken_but_a_tracked_config() {
    let sandbox = Sandbox::new();
    sandbox.write(".timewarp/config.toml", "keep_days = 20\n");
    sandbox.write(".timewarp/issues/i/issue.json", "{}");
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt"]);
    assert_eq!(snapshot["uncaptured"], json!([]));
    sandbox.git(["add", "-f", ".timewarp"]);
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), [".timewarp/config.toml", "a.txt"]);
}

#[test]
fn nested_repositories_are_listed_with_their_head() {
    let sandbox = Sandbox::new();
    sandbox.mkdir("vendor/lib");
    sandbox.git_in(sandbox.path("vendor/lib"), ["init", "-q"]);
    sandbox.write("vendor/lib/x", "x");
    sandbox.write("vendor/own", "own");
    sandbox.git_in(sandbox.path("vendor/lib"), ["add", "x"]);
    sandbox.git_in(sandbox.path("vendor/lib"), ["commit", "-q", "-m", "x"]);
    let head = sandbox.git_in(sandbox.path("vendor/lib"), ["rev-parse", "HEAD"]);
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt", "vendor/own"]);
    assert_eq!(
        snapshot["uncaptured"],
        json!([{"path": "vendor/lib", "reason": "nested-repository", "head": head.trim_end()}])
    );
    // One that comes into being in a directory known as plain.
    sandbox.mkdir("late");
    sandbox.write("late/x", "x");
    assert_eq!(
        sandbox.paths(&sandbox.snap()),
        ["a.txt", "late/x", "vendor/own"]
    );
    sandbox.git_in(sandbox.path("late"), ["init", "-q"]);
    assert_eq!(sandbox.paths(&sandbox.snap()), ["a.txt", "vendor/own"]);
    std::fs::remove_dir_all(sandbox.path("late/.git")).unwrap();
    assert_eq!(
        sandbox.paths(&sandbox.snap()),
        ["a.txt", "late/x", "vendor/own"]
    );
}

#[test]
fn submodules_are_gitlinks_and_listed() {
    let sandbox = Sandbox::new();
    let other = sandbox.root().join("other");
    sandbox.git(["clone", "-q", ".", other.to_str().unwrap()]);
    sandbox.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        other.to_str().unwrap(),
        "sub",
    ]);
    sandbox.git(["commit", "-q", "-m", "sub"]);
    let head = sandbox.git(["rev-parse", "HEAD:sub"]);
    sandbox.write("sub/edited", "x");
    let snapshot = sandbox.snap();
    let tree = sandbox.tree(commit(&snapshot));
    assert_eq!(tree[&b"sub"[..]], format!("160000 {}", head.trim_end()));
    assert_eq!(
        snapshot["uncaptured"],
        json!([{"path": "sub", "reason": "submodule", "head": head.trim_end()}])
    );
    sandbox.assert_sound();
}

#[test]
fn sockets_and_pipes_are_listed() {
    let sandbox = Sandbox::new();
    let _socket = std::os::unix::net::UnixListener::bind(sandbox.path("s")).unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        sandbox.path("p"),
        rustix::fs::Mode::from(0o644),
    )
    .unwrap();
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt"]);
    assert_eq!(
        uncaptured(&snapshot),
        [("p", "pipe"), ("s", "socket")].map(|(path, reason)| (path.to_owned(), reason.to_owned()))
    );
}

#[test]
fn unreadable_files_and_directories_are_listed() {
    if is_root() {
        skipped("an ordinary user", "root can read everything");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("locked", "x");
    sandbox.chmod("locked", 0);
    sandbox.write("dir/x", "x");
    sandbox.chmod("dir", 0);
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt"]);
    assert_eq!(
        uncaptured(&snapshot),
        [("dir", "unreadable"), ("locked", "unreadable")]
            .map(|(path, reason)| (path.to_owned(), reason.to_owned()))
    );
    let again = sandbox.json(["snapshot", "--if-changed"]);
    assert_eq!(again["fresh"], false, "{again}");
    sandbox.chmod("dir", 0o755);
    sandbox.chmod("locked", 0o644);
    assert_eq!(sandbox.paths(&sandbox.snap()), ["a.txt", "dir/x", "locked"]);
    let id = snapshot["snapshot_id"].as_str().unwrap();
    sandbox.assert_round_trip(id, |sandbox| {
        assert_eq!(sandbox.read("locked"), b"x");
        assert_eq!(sandbox.read("dir/x"), b"x");
    });
    let restored = sandbox.json(["restore", id]);
    assert_eq!(restored["changes"]["removed"], json!([]));
    // A directory that was known is taken away from us: whole, for reading, for looking behind its names.
    for mode in [0, 0o300, 0o600] {
        sandbox.chmod("dir", mode);
        let snapshot = sandbox.snap();
        assert_eq!(sandbox.paths(&snapshot), ["a.txt", "locked"], "{mode:o}");
        assert_eq!(
            uncaptured(&snapshot),
            [("dir".to_owned(), "unreadable".to_owned())]
        );
        let _ = std::fs::remove_file(sandbox.path(".git/timewarp/cache"));
        assert_eq!(sandbox.snap()["tree"], snapshot["tree"], "{mode:o}");
        sandbox.chmod("dir", 0o755);
        sandbox.snap();
    }
    assert_eq!(sandbox.paths(&sandbox.snap()), ["a.txt", "dir/x", "locked"]);
}

#[test]
fn names_that_git_refuses_are_listed() {
    let sandbox = Sandbox::new();
    for name in ["git~1", ".GIT", "sub/.git ", "sub/.Git", "back\\.git"] {
        sandbox.write(format!("{name}/x"), "x");
    }
    sandbox.write("sub/GIT~1", "x");
    sandbox.symlink("a.txt", ".gitmodules");
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt"]);
    let mut expected = [
        ".GIT",
        ".gitmodules",
        "back\\.git",
        "git~1",
        "sub/.Git",
        "sub/.git ",
        "sub/GIT~1",
    ]
    .map(|path| (path.to_owned(), "unsafe-name".to_owned()));
    expected.sort();
    assert_eq!(uncaptured(&snapshot), expected);
    sandbox.assert_sound();
}

#[test]
fn an_unreadable_submodule_or_tracked_file_hides_nothing_else() {
    if is_root() {
        skipped("an ordinary user", "root can read everything");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("dir/b.txt", "b\n");
    sandbox.git(["add", "dir"]);
    sandbox.snap();
    sandbox.chmod("a.txt", 0);
    sandbox.write("new.txt", "new\n");
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["dir/b.txt", "new.txt"]);
    assert_eq!(
        uncaptured(&snapshot),
        [("a.txt".to_owned(), "unreadable".to_owned())]
    );
    // What the index has of it is in the snapshot still.
    assert_eq!(
        sandbox.blob(&format!("{}^2", commit(&snapshot)), "a.txt"),
        b"one\n"
    );
}

#[test]
fn a_directory_with_only_what_is_left_out_is_listed_as_empty() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.o\nignored/\n");
    sandbox.write("objects/x.o", "x");
    sandbox.write("ignored/deep/x", "x");
    sandbox.write("logs/x.log", "x");
    let snapshot = sandbox.snap();
    assert_eq!(snapshot["empty_dirs"], json!(["logs", "objects"]));
    sandbox.assert_round_trip("latest", |_| {});
}

#[test]
fn a_huge_sparse_file_that_is_left_out_costs_nothing() {
    let sandbox = Sandbox::new();
    let file = std::fs::File::create(sandbox.path("disk.img")).unwrap();
    file.set_len(5 << 30).unwrap();
    let snapshot = sandbox.snap();
    assert_eq!(
        snapshot["uncaptured"],
        json!([{"path": "disk.img", "reason": "larger-than-limit", "bytes": 5_368_709_120_u64}])
    );
}

#[test]
fn an_include_reaches_into_left_out_directories_that_it_names() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "/data/\n");
    sandbox.write("data/db/local.sqlite", "x");
    sandbox.write("data/db/other", "x");
    sandbox.write("data/huge", "x");
    let snapshot = sandbox.snap_with(["--include", "/data/db/*.sqlite"]);
    assert_eq!(
        sandbox.paths(&snapshot),
        [".gitignore", "a.txt", "data/db/local.sqlite"]
    );
}

#[test]
fn a_case_variant_of_the_desk_is_no_desk() {
    let sandbox = Sandbox::new();
    sandbox.write("sub/.timewarp/x", "x");
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt", "sub/.timewarp/x"]);
}

#[test]
fn a_desk_that_is_a_symlink_is_not_followed() {
    let sandbox = Sandbox::new();
    let outside = sandbox.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("config.toml"), "exclude = ['b.txt']\n").unwrap();
    sandbox.symlink(&outside, ".timewarp");
    sandbox.write("b.txt", "b\n");
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt", "b.txt"]);
}

/// What a snapshot left out is not missing from it, whatever the settings say by now.
#[test]
fn what_a_snapshot_left_out_stays_on_the_way_to_it() {
    let cases: [(&str, &[&str], &[&str]); 5] = [
        ("u.dat", &["snapshot", "--exclude", "u.dat"], &[]),
        ("u.dat", &["snapshot", "--exclude", "*.dat"], &[]),
        (
            "u.dat",
            &["-c", "timewarp.exclude=*.dat"],
            &["--unset-all", "timewarp.exclude"],
        ),
        (
            "node_modules/x",
            &["snapshot"],
            &["timewarp.defaultExcludes", "false"],
        ),
        (
            "build/x",
            &["snapshot"],
            &["timewarp.defaultExcludes", "false"],
        ),
    ];
    for (path, taken, then) in cases {
        let sandbox = Sandbox::new();
        sandbox.write(path, vec![b'x'; 3000]);
        if let ["-c", setting] = taken {
            let (name, value) = setting.split_once('=').unwrap();
            sandbox.git(["config", name, value]);
            sandbox.json(["snapshot"]);
        } else {
            sandbox.json(taken);
        }
        sandbox.write("a.txt", "later\n");
        if !then.is_empty() {
            sandbox.git(["config"].iter().chain(then));
        }
        let before = sandbox.state();
        let restored = sandbox.json(["restore", "latest"]);
        assert_eq!(
            restored["changes"]["removed"],
            json!([]),
            "{taken:?} {then:?}"
        );
        assert!(sandbox.exists(path), "{taken:?} {then:?}");
        sandbox.json(["undo"]);
        // Nothing is made by leaving it there.
        sandbox.json(["travel", "latest"]);
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["experiment_id"], json!(null), "{taken:?} {then:?}");
        before.assert_same(&sandbox.state());
        let travelled = sandbox.json(["travel", "latest"]);
        assert_eq!(
            travelled["changes"]["removed"],
            json!([]),
            "{taken:?} {then:?}"
        );
        sandbox.write("made", "in the past\n");
        sandbox.json(["return"]);
        before.assert_same(&sandbox.state());
    }
}

/// What a snapshot had as something else, or over the limit, was not there as what it is now.
#[test]
fn what_has_another_kind_or_size_by_now_goes_on_the_way() {
    let sandbox = Sandbox::new();
    sandbox.write("node_modules/x", "1\n");
    sandbox.write("big", vec![b'x'; 3000]);
    sandbox.git(["config", "timewarp.maxFileSize", "1k"]);
    let then = sandbox.snap();
    let id = then["snapshot_id"].as_str().unwrap();
    sandbox.remove("node_modules");
    sandbox.symlink("a.txt", "node_modules");
    sandbox.git(["add", "big"]);
    sandbox.git(["commit", "-qm", "tracked"]);
    let present = sandbox.state();
    let travelled = sandbox.json(["travel", id]);
    assert_eq!(
        travelled["changes"]["removed"],
        json!(["big", "node_modules"])
    );
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["experiment_id"], json!(null), "{returned}");
    present.assert_same(&sandbox.state());
}

/// A trip in which nothing is done leaves no experiment, whichever rule names what the present left out.
#[test]
fn what_the_present_left_out_is_nothing_that_was_made() {
    for (name, rule) in [
        ("node_modules/m", "node_modules/"),
        ("run.log", "*.log"),
        ("target/m", "target"),
        ("nested/.git/HEAD", "nested/"),
    ] {
        let sandbox = Sandbox::new();
        let id = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"].clone();
        if name.starts_with("nested") {
            sandbox.git(["init", "-q", "--template=", "nested"]);
        } else {
            sandbox.write(name, "1\n");
        }
        sandbox.write(".gitignore", format!("{rule}\n"));
        sandbox.json(["travel", id.as_str().unwrap()]);
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["experiment_id"], json!(null), "{name}: {returned}");
    }
}

/// Tracked or not: it was there, and was not looked at.
#[test]
fn what_the_user_s_own_globs_left_out_then_stays_on_the_way() {
    for by_config in [false, true] {
        let sandbox = Sandbox::new();
        for path in ["secret.yml", "secrets/a"] {
            sandbox.write(path, "old\n");
        }
        sandbox.git(["add", "."]);
        sandbox.git(["commit", "-qm", "secrets"]);
        for path in ["secret.yml", "secrets/a", "secrets/untracked"] {
            sandbox.write(path, "mine\n");
        }
        sandbox.write("gone", "1\n");
        sandbox.git(["add", "gone"]);
        sandbox.git(["commit", "-qm", "gone"]);
        sandbox.remove("gone");
        let taken = if by_config {
            sandbox.git(["config", "--add", "timewarp.exclude", "secret.yml"]);
            sandbox.git(["config", "--add", "timewarp.exclude", "secrets/"]);
            let taken = sandbox.snap();
            sandbox.git(["config", "--unset-all", "timewarp.exclude"]);
            taken
        } else {
            let args = [
                "snapshot",
                "--exclude",
                "secret.yml",
                "--exclude",
                "secrets/",
            ];
            sandbox.json(args)["snapshot"].clone()
        };
        let id = taken["snapshot_id"].as_str().unwrap();
        // Deleted then: it goes.
        sandbox.git(["checkout", "-q", "gone"]);
        let present = sandbox.state();
        let travelled = sandbox.json(["travel", id]);
        assert_eq!(
            travelled["changes"]["removed"],
            json!(["gone"]),
            "{by_config}"
        );
        assert_eq!(sandbox.text("secrets/a"), "mine\n");
        let status = sandbox.git(["status", "--short"]);
        assert!(status.contains(" M secret.yml"), "{status}");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["experiment_id"], json!(null), "{returned}");
        present.assert_same(&sandbox.state());
        let restored = sandbox.json(["restore", id]);
        assert_eq!(
            restored["changes"]["removed"],
            json!(["gone"]),
            "{by_config}"
        );
    }
}
