//! What git has in some versions only: settings, formats, variables.

use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// The names in a new snapshot.
fn captured(sandbox: &Sandbox) -> Vec<String> {
    let snapshot = sandbox.json(["snapshot"]);
    let tree = snapshot["snapshot"]["tree"].as_str().unwrap().to_owned();
    let names = sandbox.git(["ls-tree", "-r", "--name-only", &tree]);
    names.lines().map(str::to_owned).collect()
}

#[test]
fn what_an_optional_file_ignores_is_not_captured() {
    let sandbox = Sandbox::new();
    let list = sandbox.root().join("ignored");
    std::fs::write(&list, "*.secret\n").unwrap();
    let value = format!(":(optional){}", list.display());
    sandbox.git(["config", "core.excludesFile", &value]);
    sandbox.write("a.secret", "key\n");
    assert_eq!(captured(&sandbox), ["a.txt"]);
    // An absent one leaves the user's own list in force.
    std::fs::rename(&list, sandbox.home().join("list")).unwrap();
    assert_eq!(captured(&sandbox), ["a.secret", "a.txt"]);
    std::fs::create_dir_all(sandbox.home().join(".config/git")).unwrap();
    std::fs::rename(
        sandbox.home().join("list"),
        sandbox.home().join(".config/git/ignore"),
    )
    .unwrap();
    assert_eq!(captured(&sandbox), ["a.txt"]);
}

#[test]
fn what_is_ignored_for_the_url_of_a_remote_is_not_captured() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.root().join("ignored"), "*.secret\n").unwrap();
    let settings = format!(
        "[core]\n\texcludesFile = {}\n[timewarp]\n\texclude = left\n",
        sandbox.root().join("ignored").display()
    );
    std::fs::write(sandbox.home().join("work"), settings).unwrap();
    let include = "[includeIf \"hasconfig:remote.*.url:https://work.example/**\"]\n\tpath = work\n";
    std::fs::write(sandbox.home().join(".gitconfig"), include).unwrap();
    sandbox.write("a.secret", "key\n");
    sandbox.write("left", "out\n");
    assert_eq!(captured(&sandbox), ["a.secret", "a.txt", "left"]);
    sandbox.git(["remote", "add", "origin", "https://work.example/a"]);
    assert_eq!(captured(&sandbox), ["a.txt"]);
}

#[test]
fn a_scratch_leaves_the_format_of_the_repository_alone() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "worktree.useRelativePaths", "true"]);
    let before = sandbox.text(".git/config");
    sandbox.ok(["try", "-n", "1", "--", "true"]);
    sandbox.ok(["snapshot"]);
    sandbox.ok(["open", "latest", "../opened"]);
    assert_eq!(sandbox.text(".git/config"), before);
    let link = std::fs::read_to_string(sandbox.root().join("opened/.git")).unwrap();
    assert!(link.starts_with("gitdir: /"), "{link}");
}

#[test]
fn refs_that_the_environment_keeps_elsewhere_are_refused() {
    let sandbox = Sandbox::new();
    let refs = sandbox.git(["for-each-ref"]);
    let mut command = sandbox.tw_command();
    let output = command
        .env("GIT_REFERENCE_BACKEND", "files:///elsewhere")
        .args(["--json", "snapshot"])
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["error"]["code"], "UNSUPPORTED_REPOSITORY");
    let said = document["error"].to_string();
    assert!(
        said.contains("unset GIT_REFERENCE_BACKEND") && said.contains("files:///elsewhere"),
        "{said}"
    );
    assert_eq!(sandbox.git(["for-each-ref"]), refs);
}

