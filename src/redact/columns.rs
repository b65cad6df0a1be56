//! Passwords in a column: a line with the names of the columns, then one for each entry, as CSV and Markdown have them.

use std::ops::Range;

use super::field_names::{NameClass, classify, is_vague_password};
use super::fields::is_made_up;
use super::gutter::Lead;
use super::judge::{Trust, is_secret};
use super::ordinary::{is_algorithm, is_quantity};
use super::runs::{alphanumeric_or, run_at_end, run_at_start};

/// The longest head.
const HEAD_MAX: usize = 2048;
/// The longest cell in quotes that goes over more than a line.
const CELL_MAX: usize = 4096;
/// How many lines that do not fit may stand between two that do.
const MISFITS: usize = 3;
/// How many words the name of a column has.
const WORDS: usize = 3;

/// What stands over a column with the numbers of the rows.
const NUMBERS: &[u8] = b"#";

/// What ends a literal, in the text as its literals say it.
pub(super) const END: u8 = 0;

/// A secret in a column, and what the column's name says.
pub(super) type Found = (Range<usize>, NameClass);

fn ends_line(byte: u8) -> bool {
    byte == b'\n' || byte == END
}

/// The secrets below the line in which a name stands, if that is the head of a table; and the place up to which no name is in the
/// head of another.
pub(super) fn below(text: &str, name: &Range<usize>) -> (Vec<Found>, usize) {
    let bytes = text.as_bytes();
    let length = run_at_start(&bytes[name.end..], HEAD_MAX, |byte| !ends_line(byte));
    let line_end = name.end + length;
    let before = run_at_end(&bytes[..name.start], HEAD_MAX, |byte| !ends_line(byte));
    let start = name.start - before;
    if line_end - start > HEAD_MAX || bytes.get(line_end) != Some(&b'\n') {
        return (Vec::new(), line_end);
    }
    match Head::of(text, &(start..line_end)) {
        Some(head) => Rows::below(text, &head, line_end).read(),
        None => (Vec::new(), line_end),
    }
}

/// The line with the names of the columns.
struct Head<'a> {
    /// What stands before it, and so before the other lines.
    lead: Lead<'a>,
    separator: u8,
    columns: usize,
    /// Which columns are of secrets.
    secret: Vec<(usize, NameClass)>,
    /// Whether a column says whose they are.
    has_user: bool,
    /// Whether the table needs a rule below its head to be one: between blanks the sign means other things as well.
    needs_rule: bool,
}

impl<'a> Head<'a> {
    /// The head that a line is.
    fn of(text: &'a str, line: &Range<usize>) -> Option<Self> {
        let mut separators = b"|\t;,".iter();
        separators.find_map(|separator| Self::between(text, line, *separator))
    }

    /// The same where this sign stands between the names.
    fn between(text: &'a str, line: &Range<usize>, separator: u8) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut last = bytes[line.clone()].trim_ascii_end();
        if separator == b'|' {
            last = last.strip_suffix(b"|").unwrap_or(last);
        }
        // What is cheap to ask comes first: most lines are of code.
        let last = &last[last.iter().rposition(|byte| *byte == separator)? + 1..];
        if !last.iter().copied().all(alphanumeric_or(b"_-. \"'\t")) {
            return None;
        }
        let names = names(bytes, cells(text, separator, line.clone()));
        let first = names.first().filter(|_| names.len() > 1)?.start;
        let lead = lead(&bytes[line.start..first], separator);
        let row = bytes[first..line.end].trim_ascii_end();
        let is_tight = lead.is_of_signs() && !row.iter().any(|byte| b" '\"".contains(byte));
        let of_names = || names.iter().filter_map(|name| text.get(name.clone()));
        let has_user = of_names().any(names_a_user);
        let secret: Vec<(usize, NameClass)> = of_names()
            .map(|name| secret_class(name, separator, has_user))
            .enumerate()
            .filter(|(_, class)| *class >= NameClass::Strong)
            .collect();
        // A line among others of the table is no head.
        let is_among_others = || {
            let end = line.start.checked_sub(1);
            end.filter(|end| bytes[*end] == b'\n').is_some_and(|end| {
                let length = run_at_end(&bytes[..end], HEAD_MAX, |byte| !ends_line(byte));
                let before = lead.end_in(&bytes[end - length..end]).unwrap_or(0);
                cells(text, separator, end - length + before..end).len() == names.len()
            })
        };
        let is_of_rows = is_tight && of_names().any(names_a_row) && !has_synonyms(of_names);
        (!secret.is_empty() && !is_among_others()).then_some(Self {
            lead,
            separator,
            columns: names.len(),
            secret,
            has_user,
            needs_rule: separator == b'|' && !is_of_rows,
        })
    }
}

