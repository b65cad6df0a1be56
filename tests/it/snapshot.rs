//! What a snapshot takes, what it leaves out, and how it is stored.

use std::fs::FileTimes;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::facts::{commit, id, os, uncaptured};
use crate::sandbox::{Sandbox, is_root, skipped};

// --- the commit ---

#[test]
fn the_commit_has_a_fixed_identity_and_time_and_no_signature() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "commit.gpgSign", "true"]);
    let snapshot = sandbox.snap();
    let raw = sandbox.git(["cat-file", "commit", commit(&snapshot)]);
    let header: Vec<&str> = raw.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(header.len(), 5, "{raw}");
    assert!(
        header[3].starts_with("author timewarp <timewarp@localhost> 17722"),
        "{raw}"
    );
    assert_eq!(header[4], "committer timewarp <timewarp@localhost> 1 +0000");
    let author = sandbox.git(["log", "-1", "--format=%at %ct", commit(&snapshot)]);
    let created = sandbox.git([
        "log",
        "-1",
        "--format=%ad",
        "--date=format:%Y-%m-%dT%H:%M:%SZ",
        commit(&snapshot),
    ]);
    assert!(author.trim_end().ends_with(" 1"), "{author}");
    assert_eq!(created.trim_end(), snapshot["created_at"].as_str().unwrap());
}

#[test]
fn the_ref_is_the_id_and_points_to_the_commit() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snap();
    let name = format!("refs/timewarp/snapshots/{}", id(&snapshot));
    assert_eq!(
        sandbox.git(["rev-parse", &name]).trim_end(),
        commit(&snapshot)
    );
    assert_eq!(sandbox.git(["cat-file", "-t", &name]), "commit\n");
    let refs = sandbox.git(["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, format!("refs/heads/main\n{name}\n"));
}

#[test]
fn the_first_parent_is_head_and_the_second_is_the_index() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("a.txt", "edited\n");
    let snapshot = sandbox.snap();
    let commit = commit(&snapshot);
    let parents = sandbox.git(["log", "-1", "--format=%P", commit]);
    assert_eq!(parents.split_whitespace().count(), 2, "{parents}");
    let head = sandbox.git(["rev-parse", "HEAD"]);
    assert_eq!(sandbox.git(["rev-parse", &format!("{commit}^1")]), head);
    assert_eq!(sandbox.git(["rev-parse", &format!("{commit}^2^@")]), head);
    assert_eq!(
        sandbox.git(["rev-parse", &format!("{commit}^2^{{tree}}")]),
        sandbox.git(["write-tree"])
    );
    assert_eq!(sandbox.blob(commit, "a.txt"), b"edited\n");
    assert_eq!(sandbox.blob(&format!("{commit}^2"), "a.txt"), b"staged\n");
}

#[test]
fn the_message_is_a_title_and_one_json_document_with_the_agreed_fields() {
    let sandbox = Sandbox::new();
    sandbox.write("secret.key", "k");
    sandbox.chmod("secret.key", 0o600);
    sandbox.mkdir("logs");
    let snapshot = sandbox.snap_with([
        "-m",
        "before it",
        "--agent",
        "claude",
        "--session",
        "abc",
        "--label",
        "start",
    ]);
    let message = sandbox.git(["log", "-1", "--format=%B", commit(&snapshot)]);
    let (title, body) = message.split_once("\n\n").unwrap();
    assert_eq!(title, "snapshot: before it");
    let document: Value = serde_json::from_str(body).unwrap();
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let expected = json!({
        "version": 1, "snapshot_id": id(&snapshot), "kind": "snapshot",
        "created_at": document["created_at"], "session_id": "abc", "agent": "claude", "worktree": "main",
        "workspace_root": sandbox.repo(), "trigger": "manual", "label": "start", "initial_task_hint": null,
        "exclude_globs": document["exclude_globs"], "env_fingerprint": document["env_fingerprint"],
        "head": {"ref": "refs/heads/main", "oid": head.trim_end(), "detached": false, "unborn": false},
        "in_progress": null,
        "index": {"conflicts": [], "intent_to_add": [], "skip_worktree": [], "assume_unchanged": []},
        "seq": 1, "repository_id": document["repository_id"], "taken_in": "present",
        "modes": {"secret.key": "0600"}, "empty_dirs": ["logs"],
        "stats": {"files": 2, "bytes": 5, "new_objects": document["stats"]["new_objects"],
                  "new_bytes": document["stats"]["new_bytes"]},
        "uncaptured": [],
        "default_modes": document["default_modes"],
    });
    assert_eq!(document, expected);
    let globs = document["exclude_globs"].as_array().unwrap();
    for glob in [
        "node_modules/",
        ".venv/",
        "venv/",
        "__pycache__/",
        "dist/",
        "build/",
        ".next/",
        "target/",
        ".cache/",
        ".gradle/",
        "*.log",
        "*.pid",
        "*.sock",
        ".DS_Store",
    ] {
        assert!(globs.contains(&json!(glob)), "{glob}");
    }
    let fingerprint = document["env_fingerprint"].as_object().unwrap();
    for tool in ["platform", "git", "node", "python", "go", "rustc"] {
        assert!(fingerprint.contains_key(tool), "{tool}");
    }
    let git = sandbox.git(["version"]);
    assert!(git.contains(fingerprint["git"].as_str().unwrap()), "{git}");
}

