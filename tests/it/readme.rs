//! The tours of the README and of the comparison run as they are printed: every block, in order, in one shell, in a fresh clone,
//! under a HOME that does all it can to get in the way. Exit codes are right, and where a document prints an answer, it is the
//! answer. `TW_BLESS=1` puts new answers into it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use regex::Regex;

use crate::sandbox::{Kind, Sandbox};
use crate::terminal::Terminal;

/// Commands that build or install: their effect is the test run itself.
const INSTALLING: [&str; 2] = ["cargo run --release -- snapshot", "cargo test --locked"];

/// Asks on a terminal; `init_is_what_the_readme_shows` runs it there.
const ASKING: &str = "tw init";

/// Where the README has the repository, and a program.
const REPOSITORY: &str = "/home/me/app";
const PROGRAMS: &str = "/usr/bin";

/// Ends what one command says; no program writes it.
const MARK: &str = "\u{1}ended with ";

/// A command of a document and what is printed under it.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    /// The line it is on, from 0.
    line: usize,
    words: String,
    shown: String,
}

impl Step {
    /// The answer says so itself where a command is meant to fail.
    fn code(&self) -> i32 {
        i32::from(self.shown.starts_with("failed"))
    }

    fn is_run(&self) -> bool {
        self.words != ASKING && !INSTALLING.contains(&self.words.as_str())
    }
}

fn text_of(document: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(document)).unwrap()
}

/// The commands of every block, fenced or indented.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut fenced = false;
    for (line, words) in text.lines().enumerate() {
        if let Some(language) = words.strip_prefix("```") {
            fenced = !fenced;
            let expected = if fenced { "console" } else { "" };
            assert_eq!(language, expected, "in line {}", line + 1);
        } else if let Some(command) = words.strip_prefix(if fenced { "$ " } else { "    " }) {
            steps.push(Step {
                line,
                words: command.to_owned(),
                shown: String::new(),
            });
        } else if fenced {
            let step = steps.last_mut().expect("a block begins with a command");
            step.shown.push_str(words);
            step.shown.push('\n');
        }
    }
    steps
}

/// A fresh clone of a small repository, whose user has these settings.
struct Tour {
    sandbox: Sandbox,
    home: PathBuf,
}

impl Tour {
    fn new() -> Self {
        // Where a document prints a part of a blob's id, it is one of SHA-1.
        let sandbox = Sandbox::room_of(Kind::PLAIN);
        let root = sandbox.root();
        let write = |path: &Path, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(&root.join("origin/README.md"), "# App\n");
        write(
            &root.join("origin/src/main.rs"),
            "fn main() {\n    run();\n}\n",
        );
        for args in [
            &["init", "-q", "-b", "main", "origin"][..],
            &["-C", "origin", "add", "."],
            &["-C", "origin", "commit", "-q", "-m", "first"],
            &["clone", "-q", "origin", "repo"],
        ] {
            let identity = ["-c", "user.name=Eva", "-c", "user.email=eva@example.org"];
            let mut git = sandbox.command("git");
            git.args(identity).args(args).assert().success();
        }
        let home = root.join("the home of 'Eva' & $x é");
        for name in ["reference-transaction", "post-checkout", "pre-commit"] {
            let hook = home.join("hooks").join(name);
            sandbox.program(hook, "#!/bin/sh\necho run >>\"$HOME/started\"; exit 1\n");
        }
        let settings = format!(
            "[core]\n\thooksPath = \"{}\"\n\tpager = false\n\teditor = false\n\tquotePath = false\n\
             [commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n[user]\n\tuseConfigOnly = true\n\
             [diff]\n\texternal = false\n\tnoprefix = true\n[merge]\n\tconflictStyle = diff3\n\
             [init]\n\tdefaultBranch = trunk\n[alias]\n\tshow = false\n[status]\n\trelativePaths = false\n",
            home.join("hooks").display()
        );
        write(&home.join(".gitconfig"), &settings);
        Self { sandbox, home }
    }

    /// What each step says and how it ends, all of them in one shell.
    fn run(&self, steps: &[Step]) -> Vec<(i32, String)> {
        let program = Path::new(env!("CARGO_BIN_EXE_tw")).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs = [program.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&path));
        let mut script = "exec 2>&1\n".to_owned();
        for step in steps {
            script.push_str(&format!(
                "{}\nprintf '\\1ended with %d\\n' $?\n",
                step.words
            ));
        }
        let mut shell = self.sandbox.command("bash");
        shell
            .args(["-c", &script])
            .env("PATH", std::env::join_paths(dirs).unwrap())
            .env("HOME", &self.home)
            .env("PAGER", "false")
            .env("EDITOR", "false");
        let output = shell.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let repository = self.sandbox.repo().display().to_string();
        // Of what is made beside it, too.
        let said = said.replace(&repository, REPOSITORY);
        let mut answers = Vec::new();
        let mut rest = said.as_str();
        while let Some((answer, after)) = rest.split_once(MARK) {
            let (code, after) = after.split_once('\n').unwrap();
            answers.push((code.parse().unwrap(), answer.to_owned()));
            rest = after;
        }
        assert_eq!(answers.len(), steps.len(), "{said}");
        answers
    }
}

/// Texts of one side without what differs from run to run: ids, times, sizes.
struct Settled(Sandbox);

