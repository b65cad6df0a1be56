//! What holds when the members change between swaps, beside one, or after one that died.

use serde_json::Value;

use super::{Trio, assert_same};
use crate::damage::document;
use crate::many::{go_on, wait_until_locked_out, wait_until_stopped};

fn refused(trio: &Trio, path: &str, args: &[&str], code: &str) -> Value {
    let document = document(&trio.tw_in(path, args));
    assert_eq!(
        document["error"]["code"], code,
        "{path}: {args:?}: {document}"
    );
    document["error"].clone()
}

/// Kills a command of the head there.
fn kill(trio: &Trio, args: &[&str], point: &str) {
    let killed = trio
        .sandbox
        .tw_command()
        .env("TW_FAIL_POINT", point)
        .args(args)
        .output()
        .unwrap();
    assert_eq!(killed.status.code(), None, "{point}");
}

#[test]
fn a_step_into_a_past_that_a_member_has_no_part_in_goes_nowhere() {
    let trio = Trio::strangers();
    // Each has been in the past by itself, before there was a workspace.
    for path in ["", "../lib"] {
        trio.json_in(path, &["snapshot"]);
        trio.json_in(path, &["travel", "latest"]);
        trio.json_in(path, &["return"]);
    }
    trio.json_in("", &["workspace", "add", "../lib"]);
    let before = trio.states();
    let error = refused(&trio, "", &["undo", "--into-past"], "WORKSPACE_MEMBER");
    assert_eq!(error["member"], "../lib", "{error}");
    assert!(
        error["hints"]
            .to_string()
            .contains("workspace remove ../lib"),
        "{error}"
    );
    refused(
        &trio,
        "../lib",
        &["undo", "--into-past"],
        "WORKSPACE_MEMBER",
    );
    // The same with one more than those that went.
    trio.json_in("", &["snapshot"]);
    trio.json_in("", &["travel", "latest"]);
    trio.json_in("", &["return"]);
    trio.json_in("", &["workspace", "add", "nested"]);
    let error = refused(&trio, "", &["undo", "--into-past"], "WORKSPACE_MEMBER");
    assert_eq!(error["member"], "nested", "{error}");
    assert_eq!(trio.modes(), ["present"; 3]);
    assert_same(&before, &trio.states());
    // What the hint names lets it go.
    trio.json_in("", &["workspace", "remove", "nested"]);
    trio.json_in("", &["undo", "--into-past"]);
    assert_eq!(trio.modes(), ["past", "present", "past"]);
    trio.json_in("", &["return"]);
    assert_same(&before, &trio.states());
}

#[test]
fn a_step_leaves_out_who_is_no_member_any_more() {
    let trio = Trio::new();
    let home = trio.states();
    trio.json_in("", &["travel", &trio.snapshot]);
    trio.json_in("", &["workspace", "remove", "../lib"]);
    let undone = trio.json_in("", &["undo"]);
    assert!(
        undone["notices"]
            .to_string()
            .contains("'../lib' is not a member any more"),
        "{undone}"
    );
    assert_eq!(trio.modes(), ["present", "present", "past"]);
    trio.json_in("../lib", &["undo"]);
    assert_eq!(trio.modes(), ["present"; 3]);
    assert_same(&home, &trio.states());
    // Nobody is left who went along.
    trio.json_in("", &["workspace", "off"]);
    trio.json_in("", &["redo", "--into-past"]);
    assert_eq!(trio.modes(), ["past", "present", "present"]);
    trio.json_in("", &["return"]);
    assert_same(&home, &trio.states());
}

#[test]
fn a_member_that_came_home_by_itself_is_named_with_the_way_home_of_the_others() {
    let trio = Trio::new();
    let home = trio.states();
    trio.json_in("", &["travel", &trio.snapshot]);
    // As another program might leave it: no command of ours does.
    let list = trio.sandbox.text(".git/timewarp/workspace.json");
    let pointer = trio.sandbox.text("../lib/.git/timewarp/member.json");
    trio.json_in("../lib", &["workspace", "off"]);
    trio.json_in("../lib", &["return"]);
    trio.sandbox.write(".git/timewarp/workspace.json", list);
    trio.sandbox
        .write("../lib/.git/timewarp/member.json", pointer);
    let error = refused(&trio, "", &["return"], "WORKSPACE_MEMBER");
    assert!(
        error["hints"]
            .to_string()
            .contains("workspace remove ../lib"),
        "{error}"
    );
    trio.json_in("", &["workspace", "remove", "../lib"]);
    trio.json_in("", &["return"]);
    assert_eq!(trio.modes(), ["present"; 3]);
    assert_same(&home, &trio.states());
}

