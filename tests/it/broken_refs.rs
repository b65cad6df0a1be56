//! Ref files that a crash left empty, or that hold garbage: what git goes on with, `tw` goes on with, and says what mends it.

use crate::recover::unpack_all;
use crate::sandbox::{Kind, Sandbox};

/// What a crash, or a bad disk, leaves of a ref.
const BROKEN: [&str; 3] = ["", "garbage\n", "1234"];

fn sandbox() -> (Sandbox, String) {
    let sandbox = Sandbox::of(Kind::ref_files());
    sandbox.write("a.txt", "changed\n");
    sandbox.write("new.txt", "new\n");
    let tip = sandbox.git(["rev-parse", "HEAD"]).trim().to_owned();
    (sandbox, tip)
}

#[test]
fn a_broken_branch_stops_no_snapshot_and_no_trip() {
    for text in BROKEN {
        let (sandbox, tip) = sandbox();
        let earlier = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"].clone();
        let earlier = earlier.as_str().unwrap();
        sandbox.write(".git/refs/heads/main", text);
        // As `git status` has it.
        assert!(
            sandbox.git(["status"]).contains("No commits yet"),
            "{text:?}"
        );
        let taken = sandbox.tw(["snapshot"]);
        assert_eq!(taken.code, 0, "{text:?}: {}", taken.err());
        let mend = format!("git update-ref refs/heads/main {tip}");
        assert!(taken.err().contains(&mend), "{text:?}: {}", taken.err());
        assert!(sandbox.tw(["status"]).err().contains(&mend));
        let doctor = sandbox.tw(["doctor"]);
        assert_eq!(doctor.code, 1, "{text:?}");
        assert!(
            doctor.out().contains("'main' is broken"),
            "{}",
            doctor.out()
        );
        let shown = sandbox.json(["show", "latest"]);
        assert_eq!(shown["snapshot"]["head"]["unborn"], true);
        assert_eq!(
            sandbox.git([
                "show",
                "refs/timewarp/snapshots/PLACE:new.txt"
                    .replace("PLACE", shown["snapshot"]["snapshot_id"].as_str().unwrap())
                    .as_str()
            ]),
            "new\n"
        );
        sandbox.ok(["travel", earlier]);
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{text:?}: {returned}");
        assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
        assert_eq!(
            sandbox.text(".git/refs/heads/main"),
            text,
            "nobody mends it unasked"
        );
        // The commands that were told do mend it.
        sandbox.remove(".git/refs/heads/main");
        sandbox.git(["update-ref", "refs/heads/main", &tip]);
        assert_eq!(
            sandbox.git(["status", "--porcelain"]),
            " M a.txt\n?? new.txt\n"
        );
    }
}

#[test]
fn the_present_comes_back_although_its_branch_broke_meanwhile() {
    for text in BROKEN {
        let (sandbox, tip) = sandbox();
        sandbox.ok(["snapshot"]);
        sandbox.ok(["travel", "latest"]);
        sandbox.write(".git/refs/heads/main", text);
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{text:?}: {returned}");
        assert_eq!(returned["head"]["reason"], "branch-broken");
        assert_eq!(sandbox.head(), format!("{tip}\n"));
        assert!(
            returned["notices"]
                .to_string()
                .contains("git switch -c main")
        );
    }
}

#[test]
fn a_head_that_cannot_be_read_is_named_with_what_mends_it() {
    for text in BROKEN {
        let (sandbox, _) = sandbox();
        sandbox.write(".git/HEAD", text);
        let (error, code) = sandbox.json_error(["snapshot"]);
        assert_eq!((&error["code"], code), (&"NOT_A_REPOSITORY".into(), 1));
        let head = sandbox.path(".git/HEAD").display().to_string();
        assert!(error["message"].to_string().contains(&head), "{error}");
        let mend = format!("echo 'ref: refs/heads/NAME' > '{head}'");
        assert!(error["hint"].to_string().contains(&mend), "{error}");
        sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
        sandbox.ok(["snapshot"]);
    }
}

