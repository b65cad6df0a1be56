//! Which lines of a text were in another one.

use super::hunks_as;
use crate::error::Result;

/// For each line of the new text the line of the old one that it is, both from 0; None for one that came.
///
/// # Errors
/// When libgit2 runs out of memory.
pub fn same_lines(old: &[u8], new: &[u8], ignores_space: bool) -> Result<Vec<Option<usize>>> {
    let (before, after) = (count_lines(old), count_lines(new));
    let mut same = Vec::with_capacity(after);
    let mut at = 0;
    for hunk in hunks_as(old, new, 0, ignores_space)? {
        while same.len() < hunk.new.start {
            same.push(Some(at));
            at += 1;
        }
        same.extend(hunk.new.clone().map(|_| None));
        at = hunk.old.end;
    }
    while same.len() < after {
        same.push((at < before).then_some(at));
        at += 1;
    }
    Ok(same)
}

/// How many lines a text has, the last one with or without an end.
pub fn count_lines(text: &[u8]) -> usize {
    let ends = text.split(|byte| *byte == b'\n').count() - 1;
    ends + usize::from(text.last().is_some_and(|byte| *byte != b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(old: &str, new: &str, ignores_space: bool) -> Vec<Option<usize>> {
        same_lines(old.as_bytes(), new.as_bytes(), ignores_space).expect("compared")
    }

    #[test]
    fn each_line_is_one_of_before_or_new() {
        assert_eq!(said("", "", false), []);
        assert_eq!(said("", "a\n", false), [None]);
        assert_eq!(said("a\nb\n", "a\nb\n", false), [Some(0), Some(1)]);
        assert_eq!(
            said("a\nb\nc\nd\n", "x\na\nc\ny\nd\nz", false),
            [None, Some(0), Some(2), None, Some(3), None]
        );
        assert_eq!(said("a\nb\n", "b\n", false), [Some(1)]);
        assert_eq!(said("a\nb\n", "a\n  b\n", false), [Some(0), None]);
        assert_eq!(said("a\nb\n", "a\n  b\n", true), [Some(0), Some(1)]);
        assert_eq!(count_lines(b"a\nb"), 2);
    }
}
