//! What is looked for: regular expressions or fixed strings, matched line by line as ripgrep does, by its own crates.

use std::ops::Range;

use grep_matcher::{LineTerminator, Matcher, NoError};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use crate::error::{Code, Error, Result};

/// No line that is longer is looked at: more memory than this is not taken for one.
const LONGEST_LINE: usize = 64 << 20;

/// How upper and lower case are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Case {
    /// Only when the pattern has a capital letter.
    #[default]
    Smart,
    /// Never.
    Ignore,
    /// Always.
    Sensitive,
}

/// What a text must have.
#[derive(Debug, Clone, Default)]
pub struct PatternOptions {
    /// One of these.
    pub patterns: Vec<String>,
    /// They are no regular expressions.
    pub fixed_strings: bool,
    /// Upper and lower case.
    pub case: Case,
    /// With no letter, digit or underscore at either side.
    pub whole_words: bool,
}

/// A pattern made ready.
#[derive(Debug, Clone)]
pub struct Pattern(RegexMatcher);

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// `USAGE` says what is wrong with it.
    pub fn new(wanted: &PatternOptions) -> Result<Self> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_smart(wanted.case == Case::Smart)
            .case_insensitive(wanted.case == Case::Ignore)
            .fixed_strings(wanted.fixed_strings)
            .word(wanted.whole_words)
            .multi_line(true)
            .line_terminator(Some(b'\n'));
        let built = builder.build_many(&wanted.patterns);
        built.map(Self).map_err(|error| {
            let why = error.to_string();
            // The whole of it draws the pattern and an arrow, over several lines.
            let why = why.lines().last().unwrap_or_default();
            let why = why.trim_start_matches("error: ");
            let message = format!("the pattern cannot be used: {why}");
            Error::new(Code::Usage, message)
                .hint("-F takes a pattern as plain text, and '-e PATTERN' one that begins with '-'")
        })
    }

    /// The machine that goes through a text with it. Whether a text is binary is git's to say, not its.
    pub fn searcher(context: usize) -> Searcher {
        SearcherBuilder::new()
            .line_terminator(LineTerminator::byte(b'\n'))
            .binary_detection(BinaryDetection::none())
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(LONGEST_LINE))
            .build()
    }

    pub(super) fn matcher(&self) -> &RegexMatcher {
        &self.0
    }

    /// Whether one line has a match.
    pub fn is_in(&self, line: &[u8]) -> bool {
        let found: std::result::Result<bool, NoError> = self.0.is_match(line);
        found.unwrap_or(false)
    }

    /// Where in one line the matches are.
    pub fn spans(&self, line: &[u8]) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        let take = |found: grep_matcher::Match| {
            spans.push(found.start()..found.end());
            true
        };
        let all: std::result::Result<(), NoError> = self.0.find_iter(line, take);
        all.map_or_else(|_| Vec::new(), |()| spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> PatternOptions {
        PatternOptions {
            patterns: vec![text.to_owned()],
            ..PatternOptions::default()
        }
    }

    fn has(wanted: &PatternOptions, line: &str) -> bool {
        Pattern::new(wanted)
            .expect("a pattern")
            .is_in(line.as_bytes())
    }

    #[test]
    fn case_words_and_fixed_strings_are_those_of_ripgrep() {
        assert!(has(&pattern("fn"), "FN main") && !has(&pattern("Fn"), "fn main"));
        let sensitive = PatternOptions {
            case: Case::Sensitive,
            ..pattern("fn")
        };
        let ignore = PatternOptions {
            case: Case::Ignore,
            ..pattern("Fn")
        };
        assert!(!has(&sensitive, "FN") && has(&ignore, "fn"));
        let word = PatternOptions {
            whole_words: true,
            ..pattern("a.c")
        };
        assert!(has(&word, "x abc;") && !has(&word, "xabc"));
        let fixed = PatternOptions {
            fixed_strings: true,
            ..pattern("a.c(")
        };
        assert!(has(&fixed, "a.c(") && !has(&fixed, "abc("));
        assert!(has(&pattern("^b$"), "b"));
    }

    #[test]
    fn what_is_no_pattern_is_said_in_one_line() {
        let error = Pattern::new(&pattern("a(")).expect_err("unclosed");
        assert_eq!(error.code(), Code::Usage);
        assert_eq!(
            error.message(),
            "the pattern cannot be used: unclosed group"
        );
        assert!(Pattern::new(&pattern("a\nb")).is_err());
    }

    #[test]
    fn matches_have_places() {
        let spans = Pattern::new(&pattern("a+"))
            .expect("a pattern")
            .spans(b"baac a");
        assert_eq!(spans, [1..3, 5..6]);
    }
}