#[test]
fn the_hint_of_a_refusal_fits_what_is_refused() {
    let sandbox = Sandbox::new();
    let hints = |sandbox: &Sandbox, dir: &Path| {
        let ran = sandbox.tw_in(dir, ["--json", "status"]);
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(document["error"]["code"], "UNSUPPORTED_REPOSITORY");
        document["error"]["hints"].to_string()
    };
    let bare = sandbox.root().join("bare");
    sandbox.git(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    assert!(hints(&sandbox, &bare).contains("git worktree add"));
    let format =
        "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tcompatObjectFormat = sha1\n";
    let config = sandbox.text(".git/config") + format;
    sandbox.write(".git/config", config);
    let said = hints(&sandbox, &sandbox.repo());
    assert!(
        said.contains("a newer tw") && !said.contains("worktree"),
        "{said}"
    );
}

#[test]
fn doctor_says_that_git_is_too_old_for_the_repository() {
    let sandbox = Sandbox::new();
    let bin = sandbox.root().join("bin");
    let old = "#!/bin/sh\ncase \"$*\" in *--version) echo git version 2.25.1;;\n\
               *) echo 'fatal: unknown repository extensions found:' >&2; exit 128;; esac\n";
    sandbox.program(bin.join("git"), old);
    let mut command = sandbox.tw_command();
    let output = command
        .env("PATH", &bin)
        .args(["--json", "doctor"])
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "git").unwrap();
    assert_eq!(
        (&check["status"], &check["fix"]),
        (&json!("warning"), &json!("install a newer git"))
    );
    let message = check["message"].as_str().unwrap();
    assert!(
        message.contains("2.25.1") && message.contains("unknown repository extensions"),
        "{message}"
    );
}

/// A clone without what the filter leaves out, and without its remote.
fn partial(sandbox: &Sandbox, filter: &str) -> std::path::PathBuf {
    sandbox.git(["config", "uploadpack.allowFilter", "true"]);
    sandbox.git(["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let url = format!("file://{}", sandbox.repo().display());
    let clone = sandbox.root().join("clone");
    sandbox.git(["clone", "-q", filter, &url, clone.to_str().unwrap()]);
    clone
}

#[test]
fn a_tree_of_heads_that_was_not_fetched_is_named_with_what_fetches_it() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/b.txt", "b\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "second"]);
    let clone = partial(&sandbox, "--filter=tree:0");
    let ok = |args: &[&str]| {
        let ran = sandbox.tw_in(&clone, args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err());
    };
    ok(&["snapshot"]);
    std::fs::write(clone.join("a.txt"), "present\n").unwrap();
    ok(&["travel", "latest"]);
    // Which needs no tree, so that git fetches none.
    sandbox.git_in(&clone, ["reset", "-q", "--soft", "HEAD~1"]);
    std::fs::write(clone.join("a.txt"), "past\n").unwrap();
    for args in [&["return"][..], &["snapshot"]] {
        let ran = sandbox.tw_in(&clone, [&["--json"], args].concat());
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(document["error"]["code"], "IO", "{document}");
        let hints = document["error"]["hints"].to_string();
        assert!(hints.contains("'git ls-tree -r HEAD'"), "{hints}");
        assert!(hints.contains("git update-ref --no-deref HEAD"), "{hints}");
    }
    sandbox.git_in(&clone, ["ls-tree", "-r", "HEAD"]);
    ok(&["return"]);
    let present = std::fs::read_to_string(clone.join("a.txt")).unwrap();
    assert_eq!(present, "present\n");
}

#[test]
fn a_blame_of_what_was_not_fetched_names_what_fetches_it() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\ntwo\n");
    sandbox.git(["commit", "-q", "-a", "-m", "second"]);
    let clone = partial(&sandbox, "--filter=blob:none");
    let ran = sandbox.tw_in(&clone, ["--json", "blame", "a.txt"]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let hints = document["error"]["hints"].to_string();
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let command = format!("git blame {} -- a.txt", head.trim());
    assert!(hints.contains(&command), "{document}");
    sandbox.git_in(&clone, ["blame", head.trim(), "--", "a.txt"]);
    let ran = sandbox.tw_in(&clone, ["--json", "blame", "a.txt"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
}
