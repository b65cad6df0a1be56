//! `git gc --prune=now` with every reflog expired, at every moment: what is listed and what is needed stays whole.

use std::process::Stdio;

use crate::damage::{assert_fsck_clean, assert_nothing_lost, blobs, litter, raw_command};
use crate::many::{Held, go_on, wait_until_stopped};
use crate::sandbox::Sandbox;
use crate::stage::{KILLED, POINTS, Stage, eventful, taken};
use crate::state::State;

fn gc(sandbox: &Sandbox) {
    sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
}

#[test]
fn gc_between_any_two_commands_takes_nothing() {
    let (sandbox, snapshot) = eventful();
    let home = sandbox.state();
    let mut known = blobs(&sandbox);
    let mut step = |args: &[&str]| {
        gc(&sandbox);
        sandbox.json(args);
        known.extend(blobs(&sandbox));
        assert_nothing_lost(&sandbox, &known, &format!("{args:?}"));
    };
    step(&["travel", &snapshot]);
    sandbox.write("a.txt", "made in the past\n");
    let past = sandbox.state();
    step(&["snapshot"]);
    step(&["return"]);
    home.assert_same(&sandbox.state());
    step(&["undo", "-y"]);
    past.assert_same(&sandbox.state());
    step(&["redo"]);
    home.assert_same(&sandbox.state());
    step(&["restore", &snapshot]);
    step(&["undo", "-y"]);
    step(&["snapshot"]);
    gc(&sandbox);
    home.assert_same(&sandbox.state());
    assert_fsck_clean(&sandbox, "after all");
}

/// `git maintenance` packs loose objects into `loose-….pack`, and git reads a pack of any name.
#[test]
fn packs_that_git_maintenance_made_are_read() {
    let (sandbox, snapshot) = eventful();
    for _ in 0..2 {
        sandbox.git(["maintenance", "run", "--task=loose-objects"]);
    }
    let packs = std::fs::read_dir(sandbox.path(".git/objects/pack")).unwrap();
    let is_loose = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("loose-");
    assert!(packs.flatten().any(|it| is_loose(&it.file_name())));
    taken(&sandbox);
    sandbox.assert_round_trip(&snapshot, |_| {});
    sandbox.write("a.txt", "after the maintenance\n");
    let again = taken(&sandbox);
    sandbox.assert_round_trip(&again, gc);
    assert_fsck_clean(&sandbox, "after git maintenance");
}

