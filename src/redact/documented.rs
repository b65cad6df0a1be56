//! Values that issuers and standards print as examples: everybody has them, so they are nobody's secret.
//!
//! Whole values only: nothing that merely resembles one of them is let through. A test takes `·` out, which keeps the list
//! from being taken for a leak.

use std::ops::Range;
use std::sync::LazyLock;

use super::finder::WordFinder;
use super::span::floor;

static VALUES: &str = include_str!("documented.txt");

static KNOWN: LazyLock<WordFinder<String>> = LazyLock::new(|| {
    let lines = VALUES.lines().filter(|line| !line.starts_with('#'));
    let values = lines.map(|line| line.trim().replace('·', ""));
    WordFinder::new(values.filter(|line| !line.is_empty()).collect())
});

/// How far around a place a value may go on.
const REACH: usize = 400;

/// The places near these where a printed example stands whole; in order, none within another. Each part of the text is read once,
/// however many places lie in it.
pub(super) fn near<'p>(
    text: &str,
    places: impl Iterator<Item = &'p Range<usize>>,
) -> Vec<Range<usize>> {
    // What is longer than any of them is none.
    let mut windows: Vec<Range<usize>> = places
        .filter(|place| place.len() <= REACH)
        .map(|place| floor(text, place.start.saturating_sub(REACH))..floor(text, place.end + REACH))
        .collect();
    windows.sort_by_key(|window| window.start);
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut read = 0usize;
    for window in windows {
        // What begins before the part that was read may go on in this one.
        let from = floor(text, window.start.max(read.saturating_sub(REACH)));
        if window.end <= read {
            continue;
        }
        let around = &text[from..window.end];
        // To the letter: in another case it may be somebody's own.
        KNOWN.any_exact(around, |example| {
            let place = from + example.start..from + example.end;
            let is_in_last = found.last().is_some_and(|last| place.end <= last.end);
            if !is_in_last && stands_whole(around, &example) {
                found.push(place);
            }
            false
        });
        read = window.end;
    }
    found
}

/// Whether a place is, or is in, one of these examples.
pub(super) fn is_in(examples: &[Range<usize>], place: &Range<usize>) -> bool {
    let behind = examples.partition_point(|example| example.start <= place.start);
    let example = behind.checked_sub(1).and_then(|at| examples.get(at));
    example.is_some_and(|example| place.end <= example.end)
}

/// No letter or digit goes on at either side; the address of a bot has `bot` before it.
fn stands_whole(text: &str, found: &Range<usize>) -> bool {
    let before = text[..found.start].trim_end_matches("bot");
    !before.ends_with(|ch: char| ch.is_ascii_alphanumeric())
        && !text[found.end..].starts_with(|ch: char| ch.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_value_counts() {
        let known = |text: &str| {
            let text = text.replace('·', "");
            let start = text.find("sk_").expect("there");
            let place = start..text.len();
            is_in(&near(&text, [&place].into_iter()), &place)
        };
        assert!(known("x = sk_test_·4eC39HqLyjWDarjtT1zdp7dc"));
        assert!(!known("x = sk_test_·4eC39HqLyjWDarjtT1zdp7dd"));
        assert!(!known("x = sk_test_·4eC39HqLyjWDarjtT1zdp7dc1"));
        assert!(!known("x = sk_test_·4EC39HqLyjWDarjtT1zdp7dc"));
    }
}
