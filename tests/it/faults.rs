//! What one failing call, or one death, leaves behind for the next command: locks on refs, git's own locks, half-made
//! records. `tests/crash-syscalls.sh` tries them all; here is each that was wrong once.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output, Stdio};

use crate::access::{access_of, set_attribute};
use crate::damage::{assert_fsck_clean, assert_nothing_lost, blobs, document, litter, raw_command};
use crate::many::{Held, go_on, wait_until_stopped};
use crate::sandbox::{Kind, Sandbox, skipped};
use crate::stage::{KILLED, Stage, eventful, eventful_as, taken};
use crate::workspace::Trio;

pub fn killed_at(sandbox: &Sandbox, point: &str, args: &[&str]) {
    use std::os::unix::process::ExitStatusExt;
    let mut command = sandbox.tw_command();
    let output = command.env("TW_FAIL_POINT", point).args(args).output();
    let signal = output.unwrap().status.signal();
    assert_eq!(signal, Some(KILLED - 128), "{args:?} at {point}");
}

/// Runs `tw` with calls of a kind failing: those that name a path, or the n-th. `None`: strace is not installed.
fn with_fault(sandbox: &Sandbox, call: &str, which: &[&str], args: &[&str]) -> Option<Output> {
    let output = with_possible_fault(sandbox, call, which, args)?;
    let trace = std::fs::read_to_string(sandbox.root().join("trace")).unwrap();
    assert!(trace.contains("INJECTED"), "nothing failed: {trace}");
    Some(output)
}

fn with_possible_fault(
    sandbox: &Sandbox,
    call: &str,
    which: &[&str],
    args: &[&str],
) -> Option<Output> {
    let call = format!("trace={call}");
    let which = [&["-e", &call], which].concat();
    Some(traced(sandbox, &which, |_| (), args)?.0)
}

/// Runs `tw` beneath strace, which is given these options; what it answered, and the trace. `None`: strace is not installed.
pub fn traced(
    sandbox: &Sandbox,
    options: &[&str],
    with: impl FnOnce(&mut Command),
    args: &[&str],
) -> Option<(Output, String)> {
    let mut strace = raw_command(&sandbox.root(), "strace");
    with(&mut strace);
    let output = strace
        .current_dir(sandbox.repo())
        .args(["-f", "-qq", "-o", "../trace"])
        .args(options)
        .args([env!("CARGO_BIN_EXE_tw"), "--json"])
        .args(args)
        .output();
    let Ok(output) = output else {
        skipped("strace", "strace is not installed");
        return None;
    };
    let trace = std::fs::read_to_string(sandbox.root().join("trace")).unwrap();
    Some((output, trace))
}

/// Which of a command's looks into a directory beneath the root there are, each by its place among all of its thread's. `None`: strace
/// is not installed.
fn looks_into(sandbox: &Sandbox, dir: &str, args: &[&str]) -> Option<BTreeSet<usize>> {
    let (_, trace) = traced(sandbox, &["-e", "trace=openat2"], |_| (), args)?;
    let mut counts = BTreeMap::<&str, usize>::new();
    let mut found = BTreeSet::new();
    for line in trace.lines().filter(|line| line.contains(" openat2(")) {
        let count = counts.entry(line.split(' ').next().unwrap()).or_default();
        *count += 1;
        if line.contains(&format!("\"{dir}\"")) {
            found.insert(*count);
        }
    }
    Some(found)
}

/// Makes the n-th look into a directory fail as on a failing disk. Threads may share the looks out in another way this time.
fn with_failing_look(sandbox: &Sandbox, nth: usize, args: &[&str]) -> Option<Output> {
    let inject = format!("inject=openat2:error=EIO:when={nth}");
    with_possible_fault(sandbox, "openat2", &["-e", &inject], args)
}

