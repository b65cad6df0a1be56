//! Command lines that clap refuses, in our own form: one error with hints, exit code 2, also as JSON.

use std::ffi::OsString;

use clap::error::ErrorKind;

use super::args::{ColorChoice, Globals};
use crate::error::Error;

/// What can be told of the global flags of a command line that cannot be parsed.
pub fn globals(words: &[OsString]) -> Globals {
    let mut color = ColorChoice::Auto;
    let mut words = words
        .iter()
        .skip(1)
        .filter_map(|word| word.to_str())
        .take_while(|word| *word != "--");
    let mut json = false;
    while let Some(word) = words.next() {
        json |= word == "--json";
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        match value {
            Some("always") => color = ColorChoice::Always,
            Some("never") => color = ColorChoice::Never,
            _ => {}
        }
    }
    Globals {
        start_in: Vec::new(),
        json,
        quiet: false,
        verbose: false,
        color,
        // Nothing is done but to print an error.
        no_progress: true,
        no_pager: false,
        yes: false,
    }
}

/// Whether a command line that cannot be parsed was to be `tw hook`.
pub fn is_hook(words: &[OsString]) -> bool {
    let mut words = words.iter().skip(1).filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        match word {
            "-C" | "--color" => {
                words.next();
            }
            flag if flag.starts_with('-') => {}
            command => return command == "hook",
        }
    }
    false
}

/// Whether the answer is the help of a command that only has others beneath it and stands alone: for people, who then see
/// what there is. A program gets its error as a document.
pub fn shows_help(error: &clap::Error, words: &[OsString]) -> bool {
    let alone = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    alone && !globals(words).json && !is_hook(words)
}

/// What lists the things that a word of the usage stands for.
const LISTS: [(&str, &str); 5] = [
    (
        "<CHECKPOINT>",
        "'tw log' shows the prompts, each a checkpoint",
    ),
    ("<ISSUE>", "'tw issue list' shows the issues"),
    ("<SNAPSHOT>", "'tw list' shows the snapshots"),
    (
        "<DIR>",
        "'git worktree list' shows the directories, also those of 'tw open'",
    ),
    (
        "<SHELL>",
        "the shells are bash, zsh, fish, elvish and powershell",
    ),
];

/// What to say of a command line that is refused.
pub fn error(error: &clap::Error, words: &[OsString]) -> Error {
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => missing_command(error),
        ErrorKind::MissingRequiredArgument => {
            let said = as_clap_says(error, words);
            let asked = LISTS.iter().find(|(word, _)| said.message().contains(word));
            asked
                .into_iter()
                .fold(said, |said, (_, list)| said.hint(*list))
        }
        _ => as_clap_says(error, words),
    }
}

/// A command that only has others beneath it, alone. Clap would show its whole help.
fn missing_command(error: &clap::Error) -> Error {
    let text = error.render().to_string();
    let usage = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Usage: "));
    let path = usage.map_or("tw", command_of);
    let mut command = super::args::tree();
    for name in path.split(' ').skip(1) {
        command = match command.find_subcommand(name) {
            Some(below) => below.clone(),
            None => break,
        };
    }
    let shown = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set());
    let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
    Error::usage(format!("'{path}' needs a command: {}", names.join(", ")))
        .hint(format!("'{path} --help' says what each does"))
}

/// Clap's words as one message and hints. Clap writes paragraphs: the message, tips, the usage, where help is.
fn as_clap_says(error: &clap::Error, words: &[OsString]) -> Error {
    let text = error.render().to_string();
    let mut message = Vec::new();
    let mut hints = Vec::new();
    let mut usage = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(tip) = line.strip_prefix("tip: ") {
            hints.push(tip.to_owned());
        } else if let Some(form) = line.strip_prefix("Usage: ") {
            usage.push(form);
        } else if !usage.is_empty() && line.starts_with("tw ") {
            usage.push(line);
        } else if line.starts_with("For more information, try ") {
            // Said below, in our own form.
        } else if hints.is_empty() && usage.is_empty() && !line.is_empty() {
            message.push(line.strip_prefix("error: ").unwrap_or(line));
        }
    }
    let help = match usage.first() {
        Some(form) => command_of(form).to_owned(),
        // Clap shows no usage where only a value is wrong.
        None => command_in(words),
    };
    hints.extend(usage.iter().map(|form| format!("usage: {form}")));
    hints.push(format!("'{help} --help' says more"));
    hints
        .into_iter()
        .fold(Error::usage(message.join(" ")), Error::hint)
}

