//! The commands that notes and hints name do what is said when they are pasted into a shell.

use timewarp::store::address::of_checkpoint;

use crate::sandbox::Sandbox;

/// git takes it for a branch, and a shell for two commands.
const BRANCH: &str = "fix;touch${IFS}PWNED";

#[test]
fn a_note_on_a_branch_quotes_its_name() {
    let sandbox = Sandbox::new();
    sandbox.git(["switch", "-q", "-c", BRANCH]);
    sandbox.ok(["snapshot"]);
    for (words, there) in [
        ("to make it again: ", None),
        ("to see what is new there: ", Some("other")),
    ] {
        sandbox.ok(["travel", "latest"]);
        match there {
            None => sandbox.git(["branch", "-q", "-D", BRANCH]),
            Some(title) => {
                let tree = sandbox.git(["rev-parse", "HEAD^{tree}"]);
                let made = ["commit-tree", "-p", "HEAD", "-m", title, tree.trim()];
                let commit = sandbox.git(made);
                sandbox.git(["branch", "-q", "-f", BRANCH, commit.trim()])
            }
        };
        let said = sandbox.tw(["return"]).err();
        let (_, command) = said.split_once(words).unwrap_or_else(|| panic!("{said}"));
        let ran = sandbox.paste(command.lines().next().unwrap());
        assert_eq!(ran.code, 0, "{said}{}", ran.err());
        match there {
            None => assert_eq!(sandbox.git(["branch", "--show-current"]).trim_end(), BRANCH),
            Some(title) => assert!(ran.out().contains(title), "{}", ran.out()),
        }
        assert!(!sandbox.exists("PWNED"), "{said}");
    }
}

/// Two sessions, each with a checkpoint; the second one is the caller's.
fn two_sessions() -> Sandbox {
    let sandbox = Sandbox::new();
    for session in ["first-1", "second-1"] {
        sandbox.ok(["session", "start", "--session", session]);
        sandbox.ok(["checkpoint", "-m", "one"]);
        sandbox.write("later.txt", session);
    }
    sandbox
}

#[test]
fn hints_keep_the_session_that_was_named() {
    let sandbox = two_sessions();
    let ran = sandbox.tw(["rewind", "first-1:0", "--code"]);
    assert!(!sandbox.exists("later.txt"));
    let undone = sandbox.paste_hint(&ran.err(), "tw rewind --undo");
    assert_eq!(undone.code, 0, "{}", undone.err());
    assert_eq!(sandbox.text("later.txt"), "second-1");
    let words = ["checkpoint", "-m", "two", "--session", "first-1"];
    let said = sandbox.tw(words).err();
    assert!(said.contains("'tw rewind 1 --session first-1'"), "{said}");
    let said = sandbox
        .tw(["checkpoint", "list", "--session", "first-1"])
        .err();
    assert!(said.contains("'tw rewind N --session first-1'"), "{said}");
    let (error, _) = sandbox.json_error(["rewind", "9", "--code", "--session", "first-1"]);
    let hint = error["hint"].as_str().unwrap();
    assert!(
        hint.contains("'tw checkpoint list --session first-1'"),
        "{hint}"
    );
    let words = [
        "backtrack",
        "0",
        "--note",
        "remember",
        "--session",
        "first-1",
    ];
    let said = sandbox.tw(words).err();
    let taken = sandbox.paste_hint(&said, "tw backtrack take");
    assert!(taken.out().contains("remember"), "{said}{}", taken.err());
    // The caller's needs no name.
    let said = sandbox.tw(["checkpoint", "-m", "two"]).err();
    assert!(said.contains("'tw rewind 1' goes"), "{said}");
}

