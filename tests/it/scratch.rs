//! Scratches: what they have in common with the present, and `tw scratch`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::gc::with_pause;
use crate::many::go_on;
use crate::objects::stopped_at;
use crate::provided::{is_root, root_or, skipped};
use crate::sandbox::{Ran, Sandbox};
use crate::stage::taken;
use crate::trip::snapshot;

fn opened(sandbox: &Sandbox, id: &str) -> PathBuf {
    let dir = sandbox.root().join("opened");
    sandbox.ok(["open", id, "../opened"]);
    dir
}

fn time(path: &Path) -> (i64, i64) {
    let meta = path.symlink_metadata().unwrap();
    (meta.mtime(), meta.mtime_nsec())
}

fn age(path: &Path, hours: u64) {
    let then = SystemTime::now() - Duration::from_secs(hours * 3600);
    let file = std::fs::File::open(path).unwrap();
    file.set_modified(then).unwrap();
}

#[test]
fn what_is_the_same_has_the_time_of_the_present() {
    let sandbox = Sandbox::new();
    sandbox.write("same/file", "same\n");
    sandbox.write("other/file", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("other/file", "now\n");
    for path in ["a.txt", "same/file", "other/file", "same", "other"] {
        age(&sandbox.path(path), 5);
    }
    let dir = opened(&sandbox, &id);
    for path in ["a.txt", "same/file", "same"] {
        assert_eq!(time(&dir.join(path)), time(&sandbox.path(path)), "{path}");
    }
    for path in ["other/file", "other"] {
        assert_ne!(time(&dir.join(path)), time(&sandbox.path(path)), "{path}");
    }
    // git has seen the times, too.
    let status = sandbox.git(["-C", "../opened", "diff-files", "--name-only"]);
    assert_eq!(status, "");
}

#[test]
fn ignored_files_come_along_when_they_are_named() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "/deps/\n.env\n/cache/\n*.bin\n");
    sandbox.write(".worktreeinclude", "/deps/\n.env\na.txt\nuntracked\n");
    sandbox.write("deps/lib/code.js", "code\n");
    sandbox.write("deps/lib/run.sh", "#!/bin/sh\n");
    sandbox.write(".env", "KEY=value\n");
    sandbox.write("cache/big", "x\n");
    sandbox.write("one.bin", "1\n");
    sandbox.symlink("code.js", "deps/lib/link");
    let inside = sandbox.path("a.txt");
    sandbox.symlink(inside.to_str().unwrap(), "deps/lib/back");
    let id = snapshot(&sandbox);
    sandbox.write("untracked", "of the present\n");
    sandbox.git(["config", "timewarp.scratchInclude", "*.bin"]);
    age(&sandbox.path("deps/lib/code.js"), 7);
    let answer = sandbox.json(["open", &id, "../opened"]);
    let dir = sandbox.root().join("opened");
    let code = dir.join("deps/lib/code.js");
    assert_eq!(std::fs::read(&code).unwrap(), b"code\n");
    assert_eq!(time(&code), time(&sandbox.path("deps/lib/code.js")));
    let inode = |path: &Path| path.symlink_metadata().unwrap().ino();
    assert_ne!(inode(&code), inode(&sandbox.path("deps/lib/code.js")));
    let link = std::fs::read_link(dir.join("deps/lib/link")).unwrap();
    assert_eq!(link, Path::new("code.js"));
    assert!(dir.join(".env").exists() && dir.join("one.bin").exists());
    // Not named; and not ignored, which a snapshot has or has not.
    assert!(!dir.join("cache").exists() && !dir.join("untracked").exists());
    // What is written through it would reach the present.
    assert!(dir.join("deps/lib/back").symlink_metadata().is_err());
    let notices = answer["notices"].to_string();
    assert!(notices.contains("'deps/lib/back'"), "{notices}");
}

#[test]
fn nothing_is_laid_out_through_a_link() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    sandbox.symlink(elsewhere.to_str().unwrap(), "deps");
    let id = snapshot(&sandbox);
    sandbox.remove("deps");
    sandbox.write(".git/info/exclude", "/deps/\n");
    sandbox.write(".worktreeinclude", "/deps/\n");
    sandbox.write("deps/file", "x\n");
    opened(&sandbox, &id);
    assert!(!elsewhere.join("file").exists());
}

