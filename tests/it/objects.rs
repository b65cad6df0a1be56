//! One writer for all objects, and the keeping of objects: whose process lives is never a matter of its number.

use std::process::Stdio;

use crate::damage::raw_command;
use crate::many::{Held, go_on, wait_until_stopped};
use crate::sandbox::Sandbox;
use crate::stage::{KILLED, Stage, eventful};

/// Starts `tw` and waits until it stops at a fail point.
fn stopped_at(sandbox: &Sandbox, args: &[&str], point: &str) -> Held {
    let child = raw_command(&sandbox.root(), env!("CARGO_BIN_EXE_tw"))
        .current_dir(sandbox.repo())
        .env("TW_STOP_POINT", point)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(Held)
        .unwrap();
    wait_until_stopped(child.0.id());
    child
}

/// Runs a shell command in a pid namespace of its own, `/proc` included. None where the system grants none.
#[expect(clippy::print_stderr, reason = "says why a test had nothing to do")]
fn elsewhere(sandbox: &Sandbox, script: &str) -> Option<std::process::Output> {
    let inside = |script: &str| {
        raw_command(&sandbox.root(), "unshare")
            .args(["--user", "--map-current-user", "--pid", "--fork", "--mount"])
            .args(["--mount-proc", "sh", "-c", script])
            .env("TW", env!("CARGO_BIN_EXE_tw"))
            .current_dir(sandbox.repo())
            .output()
    };
    if inside("true").is_ok_and(|output| output.status.success()) {
        return Some(inside(script).unwrap());
    }
    eprintln!("skipped: no pid namespace is to be had here");
    None
}

fn keeps(sandbox: &Sandbox) -> usize {
    let entries = std::fs::read_dir(sandbox.path(".git/objects/pack")).unwrap();
    let is_keep = |path: std::path::PathBuf| path.extension().is_some_and(|end| end == "keep");
    entries
        .filter(|entry| is_keep(entry.as_ref().unwrap().path()))
        .count()
}

#[test]
fn a_live_swap_is_alive_from_another_pid_namespace() {
    let (sandbox, snapshot) = eventful();
    let linked = sandbox.root().join("linked");
    let dir = linked.to_str().unwrap();
    sandbox.git(["worktree", "add", "-q", "--detach", dir]);
    let mut child = stopped_at(&sandbox, &["travel", &snapshot], "swap-journal");
    assert_eq!(keeps(&sandbox), 1);
    let script = format!(
        "\"$TW\" --json status; \"$TW\" --json doctor; \"$TW\" -q -C '{dir}' recover; \"$TW\" -C '{dir}' -q snapshot"
    );
    let Some(said) = elsewhere(&sandbox, &script) else {
        go_on(child.0.id());
        assert!(child.0.wait().unwrap().success());
        return;
    };
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(text.contains("travel is under way"), "{text}");
    assert!(text.contains("no swap was interrupted"), "{text}");
    assert!(text.contains("no lock was left behind"), "{text}");
    assert_eq!(keeps(&sandbox), 1);
    for lock in ["index.lock", "HEAD.lock"] {
        assert!(sandbox.path(".git").join(lock).exists(), "{lock}");
    }
    go_on(child.0.id());
    assert!(child.0.wait().unwrap().success());
    assert_eq!(keeps(&sandbox), 0);
    sandbox.json(["return"]);
}

#[test]
fn a_dead_swap_of_another_pid_namespace_is_recovered() {
    let (sandbox, snapshot) = eventful();
    let home = sandbox.state();
    // Its number is that of a process that lives here, the first of all.
    let script = format!("TW_FAIL_POINT=swap-applied \"$TW\" -q travel {snapshot}; true");
    let Some(_) = elsewhere(&sandbox, &script) else {
        return;
    };
    assert!(sandbox.path(".git/timewarp/journal.json").exists());
    assert_eq!(sandbox.json(["recover", "-y"])["action"], "rolled-back");
    home.assert_same(&sandbox.state());
    assert_eq!(keeps(&sandbox), 0);
    assert!(!sandbox.path(".git/index.lock").exists());
}

#[test]
fn what_a_dead_swap_keeps_stays_until_it_is_recovered() {
    let (sandbox, snapshot) = eventful();
    let linked = sandbox.root().join("linked");
    let dir = linked.to_str().unwrap();
    sandbox.git(["worktree", "add", "-q", "--detach", dir]);
    let home = sandbox.state();
    let stage = Stage::new(sandbox, &["travel", &snapshot], Some(home));
    stage.rewind();
    assert_eq!(stage.run_until(&stage.args, "swap-applied").code, KILLED);
    let sandbox = &stage.sandbox;
    sandbox.ok(["-C", dir, "-q", "recover"]);
    assert_eq!(keeps(sandbox), 1);
    stage.recover_and_check(&["recover", "-y"], "swap-applied");
    assert_eq!(keeps(sandbox), 0);
}
