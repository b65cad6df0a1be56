//! What somebody writes while a swap runs, fails or is dead is kept, and keeps nobody in between.

use std::os::unix::process::ExitStatusExt;

use crate::damage::assert_fsck_clean;
use crate::faults::traced;
use crate::many::Held;
use crate::sandbox::{Sandbox, is_root, skipped, wait_until};
use crate::trip::{list, mode, snapshot, with_stop, with_stops};

/// Whether these bytes hang on a ref.
fn is_saved(sandbox: &Sandbox, text: &str) -> bool {
    sandbox.write("../bytes", text);
    let oid = sandbox.git(["hash-object", "--no-filters", "../bytes"]);
    let all = sandbox.git(["rev-list", "--objects", "--all"]);
    all.contains(oid.trim())
}

#[test]
fn a_late_file_beneath_what_was_a_file_takes_nothing_out_of_the_backup() {
    let sandbox = Sandbox::new();
    sandbox.write("d/x", "then\n");
    let past = snapshot(&sandbox);
    sandbox.remove("d");
    sandbox.write("d", "precious\n");
    let home = sandbox.state();
    with_stop(&sandbox, &["travel", &past], "apply-removed", || {
        assert!(!sandbox.exists("d"));
        sandbox.write("d/x", "late\n");
    });
    for text in ["precious\n", "late\n"] {
        assert!(is_saved(&sandbox, text), "{text}");
    }
    assert_eq!(sandbox.text("d/x"), "then\n");
    sandbox.json(["return"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    assert_eq!(sandbox.text("d"), "precious\n");
    assert_eq!(sandbox.text("d.tw-late-1/x"), "late\n");
    sandbox.remove("d.tw-late-1");
    home.assert_same(&sandbox.state());
    assert_fsck_clean(&sandbox, "late");
}

#[test]
fn what_is_written_while_a_failed_swap_is_undone_stays() {
    for (path, text) in [("new", "made meanwhile\n"), ("z", "saved meanwhile\n")] {
        let sandbox = Sandbox::new();
        sandbox.write("new", "then\n");
        sandbox.write("o", "then\n");
        sandbox.write("z", "then\n");
        let past = snapshot(&sandbox);
        sandbox.remove("new");
        sandbox.write("o", "now\n");
        sandbox.write("z", "now\n");
        let fails = || {
            sandbox.remove("o");
            sandbox.write("o/inside", "somebody's\n");
        };
        let said = with_stops(
            &sandbox,
            &["travel", &past],
            &[
                ("apply-prepared", &fails),
                ("rollback-surveyed", &|| sandbox.write(path, text)),
            ],
        );
        assert_eq!(said["ok"], false, "{said}");
        assert_eq!(sandbox.text(path), text, "{said}");
        assert_eq!(sandbox.text("o/inside"), "somebody's\n");
        assert_eq!(sandbox.exists("new"), path == "new");
        let hint = said["error"]["hints"].to_string();
        assert!(hint.contains(&format!("'{path}'")), "{said}");
        assert!(!sandbox.exists(".git/timewarp/journal.json"));
    }
}

#[test]
fn what_a_failed_swap_sets_aside_is_told() {
    for point in ["apply-removing", "apply-prepared"] {
        let sandbox = Sandbox::new();
        let past = snapshot(&sandbox);
        sandbox.write("d", "now\n");
        sandbox.write("e/x", "now\n");
        let said = with_stop(&sandbox, &["travel", &past], point, || {
            sandbox.remove("d");
            sandbox.write("d/x", "late in d\n");
            sandbox.remove("e");
            sandbox.write("e", "late\n");
        });
        assert_eq!(said["ok"], false, "{said}");
        // Before it was taken away it stays, as the file does.
        let is_taken = point == "apply-removing";
        let (path, text) = if is_taken {
            ("d", "now\n")
        } else {
            ("d/x", "late in d\n")
        };
        assert_eq!(sandbox.text(path), text, "{said}");
        assert_eq!(sandbox.text("e"), "late\n");
        let hints = list(&said["error"]["hints"]).join("\n");
        assert!(hints.contains("'e'") && !hints.contains("'e/x'"), "{said}");
        let names = std::fs::read_dir(sandbox.repo()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let kept: Vec<String> = names.filter(|name| name.contains("-kept-")).collect();
        assert_eq!(kept.len(), usize::from(is_taken), "{said}");
        for name in kept {
            assert!(hints.contains(&name), "{name}: {said}");
            assert_eq!(sandbox.text(format!("{name}/x")), "late in d\n");
        }
        assert!(is_taken || hints.contains("'d'"), "{said}");
    }
}

#[test]
fn a_file_where_a_directory_comes_back_gives_way_to_an_undo() {
    for taken in ["e1", "d3"] {
        let sandbox = Sandbox::new();
        let past = snapshot(&sandbox);
        sandbox.write("e1/e2/f", "f\n");
        sandbox.write("d3/g", "g\n");
        let before = sandbox.state();
        sandbox.json(["restore", &past]);
        assert!(!sandbox.exists("e1") && !sandbox.exists("d3"));
        sandbox.write(taken, "mine\n");
        let undone = sandbox.json(["undo"]);
        assert_eq!(list(&undone["changed_since"]), [taken], "{undone}");
        before.assert_same(&sandbox.state());
        assert!(is_saved(&sandbox, "mine\n"));
    }
}

#[test]
fn a_file_where_a_directory_was_stays_and_keeps_no_recovery_from_its_end() {
    for taken in ["e1", "d3"] {
        for args in [&["recover", "-y"][..], &["recover", "--back", "-y"]] {
            let sandbox = Sandbox::new();
            let past = snapshot(&sandbox);
            sandbox.write("e1/e2/f", "f\n");
            sandbox.write("d3/g", "g\n");
            let mut dying = sandbox.tw_command();
            dying.env("TW_FAIL_POINT", "swap-applied");
            let output = dying.args(["travel", &past]).output().unwrap();
            assert_eq!(output.status.signal(), Some(9), "{output:?}");
            sandbox.write(taken, "mine\n");
            let recovered = sandbox.json(args);
            let differing = list(&recovered["differing"]);
            assert!(
                differing.iter().all(|path| path.starts_with(taken)) && !differing.is_empty(),
                "{recovered}"
            );
            assert_eq!(sandbox.text(taken), "mine\n");
            let other = if taken == "e1" { "d3/g" } else { "e1/e2/f" };
            assert!(sandbox.exists(other), "{recovered}");
            assert!(is_saved(&sandbox, "f\n") && is_saved(&sandbox, "g\n"));
            sandbox.json(["snapshot"]);
        }
    }
}

/// What others do beside a return is theirs, and named, and keeps nobody in the past.
#[test]
fn what_others_do_while_a_return_puts_files_in_place_is_named() {
    for is_removed in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write("d/x", "x\n");
        let past = snapshot(&sandbox);
        sandbox.write("a.txt", "of the present\n");
        sandbox.json(["travel", &past]);
        let said = with_stop(&sandbox, &["return"], "apply-exchanged", || {
            sandbox.remove("a.txt");
            if !is_removed {
                sandbox.write("a.txt", "somebody's\n");
            }
        });
        assert_eq!(
            (&said["ok"], &said["mode"]),
            (&true.into(), &"present".into()),
            "{said}"
        );
        assert_eq!(list(&said["changed_since"]), ["a.txt"], "{said}");
        assert_eq!(sandbox.exists("a.txt"), !is_removed);
        if !is_removed {
            assert_eq!(sandbox.text("a.txt"), "somebody's\n");
        }
    }
}

#[test]
fn what_comes_and_goes_beside_a_return_is_named() {
    for path in ["d/x.tmp", "new/x.tmp"] {
        let sandbox = Sandbox::new();
        sandbox.write("d/x", "x\n");
        let past = snapshot(&sandbox);
        sandbox.write("a.txt", "of the present\n");
        sandbox.json(["travel", &past]);
        let comes: &dyn Fn() = &|| sandbox.write(path, "half of it\n");
        let goes: &dyn Fn() = &|| {
            sandbox.remove(path);
            if path.starts_with("new") {
                sandbox.remove("new");
            }
        };
        let stops = [("swap-applied", comes), ("swap-looked", goes)];
        let said = with_stops(&sandbox, &["return"], &stops);
        assert_eq!(said["mode"], "present", "{said}");
        assert!(
            list(&said["changed_since"]).contains(&path.to_owned()),
            "{said}"
        );
        assert_eq!(sandbox.text("a.txt"), "of the present\n");
    }
}

#[test]
fn what_goes_before_it_is_removed_is_gone() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("goes", "first\n");
    sandbox.write("goes.too", "second\n");
    let said = with_stop(&sandbox, &["travel", &past], "apply-removing", || {
        // The other one has a name of ours already.
        let left = ["goes", "goes.too"].map(|name| (name, sandbox.exists(name)));
        assert_eq!(left.iter().filter(|(_, is_there)| *is_there).count(), 1);
        left.iter()
            .filter(|(_, is_there)| *is_there)
            .for_each(|(name, _)| sandbox.remove(name));
    });
    assert_eq!(said["ok"], true, "{said}");
    assert!(!sandbox.exists("goes") && !sandbox.exists("goes.too"));
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("goes.too"), "second\n");
}