/// The names in the last cells of a line. In the first of these something may stand before the name: the line's number, a sign, the time.
fn names(bytes: &[u8], mut cells: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let is_name = |cell: &Range<usize>| {
        let cell = &bytes[cell.clone()];
        cell == NUMBERS
            || cell.iter().any(u8::is_ascii_alphabetic)
                && cell.iter().copied().all(alphanumeric_or(b"_-. "))
    };
    let others = cells.iter().rposition(|cell| !is_name(cell));
    let from = others.unwrap_or(0);
    let Some(first) = cells.get(from).cloned() else {
        return Vec::new();
    };
    let length = match &bytes[first.clone()] {
        NUMBERS => NUMBERS.len(),
        cell => run_at_end(cell, HEAD_MAX, alphanumeric_or(b"_-. ")),
    };
    let mut name = first.end - length..first.end;
    loop {
        let rest = &bytes[name.clone()];
        let digits = run_at_start(rest, HEAD_MAX, |byte| byte.is_ascii_digit());
        let signs = run_at_start(&rest[digits..], HEAD_MAX, |byte| b"-. ".contains(&byte));
        if signs == 0 {
            break;
        }
        name.start += digits + signs;
    }
    let from = if is_name(&name) { from } else { from + 1 };
    let mut names = cells.split_off(from.min(cells.len()));
    if let Some(first) = names.first_mut().filter(|first| first.end == name.end) {
        *first = name;
    }
    names
}

/// What stands before a table, given what stands before its first name: the edge of a table and a quote belong to that. A blank at the
/// beginning may be that of a diff, and so is what git writes before a line that it shows beside the place of a hunk.
fn lead(before: &[u8], separator: u8) -> Lead<'_> {
    if before.starts_with(b"@@ -") {
        return Lead(b" ");
    }
    let is_edge = |byte: u8| match separator {
        b'|' => b"| \t".contains(&byte),
        b'\t' => b"\"'".contains(&byte),
        _ => b"\"' \t".contains(&byte),
    };
    let first = usize::from(before.starts_with(b" "));
    let edge = run_at_end(&before[first..], usize::MAX, is_edge);
    Lead(&before[..before.len() - edge])
}

/// What the name of a column says. Between commas some words are rather a part of a sentence.
fn secret_class(name: &str, separator: u8, has_user: bool) -> NameClass {
    let most = if separator == b',' { 1 } else { WORDS };
    if name.split(' ').count() > most || (!has_user && is_vague_password(name)) {
        return NameClass::None;
    }
    classify(name)
}

/// Whether a column is of those whose passwords another one may hold.
fn names_a_user(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["user", "login", "mail", "account"]
        .iter()
        .any(|word| name.contains(word))
}

/// Whether a column tells of a table's rows which is which, as those of a database have one.
fn names_a_row(name: &str) -> bool {
    let ids = ["id", "rowid", "name", "host", "hostname", "service", "site"];
    names_a_user(name) || ids.iter().any(|id| name.eq_ignore_ascii_case(id))
}

/// Whether a name is another one with letters behind it: `user|username` are alternatives, and no columns.
fn has_synonyms<'t, N: Iterator<Item = &'t str>>(names: impl Fn() -> N) -> bool {
    let is_longer = |name: &str, other: &str| {
        let more = name.strip_prefix(other).unwrap_or_default();
        !matches!(more, "" | "id") && more.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    names().any(|name| names().any(|other| is_longer(name, other)))
}

/// The lines below a head.
struct Rows<'a> {
    text: &'a str,
    head: &'a Head<'a>,
    /// The end of the line before the next one.
    at: usize,
    /// No cell that begins before this place goes over more than a line.
    torn: usize,
}

impl<'a> Rows<'a> {
    fn below(text: &'a str, head: &'a Head<'a>, at: usize) -> Self {
        Self {
            text,
            head,
            at,
            torn: 0,
        }
    }

