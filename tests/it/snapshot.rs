//! What a snapshot takes, what it leaves out, and how it is stored.

mod captured;
mod left_out;
mod said;

use std::fs::FileTimes;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::damage::raw_command;
use crate::facts::{commit, id};
use crate::many::{go_on, has_open};
use crate::objects::stopped_at;
use crate::sandbox::{Sandbox, wait_until};
use crate::stage::taken;

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
        "ignored": {"entries": 0, "bytes": 0}, "uncaptured": [],
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
fn if_changed_in_the_past_answers_with_the_newest_of_this_stay() {
    let sandbox = Sandbox::new();
    let old = sandbox.snap();
    sandbox.write("a.txt", "two\n");
    sandbox.snap();
    let asked = || {
        let taken = sandbox.json(["snapshot", "--if-changed"]);
        (
            id(&taken["snapshot"]).to_owned(),
            taken["fresh"].as_bool().unwrap(),
        )
    };
    let mut seen = Vec::new();
    // Neither the snapshot that was travelled to nor one of an earlier stay, though both are equal.
    for _ in 0..2 {
        sandbox.ok(["travel", id(&old)]);
        for text in [None, Some("three\n")] {
            if let Some(text) = text {
                sandbox.write("a.txt", text);
            }
            let (first, is_fresh) = asked();
            assert!(is_fresh);
            assert_eq!(asked(), (first.clone(), false));
            seen.push(first);
        }
        sandbox.ok(["return"]);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 4, "{seen:?}");
    // The other way round no more: those of the past are none of the present's.
    let (present, _) = asked();
    assert!(!seen.contains(&present), "{seen:?}");
}

#[test]
fn if_changed_gives_the_label_to_the_snapshot_that_it_answers_with() {
    let sandbox = Sandbox::new();
    sandbox.snap_with(["--label", "start"]);
    sandbox.write("a.txt", "two\n");
    let newest = sandbox.snap();
    for _ in 0..2 {
        let again = sandbox.json(["snapshot", "--if-changed", "--label", "before-x"]);
        assert_eq!(again["fresh"], false);
        assert_eq!(again["snapshot"]["labels"], json!(["before-x"]));
    }
    assert_eq!(
        id(&sandbox.json(["show", "before-x"])["snapshot"]),
        id(&newest)
    );
    for label in ["start", "latest"] {
        let (error, code) = sandbox.json_error(["snapshot", "--if-changed", "--label", label]);
        assert_eq!(
            (&error["code"], code),
            (&json!("INVALID_LABEL"), 3),
            "{error}"
        );
    }
    let ran = sandbox.tw(["snapshot", "--if-changed"]);
    assert!(
        ran.out().ends_with("\n  label: before-x\n"),
        "{}",
        ran.out()
    );
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
    sandbox.program(&trap, &script);
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
        sandbox.program(format!(".git/hooks/{hook}"), &script);
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
        (
            "core.hooksPath",
            sandbox.path(".git/hooks").to_str().unwrap(),
        ),
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

/// A home directory that nobody has made yet is one.
#[test]
fn a_working_tree_above_home_is_no_place_to_work_in() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.tw_command();
    command.env("HOME", sandbox.path("home/not yet"));
    let output = command.args(["--json", "snapshot"]).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["error"]["code"], "UNSAFE_WORKSPACE", "{said}");
}

/// Between its ref and the look whether a gc took something a snapshot may go again.
#[test]
fn a_snapshot_that_is_taken_back_is_nobody_s_answer() {
    for sandbox in [Sandbox::new(), Sandbox::without_git()] {
        sandbox.write("a.txt", "one\n");
        let first = taken(&sandbox);
        sandbox.write("a.txt", "two\n");
        let mut child = stopped_at(&sandbox, &["snapshot"], "record-ref");
        // Others see it. A gc that lives may take what it has.
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let gc = format!("{} {}", std::process::id(), host.trim_end());
        std::fs::write(sandbox.git_dir().join("gc.pid"), gc).unwrap();
        let asked = ["show latest", "snapshot --if-changed", "checkpoint -m x"].map(|words| {
            let mut command = raw_command(&sandbox.root(), env!("CARGO_BIN_EXE_tw"));
            command.current_dir(sandbox.repo()).arg("--json");
            command
                .args(words.split(' '))
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        });
        // For the look at what can be seen, or for the working tree.
        let waits = |pid| ["timewarp/recording", "timewarp/lock"].map(|name| has_open(pid, name));
        for waiting in &asked {
            wait_until("it waits", || waits(waiting.id()).contains(&true));
        }
        go_on(child.0.id());
        let answers = asked.map(|asked| asked.wait_with_output().unwrap().stdout);
        assert!(child.0.wait().unwrap().success());
        std::fs::remove_file(sandbox.git_dir().join("gc.pid")).unwrap();
        let stand: Vec<String> = sandbox.json(["list"])["snapshots"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["snapshot_id"].as_str().unwrap().to_owned())
            .collect();
        for text in answers {
            let said: Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(said["ok"], true, "{said}");
            let id = ["snapshot", "checkpoint"].map(|kind| said[kind]["snapshot_id"].as_str());
            let id = id.into_iter().flatten().next().unwrap();
            assert!(stand.iter().any(|one| one == id), "{id} {stand:?} {first}");
        }
    }
}
