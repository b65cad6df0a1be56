//! Ref files that a crash left empty, or that hold garbage: what git goes on with, `tw` goes on with, and says what mends it.

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
