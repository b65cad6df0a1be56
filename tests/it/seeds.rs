//! When an object id may stand for a file's bytes: seeds from git's index, objects that are not there, coarse times.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::sandbox::Sandbox;
use crate::trip::snapshot;

/// Waits for the beginning of a second of the real clock, which stamps are taken from.
fn wait_for_a_new_second() {
    let nanos = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        now.subsec_millis()
    };
    while nanos() > 150 {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An index that is written from now on vouches for the files that are there, also where git compares whole seconds.
fn settle() {
    std::thread::sleep(Duration::from_millis(1100));
}

/// Bytes of a path as the newest snapshot has them.
fn stored(sandbox: &Sandbox, path: &str) -> String {
    let shown = sandbox.json(["show", "latest"]);
    let commit = shown["snapshot"]["commit"].as_str().unwrap().to_owned();
    sandbox.git(["cat-file", "blob", &format!("{commit}:{path}")])
}

/// With times in whole seconds, edits of the same size right after a snapshot, of a known file and of a directory, are seen.
#[test]
fn an_edit_within_the_second_of_a_snapshot_is_seen_where_times_are_coarse() {
    let sandbox = Sandbox::new();
    let snapshot = || {
        let mut command = sandbox.tw_command();
        command.env("TW_TEST_COARSE_TIMES", "1").args(["snapshot"]);
        command.assert().success();
    };
    sandbox.write("dir/b.txt", "old\n");
    std::thread::sleep(Duration::from_millis(2100));
    snapshot();
    let second = |path: &str| sandbox.path(path).metadata().unwrap().mtime();
    let mut tried = 0;
    for round in 0..60 {
        wait_for_a_new_second();
        sandbox.write("a.txt", format!("o{round:02}e\n"));
        sandbox.write(format!("dir/x{round}"), "1\n");
        let before = [second("a.txt"), second("dir")];
        snapshot();
        sandbox.write("a.txt", format!("t{round:02}o\n"));
        std::fs::rename(
            sandbox.path(format!("dir/x{round}")),
            sandbox.path(format!("dir/y{round}")),
        )
        .unwrap();
        // Later than that a change would be seen by its time.
        tried += u32::from([second("a.txt"), second("dir")] == before);
        snapshot();
        assert_eq!(stored(&sandbox, "a.txt"), format!("t{round:02}o\n"));
        assert_eq!(stored(&sandbox, &format!("dir/y{round}")), "1\n");
        if tried == 3 {
            return;
        }
    }
    crate::sandbox::skipped("a snapshot within a second", "none was that quick");
}

/// A file system in a file, mounted; unmounted when dropped.
pub struct Disk(PathBuf);

impl Disk {
    /// `None`, with the reason printed, where it cannot be had.
    pub fn mount(sandbox: &Sandbox, make: &str) -> Option<Self> {
        let image = sandbox.root().join("image");
        let at = sandbox.repo();
        std::fs::File::create(&image)
            .unwrap()
            .set_len(32 << 20)
            .unwrap();
        std::fs::create_dir_all(&at).unwrap();
        let script = format!(
            "{make} '{}' >/dev/null 2>&1 && mount -o loop '{}' '{}'",
            image.display(),
            image.display(),
            at.display()
        );
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        if output.status.success() {
            return Some(Self(at));
        }
        let program = make.split(' ').next().unwrap_or(make);
        let need = crate::provided::root_or(program);
        crate::sandbox::skipped(need, &format!("no '{make}' can be mounted here"));
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn sees_edits_within_a_second(sandbox: &Sandbox) {
    sandbox.git(["init", "-q", "-b", "main"]);
    sandbox.write("a.txt", "one\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "first"]);
    sandbox.ok(["snapshot"]);
    for round in 0..4 {
        wait_for_a_new_second();
        for text in ["o", "t"] {
            sandbox.write("a.txt", format!("{text}{round}x\n"));
            sandbox.ok(["snapshot"]);
            assert_eq!(stored(sandbox, "a.txt"), format!("{text}{round}x\n"));
        }
        sandbox.git(["add", "-A"]);
        sandbox.write("a.txt", format!("n{round}x\n"));
        std::fs::remove_file(sandbox.path(".git/timewarp/cache")).unwrap();
        sandbox.ok(["snapshot"]);
        assert_eq!(stored(sandbox, "a.txt"), format!("n{round}x\n"));
    }
}

/// ext4 with inodes of 128 bytes keeps whole seconds, FAT every second one.
#[test]
fn an_edit_within_the_second_of_a_snapshot_is_seen_on_disks_that_count_seconds() {
    for make in ["mkfs.ext4 -q -F -I 128", "mkfs.vfat"] {
        let sandbox = Sandbox::bare_room();
        if let Some(_disk) = Disk::mount(&sandbox, make) {
            sees_edits_within_a_second(&sandbox);
        }
    }
}

/// A repository whose files were checked out through a filter that keeps sizes, and which is now on a branch without it: git
/// holds all for clean, and no file has the bytes of its blob. With so many more files that have theirs.
fn formerly_filtered(more: usize) -> Sandbox {
    let sandbox = Sandbox::unborn();
    sandbox.write("b.txt", "very old\n");
    sandbox.ok(["snapshot", "--label", "early"]);
    for side in ["clean", "smudge"] {
        sandbox.git(["config", &format!("filter.case.{side}"), "tr a-zA-Z A-Za-z"]);
    }
    sandbox.write(".gitattributes", "*.txt filter=case\n");
    sandbox.write("dir/a.txt", "small\n");
    sandbox.write("b.txt", "small too\n");
    for at in 0..more {
        sandbox.write(format!("more/{at}"), format!("{at}\n"));
    }
    settle();
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "filtered"]);
    sandbox.git(["rm", "-q", ".gitattributes"]);
    sandbox.git(["commit", "-q", "-m", "plain"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(["show", "HEAD:b.txt"]), "SMALL TOO\n");
    sandbox
}

#[test]
fn a_file_that_was_once_converted_is_captured_with_its_own_bytes() {
    let sandbox = Sandbox::unborn();
    sandbox.write(".gitattributes", "*.txt eol=crlf\n");
    sandbox.write("a.txt", "one\ntwo\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "crlf"]);
    sandbox.remove("a.txt");
    sandbox.git(["checkout", "-q", "a.txt"]);
    assert_eq!(sandbox.text("a.txt"), "one\r\ntwo\r\n");
    settle();
    sandbox.git(["update-index", "--force-write-index"]);
    sandbox.git(["switch", "-q", "-c", "plain"]);
    sandbox.git(["rm", "-q", ".gitattributes"]);
    sandbox.git(["commit", "-q", "-m", "plain"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    sandbox.ok(["snapshot"]);
    assert_eq!(stored(&sandbox, "a.txt"), "one\r\ntwo\r\n");
    let id = sandbox.json(["show", "latest"])["snapshot"]["snapshot_id"].clone();
    let id = id.as_str().unwrap();
    sandbox.assert_round_trip(id, |sandbox| sandbox.write("b.txt", "other\n"));
    sandbox.json(["travel", id]);
    sandbox.write("a.txt", "other\n");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(sandbox.text("a.txt"), "one\r\ntwo\r\n");
}

#[test]
fn a_seed_of_the_right_size_is_proven_by_content() {
    let sandbox = formerly_filtered(0);
    let shown = sandbox.json(["snapshot"]);
    assert_eq!(shown["snapshot"]["seeds_unproven"], serde_json::Value::Null);
    assert_eq!(stored(&sandbox, "b.txt"), "small too\n");
    assert_eq!(stored(&sandbox, "dir/a.txt"), "small\n");
}

#[test]
fn a_swap_proves_the_seeds_of_what_it_touches() {
    let sandbox = formerly_filtered(2100);
    let taken = sandbox.json(["snapshot"]);
    assert_eq!(taken["snapshot"]["seeds_unproven"], 2102);
    // The early one has `b.txt` otherwise, and no `dir/a.txt`.
    sandbox.json(["restore", "early", "b.txt", "dir"]);
    assert_eq!(sandbox.text("b.txt"), "very old\n");
    assert!(!sandbox.exists("dir/a.txt"));
    sandbox.json(["undo"]);
    assert_eq!(sandbox.text("b.txt"), "small too\n");
    assert_eq!(sandbox.text("dir/a.txt"), "small\n");
    // A swap that leaves the index alone cannot make git hold for clean what it would not.
    sandbox.git(["reset", "-q"]);
    let before = sandbox.state();
    let undone = sandbox.json(["travel", "early"]);
    let backup = undone["backup_id"].as_str().unwrap();
    let commit = sandbox.git(["rev-parse", &format!("refs/timewarp/backups/{backup}")]);
    for (path, bytes) in [("b.txt", "small too\n"), ("dir/a.txt", "small\n")] {
        let held = sandbox.git(["cat-file", "blob", &format!("{}:{path}", commit.trim())]);
        assert_eq!(held, bytes);
    }
    assert_eq!(sandbox.json(["return"])["verified"], true);
    before.assert_same(&sandbox.state());
}

#[test]
fn the_present_comes_back_also_where_a_travel_left_a_wrong_seed_alone() {
    let sandbox = formerly_filtered(2100);
    let taken = sandbox.json(["snapshot", "--label", "seeded"]);
    assert_eq!(taken["snapshot"]["seeds_unproven"], 2102);
    sandbox.write("more/7", "changed\n");
    // The same wrong ids stand on both sides: there is nothing to do for these paths.
    let travelled = sandbox.json(["travel", "seeded"]);
    assert_eq!(
        travelled["changes"]["written"],
        serde_json::json!(["b.txt", "dir/a.txt", "more/7"])
    );
    sandbox.write("b.txt", "made in the past\n");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    for (path, bytes) in [
        ("b.txt", "small too\n"),
        ("dir/a.txt", "small\n"),
        ("more/7", "changed\n"),
    ] {
        assert_eq!(sandbox.text(path), bytes);
    }
}

#[test]
fn work_in_the_background_proves_seeds_and_says_which_were_wrong() {
    let sandbox = formerly_filtered(2100);
    let first = sandbox.json(["snapshot"]);
    assert_eq!(first["snapshot"]["seeds_unproven"], 2102);
    sandbox.ok(["__background"]);
    let id = first["snapshot"]["snapshot_id"].as_str().unwrap();
    let shown = sandbox.json(["show", id]);
    assert_eq!(shown["snapshot"]["seeds_unproven"], serde_json::Value::Null);
    let wrong = serde_json::json!(["b.txt", "dir/a.txt"]);
    assert_eq!(shown["snapshot"]["seeds_wrong"], wrong);
    let second = sandbox.json(["snapshot"]);
    assert_eq!(
        second["snapshot"]["seeds_unproven"],
        serde_json::Value::Null
    );
    assert_eq!(stored(&sandbox, "b.txt"), "small too\n");
    assert_eq!(stored(&sandbox, "more/7"), "7\n");
}

#[test]
fn a_trip_to_a_snapshot_with_wrong_seeds_says_which_files_may_differ() {
    let sandbox = formerly_filtered(2100);
    sandbox.ok(["snapshot", "--label", "seeded"]);
    sandbox.ok(["__background"]);
    let said = |answer: &serde_json::Value| {
        let notices = answer["notices"].as_array().unwrap();
        let told = |it: &&serde_json::Value| it.as_str().unwrap().contains("may differ");
        let told = notices.iter().find(told);
        told.map(|it| it.as_str().unwrap().to_owned())
    };
    let whole = "'b.txt' and 1 other path have the bytes of git's index";
    for args in [
        &["travel", "seeded", "--dry-run"][..],
        &["restore", "seeded", "--dry-run"],
        &["travel", "seeded"],
    ] {
        let told = said(&sandbox.json(args)).unwrap_or_default();
        assert!(told.starts_with(whole), "{args:?}: {told}");
    }
    sandbox.ok(["return"]);
    let one = said(&sandbox.json(["restore", "seeded", "dir"])).unwrap_or_default();
    assert!(one.starts_with("'dir/a.txt' has"), "{one}");
    sandbox.ok(["undo"]);
    assert_eq!(said(&sandbox.json(["restore", "seeded", "more"])), None);
    let opened = sandbox.root().join("opened");
    let told =
        said(&sandbox.json(["open", "seeded", opened.to_str().unwrap()])).unwrap_or_default();
    assert!(told.starts_with(whole), "{told}");
    let text = sandbox.tw(["travel", "seeded"]);
    assert!(text.err().contains(whole), "{}", text.err());
}

/// The entries of the index with ids and stages.
fn entries(sandbox: &Sandbox) -> String {
    sandbox.git(["ls-files", "-s", "-t", "-v"])
}

/// The loose file of an object.
fn loose(sandbox: &Sandbox, oid: &str) -> PathBuf {
    sandbox.path(format!(".git/objects/{}/{}", &oid[..2], &oid[2..]))
}

/// Takes a loose object away; its id.
fn lose(sandbox: &Sandbox, name: &str) -> String {
    let oid = sandbox.git(["rev-parse", name]).trim().to_owned();
    std::fs::remove_file(loose(sandbox, &oid)).unwrap();
    oid
}

/// No ref of ours leads to an object that is not there: git packs and checks all of it once the index is out of the way.
fn assert_ours_is_whole(sandbox: &Sandbox) {
    let ours = sandbox.git([
        "for-each-ref",
        "--format=%(refname)",
        "refs/timewarp",
        "refs/notes",
    ]);
    let mut list = vec!["rev-list", "--objects", "--quiet"];
    list.extend(ours.lines());
    sandbox.git(list);
    assert_gc_goes_well(sandbox);
}

fn assert_gc_goes_well(sandbox: &Sandbox) {
    let index = sandbox.path(".git/index");
    let aside = sandbox.path(".git/index.aside");
    std::fs::rename(&index, &aside).unwrap();
    sandbox.git(["fsck", "--strict", "--no-dangling"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    std::fs::rename(&aside, &index).unwrap();
}

fn uncaptured(document: &serde_json::Value) -> Vec<(String, String)> {
    let list = document["snapshot"]["uncaptured"].as_array().unwrap();
    let text = |entry: &serde_json::Value, key: &str| entry[key].as_str().unwrap().to_owned();
    list.iter()
        .map(|entry| (text(entry, "path"), text(entry, "reason")))
        .collect()
}

#[test]
fn a_file_whose_object_is_gone_is_captured_from_disk() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "staged and lost\n");
    sandbox.write("dir/c.txt", "staged, lost, and edited\n");
    settle();
    sandbox.git(["add", "-A"]);
    lose(&sandbox, ":b.txt");
    lose(&sandbox, ":dir/c.txt");
    sandbox.write("dir/c.txt", "edited since\n");
    let before = entries(&sandbox);
    let taken = sandbox.json(["snapshot"]);
    assert_eq!(stored(&sandbox, "b.txt"), "staged and lost\n");
    assert_eq!(stored(&sandbox, "dir/c.txt"), "edited since\n");
    assert_eq!(uncaptured(&taken), []);
    assert_eq!(entries(&sandbox), before);
    let id = taken["snapshot"]["snapshot_id"].as_str().unwrap();
    sandbox.json(["travel", id]);
    assert_eq!(entries(&sandbox), before);
    sandbox.write("b.txt", "other\n");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(entries(&sandbox), before);
    assert_eq!(sandbox.text("b.txt"), "staged and lost\n");
    assert_eq!(sandbox.text("dir/c.txt"), "edited since\n");
    assert_ours_is_whole(&sandbox);
}

#[test]
fn an_entry_without_file_and_object_is_listed_and_put_back() {
    let sandbox = Sandbox::new();
    let early = sandbox.json(["snapshot"]);
    sandbox.write("dir/lost.txt", "lost\n");
    sandbox.write("dir/kept.txt", "kept\n");
    sandbox.git(["add", "-A"]);
    lose(&sandbox, ":dir/lost.txt");
    sandbox.remove("dir/lost.txt");
    let null = sandbox.kind().id("0");
    let mut with_null = true;
    for (mode, name) in [("100644", "null.txt"), ("160000", "nullmodule")] {
        let mut command = sandbox.command("git");
        let entry = format!("{mode},{null},{name}");
        command.env("GIT_ALLOW_NULL_SHA1", "1").args([
            "update-index",
            "--add",
            "--cacheinfo",
            &entry,
        ]);
        with_null &= command.output().unwrap().status.success();
    }
    let before = entries(&sandbox);
    let taken = sandbox.json(["snapshot"]);
    let mut expected = vec![("dir/lost.txt".to_owned(), "object-missing".to_owned())];
    if with_null {
        for name in ["null.txt", "nullmodule"] {
            expected.push((name.to_owned(), "object-missing".to_owned()));
        }
    }
    assert_eq!(uncaptured(&taken), expected);
    let early = early["snapshot"]["snapshot_id"].as_str().unwrap();
    sandbox.json(["travel", early]);
    assert_ne!(entries(&sandbox), before);
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(entries(&sandbox), before);
    assert_ours_is_whole(&sandbox);
}

#[test]
fn a_damaged_object_counts_as_missing() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "some text that is long enough to be cut\n");
    sandbox.write("c.txt", "some more text, edited later\n");
    settle();
    sandbox.git(["add", "-A"]);
    for name in [":b.txt", ":c.txt"] {
        let oid = sandbox.git(["rev-parse", name]).trim().to_owned();
        let file = loose(&sandbox, &oid);
        let mut bytes = std::fs::read(&file).unwrap();
        let end = bytes.len() - 6;
        bytes[end] ^= 0x55;
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, bytes).unwrap();
    }
    sandbox.write("c.txt", "edited\n");
    let before = entries(&sandbox);
    let taken = sandbox.json(["snapshot"]);
    assert_eq!(
        stored(&sandbox, "b.txt"),
        "some text that is long enough to be cut\n"
    );
    assert_eq!(stored(&sandbox, "c.txt"), "edited\n");
    let id = taken["snapshot"]["snapshot_id"].as_str().unwrap();
    sandbox.json(["travel", id]);
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(entries(&sandbox), before);
    let oid = sandbox.git(["rev-parse", ":c.txt"]).trim().to_owned();
    std::fs::remove_file(loose(&sandbox, &oid)).unwrap();
    assert_ours_is_whole(&sandbox);
}

/// A clone without blobs but for those of `here/`, whose origin is gone.
fn partial() -> Sandbox {
    let sandbox = Sandbox::bare_room();
    let origin = sandbox.root().join("origin");
    std::fs::create_dir(&origin).unwrap();
    let git = |args: &[&str]| sandbox.git_in(&origin, args);
    git(&["init", "-q", "-b", "main"]);
    git(&["config", "uploadpack.allowFilter", "true"]);
    git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    for path in ["here/a.txt", "there/b.txt", "there/deep/c.txt"] {
        let file = origin.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("{path}\n")).unwrap();
    }
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "all"]);
    let url = format!("file://{}", origin.display());
    sandbox.git_in(
        sandbox.root(),
        [
            "clone",
            "-q",
            "--filter=blob:none",
            "--no-checkout",
            &url,
            "repo",
        ],
    );
    sandbox.git(["sparse-checkout", "set", "here"]);
    sandbox.git(["checkout", "-q", "main"]);
    std::fs::rename(&origin, sandbox.root().join("gone")).unwrap();
    sandbox
}

