//! What a hint names works when it is typed: each command is run in several states, and then each command that it named.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use regex::Regex;
use timewarp::cli::args;

use super::{at_work, words};
use crate::damage::walk;
use crate::sandbox::{Ran, Sandbox};

/// The commands that notes, hints and answers name, as a person would type them; none that has a word to be replaced.
fn named(said: &str) -> Vec<Vec<String>> {
    // A hint that is nothing but a command stands without quotes.
    let quoted = Regex::new(r"'(tw [^'\n]+)'|(?m)^hint: (tw [^'\n,;(]+)").unwrap();
    let placeholder = |word: &String| {
        word.len() > 1
            && word
                .chars()
                .all(|char| char.is_ascii_uppercase() || char == '.')
    };
    let number = |word: &str| (word == "N").then(|| "0".to_owned());
    let all = quoted
        .captures_iter(said)
        .filter_map(|found| found.get(1).or_else(|| found.get(2)))
        .map(|found| words(found.as_str(), number));
    all.filter(|words| !words.iter().any(placeholder)).collect()
}

/// A repository in some state, to which it can be put back.
struct State {
    sandbox: Sandbox,
    kept: tempfile::TempDir,
    /// What tells whether it is as it was put back.
    stamps: RefCell<Stamps>,
    /// What was typed in this very state already and ended well.
    tried: RefCell<BTreeSet<Vec<String>>>,
}

/// Each path with its length and when it was changed.
type Stamps = BTreeMap<PathBuf, (u64, i64, i64)>;

impl State {
    fn after(make: fn() -> Sandbox, before: &[&str]) -> Self {
        let sandbox = make();
        for earlier in before {
            sandbox.tw(words(earlier, |_| None).iter().skip(1));
        }
        let state = Self {
            sandbox,
            kept: tempfile::tempdir().unwrap(),
            stamps: RefCell::default(),
            tried: RefCell::default(),
        };
        copy(&state.sandbox.root(), state.kept.path());
        state
    }

    /// Whether nothing has changed since it was put back.
    fn is_as_put_back(&self) -> bool {
        let stamps = self.stamps.borrow();
        !stamps.is_empty() && *stamps == stamps_of(&self.sandbox)
    }

    fn put_back(&self) -> &Sandbox {
        if !self.is_as_put_back() {
            copy(self.kept.path(), &self.sandbox.root());
            *self.stamps.borrow_mut() = stamps_of(&self.sandbox);
        }
        &self.sandbox
    }
}

fn stamps_of(sandbox: &Sandbox) -> Stamps {
    let mut stamps = Stamps::new();
    walk(&sandbox.root(), &mut |path| {
        let meta = path.symlink_metadata().unwrap();
        let changed = (meta.len(), meta.ctime(), meta.ctime_nsec());
        stamps.insert(path.to_owned(), changed);
    });
    stamps
}

/// Makes a directory hold what another holds, with times and modes.
fn copy(from: &Path, to: &Path) {
    let script = "rm -rf \"$2\"/* \"$2\"/.[!.]* && cp -a \"$1\"/. \"$2\"";
    let mut command = std::process::Command::new("sh");
    let command = command.args(["-c", script, "sh"]).args([from, to]);
    assert!(command.status().unwrap().success());
}

/// Runs a command in this state, then each command that it names, each in the same state: what does not end well.
fn typed_in(state: &State, command: &str) -> (Vec<String>, usize) {
    let run = |sandbox: &Sandbox, words: &[String]| sandbox.tw(words.iter().skip(1));
    let start = || {
        let sandbox = state.put_back();
        let ran = run(sandbox, &words(command, |_| None));
        (sandbox, format!("{}{}", ran.out(), ran.err()))
    };
    let mut wrong = Vec::new();
    let mut count = 0;
    let (mut sandbox, said) = start();
    let mut hints = named(&said);
    // What changes nothing leaves its hints the state that others had theirs tried in.
    let has_changed = !state.is_as_put_back();
    let mut is_fresh = true;
    while let Some(hint) = hints.get(count).cloned() {
        count += 1;
        if !has_changed && state.tried.borrow().contains(&hint) {
            continue;
        }
        if !is_fresh {
            // What it names now: ids differ from run to run.
            let said;
            (sandbox, said) = start();
            hints = named(&said);
        }
        is_fresh = false;
        let Some(hint) = hints.get(count - 1) else {
            break;
        };
        let ran = run(sandbox, hint);
        let typed = hint.join(" ");
        // In passing, a command is called by its name alone, one that asks does so on a terminal, and one that looks further may
        // find nothing there, either.
        let by_name = [
            "required arguments were not provided",
            "no terminal to ask on",
            "no snapshot has ",
        ];
        let is_named = typed == command || by_name.iter().any(|words| ran.err().contains(words));
        if ran.code != 0 && !is_named {
            wrong.push(format!(
                "{command}: {typed}: exit {}\n{}",
                ran.code,
                ran.err()
            ));
        } else if !has_changed && typed != command {
            state.tried.borrow_mut().insert(hint.clone());
        }
    }
    (wrong, count)
}

