//! What changed in one path, as lines: numbered, with their sign, and no more of them than were asked for.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::error::Result;
use crate::git::objects::ObjectStore;
use crate::git::textdiff::written::{self, LineKind, Whose};
use crate::git::textdiff::{self, Hunks};
use crate::git::tree::{Change, GITLINK_MODE, Node};
use crate::text::syntax::{self, Ink};

/// Content over this size is not laid out; `tw diff` does that.
const LARGEST: u64 = 4 << 20;
/// This many characters of a line are shown.
const WIDEST: usize = 2000;

/// One line; a list of its parts in JSON, since a page has many. The last one is left out where nothing has a colour.
#[derive(Debug, Clone)]
pub struct Line {
    /// `+`, `-`, a space, or `@` for the head of a hunk.
    pub sign: char,
    /// Its number before, where it was there.
    pub old: Option<usize>,
    /// Its number after, where it is there.
    pub new: Option<usize>,
    /// Its text without the line feed.
    pub text: String,
    /// What its characters are parts of: `k3.1t5` are three of a keyword, one plain and five of a text, in UTF-16 units, as a browser
    /// counts.
    pub inks: String,
}

impl Serialize for Line {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        if self.inks.is_empty() {
            return (self.sign, self.old, self.new, &self.text).serialize(serializer);
        }
        (self.sign, self.old, self.new, &self.text, &self.inks).serialize(serializer)
    }
}

/// What can be said of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Lines differ.
    Lines,
    /// Only the mode does.
    Mode,
    /// It is not text.
    Binary,
    /// It is too large to be laid out.
    TooLarge,
    /// Its bytes are not here.
    Missing,
    /// It would have made the page too large.
    LeftOut,
}

/// Some lines of what changed in a path.
#[derive(Debug, Clone, Serialize)]
pub struct Lines {
    /// What can be said.
    pub what: What,
    /// The lines, from the one asked for on.
    pub lines: Vec<Line>,
    /// Where the next ones begin, when there are more.
    pub next: Option<usize>,
}

impl Lines {
    /// Answers for a path that has no lines to show.
    pub fn none(what: What) -> Self {
        Self {
            what,
            lines: Vec::new(),
            next: None,
        }
    }

    /// With the colours that the lines of such a path have; to be asked for when the texts are what is shown.
    pub fn colour(&mut self, path: &[u8]) {
        let Some(comment) = syntax::comment_of(path) else {
            return;
        };
        for line in &mut self.lines {
            if matches!(line.sign, '+' | '-' | ' ') {
                line.inks = inks(&line.text, comment);
            }
        }
    }
}

fn inks(text: &str, comment: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut runs: Vec<(Ink, usize)> = Vec::new();
    for (ch, ink) in chars.iter().zip(syntax::inks(&chars, comment)) {
        match runs.last_mut() {
            Some((last, length)) if *last == ink => *length += ch.len_utf16(),
            _ => runs.push((ink, ch.len_utf16())),
        }
    }
    if runs.last().is_some_and(|(ink, _)| *ink == Ink::Plain) {
        runs.pop();
    }
    let runs = runs.iter().map(|(ink, length)| {
        let letter = match ink {
            Ink::Plain => '.',
            Ink::Comment => 'c',
            Ink::Text => 't',
            Ink::Number => 'n',
            Ink::Keyword => 'k',
        };
        format!("{letter}{length}")
    });
    runs.collect()
}

/// The lines of a change, this many from this one on.
///
/// # Errors
/// A damaged object.
pub fn between(objects: &ObjectStore, change: &Change, from: usize, count: usize) -> Result<Lines> {
    if change.old.map(|node| node.oid) == change.new.map(|node| node.oid) {
        return Ok(Lines::none(What::Mode));
    }
    match hunks(objects, change)? {
        Ok(hunks) => Ok(of_hunks(&hunks, from, count)),
        Err(what) => Ok(Lines::none(what)),
    }
}

/// The file before and after a change, empty where it has no lines.
///
/// # Errors
/// A damaged object.
pub fn files(objects: &ObjectStore, change: &Change) -> Result<[Vec<u8>; 2]> {
    let old = text(objects, change.old)?.unwrap_or_default();
    Ok([old, text(objects, change.new)?.unwrap_or_default()])
}

/// The lines of the file before or after a change which name what its so-manyth hunk changed.
///
/// # Errors
/// A damaged object.
pub fn of_hunk(
    objects: &ObjectStore,
    change: &Change,
    hunk: usize,
    side: Whose,
) -> Result<Option<RangeInclusive<usize>>> {
    let Ok(hunks) = hunks(objects, change)? else {
        return Ok(None);
    };
    let found = written::changed_lines(&hunks, side).into_iter().nth(hunk);
    Ok(found.flatten())
}

