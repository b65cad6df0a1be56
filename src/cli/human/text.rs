//! Text from elsewhere, made fit for a terminal: titles, paths, numbers.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::store::address::of_checkpoint;
pub use crate::text::{count, number, size};
use crate::text::{headline, is_unsafe, shortened};

/// Who is said to have made what came from elsewhere.
pub fn claimed(name: &str) -> String {
    format!("(claimed by {})", clean(&headline(name, 80)))
}

/// One line of text with control characters escaped, also those that reorder what is shown.
pub fn clean(text: &str) -> String {
    if !text.chars().any(is_unsafe) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for ch in text.chars() {
        if is_unsafe(ch) {
            out.extend(ch.escape_default());
        } else {
            out.push(ch);
        }
    }
    out
}

/// So much of a text names what it belongs to, in a line among others.
const BEGINNING: usize = 60;

/// What a text begins with, to name what it belongs to.
pub fn beginning(text: &str) -> String {
    clean(&headline(text, BEGINNING))
}

/// So much of a title or an id is shown in a line among others: whoever gave it set it no bound.
const IN_A_LINE: usize = 200;

/// A title or an id, as far as a line among others has room for it.
pub fn in_a_line(text: &str) -> String {
    clean(&shortened(text, IN_A_LINE))
}

/// A path inside the repository as git prints it: in double quotes with C escapes when it needs them, so that it can be
/// read back exactly (as with `core.quotePath=false`: UTF-8 stays).
pub fn quoted(bytes: &[u8]) -> String {
    let plain = std::str::from_utf8(bytes).ok().filter(|text| {
        !text
            .chars()
            .any(|ch| is_unsafe(ch) || ch == '"' || ch == '\\')
    });
    if let Some(text) = plain {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for ch in chunk.valid().chars() {
            match ch {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                ch if is_unsafe(ch) => octal(&mut out, ch.encode_utf8(&mut [0; 4]).as_bytes()),
                ch => out.push(ch),
            }
        }
        octal(&mut out, chunk.invalid());
    }
    out.push('"');
    out
}

fn octal(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        out.push('\\');
        for shift in [6, 3, 0] {
            out.push(char::from(b'0' + (byte >> shift & 7)));
        }
    }
}

/// A file system path, quoted like [`quoted`].
pub fn path(path: &Path) -> String {
    quoted(path.as_os_str().as_bytes())
}

/// A session's id, of a uuid as many of its first characters as name it: one whose first part is random by that alone, one that
/// begins with the time by all of the time. Any other is shown whole: what it begins with may be the same for all of a day.
pub fn short_session(session: &str) -> String {
    let shown = match session.as_bytes().get(14) {
        Some(version) if is_uuid(session) => session.get(..if *version == b'4' { 8 } else { 13 }),
        _ => None,
    };
    in_a_line(shown.unwrap_or(session))
}

/// A checkpoint as people and commands name it: `3f2a1b9c:12`.
pub fn checkpoint_name(session: &str, n: u64) -> String {
    let shown = short_session(session);
    if shown == session {
        in_a_line(&of_checkpoint(session, n))
    } else {
        format!("{shown}:{n}")
    }
}

fn is_uuid(text: &str) -> bool {
    let is_right = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}

/// The first characters of a commit id.
pub fn short(oid: &str) -> &str {
    oid.get(..10).unwrap_or(oid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_shown_as_far_as_it_is_told_from_others() {
        let random = "0b8c2f4e-6d1a-4f3b-9c2d-1a2b3c4d5e6f";
        assert_eq!(short_session(random), "0b8c2f4e");
        let timed = "019a1b2c-3d4e-7f3b-9c2d-1a2b3c4d5e6f";
        assert_eq!(short_session(timed), "019a1b2c-3d4e");
        let own = "tw-20261125-193000-ab12cd";
        assert_eq!(short_session(own), own);
        assert_eq!(short_session(&"x".repeat(3000)).chars().count(), 200);
    }

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text() {
        assert_eq!(clean("a\x1b[2Jb\n\u{202e}c"), "a\\u{1b}[2Jb\\n\\u{202e}c");
        // All that Unicode counts among the controls of direction (UAX #9).
        let controls = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        assert!(clean(controls).is_ascii(), "{}", clean(controls));
        // What takes no room is seen as well; what joins letters and signs is part of them.
        let unseen = "ad\u{200b}min\u{2060}\u{feff}\u{fff9}\u{e0041}\u{2028}";
        assert_eq!(
            clean(unseen),
            "ad\\u{200b}min\\u{2060}\\u{feff}\\u{fff9}\\u{e0041}\\u{2028}"
        );
        assert_eq!(clean("👩\u{200d}🔧 ❤\u{fe0f}"), "👩\u{200d}🔧 ❤\u{fe0f}");
        assert_eq!(clean("ärger 🦀"), "ärger 🦀");
    }

    #[test]
    fn paths_are_quoted_as_git_does() {
        assert_eq!(quoted(b"a b"), "a b");
        assert_eq!(quoted("ä".as_bytes()), "ä");
        assert_eq!(quoted(b"a\nb"), "\"a\\nb\"");
        assert_eq!(quoted(b"a\"\\"), "\"a\\\"\\\\\"");
        assert_eq!(quoted(b"a\xff\x1b"), "\"a\\377\\033\"");
    }
}
