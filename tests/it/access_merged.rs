//! Changes that are put onto the present keep its access: a file is for those whom it was for, also under another name.

use std::os::unix::fs::chown;

use crate::access::{USER, access_of, acl, set_attribute};
use crate::sandbox::{Sandbox, is_root, skipped};
use crate::trip::mode;

/// The ways to put changes onto the present that were made before.
const WAYS: [&str; 3] = ["try apply", "issue apply", "undo 2"];

/// Has a shell command change the files elsewhere; then `close` is done to the present, and the change is put onto it.
fn put_onto(sandbox: &Sandbox, way: &str, changes: &str, close: impl FnOnce()) {
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "all"]);
    let run = || {
        let mut command = sandbox.command("sh");
        command.arg("-c").arg(changes).assert().success();
    };
    let apply: Vec<String> = match way {
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
    };
    close();
    sandbox.json(&apply);
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
        put_onto(&sandbox, way, changes, || {
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
        let settings = access_of(&sandbox.path("settings"));
        match list {
            Some(list) => assert_eq!(settings, list, "{way}"),
            None => assert_eq!(settings.2, 0o600, "{way}"),
        }
        sandbox.json([if way == "undo 2" { "redo" } else { "undo" }]);
        assert_eq!(mode(&sandbox, "dir"), 0o700, "{way}");
    }
}
