//! Credentials in the userinfo of a URL: `scheme://user:password@host`.

use std::ops::Range;

use super::fields::behind_mark;
use super::judge::{Trust, is_secret};
use super::placeholder::is_stand_in;
use super::runs::{alphanumeric_or, run_at_end, run_at_start};
use super::span::mark_at_start;

/// Longest userinfo that is looked at.
const USERINFO_MAX: usize = 512;

/// The schemes of databases and brokers. Behind their hosts stands no `@`, and so it may be of a password in which nobody encoded a slash.
const DATA_SOURCES: &[&str] = &[
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "mongodb",
    "redis",
    "rediss",
    "valkey",
    "amqp",
    "amqps",
    "mssql",
    "sqlserver",
    "clickhouse",
    "cockroachdb",
    "oracle",
    "db2",
    "ldap",
    "ldaps",
    "nats",
    "neo4j",
    "bolt",
    "smtp",
    "smtps",
];

/// The secret part of the userinfo after a `://`, given the place after it.
pub(super) fn userinfo_secret(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let near = bytes.get(from..(from + USERINFO_MAX).min(bytes.len()))?;
    if !near.contains(&b'@') {
        return None;
    }
    let at_sign = if is_data_source(text, from) {
        end_in_data_source(near).or_else(|| end_in_address(near))
    } else {
        end_in_address(near)
    };
    let Some(end) = at_sign.map(|offset| from + offset) else {
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

/// Where the userinfo ends.
fn end_in_address(near: &[u8]) -> Option<usize> {
    let mut at_sign = None;
    for (offset, byte) in near.iter().enumerate() {
        match byte {
            // The last one counts: a password may have one that nobody encoded.
            b'@' => at_sign = Some(offset),
            b'?' | b'#' if at_sign.is_none() => {}
            b'/' | b'?' | b'#' => break,
            byte if ends_address(*byte) => break,
            _ => {}
        }
    }
    at_sign
}

fn ends_address(byte: u8) -> bool {
    b" \n\r\t\"'`<>)|,\\".contains(&byte)
}

/// Whether a `://` is that of a database, given the place after it.
fn is_data_source(text: &str, from: usize) -> bool {
    let before = &text[..from.saturating_sub(3)];
    let length = run_at_end(before.as_bytes(), 24, alphanumeric_or(b"+-"));
    let scheme = before[before.len() - length..].to_ascii_lowercase();
    // `mysql+pymysql`, `mongodb+srv`.
    let scheme = scheme.split('+').next().unwrap_or_default();
    DATA_SOURCES.contains(&scheme)
}

/// Where the userinfo of a data source ends whose password has a slash inside: `user:pa/ss@host`, and no `host:5432/db`.
fn end_in_data_source(near: &[u8]) -> Option<usize> {
    let length = run_at_start(near, USERINFO_MAX, |byte| !ends_address(byte));
    let near = &near[..length];
    let colon = near.iter().position(|byte| *byte == b':')?;
    let slash = near.iter().position(|byte| *byte == b'/')?;
    let port = near.get(colon + 1..slash)?;
    let last = run_at_start(&near[slash..], USERINFO_MAX, |byte| byte != b'?');
    let at_sign = near[..slash + last]
        .iter()
        .rposition(|byte| *byte == b'@')?;
    let host = &near[at_sign + 1..];
    let name = run_at_start(host, USERINFO_MAX, alphanumeric_or(b"._-"));
    // After an `@` before the slash, which may be the right one, this one has to have a port or a path.
    let is_host = matches!(host.get(name), Some(b':' | b'/')) || !port.contains(&b'@');
    let is_port = port.iter().all(u8::is_ascii_digit);
    // What stands where the user does may be the host.
    let is_user = !near[..colon].contains(&b'.') && &near[..colon] != b"localhost";
    (at_sign > slash && name > 0 && is_host && is_user && !is_port).then_some(at_sign)
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
        for (url, password) in [
            ("postgres://u:pa/ss@host/db", "pa/ss"),
            ("postgres://bob:hun/ter2@host", "hun/ter2"),
            ("mysql+pymysql://bob:hu@n/ter:2@host:5432/db", "hu@n/ter:2"),
            ("redis://:S3cr/et@host:6379/0", "S3cr/et"),
            ("mongodb+srv://bob:Lan/tern7@c0.test/x?a=b@c", "Lan/tern7"),
        ] {
            assert_eq!(secret(url), Some(password), "{url}");
        }
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
            "redis://localhost:6379/a@b",
            "http://localhost:PORT/@vite/client",
            "mongodb://host:port/db?x=a@b/c",
            "postgres://host/a:b@c/d",
            "postgres://localhost:PORT/db@2x",
            "amqp://mq.acme.test:PORT/foo@bar.com",
        ] {
            assert_eq!(secret(url), None, "{url}");
        }
    }
}
