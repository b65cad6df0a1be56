//! Directories without git: their history in a private repository, and `tw` without a git program.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::damage::{assert_fsck_clean, document, walk};
use crate::faults::killed_at;
use crate::gc::with_pause;
use crate::provided;
use crate::sandbox::{Ran, Sandbox, executable, is_root, skipped};
use crate::stage::{Stage, eventful_in, taken};

const SESSION: &str = "11111111-2222-3333-4444-555555555555";

/// A directory without git that holds two files, and a snapshot of it.
fn begun() -> (Sandbox, String) {
    let sandbox = Sandbox::without_git();
    sandbox.write("a.txt", "one\n");
    sandbox.write("notes/todo.md", "write\n");
    sandbox.write(".gitignore", "ignored.txt\n");
    sandbox.write("ignored.txt", "stays\n");
    let id = taken(&sandbox);
    (sandbox, id)
}

fn no_git_appears(sandbox: &Sandbox) {
    walk(&sandbox.repo(), &mut |path| {
        assert_ne!(path.file_name().unwrap(), ".git", "{}", path.display());
    });
}

fn list(sandbox: &Sandbox) -> Vec<Value> {
    let listed = sandbox.json(["init", "--here", "--list"]);
    listed["directories"].as_array().unwrap().clone()
}

fn snapshots(sandbox: &Sandbox) -> usize {
    let listed = sandbox.json(["list"]);
    listed["snapshots"].as_array().unwrap().len()
}

#[test]
fn snapshots_and_swaps_need_no_git() {
    let (sandbox, first) = begun();
    sandbox.write("a.txt", "two\n");
    sandbox.remove("notes");
    let shown = sandbox.json(["show", &first]);
    assert_eq!(shown["snapshot"]["head"]["unborn"], true, "{shown}");
    assert!(sandbox.ok(["diff", &first, "-p"]).contains("+two"));
    assert!(sandbox.ok(["log"]).contains(&first[first.len() - 6..]));
    assert!(sandbox.ok(["status"]).contains("present"));
    sandbox.assert_round_trip(&first, |sandbox| {
        assert_eq!(sandbox.text("a.txt"), "one\n");
        assert_eq!(sandbox.text("ignored.txt"), "stays\n");
        sandbox.write("a.txt", "tried\n");
        sandbox.write("made.txt", "in the past\n");
    });
    sandbox.ok(["restore", &first, "a.txt"]);
    assert_eq!(sandbox.text("a.txt"), "one\n");
    sandbox.ok(["undo"]);
    assert_eq!(sandbox.text("a.txt"), "two\n");
    sandbox.ok(["redo"]);
    sandbox.ok(["undo"]);
    sandbox.ok(["label", &first, "begin"]);
    assert!(sandbox.ok(["search", "write"]).contains("todo.md"));
    assert!(sandbox.ok(["find", "a.txt"]).contains("a.txt"));
    let second = taken(&sandbox);
    sandbox.ok(["drop", "-y", &second]);
    sandbox.ok(["recover", "--dropped", &second]);
    sandbox.ok(["config", "keep_days", "30"]);
    sandbox.ok(["config", "keep_days", "--unset"]);
    sandbox.ok(["config", "exclude", "--add", "data/"]);
    sandbox.ok(["config", "exclude", "--add", "raw/"]);
    let excludes = sandbox.json(["config", "exclude"]);
    assert_eq!(excludes["value"], json!(["data/", "raw/"]), "{excludes}");
    sandbox.ok(["config", "--global", "keep_last", "500"]);
    let page = sandbox.root().join("page.html");
    sandbox.ok(["web", "--export", page.to_str().unwrap()]);
    let checks = sandbox.json(["doctor"])["checks"].clone();
    let by_name = |name: &str| {
        let mut all = checks.as_array().unwrap().iter();
        all.find(|check| check["name"] == name).unwrap().clone()
    };
    assert_eq!(by_name("git")["status"], "ok", "{checks}");
    assert_eq!(by_name("private-repository")["status"], "ok", "{checks}");
    for check in checks.as_array().unwrap() {
        assert_eq!(check["status"], "ok", "{check}");
    }
    let ran = sandbox.tw(["blame", "a.txt"]);
    assert_ne!(ran.code, 0);
    assert!(
        ran.err().contains("git is not on the PATH"),
        "{}",
        ran.err()
    );
    no_git_appears(&sandbox);
    assert_fsck_clean(&sandbox, "at the end");
    // No setting was written twice over, and git reads what is there.
    assert_eq!(
        sandbox.git(["config", "--get-all", "timewarp.exclude"]),
        "data/\nraw/\n"
    );
}

