//! Directories in which names cannot be changed: another user's, append-only ones, read-only ones, and those that a file system does not
//! rename.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command;

use rustix::fs::IFlags;
use serde_json::Value;

use crate::access::{USER, give_all, json_as, may_act_for_others, snapshot_as, somebodys, tw_as};
use crate::damage::litter;
use crate::faults::killed_at;
use crate::provided::{is_root, root_or, skipped};
use crate::sandbox::Sandbox;
use crate::trip::{list, mode, snapshot, with_stop};

/// The error of a command that this user runs, after which all is as it was and nothing more was saved.
#[track_caller]
fn refused_as(sandbox: &Sandbox, args: &[&str]) -> Value {
    let before = sandbox.state();
    let kept = sandbox.git(["for-each-ref"]);
    let ran = tw_as(sandbox, USER, &[&["--json"], args].concat());
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(answer["ok"], false, "{args:?} {answer}");
    before.assert_same(&sandbox.state());
    assert_eq!(sandbox.git(["for-each-ref"]), kept, "{args:?}");
    answer["error"].clone()
}

/// A directory of root's with a file of the user's in it, and the snapshot that he travelled to.
fn travelled_with_roots_directory(links: bool) -> Sandbox {
    let sandbox = somebodys();
    sandbox.write("d/x", "x\n");
    if links {
        std::fs::hard_link(sandbox.path("d/x"), sandbox.path("d/y")).unwrap();
    }
    give_all(&sandbox.path("d"), USER, USER);
    std::os::unix::fs::chown(sandbox.path("d"), Some(0), Some(0)).unwrap();
    let id = snapshot_as(&sandbox, USER);
    sandbox.write("a.txt", "now\n");
    json_as(&sandbox, USER, &["travel", &id]);
    sandbox
}

/// Only its bits differ, and it has to be replaced all the same.
#[test]
fn a_file_that_was_given_away_in_another_user_s_directory_comes_back() {
    if !may_act_for_others() {
        return;
    }
    for links in [false, true] {
        let sandbox = travelled_with_roots_directory(links);
        if links {
            sandbox.chmod("d/x", 0o600);
        } else {
            std::os::unix::fs::chown(sandbox.path("d/x"), Some(0), Some(0)).unwrap();
            sandbox.chmod("d/x", 0o664);
        }
        for args in [&["return"][..], &["undo"]] {
            let error = refused_as(&sandbox, args);
            assert_eq!(error["code"], "WOULD_OVERWRITE", "{error}");
            assert_eq!(list(&error["paths"]), ["d"], "{error}");
            assert_eq!(error["hint"], "tw return --move-aside", "{error}");
        }
        let returned = json_as(&sandbox, USER, &["return", "--move-aside"]);
        assert_eq!(returned["verified"], true, "{returned}");
        assert_eq!(returned["moved_aside"][0]["from"], "d", "{returned}");
        assert_eq!(sandbox.text("d/x"), "x\n");
        assert_eq!(mode(&sandbox, "d/x"), 0o644);
        assert_eq!(sandbox.text("a.txt"), "now\n");
    }
}

#[test]
fn bits_of_one_s_own_file_in_another_user_s_directory_come_back_in_place() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = travelled_with_roots_directory(false);
    sandbox.chmod("d/x", 0o600);
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(mode(&sandbox, "d/x"), 0o644);
}

#[test]
fn a_root_of_another_user_is_what_is_named() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = snapshot_as(&sandbox, USER);
    let own = |uid| std::os::unix::fs::chown(sandbox.repo(), Some(uid), Some(uid)).unwrap();
    let command = format!(
        "sudo chown \"$(id -u):$(id -g)\" {}",
        sandbox.repo().display()
    );
    sandbox.write("a.txt", "now\n");
    own(0);
    let error = refused_as(&sandbox, &["travel", &id]);
    assert_eq!(list(&error["paths"]), ["a.txt"], "{error}");
    let hints = list(&error["hints"]);
    assert!(hints.iter().any(|hint| hint.ends_with(&command)), "{error}");
    own(USER);
    json_as(&sandbox, USER, &["travel", &id]);
    own(0);
    refused_as(&sandbox, &["return"]);
    let error = refused_as(&sandbox, &["return", "--move-aside"]);
    assert!(
        error["hint"].as_str().unwrap().ends_with(&command),
        "{error}"
    );
    own(USER);
    assert_eq!(json_as(&sandbox, USER, &["return"])["verified"], true);
}

