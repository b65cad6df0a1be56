//! A patch read back from its text: what each line is, and which lines of the files it is about.

use std::ops::RangeInclusive;

/// A line of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchLine<'p> {
    /// What it is.
    pub kind: LineKind,
    /// Its number before; where it was not there, that of the next line that was.
    pub old: usize,
    /// Its number after; where it is not there, that of the next line that is.
    pub new: usize,
    /// Its text without its sign and the line feed; heads and remarks as they are.
    pub text: &'p [u8],
}

/// What a line of a patch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Before the hunks: names, modes, ids.
    Header,
    /// The head of a hunk.
    Hunk,
    /// It stayed.
    Context,
    /// It came.
    Added,
    /// It went.
    Removed,
    /// `\ No newline at end of file`.
    NoNewline,
}

/// One of the two sides of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// What was before.
    Old,
    /// What came after.
    New,
}

/// The lines of a patch, or of its hunks alone.
pub fn read(patch: &[u8]) -> impl Iterator<Item = PatchLine<'_>> {
    let (mut old, mut new) = (0, 0);
    let mut in_hunk = false;
    patch
        .split_inclusive(|byte| *byte == b'\n')
        .map(move |line| {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            // No line within a hunk begins with either.
            if line.starts_with(b"diff --git ") {
                in_hunk = false;
            } else if line.starts_with(b"@@") {
                in_hunk = true;
                (old, new) = starts(line).unwrap_or((old, new));
            }
            let (kind, text) = match line.split_first() {
                _ if !in_hunk => (LineKind::Header, line),
                Some((b'@', _)) => (LineKind::Hunk, line),
                Some((b'+', rest)) => (LineKind::Added, rest),
                Some((b'-', rest)) => (LineKind::Removed, rest),
                Some((b'\\', _)) => (LineKind::NoNewline, line),
                Some((_, rest)) => (LineKind::Context, rest),
                None => (LineKind::Context, line),
            };
            let read = PatchLine {
                kind,
                old,
                new,
                text,
            };
            old += usize::from(read.is_of(Whose::Old));
            new += usize::from(read.is_of(Whose::New));
            read
        })
}

impl PatchLine<'_> {
    /// Whether a side has the line.
    pub fn is_of(&self, side: Whose) -> bool {
        match self.kind {
            LineKind::Context => true,
            LineKind::Removed => side == Whose::Old,
            LineKind::Added => side == Whose::New,
            LineKind::Header | LineKind::Hunk | LineKind::NoNewline => false,
        }
    }

    fn number(&self, side: Whose) -> usize {
        match side {
            Whose::Old => self.old,
            Whose::New => self.new,
        }
    }
}

/// For each hunk the lines of one side, from 1, which name what it changed: where it has none of them, those around it. None where
/// the side has no line at all.
pub fn changed_lines(patch: &[u8], side: Whose) -> Vec<Option<RangeInclusive<usize>>> {
    let mut hunks: Vec<Vec<PatchLine<'_>>> = Vec::new();
    for line in read(patch) {
        match (line.kind, hunks.last_mut()) {
            (LineKind::Hunk, _) => hunks.push(Vec::new()),
            (LineKind::Header, _) | (_, None) => {}
            (_, Some(hunk)) => hunk.push(line),
        }
    }
    hunks.iter().map(|hunk| changed_in(hunk, side)).collect()
}

fn changed_in(hunk: &[PatchLine<'_>], side: Whose) -> Option<RangeInclusive<usize>> {
    let lines = hunk.iter().filter(|line| line.kind != LineKind::NoNewline);
    let lines: Vec<PatchLine<'_>> = lines.copied().collect();
    let own = lines.iter().filter(|line| line.is_of(side));
    // Where a hunk ends without lines around it, the file does.
    let last = own.map(|line| line.number(side)).max()?;
    let runs = lines.split(|line| line.kind == LineKind::Context);
    let named = runs.filter_map(|run| {
        let own = run.iter().filter(|line| line.is_of(side));
        let own = own.map(|line| line.number(side));
        if let (Some(from), Some(to)) = (own.clone().min(), own.max()) {
            return Some((from, to));
        }
        let next = run.first()?.number(side);
        Some((next.saturating_sub(1).max(1), next.min(last)))
    });
    let (from, to) = named.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))?;
    Some(from..=to)
}

/// The numbers that the first lines have behind `@@ -3,4 +5,6 @@`. Without any, a head names the line before.
fn starts(head: &[u8]) -> Option<(usize, usize)> {
    let mut words = head.split(|byte| *byte == b' ').skip(1);
    let mut number = |sign: &[u8]| {
        let word = std::str::from_utf8(words.next()?.strip_prefix(sign)?).ok()?;
        let (start, count) = word.split_once(',').unwrap_or((word, "1"));
        let start: usize = start.parse().ok()?;
        Some(start + usize::from(count == "0"))
    };
    Some((number(b"-")?, number(b"+")?))
}

#[cfg(test)]
mod tests {
    use super::super::{Hunks, compare};
    use super::*;

    fn changed(old: &str, new: &str, side: Whose) -> Vec<Option<(usize, usize)>> {
        let diff = compare(old.as_bytes(), new.as_bytes(), Hunks::Full).expect("compared");
        let found = changed_lines(&diff.hunks, side).into_iter();
        found
            .map(|lines| lines.map(|lines| (*lines.start(), *lines.end())))
            .collect()
    }

    #[test]
    fn a_hunk_is_named_by_its_lines_or_by_those_around_it() {
        use Whose::{New, Old};
        for (old, new, side, named) in [
            ("a\nb\nc\n", "a\nB\nc\n", New, Some((2, 2))),
            ("a\nb\nc\n", "a\nc\n", New, Some((1, 2))),
            ("a\nb\nc\n", "a\nc\n", Old, Some((2, 2))),
            ("a\nb\nc\n", "b\nc\n", New, Some((1, 1))),
            ("a\nb\nc\n", "a\nb\n", New, Some((2, 2))),
            ("a\nb\nc", "a\nb\nc\n", New, Some((3, 3))),
            ("a\nb\nc\n", "x\na\nB\nc\n", New, Some((1, 3))),
            ("", "a\n", Old, None),
            ("", "a\nb\n", New, Some((1, 2))),
        ] {
            assert_eq!(changed(old, new, side), [named], "{old:?} {new:?} {side:?}");
        }
        let far = |first: &str, last: &str| format!("{first}\n{}{last}\n", "same\n".repeat(9));
        let two = changed(&far("a", "b"), &far("A", "B"), New);
        assert_eq!(two, [Some((1, 1)), Some((11, 11))]);
    }

    #[test]
    fn a_head_that_is_no_text_has_its_numbers() {
        assert_eq!(starts(b"@@ -3,4 +5,6 @@ \xff"), Some((3, 5)));
        assert_eq!(starts(b"@@ -0,0 +1 @@"), Some((1, 1)));
        assert_eq!(starts(b"@@ x @@"), None);
    }

    #[test]
    fn heads_of_files_belong_to_no_hunk() {
        use LineKind::{Added, Header, Hunk, NoNewline, Removed};
        let patch = b"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\
            \\ No newline at end of file\ndiff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n";
        let kinds: Vec<_> = read(patch).map(|line| line.kind).collect();
        let expected = [
            Header, Header, Header, Header, Hunk, Removed, NoNewline, Header, Header, Header,
            Header, Hunk, Added,
        ];
        assert_eq!(kinds, expected);
    }
}