    /// The secrets of all lines, and the end of the last line that fits.
    fn read(mut self) -> (Vec<Found>, usize) {
        let mut found = Vec::new();
        let (mut end, mut misfits, mut rows) = (self.at, 0, 0usize);
        let is_markdown = self.head.separator == b'|';
        // Between head and rule there may be a line, as of the types.
        let (mut has_rule, mut before_rule) = (!self.head.needs_rule, 0);
        while misfits <= MISFITS && self.at + 1 < self.text.len() && !self.is_at_end() {
            let whole = line_at(self.text, self.at + 1);
            let lead = self.head.lead.end_in(&self.text.as_bytes()[whole.clone()]);
            let line = whole.start + lead.unwrap_or(0)..whole.end;
            if is_rule(self.text, &line, is_markdown) {
                has_rule = true;
                self.at = line.end;
                continue;
            }
            let is_blank = self.text.as_bytes()[line.clone()].trim_ascii().is_empty();
            if !has_rule {
                before_rule += 1;
            }
            if (is_markdown && is_blank)
                || before_rule > 1
                || (misfits > 0 && Head::of(self.text, &whole).is_some())
            {
                break;
            }
            let cells = self.row(line);
            // What stands before a head may be its own, as a sign of a list is: the lines below are no less of a table.
            let has_lead = lead.is_some() || self.head.lead.is_of_signs();
            if !has_rule {
                continue;
            }
            if has_lead && cells.len() == self.head.columns && !is_blank {
                found.extend(self.secrets(&cells));
                (end, misfits) = (self.at, 0);
                rows += 1;
            } else if rows == 0 {
                break;
            } else {
                misfits += 1;
            }
        }
        (found, end)
    }

    /// Whether the literal ends here in which the table stands.
    fn is_at_end(&self) -> bool {
        self.text.as_bytes().get(self.at) == Some(&END)
    }

    /// The cells of the next row, which is a line, or more when a cell in quotes goes on.
    fn row(&mut self, line: Range<usize>) -> Vec<Range<usize>> {
        let start = line.start;
        self.at = line.end;
        let cells = cells(self.text, self.head.separator, line);
        let fits = cells.len() == self.head.columns;
        if fits || self.head.separator == b'|' || start < self.torn {
            return cells;
        }
        let limit = super::span::floor(self.text, start + CELL_MAX).max(start);
        let rest = &self.text.as_bytes()[start..limit];
        let limit = start + run_at_start(rest, CELL_MAX, |byte| byte != END);
        let (longer, end) = quoted_cells(self.text, self.head.separator, &(start..limit));
        let after = self.text.as_bytes().get(end);
        let is_whole = after.is_none_or(|byte| ends_line(*byte));
        if is_whole && longer.len() == self.head.columns {
            self.at = end;
            return longer;
        }
        self.torn = end;
        cells
    }

    fn secrets(&self, cells: &[Range<usize>]) -> Vec<Found> {
        let (secret, separator) = (self.head.secret.iter(), self.head.separator);
        secret
            .filter_map(|(column, class)| {
                let cell = cells.get(*column)?;
                let value = self.text.get(cell.clone())?;
                let before = cell
                    .start
                    .checked_sub(1)
                    .and_then(|at| self.text.as_bytes().get(at));
                let is_quoted = before.is_some_and(|byte| b"\"'".contains(byte));
                // Behind a gutter, and between commas with blanks, it is rather code.
                let is_code = separator == b',' && before.is_some_and(|byte| *byte == b' ');
                let has_user = self.head.has_user && self.head.lead.0.is_empty() && !is_code;
                let is_like_an_import = is_code && !self.head.lead.0.is_empty();
                if is_like_an_import && *class == NameClass::Password && !has_every_kind(value) {
                    return None;
                }
                is_cell_secret(value, *class, is_quoted, has_user).then(|| (cell.clone(), *class))
            })
            .collect()
    }
}

fn is_cell_secret(value: &str, class: NameClass, is_quoted: bool, has_user: bool) -> bool {
    match class {
        NameClass::Password => {
            let trust = if is_quoted {
                Trust::Password
            } else {
                Trust::BarePassword
            };
            let is_usual = (is_made_up(value) || has_every_kind(value)) && !is_quantity(value);
            // Beside somebody's name it is that one's password, and no rule for all.
            (is_usual || (has_user && is_numbered_word(value))) && is_secret(value, trust)
        }
        NameClass::Strong => is_secret(value, Trust::Named),
        NameClass::Weak | NameClass::None => false,
    }
}

