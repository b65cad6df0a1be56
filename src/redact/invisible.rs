//! A text without what stands inside of words and is not seen: zero-width characters, soft hyphens, marks of direction, the
//! colours and other orders that a terminal takes for itself, and the zero bytes of UTF-16 that was read as bytes. Signs that a
//! URL has encoded without need stand there as themselves.
//!
//! A secret is looked for in what is left; its place in the text is known again, with all that stands inside.

use std::ops::Range;

use super::runs::run_at_start;

/// A text with parts left out.
pub(super) struct Visible {
    pub(super) text: String,
    /// Where each byte of the text that is left stood, and where the last one ended.
    places: Vec<usize>,
}

impl Visible {
    /// The text without what is not seen; `None` when there is nothing of that kind.
    pub(super) fn new(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let is_plain = |byte: &u8| (1..0x80).contains(byte) && *byte != ESCAPE;
        // Most texts are plain ASCII: one quick look, and no copy is made.
        if bytes.iter().all(is_plain) && !has_spelled(text) && !has_encoded(text) {
            return None;
        }
        let mut visible: Option<Self> = None;
        let (mut end, mut at) = (0, 0);
        while let Some(ch) = text[at..].chars().next() {
            if let Some(sign) = encoded(&text[at..]) {
                let visible = visible.get_or_insert_with(|| Self::all_of(&text[..at]));
                visible.text.push(sign);
                // Of the three the last one: what ends here ends behind all of them.
                visible.places.push(at + 2);
                (at, end) = (at + 3, at + 3);
                continue;
            }
            let left_out = unseen(text, at, ch);
            if left_out > 0 {
                // All before it was seen.
                visible.get_or_insert_with(|| Self::all_of(&text[..at]));
                at += left_out;
                continue;
            }
            let next = at + ch.len_utf8();
            if let Some(visible) = &mut visible {
                visible.text.push(ch);
                visible.places.extend(at..next);
            }
            (at, end) = (next, next);
        }
        let mut visible = visible?;
        visible.places.push(end);
        Some(visible)
    }

    fn all_of(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            places: (0..text.len()).collect(),
        }
    }

    /// The place in the whole text of a place in what is left.
    pub(super) fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let last = range.end.checked_sub(1)?;
        Some(*self.places.get(range.start)?..self.places.get(last)? + 1)
    }
}

/// A sign that parts of tokens are joined by, encoded where a URL needs no encoding: `ghp%5F…`.
fn encoded(rest: &str) -> Option<char> {
    let code = rest.strip_prefix('%')?.get(..2)?;
    match code {
        "5F" | "5f" => Some('_'),
        "2D" | "2d" => Some('-'),
        "2E" | "2e" => Some('.'),
        _ => None,
    }
}

/// How many bytes at a place are not seen.
fn unseen(text: &str, at: usize, ch: char) -> usize {
    let bytes = text.as_bytes();
    match ch {
        '\u{1b}' => control(&bytes[at + 1..]).map_or(0, |length| 1 + length),
        CSI => parameters(&bytes[at + ch.len_utf8()..]).map_or(0, |length| ch.len_utf8() + length),
        OSC => string(&bytes[at + ch.len_utf8()..]).map_or(0, |length| ch.len_utf8() + length),
        '\\' | '^' | '␛' => spelled(&text[at..]).unwrap_or(0),
        ch if is_unseen(ch) || is_wide_zero(bytes, at) => ch.len_utf8(),
        _ => 0,
    }
}

/// What begins a sequence that moves a terminal or colours what follows.
const ESCAPE: u8 = 0x1b;
/// The same in one character, with the bracket behind it.
const CSI: char = '\u{9b}';
const OSC: char = '\u{9d}';

/// The length of a terminal's sequence behind its escape character.
fn control(rest: &[u8]) -> Option<usize> {
    match rest.first()? {
        b'[' => parameters(&rest[1..]).map(|length| 1 + length),
        // A title, a link, or a message to the device.
        b']' | b'P' | b'X' | b'^' | b'_' => string(&rest[1..]).map(|length| 1 + length),
        // A character set, among others.
        0x20..=0x2f => {
            let between = run_at_start(rest, usize::MAX, |byte| (0x20..0x30).contains(&byte));
            rest.get(between)
                .filter(|last| (0x30..0x7f).contains(*last))
                .map(|_| between + 1)
        }
        0x30..=0x7e => Some(1),
        _ => None,
    }
}

/// The length of parameters with the letter that says what they are for.
fn parameters(rest: &[u8]) -> Option<usize> {
    let length = run_at_start(rest, usize::MAX, |byte| (0x20..0x40).contains(&byte));
    rest.get(length)
        .filter(|last| (0x40..0x7f).contains(*last))
        .map(|_| length + 1)
}

