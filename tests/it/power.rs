//! Bytes that arrive late, through a mapping that no stamp tells of, and what a power cut leaves.

use std::cell::RefCell;
use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use memmap2::MmapMut;

use crate::damage::{assert_fsck_clean, document, litter};
use crate::sandbox::Sandbox;
use crate::trip::{commit, identity, snapshot, stored, with_stop};

/// Maps a file for writing. A page that was written to once is written to again without the file's stamp being told.
fn mapped(file: &Path) -> MmapMut {
    let file = OpenOptions::new().read(true).write(true).open(file);
    #[expect(unsafe_code, reason = "nobody cuts the test's own file off")]
    // SAFETY: see the reason.
    unsafe {
        MmapMut::map_mut(&file.unwrap()).unwrap()
    }
}

/// Files that are mapped and known to the cache, and an older snapshot in which they are: another, not there, another mode.
fn with_mapped(names: &[&str]) -> (Sandbox, String, Vec<MmapMut>) {
    let sandbox = Sandbox::new();
    sandbox.write("other", "old");
    sandbox.write("mode", "mapped");
    sandbox.chmod("mode", 0o755);
    commit(&sandbox, "old");
    let old = snapshot(&sandbox);
    sandbox.chmod("mode", 0o644);
    let mut maps = Vec::new();
    for name in names {
        sandbox.write(name, "mapped");
        let mut map = mapped(&sandbox.path(name));
        // The same byte: the store alone makes the page one that is written to without notice.
        map[0] = b'm';
        maps.push(map);
    }
    // Long enough for no stamp to be racy.
    std::thread::sleep(Duration::from_millis(60));
    snapshot(&sandbox);
    (sandbox, old, maps)
}

#[test]
fn what_is_stored_through_a_mapping_is_in_the_backup() {
    let names = ["gone", "mode", "other"];
    let (sandbox, old, mut maps) = with_mapped(&names);
    let before = names.map(|name| identity(&sandbox, name));
    for map in &mut maps {
        map[1] = b'X';
    }
    if before != names.map(|name| identity(&sandbox, name)) {
        crate::sandbox::skipped(
            "late write-back",
            "the system had written the pages back, and stamps tell of the stores",
        );
        return;
    }
    let travelled = sandbox.json(["travel", &old]);
    let backup = travelled["backup_id"].as_str().unwrap();
    for name in names {
        assert_eq!(stored(&sandbox, backup, name), "mXpped", "{name}");
    }
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    for name in names {
        assert_eq!(sandbox.text(name), "mXpped", "{name}");
    }
}

/// Nobody has the file mapped any more when the second snapshot is taken.
#[test]
fn what_is_stored_through_a_mapping_after_a_snapshot_is_in_the_next() {
    // Whether git's index has its id already.
    for is_tracked in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write("data", "mapped");
        let mut map = mapped(&sandbox.path("data"));
        map[0] = b'M';
        // Long enough for no stamp to be racy.
        std::thread::sleep(Duration::from_millis(60));
        if is_tracked {
            sandbox.git(["add", "data"]);
            sandbox.git(["commit", "-qm", "data"]);
            std::thread::sleep(Duration::from_millis(60));
        }
        let first = snapshot(&sandbox);
        map[1] = b'X';
        drop(map);
        std::thread::sleep(Duration::from_millis(60));
        let second = snapshot(&sandbox);
        assert_eq!(stored(&sandbox, &first, "data"), "Mapped");
        assert_eq!(stored(&sandbox, &second, "data"), "MXpped", "{is_tracked}");
        // Open for writing, and changed by nobody.
        let _open = OpenOptions::new().append(true).open(sandbox.path("data"));
        sandbox.json(["travel", &first]);
        sandbox.write("data", "of the past");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        assert_eq!(sandbox.text("data"), "MXpped");
    }
}

