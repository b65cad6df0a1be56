//! Steps through `name operator value`, sign by sign.
//!
//! Knows the signs of many languages and none of their grammars.

use std::ops::Range;

use super::MARK;
use super::runs::{Runs, Stop, alphanumeric_or, run_at_start};
use super::syntax::{GAP_MAX, Quoting, Tie};

/// The longest value in quotes.
const VALUE_MAX: usize = 8192;

/// Quotes as they are written in code, in JSON inside JSON, and in HTML.
const QUOTES: &[&str] = &[
    "\"\"\"", "'''", r#"\\\""#, r#"\""#, r"\'", "&quot;", "&#34;", "&#39;", "%22", "\"", "'", "`",
];

/// Operators; of those with the same beginning the longest first.
const OPERATORS: &[(Tie, &[&str])] = &[
    (Tie::Assign, &[":::=", "::=", "===", "!==", "||=", "??="]),
    (Tie::Assign, &[":=", "==", "!=", "=>", "->", "<-"]),
    (Tie::Assign, &["?=", "+=", ".=", "=:", ":-"]),
    (Tie::Call, &["||", "??"]),
    (Tie::Assign, &["%3D", "%3A", "=", ":", "："]),
    (Tie::Call, &[",", "(", "|", " or "]),
    (
        Tie::Is,
        &[" is now ", " is ", " ist jetzt ", " ist ", " lautet "],
    ),
    (Tie::Assign, &[" eq "]),
];

/// What the names of types of texts hold.
const TYPES: &[&str] = &[
    "str", "Str", "char", "byte", "Text", "text", "any", "Any", "auto", "object", "Optional",
    "Final",
];

/// Names of fields that hold the value of the field named before: `{"name": "TOKEN", "value": "…"}`.
const VALUE_FIELDS: &[&str] = &[
    "value",
    "Value",
    "VALUE",
    "default",
    "defaultValue",
    "stringValue",
    "ParameterValue",
    "parameterValue",
];

/// How the names of elements end, and their attributes, that hold the value of what the element before names.
const VALUE_ELEMENTS: &[&[u8]] = &[b"string", b"value", b"value\"", b"value'"];

/// A place in a text that is read on from.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) runs: &'a Runs,
}

