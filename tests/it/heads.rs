//! A HEAD that leads to an annotated tag: git works on it as on the tag's commit, and so does `tw`. And one that leads to no commit at
//! all, which git does not work with either: what is said of it mends it, and there is always a way back to the present.

use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use crate::provided::skipped;
use crate::sandbox::{Kind, Sandbox};

/// How HEAD leads to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It holds the id.
    Detached,
    /// It names a ref, which holds the id.
    Symbolic,
}

const WAYS: [Way; 2] = [Way::Detached, Way::Symbolic];

/// Two commits and a change; tag `v1` of the first commit, tag `v2` of that tag.
fn tagged(kind: Kind) -> Sandbox {
    let sandbox = Sandbox::of(kind);
    sandbox.git(["tag", "-a", "-m", "one", "v1"]);
    sandbox.git(["tag", "-a", "-m", "two", "v2", "v1"]);
    sandbox.git(["tag", "-a", "-m", "tree", "of-tree", "HEAD^{tree}"]);
    sandbox.write("a.txt", "second\n");
    sandbox.git(["commit", "-q", "-am", "second"]);
    sandbox.write("a.txt", "changed\n");
    sandbox.write("new.txt", "new\n");
    sandbox
}

fn id_of(sandbox: &Sandbox, name: &str) -> String {
    sandbox.git(["rev-parse", name]).trim().to_owned()
}

/// Has HEAD lead to an object, as only a hand or another program does.
fn lead(sandbox: &Sandbox, way: Way, id: &str) {
    let head = match way {
        Way::Detached => format!("{id}\n"),
        Way::Symbolic => {
            sandbox.write(".git/refs/tags/led", format!("{id}\n"));
            "ref: refs/tags/led\n".to_owned()
        }
    };
    sandbox.write(".git/HEAD", head);
}

fn kinds() -> [Kind; 2] {
    let files = Kind::ref_files();
    [
        files,
        if files == Kind::PLAIN {
            Kind::SHA256
        } else {
            Kind::PLAIN
        },
    ]
}

#[test]
fn a_trip_from_a_head_at_a_tag_brings_it_back() {
    for (way, tag, kind) in WAYS
        .into_iter()
        .flat_map(|way| ["v1", "v2"].map(|tag| (way, tag)))
        .flat_map(|(way, tag)| kinds().map(|kind| (way, tag, kind)))
    {
        let sandbox = tagged(kind);
        let first = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"].clone();
        let (tag, commit) = (id_of(&sandbox, tag), id_of(&sandbox, "v1^{commit}"));
        lead(&sandbox, way, &tag);
        let taken = sandbox.json(["snapshot"])["snapshot"].clone();
        let head = &taken["head"];
        assert_eq!(head["oid"], commit.as_str(), "{way:?}");
        assert_eq!(head["tag"], tag.as_str(), "{way:?}");
        assert_eq!(head["detached"], way == Way::Detached);
        // Nothing has changed since.
        let again = sandbox.json(["snapshot", "--if-changed"]);
        assert_eq!(again["snapshot"]["snapshot_id"], taken["snapshot_id"]);
        for target in [first.as_str().unwrap(), "latest"] {
            sandbox.assert_round_trip(target, |sandbox| {
                sandbox.write("a.txt", "in the past\n");
                sandbox.git(["add", "a.txt"]);
                sandbox.git(["commit", "-q", "-m", "in the past"]);
            });
        }
        sandbox.ok(["undo", "--into-past"]);
        assert_eq!(sandbox.text("a.txt"), "in the past\n");
        sandbox.ok(["redo"]);
        assert_eq!(sandbox.text("a.txt"), "changed\n");
        sandbox.write("a.txt", "later\n");
        sandbox.ok(["restore", first.as_str().unwrap()]);
        assert_eq!(sandbox.text("a.txt"), "changed\n");
        sandbox.ok(["undo"]);
        assert_eq!(sandbox.text("a.txt"), "later\n");
        sandbox.write("a.txt", "changed\n");
        let diff = sandbox.json(["diff", "latest", "present"]);
        assert_eq!(diff["files"], Value::Array(Vec::new()));
        for args in [
            &["status"][..],
            &["log"],
            &["blame", "a.txt"],
            &["blame", "HEAD", "a.txt"],
            &["doctor"],
            &["prompt"],
            &["list"],
            &["show", "latest"],
            &["recover"],
            &["search", "changed"],
            &["find", "a.txt"],
        ] {
            let ran = sandbox.tw(args);
            assert_eq!(ran.code, 0, "{args:?} {way:?}: {}{}", ran.out(), ran.err());
        }
        // Of such a HEAD itself git's check-up complains.
        sandbox.git(["symbolic-ref", "HEAD", "refs/heads/main"]);
        assert_eq!(sandbox.git(["fsck", "--strict", "--no-dangling"]), "");
    }
}

