//! Credentials in HTTP headers: `Authorization` of any scheme, `Cookie`, `Set-Cookie`; and the cookies that a program sets.

use std::ops::Range;

use super::chosen::{Place, is_word_with_digits};
use super::field_names::{NameClass, classify};
use super::fields::{behind_mark, is_basic};
use super::judge::{Trust, is_secret, is_token_byte};
use super::placeholder::{is_placeholder, is_stand_in};
use super::reference::{is_date, is_epoch, is_plain_number, is_sequence};
use super::runs::{one_of, run_at_start};
use super::shape::Shape;
use super::short::{is_credential, is_session};
use super::words::SCHEMES;

/// The schemes behind which credentials stand in one word, however short.
const TOKEN_SCHEMES: [&str; 5] = ["bearer", "token", "basic", "apikey", "api-key"];

/// Longest header that is read.
const HEADER_MAX: usize = 8192;

/// The credentials after `Bearer ` or `Basic `, given the place after the word.
pub(super) fn after_scheme(text: &str, from: usize, scheme: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let blanks = run_at_start(bytes.get(from..)?, 4, |byte| byte == b' ');
    if blanks == 0 {
        return None;
    }
    let start = from + blanks;
    let length = run_at_start(&bytes[start..], HEADER_MAX, is_token_byte);
    let mut end = start + length;
    while end > start && matches!(bytes[end - 1], b'.' | b':') {
        end -= 1;
    }
    let value = text.get(start..end)?;
    let secret = if scheme.eq_ignore_ascii_case("basic") {
        is_basic(value)
    } else {
        is_bearer(value)
    };
    secret.then_some(start..end)
}

fn is_bearer(value: &str) -> bool {
    let shape = Shape::of(value);
    shape.len >= 12
        && (is_secret(value, Trust::Named)
            || (shape.len >= 20 && shape.digit >= 2 && is_secret(value, Trust::Hinted)))
}

/// Where an `Authorization` line ends, and what stands on it, when it is one word with or without a scheme.
pub(super) fn authorization(text: &str, from: usize) -> (usize, Option<Range<usize>>) {
    header_value(text, from).map_or((from, None), |line| (line.end, credentials(text, &line)))
}

fn credentials(text: &str, line: &Range<usize>) -> Option<Range<usize>> {
    let value = text.get(line.clone())?;
    let (scheme, credentials) = value.split_once(' ').unwrap_or(("", value));
    if credentials.contains([' ', ',', '(', '{', '$', '<', '+']) && !credentials.ends_with('=') {
        return None;
    }
    let credentials = behind_mark(credentials)?;
    let known = scheme.is_empty() || SCHEMES.has(&scheme.to_ascii_lowercase());
    let shape = Shape::of(credentials);
    let secret = known
        && shape.len >= 8
        && (shape.digit > 0 || shape.upper > 1)
        && !credentials.contains("://")
        && !is_stand_in(credentials)
        && is_secret(credentials, Trust::Password)
        && (scheme.eq_ignore_ascii_case("bearer") && shape.digit > 0
            || super::shape::wordiness(credentials) < 0.7
            || !scheme.eq_ignore_ascii_case("basic")
                && is_word_with_digits(credentials, Place::Line));
    let short =
        TOKEN_SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) && is_credential(credentials);
    (secret || short).then(|| line.end - credentials.len()..line.end)
}

/// Where a `Cookie` or `Set-Cookie` line ends, or what a name or a flag that ends so is set to, and the values on it that are long enough
/// to be a secret.
pub(super) fn cookies(text: &str, word: &Range<usize>) -> (usize, Vec<Range<usize>>) {
    let before = &text.as_bytes()[..word.start];
    let set = before.len() >= 4 && before[before.len() - 4..].eq_ignore_ascii_case(b"set-");
    let line = if before.ends_with(b"--") {
        flag_value(text, word.end)
    } else {
        header_value(text, word.end).or_else(|| assigned(text, word.end))
    };
    let (mut end, mut found) = (word.end, Vec::new());
    let mut next = line;
    while let Some(line) = next {
        end = line.end;
        found.extend(cookies_on(text, &line, set));
        next = next_literal(text, end).filter(|_| set);
    }
    (end, found)
}

