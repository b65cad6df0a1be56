//! The keywords that start a rule, and the finders for them.
//!
//! One list for all: rows of the table, words of field names, marks of URLs, headers and key blocks.

use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::bare_keys;
use super::commands::PROGRAMS;
use super::finder::WordFinder;
use super::jwk;
use super::rules::ROWS;
use super::words::{FIELD_WORDS, FOREIGN_PASSWORDS};

/// What a keyword starts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    Row(usize),
    Name,
    Url,
    Block,
    Scheme,
    Authorization,
    Cookie,
    /// A program whose flag takes a password.
    Program(usize),
    /// The program whose flag takes cookies.
    CookieFlag,
    /// What tells the inside of a private key.
    Body,
    /// A key block in base64.
    Wrapped,
    /// The end mark of a key block.
    End,
    /// That of a block with other marks.
    BareEnd,
    /// What stands in the line before the lines of a private key, which this rule finds.
    Lines(&'static str),
    /// The field that tells a JSON Web Key.
    WebKey,
}

/// The marks of RFC 4716, which have four dashes.
const SSH2_BEGIN: &str = "---- begin ssh2 encrypted private key ----";
const SSH2_END: &str = "---- end ssh2 encrypted private key ----";

/// The keywords of the general rules.
const GENERAL: &[(&str, Start)] = &[
    ("://", Start::Url),
    ("-----begin", Start::Block),
    ("-----end", Start::End),
    (SSH2_BEGIN, Start::Lines("private-key")),
    (SSH2_END, Start::BareEnd),
    ("private-lines:", Start::Lines("putty-private-key")),
    (jwk::KEYWORD, Start::WebKey),
    ("bearer", Start::Scheme),
    ("basic", Start::Scheme),
    ("authorization", Start::Authorization),
    ("cookie", Start::Cookie),
    ("curl", Start::CookieFlag),
];

/// Every keyword, with what it starts.
pub(super) struct Keywords {
    /// Quick to make, for a prompt or a field.
    small: WordFinder<&'static str>,
    pub(super) words: Vec<&'static str>,
    pub(super) starts: Vec<Start>,
}

/// The keywords in the order of the finders.
pub(super) static KEYWORDS: LazyLock<Keywords> = LazyLock::new(|| {
    let rows = ROWS
        .iter()
        .enumerate()
        .flat_map(|(number, row)| row.keywords().map(move |word| (word, Start::Row(number))));
    let names = FIELD_WORDS.iter().chain(FOREIGN_PASSWORDS.iter());
    let names = names.map(|word| (word, Start::Name));
    let programs = PROGRAMS.iter().enumerate();
    let programs = programs.map(|(number, program)| (program.word, Start::Program(number)));
    let bodies = bare_keys::BEGINNINGS
        .iter()
        .map(|word| (*word, Start::Body));
    let wrapped = bare_keys::WRAPPED
        .iter()
        .map(|word| (*word, Start::Wrapped));
    let (words, starts): (Vec<&str>, Vec<Start>) = rows
        .chain(names)
        .chain(GENERAL.iter().copied())
        .chain(programs)
        .chain(bodies)
        .chain(wrapped)
        .unzip();
    Keywords {
        small: WordFinder::new(words.clone()),
        words,
        starts,
    }
});

/// Quick to run, for what is long enough to pay for its making.
static LARGE: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        // Takes longest to make and least to run, which is what the large one is for.
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::Standard)
        .build(&KEYWORDS.words)
        .expect("a short list of short words fits")
});

/// From this many bytes on, in one text or in all so far, the larger finder pays.
const LARGE_FROM: usize = 512 * 1024;

static SEEN: AtomicUsize = AtomicUsize::new(0);

/// Every keyword in a text: its number and where it stands, by its end.
pub(super) fn each_in(text: &str, mut take: impl FnMut(usize, Range<usize>)) {
    // Only a hint which finder pays: threads that count past each other lose nothing.
    let seen = SEEN.fetch_add(text.len(), Ordering::Relaxed);
    if seen.saturating_add(text.len()) < LARGE_FROM {
        for hit in KEYWORDS.small.hits(text) {
            take(hit.word, hit.range);
        }
    } else {
        for found in LARGE.find_overlapping_iter(text) {
            take(found.pattern().as_usize(), found.range());
        }
    }
}