#[test]
fn a_partial_clone_is_captured_without_asking_for_what_is_not_here() {
    let sandbox = partial();
    let before = entries(&sandbox);
    let first = sandbox.json(["snapshot"]);
    let missing = |path: &str| (path.to_owned(), "object-missing".to_owned());
    let expected = [missing("there/b.txt"), missing("there/deep/c.txt")];
    assert_eq!(uncaptured(&first), expected);
    sandbox.write("here/a.txt", "edited\n");
    sandbox.write("new.txt", "new\n");
    let second = sandbox.json(["snapshot"]);
    assert_eq!(uncaptured(&second), expected);
    let id = first["snapshot"]["snapshot_id"].as_str().unwrap();
    sandbox.json(["travel", id]);
    assert_eq!(entries(&sandbox), before);
    assert_eq!(sandbox.text("here/a.txt"), "here/a.txt\n");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(entries(&sandbox), before);
    assert_eq!(sandbox.text("here/a.txt"), "edited\n");
    assert_gc_goes_well(&sandbox);
}

/// A snapshot of an earlier version may name what a partial clone never fetched: said, not fetched.
#[test]
fn what_is_not_here_is_said_and_not_fetched() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "here when it was taken\n");
    let taken = sandbox.json(["snapshot"]);
    let commit = taken["snapshot"]["commit"].as_str().unwrap().to_owned();
    let id = taken["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned();
    sandbox.write("b.txt", "later\n");
    lose(&sandbox, &format!("{commit}:b.txt"));
    let shown = sandbox.json(["diff", &id, "present"]);
    assert_eq!(shown["files"][0]["missing"], true, "{shown}");
    assert!(
        sandbox
            .ok(["diff", "--stat", &id, "present"])
            .contains("not here")
    );
    sandbox.json(["show", &id]);
    sandbox.json(["list"]);
    for args in [
        &["restore", &id, "b.txt"][..],
        &["travel", &id],
        &["open", &id],
    ] {
        let (error, _) = sandbox.json_error(args);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("b.txt"), "{args:?}: {message}");
        assert_eq!(sandbox.text("b.txt"), "later\n");
    }
}

