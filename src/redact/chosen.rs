//! What a person made up: a word or two with digits, a phrase.
//!
//! Such a value looks like a name in code, or like what programs say to people. Its words tell: those that name things,
//! and those that speak of passwords, are no secret.

use super::reference::{is_reference, is_sequence};
use super::runs::alphanumeric_or;
use super::shape::{Shape, letter_words, wordiness};
use super::words::{
    ABOUT, NAME_PARTS, NO_KEYS, PASSWORD_ENDS, PASSWORD_TALK, PASSWORDS, PLAIN_KEYS, SECRET_ENDS,
    SECRET_KEYS, SECRETS, SENTENCE, SPEECH, TRAILING, TYPES, WHOLE,
};

/// What may stand around a made-up value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Quotes: it is a literal.
    Quotes,
    /// A line of settings, a command line, a cookie: nothing is code.
    Line,
    /// Blanks, a colon, other arguments: it may be a name in code.
    Code,
}

/// The longest phrase.
const LONGEST: usize = 200;

/// `swordfish123`, `Hunter2Horse99x`: words with digits that name nothing.
pub(super) fn is_word_with_digits(value: &str, place: Place) -> bool {
    let shape = Shape::of(value);
    let (least, signs): (usize, &'static [u8]) = match place {
        Place::Quotes => (6, b"_-!@#$%^&*+.~?=,"),
        Place::Line => (8, b"_-!@#$%^&*+.~"),
        Place::Code => (8, b"_-"),
    };
    let odd = shape.len < least
        || shape.digit == 0
        || shape.letters() < 4
        || shape.hex
        || value.starts_with("0x")
        || !value.bytes().all(alphanumeric_or(signs))
        || !value.starts_with(|c: char| c.is_ascii_alphanumeric());
    // What looks random is judged by that.
    if odd || wordiness(value) < 0.35 || is_numbered(value, &shape) {
        return false;
    }
    if is_reference(value) || is_sequence(value) {
        return false;
    }
    let (mut words, mut names) = (0, 0);
    for word in letter_words(value).filter(|word| word.len() >= 3) {
        words += 1;
        names += usize::from(is_part_of_names(word));
    }
    match place {
        Place::Quotes | Place::Line => names < words,
        // `thing2`, `has_a_thing12`, `utf8Reader`, and whatever has a name in it: a variable or a type.
        Place::Code => {
            let runs = digit_runs(value);
            let is_made = runs > 1
                || value
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
            let numbered = shape.digit == 1 && value.ends_with(|c: char| c.is_ascii_digit());
            words > 0 && names == 0 && is_made && !numbered
        }
    }
}

/// How often digits stand in a row.
fn digit_runs(value: &str) -> usize {
    let parts = value.split(|c: char| !c.is_ascii_digit());
    parts.filter(|part| !part.is_empty()).count()
}

/// `progress-1`, `worker_12`: a name and its number. The digits of `%20` count for nothing either.
fn is_numbered(value: &str, shape: &Shape) -> bool {
    let stem = value.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = value.len() - stem.len();
    (stem.ends_with(['-', '_']) && digits <= 2 && digits == shape.digit)
        || shape.digit <= 2 * value.matches('%').count()
}

/// A word that names in code, versions, algorithms and stand-ins are made of.
pub(super) fn is_part_of_names(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let listed = |word: &str| {
        let lists = [
            &NAME_PARTS,
            &TYPES,
            &ABOUT,
            &WHOLE,
            &TRAILING,
            &SECRET_KEYS,
            &PLAIN_KEYS,
            &PASSWORDS,
            &SECRETS,
        ];
        lists.iter().any(|list| list.has(word))
    };
    listed(&word)
        || word.strip_suffix('s').is_some_and(listed)
        || SECRET_ENDS.end(&word)
        || PASSWORD_ENDS.end(&word)
        || (word.ends_with("key") && !NO_KEYS.has(&word))
}