#[test]
fn a_title_of_several_lines_stays_one_line() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snap_with(["-m", "one\n\ntwo\n{\"version\": 9}"]);
    let shown = sandbox.json(["show", id(&snapshot)]);
    assert_eq!(shown["snapshot"]["version"], 1);
    let message = sandbox.git(["log", "-1", "--format=%s", commit(&snapshot)]);
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn no_user_name_is_needed() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "user.useConfigOnly", "true"]);
    sandbox.snap();
    sandbox.assert_sound();
}

#[test]
fn a_long_list_goes_whole_into_the_state_commit() {
    let sandbox = Sandbox::new();
    for n in 0..150 {
        sandbox.mkdir(format!("empty/{n:03}"));
        sandbox.write(format!("p/{n:03}"), "x");
        sandbox.chmod(format!("p/{n:03}"), if n < 90 { 0o644 } else { 0o600 });
        sandbox.write(format!("m/{n:03}.log"), "x");
    }
    sandbox.write("m/kept", "x");
    for n in 0..60 {
        sandbox.chmod(format!("empty/{n:03}"), 0o700);
    }
    let snapshot = sandbox.snap();
    assert_eq!(snapshot["empty_dirs"].as_array().unwrap().len(), 100);
    assert_eq!(snapshot["empty_dirs_count"], 150);
    assert_eq!(snapshot["uncaptured"].as_array().unwrap().len(), 100);
    assert_eq!(snapshot["uncaptured_count"], 150);
    assert_eq!(snapshot["modes"].as_object().unwrap().len(), 100);
    assert_eq!(snapshot["modes_count"], 120);
    let state = format!("{}^2^2", commit(&snapshot));
    let blob = sandbox.blob(&state, "lists/empty_dirs");
    let dirs: Vec<&[u8]> = blob
        .split(|&byte| byte == 0)
        .filter(|dir| !dir.is_empty())
        .collect();
    assert_eq!(dirs.len(), 150);
    assert_eq!(dirs[149], b"empty/149");
    let whole = sandbox.json(["show", id(&snapshot)])["snapshot"].clone();
    assert_eq!(whole["empty_dirs"].as_array().unwrap().len(), 150);
    assert_eq!(whole["uncaptured"].as_array().unwrap().len(), 150);
    assert_eq!(whole["modes"].as_object().unwrap().len(), 120);
    assert!(whole.get("empty_dirs_count").is_none() || whole["empty_dirs_count"] == 150);
    sandbox.gc();
    assert_eq!(sandbox.json(["show", id(&snapshot)])["snapshot"], whole);
    sandbox.assert_sound();
}

// --- nothing but what is needed is written ---

#[test]
fn an_unchanged_tree_costs_one_commit_and_one_ref() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/b.txt", "two\n");
    sandbox.git(["add", "dir"]);
    sandbox.write("dir/b.txt", "three\n");
    sandbox.snap();
    let before = sandbox.objects();
    let refs = sandbox.git(["for-each-ref"]).lines().count();
    let snapshot = sandbox.snap();
    let after = sandbox.objects();
    let new: Vec<_> = after
        .iter()
        .filter(|object| !before.contains(object))
        .collect();
    assert_eq!(new, [&format!("{} commit", commit(&snapshot))]);
    assert_eq!(sandbox.git(["for-each-ref"]).lines().count(), refs + 1);
}

#[test]
fn if_changed_writes_nothing_when_nothing_changed() {
    let sandbox = Sandbox::new();
    sandbox.write("new.txt", "new\n");
    let first = sandbox.snap();
    let before = (sandbox.objects(), sandbox.git(["for-each-ref"]));
    let again = sandbox.json(["snapshot", "--if-changed"]);
    assert_eq!(again["fresh"], false);
    assert_eq!(id(&again["snapshot"]), id(&first));
    assert_eq!((sandbox.objects(), sandbox.git(["for-each-ref"])), before);
}

