//! Whether a value is a secret, given how much its surroundings promise.
//!
//! Errs towards replacing where the name of the field says secret, and towards leaving alone where nothing does.

use super::chosen::{Place, is_phrase, is_sure_phrase, is_word_with_digits};
use super::fields::is_made_up;
use super::placeholder::is_placeholder;
use super::reference::{has_class, is_plain_number, is_reference, is_regex, is_sequence};
use super::rules::Looks;
use super::shape::{Shape, is_uuid, symbols, wordiness};
use super::short::is_short_secret;
use super::span::floor;
use super::words::{PASSWORD_ENDS, SENTENCE, TYPES};

/// How much the surroundings promise that a value is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// A field called password, the value in quotes.
    Password,
    /// A field called password, the value bare: it could be code.
    BarePassword,
    /// A field called token, secret, api key.
    Named,
    /// Such a one in an environment file, where nothing is code.
    Assigned,
    /// Such a one with a made-up value, by what stands around it.
    Made(Place),
    /// Such a one whose name ends in that word, and with nothing behind the value.
    Short,
    /// A vendor's name or a weak word stands before it.
    Hinted,
}

/// Longest part of a value that is looked at.
const LOOKED_AT: usize = 512;

/// Whether to replace a value.
pub(super) fn is_secret(value: &str, trust: Trust) -> bool {
    if value.len() < 4 || value.contains("***REDACTED") {
        return false;
    }
    // What makes a value look random shows in its first part; reading all of each would make many long ones slow.
    let value = &value[..floor(value, LOOKED_AT)];
    let likely = match trust {
        Trust::Password => is_password(value),
        Trust::BarePassword => is_bare_password(value),
        Trust::Named => is_named_secret(value),
        Trust::Assigned => {
            is_named_secret(value)
                || is_chosen_secret(value)
                || is_word_with_digits(value, Place::Line)
        }
        Trust::Made(place) => {
            is_named_secret(value)
                || is_word_with_digits(value, place)
                || (place == Place::Quotes && is_sure_phrase(value))
        }
        Trust::Short => is_short_secret(value),
        Trust::Hinted => is_hinted_secret(value),
    };
    likely && !is_placeholder(value)
}

/// Whether what a row found looks as the row wants it.
pub(super) fn is_like(secret: &str, looks: Looks) -> bool {
    match looks {
        Looks::Any => true,
        Looks::Random => wordiness(core(secret)) < 0.5,
        Looks::Password => is_secret(secret, Trust::Password) && !is_called_password(secret),
        Looks::MadeUp => is_secret(secret, Trust::Password) && is_made_up(secret),
        Looks::Phrase => {
            !secret.trim().contains(' ')
                || is_sure_phrase(secret)
                || secret.split(' ').any(is_odd_word)
        }
    }
}

/// `newpassword`: what stands for one in an explanation.
fn is_called_password(value: &str) -> bool {
    PASSWORD_ENDS.end(&value.to_ascii_lowercase())
}

/// Letters, digits and signs in one word, which no sentence has.
fn is_odd_word(word: &str) -> bool {
    let shape = Shape::of(word);
    let signs = word.bytes().filter(|byte| b"!@#$%^&*+=~".contains(byte));
    shape.len >= 4 && shape.letters() >= 2 && shape.digit > 0 && signs.count() > 0
}

fn is_password(value: &str) -> bool {
    if value.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return is_passphrase(value);
    }
    // A reference, or a pattern for passwords.
    if is_reference(value) || value.starts_with(['[', '\\']) || value.starts_with("(?") {
        return false;
    }
    // A label in another language.
    let shape = Shape::of(value);
    value.is_ascii() || shape.digit > 0 || wordiness(value) < 0.3
}

/// Words with blanks: a sentence of a user interface, unless digits or symbols stand inside.
fn is_passphrase(value: &str) -> bool {
    // What stands between two literals: `"password=" + password + "…"`.
    if value.starts_with(' ')
        && value
            .trim_start()
            .starts_with(['+', '.', ',', ';', ')', '&', '|'])
    {
        return false;
    }
    let trimmed = value.trim_end_matches(['.', '!', '?', ':', ',', ' ']);
    let odd = trimmed
        .bytes()
        .filter(|byte| byte.is_ascii_digit() || b"!@#$%^&*+=~".contains(byte))
        .count();
    let of_signs = odd >= 2
        && trimmed.len() <= 80
        && !trimmed.contains(['(', '<', '{'])
        && value.split(' ').count() <= 6;
    of_signs || is_of_words(value) || is_phrase(value)
}