/// `Windows2024`, `100days`: letters and more than a digit, and no algorithm.
fn is_numbered_word(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && value.bytes().filter(u8::is_ascii_digit).count() >= 2
        && value.bytes().filter(u8::is_ascii_alphabetic).count() >= 4
        && !is_algorithm(value)
}

/// Letters, digits and signs in one word: `Sommer;2024!`.
fn has_every_kind(value: &str) -> bool {
    let has = |kind: fn(u8) -> bool| value.bytes().any(kind);
    has(|byte| byte.is_ascii_alphabetic())
        && has(|byte| byte.is_ascii_digit())
        && has(|byte| b"!#$%^&*+=~?;,".contains(&byte))
        && !has(|byte| byte.is_ascii_whitespace())
}

/// The cells of a line, without blanks and quotes around them.
fn cells(text: &str, separator: u8, line: Range<usize>) -> Vec<Range<usize>> {
    if separator != b'|' {
        return line_cells(text, separator, &line);
    }
    let bytes = text.as_bytes();
    // A line of Markdown begins and ends with the sign.
    let is_edge = |byte: u8| b" \t\r|".contains(&byte);
    let mut edges = line;
    edges.start += run_at_start(&bytes[edges.clone()], usize::MAX, is_edge);
    edges.end -= run_at_end(&bytes[edges.clone()], usize::MAX, is_edge);
    let mut start = edges.start;
    bytes[edges]
        .split(|byte| *byte == separator)
        .map(|cell| {
            let range = start..start + cell.len();
            start = range.end + 1;
            trimmed(bytes, range)
        })
        .collect()
}

/// The cells of one line, where a separator between quotes is none.
fn line_cells(text: &str, separator: u8, line: &Range<usize>) -> Vec<Range<usize>> {
    let (cells, _) = quoted_cells(&text[..line.end], separator, line);
    cells
}

/// The cells from a place on up to the end of a line outside of quotes, and that end.
fn quoted_cells(text: &str, separator: u8, within: &Range<usize>) -> (Vec<Range<usize>>, usize) {
    let bytes = &text.as_bytes()[..within.end];
    let mut cells = Vec::new();
    let mut at = within.start;
    loop {
        let blanks = run_at_start(&bytes[at..], usize::MAX, |byte| {
            byte == b' ' || (byte == b'\t' && separator != byte)
        });
        let start = at + blanks;
        let ends = |byte: u8| byte == separator || byte == b'\n';
        let quoted = closing(bytes, start, separator);
        let from = quoted.unwrap_or(start);
        let end = from + run_at_start(&bytes[from..], usize::MAX, |byte| !ends(byte));
        cells.push(trimmed(bytes, start..end));
        if bytes.get(end) != Some(&separator) {
            return (cells, end);
        }
        at = end + 1;
    }
}

/// The place of the quote that ends the cell which begins here with one. Two of them in it are one.
fn closing(bytes: &[u8], start: usize, separator: u8) -> Option<usize> {
    let quote = *bytes.get(start).filter(|byte| b"\"'".contains(byte))?;
    let mut at = start + 1;
    loop {
        let rest = bytes.get(at..)?;
        at += rest.iter().position(|byte| *byte == quote)?;
        if bytes.get(at + 1) == Some(&quote) {
            at += 2;
            continue;
        }
        let after = bytes[at + 1..].iter().find(|byte| !b" \r".contains(byte));
        let is_end = after.is_none_or(|byte| *byte == separator || *byte == b'\n');
        return is_end.then_some(at);
    }
}

/// A cell without what stands around its text.
fn trimmed(bytes: &[u8], mut range: Range<usize>) -> Range<usize> {
    let is_edge = |byte: u8| b" \t\r\"'".contains(&byte);
    range.start += run_at_start(&bytes[range.clone()], usize::MAX, is_edge);
    range.end -= run_at_end(&bytes[range.clone()], usize::MAX, is_edge);
    range
}

