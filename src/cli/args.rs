//! The words that go with every command, and the clap tree.
//!
//! Leaves out the words of the commands: each has them in its own file.

use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, ValueEnum};

use super::Command;

/// The heading over what goes with every command.
pub const GLOBAL: &str = "Global options";

/// Help is laid out for terminals of at most this many columns.
const COLUMNS: usize = 100;

/// What `--version` says: the version, commit and day where the build knows them, and what is built in.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    env!("TW_BUILD"),
    "\nfeatures: ",
    env!("TW_FEATURES")
);

/// Keep a time machine for this working tree
///
/// tw takes snapshots of everything in the working tree (edits, staged state, untracked files) as commits on hidden refs
/// of the same repository. 'tw travel' puts the working tree back to a snapshot, 'tw return' brings the present back
/// exactly, and proves it. HEAD, branches, the index, the stash and the reflog are never touched by a snapshot, and
/// nothing is overwritten or removed before it is saved.
///
/// Without a command, tw shows the status. No set-up is needed: every command works in any git repository.
///
/// Wherever a SNAPSHOT is asked for, give its id, four characters or more of the beginning or of the last six of it, 'latest',
/// 'latest~2', a label, a time such as 2h, 'monday 9:00', 'last week' or 2026-02-28T15:30:12Z (the newest snapshot at or before
/// it), or the commit id of a snapshot. tw(1) has the whole list.
#[derive(Debug, Parser)]
#[command(
    name = "tw",
    bin_name = "tw",
    version,
    long_version = LONG_VERSION,
    max_term_width = COLUMNS,
    after_help = "\
Examples:
  # Save everything before a risky step
  tw snapshot -m 'before the refactor'

  # See what changed since
  tw diff

  # Go back, look around, build, try things, and come home
  tw travel latest
  tw return"
)]
pub struct Cli {
    /// What goes with every command.
    #[command(flatten)]
    pub globals: Globals,
    /// The command; status when there is none.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What goes with every command.
#[derive(Debug, Clone, Args)]
pub struct Globals {
    /// Run as if tw was started in DIR; may be given more than once
    #[arg(short = 'C', value_name = "DIR", global = true, action = ArgAction::Append, value_hint = ValueHint::DirPath, help_heading = GLOBAL)]
    pub start_in: Vec<PathBuf>,

    /// Print one JSON document instead of text, also for an error
    // 'context append --json LINE' reads as if it took it: a program adds its own '--json' at the end all the same.
    #[arg(long, global = true, overrides_with = "json", help_heading = GLOBAL)]
    pub json: bool,

    /// Print ids only, no notes and no hints
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = GLOBAL)]
    pub quiet: bool,

    /// Print more: every path touched, commit ids, and the causes of an error
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub verbose: bool,

    /// Use colour always, never, or (auto) on a terminal without NO_COLOR
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        default_value = "auto",
        hide_possible_values = true,
        help_heading = GLOBAL
    )]
    pub color: ColorChoice,

    /// Show no progress bar on standard error
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub no_progress: bool,

    /// Start no pager
    ///
    /// On a terminal, list, log, show, diff, search, find and blame go through the pager that git would take: GIT_PAGER, core.pager, PAGER,
    /// or less; nothing or 'cat' is none. No other command starts one, and none does off a terminal.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub no_pager: bool,

    /// Answer yes to the questions of init, drop, recover, undo, redo and web --export
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub yes: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal
    #[default]
    Auto,
    /// Also into a file or pipe
    Always,
    /// Never
    Never,
}

/// The clap tree, for completions, help and man pages.
pub fn tree() -> clap::Command {
    Cli::command()
}

/// Reads the words of a command line, the program's name first.
pub fn parse(words: &[OsString]) -> Result<Cli, clap::Error> {
    // Left to the end of the process: to take its thousands of pieces apart costs as much as a fifth of a command that does little.
    let mut tree = ManuallyDrop::new(tree());
    let mut matches = tree.try_get_matches_from_mut(copied_of_blame(context_of_search(words)))?;
    // An error from here knows nothing of the tree yet, and would be shown without its usage.
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut tree))
}

