//! Credentials in the userinfo of a URL: `scheme://user:password@host`.

use std::ops::Range;

use super::fields::behind_mark;
use super::judge::{Trust, is_secret};
use super::placeholder::is_stand_in;
use super::runs::{alphanumeric_or, run_at_start};
use super::span::mark_at_start;

/// Longest userinfo that is looked at.
const USERINFO_MAX: usize = 512;

/// The secret part of the userinfo after a `://`, given the place after it.
pub(super) fn userinfo_secret(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let near = bytes.get(from..(from + USERINFO_MAX).min(bytes.len()))?;
    if !near.contains(&b'@') {
        return None;
    }
    let mut at_sign = None;
    for (offset, byte) in near.iter().enumerate() {
        match byte {
            // The last one counts: a password may have one that nobody encoded.
            b'@' => at_sign = Some(from + offset),
            b'/' | b'?' | b'#' if at_sign.is_some() => break,
            b'/' | b' ' | b'\n' | b'\r' | b'\t' | b'"' | b'\'' | b'`' | b'<' | b'>' | b')'
            | b'|' | b',' | b'\\' => break,
            _ => {}
        }
    }
    let Some(end) = at_sign else {
        return with_slashes(text, from);
    };
    let userinfo = text.get(from..end)?;
    // A key that was replaced, which may have its other half beside it.
    if let Some(mark) = mark_at_start(userinfo) {
        let password = userinfo[mark..].strip_prefix(':')?;
        return is_secret(password, Trust::Hinted).then_some(from + mark + 1..end);
    }
    let Some((user, password)) = userinfo.split_once(':') else {
        return is_secret(userinfo, Trust::Hinted).then_some(from..end);
    };
    if password.is_empty() || matches!(password, "x-oauth-basic" | "x" | "X") {
        return is_secret(user, Trust::Hinted).then_some(from..from + user.len());
    }
    let password = behind_mark(password)?;
    let secret = !is_stand_in(password)
        && !is_documentation(user, password)
        && !password.starts_with("//")
        && !user.starts_with('[');
    secret.then_some(end - password.len()..end)
}

/// A password with slashes that nobody encoded: only when it looks random.
fn with_slashes(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(from..)?;
    let length = run_at_start(rest, USERINFO_MAX, alphanumeric_or(b":/+=_-.~%"));
    let userinfo = text.get(from..from + length)?;
    let (user, password) = userinfo.split_once(':')?;
    let secret = rest.get(length) == Some(&b'@')
        && !user.contains('/')
        && password
            .split('/')
            .next()
            .is_some_and(|port| port.bytes().any(|byte| !byte.is_ascii_digit()))
        && is_secret(password, Trust::Hinted);
    secret.then_some(from + user.len() + 1..from + length)
}

/// `user:password`: what everybody writes in an explanation.
fn is_documentation(user: &str, password: &str) -> bool {
    let user = user.to_ascii_lowercase();
    let password = password.to_ascii_lowercase();
    // What the database's image calls both unless it is told otherwise.
    if user == "postgres" && password == "postgres" {
        return true;
    }
    matches!(
        password.as_str(),
        "pass" | "password" | "passwd" | "pwd" | "secret" | "pw" | "token" | "key"
    ) && (matches!(
        user.as_str(),
        "user" | "username" | "usr" | "login" | "name" | "foo" | "me" | "key"
    ) || is_stand_in(&user))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(url: &str) -> Option<&str> {
        userinfo_secret(url, url.find("://")? + 3).map(|range| &url[range])
    }

    #[test]
    fn secrets() {
        assert_eq!(secret("postgres://bob:hunter2@db:5432/x"), Some("hunter2"));
        assert_eq!(secret("redis://:hunter2@db"), Some("hunter2"));
        assert_eq!(secret("amqp://u:p@ss@db/x@y"), Some("p@ss"));
        assert_eq!(
            secret("https://q7gzkxv0w1jh9p2mc4tf@git.test/x"),
            Some("q7gzkxv0w1jh9p2mc4tf")
        );
        assert_eq!(
            secret("https://q7gzkxv0w1jh9p2mc4tf:x-oauth-basic@git.test/x"),
            Some("q7gzkxv0w1jh9p2mc4tf")
        );
        assert_eq!(
            secret("https://***REDACTED:sentry-dsn***:8b70c51be6894f218644f10fd72690e8@h/5"),
            Some("8b70c51be6894f218644f10fd72690e8")
        );
    }

    #[test]
    fn none() {
        for url in [
            "https://host/path",
            "https://user:password@host",
            "postgres://postgres:postgres@localhost/test",
            "https://bob@host",
            "ssh://git@github.com/x",
            "https://$USER:$PASS@host",
            "https://u:${PW}@host",
            "https://bob:<password>@host",
            "https://host/a@b:c@d",
            "https://bob:***REDACTED***@host",
            "https://***REDACTED:sentry-dsn***@host",
            "https://***REDACTED***@host",
            "https://host:8080/",
        ] {
            assert_eq!(secret(url), None, "{url}");
        }
    }
}
