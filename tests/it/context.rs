//! Context logs: what is written, what is read, how a log goes back and how it gets shorter.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::access::{access_of, acl, set_attribute};
use crate::sandbox::{Sandbox, skipped};

/// A session whose log is `contexts/work.jsonl`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(["session", "start", "--session", "work"]);
    sandbox
}

fn context(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.json([&["context"], args].concat())
}

fn say(sandbox: &Sandbox, role: &str, text: &str) {
    context(sandbox, &["append", "--role", role, text]);
}

fn file(name: &str) -> String {
    format!(".git/timewarp/contexts/{name}")
}

fn log(sandbox: &Sandbox) -> Vec<Value> {
    records(&sandbox.text(file("work.jsonl")))
}

fn records(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn call(id: &str) -> String {
    json!({"role": "assistant", "content": [{"type": "think", "think": "hm", "encrypted": null}],
        "tool_calls": [{"type": "function", "id": id, "function": {"name": "Shell", "arguments": "{}"}}]})
    .to_string()
}

fn step(sandbox: &Sandbox, id: &str) {
    context(sandbox, &["append", &call(id)]);
    context(
        sandbox,
        &["append", "--role", "tool", "--tool-call-id", id, "done"],
    );
}

#[test]
fn the_records_are_kimi_s() {
    let sandbox = sandbox();
    context(&sandbox, &["append", "--role", "system-prompt", "be kind"]);
    let first = context(&sandbox, &["checkpoint"]);
    say(&sandbox, "user", "hello \u{1f980}\nthere");
    let second = context(&sandbox, &["checkpoint", "--marker"]);
    context(&sandbox, &["usage", "1200"]);
    assert_eq!(
        (&first["checkpoint_id"], &second["checkpoint_id"]),
        (&json!(0), &json!(1))
    );
    let path = sandbox.path(file("work.jsonl"));
    assert_eq!(first["file"], path.to_str().unwrap());
    assert_eq!(
        sandbox.text(file("work.jsonl")),
        concat!(
            "{\"role\": \"_system_prompt\", \"content\": \"be kind\"}\n",
            "{\"role\": \"_checkpoint\", \"id\": 0}\n",
            "{\"role\":\"user\",\"content\":\"hello \u{1f980}\\nthere\"}\n",
            "{\"role\": \"_checkpoint\", \"id\": 1}\n",
            "{\"role\":\"user\",\"content\":\"<system>CHECKPOINT 1</system>\"}\n",
            "{\"role\": \"_usage\", \"token_count\": 1200}\n",
        )
    );
    let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path), 0o600);
    assert_eq!(mode(sandbox.path(file(""))), 0o700);
    say(&sandbox, "assistant", "12345678");
    let shown = context(&sandbox, &["show"]);
    assert_eq!(shown["session_id"], "work");
    assert_eq!(shown["system_prompt"], "be kind");
    assert_eq!(shown["checkpoints"], json!([0, 1]));
    assert_eq!(shown["next_checkpoint"], 2);
    assert_eq!(shown["messages"], 3);
    assert_eq!(
        (&shown["token_count"], &shown["pending_tokens"]),
        (&json!(1200), &json!(2))
    );
    assert_eq!(shown["records"], Value::Array(log(&sandbox)));
}

#[test]
fn what_the_loader_would_not_take_is_refused_whole() {
    let sandbox = sandbox();
    for bad in [
        "not json",
        "[]",
        r#"{"role":"user"}"#,
        r#"{"role":"developer","content":"x"}"#,
        r#"{"role":"user","content":[{"type":"file","path":"x"}]}"#,
        r#"{"role":"_checkpoint","id":"0"}"#,
        "{\"role\":\"user\",\"content\":\"good\"}\n{\"role\":\"user\"}",
        "",
    ] {
        let (error, code) = sandbox.json_error(["context", "append", bad]);
        assert_eq!((&error["code"], code), (&json!("USAGE"), 2), "{bad}");
    }
    for args in [
        ["--role", "robot", "x"].as_slice(),
        &["--role", "tool", "x"],
        &["--role", "user", "--tool-call-id", "c", "x"],
    ] {
        let (error, _) = sandbox.json_error([&["context", "append"], args].concat());
        assert_eq!(error["code"], "USAGE", "{args:?}");
    }
    assert!(!sandbox.exists(file("work.jsonl")));
    let (error, code) = sandbox.json_error(["context", "show"]);
    assert_eq!((&error["code"], code), (&json!("PATH_NOT_FOUND"), 3));
}