#[test]
fn a_directory_that_cannot_be_opened_is_not_one_without_attributes() {
    let sandbox = Sandbox::new();
    sandbox.write("deep/f", "then\n");
    let (_, id) = (sandbox.git(["add", "-A"]), taken(&sandbox));
    sandbox.write("deep/f", "now\n");
    let file = sandbox.path("deep/f");
    if !set_attribute(&file, "user.tw", b"kept") {
        skipped("extended attributes", "no extended attributes here");
        return;
    }
    let home = (sandbox.state(), access_of(&file));
    let travel = ["travel", &id[..]];
    let Some(looks) = looks_into(&sandbox, "deep", &travel) else {
        return;
    };
    sandbox.json(["return"]);
    for nth in looks {
        let ran = with_failing_look(&sandbox, nth, &travel).unwrap();
        if ran.status.success() {
            sandbox.json(["return"]);
        }
        home.0.assert_same(&sandbox.state());
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert_eq!(access_of(&file), home.1, "{nth}: {said}");
    }
}

#[test]
fn a_recovery_that_cannot_open_a_directory_leaves_nothing_in_it() {
    let sandbox = Sandbox::new();
    sandbox.write("deep/f", "then\n");
    let (_, id) = (sandbox.git(["add", "-A"]), taken(&sandbox));
    sandbox.write("deep/f", "now\n");
    let home = sandbox.state();
    let killed = || killed_at(&sandbox, "apply-written", &["travel", &id]);
    let names = || {
        let entries = std::fs::read_dir(sandbox.path("deep")).unwrap();
        entries.count()
    };
    killed();
    assert_eq!(names(), 2);
    let Some(looks) = looks_into(&sandbox, "deep", &["recover"]) else {
        return;
    };
    for nth in looks {
        killed();
        let ran = with_failing_look(&sandbox, nth, &["recover"]).unwrap();
        if !ran.status.success() {
            sandbox.json(["recover"]);
        }
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert_eq!(names(), 1, "{nth}: {said}");
        home.assert_same(&sandbox.state());
    }
}

/// What sandboxes answer to calls that they do not know.
const FORBIDDEN: [&str; 2] = ["ENOSYS", "EPERM"];

#[test]
fn where_a_sandbox_forbids_exchanges_files_are_linked_aside() {
    let sandbox = Sandbox::new();
    let id = taken(&sandbox);
    sandbox.write("a.txt", "now\n");
    sandbox.write("deep/new", "untracked\n");
    let home = sandbox.state();
    for errno in FORBIDDEN {
        let inject = format!("inject=renameat2:error={errno}");
        for args in [&["travel", &id][..], &["return"]] {
            let Some(ran) = with_fault(&sandbox, "renameat2", &["-e", &inject], args) else {
                return;
            };
            assert_done(&ran);
        }
        home.assert_same(&sandbox.state());
    }
}

#[test]
fn where_a_sandbox_forbids_faccessat2_linked_worktrees_are_found() {
    let sandbox = Sandbox::new();
    let id = taken(&sandbox);
    for errno in FORBIDDEN {
        let inject = format!("inject=faccessat2:error={errno}");
        let open = ["open", &id, &format!("../{errno}")];
        let Some((ran, _)) = traced(&sandbox, &["-e", &inject], |_| (), &open) else {
            return;
        };
        assert_done(&ran);
    }
}

#[test]
fn where_a_sandbox_hides_attributes_nothing_is_replaced() {
    let sandbox = Sandbox::new();
    let id = taken(&sandbox);
    sandbox.write("a.txt", "now\n");
    if !set_attribute(&sandbox.path("a.txt"), "user.tw", b"kept") {
        skipped("extended attributes", "no extended attributes here");
        return;
    }
    let before = access_of(&sandbox.path("a.txt"));
    for (calls, errno) in [
        ("flistxattr,llistxattr", "ENOSYS"),
        ("flistxattr,llistxattr", "EPERM"),
        ("fgetxattr,lgetxattr", "EACCES"),
    ] {
        let inject = format!("inject={calls}:error={errno}");
        let Some(ran) = with_fault(&sandbox, calls, &["-e", &inject], &["travel", &id]) else {
            return;
        };
        assert!(!ran.status.success(), "{calls}: {errno}");
        assert_eq!(access_of(&sandbox.path("a.txt")), before);
        assert_eq!(sandbox.text("a.txt"), "now\n");
    }
}

