//! Exact values that the caller knows to be secret, wherever they stand, also as JSON, URLs and base64 write them.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::field_names::{NameClass, classify};
use super::placeholder::is_placeholder;
use super::shape::{Shape, wordiness};

/// Shorter values stand in too many innocent places.
const SHORTEST: usize = 6;

/// A finder for known values.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    finder: Option<AhoCorasick>,
}

impl Values {
    /// Takes the values whose name or look says secret.
    pub(super) fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut needles: Vec<String> = values
            .into_iter()
            .filter(|(name, value)| is_worth_hiding(name, value))
            .flat_map(|(_, value)| forms(value.trim()))
            .collect();
        needles.sort_unstable();
        needles.dedup();
        // The other kinds are quicker to run and ten times slower to make, which a prompt would wait for.
        let finder = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .match_kind(MatchKind::LeftmostLongest)
            .build(&needles)
            .ok()
            .filter(|_| !needles.is_empty());
        Self { finder }
    }

    /// Every place where one of them stands.
    pub(super) fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.finder.iter().flat_map(move |finder| {
            finder
                .find_iter(text)
                .map(|found| found.start()..found.end())
        })
    }
}

fn is_worth_hiding(name: &str, value: &str) -> bool {
    let value = value.trim();
    if value.len() < SHORTEST
        || is_placeholder(value)
        || value.contains('\n') && value.len() > 16 * 1024
    {
        return false;
    }
    let shape = Shape::of(value);
    let place =
        value.starts_with(['/', '~', '.']) || (value.contains("://") && !value.contains('@'));
    match classify(name) {
        _ if place => false,
        NameClass::Password => true,
        NameClass::Strong => shape.len >= 8 && (shape.digit > 0 || wordiness(value) < 0.7),
        NameClass::Weak | NameClass::None => {
            super::judge::is_bare_secret(value)
                || super::judge::is_secret(value, super::judge::Trust::Hinted)
                    && classify(name) == NameClass::Weak
        }
    }
}

/// The value as it is, in JSON, in a URL, and in base64.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    if let Ok(json) = serde_json::to_string(value) {
        forms.push(json.trim_matches('"').to_owned());
    }
    forms.push(percent_encoded(value));
    if value.len() >= 9 {
        forms.push(STANDARD_NO_PAD.encode(value));
        forms.push(URL_SAFE_NO_PAD.encode(value));
    }
    forms
}

fn percent_encoded(value: &str) -> String {
    value
        .bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> Values {
        Values::new(
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        )
    }

    #[test]
    fn known_values_in_every_form() {
        let values = values(&[("DB_PASSWORD", "open sesame&1")]);
        for text in ["open sesame&1", "open%20sesame%261", "b3BlbiBzZXNhbWUmMQ=="] {
            assert_eq!(values.find(text).count(), 1, "{text}");
        }
    }

    #[test]
    fn harmless_values_are_not_taken() {
        let values = values(&[
            ("TOKEN_FILE", "/run/secrets/x"),
            ("PASSWORD", "changeme"),
            ("HOME", "/root"),
            ("DEBUG", "verbose"),
            ("API_URL", "https://api.test/"),
        ]);
        assert!(values.finder.is_none());
    }
}