#[test]
fn several_records_come_from_standard_input() {
    let sandbox = sandbox();
    let append = |input: &str, args: &[&str]| {
        let mut command = sandbox.tw_command();
        command.args(["context", "append"]).args(args);
        let output = command.write_stdin(input).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let line = r#"{"role": "user",  "content": "kept as it came", "later": 1}"#;
    append(&format!("{line}\n\n{}\n", call("c1")), &["--json", "-"]);
    append(
        "{\n  \"role\": \"_usage\",\n  \"token_count\": 7\n}\n",
        &["-"],
    );
    append("a\nb\n", &["--role", "tool", "--tool-call-id", "c1", "-"]);
    let text = sandbox.text(file("work.jsonl"));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], [line, &call("c1")]);
    assert_eq!(lines[2], r#"{"role":"_usage","token_count":7}"#);
    assert_eq!(
        records(lines[3])[0],
        json!({"role": "tool", "content": "a\nb\n", "tool_call_id": "c1"})
    );
}

#[test]
fn secrets_in_a_log_stay_as_they_are() {
    let sandbox = sandbox();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    say(&sandbox, "user", &secret);
    assert_eq!(log(&sandbox)[0]["content"], secret);
    context(&sandbox, &["checkpoint"]);
    context(&sandbox, &["revert", "0", "--note", &secret]);
    assert!(sandbox.text(file("work.jsonl")).matches(&secret).count() == 2);
}

#[test]
fn appenders_tear_no_lines() {
    let sandbox = sandbox();
    let big = "x".repeat(70_000);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let mut commands: Vec<_> = (0..5).map(|_| sandbox.tw_command()).collect();
            let text = format!("{worker} {big}");
            scope.spawn(move || {
                for command in &mut commands {
                    let command = command.args(["context", "append", "--role", "user", "-"]);
                    let output = command.write_stdin(text.clone()).output().unwrap();
                    assert!(output.status.success(), "{output:?}");
                }
            });
        }
    });
    assert_eq!(log(&sandbox).len(), 20);
}

#[test]
fn revert_goes_back_before_the_checkpoint_and_keeps_the_log_before() {
    let sandbox = sandbox();
    context(&sandbox, &["append", "--role", "system-prompt", "be kind"]);
    for turn in ["one", "two", "three"] {
        context(&sandbox, &["checkpoint"]);
        say(&sandbox, "user", turn);
    }
    let before = sandbox.text(file("work.jsonl"));
    let reverted = context(&sandbox, &["revert", "1"]);
    assert_eq!(reverted["checkpoint_id"], 1);
    assert_eq!(reverted["messages_discarded"], 2);
    assert_eq!(reverted["note_checkpoint"], Value::Null);
    let rotated = sandbox.path(file("work_1.jsonl"));
    assert_eq!(reverted["rotated_to"], rotated.to_str().unwrap());
    assert_eq!(sandbox.text(file("work_1.jsonl")), before);
    let left: String = before.split_inclusive('\n').take(3).collect();
    assert_eq!(sandbox.text(file("work.jsonl")), left);
    // As with kimi-cli the number is free again.
    assert_eq!(context(&sandbox, &["checkpoint"])["checkpoint_id"], 1);
    // Numbers go on after the highest, whoever made it.
    sandbox.write(file("work_7.jsonl"), "mine\n");
    let reverted = context(&sandbox, &["revert", "0"]);
    assert!(
        reverted["rotated_to"]
            .as_str()
            .unwrap()
            .ends_with("/work_8.jsonl")
    );
    assert_eq!(sandbox.text(file("work_7.jsonl")), "mine\n");
    let shown = context(&sandbox, &["show"]);
    assert_eq!(shown["system_prompt"], "be kind");
    assert_eq!(shown["rotated"].as_array().unwrap().len(), 3);
}

#[test]
fn a_log_that_is_replaced_is_for_those_whom_it_was_for() {
    let sandbox = sandbox();
    context(&sandbox, &["checkpoint"]);
    say(&sandbox, "user", "one");
    let log = sandbox.path(file("work.jsonl"));
    if !set_attribute(&log, "user.tw", b"the agent's") {
        skipped("access lists", "no extended attributes here");
        return;
    }
    set_attribute(&log, "system.posix_acl_access", &acl(3000));
    let before = access_of(&log);
    context(&sandbox, &["revert", "0"]);
    assert_eq!(access_of(&log), before);
}

