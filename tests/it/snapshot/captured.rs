//! What a snapshot holds: every kind of file, edit and index state.

use std::fs::FileTimes;
use std::path::Path;

use serde_json::{Value, json};

use crate::facts::{commit, os, uncaptured};
use crate::sandbox::Sandbox;

#[test]
fn tracked_files_are_taken_though_ignored_and_untracked_ones_unless_ignored() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.o\nout/\n");
    sandbox.write("kept.o", "old");
    sandbox.write("out/kept", "old");
    sandbox.git(["add", "-f", ".gitignore", "kept.o", "out/kept"]);
    sandbox.write("kept.o", "new");
    sandbox.write("out/kept", "new");
    sandbox.write("left.o", "left");
    sandbox.write("out/left", "left");
    sandbox.write("new.txt", "new");
    let snapshot = sandbox.snap();
    assert_eq!(
        sandbox.paths(&snapshot),
        [".gitignore", "a.txt", "kept.o", "new.txt", "out/kept"]
    );
    assert_eq!(sandbox.blob(commit(&snapshot), "kept.o"), b"new");
    assert_eq!(sandbox.blob(commit(&snapshot), "out/kept"), b"new");
    assert_eq!(snapshot["uncaptured"], json!([]));
}

#[test]
fn ignored_paths_of_head_are_taken_after_their_removal_from_the_index() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/info/exclude", "a.txt\nsub/\n");
    sandbox.write("sub/deep/b.txt", "b\n");
    sandbox.git(["add", "-f", "sub"]);
    sandbox.git(["commit", "-q", "-m", "sub"]);
    sandbox.git(["rm", "-q", "--cached", "-r", "a.txt", "sub"]);
    sandbox.write("a.txt", "edited\n");
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt", "sub/deep/b.txt"]);
    assert_eq!(sandbox.blob(commit(&snapshot), "a.txt"), b"edited\n");
    assert!(sandbox.tree(&format!("{}^2", commit(&snapshot))).is_empty());
    // The fast way, too.
    sandbox.write("a.txt", "again\n");
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.blob(commit(&snapshot), "a.txt"), b"again\n");
}

#[test]
fn edits_behind_skip_worktree_and_assume_unchanged_are_seen() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "two\n");
    sandbox.git(["add", "b.txt"]);
    sandbox.git(["commit", "-q", "-m", "second"]);
    sandbox.git(["update-index", "--assume-unchanged", "a.txt"]);
    sandbox.git(["update-index", "--skip-worktree", "b.txt"]);
    for round in ["first", "other"] {
        sandbox.write("a.txt", round);
        sandbox.write("b.txt", round);
        assert_eq!(sandbox.git(["status", "--porcelain"]), "");
        let snapshot = sandbox.snap();
        assert_eq!(sandbox.blob(commit(&snapshot), "a.txt"), round.as_bytes());
        assert_eq!(sandbox.blob(commit(&snapshot), "b.txt"), round.as_bytes());
        assert_eq!(snapshot["index"]["assume_unchanged"], json!(["a.txt"]));
        assert_eq!(snapshot["index"]["skip_worktree"], json!(["b.txt"]));
    }
    // Deleted is deleted, whatever the flag says of assume-unchanged; a skip-worktree path stands for its entry.
    sandbox.remove("a.txt");
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["b.txt"]);
    sandbox.remove("b.txt");
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.blob(commit(&snapshot), "b.txt"), b"two\n");
    assert_eq!(snapshot["absent"], json!(["b.txt"]));
}

#[test]
fn an_edit_of_the_same_size_with_its_mtime_put_back_is_seen() {
    let sandbox = Sandbox::new();
    let old = FileTimes::new()
        .set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000));
    let age = || {
        std::fs::File::open(sandbox.path("a.txt"))
            .unwrap()
            .set_times(old)
            .unwrap();
    };
    age();
    sandbox.git(["update-index", "--refresh"]);
    sandbox.snap();
    sandbox.snap();
    for text in ["two\n", "six\n"] {
        sandbox.write("a.txt", text);
        age();
        let snapshot = sandbox.snap();
        assert_eq!(sandbox.blob(commit(&snapshot), "a.txt"), text.as_bytes());
    }
}