#[track_caller]
fn assert_done(ran: &Output) {
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
}

#[test]
fn a_dead_commands_ref_lock_keeps_nobody_out() {
    let (sandbox, id) = eventful_as(Kind::ref_files());
    let lock = ".git/refs/timewarp/records/labels/name.lock";
    killed_at(&sandbox, "refs-locked", &["label", &id, "name"]);
    assert!(sandbox.exists(lock));
    // The same name, without a recovery in between and without a wait.
    let waits = ["-e", "trace=nanosleep,clock_nanosleep"];
    let label = ["label", &id, "name"];
    match traced(&sandbox, &waits, |_| (), &label) {
        Some((output, trace)) => {
            assert_done(&output);
            assert!(!trace.contains("nanosleep"), "{trace}");
        }
        None => drop(sandbox.json(label)),
    }
    assert!(!sandbox.exists(lock));
    killed_at(&sandbox, "refs-locked", &["label", "--remove", "name"]);
    assert!(sandbox.exists(lock));
    assert!(sandbox.exists(".git/packed-refs.lock"));
    // Any other command clears it all up, before git stumbles over it.
    taken(&sandbox);
    assert_eq!(litter(&sandbox), [""; 0]);
    sandbox.git(["pack-refs", "--all"]);
    sandbox.json(["label", "--remove", "name"]);
}

#[test]
fn a_prune_that_died_over_packed_refs_leaves_git_free_to_pack() {
    for point in ["refs-locked", "refs-placed"] {
        for next in ["snapshot", "recover"] {
            let (sandbox, _) = eventful_as(Kind::ref_files());
            taken(&sandbox);
            sandbox.git(["pack-refs", "--all"]);
            let prune = ["prune", "--keep-days", "0", "--keep-last", "0"];
            killed_at(&sandbox, point, &prune);
            sandbox.write(".git/packed-refs.new", "what a death in mid-write leaves\n");
            assert!(sandbox.exists(".git/packed-refs.lock"));
            sandbox.json([next]);
            assert_eq!(litter(&sandbox), [""; 0], "{point}, {next}");
            sandbox.git(["pack-refs", "--all"]);
            sandbox.json(prune);
            assert_fsck_clean(&sandbox, point);
        }
    }
}

/// Runs `tw` with every look into a loose object failing, as on a bad disk.
fn with_unreadable(sandbox: &Sandbox, id: &str, args: &[&str]) -> Option<Output> {
    let (dir, name) = id.trim().split_at(2);
    let file = sandbox.path(format!(".git/objects/{dir}/{name}"));
    assert!(file.exists(), "{}", file.display());
    // Below the directory of all objects, or by its whole name.
    let (below, whole) = (format!("{dir}/{name}"), file.display().to_string());
    let inject = "inject=openat:error=EIO";
    let which = ["-P", &below, "-P", &whole, "-e", inject];
    with_fault(sandbox, "openat", &which, args)
}

const STRICT: [&str; 5] = ["prune", "--keep-days", "0", "--keep-last", "0"];

#[test]
fn a_head_that_cannot_be_read_for_a_moment_lets_nothing_of_its_members_go() {
    let trio = Trio::of(Kind::ref_files());
    let before = trio.ids("../lib", "snapshots");
    let commit = format!("refs/timewarp/snapshots/{}", trio.snapshot);
    let commit = trio.sandbox.git(["rev-parse", &commit]);
    let args = [&["-C", "../lib"], &STRICT[..]].concat();
    let Some(output) = with_unreadable(&trio.sandbox, &commit, &args) else {
        return;
    };
    let said = document(&output.into());
    assert_eq!(said["ok"], false, "{said}");
    assert!(said.to_string().contains(&trio.snapshot), "{said}");
    assert!(said.to_string().contains("nothing was forgotten"), "{said}");
    assert_eq!(trio.ids("../lib", "snapshots"), before);
}