#[test]
fn cargo_finds_everything_fresh_and_builds_what_changed() {
    let reachable = Command::new(env!("CARGO")).arg("-V").output();
    if reachable.is_err() {
        return skipped(root_or("cargo"), "this user cannot start cargo");
    }
    let sandbox = Sandbox::new();
    sandbox.write(
        "Cargo.toml",
        "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    sandbox.write("src/main.rs", "fn main() { println!(\"one\"); }\n");
    sandbox.write(".gitignore", "/target/\n");
    sandbox.write(".worktreeinclude", "/target/\n");
    let cargo = |dir: &Path| {
        let output = Command::new(env!("CARGO"))
            .args(["build", "--offline", "-v"])
            .current_dir(dir)
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_BUILD_TARGET_DIR")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    assert!(cargo(&sandbox.path("")).contains("Compiling tiny"));
    let id = snapshot(&sandbox);
    let dir = opened(&sandbox, &id);
    let said = cargo(&dir);
    assert!(said.contains("Fresh tiny"), "{said}");
    std::fs::write(
        dir.join("src/main.rs"),
        "fn main() { println!(\"two\"); }\n",
    )
    .unwrap();
    let said = cargo(&dir);
    assert!(said.contains("Compiling tiny"), "{said}");
    let run = |dir: &Path| {
        let ran = Command::new(dir.join("target/debug/tiny")).output();
        String::from_utf8_lossy(&ran.unwrap().stdout).into_owned()
    };
    assert_eq!(
        (run(&dir), run(&sandbox.path(""))),
        ("two\n".into(), "one\n".into())
    );
}

#[test]
fn an_open_directory_is_listed_and_is_not_collected() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    assert_eq!(
        sandbox.json(["scratch", "list"])["scratches"],
        serde_json::json!([])
    );
    let dir = opened(&sandbox, &id);
    let listed = sandbox.json(["scratch", "list"])["scratches"][0].clone();
    assert_eq!(listed["dir"].as_str(), dir.to_str());
    assert_eq!(listed["purpose"], "open");
    assert_eq!(listed["state"], "open");
    assert_eq!(listed["snapshot_id"].as_str(), Some(id.as_str()));
    let said = sandbox.ok(["scratch", "list"]);
    assert!(said.contains("opened\n  open of "), "{said}");
    let done = sandbox.json(["scratch", "gc"]);
    assert_eq!(done["removed"], serde_json::json!([]));
    assert!(dir.exists());
    assert_eq!(
        sandbox.ok(["scratch", "gc"]),
        "no scratch was left behind\n"
    );
    // Removed by hand, it is told how git forgets it, in one line.
    std::fs::remove_dir_all(&dir).unwrap();
    let ran = sandbox.tw(["scratch", "list"]);
    assert!(ran.out().contains("\n  gone of "), "{}", ran.out());
    assert_eq!(
        ran.err(),
        "hint: 'git worktree prune' forgets those whose directories are gone\n"
    );
    let again = sandbox.tw(["open", &id, dir.to_str().unwrap()]);
    assert_eq!(again.code, 1, "{}", again.err());
    assert!(!again.err().contains("\\n"), "{}", again.err());
    sandbox.git(["worktree", "prune"]);
    sandbox.ok(["open", &id, dir.to_str().unwrap()]);
}

/// A death leaves it when it was made again for a scratch that had not been begun yet.
#[test]
fn an_empty_directory_of_scratches_goes_and_one_with_something_in_it_stays() {
    let sandbox = Sandbox::new();
    let beside = sandbox.root().join("repo.tw");
    std::fs::create_dir(&beside).unwrap();
    sandbox.ok(["scratch", "gc"]);
    assert!(!beside.exists());
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("mine"), "").unwrap();
    sandbox.ok(["scratch", "gc"]);
    assert!(beside.join("mine").exists());
}

#[test]
fn the_directory_of_scratches_can_be_set() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.git(["config", "timewarp.scratchDir", "../elsewhere"]);
    let dir = sandbox.json(["open", &id])["dir"].clone();
    let dir = PathBuf::from(dir.as_str().unwrap());
    assert_eq!(
        dir.parent(),
        Some(sandbox.root().join("elsewhere").as_path())
    );
    sandbox.ok(["close", dir.to_str().unwrap()]);
}

