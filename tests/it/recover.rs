//! What `recover` does in harder cases than one kill: paths changed since, a kill of the recovery itself, errors instead of
//! kills.

use serde_json::Value;

use crate::damage::{assert_fsck_clean, assert_nothing_lost, blobs, document, litter, state_json};
use crate::faults::killed_at;
use crate::provided;
use crate::sandbox::{Sandbox, is_root, skipped};
use crate::stage::{KILLED, Stage, WAYS, eventful, in_the_past, taken};
use crate::trip::{snapshot, with_stop};

/// A travel that died half-way, at a point given.
fn died(point: &str) -> Stage {
    let (sandbox, snapshot) = eventful();
    let home = sandbox.state();
    let stage = Stage::new(sandbox, &["travel", &snapshot], Some(home));
    stage.rewind();
    let ran = stage.run_until(&stage.args, point);
    assert_eq!(ran.code, KILLED, "{point}: {}", ran.out());
    stage
}

/// Kills `args`, a recovery, wherever it can be killed after `stage`'s own death, and recovers from that.
fn dies_again(mut stage: Stage, args: &[&str]) -> usize {
    stage.args = args.iter().map(|&arg| arg.to_owned()).collect();
    stage.keep_this();
    stage.crash_everywhere()
}

#[test]
fn a_killed_recovery_of_files_is_recovered_from() {
    assert!(dies_again(died("apply-written:3"), &["recover"]) >= 5);
}

#[test]
fn a_killed_recovery_of_head_is_recovered_from() {
    assert!(dies_again(died("swap-head"), &["recover"]) >= 5);
}

#[test]
fn the_reflog_goes_on_to_where_a_recovery_leaves_head() {
    for (point, how, last) in [
        ("swap-journal", "--back", None),
        (
            "swap-head",
            "--back",
            Some("tw recover: undid 'tw travel: "),
        ),
        ("swap-journal", "--forward", Some("tw travel: ")),
        ("swap-head", "--forward", Some("tw travel: ")),
    ] {
        let stage = died(point);
        let sandbox = &stage.sandbox;
        let reflog = || sandbox.git(["reflog", "--format=%H %gs"]);
        let before = reflog().lines().count();
        sandbox.ok(["recover", how]);
        let log = reflog();
        let newest = log.lines().next().unwrap();
        let head = sandbox.git(["rev-parse", "HEAD"]);
        assert!(newest.starts_with(head.trim()), "{point} {how}: {log}");
        let added = log.lines().count() - before;
        match last {
            None => assert_eq!(added, 0, "{point} {how}: {log}"),
            Some(said) => assert!(newest.contains(said), "{point} {how}: {log}"),
        }
        assert!(added <= 1, "{point} {how}: {log}");
        if how == "--back" {
            // What was undone is no past.
            let said = sandbox.tw(["doctor"]).out();
            assert!(!said.contains("may be the past"), "{said}");
        }
    }
}

/// Somebody died between HEAD and the line of its log: what ends that leaves no gap.
#[test]
fn the_reflog_has_no_gap_where_head_moved_and_it_was_not_told() {
    let stage = died("swap-head");
    let sandbox = &stage.sandbox;
    let file = sandbox.path(".git/logs/HEAD");
    let Ok(told) = std::fs::read_to_string(&file) else {
        skipped("a log in a file", "refs are in a table");
        return;
    };
    let lines: Vec<&str> = told.lines().collect();
    let (_, before) = lines.split_last().unwrap();
    std::fs::write(&file, before.join("\n") + "\n").unwrap();
    sandbox.ok(["recover", "--forward"]);
    let now = std::fs::read_to_string(&file).unwrap();
    assert_eq!(now.lines().count(), lines.len(), "{now}");
    let ids = |line: &str| -> Vec<String> { line.split(' ').take(2).map(str::to_owned).collect() };
    let all: Vec<Vec<String>> = now.lines().map(ids).collect();
    assert_ne!(all.last().unwrap()[0], all.last().unwrap()[1], "{now}");
    for pair in all.windows(2) {
        assert_eq!(pair[0][1], pair[1][0], "{now}");
    }
}

#[test]
fn a_killed_recovery_forward_is_recovered_from() {
    assert!(dies_again(died("apply-removing:2"), &["recover", "--forward"]) >= 5);
}