#[test]
fn who_becomes_a_member_while_the_lock_is_waited_for_goes_along() {
    let trio = Trio::new();
    for root in trio.roots() {
        let long = ["config", "timewarp.lockTimeout", "300"];
        trio.sandbox.git_in(root, long);
    }
    let home = trio.states();
    let list = trio.sandbox.text(".git/timewarp/workspace.json");
    let files = ["nested", "../lib"].map(|path| format!("{path}/.git/timewarp/member.json"));
    let pointers = files.clone().map(|file| trio.sandbox.text(file));
    trio.json_in("", &["workspace", "off"]);
    let mut first = trio.start("", &["restore", "latest", "a.txt"], "swap-journal");
    wait_until_stopped(first.0.id());
    let mut second = trio.start("", &["travel", &trio.snapshot], "");
    // It has looked for members.
    wait_until_locked_out(&mut second);
    for (file, pointer) in files.iter().zip(pointers) {
        trio.sandbox.write(file, pointer);
    }
    trio.sandbox.write(".git/timewarp/workspace.json", list);
    go_on(first.0.id());
    assert!(first.0.wait().unwrap().success());
    assert!(second.0.wait().unwrap().success());
    assert_eq!(trio.modes(), ["past"; 3]);
    trio.json_in("", &["return"]);
    trio.sandbox.write("a.txt", "later in ''\n");
    assert_same(&home, &trio.states());
}

#[test]
fn of_two_adds_at_once_no_head_becomes_a_member() {
    let trio = Trio::strangers();
    let add = |path: &str, member: &str| trio.start(path, &["workspace", "add", member], "");
    for round in 0..8 {
        // The same one by two heads, or one that becomes a head.
        let second = if round % 2 == 0 { "nested" } else { "../lib" };
        let taken = if round % 2 == 0 {
            "../../lib"
        } else {
            "../repo/nested"
        };
        let mut both = [add("", "../lib"), add(second, taken)];
        let ended = both.each_mut().map(|one| one.0.wait().unwrap().success());
        assert!(ended.contains(&true));
        let is_head = |path: &str| {
            trio.sandbox
                .exists(format!("{path}/.git/timewarp/workspace.json"))
        };
        let is_member = |path: &str| {
            trio.sandbox
                .exists(format!("{path}/.git/timewarp/member.json"))
        };
        for path in [".", "nested", "../lib"] {
            assert!(!(is_head(path) && is_member(path)), "{round}: {path}");
        }
        let heads = [".", "nested", "../lib"].map(is_head);
        assert_eq!(
            heads.iter().filter(|head| **head).count(),
            1,
            "{round}: {heads:?}"
        );
        for path in ["", "nested", "../lib"] {
            trio.json_in(path, &["workspace", "off"]);
        }
    }
}

#[test]
fn what_a_member_left_in_doubt_is_no_success_and_is_named() {
    let trio = Trio::new();
    let home = trio.states();
    kill(&trio, &["travel", &trio.snapshot], "swap-proved");
    trio.sandbox.write("../lib/fresh.txt", "neither side\n");
    for _ in 0..2 {
        let ran = trio.tw_in("", &["recover"]);
        assert_eq!(ran.code, 4, "{}", ran.out());
        let error = document(&ran)["error"].clone();
        assert_eq!(error["code"], "INTERRUPTED", "{error}");
        assert!(error["message"].to_string().contains("../lib"), "{error}");
        assert!(
            error["hints"].to_string().contains("lib recover"),
            "{error}"
        );
    }
    // Later bytes stay where they are.
    trio.json_in("../lib", &["recover", "-y"]);
    assert_eq!(trio.json_in("", &["recover"])["action"], "nothing");
    assert_eq!(trio.sandbox.text("../lib/fresh.txt"), "neither side\n");
    trio.sandbox
        .write("../lib/fresh.txt", "fresh in '../lib'\n");
    assert_same(&home, &trio.states());
    assert!(!trio.sandbox.exists(".git/timewarp/together.json"));
}