/// The next literal of a list: a server sets cookies one by one.
fn next_literal(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(from..)?;
    let quotes = run_at_start(rest, 3, one_of(b"\"'\\"));
    let comma = rest.get(quotes).filter(|byte| **byte == b',');
    let blanks = comma.map(|_| run_at_start(&rest[quotes + 1..], 32, one_of(b" \t\r\n")))?;
    let start = from + quotes + 1 + blanks;
    let opening = run_at_start(&text.as_bytes()[start..], 3, one_of(b"\"'\\"));
    (quotes > 0 && opening > 0).then(|| literal(text, start + opening))
}

/// What a flag is set to: `--cookie 'sid=…'`.
fn flag_value(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(from..)?;
    rest.first().filter(|byte| b" =".contains(byte))?;
    let quotes = run_at_start(&rest[1..], 3, one_of(b"\"'\\"));
    let start = from + 1 + quotes;
    let value = literal(text, start);
    let word = run_at_start(&text.as_bytes()[value.clone()], HEADER_MAX, |byte| {
        byte > b' ' && !b";|&)<>".contains(&byte)
    });
    Some(if quotes > 0 {
        value
    } else {
        start..start + word
    })
}

/// The literal that a name is set to: `document.cookie = "sid=…"`.
fn assigned(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = from;
    let mut step = |most, signs| {
        let length = run_at_start(bytes.get(at..).unwrap_or_default(), most, one_of(signs));
        at += length;
        length
    };
    step(2, b" ");
    let signs = step(2, b"=");
    step(2, b" ");
    let quotes = step(3, b"\"'`\\");
    (signs == 1 && quotes > 0).then(|| literal(text, at))
}

/// The values of cookies that are long enough to be a secret; of one that is set there is but one, before its attributes.
pub(super) fn cookies_on(text: &str, line: &Range<usize>, set: bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = line.start;
    for pair in text[line.clone()].split(';') {
        if let Some((name, value)) = pair.split_once('=') {
            let start = at + name.len() + 1;
            let value = value.trim_end();
            let end = start + value.len();
            if let Some(value) = behind_mark(value)
                && is_cookie_secret(name.trim(), value)
            {
                found.push(end - value.len()..end);
            }
        }
        if set {
            break;
        }
        at += pair.len() + 1;
    }
    found
}

/// Whether a whole value under the name of a header holds a secret, as in decoded JSON.
pub(super) fn is_secret_header(name: &str, value: &str) -> bool {
    let is = |header: &str| name.eq_ignore_ascii_case(header);
    if is("authorization") || is("proxy-authorization") {
        return credentials(value, &(0..value.len())).is_some();
    }
    let set = is("set-cookie");
    // As the flag before it in a command that is a list of words.
    let is_flag = is("--cookie") || name == "-b";
    (set || is_flag || is("cookie")) && !cookies_on(value, &(0..value.len()), set).is_empty()
}

fn is_cookie_secret(name: &str, value: &str) -> bool {
    let shape = Shape::of(value);
    !name.is_empty()
        && !name.contains([' ', '(', '{', '"'])
        && !is_stand_in(value)
        && (!is_plain_number(value) || names_a_session(name) && is_session_number(value))
        && !is_date(value)
        && !value.contains(['{', '(', '<', '$', ' '])
        && (shape.len >= 8
            && ((shape.digit >= 2 || shape.upper >= 2) && super::shape::wordiness(value) < 0.6
                || is_made_up_cookie(name, value))
            || names_a_session(name) && is_session(value))
}

/// Digits alone that neither count up nor say when it was.
fn is_session_number(value: &str) -> bool {
    value.len() >= 8 && !is_sequence(value) && !is_epoch(value)
}

/// `sid`, `connect.sid`, `PHPSESSID`, `auth`, `csrftoken`.
fn names_a_session(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    classify(name) >= NameClass::Strong
        || ["sess", "csrf", "xsrf"]
            .iter()
            .any(|part| lower.contains(part))
        || ["sid", "auth"].iter().any(|end| lower.ends_with(end))
}

