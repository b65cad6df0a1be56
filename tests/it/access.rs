//! Who may read and write what: owners, groups, permission bits and extended attributes, of the user's files and of ours.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::faults::killed_at;
use crate::sandbox::{Kind, Ran, Sandbox, is_root, skipped};
use crate::seeds::Disk;
use crate::trip::{list, mode};

/// Somebody who is not root.
pub const USER: u32 = 1234;

/// Whether the test runs as root; says why not otherwise.
pub fn may_act_for_others() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skipped("root", "only root can act for somebody else");
    }
    root
}

/// Everything below a directory, itself included.
pub fn all_below(top: &Path) -> Vec<PathBuf> {
    let mut all = vec![top.to_owned()];
    let mut at = 0;
    while let Some(path) = all.get(at).cloned() {
        at += 1;
        if path.symlink_metadata().unwrap().is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            all.extend(entries.map(|entry| entry.unwrap().path()));
        }
    }
    all
}

pub fn give_all(top: &Path, uid: u32, gid: u32) {
    for path in all_below(top) {
        std::os::unix::fs::lchown(path, Some(uid), Some(gid)).unwrap();
    }
}

/// Runs `tw` as somebody else.
pub fn tw_as(sandbox: &Sandbox, uid: u32, args: &[&str]) -> Ran {
    let tw = sandbox.root().join("tw");
    if !tw.exists() {
        // By another process: a child of another thread could hold our own copy open for writing, and nobody could run it.
        sandbox
            .command("cp")
            .arg(env!("CARGO_BIN_EXE_tw"))
            .arg(&tw)
            .assert()
            .success();
    }
    let ids = [format!("--reuid={uid}"), format!("--regid={uid}")];
    let mut command = sandbox.command("setpriv");
    command.args(ids).arg("--clear-groups").arg(tw).args(args);
    command.output().unwrap().into()
}

#[track_caller]
pub fn json_as(sandbox: &Sandbox, uid: u32, args: &[&str]) -> Value {
    let ran = tw_as(sandbox, uid, &[&["--json"], args].concat());
    assert_eq!(ran.code, 0, "{args:?} {}{}", ran.out(), ran.err());
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// A snapshot that this user takes: its id.
#[track_caller]
pub fn snapshot_as(sandbox: &Sandbox, uid: u32) -> String {
    let taken = json_as(sandbox, uid, &["snapshot"]);
    taken["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// A repository of somebody else's, which root may use.
pub fn somebodys() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "--global", "safe.directory", "*"]);
    give_all(&sandbox.root(), USER, USER);
    sandbox
}

/// One of each thing that writes.
fn full_cycle(sandbox: &Sandbox, ok: &dyn Fn(&[&str]) -> Value) {
    let id = ok(&["snapshot"])["snapshot"]["snapshot_id"].clone();
    let id = id.as_str().unwrap();
    std::fs::write(sandbox.path("a.txt"), "two\n").unwrap();
    ok(&["label", id, "before"]);
    let travelled = ok(&["travel", id]);
    assert_eq!(travelled["mode"], "past", "{travelled}");
    std::fs::write(sandbox.path("new.txt"), "made there\n").unwrap();
    assert_eq!(ok(&["return"])["verified"], true);
    ok(&["restore", id, "a.txt"]);
    ok(&["undo", "-y"]);
    ok(&["label", "--remove", "before"]);
    let report = "issue report --snapshot latest --task-context t --symptom s --success-criteria c";
    let reported = ok(&report.split(' ').collect::<Vec<_>>());
    ok(&["issue", "get", reported["issue_id"].as_str().unwrap()]);
}

#[test]
fn a_run_as_root_locks_nobody_out() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    full_cycle(&sandbox, &|args| sandbox.json(args));
    sandbox.ok(["init", "-y", "--agent", "claude"]);
    sandbox.ok(["init", "-y", "--user", "--agent", "claude"]);
    for path in all_below(&sandbox.repo())
        .into_iter()
        .chain(all_below(&sandbox.home()))
    {
        let meta = path.symlink_metadata().unwrap();
        assert!(
            (meta.uid(), meta.gid()) == (USER, USER),
            "{} belongs to {}:{}",
            path.display(),
            meta.uid(),
            meta.gid()
        );
    }
    full_cycle(&sandbox, &|args| json_as(&sandbox, USER, args));
}

/// git stores what it makes of each side's file.
#[test]
fn stages_that_root_writes_are_the_users() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.txt text eol=lf\n");
    let write = |word: &str| sandbox.write("f.txt", format!("one\n{word}\nthree\n"));
    write("base");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "all"]);
    let report = "issue report --task-context t --symptom s --success-criteria c";
    let reported = sandbox.json(report.split(' '));
    let id = reported["issue_id"].as_str().unwrap();
    sandbox.json(["issue", "start", id]);
    sandbox.write("f.txt", "one\r\ntheirs\r\nthree\r\n");
    sandbox.json(["return"]);
    write("ours");
    sandbox.git(["config", "--global", "safe.directory", "*"]);
    give_all(&sandbox.root(), USER, USER);
    assert_eq!(sandbox.tw(["issue", "apply", id]).code, 1);
    let status = sandbox.git(["status", "--porcelain"]);
    assert!(status.contains("UU f.txt"), "{status}");
    for path in all_below(&sandbox.path(".git/objects")) {
        let meta = path.symlink_metadata().unwrap();
        let owner = (meta.uid(), meta.gid());
        assert_eq!(owner, (USER, USER), "{}", path.display());
    }
}