#[test]
fn gc_after_the_anchor_is_gone_makes_no_hollow_snapshot() {
    let (sandbox, _) = eventful();
    let id = taken(&sandbox);
    let first = sandbox.json(["list"])["snapshots"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(first, 2);
    sandbox.git(["update-ref", "-d", &format!("refs/timewarp/snapshots/{id}")]);
    gc(&sandbox);
    let again = taken(&sandbox);
    gc(&sandbox);
    assert_fsck_clean(&sandbox, "anchor gone");
    sandbox.assert_round_trip(&again, gc);
}

#[test]
fn old_unreachable_objects_that_a_snapshot_reuses_stay() {
    let sandbox = Sandbox::new();
    sandbox.write("again.txt", "seen before\n");
    let oid = sandbox.git(["hash-object", "-w", "again.txt"]);
    let oid = oid.trim();
    let object = sandbox.path(format!(".git/objects/{}/{}", &oid[..2], &oid[2..]));
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(90 * 24 * 3600);
    let file = std::fs::File::open(&object).unwrap();
    file.set_modified(old).unwrap();
    // gc with its usual grace of two weeks, while the snapshot is between objects and ref.
    with_pause(&sandbox, &["snapshot"], "record-written", &|sandbox| {
        sandbox.git(["gc", "-q"]);
    });
    gc(&sandbox);
    assert_fsck_clean(&sandbox, "reused");
    let commit = sandbox.json(["show", "latest"])["snapshot"]["commit"].clone();
    let spec = format!("{}:again.txt", commit.as_str().unwrap());
    assert_eq!(sandbox.git(["cat-file", "blob", &spec]), "seen before\n");
}

/// What `gc --prune=now` does to objects and refs: git refuses the whole while a swap holds `HEAD.lock`.
fn sweep(sandbox: &Sandbox) {
    sandbox.try_git(["reflog", "expire", "--expire=now", "--all"]);
    let packed = sandbox.try_git(["pack-refs", "--all", "--prune"]);
    // Tables have one lock for all refs: git does nothing while a swap holds HEAD's.
    let is_held = sandbox.has_reftable() && packed.err().contains("data is locked");
    assert!(packed.code == 0 || is_held, "{}", packed.err());
    sandbox.git(["repack", "-a", "-d", "-q"]);
    sandbox.git(["prune", "--expire=now"]);
}

/// Runs `tw`, stops it at a fail point, lets `meanwhile` work, and lets it end, which must be well.
pub fn with_pause(
    sandbox: &Sandbox,
    args: &[&str],
    point: &str,
    meanwhile: &dyn Fn(&Sandbox),
) -> bool {
    let mut child = raw_command(&sandbox.root(), env!("CARGO_BIN_EXE_tw"))
        .current_dir(sandbox.repo())
        .env("TW_STOP_POINT", point)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(Held)
        .unwrap();
    let stopped = has_stopped(&mut child.0);
    if stopped {
        wait_until_stopped(child.0.id());
        meanwhile(sandbox);
        go_on(child.0.id());
    }
    let status = child.0.wait().unwrap();
    assert!(
        status.success(),
        "{args:?} after a pause at {point}: {status}"
    );
    stopped
}

/// Waits until the child has either stopped or ended.
fn has_stopped(child: &mut std::process::Child) -> bool {
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        match stat.rsplit_once(") ").unwrap().1.chars().next() {
            Some('T') => return true,
            Some('Z' | 'X') => return false,
            _ => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
}

/// Garbage is collected while a command waits at each fail point that it passes.
fn gc_in_the_middle_of(args: &[&str]) {
    let (sandbox, snapshot) = eventful();
    let home = sandbox.state();
    if args == ["return"] {
        sandbox.json(["travel", &snapshot]);
        sandbox.write("a.txt", "made in the past\n");
    }
    let args: Vec<&str> = args
        .iter()
        .map(|&arg| if arg == "SNAPSHOT" { &snapshot } else { arg })
        .collect();
    let stage = Stage::new(sandbox, &args, None);
    let mut stopped = 0;
    for point in POINTS {
        stage.rewind();
        let sandbox = &stage.sandbox;
        if !with_pause(sandbox, &args, point, &sweep) {
            continue;
        }
        stopped += 1;
        let context = format!("{args:?}, gc at {point}");
        gc(sandbox);
        assert_fsck_clean(sandbox, &context);
        assert_nothing_lost(sandbox, &stage.bytes, &context);
        let far = stage.new.differences(&sandbox.state());
        assert!(far.is_empty(), "{context}: {far:?}");
        assert_eq!(litter(sandbox), [""; 0], "{context}");
        if args[0] == "travel" {
            sandbox.json(["return"]);
            home.assert_same(&sandbox.state());
        }
    }
    assert!(stopped >= 3, "{args:?}: {stopped}");
}

#[test]
fn gc_in_the_middle_of_a_snapshot_takes_nothing() {
    gc_in_the_middle_of(&["snapshot"]);
}

#[test]
fn gc_in_the_middle_of_a_travel_takes_nothing() {
    gc_in_the_middle_of(&["travel", "SNAPSHOT"]);
}

#[test]
fn gc_in_the_middle_of_a_return_takes_nothing() {
    gc_in_the_middle_of(&["return"]);
}

/// A travel that is killed at each fail point from the first to the last, garbage collected, and recovered from.
fn gc_after_a_death_between(first: &str, last: &str) {
    let (sandbox, snapshot) = eventful();
    let home = sandbox.state();
    let stage = Stage::new(sandbox, &["travel", &snapshot], Some(home));
    let place = |name: &str| POINTS.iter().position(|point| *point == name).unwrap();
    let mut killed = 0;
    for point in &POINTS[place(first)..=place(last)] {
        for way in [&["recover"][..], &["recover", "--forward"]] {
            stage.rewind();
            if stage.run_until(&stage.args, point).code != KILLED {
                continue;
            }
            killed += 1;
            // git's own gc does not touch the index.lock of a dead swap, nor does it need to.
            stage
                .sandbox
                .try_git(["reflog", "expire", "--expire=now", "--all"]);
            stage.sandbox.try_git(["gc", "-q", "--prune=now"]);
            stage.recover_and_check(way, &format!("{point} and gc"));
        }
    }
    assert!(killed >= 4, "{first} to {last}: {killed}");
}

#[test]
fn gc_after_a_death_while_recording_takes_nothing_that_recovery_needs() {
    gc_after_a_death_between("record-objects", "swap-journal");
}

#[test]
fn gc_after_a_death_while_writing_takes_nothing_that_recovery_needs() {
    gc_after_a_death_between("apply-written", "apply-dirs");
}

#[test]
fn gc_after_a_death_while_switching_takes_nothing_that_recovery_needs() {
    gc_after_a_death_between("apply-exchanged", "swap-applied");
}

#[test]
fn gc_after_a_death_at_the_end_takes_nothing_that_recovery_needs() {
    gc_after_a_death_between("swap-index", "recover-git");
}

/// Two branches that conflict in `both.txt`, with `main` checked out.
fn conflicting() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("both.txt", "base\n");
    sandbox.write("mine.txt", "base\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "base"]);
    sandbox.git(["checkout", "-q", "-b", "topic"]);
    sandbox.write("both.txt", "topic\n");
    sandbox.git(["commit", "-q", "-am", "topic"]);
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "topic again"]);
    sandbox.git(["checkout", "-q", "main"]);
    taken(&sandbox);
    sandbox.write("both.txt", "main\n");
    sandbox.git(["commit", "-q", "-am", "main"]);
    sandbox
}