#[test]
fn agents_issues_and_scratches_need_no_git() {
    let (sandbox, first) = begun();
    let payload = json!({
        "session_id": SESSION,
        "cwd": sandbox.repo(),
        "hook_event_name": "UserPromptSubmit",
        "prompt": "write the notes",
    });
    sandbox.write("a.txt", "two\n");
    let mut command = sandbox.tw_command();
    let command = command.args(["hook", "claude", "user-prompt-submit"]);
    let ran: Ran = command
        .write_stdin(payload.to_string())
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, 0, "{}", ran.err());
    let points = sandbox.json(["checkpoint", "list", "--session", SESSION]);
    assert_eq!(
        points["checkpoints"].as_array().map(Vec::len),
        Some(1),
        "{points}"
    );
    let report = [
        "issue",
        "report",
        "--task-context",
        "c",
        "--symptom",
        "s",
        "--success-criteria",
        "x",
    ];
    let issue = sandbox.json(report)["issue"]["issue_id"].clone();
    sandbox.ok(["issue", "start", issue.as_str().unwrap()]);
    sandbox.ok(["return"]);
    sandbox.ok([
        "issue",
        "close",
        issue.as_str().unwrap(),
        "--status",
        "fixed",
    ]);

    // A scratch is a worktree of the private repository; ignored files come along that are asked for.
    sandbox.write(".worktreeinclude", "ignored.txt\n");
    let opened = sandbox.json(["open", &first, "../opened"]);
    let dir = PathBuf::from(opened["dir"].as_str().unwrap());
    assert_eq!(std::fs::read(dir.join("a.txt")).unwrap(), b"one\n");
    assert_eq!(std::fs::read(dir.join("ignored.txt")).unwrap(), b"stays\n");
    std::fs::write(dir.join("a.txt"), "tried\n").unwrap();
    let inside = sandbox.tw_in(&dir, ["snapshot"]);
    assert_eq!(inside.code, 0, "{}", inside.err());
    assert_eq!(sandbox.tw(["init", "--here", "--remove", "-y"]).code, 5);
    sandbox.ok(["close", "../opened"]);
    assert!(!dir.exists());
    let words = ["try", "-n", "2", "--verify", "grep -q three a.txt"];
    let mut command = sandbox.tw_command();
    let command = command.arg("--json").args(words);
    let ran: Ran = command
        .args(["--", "echo three >a.txt"])
        .output()
        .unwrap()
        .into();
    let tried = document(&ran);
    assert_eq!(tried["runs"][0]["status"], "passed", "{tried}");
    sandbox.ok(["try", "apply", "latest"]);
    assert_eq!(sandbox.text("a.txt"), "three\n");
    taken(&sandbox);
    let found = sandbox.json(["bisect", "run", "--good", &first, "--", "grep -q one a.txt"]);
    assert_eq!(found["result"], "found", "{found}");
    assert!(!sandbox.git_dir().join("worktrees").exists());
    no_git_appears(&sandbox);
    assert_fsck_clean(&sandbox, "at the end");
}