/// As every command of git's writes it that root runs there. Nobody may link it: it is copied.
#[test]
fn an_index_of_roots_keeps_nobody_in_the_past() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = snapshot_as(&sandbox, USER);
    std::fs::write(sandbox.path("a.txt"), "two\n").unwrap();
    let before = sandbox.state();
    json_as(&sandbox, USER, &["travel", id.as_str()]);
    let index = sandbox.path(".git/index");
    chown(&index, Some(0), Some(0)).unwrap();
    let bits = index.metadata().unwrap().mode();
    assert_eq!(json_as(&sandbox, USER, &["return"])["verified"], true);
    let meta = index.metadata().unwrap();
    assert_eq!((meta.uid(), meta.mode()), (USER, bits));
    before.assert_same(&sandbox.state());
}

#[test]
fn a_snapshot_that_root_opens_is_somebody_elses() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    let dirs = ["new", "there"].map(|name| sandbox.root().join(name));
    std::fs::create_dir(&dirs[1]).unwrap();
    chown(&dirs[1], Some(USER), Some(USER)).unwrap();
    for dir in &dirs {
        sandbox.json(["open", &id, dir.to_str().unwrap()]);
    }
    for top in [&sandbox.path(".git"), &dirs[0], &dirs[1]] {
        for path in all_below(top) {
            let meta = path.symlink_metadata().unwrap();
            assert_eq!((meta.uid(), meta.gid()), (USER, USER), "{}", path.display());
        }
    }
    for dir in &dirs {
        json_as(&sandbox, USER, &["close", dir.to_str().unwrap()]);
    }
}

#[test]
fn what_an_older_run_of_roots_left_is_given_back() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    full_cycle(&sandbox, &|args| json_as(&sandbox, USER, args));
    let own = sandbox.path(".git/timewarp");
    // None of ours: a second name of a file elsewhere, and a symlink.
    let elsewhere = sandbox.root().join("elsewhere");
    std::fs::write(&elsewhere, "root's\n").unwrap();
    std::fs::hard_link(&elsewhere, own.join("second")).unwrap();
    symlink(&elsewhere, own.join("link")).unwrap();
    give_all(&own, 0, 0);
    std::fs::write(sandbox.path("a.txt"), "three\n").unwrap();
    let ran = tw_as(&sandbox, USER, &["snapshot"]);
    assert_ne!(ran.code, 0, "{}", ran.out());
    assert!(
        ran.err().contains("chown") && ran.err().contains(".git/timewarp"),
        "{}",
        ran.err()
    );
    sandbox.json(["snapshot"]);
    for path in all_below(&own) {
        let owner = path.symlink_metadata().unwrap().uid();
        let wanted = if path.ends_with("second") { 0 } else { USER };
        assert_eq!(owner, wanted, "{}", path.display());
    }
    std::fs::remove_file(own.join("second")).unwrap();
    full_cycle(&sandbox, &|args| json_as(&sandbox, USER, args));
}

#[test]
fn a_past_that_root_entered_is_left_by_the_user() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = snapshot_as(&sandbox, USER);
    std::fs::write(sandbox.path("a.txt"), "two\n").unwrap();
    sandbox.json(["travel", id.as_str()]);
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(sandbox.text("a.txt"), "two\n");
}

/// As a container does that runs as root.
#[test]
fn a_directory_that_is_somebody_else_s_by_now_keeps_nobody_in_the_past() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    sandbox.write("dir/x", "one\n");
    give_all(&sandbox.path("dir"), USER, USER);
    let id = snapshot_as(&sandbox, USER);
    std::fs::write(sandbox.path("a.txt"), "two\n").unwrap();
    json_as(&sandbox, USER, &["travel", id.as_str()]);
    chown(sandbox.path("dir"), Some(0), Some(0)).unwrap();
    sandbox.chmod("dir", 0o777);
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    let said = returned["notices"].to_string();
    assert!(said.contains("permission bits"), "{returned}");
    assert_eq!(sandbox.text("a.txt"), "two\n");
}

#[test]
fn what_a_private_directory_held_is_not_put_in_an_open_one_of_another_owner() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    sandbox.write("dir/x", "private\n");
    sandbox.chmod("dir", 0o700);
    give_all(&sandbox.path("dir"), USER, USER);
    let id = snapshot_as(&sandbox, USER);
    let id = id.as_str();
    sandbox.remove("dir/x");
    chown(sandbox.path("dir"), Some(0), Some(0)).unwrap();
    sandbox.chmod("dir", 0o777);
    for args in [
        &["travel", id][..],
        &["restore", id],
        &["restore", id, "dir"],
    ] {
        let ran = tw_as(&sandbox, USER, args);
        assert_eq!(ran.code, 1, "{}", ran.err());
        assert!(
            ran.err().contains("'dir' belongs to another user"),
            "{}",
            ran.err()
        );
        assert!(!sandbox.exists("dir/x"));
    }
    assert_eq!(mode(&sandbox, "dir"), 0o777);
    // Into one of the user's own in it nobody else gets.
    sandbox.write("dir/own/x", "private\n");
    sandbox.chmod("dir/own", 0o700);
    give_all(&sandbox.path("dir/own"), USER, USER);
    let id = snapshot_as(&sandbox, USER);
    sandbox.remove("dir/own/x");
    json_as(&sandbox, USER, &["restore", id.as_str()]);
    assert_eq!(sandbox.text("dir/own/x"), "private\n");
}

#[test]
fn a_state_that_cannot_be_read_is_an_error_that_names_it() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = snapshot_as(&sandbox, USER);
    std::fs::write(sandbox.path("a.txt"), "two\n").unwrap();
    sandbox.json(["travel", id.as_str()]);
    for name in ["state.json", "."] {
        let path = sandbox.path(".git/timewarp").join(name);
        chown(&path, Some(0), Some(0)).unwrap();
        for command in ["recover", "return", "status"] {
            let ran = tw_as(&sandbox, USER, &[command]);
            assert_ne!(ran.code, 0, "{name} {command}: {}", ran.out());
            let said = ran.err();
            assert!(said.contains(".git/timewarp"), "{command}: {said}");
            assert!(said.contains("chown"), "{command}: {said}");
        }
        chown(&path, Some(USER), Some(USER)).unwrap();
    }
    assert_eq!(json_as(&sandbox, USER, &["return"])["verified"], true);
}

