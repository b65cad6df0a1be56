//! What names a place, a thing or a pattern, and so is no secret itself.

use super::runs::alphanumeric_or;
use super::shape::wordiness;

/// What names a place or a thing: a path, a URL, a mail address, a host, a version, a date, a type.
pub(super) fn is_reference(value: &str) -> bool {
    let words = wordiness(value);
    value.contains("://")
        || value.starts_with("//")
        || (value.starts_with(['/', '.', '~', '\\']) && words > 0.3)
        || (value.contains('/') && words > 0.5)
        || (value.contains('@') && is_mail(value))
        || is_version(value)
        || is_date(value)
        || (value.contains('.') && !value.ends_with('.') && words > 0.6)
        || is_host(value)
        || value.contains("::")
}

fn is_mail(value: &str) -> bool {
    value.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty()
            && host.contains('.')
            && host.bytes().all(alphanumeric_or(b".-"))
            && host.rsplit('.').next().is_some_and(|top| {
                (2..=6).contains(&top.len()) && top.bytes().all(|byte| byte.is_ascii_alphabetic())
            })
    })
}

/// `www.host.test:80`.
fn is_host(value: &str) -> bool {
    let host = value.rsplit_once(':').map_or(value, |(host, _)| host);
    host.split('.').count() >= 3
        && host.len() < 60
        && host.split('.').all(|label| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        })
}

/// `1.2.3`, `v0.12.1-rc.1`.
fn is_version(value: &str) -> bool {
    let value = value.trim_start_matches(['v', 'V', '^', '~', '=']);
    let value = value.strip_prefix("rc").unwrap_or(value);
    let mut parts = value.splitn(3, '.');
    let number = |part: Option<&str>| {
        part.is_some_and(|part| {
            !part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    number(parts.next())
        && number(parts.next())
        && parts
            .next()
            .is_none_or(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.len() < 32)
}

/// `2024-01-31…`, `2024/01/31`.
pub(super) fn is_date(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.len() >= 10
        && bytes.len() <= 35
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && matches!(bytes[4], b'-' | b'/')
        && bytes[5..7].iter().all(u8::is_ascii_digit)
        && bytes[4] == bytes[7]
        && matches!(bytes.get(10), None | Some(b'T' | b' ' | b'-' | b':'))
}

/// Seconds or milliseconds since 1970.
pub(super) fn is_epoch(value: &str) -> bool {
    (value.len() == 13 || value.len() == 10) && value.starts_with(['1', '2'])
}

/// Digits alone that count something, or say when it was.
pub(super) fn is_plain_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
        && (value.len() < 12 || is_sequence(value) || is_epoch(value))
}

/// Digits that count up or down.
pub(super) fn is_sequence(value: &str) -> bool {
    let steps = value
        .as_bytes()
        .windows(2)
        .filter(|pair| {
            let step = (pair[1] + 10 - pair[0].min(pair[1] + 10)) % 10;
            step == 1 || step == 9
        })
        .count();
    steps + 2 >= value.len()
}

/// `^[a-z]+$`.
pub(super) fn is_regex(value: &str) -> bool {
    value.starts_with('^')
        || has_class(value)
        || ["(?", "\\", ".*", ".+"]
            .iter()
            .any(|part| value.contains(part))
}

/// The classes of a pattern: `[a-z]`, `[^x]`.
pub(super) fn has_class(value: &str) -> bool {
    ["[a-", "[A-", "[0-", "[^"]
        .iter()
        .any(|part| value.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        for value in [
            "james.fake@ymail.com",
            "https://host.test/x",
            "/var/run/secrets",
            "application/json",
            "www.host.test:80",
            "v1.2.3-rc.1",
            "2024-01-31T10:00:00Z",
            "std::env::var",
            "user.password",
        ] {
            assert!(is_reference(value), "{value}");
        }
        for value in [
            "hunter2",
            "q7gzkxv0w1jh9p2mc4tf",
            "kYp4HsJ/fUoEgB6iXa9+Qw",
            "P@ssw0rd!",
        ] {
            assert!(!is_reference(value), "{value}");
        }
    }

    #[test]
    fn numbers_and_patterns() {
        assert!(is_epoch("1700000000000") && !is_epoch("170000000"));
        assert!(is_plain_number("4711") && !is_plain_number("829471650283"));
        assert!(is_sequence("123456789012") && !is_sequence("829471650283"));
        assert!(is_regex("[a-z]+(?:x)") && !is_regex("a{b}c$d"));
    }
}