/// Words that were drawn by lot: lower case, at least four, and none that makes a sentence of them.
fn is_of_words(value: &str) -> bool {
    let words: Vec<&str> = value.split(' ').collect();
    let is_drawn = |word: &&str| {
        (3..=10).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_lowercase())
            && !SENTENCE.has(word)
    };
    (4..=24).contains(&words.len()) && words.iter().all(is_drawn)
}

/// The words from which a wallet is made again: twelve to twenty-four, of three to eight letters.
pub(super) fn is_mnemonic(value: &str) -> bool {
    let words: Vec<&str> = value.split(' ').collect();
    let is_listed = |word: &&str| {
        (3..=8).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    matches!(words.len(), 12 | 15 | 18 | 21 | 24) && words.iter().all(is_listed)
}

fn is_bare_password(value: &str) -> bool {
    if value.bytes().any(|byte| byte.is_ascii_whitespace()) || is_reference(value) {
        return false;
    }
    let shape = Shape::of(value);
    let odd = value
        .bytes()
        .filter(|byte| b"!@#$%^&*+=~?".contains(byte))
        .count();
    // A pointer, a reference, a flag, a negation: code.
    if value.starts_with(['*', '&', '-', '+', '!', '~', '@']) && shape.digit < 2 {
        return false;
    }
    if value.contains(['(', '[', '{']) && odd + shape.digit < 2 {
        return false;
    }
    shape.len >= 5
        && (shape.digit > 0 || odd > 0 || (shape.len >= 8 && wordiness(value) < 0.4))
        && !is_number(value)
        && !is_identifier_with_number(value, &shape)
}

/// `password1`, `user2`, `__u32`, `varchar255`: a variable or a type.
fn is_identifier_with_number(value: &str, shape: &Shape) -> bool {
    shape.digit <= 3
        && value.ends_with(|c: char| c.is_ascii_digit())
        && TYPES.has(
            &value
                .trim_start_matches('_')
                .trim_end_matches(|c: char| c.is_ascii_digit() || c == '_')
                .to_ascii_lowercase(),
        )
}

fn is_number(value: &str) -> bool {
    let digits = value.trim_start_matches("0x");
    (value.len() < 5 || digits.len() < value.len())
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'_')
}

fn is_named_secret(value: &str) -> bool {
    if is_mnemonic(value) {
        return true;
    }
    if value.len() < 8
        || value.bytes().any(|byte| byte.is_ascii_whitespace())
        || value.starts_with(['[', '(', '{', '\\'])
        || has_class(value)
    {
        return false;
    }
    if is_uuid(value) {
        return Shape::of(value).distinct > 4;
    }
    let shape = Shape::of(value);
    if shape.entropy < least_entropy(shape.len)
        || is_malformed(value, &shape)
        || is_reference(value)
    {
        return false;
    }
    if shape.digit == shape.len {
        return !is_plain_number(value);
    }
    if shape.len >= 12 && symbols(value) >= 8 && !is_regex(value) {
        return true;
    }
    let words = wordiness(core(value));
    if shape.hex && shape.digit > 0 {
        return shape.len >= 8 && words < 0.6;
    }
    if shape.digit == 0 {
        let mixed = shape.lower >= 2 && shape.upper >= 2 && shape.turns >= 4;
        return (mixed && shape.letters() >= 10 && words < 0.45)
            || (shape.letters() >= 16 && words < 0.3);
    }
    words < 0.55 || (shape.len >= 16 && shape.digit >= 3 && shape.symbol == 0 && words < 0.7)
}

/// Made up by a person: a word or two with a number.
fn is_chosen_secret(value: &str) -> bool {
    let shape = Shape::of(value);
    shape.len >= 8
        && shape.digit >= 2
        && shape.letters() >= 4
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-!@#$%^&*+.".contains(&byte))
        && !value.starts_with(['$', '@', '%', '.', '-'])
        && !is_reference(value)
        && !is_sequence(value)
        && !is_number(value)
        && !is_identifier_with_number(value, &shape)
}

