//! A private key of which each string has a part: its lines are items of an array, or each is in a record of its own.
//!
//! A string alone has nothing that tells what it is. What came before does: the mark with which a key begins, and no end.

use super::runs::{alphanumeric_or, run_at_end, run_at_start};
use super::shape::Shape;
use super::span::FoundBy;

/// What the lines count as.
pub(super) const RULE: &str = "private-key";

/// How many strings that are no lines of the key may stand between two that are: the other fields of a record.
const STRANGERS: usize = 64;

/// A line of a key is this long, but for the last one.
const LINE: usize = 40;
/// What is shorter is not told from a word.
const SHORTEST: usize = 8;

/// Knows whether a key has begun in the strings so far and not ended.
#[derive(Debug, Default)]
pub(super) struct SplitKey {
    /// How many strings more are looked at; none when no key has begun.
    left: usize,
}

impl SplitKey {
    /// The next string without lines of the key that began in one before it, if it has any.
    pub(super) fn without_lines(&mut self, text: &str) -> Option<String> {
        if begins_a_key(text) {
            self.left = STRANGERS;
            return None;
        }
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let end = text.find("-----END");
        let body = text[..end.unwrap_or(text.len())].trim();
        if end.is_some() {
            self.left = 0;
        }
        if body.is_empty() || !body.lines().all(is_line) {
            return None;
        }
        if end.is_none() {
            self.left = STRANGERS;
        }
        Some(text.replacen(body, &FoundBy::Rule(RULE).mark(), 1))
    }
}

/// Whether a string ends within a private key: behind the mark stand its lines alone, or nothing yet.
fn begins_a_key(text: &str) -> bool {
    let Some((_, rest)) = text.rsplit_once("-----BEGIN ") else {
        return false;
    };
    let Some((label, lines)) = rest.split_once("-----") else {
        return false;
    };
    // What was replaced before is such a line, too.
    let lines = lines.trim().lines();
    let mut lines = lines.filter(|line| !line.starts_with(super::MARK));
    label.ends_with("PRIVATE KEY") && lines.all(|line| line.is_empty() || is_line(line))
}

/// Base64 that is long, or has all that words have not; a field of a block's head.
fn is_line(line: &str) -> bool {
    let line = line.trim();
    if ["Proc-Type: ", "DEK-Info: "]
        .iter()
        .any(|field| line.starts_with(field))
    {
        return true;
    }
    let bytes = line.as_bytes();
    let padding = run_at_end(bytes, 2, |byte| byte == b'=');
    let length = bytes.len() - padding;
    let shape = Shape::of(line);
    let is_mixed = shape.upper > 0 && shape.lower > 0 && shape.digit + shape.symbol > 0;
    run_at_start(bytes, length, alphanumeric_or(b"+/")) == length
        && (length >= LINE || length >= SHORTEST && is_mixed)
}

#[cfg(test)]
mod tests {
    use crate::redact::Redactor;
    use crate::redact::tests::Dice;
    use serde_json::json;

    const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    fn lines() -> Vec<String> {
        let mut dice = Dice(41);
        let body = (0..25).map(|_| dice.string(BASE64, 64));
        let mut lines: Vec<String> = body.collect();
        lines.push("q7Gz+kP2a/x9LmT4w1Jh9w==".to_owned());
        lines.insert(0, "-----BEGIN PRIVATE KEY-----".to_owned());
        lines.push("-----END PRIVATE KEY-----".to_owned());
        lines
    }

    #[test]
    fn a_key_goes_from_the_strings_over_which_it_is_spread() {
        let all = lines();
        let with_ends: Vec<String> = all.iter().map(|line| format!("{line}\n")).collect();
        let record =
            |text: &str| json!({"type": "line", "id": "a1B2c3D4", "text": text}).to_string();
        let tens: Vec<String> = all.chunks(10).map(|ten| record(&ten.join("\n"))).collect();
        let single: Vec<String> = all.iter().map(|line| record(line)).collect();
        for text in [
            json!({ "source": with_ends, "after": "plain words" }).to_string(),
            json!({ "lines": all }).to_string(),
            single.join("\n"),
            tens.join("\n"),
        ] {
            let redacted = Redactor::new().json_lines(&text);
            let body = &all[1..all.len() - 1];
            let left: Vec<_> = body
                .iter()
                .filter(|line| redacted.text.contains(*line))
                .collect();
            assert_eq!(left, Vec::<&String>::new(), "{}", redacted.text);
            assert!(redacted.text.contains("-----END PRIVATE KEY-----"));
            assert_eq!(
                redacted.text.contains("plain words"),
                text.contains("plain words")
            );
            let again = Redactor::new().json_lines(&redacted.text);
            assert_eq!(again.text, redacted.text);
            if let Ok(mut value) = serde_json::from_str(&text) {
                let counts = Redactor::new().json(&mut value);
                assert_eq!(
                    (value.to_string(), counts),
                    (redacted.text, redacted.counts)
                );
            }
        }
    }

    #[test]
    fn what_is_no_line_of_a_key_stays() {
        let line = &lines()[1];
        for items in [
            json!([
                "-----BEGIN CERTIFICATE-----",
                line,
                "-----END CERTIFICATE-----"
            ]),
            json!(["grep for -----BEGIN PRIVATE KEY----- in all files", line]),
            json!([
                "-----BEGIN PRIVATE KEY-----",
                "a word",
                "user",
                "-----END",
                line
            ]),
        ] {
            let text = items.to_string();
            assert_eq!(Redactor::new().json_lines(&text).text, text);
        }
    }
}
