//! Values that issuers and standards print as examples: everybody has them, so they are nobody's secret.
//!
//! Whole values only: nothing that merely resembles one of them is let through. A test takes `·` out, which keeps the list
//! from being taken for a leak.

use std::ops::Range;
use std::sync::LazyLock;

use super::finder::Index;
use super::span::floor;

static VALUES: &str = include_str!("documented.txt");

static KNOWN: LazyLock<Index<String>> = LazyLock::new(|| {
    let lines = VALUES.lines().filter(|line| !line.starts_with('#'));
    let values = lines.map(|line| line.trim().replace('·', ""));
    Index::new(values.filter(|line| !line.is_empty()).collect())
});

/// How far around a place a value may go on.
const REACH: usize = 400;

/// Whether a place in a text is, or is in, a printed example that stands there whole.
pub(super) fn is_documented(text: &str, place: &Range<usize>) -> bool {
    let from = floor(text, place.start.saturating_sub(REACH));
    let to = floor(text, place.end + REACH);
    let around = &text[from..to];
    let place = place.start - from..place.end - from;
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

/// Whether a value goes through the alphabet or the digits, up or down, as nobody's secret does: `1234567890abcdefghij`.
pub(super) fn is_counted(value: &str) -> bool {
    let bytes = value.as_bytes();
    let counts = |pair: &[u8]| {
        let (one, two) = (pair[0].to_ascii_lowercase(), pair[1].to_ascii_lowercase());
        one.is_ascii_alphanumeric()
            && two.is_ascii_alphanumeric()
            && (two.wrapping_sub(one) <= 1
                || one.wrapping_sub(two) == 1
                || (one, two) == (b'9', b'a'))
    };
    let steps = bytes.windows(2).filter(|pair| counts(pair)).count();
    bytes.len() >= 12 && steps * 100 >= (bytes.len() - 1) * 92
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

    #[test]
    fn counting_is_no_secret() {
        for value in [
            "1234567890abcdefghijklmnop",
            "abcdefghijklmnopqrstuvwxyz0123456789",
            "0123456789ABCDEF",
        ] {
            assert!(is_counted(value), "{value}");
        }
        for value in [
            "q7gzkxv0w1jh9p2m",
            "abcdef1234567890abcdef1234567890",
            "12345678",
        ] {
            assert!(!is_counted(value), "{value}");
        }
    }
}
