//! Changes that are put onto the present keep its access: a file is for those whom it was for, also under another name.

use std::os::unix::fs::chown;

use serde_json::Value;

use crate::access::{USER, access_of, acl, acl_of, set_attribute};
use crate::faults::killed_at;
use crate::sandbox::{Sandbox, is_root, skipped};
use crate::trip::{list, mode};

const ACL: &str = "system.posix_acl_access";

/// The ways to put changes onto the present that were made before.
pub const WAYS: [&str; 3] = ["try apply", "issue apply", "undo 2"];

/// Has a shell command change the files elsewhere; then `close` is done to the present, and the change is put onto it.
pub fn put_onto(sandbox: &Sandbox, way: &str, changes: &str, close: impl FnOnce()) -> Value {
    let apply = made(sandbox, way, changes);
    close();
    sandbox.json(&apply)
}

/// What is said of paths that are not as open as the change had them.
fn narrowed(answer: &Value) -> Vec<String> {
    let mut notices = list(&answer["notices"]);
    notices.retain(|notice| notice.starts_with("not as open"));
    notices
}

/// Has a shell command change the files elsewhere, and answers the command that puts the change onto the present.
fn made(sandbox: &Sandbox, way: &str, changes: &str) -> Vec<String> {
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "all"]);
    let run = || {
        let mut command = sandbox.command("sh");
        command.arg("-c").arg(changes).assert().success();
    };
    match way {
        "try apply" => {
            sandbox.ok(["try", "-n", "1", "--", "sh", "-c", changes]);
            ["try", "apply", "latest"].map(str::to_owned).to_vec()
        }
        "issue apply" => {
            let report = "issue report --task-context t --symptom s --success-criteria c";
            let reported = sandbox.json(report.split(' '));
            let id = reported["issue_id"].as_str().unwrap();
            sandbox.json(["issue", "start", id]);
            run();
            sandbox.json(["return"]);
            ["issue", "apply", id].map(str::to_owned).to_vec()
        }
        _ => {
            sandbox.write("other", "then\n");
            let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
            run();
            sandbox.json(["restore", id.as_str()]);
            sandbox.write("other", "now\n");
            sandbox.json(["restore", id.as_str(), "other"]);
            ["undo", "2"].map(str::to_owned).to_vec()
        }
    }
}