/// What differs in lines, or why there are none.
fn hunks(objects: &ObjectStore, change: &Change) -> Result<std::result::Result<Vec<u8>, What>> {
    let old = text(objects, change.old)?;
    let new = text(objects, change.new)?;
    Ok(match (old, new) {
        (Ok(old), Ok(new)) => Ok(textdiff::compare(&old, &new, Hunks::Full)?.hunks),
        (Err(what), _) | (_, Err(what)) => Err(what),
    })
}

/// This many lines of a patch's hunks, from this one on.
pub(super) fn of_hunks(patch: &[u8], from: usize, count: usize) -> Lines {
    let mut lines = numbered(patch).skip(from);
    let shown: Vec<Line> = lines.by_ref().take(count).collect();
    let next = lines.next().map(|_| from + shown.len());
    Lines {
        what: What::Lines,
        lines: shown,
        next,
    }
}

/// The lines of one side, or why there are none.
fn text(objects: &ObjectStore, node: Option<Node>) -> Result<std::result::Result<Vec<u8>, What>> {
    let Some(node) = node else {
        return Ok(Ok(Vec::new()));
    };
    if node.mode == GITLINK_MODE {
        return Ok(Ok(textdiff::gitlink_text(node.oid)));
    }
    match objects.header(node.oid)? {
        None => Ok(Err(What::Missing)),
        Some((_, size)) if size > LARGEST => Ok(Err(What::TooLarge)),
        Some(_) => {
            let (_, bytes) = objects.read(node.oid)?;
            Ok(if textdiff::is_binary(&bytes) {
                Err(What::Binary)
            } else {
                Ok(bytes)
            })
        }
    }
}

/// The lines of a patch's hunks with their numbers.
fn numbered(patch: &[u8]) -> impl Iterator<Item = Line> {
    let lines = written::read(patch).filter(|line| line.kind != LineKind::Header);
    lines.map(|line| {
        let (sign, text) = match line.kind {
            LineKind::Hunk => ('@', line.text),
            LineKind::Added => ('+', line.text),
            LineKind::Removed => ('-', line.text),
            LineKind::Context => (' ', line.text),
            LineKind::Header | LineKind::NoNewline => {
                ('\\', line.text.strip_prefix(b"\\ ").unwrap_or(line.text))
            }
        };
        Line {
            sign,
            old: line.is_of(Whose::Old).then_some(line.old),
            new: line.is_of(Whose::New).then_some(line.new),
            text: shortened(text),
            inks: String::new(),
        }
    })
}

fn shortened(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    match text.char_indices().nth(WIDEST) {
        None => text.into_owned(),
        Some((at, _)) => {
            let left = text[at..].chars().count();
            format!("{} … {left} more characters", &text[..at])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(old: &str, new: &str) -> Vec<(char, Option<usize>, Option<usize>, String)> {
        let diff = textdiff::compare(old.as_bytes(), new.as_bytes(), Hunks::Full);
        let hunks = diff.expect("compared").hunks;
        let lines = numbered(&hunks);
        lines
            .map(|line| (line.sign, line.old, line.new, line.text))
            .collect()
    }

    #[test]
    fn lines_have_their_numbers_on_both_sides() {
        let lines = told("a\nb\nc\n", "a\nx\nc\nd\n");
        let expected = [
            ('@', None, None, "@@ -1,3 +1,4 @@"),
            (' ', Some(1), Some(1), "a"),
            ('-', Some(2), None, "b"),
            ('+', None, Some(2), "x"),
            (' ', Some(3), Some(3), "c"),
            ('+', None, Some(4), "d"),
        ];
        let expected = expected.map(|(sign, old, new, text)| (sign, old, new, text.to_owned()));
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_missing_line_feed_at_the_end_is_said_and_moves_no_number() {
        let lines = told("a", "b");
        let signs: String = lines.iter().map(|line| line.0).collect();
        assert_eq!(signs.replace('\\', ""), "@-+");
        assert!(
            lines
                .iter()
                .all(|line| line.1 != Some(2) && line.2 != Some(2))
        );
    }

    #[test]
    fn the_colours_of_a_line_are_those_of_the_full_screen_counted_as_a_browser_counts() {
        let mut lines = of_hunks(
            b"@@ -1 +1,2 @@ fn x\n-let a\n+x = \"\xf0\x9f\x98\x80\" // 1\n",
            0,
            9,
        );
        lines.colour(b"src/x.rs");
        let told: Vec<&str> = lines.lines.iter().map(|line| line.inks.as_str()).collect();
        assert_eq!(told, ["", "k3", ".4t4.1c4"]);
        let json = serde_json::to_value(&lines.lines[1]).expect("encoded");
        assert_eq!(json, serde_json::json!(["-", 1, null, "let a", "k3"]));
        lines.lines.iter_mut().for_each(|line| line.inks.clear());
        lines.colour(b"README.md");
        assert!(lines.lines.iter().all(|line| line.inks.is_empty()));
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let line = "é".repeat(WIDEST + 3);
        assert!(shortened(line.as_bytes()).ends_with("é … 3 more characters"));
        assert_eq!(shortened(b"short"), "short");
    }
}
