//! Text that somebody else wrote, on its way in and on its way to a screen.
//!
//! Owns the reading of JSON that strains the parser ([`foreign_json`]), which characters move a terminal instead of being seen, how they
//! are written so that they are seen, what names a text in a line, how words become a line for a shell, how amounts are written, and the
//! byte order mark that some editors put before a text. Promises that [`hidden`] is the inverse of [`visible`].

pub mod foreign_json;
pub mod syntax;

use std::borrow::Cow;
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// What some programs begin a text in UTF-8 with.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes of a text without a byte order mark before it, which is no part of it.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

/// The first line of a text that says something, without the space around it; empty when none does.
pub fn first_line(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// The first line of a text that says something, in this many characters; an ellipsis says that it goes on.
pub fn headline(text: &str, most: usize) -> String {
    shortened(first_line(text), most).into_owned()
}

/// A text in this many characters; an ellipsis says that it goes on.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.char_indices().nth(most).is_none() {
        return text.into();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short.into()
}

/// Control characters, the marks that turn the direction of text, and those that are not seen at all; as `web/page.js` has them. Joiners
/// are seen in what they join.
pub fn is_unsafe(ch: char) -> bool {
    ch.is_control()
        || matches!(ch,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether a character of a text of several lines has to be escaped to be seen.
fn is_hidden(ch: char) -> bool {
    is_unsafe(ch) && !matches!(ch, '\n' | '\t')
}

/// Whether the character that begins `rest` has to be escaped; one that ends a line has not.
fn begins_hidden(rest: &str) -> bool {
    rest.starts_with(is_hidden) && !rest.starts_with("\r\n")
}

/// Whether a text of several lines has characters that would not be seen.
pub fn has_hidden(text: &str) -> bool {
    text.char_indices()
        .any(|(at, _)| begins_hidden(&text[at..]))
}

/// Text of several lines with each character that would not be seen as `\u{1b}`. Where a text that has such characters also
/// has that very sequence, its backslash is escaped too, so that [`hidden`] can tell them apart. Other texts stay as they
/// are.
pub fn visible(text: &str) -> String {
    if !has_hidden(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (at, ch) in text.char_indices() {
        let rest = &text[at..];
        if begins_hidden(rest) || escape_at(rest).is_some() {
            out.extend(ch.escape_unicode());
        } else {
            out.push(ch);
        }
    }
    out
}

/// What a text was before [`visible`] escaped it; only for a text that had something to escape.
pub fn hidden(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (ch, length) = escape_at(rest).unwrap_or(('\\', 1));
        out.push(ch);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// The character that an escape at the start of a text stands for, and the escape's length.
fn escape_at(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix("\\u{")?.split('}').next()?;
    let ch = u32::from_str_radix(digits, 16)
        .ok()
        .and_then(char::from_u32)
        .filter(|ch| is_hidden(*ch) || *ch == '\\')?;
    let escape = ch.escape_unicode().to_string();
    text.starts_with(&escape).then_some((ch, escape.len()))
}

/// Words as one line for a shell.
pub fn command_line(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        if is_plain(word) {
            word.clone()
        } else {
            in_single_quotes(word)
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// As [`command_line`], on one line whatever the words have: a word with something that is not seen is escaped as [`typed`] escapes it.
pub fn one_line(words: &[String]) -> String {
    let typed = words.iter().map(|word| {
        if word.contains(is_unsafe) {
            escaped(word.as_bytes())
        } else {
            command_line(std::slice::from_ref(word))
        }
    });
    typed.collect::<Vec<_>>().join(" ")
}

/// A number with thousands set apart.
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `a, b and 3 more`: no more than this many of a list.
pub fn listed(items: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let more = items.len().saturating_sub(most);
    let shown: Vec<String> = items.take(most).collect();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `a travel`, `an undo`.
pub fn with_article(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {word}")
}

/// `1 file`, `2 files`.
pub fn count(number: usize, one: &str) -> String {
    let shown = self::number(u64::try_from(number).unwrap_or(u64::MAX));
    // An entry and entries, but a day and days.
    let vowel = |stem: &&str| stem.ends_with(['a', 'e', 'o', 'u']);
    let many = match one.strip_suffix('y').filter(|stem| !vowel(stem)) {
        Some(stem) => format!("{stem}ies"),
        None => format!("{one}s"),
    };
    format!("{shown} {}", if number == 1 { one } else { &many })
}

/// Bytes as git counts them: `512 bytes`, `4.0 KiB`, `700.0 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return count(usize::try_from(bytes).unwrap_or(0), "byte");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// A time as a word has it: `90s`, `30m` or `2h`.
///
/// # Errors
/// What it has to be.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3600),
        _ => (text, 0),
    };
    let seconds = digits
        .parse()
        .ok()
        .and_then(|number: u32| number.checked_mul(unit));
    match seconds {
        Some(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds.into())),
        _ => Err("must be a time such as 90s, 30m or 2h".to_owned()),
    }
}

/// A word, mostly a path, as it is typed in a command that a message names between single quotes: in double quotes where a
/// shell would not take it for one word as it is. What is not seen is escaped as bash, zsh and ksh read it (`$'\033'`).
pub fn typed(word: impl Display) -> String {
    let word = word.to_string();
    if word.contains(is_unsafe) {
        escaped(word.as_bytes())
    } else if is_plain(&word) {
        word
    } else if word.contains(['"', '$', '`', '\\', '!']) {
        in_single_quotes(&word)
    } else {
        format!("\"{word}\"")
    }
}

/// As [`typed`], of a path, whatever its bytes; none is taken for an option.
pub fn typed_path(path: &Path) -> String {
    match path.as_os_str().as_bytes() {
        dashed @ [b'-', ..] => typed_bytes(&[b"./", dashed].concat()),
        path => typed_bytes(path),
    }
}

/// As [`typed`], of a word that may be no text, such as a path.
pub fn typed_bytes(word: &[u8]) -> String {
    match std::str::from_utf8(word) {
        Ok(text) => typed(text),
        Err(_) => escaped(word),
    }
}

/// `$'…'`, with all but printable ASCII as octal numbers.
fn escaped(word: &[u8]) -> String {
    let mut out = String::from("$'");
    for &byte in word {
        match byte {
            b'\'' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out.push('\'');
    out
}

/// Whether a shell takes these characters for one word as they are.
fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && word
            .chars()
            .all(|char| char.is_alphanumeric() || "-_./:=@%+,".contains(char))
}

fn in_single_quotes(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_is_the_first_line_that_says_something() {
        assert_eq!(headline(" \n\t\r\n  say é \nmore", 5), "say é");
        assert_eq!(headline("say és", 5), "say …");
        assert_eq!(headline("\n \n", 5), "");
    }

    #[test]
    fn what_is_made_visible_can_be_hidden_again() {
        for (text, shown) in [
            ("two\r\nlines\tof 🦀", "two\r\nlines\tof 🦀"),
            (
                "a\x1b[2Jb\rc\u{85}\u{202e}",
                "a\\u{1b}[2Jb\\u{d}c\\u{85}\\u{202e}",
            ),
            ("\x07 and \\u{7} and \\n", "\\u{7} and \\u{5c}u{7} and \\n"),
            ("\x07 and \\u{5c}u{7}", "\\u{7} and \\u{5c}u{5c}u{7}"),
            ("\x07 \\u{41} \\u{ \\u{1b", "\\u{7} \\u{41} \\u{ \\u{1b"),
        ] {
            assert_eq!(visible(text), shown);
            assert!(!has_hidden(shown));
            if has_hidden(text) {
                assert_eq!(hidden(shown), text);
            }
        }
        assert_eq!(visible("a literal \\u{1b}"), "a literal \\u{1b}");
    }

    #[test]
    fn one_mark_before_a_text_is_no_part_of_it() {
        assert_eq!(without_mark(b"\xef\xbb\xbf{}"), b"{}");
        assert_eq!(without_mark(b"{}\xef\xbb\xbf"), b"{}\xef\xbb\xbf");
    }

    #[test]
    fn a_command_line_survives_the_shell() {
        let words = ["claude", "--resume", "it's here", ""].map(str::to_owned);
        assert_eq!(command_line(&words), r"claude --resume 'it'\''s here' ''");
    }

    #[test]
    fn a_word_that_is_typed_is_one_to_the_shell() {
        for (word, shown) in [
            ("/srv/ünder_way-1", "/srv/ünder_way-1"),
            ("", "\"\""),
            ("/a b/it's (c)", "\"/a b/it's (c)\""),
            ("~/x", "\"~/x\""),
            ("a $(b) \"c\"", "'a $(b) \"c\"'"),
            ("it's !", r"'it'\''s !'"),
        ] {
            assert_eq!(typed(word), shown);
            let echo = format!("printf %s {}", typed(word));
            let said = std::process::Command::new("sh")
                .args(["-c", &echo])
                .output();
            assert_eq!(said.expect("sh").stdout, word.as_bytes());
        }
        assert_eq!(typed_path("/a b".as_ref()), "\"/a b\"");
        assert_eq!(typed_path("-C".as_ref()), "./-C");
        assert_eq!(typed("it's\u{202e}\x1b"), r"$'it\'s\342\200\256\033'");
        assert_eq!(typed_bytes(b"it's \xff\n"), r"$'it\'s \377\012'");
    }

    #[test]
    fn numbers_read_easily() {
        assert_eq!(number(0), "0");
        assert_eq!(number(8123), "8,123");
        assert_eq!(number(1_234_567), "1,234,567");
        assert_eq!(count(1, "path"), "1 path");
        assert_eq!(count(0, "directory"), "0 directories");
        assert_eq!(count(5, "day"), "5 days");
        assert_eq!(size(1), "1 byte");
        assert_eq!(size(1023), "1,023 bytes");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(734_003_200), "700.0 MiB");
        assert_eq!(size(u64::MAX), "16383.9 PiB");
    }
}
