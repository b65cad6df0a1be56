//! Texts by the hashes of their lines, and what came between two of them.
//!
//! Pure. Tells which texts cannot have given what came, never that one did.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::git::textdiff::same_lines;

/// The lines of a text.
#[derive(Debug, Default)]
pub struct Text {
    /// Of each line, sorted.
    lines: Vec<u64>,
    /// Of each two lines that follow one another, sorted; the first and the last follow what is around the text.
    pairs: Vec<u64>,
}

/// What a text has and did not have before.
pub struct Came {
    /// Lines that it had nowhere. Blank ones tell nothing.
    lines: Vec<u64>,
    /// Lines that did not follow one another.
    pairs: Vec<u64>,
}

impl Text {
    /// Takes a text apart.
    pub fn of(text: &[u8]) -> Self {
        let mut lines: Vec<u64> = lines(text).map(hash).collect();
        let mut pairs = pairs(&lines);
        lines.sort_unstable();
        pairs.sort_unstable();
        Self { lines, pairs }
    }

    /// How many lines it has.
    pub fn len(&self) -> usize {
        self.lines.len()
    }
}

impl Came {
    /// What came from one text to the next; None where no line did.
    pub fn between(was: &[u8], is: &[u8]) -> Option<Self> {
        let before = Text::of(was);
        let all: Vec<u64> = lines(is).map(hash).collect();
        let mut pairs = pairs(&all);
        pairs.retain(|pair| before.pairs.binary_search(pair).is_err());
        let telling = lines(is).zip(all).filter(|(line, _)| !is_blank(line));
        let hashes = telling.map(|(_, hash)| hash);
        let lines: Vec<u64> = hashes
            .filter(|hash| before.lines.binary_search(hash).is_err())
            .collect();
        let some = !pairs.is_empty() && (!lines.is_empty() || some_moved(was, is));
        some.then_some(Self { lines, pairs })
    }

    /// Whether a branch may have given it: the branch has the lines that came; where all of them were there before, as they follow one
    /// another now.
    pub fn may_be_of(&self, branch: &Text) -> bool {
        if self.lines.is_empty() {
            return self.is_in(branch);
        }
        has_all(&branch.lines, &self.lines)
    }

    /// Whether all that follows one another now does so in a text. What a merge makes of two sides has no lines behind one another that
    /// neither side has so.
    pub fn is_in(&self, text: &Text) -> bool {
        has_all(&text.pairs, &self.pairs)
    }
}

/// Whether lines came that were there before.
fn some_moved(was: &[u8], is: &[u8]) -> bool {
    let same = same_lines(was, is, false).unwrap_or_default();
    let mut all = lines(is).zip(same);
    all.any(|(line, same)| same.is_none() && !is_blank(line))
}

fn has_all(hashes: &[u64], wanted: &[u64]) -> bool {
    let mut wanted = wanted.iter();
    wanted.all(|hash| hashes.binary_search(hash).is_ok())
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

fn hash(line: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(line)
}

/// The hashes of each two lines that follow one another, by those of the lines.
fn pairs(lines: &[u64]) -> Vec<u64> {
    let first = [0].into_iter().chain(lines.iter().copied());
    let second = lines.iter().copied().chain([0]);
    let both = first.zip(second);
    both.map(|(first, second)| first.rotate_left(1).wrapping_add(second))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(was: &str, is: &str) -> Option<Came> {
        Came::between(was.as_bytes(), is.as_bytes())
    }

    fn text(text: &str) -> Text {
        Text::of(text.as_bytes())
    }

    #[test]
    fn what_is_gone_or_blank_is_not_what_came() {
        for (was, is) in [
            ("a\nb\n", "a\nb\n"),
            ("a\nb\n", "a\n"),
            ("a\nb\n", "a\n\nb\n"),
        ] {
            assert!(came(was, is).is_none(), "{is:?}");
        }
    }

    #[test]
    fn a_new_line_may_be_of_a_branch_that_has_it_anywhere() {
        let came = came("a\nb\nc\n", "a\nnew\nb\nc\n").expect("a line");
        let beside = text("a\nnew\nmore\nb\n");
        assert!(came.may_be_of(&beside) && !came.is_in(&beside));
        let there = text("a\nnew\nb\n");
        assert!(came.may_be_of(&there) && came.is_in(&there));
        assert!(!came.may_be_of(&text("a\nb\nc\n")));
    }

    #[test]
    fn lines_that_moved_may_be_of_a_branch_that_has_them_there() {
        let came = came("a\nb\nc\nd\n", "a\nc\nd\nb\n").expect("a line");
        assert!(!came.may_be_of(&text("a\nb\nc\nd\nend\n")));
        assert!(came.may_be_of(&text("top\na\nc\nd\nb\n")));
    }
}