#[test]
fn a_note_comes_with_a_checkpoint_in_the_same_write() {
    let sandbox = sandbox();
    context(&sandbox, &["checkpoint", "--marker"]);
    say(&sandbox, "user", "search");
    context(&sandbox, &["checkpoint", "--marker"]);
    step(&sandbox, "c1");
    let reverted = context(&sandbox, &["revert", "1", "--note", "it is in src/lex.rs"]);
    assert_eq!(reverted["note_checkpoint"], 1);
    assert_eq!(reverted["messages_discarded"], 3);
    let log = log(&sandbox);
    assert_eq!(log[3], json!({"role": "_checkpoint", "id": 1}));
    assert_eq!(log[4]["content"], "<system>CHECKPOINT 1</system>");
    let note = log[5]["content"].as_str().unwrap();
    assert!(note.starts_with("<system>You just got a D-Mail"), "{note}");
    assert!(note.ends_with("it is in src/lex.rs</system>"), "{note}");
    assert_eq!(log.len(), 6);
}

#[test]
fn a_bad_id_lists_the_range() {
    let sandbox = sandbox();
    say(&sandbox, "user", "hello");
    let (error, code) = sandbox.json_error(["context", "revert", "0"]);
    assert_eq!((&error["code"], code), (&json!("INVALID_CHECKPOINT"), 3));
    for _ in 0..3 {
        context(&sandbox, &["checkpoint"]);
    }
    for id in ["3", "-1"] {
        let (error, code) = sandbox.json_error(["context", "revert", id]);
        assert_eq!((&error["code"], code), (&json!("INVALID_CHECKPOINT"), 3));
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("checkpoints 0 to 2"), "{message}");
        assert_eq!(error["available"], json!([0, 1, 2]));
    }
    assert!(!sandbox.exists(file("work_1.jsonl")));
}

#[test]
fn malformed_and_torn_lines_are_skipped_and_counted() {
    let sandbox = sandbox();
    let good =
        "{\"role\":\"user\",\"content\":\"hello\"}\n{\"role\": \"_checkpoint\", \"id\": 0}\n";
    let mut bytes = b"{\"oops\": 1}\n{\"role\":\"assistant\",\"content\":\"unterminated\n".to_vec();
    bytes.extend_from_slice(good.as_bytes());
    bytes.extend_from_slice(b"{\"role\":\"assistant\",\"content\":\"\xe4\xb8");
    sandbox.write(file("work.jsonl"), &bytes);
    let shown = context(&sandbox, &["show"]);
    assert_eq!(
        (&shown["skipped"], &shown["torn"], &shown["messages"]),
        (&json!(3), &json!(true), &json!(1))
    );
    // What comes after a torn line is not glued to it.
    say(&sandbox, "user", "again");
    let shown = context(&sandbox, &["show"]);
    assert_eq!(
        (&shown["skipped"], &shown["torn"], &shown["messages"]),
        (&json!(3), &json!(false), &json!(2))
    );
    let reverted = context(&sandbox, &["revert", "0"]);
    assert_eq!(reverted["skipped"], 3);
    assert_eq!(
        sandbox.text(file("work.jsonl")),
        good.lines().next().unwrap().to_owned() + "\n"
    );
    assert!(sandbox.read(file("work_1.jsonl")).starts_with(&bytes));
}

