//! The lines of a key and of a table as tools print them, with something before each: its number, the file's name, a sign.
//!
//! `cat -n`, `grep -n` and `-A`, `git diff`, the tools by which agents read files. What stands before the line with the mark
//! tells what stands before the others; no list of tools is kept. Lines with nothing but blanks before them are read as well.

use std::ops::Range;

use super::runs::{alphanumeric_or, run_at_end, run_at_start};

/// Longest part before the text of a line.
const GUTTER_MAX: usize = 160;
/// Longest line of a key.
const LINE_MAX: usize = 400;
/// Most lines that are read.
const LINES_MAX: usize = 1000;
/// Wrapped lines are this long at least, but for the last ones.
const WIDTH_MIN: usize = 40;
/// Headers of a block, and the empty line behind them.
const HEADERS_MAX: usize = 6;

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// What stands before the text of a line, so that it compares: each number is one sign, and what a tool writes differently
/// before a line it looked for and one beside it is the same.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gutter(Vec<u8>);

impl Gutter {
    fn of(before: &[u8]) -> Self {
        let mut shape = Vec::with_capacity(before.len());
        for byte in before {
            let sign = match byte {
                b'0'..=b'9' => b'0',
                b':' => b'-',
                b'\t' => b' ',
                byte => *byte,
            };
            if !(matches!(sign, b'0' | b' ') && shape.last() == Some(&sign)) {
                shape.push(sign);
            }
        }
        // Blanks are the place of a longer number; a sign is that of a line which was added.
        let is_edge = |byte| byte == b' ' || byte == b'+';
        let start = run_at_start(&shape, usize::MAX, is_edge);
        let end = shape.len() - run_at_end(&shape[start..], usize::MAX, is_edge);
        Self(shape[start..end].to_vec())
    }

    /// That of the line in which something stands.
    pub(super) fn before(bytes: &[u8], at: usize) -> Option<Self> {
        let length = run_at_end(&bytes[..at], GUTTER_MAX + 1, |byte| byte != b'\n');
        (length <= GUTTER_MAX).then(|| Self::of(&bytes[at - length..at]))
    }

    /// Where the base64 of a line begins that ends at `end`, when this stands before it and nothing behind.
    fn body(&self, bytes: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
        let line = &bytes[start..end];
        let end = end - run_at_end(line, 4, |byte| matches!(byte, b'\r' | b' '));
        let line = &bytes[start..end.max(start)];
        if line.len() > GUTTER_MAX + LINE_MAX {
            return None;
        }
        let length = run_at_end(line, LINE_MAX, is_base64);
        let before = &line[..line.len() - length];
        (length > 0 && Self::of(before) == *self).then_some((end - length, end))
    }

    /// The end of the base64 in the lines after the one with a mark, in which `from` stands.
    pub(super) fn lines_after(&self, bytes: &[u8], from: usize) -> Option<usize> {
        self.end_of_lines(bytes, from, HEADERS_MAX)
    }

    /// The same where the first line of the base64 is that in which `from` stands.
    pub(super) fn lines_from(&self, bytes: &[u8], from: usize) -> Option<usize> {
        self.end_of_lines(bytes, from, 0)
    }

    fn end_of_lines(&self, bytes: &[u8], from: usize, headers: usize) -> Option<usize> {
        let mut at = line_end(bytes, from)? + 1;
        let mut width = None;
        let mut last = None;
        let mut headers = headers;
        for _ in 0..LINES_MAX {
            let Some(end) = line_end(bytes, at) else {
                break;
            };
            match (self.body(bytes, at, end), width) {
                (Some((start, body_end)), None) if body_end - start >= WIDTH_MIN => {
                    width = Some(body_end - start);
                    last = Some(body_end);
                }
                (Some((start, body_end)), Some(width)) => {
                    let is_whole = body_end - start == width;
                    // The last line, and a checksum behind it, have what words have not.
                    let odd = |byte: &u8| byte.is_ascii_digit() || b"+/=".contains(byte);
                    if body_end - start > width
                        || !(is_whole || bytes[start..body_end].iter().any(odd))
                    {
                        break;
                    }
                    last = Some(body_end);
                    if !is_whole && bytes.get(start) == Some(&b'=') {
                        break;
                    }
                }
                (_, None) if headers > 0 && self.is_header(&bytes[at..end]) => headers -= 1,
                _ => break,
            }
            at = end + 1;
        }
        last
    }

    /// Whether a line is a header of a block, or empty.
    fn is_header(&self, line: &[u8]) -> bool {
        line.windows(2).any(|pair| pair == b": ") || Self::of(line.trim_ascii_end()) == *self
    }

