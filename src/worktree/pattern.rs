//! One pattern as `gitignore(5)` and `gitattributes(5)` write it: `!`, a leading and a trailing `/`, and the glob between.
//!
//! Promises git's verdict on one path. Literal names, `*.ext` and `name*` are compared without the general matcher.
//! Leaves out which file the pattern stands in and what a match means.

use crate::git::wildmatch::{Flags, is_special, wildmatch};

/// A path to be matched: relative to the directory of the pattern's file, without a trailing slash.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The whole relative path.
    pub path: &'a [u8],
    /// Its last component.
    pub name: &'a [u8],
    /// Whether it is a directory.
    pub is_dir: bool,
}

impl<'a> Subject<'a> {
    /// What a pattern in `base` (a directory that holds `path`; empty for the root) sees of `path`.
    pub fn new(path: &'a [u8], base: &[u8], is_dir: bool) -> Self {
        let skipped = if base.is_empty() { 0 } else { base.len() + 1 };
        Self {
            path: path.get(skipped..).unwrap_or_default(),
            name: crate::git::path::split(path).1,
            is_dir,
        }
    }
}

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Without `!`, leading and trailing slash.
    glob: Box<[u8]>,
    /// How many bytes of `glob` come before the first special one (git's `nowildcardlen`).
    literal: usize,
    shape: Shape,
    dir_only: bool,
    negative: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// No slash, nothing special: the last component is the glob.
    Name,
    /// `*` and a literal tail, matched against the last component.
    NameSuffix,
    /// A literal head and `*`, matched against the last component.
    NamePrefix,
    /// No slash: matched against the last component.
    NameGlob,
    /// A slash within or in front: matched against the whole path.
    Path,
}

impl Pattern {
    /// Reads a pattern. `None` when it can match nothing because it is empty.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (negative, text) = strip(text, text.strip_prefix(b"!"));
        // Before looking for a slash within: one at the end does not anchor a pattern.
        let (dir_only, text) = strip(text, text.strip_suffix(b"/"));
        let anchored = text.contains(&b'/');
        let glob = text.strip_prefix(b"/").unwrap_or(text);
        if glob.is_empty() {
            return None;
        }
        let literal = literal_len(glob);
        Some(Self {
            shape: if anchored {
                Shape::Path
            } else {
                Shape::of_name(glob, literal)
            },
            glob: glob.into(),
            literal,
            dir_only,
            negative,
        })
    }

    /// Whether the pattern began with `!`.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Whether the pattern matches.
    pub fn matches(&self, subject: Subject<'_>, fold_case: bool) -> bool {
        if self.dir_only && !subject.is_dir {
            return false;
        }
        let (head, tail) = self.glob.split_at(self.literal);
        let name = subject.name;
        match self.shape {
            Shape::Name => same(head, name, fold_case),
            Shape::NameSuffix => ends_with(name, &self.glob[1..], fold_case),
            Shape::NamePrefix => starts_with(name, head, fold_case),
            Shape::NameGlob => {
                let flags = Flags {
                    pathname: false,
                    fold_case,
                };
                // The literal head first: it tells most names without the matcher.
                starts_with(name, head, fold_case) && wildmatch(&self.glob, name, flags)
            }
            Shape::Path => {
                // git hands its matcher what follows the literal head, which gives `a**/b` its meaning.
                let flags = Flags {
                    pathname: true,
                    fold_case,
                };
                starts_with(subject.path, head, fold_case)
                    && wildmatch(tail, &subject.path[head.len()..], flags)
            }
        }
    }
}

impl Shape {
    fn of_name(glob: &[u8], literal: usize) -> Self {
        let tail = &glob[literal..];
        if tail.is_empty() {
            Self::Name
        } else if tail.iter().all(|&byte| byte == b'*') {
            Self::NamePrefix
        } else if glob[0] == b'*' && literal_len(&glob[1..]) == glob.len() - 1 {
            Self::NameSuffix
        } else {
            Self::NameGlob
        }
    }
}

fn strip<'a>(text: &'a [u8], stripped: Option<&'a [u8]>) -> (bool, &'a [u8]) {
    (stripped.is_some(), stripped.unwrap_or(text))
}

fn literal_len(glob: &[u8]) -> usize {
    glob.iter()
        .position(|&byte| is_special(byte))
        .unwrap_or(glob.len())
}

fn same(left: &[u8], right: &[u8], fold_case: bool) -> bool {
    left == right || (fold_case && left.eq_ignore_ascii_case(right))
}

fn starts_with(text: &[u8], head: &[u8], fold_case: bool) -> bool {
    text.get(..head.len())
        .is_some_and(|start| same(start, head, fold_case))
}

fn ends_with(text: &[u8], tail: &[u8], fold_case: bool) -> bool {
    text.len()
        .checked_sub(tail.len())
        .and_then(|at| text.get(at..))
        .is_some_and(|end| same(end, tail, fold_case))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str, is_dir: bool) -> bool {
        Pattern::parse(pattern.as_bytes()).is_some_and(|pattern| {
            pattern.matches(Subject::new(path.as_bytes(), b"", is_dir), false)
        })
    }

    #[test]
    fn shapes_skip_the_general_matcher() {
        let shape = |text: &[u8]| Pattern::parse(text).map(|pattern| pattern.shape);
        assert_eq!(shape(b"target/"), Some(Shape::Name));
        assert_eq!(shape(b"*.log"), Some(Shape::NameSuffix));
        assert_eq!(shape(b"core.*"), Some(Shape::NamePrefix));
        assert_eq!(shape(b"*"), Some(Shape::NamePrefix));
        assert_eq!(shape(b"*.py[co]"), Some(Shape::NameGlob));
        assert_eq!(shape(b"/a"), Some(Shape::Path));
        assert_eq!(shape(b"/"), None);
        assert_eq!(shape(b"!"), None);
    }

    #[test]
    fn a_slash_anchors_and_a_trailing_one_asks_for_a_directory() {
        assert!(matches("a", "x/a", false));
        assert!(!matches("/a", "x/a", false));
        assert!(matches("x/a", "x/a", false));
        assert!(!matches("x/a", "y/x/a", false));
        assert!(!matches("a/", "x/a", false));
        assert!(matches("a/", "x/a", true));
        assert!(matches("/x/*", "x/a", false));
        assert!(!matches("/x/*", "x/a/b", false));
    }

    /// Documented nowhere: the literal head goes first, and what remains begins with `**/`.
    #[test]
    fn double_asterisks_after_a_literal_head_cross_slashes() {
        assert!(matches("foo**/bar", "foox/y/bar", false));
        assert!(matches("foo**/bar", "foobar", false));
    }
}
