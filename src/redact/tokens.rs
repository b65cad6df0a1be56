//! The pass over every run of letters and digits: what no row and no name gave away.
//!
//! Finds the runs fast; whether one is a secret, its candidate says.

use std::ops::Range;

use super::candidate::Candidate;
use super::runs::run_at_start;
use super::span::Span;

/// Counted under these names.
pub(super) const ENTROPY: &str = "entropy";
pub(super) const VENDOR: &str = "vendor";

/// Shortest and longest string that is looked at.
pub(super) const SHORTEST: usize = 10;
pub(super) const LONGEST: usize = 400;

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const OTHER: u8 = 4;

/// What each byte is to a token; 0 ends it.
static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0u8;
    loop {
        table[byte as usize] = if byte.is_ascii_alphabetic() {
            LETTER
        } else if byte.is_ascii_digit() {
            DIGIT
        } else if matches!(byte, b'_' | b'-' | b'+' | b'/') {
            OTHER
        } else {
            0
        };
        if byte == 255 {
            return table;
        }
        byte += 1;
    }
}

/// Calls `found` for every string that is taken for a secret, with the general rule's name.
///
/// What lies within `known`, which is in order of place, is passed over.
pub(super) fn each(text: &str, known: &[Span], mut found: impl FnMut(Range<usize>, &'static str)) {
    let bytes = text.as_bytes();
    let mut next = 0;
    runs(text, |run| {
        while known.get(next).is_some_and(|span| span.range.end < run.end) {
            next += 1;
        }
        if known
            .get(next)
            .is_some_and(|span| span.range.start <= run.start)
        {
            return;
        }
        let end = run.end + padding(bytes, run.start, run.end);
        if let Some((range, name)) = Candidate::new(text, run.start..end).verdict() {
            found(range, name);
        }
    });
}

/// Calls `found` for every run of letters, digits and `_-+/` that has both letters and digits and a token's length.
pub(super) fn runs(text: &str, mut found: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let mut kinds = 0;
        let start = at;
        while let Some(class) = bytes
            .get(at)
            .map(|byte| CLASSES[usize::from(*byte)])
            .filter(|class| *class != 0)
        {
            kinds |= class;
            at += 1;
        }
        if kinds & (LETTER | DIGIT) == LETTER | DIGIT
            // Letters alone are words, digits alone numbers; what is longer is data.
            && (SHORTEST..=LONGEST).contains(&(at - start))
        {
            found(start..at);
        }
        at += 1;
    }
}

/// `=` signs that end base64 and do not assign.
fn padding(bytes: &[u8], start: usize, at: usize) -> usize {
    let count = run_at_start(&bytes[at..], 3, |byte| byte == b'=');
    let ends = bytes
        .get(at + count)
        .is_none_or(|byte| byte.is_ascii_whitespace() || b"\"'`,;)]}<&\\".contains(byte));
    if (1..=2).contains(&count) && ends && (at + count - start).is_multiple_of(4) {
        count
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let mut all = Vec::new();
        each(text, &[], |range, _| all.push(&text[range]));
        all
    }

    #[test]
    fn random_strings() {
        assert_eq!(
            found("use xI3WMNfLbkpKy0aRpBvCr8jXhkj4Kcfc now"),
            ["xI3WMNfLbkpKy0aRpBvCr8jXhkj4Kcfc"]
        );
        assert_eq!(
            found("thing = 'q7gzkxv0w1jh9p2mc4tfz8k3'"),
            ["q7gzkxv0w1jh9p2mc4tfz8k3"]
        );
        assert_eq!(
            found("x: \"kYp4HsJ/fUoEgB6iXa9+Qw3eRtYuIoP1Zx==\""),
            ["kYp4HsJ/fUoEgB6iXa9+Qw3eRtYuIoP1Zx=="]
        );
        assert_eq!(
            found("log\\nxI3WMNfLbkpKy0aRpBvCr8jXhkj4Kcfc"),
            ["xI3WMNfLbkpKy0aRpBvCr8jXhkj4Kcfc"]
        );
    }

    #[test]
    fn vendors_vouch() {
        assert_eq!(
            found("abuseipdb = '8f14e45fceea167a5a36dedd4bea2543'"),
            ["8f14e45fceea167a5a36dedd4bea2543"]
        );
        assert_eq!(
            found("thing = '8f14e45fceea167a5a36dedd4bea2543'"),
            Vec::<&str>::new()
        );
        assert_eq!(
            found("datadog_sha = '8f14e45fceea167a5a36dedd4bea2543'"),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn harmless() {
        for line in [
            "\"integrity\": \"sha512-kYp4HsJ/fUoEgB6iXa9+Qw3eRtYuIoP1ZxkYp4HsJfUoEgB6iXa9Qw3eRtYuIoP1Zx==\"",
            "github.com/a/b v1.2.3 h1:kYp4HsJ/fUoEgB6iXa9+Qw3eRtYuIoP1ZxkYp4HsJf=",
            "/nix/store/q7gzkxv0w1jh9p2mc4tfz8k3-name/bin",
            "src=\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA\"",
            "uses: actions/checkout@8e5e7e5ab8b370d6c329ec480221332ada57f0ab",
            "\"id\": \"toolu_01AbCdEf9GhIjKlMn2OpQrSt\"",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8xK2mQ9vR4sT7wYzAbCdEfGhIjKl",
            "assets/index-kYp4HsJfUoEgB6iXa9Qw3eRt.js",
        ] {
            assert_eq!(found(line), Vec::<&str>::new(), "{line}");
        }
    }
}
