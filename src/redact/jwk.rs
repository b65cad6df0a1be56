//! The private parts of a JSON Web Key: an object with a field `kty`, whose parts have names of one or two letters.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::shape::entropy_of;
use super::span::floor;

/// The rule that is counted.
pub(super) const RULE: &str = "json-web-key";
/// What tells the object, in quotes of any kind.
pub(super) const KEYWORD: &str = "kty";
/// How far from it the object's ends are looked for: a key of 16,384 bits has some 14,000 letters.
const REACH: usize = 32 * 1024;
/// The shortest part: sixteen bytes.
const PART_MIN: usize = 21;

/// A private part, its value being the group; quotes may be escaped, as in a string.
static PART: LazyLock<Regex> = LazyLock::new(|| {
    regex::bytes::RegexBuilder::new(
        r#"\\*["'](?:d|k|p|q|dp|dq|qi)\\*["']\s*:\s*\\*["']([A-Za-z0-9_+/=-]{21,})"#,
    )
    .unicode(false)
    .build()
    .expect("a test finds a key with it")
});

/// Whether a field of an object with `kty` holds a private part of the key.
pub(super) fn is_private_part(name: &str, value: &str) -> bool {
    matches!(name, "d" | "k" | "p" | "q" | "dp" | "dq" | "qi") && is_part(value)
}

fn is_part(value: &str) -> bool {
    value.len() >= PART_MIN
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_+/=-".contains(&byte))
        && entropy_of(value) >= 3.5
        && !super::placeholder::is_stand_in(value)
}

/// The private parts of the key whose `kty` stands at a place, and where its object ends. Nothing before `from` is read:
/// it was, for another one.
pub(super) fn private_parts(
    text: &str,
    hit: &Range<usize>,
    from: usize,
) -> (Vec<Range<usize>>, usize) {
    let bytes = text.as_bytes();
    let is_name = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(|byte| b"\"'\\".contains(byte))
    };
    if hit.start < from || !is_name(hit.start.checked_sub(1)) || !is_name(Some(hit.end)) {
        return (Vec::new(), from);
    }
    let back = &bytes[hit.start.saturating_sub(REACH).max(from)..hit.start];
    let start = back.iter().rposition(unmatched(b'{', b'}'));
    let start = hit.start - back.len() + start.unwrap_or(0);
    let ahead = &bytes[hit.end..bytes.len().min(hit.end + REACH)];
    let length = ahead.iter().position(unmatched(b'}', b'{'));
    let end = hit.end + length.unwrap_or(ahead.len());
    let parts = PART.captures_iter(&bytes[start..end]).filter_map(|found| {
        let part = found.get(1)?;
        let part = start + part.start()..start + part.end();
        is_part(text.get(part.clone())?).then_some(part)
    });
    (parts.collect(), floor(text, end))
}

/// Whether a brace has no partner among those before it, asked of all bytes in order: an object within the object is no end of it.
fn unmatched(end: u8, partner: u8) -> impl FnMut(&u8) -> bool {
    let mut depth = 0_usize;
    move |byte| {
        let is_end = *byte == end && depth == 0;
        if *byte == end {
            depth = depth.saturating_sub(1);
        } else if *byte == partner {
            depth += 1;
        }
        is_end
    }
}

/// The private parts of every key in a text, in order of place.
pub(super) fn all(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut end = 0;
    for (at, word) in text.match_indices(KEYWORD) {
        let (found, to) = private_parts(text, &(at..at + word.len()), end);
        parts.extend(found);
        end = to;
    }
    parts
}

#[cfg(test)]
mod tests {
    use crate::redact::Redactor;
    use crate::redact::tests::Dice;

    const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    #[test]
    fn the_private_parts_of_a_key_go_in_every_form() {
        let mut dice = Dice(31);
        let [n, d, q] = [683, 683, 342].map(|length| dice.string(BASE64, length));
        let rsa = format!(r#"{{"kty":"RSA","n":"{n}","e":"AQAB","d":"{d}","q":"{q}","kid":"a"}}"#);
        let late = format!(r#"{{"n":"{n}","d":"{d}","q":"{q}","kty":"RSA"}}"#);
        let nested = rsa.replace("\"kid\":\"a\"", "\"kid\":\"{a}\"");
        let nested = nested.replace("\"d\":", "\"meta\":{\"use\":\"sig\"},\"d\":");
        let nested_late = late.replace("\"kty\"", "\"meta\":{\"use\":\"sig\"},\"kty\"");
        let spaced = rsa
            .replace("\":\"", "\" : \"")
            .replace("\",\"", "\",\n  \"");
        let redactor = Redactor::new();
        for key in [&rsa, &late, &spaced, &nested, &nested_late] {
            for text in [
                format!("the key is {key} here"),
                format!("let key = \"{}\";", key.replace('"', "\\\"")),
                key.replace('"', "'"),
            ] {
                let out = redactor.text(&text).text;
                assert!(out.contains(&n), "the public part stays: {out}");
                assert!(!out.contains(&d) && !out.contains(&q), "{out}");
                assert_eq!(redactor.text(&out).text, out);
            }
            let out = redactor.json_lines(&key.replace('\n', "")).text;
            assert!(out.contains(&n), "the public part stays: {out}");
            assert!(!out.contains(&d) && !out.contains(&q), "{out}");
            let mut value = serde_json::json!({"keys": [serde_json::from_str::<serde_json::Value>(key).expect("JSON")]});
            redactor.json(&mut value);
            let out = value.to_string();
            assert!(out.contains(&n), "the public part stays: {out}");
            assert!(!out.contains(&d) && !out.contains(&q), "{out}");
        }
    }

    #[test]
    fn public_keys_and_other_objects_stay() {
        let mut dice = Dice(32);
        let [n, d] = [342, 43].map(|length| dice.string(BASE64, length));
        for text in [
            format!(r#"{{"kty":"RSA","n":"{n}","e":"AQAB","kid":"a"}}"#),
            format!(r#"{{"kty":"RSA","n":"{n}"}} {{"dx":"{n}","d":"x"}}"#),
            format!(r#"{{"kty":"EC","x":"{d}","d":"your-private-key-goes-here"}}"#),
        ] {
            let out = Redactor::new().text(&text).text;
            assert!(out.contains(&n) || out.contains("goes-here"), "{out}");
        }
    }
}
