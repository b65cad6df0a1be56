//! Programs that rewrite the history of all refs (`git filter-repo`, `git filter-branch -- --all`, `git lfs migrate`) give the commits of
//! snapshots other ids, too, and let go of those that the state, the undo log and notes name.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::faults::killed_at;
use crate::issue::report;
use crate::sandbox::Sandbox;
use crate::trip::{commit, commit_of, list, snapshot, state_json};

/// Writes an object as it is.
fn object(sandbox: &Sandbox, kind: &str, bytes: &[u8]) -> String {
    let mut command = sandbox.command("git");
    command.args(["hash-object", "-w", "--stdin", "-t", kind]);
    let output = command.write_stdin(bytes).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The same history with another committer, as a program does it that changes names.
fn again(sandbox: &Sandbox, oid: &str, done: &mut BTreeMap<String, String>) -> String {
    if let Some(new) = done.get(oid) {
        return new.clone();
    }
    let text = sandbox.git(["cat-file", "commit", oid]);
    let (head, message) = text.split_once("\n\n").unwrap();
    let lines = head.lines().map(|line| match line.split_once(' ') {
        Some(("parent", parent)) => format!("parent {}\n", again(sandbox, parent, done)),
        Some(("committer", who)) => format!("committer Another {who}\n"),
        _ => format!("{line}\n"),
    });
    let head: String = lines.collect();
    let new = object(sandbox, "commit", format!("{head}\n{message}").as_bytes());
    done.insert(oid.to_owned(), new.clone());
    new
}

/// Gives all commits of refs and HEAD other ids.
fn rewrite(sandbox: &Sandbox) {
    let mut done = BTreeMap::new();
    let refs = sandbox.git(["for-each-ref", "--format=%(objectname) %(refname)"]);
    for line in refs.lines() {
        let (oid, name) = line.split_once(' ').unwrap();
        let new = again(sandbox, oid, &mut done);
        sandbox.git(["update-ref", name, &new]);
    }
    // Where a swap died, its lock keeps git from HEAD.
    let is_detached = sandbox.try_git(["symbolic-ref", "-q", "HEAD"]).code != 0;
    if is_detached && !sandbox.exists(".git/HEAD.lock") {
        let head = sandbox.git(["rev-parse", "HEAD"]);
        let new = again(sandbox, head.trim(), &mut done);
        sandbox.git(["update-ref", "--no-deref", "HEAD", &new]);
    }
}

fn gc(sandbox: &Sandbox) {
    sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
}

/// `git filter-branch` over all refs, without one path, and what it keeps of the old ones removed.
fn filter_out(sandbox: &Sandbox, path: &str) {
    let filter = format!("git rm -rq --cached --ignore-unmatch {path}");
    let mut command = sandbox.command("git");
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "Test")
            .env(format!("GIT_{role}_EMAIL"), "test@example.com");
    }
    let ran = command
        .env("FILTER_BRANCH_SQUELCH_WARNING", "1")
        .args([
            "filter-branch",
            "-f",
            "--index-filter",
            &filter,
            "--",
            "--all",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    let kept = sandbox.git(["for-each-ref", "--format=%(refname)", "refs/original"]);
    for name in kept.lines() {
        sandbox.git(["update-ref", "-d", name]);
    }
    gc(sandbox);
}

fn check<'v>(doctor: &'v Value, name: &str) -> &'v Value {
    let checks = doctor["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()
}

fn doctor(sandbox: &Sandbox) -> Value {
    let ran = sandbox.tw(["doctor", "--json"]);
    serde_json::from_str(&ran.out()).unwrap()
}

/// What git says of files and index.
fn seen(sandbox: &Sandbox) -> [String; 3] {
    [
        sandbox.git(["status", "--porcelain", "--untracked-files=all"]),
        sandbox.git(["ls-files", "-s"]),
        sandbox.git(["diff"]),
    ]
}

/// A present with staged, changed and untracked files, and a past with a file of its own.
fn in_the_past() -> (Sandbox, [String; 3]) {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\n");
    sandbox.write("s.key", "secret\n");
    sandbox.chmod("s.key", 0o600);
    commit(&sandbox, "one");
    let past = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("a.txt", "three\n");
    sandbox.write("only-in-present.txt", "precious\n");
    let seen = seen(&sandbox);
    sandbox.json(["travel", &past]);
    (sandbox, seen)
}