/// The command that a command line means, as far as its words are names of commands.
fn command_in(words: &[OsString]) -> String {
    let mut command = super::args::tree();
    let mut path = vec!["tw".to_owned()];
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = command.find_subcommand(word) {
            path.push(below.get_name().to_owned());
            command = below.clone();
        }
    }
    path.join(" ")
}

/// `tw travel` of `tw travel [OPTIONS] <SNAPSHOT>`.
fn command_of(usage: &str) -> &str {
    // A name may have a dash within.
    let ends = ["[", "<", " -"].map(|start| usage.find(start));
    let end = ends.into_iter().flatten().min().unwrap_or(usage.len());
    usage[..end].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn refused(line: &str) -> Error {
        match super::super::args::parse(&words(line)) {
            Ok(cli) => panic!("{cli:?}"),
            Err(refusal) => error(&refusal, &words(line)),
        }
    }

    #[test]
    fn a_missing_argument_is_named() {
        let error = refused("tw travel");
        assert_eq!(
            error.message(),
            "the following required arguments were not provided: <SNAPSHOT>"
        );
        assert_eq!(
            error.hints(),
            [
                "usage: tw travel <SNAPSHOT>",
                "'tw travel --help' says more",
                "'tw list' shows the snapshots"
            ]
        );
    }

    #[test]
    fn a_command_that_needs_another_names_those_that_it_has() {
        for (line, first) in [
            ("tw issue", "report"),
            ("tw session", "start"),
            ("tw context", "append"),
        ] {
            let error = refused(line);
            let message = error.message();
            let start = format!("'{line}' needs a command: ");
            assert!(
                message.starts_with(&start) && message.contains(first),
                "{message}"
            );
            assert_eq!(
                error.hints(),
                [format!("'{line} --help' says what each does")]
            );
        }
    }

    #[test]
    fn a_command_with_a_dash_in_its_name_is_named_whole() {
        let error = refused("tw agent-help --bogus");
        let hints = error.hints();
        assert_eq!(
            hints.last().map(String::as_str),
            Some("'tw agent-help --help' says more")
        );
    }

    #[test]
    fn a_wrong_value_names_the_help_of_its_command() {
        let error = refused("tw -q issue list --limit some");
        assert_eq!(
            error.message(),
            "invalid value 'some' for '--limit <N>': invalid digit found in string"
        );
        assert_eq!(error.hints(), ["'tw issue list --help' says more"]);
        let error = refused("tw completions tcsh");
        assert_eq!(
            error.message(),
            "invalid value 'tcsh' for '<SHELL>' [possible values: bash, zsh, fish, elvish, powershell]"
        );
        assert_eq!(
            error.hints(),
            [
                "a similar value exists: 'zsh'",
                "'tw completions --help' says more"
            ]
        );
    }

    #[test]
    fn a_mistyped_command_gets_its_neighbour() {
        let error = refused("tw travle");
        assert_eq!(error.message(), "unrecognized subcommand 'travle'");
        assert_eq!(error.hints()[0], "a similar subcommand exists: 'travel'");
    }

    #[test]
    fn what_follows_two_dashes_is_no_flag() {
        assert!(globals(&words("tw --bogus --json")).json);
        assert!(!globals(&words("tw --bogus -- --json")).json);
        assert_eq!(
            globals(&words("tw --color always --x")).color,
            ColorChoice::Always
        );
        assert_eq!(
            globals(&words("tw --color=never --x")).color,
            ColorChoice::Never
        );
    }
}
