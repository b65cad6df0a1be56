//! The page as one file.

use std::os::unix::fs::PermissionsExt as _;

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{HOSTILE, data, eventful};
use crate::damage::raw_command;
use crate::many::{Held, wait_until_stopped};
use crate::sandbox::Sandbox;
use crate::terminal::Terminal;
use crate::transcripts::{Kind, Talk};

fn titles(data: &Value) -> Vec<&str> {
    let entries = data["entries"].as_array().unwrap().iter();
    entries
        .map(|entry| entry["title"].as_str().unwrap())
        .collect()
}

#[test]
fn what_may_not_stand_in_html_is_escaped_and_read_as_it_was() {
    let sandbox = Sandbox::new();
    sandbox.json(["snapshot"]);
    sandbox.write("a.txt", "del \u{7f} c1 \u{9b} none \u{ffff}\n");
    sandbox.json(["snapshot", "-m", "strange"]);
    let out = sandbox.root().join("page.html");
    sandbox.json(["web", "--export", out.to_str().unwrap()]);
    let page = std::fs::read_to_string(&out).unwrap();
    let is_allowed = |ch: char| (!ch.is_control() || ch == '\n') && ch != '\u{ffff}';
    assert!(page.chars().all(is_allowed));
    assert!(page.contains("del \\u007f c1 \\u009b none \\uffff"));
    let data = data(&page).to_string();
    assert!(
        data.contains("del \u{7f} c1 \u{9b} none \u{ffff}"),
        "{data}"
    );
}

