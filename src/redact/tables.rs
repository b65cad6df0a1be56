//! The tables of a text: as it stands, with the lines that are drawn around one, and as a literal says it.
//!
//! A reading has each sign in its place, so that what is found in one is known in the text.

use std::borrow::Cow;
use std::ops::Range;

use super::columns::{END, Found, below};
use super::field_names::{NameClass, classify};

/// The tables of a text, as it stands and as its literals say it.
pub(super) struct Tables<'a> {
    text: &'a str,
    readings: Option<Vec<Reading<'a>>>,
}

/// A text in which each sign has its place, and the end of what was read in it.
struct Reading<'a> {
    text: Cow<'a, str>,
    end: usize,
}

impl<'a> Tables<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            readings: None,
        }
    }

    /// The secrets below a name, if that is in the head of a table that was not read.
    pub(super) fn below(&mut self, name: &Range<usize>) -> Vec<Found> {
        let readings = self.readings.iter().flatten();
        let mut ends = readings.map(|reading| reading.end);
        if self.readings.is_some() && ends.all(|end| name.start < end) {
            return Vec::new();
        }
        let name = without_escape(self.text, name);
        if classify(&self.text[name.clone()]) < NameClass::Strong {
            return Vec::new();
        }
        let text = self.text;
        let readings = self.readings.get_or_insert_with(|| {
            let signs = with_signs(text);
            let literals = in_literals(&signs).map(Cow::Owned);
            let texts = std::iter::once(signs).chain(literals);
            texts.map(|text| Reading { text, end: 0 }).collect()
        });
        let readings = readings.iter_mut();
        readings.flat_map(|reading| reading.below(&name)).collect()
    }
}

impl Reading<'_> {
    fn below(&mut self, name: &Range<usize>) -> Vec<Found> {
        if name.start < self.end {
            return Vec::new();
        }
        let (found, end) = below(&self.text, name);
        self.end = end;
        found
    }
}

/// A name without the letter of the escape before it: `\tpassword` in a literal.
fn without_escape(text: &str, name: &Range<usize>) -> Range<usize> {
    let is_escape =
        text[..name.start].ends_with('\\') && text[name.clone()].starts_with(['n', 'r', 't']);
    name.start + usize::from(is_escape)..name.end
}

/// The text with the lines that are drawn around a table as signs, each sign in the place of its drawing: as `sqlite3 -box`, nushell and
/// many others show one.
fn with_signs(text: &str) -> Cow<'_, str> {
    let is_drawn = |sign: char| ('\u{2500}'..='\u{257f}').contains(&sign);
    if !text.contains(is_drawn) {
        return Cow::Borrowed(text);
    }
    let mut signs = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            // As long as the drawing.
            '│' | '┃' | '║' => signs.push_str("|  "),
            sign if is_drawn(sign) => signs.push_str("---"),
            sign => signs.push(sign),
        }
    }
    Cow::Owned(signs)
}

/// The text as its literals say it, each sign in the place of its escape, as a table in a string of JSON has them: `\n` ends a line
/// there, and a quote without a backslash and the line's own end end the literal. None where no line ends so.
fn in_literals(text: &str) -> Option<String> {
    if !text.contains("\\n") {
        return None;
    }
    let mut said = String::with_capacity(text.len());
    let mut slashes = 0;
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        if sign == '\\' {
            slashes += 1;
            continue;
        }
        let escaped = match sign {
            _ if slashes == 0 => None,
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            '"' | '\'' => Some(sign),
            _ => None,
        };
        let is_in_word = said.ends_with(char::is_alphanumeric)
            && signs.peek().is_some_and(|next| next.is_alphanumeric());
        let is_end =
            escaped.is_none() && (matches!(sign, '"' | '\n') || (sign == '\'' && !is_in_word));
        let filler = if escaped.is_some() { ' ' } else { '\\' };
        said.extend(std::iter::repeat_n(filler, slashes));
        slashes = 0;
        said.push(escaped.unwrap_or(if is_end { char::from(END) } else { sign }));
    }
    said.extend(std::iter::repeat_n('\\', slashes));
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let at = text.find("password").expect("there");
        let from = at - usize::from(text[..at].ends_with(char::is_alphabetic));
        let found = Tables::new(text).below(&(from..at + "password".len()));
        found.into_iter().map(|(range, _)| &text[range]).collect()
    }

    #[test]
    fn tables_that_are_drawn() {
        for text in [
            "┌────┬──────┬──────────────┐\n│ id │ user │   password   │\n├────┼──────┼──────────────┤\n\
             │ 1  │ bob  │ Eq9-Lantern7 │\n│ 2  │ amy  │ hunter2      │\n└────┴──────┴──────────────┘\n",
            "┏━━━━━━┳━━━━━━━━━━━━━━┓\n┃ user ┃ password     ┃\n┡━━━━━━╇━━━━━━━━━━━━━━┩\n\
             │ bob  │ Eq9-Lantern7 │\n│ amy  │ hunter2      │\n└──────┴──────────────┘\n",
            "╭───┬──────┬──────────────╮\n│ # │ user │   password   │\n├───┼──────┼──────────────┤\n\
             │ 0 │ bob  │ Eq9-Lantern7 │\n│ 1 │ amy  │ hunter2      │\n╰───┴──────┴──────────────╯\n",
            "┌─────────┬──────────────┐\n│  user   │   password   │\n│ varchar │   varchar    │\n├─────────┼──────────────┤\n\
             │ bob     │ Eq9-Lantern7 │\n│ amy     │ hunter2      │\n└─────────┴──────────────┘\n",
            "  user │ password\n  ─────┼─────────\n  bob  │ Eq9-Lantern7\n  amy  │ hunter2\n",
        ] {
            assert_eq!(with_signs(text).len(), text.len());
            assert_eq!(found(text), ["Eq9-Lantern7", "hunter2"], "{text}");
        }
    }

    #[test]
    fn tables_in_a_literal() {
        for text in [
            r#""user,password\nbob,Eq9-Lantern7\namy,hunter2\n""#,
            r#"["x", "user,password\r\nbob,Eq9-Lantern7\r\namy,hunter2", "x, tests2024"]"#,
            r#"{"out":"\"user\";\"password\"\n\"bob\";\"Eq9-Lantern7\"\n\"amy\";\"hunter2\"\n"}"#,
            r#""id\tuser\tpassword\n1\tbob\tEq9-Lantern7\n2\tamy\thunter2\n""#,
            r#""| user | password |\n|---|---|\n| bob | Eq9-Lantern7 |\n| amy | hunter2 |\n""#,
            r#""     1\tuser,password\n     2\tbob,Eq9-Lantern7\n     3\tamy,hunter2""#,
            r#""seen:\npassword,user\nEq9-Lantern7,bob\nhunter2,amy\n""#,
            r"printf 'user,password\nbob,Eq9-Lantern7\namy,hunter2\n' > users.csv",
            r#"{"out": "user,password\nbob,Eq9-Lantern7\namy,hunter2\nlily,cut o"#,
        ] {
            assert_eq!(found(text), ["Eq9-Lantern7", "hunter2"], "{text}");
        }
        for text in [
            r#"("login, password\n", "frame, frame0012\n", "view, tests2024\n")"#,
            "f(\"user,password\\n\")\nbob, hunter2x\n",
            r#""login(user, password)\nrun(host1, value2)\n""#,
            r#""C:\new,password\tests,hunter2x""#,
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
    }
}
