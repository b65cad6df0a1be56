//! The words of a line as a shell has it, without their quotes.
//!
//! Runs nothing of the line: a variable or a command in it stays the text that it is.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

/// Whose rules of quoting hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// Of bash.
    Bash,
    /// Of fish.
    Fish,
}

/// The words of a line up to the cursor; the last one is the unfinished one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Without their quotes.
    pub words: Vec<OsString>,
    /// Where the last one begins.
    pub last: usize,
    /// The quote that it is in at its end.
    pub open: Option<u8>,
}

impl Line {
    /// Takes a line apart.
    pub fn read(line: &[u8], quoting: Quoting) -> Self {
        let mut reader = Reader {
            line,
            at: 0,
            quoting,
            open: None,
        };
        let mut words = Vec::new();
        loop {
            reader.skip_blanks();
            let last = reader.at;
            words.push(OsString::from_vec(reader.word()));
            if reader.at == line.len() {
                let open = reader.open;
                return Self { words, last, open };
            }
        }
    }

    /// As a shell has taken it apart already.
    pub fn of_words(words: &[OsString]) -> Self {
        let words = words.to_vec();
        Self {
            words,
            ..Self::default()
        }
    }

    /// Leaves out what stands before the program: `A=b`, `command`.
    pub fn skip_prefix(&mut self) {
        let is_prefix = |word: &OsString| {
            let word = word.to_string_lossy();
            let name = word.split_once('=').map(|(name, _)| name);
            name.is_some_and(|name| !name.contains('/'))
                || ["command", "and", "or", "not", "time"].contains(&&*word)
        };
        let before = self.words.iter().take_while(|word| is_prefix(word)).count();
        self.words.drain(..before.min(self.words.len() - 1));
    }
}

/// The text of a part of a word, without its quotes.
pub fn unquoted(part: &[u8], quoting: Quoting) -> Vec<u8> {
    let mut reader = Reader {
        line: part,
        at: 0,
        quoting,
        open: None,
    };
    reader.word()
}

/// A name for bash, so that it is one word and nothing of it is run; behind a quote that is open, what belongs there.
pub fn for_bash(name: &[u8], open: Option<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    for byte in name {
        match (open, byte) {
            (Some(b'\''), b'\'') => out.extend(b"'\\''"),
            // Not even a backslash keeps it from the history.
            (Some(b'"'), b'!') => out.extend(b"\"'!'\""),
            (Some(b'"'), b'$' | b'`' | b'"' | b'\\') => out.extend([b'\\', *byte]),
            (None, byte) if byte.is_ascii_control() => {
                out.extend(format!("$'\\{byte:03o}'").as_bytes());
            }
            (None, byte) if !is_plain(*byte) => out.extend([b'\\', *byte]),
            _ => out.push(*byte),
        }
    }
    out
}

/// Means itself in a word that is not quoted. A tilde is one that was typed, or does not stand first.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-_./:=@%+,~".contains(&byte)
}

