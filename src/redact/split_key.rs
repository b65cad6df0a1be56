//! A private key of which each string has a part: its lines are items of an array, or each is in a record of its own.
//!
//! A string alone has nothing that tells what it is. What came before does: the mark with which a key begins, at the end of a
//! string, and then a line of a key in the next string of the same place. Many texts speak of that mark, so what comes after one
//! stays unless it has all that such a line has.

use std::ops::Range;

use super::runs::{alphanumeric_or, run_at_end, run_at_start};
use super::shape::{Shape, wordiness};
use super::span::{FoundBy, floor};

/// What the lines count as.
pub(super) const RULE: &str = "private-key";

/// How many strings of other places may stand between two lines of a key: the other fields of a record.
const STRANGERS: usize = 64;

/// A line of a key is this long, but for the last one.
const LINE: usize = 60;
/// What is shorter is not told from a word, and holds next to nothing of a key.
const SHORTEST: usize = 4;
/// The least entropy of a line, in bits a byte; the first one of an OpenSSH key has many `A`.
const ENTROPY: f32 = 3.2;
/// The longest label of a mark.
const LABEL_MAX: usize = 80;
/// How much of a line is looked at.
const LOOKED_AT: usize = 4096;

/// Where a string stands in a document: the names of the fields around it, whichever item it is of. Fields that are told apart by
/// numbers are one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place(u64);

impl Place {
    /// That of the items of an array in this place.
    pub(super) fn item(self) -> Self {
        self.with(*b"[")
    }

    /// That of a field of an object in this place.
    pub(super) fn field(self, name: &str) -> Self {
        let letters = name.bytes().filter(|byte| !byte.is_ascii_digit());
        self.with([b'.'].into_iter().chain(letters))
    }

    fn with(self, bytes: impl IntoIterator<Item = u8>) -> Self {
        let mix = |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.into_iter().fold(self.0 ^ 0xcbf2_9ce4_8422_2325, mix))
    }
}

/// A key that has begun and not ended.
#[derive(Debug)]
struct Open {
    place: Place,
    /// The mark is all that its string has: the key may be in the next one whatever that is called.
    alone: bool,
    /// Whether a line of it was seen.
    has_lines: bool,
    /// How many strings of other places more are passed over.
    left: usize,
}

/// Knows whether a key has begun in the strings so far and not ended.
#[derive(Debug, Default)]
pub(super) struct SplitKey {
    open: Option<Open>,
}

impl SplitKey {
    /// The next string without lines of the key that began in one before it, if it has any.
    pub(super) fn without_lines(&mut self, text: &str, place: Place) -> Option<String> {
        let found = self.lines(text, place);
        if let Some(open) = Open::after(text, place) {
            self.open = Some(open);
        }
        let mut without = text.to_owned();
        without.replace_range(found?, &FoundBy::Rule(RULE).mark());
        Some(without)
    }

    /// Where a string has lines of the key.
    fn lines(&mut self, text: &str, place: Place) -> Option<Range<usize>> {
        let open = self.open.as_mut()?;
        let is_next = open.alone && open.left == STRANGERS;
        let lines = (open.place == place || is_next)
            .then(|| Lines::at_start(text, open.has_lines))
            .flatten();
        let Some(lines) = lines else {
            open.left -= 1;
            if open.place == place || open.left == 0 {
                self.open = None;
            }
            return None;
        };
        open.place = place;
        open.left = STRANGERS;
        open.has_lines |= lines.any;
        if lines.ends {
            self.open = None;
        }
        Some(lines.range).filter(|range| !range.is_empty())
    }
}

impl Open {
    /// The key within which a string ends: behind the mark stand its lines alone, or nothing yet.
    fn after(text: &str, place: Place) -> Option<Self> {
        let (before, rest) = text.rsplit_once("-----BEGIN ")?;
        let (label, behind) = rest.split_once("-----")?;
        let lines = Lines::at_start(behind, false)?;
        let is_line_end = behind.trim_start_matches([' ', '\r']).starts_with('\n');
        let begins = label.len() <= LABEL_MAX
            && label.contains("PRIVATE KEY")
            && !lines.ends
            && (behind.trim().is_empty() || is_line_end);
        begins.then(|| Self {
            place,
            alone: before.trim().is_empty() && behind.trim().is_empty(),
            has_lines: lines.any,
            left: STRANGERS,
        })
    }
}

/// The lines of a key with which a string begins.
#[derive(Debug, Default)]
struct Lines {
    /// Those that were not replaced before.
    range: Range<usize>,
    any: bool,
    /// Whether the key ends with them.
    ends: bool,
}

