use std::os::unix::fs::PermissionsExt;

use super::Lab;
use super::setup::run_init;
use crate::ops::doctor::doctor;
use crate::ops::outcome::CheckStatus;
use crate::ops::request::DryRun;
use crate::store::lock::Owner;
use crate::store::names::{LABELS, NOTES, SNAPSHOTS};

/// What one check says: status, message, fix.
fn check(lab: &Lab, name: &str) -> (CheckStatus, String, String) {
    let checkup = doctor(&lab.ctx()).expect("a check-up");
    let found = checkup.checks.into_iter().find(|check| check.name == name);
    let found = found.expect("checked");
    (found.status, found.message, found.fix.unwrap_or_default())
}

#[test]
fn a_sound_repository_has_nothing_to_mend_and_is_not_touched() {
    let lab = Lab::with_commit();
    let checkup = doctor(&lab.ctx()).expect("a check-up");
    assert!(!lab.path(".git/timewarp").exists());
    lab.snapshot("one");
    run_init(&lab, DryRun::No).expect("set up");
    let later = doctor(&lab.ctx()).expect("a check-up");
    for check in checkup.checks.iter().chain(&later.checks) {
        assert_eq!(check.status, CheckStatus::Ok, "{check:?}");
    }
}

#[test]
fn a_torn_record_of_a_session_is_named() {
    let lab = Lab::with_commit();
    lab.write(".git/timewarp/sessions/abcd.json", "{");
    let (status, message, fix) = check(&lab, "sessions");
    assert_eq!(status, CheckStatus::Error);
    assert!(
        message.contains("'abcd'") && fix.ends_with("/sessions/abcd.json'"),
        "{message} {fix}"
    );
}

#[test]
fn damage_is_named_with_what_mends_it() {
    let lab = Lab::with_commit();
    lab.write("only-here", "x\n");
    let torn = lab.snapshot("torn").id;
    let blob = lab.git(&["hash-object", "only-here"]);
    let file = lab.path(&format!(".git/objects/{}/{}", &blob[..2], blob[2..].trim()));
    std::fs::remove_file(file).expect("a loose blob");
    let (status, message, fix) = check(&lab, "objects");
    assert_eq!(status, CheckStatus::Error);
    assert!(message.contains(&torn));
    assert_eq!(fix, format!("tw drop {torn}"));
    let head = lab.rev("HEAD").to_string();
    let bad = "s_20200101_000000_aaaaaa";
    lab.git(&["update-ref", &format!("{SNAPSHOTS}{bad}"), &head]);
    let (status, message, _) = check(&lab, "snapshots");
    assert_eq!(status, CheckStatus::Error);
    assert!(message.contains(bad));
    let parent = lab.git(&["commit-tree", "-m", "x", "HEAD^{tree}"]);
    lab.git(&["update-ref", &format!("{LABELS}lost"), parent.trim()]);
    let (status, _, fix) = check(&lab, "labels");
    assert_eq!(
        (status, fix.as_str()),
        (CheckStatus::Warning, "tw label --remove lost")
    );
    let note = |name: &str, body: &str| {
        let name = format!("--ref={NOTES}{name}");
        lab.git(&["notes", &name, "add", "-m", body, &head]);
    };
    note("sessions/fetched", "{\"version\": 1}");
    assert_eq!(check(&lab, "records").0, CheckStatus::Warning);
    note("issues/i_20200101_000000_aaaaaa", "x");
    let (status, message, fix) = check(&lab, "records");
    assert_eq!(status, CheckStatus::Error);
    assert!(message.contains("i_20200101_000000_aaaaaa"));
    assert!(
        fix.contains("git log -p"),
        "there is no other version: {fix}"
    );
    lab.level(
        "undo",
        "00000001-x",
        "2026-01-01T00:00:00Z",
        "b_20260101_000000_aaaaaa",
    );
    let (status, message, _) = check(&lab, "undo-log");
    assert_eq!(status, CheckStatus::Warning);
    assert!(message.contains("b_20260101_000000_aaaaaa"));
}

#[test]
fn interruptions_dead_locks_and_unreadable_states_are_seen_in_every_worktree() {
    let lab = Lab::with_commit();
    let other = lab.dir().with_file_name("other");
    lab.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        other.to_str().expect("plain"),
    ]);
    let git_dir = lab.path(".git/worktrees/other");
    let dir = git_dir.join("timewarp");
    std::fs::create_dir_all(&dir).expect("made");
    let journal = serde_json::to_vec(&super::lab::journal()).expect("plain");
    std::fs::write(dir.join("journal.json"), journal).expect("written");
    let (status, message, fix) = check(&lab, "interrupted");
    let recover = format!("tw -C {} recover", other.display());
    assert_eq!((status, fix), (CheckStatus::Error, recover));
    assert!(message.contains("'other'"));
    let owner = Owner::this_process("travel-x");
    std::fs::write(git_dir.join("index.lock"), owner.line()).expect("written");
    assert_eq!(check(&lab, "locks").0, CheckStatus::Warning);
    std::fs::write(git_dir.join("index.lock"), "").expect("git's own");
    assert_eq!(check(&lab, "locks").0, CheckStatus::Ok);
    std::fs::write(dir.join("state.json"), "{").expect("written");
    assert_eq!(check(&lab, "state").0, CheckStatus::Error);
    let (status, _, fix) = check(&lab, "permissions");
    assert_eq!(status, CheckStatus::Warning);
    assert!(fix.starts_with("chmod go-rwx"));
}