#[test]
fn a_killed_recovery_by_the_next_command_is_recovered_from() {
    assert!(dies_again(died("apply-exchanged:2"), &["snapshot"]) >= 6);
}

#[test]
fn a_swap_of_many_files_that_dies_is_undone_or_done() {
    let sandbox = Sandbox::new();
    let fill = |what: &str| {
        for file in 0..300 {
            let path = format!("dir{}/sub/f{file}.txt", file % 20);
            sandbox.write(path, format!("{what} {file}\n"));
        }
    };
    fill("then");
    let snapshot = taken(&sandbox);
    fill("now");
    sandbox.remove("dir7");
    sandbox.write("dir7", "a file where a directory was\n");
    let home = sandbox.state();
    let stage = Stage::new(sandbox, &["travel", &snapshot], Some(home));
    let points = [
        "apply-written:1",
        "apply-written:150",
        "apply-prepared",
        "apply-dirs",
        "apply-exchanged:150",
        "apply-switched",
        "apply-letting-go:150",
    ];
    for (point, way) in points.into_iter().zip(WAYS.iter().cycle()) {
        stage.rewind();
        assert_eq!(stage.run_until(&stage.args, point).code, KILLED, "{point}");
        stage.recover_and_check(way, point);
    }
}

#[test]
fn three_deaths_in_a_row_lose_nothing() {
    let stage = died("apply-exchanged:4");
    for (way, point) in [
        ("--forward", "apply-exchanged:2"),
        ("--back", "apply-removing:1"),
        ("--forward", "apply-written:3"),
        ("--back", "recover-git"),
    ] {
        let args = ["recover".to_owned(), way.to_owned()];
        assert_eq!(stage.run_until(&args, point).code, KILLED, "{way} {point}");
    }
    stage.recover_and_check(&["recover"], "forth and back");
}

#[test]
fn a_path_edited_after_the_death_stops_recovery_and_keeps_its_bytes() {
    for (path, point) in [
        ("a.txt", "apply-removed"),
        ("a.txt", "swap-applied"),
        ("hollow/once.txt", "swap-applied"),
        ("notes/todo.txt", "swap-applied"),
        ("new/fresh.txt", "swap-journal"),
    ] {
        let stage = died(point);
        let sandbox = &stage.sandbox;
        sandbox.write(path, "edited after the death\n");
        let before = blobs(sandbox);
        for command in [
            &["snapshot"][..],
            &["return"],
            &["restore", "latest"],
            &["undo"],
        ] {
            let (error, code) = sandbox.json_error(command);
            assert_eq!(
                (&error["code"], code),
                (&"INTERRUPTED".into(), 4),
                "{error}"
            );
            assert_eq!(error["paths"], Value::from([path].as_slice()), "{error}");
        }
        let (error, code) = sandbox.json_error(["recover"]);
        assert_eq!(
            (&error["code"], code),
            (&"INTERRUPTED".into(), 4),
            "{error}"
        );
        assert!(error["differing"].to_string().contains(path), "{error}");
        for (way, command) in [
            (&["recover"][..], "'tw recover -y'"),
            (&["recover", "--forward"], "'tw recover --forward -y'"),
            (&["recover", "--back"], "'tw recover --back -y'"),
        ] {
            let (error, _) = sandbox.json_error(way);
            assert!(error["hint"].to_string().contains(command), "{error}");
        }
        // Who cannot be asked is told all the same what he is asked to agree to.
        let said = sandbox.tw(["recover"]);
        assert_eq!((said.code, said.out().as_str()), (4, ""));
        let listed = format!("\n  changed since: {path}\n");
        assert!(said.err().contains(&listed), "{}", said.err());
        let done = sandbox.json(["recover", "-y"]);
        assert!(done["differing"].to_string().contains(path), "{done}");
        assert_eq!(
            sandbox.text(path),
            "edited after the death\n",
            "{path} {point}"
        );
        let context = format!("{path} {point}");
        assert_nothing_lost(sandbox, &before, &context);
        assert_nothing_lost(sandbox, &stage.bytes, &context);
        assert_fsck_clean(sandbox, &context);
        assert_eq!(litter(sandbox), [""; 0], "{context}");
        let others = stage.old.differences(&sandbox.state());
        let unexpected: Vec<_> = others
            .iter()
            .filter(|line| {
                let dir = path.split('/').next().unwrap();
                !line.contains(" status ") && !line.contains(&format!("file {dir}"))
            })
            .collect();
        assert!(unexpected.is_empty(), "{context}: {unexpected:?}");
    }
}