#[test]
fn edits_right_after_a_snapshot_are_seen() {
    let sandbox = Sandbox::new();
    for n in 0..30 {
        let text = format!("{n:03}\n");
        sandbox.write("a.txt", &text);
        let snapshot = sandbox.snap();
        assert_eq!(sandbox.blob(commit(&snapshot), "a.txt"), text.as_bytes());
    }
}

#[test]
fn a_racily_clean_index_entry_is_read() {
    let sandbox = Sandbox::new();
    for n in 0..10 {
        let sandbox = &sandbox;
        let name = format!("r{n}");
        sandbox.write(&name, "old\n");
        sandbox.git(["add", &name]);
        sandbox.write(&name, "new\n");
        let _ = std::fs::remove_file(sandbox.path(".git/timewarp/cache"));
        let snapshot = sandbox.snap();
        assert_eq!(sandbox.blob(commit(&snapshot), &name), b"new\n");
        assert_eq!(
            sandbox.blob(&format!("{}^2", commit(&snapshot)), &name),
            b"old\n"
        );
    }
}

#[test]
fn intent_to_add_is_recorded_and_its_file_taken() {
    let sandbox = Sandbox::new();
    sandbox.write("new.txt", "new\n");
    sandbox.write("run.sh", "#!/bin/sh\n");
    sandbox.chmod("run.sh", 0o755);
    sandbox.git(["add", "-N", "new.txt", "run.sh"]);
    let snapshot = sandbox.snap();
    assert_eq!(
        snapshot["index"]["intent_to_add"],
        json!(["new.txt", "run.sh"])
    );
    assert_eq!(sandbox.blob(commit(&snapshot), "new.txt"), b"new\n");
    assert_eq!(sandbox.tree(&format!("{}^2", commit(&snapshot))).len(), 1);
    sandbox.assert_round_trip("latest", |_| {});
}

#[test]
fn conflict_stages_are_kept_through_a_gc() {
    let sandbox = conflicted();
    let unmerged = sandbox.git(["ls-files", "-u"]);
    assert_eq!(unmerged.lines().count(), 3);
    let snapshot = sandbox.snap();
    assert_eq!(snapshot["index"]["conflicts"], json!(["a.txt"]));
    assert_eq!(snapshot["in_progress"], "merge");
    // The index tree has HEAD's entry there.
    assert_eq!(
        sandbox.blob(&format!("{}^2", commit(&snapshot)), "a.txt"),
        b"main\n"
    );
    sandbox.git(["merge", "--abort"]);
    sandbox.git(["branch", "-D", "other"]);
    sandbox.gc();
    sandbox.assert_sound();
    for line in unmerged.lines() {
        let oid = line.split_whitespace().nth(1).unwrap();
        sandbox.git(["cat-file", "-e", oid]);
    }
    let state = format!("{}^2^2", commit(&snapshot));
    assert_eq!(
        String::from_utf8(sandbox.blob(&state, "index/unmerged")).unwrap(),
        unmerged.replace('\n', "\0")
    );
}

fn conflicted() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("a.txt", "other\n");
    sandbox.git(["commit", "-q", "-am", "other"]);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("a.txt", "main\n");
    sandbox.git(["commit", "-q", "-am", "main"]);
    assert_eq!(sandbox.try_git(["merge", "-q", "other"]).code, 1);
    sandbox
}

#[test]
fn an_unborn_head_has_no_first_parent() {
    let sandbox = Sandbox::unborn();
    sandbox.write("new.txt", "new\n");
    let snapshot = sandbox.snap();
    assert_eq!(
        snapshot["head"],
        json!({"ref": "refs/heads/main", "oid": null, "detached": false, "unborn": true})
    );
    assert_eq!(sandbox.paths(&snapshot), ["new.txt"]);
    let parents = sandbox.git(["log", "-1", "--format=%P", commit(&snapshot)]);
    assert_eq!(parents.split_whitespace().count(), 1);
    sandbox.assert_sound();
}

