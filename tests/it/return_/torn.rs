//! A way home of which the backup has lost something, and refusals that no path is in the way of.

use crate::recover::unpack_all;
use crate::sandbox::Sandbox;
use crate::trip::{commit, list, snapshot, state_json};

/// In the past. In the present something is staged, a file of a directory is new, and one is in the backup alone.
fn away() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("d/old", "then\n");
    commit(&sandbox, "one");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("a.txt", "of the present\n");
    sandbox.write("d/new", "of the present\n");
    sandbox.write("lost it", "of the present alone\n");
    sandbox.json(["travel", &id]);
    sandbox
}

/// What of the backup is lost, as git names it, is it damaged and not gone, and how the rest comes back.
const LOSSES: [(&str, bool, &str); 6] = [
    (":lost it", false, "tw"),
    (":lost it", true, "tw"),
    (":d", false, "PATH"),
    ("^{tree}", false, "PATH"),
    ("^2^{tree}", false, ":/"),
    ("^2^2", false, ":/"),
];

#[test]
fn of_a_backup_that_lost_something_recovery_says_so_and_ends_the_stay() {
    for (what, is_damaged, way) in LOSSES {
        let sandbox = away();
        let backup = state_json(&sandbox)["backup_id"]
            .as_str()
            .unwrap()
            .to_owned();
        unpack_all(&sandbox);
        let name = format!("refs/timewarp/backups/{backup}");
        let oid = sandbox.git(["rev-parse", &format!("{name}{what}")]);
        let (dir, rest) = oid.trim().split_at(2);
        let object = sandbox.path(format!(".git/objects/{dir}/{rest}"));
        std::fs::remove_file(&object).unwrap();
        if is_damaged {
            std::fs::write(&object, b"no object").unwrap();
        }
        let here = sandbox.state();

        for args in [&["return"][..], &["return", "--discard"], &["undo"]] {
            let (error, _) = sandbox.json_error(args);
            assert_eq!(error["code"], "CORRUPT_RECORD", "{what}: {error}");
            let hint = error["hint"].as_str().unwrap();
            assert!(hint.contains("'tw recover'"), "{what}: {error}");
        }
        if !is_damaged {
            let doctor = sandbox.tw(["doctor"]).out();
            assert!(doctor.contains("fix: tw recover\n"), "{what}: {doctor}");
        }
        let (error, _) = sandbox.json_error(["recover"]);
        let hints = list(&error["hints"]).join("\n");
        assert!(hints.contains("'tw recover -y'"), "{what}: {error}");
        here.assert_same(&sandbox.state());
        assert_eq!(state_json(&sandbox)["mode"], "past", "{what}");

        let recovered = sandbox.json(["recover", "-y"]);
        let told = list(&recovered["notices"]).join("\n");
        assert!(told.contains("the stay in the past is over"), "{told}");
        here.assert_same(&sandbox.state());
        assert_eq!(state_json(&sandbox)["mode"], "present", "{what}");
        if way == "tw" {
            assert!(told.contains("the content of 'lost it'"), "{told}");
            let but = ":(top,exclude,literal)lost it";
            let typed = format!("'tw restore {backup} -- :/ \"{but}\"'");
            assert!(told.contains(&typed), "{told}");
            sandbox.json(["restore", &backup, "--", ":/", but]);
            assert_eq!(sandbox.text("a.txt"), "of the present\n");
            assert_eq!(sandbox.text("d/new"), "of the present\n");
            assert!(!sandbox.exists("lost it"));
        } else {
            let typed = format!("'git restore --source={name} -- {way}'");
            assert!(told.contains(&typed), "{what}: {told}");
            if way == ":/" {
                sandbox.git(["restore", &format!("--source={name}"), "--", way]);
                assert_eq!(sandbox.text("d/new"), "of the present\n");
            }
        }
        sandbox.assert_round_trip("latest", |_| {});
    }
}

#[test]
fn a_whole_backup_is_left_to_the_return() {
    let sandbox = away();
    let recovered = sandbox.json(["recover", "-y"]);
    assert_eq!(recovered["action"], "nothing", "{recovered}");
    // What is lost stands there as it was: the return does not need it.
    unpack_all(&sandbox);
    let oid = sandbox.git(["rev-parse", "HEAD:d/old"]);
    let (dir, rest) = oid.trim().split_at(2);
    std::fs::remove_file(sandbox.path(format!(".git/objects/{dir}/{rest}"))).unwrap();
    let recovered = sandbox.json(["recover", "-y"]);
    assert_eq!(recovered["action"], "nothing", "{recovered}");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(sandbox.text("d/new"), "of the present\n");
}

#[test]
fn a_refusal_names_the_return_where_it_names_nothing_else_that_leads_home() {
    let sandbox = away();
    sandbox.git(["config", "timewarp.lockTimeout", "0"]);
    let here = sandbox.state();
    for (name, bytes) in [
        ("index.lock", ""),
        ("HEAD.lock", ""),
        ("index", "garbage"),
        ("HEAD", "garbage"),
        ("config", "[timewarp]\nmaxFileSize = bogus\n"),
    ] {
        let file = sandbox.path(".git").join(name);
        let before = std::fs::read(&file);
        let whole = if name == "config" {
            [before.as_deref().unwrap(), bytes.as_bytes()].concat()
        } else {
            bytes.into()
        };
        std::fs::write(&file, whole).unwrap();
        let (error, _) = sandbox.json_error(["return"]);
        let hints = list(&error["hints"]).join("\n");
        assert!(hints.contains("'tw return'"), "{name}: {error}");
        match before {
            Ok(before) => std::fs::write(&file, before).unwrap(),
            Err(_) => std::fs::remove_file(&file).unwrap(),
        }
    }
    here.assert_same(&sandbox.state());
    assert_eq!(sandbox.json(["return"])["verified"], true);
    let (error, _) = sandbox.json_error(["return"]);
    let hints = list(&error["hints"]).join("\n");
    assert!(!hints.contains("tw return"), "{error}");
}
