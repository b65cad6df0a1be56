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

/// Whether a place in a text is, or is in, a printed example that stands there whole.
pub(super) fn is_documented(text: &str, place: &Range<usize>) -> bool {
    let from = floor(text, place.start.saturating_sub(REACH));
    let to = floor(text, place.end + REACH);
    let around = &text[from..to];
    let place = place.start - from..place.end - from;
    // To the letter: in another case it may be somebody's own.
    KNOWN.any_exact(around, |found| {
        found.start <= place.start && place.end <= found.end && stands_whole(around, &found)
    })
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
            is_documented(&text, &(start..text.len()))
        };
        assert!(known("x = sk_test_·4eC39HqLyjWDarjtT1zdp7dc"));
        assert!(!known("x = sk_test_·4eC39HqLyjWDarjtT1zdp7dd"));
        assert!(!known("x = sk_test_·4eC39HqLyjWDarjtT1zdp7dc1"));
        assert!(!known("x = sk_test_·4EC39HqLyjWDarjtT1zdp7dc"));
    }
}
