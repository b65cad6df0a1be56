//! What fails in one repository of three in the middle of a swap over all, and power that goes: all are on one side, and what is
//! said of it is so.

use std::process::Stdio;

use serde_json::Value;

use super::{PATHS, Trio, assert_same, differences};
use crate::damage::{document, raw_command};
use crate::many::{Held, go_on, wait_until_stopped};
use crate::sandbox::{Kind, Sandbox};

/// Runs a command in the head that stops at a point; meanwhile something happens. What it answers.
fn meanwhile(trio: &Trio, args: &[&str], point: &str, happens: impl FnOnce()) -> Value {
    let command = raw_command(&trio.sandbox.root(), env!("CARGO_BIN_EXE_tw"))
        .current_dir(trio.sandbox.repo())
        .env("TW_STOP_POINT", point)
        .arg("--json")
        .args(args)
        .stdout(Stdio::piped())
        .spawn();
    let mut stopped = Held(command.unwrap());
    wait_until_stopped(stopped.0.id());
    happens();
    go_on(stopped.0.id());
    let mut said = String::new();
    let mut stdout = stopped.0.stdout.take().unwrap();
    std::io::Read::read_to_string(&mut stdout, &mut said).unwrap();
    stopped.0.wait().unwrap();
    serde_json::from_str(&said).unwrap()
}

fn has_journal(trio: &Trio, path: &str) -> bool {
    let dir = trio.sandbox.path(path).join(".git/timewarp");
    dir.join("journal.json").exists()
}

fn is_clear(trio: &Trio) -> bool {
    let together = trio.sandbox.path(".git/timewarp/together.json");
    PATHS.iter().all(|path| !has_journal(trio, path)) && !together.exists()
}

/// A head that is written past its lock while the present is put back: 1 is the first member's, 3 the head's own.
#[track_caller]
fn with_failing_proof(nth: usize, path: &str) -> (Trio, Vec<crate::state::State>) {
    let trio = Trio::of(Kind::ref_files());
    let home = trio.states();
    trio.json_in("", &["travel", &trio.snapshot]);
    let past = trio.states();
    let dir = trio.sandbox.path(path);
    let said = meanwhile(&trio, &["return"], &format!("swap-operation:{nth}"), || {
        let head = trio.sandbox.git_in(&dir, ["rev-parse", "HEAD"]);
        std::fs::write(dir.join(".git/HEAD"), head).unwrap();
    });
    let error = &said["error"];
    assert_eq!(error["code"], "VERIFY_FAILED", "{said}");
    assert!(error["hints"].to_string().contains("tw recover"), "{said}");
    for other in PATHS {
        assert_eq!(has_journal(&trio, other), other == path, "{other}: {said}");
    }
    if path.is_empty() {
        assert_eq!(error.get("member"), None, "{said}");
    } else {
        assert_eq!(error["member"], path, "{said}");
    }
    // The others are where they were.
    for (at, other) in PATHS
        .iter()
        .enumerate()
        .filter(|(_, other)| **other != path)
    {
        let now = trio.states();
        let far = differences(&past[at..=at], &now[at..=at]);
        assert_eq!(far, [""; 0], "{other}");
    }
    (trio, home)
}

#[test]
fn a_proof_that_fails_in_one_takes_the_others_back_and_leaves_that_one_to_be_recovered() {
    for (nth, path) in [(2, "../lib"), (3, "")] {
        let (trio, home) = with_failing_proof(nth, path);
        // Nobody goes on before that is done.
        let refused = document(&trio.tw_in("", &["return"]));
        assert_eq!(refused["error"]["code"], "INTERRUPTED", "{refused}");
        trio.json_in("", &["recover"]);
        assert!(is_clear(&trio), "{path}");
        assert_eq!(trio.modes(), ["past"; 3]);
        let returned = trio.json_in("", &["return"]);
        assert_eq!(returned["verified"], true);
        assert_same(&home, &trio.states());
    }
}

#[test]
fn what_cannot_be_noted_after_the_decision_is_finished_by_recovery() {
    for path in ["", "../lib"] {
        let trio = Trio::new();
        let home = trio.states();
        let state = trio.sandbox.path(path).join(".git/timewarp/state.json");
        // Nothing can be renamed over it, as when the disk is full.
        let said = meanwhile(
            &trio,
            &["travel", &trio.snapshot],
            "together-decided",
            || {
                let _ = std::fs::remove_file(&state);
                std::fs::create_dir_all(state.join("in the way")).unwrap();
            },
        );
        assert_eq!(said["error"]["code"], "INTERRUPTED", "{said}");
        let message = said["error"]["message"].as_str().unwrap();
        assert!(message.contains("done in all"), "{said}");
        assert!(has_journal(&trio, path), "{said}");
        std::fs::remove_dir_all(&state).unwrap();
        let recovered = trio.json_in("nested", &["recover"]);
        assert_ne!(recovered["action"], "nothing", "{recovered}");
        assert!(is_clear(&trio), "{path}: {recovered}");
        assert_eq!(trio.modes(), ["past"; 3]);
        let text = |path: &str| trio.sandbox.text(trio.sandbox.path(path).join("a.txt"));
        assert_eq!(
            PATHS.map(text),
            PATHS.map(|path| format!("edited in '{path}'\n"))
        );
        trio.json_in("", &["return"]);
        assert_same(&home, &trio.states());
    }
}

