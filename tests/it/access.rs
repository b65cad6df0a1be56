//! Who may read and write what: owners, groups, permission bits and extended attributes, of the user's files and of ours.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

/// Somebody who is not root.
const USER: u32 = 1234;

/// Whether the test runs as root; says why not otherwise.
#[allow(
    clippy::print_stdout,
    reason = "whoever reads the log shall see what was not tried"
)]
fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: only root can act for somebody else");
    }
    root
}

/// Everything below a directory, itself included.
fn all_below(top: &Path) -> Vec<PathBuf> {
    let mut all = vec![top.to_owned()];
    let mut at = 0;
    while let Some(path) = all.get(at).cloned() {
        at += 1;
        if path.symlink_metadata().unwrap().is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            all.extend(entries.map(|entry| entry.unwrap().path()));
        }
    }
    all
}

fn give_all(top: &Path, uid: u32, gid: u32) {
    for path in all_below(top) {
        std::os::unix::fs::lchown(path, Some(uid), Some(gid)).unwrap();
    }
}

/// Runs `tw` as somebody else.
fn tw_as(sandbox: &Sandbox, uid: u32, args: &[&str]) -> Ran {
    let tw = sandbox.root().join("tw");
    if !tw.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_tw"), &tw).unwrap();
    }
    let ids = [format!("--reuid={uid}"), format!("--regid={uid}")];
    let mut command = sandbox.command("setpriv");
    command.args(ids).arg("--clear-groups").arg(tw).args(args);
    command.output().unwrap().into()
}

#[track_caller]
fn json_as(sandbox: &Sandbox, uid: u32, args: &[&str]) -> Value {
    let ran = tw_as(sandbox, uid, &[&["--json"], args].concat());
    assert_eq!(ran.code, 0, "{args:?} {}{}", ran.out(), ran.err());
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// A repository of somebody else's, which root may use.
fn somebodys() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "--global", "safe.directory", "*"]);
    give_all(&sandbox.root(), USER, USER);
    sandbox
}

/// One of each thing that writes.
fn full_cycle(sandbox: &Sandbox, ok: &dyn Fn(&[&str]) -> Value) {
    let id = ok(&["snapshot"])["snapshot"]["snapshot_id"].clone();
    let id = id.as_str().unwrap();
    std::fs::write(sandbox.path("a.txt"), "two\n").unwrap();
    ok(&["label", id, "before"]);
    let travelled = ok(&["travel", id]);
    assert_eq!(travelled["mode"], "past", "{travelled}");
    std::fs::write(sandbox.path("new.txt"), "made there\n").unwrap();
    assert_eq!(ok(&["return"])["verified"], true);
    ok(&["restore", id, "a.txt"]);
    ok(&["undo", "-y"]);
    ok(&["label", "--remove", "before"]);
}

#[test]
fn a_run_as_root_locks_nobody_out() {
    if !is_root() {
        return;
    }
    let sandbox = somebodys();
    full_cycle(&sandbox, &|args| sandbox.json(args));
    sandbox.ok(["init", "-y", "--agent", "claude"]);
    sandbox.ok(["init", "-y", "--user", "--agent", "claude"]);
    for path in all_below(&sandbox.repo())
        .into_iter()
        .chain(all_below(&sandbox.home()))
    {
        let meta = path.symlink_metadata().unwrap();
        assert!(
            (meta.uid(), meta.gid()) == (USER, USER),
            "{} belongs to {}:{}",
            path.display(),
            meta.uid(),
            meta.gid()
        );
    }
    full_cycle(&sandbox, &|args| json_as(&sandbox, USER, args));
}

#[test]
fn a_past_that_root_entered_is_left_by_the_user() {
    if !is_root() {
        return;
    }
    let sandbox = somebodys();
    let id = json_as(&sandbox, USER, &["snapshot"])["snapshot"]["snapshot_id"].clone();
    std::fs::write(sandbox.path("a.txt"), "two\n").unwrap();
    sandbox.json(["travel", id.as_str().unwrap()]);
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(sandbox.text("a.txt"), "two\n");
}

#[test]
fn a_state_that_cannot_be_read_is_an_error_that_names_it() {
    if !is_root() {
        return;
    }
    let sandbox = somebodys();
    let id = json_as(&sandbox, USER, &["snapshot"])["snapshot"]["snapshot_id"].clone();
    std::fs::write(sandbox.path("a.txt"), "two\n").unwrap();
    sandbox.json(["travel", id.as_str().unwrap()]);
    for name in ["state.json", "."] {
        let path = sandbox.path(".git/timewarp").join(name);
        chown(&path, Some(0), Some(0)).unwrap();
        for command in ["recover", "return", "status"] {
            let ran = tw_as(&sandbox, USER, &[command]);
            assert_ne!(ran.code, 0, "{name} {command}: {}", ran.out());
            let said = ran.err();
            assert!(said.contains(".git/timewarp"), "{command}: {said}");
            assert!(said.contains("chown"), "{command}: {said}");
        }
        chown(&path, Some(USER), Some(USER)).unwrap();
    }
    assert_eq!(json_as(&sandbox, USER, &["return"])["verified"], true);
}

