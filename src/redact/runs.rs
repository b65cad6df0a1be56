//! Where runs of a text end, and how much of a value is looked at: what keeps many names in one run from costing more than
//! a pass.

use std::cell::Cell;

/// Beyond this many bytes, and this many times the text read so far, only the head of a value is judged.
const FREE: usize = 16 * 1024;
const LOOKS_A_BYTE: usize = 8;
/// How much of a value is judged: as a rule, and in a text that is made of names alone.
const WHOLE: usize = 512;
const HEAD: usize = 48;
/// How many names that stand in one run are judged, each by what comes after it up to the run's end.
const NAMES: usize = 64;

/// What ends a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stop {
    /// Blanks, quotes, brackets: a value without quotes.
    Bare,
    /// The next tag or line.
    Element,
    /// `&`.
    And,
    /// `&` or `#`.
    Query,
    /// `=`.
    Equals,
}

impl Stop {
    fn at(self, byte: u8) -> bool {
        match self {
            Self::Bare => byte <= b' ' || b"\"'`,;)]}<>|\\".contains(&byte),
            Self::Element => b"<\n\r]".contains(&byte),
            Self::And => byte == b'&',
            Self::Query => byte == b'&' || byte == b'#',
            Self::Equals => byte == b'=',
        }
    }
}

/// What is known of one text. Every run is read once, however many names begin in it.
#[derive(Debug, Default)]
pub(super) struct Runs {
    known: [Cell<(usize, usize)>; 5],
    looked: Cell<usize>,
    /// Where the last bare value ended, and how many names have it.
    ended: Cell<(usize, usize)>,
}

impl Runs {
    /// Where the run from `at` on ends.
    pub(super) fn end(&self, bytes: &[u8], stop: Stop, at: usize) -> usize {
        let known = &self.known[stop as usize];
        let (from, to) = known.get();
        if (from..to).contains(&at) {
            return to;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let length = rest.iter().position(|byte| stop.at(*byte));
        let end = at + length.unwrap_or(rest.len());
        known.set((at, end));
        end
    }

    /// Whether a bare value that ends here is judged: of very many names in one run (`pwd=pwd=…`) the last say nothing.
    pub(super) fn is_judged(&self, end: usize) -> bool {
        let (last, names) = self.ended.get();
        let names = if last == end { names + 1 } else { 1 };
        self.ended.set((end, names));
        names <= NAMES
    }

    /// The part of a value at `at` that is judged.
    pub(super) fn head<'v>(&self, value: &'v str, at: usize) -> &'v str {
        let spent = self.looked.get();
        let most = if spent <= FREE + LOOKS_A_BYTE * at {
            WHOLE
        } else {
            HEAD
        };
        let head = &value[..super::span::floor(value, most)];
        self.looked.set(spent + head.len());
        head
    }
}

/// How many bytes at the start are alike, up to this many.
pub(super) fn run_at_start(bytes: &[u8], most: usize, like: impl Fn(u8) -> bool) -> usize {
    let run = bytes.iter().take(most);
    run.take_while(|byte| like(**byte)).count()
}

/// How many bytes at the end are alike, up to this many.
pub(super) fn run_at_end(bytes: &[u8], most: usize, like: impl Fn(u8) -> bool) -> usize {
    let run = bytes.iter().rev().take(most);
    run.take_while(|byte| like(**byte)).count()
}

/// Tells the bytes that are one of these signs.
pub(super) fn one_of(signs: &'static [u8]) -> impl Fn(u8) -> bool {
    move |byte| signs.contains(&byte)
}

/// Tells ASCII letters, digits, and the bytes that are one of these signs.
pub(super) fn alphanumeric_or(signs: &'static [u8]) -> impl Fn(u8) -> bool {
    move |byte| byte.is_ascii_alphanumeric() || signs.contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read_once_and_ends_where_it_ends() {
        let runs = Runs::default();
        let text = b"a=b&c=d e";
        assert_eq!(runs.end(text, Stop::Bare, 2), 7);
        assert_eq!(runs.end(text, Stop::Bare, 4), 7);
        assert_eq!(runs.end(text, Stop::Bare, 0), 7);
        assert_eq!(runs.end(text, Stop::Bare, 8), 9);
        assert_eq!(runs.end(text, Stop::And, 8), 9);
        assert_eq!(runs.end(text, Stop::Bare, 9), 9);
    }

    #[test]
    fn not_all_of_the_many_names_in_a_run_are_judged() {
        let runs = Runs::default();
        assert_eq!((0..100).filter(|_| runs.is_judged(9)).count(), NAMES);
        assert!(runs.is_judged(10));
    }

    #[test]
    fn many_values_in_one_run_are_judged_by_their_heads() {
        let runs = Runs::default();
        let value = "x".repeat(600);
        assert_eq!(runs.head(&value, 0).len(), WHOLE);
        let all: usize = (0..10_000).map(|at| runs.head(&value, at).len()).sum();
        assert!(all < FREE + 10_000 * (LOOKS_A_BYTE + HEAD) + 2 * WHOLE);
    }
}