/// git works on it as on a branch without a commit, whatever stands in the place that the name leads to.
#[test]
fn a_head_that_names_what_is_no_branch_is_kept() {
    for name in ["invalid.lock", "a..b", "b.lock/c", "with space"] {
        let (sandbox, tip) = sandbox();
        let head = format!("ref: refs/heads/{name}\n");
        sandbox.ok(["snapshot"]);
        sandbox.write(".git/HEAD", &head);
        sandbox.write(format!(".git/refs/heads/{name}"), format!("{tip}\n"));
        let status = sandbox.git(["status"]);
        assert!(status.contains("No commits yet"), "{status}");
        let told = sandbox.tw(["snapshot"]);
        assert_eq!(told.code, 0, "{name}: {}", told.err());
        let mend = "git symbolic-ref HEAD refs/heads/NAME";
        assert!(told.err().contains(mend), "{name}: {}", told.err());
        assert!(sandbox.tw(["status"]).err().contains(mend), "{name}");
        let taken = sandbox.json(["show", "latest"])["snapshot"]["head"].clone();
        assert_eq!(taken["ref"], format!("refs/heads/{name}"));
        assert_eq!(
            (&taken["unborn"], &taken["oid"]),
            (&true.into(), &().into())
        );
        for target in ["latest~1", "latest"] {
            sandbox.ok(["travel", target]);
            sandbox.write("a.txt", "in the past\n");
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["verified"], true, "{name}: {returned}");
            assert_eq!(returned["head"]["restored"], true, "{name}: {returned}");
            assert_eq!(sandbox.head(), head);
            assert_eq!(sandbox.text("a.txt"), "changed\n");
            assert_eq!(
                sandbox.text(format!(".git/refs/heads/{name}")),
                format!("{tip}\n")
            );
            let now = sandbox.git(["status"]);
            assert_eq!(now, status, "{name}");
        }
    }
}

#[test]
fn a_branch_at_a_commit_that_is_not_there_is_an_error_with_a_hint() {
    let (sandbox, _) = sandbox();
    let missing = &sandbox.kind().id("1");
    sandbox.write(".git/refs/heads/main", format!("{missing}\n"));
    let (error, code) = sandbox.json_error(["snapshot"]);
    assert_eq!(code, 1, "{error}");
    assert!(error["message"].to_string().contains(missing), "{error}");
    assert!(error["hint"].to_string().contains("git fsck"), "{error}");
    assert_eq!(sandbox.git(["for-each-ref", "refs/timewarp"]), "");
}

#[test]
fn broken_refs_of_ours_and_of_others_stop_no_snapshot() {
    for text in BROKEN {
        let (sandbox, _) = sandbox();
        sandbox.ok(["session", "start", "--session", "one"]);
        sandbox.ok(["snapshot"]);
        let newest = sandbox.json(["show", "latest"])["snapshot"]["snapshot_id"].clone();
        for name in [
            format!("refs/timewarp/snapshots/{}", newest.as_str().unwrap()),
            "refs/heads/other".to_owned(),
            "refs/tags/other".to_owned(),
            "refs/stash".to_owned(),
        ] {
            sandbox.write(format!(".git/{name}"), text);
        }
        for args in [&["snapshot"][..], &["list"], &["status"], &["prune"]] {
            let ran = sandbox.tw(args);
            assert_eq!(ran.code, 0, "{text:?} {args:?}: {}", ran.err());
        }
        let whole = sandbox.json(["show", "latest"]);
        let tree = whole["snapshot"]["tree"].as_str().unwrap();
        assert_eq!(
            sandbox.git(["cat-file", "blob", &format!("{tree}:new.txt")]),
            "new\n"
        );
        let doctor = sandbox.tw(["doctor"]).out();
        assert!(
            doctor.contains(newest.as_str().unwrap()),
            "{text:?}: {doctor}"
        );
    }
}

/// What `doctor` says of one of its checks: message and fix.
fn doctor(sandbox: &Sandbox, name: &str) -> (String, String) {
    let ran = sandbox.tw(["--json", "doctor"]);
    assert_eq!(ran.code, 1, "{}", ran.out());
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap().iter();
    let check = checks.clone().find(|check| check["name"] == name).unwrap();
    assert_eq!(check["status"], "error", "{check}");
    let text = |field: &str| check[field].as_str().unwrap().to_owned();
    (text("message"), text("fix"))
}

fn refuses_to_prune(sandbox: &Sandbox) {
    let (error, _) = sandbox.json_error(["prune"]);
    assert_eq!(error["code"], "CORRUPT_RECORD", "{error}");
    assert!(error["hint"].to_string().contains("tw doctor"), "{error}");
}