#[test]
fn one_file_holds_the_timeline_and_its_changes_without_prompts_and_secrets() {
    let sandbox = eventful();
    let before = sandbox.state();
    let out = sandbox.root().join("page.html");
    let said = sandbox.json(["web", "--export", out.to_str().unwrap()]);
    assert_eq!(said["prompts"], 0);
    // Both prompts, and the snapshot that has its title from one.
    assert_eq!(said["prompts_left_out"], 3, "{said}");
    assert_eq!(said["file"], out.to_str().unwrap());
    assert_eq!(said["bytes"], out.metadata().unwrap().len());
    assert_eq!(out.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(sandbox.state(), before);
    let page = std::fs::read_to_string(&out).unwrap();
    for prompt in ["write the parser", "alert(1)</script>", "drow and"] {
        let (_, rest) = page.split_once("id=\"data\">").unwrap();
        let data = rest.split_once("</script>").unwrap().0;
        // The hostile one is content of a file, too.
        let found = data.matches(prompt).count();
        assert_eq!(found, usize::from(prompt == "drow and") * 3, "{prompt}");
    }
    assert!(!page.contains("AKIAIOSFODNN7EXAMPLQ"));
    assert!(page.contains("***REDACTED:aws-access-key-id***"));
    assert!(page.contains("Content-Security-Policy") && page.contains("connect-src 'none'"));
    for outside in ["http://", "https://", "src=\"", "href=\"/", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    let data = data(&page);
    assert_eq!(
        (&data["live"], &data["prompts"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(
        titles(&data).len(),
        sandbox.json(["log"])["entries"].as_array().unwrap().len()
    );
    assert!(titles(&data).contains(&"a <b>bold</b> title </script>"));
    let entries = data["entries"].as_array().unwrap().iter();
    let changed = entries
        .clone()
        .find(|entry| entry["kind"] == "turn-end")
        .unwrap();
    assert_eq!(
        changed["paths"][0]["lines"]["lines"][2],
        json!(["+", null, 2, "two words"])
    );
    assert_eq!(changed["paths"][1]["lines"]["what"], "binary");
    let hostile = entries
        .clone()
        .find(|entry| entry["title"] == "a <b>bold</b> title </script>")
        .unwrap();
    assert_eq!(hostile["paths"][0]["lines"]["lines"][1][3], HOSTILE);
}

#[test]
fn a_hunk_in_the_middle_of_a_key_shows_no_line_of_it() {
    let sandbox = Sandbox::new();
    let alphabet: Vec<u8> = (b'a'..=b'z')
        .chain(b'A'..=b'Z')
        .chain(b'0'..=b'9')
        .collect();
    let mut seed = 7usize;
    let mut line = || {
        let mut letter = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            char::from(alphabet[(seed >> 33) % alphabet.len()])
        };
        (0..64).map(|_| letter()).collect::<String>()
    };
    let mut body: Vec<String> = (0..30).map(|_| line()).collect();
    let file = |body: &[String]| {
        let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
        format!("before\n{begin}\n{}\n{end}\nafter\n", body.join("\n"))
    };
    sandbox.write("key.pem", file(&body));
    sandbox.ok(["snapshot"]);
    let old = std::mem::replace(&mut body[15], line());
    sandbox.write("key.pem", file(&body));
    sandbox.ok(["snapshot"]);
    body.push(old);
    let out = sandbox.root().join("page.html");
    sandbox.ok(["web", "--export", out.to_str().unwrap()]);
    let page = std::fs::read_to_string(&out).unwrap();
    for line in &body {
        assert!(!page.contains(line), "{line}");
    }
    let data = data(&page);
    let lines = &data["entries"][0]["paths"][0]["lines"]["lines"];
    assert_eq!(
        lines[4],
        json!(["-", 18, null, "***REDACTED***"]),
        "{lines}"
    );
    assert_eq!(
        lines[5],
        json!(["+", null, 18, "***REDACTED***"]),
        "{lines}"
    );
}

#[test]
fn prompts_go_in_when_they_are_asked_for() {
    let sandbox = eventful();
    let out = sandbox.root().join("page.html");
    let said = sandbox.ok(["web", "--export", out.to_str().unwrap(), "--prompts"]);
    let tenths = out.metadata().unwrap().len() * 10 / 1024;
    let expected = format!(
        "wrote '{}': 10 entries, {}.{} KiB\n  taken out: 3 secrets\n  with the text of 2 prompts\n",
        out.display(),
        tenths / 10,
        tenths % 10,
    );
    assert_eq!(said, expected);
    let data = data(&std::fs::read_to_string(&out).unwrap());
    assert!(
        titles(&data).contains(&"write the parser"),
        "{:?}",
        titles(&data)
    );
    let entries = data["entries"].as_array().unwrap().iter();
    let texts: Vec<_> = entries
        .map(|entry| entry["text"].as_str().unwrap())
        .collect();
    assert!(texts.contains(&"write the parser\nand its tests"));
    assert!(texts.contains(&HOSTILE));
}

#[test]
fn what_is_no_file_is_never_replaced() {
    let sandbox = Sandbox::new();
    sandbox.snap();
    sandbox.symlink("a.txt", "link");
    let mode = rustix::fs::Mode::from(0o644);
    rustix::fs::mkfifoat(rustix::fs::CWD, sandbox.path("pipe"), mode).unwrap();
    for name in ["link", "pipe", ".git"] {
        for force in [&[][..], &["--force"]] {
            let path = sandbox.path(name);
            let args = [&["web", "--export", path.to_str().unwrap()][..], force].concat();
            let (error, code) = sandbox.json_error(args);
            assert_eq!(
                (&error["code"], code),
                (&json!("WOULD_OVERWRITE"), 5),
                "{error}"
            );
            let hint = error["hint"].as_str().unwrap();
            assert!(!hint.contains("--force"), "{hint}");
        }
    }
    let (error, _) = sandbox.json_error(["web", "--export", "nowhere/x.html"]);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("there is no directory"),
        "{error}"
    );
    assert_eq!(sandbox.text("a.txt"), "one\n");
}

#[test]
fn a_file_that_is_there_is_replaced_only_by_force_and_nothing_is_left_beside_it() {
    let sandbox = eventful();
    let dir = sandbox.root().join("out");
    std::fs::create_dir(&dir).unwrap();
    let out = dir.join("page.html");
    std::fs::write(&out, "mine").unwrap();
    let words = out.to_str().unwrap();
    let (error, code) = sandbox.json_error(["web", "--export", words]);
    assert_eq!((code, &error["code"]), (5, &json!("WOULD_OVERWRITE")));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "mine");
    sandbox.ok(["web", "--export", words, "--force"]);
    assert!(
        std::fs::read_to_string(&out)
            .unwrap()
            .starts_with("<!doctype html>")
    );
    std::fs::remove_file(&out).unwrap();
    std::os::unix::fs::symlink("nowhere", &out).unwrap();
    assert_eq!(sandbox.json_error(["web", "--export", words]).1, 5);
    let beside: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(beside, ["page.html"]);
    let (error, _) = sandbox.json_error(["web", "--export", "no/such/dir/page.html"]);
    assert_eq!(error["code"], "IO");
    for words in [["web", "--force"], ["web", "--prompts"]] {
        assert_eq!(sandbox.tw(words).code, 2);
    }
}

#[test]
fn the_filters_of_the_log_choose_what_goes_in() {
    let sandbox = eventful();
    let out = sandbox.root().join("page.html");
    let file = out.to_str().unwrap();
    sandbox.ok(["web", "--export", file, "--force", "--grep", "slow"]);
    assert_eq!(
        titles(&data(&std::fs::read_to_string(&out).unwrap())),
        ["the build is slow"]
    );
    for words in [
        &["web", "--export", file, "--force", "-n", "2"][..],
        &[
            "web",
            "--export",
            file,
            "--force",
            "--label",
            "before-refactor",
        ],
        &[
            "web",
            "--export",
            file,
            "--force",
            "--since",
            "2026-02-28 15:00",
            "--until",
            "2026-02-28 16:00",
        ],
        &["web", "--export", file, "--force", "--agent", "claude"],
        &[
            "web",
            "--export",
            file,
            "--force",
            "--session",
            "nobody-knows-it",
        ],
        &["web", "--export", file, "--force", "a.txt"],
    ] {
        let log: Vec<&str> = [&["log"], &words[4..]].concat();
        let ran = sandbox.tw(words);
        if ran.code != 0 {
            assert_eq!(sandbox.tw(&log).code, ran.code, "{words:?}");
            continue;
        }
        let expected = sandbox.json(&log)["entries"].as_array().unwrap().len();
        let page = std::fs::read_to_string(&out).unwrap();
        assert_eq!(
            data(&page)["entries"].as_array().unwrap().len(),
            expected,
            "{words:?}"
        );
    }
}

#[test]
fn a_secret_over_several_lines_takes_its_hunk_with_it() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot"]);
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAx1abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ\nQ2abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ\n-----END RSA PRIVATE KEY-----\n";
    sandbox.write("key.pem", key);
    sandbox.write("b.txt", "harmless\n");
    sandbox.ok(["snapshot"]);
    let out = sandbox.root().join("page.html");
    sandbox.ok(["web", "--export", out.to_str().unwrap()]);
    let page = std::fs::read_to_string(&out).unwrap();
    for line in key.lines().skip(1).take(2) {
        assert!(!page.contains(line), "{line}");
    }
    assert!(page.contains("harmless"));
}

#[test]
fn prompts_of_somebody_else_go_in_only_after_a_yes() {
    let sandbox = eventful();
    let foreign = Talk::with_id(
        &sandbox,
        Kind::Claude,
        "99999999-1111-4222-8333-bbbbbbbbbbbb",
    );
    foreign.hook(
        "SessionStart",
        &json!({"transcript_path": "/home/somebody-else/.claude/projects/x/y.jsonl"}),
    );
    foreign.hook(
        "UserPromptSubmit",
        &json!({"transcript_path": "/home/somebody-else/.claude/projects/x/y.jsonl", "prompt": "what they asked"}),
    );
    let out = sandbox.root().join("page.html");
    let file = out.to_str().unwrap();
    let (error, code) = sandbox.json_error(["web", "--export", file, "--prompts"]);
    assert_eq!((code, &error["code"]), (2, &json!("USAGE")), "{error}");
    assert!(!out.exists());
    sandbox.ok(["web", "--export", file]);
    assert!(
        !std::fs::read_to_string(&out)
            .unwrap()
            .contains("what they asked")
    );
    sandbox.ok(["-y", "web", "--export", file, "--force", "--prompts"]);
    assert!(
        std::fs::read_to_string(&out)
            .unwrap()
            .contains("what they asked")
    );
}

#[test]
fn an_interrupt_while_the_file_is_written_leaves_nothing_of_it() {
    let sandbox = eventful();
    let dir = sandbox.root().join("out");
    std::fs::create_dir(&dir).unwrap();
    let out = dir.join("page.html");
    let there = || std::fs::read_dir(&dir).unwrap().count();
    for force in [&[][..], &["--force"]] {
        if !force.is_empty() {
            std::fs::write(&out, "mine").unwrap();
        }
        let before = there();
        let child = raw_command(&sandbox.root(), env!("CARGO_BIN_EXE_tw"))
            .current_dir(sandbox.repo())
            .env("TW_STOP_POINT", "web-export-writing")
            .args(["web", "--export", out.to_str().unwrap()])
            .args(force)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map(Held);
        let mut child = child.unwrap();
        wait_until_stopped(child.0.id());
        assert_eq!(there(), before + 1, "half of it is there");
        let pid = Pid::from_child(&child.0);
        kill_process(pid, Signal::INT).unwrap();
        kill_process(pid, Signal::CONT).unwrap();
        assert_eq!(child.0.wait().unwrap().code(), Some(130));
        assert_eq!(there(), before);
        if !force.is_empty() {
            assert_eq!(std::fs::read_to_string(&out).unwrap(), "mine");
        }
    }
}

#[test]
fn on_a_terminal_it_shows_how_far_it_is() {
    let sandbox = Sandbox::new();
    let first = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned();
    crate::summary::copies(&sandbox, &first, 3000);
    let out = sandbox.root().join("page.html");
    let words = ["web", "--export", out.to_str().unwrap()];
    let mut prepared = sandbox.tw_command();
    prepared.env("TERM", "xterm");
    // However quick the machine is.
    prepared.env("TW_TEST_PROGRESS_AT_ONCE", "1");
    let mut terminal = Terminal::program(&sandbox, &prepared, &words);
    terminal.shows("gathering").shows("3,001 entries");
    let quiet = sandbox.tw(["web", "--export", out.to_str().unwrap(), "--force"]);
    assert_eq!((quiet.code, quiet.err().as_str()), (0, ""));
}