#[test]
fn a_shared_repository_is_shared_whatever_made_the_file() {
    let sandbox = Sandbox::new();
    for (value, file_bits, dir_bits) in [
        ("group", 0o060, 0o2070),
        ("0664", 0o064, 0o2075),
        ("all", 0o064, 0o2075),
    ] {
        let before = all_below(&sandbox.path(".git"));
        sandbox.git(["config", "core.sharedRepository", value]);
        let _ = std::fs::remove_dir_all(sandbox.path(".git/timewarp"));
        full_cycle(&sandbox, &|args| {
            // As strict as can be.
            let tw = env!("CARGO_BIN_EXE_tw");
            let mut command = sandbox.command("sh");
            command.args(["-c", "umask 077; exec \"$@\"", "sh", tw, "--json"]);
            let ran: Ran = command.args(args).output().unwrap().into();
            assert_eq!(ran.code, 0, "{args:?} {}{}", ran.out(), ran.err());
            serde_json::from_slice(&ran.stdout).unwrap()
        });
        let always = ["HEAD", "index", "logs/HEAD"].map(|name| sandbox.path(".git").join(name));
        // Beside tables the file HEAD is git's alone.
        let rewritten = if sandbox.has_reftable() {
            &always[1..2]
        } else {
            &always[..2]
        };
        for path in all_below(&sandbox.path(".git")) {
            let known = before.contains(&path) && !path.starts_with(sandbox.path(".git/timewarp"));
            let is_as_it_was = known && !rewritten.contains(&path);
            if is_as_it_was || crate::damage::is_left_to_delete(&path) {
                continue;
            }
            let mode = path.symlink_metadata().unwrap().mode();
            let is_dir = mode & 0o170_000 == 0o040_000;
            // git's objects are read-only to everybody.
            let read_only = mode & 0o200 == 0;
            let wanted = match (is_dir, read_only) {
                (true, _) => dir_bits,
                (false, true) => file_bits & 0o444,
                (false, false) => file_bits,
            };
            assert_eq!(
                mode & wanted,
                wanted,
                "{value}: {} has {mode:o}",
                path.display()
            );
        }
    }
}

#[test]
fn operation_files_come_back_with_their_modes() {
    let sandbox = Sandbox::new();
    for n in 0..4 {
        sandbox.write("a.txt", format!("{n}\n"));
        sandbox.git(["commit", "-q", "-am", "more"]);
    }
    sandbox.git(["bisect", "start", "HEAD", "HEAD~4"]);
    let modes = || -> BTreeMap<PathBuf, u32> {
        let files = all_below(&sandbox.path(".git")).into_iter();
        let files = files.filter(|path| path.to_string_lossy().contains("BISECT_"));
        files
            .map(|path| (path.clone(), path.metadata().unwrap().mode()))
            .collect()
    };
    sandbox.write(".git/BISECT_ANCESTORS_OK", "");
    for (name, mode) in [("ANCESTORS_OK", 0o600), ("LOG", 0o660), ("NAMES", 0o640)] {
        sandbox.chmod(format!(".git/BISECT_{name}"), mode);
    }
    let before = modes();
    let id = sandbox.snap()["snapshot_id"].clone();
    sandbox.write("a.txt", "changed\n");
    sandbox.json(["travel", id.as_str().unwrap()]);
    sandbox.chmod(".git/HEAD", 0o600);
    assert!(modes().is_empty());
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(modes(), before);
    let head = sandbox.path(".git/HEAD").metadata().unwrap().mode();
    assert_eq!(head & 0o777, 0o600, "a private HEAD stays private");
}

#[test]
fn an_index_that_is_a_symlink_stays_one() {
    let sandbox = Sandbox::new();
    let real = sandbox.root().join("elsewhere");
    std::fs::create_dir(&real).unwrap();
    std::fs::rename(sandbox.path(".git/index"), real.join("index")).unwrap();
    symlink("../../elsewhere/index", sandbox.path(".git/index")).unwrap();
    let id = sandbox.snap()["snapshot_id"].clone();
    sandbox.write("b.txt", "staged\n");
    sandbox.git(["add", "b.txt"]);
    sandbox.assert_round_trip(id.as_str().unwrap(), |sandbox| {
        assert!(
            sandbox
                .path(".git/index")
                .symlink_metadata()
                .unwrap()
                .is_symlink()
        );
        assert_eq!(sandbox.git(["ls-files"]), "a.txt\n");
    });
    let link = std::fs::read_link(sandbox.path(".git/index")).unwrap();
    assert_eq!(link, Path::new("../../elsewhere/index"));
    assert_eq!(sandbox.git(["ls-files"]), "a.txt\nb.txt\n");
    // git locks where the symlink leads, and so do we.
    sandbox.write("b.txt", "more\n");
    std::fs::write(real.join("index.lock"), "").unwrap();
    sandbox.git(["config", "timewarp.lockTimeout", "0"]);
    let (error, _) = sandbox.json_error(["travel", id.as_str().unwrap()]);
    assert_eq!(error["code"], "BUSY", "{error}");
}