#[test]
fn an_issue_that_cannot_be_read_for_a_moment_lets_nothing_of_its_runs_go() {
    let sandbox = Sandbox::of(Kind::ref_files());
    sandbox.git(["config", "timewarp.keepBackupDays", "0"]);
    sandbox.write("a.txt", "wrong\n");
    let report = ["issue", "report", "--task-context", "t", "--symptom", "s"];
    let issue = sandbox.json([&report[..], &["--success-criteria", "c"]].concat());
    let issue = issue["issue_id"].as_str().unwrap();
    sandbox.ok(["issue", "start", issue]);
    sandbox.write("a.txt", "right\n");
    sandbox.ok(["return"]);
    // As after a month and a hundred more of them.
    sandbox.remove(".git/timewarp/undo");
    sandbox.mkdir(".git/timewarp/undo");
    let refs = sandbox.git(["for-each-ref", "refs/timewarp"]);
    let notes = format!("refs/notes/timewarp/issues/{issue}");
    let listed = sandbox.git(["notes", "--ref", &notes, "list"]);
    let note = listed.split_whitespace().next().unwrap();
    let Some(output) = with_unreadable(&sandbox, note, &STRICT) else {
        return;
    };
    let said = document(&output.into());
    assert_eq!(said["error"]["code"], "CORRUPT_RECORD", "{said}");
    assert!(said.to_string().contains(issue), "{said}");
    assert_eq!(sandbox.git(["for-each-ref", "refs/timewarp"]), refs);
}

/// What plain git put there would be lost.
#[test]
fn a_notes_ref_that_cannot_be_read_for_a_moment_is_not_put_back() {
    let sandbox = Sandbox::of(Kind::ref_files());
    let report = ["issue", "report", "--task-context", "t", "--symptom", "s"];
    let issue = sandbox.json([&report[..], &["--success-criteria", "c"]].concat());
    let issue = issue["issue_id"].as_str().unwrap();
    let notes = format!("refs/notes/timewarp/issues/{issue}");
    let listed = sandbox.git(["notes", "--ref", &notes, "list"]);
    let on = listed.split_whitespace().nth(1).unwrap();
    let text = sandbox.git(["notes", "--ref", &notes, "show", on]);
    let edited = text.replace("\"s\"", "\"seen\"");
    sandbox.git(["notes", "--ref", &notes, "add", "-f", "-m", &edited, on]);
    let tip = sandbox.git(["rev-parse", &notes]);
    let Some(output) = with_unreadable(&sandbox, &tip, &["issue", "get", issue]) else {
        return;
    };
    let said = document(&output.into());
    assert_eq!(said["ok"], false, "{said}");
    assert_eq!(sandbox.git(["rev-parse", &notes]), tip);
    let read = sandbox.json(["issue", "get", issue]);
    assert_eq!(read["issue"]["symptom"], "seen", "{read}");
}

