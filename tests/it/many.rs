//! Many processes at once: no snapshot lost, no torn tree, no wedge, no lock stolen from a live process.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::damage::{assert_fsck_clean, litter, raw_command};
use crate::sandbox::{Sandbox, wait_until};
use crate::stage::{eventful, taken};

fn tw(root: &Path, dir: &str, args: &[&str]) -> Output {
    let mut command = raw_command(root, env!("CARGO_BIN_EXE_tw"));
    let command = command.current_dir(root.join(dir)).arg("--json").args(args);
    command.stdin(Stdio::null()).output().unwrap()
}

fn git(root: &Path, args: &[&str]) -> Output {
    raw_command(root, "git")
        .current_dir(root.join("repo"))
        .args(["-c", "user.name=t", "-c", "user.email=t@t"])
        .args(args)
        .output()
        .unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        panic!("{error}: {stdout}{stderr}")
    })
}

/// Replaces four files, each whole, again and again: all lines of a file are the same in every generation.
fn edit(repo: &Path, done: &AtomicBool) {
    let mut generation = 0;
    while !done.load(Ordering::Relaxed) {
        generation += 1;
        for name in ["f1", "f2", "d/f3", "d/f4"] {
            let temp = repo.join("../tmp").join("being-written");
            let line = format!("generation {generation}\n");
            std::fs::write(&temp, line.repeat(500 + generation % 7)).unwrap();
            std::fs::rename(&temp, repo.join(name)).unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Ends the other threads of a test also when its own one fails: a scope waits for all of them.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Many processes on few processors hold a lock for longer than a person would wait for it.
pub fn wait_long(sandbox: &Sandbox) {
    sandbox.git(["config", "timewarp.lockTimeout", "300"]);
}

fn assert_not_torn(sandbox: &Sandbox, commit: &str) {
    for name in ["f1", "f2", "d/f3", "d/f4"] {
        let text = sandbox.git(["cat-file", "blob", &format!("{commit}:{name}")]);
        let lines: BTreeSet<_> = text.lines().collect();
        assert_eq!(lines.len(), 1, "{commit}:{name} is torn: {lines:?}");
    }
}

fn times() -> usize {
    let count = std::env::var("TW_MANY").ok();
    count.and_then(|count| count.parse().ok()).unwrap_or(5)
}

#[test]
fn sixteen_processes_take_every_snapshot_while_an_editor_writes() {
    let sandbox = Sandbox::new();
    wait_long(&sandbox);
    sandbox.mkdir("d");
    let (root, repo) = (sandbox.root(), sandbox.repo());
    let done = AtomicBool::new(false);
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let over = SetAtEnd(&done);
        scope.spawn(|| edit(&repo, &done));
        wait_until("the first round of files is there", || {
            repo.join("d/f4").exists()
        });
        let takers: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let one = |_| tw(&root, "repo", &["snapshot"]);
                    (0..times()).map(one).collect::<Vec<_>>()
                })
            })
            .collect();
        let outputs = takers.into_iter().flat_map(|taker| taker.join().unwrap());
        let outputs = outputs.collect();
        drop(over);
        outputs
    });
    let mut ids = BTreeSet::new();
    let mut numbers = BTreeSet::new();
    for output in &outputs {
        let taken = json(output);
        assert_eq!(taken["ok"], true, "{taken}");
        ids.insert(taken["snapshot"]["snapshot_id"].to_string());
        numbers.insert(taken["snapshot"]["seq"].as_u64().unwrap());
        assert_not_torn(&sandbox, taken["snapshot"]["commit"].as_str().unwrap());
    }
    assert_eq!(ids.len(), 16 * times());
    assert_eq!(numbers.len(), 16 * times(), "a number was given twice");
    let listed = sandbox.json(["list", "-n", "10000"]);
    let listed: BTreeSet<_> = listed["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|snapshot| snapshot["snapshot_id"].to_string())
        .collect();
    assert_eq!(listed, ids);
    assert_fsck_clean(&sandbox, "many snapshots");
    assert_eq!(litter(&sandbox), [""; 0]);
}