#[test]
fn an_empty_repository_can_be_taken() {
    let sandbox = Sandbox::unborn();
    let snapshot = sandbox.snap();
    assert!(sandbox.paths(&snapshot).is_empty());
    sandbox.assert_sound();
    sandbox.gc();
    sandbox.assert_sound();
    sandbox.snap();
    sandbox.assert_sound();
}

#[test]
fn a_detached_head_is_recorded() {
    let sandbox = Sandbox::new();
    sandbox.git(["checkout", "-q", "--detach"]);
    let snapshot = sandbox.snap();
    let oid = sandbox.git(["rev-parse", "HEAD"]);
    assert_eq!(
        snapshot["head"],
        json!({"ref": null, "oid": oid.trim_end(), "detached": true, "unborn": false})
    );
}

#[test]
fn modes_symlinks_and_empty_directories_are_taken() {
    let sandbox = Sandbox::new();
    for n in 0..4 {
        sandbox.write(format!("plain{n}"), "x");
        sandbox.chmod(format!("plain{n}"), 0o644);
        sandbox.write(format!("run{n}"), "x");
        sandbox.chmod(format!("run{n}"), 0o755);
    }
    sandbox.chmod("a.txt", 0o644);
    sandbox.write("key", "x");
    sandbox.chmod("key", 0o400);
    sandbox.write("tool", "x");
    sandbox.chmod("tool", 0o700);
    sandbox.mkdir("empty/inner");
    sandbox.mkdir("shared/dir");
    sandbox.chmod("shared/dir", 0o2775);
    sandbox.symlink("nowhere/at all", "dangling");
    sandbox.symlink("empty", "to-dir");
    let snapshot = sandbox.snap();
    let tree = sandbox.tree(commit(&snapshot));
    let mode = |path: &str| tree[path.as_bytes()][..6].to_owned();
    assert_eq!(mode("tool"), "100755");
    assert_eq!(mode("key"), "100644");
    assert_eq!(mode("dangling"), "120000");
    assert_eq!(mode("to-dir"), "120000");
    assert_eq!(
        sandbox.blob(commit(&snapshot), "dangling"),
        b"nowhere/at all"
    );
    assert_eq!(
        snapshot["modes"],
        json!({"key": "0400", "tool": "0700", "shared/dir": "2775"})
    );
    assert_eq!(snapshot["empty_dirs"], json!(["empty/inner", "shared/dir"]));
}

#[test]
fn odd_names_are_taken_byte_for_byte() {
    let sandbox = Sandbox::new();
    let names: [&[u8]; 12] = [
        b"new\nline",
        b"tab\tname",
        b"quote\"d",
        b"it's",
        b"*",
        b"[a]?",
        b"-rf",
        b"--",
        b"\xff\xfe not utf8",
        b"back\\slash",
        " spaces ".as_bytes(),
        "\u{202e}rtl".as_bytes(),
    ];
    for name in names {
        sandbox.write(os(name), name);
        sandbox.write(Path::new("dir").join(os(name)).join("deep"), name);
    }
    let snapshot = sandbox.snap();
    let tree = sandbox.tree(commit(&snapshot));
    assert_eq!(tree.len(), 1 + 2 * names.len());
    for name in names {
        assert_eq!(sandbox.blob(commit(&snapshot), os(name)), name);
    }
    sandbox.assert_sound();
    for name in names {
        sandbox.remove(os(name));
    }
    sandbox.assert_round_trip("latest", |sandbox| {
        for name in names {
            assert_eq!(sandbox.read(os(name)), name);
        }
    });
}

