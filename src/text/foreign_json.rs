//! JSON of other programs, where it is JSON to them and too much for the parser: half of a surrogate pair, where a text was cut
//! inside of an emoji; numbers beyond all that a double holds, and Python's `NaN`; lists in lists deeper than the parser goes.
//!
//! Owns the copy of such a text that can be parsed. Promises: what parses is parsed as it stands, what is no JSON stays none,
//! and time is linear in the text. A copy is for reading alone: whoever keeps the text keeps its own bytes. Leaves out
//! comments and trailing commas, which settings files have.

use std::ops::Range;

use serde::de::{DeserializeOwned, IgnoredAny};

use super::without_mark;

/// So deep is what a copy keeps; what lies deeper is null. The parser goes to 127, and whoever quotes a value in a document of
/// its own needs some of it.
const DEEPEST: usize = 100;

/// Stands for what is no character.
const NO_CHARACTER: &str = "\\ufffd";
/// Stand for numbers that are too large.
const LARGE: &str = "1e308";
const LARGE_NEGATIVE: &str = "-1e308";

/// Reads a JSON text, a byte order mark before it left out, and bytes that are no UTF-8 replaced.
///
/// # Errors
/// When it is no JSON, or not of this type.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    let bytes = without_mark(bytes);
    serde_json::from_slice(bytes).or_else(|error| match readable(bytes) {
        Some(copy) => serde_json::from_str(&copy),
        None => Err(error),
    })
}

/// A copy of a text that can be parsed; `None` for a text that would not get better by it.
pub fn readable(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut copy = Copy {
        text: &text,
        out: String::new(),
        copied: 0,
    };
    copy.run()?;
    if copy.copied == 0 {
        return match text {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(text) => Some(text),
        };
    }
    copy.out.push_str(&text[copy.copied..]);
    Some(copy.out)
}

/// A text on its way into its copy.
struct Copy<'a> {
    text: &'a str,
    out: String,
    copied: usize,
}

impl Copy<'_> {
    /// `None` when what is to be left out is no JSON.
    fn run(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        let (mut at, mut depth) = (0, 0_usize);
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => at = self.string(at),
                b'{' | b'[' if depth == DEEPEST => {
                    let end = container_end(bytes, at);
                    let inside = self.text.get(at..end)?;
                    // The parser looks over it without going down.
                    serde_json::from_str::<IgnoredAny>(inside).ok()?;
                    self.replace(at..end, "null");
                    at = end;
                }
                b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
                b'}' | b']' => (at, depth) = (at + 1, depth.saturating_sub(1)),
                b'-' | b'0'..=b'9' | b'N' | b'I' => at = self.number(at),
                _ => at += 1,
            }
        }
        Some(())
    }

    fn replace(&mut self, range: Range<usize>, with: &str) {
        self.out.push_str(&self.text[self.copied..range.start]);
        self.out.push_str(with);
        self.copied = range.end;
    }

    /// Goes over a string and gives its end.
    fn string(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => return at + 1,
                b'\\' => match surrogate(bytes, at) {
                    None => at += 2,
                    Some(0xd800..=0xdbff)
                        if matches!(surrogate(bytes, at + ESCAPE), Some(0xdc00..=0xdfff)) =>
                    {
                        at += 2 * ESCAPE;
                    }
                    Some(_) => {
                        self.replace(at..at + ESCAPE, NO_CHARACTER);
                        at += ESCAPE;
                    }
                },
                _ => at += 1,
            }
        }
        bytes.len()
    }

    /// Goes over a number, or a word that stands for one, and gives its end.
    fn number(&mut self, start: usize) -> usize {
        let rest = &self.text[start..];
        let goes_on = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '+' | '-' | '.');
        let end = start + rest.find(|ch| !goes_on(ch)).unwrap_or(rest.len());
        let word = &self.text[start..end];
        let digits = word.strip_prefix('-').unwrap_or(word);
        let with = match word {
            "NaN" | "Infinity" | "-Infinity" => "null",
            // Rust's own words for it are no JSON.
            _ if !digits.starts_with(|first: char| first.is_ascii_digit()) => return end,
            _ if word.parse().is_ok_and(f64::is_infinite) => {
                if digits.len() < word.len() {
                    LARGE_NEGATIVE
                } else {
                    LARGE
                }
            }
            _ => return end,
        };
        self.replace(start..end, with);
        end
    }
}

