//! The command line that is being typed, and what its finished words say already.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::ArgMatches;

use crate::cli::args;

/// The finished words, the program's name first. The callbacks of clap get the unfinished one alone.
static TYPED: OnceLock<Vec<OsString>> = OnceLock::new();

/// Says what is typed, once.
pub fn set(words: &[OsString]) {
    TYPED.get_or_init(|| words.to_vec());
}

fn typed() -> &'static [OsString] {
    TYPED.get().map(Vec::as_slice).unwrap_or_default()
}

/// Whether what follows is no option.
pub fn is_escaped() -> bool {
    typed().iter().any(|word| word == "--")
}

/// The directory that `-C` leads to.
pub fn start() -> PathBuf {
    start_of(typed())
}

fn start_of(words: &[OsString]) -> PathBuf {
    let mut dir = PathBuf::from(".");
    let mut words = words.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if word == "-C" {
            dir.extend(words.next().map(PathBuf::from));
        }
    }
    dir
}

/// The words without each `-C DIR` before the command: a directory may have the name of a command.
pub fn without_start(words: &[OsString]) -> Vec<OsString> {
    let is_option = |word: &OsString| word.as_bytes().starts_with(b"-");
    let mut rest = words.iter();
    let mut kept: Vec<OsString> = rest.next().into_iter().cloned().collect();
    while let Some(word) = rest.next() {
        let is_start = word == "-C" && kept.iter().skip(1).all(is_option);
        // The unfinished word stays.
        if is_start && rest.len() > 1 {
            rest.next();
        } else {
            kept.push(word.clone());
        }
    }
    kept
}

/// The values that an argument of the command has so far.
pub fn values(argument: &str) -> Vec<OsString> {
    let Some(matches) = matches() else {
        return Vec::new();
    };
    let raw = matches.try_get_raw(argument).ok().flatten();
    raw.into_iter().flatten().map(OsStr::to_owned).collect()
}

/// The command that is typed, without the one that it is beneath.
pub fn command() -> String {
    let tree = args::tree().ignore_errors(true);
    let mut matches = tree.try_get_matches_from(typed()).ok();
    let mut command = String::new();
    while let Some((name, inner)) = matches.and_then(|mut matches| matches.remove_subcommand()) {
        (command, matches) = (name, Some(inner));
    }
    command
}

/// What the innermost command has of its arguments, as far as it can be told.
fn matches() -> Option<ArgMatches> {
    let tree = args::tree().ignore_errors(true);
    let mut matches = tree.try_get_matches_from(typed()).ok()?;
    while let Some((_, inner)) = matches.remove_subcommand() {
        matches = inner;
    }
    Some(matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_what_every_c_leads_to() {
        let start = |line: &[&str]| {
            let words: Vec<OsString> = line.iter().map(OsString::from).collect();
            start_of(&words)
        };
        assert_eq!(
            start(&["tw", "-C", "a", "-C", "b", "show"]),
            PathBuf::from("./a/b")
        );
        assert_eq!(start(&["tw", "show", "--", "-C", "b"]), PathBuf::from("."));
    }

    #[test]
    fn a_directory_named_as_a_command_is_none() {
        let rest = |line: &[&str]| {
            let words: Vec<OsString> = line.iter().map(OsString::from).collect();
            without_start(&words)
        };
        assert_eq!(
            rest(&["tw", "-q", "-C", "web", "show", ""]),
            ["tw", "-q", "show", ""]
        );
        assert_eq!(rest(&["tw", "-C", "we"]), ["tw", "-C", "we"]);
        assert_eq!(
            rest(&["tw", "search", "-C", "3", ""]),
            ["tw", "search", "-C", "3", ""]
        );
    }
}