impl Lines {
    /// None when the string has something else, too, before the key's end.
    fn at_start(text: &str, has_lines: bool) -> Option<Self> {
        let end = text.find("-----END");
        let mut lines = Self {
            ends: end.is_some(),
            ..Self::default()
        };
        let mut at = 0;
        for whole in text[..end.unwrap_or(text.len())].split_inclusive('\n') {
            let line = whole.trim();
            let start = at + (whole.len() - whole.trim_start().len());
            at += whole.len();
            if line.is_empty() || is_field(line) {
                continue;
            }
            // What is shorter is the last one.
            let is_over = lines.ends && end.is_none();
            if line == FoundBy::Rule(RULE).mark() {
                lines.any = true;
                continue;
            }
            if is_over || !(is_line(line) || ((has_lines || lines.any) && is_last_line(line))) {
                return None;
            }
            lines.ends |= !is_line(line);
            lines.any = true;
            if lines.range.is_empty() {
                lines.range.start = start;
            }
            lines.range.end = start + line.len();
        }
        Some(lines)
    }
}

/// A field of a block's head.
fn is_field(line: &str) -> bool {
    let fields = ["Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: "];
    fields.iter().any(|field| line.starts_with(field))
}

/// Base64 that is long and random, and so no path, no name and no hash.
fn is_line(line: &str) -> bool {
    let line = &line[..floor(line, LOOKED_AT)];
    let shape = Shape::of(line);
    shape.len >= LINE
        && is_base64(line)
        && shape.upper >= 3
        && shape.lower >= 3
        && shape.entropy >= ENTROPY
        && wordiness(line) < 0.5
}

/// What is left for the last line: base64 that is no word and no hash either.
fn is_last_line(line: &str) -> bool {
    let shape = Shape::of(line);
    (SHORTEST..LINE).contains(&shape.len)
        && is_base64(line)
        && !shape.hex
        && shape.upper > 0
        && shape.lower > 0
        && shape.digit + shape.symbol > 0
        && wordiness(line) < 0.5
}

fn is_base64(line: &str) -> bool {
    let bytes = line.as_bytes();
    let length = bytes.len() - run_at_end(bytes, 2, |byte| byte == b'=');
    run_at_start(bytes, length, alphanumeric_or(b"+/")) == length
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
        let mut encrypted = all.clone();
        encrypted.splice(
            1..1,
            [
                "Proc-Type: 4,ENCRYPTED",
                "DEK-Info: AES-128-CBC,8F14E45F",
                "",
            ]
            .map(str::to_owned),
        );
        let numbered = all.iter().enumerate();
        let numbered: serde_json::Map<_, _> = numbered
            .map(|(number, line)| (format!("line{number}"), json!(line)))
            .collect();
        for text in [
            json!({ "source": with_ends, "after": "plain words" }).to_string(),
            json!({ "lines": all, "after": "plain words" }).to_string(),
            json!({ "lines": encrypted }).to_string(),
            json!(numbered).to_string(),
            json!({"head": all[0], "body": all[1..27].concat(), "foot": all[27]}).to_string(),
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
        let mark = "-----BEGIN RSA PRIVATE KEY-----";
        let names = json!({
            "cwd": "/Users/bob/myproject", "gitCommit": "8f14e45fceea167a5a36dedd4bea25438f14e45f",
            "sha256": "8f14e45fceea167a5a36dedd4bea25438f14e45f8f14e45fceea167a5a36dedd",
            "tool": "Base64Encoder", "file": "src/components/Button"
        });
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
            json!([{"name": "Grep", "input": {"pattern": mark, "path": "/Users/Bob/project"}}, names]),
            json!({"edits": [{"old_string": mark, "new_string": "Base64Encoder"}], "file": "src/Components/Button"}),
            json!({"summary": format!("grep finds {mark}"), "signature": line, "context": "com/example/HelloWorld"}),
            json!([
                mark,
                "Base64Encoder",
                "src/Components/Button",
                "com/example/HelloWorld2"
            ]),
            json!([
                mark,
                "com/example/HelloWorld/of/Many/Parts/and/of/Still/More/Of/Them2"
            ]),
            json!([
                mark,
                "8f14e45fceea167a5a36dedd4bea25438f14e45f8f14e45fceea167a5a36dedd"
            ]),
        ] {
            let text = items.to_string();
            assert_eq!(Redactor::new().json_lines(&text).text, text);
            let mut value = items.clone();
            Redactor::new().json(&mut value);
            assert_eq!(value, items);
        }
    }
}