#[test]
fn names_that_are_not_utf8_show_their_bytes() {
    let sandbox = Sandbox::new();
    sandbox.write(os(b"\xff.log"), "left out");
    sandbox.mkdir(os(b"\xfe"));
    let snapshot = sandbox.snap();
    let entry = &snapshot["uncaptured"][0];
    assert_eq!(entry["path"], "\u{fffd}.log");
    assert_eq!(entry["path_bytes"], "/y5sb2c=");
    let long = sandbox.json(["show", "latest"]);
    assert_eq!(long["snapshot"]["uncaptured"], snapshot["uncaptured"]);
}

#[test]
fn paths_longer_than_the_system_takes_at_once_are_captured() {
    let sandbox = Sandbox::new();
    let part = "d".repeat(200);
    let mut levels = 0;
    // A path of 5,000 bytes can only be made step by step.
    let mut at = std::fs::File::open(sandbox.repo()).unwrap();
    while levels < 25 {
        use rustix::fs::{Mode, OFlags, mkdirat, openat};
        mkdirat(&at, part.as_str(), Mode::from(0o755)).unwrap();
        at = openat(
            &at,
            part.as_str(),
            OFlags::RDONLY | OFlags::DIRECTORY,
            Mode::empty(),
        )
        .unwrap()
        .into();
        levels += 1;
    }
    let file = rustix::fs::openat(
        &at,
        "leaf",
        rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CREATE,
        rustix::fs::Mode::from(0o644),
    )
    .unwrap();
    rustix::io::write(&file, b"deep").unwrap();
    rustix::fs::symlinkat("leaf", &at, "ln").unwrap();
    let snapshot = sandbox.snap();
    let longest = sandbox
        .tree(commit(&snapshot))
        .into_keys()
        .max_by_key(Vec::len)
        .unwrap();
    assert_eq!(longest.len(), 25 * 201 + 4);
    assert_eq!(sandbox.blob(commit(&snapshot), os(&longest)), b"deep");
    rustix::io::write(&file, b"er").unwrap();
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.blob(commit(&snapshot), os(&longest)), b"deeper");
}

#[test]
fn zero_bytes_and_many_bytes_are_taken() {
    let sandbox = Sandbox::new();
    sandbox.write("empty", "");
    let large = std::fs::File::create(sandbox.path("sparse.img")).unwrap();
    large.set_len(200 << 20).unwrap();
    let first = sandbox.snap();
    assert_eq!(
        first["uncaptured"],
        json!([{"path": "sparse.img", "reason": "larger-than-limit", "bytes": 200 << 20}])
    );
    assert_eq!(sandbox.blob(commit(&first), "empty"), b"");
    sandbox.git(["config", "timewarp.maxFileSize", "1g"]);
    let second = sandbox.snap();
    assert_eq!(second["uncaptured"], json!([]));
    let size = sandbox.git(["cat-file", "-s", &format!("{}:sparse.img", commit(&second))]);
    assert_eq!(size.trim_end(), (200 << 20).to_string());
    assert!(second["stats"]["new_bytes"].as_u64().unwrap() < 4 << 20);
}

#[test]
fn a_tracked_file_over_the_limit_is_taken() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "timewarp.maxFileSize", "1k"]);
    sandbox.write("a.txt", "x".repeat(5000));
    sandbox.write("b.txt", "x".repeat(5000));
    sandbox.write("c.txt", "x".repeat(1024));
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt", "c.txt"]);
    assert_eq!(
        uncaptured(&snapshot),
        [("b.txt".to_owned(), "larger-than-limit".to_owned())]
    );
    sandbox.git(["add", "b.txt"]);
    assert_eq!(sandbox.paths(&sandbox.snap()), ["a.txt", "b.txt", "c.txt"]);
}

#[test]
fn a_file_mode_of_the_index_counts_where_the_file_system_has_none() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.fileMode", "false"]);
    let mode = |snapshot: &Value| sandbox.tree(commit(snapshot))[&b"a.txt"[..]][..6].to_owned();
    assert_eq!(mode(&sandbox.snap()), "100644");
    sandbox.git(["update-index", "--chmod=+x", "a.txt"]);
    assert_eq!(mode(&sandbox.snap()), "100755");
    sandbox.chmod("a.txt", 0o777);
    sandbox.git(["update-index", "--chmod=-x", "a.txt"]);
    assert_eq!(mode(&sandbox.snap()), "100644");
}

