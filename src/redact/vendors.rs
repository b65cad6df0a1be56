//! Names of services that hand out keys, to be recognised in front of a random string.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use super::finder::WordFinder;

/// One name a line, lower case.
static NAMES: &str = include_str!("vendors.txt");

static FINDER: LazyLock<WordFinder<Cow<'static, str>>> = LazyLock::new(|| {
    // `fly_io` is also written `flyio`, `fly.io` and `fly-io`.
    let joined = names()
        .filter(|name| name.contains('_'))
        .flat_map(|name| ["", ".", "-", " "].map(|sign| Cow::Owned(name.replace('_', sign))));
    WordFinder::new(names().map(Cow::Borrowed).chain(joined).collect())
});

fn names() -> impl Iterator<Item = &'static str> {
    NAMES.split_ascii_whitespace()
}

/// The names without `_`, `-` and `.`.
static PLAIN: LazyLock<HashSet<String>> = LazyLock::new(|| names().map(plain).collect());

fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '-', '.'], "")
}

/// Whether a name is a service's and nothing else: `VirusTotal`.
pub(super) fn is_name(name: &str) -> bool {
    PLAIN.contains(&plain(name))
}

/// Names this short are parts of many words and have to stand alone.
const SHORT: usize = 6;

/// Whether a stretch of text names a service.
pub(super) fn named_in(text: &str) -> bool {
    FINDER.any(text, |found| {
        found.len() > SHORT || stands_alone(text.as_bytes(), found.start, found.end)
    })
}

/// No letter goes on before or after, but for a hump: `boxToken`, `my_box`.
fn stands_alone(bytes: &[u8], start: usize, end: usize) -> bool {
    let first = bytes[start];
    let before = start.checked_sub(1).map(|at| bytes[at]);
    let free_before = before.is_none_or(|before| {
        !before.is_ascii_alphanumeric()
            || (first.is_ascii_uppercase() && before.is_ascii_lowercase())
    });
    let free_after = bytes.get(end).is_none_or(|after| {
        !after.is_ascii_alphabetic()
            || (after.is_ascii_uppercase() && !first.is_ascii_uppercase())
            || (after.is_ascii_uppercase() && bytes[end - 1].is_ascii_lowercase())
    });
    free_before && free_after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_names() {
        for text in [
            "abuseipdb = ",
            "my_datadog_thing",
            "slackToken",
            "SLACK_KEY",
            "Stripe(",
        ] {
            assert!(named_in(text), "{text}");
        }
        for text in ["slacken = ", "unslacked", "commit", "slacks"] {
            assert!(!named_in(text), "{text}");
        }
    }

    #[test]
    fn the_list_is_clean() {
        let mut seen = std::collections::HashSet::new();
        for name in names() {
            assert!(name.len() >= 3, "{name}");
            assert!(
                name.bytes().all(|byte| byte.is_ascii_lowercase()
                    || byte.is_ascii_digit()
                    || b"-_.".contains(&byte)),
                "{name}"
            );
            assert!(seen.insert(name), "{name} twice");
        }
        assert!(seen.len() > 1000);
    }
}
