//! Three versions of a text made one, by lines, with git's markers where both sides changed the same place.
//!
//! Pure: bytes in, bytes out. Leaves out `merge=` drivers and text conversion of `.gitattributes`: what is merged are stored
//! bytes.

mod apart;

use git2::{MergeFileInput, MergeFileOptions};

use super::repo::teach_libgit2;
use crate::error::Result;

pub use apart::{Overlap, Parted, merge_apart, overlaps};

/// How a conflict is marked: `merge.conflictStyle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Both sides.
    #[default]
    Merge,
    /// Both sides and the base between them.
    Diff3,
    /// The same, without lines that both sides have alike.
    ZealousDiff3,
}

impl Style {
    /// The style that a setting names; git's default for any other word.
    pub fn parse(word: &str) -> Self {
        match word {
            "diff3" => Self::Diff3,
            "zdiff3" => Self::ZealousDiff3,
            _ => Self::Merge,
        }
    }
}

/// What the sides are called in markers.
#[derive(Debug, Clone, Copy)]
pub struct Labels<'a> {
    /// The base.
    pub base: &'a str,
    /// Ours.
    pub ours: &'a str,
    /// Theirs.
    pub theirs: &'a str,
}

/// A text made of three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMerge {
    /// The text.
    pub content: Vec<u8>,
    /// It has no markers.
    pub clean: bool,
}

/// Merges. An empty base is that of two texts that came separately.
///
/// # Errors
/// When libgit2 runs out of memory.
pub fn merge(
    [base, ours, theirs]: [&[u8]; 3],
    labels: &Labels<'_>,
    style: Style,
) -> Result<TextMerge> {
    // The only function of libgit2's that does not start it by itself; before that it has no memory to give.
    teach_libgit2();
    let input = |content| {
        let mut input = MergeFileInput::new();
        input.content(content);
        input
    };
    let mut options = MergeFileOptions::new();
    options
        .ancestor_label(labels.base)
        .our_label(labels.ours)
        .their_label(labels.theirs);
    match style {
        Style::Merge => options.style_standard(true),
        Style::Diff3 => options.style_diff3(true),
        Style::ZealousDiff3 => options.style_zdiff3(true),
    };
    let merged = git2::merge_file(
        &input(base),
        &input(ours),
        &input(theirs),
        Some(&mut options),
    )?;
    Ok(TextMerge {
        content: merged.content().to_vec(),
        clean: merged.is_automergeable(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: Labels<'static> = Labels {
        base: "old",
        ours: "mine",
        theirs: "yours",
    };

    fn merged(texts: [&str; 3], style: Style) -> (String, bool) {
        let merged = merge(texts.map(str::as_bytes), &LABELS, style).expect("merged");
        let text = String::from_utf8(merged.content).expect("text");
        (text, merged.clean)
    }

    #[test]
    fn changes_apart_come_together() {
        let texts = ["a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n"];
        assert_eq!(
            merged(texts, Style::Merge),
            ("A\nb\nc\nd\nE\n".to_owned(), true)
        );
        let gone = ["a\nb\nc\nd\n", "c\nd\n", "a\nb\n"];
        assert!(!merged(gone, Style::Merge).0.contains("b\nc"));
    }

    #[test]
    fn changes_of_one_line_are_marked_as_git_marks_them() {
        let texts = ["a\n", "b\n", "c\n"];
        let plain = "<<<<<<< mine\nb\n=======\nc\n>>>>>>> yours\n";
        assert_eq!(merged(texts, Style::Merge), (plain.to_owned(), false));
        let three = "<<<<<<< mine\nb\n||||||| old\na\n=======\nc\n>>>>>>> yours\n";
        assert_eq!(merged(texts, Style::Diff3), (three.to_owned(), false));
        assert_eq!(merged(texts, Style::parse("zdiff3")).0, three);
        assert_eq!(Style::parse("anything"), Style::Merge);
    }
}
