//! Who may use what is in a scratch: nobody who may not use the same in the working tree.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::PathBuf;

use serde_json::Value;

use crate::access::{
    USER, access_of, acl, acl_of, all_below, give_all, json_as, may_act_for_others, set_attribute,
    snapshot_as, somebodys,
};
use crate::sandbox::{Sandbox, is_root, skipped};
use crate::trip::snapshot;

const ACL: &str = "system.posix_acl_access";

fn opened(sandbox: &Sandbox) -> PathBuf {
    let id = snapshot(sandbox);
    sandbox.json(["open", &id, "../opened"]);
    sandbox.root().join("opened")
}

#[test]
fn ignored_files_come_along_for_those_who_may_use_them() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "/private/\n.env*\n");
    sandbox.write(".worktreeinclude", "/private/\n.env*\n");
    let paths = [
        ("private", 0o700),
        ("private/deep", 0o750),
        ("private/deep/key", 0o644),
        (".env", 0o640),
        (".env.acl", 0o640),
    ];
    for path in ["private/deep/key", ".env", ".env.acl"] {
        sandbox.write(path, "secret\n");
    }
    let listed = set_attribute(&sandbox.path(".env.acl"), ACL, &acl(3000))
        && set_attribute(&sandbox.path("private/deep"), ACL, &acl_of(3000, 7))
        && set_attribute(&sandbox.path(".env"), "user.tw", b"value");
    if !listed {
        skipped("access lists", "no attributes and ACLs here");
    }
    for (nth, (path, bits)) in (0..).zip(paths) {
        sandbox.chmod(path, bits);
        if is_root() {
            chown(sandbox.path(path), Some(2000 + nth), Some(3000 + nth)).unwrap();
        }
    }
    let dir = opened(&sandbox);
    for (path, _) in paths {
        let wanted = access_of(&sandbox.path(path));
        assert_eq!(access_of(&dir.join(path)), wanted, "{path}");
    }
}

#[test]
fn files_of_the_present_and_of_the_check_have_their_bits_in_a_run() {
    let sandbox = Sandbox::new();
    sandbox.write("check.sh", "test \"$(stat -c %a check.sh)\" = 700\n");
    sandbox.chmod("check.sh", 0o700);
    let id = snapshot(&sandbox);
    sandbox.write("with", "secret\n");
    sandbox.write("dir/with", "secret\n");
    for (path, bits) in [("with", 0o600), ("dir", 0o700), ("dir/with", 0o640)] {
        sandbox.chmod(path, bits);
    }
    let script = "stat -c %a with dir dir/with; rm check.sh; echo true >check.sh";
    let words = [
        "--json",
        "try",
        "-n",
        "1",
        &id,
        "--with",
        "with",
        "--with",
        "dir",
        "--verify",
        "sh check.sh",
        "--",
        "sh",
        "-c",
        script,
    ];
    let ran = sandbox.tw(words);
    let tried: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(tried["runs"][0]["status"], "passed", "{tried}");
    let said = sandbox.ok(["try", "log", "latest"]);
    let (of_run, _) = said.split_once("--- the check:").unwrap();
    assert_eq!(of_run, "600\n700\n640\n");
}

#[test]
fn what_a_directory_that_was_closed_since_keeps_to_some_is_kept_to_them_in_a_scratch() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "/dir/key\n/dir/deep\n");
    sandbox.write(".worktreeinclude", "/dir/key\n/dir/deep\n");
    sandbox.write("dir/of_then", "x\n");
    sandbox.chmod("dir", 0o755);
    let id = snapshot(&sandbox);
    for path in ["dir/key", "dir/deep/key", "dir/with", "dir/new/with"] {
        sandbox.write(path, "secret\n");
        sandbox.chmod(path, 0o664);
    }
    sandbox.chmod("dir/deep", 0o775);
    sandbox.chmod("dir/new", 0o755);
    for (closed, bits) in [
        (0o700, ["600", "700", "600", "600", "700"]),
        (0o750, ["660", "770", "660", "660", "750"]),
        (0o755, ["664", "775", "664", "664", "755"]),
    ] {
        sandbox.chmod("dir", closed);
        let script = "stat -c %a dir/key dir/deep dir/deep/key dir/with dir/new; stat -c %a dir";
        let with = ["--with", "dir/with", "--with", "dir/new"];
        let run = ["--", "sh", "-c", script];
        let words = [&["--json", "try", "-n", "1", &id][..], &with, &run].concat();
        let ran = sandbox.tw(words);
        let tried: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(tried["runs"][0]["experiment_id"], Value::Null, "{tried}");
        let said = sandbox.ok(["try", "log", "latest"]);
        assert_eq!(said, format!("{}\n755\n", bits.join("\n")), "{closed:o}");
    }
}

#[test]
fn what_files_of_the_present_lose_in_a_run_is_told() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = snapshot_as(&sandbox, USER);
    let id = id.as_str();
    sandbox.write("with", "secret\n");
    sandbox.chmod("with", 0o640);
    // The user owns it and is not in its group.
    chown(sandbox.path("with"), Some(USER), Some(4321)).unwrap();
    let lost = "'with' could not keep: group; nobody else got access to it";
    let tried = json_as(
        &sandbox,
        USER,
        &["try", "-n", "1", id, "--with", "with", "--", "true"],
    );
    assert_eq!(tried["notices"], serde_json::json!([lost]), "{tried}");
    std::fs::write(sandbox.path("a.txt"), "two\n").unwrap();
    snapshot_as(&sandbox, USER);
    let words = [
        "bisect", "run", "--good", id, "--bad", "latest", "--with", "with",
    ];
    let words = [&words[..], &["--", "grep", "-q", "one", "a.txt"]].concat();
    let found = json_as(&sandbox, USER, &words);
    assert_eq!(found["notices"], serde_json::json!([lost]), "{found}");
}

/// Only an ACL can let in everybody but one.
#[test]
fn a_scratch_of_a_tree_with_an_acl_is_its_owners_alone() {
    let sandbox = Sandbox::new();
    if !set_attribute(&sandbox.repo(), ACL, &acl_of(3000, 7)) {
        skipped("access lists", "no ACLs here");
        return;
    }
    // What everybody may, and the mask.
    sandbox.chmod("", 0o755);
    let dir = opened(&sandbox);
    assert_eq!(dir.metadata().unwrap().mode() & 0o7777, 0o700);
}

#[test]
fn what_root_brings_into_a_scratch_is_its_owners() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    sandbox.write(".gitignore", "/deps/\n.env\n");
    sandbox.write(".worktreeinclude", "/deps/\n.env\n");
    for path in ["deps/lib/code", ".env", "with", "dir/with"] {
        sandbox.write(path, "x\n");
    }
    sandbox.symlink("code", "deps/lib/link");
    give_all(&sandbox.repo(), USER, USER);
    let dir = opened(&sandbox);
    assert!(dir.join("deps/lib/link").is_symlink() && dir.join(".env").exists());
    for path in all_below(&dir) {
        let meta = path.symlink_metadata().unwrap();
        assert_eq!((meta.uid(), meta.gid()), (USER, USER), "{}", path.display());
    }
    let id = snapshot(&sandbox);
    for path in ["with", "dir/with"] {
        sandbox.write(path, "changed\n");
    }
    let words = [
        "try", "-n", "1", &id, "--with", "with", "--with", "dir", "--", "stat", "-c", "%u", "with",
        "dir", "dir/with",
    ];
    sandbox.tw(words);
    let said = sandbox.ok(["try", "log", "latest"]);
    assert_eq!(said, format!("{USER}\n{USER}\n{USER}\n"));
}