/// A literal of some words that does not read like what programs say to people: hardly one of its words speaks of
/// passwords, makes sentences or names things.
pub(super) fn is_phrase(value: &str) -> bool {
    let Some(words) = words_of(value) else {
        return false;
    };
    let speaks = |word: &String| PASSWORD_TALK.has(word) || is_foreign_password(word);
    if words.iter().any(speaks) {
        return false;
    }
    if has_word_with_digits(value) {
        return true;
    }
    let speech = words.iter().filter(|word| SPEECH.has(word)).count();
    let of_people = speech + common(&words);
    if value.starts_with(|c: char| c.is_ascii_uppercase()) {
        return words.len() >= 4 && of_people * 4 <= words.len();
    }
    of_people * 2 < words.len() + usize::from(speech == 0)
}

/// A phrase where descriptions are as likely: a word with digits in it, or words that were drawn by lot.
pub(super) fn is_sure_phrase(value: &str) -> bool {
    let drawn = |words: Vec<String>| words.len() >= 4 && common(&words) * 4 <= words.len();
    is_phrase(value)
        && (has_word_with_digits(value)
            || (!value.bytes().any(|byte| byte.is_ascii_uppercase())
                && words_of(value).is_some_and(drawn)))
}

/// How many of the words are those of user interfaces and of names.
fn common(words: &[String]) -> usize {
    words
        .iter()
        .filter(|word| !SPEECH.has(word) && (SENTENCE.has(word) || is_part_of_names(word)))
        .count()
}

fn has_word_with_digits(value: &str) -> bool {
    value.split(' ').any(|word| {
        let shape = Shape::of(word);
        shape.digit > 0
            && shape.letters() >= 3
            && letter_words(word).any(|word| word.len() >= 3 && !is_part_of_names(word))
    })
}

/// The words in lower case, when there are some and nothing but words.
fn words_of(value: &str) -> Option<Vec<String>> {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphanumeric())
            && word.bytes().all(alphanumeric_or(b"_-!@#$%^&*+.~?'"))
    };
    let words: Vec<&str> = value.split(' ').collect();
    let phrase = value.len() <= LONGEST
        && (2..=24).contains(&words.len())
        && !value.ends_with(['.', '?', '!'])
        && words.iter().all(|word| is_word(word));
    phrase.then(|| words.iter().map(|word| word.to_ascii_lowercase()).collect())
}

/// `Benutzerpasswort`, `contrasenas`.
fn is_foreign_password(word: &str) -> bool {
    ["passw", "kennwort", "wachtwoord", "contrase", "passord"]
        .iter()
        .any(|part| word.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_digits() {
        for value in ["swordfish123", "hunter2horse", "Hunter2Horse99x"] {
            for place in [Place::Quotes, Place::Line, Place::Code] {
                assert!(is_word_with_digits(value, place), "{value} {place:?}");
            }
        }
        for (value, place) in [
            ("hunter2", Place::Quotes),
            ("swordfish!1", Place::Quotes),
            ("swordfish1", Place::Line),
            ("my-hunter2-token", Place::Line),
        ] {
            assert!(is_word_with_digits(value, place), "{value}");
            assert!(!is_word_with_digits(value, Place::Code), "{value}");
        }
        for value in [
            "token123",
            "api-key-42",
            "sha256sum",
            "abc123",
            "test-token-1",
            "v1beta1",
            "oauth2",
            "1.2.3-rc1",
            "2024-01-31",
            "config.token2",
            "0x7ffe12abcd",
            "deadbeef1",
            "12345678",
            "swordfish",
            "swordfish(1)",
        ] {
            assert!(!is_word_with_digits(value, Place::Quotes), "{value}");
        }
    }

    #[test]
    fn phrases() {
        for value in [
            "hunter2 horse",
            "correct horse battery staple",
            "open sesame",
            "the hunter2 horse",
            "my dog ate 3 shoes",
        ] {
            assert!(is_phrase(value), "{value}");
        }
        assert!(is_sure_phrase("hunter2 horse"));
        assert!(is_sure_phrase("correct horse battery staple"));
        assert!(!is_sure_phrase("open sesame"));
        for value in [
            "Enter your password",
            "must match the first one",
            "mot de passe",
            "Neues Passwort",
            "Database access",
            "user name",
            "new value",
            "at least 8 chars",
            "too short.",
            " + user + ",
            "one",
            "varchar(255) not null",
            "SHA256 of the value",
            "change me",
            "the one for the database",
            "same as above",
            "from the environment",
            "Billing portal",
        ] {
            assert!(!is_phrase(value), "{value}");
        }
    }
}