/// Mail programs, editors and people have directories of that name.
#[test]
fn a_trash_of_somebody_else_where_scratches_are_is_not_emptied() {
    let sandbox = Sandbox::new();
    snapshot(&sandbox);
    sandbox.git(["config", "timewarp.scratchDir", "../vault"]);
    sandbox.write("../vault/.trash/note", "may be wanted back\n");
    sandbox.ok(["try", "-n", "1", "--", "true"]);
    sandbox.json(["scratch", "gc"]);
    assert_eq!(sandbox.text("../vault/.trash/note"), "may be wanted back\n");
    let vault = std::fs::read_dir(sandbox.root().join("vault")).unwrap();
    assert_eq!(vault.count(), 1);
}

#[test]
fn what_is_left_empty_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.psd filter=lfs -text\n");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
    sandbox.write("art.psd", pointer);
    sandbox.git(["init", "-q", "sub"]);
    let commit = ["-C", "sub", "commit", "-q", "--allow-empty", "-m", "x"];
    sandbox.git(commit);
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        "./sub",
        "sub",
    ];
    sandbox.git(add);
    let id = snapshot(&sandbox);
    let answer = sandbox.json(["open", &id, "../opened"]);
    let notices = answer["notices"].to_string();
    assert!(
        notices.contains("submodules are left empty: 'sub'"),
        "{notices}"
    );
    assert!(notices.contains("not fetched: 'art.psd'"), "{notices}");
}

#[test]
fn a_path_that_is_no_text_is_as_good_as_any() {
    let sandbox = Sandbox::new();
    snapshot(&sandbox);
    let repo = sandbox.root().join(OsStr::from_bytes(b"n\xff"));
    std::fs::rename(sandbox.repo(), &repo).unwrap();
    let tw = |args: &[&str]| {
        let ran = sandbox.tw_in(&repo, args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out(), ran.err());
        ran.out()
    };
    tw(&["open", "latest"]);
    assert!(tw(&["scratch", "list"]).contains("open of "));
    assert!(!tw(&["doctor"]).contains("removed by hand"));
    tw(&["try", "-n", "1", "--", "true"]);
}

#[test]
fn a_copy_of_a_closed_working_tree_is_closed_as_well() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    let bits = |path: &Path| path.symlink_metadata().unwrap().mode() & 0o777;
    let beside = sandbox.root().join("repo.tw");
    sandbox.chmod(".", 0o700);
    let first = sandbox.json(["open", &id])["dir"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(bits(&beside), 0o700);
    assert_eq!(bits(Path::new(&first)), 0o700);
    // One that others may enter is there already.
    sandbox.chmod("../repo.tw", 0o755);
    let second = sandbox.root().join("second");
    sandbox.json(["open", &id, "../second"]);
    assert_eq!(bits(&second), 0o700);
    sandbox.chmod(".", 0o755);
    let third = sandbox.root().join("third");
    sandbox.json(["open", &id, "../third"]);
    assert_eq!(bits(&third), 0o755 & bits(&sandbox.repo()));
}

#[test]
fn nothing_is_laid_out_in_a_directory_of_somebody_else() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    if !crate::provided::is_root() {
        skipped("root", "an ordinary user gives nothing away");
        return;
    }
    let beside = sandbox.root().join("repo.tw");
    std::fs::create_dir(&beside).unwrap();
    std::os::unix::fs::chown(&beside, Some(65534), None).unwrap();
    let (error, _) = sandbox.json_error(["open", &id]);
    assert_eq!(error["code"], "UNSAFE_WORKSPACE", "{error}");
    sandbox.json(["open", &id, "../elsewhere"]);
}

