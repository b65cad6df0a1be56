//! Reads `name operator value` in whatever language it is written in.
//!
//! Knows assignments, JSON, YAML, TOML, INI, XML, query strings, command-line flags, calls with a literal and
//! fallbacks. Says where the value stands and how it was written; whether it is a secret is judged elsewhere.

use std::ops::Range;

use super::reader::Reader;
use super::runs::{Runs, run_at_end, run_at_start};

/// The longest name that is looked at.
const NAME_MAX: usize = 80;
/// The longest stretch between a name and its value.
pub(super) const GAP_MAX: usize = 96;

/// How a name is tied to its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tie {
    /// `=`, `:=`, `=>`, `:` and their kin.
    Assign,
    /// `name(`, `name,`, `name ||`: the value may be anything.
    Call,
    /// `<name>`.
    Element,
    /// The word `is`.
    Is,
    /// Blanks alone.
    Blank,
}

/// How a value is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Quoted,
    Bare,
    /// Text of an XML element, up to the next tag.
    Text,
}

/// A name and its value, as places in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
    pub(super) tie: Tie,
    pub(super) quoting: Quoting,
    /// The name itself stood in quotes.
    pub(super) quoted_name: bool,
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.$".contains(&byte)
}

/// The name around a place where a word of field names was found.
pub(super) fn name_around(bytes: &[u8], hit: Range<usize>) -> Option<Range<usize>> {
    let before = run_at_end(&bytes[..hit.start], NAME_MAX, is_name_byte);
    let after = run_at_start(&bytes[hit.end..], NAME_MAX, is_name_byte);
    let mut range = hit.start - before..hit.end + after;
    if range.len() > NAME_MAX {
        return None;
    }
    while range.end > hit.end && b".-$".contains(&bytes[range.end - 1]) {
        range.end -= 1;
    }
    Some(range)
}

/// Reads on after a name.
pub(super) fn field_after(text: &str, name: Range<usize>, runs: &Runs) -> Option<Field> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: name.end,
        runs,
    };
    let before = name
        .start
        .checked_sub(1)
        .and_then(|at| text.as_bytes().get(at))
        .copied();
    let quoted_name = reader.close_name();
    if quoted_name
        && text[..name.start].ends_with("name=\"")
        && let Some(value) = reader.form_part()
    {
        return Some(Field {
            name,
            value,
            tie: Tie::Element,
            quoting: Quoting::Text,
            quoted_name,
        });
    }
    let tie = reader.tie(before, quoted_name)?;
    let (value, quoting, tie) = reader.value(tie)?;
    (value.start - name.end <= GAP_MAX && !value.is_empty()).then_some(Field {
        name,
        value,
        tie,
        quoting,
        quoted_name,
    })
}

/// The next literal in quotes on this line, for a value that is an expression.
pub(super) fn literal_on_line(text: &str, from: usize, runs: &Runs) -> Option<Range<usize>> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: from,
        runs,
    };
    let line = reader.bytes[from..]
        .iter()
        .take(160)
        .position(|byte| *byte == b'\n' || *byte == b';')
        .map_or((from + 160).min(text.len()), |length| from + length);
    while reader.at < line {
        if let Some(quote) = reader.quote() {
            let start = reader.at;
            let end = reader.closing(quote)?;
            if end - start >= 8 {
                return Some(start..end);
            }
            reader.at = end + quote.len();
        } else {
            reader.at += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(&str, &str)> {
        let hit = text.to_ascii_lowercase().find("token")?;
        let name = name_around(text.as_bytes(), hit..hit + 5)?;
        let field = field_after(text, name, &Runs::default())?;
        Some((&text[field.name], &text[field.value]))
    }

    #[test]
    fn every_syntax() {
        for line in [
            "x_token = \"VALUE\"",
            "x_token='VALUE'",
            "x_token=VALUE",
            "x_token: VALUE",
            "\"x_token\": \"VALUE\",",
            "\\\"x_token\\\": \\\"VALUE\\\",",
            "<x_token>VALUE</x_token>",
            "<x_token>\n    VALUE\n</x_token>",
            "var x_token string = \"VALUE\"",
            "const x_token: &'static str = \"VALUE\";",
            "let x_token: String = String::from(\"VALUE\");",
            "x_token := `VALUE`",
            "x_token ::= \"VALUE\"",
            "$x_token .= \"VALUE\"",
            "\"x_token\" => \"VALUE\"",
            "x_token ?= VALUE",
            "export x_token=VALUE",
            "--x_token VALUE",
            "--x_token=VALUE",
            "config['x_token'] = 'VALUE'",
            "define('x_token', 'VALUE');",
            "x_token(\"VALUE\")",
            "x_token: |\n  VALUE\n",
            "x_token: >-\n  VALUE\n",
            "https://host/?x_token=VALUE#x",
            "- name: x_token\n  value: VALUE\n",
            "{\"name\": \"x_token\", \"value\": \"VALUE\"}",
            "variable \"x_token\" {\n  default = \"VALUE\"\n}",
            "<add key=\"x_token\" value=\"VALUE\" />",
            "x_token = b'VALUE'",
            "x_token: \"Bearer VALUE\"",
            "ENV x_token VALUE",
            "char x_token[] = \"VALUE\";",
            "x_token=&quot;VALUE&quot;",
            "the x_token is VALUE.",
            "x_token == \"VALUE\"",
            "form-data; name=\"x_token\"\r\n\r\nVALUE\r\n--",
            "form-data; name=\"x_token\"\r\nContent-Type: text/plain\r\n\r\nVALUE\r\n--",
            "form-data; name=\"x_token\"\n\nVALUE\n--",
            "[{\"ParameterKey\":\"x_token\",\"ParameterValue\":\"VALUE\"}]",
            "--parameters ParameterKey=x_token,ParameterValue=VALUE",
            "<key>x_token</key>\n\t<string>VALUE</string>",
            "<x_token><Value>VALUE</Value></x_token>",
            "<x_token encoding=\"base64\">VALUE</x_token>",
            "<stringProp name=\"Argument.name\">x_token</stringProp>\n<stringProp name=\"Argument.value\">VALUE</stringProp>",
            "env['x_token'] || 'VALUE'",
            "os.environ.get('x_token') or 'VALUE'",
            "x_token：VALUE",
            "x_token lautet VALUE",
        ] {
            let (name, value) = read(line).unwrap_or_default();
            assert_eq!(name.trim_start_matches(['-', '$']), "x_token", "{line}");
            assert_eq!(value.split(['#', '&']).next(), Some("VALUE"), "{line}");
        }
    }

    #[test]
    fn nothing_to_read() {
        for line in [
            "x_token",
            "x_token;",
            "x_token\n= 'v'",
            "x_token + 1",
            "Vec<x_token>",
        ] {
            let read = read(line).map(|(_, value)| value.to_owned());
            assert!(
                read.is_none() || read.as_deref() == Some("+"),
                "{line}: {read:?}"
            );
        }
    }

    #[test]
    fn literals_in_an_expression() {
        let text = "token = os.getenv(\"T\") or \"q7gzkxv0w1jh\"";
        let found = literal_on_line(text, 8, &Runs::default()).map(|range| &text[range]);
        assert_eq!(found, Some("q7gzkxv0w1jh"));
    }
}