/// As [`typed_in`]; a command that names nothing would prove nothing.
fn typed(make: fn() -> Sandbox, before: &[&str], command: &str) -> Vec<String> {
    let (mut wrong, count) = typed_in(&State::after(make, before), command);
    if count == 0 {
        wrong.push(format!("{command}: no hint"));
    }
    wrong
}

#[test]
fn what_a_hint_names_works_when_it_is_typed() {
    let mut wrong = Vec::new();
    for command in [
        "tw",
        "tw session list",
        "tw checkpoint list",
        "tw rewind 0 --code",
        "tw rewind --undo",
        "tw session show",
        "tw session end",
        "tw session resume",
        "tw context show",
        "tw context checkpoint",
        "tw backtrack show",
        "tw list",
        "tw show latest",
        "tw diff",
        "tw travel latest",
        "tw restore latest a.txt",
        "tw undo",
        "tw redo",
        "tw init",
        "tw label --remove x",
    ] {
        wrong.extend(typed(Sandbox::new, &[], command));
    }
    for (before, command) in [
        (&[][..], "tw checkpoint"),
        (&[], "tw checkpoint list"),
        (&[], "tw rewind 0 --code"),
        (&[], "tw rewind 7 --code"),
        (&[], "tw rewind"),
        (&[], "tw backtrack --note x"),
        (&[], "tw travel"),
        (&[], "tw drop"),
        (&[], "tw issue start"),
        (&[], "tw travel latest"),
        (&["tw travel latest"], "tw"),
        (&["tw travel latest"], "tw travel latest"),
        (&["tw travel latest"], "tw return"),
        (&["tw restore latest"], "tw undo"),
        (&[], "tw open latest"),
        (&[], "tw drop latest -y"),
        (&[], "tw diff latest nothing"),
        (
            &["tw context append --role user x"],
            "tw context checkpoint",
        ),
        (&["tw context append --role user x"], "tw context revert 3"),
        (&["tw context checkpoint"], "tw backtrack 0 --note x"),
        (&[], "tw issue next"),
        (&["tw travel latest"], "tw undo"),
        (&["tw travel latest"], "tw redo"),
        (&["tw travel latest"], "tw rewind 0 --code"),
        (&["tw travel latest"], "tw purge a.txt --yes-purge"),
        (&["tw travel latest"], "tw drop latest -y"),
        (&["tw restore latest"], "tw redo"),
        (&["tw restore latest", "tw undo"], "tw undo"),
        (&["tw rewind 0 --code"], "tw rewind --undo"),
        (&["tw rewind 0 --code"], "tw undo"),
        (
            &["tw rewind 0 --code", "tw rewind --undo"],
            "tw rewind --undo",
        ),
        (&[], "tw restore nothing"),
        (&[], "tw show nothing"),
        (&[], "tw find nothing"),
        (&[], "tw list --kind backup"),
        (&[], "tw label latest"),
        (&[], "tw label --remove x"),
        (&[], "tw context show"),
        (&[], "tw context revert 3"),
        (&[], "tw session show nothing"),
        (&[], "tw session end nothing"),
        (&["tw session end"], "tw checkpoint"),
        (&["tw session end"], "tw rewind"),
        (&[], "tw diff nothing latest"),
        (&[], "tw session start"),
    ] {
        wrong.extend(typed(|| at_work().0, before, command));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every command, as somebody would type it first.
pub const COMMANDS: &[&str] = &[
    "tw status",
    "tw snapshot",
    "tw list",
    "tw list --session",
    "tw log",
    "tw show",
    "tw show nothing",
    "tw diff",
    "tw diff nothing",
    "tw search changed",
    "tw blame a.txt",
    "tw blame nothing",
    "tw find a.txt",
    "tw find nothing",
    "tw travel latest",
    "tw travel latest~1",
    "tw travel nothing",
    "tw return",
    "tw restore latest",
    "tw restore latest nothing",
    "tw revert 0",
    "tw revert 0 --dry-run",
    "tw revert latest",
    "tw revert 9",
    "tw undo",
    "tw undo 3",
    "tw undo --list",
    "tw redo",
    "tw recover",
    "tw recover --dropped",
    "tw open latest",
    "tw close nothing",
    "tw scratch list",
    "tw scratch gc",
    "tw bisect run -- true",
    "tw bisect run -- false",
    "tw label",
    "tw label latest",
    "tw label latest x",
    "tw label --remove x",
    "tw issue report --task-context x --symptom y --success-criteria z",
    "tw issue report",
    "tw issue list",
    "tw issue list --status fixed",
    "tw issue get",
    "tw issue chat",
    "tw issue edit",
    "tw issue experiment",
    "tw issue next",
    "tw issue search y",
    "tw issue start",
    "tw issue verify",
    "tw issue apply",
    "tw issue comment --message x",
    "tw issue close",
    "tw issue reopen",
    "tw stats",
    "tw try",
    "tw try -- true",
    "tw try -n 1 --verify false -- true",
    "tw try list",
    "tw try show latest",
    "tw try diff latest",
    "tw try log latest",
    "tw try apply latest",
    "tw try drop latest",
    "tw replay -- true",
    "tw replay list",
    "tw replay show latest",
    "tw replay drop latest",
    "tw revert",
    "tw revert 0",
    "tw revert 9",
    "tw share init origin",
    "tw share status",
    "tw share scan",
    "tw share off",
    "tw push",
    "tw pull",
    "tw redact",
    "tw prune",
    "tw drop latest",
    "tw drop latest -y",
    "tw purge a.txt",
    "tw purge a.txt --yes-purge",
    "tw init",
    "tw config",
    "tw config nothing",
    "tw doctor",
    "tw session start",
    "tw session list",
    "tw session show",
    "tw session resume",
    "tw session end",
    "tw checkpoint",
    "tw checkpoint list",
    "tw checkpoint show 0",
    "tw checkpoint show 9",
    "tw rewind",
    "tw rewind 0",
    "tw rewind 0 --code",
    "tw rewind 0 --conversation",
    "tw rewind --undo",
    "tw backtrack take",
    "tw backtrack show",
    "tw backtrack cancel",
    "tw backtrack 0 --note x",
    "tw context append --role user x",
    "tw context checkpoint",
    "tw context usage 3",
    "tw context show",
    "tw context revert 3",
    "tw context compact --summarizer cat",
    "tw prompt",
    "tw watch status",
    "tw watch start --idle 1s",
    "tw watch stop",
    "tw workspace list",
    "tw workspace add nothing",
    "tw workspace remove nothing",
    "tw workspace off",
];

/// What begins with no word of ours, waits for somebody, or prints a document.
const LEFT_OUT: &[&str] = &["ui", "web", "hook", "mcp", "agent-help", "completions"];

/// The commands that do something, by their words.
fn leaves(command: &clap::Command, above: &str, found: &mut BTreeSet<String>) {
    for below in command.get_subcommands() {
        let name = format!("{above} {}", below.get_name());
        if below.has_subcommands() {
            leaves(below, &name, found);
        } else if !LEFT_OUT.contains(&below.get_name()) {
            found.insert(name);
        }
    }
}

#[test]
fn every_command_is_run_for_its_hints() {
    let mut found = BTreeSet::new();
    leaves(&args::tree(), "tw", &mut found);
    found.retain(|leaf| !COMMANDS.iter().any(|command| command.starts_with(leaf)));
    assert!(found.is_empty(), "{found:?}");
}

/// All of them after these.
fn in_state(make: fn() -> Sandbox, before: &[&str]) {
    let state = State::after(make, before);
    let each = |command: &&str| typed_in(&state, command).0;
    let wrong: Vec<String> = COMMANDS.iter().flat_map(each).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn hints_hold_in_a_new_repository() {
    in_state(Sandbox::new, &[]);
}

#[test]
fn hints_hold_in_a_repository_without_a_commit() {
    in_state(Sandbox::unborn, &[]);
}

#[test]
fn hints_hold_at_work() {
    in_state(|| at_work().0, &[]);
}

#[test]
fn hints_hold_in_the_past() {
    in_state(|| at_work().0, &["tw travel latest~1"]);
}

#[test]
fn hints_hold_in_an_issues_run() {
    in_state(|| at_work().0, &["tw issue start"]);
}

#[test]
fn hints_hold_after_an_undo_and_a_try() {
    in_state(
        || at_work().0,
        &["tw restore latest~1", "tw undo", "tw try -n 1 -- true"],
    );
}

/// Types a line into a shell as it stands.
fn typed_into_shell(sandbox: &Sandbox, line: &str) {
    let mut shell = sandbox.command("sh");
    shell.env("TW", env!("CARGO_BIN_EXE_tw"));
    let ran = shell
        .args(["-c", &format!("tw() {{ \"$TW\" \"$@\"; }}; {line}")])
        .output();
    let ran = ran.unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{line}\n{said}");
}

#[test]
fn a_command_that_names_a_directory_is_typed_as_it_stands() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.ok(["-q", "snapshot"]);
    let snapshot = OsStr::new(snapshot.trim());
    let named = |ran: &Ran, pattern: &str| {
        let said = ran.err();
        let found = Regex::new(pattern).unwrap().captures(&said);
        found.unwrap_or_else(|| panic!("{said}"))[1].to_owned()
    };
    for (at, name) in ["plain", "with space", "it's (one) & $HOME"]
        .iter()
        .enumerate()
    {
        let dir = sandbox.root().join(at.to_string()).join(name);
        sandbox.mkdir(dir.parent().unwrap());
        let opened = sandbox.tw(["open".as_ref(), snapshot, dir.as_os_str()]);
        let close = named(&opened, "'(tw close .*)' removes it");
        let travel = ["travel".as_ref(), snapshot];
        sandbox.ok(["-C".as_ref(), dir.as_os_str()].into_iter().chain(travel));
        let refused = sandbox.tw(["close".as_ref(), dir.as_os_str()]);
        typed_into_shell(&sandbox, &named(&refused, "run '(tw -C .*)' first"));
        typed_into_shell(&sandbox, &close);
        assert!(!dir.exists());
    }
}