fn lines(last: usize) -> String {
    (1..=last).map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_is_merged_keeps_owner_acl_and_attributes() {
    let changes =
        "for f in shared noted owned; do sed s/^3$/three/ $f >.t && cat .t >$f; done; rm .t";
    for way in WAYS {
        let sandbox = Sandbox::new();
        let paths = ["shared", "noted", "owned"];
        for path in paths {
            sandbox.write(path, lines(30));
        }
        let mut before = Vec::new();
        let mut is_marked = true;
        put_onto(&sandbox, way, changes, || {
            is_marked = set_attribute(&sandbox.path("noted"), "user.tw", b"x")
                && set_attribute(
                    &sandbox.path("shared"),
                    "system.posix_acl_access",
                    &acl(3000),
                );
            if is_root() {
                chown(sandbox.path("owned"), Some(USER), Some(USER)).unwrap();
            }
            sandbox.chmod("owned", 0o600);
            before.extend(paths.map(|path| access_of(&sandbox.path(path))));
        });
        if !is_marked {
            skipped("access lists", "no attributes and ACLs here");
            return;
        }
        for (path, before) in paths.iter().zip(before) {
            assert!(sandbox.text(path).contains("\nthree\n"), "{way}: {path}");
            assert_eq!(access_of(&sandbox.path(path)), before, "{way}: {path}");
        }
    }
}

#[test]
fn what_was_closed_since_stays_closed_under_a_new_name_and_as_a_program() {
    let changes = "mv conf settings; mv dir newdir; mv shut/f open/moved; mv plain named; chmod +x script; chmod -x tool";
    for way in WAYS {
        let sandbox = Sandbox::new();
        let files = [
            "conf", "script", "tool", "plain", "dir/f", "shut/f", "shut/g", "open/g",
        ];
        for (nth, path) in files.into_iter().enumerate() {
            sandbox.write(path, format!("{path}\n{}", lines(30 + nth)));
            sandbox.chmod(path, if path == "tool" { 0o755 } else { 0o644 });
        }
        for dir in ["dir", "shut", "open"] {
            sandbox.chmod(dir, 0o755);
        }
        let mut list = None;
        let answer = put_onto(&sandbox, way, changes, || {
            for (path, bits) in [
                ("conf", 0o600),
                ("script", 0o640),
                ("tool", 0o750),
                ("dir", 0o700),
                ("shut", 0o700),
            ] {
                sandbox.chmod(path, bits);
            }
            let conf = sandbox.path("conf");
            if set_attribute(&conf, "system.posix_acl_access", &acl(3000)) {
                list = Some(access_of(&conf));
            } else {
                skipped("access lists", "no ACLs here");
            }
        });
        for (path, bits) in [
            ("script", 0o750),
            ("tool", 0o640),
            ("named", 0o644),
            ("newdir", 0o700),
            ("newdir/f", 0o644),
            // No directory keeps out any more whom one kept out.
            ("open/moved", 0o600),
        ] {
            assert_eq!(mode(&sandbox, path), bits, "{way}: {path}");
        }
        let said = "not as open as it was there, since what it comes from was closed to others meanwhile: 'newdir', 'open/moved'";
        assert_eq!(narrowed(&answer), [said], "{way}");
        let settings = access_of(&sandbox.path("settings"));
        match list {
            Some(list) => assert_eq!(settings, list, "{way}"),
            None => assert_eq!(settings.2, 0o600, "{way}"),
        }
        sandbox.json([if way == "undo 2" { "redo" } else { "undo" }]);
        assert_eq!(mode(&sandbox, "dir"), 0o700, "{way}");
    }
}

#[test]
fn what_was_as_closed_before_gets_the_bits_that_the_change_gave_it() {
    let changes = "mv private/key open/key; chmod 644 open/key; mkdir made; chmod 755 made; mv private/page made; mv shut renamed; chmod 750 renamed";
    for way in WAYS {
        let sandbox = Sandbox::new();
        let paths = [
            "private/key",
            "private/page",
            "private/k",
            "open/x",
            "shut/f",
        ];
        for (nth, path) in paths.into_iter().enumerate() {
            sandbox.write(path, format!("{path}\n{}", lines(30 + nth)));
            sandbox.chmod(path, if nth == 0 { 0o600 } else { 0o644 });
        }
        for (dir, bits) in [("private", 0o700), ("shut", 0o700), ("open", 0o755)] {
            sandbox.chmod(dir, bits);
        }
        let answer = put_onto(&sandbox, way, changes, || {
            // Closed further in than it was: that changes nothing for anybody.
            sandbox.chmod("open/x", 0o600);
        });
        for (path, bits) in [
            ("open/key", 0o644),
            ("open/x", 0o600),
            ("made", 0o755),
            ("made/page", 0o644),
            ("renamed", 0o750),
            ("private", 0o700),
        ] {
            assert_eq!(mode(&sandbox, path), bits, "{way}: {path}");
        }
        assert!(narrowed(&answer).is_empty(), "{way}");
    }
}

#[test]
fn what_a_revert_takes_out_of_a_closed_directory_has_the_bits_that_it_had() {
    let sandbox = Sandbox::new();
    for path in ["page", "public/page", "private/k", "public/sub/f"] {
        sandbox.write(path, format!("{path}\n{}", lines(30)));
    }
    for (path, bits) in [
        ("page", 0o755),
        ("private", 0o700),
        ("public", 0o775),
        ("public/sub", 0o750),
    ] {
        sandbox.chmod(path, bits);
    }
    sandbox.ok(["session", "start"]);
    sandbox.ok(["checkpoint", "--message", "one"]);
    for (from, to) in [
        ("page", "private/other"),
        ("public/page", "private/page"),
        ("public/sub", "private/sub"),
    ] {
        std::fs::rename(sandbox.path(from), sandbox.path(to)).unwrap();
    }
    sandbox.remove("public");
    sandbox.ok(["checkpoint", "--message", "two"]);
    let reverted = sandbox.json(["revert", "0"]);
    for (path, bits) in [
        ("page", 0o755),
        ("public", 0o775),
        ("public/page", 0o644),
        ("public/sub", 0o750),
        ("private", 0o700),
    ] {
        assert_eq!(mode(&sandbox, path), bits, "{path}");
    }
    assert!(narrowed(&reverted).is_empty());
}

#[test]
fn prompts_that_are_taken_back_together_give_back_the_bits_from_before_the_first() {
    let sandbox = Sandbox::new();
    for (path, bits) in [
        ("secret", 0o600),
        ("moved", 0o640),
        ("tool", 0o644),
        ("plain", 0o644),
        ("dir/f", 0o644),
    ] {
        sandbox.write(path, format!("{path}\n{}", lines(30)));
        sandbox.chmod(path, bits);
    }
    sandbox.chmod("dir", 0o755);
    let step = |word: &str, work: &[(&str, &str, u32)]| {
        for (from, to, bits) in work {
            std::fs::rename(sandbox.path(from), sandbox.path(to)).unwrap();
            sandbox.chmod(to, *bits);
        }
        sandbox.ok(["checkpoint", "--message", word]);
    };
    sandbox.ok(["session", "start"]);
    step("one", &[]);
    step(
        "two",
        &[
            ("secret", "open", 0o644),
            ("moved", "m1", 0o640),
            ("tool", "tool", 0o755),
            ("plain", "dir/plain", 0o644),
        ],
    );
    sandbox.write("other", "stays\n");
    step("three", &[]);
    step(
        "four",
        &[
            ("open", "shown", 0o644),
            ("m1", "m2", 0o600),
            ("tool", "t2", 0o700),
            ("dir", "dir", 0o700),
        ],
    );
    sandbox.json(["revert", "0", "2"]);
    for (path, bits) in [
        ("secret", 0o600),
        ("moved", 0o640),
        ("tool", 0o644),
        ("plain", 0o644),
        ("dir", 0o755),
        ("other", 0o644),
    ] {
        assert_eq!(mode(&sandbox, path), bits, "{path}");
    }
}

/// Gives a path an attribute, an ACL and, as root, another owner.
fn mark(sandbox: &Sandbox, path: &str, number: u32) -> bool {
    let full = sandbox.path(path);
    if is_root() {
        chown(&full, Some(2000 + number), Some(3000 + number)).unwrap();
    }
    let owner = if full.is_dir() { 7 } else { 6 };
    set_attribute(&full, "user.tw", &number.to_le_bytes())
        && set_attribute(&full, ACL, &acl_of(4000 + number, owner))
}

#[test]
fn one_swap_taken_back_alone_takes_back_who_may_use_its_paths() {
    let sandbox = Sandbox::new();
    let paths = ["marked", "written", "since", "dir/f", "dir", "named"];
    for path in ["marked", "written", "since", "dir/f", "old", "other"] {
        sandbox.write(path, format!("{path}\n{}", lines(30)));
    }
    let marked = paths.iter().take(5).all(|path| mark(&sandbox, path, 1));
    if !marked {
        skipped("access lists", "no attributes and ACLs here");
        return;
    }
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    std::fs::rename(sandbox.path("old"), sandbox.path("named")).unwrap();
    for path in paths {
        mark(&sandbox, path, 2);
    }
    let change = |from: &str, to: &str| {
        let text = sandbox.text("written").replace(from, to);
        std::fs::write(sandbox.path("written"), text).unwrap();
    };
    change("\n3\n", "\nthree\n");
    let look = || paths.map(|path| access_of(&sandbox.path(path)));
    let before = look();
    sandbox.json(["restore", id.as_str()]);
    sandbox.write("other", "now\n");
    sandbox.json(["restore", id.as_str(), "other"]);
    change("\n20\n", "\ntwenty\n");
    set_attribute(&sandbox.path("since"), "user.tw", b"since");
    set_attribute(&sandbox.path("since"), ACL, &acl(5000));
    if is_root() {
        chown(sandbox.path("since"), Some(USER), Some(USER)).unwrap();
    }
    let since = access_of(&sandbox.path("since"));
    assert_ne!(access_of(&sandbox.path("marked")), before[0]);

    sandbox.json(["undo", "2"]);
    for (path, (now, before)) in paths.iter().zip(look().iter().zip(&before)) {
        let wanted = if *path == "since" { &since } else { before };
        assert_eq!(now, wanted, "{path}");
    }
    let text = sandbox.text("written");
    assert!(text.contains("\nthree\n") && text.contains("\ntwenty\n"));

    // And there again.
    let given = access_of(&sandbox.path("since"));
    sandbox.json(["redo"]);
    let marked = access_of(&sandbox.path("marked"));
    assert_eq!(marked.3, access_of(&sandbox.path("dir/f")).3);
    assert!(
        marked
            .3
            .contains(&("user.tw".to_owned(), 1u32.to_le_bytes().to_vec()))
    );
    assert_eq!(access_of(&sandbox.path("since")), given);
}

#[test]
fn what_was_closed_stays_closed_where_the_swap_died_and_is_ended() {
    for way in WAYS {
        let sandbox = Sandbox::new();
        for path in ["conf", "dir/f"] {
            sandbox.write(path, format!("{path}\n{}", lines(30)));
        }
        let apply = made(&sandbox, way, "mv conf settings; mv dir newdir");
        if !mark(&sandbox, "conf", 1) || !mark(&sandbox, "dir", 2) {
            skipped("access lists", "no attributes and ACLs here");
            return;
        }
        let before = ["conf", "dir"].map(|path| access_of(&sandbox.path(path)));
        let words: Vec<&str> = apply.iter().map(String::as_str).collect();
        killed_at(&sandbox, "swap-journal", &words);
        sandbox.json(["recover", "--forward", "-y"]);
        let after = ["settings", "newdir"].map(|path| access_of(&sandbox.path(path)));
        assert_eq!(after, before, "{way}");
    }
}

/// As one that came with an archive of somebody else's repository.
#[test]
fn a_journal_whose_backup_is_not_of_this_machine_gives_no_access() {
    let sandbox = Sandbox::new();
    sandbox.write("conf", format!("conf\n{}", lines(30)));
    let apply = made(&sandbox, "try apply", "mv conf settings");
    if !mark(&sandbox, "conf", 1) {
        skipped("access lists", "no attributes and ACLs here");
        return;
    }
    let words: Vec<&str> = apply.iter().map(String::as_str).collect();
    killed_at(&sandbox, "swap-journal", &words);
    sandbox.remove(".git/timewarp/made-here");
    sandbox.json(["recover", "--forward", "-y"]);
    let (_, _, mode, attributes) = access_of(&sandbox.path("settings"));
    assert_eq!((mode & 0o077, attributes), (0, Vec::new()));
}

#[test]
fn bits_alone_are_those_of_the_change_whatever_else_a_path_has() {
    let changes = "chmod 660 shared; chmod 775 dir; chmod 6755 tool; chmod 2775 group";
    for way in WAYS {
        let sandbox = Sandbox::new();
        for path in ["shared", "dir/f", "tool", "group/f"] {
            sandbox.write(path, format!("{path}\n{}", lines(30)));
        }
        sandbox.chmod("tool", 0o755);
        sandbox.chmod("group", 0o755);
        let marked = set_attribute(&sandbox.path("shared"), ACL, &acl(3000))
            && set_attribute(&sandbox.path("dir"), ACL, &acl_of(3000, 7));
        if !marked {
            skipped("access lists", "no ACLs here");
            return;
        }
        let answer = put_onto(&sandbox, way, changes, || {});
        for (path, bits) in [
            ("shared", 0o660),
            ("dir", 0o775),
            ("tool", 0o6755),
            ("group", 0o2775),
        ] {
            assert_eq!(mode(&sandbox, path), bits, "{way}: {path} {answer}");
        }
        let told = list(&answer["notices"]);
        assert!(
            told.iter().all(|notice| !notice.contains("could not keep")),
            "{way}: {told:?}"
        );
        sandbox.json([if way == "undo 2" { "redo" } else { "undo" }]);
        assert_eq!(mode(&sandbox, "tool"), 0o755, "{way}");
        assert_eq!(mode(&sandbox, "shared") & 0o020, 0, "{way}");
    }
}
