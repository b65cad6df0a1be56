//! `tw bisect run`: the snapshot that broke it, and nothing that was not seen.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::trip::snapshot;

/// A repository with a snapshot for each letter: `g` is good, `b` bad, `s` cannot be judged; in order.
fn line(letters: &str) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let each = letters.chars().enumerate().map(|(nth, letter)| {
        sandbox.write("state", format!("{letter}\n"));
        sandbox.write("number", format!("{nth}\n"));
        snapshot(&sandbox)
    });
    let ids = each.collect();
    (sandbox, ids)
}

/// Says of a tree what its file `state` says.
const JUDGE: &str = "case $(cat state) in g) exit 0;; s) exit 125;; *) exit 1;; esac";

/// Without `--json`'s success: a range and a flaky command have exit codes of their own.
fn answer<const N: usize>(sandbox: &Sandbox, words: [&str; N], code: i32) -> Value {
    let ran = sandbox.tw(words);
    assert_eq!(ran.code, code, "{}{}", ran.out(), ran.err());
    let document = crate::schema::read(&ran.stdout).unwrap();
    crate::schema::check("bisect-run", &document);
    document
}

fn id(point: &Value) -> &str {
    point["snapshot_id"].as_str().unwrap_or_default()
}

fn probed(found: &Value) -> Vec<&str> {
    let probes = found["probes"].as_array().unwrap().iter();
    probes
        .filter(|probe| probe["known"] == false)
        .map(id)
        .collect()
}

fn scratches(sandbox: &Sandbox) -> Value {
    sandbox.json(["scratch", "list"])["scratches"].clone()
}

#[test]
fn the_snapshot_that_broke_it_is_named() {
    let (sandbox, ids) = line("ggggggbbbb");
    sandbox.write("number", "not in any snapshot\n");
    let status = || sandbox.git(["status", "--porcelain=v2"]) + &sandbox.git(["worktree", "list"]);
    let before = status();
    let found = sandbox.json(["bisect", "run", "--", "sh", "-c", JUDGE]);
    assert_eq!(found["result"], "found");
    assert_eq!(id(&found["first_bad"]), ids[6]);
    assert_eq!(found["first_bad"]["origin"], "between");
    assert_eq!(id(&found["last_good"]), ids[5]);
    assert_eq!(found["diff"]["files"].as_array().unwrap().len(), 2);
    assert_eq!(found["candidates"].as_array().unwrap().len(), 1);
    assert_eq!(found["notices"], json!([]));
    // The present was not touched, and nothing is left.
    assert_eq!(sandbox.text("number"), "not in any snapshot\n");
    assert_eq!(status(), before);
    assert_eq!(scratches(&sandbox), json!([]));
    let said = sandbox.ok(["bisect", "run", "--", "sh", "-c", JUDGE]);
    assert!(
        said.contains("first bad") && said.contains(&ids[6]),
        "{said}"
    );
    assert!(said.contains("2 files changed since"), "{said}");
    // Nobody's prompt led there.
    let said = sandbox.tw(["bisect", "run", "--", "sh", "-c", JUDGE]).err();
    assert!(
        said.contains("tw open") && !said.contains("tw revert"),
        "{said}"
    );
}

