//! Every shape that a repository may have.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::facts::commit;
use crate::said::hints::COMMANDS;
use crate::sandbox::{Kind, Sandbox, is_root, settle, skipped};

/// A repository with files in three directories.
fn wide() -> Sandbox {
    let sandbox = Sandbox::new();
    for dir in ["in", "out", "out/deep"] {
        sandbox.write(format!("{dir}/x.txt"), format!("{dir}\n"));
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "wide"]);
    sandbox
}

/// Takes a snapshot elsewhere and gives its record.
#[track_caller]
fn snap_in(sandbox: &Sandbox, dir: &Path) -> Value {
    let ran = sandbox.tw_in(dir, ["--json", "snapshot"]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(document["ok"], true, "{document}");
    document["snapshot"].clone()
}

/// An edit, a staged edit and a new file are in the snapshot, and the way there and back is exact.
#[track_caller]
fn works(sandbox: &Sandbox, dir: &Path) {
    let before = snap_in(sandbox, dir);
    std::fs::write(dir.join("a.txt"), "staged\n").unwrap();
    sandbox.git_in(dir, ["add", "a.txt"]);
    std::fs::write(dir.join("a.txt"), "edited\n").unwrap();
    std::fs::write(dir.join("new.txt"), "new\n").unwrap();
    let index = std::fs::read(
        sandbox
            .git_in(
                dir,
                ["rev-parse", "--path-format=absolute", "--git-path", "index"],
            )
            .trim_end(),
    )
    .unwrap();
    let snapshot = snap_in(sandbox, dir);
    let commit = commit(&snapshot);
    let blob = |spec: &str| sandbox.git_in(dir, ["cat-file", "blob", spec]);
    assert_eq!(blob(&format!("{commit}:a.txt")), "edited\n");
    assert_eq!(blob(&format!("{commit}:new.txt")), "new\n");
    assert_eq!(blob(&format!("{commit}^2:a.txt")), "staged\n");
    let index_after = std::fs::read(
        sandbox
            .git_in(
                dir,
                ["rev-parse", "--path-format=absolute", "--git-path", "index"],
            )
            .trim_end(),
    )
    .unwrap();
    assert!(index == index_after, "the index was touched");
    let state = crate::state::State::capture(sandbox, dir);
    let ran = sandbox.tw_in(
        dir,
        ["--json", "travel", before["snapshot_id"].as_str().unwrap()],
    );
    assert_eq!(ran.code, 0, "{}", ran.out());
    assert!(!dir.join("new.txt").exists());
    let ran = sandbox.tw_in(dir, ["--json", "return"]);
    assert_eq!(ran.code, 0, "{}", ran.out());
    state.assert_same(&crate::state::State::capture(sandbox, dir));
}

#[test]
fn a_linked_worktree_has_its_own_state_and_shares_refs() {
    let sandbox = Sandbox::new();
    let linked = sandbox.root().join("linked");
    sandbox.git([
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        linked.to_str().unwrap(),
    ]);
    let own = sandbox.snap();
    let theirs = snap_in(&sandbox, &linked);
    assert_eq!(own["worktree"], "main");
    assert_eq!(theirs["worktree"], "linked");
    assert_eq!(theirs["workspace_root"], linked.to_str().unwrap());
    assert_eq!(theirs["repository_id"], own["repository_id"]);
    assert_eq!(theirs["head"]["ref"], "refs/heads/side");
    assert!(sandbox.exists(".git/worktrees/linked/timewarp/cache"));
    assert_eq!(
        sandbox
            .git(["for-each-ref", "refs/timewarp"])
            .lines()
            .count(),
        2
    );
    works(&sandbox, &linked);
    sandbox.assert_sound();
}

#[test]
fn a_sparse_checkout_keeps_what_is_not_on_disk() {
    for index in ["--no-sparse-index", "--sparse-index"] {
        let sandbox = wide();
        sandbox.git(["sparse-checkout", "set", "--cone", index, "in"]);
        assert!(!sandbox.exists("out"));
        let head = sandbox.git(["rev-parse", "HEAD^{tree}"]);
        let snapshot = sandbox.snap();
        assert_eq!(snapshot["tree"], head.trim_end(), "{index}");
        assert_eq!(
            sandbox.git(["rev-parse", &format!("{}^2^{{tree}}", commit(&snapshot))]),
            head
        );
        assert_eq!(
            snapshot["index"]["skip_worktree"],
            json!(["out/deep/x.txt", "out/x.txt"])
        );
        assert!(!sandbox.exists("out"));
        works(&sandbox, &sandbox.repo());
        assert!(!sandbox.exists("out"), "never materialised");
        // What is there after all is taken.
        sandbox.write("out/x.txt", "by hand\n");
        let snapshot = sandbox.snap();
        assert_eq!(sandbox.blob(commit(&snapshot), "out/x.txt"), b"by hand\n");
        assert_eq!(
            sandbox.blob(commit(&snapshot), "out/deep/x.txt"),
            b"out/deep\n"
        );
        sandbox.remove("out");
        assert_eq!(sandbox.blob(commit(&sandbox.snap()), "out/x.txt"), b"out\n");
        sandbox.git(["sparse-checkout", "disable"]);
        assert_eq!(sandbox.snap()["index"]["skip_worktree"], json!([]));
        sandbox.assert_sound();
    }
}

/// git folds a whole index at its next write, and what it writes then is broken when `git add -N` gave it an entry.
#[test]
fn a_sparse_index_stays_folded_on_a_trip() {
    for version in ["2", "4"] {
        let sandbox = wide();
        sandbox.git(["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
        sandbox.git(["update-index", "--index-version", version]);
        sandbox.git(["config", "advice.sparseIndexExpanded", "false"]);
        sandbox.snap();
        sandbox.write("in/intended.txt", "intended\n");
        sandbox.git(["add", "-N", "in/intended.txt"]);
        let entries = || sandbox.git(["ls-files", "--sparse", "-s", "-t", "-v"]);
        let (before, status) = (entries(), sandbox.git(["status", "--porcelain"]));
        assert!(before.contains("S 040000"), "{before}");
        sandbox.ok(["travel", "latest"]);
        assert!(entries().contains("S 040000"), "{version}: {}", entries());
        sandbox.write("in/x.txt", "in the past\n");
        sandbox.git(["add", "in/x.txt"]);
        assert_eq!(sandbox.json(["return"])["verified"], true);
        assert_eq!(entries(), before, "{version}");
        // Writes the index, and would have folded it.
        sandbox.write("in/x.txt", "staged\n");
        sandbox.git(["add", "in/x.txt"]);
        sandbox.git(["reset", "-q", "in/x.txt"]);
        sandbox.git(["checkout", "-q", "--", "in/x.txt"]);
        assert_eq!(sandbox.git(["status", "--porcelain"]), status, "{version}");
        assert_eq!(entries(), before, "{version}");
        sandbox.assert_sound();
    }
}

/// As git keeps it: its commands say strange things of a folded one.
#[test]
fn a_sparse_index_with_conflicts_stays_whole_on_a_trip() {
    let sandbox = wide();
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("out/x.txt", "other\n");
    sandbox.git(["commit", "-q", "-a", "-m", "other"]);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("out/x.txt", "main\n");
    sandbox.git(["commit", "-q", "-a", "-m", "main"]);
    sandbox.git(["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    sandbox.git(["config", "advice.sparseIndexExpanded", "false"]);
    sandbox.snap();
    assert_eq!(sandbox.try_git(["merge", "-q", "other"]).code, 1);
    let entries = || sandbox.git(["ls-files", "--sparse", "-s", "-t"]);
    let before = entries();
    assert!(!before.contains(" 040000"), "{before}");
    sandbox.ok(["travel", "latest"]);
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(entries(), before);
    let said = sandbox.try_git(["ls-files", "-u"]);
    assert_eq!(said.err(), "");
}

/// A snapshot from before the sparse checkout, a sparse index, and an entry of `git add -N` in it.
fn sparse_since_a_snapshot() -> Sandbox {
    let sandbox = wide();
    sandbox.snap();
    sandbox.git(["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    sandbox.git(["config", "advice.sparseIndexExpanded", "false"]);
    sandbox.write("in/intended.txt", "intended\n");
    sandbox.git(["add", "-N", "in/intended.txt"]);
    sandbox
}

/// git before 2.55 dies of an index that is not folded although it is to be, with an entry of `git add -N`.
#[test]
fn a_sparse_index_comes_back_folded_from_before_the_sparse_checkout() {
    let sandbox = sparse_since_a_snapshot();
    let entries = || sandbox.git(["ls-files", "--sparse", "-s", "-t", "-v"]);
    let (before, status) = (entries(), sandbox.git(["status", "--porcelain"]));
    assert!(before.contains("S 040000"), "{before}");
    sandbox.ok(["travel", "latest"]);
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(entries(), before);
    assert_eq!(sandbox.git(["status", "--porcelain"]), status);
    sandbox.assert_sound();
}

#[test]
fn the_folded_directories_of_a_sparse_index_are_recorded() {
    let sandbox = sparse_since_a_snapshot();
    assert_eq!(sandbox.snap()["index"]["folded"], json!(["out"]));
    sandbox.git(["rm", "-q", "--cached", "in/intended.txt"]);
    sandbox.git(["sparse-checkout", "disable"]);
    assert_eq!(sandbox.snap()["index"]["folded"], Value::Null);
}

#[test]
fn a_snapshot_with_a_sparse_index_is_opened_with_one() {
    let sandbox = sparse_since_a_snapshot();
    let before = sandbox.git(["ls-files", "--sparse", "-s", "-t"]);
    sandbox.snap();
    let dir = sandbox.root().join("opened");
    sandbox.ok(["open", "latest", dir.to_str().unwrap()]);
    let there = sandbox.git_in(&dir, ["ls-files", "--sparse", "-s", "-t"]);
    assert_eq!(there, before);
}

#[test]
fn a_sparse_checkout_without_cones_works() {
    let sandbox = wide();
    sandbox.git(["sparse-checkout", "set", "--no-cone", "/a.txt", "*/deep/"]);
    assert!(!sandbox.exists("in"));
    let head = sandbox.git(["rev-parse", "HEAD^{tree}"]);
    assert_eq!(sandbox.snap()["tree"], head.trim_end());
    works(&sandbox, &sandbox.repo());
}

#[test]
fn every_index_version_is_read() {
    for version in ["2", "3", "4"] {
        let sandbox = wide();
        sandbox.git(["update-index", "--index-version", version]);
        sandbox.git(["config", "advice.sparseIndexExpanded", "false"]);
        sandbox.git(["update-index", "--skip-worktree", "in/x.txt"]);
        works(&sandbox, &sandbox.repo());
        sandbox.assert_sound();
    }
}

#[test]
fn a_split_index_is_read() {
    let sandbox = wide();
    sandbox.git(["update-index", "--split-index"]);
    sandbox.write("in/x.txt", "changed\n");
    sandbox.git(["add", "in"]);
    works(&sandbox, &sandbox.repo());
    sandbox.assert_sound();
}

#[test]
fn an_untracked_cache_is_no_obstacle() {
    let sandbox = wide();
    sandbox.git(["update-index", "--force-untracked-cache"]);
    sandbox.git(["status"]);
    works(&sandbox, &sandbox.repo());
}

#[test]
fn a_file_system_monitor_is_not_asked() {
    let sandbox = wide();
    let marker = sandbox.root().join("asked");
    let hook = sandbox.root().join("monitor");
    let script = format!("#!/bin/sh\ntouch {}\nprintf 'token\\0'\n", marker.display());
    sandbox.program(&hook, script);
    sandbox.git(["config", "core.fsmonitor", hook.to_str().unwrap()]);
    sandbox.git(["config", "core.fsmonitorHookVersion", "2"]);
    sandbox.git(["update-index", "--fsmonitor"]);
    sandbox.git(["status"]);
    assert!(marker.exists(), "git asks");
    // git says that nothing changed: the monitor never named a path.
    sandbox.write("in/x.txt", "changed\n");
    let _ = std::fs::remove_file(&marker);
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.blob(commit(&snapshot), "in/x.txt"), b"changed\n");
    sandbox.json(["travel", "latest"]);
    sandbox.json(["return"]);
    assert!(!marker.exists(), "it was started");
}

/// A remote that leaves a mark when anybody asks it.
fn with_trap(sandbox: &Sandbox, clone: &Path) -> PathBuf {
    let marker = sandbox.root().join("network");
    let url = format!("ext::touch {}", marker.display());
    sandbox.git_in(clone, ["config", "remote.origin.url", &url]);
    sandbox.git_in(clone, ["config", "protocol.ext.allow", "always"]);
    marker
}

#[test]
fn a_partial_clone_is_left_alone_with_its_remote() {
    let sandbox = wide();
    sandbox.git(["config", "uploadpack.allowFilter", "true"]);
    let clone = sandbox.root().join("clone");
    let url = format!("file://{}", sandbox.repo().display());
    sandbox.git([
        "clone",
        "-q",
        "--filter=blob:none",
        "--sparse",
        &url,
        clone.to_str().unwrap(),
    ]);
    sandbox.git_in(&clone, ["sparse-checkout", "set", "in"]);
    let marker = with_trap(&sandbox, &clone);
    // Of what was not fetched nothing is named: the tree has what is on disk.
    let snapshot = snap_in(&sandbox, &clone);
    let tree = snapshot["tree"].as_str().unwrap();
    let named = sandbox.git_in(&clone, ["ls-tree", "-r", "--name-only", tree]);
    let tracked = sandbox.git_in(&clone, ["ls-files", "-t"]);
    let on_disk: Vec<&str> = tracked
        .lines()
        .filter_map(|line| line.strip_prefix("H "))
        .collect();
    assert_eq!(named.lines().collect::<Vec<_>>(), on_disk);
    works(&sandbox, &clone);
    assert!(!marker.exists(), "the network was used");
    let ran = sandbox.try_git_in(
        &clone,
        ["fsck", "--strict", "--no-dangling", "--no-progress"],
    );
    assert_eq!((ran.code, ran.err()), (0, String::new()));
}

#[test]
fn grafts_as_git_reads_them_stop_nothing() {
    let sandbox = wide();
    let [head, before] =
        ["HEAD", "HEAD~1"].map(|name| sandbox.git(["rev-parse", name]).trim().to_owned());
    for grafts in [
        format!("# comment\n\n{head}\n"),
        format!("{head} {before} \n"),
    ] {
        sandbox.git(["checkout", "-q", "-f", "."]);
        sandbox.write(".git/info/grafts", grafts);
        works(&sandbox, &sandbox.repo());
        sandbox.remove(".git/info/grafts");
        sandbox.git(["reset", "-q", "--hard"]);
        sandbox.git(["clean", "-fdq"]);
    }
}

#[test]
fn a_shallow_clone_works() {
    let sandbox = wide();
    let clone = sandbox.root().join("clone");
    let url = format!("file://{}", sandbox.repo().display());
    sandbox.git(["clone", "-q", "--depth=1", &url, clone.to_str().unwrap()]);
    let marker = with_trap(&sandbox, &clone);
    works(&sandbox, &clone);
    assert!(!marker.exists(), "the network was used");
    sandbox.git_in(&clone, ["fsck", "--strict"]);
    sandbox.git_in(&clone, ["gc", "-q", "--prune=now"]);
    sandbox.git_in(&clone, ["fsck", "--strict"]);
}

#[test]
fn objects_of_an_alternate_are_found() {
    let sandbox = wide();
    let clone = sandbox.root().join("clone");
    sandbox.git(["clone", "-q", "-s", ".", clone.to_str().unwrap()]);
    works(&sandbox, &clone);
    sandbox.git_in(&clone, ["fsck", "--strict"]);
    sandbox.git_in(&clone, ["gc", "-q", "--prune=now"]);
    sandbox.git_in(&clone, ["fsck", "--strict"]);
}

#[test]
fn a_submodule_is_a_repository_of_its_own() {
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
    let sub = sandbox.path("sub");
    works(&sandbox, &sub);
    let snapshot = snap_in(&sandbox, &sub);
    assert_eq!(snapshot["workspace_root"], sub.to_str().unwrap());
    assert!(sandbox.exists(".git/modules/sub/timewarp"));
    assert!(!sandbox.exists(".git/timewarp"));
}

#[test]
fn a_separate_git_directory_works() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "-q", "--separate-git-dir", "../away.git"]);
    works(&sandbox, &sandbox.repo());
    assert!(sandbox.root().join("away.git/timewarp").is_dir());
}

#[test]
fn git_s_variables_of_a_hook_do_not_mislead() {
    let sandbox = Sandbox::new();
    let tw = env!("CARGO_BIN_EXE_tw");
    let said = sandbox.root().join("said");
    let script = format!(
        "#!/bin/sh\nenv | grep ^GIT_ > {0}.env\nexec '{tw}' --json snapshot > {0} 2>&1\n",
        said.display()
    );
    sandbox.program(".git/hooks/pre-commit", script);
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("b.txt", "b\n");
    sandbox.git(["add", "b.txt"]);
    sandbox.write("a.txt", "edited\n");
    // With paths named, git gives the hook an index of its own.
    sandbox.git(["commit", "-q", "-m", "partial", "b.txt"]);
    let env = std::fs::read_to_string(said.with_extension("env")).unwrap();
    assert!(env.contains("GIT_INDEX_FILE"), "{env}");
    let document: Value = serde_json::from_slice(&std::fs::read(&said).unwrap()).unwrap();
    assert_eq!(document["ok"], true, "{document}");
    let commit = commit(&document["snapshot"]);
    assert_eq!(sandbox.blob(commit, "a.txt"), b"edited\n");
    assert_eq!(sandbox.blob(&format!("{commit}^2"), "a.txt"), b"staged\n");
    sandbox.assert_sound();
}

/// A receive hook is told of objects that are nobody's yet.
#[test]
fn what_a_hook_is_told_of_its_repository_reaches_no_command_that_we_run() {
    let sandbox = Sandbox::new();
    crate::trip::snapshot(&sandbox);
    let reported = crate::issue::report(&sandbox, &[]);
    let id = reported["issue_id"].as_str().unwrap();
    let nowhere = sandbox.root().join("nowhere");
    let names = [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_COMMON_DIR",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_QUARANTINE_PATH",
    ];
    let in_hook = |words: &[&str]| {
        let mut command = sandbox.tw_command();
        command.args(words);
        for name in names {
            command.env(name, &nowhere);
        }
        let output = command.output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document
    };
    let check = format!("printenv {}; git cat-file -e HEAD", names.join(" "));
    let verified = in_hook(&["--json", "issue", "verify", id, "--", &check]);
    assert_eq!(verified["output_tail"], "", "{verified}");
    assert_eq!(verified["exit_status"], 0, "{verified}");
    let tried = in_hook(&[
        "--json",
        "try",
        "-n",
        "1",
        "--",
        &format!("! printenv {}", names.join(" ")),
    ]);
    assert_eq!(tried["runs"][0]["exit"], 0, "{tried}");
}

#[test]
fn foreign_variables_do_not_mislead() {
    let sandbox = Sandbox::new();
    let other = Sandbox::new();
    let before = other.git(["for-each-ref"]);
    let nowhere = sandbox.root().join("nowhere");
    let mut command = sandbox.tw_command();
    for (name, value) in [
        ("GIT_DIR", other.path(".git")),
        ("GIT_WORK_TREE", other.repo()),
        ("GIT_COMMON_DIR", other.path(".git")),
        ("GIT_INDEX_FILE", nowhere.clone()),
        ("GIT_OBJECT_DIRECTORY", nowhere.clone()),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", nowhere.clone()),
        ("GIT_NAMESPACE", "x".into()),
        ("GIT_SHALLOW_FILE", nowhere.clone()),
        ("GIT_PREFIX", "x/".into()),
        ("GIT_QUARANTINE_PATH", nowhere.clone()),
    ] {
        command.env(name, value);
    }
    let output = command.args(["--json", "snapshot"]).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    if document["ok"] == true {
        assert_eq!(
            document["snapshot"]["workspace_root"],
            sandbox.repo().to_str().unwrap()
        );
        assert_eq!(
            sandbox
                .git(["for-each-ref", "refs/timewarp"])
                .lines()
                .count(),
            1
        );
        sandbox.assert_sound();
    }
    assert_eq!(other.git(["for-each-ref"]), before);
    assert!(!other.exists(".git/timewarp"));
    assert!(!nowhere.exists());
}

/// Every path below a directory, with its content.
fn everything(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path.clone());
            }
            found.push((path.clone(), std::fs::read(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

#[test]
fn what_is_not_supported_is_refused_by_every_command_and_left_alone() {
    let shapes: [&[&str]; 2] = [
        &["--bare"],
        &["--bare", "--object-format=sha256", "--ref-format=reftable"],
    ];
    let mut wrong = Vec::new();
    for shape in shapes {
        let sandbox = Sandbox::bare_room();
        let root = sandbox.root();
        let init = [&["init", "-q"], shape, &["odd"]].concat();
        if sandbox.try_git_in(&root, &init).code != 0 {
            skipped("git", "it is too old to make such a repository");
            continue;
        }
        let before = everything(&root);
        // One only filters text, and one is part of a shell's prompt, which says nothing where there is nothing to say.
        let of_any_place = |command: &&&str| ["tw redact", "tw prompt"].contains(*command);
        let mut usage = Vec::new();
        for command in COMMANDS.iter().filter(|command| !of_any_place(command)) {
            let args = command.split(' ').skip(1);
            let ran = sandbox.tw_in(root.join("odd"), ["--json"].into_iter().chain(args));
            let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
            let code = document["error"]["code"].as_str();
            // What lacks an argument is refused before the repository is looked for.
            if code == Some("USAGE") {
                usage.push(*command);
                continue;
            }
            if code != Some("UNSUPPORTED_REPOSITORY") || ran.code == 0 {
                wrong.push(format!("{shape:?} {command}, {}: {document}", ran.code));
            }
        }
        assert_eq!(usage, ["tw list --session", "tw label latest", "tw revert"]);
        assert!(
            everything(&root) == before,
            "{shape:?}: something was touched"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn inside_a_git_directory_its_working_tree_is_meant() {
    let sandbox = Sandbox::new();
    let snapshot = snap_in(&sandbox, &sandbox.path(".git"));
    assert_eq!(snapshot["workspace_root"], sandbox.repo().to_str().unwrap());
    assert_eq!(sandbox.paths(&snapshot), ["a.txt"]);
}

#[test]
fn no_repository_is_said_to_be_none() {
    let sandbox = Sandbox::bare_room();
    let (error, code) = sandbox.json_error(["snapshot"]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("NOT_A_REPOSITORY"), 1)
    );
}

#[test]
fn a_repository_of_someone_else_is_refused_with_the_line_that_trusts_it() {
    if !is_root() {
        skipped("root", "only root can give a repository to someone else");
        return;
    }
    let sandbox = Sandbox::new();
    for path in [sandbox.repo(), sandbox.path(".git")] {
        std::os::unix::fs::chown(path, Some(12345), None).unwrap();
    }
    let (error, code) = sandbox.json_error(["snapshot"]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("UNSAFE_REPOSITORY"), 1)
    );
    let line = format!(
        "git config --global --add safe.directory '{}'",
        sandbox.repo().display()
    );
    assert_eq!(error["hint"], line);
    assert!(!sandbox.exists(".git/timewarp"));
    let words = [
        "config",
        "--global",
        "--add",
        "safe.directory",
        sandbox.repo().to_str().unwrap(),
    ]
    .map(str::to_owned);
    sandbox.git_in(sandbox.root(), words);
    sandbox.snap();
}

#[test]
fn an_index_that_is_torn_is_an_error_and_no_snapshot() {
    let sandbox = wide();
    let index = sandbox.path(".git/index");
    let whole = std::fs::read(&index).unwrap();
    for bytes in [
        &whole[..whole.len() / 2],
        b"DIRC",
        b"",
        b"garbage garbage garbage",
    ] {
        std::fs::write(&index, bytes).unwrap();
        let ran = sandbox.tw(["--json", "snapshot"]);
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(document["ok"], false, "{document}");
        assert_eq!(sandbox.git(["for-each-ref", "refs/timewarp"]), "");
        assert_eq!(std::fs::read(&index).unwrap(), bytes);
    }
    std::fs::remove_file(&index).unwrap();
    // No index at all is an empty one, as for git.
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot).len(), 4);
    assert!(sandbox.tree(&format!("{}^2", commit(&snapshot))).is_empty());
}

#[test]
fn a_working_tree_reached_by_a_symlink_is_one_place() {
    let sandbox = Sandbox::new();
    let link = sandbox.root().join("link");
    std::os::unix::fs::symlink(sandbox.repo(), &link).unwrap();
    let first = snap_in(&sandbox, &link);
    assert_eq!(first["workspace_root"], sandbox.repo().to_str().unwrap());
    let again = sandbox.json(["snapshot", "--if-changed"]);
    assert_eq!(again["snapshot"]["snapshot_id"], first["snapshot_id"]);
}

#[test]
fn where_the_directory_is_gone_a_shell_is_told_nothing_at_each_prompt() {
    let sandbox = Sandbox::new();
    let script = "mkdir gone; cd gone; rmdir ../gone; \"$TW\" prompt && \"$TW\" completions bash >/dev/null && \"$TW\" status";
    let output = sandbox
        .command("sh")
        .current_dir(sandbox.repo())
        .env("TW", env!("CARGO_BIN_EXE_tw"))
        .args(["-c", script])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.stdout, b"", "{said}");
    assert!(said.contains("cannot tell the current directory"), "{said}");
    assert_eq!(said.matches("error: ").count(), 1, "{said}");
}

/// libgit2 does not see there where history ends.
#[test]
fn commits_of_the_past_are_told_in_a_worktree_of_a_shallow_clone() {
    let sandbox = wide();
    let (clone, linked) = (sandbox.root().join("clone"), sandbox.root().join("linked"));
    let url = format!("file://{}", sandbox.repo().display());
    sandbox.git(["clone", "-q", "--depth=1", &url, clone.to_str().unwrap()]);
    sandbox.git_in(&clone, ["worktree", "add", "-q", linked.to_str().unwrap()]);
    let tw = |dir: &Path, words: &[&str]| -> Value {
        let ran = sandbox.tw_in(dir, ["--json"].iter().chain(words));
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.out());
        serde_json::from_slice(&ran.stdout).unwrap()
    };
    let commit_in = |dir: &Path| {
        sandbox.git_in(dir, ["commit", "-q", "--allow-empty", "-m", "past"]);
        sandbox.git_in(dir, ["rev-parse", "HEAD"]).trim().to_owned()
    };
    tw(&linked, &["snapshot"]);
    std::fs::write(linked.join("a.txt"), "mine\n").unwrap();
    tw(&linked, &["travel", "latest"]);
    let tip = commit_in(&linked);
    let returned = tw(&linked, &["return"]);
    let told = json!([{"oid": tip, "title": "past"}]);
    assert_eq!(returned["commits_made"], told);
    assert_eq!(std::fs::read(linked.join("a.txt")).unwrap(), b"mine\n");

    tw(&clone, &["snapshot"]);
    let opened = tw(&clone, &["open", "latest"]);
    let dir = PathBuf::from(opened["dir"].as_str().unwrap());
    let tip = commit_in(&dir);
    let closed = tw(&clone, &["close", dir.to_str().unwrap()]);
    assert!(closed["notices"].to_string().contains(&tip), "{closed}");
    assert!(!dir.exists());
}

/// Which commits were made is only told: that it cannot be keeps nobody in the past.
#[test]
fn a_history_that_cannot_be_read_keeps_nobody_in_the_past() {
    let sandbox = Sandbox::new();
    sandbox.snap();
    sandbox.write("a.txt", "work\n");
    let home = sandbox.state();
    sandbox.json(["travel", "latest"]);
    for title in ["one", "two", "three"] {
        sandbox.git(["commit", "-q", "--allow-empty", "-m", title]);
    }
    let [tip, gone] = ["HEAD", "HEAD~1"].map(|name| sandbox.git(["rev-parse", name]));
    let (dir, file) = gone.trim().split_at(2);
    sandbox.remove(format!(".git/objects/{dir}/{file}"));
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["commits_made"], json!([]));
    let said = format!("git branch NAME {}", tip.trim());
    assert!(
        returned["notices"].to_string().contains(&said),
        "{returned}"
    );
    home.assert_same(&sandbox.state());
}

/// With `out` neither in the patterns nor on disk.
fn without_out() -> Sandbox {
    let sandbox = wide();
    sandbox.git(["sparse-checkout", "set", "--cone", "in"]);
    assert!(!sandbox.exists("out"));
    sandbox
}

#[test]
fn a_sparse_directory_that_is_absent_stops_no_scratch() {
    let sandbox = without_out();
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    let tries = || {
        let words = ["--json", "try", "-n", "1", &id, "--", "test", "-d", "in"];
        let tried = sandbox.tw(words).out();
        let tried: Value = serde_json::from_str(&tried).unwrap();
        assert_eq!(tried["runs"][0]["exit"], 0, "{tried}");
        assert_eq!(tried["runs"][0]["error"], Value::Null, "{tried}");
    };
    tries();
    // There now, and not where the snapshot was taken.
    sandbox.git(["sparse-checkout", "disable"]);
    assert!(sandbox.exists("out"));
    tries();
}

#[test]
fn an_absent_sparse_directory_is_made_for_what_comes_into_it() {
    // Redo.
    let sandbox = wide();
    sandbox.snap();
    sandbox.git(["sparse-checkout", "set", "--cone", "in"]);
    sandbox.json(["restore", "latest", "out"]);
    assert_eq!(sandbox.text("out/x.txt"), "out\n");
    sandbox.json(["undo"]);
    assert!(!sandbox.exists("out/x.txt"));
    let _ = std::fs::remove_dir_all(sandbox.path("out"));
    sandbox.json(["redo"]);
    assert_eq!(sandbox.text("out/x.txt"), "out\n");
    assert_eq!(sandbox.text("out/deep/x.txt"), "out/deep\n");

    // Revert.
    let sandbox = without_out();
    sandbox.json(["session", "start", "--session", "s"]);
    sandbox.json(["checkpoint", "-m", "a"]);
    sandbox.write("out/new.txt", "q\n");
    sandbox.json(["checkpoint", "-m", "b"]);
    sandbox.remove("out");
    sandbox.json(["checkpoint", "-m", "c"]);
    sandbox.json(["revert", "1"]);
    assert_eq!(sandbox.text("out/new.txt"), "q\n");

    // A run of an issue.
    let sandbox = without_out();
    let words = "issue report --task-context a --symptom b --success-criteria c";
    let issue = sandbox.json(words.split(' '))["issue_id"].clone();
    let issue = issue.as_str().unwrap();
    sandbox.json(["issue", "start", issue]);
    sandbox.write("out/new.txt", "n\n");
    sandbox.json(["return"]);
    assert!(!sandbox.exists("out"));
    sandbox.json(["issue", "apply", issue]);
    assert_eq!(sandbox.text("out/new.txt"), "n\n");
}

/// An index that is there no more is not the one that was seen last, however fresh that was.
#[test]
fn an_index_that_is_gone_is_an_empty_one() {
    for is_born in [false, true] {
        let sandbox = if is_born {
            Sandbox::new()
        } else {
            Sandbox::unborn()
        };
        sandbox.write("dir/f", "x\n");
        sandbox.git(["add", "dir/f"]);
        let tw = |args: &[&str]| {
            let mut command = sandbox.tw_command();
            // Each stamp is as fresh as can be.
            command.env("TW_TEST_COARSE_TIMES", "1").arg("--json");
            let output = command.args(args).output().unwrap();
            assert!(output.status.success(), "{args:?}: {output:?}");
            serde_json::from_slice::<Value>(&output.stdout).unwrap()
        };
        let staged = |taken: &Value| {
            let commit = taken["snapshot"]["commit"].as_str().unwrap();
            let index = format!("{commit}^{}", if is_born { 2 } else { 1 });
            sandbox.git(["ls-tree", "-r", "--name-only", &index])
        };
        assert!(staged(&tw(&["snapshot", "--label", "with"])).contains("dir/f"));
        std::fs::remove_file(sandbox.path(".git/index")).unwrap();
        assert_eq!(staged(&tw(&["snapshot"])), "");
        tw(&["travel", "with"]);
        assert!(sandbox.git(["ls-files"]).contains("dir/f"));
        tw(&["return"]);
        assert_eq!(sandbox.git(["ls-files"]), "");
    }
}

/// On a file system made of several a directory has the times of one of them, and new names may come into another.
#[test]
fn a_name_that_no_stamp_tells_of_is_captured() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.trustctime", "false"]);
    sandbox.write(".gitignore", "*.o\n");
    sandbox.write("dir/f", "x\n");
    sandbox.write("dir/x.o", "made\n");
    settle();
    let files = || {
        let mut command = sandbox.tw_command();
        command.env("TW_TEST_UNTOLD_NAMES", "1");
        let output = command.args(["--json", "snapshot"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let taken: Value = serde_json::from_slice(&output.stdout).unwrap();
        let commit = taken["snapshot"]["commit"].as_str().unwrap();
        sandbox.git(["ls-tree", "-r", "--name-only", commit])
    };
    assert_eq!(files(), ".gitignore\na.txt\ndir/f\n");
    settle();
    let dir = std::fs::File::open(sandbox.path("dir")).unwrap();
    let times = dir.metadata().unwrap().modified().unwrap();
    std::fs::rename(sandbox.path("dir/x.o"), sandbox.path("dir/new")).unwrap();
    dir.set_modified(times).unwrap();
    assert_eq!(files(), ".gitignore\na.txt\ndir/f\ndir/new\n");
    assert_eq!(files(), ".gitignore\na.txt\ndir/f\ndir/new\n");
}

#[test]
fn an_index_that_cannot_be_read_has_a_way_out() {
    for bytes in [&b""[..], b"DIRC\0\0\0\x02garbage"] {
        let sandbox = Sandbox::new();
        sandbox.write("staged", "s\n");
        sandbox.git(["add", "staged"]);
        sandbox.json(["snapshot"]);
        let index = sandbox.path(".git/index");
        std::fs::write(&index, bytes).unwrap();
        let (error, _) = sandbox.json_error(["snapshot"]);
        assert_eq!(error["code"], "CORRUPT_RECORD", "{error}");
        let hint = error["hint"].as_str().unwrap();
        let output = sandbox.tw(["doctor", "--json"]);
        let checks: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = checks["checks"].as_array().unwrap();
        let check = checks
            .iter()
            .find(|check| check["name"] == "index")
            .unwrap();
        assert_eq!(check["status"], "error", "{check}");
        assert_eq!(check["fix"], hint, "{check}");
        let (away, _) = hint.split_once(';').unwrap();
        let moved = sandbox.command("sh").args(["-c", away]).output().unwrap();
        assert!(moved.status.success(), "{moved:?}");
        assert!(hint.contains("'tw restore --staged latest'"), "{hint}");
        sandbox.json(["restore", "--staged", "latest"]);
        assert_eq!(sandbox.git(["diff", "--cached", "--name-only"]), "staged\n");
    }
}

/// As git 2.47 can leave it: split over a sparse index, with a file's entry in the place of a folded directory.
#[test]
fn an_index_that_says_a_directory_is_a_file_makes_no_tree() {
    let sandbox = Sandbox::of(Kind::PLAIN);
    sandbox.write("d/x", "x\n");
    sandbox.write("f/q", "q\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "two"]);
    sandbox.git(["sparse-checkout", "set", "--cone", "--sparse-index", "d"]);
    let names = sandbox.git(["ls-files", "--sparse"]);
    let names: Vec<&str> = names.lines().collect();
    let place = names.iter().position(|name| *name == "f/").unwrap();
    let base = std::fs::read(sandbox.path(".git/index")).unwrap();
    let name = base[base.len() - 20..].to_vec();
    let hex: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::write(sandbox.path(format!(".git/sharedindex.{hex}")), &base).unwrap();
    let oid = sandbox.git(["rev-parse", "HEAD:f/q"]);
    let oid = (0..20).map(|at| u8::from_str_radix(&oid[2 * at..2 * at + 2], 16).unwrap());
    let mut index = b"DIRC\0\0\0\x03\0\0\0\x01".to_vec();
    let word = |index: &mut Vec<u8>, word: u32| index.extend(word.to_be_bytes());
    for field in [0, 0, 0, 0, 0, 0, 0o100_644, 0, 0, 0] {
        word(&mut index, field);
    }
    index.extend(oid);
    // Skipped in the working tree; no name: it replaces another.
    index.extend([0x40, 0, 0x40, 0]);
    index.extend([0; 8]);
    let mut link = name;
    let ewah = |link: &mut Vec<u8>, bits: usize, words: &[u64]| {
        word(link, u32::try_from(bits).unwrap());
        word(link, u32::try_from(words.len()).unwrap());
        link.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        word(link, 0);
    };
    ewah(&mut link, 0, &[0]);
    ewah(&mut link, names.len(), &[1 << 33, 1 << place]);
    index.extend(b"link");
    word(&mut index, u32::try_from(link.len()).unwrap());
    index.extend(link);
    index.extend([0; 20]);
    std::fs::write(sandbox.path(".git/index"), index).unwrap();
    let (error, _) = sandbox.json_error(["snapshot"]);
    assert!(
        error["message"].as_str().unwrap().contains("'f/'"),
        "{error}"
    );
    sandbox.git(["fsck", "--strict"]);
}