/// A database that is served, a log that is kept open: what is written there from now on is in no file.
#[test]
fn what_others_have_open_for_writing_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("app.db", "then\n");
    sandbox.write("read", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("app.db", "now, and more\n");
    sandbox.write("read", "now\n");
    sandbox.write("made", "now\n");
    // In a process of its own, with which all of it ends: what this one has open, a child that another test has just begun has, too.
    let script = "exec 3>>app.db 4>>made 5<read; echo >../open; read line";
    let mut held = std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(sandbox.repo())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .map(Held)
        .unwrap();
    wait_until("they are open", || sandbox.exists("../open"));
    let travelled = sandbox.json(["travel", &id]);
    let said = list(&travelled["notices"]);
    let named =
        |text: &String| text.contains("open for writing") && text.ends_with("'app.db', 'made'");
    assert_eq!(
        said.iter().filter(|text| named(text)).count(),
        1,
        "{said:?}"
    );
    drop(held.0.stdin.take());
    held.0.wait().unwrap();
    let returned = sandbox.json(["return"]);
    assert_eq!(list(&returned["notices"]), [""; 0], "{returned}");
}

/// Whoever wrote beside the swap is who goes on writing.
#[test]
fn who_wrote_beside_a_swap_and_has_it_open_is_named_too() {
    let sandbox = Sandbox::new();
    sandbox.write("app.db", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("app.db", "now\n");
    let script =
        "exec 3>>app.db; echo >../open; read line; echo late >&3; echo >../late; read line";
    let mut held = std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(sandbox.repo())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .map(Held)
        .unwrap();
    wait_until("it is open", || sandbox.exists("../open"));
    let stdin = std::cell::RefCell::new(held.0.stdin.take().unwrap());
    let travelled = with_stops(
        &sandbox,
        &["travel", &id],
        &[("apply-switched", &|| {
            std::io::Write::write_all(&mut *stdin.borrow_mut(), b"\n").unwrap();
            wait_until("it is written", || sandbox.exists("../late"));
        })],
    );
    let said = list(&travelled["notices"]).join("\n");
    assert!(
        said.contains("the later bytes are in the backup"),
        "{travelled}"
    );
    assert!(
        said.contains("open for writing") && said.ends_with("'app.db'"),
        "{said}"
    );
    drop(stdin);
    held.0.wait().unwrap();
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("app.db"), "now\nlate\n");
}