/// The longest part between `_`, `-`, `.` and `:`, when it is long enough to be the random one: `acme_live_…`.
fn core(value: &str) -> &str {
    value
        .split(['_', '-', '.', ':'])
        .max_by_key(|part| part.len())
        .filter(|part| part.len() >= 16)
        .unwrap_or(value)
}

/// The least entropy of a random string that short.
fn least_entropy(len: usize) -> f32 {
    match len {
        0..=11 => 2.2,
        12..=15 => 2.4,
        16..=23 => 2.5,
        24..=31 => 2.8,
        _ => 3.0,
    }
}

fn is_hinted_secret(value: &str) -> bool {
    if value.len() < 10 || value.len() > 400 || !value.bytes().all(is_token_byte) {
        return false;
    }
    if is_uuid(value) {
        return Shape::of(value).distinct > 4;
    }
    let shape = Shape::of(value);
    if shape.entropy < least_entropy(shape.len) || is_reference(value) {
        return false;
    }
    let words = wordiness(core(value));
    if shape.hex {
        return shape.len >= 16 && shape.digit > 0 && shape.letters() > 0;
    }
    if !has_random_part(value) {
        return false;
    }
    let mixed = shape.lower >= 2 && shape.upper >= 2 && shape.turns >= 4;
    if shape.digit == 0 {
        return words < 0.3 && (shape.len >= 20 || (mixed && shape.len >= 12));
    }
    shape.letters() >= 3
        && (shape.digit >= 2 || mixed)
        && (words < 0.4 || (shape.digit >= 3 && shape.symbol == 0 && words < 0.55))
}

/// Names of models and versions are made of short parts: `gpt-5-2-2025-12-11`.
fn has_random_part(value: &str) -> bool {
    value
        .split(['-', '_', '.', ':'])
        .any(|part| part.len() >= 7 && part.bytes().any(|byte| byte.is_ascii_alphabetic()))
}

/// The bytes that issued tokens are made of.
pub(super) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=.~:".contains(&byte)
}

/// Characters that issued secrets never have, in something that otherwise looks like one.
fn is_malformed(value: &str, shape: &Shape) -> bool {
    let foreign =
        |byte: &u8| !byte.is_ascii_alphanumeric() && b"?^;<>\\'\"`(){}[] |".contains(byte);
    if !value.bytes().any(|byte| foreign(&byte)) {
        return false;
    }
    // A generated password or key with every symbol there is.
    let mut symbols: Vec<u8> = value
        .bytes()
        .filter(|byte| !byte.is_ascii_alphanumeric())
        .collect();
    symbols.sort_unstable();
    symbols.dedup();
    symbols.len() < 4 || shape.len < 12
}

/// Whether a string with nothing around it to say so is random enough to be a secret.
///
/// Hashes, ids in lower-case hex and names never are.
pub(super) fn is_bare_secret(value: &str) -> bool {
    if !(20..=160).contains(&value.len()) || has_repeats(value) {
        return false;
    }
    let shape = Shape::of(value);
    if is_dashed_hex(value) || is_named_hash(value) {
        return false;
    }
    let all_classes = shape.lower >= 3 && shape.upper >= 3 && shape.digit >= 2;
    let least = match shape.len {
        0..=23 => 3.6,
        24..=31 => 3.8,
        32..=39 => 4.1,
        _ => 4.3,
    };
    all_classes
        && shape.entropy >= least
        && shape.turns * 4 >= shape.len
        && value.bytes().filter(|byte| b"_-".contains(byte)).count() <= 1 + shape.len / 16
        && shape.symbol * 5 <= shape.len
        && wordiness(value) < 0.3
}

/// A hash behind words: `linux-cargo-…`.
fn is_named_hash(value: &str) -> bool {
    Shape::of(core(value)).hex
}

/// Four of a kind in a row: zeros of binary data.
fn has_repeats(value: &str) -> bool {
    value
        .as_bytes()
        .windows(4)
        .any(|four| four.iter().all(|byte| *byte == four[0]))
}