#[test]
fn a_head_that_is_a_symlink_stays_one() {
    let sandbox = Sandbox::of(Kind::ref_files());
    let as_symlink = |git_dir: PathBuf, branch: &str| {
        std::fs::remove_file(git_dir.join("HEAD")).unwrap();
        symlink(format!("refs/heads/{branch}"), git_dir.join("HEAD")).unwrap();
    };
    as_symlink(sandbox.path(".git"), "main");
    let snapshot = sandbox.snap();
    let id = snapshot["snapshot_id"].as_str().unwrap().to_owned();
    sandbox.write("a.txt", "two\n");
    sandbox.git(["commit", "-q", "-am", "second"]);
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("a.txt"), "one\n");
        sandbox.write("a.txt", "in the past\n");
    });
    let link = std::fs::read_link(sandbox.path(".git/HEAD")).unwrap();
    assert_eq!(link, Path::new("refs/heads/main"));

    let other = sandbox.root().join("other");
    sandbox.git([
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        other.to_str().unwrap(),
    ]);
    as_symlink(sandbox.path(".git/worktrees/other"), "side");
    assert_eq!(sandbox.tw_in(&other, ["snapshot"]).code, 0);
    std::fs::write(other.join("a.txt"), "three\n").unwrap();
    let ran = sandbox.tw_in(&other, ["travel", &id]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    let ran = sandbox.tw_in(&other, ["--json", "return"]);
    let returned: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(returned["verified"], true, "{returned}");
    let link = std::fs::read_link(sandbox.path(".git/worktrees/other/HEAD")).unwrap();
    assert_eq!(link, Path::new("refs/heads/side"));
}

/// Owner, group, permission bits and an attribute of a file.
pub fn access_of(path: &Path) -> (u32, u32, u32, Vec<(String, Vec<u8>)>) {
    let meta = path.symlink_metadata().unwrap();
    let names = [
        "user.tw",
        "security.capability",
        "system.posix_acl_access",
        "system.posix_acl_default",
    ];
    let attributes = names.iter().filter_map(|name| {
        let mut value = vec![0; 1024];
        let length = rustix::fs::lgetxattr(path, *name, &mut value[..]).ok()?;
        value.truncate(length);
        Some(((*name).to_owned(), value))
    });
    (
        meta.uid(),
        meta.gid(),
        meta.mode() & 0o7777,
        attributes.collect(),
    )
}

pub fn set_attribute(path: &Path, name: &str, value: &[u8]) -> bool {
    rustix::fs::lsetxattr(path, name, value, rustix::fs::XattrFlags::empty()).is_ok()
}

/// An ACL that lets `uid` read, and the owning group nothing, though the mask, which the mode shows, says otherwise.
pub fn acl(uid: u32) -> Vec<u8> {
    acl_of(uid, 6)
}

