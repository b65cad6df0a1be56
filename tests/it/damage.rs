//! What crash, concurrency and hostility tests look for afterwards: litter, unreachable bytes, what fsck says.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use timewarp::git::objects::{ObjectKind, hash};

use crate::sandbox::{Ran, Sandbox, executable};

/// Files that only a command under way may have: temporary names, locks of the dead, what recovery works from.
pub fn litter(sandbox: &Sandbox) -> Vec<String> {
    let mut found = litter_in(&sandbox.repo());
    if !sandbox.git_dir().starts_with(sandbox.repo()) {
        found.extend(litter_in(&sandbox.git_dir()));
    }
    found.sort();
    found
}

/// Whether it waits for a process that nobody waits for: see `crate::slow_disk`.
pub fn is_left_to_delete(path: &Path) -> bool {
    path.to_string_lossy().contains("/timewarp/workshop/done-")
}

fn litter_in(top: &Path) -> Vec<String> {
    let mut found = Vec::new();
    walk(top, &mut |path| {
        let name = path.file_name().unwrap().to_string_lossy();
        let shown = path.strip_prefix(top).unwrap();
        let ours_only = shown
            .components()
            .any(|part| part.as_os_str() == "timewarp");
        let is_litter = name.starts_with(".tw-")
            || name.ends_with(".lock")
            || name.ends_with(".keep")
            || name.contains(".tmp")
            || name.starts_with("tmp_")
            || ours_only && (name.starts_with("lock-") || name.starts_with("index."))
            || ours_only && name == "journal.json"
            || name == "packed-refs.new"
            || ours_only && path.parent().is_some_and(|dir| dir.ends_with("running"));
        if is_litter {
            found.push(shown.display().to_string());
        }
    });
    found
}

/// Calls `each` with every path below `dir`, directories too.
pub fn walk(dir: &Path, each: &mut dyn FnMut(&Path)) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        each(&path);
        if path.symlink_metadata().unwrap().is_dir() {
            walk(&path, each);
        }
    }
}

/// The blobs of what stands in the working tree, with the path of one that has it.
pub fn blobs(sandbox: &Sandbox) -> BTreeMap<String, PathBuf> {
    let mut blobs = BTreeMap::new();
    let git_dir = sandbox.git_dir();
    walk(&sandbox.repo(), &mut |path| {
        let meta = path.symlink_metadata().unwrap();
        let bytes = if path.starts_with(&git_dir) {
            return;
        } else if meta.is_symlink() {
            let target = std::fs::read_link(path).unwrap();
            target.as_os_str().as_bytes().to_vec()
        } else if meta.is_file() {
            std::fs::read(path).unwrap()
        } else {
            return;
        };
        let oid = hash(sandbox.kind().format(), ObjectKind::Blob, &bytes)
            .unwrap()
            .to_string();
        blobs.insert(oid, path.to_owned());
    });
    blobs
}

/// Every object that a ref leads to.
pub fn reachable(sandbox: &Sandbox) -> BTreeSet<String> {
    let listed = sandbox.git(["rev-list", "--objects", "--all"]);
    let first = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    listed.lines().map(first).collect()
}

/// Fails unless each of `wanted` stands in the working tree or is reachable from a ref.
#[track_caller]
pub fn assert_nothing_lost(sandbox: &Sandbox, wanted: &BTreeMap<String, PathBuf>, context: &str) {
    let here = blobs(sandbox);
    let kept = reachable(sandbox);
    for (oid, path) in wanted {
        assert!(
            here.contains_key(oid) || kept.contains(oid),
            "{context}: the bytes of '{}' are lost",
            path.display()
        );
    }
}

/// Fails when `git fsck --strict` finds anything wrong.
#[track_caller]
pub fn assert_fsck_clean(sandbox: &Sandbox, context: &str) {
    let ran = sandbox.try_git(["fsck", "--strict", "--no-dangling", "--no-progress"]);
    // An unborn branch is worth a notice to git.
    let silent = ran.err().lines().all(|line| line.starts_with("notice: "));
    assert!(
        ran.code == 0 && ran.out().is_empty() && silent,
        "{context}: fsck\n{}{}",
        ran.out(),
        ran.err()
    );
}

/// The JSON document of a run.
#[track_caller]
pub fn document(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", ran.out(), ran.err()))
}

/// `state.json`, or null.
pub fn state_json(sandbox: &Sandbox) -> Value {
    std::fs::read(sandbox.git_dir().join("timewarp/state.json"))
        .map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap())
}

/// A command with a sandbox's environment and the real clock, for tests that run many at once. `root` is the sandbox's.
pub fn raw_command(root: &Path, program: &str) -> std::process::Command {
    let mut command = std::process::Command::new(executable(program.as_ref()));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", root.join("home"))
        .env("TMPDIR", root.join("tmp"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("TZ", "UTC")
        .env("LC_ALL", "C")
        .env("TW_NO_BACKGROUND", "1");
    command
}