/// Words with digits: of a session anyway, else unless it is a choice such as `solarized2`.
fn is_made_up_cookie(name: &str, value: &str) -> bool {
    let session = classify(name) != NameClass::None
        || ["sess", "sid"]
            .iter()
            .any(|part| name.to_ascii_lowercase().contains(part));
    let place = if session { Place::Line } else { Place::Code };
    is_word_with_digits(value, place) && !is_placeholder(value)
}

/// From the colon after a header's name to the end of its line or literal.
fn header_value(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let rest = bytes.get(from..)?;
    let quotes = run_at_start(rest, 3, one_of(b"\"'\\"));
    // `headers["Cookie"] = `
    let closers = quotes + usize::from(quotes > 0 && rest.get(quotes) == Some(&b']'));
    let blanks = run_at_start(&rest[closers..], 2, |byte| byte == b' ');
    if !matches!(rest.get(closers + blanks), Some(b':' | b'=' | b','))
        || (rest[closers + blanks] != b':' && closers == 0)
    {
        return None;
    }
    let mut start = from + closers + blanks + 1;
    start += usize::from(bytes[..start].ends_with(b"=") && bytes.get(start) == Some(&b'>'));
    start += run_at_start(&bytes[start..], 8, one_of(b" \"'\\["));
    if bytes[..start].ends_with(b"[") {
        start += run_at_start(&bytes[start..], 32, one_of(b" \t\r\n\"'\\"));
    }
    Some(literal(text, start))
}

