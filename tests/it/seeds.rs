//! When an object id may stand for a file's bytes: seeds from git's index, objects that are not there, coarse times.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::sandbox::Sandbox;

/// Waits for the beginning of a second of the real clock, which stamps are taken from.
fn wait_for_a_new_second() {
    let nanos = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        now.subsec_millis()
    };
    while nanos() > 150 {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Bytes of a path as the newest snapshot has them.
fn stored(sandbox: &Sandbox, path: &str) -> String {
    let shown = sandbox.json(["show", "latest"]);
    let commit = shown["snapshot"]["commit"].as_str().unwrap().to_owned();
    sandbox.git(["cat-file", "blob", &format!("{commit}:{path}")])
}

/// With times in whole seconds, edits of the same size right after a snapshot, of a known file and of a directory, are seen.
#[test]
fn an_edit_within_the_second_of_a_snapshot_is_seen_where_times_are_coarse() {
    let sandbox = Sandbox::new();
    let snapshot = || {
        let mut command = sandbox.tw_command();
        command.env("TW_TEST_COARSE_TIMES", "1").args(["snapshot"]);
        command.assert().success();
    };
    sandbox.write("dir/b.txt", "old\n");
    std::thread::sleep(Duration::from_millis(2100));
    snapshot();
    for round in 0..3 {
        wait_for_a_new_second();
        sandbox.write("a.txt", format!("o{round}e\n"));
        sandbox.write(format!("dir/x{round}"), "1\n");
        snapshot();
        sandbox.write("a.txt", format!("t{round}o\n"));
        std::fs::rename(
            sandbox.path(format!("dir/x{round}")),
            sandbox.path(format!("dir/y{round}")),
        )
        .unwrap();
        snapshot();
        assert_eq!(stored(&sandbox, "a.txt"), format!("t{round}o\n"));
        assert_eq!(stored(&sandbox, &format!("dir/y{round}")), "1\n");
    }
}

/// A file system in a file, mounted; unmounted when dropped.
struct Disk(PathBuf);

impl Disk {
    /// `None`, with the reason printed, where it cannot be had.
    fn mount(sandbox: &Sandbox, make: &str) -> Option<Self> {
        let image = sandbox.root().join("image");
        let at = sandbox.repo();
        std::fs::File::create(&image)
            .unwrap()
            .set_len(32 << 20)
            .unwrap();
        std::fs::create_dir_all(&at).unwrap();
        let script = format!(
            "{make} '{}' >/dev/null 2>&1 && mount -o loop '{}' '{}'",
            image.display(),
            image.display(),
            at.display()
        );
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        if output.status.success() {
            return Some(Self(at));
        }
        eprintln!("skipped: no '{make}' can be mounted here");
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn sees_edits_within_a_second(sandbox: &Sandbox) {
    sandbox.git(["init", "-q", "-b", "main"]);
    sandbox.write("a.txt", "one\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "first"]);
    sandbox.ok(["snapshot"]);
    for round in 0..4 {
        wait_for_a_new_second();
        for text in ["o", "t"] {
            sandbox.write("a.txt", format!("{text}{round}x\n"));
            sandbox.ok(["snapshot"]);
            assert_eq!(stored(sandbox, "a.txt"), format!("{text}{round}x\n"));
        }
        sandbox.git(["add", "-A"]);
        sandbox.write("a.txt", format!("n{round}x\n"));
        std::fs::remove_file(sandbox.path(".git/timewarp/cache")).unwrap();
        sandbox.ok(["snapshot"]);
        assert_eq!(stored(sandbox, "a.txt"), format!("n{round}x\n"));
    }
}

/// ext4 with inodes of 128 bytes keeps whole seconds, FAT every second one.
#[test]
fn an_edit_within_the_second_of_a_snapshot_is_seen_on_disks_that_count_seconds() {
    for make in ["mkfs.ext4 -q -F -I 128", "mkfs.vfat"] {
        let sandbox = Sandbox::bare_room();
        if let Some(_disk) = Disk::mount(&sandbox, make) {
            sees_edits_within_a_second(&sandbox);
        }
    }
}