/// As [`acl`], with these bits of the owner: a directory's has to get in.
pub fn acl_of(uid: u32, owner: u16) -> Vec<u8> {
    let nobody = u32::MAX;
    let entries: [(u16, u16, u32); 5] = [
        (0x01, owner, nobody),
        (0x02, 4, uid),
        (0x04, 0, nobody),
        (0x10, 4, nobody),
        (0x20, 0, nobody),
    ];
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, perm, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(perm.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

/// What `security.capability` holds for `cap_net_raw`, not inherited.
const CAPABILITY: [u8; 20] = [
    1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

#[test]
fn owners_acls_attributes_and_capabilities_come_back() {
    let root = may_act_for_others();
    let sandbox = Sandbox::new();
    sandbox.write("dir/gone.txt", "to be removed\n");
    sandbox.git(["config", "user.name", "x"]);
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    // All of these are replaced, removed or made by the trip.
    let paths = ["a.txt", "new/private", "new/made", "dir/gone.txt", "new"];
    sandbox.write("a.txt", "two\n");
    sandbox.write("new/private", "secret\n");
    sandbox.write("new/made", "tool\n");
    sandbox.write("dir/gone.txt", "changed\n");
    for (nth, path) in paths.into_iter().enumerate() {
        let full = sandbox.path(path);
        if root {
            let own = 2000 + u32::try_from(nth).unwrap();
            chown(&full, Some(own), Some(own + 10)).unwrap();
        }
        sandbox.chmod(path, if path == "new" { 0o750 } else { 0o600 });
        if !set_attribute(&full, "user.tw", path.as_bytes()) {
            crate::sandbox::skipped("access lists", "no extended attributes here");
            return;
        }
        let owner = if path == "new" { 7 } else { 6 };
        set_attribute(&full, "system.posix_acl_access", &acl_of(3000, owner));
    }
    set_attribute(&sandbox.path("new"), "system.posix_acl_default", &acl(3001));
    if root {
        set_attribute(
            &sandbox.path("new/made"),
            "security.capability",
            &CAPABILITY,
        );
    }
    let before = paths.map(|path| access_of(&sandbox.path(path)));
    assert_eq!(before[1].3.len(), 2, "attribute and ACL: {:?}", before[1]);
    sandbox.json(["travel", &id]);
    // What is replaced keeps what it had, and nobody else gets in.
    let there = access_of(&sandbox.path("a.txt"));
    assert_eq!((there.0, there.1), (before[0].0, before[0].1));
    assert_eq!(there.3[0], before[0].3[0]);
    assert_eq!(there.3.len(), 2, "attribute and ACL: {there:?}");
    assert!(!sandbox.exists("new/private"));
    sandbox.remove("a.txt");
    sandbox.write("a.txt", "written anew in the past\n");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    for (path, before) in paths.iter().zip(&before) {
        assert_eq!(access_of(&sandbox.path(path)), *before, "{path}");
    }
    // Undo and redo go the same ways.
    sandbox.json(["undo", "-y"]);
    sandbox.json(["return"]);
    for (path, before) in paths.iter().zip(&before) {
        assert_eq!(access_of(&sandbox.path(path)), *before, "{path}");
    }
}

#[test]
pub fn access_of_what_a_trip_left_alone_comes_back() {
    let sandbox = Sandbox::new();
    // The trip is about `a.txt` alone: these are the same on both sides.
    let paths = ["kept/removed", "kept/replaced", "kept/stripped", "kept"];
    for path in &paths[..3] {
        sandbox.write(path, "the same on both sides\n");
        sandbox.chmod(path, 0o664);
    }
    sandbox.chmod("kept", 0o775);
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    for (nth, path) in paths.into_iter().enumerate() {
        let full = sandbox.path(path);
        if is_root() {
            let own = 2000 + u32::try_from(nth).unwrap();
            chown(&full, Some(own), Some(own + 10)).unwrap();
        }
        if !set_attribute(&full, "system.posix_acl_access", &acl(3000)) {
            skipped("access lists", "no ACLs here");
            return;
        }
        // The mask: the same bits as before the ACL, which lets the group do nothing.
        sandbox.chmod(path, if path == "kept" { 0o775 } else { 0o664 });
        set_attribute(&full, "user.tw", path.as_bytes());
    }
    let before = paths.map(|path| access_of(&sandbox.path(path)));
    sandbox.write("a.txt", "two\n");
    sandbox.json(["travel", &id]);
    for (path, before) in paths.iter().zip(&before) {
        assert_eq!(access_of(&sandbox.path(path)), *before, "{path} left alone");
    }
    for path in ["kept/removed", "kept/replaced"] {
        sandbox.remove(path);
    }
    sandbox.write("kept/replaced", "written anew in the past\n");
    for (path, bits) in [("kept/stripped", 0o604), ("kept", 0o705)] {
        rustix::fs::lremovexattr(sandbox.path(path), "system.posix_acl_access").unwrap();
        sandbox.chmod(path, bits);
    }
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    for (path, before) in paths.iter().zip(&before) {
        assert_eq!(access_of(&sandbox.path(path)), *before, "{path}");
    }
}

#[test]
fn permission_bits_do_not_open_an_acl_that_was_not_recorded() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/file", "x\n");
    for (path, bits) in [("a.txt", 0o664), ("dir", 0o775)] {
        sandbox.chmod(path, bits);
    }
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    for (path, bits) in [("a.txt", 0o604), ("dir", 0o705)] {
        if !set_attribute(&sandbox.path(path), "system.posix_acl_access", &acl(3000)) {
            skipped("access lists", "no ACLs here");
            return;
        }
        // The mask lets in nobody whom the ACL names.
        sandbox.chmod(path, bits);
    }
    let restored = sandbox.json(["restore", &id]);
    let told = restored["notices"].to_string();
    for (path, bits) in [("a.txt", 0o644), ("dir", 0o755)] {
        assert!(
            told.contains(&format!("'{path}' could not keep: ACL")),
            "{restored}"
        );
        // What everybody may, and nothing else.
        assert_eq!(access_of(&sandbox.path(path)).2, bits, "{path}");
    }
}

#[test]
fn attributes_of_what_the_past_has_not_make_no_experiment() {
    let sandbox = Sandbox::new();
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    sandbox.write("new", "new\n");
    sandbox.write("dir/new", "new\n");
    for path in ["new", "dir"] {
        if !set_attribute(&sandbox.path(path), "user.tw", b"now") {
            skipped("attributes", "no user attributes here");
            return;
        }
    }
    sandbox.json(["travel", &id]);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
    // What is taken from a file of both is told.
    set_attribute(&sandbox.path("a.txt"), "user.tw", b"now");
    sandbox.json(["travel", "latest"]);
    rustix::fs::lremovexattr(sandbox.path("a.txt"), "user.tw").unwrap_or_default();
    set_attribute(&sandbox.path("a.txt"), "user.tw", b"past");
    let returned = sandbox.json(["return"]);
    assert_ne!(returned["experiment_id"], Value::Null, "{returned}");
    for path in ["new", "dir", "a.txt"] {
        let found = access_of(&sandbox.path(path)).3;
        assert!(
            found.contains(&("user.tw".into(), b"now".to_vec())),
            "{path}: {found:?}"
        );
    }
}

/// No record has it: what a snapshot says of a directory of that name is about another one.
#[test]
fn a_directory_that_the_present_left_out_keeps_its_access() {
    let name = "system.posix_acl_access";
    for is_open_now in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write("d/a", "then\n");
        let list = |is_there: bool| {
            let path = sandbox.path("d");
            let _ = rustix::fs::lremovexattr(&path, name);
            sandbox.chmod("d", 0o750);
            !is_there || set_attribute(&path, name, &acl_of(3000, 7))
        };
        if !list(!is_open_now) {
            skipped("access lists", "no ACLs here");
            return;
        }
        let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
        sandbox.remove("d/a");
        sandbox.write(".gitignore", "d/\n");
        sandbox.write("d/own", "now\n");
        list(is_open_now);
        let now = access_of(&sandbox.path("d"));
        for back in [&["return"], &["undo"]] {
            sandbox.json(["travel", &id]);
            let then = access_of(&sandbox.path("d"));
            assert_eq!((then.0, then.1), (now.0, now.1));
            assert_eq!(then.3.iter().any(|(at, _)| at == name), is_open_now);
            let returned = sandbox.json(back);
            assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
            assert_eq!(access_of(&sandbox.path("d")), now, "{back:?}");
        }
        sandbox.json(["restore", &id, "d"]);
        sandbox.json(["undo"]);
        assert_eq!(access_of(&sandbox.path("d")), now);
        killed_at(&sandbox, "apply-prepared", &["travel", &id]);
        sandbox.ok(["recover"]);
        assert_eq!(access_of(&sandbox.path("d")), now);
    }
}

#[test]
fn a_group_that_cannot_be_kept_is_told_and_gets_nothing() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = snapshot_as(&sandbox, USER);
    std::fs::write(sandbox.path("a.txt"), "two\n").unwrap();
    // The user owns the file and is not in its group.
    chown(sandbox.path("a.txt"), Some(USER), Some(4321)).unwrap();
    sandbox.chmod("a.txt", 0o640);
    let travelled = json_as(&sandbox, USER, &["travel", id.as_str()]);
    let told = travelled["notices"].to_string();
    assert!(
        told.contains("'a.txt' could not keep: group"),
        "{travelled}"
    );
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    let told = returned["notices"].to_string();
    assert!(told.contains("'a.txt' could not keep: group"), "{returned}");
    let (uid, gid, mode, _) = access_of(&sandbox.path("a.txt"));
    assert_eq!((uid, gid, mode), (USER, USER, 0o600));
}

