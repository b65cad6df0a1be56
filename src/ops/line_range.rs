//! `-L`: which lines of a file are meant, as git has it.

use crate::error::{Code, Error, Result};
use crate::git::textdiff::count_lines;

/// A range of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRange {
    start: Option<usize>,
    end: End,
    word: String,
}

/// Where a range ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Line(Option<usize>),
    /// This many lines from its start on.
    After(usize),
    /// This many lines up to its start.
    Before(usize),
}

impl LineRange {
    /// Reads `START,END`, either of which may be left out; `+N` and `-N` count from the start.
    ///
    /// # Errors
    /// `USAGE` for anything else.
    pub fn parse(word: &str) -> Result<Self> {
        let refused = || {
            Error::new(Code::Usage, format!("'{word}' is not a range of lines"))
                .hint("for example 10,20 or 10,+5 or 10,")
        };
        let number = |text: &str| match text {
            "" => Ok(None),
            text => match text.parse() {
                Ok(0) | Err(_) => Err(refused()),
                Ok(number) => Ok(Some(number)),
            },
        };
        let (start, end) = word.split_once(',').unwrap_or((word, ""));
        let counted = |text: &str| number(text)?.ok_or_else(refused);
        let end = match (end.strip_prefix('+'), end.strip_prefix('-')) {
            (Some(count), _) => End::After(counted(count)?),
            (_, Some(count)) => End::Before(counted(count)?),
            _ => End::Line(number(end)?),
        };
        Ok(Self {
            start: number(start)?,
            end,
            word: word.to_owned(),
        })
    }

    /// The lines, from 0, the end not among them.
    ///
    /// # Errors
    /// `USAGE` for a range that begins behind the end of this many lines.
    pub fn of(&self, lines: usize) -> Result<std::ops::Range<usize>> {
        let start = self.start.unwrap_or(1);
        if start > lines {
            let message = format!("'{}': the file has {lines} lines", self.word);
            return Err(Error::new(Code::Usage, message).hint("lines are counted from 1"));
        }
        let (first, last) = match self.end {
            End::Line(end) => (start, end.unwrap_or(lines)),
            End::After(count) => (start, start.saturating_add(count - 1)),
            End::Before(count) => ((start + 1).saturating_sub(count).max(1), start),
        };
        // As git has it, an end before the start changes places with it.
        let (first, last) = (first.min(last), first.max(last));
        Ok(first - 1..last.min(lines))
    }
}

/// The lines that are asked for, from 0, in order. All, where no range is given.
///
/// # Errors
/// `USAGE` for a range that begins behind the end.
pub fn asked(ranges: &[LineRange], text: &[u8]) -> Result<Vec<usize>> {
    let lines = count_lines(text);
    if ranges.is_empty() {
        return Ok((0..lines).collect());
    }
    let mut asked = std::collections::BTreeSet::new();
    for range in ranges {
        asked.extend(range.of(lines)?);
    }
    Ok(asked.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str], lines: usize) -> Result<Vec<usize>> {
        let ranges = words.iter().map(|word| LineRange::parse(word));
        let ranges: Vec<LineRange> = ranges.collect::<Result<_>>()?;
        asked(&ranges, "x\n".repeat(lines).as_bytes())
    }

    #[test]
    fn ranges_are_as_git_has_them() {
        let lines = |words: &[&str]| of(words, 5).expect("lines");
        assert_eq!(lines(&[]), [0, 1, 2, 3, 4]);
        assert_eq!(lines(&["2,3"]), [1, 2]);
        assert_eq!(lines(&["2"]), [1, 2, 3, 4]);
        assert_eq!(lines(&[",2"]), [0, 1]);
        assert_eq!(lines(&["4,99"]), [3, 4]);
        assert_eq!(lines(&["2,+2"]), [1, 2]);
        assert_eq!(lines(&["3,-2"]), [1, 2]);
        assert_eq!(lines(&["3,2"]), [1, 2]);
        assert_eq!(lines(&["1,1", "5,5", "1,2"]), [0, 1, 4]);
        for word in ["x", "0,1", "1,0", "1,+", "1,2,3", "/a/"] {
            assert_eq!(of(&[word], 5).expect_err(word).code(), Code::Usage);
        }
        assert_eq!(of(&["6,"], 5).expect_err("behind").code(), Code::Usage);
        assert_eq!(of(&[], 0).expect("none"), [0; 0]);
    }
}