#[test]
fn compact_keeps_the_last_turns_without_thoughts() {
    let sandbox = sandbox();
    context(&sandbox, &["append", "--role", "system-prompt", "be kind"]);
    for turn in ["one", "two", "three"] {
        context(&sandbox, &["checkpoint"]);
        say(&sandbox, "user", turn);
        step(&sandbox, turn);
    }
    context(&sandbox, &["usage", "90000"]);
    let before = sandbox.text(file("work.jsonl"));
    let compacted = context(
        &sandbox,
        &[
            "compact",
            "--summarizer",
            "grep -c Message; grep -c hm; echo summed",
        ],
    );
    assert_eq!(compacted["compacted"], true);
    assert_eq!(compacted["messages_discarded"], 3);
    assert_eq!(compacted["tokens_before"], 90000);
    assert_eq!(compacted["checkpoint_id"], 3);
    assert_eq!(sandbox.text(file("work_1.jsonl")), before);
    let log = log(&sandbox);
    assert_eq!(log[0]["role"], "_system_prompt");
    let summary = &log[1]["content"];
    let first = summary[0]["text"].as_str().unwrap();
    assert!(first.starts_with("<system>Previous context has been compacted"));
    assert_eq!(summary[1]["text"], "3\n0\nsummed");
    let roles: Vec<_> = log[2..].iter().map(|record| &record["role"]).collect();
    let turn = ["_checkpoint", "user", "assistant", "tool"];
    assert_eq!(
        roles,
        [&turn[..], &turn, &["_usage", "_checkpoint"]].concat()
    );
    assert_eq!((&log[2]["id"], &log[11]["id"]), (&json!(1), &json!(3)));
    assert!(!sandbox.text(file("work.jsonl")).contains("think"));
    // Ids go on; what was compacted says so, what was kept is still there.
    let (error, code) = sandbox.json_error(["context", "revert", "0"]);
    assert_eq!(
        (&error["code"], code),
        (&json!("CHECKPOINT_UNAVAILABLE"), 3)
    );
    assert_eq!(error["available"], json!([1, 2, 3]));
    assert_eq!(context(&sandbox, &["revert", "2"])["messages_discarded"], 3);
}

#[test]
fn compact_does_nothing_below_the_limit_or_without_old_turns() {
    let sandbox = sandbox();
    say(&sandbox, "user", "one");
    say(&sandbox, "user", "two");
    let args = ["compact", "--summarizer", "touch ran; echo x"];
    let compacted = context(&sandbox, &args);
    assert_eq!(compacted["reason"], "nothing-to-compact");
    say(&sandbox, "user", "three");
    context(&sandbox, &["usage", "149999"]);
    let limited = [&args[..], &["--if-over", "200000"]].concat();
    let compacted = context(&sandbox, &limited);
    assert_eq!(
        (&compacted["compacted"], &compacted["reason"]),
        (&json!(false), &json!("under-limit"))
    );
    assert!(!sandbox.exists("ran") && !sandbox.exists(file("work_1.jsonl")));
    context(&sandbox, &["usage", "150000"]);
    assert_eq!(context(&sandbox, &limited)["compacted"], true);
    assert!(sandbox.exists("ran"));
    say(&sandbox, "user", "four");
    let all = ["compact", "--keep", "0", "--summary-file", "a.txt"];
    assert_eq!(context(&sandbox, &all)["messages_discarded"], 4);
    assert_eq!(log(&sandbox)[0]["content"][1]["text"], "one");
}

#[test]
fn compact_leaves_no_call_without_its_result() {
    let sandbox = sandbox();
    say(&sandbox, "user", "one");
    say(&sandbox, "user", "two");
    context(&sandbox, &["append", &call("c1")]);
    for keep in ["0", "1"] {
        let args = [
            "context",
            "compact",
            "--keep",
            keep,
            "--summary-file",
            "a.txt",
        ];
        let (error, code) = sandbox.json_error(args);
        assert_eq!((&error["code"], code), (&json!("BUSY"), 4));
        assert_eq!(error["tool_call_id"], "c1");
    }
    assert!(!sandbox.exists(file("work_1.jsonl")));
}

#[test]
fn a_summarizer_that_fails_or_says_nothing_changes_nothing() {
    let sandbox = sandbox();
    say(&sandbox, "user", "one");
    say(&sandbox, "user", "two");
    let before = sandbox.text(file("work.jsonl"));
    for (command, code) in [("echo half; exit 3", "IO"), ("cat >/dev/null", "USAGE")] {
        let args = ["context", "compact", "--keep", "1", "--summarizer", command];
        assert_eq!(sandbox.json_error(args).0["code"], code, "{command}");
    }
    assert_eq!(sandbox.text(file("work.jsonl")), before);
    // What others append while it runs is kept.
    let tw = env!("CARGO_BIN_EXE_tw");
    let summarizer = format!("'{tw}' context append --role user meanwhile >/dev/null; echo summed");
    let args = ["compact", "--keep", "1", "--summarizer", &summarizer];
    assert_eq!(context(&sandbox, &args)["compacted"], true);
    let log = log(&sandbox);
    let said: Vec<_> = log[1..3].iter().map(|record| &record["content"]).collect();
    assert_eq!(said, ["two", "meanwhile"]);
    // What others take away is not brought back.
    context(&sandbox, &["checkpoint"]);
    let summarizer = format!("'{tw}' context revert 0 >/dev/null; echo summed");
    let args = [
        "context",
        "compact",
        "--keep",
        "1",
        "--summarizer",
        &summarizer,
    ];
    assert_eq!(sandbox.json_error(args).0["code"], "BUSY");
}

