//! User namespaces, in which ids mean others: what is recorded in one takes no owner, group or bit outside of it, and the other way round.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::chown;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::access::{
    USER, access_of, give_all, json_as, may_act_for_others, set_attribute, snapshot_as, somebodys,
};
use crate::sandbox::{Sandbox, executable, skipped};
use crate::trip::{list, mode};

/// A group that nobody is in.
const GROUP: u32 = 4322;

/// Runs `tw` as the root of a user namespace that knows nobody but who runs this; None where the system grants none.
fn inside(sandbox: &Sandbox, args: &[&str]) -> Option<Value> {
    let unshare = |args: &[&str]| -> Output {
        let mut command = sandbox.command("unshare");
        command.args(["--user", "--map-root-user"]).args(args);
        command.output().unwrap()
    };
    if !unshare(&["true"]).status.success() {
        skipped("namespaces", "no user namespace is to be had here");
        return None;
    }
    let output = unshare(&[&[env!("CARGO_BIN_EXE_tw"), "--json"], args].concat());
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["ok"], true, "{args:?} {said}");
    Some(said)
}

#[test]
fn what_was_recorded_where_ids_mean_others_changes_no_owner() {
    for goes_inside in [true, false] {
        let sandbox = Sandbox::new();
        for path in ["untouched", "dir/untouched", "changed"] {
            sandbox.write(path, "one\n");
            sandbox.chmod(path, 0o664);
        }
        sandbox.chmod("dir", 0o775);
        let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
        sandbox.write("changed", "two\n");
        let before = sandbox.state();
        let there = ["travel", id.as_str()];
        let returned = if goes_inside {
            let Some(_) = inside(&sandbox, &there) else {
                return;
            };
            sandbox.json(["return"])
        } else {
            sandbox.json(there);
            let Some(returned) = inside(&sandbox, &["return"]) else {
                return;
            };
            returned
        };
        assert_eq!(returned["verified"], true, "{returned}");
        assert_eq!(
            list(&returned["changes"]["written"]),
            ["changed"],
            "{returned}"
        );
        assert!(list(&returned["notices"]).is_empty(), "{returned}");
        before.assert_same(&sandbox.state());
        assert_eq!(
            (mode(&sandbox, "untouched"), mode(&sandbox, "dir")),
            (0o664, 0o775)
        );
    }
}

/// What stays within one is as it is everywhere.
#[test]
fn a_trip_within_a_namespace_says_nothing_of_others() {
    let sandbox = Sandbox::new();
    sandbox.write("changed", "one\n");
    let Some(taken) = inside(&sandbox, &["snapshot"]) else {
        return;
    };
    sandbox.write("changed", "two\n");
    let id = taken["snapshot"]["snapshot_id"].as_str().unwrap();
    for args in [&["travel", id][..], &["return"]] {
        let said = inside(&sandbox, args).unwrap();
        assert!(said["notices"].as_array().unwrap().is_empty(), "{said}");
    }
}

/// What the sandbox of an agent mostly is: its user is who he is, and everybody else is nobody.
fn in_a_sandbox(sandbox: &Sandbox, args: &[&str]) -> Option<Value> {
    let run = |args: &[&str]| -> Output {
        let mut command = sandbox.command("setpriv");
        let ids = [format!("--reuid={USER}"), format!("--regid={USER}")];
        command
            .args(ids)
            .args(["--groups=4322", "unshare", "--user"]);
        command.args([format!("--map-user={USER}"), format!("--map-group={USER}")]);
        command.args(args).output().unwrap()
    };
    if !run(&["true"]).status.success() {
        skipped("namespaces", "no user namespace is to be had here");
        return None;
    }
    let tw = sandbox.root().join("tw").display().to_string();
    let output = run(&[&[tw.as_str(), "--json"], args].concat());
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["ok"], true, "{args:?} {said}");
    Some(said)
}

/// Who cannot be named there has no more than he had, and everything else is as it was: attributes, and what the past changed of them.
#[test]
fn what_cannot_be_given_in_a_sandbox_is_told_and_opens_nothing() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    for path in ["marked", "changed"] {
        sandbox.write(path, "one\n");
        chown(sandbox.path(path), Some(USER), Some(USER)).unwrap();
    }
    if !set_attribute(&sandbox.path("marked"), "user.tw", b"of the present") {
        skipped("extended attributes", "no extended attributes here");
        return;
    }
    let id = snapshot_as(&sandbox, USER);
    for path in ["key", "changed"] {
        sandbox.write(path, "two\n");
        chown(sandbox.path(path), Some(USER), Some(GROUP)).unwrap();
        sandbox.chmod(path, 0o640);
    }
    assert!(set_attribute(&sandbox.path("key"), "user.tw", b"kept"));
    json_as(&sandbox, USER, &["travel", &id]);
    assert!(!sandbox.exists("key"));
    assert!(set_attribute(
        &sandbox.path("marked"),
        "user.tw",
        b"of the past"
    ));
    let Some(returned) = in_a_sandbox(&sandbox, &["return"]) else {
        return;
    };
    assert_ne!(returned["experiment_id"], Value::Null, "{returned}");
    let told = returned["notices"].to_string();
    assert!(told.contains("'key' could not keep: group"), "{returned}");
    let (_, gid, bits, attributes) = access_of(&sandbox.path("key"));
    assert_eq!((gid, bits), (USER, 0o600));
    assert!(attributes.contains(&("user.tw".to_owned(), b"kept".to_vec())));
    let (.., attributes) = access_of(&sandbox.path("marked"));
    assert!(attributes.contains(&("user.tw".to_owned(), b"of the present".to_vec())));
    assert_eq!(sandbox.text("changed"), "two\n");
}