#[test]
fn what_status_showed_as_modified_by_line_ends_stays_so() {
    let sandbox = Sandbox::unborn();
    for name in ["a.txt", "b.txt", "auto.txt"] {
        sandbox.write(name, "one\r\ntwo\r\n");
    }
    sandbox.git(["-c", "core.autocrlf=false", "add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "crlf"]);
    let early = sandbox.json(["snapshot"]);
    sandbox.write(".gitattributes", "* text\nauto.txt text=auto\n");
    sandbox.git(["add", ".gitattributes"]);
    sandbox.git(["commit", "-q", "-m", "text"]);
    settle();
    for name in ["a.txt", "b.txt", "auto.txt"] {
        sandbox.write(name, "one\r\ntwo\r\n");
    }
    let status = || sandbox.git(["status", "--porcelain"]);
    assert_eq!(status(), " M a.txt\n M b.txt\n");
    let taken = sandbox.json(["snapshot"]);
    for target in [&taken, &early] {
        let id = target["snapshot"]["snapshot_id"].as_str().unwrap();
        sandbox.json(["travel", id]);
        sandbox.write("b.txt", "other\n");
        assert_eq!(sandbox.json(["return"])["verified"], true);
        settle();
        assert_eq!(status(), " M a.txt\n M b.txt\n");
        sandbox.git(["update-index", "-q", "--refresh", "auto.txt"]);
    }
}

/// `git replace` of a tree: the index that git makes has the entries of what takes its place, under its id.
#[test]
fn of_a_replaced_tree_the_index_has_what_takes_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write("d/file", "old\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-qm", "one"]);
    let tree = sandbox.git(["rev-parse", "HEAD^{tree}"]);
    let past = snapshot(&sandbox);
    sandbox.write("d/file", "replaced\n");
    sandbox.write("new", "new\n");
    sandbox.git(["add", "-A"]);
    let other = sandbox.git(["write-tree"]);
    sandbox.git(["reset", "-q", "--hard"]);
    sandbox.git(["replace", tree.trim(), other.trim()]);
    sandbox.git(["reset", "-q", "--hard"]);
    assert_eq!(sandbox.text("d/file"), "replaced\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    for packed in [false, true] {
        if packed {
            sandbox.git(["pack-refs", "--all"]);
        }
        let here = sandbox.state();
        sandbox.json(["snapshot"]);
        let name = "refs/timewarp/snapshots";
        let index = [
            "for-each-ref",
            "--sort=-refname",
            "--count=1",
            "--format=%(objectname)^2",
            name,
        ];
        let index = sandbox.git(index);
        let kept = sandbox.git([
            "--no-replace-objects",
            "ls-tree",
            "-r",
            "--name-only",
            index.trim(),
        ]);
        assert!(kept.contains("new\n"), "{kept}");
        sandbox.json(["travel", &past]);
        assert_eq!(sandbox.text("d/file"), "old\n");
        let returned = sandbox.json(["return"]);
        assert!(returned["experiment_id"].is_null(), "{returned}");
        here.assert_same(&sandbox.state());
    }
}