#[test]
fn a_member_that_is_lost_in_the_middle_keeps_nobody_in_the_past() {
    for point in ["swap-proved", "together-decided"] {
        let trio = Trio::new();
        let home = trio.states();
        trio.json_in("", &["travel", &trio.snapshot]);
        kill(&trio, &["return"], point);
        let (lib, away) = (trio.sandbox.path("../lib"), trio.sandbox.path("../away"));
        std::fs::rename(&lib, &away).unwrap();
        let error = refused(&trio, "", &["recover"], "INTERRUPTED");
        assert!(
            error["hints"].to_string().contains("workspace remove"),
            "{error}"
        );
        refused(&trio, "", &["return"], "WORKSPACE_MEMBER");
        let removed = trio.json_in("", &["workspace", "remove", "../lib"]);
        assert!(
            removed["notices"]
                .to_string()
                .contains("in the middle of a return"),
            "{removed}"
        );
        if trio.json_in("", &["status"])["mode"] == "past" {
            trio.json_in("", &["return"]);
        }
        // It comes back, and finds home by itself.
        std::fs::rename(&away, &lib).unwrap();
        trio.json_in("../lib", &["recover"]);
        trio.json_in("../lib", &["return"]);
        assert_eq!(trio.modes(), ["present"; 3], "{point}");
        assert_same(&home, &trio.states());
    }
}

/// It has no part in what died; the one that has is to be asked when it is back.
#[test]
fn another_repository_in_a_members_place_is_not_recovered_for_it() {
    let trio = Trio::new();
    let home = trio.states();
    kill(&trio, &["travel", &trio.snapshot], "together-decided");
    let (lib, away) = (trio.sandbox.path("../lib"), trio.sandbox.path("../away"));
    let other = trio.sandbox.path("../fresh");
    std::fs::rename(&lib, &away).unwrap();
    trio.sandbox.write("../lib/a.txt", "fresh\n");
    trio.sandbox.git_in(&lib, ["init", "-q"]);
    let error = refused(&trio, "", &["recover"], "INTERRUPTED");
    let message = error["message"].to_string();
    assert!(message.contains("not where it was"), "{error}");
    let hints = error["hints"].to_string();
    assert!(hints.contains("workspace remove"), "{error}");
    assert!(trio.sandbox.exists(".git/timewarp/together.json"));
    assert!(!lib.join(".git/timewarp").exists());
    std::fs::rename(&lib, other).unwrap();
    std::fs::rename(&away, &lib).unwrap();
    trio.json_in("", &["recover"]);
    assert_eq!(trio.modes(), ["past"; 3]);
    assert!(!trio.sandbox.exists(".git/timewarp/together.json"));
    trio.json_in("", &["return"]);
    assert_same(&home, &trio.states());
}

#[test]
fn recovery_reaches_no_repository_but_the_members() {
    let trio = Trio::new();
    trio.json_in("", &["travel", &trio.snapshot]);
    kill(&trio, &["return"], "swap-proved");
    // Where it was lies in another repository now.
    let around = trio.sandbox.path("..");
    trio.sandbox.git_in(&around, ["init", "-q"]);
    trio.sandbox.remove("../lib/.git");
    let error = refused(&trio, "", &["recover"], "INTERRUPTED");
    assert!(
        error["message"]
            .to_string()
            .contains("not a repository any more"),
        "{error}"
    );
    assert!(!around.join(".git/timewarp").exists());
    trio.json_in("", &["workspace", "remove", "../lib"]);
    trio.json_in("", &["return"]);
}

#[test]
fn what_is_kept_in_a_member_is_kept_there() {
    let trio = Trio::new();
    let home = trio.states();
    trio.json_in("", &["travel", &trio.snapshot]);
    for path in ["made.txt", "nested/made.txt", "../lib/made.txt"] {
        trio.sandbox.write(path, format!("in {path}\n"));
    }
    trio.json_in(
        "",
        &[
            "return",
            "--keep",
            "made.txt",
            "--keep",
            "nested/made.txt",
            "--keep",
            "../lib/made.txt",
        ],
    );
    for path in ["made.txt", "nested/made.txt", "../lib/made.txt"] {
        assert_eq!(trio.sandbox.text(path), format!("in {path}\n"));
        trio.sandbox.remove(path);
    }
    assert_same(&home, &trio.states());
}