#[test]
fn of_a_path_in_conflict_the_mode_counts_that_git_would_add_it_with() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.fileMode", "false"]);
    let blob = sandbox.git(["hash-object", "-w", "a.txt"]);
    let blob = blob.trim();
    let (x, plain) = ("100755", "100644");
    for stages in [
        &[(1, plain), (2, x), (3, plain)][..],
        &[(1, x), (2, plain), (3, x)],
        &[(1, x), (3, plain)],
        &[(1, plain), (3, x)],
        &[(2, x), (3, plain)],
        &[(3, x)],
    ] {
        sandbox.git(["update-index", "--force-remove", "a.txt"]);
        let lines = stages.iter();
        let lines: String = lines
            .map(|(stage, mode)| format!("{mode} {blob} {stage}\ta.txt\n"))
            .collect();
        let mut command = sandbox.command("git");
        command.args(["update-index", "--index-info"]);
        let output = command.write_stdin(lines).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let snapshot = sandbox.snap();
        let seen = sandbox.tree(commit(&snapshot))[&b"a.txt"[..]][..6].to_owned();
        sandbox.git(["add", "a.txt"]);
        let added = sandbox.git(["ls-files", "--stage", "a.txt"]);
        assert_eq!(seen, added[..6], "{stages:?}");
    }
}

#[test]
fn ignore_rules_that_change_are_followed() {
    let sandbox = Sandbox::new();
    sandbox.write("x.tmp", "x");
    sandbox.write("sub/x.tmp", "x");
    let seen = || sandbox.paths(&sandbox.snap());
    assert_eq!(seen(), ["a.txt", "sub/x.tmp", "x.tmp"]);
    sandbox.write("sub/.gitignore", "*.tmp\n");
    assert_eq!(seen(), ["a.txt", "sub/.gitignore", "x.tmp"]);
    sandbox.write(".git/info/exclude", "*.tmp\n");
    assert_eq!(seen(), ["a.txt", "sub/.gitignore"]);
    sandbox.write(".git/info/exclude", "");
    sandbox.write("sub/.gitignore", "!*.tmp\n.gitignore\n");
    assert_eq!(seen(), ["a.txt", "sub/x.tmp", "x.tmp"]);
    sandbox.write("sub/.gitignore", "");
    assert_eq!(seen(), ["a.txt", "sub/.gitignore", "sub/x.tmp", "x.tmp"]);
    sandbox.remove("sub/.gitignore");
    let global = sandbox.home().join("ignore");
    std::fs::write(&global, "x.tmp\n").unwrap();
    sandbox.git(["config", "core.excludesFile", global.to_str().unwrap()]);
    assert_eq!(seen(), ["a.txt"]);
}

#[test]
fn files_directories_and_symlinks_that_change_places_are_followed() {
    let sandbox = Sandbox::new();
    sandbox.write("x/inner", "1");
    sandbox.write("y", "1");
    sandbox.snap();
    sandbox.remove("x");
    sandbox.write("x", "file");
    sandbox.remove("y");
    sandbox.write("y/inner", "2");
    assert_eq!(sandbox.paths(&sandbox.snap()), ["a.txt", "x", "y/inner"]);
    sandbox.remove("y");
    sandbox.symlink("x", "y");
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt", "x", "y"]);
    assert_eq!(sandbox.blob(commit(&snapshot), "y"), b"x");
    sandbox.remove("x");
    sandbox.remove("y");
    assert_eq!(sandbox.paths(&sandbox.snap()), ["a.txt"]);
}