struct Reader<'a> {
    line: &'a [u8],
    at: usize,
    quoting: Quoting,
    /// The quote that the line ended in.
    open: Option<u8>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = self.line.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    fn skip_blanks(&mut self) {
        while self.line.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// To the next blank that is not quoted.
    fn word(&mut self) -> Vec<u8> {
        let mut word = Vec::new();
        while let Some(byte) = self.next() {
            match byte {
                byte if byte.is_ascii_whitespace() => {
                    self.at -= 1;
                    break;
                }
                b'\\' => self.escaped(&mut word),
                b'\'' | b'"' => self.quoted(byte, &mut word),
                b'$' if self.quoting == Quoting::Bash && self.line.get(self.at) == Some(&b'\'') => {
                    self.at += 1;
                    self.ansi(&mut word);
                }
                byte => word.push(byte),
            }
        }
        word
    }

    /// Behind a backslash outside of quotes.
    fn escaped(&mut self, word: &mut Vec<u8>) {
        match (self.next(), self.quoting) {
            (Some(b'\n') | None, _) => {}
            (Some(byte), Quoting::Fish) => word.push(control(byte).unwrap_or(byte)),
            (Some(byte), Quoting::Bash) => word.push(byte),
        }
    }

    /// To the quote that ends it, or to the end.
    fn quoted(&mut self, quote: u8, word: &mut Vec<u8>) {
        let special: &[u8] = match (quote, self.quoting) {
            (b'\'', Quoting::Bash) => b"",
            (b'\'', Quoting::Fish) => b"'\\",
            (_, Quoting::Bash) => b"$`\"\\",
            (_, Quoting::Fish) => b"$\"\\",
        };
        while let Some(byte) = self.next() {
            let next = self.line.get(self.at).copied();
            match (byte, next) {
                (byte, _) if byte == quote => return,
                (b'\\', Some(next)) if special.contains(&next) => {
                    word.push(next);
                    self.at += 1;
                }
                _ => word.push(byte),
            }
        }
        self.open = Some(quote);
    }

    /// Bash's `$'...'`.
    fn ansi(&mut self, word: &mut Vec<u8>) {
        while let Some(byte) = self.next() {
            match byte {
                b'\'' => return,
                b'\\' => {
                    let octal = self.octal();
                    let next = if octal.is_none() { self.next() } else { None };
                    word.extend(octal.or(next.map(|byte| control(byte).unwrap_or(byte))));
                }
                byte => word.push(byte),
            }
        }
    }

    /// Up to three digits.
    fn octal(&mut self) -> Option<u8> {
        let rest = &self.line[self.at..];
        let is_octal = |byte: &&u8| (b'0'..=b'7').contains(*byte);
        let digits: Vec<u8> = rest.iter().take(3).take_while(is_octal).copied().collect();
        self.at += digits.len();
        let digits = std::str::from_utf8(&digits).ok()?;
        u8::try_from(u32::from_str_radix(digits, 8).ok()?).ok()
    }
}

/// The control character that a letter stands for behind a backslash.
fn control(letter: u8) -> Option<u8> {
    Some(match letter {
        b'a' => 7,
        b'b' => 8,
        b'e' => 27,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str, quoting: Quoting) -> Vec<String> {
        let words = Line::read(line.as_bytes(), quoting).words.into_iter();
        words.map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn quotes_of_bash_are_taken_off_and_nothing_is_run() {
        for (line, read) in [
            ("tw  show ", vec!["tw", "show", ""]),
            (r"tw a\ b c\:d", vec!["tw", "a b", "c:d"]),
            (r#"tw 'a $(x)' "b\"c$d"#, vec!["tw", "a $(x)", "b\"c$d"]),
            (
                r"tw $'a\nb\'c\101' $(touch",
                vec!["tw", "a\nb'cA", "$(touch"],
            ),
            ("tw 'a\nb", vec!["tw", "a\nb"]),
        ] {
            assert_eq!(words(line, Quoting::Bash), read, "{line}");
        }
    }

    #[test]
    fn quotes_of_fish_are_taken_off() {
        for (line, read) in [
            (r"tw a\ b\nc ", vec!["tw", "a b\nc", ""]),
            (r#"tw 'it\'s \$' "\$x "#, vec!["tw", r"it's \$", "$x "]),
        ] {
            assert_eq!(words(line, Quoting::Fish), read, "{line}");
        }
    }

    #[test]
    fn a_name_is_one_word_for_bash_and_reads_back() {
        let name = b"a $(x) `y` \"z\" 'w' \\ !v *[?]\n\t#&;|<>(){}~\xff";
        for (open, before) in [(None, ""), (Some(b'\''), "'"), (Some(b'"'), "\"")] {
            let word = [before.as_bytes(), &for_bash(name, open), before.as_bytes()].concat();
            let line = Line::read(&word, Quoting::Bash);
            assert_eq!(line.words.len(), 1);
            assert_eq!(unquoted(&word, Quoting::Bash), name, "{open:?}");
            assert_eq!(line.open, None);
        }
        let opened = Line::read(b"tw a'b", Quoting::Bash);
        assert_eq!((opened.last, opened.open), (3, Some(b'\'')));
    }

    #[test]
    fn what_stands_before_the_program_does_not_count() {
        let mut line = Line::read(b"A=b command tw sh", Quoting::Fish);
        line.skip_prefix();
        assert_eq!(line.words, ["tw", "sh"]);
        let mut line = Line::read(b"a=", Quoting::Fish);
        line.skip_prefix();
        assert_eq!(line.words, ["a="]);
    }
}