/// Somebody may write to it: to a descriptor, or to a map, which moves no time when the swap has looked.
#[test]
fn what_somebody_may_write_to_is_clean_after_a_swap_as_far_as_its_bytes_are() {
    for is_written in [false, true] {
        let sandbox = Sandbox::new();
        let past = snapshot(&sandbox);
        sandbox.write("srv.log", "mapped");
        let map = RefCell::new(mapped(&sandbox.path("srv.log")));
        map.borrow_mut()[0] = b'M';
        // Whoever is quick has a racy entry, which is looked at anyhow.
        std::thread::sleep(Duration::from_millis(60));
        sandbox.git(["add", "-f", "srv.log"]);
        std::thread::sleep(Duration::from_millis(60));
        let dirty = || sandbox.git(["diff-files", "--name-only"]);
        assert_eq!(dirty(), "");
        sandbox.json(["travel", &past]);
        // The index of the return is of a later second than the file.
        std::thread::sleep(Duration::from_millis(1001));
        let said = with_stop(&sandbox, &["return"], "swap-applied", || {
            if is_written {
                map.borrow_mut()[1] = b'X';
            }
        });
        assert_eq!(said["mode"], "present", "{said}");
        assert_eq!(dirty(), if is_written { "srv.log\n" } else { "" });
    }
}

#[test]
fn closing_keeps_what_is_stored_through_a_mapping() {
    let (sandbox, old, _) = with_mapped(&["gone"]);
    let dir = sandbox.root().join("opened");
    let dir_text = dir.to_str().unwrap();
    sandbox.json(["open", &old, dir_text]);
    let mut map = mapped(&dir.join("other"));
    map[0] = b'O';
    let stamp = |at: &Path| {
        use std::os::unix::fs::MetadataExt;
        let meta = at.metadata().unwrap();
        (meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec())
    };
    let before = stamp(&dir.join("other"));
    std::thread::sleep(Duration::from_millis(60));
    // After it was saved.
    let map = RefCell::new(map);
    let said = with_stop(&sandbox, &["close", dir_text], "close-saved", || {
        map.borrow_mut()[1] = b'X';
    });
    if before != stamp(&dir.join("other")) {
        crate::sandbox::skipped(
            "late write-back",
            "the system had written the page back, and the stamp tells of the store",
        );
        return;
    }
    // It is not what was saved: it stays, and the next try saves it.
    assert_eq!(said["error"]["code"], "WOULD_OVERWRITE", "{said}");
    assert_eq!(std::fs::read(dir.join("other")).unwrap(), b"OXd");
    let closed = sandbox.json(["close", dir_text]);
    let experiment = closed["experiment_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, experiment, "other"), "OXd");
}

/// `tw` after the power went: in another boot.
fn next_boot(sandbox: &Sandbox, boot: u32) -> Command {
    let mut command = sandbox.tw_command();
    command.env("TW_TEST_BOOT_ID", boot.to_string().repeat(32));
    command
}

/// Runs a command in another boot; it has to succeed.
fn in_boot(sandbox: &Sandbox, boot: u32, args: &[&str]) -> serde_json::Value {
    let output = next_boot(sandbox, boot).arg("--json").args(args).output();
    let said = document(&output.unwrap().into());
    assert_eq!(said["ok"], true, "{args:?}: {said}");
    said
}

const LINES: &str = "a line of some length that is there several times\n";

/// Paths that differ in the present and in a snapshot: changed, removed, made, longer than a block.
fn some_paths() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("changed", "old\n");
    sandbox.write("long", LINES.repeat(300));
    sandbox.write("removed", "to be removed\n");
    commit(&sandbox, "old");
    let old = snapshot(&sandbox);
    sandbox.write("changed", "new\n");
    sandbox.write("long", format!("{}new\n", LINES.repeat(400)));
    sandbox.remove("removed");
    sandbox.write("made/here", "made\n");
    (sandbox, old)
}

/// What a power cut makes of files whose names reached the disk before their bytes did.
fn cut_power(sandbox: &Sandbox) {
    sandbox.write("changed", "");
    let mut long = sandbox.read("long");
    long.truncate(9000);
    long[4096..8192].fill(0);
    sandbox.write("long", long);
}