#[test]
fn a_symbolic_head_at_a_tag_comes_back_in_a_reftable() {
    let room = Sandbox::bare_room();
    let init = ["init", "-q", "--ref-format=reftable", "odd"];
    if room.try_git_in(room.root(), init).code != 0 {
        skipped("git", "it is too old to keep refs in the reftable format");
        return;
    }
    let sandbox = tagged(Kind::of_all().with_reftable());
    sandbox.git(["symbolic-ref", "HEAD", "refs/tags/v2"]);
    let (tag, commit) = (id_of(&sandbox, "v2"), id_of(&sandbox, "v1^{commit}"));
    let taken = sandbox.json(["snapshot"])["snapshot"].clone();
    assert_eq!(taken["head"]["oid"], commit.as_str());
    assert_eq!(taken["head"]["tag"], tag.as_str());
    sandbox.assert_round_trip("latest", |sandbox| {
        sandbox.write("a.txt", "in the past\n");
    });
}

#[test]
fn a_head_that_is_at_a_tag_in_the_past_is_a_way_back_like_any_other() {
    for way in WAYS {
        let sandbox = tagged(Kind::ref_files());
        sandbox.ok(["snapshot"]);
        sandbox.git(["update-ref", "refs/tags/led", "v2"]);
        let before = sandbox.state();
        sandbox.ok(["travel", "latest"]);
        lead(&sandbox, way, &id_of(&sandbox, "v2"));
        sandbox.write("a.txt", "in the past\n");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{way:?}: {returned}");
        before.assert_same(&sandbox.state());
        // The past as it was left.
        sandbox.ok(["undo", "--into-past"]);
        assert_eq!(id_of(&sandbox, "HEAD"), id_of(&sandbox, "v2"), "{way:?}");
        sandbox.ok(["redo"]);
        before.assert_same(&sandbox.state());
    }
}

#[test]
fn a_head_whose_tag_was_pruned_meanwhile_is_at_the_commit() {
    let sandbox = tagged(Kind::ref_files());
    let commit = id_of(&sandbox, "v1^{commit}");
    lead(&sandbox, Way::Detached, &id_of(&sandbox, "v1"));
    sandbox.ok(["snapshot"]);
    sandbox.ok(["travel", "latest"]);
    sandbox.git(["tag", "-d", "v1", "v2"]);
    sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(returned["head"]["restored"], false, "{returned}");
    assert_eq!(returned["head"]["reason"], "tag-gone", "{returned}");
    assert_eq!(sandbox.head(), format!("{commit}\n"));
}

/// A merge of an annotated tag names the tag: what it leads to outlives a gc in the past.
#[test]
fn a_merge_of_a_tag_keeps_the_commit_of_the_tag() {
    let sandbox = tagged(Kind::ref_files());
    sandbox.git(["checkout", "-q", "-f", "-b", "side", "v1^{commit}"]);
    sandbox.write("a.txt", "side\n");
    sandbox.git(["commit", "-q", "-am", "side"]);
    sandbox.git(["tag", "-a", "-m", "side", "merged"]);
    sandbox.git(["checkout", "-q", "main"]);
    assert_eq!(sandbox.try_git(["merge", "-q", "merged"]).code, 1);
    let (tag, commit) = (id_of(&sandbox, "merged"), id_of(&sandbox, "side"));
    assert_eq!(sandbox.text(".git/MERGE_HEAD"), format!("{tag}\n"));
    sandbox.ok(["snapshot"]);
    let held = sandbox.git(["log", "--format=%P", "--all", "--grep=timewarp: state"]);
    assert!(held.contains(&commit), "{held}");
}

