//! Directories in which names cannot be changed: append-only ones, and read-only ones.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command;

use rustix::fs::IFlags;
use serde_json::Value;

use crate::damage::litter;
use crate::provided::{root_or, skipped};
use crate::sandbox::Sandbox;
use crate::trip::{snapshot, with_stop};

/// Gives a path these flags. False: the file system has none, or this is not root.
fn flag(path: PathBuf, flags: IFlags) -> bool {
    let file = std::fs::File::open(path).unwrap();
    let done = rustix::fs::ioctl_setflags(file, flags).is_ok();
    if !done {
        skipped(
            root_or("a file system with flags"),
            "here no file can be made immutable",
        );
    }
    done
}

/// A file that differs in `D`, one beside it, and the snapshot of before.
fn with_directory() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("D/f", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("D/f", "now\n");
    sandbox.write("a.txt", "now\n");
    (sandbox, id)
}

fn unflagged(sandbox: &Sandbox, path: &str) -> String {
    let there = sandbox.path(path);
    let told = "the file system lets nobody change them; as root: chattr -i -a -- ";
    format!("{told}{}", there.display())
}

#[test]
fn names_that_nobody_may_change_are_refused_before_anything_is_saved() {
    let (sandbox, id) = with_directory();
    let before = sandbox.state();
    for (path, flags) in [
        ("D", IFlags::APPEND),
        ("D", IFlags::IMMUTABLE),
        (".git/index", IFlags::IMMUTABLE),
        (".git/index", IFlags::APPEND),
    ] {
        let refs = sandbox.git(["for-each-ref"]);
        if !flag(sandbox.path(path), flags) {
            return;
        }
        let (error, code) = sandbox.json_error(["travel", &id]);
        flag(sandbox.path(path), IFlags::empty());
        assert_eq!((error["code"].as_str(), code), (Some("IO"), 1), "{error}");
        assert_eq!(error["hint"], *unflagged(&sandbox, path), "{error}");
        before.assert_same(&sandbox.state());
        assert_eq!(sandbox.git(["for-each-ref"]), refs);
        assert_eq!(litter(&sandbox), [""; 0]);
    }
    sandbox.json(["travel", &id]);
    assert!(flag(sandbox.path("D"), IFlags::APPEND));
    let (error, _) = sandbox.json_error(["return"]);
    assert_eq!(error["hint"], *unflagged(&sandbox, "D"), "{error}");
    flag(sandbox.path("D"), IFlags::empty());
    sandbox.json(["return"]);
    before.assert_same(&sandbox.state());
}

/// What a travel says that stops where it is told, while the path gets its flag.
fn travel_while_flagged(sandbox: &Sandbox, id: &str, stop: &str, path: &str) -> Option<Value> {
    let is_flagged = Cell::new(false);
    let meanwhile = || is_flagged.set(flag(sandbox.path(path), IFlags::APPEND));
    let answer = with_stop(sandbox, &["travel", id], stop, meanwhile);
    is_flagged.get().then(|| answer["error"].clone())
}

#[test]
fn all_else_is_put_back_where_a_directory_lets_nobody_change_its_names() {
    let (sandbox, id) = with_directory();
    let before = sandbox.state();
    let Some(error) = travel_while_flagged(&sandbox, &id, "apply-prepared", "D") else {
        return;
    };
    assert_eq!(error["code"], "INTERRUPTED", "{error}");
    assert_eq!(error["hint"], *unflagged(&sandbox, "D"), "{error}");
    assert_eq!(sandbox.text("a.txt"), "now\n");
    let (error, _) = sandbox.json_error(["recover"]);
    assert_eq!(error["hint"], *unflagged(&sandbox, "D"), "{error}");
    flag(sandbox.path("D"), IFlags::empty());
    sandbox.json(["recover"]);
    before.assert_same(&sandbox.state());
    assert_eq!(litter(&sandbox), [""; 0]);
}

#[test]
fn an_index_that_nobody_may_replace_is_not_put_back() {
    let (sandbox, id) = with_directory();
    let before = sandbox.state();
    let Some(error) = travel_while_flagged(&sandbox, &id, "swap-backup", ".git/index") else {
        return;
    };
    flag(sandbox.path(".git/index"), IFlags::empty());
    assert_eq!(error["code"], "IO", "{error}");
    assert_eq!(error["hint"], *unflagged(&sandbox, ".git/index"), "{error}");
    before.assert_same(&sandbox.state());
    assert_eq!(litter(&sandbox), [""; 0]);
    assert!(sandbox.json(["status"])["interrupted"].is_null());
}

/// What is mounted, until the test ends.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: something may still stand in it.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn mounted(sandbox: &Sandbox, script: &str, at: PathBuf) -> Option<Mounted> {
    let mut shell = sandbox.command("sh");
    let shell = shell.current_dir(sandbox.repo()).args(["-ec", script]);
    if shell.output().unwrap().status.success() {
        return Some(Mounted(at));
    }
    skipped(root_or("mount"), "mounting is not allowed here");
    None
}

#[test]
fn a_directory_that_is_mounted_read_only_is_told_before_anything_is_saved() {
    let (sandbox, id) = with_directory();
    let before = sandbox.state();
    let script = "mount --bind D D && mount -o remount,bind,ro D";
    let Some(there) = mounted(&sandbox, script, sandbox.path("D")) else {
        return;
    };
    let (error, code) = sandbox.json_error(["travel", &id]);
    assert_eq!((error["code"].as_str(), code), (Some("IO"), 1), "{error}");
    assert!(
        error["hint"].as_str().unwrap().contains("remount,rw"),
        "{error}"
    );
    assert_eq!(sandbox.git(["for-each-ref", "refs/timewarp/backups"]), "");
    drop(there);
    before.assert_same(&sandbox.state());
    sandbox.json(["travel", &id]);
}