/// `git replace` of a blob: the file that git wrote is not what the entry says.
/// git leaves the index as it filled it, with the id of a tree that is another one by then.
#[test]
fn a_tree_that_was_replaced_when_git_filled_the_index_stands_for_nothing_afterwards() {
    for (linked, kept) in [(false, true), (false, false), (true, false)] {
        let sandbox = Sandbox::new();
        let past = snapshot(&sandbox);
        sandbox.write("d/file", "true\n");
        sandbox.write("a.txt", "two\n");
        sandbox.git(["add", "-A"]);
        sandbox.git(["commit", "-qm", "one"]);
        let tree = sandbox.git(["rev-parse", "HEAD:d"]);
        sandbox.write("d/file", "replaced\n");
        sandbox.write("d/new", "new\n");
        sandbox.git(["add", "-A"]);
        sandbox.git(["write-tree"]);
        let other = sandbox.git(["write-tree", "--prefix=d/"]);
        sandbox.git(["reset", "-q", "--hard"]);
        sandbox.git(["replace", tree.trim(), other.trim()]);
        sandbox.remove("d/file");
        if linked {
            sandbox.git(["worktree", "add", "-q", "../linked", "-b", "linked"]);
        } else {
            sandbox.git(["rm", "-rq", "--cached", "."]);
            sandbox.git(["reset", "-q", "--hard"]);
        }
        let there = if linked {
            sandbox.root().join("linked")
        } else {
            sandbox.repo()
        };
        let git = |args: &[&str]| sandbox.git([&["-C", there.to_str().unwrap()], args].concat());
        settle();
        git(&["status"]);
        git(&["update-index", "--force-write-index"]);
        git(&["replace", "-d", tree.trim()]);
        if !kept {
            let _ = std::fs::remove_file(sandbox.path(".git/timewarp/cache"));
        }
        let state = || {
            let read = |name: &str| std::fs::read_to_string(there.join(name)).unwrap();
            (read("d/file"), read("d/new"), git(&["ls-files", "-s"]))
        };
        let before = state();
        assert_eq!((&*before.0, &*before.1), ("replaced\n", "new\n"));
        for command in [&["travel", &past][..], &["return"]] {
            let ran = sandbox.tw_in(&there, command);
            assert_eq!(ran.code, 0, "{}", ran.err());
        }
        assert_eq!(state(), before, "linked: {linked}, cache: {kept}");
    }
}

#[test]
fn of_a_replaced_blob_the_snapshot_has_the_file_s_bytes() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "one\n");
    // More than what a first snapshot proves at once.
    for n in 0..2100 {
        sandbox.write(format!("many/{n}"), format!("{n}\n"));
    }
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-qm", "one"]);
    let blob = sandbox.git(["rev-parse", "HEAD:file"]);
    sandbox.write("file", "two\n");
    let other = sandbox.git(["hash-object", "-w", "file"]);
    sandbox.git(["replace", blob.trim(), other.trim()]);
    sandbox.remove("file");
    sandbox.git(["checkout", "-q", "--", "file"]);
    assert_eq!(sandbox.text("file"), "two\n");
    settle();
    sandbox.git(["status"]);
    sandbox.json(["snapshot"]);
    let shown = sandbox.json(["show", "latest"]);
    let commit = shown["snapshot"]["commit"].as_str().unwrap();
    let oid = sandbox.git(["rev-parse", &format!("{commit}:file")]);
    assert_eq!(oid, other);
}