#[test]
fn if_changed_sees_files_index_head_modes_and_empty_directories() {
    let sandbox = Sandbox::new();
    sandbox.snap();
    let changes: [(&str, &dyn Fn()); 7] = [
        ("a file", &|| sandbox.write("a.txt", "two\n")),
        ("the index", &|| drop(sandbox.git(["add", "a.txt"]))),
        ("a flag", &|| {
            sandbox.git(["update-index", "--assume-unchanged", "a.txt"]);
        }),
        ("a mode", &|| sandbox.chmod("a.txt", 0o600)),
        ("a directory", &|| sandbox.mkdir("empty")),
        ("the branch", &|| {
            sandbox.git(["symbolic-ref", "HEAD", "refs/heads/other"]);
        }),
        ("a merge", &|| {
            let head = sandbox.git(["rev-parse", "main"]);
            std::fs::write(sandbox.path(".git/MERGE_HEAD"), head).unwrap();
        }),
    ];
    for (name, change) in changes {
        change();
        assert_eq!(
            sandbox.json(["snapshot", "--if-changed"])["fresh"],
            true,
            "{name}"
        );
        assert_eq!(
            sandbox.json(["snapshot", "--if-changed"])["fresh"],
            false,
            "{name}"
        );
    }
}

#[test]
fn what_belongs_to_the_user_is_not_touched() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "stashed\n");
    sandbox.git(["stash", "-q"]);
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    // An index whose stat data is stale would be refreshed by most of git's own commands.
    std::fs::File::open(sandbox.path("a.txt"))
        .unwrap()
        .set_times(FileTimes::new().set_modified(std::time::UNIX_EPOCH))
        .unwrap();
    sandbox.git(["update-ref", "--create-reflog", "refs/heads/other", "HEAD"]);
    let files = [
        "index",
        "HEAD",
        "config",
        "logs/HEAD",
        "logs/refs/heads/main",
        "logs/refs/stash",
        "refs/heads/main",
        "refs/stash",
        "info/exclude",
        "description",
    ];
    let read = || {
        files.map(|name| {
            let path = sandbox.path(".git").join(name);
            (
                name,
                std::fs::read(&path).ok(),
                path.metadata().ok().map(|meta| meta.modified().unwrap()),
            )
        })
    };
    let before = read();
    let state = sandbox.state();
    sandbox.snap();
    sandbox.write("b.txt", "b\n");
    sandbox.snap();
    sandbox.remove("b.txt");
    assert_eq!(read(), before);
    state.assert_same(&sandbox.state());
    assert!(!sandbox.exists(".timewarp"));
    assert!(!sandbox.exists(".git/logs/refs/timewarp"));
}

