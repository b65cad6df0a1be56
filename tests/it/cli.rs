//! What holds for every command: usage errors, help, JSON, colour, pipes, completion.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::sandbox::{Ran, Sandbox};
use crate::schema;

#[test]
fn a_usage_error_names_the_mistake_and_the_help() {
    let sandbox = Sandbox::bare_room();
    assert_eq!(
        sandbox.show(&sandbox.tw(["travle"])),
        "exit 2\n\
         --- stderr\n\
         error: unrecognized subcommand 'travle'\n\
         hint: a similar subcommand exists: 'travel'\n\
         hint: usage: tw [OPTIONS] [COMMAND]\n\
         hint: 'tw --help' says more\n"
    );
    assert_eq!(
        sandbox.show(&sandbox.tw(["label", "latest"])),
        "exit 2\n\
         --- stderr\n\
         error: the following required arguments were not provided: <NAME>\n\
         hint: usage: tw label [OPTIONS]\n\
         hint: usage: tw label [OPTIONS] <SNAPSHOT> <NAME>\n\
         hint: usage: tw label [OPTIONS] --remove <NAME>\n\
         hint: 'tw label --help' says more\n"
    );
}

#[test]
fn a_usage_error_is_json_when_json_is_asked_for() {
    let sandbox = Sandbox::bare_room();
    for args in [
        &["travel"][..],
        &["list", "-n", "x"],
        &["--bogus"],
        &["diff", "--stat", "-p"],
    ] {
        let (error, code) = sandbox.json_error(args);
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("USAGE"), 2),
            "{args:?}"
        );
        assert_eq!(error["hint"], error["hints"][0]);
    }
    let ran = sandbox.tw(["travel", "--json"]);
    assert_eq!(
        (ran.code, ran.err()),
        (2, String::new()),
        "standard error stays empty"
    );
    // After two dashes it is an argument, not the flag.
    let ran = sandbox.tw(["travel", "--bogus", "--", "--json"]);
    assert_eq!((ran.code, ran.out()), (2, String::new()));
}

#[test]
fn flags_that_contradict_are_refused() {
    let sandbox = Sandbox::bare_room();
    for args in [
        &["-q", "-v", "status"][..],
        &["list", "--all", "--kind", "backup"],
        &["recover", "--forward", "--back"],
        &["recover", "--dropped", "--back"],
        &["label", "--remove", "a", "latest"],
        &["diff", "--name-only", "--name-status"],
        &["drop"],
        &["purge"],
        &["completions", "tcsh"],
    ] {
        assert_eq!(sandbox.tw(args).code, 2, "{args:?}");
    }
}

#[test]
fn help_is_an_answer() {
    let sandbox = Sandbox::bare_room();
    for args in [
        &["--help"][..],
        &["-h"],
        &["help", "travel"],
        &["travel", "--help"],
        &["--json", "-h"],
    ] {
        let ran = sandbox.tw(args);
        assert_eq!((ran.code, ran.err()), (0, String::new()), "{args:?}");
        assert!(ran.out().contains("Usage: tw"), "{args:?}");
    }
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    let sandbox = Sandbox::bare_room();
    assert_eq!(
        sandbox.show(&sandbox.tw(["-C", "home", "-C", "nowhere", "prompt"])),
        "exit 3\n\
         --- stderr\n\
         error: cannot change to 'nowhere': No such file or directory (os error 2)\n\
         hint: -C takes a directory that exists\n"
    );
    let (error, code) = sandbox.json_error(["-C", "nowhere", "status"]);
    assert_eq!((error["code"].as_str(), code), (Some("PATH_NOT_FOUND"), 3));
}

