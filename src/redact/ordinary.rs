//! What stands after the name of a password and is none: a call, the name of an algorithm, an amount, the next name of a list.
//!
//! Asked where a value could be ordinary: bare, in a sentence, in a column, among arguments.

use super::shape::letter_words;
use super::span::{ceil, floor};
use super::syntax::Field;
use super::words::{ALGORITHM_NUMBERS, ALGORITHMS, UNITS};

/// How far back the bracket of a list is looked for.
const LIST_REACH: usize = 256;

/// `nn.Conv2d(c1`, `tokens[12`: a bare value that ends within a call or an index is code.
pub(super) fn is_call(text: &str, field: &Field, value: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_.:".contains(&byte))
    };
    let opens = value.find(['(', '[']);
    let goes_on = text.as_bytes().get(field.value.end);
    opens.is_some_and(|at| is_name(&value[..at]))
        && goes_on.is_some_and(|byte| !b"\r\n".contains(byte))
}

/// `SHA-512`, `AES256`, `pbkdf2-sha256`, `utf8mb4`; not `Blake2024`, for no algorithm has such a number.
pub(super) fn is_algorithm(value: &str) -> bool {
    let mut words = letter_words(value).peekable();
    let mut numbers = value
        .split(|c: char| !c.is_ascii_digit())
        .filter(|number| !number.is_empty());
    words.peek().is_some()
        && value.len() <= 40
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_/.".contains(&byte))
        && numbers.all(|number| ALGORITHM_NUMBERS.has(number))
        && words.all(|word| ALGORITHMS.has(&word.to_ascii_lowercase()))
}

/// `640px`, `12..64`, `8-128`, `99.5%`, `30days`.
pub(super) fn is_quantity(value: &str) -> bool {
    let amount = value.trim_start_matches(|c: char| "+-<>=~ ".contains(c));
    let rest = amount.trim_start_matches(|c: char| c.is_ascii_digit() || ".,-_:/".contains(c));
    let digits = &amount[..amount.len() - rest.len()];
    // Digits alone may be somebody's number, and so may many groups of them.
    let groups = digits.split(|c: char| !c.is_ascii_digit());
    let groups = groups.filter(|group| !group.is_empty()).count();
    let is_range = rest.is_empty() && (groups == 2 || amount.len() < value.len());
    let unit = rest.trim_end_matches(|c: char| c.is_ascii_digit()).trim();
    let is_unit = unit == "%" || UNITS.has(&unit.to_ascii_lowercase());
    digits.starts_with(|c: char| c.is_ascii_digit())
        && (is_range || is_unit && rest.len() - unit.len() <= 1)
}

/// `["password", "mfaCode2", "otp6"]`: an item of a list of literals that are no names with their values.
pub(super) fn is_among_names(text: &str, field: &Field) -> bool {
    let from = ceil(text, field.name.start.saturating_sub(LIST_REACH));
    let before = &text[from..field.name.start];
    let Some(open) = before.rfind(['[', '(', '{']) else {
        return false;
    };
    let to = floor(text, field.value.end + LIST_REACH);
    let behind = &text[field.value.end..to];
    let behind = &behind[..behind.find([']', ')', '}']).unwrap_or(behind.len())];
    // One quote of each belongs to the name and to the value.
    let quotes = |part: &str| part.matches(['"', '\'', '`']).count();
    let (earlier, later) = (quotes(&before[open..]) / 2, quotes(behind) / 2);
    let is_call = before[..open].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    match before.as_bytes()[open] {
        b'[' => earlier + later > 0,
        _ => !is_call && (earlier + later) % 2 == 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms() {
        for value in [
            "SHA-512",
            "AES256",
            "pbkdf2-sha256",
            "utf8mb4",
            "argon2id",
            "aes-256-gcm",
            "PBKDF2WithHmacSHA256",
            "ed25519",
            "RS256",
            "scram-sha-256",
            "base64",
            "sha512crypt",
            "blake2b",
            "bcrypt",
        ] {
            assert!(is_algorithm(value), "{value}");
        }
        for value in [
            "hunter2",
            "Lantern7q",
            "Vq7!mKe2",
            "12345",
            "sha512hunter",
            "Windows2024",
            "Blake2024",
            "Salsa123",
            "Latin2024",
            "Base1234",
        ] {
            assert!(!is_algorithm(value), "{value}");
        }
    }

    #[test]
    fn quantities() {
        for value in [
            "640px", "12..64", "8-128", "99.5%", "30days", "100px2", "> 12", "1.5em", "90 days",
        ] {
            assert!(is_quantity(value), "{value}");
        }
        for value in [
            "hunter2",
            "123456",
            "12-34-56",
            "12monkeys",
            "4711",
            "7x9Kq",
            "2024!",
        ] {
            assert!(!is_quantity(value), "{value}");
        }
    }
}
