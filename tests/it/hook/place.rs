//! Which working tree an event is of: that of the session's project, wherever the agent's shell is.

use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// An event of session `abcd` whose shell is in a directory.
fn tell(sandbox: &Sandbox, agent: &str, event: &str, cwd: &Path, project: Option<&Path>) {
    let text = cwd.file_name().unwrap().to_string_lossy().into_owned();
    let payload = json!({"session_id": "abcd", "cwd": cwd, "prompt": text, "source": "startup"});
    let mut command = sandbox.tw_command();
    if let Some(project) = project {
        command.env(VARIABLE, project);
    }
    let command = command
        .args(["hook", agent, event])
        .write_stdin(payload.to_string());
    command.assert().success().stdout("").stderr("");
}

fn checkpoints(sandbox: &Sandbox, dir: &Path) -> Vec<Value> {
    let mut command = sandbox.tw_command();
    let command = command.args(["--json", "checkpoint", "list", "--session", "abcd"]);
    let output = command.current_dir(dir).output().unwrap();
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let made = listed["checkpoints"].as_array().cloned();
    made.unwrap_or_default()
}

fn asked(made: &[Value]) -> Vec<&str> {
    made.iter()
        .map(|one| one["prompt"].as_str().unwrap())
        .collect()
}

/// A repository below the root, and one elsewhere.
fn with_others(sandbox: &Sandbox) -> [std::path::PathBuf; 2] {
    let nested = sandbox.path("vendor/lib");
    let elsewhere = sandbox.root().join("elsewhere");
    for dir in [&nested, &elsewhere] {
        std::fs::create_dir_all(dir).unwrap();
        sandbox.git(["init", "-q", dir.to_str().unwrap()]);
    }
    [nested, elsewhere]
}

#[test]
fn a_shell_in_another_repository_leaves_the_session_in_its_project() {
    let sandbox = Sandbox::new();
    let [nested, elsewhere] = with_others(&sandbox);
    let outside = sandbox.root().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    let project = sandbox.repo();
    let tell = |event: &str, cwd: &Path| tell(&sandbox, "claude", event, cwd, Some(&project));
    tell("SessionStart", &project);
    for cwd in [&project, &nested, &elsewhere, &outside] {
        tell("UserPromptSubmit", cwd);
        tell("Stop", cwd);
    }
    let made = checkpoints(&sandbox, &project);
    let name = project.file_name().unwrap().to_str().unwrap();
    assert_eq!(asked(&made), [name, "lib", "elsewhere", "outside"]);
    let listed = sandbox.json(["checkpoint", "list", "--session", "abcd"]);
    assert_eq!(listed["turn_ends"].as_array().unwrap().len(), 4);
    for dir in [&nested, &elsewhere] {
        assert!(!dir.join(".git/timewarp").exists(), "nothing of it there");
        assert_eq!(checkpoints(&sandbox, dir), [] as [Value; 0]);
    }
}

#[test]
fn without_such_a_variable_the_repository_around_that_knows_the_session_is_meant() {
    let sandbox = Sandbox::new();
    let [nested, elsewhere] = with_others(&sandbox);
    let project = sandbox.repo();
    let tell = |event: &str, cwd: &Path| tell(&sandbox, "codex", event, cwd, None);
    tell("SessionStart", &project);
    tell("UserPromptSubmit", &nested);
    let made = checkpoints(&sandbox, &project);
    assert_eq!(asked(&made), ["lib"]);
    // Nobody tells whose it is.
    tell("UserPromptSubmit", &elsewhere);
    let made = checkpoints(&sandbox, &elsewhere);
    assert_eq!(asked(&made), ["elsewhere"]);
}

#[test]
fn a_session_that_began_in_a_nested_repository_stays_there() {
    for (agent, is_told) in [("claude", true), ("claude", false), ("codex", false)] {
        let sandbox = Sandbox::new();
        let [nested, _] = with_others(&sandbox);
        let project = is_told.then_some(nested.as_path());
        tell(&sandbox, agent, "SessionStart", &nested, project);
        tell(&sandbox, agent, "UserPromptSubmit", &nested, project);
        let made = checkpoints(&sandbox, &nested);
        assert_eq!(asked(&made), ["lib"], "{agent}");
        assert_eq!(checkpoints(&sandbox, &sandbox.repo()), [] as [Value; 0]);
    }
}

#[test]
fn a_session_that_moved_to_a_worktree_is_there() {
    for is_told in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.git(["commit", "-q", "--allow-empty", "-m", "one"]);
        let worktree = sandbox.path(".claude/worktrees/feature");
        sandbox.git(["worktree", "add", "-q", worktree.to_str().unwrap()]);
        let project = sandbox.repo();
        let project = Some(project.as_path()).filter(|_| is_told);
        tell(&sandbox, "claude", "SessionStart", &sandbox.repo(), project);
        std::fs::write(worktree.join("there.txt"), "there\n").unwrap();
        tell(&sandbox, "claude", "UserPromptSubmit", &worktree, project);
        let made = checkpoints(&sandbox, &worktree);
        assert_eq!(asked(&made), ["feature"]);
        let shown = sandbox.json(["show", made[0]["snapshot_id"].as_str().unwrap()]);
        assert_eq!(shown["snapshot"]["worktree"], "feature", "{shown}");
    }
}

#[test]
fn a_project_that_is_no_repository_leaves_it_to_the_directory() {
    let sandbox = Sandbox::new();
    let project = sandbox.root().join("projects");
    std::fs::create_dir_all(&project).unwrap();
    let repo = sandbox.repo();
    tell(
        &sandbox,
        "claude",
        "UserPromptSubmit",
        &repo,
        Some(&project),
    );
    assert_eq!(checkpoints(&sandbox, &repo).len(), 1);
}

/// The agent's shell was in a directory that somebody removed.
#[test]
fn a_shell_whose_directory_is_gone_leaves_the_session_in_its_project() {
    let sandbox = Sandbox::new();
    let [nested, _] = with_others(&sandbox);
    let project = sandbox.repo();
    let tell = |event: &str, cwd: &Path| tell(&sandbox, "codex", event, cwd, None);
    tell("SessionStart", &project);
    let inside = project.join("gone/deep");
    let outside = sandbox.root().join("no/such");
    for cwd in [&inside, &outside, &nested.join("gone")] {
        tell("UserPromptSubmit", cwd);
        tell("Stop", cwd);
    }
    let made = checkpoints(&sandbox, &project);
    assert_eq!(asked(&made), ["deep", "such", "gone"]);
    assert!(
        !nested.join(".git/timewarp").exists(),
        "nothing of it there"
    );
    // Of a session that is not known nobody says where it is.
    let stranger = json!({"session_id": "stranger", "cwd": outside, "prompt": "x"});
    let mut command = sandbox.tw_command();
    let command = command.args(["hook", "codex", "UserPromptSubmit"]);
    let command = command.write_stdin(stranger.to_string());
    command.assert().success().stdout("").stderr("");
    let listed = sandbox.json(["session", "list"]);
    assert_eq!(listed["total"], 1);
}

/// The repository of such a working tree is also the one around it.
#[test]
fn a_working_tree_beneath_its_own_repository_is_looked_for_once() {
    let sandbox = Sandbox::new();
    let inner = sandbox.path("a/b");
    std::fs::create_dir_all(&inner).unwrap();
    sandbox.git(["config", "core.worktree", inner.to_str().unwrap()]);
    for cwd in [inner.as_path(), &sandbox.repo(), &inner.join("gone")] {
        tell(&sandbox, "claude", "Stop", cwd, None);
    }
}