#[test]
fn a_group_of_the_users_is_kept() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let tw = |args: &[&str]| -> Value {
        let ids = [format!("--reuid={USER}"), format!("--regid={USER}")];
        let mut command = sandbox.command("setpriv");
        command
            .args(ids)
            .arg("--groups=4321")
            .arg(sandbox.root().join("tw"));
        let ran: Ran = command.arg("--json").args(args).output().unwrap().into();
        assert_eq!(ran.code, 0, "{args:?} {}{}", ran.out(), ran.err());
        serde_json::from_slice(&ran.stdout).unwrap()
    };
    let id = snapshot_as(&sandbox, USER);
    for (path, text) in [("a.txt", "two\n"), ("b.txt", "new\n")] {
        std::fs::write(sandbox.path(path), text).unwrap();
        chown(sandbox.path(path), Some(USER), Some(4321)).unwrap();
        sandbox.chmod(path, 0o640);
    }
    tw(&["travel", id.as_str()]);
    assert_eq!(tw(&["return"])["verified"], true);
    for path in ["a.txt", "b.txt"] {
        let (uid, gid, mode, _) = access_of(&sandbox.path(path));
        assert_eq!((uid, gid, mode), (USER, 4321, 0o640), "{path}");
    }
}

#[test]
fn a_symlink_of_roots_comes_back_as_the_users() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = snapshot_as(&sandbox, USER);
    // In a container, or by sudo.
    symlink("a.txt", sandbox.path("l")).unwrap();
    json_as(&sandbox, USER, &["travel", id.as_str()]);
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    let told = returned["notices"].to_string();
    assert!(
        told.contains("'l' could not keep: owner, group"),
        "{returned}"
    );
    let link = std::fs::read_link(sandbox.path("l")).unwrap();
    assert_eq!(link, Path::new("a.txt"));
}

#[test]
fn root_that_may_give_nothing_away_goes_there_and_back_and_says_so() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let tw = |args: &[&str]| -> Value {
        let mut command = sandbox.command("setpriv");
        command
            .args(["--inh-caps=-all", "--bounding-set=-chown"])
            .args([env!("CARGO_BIN_EXE_tw"), "--json"]);
        let ran: Ran = command.args(args).output().unwrap().into();
        assert_eq!(ran.code, 0, "{args:?} {}{}", ran.out(), ran.err());
        serde_json::from_slice(&ran.stdout).unwrap()
    };
    sandbox.write("d/e/f", "one\n");
    symlink("a.txt", sandbox.path("l")).unwrap();
    give_all(&sandbox.root(), USER, USER);
    let id = tw(&["snapshot"])["snapshot"]["snapshot_id"].clone();
    sandbox.remove("d");
    sandbox.write("d", "a file by now\n");
    sandbox.remove("l");
    symlink("b.txt", sandbox.path("l")).unwrap();
    sandbox.write("new/deep/g", "two\n");
    give_all(&sandbox.root(), USER, USER);
    let before = sandbox.state();
    let travelled = tw(&["travel", id.as_str().unwrap()]);
    let told = travelled["notices"].to_string();
    for path in ["d", "l"] {
        let note = format!("'{path}' could not keep: owner, group");
        assert!(told.contains(&note), "{path}: {travelled}");
    }
    let returned = tw(&["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    before.assert_same(&sandbox.state());
}

#[test]
fn a_forged_record_gives_no_special_bits() {
    let sandbox = Sandbox::new();
    sandbox.chmod("a.txt", 0o4755);
    let own = sandbox.snap();
    let own_id = own["snapshot_id"].as_str().unwrap();
    let commit = sandbox.git(["rev-parse", &format!("refs/timewarp/snapshots/{own_id}")]);
    // The same record under another id, with this repository's own id in it.
    let forged = "s_20260101_000000_forged";
    let text = sandbox.git(["cat-file", "commit", commit.trim()]);
    let file = sandbox.root().join("forged");
    std::fs::write(&file, text.replace(own_id, forged)).unwrap();
    let oid = sandbox.git(["hash-object", "-t", "commit", "-w", file.to_str().unwrap()]);
    let name = format!("refs/timewarp/snapshots/{forged}");
    sandbox.git(["update-ref", &name, oid.trim()]);
    let mode = || sandbox.path("a.txt").metadata().unwrap().mode() & 0o7777;
    sandbox.chmod("a.txt", 0o644);
    sandbox.json(["restore", forged]);
    assert_eq!(mode(), 0o755, "somebody else's word");
    sandbox.json(["restore", own_id]);
    assert_eq!(mode(), 0o4755, "our own");
}

#[test]
fn a_copy_of_a_repository_gives_no_special_bits_and_one_that_was_moved_does() {
    let sandbox = Sandbox::new();
    sandbox.chmod("a.txt", 0o4755);
    let own = sandbox.snap();
    let id = own["snapshot_id"].as_str().unwrap();
    sandbox.chmod("a.txt", 0o644);
    let [copy, moved] = ["copy", "moved"].map(|name| sandbox.root().join(name));
    let copied = sandbox
        .command("cp")
        .args(["-a", "repo", "copy"])
        .current_dir(sandbox.root())
        .output();
    assert!(copied.unwrap().status.success());
    std::fs::rename(sandbox.repo(), &moved).unwrap();
    for (dir, bits) in [(copy, 0o755), (moved, 0o4755)] {
        let ran = sandbox.tw_in(&dir, ["restore", id]);
        assert_eq!(ran.code, 0, "{}", ran.err());
        let there = dir.join("a.txt").metadata().unwrap().mode();
        assert_eq!(there & 0o7777, bits, "{}", dir.display());
    }
}

#[test]
fn a_list_of_an_earlier_version_counts_for_what_is_no_older_than_the_repository() {
    let sandbox = Sandbox::new();
    sandbox.chmod("a.txt", 0o4755);
    let old = sandbox.snap();
    // The clock of the tests is behind that of the system, which says when the repository was made.
    sandbox.wait(20 * 365 * 24 * 3600);
    let new = sandbox.snap();
    let commits = sandbox.git([
        "for-each-ref",
        "--format=%(objectname)",
        "refs/timewarp/snapshots",
    ]);
    std::fs::write(sandbox.git_dir().join("timewarp/made-here"), commits).unwrap();
    for (snapshot, bits) in [(old, 0o755), (new, 0o4755)] {
        sandbox.chmod("a.txt", 0o644);
        sandbox.json(["restore", snapshot["snapshot_id"].as_str().unwrap()]);
        assert_eq!(mode(&sandbox, "a.txt"), bits, "{snapshot}");
    }
}

#[test]
fn root_makes_no_program_of_its_own_for_the_owner_of_a_repository() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = Sandbox::new();
    for (path, owner) in [("root-s", 0), ("theirs", USER)] {
        sandbox.write(path, "#!/bin/sh\n");
        chown(sandbox.path(path), Some(owner), Some(owner)).unwrap();
        sandbox.chmod(path, 0o6755);
    }
    // What most programs are.
    for path in ["p1", "p2", "p3"] {
        sandbox.program(path, "");
    }
    let made = sandbox.snap();
    // He may have written the list, and any record, himself.
    give_all(&sandbox.git_dir(), USER, USER);
    let tw = |args: &[&str]| {
        let mut command = sandbox.tw_command();
        command.env("SUDO_UID", USER.to_string());
        Sandbox::json_of(command, args)
    };
    let bits = || ["root-s", "theirs"].map(|path| mode(&sandbox, path));
    for path in ["root-s", "theirs"] {
        sandbox.chmod(path, 0o644);
    }
    tw(&["restore", made["snapshot_id"].as_str().unwrap()]);
    assert_eq!(bits(), [0o755, 0o6755]);
    // What root made itself it brings back.
    sandbox.chmod("root-s", 0o6755);
    let own = tw(&["snapshot"])["snapshot"]["snapshot_id"].clone();
    sandbox.write("a.txt", "more\n");
    sandbox.remove("root-s");
    tw(&["restore", own.as_str().unwrap()]);
    assert_eq!(bits(), [0o6755, 0o6755]);
    tw(&["travel", made["snapshot_id"].as_str().unwrap()]);
    assert_eq!(bits(), [0o755, 0o6755]);
    tw(&["return"]);
    assert_eq!(bits(), [0o6755, 0o6755]);
}