/// A ref that stays keeps what needs it, and no step to undo is lost.
#[test]
fn a_drop_whose_ref_cannot_be_deleted_takes_no_step_to_undo() {
    let sandbox = Sandbox::of(Kind::ref_files());
    sandbox.ok(["snapshot"]);
    for text in ["one\n", "two\n", "three\n"] {
        sandbox.write("a.txt", text);
        sandbox.ok(["restore", "latest", "a.txt"]);
    }
    let levels = sandbox.json(["undo", "--list"])["levels"].clone();
    let newest = levels[0]["backup_id"].as_str().unwrap();
    let file = sandbox.path(format!(".git/refs/timewarp/backups/{newest}"));
    let which = [
        "-P",
        &file.display().to_string(),
        "-e",
        "inject=unlink,unlinkat:error=EIO",
    ];
    let drop = ["drop", "--force", "-y", newest];
    let Some(output) = with_fault(&sandbox, "unlink,unlinkat", &which, &drop) else {
        return;
    };
    let said = document(&output.into());
    assert_eq!(said["ok"], false, "{said}");
    assert_eq!(sandbox.json(["undo", "--list"])["levels"], levels);
    sandbox.json(drop);
    assert_eq!(
        sandbox.json(["undo", "--list"])["levels"],
        serde_json::json!([])
    );
}

/// The steps go with the snapshots that they need, or after them.
#[test]
fn a_drop_that_dies_takes_no_step_whose_snapshot_stands() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot"]);
    for text in ["one\n", "two\n", "three\n"] {
        sandbox.write("a.txt", text);
        sandbox.ok(["restore", "latest", "a.txt"]);
    }
    let levels = || sandbox.json(["undo", "--list"])["levels"].clone();
    let before = levels();
    let middle = before[1]["backup_id"].as_str().unwrap();
    let drop = ["drop", "--force", "-y", middle];
    for point in ["refs-locked", "drop-logged"] {
        killed_at(&sandbox, point, &drop);
        assert_eq!(levels(), before, "{point}");
    }
    killed_at(&sandbox, "drop-refs", &drop);
    // What the next command that changes anything makes up for.
    sandbox.json(["undo"]);
    assert_eq!(sandbox.text("a.txt"), "three\n");
    let (error, _) = sandbox.json_error(["undo"]);
    assert_eq!(error["code"], "NOTHING_TO_UNDO", "{error}");
    assert_eq!(levels(), serde_json::json!([]));
}

#[test]
fn the_check_up_names_the_ref_locks_of_the_dead_and_recover_takes_them_away() {
    let files = Kind::ref_files();
    for (kind, lock) in [
        (files, "refs/timewarp/records/labels/other.lock"),
        (files.with_reftable(), "reftable/tables.list.lock"),
    ] {
        let (sandbox, id) = eventful_as(kind);
        let locks = || {
            let checks = sandbox.json(["doctor"])["checks"].clone();
            let mut checks = checks.as_array().unwrap().iter();
            checks
                .find(|check| check["name"] == "locks")
                .unwrap()
                .clone()
        };
        assert_eq!(locks()["status"], "ok");
        killed_at(&sandbox, "refs-locked", &["label", &id, "other"]);
        // Somebody else's.
        let others = ".git/refs/timewarp/others.lock";
        sandbox.write(others, "");
        let check = locks();
        let said = check["message"].as_str().unwrap();
        assert_eq!(check["status"], "warning", "{check}");
        assert!(
            said.contains(lock) && !said.contains("others.lock"),
            "{said}"
        );
        assert_eq!(check["fix"], "tw recover");
        sandbox.json(["recover"]);
        assert_eq!(locks()["status"], "ok");
        assert!(!sandbox.exists(format!(".git/{lock}")));
        assert!(sandbox.exists(others));
    }
}

#[test]
fn a_ref_lock_that_is_not_ours_is_waited_for_and_named() {
    let (sandbox, id) = eventful_as(Kind::ref_files());
    let lock = ".git/refs/timewarp/records/labels/name.lock";
    // Something died here, so that there is a reason to clear up.
    killed_at(&sandbox, "refs-locked", &["label", &id, "other"]);
    sandbox.write(lock, "");
    let (error, code) = sandbox.json_error(["label", &id, "name"]);
    assert_eq!((&error["code"], code), (&"BUSY".into(), 4), "{error}");
    assert!(error["message"].as_str().unwrap().contains("name.lock"));
    sandbox.json(["recover"]);
    taken(&sandbox);
    assert!(sandbox.exists(lock), "stolen");
}