#[test]
fn what_a_return_leaves_in_a_member_is_told() {
    let trio = Trio::new();
    let sandbox = &trio.sandbox;
    let make = |name: &str| {
        let dir = sandbox.path("../lib").join(name);
        sandbox.write(dir.join("file"), "one\n");
        sandbox.git_in(&dir, ["init", "-q"]);
        sandbox.git_in(&dir, ["add", "-A"]);
        sandbox.git_in(&dir, ["commit", "-q", "-m", "one"]);
    };
    trio.json_in("", &["travel", &trio.snapshot]);
    make("fresh.txt");
    let returned = trio.json_in("", &["return", "--move-aside"]);
    let lib = &returned["members"][1];
    assert_eq!(lib["path"], "../lib");
    assert_eq!(
        lib["returned"]["moved_aside"][0]["from"], "fresh.txt",
        "{returned}"
    );
    assert_eq!(lib["returned"]["head"]["restored"], true, "{returned}");
    trio.json_in("", &["travel", &trio.snapshot]);
    make("fresh.txt");
    let said = sandbox.ok(["return", "--move-aside"]);
    assert!(
        said.contains("member ../lib: moved aside: fresh.txt to fresh.txt.tw-past-"),
        "{said}"
    );
    // An undo of the travel is a return as well.
    sandbox.write("../lib/.gitignore", "build/\n");
    sandbox.write("../lib/build/out", "one\n");
    trio.json_in("", &["travel", &trio.snapshot]);
    sandbox.write("../lib/build/out", "two\n");
    let said = sandbox.ok(["undo"]);
    assert!(
        said.contains("member ../lib: stayed in place and changed in the past: build"),
        "{said}"
    );
}

#[test]
fn a_head_that_git_moved_is_the_head_still() {
    let trio = Trio::apart();
    let head = trio.path("../linked");
    trio.git(["worktree", "add", "-q", "../linked"]);
    let tw = |dir: &std::path::Path, args: &[&str]| {
        let ran = trio.tw_in(dir, args);
        (ran.code, format!("{}{}", ran.out(), ran.err()))
    };
    assert_eq!(tw(&head, &["workspace", "add", "../lib"]).0, 0);
    assert_eq!(tw(&head, &["snapshot"]).0, 0);
    trio.git(["worktree", "move", "../linked", "../moved"]);
    let head = trio.path("../moved");
    let travelled = tw(&head, &["travel", "latest"]);
    assert_eq!(travelled.0, 0, "{}", travelled.1);
    let refused = tw(&trio.path("../lib"), &["return"]);
    assert_eq!(refused.0, 4, "{}", refused.1);
    assert!(refused.1.contains("moved"), "{}", refused.1);
    assert_eq!(tw(&head, &["return"]).0, 0);
}

#[test]
fn one_working_tree_of_each_repository_is_a_member() {
    let trio = Trio::strangers();
    trio.sandbox.git_in(
        trio.sandbox.path("../lib"),
        ["worktree", "add", "-q", "../linked"],
    );
    let error = refused(
        &trio,
        "",
        &["workspace", "add", "../lib", "../linked"],
        "WORKSPACE_MEMBER",
    );
    assert!(
        error["message"]
            .to_string()
            .contains("is a working tree of"),
        "{error}"
    );
    assert_eq!(trio.json_in("", &["workspace", "list"])["role"], "none");
}

#[test]
fn who_lost_its_head_ends_a_workspace_of_its_own() {
    let trio = Trio::new();
    trio.sandbox.remove(".git/timewarp/workspace.json");
    trio.json_in("../lib", &["workspace", "add", "../repo/nested"]);
    assert!(!trio.sandbox.exists("../lib/.git/timewarp/member.json"));
    let off = trio.json_in("../lib", &["workspace", "off"]);
    assert_eq!(off["removed"], serde_json::json!(["../repo/nested"]));
    assert_eq!(
        trio.json_in("../lib", &["workspace", "list"])["role"],
        "none"
    );
}

#[test]
fn a_member_that_is_gone_is_removed_from_wherever_one_stands() {
    let trio = Trio::new();
    trio.sandbox.mkdir("sub");
    std::fs::rename(trio.sandbox.path("../lib"), trio.sandbox.path("../away")).unwrap();
    let removed = trio.json_in("sub", &["workspace", "remove", "../../lib"]);
    assert_eq!(removed["removed"], serde_json::json!(["../lib"]));
}