#[test]
fn what_a_shared_repository_shares_is_no_fault() {
    let lab = Lab::with_commit();
    lab.git(&["config", "core.sharedRepository", "group"]);
    let dir = lab.path(".git/timewarp");
    std::fs::create_dir_all(&dir).expect("made");
    let set = |bits| {
        let bits = std::fs::Permissions::from_mode(bits);
        std::fs::set_permissions(&dir, bits).expect("set");
    };
    set(0o2770);
    assert_eq!(check(&lab, "permissions").0, CheckStatus::Ok);
    set(0o2775);
    let (status, _, fix) = check(&lab, "permissions");
    assert_eq!(status, CheckStatus::Warning);
    assert!(fix.starts_with("chmod 770 "), "{fix}");
}

#[test]
fn directories_that_others_can_look_into_are_all_closed_by_the_fix() {
    let lab = Lab::with_commit();
    let other = lab.dir().with_file_name("it's");
    let path = other.to_str().expect("plain");
    lab.git(&["worktree", "add", "-q", "--detach", path]);
    let git_dir = lab.git_in(&other, &["rev-parse", "--absolute-git-dir"]);
    for git_dir in [lab.path(".git"), git_dir.trim().into()] {
        let dir = git_dir.join("timewarp");
        std::fs::create_dir_all(&dir).expect("made");
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(dir, open).expect("opened");
    }
    let (status, _, fix) = check(&lab, "permissions");
    assert_eq!(status, CheckStatus::Warning);
    let done = std::process::Command::new("sh").args(["-c", &fix]).status();
    assert!(done.expect("a shell").success(), "{fix}");
    assert_eq!(check(&lab, "permissions").0, CheckStatus::Ok, "{fix}");
}

/// git makes objects that everybody reads who gets at them, whatever the bits of the file were.
#[test]
fn private_files_in_objects_that_others_reach_are_told() {
    let lab = Lab::with_commit();
    let set = |path: &std::path::Path, bits: u32| {
        let bits = std::fs::Permissions::from_mode(bits);
        std::fs::set_permissions(path, bits).expect("set");
    };
    let above = lab.dir().parent().expect("in a directory").to_owned();
    set(&above, 0o755);
    lab.write("a", "edited\n");
    set(&lab.path("a"), 0o600);
    lab.write("plain", "x\n");
    lab.snapshot("what git knows, and what everybody may read");
    assert_eq!(check(&lab, "private-files").0, CheckStatus::Ok);
    for (path, dir, bits) in [("key", "", 0o600), ("closed/key", "closed", 0o700)] {
        lab.write(path, "s3cret\n");
        let narrowed = if dir.is_empty() { path } else { dir };
        set(&lab.path(narrowed), bits);
        let taken = lab.snapshot("with a private file");
        let (status, message, fix) = check(&lab, "private-files");
        // Where the tests run in a directory that nobody else gets into, there is nothing to tell.
        let is_reached = above
            .ancestors()
            .all(|dir| dir.metadata().expect("there").permissions().mode() & 1 != 0);
        if !is_reached {
            return;
        }
        assert_eq!(status, CheckStatus::Warning, "{message}");
        assert!(
            message.contains(&taken.id) && message.contains(&format!("'{path}'")),
            "{message}"
        );
        let done = std::process::Command::new("sh").args(["-c", &fix]).status();
        assert!(done.expect("a shell").success(), "{fix}");
        assert_eq!(check(&lab, "private-files").0, CheckStatus::Ok, "{fix}");
        set(&lab.path(".git"), 0o755);
        std::fs::remove_file(lab.path(path)).expect("removed");
    }
    lab.git(&["config", "core.sharedRepository", "group"]);
    assert!(check(&lab, "private-files").2.starts_with("chmod o-rwx "));
}

#[test]
fn remotes_that_take_ours_along_are_told_with_the_exact_refspec() {
    let lab = Lab::with_commit();
    lab.git(&["remote", "add", "origin", "https://example.com/x.git"]);
    assert_eq!(check(&lab, "refspecs").0, CheckStatus::Ok);
    lab.git(&[
        "config",
        "--add",
        "remote.origin.fetch",
        "+refs/notes/*:refs/notes/*",
    ]);
    let (status, _, fix) = check(&lab, "refspecs");
    assert_eq!(status, CheckStatus::Warning);
    assert_eq!(
        fix,
        format!("git config --add remote.origin.fetch '^{NOTES}*'")
    );
    lab.git(&[
        "config",
        "--add",
        "remote.origin.fetch",
        &format!("^{NOTES}*"),
    ]);
    assert_eq!(check(&lab, "refspecs").0, CheckStatus::Ok);
    lab.git(&["config", "remote.origin.mirror", "true"]);
    assert!(
        check(&lab, "refspecs")
            .2
            .contains("--unset remote.origin.mirror")
    );
}

#[test]
fn a_desk_that_git_would_add_is_told() {
    let lab = Lab::with_commit();
    lab.write(".timewarp/issues/x", "x");
    assert_eq!(check(&lab, "desk").2, "tw init");
    std::fs::remove_dir_all(lab.path(".timewarp")).expect("removed");
    std::os::unix::fs::symlink("dir", lab.path(".timewarp")).expect("linked");
    assert_eq!(check(&lab, "desk").0, CheckStatus::Error);
}