#[test]
fn a_live_commands_ref_lock_is_never_taken_away() {
    let (sandbox, id) = eventful_as(Kind::ref_files());
    let mut first = raw_command(&sandbox.root(), env!("CARGO_BIN_EXE_tw"))
        .current_dir(sandbox.repo())
        .env("TW_STOP_POINT", "refs-locked")
        .args(["label", &id, "name"])
        .stdout(Stdio::null())
        .spawn()
        .map(Held)
        .unwrap();
    wait_until_stopped(first.0.id());
    let lock = ".git/refs/timewarp/records/labels/name.lock";
    sandbox.json(["recover"]);
    taken(&sandbox);
    assert!(sandbox.exists(lock), "stolen");
    let (error, _) = sandbox.json_error(["label", &id, "name"]);
    assert_eq!(error["code"], "BUSY", "{error}");
    assert!(sandbox.exists(lock), "stolen");
    go_on(first.0.id());
    assert!(first.0.wait().unwrap().success());
    assert_eq!(litter(&sandbox), [""; 0]);
}

#[test]
fn gits_locks_that_could_not_be_removed_go_with_the_next_command() {
    for name in ["HEAD.lock", "index.lock"] {
        let (sandbox, id) = eventful();
        let lock = format!(".git/{name}");
        let path = sandbox.path(&lock).display().to_string();
        let which = ["-P", &path, "-e", "inject=unlink:error=EIO"];
        let Some(output) = with_fault(&sandbox, "unlink", &which, &["travel", &id]) else {
            return;
        };
        let said = document(&output.into());
        assert_eq!(said["ok"], false, "{said}");
        assert!(said.to_string().contains(name), "{said}");
        assert!(sandbox.exists(&lock));
        taken(&sandbox);
        assert_eq!(litter(&sandbox), [""; 0]);
        // The swap itself was done.
        sandbox.json(["return"]);
    }
}

#[test]
fn a_journal_that_cannot_be_written_leaves_nothing_behind() {
    let (sandbox, id) = eventful();
    let stage = Stage::new(sandbox, &["travel", &id], None);
    let mut failed = 0;
    for nth in 1.. {
        stage.rewind();
        let inject = format!("inject=fsync:error=EIO:when={nth}");
        let which = ["-e", &inject];
        let Some(output) = with_fault(&stage.sandbox, "fsync", &which, &["travel", &id]) else {
            return;
        };
        let said = document(&output.into());
        assert_eq!(said["ok"], false, "{said}");
        if said.to_string().contains("journal.json") {
            failed += 1;
            assert_eq!(litter(&stage.sandbox), [""; 0], "fsync {nth}");
            stage.old.assert_same(&stage.sandbox.state());
        } else if failed > 0 {
            break;
        }
    }
    // The file, and the directory that names it.
    assert_eq!(failed, 2);
}

#[test]
fn what_dies_in_the_middle_of_a_file_leaves_no_temporary_one() {
    let (sandbox, _) = eventful();
    let bytes = blobs(&sandbox);
    killed_at(&sandbox, "record-objects", &["snapshot"]);
    for name in [
        "cache",
        "cache.patch",
        "state.json",
        "undo/00000001-travel-abcdef.json",
    ] {
        sandbox.write(format!(".git/timewarp/{name}.tmp-1-1-0"), "half");
    }
    sandbox.write(".git/HEAD.tmp-1-1-3", "half");
    taken(&sandbox);
    assert_eq!(litter(&sandbox), [""; 0]);
    assert_nothing_lost(&sandbox, &bytes, "after a death");
}