/// What stands from a place on up to the end of its line or literal.
fn literal(text: &str, start: usize) -> Range<usize> {
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    let length = run_at_start(rest, HEADER_MAX, |byte| !b"\r\n\"'`\\".contains(&byte));
    let line = text.get(start..start + length).unwrap_or_default();
    start..start + line.trim_end().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after<'a>(
        text: &'a str,
        word: &str,
        read: impl Fn(usize) -> Option<Range<usize>>,
    ) -> Option<&'a str> {
        let at = text.to_ascii_lowercase().find(word)? + word.len();
        read(at).map(|range| &text[range])
    }

    #[test]
    fn authorizations() {
        for (text, secret) in [
            ("Authorization: Bearer abc123DEF456", Some("abc123DEF456")),
            (
                "'Authorization': 'Token 9944b09199c62bcf'",
                Some("9944b09199c62bcf"),
            ),
            ("-H \"Authorization: A1b2C3d4E5\"", Some("A1b2C3d4E5")),
            ("Authorization: Bearer my-short-tok9", Some("my-short-tok9")),
            ("Authorization: Bearer abc123", Some("abc123")),
            ("-H 'authorization: Token hunter2'", Some("hunter2")),
            ("{\"Authorization\": \"Bearer abcd1234\"}", Some("abcd1234")),
            ("headers['Authorization'] = 'ApiKey abc123'", Some("abc123")),
            ("'Authorization' => 'Basic abc123',", Some("abc123")),
            (
                "Authorization: Bearer abc.def.ghi12345",
                Some("abc.def.ghi12345"),
            ),
            ("Authorization: Bearer qzxkvwpjhmtr", Some("qzxkvwpjhmtr")),
            ("Authorization: Bearer abc12", None),
            ("Authorization: Bearer accessToken", None),
            ("Authorization: Bearer authentication", None),
            ("Authorization: Bearer YOUR_TOKEN_2", None),
            ("Authorization: Bearer {token2}", None),
            ("Authorization: Basic base64encoded2", None),
            ("Authorization: Bearer abc123 is what it says", None),
            ("[Authorization]: guide-abc123", None),
            ("Authorization: Bearer $TOKEN", None),
            ("Authorization: Bearer <token>", None),
            ("\"Authorization\": `Bearer ${token}`", None),
            ("authorization: required", None),
            ("Authorization: ***REDACTED***", None),
        ] {
            assert_eq!(
                after(text, "authorization", |at| authorization(text, at).1),
                secret,
                "{text}"
            );
        }
    }

    #[test]
    fn schemes() {
        for (text, secret) in [
            ("Bearer q7gzkxv0w1jh9p2mzz01", Some("q7gzkxv0w1jh9p2mzz01")),
            ("bearer of bad news", None),
        ] {
            assert_eq!(
                after(text, "bearer", |at| after_scheme(text, at, "bearer")),
                secret,
                "{text}"
            );
        }
        let text = "Basic dXNlcjpodW50ZXIy";
        assert_eq!(
            after(text, "basic", |at| after_scheme(text, at, "basic")),
            Some("dXNlcjpodW50ZXIy")
        );
        let text = "basic authentication";
        assert_eq!(
            after(text, "basic", |at| after_scheme(text, at, "basic")),
            None
        );
    }

    #[test]
    fn cookie_lines() {
        let text = "Cookie: theme=dark; sid=a8f5f167f44f4964; cf=Ab12Cd34Ef";
        let found: Vec<&str> = cookies(text, &(0..6))
            .1
            .into_iter()
            .map(|range| &text[range])
            .collect();
        assert_eq!(found, ["a8f5f167f44f4964", "Ab12Cd34Ef"]);
        for (text, secret) in [
            ("Cookie: session=deadbeefcafe1234", Some("deadbeefcafe1234")),
            ("Cookie: lang=en; sessionid=abc123", Some("abc123")),
            ("Cookie: theme=dark2; connect.sid=hunter2", Some("hunter2")),
            ("Cookie: PHPSESSID=a1b2c3; lang=en", Some("a1b2c3")),
            ("Cookie: csrftoken=q7k2z9", Some("q7k2z9")),
            ("Cookie: auth=abc123", Some("abc123")),
            ("Cookie: lang=en; theme=dark2", None),
            ("Cookie: theme=solarized2; consent=version3", None),
            ("Cookie: sid=12345678; session=1700000000", None),
            ("Cookie: session=84729174; lang=en", Some("84729174")),
            ("Cookie: session=2024-01-31; seen=2024-01-31", None),
            ("Cookie: session=abcdef; token=sha256", None),
            ("Cookie: session={id2345}; sid=<sid2>", None),
        ] {
            let found = cookies(text, &(0..6)).1;
            let found: Vec<&str> = found.into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, secret.into_iter().collect::<Vec<_>>(), "{text}");
        }
        let text = "Set-Cookie: sid=a8f5f167f44f4964; Expires=Wed, 21 Oct 2015 07:28:00 GMT";
        assert_eq!(cookies(text, &(4..10)).1.len(), 1);
    }

    #[test]
    fn cookies_outside_of_headers() {
        let found = |text: &str| {
            let at = text.to_ascii_lowercase().find("cookie").expect("there");
            let (_, found) = cookies(text, &(at..at + 6));
            let values = found.into_iter().map(|range| text[range].to_owned());
            values.collect::<Vec<_>>()
        };
        for text in [
            "document.cookie = \"session=a8f5f167f44f4964\"",
            "document.cookie='theme=dark; sid=a8f5f167f44f4964'",
            "document.cookie = `sid=a8f5f167f44f4964`;",
            "eval \"document.cookie = \\\"sid=a8f5f167f44f4964\\\"\"",
            "curl --cookie sid=a8f5f167f44f4964 https://h",
            "curl --cookie 'theme=dark; sid=a8f5f167f44f4964' https://h",
            "curl --cookie=\"sid=a8f5f167f44f4964\" https://h",
            "\"set-cookie\": [\n  \"theme=dark\",\n  \"sid=a8f5f167f44f4964; Path=/\"\n]",
        ] {
            assert_eq!(found(text), ["a8f5f167f44f4964"], "{text}");
        }
        for text in [
            "document.cookie = \"theme=solarized2\"",
            "document.cookie = `sid=${session.id0123456789}`",
            "cookie == \"sid=a8f5f167f44f4964\"",
            "curl --cookie $SID https://h",
            "curl --cookie jar.txt https://h",
            "curl --cookie-jar sid=a8f5f167f44f4964",
            "cookie = parse(header)",
        ] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
    }
}