/// Uuids, trace parents and the like.
fn is_dashed_hex(value: &str) -> bool {
    value
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Whether a string that something is set to is random enough: one case and digits will do.
pub(super) fn is_assigned_secret(value: &str) -> bool {
    if is_bare_secret(value) {
        return true;
    }
    if !(24..=160).contains(&value.len())
        || is_dashed_hex(value)
        || is_named_hash(value)
        || has_repeats(value)
    {
        return false;
    }
    let shape = Shape::of(value);
    !shape.hex
        && shape.digit >= 3
        && shape.letters() >= 8
        && shape.symbol * 10 <= shape.len
        && shape.entropy >= 3.6
        && shape.turns * 4 >= shape.len
        && wordiness(value) < 0.25
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_values() {
        for value in [
            "8f14e45fceea167a5a36dedd4bea2543",
            "e8e4df51-2054-49b0-ab1c-516ac95c691d",
            "q7gzkxv0w1jh9p2mc4tf",
            "xI3WMNfLbkpKy0aRpBvCr8jXhkj4Kcfc3IRRItDD",
            "qzxkvwpjhmtrbfgdqxzv",
            "abcdef1234567890abcdef1234567890",
            "vIoX7g~FmYAC0Ggk5zg9",
            "u83h&2b#9$ff(12)k!w@x",
        ] {
            assert!(is_secret(value, Trust::Named), "{value}");
        }
        for value in [
            "accessTokenFactory",
            "application/json",
            "https://host.test/path",
            "james.fake@ymail.com",
            "1.2.3-rc.1",
            "2024-01-31T10:00:00Z",
            "/var/run/secrets/token",
            "xI3WMNfLbkpKy0aR?pBvCr8jXhkj4Kcfc3IRRItD",
            "123456789012",
            "token123",
            "aaaaaaaabbbbbbbb",
            "NEXUS-GPT4-API-KEY",
            "std::env::var",
        ] {
            assert!(!is_secret(value, Trust::Named), "{value}");
        }
    }

    #[test]
    fn what_a_person_made_up_counts_where_it_is_assigned() {
        for value in ["hunter2hunter2", "mysecretvalue123", "my-api-key-42"] {
            assert!(is_secret(value, Trust::Assigned), "{value}");
            assert!(!is_secret(value, Trust::Named), "{value}");
        }
        for value in [
            "change-me-in-production",
            "your-256-bit-secret",
            "2024-01-31T10:00:00Z",
            "/var/run/secrets/token42",
            "config.secret42",
            "varchar255",
            "$TOKEN_2024",
            "<token-2024>",
        ] {
            assert!(!is_secret(value, Trust::Assigned), "{value}");
        }
    }

    #[test]
    fn passwords() {
        for value in [
            "hunter2",
            "letmein",
            "P@ssw0rd!",
            "correct-horse-battery",
            "Tr0ub4dor &3",
            "purple monkey dishwasher lamp",
        ] {
            assert!(is_secret(value, Trust::Password), "{value}");
        }
        for value in [
            "password",
            "Enter your password",
            "choose another password please",
            "must match the first one",
            "Contraseña",
            "${PW}",
            "abc",
            "/etc/secret/file",
        ] {
            assert!(!is_secret(value, Trust::Password), "{value}");
        }
        for value in [
            "string",
            "user.password",
            "getPassword",
            "password2",
            "args.password,",
            "self.pw2",
        ] {
            assert!(!is_secret(value, Trust::BarePassword), "{value}");
        }
        assert!(is_secret("hunter2", Trust::BarePassword));
    }

    #[test]
    fn hinted_values() {
        assert!(is_secret("8f14e45fceea167a5a36", Trust::Hinted));
        for value in [
            "gpt-5-2-2025-12-11",
            "claude-sonnet-4-20250514",
            "ubuntu-24.04-x64",
        ] {
            assert!(!is_secret(value, Trust::Hinted), "{value}");
        }
    }

    #[test]
    fn bare_values() {
        assert!(is_bare_secret("xI3WMNfLbkpKy0aRpBvCr8jXhkj4Kcfc3IRRItDD"));
        for value in [
            "8f14e45fceea167a5a36dedd4bea2543",
            "e8e4df51-2054-49b0-ab1c-516ac95c691d",
            "getElementByIdAndClassName2",
            "TestCase1000WithManyWordsInside",
        ] {
            assert!(!is_bare_secret(value), "{value}");
        }
        assert!(is_assigned_secret("q7gzkxv0w1jh9p2mc4tfz8k3"));
    }
}