/// Says with each command that goes by the backup what helps.
#[track_caller]
fn assert_names_recover(sandbox: &Sandbox, commands: &[&[&str]]) {
    for args in commands {
        let (error, _) = sandbox.json_error(args.iter());
        assert_eq!(error["code"], "CORRUPT_RECORD", "{args:?}: {error}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("tw recover"), "{args:?}: {error}");
    }
}

#[test]
fn a_rewritten_backup_leads_home_after_recover() {
    let (sandbox, present) = in_the_past();
    let backup = state_json(&sandbox)["backup_id"]
        .as_str()
        .unwrap()
        .to_owned();
    sandbox.write("made.txt", "in the past\n");
    rewrite(&sandbox);
    let before_gc = doctor(&sandbox);
    assert_eq!(check(&before_gc, "state")["status"], "warning");
    assert_eq!(check(&before_gc, "state")["fix"], "tw return");
    gc(&sandbox);
    assert_names_recover(
        &sandbox,
        &[
            &["return"],
            &["return", "--dry-run"],
            &["return", "--discard"],
            &["undo"],
            &["restore", &backup],
        ],
    );
    let found = doctor(&sandbox);
    assert_eq!(check(&found, "state")["status"], "error", "{found}");
    assert_eq!(check(&found, "state")["fix"], "tw recover");
    assert_eq!(check(&found, "undo-log")["fix"], "tw recover");

    let recovered = sandbox.json(["recover"]);
    assert_eq!(recovered["action"], "mended");
    assert_eq!(
        state_json(&sandbox)["backup_commit"],
        commit_of(&sandbox, &backup).as_str()
    );
    assert_eq!(sandbox.json(["recover"])["action"], "nothing");
    assert_eq!(check(&doctor(&sandbox), "state")["status"], "ok");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert!(
        list(&returned["notices"])
            .iter()
            .any(|told| told.contains("rewrote")),
        "{returned}"
    );
    assert_eq!(seen(&sandbox), present);
    assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
    assert_eq!(sandbox.text("only-in-present.txt"), "precious\n");
    let experiment = returned["experiment_id"].as_str().unwrap();
    let made = format!("{}:made.txt", commit_of(&sandbox, experiment));
    assert_eq!(sandbox.git(["show", &made]), "in the past\n");
    assert!(state_json(&sandbox).get("backup_rewritten").is_none());
    assert_eq!(doctor(&sandbox)["ok"], true);
    // And the way that led here can be gone once more.
    sandbox.json(["undo", "--into-past"]);
    assert_eq!(sandbox.text("made.txt"), "in the past\n");
    sandbox.json(["return"]);
    assert_eq!(seen(&sandbox), present);
}

#[test]
fn what_a_filter_took_out_of_the_backup_stays_out() {
    let (sandbox, _) = in_the_past();
    filter_out(&sandbox, "s.key");
    assert_names_recover(&sandbox, &[&["return"]]);
    sandbox.json(["recover"]);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert!(!sandbox.exists("s.key"));
    assert_eq!(sandbox.text("a.txt"), "three\n");
    assert_eq!(sandbox.text("only-in-present.txt"), "precious\n");
    assert_eq!(sandbox.git(["show", ":a.txt"]), "two\n");
    assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
    assert_eq!(sandbox.git(["ls-files", "s.key"]), "");
    sandbox.json(["snapshot"]);
}

#[test]
fn a_merge_whose_commits_are_gone_is_told_and_not_put_back() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.git(["switch", "-qc", "other"]);
    sandbox.write("a.txt", "theirs\n");
    commit(&sandbox, "theirs");
    sandbox.git(["switch", "-q", "main"]);
    sandbox.write("a.txt", "ours\n");
    commit(&sandbox, "ours");
    assert_ne!(sandbox.try_git(["merge", "other"]).code, 0);
    let text = sandbox.text("a.txt");
    let stages = sandbox.git(["ls-files", "-u"]);
    sandbox.json(["travel", &past]);
    rewrite(&sandbox);
    gc(&sandbox);
    sandbox.json(["recover"]);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    let told = list(&returned["notices"]).join("\n");
    assert!(told.contains("the merge under way"), "{told}");
    assert!(!sandbox.exists(".git/MERGE_HEAD"));
    assert_eq!(sandbox.text("a.txt"), text);
    assert_eq!(sandbox.git(["ls-files", "-u"]), stages);
}