/// The words of `tw search` with `-C N` written out: behind that command it is grep's, as in `git -C DIR grep -C N`, and clap knows
/// one meaning of a letter. Where no number follows it names a directory here, too.
fn context_of_search(words: &[OsString]) -> Vec<OsString> {
    let mut words = words.to_vec();
    let Some(verb) = verb(&words).filter(|verb| words[*verb] == "search") else {
        return words;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut at = verb + 1;
    while at < words.len() && words[at] != "--" {
        let word = words[at].to_str().unwrap_or_default();
        let flags = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let (before, after) = flags.and_then(|flags| flags.split_once('C')).unzip();
        // What takes a value takes what stands behind it.
        let before = before.filter(|flags| !flags.contains(['e', 'g', 'm']));
        let next = words.get(at + 1).and_then(|word| word.to_str());
        let split = after == Some("") && next.is_some_and(is_number);
        if let Some(before) = before.filter(|_| split || after.is_some_and(is_number)) {
            let number = if split { next } else { after };
            let context = format!("--context={}", number.unwrap_or_default());
            let flags = (!before.is_empty()).then(|| format!("-{before}"));
            let written = flags.into_iter().chain([context]).map(OsString::from);
            let end = at + 1 + usize::from(split);
            words.splice(at..end, written);
        } else if matches!(word, "-e" | "-g" | "-m" | "--regexp" | "--glob") {
            at += 1;
        }
        at += 1;
    }
    words
}

/// The words of `tw blame` with `-C` written out: behind that command it is git's, as in `git -C DIR blame -C`.
fn copied_of_blame(mut words: Vec<OsString>) -> Vec<OsString> {
    let Some(verb) = verb(&words).filter(|verb| words[*verb] == "blame") else {
        return words;
    };
    let mut at = verb + 1;
    while at < words.len() && words[at] != "--" {
        let word = words[at].to_str().unwrap_or_default();
        let flags = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        // What follows `L` is its value.
        let flags = flags.filter(|flags| flags.contains('C') && !flags.contains('L'));
        if let Some(flags) = flags {
            let others = flags.replace('C', "");
            let others = (!others.is_empty()).then(|| format!("-{others}"));
            let written = others.into_iter().chain(["--copied".to_owned()]);
            words.splice(at..=at, written.map(OsString::from));
        } else if word == "-L" {
            at += 1;
        }
        at += 1;
    }
    words
}

/// Where the command's name stands.
fn verb(words: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
        match word {
            "-C" | "--color" => at += 2,
            _ if word.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands, and those of `issue`.
    fn every_command() -> Vec<clap::Command> {
        let tree = tree();
        let nested = tree
            .get_subcommands()
            .flat_map(clap::Command::get_subcommands);
        tree.get_subcommands().chain(nested).cloned().collect()
    }

    #[test]
    fn the_tree_is_sound() {
        tree().debug_assert();
    }

    /// clap takes an argument of a command and a global one of the same id for one and the same, and gives either the other's
    /// values or none.
    #[test]
    fn no_argument_has_the_id_of_a_global_one() {
        fn check(command: &clap::Command, globals: &[&str], path: &str) {
            for arg in command.get_arguments() {
                let id = arg.get_id().as_str();
                assert!(!globals.contains(&id), "'{id}' of '{path}' is a global");
            }
            for command in command.get_subcommands() {
                check(command, globals, &format!("{path} {}", command.get_name()));
            }
        }
        let tree = tree();
        let all = tree.get_arguments();
        let globals: Vec<_> = all.map(|arg| arg.get_id().as_str()).collect();
        assert!(globals.contains(&"json"));
        for command in tree.get_subcommands() {
            check(command, &globals, command.get_name());
        }
    }

    #[test]
    fn every_command_has_examples_and_a_plain_first_line() {
        for command in &every_command() {
            let name = command.get_name();
            let about = command
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                !about.is_empty() && !about.ends_with('.'),
                "{name}: {about}"
            );
            let long = command.get_long_about().map(ToString::to_string);
            assert!(long.is_some_and(|text| text.ends_with('.')), "{name}");
            let examples = command.get_after_help().map(ToString::to_string);
            assert!(
                examples.is_some_and(|text| text.starts_with("Examples:\n  # ")),
                "{name}"
            );
        }
    }

    #[test]
    fn every_flag_says_what_it_does() {
        for command in &every_command() {
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(
                    !help.is_empty() && !help.ends_with('.'),
                    "{} {}: {help}",
                    command.get_name(),
                    arg.get_id()
                );
            }
        }
    }

    #[test]
    fn behind_search_a_number_of_lines_may_follow_a_capital_c() {
        for (line, written) in [
            ("search -C 3 x", "search --context=3 x"),
            ("-C dir search x -iwC12", "-C dir search x -iw --context=12"),
            ("search -C dir x", "search -C dir x"),
            ("search -e -C 3", "search -e -C 3"),
            ("search -- -C 3", "search -- -C 3"),
            ("-C search list -C 3", "-C search list -C 3"),
            ("issue search -C 3 x", "issue search -C 3 x"),
        ] {
            let words = |line: &str| -> Vec<OsString> {
                let words = std::iter::once("tw").chain(line.split(' '));
                words.map(OsString::from).collect()
            };
            assert_eq!(context_of_search(&words(line)), words(written));
        }
    }

    #[test]
    fn global_options_stand_before_and_after_the_command() {
        let twice = ["tw", "context", "append", "--json", "{}", "--json"].map(OsString::from);
        assert!(parse(&twice).is_ok_and(|cli| cli.globals.json));
        for words in [["tw", "--json", "list"], ["tw", "list", "--json"]] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert!(parse(&words).is_ok_and(|cli| cli.globals.json));
        }
    }
}