#[test]
fn a_snapshot_during_a_swap_sees_one_side_whole() {
    let (sandbox, snapshot) = eventful();
    wait_long(&sandbox);
    let home = sandbox.state();
    let present = taken(&sandbox);
    let (root, done) = (sandbox.root(), AtomicBool::new(false));
    let mut trees = BTreeSet::new();
    for id in [&snapshot, &present] {
        trees.insert(sandbox.json(["show", id])["snapshot"]["tree"].to_string());
    }
    let seen = std::thread::scope(|scope| {
        let over = SetAtEnd(&done);
        let takers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut outputs = Vec::new();
                    while !done.load(Ordering::Relaxed) {
                        outputs.push(tw(&root, "repo", &["snapshot"]));
                    }
                    outputs
                })
            })
            .collect();
        for _ in 0..times() {
            for args in [&["travel", &snapshot][..], &["return"]] {
                let output = tw(&root, "repo", args);
                assert_eq!(json(&output)["ok"], true, "{args:?} {}", json(&output));
            }
        }
        drop(over);
        let outputs = takers.into_iter().flat_map(|taker| taker.join().unwrap());
        outputs.collect::<Vec<_>>()
    });
    for output in &seen {
        let taken = json(output);
        assert_eq!(taken["ok"], true, "{taken}");
        let tree = taken["snapshot"]["tree"].to_string();
        assert!(trees.contains(&tree), "half-way: {taken}");
    }
    home.assert_same(&sandbox.state());
    assert_fsck_clean(&sandbox, "snapshots during swaps");
    assert_eq!(litter(&sandbox), [""; 0]);
}

