//! Who may use a file comes back although nothing else differs, or nothing stands where it was.

use std::os::unix::fs::{MetadataExt, chown};

use rustix::fs::lremovexattr;

use crate::access::{
    USER, access_of, acl, acl_of, json_as, may_act_for_others, set_attribute, snapshot_as,
    somebodys,
};
use crate::faults::killed_at;
use crate::sandbox::{Sandbox, is_root, skipped};
use crate::seeds::Disk;
use crate::trip::state_json;

const ACL: &str = "system.posix_acl_access";
const DEFAULT_ACL: &str = "system.posix_acl_default";

/// A repository with three files that nobody changes, and another that makes a trip worth it; a snapshot of before.
fn untouched() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    for path in ["usual", "marked", "dir/inside"] {
        sandbox.write(path, "the same all the time\n");
        sandbox.chmod(path, 0o660);
    }
    sandbox.chmod("dir", 0o770);
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    sandbox.write("a.txt", "two\n");
    (sandbox, id)
}

/// Gives a path an attribute, an ACL and, as root, another owner and group. Its permission bits stay.
fn mark(sandbox: &Sandbox, path: &str, number: u32) -> bool {
    let full = sandbox.path(path);
    let bits = full.metadata().unwrap().mode() & 0o7777;
    if is_root() {
        chown(&full, Some(2000 + number), Some(3000 + number)).unwrap();
    }
    let owner = if full.is_dir() { 7 } else { 6 };
    let marked = set_attribute(&full, "user.tw", &number.to_le_bytes())
        && set_attribute(&full, ACL, &acl_of(4000, owner));
    sandbox.chmod(path, bits);
    if !marked {
        skipped("access lists", "no attributes and ACLs here");
    }
    marked
}

const PATHS: [&str; 4] = ["usual", "marked", "dir/inside", "dir"];

#[test]
fn a_change_of_nothing_but_access_is_taken_back() {
    let (sandbox, id) = untouched();
    if !mark(&sandbox, "marked", 1) {
        return;
    }
    let before = PATHS.map(|path| access_of(&sandbox.path(path)));
    sandbox.json(["travel", &id]);
    for (number, path) in (10..).zip(["usual", "dir/inside", "dir"]) {
        mark(&sandbox, path, number);
    }
    let marked = sandbox.path("marked");
    for name in ["user.tw", ACL] {
        lremovexattr(&marked, name).unwrap();
    }
    sandbox.chmod("marked", 0o660);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    for (path, before) in PATHS.iter().zip(&before) {
        assert_eq!(access_of(&sandbox.path(path)), *before, "{path}");
    }
    assert_eq!(sandbox.text("usual"), "the same all the time\n");
    // And there again: the experiment recorded what was given in the past.
    sandbox.json(["undo", "-y"]);
    assert_ne!(access_of(&sandbox.path("usual")), before[0]);
    assert_eq!(access_of(&marked).3, []);
    sandbox.json(["return"]);
    for (path, before) in PATHS.iter().zip(&before) {
        assert_eq!(access_of(&sandbox.path(path)), *before, "{path}");
    }
}

#[test]
fn a_file_that_was_usual_comes_back_so_whatever_stands_there() {
    let (sandbox, id) = untouched();
    let before = PATHS.map(|path| access_of(&sandbox.path(path)));
    sandbox.json(["travel", &id]);
    for path in ["usual", "dir/inside"] {
        sandbox.remove(path);
        sandbox.write(path, "another, for others\n");
        sandbox.chmod(path, 0o660);
        if !mark(&sandbox, path, 5) {
            return;
        }
    }
    assert_eq!(sandbox.json(["return"])["verified"], true);
    for (path, before) in PATHS.iter().zip(&before) {
        assert_eq!(access_of(&sandbox.path(path)), *before, "{path}");
    }
}