impl Settled {
    fn text(&self, text: &str) -> String {
        let mut text = self.0.redact(text);
        for (pattern, instead) in [
            (r"\b(now|[0-9]+ (second|minute)s? ago)\b *", "[time] "),
            (
                r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{5,8} [A-Z+0-9:]+",
                "[at]",
            ),
            (r"\b[0-9]{2}:[0-9]{2}\b", "[time]"),
            (r"(?m)^(\S+ +)[a-z0-9]{6}  ", "$1[tail]  "),
            (r"\.tw/[a-z0-9]{6}\b", ".tw/[tail]"),
            (r"\bindex [0-9a-f]{7}\.\.[0-9a-f]{7}", "index …"),
            (r"\btw-[0-9]{8}-[0-9]{6}-[0-9a-f]{6}", "[session]"),
            (r"\bdetached at [0-9a-f]{10}\b", "detached at [commit]"),
            (r"\b[0-9]+ bytes\b", "N bytes"),
            (r" after [0-9.]+ m?s: ", " after N ms: "),
        ] {
            let pattern = Regex::new(pattern).unwrap();
            text = pattern.replace_all(&text, instead).into_owned();
        }
        text
    }
}

/// The text of a document with other answers under its commands.
fn with_answers(text: &str, steps: &[Step], answers: &[String]) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    for (step, answer) in steps.iter().zip(answers).rev() {
        let from = step.line + 1;
        lines.splice(from..from + step.shown.lines().count(), answer.lines());
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_tours_run_as_they_are_printed() {
    let all = steps(&text_of("README.md"));
    for words in INSTALLING.iter().chain([&ASKING]) {
        assert!(all.iter().any(|step| step.words == *words), "{words}");
    }
    check("README.md");
}

#[test]
fn the_comparison_shows_what_tw_shows() {
    check("docs/compare.md");
}

/// Runs all that a document prints, and compares, or with `TW_BLESS=1` puts the answers into it.
fn check(document: &str) {
    let text = text_of(document);
    let steps: Vec<Step> = steps(&text).into_iter().filter(Step::is_run).collect();
    assert!(steps.len() > 20, "{steps:?}");
    let tour = Tour::new();
    let said = tour.run(&steps);
    assert!(!tour.home.join("started").exists(), "a hook was started");
    let (printed, real) = (Settled(Sandbox::bare_room()), Settled(Sandbox::bare_room()));
    let is_blessed = std::env::var_os("TW_BLESS").is_some();
    let mut is_same = true;
    for (step, (code, answer)) in steps.iter().zip(&said) {
        let same = *code == step.code()
            && (step.shown.is_empty() || printed.text(&step.shown) == real.text(answer));
        assert!(
            same || is_blessed,
            "{document}:{}: $ {}\n{}\nTW_BLESS=1 cargo test --test it readme puts this answer into it:\n{answer}\
             ended with {code}",
            step.line + 1,
            step.words,
            step.shown,
        );
        is_same &= same;
    }
    // All of one run: an id in one answer is an id in another.
    if is_blessed && !is_same {
        let answers = said.into_iter().zip(&steps).map(|((_, answer), step)| {
            if step.shown.is_empty() {
                String::new()
            } else {
                answer
            }
        });
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
        let answers: Vec<String> = answers.collect();
        std::fs::write(file, with_answers(&text, &steps, &answers)).unwrap();
    }
}

/// The command lines of `tw` in a document: those of blocks, and those between backticks.
fn command_lines(text: &str) -> Vec<String> {
    let steps = steps(text);
    let typed = steps.iter().map(|step| step.words.as_str());
    let quoted = text
        .lines()
        .filter(|line| !line.starts_with("$ ") && !line.starts_with("    "))
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_tw = |line: &&str| line.starts_with("tw ");
    typed
        .chain(quoted)
        .filter(is_tw)
        .map(str::to_owned)
        .collect()
}

/// The words of a command line, as a shell splits what has no more than single quotes.
fn words(line: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    for (at, part) in line.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(OsString::from(part));
        } else {
            words.extend(part.split_whitespace().map(OsString::from));
        }
    }
    words
}

#[test]
fn every_command_that_the_comparison_names_is_one() {
    let lines = command_lines(&text_of("docs/compare.md"));
    assert!(lines.len() > 40, "{lines:?}");
    for line in lines {
        let line = line.replace('…', "--symptom x");
        if let Err(error) = timewarp::cli::args::parse(&words(&line)) {
            // What a table leaves out is asked for; a word that is not known is not.
            let kind = error.kind();
            assert_eq!(kind, ErrorKind::MissingRequiredArgument, "{line}: {error}");
        }
    }
    for wrong in ["tw travle latest", "tw diff --patsh"] {
        assert!(timewarp::cli::args::parse(&words(wrong)).is_err());
    }
}

#[test]
fn init_is_what_the_readme_shows() {
    let steps = steps(&text_of("README.md"));
    let shown = steps.iter().find(|step| step.words == ASKING).unwrap();
    let sandbox = Sandbox::new();
    sandbox.mkdir("../home/.codex");
    sandbox.program("../bin/claude", "#!/bin/sh\n");
    let mut command = sandbox.tw_command();
    command.env("PATH", sandbox.root().join("bin"));
    let mut terminal = Terminal::start(&sandbox, &command, &["init"]);
    terminal.shows("[Y/n] ").types(b"n\n");
    let (code, said) = terminal.ends();
    assert_eq!(code, 0, "{said}");
    let (said, _) = said.split_once("[Y/n]").unwrap();
    let said = said
        .replace(&sandbox.repo().display().to_string(), REPOSITORY)
        .replace(&sandbox.root().join("bin").display().to_string(), PROGRAMS);
    assert_eq!(shown.shown.trim_end(), format!("{said}[Y/n]"));
}