#[test]
fn the_prompt_of_another_user_s_repository_says_nothing_of_a_swap() {
    if is_root() {
        skipped("an ordinary user", "root can read everything");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.snap();
    assert_eq!(sandbox.ok(["prompt"]), "");
    sandbox.chmod(".git/timewarp", 0);
    assert_eq!(sandbox.ok(["prompt"]), "tw:unreadable\n");
    sandbox.chmod(".git/timewarp", 0o700);
}

#[test]
fn a_purge_of_another_path_leaves_who_may_read_what_stays() {
    let sandbox = Sandbox::new();
    let snap = || {
        let made = sandbox.snap();
        made["snapshot_id"].as_str().unwrap().to_owned()
    };
    let first = snap();
    sandbox.write("secret.txt", "purged\n");
    sandbox.write("private.txt", "kept\n");
    sandbox.chmod("private.txt", 0o600);
    let private = sandbox.path("private.txt");
    if !set_attribute(&private, "user.tw", b"kept") {
        skipped("access lists", "no extended attributes here");
        return;
    }
    set_attribute(&private, "system.posix_acl_access", &acl(3000));
    if rustix::process::geteuid().is_root() {
        chown(&private, Some(2000), Some(2010)).unwrap();
    }
    let before = access_of(&private);
    let both = snap();
    // The backup of this has it, too.
    sandbox.json(["restore", &first]);
    assert!(!private.exists());
    sandbox.json(["purge", "--yes-purge", "secret.txt"]);
    sandbox.json(["undo"]);
    assert_eq!(access_of(&private), before, "as the backup has it");
    sandbox.remove("private.txt");
    sandbox.json(["restore", &both]);
    assert_eq!(access_of(&private), before, "as the snapshot has it");
}

#[test]
fn a_purge_leaves_nothing_of_who_might_read_it_in_the_undo_log() {
    let sandbox = Sandbox::new();
    for path in ["secret.txt", "kept.txt"] {
        sandbox.write(path, "the same\n");
        if !set_attribute(&sandbox.path(path), "user.tw", b"then") {
            skipped("access lists", "no extended attributes here");
            return;
        }
    }
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    for path in ["secret.txt", "kept.txt"] {
        set_attribute(&sandbox.path(path), "user.tw", b"now");
    }
    sandbox.json(["restore", &id]);
    let level = || {
        let dir = std::fs::read_dir(sandbox.path(".git/timewarp/undo")).unwrap();
        let file = dir.map(|file| file.unwrap().path()).next().unwrap();
        std::fs::read_to_string(file).unwrap()
    };
    assert!(level().contains("secret.txt"));
    sandbox.json(["purge", "--yes-purge", "secret.txt"]);
    assert!(!level().contains("secret.txt") && level().contains("kept.txt"));
}

#[test]
fn what_runs_as_its_owner_runs_as_nobody_else_whoever_brings_it_back() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("bin/prog", "#!/bin/sh\n");
    sandbox.git(["config", "--global", "safe.directory", "*"]);
    give_all(&sandbox.root(), USER, USER);
    sandbox.chmod("bin/prog", 0o6755);
    let made = tw_as(&sandbox, USER, &["-q", "snapshot"]);
    let id = made.out().trim().to_owned();
    let whose = |path: &Path| {
        let meta = path.metadata().unwrap();
        (meta.uid(), meta.gid(), meta.mode() & 0o7777)
    };
    let (prog, theirs) = (sandbox.path("bin/prog"), (USER, USER, 0o6755));
    for nth in 0..3 {
        std::fs::remove_file(&prog).unwrap();
        match nth {
            // Root's stands there, or nothing does in a directory of root's, or all has become root's.
            0 => sandbox.write("bin/prog", "#!/bin/false\n"),
            1 => chown(sandbox.path("bin"), Some(0), Some(0)).unwrap(),
            _ => {
                sandbox.write("bin/prog", "#!/bin/sh\n");
                for path in ["bin", "a.txt", "."] {
                    chown(sandbox.path(path), Some(0), Some(0)).unwrap();
                }
            }
        }
        sandbox.json(["restore", &id]);
        assert_eq!(whose(&prog), theirs, "{nth}");
    }
    let opened = sandbox.root().join("elsewhere");
    sandbox.json(["open", &id, opened.to_str().unwrap()]);
    assert_eq!(whose(&opened.join("bin/prog")), theirs);
}