/// The error of a command that has to have ended with `WOULD_OVERWRITE`.
#[track_caller]
fn would_overwrite(ran: &Ran) -> Value {
    let error = serde_json::from_slice::<Value>(&ran.stdout).unwrap()["error"].clone();
    assert_eq!(
        (error["code"].as_str(), ran.code),
        (Some("WOULD_OVERWRITE"), 5),
        "{error}"
    );
    error
}

/// As a container makes it that has the directory mounted.
#[test]
fn a_directory_with_one_of_another_user_in_it_is_refused_whole() {
    use crate::access::{
        USER, give_all, json_as, may_act_for_others, snapshot_as, somebodys, tw_as,
    };
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = snapshot_as(&sandbox, USER);
    let id = id.as_str();
    let dir = json_as(&sandbox, USER, &["open", id])["dir"].clone();
    let dir = Path::new(dir.as_str().unwrap());
    let theirs = dir.join("out");
    std::fs::create_dir(&theirs).unwrap();
    // What is empty goes.
    let args = ["--json", "close", dir.to_str().unwrap()];
    std::fs::write(theirs.join("made"), "made by root\n").unwrap();
    let error = would_overwrite(&tw_as(&sandbox, USER, &args));
    assert_eq!(error["paths"], serde_json::json!(["out"]), "{error}");
    assert!(
        error["hints"].to_string().contains("sudo chown -R"),
        "{error}"
    );
    assert!(dir.join("a.txt").exists());
    assert_eq!(
        sandbox.git(["for-each-ref", "refs/timewarp/experiments"]),
        ""
    );
    // Where everybody may make names, and only their owners take them away.
    std::fs::set_permissions(
        &theirs,
        std::os::unix::fs::PermissionsExt::from_mode(0o1777),
    )
    .unwrap();
    let ran = tw_as(&sandbox, USER, &args);
    assert_eq!(ran.code, 5, "{}", ran.out());
    assert!(dir.join("a.txt").exists());
    give_all(&theirs, USER, USER);
    json_as(&sandbox, USER, &args[1..]);
    assert!(!dir.exists());
}

/// It was there before, and only its owner takes it away again.
#[test]
fn an_empty_directory_in_another_user_s_stays_when_it_is_closed() {
    use crate::access::{USER, json_as, may_act_for_others, snapshot_as, somebodys};
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = snapshot_as(&sandbox, USER);
    let theirs = sandbox.root().join("adm");
    let dir = theirs.join("x");
    std::fs::create_dir_all(&dir).unwrap();
    std::os::unix::fs::chown(&dir, Some(USER), Some(USER)).unwrap();
    let there = dir.to_str().unwrap();
    json_as(&sandbox, USER, &["open", &id, there]);
    let closed = json_as(&sandbox, USER, &["close", there]);
    let told = format!("'{there}' is empty and stays");
    assert!(closed["notices"].to_string().contains(&told), "{closed}");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
    json_as(&sandbox, USER, &["open", &id, there]);
}

#[test]
fn an_ignored_directory_that_is_closed_is_refused_with_a_way_to_open_it() {
    use crate::access::{USER, json_as, may_act_for_others, snapshot_as, somebodys, tw_as};
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    sandbox.write(".gitignore", "/ign/\n");
    let id = snapshot_as(&sandbox, USER);
    let dir = json_as(&sandbox, USER, &["open", &id])["dir"].clone();
    let dir = Path::new(dir.as_str().unwrap());
    let closed = dir.join("ign");
    std::fs::create_dir(&closed).unwrap();
    std::fs::write(closed.join("f"), "x\n").unwrap();
    let args = ["--json", "close", dir.to_str().unwrap()];
    for (owner, bits, hint) in [
        (0, 0o700, "sudo chown -R"),
        (USER, 0o000, "chmod u+rwX"),
        (USER, 0o600, "chmod u+rwX"),
    ] {
        std::os::unix::fs::chown(&closed, Some(owner), Some(owner)).unwrap();
        let perm = std::os::unix::fs::PermissionsExt::from_mode(bits);
        std::fs::set_permissions(&closed, perm).unwrap();
        let error = would_overwrite(&tw_as(&sandbox, USER, &args));
        assert_eq!(error["paths"], serde_json::json!(["ign"]), "{error}");
        assert!(error["hints"].to_string().contains(hint), "{error}");
        assert!(dir.join("a.txt").exists());
    }
    let perm = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&closed, perm).unwrap();
    json_as(&sandbox, USER, &args[1..]);
    assert!(!dir.exists());
}