    /// The base64 in the lines before the one in which `mark` stands.
    pub(super) fn lines_before(&self, bytes: &[u8], mark: usize) -> Option<Range<usize>> {
        let mut line = mark - run_at_end(&bytes[..mark], GUTTER_MAX + 1, |byte| byte != b'\n');
        let mut width = 0;
        let mut found: Option<Range<usize>> = None;
        for _ in 0..LINES_MAX {
            let Some(end) = line.checked_sub(1).filter(|at| bytes[*at] == b'\n') else {
                break;
            };
            let length = run_at_end(&bytes[..end], GUTTER_MAX + LINE_MAX + 1, |byte| {
                byte != b'\n'
            });
            let Some((start, body_end)) = self.body(bytes, end - length, end) else {
                break;
            };
            let length_here = body_end - start;
            // Shorter lines are the last ones alone.
            if length_here < width || (width >= WIDTH_MIN && length_here != width) {
                break;
            }
            width = length_here;
            found = Some(start..found.map_or(body_end, |found| found.end));
            line = end - length;
        }
        found
    }
}

/// What stands before the first line of a table, to be found again before the others: with other numbers there, more blanks or fewer,
/// and in a diff another sign.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lead<'a>(pub(super) &'a [u8]);

impl Lead<'_> {
    /// Whether it is of digits and signs alone, and names no file and no tool.
    pub(super) fn is_of_signs(self) -> bool {
        !self.0.iter().any(u8::is_ascii_alphabetic)
    }

    /// Where the text of a line begins that has this before it.
    pub(super) fn end_in(self, line: &[u8]) -> Option<usize> {
        let is_diff = |bytes: &[u8]| bytes.first().is_some_and(|byte| b"+- ".contains(byte));
        let is_word = alphanumeric_or(b"");
        let (lead, mut of, mut at) = (self.0, 0, 0);
        // Each line has a commit and an author of its own.
        if blame_end(lead) == Some(lead.len()) {
            return blame_end(line);
        }
        if is_diff(lead) && is_diff(line) {
            (of, at) = (1, 1);
        } else if lead.len() == 1 && is_diff(lead) && line.starts_with(b"@@ -") {
            // A line of the table that git shows beside the place of a hunk.
            return Some(line.windows(4).position(|four| four == b" @@ ")? + 4);
        }
        while let Some(sign) = lead.get(of) {
            let rest = &line[at..];
            if b" \t".contains(sign) {
                of += run_at_start(&lead[of..], usize::MAX, |byte| b" \t".contains(&byte));
                at += run_at_start(rest, GUTTER_MAX, |byte| b" \t".contains(&byte));
            } else if is_word(*sign) {
                let word = run_at_start(&lead[of..], usize::MAX, &is_word);
                let own = run_at_start(rest, GUTTER_MAX, &is_word);
                let is_number = |word: &[u8]| word.iter().any(u8::is_ascii_digit);
                let (lead, line) = (&lead[of..of + word], &rest[..own]);
                if lead != line && !(is_number(lead) && is_number(line)) {
                    return None;
                }
                of += word;
                at += own;
            } else {
                let own = rest.first()?;
                // `grep` writes a line that it looked for differently from one beside it, and a diff has either sign.
                let is_alike = own == sign || [own, sign].iter().all(|sign| b":+-".contains(sign));
                if !is_alike {
                    return None;
                }
                of += 1;
                at += 1;
            }
        }
        Some(at)
    }
}

/// The end of what `git blame` puts before a line: `1a2b3c4d (Bob 2026-11-29 10:00:00 +0100  7)`.
fn blame_end(line: &[u8]) -> Option<usize> {
    let line = &line[..line.len().min(GUTTER_MAX)];
    let is_end = |at: &usize| {
        let number = run_at_end(&line[..*at], GUTTER_MAX, |byte| byte.is_ascii_digit());
        let before = line[..*at - number].trim_ascii_end();
        let zone = before.len().checked_sub(5).map(|start| &before[start..]);
        number > 0
            && zone.is_some_and(|zone| {
                b"+-".contains(&zone[0]) && zone[1..].iter().all(u8::is_ascii_digit)
            })
    };
    let mut ends = (0..line.len()).filter(|at| line[*at] == b')');
    Some(ends.find(is_end)? + 1)
}

/// The end of the line in which something stands, when it is near.
fn line_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let most = GUTTER_MAX + LINE_MAX + 1;
    let length = run_at_start(rest, most, |byte| byte != b'\n');
    (length < most && !rest.is_empty()).then_some(at + length)
}

#[cfg(test)]
mod tests {
    use crate::redact::Redactor;
    use crate::redact::tests::Dice;

