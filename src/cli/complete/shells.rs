//! Answers to our own scripts, for bash, zsh and fish: records that end with a NUL, so that no name can be taken for two.
//!
//! Bash and fish hand over their line as it is, up to the cursor. What they would make of it themselves loses a name with a
//! newline or a colon; and none of it is ever run. Nothing is said of an error: the cursor stands in the line.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use clap_complete::CompletionCandidate;

use super::paths::PATH;
use super::quoting::{self, Line, Quoting, unquoted};
use super::{line, tree};

/// A shell with a script of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// Hands over its line and the part of the last word that it will replace.
    Bash,
    /// Hands over the words, without their quotes.
    Zsh,
    /// Hands over its line.
    Fish,
}

impl Shell {
    /// The shell that a script names.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "bash" => Some(Self::Bash),
            "zsh" => Some(Self::Zsh),
            "fish" => Some(Self::Fish),
            _ => None,
        }
    }

    /// What to say to a script that hands over `given`.
    pub fn answer(self, given: &[OsString]) -> Vec<u8> {
        let text = |at: usize| {
            given
                .get(at)
                .map(|text| text.as_bytes())
                .unwrap_or_default()
        };
        match self {
            Self::Bash => {
                let line = Line::read(text(0), Quoting::Bash);
                let before = replaced_behind(&text(0)[line.last..], text(1));
                let open = line.open;
                for_bash(&offers(line), &before, open)
            }
            Self::Zsh => for_zsh(&offers(Line::of_words(given)), text(given.len().max(1) - 1)),
            Self::Fish => {
                // `commandline` ends with a newline that is not on the line.
                let line = text(0).strip_suffix(b"\n").unwrap_or(text(0));
                for_fish(&offers(Line::read(line, Quoting::Fish)))
            }
        }
    }
}

/// What stands in the last word before the part that bash replaces: bash takes a word apart at each `:`, `=` and `@`.
fn replaced_behind(word: &[u8], replaced: &[u8]) -> Vec<u8> {
    let before = word.strip_suffix(replaced).unwrap_or_default();
    unquoted(before, Quoting::Bash)
}

/// What clap and the completers have for the last word. Options come when their dash is typed, or where there is nothing else.
fn offers(mut line: Line) -> Vec<CompletionCandidate> {
    line.skip_prefix();
    let (last, finished) = line.words.split_last().unzip();
    line::set(finished.unwrap_or_default());
    let words = line::without_start(&line.words);
    let dir = std::env::current_dir().map(|dir| dir.join(line::start()));
    let index = words.len().saturating_sub(1);
    let found = clap_complete::engine::complete(&mut tree(), words, index, dir.ok().as_deref());
    let mut found = found.unwrap_or_default();
    let is_option = |one: &CompletionCandidate| one.get_value().as_bytes().starts_with(b"-");
    if last.is_none_or(|last| last.is_empty()) && !found.iter().all(is_option) {
        found.retain(|one| !is_option(one));
    }
    found
}

/// First what `compopt` has to be told, then the names, quoted, without what stands before them.
///
/// Readline quotes by itself what it takes for the names of files, but leaves a dollar as it is where one is typed.
fn for_bash(offers: &[CompletionCandidate], before: &[u8], open: Option<u8>) -> Vec<u8> {
    let names: Vec<&[u8]> = offers
        .iter()
        .filter_map(|one| one.get_value().as_bytes().strip_prefix(before))
        .collect();
    let mut told: Vec<&[u8]> = Vec::new();
    // A list of paths is one of their last parts.
    if names.iter().any(|name| name.contains(&b'/')) {
        told.extend([b"filenames".as_slice(), b"noquote"]);
    }
    if let [name] = names.as_slice()
        && name.ends_with(b"/")
    {
        told.push(b"nospace");
    }
    let told = told.join(b" ".as_slice());
    let names = names.into_iter().map(|name| quoting::for_bash(name, open));
    records([told].into_iter().chain(names))
}

/// First how to add them: `paths`, which come without the directory that is typed, or `words`, with what they are behind a colon;
/// and `any` where they do not begin as what is typed does.
fn for_zsh(offers: &[CompletionCandidate], typed: &[u8]) -> Vec<u8> {
    let are_paths = offers.iter().all(is_path);
    let dir = typed.iter().rposition(|byte| *byte == b'/');
    let dir = &typed[..dir.map_or(0, |at| at + 1)];
    let mut told = if are_paths { "paths" } else { "words" }.to_owned();
    if !offers
        .iter()
        .any(|one| one.get_value().as_bytes().starts_with(typed))
    {
        told.push_str(" any");
    }
    let names = offers.iter().map(|one| {
        let name = one.get_value().as_bytes();
        if are_paths {
            return name.strip_prefix(dir).unwrap_or(name).to_vec();
        }
        let mut record = escaped(name, b"\\:");
        if let Some(about) = about(one) {
            record.push(b':');
            record.extend(escaped(about.as_bytes(), b"\\"));
        }
        record
    });
    records([told.into_bytes()].into_iter().chain(names))
}

/// Names, each with what it is behind a tab. A name with a tab in it cannot be said.
fn for_fish(offers: &[CompletionCandidate]) -> Vec<u8> {
    let names = offers
        .iter()
        .filter(|one| !one.get_value().as_bytes().contains(&b'\t'));
    records(names.map(|one| {
        let name = one.get_value().as_bytes();
        let about = about(one).map(|about| [b"\t", about.as_bytes()].concat());
        [name, &about.unwrap_or_default()].concat()
    }))
}

fn is_path(one: &CompletionCandidate) -> bool {
    one.get_tag().is_some_and(|tag| tag.to_string() == PATH)
}

fn about(one: &CompletionCandidate) -> Option<String> {
    let help = one.get_help()?.to_string();
    let line = help.lines().next()?;
    (!line.is_empty()).then(|| line.to_owned())
}

fn escaped(text: &[u8], special: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if special.contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}

fn records(all: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    for record in all {
        out.extend(record);
        out.push(0);
    }
    out
}