#[test]
fn a_kill_leaves_the_old_log_or_the_new_one() {
    for (point, reverted) in [
        ("context-written", false),
        ("context-rotated", false),
        ("context-replaced", true),
    ] {
        let sandbox = sandbox();
        say(&sandbox, "user", "one");
        context(&sandbox, &["checkpoint"]);
        say(&sandbox, "user", "two");
        let before = sandbox.text(file("work.jsonl"));
        let mut command = sandbox.tw_command();
        command.env("TW_FAIL_POINT", point);
        let output = command.args(["context", "revert", "0"]).output().unwrap();
        assert!(!output.status.success(), "{point}");
        let now = sandbox.text(file("work.jsonl"));
        let new = before.split_inclusive('\n').next().unwrap();
        assert_eq!(now, if reverted { new } else { &before }, "{point}");
        // The next change finds everything in order, and nothing writes to what was put aside.
        say(&sandbox, "user", "three");
        assert_eq!(log(&sandbox).len(), if reverted { 2 } else { 4 }, "{point}");
        let shown = context(&sandbox, &["show"]);
        assert_eq!(
            shown["rotated"].as_array().unwrap().len(),
            usize::from(reverted),
            "{point}"
        );
        if !reverted {
            let again = context(&sandbox, &["revert", "0"]);
            assert!(
                again["rotated_to"]
                    .as_str()
                    .unwrap()
                    .ends_with("/work_1.jsonl")
            );
            let names = std::fs::read_dir(sandbox.path(file(""))).unwrap();
            assert_eq!(names.count(), 2, "no leftover at {point}");
        }
    }
}

#[test]
fn a_file_may_be_named_also_outside_of_a_repository() {
    let sandbox = Sandbox::bare_room();
    let run = |args: &[&str]| sandbox.json([args, &["--file", "context.jsonl"]].concat());
    run(&["context", "append", "--role", "user", "hello"]);
    run(&["context", "checkpoint"]);
    let shown = run(&["context", "show"]);
    assert_eq!(shown["session_id"], Value::Null);
    let path = sandbox.root().join("context.jsonl");
    assert_eq!(shown["file"], path.to_str().unwrap());
    let mode = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(&path, mode).unwrap();
    run(&["context", "revert", "0"]);
    let metadata = path.metadata().unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
    assert!(sandbox.root().join("context_1.jsonl").exists());
    let names = std::fs::read_dir(sandbox.root()).unwrap();
    assert_eq!(names.count(), 4, "home, tmp and the two logs: no lock file");
    let (error, _) = sandbox.json_error(["context", "show"]);
    assert_eq!(error["code"], "NOT_A_REPOSITORY");
}

#[test]
fn a_file_that_is_no_log_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("notes.txt", "mine\n");
    sandbox.write("package.json", "{\n  \"name\": \"x\"\n}\n");
    for file in ["notes.txt", "package.json", ".git/index"] {
        let before = sandbox.read(file);
        let words = ["context", "append", "--role", "user", "x", "--file", file];
        let (error, code) = sandbox.json_error(words);
        assert_eq!(
            (&error["code"], code),
            (&json!("USAGE"), 2),
            "{file}: {error}"
        );
        assert_eq!(sandbox.read(file), before, "{file}");
    }
    // A crash tore its only line; or nothing was written yet.
    for text in ["{\"role\": \"us", ""] {
        sandbox.write("log.jsonl", text);
        sandbox.json([
            "context",
            "append",
            "--role",
            "user",
            "x",
            "--file",
            "log.jsonl",
        ]);
    }
}

#[test]
fn each_session_has_its_own_log() {
    let sandbox = sandbox();
    for session in ["work", "work_1", "../up"] {
        context(
            &sandbox,
            &["append", "--session", session, "--role", "user", session],
        );
    }
    assert!(sandbox.exists(file("work.jsonl")));
    assert!(
        !sandbox.exists(file("work_1.jsonl")),
        "the name of a rotation"
    );
    for session in ["work", "work_1", "../up"] {
        let shown = context(&sandbox, &["show", "--session", session]);
        assert_eq!(shown["records"][0]["content"], session);
        assert_eq!(shown["rotated"], json!([]));
    }
    let other = Sandbox::new();
    for verb in [
        &["show"][..],
        &["revert", "0"],
        &["compact", "--summary-file", "a.txt"],
    ] {
        let (error, code) = other.json_error([&["context"], verb].concat());
        assert_eq!((&error["code"], code), (&json!("SESSION_NOT_FOUND"), 3));
    }
}

