//! What documents say can be typed is typed: every command in them is one, and those of the skill do what it says.

pub mod hints;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;
use regex::Regex;
use timewarp::cli::args;

use crate::sandbox::Sandbox;

/// The documents that tell people and agents what to type.
fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec![
        root.join("README.md"),
        root.join("CONTRIBUTING.md"),
        root.join("SECURITY.md"),
        root.join(SKILL),
    ];
    for entry in std::fs::read_dir(root.join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    paths
        .iter()
        .map(|path| (path.display().to_string(), read(path)))
        .collect()
}

const SKILL: &str = "src/agents/skill.md";

/// Every command in a document: lines of code that begin with it, with or without a prompt, and words between backticks. What a
/// console shows has a prompt before each command: all else is what they print.
fn commands(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut prose = String::new();
    let mut fenced = false;
    let mut prompted = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            prompted = fenced && line.trim_end().ends_with("console");
        } else if fenced || line.starts_with("    ") {
            let line = line.trim_start();
            let typed = line.strip_prefix("$ ");
            let command = typed.unwrap_or(if prompted { "" } else { line });
            if command.starts_with("tw ") {
                let mut whole = command.to_owned();
                while let Some(begun) = whole.strip_suffix('\\') {
                    whole = format!("{begun} {}", lines.next().unwrap_or_default().trim_start());
                }
                found.insert(whole);
            }
        } else {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    let quoted = Regex::new(r"`(tw\s[^`]+)`").unwrap();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    found.extend(quoted.captures_iter(&prose).map(|it| words(&it[1])));
    found
}

/// The words of a command, without what may be left out, each placeholder with a value; what else a shell would do is cut off.
fn words(command: &str, value: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let optional = Regex::new(r"\s*\[[^\]]*\]").unwrap();
    let nested = Regex::new(r"\$\([^)]*\)").unwrap();
    let command = optional.replace_all(command, "");
    let command = nested.replace_all(&command, "ID");
    let shell = Regex::new(r" (\|\|?|&&|[;>]).*").unwrap();
    let command = shell.replace(&command, "");
    let word = Regex::new(r"'([^']*)'|(\S+)").unwrap();
    let plain = |word: &str| {
        word.split('|')
            .next()
            .unwrap()
            .trim_end_matches('…')
            .to_owned()
    };
    word.captures_iter(&command)
        .map(|it| match it.get(1) {
            Some(quoted) => quoted.as_str().to_owned(),
            None => plain(&it[2]),
        })
        .map(|word| {
            value(&word).unwrap_or(if word.is_empty() {
                "x".to_owned()
            } else {
                word
            })
        })
        .collect()
}