/// What the directory of a working tree holds, as text by path.
fn texts_in(sandbox: &Sandbox, dir: &str) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(sandbox.path(&at)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{at}/{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                pending.push(path);
            } else {
                texts.push((path.replacen(dir, "", 1), sandbox.text(&path)));
            }
        }
    }
    texts.sort();
    texts
}

const PUT_RIGHT: &str = "'d' is 'e' by now, and was put right there";

const MIDDLE: [&str; 5] = [
    "apply-prepared",
    "apply-removing",
    "apply-exchanged",
    "apply-switched",
    "apply-letting-go",
];

/// A snapshot, and a present in which all of a directory is different.
fn with_a_changed_directory() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    for path in ["d/changed", "d/made", "d/sub/deep", "d/new/made", "other"] {
        sandbox.write(path, "then\n");
    }
    let past = snapshot(&sandbox);
    sandbox.remove("d/made");
    sandbox.remove("d/new");
    sandbox.chmod("d", 0o700);
    for path in ["d/changed", "d/here", "d/sub/deep", "d/old/here", "other"] {
        sandbox.write(path, format!("{path} of the present\n"));
    }
    (sandbox, past)
}

/// A directory is renamed in the middle of a swap: it is as it was under its new name, and nothing of the swap is left in it.
#[test]
fn a_directory_renamed_in_the_middle_of_a_swap_is_as_it_was_under_its_new_name() {
    // There nobody knows which directory is which.
    if Sandbox::new().is_on_overlay() {
        return;
    }
    for point in MIDDLE {
        for is_made_again in [false, true] {
            let (sandbox, past) = with_a_changed_directory();
            let before = texts_in(&sandbox, "d");
            let said = with_stop(&sandbox, &["travel", &past], point, || {
                std::fs::rename(sandbox.path("d"), sandbox.path("e")).unwrap();
                if is_made_again {
                    sandbox.write("d/another", "another\n");
                }
            });
            let context = format!("{point} {is_made_again}: {said}");
            assert_eq!(said["ok"], false, "{context}");
            let hints = list(&said["error"]["hints"]).join("\n");
            assert!(hints.contains(PUT_RIGHT), "{context}");
            assert!(!hints.contains("'d/sub'"), "{context}");
            assert_eq!(texts_in(&sandbox, "e"), before, "{context}");
            let there = if is_made_again {
                texts_in(&sandbox, "d")
            } else {
                Vec::new()
            };
            assert_eq!(
                there.len(),
                usize::from(is_made_again),
                "{context} {there:?}"
            );
            assert_eq!(sandbox.exists("d"), is_made_again, "{context}");
            assert_eq!(mode(&sandbox, "e"), 0o700, "{context}");
            assert_eq!(sandbox.text("other"), "other of the present\n");
            assert!(!sandbox.exists(".git/timewarp/journal.json"), "{context}");
            sandbox.json(["travel", &past]);
            sandbox.json(["return"]);
            assert_eq!(texts_in(&sandbox, "e"), before, "{context}");
        }
    }
}

