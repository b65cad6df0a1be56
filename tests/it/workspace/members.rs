//! Who is a member, and what a snapshot of the head has of each.

use serde_json::{Value, json};

use super::Trio;
use crate::damage::document;
use crate::transcripts::{Kind, Talk};

fn error_of(trio: &Trio, path: &str, args: &[&str]) -> Value {
    let ran = trio.tw_in(path, args);
    let document = document(&ran);
    assert_eq!(document["ok"], false, "{document}");
    document["error"].clone()
}

#[test]
fn members_are_added_listed_and_removed() {
    let sandbox = Trio::apart();
    assert_eq!(sandbox.json(["workspace", "list"])["role"], "none");
    let added = sandbox.json(["workspace", "add", "nested", "../lib"]);
    assert_eq!(added["added"], json!(["nested", "../lib"]));
    // Once more changes nothing.
    assert_eq!(
        sandbox.json(["workspace", "add", "nested"])["added"],
        json!([])
    );
    let trio = Trio {
        sandbox,
        snapshot: String::new(),
    };
    let listed = trio.json_in("", &["workspace", "list"]);
    assert_eq!(listed["role"], "head");
    assert_eq!(listed["members"][1]["path"], "../lib");
    assert_eq!(listed["members"][1]["mode"], "present");
    let there = trio.json_in("nested", &["workspace", "list"]);
    assert_eq!(
        (&there["role"], &there["members"]),
        (&json!("member"), &listed["members"])
    );
    // What can be none.
    for (path, args, says) in [
        (
            "",
            &["workspace", "add", "dir"][..],
            "lies in the working tree",
        ),
        ("", &["workspace", "add", "."], "this very repository"),
        (
            "nested",
            &["workspace", "add", "../../lib"],
            "is a member of the workspace",
        ),
    ] {
        let error = error_of(&trio, path, args);
        assert_eq!(error["code"], "WORKSPACE_MEMBER", "{error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    }
    // The head knows no issue of a member's, and need not go to its snapshot.
    let words = [
        ["--task-context", "t"],
        ["--symptom", "s"],
        ["--success-criteria", "c"],
    ];
    let report = [&["issue", "report"][..], words.concat().as_slice()].concat();
    let issue = trio.json_in("../lib", &report)["issue_id"].clone();
    let issue = issue.as_str().unwrap();
    let error = error_of(&trio, "../lib", &["issue", "start", issue]);
    assert_eq!(error["code"], "WORKSPACE_MEMBER", "{error}");
    let hint = format!("'tw try {issue} -- COMMAND' works on it beside the working tree");
    assert_eq!(error["hint"], hint);
    let error = error_of(&trio, "", &["workspace", "remove", "dir"]);
    assert_eq!(error["code"], "PATH_NOT_FOUND", "{error}");
    // It leaves from its own side, and by the head's.
    let left = trio.json_in("nested", &["workspace", "off"]);
    assert_eq!(left["removed"], json!(["nested"]));
    assert!(!trio.sandbox.exists("nested/.git/timewarp/member.json"));
    let removed = trio.json_in("", &["workspace", "remove", "../lib"]);
    assert_eq!(removed["workspace"]["role"], "none");
    assert!(!trio.sandbox.exists(".git/timewarp/workspace.json"));
    assert!(!trio.sandbox.exists("../lib/.git/timewarp/member.json"));
}

#[test]
fn a_snapshot_of_the_head_has_one_of_each_member() {
    let sandbox = Trio::apart();
    sandbox.ok(["workspace", "add", "nested", "../lib"]);
    let trio = Trio {
        sandbox,
        snapshot: String::new(),
    };
    let covered = |taken: &Value| taken["snapshot"]["members"].clone();
    let first = trio.json_in("", &["snapshot", "-m", "all"]);
    let members = covered(&first);
    for (at, path) in [(0, "nested"), (1, "../lib")] {
        assert_eq!(members[at]["path"], path, "{first}");
        assert_eq!(
            trio.ids(path, "snapshots"),
            [members[at]["snapshot_id"].as_str().unwrap()]
        );
    }
    // The head may be as it was: what changed in a member makes another one.
    let same = trio.json_in("", &["snapshot", "--if-changed"]);
    assert_eq!(
        (&same["fresh"], covered(&same)),
        (&json!(false), members.clone())
    );
    trio.sandbox.write("../lib/a.txt", "changed there alone\n");
    let second = trio.json_in("", &["snapshot", "--if-changed"]);
    assert_eq!(second["fresh"], true);
    assert_eq!(covered(&second)[0], members[0]);
    assert_ne!(covered(&second)[1], members[1]);
    // A member's own has nothing to do with the head.
    trio.json_in("../lib", &["snapshot"]);
    assert_eq!(trio.ids("", "snapshots").len(), 2);
    // So does a checkpoint.
    trio.sandbox.write("nested/a.txt", "before the prompt\n");
    let checkpoint = trio.json_in("", &["checkpoint", "-m", "here"]);
    let id = checkpoint["checkpoint"]["snapshot_id"].as_str().unwrap();
    let shown = trio.json_in("", &["show", id]);
    assert_ne!(shown["snapshot"]["members"][0], members[0], "{shown}");
}

#[test]
fn a_member_that_is_not_there_is_named_and_the_head_is_taken_all_the_same() {
    let trio = Trio::new();
    std::fs::rename(
        trio.sandbox.path("../lib"),
        trio.sandbox.path("../elsewhere"),
    )
    .unwrap();
    let taken = trio.json_in("", &["snapshot"]);
    assert!(
        taken["notices"].to_string().contains("member '../lib'"),
        "{taken}"
    );
    let lib = &taken["snapshot"]["members"][1];
    assert_eq!(
        (&lib["snapshot_id"], &lib["reason"]),
        (&json!(null), &json!("WORKSPACE_MEMBER"))
    );
    std::fs::rename(
        trio.sandbox.path("../elsewhere"),
        trio.sandbox.path("../lib"),
    )
    .unwrap();
    // There is nothing to go to.
    let error = error_of(&trio, "", &["travel", "latest"]);
    assert_eq!(error["code"], "WORKSPACE_MEMBER", "{error}");
    assert_eq!(error["member"], "../lib", "{error}");
}

#[test]
fn a_member_keeps_what_a_snapshot_of_its_head_names() {
    let trio = Trio::new();
    let strict = ["prune", "--keep-days", "0", "--keep-last", "0"];
    let before = trio.ids("../lib", "snapshots");
    trio.json_in("../lib", &strict);
    assert_eq!(trio.ids("../lib", "snapshots"), before);
    let error = error_of(&trio, "../lib", &["drop", "-y", &before[0]]);
    assert_eq!(error["code"], "HELD", "{error}");
    // A head that cannot be asked lets nothing go.
    std::fs::rename(trio.sandbox.repo(), trio.sandbox.root().join("moved")).unwrap();
    let lib = trio.sandbox.root().join("lib");
    let ran = trio
        .sandbox
        .tw_in(&lib, [&["--json"], &strict[..]].concat());
    assert!(ran.out().contains("workspace off"), "{}", ran.out());
    std::fs::rename(trio.sandbox.root().join("moved"), trio.sandbox.repo()).unwrap();
    // Without the head's there is no reason any more.
    trio.json_in("", &["drop", "-y", &trio.snapshot]);
    trio.json_in("../lib", &strict);
    assert_eq!(trio.ids("../lib", "snapshots"), [""; 0]);
}

#[test]
fn another_repository_in_the_heads_place_lets_nothing_of_a_member_go() {
    let trio = Trio::new();
    let before = trio.ids("../lib", "snapshots");
    let (head, moved) = (trio.sandbox.repo(), trio.sandbox.root().join("moved"));
    std::fs::rename(&head, &moved).unwrap();
    std::fs::create_dir(&head).unwrap();
    trio.sandbox.git_in(&head, ["init", "-q"]);
    let strict = ["prune", "--keep-days", "0", "--keep-last", "0"];
    let error = error_of(&trio, "../lib", &strict);
    assert_eq!(error["code"], "WORKSPACE_MEMBER", "{error}");
    assert!(error.to_string().contains("workspace off"), "{error}");
    std::fs::remove_dir_all(&head).unwrap();
    std::fs::rename(&moved, &head).unwrap();
    assert_eq!(trio.ids("../lib", "snapshots"), before);
}

/// One checkpoint covers all members: what the agent wrote in one is the agent's there, too.
#[test]
fn lines_of_a_turn_are_its_prompts_in_a_member_too() {
    let trio = Trio::new();
    let talk = Talk::new(&trio.sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    let add = |line: &str| {
        let text = trio.sandbox.text("../lib/a.txt");
        trio.sandbox.write("../lib/a.txt", text + line);
    };
    for (prompt, line) in [("edit the library", "agent\n"), ("again", "more\n")] {
        talk.submits(prompt);
        add(line);
        talk.hook("Stop", &json!({}));
        add("mine\n");
    }
    trio.json_in("../lib", &["snapshot"]);
    let document = trio.json_in("../lib", &["blame", "a.txt"]);
    let lines = document["lines"].as_array().unwrap().iter().rev();
    let origins: Vec<&Value> = lines.map(|line| &line["origin"]).take(4).collect();
    let kinds: Vec<&Value> = origins.iter().map(|origin| &origin["kind"]).collect();
    assert_eq!(kinds, ["between", "prompt", "between", "prompt"]);
    assert_eq!(origins[3]["session_id"], json!(talk.id));
    assert_eq!(origins[3]["checkpoint_id"], 0);
    assert_eq!(origins[3]["prompt"], "edit the library");
    assert_eq!(origins[1]["checkpoint_id"], 1);
    let words = ["bisect", "run", "--", "sh", "-c", "! grep -q agent a.txt"];
    let found = trio.json_in("../lib", &words);
    let bad = &found["first_bad"];
    assert_eq!(bad["origin"], "prompt", "{found}");
    assert_eq!(bad["session_id"], json!(talk.id));
    assert_eq!(bad["agent"], "claude");
    // The session has no name in the member.
    let dir = trio.sandbox.path("../lib");
    let said = trio.sandbox.tw_in(dir, words).err();
    assert!(
        said.contains("tw open") && !said.contains("tw revert"),
        "{said}"
    );
}

#[test]
fn a_purge_of_what_a_member_keeps_names_the_member() {
    let sandbox = Trio::apart();
    sandbox.json(["workspace", "add", "nested"]);
    let trio = Trio {
        sandbox,
        snapshot: String::new(),
    };
    trio.sandbox.write("nested/key", "secret\n");
    trio.json_in("", &["snapshot"]);
    for is_there in [true, false] {
        if !is_there {
            trio.sandbox.remove("nested/key");
        }
        let error = error_of(&trio, "", &["purge", "--yes-purge", "nested/key"]);
        assert_eq!(error["code"], "PATH_NOT_FOUND", "{error}");
        let there = trio.sandbox.path("nested");
        let command = format!("tw -C {} purge key", there.display());
        assert!(error["hints"].to_string().contains(&command), "{error}");
    }
    trio.json_in("nested", &["purge", "--yes-purge", "key"]);
}