#[test]
fn nothing_is_started() {
    let sandbox = Sandbox::new();
    let marker = sandbox.root().join("started");
    let script = format!(
        "#!/bin/sh\necho \"$0 $*\" >> {}\nexec cat\n",
        marker.display()
    );
    let trap = sandbox.root().join("trap");
    std::fs::write(&trap, &script).unwrap();
    std::fs::set_permissions(&trap, std::fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = sandbox.path(".git/hooks");
    for hook in [
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "post-checkout",
        "pre-auto-gc",
        "fsmonitor-watchman",
        "post-rewrite",
        "commit-msg",
        "prepare-commit-msg",
    ] {
        let path = hooks.join(hook);
        std::fs::create_dir_all(&hooks).unwrap();
        std::fs::write(&path, &script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    sandbox.write(
        ".gitattributes",
        "*.txt filter=trap diff=trap\n*.bin filter=proc\n",
    );
    sandbox.write("b.bin", "bin");
    let trap = trap.to_str().unwrap();
    for (key, value) in [
        ("filter.trap.clean", trap),
        ("filter.trap.smudge", trap),
        ("filter.proc.process", trap),
        ("diff.trap.textconv", trap),
        ("gpg.program", trap),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
        ("core.pager", trap),
        ("pager.list", trap),
        ("core.editor", trap),
        ("sequence.editor", trap),
        ("credential.helper", trap),
        ("core.fsmonitor", trap),
        ("core.askPass", trap),
        ("core.sshCommand", trap),
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("gc.auto", "1"),
        ("core.alternateRefsCommand", trap),
    ] {
        sandbox.git(["config", key, value]);
    }
    let env = |args: &[&str]| {
        let mut command = sandbox.tw_command();
        for name in [
            "PAGER",
            "GIT_PAGER",
            "EDITOR",
            "VISUAL",
            "GIT_EDITOR",
            "GIT_ASKPASS",
            "GIT_SSH",
            "GIT_EXTERNAL_DIFF",
        ] {
            command.env(name, trap);
        }
        let output = command.args(args).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let _ = std::fs::remove_file(&marker);
    env(&["snapshot"]);
    sandbox.write("a.txt", "changed\n");
    env(&["snapshot"]);
    env(&["snapshot", "--if-changed"]);
    env(&["list"]);
    env(&["show", "latest"]);
    env(&["travel", "latest~1"]);
    env(&["return"]);
    assert_eq!(std::fs::read_to_string(&marker).unwrap_or_default(), "");
}

// --- what is captured ---

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
    sandbox.chmod("dir", 0o755);
    sandbox.chmod("locked", 0o644);
    assert_eq!(sandbox.paths(&sandbox.snap()), ["a.txt", "dir/x", "locked"]);
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
fn a_home_directory_is_no_workspace_unless_forced() {
    let sandbox = Sandbox::new();
    for home in [sandbox.repo(), sandbox.repo().join("deep/home")] {
        std::fs::create_dir_all(&home).unwrap();
        let mut command = sandbox.tw_command();
        let output = command
            .env("HOME", &home)
            .args(["--json", "snapshot"])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["error"]["code"], "UNSAFE_WORKSPACE");
        assert_eq!(output.status.code(), Some(5));
        assert_eq!(sandbox.git(["for-each-ref", "refs/timewarp"]), "");
    }
    let home = sandbox.repo();
    // A home that is a symlink is the place it leads to.
    let link: PathBuf = sandbox.root().join("link");
    std::os::unix::fs::symlink(&home, &link).unwrap();
    let run = |args: &[&str]| {
        let mut command = sandbox.tw_command();
        command
            .env("HOME", &link)
            .args(args)
            .output()
            .unwrap()
            .status
            .code()
    };
    assert_eq!(run(&["snapshot"]), Some(5));
    assert_eq!(run(&["snapshot", "--force"]), Some(0));
}

#[test]
fn secret_looking_names_are_said_once_with_the_line_that_leaves_them_out() {
    let sandbox = Sandbox::new();
    sandbox.write("tls/server.pem", "s");
    let first = sandbox.tw(["snapshot"]);
    assert!(
        first
            .err()
            .contains("git config --add timewarp.exclude 'tls/server.pem'"),
        "{}",
        first.err()
    );
    sandbox.write("id_rsa", "s");
    let second = sandbox.tw(["snapshot"]);
    assert!(!second.err().contains("secret"), "{}", second.err());
}

#[test]
fn tracked_files_with_secret_looking_names_are_not_said() {
    let sandbox = Sandbox::new();
    sandbox.write(".env.example", "s");
    sandbox.git(["add", "."]);
    let ran = sandbox.tw(["snapshot"]);
    assert_eq!(
        (ran.code, ran.err().contains("secret")),
        (0, false),
        "{}",
        ran.err()
    );
}

#[test]
fn a_label_that_is_taken_or_reads_as_something_else_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.snap_with(["--label", "start"]);
    for label in [
        "start", "latest", "present", "1234", "deadbeef", "2h ago", "a b~c", "", "-x", "s_2026",
    ] {
        let (error, code) = sandbox.json_error(["snapshot", &format!("--label={label}")]);
        assert_eq!(error["code"], "INVALID_LABEL", "{label}: {error}");
        assert_eq!(code, 3, "{label}");
    }
    assert_eq!(sandbox.json(["list"])["total"], 1);
}

#[test]
fn quiet_prints_the_id_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("key.pem", "s");
    let ran = sandbox.tw(["-q", "snapshot"]);
    assert_eq!(sandbox.show(&ran), "exit 0\n--- stdout\ns_[1]\n");
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
fn a_subdirectory_is_as_good_as_the_root() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/b.txt", "b\n");
    let ran = sandbox.tw_in(sandbox.path("dir"), ["-q", "snapshot"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    let snapshot = sandbox.json(["show", "latest"])["snapshot"].clone();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt", "dir/b.txt"]);
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

#[test]
fn an_error_never_gives_an_id() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "timewarp.maxFileSize", "much"]);
    let (error, code) = sandbox.json_error(["snapshot"]);
    assert_eq!(error["code"], "INVALID_CONFIG");
    assert_ne!(code, 0);
    let ran = sandbox.tw(["-q", "snapshot"]);
    assert_eq!((ran.code, ran.out().as_str()), (code, ""));
    assert_eq!(sandbox.git(["for-each-ref", "refs/timewarp"]), "");
}