#[test]
fn a_shared_repository_is_shared_whatever_made_the_file() {
    let sandbox = Sandbox::new();
    for (value, file_bits, dir_bits) in [
        ("group", 0o060, 0o2070),
        ("0664", 0o064, 0o2075),
        ("all", 0o064, 0o2075),
    ] {
        let before = all_below(&sandbox.path(".git"));
        sandbox.git(["config", "core.sharedRepository", value]);
        let _ = std::fs::remove_dir_all(sandbox.path(".git/timewarp"));
        full_cycle(&sandbox, &|args| {
            // As strict as can be.
            let tw = env!("CARGO_BIN_EXE_tw");
            let mut command = sandbox.command("sh");
            command.args(["-c", "umask 077; exec \"$@\"", "sh", tw, "--json"]);
            let ran: Ran = command.args(args).output().unwrap().into();
            assert_eq!(ran.code, 0, "{args:?} {}{}", ran.out(), ran.err());
            serde_json::from_slice(&ran.stdout).unwrap()
        });
        let always = ["HEAD", "index", "logs/HEAD"].map(|name| sandbox.path(".git").join(name));
        for path in all_below(&sandbox.path(".git")) {
            let known = before.contains(&path) && !path.starts_with(sandbox.path(".git/timewarp"));
            if known && !always[..2].contains(&path) {
                continue;
            }
            let mode = path.symlink_metadata().unwrap().mode();
            let is_dir = mode & 0o170_000 == 0o040_000;
            // git's objects are read-only to everybody.
            let read_only = mode & 0o200 == 0;
            let wanted = match (is_dir, read_only) {
                (true, _) => dir_bits,
                (false, true) => file_bits & 0o444,
                (false, false) => file_bits,
            };
            assert_eq!(
                mode & wanted,
                wanted,
                "{value}: {} has {mode:o}",
                path.display()
            );
        }
    }
}

#[test]
fn operation_files_come_back_with_their_modes() {
    let sandbox = Sandbox::new();
    for n in 0..4 {
        sandbox.write("a.txt", format!("{n}\n"));
        sandbox.git(["commit", "-q", "-am", "more"]);
    }
    sandbox.git(["bisect", "start", "HEAD", "HEAD~4"]);
    let modes = || -> BTreeMap<PathBuf, u32> {
        let files = all_below(&sandbox.path(".git")).into_iter();
        let files = files.filter(|path| path.to_string_lossy().contains("BISECT_"));
        files
            .map(|path| (path.clone(), path.metadata().unwrap().mode()))
            .collect()
    };
    sandbox.write(".git/BISECT_ANCESTORS_OK", "");
    for (name, mode) in [("ANCESTORS_OK", 0o600), ("LOG", 0o660), ("NAMES", 0o640)] {
        sandbox.chmod(format!(".git/BISECT_{name}"), mode);
    }
    let before = modes();
    let id = sandbox.snap()["snapshot_id"].clone();
    sandbox.write("a.txt", "changed\n");
    sandbox.json(["travel", id.as_str().unwrap()]);
    sandbox.chmod(".git/HEAD", 0o600);
    assert!(modes().is_empty());
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(modes(), before);
    let head = sandbox.path(".git/HEAD").metadata().unwrap().mode();
    assert_eq!(head & 0o777, 0o600, "a private HEAD stays private");
}

#[test]
fn an_index_that_is_a_symlink_stays_one() {
    let sandbox = Sandbox::new();
    let real = sandbox.root().join("elsewhere");
    std::fs::create_dir(&real).unwrap();
    std::fs::rename(sandbox.path(".git/index"), real.join("index")).unwrap();
    symlink("../../elsewhere/index", sandbox.path(".git/index")).unwrap();
    let id = sandbox.snap()["snapshot_id"].clone();
    sandbox.write("b.txt", "staged\n");
    sandbox.git(["add", "b.txt"]);
    sandbox.assert_round_trip(id.as_str().unwrap(), |sandbox| {
        assert!(
            sandbox
                .path(".git/index")
                .symlink_metadata()
                .unwrap()
                .is_symlink()
        );
        assert_eq!(sandbox.git(["ls-files"]), "a.txt\n");
    });
    let link = std::fs::read_link(sandbox.path(".git/index")).unwrap();
    assert_eq!(link, Path::new("../../elsewhere/index"));
    assert_eq!(sandbox.git(["ls-files"]), "a.txt\nb.txt\n");
    // git locks where the symlink leads, and so do we.
    sandbox.write("b.txt", "more\n");
    std::fs::write(real.join("index.lock"), "").unwrap();
    sandbox.git(["config", "timewarp.lockTimeout", "0"]);
    let (error, _) = sandbox.json_error(["travel", id.as_str().unwrap()]);
    assert_eq!(error["code"], "BUSY", "{error}");
}

#[test]
fn a_head_that_is_a_symlink_stays_one() {
    let sandbox = Sandbox::new();
    let as_symlink = |git_dir: PathBuf, branch: &str| {
        std::fs::remove_file(git_dir.join("HEAD")).unwrap();
        symlink(format!("refs/heads/{branch}"), git_dir.join("HEAD")).unwrap();
    };
    as_symlink(sandbox.path(".git"), "main");
    let snapshot = sandbox.snap();
    let id = snapshot["snapshot_id"].as_str().unwrap().to_owned();
    sandbox.write("a.txt", "two\n");
    sandbox.git(["commit", "-q", "-am", "second"]);
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("a.txt"), "one\n");
        sandbox.write("a.txt", "in the past\n");
    });
    let link = std::fs::read_link(sandbox.path(".git/HEAD")).unwrap();
    assert_eq!(link, Path::new("refs/heads/main"));

    let other = sandbox.root().join("other");
    sandbox.git([
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        other.to_str().unwrap(),
    ]);
    as_symlink(sandbox.path(".git/worktrees/other"), "side");
    assert_eq!(sandbox.tw_in(&other, ["snapshot"]).code, 0);
    std::fs::write(other.join("a.txt"), "three\n").unwrap();
    let ran = sandbox.tw_in(&other, ["travel", &id]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    let ran = sandbox.tw_in(&other, ["--json", "return"]);
    let returned: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(returned["verified"], true, "{returned}");
    let link = std::fs::read_link(sandbox.path(".git/worktrees/other/HEAD")).unwrap();
    assert_eq!(link, Path::new("refs/heads/side"));
}