#[test]
fn the_first_words_start_a_session_in_the_present_and_in_the_past() {
    for first in [
        &["checkpoint"][..],
        &["append", "--role", "user", "hello"],
        &["usage", "7"],
    ] {
        for past in [false, true] {
            let sandbox = Sandbox::new();
            if past {
                let id = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"].clone();
                sandbox.write("a.txt", "two\n");
                sandbox.json(["travel", id.as_str().unwrap()]);
            }
            let begun = context(&sandbox, first);
            assert_eq!(begun["notices"].as_array().unwrap().len(), 1, "{begun}");
            let sessions = sandbox.json(["session", "list"])["sessions"].clone();
            assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions}");
            let id = sessions[0]["session_id"].as_str().unwrap();
            assert_eq!(
                begun["file"],
                *sandbox.path(file(&format!("{id}.jsonl"))).to_str().unwrap()
            );
            // What follows goes on with it, and so does a checkpoint of the files.
            let next = context(&sandbox, &["append", "--role", "user", "go on"]);
            assert_eq!(next["notices"], json!([]));
            assert_eq!(next["file"], begun["file"]);
            assert_eq!(sandbox.json(["checkpoint"])["checkpoint"]["session_id"], id);
            if past {
                sandbox.json(["return"]);
                assert_eq!(context(&sandbox, &["show"])["session_id"], id);
            }
        }
    }
}

#[test]
fn a_new_system_prompt_replaces_the_old_one() {
    let sandbox = sandbox();
    say(&sandbox, "user", "hello");
    context(&sandbox, &["checkpoint"]);
    let added = context(&sandbox, &["append", "--role", "system-prompt", "one"]);
    assert_eq!(added["rotated_to"], Value::Null);
    let added = context(&sandbox, &["append", "--role", "system-prompt", "two"]);
    assert!(
        added["rotated_to"]
            .as_str()
            .unwrap()
            .ends_with("/work_1.jsonl")
    );
    let roles: Vec<_> = log(&sandbox)
        .iter()
        .map(|record| record["role"].clone())
        .collect();
    assert_eq!(roles, ["_system_prompt", "user", "_checkpoint"]);
    context(&sandbox, &["revert", "0"]);
    assert_eq!(log(&sandbox)[0]["content"], "two");
}

#[test]
fn people_see_a_line_for_each_record() {
    let sandbox = sandbox();
    assert_eq!(
        sandbox.show(&sandbox.tw(["context", "checkpoint"])),
        "exit 0\n--- stdout\ncheckpoint 0\n--- stderr\nhint: 'tw context revert 0' comes back here\n"
    );
    say(&sandbox, "user", "hello\u{1b}[2J\nthere");
    step(&sandbox, "c1");
    context(&sandbox, &["usage", "1200"]);
    assert_eq!(
        sandbox.show(&sandbox.tw(["context", "show"])),
        "exit 0\n--- stdout\n-- checkpoint 0\nuser: hello\\u{1b}[2J\u{2026}\nassistant: \n  calls: Shell {}\n\
         tool, answers c1: done\n-- 1,200 tokens\n3 messages, 1 checkpoint, 1,200 tokens\n"
    );
    assert_eq!(
        sandbox.show(&sandbox.tw(["context", "revert", "0"])),
        "exit 0\n--- stdout\nback before checkpoint 0: 3 messages discarded, 1,200 tokens\n  \
         the log before is [ROOT]/repo/.git/timewarp/contexts/work_1.jsonl\n"
    );
}

#[test]
fn what_python_takes_for_json_is_kept_as_it_stands() {
    let sandbox = sandbox();
    let line = "{\"role\": \"user\", \"content\": \"cut \\ud83d\", \"extra\": 1e400}";
    context(&sandbox, &["append", "--json", line]);
    let spread = line.replace(", ", ",\r\n  ");
    context(&sandbox, &["append", "--json", &spread]);
    let text = sandbox.text(file("work.jsonl"));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines, [line, &line.replace(", ", ",    ")]);
    let shown = context(&sandbox, &["show"]);
    assert_eq!(shown["records"][0]["content"], "cut \u{fffd}", "{shown}");
}