#[test]
fn a_path_that_became_a_directory_after_the_death_is_kept() {
    let stage = died("swap-applied");
    let sandbox = &stage.sandbox;
    sandbox.remove("a.txt");
    sandbox.write("a.txt/inside", "made after the death\n");
    let (error, _) = sandbox.json_error(["recover"]);
    assert_eq!(error["code"], "INTERRUPTED", "{error}");
    sandbox.json(["recover", "-y"]);
    assert_eq!(sandbox.text("a.txt/inside"), "made after the death\n");
    assert_nothing_lost(sandbox, &stage.bytes, "directory");
    assert_eq!(litter(sandbox), [""; 0]);
}

/// The swap takes the file away: the directory in its place is neither side's.
#[test]
fn a_directory_in_place_of_a_file_that_goes_is_kept() {
    for point in ["swap-journal", "swap-applied"] {
        for beneath in ["d/x", "d/deep/er/x"] {
            let sandbox = Sandbox::new();
            let past = snapshot(&sandbox);
            sandbox.write("d", "present\n");
            sandbox.write("a.txt", "present\n");
            killed_at(&sandbox, point, &["travel", &past]);
            if sandbox.exists("d") {
                sandbox.remove("d");
            }
            sandbox.write(beneath, "made after the death\n");
            let (error, _) = sandbox.json_error(["snapshot"]);
            assert_eq!(error["code"], "INTERRUPTED", "{point}: {error}");
            let done = sandbox.json(["recover", "-y"]);
            assert_eq!(done["differing"], serde_json::json!(["d"]), "{done}");
            assert_eq!(sandbox.text(beneath), "made after the death\n");
            assert_eq!(sandbox.text("a.txt"), "present\n");
            let backup = sandbox.json(["list", "--kind", "backup"]).to_string();
            assert!(backup.contains("b_"), "{backup}");
            assert_eq!(litter(&sandbox), [""; 0]);
        }
    }
}

#[test]
fn a_path_removed_after_the_death_stays_away_only_when_asked() {
    let stage = died("swap-applied");
    let sandbox = &stage.sandbox;
    sandbox.remove("both.txt");
    let (error, code) = sandbox.json_error(["snapshot"]);
    assert_eq!(
        (&error["code"], code),
        (&"INTERRUPTED".into(), 4),
        "{error}"
    );
    sandbox.json(["recover", "-y"]);
    assert!(!sandbox.exists("both.txt"));
    assert_nothing_lost(sandbox, &stage.bytes, "removed");
}

#[test]
fn the_state_after_a_death_says_so_first_and_reading_still_works() {
    let stage = died("apply-written:2");
    let before = stage.sandbox.state();
    for command in [&["list"][..], &["show", "latest"]] {
        stage.sandbox.json(command);
    }
    for command in [
        &["travel", "latest", "--dry-run"][..],
        &["restore", "latest", "--dry-run"],
    ] {
        let (error, code) = stage.sandbox.json_error(command);
        assert_eq!(
            (&error["code"], code),
            (&"INTERRUPTED".into(), 4),
            "{error}"
        );
    }
    before.assert_same(&stage.sandbox.state());
}

#[test]
fn a_swap_that_was_done_can_be_undone_after_its_death() {
    for point in ["swap-state", "swap-logged"] {
        let (sandbox, _, home) = in_the_past();
        let past = sandbox.state();
        let stage = Stage::new(sandbox, &["return"], Some(home));
        stage.rewind();
        assert_eq!(stage.run_until(&stage.args, point).code, KILLED);
        let done = stage.sandbox.json(["recover"]);
        assert_eq!(done["action"], "cleaned", "{done}");
        stage.new.assert_same(&stage.sandbox.state());
        stage.sandbox.json(["undo", "-y"]);
        past.assert_same(&stage.sandbox.state());
    }
}