/// The length of `\u` and four digits.
const ESCAPE: usize = 6;

/// The half of a pair that is escaped at `at`.
fn surrogate(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    let code = u32::from_str_radix(digits, 16).ok()?;
    (0xd800..=0xdfff).contains(&code).then_some(code)
}

/// The end of the object or list that begins at `start`.
fn container_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return at + 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(text: &str) -> Option<Value> {
        from_slice(text.as_bytes()).ok()
    }

    #[test]
    fn half_a_pair_is_no_character_and_whole_ones_stay() {
        for (text, value) in [
            (r#""cut \ud83d""#, "cut \u{fffd}"),
            (r#""\ude00 \uD83D\uDE00 \ud83d""#, "\u{fffd} 😀 \u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\ud83dA""#, "\u{fffd}A"),
            (r#""\\ud83d \ud83d""#, "\\ud83d \u{fffd}"),
        ] {
            assert_eq!(read(text), Some(json!(value)), "{text}");
        }
        assert_eq!(
            read(r#"{"\ud83d":[{"a":"\udc00"}]}"#),
            Some(json!({"\u{fffd}": [{"a": "\u{fffd}"}]}))
        );
    }

    #[test]
    fn numbers_that_are_too_large_are_large_and_those_that_are_none_null() {
        let text = r#"[1e400, -1E+400,NaN,-Infinity ,Infinity,"1e400 NaN",1.5]"#;
        let value = json!([1e308, -1e308, null, null, null, "1e400 NaN", 1.5]);
        assert_eq!(read(text), Some(value));
        let long = format!("{{\"n\":{}}}", "9".repeat(400));
        assert_eq!(read(&long), Some(json!({"n": 1e308})));
    }

    #[test]
    fn what_lies_too_deep_is_null_and_the_rest_is_there() {
        let deep = format!("{}{{\"x\":\"]\"}}{}", "[".repeat(9_000), "]".repeat(9_000));
        let value = read(&format!("{{\"a\":{deep},\"b\":[1]}}")).expect("read");
        assert_eq!(value["b"], json!([1]));
        let mut inner = &value["a"];
        while let Some(next) = inner.get(0) {
            inner = next;
        }
        assert_eq!(*inner, Value::Null);
        // What the parser takes stays as it is.
        let fits = format!("{}1{}", "[".repeat(127), "]".repeat(127));
        let again = read(&fits).map(|value| value.to_string());
        assert_eq!(again.as_deref(), Some(fits.as_str()));
    }

    #[test]
    fn what_is_no_json_stays_none() {
        let deep = |inside: &str| format!("{}{inside}{}", "[".repeat(200), "]".repeat(200));
        for text in [
            "",
            "{",
            r#"{"a":"\ud83d""#,
            r#"{"a":"\ud83d"#,
            r#"{"a":"\ud8"#,
            r#"{"a":"\"#,
            r#"{"a":-inf}"#,
            r#"{"a":inf}"#,
            r#"{"a":1e400x}"#,
            r#"{"a":NaNa}"#,
            r#"{"a":"\x \ud83d"}"#,
            &deep("nonsense"),
            &"[".repeat(200),
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let value: Value = from_slice(b"\xef\xbb\xbf{\"a\":\"b\xff\\ud83d\"}").expect("read");
        assert_eq!(value, json!({"a": "b\u{fffd}\u{fffd}"}));
        assert_eq!(readable(b"{\"a\":1}"), None, "nothing to do");
    }
}