/// Runs a command that is killed at a point, if it comes there.
fn killed_at(sandbox: &Sandbox, args: &[&str], point: &str) -> bool {
    let mut dying = sandbox.tw_command();
    let output = dying.env("TW_FAIL_POINT", point).args(args).output();
    output.unwrap().status.signal() == Some(9)
}

/// What is under these names after something was done in the middle of a travel that is undone: by itself, after a stop, or by recovery,
/// after a kill.
fn undone_after(
    made: impl Fn() -> (Sandbox, String),
    meanwhile: impl Fn(&Sandbox),
    check: impl Fn(&Sandbox, &str),
) {
    for point in MIDDLE {
        for is_killed in [false, true] {
            let (sandbox, past) = made();
            let said = if is_killed {
                if !killed_at(&sandbox, &["travel", &past], point) {
                    continue;
                }
                meanwhile(&sandbox);
                let recovered = sandbox.json(["recover"]);
                assert_eq!(recovered["action"], "rolled-back", "{point}: {recovered}");
                recovered
            } else {
                with_stop(&sandbox, &["travel", &past], point, || meanwhile(&sandbox))
            };
            let context = format!("{point} {is_killed}: {said}");
            assert!(!sandbox.exists(".git/timewarp/journal.json"), "{context}");
            check(&sandbox, &context);
        }
    }
}

