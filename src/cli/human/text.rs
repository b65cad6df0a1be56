//! Text from elsewhere, made fit for a terminal: titles, paths, numbers.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::text::is_unsafe;

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

/// A session's id, of a long one such as a uuid the first characters, which name it.
pub fn short_session(session: &str) -> String {
    const SHORT: usize = 8;
    // What is not much longer than its part is shown whole.
    if session.chars().count() > 2 * SHORT {
        clean(&session.chars().take(SHORT).collect::<String>())
    } else {
        clean(session)
    }
}

/// The first characters of a commit id.
pub fn short(oid: &str) -> &str {
    oid.get(..10).unwrap_or(oid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text() {
        assert_eq!(clean("a\x1b[2Jb\n\u{202e}c"), "a\\u{1b}[2Jb\\n\\u{202e}c");
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