/// Travels, collects garbage, works in the past, collects again, returns, and finds `abort` doing what it would have done.
fn abort_after_a_trip(sandbox: &Sandbox, abort: &[&str]) -> State {
    sandbox.assert_round_trip("latest", |sandbox| {
        gc(sandbox);
        sandbox.write("both.txt", "in the past\n");
        sandbox.git(["commit", "-q", "-am", "in the past"]);
        gc(sandbox);
    });
    gc(sandbox);
    sandbox.git(abort);
    assert_fsck_clean(sandbox, &format!("{abort:?}"));
    sandbox.state()
}

#[test]
fn a_merge_left_in_the_present_can_be_aborted_after_gc_in_the_past() {
    let sandbox = conflicting();
    let before = sandbox.state();
    assert_eq!(sandbox.try_git(["merge", "topic"]).code, 1);
    sandbox.write("both.txt", "half resolved\n");
    let after = abort_after_a_trip(&sandbox, &["merge", "--abort"]);
    let told: Vec<_> = before
        .differences(&after)
        .into_iter()
        .filter(|line| !line.contains("ORIG_HEAD"))
        .collect();
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn a_rebase_with_autostash_can_be_aborted_after_gc_in_the_past() {
    let sandbox = conflicting();
    sandbox.git(["checkout", "-q", "topic"]);
    sandbox.write("mine.txt", "not committed\n");
    assert_eq!(sandbox.try_git(["rebase", "--autostash", "main"]).code, 1);
    assert_eq!(sandbox.text("mine.txt"), "base\n");
    abort_after_a_trip(&sandbox, &["rebase", "--abort"]);
    assert_eq!(sandbox.text("mine.txt"), "not committed\n");
    assert_eq!(
        sandbox.git(["symbolic-ref", "HEAD"]).trim(),
        "refs/heads/topic"
    );
    assert_eq!(sandbox.text("both.txt"), "topic\n");
}

#[test]
fn a_bisect_can_be_reset_after_gc_in_the_past() {
    let sandbox = conflicting();
    sandbox.git(["checkout", "-q", "topic"]);
    sandbox.git(["bisect", "start"]);
    sandbox.git(["bisect", "bad"]);
    sandbox.git(["bisect", "good", "HEAD~3"]);
    abort_after_a_trip(&sandbox, &["bisect", "reset"]);
    assert_eq!(
        sandbox.git(["symbolic-ref", "HEAD"]).trim(),
        "refs/heads/topic"
    );
}

#[test]
fn a_cherry_pick_and_a_revert_can_be_aborted_after_gc_in_the_past() {
    for command in ["cherry-pick", "revert"] {
        let sandbox = conflicting();
        if command == "revert" {
            sandbox.write("both.txt", "main again\n");
            sandbox.git(["commit", "-q", "-am", "again"]);
        }
        let commit = if command == "revert" {
            "HEAD~1"
        } else {
            "topic~1"
        };
        assert_eq!(sandbox.try_git([command, commit]).code, 1, "{command}");
        abort_after_a_trip(&sandbox, &[command, "--abort"]);
    }
}

/// git keeps nothing of what `AUTO_MERGE` names: the tree of a conflict that is being resolved.
#[test]
fn gc_takes_no_tree_that_an_operation_names_from_a_snapshot() {
    let sandbox = conflicting();
    let before = taken(&sandbox);
    sandbox.git(["config", "gc.auto", "0"]);
    let merge = || {
        sandbox.git(["reset", "-q", "--hard"]);
        assert_ne!(sandbox.try_git(["merge", "-q", "topic"]).code, 0);
        sandbox.write("both.txt", "resolved\n");
        sandbox.git(["rev-parse", "AUTO_MERGE"])
    };
    for args in [&["snapshot"][..], &["travel", &before]] {
        for point in ["record-objects", "record-written", "record-ref"] {
            let named = merge();
            with_pause(&sandbox, args, point, &sweep);
            if args.len() > 1 {
                sandbox.json(["return"]);
            }
            assert_eq!(sandbox.git(["rev-parse", "AUTO_MERGE"]), named);
            assert_fsck_clean(&sandbox, point);
            gc(&sandbox);
        }
    }
    // Where git has taken it before, the snapshot goes without.
    merge();
    gc(&sandbox);
    taken(&sandbox);
    assert_fsck_clean(&sandbox, "without the tree");
    gc(&sandbox);
}