#[test]
fn of_two_travels_at_once_one_wins() {
    let (sandbox, snapshot) = eventful();
    let home = sandbox.state();
    let root = sandbox.root();
    for _ in 0..times() {
        let outputs: Vec<_> = std::thread::scope(|scope| {
            let both: Vec<_> = (0..2)
                .map(|_| scope.spawn(|| tw(&root, "repo", &["travel", &snapshot])))
                .collect();
            both.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let won = outputs.iter().filter(|output| output.status.success());
        assert_eq!(won.count(), 1);
        for lost in outputs.iter().filter(|output| !output.status.success()) {
            assert_eq!(lost.status.code(), Some(4));
            let code = &json(lost)["error"]["code"];
            assert!(code == "ALREADY_IN_PAST" || code == "BUSY", "{code}");
        }
        sandbox.json(["return"]);
        home.assert_same(&sandbox.state());
    }
}

#[test]
fn a_second_travel_is_told_who_holds_the_lock() {
    let (sandbox, snapshot) = eventful();
    sandbox.git(["config", "timewarp.lockTimeout", "1"]);
    let before = sandbox.state();
    let root = sandbox.root();
    let mut first = raw_command(&root, env!("CARGO_BIN_EXE_tw"))
        .current_dir(sandbox.repo())
        .env("TW_STOP_POINT", "swap-backup")
        .args(["travel", &snapshot])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(Held)
        .unwrap();
    wait_until_stopped(first.0.id());
    for args in [
        &["travel", &snapshot][..],
        &["snapshot"],
        &["recover"],
        &["undo"],
    ] {
        let (error, code) = sandbox.json_error(args);
        assert_eq!(
            (&error["code"], code),
            (&"BUSY".into(), 4),
            "{args:?} {error}"
        );
        assert_eq!(error["held_by"], first.0.id(), "{args:?} {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("tw travel (process"), "{message}");
    }
    // git is kept out as well, and its files are not touched.
    assert_ne!(git(&root, &["add", "a.txt"]).status.code(), Some(0));
    before.assert_same(&sandbox.state());
    go_on(first.0.id());
    assert!(first.0.wait().unwrap().success());
    sandbox.json(["return"]);
    before.assert_same(&sandbox.state());
}

/// A dry run takes no lock, and does not take a swap that lives for one that died.
#[test]
fn a_dry_run_beside_a_swap_is_told_who_it_is() {
    let (sandbox, snapshot) = eventful();
    let root = sandbox.root();
    let mut first = raw_command(&root, env!("CARGO_BIN_EXE_tw"))
        .current_dir(sandbox.repo())
        .env("TW_STOP_POINT", "apply-prepared")
        .args(["travel", &snapshot])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(Held)
        .unwrap();
    wait_until_stopped(first.0.id());
    for args in [
        &["travel", &snapshot, "--dry-run"][..],
        &["return", "--dry-run"],
        &["restore", &snapshot, "--dry-run"],
        &["undo", "--dry-run"],
    ] {
        let (error, code) = sandbox.json_error(args);
        let told = (&error["code"], code, &error["held_by"]);
        assert_eq!(told, (&"BUSY".into(), 4, &first.0.id().into()), "{args:?}");
    }
    go_on(first.0.id());
    assert!(first.0.wait().unwrap().success());
    sandbox.json(["return", "--dry-run"]);
}

#[track_caller]
fn assert_is_not_found(mut command: Held) {
    let mut said = String::new();
    let mut stdout = command.0.stdout.take().unwrap();
    stdout.read_to_string(&mut said).unwrap();
    let answer: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(answer["error"]["code"], "SNAPSHOT_NOT_FOUND", "{said}");
    assert_eq!(command.0.wait().unwrap().code(), Some(3));
}

/// The worktree holds where it goes only from its journal on.
#[test]
fn a_snapshot_that_is_dropped_before_a_travel_holds_it_is_not_travelled_to() {
    let (sandbox, snapshot) = eventful();
    sandbox.git(["worktree", "add", "-q", "../linked"]);
    let linked = sandbox.root().join("linked");
    let there = linked.to_str().unwrap();
    let before = sandbox.state();
    let root = sandbox.root();
    let travel = raw_command(&root, env!("CARGO_BIN_EXE_tw"))
        .current_dir(sandbox.repo())
        .env("TW_STOP_POINT", "swap-backup")
        .args(["--json", "travel", &snapshot])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let travel = Held(travel.unwrap());
    wait_until_stopped(travel.0.id());
    sandbox.ok(["-C", there, "drop", "-y", "--force", &snapshot]);
    go_on(travel.0.id());
    assert_is_not_found(travel);
    assert_eq!(sandbox.json(["status"])["mode"], "present");
    before.assert_same(&sandbox.state());
    assert_eq!(litter(&sandbox), [""; 0]);
    assert_eq!(sandbox.git(["for-each-ref", "refs/timewarp/backups"]), "");
}

/// Nothing but a branch has it, which goes before the snapshot has a ref of its own.
#[test]
fn a_snapshot_whose_branch_goes_before_a_travel_holds_it_is_not_travelled_to() {
    let (sandbox, snapshot) = eventful();
    sandbox.git([
        "branch",
        "snap",
        &format!("refs/timewarp/snapshots/{snapshot}"),
    ]);
    sandbox.ok(["drop", "-y", "--force", &snapshot]);
    let refs = || sandbox.git(["for-each-ref", "refs/timewarp"]);
    let (before, refs_before) = (sandbox.state(), refs());
    let root = sandbox.root();
    let travel = raw_command(&root, env!("CARGO_BIN_EXE_tw"))
        .current_dir(sandbox.repo())
        .env("TW_STOP_POINT", "swap-prepared")
        .args(["--json", "travel", "snap"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let travel = Held(travel.unwrap());
    wait_until_stopped(travel.0.id());
    let commit = sandbox.git(["rev-parse", "snap"]);
    sandbox.git(["branch", "-q", "-D", "snap"]);
    go_on(travel.0.id());
    assert_is_not_found(travel);
    assert_eq!(refs(), refs_before);
    sandbox.git(["branch", "snap", commit.trim()]);
    before.assert_same(&sandbox.state());
    assert_eq!(litter(&sandbox), [""; 0]);
}

#[test]
fn an_issue_of_a_snapshot_that_is_dropped_meanwhile_is_none() {
    let (sandbox, snapshot) = eventful();
    let root = sandbox.root();
    let report = raw_command(&root, env!("CARGO_BIN_EXE_tw"))
        .current_dir(sandbox.repo())
        .env("TW_STOP_POINT", "issue-written")
        .args(["--json", "issue", "report", "--snapshot", &snapshot])
        .args(crate::issue::FIELDS)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let report = Held(report.unwrap());
    wait_until_stopped(report.0.id());
    sandbox.ok(["drop", "-y", "--force", &snapshot]);
    go_on(report.0.id());
    assert_is_not_found(report);
    assert_eq!(
        sandbox.json(["issue", "list"])["issues"],
        serde_json::json!([])
    );
}

/// It has looked for an interrupted swap before it waits for the lock.
#[test]
fn a_snapshot_that_waits_for_a_swap_that_dies_recovers_first() {
    waits_and_recovers(&["snapshot"]);
}

#[test]
fn a_checkpoint_that_waits_for_a_swap_that_dies_recovers_first() {
    waits_and_recovers(&["checkpoint", "-m", "a step"]);
}

fn waits_and_recovers(args: &[&str]) {
    let (sandbox, snapshot) = eventful();
    wait_long(&sandbox);
    let before = sandbox.state();
    let root = sandbox.root();
    let tw = || {
        let mut command = raw_command(&root, env!("CARGO_BIN_EXE_tw"));
        command.current_dir(sandbox.repo()).stdout(Stdio::null());
        command.stderr(Stdio::null());
        command
    };
    let travel = tw()
        .env("TW_STOP_POINT", "swap-backup")
        .env("TW_FAIL_POINT", "apply-prepared")
        .args(["travel", &snapshot])
        .spawn();
    let mut travel = Held(travel.unwrap());
    wait_until_stopped(travel.0.id());
    let mut waiting = Held(tw().args(args).spawn().unwrap());
    wait_until_locked_out(&mut waiting);
    go_on(travel.0.id());
    assert!(!travel.0.wait().unwrap().success());
    assert!(waiting.0.wait().unwrap().success());
    let taken = sandbox.json(["show", "latest"])["snapshot"]["commit"].clone();
    let paths = sandbox.git(["ls-tree", "-r", "--name-only", taken.as_str().unwrap()]);
    assert!(!paths.contains(".tw-"), "{paths}");
    before.assert_same(&sandbox.state());
    assert_eq!(litter(&sandbox), [""; 0]);
}

#[test]
fn a_lock_of_gits_is_waited_for_and_named() {
    let (sandbox, snapshot) = eventful();
    sandbox.git(["config", "timewarp.lockTimeout", "1"]);
    for name in ["index.lock", "HEAD.lock"] {
        let before = sandbox.state();
        sandbox.write(format!(".git/{name}"), "");
        let (error, code) = sandbox.json_error(["travel", &snapshot]);
        assert_eq!((&error["code"], code), (&"BUSY".into(), 4), "{error}");
        assert!(error["message"].as_str().unwrap().contains(name), "{error}");
        assert!(sandbox.exists(format!(".git/{name}")), "stolen");
        sandbox.remove(format!(".git/{name}"));
        before.assert_same(&sandbox.state());
        assert_eq!(litter(&sandbox), [""; 0]);
    }
}

/// A child that does not outlive the test, stopped or not.
pub struct Held(pub std::process::Child);

impl Drop for Held {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a process has stopped itself.
pub fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.starts_with('T')
}

/// Waits until a process has stopped itself.
pub fn wait_until_stopped(pid: u32) {
    for _ in 0..2000 {
        if is_stopped(pid) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("process {pid} never stopped");
}

/// Waits until a process has come to the lock of its working tree, which somebody else keeps: it has the gate before it and the lock
/// itself open. What it looked at before that, it has looked at.
pub fn wait_until_locked_out(waiting: &mut Held) {
    wait_until("it waits for the lock", || {
        assert!(waiting.0.try_wait().unwrap().is_none(), "it did not wait");
        let pid = waiting.0.id();
        ["timewarp/gate", "timewarp/lock"]
            .iter()
            .all(|name| has_open(pid, name))
    });
}

/// Whether a process has a file open whose path ends so.
pub fn has_open(pid: u32, name: &str) -> bool {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let mut links = links.into_iter().flatten().flatten();
    links.any(|link| std::fs::read_link(link.path()).is_ok_and(|path| path.ends_with(name)))
}

/// Lets a stopped process go on.
pub fn go_on(pid: u32) {
    let done = Command::new("sh")
        .args(["-c", &format!("kill -CONT {pid}")])
        .status();
    assert!(done.unwrap().success());
}

#[test]
fn linked_worktrees_do_not_wait_for_each_other() {
    let (sandbox, snapshot) = eventful();
    wait_long(&sandbox);
    let root = sandbox.root();
    sandbox.git(["worktree", "add", "-q", "-b", "side", "../side", "other"]);
    let side = sandbox.root().join("side");
    std::fs::write(side.join("side.txt"), "side\n").unwrap();
    let home = sandbox.state();
    let side_home = crate::state::State::capture(&sandbox, &side);
    for round in 0..times() {
        std::thread::scope(|scope| {
            let here = scope.spawn(|| {
                for args in [&["travel", &snapshot][..], &["snapshot"], &["return"]] {
                    let output = tw(&root, "repo", args);
                    assert_eq!(json(&output)["ok"], true, "{args:?} {}", json(&output));
                }
            });
            let there = scope.spawn(|| {
                for args in [&["snapshot"][..], &["travel", &snapshot], &["return"]] {
                    let output = tw(&root, "side", args);
                    assert_eq!(json(&output)["ok"], true, "{args:?} {}", json(&output));
                }
            });
            here.join().unwrap();
            there.join().unwrap();
        });
        let context = format!("round {round}");
        let here = home.differences(&sandbox.state());
        assert!(here.is_empty(), "{context}: {here:?}");
        let there = side_home.differences(&crate::state::State::capture(&sandbox, &side));
        assert!(there.is_empty(), "{context}: {there:?}");
    }
    assert_fsck_clean(&sandbox, "linked worktrees");
    assert_eq!(litter(&sandbox), [""; 0]);
}

#[test]
fn git_may_work_meanwhile_with_its_usual_grace() {
    // Not with `--prune=now`: beside that, git's own `add` and `commit` lose objects.
    beside_git(&["gc", "-q"], true);
}

fn beside_git(gc: &[&str], commits: bool) {
    let sandbox = Sandbox::new();
    wait_long(&sandbox);
    sandbox.git(["config", "gc.auto", "0"]);
    // Locks and their order are what is tried, and not the disk: git would keep 'packed-refs.lock' for as long as that takes.
    sandbox.git(["config", "core.fsync", "none"]);
    sandbox.mkdir("d");
    for name in ["f1", "f2", "d/f3", "d/f4"] {
        sandbox.write(name, "generation 0\n");
    }
    taken(&sandbox);
    let (root, repo, done) = (sandbox.root(), sandbox.repo(), AtomicBool::new(false));
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let over = SetAtEnd(&done);
        scope.spawn(|| edit(&repo, &done));
        scope.spawn(|| {
            while commits && !done.load(Ordering::Relaxed) {
                git(&root, &["add", "-A"]);
                git(&root, &["commit", "-q", "-m", "more"]);
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                git(&root, &["pack-refs", "--all", "--prune"]);
                git(&root, gc);
                git(&root, &["worktree", "prune"]);
            }
        });
        let takers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let one = |_| tw(&root, "repo", &["snapshot"]);
                    (0..2 * times()).map(one).collect::<Vec<_>>()
                })
            })
            .collect();
        let outputs = takers.into_iter().flat_map(|taker| taker.join().unwrap());
        let outputs = outputs.collect();
        drop(over);
        outputs
    });
    for output in &outputs {
        let taken = json(output);
        assert_eq!(taken["ok"], true, "{taken}");
        assert_not_torn(&sandbox, taken["snapshot"]["commit"].as_str().unwrap());
    }
    assert_eq!(
        sandbox.json(["list", "-n", "10000"])["snapshots"]
            .as_array()
            .unwrap()
            .len(),
        outputs.len() + 1
    );
    assert_fsck_clean(&sandbox, "git meanwhile");
}