#[test]
fn undo_after_a_death_still_sees_that_head_moved() {
    let (sandbox, _, home) = in_the_past();
    let stage = Stage::new(sandbox, &["return"], Some(home));
    stage.rewind();
    assert_eq!(stage.run_until(&stage.args, "swap-state").code, KILLED);
    let sandbox = &stage.sandbox;
    sandbox.json(["recover"]);
    sandbox.git(["merge", "--abort"]);
    sandbox.git(["checkout", "-q", "-f", "other"]);
    let head = sandbox.git(["rev-parse", "--symbolic-full-name", "HEAD"]);
    let undone = sandbox.json(["undo", "-y"]);
    assert_eq!(
        sandbox.git(["rev-parse", "--symbolic-full-name", "HEAD"]),
        head,
        "{undone}"
    );
    assert!(!undone["head_stayed"].is_null(), "{undone}");
}

#[test]
fn an_index_that_did_not_exist_is_gone_again_after_a_rollback() {
    let sandbox = Sandbox::unborn();
    sandbox.write("a.txt", "one\n");
    sandbox.git(["add", "a.txt"]);
    let snapshot = taken(&sandbox);
    sandbox.remove(".git/index");
    sandbox.write("a.txt", "two\n");
    let stage = Stage::new(sandbox, &["travel", &snapshot], None);
    for point in ["swap-index", "swap-head", "swap-proved"] {
        for way in [&["snapshot"][..], &["recover"]] {
            stage.rewind();
            assert_eq!(stage.run_until(&stage.args, point).code, KILLED);
            stage.recover_and_check(way, point);
        }
    }
}

// --- errors instead of kills ---

#[test]
fn a_write_that_fails_half_way_is_undone_at_once() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "b, then\n");
    sandbox.write("huge.txt", "a compressible line\n".repeat(200_000));
    sandbox.write("z.txt", "z, then\n");
    let snapshot = taken(&sandbox);
    sandbox.write("b.txt", "b, now\n");
    sandbox.remove("huge.txt");
    sandbox.write("z.txt", "z, now\n");
    sandbox.write("y/new.txt", "only now\n");
    sandbox.chmod("y", 0o700);
    let before = sandbox.state();
    let inodes = || ["b.txt", "y/new.txt", "z.txt"].map(|path| inode(&sandbox, path));
    let untouched = inodes();
    for command in ["travel", "restore"] {
        // Files over a mebibyte cannot be written: an error, not a signal, in the middle of the swap.
        let script = format!(
            "trap '' XFSZ; ulimit -f 1024; exec '{}' --json {command} {snapshot}",
            env!("CARGO_BIN_EXE_tw")
        );
        let output = sandbox
            .command("bash")
            .args(["-c", &script])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("everything is as it was"), "{said}");
        before.assert_same(&sandbox.state());
        // All new contents are written before the first path is touched.
        assert_eq!(inodes(), untouched);
        assert_eq!(litter(&sandbox), [""; 0]);
        assert!(!sandbox.exists(".git/timewarp/journal.json"));
        assert_fsck_clean(&sandbox, command);
    }
    sandbox.assert_round_trip(&snapshot, |_| ());
}

fn inode(sandbox: &Sandbox, path: &str) -> u64 {
    use std::os::unix::fs::MetadataExt;
    sandbox.path(path).symlink_metadata().unwrap().ino()
}

/// The blob of `path` in a snapshot, as a loose object that can be harmed.
fn loose_blob(sandbox: &Sandbox, snapshot: &str, path: &str) -> std::path::PathBuf {
    let commit = sandbox.json(["show", snapshot])["snapshot"]["commit"].clone();
    let spec = format!("{}:{path}", commit.as_str().unwrap());
    let oid = sandbox.git(["rev-parse", &spec]);
    let oid = oid.trim();
    unpack_all(sandbox);
    sandbox.path(format!(".git/objects/{}/{}", &oid[..2], &oid[2..]))
}