/// A bare `git prune` says nothing of itself. One that began before the ref was there may take what it holds.
#[test]
fn an_object_that_goes_while_the_ref_is_made_is_written_again() {
    for name in ["a.txt", "new", "both.txt"] {
        let (sandbox, _) = eventful();
        sandbox.write("only.txt", "nowhere else\n");
        let refs = || {
            sandbox.git([
                "for-each-ref",
                "--format=%(objectname)",
                "refs/timewarp/snapshots",
            ])
        };
        let known = refs();
        let mut child = raw_command(&sandbox.root(), env!("CARGO_BIN_EXE_tw"))
            .current_dir(sandbox.repo())
            .env("TW_STOP_POINT", "record-ref")
            .args(["--json", "snapshot"])
            .stdout(Stdio::piped())
            .spawn()
            .map(Held)
            .unwrap();
        wait_until_stopped(child.0.id());
        let now = refs();
        let mut made = now.lines().filter(|oid| !known.contains(oid));
        let commit = made.next().unwrap().to_owned();
        let mut gone = 0;
        for spec in [
            format!("{commit}:{name}"),
            format!("{commit}:only.txt"),
            format!("{commit}^{{tree}}"),
        ] {
            let oid = sandbox.git(["rev-parse", &spec]).trim().to_owned();
            let object = sandbox.path(format!(".git/objects/{}/{}", &oid[..2], &oid[2..]));
            gone += usize::from(std::fs::remove_file(object).is_ok());
        }
        assert!(gone >= 2, "{gone}");
        go_on(child.0.id());
        let mut text = String::new();
        std::io::Read::read_to_string(child.0.stdout.as_mut().unwrap(), &mut text).unwrap();
        child.0.wait().unwrap();
        let said: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(said["ok"], true, "{said}");
        let made = said["snapshot"]["commit"].as_str().unwrap();
        assert_ne!(made, commit, "{said}");
        assert_fsck_clean(&sandbox, name);
        let text = sandbox.git(["cat-file", "blob", &format!("{made}:only.txt")]);
        assert_eq!(text, "nowhere else\n");
        assert_eq!(litter(&sandbox), [""; 0]);
    }
}

/// Power is not lost in a test; what can be seen is the order: everything that going back needs is synced before the first
/// path of the working tree is touched.
#[test]
fn the_backup_is_on_disk_before_the_first_path_is_touched() {
    let (sandbox, id) = eventful_as(Kind::ref_files());
    // Its objects are loose, and were not waited for.
    sandbox.ok(["snapshot"]);
    let calls =
        "trace=fsync,syncfs,linkat,link,renameat2,renameat,unlinkat,symlinkat,mkdirat,fchmodat";
    let options = ["-y", "-e", calls];
    let Some((output, trace)) = traced(&sandbox, &options, |_| (), &["travel", &id]) else {
        return;
    };
    assert_eq!(document(&output.into())["ok"], true);
    let git_dir = sandbox.path(".git").display().to_string();
    let repo = sandbox.repo().display().to_string();
    let place = |wanted: &dyn Fn(&str) -> bool| trace.lines().position(wanted);
    let touched =
        place(&|line| !line.contains("fsync(") && line.contains(&repo) && !line.contains(&git_dir));
    let touched = touched.expect("paths are touched");
    for part in [
        "objects/pack/tmp_pack",
        "objects/pack/tmp_idx",
        "objects/pack>",
        "timewarp/running/",
        "refs/timewarp/backups>",
        "timewarp/journal.json",
        "/.git/timewarp>",
    ] {
        let synced = place(&|line| line.contains("fsync(") && line.contains(part));
        assert!(synced.is_some_and(|at| at < touched), "{part}:\n{trace}");
    }
    let objects = place(&|line| line.contains("syncfs(") && line.contains("/.git/objects"));
    assert!(objects.is_some_and(|at| at < touched), "{trace}");
    let locked = place(&|line| line.contains("link") && line.contains("index.lock"));
    let locked = locked.expect("git's index is locked");
    let source = place(&|line| line.contains("fsync(") && line.contains("timewarp/running/"));
    assert!(source.is_some_and(|at| at < locked), "{trace}");
}