fn rename(sandbox: &Sandbox, from: &str, to: &str) {
    std::fs::rename(sandbox.path(from), sandbox.path(to)).unwrap();
}

/// A travel dies, a directory is renamed, and whoever recovers may die as well.
#[test]
fn a_directory_renamed_after_a_kill_is_as_it_was_under_its_new_name() {
    // There nobody knows which directory is which.
    if Sandbox::new().is_on_overlay() {
        return;
    }
    let again = [
        "",
        "rollback-surveyed",
        "apply-removing",
        "apply-exchanged",
        "apply-letting-go",
        "recover-files",
        "recover-git",
    ];
    for point in MIDDLE {
        for second in again {
            let (sandbox, past) = with_a_changed_directory();
            let before = texts_in(&sandbox, "d");
            assert!(killed_at(&sandbox, &["travel", &past], point));
            rename(&sandbox, "d", "e");
            if !second.is_empty() && !killed_at(&sandbox, &["recover"], second) {
                continue;
            }
            let recovered = sandbox.json(["recover"]);
            let context = format!("{point} {second}: {recovered}");
            assert_eq!(recovered["action"], "rolled-back", "{context}");
            assert_eq!(texts_in(&sandbox, "e"), before, "{context}");
            assert_eq!(mode(&sandbox, "e"), 0o700, "{context}");
            assert!(!sandbox.exists("d"), "{context}");
            let told = list(&recovered["notices"]).join("\n");
            assert!(told.contains(PUT_RIGHT), "{context}");
        }
    }
}

/// Each has what it had, under the other's name, also where names in them are the same.
#[test]
fn directories_exchanged_in_the_middle_of_a_swap_are_as_they_were() {
    // There nobody knows which directory is which.
    if Sandbox::new().is_on_overlay() {
        return;
    }
    let made = || {
        let sandbox = Sandbox::new();
        let paths = ["a/x", "a/y", "a/new/q", "b/x", "b/z", "b/new/q"];
        for path in paths {
            sandbox.write(path, format!("then {path}\n"));
        }
        let past = snapshot(&sandbox);
        sandbox.remove("a/new");
        sandbox.remove("b/new");
        for path in ["a/x", "a/gone", "b/x", "b/z", "b/gone"] {
            sandbox.write(path, format!("now {path}\n"));
        }
        (sandbox, past)
    };
    let (sandbox, _) = made();
    let [a, b] = ["a", "b"].map(|dir| texts_in(&sandbox, dir));
    let exchange = |sandbox: &Sandbox| {
        rename(sandbox, "a", "t");
        rename(sandbox, "b", "a");
        rename(sandbox, "t", "b");
    };
    undone_after(made, exchange, |sandbox, context| {
        assert_eq!(texts_in(sandbox, "a"), b, "{context}");
        assert_eq!(texts_in(sandbox, "b"), a, "{context}");
        for notice in ["'a' is 'b' by now", "'b' is 'a' by now"] {
            assert!(context.contains(notice), "{context}");
        }
    });
}