#[test]
fn a_moved_directory_is_found_again_when_somebody_says_so() {
    let (sandbox, first) = begun();
    let (here, there) = (sandbox.repo(), sandbox.root().join("moved"));
    std::fs::rename(&here, &there).unwrap();
    let inside = there.join("notes");
    let ran = sandbox.tw_in(&inside, ["--json", "list"]);
    let error: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(error["error"]["code"], "NOT_A_REPOSITORY", "{error}");
    assert_eq!(error["error"]["moved_from"], here.to_str().unwrap());
    assert!(
        error["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("tw init --here")
    );
    let ran = sandbox.tw_in(&inside, ["doctor"]);
    assert_eq!(ran.code, 1, "{}", ran.out());
    assert!(
        ran.out()
            .contains(&format!("fix: tw -C {} init --here", there.display()))
    );
    assert_eq!(
        sandbox.tw_in(&there, ["init", "--here"]).code,
        2,
        "-y is needed"
    );
    let ran = sandbox.tw_in(&there, ["--json", "init", "--here", "-y"]);
    let attached: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(attached["became"], "attached", "{attached}");
    assert_eq!(attached["was_at"], here.to_str().unwrap());
    assert_eq!(sandbox.tw_in(&inside, ["show", &first]).code, 0);

    // A copy is another directory, and so is one that is made where the first was.
    let copy = sandbox.root().join("copy");
    let mut cp = std::process::Command::new("cp");
    assert!(
        cp.arg("-a")
            .args([&there, &copy])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(sandbox.tw_in(&copy, ["list"]).code, 1);
    let adopt = ["init", "--here", "-y", "--adopt", there.to_str().unwrap()];
    assert_eq!(
        sandbox.tw_in(&copy, adopt).code,
        5,
        "the first one is still there"
    );
    std::fs::create_dir(&here).unwrap();
    assert_eq!(sandbox.tw(["list"]).code, 1);

    // Restored from a backup: nothing but the path is the same.
    std::fs::remove_dir_all(&there).unwrap();
    std::fs::rename(&copy, &there).unwrap();
    let ran = sandbox.tw_in(&there, ["list"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.err().contains("another directory was at"),
        "{}",
        ran.err()
    );
    let ran = sandbox.tw_in(&there, ["doctor"]);
    assert!(ran.out().contains("init --here --adopt"), "{}", ran.out());
    assert_eq!(sandbox.tw_in(&there, adopt).code, 0);
    assert_eq!(sandbox.tw_in(&there, ["travel", &first]).code, 0);
    assert_eq!(sandbox.tw_in(&there, ["return"]).code, 0);
}

#[test]
fn a_directory_made_anew_begins_anew() {
    let (sandbox, _) = begun();
    std::fs::remove_dir_all(sandbox.repo()).unwrap();
    std::fs::create_dir(sandbox.repo()).unwrap();
    sandbox.write("a.txt", "somebody else's\n");
    assert_eq!(sandbox.tw(["snapshot"]).code, 1);
    let made = sandbox.json(["init", "--here", "-y"]);
    assert_eq!(
        (&made["became"], &made["snapshots"]),
        (&json!("created"), &json!(0))
    );
    assert!(
        made["notices"][0]
            .as_str()
            .unwrap()
            .contains("another directory was at")
    );
    assert_eq!(snapshots(&sandbox), 0);
    let mut standing: Vec<String> = list(&sandbox)
        .iter()
        .map(|one| one["standing"].as_str().unwrap().to_owned())
        .collect();
    standing.sort();
    assert_eq!(standing, ["in-place", "replaced"]);
    // Taking the place of the first one's history needs two steps, neither of which is silent.
    let first = list(&sandbox)
        .into_iter()
        .find(|one| one["standing"] == "replaced")
        .unwrap();
    let key = first["key"].as_str().unwrap();
    assert_eq!(sandbox.tw(["init", "--here", "-y", "--adopt", key]).code, 5);
    sandbox.ok(["init", "--here", "-y", "--remove", "--delete-history"]);
    let adopted = sandbox.json(["init", "--here", "-y", "--adopt", key]);
    assert_eq!(
        (&adopted["became"], &adopted["snapshots"]),
        (&json!("adopted"), &json!(1))
    );
    assert_eq!(list(&sandbox).len(), 1);
}

#[test]
fn git_that_comes_while_it_is_in_the_past_hides_no_present() {
    let (sandbox, first) = begun();
    sandbox.write("a.txt", "precious\n");
    sandbox.ok(["travel", &first]);
    let dir = sandbox.repo();
    let made = provided::git(&sandbox.home())
        .args(["init", "-q"])
        .arg(&dir)
        .status();
    assert!(made.unwrap().success());
    let ran = sandbox.tw(["doctor"]);
    assert_eq!(ran.code, 1, "{}", ran.out());
    let said = ran.out();
    let fix = said
        .lines()
        .find_map(|line| line.trim().strip_prefix("fix: mv "));
    let fix = format!("mv {}", fix.unwrap_or_else(|| panic!("{said}")));
    let (error, code) = sandbox.json_error(["return"]);
    assert_eq!((error["code"].as_str(), code), (Some("NOT_IN_PAST"), 4));
    assert_eq!(error["hints"][1], format!("'{fix}' brings it back"));
    let mut shell = sandbox.command("/bin/sh");
    shell.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
    let line = format!("tw() {{ \"$TW\" \"$@\"; }}; {fix}");
    let ran = shell
        .env("TW", env!("CARGO_BIN_EXE_tw"))
        .args(["-c", &line])
        .output();
    let ran = ran.unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert_eq!(sandbox.text("a.txt"), "precious\n");
    assert!(dir.join(".git/HEAD").is_file());
    assert_eq!(sandbox.tw(["doctor"]).out().matches("fix: mv").count(), 0);
}

#[test]
fn a_history_is_set_aside_and_taken_up_again() {
    let (sandbox, first) = begun();
    // Another user has histories of his own.
    let mut other = sandbox.tw_command();
    let other = other.env("HOME", sandbox.root().join("tmp")).arg("list");
    assert_eq!(other.output().unwrap().status.code(), Some(1));
    let (error, code) = sandbox.json_error(["init", "--here", "--remove"]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
    let dry = sandbox.json(["init", "--here", "--remove", "--dry-run"]);
    assert_eq!(
        (&dry["dry_run"], &dry["became"]),
        (&json!(true), &json!("set-aside"))
    );
    sandbox.ok(["travel", &first]);
    assert_eq!(sandbox.tw(["init", "--here", "--remove", "-y"]).code, 5);
    sandbox.ok(["return"]);
    sandbox.ok(["init", "--here", "--remove", "-y"]);
    let ran = sandbox.tw(["snapshot"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err().contains("was set aside"), "{}", ran.err());
    let again = sandbox.json(["init", "--here", "-y"]);
    assert_eq!(
        (&again["became"], &again["snapshots"]),
        (&json!("attached"), &json!(1))
    );
    let same = sandbox.json(["init", "--here"]);
    assert_eq!(same["became"], "unchanged");
    let gone = sandbox.json(["init", "--here", "--remove", "--delete-history", "-y"]);
    assert_eq!(
        (&gone["became"], &gone["repository"]),
        (&json!("deleted"), &Value::Null)
    );
    assert!(!sandbox.git_dir().exists());
    assert_eq!(list(&sandbox), [Value::Null; 0]);
    assert_eq!(sandbox.text("a.txt"), "one\n");
}

#[test]
fn a_history_that_somebody_removed_is_told_of_and_can_be_begun_again() {
    let (sandbox, _) = begun();
    let place = sandbox.git_dir();
    let remove = || std::fs::remove_dir_all(&place).unwrap();
    let is_told = |error: &Value| {
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("is gone from"), "{error}");
        assert!(error["hints"].to_string().contains("tw init --here"));
    };
    remove();
    for args in [["snapshot"], ["status"]] {
        is_told(&sandbox.json_error(args).0);
    }
    let health = document(&sandbox.tw(["--json", "doctor"]));
    let check = &health["checks"][0];
    assert_eq!(check["status"], "error", "{health}");
    assert!(check["message"].as_str().unwrap().contains("is gone from"));
    assert_eq!(list(&sandbox)[0]["standing"], "history-gone");
    let dry = sandbox.json(["init", "--here", "--dry-run"]);
    assert_eq!(
        (&dry["became"], &dry["repository"]),
        (&json!("created"), &Value::Null)
    );
    let anew = sandbox.json(["init", "--here", "-y"]);
    assert_eq!(
        (&anew["became"], &anew["snapshots"]),
        (&json!("created"), &json!(0))
    );
    assert!(anew["notices"].to_string().contains("is gone from"));
    sandbox.assert_round_trip(&taken(&sandbox), |sandbox| sandbox.write("a.txt", "past\n"));

    // What else lies there may be all that is left of it.
    let aside = place.with_extension("aside");
    std::fs::rename(&place, &aside).unwrap();
    let removed = sandbox.json(["init", "--here", "--remove", "-y"]);
    assert_eq!(
        (&removed["became"], &removed["repository"]),
        (&json!("set-aside"), &Value::Null)
    );
    let said = sandbox.tw(["status"]).err();
    assert!(!said.contains("goes on with it"), "{said}");
    sandbox.ok(["init", "--here", "-y"]);
    assert!(aside.join("HEAD").is_file());
    remove();
    std::fs::rename(&aside, &place).unwrap();
    assert_eq!(snapshots(&sandbox), 1);

    // A part of it was removed: nobody claims that all is well, nor writes over the rest.
    std::fs::remove_file(place.join("HEAD")).unwrap();
    for args in [["init", "--here", "-y"].as_slice(), &["snapshot"]] {
        let (error, _) = sandbox.json_error(args);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("is damaged"), "{error}");
    }
    remove();
    let gone = sandbox.json(["init", "--here", "--remove", "--delete-history", "-y"]);
    assert_eq!(gone["became"], "deleted");
    assert_eq!(list(&sandbox), [Value::Null; 0]);
    assert_eq!(sandbox.json(["init", "--here", "-y"])["became"], "created");
    assert_eq!(sandbox.text("a.txt"), "one\n");
}

#[test]
fn a_repository_of_gits_comes_first() {
    let (sandbox, first) = begun();
    let real = |args: &[&str]| {
        let mut command = sandbox.command("git");
        let ran: Ran = command
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .args(args)
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err());
        ran.out()
    };
    real(&["init", "-q", "-b", "main"]);
    assert_eq!(snapshots(&sandbox), 0);
    let (error, _) = sandbox.json_error(["init", "--here", "-y"]);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("is in the git repository")
    );
    let said = sandbox.ok(["doctor"]);
    let repository = sandbox.git_dir();
    assert!(
        said.contains(&format!("1 snapshot, in '{}'", repository.display())),
        "{said}"
    );
    // What doctor says is a command that works.
    let begin = said.find("'git fetch ").unwrap() + 1;
    let command = said[begin..].split('\'').next().unwrap();
    let words = command.split(' ').skip(1);
    let words: Vec<&str> = words.map(|word| word.trim_matches('"')).collect();
    real(&words);
    sandbox.write("a.txt", "two\n");
    assert!(sandbox.ok(["list", "--all"]).contains(&first[2..]));
    sandbox.ok(["restore", &first, "a.txt"]);
    assert_eq!(sandbox.text("a.txt"), "one\n");
    // And when git goes again, the earlier history is there.
    std::fs::remove_dir_all(sandbox.path(".git")).unwrap();
    assert_eq!(snapshots(&sandbox), 1);
    // A repository below is one below, as everywhere.
    sandbox.mkdir("lib");
    real(&["init", "-q", "lib"]);
    let taken = sandbox.json(["snapshot"]);
    assert_eq!(
        taken["snapshot"]["uncaptured"][0]["reason"], "nested-repository",
        "{taken}"
    );
}

#[test]
fn no_history_is_begun_where_none_should_be() {
    let sandbox = Sandbox::bare_room();
    std::fs::create_dir(sandbox.repo()).unwrap();
    let tried = |dir: &Path, state: &str| {
        let mut command = sandbox.tw_command();
        let output = command
            .current_dir(dir)
            .env("XDG_STATE_HOME", state)
            .args(["--json", "init", "--here", "-y"])
            .output();
        let ran: Ran = output.unwrap().into();
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        document["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(tried(&sandbox.home(), ""), "UNSAFE_WORKSPACE");
    assert_eq!(tried(&sandbox.root(), ""), "UNSAFE_WORKSPACE");
    assert_eq!(tried(Path::new("/"), ""), "UNSAFE_WORKSPACE");
    assert!(!sandbox.home().join(".local").exists());
    // A place that cannot be written to.
    assert_eq!(tried(&sandbox.repo(), "/dev/null"), "IO");
    assert_eq!(tried(&sandbox.repo(), "relative"), "");
    assert!(
        sandbox
            .home()
            .join(".local/state/timewarp/directories")
            .is_dir()
    );
    let root = sandbox.home().join(".local/state/timewarp");
    walk(&root, &mut |path| {
        use std::os::unix::fs::PermissionsExt;
        let mode = path.symlink_metadata().unwrap().permissions().mode();
        let is_open = mode & 0o077 != 0;
        let is_private = !is_open || path.is_symlink() || path.is_file();
        assert!(is_private, "{}", path.display());
    });
    // Another user's directory, and another user in this one.
    if !is_root() {
        skipped("root", "only root can give a directory away");
        return;
    }
    let theirs = sandbox.root().join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::chown(&theirs, Some(65_534), Some(65_534)).unwrap();
    assert_eq!(tried(&theirs, ""), "UNSAFE_REPOSITORY");
}

#[test]
fn the_private_repository_is_never_captured() {
    let sandbox = Sandbox::bare_room();
    std::fs::create_dir(sandbox.repo()).unwrap();
    let state = sandbox.path("state");
    let tw = |args: &[&str]| -> Value {
        let mut command = sandbox.tw_command();
        let command = command
            .env("XDG_STATE_HOME", &state)
            .arg("--json")
            .args(args);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.out());
        serde_json::from_slice(&ran.stdout).unwrap()
    };
    tw(&["init", "--here", "-y"]);
    sandbox.write("a.txt", "one\n");
    let taken = tw(&["snapshot"]);
    assert_eq!(taken["snapshot"]["stats"]["files"], 1, "{taken}");
    let id = taken["snapshot"]["snapshot_id"].as_str().unwrap();
    sandbox.write("a.txt", "two\n");
    tw(&["travel", id]);
    tw(&["snapshot"]);
    assert_eq!(tw(&["return"])["verified"], true);
    assert_eq!(sandbox.text("a.txt"), "two\n");
    // Nor in a repository of git's around it.
    sandbox.git(["init", "-q"]);
    let taken = tw(&["snapshot"]);
    assert_eq!(taken["snapshot"]["stats"]["files"], 1, "{taken}");
}

#[test]
fn room_comes_back_without_a_gc_of_gits() {
    let (sandbox, first) = begun();
    let text = |n: u32| format!("{n}\n").repeat(20_000);
    sandbox.write("large.txt", text(1));
    let large = taken(&sandbox);
    sandbox.write("secret.txt", "hunter2\n");
    taken(&sandbox);
    let blob = |path: &str, of: &str| {
        let out = sandbox.git(["rev-parse", &format!("refs/timewarp/snapshots/{of}:{path}")]);
        out.trim().to_owned()
    };
    let is_there = |oid: &str| sandbox.try_git(["cat-file", "-e", oid]).code == 0;
    let (gone, kept) = (blob("large.txt", &large), blob("a.txt", &first));
    let secret = blob("secret.txt", &taken_with(&sandbox));
    sandbox.remove("large.txt");
    for id in sandbox.json(["list"])["snapshots"]
        .as_array()
        .unwrap()
        .clone()
    {
        let id = id["snapshot_id"].as_str().unwrap();
        if id != first {
            sandbox.ok(["drop", "-y", id]);
        }
    }
    age(&sandbox);
    // It can be taken back, so it stays.
    assert_eq!(sandbox.json(["prune"])["reclaimed"], 0);
    assert!(is_there(&gone));
    sandbox.wait(15 * 24 * 60 * 60);
    sandbox.ok(["label", &first, "begin"]);
    let pruned = sandbox.json(["prune"]);
    assert!(pruned["reclaimed"].as_u64().unwrap() > 0, "{pruned}");
    assert!(!is_there(&gone) && !is_there(&secret) && is_there(&kept));
    assert_fsck_clean(&sandbox, "after a prune");
    // A purge leaves nothing at all.
    let after = taken(&sandbox);
    let secret = blob("secret.txt", &after);
    let purged = sandbox.json(["purge", "--yes-purge", "secret.txt"]);
    assert_eq!(purged["finish"], "", "{purged}");
    assert!(!is_there(&secret) && is_there(&kept));
    assert_fsck_clean(&sandbox, "after a purge");
    sandbox.assert_round_trip(&first, |_| {});
}

#[test]
fn a_purge_names_what_deletes_the_bytes_that_it_cannot() {
    let (sandbox, _) = begun();
    let there = |oid: &str| sandbox.try_git(["cat-file", "-e", oid]).code == 0;
    // In a pack that git made.
    sandbox.write("secret.txt", "hunter2\n");
    taken(&sandbox);
    let secret = sandbox.git(["hash-object", "secret.txt"]);
    sandbox.git(["gc", "--quiet"]);
    sandbox.remove("secret.txt");
    let purged = sandbox.json(["purge", "--yes-purge", "secret.txt"]);
    let git = format!("git --git-dir={}", sandbox.git_dir().display());
    let finish = format!("{git} reflog expire --expire=now --all && {git} gc --prune=now");
    assert_eq!(purged["finish"], finish, "{purged}");
    assert!(there(secret.trim()));
    sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(["gc", "--quiet", "--prune=now"]);
    assert!(!there(secret.trim()));
    // While somebody else clears up.
    sandbox.write("secret.txt", "swordfish\n");
    taken(&sandbox);
    let secret = sandbox.git(["hash-object", "secret.txt"]);
    sandbox.remove("secret.txt");
    let lock = std::fs::File::create(sandbox.git_dir().join("timewarp/reclaim.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    sandbox.git(["config", "timewarp.lockTimeout", "0.1"]);
    let purged = sandbox.json(["purge", "--yes-purge", "secret.txt"]);
    let path = sandbox.path("secret.txt");
    let finish = format!("tw purge --yes-purge {}", path.display());
    assert_eq!(purged["finish"], finish, "{purged}");
    assert!(there(secret.trim()));
    drop(lock);
    let purged = sandbox.json(["purge", "--yes-purge", path.to_str().unwrap()]);
    assert_eq!(purged["finish"], "", "{purged}");
    assert!(!there(secret.trim()));
}

#[test]
fn a_log_that_cannot_be_read_stops_the_clearing_up() {
    let (sandbox, _) = begun();
    sandbox.write("large.txt", "1\n".repeat(20_000));
    let dropped = taken(&sandbox);
    let named = format!("refs/timewarp/snapshots/{dropped}:large.txt");
    let blob = sandbox.git(["rev-parse", &named]);
    sandbox.remove("large.txt");
    taken(&sandbox);
    sandbox.ok(["drop", "-y", &dropped]);
    sandbox.wait(15 * 24 * 60 * 60);
    age(&sandbox);
    let logs = sandbox.git_dir().join("logs");
    let away = logs.with_extension("away");
    let had_logs = std::fs::rename(&logs, &away).is_ok();
    std::os::unix::fs::symlink("logs", &logs).unwrap();
    let stopped = sandbox.json(["prune"]);
    assert_eq!(stopped["reclaimed"], 0, "{stopped}");
    let said = stopped["notices"].to_string();
    assert!(said.contains("no room was taken back"), "{stopped}");
    assert!(sandbox.try_git(["cat-file", "-e", blob.trim()]).code == 0);
    std::fs::remove_file(&logs).unwrap();
    if had_logs {
        std::fs::rename(&away, &logs).unwrap();
    }
    let pruned = sandbox.json(["prune"]);
    assert!(pruned["reclaimed"].as_u64().unwrap() > 0, "{pruned}");
}

/// The newest snapshot.
fn taken_with(sandbox: &Sandbox) -> String {
    let listed = sandbox.json(["list"]);
    listed["snapshots"][0]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Makes every object old.
fn age(sandbox: &Sandbox) {
    walk(&sandbox.git_dir().join("objects"), &mut |path| {
        if path.is_file() {
            let mut touch = std::process::Command::new(executable("touch".as_ref()));
            assert!(
                touch
                    .args(["-d", "2020-01-01"])
                    .arg(path)
                    .status()
                    .unwrap()
                    .success()
            );
        }
    });
}

#[test]
fn a_snapshot_beside_the_clearing_up_keeps_what_it_uses_again() {
    let (sandbox, _) = begun();
    sandbox.write("again.txt", "seen before\n");
    let dropped = taken(&sandbox);
    sandbox.remove("again.txt");
    taken(&sandbox);
    sandbox.ok(["drop", "-y", &dropped]);
    age(&sandbox);
    // By the real clock that is long ago, so nothing holds the blob when the clearing up looks.
    let stopped = with_pause(&sandbox, &["prune"], "reclaim-known", &|sandbox| {
        sandbox.write("again.txt", "seen before\n");
        taken(sandbox);
    });
    assert!(stopped);
    assert_fsck_clean(&sandbox, "after both");
    let commit = sandbox.json(["show", "latest"])["snapshot"]["commit"].clone();
    let spec = format!("{}:again.txt", commit.as_str().unwrap());
    assert_eq!(sandbox.git(["cat-file", "blob", &spec]), "seen before\n");
}

#[test]
fn a_killed_travel_is_undone_or_done_without_git() {
    let sandbox = Sandbox::without_git();
    sandbox.write("a.txt", "one\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.git(["commit", "-q", "-m", "first"]);
    let (sandbox, snapshot) = eventful_in(sandbox);
    let home = sandbox.state();
    let stage = Stage::new(sandbox, &["travel", &snapshot], Some(home));
    assert!(stage.crash_everywhere() >= 20);
}

/// Each file of the worktree is written under another name first.
#[test]
fn a_killed_open_leaves_nothing_without_git() {
    for nth in 1..=5 {
        let (sandbox, id) = begun();
        let point = format!("file-written:{nth}");
        killed_at(&sandbox, &point, &["open", &id, "../o/x"]);
        sandbox.ok(["recover"]);
        assert!(!sandbox.git_dir().join("worktrees").exists(), "{nth}");
        assert!(!sandbox.root().join("o").exists(), "{nth}");
        sandbox.ok(["open", &id, "../o/x"]);
        sandbox.ok(["close", "../o/x"]);
    }
}

#[test]
fn what_is_said_to_do_can_be_done_there() {
    let (sandbox, _) = begun();
    sandbox.write(".env", "KEY=1\n");
    let said = sandbox.tw(["snapshot"]).err();
    assert!(said.contains("tw config --add exclude /.env"), "{said}");
    let (error, _) = sandbox.json_error(["share", "init", "origin"]);
    let hint = error["hints"].to_string();
    assert!(
        hint.contains("'git --git-dir=") && hint.contains("remote add"),
        "{hint}"
    );
    let file = sandbox.git_dir().join("config");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}[timewarp]\n\tkeepDays = never\n")).unwrap();
    let warned = sandbox.json(["config"])["warnings"].to_string();
    assert!(warned.contains("tw config --unset keep_days"), "{warned}");
}
