//! `tw doctor` on agents that are newer than the version `tw` was tested with.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// What doctor says of versions, with this directory alone in front of PATH; it is never a fault.
fn said(sandbox: &Sandbox, bin: &str) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = [sandbox.path(bin)].into_iter();
    let path = std::env::join_paths(dirs.chain(std::env::split_paths(&path))).unwrap();
    let mut command = sandbox.tw_command();
    let output = command
        .env("PATH", path)
        .args(["--json", "doctor"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let check = checks
        .iter()
        .find(|check| check["name"] == "agent-versions")
        .unwrap();
    assert_eq!(
        (&check["status"], &check["fix"]),
        (&json!("ok"), &json!(null))
    );
    check["message"].as_str().unwrap().to_owned()
}

const NONE: &str = "none is newer than the version tw was tested with";

#[test]
fn a_newer_version_in_a_session_of_its_own_is_told_and_nothing_more() {
    for (agent, title, head) in [
        (
            "claude",
            "Claude Code",
            "{\"type\": \"user\", \"version\": \"VERSION\"}",
        ),
        (
            "codex",
            "Codex",
            "{\"type\": \"session_meta\", \"payload\": {\"cli_version\": \"VERSION\"}}",
        ),
        (
            "kimi-code",
            "Kimi Code",
            "{\"type\": \"metadata\", \"app_version\": \"VERSION\"}",
        ),
    ] {
        let sandbox = Sandbox::new();
        assert_eq!(said(&sandbox, "none"), NONE);
        for (nth, (version, is_newer)) in [
            ("0.0.1", false),
            ("999.0.1", true),
            ("not-a-number", false),
            ("999.10.0-beta.2", true),
        ]
        .into_iter()
        .enumerate()
        {
            let file = format!("../home/{nth}.jsonl");
            let text = format!("no record\n{{\"type\": \"summary\"}}\n{head}\n");
            sandbox.write(&file, text.replace("VERSION", version));
            sandbox.wait(60);
            let (id, file) = (format!("abcd-{nth}"), sandbox.path(&file));
            sandbox.ok([
                "session",
                "start",
                "--agent",
                agent,
                "--session",
                &id,
                "--transcript",
                file.to_str().unwrap(),
            ]);
            let said = said(&sandbox, "none");
            if is_newer {
                assert!(
                    said.starts_with(&format!("{title} {version} is newer than ")),
                    "{said}"
                );
                assert_eq!(said.matches(" is newer than ").count(), 1, "{said}");
            } else {
                assert_eq!(said, NONE, "{agent} {version}");
            }
        }
        std::fs::remove_file(sandbox.path("../home/3.jsonl")).unwrap();
        assert_eq!(
            said(&sandbox, "none"),
            NONE,
            "a file that is gone says nothing"
        );
    }
}

#[test]
fn a_newer_package_is_told_without_starting_it() {
    let sandbox = Sandbox::new();
    let program = sandbox.path("../lib/gem/bundle/gemini.js");
    sandbox.program(&program, "#!/bin/sh\ntouch started\n");
    sandbox.symlink(&program, "../bin/gemini");
    let package = |name: &str, version: &str| {
        let text = json!({"name": name, "version": version}).to_string();
        sandbox.write("../lib/gem/package.json", text);
    };
    package("@google/gemini-cli", "999.0.0");
    assert_eq!(said(&sandbox, "../bin"), NONE, "it is not used here");
    sandbox.ok(["init", "--agent", "gemini"]);
    let told = said(&sandbox, "../bin");
    assert!(
        told.starts_with("Gemini CLI 999.0.0 is newer than "),
        "{told}"
    );
    for (name, version) in [("@google/gemini-cli", "0.0.1"), ("another", "999.0.0")] {
        package(name, version);
        assert_eq!(said(&sandbox, "../bin"), NONE, "{name} {version}");
    }
    sandbox.write("../lib/gem/package.json", "{");
    assert_eq!(said(&sandbox, "../bin"), NONE);
    assert!(!sandbox.exists("started"));
}