#[test]
fn an_error_in_the_last_takes_the_first_back() {
    let trio = Trio::of(Kind::ref_files());
    let home = trio.states();
    let head = trio.sandbox.path(".git/HEAD");
    let before = std::fs::read(&head).unwrap();
    let elsewhere = trio.sandbox.git(["rev-parse", "HEAD~"]);
    // Somebody who heeds no lock moves the HEAD of the one that is last.
    let said = meanwhile(&trio, &["travel", &trio.snapshot], "swap-applied:2", || {
        std::fs::write(&head, elsewhere).unwrap();
    });
    assert_eq!(said["ok"], false, "{said}");
    let hints = said["error"]["hints"].to_string();
    assert!(
        hints.contains("in every member everything is as it was"),
        "{said}"
    );
    assert!(is_clear(&trio));
    assert_eq!(trio.modes(), ["present"; 3]);
    std::fs::write(&head, before).unwrap();
    assert_same(&home, &trio.states());
}

/// `tw` in a boot, in one of the three.
fn in_boot(trio: &Trio, boot: u32, path: &str, args: &[&str], dies: &str) -> crate::sandbox::Ran {
    let mut command = trio.sandbox.tw_command();
    command
        .current_dir(trio.sandbox.path(path))
        .env("TW_TEST_BOOT_ID", boot.to_string().repeat(32))
        .env("TW_FAIL_POINT", dies)
        .arg("--json")
        .args(args);
    command.output().unwrap().into()
}

/// What a power cut makes of a file whose name reached the disk before its bytes did.
fn tear(sandbox: &Sandbox, path: &str) {
    sandbox.write(sandbox.path(path).join("a.txt"), "");
}

#[test]
fn power_that_goes_leaves_all_on_one_side_although_files_are_torn() {
    for (point, mode) in [
        ("swap-journal:3", "present"),
        ("swap-index:2", "present"),
        ("together-decided", "past"),
        ("swap-state:2", "past"),
    ] {
        for (path, args) in [("", "snapshot"), ("nested", "recover")] {
            let trio = Trio::new();
            let home = trio.states();
            let died = in_boot(&trio, 1, "", &["travel", &trio.snapshot], point);
            assert_ne!(died.code, 0, "{point}");
            // Only what was in place by then can be torn.
            let torn: &[&str] = match point {
                "swap-journal:3" => &[],
                "swap-index:2" => &["nested", "../lib"],
                _ => &PATHS,
            };
            for path in torn {
                tear(&trio.sandbox, path);
            }
            let next = in_boot(&trio, 2, path, &[args], "");
            assert_eq!(next.code, 0, "{point}: {}", next.out());
            assert!(is_clear(&trio), "{point}: {}", next.out());
            assert_eq!(trio.modes(), [mode; 3], "{point}");
            if mode == "past" {
                // What the power took where the swap had ended is put right by the next command there.
                for path in PATHS {
                    in_boot(&trio, 2, path, &["snapshot"], "");
                    let text = trio.sandbox.text(trio.sandbox.path(path).join("a.txt"));
                    assert_eq!(text, format!("edited in '{path}'\n"), "{point}");
                }
                let back = in_boot(&trio, 2, "", &["return"], "");
                assert_eq!(back.code, 0, "{point}: {}", back.out());
            }
            assert_same(&home, &trio.states());
        }
    }
}

/// As in the head: a value that somebody mistyped costs no checkpoint, and is logged.
#[test]
fn a_wrong_setting_in_a_member_costs_no_checkpoint_of_it() {
    let trio = Trio::of(Kind::ref_files());
    let lib = trio.sandbox.path("../lib");
    trio.sandbox
        .git_in(&lib, ["config", "timewarp.keepDays", "abc"]);
    std::fs::write(lib.join("new.txt"), "new\n").unwrap();
    let mut command = trio.sandbox.tw_command();
    let command = command
        .args(["--json", "hook", "claude", "UserPromptSubmit"])
        .write_stdin("{\"session_id\": \"q\", \"prompt\": \"x\"}");
    let said: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(said["done"], "checkpoint", "{said}");
    assert_eq!(said["error"]["code"], "WORKSPACE_MEMBER", "{said}");
    let shown = trio.json_in("", &["show", "latest"]);
    let members = shown["snapshot"]["members"].as_array().unwrap();
    assert!(
        members.iter().all(|one| one["snapshot_id"].is_string()),
        "{shown}"
    );
    let log = trio.sandbox.text(".git/timewarp/log.jsonl");
    assert!(log.contains("timewarp.keepDays"), "{log}");
    // By hand it is said and done without, as long as it is so.
    let taken = trio.json_in("", &["snapshot"]);
    let notices = taken["notices"].to_string();
    assert!(
        notices.contains("git config --unset-all timewarp.keepDays"),
        "{notices}"
    );
}
