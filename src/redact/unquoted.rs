//! A text with one level of quoting undone: what a shell's word, an SQL literal, a CSV field, a JSON string or a URL made of the
//! quotes inside, and a number in JSON or JavaScript of a sign.
//!
//! `sh -c 'export PASSWORD='\''x'\'''` says `export PASSWORD='x'`, and so does `''x''` in SQL. A secret is looked for in what is
//! left; its place in the text is known again. Only the signs of quoting change: a text without any has no other reading.

use std::ops::Range;

/// A text with one level of quoting undone.
pub(super) struct Unquoted {
    pub(super) text: String,
    /// Where each byte began, and where the last one ended.
    starts: Vec<usize>,
}

impl Unquoted {
    /// The text that was quoted; `None` when nothing in it was.
    pub(super) fn new(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut unquoted: Option<Self> = None;
        let (mut at, mut copied) = (0, 0);
        while at < bytes.len() {
            let Some((sign, length)) = quoted(bytes, at) else {
                at += 1;
                continue;
            };
            let unquoted = unquoted.get_or_insert_with(|| Self {
                text: String::with_capacity(text.len()),
                starts: Vec::with_capacity(text.len() + 1),
            });
            // Only ASCII is taken out: both ends are ends of characters.
            unquoted.text.push_str(&text[copied..at]);
            unquoted.starts.extend(copied..at);
            unquoted.text.push(char::from(sign));
            unquoted.starts.push(at);
            at += length;
            copied = at;
        }
        let mut unquoted = unquoted?;
        unquoted.text.push_str(&text[copied..]);
        unquoted.starts.extend(copied..=text.len());
        Some(unquoted)
    }

    /// The place in the text that was quoted.
    pub(super) fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        // What ends here ends where the next byte begins.
        Some(*self.starts.get(range.start)?..*self.starts.get(range.end)?)
    }
}

/// How a shell's word in single quotes writes one of them, the same in JSON, and how one in double quotes does.
const SHELL: [&[u8]; 5] = [br"'\''", br#"'"'"'"#, br"'\\''", br#"'\"'\"'"#, br#"'\"'"#];

/// The sign that is quoted at a place, and the length of it.
fn quoted(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let rest = bytes.get(at..)?;
    if let Some(sign) = SHELL.iter().find(|sign| rest.starts_with(sign)) {
        return Some((b'\'', sign.len()));
    }
    match rest.first()? {
        sign @ (b'\'' | b'"') if is_doubled(bytes, at, *sign) => Some((*sign, 2)),
        b'\\' => escaped(rest),
        b'%' => encoded(rest),
        _ => None,
    }
}

/// A quote that is written twice, at the edge of a word: `''x''` in SQL, `""x""` in CSV. Two with nothing of a word beside them are an
/// empty literal, three begin a long one.
fn is_doubled(bytes: &[u8], at: usize, sign: u8) -> bool {
    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
    let after = bytes.get(at + 2);
    let is_of_word = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_graphic() && !b"\"'()[]{}<>,;:=+&|\\`".contains(byte))
    };
    bytes.get(at + 1) == Some(&sign)
        && before != Some(&sign)
        && after != Some(&sign)
        && (is_of_word(before) || is_of_word(after))
}

/// What stands behind backslashes: a quote behind two or more, as in a string inside of strings; a slash; a printable sign by
/// its number, `\u003d` or `\x22`.
fn escaped(rest: &[u8]) -> Option<(u8, usize)> {
    let slashes = super::runs::run_at_start(rest, 32, |byte| byte == b'\\');
    let after = rest.get(slashes..)?;
    let (sign, length) = match after {
        [sign @ (b'"' | b'\''), ..] if slashes > 2 => (*sign, 1),
        [b'/', ..] => (b'/', 1),
        [b'u', b'0', b'0', digits @ ..] => (numbered(digits)?, 5),
        [b'x', digits @ ..] => (numbered(digits)?, 3),
        _ => return None,
    };
    Some((sign, slashes + length))
}

/// A printable sign as a URL writes it.
fn encoded(rest: &[u8]) -> Option<(u8, usize)> {
    Some((numbered(rest.get(1..)?)?, 3))
}

/// The printable sign whose number these two hexadecimal digits are.
fn numbered(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits.get(..2)?).ok()?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let sign = u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    matches!(sign, b' '..=b'~').then_some(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_level_of_quotes_is_undone() {
        for (text, left) in [
            (r"sh -c 'P='\''x'\'' y'", "sh -c 'P='x' y'"),
            (r#"sh -c 'P='"'"'x'"'"' y'"#, "sh -c 'P='x' y'"),
            (r"sh -c 'P='\\''x'\\'' y'", "sh -c 'P='x' y'"),
            (r#"sh -c 'P='\"'\"'x'\"'\"' y'"#, "sh -c 'P='x' y'"),
            (r#"sh -c "P='\"'x'\"' y""#, "sh -c \"P='x' y\""),
            ("VALUES ('P=''x'' y')", "VALUES ('P='x' y')"),
            (r#"1,"{""a"": ""x""}",y"#, r#"1,"{"a": "x"}",y"#),
            (r#"{\\\"a\\\\\\\"é"#, "{\"a\"é"),
            ("a%3A%20b%E9", "a: b%E9"),
            (
                r"{\u0022a\u0022:\\u0022b\u0026\u00e9\u001b",
                r#"{"a":"b&\u00e9\u001b"#,
            ),
            (r"{\x22a\x22: 1\xe9}", r#"{"a": 1\xe9}"#),
            (r"x:\/\/y\\/z\d", "x://y/z\\d"),
        ] {
            let unquoted = Unquoted::new(text).map(|unquoted| unquoted.text);
            assert_eq!(unquoted.as_deref(), Some(left), "{text}");
        }
    }

    #[test]
    fn what_is_not_quoted_has_no_other_reading() {
        for text in [
            "a = ''; b = \"\"",
            "f('', \"\")",
            "'''x'''",
            "\"\"\"x\"\"\"",
            r#"{\"a\": \"b\"}"#,
            "100%, %s, %é, %+1",
            r"\u{22} \u22 \x2 \xy \U00000022 C:\users",
            "",
        ] {
            assert!(Unquoted::new(text).is_none(), "{text}");
        }
    }

    #[test]
    fn places_are_known_again() {
        let text = r"é 'P='\''x%20y'\''' z";
        let unquoted = Unquoted::new(text).expect("something is quoted");
        assert_eq!(unquoted.text, "é 'P='x y'' z");
        let at = unquoted.text.find("x y").expect("left");
        let place = unquoted.place(&(at..at + 3)).expect("known");
        assert_eq!(&text[place], "x%20y");
        let all = unquoted.place(&(0..unquoted.text.len()));
        assert_eq!(all, Some(0..text.len()));
    }
}