#[test]
fn the_prompt_that_is_named_can_be_taken_back() {
    let sandbox = Sandbox::new();
    let hook = |event: &str, prompt: &str| {
        let payload = json!({
            "session_id": "s-1", "cwd": sandbox.repo(), "hook_event_name": event, "prompt": prompt,
        });
        let mut command = sandbox.tw_command();
        let command = command.args(["hook", "claude", event]);
        let ran = command.write_stdin(payload.to_string()).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    sandbox.write("state", "g\n");
    for (nth, letter) in "ggbb".chars().enumerate() {
        hook("user-prompt-submit", &format!("change {nth}"));
        sandbox.write("state", format!("{letter}\n"));
        sandbox.write(format!("file{nth}"), "x\n");
        hook("stop", "");
    }
    let said = sandbox.tw(["bisect", "run", "--", "sh", "-c", JUDGE]).err();
    let hint = said
        .lines()
        .find_map(|line| line.strip_prefix("hint: 'tw revert "));
    let prompt = hint.and_then(|rest| rest.split('\'').next()).unwrap();
    sandbox.ok(["revert", prompt]);
    assert_eq!(sandbox.text("state"), "g\n");
    assert!(!sandbox.exists("file2") && sandbox.exists("file3"));
    // The first good one is nothing to take back.
    sandbox.ok(["undo"]);
    sandbox.write("state", "g\n");
    let mended = sandbox.tw(["bisect", "run", "--find-good", "--", "sh", "-c", JUDGE]);
    assert!(mended.out().contains("first good"), "{}", mended.out());
    let said = mended.err();
    assert!(
        said.contains("tw open") && !said.contains("tw revert"),
        "{said}"
    );
}

#[test]
fn the_prompt_in_whose_turn_it_broke_is_named() {
    let sandbox = Sandbox::new();
    let hook = |event: &str, prompt: &str| {
        let dir = sandbox.repo();
        let payload = json!({
            "session_id": "11111111-2222", "cwd": dir, "hook_event_name": event, "prompt": prompt,
        });
        let mut command = sandbox.tw_command();
        let command = command.args(["hook", "claude", event]);
        let ran = command.write_stdin(payload.to_string()).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    sandbox.write("state", "g\n");
    for (nth, letter) in "ggbb".chars().enumerate() {
        hook(
            "user-prompt-submit",
            &format!("change number {nth}\nand more"),
        );
        sandbox.write("state", format!("{letter}\n"));
        sandbox.write("number", format!("{nth}\n"));
        hook("stop", "");
    }
    let found = sandbox.json(["bisect", "run", "--", "sh", "-c", JUDGE]);
    let bad = &found["first_bad"];
    assert_eq!(bad["origin"], "prompt");
    assert_eq!(bad["session_id"], "11111111-2222");
    assert_eq!(bad["prompt"], "change number 2\nand more");
    let said = sandbox.tw(["bisect", "run", "--", "sh", "-c", JUDGE]).err();
    let number = &bad["checkpoint_id"];
    let revert =
        format!("hint: 'tw revert 11111111-2222:{number}' takes back what this prompt changed");
    assert!(said.contains(&revert), "{said}");
    let of_session = sandbox.json([
        "bisect",
        "run",
        "--session",
        "11111111",
        "--",
        "sh",
        "-c",
        JUDGE,
    ]);
    assert_eq!(of_session["first_bad"], *bad);
    // What the first search found out counts; it had not asked for the session's own beginning.
    assert!(probed(&of_session).len() < 2, "{of_session}");
}

#[test]
fn where_two_turns_went_on_both_are_named() {
    let (sandbox, _) = line("g");
    let sessions = ["11111111-2222", "99999999-2222"];
    let hook = |session: &str, event: &str| {
        let payload = json!({
            "session_id": session, "cwd": sandbox.repo(), "hook_event_name": event, "prompt": format!("of {session}"),
        });
        let mut command = sandbox.tw_command();
        let command = command.args(["hook", "claude", event]);
        let ran = command.write_stdin(payload.to_string()).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    for session in sessions {
        hook(session, "SessionStart");
        hook(session, "UserPromptSubmit");
    }
    sandbox.write("state", "b\n");
    for session in sessions {
        hook(session, "Stop");
    }
    let found = answer(
        &sandbox,
        ["bisect", "run", "--json", "--", "sh", "-c", JUDGE],
        0,
    );
    let bad = &found["first_bad"];
    assert_eq!(
        (&bad["origin"], &bad["session_id"]),
        (&json!("ambiguous"), &Value::Null)
    );
    let candidates = bad["candidates"].as_array().unwrap().iter();
    let candidates: Vec<&str> = candidates
        .map(|one| one["session_id"].as_str().unwrap())
        .collect();
    assert_eq!(candidates, sessions);
    let said = sandbox.ok(["bisect", "run", "--", "sh", "-c", JUDGE]);
    assert!(
        said.contains(
            "in the turn of one of these prompts\n  claude 11111111-2222:0\n  'of 11111111-2222'\n"
        ),
        "{said}"
    );
}

/// A tree says neither, and a command sees both.
#[test]
fn states_that_differ_in_bits_or_empty_directories_alone_are_two() {
    let check = "test $(stat -c %a key) = 600 && test -d spool";
    for (culprit, differs) in [
        ("chmod 644 key", "mode key: 0600 to 0644"),
        ("rmdir spool", "empty directory spool: removed"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("key", "k\n");
        sandbox.chmod("key", 0o600);
        std::fs::create_dir(sandbox.path("spool")).unwrap();
        let mut ids = Vec::new();
        for number in 0..6 {
            if number == 3 {
                let mut shell = sandbox.command("sh");
                let ran = shell.args(["-c", culprit]).output().unwrap();
                assert!(ran.status.success());
            } else {
                sandbox.write("number", format!("{number}\n"));
            }
            ids.push(snapshot(&sandbox));
        }
        let words = ["bisect", "run", "--", "sh", "-c", check];
        for knows in [false, true] {
            let found = sandbox.json(words);
            assert_eq!(id(&found["first_bad"]), ids[3], "{culprit}: {found}");
            assert_eq!(id(&found["last_good"]), ids[2], "{culprit}");
            assert_eq!(probed(&found).is_empty(), knows, "{found}");
            assert_eq!(found["diff"]["others"].as_array().unwrap().len(), 1);
        }
        let said = sandbox.tw(words).out();
        let told = format!("  no file differs from {}\n    {differs}\n", ids[2]);
        assert!(said.contains(&told), "{said}");
    }
}

#[test]
fn the_one_that_mended_it_is_found_too() {
    let (sandbox, ids) = line("bbbbbgg");
    let found = sandbox.json([
        "bisect",
        "run",
        "--find-good",
        "-j",
        "2",
        "--",
        "sh",
        "-c",
        JUDGE,
    ]);
    assert_eq!(found["result"], "found");
    assert_eq!(id(&found["first_good"]), ids[5]);
    assert_eq!(id(&found["last_bad"]), ids[4]);
    assert_eq!(found["first_bad"], Value::Null);
    // What is good is good, whatever is searched for.
    let (error, code) = sandbox.json_error(["bisect", "run", "--", "sh", "-c", JUDGE]);
    assert_eq!((error["code"].as_str(), code), (Some("NOT_REPRODUCED"), 1));
    assert_eq!(error["end"], "bad");
    let said = sandbox.tw(["--json", "bisect", "run", "--", "sh", "-c", JUDGE]);
    let document: Value = serde_json::from_slice(&said.stdout).expect("one document");
    assert_eq!(document["result"], "not-reproduced", "{document}");
}

#[test]
fn an_end_that_is_not_as_it_is_to_be_is_named() {
    let (sandbox, ids) = line("bbgb");
    let ends = [
        "bisect", "run", "--good", &ids[0], "--bad", &ids[3], "--", "sh", "-c", JUDGE,
    ];
    let (error, code) = sandbox.json_error(ends);
    assert_eq!((error["code"].as_str(), code), (Some("NOT_REPRODUCED"), 1));
    assert_eq!(
        (error["end"].as_str(), error["snapshot_id"].as_str()),
        (Some("good"), Some(ids[0].as_str()))
    );
    for command in ["no-such-command-anywhere", "kill -9 $$", "exit 127"] {
        let (error, _) = sandbox.json_error(["bisect", "run", "--", "sh", "-c", command]);
        assert_eq!(
            (error["code"].as_str(), error["end"].as_str()),
            (Some("NOT_REPRODUCED"), Some("bad")),
            "{command}"
        );
        assert_eq!(error["probes"][0]["verdict"], "undecided");
    }
    let begun = Instant::now();
    let slow = sandbox
        .json_error(["bisect", "run", "--timeout", "1s", "--", "sleep", "60"])
        .0;
    assert_eq!(slow["probes"][0]["reason"], "it timed out");
    assert!(begun.elapsed() < Duration::from_secs(40));
    let backwards = [
        "bisect", "run", "--good", &ids[3], "--bad", &ids[0], "--", "true",
    ];
    assert_eq!(sandbox.json_error(backwards).0["code"], "USAGE");
}

#[test]
fn what_cannot_be_judged_leaves_a_range() {
    let (sandbox, ids) = line("gggssbb");
    let range = answer(
        &sandbox,
        ["--json", "bisect", "run", "--", "sh", "-c", JUDGE],
        4,
    );
    assert_eq!(range["result"], "range");
    assert_eq!(id(&range["last_good"]), ids[2]);
    assert_eq!(id(&range["first_bad"]), ids[5]);
    let candidates: Vec<&str> = range["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(id)
        .collect();
    assert_eq!(candidates, [&ids[3], &ids[4], &ids[5]]);
}

#[test]
fn back_and_forth_is_told_with_every_edge_that_was_seen() {
    let (sandbox, ids) = line("gbbggb");
    let words = [
        "bisect", "run", "--good", &ids[0], "-j", "6", "--", "sh", "-c", JUDGE,
    ];
    let found = sandbox.json(words);
    assert_eq!(found["result"], "not-monotonic");
    assert_eq!(id(&found["first_bad"]), ids[5]);
    let candidates: Vec<&str> = found["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(id)
        .collect();
    assert_eq!(candidates, [&ids[1], &ids[5]]);
}

#[test]
fn what_was_seen_before_the_good_end_that_was_sought_is_told() {
    let (sandbox, ids) = line("ggbbbbbgb");
    let found = sandbox.json(["bisect", "run", "-j", "3", "--", "sh", "-c", JUDGE]);
    assert_eq!(found["result"], "not-monotonic");
    assert_eq!(id(&found["first_bad"]), ids[8]);
    assert_eq!(id(&found["last_good"]), ids[7]);
    let candidates = found["candidates"].as_array().unwrap().iter();
    let candidates: Vec<&str> = candidates.map(id).collect();
    assert_eq!(candidates, [&ids[2], &ids[8]]);
}

#[test]
fn a_command_with_different_verdicts_blames_nothing() {
    let (sandbox, _) = line("gggbbb");
    let counter = sandbox.root().join("counter");
    let flip = format!(
        "echo >>{0}; test $(($(wc -l <{0}) % 2)) = 0",
        counter.display()
    );
    let words = [
        "--json", "bisect", "run", "-j", "1", "--repeat", "3", "--", "sh", "-c", &flip,
    ];
    let flaky = answer(&sandbox, words, 1);
    assert_eq!(flaky["result"], "flaky");
    assert_eq!(flaky["first_bad"], Value::Null);
}

#[test]
fn nothing_is_asked_twice() {
    let (sandbox, ids) = line("gggggbbb");
    // The same files as an earlier snapshot.
    sandbox.write("state", "b\n");
    sandbox.write("number", "5\n");
    let again = snapshot(&sandbox);
    let run = || sandbox.json(["bisect", "run", "--good", &ids[0], "--", "sh", "-c", JUDGE]);
    let first = run();
    let asked = probed(&first);
    assert!(
        !(asked.contains(&again.as_str()) && asked.contains(&ids[5].as_str())),
        "{asked:?}"
    );
    let second = run();
    assert_eq!((probed(&second).len(), &second["rounds"]), (0, &json!(0)));
    assert_eq!(second["first_bad"], first["first_bad"]);
    // Another command, another version of a file, another ignored file: other questions.
    let other = sandbox.json([
        "bisect",
        "run",
        "--good",
        &ids[0],
        "--",
        "sh",
        "-c",
        &format!("{JUDGE} #"),
    ]);
    assert!(!probed(&other).is_empty());
    sandbox.write(".git/info/exclude", "/dep\n");
    sandbox.write(".worktreeinclude", "/dep\n");
    sandbox.write("dep", "1\n");
    assert!(!probed(&run()).is_empty());
    sandbox.write("dep", "2\n");
    assert!(!probed(&run()).is_empty());
}

#[test]
fn files_of_the_present_are_put_over_every_snapshot() {
    let (sandbox, ids) = line("gggbb");
    sandbox.write("check/new.sh", JUDGE);
    let words = [
        "bisect",
        "run",
        "--with",
        "check",
        "--",
        "sh",
        "check/new.sh",
    ];
    let found = sandbox.json(words);
    assert_eq!(id(&found["first_bad"]), ids[3]);
    let none = sandbox
        .json_error(["bisect", "run", "--with", "nothing", "--", "true"])
        .0;
    assert_eq!(none["code"], "PATH_NOT_FOUND");
}

/// What is put over is no work of the command's; what it leaves is kept.
#[test]
fn a_directory_of_the_present_is_put_over_as_it_is_and_what_is_left_is_an_experiment() {
    let (sandbox, ids) = line("gb");
    sandbox.write("check/old", "gone in the present\n");
    snapshot(&sandbox);
    sandbox.remove("check/old");
    sandbox.write(
        "check/run.sh",
        "test ! -e check/old && test $(cat state) = g\n",
    );
    let run = |script: &str| {
        let words = [
            "bisect", "run", "--good", &ids[0], "--with", "check", "--", "sh", "-c", script,
        ];
        sandbox.json(words)
    };
    assert_eq!(id(&run("sh check/run.sh")["first_bad"]), ids[1]);
    let kept = || sandbox.json(["list", "--kind", "experiment"])["total"].clone();
    assert_eq!(kept(), 0);
    assert_eq!(id(&run("echo >made; sh check/run.sh")["first_bad"]), ids[1]);
    assert!(kept().as_u64() >= Some(2));
}

#[test]
fn what_the_setup_leaves_running_is_named() {
    let (sandbox, _) = line("gb");
    let setup = "setsid sleep 104 & sleep 1";
    let found = sandbox.json(["bisect", "run", "--setup", setup, "--", "sh", "-c", JUDGE]);
    for probe in found["probes"].as_array().unwrap() {
        let leak = probe["leaks"][0].as_str().unwrap_or_default();
        assert!(leak.contains("sleep 104"), "{probe}");
    }
}

#[test]
fn setup_comes_first_and_decides_nothing_when_it_fails() {
    let (sandbox, ids) = line("ggbb");
    let run = |setup: &str| {
        let words = [
            "--json",
            "bisect",
            "run",
            "--setup",
            setup,
            "--",
            "sh",
            "-c",
            "cp state seen; test $(cat seen ready) = g",
        ];
        sandbox.tw(words)
    };
    let found: Value = serde_json::from_str(&run("touch ready").out()).unwrap();
    assert_eq!(id(&found["first_bad"]), ids[2]);
    let failed: Value = serde_json::from_str(&run("exit 3").out()).unwrap();
    assert_eq!(
        failed["error"]["probes"][0]["reason"],
        "the setup command failed"
    );
    let words = ["--timeout", "1s", "--setup", "sleep 60", "--", "true"];
    let (error, _) = sandbox.json_error(["bisect", "run"].iter().chain(&words));
    assert_eq!(error["probes"][0]["reason"], "the setup command timed out");
}

#[test]
fn what_a_run_does_outside_of_its_scratch_is_told() {
    let (sandbox, _) = line("ggbb");
    let escape = format!("echo x >>$TW_SOURCE/a.txt; git branch made-$TW_RUN_ID; {JUDGE}");
    let found = sandbox.json(["bisect", "run", "--", "sh", "-c", &escape]);
    assert_eq!(found["escapes"], json!(["a.txt"]));
    let refs = found["refs_made"].as_array().unwrap();
    let is_made = |name: &Value| {
        name.as_str()
            .unwrap()
            .starts_with("refs/heads/made-bisect-")
    };
    assert!(!refs.is_empty() && refs.iter().all(is_made), "{refs:?}");
    assert_eq!(found["notices"], json!([]));
    // People read it, too; what was known from before is not run again.
    let more = format!("echo x >\"$TW_SOURCE/more.txt\"; git tag -f tagged; {JUDGE}");
    let said = sandbox.ok(["bisect", "run", "-j", "1", "--", "sh", "-c", &more]);
    assert!(
        said.contains("\n  changed in the present: more.txt\n"),
        "{said}"
    );
    assert!(
        said.contains("\n  made or changed refs: refs/tags/tagged\n"),
        "{said}"
    );
    let again = sandbox.ok(["bisect", "run", "-j", "1", "--", "sh", "-c", JUDGE]);
    assert!(!again.contains("changed in the present"), "{again}");
}

#[test]
fn what_a_run_does_to_ignored_files_and_the_git_directory_is_told() {
    let (sandbox, _) = line("ggbb");
    sandbox.write(".git/info/exclude", ".env\n");
    sandbox.write(".env", "the only copy\n");
    let escape = format!("echo x >$TW_SOURCE/.env; git config core.hooksPath .husky; {JUDGE}");
    let found = sandbox.json(["bisect", "run", "-j", "1", "--", "sh", "-c", &escape]);
    assert_eq!(found["escapes"], json!([".env", ".git/config"]));
}

#[test]
fn what_a_run_did_outside_is_told_when_nothing_was_found_too() {
    let (sandbox, _) = line("gg");
    let escape = format!("echo x >\"$TW_SOURCE/a.txt\"; git branch -f side; {JUDGE}");
    let (error, code) = sandbox.json_error(["bisect", "run", "--", "sh", "-c", &escape]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("NOT_REPRODUCED"), 1),
        "{error}"
    );
    assert_eq!(error["escapes"], json!(["a.txt"]));
    assert_eq!(error["refs_made"], json!(["refs/heads/side"]));
    sandbox.write("state", "s\n");
    let said = sandbox
        .tw(["bisect", "run", "--", "sh", "-c", &escape])
        .err();
    // It was there before this search.
    assert!(!said.contains("a.txt") && !said.contains("side"), "{said}");
    sandbox.remove("a.txt");
    let other = format!("{escape} # asked anew");
    let said = sandbox
        .tw(["bisect", "run", "--", "sh", "-c", &other])
        .err();
    assert!(
        said.contains("hint: changed in the present: a.txt\n"),
        "{said}"
    );
}

#[test]
fn what_a_stopped_search_did_outside_is_told() {
    let (sandbox, _) = line("ggbb");
    let (own, began) = (sandbox.root().join("own"), sandbox.root().join("began"));
    let start = format!("echo $$ >{}; exec \"$@\"", own.display());
    let script = format!(
        "echo x >\"$TW_SOURCE/a.txt\"; echo >{}; sleep 300",
        began.display()
    );
    let mut command = sandbox.command("sh");
    command.args(["-c", &start, "sh", env!("CARGO_BIN_EXE_tw"), "--json"]);
    command.args(["bisect", "run", "-j", "1", "--", "sh", "-c", &script]);
    let waiting = std::thread::spawn(move || command.output());
    let begun = Instant::now();
    while !began.exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it does not begin"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = std::fs::read_to_string(&own).unwrap();
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = waiting.join().unwrap().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    crate::schema::check("bisect-run", &said);
    assert_eq!(
        (&said["ok"], &said["result"]),
        (&json!(true), &json!("interrupted"))
    );
    assert_eq!(said["escapes"], json!(["a.txt"]), "{said}");
    let stopped = said["probes"].as_array().unwrap();
    assert_eq!(stopped[0]["verdict"], "undecided", "{said}");
}

#[test]
fn a_killed_search_leaves_no_process_and_nothing_after_gc() {
    let (sandbox, _) = line("ggbb");
    let mark = sandbox.root().join("running");
    let script = format!("echo $$ >>{}; exec sleep 600", mark.display());
    let own = sandbox.root().join("own");
    let start = format!("echo $$ >{}; exec \"$@\"", own.display());
    let mut command = sandbox.command("sh");
    command.args(["-c", &start, "sh", env!("CARGO_BIN_EXE_tw")]);
    command.args(["bisect", "run", "--", "sh", "-c", &script]);
    let waiting = std::thread::spawn(move || command.output());
    let begun = Instant::now();
    let pids = loop {
        let pids = std::fs::read_to_string(&mark).unwrap_or_default();
        if pids.lines().count() == 3 {
            break pids;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{pids}");
        std::thread::sleep(Duration::from_millis(20));
    };
    let own = std::fs::read_to_string(&own).unwrap();
    let pid = rustix::process::Pid::from_raw(own.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let _ = waiting.join();
    let is_there = |pid: &str| std::path::Path::new("/proc").join(pid).join("cwd").exists();
    while pids.lines().any(is_there) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{pids}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let removed = sandbox.json(["scratch", "gc"])["removed"].clone();
    assert_eq!(removed.as_array().unwrap().len(), 3);
    assert_eq!(scratches(&sandbox), json!([]));
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
}