/// Makes all objects loose ones, which can be harmed.
pub fn unpack_all(sandbox: &Sandbox) {
    for pack in glob(sandbox, ".git/objects/pack", "pack") {
        let aside = sandbox.root().join("aside.pack");
        std::fs::rename(&pack, &aside).unwrap();
        std::fs::remove_file(pack.with_extension("idx")).unwrap();
        let mut unpack = provided::git(&sandbox.home());
        unpack
            .args(["unpack-objects", "-q"])
            .current_dir(sandbox.repo());
        unpack.stdin(std::fs::File::open(&aside).unwrap());
        assert!(unpack.status().unwrap().success());
    }
}

fn glob(sandbox: &Sandbox, dir: &str, extension: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(sandbox.path(dir)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == extension))
        .collect()
}

#[test]
fn a_missing_or_damaged_target_is_refused_before_anything_is_written() {
    type Harm = fn(&std::path::Path);
    let harms: [(&str, Harm); 4] = [
        ("gone", |path| std::fs::remove_file(path).unwrap()),
        ("empty", |path| overwrite(path, b"")),
        ("garbage", |path| overwrite(path, b"garbage")),
        ("another object", |path| {
            let other = std::fs::read(path).unwrap();
            overwrite(path, &other[..other.len() - 3]);
        }),
    ];
    for (what, harm) in harms {
        let (sandbox, snapshot) = eventful();
        let blob = loose_blob(&sandbox, &snapshot, "notes/todo.txt");
        harm(&blob);
        let before = sandbox.state();
        for command in ["travel", "restore"] {
            let (error, code) = sandbox.json_error([command, &snapshot]);
            assert_eq!(
                (&error["code"], code),
                (&"CORRUPT_RECORD".into(), 1),
                "{what}: {error}"
            );
            before.assert_same(&sandbox.state());
            assert_eq!(litter(&sandbox), [""; 0], "{what}");
        }
        assert_eq!(state_json(&sandbox), Value::Null);
    }
}

