//! A project of a group that is not the user's own: what is made of it again is for that group, or for nobody but its owner.

use std::path::Path;

use serde_json::Value;

use crate::access::{USER, access_of, give_all, may_act_for_others, somebodys};
use crate::sandbox::{Ran, Sandbox};

/// The project's.
const GROUP: u32 = 4321;

/// Runs `tw` as the user, who is in the project's group unless `groups` says otherwise.
fn tw_in(sandbox: &Sandbox, groups: &str, args: &[&str]) -> Value {
    let tw = sandbox.root().join("tw");
    if !tw.exists() {
        let mut copy = sandbox.command("cp");
        copy.arg(env!("CARGO_BIN_EXE_tw"))
            .arg(&tw)
            .assert()
            .success();
    }
    let ids = [format!("--reuid={USER}"), format!("--regid={USER}")];
    let mut command = sandbox.command("setpriv");
    command
        .args(ids)
        .arg(groups)
        .arg(tw)
        .arg("--json")
        .args(args);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.code, 0, "{args:?} {}{}", ran.out(), ran.err());
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn in_group(sandbox: &Sandbox, args: &[&str]) -> Value {
    tw_in(sandbox, &format!("--groups={GROUP}"), args)
}

/// A working tree of the group's, with these bits of its directories.
fn of_group(dir_bits: u32) -> Sandbox {
    let sandbox = somebodys();
    sandbox.write("conf", "secret\n");
    sandbox.write("d/conf", "secret\n");
    sandbox.write(".gitignore", "*.env\nlocal/\n");
    sandbox.write("a.env", "secret\n");
    sandbox.write("local/b.env", "secret\n");
    sandbox.git(["config", "--global", "timewarp.scratchInclude", "*.env"]);
    give_all(&sandbox.root(), USER, USER);
    give_all(&sandbox.repo(), USER, GROUP);
    for (path, bits) in [
        (".", dir_bits | 0o005),
        ("d", dir_bits),
        ("local", 0o700),
        ("conf", 0o640),
        ("d/conf", 0o640),
        ("a.env", 0o640),
    ] {
        sandbox.chmod(path, bits);
    }
    sandbox
}

#[track_caller]
fn assert_access(path: &Path, gid: u32, bits: u32) {
    let (uid, its, mode, _) = access_of(path);
    assert_eq!((uid, its, mode), (USER, gid, bits), "{}", path.display());
}

#[test]
fn what_is_opened_of_a_project_of_a_group_is_the_groups() {
    if !may_act_for_others() {
        return;
    }
    for bits in [0o2750, 0o750] {
        let sandbox = of_group(bits);
        let taken = in_group(&sandbox, &["snapshot"]);
        let id = taken["snapshot"]["snapshot_id"].as_str().unwrap();
        let dir = sandbox.root().join("opened");
        in_group(&sandbox, &["open", id, dir.to_str().unwrap()]);
        assert_access(&dir, GROUP, bits | 0o005);
        assert_access(&dir.join("d"), GROUP, bits);
        for name in ["conf", "d/conf", "a.env"] {
            assert_access(&dir.join(name), GROUP, 0o640);
        }
        // Ignored, and in a directory that nobody else may enter.
        assert_access(&dir.join("local"), GROUP, 0o700);
    }
}

#[test]
fn what_is_opened_by_one_who_is_not_in_the_group_is_his_alone() {
    if !may_act_for_others() {
        return;
    }
    for bits in [0o2750, 0o750] {
        let sandbox = of_group(bits);
        let tw = |args: &[&str]| tw_in(&sandbox, "--clear-groups", args);
        let taken = tw(&["snapshot"]);
        let id = taken["snapshot"]["snapshot_id"].as_str().unwrap();
        let dir = sandbox.root().join("opened");
        let opened = tw(&["open", id, dir.to_str().unwrap()]);
        let told = opened["notices"].to_string();
        assert!(told.contains("'conf' could not keep: group"), "{opened}");
        assert_access(&dir.join("d"), USER, 0o700);
        for name in ["conf", "d/conf", "a.env"] {
            assert_access(&dir.join(name), USER, 0o600);
        }
        // What everybody may read loses nothing.
        assert!(!told.contains(".gitignore"), "{opened}");
    }
}

#[test]
fn what_is_restored_where_nothing_was_is_the_groups() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = of_group(0o750);
    let taken = in_group(&sandbox, &["snapshot"]);
    let id = taken["snapshot"]["snapshot_id"].as_str().unwrap();
    let gone = || {
        sandbox.remove("conf");
        sandbox.remove("d");
    };
    for args in [&["restore", id][..], &["travel", "--files-only", id]] {
        gone();
        in_group(&sandbox, args);
        assert_access(&sandbox.path("d"), GROUP, 0o750);
        for name in ["conf", "d/conf"] {
            assert_access(&sandbox.path(name), GROUP, 0o640);
        }
    }
}

/// The kernel gives what is made in a setgid directory the group and the bit, and takes the bit at any change by who is not in the group.
#[test]
fn a_directory_of_a_group_that_one_is_not_in_comes_back_as_it_was() {
    if !may_act_for_others() {
        return;
    }
    for (bits, left, file_bits) in [
        (0o2750, 0o2750, 0o640),
        (0o2755, 0o2755, 0o664),
        // Without the bits that the umask takes: what is made in it later is the group's.
        (0o2775, 0o2755, 0o664),
    ] {
        let sandbox = of_group(0o2750);
        let tw = |args: &[&str]| tw_in(&sandbox, "--clear-groups", args);
        let taken = tw(&["snapshot"]);
        let id = taken["snapshot"]["snapshot_id"].as_str().unwrap();
        let (dirs, files) = (["site", "site/img"], ["site/index", "site/img/p"]);
        for file in files {
            sandbox.write(file, "page\n");
        }
        give_all(&sandbox.path("site"), USER, GROUP);
        for dir in dirs {
            sandbox.chmod(dir, bits);
        }
        for file in files {
            sandbox.chmod(file, file_bits);
        }
        tw(&["travel", id]);
        assert!(!sandbox.exists("site"));
        let returned = tw(&["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        for dir in dirs {
            assert_access(&sandbox.path(dir), GROUP, left);
        }
        for file in files {
            assert_access(&sandbox.path(file), GROUP, file_bits);
        }
        let told = returned["notices"].as_array().unwrap().len();
        let lost = if left == bits { 0 } else { dirs.len() };
        assert_eq!(told, lost, "{returned}");
    }
}
