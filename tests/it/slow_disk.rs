//! File systems on which files are slow to make and to delete: what a swap makes is made elsewhere first, and what it replaced is deleted
//! after it. `TW_TEST_SLOW_DISK=1` runs all other tests as on such a one.

use std::os::unix::fs::MetadataExt;

use crate::damage::{assert_fsck_clean, litter};
use crate::faults::killed_at;
use crate::sandbox::{SLOW_DISK, Sandbox, is_root, skipped, wait_until};
use crate::trip::snapshot;

/// A working tree with changes of every kind since the snapshot that is answered.
fn edited() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    for name in ["replaced", "sub/replaced", "sub/runs", "removed/x"] {
        sandbox.write(name, format!("then {name}\n"));
    }
    sandbox.chmod("sub/runs", 0o755);
    sandbox.symlink("replaced", "link");
    let past = snapshot(&sandbox);
    for name in ["replaced", "sub/replaced", "sub/runs", "made/x"] {
        sandbox.write(name, format!("a secret of now: {name}\n"));
    }
    sandbox.chmod("sub/replaced", 0o600);
    sandbox.remove("link");
    sandbox.symlink("sub", "link");
    sandbox.remove("removed");
    (sandbox, past)
}

fn slowly(sandbox: &Sandbox, args: &[&str]) -> serde_json::Value {
    let mut command = sandbox.tw_command();
    let output = command.env(SLOW_DISK, "1").arg("--json").args(args);
    let said = crate::damage::document(&output.output().unwrap().into());
    assert_eq!(said["ok"], true, "{args:?}: {said}");
    said
}

/// How many files of other swaps wait to be deleted.
fn waiting(sandbox: &Sandbox) -> usize {
    let mut files = 0;
    crate::damage::walk(&sandbox.path(".git/timewarp/workshop"), &mut |path| {
        files += usize::from(!path.is_dir());
    });
    files
}

#[test]
fn a_trip_leads_there_and_back_and_what_it_replaced_is_deleted_after_it() {
    let (sandbox, past) = edited();
    let present = sandbox.state();
    slowly(&sandbox, &["travel", &past]);
    assert_eq!(sandbox.text("sub/runs"), "then sub/runs\n");
    assert_eq!(sandbox.text("link"), "then replaced\n");
    let of = |name: &str| sandbox.path(name).symlink_metadata().unwrap();
    assert_eq!(of("sub/runs").mode() & 0o7777, 0o755);
    assert_eq!(of("sub/runs").gid(), of("sub").gid());
    assert_eq!(waiting(&sandbox), 5, "what was replaced or removed");
    assert_eq!(
        litter(&sandbox),
        [""; 0],
        "it is not named as what a swap needs"
    );
    assert_eq!(slowly(&sandbox, &["return"])["verified"], true);
    present.assert_same(&sandbox.state());
    assert_eq!(litter(&sandbox), [""; 0]);
    assert_eq!(waiting(&sandbox), 10);
    let background = sandbox.tw(["__background"]);
    assert_eq!(background.code, 0, "{background:?}");
    assert_eq!(waiting(&sandbox), 0);
    assert!(sandbox.path(".git/timewarp/workshop").is_dir());
}

#[test]
fn nobody_finds_what_waits_there_after_a_purge() {
    let (sandbox, past) = edited();
    slowly(&sandbox, &["restore", &past]);
    let found = || {
        let mut grep = sandbox.command("grep");
        let output = grep.args(["-rl", "a secret of now", ".git/timewarp"]);
        output.output().unwrap().stdout.len()
    };
    assert_ne!(found(), 0);
    sandbox.json(["purge", "--yes-purge", "replaced"]);
    assert_eq!(found(), 0);
}

#[test]
fn a_kill_leaves_nothing_that_recovery_does_not_clear_away() {
    for point in [
        "apply-born:1",
        "apply-born:3",
        "apply-prepared:1",
        "apply-exchanged:2",
        "apply-letting-go:2",
        "swap-applied:1",
        "swap-state:1",
    ] {
        let (sandbox, past) = edited();
        let present = sandbox.state();
        let mut dying = sandbox.tw_command();
        dying.env(SLOW_DISK, "1").env("TW_FAIL_POINT", point);
        let output = dying.args(["travel", &past]).output().unwrap();
        assert!(!output.status.success(), "{point}");
        slowly(&sandbox, &["recover"]);
        assert_eq!(litter(&sandbox), [""; 0], "{point}");
        if sandbox.json(["status"])["mode"] == "past" {
            slowly(&sandbox, &["return"]);
        }
        present.assert_same(&sandbox.state());
        assert_fsck_clean(&sandbox, point);
    }
    // What the recovery itself has replaced is deleted without another command.
    let (sandbox, past) = edited();
    killed_at(&sandbox, "apply-exchanged:4", &["travel", &past]);
    let mut recovering = sandbox.tw_command();
    recovering
        .env(SLOW_DISK, "1")
        .env_remove("TW_NO_BACKGROUND");
    let recovered = recovering.arg("recover").output().unwrap();
    assert!(recovered.status.success());
    wait_until("all is deleted", || waiting(&sandbox) == 0);
    // Where no swap uses it any more, either.
    let (sandbox, past) = edited();
    killed_at(&sandbox, "apply-exchanged:2", &["travel", &past]);
    slowly(&sandbox, &["recover"]);
    assert_eq!(litter(&sandbox), [""; 0]);
}

/// What is made in such a directory has a group that files made elsewhere have not.
#[test]
fn a_directory_that_gives_its_group_gives_it_to_what_a_swap_makes() {
    if !is_root() {
        skipped("root", "only root gives a directory to any group");
        return;
    }
    let (sandbox, past) = edited();
    let sub = sandbox.path("sub");
    std::os::unix::fs::chown(&sub, None, Some(12_345)).unwrap();
    sandbox.chmod("sub", 0o2755);
    sandbox.remove("sub/replaced");
    slowly(&sandbox, &["restore", &past, "sub/replaced"]);
    let plain = sub.join("beside it");
    std::fs::write(&plain, "").unwrap();
    let group = plain.metadata().unwrap().gid();
    assert_eq!(group, 12_345);
    assert_eq!(sub.join("replaced").metadata().unwrap().gid(), group);
}

/// Where trees come and go, each is put into a part of the disk of its own, as far as the file system knows how.
#[test]
fn scratches_are_spread_over_the_disk() {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    let flags_of = |name: &str| ioctl_getflags(std::fs::File::open(sandbox.path(name)).unwrap());
    std::fs::create_dir(sandbox.path("../by-hand")).unwrap();
    let by_hand = std::fs::File::open(sandbox.path("../by-hand")).unwrap();
    let known =
        ioctl_getflags(&by_hand).and_then(|flags| ioctl_setflags(&by_hand, flags | IFlags::TOPDIR));
    sandbox.json(["open", &id, "../trees/first"]);
    let is_spread = flags_of("../trees").is_ok_and(|flags| flags.contains(IFlags::TOPDIR));
    assert_eq!(is_spread, known.is_ok());
    // What somebody else has made is left as it is.
    std::fs::create_dir(sandbox.path("../theirs")).unwrap();
    let before = flags_of("../theirs").ok();
    sandbox.json(["open", &id, "../theirs/second"]);
    assert_eq!(flags_of("../theirs").ok(), before);
}
