//! One writer for all objects, and the keeping of objects: whose process lives is never a matter of its number.

use std::process::Stdio;

use crate::damage::{assert_fsck_clean, assert_nothing_lost, blobs, litter, raw_command};
use crate::faults::killed_at;
use crate::many::{Held, go_on, wait_until_stopped};
use crate::sandbox::Sandbox;
use crate::stage::{KILLED, Stage, eventful, taken};

/// Starts `tw` and waits until it stops at a fail point.
pub fn stopped_at(sandbox: &Sandbox, args: &[&str], point: &str) -> Held {
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
    crate::sandbox::skipped("namespaces", "no pid namespace is to be had here");
    None
}

fn keeps(sandbox: &Sandbox) -> usize {
    packed(sandbox, "keep")
}

fn packs(sandbox: &Sandbox) -> usize {
    packed(sandbox, "pack")
}

/// How many files of a kind lie with the packs.
fn packed(sandbox: &Sandbox, kind: &str) -> usize {
    let entries = std::fs::read_dir(sandbox.path(".git/objects/pack")).unwrap();
    let is_one = |path: std::path::PathBuf| path.extension().is_some_and(|end| end == kind);
    entries
        .filter(|entry| is_one(entry.as_ref().unwrap().path()))
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
fn a_gc_in_another_pid_namespace_is_under_way() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot"]);
    let gc = raw_command(&sandbox.root(), "sleep")
        .arg("600")
        .spawn()
        .map(Held)
        .unwrap();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    sandbox.write(".git/gc.pid", format!("{} {}", gc.0.id(), host.trim_end()));
    sandbox.write("new", "new\n");
    let before = packs(&sandbox);
    // The number is nobody's in there.
    let Some(_) = elsewhere(&sandbox, "\"$TW\" -q snapshot") else {
        return;
    };
    assert_eq!(packs(&sandbox), before + 1);
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

/// What `gc --prune=now` does to objects and refs, also while a swap holds `HEAD.lock`.
fn sweep(sandbox: &Sandbox) {
    sandbox.try_git(["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(["pack-refs", "--all", "--prune"]);
    sandbox.git(["repack", "-a", "-d", "-q"]);
    sandbox.git(["prune", "--expire=now"]);
}

const LATE: [&str; 3] = ["late-objects", "late-journal", "late-ref"];

/// Files that travel moves out, changed after the backup was taken.
fn write_late(sandbox: &Sandbox) {
    sandbox.write("a.txt", "written late\n");
    sandbox.write("new/fresh.txt", "written late, too\n");
}

#[test]
fn late_bytes_survive_a_gc_at_every_step() {
    for point in LATE {
        let (sandbox, snapshot) = eventful();
        let points = format!("swap-journal,{point}");
        let mut child = stopped_at(&sandbox, &["travel", &snapshot], &points);
        write_late(&sandbox);
        let known = blobs(&sandbox);
        go_on(child.0.id());
        wait_until_stopped(child.0.id());
        sweep(&sandbox);
        go_on(child.0.id());
        assert!(child.0.wait().unwrap().success(), "{point}");
        assert_eq!(keeps(&sandbox), 0, "{point}");
        sweep(&sandbox);
        assert_fsck_clean(&sandbox, point);
        assert_nothing_lost(&sandbox, &known, point);
        sandbox.json(["return"]);
        assert_eq!(sandbox.text("a.txt"), "written late\n", "{point}");
        assert_eq!(sandbox.text("new/fresh.txt"), "written late, too\n");
        assert_eq!(litter(&sandbox), [""; 0], "{point}");
    }
}

#[test]
fn late_bytes_survive_a_death_at_every_step() {
    // The second late file comes when the first is in the backup already.
    for point in LATE
        .map(|point| [point.to_owned(), format!("{point}:2")])
        .concat()
    {
        let (sandbox, snapshot) = eventful();
        let mut child = raw_command(&sandbox.root(), env!("CARGO_BIN_EXE_tw"))
            .current_dir(sandbox.repo())
            .env("TW_STOP_POINT", "swap-journal")
            .env("TW_FAIL_POINT", &point)
            .args(["-q", "travel", &snapshot])
            .stderr(Stdio::null())
            .spawn()
            .map(Held)
            .unwrap();
        wait_until_stopped(child.0.id());
        write_late(&sandbox);
        let known = blobs(&sandbox);
        go_on(child.0.id());
        assert!(!child.0.wait().unwrap().success(), "{point}: never passed");
        sweep(&sandbox);
        sandbox.json(["recover", "-y"]);
        sweep(&sandbox);
        assert_fsck_clean(&sandbox, &point);
        assert_nothing_lost(&sandbox, &known, &point);
        assert_eq!(keeps(&sandbox), 0, "{point}");
        assert_eq!(litter(&sandbox), [""; 0], "{point}");
    }
}

#[test]
fn records_survive_a_gc_at_every_step() {
    let report = [
        "issue",
        "report",
        "--task-context",
        "context",
        "--symptom",
        "symptom",
        "--success-criteria",
        "criteria",
    ];
    for args in [&report[..], &["checkpoint", "-m", "noted"]] {
        for point in ["objects-written", "objects-held"] {
            let sandbox = Sandbox::new();
            sandbox.json(["session", "start", "--session", "here"]);
            let mut child = stopped_at(&sandbox, args, point);
            sweep(&sandbox);
            go_on(child.0.id());
            assert!(child.0.wait().unwrap().success(), "{args:?} {point}");
            assert_fsck_clean(&sandbox, &format!("{args:?} {point}"));
            sandbox.git(["gc", "-q", "--prune=now"]);
            assert_fsck_clean(&sandbox, &format!("{args:?} {point}, then gc"));
            if args[0] == "issue" {
                let issues = sandbox.json(["issue", "list"]);
                let id = issues["issues"][0]["issue_id"].as_str().unwrap().to_owned();
                sandbox.json(["issue", "get", &id]);
            } else {
                let shown = sandbox.json(["session", "show", "here"]);
                assert_eq!(shown["session"]["checkpoints"], 1, "{shown}");
            }
            assert_eq!(keeps(&sandbox), 0);
        }
    }
}

#[test]
fn what_is_intended_to_be_added_survives_a_gc_at_the_switch_of_the_index() {
    let sandbox = Sandbox::new();
    sandbox.write("new", "new\n");
    sandbox.git(["add", "-N", "new"]);
    let id = taken(&sandbox);
    let empty = sandbox.git(["hash-object", "/dev/null"]);
    let empty = empty.trim();
    sandbox.git(["reset", "-q"]);
    sandbox.git(["prune", "--expire=now"]);
    assert_ne!(sandbox.try_git(["cat-file", "-e", empty]).code, 0);
    let mut child = stopped_at(&sandbox, &["travel", &id], "index-written");
    sweep(&sandbox);
    go_on(child.0.id());
    assert!(child.0.wait().unwrap().success());
    sandbox.git(["cat-file", "-e", empty]);
    assert_fsck_clean(&sandbox, "a path that is intended to be added");
    assert_eq!(
        sandbox.git(["ls-files", "-s", "new"]),
        format!("100644 {empty} 0\tnew\n")
    );
    assert_eq!(keeps(&sandbox), 0);
    sandbox.json(["return"]);
}

#[test]
fn a_symbolic_ref_as_the_anchor_stops_no_snapshot() {
    let sandbox = Sandbox::new();
    let id = taken(&sandbox);
    let anchor = format!("refs/timewarp/snapshots/{id}");
    let commit = sandbox.git(["rev-parse", &anchor]);
    sandbox.git(["update-ref", "refs/heads/elsewhere", commit.trim()]);
    sandbox.git(["symbolic-ref", &anchor, "refs/heads/elsewhere"]);
    sandbox.write("a.txt", "two\n");
    taken(&sandbox);
    sandbox.write("a.txt", "three\n");
    let last = taken(&sandbox);
    assert_fsck_clean(&sandbox, "symbolic anchor");
    sandbox.assert_round_trip(&last, |_| ());
}

/// What nothing holds may go with a gc that is under way: no ref may be left that leads to less than all.
#[test]
fn what_was_dropped_comes_back_whole_or_not_at_all() {
    let sandbox = Sandbox::new();
    sandbox.write("new", "of the snapshot alone\n");
    let id = taken(&sandbox);
    sandbox.ok(["drop", "-y", &id]);
    let reference = format!("refs/timewarp/snapshots/{id}");
    let is_there = || {
        sandbox
            .try_git(["rev-parse", "-q", "--verify", &reference])
            .code
            == 0
    };
    let back = ["recover", "--dropped", id.as_str()];
    let under_way = || {
        let gc = raw_command(&sandbox.root(), "sleep").arg("600").spawn();
        let gc = gc.map(Held).unwrap();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        sandbox.write(".git/gc.pid", format!("{} {}", gc.0.id(), host.trim_end()));
        gc
    };
    let gc = under_way();
    let (error, code) = sandbox.json_error(back);
    assert_eq!((error["code"].as_str(), code), (Some("BUSY"), 4), "{error}");
    drop(gc);
    std::fs::remove_file(sandbox.path(".git/gc.pid")).unwrap();

    // One that began when the ref was not there yet.
    let mut child = stopped_at(&sandbox, &back, "ref-again");
    assert!(is_there());
    let gc = under_way();
    go_on(child.0.id());
    assert_eq!(child.0.wait().unwrap().code(), Some(4));
    assert!(!is_there());
    drop(gc);
    std::fs::remove_file(sandbox.path(".git/gc.pid")).unwrap();

    // One that has ended by then took a file.
    let blob = sandbox.git(["hash-object", "new"]);
    let loose = format!(".git/objects/{}/{}", &blob[..2], blob[2..].trim());
    let bytes = std::fs::read(sandbox.path(&loose)).unwrap();
    let mut child = stopped_at(&sandbox, &back, "ref-again");
    std::fs::remove_file(sandbox.path(&loose)).unwrap();
    go_on(child.0.id());
    assert_eq!(child.0.wait().unwrap().code(), Some(3));
    assert!(!is_there());
    std::fs::write(sandbox.path(&loose), bytes).unwrap();

    sandbox.ok(back);
    assert!(is_there());
    sweep(&sandbox);
    assert_fsck_clean(&sandbox, "taken back");
}

/// git reads every ref each time that it is asked: what thousands need is asked once.
#[test]
fn many_that_were_dropped_come_back_with_few_looks_or_none_does() {
    let sandbox = Sandbox::new();
    let make = |nth: u32| {
        sandbox.write("new", format!("{nth}\n"));
        let blob = sandbox.git(["hash-object", "new"]);
        (
            taken(&sandbox),
            format!(".git/objects/{}/{}", &blob[..2], blob[2..].trim()),
        )
    };
    let made: Vec<(String, String)> = (0..8).map(make).collect();
    let ids = || made.iter().map(|(id, _)| id.as_str());
    sandbox.ok(["drop", "-y"].into_iter().chain(ids()));
    let listed = || sandbox.json(["list"])["total"].as_u64();
    assert_eq!(listed(), Some(0));

    let (bin, log) = (sandbox.root().join("bin"), sandbox.root().join("asked"));
    let git = sandbox
        .command("sh")
        .args(["-c", "command -v git"])
        .output()
        .unwrap();
    let git = String::from_utf8(git.stdout).unwrap();
    sandbox.program(
        bin.join("git"),
        format!(
            "#!/bin/sh\necho \"$*\" >>'{}'\nexec {} \"$@\"\n",
            log.display(),
            git.trim()
        ),
    );
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let back = || {
        let mut command = sandbox.tw_command();
        command.env("PATH", &path).args(["recover", "--dropped"]);
        command.args(ids()).output().unwrap()
    };
    // One that is torn is named, and keeps all others from coming back.
    let (torn, file) = &made[5];
    let bytes = std::fs::read(sandbox.path(file)).unwrap();
    std::fs::remove_file(sandbox.path(file)).unwrap();
    let output = back();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("'{torn}'")));
    assert_eq!(listed(), Some(0));
    std::fs::write(sandbox.path(file), bytes).unwrap();

    let _ = std::fs::remove_file(&log);
    assert_eq!(back().status.code(), Some(0));
    assert_eq!(listed(), Some(8));
    let asked = std::fs::read_to_string(&log).unwrap_or_default();
    let looks = asked
        .lines()
        .filter(|line| line.contains("rev-list"))
        .count();
    // Before the refs are made, and after.
    assert_eq!(looks, 2, "{asked}");

    // Who died halfway is asked the same again.
    sandbox.ok(["drop", "-y"].into_iter().chain(ids()));
    let again: Vec<&str> = ["recover", "--dropped"].into_iter().chain(ids()).collect();
    // A table has all refs or none.
    let (point, placed) = if sandbox.has_reftable() {
        ("ref-placed:1", 0)
    } else {
        ("ref-placed:3", 3)
    };
    killed_at(&sandbox, point, &again);
    assert_eq!(listed(), Some(placed));
    sandbox.ok(&again);
    assert_eq!(listed(), Some(8));
    assert_fsck_clean(&sandbox, "taken back");
}