/// Other tools put a symlink to the git directory in the place of the file.
#[test]
fn a_directory_is_closed_although_its_git_file_is_a_symlink_by_now() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    let dir = opened(&sandbox, &id);
    let git_dir = sandbox.git_in(&dir, ["rev-parse", "--absolute-git-dir"]);
    std::fs::remove_file(dir.join(".git")).unwrap();
    std::os::unix::fs::symlink(git_dir.trim(), dir.join(".git")).unwrap();
    std::fs::write(dir.join("made.txt"), "made there\n").unwrap();
    let closed = sandbox.json(["close", "../opened"]);
    let experiment = closed["experiment_id"].as_str().unwrap();
    let made = format!("refs/timewarp/experiments/{experiment}:made.txt");
    assert_eq!(sandbox.git(["cat-file", "blob", &made]), "made there\n");
    assert!(!dir.exists());
    assert!(!Path::new(git_dir.trim()).exists());
    // One that leads elsewhere is none of ours.
    let dir = opened(&sandbox, &id);
    std::fs::remove_file(dir.join(".git")).unwrap();
    std::os::unix::fs::symlink(sandbox.path(".git"), dir.join(".git")).unwrap();
    let (error, code) = sandbox.json_error(["close", "../opened"]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
    assert!(dir.join("a.txt").exists());
}

#[test]
fn scratches_of_an_unborn_snapshot_are_on_branches_of_their_own() {
    let sandbox = Sandbox::unborn();
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    let id = snapshot(&sandbox);
    for dir in ["../one", "../two"] {
        sandbox.ok(["open", &id, dir]);
    }
    sandbox.git(["-C", "../one", "commit", "-q", "-m", "one"]);
    sandbox.ok(["open", &id, "../three"]);
    for (dir, last) in [("../one", ""), ("../two", "-2"), ("../three", "-3")] {
        let (_, tail) = id.rsplit_once('_').unwrap();
        let branch = sandbox.git(["-C", dir, "symbolic-ref", "HEAD"]);
        let expected = format!("refs/heads/timewarp/open-{tail}{last}\n");
        assert_eq!(branch, expected);
    }
    for dir in ["../two", "../three"] {
        let status = sandbox.git(["-C", dir, "status", "--porcelain"]);
        assert_eq!(status, "A  a.txt\n");
    }
}