/// Root in a namespace rules over nobody whom that does not know, and comes home past him as an ordinary user does.
#[test]
fn the_root_of_a_namespace_comes_home_past_what_belongs_to_others() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("d/inside", "one\n");
    sandbox.write("changed", "one\n");
    let Some(taken) = inside(&sandbox, &["snapshot"]) else {
        return;
    };
    sandbox.write("changed", "two\n");
    let id = taken["snapshot"]["snapshot_id"].as_str().unwrap();
    inside(&sandbox, &["travel", id]);
    chown(sandbox.path("d"), Some(USER), None).unwrap();
    sandbox.chmod("d", 0o777);
    let returned = inside(&sandbox, &["return"]).unwrap();
    assert_eq!(returned["mode"], "present", "{returned}");
    assert_eq!(sandbox.text("changed"), "two\n");
    let told = returned["notices"].to_string();
    assert!(told.contains("'d' could not keep"), "{returned}");
}

/// The kernel takes setgid from who is not in the group, without a word.
#[test]
fn a_directory_that_cannot_have_setgid_keeps_nobody_in_the_past() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    sandbox.write("d/kept", "one\n");
    give_all(&sandbox.path("d"), USER, GROUP);
    sandbox.chmod("d", 0o2775);
    let id = snapshot_as(&sandbox, USER);
    sandbox.write("d/t/inside", "new\n");
    give_all(&sandbox.path("d/t"), USER, GROUP);
    // It cannot be made with these bits: they close it to whoever fills it.
    sandbox.chmod("d/t", 0o2575);
    json_as(&sandbox, USER, &["travel", &id]);
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_eq!(returned["mode"], "present", "{returned}");
    assert_eq!(mode(&sandbox, "d/t"), 0o575);
    let told = returned["notices"].to_string();
    assert!(told.contains("'d/t' could not keep"), "{returned}");
}

/// Runs `tw` as the root of a namespace of 65536 users, as containers have it: the number that is shown for whoever is not mapped is a user
/// there, too.
fn in_a_container(sandbox: &Sandbox, args: &[&str]) -> Option<Value> {
    let tw = sandbox.root().join("tw").display().to_string();
    let mut command = Command::new(executable(OsStr::new("unshare")));
    let prepared = sandbox.tw_command();
    let set = |(name, value): (&OsStr, Option<&OsStr>)| Some((name.to_owned(), value?.to_owned()));
    command
        .env_clear()
        .envs(prepared.get_envs().filter_map(set));
    command.current_dir(sandbox.repo());
    command.args(["--user", "--keep-caps", "sh", "-c"]);
    command.arg("read -r _ && exec setpriv --reuid=0 --regid=0 --clear-groups \"$@\"");
    command.args(["sh", &tw, "--json"]).args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let own = std::fs::read_link("/proc/self/ns/user").unwrap();
    let proc = std::path::PathBuf::from(format!("/proc/{}", child.id()));
    while std::fs::read_link(proc.join("ns/user")).is_ok_and(|its| its == own) {
        if child.try_wait().unwrap().is_some() {
            skipped("namespaces", "no user namespace is to be had here");
            return None;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for map in ["uid_map", "gid_map"] {
        std::fs::write(proc.join(map), format!("0 {USER} 65536\n")).unwrap();
    }
    stdin.write_all(b"\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// A file of somebody who is not mapped is not given to whom his number means there.
#[test]
fn in_a_container_whoever_is_shown_as_nobody_is_not_taken_for_the_nobody_there() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = snapshot_as(&sandbox, USER);
    sandbox.write("a.txt", "two\n");
    sandbox.chmod("a.txt", 0o664);
    chown(sandbox.path("a.txt"), Some(1), Some(1)).unwrap();
    let Some(travelled) = in_a_container(&sandbox, &["travel", &id]) else {
        return;
    };
    assert_eq!(travelled["ok"], true, "{travelled}");
    // And root there rules over nobody whom it does not map.
    sandbox.write("d/x", "theirs\n");
    give_all(&sandbox.path("d"), 1, 1);
    let refused = in_a_container(&sandbox, &["return"]).unwrap();
    assert!(refused.to_string().contains("--move-aside"), "{refused}");
    let returned = in_a_container(&sandbox, &["return", "--move-aside"]).unwrap();
    assert_eq!(returned["mode"], "present", "{returned}");
    let told = returned["notices"].to_string();
    assert!(
        told.contains("'a.txt' could not keep: owner, group"),
        "{returned}"
    );
    let (uid, gid, bits, _) = access_of(&sandbox.path("a.txt"));
    assert_eq!((uid, gid, bits), (USER, USER, 0o644));
    assert_eq!(sandbox.text("a.txt"), "two\n");
}
