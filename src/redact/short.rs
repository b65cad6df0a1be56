//! What is too short to look random, where a name, a header or a cookie says that it is a secret: `hunter2`, `abc123`.
//!
//! Names of algorithms, versions, types and systems are as short, and have digits too: their words tell. Letters alone and
//! numbers alone are left to the other judges.

use super::chosen::is_part_of_names;
use super::judge::is_token_byte;
use super::ordinary::{is_algorithm, is_quantity};
use super::placeholder::is_placeholder;
use super::reference::{is_reference, is_sequence};
use super::shape::{Shape, letter_words, wordiness};
use super::words::{NO_KEYS, PASSWORD_ENDS, SECRET_ENDS, TYPES};

/// The fewest signs with a digit among them, and the fewest letters alone.
const SHORTEST: usize = 6;
const LETTERS: usize = 12;

/// Beginnings of the alphabet, which stand in for names and are typed for secrets as well.
const ALPHABET: [&str; 4] = ["abc", "abcd", "abcde", "abcdef"];

/// Whether what is all that a name like `token` is set to is a word with digits that names nothing.
pub(super) fn is_short_secret(value: &str) -> bool {
    let shape = Shape::of(value);
    let odd = shape.len < SHORTEST
        || shape.symbol > 0
        || shape.digit == 0
        || shape.letters() < 2
        || value.starts_with("0x")
        || is_ordinary(value);
    !odd && (is_nameless(value) || is_numbered_secret(value))
}

/// An algorithm, an amount, a version, a date.
fn is_ordinary(value: &str) -> bool {
    is_algorithm(value) || is_quantity(value) || is_reference(value)
}

/// `hunter2`, `abc123`, `q7k2z9`; not `int64`, `v1beta1`, `u8x16`.
fn is_nameless(value: &str) -> bool {
    let is_name = |word: &str| {
        is_part_of_names(word) && !ALPHABET.contains(&word.to_ascii_lowercase().as_str())
    };
    let is_type = |word: &str| word.len() == 1 && TYPES.has(&word.to_ascii_lowercase());
    letter_words(value).all(|word| word.len() == 1 || !is_name(word))
        && letter_words(value).any(|word| !is_type(word))
}

/// `secret123`, `mytoken42`: made up of a word for it; `token123` is the name with a number.
fn is_numbered_secret(value: &str) -> bool {
    let stem = value.trim_end_matches(|c: char| c.is_ascii_digit());
    let word = stem.to_ascii_lowercase();
    let says_secret = SECRET_ENDS.end(&word)
        || PASSWORD_ENDS.end(&word)
        || word.ends_with("key") && !NO_KEYS.has(&word);
    value.len() - stem.len() >= 2
        && stem.bytes().all(|byte| byte.is_ascii_alphabetic())
        && says_secret
        && !matches!(word.as_str(), "token" | "key" | "apikey")
}

/// Whether what stands behind the scheme of an `Authorization` header is credentials: anything with a digit, and letters that
/// make no word.
pub(super) fn is_credential(value: &str) -> bool {
    let shape = Shape::of(value);
    if shape.digit == 0 {
        return shape.len >= LETTERS && is_value(value) && wordiness(value) < 0.5;
    }
    is_value(value) && !(shape.digit == shape.len && is_sequence(value))
}

/// Whether a cookie of a session is set to one: anything with letters and digits.
pub(super) fn is_session(value: &str) -> bool {
    let shape = Shape::of(value);
    shape.digit > 0 && shape.letters() > 0 && is_value(value)
}

/// One word that stands in for nothing and names nothing.
fn is_value(value: &str) -> bool {
    value.len() >= SHORTEST
        && value.starts_with(|c: char| c.is_ascii_alphanumeric())
        && value
            .bytes()
            .all(|byte| is_token_byte(byte) || byte == b'%')
        && (is_web_token(value) || !is_ordinary(value))
        && !is_placeholder(value)
        // What stands in for base64 says so.
        && !value.to_ascii_lowercase().contains("base64")
}

/// `abc.def.ghi12345`: three parts, as a JSON Web Token has, and more than a number in them.
fn is_web_token(value: &str) -> bool {
    let parts = value.split('.');
    parts.clone().count() == 3
        && parts.clone().all(|part| part.len() >= 3)
        && Shape::of(value).digit >= 2
        && Shape::of(value).letters() >= 6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_secrets() {
        for value in [
            "hunter2",
            "abc123",
            "abcd1234",
            "abc123def",
            "q7k2z9",
            "Lantern7",
            "secret123",
            "mytoken123",
            "mysecretkey42",
            "1a2b3c4",
        ] {
            assert!(is_short_secret(value), "{value}");
        }
        for value in [
            "abc12",
            "secret",
            "12345678",
            "1234567a",
            "token123",
            "apikey12",
            "secret2",
            "token2",
            "sha256",
            "base64",
            "utf8mb4",
            "v1beta1",
            "ed25519",
            "int64x",
            "uint64",
            "oauth2",
            "argon2id",
            "pkcs12",
            "x25519",
            "u8x16x2",
            "wasm32",
            "debian12",
            "test123",
            "30days",
            "0xdeadbeef1",
            "hunter-2",
            "1.2.3-rc1",
            "2024-01-31",
            "monkey",
        ] {
            assert!(!is_short_secret(value), "{value}");
        }
    }

    #[test]
    fn credentials_and_sessions() {
        for value in [
            "abc123",
            "hunter2",
            "abcd1234",
            "abc.def.ghi12345",
            "t0k-3n_",
        ] {
            assert!(is_credential(value) && is_session(value), "{value}");
        }
        for value in ["qzxkvwpjhmtr", "XkqPzTrwVbnM", "90817263"] {
            assert!(is_credential(value) && !is_session(value), "{value}");
        }
        for value in [
            "abc12",
            "qzxkvwpjhmt",
            "accessToken",
            "authentication",
            "YOUR_TOKEN_2",
            "your-token-2",
            "%TOKEN2%",
            "$TOKEN_2",
            "notabase64token",
            "oauth2",
            "sha-256",
            "1.2.3-rc1",
            "123456",
            "2024-01-31",
            "path/to/token2",
            "config.token2",
            "api.acme.test",
            "xxxxxx12",
        ] {
            assert!(!is_credential(value) && !is_session(value), "{value}");
        }
    }
}