#[test]
fn where_nothing_can_be_made_beside_the_working_tree_the_setting_is_named() {
    if is_root() {
        skipped("an ordinary user", "root may write everywhere");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.snap();
    let above = sandbox.path("").parent().unwrap().to_owned();
    let bits = |bits| {
        std::fs::set_permissions(&above, std::fs::Permissions::from_mode(bits)).unwrap();
    };
    bits(0o555);
    let (error, _) = sandbox.json_error(["open", "latest"]);
    bits(0o755);
    let hints = error["hints"].to_string();
    assert!(hints.contains("'scratch_dir'"), "{error}");
}

/// A repository, and a directory without git, each with a snapshot of a few files.
fn of_both_kinds() -> [(Sandbox, String); 2] {
    [Sandbox::new(), Sandbox::without_git()].map(|sandbox| {
        sandbox.write("a.txt", "one\n");
        sandbox.write("sub/b.txt", "two\n");
        let id = taken(&sandbox);
        (sandbox, id)
    })
}

fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn of_two_that_open_one_directory_one_is_refused_and_takes_nothing_away() {
    for (sandbox, id) in of_both_kinds() {
        let dir = sandbox.root().join("opened");
        // It has seen that nothing is there.
        let mut late = stopped_at(&sandbox, &["open", &id, "../opened"], "open-found");
        sandbox.ok(["open", &id, "../opened"]);
        go_on(late.0.id());
        assert_eq!(late.0.wait().unwrap().code(), Some(5));
        assert_eq!(names_in(&dir), [".git", "a.txt", "sub"]);
        assert_eq!(
            std::fs::read_to_string(dir.join("sub/b.txt")).unwrap(),
            "two\n"
        );
        sandbox.ok(["close", "../opened"]);
        assert!(!dir.exists());
        // One is in the middle of it.
        let mut late = stopped_at(&sandbox, &["open", &id, "../opened"], "open-found");
        let mut first = stopped_at(&sandbox, &["open", &id, "../opened"], "apply-prepared");
        go_on(late.0.id());
        assert_eq!(late.0.wait().unwrap().code(), Some(5));
        go_on(first.0.id());
        assert!(first.0.wait().unwrap().success());
        sandbox.ok(["close", "../opened"]);
    }
}

#[test]
fn a_directory_that_cannot_be_laid_out_keeps_what_somebody_else_put_there() {
    for (sandbox, id) in of_both_kinds() {
        let dir = sandbox.root().join("opened");
        let mut failing = stopped_at(&sandbox, &["open", &id, "../opened"], "apply-dirs");
        // The very bytes that come there, others, and what comes nowhere.
        std::fs::write(dir.join("a.txt"), "one\n").unwrap();
        std::fs::write(dir.join("sub/b.txt"), "mine\n").unwrap();
        std::fs::create_dir(dir.join("mine")).unwrap();
        go_on(failing.0.id());
        assert_eq!(failing.0.wait().unwrap().code(), Some(5));
        assert_eq!(names_in(&dir), [".git", "a.txt", "mine", "sub"]);
        assert_eq!(names_in(&dir.join("sub")), ["b.txt"]);
        let text = |path| std::fs::read_to_string(dir.join(path)).unwrap();
        assert_eq!(
            (text("a.txt"), text("sub/b.txt")),
            ("one\n".into(), "mine\n".into())
        );
        sandbox.ok(["close", "../opened"]);
    }
}

#[test]
fn a_directory_that_cannot_be_laid_out_goes_with_all_that_was_made() {
    for (sandbox, id) in of_both_kinds() {
        let dir = sandbox.root().join("opened");
        let mut failing = stopped_at(&sandbox, &["open", &id, "../opened"], "apply-exchanged");
        // What comes later cannot be written.
        std::fs::remove_dir_all(dir.join("sub")).unwrap();
        go_on(failing.0.id());
        assert!(!failing.0.wait().unwrap().success());
        assert!(!dir.exists(), "{:?}", names_in(&dir));
        assert!(!sandbox.git_dir().join("worktrees").exists());
        sandbox.ok(["open", &id, "../opened"]);
        sandbox.ok(["close", "../opened"]);
    }
}

#[test]
fn the_last_other_worktree_may_go_while_one_is_made_without_git() {
    let [_, (sandbox, id)] = of_both_kinds();
    let open = ["open", &id, "../opened"];
    assert!(with_pause(&sandbox, &open, "worktree-named", &|sandbox| {
        std::fs::remove_dir(sandbox.git_dir().join("worktrees")).unwrap();
    }));
    sandbox.ok(["close", "../opened"]);
}

#[test]
fn what_another_one_deletes_in_the_trash_is_gone_as_it_was_to_be() {
    for (sandbox, _) in of_both_kinds() {
        let run = ["try", "-n", "1", "--verify", "true", "--", "true"];
        assert!(with_pause(&sandbox, &run, "trash-thrown", &|sandbox| {
            sandbox.ok(["scratch", "gc"]);
            let trash = sandbox.root().join("repo.tw/.tw-trash");
            assert!(!trash.exists(), "{:?}", names_in(&trash));
        }));
        assert_eq!(
            sandbox.json(["scratch", "list"])["scratches"],
            Value::Array(vec![])
        );
        let tries = sandbox.json(["try", "show", "latest"]);
        assert!(!tries.to_string().contains("stays"), "{tries}");
    }
}