#[test]
fn what_a_power_cut_took_of_a_return_is_put_right() {
    let (sandbox, old) = some_paths();
    in_boot(&sandbox, 1, &["travel", &old]);
    let home = sandbox.read("long");
    let returned = in_boot(&sandbox, 1, &["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    let present = sandbox.state();
    assert_ne!(home, sandbox.read("long"));
    cut_power(&sandbox);
    sandbox.remove("made/here");
    std::fs::remove_dir(sandbox.path("made")).unwrap();
    sandbox.write("theirs", "somebody else's\n");
    let status = next_boot(&sandbox, 2).arg("status").output().unwrap();
    let text = String::from_utf8_lossy(&status.stderr).into_owned();
    assert!(
        text.contains("power was lost before a return was on disk"),
        "{text}"
    );
    let hooked = next_boot(&sandbox, 2)
        .args(["hook", "claude", "session-start"])
        .write_stdin(r#"{"session_id":"s1"}"#)
        .output();
    assert!(hooked.unwrap().status.success());
    assert_eq!(sandbox.text("changed"), "", "hooks repair nothing");
    let taken = in_boot(&sandbox, 2, &["snapshot"]);
    let notice = taken["notices"][0].as_str().unwrap();
    assert!(notice.contains("3 paths were restored"), "{taken}");
    assert_eq!(sandbox.text("theirs"), "somebody else's\n");
    sandbox.remove("theirs");
    present.assert_same(&sandbox.state());
    let again = in_boot(&sandbox, 2, &["recover"]);
    assert_eq!(again["action"], "nothing", "{again}");
    assert_eq!(litter(&sandbox), [""; 0]);
}

#[test]
fn recover_puts_right_what_a_power_cut_took_and_saves_what_is_there() {
    let (sandbox, old) = some_paths();
    in_boot(&sandbox, 1, &["restore", &old]);
    cut_power(&sandbox);
    sandbox.write("removed", "another, by somebody else\n");
    let recovered = in_boot(&sandbox, 2, &["recover"]);
    assert_eq!(recovered["action"], "repaired", "{recovered}");
    let rescue = recovered["rescue_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, rescue, "changed"), "");
    assert_eq!(sandbox.text("changed"), "old\n");
    assert_eq!(sandbox.text("long"), LINES.repeat(300));
    assert_eq!(sandbox.text("removed"), "another, by somebody else\n");
    assert_fsck_clean(&sandbox, "after the repair");
}

#[test]
fn a_swap_that_is_on_disk_leaves_nothing_to_look_at() {
    let (sandbox, old) = some_paths();
    let unsettled = sandbox.path(".git/timewarp/unsettled.json");
    in_boot(&sandbox, 1, &["travel", &old]);
    assert!(unsettled.exists());
    let settled = next_boot(&sandbox, 1).arg("__background").output();
    assert!(settled.unwrap().status.success());
    assert!(!unsettled.exists());
    // What was emptied since was emptied by somebody.
    sandbox.write("changed", "");
    in_boot(&sandbox, 2, &["snapshot"]);
    assert_eq!(sandbox.text("changed"), "");
}

#[test]
fn what_was_not_lost_with_the_power_is_not_repaired() {
    let (sandbox, old) = some_paths();
    in_boot(&sandbox, 1, &["travel", &old]);
    sandbox.write("changed", "edited before the power went\n");
    let taken = in_boot(&sandbox, 2, &["snapshot"]);
    assert_eq!(
        taken["notices"].as_array().map(Vec::len),
        Some(0),
        "{taken}"
    );
    assert_eq!(sandbox.text("changed"), "edited before the power went\n");
    assert!(!sandbox.exists(".git/timewarp/unsettled.json"));
    let returned = in_boot(&sandbox, 2, &["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
}

#[test]
fn a_swap_that_a_power_cut_stopped_is_undone_although_files_are_torn() {
    for point in ["apply-switched", "swap-index", "swap-state"] {
        let (sandbox, old) = some_paths();
        let home = sandbox.state();
        let died = next_boot(&sandbox, 1)
            .args(["travel", &old])
            .env("TW_FAIL_POINT", point)
            .output();
        assert!(!died.unwrap().status.success());
        cut_power(&sandbox);
        let status = next_boot(&sandbox, 2).arg("status").output().unwrap();
        assert!(status.status.success());
        in_boot(&sandbox, 2, &["snapshot"]);
        if point == "swap-state" {
            assert_eq!(sandbox.text("changed"), "old\n");
            let returned = in_boot(&sandbox, 2, &["return"]);
            assert_eq!(returned["verified"], true, "{returned}");
        }
        home.assert_same(&sandbox.state());
        assert_eq!(litter(&sandbox), [""; 0], "{point}");
        assert_fsck_clean(&sandbox, point);
    }
}

#[test]
fn objects_that_a_power_cut_left_as_zeros_are_written_again() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "its bytes\n");
    let first = snapshot(&sandbox);
    let blob = sandbox.git([
        "rev-parse",
        &format!("refs/timewarp/snapshots/{first}:file"),
    ]);
    let object = sandbox.path(format!(".git/objects/{}/{}", &blob[..2], blob[2..].trim()));
    sandbox.chmod(&object, 0o644);
    let length = object.metadata().unwrap().len();
    std::fs::write(&object, vec![0; usize::try_from(length).unwrap()]).unwrap();
    sandbox.git([
        "update-ref",
        "-d",
        &format!("refs/timewarp/snapshots/{first}"),
    ]);
    std::fs::remove_file(sandbox.path(".git/timewarp/cache")).unwrap();
    let second = snapshot(&sandbox);
    assert_eq!(stored(&sandbox, &second, "file"), "its bytes\n");
    assert_fsck_clean(&sandbox, "after the next snapshot");
}

/// What a power cut makes of an object whose name reached the disk before its bytes did.
fn zero(sandbox: &Sandbox, oid: &str) {
    let oid = oid.trim();
    let object = sandbox.path(format!(".git/objects/{}/{}", &oid[..2], &oid[2..]));
    sandbox.chmod(&object, 0o644);
    let length = object.metadata().unwrap().len();
    std::fs::write(&object, vec![0; usize::try_from(length).unwrap()]).unwrap();
}

fn said_in_log(sandbox: &Sandbox, event: &str, name: &str) -> bool {
    let log = sandbox.text(".git/timewarp/log.jsonl");
    log.lines()
        .any(|line| line.contains(&format!(r#""event":"{event}""#)) && line.contains(name))
}

#[test]
fn a_snapshot_that_a_power_cut_took_is_cleared_away_and_named() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "old\n");
    commit(&sandbox, "old");
    let kept = in_boot(&sandbox, 1, &["snapshot"])["snapshot"]["snapshot_id"].clone();
    sandbox.write("file", "its bytes\n");
    sandbox.write("torn", LINES.repeat(300));
    let lost = in_boot(&sandbox, 1, &["snapshot"])["snapshot"]["snapshot_id"].clone();
    let (kept, lost) = (kept.as_str().unwrap(), lost.as_str().unwrap());
    let name = format!("refs/timewarp/snapshots/{lost}");
    let blob = sandbox.git(["rev-parse", &format!("{name}:file")]);
    zero(&sandbox, &blob);
    sandbox.write("file", "other bytes\n");
    // An object that nothing names stops git as well.
    let stray = sandbox.git(["hash-object", "-w", ".git/config"]);
    zero(&sandbox, &stray);
    let status = next_boot(&sandbox, 2).arg("status").output().unwrap();
    let text = String::from_utf8_lossy(&status.stderr).into_owned();
    assert!(text.contains(&format!("snapshot {lost}")), "{text}");
    assert!(sandbox.has_ref(&name));
    let hooked = next_boot(&sandbox, 2)
        .args(["hook", "claude", "session-start"])
        .write_stdin(r#"{"session_id":"s1"}"#)
        .output();
    assert!(hooked.unwrap().status.success());
    assert!(sandbox.has_ref(&name), "hooks repair nothing");
    assert!(said_in_log(&sandbox, "hook", lost));
    let taken = in_boot(&sandbox, 2, &["snapshot"]);
    let notice = taken["notices"][0].as_str().unwrap();
    assert!(notice.contains(&format!("snapshot {lost}")), "{taken}");
    assert!(!sandbox.has_ref(&name));
    assert!(said_in_log(&sandbox, "lost", lost));
    // Nothing is deleted, and what is there now is whole.
    assert!(sandbox.exists(format!(".git/timewarp/lost/{}", stray.trim())));
    let now = taken["snapshot"]["snapshot_id"].as_str().unwrap();
    assert_eq!(stored(&sandbox, now, "file"), "other bytes\n");
    assert_eq!(stored(&sandbox, kept, "file"), "old\n");
    assert_fsck_clean(&sandbox, "after the next command");
    sandbox.git(["gc", "-q", "--prune=now"]);
    let again = in_boot(&sandbox, 2, &["snapshot"]);
    assert_eq!(
        again["notices"].as_array().map(Vec::len),
        Some(0),
        "{again}"
    );
}

#[test]
fn a_hook_relies_on_no_snapshot_that_a_power_cut_may_have_taken() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "its bytes\n");
    sandbox.write("other", "other\n");
    let first = in_boot(&sandbox, 1, &["snapshot"]);
    let first = first["snapshot"]["snapshot_id"].as_str().unwrap();
    std::thread::sleep(Duration::from_millis(60));
    in_boot(&sandbox, 1, &["snapshot"]);
    let blob = sandbox.git([
        "rev-parse",
        &format!("refs/timewarp/snapshots/{first}:file"),
    ]);
    zero(&sandbox, &blob);
    sandbox.write("other", "changed\n");
    let hooked = next_boot(&sandbox, 2)
        .args(["hook", "claude", "session-start"])
        .write_stdin(r#"{"session_id":"s1"}"#)
        .output();
    assert!(hooked.unwrap().status.success());
    let refs = sandbox.git([
        "for-each-ref",
        "--format=%(refname)",
        "refs/timewarp/snapshots",
    ]);
    assert_eq!(refs.lines().count(), 3, "{refs}");
    for name in refs.lines() {
        assert_eq!(
            sandbox.git(["show", &format!("{name}:file")]),
            "its bytes\n"
        );
    }
}

/// A session whose newest record is zeros, the notes ref of its records, and the commit before that one.
fn with_torn_record() -> (Sandbox, &'static str, String) {
    let sandbox = Sandbox::new();
    sandbox.write("file", "one\n");
    commit(&sandbox, "one");
    in_boot(&sandbox, 1, &["session", "start", "--session", "s1"]);
    in_boot(&sandbox, 1, &["checkpoint", "--session", "s1"]);
    let face = "refs/notes/timewarp/sessions/s1";
    let whole = sandbox.git(["rev-parse", face]);
    sandbox.write("file", "two\n");
    in_boot(&sandbox, 1, &["checkpoint", "--session", "s1"]);
    let tip = sandbox.git(["rev-parse", face]);
    assert_ne!(whole, tip);
    zero(&sandbox, &tip);
    (sandbox, face, whole)
}

#[test]
fn a_record_that_a_power_cut_took_goes_back_to_what_is_whole() {
    let (sandbox, face, whole) = with_torn_record();
    let recovered = in_boot(&sandbox, 2, &["recover"]);
    let notice = recovered["notices"][0].as_str().unwrap();
    assert!(notice.contains("session 's1'"), "{recovered}");
    assert_eq!(sandbox.git(["rev-parse", face]), whole);
    assert_eq!(
        sandbox.git(["rev-parse", "refs/timewarp/records/sessions/s1"]),
        whole
    );
    assert!(said_in_log(&sandbox, "set-back", face));
    assert_fsck_clean(&sandbox, "after the next command");
}

/// A directory with a `git` that dies after the first line of such a list of all objects, and does the rest as git does.
fn dying_git(sandbox: &Sandbox) -> std::ffi::OsString {
    let script = "#!/bin/sh\nPATH=${PATH#*:}\ncase \" $* \" in *' --batch-all-objects '*) \
                  git \"$@\" | head -n 1; exit 128;; esac\nexec git \"$@\"\n";
    let program = sandbox.home().join("dying/git");
    sandbox.program(&program, script);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(program.parent().unwrap().to_owned());
    std::env::join_paths(dirs.chain(std::env::split_paths(&path))).unwrap()
}

#[test]
fn a_git_that_fails_loses_no_record() {
    let (sandbox, face, whole) = with_torn_record();
    let failed = next_boot(&sandbox, 2)
        .env("PATH", dying_git(&sandbox))
        .args(["--json", "recover"])
        .output();
    let failed = document(&failed.unwrap().into());
    assert_eq!(failed["error"]["code"], "IO", "{failed}");
    assert!(sandbox.has_ref(face), "{failed}");
    in_boot(&sandbox, 2, &["recover"]);
    assert_eq!(sandbox.git(["rev-parse", face]), whole);
}

#[test]
fn what_an_absent_alternate_lends_is_not_lost() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "lent\n");
    let id = in_boot(&sandbox, 1, &["snapshot"]);
    let id = id["snapshot"]["snapshot_id"].as_str().unwrap();
    let blob = sandbox.git(["rev-parse", &format!("refs/timewarp/snapshots/{id}:file")]);
    let blob = blob.trim();
    std::fs::remove_file(sandbox.path(format!(".git/objects/{}/{}", &blob[..2], &blob[2..])))
        .unwrap();
    sandbox.write(".git/objects/info/alternates", "/nowhere/objects\n");
    in_boot(&sandbox, 2, &["snapshot"]);
    sandbox.git([
        "show-ref",
        "--verify",
        &format!("refs/timewarp/snapshots/{id}"),
    ]);
}

/// Where an object lies, which has to be loose.
fn object(sandbox: &Sandbox, oid: &str) -> std::path::PathBuf {
    let oid = oid.trim();
    sandbox.path(format!(".git/objects/{}/{}", &oid[..2], &oid[2..]))
}

#[test]
fn what_cannot_be_read_is_not_lost() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "old\n");
    commit(&sandbox, "old");
    sandbox.write("dir/file", "its bytes\n");
    let first = in_boot(&sandbox, 1, &["snapshot"]);
    let first = first["snapshot"]["snapshot_id"].as_str().unwrap();
    in_boot(&sandbox, 1, &["session", "start", "--session", "s1"]);
    in_boot(&sandbox, 1, &["checkpoint", "--session", "s1"]);
    sandbox.write("dir/file", "other bytes\n");
    in_boot(&sandbox, 1, &["snapshot"]);
    let name = format!("refs/timewarp/snapshots/{first}");
    let (face, record) = ("refs/notes/timewarp/sessions/s1", "session 's1'".to_owned());
    let taken = format!("snapshot {first}");
    for (rev, of, title) in [
        (name.clone(), &name[..], &taken),
        (format!("{name}^2"), &name, &taken),
        (format!("{name}:dir"), &name, &taken),
        (format!("{name}:dir/file"), &name, &taken),
        (face.to_owned(), face, &record),
        (format!("{face}^{{tree}}"), face, &record),
    ] {
        let path = object(&sandbox, &sandbox.git(["rev-parse", &rev]));
        let away = path.with_extension("away");
        std::fs::rename(&path, &away).unwrap();
        std::os::unix::fs::symlink(&path, &path).unwrap();
        for _ in 0..2 {
            let recovered = in_boot(&sandbox, 2, &["recover"]);
            let notices = recovered["notices"].as_array().unwrap();
            let said = notices[0].as_str().unwrap();
            assert_eq!(notices.len(), 1, "{rev}: {recovered}");
            assert!(
                said.contains(title) && said.contains("looks again"),
                "{said}"
            );
            assert!(sandbox.has_ref(of), "{rev}: {recovered}");
        }
        std::fs::rename(&away, &path).unwrap();
    }
    let recovered = in_boot(&sandbox, 2, &["recover"]);
    assert_eq!(
        recovered["notices"].as_array().map(Vec::len),
        Some(0),
        "{recovered}"
    );
    // Looked at and found whole: what goes later did not go with the power.
    zero(&sandbox, &sandbox.git(["rev-parse", &name]));
    in_boot(&sandbox, 2, &["recover"]);
    assert!(sandbox.has_ref(&name));
}

/// Snapshots on top of a commit whose message begins as one of ours, in a clone that has one commit of the history.
#[test]
fn a_message_that_begins_like_ours_makes_no_commit_ours() {
    let sandbox = Sandbox::new();
    for message in [
        "snapshot: nightly 1",
        "timewarp: nightly 2",
        "snapshot: nightly 3",
    ] {
        sandbox.write("file", message);
        commit(&sandbox, message);
    }
    let clone = sandbox.root().join("clone");
    let url = format!("file://{}", sandbox.repo().display());
    sandbox.git(["clone", "-q", "--depth=1", &url, clone.to_str().unwrap()]);
    let taken = |boot: u32| {
        std::fs::write(clone.join("file"), format!("in boot {boot}")).unwrap();
        let mut command = next_boot(&sandbox, boot);
        command.current_dir(&clone).args(["--json", "snapshot"]);
        document(&command.output().unwrap().into())
    };
    let first = taken(1)["snapshot"]["snapshot_id"].clone();
    let first = first.as_str().unwrap();
    let second = taken(2);
    assert_eq!(
        second["notices"].as_array().map(Vec::len),
        Some(0),
        "{second}"
    );
    let name = format!("refs/timewarp/snapshots/{first}");
    sandbox.git_in(&clone, ["show-ref", "--verify", &name]);
    let said = |args: &[&str]| {
        let output = next_boot(&sandbox, 2)
            .current_dir(&clone)
            .args(args)
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let checked = said(&["doctor"]);
    assert!(checked.contains("no objects are missing"), "{checked}");
    said(&["drop", "-y", first]);
    said(&["recover", "--dropped", first]);
    sandbox.git_in(&clone, ["show-ref", "--verify", &name]);
}

#[test]
fn a_long_history_of_such_messages_is_no_way_to_go() {
    use std::fmt::Write as _;
    let sandbox = Sandbox::new();
    let mut stream = String::from("blob\nmark :1\ndata 2\nx\n\n");
    for number in 0..60_000 {
        let message = format!("snapshot: {number}");
        let file = if number == 0 { "M 644 :1 file\n" } else { "" };
        let _ = write!(
            stream,
            "commit refs/heads/long\ncommitter a <a@b> {} +0000\ndata {}\n{message}\n{file}\n",
            1_600_000_000 + number,
            message.len(),
        );
    }
    stream += "done\n";
    let import = sandbox
        .command("git")
        .args(["fast-import", "--quiet"])
        .write_stdin(stream)
        .output();
    assert!(import.unwrap().status.success());
    sandbox.git(["checkout", "-q", "-f", "long"]);
    in_boot(&sandbox, 1, &["snapshot"]);
    sandbox.write("file", "other");
    let taken = in_boot(&sandbox, 2, &["snapshot"]);
    assert_eq!(
        taken["notices"].as_array().map(Vec::len),
        Some(0),
        "{taken}"
    );
}

/// A tree that the user's git wrote and that no `tw` reads: what is in the index is held as it is.
#[test]
fn what_tw_would_not_read_is_not_lost() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "old\n");
    let kept = in_boot(&sandbox, 1, &["snapshot"]);
    let kept = kept["snapshot"]["snapshot_id"].as_str().unwrap();
    let name = format!("refs/timewarp/snapshots/{kept}");
    let blob = sandbox.git(["rev-parse", &format!("{name}:file")]);
    let oid: Vec<u8> = (0..blob.trim().len() / 2)
        .map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let tree = [&b"100644 git~1\0"[..], &oid].concat();
    let write = ["hash-object", "-t", "tree", "-w", "--literally", "--stdin"];
    let tree = sandbox
        .command("git")
        .args(write)
        .write_stdin(tree)
        .output();
    let tree = String::from_utf8(tree.unwrap().stdout).unwrap();
    let odd = sandbox.git([
        "commit-tree",
        tree.trim(),
        "-p",
        &format!("{name}^1"),
        "-m",
        "snapshot: odd",
    ]);
    let name = "refs/timewarp/snapshots/s_20260228_153012_zzzzzz";
    sandbox.git(["update-ref", name, odd.trim()]);
    let recovered = in_boot(&sandbox, 2, &["recover"]);
    assert_eq!(
        recovered["notices"].as_array().map(Vec::len),
        Some(0),
        "{recovered}"
    );
    assert!(sandbox.has_ref(name));
    let again = in_boot(&sandbox, 2, &["recover"]);
    assert_eq!(
        again["notices"].as_array().map(Vec::len),
        Some(0),
        "{again}"
    );
}

#[test]
fn a_keep_that_a_power_cut_left_goes_without_a_mark() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "its bytes\n");
    in_boot(&sandbox, 1, &["snapshot"]);
    let keep = ".git/objects/pack/pack-00000000000000000000000000000000000000aa.keep";
    sandbox.write(keep, "tw record 1 1\n");
    in_boot(&sandbox, 1, &["snapshot"]);
    assert!(sandbox.exists(keep), "in the same boot a mark would tell");
    in_boot(&sandbox, 2, &["snapshot"]);
    assert!(!sandbox.exists(keep));
}