#[test]
fn control_characters_in_messages_are_escaped() {
    let sandbox = Sandbox::bare_room();
    let ran = sandbox.tw(["-C", "no\u{1b}[2J\nwhere", "prompt"]);
    assert!(
        ran.err().contains(r#"'"no\033[2J\nwhere"'"#),
        "{}",
        ran.err()
    );
    assert!(!ran.stderr.contains(&0x1b));
}

#[test]
fn the_prompt_says_nothing_outside_of_a_repository() {
    let sandbox = Sandbox::bare_room();
    assert_eq!(sandbox.show(&sandbox.tw(["prompt"])), "exit 0\n");
    assert_eq!(sandbox.json(["prompt"])["prompt"], serde_json::Value::Null);
}

#[test]
fn completions_have_a_json_document_too() {
    let sandbox = Sandbox::bare_room();
    let document = sandbox.json(["completions", "fish"]);
    assert_eq!(document["shell"], "fish");
    assert_eq!(
        document["script"].as_str(),
        Some(&*sandbox.ok(["completions", "fish"]))
    );
}

#[test]
fn colour_is_for_terminals_unless_asked_for() {
    let sandbox = Sandbox::bare_room();
    let colour = |flags: &[&str], no_color: Option<&str>| {
        let mut command = sandbox.tw_command();
        command.args(flags).arg("--bogus");
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        command.output().unwrap().stderr.contains(&0x1b)
    };
    assert!(!colour(&[], None), "a pipe");
    assert!(colour(&["--color", "always"], None));
    assert!(
        colour(&["--color=always"], Some("1")),
        "the flag wins over NO_COLOR"
    );
    assert!(!colour(&["--color", "never"], None));
    let help = sandbox.tw(["--color", "always", "--help"]);
    assert!(help.stdout.contains(&0x1b), "help too");
}

/// Runs `tw` on a terminal of its own, by `script` of util-linux. None where that is not installed.
fn on_a_terminal(sandbox: &Sandbox, variables: &[(&str, &str)], words: &str) -> Option<String> {
    let line = format!("{} {words}", env!("CARGO_BIN_EXE_tw"));
    let mut command = sandbox.command("script");
    command.env("SHELL", "/bin/sh").env("TERM", "xterm");
    command.envs(variables.iter().copied());
    let output = command.args(["-qec", &line, "/dev/null"]).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_terminal_gets_colour_and_no_color_takes_it_away() {
    let sandbox = Sandbox::bare_room();
    let Some(plain) = on_a_terminal(&sandbox, &[("NO_COLOR", "1")], "--bogus") else {
        return;
    };
    assert!(plain.contains("error: unexpected argument"), "{plain}");
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    let dumb = on_a_terminal(&sandbox, &[("TERM", "dumb")], "--bogus").unwrap();
    assert!(!dumb.contains('\u{1b}'), "{dumb:?}");
    let coloured = on_a_terminal(&sandbox, &[], "--bogus").unwrap();
    assert!(
        coloured.contains("\u{1b}[1;31merror:\u{1b}[0m"),
        "{coloured:?}"
    );
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let sandbox = Sandbox::bare_room();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = Command::new(env!("CARGO_BIN_EXE_tw"))
        .arg("--help")
        .env_clear()
        .env("HOME", sandbox.home())
        .current_dir(sandbox.root())
        .stdout(Stdio::from(writer))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(
        (child.wait().unwrap().code(), said),
        (Some(0), String::new())
    );
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("notes.txt", "one\n");
    sandbox.ok(["snapshot"]);
    for (words, code) in [
        ("--help", 1),
        ("list", 1),
        ("--json list", 1),
        ("search one", 2),
        ("--json search one", 2),
        ("--json show nosuch", 3),
    ] {
        let ran = sandbox.paste(&format!("tw {words} >/dev/full"));
        assert_eq!(ran.code, code, "{words}: {}", ran.err());
        assert!(
            ran.err()
                .starts_with("error: cannot write the answer: No space left"),
            "{words}: {}",
            ran.err()
        );
    }
}

/// Asks for the completions of the last word, as the bash script does.
fn complete(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let mut command = sandbox.tw_command();
    command
        .env("COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
    let output = command.arg("--").args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn commands_flags_and_addresses_complete() {
    let sandbox = Sandbox::bare_room();
    assert_eq!(complete(&sandbox, &["tw", "tra"]), ["travel"]);
    assert_eq!(
        complete(&sandbox, &["tw", "travel", "--dry"]),
        ["--dry-run"]
    );
    assert_eq!(complete(&sandbox, &["tw", "travel", "lat"]), ["latest"]);
    assert_eq!(
        complete(&sandbox, &["tw", "list", "--kind", "b"]),
        ["backup"]
    );
    assert_eq!(
        complete(&sandbox, &["tw", "completions", ""])[..3],
        ["bash", "zsh", "fish"]
    );
}

#[test]
fn a_foreign_variable_named_complete_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "1");
    for (number, shell) in ["yes", "bash", "/bin/zsh", "fish", "elvish", "powershell"]
        .into_iter()
        .enumerate()
    {
        let tw = |variable: &str, args: &[&str], payload: &str| -> Ran {
            let mut command = sandbox.tw_command();
            let command = command.env(variable, shell).args(args);
            command.write_stdin(payload).output().unwrap().into()
        };
        for variable in ["COMPLETE", "TW_COMPLETE"] {
            let version = tw(variable, &["--version"], "");
            assert!(
                version.out().starts_with("tw "),
                "{shell}: {}",
                version.out()
            );
            let status = tw(variable, &[], "");
            assert!(
                status.out().contains("present"),
                "{shell}: {}",
                status.out()
            );
            let hook = ["hook", "claude", "UserPromptSubmit"];
            let ran = tw(
                variable,
                &hook,
                &format!("{{\"session_id\": \"s{variable}{number}\", \"prompt\": \"p\"}}"),
            );
            assert_eq!(sandbox.show(&ran), "exit 0\n", "{shell}");
        }
        let sessions = sandbox.json(["session", "list"])["sessions"].clone();
        assert_eq!(sessions.as_array().unwrap().len(), (number + 1) * 2);
    }
}

#[test]
fn the_bash_script_completes_in_a_real_bash() {
    let sandbox = Sandbox::bare_room();
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_tw"))
        .parent()
        .unwrap();
    let script = r#"
        PATH="$BIN:$PATH"; eval "$(tw completions bash)"
        COMP_WORDS=(tw travel lat); COMP_CWORD=2; COMP_TYPE=9
        _clap_complete_tw tw lat travel; printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let mut command = sandbox.command("bash");
    let output = command
        .env("BIN", bin)
        .args(["--norc", "-c", script])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "latest\n",
        "{output:?}"
    );
}

#[test]
fn every_error_document_keeps_to_its_schema() {
    use timewarp::error::{Code, Error};
    let error = Error::new(Code::WouldOverwrite, "in the way")
        .hint("move it")
        .detail("paths", vec!["a".to_owned()]);
    schema::check("error", &timewarp::wire::error(&error));
}

#[test]
fn config_keeps_to_its_schema() {
    let listed = Sandbox::new().json(["config"]);
    let has = |key: &str| {
        listed["config"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["key"] == key)
    };
    assert!(has("lock_timeout"), "{listed}");
}

#[test]
fn a_command_with_others_beneath_it_alone_prints_its_help() {
    let sandbox = Sandbox::bare_room();
    for (group, command) in [
        ("issue", "report"),
        ("session", "start"),
        ("context", "append"),
    ] {
        let ran = sandbox.tw([group]);
        assert_eq!((ran.code, ran.out()), (2, String::new()), "{group}");
        let (help, help_on_request) = (ran.err(), sandbox.tw([group, "-h"]).out());
        assert_eq!(help, help_on_request, "{group}");
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
        let (error, code) = sandbox.json_error([group]);
        assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
    }
}

#[test]
fn in_a_directory_that_is_gone_the_hint_says_where_to_go() {
    let sandbox = Sandbox::new();
    let script = "mkdir gone; cd gone; rmdir ../gone; exec \"$0\" status";
    let mut command = sandbox.command("sh");
    let output = command
        .args(["-c", script, env!("CARGO_BIN_EXE_tw")])
        .output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    let hint = "hint: it was removed: go to another one, or name one with 'tw -C DIR'\n";
    assert!(said.ends_with(hint), "{said}");
    assert_eq!(said.matches("hint: ").count(), 1, "{said}");
}