/// A directory without a path of the swap's own, all of which are further down.
#[test]
fn a_directory_that_only_gets_other_bits_is_followed() {
    // There nobody knows which directory is which.
    if Sandbox::new().is_on_overlay() {
        return;
    }
    let made = || {
        let sandbox = Sandbox::new();
        sandbox.write("d/s/x", "then\n");
        sandbox.write("d/s/gone", "then\n");
        sandbox.chmod("d", 0o700);
        let past = snapshot(&sandbox);
        sandbox.write("d/s/x", "now\n");
        sandbox.remove("d/s/gone");
        sandbox.write("d/s/here", "now\n");
        sandbox.chmod("d", 0o755);
        (sandbox, past)
    };
    let (sandbox, _) = made();
    let before = texts_in(&sandbox, "d");
    let away = |sandbox: &Sandbox| rename(sandbox, "d", "e");
    undone_after(made, away, |sandbox, context| {
        assert_eq!(texts_in(sandbox, "e"), before, "{context}");
        assert_eq!(mode(sandbox, "e"), 0o755, "{context}");
        assert!(!sandbox.exists("d"), "{context}");
        assert!(context.contains(PUT_RIGHT), "{context}");
        assert!(!context.contains("'d/s' is"), "{context}");
    });
}

/// Who copies a directory in the middle of a swap has what was there at that moment.
#[test]
fn a_copy_made_in_the_middle_of_a_swap_is_left_alone() {
    let made = || {
        let (sandbox, past) = with_a_changed_directory();
        sandbox.write(".git/info/exclude", "copy/\ndist/\n");
        for path in ["changed", "made"] {
            sandbox.write(format!("dist/{path}"), "then\n");
        }
        (sandbox, past)
    };
    let (sandbox, _) = made();
    let before = texts_in(&sandbox, "d");
    let copied = std::cell::RefCell::new(Vec::new());
    let copy = |sandbox: &Sandbox| {
        for (path, text) in texts_in(sandbox, "d") {
            if path.starts_with("/.tw-") {
                sandbox.write(format!("dist{path}"), &text);
            }
            sandbox.write(format!("copy{path}"), text);
        }
        rename(sandbox, "d", "e");
        *copied.borrow_mut() = ["copy", "dist"].map(|dir| texts_in(sandbox, dir)).to_vec();
    };
    undone_after(made, copy, |sandbox, context| {
        assert_eq!(texts_in(sandbox, "e"), before, "{context}");
        let copies = ["copy", "dist"].map(|dir| texts_in(sandbox, dir)).to_vec();
        assert_eq!(copies, *copied.borrow(), "{context}");
    });
}

/// What is in another repository by now is that one's.
#[test]
fn a_directory_moved_into_another_repository_is_not_followed() {
    let (sandbox, past) = with_a_changed_directory();
    sandbox.git(["init", "-q", "other-repo"]);
    assert!(killed_at(&sandbox, &["travel", &past], "apply-switched"));
    rename(&sandbox, "d", "other-repo/d");
    let there = texts_in(&sandbox, "other-repo/d");
    let recovered = sandbox.json(["recover", "-y"]);
    assert_eq!(recovered["action"], "rolled-back", "{recovered}");
    assert_eq!(texts_in(&sandbox, "other-repo/d"), there, "{recovered}");
    assert_eq!(sandbox.text("other"), "other of the present\n");
    sandbox.json(["snapshot"]);
}

/// The number of a directory that is gone is the next one's, on some file systems at once. Some tell of nothing else; and two directories
/// may be born at the same moment.
#[test]
fn a_directory_that_the_swap_made_is_not_taken_for_the_one_that_it_removed() {
    use std::os::unix::fs::MetadataExt;

    for tells_births in [false, true] {
        for args in [&["recover"][..], &["recover", "--forward"]] {
            let sandbox = Sandbox::new();
            sandbox.write("old/f", "then\n");
            sandbox.write("z", "then\n");
            let past = snapshot(&sandbox);
            sandbox.remove("old");
            for path in ["new/g", "new/mine", "z"] {
                sandbox.write(path, "now\n");
            }
            let before = sandbox.state();
            assert!(killed_at(&sandbox, &["travel", &past], "apply-dirs"));
            let journal = ".git/timewarp/journal.json";
            let mut noted: serde_json::Value =
                serde_json::from_str(&sandbox.text(journal)).unwrap();
            let made = std::fs::metadata(sandbox.path("old")).unwrap();
            let born = made.created().ok().filter(|_| tells_births);
            let born = born.map(|born| born.duration_since(std::time::UNIX_EPOCH).unwrap());
            let born = born.map(|born| i64::try_from(born.as_nanos()).unwrap());
            noted["known_dirs"] = serde_json::json!([["new", made.ino(), born]]);
            sandbox.write(journal, noted.to_string());
            let recovered = sandbox.json(args);
            let told = list(&recovered["notices"]).join("\n");
            assert!(!told.contains("by now"), "{recovered}");
            if args.contains(&"--forward") {
                assert_eq!(texts_in(&sandbox, "old"), [("/f".into(), "then\n".into())]);
                assert!(!sandbox.exists("new"), "{recovered}");
                sandbox.json(["return"]);
            }
            before.assert_same(&sandbox.state());
        }
    }
}