#[test]
fn a_snapshot_has_the_access_of_what_is_deleted_later() {
    let (sandbox, _) = untouched();
    for (number, path) in (1..).zip(["usual", "dir/inside", "dir"]) {
        if !mark(&sandbox, path, number) {
            return;
        }
    }
    let before = PATHS.map(|path| access_of(&sandbox.path(path)));
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    // The next one finds all unchanged, and knows as much.
    sandbox.write("a.txt", "three\n");
    let next = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    for id in [id, next] {
        for path in ["usual", "marked", "dir/inside", "dir"] {
            sandbox.remove(path);
        }
        sandbox.json(["restore", &id]);
        for (path, before) in PATHS.iter().zip(&before) {
            assert_eq!(access_of(&sandbox.path(path)), *before, "{path}");
        }
    }
    let opened = sandbox.root().join("opened");
    let last = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    sandbox.json(["open", &last, opened.to_str().unwrap()]);
    for (path, before) in PATHS.iter().zip(&before) {
        assert_eq!(access_of(&opened.join(path)), *before, "{path}");
    }
}

/// Most files are a program's, the directory that holds them is not.
#[test]
fn what_belonged_to_most_files_owner_and_is_gone_comes_back_as_his() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = Sandbox::new();
    let files = [1, 2, 3, 4, 5, 6].map(|number| format!("p/{number}"));
    for file in &files {
        sandbox.write(file, "the program's\n");
        sandbox.chmod(file, 0o640);
    }
    std::os::unix::fs::symlink("1", sandbox.path("p/link")).unwrap();
    sandbox.mkdir("p/q");
    sandbox.write("p/q/7", "the program's\n");
    let all = files.iter().map(String::as_str);
    let all: Vec<&str> = all.chain(["p", "p/link", "p/q", "p/q/7"]).collect();
    for path in &all {
        std::os::unix::fs::lchown(sandbox.path(path), Some(USER), Some(33)).unwrap();
    }
    chown(sandbox.path("p/6"), Some(USER), Some(34)).unwrap();
    let owners = |top: &std::path::Path| -> Vec<(u32, u32)> {
        let of = |path: &&str| top.join(path).symlink_metadata().unwrap();
        all.iter()
            .map(|path| (of(path).uid(), of(path).gid()))
            .collect()
    };
    let before = owners(&sandbox.repo());
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    let opened = sandbox.root().join("opened");
    sandbox.json(["open", &id, opened.to_str().unwrap()]);
    assert_eq!(owners(&opened), before);
    sandbox.remove("p");
    let restored = sandbox.json(["restore", &id]);
    assert_eq!(restored["notices"], serde_json::json!([]));
    assert_eq!(owners(&sandbox.repo()), before);
    sandbox.remove("p");
    sandbox.json(["travel", &id]);
    assert_eq!(owners(&sandbox.repo()), before);
    // What stands there lends its own.
    sandbox.json(["return"]);
    sandbox.write("p/1", "somebody's\n");
    chown(sandbox.path("p/1"), Some(4321), Some(4321)).unwrap();
    sandbox.json(["restore", &id, "p/1"]);
    let found = sandbox.path("p/1").metadata().unwrap();
    assert_eq!((found.uid(), found.gid()), (4321, 4321));
}

#[test]
fn what_had_no_acl_inherits_none() {
    let (sandbox, id) = untouched();
    // From now on whatever is made in `dir` lets somebody in.
    if !set_attribute(&sandbox.path("dir"), DEFAULT_ACL, &acl(4000)) {
        skipped("access lists", "no ACLs here");
        return;
    }
    let before = access_of(&sandbox.path("dir/inside"));
    sandbox.remove("dir/inside");
    sandbox.json(["restore", &id, "dir/inside"]);
    assert_eq!(access_of(&sandbox.path("dir/inside")), before);
    sandbox.json(["undo", "-y"]);
    sandbox.json(["redo", "-y"]);
    assert_eq!(access_of(&sandbox.path("dir/inside")), before);
}