/// `|---|---|`, `-----+-----`: what stands between a head and its lines. Docker writes a service's name and `|` before it.
fn is_rule(text: &str, line: &Range<usize>, is_markdown: bool) -> bool {
    let line = text.as_bytes()[line.clone()].trim_ascii();
    let is_of_signs = |line: &[u8]| line.iter().all(|byte| b"-|:+= \t".contains(byte));
    let behind_name = || {
        let name = line.iter().position(|byte| *byte == b'|');
        name.filter(|_| is_markdown).map(|name| &line[name + 1..])
    };
    !line.is_empty()
        && (is_of_signs(line)
            || behind_name().is_some_and(|rest| rest.len() > 2 && is_of_signs(rest)))
}

/// The line that begins at a place.
fn line_at(text: &str, start: usize) -> Range<usize> {
    let rest = &text.as_bytes()[start..];
    start..start + run_at_start(rest, usize::MAX, |byte| !ends_line(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let at = text.to_ascii_lowercase().find("password").expect("there");
        let name = at..at + "password".len();
        let (found, _) = below(text, &name);
        found.into_iter().map(|(range, _)| &text[range]).collect()
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
            "id|user|password\n1|bob|Eq9-Lantern7\n2|amy|hunter2\n",
            "user|password\nbob|Eq9-Lantern7\namy|hunter2\n(2 rows)\n",
            "|user|password|\n|bob|Eq9-Lantern7|\n|amy|hunter2|",
        ] {
            assert_eq!(found(text), ["Eq9-Lantern7", "hunter2"], "{text}");
        }
    }

    #[test]
    fn what_stands_before_a_head_alone_hides_no_table() {
        for text in [
            "-- username,password\nbob,Eq9-Lantern7\namy,hunter2\n",
            "1. user,password\nbob,Eq9-Lantern7\namy,hunter2\n",
            "2. user,password\n   bob,Eq9-Lantern7\n   amy,hunter2\n",
            "--- username\tpassword\nbob\tEq9-Lantern7\namy\thunter2\n",
            "2024 user | password\n---|---\nbob | Eq9-Lantern7\namy | hunter2\n",
            "2024-11 users,password\nbob,Eq9-Lantern7\namy,hunter2\n",
            ".user,password\nbob,Eq9-Lantern7\namy,hunter2\n",
        ] {
            assert_eq!(found(text), ["Eq9-Lantern7", "hunter2"], "{text}");
        }
    }

    #[test]
    fn alternatives_of_a_pattern_are_no_table() {
        for text in [
            "user|username|password\nlogin|Email1|Passw0rd\nfoo|bar22|Eq9-Lantern7\n",
            "-E 'user|username|password'\n-E 'host|value2|sha512x1'\n-E 'name|hunter2|Eq9-Lantern7'\n",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
        for text in [
            "id|user|password\n1|bob|hunter2\n2|amy|hunter3\n",
            // What stands between the sign without more looks like alternatives, and may be the list of a database.
            "user|password\nbob|hunter2\namy|hunter3\n",
        ] {
            assert_eq!(found(text), ["hunter2", "hunter3"]);
        }
    }

    #[test]
    fn code_behind_a_gutter_is_no_table_of_passwords() {
        for text in [
            "login.py:12:    username, password\nlogin.py:48:    hostname, sha256sum\n",
            "+from x import user, password\n+from y import views, tests2024\n",
            "[INFO] 1: login, password\n[INFO] 2: frame, frame0012\n",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
        assert_eq!(found("user,password\nbob,Windows2024\n"), ["Windows2024"]);
    }

    /// As tools print the lines of a file.
    #[test]
    fn a_table_behind_a_gutter_is_read_as_one() {
        for text in [
            "     1\tusername,password\n     2\tbob,Eq9-Lantern7\n     3\tamy,hunter2\n",
            "9: username,password\n10: bob,Eq9-Lantern7\n11: amy,hunter2\n",
            "users.csv:1:username,password\nusers.csv:2:bob,Eq9-Lantern7\nusers.csv-3-amy,hunter2\n",
            "+username,password\n+bob,Eq9-Lantern7\n-amy,hunter2\n",
            " username,password\n-bob,Eq9-Lantern7\n+amy,hunter2\n",
            "@@ -1,3 +1,3 @@ username,password\n-bob,Eq9-Lantern7\n+amy,hunter2\n",
            "> username,password\n> bob,Eq9-Lantern7\n> amy,hunter2\n",
            "> | user | password |\n> |---|---|\n> | bob | Eq9-Lantern7 |\n> | amy | hunter2 |\n",
            "^1a2b3c4 (Bob       2025-01-02 10:00:00 +0100 1) username,password\n\
             5d6e7f8a (Bob       2025-01-02 10:00:00 +0100 2) bob,Eq9-Lantern7\n\
             00000000 (Not Committed Yet 2026-11-29 10:00:00 +0000 3) amy,hunter2\n",
            "db-1  |  user | password\ndb-1  | ------+----------\ndb-1  |  bob | Eq9-Lantern7\ndb-1  |  amy | hunter2\n",
        ] {
            assert_eq!(found(text), ["Eq9-Lantern7", "hunter2"], "{text}");
        }
    }

    #[test]
    fn every_column_of_secrets_and_every_line() {
        for (text, secrets) in [
            (
                "username,password,api_key\nbob,Eq9-Lantern7,q7gzkxv0w1jh9p2m",
                &["Eq9-Lantern7", "q7gzkxv0w1jh9p2m"][..],
            ),
            (
                "user,old_password,new_password\nbob,hunter2x,hunter3y\n",
                &["hunter2x", "hunter3y"],
            ),
            (
                "| user | password | token |\n|---|---|---|\n| bob | hunter2 | q7gzkxv0w1jh9p2m |",
                &["hunter2", "q7gzkxv0w1jh9p2m"],
            ),
            (
                "user,password\nbob,\"Eq9,Lantern7\"\namy,hunter2horse",
                &["Eq9,Lantern7", "hunter2horse"],
            ),
            (
                "id,password,year\n1,\"Sommer;2024,!\",2024\n2,Winter%2024,2025\n",
                &["Sommer;2024,!", "Winter%2024"],
            ),
            (
                "user,password\n\"Bob, the \"\"first\"\"\",hunter2\namy,hunter3",
                &["hunter2", "hunter3"],
            ),
            (
                "user,password,note\nbob,hunter2,\"two\nlines\"\namy,hunter3,x\n",
                &["hunter2", "hunter3"],
            ),
            (
                "user,password,note\nbob,hunter2,x\nand, a, lost, line\n\namy,hunter3,x\n",
                &["hunter2", "hunter3"],
            ),
            (
                "user,password,note\nbob,hunter2,\"never closed\namy,hunter3,x\n",
                &["hunter2", "hunter3"],
            ),
            ("Account\tUser Password\nbob\thunter2\n", &["hunter2"]),
            (
                "user,password\nbob,hunter2\n\npassword,user\nhunter3,amy",
                &["hunter2"],
            ),
        ] {
            assert_eq!(found(text), secrets, "{text}");
        }
        let long = format!(
            "user,password,note\nbob,hunter2,{}\namy,hunter3,x",
            "y ".repeat(600)
        );
        assert_eq!(found(&long), ["hunter2", "hunter3"]);
        let many: String = (0..1000)
            .map(|row| format!("user{row},hunter{row}x\n"))
            .collect();
        assert_eq!(found(&format!("user,password\n{many}")).len(), 1000);
    }

    #[test]
    fn no_columns() {
        for text in [
            "login(user, password)\nrun(host1, value2)",
            "user,\npassword,\nhost1,\nvalue2",
            "x = 1, password\nbob, hunter2x",
            "user password\nbob hunter2x",
            "name | password\n---|---\ntype | string(32)\nsize | max",
            "| rule | password |\n|---|---|\n| length | 12..64 |\n| age | 90 days |\n| size | 640px |",
            "say who, and a password\nbob, hunter2",
            "a,b,password",
            "user | password\nbob | hunter2",
            "enum: email|password\nenum: oauth2|saml2",
            "|'client'|'password'\n|'refresh'|'jwt2'",
            "token|password\nmd5|sha512\noauth2|pbkdf2",
            "ES_LEFT|ES_PASSWORD\nWS_EX2|WS_B64\nO_RDONLY|O_CREAT2",
            "cat x|password\ncat z|uniq12",
            "| kind | what |\n|---|---|\n| x | password |\n| x | hunter2 |",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn a_vague_name_needs_a_user_beside_it() {
        for (text, count) in [
            ("block,pw\nconv,conv1x1\n", 0),
            ("login,pw\nbob,hunter2\n", 1),
        ] {
            assert_eq!(below(text, &(6..8)).0.len(), count, "{text}");
        }
    }
}
