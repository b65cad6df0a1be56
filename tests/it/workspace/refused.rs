//! A member that cannot take part is named with what to do next, and nothing has moved anywhere.

use super::{Trio, assert_same};
use crate::damage::document;
use crate::many::{go_on, wait_until_stopped};

/// Travel is refused with this code, for this member; every state, log and backup stays as it is.
#[track_caller]
fn refused(trio: &Trio, args: &[&str], code: &str, member: &str, hint: &str) {
    let before = trio.states();
    let modes = trio.modes();
    let saved = |path: &str| trio.ids(path, "backups");
    let backups = super::PATHS.map(saved);
    let ran = trio.tw_in("", args);
    let document = document(&ran);
    let error = &document["error"];
    assert_eq!(error["code"], code, "{document}");
    assert_eq!(error["member"], member, "{document}");
    assert!(
        error["message"].as_str().unwrap().contains(member),
        "{document}"
    );
    assert!(error["hints"].to_string().contains(hint), "{document}");
    assert_same(&before, &trio.states());
    assert_eq!(trio.modes(), modes);
    assert_eq!(super::PATHS.map(saved), backups);
    assert!(!trio.sandbox.exists(".git/timewarp/together.json"));
}

#[test]
fn each_reason_is_named_and_nothing_moves() {
    let trio = Trio::new();
    let sandbox = &trio.sandbox;
    let travel = ["travel", trio.snapshot.as_str()];
    sandbox.git(["config", "timewarp.lockTimeout", "0"]);
    sandbox.git_in(
        sandbox.path("../lib"),
        ["config", "timewarp.lockTimeout", "0"],
    );
    // git is at work in it.
    sandbox.write("../lib/.git/index.lock", "");
    refused(&trio, &travel, "BUSY", "../lib", "git process");
    sandbox.remove("../lib/.git/index.lock");
    // Something that cannot be saved is in the way.
    sandbox.remove("../lib/dir");
    sandbox.write("../lib/dir/new.txt/.git/HEAD", "ref: refs/heads/main\n");
    sandbox.mkdir("../lib/dir/new.txt/.git/objects");
    sandbox.mkdir("../lib/dir/new.txt/.git/refs");
    refused(
        &trio,
        &travel,
        "WOULD_OVERWRITE",
        "../lib",
        "nothing has moved",
    );
    sandbox.remove("../lib/dir");
    // It is gone, or another one is in its place.
    std::fs::rename(sandbox.path("../lib"), sandbox.path("../away")).unwrap();
    let ran = trio.tw_in("", &travel);
    assert_eq!(
        document(&ran)["error"]["code"],
        "WORKSPACE_MEMBER",
        "{}",
        ran.out()
    );
    assert_eq!(trio.sandbox.text("a.txt"), "later in ''\n");
    std::fs::rename(sandbox.path("../away"), sandbox.path("../lib")).unwrap();
    let id = sandbox.text("../lib/.git/timewarp/id");
    sandbox.write("../lib/.git/timewarp/id", format!("{}\n", "0".repeat(32)));
    refused(
        &trio,
        &travel,
        "WORKSPACE_MEMBER",
        "../lib",
        "workspace remove",
    );
    sandbox.write("../lib/.git/timewarp/id", id);
    // Its snapshot went behind tw's back.
    let of_lib = trio.ids("../lib", "snapshots").remove(0);
    let name = format!("refs/timewarp/snapshots/{of_lib}");
    let commit = sandbox.git_in(sandbox.path("../lib"), ["rev-parse", &name]);
    sandbox.git_in(sandbox.path("../lib"), ["update-ref", "-d", &name]);
    refused(&trio, &travel, "SNAPSHOT_NOT_FOUND", "../lib", "tw -C");
    sandbox.git_in(sandbox.path("../lib"), ["update-ref", &name, commit.trim()]);
    // A swap died in it, and what it left is in doubt.
    let killed = sandbox
        .tw_command()
        .current_dir(sandbox.path("../lib"))
        .env("TW_FAIL_POINT", "swap-applied")
        .args(["restore", "latest"])
        .output()
        .unwrap();
    assert_eq!(killed.status.code(), None);
    sandbox.write("../lib/a.txt", "neither side\n");
    refused(&trio, &travel, "INTERRUPTED", "../lib", "recover");
    trio.json_in("../lib", &["recover", "-y"]);
    // At last they go.
    trio.json_in("", &travel);
    let home = ["return"];
    sandbox.write("nested/.git/index.lock", "");
    sandbox.git_in(
        sandbox.path("nested"),
        ["config", "timewarp.lockTimeout", "0"],
    );
    refused(&trio, &home, "BUSY", "nested", "git process");
    refused(&trio, &["undo"], "BUSY", "nested", "git process");
    sandbox.remove("nested/.git/index.lock");
    trio.json_in("", &home);
    assert_eq!(trio.modes(), ["present"; 3]);
}

#[test]
fn a_member_sends_what_concerns_all_to_the_head() {
    let trio = Trio::new();
    let says_no = |path: &str, args: &[&str]| {
        let document = document(&trio.tw_in(path, args));
        assert_eq!(
            document["error"]["code"], "WORKSPACE_MEMBER",
            "{args:?}: {document}"
        );
        let head = trio.sandbox.repo().display().to_string();
        assert!(
            document["error"]["hints"].to_string().contains(&head),
            "{document}"
        );
    };
    says_no("nested", &["travel", "latest"]);
    trio.json_in("", &["travel", &trio.snapshot]);
    for args in [&["return"][..], &["undo"], &["travel", "--hop", "latest"]] {
        says_no("../lib", args);
    }
    // Who leaves in the past finds home alone.
    let off = trio.json_in("../lib", &["workspace", "off"]);
    assert!(
        off["notices"].to_string().contains("stays in the past"),
        "{off}"
    );
    trio.json_in("../lib", &["return"]);
    assert_eq!(trio.modes(), ["past", "past", "present"]);
    trio.json_in("", &["return"]);
    assert_eq!(trio.modes(), ["present"; 3]);
}

#[test]
fn of_two_at_once_one_waits_and_both_are_whole() {
    let trio = Trio::new();
    let home = trio.states();
    let mut first = trio.start("", &["travel", &trio.snapshot], "together-decided");
    wait_until_stopped(first.0.id());
    // In the head and in a member: nobody gets in between.
    let mut waiting = trio.start("", &["snapshot"], "");
    trio.sandbox.git_in(
        trio.sandbox.path("../lib"),
        ["config", "timewarp.lockTimeout", "0"],
    );
    let refused = document(&trio.tw_in("../lib", &["snapshot"]));
    assert_eq!(refused["error"]["code"], "BUSY", "{refused}");
    go_on(first.0.id());
    assert!(first.0.wait().unwrap().success());
    assert!(waiting.0.wait().unwrap().success());
    assert_eq!(trio.modes(), ["past"; 3]);
    trio.json_in("", &["return"]);
    assert_same(&home, &trio.states());
}