fn overwrite(path: &std::path::Path, bytes: &[u8]) {
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_lost_backup_makes_return_refuse_and_say_so() {
    let (sandbox, _, _) = in_the_past();
    let backup = state_json(&sandbox)["backup_id"]
        .as_str()
        .unwrap()
        .to_owned();
    sandbox.git([
        "update-ref",
        "-d",
        &format!("refs/timewarp/backups/{backup}"),
    ]);
    // The commit is noted in the state, so the ref alone is no loss; a gc makes it one.
    sandbox.git(["gc", "--quiet", "--prune=now"]);
    let before = sandbox.state();
    let ran = sandbox.tw(["--json", "return"]);
    assert_ne!(ran.code, 0);
    assert!(
        document(&ran)["error"]["message"]
            .as_str()
            .unwrap()
            .contains("backup"),
        "{}",
        ran.out()
    );
    before.assert_same(&sandbox.state());
}

#[test]
fn a_journal_whose_backup_is_gone_changes_nothing() {
    let stage = died("apply-written:2");
    let sandbox = &stage.sandbox;
    let journal: Value =
        serde_json::from_slice(&sandbox.read(".git/timewarp/journal.json")).unwrap();
    let backup = journal["backup_id"].as_str().unwrap();
    let name = format!("refs/timewarp/backups/{backup}");
    if sandbox.has_reftable() {
        sandbox.git(["update-ref", "-d", &name]);
    } else {
        // git cannot delete a ref while HEAD is locked.
        sandbox.remove(format!(".git/{name}"));
    }
    let before = sandbox.state();
    let (error, _) = sandbox.json_error(["recover"]);
    assert!(!error["message"].as_str().unwrap().is_empty());
    before.assert_same(&sandbox.state());
}

#[test]
fn a_command_that_is_refused_says_what_it_recovered_before() {
    let report = "issue report --task-context t --symptom s --success-criteria c --snapshot nosuch";
    for (refused, code) in [
        ("travel nosuch", "SNAPSHOT_NOT_FOUND"),
        ("return", "NOT_IN_PAST"),
        ("restore nosuch", "SNAPSHOT_NOT_FOUND"),
        ("revert nosuch", "SNAPSHOT_NOT_FOUND"),
        ("snapshot --label taken", "INVALID_LABEL"),
        ("drop -y nosuch", "SNAPSHOT_NOT_FOUND"),
        ("prune", "CORRUPT_RECORD"),
        ("workspace add ../nosuch", "PATH_NOT_FOUND"),
        (report, "SNAPSHOT_NOT_FOUND"),
        ("try --with nosuch -- true", "PATH_NOT_FOUND"),
        ("bisect run --good nosuch -- true", "SNAPSHOT_NOT_FOUND"),
    ] {
        let stage = died("apply-written:3");
        let sandbox = &stage.sandbox;
        let labels = "refs/timewarp/records/labels";
        let taken = format!("{labels}/taken");
        if refused == "prune" && sandbox.has_reftable() {
            // Nobody breaks a ref of a table by a file.
            continue;
        }
        sandbox.git(["update-ref", &taken, "HEAD"]);
        if refused == "prune" {
            sandbox.write(format!(".git/{labels}/broken"), "");
        }
        let (error, _) = sandbox.json_error(refused.split(' '));
        assert_eq!(error["code"], code, "{refused} {error}");
        let hints = error["hints"].as_array().unwrap();
        let said = |hint: &Value| hint == "an interrupted travel was undone";
        assert!(hints.iter().any(said), "{refused} {error}");
        assert_ne!(hints.first().unwrap(), "an interrupted travel was undone");
    }
}

/// The end of a swap could not be noted: it says how far it came, and everything is as it was once that is put right.
#[test]
fn a_swap_whose_end_cannot_be_noted_is_undone() {
    if is_root() {
        skipped("an ordinary user", "nothing is closed to root");
        return;
    }
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("a.txt", "of the present\n");
    let home = sandbox.state();
    let said = with_stop(&sandbox, &["travel", &past], "swap-proved", || {
        sandbox.chmod(".git/timewarp", 0o500);
    });
    sandbox.chmod(".git/timewarp", 0o700);
    assert_eq!(said["error"]["code"], "INTERRUPTED", "{said}");
    assert!(
        said["error"]["hints"].to_string().contains("tw recover"),
        "{said}"
    );
    assert_eq!(sandbox.json(["recover"])["action"], "rolled-back");
    home.assert_same(&sandbox.state());
}

/// Neither can it be looked up whether the end was noted: the first error is told, and the swap waits for recovery.
#[test]
fn a_swap_whose_state_cannot_be_read_either_tells_of_both() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("a.txt", "of the present\n");
    let home = sandbox.state();
    let state = ".git/timewarp/state.json";
    let said = with_stop(&sandbox, &["travel", &past], "swap-proved", || {
        let _ = std::fs::remove_file(sandbox.path(state));
        std::fs::create_dir(sandbox.path(state)).unwrap();
    });
    std::fs::remove_dir(sandbox.path(state)).unwrap();
    let error = &said["error"];
    assert_eq!(error["code"], "INTERRUPTED", "{said}");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("travel stopped half-way"), "{said}");
    assert!(message.contains("state.json"), "{said}");
    assert!(error["hints"].to_string().contains("tw recover"), "{said}");
    assert_eq!(sandbox.json(["recover"])["action"], "rolled-back");
    home.assert_same(&sandbox.state());
}

/// It had git's locks and no journal yet: nothing of the working tree is to be recovered, and git waits.
#[test]
fn locks_of_gits_that_a_swap_left_which_died_early_are_named() {
    let (sandbox, snapshot) = eventful();
    let before = sandbox.state();
    killed_at(&sandbox, "swap-locked", &["travel", &snapshot]);
    assert_ne!(sandbox.try_git(["add", "a.txt"]).code, 0);
    let said = sandbox.json(["status"])["notices"].to_string();
    assert!(
        said.contains("index.lock") && said.contains("HEAD.lock"),
        "{said}"
    );
    let recovered = sandbox.json(["recover"]);
    assert_eq!(recovered["action"], "mended", "{recovered}");
    let told = recovered["notices"].to_string();
    assert!(
        told.contains("index.lock', which a tw that died had left"),
        "{told}"
    );
    assert!(!sandbox.exists(".git/index.lock") && !sandbox.exists(".git/HEAD.lock"));
    let said = sandbox.json(["status"])["notices"].to_string();
    assert!(!said.contains(".lock"), "{said}");
    before.assert_same(&sandbox.state());
    assert_eq!(sandbox.json(["recover"])["action"], "nothing");
}