/// Gives a path these flags. False: the file system has none, or this is not root.
fn flag(path: PathBuf, flags: IFlags) -> bool {
    let file = std::fs::File::open(path).unwrap();
    let done = rustix::fs::ioctl_setflags(file, flags).is_ok();
    if !done {
        skipped(
            root_or("a file system with flags"),
            "here no file can be made immutable",
        );
    }
    done
}

/// A file that differs in `D`, one beside it, and the snapshot of before.
fn with_directory() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("D/f", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("D/f", "now\n");
    sandbox.write("a.txt", "now\n");
    (sandbox, id)
}

fn unflagged(sandbox: &Sandbox, path: &str) -> String {
    let there = sandbox.path(path);
    let told = "the file system lets nobody change them; as root: chattr -i -a -- ";
    format!("{told}{}", there.display())
}

#[test]
fn names_that_nobody_may_change_are_refused_before_anything_is_saved() {
    let (sandbox, id) = with_directory();
    let before = sandbox.state();
    for (path, flags) in [
        ("D", IFlags::APPEND),
        ("D", IFlags::IMMUTABLE),
        (".git/index", IFlags::IMMUTABLE),
        (".git/index", IFlags::APPEND),
    ] {
        let refs = sandbox.git(["for-each-ref"]);
        if !flag(sandbox.path(path), flags) {
            return;
        }
        let all = sandbox.json_error(["travel", &id]);
        let files = sandbox.json_error(["travel", &id, "--files-only"]);
        flag(sandbox.path(path), IFlags::empty());
        for (error, code) in [all, files] {
            assert_eq!((error["code"].as_str(), code), (Some("IO"), 1), "{error}");
            assert_eq!(error["hint"], *unflagged(&sandbox, path), "{error}");
        }
        before.assert_same(&sandbox.state());
        assert_eq!(sandbox.git(["for-each-ref"]), refs);
        assert_eq!(litter(&sandbox), [""; 0]);
    }
    sandbox.json(["travel", &id]);
    assert!(flag(sandbox.path("D"), IFlags::APPEND));
    let (error, _) = sandbox.json_error(["return"]);
    assert_eq!(error["hint"], *unflagged(&sandbox, "D"), "{error}");
    flag(sandbox.path("D"), IFlags::empty());
    sandbox.json(["return"]);
    before.assert_same(&sandbox.state());
}

/// What a travel says that stops where it is told, while the path gets its flag.
fn travel_while_flagged(sandbox: &Sandbox, id: &str, stop: &str, path: &str) -> Option<Value> {
    let is_flagged = Cell::new(false);
    let meanwhile = || is_flagged.set(flag(sandbox.path(path), IFlags::APPEND));
    let answer = with_stop(sandbox, &["travel", id], stop, meanwhile);
    is_flagged.get().then(|| answer["error"].clone())
}

#[test]
fn all_else_is_put_back_where_a_directory_lets_nobody_change_its_names() {
    let (sandbox, id) = with_directory();
    let before = sandbox.state();
    let Some(error) = travel_while_flagged(&sandbox, &id, "apply-prepared", "D") else {
        return;
    };
    assert_eq!(error["code"], "INTERRUPTED", "{error}");
    assert_eq!(error["hint"], *unflagged(&sandbox, "D"), "{error}");
    assert_eq!(sandbox.text("a.txt"), "now\n");
    let (error, _) = sandbox.json_error(["recover"]);
    assert_eq!(error["hint"], *unflagged(&sandbox, "D"), "{error}");
    flag(sandbox.path("D"), IFlags::empty());
    sandbox.json(["recover"]);
    before.assert_same(&sandbox.state());
    assert_eq!(litter(&sandbox), [""; 0]);
}

