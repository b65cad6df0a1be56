//! Passwords in a column: a line with the names of the columns, then one for each entry, as CSV and Markdown have them.

use std::ops::Range;

use super::field_names::NameClass;
use super::fields::is_made_up;
use super::judge::{Trust, is_secret};
use super::runs::{alphanumeric_or, run_at_end, run_at_start};

/// The longest line, and how many of them are read.
const LINE_MAX: usize = 512;
const LINES: usize = 256;

/// The secrets below a name that is the head of a column, and the place after the last line that was read.
pub(super) fn below(
    text: &str,
    name: &Range<usize>,
    class: NameClass,
) -> (Vec<Range<usize>>, usize) {
    let mut found = Vec::new();
    let Some((head, column)) = Head::around(text, name) else {
        return (found, name.end);
    };
    let mut at = head.end;
    for number in 0..LINES {
        // The line's end.
        at += 1;
        let Some(line) = line_at(text, at) else {
            break;
        };
        if is_rule(text, &line) {
            at = line.end;
            continue;
        }
        if number == 0 && head.separator == b'|' {
            break;
        }
        let cells = head.cells(text, &line);
        let Some(cell) = cells.get(column).filter(|_| cells.len() == head.columns) else {
            break;
        };
        if text
            .get(cell.clone())
            .is_some_and(|value| is_password(value, class))
        {
            found.push(cell.clone());
        }
        at = line.end;
    }
    (found, at)
}

fn is_password(value: &str, class: NameClass) -> bool {
    match class {
        NameClass::Password => is_made_up(value) && is_secret(value, Trust::BarePassword),
        NameClass::Strong => is_secret(value, Trust::Named),
        NameClass::Weak | NameClass::None => false,
    }
}

/// The line with the names of the columns.
struct Head {
    separator: u8,
    columns: usize,
    end: usize,
}

impl Head {
    /// The head in which this is the name of a column, and which column.
    fn around(text: &str, name: &Range<usize>) -> Option<(Self, usize)> {
        let bytes = text.as_bytes();
        let goes_on = |byte: Option<&u8>| byte.is_some_and(|byte| !b"|,;\t \"'\r\n".contains(byte));
        let before = name.start.checked_sub(1).and_then(|at| bytes.get(at));
        if goes_on(before) || goes_on(bytes.get(name.end)) {
            return None;
        }
        let start = name.start - run_at_end(&bytes[..name.start], LINE_MAX, |byte| byte != b'\n');
        let line = line_at(text, start)?;
        let separator = *b"|\t;,"
            .iter()
            .find(|sign| bytes[line.clone()].contains(sign))?;
        let mut head = Self {
            separator,
            columns: 0,
            end: line.end,
        };
        let cells = head.cells(text, &line);
        head.columns = cells.len();
        let is_name = |cell: &Range<usize>| {
            let cell = &bytes[cell.clone()];
            cell.iter().any(u8::is_ascii_alphabetic)
                && cell.iter().copied().all(alphanumeric_or(b"_-. "))
        };
        let column = cells.iter().position(|cell| cell == name)?;
        // A line among others of the table is no head.
        let end_before = start.checked_sub(1);
        let before = end_before.map(|end| {
            let length = run_at_end(&bytes[..end], LINE_MAX, |byte| byte != b'\n');
            head.cells(text, &(end - length..end)).len()
        });
        if before == Some(head.columns) {
            return None;
        }
        (cells.len() > 1 && cells.iter().all(is_name)).then_some((head, column))
    }

    /// The cells of a line, without blanks and quotes around them.
    fn cells(&self, text: &str, line: &Range<usize>) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        let is_edge = |byte: u8| b" \t\r\"'".contains(&byte);
        let mut edges = line.clone();
        if self.separator == b'|' {
            // A line of Markdown begins and ends with the sign.
            let is_edge = |byte: u8| b" \t\r|".contains(&byte);
            edges.start += run_at_start(&bytes[edges.clone()], LINE_MAX, is_edge);
            edges.end -= run_at_end(&bytes[edges.clone()], LINE_MAX, is_edge);
        }
        let mut start = edges.start;
        bytes[edges]
            .split(|byte| *byte == self.separator)
            .map(|cell| {
                let mut range = start..start + cell.len();
                start = range.end + 1;
                range.start += run_at_start(cell, LINE_MAX, is_edge);
                range.end -= run_at_end(&bytes[range.clone()], LINE_MAX, is_edge);
                range
            })
            .collect()
    }
}

/// `|---|---|`, `-----+-----`: what stands between a head and its lines.
fn is_rule(text: &str, line: &Range<usize>) -> bool {
    let line = text.as_bytes()[line.clone()].trim_ascii();
    !line.is_empty() && line.iter().all(|byte| b"-|:+= \t".contains(byte))
}

/// The line that begins at a place; none when it is longer than the longest.
fn line_at(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text
        .as_bytes()
        .get(start..)
        .filter(|rest| !rest.is_empty())?;
    let length = run_at_start(rest, LINE_MAX + 1, |byte| byte != b'\n');
    (length <= LINE_MAX).then_some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let at = text.find("password").expect("there");
        let name = at..at + "password".len();
        let (found, _) = below(text, &name, NameClass::Password);
        found.into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn passwords_of_a_column() {
        for text in [
            "username,password\nbob,Eq9-Lantern7\namy,hunter2\n",
            "\"username\";\"password\"\r\n\"bob\";\"Eq9-Lantern7\"\r\namy;hunter2",
            "| user | password | note |\n|---|---|---|\n| bob | Eq9-Lantern7 | x |\n|amy|hunter2|y|\n\nz2 | x3",
            "+-----+-----+\n| user | password |\n+-----+-----+\n| bob | Eq9-Lantern7 |\n| amy | hunter2 |\n+----+----+",
            " user | password\n-----+----\n bob | Eq9-Lantern7\n amy | hunter2\n(2 rows)",
            "password\tuser\nEq9-Lantern7\tbob\nhunter2\tamy\nand nothing more",
        ] {
            assert_eq!(found(text), ["Eq9-Lantern7", "hunter2"], "{text}");
        }
    }

    #[test]
    fn no_columns() {
        for text in [
            "login(user, password)\nrun(host1, value2)",
            "user,\npassword,\nhost1,\nvalue2",
            "x = 1, password\nbob, hunter2x",
            "user password\nbob hunter2x",
            "name | password\n---|---\ntype | string(32)\nsize | max",
            "a,b,password",
            "user | password\nbob | hunter2",
            "| kind | what |\n|---|---|\n| x | password |\n| x | hunter2 |",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
    }
}