#[test]
fn every_command_that_a_document_names_is_one() {
    let numbers = |word: &str| match word {
        "N" => Some("1".to_owned()),
        "NAME" => Some("claude".to_owned()),
        _ => None,
    };
    let mut wrong = Vec::new();
    let mut count = 0;
    for (document, text) in documents() {
        for command in commands(&text) {
            count += 1;
            let words: Vec<OsString> = words(&command, numbers)
                .into_iter()
                .map(OsString::from)
                .collect();
            if let Err(error) = args::parse(&words) {
                // In passing, a command is called by its name alone.
                let by_name = [
                    ErrorKind::MissingRequiredArgument,
                    ErrorKind::DisplayHelp,
                    ErrorKind::DisplayVersion,
                    ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
                ];
                let option = command.rsplit(' ').next().unwrap();
                let open = option.starts_with("--") && error.kind() == ErrorKind::InvalidValue;
                if !open && !by_name.contains(&error.kind()) {
                    wrong.push(format!("{document}: {command}\n{error}"));
                }
            }
        }
    }
    assert!(count > 90, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The texts of the program: what it prints, and the comments that become its help. Each in one line.
fn texts(path: &Path, text: &str) -> String {
    let text = text
        .split("\n#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text);
    let is_help = path.components().any(|part| part.as_os_str() == "cli");
    let mut joined = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("///") {
            if is_help {
                joined.push_str(comment);
            }
            continue;
        }
        // A text goes on in the next line behind a backslash.
        match line.strip_suffix('\\') {
            Some(begun) => joined.push_str(begun),
            None if line.starts_with("//") => joined.push('\n'),
            None => {
                joined.push('\n');
                joined.push_str(line);
            }
        }
    }
    joined
}

/// Every source of the program but those of its unit tests.
fn sources(dir: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_command_that_a_message_names_is_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    sources(&root, &mut paths);
    let quoted = Regex::new(r"'(tw [^'\n]+)'").unwrap();
    let filled = Regex::new(r"\{(\w*)[^}]*\}").unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in paths {
        let text = texts(&path, &std::fs::read_to_string(&path).unwrap());
        for found in quoted.captures_iter(&text) {
            count += 1;
            // What stands there when it is printed.
            let command =
                filled.replace_all(&found[1], |part: &regex::Captures<'_>| match &part[1] {
                    "log" => "undo",
                    "operation" => "return",
                    "user" | "flag" => "",
                    "agent" => "claude",
                    _ => "1",
                });
            let value = |word: &str| (word == "N").then(|| "1".to_owned());
            let words: Vec<OsString> = words(&command, value)
                .into_iter()
                .map(OsString::from)
                .collect();
            if let Err(error) = args::parse(&words) {
                let by_name = [
                    ErrorKind::MissingRequiredArgument,
                    ErrorKind::DisplayHelp,
                    ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
                ];
                if !by_name.contains(&error.kind()) {
                    wrong.push(format!("{}: {command}\n{error}", path.display()));
                }
            }
        }
    }
    assert!(count > 180, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The examples of a command's help and of those beneath it.
fn examples(command: &clap::Command, found: &mut BTreeSet<String>) {
    if let Some(help) = command.get_after_help() {
        let help = help.to_string().replace("\\\n", " ");
        let lines = help.lines().map(str::trim);
        found.extend(
            lines
                .filter(|line| line.contains("tw ") && !line.starts_with('#'))
                .map(str::to_owned),
        );
    }
    for below in command.get_subcommands() {
        examples(below, found);
    }
}

#[test]
fn every_example_of_the_help_can_be_typed() {
    let mut found = BTreeSet::new();
    examples(&args::tree(), &mut found);
    let nested = Regex::new(r"\$\((tw [^)]*)\)").unwrap();
    let pipe = Regex::new(r" [|<]").unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for example in &found {
        let inner = nested
            .captures_iter(example)
            .map(|found| found[1].to_owned());
        let outer = example.starts_with("tw ").then(|| example.clone());
        for command in inner.chain(outer) {
            count += 1;
            // What a shell would do with the rest.
            let command = pipe.split(&command).next().unwrap();
            let words: Vec<OsString> = words(command, |_| None)
                .into_iter()
                .map(OsString::from)
                .collect();
            if let Err(error) = args::parse(&words) {
                wrong.push(format!("{command}\n{error}"));
            }
        }
    }
    assert!(count > 90, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A repository as an agent finds it: a session with a checkpoint, a snapshot with a change since, and an issue.
fn at_work() -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    sandbox.json(["session", "start", "--session", "s1", "--agent", "claude"]);
    sandbox.json(["checkpoint", "-m", "zero"]);
    sandbox.write("a.txt", "changed\n");
    sandbox.json(["checkpoint", "-m", "one"]);
    let snapshot = sandbox
        .ok(["-q", "snapshot", "-m", "before"])
        .trim()
        .to_owned();
    sandbox.write("a.txt", "and again\n");
    let reported = sandbox.json([
        "issue",
        "report",
        "--task-context",
        "x",
        "--symptom",
        "y",
        "--success-criteria",
        "z",
        "--verify",
        "true",
    ]);
    let issue = reported["issue_id"].as_str().unwrap().to_owned();
    (sandbox, snapshot, issue)
}

#[test]
fn every_command_of_the_skill_does_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let skill = std::fs::read_to_string(root.join(SKILL)).unwrap();
    let commands = commands(&skill);
    assert!(commands.len() > 25, "{commands:#?}");
    let mut wrong = Vec::new();
    for command in &commands {
        let (sandbox, snapshot, issue) = at_work();
        let value = |word: &str| match word {
            "ID" if command.starts_with("tw issue") => Some(issue.clone()),
            "ID" => Some(snapshot.clone()),
            "N" => Some("1".to_owned()),
            "PATH" => Some("a.txt".to_owned()),
            "10,20" => Some("1,1".to_owned()),
            "PATTERN" => Some("changed".to_owned()),
            _ => None,
        };
        // What has to be in the past is tried there, and what puts an experiment back after one.
        let first: &[&[&str]] = match command.as_str() {
            "tw return" => &[&["travel", "latest"]],
            "tw issue verify ID" => &[&["issue", "start", &issue]],
            command if command.starts_with("tw issue experiment") => {
                &[&["issue", "start", &issue], &["return"]]
            }
            "tw issue apply ID" => &[&["issue", "start", &issue], &["return"]],
            "tw undo" => &[&["restore", &snapshot]],
            "tw redo" => &[&["restore", &snapshot], &["undo"]],
            _ => &[],
        };
        for before in first {
            sandbox.ok(before.iter());
            // Where something was made there is something to apply.
            if before[0] == "issue" {
                sandbox.write("made.txt", "in the past\n");
            }
        }
        let words = words(command, value);
        let ran = sandbox.tw(words[1..].iter().map(String::as_str));
        if ran.code != 0 {
            wrong.push(format!("{command}: exit {}\n{}", ran.code, ran.err()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