#[test]
fn raw_bytes_are_taken_whatever_the_attributes_say() {
    let sandbox = Sandbox::new();
    let files: [(&str, &[u8]); 4] = [
        ("crlf.txt", b"a\r\nb\r\n"),
        ("ident.id", b"$Id$\n"),
        ("utf16.w", b"\xff\xfea\0\n\0"),
        ("up.f", b"upper\n"),
    ];
    sandbox.write(
        ".gitattributes",
        "*.txt text\n*.id ident\n*.w working-tree-encoding=UTF-16 -text\n*.f filter=up\n",
    );
    sandbox.git(["config", "core.autocrlf", "true"]);
    sandbox.git(["config", "filter.up.clean", "tr a-z A-Z"]);
    sandbox.git(["config", "filter.up.smudge", "tr A-Z a-z"]);
    for (name, bytes) in files {
        sandbox.write(name, bytes);
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "converted"]);
    for (name, _) in files {
        sandbox.remove(name);
    }
    sandbox.git(["checkout", "-q", "--", "."]);
    let on_disk: Vec<_> = files
        .iter()
        .map(|(name, _)| (name, sandbox.read(name)))
        .collect();
    assert_ne!(sandbox.read("ident.id"), b"$Id$\n", "ident expands");
    // An index that is older than what it vouches for may seed.
    std::thread::sleep(std::time::Duration::from_millis(30));
    sandbox.git(["update-index", "--force-write-index"]);
    let snapshot = sandbox.snap();
    for (name, bytes) in on_disk {
        assert_eq!(sandbox.blob(commit(&snapshot), name), bytes, "{name}");
    }
}

#[test]
fn a_tracked_file_that_a_directory_or_a_pipe_replaced_is_listed_or_followed() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "b\n");
    sandbox.git(["add", "b.txt"]);
    sandbox.snap();
    sandbox.remove("a.txt");
    sandbox.write("a.txt/inner", "x");
    sandbox.remove("b.txt");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        sandbox.path("b.txt"),
        rustix::fs::Mode::from(0o644),
    )
    .unwrap();
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt/inner"]);
    assert_eq!(
        uncaptured(&snapshot),
        [("b.txt".to_owned(), "pipe".to_owned())]
    );
}

#[test]
fn large_tracked_files_under_a_filter_stand_for_their_index_blob_while_clean() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "filter.up.clean", "tr a-z A-Z"]);
    sandbox.git(["config", "filter.up.smudge", "tr A-Z a-z"]);
    sandbox.git(["config", "timewarp.maxFileSize", "1k"]);
    sandbox.write(".gitattributes", "*.big filter=up\n");
    sandbox.write("x.big", "x".repeat(4000));
    sandbox.write("small.big", "x".repeat(40));
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "big"]);
    std::thread::sleep(std::time::Duration::from_millis(50));
    sandbox.git(["update-index", "--force-write-index"]);
    let snapshot = sandbox.snap();
    assert_eq!(
        snapshot["uncaptured"],
        json!([{"path": "x.big", "reason": "filtered-clean", "bytes": 4000}])
    );
    assert_eq!(
        sandbox.blob(commit(&snapshot), "x.big"),
        "X".repeat(4000).as_bytes()
    );
    assert_eq!(
        sandbox.blob(commit(&snapshot), "small.big"),
        "x".repeat(40).as_bytes()
    );
    sandbox.write("x.big", "y".repeat(4000));
    let snapshot = sandbox.snap();
    assert_eq!(snapshot["uncaptured"], json!([]));
    assert_eq!(
        sandbox.blob(commit(&snapshot), "x.big"),
        "y".repeat(4000).as_bytes()
    );
}

#[test]
fn a_tracked_file_below_a_symlink_that_took_its_directory_s_place_is_gone() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/b.txt", "b\n");
    sandbox.git(["add", "dir"]);
    sandbox.git(["commit", "-q", "-m", "dir"]);
    sandbox.snap();
    let outside = sandbox.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("b.txt"), "outside\n").unwrap();
    sandbox.remove("dir");
    sandbox.symlink(&outside, "dir");
    let snapshot = sandbox.snap();
    let tree = sandbox.tree(commit(&snapshot));
    assert_eq!(tree.len(), 2);
    assert!(tree[&b"dir"[..]].starts_with("120000"), "{tree:?}");
}