/// A branch of an old repository, whose name is in another encoding.
#[test]
fn a_branch_that_is_not_utf_8_is_left_by_the_command_that_is_named() {
    let mut kinds = vec![Kind::ref_files()];
    kinds.extend(Kind::of_all().has_reftable().then(Kind::of_all));
    for kind in kinds {
        let sandbox = tagged(kind);
        sandbox.ok(["snapshot"]);
        let before = sandbox.state();
        sandbox.ok(["travel", "latest"]);
        let branch = std::ffi::OsStr::from_bytes(b"f\xe9");
        sandbox.git(["branch".as_ref(), branch]);
        sandbox.git(["checkout".as_ref(), "-q".as_ref(), branch]);
        for command in ["return", "status", "snapshot"] {
            let (error, code) = sandbox.json_error([command]);
            assert_eq!(
                (&error["code"], code),
                (&"UNSUPPORTED_REPOSITORY".into(), 1)
            );
            let hint = error["hint"].to_string();
            assert!(hint.contains("'git checkout --detach'"), "{error}");
        }
        sandbox.git(["checkout", "-q", "--detach"]);
        assert_eq!(sandbox.json(["return"])["verified"], true);
        sandbox.git(["branch".as_ref(), "-D".as_ref(), branch]);
        before.assert_same(&sandbox.state());
    }
}

#[test]
fn a_head_that_leads_to_no_commit_is_named_with_what_mends_it() {
    for (way, what) in WAYS
        .into_iter()
        .flat_map(|way| ["HEAD^{tree}", "HEAD:a.txt", "of-tree", "missing"].map(|what| (way, what)))
    {
        let sandbox = tagged(Kind::ref_files());
        sandbox.ok(["snapshot"]);
        let before = sandbox.state();
        let id = match what {
            "missing" => "1".repeat(id_of(&sandbox, "HEAD").len()),
            name => id_of(&sandbox, name),
        };
        // In the present: the last commit that HEAD was at.
        let tip = id_of(&sandbox, "HEAD");
        let head = sandbox.head();
        lead(&sandbox, way, &id);
        let mend = format!("git update-ref --no-deref HEAD {tip}");
        for command in ["snapshot", "travel"] {
            let (error, code) = match command {
                "travel" => sandbox.json_error(["travel", "latest"]),
                _ => sandbox.json_error([command]),
            };
            let expected = if what == "missing" {
                "IO"
            } else {
                "UNSUPPORTED_REPOSITORY"
            };
            assert_eq!((&error["code"], code), (&expected.into(), 1), "{error}");
            assert!(error["message"].to_string().contains(&id), "{error}");
            assert!(error["hint"].to_string().contains(&mend), "{error}");
        }
        let status = sandbox.tw(["status"]);
        assert_eq!(status.code, 0, "{what} {way:?}");
        assert!(status.err().contains(&mend), "{}", status.err());
        let doctor = sandbox.tw(["doctor"]);
        assert_eq!(doctor.code, 1, "{what} {way:?}");
        assert!(doctor.out().contains(&mend), "{}", doctor.out());
        sandbox.git(["update-ref", "--no-deref", "HEAD", &tip]);
        sandbox.ok(["snapshot"]);
        // In the past: the commit that travel put HEAD on.
        sandbox.write(".git/HEAD", head);
        sandbox.ok(["travel", "latest"]);
        lead(&sandbox, way, &id);
        let (error, code) = sandbox.json_error(["return"]);
        assert_eq!(code, 1, "{error}");
        assert!(error["hint"].to_string().contains(&mend), "{error}");
        sandbox.git(["update-ref", "--no-deref", "HEAD", &tip]);
        assert_eq!(sandbox.json(["return"])["verified"], true);
        if way == Way::Symbolic {
            sandbox.remove(".git/refs/tags/led");
        }
        before.assert_same(&sandbox.state());
    }
}

/// git forbids ASCII's controls in names alone: from U+0080 on any character may stand in one.
#[test]
fn a_branch_with_a_control_character_in_its_name_is_any_branch() {
    for kind in kinds() {
        let sandbox = tagged(kind);
        sandbox.git(["switch", "-q", "-c", "odd\u{85}\u{9b}name"]);
        let document = sandbox.json(["snapshot"]);
        assert_eq!(
            document["snapshot"]["head"]["ref"],
            "refs/heads/odd\u{85}\u{9b}name"
        );
        let said = sandbox.ok(["status"]);
        assert!(!said.contains(['\u{85}', '\u{9b}']), "{said}");
        sandbox.assert_round_trip("latest", |sandbox| {
            sandbox.git(["symbolic-ref", "HEAD", "refs/heads/in\u{80}past"]);
        });
        sandbox.ok(["doctor"]);
    }
}