#[test]
fn hints_keep_the_context_log_that_was_named() {
    let sandbox = two_sessions();
    for flags in [&["--session", "first-1"], &["--file", "my log.jsonl"]] {
        let context = |words: &[&str]| {
            let ran = sandbox.tw(["context"].iter().chain(flags).chain(words));
            assert_eq!(ran.code, 0, "{}", ran.err());
            ran.err()
        };
        let said = context(&["checkpoint"]);
        context(&["append", "--role", "user", "hello"]);
        let reverted = sandbox.paste_hint(&said, "tw context revert 0");
        assert!(
            reverted.out().contains("1 message discarded"),
            "{said}{}{}",
            reverted.out(),
            reverted.err()
        );
    }
}

#[test]
fn a_checkpoint_is_named_as_commands_take_it_whatever_the_session_is_called() {
    for session in [
        "my run",
        "2026-11-26T15:00:00Z",
        "session",
        "it's \"$HOME\"",
    ] {
        let sandbox = Sandbox::new();
        sandbox.ok(["session", "start", "--session", session]);
        sandbox.ok(["checkpoint", "-m", "one"]);
        sandbox.write("later.txt", "later\n");
        let address = of_checkpoint(session, 0);
        sandbox.ok(["show", &address]);
        sandbox.ok(["checkpoint", "show", &address]);
        sandbox.ok(["rewind", &address, "--code"]);
        assert!(!sandbox.exists("later.txt"), "{address}");
        if session != "session" {
            sandbox.ok(["checkpoint", "show", &format!("{session}:0")]);
        }
    }
}

#[test]
fn below_the_root_the_path_that_is_named_is_the_one_that_was_looked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("src/main.rs", "one\n");
    sandbox.ok(["snapshot"]);
    sandbox.write("src/main.rs", "two\n");
    let dir = sandbox.path("src");
    let found = sandbox.tw_in(&dir, ["find", "main.rs"]);
    assert!(found.out().starts_with("src/main.rs\n"), "{}", found.out());
    assert!(found.err().contains("'tw restore SNAPSHOT :/PATH'"));
    for staged in [&[][..], &["--staged"]] {
        let words = ["restore", "latest", "src/main.rs"].iter().chain(staged);
        let said = sandbox.tw_in(&dir, words).err();
        assert!(said.contains("'src/src/main.rs' is neither"), "{said}");
    }
    let said = sandbox
        .tw_in(&dir, ["restore", "latest", "src/main.rs"])
        .err();
    assert!(said.contains("':/PATH' begins at the root"), "{said}");
    assert_eq!(
        sandbox
            .tw_in(&dir, ["restore", "latest", ":/src/main.rs"])
            .code,
        0
    );
    assert_eq!(sandbox.text("src/main.rs"), "one\n");
    assert!(
        sandbox
            .tw(["find", "src"])
            .err()
            .contains("'tw restore SNAPSHOT PATH'")
    );
    let said = sandbox.tw(["find", "no thing"]).err();
    assert!(said.contains("'tw find --all \"no thing\"'"), "{said}");
}

#[test]
fn errors_say_what_to_do_next() {
    let sandbox = Sandbox::new();
    sandbox.ok(["session", "start", "--session", "first-1"]);
    sandbox.ok(["checkpoint", "-m", "one"]);
    let report = [
        "--task-context",
        "a",
        "--symptom",
        "b",
        "--success-criteria",
        "c",
    ];
    let id = sandbox.ok(["-q", "issue", "report"].iter().chain(&report));
    for words in [
        &["show", "issue:zz"][..],
        &["show", "checkpoint:x"],
        &["context", "append", "--role", "nope", "x"],
        &["redact", "nofile"],
        &["backtrack", "99", "--note", "x"],
        &["backtrack", "x", "--note", "x"],
        &["issue", "chat", id.trim()],
        &["session", "resume"],
        &["workspace", "add", "../nope"],
        &["issue", "report", "--from-json", "a.txt"],
    ] {
        let (error, _) = sandbox.json_error(words);
        assert!(error["hint"].is_string(), "{words:?}: {error}");
    }
}