#[test]
fn a_killed_return_gives_access_back() {
    let (sandbox, id) = untouched();
    if !mark(&sandbox, "marked", 1) {
        return;
    }
    let before = PATHS.map(|path| access_of(&sandbox.path(path)));
    for point in [
        "apply-prepared",
        "apply-switched",
        "apply-dirs",
        "swap-applied",
        "swap-proved",
    ] {
        sandbox.json(["travel", &id]);
        for path in ["usual", "marked", "dir"] {
            mark(&sandbox, path, 9);
        }
        let there = PATHS.map(|path| access_of(&sandbox.path(path)));
        killed_at(&sandbox, point, &["return"]);
        sandbox.json(["recover"]);
        for (path, there) in PATHS.iter().zip(&there) {
            assert_eq!(access_of(&sandbox.path(path)), *there, "{point}: {path}");
        }
        assert_eq!(sandbox.json(["return"])["verified"], true, "{point}");
        for (path, before) in PATHS.iter().zip(&before) {
            assert_eq!(access_of(&sandbox.path(path)), *before, "{point}: {path}");
        }
    }
}

#[test]
fn what_belongs_to_somebody_else_stays_his() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    for path in ["dir/his", "dir/mine"] {
        sandbox.write(path, "x\n");
    }
    for path in ["dir", "dir/his", "dir/mine"] {
        chown(sandbox.path(path), Some(USER), Some(USER)).unwrap();
    }
    let id = snapshot_as(&sandbox, USER);
    std::fs::write(sandbox.path("a.txt"), "two\n").unwrap();
    json_as(&sandbox, USER, &["travel", id.as_str()]);
    for path in ["dir/his", "dir"] {
        chown(sandbox.path(path), Some(4321), Some(4321)).unwrap();
    }
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    let told = returned["notices"].to_string();
    for path in ["dir/his", "dir"] {
        assert!(
            told.contains(&format!("'{path}' could not keep: owner, group")),
            "{told}"
        );
        assert_eq!(sandbox.path(path).metadata().unwrap().uid(), 4321, "{path}");
    }
}

/// A full disk is no reason to let go of what a directory had: the return ends once there is room again.
#[test]
fn a_full_disk_takes_no_attribute_of_the_present() {
    let sandbox = Sandbox::bare_room();
    let make = "mkfs.ext3 -q -F -I 128 -b 4096 -m 0 -O ^has_journal";
    let Some(_disk) = Disk::mount(&sandbox, make) else {
        return;
    };
    let git = sandbox.root().join("git").display().to_string();
    sandbox.git(["init", "-q", "--separate-git-dir", &git]);
    let dirs: Vec<String> = (0..20).map(|nth| format!("d{nth}")).collect();
    for dir in &dirs {
        sandbox.write(format!("{dir}/f"), "one\n");
    }
    sandbox.write("changed", "one\n");
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    sandbox.write("changed", "two\n");
    // Each of its own, so that each needs a block of its own.
    for dir in &dirs {
        assert!(set_attribute(
            &sandbox.path(dir),
            "user.tag",
            dir.as_bytes()
        ));
    }
    sandbox.json(["travel", &id]);
    for dir in &dirs {
        let _ = lremovexattr(sandbox.path(dir), "user.tag");
    }
    let disk = rustix::fs::statvfs(sandbox.repo()).unwrap();
    let left = (disk.f_bavail - 22) * disk.f_frsize;
    std::fs::write(git.clone() + "/info/exclude", "/fill\n").unwrap();
    let fill = vec![0; usize::try_from(left).unwrap()];
    std::fs::write(sandbox.path("fill"), fill).unwrap();
    let (error, _) = sandbox.json_error(["return"]);
    let message = error["message"].to_string();
    assert!(message.contains("No space"), "{error}");
    sandbox.remove("fill");
    if error["code"] == "INTERRUPTED" {
        sandbox.json(["recover"]);
    }
    if state_json(&sandbox)["mode"] == "past" {
        sandbox.json(["return"]);
    }
    assert_eq!(sandbox.text("changed"), "two\n");
    for dir in &dirs {
        let mut value = [0; 16];
        let length = rustix::fs::lgetxattr(sandbox.path(dir), "user.tag", &mut value[..]).unwrap();
        assert_eq!(&value[..length], dir.as_bytes());
    }
}