/// What would be made in it waits as well, and what is in it only to be removed.
#[test]
fn all_else_is_put_back_where_a_directory_would_have_to_be_made_in_one_that_is_fixed() {
    let sandbox = Sandbox::new();
    for path in ["D/then/x", "D/f", "a.txt"] {
        sandbox.write(path, "then\n");
    }
    let id = snapshot(&sandbox);
    sandbox.remove("D/then");
    for path in ["D/sub/x", "a.txt", "z"] {
        sandbox.write(path, "now\n");
    }
    sandbox.chmod("D", 0o750);
    let before = sandbox.state();
    killed_at(&sandbox, "apply-switched", &["travel", &id]);
    if !flag(sandbox.path("D"), IFlags::IMMUTABLE) {
        return;
    }
    let (error, _) = sandbox.json_error(["recover"]);
    assert_eq!(error["hint"], *unflagged(&sandbox, "D"), "{error}");
    for path in ["a.txt", "z"] {
        assert_eq!(sandbox.text(path), "now\n", "{error}");
    }
    assert!(!sandbox.exists("D/sub"), "{error}");
    assert!(flag(sandbox.path("D"), IFlags::empty()));
    sandbox.json(["recover"]);
    before.assert_same(&sandbox.state());
    assert_eq!(litter(&sandbox), [""; 0]);
}

/// What would lie beneath such a file, or in its place, waits with it.
#[test]
fn all_else_is_put_back_where_a_file_that_is_fixed_stands_in_a_directory_s_place() {
    for is_file_now in [false, true] {
        let sandbox = Sandbox::new();
        let [then, now]: [&[&str]; 2] = if is_file_now {
            [&["d/x", "a.txt"], &["d", "a.txt", "z"]]
        } else {
            [&["d", "a.txt"], &["d/x", "d/y", "a.txt", "z"]]
        };
        for path in then {
            sandbox.write(path, "then\n");
        }
        let id = snapshot(&sandbox);
        sandbox.remove("d");
        for path in now {
            sandbox.write(path, "now\n");
        }
        let before = sandbox.state();
        killed_at(&sandbox, "swap-applied", &["travel", &id]);
        let fixed = then[0];
        if !flag(sandbox.path(fixed), IFlags::IMMUTABLE) {
            return;
        }
        let (error, _) = sandbox.json_error(["recover"]);
        assert_eq!(error["hint"], *unflagged(&sandbox, fixed), "{error}");
        for path in ["a.txt", "z"] {
            assert_eq!(sandbox.text(path), "now\n", "{error}");
        }
        assert!(flag(sandbox.path(fixed), IFlags::empty()));
        sandbox.json(["recover"]);
        before.assert_same(&sandbox.state());
        assert_eq!(litter(&sandbox), [""; 0]);
    }
}

/// Names in a directory that is closed to its owner are no names in the one over it, and who gets another owner has to let that be done.
#[test]
fn only_a_directory_that_has_to_change_keeps_a_swap_from_its_way() {
    let sandbox = Sandbox::new();
    sandbox.write("top/d/f", "then\n");
    sandbox.chmod("top/d", 0o555);
    let id = snapshot(&sandbox);
    sandbox.write("top/d/f", "now\n");
    if !flag(sandbox.path("top"), IFlags::IMMUTABLE) {
        return;
    }
    sandbox.json(["travel", &id]);
    sandbox.json(["return"]);
    flag(sandbox.path("top"), IFlags::empty());
    if !is_root() {
        skipped(root_or("chown"), "nothing can be given to somebody else");
        return;
    }
    std::os::unix::fs::chown(sandbox.path("top/d"), Some(USER), Some(USER)).unwrap();
    flag(sandbox.path("top/d"), IFlags::IMMUTABLE);
    sandbox.write("a.txt", "now\n");
    let before = sandbox.state();
    let (error, _) = sandbox.json_error(["restore", &id]);
    flag(sandbox.path("top/d"), IFlags::empty());
    assert_eq!(error["hint"], *unflagged(&sandbox, "top/d"), "{error}");
    assert!(list(&error["hints"]).contains(&"nothing was changed".to_owned()));
    before.assert_same(&sandbox.state());
}

/// What files are in the index they may be without it: its stat data alone would be another.
#[test]
fn files_come_back_under_an_index_that_nobody_may_replace() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    if !flag(sandbox.path(".git/index"), IFlags::IMMUTABLE) {
        return;
    }
    let restored = sandbox.tw(["restore", &id, "a.txt"]);
    flag(sandbox.path(".git/index"), IFlags::empty());
    assert_eq!(restored.code, 0, "{}", restored.err());
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    sandbox.json(["undo"]);
    assert_eq!(sandbox.text("a.txt"), "now\n");
}