impl Reader<'_> {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at.min(self.bytes.len())..]
    }

    fn is_at(&self, word: &str) -> bool {
        self.rest().starts_with(word.as_bytes())
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.is_at(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn eat_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.eat(word))
    }

    pub(super) fn quote(&mut self) -> Option<&'static str> {
        // Asked at every place: most bytes begin no quote.
        let first = self.rest().first();
        if !first.is_some_and(|byte| b"\"'`\\&%".contains(byte)) {
            return None;
        }
        QUOTES.iter().copied().find(|quote| self.eat(quote))
    }

    fn blanks(&mut self, lines: bool) -> usize {
        let count = run_at_start(self.rest(), GAP_MAX, |byte| {
            matches!(byte, b' ' | b'\t') || (lines && matches!(byte, b'\n' | b'\r'))
        });
        self.at += count;
        count
    }

    /// Steps over what closes the name: quotes, brackets, an array's size.
    pub(super) fn close_name(&mut self) -> bool {
        let mut quoted = false;
        for _ in 0..4 {
            if self.quote().is_some() {
                quoted = true;
            } else if !self.eat_any(&["[]", "]", ")", "}", "**"]) {
                break;
            }
        }
        quoted
    }

    pub(super) fn tie(&mut self, before: Option<u8>, quoted_name: bool) -> Option<Tie> {
        if self.rest().first() == Some(&b'>')
            && (quoted_name || matches!(before, Some(b'<' | b':')))
        {
            self.at += 1;
            return Some(Tie::Element);
        }
        let in_tag = matches!(before, Some(b'<' | b':')) && self.attributes();
        if in_tag || (before == Some(b'>') && self.next_element()) {
            return Some(Tie::Element);
        }
        let start = self.at;
        if let Some(tie) = self.operator() {
            return Some(self.settled(tie));
        }
        let blanks = self.blanks(false);
        if let Some(tie) = self.operator() {
            return Some(self.settled(tie));
        }
        if (quoted_name || self.rest().first() == Some(&b'\n')) && self.value_field() {
            return Some(Tie::Assign);
        }
        if blanks > 0 && self.typed() {
            return Some(Tie::Assign);
        }
        if blanks == 0 && !quoted_name {
            self.at = start;
            return None;
        }
        Some(Tie::Blank)
    }

    /// Steps over the attributes of an element to its text: `<Pass encoding="base64">`.
    fn attributes(&mut self) -> bool {
        let length = run_at_start(self.rest(), GAP_MAX, |byte| !b"<>\r\n".contains(&byte));
        let (attributes, rest) = self.rest().split_at(length);
        let found = attributes.starts_with(b" ")
            && attributes.ends_with(b"\"")
            && attributes.contains(&b'=')
            && rest.starts_with(b">");
        if found {
            self.at += length + 1;
        }
        found
    }

    /// Steps from the element that holds the name into the next one, which holds the value: `</key><string>`.
    fn next_element(&mut self) -> bool {
        let start = self.at;
        let tag = |reader: &mut Self| {
            let length = run_at_start(reader.rest(), 64, |byte| !b"<>\r\n".contains(&byte));
            let tag = reader.rest()[..length].to_ascii_lowercase();
            reader.at += length;
            reader.eat(">").then_some(tag)
        };
        let closed = self.eat("</") && tag(self).is_some();
        self.blanks(true);
        let is_of_value = |tag: Vec<u8>| VALUE_ELEMENTS.iter().any(|end| tag.ends_with(end));
        let found = closed && self.eat("<") && tag(self).is_some_and(is_of_value);
        if !found {
            self.at = start;
        }
        found
    }

    /// After an operator: a type and `=`, or the field that holds the value.
    fn settled(&mut self, tie: Tie) -> Tie {
        let start = self.at;
        self.blanks(false);
        if tie == Tie::Assign && self.typed() {
            return Tie::Assign;
        }
        self.at = start;
        if matches!(tie, Tie::Call | Tie::Assign) && self.value_field() {
            return Tie::Assign;
        }
        self.at = start;
        tie
    }

    fn operator(&mut self) -> Option<Tie> {
        // `password: x` in Markdown's bold, a table, or a space before the sign.
        let (tie, _) = OPERATORS.iter().find(|(_, signs)| self.eat_any(signs))?;
        if !self.is_at(MARK) {
            self.eat("**");
        }
        Some(*tie)
    }

    /// `string =`, `&'static str =`, `Option<String> =` after a name.
    fn typed(&mut self) -> bool {
        if !self
            .rest()
            .first()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || b"&*_".contains(byte))
        {
            return false;
        }
        let start = self.at;
        let length = run_at_start(self.rest(), 40, alphanumeric_or(b"_&'*<>?[]. "));
        let word = &self.rest()[..length];
        let type_in = |kind: &&str| word.windows(kind.len()).any(|part| part == kind.as_bytes());
        if TYPES.iter().any(type_in) {
            self.at += length;
            if self.eat(":=") || (!self.is_at("==") && self.eat("=")) {
                return true;
            }
        }
        self.at = start;
        false
    }

    /// Steps over `, "value": ` and its kin.
    fn value_field(&mut self) -> bool {
        let start = self.at;
        for _ in 0..3 {
            self.blanks(true);
            if !self.eat_any(&[",", "{", "-", ">"]) {
                break;
            }
        }
        for _ in 0..3 {
            if !self.word_field() {
                break;
            }
        }
        self.quote();
        self.eat("<");
        if self.eat_any(VALUE_FIELDS) {
            self.quote();
            self.blanks(false);
            if self.eat_any(&[":", "=", ">"]) {
                return true;
            }
        }
        self.at = start;
        false
    }

    /// Steps over `"type": "string", ` and its kin, which say something of the value and come before it.
    fn word_field(&mut self) -> bool {
        let start = self.at;
        let word = |reader: &mut Self| {
            let quoted = reader.quote().is_some();
            let length = run_at_start(reader.rest(), 24, alphanumeric_or(b"_"));
            reader.at += length;
            length > 0 && quoted == reader.quote().is_some()
        };
        let is_value = self.bytes.get(start + 1..).is_some_and(|rest| {
            let mut names = VALUE_FIELDS.iter();
            names.any(|name| rest.starts_with(name.as_bytes()))
        });
        if !is_value && word(self) {
            self.blanks(false);
            if self.eat(":") {
                self.blanks(false);
                if word(self) && self.eat(",") {
                    self.blanks(true);
                    return true;
                }
            }
        }
        self.at = start;
        false
    }

    /// What stands in a part of a form behind its headers: `name="x"`, an empty line, the value on a line.
    pub(super) fn form_part(&self) -> Option<Range<usize>> {
        let head = &self.rest()[..self.rest().len().min(GAP_MAX)];
        let ends = [&b"\r\n\r\n"[..], b"\n\n"].into_iter();
        let (at, end) = ends
            .filter_map(|end| {
                let at = head.windows(end.len()).position(|window| window == end)?;
                Some((at, end.len()))
            })
            .min()?;
        // Behind the name is at once the line's end: what follows are the part's other headers.
        if !matches!(head.first(), Some(b'\r' | b'\n')) {
            return None;
        }
        let start = self.at + at + end;
        let length = run_at_start(&self.bytes[start..], VALUE_MAX, |byte| {
            byte != b'\r' && byte != b'\n'
        });
        (length > 0).then_some(start..start + length)
    }

    pub(super) fn value(&mut self, tie: Tie) -> Option<(Range<usize>, Quoting, Tie)> {
        let lines = !matches!(tie, Tie::Blank | Tie::Is);
        self.blanks(lines);
        if lines && self.eat_any(&["|-", ">-", "|", ">"]) {
            self.blanks(true);
        }
        if tie == Tie::Element {
            // What is in the element, or in one more that is called so.
            if self.eat_any(&["<Value>", "<value>"]) {
                self.blanks(true);
            }
            if self.eat("<![CDATA[") {
                self.blanks(true);
            }
            let range = self.run(Stop::Element);
            return Some((self.trimmed(range), Quoting::Text, tie));
        }
        let tie = self.wrapper(tie);
        if let Some(quote) = self.quote() {
            let start = self.at;
            let end = self.closing(quote)?;
            let start = start + scheme(&self.bytes[start..end]);
            return Some((start..end, Quoting::Quoted, tie));
        }
        self.at += scheme(self.rest());
        let range = self.run(Stop::Bare);
        Some((self.trimmed(range), Quoting::Bare, tie))
    }

    /// Steps over what may stand before a literal: `b"`, `@"`, `String::from("`, `new String("`, `[`.
    fn wrapper(&mut self, tie: Tie) -> Tie {
        let start = self.at;
        let length = run_at_start(self.rest(), 32, alphanumeric_or(b"_:.@$(&[ #*"));
        let before = &self.rest()[..length];
        let literal = length <= 2 || before.ends_with(b"(") || before.ends_with(b"#");
        let secret_name = before
            .windows(6)
            .any(|window| window.eq_ignore_ascii_case(b"getenv"));
        self.at += length;
        let quoted = QUOTES.iter().any(|quote| self.is_at(quote));
        let before = &self.bytes[start..start + length];
        let made = [&b"new("[..], b"from(", b"String(", b"str(", b"quote("]
            .iter()
            .any(|call| before.ends_with(call));
        if !(literal && quoted) || secret_name {
            self.at = start;
            tie
        } else if before.ends_with(b"(") && !made {
            Tie::Call
        } else {
            tie
        }
    }

    fn run(&mut self, stop: Stop) -> Range<usize> {
        let start = self.at;
        self.at = self.runs.end(self.bytes, stop, start);
        start..self.at
    }

    /// Without blanks, and without the full stop or colon of a sentence.
    fn trimmed(&self, mut range: Range<usize>) -> Range<usize> {
        while range.end > range.start
            && matches!(self.bytes[range.end - 1], b' ' | b'\t' | b'.' | b':')
        {
            range.end -= 1;
        }
        while range.end > range.start && matches!(self.bytes[range.start], b' ' | b'\t') {
            range.start += 1;
        }
        range
    }

    /// Where the literal ends that `quote` has opened.
    pub(super) fn closing(&self, quote: &str) -> Option<usize> {
        let many_lines = matches!(quote, "`" | "\"\"\"" | "'''");
        // A quote that is never closed must not make every name read to the end of the text.
        let rest = &self.rest()[..self.rest().len().min(VALUE_MAX)];
        let mut at = 0;
        while at < rest.len() {
            let byte = rest[at];
            if rest[at..].starts_with(quote.as_bytes()) {
                return Some(self.at + at);
            }
            if byte == b'\n' && !many_lines {
                return None;
            }
            at += if byte == b'\\' && quote.len() == 1 {
                2
            } else {
                1
            };
        }
        None
    }
}

/// Words for a scheme before credentials.
const SCHEMES: &[&str] = &[
    "bearer ",
    "basic ",
    "token ",
    "apikey ",
    "key ",
    "bot ",
    "splunk ",
    "genie key ",
    "genieKey ",
];

/// The length of a scheme word at the start of a value: `Bearer `, `Basic `, `token `.
fn scheme(value: &[u8]) -> usize {
    SCHEMES
        .iter()
        .find(|word| {
            let start = value.get(..word.len() + 1);
            start.is_some_and(|start| start[..word.len()].eq_ignore_ascii_case(word.as_bytes()))
        })
        .map_or(0, |word| word.len())
}