    const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    /// What tools put before a line, by its number and whether it was looked for.
    type Tool = fn(usize, bool) -> String;
    const TOOLS: &[Tool] = &[
        |_, _| String::new(),
        |_, _| "    ".to_owned(),
        |_, _| "+".to_owned(),
        |_, _| "-".to_owned(),
        |_, _| "> ".to_owned(),
        |number, _| format!("{number:>6}\t"),
        |number, _| format!("{number:>6}→"),
        |number, _| format!("{number}: "),
        |number, _| format!("{number}. "),
        |number, _| format!("{number:>4} | "),
        |number, _| format!("{number:>4} │ "),
        |number, _| format!("{number:05}| "),
        |number, hit| format!("{number}{}", if hit { ':' } else { '-' }),
        |_, hit| format!("conf/k.pem{}", if hit { ':' } else { '-' }),
        |number, hit| {
            let sign = if hit { ':' } else { '-' };
            format!("conf/k.pem{sign}{number}{sign}")
        },
    ];

    fn numbered(lines: &[String], tool: Tool) -> String {
        let lines = lines.iter().enumerate();
        let lines = lines.map(|(at, line)| tool(at + 7, line.contains("---")) + line);
        lines.collect::<Vec<_>>().join("\n")
    }

    fn assert_no_line(text: &str, body: &[String]) {
        let once = Redactor::new().text(text).text;
        for line in body {
            assert!(!once.contains(line.as_str()), "{text}\n\n{once}");
        }
        assert_eq!(Redactor::new().text(&once).text, once);
    }

    #[test]
    fn lines_of_a_key_go_whatever_a_tool_puts_before_them() {
        let mut dice = Dice(4711);
        let mut body: Vec<String> = (0..12).map(|_| dice.string(BASE64, 64)).collect();
        body[0].replace_range(..16, "MIIEpAIBAAKCAQEA");
        body.push(format!("{}7=", dice.string(BASE64, 26)));
        for label in ["RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
            let begin = format!("-----BEGIN {label}-----");
            let end = format!("-----END {label}-----");
            let whole = [std::slice::from_ref(&begin), &body, &[end]].concat();
            let headers = [
                "Proc-Type: 4,ENCRYPTED",
                "DEK-Info: AES-256-CBC,8F14E45FCE",
                "",
            ];
            let mut with_headers = vec![begin];
            with_headers.extend(headers.map(str::to_owned));
            with_headers.extend_from_slice(&body[1..5]);
            for tool in TOOLS {
                assert_no_line(&numbered(&whole, *tool), &body);
                assert_no_line(&numbered(&whole[..6], *tool), &body);
                assert_no_line(&numbered(&whole[whole.len() - 6..], *tool), &body);
                assert_no_line(&numbered(&whole[1..7], *tool), &body);
                assert_no_line(&numbered(&with_headers, *tool), &body);
            }
        }
    }

    #[test]
    fn keys_with_other_marks_go_too() {
        let mut dice = Dice(4712);
        let body: Vec<String> = (0..26).map(|_| dice.string(BASE64, 64)).collect();
        let lines = body.join("\n");
        for text in [
            format!(
                "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 26\n{lines}\nPrivate-MAC: 8f14e45f"
            ),
            format!(
                "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"k\"\n{lines}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\nrest"
            ),
            format!("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{lines}"),
            format!("{lines}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----"),
        ] {
            assert_no_line(&text, &body);
            let numbered: Vec<String> = text.lines().map(|line| format!("  3→{line}")).collect();
            assert_no_line(&numbered.join("\n"), &body);
        }
    }

    #[test]
    fn what_follows_a_key_or_only_speaks_of_one_stays() {
        let mut dice = Dice(4713);
        let line = dice.string(BASE64, 64);
        for text in [
            "  1→-----BEGIN PRIVATE KEY-----\n  2→is what the first line says\n  3→and more follows",
            "a:1:-----BEGIN PRIVATE KEY-----\na-2-const MARK: &str = \"x\";\na-3-let y = z;",
            "  8→done\n  9→-----END PRIVATE KEY-----\n",
            "---- BEGIN SSH2 PUBLIC KEY ----\nAAAAB3NzaC1yc2EAAAADAQABAAABAQ\n---- END SSH2 PUBLIC KEY ----",
            "Private-Lines: 2\nare counted",
        ] {
            assert_eq!(Redactor::new().text(text).text, text);
        }
        let text = format!(
            "  1→-----BEGIN PRIVATE KEY-----\n  2→{line}\n  3→{line}\n  4→and text\nafter it"
        );
        let out = Redactor::new().text(&text).text;
        assert!(out.ends_with("\n  4→and text\nafter it"), "{out}");
    }
}