/// His state directory is not his alone, as with `sudo -E` or in a container.
#[test]
fn what_root_cannot_prove_to_have_made_is_told_where_it_is_not_given_back() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    sandbox.program("kept", "");
    sandbox.chmod("kept", 0o4755);
    let with_kept = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    sandbox.program("gone", "");
    sandbox.chmod("gone", 0o4755);
    let capability = [1, 0, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let is_capable = set_attribute(&sandbox.path("gone"), "security.capability", &capability);
    let told = |path: &str, answer: &Value| {
        let lost = match path {
            "gone" if is_capable => "permission bits, security.capability",
            _ => "permission bits",
        };
        let said = format!("'{path}' could not keep: {lost}; nobody else got access to it");
        let notices = list(&answer["notices"]);
        assert!(notices.contains(&said), "{path}: {notices:?}");
    };
    // It is the same on both sides, and loses its bits on the way there.
    let travelled = sandbox.json(["travel", &with_kept]);
    told("kept", &travelled);
    let said = "would come back without setuid, setgid or capabilities, since nothing but a state directory that nobody else may write proves whose backup it is: 'gone', 'kept'";
    assert!(list(&travelled["notices"]).iter().any(|one| one == said));
    let returned = sandbox.json(["return"]);
    told("kept", &returned);
    told("gone", &returned);
    assert_eq!(mode(&sandbox, "gone"), 0o755);

    let opened = sandbox.root().join("opened");
    told(
        "kept",
        &sandbox.json(["open", &with_kept, opened.to_str().unwrap()]),
    );

    // No level of the undo log makes such a program either: he may have written it.
    sandbox.program("kept", "exit 1");
    sandbox.json(["restore", &with_kept, "kept"]);
    let mut levels = all_below(&sandbox.path(".git/timewarp/undo"));
    levels.sort();
    let level = levels.last().unwrap();
    let text = std::fs::read_to_string(level).unwrap();
    assert!(text.contains("\"perm\":\"0755\""), "{text}");
    let text = text.replace("\"perm\":\"0755\"", "\"perm\":\"4755\"");
    std::fs::write(level, text).unwrap();
    told("kept", &sandbox.json(["undo"]));
    assert_eq!(mode(&sandbox, "kept"), 0o755);
}

#[test]
fn an_own_list_that_cannot_be_read_stops_nothing() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    give_all(&sandbox.repo(), USER + 1, USER + 1);
    for path in all_below(&sandbox.repo()) {
        let bits = path.metadata().unwrap().mode() | 0o666;
        let bits = if path.is_dir() { bits | 0o111 } else { bits };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(bits)).unwrap();
    }
    let state = sandbox.home().join(".local/state/timewarp");
    std::fs::create_dir_all(&state).unwrap();
    give_all(&sandbox.home().join(".local"), USER, USER);
    chown(&state, Some(0), Some(0)).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).unwrap();
    let id = snapshot_as(&sandbox, USER);
    std::fs::write(sandbox.path("a.txt"), "two\n").unwrap();
    json_as(&sandbox, USER, &["travel", &id]);
    assert_eq!(json_as(&sandbox, USER, &["return"])["verified"], true);
}

/// There a change of permission bits moves all that tells a git directory from a copy of it.
#[test]
fn what_was_made_here_stays_so_where_the_file_system_knows_no_birth_times() {
    let sandbox = Sandbox::bare_room();
    let Some(_disk) = Disk::mount(&sandbox, "mkfs.ext4 -q -F -I 128") else {
        return;
    };
    sandbox.git(["init", "-q"]);
    sandbox.program("tool", "");
    sandbox.chmod("tool", 0o4755);
    let id = sandbox.snap()["snapshot_id"].as_str().unwrap().to_owned();
    sandbox.remove("tool");
    // This one counts seconds: another inode moves what is noted of it as well, without waiting for the next.
    let (file, other) = (".git/timewarp/id", ".git/timewarp/other");
    std::fs::copy(sandbox.path(file), sandbox.path(other)).unwrap();
    std::fs::rename(sandbox.path(other), sandbox.path(file)).unwrap();
    sandbox.json(["restore", &id]);
    assert_eq!(mode(&sandbox, "tool"), 0o4755);
}
