//! Lines of `gitattributes(5)`: patterns or macros, and the states they give.

use std::sync::Arc;

use crate::worktree::pattern::Pattern;

/// git leaves larger files, and lines of this length or more, unread.
const MAX_FILE: usize = 100 * 1024 * 1024;
const MAX_LINE: usize = 2048;

/// What a line gives to an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// `text`
    Set,
    /// `-text`
    Unset,
    /// `!text`: as if never mentioned, whatever a line of less weight says.
    Unspecified,
    /// `text=auto`
    Value(Arc<[u8]>),
}

/// The states of one line, in the order they stand.
pub(super) type NamedStates = [(Box<[u8]>, State)];

/// A line that git accepts.
#[derive(Debug)]
pub(super) enum Line {
    /// `[attr]name …`
    Macro(Box<[u8]>, Box<NamedStates>),
    /// `glob …`
    Pattern(Pattern, Box<NamedStates>),
}

/// Whether a file may define macros: the root's and those outside the working tree may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Macros {
    Allowed,
    Refused,
}

/// Reads a file; lines that git refuses are left out.
pub(super) fn parse(bytes: &[u8], macros: Macros) -> Vec<Line> {
    if bytes.len() > MAX_FILE {
        return Vec::new();
    }
    // git skips the byte order mark that some editors put in front.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes
        .split(|&byte| byte == b'\n')
        .filter_map(|line| parse_line(line, macros))
        .collect()
}

fn parse_line(line: &[u8], macros: Macros) -> Option<Line> {
    // git reads lines as C strings: a zero byte ends them.
    let line = c_string(line.strip_suffix(b"\r").unwrap_or(line));
    let (_, text) = split_blank(line);
    if line.len() >= MAX_LINE || text.is_empty() || text[0] == b'#' {
        return None;
    }
    let unquoted;
    let (name, states) = if let Some((name, rest)) = unquote(text) {
        unquoted = name;
        (c_string(&unquoted), rest)
    } else {
        split_word(text)
    };
    let states = parse_states(states)?;
    // A bare `[attr]` is a glob.
    match name.strip_prefix(b"[attr]").filter(|rest| !rest.is_empty()) {
        Some(_) if macros == Macros::Refused => None,
        Some(rest) => {
            let (name, _) = split_word(split_blank(rest).1);
            is_valid_name(name).then(|| Line::Macro(name.into(), states))
        }
        // git refuses negative patterns here.
        None => Pattern::parse(name)
            .filter(|pattern| !pattern.is_negative())
            .map(|pattern| Line::Pattern(pattern, states)),
    }
}

/// One bad name spoils the whole line.
fn parse_states(text: &[u8]) -> Option<Box<NamedStates>> {
    let words = text.split(|byte| is_blank(*byte));
    words
        .filter(|word| !word.is_empty())
        .map(parse_state)
        .collect()
}

fn parse_state(word: &[u8]) -> Option<(Box<[u8]>, State)> {
    let equals = word.iter().position(|&byte| byte == b'=');
    let name = &word[..equals.unwrap_or(word.len())];
    let (name, state) = match (name.first(), equals) {
        (Some(b'-'), _) => (&name[1..], State::Unset),
        (Some(b'!'), _) => (&name[1..], State::Unspecified),
        (_, None) => (name, State::Set),
        (_, Some(at)) => (name, State::Value(word[at + 1..].into())),
    };
    // git keeps that prefix for attributes of its own.
    let valid = is_valid_name(name) && !name.starts_with(b"builtin_");
    valid.then(|| (name.into(), state))
}

fn is_valid_name(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    name.first().is_some_and(|&byte| byte != b'-') && name.iter().all(plain)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Leading blanks, and the rest.
fn split_blank(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|&byte| !is_blank(byte));
    text.split_at(end.unwrap_or(text.len()))
}

/// The bytes up to the first blank, and the rest.
fn split_word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|&byte| is_blank(byte));
    text.split_at(end.unwrap_or(text.len()))
}

fn c_string(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// A name in git's C-style quotes, and what follows. `None` when it is not one: then the quote is part of the pattern.
fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut name = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((name, rest)),
            b'\\' => {
                let (byte, after) = unescape(rest)?;
                name.push(byte);
                rest = after;
            }
            _ => name.push(byte),
        }
    }
}

fn unescape(text: &[u8]) -> Option<(u8, &[u8])> {
    let (&byte, rest) = text.split_first()?;
    let plain = match byte {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'\\' | b'"' => byte,
        b'0'..=b'3' => {
            let &[second @ b'0'..=b'7', third @ b'0'..=b'7', ref rest @ ..] = rest else {
                return None;
            };
            let value = (byte - b'0') << 6 | (second - b'0') << 3 | (third - b'0');
            return Some((value, rest));
        }
        _ => return None,
    };
    Some((plain, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(line: &str) -> Option<Vec<(String, State)>> {
        match parse_line(line.as_bytes(), Macros::Allowed)? {
            Line::Macro(_, states) | Line::Pattern(_, states) => Some(
                states
                    .into_iter()
                    .map(|(name, state)| (String::from_utf8_lossy(&name).into_owned(), state))
                    .collect(),
            ),
        }
    }

    #[test]
    fn states_come_in_four_kinds() {
        let found = states(" *.c\ttext -crlf !eol filter=lfs\r").expect("a line");
        let expected = [
            ("text", State::Set),
            ("crlf", State::Unset),
            ("eol", State::Unspecified),
            ("filter", State::Value(b"lfs"[..].into())),
        ];
        let expected = expected.map(|(name, state)| (name.to_owned(), state));
        assert_eq!(found, expected);
    }

    #[test]
    fn git_refuses_these_lines() {
        for line in [
            "# c",
            "",
            "!*.c text",
            "*.c te$t",
            "*.c --text",
            "*.c builtin_x",
            "[attr]-x a",
        ] {
            assert_eq!(states(line), None, "{line:?}");
        }
        assert_eq!(states(&format!("*.c text {}", "x".repeat(2048))), None);
        assert!(parse(b"[attr]m text", Macros::Refused).is_empty());
        assert!(matches!(
            parse(b"[attr] text", Macros::Refused)[..],
            [Line::Pattern(..)]
        ));
    }

    #[test]
    fn quoted_names_lose_their_quotes() {
        let Some((name, rest)) = unquote(br#""a b\t\101\"" text"#) else {
            panic!("it is quoted");
        };
        assert_eq!((name.as_slice(), rest), (&b"a b\tA\""[..], &b" text"[..]));
        assert_eq!(unquote(br#""open"#), None);
        assert_eq!(unquote(br#""\400""#), None);
    }
}
