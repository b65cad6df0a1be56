//! What stands where a secret would stand and is none: templates, references, masks, words of documentation.

use std::sync::LazyLock;

use super::finder::WordFinder;
use super::runs::alphanumeric_or;
use super::shape::{Shape, symbols};
use super::span::floor;
use super::words::{APART, INSIDE, REFERENCES, WHOLE, Words};

/// Whether a value is no secret but a stand-in for one.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    let lower = head(value).to_ascii_lowercase();
    WHOLE.has(&lower) || REFERENCES.begin(&lower) || is_stand_in(value)
}

/// A stand-in by its form alone: a word such as `password` or `test` counts as a value.
pub(super) fn is_stand_in(value: &str) -> bool {
    // A generated password may hold every sign of a template.
    if symbols(head(value)) >= 8 {
        return value.contains("***REDACTED");
    }
    let lower = head(value).to_ascii_lowercase();
    value.is_empty()
        || is_template(value)
        || is_masked(value)
        || INSIDE_FINDER.any(&lower, |_| true)
        || APART_FINDER.any(&lower, |found| {
            stands_apart(lower.as_bytes(), found.start, found.end)
        })
}

fn finder(words: &'static Words) -> WordFinder<&'static str> {
    WordFinder::new(words.iter().collect())
}

static INSIDE_FINDER: LazyLock<WordFinder<&str>> = LazyLock::new(|| finder(&INSIDE));
static APART_FINDER: LazyLock<WordFinder<&str>> = LazyLock::new(|| finder(&APART));

/// The first 300 bytes: what gives a stand-in away stands early.
fn head(value: &str) -> &str {
    &value[..floor(value, 300)]
}

/// `<token>`, `${TOKEN}`, `$TOKEN`, `{token}`, `%TOKEN%`, `@TOKEN@`, `[token]`, `:token`, `%s`.
fn is_template(value: &str) -> bool {
    let bytes = value.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return true;
    };
    match first {
        b'<' => *last == b'>' || value[1..].contains('>'),
        b'{' | b'[' => matches!(last, b'}' | b']') && is_name(&value[1..value.len() - 1]),
        b'%' => value.len() <= 3 || (*last == b'%' && is_name(value.trim_matches('%'))),
        b'@' => value.len() > 2 && *last == b'@' && is_name(value.trim_matches('@')),
        b'$' => is_variable(&value[1..]),
        b'&' => value[1..].starts_with(|c: char| c.is_ascii_alphabetic()) && is_name(&value[1..]),
        _ => false,
    }
}

/// What stands after a `$`: `NAME`, `name`, `env:NAME`, `1`, `@`; not the mixed rest of a password or a hash.
fn is_variable(rest: &str) -> bool {
    if rest.contains('$') {
        return false;
    }
    let rest = rest.strip_prefix("env:").unwrap_or(rest);
    let name = rest
        .trim_start_matches('{')
        .split(['}', '/', ':', '[', '-', '.', '"', '\''])
        .next()
        .unwrap_or_default();
    if name.len() <= 1 {
        return true;
    }
    let shape = Shape::of(name);
    is_name(name)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && (shape.lower == 0 || shape.upper == 0 || super::shape::wordiness(name) > 0.5)
}

/// Letters, digits, `_`, `-`, `.` and blanks, as names in templates are.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(alphanumeric_or(b"_-. :/$"))
}

/// Hardly any different characters: `xxxxxxxx`, `********`, `aaaaaa`.
fn is_masked(value: &str) -> bool {
    let shape = Shape::of(head(value));
    shape.len >= 4
        && (shape.distinct <= 2
            || (shape.len >= 12 && shape.distinct <= 3)
            || (shape.len >= 16 && shape.distinct <= 4))
}

fn stands_apart(bytes: &[u8], start: usize, end: usize) -> bool {
    let alone = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
    alone(start.checked_sub(1).and_then(|before| bytes.get(before))) && alone(bytes.get(end))
}

#[cfg(test)]
mod tests {
    use super::is_placeholder;

    #[test]
    fn stand_ins() {
        for value in [
            "",
            "changeme",
            "CHANGE_ME",
            "your-api-key",
            "YOUR_TOKEN",
            "<token>",
            "<your token here>",
            "${DB_PASSWORD}",
            "$DB_PASSWORD",
            "$password",
            "{{ secrets.TOKEN }}",
            "${{ secrets.X }}",
            "process.env.API_KEY",
            "os.environ['X']",
            "xxxxxxxxxxxx",
            "XXXXXXXX",
            "****",
            "••••••",
            "null",
            "None",
            "string",
            "AKIAIOSFODNN7EXAMPLE",
            "%s",
            "%TOKEN%",
            "@token@",
            "{token}",
            "insert-token-here",
            "my-fake-token",
            "op://vault/item/field",
            "arn:aws:secretsmanager:x",
            "***REDACTED***",
            "***REDACTED:github-pat***",
            "$env:TOKEN",
            "aaaaaaaaaaaa",
            "some-token",
        ] {
            assert!(is_placeholder(value), "{value}");
        }
    }

    #[test]
    fn real_ones() {
        for value in [
            "hunter2",
            "q7gzkxv0w1jh9p2mc4tf",
            "Fakelymno99Xq",
            "$2b$12$abcdefghijkl",
            "p$ssw0rd!",
            "d41d8cd98f00b204e9800998ecf8427e",
            "yourselfR4nd",
        ] {
            assert!(!is_placeholder(value), "{value}");
        }
    }
}