/// The length of a text for the terminal with what ends it. No control character stands in one: where many begin and none ends,
/// each is looked through only up to the next.
fn string(rest: &[u8]) -> Option<usize> {
    let length = run_at_start(rest, usize::MAX, |byte| byte >= 0x20);
    match rest.get(length..)? {
        [0x07, ..] => Some(length + 1),
        [ESCAPE, b'\\', ..] => Some(length + 2),
        _ => None,
    }
}

/// How an escape character is written where it is to be seen: in JSON, in programs, by 'cat -v'.
const SPELLED: [&str; 7] = ["\\u001b", "\\u001B", "\\x1b", "\\x1B", "\\033", "\\e", "^["];

/// The length of a colour that is spelled out; of nothing else, which could be part of a pattern or a path.
fn spelled(rest: &str) -> Option<usize> {
    let escape = SPELLED.iter().find(|escape| rest.starts_with(**escape));
    let start = escape.map(|escape| escape.len());
    let start = start.or_else(|| rest.starts_with('␛').then_some('␛'.len_utf8()))?;
    let sequence = rest.as_bytes()[start..].strip_prefix(b"[")?;
    let is_parameter = |byte: u8| byte.is_ascii_digit() || byte == b';';
    let length = run_at_start(sequence, usize::MAX, is_parameter);
    (sequence.get(length) == Some(&b'm')).then_some(start + 1 + length + 1)
}

/// Whether a colour is spelled out in a text.
fn has_spelled(text: &str) -> bool {
    text.match_indices('[').any(|(at, _)| {
        SPELLED.iter().any(|escape| {
            text[..at].ends_with(escape) && spelled(&text[at - escape.len()..]).is_some()
        })
    })
}

fn has_encoded(text: &str) -> bool {
    text.match_indices('%')
        .any(|(at, _)| encoded(&text[at..]).is_some())
}

fn is_unseen(ch: char) -> bool {
    matches!(ch,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e01ef}')
}

/// The zero byte that follows or precedes each letter in UTF-16; not one that ends a word of a binary file.
fn is_wide_zero(bytes: &[u8], at: usize) -> bool {
    let zero = |at: Option<usize>| at.and_then(|at| bytes.get(at)) == Some(&0);
    zero(Some(at))
        && !zero(at.checked_sub(1))
        && !zero(Some(at + 1))
        && (zero(at.checked_sub(2)) || zero(Some(at + 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_known_again() {
        let text = "é a\u{200b}b\u{ad}c d";
        let visible = Visible::new(text).expect("there is something");
        assert_eq!(visible.text, "é abc d");
        let at = visible.text.find("abc").expect("left");
        let place = visible.place(&(at..at + 3)).expect("known");
        assert_eq!(&text[place], "a\u{200b}b\u{ad}c");
    }

    #[test]
    fn what_a_terminal_takes_for_itself_is_left_out() {
        let left = |text: &str| Visible::new(text).map(|visible| visible.text);
        for text in [
            "a\u{1b}[32mb\u{1b}[0mc",
            "a\u{1b}[38;2;1;2;3mb\u{1b}(B\u{1b}[mc",
            "a\u{9b}1mbc",
            "a\u{1b}]8;;https://x\u{7}b\u{1b}]8;;\u{1b}\\c",
            "\u{1b}7abc\u{1b}=\u{1b}[?25l",
            "a\\u001b[1mb\\u001b[0mc",
            "a\\x1b[1;31mb\\033[mc",
            "a^[[1mb\\e[0mc␛[0m",
        ] {
            assert_eq!(left(text).as_deref(), Some("abc"), "{text:?}");
        }
        for text in [
            "[1m",
            "^[[a-z]m",
            "\\e[1",
            "\\u001b",
            "\u{1b}",
            "\u{1b}[1",
            "\u{1b}]x\ny\u{7}",
        ] {
            assert_eq!(left(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_encoded_sign_is_itself_and_its_place_is_all_of_it() {
        let text = "a%5Fb%2dc%20%5F";
        let visible = Visible::new(text).expect("there is something");
        assert_eq!(visible.text, "a_b-c%20_");
        assert_eq!(
            visible.place(&(0..5)).map(|place| &text[place]),
            Some("a%5Fb%2dc")
        );
        assert_eq!(visible.place(&(0..9)).map(|place| &text[place]), Some(text));
    }

    #[test]
    fn titles_that_never_end_are_not_looked_through_again_and_again() {
        let text = "\u{1b}]".repeat(1 << 20);
        assert!(Visible::new(&text).is_none());
    }

    #[test]
    fn only_the_zeros_of_wide_letters_are_left_out() {
        let left = |text: &str| Visible::new(text).map(|visible| visible.text);
        assert_eq!(left("a\0b\0c\0").as_deref(), Some("abc"));
        assert_eq!(left("\0a\0b\0c").as_deref(), Some("abc"));
        assert_eq!(left("name\0value\0\0\0x"), None);
        assert_eq!(left("plain, ärger"), None);
    }
}