#[test]
fn a_broken_label_is_named_and_can_be_taken_away() {
    for text in BROKEN {
        let (sandbox, _) = sandbox();
        sandbox.ok(["snapshot", "--label", "one"]);
        sandbox.write(".git/refs/timewarp/records/labels/one", text);
        refuses_to_prune(&sandbox);
        let (message, fix) = doctor(&sandbox, "labels");
        assert!(message.contains("'one'"), "{message}");
        assert_eq!(fix, "tw label --remove one");
        let removed = sandbox.json(["label", "--remove", "one"]);
        assert_eq!(removed["removed"], true, "{removed}");
        sandbox.ok(["prune"]);
        sandbox.ok(["doctor"]);
        sandbox.ok(["snapshot", "--label", "one"]);
    }
}

fn reported(sandbox: &Sandbox) -> String {
    let report = "issue report --task-context t --symptom s --success-criteria c";
    let reported = sandbox.json(report.split(' '));
    reported["issue_id"].as_str().unwrap().to_owned()
}

/// Runs the first of the commands that a fix consists of, up to what is no command.
fn mend(sandbox: &Sandbox, fix: &str) {
    let commands = fix.split("; ").filter(|part| !part.starts_with('\''));
    for command in commands {
        sandbox
            .command("sh")
            .args(["-c", command])
            .assert()
            .success();
    }
}

#[test]
fn an_issue_whose_refs_are_broken_is_named_with_what_mends_it() {
    for text in BROKEN {
        let (sandbox, _) = sandbox();
        let issue = reported(&sandbox);
        let refs = [
            format!("refs/notes/timewarp/issues/{issue}"),
            format!("refs/timewarp/records/issues/{issue}"),
        ];
        for name in &refs {
            sandbox.write(format!(".git/{name}"), text);
        }
        refuses_to_prune(&sandbox);
        let listed = sandbox.json(["issue", "list"])["issues"][0].clone();
        assert_eq!(listed["issue_id"], *issue, "{listed}");
        assert_eq!(listed["status"], "invalid", "{listed}");
        let (message, fix) = doctor(&sandbox, "records");
        assert!(refs.iter().all(|name| message.contains(name)), "{message}");
        mend(&sandbox, &fix);
        sandbox.ok(["prune"]);
        sandbox.ok(["doctor"]);

        // Of one that is broken the other one tells, and puts it back when it is gone.
        let issue = reported(&sandbox);
        let name = format!("refs/notes/timewarp/issues/{issue}");
        sandbox.write(format!(".git/{name}"), text);
        let (message, fix) = doctor(&sandbox, "records");
        assert!(message.contains(&name), "{message}");
        mend(&sandbox, &fix);
        let got = sandbox.json(["issue", "get", &issue]);
        assert_eq!(got["issue"]["symptom"], "s", "{got}");
        sandbox.ok(["doctor"]);
    }
}

#[test]
fn an_issue_whose_note_is_lost_is_named_with_what_is_left_to_do() {
    let (sandbox, _) = sandbox();
    let issue = reported(&sandbox);
    let lose = || {
        unpack_all(&sandbox);
        let notes = format!("--ref=refs/notes/timewarp/issues/{issue}");
        let listed = sandbox.git(["notes", &notes, "list"]);
        let (dir, name) = listed.split_whitespace().next().unwrap().split_at(2);
        sandbox.remove(format!(".git/objects/{dir}/{name}"));
    };
    // There is an earlier version.
    sandbox.ok(["issue", "close", &issue, "--status", "wontfix"]);
    lose();
    refuses_to_prune(&sandbox);
    let (_, fix) = doctor(&sandbox, "records");
    mend(&sandbox, &fix);
    let got = sandbox.json(["issue", "get", &issue]);
    assert_eq!(got["issue"]["status"], "open", "{got}");
    sandbox.ok(["prune"]);
    sandbox.ok(["doctor"]);
    // There is none.
    lose();
    refuses_to_prune(&sandbox);
    let (message, fix) = doctor(&sandbox, "records");
    assert!(message.contains(&issue), "{message}");
    mend(&sandbox, &fix);
    sandbox.ok(["prune"]);
    sandbox.ok(["doctor"]);
}