#[test]
fn a_ref_that_names_something_else_is_not_taken_for_the_backup() {
    for kind in ["commit", "another backup", "none"] {
        let (sandbox, _) = in_the_past();
        let state = state_json(&sandbox);
        let name = state["backup_path"].as_str().unwrap();
        let other = match kind {
            "commit" => sandbox.git(["rev-parse", "HEAD"]),
            "another backup" => {
                sandbox.write("a.txt", "changed\n");
                let restored = sandbox.json(["restore", "latest"]);
                let id = restored["backup_id"].as_str().unwrap();
                commit_of(&sandbox, id)
            }
            _ => String::new(),
        };
        if other.is_empty() {
            sandbox.git(["update-ref", "-d", name]);
        } else {
            sandbox.git(["update-ref", name, other.trim()]);
        }
        gc(&sandbox);
        sandbox.write("made.txt", "in the past\n");
        let here = seen(&sandbox);
        let head = sandbox.head();
        assert_names_recover(&sandbox, &[&["return"], &["recover"]]);
        let (error, _) = sandbox.json_error(["recover"]);
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("'tw recover -y'"), "{kind}: {error}");
        let found = doctor(&sandbox);
        assert_eq!(check(&found, "state")["status"], "error", "{kind}: {found}");
        assert_eq!(state_json(&sandbox)["mode"], "past");

        let recovered = sandbox.json(["recover", "-y"]);
        let told = list(&recovered["notices"]).join("\n");
        assert!(told.contains("the stay in the past is over"), "{told}");
        assert!(told.contains("'git switch main'"), "{told}");
        assert_eq!(state_json(&sandbox)["mode"], "present");
        assert_eq!(seen(&sandbox), here, "{kind}");
        assert_eq!(sandbox.head(), head, "{kind}");
        let (error, _) = sandbox.json_error(["undo"]);
        assert_eq!(error["code"], "NOTHING_TO_UNDO", "{kind}");
        sandbox.git(["switch", "-q", "main"]);
        sandbox.assert_round_trip("latest", |_| {});
    }
}

#[test]
fn undo_steps_go_by_what_became_of_their_backups() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\n");
    sandbox.write("s.key", "secret\n");
    commit(&sandbox, "one");
    let first = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.write("s.key", "another secret\n");
    sandbox.json(["restore", &first]);
    filter_out(&sandbox, "s.key");
    assert_names_recover(&sandbox, &[&["undo"]]);
    let found = doctor(&sandbox);
    assert_eq!(check(&found, "undo-log")["status"], "warning", "{found}");
    assert_eq!(check(&found, "undo-log")["fix"], "tw recover");
    sandbox.json(["recover"]);
    let undone = sandbox.json(["undo"]);
    assert_eq!(sandbox.text("a.txt"), "two\n", "{undone}");
    sandbox.json(["redo"]);
    assert_eq!(sandbox.text("a.txt"), "one\n");
    for args in [&["show", &first][..], &["restore", &first], &["list"]] {
        sandbox.json(args);
    }
}

#[test]
fn an_interrupted_swap_goes_by_what_became_of_its_commits() {
    let (sandbox, present) = in_the_past();
    killed_at(&sandbox, "swap-applied", &["return"]);
    rewrite(&sandbox);
    // As gc does, which stops at the lock on HEAD that the dead swap left.
    sandbox.git(["repack", "-adq"]);
    sandbox.git(["prune", "--expire=now"]);
    sandbox.json(["recover", "--forward"]);
    assert_eq!(state_json(&sandbox)["mode"], "present");
    assert_eq!(seen(&sandbox), present);
    assert_eq!(sandbox.text("only-in-present.txt"), "precious\n");
}

#[test]
fn notes_move_along_with_rewritten_snapshots() {
    let sandbox = Sandbox::new();
    snapshot(&sandbox);
    let reported = report(&sandbox, &[]);
    let id = reported["issue_id"].as_str().unwrap();
    let at = reported["issue"]["snapshot_id"].as_str().unwrap();
    rewrite(&sandbox);
    gc(&sandbox);
    let found = doctor(&sandbox);
    assert_eq!(check(&found, "records")["status"], "warning", "{found}");
    assert_eq!(check(&found, "records")["fix"], "tw recover");
    sandbox.json(["recover"]);
    assert_eq!(check(&doctor(&sandbox), "records")["status"], "ok");
    let notes = format!("--ref=timewarp/issues/{id}");
    let listed = sandbox.git(["notes", &notes, "list"]);
    assert!(listed.contains(&commit_of(&sandbox, at)), "{listed}");
    assert_eq!(
        sandbox.json(["issue", "get", id])["issue"]["snapshot_id"],
        at
    );
    sandbox.json(["issue", "start", id]);
    sandbox.json(["return"]);
}

#[test]
fn a_note_that_moves_along_is_joined_with_the_one_that_is_there() {
    let sandbox = Sandbox::new();
    let mark = |text: &str| {
        let made = sandbox.json(["checkpoint", "--session", "abcd", "-m", text]);
        made["checkpoint"]["checkpoint_id"].as_u64().unwrap()
    };
    mark("first");
    mark("second");
    rewrite(&sandbox);
    gc(&sandbox);
    // Of an unchanged tree: on the commit that the snapshot has now.
    mark("third");
    let all = || sandbox.json(["checkpoint", "list", "--session", "abcd"])["checkpoints"].clone();
    let before = all();
    assert_eq!(before.as_array().unwrap().len(), 3, "{before}");
    sandbox.json(["recover"]);
    assert_eq!(all(), before);
    assert_eq!(check(&doctor(&sandbox), "records")["status"], "ok");
    let listed = sandbox.git(["notes", "--ref=timewarp/sessions/abcd", "list"]);
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert_eq!(mark("fourth"), 3);
}