#[test]
fn an_index_that_nobody_may_replace_is_not_put_back() {
    let (sandbox, id) = with_directory();
    let before = sandbox.state();
    let Some(error) = travel_while_flagged(&sandbox, &id, "swap-backup", ".git/index") else {
        return;
    };
    flag(sandbox.path(".git/index"), IFlags::empty());
    assert_eq!(error["code"], "IO", "{error}");
    assert_eq!(error["hint"], *unflagged(&sandbox, ".git/index"), "{error}");
    before.assert_same(&sandbox.state());
    assert_eq!(litter(&sandbox), [""; 0]);
    assert!(sandbox.json(["status"])["interrupted"].is_null());
}

/// What is mounted, until the test ends.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: something may still stand in it.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn mounted(sandbox: &Sandbox, script: &str, at: PathBuf) -> Option<Mounted> {
    let mut shell = sandbox.command("sh");
    let shell = shell.current_dir(sandbox.repo()).args(["-ec", script]);
    if shell.output().unwrap().status.success() {
        return Some(Mounted(at));
    }
    skipped(root_or("mount"), "mounting is not allowed here");
    None
}

#[test]
fn a_directory_that_is_mounted_read_only_is_told_before_anything_is_saved() {
    let (sandbox, id) = with_directory();
    let before = sandbox.state();
    let script = "mount --bind D D && mount -o remount,bind,ro D";
    let Some(there) = mounted(&sandbox, script, sandbox.path("D")) else {
        return;
    };
    let (error, code) = sandbox.json_error(["travel", &id]);
    assert_eq!((error["code"].as_str(), code), (Some("IO"), 1), "{error}");
    assert!(
        error["hint"].as_str().unwrap().contains("remount,rw"),
        "{error}"
    );
    assert_eq!(sandbox.git(["for-each-ref", "refs/timewarp/backups"]), "");
    drop(there);
    before.assert_same(&sandbox.state());
    sandbox.json(["travel", &id]);
}

/// An overlay does not rename a directory of its lower layer, unless it is told to.
#[test]
fn what_an_overlay_cannot_rename_is_copied_as_the_hint_says() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("place", "of the present\n");
    let script = "mkdir ../up ../work ../below; mkdir -p 'place/in it'; mkfifo 'place/in it/pipe'; mv * .[!.]* ../below; \
        mount -t overlay -o lowerdir=../below,upperdir=../up,workdir=../work,redirect_dir=off tw .";
    sandbox.json(["travel", &id]);
    let Some(_there) = mounted(&sandbox, script, sandbox.repo()) else {
        return;
    };
    let (error, _) = sandbox.json_error(["return", "--move-aside"]);
    assert_eq!(error["code"], "IO", "{error}");
    let hint = error["hint"].as_str().unwrap().to_owned();
    let command = hint.split_once("again: ").unwrap().1;
    let mut shell = sandbox.command("sh");
    assert!(
        shell
            .args(["-c", command])
            .output()
            .unwrap()
            .status
            .success(),
        "{hint}"
    );
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(sandbox.text("place"), "of the present\n");
}

#[test]
fn a_file_with_more_attributes_than_can_be_listed_is_no_dead_end() {
    let sandbox = Sandbox::new();
    sandbox.write("f", "x\n");
    let name = |nth: usize| format!("user.{nth:0>249}");
    let flags = rustix::fs::XattrFlags::empty();
    for nth in 0..300 {
        let set = rustix::fs::setxattr(sandbox.path("f"), name(nth), b"", flags);
        if set.is_err() {
            skipped(
                "many attributes",
                "this file system has no room for so many",
            );
            return;
        }
    }
    let (error, _) = sandbox.json_error(["snapshot"]);
    assert!(
        error["message"].as_str().unwrap().contains("'f'"),
        "{error}"
    );
    let hint = error["hint"].as_str().unwrap();
    let command = hint
        .rsplit('\'')
        .nth(1)
        .unwrap()
        .replace("FILE", "f")
        .replace("COPY", "g");
    let mut shell = sandbox.command("sh");
    let shell = shell.current_dir(sandbox.repo()).args(["-c", &command]);
    assert!(shell.output().unwrap().status.success(), "{hint}");
    sandbox.json(["snapshot"]);
}