/// A directory under a name that git takes for its own is nobody's to put anything in, and is found again under another one.
#[test]
fn a_directory_that_got_a_name_like_git_s_own_is_waited_for() {
    for name in [".GIT", "git~1"] {
        let (sandbox, past) = with_a_changed_directory();
        let before = texts_in(&sandbox, "d");
        assert!(killed_at(&sandbox, &["travel", &past], "apply-exchanged"));
        rename(&sandbox, "d", name);
        let (error, _) = sandbox.json_error(["travel", &past]);
        assert_eq!(error["code"], "INTERRUPTED", "{error}");
        rename(&sandbox, name, "e");
        let recovered = sandbox.json(["recover"]);
        assert_eq!(recovered["action"], "rolled-back", "{recovered}");
        assert_eq!(texts_in(&sandbox, "e"), before, "{recovered}");
        assert!(!sandbox.exists("d"), "{recovered}");
    }
}

/// What a recovery looks for a renamed directory in need not let itself be read, and is not looked into where none was renamed.
#[test]
fn a_directory_on_a_damaged_disk_keeps_no_recovery_from_its_end() {
    for is_renamed in [false, true] {
        let (sandbox, past) = with_a_changed_directory();
        sandbox.write(".git/info/exclude", "/ignored\n");
        sandbox.mkdir("ignored/damaged");
        let before = texts_in(&sandbox, "d");
        assert!(killed_at(&sandbox, &["travel", &past], "apply-exchanged"));
        if is_renamed {
            rename(&sandbox, "d", "e");
        }
        let damaged = sandbox.path("ignored/damaged");
        let damaged = damaged.to_str().unwrap();
        let fails = ["-P", damaged, "-e", "inject=getdents64:error=EIO"];
        let Some((output, trace)) = traced(&sandbox, &fails, |_| (), &["recover"]) else {
            return;
        };
        assert!(output.status.success(), "{is_renamed}: {output:?}");
        // Where one is looked for it may be found before.
        assert!(is_renamed || !trace.contains("INJECTED"), "{trace}");
        let now = if is_renamed { "e" } else { "d" };
        assert_eq!(texts_in(&sandbox, now), before);
    }
}

/// Where nothing can be put, the directory is named, and keeps nobody from going on.
#[test]
fn a_directory_renamed_and_given_away_is_named() {
    // There nobody knows which directory is which.
    if Sandbox::new().is_on_overlay() {
        return;
    }
    if is_root() {
        skipped("an ordinary user", "nothing is closed to root");
        return;
    }
    let (sandbox, past) = with_a_changed_directory();
    assert!(killed_at(&sandbox, &["travel", &past], "apply-switched"));
    rename(&sandbox, "d", "e");
    sandbox.chmod("e/sub", 0o000);
    let recovered = sandbox.json(["recover", "-y"]);
    sandbox.chmod("e/sub", 0o755);
    assert_eq!(recovered["action"], "rolled-back", "{recovered}");
    let told = list(&recovered["notices"]).join("\n");
    assert!(
        told.contains("'d' is 'e' by now, where nothing can be put right"),
        "{recovered}"
    );
}