/// What cannot be read keeps nobody from saving work, and one command leads on.
#[test]
fn damaged_files_of_the_workspace_keep_no_work_from_being_saved() {
    for damage in ["", "{", "[]", "{\"version\":1}"] {
        let trio = Trio::new();
        trio.json_in("", &["travel", &trio.snapshot]);
        trio.sandbox.write(".git/timewarp/workspace.json", damage);
        trio.sandbox
            .write("../lib/.git/timewarp/member.json", damage);
        trio.sandbox.write("saved.txt", damage);
        let taken = trio.json_in("", &["snapshot"]);
        let notices = taken["notices"].to_string();
        assert!(
            notices.contains("no snapshot of any member") && notices.contains("'tw workspace off'"),
            "{damage}: {taken}"
        );
        trio.json_in("../lib", &["snapshot"]);
        // What would go to half a workspace goes nowhere.
        let before = trio.states();
        for path in ["", "../lib"] {
            let error = refused(&trio, path, &["return"], "CORRUPT_RECORD");
            let hints = error["hints"].to_string();
            assert!(hints.contains("'tw workspace off'"), "{damage}: {error}");
        }
        let error = refused(&trio, "nested", &["return"], "CORRUPT_RECORD");
        let head = trio.sandbox.repo();
        let way = format!("'tw -C {} workspace off'", head.display());
        assert!(error["hints"].to_string().contains(&way), "{error}");
        assert_same(&before, &trio.states());
        for (path, file) in [("", "workspace.json"), ("../lib", "member.json")] {
            let doctor = document(&trio.tw_in(path, &["doctor"]));
            assert!(doctor.to_string().contains("workspace off"), "{doctor}");
            let ended = trio.json_in(path, &["workspace", "off"]);
            assert_eq!(ended["workspace"]["role"], "none", "{ended}");
            let aside = format!("{path}/.git/timewarp/{file}.damaged");
            let aside = aside.trim_start_matches('/');
            assert_eq!(trio.sandbox.text(aside), damage);
        }
        for path in ["", "nested", "../lib"] {
            trio.json_in(path, &["return"]);
        }
        let again = trio.json_in("", &["workspace", "add", "../lib", "nested"]);
        assert_eq!(again["workspace"]["members"].as_array().unwrap().len(), 2);
        assert_eq!(trio.modes(), ["present"; 3]);
    }
}

/// Somebody who stands in the head pastes what a command said that went elsewhere.
#[test]
fn a_member_leaves_by_the_command_that_its_refusal_names() {
    let trio = Trio::new();
    trio.json_in("", &["travel", &trio.snapshot]);
    let lib = trio.sandbox.path("../lib");
    let ran = trio.sandbox.tw_in(&lib, ["return"]);
    let error = refused(&trio, "nested", &["return"], "WORKSPACE_MEMBER");
    let off = error["hints"][1].as_str().unwrap();
    let nested = trio.sandbox.path("nested");
    let command = format!("tw -C {} workspace off", nested.display());
    assert!(off.ends_with(&format!("'{command}'")), "{error}");
    assert_eq!(trio.sandbox.paste(&command).code, 0);
    let workspace = trio.json_in("", &["workspace", "list"]);
    let members = workspace["members"].as_array().unwrap();
    assert_eq!(members.len(), 1, "{workspace}");
    assert_eq!(members[0]["path"], "../lib", "{workspace}");
    let back = trio.sandbox.paste_hint(&ran.err(), "tw -C /");
    assert_eq!(back.code, 0, "{}", ran.err());
    assert_eq!(trio.modes(), ["present", "past", "present"]);
}

#[test]
fn a_member_with_a_damaged_pointer_is_named_with_the_command_that_mends_it() {
    let trio = Trio::new();
    trio.sandbox.write("../lib/.git/timewarp/member.json", "{");
    let error = refused(&trio, "", &["travel", &trio.snapshot], "CORRUPT_RECORD");
    let lib = trio.sandbox.repo().join("../lib").canonicalize().unwrap();
    let way = format!("'tw -C {} workspace off'", lib.display());
    assert!(error["hints"].to_string().contains(&way), "{error}");
    assert_eq!(error["member"], "../lib", "{error}");
    trio.json_in("../lib", &["workspace", "off"]);
    refused(&trio, "", &["travel", &trio.snapshot], "WORKSPACE_MEMBER");
    trio.json_in("", &["workspace", "add", "../lib"]);
    trio.json_in("", &["travel", &trio.snapshot]);
    assert_eq!(trio.modes(), ["past"; 3]);
}
